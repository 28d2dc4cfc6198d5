//! The memory that is available, and the limit of the memory of a host.

use std::path::Path;

#[cfg(feature = "local")]
use crate::error::ModelError;

/// Returns the bytes of memory that are available without swapping, also within the limit of a container. Returns
/// `None` if the system does not report them.
#[must_use]
pub fn available() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let machine = field(&meminfo, "MemAvailable:")?;
    Some(container(Path::new("/sys/fs/cgroup")).map_or(machine, |container| container.min(machine)))
}

/// Returns the value of a `Name:   1234 kB` line of a proc file, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the memory left under the control group's limit. Inside a container its own group is mounted at the root.
fn container(root: &Path) -> Option<u64> {
    let number = |name: &str| std::fs::read_to_string(root.join(name)).ok()?.trim().parse::<u64>().ok();
    let (limit, used) = (number("memory.max")?, number("memory.current")?);
    // The page cache is counted as used but is given up on demand.
    let stat = std::fs::read_to_string(root.join("memory.stat")).unwrap_or_default();
    let cache = stat.lines().find_map(|l| l.strip_prefix("inactive_file ")?.parse::<u64>().ok()).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(cache)))
}

#[cfg(feature = "local")]
/// Refuses to go on if fewer than `needed` bytes are available.
pub(super) fn check(needed: u64, available: Option<u64>) -> Result<(), ModelError> {
    match available {
        Some(available) if available < needed => Err(ModelError::TooLittleMemory { needed, available }),
        _ => Ok(()),
    }
}

#[cfg(feature = "local")]
/// Limits the writable memory of this process to `bytes`, for as long as it runs. Allocations beyond the limit fail,
/// which ends this process and spares the rest of the machine.
pub(super) fn limit(bytes: u64) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Data).maximum;
    let wanted = maximum.map_or(bytes, |maximum| maximum.min(bytes));
    setrlimit(Resource::Data, Rlimit { current: Some(wanted), maximum: Some(wanted) })
        .map_err(|e| format!("cannot limit memory: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_machine_and_the_container() {
        assert!(available().is_none_or(|bytes| bytes > 1 << 20));
        assert_eq!(field("MemTotal: 1 kB\nMemAvailable:   2048 kB\n", "MemAvailable:"), Some(2 << 20));
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        put("memory.max", "max\n");
        put("memory.current", "600\n");
        assert_eq!(container(dir.path()), None);
        put("memory.max", "1000\n");
        put("memory.stat", "file 500\ninactive_file 200\n");
        assert_eq!(container(dir.path()), Some(600));
    }

    #[cfg(feature = "local")]
    #[test]
    fn too_little_memory_is_refused_with_figures() {
        let short = check(10, Some(9)).unwrap_err();
        assert_eq!(short, ModelError::TooLittleMemory { needed: 10, available: 9 });
        assert!(check(10, Some(10)).is_ok() && check(10, None).is_ok());
    }
}
