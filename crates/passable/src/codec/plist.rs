//! Plain JSON as Lisp data, for Emacs.
//!
//! Records are property lists, and arrays are vectors. `null` is `:null`, `false` is `:false`, `true` is `t`, and the
//! empty record is `nil`. Escapes are those of plain JSON.

use serde_json::{Map, Value as Json};

use crate::codec::error::{DecodeError, Problem};
use crate::codec::json::{Bounds, write_number};
use crate::value::MAX_DEPTH;

/// Writes plain JSON as Lisp data.
///
/// ```
/// use passable::plist;
/// let json = serde_json::json!({ "a b": false, "action": "show", "ids": [1, null] });
/// assert_eq!(plist::write(&json), r#"(:a\ b :false :action "show" :ids [1 :null])"#);
/// assert_eq!(plist::read(&plist::write(&json))?, json);
/// # Ok::<(), passable::DecodeError>(())
/// ```
pub fn write(json: &Json) -> String {
    let mut out = String::new();
    write_into(json, &mut out);
    out
}

fn write_into(json: &Json, out: &mut String) {
    match json {
        Json::Null => out.push_str(":null"),
        Json::Bool(true) => out.push('t'),
        Json::Bool(false) => out.push_str(":false"),
        Json::Number(number) => match number.as_i64() {
            Some(number) => out.push_str(&number.to_string()),
            None => write_number(out, number.as_f64().unwrap_or(0.0)),
        },
        Json::String(text) => {
            out.push('"');
            for char in text.chars() {
                match char {
                    '"' | '\\' => out.extend(['\\', char]),
                    // Strings may hold line breaks and tabs. Terminals and editors may act on other control
                    // characters.
                    '\n' | '\t' => out.push(char),
                    char if char.is_control() => out.push_str(&format!("\\x{:X}\\ ", u32::from(char))),
                    char => out.push(char),
                }
            }
            out.push('"');
        }
        Json::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                write_into(element, out);
            }
            out.push(']');
        }
        Json::Object(object) if object.is_empty() => out.push_str("nil"),
        Json::Object(object) => {
            out.push('(');
            for (at, (name, value)) in object.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                out.push(':');
                for char in name.chars() {
                    if !(char.is_alphanumeric() || "-_+*/<>=!$%&.@".contains(char)) {
                        out.push('\\');
                    }
                    out.push(char);
                }
                out.push(' ');
                write_into(value, out);
            }
            out.push(')');
        }
    }
}

/// Reads Lisp data as plain JSON, within the default [`Bounds`].
pub fn read(text: &str) -> Result<Json, DecodeError> {
    let bounds = Bounds::default();
    if text.len() > bounds.bytes {
        return Err(Problem::TooLarge { bytes: text.len(), limit: bounds.bytes }.into());
    }
    let mut reader = Reader { text, at: 0 };
    let json = reader.datum(0)?;
    reader.space();
    if reader.at < text.len() { Err(reader.syntax("the end")) } else { Ok(json) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn syntax(&self, expected: &'static str) -> DecodeError {
        Problem::Syntax { offset: self.at, expected }.into()
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        Some(char)
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|char| char.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn datum(&mut self, depth: u32) -> Result<Json, DecodeError> {
        if depth > 2 * MAX_DEPTH {
            return Err(Problem::TooDeep.into());
        }
        self.space();
        match self.peek() {
            Some('"') => self.string().map(Json::String),
            Some('[') => {
                self.at += 1;
                let mut elements = Vec::new();
                loop {
                    self.space();
                    if self.peek() == Some(']') {
                        self.at += 1;
                        return Ok(Json::Array(elements));
                    }
                    elements.push(self.datum(depth + 1)?);
                }
            }
            Some('(') => {
                self.at += 1;
                let mut object = Map::new();
                loop {
                    self.space();
                    match self.peek() {
                        Some(')') => {
                            self.at += 1;
                            return Ok(Json::Object(object));
                        }
                        Some(':') => {
                            self.at += 1;
                            let name = self.symbol()?;
                            let value = self.datum(depth + 1)?;
                            if object.insert(name.clone(), value).is_some() {
                                return Err(Problem::DuplicateName(name.into()).into());
                            }
                        }
                        _ => return Err(self.syntax("a keyword or `)`")),
                    }
                }
            }
            Some(':') => {
                self.at += 1;
                match self.symbol()?.as_str() {
                    "null" => Ok(Json::Null),
                    "false" => Ok(Json::Bool(false)),
                    "true" => Ok(Json::Bool(true)),
                    _ => Err(self.syntax(":null or :false")),
                }
            }
            Some(_) => match self.symbol()?.as_str() {
                "nil" => Ok(Json::Object(Map::new())),
                "t" => Ok(Json::Bool(true)),
                number => self.number(number),
            },
            None => Err(self.syntax("a datum")),
        }
    }

    fn number(&self, text: &str) -> Result<Json, DecodeError> {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        let number = text.parse::<f64>().ok().filter(|number| plain && number.is_finite());
        let json = number.and_then(crate::codec::plain::number_to_json);
        json.ok_or_else(|| self.syntax("a number, a string, a list or a vector"))
    }

    fn symbol(&mut self) -> Result<String, DecodeError> {
        let mut name = String::new();
        while let Some(char) = self.peek() {
            match char {
                '\\' => {
                    self.at += 1;
                    name.push(self.next().ok_or_else(|| self.syntax("a character after `\\`"))?);
                }
                '(' | ')' | '[' | ']' | '"' | ';' | '\'' => break,
                char if char.is_ascii_whitespace() => break,
                char => {
                    self.at += char.len_utf8();
                    name.push(char);
                }
            }
        }
        Ok(name)
    }

    fn string(&mut self) -> Result<String, DecodeError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(out),
                Some('\\') => match self.next() {
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    Some('x') => {
                        let digits: String = self
                            .text
                            .get(self.at..)
                            .unwrap_or_default()
                            .chars()
                            .take_while(char::is_ascii_hexdigit)
                            .collect();
                        let char = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        out.push(char.ok_or_else(|| self.syntax("a code point"))?);
                        self.at += digits.len();
                        // An escaped space ends the digits, as in Emacs.
                        if self.text.get(self.at..).is_some_and(|rest| rest.starts_with("\\ ")) {
                            self.at += 2;
                        }
                    }
                    Some(char @ ('"' | '\\')) => out.push(char),
                    _ => return Err(self.syntax("a string escape")),
                },
                Some(char) => out.push(char),
                None => return Err(self.syntax("the rest of a string")),
            }
        }
    }
}
