//! Which commit points of a kill sweep the short check visits.
//!
//! A sweep kills the daemon at every commit, which takes minutes. The short check visits one point of eight, and the hash of
//! the commit says which, so that all are visited as the project goes on.

use std::process::Command;

use crate::process::output;
use crate::workspace::Workspace;

/// Names the variable that says how far apart the visited points are.
pub(crate) const STRIDE_VARIABLE: &str = "ALMONER_KILL_STRIDE";

/// Names the variable that says which point is the first.
pub(crate) const OFFSET_VARIABLE: &str = "ALMONER_KILL_OFFSET";

/// How far apart the points are that the short check visits.
pub(crate) const STRIDE: u64 = 8;

/// Returns the first point to visit, from 0, for the commit with this hash. Text that is no hash begins at 0.
pub(crate) fn offset(hash: &str) -> u64 {
    let head: String = hash.trim().chars().take(8).collect();
    u64::from_str_radix(&head, 16).unwrap_or(0) % STRIDE
}

/// Returns the offset for the commit that is checked out; 0 outside of a repository.
pub(crate) fn offset_here(workspace: &Workspace) -> u64 {
    let head = output(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(&workspace.root));
    head.map_or(0, |hash| offset(&hash))
}

/// Tells the tests which points to visit; what the environment says already stays.
pub(crate) fn sample(command: &mut Command, stride: u64, offset: u64) {
    for (variable, value) in [(STRIDE_VARIABLE, stride), (OFFSET_VARIABLE, offset)] {
        if std::env::var_os(variable).is_none() {
            command.env(variable, value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{STRIDE, offset};

    #[test]
    fn offset_of_hash_is_below_stride() {
        let cases = [
            ("75e1654f2ab13d2618f8b6a1244e9a4fb3194308", 7),
            ("00000000aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", 0),
            ("0000000cffffffffffffffffffffffffffffffff", 4),
            ("", 0),
            ("no hash", 0),
        ];
        for (hash, expected) in cases {
            assert_eq!(offset(hash), expected, "{hash}");
        }
        let seen: std::collections::BTreeSet<u64> =
            (0..64_u32).map(|number| offset(&format!("{number:08x}"))).collect();
        assert_eq!(seen, (0..STRIDE).collect());
    }
}
