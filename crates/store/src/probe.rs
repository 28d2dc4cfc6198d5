//! How fast this disk makes small writes durable: the figure to print beside every durable rate.

use std::fs::{self, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Measures for about `budget` how many 4 KiB writes per second `dir`'s disk makes durable, one after the
/// other. Leaves nothing behind.
pub fn fsync_rate(dir: &Path, budget: Duration) -> io::Result<f64> {
    let path = dir.join(format!("fsync-probe-{}", std::process::id()));
    let rate = measure(&path, budget);
    fs::remove_file(&path)?;
    rate
}

fn measure(path: &Path, budget: Duration) -> io::Result<f64> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    let page = [0x5a_u8; 4096];
    // The log is overwritten in place once it has grown, so the file's size must not change while we measure.
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
