//! Homes that are missing, in the way, or not one's own; sockets with somebody else behind them.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{RunFixture, check, files};
use crate::test_home::{Said, TestHome};
use crate::wire;

fn said(command: &mut Command) -> Said {
    Said::of(command.output().unwrap())
}

#[test]
fn command_without_any_home_is_refused() {
    let home = TestHome::new();
    // Without `HOME`, the system says where the home is. An empty one means that there is none.
    for name in ["HOME", "ALMONER_HOME"] {
        let mut command = home.command(&["runs"]);
        command.env_remove("ALMONER_HOME").env("HOME", "").env(name, "");
        let says = ["neither ALMONER_HOME nor HOME is set"];
        check(&said(&mut command), &["runs"], 1, &says, "set ALMONER_HOME");
    }
    // Help needs no home.
    let mut help = home.command(&["--help"]);
    assert_eq!(said(help.env_remove("ALMONER_HOME").env_remove("HOME")).code, 0);
}

#[test]
fn home_that_is_no_directory_is_refused() {
    let home = TestHome::new();
    home.write("file", "mine");
    let file = home.path("file");
    for place in [file.as_path(), &file.join("below"), Path::new("/dev/null"), Path::new("/proc/none")] {
        let mut command = home.command(&["runs"]);
        let says = [place.to_str().unwrap()];
        check(&said(command.env("ALMONER_HOME", place)), &["runs"], 1, &says, "set ALMONER_HOME");
    }
    assert_eq!(home.read("file"), "mine");
}

#[test]
fn world_readable_home_is_made_private() {
    let desk = RunFixture::new();
    desk.home.almoner(&["stop"]).expect(0);
    for dir in ["state", "run", "state/store"] {
        let dir = desk.home.root().join(dir);
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    desk.home.almoner(&["status"]).expect(0);
    for dir in ["state", "run", "state/store"] {
        let mode = std::fs::metadata(desk.home.root().join(dir)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{dir}");
    }
    let socket = std::fs::metadata(desk.home.root().join("run/control.sock")).unwrap().permissions().mode();
    assert_eq!(socket & 0o777, 0o600);
    desk.nothing_happened();
}

/// A desk of a user for whom permissions hold. They do not for root, so as root another user is put in its place.
pub(super) struct Plain {
    /// A home whose directories belong to that user.
    pub(super) home: TestHome,
    program: PathBuf,
    user: Option<u32>,
}

impl Plain {
    pub(super) fn new() -> Plain {
        let home = TestHome::new();
        let user = rustix::process::geteuid().is_root().then_some(65_534);
        let all = home.root().parent().unwrap().to_owned();
        // The build directory may be closed to that user. Not `fs::copy`: a child that another test forks meanwhile
        // would hold the copy open for writing. A file that is open for writing cannot be run.
        let program = all.join("almoner");
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_almoner")).arg(&program).status().unwrap();
        assert!(copied.success());
        std::fs::create_dir(home.root()).unwrap();
        home.write("hello.worker", super::HELLO);
        home.write("hello.json", super::SAYS_HELLO);
        for path in
            [all.clone(), home.root(), home.work(), home.path("hello.worker"), home.path("hello.json")]
        {
            std::os::unix::fs::chown(path, user, user).unwrap();
        }
        Plain { home, program, user }
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(self.home.work()).env("ALMONER_HOME", self.home.root());
        command.env("OLLAMA_HOST", "127.0.0.1:9").stdin(std::process::Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    pub(super) fn almoner(&self, args: &[&str]) -> Said {
        said(&mut self.command(args))
    }

    pub(super) fn chmod(&self, path: &str, mode: u32) {
        let path = self.home.root().join(path);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let _ = self.command(&["stop"]).output();
    }
}

#[test]
fn unreadable_directory_is_named_in_the_error() {
    let plain = Plain::new();
    plain.almoner(&super::RUN_HELLO).expect(0);
    plain.almoner(&["stop"]).expect(0);

    // No way to the socket.
    plain.chmod("run", 0o000);
    plain.chmod("", 0o500);
    let refused = plain.almoner(&["runs"]);
    check(
        &refused,
        &["runs"],
        3,
        &["run/control.sock", "Permission denied"],
        "the socket must belong to you",
    );
    plain.chmod("", 0o700);
    plain.chmod("run", 0o700);

    // No place for the socket.
    std::fs::remove_dir_all(plain.home.root().join("run")).unwrap();
    plain.chmod("", 0o500);
    let refused = plain.almoner(&["runs"]);
    check(&refused, &["runs"], 1, &["/run", "Permission denied"], "set ALMONER_HOME");
    plain.chmod("", 0o700);

    // The whole home belongs to another user, who lets no other in.
    let mut other = plain.command(&["runs"]);
    let strange = plain.home.path("strange");
    std::fs::create_dir(&strange).unwrap();
    std::fs::set_permissions(&strange, std::fs::Permissions::from_mode(0o000)).unwrap();
    let refused = said(other.env("ALMONER_HOME", strange.join("home")));
    assert!(matches!(refused.code, 1 | 3), "{refused:?}");
    check(&refused, &["runs"], refused.code, &["strange", "Permission denied"], "");

    let runs = plain.almoner(&["runs"]).expect(0).out;
    assert!(runs.contains("r1") && runs.contains("done"), "{runs}");
    plain.almoner(&super::RUN_HELLO).expect(0);
}

/// Answers so many clients with these bytes, regardless of their messages, and returns the last message through the
/// thread.
fn impostor(socket: &Path, clients: usize, answer: Option<Vec<u8>>) -> std::thread::JoinHandle<Value> {
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(socket);
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        let mut hello = Value::Null;
        for _ in 0..clients {
            let (mut stream, _) = listener.accept().unwrap();
            hello = receive(&mut stream);
            match &answer {
                Some(answer) => stream.write_all(answer).unwrap(),
                // Says nothing until the client goes.
                None => drop(stream.read(&mut [0]).unwrap()),
            }
        }
        hello
    })
}

fn receive(stream: &mut UnixStream) -> Value {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut frame = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut frame).unwrap();
    serde_json::from_slice(&frame).unwrap()
}

fn frame(value: &Value) -> Vec<u8> {
    let bytes = value.to_string().into_bytes();
    [&u32::try_from(bytes.len()).unwrap().to_le_bytes()[..], &bytes].concat()
}

#[test]
fn daemon_and_client_of_different_versions_refuse_each_other() {
    // An old client and the daemon of now.
    let desk = RunFixture::new();
    let socket = desk.home.root().join("run/control.sock");
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(&frame(&json!({"version": 0, "build": "0.0.0", "keys": {}}))).unwrap();
    let answer = receive(&mut stream);
    assert_eq!(answer["response"], "failed");
    assert_eq!(answer["body"]["exit"], "conflict");
    assert!(answer["body"]["help"].as_str().unwrap().contains("stop the daemon"), "{answer}");
    let served = json!([crate::wire::VERSION, crate::wire::VERSION - 1]);
    assert_eq!(answer["body"]["problem"], json!({"problem": "version", "version": 0, "served": served}));
    // The connection stays, and takes the hello of a version that the daemon serves.
    stream.write_all(&frame(&wire::hello())).unwrap();
    assert_eq!(receive(&mut stream)["response"], "welcome");

    // A client of now and a later daemon, which says so in the same words.
    let home = TestHome::new();
    let socket = home.root().join("run/control.sock");
    let mut later = answer.clone();
    let (own, later_one) = (crate::wire::VERSION, crate::wire::VERSION + 1);
    let message = format!("the daemon speaks version {later_one}, this client version {own}");
    later["body"]["message"] = json!(message);
    later["body"]["problem"]["served"] = json!([later_one + 1, later_one]);
    // The client greets it again in its turn, in which no other client replaces a daemon.
    let daemon = impostor(&socket, 2, Some(frame(&later)));
    let said = home.almoner(&["runs"]);
    check(&said, &["runs"], 8, &[&format!("speaks version {later_one}")], "stop the daemon (process");
    assert_eq!(daemon.join().unwrap()["version"], own);
    desk.nothing_happened();
}

#[test]
fn impostor_on_the_socket_is_replaced() {
    let desk = RunFixture::new();
    desk.home.almoner(&["stop"]).expect(0);
    let socket = desk.home.root().join("run/control.sock");
    for rubbish in [b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), frame(&json!([1])), vec![255; 64], vec![]] {
        let stranger = impostor(&socket, 1, Some(rubbish));
        assert_eq!(super::runs(&desk.home), desk.runs);
        stranger.join().unwrap();
        desk.home.almoner(&["stop"]).expect(0);
    }
    // A file in place of the socket, and a socket without a listener.
    std::fs::write(&socket, "no socket").unwrap();
    assert_eq!(super::runs(&desk.home), desk.runs);
    desk.nothing_happened();
}

#[test]
fn malformed_client_request_does_no_harm() {
    let desk = RunFixture::new();
    let socket = desk.home.root().join("run/control.sock");
    let hello = frame(&wire::hello());
    let long = [&u32::MAX.to_le_bytes()[..], b"{"].concat();
    for bytes in
        [b"GET / HTTP/1.1\r\n\r\n".to_vec(), long.clone(), [hello.clone(), long].concat(), frame(&json!(7))]
    {
        UnixStream::connect(&socket).unwrap().write_all(&bytes).unwrap();
    }
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(&[hello, frame(&json!({"request": "frobnicate"}))].concat()).unwrap();
    assert_eq!(receive(&mut stream)["response"], "welcome");
    let answer = receive(&mut stream);
    assert_eq!((&answer["response"], &answer["body"]["exit"]), (&json!("failed"), &json!("usage")));
    desk.nothing_happened();
}

#[test]
fn silent_daemon_times_out() {
    let home = TestHome::new();
    let socket = home.root().join("run/control.sock");
    let silent = impostor(&socket, 1, None);
    let before = files(&home.work());
    let said = home.almoner(&["runs"]);
    check(&said, &["runs"], 3, &["the daemon does not answer"], "daemon.log");
    assert_eq!(files(&home.work()), before);
    silent.join().unwrap();
}
