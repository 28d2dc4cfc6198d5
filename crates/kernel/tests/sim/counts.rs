//! How often everything happened.

use std::collections::BTreeMap;
use std::fmt;

use kernel::command::{Act, Cancel, CodeAct, Fault, GrantAct, MailAct, Move, NameAct, TimerAct, Writing};

/// The least number of times that everything must happen in a whole run.
pub(crate) const ENOUGH: u64 = 100;

/// How often a command of each kind was applied or refused, and how often each kind of fault came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Applied, refused.
    acts: BTreeMap<&'static str, (u64, u64)>,
    faults: BTreeMap<&'static str, u64>,
    pub(crate) commands: u64,
}

impl Counts {
    pub(crate) fn applied(&mut self, act: &'static str) {
        self.commands += 1;
        self.acts.entry(act).or_default().0 += 1;
    }

    pub(crate) fn refused(&mut self, act: &'static str, fault: &Fault) {
        self.commands += 1;
        self.acts.entry(act).or_default().1 += 1;
        self.fault(fault_name(fault));
    }

    pub(crate) fn moved(&mut self, step: &'static str) {
        self.acts.entry(step).or_default().0 += 1;
    }

    pub(crate) fn fault(&mut self, name: &'static str) {
        *self.faults.entry(name).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Counts) {
        self.commands += other.commands;
        for (name, (applied, refused)) in &other.acts {
            let sum = self.acts.entry(name).or_default();
            *sum = (sum.0 + applied, sum.1 + refused);
        }
        for (name, count) in &other.faults {
            *self.faults.entry(name).or_default() += count;
        }
    }

    /// Returns the commands, moves and faults that happened too rarely.
    pub(crate) fn rare(&self) -> Vec<String> {
        let acts =
            ACTS.iter().chain(&MOVES).map(|name| (*name, self.acts.get(name).map_or(0, |count| count.0)));
        let faults = FAULTS.iter().map(|name| (*name, self.faults.get(name).copied().unwrap_or(0)));
        acts.chain(faults)
            .filter(|(_, count)| *count < ENOUGH)
            .map(|(name, count)| format!("{name} ({count})"))
            .collect()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<34}{:>10}{:>10}", "command", "applied", "refused")?;
        for (name, (applied, refused)) in &self.acts {
            writeln!(f, "{name:<34}{applied:>10}{refused:>10}")?;
        }
        writeln!(f, "{:<34}{:>10}", "fault", "times")?;
        for (name, count) in &self.faults {
            writeln!(f, "{name:<34}{count:>10}")?;
        }
        Ok(())
    }
}

macro_rules! names {
    ($all:ident, $name:ident, $type:ty, { $($pattern:pat $(if $guard:expr)? => $text:literal,)* }) => {
        /// Every kind, so that one that never happens is missed.
        const $all: [&str; [$($text),*].len()] = [$($text),*];

        pub(crate) fn $name(of: &$type) -> &'static str {
            match of {
                $($pattern $(if $guard)? => $text,)*
            }
        }
    };
}

names!(ACTS, act_name, Act, {
    Act::Start(_) => "start",
    Act::Advance(_) => "advance",
    Act::OpenAgentJournal { .. } => "stand",
    Act::Answer(_) => "answer",
    Act::AnswerAll(_) => "answer all",
    Act::Say { .. } => "say",
    Act::Resume { .. } => "resume",
    Act::Refused { .. } => "refused",
    Act::Undo { .. } => "undo",
    Act::Apply { .. } => "apply",
    Act::Discard { .. } => "discard",
    Act::Forget { .. } => "forget",
    Act::Recover => "recover",
    Act::Name(NameAct::StoreValue { .. }) => "name: store value",
    Act::Name(NameAct::StoreBlob { .. }) => "name: store blob",
    Act::Name(NameAct::StoreIdentifier { .. }) => "name: store identifier",
    Act::Name(NameAct::Remove { .. }) => "name: remove",
    Act::Name(NameAct::Move { .. }) => "name: move",
    Act::Name(NameAct::Copy { .. }) => "name: copy",
    Act::Name(NameAct::MakeDirectory { .. }) => "name: make directory",
    Act::Name(NameAct::Provide { .. }) => "name: provide",
    Act::Name(NameAct::Forced { .. }) => "name: forced",
    Act::Name(NameAct::IfUnchanged { .. }) => "name: as seen",
    Act::Name(NameAct::Within { .. }) => "name: within",
    Act::Provide(_) => "provide",
    Act::Grant(GrantAct::Share { .. }) => "grant: share",
    Act::Grant(GrantAct::Accept { .. }) => "grant: accept",
    Act::Grant(GrantAct::Revoke { .. }) => "grant: revoke",
    Act::Grant(GrantAct::Attenuate { .. }) => "grant: attenuate",
    Act::Mail(act) if matches!(**act, MailAct::Send(_)) => "mail: send",
    Act::Mail(act) if matches!(**act, MailAct::Reply { .. }) => "mail: reply",
    Act::Mail(act) if matches!(**act, MailAct::SendValue { .. }) => "mail: send value",
    Act::Mail(act) if matches!(**act, MailAct::Request { .. }) => "mail: request",
    Act::Mail(act) if matches!(**act, MailAct::Resolve { .. }) => "mail: resolve",
    Act::Mail(act) if matches!(**act, MailAct::ResolveWith { .. }) => "mail: resolve with",
    Act::Mail(act) if matches!(**act, MailAct::Give { .. }) => "mail: give",
    Act::Mail(act) if matches!(**act, MailAct::Reject { .. }) => "mail: reject",
    Act::Mail(act) if matches!(**act, MailAct::Adopt { .. }) => "mail: adopt",
    Act::Mail(act) if matches!(**act, MailAct::Dismiss { .. }) => "mail: dismiss",
    Act::Mail(act) if matches!(**act, MailAct::DismissAll) => "mail: dismiss all",
    Act::Mail(act) if matches!(**act, MailAct::Define(_)) => "mail: define",
    Act::Mail(act) if matches!(**act, MailAct::Edit { .. }) => "mail: edit",
    Act::Mail(act) if matches!(**act, MailAct::Form(_)) => "mail: form",
    Act::Mail(act) if matches!(**act, MailAct::Submit { .. }) => "mail: submit",
    Act::Mail(act) if matches!(**act, MailAct::RequestEvaluation { .. }) => "mail: request evaluation",
    Act::Mail(act) if matches!(**act, MailAct::Grant { .. }) => "mail: grant",
    Act::Mail(act) if matches!(**act, MailAct::EndowCode { .. }) => "mail: endow code",
    Act::Mail(act) if matches!(**act, MailAct::EndowWorker { .. }) => "mail: endow worker",
    Act::Mail(act) if matches!(**act, MailAct::Make { .. }) => "mail: make",
    Act::Mail(_) => "mail: evaluate",
    Act::Timer(TimerAct::Make { .. }) => "timer: make",
    Act::Timer(TimerAct::Subscribe { .. }) => "timer: subscribe",
    Act::Timer(TimerAct::Unsubscribe { .. }) => "timer: unsubscribe",
    Act::Timer(TimerAct::Tick { .. }) => "timer: tick",
    Act::Cancel { what: Cancel::Name { .. }, .. } => "cancel: name",
    Act::Cancel { what: Cancel::Run { .. }, .. } => "cancel: run",
    Act::Cancel { what: Cancel::Vat { .. }, .. } => "cancel: place to run",
    Act::Code(CodeAct::Record { .. }) => "code: record",
    Act::Code(CodeAct::Do { .. }) => "code: do",
    Act::Code(CodeAct::Export { .. }) => "code: export",
    Act::Code(CodeAct::Promise { .. }) => "code: promise",
    Act::Code(CodeAct::Settle { .. }) => "code: settle",
    Act::Code(CodeAct::Give { .. }) => "code: hand",
    Act::Code(CodeAct::Remake { .. }) => "code: remake",
    Act::Code(CodeAct::Keep { .. }) => "code: keep",
    Act::Code(CodeAct::Cancel { .. }) => "code: cancel",
    Act::Code(CodeAct::Use { .. }) => "code: use",
    Act::Evaluated { .. } => "evaluated",
    Act::Collect { .. } => "collect",
});

names!(MOVES, move_name, Move, {
    Move::Prompt { .. } => "advance: prompt",
    Move::Reply { .. } => "advance: reply",
    Move::Reject { .. } => "advance: reject",
    Move::Propose { .. } => "advance: propose",
    Move::Begin { .. } => "advance: begin",
    Move::Restate { .. } => "advance: restate",
    Move::Forbid { .. } => "advance: forbid",
    Move::OutcomeUnknown { .. } => "advance: doubt",
    Move::Complete { .. } => "advance: complete",
    Move::Make { .. } => "advance: make",
    Move::Spawn { .. } => "advance: spawn",
    Move::Suspend { .. } => "advance: suspend",
    Move::Spill { .. } => "advance: spill",
    Move::Keep { .. } => "advance: keep",
    Move::Page { .. } => "advance: page",
    Move::Shrink { .. } => "advance: shrink",
    Move::Wait { .. } => "advance: wait",
    Move::Ask { .. } => "advance: ask",
    Move::Write { writing: Writing::Say { .. }, .. } => "advance: say",
    Move::Write { writing: Writing::Request { .. }, .. } => "advance: request",
    Move::Write { writing: Writing::Define { .. }, .. } => "advance: define",
    Move::Pause { .. } => "advance: pause",
    Move::Exhaust { .. } => "advance: exhaust",
    Move::Stall { .. } => "advance: stall",
    Move::Finish { .. } => "advance: finish",
});

/// The events that the simulation itself causes, counted like faults.
pub(crate) const LOST: &str = "crash: all that was unacknowledged lost";
pub(crate) const KEPT: &str = "crash: some unacknowledged kept";
pub(crate) const RETRIED: &str = "after a crash: retried";
pub(crate) const ATTACHED: &str = "after a crash: attached";

const FAULTS: [&str; 26] = [
    LOST,
    KEPT,
    RETRIED,
    ATTACHED,
    "store",
    "genesis",
    "no run",
    "no message",
    "not an approval",
    "no entry",
    "dangling",
    "out of order",
    "name",
    "unknown name",
    "not a directory",
    "wrong kind",
    "not held",
    "not allowed",
    "revoked",
    "misfit",
    "taken",
    "no token",
    "no grant",
    "no reference",
    "cancelled",
    "withdrawn",
];

fn fault_name(fault: &Fault) -> &'static str {
    match fault {
        Fault::Store(_) => "store",
        Fault::Genesis(_) => "genesis",
        Fault::NoRun(_) => "no run",
        Fault::NoMessage(_) => "no message",
        Fault::NotAnApproval(_) => "not an approval",
        Fault::NoEntry { .. } => "no entry",
        Fault::Dangling(_) => "dangling",
        Fault::OutOfOrder { .. } => "out of order",
        Fault::Name(_) => "name",
        Fault::UnknownName(_) => "unknown name",
        Fault::NotADirectory(_) => "not a directory",
        Fault::WrongKind { .. } => "wrong kind",
        Fault::NotHeld(_) => "not held",
        Fault::NotAllowed(_) => "not allowed",
        Fault::Revoked(_) => "revoked",
        Fault::Misfit { .. } => "misfit",
        Fault::Taken(_) => "taken",
        Fault::LooksLike { .. } => "looks like",
        // The simulated agents choose no such names.
        Fault::Hides { .. } => "hides",
        Fault::NoToken => "no token",
        Fault::NoGrant(_) => "no grant",
        Fault::NoReference { .. } => "no reference",
        Fault::Cancelled(_) => "cancelled",
        Fault::Withdrawn(_) => "withdrawn",
        // Only a client that displayed a state sends a precondition. The simulated hosts choose as they send.
        Fault::NotAsSeen { .. } => "not as seen",
        Fault::DoneMeanwhile(_) => "done meanwhile",
        // The simulated programs use no keys.
        Fault::KeyConflict { .. } => "key conflict",
        // The kernel has it for the crates above, and never says it itself.
        Fault::NotSupported(_) => "not supported",
    }
}
