//! The keyring of the operating system.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::VaultError;
use crate::secret::Secret;

/// A place of the operating system's for one secret of ours.
pub trait Keyring: Send + Sync {
    /// Returns the secret in the keyring; `None` if there is none.
    ///
    /// # Errors
    /// When the keyring does not answer.
    fn get(&self) -> Result<Option<Secret>, VaultError>;

    /// Keeps this secret in the place of the one before.
    ///
    /// # Errors
    /// When the keyring does not take it.
    fn put(&self, secret: &Secret) -> Result<(), VaultError>;

    /// Removes the secret from the keyring.
    ///
    /// # Errors
    /// When the keyring does not answer.
    fn clear(&self) -> Result<(), VaultError>;
}

/// How long the keyring may take: a person may have to unlock it.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The desktop's keyring through `secret-tool`, the program of libsecret. A library for it would bring an
/// implementation of D-Bus along, for two calls in the life of a daemon.
#[derive(Clone, Debug)]
pub struct SecretTool {
    program: PathBuf,
    /// Which vault it is: one keyring may hold the keys of several.
    vault: String,
}

impl SecretTool {
    /// Returns a keyring that is reached through this program, for the vault in this directory.
    pub fn new(program: &Path, vault: &Path) -> SecretTool {
        SecretTool { program: program.to_owned(), vault: vault.to_string_lossy().into_owned() }
    }

    /// Runs the program. The value goes through a pipe, never through arguments or the environment.
    fn ask(&self, verb: &[&str], input: Option<&Secret>) -> Result<(bool, Secret), VaultError> {
        let fail = |what: &str| VaultError::Keyring(format!("{}: {what}", self.program.display()));
        let mut child = Command::new(&self.program)
            .args(verb)
            .args(["application", "almoner", "vault", &self.vault])
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| fail(&e.to_string()))?;
        if let (Some(input), Some(mut pipe)) = (input, child.stdin.take()) {
            // A program that does not read says so by its end.
            let _ = pipe.write_all(input.reveal().as_bytes());
        }
        let begun = Instant::now();
        let status = loop {
            match child.try_wait().map_err(|e| fail(&e.to_string()))? {
                Some(status) => break status,
                None if begun.elapsed() > TIMEOUT => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(fail("it did not answer in time"));
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        // A key is shorter than any pipe: it is all there, even if another process still holds the other end.
        let mut bytes = zeroize::Zeroizing::new([0_u8; 4096]);
        let mut count = 0;
        if let Some(mut out) = child.stdout.take() {
            count = out.read(&mut *bytes).map_err(|e| fail(&e.to_string()))?;
        }
        let text = std::str::from_utf8(&bytes[..count]).map_err(|_| fail("it answered with no text"))?;
        Ok((status.success(), Secret::new(text)))
    }
}

impl Keyring for SecretTool {
    fn get(&self) -> Result<Option<Secret>, VaultError> {
        // The program fails alike when it has no key and when it cannot look: both count as no key.
        let (done, secret) = self.ask(&["lookup"], None)?;
        Ok((done && !secret.is_empty()).then_some(secret))
    }

    fn put(&self, secret: &Secret) -> Result<(), VaultError> {
        let (done, _) = self.ask(&["store", "--label=Almoner vault"], Some(secret))?;
        // A key that cannot be read back was not kept.
        if done && self.get()?.is_some_and(|kept| kept.reveal().trim_end() == secret.reveal().trim_end()) {
            return Ok(());
        }
        Err(VaultError::Keyring("it did not keep the key".to_owned()))
    }

    fn clear(&self) -> Result<(), VaultError> {
        self.ask(&["clear"], None).map(|_| ())
    }
}
