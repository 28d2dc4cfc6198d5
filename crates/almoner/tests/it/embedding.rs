//! The programs of `docs/embedding.md`, against a real daemon. A scripted model stands for the model.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::test_home::{Said, TestHome};
use crate::wire::{Control, VERSION};

const PAGE: &str = include_str!("../../../../docs/embedding.md");

const SCRIPT: &str = r#"[{"turns": [
    {"calls": [{"name": "out_write", "arguments": {"path": "order-7.md", "content": "two chairs\n"}}]},
    {"text": "7"}
]}]"#;

/// Returns the code blocks of the page, by the file name that follows their language.
fn blocks() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = PAGE;
    while let Some((_, after)) = rest.split_once("\n```") {
        let (head, after) = after.split_once('\n').unwrap();
        let (text, after) = after.split_once("```\n").unwrap();
        let name = head.split_once(' ').unwrap_or_else(|| panic!("the block `{head}` has no file name")).1;
        assert!(text.lines().count() <= 52, "{name} does not fit on a screen");
        found.insert(name.to_owned(), text.to_owned());
        rest = after;
    }
    found
}

/// Returns the command that runs a program of the page.
fn program(home: &TestHome, name: &str) -> Command {
    let interpreter = if name.ends_with(".sh") { "sh" } else { "python3" };
    let mut command = Command::new(interpreter);
    let almoner = Path::new(env!("CARGO_BIN_EXE_almoner")).parent().unwrap();
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(almoner.to_owned()).chain(std::env::split_paths(&inherited)))
            .unwrap();
    command
        .arg(home.path(name))
        .current_dir(home.work())
        .env("PATH", path)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONPATH", client())
        .env("ALMONER_HOME", home.root())
        .env("ALMONER_MODEL", model(home))
        .env("ALMONER_KEYRING", "none")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Returns the folder of the client for Python.
fn client() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/python/src")
}

fn model(home: &TestHome) -> String {
    format!("scripted:{}", home.path("script.json").display())
}

/// Runs a program of the page, with these lines typed by a person.
fn run(home: &TestHome, name: &str, typed: &str) -> Said {
    let mut child = program(home, name).spawn().unwrap();
    // A program that asks nothing may end first.
    let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
    Said::of(child.wait_with_output().unwrap())
}

/// Returns a home with the files of the page, whose daemon has a usual model.
fn home() -> TestHome {
    let home = TestHome::new();
    for (name, text) in blocks() {
        // The page is right for this version, and the one before.
        let version = text.lines().find_map(|line| line.split_once("\"version\": ")?.1.split(',').next());
        if let Some(version) = version {
            let version: u32 = version.parse().unwrap();
            assert!(version == VERSION || version + 1 == VERSION, "{name} speaks version {version}");
        }
        home.write(&name, text);
    }
    home.write("order.txt", "Order 7: two chairs.\n");
    home.write("script.json", SCRIPT);
    std::fs::create_dir(home.path("out")).unwrap();
    let daemon = home.command(&["status"]).env("ALMONER_MODEL", model(&home)).output().unwrap();
    Said::of(daemon).expect(0);
    home
}

#[test]
fn every_program_of_the_page_gets_the_result_of_one_run() {
    let programs: Vec<String> = blocks().into_keys().filter(|name| !name.ends_with(".worker")).collect();
    assert_eq!(programs, ["order.sh", "order_client.py", "order_protocol.py"]);
    for name in &programs {
        let home = home();
        let said = run(&home, name, "y\n").expect(0);
        assert_eq!(said.out, "7\n", "{name}: {}", said.err);
        assert!(
            said.err.contains("two chairs") && said.err.contains("May it do this?"),
            "{name}: {}",
            said.err
        );
        assert_eq!(home.read("out/order-7.md"), "two chairs\n", "{name}");
        // The same program again finds the run, and asks nothing.
        let again = run(&home, name, "").expect(0);
        assert_eq!(again.out, "7\n", "{name}: {}", again.err);
        assert!(!again.err.contains("May it do this?"), "{name}: {}", again.err);
        let runs = home.almoner(&["runs", "--json"]).expect(0).json();
        assert_eq!(runs.as_array().unwrap().len(), 1, "{name}");
    }
}

#[test]
fn denied_card_of_a_program_changes_nothing() {
    for name in ["order.sh", "order_client.py", "order_protocol.py"] {
        let home = home();
        let said = run(&home, name, "n\n").expect(0);
        assert_eq!(said.out, "7\n", "{name}: {}", said.err);
        assert!(!home.path("out/order-7.md").exists(), "{name}");
    }
}

#[test]
fn killed_program_goes_on_with_the_run_that_it_began() {
    let home = home();
    let mut child = program(&home, "order_protocol.py").spawn().unwrap();
    let mut control = Control::open(&home);
    let family = serde_json::json!({ "request": "family", "run": 1 });
    while control.ask(&family)["body"]["asked"] != serde_json::json!([1]) {
        assert!(child.try_wait().unwrap().is_none(), "the program ended");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(run(&home, "order_protocol.py", "y\n").expect(0).out, "7\n");
    assert_eq!(home.almoner(&["runs", "--json"]).expect(0).json().as_array().unwrap().len(), 1);
}

/// Checks the example of the client's own page, also with a run that stalls.
#[test]
fn example_of_the_python_page_ends_whatever_the_run_does() {
    let page = include_str!("../../../../clients/python/README.md");
    let example = page.split_once("```python\n").unwrap().1.split_once("```").unwrap().0;
    for (script, printed) in [
        (r#"[{"turns": [{"text": "{\"answer\": \"hello\"}"}]}]"#, "{'answer': 'hello'}\n"),
        (r#"[{"turns": [{"error": "unauthorized"}]}]"#, "'state': 'stalled'"),
    ] {
        let home = home();
        home.write("script.json", script);
        home.write("example.py", example);
        let said = run(&home, "example.py", "").expect(0);
        assert!(said.out.contains(printed), "{said:?}");
    }
}
