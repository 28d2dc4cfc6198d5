//! A daemon of Endo's is started, again and again, while its clients are already knocking.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the daemon is started.
const STARTS: usize = 30;

/// How many clients knock at once.
const CLIENTS: usize = 4;

const BOOTSTRAP: &str = r#"{"type":"CTP_BOOTSTRAP","epoch":0,"questionID":"q-1"}"#;
const PING: &str = r#"{"type":"CTP_CALL","epoch":0,"questionID":"q-2","target":"q-1","method":{"body":"[\"ping\",[]]","slots":[]}}"#;
const PONG: &str =
    r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-2","result":{"body":"\"pong\"","slots":[]}}"#;

/// Where Endo's variables say that a daemon is.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { dir: tempfile::Builder::new().prefix("endo-").tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn socket(&self) -> PathBuf {
        self.path("captp0.sock")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_almoner"));
        command
            .args(args)
            .env("HOME", self.dir.path())
            .env("ENDO_STATE_PATH", self.path("state"))
            .env("ENDO_EPHEMERAL_STATE_PATH", self.path("run"))
            .env("ENDO_CACHE_PATH", self.path("cache"))
            .env("ENDO_SOCK_PATH", self.socket())
            .env_remove("ALMONER_HOME")
            .env_remove("ENDO_ADDR")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }
}

/// A daemon that ends with the test.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Knocks until somebody opens, and asks; whether the answers were right.
fn knock(socket: &Path, given_up: &AtomicBool) -> Result<(), String> {
    let begun = Instant::now();
    let mut stream = loop {
        match UnixStream::connect(socket) {
            Ok(stream) => break stream,
            Err(_) if given_up.load(Ordering::SeqCst) || begun.elapsed() > Duration::from_secs(60) => {
                return Err("nobody opens".to_owned());
            }
            // No daemon listens yet, or the socket belonged to a killed daemon.
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
                std::thread::sleep(Duration::from_micros(300));
            }
            Err(e) => return Err(e.to_string()),
        }
    };
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let asked = [BOOTSTRAP, PING].map(|message| format!("{}:{message},", message.len())).concat();
    stream.write_all(asked.as_bytes()).map_err(|e| format!("it takes nothing: {e}"))?;
    let mut said = String::new();
    let mut buffer = [0; 4096];
    while !said.contains(PONG) {
        match stream.read(&mut buffer) {
            Ok(0) => return Err(format!("it hangs up after {said:?}")),
            Ok(count) => said.push_str(&String::from_utf8_lossy(&buffer[..count])),
            Err(e) => return Err(format!("{e} after {said:?}")),
        }
    }
    Ok(())
}

#[test]
fn clients_connecting_during_daemon_start_are_answered() {
    let place = Place::new();
    let mut root = None;
    for start in 0..STARTS {
        let (socket, given_up) = (place.socket(), AtomicBool::new(false));
        let mut daemon = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| knock(&socket, &given_up))).collect();
            let daemon = Daemon(place.command(&["daemon"]).spawn().unwrap());
            for client in clients {
                assert_eq!(client.join().unwrap(), Ok(()), "start {start}");
            }
            daemon
        });
        // The files for other programs exist as soon as the first client is connected.
        let said = std::fs::read_to_string(place.path("state/root")).unwrap();
        assert!(said.ends_with('\n') && said.len() > 64, "{said:?}");
        assert_eq!(root.get_or_insert_with(|| said.clone()), &said);
        let pid = std::fs::read_to_string(place.path("run/endo.pid")).unwrap();
        assert_eq!(pid, format!("{}\n", daemon.0.id()));
        let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // Half of the daemons end in an orderly way and leave nothing behind. The others leave a socket without a
        // listener.
        if start % 2 == 0 {
            ask_to_end(&daemon.0);
            assert_eq!(daemon.0.wait().unwrap().code(), Some(0));
            assert!(!socket.exists() && !place.path("run/endo.pid").exists(), "start {start}");
        } else {
            daemon.0.kill().unwrap();
            daemon.0.wait().unwrap();
            assert!(socket.exists());
        }
    }
}

/// Asks a process to end.
fn ask_to_end(child: &Child) {
    let status = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(status.success());
}

#[test]
fn simultaneous_daemon_starts_leave_one_and_explain_the_other() {
    for _ in 0..5 {
        let place = Place::new();
        let mut both = [0, 1].map(|_| Daemon(place.command(&["daemon"]).spawn().unwrap()));
        knock(&place.socket(), &AtomicBool::new(false)).unwrap();
        // One of them has ended, or does so now.
        let begun = Instant::now();
        let (ended, code) = loop {
            let ended = both.iter_mut().position(|daemon| daemon.0.try_wait().unwrap().is_some());
            if let Some(at) = ended {
                break (at, both[at].0.wait().unwrap().code());
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "both go on");
            std::thread::sleep(Duration::from_millis(2));
        };
        assert_eq!(code, Some(8));
        let mut said = String::new();
        both[ended].0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains("help: "), "{said}");
        // The one that serves was not disturbed: its socket, its root and its number are there.
        knock(&place.socket(), &AtomicBool::new(false)).unwrap();
        let pid = std::fs::read_to_string(place.path("run/endo.pid")).unwrap();
        assert_eq!(pid, format!("{}\n", both[1 - ended].0.id()));
    }
}

#[test]
fn daemon_refuses_the_socket_of_a_running_daemon() {
    let (first, second) = (Place::new(), Place::new());
    let _daemon = Daemon(first.command(&["daemon"]).spawn().unwrap());
    knock(&first.socket(), &AtomicBool::new(false)).unwrap();
    // Another store, the same socket.
    let output = second.command(&["daemon"]).env("ENDO_SOCK_PATH", first.socket()).output().unwrap();
    assert_eq!(output.status.code(), Some(8));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("another daemon listens there") && said.contains("ENDO_SOCK_PATH"), "{said}");
    knock(&first.socket(), &AtomicBool::new(false)).unwrap();
}
