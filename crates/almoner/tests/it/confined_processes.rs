//! The processes that read what strangers have made confine themselves before they read a byte of it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_almoner");

/// Starts each process as the daemon does, and says nothing to it. A process that confined itself only after its first
/// byte would never do so here.
#[test]
fn processes_confine_themselves_before_they_read_anything() {
    let dir = tempfile::tempdir().unwrap();
    // The opening of a pipe without a writer waits, so that nothing is read of the weights either.
    let weights = dir.path().join("tiny.gguf");
    rustix::fs::mkfifoat(rustix::fs::CWD, &weights, rustix::fs::Mode::RWXU).unwrap();
    let weights = weights.to_str().unwrap();
    for args in [
        &["vat-host"][..],
        &["code-reader"],
        &["document-reader", "30", "1073741824"],
        &["model-host", weights],
    ] {
        let mut command = Command::new(BINARY);
        command.args(args).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let begun = Instant::now();
        let is_confined = loop {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            if ["NoNewPrivs:\t1", "Seccomp:\t2"].iter().all(|field| status.contains(field)) {
                break true;
            }
            if child.try_wait().unwrap().is_some() || begun.elapsed() > Duration::from_secs(30) {
                break false;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_confined, "{args:?}");
    }
}
