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
    check(&["Q Q /F9 cm BT /Nix 1 Tf (lost) Tj /F1 12 Tf (x) Td (seen) Tj [[] /A null] TJ ET"], "seen\n");
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
    assert_eq!(read, "Hüfi\n\n\u{fffd}\u{fffd}\n");
}

#[test]
fn mails() {
    let check = |mail: &str, expected: &str| assert_eq!(read(mail.as_bytes(), "a.eml"), expected, "{mail}");
    let head = "From: Ada <ada@one.example>\r\nTo: b@two.example, \"C, D\" <c@two.example>\r\n\
        Date: Tue, 06 Oct 2026 09:41:07 +0200\r\n";
    let read_head = "From: Ada <ada@one.example>\nTo: b@two.example, C, D <c@two.example>\n";
    let date = "Date: Tue, 06 Oct 2026 09:41:07 +0200\n";
    check(
        &format!("{head}Subject: plain\r\n\r\nHello,\r\nyou.\r\n\r\n"),
        &format!("{read_head}Subject: plain\n{date}\nHello,\nyou.\n"),
    );
    check(
        &format!(
            "{head}Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\
             Content-Transfer-Encoding: quoted-printable\r\n\r\nzw=F6lf =\r\nEuro\r\n"
        ),
        &format!("{read_head}Subject: Grüße\n{date}\nzwölf Euro\n"),
    );
    check(
        &format!("{head}Content-Transfer-Encoding: base64\r\n\r\nSGVsbG8sCndvcmxkLgA=\r\n"),
        &format!("{read_head}{date}\nHello,\nworld.\u{fffd}\n"),
    );
    check(
        &format!("{head}Subject: nothing else\r\n\r\n"),
        &format!("{read_head}Subject: nothing else\n{date}"),
    );
    // A line break inside an encoded subject does not forge a header line.
    check(
        &format!("{head}Subject: =?utf-8?B?b25lCkZyb206IGV2aWw=?=\r\n\r\nx"),
        &format!("{read_head}Subject: one From: evil\n{date}\nx\n"),
    );
    check(
        &format!(
            "{head}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\n\
             Content-Type: text/plain\r\n\r\nfirst\r\n--B\r\nContent-Type: application/pdf\r\n\
             Content-Disposition: attachment; filename=\"a b.pdf\"\r\n\r\n%PDF-\r\n--B--\r\n"
        ),
        &format!("{read_head}{date}Attachments: a b.pdf\n\nfirst\n"),
    );
    check(
        &format!("{head}Content-Type: text/html\r\n\r\n<p>Hello <b>you</b></p><p>There</p>"),
        &format!("{read_head}{date}\nHello you\nThere\n"),
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
}
