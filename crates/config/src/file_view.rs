//! The files that a process can see. Two processes of one user can see different files under the same path.

use std::os::unix::fs::MetadataExt as _;

/// Returns a text that is the same for two processes if a path means the same file for both, and both may read the
/// same files. It names the mount namespace, the root directory, the user and the groups. It is empty if the system
/// does not tell.
pub fn file_view() -> String {
    let Ok(mounts) = std::fs::read_link("/proc/self/ns/mnt") else { return String::new() };
    let Ok(root) = std::fs::metadata("/") else { return String::new() };
    let Ok(mut groups) = rustix::process::getgroups() else { return String::new() };
    groups.push(rustix::process::getegid());
    let mut groups: Vec<u32> = groups.into_iter().map(rustix::process::Gid::as_raw).collect();
    groups.sort_unstable();
    groups.dedup();
    let user = rustix::process::geteuid().as_raw();
    format!("{} {}:{} {user} {groups:?}", mounts.display(), root.dev(), root.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_of_one_process_stays_the_same() {
        let view = file_view();
        assert!(view.starts_with("mnt:["), "{view}");
        assert_eq!(view, file_view());
    }
}
