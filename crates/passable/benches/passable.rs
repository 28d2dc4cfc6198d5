//! Figures of this crate: codecs, patterns, fingerprints. `cargo xtask bench passable`.
//!
//! `BENCH_ONLY` names the one row to measure, for a profiler.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a bench measures and prints"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use passable::{NoRef, Pattern, Value, capdata, fingerprint, ordered, smallcaps};

type V = Value<NoRef>;

const SMALL: &str = "M.splitRecord({ id: M.number(), name: M.string() }, { note: M.string() })";
const LARGE: &str = "M.arrayOf(M.splitRecord({ id: M.number(), name: M.string(), tags: M.arrayOf(M.or(\"red\", \"green\", \"blue\")), size: M.nat() }, { note: M.string() }, M.recordOf(M.string(), M.any())))";

fn document(at: usize) -> V {
    let tags = ["red", "green", "blue"];
    Value::record([
        ("id", Value::number(at as f64 * 1.5)),
        ("name", Value::string(format!("document number {at}"))),
        ("tags", Value::array((0..at % 4).map(|tag| Value::string(tags[(tag + at) % 3])))),
        ("size", Value::bigint(at as u64 * 12_345_678_901)),
        (
            "note",
            Value::string("A line of text with \"quotes\", ümlauts and a\nbreak; long enough to matter."),
        ),
        (
            "more",
            Value::record([("deep", Value::array([Value::Null, Value::Bool(true), Value::number(-0.25)]))])
                .unwrap(),
        ),
    ])
    .unwrap()
}

/// Seconds that one call takes: the least, the median and the greatest of several samples.
fn seconds(samples: usize, mut work: impl FnMut()) -> (f64, f64, f64) {
    let mut calls = 1u32;
    loop {
        let started = Instant::now();
        (0..calls).for_each(|_| work());
        if started.elapsed() > Duration::from_millis(20) || calls > 1 << 24 {
            break;
        }
        calls *= 2;
    }
    let mut times: Vec<f64> = (0..samples.max(3))
        .map(|_| {
            let started = Instant::now();
            (0..calls).for_each(|_| work());
            started.elapsed().as_secs_f64() / f64::from(calls)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2], times[times.len() - 1])
}

fn main() {
    let samples = std::env::var("BENCH_SAMPLES").ok().and_then(|count| count.parse().ok()).unwrap_or(10);
    let value: V = Value::array((0..1000).map(document));
    let small_value = document(7);
    let small_body = smallcaps::encode(&value);
    let cap_body = capdata::encode(&value);
    let legacy = ordered::encode(&value, ordered::Format::Legacy).unwrap();
    let compact = ordered::encode(&value, ordered::Format::Compact).unwrap();
    let json = value.to_json_text();
    let small_pattern = Pattern::<NoRef>::parse(SMALL).unwrap();
    let large_pattern = Pattern::<NoRef>::parse(LARGE).unwrap();
    assert!(small_pattern.matches(&small_value) && large_pattern.matches(&value));
    let only = std::env::var("BENCH_ONLY").ok();
    println!("row\tdocuments\t1000\t\t{} kB as smallcaps", small_body.body.len() / 1000);

    // Work in bytes gives MB/s, work in calls gives calls/s.
    let row = |name: &str, bytes: Option<usize>, work: &mut dyn FnMut()| {
        if only.as_ref().is_some_and(|only| only != name) {
            return;
        }
        let (least, median, most) = seconds(samples, work);
        let (scale, unit) = match bytes {
            Some(bytes) => (bytes as f64 / 1e6, "MB/s"),
            None => (1.0, "/s"),
        };
        println!("row\t{name}\t{:.0} {unit}\t{:.0}..{:.0}", scale / median, scale / most, scale / least);
    };
    row("smallcaps encode", Some(small_body.body.len()), &mut || drop(black_box(smallcaps::encode(&value))));
    row("smallcaps decode", Some(small_body.body.len()), &mut || {
        drop(black_box(smallcaps::decode(&small_body).unwrap()));
    });
    row("capdata encode", Some(cap_body.body.len()), &mut || drop(black_box(capdata::encode(&value))));
    row("capdata decode", Some(cap_body.body.len()), &mut || {
        drop(black_box(capdata::decode(&cap_body).unwrap()));
    });
    for (name, format, text) in
        [("legacy", ordered::Format::Legacy, &legacy), ("compact", ordered::Format::Compact, &compact)]
    {
        let bytes = Some(text.as_bytes().len());
        row(&format!("{name} encode"), bytes, &mut || {
            drop(black_box(ordered::encode(&value, format).unwrap()))
        });
        row(&format!("{name} decode"), bytes, &mut || {
            drop(black_box(ordered::decode::<NoRef>(text).unwrap()));
        });
    }
    row("plain JSON write", Some(json.len()), &mut || drop(black_box(value.to_json_text())));
    row("plain JSON read", Some(json.len()), &mut || drop(black_box(V::from_json_text(&json).unwrap())));
    row("check small", None, &mut || assert!(black_box(small_pattern.matches(&small_value))));
    row("check large", None, &mut || assert!(black_box(large_pattern.matches(&value))));
    row("parse pattern text", None, &mut || drop(black_box(Pattern::<NoRef>::parse(LARGE).unwrap())));
    row("fingerprint", Some(small_body.body.len()), &mut || {
        black_box(fingerprint(&value));
    });
}
