//! Which commit points of a kill sweep the tests visit, and which tests of web pages run.
//!
//! A sweep kills the daemon at every commit, which takes minutes. The short check visits one point of eight.
//! Many tests of pages exist twice, with scripts and without; the short check runs one of the two. The hash of the
//! commit says which, so that all are visited as the project goes on.

use std::fmt;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::process::output;
use crate::workspace::Workspace;

/// Names the variable that says how far apart the visited points are.
const STRIDE_VARIABLE: &str = "ALMONER_KILL_STRIDE";

/// Names the variable that says which point is the first.
const OFFSET_VARIABLE: &str = "ALMONER_KILL_OFFSET";

/// How far apart the points are that the short check visits.
const STRIDE: u64 = 8;

/// Describes which points are visited: one of every `stride`, the first at `offset`, which is below the stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    stride: u64,
    offset: u64,
}

impl Sample {
    /// Every point.
    pub(super) const EVERY: Self = Self { stride: 1, offset: 0 };

    /// Returns the sample of the short check: the one that the environment asks for, or that of the commit.
    pub(super) fn short(workspace: &Workspace) -> Result<Self> {
        let said = |variable: &str| std::env::var(variable).ok();
        let (stride, offset) = (said(STRIDE_VARIABLE), said(OFFSET_VARIABLE));
        Self::asked_for(stride.as_deref(), offset.as_deref(), offset_here(workspace))
    }

    /// Returns the sample for these texts of the two variables. The offset of the commit belongs to the stride of the
    /// check: a stride that is asked for begins at 0, unless an offset is asked for as well.
    fn asked_for(stride: Option<&str>, offset: Option<&str>, offset_of_commit: u64) -> Result<Self> {
        let number = |variable: &str, text: &str| -> Result<u64> {
            text.parse().with_context(|| format!("cannot read `{variable}={text}` as a number"))
        };
        let offset = offset.map(|text| number(OFFSET_VARIABLE, text)).transpose()?;
        let (stride, offset) = match stride {
            None => (STRIDE, offset.unwrap_or(offset_of_commit)),
            Some(text) => (number(STRIDE_VARIABLE, text)?, offset.unwrap_or(0)),
        };
        ensure!(stride > 0, "`{STRIDE_VARIABLE}` is 0; 1 visits every commit point");
        Ok(Self { stride, offset: offset % stride })
    }

    /// Returns nextest's expression for the tests that are left out: those with scripts or those without. A full sample
    /// leaves out none. Its period differs from that of the themes, which change with the lowest bit of the offset.
    pub(super) fn omitted_tests(self) -> Option<&'static str> {
        match (self.stride, self.offset / 2 % 2) {
            (1, _) => None,
            (_, 0) => Some("test(/^web::.*_without_scripts$/)"),
            _ => Some("test(/^web::.*_with_scripts$/)"),
        }
    }

    /// Tells the tests which points to visit, against any setting of the environment.
    pub(super) fn apply(self, command: &mut Command) {
        command.env(STRIDE_VARIABLE, self.stride.to_string()).env(OFFSET_VARIABLE, self.offset.to_string());
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stride {
            1 => f.write_str("every commit point"),
            stride => write!(f, "one commit point of {stride}, from number {}", self.offset),
        }
    }
}

/// Returns the first point to visit, from 0, for the commit with this hash. Text that is no hash begins at 0.
fn offset(hash: &str) -> u64 {
    let head: String = hash.trim().chars().take(8).collect();
    u64::from_str_radix(&head, 16).unwrap_or(0) % STRIDE
}

/// Returns the offset for the commit that is checked out; 0 outside of a repository.
fn offset_here(workspace: &Workspace) -> u64 {
    let head = output(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(&workspace.root));
    head.map_or(0, |hash| offset(&hash))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{OFFSET_VARIABLE, STRIDE, STRIDE_VARIABLE, Sample, offset};

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

    #[test]
    fn stride_of_environment_leaves_offset_of_commit_out() {
        let check = |stride, offset, expected: (u64, u64)| {
            let sample = Sample::asked_for(stride, offset, 5).unwrap();
            assert_eq!((sample.stride, sample.offset), expected, "{stride:?} {offset:?}");
        };
        check(None, None, (8, 5));
        check(None, Some("3"), (8, 3));
        check(None, Some("11"), (8, 3));
        check(Some("1"), None, (1, 0));
        check(Some("1"), Some("7"), (1, 0));
        check(Some("4"), None, (4, 0));
        check(Some("4"), Some("6"), (4, 2));
        for (stride, offset) in [(Some("0"), None), (Some("few"), None), (None, Some("-1"))] {
            assert!(Sample::asked_for(stride, offset, 5).is_err(), "{stride:?} {offset:?}");
        }
    }

    #[test]
    fn short_check_leaves_out_one_test_of_each_pair() {
        assert_eq!(Sample::EVERY.omitted_tests(), None);
        let omitted = |offset| Sample { stride: STRIDE, offset }.omitted_tests().unwrap();
        for theme in [0, 1] {
            assert!(omitted(theme).contains("_without_scripts"), "{theme}");
            assert!(omitted(theme + 2).contains("_with_scripts"), "{theme}");
        }
    }

    #[test]
    fn printed_sample_is_the_one_of_the_tests() {
        let check = |sample: Sample, stride: &str, offset: &str, printed: &str| {
            let mut command = Command::new("none");
            command.env(STRIDE_VARIABLE, "8").env(OFFSET_VARIABLE, "7");
            sample.apply(&mut command);
            let told = |name: &str| command.get_envs().find(|(key, _)| *key == name)?.1?.to_str();
            assert_eq!((told(STRIDE_VARIABLE), told(OFFSET_VARIABLE)), (Some(stride), Some(offset)));
            assert_eq!(sample.to_string(), printed);
        };
        check(Sample::EVERY, "1", "0", "every commit point");
        let some = Sample::asked_for(Some("4"), Some("2"), 5).unwrap();
        check(some, "4", "2", "one commit point of 4, from number 2");
    }
}
