//! The demands of a binary on the system: libraries, and versions of their symbols.

use anyhow::{Context as _, Result};
use goblin::elf::Elf;

/// The parts of glibc that a binary may ask for. Every one comes with the same Debian package.
const LIBC_PARTS: &[&str] = &[
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libutil.so.1",
    "libresolv.so.2",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

/// Returns a line for each demand that a system with this glibc and nothing else does not meet.
///
/// # Errors
/// When the bytes are no ELF binary that is linked dynamically.
pub(super) fn unmet_demands(binary: &[u8], glibc: &str) -> Result<Vec<String>> {
    let elf = Elf::parse(binary).context("the binary is no ELF file")?;
    let newest = version(glibc).with_context(|| format!("`{glibc}` is no version"))?;
    anyhow::ensure!(!elf.libraries.is_empty(), "the binary asks for no library, not even libc");
    let mut unmet: Vec<String> = elf
        .libraries
        .iter()
        .filter(|library| !LIBC_PARTS.contains(library))
        .map(|library| format!("the library {library} is no part of glibc"))
        .collect();
    for needed in elf.verneed.iter().flat_map(|section| section.iter()) {
        for symbol in needed.iter() {
            let name = elf.dynstrtab.get_at(symbol.vna_name).context("a version has no name")?;
            // Other names, like GLIBC_PRIVATE, belong to one build of glibc.
            let is_met = name.strip_prefix("GLIBC_").and_then(version).is_some_and(|asked| asked <= newest);
            if !is_met {
                unmet.push(format!("symbols of version {name} are not in glibc {glibc}"));
            }
        }
    }
    Ok(unmet)
}

/// Returns the numbers of a version.
fn version(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{unmet_demands, version};

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let parsed = |text| version(text).unwrap();
        assert!(
            parsed("2.4") < parsed("2.28")
                && parsed("2.2.5") < parsed("2.28")
                && parsed("2.28") < parsed("2.34")
        );
        assert_eq!(version("PRIVATE"), None);
    }

    #[test]
    fn newer_symbols_and_other_libraries_are_found() {
        // This program: the compiler of this machine links it with libgcc_s and the newest symbols.
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let unmet = unmet_demands(&own, "2.2.5").unwrap();
        assert!(unmet.iter().any(|line| line.contains("libgcc_s.so.1")), "{unmet:?}");
        assert!(unmet.iter().any(|line| line.contains("GLIBC_2.")), "{unmet:?}");
        let unmet = unmet_demands(&own, "9.9").unwrap();
        assert!(!unmet.iter().any(|line| line.contains("GLIBC_2.")), "{unmet:?}");
        assert!(unmet_demands(b"#!/bin/sh\n", "2.28").is_err());
    }
}
