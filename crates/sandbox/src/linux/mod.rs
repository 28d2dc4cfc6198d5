//! Linux: the warden, what confines, and what tries to get out.

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

use crate::{Confinement, SandboxError};

/// Confines the calling process, which goes on as it is: for children of ours that hold foreign code or foreign data.
/// It can execute nothing afterwards, whatever `executable` says. Call it before there are other threads.
///
/// # Errors
/// What could not be held. The process must end then: it may be confined in part.
pub fn confine_self(within: &Confinement) -> Result<(), SandboxError> {
    let confinement = Confinement { executable: Vec::new(), ..within.clone() };
    let confine = || -> io::Result<()> {
        privileges::limit(&confinement.limits, None)?;
        privileges::drop_all()?;
        files::confine(&confinement, &[], files::Signals::Held)?;
        calls::confine(&confinement, calls::Starts::Nothing)
    };
    confine().map_err(|e| SandboxError::Refused(e.to_string()))
}

/// An error with what was being done.
fn doing(what: &str) -> impl Fn(rustix::io::Errno) -> io::Error + '_ {
    move |errno| {
        let error = io::Error::from(errno);
        io::Error::new(error.kind(), format!("could not {what}: {error}"))
    }
}
