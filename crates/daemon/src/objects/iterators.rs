//! The iterators that clients get. They yield names and messages as these arrive, or the bytes of a stream piece by
//! piece.

use std::collections::{BTreeMap, VecDeque};

use kernel::event::Change;
use kernel::facet::{self, Live, Locator, Names};
use kernel::name_lookup::View;
use kernel::txn::{Owner, ReadTxn, StoreFault};
use kernel::{FormulaId, MessageNumber, Value, query, table};
use switchboard::{Key, Outcome, Ref};

use super::convert;
use super::convert::Interfaces;
use super::object::Object;
use super::object_table::{Context, ObjectTable, type_error};
use super::perform::stream_piece;

/// The maximum number of events or messages that are read at a time.
const MAX_EVENTS: usize = 256;

/// The maximum size of one piece of a stream, in bytes.
const MAX_PIECE_BYTES: usize = 48 << 10;

/// The maximum number of calls of `next` that may wait at one iterator.
const MAX_WAITING_CALLS: usize = 1000;

/// The state of an iterator: its source, the items that have arrived, and the calls that wait for one.
pub struct Feed {
    source: FeedSource,
    /// The object that the iterator reads, with the agent and the grants that reach it. The iterator ends when one of
    /// these grants ends.
    reach: Object,
    /// Items that have arrived and that the client has not asked for yet.
    items: VecDeque<passable::Value<Live>>,
    /// The calls of `next` that wait for an item.
    waiting: VecDeque<Ref>,
    done: bool,
}

enum FeedSource {
    Names(Box<NameWatch>, Option<Box<Locator>>),
    Messages {
        next: MessageNumber,
    },
    /// The bytes of a stream, and the number of those that were already given.
    Bytes {
        bytes: Vec<u8>,
        given: usize,
    },
}

/// Changes of names, in order. Each has the formula that the name got, or `None` if the name was removed.
type NameChanges = Vec<(String, Option<FormulaId>)>;

/// The names of a directory, and the position of the watch in its changes.
struct NameWatch {
    view: FormulaId,
    target: FormulaId,
    known: BTreeMap<String, FormulaId>,
    events: Option<(Owner, FormulaId)>,
    seen: u64,
}

impl NameWatch {
    fn new(view: FormulaId, target: FormulaId, names: &Names) -> NameWatch {
        let known = names.entries.iter().cloned().collect();
        NameWatch { view, target, known, events: names.events, seen: names.seen }
    }

    /// Returns the changes of names since the last call, in order. Each has the formula that the name got, or `None`
    /// if the name was removed. The caller records the changes in `known`.
    fn changes(
        &mut self,
        txn: &mut dyn ReadTxn,
        now_ms: i64,
    ) -> Result<Result<NameChanges, facet::Refusal>, StoreFault> {
        let mut changes = Vec::new();
        if let Some((owner, store)) = self.events {
            loop {
                let events = query::events(txn, &owner, self.seen, MAX_EVENTS)?;
                let full = events.len() == MAX_EVENTS;
                for event in events {
                    self.seen = event.seq;
                    match event.change {
                        Change::Named { directory, name, id } if directory == store => {
                            changes.push((name, Some(id)));
                        }
                        Change::Unnamed { directory, name } if directory == store => {
                            changes.push((name, None))
                        }
                        _ => {}
                    }
                }
                if !full {
                    break;
                }
            }
            if changes.is_empty() {
                return Ok(Ok(changes));
            }
        }
        let view = View { agent: self.view, now_ms };
        // If the grant for the directory was revoked in the meantime, the watch ends.
        let names = match facet::names(txn, &view, &self.target) {
            Ok(names) => names,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if self.events.is_none() {
            let now: BTreeMap<String, FormulaId> = names.entries.into_iter().collect();
            changes.extend(
                self.known.keys().filter(|name| !now.contains_key(*name)).map(|name| (name.clone(), None)),
            );
            let new = now.into_iter().filter(|(name, id)| self.known.get(name) != Some(id));
            changes.extend(new.map(|(name, id)| (name, Some(id))));
        }
        Ok(Ok(changes))
    }
}

impl Feed {
    fn new(source: FeedSource, reach: Object, items: Vec<Value>) -> Feed {
        Feed {
            source,
            reach,
            items: items.iter().map(convert::to_live).collect(),
            waiting: VecDeque::new(),
            done: false,
        }
    }

    /// Returns a feed of the names in a directory, and of their changes.
    pub fn names(agent: FormulaId, target: FormulaId, names: Names, reach: Object) -> Feed {
        let items = names.entries.iter().map(|(name, id)| facet::added(name, id)).collect();
        Feed::new(FeedSource::Names(Box::new(NameWatch::new(agent, target, &names)), None), reach, items)
    }

    /// Returns a feed of the names that one formula has in a directory, and of their changes.
    pub fn names_of(
        agent: FormulaId,
        target: FormulaId,
        names: Names,
        locator: &Locator,
        reach: Object,
    ) -> Feed {
        let own = names.entries.iter().filter(|(_, id)| *id == locator.id).map(|(name, _)| name.as_str());
        let first = name_change("add", locator, own.collect());
        let following = Box::new(NameWatch::new(agent, target, &names));
        Feed::new(FeedSource::Names(following, Some(Box::new(locator.clone()))), reach, vec![first])
    }

    /// Returns a feed of an agent's messages.
    pub fn messages(reach: Object) -> Feed {
        Feed::new(FeedSource::Messages { next: MessageNumber(0) }, reach, vec![])
    }

    /// Returns a feed of bytes, which are complete from the start.
    pub fn bytes(bytes: Vec<u8>) -> Feed {
        let nobody = FormulaId { number: [0; 32], node: [0; 32] };
        let reach = Object { id: nobody, agent: nobody, through: vec![] };
        let done = bytes.is_empty();
        Feed { done, ..Feed::new(FeedSource::Bytes { bytes, given: 0 }, reach, vec![]) }
    }

    /// Collects new items from the source. A refusal ends the iterator. After a store fault, the caller tries again
    /// later.
    fn fill(&mut self, txn: &mut dyn ReadTxn, now_ms: i64) -> Result<Result<(), facet::Refusal>, StoreFault> {
        if self.done {
            return Ok(Ok(()));
        }
        for grant in &self.reach.through {
            if let Some(finding) = table::reach(txn, grant)?.and_then(|reached| reached.ended(now_ms)) {
                return Ok(Err(kernel::command::Fault::Revoked(finding.message).into()));
            }
        }
        match &mut self.source {
            FeedSource::Bytes { bytes, given } => {
                // Only the pieces that the client has asked for are encoded, because Base64 takes a third more
                // memory.
                while self.items.len() < self.waiting.len()
                    && let Some(some) = bytes.get(*given..).filter(|rest| !rest.is_empty())
                {
                    let some = some.get(..MAX_PIECE_BYTES).unwrap_or(some);
                    self.items.push_back(convert::to_live(&stream_piece(some)));
                    *given += some.len();
                }
                self.done = *given >= bytes.len();
            }
            FeedSource::Messages { next } => loop {
                let (messages, behind) = match facet::messages(txn, &self.reach.agent, *next, MAX_EVENTS) {
                    Ok(found) => found,
                    Err(refusal) => return Ok(Err(refusal)),
                };
                self.items.extend(messages);
                if std::mem::replace(next, behind) == behind {
                    break;
                }
                // These items are enough for now. More are read when the client asks for them.
                if self.items.len() > MAX_EVENTS {
                    break;
                }
            },
            FeedSource::Names(following, locator) => {
                let changes = match following.changes(txn, now_ms)? {
                    Ok(changes) => changes,
                    Err(refusal) => return Ok(Err(refusal)),
                };
                for (name, id) in changes {
                    let before = match id {
                        Some(id) => following.known.insert(name.clone(), id),
                        None => following.known.remove(&name),
                    };
                    match locator {
                        None => {
                            if before.is_some() && before != id {
                                self.items.push_back(convert::to_live(&facet::removed(&name)));
                            }
                            if let Some(id) = id.filter(|id| before != Some(*id)) {
                                self.items.push_back(convert::to_live(&facet::added(&name, &id)));
                            }
                        }
                        Some(locator) => {
                            let (was, is) = (before == Some(locator.id), id == Some(locator.id));
                            let left = following.known.values().any(|id| *id == locator.id);
                            match (was, is) {
                                (false, true) => self.items.push_back(convert::to_live(&name_change(
                                    "add",
                                    locator,
                                    vec![&name],
                                ))),
                                (true, false) if left => {
                                    self.items.push_back(convert::to_live(&name_change(
                                        "remove",
                                        locator,
                                        vec![&name],
                                    )));
                                }
                                (true, false) => self.items.push_back(convert::to_live(&name_change(
                                    "remove",
                                    locator,
                                    vec![],
                                ))),
                                _ => {}
                            }
                        }
                    }
                }
            }
        }
        Ok(Ok(()))
    }
}

/// Returns the item for names that a formula got or lost, in Endo's form. An item without names means that the
/// formula has lost its last name.
fn name_change(what: &str, locator: &Locator, names: Vec<&str>) -> Value {
    let mut fields = BTreeMap::from([(what.to_owned(), Value::string(locator.to_string()))]);
    if !names.is_empty() {
        let names = names.into_iter().map(|name| Value::string(name.to_owned()));
        fields.insert("names".to_owned(), Value::array(names));
    }
    Value::record_from_map(fields)
}

/// Returns the result of one `next` call, as JavaScript's iterators have it.
fn iteration_result(value: passable::Value<Ref>, done: bool) -> passable::Value<Ref> {
    let fields = [("done", passable::Value::bool(done)), ("value", value)];
    passable::Value::record(fields).unwrap_or_else(|_| passable::Value::too_deep())
}

impl ObjectTable {
    /// Calls a method of an iterator. Returns `None` if the answer comes later.
    pub fn iterate(
        &mut self,
        context: &Context<'_>,
        key: Key,
        method: &str,
        args: &[passable::Value<Ref>],
        answer: Ref,
    ) -> Option<Outcome> {
        let last = || args.first().cloned().unwrap_or(passable::Value::Undefined);
        match method {
            "next" => {
                let Some(feed) = self.feeds.get_mut(&key) else {
                    return Some(Ok(iteration_result(passable::Value::Undefined, true)));
                };
                if feed.waiting.len() >= MAX_WAITING_CALLS {
                    return Some(Err(passable::Value::error(
                        "Error",
                        "too many calls wait for this iterator",
                    )));
                }
                feed.waiting.push_back(answer);
                self.feed(context, key);
                None
            }
            "return" | "throw" => {
                if let Some(feed) = self.feeds.remove(&key) {
                    let mut board = context.board();
                    for waiting in feed.waiting {
                        board.resolve(
                            self.side,
                            waiting,
                            Ok(iteration_result(passable::Value::Undefined, true)),
                        );
                    }
                }
                Some(if method == "throw" { Err(last()) } else { Ok(iteration_result(last(), true)) })
            }
            "__getMethodNames__" => {
                let names = ["__getMethodNames__", "next", "return", "throw"];
                Some(Ok(passable::Value::array(names.map(passable::Value::string))))
            }
            _ => {
                let has = "[\"__getMethodNames__\",\"next\",\"return\",\"throw\"]";
                Some(Err(type_error(format!("target has no method {method:?}, has {has}"))))
            }
        }
    }

    /// Gives new items to every iterator that has a waiting call.
    pub fn feed_all(&mut self, context: &Context<'_>) {
        let waiting = self.feeds.iter().filter(|(_, feed)| !feed.waiting.is_empty());
        let waiting: Vec<Key> = waiting.map(|(key, _)| *key).collect();
        waiting.into_iter().for_each(|key| self.feed(context, key));
    }

    fn feed(&mut self, context: &Context<'_>, key: Key) {
        let Some(mut feed) = self.feeds.remove(&key) else { return };
        let now_ms = context.daemon.now_ms();
        if feed.items.len() < feed.waiting.len() {
            match context.daemon.read(|txn| feed.fill(txn, now_ms)) {
                Ok(Ok(())) => {}
                Ok(Err(refusal)) => {
                    let error = passable::Value::error(refusal.class(), refusal.to_string());
                    let mut board = context.board();
                    for waiting in feed.waiting {
                        board.resolve(self.side, waiting, Err(error.clone()));
                    }
                    return;
                }
                // If the store cannot be read now, the iterator reads again after the next change in the store.
                Err(_) => {
                    self.feeds.insert(key, feed);
                    return;
                }
            }
        }
        while let Some(answer) = feed.waiting.front().copied() {
            let Some(value) = feed.items.pop_front() else { break };
            feed.waiting.pop_front();
            let outcome = match self.show_item(context, &value, &feed) {
                Ok(value) => Ok(iteration_result(value, false)),
                Err(full) => Err(passable::Value::error("Error", full.to_string())),
            };
            context.board().resolve(self.side, answer, outcome);
        }
        if feed.done && feed.items.is_empty() {
            let mut board = context.board();
            for waiting in feed.waiting {
                board.resolve(self.side, waiting, Ok(iteration_result(passable::Value::Undefined, true)));
            }
            return;
        }
        self.feeds.insert(key, feed);
    }

    fn show_item(
        &mut self,
        context: &Context<'_>,
        value: &passable::Value<Live>,
        feed: &Feed,
    ) -> Result<passable::Value<Ref>, switchboard::LimitReached> {
        let interfaces = match value.references().is_empty() {
            true => Interfaces::new(),
            false => context.daemon.read(|txn| convert::interfaces(txn, value)).unwrap_or_default(),
        };
        self.show(&mut context.board(), value, &interfaces, &feed.reach)
    }
}
