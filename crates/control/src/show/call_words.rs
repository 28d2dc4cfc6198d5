//! Calls in words: the verb follows from the method and its effect, and the object is the argument that names it.

use kernel::proposal::Effect;
use passable::Quoting;

use super::card::CardEntry;
use super::foreign_words::{self, capitalized};

/// The parts of a call from which its words are made.
#[derive(Clone, Copy, Debug)]
pub struct CallView<'a> {
    /// The kind of the slot's content, as worker files name it.
    pub kind: Option<&'a str>,
    /// The slot.
    pub slot: &'a str,
    /// The method.
    pub method: &'a str,
    /// The effect of the method on the world.
    pub effect: Effect,
    /// The arguments by name, as text.
    pub arguments: &'a [(String, passable::Untrusted)],
}

/// The words for one method of one kind.
struct MethodWords {
    /// The first word of the kind.
    kind: &'static str,
    method: &'static str,
    /// The verb, then a thing and several things, in a count of calls.
    count: (&'static str, &'static str, &'static str),
    /// The words for a single call. An argument stands in braces, and so does `slot`.
    single: &'static str,
}

const fn row(
    kind: &'static str,
    method: &'static str,
    count: (&'static str, &'static str, &'static str),
    single: &'static str,
) -> MethodWords {
    MethodWords { kind, method, count, single }
}

/// The words of the methods that Almoner itself knows.
static WORDS: [MethodWords; 26] = [
    row("outbox", "send", ("send", "mail", "mails"), "send a mail to {to}"),
    row("dir", "write", ("write", "file", "files"), "write {path} in {slot}"),
    row("dir", "put", ("write", "file", "files"), "write {path} in {slot}"),
    row("dir", "append", ("add to", "file", "files"), "add to {path} in {slot}"),
    row("dir", "edit", ("change", "file", "files"), "change {path} in {slot}"),
    row("dir", "move", ("move", "file", "files"), "move {from} to {to} in {slot}"),
    row("dir", "remove", ("remove", "file or folder", "files or folders"), "remove {path} from {slot}"),
    row("dir", "make_directory", ("make", "folder", "folders"), "make the folder {path} in {slot}"),
    row("dir", "makeDirectory", ("make", "folder", "folders"), "make the folder {path} in {slot}"),
    row("dir", "read", ("read", "file", "files"), "read {path} in {slot}"),
    row("dir", "list", ("list", "folder", "folders"), "list {slot}"),
    row("dir", "stat", ("look at", "file", "files"), "look at {path} in {slot}"),
    row("dir", "glob", ("make", "search", "searches"), "search {slot} for the names {pattern}"),
    row("dir", "grep", ("make", "search", "searches"), "search {slot} for {pattern}"),
    row("program", "run", ("run", "program", "programs"), "run {argv} through {slot}"),
    row("http", "get", ("read", "page", "pages"), "read {path} from {slot}"),
    row("http", "send", ("send", "request", "requests"), "send a request for {path} to {slot}"),
    row("git", "add", ("stage", "change", "changes"), "stage {paths} in {slot}"),
    row("git", "unstage", ("unstage", "change", "changes"), "unstage {paths} in {slot}"),
    row("git", "commit", ("make", "commit", "commits"), "commit in {slot}: {message}"),
    row("git", "branch", ("make", "branch", "branches"), "make the branch {name} in {slot}"),
    row("git", "switch", ("switch to", "branch", "branches"), "switch {slot} to the branch {name}"),
    row("git", "log", ("read", "history", "histories"), "read the history of {slot}"),
    row("git", "diff", ("read", "difference", "differences"), "read a difference in {slot}"),
    row("git", "show", ("read", "commit", "commits"), "read {revision} in {slot}"),
    row("workshop", "create", ("make", "worker", "workers"), "make the worker {name}"),
];

/// Returns one call in words, such as `Send a mail to “archive@…”` or `Write “2.md” in out`. Foreign words in it are
/// marked as quoted.
pub fn of_entry(entry: &CardEntry) -> Quoting {
    view(entry).sentence()
}

/// Returns the names of the arguments that stand in the title of a call word for word.
pub fn arguments_in_title(entry: &CardEntry) -> Vec<&'static str> {
    let call = view(entry);
    let Some(words) = call.method_words().filter(|words| call.fill(words.single).is_some()) else {
        return vec![];
    };
    let is_whole = |name: &&str| {
        let argument = entry.arguments.iter().find(|(other, _)| other == name);
        argument.is_some_and(|(_, text)| !text.raw().starts_with('[') && foreign_words::is_whole(text.raw()))
    };
    words
        .single
        .split(['{', '}'])
        .skip(1)
        .step_by(2)
        .filter(|name| *name != "slot")
        .filter(is_whole)
        .collect()
}

/// Returns the parts of a card's entry from which words are made.
pub fn view(entry: &CardEntry) -> CallView<'_> {
    CallView {
        kind: entry.kind.as_deref(),
        slot: &entry.slot,
        method: &entry.method,
        effect: entry.effect,
        arguments: &entry.arguments,
    }
}

impl CallView<'_> {
    fn method_words(&self) -> Option<&'static MethodWords> {
        let kind = self.kind?.split(' ').next()?;
        WORDS.iter().find(|words| words.kind == kind && words.method == self.method)
    }

    /// Returns the call as a title.
    pub fn sentence(&self) -> Quoting {
        let said = self.infinitive();
        let mut parts = said.parts().into_iter();
        let first = parts.next().map(|part| match part.is_quoted {
            true => Quoting::theirs(part.text),
            false => Quoting::ours(capitalized(part.text)),
        });
        parts.fold(first.unwrap_or_default(), |out, part| match part.is_quoted {
            true => out.quote(part.text),
            false => out.and(part.text),
        })
    }

    /// Returns the call in words that follow `wants to`.
    pub fn infinitive(&self) -> Quoting {
        let filled = self.method_words().and_then(|words| self.fill(words.single));
        let filled =
            filled.map(|said| if self.is_sent_by_place() { said.and(", which sends it") } else { said });
        filled.unwrap_or_else(|| match self.method_words() {
            Some(words) => Quoting::ours(counted(words.count, 1)),
            None => {
                let verb = if self.kind == Some("mcp") { "use the tool " } else { "call " };
                let method = foreign_words::name(self.method);
                let slot = foreign_words::name(self.slot);
                Quoting::ours(verb).then(&method).and(" of ").then(&slot).and(self.effect_clause())
            }
        })
    }

    /// Returns the template with its arguments, or `None` if one of them is missing.
    fn fill(&self, template: &str) -> Option<Quoting> {
        let mut out = Quoting::default();
        for (at, piece) in template.split(['{', '}']).enumerate() {
            out = match (at % 2 == 1, piece) {
                (false, ours) => out.and(ours),
                (true, "slot") => out.then(&foreign_words::name(self.slot)),
                (true, argument) => out.then(&foreign_words::value(&self.argument(argument)?)),
            };
        }
        Some(out)
    }

    /// Returns an argument as text. The words of a list stand one after another.
    fn argument(&self, name: &str) -> Option<String> {
        let (_, text) = self.arguments.iter().find(|(other, _)| other == name)?;
        let raw = text.raw();
        let list: Option<Vec<String>> =
            raw.starts_with('[').then(|| serde_json::from_str(raw).ok()).flatten();
        let shown = list.map_or_else(|| raw.to_owned(), |words| words.join(" "));
        (!shown.trim().is_empty()).then_some(shown)
    }

    /// Returns the effect of a call of a method that only its server knows.
    fn effect_clause(&self) -> &'static str {
        match self.effect {
            Effect::Observe => ", which reads",
            Effect::Modify => ", which changes something",
            Effect::Commit => ", which sends",
        }
    }

    /// Returns whether a change sends because of the place that it reaches, such as a mail spool.
    fn is_sent_by_place(&self) -> bool {
        let kind = self.kind.and_then(|kind| kind.split(' ').next());
        self.effect == Effect::Commit && matches!(kind, Some("dir" | "git"))
    }

    /// Returns the verb and the nouns with which calls of this kind are counted.
    pub(super) fn count_words(&self) -> (&'static str, &'static str, &'static str) {
        if self.is_sent_by_place() {
            return ("make", "change that is sent", "changes that are sent");
        }
        match (self.method_words(), self.kind, self.effect) {
            (Some(words), ..) => words.count,
            (None, Some("mcp"), Effect::Observe) => ("use", "tool that reads", "tools that read"),
            (None, Some("mcp"), Effect::Modify) => {
                ("use", "tool that changes something", "tools that change something")
            }
            (None, Some("mcp"), Effect::Commit) => ("use", "tool that sends", "tools that send"),
            (None, _, Effect::Observe) => ("make", "call that reads", "calls that read"),
            (None, _, Effect::Modify) => {
                ("make", "call that changes something", "calls that change something")
            }
            (None, _, Effect::Commit) => ("make", "call that sends", "calls that send"),
        }
    }
}

/// Returns a number of calls of one kind in words, such as `send 2 mails`.
pub(super) fn counted((verb, one, several): (&str, &str, &str), count: usize) -> String {
    format!("{verb} {count} {}", if count == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use passable::Untrusted;

    use super::*;

    fn said(kind: Option<&str>, method: &str, effect: Effect, arguments: &[(&str, &str)]) -> String {
        let arguments: Vec<_> =
            arguments.iter().map(|(name, text)| ((*name).to_owned(), Untrusted::new(*text))).collect();
        let view = CallView { kind, slot: "out", method, effect, arguments: &arguments };
        view.sentence().text().to_owned()
    }

    #[test]
    fn call_names_its_verb_and_its_object() {
        use Effect::{Commit, Modify, Observe};
        for (kind, method, effect, arguments, expected) in [
            (Some("outbox"), "send", Commit, &[("to", "a@b.example")][..], "Send a mail to “a@b.example”"),
            (Some("outbox"), "send", Commit, &[], "Send 1 mail"),
            (Some("dir rw"), "write", Modify, &[("path", "2.md")], "Write “2.md” in out"),
            (Some("dir rw"), "move", Modify, &[("from", "a"), ("to", "b")], "Move “a” to “b” in out"),
            (Some("dir rw"), "write", Commit, &[("path", "a.eml")], "Write “a.eml” in out, which sends it"),
            (Some("dir rw"), "list", Observe, &[], "List out"),
            (
                Some("program"),
                "run",
                Commit,
                &[("argv", "[\n  \"make\",\n  \"all\"\n]")],
                "Run “make all” through out",
            ),
            (Some("mcp"), "send", Commit, &[("to", "a@b.example")], "Use the tool send of out, which sends"),
            (None, "incr", Modify, &[], "Call incr of out, which changes something"),
            (None, "a b”", Observe, &[], "Call “a b\\u{201D}” of out, which reads"),
        ] {
            assert_eq!(said(kind, method, effect, arguments), expected);
        }
    }

    #[test]
    fn every_template_names_an_argument_in_braces() {
        for words in &WORDS {
            assert_eq!(
                words.single.matches('{').count(),
                words.single.matches('}').count(),
                "{}",
                words.single
            );
            let first = words.single.chars().next();
            assert!(first.is_some_and(|char| char.is_ascii_lowercase()), "{}", words.single);
        }
    }
}
