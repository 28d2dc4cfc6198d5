//! The text of a program, exactly as it is stored, with the lines that its interpreter counts. Invisible characters
//! are written out and set apart, and digests identify each text.

use control::protocol::{Look, Response};
use control::view::{MessageView, ProgramProposal};
use kernel::{BlobHash, MessageNumber};
use maud::{Markup, html};
use passable::{Untrusted, VisiblePart, visible, visible_parts};

use crate::page::parts;
use crate::page_request::PageRequest;

/// The name of the field with the definition's counter at the time when the user began to edit the text.
pub(super) const DONE: &str = "_done";

/// The size above which a text must be unfolded before an approval, in bytes.
const FOLD_THRESHOLD: usize = 2000;

/// The maximum number of places with hidden characters that are listed.
const MAX_PLACES: usize = 10;

/// A line of a text that is safe to show: its parts, and its line end unless that is a plain line feed.
#[derive(Debug, PartialEq)]
struct SourceLine {
    parts: Vec<VisiblePart>,
    end: Option<&'static str>,
}

/// Returns the lines of a text, as JavaScript and YAML count them. The second value tells whether a line ends with CR
/// LF.
fn lines(text: &str) -> (Vec<SourceLine>, bool) {
    let (mut all, mut begin, mut foreign) = (Vec::new(), 0, false);
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let end = match letter {
            '\n' => None,
            // CR LF is one line end, which some editors write.
            '\r' if letters.next_if(|(_, next)| *next == '\n').is_some() => {
                foreign = true;
                None
            }
            '\r' => Some("\\u{D}"),
            '\u{2028}' => Some("\\u{2028}"),
            '\u{2029}' => Some("\\u{2029}"),
            _ => continue,
        };
        all.push(SourceLine { parts: visible_parts(text.get(begin..at).unwrap_or_default()), end });
        begin = letters.peek().map_or(text.len(), |(next, _)| *next);
    }
    if begin < text.len() {
        all.push(SourceLine { parts: visible_parts(text.get(begin..).unwrap_or_default()), end: None });
    }
    (all, foreign)
}

/// Returns the places of characters that are written out, each with its line and its escape. The result is safe to
/// show.
fn hidden_in(lines: &[SourceLine]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let mut before = 0;
        let first = line.parts.iter().find_map(|part| match part {
            VisiblePart::Plain(text) => {
                before += text.chars().count();
                None
            }
            VisiblePart::Escape(text) => Some(text.as_str()),
        });
        let ends = |what: &str| match what {
            "\\u{D}" => " ends the line without a line feed",
            _ => " ends the line",
        };
        if let Some(first) = first {
            let letters = if before == 1 { "character" } else { "characters" };
            all.push(format!("line {}, after {before} {letters}: {first}", at + 1));
        } else if let Some(end) = line.end {
            all.push(format!("line {}: {end}{}", at + 1, ends(end)));
        }
    }
    let more = all.len().saturating_sub(MAX_PLACES);
    all.truncate(MAX_PLACES);
    if more > 0 {
        all.push(format!("and {more} further {}", if more == 1 { "line" } else { "lines" }));
    }
    all
}

/// Returns the size of a text, in words.
fn size(lines: usize, bytes: usize) -> String {
    let many = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    format!("{}, {}", many(lines, "line"), many(bytes, "byte"))
}

/// Returns a foreign text with line numbers, exactly as it is stored.
pub fn numbered(label: &str, text: &Untrusted) -> Markup {
    let (lines, foreign) = lines(text.raw());
    let hidden = hidden_in(&lines);
    let escape = |text: &str| html! { mark.hidden { (text) } };
    let body = html! {
        pre.foreign.numbered tabindex="0" aria-label=(label) {
            @for line in &lines {
                span.l {
                    @for part in &line.parts {
                        @match part {
                            VisiblePart::Plain(text) => (text),
                            VisiblePart::Escape(text) => (escape(text)),
                        }
                    }
                    @if let Some(end) = line.end { (escape(end)) }
                    "\n"
                }
            }
        }
    };
    html! {
        div.note {
            (size(lines.len(), text.raw().len()))
            @if foreign { ", with line ends of other systems (CR LF)" }
            ", " (parts::digest(&BlobHash::of(text.raw().as_bytes())))
        }
        @if !hidden.is_empty() {
            p.warning { "It has characters that cannot be seen, or that end a line unseen. They are written out and framed below:" }
            ul { @for one in &hidden { li { (one) } } }
        }
        @if text.raw().len() > FOLD_THRESHOLD { (parts::unfolded_first("All of it", text.raw().len(), &body)) }
        @else { (body) }
    }
}

/// Returns the section with the text that would run.
pub fn section(asked: &PageRequest, view: &MessageView, shown: &ProgramProposal) -> Markup {
    html! {
        section.entry aria-labelledby="source" {
            h2 #source { "What would run" }
            (numbered("What would run", &shown.source))
            @for (name, text) in &shown.includes {
                h3 { "It includes " (parts::line(&Untrusted::new(name.as_str()))) }
                (numbered("An included file", text))
            }
            @if let Some(difference) = from_original(asked, view, shown) {
                h3 { "How it differs from what it is a copy of" }
                (parts::difference("The difference from the original", &difference))
            }
            @if let Some(difference) = &shown.difference {
                h3 { "How it differs from the definition of the run that proposes it" }
                (parts::difference("The difference", difference))
            }
        }
    }
}

/// Returns the differences from the original, if the text is a copy of another proposal.
fn from_original(asked: &PageRequest, view: &MessageView, shown: &ProgramProposal) -> Option<Untrusted> {
    let Ok(Response::Message(original)) = asked.look(Look::Message { number: view.answers? }) else {
        return None;
    };
    let before = original.source?;
    Some(Untrusted::new(control::show::difference::lines(before.raw(), shown.source.raw())))
}

/// A changed text that was rejected, with the reason.
pub struct RejectedEdit<'a> {
    /// The text that the user sent.
    pub text: &'a str,
    /// The error, as markup.
    pub wrong: Markup,
}

/// Returns a form for editing a copy of the text. The copy becomes the user's own proposal, and is endowed like any
/// other. If the text has invisible characters, the form shows them written out.
pub fn edit(
    asked: &PageRequest,
    number: MessageNumber,
    shown: &ProgramProposal,
    done: u64,
    changed: Option<&RejectedEdit<'_>>,
) -> Markup {
    // A browser replaces line ends with its own.
    let source = shown.source.raw().replace("\r\n", "\n");
    let hidden = !hidden_in(&lines(&source).0).is_empty();
    let text = changed.map_or_else(|| visible(&source).into_owned(), |changed| changed.text.to_owned());
    html! {
        details.entry #edit open[changed.is_some()] {
            summary { "Edit a copy" }
            form method="post" action={ "/m/" (number) } data-draft={ "edit " (number) } {
                (parts::token(&asked.session))
                input type="hidden" name=(DONE) value=(done);
                @if let Some(changed) = changed { (changed.wrong) }
                @if hidden {
                    p #copy-how .warning {
                        "Below, what cannot be seen is written out, as in " code { "\\u{200B}" }
                        ". A copy that is made of it has what is written there instead, and may do something else."
                    }
                }
                label for="copy" { @if hidden { "Its text, written out" } @else { "Its text" } }
                textarea #copy.code name="source" rows="16" spellcheck="false"
                    aria-describedby=[hidden.then_some("copy-how")] {
                    "\n" (text)
                }
                p.note { "The original stays as it is, and whoever sent it is told." }
                div.buttons {
                    button name="do" value="edit" {
                        @if hidden { "Propose the written-out copy to myself" } @else { "Propose the copy to myself" }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_the_interpreter_ends_them() {
        for (text, expected, foreign) in [
            ("", "", false),
            ("a\nb", "a|b", false),
            ("a\r\nb\r\n", "a|b", true),
            ("// a\rb()", "// a\\u{D}|b()", false),
            ("a\u{2028}b\u{2029}\n", "a\\u{2028}|b\\u{2029}|", false),
            ("a\r\r\n", "a\\u{D}|", true),
        ] {
            let (lines, is_foreign) = lines(text);
            let shown = |line: &SourceLine| {
                let text = |part: &VisiblePart| match part {
                    VisiblePart::Plain(text) | VisiblePart::Escape(text) => text.clone(),
                };
                line.parts.iter().map(text).collect::<String>() + line.end.unwrap_or_default()
            };
            let all: Vec<String> = lines.iter().map(shown).collect();
            assert_eq!((all.join("|").as_str(), is_foreign), (expected, foreign), "{text:?}");
        }
    }

    #[test]
    fn hidden_characters_are_framed_and_located() {
        for (text, expected) in [
            ("", vec![]),
            ("const x = 1;\n\tconst ü = 'שלום';\r\n", vec![]),
            // A text that only spells an escape contains no hidden character.
            ("'\\u{200B}'", vec![]),
            ("a\nb\u{200B}c", vec!["line 2, after 1 character: \\u{200B}"]),
            (
                "\u{202E}x\n\u{1B}[2K",
                vec!["line 1, after 0 characters: \\u{202E}", "line 2, after 0 characters: \\u{1B}"],
            ),
            ("// a\rb", vec!["line 1: \\u{D} ends the line without a line feed"]),
        ] {
            assert_eq!(hidden_in(&lines(text).0), expected, "{text:?}");
        }
        let many = hidden_in(&lines(&"\u{200B}\n".repeat(12)).0);
        assert_eq!((many.len(), many.last().map(String::as_str)), (11, Some("and 2 further lines")));
        let drawn = numbered("x", &Untrusted::new("\\u{D}\u{200B}")).into_string();
        assert!(drawn.contains("\\u{D}<mark class=\"hidden\">\\u{200B}</mark>"), "{drawn}");
        assert!(drawn.contains("1 line, 8 bytes"), "{drawn}");
        assert!(numbered("x", &Untrusted::new("a")).into_string().contains("1 line, 1 byte,"));
    }
}
