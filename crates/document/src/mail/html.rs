//! The text of an HTML page, without its markup. Text is never lost to markup that is wrong: a tag or a comment
//! without an end, or a style sheet without one, hides nothing that follows.

use std::collections::BTreeSet;

use mail_parser::decoders::html::add_html_token;

use crate::reading::is_blank;

/// The maximum length of a name of a character, from `&` to `;`.
const MAX_ENTITY: usize = 32;

/// Elements that begin and end a line.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "html",
    "legend",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "option",
    "p",
    "pre",
    "section",
    "select",
    "summary",
    "table",
    "tbody",
    "textarea",
    "tfoot",
    "thead",
    "title",
    "tr",
    "ul",
];

/// Elements that have no text for a reader.
const SILENT: &[&str] = &["script", "style", "template"];

/// Kinds of `input` elements that show no text: it is hidden, a secret, or no text.
const SILENT_INPUTS: &[&str] = &["hidden", "password", "image", "color", "range"];

/// Returns the text of a page. Links and the words for pictures are part of it.
pub(crate) fn text(page: &str) -> String {
    let mut writer =
        Writer { text: String::with_capacity(page.len() / 2), is_pre: 0, link: None, expansion: None };
    // A search that found no end finds none later either.
    let mut unclosed: BTreeSet<&str> = BTreeSet::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        writer.write_text(rest.get(..at).unwrap_or_default());
        rest = rest.get(at..).unwrap_or_default();
        if let Some(comment) = rest.strip_prefix("<!--") {
            if !unclosed.contains("-->") {
                if let Some(end) = comment.find("-->") {
                    rest = comment.get(end + 3..).unwrap_or_default();
                    continue;
                }
                unclosed.insert("-->");
            }
            rest = comment;
            if !unclosed.contains(">") {
                match comment.split_once('>') {
                    Some((_, after)) => rest = after,
                    None => drop(unclosed.insert(">")),
                }
            }
            continue;
        }
        if !Tag::begins(rest) {
            writer.write_text("<");
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let Some(tag) = Tag::read(rest) else { break };
        rest = rest.get(tag.length..).unwrap_or_default();
        if let Some(name) = SILENT.iter().find(|name| **name == tag.name && !tag.is_end) {
            if !unclosed.contains(*name) {
                match end_of(rest, name) {
                    Some(after) => rest = after,
                    None => drop(unclosed.insert(name)),
                }
            }
            continue;
        }
        writer.tag(&tag);
    }
    writer.write_text(rest);
    writer.finish()
}

/// Returns the encoding that a page names in its `meta` element.
pub(crate) fn charset(page: &[u8]) -> Option<String> {
    let head = page.get(..page.len().min(4096)).unwrap_or_default();
    let head: String = head.iter().map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    let meta = head.split("<meta").skip(1).find_map(|meta| meta.split('>').next()?.split_once("charset="))?.1;
    let name: String = meta
        .trim_start_matches(['"', '\'', ' '])
        .chars()
        .take_while(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_'))
        .collect();
    (!name.is_empty()).then_some(name)
}

/// Returns the text after the end tag of an element.
fn end_of<'a>(rest: &'a str, name: &str) -> Option<&'a str> {
    let bytes = rest.as_bytes();
    let at = (0..bytes.len()).find(|at| {
        bytes.get(*at..at + 2) == Some(b"</")
            && bytes
                .get(at + 2..at + 2 + name.len())
                .is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
    })?;
    let tail = rest.get(at..)?;
    tail.find('>').and_then(|end| tail.get(end + 1..))
}

/// A start or end tag.
struct Tag<'a> {
    name: String,
    is_end: bool,
    attributes: &'a str,
    length: usize,
}

impl<'a> Tag<'a> {
    /// Returns whether a text begins with a tag. `a < b` only looks like one.
    fn begins(text: &str) -> bool {
        let inner = text.get(1..).unwrap_or_default();
        let inner = inner.strip_prefix('/').unwrap_or(inner);
        inner.starts_with(|char: char| char.is_ascii_alphabetic() || matches!(char, '!' | '?'))
    }

    /// Reads the tag at the start of a text. Returns `None` if no tag ends in the text.
    fn read(text: &'a str) -> Option<Self> {
        let inner = text.get(1..)?;
        let is_end = inner.starts_with('/');
        let inner = inner.strip_prefix('/').unwrap_or(inner);
        let first = inner.find('>')?;
        // A quote without an end must not hide the text after the tag.
        let end = close(inner, first).unwrap_or(first);
        let body = inner.get(..end)?;
        let width = body.find(|char: char| char.is_whitespace() || char == '/').unwrap_or(body.len());
        let (name, attributes) = body.split_at_checked(width)?;
        let length = text.len() - inner.len() + end + 1;
        Some(Self { name: name.to_ascii_lowercase(), is_end, attributes, length })
    }

    /// Returns the value of an attribute.
    fn attribute(&self, wanted: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|char: char| char.is_whitespace() || char == '/');
            let width = rest.find(|char: char| char.is_whitespace() || char == '=').unwrap_or(rest.len());
            let (name, tail) = rest.split_at_checked(width)?;
            let tail = tail.trim_start();
            let (value, tail) = match tail.strip_prefix('=').map(str::trim_start) {
                None => ("", tail),
                Some(tail) => match tail.chars().next() {
                    Some(quote @ ('"' | '\'')) => {
                        let tail = tail.get(1..)?;
                        tail.split_once(quote).unwrap_or((tail, ""))
                    }
                    _ => {
                        let width = tail.find(char::is_whitespace).unwrap_or(tail.len());
                        tail.split_at_checked(width)?
                    }
                },
            };
            if name.eq_ignore_ascii_case(wanted) {
                return Some(plain(value));
            }
            if tail.is_empty() || (name.is_empty() && tail.len() == rest.len()) {
                return None;
            }
            rest = tail;
        }
    }
}

/// Returns the position of the `>` that ends a tag, outside of quotes. `first` is the first `>`. If another tag begins
/// after it, a quote has no end, or ends in the text.
fn close(inner: &str, first: usize) -> Option<usize> {
    let mut quote = None;
    let mut before = b' ';
    for (at, byte) in inner.bytes().enumerate() {
        match (quote, byte) {
            (_, b'<') if at > first => return None,
            (None, b'>') => return Some(at),
            // A quote begins a value only after `=`. In other places it is a slip.
            (None, b'"' | b'\'') if before == b'=' => quote = Some(byte),
            (Some(open), byte) if byte == open => quote = None,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    None
}

struct Writer {
    text: String,
    is_pre: usize,
    /// The target of the link that is open, and the position in the text at which it begins.
    link: Option<(String, usize)>,
    /// The words for the abbreviation that is open.
    expansion: Option<String>,
}

impl Writer {
    fn write_text(&mut self, written: &str) {
        let decoded = entities(written);
        if self.is_pre > 0 {
            self.text.push_str(&decoded);
            return;
        }
        for char in decoded.chars() {
            if char.is_whitespace() {
                self.blank();
            } else {
                self.text.push(char);
            }
        }
    }

    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    fn end_line(&mut self) {
        let kept = self.text.trim_end_matches(' ').len();
        self.text.truncate(kept);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn tag(&mut self, tag: &Tag<'_>) {
        let name = tag.name.as_str();
        if BLOCKS.contains(&name) {
            let is_ended = self.text.ends_with('\n');
            self.end_line();
            let is_gap = match name {
                "p" | "ul" | "ol" | "table" | "blockquote" | "pre" | "hr" => true,
                "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => true,
                "br" => is_ended,
                _ => false,
            };
            if is_gap && !self.text.is_empty() && !self.text.ends_with("\n\n") {
                self.text.push('\n');
            }
        }
        match (name, tag.is_end) {
            ("pre" | "textarea", false) => self.is_pre += 1,
            ("pre" | "textarea", true) => self.is_pre = self.is_pre.saturating_sub(1),
            ("li", false) => self.text.push_str("- "),
            ("td" | "th", false) if !self.text.is_empty() && !self.text.ends_with('\n') => {
                let kept = self.text.trim_end_matches(' ').len();
                self.text.truncate(kept);
                self.text.push_str("  ");
            }
            ("img" | "area", false) => {
                let has_words = |words: &String| !is_blank(words);
                let words = tag.attribute("alt").filter(has_words);
                self.write_words(words.or_else(|| tag.attribute("title")));
            }
            ("abbr", false) => self.expansion = tag.attribute("title").filter(|words| !is_blank(words)),
            ("abbr", true) => {
                let expansion = self.expansion.take();
                self.write_words(expansion.map(|words| format!("({words})")));
            }
            ("input", false) => self.input(tag),
            ("option", false) if tag.attribute("selected").is_some() => self.text.push_str("[x] "),
            ("a", false) => {
                self.end_link();
                self.link = tag.attribute("href").filter(|to| is_address(to)).map(|to| (to, self.text.len()));
            }
            ("a", true) => self.end_link(),
            _ => {}
        }
    }

    /// Writes words that stand in an attribute.
    fn write_words(&mut self, words: Option<String>) {
        if let Some(words) = words.filter(|words| !is_blank(words)) {
            self.blank();
            self.write_text(&words.replace('&', "&amp;"));
            self.blank();
        }
    }

    /// Writes the value of a form's field.
    fn input(&mut self, tag: &Tag<'_>) {
        let kind = tag.attribute("type").unwrap_or_default().to_ascii_lowercase();
        let is_checked = tag.attribute("checked").is_some();
        match kind.as_str() {
            "checkbox" | "radio" => {
                self.write_words(Some(if is_checked { "[x]" } else { "[ ]" }.to_owned()));
            }
            kind if SILENT_INPUTS.contains(&kind) => {}
            _ => {
                let value = tag.attribute("value").filter(|words| !is_blank(words));
                self.write_words(value.or_else(|| tag.attribute("placeholder")));
            }
        }
    }

    /// Writes the target of a link after its words, unless the words are the target.
    fn end_link(&mut self) {
        let Some((target, from)) = self.link.take() else { return };
        let words = self.text.get(from.min(self.text.len())..).unwrap_or_default();
        let bare = target.trim_start_matches("mailto:").trim_start_matches("tel:");
        if words.contains(bare) || words.contains(bare.trim_end_matches('/')) {
            return;
        }
        self.blank();
        self.text.push('<');
        self.text.extend(target.chars().filter(|char| !char.is_whitespace() && !char.is_control()));
        self.text.push('>');
    }

    fn finish(mut self) -> String {
        self.end_link();
        self.text
    }
}

/// Returns whether the target of a link leads somewhere outside of the page.
fn is_address(target: &str) -> bool {
    let target = target.trim_start().to_ascii_lowercase();
    ["http:", "https:", "mailto:", "tel:", "ftp:", "//"].iter().any(|scheme| target.starts_with(scheme))
}

/// Returns the value of an attribute with its characters decoded.
fn plain(value: &str) -> String {
    entities(value).trim().to_owned()
}

/// Decodes the names and numbers of characters. One that is not known stands as it is.
fn entities(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find('&') {
        text.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at..).unwrap_or_default();
        let near = rest.get(1..rest.floor_char_boundary(MAX_ENTITY)).unwrap_or_default();
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '#';
        let width = near.find(|char| !is_name(char)).unwrap_or(near.len());
        let name = near.get(..width).unwrap_or_default();
        match character(name) {
            Some(found) => {
                text.push_str(&found);
                rest = rest.get(1 + width..).unwrap_or_default();
                rest = rest.strip_prefix(';').unwrap_or(rest);
            }
            None => {
                text.push('&');
                rest = rest.get(1..).unwrap_or_default();
            }
        }
    }
    text.push_str(rest);
    text
}

fn character(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        // Numbers that no character has are meant as bytes of windows-1252.
        if let (0x80..=0x9f, Ok(byte)) = (number, u8::try_from(number)) {
            return Some(encoding_rs::WINDOWS_1252.decode_without_bom_handling(&[byte]).0.into_owned());
        }
        return Some(char::from_u32(number).filter(|char| *char != '\0').unwrap_or('\u{fffd}').to_string());
    }
    if name.is_empty() {
        return None;
    }
    let mut found = String::new();
    add_html_token(&mut found, format!("&{name};").as_bytes(), false);
    (!found.starts_with('&') || name.eq_ignore_ascii_case("amp")).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_gives_its_text() {
        let check = |page: &str, expected: &str| assert_eq!(text(page).trim(), expected, "{page}");
        check("", "");
        check("<p>Hello <b>you</b></p><p>There</p>", "Hello you\n\nThere");
        check("<div>one</div><div>two<br>three</div>", "one\ntwo\nthree");
        check("<table><tr><td>Net</td><td>5.00</td></tr><tr><th>Sum<td>6.00</table>", "Net  5.00\nSum  6.00");
        check(
            "a &lt; b &amp;&nbsp;c &eacute; &#8364; &#x20ac; &#146; &nope; R&D &copy 1",
            "a < b & c é € € ’ &nope; R&D © 1",
        );
        check("if a < b then <b>c</b>", "if a < b then c");
        check("<head><title>t</title><style>p {}</style></head><script>1 < 2</script>x", "t\nx");
        check(
            "<input value='5 EUR'> <input type=hidden value=no> <input type=SUBMIT value=Pay>",
            "5 EUR Pay",
        );
        check("<input type=checkbox checked>yes <input type=radio>no", "[x] yes [ ] no");
        check("<select><option>a<option selected>b</select>", "a\n[x] b");
        check("<input placeholder='Your name'><img src=x title='A &amp;lt; b'>", "Your name A &lt; b");
        check("<abbr title='in the amount of'>i.a.</abbr> 5", "i.a. (in the amount of) 5");
        check("<ul><li>one<li>two</ul>", "- one\n- two");
        check("<pre>a  b\n  c</pre>", "a  b\n  c");
        check(
            "<a href='https://a.example/pay?x=1&amp;y=2'>Pay here</a>!",
            "Pay here <https://a.example/pay?x=1&y=2>!",
        );
        check(
            "<a href=\"https://a.example/\">https://a.example</a> <a href=#x>up</a>",
            "https://a.example up",
        );
        check("<a href=mailto:a@b.example>a@b.example</a>", "a@b.example");
        check("<img src=cid:1 alt='The logo'> <img src=x>after", "The logo after");
        check("a<!-- hidden -->b<!--[if mso]>c<![endif]-->d<![if !x]>e<![endif]>", "abde");
    }

    #[test]
    fn faulty_html_loses_no_text() {
        let check = |page: &str, part: &str| assert!(text(page).contains(part), "{page}: {}", text(page));
        // A head, a style sheet, a comment, a quote and a tag without an end.
        check("<html><head><body>Amount due: 88.50", "Amount due: 88.50");
        check("<style>p { }<p>Amount due: 88.50</p>", "Amount due: 88.50");
        check("<!-- <p>Amount due: 88.50</p>", "Amount due: 88.50");
        check("<p class=\"x>Amount due: 88.50</p><p>next</p>", "Amount due: 88.50");
        check("<p class=\"x>Amount due: 88.50</p><p title=q id=r\">next</p>", "Amount due: 88.50");
        check("<p class=\"x>Amount due: 88.50\" tall</p>next", "Amount due: 88.50");
        check("<img alt=\"a > b\">next", "a > b");
        check("<p title=don't>Amount due: 88.50</p>", "Amount due: 88.50");
        check("Amount due: 88.50 <a href=", "Amount due: 88.50");
        check("Amount due <88.50>", "Amount due <88.50>");
        check("</p>Amount<>due", "Amount<>due");
        let deep = format!("{}deep{}", "<div>".repeat(100_000), "</div>".repeat(100_000));
        check(&deep, "deep");
        check(&"<!-- <style> <p title='".repeat(20_000), "");
        // Each of these takes minutes if a search begins anew at each place.
        for part in [
            "<!--",
            "<!-- x",
            "<a b='>x",
            "<a b=\"c'>",
            "<a \"<a '",
            "<script>",
            "</script",
            "<![",
            "&#",
            "<p ",
        ] {
            check(&format!("{} the end", part.repeat(1_000_000 / part.len())), "");
        }
    }

    #[test]
    fn encoding_is_read_from_the_meta_element() {
        let check = |page: &[u8], expected: Option<&str>| assert_eq!(charset(page).as_deref(), expected);
        check(b"<meta charset=\"Shift_JIS\">", Some("shift_jis"));
        check(
            b"<META http-equiv=Content-Type content='text/html; charset=iso-2022-jp'>",
            Some("iso-2022-jp"),
        );
        check(b"<p>charset=x</p>", None);
    }
}
