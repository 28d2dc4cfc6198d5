//! The parsing of a program, from its text to the uses of its slots.

use oxc_allocator::Allocator;
use oxc_diagnostics::{Diagnostics, Severity};
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;

use crate::slot_tracker;
use crate::{Trouble, Uses};

/// The prefix that makes code strict, because code is evaluated as strict code. The prefix is put on the first line
/// of the text, so that line numbers stay the same.
const STRICT: &str = "'use strict';";

/// The names that every program has beside its slots.
const IMPLICIT_NAMES: [&str; 2] = ["$id", "$cancelled"];

/// Returns the uses that the text of a program makes of these slots.
pub fn analyze(source: &str, slots: &[&str]) -> Uses {
    // A first line for a shell is a comment. Behind the prefix it would be a syntax error, so it becomes an ordinary
    // comment.
    let text = match source.strip_prefix("#!") {
        Some(rest) => format!("{STRICT}//{rest}"),
        None => format!("{STRICT}{source}"),
    };
    let allocator = Allocator::default();
    let options = ParseOptions { preserve_parens: false, ..ParseOptions::default() };
    let parsed = Parser::new(&allocator, &text, SourceType::script()).with_options(options).parse();
    if let Some(trouble) = trouble(source, &parsed.diagnostics) {
        return Uses { trouble: Some(trouble), ..Uses::default() };
    }
    let built =
        SemanticBuilder::new().with_build_nodes(true).with_check_syntax_error(true).build(&parsed.program);
    if let Some(trouble) = trouble(source, &built.diagnostics) {
        return Uses { trouble: Some(trouble), ..Uses::default() };
    }
    let mut uses = slot_tracker::all(&built.semantic, slots);
    uses.free.retain(|name| !IMPLICIT_NAMES.contains(&name.as_str()));
    uses
}

/// Returns the first syntax error, with its position in the text.
fn trouble(source: &str, all: &Diagnostics) -> Option<Trouble> {
    let first = all.iter().find(|one| one.severity == Severity::Error)?;
    let at = first.labels.first().map_or(0, |label| label.offset() as usize).saturating_sub(STRICT.len());
    let before = source.get(..at).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Some(Trouble { line: number(line), column: number(column), message: first.message.to_string() })
}
