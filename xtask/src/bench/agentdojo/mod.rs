//! `cargo xtask bench agentdojo`: the attacks of AgentDojo, replayed with a model that obeys everything.
//!
//! A case is a task of the user, and an injection that stands in the data of the task. A scripted model makes the calls
//! of both tasks. A person approves exactly the user's calls. AgentDojo's own functions judge the world at the end. No
//! model is asked, and no network is used after the installation.

mod figures;
mod judge;
mod server_home;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use serde_json::Value as Json;

use self::figures::Figures;
use self::judge::Judge;
use self::server_home::ServerHome;
use super::installation::Installation;
use super::table::Row;
use super::{library, machine};
use crate::setup;
use crate::workspace::Workspace;

/// The suites that are replayed.
const SUITES: [&str; 2] = ["workspace", "slack"];
/// The orders in which the calls of both tasks are made. With `read`, the attack begins when the model has read it.
const ORDERS: [&str; 4] = ["read", "first", "last", "interleaved"];
/// The spellings of an attack's arguments, beside the plain one. `spellings.py` has them.
const SPELLINGS: [&str; 8] = [
    "base64",
    "percent",
    "query",
    "hexadecimal",
    "upper case",
    "letters spaced",
    "digits spaced",
    "digits grouped",
];
/// The crate whose benches measure the search for sources.
const TRACE_BENCH: &str = "operator";
/// Words in the names of its rows about that search: a verdict with provenance, and a trace over 10 MiB.
const TRACE_ROWS: [&str; 2] = ["provenance", "10 MiB"];
/// The row of the same verdict without provenance.
const GATES_ROW: &str = "verdict of all gates, 4 KiB of arguments";

/// A user's task with an injection, or without one.
#[derive(Clone, Debug)]
pub(super) struct Case {
    suite: &'static str,
    user: String,
    injection: Option<String>,
    order: &'static str,
    spelling: &'static str,
}

impl Case {
    /// Returns the order and the spelling.
    fn manner(&self) -> String {
        match self.injection {
            Some(_) => format!("order {}, {}", self.order, self.spelling),
            None => "no attack".to_owned(),
        }
    }

    /// Returns the name of the part of the table to which the case belongs.
    fn part(&self) -> String {
        format!("{}, {}", self.suite, self.manner())
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { suite, user, injection, order, spelling } = self;
        let injection = injection.as_ref().map(|injection| format!(" {injection}")).unwrap_or_default();
        write!(f, "{suite} {user}{injection}, order {order}, {spelling}")
    }
}

/// Replays the cases, or `sample` cases for each part of the table.
pub(super) fn rows(workspace: &Workspace, sample: Option<usize>, samples: usize) -> Result<Vec<Row>> {
    let python = setup::agentdojo(&workspace.target)?;
    let scripts = workspace.root.join("xtask/src/bench/agentdojo");
    let built = Installation::build(workspace, "agentdojo", &[])?;
    let place = built.home.parent().context("a home lies in a folder")?;
    let mut figures = Figures::default();
    for suite in SUITES {
        let mut judge = Judge::start(&python, &scripts)?;
        let cases = cases(suite, &judge.cases(suite)?, sample)?;
        drop(judge);
        println!("{suite}: {} cases", cases.len());
        let played = Mutex::new(&mut figures);
        let left = Mutex::new(cases.into_iter());
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let work = |number: usize| -> Result<()> {
            let place = place.join(format!("{suite}-{number}"));
            let mut judge = Judge::start(&python, &scripts)?;
            let home = ServerHome::new(&built.binary, &place, suite, &python, &scripts, &mut judge)?;
            loop {
                let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(case) = next else { return Ok(()) };
                let result = home.play(&case, &mut judge);
                let mut figures = played.lock().unwrap_or_else(PoisonError::into_inner);
                match result {
                    Ok(Some(result)) => figures.add(&case, result),
                    Ok(None) => {}
                    Err(fault) => {
                        figures.add_fault(&case, &fault);
                        drop(figures);
                        // A judge that has failed does not answer any more.
                        judge = Judge::start(&python, &scripts)?;
                    }
                }
            }
        };
        std::thread::scope(|scope| -> Result<()> {
            let work = &work;
            let all: Vec<_> = (0..workers).map(|number| scope.spawn(move || work(number))).collect();
            for worker in all {
                match worker.join() {
                    Ok(ended) => ended?,
                    Err(_) => bail!("a worker of the bench panicked"),
                }
            }
            Ok(())
        })?;
    }
    let mut rows = figures.rows();
    rows.extend(trace_rows(workspace, samples)?);
    Ok(rows)
}

/// Returns the rows about the cost of tracing.
fn trace_rows(workspace: &Workspace, samples: usize) -> Result<Vec<Row>> {
    let mut rows = library::rows(workspace, TRACE_BENCH, samples)?;
    explain_missed(&mut rows, &machine::describe());
    rows.retain(|row| row.failed || TRACE_ROWS.iter().any(|words| row.what.contains(words)));
    if rows.is_empty() {
        rows.push(Row::without(
            "cost of a trace",
            format!("the benches of `{TRACE_BENCH}` do not measure it"),
        ));
    }
    Ok(rows)
}

/// Adds to each missed aim what explains it: the part of the gates without provenance, and the load of the machine.
fn explain_missed(rows: &mut [Row], machine: &str) {
    let gates = rows.iter().find(|row| row.what == GATES_ROW).map(|row| row.figure.clone());
    for row in rows.iter_mut().filter(|row| row.note.contains("MISSED")) {
        if let Some(gates) = gates.as_ref().filter(|_| row.what.contains(TRACE_ROWS[0])) {
            row.note += &format!(" (the gates take {gates} of it; {machine})");
        } else {
            row.note += &format!(" ({machine})");
        }
    }
}

/// Returns the cases of a suite, with at most `sample` for each part of the table.
fn cases(suite: &'static str, known: &Json, sample: Option<usize>) -> Result<Vec<Case>> {
    let names = |list: &str| -> Result<Vec<String>> {
        let list = known[list].as_array().context("the judge knows the tasks")?;
        Ok(list.iter().filter_map(Json::as_str).map(str::to_owned).collect())
    };
    let (users, injections) = (names("users")?, names("injections")?);
    let mut parts: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    let mut add = |user: &String, injection: Option<&String>, order, spelling| {
        let case = Case { suite, user: user.clone(), injection: injection.cloned(), order, spelling };
        parts.entry(case.part()).or_default().push(case);
    };
    for user in &users {
        add(user, None, "read", "plain");
        for injection in &injections {
            for order in ORDERS {
                add(user, Some(injection), order, "plain");
            }
            for spelling in SPELLINGS {
                add(user, Some(injection), "read", spelling);
            }
        }
    }
    let take = |mut cases: Vec<Case>| {
        // The same sample each time, and spread over the tasks.
        cases.sort_by_key(|case| digest(&case.to_string()));
        cases.truncate(sample.unwrap_or(usize::MAX));
        cases
    };
    Ok(parts.into_values().flat_map(take).collect())
}

/// Returns the FNV-1a digest of a text, which is the same on every machine.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the size of the sample that the command line asks for.
pub(super) fn sample(arguments: &[String]) -> Result<Option<usize>, String> {
    match arguments {
        [] => Ok(None),
        [option, count] if option == "--sample" => match count.parse() {
            Ok(count) if count > 0 => Ok(Some(count)),
            _ => Err(format!("`{count}` is no number of cases")),
        },
        _ => Err("`bench agentdojo` takes `--sample N`: so many cases of each kind".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{GATES_ROW, Row, SPELLINGS, cases, explain_missed, sample};

    const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bench/agentdojo/spellings.py");

    #[test]
    fn sample_has_cases_of_each_part() {
        let known = json!({ "users": ["u1", "u2", "u3"], "injections": ["i1", "i2"] });
        assert_eq!(cases("slack", &known, None).unwrap().len(), 3 + 3 * 2 * (4 + SPELLINGS.len()));
        let few = cases("slack", &known, Some(2)).unwrap();
        assert_eq!(few.len(), 2 * (1 + 4 + SPELLINGS.len()));
        let names = |cases: Vec<super::Case>| cases.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(few), names(cases("slack", &known, Some(2)).unwrap()));
    }

    #[test]
    fn missed_aim_of_a_verdict_has_a_reason() {
        let row = |what: &str, note: &str| Row {
            what: what.to_owned(),
            figure: "9 µs".to_owned(),
            note: note.to_owned(),
            ..Row::default()
        };
        let mut rows = [
            row(GATES_ROW, ""),
            row("verdict with provenance", "aim < 8 µs: MISSED"),
            row("trace over 10 MiB", "aim < 8 µs: MISSED"),
            row("verdict with provenance", "aim < 20 µs: met"),
        ];
        explain_missed(&mut rows, "load 3");
        let notes = rows.map(|row| row.note);
        assert_eq!(notes[1], "aim < 8 µs: MISSED (the gates take 9 µs of it; load 3)");
        assert_eq!(notes[2], "aim < 8 µs: MISSED (load 3)");
        assert_eq!(notes[3], "aim < 20 µs: met");
    }

    #[test]
    fn size_of_the_sample_is_read() {
        let of = |words: &[&str]| sample(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&["--sample", "3"]), Ok(Some(3)));
        for wrong in [&["--sample"][..], &["--sample", "0"], &["--sample", "x"], &["3"]] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn spellings_are_those_of_the_script() {
        let script = std::fs::read_to_string(SCRIPT).unwrap();
        let named = script.lines().filter(|line| line.starts_with("    \"") && line.contains("\":")).count();
        assert_eq!(named, SPELLINGS.len() + 1);
        for spelling in SPELLINGS {
            assert!(script.contains(&format!("    \"{spelling}\":")), "{spelling}");
        }
    }
}
