//! The description of a program to run: its confinement, its limits, and how it ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A program to run once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The program's file, with all links resolved.
    pub program: PathBuf,
    /// The BLAKE3 digest that the file must have, as hexadecimal digits. The process that becomes the program checks
    /// the digest, and executes exactly the checked file.
    pub digest: Option<String>,
    /// The digests that the interpreters of a script must have, by path. Only used if there is a digest and the
    /// program is a script.
    pub interpreters: BTreeMap<PathBuf, String>,
    /// The argument vector, the program's name first.
    pub argv: Vec<String>,
    /// The working directory in which the program begins.
    pub directory: PathBuf,
    /// The whole environment of the program.
    pub environment: BTreeMap<String, String>,
    /// The confinement of the program.
    pub within: Confinement,
}

/// The confinement of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    /// The files and directories that may be read, with all that is in them. In this list and the next two, all links
    /// are resolved: a path that leads through a link is refused.
    pub readable: Vec<PathBuf>,
    /// The files and directories that may be read and changed, with all that is in them. Nothing in them can be
    /// executed. A place is refused if it overlaps the program or a place in `executable`.
    pub writable: Vec<PathBuf>,
    /// The files and directories with other programs that the program may start. If the list is empty, the program
    /// can start only itself.
    pub executable: Vec<PathBuf>,
    /// Whether the program may open connections over the network, to anywhere. It can never accept connections.
    pub network: bool,
    /// Whether calls that would change modes, owners or times of files report success. They never change anything.
    /// Most programs need only the success. Some programs tell by the error whether a file exists; for those, the
    /// calls are refused.
    pub pretends: bool,
    /// The limits on time, memory and other resources.
    pub limits: Limits,
}

/// The value of a limit that means no limit.
pub const UNLIMITED: u64 = u64::MAX;

/// The limits for a program together with all processes that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The maximum time from start to end, in milliseconds.
    pub wall_ms: u64,
    /// The maximum processor time of each process, in seconds.
    pub cpu_s: u64,
    /// The maximum address space of each process, in bytes.
    pub address_space: u64,
    /// The maximum memory that all processes together use, in bytes.
    pub memory: u64,
    /// The maximum size of a written file, in bytes.
    pub file_size: u64,
    /// The maximum number of bytes that all processes together write, to files and pipes.
    pub written: u64,
    /// The maximum number of files and directories that come to be in the places where the program may write, while it
    /// runs.
    pub files: u64,
    /// The maximum number of open descriptors in one process.
    pub open_files: u64,
    /// The maximum number of processes and threads at one time.
    pub processes: u64,
    /// The number of bytes that are kept of each of standard output and standard error. The bytes beyond that are
    /// only counted.
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
            files: 200_000,
            open_files: 512,
            processes: 128,
            output: 64 << 10,
        }
    }
}

/// The end of a program, and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The way in which the program ended.
    pub end: End,
    /// The standard output.
    pub stdout: Output,
    /// The standard error.
    pub stderr: Output,
}

/// The kept part of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The first bytes of the stream.
    pub bytes: Vec<u8>,
    /// The number of further bytes, which were not kept.
    pub cut: u64,
}

/// The way in which a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// The program ended by itself, with this status.
    Exited {
        /// The status.
        status: i32,
    },
    /// A signal ended the program.
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// The warden ended the program.
    Stopped {
        /// The reason, in words: "it ran for longer than 60 s".
        why: String,
    },
    /// The program never began: a restriction could not be applied, or the program could not be started.
    Refused {
        /// The reason, in words.
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

/// Returns the paths that nearly every program reads, such as libraries, time zones and certificates. None of them
/// holds a user's data.
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

/// Returns the directories with this machine's programs, for programs that start others.
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
