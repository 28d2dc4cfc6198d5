//! Paths on a server, in a form that every server reads in the same way.

use super::BadPlace;

/// The maximum length of a path, in bytes.
const MAX_LEN: usize = 4096;

/// A path that begins with `/` and can be read in only one way.
///
/// It has no `.` or `..`, no empty part except perhaps the last, and no needless escapes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlainPath(String);

impl PlainPath {
    /// Checks a path.
    ///
    /// # Errors
    /// When a server, or a proxy before it, may read the path in another way than this crate.
    pub fn parse(text: &str) -> Result<PlainPath, BadPlace> {
        let bad = || BadPlace::Path(text.chars().take(200).collect());
        let rest = text.strip_prefix('/').ok_or_else(bad)?;
        if text.len() > MAX_LEN {
            return Err(bad());
        }
        let parts: Vec<&str> = rest.split('/').collect();
        let last = parts.len().saturating_sub(1);
        for (at, part) in parts.iter().enumerate() {
            if (part.is_empty() && at < last) || !is_plain(part) {
                return Err(bad());
            }
        }
        Ok(PlainPath(text.to_owned()))
    }

    /// Returns the path as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path as a string.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Returns whether one part of a path can be read in only one way.
fn is_plain(part: &str) -> bool {
    let mut decoded = Vec::with_capacity(part.len());
    let mut bytes = part.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let hex = |byte: Option<u8>| byte.and_then(|b| (b as char).to_digit(16));
            let (Some(high), Some(low)) = (hex(bytes.next()), hex(bytes.next())) else { return false };
            let byte = (high * 16 + low) as u8;
            // A needless escape only serves to get past a filter.
            if is_unreserved(byte) || matches!(byte, b'/' | b'\\' | b'%' | 0..=0x1F | 0x7F) {
                return false;
            }
            decoded.push(byte);
        } else if is_unreserved(byte) || b"!$&'()*+,;=:@".contains(&byte) {
            decoded.push(byte);
        } else {
            return false;
        }
    }
    // Some decoders accept overlong forms of `.` and `/`. These are not valid UTF-8.
    let Ok(text) = String::from_utf8(decoded) else { return false };
    // Some servers read the text after a `;` as parameters, and `..;` as `..`. Some drop spaces at the ends of a
    // name.
    text.split(';').enumerate().all(|(at, name)| {
        let name = name.trim();
        // Parameters may be empty. The whole part may also be empty, if it is the last one.
        let is_whole = at > 0 || text.is_empty();
        !matches!(name, "." | "..") && (is_whole || !name.is_empty())
    }) && !text.contains(char::is_control)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Returns whether a plain path equals `above` or is below it, compared by whole parts.
pub fn covers(above: &str, path: &str) -> bool {
    above == "/" || path == above || path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_paths_are_refused() {
        for text in [
            "/",
            "/v1",
            "/v1/",
            "/a/b.c/d-e_f~g",
            "/a/x%20y",
            "/a:b/c@d",
            "/a,b;v=1",
            "/...",
            "/%C3%BC",
            "/a;",
            "/a%3Bb",
        ] {
            assert_eq!(PlainPath::parse(text).map(PlainPath::into_string), Ok(text.to_owned()));
        }
        for text in [
            "",
            "v1",
            "//v1",
            "/a//b",
            "/./a",
            "/a/..",
            "/../a",
            "/a/../b",
            "/a/%2e%2e/b",
            "/a/%2E./b",
            "/a%2fb",
            "/a%5cb",
            "/a\\b",
            "/a b",
            "/a%",
            "/a%4",
            "/a%zz",
            "/a%00",
            "/a?b",
            "/a#b",
            "/a\nb",
            "/ü",
            "/%41",
            "/..;/a",
            "/.;x/a",
            "/a%25/b",
            "/;a",
            "/..%3B/a",
            "/a;../b",
            "/a%3b..",
            "/%3Ba",
            "/..%20/a",
            "/%20../a",
            "/%20",
            "/..%C2%A0/a",
            "/%C0%AE%C0%AE/a",
            "/%C0%AF",
            "/%E0%80%AF",
            "/%FF",
            "/%C2%85",
            "/a%5C..",
        ] {
            assert!(PlainPath::parse(text).is_err(), "{text}");
        }
        assert!(PlainPath::parse(&format!("/{}", "a".repeat(MAX_LEN))).is_err());
    }
}
