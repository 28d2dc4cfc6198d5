//! The sandbox, which runs programs with the access that they were given and no other.
//!
//! The function [`run`] starts a *warden*: this very binary again, as `almoner sandbox`. The warden gets the [`Spec`]
//! and starts the program as its own descendant, with every restriction in force. It watches the program, ends every
//! process that outlives the program or breaks a limit, and reports. The daemon itself is never confined. The host of
//! a local model runs no program, but reads foreign data; it confines itself with [`confine_self`].
//!
//! The function [`open`] does the same for a program that exchanges data with the caller while it runs. Its input and
//! output bypass the warden, which only keeps its standard error.
//!
//! Everything fails closed. If the kernel cannot enforce a restriction, the call fails before anything runs. A
//! program never runs with less protection than was asked for. Only Linux can enforce restrictions so far; on other
//! systems, every call is rejected.
//!
//! The restrictions, and the mechanisms that enforce them:
//!
//! | restriction | enforced by |
//! | --- | --- |
//! | files: read, write, make, remove, rename, truncate, execute | Landlock |
//! | modes, owners, times, extended attributes of files cannot be changed | seccomp |
//! | no leases, no notices of changes by others, no files in memory | seccomp |
//! | no network, no sockets of this machine; no debugging, mounting, loading, keys, other namespaces | seccomp |
//! | signals to others, abstract sockets | Landlock, and a PID namespace if possible |
//! | processor time, address space, file size, open files, processes | rlimits; the warden counts the processes of the whole tree |
//! | wall time, memory of all, growth of places in memory, bytes written by all, processes that outlive their parent | the warden |
//! | environment, descriptors, terminal, privileges | cleared before the program begins |
#![allow(clippy::disallowed_methods, reason = "the sandbox starts, confines and ends processes")]
#![deny(unsafe_code)]

mod frame;
#[cfg(target_os = "linux")]
mod linux;
mod loaders;
mod parent;
mod prove;
mod spec;

#[cfg(target_os = "linux")]
pub use linux::{attempt, close_inherited_at_exec, confine_self, warden};
pub use loaders::{Loaders, loaders, search};
pub use parent::{Helper, ProgramPipes, SandboxError, Session, open, run};
pub use prove::{Proof, ProofOutcome, check, prove, prove_host, prove_reader};
pub use spec::{
    Confinement, End, Limits, Output, Report, Spec, UNLIMITED, places_of_the_system, programs_of_the_system,
};

#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{attempt, close_inherited_at_exec, confine_self, warden};
