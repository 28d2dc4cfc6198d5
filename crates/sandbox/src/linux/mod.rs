//! Linux: the warden, the restrictions, and the attempts to break them.

mod attempts;
mod calls;
mod calls_table;
mod files;
mod jail;
mod privileges;
#[expect(unsafe_code, reason = "four system calls that safe Rust has no words for")]
mod raw;
mod streams;
mod tree;
mod warden;

use std::io;

pub use attempts::attempt;
pub use warden::warden;

use rustix::process::DumpableBehavior;

use crate::{Confinement, SandboxError};

/// Confines the calling process, which goes on as it is: for children of ours that hold foreign code or foreign data.
/// Afterwards it starts threads, but no process and no program. It signals only itself, opens nothing for writing,
/// and leaves no core dump; `executable` and `writable` are ignored. Only the limits that the kernel keeps for one
/// process count: processor time, address space, file size, open files. The process must have no other threads yet.
///
/// It works from Linux 5.13 on: seccomp covers the gaps of Landlock's first version.
///
/// # Errors
/// The restriction that could not be enforced. The process must end then: it may be confined in part.
pub fn confine_self(within: &Confinement) -> Result<(), SandboxError> {
    let confinement = Confinement { executable: Vec::new(), writable: Vec::new(), ..within.clone() };
    let confine = || -> io::Result<()> {
        privileges::limit(&confinement.limits, None)?;
        privileges::drop_all()?;
        files::confine(&confinement, &[], files::SignalConfinement::Itself)?;
        // Not before: who cannot be dumped cannot look at its own descriptors either.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(doing("keep others out of its memory"))?;
        calls::confine(&confinement, calls::AllowedStarts::Nothing)
    };
    confine().map_err(|e| SandboxError::Refused(e.to_string()))
}

/// Makes every program that this process starts inherit only the three usual descriptors. Nothing is closed.
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
