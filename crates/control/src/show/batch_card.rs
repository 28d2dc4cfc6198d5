//! One card for the approvals of a batch. Calls that look alike stand together, and the differences are shown in full.
//!
//! The code here alone decides which calls look alike. The worker, the slot, the method, the effect, the origin and the
//! findings must be the same. No text of a model has a part in the decision, because a command names messages by
//! number, and an answer covers exactly the calls of these messages.

use std::collections::BTreeSet;

use kernel::{MessageNumber, RunNumber};
use passable::{Untrusted, visible_line, visible_name};
use serde::{Deserialize, Serialize};

use super::card::{Card, CardEntry, MODEL_TEXT_HEADING};
use super::card_text::{bytes, reason_line, write_warning};
use super::lines::{self, Marks};
use super::task::{Screen, Task, TaskLength};
use super::{danger, giver, headline};

/// The maximum number of givers of one argument that are named.
const MAX_GIVERS: usize = 3;

/// The open approvals of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatchAsks {
    /// The batch.
    pub batch: RunNumber,
    /// The name of the worker.
    pub worker: String,
    /// The approvals, in the order of their numbers.
    pub asks: Vec<ItemAsk>,
    /// All open approvals of the batch. A range answers every open approval in it, so a range to type must name none but
    /// those in `asks`.
    pub open: Vec<MessageNumber>,
}

/// An open approval of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ItemAsk {
    /// The message.
    pub message: MessageNumber,
    /// The name of the item. Foreign text.
    pub item: Untrusted,
}

impl BatchAsks {
    /// Returns the numbers of the messages as a person types them.
    pub fn numbers(&self) -> String {
        let own: Vec<MessageNumber> = self.asks.iter().map(|ask| ask.message).collect();
        ranges(&own, &self.open)
    }
}

/// Returns messages as a list of numbers and ranges. A range names no message of `all` besides those in `wanted`. So an
/// answer to the list covers exactly the wanted messages.
pub fn ranges(wanted: &[MessageNumber], all: &[MessageNumber]) -> String {
    let wanted: BTreeSet<MessageNumber> = wanted.iter().copied().collect();
    let mut spans: Vec<(MessageNumber, MessageNumber)> = Vec::new();
    let mut is_open = false;
    for number in all.iter().copied().collect::<BTreeSet<_>>() {
        let is_wanted = wanted.contains(&number);
        match spans.last_mut().filter(|_| is_open && is_wanted) {
            Some(last) => last.1 = number,
            None if is_wanted => spans.push((number, number)),
            None => {}
        }
        is_open = is_wanted;
    }
    let text = |(first, last): &(MessageNumber, MessageNumber)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    spans.iter().map(text).collect::<Vec<_>>().join(",")
}

/// The approvals of a batch that look alike.
#[derive(Clone, Debug)]
pub struct AlikeCards<'a> {
    /// The cards, each with the name of its item.
    pub cards: Vec<(&'a Card, &'a Untrusted)>,
}

/// Returns the cards of a batch in groups that look alike, in the order of their first messages.
pub fn alike<'a>(asks: &'a BatchAsks, cards: &'a [Card]) -> Vec<AlikeCards<'a>> {
    let mut groups: Vec<(Vec<EntryLook>, AlikeCards<'a>)> = Vec::new();
    for card in cards {
        let Some(ask) = asks.asks.iter().find(|ask| ask.message == card.number) else { continue };
        let look: Vec<EntryLook> = card.entries.iter().map(EntryLook::of).collect();
        // A new worker is never like another one.
        let is_single = card.entries.iter().any(|entry| entry.making.is_some());
        match groups.iter_mut().find(|(other, _)| !is_single && *other == look) {
            Some((_, group)) => group.cards.push((card, &ask.item)),
            None => groups.push((look, AlikeCards { cards: vec![(card, &ask.item)] })),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The parts of a call that must be the same in calls that look alike.
#[derive(PartialEq)]
struct EntryLook {
    call: (String, String, String, bool),
    target: String,
    arguments: Vec<String>,
    findings: Vec<String>,
    traces: Vec<(String, String)>,
    givers: Vec<(String, &'static str)>,
    warnings: (bool, usize, bool, bool),
}

impl EntryLook {
    fn of(entry: &CardEntry) -> EntryLook {
        EntryLook {
            call: (
                entry.slot.clone(),
                entry.method.clone(),
                entry.effect_quoting().text().to_owned(),
                entry.caller == kernel::proposal::Caller::Model,
            ),
            target: entry.target.clone(),
            arguments: entry.arguments.iter().map(|(name, _)| name.clone()).collect(),
            findings: entry.findings.iter().map(reason_line).collect(),
            traces: entry.traces.iter().map(|trace| (trace.argument.clone(), trace.how.clone())).collect(),
            givers: (entry.givers.iter())
                .map(|one| (one.argument.clone(), giver::kind(&one.giver)))
                .collect(),
            warnings: (
                entry.replaces.is_some(),
                entry.changed.len(),
                entry.ended.is_some(),
                entry.answer.is_some(),
            ),
        }
    }
}

/// Returns the approvals of a batch as one card for a screen of so many columns. Every argument is shown in full: once,
/// if it is the same in all calls that look alike, and beside each call otherwise.
pub fn render(asks: &BatchAsks, cards: &[Card], columns: usize) -> String {
    let mut out = String::new();
    let groups = alike(asks, cards);
    let title = format!(
        "messages {} ── {} {} ── {}, {} ──",
        asks.numbers(),
        asks.batch,
        visible_line(headline::of_cards(&asks.worker, cards).text()),
        if cards.len() == 1 { "1 item".to_owned() } else { format!("{} items", cards.len()) },
        if groups.len() == 1 { "all alike".to_owned() } else { format!("{} kinds of calls", groups.len()) },
    );
    lines::write(&mut out, Marks::each("── "), &title, columns);
    let entries: Vec<&CardEntry> = cards.iter().flat_map(|card| &card.entries).collect();
    write_warning(danger::heading_of_entries(&entries), &danger::of_entries(&entries), columns, &mut out);
    // All items of a batch have the task of the batch. An item that calls a worker shows that worker's task below.
    let shared = cards.first().and_then(|card| card.task.first());
    let screen = Screen { columns, length: TaskLength::Long };
    let number = cards.first().map_or(MessageNumber(0), |card| card.number);
    let rest = shared.map(|task| task.render(screen, number, &mut out)).unwrap_or_default();
    for group in &groups {
        out.push('\n');
        group.render(&asks.open, shared, columns, &mut out);
    }
    if let Some(task) = shared {
        task.render_rest(&rest, columns, &mut out);
    }
    out
}

impl AlikeCards<'_> {
    /// Returns the numbers of the group's messages as a person types them.
    pub fn numbers(&self, all: &[MessageNumber]) -> String {
        let own: Vec<MessageNumber> = self.cards.iter().map(|(card, _)| card.number).collect();
        ranges(&own, all)
    }

    fn render(&self, all: &[MessageNumber], shared: Option<&Task>, columns: usize, out: &mut String) {
        let Some((first, _)) = self.cards.first() else { return };
        let count = self.cards.len();
        let heading = match count {
            1 => "1 item:".to_owned(),
            _ => format!("{count} items ask for calls that look alike:"),
        };
        lines::write(out, Marks::each("── "), &heading, columns);
        for (at, entry) in first.entries.iter().enumerate() {
            entry.render_head(at + 1, columns, out);
            if let Some(all) = giver::of_all(&entry.givers) {
                lines::write(out, Marks::each("    "), all, columns);
            }
            if count > 1 {
                for (name, text) in entry.arguments.iter().filter(|(name, _)| self.is_same(at, name)) {
                    let giver = self.giver(at, name).map(|giver| format!(", {giver}")).unwrap_or_default();
                    let (name, size) = (visible_line(name), bytes(text.raw().len()));
                    let title = format!("{name} ({size}), the same for all{giver}:");
                    lines::write(out, Marks::each("    "), &title, columns);
                    lines::write_foreign(out, text, columns);
                }
            }
        }
        for (card, item) in &self.cards {
            let title = format!("message {}  {} {}", card.number, card.run, item.visible_line());
            out.push('\n');
            lines::write(out, Marks::each("  ● "), &title, columns);
            for task in card.task.iter().filter(|task| Some(*task) != shared) {
                let rest = task.render(Screen { columns, length: TaskLength::Long }, card.number, out);
                task.render_rest(&rest, columns, out);
            }
            for (at, entry) in card.entries.iter().enumerate() {
                if card.entries.len() > 1 {
                    lines::write(out, Marks::each("    "), &format!("[{}]", at + 1), columns);
                }
                let differs = |(name, _): &&(String, Untrusted)| count == 1 || !self.is_same(at, name);
                let arguments = entry.arguments.iter().filter(differs).cloned().collect();
                let givers =
                    if giver::of_all(&entry.givers).is_some() { vec![] } else { entry.givers.clone() };
                CardEntry { arguments, givers, findings: vec![], ..entry.clone() }.render_body(columns, out);
            }
            if let Some(said) = &card.said {
                lines::write(out, Marks::each("    "), MODEL_TEXT_HEADING, columns);
                lines::write_foreign(out, said, columns);
            }
        }
        let folded = format!("why you are asked, and what was read: `almoner inbox {} --full`", first.number);
        out.push('\n');
        lines::write(out, Marks::each("  ▸ "), &folded, columns);
        if count > 1 {
            let answer =
                format!("all of these: almoner approve {0}, or almoner deny {0} -r WHY", self.numbers(all));
            out.push('\n');
            lines::write(out, Marks::each("  "), &answer, columns);
        }
    }

    /// Returns the giver of an argument in words. In each item, another document may have given the same words.
    fn giver(&self, at: usize, name: &str) -> Option<String> {
        let of = |(card, _): &(&Card, &Untrusted)| {
            let entry = card.entries.get(at)?;
            let parts = giver::of_parts(&entry.givers, name).into_iter();
            let parts = parts.map(|(part, giver)| giver::of_part(part, giver).text().to_owned());
            let parts: Vec<String> = parts.collect();
            match parts.is_empty() {
                true => giver::of_argument(&entry.givers, name)
                    .map(|giver| giver::quoting(giver).text().to_owned()),
                false => Some(parts.join(", ")),
            }
        };
        let mut all: Vec<String> = self.cards.iter().filter_map(of).collect();
        all.sort();
        all.dedup();
        let more = all.len().saturating_sub(MAX_GIVERS);
        all.truncate(MAX_GIVERS);
        let listed = visible_name(&all.join(", or ")).into_owned();
        match (all.is_empty(), more) {
            (true, _) => None,
            (false, 0) => Some(listed),
            (false, more) => Some(format!("{listed}, or from {more} others")),
        }
    }

    /// Returns whether an argument of an entry is the same in all cards of the group.
    pub fn is_same(&self, at: usize, name: &str) -> bool {
        let mut texts = self.cards.iter().map(|(card, _)| {
            let entry = card.entries.get(at)?;
            entry.arguments.iter().find(|(other, _)| other == name).map(|(_, text)| text.raw())
        });
        let first = texts.next().flatten();
        texts.all(|text| text == first)
    }
}

#[cfg(test)]
mod tests {
    use kernel::StepRef;
    use kernel::proposal::{Caller, Effect, Finding};

    use super::*;

    fn entry(run: u64, path: &str, finding: &str) -> CardEntry {
        CardEntry {
            step: StepRef { run: RunNumber(run), step: 3 },
            slot: "out".to_owned(),
            kind: Some("dir rw".to_owned()),
            target: "directory out".to_owned(),
            method: "write".to_owned(),
            effect: Effect::Modify,
            tells: None,
            caller: Caller::Model,
            arguments: vec![
                ("path".to_owned(), Untrusted::new(path)),
                ("content".to_owned(), Untrusted::new("same")),
            ],
            findings: vec![Finding::new("write/asks", finding.to_owned())],
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

    fn card(number: u64, entries: Vec<CardEntry>) -> Card {
        Card {
            number: MessageNumber(number),
            run: entries[0].step.run,
            worker: "w".to_owned(),
            in_doubt: false,
            task: vec![],
            entries,
            more: None,
            read: vec![],
            asked: vec![],
            said: None,
        }
    }

    fn asks(numbers: &[u64]) -> BatchAsks {
        let ask = |number: &u64| ItemAsk {
            message: MessageNumber(*number),
            item: Untrusted::new(format!("item {number}")),
        };
        let open = numbers.iter().copied().map(MessageNumber).collect();
        BatchAsks {
            batch: RunNumber(1),
            worker: "w".to_owned(),
            asks: numbers.iter().map(ask).collect(),
            open,
        }
    }

    fn numbers(all: &[u64]) -> Vec<MessageNumber> {
        all.iter().copied().map(MessageNumber).collect()
    }

    /// Reported of other programs: 0xku/kon#32 and microsoft/vscode#289019 (many alike calls, one question for each).
    #[test]
    fn ranges_name_no_other_message() {
        let check = |wanted: &[u64], all: &[u64], expected: &str| {
            assert_eq!(ranges(&numbers(wanted), &numbers(all)), expected, "{wanted:?} of {all:?}");
        };
        check(&[3, 5, 9], &[3, 5, 9], "3-9");
        check(&[3, 9], &[3, 5, 9], "3,9");
        check(&[3, 4, 9, 12], &[3, 4, 7, 9, 12], "3-4,9-12");
        check(&[7], &[3, 7], "7");
        check(&[], &[3], "");
    }

    #[test]
    fn cards_are_alike_only_if_code_finds_no_difference() {
        let mut sends = entry(6, "f", "asks");
        sends.effect = Effect::Commit;
        let mut replaces = entry(7, "g", "asks");
        replaces.replaces = Some("g, 123".to_owned());
        let cards = [
            card(3, vec![entry(2, "a", "asks")]),
            card(4, vec![entry(3, "b", "asks")]),
            card(5, vec![entry(4, "c", "asks: c is protected")]),
            card(6, vec![entry(5, "d", "asks"), entry(5, "e", "asks")]),
            card(7, vec![sends]),
            card(8, vec![replaces]),
            card(9, vec![entry(8, "h", "asks")]),
        ];
        let asks = asks(&[3, 4, 5, 6, 7, 8, 9]);
        let all: Vec<MessageNumber> = asks.asks.iter().map(|ask| ask.message).collect();
        let groups: Vec<String> = alike(&asks, &cards).iter().map(|group| group.numbers(&all)).collect();
        assert_eq!(groups, ["3-4,9", "5", "6", "7", "8"]);
    }

    #[test]
    fn card_of_some_messages_names_no_range_over_the_others() {
        let cards = [1, 2, 4].map(|number| card(number, vec![entry(number, "a.md", "asks")]));
        let some = BatchAsks { open: numbers(&[1, 2, 3, 4]), ..asks(&[1, 2, 4]) };
        let text = render(&some, &cards, 100);
        assert!(text.contains("messages 1-2,4") && text.contains("almoner approve 1-2,4"), "{text}");
        assert!(!text.contains("1-4"), "{text}");
    }

    #[test]
    fn batch_card_names_the_giver_of_shared_arguments_and_few_sources() {
        let mut cards = [card(3, vec![entry(2, "a.md", "asks")]), card(5, vec![entry(3, "b.md", "asks")])];
        for (card, document) in cards.iter_mut().zip(["x.txt", "you"]) {
            let giver =
                kernel::proposal::Giver::Document { places: vec![document.to_owned()], is_whole: true };
            let of = |argument: &str| kernel::proposal::ArgumentGiver {
                argument: argument.to_owned(),
                part: None,
                giver: giver.clone(),
            };
            card.entries[0].givers = vec![of("content")];
            card.read = (0..9)
                .map(|at| kernel::provenance::Source::Document {
                    name: format!("d{at}"),
                    hash: kernel::BlobHash([at; 32]),
                })
                .collect();
        }
        let text = render(&asks(&[3, 5]), &cards, 200);
        let shared = "content (4 bytes), the same for all, from the text “x.txt”, or from the text “you”:";
        assert!(text.contains(shared), "{text}");
        assert!(text.contains("`almoner inbox 3 --full`") && !text.contains("“d1”"), "{text}");
    }

    #[test]
    fn batch_card_shows_each_difference_in_full() {
        let cards =
            [card(3, vec![entry(2, "a.md", "asks")]), card(5, vec![entry(3, "b\u{202e}.md", "asks")])];
        let text = render(&asks(&[3, 5]), &cards, 100);
        assert_eq!(text.matches("│ same").count(), 1, "{text}");
        for part in ["messages 3-5", "2 items", "│ a.md", "b\\u{202E}.md", "item 3", "almoner approve 3-5"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("[write/asks]"), "rules are folded: {text}");
    }
}
