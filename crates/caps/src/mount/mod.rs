//! A directory of this machine that the user's own clients use directly, without a proposal.
//!
//! A [`Mount`] is opened for one call. Each path of the call is reached from the open directory, name by name. So
//! another process cannot divert the path meanwhile. For reading, links are followed as long as they stay in the
//! directory. For changes, no link is followed. A lookup returns a *place*: names without links. Each call enters a
//! place again, following no link. So a place never leads up, and never out of the directory in which it was looked
//! up.

mod change;
mod granted_directory;
mod look;

use std::os::fd::AsFd as _;

use cap_std::fs::Dir;
use kernel::grant::Attenuation;
use kernel::proposal::Finding;
use passable::{quoting, visible_line};

use crate::dir::Limits;
use crate::path::{Plain, Purpose};
use crate::walk;
use crate::{OpenError, failure, open_directory};

pub use granted_directory::{GrantedDirectory, interface as handed_interface};
pub use look::{Entry, ResolvedPlace};

/// The maximum size of a text that is read or written if the grant names no limit: 8 MiB.
pub const MAX_TEXT_BYTES: u64 = 8 << 20;

/// The maximum size of a file that is read in pieces or stored in a tree: 64 MiB.
pub const MAX_BYTES: u64 = 64 << 20;

/// The maximum number of names from the root to a place.
const MAX_DEPTH: usize = 128;

/// An open directory.
pub struct Mount {
    root: Dir,
    read_only: bool,
    limits: Limits,
}

impl Mount {
    /// Opens a directory by its absolute path, which was chosen by a person.
    ///
    /// # Errors
    /// When the path does not exist, or is no directory.
    pub fn open(path: &str, read_only: bool, attenuation: &Attenuation) -> Result<Mount, OpenError> {
        Ok(Mount { root: open_directory(path)?, read_only, limits: Limits::new(attenuation) })
    }

    /// Returns the same directory, in which nothing can be changed.
    pub fn read_only(self) -> Mount {
        Mount { read_only: true, ..self }
    }

    /// Returns the directory at a place below this one. It is entered without following a link.
    ///
    /// # Errors
    /// When the place no longer exists, or is no directory.
    pub fn enter(self, place: &[String]) -> Result<Mount, Finding> {
        if place.is_empty() {
            return Ok(self);
        }
        let shown = visible_line(&place.join("/")).into_owned();
        if place.len() > MAX_DEPTH {
            return Err(Finding::new("mount/deep", quoting!("`{}` is too deep", shown)).at("path"));
        }
        let entered = walk::enter(self.root.as_fd(), place.iter().map(String::as_str));
        let entered = entered.map_err(|e| failure::finding(&e, &format!("enter `{shown}`"), "path"))?;
        Ok(Mount { root: Dir::from_std_file(entered.into()), ..self })
    }

    /// Refuses a change if the directory is for reading only.
    fn check_writable(&self) -> Result<(), Finding> {
        match self.read_only {
            false => Ok(()),
            true => Err(Finding::new("mount/read-only", "this directory is for reading only")),
        }
    }
}

/// Returns a path in its plain form, or `None` if the path is empty.
fn plain(way: &[String], purpose: Purpose) -> Result<Option<Plain>, Finding> {
    match way {
        [] => Ok(None),
        _ => Plain::check(&way.join("/"), purpose).map(Some),
    }
}

/// Returns a path in its plain form. An empty path is refused, because it means the directory itself.
fn something(way: &[String], purpose: Purpose) -> Result<Plain, Finding> {
    plain(way, purpose)?.ok_or_else(|| {
        Finding::new("mount/itself", "the way leads nowhere: this is the directory itself").at("path")
    })
}
