//! What code does with what it is given, found in its text without running it.
//!
//! It is a help for whoever reads the code, and no proof: what calls a method by a computed name, or hands a slot on
//! under another name, is seen as a use of the slot and not of the method. The text itself is what counts.

use std::collections::{BTreeMap, BTreeSet};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Every slot that the text uses, with the methods that it calls on it.
    pub slots: BTreeMap<String, BTreeSet<String>>,
    /// Slots that it uses in other ways as well, or whose name it declares for something else: what comes of that is not
    /// told by the text.
    pub elsewhere: BTreeSet<String>,
    /// Whether its brackets match, as far as it was read. Where they do not, it may be no program.
    pub is_whole: bool,
    /// Names that the text uses, and neither declares nor has as slots.
    pub free: BTreeSet<String>,
}

/// Words of the language, which are no names.
const WORDS: &[&str] = &[
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "from",
    "function",
    "get",
    "if",
    "import",
    "in",
    "instanceof",
    "let",
    "new",
    "null",
    "of",
    "return",
    "set",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// A piece of code.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Sign(char),
    /// Text, a number, an expression of patterns: nothing that names.
    Other,
}

/// Looks through code for what it does with these slots.
pub fn of(source: &str, slots: &[&str]) -> Uses {
    let tokens = tokens(source);
    let declared = declared(&tokens);
    let mut found = Uses { is_whole: is_whole(&tokens), ..Uses::default() };
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(name) = token else { continue };
        if !is_use(&tokens, at) || WORDS.contains(&name.as_str()) {
            continue;
        }
        if slots.contains(&name.as_str()) {
            let methods = found.slots.entry(name.clone()).or_default();
            let called = method(&tokens, at);
            if called.is_none() || declared.contains(name) {
                found.elsewhere.insert(name.clone());
            }
            methods.extend(called);
        } else if !declared.contains(name) {
            found.free.insert(name.clone());
        }
    }
    found
}

fn sign(tokens: &[Token], at: usize) -> Option<char> {
    match tokens.get(at) {
        Some(Token::Sign(sign)) => Some(*sign),
        _ => None,
    }
}

fn word(tokens: &[Token], at: usize) -> Option<&str> {
    match tokens.get(at) {
        Some(Token::Word(word)) => Some(word),
        _ => None,
    }
}

/// Whether a name stands for something, and is no member of something else and no key of a record.
fn is_use(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| sign(tokens, at));
    let spread = at >= 3 && sign(tokens, at - 3) == Some('.') && sign(tokens, at - 2) == Some('.');
    if before == Some('.') && !spread {
        return false;
    }
    let is_key = sign(tokens, at + 1) == Some(':') && matches!(before, Some('{' | ','));
    let is_method = sign(tokens, at + 1) == Some('(')
        && matches!(before, Some('{' | ','))
        && closing(tokens, at + 1).is_some_and(|end| sign(tokens, end + 1) == Some('{'));
    !is_key && !is_method
}

/// The method that is called on a slot: `E(slot).method(`, `slot.method(`.
fn method(tokens: &[Token], at: usize) -> Option<String> {
    let mut next = at + 1;
    if at >= 2 && sign(tokens, at - 1) == Some('(') && word(tokens, at - 2) == Some("E") {
        if sign(tokens, next) != Some(')') {
            return None;
        }
        next += 1;
    }
    if sign(tokens, next) == Some('?') {
        next += 1;
    }
    (sign(tokens, next) == Some('.')).then_some(())?;
    let name = word(tokens, next + 1)?;
    (sign(tokens, next + 2) == Some('(')).then(|| name.to_owned())
}

/// Whether each bracket is closed by one of its kind.
fn is_whole(tokens: &[Token]) -> bool {
    let mut open = Vec::new();
    for token in tokens {
        let Token::Sign(sign) = token else { continue };
        match sign {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' if open.pop() != Some(*sign) => return false,
            _ => {}
        }
    }
    open.is_empty()
}

/// The sign that closes the one at this place.
fn closing(tokens: &[Token], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(place);
                }
            }
            _ => {}
        }
    }
    None
}

/// The names that the text declares anywhere: too many rather than too few places where one is looked for would hide
/// what is free, so only what can bind a name is taken.
fn declared(tokens: &[Token]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Word(word) if matches!(word.as_str(), "const" | "let" | "var") => {
                binding(tokens, at + 1, &mut names);
            }
            Token::Word(word) if matches!(word.as_str(), "function" | "class") => {
                let star = usize::from(sign(tokens, at + 1) == Some('*'));
                names.extend(self::word(tokens, at + 1 + star).map(str::to_owned));
            }
            Token::Word(word) if word == "import" => {
                let end = (at..tokens.len()).find(|at| self::word(tokens, *at) == Some("from"));
                let words = (at + 1..end.unwrap_or(at)).filter_map(|at| self::word(tokens, at));
                names.extend(words.map(str::to_owned));
            }
            // Parameters: before an arrow, or before the body of a function, a method or a `catch`.
            Token::Sign('(') => {
                let Some(end) = closing(tokens, at) else { continue };
                let arrow = sign(tokens, end + 1) == Some('=') && sign(tokens, end + 2) == Some('>');
                let head = at.checked_sub(1).and_then(|at| self::word(tokens, at));
                let body = sign(tokens, end + 1) == Some('{')
                    && head.is_some_and(|word| !matches!(word, "if" | "for" | "while" | "switch" | "with"));
                if arrow || body {
                    parameters(tokens, at + 1, end, &mut names);
                }
            }
            Token::Word(word) if sign(tokens, at + 1) == Some('=') && sign(tokens, at + 2) == Some('>') => {
                names.insert(word.clone());
            }
            _ => {}
        }
    }
    names
}

/// What stands behind `const`: a name, or names within brackets; then perhaps more behind a comma.
fn binding(tokens: &[Token], at: usize, names: &mut BTreeSet<String>) {
    match tokens.get(at) {
        Some(Token::Word(word)) => {
            names.insert(word.clone());
        }
        Some(Token::Sign('{' | '[')) => {
            if let Some(end) = closing(tokens, at) {
                parameters(tokens, at, end, names);
            }
        }
        _ => {}
    }
}

/// The names that a list of parameters, or a pattern, binds.
fn parameters(tokens: &[Token], from: usize, to: usize, names: &mut BTreeSet<String>) {
    for at in from..to {
        let Some(name) = word(tokens, at) else { continue };
        let before = at.checked_sub(1).and_then(|at| sign(tokens, at));
        let is_key = sign(tokens, at + 1) == Some(':');
        if matches!(before, Some('(' | ',' | '{' | '[' | ':' | '.')) && !is_key {
            names.insert(name.to_owned());
        }
    }
}

/// Code in pieces; what is said in comments and text is left out, what stands in `${}` is not.
fn tokens(source: &str) -> Vec<Token> {
    let letters: Vec<char> = source.chars().collect();
    let mut tokens = Vec::new();
    read(&letters, 0, false, &mut tokens);
    tokens
}

/// Reads on from a place; of what stands in a template, until its brace closes. Says where it ended.
fn read(letters: &[char], mut at: usize, inside: bool, tokens: &mut Vec<Token>) -> usize {
    let mut depth = 0usize;
    while let Some(&letter) = letters.get(at) {
        let next = letters.get(at + 1).copied();
        match letter {
            '/' if next == Some('/') => at = until(letters, at, &['\n']),
            '/' if next == Some('*') => at = after(letters, at + 2),
            '/' if may_be_pattern(tokens) => {
                at = pattern(letters, at);
                tokens.push(Token::Other);
            }
            '"' | '\'' => {
                at = quoted(letters, at, letter);
                tokens.push(Token::Other);
            }
            '`' => {
                at = template(letters, at + 1, tokens);
                tokens.push(Token::Other);
            }
            c if c.is_alphabetic() || c == '_' || c == '$' => {
                let end = (at..letters.len()).find(|at| !is_of_word(letters[*at])).unwrap_or(letters.len());
                tokens.push(Token::Word(letters[at..end].iter().collect()));
                at = end;
            }
            c if c.is_ascii_digit() => {
                let end = (at..letters.len()).find(|at| !is_of_word(letters[*at])).unwrap_or(letters.len());
                tokens.push(Token::Other);
                at = end;
            }
            '}' if inside && depth == 0 => return at + 1,
            c => {
                match c {
                    '{' => depth += 1,
                    '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if !c.is_whitespace() {
                    tokens.push(Token::Sign(c));
                }
                at += 1;
            }
        }
    }
    at
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

fn until(letters: &[char], from: usize, ends: &[char]) -> usize {
    (from..letters.len()).find(|at| ends.contains(&letters[*at])).unwrap_or(letters.len())
}

/// Behind the end of a comment.
fn after(letters: &[char], from: usize) -> usize {
    let end = (from..letters.len()).find(|at| letters[*at] == '*' && letters.get(at + 1) == Some(&'/'));
    end.map_or(letters.len(), |at| at + 2)
}

fn quoted(letters: &[char], from: usize, quote: char) -> usize {
    let mut at = from + 1;
    while let Some(&letter) = letters.get(at) {
        match letter {
            '\\' => at += 2,
            '\n' => return at,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    at
}

fn template(letters: &[char], from: usize, tokens: &mut Vec<Token>) -> usize {
    let mut at = from;
    while let Some(&letter) = letters.get(at) {
        match letter {
            '\\' => at += 2,
            '`' => return at + 1,
            '$' if letters.get(at + 1) == Some(&'{') => {
                tokens.push(Token::Sign('('));
                at = read(letters, at + 2, true, tokens);
                tokens.push(Token::Sign(')'));
            }
            _ => at += 1,
        }
    }
    at
}

/// Whether a slash here begins a pattern rather than dividing: after something that ends an expression it divides.
fn may_be_pattern(tokens: &[Token]) -> bool {
    match tokens.last() {
        None => true,
        Some(Token::Word(word)) => {
            matches!(word.as_str(), "return" | "typeof" | "case" | "in" | "of" | "void")
        }
        Some(Token::Sign(sign)) => !matches!(sign, ')' | ']' | '}'),
        Some(Token::Other) => false,
    }
}

fn pattern(letters: &[char], from: usize) -> usize {
    let (mut at, mut in_class) = (from + 1, false);
    while let Some(&letter) = letters.get(at) {
        match letter {
            '\\' => at += 1,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => break,
            // It was no pattern.
            '\n' => return from + 1,
            _ => {}
        }
        at += 1;
    }
    let end = (at + 1..letters.len()).find(|at| !is_of_word(letters[*at]));
    end.unwrap_or(letters.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> String {
        let uses = of(source, &["out", "counter"]);
        let slots = uses.slots.iter().map(|(slot, methods)| {
            format!("{slot}:{}", methods.iter().cloned().collect::<Vec<_>>().join("+"))
        });
        let slots: Vec<String> = slots.collect();
        format!("{} | {}", slots.join(" "), uses.free.into_iter().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn what_is_called_on_slots_is_found() {
        for (source, expected) in [
            ("E(out).write('a', 1)", "out:write | E"),
            ("out.write(1); out?.read(2)", "out:read+write | "),
            ("await E(counter).incr(); E(counter).read()", "counter:incr+read | E"),
            ("const o = out; o.write()", "out: | "),
            ("out[name]()", "out: | name"),
            ("({ out: 1 }).out", " | "),
            ("x.out.write()", " | x"),
            ("// out.write()\n/* counter.incr() */ 'out.x()'", " | "),
            ("`text out.a() ${E(out).b(`${counter.c()}`)} more`", "counter:c out:b | E"),
            ("/out.write(\\/)/.test(text)", " | text"),
            ("a / out.b() / c", "out:b | a c"),
            ("outer.write(); our.out()", " | our outer"),
        ] {
            assert_eq!(found(source), expected, "{source}");
        }
    }

    #[test]
    fn what_is_not_declared_is_free() {
        for (source, expected) in [
            ("const { a, b: c, ...d } = e; a + c + d", " | e"),
            ("const [a, b] = f(); let g = a", " | f"),
            ("(a, { b }, ...c) => a + b + c + d", " | d"),
            ("a => a + b", " | b"),
            ("function go(a) { return go(a) }", " | "),
            ("const o = { go(a) { return a; }, stay: x, y }", " | x y"),
            ("try { a() } catch (e) { e.b }", " | a"),
            ("import { x as y } from 'z'; y()", " | "),
            ("if (a) { b }", " | a b"),
            ("class A extends B { m(c) { return this.m(c); } }", " | B"),
            ("globalThis.fetch", " | globalThis"),
            ("const a = (b = c) => b", " | c"),
        ] {
            assert_eq!(found(source), expected, "{source}");
        }
    }

    #[test]
    fn what_else_is_done_with_a_slot_is_said_too() {
        for (source, elsewhere, is_whole) in [
            ("E(out).write(1); E(counter).incr()", "", true),
            ("E(out).write(1); E(counter).put(out)", "out", true),
            ("E(out)[k](); E(counter)['incr']()", "counter out", true),
            ("const q = out; E(q).write(1)", "out", true),
            ("E.sendOnly(out).write(1)", "out", true),
            ("((E))(out).write(1)", "out", true),
            ("const { write } = E(out)", "out", true),
            ("{ let out = 3; E(out).write(1) }", "out", true),
            ("syntax error (((", "", false),
            ("E(out).write(1))", "", false),
            ("({ a: [1, `${out.b()}`] })", "", true),
        ] {
            let found = of(source, &["out", "counter"]);
            let told: Vec<String> = found.elsewhere.into_iter().collect();
            assert_eq!((told.join(" ").as_str(), found.is_whole), (elsewhere, is_whole), "{source}");
        }
    }

    #[test]
    fn no_text_is_too_odd() {
        for source in
            ["", "`", "`${", "'", "/", "/*", "((((", "}}}", "\\", "const", "E(", "out.", "\u{0}é\u{202E}"]
        {
            of(source, &["out"]);
        }
    }
}
