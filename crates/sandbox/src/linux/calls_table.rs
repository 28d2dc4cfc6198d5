//! The lists of system calls for the seccomp filters, on x86-64 and on 64-bit Arm.
//!
//! A row without a condition holds on both. The rows for x86-64 alone are old calls, which Arm never had.

/// The number of `fchmodat2` on every architecture. The libc crate does not have it on Arm.
const SYS_FCHMODAT2: i64 = 452;

/// Calls that every program may make.
#[rustfmt::skip]
pub(super) const ALLOWED: &[i64] = &[
    // Calls for files. Landlock decides which files.
    libc::SYS_openat, libc::SYS_openat2, libc::SYS_close, libc::SYS_close_range, libc::SYS_read, libc::SYS_write,
    libc::SYS_readv, libc::SYS_writev, libc::SYS_pread64, libc::SYS_pwrite64, libc::SYS_preadv, libc::SYS_pwritev,
    libc::SYS_preadv2, libc::SYS_pwritev2, libc::SYS_lseek, libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx,
    libc::SYS_statfs, libc::SYS_fstatfs, libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_readlinkat,
    libc::SYS_getdents64, libc::SYS_getcwd, libc::SYS_chdir, libc::SYS_fchdir, libc::SYS_mkdirat, libc::SYS_unlinkat,
    // On Arm, the C library renames files with `renameat`.
    libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_linkat, libc::SYS_symlinkat,
    libc::SYS_truncate,
    libc::SYS_ftruncate, libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_sync_file_range, libc::SYS_fadvise64,
    libc::SYS_readahead, libc::SYS_flock, libc::SYS_fcntl, libc::SYS_dup, libc::SYS_dup3, libc::SYS_pipe2,
    libc::SYS_sendfile, libc::SYS_splice, libc::SYS_tee, libc::SYS_vmsplice, libc::SYS_copy_file_range,
    libc::SYS_umask,

    // Calls for waiting.
    libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2, libc::SYS_eventfd2, libc::SYS_signalfd4, libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime, libc::SYS_timerfd_gettime, libc::SYS_nanosleep, libc::SYS_clock_nanosleep,
    libc::SYS_getitimer, libc::SYS_setitimer, libc::SYS_timer_create, libc::SYS_timer_settime,
    libc::SYS_timer_gettime, libc::SYS_timer_getoverrun, libc::SYS_timer_delete, libc::SYS_sched_yield,
    // Calls for memory.
    libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect, libc::SYS_mremap, libc::SYS_madvise, libc::SYS_mincore,
    libc::SYS_msync, libc::SYS_brk, libc::SYS_mlock, libc::SYS_mlock2, libc::SYS_munlock, libc::SYS_membarrier,
    libc::SYS_pkey_alloc, libc::SYS_pkey_free, libc::SYS_pkey_mprotect,
    // Calls for the process's own threads and processes. `clone` has a condition. `clone3` cannot have one, and is
    // left out.
    libc::SYS_futex, libc::SYS_futex_waitv, libc::SYS_set_robust_list, libc::SYS_get_robust_list,
    libc::SYS_set_tid_address, libc::SYS_rseq, libc::SYS_gettid, libc::SYS_getpid, libc::SYS_getppid,
    libc::SYS_getpgid, libc::SYS_setpgid, libc::SYS_getsid, libc::SYS_setsid, libc::SYS_wait4, libc::SYS_waitid,
    libc::SYS_exit, libc::SYS_exit_group, libc::SYS_restart_syscall, libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal, libc::SYS_prctl, libc::SYS_getcpu, libc::SYS_sched_getaffinity,
    libc::SYS_sched_getscheduler, libc::SYS_sched_getparam, libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min, libc::SYS_sched_rr_get_interval, libc::SYS_getpriority,
    libc::SYS_getrlimit, libc::SYS_setrlimit, libc::SYS_getrusage, libc::SYS_times,
    // Calls for signals. Landlock and the PID namespace decide about the receivers.
    libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill, libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn, libc::SYS_rt_sigpending, libc::SYS_rt_sigtimedwait, libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    // Calls about users, times and the machine.
    libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_getresuid,
    libc::SYS_getresgid, libc::SYS_getgroups, libc::SYS_capget, libc::SYS_uname, libc::SYS_sysinfo,
    libc::SYS_gettimeofday, libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_getrandom,
    // Calls for a pair of connected streams. `socketpair` has a condition.
    libc::SYS_sendto, libc::SYS_recvfrom, libc::SYS_sendmsg, libc::SYS_recvmsg, libc::SYS_shutdown,
    libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_getsockopt, libc::SYS_setsockopt,
    // Calls for further confinement: a confined process can confine itself further.
    libc::SYS_seccomp, libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    #[cfg(target_arch = "x86_64")] libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")] libc::SYS_open,
    #[cfg(target_arch = "x86_64")] libc::SYS_creat,
    #[cfg(target_arch = "x86_64")] libc::SYS_stat,
    #[cfg(target_arch = "x86_64")] libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")] libc::SYS_access,
    #[cfg(target_arch = "x86_64")] libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_getdents,
    #[cfg(target_arch = "x86_64")] libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")] libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")] libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_rename,
    #[cfg(target_arch = "x86_64")] libc::SYS_link,
    #[cfg(target_arch = "x86_64")] libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")] libc::SYS_pipe,
    #[cfg(target_arch = "x86_64")] libc::SYS_poll,
    #[cfg(target_arch = "x86_64")] libc::SYS_select,
    #[cfg(target_arch = "x86_64")] libc::SYS_epoll_create,
    #[cfg(target_arch = "x86_64")] libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")] libc::SYS_eventfd,
    #[cfg(target_arch = "x86_64")] libc::SYS_signalfd,
    #[cfg(target_arch = "x86_64")] libc::SYS_alarm,
    #[cfg(target_arch = "x86_64")] libc::SYS_pause,
    #[cfg(target_arch = "x86_64")] libc::SYS_time,
    #[cfg(target_arch = "x86_64")] libc::SYS_fork,
    #[cfg(target_arch = "x86_64")] libc::SYS_vfork,
    #[cfg(target_arch = "x86_64")] libc::SYS_getpgrp,
];

/// Calls that only serve to reach others over the network. `socket` is allowed with a condition.
pub(super) const NETWORK: &[i64] =
    &[libc::SYS_connect, libc::SYS_bind, libc::SYS_sendmmsg, libc::SYS_recvmmsg];

/// Calls that start a program by its descriptor. `memfd_create` is not allowed at all. It would make a program that
/// Landlock does not cover, and memory that no limit counts.
pub(super) const EXEC_BY_DESCRIPTOR: &[i64] = &[libc::SYS_execveat];

/// Calls that a process of Almoner does not need after it has confined itself. They make processes, signal others, or
/// open files for writing in a way that seccomp cannot see.
#[rustfmt::skip]
pub(super) const FORBIDDEN_FOR_HOSTS: &[i64] = &[
    libc::SYS_openat2, libc::SYS_truncate, libc::SYS_mkdirat, libc::SYS_unlinkat, libc::SYS_renameat,
    libc::SYS_renameat2, libc::SYS_linkat, libc::SYS_symlinkat, libc::SYS_mknodat, libc::SYS_tkill,
    libc::SYS_pidfd_open, libc::SYS_pidfd_send_signal, libc::SYS_socketpair,
    #[cfg(target_arch = "x86_64")] libc::SYS_open,
    #[cfg(target_arch = "x86_64")] libc::SYS_creat,
    #[cfg(target_arch = "x86_64")] libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")] libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")] libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_rename,
    #[cfg(target_arch = "x86_64")] libc::SYS_link,
    #[cfg(target_arch = "x86_64")] libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_fork,
    #[cfg(target_arch = "x86_64")] libc::SYS_vfork,
];

/// Commands of `fcntl` that are forbidden. They report or delay the accesses of others to a file, or signal others.
#[rustfmt::skip]
pub(super) const FORBIDDEN_FCNTLS: &[i32] = &[
    libc::F_SETLEASE,
    libc::F_NOTIFY,
    libc::F_SETOWN,
    // These are F_SETSIG and F_SETOWN_EX.
    10, 15,
];

/// Calls that do nothing, but may report success. Landlock does not cover modes, owners and times, so these calls
/// could change those of files outside. Programs that set them only as an extra (`cp`, `tar`, `git`) go on.
#[rustfmt::skip]
pub(super) const PRETENDED: &[i64] = &[
    libc::SYS_fchmod, libc::SYS_fchmodat, SYS_FCHMODAT2, libc::SYS_fchown, libc::SYS_fchownat,
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")] libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")] libc::SYS_chown,
    #[cfg(target_arch = "x86_64")] libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")] libc::SYS_utime,
    #[cfg(target_arch = "x86_64")] libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")] libc::SYS_futimesat,
];

/// Calls that are always answered with a plain "not permitted".
#[rustfmt::skip]
pub(super) const FORBIDDEN: &[i64] = &[
    // Calls that act on other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_process_madvise,
    libc::SYS_process_mrelease, libc::SYS_kcmp, libc::SYS_pidfd_getfd, libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo, libc::SYS_migrate_pages, libc::SYS_move_pages, libc::SYS_setpriority,
    libc::SYS_sched_setaffinity, libc::SYS_sched_setparam, libc::SYS_sched_setscheduler, libc::SYS_sched_setattr,
    libc::SYS_ioprio_set,
    // Calls that change the user or the privileges of the process.
    libc::SYS_setuid, libc::SYS_setgid, libc::SYS_setreuid, libc::SYS_setregid, libc::SYS_setresuid,
    libc::SYS_setresgid, libc::SYS_setfsuid, libc::SYS_setfsgid, libc::SYS_setgroups, libc::SYS_capset,
    libc::SYS_personality,
    // Calls for namespaces and mounts.
    libc::SYS_unshare, libc::SYS_setns, libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot,
    libc::SYS_open_tree, libc::SYS_move_mount, libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount,
    libc::SYS_fspick, libc::SYS_mount_setattr, libc::SYS_quotactl, libc::SYS_quotactl_fd,
    // Calls that reach files past Landlock, or report on the files of others.
    libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at, libc::SYS_fanotify_init, libc::SYS_fanotify_mark,
    libc::SYS_inotify_init1, libc::SYS_inotify_add_watch, libc::SYS_acct, libc::SYS_setxattr, libc::SYS_lsetxattr,
    libc::SYS_fsetxattr, libc::SYS_removexattr, libc::SYS_lremovexattr, libc::SYS_fremovexattr,
    // Calls that act on the kernel and the whole machine.
    libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_kexec_load, libc::SYS_kexec_file_load, libc::SYS_init_module,
    libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_syslog,
    libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_settimeofday, libc::SYS_clock_settime,
    libc::SYS_adjtimex, libc::SYS_clock_adjtime, libc::SYS_vhangup, libc::SYS_userfaultfd,
    // Calls that get around these filters.
    libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_io_setup,
    libc::SYS_io_submit,
    // Calls for keys, and for memory and messages that are shared with others.
    libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key, libc::SYS_shmget, libc::SYS_shmat,
    libc::SYS_shmctl, libc::SYS_shmdt, libc::SYS_semget, libc::SYS_semop, libc::SYS_semctl, libc::SYS_semtimedop,
    libc::SYS_msgget, libc::SYS_msgsnd, libc::SYS_msgrcv, libc::SYS_msgctl, libc::SYS_mq_open, libc::SYS_mq_unlink,
    // Calls that accept connections and so make a program a server.
    libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4,
    #[cfg(target_arch = "x86_64")] libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")] libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")] libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")] libc::SYS_inotify_init,
];

/// The allowed requests of `ioctl`: terminal and window size, bytes to read, blocking, and whether a descriptor
/// outlives `execve`. The copy of a file into a writable file is also allowed.
pub(super) const ALLOWED_IOCTLS: &[u64] = &[
    libc::TCGETS,
    libc::TIOCGWINSZ,
    libc::TIOCGPGRP,
    libc::FIONREAD,
    libc::FIONBIO,
    libc::FIOASYNC,
    libc::FIOCLEX,
    libc::FIONCLEX,
    // These are FICLONE and FICLONERANGE.
    0x4004_9409,
    0x4020_940d,
];

/// Requests about network interfaces. None of them changes an interface.
pub(super) const INTERFACE_IOCTLS: &[u64] = &[
    // SIOCGIFNAME, SIOCGIFCONF, SIOCGIFFLAGS, SIOCGIFADDR, SIOCGIFNETMASK, SIOCGIFMTU, SIOCGIFINDEX.
    0x8910, 0x8912, 0x8913, 0x8915, 0x891b, 0x8921, 0x8933,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use syscalls::{aarch64, x86_64};

    use super::SYS_FCHMODAT2;

    /// The condition of a row for x86-64 alone.
    const OLD_CALL: &str = "#[cfg(target_arch = \"x86_64\")]";

    /// Returns the number of a call on x86-64 and on 64-bit Arm, as the kernel's own tables have them.
    fn numbers(name: &str) -> (Option<i32>, Option<i32>) {
        // The same call has a name of its own there.
        let arm = if name == "newfstatat" { "fstatat" } else { name };
        (
            x86_64::Sysno::iter().find(|call| call.name() == name).map(|call| call.id()),
            aarch64::Sysno::iter().find(|call| call.name() == arm).map(|call| call.id()),
        )
    }

    /// Returns the calls that this file names, each with whether all of its rows are for x86-64 alone.
    fn rows(source: &str) -> BTreeMap<&str, bool> {
        let mut rows = BTreeMap::new();
        for line in source.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            for (at, prefix) in line.match_indices("libc::SYS_") {
                let name = &line[at + prefix.len()..];
                let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
                let is_old = line[..at].trim_end().ends_with(OLD_CALL);
                rows.entry(&name[..end]).and_modify(|old| *old &= is_old).or_insert(is_old);
            }
        }
        rows
    }

    #[test]
    fn rows_name_every_call_on_each_architecture_that_has_it() {
        let (shipped, _) = include_str!("calls_table.rs").split_once("#[cfg(test)]").unwrap();
        let rows = rows(shipped);
        assert!(rows.len() > 200, "{}", rows.len());
        for (name, is_old) in rows {
            let (x86, arm) = numbers(name);
            assert!(x86.is_some(), "{name} is no call of x86-64");
            assert_eq!(arm.is_none(), is_old, "{name}: a call of Arm needs a row without a condition");
        }
        let number = i32::try_from(SYS_FCHMODAT2).unwrap();
        assert_eq!(numbers("fchmodat2"), (Some(number), Some(number)));
    }

    #[test]
    fn arm_has_no_call_of_its_own_that_needs_a_row() {
        let unknown = aarch64::Sysno::iter().map(|call| call.name()).filter(|name| numbers(name).0.is_none());
        // Calls with 64-bit times are for 32-bit programs; the other one is named `newfstatat` here.
        let unknown: Vec<&str> = unknown.filter(|name| !name.ends_with("64") && *name != "fstatat").collect();
        assert_eq!(unknown, Vec::<&str>::new());
    }

    #[test]
    fn libc_has_the_numbers_of_the_kernel() {
        for (name, number) in [
            ("openat", libc::SYS_openat),
            ("renameat", libc::SYS_renameat),
            ("newfstatat", libc::SYS_newfstatat),
            ("seccomp", libc::SYS_seccomp),
            ("kexec_file_load", libc::SYS_kexec_file_load),
            ("sync_file_range", libc::SYS_sync_file_range),
            ("getrlimit", libc::SYS_getrlimit),
            ("fchmodat", libc::SYS_fchmodat),
        ] {
            let (x86, arm) = numbers(name);
            let expected = if cfg!(target_arch = "x86_64") { x86 } else { arm };
            assert_eq!(i32::try_from(number).ok(), expected, "{name}");
        }
    }
}
