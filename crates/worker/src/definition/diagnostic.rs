//! The problems of a worker file, each with its place. All of them are collected, so that an author sees them at
//! once.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{LabeledSpan, NamedSource, SourceSpan};

use super::bundle::Bundle;

/// The severity of a [`Diagnostic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The worker can be used, but its file probably differs from the author's intent.
    Warning,
    /// The worker cannot be used.
    Error,
}

/// A problem of a worker file or of a file that it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity of the problem.
    pub severity: Severity,
    /// A short, stable code: `worker/unknown-key`, `yaml/duplicate-key`, `template/syntax`, …
    pub code: &'static str,
    /// The problem, in one sentence without a full stop.
    pub message: String,
    /// The included file with the problem, or `None` for the worker file itself.
    pub file: Option<String>,
    /// The place of the problem, as a byte range of that file.
    pub span: Range<usize>,
    /// A way to fix the problem.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Returns an error in the worker file itself.
    pub fn error(code: &'static str, message: impl Into<String>, span: Range<usize>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, code, message: message.into(), file: None, span, help: None }
    }

    /// Returns the diagnostic with a help text.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Returns the diagnostic for a place in an included file. `None` means the worker file.
    pub fn within(mut self, file: Option<&str>) -> Diagnostic {
        self.file = file.map(str::to_owned);
        self
    }
}

/// Diagnostics with the texts to which they refer, so that a terminal can show them with `miette`.
#[derive(Debug)]
pub struct Report {
    name: String,
    items: Vec<ReportItem>,
}

#[derive(Debug)]
struct ReportItem {
    diagnostic: Diagnostic,
    source: Arc<NamedSource<String>>,
}

impl Report {
    /// Returns a report with the diagnostics that [`parse`](super::parse) found in a bundle.
    pub fn new(bundle: &Bundle, diagnostics: Vec<Diagnostic>) -> Report {
        let own = Arc::new(NamedSource::new(&bundle.file, bundle.source.clone()));
        let items = diagnostics
            .into_iter()
            .map(|diagnostic| {
                let included = diagnostic.file.as_ref().and_then(|name| bundle.includes.get_key_value(name));
                let source = match included {
                    Some((name, text)) => Arc::new(NamedSource::new(name, text.clone())),
                    None => Arc::clone(&own),
                };
                ReportItem { diagnostic, source }
            })
            .collect();
        Report { name: bundle.file.clone(), items }
    }

    /// Returns the diagnostics, in their order in the file.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.items.iter().map(|item| &item.diagnostic)
    }

    /// Returns the whole report in one line, each diagnostic with its help.
    pub fn one_line(&self) -> String {
        let line = |d: &Diagnostic| match &d.help {
            Some(help) => format!("{} ({help})", d.message),
            None => d.message.clone(),
        };
        let lines: Vec<String> = self.diagnostics().map(line).collect();
        format!("{self}: {}", lines.join("; "))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.items.iter().filter(|item| item.diagnostic.severity == Severity::Error).count() {
            0 => write!(f, "{} can be used, but look at this", self.name),
            1 => write!(f, "{} cannot be used: there is 1 error in it", self.name),
            n => write!(f, "{} cannot be used: there are {n} errors in it", self.name),
        }
    }
}

impl std::error::Error for Report {}

impl miette::Diagnostic for Report {
    fn severity(&self) -> Option<miette::Severity> {
        let worst = self.diagnostics().map(|diagnostic| diagnostic.severity).max();
        Some(worst.map_or(miette::Severity::Advice, edge))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.items.iter().map(|item| item as &dyn miette::Diagnostic)))
    }
}

fn edge(severity: Severity) -> miette::Severity {
    match severity {
        Severity::Warning => miette::Severity::Warning,
        Severity::Error => miette::Severity::Error,
    }
}

impl fmt::Display for ReportItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.diagnostic.message)
    }
}

impl std::error::Error for ReportItem {}

impl miette::Diagnostic for ReportItem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.diagnostic.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(edge(self.diagnostic.severity))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.diagnostic.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let Range { start, end } = self.diagnostic.span;
        let span = SourceSpan::from((start, end.saturating_sub(start)));
        Some(Box::new(std::iter::once(LabeledSpan::new_primary_with_span(None, span))))
    }
}
