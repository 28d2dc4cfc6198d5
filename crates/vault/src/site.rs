//! The place of a vault, and the open vault itself.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use age::x25519;
use resource::web::Origin;
use zeroize::Zeroizing;

use crate::contents::{Contents, Entry};
use crate::error::VaultError;
use crate::file;
use crate::key::{self, Protection, ProtectionChoice};
use crate::keyring::Keyring;
use crate::login::Login;
use crate::secret::Secret;

/// The work factor of a passphrase, as a power of two. Each guess takes some tenths of a second and 128 MiB.
const PASSPHRASE_WORK: u8 = 17;

/// The place of a vault, whether the vault exists yet or not.
#[derive(Clone)]
pub struct Site {
    dir: PathBuf,
    keyring: Option<Arc<dyn Keyring>>,
    work: u8,
    step: Arc<dyn Fn() -> io::Result<()> + Send + Sync>,
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// An open vault.
pub struct Vault {
    site: Site,
    identity: x25519::Identity,
    protection: Protection,
    contents: Contents,
    /// The bytes of the file as this vault has last read or written them. `None` before the first write.
    sealed: Option<Vec<u8>>,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").field("site", &self.site).finish_non_exhaustive()
    }
}

impl Site {
    /// Returns the place of a vault in a state directory, with the keyring, if there is one.
    pub fn new(dir: &Path, keyring: Option<Arc<dyn Keyring>>) -> Site {
        Site { dir: dir.to_owned(), keyring, work: PASSPHRASE_WORK, step: Arc::new(|| Ok(())) }
    }

    /// Returns the same site with a function that is called before each step at which a crash could happen. A test ends
    /// the process there.
    #[must_use]
    pub fn with_step(self, step: impl Fn() + Send + Sync + 'static) -> Site {
        let step = move || {
            step();
            Ok(())
        };
        Site { step: Arc::new(step), ..self }
    }

    /// Returns the same site with another work factor for passphrases, for tests.
    #[must_use]
    pub fn with_work(self, work: u8) -> Site {
        Site { work, ..self }
    }

    /// Returns the path of the file with the secrets.
    #[must_use]
    pub fn vault(&self) -> PathBuf {
        self.dir.join("vault.age")
    }

    /// Returns the path of the file with the key, if the key is in a file.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.dir.join("vault.key")
    }

    /// Returns whether there is a keyring that could keep a key.
    #[must_use]
    pub fn has_keyring(&self) -> bool {
        self.keyring.is_some()
    }

    /// Returns whether there is a vault, open or not.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.vault().symlink_metadata().is_ok()
    }

    /// Returns the protection of the vault's key, or `None` if there is no vault yet. A key that needs no passphrase is
    /// tried: the vault does not say where its key is, and a backup leaves the key out.
    ///
    /// # Errors
    /// When the files or the keyring cannot be read, or the vault is damaged.
    pub fn protection(&self) -> Result<Option<Protection>, VaultError> {
        match self.open(None) {
            Ok(vault) => Ok(vault.map(|vault| vault.protection)),
            Err(VaultError::Locked) => Ok(Some(Protection::Passphrase)),
            Err(VaultError::NoKey { .. }) => Ok(Some(Protection::KeyMissing)),
            Err(error) => Err(error),
        }
    }

    /// Returns the error that no key opens the vault.
    #[must_use]
    pub fn key_missing(&self) -> VaultError {
        VaultError::NoKey { vault: self.vault(), key: self.key(), has_keyring: self.has_keyring() }
    }

    /// Returns the key as a key file holds it, for a backup. Returns `None` if there is no key.
    ///
    /// # Errors
    /// When the file or the keyring cannot be read.
    pub fn key_copy(&self) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
        if let Some(file) = self.read(&self.key())? {
            return Ok(Some(file));
        }
        let text = self.keyring.as_ref().map(|keyring| keyring.get()).transpose()?.flatten();
        Ok(text.map(|text| Zeroizing::new(text.reveal().as_bytes().to_vec())))
    }

    /// Creates an empty vault. An earlier key without a vault is kept: a file under another name, one in the keyring
    /// beside the new one.
    ///
    /// # Errors
    /// When the key or the vault cannot be written.
    pub fn create(&self, how: ProtectionChoice<'_>) -> Result<Vault, VaultError> {
        let identity = x25519::Identity::generate();
        // An earlier key may open a vault that lies elsewhere, such as one in a backup.
        file::keep_aside(&self.key()).map_err(|source| self.io(&self.key(), source))?;
        let earlier = match how {
            ProtectionChoice::Keyring => self.keys_in_keyring()?,
            ProtectionChoice::File | ProtectionChoice::Passphrase(_) => vec![],
        };
        let all: Vec<&x25519::Identity> = std::iter::once(&identity).chain(&earlier).collect();
        self.keep_key(&all, how)?;
        let protection = how.kind();
        let contents = Contents::new();
        let mut vault = Vault { site: self.clone(), identity, protection, contents, sealed: None };
        vault.save()?;
        Ok(vault)
    }

    /// Opens the vault. Returns `None` if there is no vault.
    ///
    /// # Errors
    /// When the key is not available, or a file is damaged.
    pub fn open(&self, passphrase: Option<&Secret>) -> Result<Option<Vault>, VaultError> {
        let Some(sealed) = self.read(&self.vault())? else { return Ok(None) };
        let mut found: Vec<(x25519::Identity, Protection)> = Vec::new();
        if let Some(file) = self.read(&self.key())? {
            let damaged = |why: &str| VaultError::Damaged { path: self.key(), why: why.to_owned() };
            let (text, protection) = if key::is_wrapped(&file) {
                let passphrase = passphrase.ok_or(VaultError::Locked)?;
                let text = key::unwrap(&file, passphrase).map_err(|why| damaged(&why))?;
                (text.ok_or(VaultError::WrongPassphrase)?, Protection::Passphrase)
            } else {
                let text = std::str::from_utf8(&file).map_err(|_| damaged("it is no text"))?;
                (Secret::new(text), Protection::File)
            };
            let identities = key::from_text(text.reveal());
            found.extend(identities.into_iter().map(|identity| (identity, protection)));
        }
        for (identity, protection) in found {
            if let Some(vault) = self.try_open(&sealed, identity, protection)? {
                return Ok(Some(vault));
            }
        }
        // An interrupted change of the protection may have left the key in the keyring, although there is a key file.
        for identity in self.keys_in_keyring()? {
            if let Some(vault) = self.try_open(&sealed, identity, Protection::Keyring)? {
                return Ok(Some(vault));
            }
        }
        Err(self.key_missing())
    }

    fn keys_in_keyring(&self) -> Result<Vec<x25519::Identity>, VaultError> {
        let text = self.keyring.as_ref().map(|keyring| keyring.get()).transpose()?.flatten();
        Ok(text.map(|text| key::from_text(text.reveal())).unwrap_or_default())
    }

    fn try_open(
        &self,
        sealed: &[u8],
        identity: x25519::Identity,
        protection: Protection,
    ) -> Result<Option<Vault>, VaultError> {
        let damaged = |why: String| VaultError::Damaged { path: self.vault(), why };
        match age::decrypt(&identity, sealed) {
            Ok(bytes) => {
                let bytes = Zeroizing::new(bytes);
                let contents = Contents::from_bytes(&bytes).map_err(damaged)?;
                let sealed = Some(sealed.to_vec());
                Ok(Some(Vault { site: self.clone(), identity, protection, contents, sealed }))
            }
            Err(age::DecryptError::NoMatchingKeys) => Ok(None),
            Err(e) => Err(damaged(e.to_string())),
        }
    }

    /// Stores identities as the key, in one step.
    fn keep_key(
        &self,
        identities: &[&x25519::Identity],
        how: ProtectionChoice<'_>,
    ) -> Result<(), VaultError> {
        let text = key::to_text(identities);
        match how {
            ProtectionChoice::Keyring => {
                let keyring = self.keyring.as_ref();
                (self.step)().map_err(|source| self.io(&self.key(), source))?;
                keyring.ok_or_else(|| VaultError::Keyring("there is none".to_owned()))?.put(&text)
            }
            ProtectionChoice::File => self.replace(&self.key(), text.reveal().as_bytes()),
            ProtectionChoice::Passphrase(passphrase) => {
                let file = key::wrap(&text, passphrase, self.work)
                    .map_err(|why| VaultError::Damaged { path: self.key(), why })?;
                self.replace(&self.key(), &file)
            }
        }
    }

    /// Removes the key from the places where it no longer belongs.
    fn forget_other_keys(&self, now: Protection) -> Result<(), VaultError> {
        if now == Protection::Keyring {
            (self.step)().map_err(|source| self.io(&self.key(), source))?;
            return file::remove(&self.key()).map_err(|source| self.io(&self.key(), source));
        }
        match &self.keyring {
            Some(keyring) => keyring.clear(),
            None => Ok(()),
        }
    }

    fn read(&self, path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
        file::read(path).map_err(|source| self.io(path, source))
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), VaultError> {
        file::replace(path, bytes, &*self.step).map_err(|source| self.io(path, source))
    }

    fn io(&self, path: &Path, source: io::Error) -> VaultError {
        VaultError::Io { path: path.to_owned(), source }
    }
}

impl Vault {
    /// Returns the protection of the key.
    #[must_use]
    pub fn protection(&self) -> Protection {
        self.protection
    }

    /// Returns all secrets, with their names.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.contents.secrets.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// Returns the secret with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.contents.secrets.get(name)
    }

    /// Returns the key that seals the values of forms, as hexadecimal digits.
    #[must_use]
    pub fn sealing(&self) -> Option<&Secret> {
        self.contents.sealing.as_ref()
    }

    /// Stores the key that seals the values of forms.
    ///
    /// # Errors
    /// When the vault cannot be written. Nothing has changed then.
    pub fn set_sealing(&mut self, key: Secret) -> Result<(), VaultError> {
        self.change(|contents| {
            contents.sealing = Some(key);
            Ok(())
        })
    }

    /// Sets the value of a secret. If `origins` is given, they become the servers to which it may be sent.
    ///
    /// # Errors
    /// When the name or the value is invalid, or the vault cannot be written. Nothing has changed then.
    pub fn set(
        &mut self,
        name: &str,
        value: Secret,
        origins: Option<Vec<Origin>>,
        now_ms: i64,
    ) -> Result<(), VaultError> {
        self.change(|contents| contents.set(name, value, origins, now_ms))
    }

    /// Replaces the servers to which a secret may be sent.
    ///
    /// # Errors
    /// When there is no such secret, or the vault cannot be written. Nothing has changed then.
    pub fn pin(&mut self, name: &str, origins: Vec<Origin>) -> Result<(), VaultError> {
        self.change(|contents| {
            let entry = contents.secrets.get_mut(name).ok_or_else(|| VaultError::Missing(name.to_owned()))?;
            entry.origins = origins;
            Ok(())
        })
    }

    /// Removes a secret.
    ///
    /// # Errors
    /// When there is no such secret, or the vault cannot be written. Nothing has changed then.
    pub fn remove(&mut self, name: &str) -> Result<(), VaultError> {
        self.change(|contents| {
            contents.secrets.remove(name).map(|_| ()).ok_or_else(|| VaultError::Missing(name.to_owned()))
        })
    }

    /// Returns all logins, with the addresses of their servers.
    pub fn logins(&self) -> impl Iterator<Item = (&str, &Login)> {
        self.contents.logins.iter().map(|(server, login)| (server.as_str(), login))
    }

    /// Sets the login at a server. An earlier login is replaced.
    ///
    /// # Errors
    /// When a token is too long, or the vault cannot be written. Nothing has changed then.
    pub fn set_login(&mut self, server: &str, login: Login) -> Result<(), VaultError> {
        self.change(|contents| contents.set_login(server, login))
    }

    /// Removes the login at a server. Returns whether there was one.
    ///
    /// # Errors
    /// When the vault cannot be written. Nothing has changed then.
    pub fn remove_login(&mut self, server: &str) -> Result<bool, VaultError> {
        let is_there = self.contents.logins.contains_key(server);
        if is_there {
            self.change(|contents| {
                contents.logins.remove(server);
                Ok(())
            })?;
        }
        Ok(is_there)
    }

    /// Encrypts the vault with a new key, which gets this protection. At every moment there is a key that opens the
    /// vault.
    ///
    /// # Errors
    /// When a file or the keyring fails. The vault opens with the old key or the new one then.
    pub fn rotate_key(&mut self, how: ProtectionChoice<'_>) -> Result<(), VaultError> {
        let new = x25519::Identity::generate();
        // Both keys are stored first. If the power fails, the key that the vault needs is there, whichever it is.
        self.site.keep_key(&[&new, &self.identity], how)?;
        let old = std::mem::replace(&mut self.identity, new);
        if let Err(error) = self.save() {
            self.identity = old;
            return Err(error);
        }
        self.protection = how.kind();
        self.site.keep_key(&[&self.identity], how)?;
        self.site.forget_other_keys(how.kind())
    }

    fn change(
        &mut self,
        change: impl FnOnce(&mut Contents) -> Result<(), VaultError>,
    ) -> Result<(), VaultError> {
        let before = self.contents.clone();
        let done = change(&mut self.contents).and_then(|()| self.save());
        if done.is_err() {
            self.contents = before;
        }
        done
    }

    /// Writes the vault, unless its file is no longer the one that this vault has read or written.
    fn save(&mut self) -> Result<(), VaultError> {
        let path = self.site.vault();
        let bytes =
            self.contents.to_bytes().map_err(|why| VaultError::Damaged { path: path.clone(), why })?;
        if self.site.read(&path)?.as_deref() != self.sealed.as_ref() {
            return Err(VaultError::Replaced { path });
        }
        let sealed = key::encrypt(&self.identity, &bytes)?;
        let done = self.site.replace(&path, &sealed);
        // A step that failed may have come after the new bytes.
        if self.site.read(&path).is_ok_and(|now| now.as_deref() == Some(&sealed)) {
            self.sealed = Some(sealed);
        }
        done
    }

    /// Returns the key as a key file without a passphrase holds it, for a backup.
    #[must_use]
    pub fn key_text(&self) -> Secret {
        key::to_text(&[&self.identity])
    }
}

#[cfg(test)]
mod tests;
