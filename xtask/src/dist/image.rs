//! The image: an OCI layout in one tar file, as `docker load`, `podman load` and skopeo read it.
//!
//! Its lower layer has glibc from Debian's stable release and nothing that runs a command, so that a hole in a shell is
//! no hole of the image. Its upper layer has Almoner and an unprivileged user. The four documents of the form are
//! small; the trial of a release has skopeo and umoci read them.

use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::archive::{FileTree, Node, NodeKind, gzip};
use super::checksums::sha256;
use super::package::Parts;
use super::source::{EPOCH, Source};
use super::target::Target;
use crate::process::run;

/// Debian's release in the lower layer.
const RELEASE: &str = "trixie";

/// The packages in the lower layer: glibc, and the name of the system for scanners.
const PACKAGES: &str = "libc6,base-files";

/// The user as whom the image runs, which no image of others uses for a person.
const USER: u64 = 65532;

/// The user's home, where its state lies.
const HOME: &str = "home/almoner";

/// Writes down the packages where scanners of images look for them.
const RECORD_PACKAGES: &str = "mkdir -p \"$1/var/lib/dpkg/status.d\" && \
    for deb in \"$1\"/var/cache/apt/archives/*.deb; do \
    dpkg-deb --field \"$deb\" > \"$1/var/lib/dpkg/status.d/$(dpkg-deb --field \"$deb\" Package)\" || exit 1; done";

/// Files of the packages and of their unpacking that no program in the image reads.
const OMITTED: &[&str] = &[
    "boot",
    "dev",
    "etc/apt",
    "etc/hostname",
    "etc/resolv.conf",
    "usr/bin/mawk",
    "usr/share/doc/mawk/examples",
    "usr/share/man",
    "var/cache/apt",
    "var/lib/apt",
    "var/log/apt",
];

/// Builds the image for a target and returns the tar file.
///
/// # Errors
/// When Debian's packages cannot be fetched.
pub(super) fn build(
    source: &Source,
    target: &Target,
    version: &str,
    parts: &Parts,
    license: &str,
    scratch: &Path,
) -> Result<Vec<u8>> {
    let Some(architecture) = target.debian else {
        bail!("cannot build an image for {}", target.triple);
    };
    let base = scratch.join("base.tar");
    fetch_base(source, architecture, &base)?;
    let lower = read_base(&std::fs::read(&base).with_context(|| format!("cannot read {}", base.display()))?)?;
    let upper = upper_layer(parts, license);
    let mut blobs = FileTree::default();
    let mut layers = Vec::new();
    let mut diff_ids = Vec::new();
    for layer in [lower, upper] {
        let bytes = layer.tar(source.epoch)?;
        diff_ids.push(format!("sha256:{}", sha256(&bytes)));
        let kind = "application/vnd.oci.image.layer.v1.tar+gzip";
        layers.push(add_blob(&mut blobs, kind, gzip(&bytes)?));
    }
    let labels = json!({
        "org.opencontainers.image.title": "almoner",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": source.commit,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.base.name": format!("debian:{RELEASE}"),
    });
    let config = json!({
        "created": source.time()?,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/bin:/bin", format!("HOME=/{HOME}")],
            "Entrypoint": ["/usr/bin/almoner"],
            "Cmd": ["--help"],
            "Volumes": { format!("/{HOME}"): {} },
            "WorkingDir": format!("/{HOME}"),
            "Labels": labels,
        },
        "rootfs": { "type": "layers", "diff_ids": diff_ids },
        "history": [
            { "created": source.time()?, "created_by": format!("Debian {RELEASE}: {PACKAGES}") },
            { "created": source.time()?, "created_by": format!("Almoner {version}") },
        ],
    });
    let config =
        add_blob(&mut blobs, "application/vnd.oci.image.config.v1+json", serde_json::to_vec(&config)?);
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({
        "schemaVersion": 2, "mediaType": kind, "config": config, "layers": layers, "annotations": labels,
    });
    let mut manifest = add_blob(&mut blobs, kind, serde_json::to_vec(&manifest)?);
    manifest["platform"] = json!({ "architecture": architecture, "os": "linux" });
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": version });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    blobs.add("index.json", serde_json::to_vec(&index)?);
    blobs.add("oci-layout", serde_json::to_vec(&json!({ "imageLayoutVersion": "1.0.0" }))?);
    blobs.tar(source.epoch)
}

/// Adds bytes under their digest and returns their descriptor.
fn add_blob(blobs: &mut FileTree, kind: &str, bytes: Vec<u8>) -> Value {
    let digest = sha256(&bytes);
    let descriptor = json!({ "mediaType": kind, "digest": format!("sha256:{digest}"), "size": bytes.len() });
    blobs.add(&format!("blobs/sha256/{digest}"), bytes);
    descriptor
}

/// Has Debian's tools fetch the packages, check their signatures, and unpack them without running anything in them.
fn fetch_base(source: &Source, architecture: &str, file: &Path) -> Result<()> {
    let mut command = Command::new("mmdebstrap");
    command
        .args(["--quiet", "--variant=extract"])
        .arg(format!("--architectures={architecture}"))
        .arg(format!("--include={PACKAGES}"))
        .arg(format!("--extract-hook={RECORD_PACKAGES}"))
        .arg(RELEASE)
        .arg(file)
        .env(EPOCH, source.epoch.to_string());
    if !run(&mut command)? {
        bail!("cannot fetch Debian's packages for the image: the message of mmdebstrap is above");
    }
    Ok(())
}

/// Reads the archive of the unpacked packages.
fn read_base(bytes: &[u8]) -> Result<FileTree> {
    let mut tree = FileTree::default();
    for entry in tar::Archive::new(bytes).entries()? {
        let mut entry = entry.context("the archive of Debian's packages is damaged")?;
        let path = entry.path()?.to_string_lossy().trim_start_matches("./").trim_end_matches('/').to_owned();
        let is_omitted = |omitted: &&str| {
            path.strip_prefix(*omitted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if path.is_empty() || OMITTED.iter().any(is_omitted) {
            continue;
        }
        let header = entry.header().clone();
        let kind = match header.entry_type() {
            tar::EntryType::Directory => NodeKind::Directory,
            tar::EntryType::Regular => {
                let mut content = Vec::new();
                entry.read_to_end(&mut content)?;
                NodeKind::File(content)
            }
            tar::EntryType::Symlink => {
                let target = entry.link_name()?.context("a link leads nowhere")?;
                NodeKind::Link(target.to_string_lossy().into_owned())
            }
            other => bail!("cannot take {path} into the image: it is of the kind {other:?}"),
        };
        tree.0.insert(path, Node { kind, mode: header.mode()?, owner: header.uid()? });
    }
    Ok(tree)
}

/// Returns the layer with Almoner and its user.
fn upper_layer(parts: &Parts, license: &str) -> FileTree {
    let mut tree = parts.portable(license).below("usr");
    tree.add(
        "etc/passwd",
        format!(
            "root:x:0:0:root:/root:/usr/sbin/nologin\n\
             almoner:x:{USER}:{USER}:Almoner:/{HOME}:/usr/sbin/nologin\n"
        ),
    );
    tree.add("etc/group", format!("root:x:0:\nalmoner:x:{USER}:\n"));
    tree.0.insert(HOME.to_owned(), Node { kind: NodeKind::Directory, mode: 0o700, owner: USER });
    tree
}

#[cfg(test)]
mod tests {
    use super::super::archive::{FileTree, NodeKind};
    use super::{add_blob, read_base};

    #[test]
    fn base_keeps_libraries_and_leaves_out_the_rest() {
        let mut tree = FileTree::default();
        tree.add("./usr/lib/libc.so.6", "library");
        tree.add_node("./lib", NodeKind::Link("usr/lib".to_owned()), 0o777);
        tree.add("./etc/hostname", "the name of this machine");
        tree.add("./usr/share/man/man1/mawk.1.gz", "page");
        tree.add("./etc/hostnames", "another file");
        let kept = read_base(&tree.tar(0).unwrap()).unwrap();
        let paths: Vec<&str> = kept.0.keys().map(String::as_str).collect();
        assert_eq!(
            paths,
            ["etc", "etc/hostnames", "lib", "usr", "usr/lib", "usr/lib/libc.so.6", "usr/share"]
        );
        assert!(matches!(&kept.0["lib"].kind, NodeKind::Link(to) if to == "usr/lib"));
    }

    #[test]
    fn blob_is_named_by_its_digest() {
        let mut blobs = FileTree::default();
        let descriptor = add_blob(&mut blobs, "text/plain", b"abc".to_vec());
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(descriptor["digest"], format!("sha256:{digest}"));
        assert_eq!(descriptor["size"], 3);
        assert!(blobs.0.contains_key(&format!("blobs/sha256/{digest}")));
    }
}
