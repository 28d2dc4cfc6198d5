//! The encryption of secrets in forms. The key is in the vault, not in the store, so a copy of the store alone
//! reveals no secret.

use std::path::Path;

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use kernel::formula::Sealed;

use super::vault::DaemonVault;
use control::exit::{Exit, Failure};

/// The present method of encryption.
const SEALING_METHOD: &str = "xchacha20poly1305/1";

/// Returns the vault's key. Texts that were sealed before the vault existed have the same key.
fn key(vault: &DaemonVault, state: &Path) -> Result<zeroize::Zeroizing<[u8; 32]>, Failure> {
    let digits = vault.sealing(state)?;
    let mut key = zeroize::Zeroizing::new([0; 32]);
    from_hex(digits.reveal(), &mut *key).ok_or_else(|| {
        Failure::new(Exit::Failure, "the vault has no key to seal with").help("nothing was sealed")
    })?;
    Ok(key)
}

/// Encrypts a text with the vault's key.
///
/// # Errors
/// When the vault is locked or cannot be written.
pub fn seal(vault: &DaemonVault, state: &Path, text: &str) -> Result<Sealed, Failure> {
    let mut nonce = [0; 24];
    super::daemon::random(&mut nonce)?;
    let cipher = XChaCha20Poly1305::new(&(*key(vault, state)?).into());
    let payload = Payload { msg: text.as_bytes(), aad: SEALING_METHOD.as_bytes() };
    let bytes = cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| {
        Failure::new(Exit::Failure, "the secret could not be sealed").help("nothing was sent")
    })?;
    Ok(Sealed { method: SEALING_METHOD.to_owned(), nonce: hex(&nonce), bytes: hex(&bytes) })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Fills `bytes` from hexadecimal digits. Returns `None` if the text has other characters or another length.
fn from_hex(digits: &str, bytes: &mut [u8]) -> Option<()> {
    if digits.len() != bytes.len() * 2 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(sealed: &Sealed, key: [u8; 32]) -> Option<Vec<u8>> {
        let mut nonce = [0; 24];
        from_hex(&sealed.nonce, &mut nonce).unwrap();
        let mut bytes = vec![0; sealed.bytes.len() / 2];
        from_hex(&sealed.bytes, &mut bytes).unwrap();
        let payload = Payload { msg: &bytes, aad: SEALING_METHOD.as_bytes() };
        XChaCha20Poly1305::new(&key.into()).decrypt(&XNonce::from(nonce), payload).ok()
    }

    #[test]
    fn sealed_secret_opens_only_with_its_key() {
        let state = tempfile::tempdir().unwrap();
        let vault = DaemonVault::new(state.path());
        let sealed = seal(&vault, state.path(), "swordfish").unwrap();
        assert!(!format!("{sealed:?}").contains("swordfish"));
        assert_eq!(opened(&sealed, *key(&vault, state.path()).unwrap()).unwrap(), b"swordfish");
        assert!(opened(&sealed, [0; 32]).is_none());
        // The key outlives the process.
        let again = DaemonVault::new(state.path());
        assert_eq!(opened(&sealed, *key(&again, state.path()).unwrap()).unwrap(), b"swordfish");
    }

    #[test]
    fn key_from_before_the_vault_is_migrated() {
        let state = tempfile::tempdir().unwrap();
        std::fs::write(state.path().join("secret.key"), [7; 32]).unwrap();
        let vault = DaemonVault::new(state.path());
        assert_eq!(*key(&vault, state.path()).unwrap(), [7; 32]);
        assert!(!state.path().join("secret.key").exists());
        assert_eq!(*key(&DaemonVault::new(state.path()), state.path()).unwrap(), [7; 32]);
        // A file of another length is not used as a key, and is not removed.
        let other = tempfile::tempdir().unwrap();
        std::fs::write(other.path().join("secret.key"), [7; 31]).unwrap();
        assert!(key(&DaemonVault::new(other.path()), other.path()).is_err());
        assert!(other.path().join("secret.key").exists());
    }
}
