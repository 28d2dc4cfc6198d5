//! Homes that earlier builds wrote: this build opens each of them, answers its waiting card, and reads its runs.
//!
//! `cargo xtask fixture-home` writes one such home for each release into the folder `homes`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::test_home::TestHome;

/// The folder of homes that earlier builds wrote.
const HOMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/homes");

/// Unpacks a home, and returns what its writer says about it.
fn unpack(archive: &Path, to: &Path) -> Json {
    let file = fs::File::open(archive).unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(file)).unpack(to).unwrap();
    serde_json::from_slice(&fs::read(to.join("fixture.json")).unwrap()).unwrap()
}

fn fixtures() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(HOMES).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.to_string_lossy().ends_with(".tar.gz"));
    all.sort();
    assert!(!all.is_empty(), "`cargo xtask fixture-home` writes one");
    all
}

/// Returns the version in the head of a database.
fn version(db: &Path) -> u32 {
    let head = fs::read(db).unwrap();
    u32::from_be_bytes(head[60..64].try_into().unwrap())
}

#[test]
fn homes_of_earlier_releases_are_upgraded() {
    for archive in fixtures() {
        let name = archive.file_name().unwrap().to_string_lossy().into_owned();
        let old = TestHome::new();
        let unpacked = old.path("unpacked");
        let fixture = unpack(&archive, &unpacked);
        let text = |key: &str| fixture[key].as_str().unwrap_or_else(|| panic!("{name}: {key}")).to_owned();
        fs::rename(unpacked.join("home"), old.root()).unwrap();
        let db = old.root().join("state/store/almoner.sqlite");
        let before = version(&db);
        assert_eq!(fixture["store"], before, "{name}");
        let log = || fs::read_to_string(old.root().join("state/daemon.log")).unwrap_or_default();

        // The present build opens the home in its place.
        let runs = old.almoner(&["runs", "--all", "--json"]).expect(0).json();
        let runs = runs.as_array().unwrap();
        assert_eq!(runs.len() as u64, fixture["runs"].as_u64().unwrap(), "{name}");
        for run in runs {
            let run = format!("r{}", run["number"]);
            assert!(!old.trace(&run)["steps"].as_array().unwrap().is_empty(), "{name}: {run}");
            old.almoner(&["trace", &run]).expect(0);
        }
        assert!(old.almoner(&["inbox"]).expect(0).out.contains("approval"), "{name}");
        old.almoner(&["inbox", &text("card")]).expect(0);
        assert!(old.almoner(&["secret", "list"]).expect(0).out.contains("github"), "{name}");
        assert!(old.almoner(&["list"]).expect(0).out.contains("fae"), "{name}");
        let audit = old.almoner(&["audit", "verify"]).expect(0);
        assert!(audit.out.contains("each follows the one before"), "{name}: {audit:?}");
        let checks = old.almoner(&["doctor", "place", "settings", "daemon", "--json"]).json();
        for check in checks["checks"].as_array().unwrap() {
            assert_eq!(check["ok"], true, "{name}: {check}");
        }
        old.almoner(&["backup", "home.tar.gz", "--with-key"]).expect(0);
        old.almoner(&["stop"]).expect(0);
        let now = version(&db);
        let copy = old.root().join(format!("state/store.version-{before}.sqlite"));
        assert_eq!(copy.exists(), now > before, "{name}: the rows of before are kept exactly if they change");
        assert_eq!(log().contains("the store was migrated from version"), now > before, "{name}: {}", log());

        // It goes on at another place: the directories of the build machine are not here.
        let new = TestHome::new();
        fs::remove_dir(new.work()).unwrap();
        fs::rename(unpacked.join("work"), new.work()).unwrap();
        let map = format!("{}={}", text("work"), new.work().display());
        // The staged copies of the build machine lay in its home, which is unpacked at another place here.
        let home = Path::new(&text("work")).with_file_name("home");
        let home = format!("{}={}", home.display(), new.root().display());
        let backup = old.path("home.tar.gz");
        let args = ["restore", backup.to_str().unwrap(), "--map", &map, "--map", &home, "--yes"];
        new.almoner(&args).expect(0);
        new.almoner(&["approve", &text("card")]).expect(0);
        new.almoner(&["resume"]);
        assert_eq!(new.read(&text("writes")), text("content"), "{name}");
        let staged = text("staged");
        assert!(new.almoner(&["diff", &staged]).expect(0).out.contains("+staged"), "{name}");
        new.almoner(&["apply", &staged]).expect(0);
        assert_eq!(new.read(&text("applies")), "staged", "{name}");
        new.almoner(&["approve", &text("secret_card")]).expect(0);
        new.almoner(&["resume"]);
        let trace = new.trace(&text("secret_run")).to_string();
        assert!(trace.contains("⟦secret github⟧") && trace.contains("status 0"), "{name}: {trace}");
        new.almoner(&["audit", "verify"]).expect(0);
    }
}

/// The test above needs a home whose store has another version. Otherwise it would pass without any migration.
#[test]
fn one_home_at_least_needs_a_migration() {
    let home = TestHome::new();
    home.almoner(&["status"]).expect(0);
    home.almoner(&["stop"]).expect(0);
    let now = version(&home.root().join("state/store/almoner.sqlite"));
    let older = fixtures().iter().any(|archive| {
        let to = tempfile::tempdir().unwrap();
        unpack(archive, to.path())["store"].as_u64().unwrap() < u64::from(now)
    });
    assert!(older, "no home in {HOMES} is of an earlier version than {now}");
}
