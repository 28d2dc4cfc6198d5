//! Markdown of a model, drawn as text styles. There are no links, no pictures and no markup of the model's own: all that
//! a model writes stays text, and a target of a link is written out behind it.

use maud::{Markup, PreEscaped, html};
use passable::{Untrusted, stored_order, visible};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use control::show::lines::STORED_ORDER;

use crate::page::safe_links;

/// The deepest nesting that is drawn. The text below it stands at this depth.
const MAX_DEPTH: usize = 12;

/// Returns foreign Markdown as text styles, set apart as foreign text.
pub(super) fn foreign(label: &str, text: &Untrusted) -> Markup {
    let visible = text.visible();
    html! {
        div.foreign.prose role="group" tabindex="0" aria-label=(label) dir="ltr" {
            (drawn(text.raw()))
        }
        @for order in visible.lines().filter_map(stored_order) {
            p.note { (STORED_ORDER) ": " bdi dir="ltr" { (order) } }
        }
        (safe_links::host_note(text.raw()))
    }
}

/// The writer of the markup. Tags come only from this file, and all other text is escaped.
#[derive(Default)]
struct Writer {
    out: String,
    /// The end tag of each open element, or `None` for one that is not drawn.
    open: Vec<Option<&'static str>>,
    /// The targets of the open links and pictures.
    targets: Vec<String>,
}

fn drawn(source: &str) -> Markup {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    for event in Parser::new_ext(source, options) {
        writer.write(event);
    }
    while let Some(end) = writer.open.pop() {
        writer.out.push_str(end.unwrap_or_default());
    }
    PreEscaped(writer.out)
}

impl Writer {
    fn write(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.out.push_str("<code>");
                self.text(&text);
                self.out.push_str("</code>");
            }
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(is_done) => self.text(if is_done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
        }
    }

    /// Writes text of the model.
    fn text(&mut self, text: &str) {
        self.out.push_str(&html! { (visible(text)) }.into_string());
    }

    fn open(&mut self, start: &str, end: &'static str) {
        let is_drawn = self.open.len() < MAX_DEPTH;
        if is_drawn {
            self.out.push_str(start);
        }
        self.open.push(is_drawn.then_some(end));
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::MetadataBlock(_) => self.open("<p>", "</p>"),
            Tag::Heading { level: HeadingLevel::H1 | HeadingLevel::H2, .. } => {
                self.open("<p class=\"title\"><strong>", "</strong></p>");
            }
            Tag::Heading { .. } => self.open("<p><strong>", "</strong></p>"),
            Tag::BlockQuote(_) => self.open("<blockquote>", "</blockquote>"),
            Tag::CodeBlock(kind) => {
                self.open("<pre tabindex=\"0\"><code>", "</code></pre>");
                // The language is text of the model, too.
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.text(&format!("{language}\n"));
                }
            }
            Tag::List(Some(1)) => self.open("<ol>", "</ol>"),
            Tag::List(Some(first)) => self.open(&format!("<ol start=\"{first}\">"), "</ol>"),
            Tag::List(None) => self.open("<ul>", "</ul>"),
            Tag::Item => self.open("<li>", "</li>"),
            Tag::Table(_) => self.open("<table>", "</table>"),
            Tag::TableHead => self.open("<thead><tr>", "</tr></thead>"),
            Tag::TableRow => self.open("<tr>", "</tr>"),
            Tag::TableCell => self.open("<td>", "</td>"),
            Tag::Emphasis => self.open("<em>", "</em>"),
            Tag::Strong => self.open("<strong>", "</strong>"),
            Tag::Strikethrough => self.open("<s>", "</s>"),
            Tag::Link { dest_url, title, .. } | Tag::Image { dest_url, title, .. } => {
                self.open("<span>", "</span>");
                let title = if title.is_empty() { String::new() } else { format!(" “{title}”") };
                self.targets.push(format!(" ({dest_url}{title})"));
            }
            Tag::FootnoteDefinition(name) => {
                self.open("<p>", "</p>");
                self.text(&format!("[{name}]: "));
            }
            Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript => self.open("<span>", "</span>"),
        }
    }

    fn end(&mut self, end: TagEnd) {
        if matches!(end, TagEnd::Link | TagEnd::Image)
            && let Some(target) = self.targets.pop()
        {
            self.text(&target);
        }
        if let Some(Some(end)) = self.open.pop() {
            self.out.push_str(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_text_styles_without_links() {
        for (source, expected) in [
            ("**a** and *b*", "<p><strong>a</strong> and <em>b</em></p>"),
            ("# Title", "<p class=\"title\"><strong>Title</strong></p>"),
            ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
            ("1. a", "<ol><li>a</li></ol>"),
            ("3. a", "<ol start=\"3\"><li>a</li></ol>"),
            ("`x<y`", "<p><code>x&lt;y</code></p>"),
            ("```\nlet a;\n```", "<pre tabindex=\"0\"><code>let a;\n</code></pre>"),
            ("[bank](https://evil.example)", "<p><span>bank (https://evil.example)</span></p>"),
            ("![x](https://evil.example/p.png)", "<p><span>x (https://evil.example/p.png)</span></p>"),
            ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
            ("a <b>b</b>", "<p>a &lt;b&gt;b&lt;/b&gt;</p>"),
        ] {
            assert_eq!(drawn(source).into_string(), expected, "{source}");
        }
    }

    #[test]
    fn markdown_shows_hidden_characters_and_ends_all_elements() {
        assert!(!drawn("a\u{202e}b\u{1b}[2J").into_string().contains(['\u{202e}', '\u{1b}']));
        let deep = drawn(&format!("{}end", "> ".repeat(500))).into_string();
        assert!(deep.contains("end"));
        assert_eq!(deep.matches("<blockquote>").count(), deep.matches("</blockquote>").count());
        assert!(deep.matches("<blockquote>").count() <= MAX_DEPTH);
    }
}
