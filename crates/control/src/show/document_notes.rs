//! The parts that the text of documents lacks, for the person who gave them to a run.

use kernel::run::{Attachment, Run};
use passable::visible_line;

/// The maximum number of lines. Further ones are counted.
const MAX_LINES: usize = 20;

/// Returns a line for each note about the documents of a run: of those that it reads itself, and of those that it
/// gives to its children.
pub fn of_run(run: &Run) -> Vec<String> {
    lines(run.input.attachments.iter().chain(&run.input.items))
}

/// Returns a line for each note about documents, such as `a.eml: left out: image/png logo.png, 12 KiB`.
pub fn lines<'a>(documents: impl Iterator<Item = &'a Attachment>) -> Vec<String> {
    let mut lines: Vec<String> = documents
        .flat_map(|one| {
            one.notes.iter().map(|note| format!("{}: {}", visible_line(&one.name), visible_line(note)))
        })
        .collect();
    if lines.len() > MAX_LINES {
        let more = lines.len() - (MAX_LINES - 1);
        lines.truncate(MAX_LINES - 1);
        lines.push(format!("{more} more notes like these; the text that the model reads has them all"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use kernel::BlobHash;

    use super::*;

    #[test]
    fn notes_are_escaped_and_counted() {
        let hash = BlobHash::of(b"");
        let document = |notes: Vec<String>| Attachment {
            name: "a\u{1b}.eml".to_owned(),
            hash,
            text: hash,
            bytes: 1,
            media_type: String::new(),
            notes,
            rejected: None,
        };
        let one = document(vec!["left out: image/png \u{202e}gpj.exe".to_owned()]);
        assert_eq!(lines([&one].into_iter()), ["a\\u{1B}.eml: left out: image/png \\u{202E}gpj.exe"]);
        let many = document((0..30).map(|number| format!("left out: {number}")).collect());
        let found = lines([&many].into_iter());
        assert_eq!(found.len(), MAX_LINES);
        assert!(found[MAX_LINES - 1].starts_with("11 more notes"), "{found:?}");
    }
}
