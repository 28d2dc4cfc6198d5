//! `almoner check` and `almoner pattern check`.

use std::fmt;
use std::io::BufRead as _;
use std::ops::Range;
use std::path::Path;

use miette::{LabeledSpan, NamedSource, SourceSpan};
use passable::{PatternCheckError, PatternError, pattern_check, pattern_check_line, visible, visible_line};

use worker::definition::{self, Bundle};

use super::run;
use crate::cli::{CheckArgs, PatternVerb};
use crate::ui::diagnostics;
use crate::ui::output;
use config::worker_file;
use control::exit::{Exit, ExitResult, Failure};

/// The help for a pattern, if the error has no better advice.
const PATTERN_HELP: &str =
    "a pattern is written like `1..5`, `pass|fail`, `[string]` or `M.arrayOf(M.nat())`";
const VALUE_HELP: &str = "a value is written like `3`, `\"text\"`, `[1, 2n]` or `{a: true}`";
/// The number of bytes of a long line shown on each side of an error.
const MAX_CONTEXT_BYTES: usize = 60;

/// A pattern or a value that cannot be read, with the place where it stops making sense.
#[derive(Debug)]
struct Unreadable {
    name: &'static str,
    error: PatternError,
    like: &'static str,
    source: NamedSource<String>,
    span: Range<usize>,
}

impl Unreadable {
    fn new(name: &'static str, text: &str, error: PatternError, like: &'static str) -> Unreadable {
        let (mut text, mut span) = excerpt(text, &error.span);
        // An error at the end of the text is marked at a space that is added there.
        if span.is_empty() && span.end == text.len() {
            text.push(' ');
            span.end += 1;
        }
        Unreadable { name, error, like, source: NamedSource::new(name, text), span }
    }
}

/// Returns a text and the span in it. A long text is cut to the part around the span, and the span is moved
/// accordingly.
fn excerpt(text: &str, span: &Range<usize>) -> (String, Range<usize>) {
    let end = span.end.min(span.start.saturating_add(MAX_CONTEXT_BYTES));
    let from = text.floor_char_boundary(span.start.saturating_sub(MAX_CONTEXT_BYTES));
    let to = text.ceil_char_boundary(end.saturating_add(MAX_CONTEXT_BYTES).min(text.len()));
    match text.get(from..to) {
        Some(part) if text.len() > 4 * MAX_CONTEXT_BYTES => {
            let before = if from > 0 { "…" } else { "" };
            let after = if to < text.len() { "…" } else { "" };
            let shift = |at: usize| at - from + before.len();
            (format!("{before}{part}{after}"), shift(span.start)..shift(end))
        }
        _ => (text.to_owned(), span.clone()),
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} cannot be read: {}", self.name, self.error.message)
    }
}

impl std::error::Error for Unreadable {}

impl miette::Diagnostic for Unreadable {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.error.help.as_deref().unwrap_or(self.like)))
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = SourceSpan::from((self.span.start, self.span.len()));
        Some(Box::new(std::iter::once(LabeledSpan::new_primary_with_span(Some("here".to_owned()), span))))
    }
}

/// Runs `almoner check`.
///
/// # Errors
/// When the file cannot be loaded, or has errors. Errors in the file have been printed by then, each with its place.
pub fn check(args: &CheckArgs) -> ExitResult {
    let bundle = worker_file::load(&args.worker)?;
    let definition = run::check(&bundle)?;
    let problems = worker::failing_templates(&definition, &bundle);
    for problem in &problems {
        let (kind, only_if) = match problem.only_if {
            None => ("error", String::new()),
            Some(only_if) => ("warning", format!(" ({only_if})")),
        };
        output::report(&format!("{kind}: {}{only_if}\n", visible_line(&problem.message)));
    }
    if problems.iter().any(|problem| problem.only_if.is_none()) {
        return Err(Failure::silent(Exit::Invalid));
    }
    if args.expand {
        let beside = args.worker.parent().unwrap_or(Path::new("")).to_owned();
        // A run finds the worker of an unbound slot in the same way: by the slot's name, in the caller's directory.
        let callee = |slot: &str| {
            let named = |suffix| Bundle::load(&beside.join(format!("{slot}{suffix}"))).ok();
            let bundle = named(".worker").or_else(|| named(".worker.md"))?;
            definition::parse(&bundle).0
        };
        output::result(&visible(&worker::expand(&definition, &bundle, &callee)))?;
    } else {
        output::note(&format!("{} can be run", output::path(&args.worker)));
    }
    Ok(Exit::Ok)
}

/// Runs `almoner pattern check`.
///
/// # Errors
/// When the value does not match, or one of the two cannot be read. With `--ndjson`, when standard input is not UTF-8
/// text.
pub fn pattern(verb: &PatternVerb) -> ExitResult {
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
    let found = pattern_check(pattern, value).map_err(|error| {
        let (name, text, error, like) = match error {
            PatternCheckError::Pattern(error) => ("pattern", pattern, error, PATTERN_HELP),
            PatternCheckError::Value(error) => ("value", value, error, VALUE_HELP),
        };
        output::report(&diagnostics::render_finding(&Unreadable::new(name, text, error, like)));
        Failure::silent(Exit::Invalid)
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
