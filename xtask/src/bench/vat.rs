//! The rows of `cargo xtask bench vat` that need a whole daemon: sends of code to objects of the store, and their
//! answers.
//!
//! Code evaluated by the command line sends so many messages; the time of the same command with code that sends none
//! is taken off. Each send is recorded before it goes out. Each answer is recorded before anything follows from it,
//! so that the disk counts.

use std::time::Duration;

use anyhow::{Result, bail};

use super::installation::Installation;
use super::table::Row;
use super::{machine, measure};
use crate::process::output;
use crate::workspace::Workspace;

/// How many messages code sends that change nothing, and that change something.
const READS: usize = 4_000;
const WRITES: usize = 1_000;

/// How often each is measured: the middle one counts.
const ROUNDS: usize = 5;

/// The messages: the name of a row, the code of one message, their number, and the aim a second.
const MESSAGES: [(&str, &str, usize, Option<f64>); 2] = [
    ("a read", "E(d).has('a')", READS, Some(20_000.0)),
    ("a write", "E(me).storeValue(i, ['names', `v${mark}-${i}`])", WRITES, None),
];

pub(super) fn rows(workspace: &Workspace) -> Result<Vec<Row>> {
    let installation = Installation::build(workspace, "vat", &[])?;
    output(&mut installation.almoner(&["mkdir", "names"]))?;
    output(&mut installation.almoner(&["store", "names/a:=1"]))?;
    let rate = machine::syncs(&installation.home, 200)?;
    let (_, sync, _) = measure::spread(&rate);
    let mut rows = Vec::new();
    let mut mark = 0;
    for (what, message, count, aim) in MESSAGES {
        for width in [1, 64] {
            let mut rates = Vec::new();
            for _ in 0..ROUNDS {
                mark += 1;
                let nothing = time(&installation, &code(message, 0, width, mark))?;
                let all = time(&installation, &code(message, count, width, mark))?;
                let took = all.checked_sub(nothing).filter(|took| !took.is_zero());
                let Some(took) = took else { bail!("{count} messages took no time") };
                rates.push(count as f64 / took.as_secs_f64());
            }
            rates.sort_by(f64::total_cmp);
            let at = |index: usize| rates.get(index).copied().unwrap_or_default();
            let middle = at(ROUNDS / 2);
            rows.push(Row {
                what: format!("{what} of the store and its answer, {width} in flight"),
                figure: format!("{middle:.0}/s"),
                range: format!("{:.0}..{:.0}", at(0), at(ROUNDS - 1)),
                note: aim.map(|aim| aim_note(middle, aim)).unwrap_or_default(),
                ..Row::default()
            });
        }
    }
    rows.push(Row {
        what: "the machine's sync rate".to_owned(),
        figure: format!("{:.0}/s", 1.0 / sync.as_secs_f64().max(1e-9)),
        note: "append and fdatasync of 4 KiB".to_owned(),
        ..Row::default()
    });
    Ok(rows)
}

fn aim_note(rate: f64, aim: f64) -> String {
    format!("{} aim {aim}/s", if rate > aim { "reached:" } else { "MISSED:" })
}

/// Returns code that sends so many messages, so many of them at once.
fn code(message: &str, count: usize, width: usize, mark: usize) -> String {
    format!(
        "(async () => {{ const mark = {mark}; let next = 0; const one = async () => {{ while (next < {count}) {{ \
         const i = next; next += 1; await {message}; }} }}; \
         await Promise.all(Array.from({{ length: {width} }}, one)); return next; }})()"
    )
}

/// Returns how long it takes until the command line has the result.
fn time(installation: &Installation, code: &str) -> Result<Duration> {
    let (sample, _) = measure::once(&mut installation.almoner(&["eval", code, "d=names", "me=@agent"]))?;
    Ok(sample.wall)
}
