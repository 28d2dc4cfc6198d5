//! The keyring of the operating system.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::VaultError;
use crate::secret::Secret;

/// A keyring, which can keep one secret of this program.
pub trait Keyring: Send + Sync {
    /// Returns the secret in the keyring, or `None` if there is none.
    ///
    /// # Errors
    /// When the keyring cannot be reached.
    fn get(&self) -> Result<Option<Secret>, VaultError>;

    /// Stores this secret in place of the previous one.
    ///
    /// # Errors
    /// When the keyring does not store it.
    fn put(&self, secret: &Secret) -> Result<(), VaultError>;

    /// Removes the secret from the keyring.
    ///
    /// # Errors
    /// When the keyring cannot be reached.
    fn clear(&self) -> Result<(), VaultError>;
}

/// The maximum time for an answer of the keyring. It is long because a person may have to unlock the keyring.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The desktop's keyring, used through `secret-tool`, the program of libsecret. A library would bring an
/// implementation of D-Bus, for two calls in the life of a daemon.
#[derive(Clone, Debug)]
pub struct SecretTool {
    program: PathBuf,
    /// The directory of the vault. One keyring may hold the keys of several vaults.
    vault: String,
}

impl SecretTool {
    /// Returns a keyring that uses this program, for the vault in this directory.
    pub fn new(program: &Path, vault: &Path) -> SecretTool {
        SecretTool { program: program.to_owned(), vault: vault.to_string_lossy().into_owned() }
    }

    /// Runs the program. Secret values go through a pipe, never through arguments or the environment.
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
            // If the program does not read its input, its exit status shows the failure.
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
        // A key is shorter than the buffer of any pipe. So one read gets all of it, even if another process still has
        // the other end open.
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
        // The program fails in the same way if it has no key and if it cannot look for one. Both count as no key.
        let (done, secret) = self.ask(&["lookup"], None)?;
        Ok((done && !secret.is_empty()).then_some(secret))
    }

    fn put(&self, secret: &Secret) -> Result<(), VaultError> {
        let (done, _) = self.ask(&["store", "--label=Almoner vault"], Some(secret))?;
        // The key is read back, because only then is it certain that the keyring stored it.
        if done && self.get()?.is_some_and(|kept| kept.reveal().trim_end() == secret.reveal().trim_end()) {
            return Ok(());
        }
        Err(VaultError::Keyring("it did not keep the key".to_owned()))
    }

    fn clear(&self) -> Result<(), VaultError> {
        self.ask(&["clear"], None).map(|_| ())
    }
}
