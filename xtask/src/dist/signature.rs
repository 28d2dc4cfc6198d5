//! The signature of a release, which OpenSSH makes and checks: nearly every machine has it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::checksums;
use crate::process::{output, run, shown};

/// The purpose that is signed along, so that no other signature of the key passes for a release.
const NAMESPACE: &str = "almoner-release";

/// The name of the signer in the list of keys.
const SIGNER: &str = "release@almoner";

/// The file with the key that the signature is checked against, in the form of `ssh-keygen`.
pub(super) const SIGNERS: &str = "allowed_signers";

/// The name of the signature.
pub(super) const FILE: &str = "SHA256SUMS.sig";

/// The key that signs a release.
pub(super) enum SigningKey {
    /// A key of the person who makes the release.
    Own(PathBuf),
    /// A key that is made for this build, and thrown away.
    Made,
}

/// Signs the digests in a folder, and writes the list of keys beside them.
///
/// # Errors
/// When the key cannot be used.
pub(super) fn sign(folder: &Path, key: &SigningKey) -> Result<()> {
    let made = tempfile::tempdir().context("cannot make a folder for a key")?;
    let key = match key {
        SigningKey::Own(key) => key.clone(),
        SigningKey::Made => {
            let key = made.path().join("key");
            let mut command = Command::new("ssh-keygen");
            command.args(["-q", "-t", "ed25519", "-N", "", "-C", "made for one build", "-f"]).arg(&key);
            output(&mut command)?;
            key
        }
    };
    let signature = folder.join(FILE);
    if signature.exists() {
        fs::remove_file(&signature).with_context(|| format!("cannot remove {}", signature.display()))?;
    }
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", "sign", "-q", "-n", NAMESPACE, "-f"]).arg(&key).arg(folder.join(checksums::FILE));
    if !run(&mut command)? || !signature.is_file() {
        bail!("cannot sign with {}: the message of ssh-keygen is above", key.display());
    }
    let public = output(Command::new("ssh-keygen").args(["-y", "-f"]).arg(&key))?;
    let mut words = public.split_whitespace();
    let (kind, text) =
        (words.next().unwrap_or_default(), words.next().context("the key has no public half")?);
    let line = format!("{SIGNER} namespaces=\"{NAMESPACE}\" {kind} {text}\n");
    fs::write(folder.join(SIGNERS), line).with_context(|| format!("cannot write {SIGNERS}"))
}

/// Returns the command with which a person checks a signature, in the folder of the release.
fn check_command() -> Command {
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", "verify", "-n", NAMESPACE, "-I", SIGNER, "-f", SIGNERS, "-s", FILE]);
    command
}

/// Returns that command as a person types it.
pub(super) fn shown_check() -> String {
    format!("{} < {} && sha256sum --check {}", shown(&check_command()), checksums::FILE, checksums::FILE)
}

/// Checks the signature and the digests in a folder with the programs that a user has.
///
/// # Errors
/// When one of them does not hold.
pub(super) fn check(folder: &Path) -> Result<()> {
    let sums = fs::File::open(folder.join(checksums::FILE)).context("cannot read the digests")?;
    let checked = check_command()
        .current_dir(folder)
        .stdin(sums)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .context("cannot start ssh-keygen")?;
    if !checked.status.success() {
        let said = String::from_utf8_lossy(&checked.stderr);
        bail!("the signature does not hold: {}", said.trim());
    }
    let arguments = ["--check", "--strict", "--quiet", checksums::FILE];
    output(Command::new("sha256sum").args(arguments).current_dir(folder))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{FILE, SIGNERS, SigningKey, check, sign};
    use crate::dist::checksums;
    use crate::process::output;

    #[test]
    fn signature_fails_for_changed_digests_files_and_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::fs::write(path.join("almoner.deb"), "package").unwrap();
        let sums = checksums::text(path, &["almoner.deb".to_owned()]).unwrap();
        std::fs::write(path.join(checksums::FILE), &sums).unwrap();
        sign(path, &SigningKey::Made).unwrap();
        check(path).unwrap();

        std::fs::write(path.join("almoner.deb"), "another package").unwrap();
        assert!(check(path).is_err(), "a file was changed");
        let changed = checksums::text(path, &["almoner.deb".to_owned()]).unwrap();
        std::fs::write(path.join(checksums::FILE), changed).unwrap();
        let fault = check(path).unwrap_err().to_string();
        assert!(fault.contains("the signature does not hold"), "{fault}");

        // The same release, signed by somebody else.
        let signers = std::fs::read(path.join(SIGNERS)).unwrap();
        sign(path, &SigningKey::Made).unwrap();
        check(path).unwrap();
        std::fs::write(path.join(SIGNERS), signers).unwrap();
        assert!(check(path).is_err(), "the key was changed");
        assert!(path.join(FILE).is_file());
    }

    #[test]
    fn own_key_signs_and_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let key = path.join("key");
        let arguments = ["-q", "-t", "ed25519", "-N", "", "-C", "me", "-f"];
        output(Command::new("ssh-keygen").args(arguments).arg(&key)).unwrap();
        std::fs::write(path.join(checksums::FILE), checksums::text(path, &["key".to_owned()]).unwrap())
            .unwrap();
        sign(path, &SigningKey::Own(key.clone())).unwrap();
        check(path).unwrap();
        let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
        let listed = std::fs::read_to_string(path.join(SIGNERS)).unwrap();
        assert!(listed.contains(public.split_whitespace().nth(1).unwrap()), "{listed}");
        assert!(sign(path, &SigningKey::Own(path.join("absent"))).is_err());
    }
}
