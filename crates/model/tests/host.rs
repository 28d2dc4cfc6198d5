//! A model host and nothing else: the binary's `model-host` command. Tests start it, and so can a person.
//!
//! `host WEIGHTS [idle=SECONDS] [memory=BYTES] [available=BYTES] [context=TOKENS] [chunk=TOKENS]`

#![allow(clippy::disallowed_methods, reason = "a program owns its arguments and streams")]

use std::time::Duration;

use model::local::{HostOptions, serve};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut options = HostOptions::new(arguments.next().ok_or("no weights given")?);
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or("expected NAME=VALUE")?;
        let value: u64 = value.parse()?;
        match name {
            "idle" => options.idle = Duration::from_secs(value),
            "memory" => options.memory_limit = Some(value),
            "available" => options.available_memory = Some(value),
            "chunk" => options.chunk = usize::try_from(value)?,
            "context" => options.context = usize::try_from(value)?,
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    Ok(serve(&options, std::io::stdin(), std::io::stdout())?)
}
