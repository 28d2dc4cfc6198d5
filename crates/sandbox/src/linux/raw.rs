//! The system calls that safe Rust has no words for, each behind a function that is safe to call.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, RawFd};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// Which side of a fork this is.
pub(super) enum ForkSide {
    /// The one that forked.
    Parent(Pid),
    /// The new process.
    Child,
}

/// Makes a second process of this one.
///
/// # Errors
/// When there are other threads, or no more processes may be made.
pub(super) fn fork() -> io::Result<ForkSide> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process with threads cannot be made two"));
    }
    // SAFETY: there is one thread: it was counted above and is this one, so no other can appear. So no other thread,
    // missing in the new process, can hold a lock. The new process may go on like any other process.
    match unsafe { libc::fork() } {
        0 => Ok(ForkSide::Child),
        pid => fork_result(pid).map(ForkSide::Parent),
    }
}

/// Returns the result of `fork`. Must be called right after it, before the error number changes.
fn fork_result(pid: libc::pid_t) -> io::Result<Pid> {
    let error = io::Error::last_os_error();
    (pid > 0).then_some(pid).and_then(Pid::from_raw).ok_or(error)
}

/// Tries to make a second process, which ends at once.
///
/// # Errors
/// The error of the kernel.
pub(super) fn fork_and_exit() -> io::Result<Pid> {
    // SAFETY: all that the new process does is end, by a call that may be made in any state.
    let pid = unsafe {
        let pid = libc::fork();
        if pid == 0 {
            libc::_exit(0);
        }
        pid
    };
    fork_result(pid)
}

/// Leaves namespaces. `FILES` is not taken.
///
/// # Errors
/// When the kernel does not allow it.
pub(super) fn leave(namespaces: UnshareFlags) -> io::Result<()> {
    if namespaces.contains(UnshareFlags::FILES) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the call is unsafe only for `FILES`, which was refused.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }.map_err(io::Error::from)
}

/// Marks every descriptor from `first` on as closed at `execve`, so that no program inherits it. Nothing is closed
/// yet: descriptors that this process still uses stay usable.
///
/// # Errors
/// When the kernel has no such call (before 5.11).
pub(super) fn close_at_exec(first: RawFd) -> io::Result<()> {
    // SAFETY: takes numbers and touches no memory. No descriptor is closed, so none that safe code owns is pulled away.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets a descriptor through `execve`.
///
/// # Errors
/// When it is not open.
pub(super) fn keep_at_exec(descriptor: RawFd) -> io::Result<()> {
    // SAFETY: takes numbers and touches no memory; a number that is not open is an error.
    let done = unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tries to debug another process.
///
/// # Errors
/// When it is not allowed, as it should be.
pub(super) fn debug(process: i32) -> io::Result<()> {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: attaching reads and writes no memory of this process.
    let done = unsafe { libc::ptrace(libc::PTRACE_SEIZE, process, nothing, nothing) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tries to type a letter into the terminal behind a descriptor.
///
/// # Errors
/// When it is not allowed, as it should be.
pub(super) fn type_into(descriptor: RawFd) -> io::Result<()> {
    let letter = b'#';
    // SAFETY: the kernel reads one byte behind the pointer, and it is alive.
    let done = unsafe { libc::ioctl(descriptor, libc::TIOCSTI, std::ptr::from_ref(&letter)) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tries to lower a limit of another process.
///
/// # Errors
/// When it is not allowed, as it should be.
pub(super) fn limit_other(process: i32) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel reads the limit behind the pointer, which is alive, and writes nothing.
    let done = unsafe { libc::prlimit(process, libc::RLIMIT_CORE, &limit, std::ptr::null_mut()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tries a system call whose arguments are no pointers.
///
/// # Errors
/// The error of the kernel.
pub(super) fn call(number: libc::c_long, first: libc::c_long, second: libc::c_long) -> io::Result<()> {
    if ![libc::SYS_unshare, libc::SYS_keyctl].contains(&number) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: neither of the two takes a pointer with these arguments, and neither touches memory or descriptors.
    let done = unsafe { libc::syscall(number, first, second, 0, 0, 0) };
    if done >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tries to open a socket of a family.
///
/// # Errors
/// The error of the kernel.
pub(super) fn socket(family: libc::c_int) -> io::Result<()> {
    // SAFETY: takes numbers. The descriptor is new, no other code knows it, and it is closed here.
    unsafe {
        let socket = libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::close(socket);
    }
    Ok(())
}

/// Tries to make a file that has no name.
///
/// # Errors
/// The error of the kernel.
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

/// Tries a command of `fcntl` that takes a number.
///
/// # Errors
/// The error of the kernel.
pub(super) fn control(file: &File, command: libc::c_int, number: libc::c_int) -> io::Result<()> {
    if ![libc::F_SETLEASE, libc::F_NOTIFY].contains(&command) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: these two take numbers and touch no memory.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), command, number) };
    if done >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
