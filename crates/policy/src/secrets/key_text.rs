//! Keys in text that a run reads, found by their shape.
//!
//! Source code names the beginnings of keys and has none of them. So a private key counts only with its body.

use std::borrow::Cow;
use std::sync::LazyLock;

use kernel::proposal::Value;

use super::{Hit, HitKind, Secrets, strings};

/// The distance from the beginning of a private key within which its body begins, in bytes.
const MAX_HEADERS_LEN: usize = 512;

/// The length of a line of a body at least, in characters.
const MIN_BODY_LEN: usize = 40;

/// The beginning of a key in PEM.
const PEM: &str = "-----BEGIN ";

/// The beginning of the end of a key in PEM.
const PEM_END: &str = "-----END ";

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

/// Returns the keys in a text, with their kinds.
fn keys(text: &[u8]) -> impl Iterator<Item = (&'static str, Hit)> {
    let hits = SHAPES_ALONE.scan_bytes(text).into_iter();
    hits.filter_map(move |mut hit| {
        let HitKind::Shape(kind) = hit.kind else { return None };
        let from = text.get(hit.start..)?;
        if from.starts_with(PEM.as_bytes()) {
            hit.end = hit.start + pem_len(from)?;
        } else if from.starts_with(b"PuTTY-User-Key-File-") {
            hit.end = hit.start + putty_len(from)?;
        }
        Some((kind, hit))
    })
}

/// Returns the length of a private key in PEM, or `None` if its beginning has no body. A body without an end reaches to
/// the end of the text.
fn pem_len(text: &[u8]) -> Option<usize> {
    let head = &text[PEM.len()..text.len().min(PEM.len() + MAX_HEADERS_LEN)];
    let is_body = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    head.split(|byte| !is_body(byte)).find(|run| run.len() >= MIN_BODY_LEN)?;
    let end = find(text, PEM_END.as_bytes());
    let rest = end.and_then(|at| Some((at, text.get(at + PEM_END.len()..)?)));
    Some(rest.map_or(text.len(), |(at, rest)| {
        let tail = find(rest, b"-----").map_or(0, |tail| tail + 5);
        at + PEM_END.len() + tail
    }))
}

/// Returns the length of a private key of PuTTY, or `None` if there is only its beginning.
fn putty_len(text: &[u8]) -> Option<usize> {
    let private = find(text, b"Private-Lines:")?;
    Some(find(&text[private..], b"Private-MAC:").map_or(text.len(), |mac| private + mac))
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
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
