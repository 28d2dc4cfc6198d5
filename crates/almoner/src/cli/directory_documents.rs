//! The documents of a small directory, which go to a model at once. A larger directory is only handed over as a slot.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use config::machine::absolute;
use control::exit::{Exit, Failure};
use control::protocol::Document;
use daemon::processes::document_reader::ReadText;
use policy::protected::{ProtectionReason, protected};

/// The maximum number of entries that are looked at.
const MAX_ENTRIES: usize = 1000;

/// The maximum number of documents.
const MAX_DOCUMENTS: usize = 20;

/// The maximum size of one file in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The maximum size of the text of all documents together, in bytes.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// Returns the arguments that name directories, and all others.
pub fn split_directories(arguments: &[String]) -> (Vec<String>, Vec<String>) {
    arguments.iter().cloned().partition(|text| fs::metadata(text).is_ok_and(|meta| meta.is_dir()))
}

/// Returns the documents in a directory and below it, sorted by path, or none if they are too many or too large. Hidden
/// files, files that hold keys, links, and files without readable text are left out: the model can still see their names.
/// `read` gives the text of a document.
///
/// # Errors
/// When the directory cannot be read, or has no entry.
pub fn directory_documents(directory: &str, read: ReadText<'_>) -> Result<Vec<Document>, Failure> {
    let entries = fs::read_dir(directory).and_then(|mut entries| entries.next().transpose());
    match entries {
        Ok(Some(_)) => {}
        Ok(None) => {
            return Err(Failure::new(Exit::NotFound, format!("there are no files in {directory}"))
                .help("name a directory that holds the documents, or the documents"));
        }
        Err(error) => {
            return Err(Failure::of_file("read", directory, error));
        }
    }
    let Some(files) = files(Path::new(directory)) else { return Ok(Vec::new()) };
    let (mut documents, mut left) = (Vec::new(), MAX_TEXT_BYTES);
    for path in files {
        let Some((path, text)) = path.to_str().and_then(|path| Some((path, text(path, read)?))) else {
            continue;
        };
        match left.checked_sub(text) {
            Some(rest) if documents.len() < MAX_DOCUMENTS => left = rest,
            _ => return Ok(Vec::new()),
        }
        documents.push(Document::File { path: absolute(path)?, within: Some(absolute(directory)?) });
    }
    Ok(documents)
}

/// Returns the plain files below a directory, sorted by path, or `None` if there are too many entries.
fn files(directory: &Path) -> Option<Vec<PathBuf>> {
    let (mut ways, mut files, mut seen) = (vec![directory.to_owned()], Vec::new(), 0);
    while let Some(way) = ways.pop() {
        // A directory below that cannot be read is left out: the model learns of it when it looks.
        for entry in fs::read_dir(&way).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MAX_ENTRIES {
                return None;
            }
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !is_hidden => ways.push(entry.path()),
                Ok(kind) if kind.is_file() && !is_hidden => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    Some(files)
}

/// Returns the size of the text of a file, or `None` if the file is no document, or holds keys by its name or content.
fn text(path: &str, read: ReadText<'_>) -> Option<usize> {
    let real = fs::canonicalize(path).ok()?;
    let is_of_keys = |path: &str| protected(path) == Some(ProtectionReason::Keys);
    if is_of_keys(path) || is_of_keys(real.to_str()?) {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return None;
    }
    let text = read(&bytes, path, &document::Limits::default()).ok()?.text;
    policy::secrets::key_in(text.as_bytes()).is_none().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_directory_gives_its_readable_documents() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path();
        fs::create_dir_all(root.join("sub/deep")).unwrap();
        fs::create_dir_all(root.join(".hidden")).unwrap();
        for (path, bytes) in [
            ("a.md", &b"one"[..]),
            ("sub/deep/b.txt", b"two"),
            (".env", b"KEY=1"),
            ("server.key", b"key"),
            ("passwords.txt", b"swordfish"),
            ("log.txt", b"t=ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
            (".hidden/c.txt", b"three"),
            ("image.bin", b"\0\xff"),
        ] {
            fs::write(root.join(path), bytes).unwrap();
        }
        let read =
            |bytes: &[u8], name: &str, limits: &document::Limits| Ok(document::text(bytes, name, limits)?);
        let names = || -> Vec<String> {
            let documents = directory_documents(root.to_str().unwrap(), &read).unwrap();
            let path = |document: Document| match document {
                Document::File { path, .. } => path.rsplit('/').next().unwrap().to_owned(),
                other => panic!("{other:?}"),
            };
            documents.into_iter().map(path).collect()
        };
        assert_eq!(names(), ["a.md", "b.txt"]);
        // All or nothing: a part of the documents would look like all of them.
        fs::write(root.join("long.txt"), "x".repeat(MAX_TEXT_BYTES)).unwrap();
        assert!(names().is_empty());
        fs::remove_file(root.join("long.txt")).unwrap();
        for at in 0..MAX_DOCUMENTS {
            fs::write(root.join(format!("{at}.txt")), "x").unwrap();
        }
        assert!(names().is_empty());
        let empty = tempfile::tempdir().unwrap();
        let refused = directory_documents(empty.path().to_str().unwrap(), &read).unwrap_err();
        assert_eq!(refused.exit, Exit::NotFound);
    }
}
