//! The dangers of a card: one sentence for each distinct one, the worst first. The same card always has the same
//! sentences.
//!
//! Dangers come from the traces of the arguments and from the findings of the gates. Findings that only say that a call
//! changes something, or that it sends, are no dangers: the title of the call says as much.

use kernel::proposal::{Effect, Finding, Giver, NOT_READ, Trace};
use passable::Quoting;

use super::card::{Card, CardEntry};
use super::foreign_words::{self, as_sentence};
use super::giver;

/// The sentence above the dangers.
pub const HEADING: &str = "Look closely before you answer.";

/// The sentence above the dangers if words in the calls come from documents.
pub const FOREIGN_WORDS_HEADING: &str =
    "Look closely: words in these calls come from documents, not from you.";

/// The maximum number of sentences about a card.
const MAX_DANGERS: usize = 12;

/// The gates whose findings are no dangers by themselves: they say that a call changes or sends something, they repeat
/// the traces, or they state a rule of the user.
const ROUTINE: [&str; 7] = ["effects", "provenance", "overwrite", "operator", "budget", "depth", "scope"];

/// The rule of a note on a directory that two slots share.
const NOTE: &str = "places/shared";

/// The names of arguments that hold a destination.
const DESTINATIONS: [&str; 14] = [
    "to",
    "cc",
    "bcc",
    "recipient",
    "recipients",
    "url",
    "host",
    "webhook",
    "channel",
    "account",
    "iban",
    "payee",
    "beneficiary",
    "phone",
];

/// The names of arguments that hold the name of a file.
const PATHS: [&str; 4] = ["path", "from", "to", "paths"];

/// The ways in which an argument is encoded, as a trace states them.
const DECODED: &str = "with the argument decoded from ";

/// A danger, from the worst kind to the mildest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Secret,
    InventedDestination,
    ForeignDestination,
    Leaving,
    Finding,
    ForeignContent,
    Changed,
}

/// Returns one sentence for each distinct danger of a card, worst first.
pub fn of_card(card: &Card) -> Vec<Quoting> {
    of_entries(&asked(card))
}

/// Returns the entries that wait for an answer, or all if none waits any more.
fn asked(card: &Card) -> Vec<&CardEntry> {
    let open: Vec<&CardEntry> = card.entries.iter().filter(|entry| entry.answer.is_none()).collect();
    if open.is_empty() { card.entries.iter().collect() } else { open }
}

/// Returns one sentence for each distinct danger of a card, however many there are.
pub fn all_of_card(card: &Card) -> Vec<Quoting> {
    ranked(&asked(card)).into_iter().map(|(_, said)| said).collect()
}

/// Returns one sentence for each distinct danger of these entries, worst first. If there are too many, each kind of danger
/// keeps its first.
pub fn of_entries(entries: &[&CardEntry]) -> Vec<Quoting> {
    let all = ranked(entries);
    // One more takes the place of the line that would count it.
    if all.len() <= MAX_DANGERS + 1 {
        return all.into_iter().map(|(_, said)| said).collect();
    }
    let is_first = |at: usize| {
        at == 0 || all.get(at.wrapping_sub(1)).map(|(rank, _)| rank) != all.get(at).map(|(rank, _)| rank)
    };
    let firsts = (0..all.len()).filter(|at| is_first(*at)).count();
    let mut others = MAX_DANGERS.saturating_sub(firsts);
    let mut shown: Vec<Quoting> = Vec::new();
    for (at, (_, said)) in all.iter().enumerate() {
        if !is_first(at) {
            let Some(left) = others.checked_sub(1) else { continue };
            others = left;
        }
        shown.push(said.clone());
    }
    let more = all.len().saturating_sub(shown.len());
    shown.push(Quoting::ours(format!("There are {more} more dangers: open the card in full.")));
    shown
}

/// Returns the distinct dangers of these entries with their ranks, worst first.
fn ranked(entries: &[&CardEntry]) -> Vec<(Rank, Quoting)> {
    let mut all: Vec<(Rank, Quoting)> = destinations(entries);
    all.extend(leaving(entries).map(|said| (Rank::Leaving, said)));
    all.extend(written(entries).map(|said| (Rank::ForeignContent, said)));
    for entry in entries {
        for finding in entry.findings.iter().filter(|finding| is_telling(finding)) {
            let rank = if gate(finding) == "secrets" { Rank::Secret } else { Rank::Finding };
            all.push((rank, as_sentence(&finding.message_quoting())));
        }
        for changed in &entry.changed {
            let what = foreign_words::value(&changed.what);
            all.push((Rank::Changed, what.and(" has changed since you approved this.")));
        }
    }
    // The sort is stable, so equal ranks stay in the order of the calls.
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut distinct: Vec<(Rank, Quoting)> = Vec::new();
    for (rank, said) in all {
        if distinct.iter().all(|(_, other)| *other != said) {
            distinct.push((rank, said));
        }
    }
    distinct
}

/// Returns the sentence above the dangers of a card.
pub fn heading(card: &Card) -> &'static str {
    heading_of_entries(&asked(card))
}

/// Returns the sentence above the dangers of these entries.
pub fn heading_of_entries(entries: &[&CardEntry]) -> &'static str {
    let is_foreign =
        |entry: &&CardEntry| giver::passages(&entry.traces).next().is_some() || !documents(entry).is_empty();
    if entries.iter().any(is_foreign) { FOREIGN_WORDS_HEADING } else { HEADING }
}

/// Returns the open calls of a card that a plain yes does not cover: the careful ones, if several calls are open. They
/// are counted from 0.
pub fn unticked(card: &Card) -> Vec<usize> {
    let open = card.entries.iter().enumerate().filter(|(_, entry)| entry.answer.is_none());
    if open.clone().count() < 2 {
        return vec![];
    }
    open.filter(|(_, entry)| is_careful(entry)).map(|(at, _)| at).collect()
}

/// Returns whether a call stays unticked until the user ticks it: it sends, or carries a value with a danger.
pub fn is_careful(entry: &CardEntry) -> bool {
    leaves(entry) || !entry.traces.is_empty() || entry.findings.iter().any(is_telling)
}

/// Returns whether words of the call leave this machine.
fn leaves(entry: &CardEntry) -> bool {
    entry.effect == Effect::Commit || entry.tells.is_some()
}

fn gate(finding: &Finding) -> &str {
    finding.rule.split('/').next().unwrap_or_default()
}

/// Returns whether a finding says more than the title of the call and the traces.
fn is_telling(finding: &Finding) -> bool {
    !ROUTINE.contains(&gate(finding)) && finding.rule != NOTE
}

/// Returns the sentences about destinations that the user did not give, one for each.
fn destinations(entries: &[&CardEntry]) -> Vec<(Rank, Quoting)> {
    // Each destination has the places where it was read. It has none if the model made it.
    let mut found: Vec<(&Trace, Vec<String>)> = Vec::new();
    for entry in entries {
        let is_asked = |trace: &&Trace| {
            // Such a value has no giver, so it is told wherever it stands.
            trace.how == NOT_READ || (leaves(entry) && is_destination(entry, trace))
        };
        for trace in entry.traces.iter().filter(is_asked) {
            let place = (trace.how != NOT_READ).then(|| trace.source_name());
            match found.iter_mut().find(|(other, _)| other.text == trace.text) {
                Some((_, places)) => add(places, place),
                None => found.push((trace, place.into_iter().collect())),
            }
        }
    }
    let said = |(trace, places): (&Trace, Vec<String>)| {
        let what = destination(trace);
        match places.is_empty() {
            true => {
                (Rank::InventedDestination, what.and(" stands in nothing that was read. You never gave it."))
            }
            false => (
                Rank::ForeignDestination,
                what.and(" stands only in ")
                    .then(&foreign_words::places(&places))
                    .and(". You never gave it."),
            ),
        }
    };
    found.into_iter().map(said).collect()
}

fn destination(trace: &Trace) -> Quoting {
    let is_address = is_address(&trace.text);
    match is_address {
        true => Quoting::ours("The address ").then(&foreign_words::place(&trace.text)),
        false => Quoting::ours("The value ")
            .then(&foreign_words::value(&trace.text))
            .and(" for ")
            .then(&foreign_words::name(&trace.argument)),
    }
}

/// Returns whether a trace is about the destination of a call, and not about a passage of its text.
fn is_destination(entry: &CardEntry, trace: &Trace) -> bool {
    if is_destination_name(&trace.argument) {
        return true;
    }
    let argument = entry.arguments.iter().find(|(name, _)| *name == trace.argument);
    is_address(&trace.text) && argument.is_some_and(|(_, text)| is_or_lists(text.raw(), &trace.text))
}

/// Returns whether an argument is this text, or a list with this text.
fn is_or_lists(argument: &str, text: &str) -> bool {
    let list = || serde_json::from_str::<Vec<serde_json::Value>>(argument).unwrap_or_default();
    argument.trim() == text || list().iter().any(|one| one.as_str() == Some(text))
}

fn is_destination_name(argument: &str) -> bool {
    DESTINATIONS.contains(&argument.to_ascii_lowercase().as_str())
}

fn is_address(text: &str) -> bool {
    !text.contains(char::is_whitespace) && (text.contains('@') || text.contains("://"))
}

/// Returns the sentence about passages of documents that would leave this machine.
fn leaving(entries: &[&CardEntry]) -> Option<Quoting> {
    let (mut passages, mut hidden, mut ways) = (PassageLengths::default(), 0, Vec::new());
    for entry in entries.iter().filter(|entry| leaves(entry)) {
        let mut is_hidden = false;
        for trace in
            entry.traces.iter().filter(|trace| trace.how != NOT_READ && !is_destination(entry, trace))
        {
            passages.add(&trace.source_name(), trace.text.len());
            if let Some((_, way)) = trace.how.split_once(DECODED) {
                is_hidden = true;
                add(&mut ways, Some(way.to_owned()));
            }
        }
        for place in documents_of(entry, |argument| !is_destination_name(argument)) {
            passages.add(place, 0);
        }
        hidden += usize::from(is_hidden);
    }
    let places = passages.places();
    if places.is_empty() {
        return None;
    }
    let calls = entries.iter().filter(|entry| leaves(entry)).count();
    let times = match hidden {
        _ if calls == 1 => String::new(),
        1 => "once ".to_owned(),
        2 => "twice ".to_owned(),
        count => format!("{count} times "),
    };
    let said =
        Quoting::ours("Words of ").then(&foreign_words::places(&places)).and(" would leave this machine");
    Some(match hidden {
        0 => said.and("."),
        _ => said.and(format!(", {times}hidden in {}.", ways.join(" and "))),
    })
}

/// The places from which passages come, with the length of the passages from each.
#[derive(Default)]
struct PassageLengths(Vec<(String, usize)>);

impl PassageLengths {
    fn add(&mut self, place: &str, length: usize) {
        match self.0.iter_mut().find(|(other, _)| other == place) {
            Some((_, all)) => *all += length,
            None => self.0.push((place.to_owned(), length)),
        }
    }

    /// Returns the places, those with the longest passages first.
    fn places(mut self) -> Vec<String> {
        self.0.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
        self.0.into_iter().map(|(place, _)| place).collect()
    }
}

/// Returns the sentence about words of documents in calls that change something.
fn written(entries: &[&CardEntry]) -> Option<Quoting> {
    let (mut passages, mut calls, mut names) = (PassageLengths::default(), Vec::new(), 0_usize);
    let is_path = |argument: &str| PATHS.contains(&argument);
    for entry in entries.iter().filter(|entry| !leaves(entry) && entry.effect == Effect::Modify) {
        let traced: Vec<&Trace> = giver::passages(&entry.traces).collect();
        let given = documents(entry);
        if !traced.is_empty() || !given.is_empty() {
            let is_name = traced.iter().all(|trace| is_path(&trace.argument))
                && documents_of(entry, |argument| !is_path(argument)).is_empty();
            calls.push(*entry);
            names += usize::from(is_name);
        }
        traced.iter().for_each(|trace| passages.add(&trace.source_name(), trace.text.len()));
        given.into_iter().for_each(|place| passages.add(place, 0));
    }
    let writes_file = |entry: &&&CardEntry| {
        entry.kind.as_deref().is_some_and(|kind| kind.starts_with("dir")) && path_of(entry).is_some()
    };
    let files = calls.iter().filter(writes_file).count();
    // Only the names of the files come from documents, and no text.
    let thing = if names == calls.len() { "The name of the file" } else { "The text for" };
    let from =
        Quoting::ours(" from ").then(&foreign_words::places(&passages.places())).and(", not from you.");
    Some(match calls.as_slice() {
        [] => return None,
        [only] if files == 1 => {
            let path = foreign_words::value(path_of(only).unwrap_or_default());
            Quoting::ours(thing).and(" ").then(&path).and(" comes").then(&from)
        }
        [_] => Quoting::ours("Words in this call come").then(&from),
        all if files == all.len() && names == 0 => {
            Quoting::ours(format!("The text for {files} files comes")).then(&from)
        }
        all => Quoting::ours(format!("Words in {} calls come", all.len())).then(&from),
    })
}

fn path_of(entry: &CardEntry) -> Option<&str> {
    entry.arguments.iter().find(|(name, _)| name == "path").map(|(_, path)| path.raw())
}

/// Returns the documents that hold arguments which the user did not give.
fn documents(entry: &CardEntry) -> Vec<&String> {
    documents_of(entry, |_| true)
}

fn documents_of(entry: &CardEntry, is_wanted: impl Fn(&str) -> bool) -> Vec<&String> {
    let own = entry.givers.iter().filter(|one| is_wanted(&one.argument));
    own.filter_map(|one| match &one.giver {
        Giver::Document { places, .. } => Some(places),
        Giver::User { .. } | Giver::Unknown => None,
    })
    .flatten()
    .collect()
}

fn add(all: &mut Vec<String>, one: Option<String>) {
    if let Some(one) = one.filter(|one| !all.contains(one)) {
        all.push(one);
    }
}

#[cfg(test)]
mod tests {
    use kernel::proposal::{ArgumentGiver, Caller};
    use kernel::{MessageNumber, RunNumber, StepRef};
    use passable::Untrusted;

    use super::*;

    fn entry(kind: &str, method: &str, effect: Effect, arguments: &[(&str, &str)]) -> CardEntry {
        CardEntry {
            step: StepRef { run: RunNumber(1), step: 9 },
            slot: "out".to_owned(),
            kind: Some(kind.to_owned()),
            target: "a target".to_owned(),
            method: method.to_owned(),
            effect,
            tells: None,
            caller: Caller::Model,
            arguments: arguments.iter().map(|(n, text)| ((*n).to_owned(), Untrusted::new(*text))).collect(),
            findings: vec![],
            traces: vec![],
            givers: vec![],
            replaces: None,
            difference: None,
            difference_of: None,
            changed: vec![],
            making: None,
            cut_off: None,
            ended: None,
            answer: None,
            undone: vec![],
        }
    }

    fn send(to: &str) -> CardEntry {
        entry("outbox", "send", Effect::Commit, &[("to", to), ("body", "a long text")])
    }

    fn write(path: &str) -> CardEntry {
        entry("dir rw", "write", Effect::Modify, &[("path", path), ("content", "a text")])
    }

    fn trace(argument: &str, text: &str, document: &str, how: &str) -> Trace {
        let (argument, text) = (argument.to_owned(), text.to_owned());
        Trace { argument, text, document: document.to_owned(), call: None, how: how.to_owned() }
    }

    fn card(entries: Vec<CardEntry>) -> Card {
        Card {
            number: MessageNumber(3),
            run: RunNumber(1),
            worker: "clerk".to_owned(),
            in_doubt: false,
            task: vec![],
            entries,
            more: None,
            read: vec![],
            asked: vec![],
            said: None,
        }
    }

    fn said(entries: Vec<CardEntry>) -> String {
        of_card(&card(entries)).iter().map(|said| format!("{}\n", said.text())).collect()
    }

    #[test]
    fn dangers_are_distinct_and_worst_first() {
        let (address, letter, bill) = ("archive@b.example", "mail/5.eml", "mail/2.txt");
        let mut first = send(address);
        first.traces = vec![
            trace("to", address, letter, "as written"),
            trace("to", address, "mail/6.eml", "base64"),
            trace("body", "Archive", letter, "as written"),
            trace("body", "20931", bill, "as written"),
            trace("body", "1,052.40", bill, "as written"),
        ];
        let mut second = send(address);
        second.traces = vec![
            trace("to", address, letter, "as written"),
            trace("body", "20931", bill, "as written, with the argument decoded from base64"),
        ];
        let mut third = write("2.md");
        third.findings = vec![
            Finding::new("effects/modify", "`out.write` changes something"),
            Finding::new("overwrite/replaces", "`2.md` exists"),
            Finding::new(
                "paths/protected",
                passable::quoting!("`{}` would be written, and others read it", "2.md"),
            ),
        ];
        third.givers = vec![ArgumentGiver {
            argument: "content".to_owned(),
            part: None,
            giver: Giver::Document { places: vec![letter.to_owned()], is_whole: true },
        }];
        let entries = vec![third, first, second];
        let expected = said(entries.clone());
        insta::assert_snapshot!(expected, @r"
        The address archive@b.example stands only in mail/5.eml and mail/6.eml. You never gave it.
        Words of mail/2.txt and mail/5.eml would leave this machine, once hidden in base64.
        “2.md” would be written, and others read it.
        The text for “2.md” comes from mail/5.eml, not from you.
        ");
        assert!(entries.iter().all(is_careful));
        assert_eq!(heading(&card(entries)), FOREIGN_WORDS_HEADING);
    }

    #[test]
    fn call_without_foreign_words_has_no_danger() {
        let mut mail = send("ann@b.example");
        mail.findings =
            vec![Finding::new("effects/commit", "sends"), Finding::new("provenance/untrusted", "model")];
        let given = Giver::User { named: Some("a.txt".to_owned()) };
        mail.givers = vec![ArgumentGiver { argument: "to".to_owned(), part: None, giver: given }];
        assert_eq!((said(vec![mail.clone(), write("a")]), is_careful(&mail)), (String::new(), true));
        assert!(!is_careful(&write("a")), "a change with the model's own words");
    }

    #[test]
    fn value_that_stands_nowhere_is_a_danger_in_any_argument() {
        let mut one = entry("mcp", "invite", Effect::Commit, &[("attendees", "[\"evil@b.example\"]")]);
        one.traces = vec![trace("attendees", "evil@b.example", "the model m", NOT_READ)];
        let mut two = send("ann@b.example");
        two.traces = vec![trace("body", "http://evil.example/x", "the model m", NOT_READ)];
        let mut three = entry("mcp", "invite", Effect::Commit, &[("attendees", "[\"eve@b.example\"]")]);
        three.traces = vec![trace("attendees", "eve@b.example", "a.txt", "as written")];
        insta::assert_snapshot!(said(vec![one.clone(), two, three]), @r"
        The address evil@b.example stands in nothing that was read. You never gave it.
        The address http://evil.example/x stands in nothing that was read. You never gave it.
        The address eve@b.example stands only in a.txt. You never gave it.
        ");
        assert_eq!(heading(&card(vec![one])), HEADING);
    }

    #[test]
    fn many_dangers_of_one_kind_hide_no_other_kind() {
        let mut one = send("x@b.example");
        one.traces =
            (0..30).map(|at| trace("body", &format!("x{at}@b.example"), "the model m", NOT_READ)).collect();
        one.traces.push(trace("to", "eve@b.example", "a.txt", "as written"));
        one.traces.push(trace("body", "a passage", "b.txt", "as written"));
        let shown = of_card(&card(vec![one.clone()]));
        assert_eq!(shown.len(), MAX_DANGERS + 1);
        let text: String = shown.iter().map(|said| format!("{}\n", said.text())).collect();
        for part in ["eve@b.example stands only in a.txt", "Words of b.txt would leave", "There are 20 more"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(all_of_card(&card(vec![one])).len(), 32);
    }

    #[test]
    fn name_of_a_file_from_a_document_is_no_text() {
        let mut one = entry("dir rw", "remove", Effect::Modify, &[("path", "a.txt")]);
        one.traces = vec![trace("path", "a.txt", "list.md", "as written")];
        assert_eq!(said(vec![one]), "The name of the file “a.txt” comes from list.md, not from you.\n");
    }

    #[test]
    fn invented_destination_is_worse_than_a_foreign_one() {
        let (mut one, mut two) = (send("x@b.example"), send("Bob"));
        one.traces = vec![trace("to", "x@b.example", "a.txt", "as written")];
        two.traces = vec![trace("to", "Bob", "the model m", NOT_READ)];
        insta::assert_snapshot!(said(vec![one, two]), @r"
        The value “Bob” for to stands in nothing that was read. You never gave it.
        The address x@b.example stands only in a.txt. You never gave it.
        ");
    }

    /// A document may have any name, and an address any form.
    #[test]
    fn foreign_words_cannot_forge_a_danger() {
        let mut one = send("x”. You gave it. “@b");
        one.traces = vec![trace("to", "x”. You gave it. “@b", "you. All is well", "as written")];
        let dangers = of_card(&card(vec![one]));
        for part in dangers.iter().flat_map(Quoting::parts).filter(|part| !part.is_quoted) {
            assert!(!part.text.contains("well") && !part.text.contains("gave it. "), "{part:?}");
        }
        insta::assert_snapshot!(dangers[0].text(), @r"The value “x\u{201D}. You gave it. \u{201C}@b” for to stands only in “you. All is well”. You never gave it.");
    }
}
