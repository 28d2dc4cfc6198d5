//! The documents of the example inbox are read, and each expected fact is stated in their text.

use std::path::{Path, PathBuf};

use document::{Limits, MediaType, Text, text};
use serde_json::Value;

fn inbox() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/inbox")
}

fn read(path: &str) -> Text {
    let bytes = std::fs::read(inbox().join(path)).unwrap();
    text(&bytes, path, &Limits::default()).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn one_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn expected_facts_are_stated() {
    let expected = std::fs::read_to_string(inbox().join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let documents = expected["documents"].as_object().unwrap();
    assert_eq!(documents.len(), 5);
    for (name, document) in documents {
        let read = one_spaced(&read(&format!("mail/{name}")).text);
        let facts = document["facts"].as_object().unwrap();
        let stated = document["stated"].as_object().unwrap();
        assert_eq!(facts.len(), 5, "{name}");
        for fact in facts.keys() {
            let words = stated[fact].as_str().unwrap();
            assert!(read.contains(words), "{name}: {fact} should be stated as {words:?} in\n{read}");
        }
        assert!(expected["classes"].get(document["class"].as_str().unwrap()).is_some(), "{name}");
    }
}

#[test]
fn types() {
    let check = |path: &str, media_type: MediaType, pages: Option<usize>| {
        let read = read(path);
        assert_eq!((read.media_type, read.pages), (media_type, pages), "{path}");
    };
    check("mail/1-invoice-harbour-print.pdf", MediaType::Pdf, Some(1));
    check("mail/2-invoice-northlight.txt", MediaType::Plain, None);
    check("mail/3-meeting-note.md", MediaType::Markdown, None);
    check("mail/4-contract-excerpt.md", MediaType::Markdown, None);
    check("mail/5-mail-from-supplier.eml", MediaType::Mail, None);
    check("encoded/5-mail-from-supplier.eml", MediaType::Mail, None);
    check("expected.json", MediaType::Json, None);
}

#[test]
fn table_rows_of_the_invoice_are_lines() {
    let invoice = read("mail/1-invoice-harbour-print.pdf").text;
    for line in [
        "Invoice date: 14 October 2026",
        "Pos.  Description  Quantity  Unit price  Amount EUR",
        "2  Poster, A2, full colour on 150 g gloss  60  3.15  189.00",
        "Net total  1,004.00",
        "Total due EUR 1,204.80",
    ] {
        assert!(invoice.lines().any(|found| found == line), "{line:?} should be a line of\n{invoice}");
    }
}
