//! Secrets: sealed under a key that lies beside the store, not in it.
//!
//! A copy of the store alone tells no secret. Whoever can read the key file can read them all: it is as private as
//! the store itself.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use kernel::formula::Sealed;

use crate::exit::{Exit, Failure};

/// How secrets are sealed now.
const METHOD: &str = "xchacha20poly1305/1";

/// The key, made when it is first needed.
fn key(state: &Path) -> Result<[u8; 32], Failure> {
    let path = state.join("secret.key");
    let fail = |e: std::io::Error| {
        Failure::new(Exit::Failure, format!("{}: {e}", path.display())).help("nothing was sealed")
    };
    let mut key = [0; 32];
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
        Ok(mut file) => {
            super::world::random(&mut key)?;
            file.write_all(&key).and_then(|()| file.sync_all()).map_err(fail)?;
            std::fs::File::open(state).and_then(|dir| dir.sync_all()).map_err(fail)?;
        }
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            let mut file = std::fs::File::open(&path).map_err(fail)?;
            file.read_exact(&mut key).map_err(|_| {
                Failure::new(Exit::Failure, format!("{} is no key", path.display()))
                    .help("restore it from a backup; what was sealed with it cannot be read without it")
            })?;
        }
        Err(e) => return Err(fail(e)),
    }
    Ok(key)
}

/// Seals a text.
pub fn seal(state: &Path, text: &str) -> Result<Sealed, Failure> {
    let mut nonce = [0; 24];
    super::world::random(&mut nonce)?;
    let cipher = XChaCha20Poly1305::new(&key(state)?.into());
    let payload = Payload { msg: text.as_bytes(), aad: METHOD.as_bytes() };
    let bytes = cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| {
        Failure::new(Exit::Failure, "the secret could not be sealed").help("nothing was sent")
    })?;
    Ok(Sealed { method: METHOD.to_owned(), nonce: hex(&nonce), bytes: hex(&bytes) })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_secret_is_read_with_the_key_and_only_with_it() {
        let state = tempfile::tempdir().unwrap();
        let sealed = seal(state.path(), "swordfish").unwrap();
        assert!(!format!("{sealed:?}").contains("swordfish"));
        let unhex = |text: &str| -> Vec<u8> {
            text.as_bytes()
                .chunks(2)
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
                .collect()
        };
        let open = |key: [u8; 32]| {
            let nonce: [u8; 24] = unhex(&sealed.nonce).try_into().unwrap();
            let payload = Payload { msg: &unhex(&sealed.bytes), aad: METHOD.as_bytes() };
            XChaCha20Poly1305::new(&key.into()).decrypt(&XNonce::from(nonce), payload)
        };
        assert_eq!(open(key(state.path()).unwrap()).unwrap(), b"swordfish");
        assert!(open([0; 32]).is_err());
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(state.path().join("secret.key")).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    }
}
