//! Calls that change only the store. Those of one connection go to the disk together.
//!
//! A client that does not wait for each answer has many such calls under way. The writer plans and applies each in
//! its own transaction, in the order of their arrival, so each sees the effects of those before it. They share syncs,
//! and each is answered when it is durable. Every other call of an object waits until these are done.

use std::sync::mpsc::{Receiver, sync_channel};

use kernel::command::{Fault, Reply};
use kernel::facet::{self, Need, Plan, Refusal};
use kernel::txn::{StoreFault, Txn};
use kernel::used::UsedCall;
use store::WriteError;
use switchboard::Ref;

use super::convert;
use super::object::Object;
use super::perform;
use super::perform::{Behalf, Trouble};
use super::table::{Context, Home};
use crate::state::daemon::environment;
use crate::state::{errors, grant_usage};

/// How many calls of one connection are under way at most.
pub const MOST: usize = 256;

/// A call that is under way.
pub struct Underway {
    answer: Ref,
    /// The object that was called.
    object: Object,
    /// The method and its arguments.
    sent: (String, Vec<passable::Value<Ref>>),
    came: Receiver<Result<Came, WriteError<Stopped>>>,
}

/// The outcome of a call in the writer's transaction.
enum Came {
    /// It was done: the answer, and how it is reached.
    Applied(kernel::Value, Object),
    /// It was no command after all, and nothing was changed.
    Planned(Box<Plan>, Object),
}

/// Why a call changed nothing.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error(transparent)]
    Refused(Refusal),
    #[error(transparent)]
    Fault(Fault),
}

impl From<StoreFault> for Stopped {
    fn from(fault: StoreFault) -> Stopped {
        Stopped::Fault(fault.into())
    }
}

impl Home {
    /// Begins a call. Its answer comes with [`Home::settle`].
    ///
    /// # Errors
    /// When there is no clock or no randomness.
    pub(crate) fn begin(
        &mut self,
        context: &Context<'_>,
        object: &Object,
        method: &str,
        (args, original): (Vec<kernel::Value>, &[passable::Value<Ref>]),
        answer: Ref,
    ) -> Result<(), Trouble> {
        let daemon = context.daemon;
        let (env, view) = (environment()?, daemon.view(object.agent));
        // Objects that are told of a timer's ticks must be told of its end.
        let ends = method == "cancel";
        let (behalf, root, by) = (self.behalf(answer), daemon.root, self.by(object));
        let sent = (method.to_owned(), original.to_vec());
        let (target, method) = (object.clone(), method.to_owned());
        let shared = daemon.shared();
        let (send, came) = sync_channel(1);
        let call = move |txn: &mut dyn Txn| {
            let (plan, reach) = perform::plan(txn, &view, &target, &method, &args)?;
            match plan.map_err(Stopped::Refused)? {
                Plan::Act(action) => {
                    let then = action.then.clone();
                    let command = Behalf::command(behalf.as_ref(), root, &reach, *action);
                    let outcome = kernel::apply(txn, &env, command).map_err(Stopped::Fault)?;
                    let grants = kernel::used::grants(txn, &target.id, &target.through)?;
                    if !grants.is_empty() && outcome.reply != Reply::AlreadySettled {
                        let call = UsedCall::new(env.now_ms(), by, &method, false);
                        let used = grant_usage::command(root, grants, &call);
                        kernel::apply(txn, &env, used).map_err(Stopped::Fault)?;
                    }
                    let answer = facet::result(&then, &outcome.reply);
                    Ok((Came::Applied(answer, reach), (outcome.ready, outcome.cancelled)))
                }
                other => Ok((Came::Planned(Box::new(other), reach), (vec![], vec![]))),
            }
        };
        // Whether or not the client is still there when it is durable, others hear of it and runs go on.
        daemon.store.submit(call, move |result| {
            let result = result.map(|(came, (ready, cancelled))| {
                if let Some(shared) = shared.upgrade() {
                    ready.iter().for_each(|run| shared.drive(*run));
                    shared.news.wake();
                    shared.cancelled(&cancelled);
                    if ends {
                        shared.alarms.stir();
                    }
                }
                came
            });
            drop(send.send(result));
        });
        self.underway.push(Underway { answer, object: object.clone(), came, sent });
        Ok(())
    }

    /// Returns whether so many calls are under way that no more should be begun.
    pub fn is_full(&self) -> bool {
        self.underway.len() >= MOST
    }

    /// Waits until every call that is under way is durable, and answers each.
    pub(crate) fn settle(&mut self, context: &Context<'_>) {
        for Underway { answer, object, came, sent } in std::mem::take(&mut self.underway) {
            let outcome = match came.recv().unwrap_or(Err(WriteError::Store(StoreFault::Closed))) {
                Ok(Came::Applied(value, reach)) => {
                    self.hand_over(context, &convert::live(&value), &reach).map(Some)
                }
                Ok(Came::Planned(plan, reach)) => {
                    let noted = match perform::is_of_files(&plan) {
                        true => Ok(()),
                        false => self.note_call(context, &object, &sent.0, false),
                    };
                    noted.and_then(|()| match delivery(&plan) {
                        Some(to) => self.send_on(context, reach, to, &sent.0, &sent.1, answer).map(|()| None),
                        None => self.do_planned(context, reach, *plan, None, None, answer),
                    })
                }
                Err(WriteError::Refused(Stopped::Refused(refusal))) => {
                    self.note_call(context, &object, &sent.0, true).and(Err(refusal.into()))
                }
                Err(WriteError::Refused(Stopped::Fault(fault))) => Err(errors::fault_failure(&fault).into()),
                Err(other) => Err(errors::store_failure(other.to_string()).into()),
            };
            let outcome = match outcome {
                Ok(Some(value)) => Ok(value),
                // The answer comes by itself.
                Ok(None) => continue,
                Err(trouble) => Err(trouble.to_value()),
            };
            self.origins.remove(&answer);
            context.board().resolve(self.side, answer, outcome);
        }
    }
}

/// Returns the delivery to an object that code has made, if the plan is one.
pub(crate) fn delivery(plan: &Plan) -> Option<&facet::Delivery> {
    match plan {
        Plan::Need(need) => match &**need {
            Need::Deliver(delivery) => Some(delivery),
            _ => None,
        },
        _ => None,
    }
}
