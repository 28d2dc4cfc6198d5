//! The system calls for which there is no safe Rust function, each in a function that is safe to call.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, RawFd};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// The side of a fork on which the code runs.
pub(super) enum ForkSide {
    /// The process that forked, with the id of the new process.
    Parent(Pid),
    /// The new process.
    Child,
}

/// Forks this process.
///
/// # Errors
/// When there are other threads, or no more processes may be made.
pub(super) fn fork() -> io::Result<ForkSide> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process with threads cannot be made two"));
    }
    // SAFETY: the count above shows that this is the only thread, so no other thread can appear. So no lock is held
    // by a thread that is missing in the new process. The new process may go on like any other process.
    match unsafe { libc::fork() } {
        0 => Ok(ForkSide::Child),
        pid => fork_result(pid).map(ForkSide::Parent),
    }
}

/// Returns the result of `fork`. Must be called directly after `fork`, before the error number changes.
fn fork_result(pid: libc::pid_t) -> io::Result<Pid> {
    let error = io::Error::last_os_error();
    (pid > 0).then_some(pid).and_then(Pid::from_raw).ok_or(error)
}

/// Tries to fork a process that ends at once.
///
/// # Errors
/// When the kernel does not allow it.
pub(super) fn fork_and_exit() -> io::Result<Pid> {
    // SAFETY: the new process only ends, by a call that may be made in any state.
    let pid = unsafe {
        let pid = libc::fork();
        if pid == 0 {
            libc::_exit(0);
        }
        pid
    };
    fork_result(pid)
}

/// Gives this process new namespaces. A new PID namespace only holds its later children. `FILES` is rejected.
///
/// # Errors
/// When the kernel does not allow it.
pub(super) fn leave(namespaces: UnshareFlags) -> io::Result<()> {
    if namespaces.contains(UnshareFlags::FILES) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the call is unsafe only for `FILES`, which was rejected above.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }.map_err(io::Error::from)
}

/// Marks every descriptor from `first` on as closed at `execve`, so that no program inherits it. No descriptor is
/// closed now, so this process can still use them.
///
/// # Errors
/// When the kernel has no such call (before 5.11).
pub(super) fn close_at_exec(first: RawFd) -> io::Result<()> {
    // SAFETY: the call takes numbers and touches no memory. It closes no descriptor, so it takes none away from safe
    // code.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Keeps a descriptor open across `execve`.
///
/// # Errors
/// When the descriptor is not open.
pub(super) fn keep_at_exec(descriptor: RawFd) -> io::Result<()> {
    // SAFETY: the call takes numbers and touches no memory. A number that is not open gives an error.
    let done = unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tries to debug another process.
///
/// # Errors
/// When the kernel does not allow it, which is the expected result in the sandbox.
pub(super) fn debug(process: i32) -> io::Result<()> {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: attaching reads and writes no memory of this process.
    let done = unsafe { libc::ptrace(libc::PTRACE_SEIZE, process, nothing, nothing) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tries to type a letter into the terminal of a descriptor.
///
/// # Errors
/// When the kernel does not allow it, which is the expected result in the sandbox.
pub(super) fn type_into(descriptor: RawFd) -> io::Result<()> {
    let letter = b'#';
    // SAFETY: the kernel reads one byte at the pointer, and that byte is alive.
    let done = unsafe { libc::ioctl(descriptor, libc::TIOCSTI, std::ptr::from_ref(&letter)) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tries to lower a limit of another process.
///
/// # Errors
/// When the kernel does not allow it, which is the expected result in the sandbox.
pub(super) fn limit_other(process: i32) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel reads the limit at the pointer, which is alive, and writes nothing.
    let done = unsafe { libc::prlimit(process, libc::RLIMIT_CORE, &limit, std::ptr::null_mut()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tries one of two system calls whose arguments are not pointers.
///
/// # Errors
/// When the kernel does not allow it, or `number` is another call.
pub(super) fn call(number: libc::c_long, first: libc::c_long, second: libc::c_long) -> io::Result<()> {
    if ![libc::SYS_unshare, libc::SYS_keyctl].contains(&number) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: with these arguments, neither of the two calls takes a pointer. Neither touches memory or descriptors.
    let done = unsafe { libc::syscall(number, first, second, 0, 0, 0) };
    if done >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tries to open a socket of a family.
///
/// # Errors
/// When the kernel does not allow it.
pub(super) fn socket(family: libc::c_int) -> io::Result<()> {
    // SAFETY: the call takes numbers. The descriptor is new, no other code knows it, and it is closed here.
    unsafe {
        let socket = libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::close(socket);
    }
    Ok(())
}

/// Tries to make a file in memory, which has no name in any directory.
///
/// # Errors
/// When the kernel does not allow it.
pub(super) fn memory_file() -> io::Result<File> {
    // SAFETY: the name is a constant that ends in zero. The descriptor is new, and no other code knows it.
    unsafe {
        let file = libc::memfd_create(c"x".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(File::from_raw_fd(file))
    }
}

/// Tries one of two `fcntl` commands that take a number.
///
/// # Errors
/// When the kernel does not allow it, or `command` is another command.
pub(super) fn control(file: &File, command: libc::c_int, number: libc::c_int) -> io::Result<()> {
    if ![libc::F_SETLEASE, libc::F_NOTIFY].contains(&command) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: these two commands take numbers and touch no memory.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), command, number) };
    if done >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
