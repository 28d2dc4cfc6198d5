//! A worker file together with the files that it includes.

use std::collections::BTreeMap;

use kernel::BlobHash;
use kernel::run::PROJECT_POLICY;

/// How many bytes a worker file, or a file that it includes, may have.
pub const MAX_BYTES: usize = 1 << 20;

/// A worker file together with the files that it includes: all that a definition is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The worker's name: the file's, without `.worker` or `.worker.md`.
    pub name: String,
    /// The file's name, for messages.
    pub file: String,
    /// The file, byte for byte.
    pub source: String,
    /// The included files, by the name under which the definition includes them.
    pub includes: BTreeMap<String, String>,
}

impl Bundle {
    /// Returns the worker that the store holds in parts: `read` fetches an included file by its name and hash. The policies
    /// of a project are stored beside them and are no part of a worker.
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

    /// Returns a bundle of one text, with nothing beside it.
    pub fn of(name: &str, source: impl Into<String>) -> Bundle {
        let (name, file, source) = (name.to_owned(), format!("{name}.worker"), source.into());
        Bundle { name, file, source, includes: BTreeMap::new() }
    }

    /// Returns the BLAKE3 hash by which a worker slot is bound to exactly this definition: `derive_key("almoner
    /// worker v1")` over the file and then the name and text of each included file in order of names, each with its
    /// length as 8 little-endian bytes in front. The worker's own name is not part of it.
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
