//! Actions that a confined process must not be able to do, for tests by such a process.
//!
//! `almoner sandbox try NAME ARGUMENT…` does exactly one of them. As a control, each of them works without
//! confinement.

use std::fs;
use std::io::{self, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process};

use super::raw;

/// Tries one action, and returns a message that it worked.
///
/// # Errors
/// When the action failed, with the reason.
pub fn attempt(name: &str, arguments: &[String]) -> Result<String, String> {
    let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
    let number = |at: usize| argument(at).parse::<u64>().unwrap_or(0);
    let process = || i32::try_from(number(0)).unwrap_or(0);
    let first = argument(0);
    let done = match name {
        "read" => fs::read(first).map(drop),
        "list" => fs::read_dir(first).map(drop),
        "write" => {
            fs::OpenOptions::new().append(true).create(true).open(first).and_then(|mut f| f.write_all(b"x"))
        }
        "cut" => fs::OpenOptions::new().write(true).truncate(true).open(first).map(drop),
        "mode" => mode(first),
        "remove" => fs::remove_file(first),
        "move" => fs::rename(first, argument(1)),
        "link" => fs::hard_link(first, argument(1)),
        "connect" => TcpStream::connect(first).map(drop),
        "send" => UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b"x", first)).map(drop),
        "unix" => UnixStream::connect(first).map(drop),
        "datagram" => UnixDatagram::pair().and_then(|(socket, _)| socket.send_to(b"x", first)).map(drop),
        "abstract" => {
            SocketAddr::from_abstract_name(first).and_then(|at| UnixStream::connect_addr(&at)).map(drop)
        }
        "debug" => raw::debug(process()),
        "signal" => signal(process()),
        "limit-other" => raw::limit_other(process()),
        "start" => start(first, &arguments[1.min(arguments.len())..]),
        "processes" => processes(number(0)),
        "memory" => memory(number(0)),
        "file" => file(first, number(1)),
        "files" => {
            (0..number(0)).map(|_| fs::File::open("/dev/null")).collect::<io::Result<Vec<_>>>().map(drop)
        }
        "wait" => {
            std::thread::sleep(Duration::from_millis(number(0)));
            Ok(())
        }
        "spin" => spin(),
        "environment" => environment(),
        "descriptors" => descriptors(),
        "flags" => flags(first),
        "terminal" => raw::type_into(0),
        "call" => call(first),
        "hold-up" => control(first, libc::F_SETLEASE, libc::F_RDLCK),
        // The flag 2 asks for a notice whenever a file in the directory is changed.
        "watch" => control(first, libc::F_NOTIFY, 2),
        "start-from-memory" => start_from_memory(first, &arguments[1.min(arguments.len())..]),
        "start-written" => start_written(first, argument(1)),
        "thread" => std::thread::Builder::new().spawn(|| ()).map(|thread| drop(thread.join())),
        "fork" => fork(),
        _ => return Err(format!("there is no attempt `{name}`")),
    };
    done.map(|()| format!("{name} happened")).map_err(|e| e.to_string())
}

/// Sends a process the signal to continue, which does nothing to a running process.
fn signal(process: i32) -> io::Result<()> {
    let pid = Pid::from_raw(process).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, Signal::CONT)?)
}

/// Gives everybody all rights to a file, and checks that the mode has really changed.
fn mode(path: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o777))?;
    let now = fs::metadata(path)?.permissions().mode() & 0o777;
    if now == 0o777 { Ok(()) } else { Err(io::Error::other("the mode is what it was")) }
}

/// Sets the flags of a new file to their present values, because some flags cannot be removed again.
fn flags(path: &str) -> io::Result<()> {
    fs::write(path, "x")?;
    let file = fs::File::open(path)?;
    let flags = rustix::fs::ioctl_getflags(&file)?;
    Ok(rustix::fs::ioctl_setflags(&file, flags)?)
}

fn start(program: &str, arguments: &[String]) -> io::Result<()> {
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(status.to_string())) }
}

/// Starts a program from a file in memory, which has no name in any directory.
fn start_from_memory(program: &str, arguments: &[String]) -> io::Result<()> {
    let mut file = raw::memory_file()?;
    io::copy(&mut fs::File::open(program)?, &mut file)?;
    start(&format!("/proc/self/fd/{}", file.as_raw_fd()), arguments)
}

/// Copies a program into a new file with an executable mode, and starts the file.
fn start_written(path: &str, program: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(path)?;
    io::copy(&mut fs::File::open(program)?, &mut file)?;
    drop(file);
    start(path, &[])
}

/// Sends an `fcntl` command for a new file, or for a directory.
fn control(path: &str, command: libc::c_int, number: libc::c_int) -> io::Result<()> {
    if command != libc::F_NOTIFY {
        fs::write(path, "x")?;
    }
    raw::control(&fs::File::open(path)?, command, number)
}

fn fork() -> io::Result<()> {
    let child = raw::fork_and_exit()?;
    Ok(rustix::process::waitpid(Some(child), WaitOptions::empty()).map(drop)?)
}

fn processes(count: u64) -> io::Result<()> {
    let mut all = Vec::new();
    for _ in 0..count {
        let waits = ["sandbox", "try", "wait", "20000"];
        match Command::new("/proc/self/exe").args(waits).stdin(Stdio::null()).stdout(Stdio::null()).spawn() {
            Ok(child) => all.push(child),
            Err(error) => {
                all.iter_mut().for_each(|child| drop(child.kill()));
                return Err(error);
            }
        }
    }
    // The pause is long enough for the warden to count the processes.
    std::thread::sleep(Duration::from_millis(500));
    for mut child in all {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

fn memory(bytes: u64) -> io::Result<()> {
    let size = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut all: Vec<u8> = Vec::new();
    all.try_reserve_exact(size).map_err(|_| io::ErrorKind::OutOfMemory)?;
    // The memory is written to, so that the kernel really provides it.
    all.resize(size, 1);
    std::thread::sleep(Duration::from_millis(200));
    std::hint::black_box(&all);
    Ok(())
}

fn file(path: &str, bytes: u64) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    let block = vec![b'x'; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(block.len() as u64);
        file.write_all(&block[..usize::try_from(part).unwrap_or(0)])?;
        left -= part;
    }
    Ok(())
}

fn spin() -> io::Result<()> {
    let begun = std::time::Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        std::hint::spin_loop();
    }
    Ok(())
}

/// Checks whether any environment variable is visible.
fn environment() -> io::Result<()> {
    let name = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).next();
    name.map(drop).ok_or_else(|| io::Error::other("there is no variable"))
}

/// Finds a descriptor in addition to the three standard ones.
fn descriptors() -> io::Result<()> {
    let more = (3..64).filter(|number| fs::read_link(format!("/proc/self/fd/{number}")).is_ok()).count();
    if more > 0 { Ok(()) } else { Err(io::Error::other("there are only the three usual ones")) }
}

/// The kernel's number for the user's key ring.
const USER_KEYRING: libc::c_long = -4;

fn call(name: &str) -> io::Result<()> {
    match name {
        "socket" => raw::socket(libc::AF_INET),
        "unix" => raw::socket(libc::AF_UNIX),
        "netlink" => raw::socket(libc::AF_NETLINK),
        "unshare" => raw::call(libc::SYS_unshare, libc::CLONE_NEWUSER.into(), 0),
        // This command looks up the number of the user's key ring.
        "keyctl" => raw::call(libc::SYS_keyctl, 0, USER_KEYRING),
        "memory-file" => raw::memory_file().map(drop),
        _ => Err(io::Error::other("there is no such call to try")),
    }
}
