//! The threads of a mailbox. A thread consists of messages that answer one another.
//!
//! The relation of answers never changes. So the daemon reads it once from the envelopes after each start, and keeps
//! it in memory for each host.

mod index;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel::message::{Body, Mail};
use kernel::query::{self, MailboxEntry};
use kernel::txn::{ReadTxn, StoreFault, Table};
use kernel::{FormulaId, MessageNumber, Number, RunNumber, table};

use super::runs;
use super::threads::index::{IndexedMessage, MessageSender, ThreadIndex, end_of_range};
use crate::queries::message_line::line;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::threads::{Asker, Line, MailboxPart, MessageStatus, Thread, ThreadPage};

/// The range of all numbers of messages.
pub const ALL: Range<MessageNumber> = MessageNumber(0)..MessageNumber(u64::MAX);

/// The number of envelopes that are read at a time.
pub const BATCH_SIZE: usize = 1000;

/// The number of the newest messages of a thread that are checked for dismissal before the thread's messages are
/// counted.
const MAX_EXAMINED: usize = 8;

/// The maximum number of questions of one sender that are listed one by one. So a sender with many questions does not
/// hide the others.
const MAX_ASKS_PER_SENDER: usize = 5;

/// The kinds of messages that only inform, and are never answered.
const NOTICE_KINDS: &[&str] = &["package", "value", "command"];

/// The filter for a page of messages, by kind and by status.
#[derive(Clone, Copy, Default)]
pub struct ThreadFilter<'a> {
    /// The required kind, if any.
    pub kind: Option<&'a str>,
    /// The required status, if any.
    pub status: Option<MessageStatus>,
}

impl ThreadFilter<'_> {
    fn is_all(self) -> bool {
        self.kind.is_none() && self.status.is_none()
    }

    fn matches(self, letter: &MailboxEntry) -> bool {
        let mail = &letter.mail;
        letter.message.is_some()
            && !mail.needs_you
            && self.kind.is_none_or(|kind| mail.envelope.kind == kind)
            && (self.status != Some(MessageStatus::Answered) || !mail.answers.is_empty())
    }
}

/// The threads of all hosts.
#[derive(Default)]
pub struct Threads(Mutex<BTreeMap<FormulaId, ThreadIndex>>);

impl Threads {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<FormulaId, ThreadIndex>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds new messages to the index, then queries it.
    fn ask<T>(&self, daemon: &HostDaemon, ask: impl FnOnce(&mut ThreadIndex) -> T) -> Result<T, Failure> {
        let mut all = self.lock();
        let index = all.entry(daemon.host).or_default();
        loop {
            let from = index.next;
            let page = daemon.read(|txn| read_new(txn, &daemon.host, from))?;
            page.iter().for_each(|one| index.add(one));
            if page.len() < BATCH_SIZE {
                return Ok(ask(index));
            }
        }
    }

    /// Returns a page with the messages that need an answer, and the threads whose newest message is older than
    /// `below`, newest first. With a kind, a status or a part of the mailbox, the page has single messages instead of
    /// threads. Both the messages that need an answer and the others are limited to `limit`.
    ///
    /// # Errors
    /// When the store cannot be read, or the message that names a part does not exist.
    pub fn page(
        &self,
        daemon: &HostDaemon,
        only: ThreadFilter<'_>,
        within: Option<MailboxPart>,
        below: Option<MessageNumber>,
        limit: usize,
    ) -> Result<ThreadPage, Failure> {
        let limit = limit.clamp(1, runs::MAX_ROWS);
        let awaiting = awaiting_answer(daemon)?;
        let open: Vec<MessageNumber> = self.ask(daemon, |index| {
            awaiting.iter().rev().copied().filter(|number| index.is_of_kind(*number, only.kind)).collect()
        })?;
        let (open_count, all_open_count) = (open.len(), awaiting.len());
        let mut page = ThreadPage { open_count, all_open_count, ..ThreadPage::default() };
        match (within, only.status) {
            (Some(MailboxPart::Thread(of)), _) => {
                self.thread(daemon, of, &awaiting, below, limit, &mut page)?
            }
            (Some(MailboxPart::Asker(of)), _) => {
                let who = self.ask(daemon, |index| index.rows.get(&of).map(|row| row.sender))?;
                let who = who.ok_or_else(|| not_found(of))?;
                let theirs: Vec<MessageNumber> = self.ask(daemon, |index| {
                    let is_theirs =
                        |number: &MessageNumber| index.rows.get(number).is_some_and(|row| row.sender == who);
                    open.into_iter()
                        .filter(|number| *number < end_of_range(below) && is_theirs(number))
                        .collect()
                })?;
                page.lines = message_lines(daemon, theirs.iter().take(limit))?;
                page.next = theirs.get(limit - 1).filter(|_| theirs.len() > limit).copied();
                page.open = vec![Asker {
                    lines: vec![],
                    more: theirs.len(),
                    oldest: of,
                    run: sender_run(daemon, who)?,
                }];
            }
            (None, Some(MessageStatus::Open)) => {
                (page.open, page.next) = self.open_asks(daemon, &open, below, limit)?;
            }
            (None, Some(MessageStatus::Dismissed)) => {
                (page.lines, page.next) = dismissed_messages(daemon, only.kind, below, limit)?;
            }
            (None, None | Some(MessageStatus::Answered)) => {
                // The first page also has the messages that need an answer.
                if below.is_none() && only.status.is_none() {
                    page.open = self.open_asks(daemon, &open, None, limit)?.0;
                }
                if only.is_all() {
                    self.threads(daemon, &awaiting, below, limit, &mut page)?;
                } else {
                    self.filtered_messages(daemon, only, &awaiting, below, limit, &mut page)?;
                }
            }
        }
        Ok(page)
    }

    /// Returns whether a message is the first of its thread, and the later messages of the thread, oldest first. If
    /// the message is the first, all later messages answer it, directly or not.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn after(
        &self,
        daemon: &HostDaemon,
        id: &Number,
        number: MessageNumber,
    ) -> Result<(bool, Vec<MessageNumber>), Failure> {
        self.ask(daemon, |index| index.after(id, number))
    }

    /// Adds threads to the page, each with its first message.
    fn threads(
        &self,
        daemon: &HostDaemon,
        awaiting: &BTreeSet<MessageNumber>,
        below: Option<MessageNumber>,
        limit: usize,
        page: &mut ThreadPage,
    ) -> Result<(), Failure> {
        let mut at = below;
        while page.threads.len() < limit {
            let Some((newest, all)) = self.ask(daemon, |index| index.newest_thread(at, awaiting))? else {
                return Ok(());
            };
            at = Some(newest);
            page.threads.extend(self.visible_thread(daemon, &all, awaiting)?);
        }
        page.next = self.ask(daemon, |index| index.newest_thread(at, awaiting))?.and(at);
        Ok(())
    }

    /// Returns the first message in a thread that is not dismissed and needs no answer, with the number of the
    /// others. Returns `None` if there is no such message.
    fn visible_thread(
        &self,
        daemon: &HostDaemon,
        all: &[MessageNumber],
        awaiting: &BTreeSet<MessageNumber>,
    ) -> Result<Option<Thread>, Failure> {
        let mut others = all.iter().filter(|number| !awaiting.contains(number));
        let (mut first, mut gone) = (None, Vec::new());
        for number in others.by_ref() {
            first = undismissed_message(daemon, *number)?;
            match first {
                Some(_) => break,
                None => gone.push(*number),
            }
        }
        let others: Vec<MessageNumber> = others.copied().collect();
        let before = gone.len();
        for number in others.iter().rev().take(MAX_EXAMINED) {
            if undismissed_message(daemon, *number)?.is_none() {
                gone.push(*number);
            }
        }
        let more = others.len() - (gone.len() - before);
        if !gone.is_empty() {
            self.ask(daemon, |index| index.forget(&gone))?;
        }
        first.map(|letter| Ok(Thread { first: line(daemon, letter)?, more })).transpose()
    }

    /// Adds one thread to the page: its first message, and the newest other messages below a number.
    fn thread(
        &self,
        daemon: &HostDaemon,
        of: MessageNumber,
        awaiting: &BTreeSet<MessageNumber>,
        below: Option<MessageNumber>,
        limit: usize,
        page: &mut ThreadPage,
    ) -> Result<(), Failure> {
        let found = self.ask(daemon, |index| {
            let first = index.rows.get(&of)?.first;
            Some(index.threads.get(&first)?.clone())
        })?;
        let all = found.ok_or_else(|| not_found(of))?;
        let thread = self.visible_thread(daemon, &all, awaiting)?.ok_or_else(|| not_found(of))?;
        let first = thread.first.letter.number;
        page.threads.push(thread);
        let mut gone = Vec::new();
        for number in all
            .iter()
            .rev()
            .filter(|one| **one > first && **one < end_of_range(below) && !awaiting.contains(one))
        {
            if page.lines.len() == limit {
                page.next = page.lines.last().map(|last| last.letter.number);
                break;
            }
            match undismissed_message(daemon, *number)? {
                Some(letter) => page.lines.push(line(daemon, letter)?),
                None => gone.push(*number),
            }
        }
        self.ask(daemon, |index| index.forget(&gone))
    }

    /// Adds the messages that match the filter to the page, one by one.
    fn filtered_messages(
        &self,
        daemon: &HostDaemon,
        only: ThreadFilter<'_>,
        awaiting: &BTreeSet<MessageNumber>,
        below: Option<MessageNumber>,
        limit: usize,
        page: &mut ThreadPage,
    ) -> Result<(), Failure> {
        let (mut at, mut gone) = (below, Vec::new());
        while let Some(number) = self.ask(daemon, |index| index.newest_message(at, only, awaiting))? {
            at = Some(number);
            let letter = daemon.read(|txn| query::message(txn, &daemon.host, number))?;
            match letter {
                Some(letter) if only.matches(&letter) => {
                    // A matching message beyond the limit shows that there is another page.
                    if page.lines.len() == limit {
                        page.next = page.lines.last().map(|last| last.letter.number);
                        break;
                    }
                    page.lines.push(line(daemon, letter)?);
                }
                Some(letter) if letter.message.is_some() => {}
                _ => gone.push(number),
            }
        }
        self.ask(daemon, |index| index.forget(&gone))
    }

    /// Returns the senders whose newest question is older than `below`, with about `limit` messages in total. Also
    /// returns the number below which the next page begins.
    fn open_asks(
        &self,
        daemon: &HostDaemon,
        numbers: &[MessageNumber],
        below: Option<MessageNumber>,
        limit: usize,
    ) -> Result<(Vec<Asker>, Option<MessageNumber>), Failure> {
        let groups = self.ask(daemon, |index| index.by_sender(numbers))?;
        let newest = |all: &[MessageNumber]| all.first().copied();
        let mut groups =
            groups.into_iter().filter(|(_, all)| newest(all) < Some(end_of_range(below))).peekable();
        let (mut found, mut count, mut last): (Vec<Asker>, usize, _) = (Vec::new(), 0, None);
        while count < limit
            && let Some((who, all)) = groups.next()
        {
            // If only one message would be left over, it is listed instead of a row that counts it.
            let apart = if all.len() > MAX_ASKS_PER_SENDER { MAX_ASKS_PER_SENDER - 1 } else { all.len() };
            let Some(oldest) = all.last().copied() else { continue };
            let lines = message_lines(daemon, all.iter().take(apart))?;
            let run = sender_run(daemon, who)?;
            count += apart;
            last = newest(&all);
            found.push(Asker { lines, more: all.len() - apart, oldest, run });
        }
        Ok((found, last.filter(|_| groups.peek().is_some())))
    }
}

/// Returns the first run of a sender. Returns `None` if the sender is another agent, or the command that began the
/// run was dismissed.
fn sender_run(daemon: &HostDaemon, who: MessageSender) -> Result<Option<RunNumber>, Failure> {
    Ok(match who {
        MessageSender::Agent(_) => None,
        MessageSender::AgentJournal(run) => Some(run),
        MessageSender::Command(first) => {
            undismissed_message(daemon, first)?.and_then(|letter| letter.body().and_then(Body::run))
        }
    })
}

/// Returns the failure for a message that is no longer in the mailbox.
fn not_found(number: MessageNumber) -> Failure {
    Failure::new(Exit::NotFound, passable::Quoting::ours(format!("there is no message {number}")))
        .help("see `almoner inbox`")
}

/// Returns a message, unless it was dismissed.
fn undismissed_message(daemon: &HostDaemon, number: MessageNumber) -> Result<Option<MailboxEntry>, Failure> {
    let letter = daemon.read(|txn| query::message(txn, &daemon.host, number))?;
    Ok(letter.filter(|letter| letter.message.is_some()))
}

/// Returns these messages as lines of a list.
fn message_lines<'a>(
    daemon: &HostDaemon,
    numbers: impl Iterator<Item = &'a MessageNumber>,
) -> Result<Vec<Line>, Failure> {
    let mut found = Vec::new();
    for number in numbers {
        if let Some(letter) = undismissed_message(daemon, *number)? {
            found.push(line(daemon, letter)?);
        }
    }
    Ok(found)
}

/// Returns the messages that need an answer.
fn awaiting_answer(daemon: &HostDaemon) -> Result<BTreeSet<MessageNumber>, Failure> {
    let mut numbers = BTreeSet::new();
    runs::for_each_awaiting(daemon, |number| {
        numbers.insert(number);
        Ok(())
    })?;
    Ok(numbers)
}

/// Returns the dismissed messages below a number, newest first, and the number below which the next page begins. They
/// are rarely requested, so they have no index, and all envelopes are searched.
fn dismissed_messages(
    daemon: &HostDaemon,
    kind: Option<&str>,
    below: Option<MessageNumber>,
    limit: usize,
) -> Result<(Vec<Line>, Option<MessageNumber>), Failure> {
    let mut end = end_of_range(below);
    let mut found: Vec<Line> = Vec::new();
    loop {
        let page = daemon.read(|txn| envelopes(txn, &daemon.host, ALL.start..end, true))?;
        let is_last = page.len() < BATCH_SIZE;
        for (number, mail) in page {
            if mail.dismissed_ms.is_some() && kind.is_none_or(|kind| mail.envelope.kind == kind) {
                // A matching message beyond the limit shows that there is another page.
                if found.len() >= limit {
                    return Ok((found, Some(end)));
                }
                found.push(Line {
                    letter: MailboxEntry { number, message: None, mail },
                    call: None,
                    title: None,
                    danger: None,
                });
            }
            end = number;
        }
        if is_last {
            return Ok((found, None));
        }
    }
}

/// Returns a batch of messages for the index from this number on, oldest first.
fn read_new(
    txn: &mut dyn ReadTxn,
    host: &FormulaId,
    from: Option<MessageNumber>,
) -> Result<Vec<IndexedMessage>, StoreFault> {
    let page = envelopes(txn, host, from.unwrap_or(ALL.start)..ALL.end, false)?;
    let mut found = Vec::with_capacity(page.len());
    for (number, mail) in page {
        let envelope = &mail.envelope;
        let asks = envelope.from == envelope.to && !NOTICE_KINDS.contains(&envelope.kind.as_str());
        let run = match asks && envelope.reply_to.is_none() {
            true => query::message(txn, host, number)?.and_then(|letter| letter.body().and_then(Body::run)),
            false => None,
        };
        found.push((number, mail, run));
    }
    Ok(found)
}

/// Returns the row of a message in a host's mailbox.
///
/// # Errors
/// When the store cannot be read.
pub fn mailbox_row(
    txn: &mut dyn ReadTxn,
    host: &FormulaId,
    number: MessageNumber,
) -> Result<Option<Mail>, StoreFault> {
    let mailbox = query::mailbox(txn, host)?;
    table::mail(txn, &host.number, &mailbox, number)
}

/// Returns a batch of envelopes in a range of numbers, oldest or newest first.
///
/// # Errors
/// When the store cannot be read.
pub fn envelopes(
    txn: &mut dyn ReadTxn,
    host: &FormulaId,
    of: Range<MessageNumber>,
    newest_first: bool,
) -> Result<Vec<(MessageNumber, Mail)>, StoreFault> {
    let mailbox = query::mailbox(txn, host)?;
    let key = |number| table::inner_key(&mailbox, &table::message_key(number));
    let prefix = mailbox.number.len();
    let rows: Vec<(Vec<u8>, Mail)> = table::scan(
        txn,
        Table::Message,
        &host.number,
        &key(of.start),
        &key(of.end),
        BATCH_SIZE,
        newest_first,
    )?;
    let number = |key: &[u8]| {
        let bytes = key.get(prefix..).and_then(|number| number.try_into().ok());
        bytes
            .map(u64::from_be_bytes)
            .map(MessageNumber::from_order)
            .ok_or_else(|| StoreFault::Corrupt("a message lies under a bad key".to_owned()))
    };
    rows.into_iter().map(|(key, mail)| Ok((number(&key)?, mail))).collect()
}
