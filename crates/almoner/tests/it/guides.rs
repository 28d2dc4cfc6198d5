//! The guides of `docs/guides`, typed as they say: each block with a name becomes a file, and each line of an `sh` block
//! runs in a shell, with a model that follows a script.

use std::path::{Path, PathBuf};

use crate::endo::tools;
use crate::test_home::{Said, TestHome};

const GUIDES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides");

/// The maximum number of lines of a guide: one screen.
const MAX_LINES: usize = 65;

/// Guides with blocks that need another machine or a service, and the number of these blocks.
const UNTRIED: [(&str, usize); 1] = [("answer-from-a-phone", 3)];

/// A block of a guide: its kind, the word behind the kind, and its text.
struct Block<'a> {
    kind: &'a str,
    name: &'a str,
    text: &'a str,
}

fn blocks(guide: &str) -> Vec<Block<'_>> {
    let fenced = guide.split("```").skip(1).step_by(2);
    let block = |text| {
        let (head, text) = str::split_once(text, '\n').expect("a block has a first line");
        let (kind, name) = head.split_once(' ').unwrap_or((head, ""));
        Block { kind, name, text }
    };
    fenced.map(block).collect()
}

fn guides() -> Vec<(String, String)> {
    let found = std::fs::read_dir(GUIDES).unwrap().map(|entry| entry.unwrap().path());
    let is_guide = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md");
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    let mut guides: Vec<_> = found.filter(is_guide).map(read).collect();
    guides.sort();
    guides
}

/// Runs a line in the working directory of a home, as a user would type it.
fn shell(home: &TestHome, bin: &Path, model: &Path, line: &str) -> Said {
    let almoner = home.command(&[]);
    let config = home.root().join("config");
    let line = line.replace("~/.config/almoner", config.to_str().unwrap());
    let mut command = std::process::Command::new("bash");
    command.args(["-ec", &line]).current_dir(home.work()).stdin(std::process::Stdio::null());
    for (name, value) in almoner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let own = [bin.to_owned(), tools().join("node_modules/.bin")].into_iter();
    let path = std::env::join_paths(own.chain(std::env::split_paths(&inherited))).unwrap();
    command.env("PATH", path).env("ALMONER_MODEL", format!("scripted:{}", model.display()));
    Said::of(command.output().unwrap())
}

/// Runs the commands of a guide. A run may wait for an answer (7), and nothing else may fail.
fn follow(name: &str, guide: &str) {
    let home = TestHome::new();
    let bin = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(home.command(&[]).get_program(), bin.path().join("almoner")).unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/guides/{name}.json"));
    let (mut untried, mut waited) = (0, 0);
    for block in blocks(guide) {
        match (block.kind, block.name) {
            ("sh", "") => {
                for line in block.text.lines() {
                    let said = shell(&home, bin.path(), &model, line);
                    let may_wait = line.starts_with("almoner run") || line == "almoner resume";
                    waited += usize::from(said.code == 7);
                    assert!(said.code == 0 || said.code == 7 && may_wait, "{name}: {line}\n{said:?}");
                }
            }
            ("sh", "untried") => untried += 1,
            ("sh", other) => panic!("{name}: an unknown kind of block: {other}"),
            (_, "") => {}
            (_, "config.toml") => {
                home.write_config(block.text);
                home.almoner(&["doctor", "settings"]).expect(0);
            }
            (_, file) => home.write(file, block.text),
        }
    }
    let allowed = UNTRIED.iter().find(|(guide, _)| *guide == name).map_or(0, |(_, count)| *count);
    assert_eq!(untried, allowed, "{name}");
    assert_eq!(
        waited,
        guide.matches("almoner approve ").count().min(1),
        "{name}: its approval answers a card"
    );
}

#[test]
fn guides_fit_on_one_screen_and_their_commands_run() {
    let guides = guides();
    assert!(guides.len() >= 6, "{guides:?}");
    for (name, guide) in guides {
        assert!(guide.lines().count() <= MAX_LINES, "{name} has {} lines", guide.lines().count());
        follow(&name, &guide);
    }
}
