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
    assert_eq!(expected.to_string(), "the document has 1073741824 bytes; the limit is 10485760");
    let small = Limits { bytes: 3, ..limits };
    // Not even looked at: it would be unsupported.
    check(b"\x89PNG\r\n\x1a\n", "a.png", &small, DocumentError::TooLarge { size: 8, limit: 3 });
}

#[test]
fn binary_and_disguised_content_is_refused() {
    let check = |bytes: &[u8], name: &str, expected| check(bytes, name, &Limits::default(), expected);
    let disguised = |suffix: &str, found| DocumentError::Disguised { suffix: suffix.into(), found };
    let pdf = made::pdf(&["BT /F1 12 Tf (x) Tj ET"], true);
    check(b"ab\0c", "a.txt", DocumentError::Binary { byte: 0, offset: 2 });
    check(b"ab\x1b[31m", "a.log", DocumentError::Binary { byte: 0x1b, offset: 2 });
    check(b"From: a\r\n\r\n\x01", "a.eml", DocumentError::Binary { byte: 1, offset: 11 });
    check(b"caf\xe9 ole", "a.md", DocumentError::NotUtf8 { byte: 0xe9, offset: 3 });
    check(b"\xef\xbb\xbf\xc3", "a.md", DocumentError::NotUtf8 { byte: 0xc3, offset: 3 });
    check(b"\xff\xfeh\0i\0", "a.txt", DocumentError::NotUtf8 { byte: 0xff, offset: 0 });
    check(b"\x89PNG\r\n\x1a\n....", "a.txt", disguised(".txt", "a PNG image"));
    check(b"PK\x03\x04....", "a.pdf", disguised(".pdf", "a ZIP archive"));
    check(&pdf, "notes.MD", disguised(".md", "a PDF document"));
    check(b"<html>not found</html>", "a.pdf", disguised(".pdf", "an HTML page"));
    check(b"PK\x03\x04....", "a.docx", DocumentError::Unsupported { found: "a Word document (.docx)" });
    check(b"\x7fELF\x02", "tool", DocumentError::Unsupported { found: "a program" });
    assert!(text(&pdf, "no-suffix", &Limits::default()).is_ok());
}

#[test]
fn broken_and_empty_mails_are_refused() {
    let check = |bytes: &[u8], expected| check(bytes, "a.eml", &Limits::default(), expected);
    let broken = |reason: &str| DocumentError::MailBroken { reason: reason.into() };
    check(b"", broken("it has no header"));
    check(b"just some words\r\n", broken("it has no header"));
    check(b"X-Note: some words\r\n\r\nmore", broken("it has no From, Date or Subject line"));
    check(
        b"From: a@b.example\r\nContent-Type: application/pdf\r\n\r\n%PDF",
        DocumentError::MailWithoutText { attachments: 1 },
    );
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
    check(&pages, "a.pdf", &limits, DocumentError::PdfTooComplex { unit: "drawing operations", limit: 270 });
    let limits = Limits { text: 4, ..default.clone() };
    check(&pages, "a.pdf", &limits, DocumentError::TooMuchText { limit: 4 });

    let limits = Limits { unfolded: 1 << 20, ..default.clone() };
    let complex = DocumentError::PdfTooComplex { unit: "unfolded bytes", limit: 1 << 20 };
    check(&made::bomb(8 << 20), "bomb.pdf", &limits, complex);

    // Object streams are counted in sum: each of these is small enough.
    let objects = made::object_streams(400, 1 << 10);
    assert!(text(&objects, "objects.pdf", &default).is_ok());
    let complex = DocumentError::PdfTooComplex { unit: "unfolded bytes", limit: 1 << 20 };
    check(&objects, "objects.pdf", &limits, complex);

    // A drawing that draws itself nine times over, and so on: a short file that would take hours.
    let mut made = Document::with_version("1.5");
    let form = made.new_object_id();
    let resources = dictionary! { "XObject" => dictionary! { "Fm" => form } };
    let head = dictionary! { "Type" => "XObject", "Subtype" => "Form", "Resources" => resources.clone() };
    made.objects.insert(form, Stream::new(head, b"/Fm Do ".repeat(9)).into());
    let limits = Limits { operations: 10_000, ..default.clone() };
    let complex = DocumentError::PdfTooComplex { unit: "drawing operations", limit: 10_000 };
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
