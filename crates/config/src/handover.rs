//! Handovers: a daemon ends, so that a daemon of another build takes its place.
//!
//! Two clients of different builds could replace each other's daemons without end. So a list beside the control socket
//! holds the handovers of the last minutes, and a client that would undo one of them leaves the daemon as it is:
//!
//! - Each build takes the place of another one at most once.
//! - A build whose daemon was replaced takes the place back only if its version is the newer one.
//!
//! So after at most two handovers the daemon stays, and it has the newest version.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::place::{Place, private_dir};
use crate::{build, clock};
use control::exit::{Exit, Failure};

/// The time for which a handover counts.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(600);

/// The build of a daemon that does not tell it.
pub const UNKNOWN_BUILD: &str = "unknown";

/// A handover that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Handover {
    /// The build of the daemon that was to end.
    from: String,
    /// The build of the client that asked it to.
    to: String,
    /// The time, in milliseconds since 1970.
    at_ms: i64,
}

/// Begins a handover from the daemon's build to this program's, and records it. Returns `false` if the daemon has to stay.
///
/// # Errors
/// When the list cannot be written. The daemon has to stay then, since nothing would end a fight.
pub fn begin(place: &Place, daemon: &str) -> Result<bool, Failure> {
    let own = build::id();
    let now = clock::now_ms();
    let timeout = i64::try_from(HANDOVER_TIMEOUT.as_millis()).unwrap_or(i64::MAX);
    let mut all = read(place);
    all.retain(|one| (0..timeout).contains(&now.saturating_sub(one.at_ms)));
    if !may_begin(&all, daemon, &own) {
        return Ok(false);
    }
    all.push(Handover { from: daemon.to_owned(), to: own, at_ms: now });
    write(place, &all).map(|()| true)
}

/// Records the build of the daemon that serves a place now, for clients that it cannot greet.
///
/// # Errors
/// When the file cannot be written.
pub fn record_daemon(place: &Place) -> std::io::Result<()> {
    std::fs::write(daemon_file(place), build::id())
}

/// Returns the build of the daemon that serves a place, as the daemon has recorded it.
pub fn recorded_daemon(place: &Place) -> String {
    let recorded = std::fs::read_to_string(daemon_file(place)).unwrap_or_default();
    if recorded.is_empty() { UNKNOWN_BUILD.to_owned() } else { recorded }
}

fn may_begin(recent: &[Handover], daemon: &str, own: &str) -> bool {
    let has = |from: &str, to: &str| recent.iter().any(|one| one.from == from && one.to == to);
    let is_newer = build::compare(own, daemon) == Some(std::cmp::Ordering::Greater);
    own != daemon && !has(daemon, own) && (!has(own, daemon) || is_newer)
}

fn file(place: &Place) -> PathBuf {
    place.runtime.join("handovers.json")
}

fn daemon_file(place: &Place) -> PathBuf {
    place.runtime.join("daemon.build")
}

/// Returns the recorded handovers. A list that cannot be read has none.
fn read(place: &Place) -> Vec<Handover> {
    std::fs::read(file(place)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn write(place: &Place, all: &[Handover]) -> Result<(), Failure> {
    private_dir(&place.runtime)?;
    let path = file(place);
    let failed = |reason: String| {
        Failure::new(Exit::Failure, format!("cannot write {}: {reason}", path.display()))
            .help("the directory must be yours, and writable")
    };
    let text = serde_json::to_vec(all).map_err(|e| failed(e.to_string()))?;
    let written = tempfile::NamedTempFile::new_in(&place.runtime).and_then(|mut new| {
        new.write_all(&text)?;
        new.persist(&path).map_err(|error| error.error)
    });
    written.map(drop).map_err(|e| failed(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets clients of two builds come in turn, and returns the builds of the daemons.
    fn fight(first: &str, clients: [&str; 2]) -> Vec<String> {
        let (mut recent, mut daemon) = (Vec::new(), first.to_owned());
        let mut seen = vec![daemon.clone()];
        for turn in 0..10 {
            let own = clients[turn % 2];
            if may_begin(&recent, &daemon, own) {
                recent.push(Handover { from: daemon, to: own.to_owned(), at_ms: 0 });
                daemon = own.to_owned();
                seen.push(daemon.clone());
            }
        }
        seen
    }

    #[test]
    fn fight_of_two_builds_ends_with_the_newest() {
        assert_eq!(fight("0.1.0", ["0.2.0", "0.1.0"]), ["0.1.0", "0.2.0"]);
        assert_eq!(fight("0.2.0", ["0.1.0", "0.2.0"]), ["0.2.0", "0.1.0", "0.2.0"]);
        // Without an order, the first handover holds.
        assert_eq!(fight("0.1.0+a", ["0.1.0+b", "0.1.0+a"]), ["0.1.0+a", "0.1.0+b"]);
        assert_eq!(fight("unknown", ["0.1.0", "0.1.0"]), ["unknown", "0.1.0"]);
        assert_eq!(fight("0.1.0", ["0.1.0", "0.1.0"]), ["0.1.0"]);
    }

    /// A service manager may start the daemon of before again.
    #[test]
    fn daemon_that_comes_back_is_asked_once() {
        let done = [Handover { from: "0.1.0".into(), to: "0.2.0".into(), at_ms: 0 }];
        assert!(!may_begin(&done, "0.1.0", "0.2.0"));
    }
}
