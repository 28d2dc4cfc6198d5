//! The questions to the user at the terminal while a run is followed, and the lines that the user types.

use kernel::MessageNumber;
use kernel::command::Reply;
use kernel::message::Body;

use super::{FollowOutcome, RunFollower};
use crate::follow::answer_lines::{self, how_to_answer};
use crate::follow::approval_gate;
use crate::follow::list_input;
use crate::follow::question::Question;
use crate::session::earlier_answer::earlier_answer;
use crate::session::message_list;
use crate::session::questions;
use crate::session::replies;
use crate::ui::output;
use control::exit::{Exit, Failure};
use control::protocol::{Request, Response};

impl RunFollower<'_> {
    /// Shows the next message that waits, a card or a question, and prompts for an answer.
    pub(super) fn ask_next(&mut self) -> Result<(), Failure> {
        // One answer can cover several messages, whose events are still on their way.
        while let Some(number) = self.pending.first().copied() {
            if self.acting.message(number)?.letter.mail.needs_you {
                break;
            }
            self.pending.remove(&number);
        }
        self.asked = self.pending.first().copied();
        if let Some(number) = self.asked {
            if let Some(question) = Question::load(self.acting, number)? {
                if let Some(live) = &mut self.live {
                    live.erase();
                }
                question.ask();
                return Ok(());
            }
            if let Some(asks) = list_input::batch_of(self.acting, number)? {
                message_list::open_all(self.acting, &asks)?;
                self.write_lines(&message_list::render(self.acting, &asks, output::columns())?);
                list_input::how_to_answer(&asks, number);
                return Ok(());
            }
            let card = questions::card(self.acting, number)?;
            let shown =
                questions::shown_card(self.acting, &card, output::columns(), false, output::can_ask())?;
            self.write_lines(&shown);
            how_to_answer(&card);
        }
        Ok(())
    }

    /// Prompts once more for an answer to the message about which the user is being asked.
    fn prompt_again(&self, number: MessageNumber) -> Result<(), Failure> {
        match list_input::batch_of(self.acting, number)? {
            Some(asks) => list_input::how_to_answer(&asks, number),
            None => how_to_answer(&questions::card(self.acting, number)?),
        }
        Ok(())
    }

    /// Reads a line that the user typed: a part of a conversation, or the answer to the message that is asked about.
    pub(super) fn line(&mut self, line: &str) -> Result<Option<FollowOutcome>, Failure> {
        let Some(number) = self.asked else {
            let Some(talk) = &mut self.conversation else { return Ok(None) };
            talk.add_line(line);
            return if self.pending.is_empty() { self.idle() } else { Ok(None) };
        };
        if let Some(question) = Question::load(self.acting, number)?.filter(|_| line.trim() != "later") {
            question.answer(self.acting, line);
            return Ok(None);
        }
        match list_input::answer(self.acting, line) {
            Some(true) => return Ok(None),
            Some(false) => {
                self.prompt_again(number)?;
                return Ok(None);
            }
            None => {}
        }
        match answer_lines::parse_card_input(line) {
            Some(answer_lines::CardInput::Postpone) => return Ok(Some(self.needs_you())),
            Some(answer_lines::CardInput::Answer(mut request)) => {
                let unnamed = match self.check_approval(&mut request) {
                    Ok(unnamed) => unnamed,
                    Err(failure) => {
                        output::failure(&failure);
                        self.prompt_again(number)?;
                        return Ok(None);
                    }
                };
                let (kind, entries) = answer_lines::kind_of(&request);
                let told = match self.acting.ask(request) {
                    Ok(Response::Reply(Reply::AlreadyAnswered { .. } | Reply::AlreadySettled)) => {
                        earlier_answer(self.acting, number, kind, entries.as_deref())
                    }
                    response => response.map(|response| replies::describe(&response)),
                };
                match told {
                    Ok(text) => {
                        output::note(&text);
                        approval_gate::note_unnamed(number, &unnamed);
                    }
                    Err(failure) => output::failure(&failure),
                }
                // If entries are still open, the same card is asked about again.
                let card = questions::card(self.acting, number)?;
                if self.pending.contains(&number) && card.is_open() {
                    self.prompt_again(number)?;
                }
            }
            None => {
                let card = questions::card(self.acting, number)?;
                answer_lines::explain_input(&card, line);
                self.prompt_again(number)?;
            }
        }
        Ok(None)
    }

    /// Shows a card in full before a yes to it, if it was not shown in full before, and fills in the entries that the yes
    /// covers. Returns the entries that it leaves open because they need care.
    ///
    /// # Errors
    /// When the card was not open in full, or all of its calls must be named.
    fn check_approval(&mut self, request: &mut Request) -> Result<Vec<usize>, Failure> {
        let Request::Approve { message, entries, .. } = request else { return Ok(vec![]) };
        let view = self.acting.message(*message)?;
        if !matches!(view.letter.body(), Some(Body::Approval { .. })) {
            return Ok(vec![]);
        }
        let card = questions::card(self.acting, *message)?;
        if card.is_open() && !questions::open_card(self.acting, *message)? {
            self.write_lines(&card.render_whole(output::columns()));
            let what = format!("cannot approve message {message}: it was never opened in full until now");
            return Err(Failure::new(Exit::NeedsYou, what).help("type the same line once more"));
        }
        let covered = approval_gate::covered_entries(&card, entries.take(), true)?;
        *entries = covered.entries;
        Ok(covered.unnamed)
    }
}
