//! Running a program many times, and the time that it takes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use wait4::Wait4 as _;

use super::table::Row;
use crate::process::shown;

/// One run of a program, from start to end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) wall: Duration,
    /// Of the program and of the children it waited for.
    pub(super) cpu: Duration,
    /// Bytes.
    pub(super) peak: u64,
}

/// Runs the program to its end. Its output is kept only to explain a failure.
pub(super) fn once(command: &mut Command) -> Result<(Sample, String)> {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    let mut said = Vec::new();
    if let Some(output) = &mut child.stdout {
        std::io::Read::read_to_end(output, &mut said)?;
    }
    let used = child.wait4()?;
    let wall = start.elapsed();
    let said = String::from_utf8_lossy(&said).into_owned();
    if !used.status.success() {
        let first = said.lines().next().unwrap_or_default();
        bail!("`{}` ended with {} {first}", shown(command), used.status);
    }
    let cpu = used.rusage.utime + used.rusage.stime;
    Ok((Sample { wall, cpu, peak: used.rusage.maxrss }, said))
}

/// Returns a row from many samples: medians of time and processor time, the most memory of all.
pub(super) fn row(what: &str, samples: &[Sample]) -> Row {
    let wall: Vec<Duration> = samples.iter().map(|sample| sample.wall).collect();
    let cpu: Vec<Duration> = samples.iter().map(|sample| sample.cpu).collect();
    let (_, cpu, _) = spread(&cpu);
    let peak = samples.iter().map(|sample| sample.peak).max().unwrap_or_default();
    Row { cpu: time(cpu), memory: size(peak), ..times(what, &wall) }
}

/// Returns a row from many times.
pub(super) fn times(what: &str, times: &[Duration]) -> Row {
    let (least, median, most) = spread(times);
    Row {
        what: what.to_owned(),
        figure: time(median),
        range: format!("{}..{}", time(least), time(most)),
        note: format!("n={}", times.len()),
        ..Row::default()
    }
}

/// Returns the least, the median and the most; zeros for none.
pub(super) fn spread(times: &[Duration]) -> (Duration, Duration, Duration) {
    let mut sorted = times.to_vec();
    sorted.sort();
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    (at(0), at(sorted.len() / 2), at(sorted.len().saturating_sub(1)))
}

/// Returns a time with three digits that say something.
pub(super) fn time(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        _ if micros < 1e3 => format!("{micros:.0} µs"),
        _ if micros < 1e4 => format!("{:.2} ms", micros / 1e3),
        _ if micros < 1e6 => format!("{:.1} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

/// Bytes, in powers of 1024.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..=0x9f_ffff => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
        0xa0_0000..=0x3fff_ffff => format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20)),
        _ => format!("{:.2} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{once, size, spread, time};

    #[test]
    fn program_is_measured_and_a_failure_is_an_error() {
        let (sample, said) = once(Command::new("sh").args(["-c", "sleep 0.02; echo done"])).unwrap();
        assert!(
            sample.wall >= Duration::from_millis(20) && sample.cpu < sample.wall && sample.peak > 100_000,
            "{sample:?}"
        );
        assert_eq!(said, "done\n");
        let fault = once(Command::new("sh").args(["-c", "echo why; exit 3"])).unwrap_err().to_string();
        assert!(fault.contains("exit status: 3") && fault.contains("why"), "{fault}");
    }

    #[test]
    fn figures_are_rounded_for_readers() {
        let of = Duration::from_micros;
        assert_eq!(
            [time(of(7)), time(of(1234)), time(of(45_678)), time(of(1_234_567))],
            ["7 µs", "1.23 ms", "45.7 ms", "1.23 s"]
        );
        assert_eq!([size(3 << 19), size(45 << 20), size(9 << 29)], ["1.5 MiB", "45 MiB", "4.50 GiB"]);
        assert_eq!(spread(&[of(3), of(1), of(2)]), (of(1), of(2), of(3)));
        assert_eq!(spread(&[]), (of(0), of(0), of(0)));
    }
}
