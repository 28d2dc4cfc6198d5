//! The promises in an object table, which settle when the store changes.

use kernel::event::Change;
use kernel::formula::Formula;
use kernel::table::PromiseRow;
use kernel::txn::{Owner, ReadTxn, StoreFault};
use kernel::{FormulaId, query, table};
use passable::Value;
use switchboard::{Key, Outcome, Ref};

use super::convert;
use super::convert::Interfaces;
use super::object::{Object, RemoteObject, SettlementCause};
use super::object_table::{Context, ObjectTable};

impl ObjectTable {
    /// Reads the changes in the store: settles promises, answers waiting calls and feeds iterators.
    pub fn poll_store(&mut self, context: &Context<'_>) {
        self.read_events(context);
        self.settle_promises(context);
        self.answer_waiting_calls(context);
        self.feed_all(context);
    }

    /// Marks the promises that new events may have settled, so that they are checked again.
    fn read_events(&mut self, context: &Context<'_>) {
        if self.waiting.is_empty() {
            self.cursors.clear();
            return;
        }
        let (cursors, causes) = (&mut self.cursors, &mut Vec::new());
        // If the store cannot be read now, the events are read after the next change in the store.
        let _ = context.daemon.read(|txn| {
            for (owner, seen) in cursors.iter_mut() {
                read_causes(txn, owner, seen, causes)?;
            }
            Ok(())
        });
        for cause in causes {
            self.unchecked_promises.extend(self.waiting.remove(cause).unwrap_or_default());
        }
    }

    /// Settles the marked promises that have settled in the store.
    pub(crate) fn settle_promises(&mut self, context: &Context<'_>) {
        // The value of a promise may hold another promise, which is then checked as well.
        while !self.unchecked_promises.is_empty() {
            let keys = std::mem::take(&mut self.unchecked_promises);
            let looked: Vec<(Key, RemoteObject, Ref)> = keys
                .into_iter()
                .filter_map(|key| self.objects.get(&key).map(|(thing, found)| (key, thing.clone(), *found)))
                .collect();
            let now_ms = context.daemon.now_ms();
            let found = context.daemon.read(|txn| {
                looked
                    .iter()
                    .map(|(_, thing, _)| promise_status(txn, thing, now_ms))
                    .collect::<Result<Vec<_>, _>>()
            });
            match found {
                Ok(states) => {
                    for ((key, _, reference), state) in looked.into_iter().zip(states) {
                        self.apply_status(context, key, reference, state);
                    }
                }
                // If the store cannot be read now, the promises fail, because no later event would mark them again.
                Err(failure) => {
                    let mut board = context.board();
                    for (_, _, reference) in looked {
                        let error = Value::error("Error", failure.message.raw().to_owned());
                        board.resolve(self.side, reference, Err(error));
                    }
                }
            }
        }
    }

    fn apply_status(&mut self, context: &Context<'_>, key: Key, reference: Ref, state: PromiseStatus) {
        let outcome: Outcome = match state {
            PromiseStatus::Pending { cause, owner, seen } => {
                self.waiting.entry(cause).or_default().insert(key);
                // An existing position stays, because other promises may wait for events after it.
                self.cursors.entry(owner).or_insert(seen);
                return;
            }
            PromiseStatus::Word(word) => Ok(word.map_or(Value::undefined(), Value::string)),
            PromiseStatus::Broken(reason) => Err(Value::error("Error", reason)),
            PromiseStatus::Fulfilled { value, interfaces, agent, id, through } => {
                let reach = Object { id, agent, through };
                let shown = self.show(&mut context.board(), &convert::to_live(&value), &interfaces, &reach);
                shown.map_err(|full| Value::error("Error", full.to_string()))
            }
        };
        context.board().resolve(self.side, reference, outcome);
    }
}

/// The state of a promise in the store.
enum PromiseStatus {
    /// A promise that has not settled: the cause that settles it, the agent whose events report it, and the last
    /// event so far.
    Pending { cause: SettlementCause, owner: Owner, seen: u64 },
    /// A promise that settled with a word or with `undefined`.
    Word(Option<&'static str>),
    /// A broken promise, with the reason.
    Broken(String),
    /// A promise that was fulfilled with a value.
    Fulfilled {
        value: kernel::Value,
        interfaces: Interfaces,
        agent: FormulaId,
        id: FormulaId,
        through: Vec<FormulaId>,
    },
}

fn promise_status(
    txn: &mut dyn ReadTxn,
    thing: &RemoteObject,
    now_ms: i64,
) -> Result<PromiseStatus, StoreFault> {
    let last = |txn: &mut dyn ReadTxn, owner: &Owner| {
        Ok::<_, StoreFault>(kernel::partial_rows::log_end(txn, owner)?.map_or(0, |end| end.seq))
    };
    Ok(match thing {
        RemoteObject::Promise { id, .. } | RemoteObject::Settled { id } => match table::promise(txn, id)? {
            Some(PromiseRow::Pending) => {
                let row = table::formula(txn, id)?;
                let Some(Formula::Promise { asker, .. }) = row.map(|row| row.formula) else {
                    return Ok(PromiseStatus::Broken("the promise was collected".to_owned()));
                };
                let seen = last(txn, &asker.0)?;
                PromiseStatus::Pending { cause: SettlementCause::Settled(*id), owner: asker.0, seen }
            }
            Some(PromiseRow::Fulfilled { value }) => match thing {
                RemoteObject::Promise { agent, through, .. } => {
                    // A value found through a grant ends with that grant.
                    for grant in through {
                        let reached = table::reach(txn, grant)?;
                        if let Some(finding) = reached.and_then(|reached| reached.ended(now_ms)) {
                            return Ok(PromiseStatus::Broken(finding.message));
                        }
                    }
                    let interfaces = convert::interfaces(txn, &convert::to_live(&value))?;
                    let through = through.clone();
                    PromiseStatus::Fulfilled { value, interfaces, agent: *agent, id: *id, through }
                }
                _ => PromiseStatus::Word(Some("fulfilled")),
            },
            Some(PromiseRow::Rejected { reason }) => match thing {
                RemoteObject::Promise { .. } => PromiseStatus::Broken(reason),
                _ => PromiseStatus::Word(Some("rejected")),
            },
            None => match (thing, table::formula(txn, id)?.map(|row| row.formula)) {
                (_, None) | (RemoteObject::Settled { .. }, _) => {
                    PromiseStatus::Broken("the promise was collected".to_owned())
                }
                // A promise that was fulfilled before it was passed on is replaced by its value, so the formula is
                // that value.
                (_, Some(formula)) => {
                    let value = match formula {
                        Formula::Marshal { value } => value,
                        _ => kernel::Value::remotable(*id),
                    };
                    let interfaces = convert::interfaces(txn, &convert::to_live(&value))?;
                    let (agent, through) = match thing {
                        RemoteObject::Promise { agent, through, .. } => (*agent, through.clone()),
                        _ => (*id, vec![]),
                    };
                    PromiseStatus::Fulfilled { value, interfaces, agent, id: *id, through }
                }
            },
        },
        RemoteObject::Dismissed { agent, number } => {
            let letter = query::message(txn, agent, *number)?;
            match letter.is_some_and(|letter| letter.message.is_some()) {
                true => {
                    let cause = SettlementCause::Dismissed(*agent, *number);
                    PromiseStatus::Pending { cause, owner: agent.number, seen: last(txn, &agent.number)? }
                }
                false => PromiseStatus::Word(None),
            }
        }
        RemoteObject::Object(_)
        | RemoteObject::Iterator
        | RemoteObject::GatewayLogin
        | RemoteObject::Part(_)
        | RemoteObject::Live(_)
        | RemoteObject::Ended => PromiseStatus::Word(None),
    })
}

/// Collects the causes that one agent's events since `seen` settle.
fn read_causes(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    seen: &mut u64,
    causes: &mut Vec<SettlementCause>,
) -> Result<(), StoreFault> {
    /// The maximum number of events that are read at a time.
    const MAX_EVENTS: usize = 256;
    loop {
        let events = query::events(txn, owner, *seen, MAX_EVENTS)?;
        let full = events.len() == MAX_EVENTS;
        for event in events {
            *seen = event.seq;
            match event.change {
                Change::Settled { promise, .. } => causes.push(SettlementCause::Settled(promise)),
                Change::Dismissed { number } => {
                    // All agents of a store have the same node.
                    if let Some(endo) = table::endo(txn)? {
                        let agent = FormulaId { number: *owner, node: endo.node };
                        causes.push(SettlementCause::Dismissed(agent, number));
                    }
                }
                _ => {}
            }
        }
        if !full {
            return Ok(());
        }
    }
}
