//! The decoding of text by the name of its encoding, and where the name is missing or wrong.
//!
//! Senders name encodings wrongly. Text that is valid UTF-8 beyond ASCII is UTF-8, whatever its name. Other text is
//! decoded by its name. Text without a usable name is decoded as the encoding that its bytes are most likely in, and a
//! note says so.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, ISO_2022_JP, REPLACEMENT, SHIFT_JIS, UTF_8, UTF_16BE,
    UTF_16LE, WINDOWS_1252,
};

use crate::reading::{count, one_line};

/// The maximum number of characters of a foreign name in a note.
const MAX_NAME: usize = 40;

/// A text that was decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// The text.
    pub(crate) text: String,
    /// The sentence about bytes that could not be decoded, or about an encoding that was guessed.
    pub(crate) note: Option<String>,
}

impl Decoded {
    fn sure(text: impl Into<String>) -> Self {
        Self { text: text.into(), note: None }
    }

    /// Returns a text in which each invalid sequence became one replacement character.
    fn counted(text: String, name: &str) -> Self {
        let lost = text.matches(char::REPLACEMENT_CHARACTER).count();
        let note = (lost > 0).then(|| {
            let what = count(lost, "place is", "places are");
            format!("{what} not valid {name}, and shown as \u{fffd}")
        });
        Self { text, note }
    }

    fn guessed(text: String, name: &str, why: &str) -> Self {
        Self { text, note: Some(format!("{why}; it was read as {name}, which is a guess")) }
    }
}

/// The encodings that need a decoder of their own here.
#[derive(Clone, Copy)]
enum Special {
    Utf7,
    Hz,
    Iso2022Kr,
    Iso2022Cn,
}

/// Decodes text. `label` is the name of the encoding, as the sender wrote it.
pub(crate) fn decode(bytes: &[u8], label: Option<&str>) -> Decoded {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        let rest = bytes.get(length..).unwrap_or_default();
        let (text, _) = encoding.decode_without_bom_handling(rest);
        return Decoded::counted(text.into_owned(), encoding.name());
    }
    let Some(label) = label.map(clean).filter(|label| !is_no_name(label)) else {
        return undeclared(bytes, "its encoding is not named");
    };
    if let Some(special) = special(&label) {
        return Decoded::counted(decode_special(bytes, special), &label);
    }
    let Some(encoding) = encoding(&label) else {
        let shown: String = one_line(&label).chars().take(MAX_NAME).collect();
        return undeclared(bytes, &format!("its encoding `{shown}` is not known"));
    };
    if encoding == UTF_8 {
        return undeclared(bytes, "it is not valid UTF-8");
    }
    // ASCII escapes are no evidence for UTF-8. Every other text that is valid UTF-8 beyond ASCII is no coincidence.
    if encoding != ISO_2022_JP || !bytes.is_ascii() {
        if let Ok(text) = std::str::from_utf8(bytes)
            && !bytes.is_ascii()
            && encoding != UTF_16BE
            && encoding != UTF_16LE
        {
            return Decoded::sure(text);
        }
        if encoding == ISO_2022_JP {
            return undeclared(bytes, "it is not valid ISO-2022-JP");
        }
    }
    let bytes: Cow<'_, [u8]> = match encoding == ISO_2022_JP {
        true => Cow::Owned(without_empty_runs(bytes)),
        false => Cow::Borrowed(bytes),
    };
    let (text, _) = encoding.decode_without_bom_handling(&bytes);
    Decoded::counted(text.into_owned(), encoding.name())
}

/// Returns the name of the encoding that bytes without a name are most likely in.
pub(crate) fn guess(bytes: &[u8]) -> &'static str {
    likely(bytes).name()
}

fn likely(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// Returns whether bytes without a name are Japanese text with escape sequences, which are ASCII throughout.
pub(crate) fn iso_2022_jp(bytes: &[u8]) -> Option<String> {
    let has_escape = bytes.windows(3).any(|window| matches!(window, b"\x1b$B" | b"\x1b$@" | b"\x1b(I"));
    if !has_escape || !bytes.is_ascii() {
        return None;
    }
    let bytes = without_empty_runs(bytes);
    let (text, had_errors) = ISO_2022_JP.decode_without_bom_handling(&bytes);
    (!had_errors).then(|| text.into_owned())
}

/// Returns ISO-2022-JP without escape sequences that another one follows at once. The decoder takes them for errors.
fn without_empty_runs(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, tail)) = rest.split_first() {
        match after_escape(rest) {
            Some(next) if after_escape(next).is_some() => rest = next,
            _ => {
                kept.push(*first);
                rest = tail;
            }
        }
    }
    kept
}

/// Returns the bytes after an escape sequence of ISO-2022-JP, if they begin with one.
fn after_escape(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [0x1b, b'(', b'B' | b'I' | b'J', rest @ ..] | [0x1b, b'$', b'@' | b'B', rest @ ..] => Some(rest),
        _ => None,
    }
}

fn undeclared(bytes: &[u8], why: &str) -> Decoded {
    if let Some(text) = iso_2022_jp(bytes) {
        return Decoded::sure(text);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Decoded::sure(text),
        Err(_) => {
            let text = String::from_utf8_lossy(bytes);
            let lost = text.matches(char::REPLACEMENT_CHARACTER).count();
            let kept = text.chars().filter(|char| !char.is_ascii()).count() - lost;
            // Text with more sound characters than faults is UTF-8 that was cut or damaged.
            if kept > lost {
                return Decoded::counted(text.into_owned(), "UTF-8");
            }
            let encoding = likely(bytes);
            let (text, _) = encoding.decode_without_bom_handling(bytes);
            Decoded::guessed(text.into_owned(), encoding.name(), why)
        }
    }
}

/// Returns a label in lower case, without the quotes and the punctuation that senders leave around it.
fn clean(label: &str) -> String {
    let label = label.trim().to_ascii_lowercase();
    let label = label.trim_start_matches("charset=");
    label.trim_matches(|char: char| !char.is_ascii_alphanumeric()).to_owned()
}

/// Returns whether a label says nothing about bytes beyond ASCII.
fn is_no_name(label: &str) -> bool {
    matches!(
        label,
        "" | "unknown"
            | "unknown-8bit"
            | "x-unknown"
            | "default"
            | "x-user-defined"
            | "binary"
            | "8bit"
            | "7bit"
            | "none"
            | "null"
            | "us-ascii"
            | "ascii"
            | "ansi_x3.4-1968"
    )
}

fn special(label: &str) -> Option<Special> {
    Some(match label {
        "utf-7" | "utf7" | "unicode-1-1-utf-7" | "x-unicode-2-0-utf-7" | "csunicode11utf7" => Special::Utf7,
        "hz" | "hz-gb-2312" | "hz-gb2312" => Special::Hz,
        "iso-2022-kr" | "csiso2022kr" => Special::Iso2022Kr,
        "iso-2022-cn" | "iso-2022-cn-ext" => Special::Iso2022Cn,
        _ => return None,
    })
}

fn encoding(label: &str) -> Option<&'static Encoding> {
    let known =
        |label: &str| Encoding::for_label(label.as_bytes()).filter(|encoding| *encoding != REPLACEMENT);
    if let Some(encoding) = known(label) {
        // Text that is named GB2312 or GBK often has the characters of the later standard.
        return Some(if encoding == GBK { GB18030 } else { encoding });
    }
    let plain = label.replace('_', "-");
    let digits = |prefix: &str| label.strip_prefix(prefix).map(|rest| rest.trim_start_matches(['-', '_']));
    let page = digits("cp").or_else(|| digits("windows")).or_else(|| digits("ms")).or_else(|| digits("x-cp"));
    Some(match (label, page) {
        (_, Some("932" | "31j")) => SHIFT_JIS,
        (_, Some("936")) => GB18030,
        (_, Some("949")) => EUC_KR,
        (_, Some("950")) => BIG5,
        (_, Some("51932")) | ("eucjp" | "eucjp-ms" | "eucjp-win", _) => EUC_JP,
        (_, Some("50220" | "50221" | "50222")) => ISO_2022_JP,
        (_, Some("65001")) | ("utf8mb4" | "utf-8-sig" | "utf8-mac", _) => UTF_8,
        (_, Some("1200")) => UTF_16LE,
        (_, Some("1201")) => UTF_16BE,
        (_, Some(page)) => known(&format!("windows-{page}"))?,
        ("iso-2022-jp-1" | "iso-2022-jp-2" | "iso-2022-jp-3" | "iso-2022-jp-ms" | "iso2022jp", _) => {
            ISO_2022_JP
        }
        ("ansi" | "latin" | "latin-1" | "iso-latin-1" | "western", _) => WINDOWS_1252,
        ("euc-cn" | "gb2312-80" | "gb-18030", _) => GB18030,
        ("ksc5601" | "ks-c-5601" | "euckr" | "uhc" | "x-windows-949", _) => EUC_KR,
        ("big5hkscs" | "big5-eten" | "x-big5", _) => BIG5,
        // `iso8859_15` and `koi8_r`
        _ => known(&plain).or_else(|| known(&plain.replacen("iso8859", "iso-8859", 1)))?,
    })
}

fn decode_special(bytes: &[u8], special: Special) -> String {
    match special {
        Special::Utf7 => utf_7(bytes),
        Special::Hz => hz(bytes),
        Special::Iso2022Kr => shifted(bytes, EUC_KR),
        Special::Iso2022Cn => shifted(bytes, GB18030),
    }
}

/// Decodes UTF-7: `+`, UTF-16 in base64, and usually `-`.
fn utf_7(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = bytes;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'+' {
            if first.is_ascii() {
                text.push(char::from(*first));
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            continue;
        }
        let length = rest.iter().position(|byte| six_bits(*byte).is_none()).unwrap_or(rest.len());
        let (run, tail) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        rest = tail.strip_prefix(b"-").unwrap_or(tail);
        if run.is_empty() {
            text.push('+');
            continue;
        }
        let (mut bits, mut held, mut units) = (0_u32, 0_u32, Vec::new());
        for six in run.iter().filter_map(|byte| six_bits(*byte)) {
            bits = bits << 6 | u32::from(six);
            held += 6;
            if held >= 16 {
                held -= 16;
                units.push((bits >> held) as u16);
                bits &= (1 << held) - 1;
            }
        }
        text.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
    }
    text
}

/// Returns the value of a digit of base64.
pub(crate) fn six_bits(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

/// Decodes HZ: Chinese text between `~{` and `~}`.
fn hz(bytes: &[u8]) -> String {
    let mut raised = Vec::with_capacity(bytes.len());
    let mut is_chinese = false;
    let mut rest = bytes;
    loop {
        rest = match rest {
            [b'~', b'{', tail @ ..] => {
                is_chinese = true;
                tail
            }
            [b'~', b'}', tail @ ..] => {
                is_chinese = false;
                tail
            }
            [b'~', b'~', tail @ ..] => {
                raised.push(b'~');
                tail
            }
            [b'~', b'\n', tail @ ..] => tail,
            // The end of a line ends Chinese text, also where a sender forgets `~}`.
            [b'\n', tail @ ..] => {
                is_chinese = false;
                raised.push(b'\n');
                tail
            }
            [byte, tail @ ..] => {
                raised.push(if is_chinese && byte.is_ascii_graphic() { byte | 0x80 } else { *byte });
                tail
            }
            [] => break,
        };
    }
    GB18030.decode_without_bom_handling(&raised).0.into_owned()
}

/// Decodes text that switches to a second set of characters by shift-out and back by shift-in. Characters of the sets
/// that are not known here become replacement characters.
fn shifted(bytes: &[u8], encoding: &'static Encoding) -> String {
    let mut text = String::new();
    let (mut run, mut is_out, mut is_known) = (Vec::new(), false, true);
    let mut rest = bytes;
    let flush = |run: &mut Vec<u8>, text: &mut String| {
        text.push_str(&encoding.decode_without_bom_handling(run).0);
        run.clear();
    };
    loop {
        rest = match rest {
            // The designation of the second set: `C` is Korean, `A` Chinese, `G` and `H` are Taiwanese.
            [0x1b, b'$', b')' | b'*', set, tail @ ..] => {
                is_known = matches!(set, b'A' | b'C' | b'E');
                tail
            }
            // A single character of the third set.
            [0x1b, b'N' | b'O', _, _, tail @ ..] => {
                flush(&mut run, &mut text);
                text.push(char::REPLACEMENT_CHARACTER);
                tail
            }
            [0x0e, tail @ ..] => {
                is_out = true;
                tail
            }
            [0x0f, tail @ ..] => {
                is_out = false;
                tail
            }
            [first, _, tail @ ..] if is_out && !is_known && first.is_ascii_graphic() => {
                flush(&mut run, &mut text);
                text.push(char::REPLACEMENT_CHARACTER);
                tail
            }
            [byte, tail @ ..] => {
                let is_raised = is_out && byte.is_ascii_graphic();
                run.push(if is_raised { byte | 0x80 } else { *byte });
                tail
            }
            [] => break,
        };
    }
    flush(&mut run, &mut text);
    text
}

/// Returns the text of UTF-16 without a byte order mark, and the name of the byte order. Text in a European language
/// has a zero in every second byte.
pub(crate) fn utf_16_unmarked(bytes: &[u8]) -> Option<(String, &'static str)> {
    if bytes.len() < 4 || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let zeros = |first: usize| bytes.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let pairs = bytes.len() / 2;
    let encoding = match (even, odd) {
        (0, odd) if odd * 2 > pairs => UTF_16LE,
        (even, 0) if even * 2 > pairs => UTF_16BE,
        _ => return None,
    };
    let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
    (!had_errors && !text.contains('\0')).then(|| (text.into_owned(), encoding.name()))
}

/// Returns bytes that begin with the mark of UTF-16 as UTF-8. All other bytes are returned as they are.
pub(crate) fn as_utf_8(bytes: &[u8]) -> Cow<'_, [u8]> {
    match Encoding::for_bom(bytes) {
        Some((encoding, length)) if encoding == UTF_8 => {
            Cow::Borrowed(bytes.get(length..).unwrap_or_default())
        }
        Some((encoding, length)) => {
            let rest = bytes.get(length..).unwrap_or_default();
            Cow::Owned(encoding.decode_without_bom_handling(rest).0.into_owned().into_bytes())
        }
        None => Cow::Borrowed(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_by_the_name_of_its_encoding() {
        let check = |bytes: &[u8], label: &str, expected: &str| {
            assert_eq!(decode(bytes, Some(label)), Decoded::sure(expected), "{label}");
        };
        check(b"\x1b$B@A5a=q\x1b(B: 5", "ISO-2022-JP", "請求書: 5");
        check(b"\x1b$B@A5a=q\x1b(B", "\"iso-2022-jp\";", "請求書");
        // An escape sequence follows another at once: cyrusimap/cyrus-imapd#5536.
        check(b"\x1b(B\x1b$B@A5a\x1b(B\x1b$B=q\x1b$B\x1b(J\x1b(B!", "iso-2022-jp", "請求書!");
        // Signs of a vendor's own row: Alinto/sogo#380.
        check(b"\x1b$B-!\x1b(B", "iso-2022-jp", "①");
        check(b"\x90\xbf\x8b\x81\x8f\x91", "cp932", "請求書");
        check(b"\xc0\xc1\xb5\xe1\xbd\xf1", "EUC-JP", "請求書");
        check(b"\x1b$)C\x0eGQ19\x0f 1", "ISO-2022-KR", "한국 1");
        check(b"\x1b$)A\x0eVPND\x0f 1", "ISO-2022-CN", "中文 1");
        check(b"~{VPND~} ~~ 1~\n2", "HZ-GB-2312", "中文 ~ 12");
        check(b"\xd6\xd0\xce\xc4", "gb2312", "中文");
        check(b"\xa4\xa4\xa4\xe5", "big5", "中文");
        check(b"\xf0\xd2\xc9\xd7\xc5\xd4", "koi8_r", "Привет");
        check(b"\xcf\xf0\xe8\xe2\xe5\xf2", "CP1251", "Привет");
        check(b"\x80 5", "iso-8859-1", "€ 5");
        check(b"\xa4 5", "iso8859_15", "€ 5");
        check(b"Hi Mom -+Jjo--! 1 +- 1", "utf-7", "Hi Mom -☺-! 1 + 1");
        // The text is UTF-8, whatever its name: mikel/mail#1423.
        check("ほげ".as_bytes(), "iso-2022-jp", "ほげ");
        check("Grüße".as_bytes(), "iso-8859-1", "Grüße");
        check("Grüße".as_bytes(), "us-ascii", "Grüße");
        check("Grüße".as_bytes(), "utf-8;", "Grüße");
        check(b"\xff\xfeh\0i\0", "us-ascii", "hi");
        check(b"\xef\xbb\xbfhi", "utf-8", "hi");
    }

    #[test]
    fn guessed_and_damaged_text_has_a_note() {
        let check = |bytes: &[u8], label: Option<&str>, expected: &str, part: &str| {
            let decoded = decode(bytes, label);
            let note = decoded.note.unwrap_or_default();
            assert!(decoded.text.contains(expected), "{:?}", decoded.text);
            assert!(note.contains(part), "{note}");
        };
        let german =
            "Sehr geehrte Damen und Herren, die Rechnung f\u{fc}r Oktober ist f\u{e4}llig. Gr\u{fc}\u{df}e";
        let latin: Vec<u8> = german.chars().map(|char| char as u8).collect();
        check(&latin, None, "Grüße", "read as windows-1252, which is a guess");
        check(&latin, Some("utf-8"), "Grüße", "not valid UTF-8");
        check(&latin, Some("x-rot13"), "Grüße", "`x-rot13` is not known");
        check(b"gr\xc3\xbc\xc3\x9fe \xc3\xbc \xff", Some("utf-8"), "grüße ü", "1 place is not valid UTF-8");
        check(b"\x80\xff\xff", Some("shift_jis"), "\u{fffd}", "not valid Shift_JIS");
        // A mail without the name of its encoding: zammad/zammad#6144.
        assert_eq!(decode(b"\x1b$B@A5a=q\x1b(B", None), Decoded::sure("請求書"));
        assert_eq!(decode(b"\x1b(B\x1b$B@A5a=q\x1b(B", None), Decoded::sure("請求書"));
        assert_eq!(decode(b"\x1b$)G\x0e!!\x0f", Some("iso-2022-cn")).text, "\u{fffd}");
    }

    #[test]
    fn utf_16_is_found_by_its_zeros() {
        let check = |bytes: &[u8], expected: Option<&str>| {
            assert_eq!(utf_16_unmarked(bytes).map(|(text, _)| text).as_deref(), expected, "{bytes:?}");
        };
        check(b"h\0i\0!\0", Some("hi!"));
        check(b"\0h\0i\0!", Some("hi!"));
        check(b"h\0i\0\0\0", None);
        check(b"h\0i\0!", None);
        check(b"\0\0\0\0", None);
        check(b"plain text", None);
    }
}
