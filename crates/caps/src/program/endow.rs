//! The examination of a program's file: once when the program is endowed, and again at each call.

use std::io::Read as _;
use std::path::Path;

use kernel::BlobHash;
use resource::programs::{EndowedProgram, Interpreter};

use crate::walk;

/// The maximum size of a program's file.
const MAX_PROGRAM_BYTES: u64 = 2 << 30;

/// The reason why a file cannot be endowed as a program, or run.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The file cannot be opened or read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The path leads to a directory or a pipe, or the file is too large or not executable.
    #[error("it is not a file that can be run")]
    NoFile,
    /// The file is a script, and its interpreter cannot be found.
    #[error("it is a script, and {0}")]
    Script(std::io::Error),
    /// The path is not text.
    #[error("its path is not text")]
    Path,
}

/// Returns the program at a path, with all links followed, and its present digest.
///
/// # Errors
/// When the file cannot be run as a program.
pub fn endow_program(name: &str, path: &str) -> Result<EndowedProgram, ProgramError> {
    let real = std::fs::canonicalize(path)?;
    let digest = digest(&real)?;
    let interpreters = interpreters(&real)?;
    let path = real.into_os_string().into_string().map_err(|_| ProgramError::Path)?;
    Ok(EndowedProgram { name: name.to_owned(), path, digest, interpreters })
}

/// Returns the interpreters of a script with their present digests. The list is empty for a file that is no script.
///
/// # Errors
/// When the first line of the script names nothing that can be run.
pub(crate) fn interpreters(program: &Path) -> Result<Vec<Interpreter>, ProgramError> {
    let mut head = [0; 2];
    let is_script = walk::open_at_path(program)?.read_exact(&mut head).is_ok() && &head == b"#!";
    if !is_script {
        return Ok(Vec::new());
    }
    let loaders = sandbox::loaders(program, &sandbox::search()).map_err(ProgramError::Script)?;
    let each = loaders.interpreters.into_iter().map(|path| {
        let digest = digest(&path)?;
        Ok(Interpreter { path: path.into_os_string().into_string().map_err(|_| ProgramError::Path)?, digest })
    });
    each.collect()
}

/// Returns the digest of a program's file.
pub(crate) fn digest(path: &Path) -> Result<BlobHash, ProgramError> {
    use std::os::unix::fs::PermissionsExt as _;
    // A pipe would block. So the kind is checked before the file is opened, and again on the open file.
    let is_program = |meta: &std::fs::Metadata| {
        meta.is_file() && meta.len() <= MAX_PROGRAM_BYTES && meta.permissions().mode() & 0o111 != 0
    };
    if !is_program(&std::fs::metadata(path)?) {
        return Err(ProgramError::NoFile);
    }
    let mut file = walk::open_at_path(path)?;
    if !is_program(&file.metadata()?) {
        return Err(ProgramError::NoFile);
    }
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(BlobHash(*hasher.finalize().as_bytes())),
            count => hasher.update(&buffer[..count]),
        };
    }
}
