//! A question of a run, answered where the run is followed.

use kernel::MessageNumber;
use kernel::command::MailAct;
use kernel::message::Body;
use passable::{Untrusted, visible_line};

use super::form_answers;
use crate::cli::JsonArg;
use crate::cli::agents::SubmitArgs;
use crate::session::Session;
use crate::ui::output;
use control::exit::Failure;
use control::protocol::{AgentAct, AnswerInput};
use control::show::message_view;
use control::view::MessageView;

/// A form, a request or a definition that a run has sent.
pub struct Question {
    number: MessageNumber,
    view: MessageView,
}

impl Question {
    /// Returns the question with this number, or `None` if the message is no question.
    ///
    /// # Errors
    /// When no message has this number.
    pub fn load(acting: &Session<'_>, number: MessageNumber) -> Result<Option<Question>, Failure> {
        let view = acting.message(number)?;
        let is_one = match view.letter.body() {
            Some(Body::Form { .. }) => true,
            Some(Body::Request { by, .. }) => by.is_some(),
            Some(Body::Definition { by, .. }) => by.is_some(),
            _ => false,
        };
        Ok(is_one.then_some(Question { number, view }))
    }

    /// Returns the advice about a message that a run waits for, if one command answers it.
    pub fn how_to_answer(acting: &Session<'_>, number: MessageNumber) -> Option<String> {
        let body = acting.message(number).ok().and_then(|view| view.letter.body().cloned());
        match body {
            Some(Body::OutcomeUnknown { .. }) => {
                // A bar between the answers would make a shell run the first one.
                let answer = |word: &str| acting.command(&format!("outcome {number} {word}"));
                Some(format!("{} or {} says whether it happened", answer("yes"), answer("no")))
            }
            Some(
                Body::Approval { .. } | Body::Release { .. } | Body::Budget { .. } | Body::MailQuota { .. },
            ) => Some(format!("{} lets it be done", acting.command(&format!("approve {number}")))),
            _ => None,
        }
    }

    /// Rejects the question, because no person is there to answer it.
    ///
    /// # Errors
    /// When the daemon cannot be reached.
    pub fn decline(&self, acting: &Session<'_>) -> Result<(), Failure> {
        let reason = Untrusted::new("nobody is there to be asked");
        let act = AgentAct::Mail { act: Box::new(MailAct::Reject { number: self.number, reason }) };
        acting.ask(acting.request("deny", format!("almoner deny {}", self.number), act))?;
        output::note(&format!("message {}: declined (--on-ask deny)", self.number));
        Ok(())
    }

    /// Shows the question, with the command that answers it from elsewhere.
    pub fn show_without_prompt(&self, acting: &Session<'_>) {
        output::note(&message_view::render(&self.view, output::columns()));
        let verb = match self.view.letter.body() {
            Some(Body::Request { .. }) => "resolve",
            Some(Body::Definition { .. }) => "endow",
            _ => "submit",
        };
        let answer = acting.command(&format!("{verb} {}", self.number));
        output::note(&format!("waiting for {answer} from elsewhere"));
    }

    /// Shows the question, and the answers that the user can type.
    pub fn ask(&self) {
        output::note(&message_view::render(&self.view, output::columns()));
        self.show_instructions();
    }

    fn show_instructions(&self) {
        let number = self.number;
        let only = self.view.fields.as_slice();
        output::prompt(&match (self.view.letter.body(), only) {
            (Some(Body::Request { by: Some(wish), .. }), _) => format!(
                "Type `resolve {number} TEXT` to answer with a value, `deny {number} WHY`, or `later`; a directory or the \
                 like is given with `almoner resolve {number} -e {}=PATH` elsewhere: ",
                visible_line(&wish.slot)
            ),
            (Some(Body::Definition { .. }), _) => format!(
                "Endow it with `almoner endow {number} SLOT=NAME…` elsewhere; here type `deny {number} WHY`, \
                 or `later`: "
            ),
            (_, [_]) => format!("Type `submit {number} ANSWER`, `deny {number} WHY`, or `later`: "),
            (_, _) => format!(
                "Fill it in with `almoner submit {number}` elsewhere; here type `deny {number} WHY`, or `later`: "
            ),
        });
    }

    /// Sends a typed answer. If the line is no answer, or the answer fails, the instructions are shown again.
    pub fn answer(&self, acting: &Session<'_>, line: &str) {
        let number = self.number.to_string();
        let rest = |verb: &str| {
            let rest = line.trim().strip_prefix(verb)?.trim_start().strip_prefix(number.as_str())?;
            (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim())
        };
        let is_form = matches!(self.view.letter.body(), Some(Body::Form { .. }));
        let is_request = matches!(self.view.letter.body(), Some(Body::Request { .. }));
        let done = match (rest("submit "), rest("deny "), self.view.fields.as_slice()) {
            _ if is_request && rest("resolve ").is_some_and(|text| !text.is_empty()) => {
                let json = rest("resolve ").unwrap_or_default().into();
                let act = AgentAct::Resolve { number: self.number, answered: AnswerInput::Value { json } };
                let request = acting.request("resolve", line.trim().to_owned(), act);
                acting.ask(request).map(drop)
            }
            (Some(text), _, [only]) if is_form && !text.is_empty() => {
                let values = vec![format!("{}={text}", only.name)];
                let args = SubmitArgs { message: number, values, json: JsonArg { json: false } };
                form_answers::submit(acting, &args).map(drop)
            }
            (_, Some(reason), _) => {
                let reason = Untrusted::new(reason);
                let act = AgentAct::Mail { act: Box::new(MailAct::Reject { number: self.number, reason }) };
                let request = acting.request("deny", line.trim().to_owned(), act);
                acting.ask(request).map(drop)
            }
            _ => {
                let shown = visible_line(line.trim());
                output::note(&format!("`{shown}` is not understood, and nothing was answered"));
                self.show_instructions();
                return;
            }
        };
        if let Err(failure) = done {
            output::failure(&failure);
            self.show_instructions();
        }
    }
}
