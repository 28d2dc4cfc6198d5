//! Mails as other programs write them: nothing of them is lost without a word.

use document::{DocumentError, Limits, MediaType, Text, text};

fn try_read(mail: &[u8], name: &str) -> Result<Text, DocumentError> {
    text(mail, name, &Limits::default())
}

fn read(mail: &[u8]) -> Text {
    try_read(mail, "a.eml").unwrap_or_else(|error| panic!("{}: {error}", mail.escape_ascii()))
}

/// Checks the text after the header line of the sender.
fn check(mail: &str, expected: &str) {
    let mail = format!("From: b@one.example\n{mail}");
    assert_eq!(read(mail.as_bytes()).text, format!("From: b@one.example\n{expected}"), "{mail}");
}

/// Returns a multipart of these parts, each with its own header.
fn multipart(kind: &str, parts: &[&str]) -> String {
    let parts: String = parts.iter().map(|part| format!("--=_b_{kind}\n{part}\n")).collect();
    format!("Content-Type: multipart/{kind}; boundary=\"=_b_{kind}\"\n\n{parts}--=_b_{kind}--\n")
}

#[test]
fn mails() {
    let check = |mail: &str, expected: &str| assert_eq!(read(mail.as_bytes()).text, expected, "{mail}");
    let head = "From: Ada <ada@one.example>\r\nTo: b@two.example, \"C, D\" <c@two.example>\r\n\
        Date: Tue, 06 Oct 2026 09:41:07 +0200\r\n";
    let read_head = "From: Ada <ada@one.example>\nTo: b@two.example, \"C, D\" <c@two.example>\n";
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
        &format!(
            "{read_head}{date}\nHello,\nworld.␀\n[text: 1 control character is shown as a sign such as ␛]\n"
        ),
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
        &format!(
            "{read_head}{date}Attachments: a b.pdf\n\nfirst\n[left out: application/pdf a b.pdf, 5 bytes: \
             the PDF is damaged: couldn't parse input: invalid file header]\n"
        ),
    );
    check(
        &format!("{head}Content-Type: text/html\r\n\r\n<p>Hello <b>you</b></p><p>There</p>"),
        &format!("{read_head}{date}\nHello you\n\nThere\n"),
    );
}

#[test]
fn blank_text_part_is_replaced_by_the_html() {
    let html = "Content-Type: text/html\n\n<p>Amount due: <b>88.50 EUR</b></p>";
    // Mails of banks whose text part is empty: MarkusPfundstein/mcp-gsuite#55, docling-project/docling#4295.
    for blank in ["", " ", "\n\n", "\u{a0}\u{200b}", "&nbsp;\n&nbsp;"] {
        let plain = format!("Content-Type: text/plain; charset=utf-8\n\n{blank}");
        check(&multipart("alternative", &[&plain, html]), "\nAmount due: 88.50 EUR\n");
        check(&multipart("alternative", &[html, &plain]), "\nAmount due: 88.50 EUR\n");
    }
    let nbsp = "Content-Type: text/plain\nContent-Transfer-Encoding: quoted-printable\n\n=20=C2=A0";
    check(&multipart("alternative", &[nbsp, html]), "\nAmount due: 88.50 EUR\n");
    // The HTML stands with its pictures, and the whole in a mixed mail.
    let picture = "Content-Type: image/png; name=logo.png\nContent-ID: <1>\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=";
    let related = multipart("related", &[html, picture]);
    let whole = multipart("mixed", &[&multipart("alternative", &["Content-Type: text/plain\n\n", &related])]);
    check(
        &whole,
        "Attachments: logo.png\n\nAmount due: 88.50 EUR\n[left out: image/png logo.png, 8 bytes: a PNG image]\n",
    );
    // The text part says nothing: PHPMailer/PHPMailer#103.
    let stub =
        "Content-Type: text/plain\n\nTo view this message, open it in a program that understands HTML!";
    let both =
        read(format!("From: a@b.example\n{}", multipart("alternative", &[stub, html])).as_bytes()).text;
    assert!(both.contains("Amount due: 88.50 EUR") && both.contains("To view this message"), "{both}");
    check(&format!("Subject: only\n{html}"), "Subject: only\n\nAmount due: 88.50 EUR\n");
}

#[test]
fn mail_is_decoded_whatever_its_encoding() {
    let check = |head: &str, body: &[u8], expected: &str| {
        let mail = [format!("From: b@one.example\n{head}\n\n").as_bytes(), body].concat();
        assert_eq!(read(&mail).text, format!("From: b@one.example\n\n{expected}\n"), "{head}");
    };
    let kind = |label: &str| format!("Content-Type: text/plain; charset={label}");
    // Japanese mails that readers garbled: pazz/alot#1386, openclaw/gogcli#126, freescout-help-desk/freescout#5356.
    check(&kind("ISO-2022-JP"), b"\x1b$B@A5a=q\x1b(B", "請求書");
    check(&kind("\"iso-2022-jp\";"), b"\x1b$B@A5a=q\x1b(B", "請求書");
    let quoted = format!("{}\nContent-Transfer-Encoding: quoted-printable", kind("iso-2022-jp"));
    // nodemailer/mailparser#218
    check(&quoted, b"=1B$B@A5a=3Dq=1B(B", "請求書");
    // Its name is missing, zammad/zammad#6144, or wrong, mikel/mail#1423.
    check("Content-Type: text/plain;", b"\x1b$B@A5a=q\x1b(B", "請求書");
    check("X-Nothing: said", b"\x1b$B@A5a=q\x1b(B", "請求書");
    check(&kind("iso-2022-jp"), "ほげ".as_bytes(), "ほげ");
    check(&kind("iso-2022-kr"), b"\x1b$)C\x0eGQ19\x0f", "한국");
    check(&kind("hz-gb-2312"), b"~{VPND~}", "中文");
    check(&kind("gb2312"), b"\xd6\xd0\xce\xc4", "中文");
    check(&kind("big5"), b"\xa4\xa4\xa4\xe5", "中文");
    check(&kind("koi8-r"), b"\xf0\xd2\xc9\xd7\xc5\xd4", "Привет");
    check(&kind("windows-1251"), b"\xcf\xf0\xe8\xe2\xe5\xf2", "Привет");
    check(&kind("utf-7"), b"Gr+APwA3w-e", "Grüße");
    check(&kind("us-ascii"), "Grüße".as_bytes(), "Grüße");
    check(&kind("utf-8"), b"a\x1b[1mb", "ab\n[text: left out: 1 terminal code (colours and the like)]");
    let html = b"<meta charset=iso-2022-jp><p>\x1b$B@A5a=q\x1b(B</p>";
    check("Content-Type: text/html", html, "請求書");
}

#[test]
fn header_is_found_whatever_stands_before_it() {
    let check = |mail: &[u8], name: &str, expected: &str| {
        let found = try_read(mail, name).unwrap_or_else(|error| panic!("{}: {error}", mail.escape_ascii()));
        assert_eq!(found.text, expected, "{}", mail.escape_ascii());
        assert_eq!(found.media_type, MediaType::Mail);
    };
    let sound = "From: a@e.example\nSubject: s\n\nb\n";
    // A byte order mark: python/cpython#87696, MISP/PyMISP#624.
    check(b"\xef\xbb\xbfFrom: a@e.example\nSubject: s\n\nb\n", "a.eml", sound);
    check(b"\r\n\r\nFrom: a@e.example\r\nSubject: s\r\n\r\nb\r\n", "a.eml", sound);
    check(b"From: a@e.example\rSubject: s\r\rb\r", "a.eml", sound);
    let wide = "\u{feff}From: a@e.example\nSubject: s\n\nb\n".encode_utf16().flat_map(u16::to_le_bytes);
    check(&wide.collect::<Vec<u8>>(), "a.eml", sound);
    check(
        b"From a@e.example Mon Jan  1 00:00:00 2026\nFrom: a@e.example\nSubject: s\n\nb\n",
        "a.mbox",
        sound,
    );
    check(b"32\nFrom: a@e.example\nSubject: s\n\nb\n<?xml version=\"1.0\"?><plist/>", "1.emlx", sound);
    check(b"From: a@e.example\nSubject: s\n\nb\n", "cur/1204680122.27c448ab_1.host:2,S", sound);
    // A line of an archiver: s1t5/mail-archiver#560.
    check(
        b"Microsoft Mail Internet Headers Version 2.0\r\nFrom: a@e.example\r\nSubject: s\r\n\r\nb\r\n",
        "a.eml",
        &format!("{sound}[left out: 1 line before the header]\n"),
    );
    check(
        b"From a\nFrom: a@e.example\nSubject: one\n\n>From here\n\nFrom b\nFrom: b@e.example\nSubject: two\n\ny\n",
        "a.mbox",
        "(a mailbox with 2 mails)\n\n--- mail 1 of 2 ---\n\nFrom: a@e.example\nSubject: one\n\nFrom here\n\n\
         --- mail 2 of 2 ---\n\nFrom: b@e.example\nSubject: two\n\ny\n",
    );
    let split = "From: J\u{f6}rg <j@e.example>\nReply-To: x@e.example\nSubject: =?utf-8?Q?Gr=C3?= =?utf-8?Q?=BC=C3=9Fe?=\n\nb\n";
    let whole = "From: Jörg <j@e.example>\nReply-To: x@e.example\nSubject: Grüße\n\nb\n";
    check(split.as_bytes(), "a.eml", whole);
    let latin = b"From: J\xf6rg M\xfcller <j@e.example>\nSubject: s\n\nb\n";
    check(latin, "a.eml", "From: Jörg Müller <j@e.example>\nSubject: s\n\nb\n");
}

#[test]
fn lines_of_a_broken_header_are_text() {
    // The line between the header and the text is missing, as in mails of CPython's own tests.
    check("Subject: s\nIt costs 5 EUR.\n", "Subject: s\n\nIt costs 5 EUR.\n");
    let part = "Content-Type: text/plain\nIt costs 5 EUR.\n";
    check(&multipart("mixed", &[part]), "\nIt costs 5 EUR.\n");
    let split = "Subject: s\nno field\nTo: c@two.example\n\nb\n";
    check(split, "To: c@two.example\nSubject: s\n\nno field\n\nb\n");
}

#[test]
fn attachments_with_text_are_read() {
    let body = "Content-Type: text/plain\n\nSee below.";
    let inner = "Content-Type: message/rfc822\n\nFrom: c@two.example\nSubject: the first\n\nIt costs 5 EUR.";
    // Forwarded mails that readers took for opaque files: Unstructured-IO/unstructured#604, oneprolabs/devify#47.
    check(
        &multipart("mixed", &[body, inner]),
        "\nSee below.\n\n--- attached: a mail (message/rfc822) ---\nFrom: c@two.example\nSubject: the first\n\n\
         It costs 5 EUR.\n\n--- end of a mail ---\n",
    );
    let table = "Content-Type: text/csv; name=\"t.csv\"\nContent-Disposition: attachment; filename*=utf-8''%C3%BC.csv\n\na,b\n1,2";
    check(
        &multipart("mixed", &[body, table]),
        "Attachments: ü.csv\n\nSee below.\n\n--- attached: ü.csv (text/csv, 7 bytes) ---\n\na,b\n1,2\n\n--- end of ü.csv ---\n",
    );
    // A mail that is a calendar only, and one whose versions are a text and a calendar: linagora/james-project#4396.
    let calendar =
        "Content-Type: text/calendar; method=REQUEST\n\nBEGIN:VCALENDAR\nSUMMARY:Meet\n ing\nEND:VCALENDAR";
    let shown = "--- attached: without a name (text/calendar, 47 bytes) ---\n\nBEGIN:VCALENDAR\nSUMMARY:Meeting\n\
                 END:VCALENDAR\n\n--- end of without a name ---\n";
    check(calendar, &format!("\n{shown}"));
    check(&multipart("alternative", &[body, calendar]), &format!("\nSee below.\n\n{shown}"));
    let status = "Content-Type: message/delivery-status\n\nStatus: 5.1.1";
    let headers = "Content-Type: text/rfc822-headers\n\nSubject: lost";
    let report = format!("From: d@e.example\n{}", multipart("report", &[body, status, headers]));
    let read = read(report.as_bytes()).text;
    assert!(read.contains("Status: 5.1.1") && read.contains("Subject: lost"), "{read}");
}

#[test]
fn parts_without_text_are_named_with_their_size() {
    let body = "Content-Type: text/plain\n\nSee below.";
    let mail = |part: &str| format!("From: a@b.example\n{}", multipart("mixed", &[body, part]));
    let check = |part: &str, expected: &str| {
        let found = read(mail(part).as_bytes());
        assert_eq!(found.notes, [expected], "{part}");
        assert!(found.text.contains(&format!("[{expected}]\n")), "{}", found.text);
        assert!(found.text.contains("See below."), "{}", found.text);
    };
    let file = |kind: &str, name: &str, bytes: &str| {
        format!("Content-Type: {kind}; name=\"{name}\"\nContent-Disposition: attachment\n\n{bytes}")
    };
    check(
        &file("application/zip", "a.zip", "PK\u{3}\u{4}rest"),
        "left out: application/zip a.zip, 8 bytes: a ZIP archive",
    );
    check(
        &file("application/octet-stream", "a.docx", "PK\u{3}\u{4}rest"),
        "left out: application/octet-stream a.docx, 8 bytes: a Word document (.docx)",
    );
    check(
        &file("application/ms-tnef", "winmail.dat", "x"),
        "left out: application/ms-tnef winmail.dat, 1 byte: parts of a mail in Outlook's own format",
    );
    check(
        &file("application/pkcs7-mime", "smime.p7m", "x"),
        "left out: application/pkcs7-mime smime.p7m, 1 byte: S/MIME, encrypted or signed as a whole",
    );
    check(
        "Content-Type: application/pgp-signature\n\n-----BEGIN PGP SIGNATURE-----",
        "left out: a signature (application/pgp-signature), which is not checked",
    );
    let version = "Content-Type: application/pgp-encrypted\n\nVersion: 1";
    let encrypted = multipart("encrypted", &[version, "Content-Type: application/octet-stream\n\nx"]);
    let error =
        try_read(format!("From: a@b.example\n{encrypted}").as_bytes(), "a.eml").unwrap_err().to_string();
    assert!(error.contains("an encrypted text (PGP/MIME)"), "{error}");
    // A file without a type that is text after all.
    let plain = read(mail(&file("application/octet-stream", "a.txt", "words")).as_bytes());
    assert!(plain.text.contains("words") && plain.notes.is_empty(), "{plain:?}");
}

#[test]
fn mails_in_mails_are_read_to_a_limit() {
    let mut mail = "From: z@e.example\nSubject: innermost\n\nthe end".to_owned();
    for depth in 0..12 {
        mail = format!("From: {depth}@e.example\nSubject: s\nContent-Type: message/rfc822\n\n{mail}");
    }
    let found = read(mail.as_bytes());
    assert_eq!(found.notes, ["left out: a mail in more than 8 mails"]);
    assert!(!found.text.contains("innermost"), "{}", found.text);
}

#[test]
fn digests_and_encoded_mails_are_read_as_mails() {
    let shown = "--- attached: a mail (message/rfc822) ---\nFrom: c@two.example\nSubject: s\n\nIt costs 5 EUR.\n\n\
                 --- end of a mail ---\n";
    let inner = "From: c@two.example\nSubject: s\n\nIt costs 5 EUR.";
    check(&multipart("digest", &[&format!("\n{inner}")]), &format!("\n{shown}"));
    let upper = format!("Content-Type: MESSAGE / RFC822\n\n{inner}");
    check(&multipart("mixed", &[&upper]), &format!("\n{shown}"));
    let base64 = "RnJvbTogY0B0d28uZXhhbXBsZQpTdWJqZWN0OiBzCgpJdCBjb3N0cyA1IEVVUi4=";
    let encoded = format!("Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n{base64}");
    let after = "Content-Type: text/plain\n\nafter";
    check(&multipart("mixed", &[&encoded, after]), &format!("\n{shown}\nafter\n"));
    // The words by which the parser knows such mails stay in names.
    let file = "Content-Type: text/csv; name=\"Global digest rfc822.csv\"\n\na,b";
    check(
        &multipart("mixed", &[file]),
        "Attachments: Global digest rfc822.csv\n\n--- attached: Global digest rfc822.csv (text/csv, 3 bytes) ---\n\n\
         a,b\n\n--- end of Global digest rfc822.csv ---\n",
    );
}

#[test]
fn missing_parts_of_a_mail_are_noted() {
    let body = "Content-Type: text/plain\n\nSee below.";
    let check = |mail: &str, name: &str, expected: &[&str]| {
        let found = try_read(format!("From: a@b.example\n{mail}").as_bytes(), name).unwrap();
        assert_eq!(found.notes, expected, "{mail}");
        assert!(found.text.contains("See below."), "{}", found.text);
    };
    // Attachments that Apple Mail keeps beside the mail: freron/MailMate and emlx converters lose them.
    let apart = "Content-Type: application/pdf; name=\"a.pdf\"\nX-Apple-Content-Length: 12345\n\n";
    check(
        &multipart("mixed", &[body, apart]),
        "1.partial.emlx.eml",
        &["left out: application/pdf a.pdf: Apple Mail keeps it in another file than the mail"],
    );
    let empty = "Content-Type: application/pdf; name=\"a.pdf\"\n\n";
    check(&multipart("mixed", &[body, empty]), "a.eml", &["left out: application/pdf a.pdf: it is empty"]);
    let whole = multipart("mixed", &[body, &multipart("related", &[body])]);
    check(&whole, "a.eml", &[]);
    let incomplete =
        "incomplete: the line after the last part of the mail is missing, so more may be missing";
    let cut = whole.trim_end().strip_suffix("--=_b_mixed--").unwrap();
    check(cut, "a.eml", &[incomplete]);
    check(whole.split("--=_b_related--").next().unwrap(), "a.eml", &[incomplete]);
    let emlx = format!("9999\nFrom: a@b.example\n{body}");
    let found = try_read(emlx.as_bytes(), "1.emlx").unwrap();
    assert_eq!(found.notes, ["incomplete: by its first line, the file has 9999 bytes of mail; it has 54"]);
}

#[test]
fn versions_in_versions_are_read_in_bounded_work() {
    let words: String = (0..50_000).map(|at| format!("w{at} ")).collect();
    let mut versions = format!("Content-Type: text/plain\n\n{words}");
    for at in 0..40 {
        let html = "Content-Type: text/html\n\nw1";
        versions = format!(
            "Content-Type: multipart/alternative; boundary=\"={at}=\"\n\n--={at}=\n{versions}\n--={at}=\n{html}\n--={at}=--\n"
        );
    }
    let found = try_read(format!("From: a@b.example\n{versions}").as_bytes(), "a.eml").unwrap();
    assert!(found.text.contains("w49999"));
    // Many lines in brackets and many notes.
    let lines = "[left out: x]\n".repeat(100_000);
    let file = "Content-Type: image/png; name=\"a.png\"\n\n\u{1}";
    let mut parts = vec![file; 1_500];
    let text = format!("Content-Type: text/plain\n\n{lines}");
    let mixed = multipart("mixed", &{
        parts.push(&text);
        parts
    });
    let mail =
        format!("From: a@b.example\n{}", multipart("alternative", &[&mixed, "Content-Type: text/html\n\nx"]));
    assert!(try_read(mail.as_bytes(), "a.eml").unwrap().text.contains("[left out: x]"));
}
