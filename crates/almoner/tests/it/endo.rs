//! Endo's own client against the daemon: the Node suite in `tests/endo`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kill_sweep;

/// How many cases there must be: a suite that does not run holds nothing.
const CASES: usize = 177;

/// Returns the folder of tools that tests need: `test-tools` in the target directory, unless `ALMONER_TEST_TOOLS`
/// names another.
pub(crate) fn tools() -> PathBuf {
    let beside = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools");
    std::env::var_os("ALMONER_TEST_TOOLS").map_or_else(beside, PathBuf::from)
}

/// Returns the suite, copied to where Node finds the packages that it uses.
fn suite(tools: &Path) -> tempfile::TempDir {
    let captp = tools.join("node_modules/@endo/captp");
    assert!(captp.is_dir(), "{} is missing: `cargo xtask tools` installs it", captp.display());
    let folder = tempfile::Builder::new().prefix("endo-suite-").tempdir_in(tools).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/endo");
    for file in std::fs::read_dir(source).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    // An archive that Endo's own tool has packed.
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vat/tests/archives/tally.zip");
    std::fs::copy(archive, folder.path().join("tally.zip")).unwrap();
    folder
}

#[test]
fn endo_client_suite_passes_against_the_daemon() {
    let tools = tools();
    let suite = suite(&tools);
    // Short, for the sake of the socket's path.
    let place = tempfile::Builder::new().prefix("endo-").tempdir().unwrap();
    let output = Command::new(tools.join("node_modules/.bin/node"))
        .arg(suite.path().join("suite.mjs"))
        .env("ALMONER", env!("CARGO_BIN_EXE_almoner"))
        .env("ENDO_SUITE_FOLDER", place.path())
        .env("ENDO_SUITE_CRASHES", if kill_sweep::is_full() { "50" } else { "7" })
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = said.lines().filter(|line| line.starts_with("ok ")).count();
    let log = std::fs::read_to_string(place.path().join("daemon.log")).unwrap_or_default();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && passed >= CASES,
        "{passed} passed\n{said}\n{errors}\nthe daemon's log:\n{log}"
    );
}
