//! The documents that a person gives to a run. They are checked against the limits of the worker before anything is
//! recorded.

use std::collections::BTreeSet;
use std::path::Path;

use caps::found_file::{self, FoundFile, FoundFileError};
use kernel::BlobHash;
use kernel::run::{Attachment, Rejection, Trouble};
use passable::{Untrusted, visible_line};
use policy::protected::protected;
use worker::definition::Definition;

use super::native_documents;
use crate::state::daemon::HostDaemon;
use crate::state::errors::DaemonError;
use control::exit::{Exit, Failure};
use control::protocol::{Document, StartShape, StartSpec};

/// The maximum size of a document in bytes, whatever the worker file allows. The file may come from anyone, and
/// documents are held in memory.
const MAX_DOCUMENT_BYTES: u64 = 64 << 20;

/// A name that a worker takes if it takes mails.
const MAIL_NAME: &str = "mail.eml";

/// The name of the worker behind `almoner ask`, which has no file.
const ASK: &str = "ask";

/// Checks whether the worker takes this many documents.
///
/// # Errors
/// When there are too many documents, or none for `--each`.
pub fn check_count(definition: &Definition, spec: &StartSpec) -> Result<(), Failure> {
    let (count, most) = (spec.documents.len(), definition.attachments.max as usize);
    if matches!(spec.shape, StartShape::Each { .. }) {
        if count == 0 && spec.retry.is_none() {
            return Err(Failure::new(Exit::Usage, "cannot begin a batch: `--each` needs documents")
                .help("name a directory or files after the worker"));
        }
        return Ok(());
    }
    if count > most {
        return Err(too_many(definition, count).help("`--each` gives every document a run of its own"));
    }
    Ok(())
}

fn too_many(definition: &Definition, count: usize) -> Failure {
    let most = definition.attachments.max;
    Failure::new(Exit::Invalid, format!("`{}` takes at most {most} documents, not {count}", definition.name))
}

/// Checks whether a conversation takes these documents in addition to those that it has.
///
/// # Errors
/// When there are too many documents, they are too large together, or two have the same name.
pub fn check_more(definition: &Definition, has: &[Attachment], more: &[Attachment]) -> Result<(), Failure> {
    let all: Vec<Attachment> = has.iter().chain(more).cloned().collect();
    if all.len() > definition.attachments.max as usize {
        return Err(
            too_many(definition, all.len()).help("a conversation keeps what it was shown: begin another one")
        );
    }
    check_names(&all)?;
    check_bytes(definition, &all)
}

/// Checks that all documents have different names, because a run knows them by their names.
///
/// # Errors
/// When two documents have the same name.
pub fn check_names(taken: &[Attachment]) -> Result<(), Failure> {
    let mut names = BTreeSet::new();
    match taken.iter().find(|document| !names.insert(&document.name)) {
        None => Ok(()),
        Some(twice) => Err(Failure::new(
            Exit::Invalid,
            format!("two documents are called {}", visible_line(&twice.name)),
        )
        .help("rename one of them, or give each a run of its own")),
    }
}

/// Checks whether the worker takes documents of this total size.
///
/// # Errors
/// When the documents are too large together.
pub fn check_total(definition: &Definition, spec: &StartSpec, taken: &[Attachment]) -> Result<(), Failure> {
    if matches!(spec.shape, StartShape::Each { .. }) { Ok(()) } else { check_bytes(definition, taken) }
}

fn check_bytes(definition: &Definition, taken: &[Attachment]) -> Result<(), Failure> {
    let total: u64 = taken.iter().map(|a| a.bytes).sum();
    if total > definition.attachments.bytes {
        let (found, limit) = document::sizes(total, definition.attachments.bytes);
        return Err(Failure::new(
            Exit::Invalid,
            format!("the documents have {found} together, and {limit} are allowed"),
        )
        .help(raise_help(definition, total)));
    }
    Ok(())
}

/// Returns how a user raises the limit so that documents of this size are taken.
fn raise_help(definition: &Definition, total: u64) -> String {
    if total > MAX_DOCUMENT_BYTES {
        let most = document::size(MAX_DOCUMENT_BYTES);
        return format!("documents can have {most} at most: give only the part that is needed");
    }
    let enough = resource::units::typed_bytes(total.next_multiple_of(1 << 20));
    match definition.name.as_str() {
        ASK => {
            format!("`almoner ask --attachments {enough} …` takes them; or give only the part that is needed")
        }
        _ => format!(
            "write `attachments: {{ bytes: {enough} }}` into the worker file, or give only the part that is needed"
        ),
    }
}

/// Checks whether the user can converse with the worker, if the run is to be a conversation. A conversation has no
/// end at which a result could be used.
///
/// # Errors
/// When the worker works towards a result.
pub fn check_chat(definition: &Definition, spec: &StartSpec) -> Result<(), Failure> {
    if spec.shape == StartShape::Chat { expect_chat_worker(definition) } else { Ok(()) }
}

/// Checks that the user can converse with a worker.
///
/// # Errors
/// When the worker works towards a result.
pub fn expect_chat_worker(definition: &Definition) -> Result<(), Failure> {
    if definition.then.is_empty() && definition.write.is_empty() && definition.output.is_none() {
        return Ok(());
    }
    let message = format!("`{}` works towards a result: it has `output`, `then` or `write`", definition.name);
    Err(Failure::new(Exit::Invalid, message).help("`almoner run` it; a worker to talk with answers in text"))
}

/// The importer of documents for a worker.
pub struct DocumentImporter<'a> {
    daemon: &'a HostDaemon,
    definition: &'a Definition,
    limits: document::Limits,
    takes: model::MediaSupport,
    /// Whether the import is only a preview, so that nothing is stored.
    is_dry_run: bool,
}

impl DocumentImporter<'_> {
    /// Returns an importer for a worker with this model.
    pub fn new<'a>(
        daemon: &'a HostDaemon,
        definition: &'a Definition,
        model: &str,
        is_dry_run: bool,
    ) -> DocumentImporter<'a> {
        let bytes = definition.attachments.bytes.min(MAX_DOCUMENT_BYTES);
        let usual = document::Limits::default();
        let text = usize::try_from(bytes).unwrap_or(usize::MAX).max(usual.text);
        let limits = document::Limits { bytes, text, ..usual };
        DocumentImporter { daemon, definition, limits, takes: daemon.accepted_documents(model), is_dry_run }
    }

    fn put(&self, bytes: &[u8]) -> Result<BlobHash, Failure> {
        if self.is_dry_run {
            return Ok(BlobHash::of(bytes));
        }
        Ok(self.daemon.store.blobs().put(bytes).map_err(DaemonError::from)?)
    }

    /// Reads a document, checks it, and stores its bytes and its text.
    ///
    /// # Errors
    /// When the worker does not take such a document, or the document cannot be read.
    pub fn import(&self, source: &Document) -> Result<Attachment, Failure> {
        self.store(self.read(source)?)
    }

    /// Imports a document as an item of a batch. A document that cannot be read becomes an item that fails.
    ///
    /// # Errors
    /// When the store cannot keep a document.
    pub fn import_item(&self, source: &Document) -> Result<Attachment, Failure> {
        match self.read(source) {
            Ok(read) => self.store(read),
            Err(failure) => self.rejected_item(source, failure),
        }
    }

    /// Returns the item for a document that cannot be read.
    fn rejected_item(&self, source: &Document, failure: Failure) -> Result<Attachment, Failure> {
        let name = DocumentImporter::name_of(source);
        let (path, within) = match source {
            Document::File { path, within } => (Some(path.clone()), within.clone()),
            _ => (None, None),
        };
        // The item's own name stands before the message wherever the message is shown.
        let message = failure.message.raw();
        let prefixes = [Some(&name), path.as_ref()];
        let without = |prefix: &String| {
            let named = message.strip_prefix("cannot read ").unwrap_or(message);
            let rest = named.strip_prefix(&*visible_line(prefix))?;
            rest.strip_prefix(": ").or_else(|| rest.strip_prefix(' '))
        };
        let message = prefixes.into_iter().flatten().find_map(without).unwrap_or(message).to_owned();
        let trouble = Trouble {
            code: "input/document".to_owned(),
            message: Untrusted::new(message),
            help: failure.help,
        };
        let empty = self.put(b"")?;
        let rejected = Some(Box::new(Rejection { trouble, is_read: false, path, within }));
        let media_type = String::new();
        Ok(Attachment { hash: empty, text: empty, bytes: 0, name, media_type, notes: vec![], rejected })
    }

    fn store(&self, read: ReadDocument) -> Result<Attachment, Failure> {
        let ReadDocument { name, bytes, text, media_type, notes } = read;
        let (hash, text) = (self.put(&bytes)?, self.put(text.as_bytes())?);
        Ok(Attachment { hash, text, bytes: bytes.len() as u64, name, media_type, notes, rejected: None })
    }

    /// Returns the name that a document has in a run.
    pub fn name_of(source: &Document) -> String {
        match source {
            Document::File { path, .. } => file_name(path),
            Document::Text { name, .. }
            | Document::Content { name, .. }
            | Document::Uploaded { name, .. }
            | Document::Unnameable { name, .. } => name.clone(),
        }
    }

    /// Reads the bytes of a document, without a look into them.
    ///
    /// # Errors
    /// When the worker takes no such file, or the document cannot be read.
    pub fn source(&self, source: &Document) -> Result<DocumentSource, Failure> {
        let mut is_mail_by_place = false;
        let name = DocumentImporter::name_of(source);
        let bytes = match source {
            Document::Unnameable { name, why } => {
                return Err(Failure::new(
                    Exit::Invalid,
                    format!("{}: {}", visible_line(name), visible_line(why)),
                )
                .help("rename the file"));
            }
            Document::Text { text, .. } => text.clone().into_bytes(),
            Document::Content { name, base64 } => {
                if name.contains('.') {
                    self.check_suffix(name)?;
                }
                passable::from_base64(base64).map_err(|_| {
                    Failure::new(Exit::Usage, format!("{}: its bytes are not in Base64", visible_line(name)))
                })?
            }
            Document::Uploaded { name, hash } => {
                self.check_suffix(name)?;
                let gone = |e: store::BlobError| {
                    Failure::new(Exit::NotFound, format!("{}: {e}", visible_line(name)))
                        .help("bring it again")
                };
                // Only pending uploads count. Otherwise a client that knows the hash of another user's blob could get
                // it.
                if !self.daemon.uploads().pins().contains(hash) {
                    let what = format!("{}: nobody has brought this file", visible_line(name));
                    return Err(Failure::new(Exit::NotFound, what).help("bring it again"));
                }
                self.daemon.store.blobs().get(hash).map_err(gone)?
            }
            Document::File { path, within } => {
                // A mail in a mailbox has a name without a suffix, so its content decides.
                is_mail_by_place = is_in_mailbox(path) && !self.definition.attachments.takes(&name);
                self.check_suffix(if is_mail_by_place { MAIL_NAME } else { &name })?;
                self.read_file(path, within.as_deref())?
            }
        };
        self.admit(&name, bytes.len() as u64)?;
        Ok(DocumentSource { name, bytes, is_mail_by_place })
    }

    fn read(&self, source: &Document) -> Result<ReadDocument, Failure> {
        let DocumentSource { name, bytes, is_mail_by_place } = self.source(source)?;
        let read = |bytes: &[u8], name: &str, limits: &document::Limits| {
            self.daemon.documents.read(bytes, name, limits)
        };
        let read = native_documents::read_document(&read, &name, &bytes, &self.limits, self.takes)?;
        let media_type = read.media_type.to_owned();
        if is_mail_by_place && media_type != document::MediaType::Mail.as_str() {
            self.check_suffix(&name)?;
        }
        if !self.definition.attachments.takes_type(&media_type) {
            let taker = &self.definition.name;
            let what = format!("{}: this is {media_type}, and `{taker}` takes none", visible_line(&name));
            return Err(Failure::new(Exit::Invalid, what)
                .help(format!("it takes: {}", self.definition.attachments.types.join(", "))));
        }
        Ok(ReadDocument { name, bytes, text: read.text, media_type, notes: read.notes })
    }

    fn check_suffix(&self, name: &str) -> Result<(), Failure> {
        let takes = &self.definition.attachments;
        if takes.takes(name) {
            return Ok(());
        }
        let what = format!("{}: `{}` takes no such files", visible_line(name), self.definition.name);
        Err(Failure::new(Exit::Invalid, what).help(format!("it takes: {}", takes.suffixes.join(", "))))
    }

    /// Checks whether a document of this size may be read.
    fn admit(&self, name: &str, size: u64) -> Result<(), Failure> {
        let help = || raise_help(self.definition, size);
        self.limits
            .admit(size)
            .map_err(|e| Failure::new(Exit::Invalid, format!("{}: {e}", visible_line(name))).help(help()))
    }

    /// Reads a regular file. Its size is checked first. A file that was found below the directory `within` is reached
    /// from there.
    fn read_file(&self, path: &str, within: Option<&str>) -> Result<Vec<u8>, Failure> {
        use std::io::Read as _;
        // A relative path would depend on the directory in which the daemon was started.
        if !Path::new(path).is_absolute() {
            return Err(config::place::relative_path_failure(path));
        }
        let no_file = || {
            Failure::new(Exit::Invalid, format!("{} is not a file", visible_line(path)))
                .help("hand it to the command itself, which reads pipes: its path alone, or `-`")
        };
        let fail = |e: std::io::Error| {
            // A socket cannot be opened at all.
            if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
                return no_file();
            }
            Failure::of_file("read", path, e)
        };
        let file = match within {
            Some(within) => open_found(within, path)?.map_err(fail)?,
            None => found_file::open_named(Path::new(path)).map_err(fail)?,
        };
        let meta = file.metadata().map_err(fail)?;
        if !meta.is_file() {
            return Err(no_file());
        }
        self.admit(path, meta.len())?;
        let mut bytes = Vec::new();
        file.take(self.limits.bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
        self.admit(path, bytes.len() as u64)?;
        Ok(bytes)
    }
}

/// Opens a file that was found below a directory. The inner error is one of the file system.
///
/// # Errors
/// When a link leads out of the directory, or to a file whose name says that it holds keys.
fn open_found(within: &str, path: &str) -> Result<std::io::Result<std::fs::File>, Failure> {
    let shown = visible_line(path);
    let refuse = |what: String| {
        let help = "name the file itself, if you mean it; a directory stands only for the files in it";
        Err(Failure::new(Exit::Invalid, format!("{shown} {what}")).help(help))
    };
    match found_file::open(Path::new(within), Path::new(path)) {
        Ok(FoundFile { file, link_target: None }) => Ok(Ok(file)),
        Ok(FoundFile { file, link_target: Some(target) }) => match protected(&target) {
            Some(why) => refuse(format!("is a link to `{}`, and {}", visible_line(&target), why.describe())),
            None => Ok(Ok(file)),
        },
        Err(FoundFileError::LeadsOut) => {
            refuse(format!("is, or lies behind, a link that leads out of {}", visible_line(within)))
        }
        Err(FoundFileError::NoFile) => Ok(Err(std::io::ErrorKind::InvalidInput.into())),
        Err(FoundFileError::Io(error)) => Ok(Err(error)),
    }
}

/// Returns whether a file lies where programs keep mails without a suffix: in a Maildir, or as a number in a folder of
/// MH.
fn is_in_mailbox(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let (name, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    matches!(folder, "cur" | "new") || (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The bytes of a document.
#[derive(Debug)]
pub struct DocumentSource {
    /// The name of the document.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether the file lies where programs keep mails without a suffix.
    is_mail_by_place: bool,
}

/// A document that was read and checked.
struct ReadDocument {
    name: String,
    bytes: Vec<u8>,
    text: String,
    media_type: String,
    notes: Vec<String>,
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}
