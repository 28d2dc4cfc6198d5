//! Programs of others that tests talk to.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Returns a file under the directory of test tools: `test-tools` in the target directory, unless
/// `ALMONER_TEST_TOOLS` names another. The test fails where it is not there.
pub(crate) fn tool(path: &str) -> PathBuf {
    let beside = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools");
    let tool = std::env::var_os("ALMONER_TEST_TOOLS").map_or_else(beside, PathBuf::from).join(path);
    assert!(tool.exists(), "{} is missing: `cargo xtask tools` installs it", tool.display());
    tool
}

/// Returns a port on which nothing listens. It lies below the ports that the system hands out, so that no test which asks
/// the system for a port gets it meanwhile.
pub(crate) fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(7).wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
    let ports = (0..10_000).map(|step| 20_000 + u16::try_from(first.wrapping_add(step) % 10_000).unwrap());
    ports.into_iter().find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// A running program, ended with the test.
pub(crate) struct Running {
    child: Child,
    pub(crate) port: u16,
}

impl Running {
    /// Starts a server, given the port to listen on, and waits until it listens.
    pub(crate) fn start(command: impl FnOnce(u16) -> Command) -> Self {
        let port = free_port();
        let mut child =
            command(port).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        // Keeps the pipe empty, and shows the output when the test fails.
        std::thread::spawn(move || {
            stderr.lines().map_while(Result::ok).for_each(|line| eprintln!("  {line}"))
        });
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(child.try_wait().unwrap().is_none(), "the server ended");
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, port }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
