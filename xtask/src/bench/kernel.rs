//! `cargo xtask bench kernel`: mail, names and requests over the control socket, and the cost of a restart.
//!
//! The client here is its own: it sends frames of JSON as `docs/control.md` says. So it measures the daemon with the
//! requests that any program would send to it.

use std::io::{Read as _, Write as _};
use std::ops::Deref;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value as Json, json};

use super::installation::Installation;
use super::table::Row;
use super::{machine, measure};
use crate::process::output;
use crate::workspace::Workspace;

/// The source that says which version of the protocol is spoken. It is read as text: this program builds none of ours.
const PROTOCOL: &str = include_str!("../../../crates/control/src/version.rs");

fn version() -> Result<u32> {
    let mut lines = PROTOCOL.lines();
    let number = lines.find_map(|line| line.strip_prefix("pub const VERSION: u32 = ")?.strip_suffix(';'));
    number.context("cannot find the version of the protocol")?.parse().context("cannot read the version")
}

/// How many operations are measured at each width.
const OPERATIONS: usize = 4000;

/// The number of messages that one guest sends. It is below the quota at which the guest's host is asked.
const MAX_SENT: usize = 900;

/// How many clients send at once.
const WIDTHS: [usize; 3] = [1, 16, 64];

/// The rates that a quiet machine should reach: the row, its width, and the least number a second.
const AIMS: [(&str, usize, f64); 2] = [("storeValue", 64, 10_000.0), ("send, guest to host", 16, 2_000.0)];

/// Stores of these sizes are opened again. The larger one takes minutes to fill: only with samples to spare.
const SIZES: [usize; 2] = [10_000, 1_000_000];

/// From how many samples on the largest store is filled.
const MIN_SAMPLES_FOR_LARGE_STORE: usize = 20;

/// One connection to the daemon.
struct Client(UnixStream);

impl Client {
    fn connect(socket: &Path) -> Result<Client> {
        let stream =
            UnixStream::connect(socket).with_context(|| format!("cannot reach {}", socket.display()))?;
        let mut client = Client(stream);
        let hello = json!({ "version": version()?, "build": env!("CARGO_PKG_VERSION"), "keys": {} });
        client.ask(&hello)?;
        Ok(client)
    }

    fn ask(&mut self, request: &Json) -> Result<Json> {
        let mut answer = Vec::new();
        self.exchange(&frame(request)?, &mut answer)?;
        let answer: Json = serde_json::from_slice(&answer)?;
        if answer["response"] == "failed" {
            bail!("the daemon refused {request}: {}", answer["body"]);
        }
        Ok(answer)
    }

    /// Sends a frame and reads the answer's bytes. They are not read as JSON: the machine's cores are the daemon's while
    /// it is measured.
    fn exchange(&mut self, frame: &[u8], answer: &mut Vec<u8>) -> Result<()> {
        self.0.write_all(frame)?;
        // Length and answer come in one piece as a rule: one system call is enough then.
        let mut start = [0; 512];
        let mut filled = 0;
        while filled < 4 {
            match self.0.read(&mut start[filled..])? {
                0 => bail!("the daemon has hung up"),
                n => filled += n,
            }
        }
        let [a, b, c, d, begun @ ..] = start;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        answer.clear();
        answer.extend_from_slice(&begun[..filled - 4]);
        let begun = answer.len();
        answer.resize(length, 0);
        self.0.read_exact(answer.get_mut(begun..).unwrap_or_default())?;
        Ok(())
    }

    /// Does the same, and checks that the answer is no refusal.
    fn done(&mut self, frame: &[u8], answer: &mut Vec<u8>) -> Result<()> {
        self.exchange(frame, answer)?;
        if answer.starts_with(br#"{"response":"failed""#) {
            bail!("the daemon refused: {}", String::from_utf8_lossy(answer));
        }
        Ok(())
    }
}

/// Returns a request as it is sent.
fn frame(request: &Json) -> Result<Vec<u8>> {
    let bytes = serde_json::to_vec(request)?;
    let length = u32::try_from(bytes.len())?.to_le_bytes();
    Ok([&length[..], &bytes].concat())
}

fn act(agent: Option<&str>, act: Json) -> Json {
    json!({ "request": "act", "agent": agent, "act": act })
}

fn store(name: &str) -> Json {
    let value = json!({ "body": format!("#\"{name}\""), "slots": [] });
    act(None, json!({ "do": "name", "act": { "name": "store_value", "value": value, "path": [name] } }))
}

fn mail(agent: Option<&str>, mail: Json) -> Json {
    act(agent, json!({ "do": "mail", "act": mail }))
}

fn send(agent: &str) -> Json {
    let body = json!({ "mail": "send", "to": ["@host"], "strings": ["a line of text"], "names": [], "paths": [],
        "reply_to": null });
    mail(Some(agent), body)
}

/// One measurement.
struct Bench(Installation);

impl Deref for Bench {
    type Target = Installation;

    fn deref(&self) -> &Installation {
        &self.0
    }
}

pub(super) fn rows(workspace: &Workspace, samples: usize) -> Result<Vec<Row>> {
    Bench(Installation::build(workspace, "kernel", &[])?).all(samples)
}

impl Bench {
    fn client(&self) -> Result<Client> {
        Client::connect(&self.socket())
    }

    fn syncs(&self) -> Result<u64> {
        let status = self.client()?.ask(&json!({ "request": "status" }))?;
        status["body"]["syncs"].as_u64().context("`status` counts syncs")
    }

    fn all(&self, samples: usize) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        output(&mut self.almoner(&["status"]))?;
        let rate = machine::syncs(&self.home, 200)?;
        let (_, sync, _) = measure::spread(&rate);
        let mut client = self.client()?;
        let senders = WIDTHS.iter().flat_map(|width| {
            (0..=OPERATIONS / MAX_SENT).map(move |number| format!("sender-{width}-{number}"))
        });
        for guest in senders.chain(["bob".to_owned()]) {
            let provide = json!({ "kind": "guest", "name": [guest], "agent_name": [format!("agent-{guest}")],
                "introduced": [] });
            client.ask(&act(None, json!({ "do": "provide", "act": provide })))?;
        }
        for width in WIDTHS {
            rows.push(self.rate("storeValue", width, OPERATIONS, |i| store(&format!("v{width}-{i}")))?);
        }
        for width in WIDTHS {
            let sender = |i: usize| send(&format!("agent-sender-{width}-{}", i / MAX_SENT));
            rows.push(self.rate("send, guest to host", width, OPERATIONS, sender)?);
        }
        for width in WIDTHS {
            rows.push(self.requests(width, OPERATIONS / 4)?);
        }
        rows.push(self.thousand()?);
        rows.push(Row {
            what: "the machine's sync rate".to_owned(),
            figure: format!("{:.0}/s", 1.0 / sync.as_secs_f64().max(1e-9)),
            note: "append and fdatasync of 4 KiB".to_owned(),
            ..Row::default()
        });
        let mut filled = 0;
        for size in SIZES {
            if size > 100_000 && samples < MIN_SAMPLES_FOR_LARGE_STORE {
                rows.push(Row::without(&format!("restart with {size} formulas"), "with 20 samples or more"));
                continue;
            }
            self.fill(filled, size)?;
            filled = size;
            rows.push(self.restart(size, samples.min(10))?);
        }
        Ok(rows)
    }

    /// Operations per second with `width` clients at once.
    fn rate(&self, what: &str, width: usize, count: usize, operation: impl Fn(usize) -> Json) -> Result<Row> {
        let frames = (0..count).map(|i| frame(&operation(i))).collect::<Result<Vec<_>>>()?;
        let before = self.syncs()?;
        let next = AtomicUsize::new(0);
        let begun = Instant::now();
        thread::scope(|scope| {
            let workers: Vec<_> = (0..width)
                .map(|_| {
                    scope.spawn(|| -> Result<()> {
                        let (mut client, mut answer) = (self.client()?, Vec::new());
                        while let Some(frame) = frames.get(next.fetch_add(1, Ordering::Relaxed)) {
                            client.done(frame, &mut answer)?;
                        }
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(done) => done,
                Err(_) => bail!("a client broke down"),
            })
        })?;
        let took = begun.elapsed();
        let row = self.rate_row(what, width, count, took, self.syncs()? - before);
        let aim = AIMS.iter().find(|(of, at, _)| *of == what && *at == width);
        Ok(match aim {
            Some((_, _, least)) => {
                let rate = count as f64 / took.as_secs_f64();
                row.with_aim(rate > *least, &format!("{least}/s"), "")
            }
            None => row,
        })
    }

    fn rate_row(&self, what: &str, width: usize, count: usize, took: Duration, syncs: u64) -> Row {
        Row {
            what: format!("{what}, {width} at once"),
            figure: format!("{:.0}/s", count as f64 / took.as_secs_f64()),
            note: format!("{:.2} syncs each", syncs as f64 / count as f64),
            ..Row::default()
        }
    }

    /// Measures requests: a guest asks, and the host answers.
    fn requests(&self, width: usize, count: usize) -> Result<Row> {
        let before = self.syncs()?;
        let begun = Instant::now();
        let next = AtomicUsize::new(0);
        let mut client = self.client()?;
        client.ask(&store("answer"))?;
        // The host's own number of a message is not the guest's: the inbox says it.
        thread::scope(|scope| {
            let workers: Vec<_> = (0..width)
                .map(|_| {
                    scope.spawn(|| -> Result<()> {
                        let mut client = self.client()?;
                        loop {
                            let i = next.fetch_add(1, Ordering::Relaxed);
                            if i >= count {
                                return Ok(());
                            }
                            let ask = json!({ "mail": "request", "to": ["@self"], "description": "a value",
                                "result_name": null });
                            let asked = client.ask(&mail(None, ask))?;
                            let number = asked["body"]["number"].clone();
                            let answer = json!({ "mail": "resolve", "number": number, "path": ["answer"] });
                            client.ask(&mail(None, answer))?;
                        }
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(done) => done,
                Err(_) => bail!("a client broke down"),
            })
        })?;
        Ok(self.rate_row("request and resolve", width, count, begun.elapsed(), self.syncs()? - before))
    }

    /// Measures the listing of an agent's mail with a thousand messages.
    fn thousand(&self) -> Result<Row> {
        let mut client = self.client()?;
        for _ in 0..1000 {
            let body = json!({ "mail": "send", "to": ["@self"], "strings": ["a line"], "names": [], "paths": [],
                "reply_to": null });
            client.ask(&mail(Some("agent-bob"), body))?;
        }
        let list =
            frame(&json!({ "request": "messages", "agent": "agent-bob", "filter": { "list": "mailbox" } }))?;
        let mut answer = Vec::new();
        let times = (0..20)
            .map(|_| {
                let begun = Instant::now();
                client.done(&list, &mut answer)?;
                Ok(begun.elapsed())
            })
            .collect::<Result<Vec<_>>>()?;
        let (_, median, _) = measure::spread(&times);
        let row = measure::times("listing 1,000 messages", &times);
        Ok(row.with_aim(median < Duration::from_millis(8), "8 ms", ""))
    }

    /// Stores values until there are so many.
    fn fill(&self, from: usize, to: usize) -> Result<()> {
        self.rate("fill", 64, to - from, |i| store(&format!("f{}", from + i))).map(drop)
    }

    /// Measures the time from nothing running to the first answer, and the memory then.
    fn restart(&self, size: usize, samples: usize) -> Result<Row> {
        let mut found = Vec::new();
        let mut peak = 0;
        for _ in 0..samples {
            self.stop()?;
            found.push(measure::once(&mut self.almoner(&["status"]))?.0);
            peak = peak.max(machine::processes_of(&self.home).1.peak);
        }
        let row = measure::row(&format!("restart with {size} formulas"), &found);
        let row = Row { memory: measure::size(peak), ..row };
        let times: Vec<Duration> = found.iter().map(|run| run.wall).collect();
        let (_, median, _) = measure::spread(&times);
        Ok(match size {
            10_000 => row.with_aim(median < Duration::from_millis(70), "70 ms", ""),
            _ => row,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn version_of_the_protocol_is_found() {
        assert!(version().unwrap() > 13);
    }
}
