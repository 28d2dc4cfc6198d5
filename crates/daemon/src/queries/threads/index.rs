//! The index of the threads of a mailbox, which is kept in memory.

use std::collections::{BTreeMap, BTreeSet};

use kernel::message::Mail;
use kernel::{MessageNumber, Number, RunNumber};

use super::{NOTICE_KINDS, ThreadFilter};
use control::threads::MessageStatus;

/// The threads of one host.
#[derive(Default)]
pub(super) struct ThreadIndex {
    /// The number of the first message that is not in the index yet.
    pub(super) next: Option<MessageNumber>,
    /// The facts about each message that place its answers, by the identifying number of the message. They stay after
    /// the message was dismissed.
    known: BTreeMap<Number, ThreadOrigin>,
    /// The messages of each thread, oldest first, by the thread's first message.
    pub(super) threads: BTreeMap<MessageNumber, Vec<MessageNumber>>,
    /// The first message of each thread, by the thread's newest message.
    by_newest: BTreeMap<MessageNumber, MessageNumber>,
    /// The messages that are not known to be dismissed.
    pub(super) rows: BTreeMap<MessageNumber, IndexRow>,
}

/// The index row of a message.
pub(super) struct IndexRow {
    kind: String,
    /// The first message of the thread.
    pub(super) first: MessageNumber,
    pub(super) sender: MessageSender,
}

/// The facts about a message that place its answers.
struct ThreadOrigin {
    /// The first message of the thread.
    first: MessageNumber,
    /// The sender to whom an answer from this mailbox counts.
    sender: MessageSender,
}

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MessageSender {
    /// Another agent, by the number of its handle.
    Agent(Number),
    /// A run of the host or its descendants, by the command that began the first run. The command may itself answer a
    /// message, as an endowment does. So one thread may have several such senders.
    Command(MessageNumber),
    /// The journal of an agent or of code, which no command began.
    AgentJournal(RunNumber),
}

/// A message for the index: its number and its row in the mailbox. The last field is the run that sent it, if no
/// command began that run.
pub(super) type IndexedMessage = (MessageNumber, Mail, Option<RunNumber>);

impl ThreadIndex {
    /// Adds a message that is newer than all messages in the index.
    pub(super) fn add(&mut self, (number, mail, run): &IndexedMessage) {
        let envelope = &mail.envelope;
        let answered = envelope.reply_to.and_then(|id| self.known.get(&id));
        let first = answered.map_or(*number, |known| known.first);
        let who = match run {
            _ if envelope.from != envelope.to => MessageSender::Agent(envelope.from),
            Some(run) => MessageSender::AgentJournal(*run),
            // A question about the result of a program counts for the program's proposer.
            None => answered.map_or(MessageSender::Command(first), |known| known.sender),
        };
        let thread = self.threads.entry(first).or_default();
        if let Some(before) = thread.last() {
            self.by_newest.remove(before);
        }
        thread.push(*number);
        self.by_newest.insert(*number, first);
        // A message that the host has sent to itself is in the mailbox twice, but has one place for its answers.
        let begins = if envelope.kind == "command" { MessageSender::Command(*number) } else { who };
        self.known.entry(envelope.id).or_insert(ThreadOrigin { first, sender: begins });
        self.rows.insert(*number, IndexRow { kind: envelope.kind.clone(), first, sender: who });
        self.next = self.next.max(Some(number.successor()));
    }

    /// Removes dismissed messages, so that they are not looked up again.
    pub(super) fn forget(&mut self, gone: &[MessageNumber]) {
        for number in gone {
            let Some(IndexRow { first, .. }) = self.rows.remove(number) else { continue };
            let Some(thread) = self.threads.get_mut(&first) else { continue };
            if let Some(newest) = thread.last() {
                self.by_newest.remove(newest);
            }
            thread.retain(|one| one != number);
            if let Some(newest) = thread.last() {
                self.by_newest.insert(*newest, first);
            }
        }
    }

    /// Returns whether a message is the first of its thread, and the later messages of the thread, oldest first.
    pub(super) fn after(&self, id: &Number, number: MessageNumber) -> (bool, Vec<MessageNumber>) {
        let first = self.known.get(id).map(|known| known.first);
        let all = first.and_then(|first| self.threads.get(&first));
        let later = all.into_iter().flatten().copied().filter(|other| *other > number);
        (first == Some(number), later.collect())
    }

    pub(super) fn is_of_kind(&self, number: MessageNumber, kind: Option<&str>) -> bool {
        kind.is_none_or(|kind| self.rows.get(&number).is_some_and(|row| row.kind == kind))
    }

    /// Returns the newest thread below a number that has a message besides those that need an answer. The result is
    /// the thread's newest message, and all its messages that are not known to be dismissed, oldest first.
    pub(super) fn newest_thread(
        &self,
        below: Option<MessageNumber>,
        awaiting: &BTreeSet<MessageNumber>,
    ) -> Option<(MessageNumber, Vec<MessageNumber>)> {
        self.by_newest.range(..end_of_range(below)).rev().find_map(|(newest, first)| {
            let all = self.threads.get(first)?;
            let is_any = all.iter().any(|one| !awaiting.contains(one));
            is_any.then(|| (*newest, all.clone()))
        })
    }

    /// Returns the newest message below a number that may match the filter, as far as the index can tell.
    pub(super) fn newest_message(
        &self,
        below: Option<MessageNumber>,
        only: ThreadFilter<'_>,
        awaiting: &BTreeSet<MessageNumber>,
    ) -> Option<MessageNumber> {
        let may_be = |row: &IndexRow| {
            only.kind.is_none_or(|kind| row.kind == kind)
                && (only.status != Some(MessageStatus::Answered)
                    || !NOTICE_KINDS.contains(&row.kind.as_str()))
        };
        let mut rows = self.rows.range(..end_of_range(below)).rev();
        rows.find(|(number, row)| may_be(row) && !awaiting.contains(number)).map(|(number, _)| *number)
    }

    /// Groups messages, which come newest first, by sender, and keeps their order. The sender of the newest message
    /// comes first.
    pub(super) fn by_sender(&self, numbers: &[MessageNumber]) -> Vec<(MessageSender, Vec<MessageNumber>)> {
        let mut at: BTreeMap<MessageSender, usize> = BTreeMap::new();
        let mut found: Vec<(MessageSender, Vec<MessageNumber>)> = Vec::new();
        for number in numbers {
            let Some(IndexRow { sender: who, .. }) = self.rows.get(number) else { continue };
            match at.get(who).and_then(|at| found.get_mut(*at)) {
                Some((_, all)) => all.push(*number),
                None => {
                    at.insert(*who, found.len());
                    found.push((*who, vec![*number]));
                }
            }
        }
        found
    }
}

/// Returns the exclusive end of the range of numbers below `below`.
pub(super) fn end_of_range(below: Option<MessageNumber>) -> MessageNumber {
    below.unwrap_or(MessageNumber(u64::MAX))
}

#[cfg(test)]
mod tests {
    use kernel::message::Envelope;

    use super::*;

    /// Returns a message for the index: its number, the message that it answers, its kind, its sender and receiver,
    /// and the run that sent it.
    fn seen(
        id: u8,
        reply_to: Option<u8>,
        kind: &str,
        (from, to): (u8, u8),
        run: Option<u64>,
    ) -> IndexedMessage {
        let number = |id: u8| Number([id; 32]);
        let envelope = Envelope {
            id: number(id),
            kind: kind.to_owned(),
            from: number(from),
            to: number(to),
            sent_ms: 0,
            reply_to: reply_to.map(number),
        };
        let mail = Mail {
            envelope,
            message: None,
            answers: BTreeMap::new(),
            needs_you: false,
            dismissed_ms: None,
            done: 0,
            endowed: vec![],
            outcome: None,
        };
        (MessageNumber(u64::from(id)), mail, run.map(RunNumber))
    }

    fn indexed_message(id: u8, reply_to: Option<u8>, kind: &str) -> IndexedMessage {
        seen(id, reply_to, kind, (0, 0), None)
    }

    #[test]
    fn threads_are_listed_by_their_newest_message() {
        let mut index = ThreadIndex::default();
        for one in [
            indexed_message(1, None, "command"),
            indexed_message(2, None, "package"),
            // Answers to answers belong to the same thread. An answer to a missing message begins its own.
            indexed_message(3, Some(1), "form"),
            indexed_message(4, Some(9), "value"),
            indexed_message(5, Some(3), "value"),
        ] {
            index.add(&one);
        }
        let walk = |index: &ThreadIndex, awaiting: &[u64]| {
            let awaiting = awaiting.iter().copied().map(MessageNumber).collect();
            let (mut at, mut found) = (None, Vec::new());
            while let Some((newest, all)) = index.newest_thread(at, &awaiting) {
                found.push(all.iter().map(|one| one.0).collect::<Vec<_>>());
                at = Some(newest);
            }
            found
        };
        assert_eq!(walk(&index, &[]), [vec![1, 3, 5], vec![4], vec![2]]);
        // A thread is not listed if its only message is listed apart.
        assert_eq!(walk(&index, &[1, 4]), [vec![1, 3, 5], vec![2]]);
        // A dismissed message is skipped, and an answer to it still belongs to its thread.
        index.forget(&[1, 5, 2].map(MessageNumber));
        assert_eq!(walk(&index, &[]), [vec![4], vec![3]]);
        index.add(&indexed_message(6, Some(5), "value"));
        assert_eq!(walk(&index, &[]), [vec![3, 6], vec![4]]);
    }

    #[test]
    fn messages_are_found_by_kind_and_state_across_threads() {
        let mut index = ThreadIndex::default();
        index.add(&indexed_message(1, None, "command"));
        index.add(&indexed_message(2, Some(1), "approval"));
        (3..20).for_each(|id| index.add(&indexed_message(id, Some(1), "package")));
        let walk = |kind, standing, awaiting: &[u64]| {
            let awaiting = awaiting.iter().copied().map(MessageNumber).collect();
            let (mut at, mut found) = (None, Vec::new());
            while let Some(number) =
                index.newest_message(at, ThreadFilter { kind, status: standing }, &awaiting)
            {
                found.push(number.0);
                at = Some(number);
            }
            found
        };
        assert_eq!(walk(Some("approval"), Some(MessageStatus::Answered), &[]), [2]);
        assert_eq!(walk(Some("approval"), None, &[2]), [0; 0]);
        assert_eq!(walk(None, Some(MessageStatus::Answered), &[]), [2], "what tells is never answered");
        assert_eq!(walk(Some("package"), None, &[]), (3..20).rev().collect::<Vec<_>>());
        assert_eq!(walk(Some("release"), None, &[]), [0; 0]);
    }

    #[test]
    fn requests_are_grouped_by_sender_with_child_runs() {
        let mut index = ThreadIndex::default();
        let (fae, bob) = ((7, 0), (8, 0));
        for one in [
            indexed_message(1, None, "command"),
            seen(2, None, "request", bob, None),
            seen(3, None, "request", fae, None),
            indexed_message(4, Some(1), "approval"),
            // Code that acts without a run of its own sends this message.
            seen(5, None, "approval", (0, 0), Some(9)),
            indexed_message(6, Some(1), "approval"),
            seen(7, Some(3), "request", fae, None),
            seen(8, None, "approval", (0, 0), Some(9)),
        ] {
            index.add(&one);
        }
        let newest_first: Vec<MessageNumber> = [8, 7, 6, 5, 4, 3, 2].map(MessageNumber).into();
        let all = index.by_sender(&newest_first);
        let all: Vec<(MessageSender, Vec<u64>)> =
            all.into_iter().map(|(who, all)| (who, all.iter().map(|one| one.0).collect())).collect();
        let agent = |id: u8| MessageSender::Agent(Number([id; 32]));
        assert_eq!(
            all,
            [
                (MessageSender::AgentJournal(RunNumber(9)), vec![8, 5]),
                (agent(7), vec![7, 3]),
                (MessageSender::Command(MessageNumber(1)), vec![6, 4]),
                (agent(8), vec![2]),
            ]
        );
    }

    #[test]
    fn runs_of_one_thread_group_their_requests_separately() {
        let mut index = ThreadIndex::default();
        let fae = (7, 0);
        for one in [
            seen(1, None, "definition", fae, None),
            // The definition is endowed twice, by messages 2 and 4.
            indexed_message(2, Some(1), "command"),
            indexed_message(3, Some(2), "approval"),
            indexed_message(4, Some(1), "command"),
            indexed_message(5, Some(4), "approval"),
            // An approval answers the question. A resumption answers the command that began the run, and the run's
            // later questions belong to that command.
            indexed_message(6, Some(3), "command"),
            indexed_message(7, Some(2), "budget"),
            indexed_message(8, Some(2), "command"),
            indexed_message(9, Some(2), "outcome-unknown"),
            // The result of the program is withheld. The question about it counts for the program's proposer.
            indexed_message(10, Some(1), "release"),
            seen(11, None, "request", fae, None),
            // A run has proposed a program, and the program was endowed.
            indexed_message(12, Some(4), "definition"),
            indexed_message(13, Some(12), "release"),
            indexed_message(14, Some(12), "command"),
            indexed_message(15, Some(14), "approval"),
        ] {
            index.add(&one);
        }
        let mut look = |gone: &[MessageNumber]| {
            index.forget(gone);
            let asks: Vec<MessageNumber> = [15, 13, 12, 11, 10, 9, 7, 5, 3].map(MessageNumber).into();
            let all = index.by_sender(&asks);
            all.into_iter()
                .map(|(who, all)| (who, all.iter().map(|one| one.0).collect::<Vec<_>>()))
                .collect::<Vec<_>>()
        };
        let command = |number| MessageSender::Command(MessageNumber(number));
        let expected = [
            (command(14), vec![15]),
            (command(4), vec![13, 12, 5]),
            (MessageSender::Agent(Number([7; 32])), vec![11, 10]),
            (command(2), vec![9, 7, 3]),
        ];
        assert_eq!(look(&[]), expected);
        assert_eq!(
            look(&[1, 2, 4].map(MessageNumber)),
            expected,
            "whoever was dismissed still says who asks"
        );
        assert_eq!(
            index.newest_thread(None, &BTreeSet::new()).map(|(_, all)| all.len()),
            Some(11),
            "one thread"
        );
    }
}
