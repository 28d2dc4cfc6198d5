//! Inputs on the command line: `k=v`, `k:=json`, `k=@file`, `-`, a path, or a pattern of paths.

use std::io::Read as _;
use std::path::Path;

use serde_json::{Map, Value};

use config::machine::absolute;
use control::exit::{Exit, Failure};
use control::protocol::Document;

/// The maximum size of standard input and of a file in `k=@file`, in bytes.
const MAX_INPUT_BYTES: u64 = 10 << 20;

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
}

/// Sorts the inputs by their form. An input that exists as a path is a document, even if it looks like another form.
///
/// # Errors
/// When an input has none of the forms, or cannot be read.
pub fn read_inputs(inputs: &[String]) -> Result<Inputs, Failure> {
    let mut gathered = Inputs::default();
    for text in inputs {
        if text == "-" {
            gathered.documents.push(Document::Text { name: "stdin".to_owned(), text: stdin()? });
        } else if let Ok(meta) = std::fs::metadata(text) {
            if meta.is_dir() {
                gathered.documents.extend(files_of(text)?);
            } else {
                gathered.documents.push(Document::File { path: absolute(text)? });
            }
        } else if !is_named(text) && super::globs::is_pattern(text) {
            gathered.documents.extend(super::globs::files(text)?);
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
    Ok(gathered)
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
        NamedInput::Typed(serde_json::from_str(value).map_err(|e| {
            Failure::new(Exit::Usage, format!("{name}: this is not JSON: {e}"))
                .help("after `:=` stands JSON; for plain text write `=`")
        })?)
    } else if let Some(path) = value.strip_prefix('@') {
        NamedInput::Read { path: path.to_owned(), text: read_text(path)? }
    } else {
        NamedInput::Typed(Value::String(value.to_owned()))
    };
    Ok((name.to_owned(), value))
}

/// Returns the content of a file as text.
///
/// # Errors
/// When the file cannot be read, is too large, or is not UTF-8 text.
pub fn read_text(path: &str) -> Result<String, Failure> {
    let fail = |e: std::io::Error| {
        let exit = match e.kind() {
            std::io::ErrorKind::NotFound => Exit::NotFound,
            std::io::ErrorKind::IsADirectory => Exit::Usage,
            _ => Exit::Failure,
        };
        Failure::new(exit, format!("{path}: {e}")).help("check the path and its permissions")
    };
    let large = || {
        Failure::new(Exit::Invalid, format!("{path} is larger than {} MiB", MAX_INPUT_BYTES >> 20))
            .help("give only the part that is needed")
    };
    let file = std::fs::File::open(path).map_err(fail)?;
    if file.metadata().map_err(fail)?.len() > MAX_INPUT_BYTES {
        return Err(large());
    }
    let mut bytes = Vec::new();
    file.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        return Err(large());
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Failure::new(Exit::Invalid, format!("{path} is not UTF-8 text (byte {at})"))
            .help("save it in UTF-8; a PDF or a mail goes in as a document: its path alone")
    })
}

/// Returns all of standard input as text.
///
/// # Errors
/// When standard input cannot be read, is too long, or is not UTF-8 text.
pub fn stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MAX_INPUT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::new(Exit::Failure, format!("standard input: {e}")))?;
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        return Err(Failure::new(
            Exit::Invalid,
            format!("standard input is longer than {} MiB", MAX_INPUT_BYTES >> 20),
        )
        .help("write it to a file, and name that"));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Failure::new(Exit::Invalid, format!("standard input is not UTF-8 text (byte {at})"))
            .help("send it in UTF-8; a PDF goes into a file, and its path in the place of `-`")
    })
}

/// Returns the files of a directory, sorted by name. Hidden files and directories are left out.
fn files_of(dir: &str) -> Result<Vec<Document>, Failure> {
    let fail = |e: std::io::Error| Failure::new(Exit::Failure, format!("{dir}: {e}"));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let is_file = std::fs::metadata(entry.path()).is_ok_and(|meta| meta.is_file());
        if !hidden && is_file {
            let name = entry.file_name().into_string().map_err(|name| {
                Failure::new(Exit::Invalid, format!("{dir}: the name {name:?} is not UTF-8 text"))
            })?;
            names.push(name);
        }
    }
    names.sort();
    if names.is_empty() {
        return Err(Failure::new(Exit::NotFound, format!("there are no files in {dir}"))
            .help("name a directory that holds the documents, or the documents"));
    }
    names
        .into_iter()
        .map(|name| Ok(Document::File { path: absolute(&Path::new(dir).join(name).to_string_lossy())? }))
        .collect()
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
    fn invalid_input_is_refused() {
        assert_eq!(values(&["no-such-file.pdf"]), Err(Exit::NotFound));
        assert_eq!(values(&["k:=nonsense"]), Err(Exit::Usage));
        assert_eq!(values(&["k=1", "k=2"]), Err(Exit::Usage));
        assert_eq!(values(&["k=@/no/such/file"]), Err(Exit::NotFound));
        assert_eq!(values(&["a/b=c"]), Err(Exit::NotFound));
    }
}
