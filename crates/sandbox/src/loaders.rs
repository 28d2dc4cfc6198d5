//! The files that the kernel opens to start a program: the dynamic linker, and the interpreter of a script.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The maximum depth of scripts that interpret scripts. The kernel allows five.
const MAX_DEPTH: u32 = 5;
/// The maximum length of the path of a linker, in bytes.
const MAX_LEN: u64 = 4096;

/// Returns the directories in which `env`, in the first line of a script, searches for the interpreter.
pub fn search() -> [&'static Path; 4] {
    ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin"].map(Path::new)
}

/// The files that the kernel needs to start a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaders {
    /// The files that the kernel must be able to execute in addition to the program itself, with all links followed.
    pub files: Vec<PathBuf>,
    /// The interpreters of a script: its interpreter, and the program that the interpreter starts, if the interpreter
    /// is `env`.
    pub interpreters: Vec<PathBuf>,
}

/// Returns the files that the kernel needs to start a program. `search` lists the directories in which `env` searches
/// for an interpreter.
///
/// # Errors
/// When a file cannot be read, or is neither a program nor a script.
pub fn loaders(program: &Path, search: &[&Path]) -> io::Result<Loaders> {
    let mut found = Loaders::default();
    collect(program, search, MAX_DEPTH, &mut found)?;
    Ok(found)
}

fn collect(program: &Path, search: &[&Path], depth: u32, found: &mut Loaders) -> io::Result<()> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut file = File::open(program)?;
    let mut head = Vec::new();
    (&mut file).take(512).read_to_end(&mut head)?;
    if head.starts_with(b"\x7fELF") {
        if let Some(linker) = linker(&mut file, &head)? {
            found.files.push(linker.canonicalize()?);
        }
        return Ok(());
    }
    let Some(line) = head.strip_prefix(b"#!") else {
        return Err(invalid("it is neither a program nor a script that says what interprets it"));
    };
    if depth == 0 {
        return Err(invalid("too many scripts interpret each other"));
    }
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8(line.to_vec()).map_err(|_| invalid("its first line is not text"))?;
    let mut words = line.split_ascii_whitespace();
    let interpreter = words.next().ok_or_else(|| invalid("its first line names no interpreter"))?;
    if !interpreter.starts_with('/') {
        return Err(invalid("its interpreter is not named by a full path"));
    }
    add(Path::new(interpreter), search, depth, found)?;
    if Path::new(interpreter).file_name().is_some_and(|name| name == "env") {
        let started = words.find(|word| !word.starts_with('-') && !word.contains('='));
        let started = started.ok_or_else(|| invalid("its first line names no interpreter"))?;
        let place = search.iter().map(|dir| dir.join(started)).find(|path| path.is_file());
        add(&place.ok_or_else(|| invalid("its interpreter is not there"))?, search, depth, found)?;
    }
    Ok(())
}

fn add(interpreter: &Path, search: &[&Path], depth: u32, found: &mut Loaders) -> io::Result<()> {
    let real = interpreter.canonicalize()?;
    found.files.push(real.clone());
    found.interpreters.push(real.clone());
    collect(&real, search, depth - 1, found)
}

/// Returns the dynamic linker that an ELF file names, or `None` if it names none.
fn linker(file: &mut File, head: &[u8]) -> io::Result<Option<PathBuf>> {
    const PT_INTERP: u64 = 3;
    let is_64 = head.get(4) == Some(&2);
    let is_little = head.get(5) == Some(&1);
    let number = |bytes: &[u8], at: usize, size: usize| -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(size)?)?;
        let fold = |all: u64, byte: &u8| all << 8 | u64::from(*byte);
        Some(if is_little { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) })
    };
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "its header is damaged");
    let (offset_at, offset_size, size_at, count_at) = if is_64 { (32, 8, 54, 56) } else { (28, 4, 42, 44) };
    let offset = number(head, offset_at, offset_size).ok_or_else(broken)?;
    let size = number(head, size_at, 2).ok_or_else(broken)?;
    let count = number(head, count_at, 2).ok_or_else(broken)?;
    let mut table = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    file.take(size * count).read_to_end(&mut table)?;
    for entry in table.chunks_exact(usize::try_from(size.max(1)).map_err(|_| broken())?) {
        if number(entry, 0, 4) != Some(PT_INTERP) {
            continue;
        }
        let (at, length) = match is_64 {
            true => (number(entry, 8, 8), number(entry, 32, 8)),
            false => (number(entry, 4, 4), number(entry, 16, 4)),
        };
        let (at, length) = at.zip(length).ok_or_else(broken)?;
        if length > MAX_LEN {
            return Err(broken());
        }
        let mut name = Vec::new();
        file.seek(SeekFrom::Start(at))?;
        file.take(length).read_to_end(&mut name)?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        return Ok(Some(PathBuf::from(String::from_utf8(name.to_vec()).map_err(|_| broken())?)));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, bytes: &[u8]) -> io::Result<Loaders> {
        let path = std::env::temp_dir().join(format!("almoner-loaders-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let found = loaders(&path, &[Path::new("/usr/bin"), Path::new("/bin")]);
        std::fs::remove_file(&path).unwrap();
        found
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn loaders_of_a_script_include_interpreter_and_linker() {
        let sh = Path::new("/bin/sh").canonicalize().unwrap();
        let direct = check("sh", b"#!/bin/sh -e\necho\n").unwrap();
        assert_eq!(direct.interpreters.as_slice(), std::slice::from_ref(&sh));
        assert_eq!(direct.files[0], sh);
        assert_eq!(direct.files[1..], loaders(&sh, &[]).unwrap().files);
        let through_env = check("env", b"#!/usr/bin/env -S A=b sh\n").unwrap();
        assert!(through_env.interpreters.contains(&sh) && through_env.interpreters.len() == 2);
    }

    #[test]
    fn loaders_refuse_non_programs() {
        for (name, bytes) in [
            ("empty", &b""[..]),
            ("text", b"hello"),
            ("relative", b"#!sh\n"),
            ("none", b"#! \n"),
            ("gone", b"#!/nowhere/at/all\n"),
            ("cut", b"\x7fELF\x02\x01"),
            ("noenv", b"#!/usr/bin/env no-such-program-anywhere\n"),
        ] {
            assert!(check(name, bytes).is_err(), "{name}");
        }
    }

    #[test]
    fn damaged_elf_header_is_read_within_bounds() {
        let mut head = b"\x7fELF\x02\x01".to_vec();
        head.resize(64, 0xff);
        assert!(
            check("lies", &head).is_ok_and(|found| found.files.is_empty()) || check("lies", &head).is_err()
        );
    }
}
