//! Calls that change only the store. The calls of one connection are written to the disk together.
//!
//! A client that does not wait for each answer has many such calls under way. The writer plans and applies each in
//! its own transaction, in the order of arrival, so each sees the effects of those before it. The calls share disk
//! syncs, and each is answered when it is durable. All other calls on objects wait until these are done.

use std::sync::mpsc::{Receiver, sync_channel};

use kernel::command::{Fault, Reply};
use kernel::facet::{self, Need, Plan, Refusal};
use kernel::grant_usage::GrantUse;
use kernel::txn::{StoreFault, Txn};
use store::WriteError;
use switchboard::Ref;

use super::convert;
use super::object::Object;
use super::object_table::{Context, ObjectTable};
use super::perform;
use super::perform::{CallError, CodeSend};
use crate::state::daemon::environment;
use crate::state::errors::DaemonError;
use crate::state::grant_usage;
use control::exit::Failure;

/// The maximum number of calls of one connection that may be under way.
pub const MAX_PENDING_WRITES: usize = 256;

/// A call that is not durable yet.
pub struct PendingWrite {
    answer: Ref,
    /// The object that was called.
    object: Object,
    /// The method and its arguments.
    sent: (String, Vec<passable::Value<Ref>>),
    outcome: Receiver<Result<WriteOutcome, WriteError<WriteFailure>>>,
}

/// The outcome of a call in the writer's transaction.
enum WriteOutcome {
    /// The command was applied. The fields are its result, and the object through which the result was reached.
    Applied(kernel::Value, Object),
    /// The call needs more than a command. Nothing was changed, and this plan must be carried out.
    Planned(Box<Plan>, Object),
}

/// The reason why a call changed nothing.
#[derive(Debug, thiserror::Error)]
enum WriteFailure {
    #[error(transparent)]
    Refusal(Refusal),
    #[error(transparent)]
    Fault(Fault),
}

impl From<StoreFault> for WriteFailure {
    fn from(fault: StoreFault) -> WriteFailure {
        WriteFailure::Fault(fault.into())
    }
}

impl ObjectTable {
    /// Submits a call to the writer. [`ObjectTable::settle`] answers it.
    ///
    /// # Errors
    /// When the clock or the source of randomness fails.
    pub(crate) fn begin(
        &mut self,
        context: &Context<'_>,
        object: &Object,
        method: &str,
        (args, original): (Vec<kernel::Value>, &[passable::Value<Ref>]),
        answer: Ref,
    ) -> Result<(), CallError> {
        let daemon = context.daemon;
        let (env, view) = (environment()?, daemon.view(object.agent));
        // A cancellation may end a timer, so the alarms are rescheduled after it.
        let ends = method == "cancel";
        let (behalf, root, by) = (self.code_send(answer), daemon.root, self.caller(object));
        let sent = (method.to_owned(), original.to_vec());
        let (target, method) = (object.clone(), method.to_owned());
        let shared = daemon.shared();
        let (send, came) = sync_channel(1);
        let call = move |txn: &mut dyn Txn| {
            let (plan, reach) = perform::plan(txn, &view, &target, &method, &args)?;
            match plan.map_err(WriteFailure::Refusal)? {
                Plan::Act(action) => {
                    let then = action.then.clone();
                    let command = CodeSend::command(behalf.as_ref(), root, &reach, *action);
                    let outcome = kernel::apply(txn, &env, command).map_err(WriteFailure::Fault)?;
                    let grants = kernel::grant_usage::grants(txn, &target.id, &target.through)?;
                    if !grants.is_empty() && outcome.reply != Reply::AlreadySettled {
                        let call = GrantUse::new(env.now_ms(), by, &method, false);
                        let used = grant_usage::command(root, grants, &call);
                        kernel::apply(txn, &env, used).map_err(WriteFailure::Fault)?;
                    }
                    let answer = facet::result(&then, &outcome.reply);
                    Ok((WriteOutcome::Applied(answer, reach), (outcome.ready, outcome.cancelled)))
                }
                other => Ok((WriteOutcome::Planned(Box::new(other), reach), (vec![], vec![]))),
            }
        };
        // The effects of the command are passed on even if the client has left before the command is durable.
        daemon.store.submit(call, move |result| {
            let result = result.map(|(came, (ready, cancelled))| {
                if let Some(shared) = shared.upgrade() {
                    ready.iter().for_each(|run| shared.drive(*run));
                    shared.news.wake();
                    shared.end_cancelled_code(&cancelled);
                    if ends {
                        shared.alarms.reschedule();
                    }
                }
                came
            });
            drop(send.send(result));
        });
        self.pending_writes.push(PendingWrite { answer, object: object.clone(), outcome: came, sent });
        Ok(())
    }

    /// Returns whether the maximum number of calls is under way.
    pub fn is_full(&self) -> bool {
        self.pending_writes.len() >= MAX_PENDING_WRITES
    }

    /// Waits until every call under way is durable, and answers each.
    pub(crate) fn settle(&mut self, context: &Context<'_>) {
        for PendingWrite { answer, object, outcome: came, sent } in std::mem::take(&mut self.pending_writes) {
            let outcome = match came.recv().unwrap_or(Err(WriteError::Store(StoreFault::Closed))) {
                Ok(WriteOutcome::Applied(value, reach)) => {
                    self.make_live(context, &convert::to_live(&value), &reach).map(Some)
                }
                Ok(WriteOutcome::Planned(plan, reach)) => {
                    let noted = match perform::is_of_files(&plan) {
                        true => Ok(()),
                        false => self.note_call(context, &object, &sent.0, false),
                    };
                    noted.and_then(|()| match delivery(&plan) {
                        Some(to) => {
                            self.forward_call(context, reach, to, &sent.0, &sent.1, answer).map(|()| None)
                        }
                        None => self.carry_out_plan(context, reach, *plan, None, None, answer),
                    })
                }
                Err(WriteError::Refused(WriteFailure::Refusal(refusal))) => {
                    self.note_call(context, &object, &sent.0, true).and(Err(refusal.into()))
                }
                Err(WriteError::Refused(WriteFailure::Fault(fault))) => {
                    Err(Failure::from(DaemonError::from(fault)).into())
                }
                Err(WriteError::Store(fault)) => Err(Failure::from(DaemonError::from(fault)).into()),
                Err(WriteError::Panicked(text)) => Err(Failure::from(DaemonError::Panicked(text)).into()),
            };
            let outcome = match outcome {
                Ok(Some(value)) => Ok(value),
                // The answer comes later.
                Ok(None) => continue,
                Err(trouble) => Err(trouble.to_value()),
            };
            self.origins.remove(&answer);
            context.board().resolve(self.side, answer, outcome);
        }
    }
}

/// Returns the call that must be delivered to an object made by code, if the plan is such a delivery.
pub(crate) fn delivery(plan: &Plan) -> Option<&facet::ObjectCall> {
    match plan {
        Plan::Need(need) => match &**need {
            Need::Deliver(delivery) => Some(delivery),
            _ => None,
        },
        _ => None,
    }
}
