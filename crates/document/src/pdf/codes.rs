//! The characters for the codes of a font without a `ToUnicode` table: by a named encoding, by the names of its
//! glyphs, or by one of the encodings of East Asia.

use encoding_rs::{BIG5, EUC_JP, EUC_KR, GB18030, SHIFT_JIS, UTF_16BE};
use lopdf::{Dictionary, Document, Encoding, Object};

/// The meaning of one code.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Code {
    /// These characters.
    Text(String),
    /// A glyph that draws nothing.
    Nothing,
    /// A glyph of which nobody knows the characters.
    Unknown,
}

/// Fonts whose own encoding is not the standard one. Their letters are signs.
const SIGNS: &[&str] = &["Symbol", "ZapfDingbats", "Wingdings", "Webdings"];

/// Returns the meaning of each one-byte code of a simple font.
pub(super) fn simple(document: &Document, font: &Dictionary) -> Vec<Code> {
    let given = font.get_deref(b"Encoding", document).ok();
    let details = given.and_then(|given| given.as_dict().ok());
    let base = match (given.and_then(|given| given.as_name().ok()), details) {
        (Some(name), _) => Some(name),
        (None, Some(details)) => details.get_deref(b"BaseEncoding", document).and_then(Object::as_name).ok(),
        (None, None) => None,
    };
    let font_name = font.get_deref(b"BaseFont", document).and_then(Object::as_name).unwrap_or_default();
    let font_name = String::from_utf8_lossy(font_name).into_owned();
    let font_name = font_name.split_once('+').map_or(font_name.as_str(), |(_, name)| name);
    let is_signs = base.is_none() && SIGNS.iter().any(|name| font_name.starts_with(name));
    let mut codes = named(document, base.unwrap_or(b"StandardEncoding"), is_signs);
    let differences = details
        .and_then(|details| details.get_deref(b"Differences", document).ok())
        .and_then(|listed| listed.as_array().ok());
    let mut at = 0_usize;
    for entry in differences.into_iter().flatten().take(1 << 12) {
        match document.dereference(entry) {
            Ok((_, Object::Name(name))) => {
                if let Some(code) = codes.get_mut(at) {
                    *code = glyph(document, name);
                }
                at += 1;
            }
            Ok((_, number)) => {
                at = number.as_i64().ok().and_then(|at| usize::try_from(at).ok()).unwrap_or(at)
            }
            Err(_) => {}
        }
    }
    codes
}

/// Returns the codes of a named encoding.
fn named(document: &Document, name: &[u8], is_signs: bool) -> Vec<Code> {
    let mut font = Dictionary::new();
    font.set("Type", Object::Name(b"Font".to_vec()));
    font.set("Encoding", Object::Name(name.to_vec()));
    let encoding = font.get_font_encoding_with_limit(document, 1 << 20);
    (0..=255_u8)
        .map(|code| {
            let text = match &encoding {
                Ok(encoding @ Encoding::OneByteEncoding(_)) => {
                    encoding.bytes_to_string(&[code]).unwrap_or_default()
                }
                _ => String::new(),
            };
            match text {
                // A blank and a control character draw nothing, in every encoding.
                _ if code <= 32 || matches!(code, 0x7f | 0xa0 | 0xad) && text.is_empty() => {
                    if code == 32 {
                        Code::Text(" ".to_owned())
                    } else if text.is_empty() {
                        Code::Nothing
                    } else {
                        Code::Text(text)
                    }
                }
                _ if is_signs || text.is_empty() => Code::Unknown,
                text => Code::Text(text),
            }
        })
        .collect()
}

/// Returns the meaning of a glyph's name: a name of Adobe's list, `uni20AC`, `u1F600`, several joined by `_`, each
/// with an ending such as `.alt`.
fn glyph(document: &Document, name: &[u8]) -> Code {
    if matches!(name, b".notdef" | b".null" | b"nonmarkingreturn") {
        return Code::Nothing;
    }
    if matches!(name, b"space" | b"nbspace") {
        return Code::Text(" ".to_owned());
    }
    if let Some(text) = listed(document, name) {
        return Code::Text(text);
    }
    let name = String::from_utf8_lossy(name);
    let stem = name.split('.').next().unwrap_or_default();
    let mut text = String::new();
    for part in stem.split('_') {
        let found = listed(document, part.as_bytes()).or_else(|| by_number(part));
        match found {
            Some(found) => text.push_str(&found),
            None => return Code::Unknown,
        }
    }
    if text.is_empty() { Code::Unknown } else { Code::Text(text) }
}

/// Returns the characters of a name on Adobe's list.
fn listed(document: &Document, name: &[u8]) -> Option<String> {
    let mut details = Dictionary::new();
    details.set("Differences", Object::Array(vec![0.into(), Object::Name(name.to_vec())]));
    let mut font = Dictionary::new();
    font.set("Type", Object::Name(b"Font".to_vec()));
    font.set("Encoding", Object::Dictionary(details));
    match font.get_font_encoding_with_limit(document, 1 << 20) {
        Ok(encoding @ Encoding::Differences(_)) => {
            encoding.bytes_to_string(&[0]).ok().filter(|text| !text.is_empty())
        }
        _ => None,
    }
}

fn by_number(name: &str) -> Option<String> {
    let number = |digits: &str| u32::from_str_radix(digits, 16).ok();
    if let Some(digits) = name.strip_prefix("uni")
        && digits.len() >= 4
        && digits.len().is_multiple_of(4)
        && digits.is_ascii()
    {
        let units = digits.as_bytes().chunks(4).filter_map(|unit| std::str::from_utf8(unit).ok());
        let units: Option<Vec<u16>> = units.map(|unit| u16::from_str_radix(unit, 16).ok()).collect();
        return String::from_utf16(&units?).ok();
    }
    let digits = name.strip_prefix('u').filter(|digits| (4..=6).contains(&digits.len()))?;
    char::from_u32(number(digits)?).map(String::from)
}

/// A composite font's encoding that says the characters by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct EastAsian {
    encoding: &'static encoding_rs::Encoding,
    /// Whether each byte lacks its highest bit, as in JIS.
    is_low: bool,
}

impl EastAsian {
    /// Returns the encoding of a predefined table such as `90ms-RKSJ-H` or `UniGB-UCS2-H`.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?;
        let stem = name.strip_suffix("-H").or_else(|| name.strip_suffix("-V")).unwrap_or(name);
        let encoding = if matches!(stem, "H" | "V") {
            return Some(Self { encoding: EUC_JP, is_low: true });
        } else if stem.contains("UCS2") || stem.contains("UTF16") {
            UTF_16BE
        } else if stem.contains("RKSJ") {
            SHIFT_JIS
        } else if stem == "EUC" {
            EUC_JP
        } else if stem.starts_with("GB") {
            GB18030
        } else if stem.contains("B5") {
            BIG5
        } else if stem.starts_with("KSC") && stem != "KSC" {
            EUC_KR
        } else {
            return None;
        };
        Some(Self { encoding, is_low: false })
    }

    /// Returns the characters of a string, and the number of those that could not be read.
    pub(super) fn decode(self, bytes: &[u8]) -> (String, usize) {
        let raised: Vec<u8> = match self.is_low {
            true => bytes.iter().map(|byte| byte | 0x80).collect(),
            false => bytes.to_vec(),
        };
        let (text, _) = self.encoding.decode_without_bom_handling(&raised);
        let lost = text.matches(char::REPLACEMENT_CHARACTER).count();
        (text.into_owned(), lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopdf::dictionary;

    #[test]
    fn names_of_glyphs_give_characters() {
        let document = Document::new();
        let check = |name: &str, expected: &str| {
            let expected = if expected.is_empty() { Code::Unknown } else { Code::Text(expected.to_owned()) };
            assert_eq!(glyph(&document, name.as_bytes()), expected, "{name}");
        };
        check("A", "A");
        check("Euro", "€");
        check("uni20AC", "€");
        check("uni00410042", "AB");
        check("u1F600", "😀");
        check("T_h", "Th");
        check("a.alt", "a");
        check("g12", "");
        check("a0", "");
        check("C0032", "");
        assert_eq!(glyph(&document, b".notdef"), Code::Nothing);
    }

    #[test]
    fn one_unknown_glyph_does_not_spoil_the_others() {
        let document = Document::new();
        let differences = vec![
            1.into(),
            Object::Name(b"g12".to_vec()),
            Object::Name(b"eacute".to_vec()),
            65.into(),
            Object::Name(b"Zcaron".to_vec()),
        ];
        let font = dictionary! {
            "Type" => "Font", "Subtype" => "Type1",
            "Encoding" => dictionary! { "BaseEncoding" => "WinAnsiEncoding", "Differences" => differences },
        };
        let codes = simple(&document, &font);
        assert_eq!(codes[1], Code::Unknown);
        assert_eq!(codes[2], Code::Text("é".into()));
        assert_eq!(codes[65], Code::Text("Ž".into()));
        assert_eq!(codes[66], Code::Text("B".into()));
        assert_eq!(codes[0xfc], Code::Text("ü".into()));
        let signs = simple(&document, &dictionary! { "Type" => "Font", "BaseFont" => "ABCDEF+ZapfDingbats" });
        assert_eq!(signs[usize::from(b'4')], Code::Unknown);
    }

    #[test]
    fn predefined_tables_give_characters() {
        let check = |name: &str, bytes: &[u8], expected: &str| {
            let found = EastAsian::named(name.as_bytes()).map(|encoding| encoding.decode(bytes).0);
            assert_eq!(found.as_deref().unwrap_or_default(), expected, "{name}");
        };
        check("90ms-RKSJ-H", b"\x90\xbf\x8b\x81 1", "請求 1");
        check("GBK-EUC-H", b"\xd6\xd0", "中");
        check("ETen-B5-V", b"\xa4\xa4", "中");
        check("KSCms-UHC-H", b"\xc7\xd1", "한");
        check("UniJIS-UTF16-H", b"\x8a\xcb", "請");
        check("H", b"\x40\x41", "請");
        check("Identity-H", b"\x8a\xcb", "");
    }
}
