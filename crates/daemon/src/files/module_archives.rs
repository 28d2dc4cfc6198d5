//! Programs of modules. A program is unpacked before it is made, and its unpacked modules are stored.
//!
//! The stored modules are the ones that run. A later start uses the same modules, even if the archive has changed, or
//! a later version of the daemon would unpack it differently.

use std::collections::BTreeMap;

use kernel::facet::{self, ModulesIn, Refusal};
use kernel::formula::{Formula, Tree};
use kernel::modules::{ModuleFormat, Modules as Kept};
use kernel::name_lookup::View;
use kernel::{BlobHash, NamePath, Value};
use passable::{Quoting, Untrusted, from_base64, visible_line};
use store::Blobs;
use vat::Modules;
use vat::archive::{self, MAP, MAX_ARCHIVE_BYTES, MAX_ENTRIES};

use super::trees;
use super::trees::{BlobSink, MAX_DEPTH};
use crate::state::daemon::HostDaemon;
use crate::state::errors::DaemonError;
use control::exit::{Exit, Failure};

/// The first bytes of stored modules.
const MAGIC: &[u8] = b"almoner modules 1\n";

/// The first bytes of ZIP files.
const ZIP_MAGIC: &[u8] = b"PK";

/// The format name in Endo's bundles.
const BUNDLE_FORMAT: &str = "endoZipBase64";

/// The maximum length of a reason that is shown in full, in bytes.
const MAX_REASON_LEN: usize = 200;

fn archive_failure(what: impl Into<Quoting>) -> Failure {
    Failure::new(Exit::Invalid, what)
}

/// Unpacks an archive.
///
/// # Errors
/// When the archive has an error.
pub fn from_archive(bytes: &[u8]) -> Result<Modules, Failure> {
    archive::unpack(bytes)
        .map_err(|e| archive_failure(e.to_string()).help("docs/modules.md says what an archive is"))
}

/// Unpacks an archive or a bundle that is stored as a blob.
///
/// # Errors
/// When the archive or bundle has an error, or its bytes are missing.
pub fn from_bytes(blobs: &Blobs, hash: &BlobHash, packed: ModuleFormat) -> Result<Modules, Failure> {
    let bytes = blobs.get(hash);
    let bytes = bytes.map_err(|e| Failure::from_error(Exit::Failure, e).help("`almoner doctor`"))?;
    match packed {
        ModuleFormat::Bundle => from_bundle(&bytes),
        ModuleFormat::Archive | ModuleFormat::Tree => from_archive(&bytes),
    }
}

/// Unpacks the program behind a name. Returns the format in which the program was packed, and its modules.
///
/// # Errors
/// When the program has an error.
pub fn from_name(
    daemon: &HostDaemon,
    view: View,
    path: &NamePath,
) -> Result<(ModuleFormat, Modules), Failure> {
    let blobs = daemon.store.blobs();
    let found = daemon.read(|txn| Ok(facet::modules_in(txn, view, path)))?;
    match found.map_err(|refusal| refusal_failure(&refusal))? {
        ModulesIn::Bytes(hash) => {
            let bytes = blobs.get(&hash);
            let bytes = bytes.map_err(|e| Failure::from_error(Exit::Failure, e).help("`almoner doctor`"))?;
            match bytes.starts_with(ZIP_MAGIC) {
                true => Ok((ModuleFormat::Archive, from_archive(&bytes)?)),
                false => Ok((ModuleFormat::Bundle, from_bundle(&bytes)?)),
            }
        }
        ModulesIn::Value(value) => Ok((ModuleFormat::Bundle, from_bundle_value(&value)?)),
        ModulesIn::Files(call) => {
            let now_ms = view.now_ms;
            let ground = daemon.read(|txn| Ok(facet::check_access(txn, now_ms, &call)))?;
            match ground.map_err(|refusal| refusal_failure(&refusal))?.formula {
                Formula::Tree(tree) => Ok((ModuleFormat::Tree, from_tree(blobs, &tree)?)),
                _ => Err(Failure::new(Exit::Usage, format!("{path} is a directory, and no tree of files"))
                    .help("name the directory by its path, and it is taken as it is now")),
            }
        }
    }
}

fn refusal_failure(refusal: &Refusal) -> Failure {
    match refusal {
        Refusal::Fault(fault) => DaemonError::from(fault.clone()).into(),
        other => archive_failure(other.to_string()),
    }
}

/// Unpacks a bundle, which is JSON with an archive in Base64.
///
/// # Errors
/// When the bundle has an error.
pub fn from_bundle(bytes: &[u8]) -> Result<Modules, Failure> {
    // The limit is the size of the largest archive in Base64, and some room for names.
    if bytes.len() > MAX_ARCHIVE_BYTES / 3 * 4 + 4096 {
        return Err(archive_failure(format!(
            "a bundle of {} bytes, but an archive can have {MAX_ARCHIVE_BYTES}",
            bytes.len()
        )));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| archive_failure("the bundle is not UTF-8"))?;
    let value = passable::Value::from_json_text(text).map_err(|e| {
        let why = e.to_string();
        // The error for a value that is nested too deeply begins with a long path, which is left out.
        let short =
            if why.len() > MAX_REASON_LEN { why.rsplit(": ").next().unwrap_or_default() } else { &why };
        archive_failure(format!("the bundle is not JSON: {}", visible_line(short)))
    })?;
    from_bundle_value(&value.widen())
}

/// Unpacks a bundle that is a value.
///
/// # Errors
/// When the bundle has an error.
pub fn from_bundle_value(value: &Value) -> Result<Modules, Failure> {
    let field = |name| value.get(name).and_then(Value::as_str);
    match field("moduleFormat") {
        Some(BUNDLE_FORMAT) => {}
        Some(other) => {
            let shown = visible_line(other);
            return Err(archive_failure(format!(
                "a bundle of the form `{shown}` cannot be run: only `{BUNDLE_FORMAT}` can"
            )));
        }
        None => return Err(archive_failure("it is no bundle: it does not say its `moduleFormat`")),
    }
    let text = field(BUNDLE_FORMAT)
        .ok_or_else(|| archive_failure(format!("the bundle has no `{BUNDLE_FORMAT}`")))?;
    if text.len() > MAX_ARCHIVE_BYTES / 3 * 4 + 4 {
        return Err(archive_failure(format!(
            "the archive in the bundle is too large: {MAX_ARCHIVE_BYTES} bytes is the limit"
        )));
    }
    let bytes =
        from_base64(text).map_err(|_| archive_failure(format!("its `{BUNDLE_FORMAT}` is no Base64")))?;
    from_archive(&bytes)
}

/// Makes a program of files. `files` has the bytes of each by its path.
///
/// # Errors
/// When the files make no valid program.
pub fn from_files(files: &BTreeMap<String, Vec<u8>>) -> Result<Modules, Failure> {
    archive::from_tree(files).map_err(|e| {
        // The error speaks of an archive. Only a tree with a module map is an unpacked archive, so for other trees
        // the word is replaced.
        let said = e.to_string();
        let said = if files.contains_key(MAP) { said } else { said.replacen("the archive", "the tree", 1) };
        archive_failure(said)
            .help("its first module is what `exports` or `main` in package.json says, or index.js")
    })
}

/// Makes a program of a tree.
///
/// # Errors
/// When the tree makes no valid program, or its bytes are missing.
pub fn from_tree(blobs: &Blobs, tree: &Tree) -> Result<Modules, Failure> {
    let mut all = BTreeMap::new();
    let mut left = MAX_ARCHIVE_BYTES as u64;
    collect_files(blobs, &tree.hash, "", MAX_DEPTH, &mut left, &mut all)?;
    from_files(&all)
}

fn collect_files(
    blobs: &Blobs,
    hash: &BlobHash,
    before: &str,
    depth: usize,
    left: &mut u64,
    all: &mut BTreeMap<String, Vec<u8>>,
) -> Result<(), Failure> {
    if depth == 0 {
        return Err(archive_failure(format!("the tree is deeper than {MAX_DEPTH} directories")));
    }
    let entries = trees::entries(blobs, hash)?;
    // In an unpacked archive, the module map decides which files are modules, whatever their names.
    let mapped = before.is_empty() && entries.iter().any(|entry| entry.name == MAP);
    for entry in entries {
        let path = format!("{before}{}", entry.name);
        if entry.is_tree {
            collect_files(blobs, &entry.hash, &format!("{path}/"), depth - 1, left, all)?;
            continue;
        }
        if !mapped && !all.contains_key(MAP) && !archive::is_importable(&entry.name) {
            continue;
        }
        let room = left.checked_sub(entry.bytes);
        *left = room
            .ok_or_else(|| archive_failure(format!("its files have more than {MAX_ARCHIVE_BYTES} bytes")))?;
        if all.len() >= MAX_ENTRIES {
            return Err(archive_failure(format!("it has more than {MAX_ENTRIES} files")));
        }
        let bytes = blobs.get(&entry.hash);
        let bytes = bytes.map_err(|e| Failure::from_error(Exit::Failure, e).help("`almoner doctor`"))?;
        all.insert(path, bytes);
    }
    Ok(())
}

/// Stores the modules of a program.
///
/// # Errors
/// When the disk is full or the quota is used up.
pub fn store(
    shelf: &dyn BlobSink,
    packed: ModuleFormat,
    env: BTreeMap<String, String>,
    modules: &Modules,
) -> Result<Kept, Failure> {
    let mut bytes = MAGIC.to_vec();
    serde_json::to_writer(&mut bytes, modules).map_err(|e| Failure::from_error(Exit::Failure, e))?;
    let entry = Untrusted::new(modules.entry.label());
    Ok(Kept { packed, hash: shelf.put(&bytes)?, bytes: bytes.len() as u64, entry, env })
}

/// Returns the modules of a stored program.
///
/// # Errors
/// When the bytes are missing or damaged. The text is the reason, in one line.
pub fn load(blobs: &Blobs, kept: &Kept) -> Result<Modules, String> {
    let bytes = blobs.get(&kept.hash).map_err(|e| format!("its modules are not there: {e}"))?;
    let json = bytes.strip_prefix(MAGIC).ok_or("its modules are of a form that is not known here")?;
    serde_json::from_slice(json).map_err(|e| format!("its modules cannot be read: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NullSink;

    impl BlobSink for NullSink {
        fn put(&self, bytes: &[u8]) -> Result<BlobHash, Failure> {
            Ok(BlobHash::of(bytes))
        }
    }

    #[test]
    fn invalid_bundle_is_refused_with_the_reason() {
        for (bytes, says) in [
            (&b"\xff"[..], "not UTF-8"),
            (b"{", "not JSON"),
            (b"[]", "does not say its `moduleFormat`"),
            (br#"{"moduleFormat":"nestedEvaluate"}"#, "`nestedEvaluate` cannot be run"),
            (br#"{"moduleFormat":"\u001b[2J"}"#, "\\u{1B}"),
            (br#"{"moduleFormat":"endoZipBase64"}"#, "has no `endoZipBase64`"),
            (br#"{"moduleFormat":"endoZipBase64","endoZipBase64":7}"#, "has no `endoZipBase64`"),
            (br#"{"moduleFormat":"endoZipBase64","endoZipBase64":"?"}"#, "no Base64"),
            (br#"{"moduleFormat":"endoZipBase64","endoZipBase64":"AAAA"}"#, "the archive cannot be read"),
        ] {
            let said = from_bundle(bytes).unwrap_err().message.raw().to_owned();
            assert!(said.contains(says), "{says}: {said}");
        }
        let deep = from_bundle(&b"[".repeat(100_000)).unwrap_err().message.raw().to_owned();
        assert!(deep.contains("nested deeper than") && deep.len() < 300, "{deep}");
        let long = from_bundle(&vec![b' '; MAX_ARCHIVE_BYTES * 2]).unwrap_err();
        assert!(long.message.raw().contains("an archive can have"), "{long:?}");
    }

    #[test]
    fn same_modules_are_stored_as_the_same_bytes() {
        let one = |order: &[&str]| {
            let all = order.iter().map(|name| ((*name).to_owned(), b"export const make = 1;".to_vec()));
            let modules = from_files(&all.collect()).unwrap();
            store(&NullSink, ModuleFormat::Tree, BTreeMap::new(), &modules).unwrap()
        };
        let kept = one(&["index.js", "a.js"]);
        assert_eq!(kept, one(&["a.js", "index.js"]));
        assert_ne!(kept.hash, one(&["index.js", "b.js"]).hash);
        assert_eq!(kept.entry.raw(), "index.js");
    }
}
