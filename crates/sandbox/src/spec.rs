//! The description of a program to run: its confinement, its limits, and how it ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A program to run once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The program's file, all links followed.
    pub program: PathBuf,
    /// The BLAKE3 digest that the file must have, as hexadecimal digits. The process that becomes the program checks
    /// it, and executes exactly the checked file.
    pub digest: Option<String>,
    /// If there is a digest, and the program is a script: the digests that the files must have that read it.
    pub interpreters: BTreeMap<PathBuf, String>,
    /// The argument vector, the program's name first.
    pub argv: Vec<String>,
    /// Where it begins.
    pub directory: PathBuf,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// The confinement of the program.
    pub within: Confinement,
}

/// The confinement of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    /// Files and directories that may be read, with all that is in them. Here and below: all links followed, since a
    /// path that leads elsewhere than it says is refused.
    pub readable: Vec<PathBuf>,
    /// Files and directories that may be read and changed, with all that is in them. Nothing in them can be executed:
    /// a place that also lies in, or holds, something of `executable` or the program itself is refused.
    pub writable: Vec<PathBuf>,
    /// Files and directories that hold other programs which the program may start. Empty: it can start none but
    /// itself.
    pub executable: Vec<PathBuf>,
    /// Whether it may open connections over the network, to anywhere. It never may accept any.
    pub network: bool,
    /// Whether calls that would change modes, owners or times of files report success. They never change anything.
    /// Most programs need only the success; otherwise the calls are refused, for programs that tell by the error
    /// whether a file is there.
    pub pretends: bool,
    /// How much it may use.
    pub limits: Limits,
}

/// As a limit that the kernel keeps: none.
pub const UNLIMITED: u64 = u64::MAX;

/// How much a program and all that it starts may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Time from start to end, in milliseconds.
    pub wall_ms: u64,
    /// Processor time of each process, in seconds.
    pub cpu_s: u64,
    /// Address space of each process, in bytes.
    pub address_space: u64,
    /// Memory in use by all processes together, in bytes.
    pub memory: u64,
    /// The largest file that may be written, in bytes.
    pub file_size: u64,
    /// Bytes written by all processes together, to files and pipes.
    pub written: u64,
    /// Descriptors open in one process.
    pub open_files: u64,
    /// Processes and threads at one time.
    pub processes: u64,
    /// Bytes that are kept of each of standard output and standard error. The rest is counted.
    pub output: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            wall_ms: 60_000,
            cpu_s: 60,
            address_space: 64 << 30,
            memory: 2 << 30,
            file_size: 256 << 20,
            written: 1 << 30,
            open_files: 512,
            processes: 128,
            output: 64 << 10,
        }
    }
}

/// The end of a program, and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How it ended.
    pub end: End,
    /// Its standard output.
    pub stdout: Output,
    /// Its standard error.
    pub stderr: Output,
}

/// The kept part of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The first bytes.
    pub bytes: Vec<u8>,
    /// How many bytes more there were, which were not kept.
    pub cut: u64,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// By itself, with this status.
    Exited {
        /// The status.
        status: i32,
    },
    /// By a signal.
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// The warden ended it.
    Stopped {
        /// Why, in words: "it ran for longer than 60 s".
        why: String,
    },
    /// It never began: something could not be held, or the program could not be started.
    Refused {
        /// Why, in words.
        why: String,
    },
}

impl End {
    /// Returns the end in plain words: "ended with status 0".
    pub fn description(&self) -> String {
        match self {
            End::Exited { status } => format!("ended with status {status}"),
            End::Killed { signal } => match signal_name(*signal) {
                Some(name) => format!("was ended by the signal {name}"),
                None => format!("was ended by the signal {signal}"),
            },
            End::Stopped { why } => format!("was stopped: {why}"),
            End::Refused { why } => format!("was not started: {why}"),
        }
    }
}

/// Returns the usual name of a signal. The numbers are those of Linux on the processors that this crate knows.
fn signal_name(number: i32) -> Option<&'static str> {
    const NAMES: [(i32, &str); 16] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (5, "SIGTRAP"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU (processor time)"),
        (25, "SIGXFSZ (file size)"),
        (31, "SIGSYS (a forbidden system call)"),
    ];
    NAMES.iter().find(|(each, _)| *each == number).map(|(_, name)| *name)
}

/// Returns the places that nearly every program reads: libraries, tables of time zones, certificates; nothing of any
/// user.
pub fn places_of_the_system(network: bool) -> Vec<PathBuf> {
    const ALWAYS: &[&str] = &[
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/etc/alternatives",
        "/etc/group",
        "/etc/ld.so.cache",
        "/etc/ld.so.conf",
        "/etc/ld.so.conf.d",
        "/etc/ld.so.preload",
        "/etc/localtime",
        "/etc/magic",
        "/etc/mime.types",
        "/etc/nsswitch.conf",
        "/etc/passwd",
        "/etc/ssl/certs",
        "/etc/ssl/openssl.cnf",
        "/etc/timezone",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/sys/vm/overcommit_memory",
        "/sys/devices/system/cpu",
    ];
    const WITH_NETWORK: &[&str] =
        &["/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/services"];
    let more = if network { WITH_NETWORK } else { &[] };
    present(ALWAYS.iter().chain(more))
}

/// Returns where the programs of this machine lie, for those that start others.
pub fn programs_of_the_system() -> Vec<PathBuf> {
    present(["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"].iter())
}

fn present<'a>(paths: impl Iterator<Item = &'a &'a str>) -> Vec<PathBuf> {
    let mut real: Vec<PathBuf> = paths.filter_map(|path| Path::new(path).canonicalize().ok()).collect();
    real.sort();
    real.dedup();
    real
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_is_described_in_plain_words() {
        for (end, words) in [
            (End::Exited { status: 3 }, "ended with status 3"),
            (End::Killed { signal: 9 }, "was ended by the signal SIGKILL"),
            (End::Killed { signal: 60 }, "was ended by the signal 60"),
            (End::Stopped { why: "it took too long".into() }, "was stopped: it took too long"),
            (End::Refused { why: "no".into() }, "was not started: no"),
        ] {
            assert_eq!(end.description(), words);
        }
    }

    #[test]
    fn system_places_hold_no_user_data_or_secrets() {
        let places = places_of_the_system(true);
        for secret in [
            "/etc/shadow",
            "/etc/ssl/private",
            "/etc/sudoers",
            "/root",
            "/home",
            "/proc/1",
            "/var",
            "/run",
            "/dev",
        ] {
            assert!(!places.iter().any(|place| Path::new(secret).starts_with(place)), "{secret}");
            assert!(!places.iter().any(|place| place == Path::new("/etc") || place == Path::new("/")));
        }
    }
}
