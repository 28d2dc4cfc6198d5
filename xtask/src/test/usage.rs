//! The cost of something: wall time, and processor time of the programs that it started.

use std::fmt;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// Describes wall time and processor time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) wall: Duration,
    /// User and system time of all children that have ended, and of theirs. A daemon that no process waits for is
    /// missing.
    pub(crate) cpu: Duration,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.wall += other.wall;
        self.cpu += other.cpu;
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8.1} s wall {:>8.1} s CPU", self.wall.as_secs_f64(), self.cpu.as_secs_f64())
    }
}

/// Describes the moment from which usage is counted.
pub(crate) struct Meter {
    began: Instant,
    cpu: Duration,
}

impl Meter {
    /// Begins to count.
    pub(crate) fn start() -> Result<Self> {
        Ok(Self { began: Instant::now(), cpu: children()? })
    }

    /// Returns the usage since the start.
    pub(crate) fn read(&self) -> Result<Usage> {
        Ok(Usage { wall: self.began.elapsed(), cpu: children()?.saturating_sub(self.cpu) })
    }
}

fn children() -> Result<Duration> {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(duration(used.user_time()) + duration(used.system_time()))
}

fn duration(time: TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::Meter;

    #[test]
    fn child_that_computes_is_counted() {
        let meter = Meter::start().unwrap();
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", busy]).status().unwrap().success());
        let used = meter.read().unwrap();
        assert!(used.cpu > Duration::from_millis(10), "{used}");
        assert!(used.wall > Duration::from_millis(10), "{used}");
    }
}
