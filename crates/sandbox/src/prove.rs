//! Proofs that this system enforces the promised restrictions. A confined process attempts each forbidden action. As
//! a control, an unconfined process attempts it too.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::parent::{Helper, SandboxError, run};
use crate::spec::{Confinement, End, Limits, Spec, places_of_the_system};

/// The result of the proof of one restriction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// A short name, such as `read`.
    pub name: &'static str,
    /// The action that a confined process must not be able to do, in words.
    pub action: &'static str,
    /// The outcome of the proof.
    pub outcome: ProofOutcome,
}

/// The outcome of the proof of one restriction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProofOutcome {
    /// The confined process failed at the action, and the unconfined one succeeded. Holds the error of the confined
    /// process.
    Enforced(String),
    /// The confined process succeeded at the action.
    Violated(String),
    /// The unconfined process failed at the action too, so nothing is proved. Holds its error.
    Inconclusive(String),
}

/// An action that a process attempts.
struct Trial {
    name: &'static str,
    action: &'static str,
    attempt: Vec<String>,
    limits: Limits,
}

/// Checks that this crate can confine anything on this system.
fn expect_supported() -> Result<(), SandboxError> {
    if cfg!(target_os = "linux") { Ok(()) } else { Err(SandboxError::Unsupported) }
}

/// Proves each restriction on this kernel. The files for the attempts are made in `place`, which must be an empty
/// directory.
///
/// # Errors
/// When nothing can be confined at all, or the place cannot be used.
pub fn prove(helper: &Helper, place: &Path) -> Result<Vec<Proof>, SandboxError> {
    expect_supported()?;
    let failed = |e: io::Error| SandboxError::Warden(e.to_string());
    let stage = Stage::new(place).map_err(failed)?;
    let binary = fs::canonicalize(helper.program()).map_err(failed)?;
    let spec = |attempt: &[String], limits: Limits| {
        let mut argv = vec!["almoner".to_owned(), "sandbox".to_owned(), "try".to_owned()];
        argv.extend_from_slice(attempt);
        Spec {
            program: binary.clone(),
            digest: None,
            interpreters: Default::default(),
            argv,
            directory: stage.inside.clone().into(),
            environment: BTreeMap::new(),
            within: Confinement {
                readable: places_of_the_system(false),
                writable: vec![stage.inside.clone().into()],
                executable: vec![],
                network: false,
                pretends: true,
                limits,
            },
        }
    };
    // A permitted action must work. If nothing worked, every failure would look like a proof.
    let sound =
        run(helper, &spec(&["write".into(), format!("{}/sound", stage.inside)], Limits::default()), b"")?;
    if sound.end != (End::Exited { status: 0 }) {
        let words = String::from_utf8_lossy(&sound.stderr.bytes).into_owned();
        return Err(SandboxError::Refused(format!("a harmless program {} {words}", sound.end.description())));
    }
    let trials = stage.trials();
    trials
        .into_iter()
        .map(|trial| {
            // Each process finds unchanged files, whatever the process before it did to them.
            stage.set().map_err(failed)?;
            let standing = match control(&binary, &trial.attempt) {
                Err(why) => ProofOutcome::Inconclusive(why),
                Ok(()) => {
                    stage.set().map_err(failed)?;
                    let report = run(helper, &spec(&trial.attempt, trial.limits), b"")?;
                    let said = first_line(&report.stderr.bytes);
                    match report.end {
                        End::Exited { status: 0 } => ProofOutcome::Violated("it happened".to_owned()),
                        End::Exited { .. } => ProofOutcome::Enforced(said),
                        end => ProofOutcome::Enforced(end.description()),
                    }
                }
            };
            Ok(Proof { name: trial.name, action: trial.action, outcome: standing })
        })
        .collect()
}

/// Checks that this system can confine a program at all, with one program that does nothing. It takes a few
/// milliseconds, where [`prove`] takes seconds.
///
/// # Errors
/// When a restriction cannot be enforced.
pub fn check(helper: &Helper) -> Result<(), SandboxError> {
    expect_supported()?;
    let binary =
        fs::canonicalize(helper.program()).map_err(|error| SandboxError::Warden(error.to_string()))?;
    let mut readable = places_of_the_system(false);
    readable.push(binary.clone());
    let argv = ["almoner", "sandbox", "try", "thread"].map(str::to_owned);
    let spec = Spec {
        program: binary,
        digest: None,
        interpreters: Default::default(),
        argv: argv.into(),
        directory: "/".into(),
        environment: BTreeMap::new(),
        within: Confinement {
            readable,
            writable: vec![],
            executable: vec![],
            network: false,
            pretends: true,
            limits: Limits::default(),
        },
    };
    let report = run(helper, &spec, b"")?;
    match report.end {
        End::Exited { status: 0 } => Ok(()),
        end => {
            let words = first_line(&report.stderr.bytes);
            Err(SandboxError::Refused(format!("a harmless program {} {words}", end.description())))
        }
    }
}

/// Proves the restrictions of the host of a local model, which confines itself. The method is that of [`prove`]. The
/// program is started as `sandbox host WEIGHTS NAME ARGUMENT…`. It must confine itself as a host does, with these
/// weights, and then make the attempt.
///
/// # Errors
/// When a host cannot confine itself at all, or cannot work in its confinement. When the place cannot be used.
pub fn prove_host(helper: &Helper, place: &Path) -> Result<Vec<Proof>, SandboxError> {
    expect_supported()?;
    let stage = Stage::new(place).map_err(|e| SandboxError::Warden(e.to_string()))?;
    let weights = format!("{}/weights", stage.inside);
    let needs = [vec!["read".to_owned(), weights.clone()], vec!["thread".to_owned()]];
    let start = ["sandbox", "host", &weights];
    prove_own(helper, &stage, &start, &needs, stage.trials_of_host("reads another file than its weights"))
}

/// Proves the restrictions of the process that reads a document, which confines itself. The method is that of
/// [`prove`]. The program is started as `sandbox document NAME ARGUMENT…`. It must confine itself as that process does,
/// and then make the attempt.
///
/// # Errors
/// When the process cannot confine itself at all, or cannot work in its confinement. When the place cannot be used.
pub fn prove_reader(helper: &Helper, place: &Path) -> Result<Vec<Proof>, SandboxError> {
    expect_supported()?;
    let stage = Stage::new(place).map_err(|e| SandboxError::Warden(e.to_string()))?;
    let mut trials = stage.trials_of_host("reads a file");
    trials.retain(|trial| trial.name != "write-weights");
    prove_own(helper, &stage, &["sandbox", "document"], &[vec!["thread".to_owned()]], trials)
}

/// Proves the restrictions of a process of our own, which is started with the arguments `start` and confines itself.
/// The actions that it `needs` must work.
fn prove_own(
    helper: &Helper,
    stage: &Stage,
    start: &[&str],
    needs: &[Vec<String>],
    trials: Vec<Trial>,
) -> Result<Vec<Proof>, SandboxError> {
    let failed = |e: io::Error| SandboxError::Warden(e.to_string());
    let binary = fs::canonicalize(helper.program()).map_err(failed)?;
    let weights = format!("{}/weights", stage.inside);
    let set = || stage.set().and_then(|()| fs::write(&weights, "weights")).map_err(failed);
    let confined = |attempt: &[String]| -> Result<(), String> {
        let output = Command::new(&binary)
            .args(start)
            .args(attempt)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .output()
            .map_err(|e| e.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false if output.status.code().is_none() => Err(output.status.to_string()),
            false => Err(first_line(&output.stderr)),
        }
    };
    // If nothing worked, every failure would look like a proof.
    for action in needs {
        set()?;
        confined(action).map_err(SandboxError::Refused)?;
    }
    let trials = trials.into_iter().map(|trial| {
        set()?;
        let standing = match control(&binary, &trial.attempt) {
            Err(why) => ProofOutcome::Inconclusive(why),
            Ok(()) => {
                set()?;
                match confined(&trial.attempt) {
                    Ok(()) => ProofOutcome::Violated("it happened".to_owned()),
                    Err(why) => ProofOutcome::Enforced(why),
                }
            }
        };
        Ok(Proof { name: trial.name, action: trial.action, outcome: standing })
    });
    trials.collect()
}

/// Makes the same attempt in an unconfined process, as a control.
fn control(binary: &Path, attempt: &[String]) -> Result<(), String> {
    let output = Command::new(binary)
        .args(["sandbox", "try"])
        .args(attempt)
        .env("ALMONER_TRIAL", "1")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(first_line(&output.stderr)),
    }
}

/// Returns the first line of a process's error message, which has no advice for people.
fn first_line(words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    let line = words.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").trim().to_owned()
}

/// The files and sockets on which attempts are made.
struct Stage {
    inside: String,
    outside: String,
    address: String,
    abstract_name: String,
    /// The sockets on which attempts are made, kept open until the last attempt.
    listeners: (TcpListener, UnixListener, Option<UnixListener>),
}

impl Stage {
    fn new(place: &Path) -> io::Result<Stage> {
        let place = fs::canonicalize(place)?;
        let text = |path: &Path| path.to_str().map(str::to_owned).ok_or(io::ErrorKind::InvalidFilename);
        let (inside, outside) = (place.join("inside"), place.join("outside"));
        fs::create_dir(&inside)?;
        fs::create_dir(&outside)?;
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let unix = UnixListener::bind(outside.join("socket"))?;
        let abstract_name = format!("almoner-trial-{}", std::process::id());
        Ok(Stage {
            inside: text(&inside)?,
            outside: text(&outside)?,
            address: tcp.local_addr()?.to_string(),
            listeners: (tcp, unix, listen_abstract(&abstract_name)),
            abstract_name,
        })
    }

    /// Restores the files to their state before the first attempt.
    fn set(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.inside)?;
        fs::create_dir(&self.inside)?;
        for name in ["secret", "kept", "linked"] {
            let path = Path::new(&self.outside).join(name);
            fs::write(&path, "secret")?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        }
        match fs::remove_file(Path::new(&self.outside).join("new")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn trials(&self) -> Vec<Trial> {
        let me = std::process::id();
        let usual = Limits::default();
        let trial = |name, what, attempt: String, limits| Trial {
            name,
            action: what,
            attempt: attempt.split(' ').map(str::to_owned).collect(),
            limits,
        };
        // The paths are put in afterwards, because they may contain spaces.
        let mut all = vec![
            trial("read", "reads a file that it was not given", "read OUT/secret".into(), usual),
            trial("list", "lists a directory that it was not given", "list OUT".into(), usual),
            trial("write", "writes beside its directory", "write OUT/new".into(), usual),
            trial("cut", "cuts a file to nothing that it was not given", "cut OUT/kept".into(), usual),
            trial("mode", "changes the mode of a file that it was not given", "mode OUT/kept".into(), usual),
            trial("flags", "sets the flags of a file", "flags IN/flags".into(), usual),
            trial(
                "link",
                "links a file from outside into its directory",
                "link OUT/linked IN/linked".into(),
                usual,
            ),
            trial(
                "move",
                "moves a file from outside into its directory",
                "move OUT/linked IN/moved".into(),
                usual,
            ),
            trial("connect", "connects over the network", format!("connect {}", self.address), usual),
            trial("send", "sends a datagram", format!("send {}", self.address), usual),
            trial("socket", "connects to a socket of this machine", "unix OUT/socket".into(), usual),
            trial("debug", "debugs the daemon", format!("debug {me}"), usual),
            trial("signal", "signals the daemon", format!("signal {me}"), usual),
            trial("limit", "changes limits of the daemon", format!("limit-other {me}"), usual),
            trial("start", "starts another program", "start /bin/sh -c :".into(), usual),
            trial(
                "start-written",
                "starts what it has written itself",
                "start-written IN/mine /bin/true".into(),
                usual,
            ),
            trial("namespaces", "makes a namespace", "call unshare".into(), usual),
            trial("watch", "has itself told what others do in a directory", "watch IN".into(), usual),
            trial("lease", "holds up whoever opens a file", "hold-up IN/held".into(), usual),
            trial("memory-file", "makes a file that no limit counts", "call memory-file".into(), usual),
            trial("keys", "reaches the keys of the user", "call keyctl".into(), usual),
            trial("environment", "reads the environment of the daemon", "environment".into(), usual),
            trial(
                "processes",
                "makes too many processes",
                "processes 40".into(),
                Limits { processes: 20, ..usual },
            ),
            trial(
                "memory",
                "uses too much memory",
                "memory 200000000".into(),
                Limits { memory: 100 << 20, ..usual },
            ),
            trial(
                "file-size",
                "writes too large a file",
                "file IN/big 3000000".into(),
                Limits { file_size: 1 << 20, ..usual },
            ),
            trial(
                "open-files",
                "opens too many files",
                "files 100".into(),
                Limits { open_files: 50, ..usual },
            ),
            trial("wall", "runs for too long", "wait 1500".into(), Limits { wall_ms: 500, ..usual }),
        ];
        if self.listeners.2.is_some() {
            let attempt = format!("abstract {}", self.abstract_name);
            all.push(trial("abstract", "connects to an abstract socket", attempt, usual));
        }
        self.fill(&mut all);
        all
    }

    /// Returns the attempts at actions that a process of our own must not be able to do after it has confined itself.
    /// `read` names the reading of a file.
    fn trials_of_host(&self, read: &'static str) -> Vec<Trial> {
        let (me, usual) = (std::process::id(), Limits::default());
        let all = [
            ("read", read, "read OUT/secret".to_owned()),
            ("list", "lists a directory", "list OUT".to_owned()),
            ("write", "writes a file", "write OUT/new".to_owned()),
            ("cut", "cuts a file to nothing", "cut OUT/kept".to_owned()),
            ("write-weights", "changes its weights", "write IN/weights".to_owned()),
            ("remove", "removes a file", "remove OUT/kept".to_owned()),
            ("connect", "connects over the network", format!("connect {}", self.address)),
            ("send", "sends a datagram", format!("send {}", self.address)),
            ("socket", "connects to a socket of this machine", "unix OUT/socket".to_owned()),
            ("start", "starts a program", "start /bin/sh -c :".to_owned()),
            ("process", "makes a process", "fork".to_owned()),
            ("signal", "signals the daemon", format!("signal {me}")),
            ("debug", "debugs the daemon", format!("debug {me}")),
            ("limit", "changes limits of the daemon", format!("limit-other {me}")),
            ("namespaces", "makes a namespace", "call unshare".to_owned()),
            ("keys", "reaches the keys of the user", "call keyctl".to_owned()),
            ("memory-file", "makes a file that no limit counts", "call memory-file".to_owned()),
        ];
        let trial = |(name, what, attempt): (_, _, String)| Trial {
            name,
            action: what,
            attempt: attempt.split(' ').map(str::to_owned).collect(),
            limits: usual,
        };
        let mut all: Vec<Trial> = all.into_iter().map(trial).collect();
        self.fill(&mut all);
        all
    }

    /// Replaces the words `OUT` and `IN` by the paths, which may contain spaces.
    fn fill(&self, all: &mut [Trial]) {
        let (inside, outside) = (&self.inside, &self.outside);
        for word in all.iter_mut().flat_map(|trial| &mut trial.attempt) {
            for (short, long) in [("OUT", outside), ("IN", inside)] {
                if let Some(rest) =
                    word.strip_prefix(short).filter(|rest| rest.is_empty() || rest.starts_with('/'))
                {
                    *word = format!("{long}{rest}");
                    break;
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn listen_abstract(name: &str) -> Option<UnixListener> {
    use std::os::linux::net::SocketAddrExt as _;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name).ok()?;
    UnixListener::bind_addr(&address).ok()
}

#[cfg(not(target_os = "linux"))]
fn listen_abstract(_: &str) -> Option<UnixListener> {
    None
}
