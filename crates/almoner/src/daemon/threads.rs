//! Threads of mail: messages that answer one another belong together, and the newest of them says where they stand.
//!
//! Which message answers which never changes, so it is looked up once and kept in memory, for each host; after a start it is
//! read from the envelopes again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel::message::Mail;
use kernel::query::{self, Letter};
use kernel::txn::{ReadTxn, StoreFault, Table};
use kernel::{FormulaId, MessageNumber, Number, table};

use super::listing;
use super::world::Daemon;
use control::exit::Failure;
use control::threads::{Standing, Thread, ThreadPage};

/// How many envelopes are read at a time.
const STRIDE: usize = 1000;

/// How many messages of a thread are told of beside its first: its newest.
const FOLDED: usize = 8;

/// How many messages that need an answer are told of.
const OPEN: usize = 100;

/// The kinds of messages that tell, and are never answered.
const TELLS: &[&str] = &["package", "value", "command"];

/// What is asked for.
#[derive(Clone, Copy, Default)]
pub struct Only<'a> {
    /// Only messages of this kind.
    pub kind: Option<&'a str>,
    /// Only messages that stand so.
    pub standing: Option<Standing>,
}

impl Only<'_> {
    fn fits(self, letter: &Letter) -> bool {
        let mail = &letter.mail;
        self.kind.is_none_or(|kind| mail.envelope.kind == kind)
            && (self.standing != Some(Standing::Answered) || (!mail.needs_you && !mail.answers.is_empty()))
    }
}

/// The threads of all hosts.
#[derive(Default)]
pub struct Threads(Mutex<BTreeMap<FormulaId, Index>>);

/// The threads of one host.
#[derive(Default)]
struct Index {
    /// The number of the first message that was not looked at.
    next: u64,
    /// The first message of the thread to which each belongs, by its own number.
    firsts: BTreeMap<Number, MessageNumber>,
    /// The messages of each thread, oldest first, by the first of them.
    threads: BTreeMap<MessageNumber, Vec<MessageNumber>>,
    /// The first message of each thread, by the newest.
    by_newest: BTreeMap<MessageNumber, MessageNumber>,
    /// What each message is.
    kinds: BTreeMap<MessageNumber, String>,
}

/// A thread, as it is in memory.
struct Found {
    /// The message with which it began.
    first: MessageNumber,
    /// Those that were not seen to be dismissed, oldest first.
    all: Vec<MessageNumber>,
}

impl Index {
    /// A message that is newer than all before.
    fn add(&mut self, number: MessageNumber, mail: &Mail) {
        let answered = mail.envelope.reply_to.and_then(|id| self.firsts.get(&id).copied());
        let first = answered.unwrap_or(number);
        let thread = self.threads.entry(first).or_default();
        if let Some(before) = thread.last() {
            self.by_newest.remove(before);
        }
        thread.push(number);
        self.by_newest.insert(number, first);
        // One that was sent to oneself lies here twice, and is answered once.
        self.firsts.entry(mail.envelope.id).or_insert(first);
        self.kinds.insert(number, mail.envelope.kind.clone());
        self.next = self.next.max(number.0.saturating_add(1));
    }

    /// One of a thread was dismissed, for good: nobody looks for it again.
    fn forget(&mut self, first: MessageNumber, gone: &[MessageNumber]) {
        let Some(thread) = self.threads.get_mut(&first) else { return };
        if let Some(newest) = thread.last() {
            self.by_newest.remove(newest);
        }
        thread.retain(|one| !gone.contains(one));
        if let Some(newest) = thread.last() {
            self.by_newest.insert(*newest, first);
        }
    }

    /// The messages of the thread of one that came behind it, oldest first; and whether it is the first of them.
    fn after(&self, id: &Number, number: MessageNumber) -> (bool, Vec<MessageNumber>) {
        let first = self.firsts.get(id);
        let all = first.and_then(|first| self.threads.get(first));
        let later = all.into_iter().flatten().copied().filter(|other| *other > number);
        (first == Some(&number), later.collect())
    }

    fn is_of(&self, number: MessageNumber, kind: Option<&str>) -> bool {
        kind.is_none_or(|kind| self.kinds.get(&number).is_some_and(|own| own == kind))
    }

    /// Whether a message may be one of those that are asked for, as far as that can be told without reading it.
    fn may_fit(&self, number: MessageNumber, only: Only<'_>, awaiting: &BTreeSet<MessageNumber>) -> bool {
        let tells = |kind: &String| TELLS.contains(&kind.as_str());
        self.is_of(number, only.kind)
            && (only.standing != Some(Standing::Answered)
                || (!awaiting.contains(&number) && self.kinds.get(&number).is_some_and(|own| !tells(own))))
    }

    /// The newest thread below a number with a message that may be asked for: its newest message, and all of it.
    fn below(
        &self,
        below: Option<MessageNumber>,
        only: Only<'_>,
        awaiting: &BTreeSet<MessageNumber>,
    ) -> Option<(MessageNumber, Found)> {
        let end = below.unwrap_or(MessageNumber(u64::MAX));
        self.by_newest.range(..end).rev().find_map(|(newest, first)| {
            let all = self.threads.get(first)?;
            all.iter()
                .any(|one| self.may_fit(*one, only, awaiting))
                .then(|| (*newest, Found { first: *first, all: all.clone() }))
        })
    }
}

impl Threads {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<FormulaId, Index>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at what came since it was looked at last, then asks.
    fn ask<T>(&self, daemon: &Daemon, ask: impl FnOnce(&mut Index) -> T) -> Result<T, Failure> {
        let mut all = self.lock();
        let index = all.entry(daemon.host).or_default();
        loop {
            let from = index.next;
            let page = daemon.read(|txn| envelopes(txn, &daemon.host, from..u64::MAX, false))?;
            page.iter().for_each(|(number, mail)| index.add(*number, mail));
            if page.len() < STRIDE {
                return Ok(ask(index));
            }
        }
    }

    /// A page: what needs an answer, and the threads whose newest message is older than `below`, newest first, with
    /// about as many messages as `limit` says; of a kind and of a standing, if they are said.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn page(
        &self,
        daemon: &Daemon,
        only: Only<'_>,
        below: Option<MessageNumber>,
        limit: usize,
    ) -> Result<ThreadPage, Failure> {
        let limit = limit.min(listing::PAGE);
        let awaiting = awaiting(daemon)?;
        let mut page = self.open(daemon, only.kind, &awaiting)?;
        match only.standing {
            Some(Standing::Open) => return Ok(page),
            Some(Standing::Dismissed) => {
                (page.threads, page.next) = dismissed(daemon, only.kind, below, limit)?;
                return Ok(page);
            }
            Some(Standing::Answered) | None => {}
        }
        let (mut at, mut count) = (below, 0);
        while count < limit {
            let Some((newest, found)) = self.ask(daemon, |index| index.below(at, only, &awaiting))? else {
                return Ok(page);
            };
            at = Some(newest);
            let (thread, gone) = told(daemon, &found.all)?;
            if !gone.is_empty() {
                self.ask(daemon, |index| index.forget(found.first, &gone))?;
            }
            if thread.letters.iter().any(|letter| only.fits(letter)) {
                count += thread.letters.len();
                page.threads.push(thread);
            }
        }
        page.next = self.ask(daemon, |index| index.below(at, only, &awaiting))?.and(at);
        Ok(page)
    }

    /// The messages of the thread of one that came behind it, oldest first; and whether all of them answer it, one way or
    /// another, because the thread began with it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn after(
        &self,
        daemon: &Daemon,
        id: &Number,
        number: MessageNumber,
    ) -> Result<(bool, Vec<MessageNumber>), Failure> {
        self.ask(daemon, |index| index.after(id, number))
    }

    fn open(
        &self,
        daemon: &Daemon,
        kind: Option<&str>,
        awaiting: &BTreeSet<MessageNumber>,
    ) -> Result<ThreadPage, Failure> {
        let numbers: Vec<MessageNumber> = self.ask(daemon, |index| {
            awaiting.iter().rev().copied().filter(|number| index.is_of(*number, kind)).collect()
        })?;
        let mut open = Vec::new();
        for number in numbers.iter().take(OPEN) {
            open.extend(daemon.read(|txn| query::message(txn, &daemon.host, *number))?);
        }
        let (open_count, all_open_count) = (numbers.len(), awaiting.len());
        Ok(ThreadPage { open, open_count, all_open_count, ..ThreadPage::default() })
    }
}

/// What needs an answer.
fn awaiting(daemon: &Daemon) -> Result<BTreeSet<MessageNumber>, Failure> {
    let mut numbers = BTreeSet::new();
    listing::for_each_awaiting(daemon, |number| {
        numbers.insert(number);
        Ok(())
    })?;
    Ok(numbers)
}

/// Messages below a number that were dismissed, newest first, each by itself; and below which the next page begins. Who
/// wants to see these is rare, so they are looked for among all envelopes.
fn dismissed(
    daemon: &Daemon,
    kind: Option<&str>,
    below: Option<MessageNumber>,
    limit: usize,
) -> Result<(Vec<Thread>, Option<MessageNumber>), Failure> {
    let mut end = below.unwrap_or(MessageNumber(u64::MAX));
    let mut found: Vec<Thread> = Vec::new();
    loop {
        let page = daemon.read(|txn| envelopes(txn, &daemon.host, 0..end.0, true))?;
        let is_last = page.len() < STRIDE;
        for (number, mail) in page {
            if mail.dismissed_ms.is_none() || kind.is_some_and(|kind| mail.envelope.kind != kind) {
                end = number;
                continue;
            }
            // One more than has room says that there is another page.
            if found.len() >= limit {
                return Ok((found, Some(end)));
            }
            end = number;
            found.push(Thread { letters: vec![Letter { number, message: None, mail }], left_out: 0 });
        }
        if is_last {
            return Ok((found, None));
        }
    }
}

/// What is told of a thread: its first message and its newest, without those that need an answer; and which of these were
/// dismissed.
fn told(daemon: &Daemon, all: &[MessageNumber]) -> Result<(Thread, Vec<MessageNumber>), Failure> {
    let (first, later) =
        all.split_first().map_or((&[][..], &[][..]), |(one, rest)| (std::slice::from_ref(one), rest));
    let newest = later.len().saturating_sub(FOLDED);
    let (left_out, newest) = later.split_at(newest);
    let mut thread = Thread { letters: vec![], left_out: left_out.len() };
    let mut gone = Vec::new();
    for number in first.iter().chain(newest) {
        match daemon.read(|txn| query::message(txn, &daemon.host, *number))? {
            Some(letter) if letter.message.is_some() => {
                thread.letters.extend((!letter.mail.needs_you).then_some(letter));
            }
            _ => gone.push(*number),
        }
    }
    Ok((thread, gone))
}

/// Envelopes of these numbers, oldest first or the newest first, a stride of them.
fn envelopes(
    txn: &mut dyn ReadTxn,
    host: &FormulaId,
    of: std::ops::Range<u64>,
    newest_first: bool,
) -> Result<Vec<(MessageNumber, Mail)>, StoreFault> {
    let agent = kernel::head::head(txn, host)?.and_then(|head| head.agent());
    let mailbox =
        agent.ok_or_else(|| StoreFault::Corrupt("the host's formula is missing".to_owned()))?.mailbox;
    let key = |number| table::inner_key(&mailbox, &table::number_key(number));
    let prefix = mailbox.number.len();
    let rows: Vec<(Vec<u8>, Mail)> =
        table::scan(txn, Table::Message, &host.number, &key(of.start), &key(of.end), STRIDE, newest_first)?;
    let number = |key: &[u8]| {
        let bytes = key.get(prefix..).and_then(|number| number.try_into().ok());
        bytes
            .map(u64::from_be_bytes)
            .map(MessageNumber)
            .ok_or_else(|| StoreFault::Corrupt("a message lies under a bad key".to_owned()))
    };
    rows.into_iter().map(|(key, mail)| Ok((number(&key)?, mail))).collect()
}

#[cfg(test)]
mod tests {
    use kernel::message::Envelope;

    use super::*;

    fn mail(id: u8, reply_to: Option<u8>, kind: &str) -> Mail {
        let number = |id: u8| Number([id; 32]);
        let envelope = Envelope {
            id: number(id),
            kind: kind.to_owned(),
            from: number(0),
            to: number(0),
            sent_ms: 0,
            reply_to: reply_to.map(number),
        };
        Mail {
            envelope,
            message: None,
            answers: BTreeMap::new(),
            needs_you: false,
            dismissed_ms: None,
            came: None,
        }
    }

    #[test]
    fn the_newest_message_says_where_a_thread_stands() {
        let mut index = Index::default();
        let all = [
            (1, None, "command"),
            (2, None, "package"),
            // Answers of answers belong to the same thread; one to what is not here begins its own.
            (3, Some(1), "form"),
            (4, Some(9), "value"),
            (5, Some(3), "value"),
        ];
        for (number, (id, reply_to, kind)) in all.into_iter().enumerate() {
            index.add(MessageNumber(number as u64), &mail(id, reply_to, kind));
        }
        let walk = |index: &Index, kind: Option<&str>| {
            let (mut at, mut found) = (None, Vec::new());
            let only = Only { kind, standing: None };
            while let Some((newest, one)) = index.below(at, only, &BTreeSet::new()) {
                found.push(one.all.iter().map(|one| one.0).collect::<Vec<_>>());
                at = Some(newest);
            }
            found
        };
        assert_eq!(walk(&index, None), [vec![0, 2, 4], vec![3], vec![1]]);
        assert_eq!(walk(&index, Some("value")), [vec![0, 2, 4], vec![3]]);
        assert_eq!(walk(&index, Some("package")), [vec![1]]);
        assert_eq!(walk(&index, Some("release")), Vec::<Vec<u64>>::new());
        // What was dismissed is passed by, and an answer to it still belongs there.
        index.forget(MessageNumber(0), &[MessageNumber(0), MessageNumber(4)]);
        index.forget(MessageNumber(1), &[MessageNumber(1)]);
        assert_eq!(walk(&index, None), [vec![3], vec![2]]);
        index.add(MessageNumber(5), &mail(6, Some(5), "value"));
        assert_eq!(walk(&index, None), [vec![2, 5], vec![3]]);
    }
}
