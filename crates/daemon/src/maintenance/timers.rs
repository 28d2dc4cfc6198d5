//! The timer thread. It sleeps until the next tick is due, and then notifies the agents and clients of that tick.
//!
//! The kernel notifies agents, because it knows which ticks are due. A connected client is notified by its
//! connection, which registers a callback. The thread never sleeps for long, because the system clock may be changed
//! in the meantime.

use std::sync::Weak;

use kernel::command::{Act, Reply, TimerAct};

use crate::state::alarms::Alarms;
use crate::state::daemon::Daemon;
use config::clock;

/// The time after which a failed access to the store is tried again, in milliseconds.
const RETRY_INTERVAL_MS: i64 = 5_000;

/// The maximum number of agents that are notified in one commit.
const MAX_AGENTS: u32 = 64;

/// Delivers ticks until the daemon ends. This runs on a thread of its own, which holds no reference to the daemon
/// while it sleeps.
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

/// Notifies every agent that has a due tick, and wakes every run that waits for one. Returns the time of the next
/// tick.
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
            // The delivery failed, or the daemon ends. A tick that is not delivered now is delivered later, in one
            // message with the ticks that follow.
            _ => return Some(now_ms.saturating_add(RETRY_INTERVAL_MS)),
        }
    }
}
