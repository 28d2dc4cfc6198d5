//! Attached files: the browser uploads them to the daemon first, and the next message then attaches them.

use control::exit::{Exit, Failure};
use control::protocol::Document;
use kernel::BlobHash;
use maud::{Markup, html};
use passable::Untrusted;

use crate::page::parts;
use crate::page_request::PageRequest;
use crate::pages::start::folder_chooser::is_fresh;
use crate::serve::MAX_UPLOAD_SIZE;

/// The name of a file without a name.
const NAMELESS: &str = "file";

/// A file that was uploaded to the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadedFile {
    /// The file name that the browser sent, which is foreign text.
    pub name: String,
    /// The hash of the file's content.
    pub hash: BlobHash,
    /// The size of the file, in bytes.
    pub bytes: usize,
}

impl UploadedFile {
    /// Returns the text by which a form names the file: hash, size and name.
    pub fn written(&self) -> String {
        format!("{} {} {}", self.hash, self.bytes, self.name)
    }

    /// Parses the text by which a form names a file.
    pub fn read(text: &str) -> Option<UploadedFile> {
        let mut words = text.splitn(3, ' ');
        let (hash, bytes) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(UploadedFile { name: words.next()?.to_owned(), hash, bytes })
    }
}

/// Returns the files of a form. Files that were uploaded before are kept if they are still marked, and new files are
/// uploaded now.
///
/// # Errors
/// When a file cannot be stored. The files before it are stored then.
pub fn upload_files(asked: &PageRequest) -> Result<Vec<UploadedFile>, Failure> {
    let mut all = before(asked);
    for file in asked.files.iter().filter(|file| file.field == "file") {
        // If no file was chosen, a form sends one file without a name and without content.
        if file.name.is_empty() && file.bytes.is_empty() {
            continue;
        }
        let hash = asked.site.backend.bring(&file.bytes)?;
        let name = if file.name.is_empty() { NAMELESS.to_owned() } else { file.name.clone() };
        let kept = UploadedFile { name, hash, bytes: file.bytes.len() };
        if !all.contains(&kept) {
            all.push(kept);
        }
    }
    Ok(all)
}

/// Returns the files that a form names as uploaded before.
pub fn before(asked: &PageRequest) -> Vec<UploadedFile> {
    let named = asked.body.iter().filter(|(name, _)| name == "kept");
    named.filter_map(|(_, text)| UploadedFile::read(text)).collect()
}

/// Returns all documents that a form names: uploaded files, and paths on this machine.
///
/// # Errors
/// When a path does not begin at the root, because a browser has no working directory.
pub fn documents(asked: &PageRequest, kept: &[UploadedFile]) -> Result<Vec<Document>, Failure> {
    let paths = asked.filled("documents").unwrap_or("").lines().map(str::trim);
    let paths: Vec<&str> = paths.filter(|path| !path.is_empty()).collect();
    if let Some(relative) = paths.iter().find(|path| !path.starts_with('/')) {
        return Err(Failure::new(Exit::Invalid, format!("{relative} does not begin at the root"))
            .help("write the whole path, beginning with /"));
    }
    let files = kept.iter().map(|one| Document::Uploaded { name: one.name.clone(), hash: one.hash });
    Ok(files.chain(paths.into_iter().map(Document::file)).collect())
}

/// Returns the part of a form that lists the uploaded files, with their error.
pub fn list(kept: &[UploadedFile], wrong: Option<&Failure>) -> Markup {
    html! {
        div #attached {
            @for one in kept {
                label.choice {
                    input type="checkbox" name="kept" value=(one.written()) checked;
                    span { (parts::line(&Untrusted::new(one.name.as_str()))) " " span.note { (one.bytes) " bytes" } }
                }
            }
            (parts::wrong("attached-error", wrong))
        }
    }
}

/// Returns the fields for documents.
pub fn fields(asked: &PageRequest, kept: &[UploadedFile], wrong: Option<&Failure>) -> Markup {
    let is_wrong = wrong.map(|_| "true");
    html! {
        fieldset {
            legend { "Documents that it may read" }
            (list(kept, wrong))
            label for="file" { "Files from here; at most " (MAX_UPLOAD_SIZE >> 20) " MiB at once, or drop them on this page" }
            input #file type="file" name="file" multiple data-bring=(MAX_UPLOAD_SIZE) aria-describedby="attached-error"
                aria-invalid=[is_wrong];
            label for="documents" { "Or paths of this machine, one in a line, each beginning with /" }
            textarea #documents name="documents" rows="2" spellcheck="false" aria-describedby="attached-error"
                aria-invalid=[is_wrong] data-fresh[is_fresh(asked, "documents")] { (asked.field("documents").unwrap_or("")) }
        }
    }
}

/// Returns the button that uploads the files without sending a message.
pub fn button() -> Markup {
    html! { button name="do" value="attach" formnovalidate { "Only bring the files" } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uploaded_file_is_read_back_from_its_form_text() {
        let hash = BlobHash::of(b"x");
        for name in ["a.txt", "a b  c.txt", " ", "<b>\u{202e}"] {
            let kept = UploadedFile { name: name.to_owned(), hash, bytes: 1 };
            assert_eq!(UploadedFile::read(&kept.written()), Some(kept));
        }
        for wrong in ["", "x 1 a", &format!("{hash} x a"), &format!("{hash} 1")] {
            assert_eq!(UploadedFile::read(wrong), None, "{wrong}");
        }
    }
}
