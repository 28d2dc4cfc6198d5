//! Asks a local model by hand and says how fast it was.
//!
//! `model-ask WEIGHTS [NAME=VALUE]… [REQUEST.json]…`; options go to the host; a request is one line on standard input when no file is given.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a tool for the terminal")]

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use model::local::Client;
use model::{Message, Progress, Provider, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let weights = arguments.next().ok_or("no weights given")?;
    let (options, files): (Vec<String>, Vec<String>) = arguments.partition(|a| a.contains('='));
    // target/PROFILE/examples/model-ask and target/PROFILE/model-host
    let this = std::env::current_exe()?;
    let host = this.ancestors().nth(2).ok_or("no target directory")?.join("model-host");
    let client = Client::new(
        "local",
        weights,
        Arc::new(move |path: &std::path::Path| {
            let mut command = Command::new(&host);
            command.arg(path).args(&options);
            command
        }),
    );
    let requests: Vec<Request> = if files.is_empty() {
        let mut text = String::new();
        std::io::stdin().read_line(&mut text)?;
        vec![Request { messages: vec![Message::user(text.trim())], max_tokens: 200, ..Request::default() }]
    } else {
        files
            .iter()
            .map(|path| Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?))
            .collect::<Result<_, Box<dyn std::error::Error>>>()?
    };
    for request in requests {
        let begun = Instant::now();
        // When the prompt's reading began, what was read by then, when it ended.
        let (mut first, mut last) = (None, (begun, 0));
        let reply = client.complete(&request, &mut |news| {
            if let Progress::Prompt { done, .. } = news {
                last = (Instant::now(), done);
                first.get_or_insert(last);
            }
        })?;
        let end = Instant::now();
        let (first, first_done) = first.unwrap_or(last);
        let rate = |tokens: u64, seconds: f64| tokens as f64 / seconds.max(1e-9);
        println!("{}", serde_json::to_string_pretty(&reply)?);
        println!(
            "first chunk after {:.2} s; prompt {} tokens, {:.1} tokens/s; decode {} tokens, {:.1} tokens/s",
            (first - begun).as_secs_f64(),
            reply.usage.input_tokens,
            rate(last.1 - first_done, (last.0 - first).as_secs_f64()),
            reply.usage.output_tokens,
            rate(reply.usage.output_tokens, (end - last.0).as_secs_f64()),
        );
        if let Some(id) = client.process_id() {
            let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
            for line in status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("VmData"))
            {
                println!("{line}");
            }
        }
    }
    Ok(())
}
