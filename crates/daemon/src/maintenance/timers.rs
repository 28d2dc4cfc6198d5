//! The timekeeper: one thread that sleeps until the next tick comes, and notifies the agents and clients that are
//! due.
//!
//! The kernel notifies agents, since it knows which are due. A connected client is notified by its connection, which
//! registers a call. The clock may be set meanwhile, so the thread does not sleep for long.

use std::sync::Weak;

use kernel::command::{Act, Reply, TimerAct};

use crate::state::alarms::Alarms;
use crate::state::daemon::Daemon;
use config::clock;

/// After how long a store that could not be written is asked again.
const RETRY_INTERVAL_MS: i64 = 5_000;

/// How many agents are told in one commit.
const MAX_AGENTS: u32 = 64;

/// Keeps time until the daemon ends. Runs on a thread of its own, which holds nothing while it sleeps.
pub fn run_timers(alarms: &Alarms, daemon: &Weak<Daemon>) {
    alarms.reschedule();
    while let Some((calls, tells)) = alarms.wait() {
        calls.into_iter().for_each(|call| call());
        if tells {
            let Some(daemon) = daemon.upgrade() else { return };
            let due_ms = deliver_due_ticks(&daemon);
            alarms.set_due(due_ms);
        }
    }
}

/// Tells every agent who is due, and wakes every run that has waited for this; when the next one will be.
fn deliver_due_ticks(daemon: &Daemon) -> Option<i64> {
    loop {
        let now_ms = clock::now_ms();
        match daemon.read(|txn| kernel::timer::next_due(txn)) {
            Ok(Some(due_ms)) if due_ms <= now_ms => {}
            Ok(due_ms) => return due_ms,
            Err(_) => return Some(now_ms.saturating_add(RETRY_INTERVAL_MS)),
        }
        let told = daemon.apply_as(daemon.root, None, Act::Timer(TimerAct::Tick { budget: MAX_AGENTS }));
        match told.map(|outcome| outcome.reply) {
            Ok(Reply::Ticked { .. }) if !daemon.is_stopping() => {}
            // A tick that is not delivered now is delivered later: the ticks of a time are one message.
            _ => return Some(now_ms.saturating_add(RETRY_INTERVAL_MS)),
        }
    }
}
