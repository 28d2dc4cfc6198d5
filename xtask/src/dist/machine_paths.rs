//! Paths of the building machine, which must not stand in a binary.

use std::path::{Path, PathBuf};

use memchr::memmem;

/// Returns the paths of this list that stand in the bytes.
pub(super) fn find(bytes: &[u8], paths: &[PathBuf]) -> Vec<PathBuf> {
    let is_in = |path: &Path| {
        let text = path.as_os_str().as_encoded_bytes();
        // A path with one part, like a home in `/root`, can stand there as a word of any text.
        path.components().count() > 2 && memmem::find(bytes, text).is_some()
    };
    paths.iter().filter(|path| is_in(path)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::find;

    #[test]
    fn path_of_the_machine_is_found() {
        let paths = ["/home/me/almoner", "/home/me/.cargo", "/root"].map(PathBuf::from);
        let bytes = b"\0/almoner/src/main.rs\0/home/me/.cargo/registry/x.rs\0/root\0";
        assert_eq!(find(bytes, &paths), [PathBuf::from("/home/me/.cargo")]);
    }
}
