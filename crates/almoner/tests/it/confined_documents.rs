//! PDF and mail are read in a confined process. A document may kill it, and then costs itself alone.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use daemon::processes::document_reader::{DocumentReader, ReadError, ReaderLimits};
use document::{Limits, Text};

use crate::test_home::TestHome;

const BINARY: &str = env!("CARGO_BIN_EXE_almoner");
const WORKER: &str = "---\ndescription: Reads.\n---\nRead it.\n";
const SCRIPT: &str = r#"[{"turns": [{"text": "read"}]}]"#;
const RUN: [&str; 4] = ["run", "w.worker", "-m", "scripted:s.json"];

/// Returns a mail on which the reader of a build for tests has this fault.
fn planted(fault: &str) -> String {
    format!("From: a@b.example\nSubject: faulty\n\nplanted-fault: {fault}\n")
}

fn home() -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", WORKER);
    home.write("s.json", SCRIPT);
    home.write("good.eml", "From: a@b.example\nSubject: good\n\nAll is well.\n");
    home
}

fn pid(home: &TestHome) -> u64 {
    home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_u64().unwrap()
}

/// Other programs lost their server to one such document: jaeksoft/opensearchserver#289,
/// cbcoutinho/nextcloud-mcp-server#852.
#[test]
fn document_that_kills_its_reader_is_refused_with_the_reason() {
    let home = home();
    let before = pid(&home);
    for (fault, reason) in [
        ("abort", "was ended by the signal SIGABRT"),
        ("panic", "failed: a parser panicked"),
        ("stack", "failed: the document is nested too deeply"),
        ("memory", "needed more than 1 GiB of memory"),
    ] {
        let name = format!("{fault}.eml");
        home.write(&name, planted(fault));
        let said = home.almoner(&[&RUN[..], &[&name]].concat()).expect(6);
        let expected = format!("{name}: it cannot be read: its reader {reason}");
        assert!(said.err.contains(&expected), "{fault}: {said:?}");
        assert!(said.err.contains("save its text"), "{fault}: {said:?}");
        // The daemon goes on.
        home.almoner(&[&RUN[..], &["good.eml"]].concat()).expect(0);
        assert_eq!(pid(&home), before, "{fault}");
    }
    // Nothing of the refused documents became a run.
    let runs = home.almoner(&["runs", "--all", "--json"]).expect(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 4, "{runs}");
}

#[test]
fn document_that_kills_its_reader_costs_no_other_item() {
    let home = home();
    home.write("in/1.eml", "From: a@b.example\nSubject: one\n\nfirst\n");
    home.write("in/2.eml", planted("abort"));
    home.write("in/3.eml", planted("stack"));
    home.write("in/4.eml", "From: a@b.example\nSubject: four\n\nlast\n");
    let said = home.almoner(&[&RUN[..], &["in", "--each"]].concat()).expect(1);
    assert!(said.err.contains("4 items: 2 done, 2 failed"), "{said:?}");
    for line in
        ["2.eml: it cannot be read: its reader was ended", "3.eml: it cannot be read: its reader failed"]
    {
        assert!(said.err.contains(line), "{said:?}");
    }
}

/// The command line reads the documents of a small directory to know their size.
#[test]
fn document_cannot_kill_the_command_line() {
    let home = home();
    home.write("papers/a.txt", "the sound paper\n");
    home.write("papers/b.eml", planted("abort"));
    home.write("papers/c.eml", planted("memory"));
    home.write("s.json", r#"[{"contains": "the sound paper", "turns": [{"text": "sound"}]}]"#);
    let said = home.almoner(&["ask", "What?", "papers", "-m", "scripted:s.json"]).expect(0);
    assert_eq!(said.out, "sound\n");
}

#[test]
fn reader_that_never_ends_is_killed() {
    let limits = ReaderLimits { cpu_s: 1, wall: Duration::from_secs(30), ..ReaderLimits::default() };
    let check = |limits: ReaderLimits, fault: &str, expected: &str| {
        let begun = Instant::now();
        let reader = DocumentReader::with_limits(BINARY.into(), limits);
        let read = reader.read(planted(fault).as_bytes(), "a.eml", &Limits::default());
        match read {
            Err(ReadError::Reader { reason }) => assert_eq!(reason, expected, "{fault}"),
            other => panic!("{fault}: {other:?}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(25), "{fault}");
        // The control: the same limits suffice for a sound document.
        let sound = reader.read(b"From: a@b.example\n\nsound\n", "a.eml", &Limits::default()).unwrap();
        assert!(sound.text.contains("sound"), "{sound:?}");
    };
    check(limits, "loop", "took more than 1 s of processor time");
    check(ReaderLimits { wall: Duration::from_secs(3), ..limits }, "sleep", "took longer than 3 s");
    let small = ReaderLimits { memory: 256 << 20, ..limits };
    check(small, "memory", "needed more than 256 MiB of memory");
}

/// Reads a document in this process.
fn unconfined(bytes: &[u8], name: &str) -> Result<Text, String> {
    document::text(bytes, name, &Limits::default()).map_err(|error| error.to_string())
}

/// Reads a document in a confined process. The outer error is the end of that process.
fn confined(bytes: &[u8], name: &str) -> Result<Result<Text, String>, String> {
    match DocumentReader::new(BINARY.into()).read(bytes, name, &Limits::default()) {
        Ok(text) => Ok(Ok(text)),
        Err(ReadError::Document(error)) => Ok(Err(error.to_string())),
        Err(end) => Err(end.to_string()),
    }
}

/// Returns a PDF of these objects, numbered from 1. The first is the catalog.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"%PDF-1.5\n".to_vec();
    let mut offsets = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        offsets.push(out.len());
        out.extend(format!("{} 0 obj\n", at + 1).bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let table = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for offset in offsets {
        out.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    let size = objects.len() + 1;
    out.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").bytes());
    out
}

/// Returns a stream that unfolds to `bytes` by so many filters.
fn stream(entries: &str, bytes: &[u8], filters: usize) -> Vec<u8> {
    let mut packed = bytes.to_vec();
    for _ in 0..filters {
        let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        deflate.write_all(&packed).unwrap();
        packed = deflate.finish().unwrap();
    }
    let filter = "/FlateDecode ".repeat(filters);
    let head = format!("<< {entries} /Filter [{filter}] /Length {} >>\nstream\n", packed.len());
    [head.as_bytes(), &packed, b"\nendstream"].concat()
}

fn page_of(content: Vec<u8>) -> Vec<u8> {
    pdf(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 100 100] >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>".to_vec(),
        content,
    ])
}

#[test]
fn hostile_documents_are_refused_or_read_in_part() {
    const HEAD: &str = "From: a@b.example\r\nSubject: s\r\n";
    let zeros = vec![b'0'; 96 << 20];
    let nested = |depth: usize| {
        let parts =
            (0..depth).map(|n| format!("Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n"));
        format!("{HEAD}{}", parts.collect::<String>()).into_bytes()
    };
    // A case without a refusal is read, at least in part.
    let cases: Vec<(&str, &str, &str, Vec<u8>)> = vec![
        // Velli20/safe-pdf#29: pages that are their own parent.
        (
            "pages in a circle",
            "it has no pages",
            "a.pdf",
            b"%PDF-1.4\n1 0 obj<</Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[2 0 R]>>endobj\n\
              trailer<</Root 1 0 R>>startxref\n4\n%%EOF"
                .to_vec(),
        ),
        // galkahana/PDF-Writer#278: arrays in arrays, in an object and on a page.
        (
            "deep object",
            "it has no pages",
            "a.pdf",
            pdf(&[format!("<< /Type /Catalog /A {} >>", "[".repeat(2_000_000)).into_bytes()]),
        ),
        (
            "deep page",
            "1 page and no text",
            "a.pdf",
            page_of(stream("", format!("{} TJ", "[".repeat(2_000_000)).as_bytes(), 1)),
        ),
        // py-pdf/pypdf#3429: filters upon filters.
        ("nested filters", "more than 67108864 unfolded bytes", "a.pdf", page_of(stream("", &zeros, 3))),
        // Open-Document-Alliance/PDF-Tools#123, J-F-Liu/lopdf#569: a small object stream that unfolds to much.
        (
            "object stream",
            "more than 67108864 unfolded bytes",
            "a.pdf",
            page_of(stream("/Type /ObjStm /N 20000000 /First 10", &zeros, 1)),
        ),
        // rjbs/Email-MIME#66, python/cpython#75630: parts in parts, and many small parts.
        ("deep mail", "too many parts in parts", "a.eml", nested(100_000)),
        (
            "many parts",
            "no text that can be read",
            "a.eml",
            format!(
                "{HEAD}Content-Type: multipart/mixed; boundary=a\r\n\r\n{}",
                "--a\r\nx:y\r\n\r\n".repeat(500_000)
            )
            .into_bytes(),
        ),
        // python/cpython#136063: a header of many small words.
        (
            "long header",
            "",
            "a.eml",
            format!("{HEAD}To: {}\r\n\r\nx", "=?utf-8?q?a?= ".repeat(300_000)).into_bytes(),
        ),
        // nodemailer/mailparser#263: a boundary that is never closed, many times over.
        (
            "open boundaries",
            "no text that can be read",
            "a.eml",
            format!(
                "{HEAD}Content-Type: multipart/mixed; boundary=a\r\n\r\n{}",
                "--a\r\nContent-Type: message/rfc822\r\n\r\n".repeat(50_000)
            )
            .into_bytes(),
        ),
        ("many attributes", "", "a.eml", {
            let tags = "<a href=\"x\" ".repeat(200_000);
            format!("{HEAD}Content-Type: text/html\r\n\r\n<p>text</p>{tags}").into_bytes()
        }),
    ];
    for (what, refusal, name, bytes) in &cases {
        match confined(bytes, name).unwrap_or_else(|end| panic!("{what}: {end}")) {
            Ok(read) => assert!(refusal.is_empty() && read.text.len() <= Limits::default().text, "{what}"),
            Err(error) => assert!(!refusal.is_empty() && error.contains(refusal), "{what}: {error}"),
        }
    }
    // A sound document is read after all of them.
    assert!(confined(b"From: a@b.example\n\nsound\n", "a.eml").unwrap().unwrap().text.contains("sound"));
}

/// Returns the folder of the public documents that `cargo xtask tools` installs.
fn public_documents() -> PathBuf {
    let beside = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools");
    let tools = std::env::var_os("ALMONER_TEST_TOOLS").map_or_else(beside, PathBuf::from);
    let folder = tools.join("documents");
    assert!(folder.is_dir(), "{} is missing; `cargo xtask tools` installs it", folder.display());
    folder
}

/// Returns the PDFs and mails below a folder.
fn documents_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let is_mail = || folder.ends_with("mails") || path.extension().is_some_and(|suffix| suffix == "eml");
        if entry.file_type().unwrap().is_dir() {
            documents_below(&path, found);
        } else if path.extension().is_some_and(|suffix| suffix == "pdf") || is_mail() {
            found.push(path);
        }
    }
}

/// The PDFs of pypdf and the mails of mail-parser, many of them from reports of faults.
#[test]
fn confined_text_is_the_text_that_the_parsers_give() {
    let mut paths = Vec::new();
    documents_below(&public_documents(), &mut paths);
    documents_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"), &mut paths);
    paths.sort();
    let (mut read, mut refused) = (0, 0);
    for path in &paths {
        let bytes = std::fs::read(path).unwrap();
        let name = match path.extension().is_some_and(|suffix| suffix == "pdf") {
            true => "a.pdf",
            false => "a.eml",
        };
        let expected = unconfined(&bytes, name);
        if expected.is_ok() {
            read += 1
        } else {
            refused += 1
        }
        assert_eq!(confined(&bytes, name), Ok(expected), "{}", path.display());
    }
    assert!(read >= 70 && refused >= 5, "{read} read, {refused} refused of {}", paths.len());
}
