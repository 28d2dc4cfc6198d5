//! The rules of the machine's administrator bind every home, over the whole path.
//!
//! Most tests name another directory than `/etc/almoner`, which only a build for tests can. One test mounts a whole
//! `/etc` in a namespace of its own, so that the fixed path, the owners and the modes count.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::agents::newest;
use crate::bad_input::server::{Server, says};
use crate::mcp;
use crate::test_home::{CLERK, Said, TestHome};

const WRITE: &str = r#"{"name": "out_write", "arguments": {"path": "a.md", "content": "text\n"}}"#;

const FORBID: &str = "@id(\"no-notes\") @reason(\"no notes here\")\n\
                      forbid(principal, action == Action::\"dir.write\", resource);";

/// The rules of a machine, and homes on it.
struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    fn new() -> Machine {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        Machine { dir }
    }

    /// Writes a file of the administrator's, in one stroke.
    fn write(&self, name: &str, text: &str) {
        let new = self.dir.path().join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::rename(new, self.dir.path().join(name)).unwrap();
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.dir.path().join(name)).unwrap();
    }

    fn command(&self, home: &TestHome, args: &[&str]) -> Command {
        let mut command = home.command(args);
        command.env("ALMONER_TEST_MANAGED", self.dir.path());
        command
    }

    fn almoner(&self, home: &TestHome, args: &[&str]) -> Said {
        Said::of(self.command(home, args).output().unwrap())
    }
}

fn trace(home: &TestHome) -> String {
    home.almoner(&["trace", "--json"]).expect(0).out
}

fn clerk(calls: &str) -> TestHome {
    TestHome::with_clerk(&format!(r#"{{"calls": [{calls}]}}"#))
}

#[test]
fn managed_forbid_binds_every_home_and_wins_over_permits() {
    let machine = Machine::new();
    machine.write("managed.cedar", FORBID);
    for _ in 0..2 {
        let home = clerk(WRITE);
        let config = home.root().join("config");
        std::fs::create_dir_all(&config).unwrap();
        let permit = "permit(principal, action == Action::\"dir.write\", resource);";
        std::fs::write(config.join("policy.cedar"), permit).unwrap();
        machine.almoner(&home, &[&CLERK[..], &["--allow", "out.write"]].concat()).expect(0);
        assert!(!home.path("out/a.md").exists());
        let told = trace(&home);
        assert!(told.contains("operator/managed/no-notes"), "{told}");
        assert!(told.contains("no notes here (the machine's administrator: `no-notes` in"), "{told}");
        let shown = machine.almoner(&home, &["policy"]).expect(0).out;
        assert!(shown.contains("of the machine's administrator") && shown.contains("no-notes"), "{shown}");
    }
}

#[test]
fn managed_forbid_that_is_newer_than_the_yes_refuses_the_call() {
    let machine = Machine::new();
    let home = clerk(WRITE);
    machine.almoner(&home, &CLERK).expect(7);
    machine.write("managed.cedar", FORBID);
    machine.almoner(&home, &["approve", "1"]).expect(0);
    machine.almoner(&home, &["resume"]).expect(0);
    assert!(!home.path("out/a.md").exists());
    assert!(trace(&home).contains("operator/managed/no-notes"), "{}", trace(&home));
}

#[test]
fn dry_run_shows_managed_policies_and_servers() {
    let (machine, home) = (Machine::new(), clerk(WRITE));
    let plan = || machine.almoner(&home, &[&CLERK[..], &["--dry-run"]].concat()).expect(0).out;
    assert!(!plan().contains("administrator"), "{}", plan());
    machine.write("managed.cedar", FORBID);
    machine
        .write("managed.toml", "[egress]\nallow = ['https://api.example', 'https://*.docs.example:8443']\n");
    let shown = plan();
    let at = |name: &str| machine.dir.path().join(name).display().to_string();
    for says in [
        format!(
            "notes: policies of the machine's administrator bind this run, in {}: 1 policy",
            at("managed.cedar")
        ),
        format!(
            "notes: it reaches only servers that the machine's administrator allows ({}): https://api.example, \
             https://*.docs.example:8443; no program has the network",
            at("managed.toml")
        ),
    ] {
        assert!(shown.contains(&says), "{says} in {shown}");
    }
    machine.write("managed.toml", "[egress]\nallow = []\nprograms = true\n");
    assert!(plan().contains("no server at all; programs may have the network"), "{}", plan());
}

#[test]
fn managed_rules_bind_a_trusted_project() {
    let (machine, home) = (Machine::new(), clerk(WRITE));
    home.write(
        "almoner.toml",
        "[workers.clerk]\nmodel = 'scripted:script.json'\nallow = ['out.write']\n\
         endow = { mail = './mail', out = './out:rw', outbox = './outbox', }\n",
    );
    let digest = home.almoner(&["trust", "--json"]).expect(0).json()["digest"].as_str().unwrap().to_owned();
    home.almoner(&["trust", "--yes", &digest]).expect(0);
    let run = || machine.almoner(&home, &["run", "clerk.worker"]);
    // The project allows the write. A question of the administrator's comes before that, and so does a prohibition.
    machine.write("managed.cedar", &FORBID.replace("@reason", "@ask @reason"));
    run().expect(7);
    machine.write("managed.cedar", FORBID);
    run().expect(0);
    assert!(!home.path("out/a.md").exists());
    assert!(trace(&home).contains("operator/managed/no-notes"), "{}", trace(&home));
    machine.write("managed.toml", "[models]\nallow = ['local']\n[servers]\n");
    run().expect(5);
    let shown = machine.almoner(&home, &["trust"]).expect(0).out;
    assert!(shown.contains("refused: cannot use the model scripted:"), "{shown}");
    machine.remove("managed.toml");
    machine.remove("managed.cedar");
    run().expect(0);
    assert_eq!(home.read("out/a.md"), "text\n");
}

#[test]
fn managed_ask_asks_whatever_allows_the_call() {
    let machine = Machine::new();
    machine.write("managed.cedar", &FORBID.replace("@reason", "@ask @reason"));
    let home = clerk(WRITE);
    machine.almoner(&home, &[&CLERK[..], &["--allow", "out.write"]].concat()).expect(7);
    let card = machine.almoner(&home, &["inbox", "1", "--full"]).expect(0).out.replace("\n      ┆ ", "");
    assert!(card.contains("the machine's administrator: “no-notes”"), "{card}");
    machine.almoner(&home, &["approve", "1"]).expect(0);
    machine.almoner(&home, &["resume"]).expect(0);
    assert_eq!(home.read("out/a.md"), "text\n");
}

#[test]
fn forbidden_collector_ends_the_export_at_once() {
    let (machine, home) = (Machine::new(), TestHome::new());
    machine.almoner(&home, &["status"]).expect(0);
    machine.write("managed.toml", "[egress]\nallow = ['https://api.example']\n");
    let said =
        machine.almoner(&home, &["audit", "follow", "--otlp", "http://127.0.0.1:9", "--once"]).expect(5);
    assert!(said.err.contains("the machine's administrator does not allow it"), "{}", said.err);
    assert!(said.err.contains("help: `almoner doctor managed`"), "{}", said.err);
}

#[test]
fn faulty_managed_file_lets_no_run_begin() {
    let machine = Machine::new();
    let home = clerk(WRITE);
    for (file, text, says) in [
        ("managed.cedar", "permit(principal, action, resource);", "may only forbid or ask"),
        ("managed.cedar", "", "it holds no policy"),
        ("managed.cedar", "// nothing\n", "it holds no policy"),
        ("managed.cedar", "forbid(principal action);", "managed.cedar"),
        ("managed.toml", "policy = \"managed.cedar\"\n", "it is not there"),
        ("managed.toml", "policy = \"own.cedar\"\n", "`policy` is `managed.cedar`"),
        ("managed.toml", "\n[modles]\nallow = []\n", "managed.toml:2"),
        ("managed.toml", "[models]\n", "managed.toml:1"),
        ("managed.toml", "[models]\nallow = ['gpt-4']\n", "unknown kind"),
        ("managed.toml", "[egress]\nallow = ['api.example']\n", "names no server"),
        ("managed.toml", "[servers.x]\ncommand = 'x'\n", "no path from the root"),
        ("managed.toml", "[servers.x]\nnet = true\n", "either a `command` or a `url`"),
        ("managed.toml", "allow = [\n", "managed.toml:"),
    ] {
        machine.write(file, text);
        let said = machine.almoner(&home, &CLERK).expect(5);
        assert!(said.err.contains(says) && said.err.contains(file), "{text}: {}", said.err);
        let doctor = machine.almoner(&home, &["doctor", "managed"]).expect(1).out;
        assert!(doctor.contains("✗ managed") && doctor.contains("no run begins"), "{text}: {doctor}");
        assert_eq!(doctor.matches("almoner resume").count(), 1, "{text}: {doctor}");
        if file == "managed.cedar" {
            let said = machine.almoner(&home, &["policy", "check", "--managed"]).expect(6);
            assert!(said.err.contains(says), "{text}: {}", said.err);
        } else {
            // The policies count only if the rules beside them do.
            machine.write("managed.cedar", FORBID);
            let exit = if text.contains("managed.cedar") { 0 } else { 5 };
            machine.almoner(&home, &["policy", "check", "--managed"]).expect(exit);
            machine.remove("managed.cedar");
        }
        machine.remove(file);
    }
    // Empty rules bind nothing.
    machine.write("managed.toml", "");
    machine.almoner(&home, &CLERK).expect(7);
    // A run at work stops before its next call, and goes on when the file is repaired.
    machine.write("managed.cedar", "forbid(");
    machine.almoner(&home, &["approve", "1"]).expect(0);
    let stopped = machine.almoner(&home, &["resume"]);
    assert!(stopped.code != 0 && stopped.err.contains("managed.cedar"), "{stopped:?}");
    assert_eq!(stopped.err.matches("then `almoner resume`").count(), 1, "{stopped:?}");
    assert!(!home.path("out/a.md").exists());
    machine.remove("managed.cedar");
    machine.almoner(&home, &["resume"]).expect(0);
    assert_eq!(home.read("out/a.md"), "text\n");
}

#[test]
fn managed_models_hold_for_every_way_to_name_one() {
    let machine = Machine::new();
    let home = TestHome::new();
    home.write("hello.worker", "---\ndescription: Says hello.\n---\nSay hello.\n");
    home.write("script.json", json!([{ "turns": [{ "text": "hello" }] }]).to_string());
    let (good, evil) = (Server::saying(vec![says("hello"); 4]), Server::saying(vec![says("hello")]));
    machine.write("managed.toml", &format!("[models]\nallow = ['compat:{}#*', 'openai:*']\n", good.url()));
    let run = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = machine.command(&home, &[&["run", "hello.worker"][..], args].concat());
        Said::of(command.envs(variables.iter().copied()).output().unwrap())
    };
    run(&["-m", &good.model()], &[]).expect(0);
    let own = format!("openai:{}#m", evil.url());
    let both = format!("{},{}", good.model(), evil.model());
    for (args, variables) in [
        (&["-m", evil.model().as_str()][..], &[][..]),
        (&["-m", both.as_str()], &[]),
        (&["-m", own.as_str()], &[]),
        (&["-m", "scripted:script.json"], &[]),
        (&["-m", "local"], &[]),
        (&[], &[("ALMONER_MODEL", evil.model().as_str())]),
        (&["-m", "openai:m"], &[("OPENAI_BASE_URL", evil.url().as_str()), ("OPENAI_API_KEY", "sk-x")]),
        (&[], &[("OPENAI_BASE_URL", evil.url().as_str()), ("OPENAI_API_KEY", "sk-x")]),
        (&["-m", "ollama:m"], &[]),
    ] {
        let said = run(args, variables).expect(5);
        let refused = "the machine's administrator does not allow it";
        assert!(said.err.contains(refused), "{args:?} {variables:?}: {}", said.err);
    }
    home.write_config(&format!("[models]\ndefault = \"{}\"\n", evil.model()));
    run(&[], &[]).expect(5);
    assert!(evil.requests().is_empty());
    let shown = machine.almoner(&home, &["models"]).expect(0).out;
    assert!(shown.contains("the machine's administrator allows only compat:"), "{shown}");
    // A model that is not allowed any more stops a run that was started with it.
    let home = clerk(WRITE);
    machine.write("managed.toml", "[models]\nallow = ['scripted:*']\n");
    machine.almoner(&home, &CLERK).expect(7);
    machine.write("managed.toml", "[models]\nallow = ['local']\n");
    machine.almoner(&home, &["approve", "1"]).expect(0);
    let stopped = machine.almoner(&home, &["resume"]);
    assert!(stopped.code != 0 && stopped.err.contains("does not allow it"), "{stopped:?}");
    machine.write("managed.toml", "[models]\nallow = ['scripted:*']\n");
    machine.almoner(&home, &["resume"]).expect(0);
}

#[test]
fn managed_servers_replace_those_of_the_user() {
    let machine = Machine::new();
    let home = mcp::home("plain", &[mcp::echo("hello"), mcp::echo("again")]);
    let run = |tools: &str| {
        let endow = format!("far=mcp:{tools}");
        machine.almoner(&home, &["run", "w.worker", "-m", "scripted:script.json", "-e", &endow])
    };
    run("plain[echo:reads]").expect(0);
    let said = mcp::log(&home).len();
    assert_eq!(said, 2);
    // The call of a run that was given a server before is refused.
    run("plain[echo]").expect(7);
    machine.write("managed.toml", "[servers]\n");
    machine.almoner(&home, &["approve", &newest(&home, None, "approval")]).expect(0);
    machine.almoner(&home, &["resume"]);
    assert_eq!(mcp::log(&home).len(), said, "nothing was called");
    assert!(trace(&home).contains("mcp/managed"), "{}", trace(&home));
    let refused = run("plain[echo]").expect(5);
    assert!(refused.err.contains("cannot use the server plain"), "{}", refused.err);
    machine.almoner(&home, &["mcp", "add", "other", "--", "node"]).expect(5);
    // A fixed server that cannot start leaves its name to nobody.
    machine.write("managed.toml", "[servers.plain]\ncommand = \"/nowhere/server\"\n");
    let missing = run("plain[echo:reads]").expect(4);
    assert!(missing.err.contains("/nowhere/server"), "{}", missing.err);
    assert_eq!(mcp::log(&home).len(), said);
    let listed = machine.almoner(&home, &["mcp", "list"]).expect(0);
    assert!(listed.out.contains("/nowhere/server") && !listed.out.contains("hostile"), "{listed:?}");
    assert!(listed.err.contains("has fixed these"), "{listed:?}");
    // The same server, fixed by the administrator, works without the user's file.
    let user: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(home.root().join("config/mcp.json")).unwrap()).unwrap();
    // The keys are the same, and so are texts and lists in both languages.
    let keys = user["servers"]["plain"].as_object().unwrap().iter();
    let keys: String = keys.map(|(key, value)| format!("{key} = {value}\n")).collect();
    let fixed = format!("[servers.plain]\n{keys}");
    machine.write("managed.toml", &fixed);
    std::fs::remove_file(home.root().join("config/mcp.json")).unwrap();
    run("plain[echo:reads]").expect(0);
    assert!(mcp::log(&home).len() > said);
}

#[test]
fn managed_egress_holds_for_slots_models_and_programs() {
    let machine = Machine::new();
    let home = TestHome::new();
    home.write("api.worker", "---\nslots: { api: http }\n---\nRead the page.\n");
    let call = json!({ "name": "api_get", "arguments": { "path": "/models" } });
    home.write("api.json", json!([{ "turns": [{ "calls": [call] }, { "text": "done" }] }]).to_string());
    let server = Server::saying(vec![says("hello"); 2]);
    let origin = server.url().strip_suffix("/v1").unwrap().to_owned();
    let port = origin.rsplit(':').next().unwrap().to_owned();
    let api = |endow: &str| {
        let endow = format!("api={endow}");
        machine.almoner(&home, &["run", "api.worker", "-e", &endow, "-m", "scripted:api.json"])
    };
    machine.write("managed.toml", "[egress]\nallow = [\"https://api.example\"]\n");
    for endow in [
        format!("{origin}/v1"),
        format!("http://localhost:{port}/v1"),
        // The administrator allows the name, and the user chooses the machine behind it.
        "https://api.example/?address=127.0.0.1".to_owned(),
        "https://api.example:8443/".to_owned(),
        "http://api.example/".to_owned(),
    ] {
        api(&endow).expect(0);
        let told = trace(&home);
        assert!(
            told.contains("http/managed") && told.contains("the machine's administrator"),
            "{endow}: {told}"
        );
    }
    home.write("hello.worker", "---\ndescription: Says hello.\n---\nSay hello.\n");
    let asked = machine.almoner(&home, &["run", "hello.worker", "-m", &server.model()]);
    assert!(asked.code != 0 && asked.err.contains("the machine's administrator"), "{asked:?}");
    assert!(server.requests().is_empty());
    // A proxy is a machine, too.
    let proxied = format!("[network]\nproxy = \"http://127.0.0.1:{port}\"\n");
    home.write_config(&proxied);
    let asked = machine.almoner(&home, &["run", "hello.worker", "-m", "compat:https://api.example/v1#m"]);
    assert!(asked.code != 0 && asked.err.contains("cannot use the proxy"), "{asked:?}");
    assert!(server.requests().is_empty());
    home.write_config("");
    // A program with the network reaches anything, so none is run.
    home.write("p.worker", "---\nslots: { run: program }\n---\nRun it.\n");
    let call = json!({ "name": "run_run", "arguments": { "argv": ["true"] } });
    home.write("p.json", json!([{ "turns": [{ "calls": [call] }, { "text": "done" }] }]).to_string());
    let program = ["run", "p.worker", "-m", "scripted:p.json", "-e"];
    machine.almoner(&home, &[&program[..], &["run=program:true?net=yes"]].concat()).expect(0);
    assert!(trace(&home).contains("program/managed"), "{}", trace(&home));
    // An allowed server is reached, by the same home and the same daemon.
    machine.write("managed.toml", &format!("[egress]\nallow = [\"{origin}\"]\n"));
    machine.almoner(&home, &["run", "hello.worker", "-m", &server.model()]).expect(0);
    assert!(!server.requests().is_empty());
}

/// Makes a whole `/etc` for a namespace, with the administrator's files.
fn make_etc(at: &Path, rules: &str) -> PathBuf {
    let etc = at.join("etc");
    let copied = Command::new("cp").arg("-a").arg("/etc").arg(&etc).status().unwrap();
    // Files that only root may read are left out.
    assert!(copied.success() || etc.join("passwd").exists());
    let dir = etc.join("almoner");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("managed.toml"), rules).unwrap();
    for (path, mode) in [(etc.clone(), 0o755), (dir.clone(), 0o755), (dir.join("managed.toml"), 0o644)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    etc
}

/// Runs a command of Almoner with this directory as its `/etc`.
fn under_etc(etc: &Path, home: &TestHome, args: &[&str]) -> Said {
    let inner = home.command(args);
    // Root mounts by right, and another user in a namespace in which the user is root.
    let flags = if rustix::process::geteuid().is_root() { "-m" } else { "-Urm" };
    let mut outer = Command::new("unshare");
    outer.args([flags, "sh", "-c", "mount --bind \"$0\" /etc && exec \"$@\""]).arg(etc);
    outer.arg(inner.get_program()).args(inner.get_args()).current_dir(home.work());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    Said::of(outer.output().expect("this test needs `unshare`: `apt-get install util-linux`"))
}

#[test]
fn fixed_path_owners_and_modes_count_in_every_home() {
    let dir = tempfile::tempdir().unwrap();
    let rules = "[models]\nallow = [\"local\"]\n";
    let etc = make_etc(dir.path(), rules);
    let (folder, file) = (etc.join("almoner"), etc.join("almoner/managed.toml"));
    let mode = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let homes = [clerk(WRITE), clerk(WRITE)];
    let check = |says: &str| {
        for home in &homes {
            let said = under_etc(&etc, home, &CLERK).expect(5);
            assert!(said.err.contains(says), "{says}: {}", said.err);
        }
    };
    if !rustix::process::geteuid().is_root() {
        // In a namespace of a user, the root of the machine is nobody, so the files do not count as root's.
        return check("cannot follow /: it does not belong to root");
    }
    check("the machine's administrator does not allow it (/etc/almoner/managed.toml)");
    mode(&file, 0o666);
    check("cannot follow /etc/almoner/managed.toml: others than root may write it");
    let help = under_etc(&etc, &homes[0], &CLERK).err;
    assert!(help.contains("`chmod go-w /etc/almoner/managed.toml`"), "{help}");
    let help = |says: &str| {
        let doctor = under_etc(&etc, &homes[0], &["doctor", "managed"]).expect(1).out;
        assert!(doctor.contains(says), "{says}: {doctor}");
    };
    mode(&file, 0o600);
    check("cannot follow /etc/almoner/managed.toml: users other than root cannot read it");
    help("`chmod a+rX /etc/almoner/managed.toml`");
    mode(&file, 0o644);
    mode(&folder, 0o777);
    check("cannot follow /etc/almoner: others than root may write into it");
    mode(&folder, 0o700);
    check("cannot follow /etc/almoner: users other than root cannot go through it");
    help("`chmod a+rX /etc/almoner`");
    mode(&folder, 0o755);
    let rules_beside = etc.join("almoner/managed.cedar");
    std::fs::create_dir(&rules_beside).unwrap();
    help("`mv /etc/almoner/managed.cedar /etc/almoner/managed.cedar.old`");
    std::fs::remove_dir(&rules_beside).unwrap();
    std::fs::rename(&file, etc.join("rules")).unwrap();
    std::os::unix::fs::symlink("../rules", &file).unwrap();
    check("cannot follow /etc/almoner/managed.toml: it is a link");
    std::fs::remove_file(&file).unwrap();
    std::fs::rename(&folder, etc.join("other")).unwrap();
    std::os::unix::fs::symlink("other", &folder).unwrap();
    check("cannot follow /etc/almoner: it is a link, or no directory");
    std::fs::remove_file(&folder).unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(&file, rules).unwrap();
    let owner = |uid| std::os::unix::fs::chown(&file, Some(uid), Some(0)).unwrap();
    owner(1);
    check("cannot follow /etc/almoner/managed.toml: it does not belong to root");
    owner(0);
    check("does not allow it");
    // Without rules, the same daemons go on. Their homes were never bound by anything else.
    std::fs::remove_file(&file).unwrap();
    for home in &homes {
        under_etc(&etc, home, &CLERK).expect(7);
    }
}
