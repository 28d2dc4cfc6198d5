//! The rendering of diagnostics, with the lines that they point at.

use passable::visible;

use super::output;

/// Returns a finding with the lines that it points at. The text is safe to show.
pub fn render_finding(finding: &dyn miette::Diagnostic) -> String {
    // The report has no colours. Control characters in the text are replaced afterwards, and colour codes would be
    // replaced too.
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_width(output::columns());
    let mut text = String::new();
    match handler.render_report(&mut text, finding) {
        Ok(()) => visible(&text).into_owned(),
        Err(_) => visible(&finding.to_string()).into_owned(),
    }
}
