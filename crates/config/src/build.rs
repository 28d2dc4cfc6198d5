//! The build of this program. A client and a daemon of different builds recognise each other by it.

use std::cmp::Ordering;

/// The variable that gives a program of tests another build.
#[cfg(feature = "failpoints")]
const VARIABLE: &str = "ALMONER_BUILD";

/// Returns the build of this program.
#[cfg(feature = "failpoints")]
pub fn id() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| control::BUILD.to_owned())
}

/// Returns the build of this program.
#[cfg(not(feature = "failpoints"))]
pub fn id() -> String {
    control::BUILD.to_owned()
}

/// Compares the versions of two builds. Returns `None` if the builds differ and their versions do not tell which is
/// newer.
pub fn compare(one: &str, other: &str) -> Option<Ordering> {
    if one == other {
        return Some(Ordering::Equal);
    }
    let order = version(one)?.cmp(&version(other)?);
    (order != Ordering::Equal).then_some(order)
}

/// Returns the numbers at the beginning of a build, such as those of `0.1.0+3f2a`.
fn version(build: &str) -> Option<[u64; 3]> {
    let plain = build.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let mut numbers = plain.split('.').map(|part| part.parse().ok());
    let version = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_ordered_by_version_alone() {
        for (one, other, expected) in [
            ("0.1.0", "0.1.0", Some(Ordering::Equal)),
            ("0.1.0", "0.2.0", Some(Ordering::Less)),
            ("0.10.0", "0.9.9", Some(Ordering::Greater)),
            ("0.1.0+abc", "0.2.0+012", Some(Ordering::Less)),
            ("0.1.0+abc", "0.1.0+def", None),
            ("0.1.0", "soon", None),
            ("0.1", "0.2.0", None),
        ] {
            assert_eq!(compare(one, other), expected, "{one} {other}");
        }
    }
}
