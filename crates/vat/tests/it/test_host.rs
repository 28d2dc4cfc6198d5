//! A host that knows a few objects, for tests: it answers the sends of a vat, until nothing is left to do.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use passable::{Value, smallcaps};
use vat::{Clock, FaultKind, Limits, Name, Order, Outcome, Report, Slot, Vat, Verb};

/// The number of the one vat.
pub(crate) const VAT: u32 = 7;

/// The host's objects, by number.
pub(crate) const COUNTER: u32 = 1;
pub(crate) const ECHO: u32 = 2;

/// Returns a clock that stands still.
pub(crate) fn still() -> Clock {
    Rc::new(|| 0)
}

/// Returns a clock that goes.
pub(crate) fn real() -> Clock {
    #[allow(clippy::disallowed_methods, reason = "a test stands outside")]
    let start = std::time::Instant::now();
    #[allow(clippy::disallowed_methods, reason = "a test stands outside")]
    Rc::new(move || start.elapsed().as_millis() as u64)
}

pub(crate) struct TestHost {
    pub(crate) vat: Vat,
    pub(crate) reports: Vec<Report>,
    pub(crate) counted: u32,
    answers: u32,
    /// The outcomes that the host gave to questions, for pipelining.
    answered: BTreeMap<u32, Outcome>,
}

impl TestHost {
    pub(crate) fn new(limits: Limits) -> TestHost {
        TestHost::with_clock(limits, still())
    }

    pub(crate) fn with_clock(limits: Limits, clock: Clock) -> TestHost {
        let vat = Vat::new(VAT, limits, clock).expect("the realm fits");
        TestHost { vat, reports: Vec::new(), counted: 0, answers: 0, answered: BTreeMap::new() }
    }

    /// Returns the counter and the echo, by name.
    pub(crate) fn endowments() -> (Vec<String>, Value<Slot>) {
        let far = |number, iface: &str| Value::remotable_alleged(Slot::Host(number), iface);
        let values = [far(COUNTER, "Alleged: Counter"), far(ECHO, "Alleged: Echo")];
        (vec!["counter".to_owned(), "echo".to_owned()], Value::array(values))
    }

    /// Carries out an order, and the orders that follow from it on the host's side.
    pub(crate) fn order(&mut self, order: Order) {
        let mut orders = VecDeque::from([order]);
        while let Some(order) = orders.pop_front() {
            for report in self.vat.carry_out(&order) {
                if let Report::Send { target, verb, args, question, .. } = &report {
                    let outcome = self.called(*target, verb, args);
                    if let Some((number, outcome)) = question.zip(outcome) {
                        self.answered.insert(number, outcome.clone());
                        let promise = Slot::Question(number);
                        orders.push_back(Order::Settle { vat: VAT, promise, outcome });
                    }
                }
                self.reports.push(report);
            }
        }
    }

    fn called(&mut self, target: Slot, verb: &Verb, args: &Value<Slot>) -> Option<Outcome> {
        let number = match target {
            Slot::Host(number) => number,
            Slot::Question(question) => match self.answered.get(&question) {
                Some(Outcome::Ok(Value::Remotable(remote))) => match remote.reference {
                    Slot::Host(number) => number,
                    _ => return None,
                },
                Some(Outcome::Ok(_)) => {
                    return Some(Outcome::Err(Value::error("TypeError", "the answer is no object")));
                }
                Some(Outcome::Err(reason)) => return Some(Outcome::Err(reason.clone())),
                None => return None,
            },
            _ => panic!("sent to {target:?}"),
        };
        let first = args.as_array().and_then(<[_]>::first).cloned().unwrap_or(Value::Undefined);
        let method = match verb {
            Verb::Call(Name::Text(name)) => name.as_str(),
            Verb::Call(Name::Symbol(name)) => {
                return Some(Outcome::Ok(Value::string(format!("symbol {name}"))));
            }
            Verb::Apply => "apply",
            Verb::Get(Name::Text(name) | Name::Symbol(name)) => {
                return Some(Outcome::Ok(Value::string(format!("got {name}"))));
            }
        };
        match (number, method) {
            (COUNTER, "incr") => {
                self.counted += 1;
                Some(Outcome::Ok(Value::number(f64::from(self.counted))))
            }
            (_, "self") => Some(Outcome::Ok(Value::remotable(Slot::Host(number)))),
            (_, "make") => Some(Outcome::Ok(Value::remotable_alleged(Slot::Host(100), "Alleged: Made"))),
            (_, "never") => None,
            (_, "fail") => Some(Outcome::Err(Value::error("RangeError", "it failed"))),
            (_, "name" | "length" | "then" | "apply" | "constructor" | "toString") => {
                Some(Outcome::Ok(Value::string(format!("called {method}"))))
            }
            (ECHO, "all") => Some(Outcome::Ok(args.clone())),
            _ => Some(Outcome::Ok(first)),
        }
    }

    /// Evaluates a source with the counter and the echo; gives the number of the answer.
    pub(crate) fn evaluate(&mut self, source: &str) -> u32 {
        let (names, values) = TestHost::endowments();
        self.answers += 1;
        let answer = self.answers;
        let (id, source) = ("eval-1".to_owned(), source.to_owned());
        self.order(Order::Evaluate { vat: VAT, answer, id, source, names, values });
        answer
    }

    /// Calls a method of the vat's object; gives the number of the answer.
    pub(crate) fn deliver(&mut self, target: Slot, method: &str, args: Vec<Value<Slot>>) -> u32 {
        self.answers += 1;
        let answer = self.answers;
        let verb = Verb::Call(Name::Text(method.to_owned()));
        let args = Value::array(args);
        self.order(Order::Deliver { vat: VAT, answer: Some(answer), target, verb, args });
        answer
    }

    /// Returns the outcome of an answer.
    pub(crate) fn outcome(&self, answer: u32) -> Option<&Outcome> {
        self.reports.iter().find_map(|report| match report {
            Report::Answer { answer: own, outcome, .. } if *own == answer => Some(outcome),
            _ => None,
        })
    }

    /// Returns the outcome of an answer in one line: smallcaps, `throws …`, `fault …`, `nothing`, or the refusal.
    pub(crate) fn answer_line(&self, answer: u32) -> String {
        if let Some(kind) = self.fault() {
            return format!("fault {kind:?}").to_lowercase();
        }
        match self.outcome(answer) {
            Some(Outcome::Ok(value)) => shown(value),
            Some(Outcome::Err(value)) => match value {
                Value::Error(error) => {
                    format!("throws {}: {}", error.name.to_str_lossy(), error.message.to_str_lossy())
                }
                other => format!("throws {}", shown(other)),
            },
            None => match self.reports.last() {
                Some(Report::Refused { line }) => format!("refused {line}"),
                _ => "nothing".to_owned(),
            },
        }
    }

    pub(crate) fn fault(&self) -> Option<FaultKind> {
        self.reports.iter().find_map(|report| match report {
            Report::Fault { kind, .. } => Some(*kind),
            _ => None,
        })
    }
}

/// Returns a value in smallcaps, its slots behind it.
pub(crate) fn shown(value: &Value<Slot>) -> String {
    let data = smallcaps::encode(value);
    let slots: Vec<String> = data.slots.iter().map(|slot| format!(" {slot:?}")).collect();
    format!("{}{}", data.body.trim_start_matches('#'), slots.concat())
}

/// Returns the result of a source, in one line.
pub(crate) fn result_line(source: &str) -> String {
    let mut world = TestHost::new(Limits::default());
    let answer = world.evaluate(source);
    world.answer_line(answer)
}

/// Checks many sources at once, and tells of all that came out otherwise.
#[track_caller]
pub(crate) fn table(rows: &[(&str, &str)]) {
    let wrong = rows.iter().filter_map(|(source, expected)| {
        let told = result_line(source);
        (told != *expected).then(|| format!("{source}\n  came to  {told}\n  and not  {expected}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
