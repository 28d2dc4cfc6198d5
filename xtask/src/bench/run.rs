//! `cargo xtask bench run`: the times for which a person waits, measured from outside over a home of its own.

use std::fs;
use std::ops::Deref;

use anyhow::{Context as _, Result};

use super::installation::{Installation, NEEDS_STRACE, Syncs};
use super::measure::{self, Sample};
use super::table::Row;
use super::{machine, table};
use crate::process::output;
use crate::workspace::Workspace;

// The command lines. Everything that knows the command line of almoner is in this part of the file.

const HELP: &[&str] = &["--help"];
const STATUS: &[&str] = &["status"];
/// Says as JSON which models' weights are here (`local[].here`) and where they lie (`dir`).
const MODELS: &[&str] = &["models", "list", "--json"];
/// Lets a home use the weights of another.
const WEIGHTS: &str = "ALMONER_MODELS";
/// Says as JSON how many steps each run has: one more than their number is `[].next_step`.
const ALL_RUNS: &[&str] = &["runs", "--all", "-n", "100000", "--json"];

/// Files of the folder in which the runs are started.
const FILES: &[(&str, &str)] = &[
    ("empty.worker", "---\ndescription: Answers at once.\n---\nSay ok.\n"),
    (
        "reader.worker",
        "---\ndescription: Reads one file.\nslots: { in: dir }\n---\nRead a.txt, then say ok.\n",
    ),
    (
        "parent.worker",
        "---\ndescription: Calls another worker.\nslots: { child: worker }\n---\nAsk the child, then say ok.\n",
    ),
    (
        "local.worker",
        "---\ndescription: Writes for a while.\n---\nTell what an almoner did, in about a hundred words.\n",
    ),
    ("in/a.txt", "one line\n"),
    ("a.eml", "From: a@b.example\nSubject: a line\n\none line\n"),
    (
        "script.json",
        r#"[
  { "worker": "empty", "turns": [ { "text": "ok" } ] },
  { "worker": "reader", "turns": [ { "calls": [ { "name": "in_read", "arguments": { "path": "a.txt" } } ] },
                                   { "text": "ok" } ] },
  { "worker": "parent", "turns": [ { "calls": [ { "name": "child", "arguments": {} } ] }, { "text": "ok" } ] }
]
"#,
    ),
];

/// A run with the scripted model: the name of its row, and its arguments.
struct Run {
    what: &'static str,
    arguments: &'static [&'static str],
}

const SCRIPTED: &[&str] = &["-m", "scripted:script.json", "--json"];

const RUNS: &[Run] = &[
    Run { what: "empty run", arguments: &["run", "empty.worker"] },
    Run { what: "run with one tool call", arguments: &["run", "reader.worker", "-e", "in=in"] },
    Run { what: "run with one child run", arguments: &["run", "parent.worker", "-e", "child=empty.worker"] },
];

/// Runs whose difference is the cost of the process that reads a document.
const READINGS: &[Run] = &[
    Run { what: "run over a text", arguments: &["run", "empty.worker", "in/a.txt"] },
    Run { what: "run over a mail", arguments: &["run", "empty.worker", "a.eml"] },
];

const LOCAL: &[&str] = &["run", "local.worker", "-m", "local", "--json"];
/// Where the envelope of `run --json` counts the model's output.
const OUTPUT_TOKENS: &str = "/usage/output_tokens";
/// Where it says how long the model took, in milliseconds, reading included.
const MODEL_MS: &str = "/usage/model_ms";

// How to measure it.

/// One measurement.
struct Bench(Installation);

impl Deref for Bench {
    type Target = Installation;

    fn deref(&self) -> &Installation {
        &self.0
    }
}

pub(super) fn rows(workspace: &Workspace, samples: usize) -> Result<Vec<Row>> {
    Bench(Installation::build(workspace, "run", FILES)?).all(samples)
}

impl Bench {
    fn all(&self, samples: usize) -> Result<Vec<Row>> {
        let fsync = machine::syncs(&self.home, samples * 5)?;
        let (_, sync, _) = measure::spread(&fsync);
        let size = fs::metadata(&self.binary)?.len();
        let mut rows = vec![Row {
            what: "binary".to_owned(),
            figure: measure::size(size),
            note: "release, stripped".to_owned(),
            ..Row::default()
        }];
        let each = |what: &str, arguments: &[&str]| {
            row_or_failure(what, self.repeat(arguments, samples).map(|found| measure::row(what, &found)))
        };
        rows.push(each("almoner --help", HELP));
        rows.push(row_or_failure("daemon start to first reply", self.cold(samples)));
        rows.push(each("reply of a running daemon", STATUS));
        for Run { what, arguments, .. } in RUNS.iter().chain(READINGS) {
            rows.push(each(what, &[arguments, SCRIPTED].concat()));
        }
        rows.push(self.daemon());
        rows.push(Row { what: "append and fdatasync, 4 KiB".to_owned(), ..measure::times("", &fsync) });
        rows.push(Row {
            what: "the machine's sync rate".to_owned(),
            figure: format!("{:.0}/s", 1.0 / sync.as_secs_f64().max(1e-9)),
            ..Row::default()
        });
        rows.extend(RUNS.iter().map(|each| row_or_failure(each.what, self.syncs(each, samples))));
        rows.push(row_or_failure("local model", self.local()));
        Ok(rows)
    }

    /// Runs once to warm up, and returns the `samples` runs that follow.
    fn repeat(&self, arguments: &[&str], samples: usize) -> Result<Vec<Sample>> {
        measure::once(&mut self.almoner(arguments))?;
        (0..samples).map(|_| Ok(measure::once(&mut self.almoner(arguments))?.0)).collect()
    }

    /// Measures the time from nothing running to the first answer.
    fn cold(&self, samples: usize) -> Result<Row> {
        let mut found = Vec::new();
        for _ in 0..samples {
            self.stop()?;
            found.push(measure::once(&mut self.almoner(STATUS))?.0);
        }
        Ok(measure::row("daemon start to first reply", &found))
    }

    /// Returns the usage of the daemon that served all of the above.
    fn daemon(&self) -> Row {
        let what = "daemon after these runs";
        let (count, used) = machine::processes_of(&self.home);
        if count == 0 {
            return Row::without(what, "none runs");
        }
        Row {
            what: what.to_owned(),
            cpu: measure::time(used.cpu),
            memory: measure::size(used.peak),
            note: format!("{count} processes"),
            ..Row::default()
        }
    }

    /// Measures the syncs of the daemon for each journal step of a run, counted by strace.
    fn syncs(&self, each: &Run, samples: usize) -> Result<Row> {
        let what = format!("syncs per step, {}", each.what);
        let Some((syncs, steps)) = self.traced(|syncs| self.count(each, samples, syncs))? else {
            return Ok(Row::without(&what, NEEDS_STRACE));
        };
        let per_run = |count: usize| count as f64 / samples as f64;
        Ok(Row {
            figure: format!("{:.2}", syncs as f64 / steps as f64),
            note: format!("{:.1} syncs for {:.1} steps", per_run(syncs), per_run(steps)),
            ..Row::without(&what, "")
        })
    }

    /// Returns the steps that all runs together have recorded.
    fn steps(&self) -> Result<usize> {
        let runs: serde_json::Value = serde_json::from_str(&output(&mut self.almoner(ALL_RUNS))?)?;
        let next = |run: &serde_json::Value| run["next_step"].as_u64().unwrap_or(1) as usize - 1;
        Ok(runs.as_array().context("`runs --json` is a list")?.iter().map(next).sum())
    }

    /// Counts the syncs and steps of the runs. The first run is not counted: it creates files that others find.
    fn count(&self, each: &Run, samples: usize, syncs: &Syncs<'_>) -> Result<(usize, usize)> {
        let arguments = [each.arguments, SCRIPTED].concat();
        output(&mut self.almoner(&arguments))?;
        let (before, steps) = (syncs.count(), self.steps()?);
        for _ in 0..samples {
            output(&mut self.almoner(&arguments))?;
        }
        Ok((syncs.count() - before, self.steps()? - steps))
    }

    /// Measures tokens per second and memory of the embedded model, if its weights are here. Nothing is downloaded.
    fn local(&self) -> Result<Row> {
        let what = "local model, decode";
        // The weights of the person's own home are used, and nothing else of it.
        let mut list = self.almoner(MODELS);
        list.env_remove("ALMONER_HOME");
        if let Some(home) = std::env::var_os("ALMONER_HOME") {
            list.env("ALMONER_HOME", home);
        }
        let list: serde_json::Value = serde_json::from_str(&output(&mut list)?)?;
        let here = list["local"].as_array().is_some_and(|all| all.iter().any(|w| w["here"] == true));
        let Some(dir) = list["dir"].as_str().filter(|_| here) else {
            return Ok(Row::without(what, "no weights here: almoner models pull"));
        };
        self.stop()?;
        // The first run loads the weights.
        output(self.almoner(LOCAL).env(WEIGHTS, dir))?;
        let (sample, said) = measure::once(self.almoner(LOCAL).env(WEIGHTS, dir))?;
        let (_, used) = machine::processes_of(&self.home);
        let envelope: serde_json::Value =
            serde_json::from_str(&said).context("`run --json` printed no JSON")?;
        let number = |at: &str| envelope.pointer(at).and_then(serde_json::Value::as_f64);
        let tokens = number(OUTPUT_TOKENS).with_context(|| format!("the envelope has no {OUTPUT_TOKENS}"))?;
        let millis = number(MODEL_MS).with_context(|| format!("the envelope has no {MODEL_MS}"))?;
        Ok(Row {
            figure: format!("{:.1} tokens/s", tokens * 1000.0 / millis.max(1.0)),
            memory: measure::size(used.peak),
            note: format!("{tokens} tokens in {}, a short prompt read", measure::time(sample.wall)),
            ..Row::without(what, "")
        })
    }
}

/// Returns the row, or one that says that the measurement failed: the others are still worth having.
fn row_or_failure(what: &str, row: Result<Row>) -> table::Row {
    row.unwrap_or_else(|fault| Row::failed(what, format!("{fault:#}").replace('\n', " ")))
}
