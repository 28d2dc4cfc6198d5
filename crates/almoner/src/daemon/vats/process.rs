//! A process for guest code, and what it says put into the store's words.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kernel::run::{RunOutcome, Trouble};
use passable::{Untrusted, Value};
use vat::{Event, FaultKind, Host, HostError, Limits, Order, Outcome, Place, Report, Slot};

use super::parcel::Parcel;
use crate::vat_host;

/// How long the process may be silent at a time before the daemon looks whether it is to end.
const MOMENT: Duration = Duration::from_millis(200);

/// The number of the answer to the one order that wants one.
const ANSWER: u32 = 0;

/// Why nothing came of code.
#[derive(Debug)]
pub enum Undone {
    /// The daemon ends.
    Stopped,
    /// The process went, and not because of what it was told to do: it was killed, or its engine broke down.
    Lost,
}

/// Starts processes, and keeps one that has nothing of anybody's in it.
pub struct Reserve {
    program: PathBuf,
    blank: Mutex<Option<Process>>,
}

impl Reserve {
    /// An empty reserve of this program.
    pub fn new(program: PathBuf) -> Reserve {
        Reserve { program, blank: Mutex::new(None) }
    }

    /// A process that nobody has used.
    ///
    /// # Errors
    /// When none can be started.
    pub fn take(&self) -> Result<Process, String> {
        let blank = self.blank.lock().unwrap_or_else(PoisonError::into_inner).take();
        blank.map_or_else(|| self.start(), Ok)
    }

    /// Sees that there is one.
    pub fn fill(&self) {
        let mut blank = self.blank.lock().unwrap_or_else(PoisonError::into_inner);
        if blank.is_none() {
            // Whoever needs one will say why there is none.
            *blank = self.start().ok();
        }
    }

    /// A new process.
    ///
    /// # Errors
    /// When none can be started.
    pub fn start(&self) -> Result<Process, String> {
        let begun = Instant::now();
        let clock: vat::SharedClock =
            Arc::new(move || u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        match Host::start(vat_host::command(&self.program), clock) {
            Ok(host) => Ok(Process { host, next: 0, gone: false }),
            Err(e) => {
                Err(std::error::Error::source(&e).map_or_else(|| e.to_string(), |why| format!("{e}: {why}")))
            }
        }
    }
}

/// How code has ended.
enum Came {
    /// To an end of its own; its vat is still there.
    Out(RunOutcome),
    /// With its vat, or with the whole process.
    Down(RunOutcome),
}

/// A process for the code of one agent.
pub struct Process {
    host: Host,
    /// The number of the next vat.
    next: u32,
    /// Whether it is not to be used again.
    gone: bool,
}

fn trouble(code: &str, message: impl Into<String>, help: &str) -> Trouble {
    Trouble { code: code.to_owned(), message: Untrusted::new(message), help: help.to_owned() }
}

impl Process {
    /// Whether more code can run in it.
    pub fn is_well(&self) -> bool {
        !self.gone
    }

    /// Runs code in a vat of its own, to its result.
    ///
    /// # Errors
    /// When the daemon ends meanwhile, or the process goes.
    pub fn evaluate(&mut self, parcel: &Parcel, stops: &dyn Fn() -> bool) -> Result<RunOutcome, Undone> {
        let vat = self.next;
        self.next = self.next.wrapping_add(1);
        let orders = [
            Order::Open { vat, limits: Limits::default() },
            Order::Evaluate {
                vat,
                answer: ANSWER,
                id: parcel.eval.to_string(),
                source: parcel.source.clone(),
                names: parcel.names.clone(),
                values: Value::array(parcel.values.iter().cloned()),
            },
        ];
        for order in &orders {
            match self.host.order(order) {
                Ok(()) => {}
                Err(HostError::Frame(e)) => {
                    self.gone = true;
                    let what = format!("it cannot be told what to do: {e}");
                    return Ok(RunOutcome::Failed(trouble("vat/large", what, "let it be given less")));
                }
                Err(HostError::Gone | HostError::Start(_)) => {
                    self.gone = true;
                    return Err(Undone::Lost);
                }
            }
        }
        match self.outcome(vat, stops)? {
            Came::Out(outcome) => {
                self.gone |= self.host.order(&Order::Close { vat }).is_err();
                Ok(outcome)
            }
            // Of a vat that passed a limit nothing is left to close.
            Came::Down(outcome) => Ok(outcome),
        }
    }

    /// Listens until it is known what came of the code.
    fn outcome(&mut self, vat: u32, stops: &dyn Fn() -> bool) -> Result<Came, Undone> {
        let (mut came, mut is_open): (Option<RunOutcome>, bool) = (None, false);
        loop {
            let Some(event) = self.host.next(MOMENT) else {
                if stops() {
                    self.host.kill();
                    return Err(Undone::Stopped);
                }
                continue;
            };
            let report = match event {
                Event::Report(report) => report,
                Event::Ended(end) => {
                    self.gone = true;
                    let (code, message) = match (end.culprit, end.broken) {
                        // It took too long to make the vat, in which none of the code had run.
                        (Some(_), _) if !is_open => return Err(Undone::Lost),
                        (Some(_), _) => {
                            ("vat/stuck", "it was ended: it took too long in one piece".to_owned())
                        }
                        (None, Some(what)) => ("vat/broken", format!("its process was ended: {what}")),
                        (None, None) => return Err(Undone::Lost),
                    };
                    let help = "let it do less at a time";
                    return Ok(Came::Down(RunOutcome::Failed(trouble(code, message, help))));
                }
            };
            match report {
                Report::Ready { vat: of } if of == vat => is_open = true,
                Report::Answer { vat: of, answer: ANSWER, outcome, place } if of == vat => {
                    came = Some(result(outcome, place.as_ref()));
                }
                Report::Fault { vat: of, kind, line } if of == vat => {
                    return Ok(Came::Down(RunOutcome::Failed(fault(kind, &line))));
                }
                // All of its turns are over.
                Report::Idle { vat: of, .. } if of == vat => {
                    return Ok(Came::Out(came.unwrap_or_else(|| {
                        let what = "it waits for something that never comes";
                        RunOutcome::Failed(trouble("vat/waits", what, "nothing can settle what it waits for"))
                    })));
                }
                // A name that is none in the language, say. Nothing of the code has run.
                Report::Refused { line } => {
                    let help = "a name in code is a word of letters, digits, `_` and `$`";
                    return Ok(Came::Out(RunOutcome::Failed(trouble("vat/refused", line, help))));
                }
                // It holds nothing that a message could go to.
                Report::Send { .. } | Report::Resolve { .. } => {
                    self.gone = true;
                    self.host.kill();
                    let what = "its process did what it cannot do, and was ended";
                    return Ok(Came::Down(RunOutcome::Failed(trouble(
                        "vat/broken",
                        what,
                        "please report it",
                    ))));
                }
                _ => {}
            }
        }
    }
}

fn fault(kind: FaultKind, line: &str) -> Trouble {
    let name = format!("{kind:?}").to_lowercase();
    trouble(&format!("vat/{name}"), line, "it ends where its limits are")
}

/// What came of the code, as the store keeps it.
fn result(outcome: Outcome, place: Option<&Place>) -> RunOutcome {
    let data = |value: &Value<Slot>| value.try_map_references(&mut |_| Err::<kernel::FormulaId, ()>(()));
    match outcome {
        Outcome::Ok(value) => match data(&value) {
            Ok(value) => RunOutcome::Done(value),
            Err(()) => {
                let what = "its result has objects of its own in it, and they end with it";
                RunOutcome::Failed(trouble("vat/not-durable", what, "let it return data"))
            }
        },
        Outcome::Err(value) => {
            let thrown = match &value {
                Value::Error(error) => {
                    format!("{}: {}", error.name.to_str_lossy(), error.message.to_str_lossy())
                }
                other => match other.as_str() {
                    Some(text) => text.to_owned(),
                    None => format!("it threw a {}", other.kind()),
                },
            };
            let at = place.map(|place| match place.excerpt.is_empty() {
                true => format!(" ({})", place.label()),
                false => format!(" ({}: {})", place.label(), place.excerpt),
            });
            let message = format!("{thrown}{}", at.unwrap_or_default());
            RunOutcome::Failed(trouble("vat/threw", message, "mend the code"))
        }
    }
}
