use std::os::unix::fs::PermissionsExt as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::keyring::SecretTool;

/// A keyring in memory.
#[derive(Default)]
struct MemoryKeyring(Mutex<Option<Secret>>);

impl Keyring for MemoryKeyring {
    fn get(&self) -> Result<Option<Secret>, VaultError> {
        Ok(self.0.lock().unwrap().clone())
    }
    fn put(&self, secret: &Secret) -> Result<(), VaultError> {
        *self.0.lock().unwrap() = Some(secret.clone());
        Ok(())
    }
    fn clear(&self) -> Result<(), VaultError> {
        *self.0.lock().unwrap() = None;
        Ok(())
    }
}

fn site(dir: &Path) -> Site {
    Site::new(dir, Some(Arc::new(MemoryKeyring::default()))).with_work(2)
}

fn opened(site: &Site, passphrase: &Secret) -> String {
    let vault = site.open(Some(passphrase)).unwrap().unwrap();
    vault.get("A").map_or("-", |entry| entry.value.reveal()).to_owned()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn every_key_protection_reopens_the_vault_and_hides_values() {
    let passphrase = Secret::new("correct horse");
    for how in [ProtectionChoice::Keyring, ProtectionChoice::Passphrase(&passphrase), ProtectionChoice::File]
    {
        let dir = tempfile::tempdir().unwrap();
        let site = site(dir.path());
        assert!(site.open(None).unwrap().is_none() && site.protection().unwrap().is_none());
        let mut vault = site.create(how).unwrap();
        vault.set("A", Secret::new("swordfish"), None, 1).unwrap();
        assert_eq!(site.protection().unwrap(), Some(how.kind()));
        assert_eq!(opened(&site, &passphrase), "swordfish");
        assert!(!format!("{vault:?}{:?}", vault.get("A")).contains("swordfish"));
        assert_eq!(mode(&site.vault()), 0o600);
        if site.key().exists() {
            assert_eq!(mode(&site.key()), 0o600);
        }
        let bytes = std::fs::read(site.vault()).unwrap();
        assert!(!bytes.windows(9).any(|part| part == b"swordfish"));
    }
}

#[test]
fn vault_without_its_key_stays_closed() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(dir.path());
    let passphrase = Secret::new("correct horse");
    site.create(ProtectionChoice::Passphrase(&passphrase)).unwrap();
    assert!(matches!(site.open(None), Err(VaultError::Locked)));
    assert!(matches!(site.open(Some(&Secret::new("wrong"))), Err(VaultError::WrongPassphrase)));
    std::fs::remove_file(site.key()).unwrap();
    assert!(matches!(site.open(Some(&passphrase)), Err(VaultError::NoKey { .. })));
    assert_eq!(site.protection().unwrap(), Some(Protection::KeyMissing));
    // This is the key of another vault.
    let other = tempfile::tempdir().unwrap();
    Site::new(other.path(), None).create(ProtectionChoice::File).unwrap();
    std::fs::copy(other.path().join("vault.key"), site.key()).unwrap();
    assert!(matches!(site.open(None), Err(VaultError::NoKey { .. })));
    assert_eq!(site.protection().unwrap(), Some(Protection::KeyMissing));
    assert!(site.key_missing().help().starts_with("unlock the keyring of your session"));
    let help = Site::new(Path::new("/a b"), None).key_missing().help();
    assert!(help.starts_with("`cp"), "{help}");
    assert!(help.contains("`cp vault.key '/a b/vault.key'`"), "{help}");
    assert!(help.contains("-T '/a b/vault.age' '/a b/vault.age.without-key'`"), "{help}");
}

#[test]
fn replaced_vault_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(dir.path());
    let mut vault = site.create(ProtectionChoice::File).unwrap();
    vault.set("A", Secret::new("swordfish"), None, 1).unwrap();
    let other = tempfile::tempdir().unwrap();
    let put_back = Site::new(other.path(), None).create(ProtectionChoice::File).unwrap();
    std::fs::copy(put_back.site.vault(), site.vault()).unwrap();
    let before = std::fs::read(site.vault()).unwrap();
    assert!(matches!(vault.set("B", Secret::new("x"), None, 2), Err(VaultError::Replaced { .. })));
    assert!(matches!(vault.rotate_key(ProtectionChoice::File), Err(VaultError::Replaced { .. })));
    assert_eq!(std::fs::read(site.vault()).unwrap(), before);
    std::fs::remove_file(site.vault()).unwrap();
    assert!(matches!(vault.remove("A"), Err(VaultError::Replaced { .. })));
    assert!(vault.get("A").is_some() && vault.get("B").is_none());
}

#[test]
fn new_vault_keeps_the_earlier_key() {
    let passphrase = Secret::new("correct horse");
    for how in [ProtectionChoice::File, ProtectionChoice::Keyring, ProtectionChoice::Passphrase(&passphrase)]
    {
        let dir = tempfile::tempdir().unwrap();
        let site = site(dir.path());
        site.create(how).unwrap().set("A", Secret::new("swordfish"), None, 1).unwrap();
        let aside = dir.path().join("aside");
        std::fs::rename(site.vault(), &aside).unwrap();
        site.create(how).unwrap().set("A", Secret::new("another"), None, 1).unwrap();
        assert_eq!(opened(&site, &passphrase), "another");
        // The earlier vault and its key, back in their places.
        std::fs::rename(&aside, site.vault()).unwrap();
        let earlier = dir.path().join("vault.key.earlier-1");
        if earlier.exists() {
            std::fs::rename(earlier, site.key()).unwrap();
        }
        assert_eq!(opened(&site, &passphrase), "swordfish");
    }
}

#[test]
fn damaged_vault_is_reported_as_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(dir.path());
    site.create(ProtectionChoice::File).unwrap().set("A", Secret::new("swordfish"), None, 1).unwrap();
    let whole = std::fs::read(site.vault()).unwrap();
    for damaged in [&whole[..whole.len() - 1], &whole[..10], b"", b"age-encryption.org/v1\n"] {
        std::fs::write(site.vault(), damaged).unwrap();
        assert!(matches!(site.open(None), Err(VaultError::Damaged { .. })), "{} bytes", damaged.len());
    }
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    std::fs::write(site.vault(), changed).unwrap();
    assert!(matches!(site.open(None), Err(VaultError::Damaged { .. })));
}

/// Changes a vault once for each step at which a crash can happen, and checks the vault that is left.
fn crash_at_every_step(
    passphrase: &Secret,
    from: ProtectionChoice<'_>,
    act: impl Fn(&mut Vault) -> Result<(), VaultError>,
) {
    for at in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let site = site(dir.path());
        site.create(from).unwrap().set("A", Secret::new("old"), None, 1).unwrap();
        let mut vault = site.open(Some(passphrase)).unwrap().unwrap();
        let left = AtomicUsize::new(at);
        vault.site.step = Arc::new(move || {
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
                Ok(_) => Ok(()),
                Err(_) => Err(io::Error::other("cut off")),
            }
        });
        let done = act(&mut vault);
        let found = opened(&site, passphrase);
        assert!(["old", "new"].contains(&found.as_str()), "step {at}: {found}");
        // The value in memory is the one on disk. Or the disk already has the new value, which was not synced.
        let kept = vault.get("A").map(|entry| entry.value.reveal().to_owned());
        assert!(kept.as_deref() == Some(found.as_str()) || found == "new", "step {at}");
        if done.is_ok() {
            return;
        }
    }
}

#[test]
fn crash_during_a_change_leaves_the_old_or_the_new_value() {
    let passphrase = Secret::new("correct horse");
    for from in [ProtectionChoice::File, ProtectionChoice::Passphrase(&passphrase), ProtectionChoice::Keyring]
    {
        crash_at_every_step(&passphrase, from, |vault| vault.set("A", Secret::new("new"), None, 2));
    }
}

#[test]
fn crash_during_key_rotation_leaves_a_vault_that_opens() {
    let passphrase = Secret::new("correct horse");
    let ways = [ProtectionChoice::File, ProtectionChoice::Passphrase(&passphrase), ProtectionChoice::Keyring];
    for from in ways {
        for to in ways {
            crash_at_every_step(&passphrase, from, |vault| vault.rotate_key(to));
        }
    }
}

#[test]
fn old_key_opens_nothing_after_key_rotation() {
    let dir = tempfile::tempdir().unwrap();
    let site = site(dir.path());
    let mut vault = site.create(ProtectionChoice::File).unwrap();
    let old = std::fs::read(site.key()).unwrap();
    vault.rotate_key(ProtectionChoice::File).unwrap();
    let new = std::fs::read(site.key()).unwrap();
    assert_eq!(new.len(), old.len());
    std::fs::write(site.key(), old).unwrap();
    assert!(matches!(site.open(None), Err(VaultError::NoKey { .. })));
    std::fs::write(site.key(), new).unwrap();
    assert!(site.open(None).unwrap().is_some());
    vault.rotate_key(ProtectionChoice::Keyring).unwrap();
    assert!(!site.key().exists());
    assert_eq!(site.open(None).unwrap().unwrap().protection(), Protection::Keyring);
}

#[test]
fn keyring_program_gets_the_key_through_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("tool");
    // This program replaces `secret-tool`. It keeps its input in a file, and records the arguments of each call.
    let script = "#!/bin/sh\necho \"$@\" >> \"$0.calls\"\ncase \"$1\" in\nstore) cat > \"$0.kept\";;\n\
        lookup) cat \"$0.kept\" 2>/dev/null;;\nclear) rm -f \"$0.kept\";;\nesac\n";
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let site = Site::new(dir.path(), Some(Arc::new(SecretTool::new(&program, dir.path()))));
    site.create(ProtectionChoice::Keyring).unwrap().set("A", Secret::new("swordfish"), None, 1).unwrap();
    assert!(!site.key().exists());
    let vault = site.open(None).unwrap().unwrap();
    assert_eq!(
        (vault.get("A").unwrap().value.reveal(), vault.protection()),
        ("swordfish", Protection::Keyring)
    );
    let calls = std::fs::read_to_string(dir.path().join("tool.calls")).unwrap();
    assert!(calls.contains("store --label") && calls.contains("application almoner vault"), "{calls}");
    assert!(!calls.contains("AGE-SECRET-KEY"));
    // A keyring that stores nothing is noticed before the vault depends on it.
    std::fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
    let other = tempfile::tempdir().unwrap();
    let site = Site::new(other.path(), Some(Arc::new(SecretTool::new(&program, other.path()))));
    assert!(matches!(site.create(ProtectionChoice::Keyring), Err(VaultError::Keyring(_))));
    assert!(!site.vault().exists());
}
