//! The tokens of content streams and of character tables.
//!
//! Both are read here and not by the parser of the file. They are the parts of a PDF that grow most by decompression,
//! and their tokens need not be kept. Brackets do not nest in the parts that hold text, so the lexer does not
//! recurse. Arrays are flattened, and the delimiters of dictionaries are skipped.

/// The maximum number of operands that are kept for one operation.
const OPERANDS: usize = 1 << 16;

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'a> {
    /// A number. An invalid number is 0.
    Number(f32),
    /// A name, without its slash.
    Name(Vec<u8>),
    /// A literal or hexadecimal string.
    Text(Vec<u8>),
    /// The token `[`.
    Open,
    /// The token `]`.
    Close,
    /// Any other token: an operator or a keyword.
    Word(&'a [u8]),
}

/// The tokens of some content, in order. Invalid tokens do not end the iteration early.
pub(super) struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    pub(super) fn new(content: &'a [u8]) -> Self {
        Self { rest: content }
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, &[]));
        self.rest = rest;
        taken
    }

    /// Returns the bytes before the first byte for which `end` holds, and skips them.
    fn take_until(&mut self, end: impl Fn(u8) -> bool) -> &'a [u8] {
        let length = self.rest.iter().position(|byte| end(*byte)).unwrap_or(self.rest.len());
        self.take(length)
    }

    /// Returns a string in parentheses, which may contain balanced parentheses.
    fn literal(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut open = 1_usize;
        while let [byte] = *self.take(1) {
            match byte {
                b'(' => open += 1,
                b')' if open == 1 => break,
                b')' => open -= 1,
                b'\\' => {
                    self.escape(&mut text);
                    continue;
                }
                _ => {}
            }
            text.push(byte);
        }
        text
    }

    fn escape(&mut self, text: &mut Vec<u8>) {
        let [byte] = *self.take(1) else { return };
        match byte {
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'b' => text.push(8),
            b'f' => text.push(12),
            // A line break after a backslash is ignored.
            b'\n' => {}
            b'\r' => {
                if self.rest.first() == Some(&b'\n') {
                    self.take(1);
                }
            }
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    if let Some(digit @ b'0'..=b'7') = self.rest.first() {
                        code = code * 8 + u32::from(digit - b'0');
                        self.take(1);
                    }
                }
                text.push((code & 0xff) as u8);
            }
            byte => text.push(byte),
        }
    }

    /// Skips the data of an inline image, which follow its `ID`. The end is an `EI` between blanks that is followed
    /// by plausible text, because the data may contain the two letters by chance.
    fn skip_image(&mut self) {
        let data = self.rest;
        for (at, window) in data.windows(3).enumerate() {
            let [blank, b'E', b'I'] = window else { continue };
            let after = data.get(at + 3..).unwrap_or_default();
            let text = after.iter().take(8).all(|byte| is_blank(*byte) || byte.is_ascii_graphic());
            if is_blank(*blank) && after.first().is_none_or(|byte| is_blank(*byte)) && text {
                self.rest = after;
                return;
            }
        }
        self.rest = &[];
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            self.take_until(|byte| !is_blank(byte));
            match *self.rest.first()? {
                b'%' => {
                    self.take_until(|byte| byte == b'\n' || byte == b'\r');
                }
                b'[' => {
                    self.take(1);
                    return Some(Token::Open);
                }
                b']' => {
                    self.take(1);
                    return Some(Token::Close);
                }
                b'(' => {
                    self.take(1);
                    return Some(Token::Text(self.literal()));
                }
                b'<' if self.rest.get(1) != Some(&b'<') => {
                    self.take(1);
                    let digits = self.take_until(|byte| byte == b'>');
                    self.take(1);
                    return Some(Token::Text(hex(digits)));
                }
                b'<' => {
                    self.take(2);
                }
                b'>' | b')' | b'{' | b'}' => {
                    self.take(1);
                }
                b'/' => {
                    self.take(1);
                    return Some(Token::Name(name(self.take_until(ends_word))));
                }
                first => {
                    let word = self.take_until(ends_word);
                    let is_number = first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.');
                    return Some(if is_number { Token::Number(number(word)) } else { Token::Word(word) });
                }
            }
        }
    }
}

/// The operations of a content stream.
pub(super) struct Operations<'a> {
    tokens: Tokens<'a>,
}

impl<'a> Operations<'a> {
    pub(super) fn new(content: &'a [u8]) -> Self {
        Self { tokens: Tokens::new(content) }
    }

    /// Returns the operator of the next operation. Its operands replace the content of `operands`, with arrays
    /// flattened.
    pub(super) fn next(&mut self, operands: &mut Vec<Token<'a>>) -> Option<&'a [u8]> {
        operands.clear();
        loop {
            match self.tokens.next()? {
                Token::Word(b"true" | b"false" | b"null") | Token::Open | Token::Close => {}
                Token::Word(b"ID") => {
                    self.tokens.skip_image();
                    return Some(b"ID");
                }
                Token::Word(word) => return Some(word),
                operand if operands.len() < OPERANDS => operands.push(operand),
                _ => {}
            }
        }
    }
}

fn is_blank(byte: u8) -> bool {
    byte == 0 || byte.is_ascii_whitespace()
}

fn ends_word(byte: u8) -> bool {
    is_blank(byte) || b"[]<>(){}/%".contains(&byte)
}

fn number(word: &[u8]) -> f32 {
    let number = std::str::from_utf8(word).ok().and_then(|word| word.parse::<f32>().ok());
    number.filter(|number| number.is_finite()).unwrap_or(0.0)
}

/// Returns the bytes of hexadecimal digits. Other characters are skipped. A single last digit is the high half of a
/// byte.
fn hex(digits: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    let mut half = None;
    for digit in digits.iter().filter_map(|digit| char::from(*digit).to_digit(16)) {
        match half.take() {
            None => half = Some(digit),
            Some(high) => bytes.push((high << 4 | digit) as u8),
        }
    }
    bytes.extend(half.map(|high| (high << 4) as u8));
    bytes
}

/// Returns a name, with each `#` and two digits replaced by the byte that they stand for.
fn name(written: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(written.len());
    let mut rest = written;
    loop {
        match rest {
            [b'#', high, low, tail @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                name.extend(hex(&[*high, *low]));
                rest = tail;
            }
            [byte, tail @ ..] => {
                name.push(*byte);
                rest = tail;
            }
            [] => return name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations() {
        let check = |content: &[u8], expected: &str| {
            let mut operations = Operations::new(content);
            let mut operands = Vec::new();
            let mut found = Vec::new();
            while let Some(operator) = operations.next(&mut operands) {
                for operand in &operands {
                    found.push(match operand {
                        Token::Number(number) => number.to_string(),
                        Token::Name(name) => format!("/{}", name.escape_ascii()),
                        Token::Text(text) => format!("({})", text.escape_ascii()),
                        other => format!("{other:?}"),
                    });
                }
                found.push(operator.escape_ascii().to_string());
            }
            assert_eq!(found.join(" "), expected, "{}", content.escape_ascii());
        };
        check(b"", "");
        check(b"q 1 0 0 -1.5 .5 +2 cm", "q 1 0 0 -1.5 0.5 2 cm");
        check(b"/F#311 12 Tf(a)Tj", "/F11 12 Tf (a) Tj");
        check(b"[(a)-20.5<4142>]TJ % note\n<4>Tj", "(a) -20.5 (AB) TJ (@) Tj");
        check(b"(a(b)c\\)\\\\\\n\\101\\0501\\\r\nx\\z)Tj", "(a(b)c)\\\\\\nA(1xz) Tj");
        check(b"/Span <</ActualText (x) /B true>> BDC", "/Span /ActualText (x) /B BDC");
        check(b"BI /W 2 ID \x00 EI\xff EI\n(t) Tj", "BI /W 2 ID (t) Tj");
        check(b"--5 1-2 - 1e99 Td (open", "0 0 0 0 Td");
        check(b"(a) ' 1 2 (b) \" T*", "(a) \\' 1 2 (b) \\\" T*");
        check(b"] > ) } {", "");
    }
}
