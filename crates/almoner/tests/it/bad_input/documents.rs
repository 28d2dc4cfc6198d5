//! Documents that cannot be read, wherever they come from.

use std::fs::File;

use super::{RunFixture, check};
use crate::test_home::TestHome;

/// Returns a PDF with one page that draws a line and has no text.
fn pdf_without_text() -> Vec<u8> {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] /Contents 4 0 R /Resources << >> >>",
        "<< /Length 21 >>\nstream\n10 10 m 90 90 l S    \nendstream",
    ];
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (i, body) in objects.iter().enumerate() {
        offsets.push(out.len());
        out.extend(format!("{} 0 obj\n{body}\nendobj\n", i + 1).bytes());
    }
    let xref = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for offset in offsets {
        out.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    let size = objects.len() + 1;
    out.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{xref}\n%%EOF\n").bytes());
    out
}

#[test]
fn unreadable_document_is_refused_before_the_model_is_asked() {
    let desk = RunFixture::new();
    let scan = pdf_without_text();
    let cases: &[(&str, &[u8], &[&str], &str)] = &[
        ("zero.txt", b"ab\0cd", &["zero.txt", "not text: byte 0x00 at offset 2"], "plain text in UTF-8"),
        ("photo.txt", b"\x89PNG\r\n\x1a\nxxxx", &["ends in .txt", "a PNG image"], "the suffix of what it is"),
        ("photo.png", b"\x89PNG\r\n\x1a\nxxxx", &["a PNG image"], "PDF or as plain text"),
        ("letter.docx", b"PK\x03\x04rest", &["a Word document"], "PDF or as plain text"),
        ("tool", b"\x7fELF\x02\x01\x01", &["a program"], "PDF or as plain text"),
        (
            "latin.txt",
            b"caf\xe9\n",
            &["invalid byte 0xe9 at offset 3; it looks like windows-1252"],
            "iconv -f windows-1252",
        ),
        ("cut.txt", b"half a sign: \xe2\x82", &["not UTF-8"], "iconv"),
        ("scan.pdf", &scan, &["1 page and no text", "a scan"], "ocrmypdf"),
        ("half.pdf", &scan[..60], &["half.pdf", "damaged"], "fetch it again"),
        ("empty.pdf", b"", &["empty.pdf", "empty"], "fetch it again"),
        (
            "page.pdf",
            b"<html>Not found</html>",
            &["ends in .pdf", "an HTML page"],
            "the suffix of what it is",
        ),
        ("no.eml", b"no header here\n", &["not a mail"], "name the file .txt"),
    ];
    for (name, bytes, says, help) in cases {
        desk.home.write(name, bytes);
        let args = ["run", "hello.worker", name, "-m", "scripted:hello.json"];
        desk.refused(&args, 6, says, help);
    }
    // Paths that are no file at all.
    std::fs::create_dir(desk.home.path("none")).unwrap();
    let fifo = desk.home.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let cases: &[(&str, i32, &str, &str)] = &[
        ("none", 4, "no files in none", "name a directory"),
        ("pipe", 6, "not a file", "as `-`"),
        ("/dev/zero", 6, "not a file", "as `-`"),
    ];
    for (name, code, says, help) in cases {
        desk.refused(&["run", "hello.worker", name, "-m", "scripted:hello.json"], *code, &[says], help);
    }
    desk.nothing_happened();
}

/// Users of other programs are not told how to raise it: gbif/ipt#1097, TrueBrain/TrueWiki#52.
#[test]
fn limit_for_documents_can_be_raised() {
    let desk = RunFixture::new();
    let home = &desk.home;
    home.write("long.txt", vec![b'x'; 11 << 20]);
    home.write("sized.worker", "---\nattachments: { bytes: 11MiB }\n---\nRead it.\n");
    let refused = |args: &[&str], help: &str| {
        desk.refused(
            &[args, &["-m", "scripted:hello.json"]].concat(),
            6,
            &["11 MiB", "limit is 10 MiB"],
            help,
        );
    };
    refused(
        &["run", "hello.worker", "long.txt"],
        "write `attachments: { bytes: 11MiB }` into the worker file",
    );
    refused(&["ask", "What?", "long.txt"], "`almoner ask --attachments 11MiB …` takes them");
    // Both ways out work.
    home.almoner(&["run", "sized.worker", "long.txt", "-m", "scripted:hello.json"]).expect(0);
    let ask = ["ask", "--attachments", "11MiB", "What?", "long.txt", "-m", "scripted:hello.json"];
    home.almoner(&ask).expect(0);
    let args = ["ask", "--attachments", "much", "What?", "-m", "scripted:hello.json"];
    desk.refused(&args, 2, &["`much` is not a size"], "--attachments 20MiB");
}

#[test]
fn parts_that_cannot_be_read_are_said_to_the_person() {
    let home = TestHome::new();
    home.write("hello.worker", super::HELLO);
    home.write("hello.json", super::SAYS_HELLO);
    let mail = "From: a@b.example\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nSee below.\n--x\n\
        Content-Type: image/png; name=\"logo\u{1b}[2K.png\"\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=\n--x--\n";
    home.write("in/a.eml", mail);
    home.write("in/build.log", "\u{1b}[31merror\u{1b}[0m: x\n");
    let log = "build.log: left out: 2 terminal codes (colours and the like)";
    for args in [
        &["run", "hello.worker", "in", "--each", "-m", "scripted:hello.json"][..],
        &["run", "hello.worker", "in/a.eml", "in/build.log", "-m", "scripted:hello.json"],
    ] {
        let said = home.almoner(args).expect(0);
        assert!(said.err.lines().any(|line| line == log), "{}", said.err);
        let picture = said.err.lines().find(|line| line.starts_with("a.eml: left out: image/png logo"));
        assert!(picture.is_some_and(|line| line.ends_with("png, 8 bytes: a PNG image")), "{}", said.err);
        assert!(!said.err.contains('\u{1b}'), "{}", said.err);
    }
    // The same words come through a pipe, where nothing has a suffix.
    let said =
        home.piped(&["run", "hello.worker", "-", "-m", "scripted:hello.json"], b"\x1b[31merror\x1b[0m: x\n");
    assert!(said.err.contains("stdin: left out: 2 terminal codes"), "{}", said.err);
    let said = home.piped(&["run", "hello.worker", "-", "-m", "scripted:hello.json"], b"a\0b");
    assert!(
        said.err.contains("stdin: not text: byte 0x00 at offset 1") && !said.err.contains("suffix"),
        "{}",
        said.err
    );
}

#[test]
fn worker_file_limits_its_documents() {
    let desk = RunFixture::new();
    let home = &desk.home;
    home.write(
        "strict.worker",
        "---\nattachments: { max: 1, bytes: 1KiB, suffixes: [.md] }\n---\nRead it.\n",
    );
    home.write("a.md", "a");
    home.write("b.md", "b");
    home.write("c.txt", "c");
    home.write("long.md", "x".repeat(1025));
    let run = |inputs: &[&'static str]| {
        [&["run", "strict.worker", "-m", "scripted:hello.json"][..], inputs].concat()
    };
    desk.refused(&run(&["a.md", "b.md"]), 6, &["at most 1 documents, not 2"], "`--each`");
    desk.refused(&run(&["c.txt"]), 6, &["c.txt", "takes no such files"], "it takes: .md");
    desk.refused(&run(&["long.md"]), 6, &["1025 bytes", "1024"], "`attachments: { bytes: 1MiB }`");
    desk.nothing_happened();
}

#[test]
fn text_not_in_utf8_is_refused_from_files_and_pipes() {
    let desk = RunFixture::new();
    desk.home.write("latin.txt", b"caf\xe9\n");
    desk.home.write("note.worker", "---\ninput: { note: string }\n---\n{{ input.note }}\n");
    let args = ["run", "note.worker", "note=@latin.txt", "-m", "scripted:hello.json"];
    desk.refused(&args, 6, &["latin.txt is not UTF-8 text (byte 3)"], "save it in UTF-8");
    for args in [
        &["run", "hello.worker", "-", "-m", "scripted:hello.json"][..],
        &["ask", "What?", "-m", "scripted:hello.json"],
    ] {
        let said = desk.home.piped(args, b"caf\xe9\n");
        check(&said, args, 6, &["stdin: not UTF-8: invalid byte 0xe9 at offset 3"], "UTF-8");
        // Eleven MiB of it are too many.
        let said = desk.home.piped(args, &vec![b'x'; 11 << 20]);
        check(&said, args, 6, &["standard input is longer than 10 MiB"], "write it to a file");
    }
    desk.nothing_happened();
}

/// Returns the daemon's peak memory in KiB, and the number of bytes that it has read.
fn used(home: &TestHome) -> (u64, u64) {
    let pid = home.almoner(&["status", "--json"]).expect(0).json()["pid"].to_string();
    let number = |file: &str, field: &str| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap().trim();
        line.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    (number("status", "VmHWM:"), number("io", "rchar:"))
}

#[test]
fn oversized_file_is_refused_by_size_without_reading() {
    let desk = RunFixture::new();
    let home = &desk.home;
    File::create(home.path("big.txt")).unwrap().set_len(1 << 30).unwrap();
    home.write("small.txt", "small");
    home.write("greedy.worker", "---\nattachments: { bytes: 100GiB }\n---\nRead it.\n");
    home.write("note.worker", "---\ninput: { note: string }\n---\n{{ input.note }}\n");
    home.almoner(&["run", "hello.worker", "small.txt", "-m", "scripted:hello.json", "--dry-run"]).expect(0);

    let (memory, read) = used(home);
    let refused = |worker: &str, inputs: &[&str], says: &[&str], help: &str| {
        desk.refused(&[&["run", worker, "-m", "scripted:hello.json"], inputs].concat(), 6, says, help);
    };
    refused("hello.worker", &["big.txt"], &["1 GiB", "limit is 10 MiB"], "64 MiB at most");
    refused("hello.worker", &["small.txt", "big.txt"], &["1 GiB"], "only the part that is needed");
    // A worker file may come from anyone: it cannot make the daemon read without end.
    refused("greedy.worker", &["big.txt"], &["1 GiB; the limit is 64 MiB"], "only the part that is needed");
    let (memory_after, read_after) = used(home);
    assert!(memory_after.saturating_sub(memory) < 8 << 10, "{memory} KiB before, {memory_after} KiB after");
    assert!(read_after - read < 1 << 20, "{read} bytes read before, {read_after} after");

    // Here it is the client that would read: it has less memory than the file is long.
    let args = ["run", "note.worker", "note=@big.txt", "-m", "scripted:hello.json"];
    let script = format!("ulimit -v 786432; exec \"$0\" {}", args.join(" "));
    let command = home.command(&[]);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", &script]).arg(command.get_program()).current_dir(home.work());
    limited.env("ALMONER_HOME", home.root());
    let said = crate::test_home::Said::of(limited.output().unwrap());
    check(&said, &args, 6, &["big.txt", "10 MiB"], "only the part that is needed");
    std::fs::remove_file(home.path("big.txt")).unwrap();
    std::fs::remove_file(home.path("small.txt")).unwrap();
    desk.nothing_happened();
}

/// Reported of other programs: opendatahub-io/agent-eval-harness#194, google/agents-cli#51 (a link in a directory
/// that is handed over hands over what it leads to).
#[test]
fn link_out_of_a_directory_of_documents_is_no_document() {
    let home = TestHome::new();
    home.write("w.worker", "---\nattachments: { max: 5 }\n---\nRead.\n");
    home.write("s.json", r#"[{"turns": [{"text": "read"}]}, {"turns": [{"text": "read"}]}]"#);
    home.write("secret.txt", "PERIWINKLE\n");
    home.write("in/a.txt", "inside\n");
    home.write("in/.env", "KEY=PERIWINKLE\n");
    for (link, to) in [("latest.txt", "a.txt"), ("out.txt", "../secret.txt"), ("key.txt", ".env")] {
        std::os::unix::fs::symlink(to, home.path("in").join(link)).unwrap();
    }
    for input in ["in", "in/*.txt"] {
        let args = ["run", "w.worker", input, "--each", "-j1", "-m", "scripted:s.json", "--json"];
        let said = home.almoner(&args).expect(1);
        assert!(
            said.out.contains("leads out of") && said.out.contains("is a link to `.env`"),
            "{}",
            said.out
        );
        let trace = home.almoner(&["trace", "last", "--tree", "--json"]).out;
        assert!(!trace.contains("PERIWINKLE"), "{trace}");
        assert_eq!(said.json()["batch"]["done"], 2, "{}", said.out);
    }
    let said = home.almoner(&["run", "w.worker", "in", "-m", "scripted:s.json"]);
    check(&said, &["run"], 6, &["is a link to `.env`", "in"], "name the file itself");
    // A file that is named is meant.
    home.almoner(&["run", "w.worker", "in/out.txt", "in/latest.txt", "-m", "scripted:s.json"]).expect(0);
}
