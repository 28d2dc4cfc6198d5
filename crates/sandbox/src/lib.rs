//! Runs programs with what they were given and nothing else.
//!
//! [`run`] starts a *warden*: this very binary again, as `almoner sandbox`. The warden gets the [`Spec`], starts the
//! program as its own descendant with every restriction in force, looks on, ends whatever outlives the program or
//! breaks a limit, and reports. The daemon itself is never confined. A child of ours that runs no program but holds what
//! strangers made, the host of a local model, shuts itself in with [`confine_self`].
//!
//! [`open`] does the same with a program that is talked to while it runs: what it reads and says goes by the warden, which
//! keeps nothing but its standard error.
//!
//! Everything fails closed: what the kernel cannot hold is an error before anything runs, never a program that runs
//! with less protection than was asked for. Only Linux can hold anything so far; elsewhere every call is refused.
//!
//! What is held, and by what:
//!
//! | what | by |
//! | --- | --- |
//! | files: read, write, make, remove, rename, truncate, execute | Landlock |
//! | modes, owners, times, extended attributes of files | seccomp: they stay as they are |
//! | no leases, no news of what others change, no files of memory | seccomp |
//! | no network, no sockets of this machine; no debugging, mounting, loading, keys, other namespaces | seccomp |
//! | signals to others, abstract sockets | Landlock, and a PID namespace where there is one |
//! | processor time, address space, file size, open files, processes | rlimits; the warden counts all together |
//! | wall time, memory of all, what grows where files lie in memory, bytes written by all, what outlives its parent | the warden |
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
pub use linux::{attempt, confine_self, hand_nothing_on, warden};
pub use loaders::{Loaders, loaders, search};
pub use parent::{Ends, Helper, SandboxError, Session, open, run};
pub use prove::{Proof, Standing, prove, prove_host};
pub use spec::{
    Confinement, End, Limits, Output, Report, Spec, UNLIMITED, places_of_the_system, programs_of_the_system,
};

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{attempt, confine_self, hand_nothing_on, warden};
