//! The measurement of how fast a disk makes small writes durable. Benchmarks print this figure beside every rate of
//! durable writes.

use std::fs::{self, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Returns how many 4 KiB writes per second the disk of `dir` makes durable, one after the other. Measures for about
/// `budget`, and leaves no files behind.
pub fn fsync_rate(dir: &Path, budget: Duration) -> io::Result<f64> {
    let path = dir.join(format!("fsync-probe-{}", std::process::id()));
    let rate = measure(&path, budget);
    fs::remove_file(&path)?;
    rate
}

fn measure(path: &Path, budget: Duration) -> io::Result<f64> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    let page = [0x5a_u8; 4096];
    // SQLite's log has a fixed size once it has grown, and is overwritten in place. So the size of this file must not
    // change during the measurement.
    for _ in 0..64 {
        file.write_all(&page)?;
    }
    file.sync_all()?;
    let begun = Instant::now();
    let mut syncs = 0_u64;
    while begun.elapsed() < budget || syncs == 0 {
        if syncs.is_multiple_of(64) {
            file.seek(SeekFrom::Start(0))?;
        }
        file.write_all(&page)?;
        file.sync_data()?;
        syncs += 1;
    }
    Ok(syncs as f64 / begun.elapsed().as_secs_f64())
}
