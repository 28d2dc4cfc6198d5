//! Inputs on the command line: `k=v`, `k:=json`, `k=@file`, `-`, a path, or a pattern of paths.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use passable::{ExactJsonError, read_exact_json, visible_line};
use rustix::event::{PollFd, PollFlags};
use serde_json::{Map, Value};

use super::directory;
use super::exclusion::Exclusion;
use config::machine::{absolute, expand_home};
use control::exit::{Exit, Failure};
use control::protocol::Document;

/// The maximum size of standard input and of a file in `k=@file`, in bytes.
pub const MAX_INPUT_BYTES: u64 = 10 << 20;

/// The inputs of a run, sorted by their form.
#[derive(Debug, Default, PartialEq)]
pub struct Inputs {
    /// The named inputs.
    pub values: Map<String, Value>,
    /// The files from which named inputs were read. Each entry has `@` with the path as it was given, and the hash of
    /// the content.
    pub read_from: Vec<(String, kernel::BlobHash)>,
    /// The documents, in the order given; those of a directory by name.
    pub documents: Vec<Document>,
    /// The notes for the person about the inputs.
    pub notes: Vec<String>,
}

/// Sorts the inputs by their form. An input that exists as a path is a document, even if it looks like another form.
///
/// # Errors
/// When an input has none of the forms, or cannot be read.
pub fn read_inputs(inputs: &[String]) -> Result<Inputs, Failure> {
    read(inputs, InputMode::Documents)
}

/// Sorts the inputs of a batch by their form. A file that cannot be read becomes an item that fails, so that the other
/// items are worked on. `exclude` has patterns of the files that are left out.
///
/// # Errors
/// When an input has none of the forms, or no file is left.
pub fn read_batch_inputs(inputs: &[String], exclude: &[String]) -> Result<Inputs, Failure> {
    let exclusion = Exclusion::read(exclude)?;
    let mut gathered = read(inputs, InputMode::Items)?;
    let count = gathered.documents.len();
    let mut seen = BTreeSet::new();
    gathered.documents.retain(|document| match document {
        // A file that is named twice is one item.
        Document::File { path, .. } => !exclusion.covers(path) && seen.insert(path.clone()),
        Document::Unnameable { name, .. } => !exclusion.covers(name),
        Document::Text { .. } | Document::Content { .. } | Document::Uploaded { .. } => true,
    });
    let note = |pattern| format!("`--exclude {}` leaves out no file", visible_line(pattern));
    gathered.notes.extend(exclusion.unused().map(note));
    if count > 0 && gathered.documents.is_empty() {
        return Err(Failure::new(
            Exit::NotFound,
            format!("no file is left of {count}: `--exclude` covers them all"),
        )
        .help("leave out less"));
    }
    Ok(gathered)
}

/// The use of the documents among the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputMode {
    /// One run gets them all. One that cannot be read stops the command.
    Documents,
    /// Each is an item of a batch. One that cannot be read is an item that fails.
    Items,
}

impl InputMode {
    /// Returns whether an entry of a directory is a document. Directories never are. In a batch everything else is
    /// one, and what cannot be read says so.
    pub(super) fn takes(self, path: &Path) -> bool {
        match self {
            InputMode::Documents => std::fs::metadata(path).is_ok_and(|meta| meta.is_file()),
            InputMode::Items => match std::fs::metadata(path) {
                Ok(meta) => !meta.is_dir(),
                // A link that leads nowhere is there.
                Err(_) => std::fs::symlink_metadata(path).is_ok(),
            },
        }
    }
}

fn read(inputs: &[String], mode: InputMode) -> Result<Inputs, Failure> {
    let mut gathered = Inputs::default();
    let mut missing = Vec::new();
    for text in inputs {
        let text: &str = &expand_home(text);
        if text == "-" {
            gathered.documents.push(content_document("stdin", stdin_bytes()?));
        } else if let Ok(meta) = std::fs::metadata(text) {
            if meta.is_dir() {
                let listed = directory::files_of(text, mode)?;
                gathered.documents.extend(listed.files);
                gathered.notes.extend(listed.note);
            } else {
                gathered.documents.push(document(text, &meta)?);
            }
        } else if !is_named(text) && super::globs::is_pattern(text) {
            gathered.documents.extend(super::globs::files(text, mode)?);
        } else if mode == InputMode::Items && !is_named(text) {
            missing.push(text.to_owned());
        } else {
            let (name, value) = read_named(text)?;
            let value = match value {
                NamedInput::Typed(value) => value,
                NamedInput::Read { path, text } => {
                    gathered.read_from.push((format!("@{path}"), kernel::BlobHash::of(text.as_bytes())));
                    Value::String(text)
                }
            };
            if gathered.values.insert(name.clone(), value).is_some() {
                return Err(Failure::new(Exit::Usage, format!("the input `{name}` is given twice"))
                    .help("give it once"));
            }
        }
    }
    // A file that is gone by now is one failed item. If there is nothing else, the command is wrong.
    if let (Some(first), true) = (missing.first(), gathered.documents.is_empty()) {
        read_named(first)?;
    }
    for path in missing {
        gathered.documents.push(Document::file(absolute(&path)?));
    }
    Ok(gathered)
}

/// The directories whose files mean something else in every process.
const PROCESS_DIRECTORIES: [&str; 4] = ["/proc/", "/dev/fd/", "/dev/std", "/dev/tty"];

/// Returns the document at a path. The daemon reads a plain file itself. This process reads a file that only it can
/// open, such as a pipe or one of its own open files.
fn document(path: &str, meta: &Metadata) -> Result<Document, Failure> {
    let full = absolute(path)?;
    if !PROCESS_DIRECTORIES.iter().any(|dir| full.starts_with(dir)) && meta.is_file() {
        return Ok(Document::file(full));
    }
    // A plain file behind standard input has a place, a name and a suffix of its own.
    let real = std::fs::canonicalize(path).ok().filter(|real| is_same_file(real, meta));
    if let (Some(real), true) = (real.as_deref().and_then(Path::to_str), meta.is_file()) {
        return Ok(Document::file(real));
    }
    let is_own = PROCESS_DIRECTORIES.iter().any(|dir| full.starts_with(dir));
    if !is_own && !meta.is_file() {
        let shown = visible_line(path);
        if !meta.file_type().is_fifo() {
            return Err(Failure::new(Exit::Invalid, format!("{shown} is not a file"))
                .help("name a file, or pass the text as `-`"));
        }
        let name = full.rsplit('/').next().unwrap_or_default();
        return Ok(content_document(name, read_named_pipe(path)?));
    }
    let name = match full.rsplit('/').next().unwrap_or_default() {
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("pipe{number}"),
        name => name.to_owned(),
    };
    Ok(content_document(&name, read_bytes(path)?))
}

/// The time that a named pipe without a writer is waited for.
const WRITER_TIMEOUT: Duration = Duration::from_secs(5);

/// The interval at which a named pipe without a writer is looked at again.
const WRITER_INTERVAL: Duration = Duration::from_millis(50);

/// Returns the content of a named pipe. An ordinary opening would wait for ever if nobody writes to it.
fn read_named_pipe(path: &str) -> Result<Vec<u8>, Failure> {
    let shown = visible_line(path);
    let fail = |e: std::io::Error| Failure::of_file("read", path, e);
    let mut pipe = caps::found_file::open_named(Path::new(path)).map_err(fail)?;
    let begun = Instant::now();
    let (mut bytes, mut has_writer, mut buffer) = (Vec::new(), false, vec![0; 1 << 16]);
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) if has_writer => return Ok(bytes),
            Ok(0) if begun.elapsed() > WRITER_TIMEOUT => {
                let message = format!("{shown} is not a file, but a pipe to which nobody writes");
                return Err(Failure::new(Exit::Invalid, message)
                    .help("start the program that writes to it, or pass the text as `-`"));
            }
            Ok(0) => std::thread::sleep(WRITER_INTERVAL),
            Ok(count) => {
                has_writer = true;
                bytes.extend(buffer.iter().take(count));
                if bytes.len() as u64 > MAX_INPUT_BYTES {
                    return Err(too_large(&shown));
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                has_writer = true;
                let mut ends = [PollFd::new(&pipe, PollFlags::IN)];
                rustix::event::poll(&mut ends, None).map_err(|e| fail(e.into()))?;
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(fail(e)),
        }
    }
}

fn too_large(shown: &str) -> Failure {
    Failure::new(Exit::Invalid, format!("{shown} is larger than {} MiB", MAX_INPUT_BYTES >> 20))
        .help("give only the part that is needed")
}

fn is_same_file(path: &Path, meta: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let is_process_file =
        path.to_str().is_some_and(|path| path.starts_with("/proc/") || path.starts_with("/dev/"));
    !is_process_file
        && std::fs::metadata(path).is_ok_and(|it| (it.dev(), it.ino()) == (meta.dev(), meta.ino()))
}

/// Returns a document of these bytes. Bytes that are no text get the suffix of their format, if it is a known one.
pub fn content_document(name: &str, bytes: Vec<u8>) -> Document {
    const FORMATS: [(&[u8], &str); 4] =
        [(b"%PDF-", ".pdf"), (b"\x89PNG", ".png"), (b"\xFF\xD8\xFF", ".jpg"), (b"GIF8", ".gif")];
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Document::Text { name: name.to_owned(), text },
        Err(e) => e.into_bytes(),
    };
    let format = FORMATS.iter().find(|(start, _)| bytes.starts_with(start));
    let suffix = format.map_or("", |(_, suffix)| suffix);
    let suffix = if name.ends_with(suffix) { "" } else { suffix };
    Document::Content { name: format!("{name}{suffix}"), base64: passable::to_base64(&bytes) }
}

/// Returns the documents with the bytes of files in the place of their paths, for a daemon that sees other files.
///
/// # Errors
/// When a file cannot be read, or is too large.
pub fn with_contents(documents: Vec<Document>) -> Result<Vec<Document>, Failure> {
    let content = |document| match document {
        Document::File { path, within } => {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            let bytes = match within {
                Some(within) => read_found(&within, &path)?,
                None => read_bytes(&path)?,
            };
            Ok(Document::Content { name, base64: passable::to_base64(&bytes) })
        }
        other => Ok(other),
    };
    documents.into_iter().map(content).collect()
}

/// The value of a named input, as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedText<'a> {
    /// `k=v`
    Text(&'a str),
    /// `k:=json`
    Json(&'a str),
}

/// Splits `k=v` or `k:=json` into the name and the value. Returns `None` if the text has neither form.
pub fn split_named(text: &str) -> Option<(&str, NamedText<'_>)> {
    match (text.split_once(":="), text.split_once('=')) {
        (Some((name, value)), Some((other, _))) if name.len() < other.len() => {
            Some((name, NamedText::Json(value)))
        }
        (_, Some((name, value))) => Some((name, NamedText::Text(value))),
        _ => None,
    }
}

/// The value of a named input.
enum NamedInput {
    /// The value stands on the command line.
    Typed(Value),
    /// The value was read from a file, so its author is not known.
    Read { path: String, text: String },
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// Returns whether a text has the form of a named input.
fn is_named(text: &str) -> bool {
    split_named(text).is_some_and(|(name, _)| is_name(name))
}

fn read_named(text: &str) -> Result<(String, NamedInput), Failure> {
    let (name, value, json) = match split_named(text) {
        Some((name, NamedText::Json(value))) => (name, value, true),
        Some((name, NamedText::Text(value))) => (name, value, false),
        None => {
            return Err(Failure::new(Exit::NotFound, format!("there is no file `{text}`"))
                .help("an input is a path, `k=v`, `k:=json`, `k=@file`, or `-` for standard input"));
        }
    };
    if !is_name(name) {
        let failure = Failure::new(Exit::NotFound, format!("`{text}` is neither a file nor a named input"));
        return Err(failure.help("a named input is `k=v`, `k:=json` or `k=@file`"));
    }
    let value = if json {
        NamedInput::Typed(read_json(name, value)?)
    } else if let Some(path) = value.strip_prefix('@') {
        NamedInput::Read { path: path.to_owned(), text: read_text(path)? }
    } else {
        NamedInput::Typed(Value::String(value.to_owned()))
    };
    Ok((name.to_owned(), value))
}

/// Reads the JSON behind `NAME:=`.
///
/// # Errors
/// When the text is not JSON, or a number or a name in it would be lost.
pub fn read_json(name: &str, text: &str) -> Result<Value, Failure> {
    read_exact_json(text).map_err(|error| {
        let help = match &error {
            ExactJsonError::LostDigits { number, .. } => {
                format!("write it as text to keep each digit: `{name}={number}`")
            }
            ExactJsonError::DuplicateName(_) => "write each name once".to_owned(),
            _ => "after `:=` stands JSON; for plain text write `=`".to_owned(),
        };
        Failure::new(Exit::Usage, format!("cannot read `{name}`: {error}")).help(help)
    })
}

/// Returns the content of a file as text.
///
/// # Errors
/// When the file cannot be read, is too large, or is not UTF-8 text.
pub fn read_text(path: &str) -> Result<String, Failure> {
    String::from_utf8(read_bytes(path)?).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Failure::new(Exit::Invalid, format!("{} is not UTF-8 text (byte {at})", visible_line(path)))
            .help("save it in UTF-8; a PDF or a mail goes in as a document: its path alone")
    })
}

/// Returns the content of a file that was found below a directory.
fn read_found(within: &str, path: &str) -> Result<Vec<u8>, Failure> {
    let shown = visible_line(path);
    let found = caps::found_file::open(Path::new(within), Path::new(path)).map_err(|e| {
        Failure::new(Exit::Invalid, format!("cannot read {shown}: {e}"))
            .help("name the file itself, if you mean it")
    })?;
    let fail = |e: std::io::Error| Failure::of_file("read", path, e);
    let mut bytes = Vec::new();
    found.file.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_INPUT_BYTES { Err(too_large(&shown)) } else { Ok(bytes) }
}

/// Returns the content of a file or a pipe.
fn read_bytes(path: &str) -> Result<Vec<u8>, Failure> {
    let path: &str = &expand_home(path);
    let shown = visible_line(path);
    let fail = |e: std::io::Error| {
        let is_directory = e.kind() == std::io::ErrorKind::IsADirectory;
        let failure = Failure::of_file("read", path, e);
        if is_directory { Failure { exit: Exit::Usage, ..failure } } else { failure }
    };
    let large = || too_large(&shown);
    let file = std::fs::File::open(path).map_err(fail)?;
    if file.metadata().map_err(fail)?.len() > MAX_INPUT_BYTES {
        return Err(large());
    }
    let mut bytes = Vec::new();
    file.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_INPUT_BYTES { Err(large()) } else { Ok(bytes) }
}

/// Returns all of standard input as text.
///
/// # Errors
/// When standard input cannot be read, is too long, or is not UTF-8 text.
pub fn stdin() -> Result<String, Failure> {
    String::from_utf8(stdin_bytes()?).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Failure::new(Exit::Invalid, format!("standard input is not UTF-8 text (byte {at})"))
            .help("send it in UTF-8")
    })
}

/// Returns all of standard input.
fn stdin_bytes() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MAX_INPUT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::new(Exit::Failure, format!("cannot read standard input: {e}")))?;
    check_stdin(&bytes)?;
    Ok(bytes)
}

/// Checks the size of standard input.
///
/// # Errors
/// When it is too long.
pub fn check_stdin(bytes: &[u8]) -> Result<(), Failure> {
    if bytes.len() as u64 <= MAX_INPUT_BYTES {
        return Ok(());
    }
    let message = format!("standard input is longer than {} MiB", MAX_INPUT_BYTES >> 20);
    Err(Failure::new(Exit::Invalid, message).help("write it to a file, and name that"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(inputs: &[&str]) -> Result<Value, Exit> {
        let inputs: Vec<String> = inputs.iter().map(|s| (*s).to_owned()).collect();
        read_inputs(&inputs).map(|i| Value::Object(i.values)).map_err(|f| f.exit)
    }

    #[test]
    fn named_inputs_are_parsed_as_text_or_json() {
        let check = |inputs: &[&str], expected: &str| {
            assert_eq!(values(inputs).map(|v| v.to_string()), Ok(expected.to_owned()), "{inputs:?}");
        };
        check(&["k=v"], r#"{"k":"v"}"#);
        check(&["k:=3", "t=3"], r#"{"k":3,"t":"3"}"#);
        check(&["k:=[1,\"a=b\"]"], r#"{"k":[1,"a=b"]}"#);
        check(&["k=a:=b"], r#"{"k":"a:=b"}"#);
        check(&["k="], r#"{"k":""}"#);
    }

    #[test]
    fn input_from_a_file_records_its_source_and_hash() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a=@b.txt");
        std::fs::write(&file, "theirs").unwrap();
        let path = file.to_str().unwrap();
        let read = |input: &str| read_inputs(&[input.to_owned()]).unwrap().read_from;
        let hash = kernel::BlobHash::of(b"theirs");
        assert_eq!(read(&format!("k=@{path}")), [(format!("@{path}"), hash)]);
        // Text that only looks like a file reference counts as typed.
        assert_eq!(read("k=v=@file"), []);
        assert_eq!(read(r#"k:="x=@file""#), []);
        assert_eq!(read("k= @file"), []);
    }

    #[test]
    fn file_that_only_this_process_can_open_is_read_here() {
        use std::io::{Seek as _, Write as _};
        use std::os::fd::AsRawFd as _;
        let read = |word: &str| read_inputs(&[word.to_owned()]).unwrap().documents.remove(0);
        // A process substitution is a pipe under `/dev/fd` (pantsbuild/pants#5385, subethaedit/SubEthaEdit#224).
        for (bytes, suffix) in [(&b"x\n"[..], ""), (b"%PDF-1.4 \xff", ".pdf"), (b"\xff\xfe", "")] {
            let (reader, mut writer) = std::io::pipe().unwrap();
            writer.write_all(bytes).unwrap();
            drop(writer);
            let number = reader.as_raw_fd();
            let name = format!("pipe{number}{suffix}");
            let expected = match std::str::from_utf8(bytes) {
                Ok(text) => Document::Text { name, text: text.to_owned() },
                Err(_) => Document::Content { name, base64: passable::to_base64(bytes) },
            };
            assert_eq!(read(&format!("/dev/fd/{number}")), expected);
        }
        // An open file has a place of its own, unless it was removed.
        let dir = tempfile::tempdir().unwrap();
        let path = std::fs::canonicalize(dir.path()).unwrap().join("letter.eml");
        let mut file =
            std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
        file.write_all(b"hello").unwrap();
        file.rewind().unwrap();
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert_eq!(read(&open), Document::file(path.to_str().unwrap()));
        std::fs::remove_file(&path).unwrap();
        let gone = Document::Text { name: format!("pipe{}", file.as_raw_fd()), text: "hello".to_owned() };
        assert_eq!(read(&open), gone);
        // A named pipe keeps its name.
        let fifo = dir.path().join("orders");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        let writer = {
            let fifo = fifo.clone();
            std::thread::spawn(move || std::fs::write(fifo, "three").unwrap())
        };
        let named = Document::Text { name: "orders".to_owned(), text: "three".to_owned() };
        assert_eq!(read(fifo.to_str().unwrap()), named);
        writer.join().unwrap();
    }

    #[test]
    fn documents_can_carry_their_contents() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        std::fs::write(&path, "abc").unwrap();
        let path = path.to_str().unwrap().to_owned();
        let content = Document::Content { name: "a.txt".to_owned(), base64: "YWJj".to_owned() };
        let text = Document::Text { name: "stdin".to_owned(), text: "x".to_owned() };
        let all = vec![Document::file(path), text.clone()];
        assert_eq!(with_contents(all).unwrap(), [content, text]);
        let missing = vec![Document::file("/no/such/file")];
        assert_eq!(with_contents(missing).unwrap_err().exit, Exit::NotFound);
    }

    #[test]
    fn invalid_input_is_refused() {
        assert_eq!(values(&["no-such-file.pdf"]), Err(Exit::NotFound));
        assert_eq!(values(&["k:=nonsense"]), Err(Exit::Usage));
        assert_eq!(values(&["k=1", "k=2"]), Err(Exit::Usage));
        assert_eq!(values(&["k=@/no/such/file"]), Err(Exit::NotFound));
        assert_eq!(values(&["a/b=c"]), Err(Exit::NotFound));
    }
}
