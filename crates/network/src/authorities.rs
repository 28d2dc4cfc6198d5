//! The certificate authorities that may vouch for a server.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

use crate::error::NetworkError;

/// The largest file of certificates that is read, in bytes. The bundle of a system has some 200 KB.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The maximum number of files of a directory that are read.
const MAX_FILES: usize = 10_000;

/// The authorities, and the place where the user has named them.
#[derive(Clone, Debug)]
pub(crate) struct Authorities {
    roots: RootCerts,
    description: String,
}

impl Default for Authorities {
    fn default() -> Self {
        Authorities { roots: RootCerts::WebPki, description: "Mozilla's, as built in".to_owned() }
    }
}

impl Authorities {
    /// Returns the built-in authorities and those of one more file.
    pub(crate) fn with_file(place: &str, path: &Path) -> Result<Authorities, NetworkError> {
        let own = read(place, path)?;
        let description = format!("Mozilla's and {} of {} ({place})", own.len(), path.display());
        let built_in = webpki_root_certs::TLS_SERVER_ROOT_CERTS;
        let built_in = built_in.iter().map(|der| Certificate::from_der(der).to_owned());
        Ok(Authorities { roots: RootCerts::Specific(Arc::new(built_in.chain(own).collect())), description })
    }

    /// Returns the authorities of a file and of directories in place of the built-in ones, as OpenSSL does.
    pub(crate) fn in_place(file: Option<&OsStr>, dirs: Option<&OsStr>) -> Result<Authorities, NetworkError> {
        let (mut found, mut places) = (Vec::new(), Vec::new());
        if let Some(file) = file {
            found.extend(read("SSL_CERT_FILE", Path::new(file))?);
            places.push(format!("{} (SSL_CERT_FILE)", Path::new(file).display()));
        }
        for dir in dirs.into_iter().flat_map(std::env::split_paths).filter(|dir| !dir.as_os_str().is_empty())
        {
            found.extend(read_dir("SSL_CERT_DIR", &dir)?);
            places.push(format!("{} (SSL_CERT_DIR)", dir.display()));
        }
        let description = format!("{} of {}", found.len(), places.join(" and "));
        Ok(Authorities { roots: RootCerts::Specific(Arc::new(found)), description })
    }

    pub(crate) fn roots(&self) -> RootCerts {
        self.roots.clone()
    }

    pub(crate) fn description(&self) -> &str {
        &self.description
    }
}

/// Reads a file of certificates in PEM, or of one certificate in DER.
fn read(place: &str, path: &Path) -> Result<Vec<Certificate<'static>>, NetworkError> {
    let fail =
        |reason: String| NetworkError::Authorities { place: format!("{place} ({})", path.display()), reason };
    let length = fs::metadata(path).map_err(|e| fail(e.to_string()))?.len();
    if length > MAX_FILE_BYTES {
        return Err(fail("the file is too large".to_owned()));
    }
    let bytes = fs::read(path).map_err(|e| fail(e.to_string()))?;
    let found = certificates(&bytes);
    if found.is_empty() {
        return Err(fail("it holds no certificate".to_owned()));
    }
    Ok(found)
}

/// Reads all certificates of a directory. Files without any are left out, since keys and lists lie there too.
fn read_dir(place: &str, dir: &Path) -> Result<Vec<Certificate<'static>>, NetworkError> {
    let fail =
        |reason: String| NetworkError::Authorities { place: format!("{place} ({})", dir.display()), reason };
    let mut found: Vec<Certificate<'static>> = Vec::new();
    let entries = fs::read_dir(dir).map_err(|e| fail(e.to_string()))?;
    for entry in entries.filter_map(Result::ok).take(MAX_FILES) {
        // A certificate lies there twice: under its name, and as a link whose name is a hash.
        for one in read(place, &entry.path()).unwrap_or_default() {
            if !found.iter().any(|known| known.der() == one.der()) {
                found.push(one);
            }
        }
    }
    if found.is_empty() { Err(fail("it holds no certificate".to_owned())) } else { Ok(found) }
}

fn certificates(bytes: &[u8]) -> Vec<Certificate<'static>> {
    // A file of one certificate in DER begins with the tag of a sequence.
    if bytes.first() == Some(&0x30) {
        return vec![Certificate::from_der(bytes).to_owned()];
    }
    let items = parse_pem(bytes).filter_map(Result::ok);
    items
        .filter_map(|item| match item {
            PemItem::Certificate(one) => Some(one.to_owned()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEM: &str = "some words\n-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";

    #[test]
    fn unusable_authorities_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("good.pem"), PEM).unwrap();
        fs::write(path("none.pem"), "no certificate").unwrap();
        let refused = |made: Result<Authorities, NetworkError>| made.unwrap_err().to_string();
        for (name, reason) in [("none.pem", "no certificate"), ("missing.pem", "No such file"), ("", "")] {
            let error = refused(Authorities::in_place(Some(path(name).as_os_str()), None));
            assert!(error.contains("SSL_CERT_FILE") && error.contains(reason), "{error}");
            let error = refused(Authorities::with_file("[network] ca_file", &path(name)));
            assert!(error.contains("[network] ca_file"), "{error}");
        }
        let empty = tempfile::tempdir().unwrap();
        assert!(
            refused(Authorities::in_place(None, Some(empty.path().as_os_str()))).contains("SSL_CERT_DIR")
        );
    }

    #[test]
    fn certificates_of_a_directory_count_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.pem"), PEM).unwrap();
        std::os::unix::fs::symlink("a.pem", dir.path().join("1234abcd.0")).unwrap();
        fs::write(
            dir.path().join("key.pem"),
            "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n",
        )
        .unwrap();
        fs::write(dir.path().join("b.der"), [0x30, 1, 0]).unwrap();
        let made = Authorities::in_place(None, Some(dir.path().as_os_str())).unwrap();
        assert!(made.description().starts_with("2 of "), "{}", made.description());
        let more = Authorities::with_file("[network] ca_file", &dir.path().join("a.pem")).unwrap();
        assert!(more.description().starts_with("Mozilla's and 1 of"), "{}", more.description());
        let RootCerts::Specific(all) = more.roots() else { panic!("the built-in ones alone") };
        assert!(all.len() > 100, "{}", all.len());
    }
}
