//! `cargo xtask bench workers`: what calls of workers and tools cost, beside the same calls in pydantic-ai.
//!
//! Ours are judged, written down and synced; those of pydantic-ai (`crates/almoner/benches/peer.py`, with its function
//! model) happen in memory. Both are started as whole processes in the same run of this command.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value as Json, json};

use super::installation::{Installation, NEEDS_STRACE};
use super::machine;
use super::measure::{self, Sample};
use super::table::Row;
use crate::process::{output, run};
use crate::workspace::Workspace;

/// The peer, pinned: what it is compared with should not change by itself.
const PEER: &str = "pydantic-ai-slim==2.68.0";

/// How many calls a run makes, one a turn.
const CALLS: usize = 50;

/// How many runs are suspended for each sample.
const SUSPENDED: usize = 500;

/// How many times as fast a call of a worker, and a start, should be.
const AIMS: [(&str, f64); 2] = [("child call", 20.0), ("start", 50.0)];

const FREE: &str = "limits: { turns: 1000, tokens: 100M, wall: 1d }";

pub(super) fn rows(workspace: &Workspace, samples: usize) -> Result<Vec<Row>> {
    let python = peer(workspace)?;
    let script = workspace.root.join("crates/almoner/benches/peer.py");
    let files = files();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Bench { ours: Installation::build(workspace, "workers", &files)?, python, script }.all(samples)
}

/// A Python that has the peer.
fn peer(workspace: &Workspace) -> Result<PathBuf> {
    let venv = workspace.target.join("bench-peer");
    let python = venv.join("bin/python");
    if !python.exists() {
        anyhow::ensure!(
            run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?,
            "no virtual environment: apt-get install python3-venv"
        );
    }
    let pip = [&"-m", &"pip", &"install", &"--quiet", &"--disable-pip-version-check", &PEER];
    anyhow::ensure!(run(Command::new(&python).args(pip))?, "`pip install {PEER}` failed");
    Ok(python)
}

fn files() -> Vec<(String, String)> {
    let worker = |slots: &str| format!("---\nslots: {slots}\n{FREE}\n---\nCall it.\n");
    let turns = |name: &str, arguments: &dyn Fn(usize) -> Json| -> Json {
        let calls = (0..CALLS).map(|n| json!({ "calls": [{ "name": name, "arguments": arguments(n) }] }));
        calls.chain([json!({ "text": "ok" })]).collect()
    };
    let kilobyte = "x".repeat(1024);
    let write = |n: usize| json!({ "path": format!("f{}.txt", n % 8), "content": kilobyte });
    let script = json!([
        { "worker": "tools", "turns": turns("in_read", &|_| json!({ "path": "a.txt" })) },
        { "worker": "children", "turns": turns("child", &|_| json!({})) },
        { "worker": "files", "turns": turns("out_write", &write) },
        { "worker": "child", "turns": [{ "text": "ok" }] },
        { "worker": "empty", "turns": [{ "text": "ok" }] },
        { "worker": "asker", "turns": [{ "calls": [{ "name": "me_ask", "arguments": { "question": "?" } }] }, { "text": "ok" }] },
    ]);
    [
        ("empty.worker", worker("{}")),
        ("tools.worker", worker("{ in: dir }")),
        ("files.worker", worker("{ out: dir rw }")),
        ("children.worker", worker("{ child: worker }")),
        ("child.worker", "---\n---\nSay ok.\n".to_owned()),
        ("asker.worker", worker("{ me: ask }")),
        ("in/a.txt", kilobyte.clone()),
        ("script.json", script.to_string()),
    ]
    .into_iter()
    .map(|(path, text)| (path.to_owned(), text))
    .collect()
}

const SCRIPTED: [&str; 2] = ["-m", "scripted:script.json"];

/// One measurement.
struct Bench {
    ours: Installation,
    python: PathBuf,
    script: PathBuf,
}

impl Deref for Bench {
    type Target = Installation;

    fn deref(&self) -> &Installation {
        &self.ours
    }
}

impl Bench {
    fn all(&self, samples: usize) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let few = samples.div_ceil(4);
        self.start(samples, few, &mut rows)?;
        let empty = self.median(&["run", "empty.worker"], samples)?;
        for (what, arguments, theirs) in [
            ("tool call (1 kB read)", &["run", "tools.worker", "-e", "in=in"][..], "tools"),
            ("child call", &["run", "children.worker", "-e", "child=child.worker"], "children"),
            (
                "tool call (1 kB written)",
                &["run", "files.worker", "-e", "out=out:rw", "--allow", "out.write"],
                "files",
            ),
        ] {
            let ours = each(self.median(arguments, few)?.saturating_sub(empty));
            let theirs = each(self.calls(theirs, few)?);
            rows.push(Row {
                what: what.to_owned(),
                figure: measure::time(ours),
                note: format!("{:.0}/s, in turns of one call; durable", 1.0 / ours.as_secs_f64().max(1e-9)),
                ..Row::default()
            });
            rows.push(ratio(what, ours, theirs));
        }
        rows.push(self.syncs()?);
        rows.extend(self.suspended(samples)?);
        Ok(rows)
    }

    /// From nothing to the first word, and to the end of a run that does nothing.
    fn start(&self, samples: usize, few: usize, rows: &mut Vec<Row>) -> Result<()> {
        let help = self.repeat(&mut || self.almoner(&["--help"]), samples)?;
        let begin =
            self.repeat(&mut || self.almoner(&[&["run", "empty.worker"][..], &SCRIPTED].concat()), samples)?;
        let theirs = self.repeat(&mut || self.theirs(&["empty"]), few)?;
        let wall = |found: &[Sample]| {
            let all: Vec<Duration> = found.iter().map(|sample| sample.wall).collect();
            measure::spread(&all).1
        };
        rows.push(measure::row("almoner --help", &help));
        rows.push(measure::row("start, run, end", &begin));
        rows.push(measure::row("the same in pydantic-ai", &theirs));
        rows.push(ratio("start", wall(&begin), wall(&theirs)));
        Ok(())
    }

    fn repeat(&self, command: &mut dyn FnMut() -> Command, samples: usize) -> Result<Vec<Sample>> {
        measure::once(&mut command())?;
        (0..samples).map(|_| Ok(measure::once(&mut command())?.0)).collect()
    }

    fn median(&self, arguments: &[&str], samples: usize) -> Result<Duration> {
        let arguments = [arguments, &SCRIPTED].concat();
        let found = self.repeat(&mut || self.almoner(&arguments), samples)?;
        Ok(measure::spread(&found.iter().map(|sample| sample.wall).collect::<Vec<_>>()).1)
    }

    fn theirs(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(&self.script).args(arguments).current_dir(self.folder.join("in"));
        command
    }

    /// How long the peer takes for its calls, as it says itself: its start is not in it.
    fn calls(&self, what: &str, samples: usize) -> Result<Duration> {
        let folder = self.folder.join("theirs");
        fs::create_dir_all(&folder)?;
        let (count, folder) = (CALLS.to_string(), folder.display().to_string());
        let mut all = Vec::new();
        for _ in 0..samples.max(1) {
            let said: Json = serde_json::from_str(&output(&mut self.theirs(&[what, &count, &folder]))?)?;
            let seconds = said["seconds"].as_f64().context("the peer says how long it took")?;
            all.push(Duration::from_secs_f64(seconds));
        }
        Ok(measure::spread(&all).1)
    }

    /// Syncs of the daemon for each journal step of a run with many calls.
    fn syncs(&self) -> Result<Row> {
        const WHAT: &str = "syncs per step, tool calls";
        let arguments = [&["run", "tools.worker", "-e", "in=in"][..], &SCRIPTED].concat();
        let counted = self.traced(|syncs| {
            output(&mut self.almoner(&arguments))?;
            let before = syncs.count();
            output(&mut self.almoner(&arguments))?;
            let runs: Json =
                serde_json::from_str(&output(&mut self.almoner(&["runs", "-n", "1", "--json"]))?)?;
            Ok((syncs.count() - before, runs[0]["next_step"].as_u64().unwrap_or(2) - 1))
        })?;
        Ok(match counted {
            None => Row::without(WHAT, NEEDS_STRACE),
            Some((syncs, steps)) => Row {
                figure: format!("{:.2}", syncs as f64 / steps as f64),
                note: format!("{syncs} syncs for {steps} steps"),
                ..Row::without(WHAT, "")
            },
        })
    }

    /// What a daemon holds that has come up over runs which wait for a person.
    fn suspended(&self, samples: usize) -> Result<Vec<Row>> {
        let count = samples * SUSPENDED;
        let held = || -> Result<u64> {
            self.stop()?;
            output(&mut self.almoner(&["status"]))?;
            // What the first look at the store takes is given back by then.
            output(&mut self.almoner(&["status"]))?;
            Ok(machine::processes_of(&self.home).1.resident)
        };
        let (before, size) = (held()?, tree(&self.home)?);
        let arguments = [&["run", "asker.worker", "--detach"][..], &SCRIPTED].concat();
        let (next, failed, start) = (AtomicUsize::new(0), AtomicUsize::new(0), Instant::now());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while next.fetch_add(1, Ordering::SeqCst) < count {
                        let ended = output(&mut self.almoner(&arguments));
                        failed.fetch_add(usize::from(ended.is_err()), Ordering::SeqCst);
                    }
                });
            }
        });
        let took = start.elapsed();
        anyhow::ensure!(failed.load(Ordering::SeqCst) == 0, "some runs were not started");
        self.idle()?;
        let (after, grown) = (held()?, tree(&self.home)?);
        let more = after.saturating_sub(before);
        Ok(vec![Row {
            what: format!("daemon over {count} suspended runs"),
            figure: measure::size(after),
            memory: measure::size(after),
            note: format!(
                "{} with none; {} bytes of memory and {} of disk each; begun in {:.0} s",
                measure::size(before),
                more / count as u64,
                measure::size((grown.saturating_sub(size)) / count as u64),
                took.as_secs_f64()
            ),
            // Some bytes for each are what an index of them takes; a run at work takes a thousand times that.
            failed: more / count as u64 > 1024,
            ..Row::default()
        }])
    }

    /// Waits until no run is at work.
    fn idle(&self) -> Result<()> {
        loop {
            let status: Json = serde_json::from_str(&output(&mut self.almoner(&["status", "--json"]))?)?;
            if status["at_work"].as_array().is_none_or(Vec::is_empty) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn each(all: Duration) -> Duration {
    all / u32::try_from(CALLS).unwrap_or(1)
}

/// How many times as fast as the peer.
fn ratio(what: &str, ours: Duration, theirs: Duration) -> Row {
    let times = theirs.as_secs_f64() / ours.as_secs_f64().max(1e-9);
    let aim = AIMS.iter().find(|(known, _)| *known == what).map(|(_, aim)| *aim);
    let note = match aim {
        Some(aim) if times < aim => format!("aim {aim}x: MISSED"),
        Some(aim) => format!("aim {aim}x: reached"),
        None => String::new(),
    };
    Row {
        what: format!("{what}: beside pydantic-ai"),
        figure: format!("{times:.1}x"),
        note: format!(
            "pydantic-ai {}{}{note}",
            measure::time(theirs),
            if note.is_empty() { "" } else { "; " }
        ),
        ..Row::default()
    }
}

/// Bytes of all files below.
fn tree(place: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(place)? {
        let meta = entry.as_ref().map(fs::DirEntry::metadata);
        // What goes while it is looked at is not there.
        let (Ok(entry), Ok(Ok(meta))) = (&entry, meta) else { continue };
        sum += if meta.is_dir() { tree(&entry.path()).unwrap_or_default() } else { meta.len() };
    }
    Ok(sum)
}
