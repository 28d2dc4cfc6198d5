//! The daemon's own paths on this machine, which are never granted. They are those of its store, settings, policies,
//! vault and sockets.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use passable::visible_line;

use config::place::Place;
use control::exit::{Exit, Failure};

/// The directories and sockets of the daemon.
#[derive(Debug)]
pub struct ProtectedPaths {
    paths: Vec<PathBuf>,
    /// The directory of model weights. It may be granted, because weights can be downloaded again and contain nothing
    /// private.
    exception: PathBuf,
}

impl ProtectedPaths {
    /// Returns the protected paths of a daemon at this place. The vault and its key are in the same directory as the
    /// store.
    pub fn new(place: &Place) -> ProtectedPaths {
        // For Endo, only the socket itself is protected, because the user may put it next to any other files.
        let all = [&place.state, &place.config, &place.runtime, &place.cache, &place.endo.socket];
        let mut paths: Vec<PathBuf> = all.map(Clone::clone).into();
        // The control socket can lie among temporary files.
        paths.extend(place.socket().parent().filter(|dir| *dir != place.runtime).map(Path::to_owned));
        ProtectedPaths { paths, exception: place.weights() }
    }

    /// Rejects a path that contains one of the daemon's paths, or is inside of one. The path need not exist yet.
    ///
    /// # Errors
    /// When the path overlaps one of the daemon's paths, or its real target cannot be found out.
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
            // Links are resolved anew each time, because the target of a path can change while the daemon is running.
            let own = resolve_links(own).ok_or_else(|| refuse(odd))?;
            let overlaps = real.starts_with(&own) || own.starts_with(&real);
            // Weights in the cache may be granted. If an own path is inside of the weights directory, that path stays
            // protected.
            let is_weights = real.starts_with(&but) && !own.starts_with(&but);
            if overlaps && !is_weights {
                return Err(refuse("the daemon keeps its own files there"));
            }
        }
        Ok(())
    }
}

/// Returns the real path behind all links. If it cannot be found out, returns the path unchanged.
pub(crate) fn real_path(path: &str) -> String {
    let led = resolve_links(Path::new(path)).and_then(|led| led.into_os_string().into_string().ok());
    led.unwrap_or_else(|| path.to_owned())
}

/// Returns the real path behind all links, as far as the path exists. Returns `None` if it cannot be found out.
pub(crate) fn resolve_links(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    for there in path.ancestors() {
        match std::fs::canonicalize(there) {
            Ok(real) => {
                let rest = path.strip_prefix(there).ok()?;
                let plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
                // A dangling link would lead elsewhere as soon as its target exists.
                let next = rest.components().next().map(|part| there.join(part));
                let dangles = next.is_some_and(|next| std::fs::symlink_metadata(next).is_ok());
                // Joining an empty path would append a slash.
                return (plain && !dangles)
                    .then(|| if rest.as_os_str().is_empty() { real } else { real.join(rest) });
            }
            // A path beneath a regular file does not exist either.
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
