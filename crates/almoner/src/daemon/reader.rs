//! What proposed code does with its slots: each text is read once, in a process of its own, and remembered for a while.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use analysis::Uses;

use crate::code_reader;

/// How many texts are remembered.
const REMEMBERED: usize = 32;

/// Reads proposed code.
pub struct Reader {
    program: PathBuf,
    remembered: Mutex<VecDeque<(blake3::Hash, Option<Uses>)>>,
}

impl Reader {
    /// One that remembers nothing yet. `program` is this program.
    pub fn new(program: PathBuf) -> Reader {
        Reader { program, remembered: Mutex::default() }
    }

    /// What a text does with these slots; nothing if it could not be read.
    pub fn read(&self, source: &str, slots: &[&str]) -> Option<Uses> {
        let mut hasher = blake3::Hasher::new();
        for part in [source].iter().chain(slots) {
            hasher.update(&part.len().to_le_bytes()).update(part.as_bytes());
        }
        let key = hasher.finalize();
        let remembered = || self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, uses)) = remembered().iter().find(|(own, _)| *own == key) {
            return uses.clone();
        }
        let uses = code_reader::read(&self.program, source, slots);
        let mut all = remembered();
        all.push_back((key, uses.clone()));
        if all.len() > REMEMBERED {
            all.pop_front();
        }
        uses
    }
}
