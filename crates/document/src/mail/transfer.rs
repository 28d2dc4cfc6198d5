//! The undoing of a mail part's transfer encoding, also where it has faults.

use std::borrow::Cow;

use crate::charset::six_bits;
use crate::reading::{count, one_line};

/// The bytes of a part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PartBytes<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    /// The sentence about places that are not in the encoding.
    pub(super) note: Option<String>,
}

/// Undoes a transfer encoding. Bytes in an encoding that is not known are returned as they are.
pub(super) fn decode<'a>(bytes: &'a [u8], encoding: &str) -> PartBytes<'a> {
    match encoding.trim_matches(|char: char| !char.is_ascii_alphanumeric()).to_ascii_lowercase().as_str() {
        "base64" => base64(bytes),
        "quoted-printable" | "quoted/printable" | "quopri" => {
            PartBytes { bytes: quoted_printable(bytes).into(), note: None }
        }
        "uuencode" | "x-uuencode" | "x-uue" | "uue" => uuencoded(bytes),
        "" | "7bit" | "8bit" | "binary" | "7-bit" | "8-bit" | "none" => {
            PartBytes { bytes: bytes.into(), note: None }
        }
        other => {
            let name: String = one_line(other).chars().take(40).collect();
            let note = format!("its transfer encoding `{name}` is not known, so it stands as it is");
            PartBytes { bytes: bytes.into(), note: Some(note) }
        }
    }
}

/// Decodes base64. Lines that are something else are left out and counted: a mailing list appends its footer so.
fn base64(bytes: &[u8]) -> PartBytes<'static> {
    let mut decoded = Vec::with_capacity(bytes.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    let (mut is_over, mut strange, mut lines) = (false, 0, 0);
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        let digits = line.iter().filter(|byte| six_bits(**byte).is_some()).count();
        let padding = line.iter().filter(|byte| **byte == b'=').count();
        let other = line.len() - digits - padding;
        // A line after the padding is a further piece of base64 only if it is whole.
        if other * 10 > line.len() || padding > 2 || (is_over && !(line.len()).is_multiple_of(4)) {
            lines += 1;
            continue;
        }
        strange += other;
        for byte in line {
            if *byte == b'=' {
                (bits, held, is_over) = (0, 0, true);
            } else if let Some(six) = six_bits(*byte) {
                bits = bits << 6 | u32::from(six);
                held += 6;
                if held >= 8 {
                    held -= 8;
                    decoded.push((bits >> held) as u8);
                    bits &= (1 << held) - 1;
                }
            }
        }
    }
    let note = match (lines, strange) {
        (0, 0) => None,
        (0, _) => Some(format!("left out: {} between the base64", count(strange, "character", "characters"))),
        _ => Some(format!("left out: {} between the base64", count(lines, "line", "lines"))),
    };
    PartBytes { bytes: decoded.into(), note }
}

/// Decodes quoted-printable. An `=` that begins no escape stands for itself.
pub(super) fn quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'=' {
            decoded.push(*first);
            continue;
        }
        if let [high, low, after @ ..] = tail
            && let (Some(high), Some(low)) = (char::from(*high).to_digit(16), char::from(*low).to_digit(16))
        {
            decoded.push((high << 4 | low) as u8);
            rest = after;
            continue;
        }
        // A soft line break, which may have blanks before it.
        let blanks = tail.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match tail.get(blanks..) {
            Some([b'\r', b'\n', after @ ..] | [b'\n', after @ ..]) => rest = after,
            Some([]) | None => rest = &[],
            _ => decoded.push(b'='),
        }
    }
    decoded
}

/// Decodes the lines between `begin` and `end`.
fn uuencoded(bytes: &[u8]) -> PartBytes<'_> {
    let mut decoded = Vec::new();
    let mut is_inside = false;
    for line in bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end) {
        match line.split_first() {
            _ if line.starts_with(b"begin ") => is_inside = true,
            _ if line == b"end" => is_inside = false,
            Some((length, data)) if is_inside => {
                let length = usize::from(length.wrapping_sub(32) & 63);
                let six = |at: usize| u32::from(data.get(at).map_or(0, |byte| byte.wrapping_sub(32) & 63));
                let mut line = Vec::with_capacity(length + 2);
                for group in 0..length.div_ceil(3) {
                    let bits = (0..4).fold(0, |bits, at| bits << 6 | six(group * 4 + at));
                    line.extend([(bits >> 16) as u8, (bits >> 8) as u8, bits as u8]);
                }
                line.truncate(length);
                decoded.extend(line);
            }
            _ => {}
        }
    }
    if decoded.is_empty() {
        let note = "it is named as uuencoded and is not, so it stands as it is";
        return PartBytes { bytes: bytes.into(), note: Some(note.into()) };
    }
    PartBytes { bytes: decoded.into(), note: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faulty_transfer_encodings_are_decoded() {
        let check = |bytes: &[u8], encoding: &str, expected: &[u8], note: &str| {
            let found = decode(bytes, encoding);
            assert_eq!(found.bytes.escape_ascii().to_string(), expected.escape_ascii().to_string());
            assert!(found.note.clone().unwrap_or_default().contains(note), "{:?}", found.note);
            assert_eq!(found.note.is_some(), !note.is_empty());
        };
        check(b"SGVsbG8s\r\nIHdvcmxkLg==\r\n", "base64", b"Hello, world.", "");
        check(b"SGVsbG8sIHdvcmxkLg", "BASE64", b"Hello, world.", "");
        check(b"SGVsbG8=\nSGVsbG8=\n", "base64", b"HelloHello", "");
        check(b"SGVsbG8sIHdv\x01cmxkLg==", "base64", b"Hello, world.", "1 character between the base64");
        check(
            b"SGVsbG8=\n____________\nthe list, to leave it: x@y.example\n",
            "base64",
            b"Hello",
            "2 lines between the base64",
        );
        check(b"zw=F6lf =\r\nEuro", "Quoted-Printable", b"zw\xf6lf Euro", "");
        check(b"a =  \nb=3d=zz=", "quoted-printable", b"a b==zz", "");
        check(b"begin 644 x\n#0V%T\n`\nend\n", "x-uuencode", b"Cat", "");
        check(b"as it is", "7bit", b"as it is", "");
        check(b"as it is", "x-mine", b"as it is", "`x-mine` is not known");
    }
}
