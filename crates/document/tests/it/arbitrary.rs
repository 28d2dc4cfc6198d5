//! No input causes a panic, and each returned text keeps its promise.

use document::{DocumentError, Limits, MediaType, text, unparsed_text};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::made;

const NAMES: [&str; 6] = ["a.txt", "a.eml", "a.pdf", "a.json", "a", "a.docx"];

/// A word of a content stream.
const OPERATION: &str = "[-0-9.]{1,4}|\\([a-z]{0,3}\\)|\\[|\\]|<<|>>|<[0-9a-f]{0,4}>|/F1|\
    Tj|TJ|Tf|Td|Tm|cm|q|Q|BT|ET|'|\"|Do|BI|ID|EI";

fn keeps_promise(bytes: &[u8], name: &str) -> Result<(), TestCaseError> {
    let limits = Limits { unfolded: 1 << 20, operations: 100_000, ..Limits::default() };
    let read = text(bytes, name, &limits);
    // The caller may take the text without a parser, and must get the same.
    match unparsed_text(bytes, name, &limits) {
        Ok(Some(unparsed)) => {
            prop_assert!(!matches!(unparsed.media_type, MediaType::Pdf | MediaType::Mail), "{name}");
            prop_assert_eq!(Ok(&unparsed), read.as_ref());
        }
        Ok(None) => {}
        Err(error) => prop_assert_eq!(Err(&error), read.as_ref()),
    }
    // The result goes from one process to another.
    let json = serde_json::to_string(&read).unwrap();
    prop_assert_eq!(&serde_json::from_str::<Result<document::Text, DocumentError>>(&json).unwrap(), &read);
    match read {
        Ok(read) => {
            let control =
                |char: char| char.is_ascii_control() && !matches!(char, '\t' | '\n' | '\r' | '\u{c}');
            prop_assert!(!read.text.contains(control), "{name}: {:?}", read.text);
            prop_assert!(read.text.len() <= limits.text);
        }
        Err(error) => {
            prop_assert!(!error.to_string().is_empty());
            prop_assert!(!error.help().is_empty());
            // A fault of ours would come back as one of the parser's: both are to be known.
            if let DocumentError::PdfBroken { reason } | DocumentError::MailBroken { reason } = error {
                prop_assert!(!reason.contains("document/src"), "{reason}");
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes(bytes in vec(any::<u8>(), 0..600), name in 0..NAMES.len()) {
        keeps_promise(&bytes, NAMES[name])?;
    }

    /// Reads bytes with the mark of a PDF or the head of a mail, which get past the first check.
    #[test]
    fn arbitrary_pdf_and_mail_bodies_keep_the_promise(bytes in vec(any::<u8>(), 0..600), words in "\\PC{0,200}") {
        keeps_promise(&[b"%PDF-1.7\n", &*bytes].concat(), "a.pdf")?;
        let head = format!("From: {words}\r\nContent-Type: {words}\r\nSubject: =?utf-8?B?{words}?=");
        keeps_promise(format!("{head}\r\n\r\n{words}").as_bytes(), "a.eml")?;
    }

    /// Reads text, which often needs no parser.
    #[test]
    fn arbitrary_text_keeps_the_promise(words in "\\PC{0,80}|[a-z\\n\\t\\x1b\\x00\u{feff}]{0,40}", name in 0..NAMES.len()) {
        keeps_promise(words.as_bytes(), NAMES[name])?;
        keeps_promise(format!("\u{feff}{words}").as_bytes(), NAMES[name])?;
    }

    /// Reads a sound file with some bytes replaced: most of it still parses.
    #[test]
    fn damaged_pdf_keeps_the_promise(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        compressed in any::<bool>(),
    ) {
        let page = "BT /F1 12 Tf 14 TL 72 700 Td (some) Tj T* [(more) -200 (of it)] TJ ET q 2 0 0 2 0 0 cm Q";
        let mut bytes = made::pdf(&[page, page], compressed);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        keeps_promise(&bytes, "a.pdf")?;
    }

    /// Reads a sound file around a page of arbitrary operations.
    #[test]
    fn operations(words in vec(OPERATION, 0..60)) {
        let page = words.join(" ");
        keeps_promise(&made::pdf(&[&page], false), "a.pdf")?;
    }
}

#[test]
fn deeply_nested_documents_keep_the_promise() {
    for (open, close) in [("[", "]"), ("<<", ">>"), ("(", ")"), ("<</A ", ">>")] {
        let deep = format!("{}{}", open.repeat(50_000), close.repeat(50_000));
        keeps_promise(&made::pdf(&[&format!("{deep} TJ BT /F1 12 Tf (x) Tj ET")], false), "a.pdf").unwrap();
        let file = format!("%PDF-1.4\n1 0 obj {deep} endobj\ntrailer <</Root 1 0 R>>\n%%EOF");
        keeps_promise(file.as_bytes(), "a.pdf").unwrap();
    }
    let nested = (0..200).map(|n| format!("Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n"));
    keeps_promise(format!("From: a@b.example\r\n{}", nested.collect::<String>()).as_bytes(), "a.eml")
        .unwrap();
}
