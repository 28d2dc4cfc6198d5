//! Keys in text that a run reads, found by their shape.
//!
//! Source code names the beginnings of keys and has none of them. So a private key counts only with its body.

use std::borrow::Cow;
use std::sync::LazyLock;

use kernel::proposal::Value;

use super::{Hit, HitKind, Secrets, key_body, strings};

/// The beginning of the line that begins or ends a private key, as PEM and SSH2 write it.
const MARKER: &[u8] = b"----";

/// The beginning of a private key of PuTTY.
const PUTTY: &[u8] = b"PuTTY-User-Key-File-";

static SHAPES_ALONE: LazyLock<Secrets> = LazyLock::new(Secrets::default);

/// Returns the kind of the first key in a text, or `None` if the text has no key.
pub fn key_in(text: &[u8]) -> Option<&'static str> {
    keys(text).next().map(|(kind, _)| kind)
}

/// Returns the text without its keys. A stand-in tells the kind of each.
pub fn withhold(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for (kind, hit) in keys(text.as_bytes()) {
        let start = text.floor_char_boundary(hit.start);
        if start < done || hit.end <= done {
            continue;
        }
        out.push_str(&text[done..start]);
        out.push_str(&format!("⟦{kind}, left out⟧"));
        done = text.ceil_char_boundary(hit.end);
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// Returns a value whose texts are without keys.
pub fn withhold_value(value: &Value) -> Value {
    let has_key = |bytes: &[u8]| key_in(bytes).is_some();
    strings::replace(value, &|text| withhold(text), &has_key)
}

/// Returns the keys in a text, with their kinds. Of keys that overlap, only the first is returned.
fn keys(text: &[u8]) -> impl Iterator<Item = (&'static str, Hit)> {
    let hits = SHAPES_ALONE.scan_bytes(text).into_iter();
    let mut done = 0;
    hits.filter_map(move |mut hit| {
        let HitKind::Shape(kind) = hit.kind else { return None };
        if hit.start < done {
            return None;
        }
        let (from, after) = (text.get(hit.start..)?, text.get(hit.end..)?);
        if from.starts_with(MARKER) {
            hit.end += rest_of_pem(after)?;
            done = hit.end;
        } else if from.starts_with(PUTTY) {
            hit.end += rest_of_putty(after)?;
            done = hit.end;
        }
        Some((kind, hit))
    })
}

/// Returns the length of what follows the first line of a private key, or `None` if it is no body. A body without an
/// end reaches to the end of the text.
fn rest_of_pem(text: &[u8]) -> Option<usize> {
    if !key_body::stands_at(text) {
        return None;
    }
    let Some(end) = key_body::find_marker(text, b"END") else { return Some(text.len()) };
    // The last line ends with dashes, unless it is cut off.
    let dashes = find(&text[end..], b"--").unwrap_or(0);
    let tail = text[end + dashes..].iter().take_while(|byte| **byte == b'-').count();
    Some(end + dashes + tail)
}

/// Returns the length of what follows the first words of a private key of PuTTY, or `None` if it is no body.
fn rest_of_putty(text: &[u8]) -> Option<usize> {
    /// The distance within which the body begins. The public key and a comment come first.
    const MAX_BEFORE: usize = 64 << 10;
    const LINES: &[u8] = b"Private-Lines:";
    let before = &text[..text.len().min(MAX_BEFORE)];
    let before = &before[..find(before, PUTTY).unwrap_or(before.len())];
    let private = find(before, LINES)?;
    if !key_body::begins_at(&text[private + LINES.len()..]) {
        return None;
    }
    Some(find(&text[private..], b"Private-MAC:").map_or(text.len(), |mac| private + mac))
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "MC4CAQAwBQYDK2VwBCIEIJ1hgr5ZQ0Jm3V1nYt8zq0Lw3Jm9o0v0c1cA2xq9qW5";

    fn pem(body: &str) -> String {
        format!("a\n-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\nb\n")
    }

    #[test]
    fn key_in_text_is_found_and_withheld() {
        let token = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
        for (text, kind, left) in [
            (pem(BODY), Some("a private key (PEM)"), "a\n⟦a private key (PEM), left out⟧\nb\n"),
            (format!("t={token};"), Some("a token of GitHub"), "t=⟦a token of GitHub, left out⟧;"),
            // The body is cut off, so everything behind the beginning is withheld.
            (
                format!("-----BEGIN EC PRIVATE KEY-----\n{BODY}\n{BODY}"),
                Some("a private key (PEM)"),
                "⟦a private key (PEM), left out⟧",
            ),
            (
                format!("PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{BODY}\nPrivate-MAC: 1\n"),
                Some("a private key of PuTTY"),
                "⟦a private key of PuTTY, left out⟧Private-MAC: 1\n",
            ),
        ] {
            assert_eq!((key_in(text.as_bytes()), withhold(&text).as_ref()), (kind, left), "{text}");
            let value = Value::array(vec![Value::from(text.as_str())]);
            assert_eq!(withhold_value(&value), Value::array(vec![Value::from(left)]));
        }
    }

    #[test]
    fn code_about_keys_has_none() {
        for text in [
            "const HEADER: &str = \"-----BEGIN PRIVATE KEY-----\";",
            "if line.startswith('-----BEGIN RSA PRIVATE KEY-----'):\n    raise ValueError('no')\n",
            "PuTTY-User-Key-File-2",
            "startswith('PuTTY-User-Key-File-') ... startswith('Private-Lines:'):\n    return self.lines()\n",
            "markers = {\n  begin: '-----BEGIN PRIVATE KEY-----',\n  end: '-----END PRIVATE KEY-----',\n};\n",
            "BEGIN = '-----BEGIN PRIVATE KEY-----'\nname: str\nother: int\nelse\nreturn\n\nclass Other\n",
            "It begins with -----BEGIN PRIVATE KEY----- and goes on with base64 until another marker\nends it",
            "-----BEGIN PRIVATE KEY-----\nyour private key goes here in one or more lines of text\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
            "AKIAIOSFODNN7EXAMPLE",
            "key = os.environ['OPENAI_API_KEY']",
            "é",
            "",
        ] {
            assert_eq!(key_in(text.as_bytes()), None, "{text}");
            assert!(matches!(withhold(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
