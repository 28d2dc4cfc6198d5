//! Worker files: their content, their problems, and the rendering of their texts.

mod errors;
mod files;
mod foreign;
mod good;
mod hostile;
mod rendering;

use std::fmt::Write as _;

use worker::definition::{Bundle, Diagnostic, Severity, parse};

/// Returns a bundle of a worker file and the files beside it.
fn bundle(source: &str, files: &[(&str, &str)]) -> Bundle {
    let mut bundle = Bundle::of("test", source);
    bundle.includes.extend(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    bundle
}

/// Returns the problems of a worker file, one in each paragraph: the place, the text at that place, the message, and
/// the way out.
fn problems(bundle: &Bundle) -> String {
    let (definition, diagnostics) = parse(bundle);
    let failed = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    assert_eq!(definition.is_none(), failed, "a definition is there exactly if nothing is an error");
    diagnostics.iter().map(|diagnostic| problem(bundle, diagnostic)).collect::<Vec<_>>().join("\n")
}

fn problem(bundle: &Bundle, diagnostic: &Diagnostic) -> String {
    let text = match &diagnostic.file {
        Some(file) => &bundle.includes[file],
        None => &bundle.source,
    };
    let excerpt = text.get(diagnostic.span.clone()).expect("the span lies in the text and on its characters");
    let excerpt = if excerpt.len() > 60 { &excerpt[..excerpt.floor_char_boundary(60)] } else { excerpt };
    let before = &text[..diagnostic.span.start];
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.chars().rev().take_while(|c| *c != '\n').count();
    let mut out = String::new();
    if let Some(file) = &diagnostic.file {
        let _ = write!(out, "{file}:");
    }
    let _ = write!(out, "{line}:{column} {excerpt:?} [{}] {}", diagnostic.code, diagnostic.message);
    if let Some(help) = &diagnostic.help {
        let _ = write!(out, "\n  {help}");
    }
    out
}
