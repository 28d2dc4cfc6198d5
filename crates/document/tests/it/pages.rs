//! The documents that are read: pages of PDF, mails, text.

use document::{Limits, text};
use lopdf::{Document, Stream, dictionary};

use crate::made;

fn read(bytes: &[u8], name: &str) -> String {
    text(bytes, name, &Limits::default()).unwrap_or_else(|error| panic!("{name}: {error}")).text
}

#[test]
fn pdf_pages_give_their_text_in_lines() {
    let check = |pages: &[&str], expected: &str| {
        for compressed in [false, true] {
            assert_eq!(read(&made::pdf(pages, compressed), "a.pdf"), expected, "{pages:?}");
        }
    };
    check(
        &["BT /F1 12 Tf 72 700 Td (Hello) Tj ET", "BT /F1 12 Tf 72 700 Td (World) Tj ET"],
        "Hello\n\nWorld\n",
    );
    check(
        &["BT /F1 12 Tf 14 TL 72 700 Td (one) Tj T* (two) Tj (three) ' 1 0 (four) \" ET"],
        "one\ntwo\nthree\nfour\n",
    );
    check(&["BT /F1 12 Tf 72 700 Td [(Inv) 20 (oice) -400 (total)] TJ ET"], "Invoice total\n");
    check(
        &["BT /F1 12 Tf 72 700 Td (Pos.) Tj 100 0 Td (Amount) Tj -100 -20 Td (1) Tj 100 0 Td (5.00) Tj ET"],
        "Pos.  Amount\n1  5.00\n",
    );
    check(
        &["/F1 12 Tf BT 1 0 0 1 72 700 Tm (a) Tj ET q 1 0 0 1 0 -15 cm BT 1 0 0 1 72 700 Tm (b) Tj ET Q"],
        "a\nb\n",
    );
    check(&["BT /F1 12 Tf 0 1 -1 0 300 100 Tm (up) Tj 0 -15 Td (wards) Tj ET"], "up\nwards\n");
    check(&["BT /F1 12 Tf 72 700 Td (\\200 5,00 \\344\\374) Tj ET"], "€ 5,00 äü\n");
    // An invisible text layer over a scan is text.
    check(&["BT 3 Tr /F1 12 Tf 72 700 Td (layer) Tj ET"], "layer\n");
    // Bold by drawing twice.
    check(&["BT /F1 12 Tf 72 700 Td (Sum) Tj 0.3 0 Td (Sum) Tj ET"], "Sum\n");
    // A syntax error ends a page, not the document.
    check(
        &["BT /F1 12 Tf 72 700 Td (kept) Tj ET <<<< ", "BT /F1 12 Tf 72 700 Td (next) Tj ET"],
        "kept\n\nnext\n",
    );
    // A missing font, unbalanced Q and strange operands.
    check(
        &["Q Q /F9 cm BT /Nix 1 Tf (lost) Tj /F1 12 Tf (x) Td (seen) Tj [[] /A null] TJ ET"],
        "seen\n[4 characters on page 1 could not be read: the file does not say which they are]\n",
    );
}

#[test]
fn pdf_forms_and_composite_fonts_give_their_text() {
    let mut made = Document::with_version("1.5");
    let table = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def\n\
        1 begincodespacerange <0000> <FFFF> endcodespacerange\n\
        3 beginbfchar <0001> <0048> <0002> <00FC> <0003> <FB01> endbfchar endcmap end end";
    let unicode = made.add_object(Stream::new(dictionary! {}, table.as_bytes().to_vec()));
    let descendant = made.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "CIDFontType2", "BaseFont" => "Subset", "DW" => 500,
        "W" => vec![1.into(), vec![600.into(), 500.into()].into(), 3.into(), 9.into(), 700.into()],
    });
    let font = made.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type0", "BaseFont" => "Subset", "Encoding" => "Identity-H",
        "DescendantFonts" => vec![descendant.into()], "ToUnicode" => unicode,
    });
    let unmapped = made.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type0", "BaseFont" => "Other", "Encoding" => "Identity-H",
        "DescendantFonts" => vec![descendant.into()],
    });
    let form = made.new_object_id();
    let fonts = dictionary! { "F1" => font, "F2" => unmapped };
    // It draws itself, without end.
    let resources = dictionary! { "Font" => fonts, "XObject" => dictionary! { "Fm" => form } };
    made.objects.insert(
        form,
        Stream::new(
            dictionary! {
                "Type" => "XObject", "Subtype" => "Form",
                "Resources" => resources.clone(),
            },
            b"BT /F1 10 Tf 72 600 Td <000100020003> Tj ET /Fm Do".to_vec(),
        )
        .into(),
    );
    let page = "/Fm Do BT /F2 10 Tf 72 500 Td <00010002> Tj ET";
    let read = read(&made::finish(made, &[page], &resources, true), "a.pdf");
    assert_eq!(
        read,
        "Hüfi\n\n\u{fffd}\u{fffd}\n[2 characters on page 1 could not be read: the file does not say which they are]\n"
    );
}

#[test]
fn texts() {
    let check = |bytes: &[u8], name: &str, expected: &str| assert_eq!(read(bytes, name), expected, "{name}");
    check(b"", "empty.txt", "");
    check(b"\xef\xbb\xbfmarked\r\n", "a.txt", "marked\r\n");
    check("{\"ü\": 1}".as_bytes(), "a.json", "{\"ü\": 1}");
    check(b"a;b\tc\x0c", "a.csv", "a;b\tc\x0c");
    check(b"no suffix", "README", "no suffix");
    check(b"int x;", "x.unknown", "int x;");
    check(b"the mark %PDF- is quoted", "a.md", "the mark %PDF- is quoted");
    check(b"%PDF-1.4 is how a PDF starts\n", "about.txt", "%PDF-1.4 is how a PDF starts\n");
    check(b"\xff\xfeh\0i\0\xe9\0", "a.txt", "hié");
    check(b"\xfe\xff\0h\0i", "a.csv", "hi");
    check(b"\xef\xbb\xbf{\"a\": 1}", "a.json", "{\"a\": 1}");
}

#[test]
fn text_with_terminal_codes_is_read_with_a_note() {
    let check = |bytes: &[u8], name: &str, expected: &str, notes: &[&str]| {
        let found = text(bytes, name, &Limits::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found.text, expected);
        assert_eq!(found.notes, notes);
    };
    let colours = "left out: 2 terminal codes (colours and the like)";
    // Editors and search tools that take such logs for binary: Acode-Foundation/Acode#536, buty4649/rf#292.
    check(b"\x1b[31merror\x1b[0m: x\n", "build.log", &format!("error: x\n[{colours}]\n"), &[colours]);
    check(b"\x1b[31merror\x1b[0m: x\n", "stdin", &format!("error: x\n[{colours}]\n"), &[colours]);
    let end = "left out: 1 terminal code (colours and the like)";
    check(b"dir *.*\r\n\x1a", "OLD.TXT", &format!("dir *.*\r\n[{end}]\n"), &[end]);
    let shown = "4 control characters are shown as a sign such as ␛";
    check(b"a\x7fb\x0bc\x08d\x1ae", "a.txt", &format!("a␡b␋c␈d␚e\n[{shown}]\n"), &[shown]);
    let japanese = "the file does not name its encoding; it was read as ISO-2022-JP";
    check(b"\x1b$B@A5a=q\x1b(B\n", "a.txt", &format!("請求書\n[{japanese}]\n"), &[japanese]);
    let wide = "the file does not name its encoding; it was read as UTF-16LE";
    check(b"h\0i\0!\0\n\0", "a.txt", &format!("hi!\n[{wide}]\n"), &[wide]);
}
