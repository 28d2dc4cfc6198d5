//! `cargo xtask fixture-home`: a small home as this build writes it, which later builds must open.
//!
//! A release runs it once. The file joins those of earlier releases in `crates/almoner/tests/homes`, and the test
//! `homes_of_earlier_releases_are_upgraded` opens all of them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;

use crate::CommandStatus;
use crate::process;
use crate::workspace::Workspace;

/// The folder of the homes, from the root of the clone.
const FOLDER: &str = "crates/almoner/tests/homes";

/// The workers of the home: the name, the slots, and the call of the model. One of them waits for a person with a file,
/// one with a secret, and one has changed a staged copy.
const WORKERS: [(&str, &str, &str); 4] = [
    ("hello", "", ""),
    ("write", "out: dir rw", r#"{"name": "out_write", "arguments": {"path": "a.txt", "content": "waited"}}"#),
    ("stage", "out: dir rw", r#"{"name": "out_write", "arguments": {"path": "b.txt", "content": "staged"}}"#),
    ("secret", "run: program", r#"{"name": "run_run", "arguments": {"argv": ["printenv", "TOKEN"]}}"#),
];

/// Runs the command. `--binary PATH` takes another program than the one that this clone builds.
pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    let workspace = Workspace::read()?;
    let binary = match arguments {
        [] => build(&workspace)?,
        [option, path] if option == "--binary" => std::path::absolute(path)?,
        _ => return Ok(CommandStatus::Usage("fixture-home takes nothing, or `--binary PATH`".to_owned())),
    };
    let root = std::env::temp_dir().join(format!("almoner-fixture-{}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("work/out"))?;
    let root = fs::canonicalize(&root)?;
    let made = Fixture { binary, root: root.clone() }.make(&workspace.root.join(FOLDER));
    let _ = fs::remove_dir_all(&root);
    println!("{}", made?.display());
    Ok(CommandStatus::Success)
}

fn build(workspace: &Workspace) -> Result<PathBuf> {
    let arguments = ["build", "--package", "almoner", "--no-default-features"];
    ensure!(process::run(&mut process::cargo(&workspace.root, &arguments))?, "almoner does not build");
    Ok(workspace.target.join("debug/almoner"))
}

/// The making of one home.
struct Fixture {
    binary: PathBuf,
    root: PathBuf,
}

impl Fixture {
    fn make(&self, folder: &Path) -> Result<PathBuf> {
        let version = self.almoner(&["--version"], "", 0)?;
        let version =
            version.split_whitespace().nth(1).context("`almoner --version` names no version")?.to_owned();
        for (name, slots, call) in WORKERS {
            let slots =
                if slots.is_empty() { String::new() } else { format!("---\nslots: {{ {slots} }}\n---\n") };
            let call = if call.is_empty() { String::new() } else { format!(r#"{{"calls": [{call}]}}, "#) };
            self.write(&format!("{name}.worker"), &format!("{slots}Do it.\n"))?;
            self.write(&format!("{name}.json"), &format!(r#"[{{"turns": [{call}{{"text": "done"}}]}}]"#))?;
        }
        self.almoner(&["secret", "set", "github"], "tok-of-a-fixture-9f3k", 0)?;
        self.almoner(&["mkguest", "fae"], "", 0)?;
        self.run("hello", &[], 0)?;
        self.run("write", &["-e", "out=out:rw"], 7)?;
        self.run("stage", &["-e", "out=out:stage", "--allow", "out.write"], 0)?;
        self.run("secret", &["-e", "run=program:printenv?env.TOKEN=secret:github"], 7)?;
        self.almoner(&["stop"], "", 0)?;
        let head = fs::read(self.root.join("home/state/store/almoner.sqlite"))?;
        let store = head.get(60..64).context("the store is empty")?;
        let store = store.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        let facts = json!({
            "version": version, "store": store, "work": self.root.join("work"), "runs": WORKERS.len(),
            "card": "1", "writes": "out/a.txt", "content": "waited",
            "staged": "r3", "applies": "out/b.txt",
            "secret_card": "2", "secret_run": "r4",
        });
        fs::write(self.root.join("fixture.json"), serde_json::to_vec_pretty(&facts)?)?;
        // Sockets are no part of a home, and the log of the build machine says nothing.
        let _ = fs::remove_dir_all(self.root.join("home/run"));
        let _ = fs::remove_file(self.root.join("home/state/daemon.log"));
        fs::create_dir_all(folder)?;
        let file = folder.join(format!("{version}-store{store}.tar.gz"));
        ensure!(!file.exists(), "{} is there already: a release never changes one", file.display());
        let packed = Command::new("tar")
            .args(["--create", "--gzip", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
            .arg("--file")
            .arg(&file)
            .arg("--directory")
            .arg(&self.root)
            .args(["fixture.json", "home", "work"])
            .status()
            .context("`tar`")?;
        ensure!(packed.success(), "tar: {packed}");
        Ok(file)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        Ok(fs::write(self.root.join("work").join(name), text)?)
    }

    fn run(&self, name: &str, more: &[&str], code: i32) -> Result<String> {
        let (worker, model) = (format!("{name}.worker"), format!("scripted:{name}.json"));
        self.almoner(&[&["run", &worker, "-m", &model], more].concat(), "", code)
    }

    /// Runs a command, which must end with this code. Returns its standard output.
    fn almoner(&self, arguments: &[&str], input: &str, code: i32) -> Result<String> {
        let mut child = Command::new(&self.binary)
            .args(arguments)
            .current_dir(self.root.join("work"))
            .env("ALMONER_HOME", self.root.join("home"))
            // The key lies in a file then, and the home is whole without the keyring of this machine.
            .env("ALMONER_KEYRING", "none")
            .env_remove("ALMONER_MODEL")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| self.binary.display().to_string())?;
        if let Some(mut stdin) = child.stdin.take() {
            // A command that reads nothing may have ended.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output()?;
        if output.status.code() != Some(code) {
            bail!(
                "almoner {}: {}\n{}",
                arguments.join(" "),
                output.status,
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}
