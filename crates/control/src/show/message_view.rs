//! Messages as text for users.

use std::fmt::Write as _;

use kernel::message::{Answer, Body};
use kernel::{BlobHash, RunNumber};
use passable::{Untrusted, visible_line, with_article};
use resource::units;

use super::grant_heading::GRANT_HEADING;
use super::headline;
use super::lines::{self, CONTINUATION_MARK, Marks};
use super::outcome;
use crate::exit::{Exit, Failure};
use crate::powers::Powers;
use crate::view::{FieldSpec, MessageView};

/// Returns a complete message for a screen of so many columns. Every line with words of the sender begins with a mark
/// of this program, even a continued line.
pub fn render(view: &MessageView, columns: usize) -> String {
    let mut out = String::new();
    let letter = &view.letter;
    let title =
        format!("message {} ── {}", letter.number, visible_line(headline::deed_of_message(view).text()));
    lines::write(
        &mut out,
        Marks { first: "── ", next: "   ", on: CONTINUATION_MARK },
        &format!("{title} ──"),
        columns,
    );
    let Some(body) = letter.body() else {
        out.push_str("    dismissed: only its envelope is left\n");
        return out;
    };
    let kind = visible_line(&letter.mail.envelope.kind);
    let envelope = format!("{kind} from {} to {}", visible_line(&view.from), visible_line(&view.to));
    lines::write(&mut out, Marks { first: "    ", next: "    ", on: CONTINUATION_MARK }, &envelope, columns);
    match body {
        Body::Request { description, by, .. } => {
            if let Some(wish) = by {
                by_model(&mut out, wish.run, "asks for something", columns);
            }
            write_quoted(&mut out, "asks for", &description.visible(), columns);
            if let Some(wish) = by {
                grant_heading(&mut out);
                let text = format!(
                    "a value is told to its model; anything else becomes its slot `{}`, until it ends or you revoke it",
                    visible_line(&wish.slot)
                );
                lines::write(
                    &mut out,
                    Marks { first: "    ", next: "    ", on: CONTINUATION_MARK },
                    &text,
                    columns,
                );
            }
        }
        Body::Package { names, run, .. } => {
            if let Some(run) = run {
                by_model(&mut out, *run, "says this", columns);
            }
            write_quoted(&mut out, "says", &package(body), columns);
            for name in names {
                lines::write(
                    &mut out,
                    Marks { first: "    with ", next: "         ", on: CONTINUATION_MARK },
                    &visible_line(name),
                    columns,
                );
            }
        }
        Body::Definition { by, .. } => {
            if let Some(draft) = by {
                by_model(&mut out, draft.run, "proposes this", columns);
                if !draft.description.raw().is_empty() {
                    write_quoted(&mut out, "says of it", &draft.description.visible(), columns);
                }
            }
            let what = if view.is_worker { "proposes a worker" } else { "proposes code" };
            source(&mut out, view, what, columns);
            if !view.fields.is_empty() {
                grant_heading(&mut out);
            }
            field_specs(&mut out, "slot", &view.fields, columns);
        }
        Body::EvalRequest { .. } => {
            source(&mut out, view, "asks to run code", columns);
            grant_heading(&mut out);
            for (name, powers) in &view.uses {
                let name = format!("{}:", visible_line(name));
                lines::write(
                    &mut out,
                    Marks { first: "    uses ", next: "    ", on: CONTINUATION_MARK },
                    &name,
                    columns,
                );
                lines::write(&mut out, Marks::each("      │ "), &in_words(powers.as_ref()), columns);
            }
            let comes_to = format!("what it comes to {RESULT_NOTE}");
            lines::write(
                &mut out,
                Marks { first: "    ", next: "    ", on: CONTINUATION_MARK },
                &comes_to,
                columns,
            );
        }
        Body::Form { description, repeatable, run, .. } => {
            if let Some(run) = run {
                by_model(&mut out, *run, "asks this", columns);
            }
            write_quoted(&mut out, "asks", &description.visible(), columns);
            if view.fields.iter().any(|field| field.capability) {
                grant_heading(&mut out);
            }
            field_specs(&mut out, "field", &view.fields, columns);
            if *repeatable {
                out.push_str("    it may be filled in more than once\n");
            }
        }
        Body::Value { value } => {
            let text = format!("a value ({}); `adopt` gives it a name of yours", value.short());
            lines::write(
                &mut out,
                Marks { first: "    ", next: "    ", on: CONTINUATION_MARK },
                &text,
                columns,
            );
        }
        Body::Approval { .. }
        | Body::OutcomeUnknown { .. }
        | Body::Budget { .. }
        | Body::MailQuota { .. }
        | Body::Command { .. } => {
            let Summary { ours, theirs, .. } = Summary::of(body, usize::MAX);
            write_quoted(&mut out, "says", &format!("{ours}{theirs}"), columns);
        }
        Body::Release { .. } => {
            let withheld = view.withheld.as_ref();
            let to = withheld.map(|withheld| format!(" {}", visible_line(&withheld.to))).unwrap_or_default();
            let says = format!("a result is withheld: it would give{to} what can be used");
            lines::write(
                &mut out,
                Marks { first: "    ", next: "    ", on: CONTINUATION_MARK },
                &says,
                columns,
            );
            grant_heading(&mut out);
            for (given, number) in withheld.iter().flat_map(|withheld| &withheld.gives).zip(1..) {
                lines::write(
                    &mut out,
                    Marks { first: "      ! ", next: "      ! ", on: CONTINUATION_MARK },
                    &format!("{number}: {}", in_words(given.as_ref())),
                    columns,
                );
            }
            if let Some(text) = withheld.and_then(|withheld| withheld.text.as_ref()) {
                write_quoted(&mut out, "all of it", &text.visible(), columns);
            }
        }
    }
    if let Some(came) = &letter.mail.outcome {
        let told = outcome::render_outcome(came);
        lines::write(
            &mut out,
            Marks { first: "    outcome: ", next: "      │ ", on: CONTINUATION_MARK },
            &visible_line(told.text()),
            columns,
        );
    }
    for answer in letter.mail.answers.values() {
        match answer {
            Answer::Approved { .. } | Answer::Happened { .. } | Answer::Repeat { .. } => {
                out.push_str("    ✓ answered\n");
            }
            Answer::Denied { reason, .. } => {
                lines::write(
                    &mut out,
                    Marks { first: "    ✗ refused: ", next: "    ✗ ", on: CONTINUATION_MARK },
                    &reason.visible_line(),
                    columns,
                );
            }
            Answer::Withdrawn { reason, .. } if reason.raw().is_empty() => {
                out.push_str("    ✗ withdrawn by its sender\n");
            }
            Answer::Withdrawn { reason, .. } => {
                lines::write(
                    &mut out,
                    Marks {
                        first: "    ✗ withdrawn by its sender: ", next: "    ✗ ", on: CONTINUATION_MARK
                    },
                    &reason.visible_line(),
                    columns,
                );
            }
        }
    }
    out
}

/// The text about the result of code that the user lets run.
pub const RESULT_NOTE: &str =
    "goes to whoever asks, if it is data; you are asked before anything that can be used goes with it";

/// Returns the powers of an object in one line, which is safe to show. `None` stands for an object that no longer
/// exists.
fn in_words(powers: Option<&Powers>) -> String {
    powers.map_or_else(|| "something that is gone".to_owned(), Powers::in_words)
}

/// Writes a line which says that a run wrote the message, in words of this program.
fn by_model(out: &mut String, run: RunNumber, what: &str, columns: usize) {
    let text = format!("{run} {what}; its words are those of a model");
    lines::write(out, Marks { first: "    ! ", next: "    ! ", on: CONTINUATION_MARK }, &text, columns);
}

/// Writes the heading above all that an answer gives away.
fn grant_heading(out: &mut String) {
    let _ = writeln!(out, "    {GRANT_HEADING}");
}

/// Writes words of the sender, under a heading of this program.
fn write_quoted(out: &mut String, verb: &str, shown: &str, columns: usize) {
    let _ = writeln!(out, "    {verb}:");
    lines::write(out, Marks::each("      │ "), shown.trim_end_matches('\n'), columns);
}

fn source(out: &mut String, view: &MessageView, what: &str, columns: usize) {
    let Some(source) = &view.source else { return };
    let many = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let size = (many(source.raw().lines().count(), "line"), many(source.raw().len(), "byte"));
    write_quoted(out, &format!("{what} ({}, {})", size.0, size.1), &source.visible(), columns);
    // The full digest identifies the text. Its beginning would not be enough, because two texts can be made whose
    // digests begin alike.
    let _ = writeln!(out, "    its digest is {}", BlobHash::of(source.raw().as_bytes()));
}

fn field_specs(out: &mut String, what: &str, holes: &[FieldSpec], columns: usize) {
    for hole in holes {
        lines::write(
            out,
            Marks { first: &format!("    {what} "), next: "      ", on: CONTINUATION_MARK },
            &asks(hole),
            columns,
        );
        label(out, hole, columns);
    }
}

/// Returns one slot or field as text for a screen of so many columns: its name, its permitted contents, and the
/// author's description.
pub fn field_spec(hole: &FieldSpec, columns: usize) -> String {
    let mut out = format!("  {}\n", asks(hole));
    label(&mut out, hole, columns);
    out
}

fn asks(hole: &FieldSpec) -> String {
    let mut text = format!("{}: {}", visible_line(&hole.name), visible_line(&hole.wants));
    if hole.capability {
        text.push_str(", by a name of yours");
    }
    if hole.secret {
        text.push_str("; it is sealed");
    }
    if let Some(default) = &hole.default {
        let _ = write!(text, "; {} unless you say otherwise", visible_line(default));
    }
    text
}

fn label(out: &mut String, hole: &FieldSpec, columns: usize) {
    let label = hole.label.visible();
    if !label.is_empty() && *label != *hole.name {
        lines::write(out, Marks::each("      │ "), &label, columns);
    }
}

/// Returns the commands that a user can type to answer a waiting message. They contain `--as` if the message is in
/// the mailbox of another agent.
pub fn next_commands(view: &MessageView, agent: Option<&str>) -> Option<String> {
    let number = view.letter.number;
    if !view.letter.mail.needs_you {
        return None;
    }
    let almoner = match agent {
        Some(agent) => format!("almoner --as {}", visible_line(agent)),
        None => "almoner".to_owned(),
    };
    let reject = format!("`{almoner} reject {number} -r WHY`");
    Some(match view.letter.body()? {
        Body::Request { by: Some(wish), .. } => {
            let slot = visible_line(&wish.slot);
            format!(
                "`{almoner} resolve {number} --text TEXT`, `{almoner} resolve {number} NAME`, \
                 `{almoner} resolve {number} -e {slot}=PATH` or {reject}"
            )
        }
        Body::Request { .. } => format!("`{almoner} resolve {number} NAME` or {reject}"),
        Body::Definition { .. } => {
            let slots: String =
                view.fields.iter().map(|hole| format!(" {}=NAME", visible_line(&hole.name))).collect();
            format!("`{almoner} endow {number}{slots}`, `{almoner} edit {number} FILE` or {reject}")
        }
        Body::Form { .. } => format!("`{almoner} submit {number}` or {reject}"),
        Body::EvalRequest { .. }
        | Body::Approval { .. }
        | Body::Release { .. }
        | Body::Budget { .. }
        | Body::MailQuota { .. } => {
            format!("`{almoner} approve {number}` or `{almoner} deny {number} -r WHY`")
        }
        Body::OutcomeUnknown { .. } => {
            format!("`{almoner} outcome {number} yes` or `{almoner} outcome {number} no`")
        }
        Body::Package { .. } | Body::Value { .. } | Body::Command { .. } => return None,
    })
}

/// Returns the kind of a message, with its article.
pub fn kind_with_article(view: &MessageView) -> String {
    match view.letter.body() {
        Some(Body::OutcomeUnknown { .. }) => "a question whether something happened".to_owned(),
        _ => with_article(&view.letter.mail.envelope.kind),
    }
}

/// Returns the failure of a command that was meant for another kind of message.
pub fn wrong_kind_failure(view: &MessageView, wanted: &str, agent: Option<&str>) -> Failure {
    let number = view.letter.number;
    let kind = kind_with_article(view);
    Failure::new(Exit::Conflict, format!("message {number} is {kind}, not {wanted}"))
        .help(next_commands(view, agent).unwrap_or_else(|| format!("`almoner inbox {number}` shows it")))
}

fn package(body: &Body) -> String {
    let Body::Package { strings, names, .. } = body else { return String::new() };
    let mut text = String::new();
    for (i, piece) in strings.iter().enumerate() {
        text.push_str(&piece.visible());
        if let Some(name) = names.get(i) {
            let _ = write!(text, "@{}", visible_line(name));
        }
    }
    text
}

/// Returns a text of several lines in one line, in which a mark replaces each line end. The line is safe to show.
pub fn one_line(text: &Untrusted) -> String {
    visible_line(&text.raw().lines().collect::<Vec<_>>().join(" ⏎ ")).into_owned()
}

/// The maximum size of the sender's words in a summary of a message, in bytes on a web page.
const MAX_SUMMARY_BYTES: usize = 200;

/// Returns the beginning of a text in one line that is safe to show, and the number of bytes that were left out.
pub fn short(text: &Untrusted) -> (String, usize) {
    beginning(text, MAX_SUMMARY_BYTES)
}

fn beginning(text: &Untrusted, most: usize) -> (String, usize) {
    let raw = text.raw();
    let mut room = most;
    let has_no_room = |(_, char): &(usize, char)| match room.checked_sub(bytes_of(*char)) {
        Some(left) => {
            room = left;
            false
        }
        None => true,
    };
    let end = raw.char_indices().find(has_no_room).map_or(raw.len(), |(at, _)| at);
    let more = raw.len() - end;
    match raw.get(..end) {
        Some(head) if more > 0 => (one_line(&Untrusted::new(head)), more),
        _ => (one_line(text), 0),
    }
}

/// Returns the size of a character on a web page, in bytes, including its escape. With it, a list of summaries has a
/// limited size for any text.
fn bytes_of(char: char) -> usize {
    match char {
        '"' => "&quot;".len(),
        '&' => "&amp;".len(),
        '<' | '>' => "&lt;".len(),
        '\n' => " ⏎ ".len(),
        ' '..='~' => 1,
        other => visible_line(other.encode_utf8(&mut [0; 4])).len(),
    }
}

/// Returns the text that follows words that were cut, with the number of the missing bytes.
pub fn more_bytes(more: usize) -> String {
    match more {
        0 => String::new(),
        1 => " … + 1 more byte".to_owned(),
        _ => format!(" … + {more} more bytes"),
    }
}

/// A message in one line: words of this program, followed by words of the sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Words of this program.
    pub ours: String,
    /// The beginning of the sender's words, or of foreign names. The text is safe to show.
    pub theirs: String,
    /// The number of bytes that were left out of the sender's words.
    pub more: usize,
}

impl Summary {
    /// Returns the summary of a message. It has at most `most` bytes of the sender's words. The summary of a run's
    /// message begins with the run's number.
    fn of(body: &Body, most: usize) -> Summary {
        let said = Summary::without_sender(body, most);
        match body.said_by() {
            Some(run) => Summary { ours: format!("{run} {}", said.ours), ..said },
            None => said,
        }
    }

    /// Returns the summary of a message without its sender. It has at most `most` bytes of the sender's words.
    fn without_sender(body: &Body, most: usize) -> Summary {
        let of = |ours: String, text: &Untrusted| {
            let (theirs, more) = beginning(text, most);
            Summary { ours, theirs, more }
        };
        let own = |ours: String| Summary { ours, ..Summary::default() };
        match body {
            Body::Request { description, by: Some(_), .. } => of("asks for: ".to_owned(), description),
            Body::Request { description, .. } => of("asks: ".to_owned(), description),
            Body::Package { run: Some(_), .. } => of("says: ".to_owned(), &package(body).into()),
            Body::Package { .. } => of(String::new(), &package(body).into()),
            Body::Definition { by: Some(draft), .. } => of("proposes code: ".to_owned(), &draft.description),
            Body::Definition { .. } => {
                own("proposes a program: see what it needs, then endow or reject it".to_owned())
            }
            Body::EvalRequest { names, .. } => of("asks to run code over ".to_owned(), &listed(names).into()),
            Body::Form { description, run: Some(_), .. } => of("asks: ".to_owned(), description),
            Body::Form { description, fields, .. } => {
                let unit = if fields.len() == 1 { "field" } else { "fields" };
                of(format!("form with {} {unit}: ", fields.len()), description)
            }
            Body::Value { .. } => own("a value".to_owned()),
            Body::Approval { entries, .. } => own(format!("asks about {}", entries.len())),
            Body::OutcomeUnknown { entry, .. } => own(format!("asks whether {} happened", entry.proposal)),
            Body::Budget { trouble, offer, .. } if offer.is_after_refusals() => {
                of("keeps asking for what you refuse: ".to_owned(), &trouble.message)
            }
            Body::Budget { trouble, .. } => of("asks for more: ".to_owned(), &trouble.message),
            Body::MailQuota { name, sent, offer, .. } => own(format!(
                "`{}` has sent {} messages ({}), as many as it may: a yes lets it send {} more ({})",
                visible_line(name),
                sent.messages,
                units::rounded_bytes(sent.bytes),
                offer.messages,
                units::rounded_bytes(offer.bytes)
            )),
            Body::Release { gives, .. } => {
                of("a result is withheld: it would give away ".to_owned(), &listed(gives).into())
            }
            Body::Command { text, .. } => of(String::new(), text),
        }
    }
}

/// Returns the summary of a message in two parts: words of this program, and the beginning of the sender's words.
pub fn summary_parts(body: &Body) -> Summary {
    Summary::of(body, MAX_SUMMARY_BYTES)
}

/// Returns the summary of a message, to be shown after the sender's name.
pub fn bare_summary(body: &Body) -> Summary {
    Summary::without_sender(body, MAX_SUMMARY_BYTES)
}

/// Returns the summary of a message in one line.
pub fn summary(body: &Body) -> String {
    let Summary { ours, theirs, more } = summary_parts(body);
    format!("{ours}{theirs}{}", more_bytes(more))
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        names => names.iter().map(|name| visible_line(name).into_owned()).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kernel::message::{Draft, Envelope, Field, HostRequest, Mail, Message};
    use kernel::query::MailboxEntry;
    use kernel::{FormulaId, MessageNumber, Number};

    use super::*;
    use crate::inspect::FormulaSummary;
    use crate::narrow::Method;
    use crate::view::Withheld;

    /// Returns a text that tries to look like a line of this program: by a new line, by wrapping and by an escape
    /// sequence.
    fn forged() -> Untrusted {
        Untrusted::new(format!("x\n    ✓ answered{}    ✓ answered\u{1b}[2K", " ".repeat(78)))
    }

    /// Returns an object with forged text in every field.
    fn hostile() -> Powers {
        let id = FormulaId { number: [1; 32], node: [2; 32] };
        let text = || forged().raw().to_owned();
        Powers {
            called: FormulaSummary {
                id,
                name: Some(text()),
                kind: text(),
                words: forged(),
                grant: None,
                message: None,
                run: None,
                target: id,
                read_only: false,
            },
            interface: Some(text()),
            methods: vec![Method { name: text(), effect: String::new() }],
            others: true,
            limits: vec![text()],
            ended: Some(forged()),
        }
    }

    fn view(body: Body) -> MessageView {
        let (id, number) = (FormulaId { number: [1; 32], node: [2; 32] }, Number([1; 32]));
        let kind = body.kind().to_owned();
        let envelope = Envelope { id: number, kind, from: number, to: number, sent_ms: 0, reply_to: None };
        let message = Message { from: id, to: id, sent_ms: 0, reply_to: None, body };
        let mail = Mail {
            envelope,
            message: Some(id),
            answers: BTreeMap::new(),
            needs_you: true,
            dismissed_ms: None,
            done: 0,
            endowed: vec![],
            outcome: None,
        };
        let hole = FieldSpec {
            name: "out\nslot x".to_owned(),
            label: forged(),
            wants: "a directory".to_owned(),
            capability: true,
            secret: false,
            default: None,
            choices: vec![],
        };
        MessageView {
            letter: MailboxEntry { number: MessageNumber(3), message: Some(message), mail },
            from: "fae".to_owned(),
            to: "@self".to_owned(),
            worker: None,
            answers: None,
            source: Some(forged()),
            fields: vec![hole],
            uses: vec![("a\nb".to_owned(), Some(hostile())), ("c".to_owned(), None)],
            withheld: Some(Withheld {
                to: forged().raw().to_owned(),
                text: Some(forged()),
                gives: vec![Some(hostile()), None],
            }),
            is_worker: false,
        }
    }

    #[test]
    fn message_summary_shows_beginning_of_its_text() {
        let long = "é".repeat(90_000);
        let body =
            Body::Package { strings: vec![long.clone().into()], names: vec![], ids: vec![], run: None };
        let shown = summary(&body);
        assert_eq!(
            shown,
            format!("{} … + {} more bytes", "é".repeat(MAX_SUMMARY_BYTES / 2), 180_000 - MAX_SUMMARY_BYTES)
        );
        let whole = |body| render(&view(body), 80).chars().filter(|c| *c == 'é').count();
        assert_eq!(whole(body), 90_000);
        // The user's own command is shown in full if there is room. The title above it has a beginning of it.
        let body = Body::Command {
            verb: "send".to_owned(),
            text: long.clone().into(),
            run: None,
            made: None,
            grant: None,
        };
        assert_eq!(summary(&body).chars().filter(|c| *c == 'é').count(), MAX_SUMMARY_BYTES / 2);
        assert_eq!(whole(body), 90_060);
        let id = FormulaId { number: [1; 32], node: [2; 32] };
        let field = Field {
            name: "x".to_owned(),
            label: "x".into(),
            pattern: kernel::Value::Null,
            default: None,
            example: None,
            secret: false,
        };
        let form = |count: usize| Body::Form {
            description: "which?".into(),
            fields: vec![field.clone(); count],
            promise: id,
            resolver: id,
            repeatable: false,
            run: None,
        };
        assert_eq!(summary(&form(1)), "form with 1 field: which?");
        assert_eq!(summary(&form(2)), "form with 2 fields: which?");
        assert_eq!(summary_parts(&form(1)).ours, "form with 1 field: ");
        let said = |body| wrong_kind_failure(&view(body), "a form", None).message;
        let approval = Body::Approval { run: RunNumber(1), entries: vec![] };
        assert_eq!(said(approval).raw(), "message 3 is an approval, not a form");
        assert_eq!(said(Body::Value { value: id }).raw(), "message 3 is a value, not a form");
        let (head, more) = short(&Untrusted::new("ab\ncd"));
        assert_eq!((head.as_str(), more), ("ab ⏎ cd", 0));
        assert_eq!(more_bytes(1), " … + 1 more byte");
    }

    #[test]
    fn summary_limit_counts_escaped_bytes_in_any_script() {
        for (one, bytes) in
            [("a", 1), ("ж", 2), ("字", 3), ("🤲", 4), ("<", 4), ("\"", 6), ("\u{202E}", 8), ("\n", 5)]
        {
            let (head, more) = short(&Untrusted::new(one.repeat(1000)));
            let count = MAX_SUMMARY_BYTES / bytes;
            assert_eq!(more, (1000 - count) * one.len(), "{one:?}");
            assert!(head.len() <= MAX_SUMMARY_BYTES, "{one:?}: {head}");
        }
    }

    #[test]
    fn every_foreign_line_of_message_has_a_mark() {
        let id = FormulaId { number: [1; 32], node: [2; 32] };
        let asks = |body| view(body);
        let all = [
            asks(Body::Request { description: forged(), promise: id, resolver: id, by: None }),
            asks(Body::Request {
                description: forged(),
                promise: id,
                resolver: id,
                by: Some(HostRequest { run: RunNumber(1), slot: forged().raw().to_owned() }),
            }),
            asks(Body::Package {
                strings: vec![forged(), forged()],
                names: vec!["a\nb".into()],
                ids: vec![id],
                run: Some(RunNumber(1)),
            }),
            asks(Body::Definition { definition: id, promise: id, resolver: id, by: None }),
            asks(Body::Definition {
                definition: id,
                promise: id,
                resolver: id,
                by: Some(Draft { run: RunNumber(1), description: forged() }),
            }),
            asks(Body::EvalRequest {
                source: forged(),
                names: vec![],
                ids: vec![],
                promise: id,
                resolver: id,
            }),
            asks(Body::Form {
                description: forged(),
                fields: vec![],
                promise: id,
                resolver: id,
                repeatable: false,
                run: None,
            }),
        ];
        for view in all {
            let shown = render(&view, 80);
            assert!(!shown.contains('\u{1b}'), "{shown}");
            for line in shown.lines().filter(|line| line.contains("answered")) {
                let marked = line.starts_with("      │ ") || line.starts_with("      ┆ ");
                assert!(marked, "{line:?} in\n{shown}");
            }
            assert!(!summary(view.letter.body().unwrap()).contains('\n'));
            assert!(next_commands(&view, None).is_none_or(|next| next.lines().count() == 1));
        }
    }
}
