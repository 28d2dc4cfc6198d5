//! Forms with files (`multipart/form-data`), as browsers send them.

use axum::body::{Body, Bytes};

use crate::page_request::Pairs;

/// The maximum number of parts in a form. Further parts are not read.
const MAX_PARTS: usize = 4096;

/// The maximum number of bytes that are kept of a file's name.
const MAX_NAME_LEN: usize = 200;

/// A file that was sent with a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormFile {
    /// The name of the form field.
    pub field: String,
    /// The file name that the browser sent, without directories. It is foreign text.
    pub name: String,
    /// The content of the file.
    pub bytes: Bytes,
}

/// Returns the boundary between the parts, if this is the content type of a form with files.
pub fn boundary(content_type: &str) -> Option<String> {
    multer::parse_boundary(content_type).ok().filter(|text| !text.is_empty())
}

/// Returns the texts and the files of a form. A truncated or malformed part ends the form, so the parts after it are
/// missing.
pub async fn read(body: Bytes, boundary: &str) -> (Pairs, Vec<FormFile>) {
    let (mut pairs, mut files) = (Pairs::new(), Vec::new());
    let mut form = multer::Multipart::new(Body::from(body).into_data_stream(), boundary);
    for _ in 0..MAX_PARTS {
        let Ok(Some(part)) = form.next_field().await else { break };
        let field = part.name().map(unquoted);
        let name = part.file_name().map(|name| plain(&unquoted(name)));
        let Ok(bytes) = part.bytes().await else { break };
        match (field, name) {
            (Some(field), Some(name)) => files.push(FormFile { field, name, bytes }),
            (Some(field), None) => pairs.push((field, String::from_utf8_lossy(&bytes).into_owned())),
            (None, _) => {}
        }
    }
    (pairs, files)
}

/// Returns a name with its escapes replaced. Browsers escape three characters, because these would end the name.
fn unquoted(name: &str) -> String {
    name.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n")
}

/// Returns the last part of a file name. Some browsers send the whole path.
fn plain(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let end = last
        .char_indices()
        .map(|(at, one)| at + one.len_utf8())
        .take_while(|end| *end <= MAX_NAME_LEN)
        .last();
    last.get(..end.unwrap_or(0)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, pairs: &[(&str, &str)], files: &[(&str, &str, &str)]) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (texts, sent) = runtime.block_on(read(Bytes::from(body.to_owned()), "B"));
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
    fn browser_multipart_form_is_read() {
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
    fn truncated_or_malformed_form_is_left_out() {
        for body in [
            "",
            "--B",
            "--B--",
            "--B\r\n\r\n",
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nno end",
            "--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n--B--",
            "--B\r\nname=\"a\"\r\nx\r\n--B--",
            "--C\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--C--",
        ] {
            check(body, &[], &[]);
        }
    }

    #[test]
    fn boundary_is_found_in_multipart_content_types_only() {
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
    fn file_name_loses_directories_and_is_limited() {
        for (name, expected) in [("a.txt", "a.txt"), ("/x/a.txt", "a.txt"), ("..", ".."), ("x/", "")] {
            assert_eq!(plain(name), expected);
        }
        assert!(plain(&"ü".repeat(500)).len() <= MAX_NAME_LEN);
    }
}
