//! Programs of others that tests talk to.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A file under the directory of test tools. `None`, and the test is over, when no directory is named; a failure when
/// one is named and the file is not in it.
pub(crate) fn tool(path: &str) -> Option<PathBuf> {
    let Some(dir) = std::env::var_os("ALMONER_TEST_TOOLS") else {
        eprintln!("skipped: ALMONER_TEST_TOOLS names no directory with {path}; `cargo xtask test` sets it");
        return None;
    };
    let tool = PathBuf::from(dir).join(path);
    assert!(tool.exists(), "{} is missing: `cargo xtask test` installs it", tool.display());
    Some(tool)
}

/// A running program, ended with the test.
pub(crate) struct Running {
    child: Child,
    pub(crate) port: u16,
}

impl Running {
    /// Starts a server, given the port to listen on, and waits until it listens.
    pub(crate) fn start(command: impl FnOnce(u16) -> Command) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut child =
            command(port).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        // Keeps the pipe empty, and shows what it said when the test fails.
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
