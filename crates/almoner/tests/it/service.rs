//! The daemon as a service: the unit, the service manager, and the protocol of `sd_notify`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::test_home::{Said, TestHome};

/// A `systemctl` that keeps the words of its callers, and the state of one unit in a file.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$@" >> "$STAGE/calls"
case "$2" in
  show-environment) test ! -e "$STAGE/no-bus" || { echo "Failed to connect to bus: No medium found" >&2; exit 1; } ;;
  is-active) cat "$STAGE/active" 2>/dev/null || { echo inactive; exit 3; } ;;
  is-enabled) cat "$STAGE/enabled" 2>/dev/null || { echo disabled; exit 1; } ;;
  enable) echo enabled > "$STAGE/enabled" ;;
  restart) test ! -e "$STAGE/refuses" || { echo "Job failed" >&2; exit 1; }; echo active > "$STAGE/active" ;;
  disable) rm -f "$STAGE/enabled" "$STAGE/active" ;;
esac
"#;

/// A home beside a directory of the user's configuration and a stand-in for `systemctl`.
struct Machine {
    home: TestHome,
}

impl Machine {
    fn new() -> Machine {
        let home = TestHome::new();
        home.write("bin/systemctl", SYSTEMCTL);
        fs::set_permissions(home.path("bin/systemctl"), fs::Permissions::from_mode(0o755)).unwrap();
        Machine { home }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(&[&["service"], args].concat());
        let path = std::env::var("PATH").unwrap();
        command
            .env("XDG_CONFIG_HOME", self.home.path("config"))
            .env("STAGE", self.home.work())
            .env("PATH", format!("{}:{path}", self.home.path("bin").display()));
        command
    }

    fn service(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().unwrap())
    }

    /// Returns the words of all calls of `systemctl` so far, and forgets them.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.home.path("calls")).unwrap_or_default();
        let _ = fs::remove_file(self.home.path("calls"));
        calls.lines().map(str::to_owned).collect()
    }

    fn unit(&self) -> PathBuf {
        let folder = self.home.path("config/systemd/user");
        let mut units = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        units.find(|path| path.extension().is_some_and(|ending| ending == "service")).unwrap()
    }
}

#[test]
fn service_is_installed_shown_and_removed() {
    let machine = Machine::new();
    let printed = machine.service(&["install", "--print"]).expect(0).out;
    assert!(!machine.home.path("config").exists() && machine.calls().is_empty(), "--print writes nothing");
    assert_eq!(machine.service(&["status"]).expect(4).out.lines().count(), 4);
    // A daemon that a command has started gives way.
    machine.home.almoner(&["status"]).expect(0);
    machine.calls();
    machine.service(&["install"]).expect(0);
    let unit = machine.unit();
    assert_eq!(fs::read_to_string(&unit).unwrap(), printed);
    let name = unit.file_name().unwrap().to_str().unwrap().to_owned();
    let home = machine.home.root().display().to_string();
    assert!(printed.contains(&format!("Environment=\"ALMONER_HOME={home}\"")), "{printed}");
    assert!(
        printed.contains(&format!("ExecStart=\"{}\" daemon\n", env!("CARGO_BIN_EXE_almoner"))),
        "{printed}"
    );
    let calls = machine.calls();
    let ends: Vec<&str> = calls.iter().map(|call| call.strip_prefix("--user ").unwrap()).collect();
    let expected = [
        "show-environment",
        &format!("is-active {name}"),
        "daemon-reload",
        &format!("enable {name}"),
        &format!("restart {name}"),
    ];
    assert_eq!(ends, expected);
    assert!(!machine.home.root().join("run/control.sock").exists(), "the other daemon has ended");
    // Once more changes nothing.
    let again = machine.service(&["install"]).expect(0);
    assert!(again.err.contains("is installed already"), "{}", again.err);
    assert!(!machine.calls().iter().any(|call| call.contains("restart")));
    let status = machine.service(&["status", "--json"]).expect(0).json();
    assert_eq!((status["state"].as_str(), status["active"].as_str()), (Some("current"), Some("active")));
    machine.calls();
    machine.service(&["remove"]).expect(0);
    assert!(!unit.exists());
    assert!(machine.calls().contains(&format!("--user disable --now {name}")));
    let again = machine.service(&["remove"]).expect(0);
    assert!(again.err.contains("no service is installed"), "{}", again.err);
    assert!(machine.calls().is_empty());
}

#[test]
fn edited_unit_is_kept_unless_forced() {
    let machine = Machine::new();
    machine.service(&["install"]).expect(0);
    let unit = machine.unit();
    let edited = fs::read_to_string(&unit).unwrap().replace("WatchdogSec=30", "WatchdogSec=90");
    fs::write(&unit, &edited).unwrap();
    for verb in ["install", "remove"] {
        let said = machine.service(&[verb]).expect(8);
        assert!(said.err.contains("somebody has edited it") && said.err.contains("--force"), "{}", said.err);
        assert_eq!(fs::read_to_string(&unit).unwrap(), edited);
    }
    assert_eq!(machine.service(&["status", "--json"]).expect(0).json()["state"], "edited");
    machine.service(&["install", "--force"]).expect(0);
    assert!(!fs::read_to_string(&unit).unwrap().contains("WatchdogSec=90"));
    // A unit of another build is renewed without a question, and its daemon starts again.
    let other = machine.command(&["install"]).env("ALMONER_MODEL", "ollama:qwen3").output().unwrap();
    Said::of(other).expect(0);
    assert_eq!(machine.service(&["status", "--json"]).expect(0).json()["state"], "earlier");
    machine.calls();
    machine.service(&["install"]).expect(0);
    assert!(machine.calls().iter().any(|call| call.contains("restart")));
    fs::write(&unit, &edited).unwrap();
    machine.service(&["remove", "--force"]).expect(0);
    assert!(!unit.exists());
}

#[test]
fn missing_service_manager_is_a_plain_error() {
    let machine = Machine::new();
    machine.home.write("no-bus", "");
    let said = machine.service(&["install"]).expect(1);
    assert!(
        said.err.contains("cannot reach the service manager of this user: Failed to connect to bus"),
        "{}",
        said.err
    );
    assert!(said.err.contains("commands start the daemon by themselves"), "{}", said.err);
    assert!(!machine.home.path("config").exists(), "nothing is written");
    let empty = machine.command(&["install"]).env("PATH", machine.home.path("nothing")).output().unwrap();
    let said = Said::of(empty).expect(1);
    assert!(said.err.contains("this machine has no `systemctl`"), "{}", said.err);
    let status = machine.service(&["status"]).expect(4);
    assert!(status.out.contains("is not installed") && status.err.contains("cannot reach"), "{status:?}");
    // A unit that was installed before can still be removed.
    fs::remove_file(machine.home.path("no-bus")).unwrap();
    machine.service(&["install"]).expect(0);
    machine.home.write("no-bus", "");
    machine.service(&["remove"]).expect(0);
    assert!(!machine.home.path("config/systemd/user").read_dir().unwrap().any(|_| true));
}

#[test]
fn failed_start_of_the_service_is_reported() {
    let machine = Machine::new();
    machine.home.write("refuses", "");
    let said = machine.service(&["install"]).expect(1);
    assert!(said.err.contains("restart") && said.err.contains("Job failed"), "{}", said.err);
    assert!(said.err.contains("journalctl"), "{}", said.err);
}

/// The unit is read by systemd's own parser.
#[test]
fn systemd_accepts_the_unit() {
    let machine = Machine::new();
    let text = machine.service(&["install", "--print"]).expect(0).out;
    let folder = machine.home.path("units");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("almoner-test.service");
    fs::write(&file, &text).unwrap();
    let verify = || {
        let mut command = Command::new("systemd-analyze");
        command.args(["verify", "--user", "--man=no"]).arg(&file).env("XDG_RUNTIME_DIR", &folder);
        let said = command.output();
        let said =
            said.unwrap_or_else(|e| panic!("systemd-analyze: {e}; `apt-get install systemd` brings it"));
        Said::of(said)
    };
    let said = verify();
    assert!(said.code == 0 && said.err.trim().is_empty(), "{}", said.err);
    // Also where the path of the program has characters that mean something to systemd. It looks for the program.
    let program = machine.home.path("a $HOME 50%/almoner");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_almoner"), &program).unwrap();
    let mut command = Command::new(&program);
    command.args(["service", "install", "--print"]).env("XDG_CONFIG_HOME", machine.home.path("config"));
    let strange = Said::of(command.env("ALMONER_HOME", machine.home.root()).output().unwrap()).expect(0).out;
    fs::write(&file, &strange).unwrap();
    let said = verify();
    assert!(said.code == 0 && said.err.trim().is_empty(), "{}", said.err);
    fs::write(&file, strange.replace("50%%", "51%%")).unwrap();
    assert!(verify().err.contains("is not executable"));
    // The parser finds what is wrong.
    fs::write(&file, text.replace("Type=notify", "Type=noted").replace("daemon\n", "daemon\nBogus=1\n"))
        .unwrap();
    let said = verify();
    assert!(said.err.contains("noted") || said.err.contains("Bogus"), "{}", said.err);
}

/// A daemon that was started as systemd starts it.
struct Service {
    daemon: Child,
    socket: UnixDatagram,
}

impl Service {
    /// Starts the daemon with the settings of the unit that systemd applies to the process.
    fn start(home: &TestHome, build: &str) -> Service {
        let path = home.path("notify.sock");
        let _ = fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let plain = home.command(&["daemon"]);
        let mut command = Command::new("setpriv");
        command.arg("--no-new-privs").arg("sh").args(["-c", "umask 0077; exec \"$0\" daemon"]);
        command.arg(env!("CARGO_BIN_EXE_almoner"));
        command.current_dir(home.work());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env("ALMONER_BUILD", build)
            .env("NOTIFY_SOCKET", &path)
            .env("WATCHDOG_USEC", "600000")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Service { daemon: command.spawn().unwrap(), socket }
    }

    fn message(&self) -> String {
        let mut buffer = [0; 4096];
        let count = self.socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..count]).into_owned()
    }

    /// Reads messages until one contains the words.
    fn until(&self, words: &str) {
        while !self.message().contains(words) {}
    }

    fn end(mut self) -> Option<i32> {
        self.daemon.wait().unwrap().code()
    }
}

#[test]
fn daemon_tells_its_service_manager_how_it_is() {
    let home = TestHome::new();
    let service = Service::start(&home, "0.1.0");
    let first = service.message();
    assert!(first.starts_with("READY=1\nSTATUS=serving "), "{first}");
    // The socket is there by then.
    assert!(home.root().join("run/control.sock").exists());
    for _ in 0..2 {
        service.until("WATCHDOG=1");
    }
    home.almoner(&["stop"]).expect(0);
    service.until("STOPPING=1");
    assert_eq!(service.end(), Some(0));
}

/// A service that failed would be started again every other second, for as long as the other daemon lives.
#[test]
fn service_waits_for_the_daemon_that_a_command_started() {
    let home = TestHome::new();
    home.almoner(&["inbox"]).expect(0);
    let service = Service::start(&home, env!("CARGO_PKG_VERSION"));
    let first = service.message();
    assert!(first.starts_with("READY=1\nSTATUS=waits until "), "{first}");
    for _ in 0..2 {
        service.until("WATCHDOG=1");
    }
    home.almoner(&["stop"]).expect(0);
    service.until("STATUS=serving ");
    home.almoner(&["stop"]).expect(0);
    assert_eq!(service.end(), Some(0));
}

/// The service looks at the store again and again, without a command that would complete the restore first.
#[test]
fn waiting_service_completes_a_killed_restore() {
    let home = TestHome::new();
    home.almoner(&["mkdir", "kept"]).expect(0);
    home.almoner(&["backup", "home.tar.gz"]).expect(0);
    for point in ["restore.noted", "restore.moved_aside"] {
        home.almoner(&["mkdir", "later"]).expect(0);
        let service = Service::start(&home, env!("CARGO_PKG_VERSION"));
        service.until("STATUS=waits until ");
        let signal = |signal| {
            rustix::process::kill_process(rustix::process::Pid::from_child(&service.daemon), signal).unwrap();
        };
        signal(rustix::process::Signal::STOP);
        home.almoner(&["stop"]).expect(0);
        let mut restore = home.command(&["restore", "home.tar.gz", "--store", "--yes"]);
        let killed = restore.env("FAILPOINTS", format!("{point}=return")).output().unwrap();
        assert_eq!(Said::of(killed).code, 128 + 9, "{point}");
        signal(rustix::process::Signal::CONT);
        service.until("STATUS=serving ");
        let names = home.almoner(&["list"]).expect(0).out;
        assert!(names.contains("kept") && !names.contains("later"), "{point}: {names}");
        home.almoner(&["stop"]).expect(0);
        assert_eq!(service.end(), Some(0));
    }
}

#[test]
fn waiting_service_ends_at_a_signal() {
    let home = TestHome::new();
    home.almoner(&["inbox"]).expect(0);
    let service = Service::start(&home, env!("CARGO_PKG_VERSION"));
    service.until("STATUS=waits until ");
    let pid = rustix::process::Pid::from_child(&service.daemon);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(service.end(), Some(0));
    home.almoner(&["stop"]).expect(0);
}

/// The settings of the unit do not keep the sandbox from its work.
#[test]
fn service_runs_programs_in_the_sandbox() {
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { run: program }\n---\nDo it.\n");
    home.write(
        "w.json",
        r#"[{"turns": [{"calls": [{"name": "run_run", "arguments": {"argv": ["echo", "from the sandbox"]}}]}, {"text": "done"}]}]"#,
    );
    let service = Service::start(&home, env!("CARGO_PKG_VERSION"));
    service.until("READY=1");
    let args = ["run", "w.worker", "-m", "scripted:w.json", "-e", "run=program:echo", "--allow", "run.run"];
    home.almoner(&args).expect(0);
    assert!(home.trace("r1").to_string().contains("from the sandbox"));
    home.almoner(&["stop"]).expect(0);
    assert_eq!(service.end(), Some(0));
}

/// The service manager starts the daemon again, with the program that lies in its place by then.
#[test]
fn service_of_another_build_is_started_again() {
    for (first, second) in [("0.1.0", "0.2.0"), ("0.2.0", "0.1.0")] {
        let home = TestHome::new();
        let service = Service::start(&home, first);
        service.until("READY=1");
        let client = home.command(&["status", "--json"]).env("ALMONER_BUILD", second).spawn().unwrap();
        service.until("STOPPING=1");
        assert_eq!(service.end(), Some(75), "the code at which the unit restarts the daemon");
        let service = Service::start(&home, second);
        let status = Said::of(client.wait_with_output().unwrap()).expect(0).json();
        assert_eq!(status["build"], second);
        assert_eq!(status["pid"].as_u64(), Some(u64::from(service.daemon.id())));
        // A service whose program was not replaced is asked once, and then left alone.
        let client = home.command(&["status", "--json"]).env("ALMONER_BUILD", "0.3.0").spawn().unwrap();
        assert_eq!(service.end(), Some(75));
        let service = Service::start(&home, second);
        for client in [Some(client), None] {
            let client = client.unwrap_or_else(|| {
                home.command(&["status", "--json"]).env("ALMONER_BUILD", "0.3.0").spawn().unwrap()
            });
            let status = Said::of(client.wait_with_output().unwrap()).expect(0).json();
            assert_eq!(status["build"], second);
        }
        home.almoner(&["stop"]).expect(0);
        assert_eq!(service.end(), Some(0));
    }
}
