//! The sandbox on Linux: the warden, the restrictions, and the attempts to break them.

mod attempts;
mod calls;
mod calls_table;
mod files;
mod jail;
mod privileges;
#[expect(unsafe_code, reason = "system calls that safe Rust does not offer")]
mod raw;
mod streams;
mod tree;
mod warden;

use std::io;

pub use attempts::attempt;
pub use warden::warden;

use rustix::process::DumpableBehavior;

use crate::{Confinement, SandboxError};

/// Confines the calling process, which then continues. This is for Almoner's own child processes that hold foreign
/// code or foreign data. Afterwards, the process can start threads, but no process and no program. It can only signal
/// itself, opens no file for writing, and leaves no core dump; `executable` and `writable` are ignored. Only the
/// limits that the kernel keeps for one process apply: processor time, address space, file size, open files. The
/// process must have no other threads yet.
///
/// Linux 5.13 or later is enough, because seccomp covers the gaps of Landlock's first version.
///
/// # Errors
/// When a restriction cannot be enforced. The process must then end, because it may be partly confined.
pub fn confine_self(within: &Confinement) -> Result<(), SandboxError> {
    let confinement = Confinement { executable: Vec::new(), writable: Vec::new(), ..within.clone() };
    let confine = || -> io::Result<()> {
        privileges::limit(&confinement.limits, None)?;
        privileges::drop_all()?;
        files::confine(&confinement, &[], files::SignalConfinement::Itself)?;
        // This step must come after the others, because a process that cannot be dumped cannot read its own
        // descriptors.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(doing("keep others out of its memory"))?;
        calls::confine(&confinement, calls::AllowedStarts::Nothing)
    };
    confine().map_err(|e| SandboxError::Refused(e.to_string()))
}

/// Ensures that every program that this process starts inherits only the three standard descriptors. No descriptor is
/// closed now.
///
/// # Errors
/// When the kernel has no such call (before 5.11).
pub fn close_inherited_at_exec() -> Result<(), SandboxError> {
    raw::close_at_exec(3).map_err(|e| SandboxError::Refused(e.to_string()))
}

/// Returns a function that adds the failed action to an error.
fn doing(what: &str) -> impl Fn(rustix::io::Errno) -> io::Error + '_ {
    move |errno| {
        let error = io::Error::from(errno);
        io::Error::new(error.kind(), format!("could not {what}: {error}"))
    }
}
