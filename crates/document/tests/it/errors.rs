//! The documents that are refused, and the words of the errors.

use document::{DocumentError, Limits, text};
use lopdf::{Document, Stream, dictionary};

use crate::made;

/// Reads and compares with an error, whose help must say something.
fn check(bytes: &[u8], name: &str, limits: &Limits, expected: DocumentError) {
    let error = text(bytes, name, limits).expect_err(name);
    assert_eq!(error, expected, "{name}");
    assert!(!error.help().is_empty());
}

#[test]
fn too_large_document_is_refused_before_reading() {
    let limits = Limits::default();
    let gigabyte = 1 << 30;
    let expected = DocumentError::TooLarge { size: gigabyte, limit: limits.bytes };
    assert_eq!(limits.admit(gigabyte), Err(expected.clone()));
    assert_eq!(limits.admit(limits.bytes), Ok(()));
    assert_eq!(expected.to_string(), "the document has 1 GiB; the limit is 10 MiB");
    let small = Limits { bytes: 3, ..limits };
    // Not even looked at: it would be unsupported.
    check(b"\x89PNG\r\n\x1a\n", "a.png", &small, DocumentError::TooLarge { size: 8, limit: 3 });
}

#[test]
fn binary_and_disguised_content_is_refused() {
    let check = |bytes: &[u8], name: &str, expected| check(bytes, name, &Limits::default(), expected);
    let disguised = |suffix: &str, found: &'static str| DocumentError::Disguised {
        suffix: suffix.into(),
        found: found.into(),
    };
    let pdf = made::pdf(&["BT /F1 12 Tf (x) Tj ET"], true);
    check(b"ab\0c", "a.txt", DocumentError::Binary { byte: 0, offset: 2 });
    check(&b"\x01\x02\x03ab".repeat(100), "a.log", DocumentError::Binary { byte: 1, offset: 0 });
    let not_utf8 =
        |byte, offset, likely: &'static str| DocumentError::NotUtf8 { byte, offset, likely: likely.into() };
    check(b"caf\xe9 ol\xe9", "a.md", not_utf8(0xe9, 3, "windows-1252"));
    check(b"\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0", "a.md", not_utf8(0xcf, 0, "windows-1251"));
    check(b"\xef\xbb\xbf\xc3", "a.md", not_utf8(0xc3, 3, "windows-1250"));
    check(b"\xff\xfe", "a.txt", not_utf8(0xff, 0, "UTF-16LE"));
    check(b"\xff\xfea", "a.txt", not_utf8(0xff, 0, "UTF-16LE"));
    check(b"\xff\xfe\0\0a\0\0\0", "a.txt", not_utf8(0xff, 0, "UTF-32"));
    check(b"\x89PNG\r\n\x1a\n....", "a.txt", disguised(".txt", "a PNG image"));
    check(b"PK\x03\x04....", "a.pdf", disguised(".pdf", "a ZIP archive"));
    check(&pdf, "notes.MD", disguised(".md", "a PDF document"));
    check(b"<html>not found</html>", "a.pdf", disguised(".pdf", "an HTML page"));
    check(
        b"PK\x03\x04....",
        "a.docx",
        DocumentError::Unsupported { found: "a Word document (.docx)".into() },
    );
    check(b"\x7fELF\x02", "tool", DocumentError::Unsupported { found: "a program".into() });
    assert!(text(&pdf, "no-suffix", &Limits::default()).is_ok());
}

#[test]
fn broken_and_empty_mails_are_refused() {
    let check = |bytes: &[u8], expected| check(bytes, "a.eml", &Limits::default(), expected);
    let broken = |reason: &str| DocumentError::MailBroken { reason: reason.into() };
    check(b"", broken("it has no header"));
    check(b"just some words\r\n", broken("it has no header"));
    check(b"X-Note: some words\r\n\r\nmore", broken("it has no From, Date or Subject line"));
    let image = b"From: a@b.example\r\nContent-Type: image/png; name=\"a b.png\"\r\n\r\n\x89PNG\r\n\x1a\n";
    let left_out = "left out: image/png a b.png, 8 bytes: a PNG image".into();
    check(image, DocumentError::MailWithoutText { left_out });
}

#[test]
fn unreadable_pdfs_are_refused() {
    let default = Limits::default();
    check(&made::scan(), "scan.pdf", &default, DocumentError::PdfWithoutText { pages: 2 });
    check(&made::encrypted(), "closed.pdf", &default, DocumentError::PdfEncrypted);
    check(b"", "a.pdf", &default, DocumentError::PdfBroken { reason: "it is empty".into() });

    let pages = made::pdf(&["BT /F1 12 Tf (x) Tj ET"; 5], true);
    let limits = Limits { pages: 4, ..default.clone() };
    check(&pages, "a.pdf", &limits, DocumentError::TooManyPages { pages: 5, limit: 4 });
    let limits = Limits { operations: 270, ..default.clone() };
    check(
        &pages,
        "a.pdf",
        &limits,
        DocumentError::PdfTooComplex { unit: "drawing operations".into(), limit: 270 },
    );
    let limits = Limits { text: 4, ..default.clone() };
    check(&pages, "a.pdf", &limits, DocumentError::TooMuchText { limit: 4 });

    let limits = Limits { unfolded: 1 << 20, ..default.clone() };
    let complex = DocumentError::PdfTooComplex { unit: "unfolded bytes".into(), limit: 1 << 20 };
    check(&made::bomb(8 << 20), "bomb.pdf", &limits, complex);

    // Object streams are counted in sum: each of these is small enough.
    let objects = made::object_streams(400, 1 << 10);
    assert!(text(&objects, "objects.pdf", &default).is_ok());
    let complex = DocumentError::PdfTooComplex { unit: "unfolded bytes".into(), limit: 1 << 20 };
    check(&objects, "objects.pdf", &limits, complex);

    // A drawing that draws another one nine times over, and so on: a short file that would take hours.
    let mut made = Document::with_version("1.5");
    let mut resources = dictionary! {};
    for _ in 0..8 {
        let head = dictionary! { "Type" => "XObject", "Subtype" => "Form", "Resources" => resources };
        let form = made.add_object(Stream::new(head, b"/Fm Do ".repeat(9)));
        resources = dictionary! { "XObject" => dictionary! { "Fm" => form } };
    }
    let limits = Limits { operations: 10_000, ..default.clone() };
    let complex = DocumentError::PdfTooComplex { unit: "drawing operations".into(), limit: 10_000 };
    check(&made::finish(made, &["/Fm Do"], &resources, true), "forms.pdf", &limits, complex);

    // Cut short at every tenth: text or a specific error, never garbage.
    let whole = made::pdf(&["BT /F1 12 Tf 72 700 Td (whole) Tj ET"], false);
    for cut in (0..whole.len()).step_by(whole.len() / 10) {
        match text(&whole[..cut], "cut.pdf", &default) {
            Ok(read) => assert_eq!(read.text, "whole\n"),
            Err(DocumentError::PdfBroken { .. } | DocumentError::Disguised { .. }) => {}
            Err(other) => panic!("cut at {cut}: {other:?}"),
        }
    }
}
