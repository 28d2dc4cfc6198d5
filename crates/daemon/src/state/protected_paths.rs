//! The daemon's own paths on this machine, which are never granted: its store, its settings and policies, its vault,
//! its sockets.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use passable::visible_line;

use config::place::Place;
use control::exit::{Exit, Failure};

/// The directories and sockets that are the daemon's own.
#[derive(Debug)]
pub struct ProtectedPaths {
    paths: Vec<PathBuf>,
    /// Weights: they can be had again, and tell nothing.
    exception: PathBuf,
}

impl ProtectedPaths {
    /// Returns all that a daemon at this place keeps. The vault and its key lie beside the store.
    pub fn new(place: &Place) -> ProtectedPaths {
        // Of Endo, only the socket itself counts: the user may put it beside any other files.
        let all = [&place.state, &place.config, &place.runtime, &place.cache, &place.endo.socket];
        ProtectedPaths { paths: all.map(Clone::clone).into(), exception: place.weights() }
    }

    /// Refuses a path that holds something of the daemon's, or lies in it. Nothing needs to be there yet.
    ///
    /// # Errors
    /// When it is so, or where the path leads cannot be told.
    pub fn check(&self, path: &Path) -> Result<(), Failure> {
        let refuse = |why: &str| {
            let shown = path.to_string_lossy();
            Failure::new(Exit::Denied, format!("`{}` cannot be handed over: {why}", visible_line(&shown)))
                .help("choose a directory beside the daemon's own; `almoner doctor` names those")
        };
        let odd = "where it leads cannot be told";
        let real = resolve_links(path).ok_or_else(|| refuse(odd))?;
        let but = resolve_links(&self.exception).ok_or_else(|| refuse(odd))?;
        for own in &self.paths {
            // Links are followed anew each time: the target of a path can change while the daemon lives.
            let own = resolve_links(own).ok_or_else(|| refuse(odd))?;
            let overlaps = real.starts_with(&own) || own.starts_with(&real);
            // Weights below the cache; a home that shares its weights has none of its own there.
            let is_weights = real.starts_with(&but) && !own.starts_with(&but);
            if overlaps && !is_weights {
                return Err(refuse("the daemon keeps its own files there"));
            }
        }
        Ok(())
    }
}

/// Returns where a path leads, with all links followed, if that can be told; else the path as it is.
pub(crate) fn real_path(path: &str) -> String {
    let led = resolve_links(Path::new(path)).and_then(|led| led.into_os_string().into_string().ok());
    led.unwrap_or_else(|| path.to_owned())
}

/// Returns where a path leads, with all links followed as far as there is something. `None` if that cannot be told.
pub(crate) fn resolve_links(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    for there in path.ancestors() {
        match std::fs::canonicalize(there) {
            Ok(real) => {
                let rest = path.strip_prefix(there).ok()?;
                let plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
                // A dangling link would lead elsewhere as soon as its target is there.
                let next = rest.components().next().map(|part| there.join(part));
                let dangles = next.is_some_and(|next| std::fs::symlink_metadata(next).is_ok());
                // Joining nothing would end the path in a slash.
                return (plain && !dangles)
                    .then(|| if rest.as_os_str().is_empty() { real } else { real.join(rest) });
            }
            // Beneath a file there is nothing either.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(_) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_paths_and_their_parents_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let home = root.join("home");
        let own = ProtectedPaths::new(&Place::under(&home));
        for made in ["home/state/store", "home/config", "home/cache/models/a", "home/mine", "out"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        std::fs::write(root.join("file"), "x").unwrap();
        std::os::unix::fs::symlink(home.join("config"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(home.join("config/later"), root.join("dangling")).unwrap();
        for (path, allowed) in [
            ("home", false),
            ("", false),
            ("home/state", false),
            ("home/state/store/new", false),
            ("home/config", false),
            ("home/config/new", false),
            ("home/run", false),
            ("home/run/new", false),
            ("home/cache", false),
            ("link", false),
            ("link/new", false),
            ("dangling", false),
            ("out/no/../../home/config", false),
            ("home/cache/models", true),
            ("home/cache/models/a", true),
            ("home/mine", true),
            ("home/new", true),
            ("home/configuration", true),
            ("out", true),
            ("out/new/newer", true),
            ("file/sub", true),
        ] {
            let said = own.check(&root.join(path));
            assert_eq!(said.is_ok(), allowed, "{path}: {said:?}");
        }
    }
}
