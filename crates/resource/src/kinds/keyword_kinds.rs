//! The kinds that are typed as one word, or not at all: the clock, workers, and a run's permissions towards its user.

use super::{Kind, Limit, ResourceSpec, Row, TextStart, directory};
use crate::{SpecError, Surroundings};

/// The word for the clock.
pub const CLOCK_WORD: &str = "clock";
/// The word for the worker that has the slot.
pub const SELF_WORD: &str = "self";
/// The description of the clock.
pub(crate) const THE_CLOCK: &str = "the clock";
/// The description of the worker that has the slot.
pub const MYSELF: &str = "this worker again";
/// The description of questions.
pub(crate) const QUESTIONS: &str = "questions to you, in your inbox";
/// The description of waiting.
pub(crate) const ALARM: &str = "waiting for a time";
/// The description of mail.
pub(crate) const INBOX: &str = "mail to you, in your inbox";

/// The row of `clock` in the table.
pub(crate) static CLOCK: Row = Row {
    kind: Kind::Clock,
    label: "clock",
    noun: "a clock",
    verb: "read",
    type_name: "clock",
    start: TextStart::Word(CLOCK_WORD),
    example: CLOCK_WORD,
    grammar: CLOCK_WORD,
    keys: &[],
    limits: &[],
    methods: &["now", "today"],
    discloses: false,
    sends: false,
    needs_confirmation: false,
    permission_phrase: "",
    by_name: true,
    parse: |_, _| Ok(ResourceSpec::Clock),
};

/// The row of `worker` in the table.
pub(crate) static WORKER: Row = Row {
    kind: Kind::Worker,
    label: "worker",
    noun: "a worker",
    verb: "call",
    type_name: "worker",
    start: TextStart::Path,
    example: "FILE.worker",
    grammar: "FILE.worker, SLOT=FILE.worker?suffix=.md&max=1MiB&total=4MiB&rate=60/h, SLOT=self, or SLOT=model:NAME",
    keys: &["suffix=", "max=", "total=", "methods=", "rate="],
    limits: &[Limit::Suffixes, Limit::Max, Limit::Total, Limit::Rate],
    methods: &["call"],
    discloses: false,
    sends: false,
    needs_confirmation: false,
    permission_phrase: "",
    by_name: true,
    parse: directory::parse,
};

/// The row of `ask` in the table.
pub(crate) static ASK: Row = Row {
    kind: Kind::Ask,
    label: "ask",
    noun: "questions to the user",
    verb: "ask you",
    type_name: "questions",
    permission_phrase: "may ask you questions, in your inbox",
    methods: &["ask", "form"],
    ..NEVER_TYPED
};

/// The row of `timer` in the table.
pub(crate) static TIMER: Row = Row {
    kind: Kind::Timer,
    label: "timer",
    noun: "waiting for a time",
    verb: "wait",
    type_name: "alarm",
    permission_phrase: "may wait for a time",
    methods: &["wait"],
    ..NEVER_TYPED
};

/// The row of `mail` in the table.
pub(crate) static MAIL: Row = Row {
    kind: Kind::Mail,
    label: "mail",
    noun: "mail to the user",
    verb: "write to you",
    type_name: "mail",
    permission_phrase: "may write to you, in your inbox",
    methods: &["send", "request", "define"],
    ..NEVER_TYPED
};

/// The common part of the rows of kinds that are never typed. The user who starts the run fills such a slot
/// automatically.
const NEVER_TYPED: Row = Row {
    kind: Kind::Ask,
    label: "",
    noun: "",
    verb: "",
    type_name: "",
    start: TextStart::Never,
    example: "",
    grammar: "",
    keys: &[],
    limits: &[],
    methods: &[],
    discloses: false,
    sends: false,
    needs_confirmation: false,
    permission_phrase: "",
    by_name: false,
    parse: never,
};

fn never(_: &str, _: &dyn Surroundings) -> Result<ResourceSpec, SpecError> {
    Err(SpecError::new("nothing is typed for this slot", "leave it out: the run's person fills it"))
}

/// Describes a worker by its file.
pub(crate) fn worker_file_summary(path: &str) -> String {
    format!("worker file {path}")
}

/// Describes a worker by its name and the beginning of its digest.
pub fn worker_summary(name: &str, digest: &str) -> String {
    format!("worker {name} ({digest})")
}
