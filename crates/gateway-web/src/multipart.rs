//! Forms with files (`multipart/form-data`), as browsers send them.
//!
//! Bytes of files are not copied: each is a part of the body that came.

use axum::body::Bytes;

use crate::asked::Pairs;

/// How many parts a form has at most; more are not read.
const PARTS: usize = 4096;

/// How many bytes of a file's name are kept.
const NAME: usize = 200;

/// A file that came with a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The field.
    pub field: String,
    /// What its owner calls it, without directories. Foreign text.
    pub name: String,
    /// Its bytes.
    pub bytes: Bytes,
}

/// What stands between the parts, if this kind of content is a form with files.
pub fn boundary(content_type: &str) -> Option<String> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameters.split(';').find_map(|one| {
        let (name, value) = one.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"').to_owned())
    });
    boundary.filter(|text| !text.is_empty() && text.len() <= 200)
}

/// The texts and the files of a form. What is cut off or malformed is left out: whoever reads the form misses it there.
pub fn read(body: &Bytes, boundary: &str) -> (Pairs, Vec<Sent>) {
    let (mut pairs, mut files) = (Pairs::new(), Vec::new());
    let line = format!("--{boundary}");
    let Some(mut at) = find(body, line.as_bytes(), 0).map(|at| at + line.len()) else {
        return (pairs, files);
    };
    let between = format!("\r\n--{boundary}");
    for _ in 0..PARTS {
        let Some(end) = find(body, between.as_bytes(), at) else { break };
        if let Some((head, from)) = head(body, at, end) {
            match (disposition(&head, "name"), disposition(&head, "filename")) {
                (Some(field), Some(name)) => {
                    files.push(Sent { field, name: plain(&name), bytes: body.slice(from..end) });
                }
                (Some(field), None) => {
                    let text = body.get(from..end).unwrap_or_default();
                    pairs.push((field, String::from_utf8_lossy(text).into_owned()));
                }
                (None, _) => {}
            }
        }
        at = end + between.len();
    }
    (pairs, files)
}

/// The head of the part that begins here, and where its body begins.
fn head(body: &Bytes, at: usize, end: usize) -> Option<(String, usize)> {
    let rest = body.get(at..end)?;
    let from = rest.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((String::from_utf8_lossy(rest.get(..from)?).into_owned(), at + from + 4))
}

fn find(body: &[u8], what: &[u8], from: usize) -> Option<usize> {
    let rest = body.get(from..)?;
    let first = *what.first()?;
    let mut at = 0;
    // A file may be large: only where the first byte fits is the rest looked at.
    while let Some(next) = rest.get(at..)?.iter().position(|byte| *byte == first) {
        at += next;
        if rest.get(at..)?.starts_with(what) {
            return Some(from + at);
        }
        at += 1;
    }
    None
}

/// A parameter of the part's disposition. Browsers write `"` in it as `%22`.
fn disposition(head: &str, name: &str) -> Option<String> {
    let line = head.lines().find_map(|line| {
        let (header, value) = line.split_once(':')?;
        header.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
    })?;
    let mut rest = line;
    while let Some((_, after)) = rest.split_once(';') {
        let (key, value) = after.split_once('=')?;
        let (value, next) = value.strip_prefix('"')?.split_once('"')?;
        if key.trim().eq_ignore_ascii_case(name) {
            let plain = value.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n");
            return Some(plain);
        }
        rest = next;
    }
    None
}

/// The last part of a name: some send the way to the file along.
fn plain(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let end = last.char_indices().map(|(at, one)| at + one.len_utf8()).take_while(|end| *end <= NAME).last();
    last.get(..end.unwrap_or(0)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, pairs: &[(&str, &str)], files: &[(&str, &str, &str)]) {
        let (texts, sent) = read(&Bytes::from(body.to_owned()), "B");
        let texts: Vec<(&str, &str)> =
            texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(texts, pairs, "{body:?}");
        let sent: Vec<(&str, &str, &str)> = sent
            .iter()
            .map(|one| (one.field.as_str(), one.name.as_str(), std::str::from_utf8(&one.bytes).unwrap()))
            .collect();
        assert_eq!(sent, files, "{body:?}");
    }

    #[test]
    fn what_browsers_send_is_read() {
        let text = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\ntwo\r\n";
        let file = "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"C:\\x\\a; b=%22.txt\"\r\nContent-Type: \
                    text/plain\r\n\r\n\r\n--b\r\n\r\n";
        check(
            &format!("{text}{file}--B--\r\n"),
            &[("a", "one\r\ntwo")],
            &[("f", "a; b=\".txt", "\r\n--b\r\n")],
        );
        check(&format!("{file}{text}--B--"), &[("a", "one\r\ntwo")], &[("f", "a; b=\".txt", "\r\n--b\r\n")]);
        let none = "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"\"\r\n\r\n\r\n--B--";
        check(none, &[], &[("f", "", "")]);
    }

    #[test]
    fn what_is_cut_off_or_malformed_is_left_out() {
        for body in [
            "",
            "--B",
            "--B--",
            "--B\r\n\r\n",
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nno end",
            "--B\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--B--",
            "--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n--B--",
            "--B\r\nname=\"a\"\r\nx\r\n--B--",
            "--C\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--C--",
        ] {
            check(body, &[], &[]);
        }
    }

    #[test]
    fn which_content_is_a_form_with_files() {
        for (kind, expected) in [
            ("multipart/form-data; boundary=B", Some("B")),
            ("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"", Some("a b")),
            ("multipart/form-data", None),
            ("multipart/mixed; boundary=B", None),
            ("application/x-www-form-urlencoded", None),
            ("multipart/form-data; boundary=", None),
        ] {
            assert_eq!(boundary(kind).as_deref(), expected, "{kind}");
        }
    }

    #[test]
    fn a_name_has_no_directories_and_no_end() {
        for (name, expected) in [("a.txt", "a.txt"), ("/x/a.txt", "a.txt"), ("..", ".."), ("x/", "")] {
            assert_eq!(plain(name), expected);
        }
        assert!(plain(&"ü".repeat(500)).len() <= NAME);
    }
}
