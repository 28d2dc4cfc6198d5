//! The speed of the machine, and the processes on it: read from `/proc`, without help from the measured program.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// Returns processor, cores and load in one line.
pub(super) fn describe() -> String {
    let field = |file: &str, name: &str| -> Option<String> {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("{processor}, {cores} cores, load {} before", load.split(' ').next().unwrap_or("unknown"))
}

/// Returns how long one append of a page and its `fdatasync` take in this folder, `samples` times.
pub(super) fn syncs(folder: &Path, samples: usize) -> Result<Vec<Duration>> {
    let path = folder.join("sync-probe");
    let mut file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let page = [0x5a_u8; 4096];
    let mut times = Vec::with_capacity(samples);
    for _ in 0..samples {
        let start = Instant::now();
        file.write_all(&page)?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    fs::remove_file(&path)?;
    Ok(times)
}

/// The resources that a process has used so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessUsage {
    /// Bytes of memory at its peak.
    pub(super) peak: u64,
    /// Bytes of memory now.
    pub(super) resident: u64,
    /// User and system time.
    pub(super) cpu: Duration,
}

/// Returns the number of processes whose environment holds `ALMONER_HOME=home`, with all their descendants, and their
/// usage added up.
///
/// A daemon is no child of ours by the time it is measured, so that waiting for it tells nothing.
pub(super) fn processes_of(home: &Path) -> (usize, ProcessUsage) {
    let mark = format!("ALMONER_HOME={}", home.display());
    let mut parents = Vec::new();
    let mut ours = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some(parent) = fields(&stat).get(1).and_then(|field| field.parse::<u32>().ok()) else { continue };
        parents.push((id, parent));
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes()) {
            ours.push(id);
        }
    }
    // A child may have been started with an empty environment.
    let mut seen = 0;
    while seen < ours.len() {
        let parent = ours[seen];
        let children = parents.iter().filter(|&&(id, of)| of == parent && !ours.contains(&id));
        let children: Vec<u32> = children.map(|&(id, _)| id).collect();
        ours.extend(children);
        seen += 1;
    }
    let mut total = ProcessUsage::default();
    for id in &ours {
        let used = process_usage(*id).unwrap_or_default();
        total.peak += used.peak;
        total.resident += used.resident;
        total.cpu += used.cpu;
    }
    (ours.len(), total)
}

fn process_usage(id: u32) -> Option<ProcessUsage> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let bytes = |field: &str| {
        let said = status.lines().find_map(|line| line.strip_prefix(field))?;
        let kibibytes: u64 = said.trim().trim_end_matches(" kB").parse().ok()?;
        Some(kibibytes * 1024)
    };
    // All threads: nanoseconds on a processor, where `stat` counts in hundredths of a second.
    let threads = fs::read_dir(format!("/proc/{id}/task")).ok()?.flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    let cpu = Duration::from_nanos(nanoseconds.sum());
    Some(ProcessUsage { peak: bytes("VmHWM:")?, resident: bytes("VmRSS:")?, cpu })
}

/// Returns the fields of `/proc/ID/stat` behind the name, which may hold blanks and brackets: state, parent, …
fn fields(stat: &str) -> Vec<&str> {
    stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::processes_of;

    #[test]
    fn process_is_found_by_its_home() {
        let home = Path::new("/nowhere/xtask-bench-test");
        assert_eq!(processes_of(home).0, 0);
        let mut child = Command::new("sleep").arg("20").env("ALMONER_HOME", home).spawn().unwrap();
        // The environment is there only once the child has become `sleep`.
        let mut found = (0, super::ProcessUsage::default());
        for _ in 0..500 {
            found = processes_of(home);
            if found.0 == 1 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found.0, 1);
        assert!(found.1.peak > 10_000, "{found:?}");
    }
}
