//! Tests of the process that holds a local model: it works although it is confined. `doctor` proves its restrictions,
//! and a test in `programs` checks these proofs.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use model::local::Client;
use model::{Message, ModelError, Provider, Request};

use crate::tiny;

const BINARY: &str = env!("CARGO_BIN_EXE_almoner");
/// How many threads the host is told to have.
const THREADS: usize = 3;

fn client(weights: &Path) -> Client {
    let launch = move |path: &Path| {
        let mut command = Command::new(BINARY);
        command.arg("model-host").arg(path).env("RAYON_NUM_THREADS", THREADS.to_string());
        command
    };
    Client::new("local", weights, Arc::new(launch))
}

fn ask(client: &Client) -> Result<String, ModelError> {
    let messages = vec![Message::user("Tell me something.")];
    let request = Request { messages, max_tokens: Some(20), ..Request::default() };
    client.complete(&request, &mut |_| {}).map(|reply| reply.text)
}

/// Returns a field of `/proc/PID/status`.
fn status(process: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().trim().to_owned()
}

#[test]
fn confined_model_host_answers_with_all_its_threads() {
    let dir = tempfile::tempdir().unwrap();
    let weights = dir.path().join("tiny.gguf");
    tiny::write(&weights, false);
    // Behind a link, as caches have them.
    let link = dir.path().join("link.gguf");
    std::os::unix::fs::symlink(&weights, &link).unwrap();
    let client = client(&link);
    let first = ask(&client).unwrap();
    assert!(!first.is_empty());
    let host = client.process_id().unwrap();
    assert!(status(host, "Threads").parse::<usize>().unwrap() > THREADS);
    for (field, confined) in [("NoNewPrivs", "1"), ("Seccomp", "2"), ("CapEff", "0000000000000000")] {
        assert_eq!(status(host, field), confined, "{field}");
    }
    // The control: the process of this test is not confined in this way.
    assert_ne!(status(std::process::id(), "Seccomp_filters"), status(host, "Seccomp_filters"));
    assert_eq!(ask(&client).unwrap(), first);
}

#[test]
fn repaired_weights_are_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let weights = dir.path().join("tiny.gguf");
    let client = client(&weights);
    assert!(matches!(ask(&client), Err(ModelError::WeightsMissing { .. })));
    std::fs::write(&weights, [b'x'; 4096]).unwrap();
    assert!(matches!(ask(&client), Err(ModelError::WeightsCorrupt { .. })));
    // Another file takes the name, as the download of weights does it.
    let whole = dir.path().join("whole.gguf");
    tiny::write(&whole, false);
    std::fs::rename(&whole, &weights).unwrap();
    assert!(!ask(&client).unwrap().is_empty());
}
