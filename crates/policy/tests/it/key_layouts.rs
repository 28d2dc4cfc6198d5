//! Tests that a private key is found in each layout: lines of any length, headers of any length, quoted and escaped.

use policy::secrets::{key_in, withhold};

use crate::secrets::Draw;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns bytes in base64 without line breaks.
fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for part in bytes.chunks(3) {
        let number = (0..3).fold(0, |number, at| number << 8 | u32::from(part.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * at) & 63) as usize];
            out.push(if at > part.len() { '=' } else { char::from(digit) });
        }
    }
    out
}

/// A private key of nobody: the words of its first and last line, its headers, and its body in base64.
struct Key {
    words: &'static str,
    headers: String,
    body: String,
}

/// Returns keys of all forms, with random numbers behind the bytes with which the form begins.
fn keys() -> Vec<Key> {
    let mut draw = Draw(3);
    let mut key = |words, headers: &str, begin: &[u8], length: usize| {
        let mut bytes = begin.to_vec();
        bytes.resize_with(begin.len() + length, || draw.next() as u8);
        Key { words, headers: headers.to_owned(), body: base64(&bytes) }
    };
    let encrypted = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0123456789ABCDEF0123456789ABCDEF\n\n";
    let long = format!(
        "Version: Name 1.4.2 (of a system)\nComment: {}\nX-Keys: one,\n two (three),\n\tand more\n\n",
        "of a person - and others, since 2001; ".repeat(40)
    );
    let ed25519 = &[0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let openssh =
        b"openssh-key-v1\0\0\0\0\x04none\0\0\0\x04none\0\0\0\0\0\0\0\x01\0\0\0\x33\0\0\0\x0bssh-ed25519";
    vec![
        key("PRIVATE KEY", "", ed25519, 32),
        key("PRIVATE KEY", &long, &[0x30, 0x82, 4, 0xbe, 2, 1, 0, 0x30, 0x0d, 6, 9, 0x2a], 400),
        key("RSA PRIVATE KEY", "", &[0x30, 0x82, 4, 0xa4, 2, 1, 0, 2, 0x82, 1, 1, 0], 400),
        key("RSA PRIVATE KEY", encrypted, &[], 400),
        key("EC PRIVATE KEY", "", &[0x30, 0x77, 2, 1, 1, 4, 0x20], 114),
        key("DSA PRIVATE KEY", &long, &[0x30, 0x82, 1, 0xbb, 2, 1, 0, 2, 0x81, 0x81], 300),
        key("ENCRYPTED PRIVATE KEY", "", &[0x30, 0x82, 5, 0x2d, 0x30, 0x57, 6, 9, 0x2a, 0x86, 0x48], 300),
        key("OPENSSH PRIVATE KEY", "", openssh, 200),
        key("PGP PRIVATE KEY BLOCK", &long, &[0x95, 3, 0xc6, 4], 400),
    ]
}

/// Returns a text as lines of so many characters.
fn wrapped(text: &str, width: usize) -> String {
    let lines = text.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line).into_owned() + "\n");
    lines.collect()
}

type Layout = fn(&str) -> String;

/// Returns a text with something before each of its lines.
fn with(before: &str, text: &str) -> String {
    text.lines().map(|line| format!("{before}{line}\n")).collect()
}

const LAYOUTS: &[(&str, Layout)] = &[
    ("plain", |text| text.to_owned()),
    ("CRLF", |text| text.replace('\n', "\r\n")),
    ("indented", |text| with("    ", text)),
    ("tabs", |text| with("\t", text)),
    ("quoted", |text| with("> ", text)),
    ("twice quoted", |text| with(">> | ", text)),
    ("a comment", |text| with("# ", text)),
    ("added lines", |text| with("+", text)),
    ("removed lines", |text| with("-", text)),
    ("a string", |text| text.replace('\n', "\\n")),
    ("strings", |text| text.lines().map(|line| format!("    \"{line}\\n\" +\n")).collect()),
    ("in a string", |text| text.replace('\n', "\\\\n")),
    ("percent-encoded", |text| text.replace('\n', "%0A")),
    ("one line", |text| text.replace('\n', " ")),
    ("empty lines", |text| text.replace('\n', "\n\n")),
];

#[test]
fn private_key_is_found_in_every_layout() {
    let mut missed = Vec::new();
    for (number, key) in keys().iter().enumerate() {
        for width in 1..=100 {
            // Each width is tried in a few layouts, and each layout in many widths.
            for step in 0..3 {
                let (name, layout) = LAYOUTS[(number + width * 3 + step) % LAYOUTS.len()];
                // In one line, nothing tells where headers end.
                if !key.headers.is_empty() && matches!(name, "one line" | "empty lines") {
                    continue;
                }
                let body = wrapped(&key.body, width);
                let text =
                    format!("-----BEGIN {0}-----\n{1}{body}-----END {0}-----\n", key.words, key.headers);
                let text = format!("before\n{}\nafter\n", layout(&text));
                let Some(kind) = key_in(text.as_bytes()) else {
                    missed.push(format!("{} of width {width}, {name}", key.words));
                    continue;
                };
                let left = withhold(&text);
                let end = &key.body[key.body.len() - width.min(24)..];
                if left.matches(kind).count() != 1 || (width > 8 && left.contains(end)) {
                    missed.push(format!("{} of width {width}, {name}: {left}", key.words));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn key_of_putty_is_found_in_every_width() {
    let mut draw = Draw(4);
    for width in 1..=100 {
        let number: Vec<u8> = [0, 0, 0, 0x20].into_iter().chain((0..32).map(|_| draw.next() as u8)).collect();
        let lines = wrapped(&base64(&number), width);
        let text = format!(
            "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: me\nPublic-Lines: 1\nAAAA\n\
             Private-Lines: {}\n{lines}Private-MAC: 01\n",
            lines.lines().count()
        );
        assert_eq!(key_in(text.as_bytes()), Some("a private key of PuTTY"), "{text}");
    }
}

#[test]
fn many_beginnings_of_keys_are_searched_in_linear_time() {
    for line in [
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----",
        "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\na: b\n",
        "PuTTY-User-Key-File-3: a\n",
    ] {
        // With a square of the length, this would take hours.
        assert_eq!(key_in(line.repeat(40_000).as_bytes()), None, "{line}");
    }
}
