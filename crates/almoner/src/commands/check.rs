//! `almoner check` and `almoner pattern check`.

use std::io::BufRead as _;

use passable::{pattern_check, pattern_check_line, visible, visible_line};

use super::{output, run};
use crate::cli::{CheckArgs, PatternVerb};
use crate::exit::{Ended, Exit, Failure};

/// How wide the long form of a pattern is written, in columns.
const WIDTH: usize = 100;

/// `almoner check`.
///
/// # Errors
/// When the file cannot be used; what is wrong has been printed, each with its place.
pub fn check(args: &CheckArgs) -> Ended {
    let definition = run::check(&run::load(&args.worker)?)?;
    if args.expand {
        output::result(&format!("input: {}", visible(&definition.input.to_text_wrapped(WIDTH))))?;
        if let Some(pattern) = &definition.output {
            output::result(&format!("output: {}", visible(&pattern.to_text_wrapped(WIDTH))))?;
        }
    } else {
        output::note(&format!("{} can be run", args.worker.display()));
    }
    Ok(Exit::Ok)
}

/// `almoner pattern check`.
///
/// # Errors
/// When the value does not match, or one of the two cannot be read.
pub fn pattern(verb: &PatternVerb) -> Ended {
    let PatternVerb::Check { pattern, value, ndjson } = verb;
    if *ndjson {
        for line in std::io::stdin().lock().lines() {
            let line = line.map_err(|e| {
                Failure::new(Exit::Invalid, format!("standard input: {e}")).help("each line is UTF-8 text")
            })?;
            if !line.trim().is_empty() {
                output::result(&pattern_check_line(&line))?;
            }
        }
        return Ok(Exit::Ok);
    }
    let (pattern, value) = (pattern.as_deref().unwrap_or_default(), value.as_deref().unwrap_or_default());
    let found = pattern_check(pattern, value).map_err(|e| {
        Failure::new(Exit::Invalid, e.to_string())
            .help("a pattern is written like `1..5`, `pass|fail`, `[string]` or `M.arrayOf(M.nat())`")
    })?;
    let asked = format!("{}\n  that is: {}", visible_line(&found.pattern), visible_line(&found.asks));
    match found.mismatch {
        None => {
            output::result(&format!("matches {asked}"))?;
            Ok(Exit::Ok)
        }
        Some((path, expected, actual)) => {
            let at = if path.is_empty() { String::new() } else { format!(" at {}", visible_line(&path)) };
            output::result(&format!(
                "does not match {asked}\n  expected{at}: {}\n  found: {}",
                visible_line(&expected),
                visible_line(&actual)
            ))?;
            if let Some(message) = found.message {
                output::result(&format!("  in Endo's words: {}", visible_line(&message)))?;
            }
            Err(Failure::silent(Exit::Invalid))
        }
    }
}
