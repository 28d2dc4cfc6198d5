//! The tokens of `M.` expressions: the part of JavaScript's grammar for data.

use num_bigint::BigInt;

use super::error::{PatternError, Span};
use crate::text::{Text, TextBuilder};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Text(Text),
    Number(f64),
    BigInt(BigInt),
    /// A character out of `.,:()[]{}-`.
    Sign(char),
    End,
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Lexer { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|char| !keep(char)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn space(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest().starts_with("//") {
                self.take_while(|char| char != '\n');
            } else {
                return;
            }
        }
    }

    pub(super) fn next(&mut self) -> Result<(Token, Span), PatternError> {
        self.space();
        let start = self.at;
        let Some(first) = self.rest().chars().next() else {
            return Ok((Token::End, start..start));
        };
        let token = match first {
            '.' | ',' | ':' | '(' | ')' | '[' | ']' | '{' | '}' | '-' => {
                self.at += 1;
                Token::Sign(first)
            }
            '"' | '\'' => self.string(first)?,
            '0'..='9' => self.number()?,
            _ if first.is_alphabetic() || matches!(first, '_' | '$') => {
                let name = self.take_while(|char| char.is_alphanumeric() || matches!(char, '_' | '$'));
                Token::Name(name.to_owned())
            }
            other => {
                let shown = crate::visible_line(other.encode_utf8(&mut [0; 4])).into_owned();
                let span = start..start + other.len_utf8();
                return Err(PatternError::new(span, format!("`{shown}` cannot stand here")));
            }
        };
        Ok((token, start..self.at))
    }

    fn number(&mut self) -> Result<Token, PatternError> {
        let start = self.at;
        self.take_while(|char| char.is_ascii_digit());
        if self.rest().starts_with('n') {
            let digits = self.text.get(start..self.at).unwrap_or_default();
            self.at += 1;
            return crate::codec::read_bigint(&Text::from(digits))
                .map(Token::BigInt)
                .map_err(|problem| PatternError::new(start..self.at, problem.to_string()));
        }
        if self.rest().starts_with('.')
            && self.rest().get(1..).is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
        {
            self.at += 1;
            self.take_while(|char| char.is_ascii_digit());
        }
        if self.rest().starts_with(['e', 'E']) {
            self.at += 1;
            if self.rest().starts_with(['+', '-']) {
                self.at += 1;
            }
            self.take_while(|char| char.is_ascii_digit());
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        let follows = self.rest().starts_with(|char: char| char.is_alphanumeric() || char == '_');
        match text.parse() {
            Ok(number) if !follows => Ok(Token::Number(number)),
            _ => Err(PatternError::new(start..self.at, "this is not a number")),
        }
    }

    fn string(&mut self, quote: char) -> Result<Token, PatternError> {
        let start = self.at;
        self.at += 1;
        let mut builder = TextBuilder::default();
        loop {
            let plain = self.take_while(|char| char != quote && char != '\\' && char != '\n');
            builder.push_str(plain);
            match self.rest().chars().next() {
                Some(char) if char == quote => {
                    self.at += 1;
                    return Ok(Token::Text(builder.finish()));
                }
                Some('\\') => self.escape(&mut builder)?,
                _ => return Err(PatternError::new(start..self.at, "this string does not end")),
            }
        }
    }

    fn escape(&mut self, builder: &mut TextBuilder) -> Result<(), PatternError> {
        let start = self.at;
        self.at += 1;
        let Some(char) = self.rest().chars().next() else {
            return Err(PatternError::new(start..self.at, "this string does not end"));
        };
        self.at += char.len_utf8();
        let plain = match char {
            'b' => '\u{8}',
            'f' => '\u{C}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{B}',
            '0' => '\0',
            'x' => return self.hex(start, 2, builder),
            'u' if self.rest().starts_with('{') => return self.braced(start, builder),
            'u' => return self.hex(start, 4, builder),
            '\\' | '"' | '\'' | '/' | '`' => char,
            _ => return Err(PatternError::new(start..self.at, "this escape is unknown")),
        };
        builder.push_str(plain.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn hex(&mut self, start: usize, digits: usize, builder: &mut TextBuilder) -> Result<(), PatternError> {
        let hex = self.rest().get(..digits).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match hex.and_then(|hex| u16::from_str_radix(hex, 16).ok()) {
            Some(unit) => {
                self.at += digits;
                builder.push_unit(unit);
                Ok(())
            }
            None => Err(PatternError::new(
                start..self.at,
                format!("expected {digits} hexadecimal digits after this"),
            )),
        }
    }

    fn braced(&mut self, start: usize, builder: &mut TextBuilder) -> Result<(), PatternError> {
        self.at += 1;
        let hex = self.take_while(|char| char.is_ascii_hexdigit());
        let point = u32::from_str_radix(hex, 16).ok().filter(|_| self.rest().starts_with('}'));
        match (point.and_then(char::from_u32), point) {
            (Some(char), _) => builder.push_str(char.encode_utf8(&mut [0; 4])),
            (None, Some(surrogate @ 0xD800..0xE000)) => builder.push_unit(surrogate as u16),
            _ => return Err(PatternError::new(start..self.at, "this is not a code point")),
        }
        self.at += 1;
        Ok(())
    }
}
