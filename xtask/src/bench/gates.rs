//! `cargo xtask bench gates`: the cost of judging a call, and the cost of an effect that is judged.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value as Json;

use super::installation::{Installation, NEEDS_STRACE, Syncs};
use super::table::Row;
use super::{library, machine, measure, table};
use crate::process::output;
use crate::workspace::Workspace;

/// The crates whose benches measure the parts of a verdict.
const PARTS: &[&str] = &["operator"];

/// A worker that writes one file, and one that reads one instead.
const FILES: &[(&str, &str)] = &[
    (
        "writer.worker",
        "---\ndescription: Writes a note.\nslots: { out: dir rw }\n---\nWrite a note, then say ok.\n",
    ),
    (
        "reader.worker",
        "---\ndescription: Reads a note.\nslots: { out: dir }\n---\nRead the note, then say ok.\n",
    ),
    ("in/note.md", "one line\n"),
    ("out/.keep", ""),
    (
        "script.json",
        r#"[
  { "worker": "writer", "turns": [ { "calls": [ { "name": "out_write",
      "arguments": { "path": "note.md", "content": "one line\n" } } ] }, { "text": "ok" } ] },
  { "worker": "reader", "turns": [ { "calls": [ { "name": "out_read", "arguments": { "path": "note.md" } } ] },
                                   { "text": "ok" } ] }
]
"#,
    ),
];

const MODEL: [&str; 2] = ["-m", "scripted:script.json"];
const READS: &[&str] = &["run", "reader.worker", "-e", "out=in"];
const WRITES: &[&str] = &["run", "writer.worker", "-e", "out=out:rw"];
const ALLOWED: [&str; 2] = ["--allow", "out.write"];
const INBOX: &[&str] = &["inbox", "--json"];
const STATUS: &[&str] = &["status", "--json"];
/// The exit code of a run that waits for a person.
const NEEDS_YOU: i32 = 7;

pub(super) fn rows(workspace: &Workspace, samples: usize) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for part in PARTS {
        rows.extend(library::rows(workspace, part, samples)?);
    }
    let bench = Bench(Installation::build(workspace, "gates", FILES)?);
    rows.push(row_or_failure("approve, until it is done", bench.approve(samples)));
    match bench.syncs(samples) {
        Ok(found) => rows.extend(found),
        Err(fault) => rows.push(row_or_failure("syncs per effect", Err(fault))),
    }
    let probe = machine::syncs(&bench.0.home, 200)?;
    rows.push(Row { what: "append and fdatasync, 4 KiB".to_owned(), ..measure::times("", &probe) });
    Ok(rows)
}

/// Returns the row, or one that says that the measurement failed.
fn row_or_failure(what: &str, row: Result<Row>) -> Row {
    row.unwrap_or_else(|fault| table::Row::failed(what, format!("{fault:#}").replace('\n', " ")))
}

struct Bench(Installation);

impl Bench {
    fn almoner(&self, arguments: &[&str]) -> Command {
        self.0.almoner(arguments)
    }

    fn read(&self, arguments: &[&str]) -> Result<Json> {
        Ok(serde_json::from_str(&output(&mut self.almoner(arguments))?)?)
    }

    /// Starts a run that asks; the number of the message in which it does.
    fn asks(&self) -> Result<String> {
        let note = self.0.folder.join("out/note.md");
        if note.exists() {
            fs::remove_file(note)?;
        }
        let ended = self.almoner(&[WRITES, &MODEL].concat()).output()?;
        if ended.status.code() != Some(NEEDS_YOU) {
            bail!("a run that asks ended with {}: {}", ended.status, String::from_utf8_lossy(&ended.stderr));
        }
        let number = self.read(INBOX)?.pointer("/0/number").and_then(Json::as_u64);
        Ok(number.context("`inbox --json` names the message that waits")?.to_string())
    }

    /// Presses, and waits until the file is there and the run has gone on to its end.
    fn press(&self, number: &str) -> Result<Duration> {
        let start = Instant::now();
        output(&mut self.almoner(&["approve", number]))?;
        let note = self.0.folder.join("out/note.md");
        while !note.exists() {
            if start.elapsed() > Duration::from_secs(10) {
                bail!("10 s after an approval nothing was done");
            }
            sleep(Duration::from_micros(200));
        }
        let took = start.elapsed();
        while self.read(STATUS)?["at_work"].as_array().is_none_or(|runs| !runs.is_empty()) {
            sleep(Duration::from_millis(1));
        }
        Ok(took)
    }

    /// Measures the time from a person's approval until the file is there, with the command's own start.
    fn approve(&self, samples: usize) -> Result<Row> {
        let mut took = Vec::new();
        for _ in 0..=samples {
            let number = self.asks()?;
            took.push(self.press(&number)?);
        }
        // The first one warms up.
        Ok(Row {
            what: "approve, until it is done".to_owned(),
            ..measure::times("", took.get(1..).unwrap_or_default())
        })
    }

    /// Measures the syncs of an effect: those of a run that writes, less those of one that reads instead.
    fn syncs(&self, samples: usize) -> Result<Vec<Row>> {
        let each = |count: usize| count as f64 / samples as f64;
        let counted = self.0.traced(|syncs| {
            let reads = self
                .count(syncs, samples, || output(&mut self.almoner(&[READS, &MODEL].concat())).map(drop))?;
            let allowed = self.count(syncs, samples, || {
                output(&mut self.almoner(&[WRITES, &MODEL, &ALLOWED].concat())).map(drop)
            })?;
            let approved = self.count(syncs, samples, || {
                let number = self.asks()?;
                self.press(&number).map(drop)
            })?;
            Ok((each(reads), each(allowed), each(approved)))
        })?;
        let rows = ["syncs per effect, allowed", "syncs per effect, approved"];
        let Some((reads, allowed, approved)) = counted else {
            return Ok(rows.iter().map(|what| Row::without(what, NEEDS_STRACE)).collect());
        };
        let row = |(what, with): (&&str, f64)| Row {
            what: (*what).to_owned(),
            figure: format!("{:.1}", with - reads),
            note: format!(
                "{with:.1} for a run with it, {reads:.1} for one that reads; file and directory included"
            ),
            ..Row::default()
        };
        Ok(rows.iter().zip([allowed, approved]).map(row).collect())
    }

    /// Counts the syncs of so many repetitions. The first one is not counted.
    fn count(&self, syncs: &Syncs<'_>, samples: usize, work: impl Fn() -> Result<()>) -> Result<usize> {
        work()?;
        let before = syncs.count();
        for _ in 0..samples {
            let note = self.0.folder.join("out/note.md");
            if note.exists() {
                fs::remove_file(note)?;
            }
            work()?;
        }
        Ok(syncs.count() - before)
    }
}
