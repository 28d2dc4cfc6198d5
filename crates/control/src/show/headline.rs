//! The sentence that is the title of everything that asks: who wants to do what to what.
//!
//! The inbox, the card, the page, the browser tab and the JSON use it. Names, paths, addresses and the beginning of the
//! sender's own words are marked as quoted. A notification has a sentence without any of them.

use std::borrow::Cow;

use kernel::budget::Raise;
use kernel::message::Body;
use passable::Quoting;

use super::budget_request::describe_raise;
use super::call_words::{self, CallView, counted};
use super::card::Card;
use super::foreign_words;
use crate::view::MessageView;

/// The maximum number of kinds of calls that a title counts one by one.
const MAX_KINDS: usize = 3;

/// The maximum number of names that a title lists.
const MAX_NAMES: usize = 2;

/// Returns the sentence that is the title of a card: who wants to do what to what. Foreign words in it are marked as
/// quoted.
pub fn of_card(card: &Card) -> Quoting {
    if let Some(more) = &card.more {
        return of_budget(&foreign_words::name(&card.worker), more.offer);
    }
    let open: Vec<CallView<'_>> =
        card.entries.iter().filter(|entry| entry.answer.is_none()).map(call_words::view).collect();
    let calls = match open.is_empty() {
        true => card.entries.iter().map(call_words::view).collect(),
        false => open,
    };
    of_calls(&card.worker, &calls, CallQuestion { in_doubt: card.in_doubt, is_open: card.is_open() })
}

/// Returns the title of the approvals of a batch.
pub fn of_cards(worker: &str, cards: &[Card]) -> Quoting {
    let entries = cards.iter().flat_map(|card| &card.entries);
    let open: Vec<CallView<'_>> =
        entries.filter(|entry| entry.answer.is_none()).map(call_words::view).collect();
    of_calls(worker, &open, CallQuestion { in_doubt: false, is_open: true })
}

/// The question about calls.
#[derive(Clone, Copy, Debug)]
pub struct CallQuestion {
    /// Whether the question is if a call happened, instead of whether it may be made.
    pub in_doubt: bool,
    /// Whether the question waits for an answer.
    pub is_open: bool,
}

/// Returns the title of a question of a worker about calls.
pub fn of_calls(worker: &str, calls: &[CallView<'_>], question: CallQuestion) -> Quoting {
    let who = foreign_words::name(worker);
    if question.in_doubt {
        let what = calls.first().map(CallView::sentence).unwrap_or_default();
        return who.and(" was cut off. Did this happen? ").then(&what);
    }
    let wants = if question.is_open { " wants to " } else { " wanted to " };
    who.and(wants).then(&deeds(calls))
}

/// Returns calls in words that follow `wants to`: a single call with its object, several calls counted by their kind.
/// Calls that send come first.
fn deeds(calls: &[CallView<'_>]) -> Quoting {
    if let [one] = calls {
        return one.infinitive();
    }
    Quoting::ours(counted_deeds(calls))
}

/// Returns calls counted by their kind. The text contains nothing that others wrote.
fn counted_deeds(calls: &[CallView<'_>]) -> String {
    let mut kinds: Vec<(&CallView<'_>, usize)> = Vec::new();
    for call in calls {
        match kinds.iter_mut().find(|(other, _)| other.count_words() == call.count_words()) {
            Some((_, count)) => *count += 1,
            None => kinds.push((call, 1)),
        }
    }
    kinds.sort_by_key(|(call, _)| std::cmp::Reverse(call.effect));
    let named = kinds.iter().take(MAX_KINDS).map(|(call, count)| counted(call.count_words(), *count));
    let mut all: Vec<String> = named.collect();
    let more: usize = kinds.iter().skip(MAX_KINDS).map(|(_, count)| count).sum();
    if more > 0 {
        all.push(counted(("make", "more call", "more calls"), more));
    }
    match all.as_slice() {
        [] => "do something".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns the sentence about calls for a notification. It contains nothing that others wrote.
pub fn notice_of_calls(calls: &[CallView<'_>]) -> String {
    format!("A worker wants to {}", counted_deeds(calls))
}

/// Returns the title of a run's request for more.
fn of_budget(who: &Quoting, offer: Raise) -> Quoting {
    if offer.is_after_refusals() {
        return who.clone().and(" keeps asking for what you refuse");
    }
    who.clone().and(" has reached a limit and asks for ").and(describe_raise(offer)).and(" more")
}

/// Returns the title of a message, from the reader's view of it. Foreign words in it are marked as quoted.
pub fn of_message(view: &MessageView) -> Quoting {
    subject(view).map_or_else(|| DISMISSED.into(), |subject| subject.title())
}

/// Returns the title of a message without the sender's own words, for a view that shows these words below.
pub fn deed_of_message(view: &MessageView) -> Quoting {
    subject(view).map_or_else(|| DISMISSED.into(), |subject| subject.deed())
}

/// The title of a message without content.
const DISMISSED: &str = "A message that was dismissed";

fn subject(view: &MessageView) -> Option<MessageSubject<'_>> {
    Some(MessageSubject {
        body: view.letter.body()?,
        sender: view.worker.as_deref().unwrap_or(&view.from),
        is_worker: view.is_worker,
        guest: view.withheld.as_ref().map(|withheld| withheld.to.as_str()),
    })
}

/// The parts of a message from which its title is made.
#[derive(Clone, Copy, Debug)]
pub struct MessageSubject<'a> {
    /// The content.
    pub body: &'a Body,
    /// The name of the worker whose run has sent the message, or else the reader's name for the sender.
    pub sender: &'a str,
    /// Whether a proposed program is a worker.
    pub is_worker: bool,
    /// The reader's name for the agent that would get a withheld result.
    pub guest: Option<&'a str>,
}

impl MessageSubject<'_> {
    /// Returns the title of the message: who wants to do what, and the beginning of the sender's own words.
    pub fn title(&self) -> Quoting {
        let deed = self.deed();
        match self.description() {
            Some(words) if !words.trim().is_empty() => deed.and(": ").then(&foreign_words::value(&words)),
            _ => deed,
        }
    }

    /// Returns the sender's own words that follow its deed in the title.
    fn description(&self) -> Option<Cow<'_, str>> {
        match self.body {
            Body::Request { description, .. } | Body::Form { description, .. } => {
                Some(Cow::Borrowed(description.raw()))
            }
            Body::Package { strings, .. } => {
                let said: Vec<&str> = strings.iter().map(passable::Untrusted::raw).collect();
                Some(Cow::Owned(said.join(" … ")))
            }
            Body::Definition { by: Some(draft), .. } => Some(Cow::Borrowed(draft.description.raw())),
            _ => None,
        }
    }

    /// Returns who wants to do what, without the sender's own words.
    pub fn deed(&self) -> Quoting {
        let who = foreign_words::name(self.sender);
        match self.body {
            Body::Request { .. } => who.and(" asks you for something"),
            Body::Package { run: Some(_), .. } => who.and(" tells you something"),
            Body::Package { .. } => who.and(" sends you a message"),
            Body::Definition { .. } if self.is_worker => who.and(" proposes a worker"),
            Body::Definition { .. } => who.and(" proposes code"),
            Body::EvalRequest { names, .. } => over(who.and(" wants to run code"), names),
            Body::Form { fields, .. } => {
                let unit = if fields.len() == 1 { "field" } else { "fields" };
                who.and(format!(" asks you to fill in a form with {} {unit}", fields.len()))
            }
            Body::Value { .. } => who.and(" sends you a value"),
            Body::Approval { entries, .. } => {
                who.and(" wants to ").and(counted(("make", "call", "calls"), entries.len()))
            }
            Body::OutcomeUnknown { .. } => who.and(" was cut off. Did its last call happen?"),
            Body::Budget { offer, .. } => of_budget(&who, *offer),
            Body::MailQuota { name, sent, offer, .. } => {
                let sent = counted(
                    ("sent", "message", "messages"),
                    usize::try_from(sent.messages).unwrap_or(usize::MAX),
                );
                foreign_words::name(name).and(format!(" has {sent} and asks to send {} more", offer.messages))
            }
            Body::Release { gives, .. } => {
                let guest = self.guest.map_or_else(|| "an agent".into(), foreign_words::name);
                let count = gives.len();
                let unit = if count == 1 { "capability" } else { "capabilities" };
                Quoting::ours("A result would give ").then(&guest).and(format!(" {count} {unit}"))
            }
            Body::Command { text, .. } => Quoting::ours("You typed ").then(&foreign_words::value(text.raw())),
        }
    }

    /// Returns the kind of the message in words that contain nothing that others wrote, for a notification.
    pub fn notice(&self) -> &'static str {
        match self.body {
            Body::Approval { .. } => "A worker wants to do something",
            Body::OutcomeUnknown { .. } => "A call was cut off. Did it happen?",
            Body::Budget { offer, .. } if offer.is_after_refusals() => {
                "A worker keeps asking for what you refuse"
            }
            Body::Budget { .. } => "A worker has reached a limit and asks for more",
            Body::Form { .. } => "You are asked to fill in a form",
            Body::Request { .. } => "You are asked for something",
            Body::Definition { .. } if self.is_worker => "A worker is proposed to you",
            Body::Definition { .. } => "A program is proposed to you",
            Body::EvalRequest { .. } => "An agent wants to run code",
            Body::MailQuota { .. } => "An agent asks to send more messages",
            Body::Release { .. } => "A result would give capabilities to an agent",
            Body::Package { .. } | Body::Value { .. } | Body::Command { .. } => "A message has come",
        }
    }
}

/// Returns the sentence with the first few names that code would use.
fn over(said: Quoting, names: &[String]) -> Quoting {
    let shown: Vec<Quoting> = names.iter().take(MAX_NAMES).map(|name| foreign_words::value(name)).collect();
    match names.len().saturating_sub(MAX_NAMES) {
        _ if shown.is_empty() => said,
        0 => said.and(" with ").then(&foreign_words::listed(&shown)),
        more => said.and(" with ").then(&Quoting::joined(shown, ", ")).and(format!(" and {more} more")),
    }
}

#[cfg(test)]
mod tests {
    use kernel::proposal::Effect;
    use passable::Untrusted;

    use super::*;

    type Call = (&'static str, &'static str, Effect, Vec<(String, Untrusted)>);

    const MAIL: (&str, &str, Effect) = ("outbox", "send", Effect::Commit);
    const FILE: (&str, &str, Effect) = ("dir rw", "write", Effect::Modify);

    fn call((kind, method, effect): (&'static str, &'static str, Effect)) -> Call {
        let text = |name: &str, text: &str| (name.to_owned(), Untrusted::new(text));
        (kind, method, effect, vec![text("to", "ann@b.example"), text("path", "2.md")])
    }

    fn title(worker: &str, calls: &[Call], question: CallQuestion) -> Quoting {
        let views: Vec<CallView<'_>> = (calls.iter())
            .map(|(kind, method, effect, arguments)| CallView {
                kind: Some(kind),
                slot: "out",
                method,
                effect: *effect,
                arguments,
            })
            .collect();
        of_calls(worker, &views, question)
    }

    const OPEN: CallQuestion = CallQuestion { in_doubt: false, is_open: true };

    #[test]
    fn title_says_who_wants_to_do_what() {
        let tool = |effect| call(("mcp", "x", effect));
        for (calls, expected) in [
            (vec![call(MAIL), call(FILE), call(MAIL)], "clerk wants to send 2 mails and write 1 file"),
            (vec![call(FILE), call(FILE)], "clerk wants to write 2 files"),
            (vec![call(FILE)], "clerk wants to write “2.md” in out"),
            (vec![call(MAIL)], "clerk wants to send a mail to “ann@b.example”"),
            (
                vec![
                    call(FILE),
                    tool(Effect::Observe),
                    tool(Effect::Commit),
                    tool(Effect::Modify),
                    call(MAIL),
                ],
                "clerk wants to use 1 tool that sends, send 1 mail, write 1 file and make 2 more calls",
            ),
            (vec![], "clerk wants to do something"),
        ] {
            assert_eq!(title("clerk", &calls, OPEN).text(), expected);
        }
        let closed = CallQuestion { is_open: false, ..OPEN };
        assert_eq!(title("clerk", &[call(FILE)], closed).text(), "clerk wanted to write “2.md” in out");
        let doubt = CallQuestion { in_doubt: true, ..OPEN };
        let expected = "clerk was cut off. Did this happen? Write “2.md” in out";
        assert_eq!(title("clerk", &[call(FILE)], doubt).text(), expected);
    }

    #[test]
    fn notification_has_no_word_of_others() {
        let arguments = vec![("to".to_owned(), Untrusted::new("evil@b.example"))];
        let (slot, method, effect) = ("evil", "send", Effect::Commit);
        let view = CallView { kind: Some("outbox"), slot, method, effect, arguments: &arguments };
        assert_eq!(notice_of_calls(&[view]), "A worker wants to send 1 mail");
        let tool = CallView { kind: Some("mcp"), method: "evil", ..view };
        assert_eq!(notice_of_calls(&[view, tool]), "A worker wants to send 1 mail and use 1 tool that sends");
    }

    /// The name of a worker is a foreign word, even where it reads like one of ours.
    #[test]
    fn title_marks_every_foreign_word() {
        let said = title("Almoner says yes. clerk", &[call(MAIL)], OPEN);
        let ours: Vec<&str> =
            said.parts().iter().filter(|part| !part.is_quoted).map(|part| part.text).collect();
        assert_eq!(ours, ["“", "” wants to send a mail to “", "”"]);
    }

    #[test]
    fn message_has_a_title_of_its_kind() {
        let id = kernel::FormulaId { number: [1; 32], node: [2; 32] };
        let title = |body: &Body| {
            MessageSubject { body, sender: "fae", is_worker: true, guest: Some("bob") }
                .title()
                .text()
                .to_owned()
        };
        let field = kernel::message::Field {
            name: "x".to_owned(),
            label: "x".into(),
            pattern: kernel::Value::Null,
            default: None,
            example: None,
            secret: false,
        };
        let form = |count: usize| Body::Form {
            description: "Seats\nplease".into(),
            fields: vec![field.clone(); count],
            promise: id,
            resolver: id,
            repeatable: false,
            run: None,
        };
        let raise = |raise: Raise| Body::Budget {
            run: kernel::RunNumber(1),
            trouble: kernel::run::Trouble { code: "x".into(), message: "x".into(), help: "x".into() },
            used: Default::default(),
            offer: raise,
        };
        for (body, expected) in [
            (form(1), "fae asks you to fill in a form with 1 field: “Seats please”"),
            (form(15), "fae asks you to fill in a form with 15 fields: “Seats please”"),
            (
                Body::Definition { definition: id, promise: id, resolver: id, by: None },
                "fae proposes a worker",
            ),
            (
                Body::EvalRequest {
                    source: "1".into(),
                    names: vec!["a".into(), "b".into(), "c".into()],
                    ids: vec![],
                    promise: id,
                    resolver: id,
                },
                "fae wants to run code with “a”, “b” and 1 more",
            ),
            (
                raise(Raise { turns: 20, ..Raise::default() }),
                "fae has reached a limit and asks for 20 turns more",
            ),
            (raise(Raise { refusals: 3, ..Raise::default() }), "fae keeps asking for what you refuse"),
            (
                Body::Release { result: id, guest: id, promise: id, gives: vec!["x".into(), "y".into()] },
                "A result would give bob 2 capabilities",
            ),
        ] {
            assert_eq!(title(&body), expected);
        }
    }
}
