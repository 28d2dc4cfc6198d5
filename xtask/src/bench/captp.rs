//! `cargo xtask bench captp`: calls, mail and values over CapTP.
//!
//! The client here writes the messages as they stand on the wire and counts the answers. So it costs next to nothing,
//! and the figures are the daemon's.

use std::io::{Read as _, Write as _};
use std::ops::Deref;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value as Json, json};

use super::installation::Installation;
use super::table::Row;
use super::{machine, measure};
use crate::process::output;
use crate::workspace::Workspace;

/// How many calls are measured, if they change nothing.
const CALLS: usize = 40_000;

/// How many calls are measured, if each is to be durable.
const WRITES: usize = 4_000;

/// How many clients follow the same directory.
const FOLLOWERS: usize = 100;

/// The rates that a quiet machine should reach: the row, and the least number a second.
const AIMS: [(&str, f64); 1] = [("ping, 64 at once", 20_000.0)];

pub(super) fn rows(workspace: &Workspace, samples: usize) -> Result<Vec<Row>> {
    Bench(Installation::build(workspace, "captp", &[])?).all(samples)
}

/// One measurement.
struct Bench(Installation);

impl Deref for Bench {
    type Target = Installation;

    fn deref(&self) -> &Installation {
        &self.0
    }
}

impl Bench {
    fn client(&self) -> Result<Client> {
        Client::connect(&self.home.join("run/captp0.sock"))
    }

    fn all(&self, samples: usize) -> Result<Vec<Row>> {
        output(&mut self.almoner(&["status"]))?;
        let rate = machine::syncs(&self.home, 200)?;
        let (_, sync, _) = measure::spread(&rate);
        let mut rows = self.rates()?;
        rows.push(self.growth()?);
        rows.push(self.fan_out(samples)?);
        rows.push(Row {
            what: "the machine's sync rate".to_owned(),
            figure: format!("{:.0}/s", 1.0 / sync.as_secs_f64().max(1e-9)),
            note: "append and fdatasync of 4 KiB".to_owned(),
            ..Row::default()
        });
        Ok(rows)
    }

    fn rates(&self) -> Result<Vec<Row>> {
        let mut client = self.client()?;
        let host = client.object("o-1", "host", &json!([]))?;
        let guest = client.object(&host, "provideGuest", &json!(["bench-fae"]))?;
        let mut rows = Vec::new();
        for width in [1, 64] {
            let took = client.many(CALLS, width, |_| ("o-1", json!(["ping", []])))?;
            rows.push(rate_row(&format!("ping, {width} at once"), CALLS, took));
        }
        for width in [1, 16, 64] {
            let store =
                |i: usize| (host.as_str(), json!(["storeValue", ["a text", format!("b{width}-{i}")]]));
            let took = client.many(WRITES, width, store)?;
            rows.push(rate_row(&format!("storeValue, {width} at once"), WRITES, took));
        }
        for width in [1, 16, 64] {
            let send = |_| (guest.as_str(), json!(["send", ["@host", ["a line of text"], [], []]]));
            let took = client.many(WRITES, width, send)?;
            rows.push(rate_row(&format!("send, {width} at once"), WRITES, took));
        }
        Ok(rows)
    }

    /// Measures the daemon's growth between the ten thousandth and the hundred thousandth call of one connection.
    fn growth(&self) -> Result<Row> {
        let mut client = self.client()?;
        let resident = || machine::processes_of(&self.home).1.resident;
        client.many(10_000, 64, |_| ("o-1", json!(["ping", []])))?;
        let before = resident();
        client.many(90_000, 64, |_| ("o-1", json!(["ping", []])))?;
        let grown = resident().saturating_sub(before);
        let row = Row {
            what: "growth over 90,000 calls".to_owned(),
            figure: measure::size(grown),
            note: format!("{:.1} bytes a call", grown as f64 / 90_000.0),
            ..Row::default()
        };
        Ok(row.with_aim(grown < 1 << 20, "1 MiB", ""))
    }

    /// Measures the time until the last of a hundred clients hears of a name.
    fn fan_out(&self, samples: usize) -> Result<Row> {
        let mut writer = self.client()?;
        let host = writer.object("o-1", "host", &json!([]))?;
        writer.ask(&host, "makeDirectory", &json!(["bench-fan"]))?;
        let mut followers = Vec::new();
        for _ in 0..FOLLOWERS {
            let mut client = self.client()?;
            let host = client.object("o-1", "host", &json!([]))?;
            let directory = client.object(&host, "lookup", &json!(["bench-fan"]))?;
            let iterator = client.object(&directory, "followNameChanges", &json!([]))?;
            followers.push((client, iterator));
        }
        let mut times = Vec::new();
        for sample in 0..samples.max(1) {
            for (client, iterator) in &mut followers {
                client.call(iterator, &json!(["next", []]))?;
            }
            let begun = Instant::now();
            writer.ask(&host, "storeValue", &json!([1, ["bench-fan", format!("n{sample}")]]))?;
            for (client, _) in &mut followers {
                client.hear_answers(1)?;
            }
            times.push(begun.elapsed());
        }
        Ok(measure::times(&format!("a name reaches {FOLLOWERS} followers"), &times))
    }
}

/// Returns a rate, with its aim.
fn rate_row(what: &str, count: usize, took: Duration) -> Row {
    let rate = count as f64 / took.as_secs_f64();
    let row = Row { what: what.to_owned(), figure: format!("{rate:.0}/s"), ..Row::default() };
    match AIMS.iter().find(|(of, _)| *of == what) {
        Some((_, least)) => row.with_aim(rate > *least, &format!("{least}/s"), ""),
        None => row,
    }
}

/// One connection: netstrings that hold messages.
struct Client {
    stream: UnixStream,
    questions: u64,
    /// The received bytes that are not read yet.
    bytes: Vec<u8>,
}

impl Client {
    fn connect(socket: &Path) -> Result<Client> {
        let stream =
            UnixStream::connect(socket).with_context(|| format!("cannot reach {}", socket.display()))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut client = Client { stream, questions: 1, bytes: vec![] };
        client.write(&[json!({ "type": "CTP_BOOTSTRAP", "epoch": 0, "questionID": "q-1" })])?;
        client.hear_answers(1)?;
        Ok(client)
    }

    fn write(&mut self, messages: &[Json]) -> Result<()> {
        let framed: String = messages
            .iter()
            .map(|message| message.to_string())
            .map(|text| format!("{}:{text},", text.len()))
            .collect();
        Ok(self.stream.write_all(framed.as_bytes())?)
    }

    fn question(&mut self, target: &str, method: &Json) -> Json {
        self.questions += 1;
        json!({ "type": "CTP_CALL", "epoch": 0, "questionID": format!("q-{}", self.questions), "target": target,
            "method": { "body": method.to_string(), "slots": [] } })
    }

    /// Asks, and does not wait.
    fn call(&mut self, target: &str, method: &Json) -> Result<()> {
        let message = self.question(target, method);
        self.write(&[message])
    }

    /// Asks, waits, and returns the result.
    fn ask(&mut self, target: &str, method: &str, args: &Json) -> Result<Json> {
        self.call(target, &json!([method, args]))?;
        self.hear_answers(1)?.pop().context("one answer")
    }

    /// Asks for an object and returns its name on this side.
    fn object(&mut self, target: &str, method: &str, args: &Json) -> Result<String> {
        let result = self.ask(target, method, args)?;
        let slot = result["slots"][0].as_str().context("the answer is an object")?;
        Ok(slot.replacen('+', "-", 1))
    }

    /// Waits for so many answers, which must be good ones, and returns their results.
    fn hear_answers(&mut self, count: usize) -> Result<Vec<Json>> {
        let mut results = Vec::new();
        while results.len() < count {
            let message: Json = serde_json::from_slice(&self.hear()?)?;
            match message["type"].as_str() {
                Some("CTP_RETURN") if message.get("exception").is_none() => {
                    results.push(message["result"].clone());
                }
                Some("CTP_RESOLVE" | "CTP_DROP") => {}
                _ => bail!("the daemon says {message}"),
            }
        }
        Ok(results)
    }

    /// Returns the next message.
    fn hear(&mut self) -> Result<Vec<u8>> {
        loop {
            if let Some((from, to)) = frame(&self.bytes)? {
                let message = self.bytes.get(from..to).unwrap_or_default().to_vec();
                self.bytes.drain(..=to);
                return Ok(message);
            }
            self.read()?;
        }
    }

    fn read(&mut self) -> Result<()> {
        let mut buffer = [0; 64 << 10];
        let count = self.stream.read(&mut buffer)?;
        if count == 0 {
            bail!("the daemon has ended the connection");
        }
        self.bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
        Ok(())
    }

    /// Makes many calls, so many of them at once, and waits for all answers, which must be good ones.
    fn many<'a>(
        &mut self,
        count: usize,
        width: usize,
        call: impl Fn(usize) -> (&'a str, Json),
    ) -> Result<Duration> {
        // The messages are made before the clock starts.
        let groups: Vec<(usize, String)> = (0..count)
            .step_by(width)
            .map(|from| {
                let some = from..count.min(from + width);
                let group = some.len();
                let framed = some
                    .map(|i| {
                        let (target, method) = call(i);
                        let text = self.question(target, &method).to_string();
                        format!("{}:{text},", text.len())
                    })
                    .collect();
                (group, framed)
            })
            .collect();
        let begun = Instant::now();
        for (group, framed) in groups {
            self.stream.write_all(framed.as_bytes())?;
            let mut at = 0;
            let mut left = group;
            while left > 0 {
                let Some((from, to)) = frame(self.bytes.get(at..).unwrap_or_default())? else {
                    self.bytes.drain(..at);
                    at = 0;
                    self.read()?;
                    continue;
                };
                let message = self.bytes.get(at + from..at + to).unwrap_or_default();
                // Drops come in between.
                if message.starts_with(b"{\"type\":\"CTP_RETURN\"") {
                    left -= 1;
                    if contains(message, b"\"exception\"") {
                        bail!("the daemon says {}", String::from_utf8_lossy(message));
                    }
                }
                at += to + 1;
            }
            self.bytes.drain(..at);
        }
        Ok(begun.elapsed())
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Returns where the first message lies, if all of it and the comma behind it are there.
fn frame(bytes: &[u8]) -> Result<Option<(usize, usize)>> {
    let Some(colon) = bytes.iter().take(12).position(|byte| *byte == b':') else { return Ok(None) };
    let length: usize = std::str::from_utf8(bytes.get(..colon).unwrap_or_default())?.parse()?;
    let to = colon + 1 + length;
    Ok((bytes.len() > to).then_some((colon + 1, to)))
}
