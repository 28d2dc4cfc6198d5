//! Seccomp filters: they decide which system calls a confined process can make.
//!
//! There are three filters. The first allows known calls, and answers all others like a kernel without those calls,
//! so that libraries fall back to older ones. The second answers forbidden calls with a plain "not permitted", and
//! takes precedence over the first. The third makes some calls that Landlock does not cover do nothing. No filter
//! ends the process: programs probe for calls, and a clear error is more useful than a crash.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use super::calls_table::{
    ALLOWED, ALLOWED_IOCTLS, EXEC_BY_DESCRIPTOR, FORBIDDEN, FORBIDDEN_FCNTLS, FORBIDDEN_FOR_HOSTS,
    INTERFACE_IOCTLS, NETWORK, PRETENDED,
};
use crate::Confinement;

/// The programs that the process may still start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllowedStarts {
    /// No program and no process. The process also opens no file for writing, and only signals itself.
    Nothing,
    /// The endowed program itself.
    Itself,
    /// The program, and other programs that Landlock allows to be executed.
    Others,
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Applies all filters to the calling thread and its descendants.
///
/// # Errors
/// When the kernel does not accept a filter.
pub(super) fn confine(within: &Confinement, starts: AllowedStarts) -> io::Result<()> {
    let failed = |e: &dyn std::fmt::Display| io::Error::other(format!("seccomp: {e}"));
    for program in [allowing(within, starts), forbidding(within, starts), pretending(within.pretends)] {
        let program = program.map_err(|e| failed(&e))?;
        seccompiler::apply_filter(&program).map_err(|e| failed(&e))?;
    }
    Ok(())
}

fn allowing(within: &Confinement, starts: AllowedStarts) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: Rules = ALLOWED.iter().map(|call| (*call, vec![])).collect();
    if within.network {
        rules.extend(NETWORK.iter().map(|call| (*call, vec![])));
        rules.insert(
            libc::SYS_socket,
            vec![rule(&[(0, Op::Eq, libc::AF_INET as u64)])?, rule(&[(0, Op::Eq, libc::AF_INET6 as u64)])?],
        );
    }
    if starts != AllowedStarts::Nothing {
        rules.insert(libc::SYS_execve, vec![]);
    }
    if starts == AllowedStarts::Others {
        rules.extend(EXEC_BY_DESCRIPTOR.iter().map(|call| (*call, vec![])));
    }
    // Stream sockets in a pair stay connected to each other. A datagram socket could be connected to another target.
    let kind = Op::MaskedEq(0xf);
    rules.insert(
        libc::SYS_socketpair,
        vec![rule(&[(0, Op::Eq, libc::AF_UNIX as u64), (1, kind, libc::SOCK_STREAM as u64)])?],
    );
    // Threads and processes are allowed, but not in namespaces of their own.
    rules.insert(libc::SYS_clone, vec![rule(&[(0, Op::MaskedEq(NAMESPACES), 0)])?]);
    // Landlock does not cover most of this call's effects on files, so only the requests that programs need are
    // allowed.
    let harmless = ALLOWED_IOCTLS.iter().chain(if within.network { INTERFACE_IOCTLS } else { &[] });
    let each = harmless.map(|request| rule(&[(1, Op::Eq, *request)]));
    rules.insert(libc::SYS_ioctl, each.collect::<Result<_, _>>()?);
    // A process may change its own limits, but not those of others.
    rules.insert(libc::SYS_prlimit64, vec![rule(&[(0, Op::Eq, 0)])?]);
    // Named pipes are allowed, but no devices.
    let fifo = [(2, Op::MaskedEq(u64::from(libc::S_IFMT)), u64::from(libc::S_IFIFO))];
    rules.insert(libc::SYS_mknodat, vec![rule(&fifo)?]);
    SeccompFilter::new(rules, SeccompAction::Errno(libc::ENOSYS as u32), SeccompAction::Allow, arch()?)?
        .try_into()
}

fn forbidding(within: &Confinement, starts: AllowedStarts) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: Rules = FORBIDDEN.iter().map(|call| (*call, vec![])).collect();
    if !within.network {
        rules.extend(NETWORK.iter().chain(&[libc::SYS_socket]).map(|call| (*call, vec![])));
    }
    let each = FORBIDDEN_FCNTLS.iter().map(|request| rule(&[(1, Op::Eq, u64::from(request.unsigned_abs()))]));
    rules.insert(libc::SYS_fcntl, each.collect::<Result<_, _>>()?);
    if starts == AllowedStarts::Nothing {
        rules.extend(FORBIDDEN_FOR_HOSTS.iter().chain(&[libc::SYS_execve]).map(|call| (*call, vec![])));
        // Threads are allowed, but no processes.
        rules.insert(libc::SYS_clone, vec![rule(&[(0, Op::MaskedEq(libc::CLONE_THREAD as u64), 0)])?]);
        let writing =
            [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC].map(libc::c_int::unsigned_abs);
        let each = writing.map(|bit| rule(&[(2, Op::MaskedEq(bit.into()), bit.into())]));
        rules.insert(libc::SYS_openat, each.into_iter().collect::<Result<_, _>>()?);
        let me = u64::from(std::process::id());
        for call in [libc::SYS_kill, libc::SYS_tgkill] {
            rules.insert(call, vec![rule(&[(0, Op::Ne, me)])?]);
        }
    }
    if starts != AllowedStarts::Others {
        rules.extend(EXEC_BY_DESCRIPTOR.iter().map(|call| (*call, vec![])));
    }
    rules.insert(
        libc::SYS_ioctl,
        vec![rule(&[(1, Op::Eq, libc::TIOCSTI)])?, rule(&[(1, Op::Eq, TIOCLINUX)])?],
    );
    rules.insert(libc::SYS_prlimit64, vec![rule(&[(0, Op::Ne, 0)])?]);
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32), arch()?)?
        .try_into()
}

fn pretending(pretends: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let answer = if pretends { 0 } else { libc::EPERM as u32 };
    let rules: Rules = PRETENDED.iter().map(|call| (*call, vec![])).collect();
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(answer), arch()?)?.try_into()
}

/// Returns a rule of conditions on arguments, each given by its number. Only the lower half is compared. All of these
/// arguments are 32 bits wide in the kernel, so the upper half would only be a way around the rule.
fn rule(conditions: &[(u8, Op, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions
        .iter()
        .map(|(at, op, value)| SeccompCondition::new(*at, Length::Dword, op.clone(), *value));
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

fn arch() -> Result<TargetArch, seccompiler::BackendError> {
    std::env::consts::ARCH.try_into()
}

/// The request for console commands. Some of them type text, and some read the screen.
const TIOCLINUX: u64 = 0x541c;

/// The flags of `clone` that make a namespace of any kind.
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_compile_and_call_lists_do_not_overlap() {
        for network in [false, true] {
            let within = Confinement {
                readable: vec![],
                writable: vec![],
                executable: vec![],
                network,
                pretends: true,
                limits: crate::Limits::default(),
            };
            for starts in [AllowedStarts::Nothing, AllowedStarts::Itself, AllowedStarts::Others] {
                assert!(allowing(&within, starts).unwrap().len() < 4096);
                assert!(forbidding(&within, starts).unwrap().len() < 4096);
            }
        }
        assert!(pretending(true).unwrap().len() < 4096);
        for call in FORBIDDEN.iter().chain(PRETENDED) {
            assert!(
                !ALLOWED.contains(call) && !NETWORK.contains(call) && !EXEC_BY_DESCRIPTOR.contains(call),
                "{call}"
            );
        }
    }

    #[test]
    fn dangerous_calls_are_on_no_allow_list() {
        for call in [
            libc::SYS_socket,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_mount,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_bpf,
            libc::SYS_keyctl,
            libc::SYS_perf_event_open,
            libc::SYS_io_uring_setup,
            libc::SYS_kexec_load,
            libc::SYS_pidfd_getfd,
            libc::SYS_clone3,
            libc::SYS_open_by_handle_at,
            libc::SYS_shmget,
            libc::SYS_memfd_create,
        ] {
            assert!(
                !ALLOWED.contains(&call) && !NETWORK.contains(&call) && !EXEC_BY_DESCRIPTOR.contains(&call),
                "{call}"
            );
        }
    }
}
