//! Rust text with everything that is not code blanked out, so that a rule can search for words.
//!
//! Not a parser: it knows comments, strings, characters and brackets, which is all that the rules need. Lines and
//! columns stay where they were.

/// One Rust file, ready to be searched.
pub(crate) struct Source {
    /// The code; comments and the insides of strings and characters are blanks.
    pub(crate) code: Vec<String>,
    /// For each line, whether it is compiled for tests only.
    pub(crate) test: Vec<bool>,
}

impl Source {
    /// Reads a file. `all_test` when its path already says that it holds tests.
    pub(crate) fn read(text: &str, all_test: bool) -> Self {
        let code = mask(text);
        let mut test = vec![all_test || code.contains("#![cfg(test)]"); code.split('\n').count()];
        if !all_test {
            for (first, last) in test_items(&code) {
                test[first..=last].fill(true);
            }
        }
        Self { code: code.split('\n').map(str::to_owned).collect(), test }
    }

    /// Returns the lines that ship, with their numbers from 1.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        self.every().filter(|(line, _)| !self.test[line - 1])
    }

    /// Returns all lines, with their numbers from 1.
    pub(crate) fn every(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.iter().enumerate().map(|(index, line)| (index + 1, line.as_str()))
    }
}

/// Returns whether `word` stands in `line` as a word of its own: no letter, digit or `_` on either side.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let joins = |c: char| c.is_alphanumeric() || c == '_';
        !line[..start].ends_with(joins) && !line[start + word.len()..].starts_with(joins)
    })
}

/// Blanks out comments and the insides of literals. The result has the same characters in the same places
/// otherwise, except that a blanked character of several bytes becomes one blank.
fn mask(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let end = match (c, chars.get(at + 1)) {
            ('/', Some('/')) => line_end(&chars, at),
            ('/', Some('*')) => comment_end(&chars, at),
            ('"', _) => string_end(&chars, at),
            ('r' | 'b' | 'c', _) if !follows_word(&chars, at) => match raw_string(&chars, at) {
                Some(end) => end,
                None => at,
            },
            ('\'', _) => character_end(&chars, at),
            _ => at,
        };
        if end == at {
            out.push(c);
            at += 1;
            continue;
        }
        // Quotes stay, so that a rule can tell `.expect("…")` from a call with an argument of another kind.
        let quoted = matches!(c, '"' | '\'');
        for (index, &inside) in chars[at..end].iter().enumerate() {
            let edge = quoted && (index == 0 || index == end - at - 1);
            out.push(if inside == '\n' || edge { inside } else { ' ' });
        }
        at = end;
    }
    out
}

fn follows_word(chars: &[char], at: usize) -> bool {
    at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_')
}

fn line_end(chars: &[char], at: usize) -> usize {
    chars[at..].iter().position(|&c| c == '\n').map_or(chars.len(), |length| at + length)
}

/// Returns the place behind a block comment, which may hold others.
fn comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut here = at;
    while here < chars.len() {
        match (chars[here], chars.get(here + 1)) {
            ('/', Some('*')) => (depth, here) = (depth + 1, here + 2),
            ('*', Some('/')) => (depth, here) = (depth - 1, here + 2),
            _ => here += 1,
        }
        if depth == 0 {
            return here;
        }
    }
    chars.len()
}

/// Returns the place behind the string whose opening quote is at `at`.
fn string_end(chars: &[char], at: usize) -> usize {
    let mut here = at + 1;
    while here < chars.len() {
        match chars[here] {
            '\\' => here += 2,
            '"' => return here + 1,
            _ => here += 1,
        }
    }
    chars.len()
}

/// Returns the place behind the raw, byte or C string that begins at `at` with its prefix; `None` when none does.
fn raw_string(chars: &[char], at: usize) -> Option<usize> {
    let prefix = chars[at..].iter().take_while(|c| matches!(c, 'r' | 'b' | 'c')).take(2).count();
    let raw = chars[at..at + prefix].contains(&'r');
    let hashes = chars[at + prefix..].iter().take_while(|&&c| c == '#').count();
    let quote = at + prefix + hashes;
    if chars.get(quote) != Some(&'"') || (hashes > 0 && !raw) {
        return None;
    }
    if !raw {
        return Some(string_end(chars, quote));
    }
    let mut here = quote + 1;
    while here < chars.len() {
        let closing = chars[here] == '"'
            && chars[here + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes;
        here += 1;
        if closing {
            return Some(here + hashes);
        }
    }
    Some(chars.len())
}

/// Returns the place behind a character literal; `at` itself when the quote begins a lifetime.
fn character_end(chars: &[char], at: usize) -> usize {
    match (chars.get(at + 1), chars.get(at + 2)) {
        (Some('\\'), _) => {
            let closing = chars.iter().skip(at + 3).position(|&c| c == '\'');
            closing.map_or(chars.len(), |length| at + 4 + length)
        }
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}

/// Returns the first and last line (from 0) of each item under `#[cfg(test)]` or a test attribute.
fn test_items(code: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices("#[") {
        let Some(length) = code[start..].find(']') else { continue };
        let attribute = &code[start + 2..start + length];
        let for_tests =
            attribute.starts_with("cfg(") && has_word(attribute, "test") && !attribute.contains("not(");
        if for_tests || attribute == "test" {
            let line = |at: usize| code[..at].matches('\n').count();
            found.push((line(start), line(item_end(code, start + length + 1))));
        }
    }
    found
}

/// Returns the last byte of the item that begins at `from`: its closing brace, or the semicolon before any brace
/// opens.
fn item_end(code: &str, from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' if depth <= 1 => return at,
            b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => return at,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::{Source, has_word};

    #[test]
    fn mask_blanks_comments_and_literals() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Source::read(text, false).code.join("\n"), expected, "{text}");
        };
        check("a // b", "a     ");
        check("a /* b /* c */ d */ e", "a                   e");
        check(r#"f("x\"y", 'z', '\'', '\u{1}')"#, r#"f("    ", ' ', '  ', '     ')"#);
        check(r##"x(r#"a"b"#, b"c", br"d", r#type)"##, "x(        ,     ,      , r#type)");
        check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
        check("\"one\ntwo\" x", "\"   \n   \" x");
        check("bar(\"é\")", "bar(\" \")");
    }

    #[test]
    fn test_items_do_not_ship() {
        let check = |text: &str, expected: &[usize]| {
            let source = Source::read(text, false);
            assert_eq!(source.shipped().map(|(line, _)| line).collect::<Vec<_>>(), expected, "{text}");
        };
        check("a\n#[cfg(test)]\nmod tests {\n  fn f() { (1, [2]); }\n}\nb", &[1, 6]);
        check("#[cfg(test)]\nmod tests;\nb", &[3]);
        check("#[cfg(all(test, unix))]\nuse x::{a,\n b};\nc", &[4]);
        check("#[cfg(not(test))]\nfn a() {}", &[1, 2]);
        check("#[test]\nfn a() {\n \"}\";\n}\nb", &[5]);
        check("#![cfg(test)]\na", &[]);
        assert_eq!(Source::read("a\nb", true).shipped().count(), 0);
    }

    #[test]
    fn has_word_matches_whole_words_only() {
        assert!(has_word("let x = unsafe {", "unsafe"));
        assert!(!has_word("#![forbid(unsafe_code)]", "unsafe"));
        assert!(!has_word("my_env::x", "env"));
    }
}
