//! A worker file together with the files that it includes.

use std::collections::BTreeMap;

use kernel::BlobHash;
use kernel::run::PROJECT_POLICY;

/// The maximum size of a worker file or an included file, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// A worker file together with the files that it includes. Nothing else belongs to a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The worker's name: the file's name without `.worker` or `.worker.md`.
    pub name: String,
    /// The name of the file, for messages.
    pub file: String,
    /// The content of the file, unchanged.
    pub source: String,
    /// The contents of the included files, by the name under which the definition includes them.
    pub includes: BTreeMap<String, String>,
}

impl Bundle {
    /// Returns a worker whose parts are in the store. `read` fetches an included file by its name and hash. A
    /// project's policies are stored beside the includes, but do not belong to the worker.
    ///
    /// # Errors
    /// When `read` fails.
    pub fn stored<E>(
        name: &str,
        source: String,
        includes: &BTreeMap<String, BlobHash>,
        mut read: impl FnMut(&str, &BlobHash) -> Result<String, E>,
    ) -> Result<Bundle, E> {
        let own = includes.iter().filter(|(name, _)| *name != PROJECT_POLICY);
        let includes = own.map(|(name, hash)| Ok((name.clone(), read(name, hash)?)));
        Ok(Bundle {
            name: name.to_owned(),
            file: format!("{name}.worker"),
            source,
            includes: includes.collect::<Result<_, E>>()?,
        })
    }

    /// Returns a bundle with this text and without includes.
    pub fn of(name: &str, source: impl Into<String>) -> Bundle {
        let (name, file, source) = (name.to_owned(), format!("{name}.worker"), source.into());
        Bundle { name, file, source, includes: BTreeMap::new() }
    }

    /// Returns the BLAKE3 hash of the definition, by which a worker slot is bound to exactly this definition.
    ///
    /// The hash is `derive_key("almoner worker v1")` over the file and then the name and text of each included file,
    /// in the order of names. Each part has its length before it, as 8 little-endian bytes. The worker's own name is
    /// not part of the hash.
    pub fn digest(&self) -> BlobHash {
        let mut hasher = blake3::Hasher::new_derive_key("almoner worker v1");
        let included = self.includes.iter().flat_map(|(name, text)| [name, text]);
        for part in std::iter::once(&self.source).chain(included) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        BlobHash(*hasher.finalize().as_bytes())
    }
}
