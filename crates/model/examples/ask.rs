//! Asks a local model by hand and says how fast it was.
//!
//! `model-ask WEIGHTS [NAME=VALUE]… [REQUEST.json]…`; options go to the host; a request is one line on standard
//! input when no file is given.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a tool for the terminal"
)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use model::local::Client;
use model::{Message, Progress, Provider, Request};

type Anything = Box<dyn std::error::Error>;

/// A moment: prompt tokens read, wall seconds, the host's processor seconds.
#[derive(Clone, Copy, Default)]
struct Mark {
    tokens: u64,
    wall: f64,
    processor: f64,
}

fn main() -> Result<(), Anything> {
    let mut arguments = std::env::args().skip(1);
    let weights = arguments.next().ok_or("no weights given")?;
    let (options, files): (Vec<String>, Vec<String>) = arguments.partition(|argument| argument.contains('='));
    // target/PROFILE/examples/model-ask and target/PROFILE/model-host
    let this = std::env::current_exe()?;
    let host = this.ancestors().nth(2).ok_or("no target directory")?.join("model-host");
    // The host says its number through a file: the client is busy while it works.
    let pid = std::env::temp_dir().join(format!("model-ask.{}", std::process::id()));
    let told = pid.clone();
    let client = Client::new(
        "local",
        weights,
        Arc::new(move |path: &Path| {
            let mut command = Command::new("sh");
            command.args(["-c", "echo $$ > $0; exec \"$@\""]).arg(&told).arg(&host).arg(path).args(&options);
            command
        }),
    );
    let requests: Vec<Request> = if files.is_empty() {
        let mut text = String::new();
        std::io::stdin().read_line(&mut text)?;
        vec![Request {
            messages: vec![Message::user(text.trim())],
            max_tokens: Some(200),
            ..Request::default()
        }]
    } else {
        let read = |path: &String| Ok::<_, Anything>(serde_json::from_str(&std::fs::read_to_string(path)?)?);
        files.iter().map(read).collect::<Result<_, _>>()?
    };
    for request in requests {
        let begun = Instant::now();
        let mark = |tokens| Mark { tokens, wall: begun.elapsed().as_secs_f64(), processor: processor(&pid) };
        let (mut first, mut last) = (None, Mark::default());
        let reply = client.complete(&request, &mut |news| {
            if let Progress::Prompt { done, .. } = news {
                last = mark(done);
                first.get_or_insert(last);
            }
        })?;
        let end = mark(0);
        let first = first.unwrap_or(last);
        println!("{}", serde_json::to_string_pretty(&reply)?);
        println!(
            "first chunk after {:.2} s, {} of {} tokens",
            first.wall, first.tokens, reply.usage.input_tokens
        );
        speed("prompt", last.tokens - first.tokens, first, last);
        speed("decode", reply.usage.output_tokens, last, end);
        if let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", number(&pid))) {
            status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
        }
    }
    Ok(std::fs::remove_file(pid)?)
}

fn speed(what: &str, tokens: u64, from: Mark, to: Mark) {
    let rate = |from: f64, to: f64| tokens as f64 / (to - from).max(1e-9);
    println!(
        "{what}: {tokens} tokens, {:.1}/s, {:.1} per processor second",
        rate(from.wall, to.wall),
        rate(from.processor, to.processor)
    );
}

fn number(pid: &Path) -> String {
    std::fs::read_to_string(pid).unwrap_or_default().trim().to_owned()
}

/// Seconds of processor time that the host has used; the system counts hundredths.
fn processor(pid: &Path) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", number(pid))).unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}
