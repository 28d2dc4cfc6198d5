//! The warden, which starts one program, watches it, ends all its remaining processes, and reports.
//!
//! There are three processes. The *warden* talks to the daemon and counts processes. Its child, the *first* process,
//! is number one of a PID namespace, if possible. When the first process ends, the kernel ends all processes of the
//! namespace, so none can escape. The child of the first process becomes the program.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, exit};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, pidfd_open, wait, waitpid};
use rustix::thread::UnshareFlags;

use super::files::SignalConfinement;
use super::jail::{self, JailSettings, ProgramStreams};
use super::raw::{self, ForkSide};
use super::streams::Streams;
use super::{doing, tree};
use crate::SandboxError;
use crate::frame::{self, RunRequest};
use crate::spec::{End, Limits, Output, Report, Spec};

/// The interval at which the warden checks the program.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// The number of bytes that must stay free on every disk to which the program writes.
const MIN_FREE_BYTES: u64 = 64 << 20;
/// The number of files that must still fit on every disk to which the program writes. A program can make thousands
/// between two checks.
const MIN_FREE_FILES: u64 = 16_384;
/// The part of a small disk's files that must still fit.
const MIN_FREE_FILES_PART: u64 = 8;
/// The maximum length of the message from the first process or its child, in bytes.
const MAX_LEN: u64 = 8192;

/// The mark before the error of a process that did not become the program.
const COMPLAINT: u8 = b'!';
/// The mark before the exit status of the program.
const STATUS: u8 = b'=';

/// Runs the warden, the process behind `almoner sandbox`. It reads one request from standard input and writes the
/// report to standard output, or to standard error for a live program. Must be called before there are threads.
///
/// # Errors
/// When no valid request arrives, or the report cannot be written.
pub fn warden() -> Result<(), SandboxError> {
    let failed = |e: io::Error| SandboxError::Warden(e.to_string());
    // The warden reads the request without a buffer, because the bytes after it may be for the program.
    let mut asked = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
    let (question, input) = frame::read_request(&mut asked).map_err(failed)?;
    drop(asked);
    let report = guard(&question, input).unwrap_or_else(|error| Report {
        end: End::Refused { why: error.to_string() },
        stdout: Output::default(),
        stderr: Output::default(),
    });
    match question.live {
        true => frame::write_report(&mut io::stderr().lock(), &report).map_err(failed),
        false => frame::write_report(&mut io::stdout().lock(), &report).map_err(failed),
    }
}

/// The streams of the program, and the warden's ends of these streams.
struct ProgramConnections {
    ends: ProgramStreams,
    feed: Option<PipeWriter>,
    out: Option<PipeReader>,
    err: PipeReader,
}

/// Connects the program to the warden. A live program is connected to the process that sent the request instead. In
/// that case, the warden closes its own standard input and output, so that each side notices when the other has
/// ended.
fn connect(live: bool) -> io::Result<ProgramConnections> {
    let (err, stderr) = io::pipe()?;
    if !live {
        let ((stdin, feed), (out, stdout)) = (io::pipe()?, io::pipe()?);
        return Ok(ProgramConnections {
            ends: ProgramStreams { stdin, stdout, stderr },
            feed: Some(feed),
            out: Some(out),
            err,
        });
    }
    let stdin = PipeReader::from(io::stdin().as_fd().try_clone_to_owned()?);
    let stdout = PipeWriter::from(io::stdout().as_fd().try_clone_to_owned()?);
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing).map_err(doing("let go of standard input"))?;
    rustix::stdio::dup2_stdout(&nothing).map_err(doing("let go of standard output"))?;
    Ok(ProgramConnections { ends: ProgramStreams { stdin, stdout, stderr }, feed: None, out: None, err })
}

/// Returns whether no process can read the warden's report any more.
fn has_no_reader() -> bool {
    let stderr = io::stderr();
    let mut set = [PollFd::new(&stderr, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut set, Some(&at_once)).is_ok_and(|count| count > 0)
}

/// The namespaces that separate the program from other processes.
struct Isolation {
    /// Whether there is a PID namespace.
    numbers: bool,
    /// Whether there is a user namespace, in which the kernel counts the processes separately.
    users: bool,
}

fn guard(question: &RunRequest, input: Vec<u8>) -> io::Result<Report> {
    let spec = &question.spec;
    let parent = i32::try_from(question.parent).ok().and_then(Pid::from_raw);
    let watched = |now: Option<Pid>| now == parent;
    let apart = leave();
    // Every descendant that loses its parent becomes a child of the warden.
    rustix::process::set_child_subreaper(Some(getpid())).map_err(doing("take in orphans"))?;
    if apart.numbers {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(doing("end with the daemon"))?;
    }
    if !watched(getppid()) {
        return Err(io::Error::other("whoever asked is gone"));
    }
    let root = rustix::process::getuid().is_root();
    let setting = JailSettings {
        signals: if apart.numbers { SignalConfinement::Apart } else { SignalConfinement::Held },
        processes: match (apart.users, root) {
            (true, _) => Some(spec.within.limits.processes),
            // The kernel does not limit the processes of the superuser, so the warden counts them.
            (false, true) => None,
            (false, false) => Some(tree::tasks_of_user() + spec.within.limits.processes),
        },
    };
    let ProgramConnections { ends, feed, out, err } = connect(question.live)?;
    let (mut words, say) = io::pipe()?;
    let first = match raw::fork()? {
        ForkSide::Parent(first) => first,
        ForkSide::Child => {
            drop((feed, out, err, words));
            first(spec, ends, &setting, say);
        }
    };
    drop((ends, say));
    let mut streams = Streams::new(feed, out, err, input, spec.within.limits.output)?;
    let live = question.live;
    let broken = look_on(first, spec, &mut streams, |now| watched(now) && !(live && has_no_reader()));
    let gone = tree::end(getpid());
    let mut last = Vec::new();
    if gone {
        (&mut words).take(MAX_LEN).read_to_end(&mut last)?;
    }
    let (stdout, stderr) = streams.finish();
    let end = match broken {
        _ if !gone => return Err(io::Error::other("something of the program could not be ended")),
        Some(why) => End::Stopped { why },
        None => parse_end(&last),
    };
    Ok(Report { end, stdout, stderr })
}

/// Makes new namespaces for the program, if the kernel allows it, and returns which ones there are. Other mechanisms
/// replace a missing namespace.
fn leave() -> Isolation {
    if raw::leave(UnshareFlags::NEWPID).is_ok() {
        return Isolation { numbers: true, users: false };
    }
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    if raw::leave(UnshareFlags::NEWUSER | UnshareFlags::NEWPID).is_err() {
        return Isolation { numbers: false, users: false };
    }
    // The user and group have the same numbers inside as outside. Without this mapping, the program would have no
    // user, and could do less, not more.
    let map = |file: &str, text: String| std::fs::write(format!("/proc/self/{file}"), text);
    let mapped = map("setgroups", "deny".to_owned())
        .and_then(|()| map("uid_map", format!("{user} {user} 1")))
        .and_then(|()| map("gid_map", format!("{group} {group} 1")));
    Isolation { numbers: true, users: mapped.is_ok() }
}

#[expect(clippy::exit, reason = "a forked process must not go on with what its parent was doing")]
/// Runs the first process: it starts the program, waits for the program to end, and reports the exit status.
fn first(spec: &Spec, ends: ProgramStreams, setting: &JailSettings, mut say: PipeWriter) -> ! {
    let complain = |mut say: &PipeWriter, error: &io::Error| {
        let _ = say.write_all(&[COMPLAINT]);
        let _ = say.write_all(error.to_string().replace('\0', " ").as_bytes());
        let _ = say.write_all(&[0]);
    };
    let started = rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(doing("end with the warden"))
        .and_then(|()| raw::fork());
    match started {
        Err(error) => {
            complain(&say, &error);
            exit(1)
        }
        Ok(ForkSide::Child) => {
            let Err(error) = jail::enter(spec, ends, setting);
            complain(&say, &error);
            exit(1)
        }
        Ok(ForkSide::Parent(program)) => {
            drop(ends);
            let status = wait_for(program);
            let _ = say.write_all(&[STATUS]);
            let _ = say.write_all(&status.to_le_bytes());
            exit(0)
        }
    }
}

/// Waits for `program` and returns its status in the kernel's form. Reaps every other process that ends in the
/// meantime.
fn wait_for(program: Pid) -> i32 {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => return status.as_raw(),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // This cannot happen, because the program is a child. It is treated as if the program had been killed.
            Err(_) => return Signal::KILL.as_raw(),
        }
    }
}

/// Returns the end of the program, or the reason why it never began.
fn parse_end(words: &[u8]) -> End {
    match words.split_first() {
        Some((&STATUS, status)) => {
            let raw =
                status.get(..4).and_then(|raw| <[u8; 4]>::try_from(raw).ok()).map_or(9, i32::from_le_bytes);
            let status = ExitStatus::from_raw(raw);
            match (status.code(), status.signal()) {
                (Some(status), _) => End::Exited { status },
                (None, signal) => End::Killed { signal: signal.unwrap_or(9) },
            }
        }
        Some((&COMPLAINT, rest)) => {
            // The text ends at a zero byte. The status of the process with the error follows.
            let text = rest.split(|byte| *byte == 0).next().unwrap_or_default();
            End::Refused { why: String::from_utf8_lossy(text).into_owned() }
        }
        _ => End::Refused { why: "the process that was to start it ended without a word".to_owned() },
    }
}

/// Waits until the first process has ended. Returns the reason to stop the program earlier, or `None`.
fn look_on(
    first: Pid,
    spec: &Spec,
    streams: &mut Streams,
    watched: impl Fn(Option<Pid>) -> bool,
) -> Option<String> {
    let (begun, mut looked) = (Instant::now(), Instant::now());
    let limits = &spec.within.limits;
    let descriptor = pidfd_open(first, PidfdFlags::empty());
    let wall = Duration::from_millis(limits.wall_ms);
    let room = free_spaces(spec);
    loop {
        let pause = Timespec { tv_sec: 0, tv_nsec: CHECK_INTERVAL.as_nanos() as i64 };
        let told = streams.pump(descriptor.as_ref().ok().map(AsFd::as_fd), &pause);
        let ended =
            told || descriptor.is_err() && !matches!(waitpid(Some(first), WaitOptions::NOHANG), Ok(None));
        if ended {
            return None;
        }
        // A program that writes without pause is not checked more often than any other.
        if looked.elapsed() < CHECK_INTERVAL {
            continue;
        }
        looked = Instant::now();
        if begun.elapsed() >= wall {
            return Some(format!("it ran for longer than {} s", limits.wall_ms as f64 / 1000.0));
        }
        if !watched(getppid()) {
            return Some("the daemon that had asked for it is gone".to_owned());
        }
        if let Some(why) = exceeded_limit(&tree::measure(first), limits) {
            return Some(why);
        }
        if let Some(why) = low_space(&room, &free_spaces(spec), limits) {
            return Some(why);
        }
    }
}

/// The free space of a place where the program may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FreeSpace {
    /// The number of free bytes.
    free: u64,
    /// The number of files that can still be made.
    files: u64,
    /// The number of files that can exist at all. `u64::MAX` if the file system does not limit them.
    max_files: u64,
    /// Whether the files of the place are in memory.
    in_memory: bool,
}

fn free_spaces(spec: &Spec) -> Vec<FreeSpace> {
    // These are the type numbers of tmpfs and ramfs in `statfs`.
    const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
    let of = |path| match rustix::fs::statfs(path) {
        Ok(found) => {
            // A file system that makes room for files as it needs it reports none.
            let is_limited = found.f_files > 0;
            FreeSpace {
                free: found.f_bavail.saturating_mul(u64::try_from(found.f_bsize).unwrap_or(0)),
                files: if is_limited { found.f_ffree } else { u64::MAX },
                max_files: if is_limited { found.f_files } else { u64::MAX },
                in_memory: u64::try_from(found.f_type)
                    .is_ok_and(|kind| IN_MEMORY.contains(&(kind & 0xffff_ffff))),
            }
        }
        Err(_) => FreeSpace { free: u64::MAX, files: u64::MAX, max_files: u64::MAX, in_memory: false },
    };
    spec.within.writable.iter().map(of).collect()
}

/// Returns the reason to stop the program if a place where it may write has run low. Files in memory belong to no
/// measurable process, so their growth counts as the program's.
fn low_space(before: &[FreeSpace], now: &[FreeSpace], limits: &Limits) -> Option<String> {
    before.iter().zip(now).find_map(|(before, now)| {
        let lost = before.free.saturating_sub(now.free);
        if now.in_memory && lost > limits.memory {
            return Some(format!(
                "a place in memory that it writes to grew by more than {} MiB",
                limits.memory >> 20
            ));
        }
        if now.free < MIN_FREE_BYTES && lost > 0 {
            return Some(format!("a disk that it writes to has less than {} MiB left", MIN_FREE_BYTES >> 20));
        }
        let made = before.files.saturating_sub(now.files);
        if made > limits.files {
            return Some(format!("more than {} files came to be where it writes", limits.files));
        }
        let reserve = MIN_FREE_FILES.min(now.max_files / MIN_FREE_FILES_PART);
        (now.files < reserve && made > 0)
            .then(|| format!("a disk that it writes to has room for fewer than {reserve} more files"))
    })
}

/// Returns, in words, the limit that was exceeded, or `None`.
fn exceeded_limit(used: &tree::ResourceUsage, limits: &Limits) -> Option<String> {
    if used.tasks > limits.processes {
        return Some(format!("it made more than {} processes and threads", limits.processes));
    }
    if used.memory > limits.memory {
        return Some(format!("it used more than {} MiB of memory", limits.memory >> 20));
    }
    (used.written > limits.written).then(|| format!("it wrote more than {} MiB", limits.written >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_is_parsed_from_the_first_process_report() {
        for (words, end) in [
            (&b"=\0\x03\0\0"[..], End::Exited { status: 3 }),
            (b"=\x09\0\0\0", End::Killed { signal: 9 }),
            (b"=", End::Killed { signal: 9 }),
            (b"!no such file", End::Refused { why: "no such file".into() }),
            (b"!a = b\0=\0\x01\0\0", End::Refused { why: "a = b".into() }),
        ] {
            assert_eq!(parse_end(words), end, "{words:?}");
        }
        assert!(matches!(parse_end(b""), End::Refused { .. }));
    }

    #[test]
    fn full_places_are_noticed_on_disk_and_in_memory() {
        let limits = Limits { memory: 100 << 20, ..Limits::default() };
        let room = |mib: u64, in_memory| FreeSpace {
            free: mib << 20,
            files: u64::MAX,
            max_files: u64::MAX,
            in_memory,
        };
        for (before, now, word) in [
            (room(1000, false), room(500, false), None),
            (room(1000, false), room(20, false), Some("disk")),
            // This place was already as full before.
            (room(20, false), room(20, false), None),
            (room(20, false), room(30, false), None),
            (room(1000, true), room(950, true), None),
            (room(1000, true), room(800, true), Some("in memory")),
            (room(70, true), room(20, true), Some("disk")),
        ] {
            let found = low_space(&[room(9000, false), before], &[room(9000, false), now], &limits);
            assert_eq!(found.is_some(), word.is_some(), "{before:?} {now:?}");
            assert!(found.unwrap_or_default().contains(word.unwrap_or_default()), "{before:?} {now:?}");
        }
    }

    /// Reported of other programs: ipfs/kubo#3444, ava-labs/firewood#1444, NixOS/nixpkgs#74524 (no file can be made any more,
    /// while there is room for bytes).
    #[test]
    fn lost_files_are_noticed_by_count_and_by_reserve() {
        let limits = Limits { files: 1000, ..Limits::default() };
        let room = |files: u64, max_files| FreeSpace { free: 1 << 40, files, max_files, in_memory: false };
        for (before, now, of, word) in [
            (100_000, 99_500, 1 << 20, None),
            (100_000, 98_000, 1 << 20, Some("more than 1000 files")),
            (16_500, 16_300, 1 << 20, Some("fewer than 16384")),
            // A small disk keeps an eighth.
            (5_100, 5_020, 40_128, None),
            (5_100, 5_010, 40_128, Some("fewer than 5016")),
            // This disk was already as full before, or has been emptied.
            (10, 10, 40_128, None),
            (10, 20, 40_128, None),
            // The file system does not count.
            (u64::MAX, u64::MAX, u64::MAX, None),
        ] {
            let found = low_space(&[room(before, of)], &[room(now, of)], &limits);
            assert_eq!(found.is_some(), word.is_some(), "{before} {now} {found:?}");
            assert!(found.unwrap_or_default().contains(word.unwrap_or_default()), "{before} {now}");
        }
    }

    #[test]
    fn exceeded_limit_is_named() {
        let limits = Limits::default();
        assert_eq!(exceeded_limit(&tree::ResourceUsage::default(), &limits), None);
        for (used, word) in [
            (tree::ResourceUsage { tasks: limits.processes + 1, ..Default::default() }, "processes"),
            (tree::ResourceUsage { memory: limits.memory + 1, ..Default::default() }, "memory"),
            (tree::ResourceUsage { written: limits.written + 1, ..Default::default() }, "wrote"),
        ] {
            assert!(exceeded_limit(&used, &limits).is_some_and(|why| why.contains(word)), "{word}");
        }
    }
}
