//! Secrets that programs get: bound by a person, or handed on by a model that never sees them.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::terminal::Terminal;
use crate::test_home::{Said, TestHome};

const VALUE: &str = "tok-9f3k-swordfish-and-chips";
const STAND_IN: &str = "⟦secret github⟧";

/// Returns a worker with programs and a secret in slots, whose model makes these calls one turn after the other.
fn home(slots: &str, calls: &[Json]) -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", format!("---\nslots: {{ {slots} }}\n---\nDo it.\n"));
    let turns = calls.iter().map(|call| json!({ "calls": [call] }));
    let turns: Json = turns.chain([json!({ "text": "done" })]).collect();
    home.write("script.json", json!([{ "turns": turns }]).to_string());
    home
}

fn with_secret(slots: &str, calls: &[Json]) -> TestHome {
    let home = home(slots, calls);
    home.piped(&["secret", "set", "github"], VALUE.as_bytes()).expect(0);
    home
}

/// Returns a call of a program. `env` sets variables to the values in slots.
fn call(argv: &[&str], env: Json) -> Json {
    let mut arguments = json!({ "argv": argv });
    if !env.is_null() {
        arguments["env"] = env;
    }
    json!({ "name": "run_run", "arguments": arguments })
}

fn run(home: &TestHome, more: &[&str]) -> Said {
    home.almoner(&[&["run", "w.worker", "-m", "scripted:script.json"], more].concat())
}

/// Returns the results of the first run's calls, each as text.
fn call_results(home: &TestHome) -> Vec<String> {
    let trace = home.trace("r1");
    let steps = trace["steps"].as_array().unwrap().iter().map(|step| &step["entry"]);
    steps.filter(|entry| entry["entry"] == "completed").map(Json::to_string).collect()
}

/// Returns a card without the lines that it was broken into.
fn flat(shown: &str) -> String {
    shown.replace('┆', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a file under a directory holds these bytes.
fn holds(dir: &Path, needle: &str) -> bool {
    std::fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        let bytes = || std::fs::read(&path).unwrap_or_default();
        if path.is_dir() {
            holds(&path, needle)
        } else {
            bytes().windows(needle.len()).any(|w| w == needle.as_bytes())
        }
    })
}

#[test]
fn secret_reaches_only_its_program_and_is_redacted() {
    let home = home("run: program", &[call(&["printenv", "TOKEN"], Json::Null)]);
    let endow = ["-e", "run=program:printenv?env.TOKEN=secret:github&env.REGION=eu"];
    let missing = run(&home, &endow).expect(4);
    assert!(missing.err.contains("almoner secret set github"), "{}", missing.err);
    home.piped(&["secret", "set", "github", "--for", "https://api.example.com"], VALUE.as_bytes()).expect(0);
    let elsewhere = run(&home, &endow);
    assert!(
        elsewhere.code != 0 && elsewhere.err.contains("for servers of the web alone"),
        "{}",
        elsewhere.err
    );
    home.almoner(&["secret", "remove", "github"]).expect(0);
    home.piped(&["secret", "set", "github"], VALUE.as_bytes()).expect(0);
    let plan = run(&home, &[&endow[..], &["--dry-run"]].concat()).expect(0).out;
    assert!(plan.contains("with TOKEN from the secret github") && plan.contains("with REGION=eu"), "{plan}");

    // The daemon asks and gives its reason. The card has the secret's name and not its value.
    run(&home, &endow).expect(7);
    let card = flat(&home.almoner(&["inbox", "1", "--full"]).expect(0).out);
    assert!(card.contains("gets TOKEN from the secret “github”") && !card.contains(VALUE), "{card}");
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]);
    // The program received the secret, and its recorded output has the stand-in.
    let came = call_results(&home).concat();
    assert!(came.contains(STAND_IN) && came.contains("status 0"), "{came}");
    let used = home.almoner(&["secret", "list"]).expect(0).out;
    assert!(used.contains("programs alone") && used.contains("(run)"), "{used}");
    assert!(home.almoner(&["grants"]).expect(0).out.contains("TOKEN from the secret github"));
    let why = flat(&home.almoner(&["why", "r1#3"]).expect(0).out);
    assert!(why.contains("TOKEN from the secret"), "{why}");

    // A user who endows both can lift the question with `--allow`.
    run(&home, &[&endow[..], &["--allow", "run.run"]].concat()).expect(0);
    assert!(home.trace("r2").to_string().contains(STAND_IN));
    home.almoner(&["stop"]).expect(0);
    assert!(!holds(&home.root(), VALUE));
}

#[test]
fn model_passes_a_secret_by_its_slot_name() {
    let describe = json!({ "name": "token_describe", "arguments": {} });
    let hands_on = call(&["printenv", "GITHUB_TOKEN"], json!({ "GITHUB_TOKEN": "token" }));
    let home = with_secret("token: secret, run: program", &[describe, hands_on]);
    let endow = ["-e", "token=secret:github?env=GITHUB_TOKEN&for=printenv", "-e", "run=program:printenv"];
    let unbound = run(&home, &endow[2..]).expect(2);
    assert!(unbound.err.contains("-e token=secret:NAME"), "{}", unbound.err);
    let wrong = run(&home, &["-e", "token=.", "-e", "run=program:printenv"]).expect(2);
    assert!(wrong.err.contains("wants secret"), "{}", wrong.err);
    let plan = run(&home, &[&endow[..], &["--dry-run"]].concat()).expect(0).out;
    assert!(plan.contains("token = the secret github, as GITHUB_TOKEN, for printenv"), "{plan}");

    // A model made this choice, so the daemon asks in spite of `--allow`.
    run(&home, &[&endow[..], &["--allow", "run.run"]].concat()).expect(7);
    let told = call_results(&home).concat();
    assert!(
        told.contains("GITHUB_TOKEN") && told.contains("printenv") && !told.contains("github\""),
        "{told}"
    );
    let card = flat(&home.almoner(&["inbox", "1", "--full"]).expect(0).out);
    assert!(card.contains("secret “github”, which the slot “token” holds") && card.contains("env"), "{card}");
    assert!(!card.contains("argument 3") && !card.contains(VALUE), "{card}");
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]);
    assert!(call_results(&home).concat().contains(STAND_IN), "{:?}", call_results(&home));
    home.almoner(&["stop"]).expect(0);
    assert!(!holds(&home.root(), VALUE));
}

#[test]
fn secret_is_refused_under_other_names_and_programs() {
    let calls = [
        call(&["printenv", "X"], json!({ "X": "secret:github" })),
        call(&["printenv", "X"], json!({ "X": "github" })),
        call(&["printenv", "X"], json!({ "X": "run" })),
        call(&["printenv", "LD_PRELOAD"], json!({ "LD_PRELOAD": "token" })),
        call(&["printenv", "X"], json!({ "X": "token" })),
        call(&["cat"], json!({ "T": "token" })),
        call(&["printenv", "OWN"], json!({ "OWN": "token" })),
        call(&["printenv", "T"], Json::Null),
    ];
    // So many refusals one after the other would end the run.
    let between = json!({ "name": "token_describe", "arguments": {} });
    let all: Vec<Json> = calls.iter().flat_map(|call| [call.clone(), between.clone()]).collect();
    let home = with_secret("token: secret, run: program", &all);
    let endow = [
        "-e",
        "token=secret:github?env=T&for=printenv",
        "-e",
        "run=program:printenv,cat?env.OWN=eu",
        "--allow",
        "run.run",
    ];
    run(&home, &endow).expect(0);
    let came: Vec<String> =
        call_results(&home).into_iter().filter(|came| !came.contains("when you run it")).collect();
    for (came, said) in came.iter().zip([
        "no slot of yours that holds a secret",
        "no slot of yours that holds a secret",
        "no slot of yours that holds a secret",
        "program/variable",
        "for no variable but T",
        "for no program but printenv",
        "the user has said what OWN is",
        "status 1",
    ]) {
        assert!(came.contains(said), "{said}: {came}");
    }
    assert_eq!(came.len(), calls.len());
    // Who holds none is not told of any.
    let plain = home.path("plain.worker");
    std::fs::write(plain, "---\nslots: { run: program }\n---\nDo it.\n").unwrap();
    let shown = |worker: &str| home.almoner(&["check", "--expand", worker]).expect(0).out;
    assert!(shown("w.worker").contains("\"env\"") && !shown("plain.worker").contains("\"env\""));
    assert!(home.almoner(&["schema", "worker"]).expect(0).out.contains("\"secret\""));
}

#[test]
fn approval_fails_once_the_secret_is_revoked() {
    let home =
        with_secret("token: secret, run: program", &[call(&["printenv", "T"], json!({ "T": "token" }))]);
    run(&home, &["-e", "token=secret:github", "-e", "run=program:printenv"]).expect(7);
    let grants = home.almoner(&["grants", "--json"]).expect(0).json().to_string();
    assert!(grants.contains("the secret github") && !grants.contains(VALUE), "{grants}");
    let listed = home.almoner(&["grants"]).expect(0).out;
    let line = listed.lines().find(|line| line.contains("the secret github")).unwrap();
    home.almoner(&["revoke", line.split_whitespace().next().unwrap()]).expect(0);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]);
    let came = call_results(&home).concat();
    assert!(!came.contains(STAND_IN) && !came.contains("status 0"), "{came}");
}

#[test]
fn program_output_is_redacted_in_common_encodings_and_cuts() {
    let script = "printenv T; printenv T | base64; printf x$T | base64 -w 20; printf %s $T | od -An -v -tx1; \
                  printf %s $T | rev; head -c 3900 /dev/zero | tr '\\0' x; printenv T";
    let home = with_secret("run: program", &[call(&["sh", "-c", script], Json::Null)]);
    run(&home, &["-e", "run=program:sh?env.T=secret:github&max=4KiB&exec=yes"]).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]);
    let came = call_results(&home).concat();
    assert!(came.matches(STAND_IN).count() >= 4, "{came}");
    assert!(came.contains("bytes more were cut"), "{came}");
    // As it is, in base64 at two alignments, one in broken lines, and in hexadecimal digits.
    for part in ["tok-", "dG9rLTlm", "eHRvay05", "74 6f 6b", "chips"] {
        assert!(!came.contains(part), "{part}: {came}");
    }
    // The redaction misses a spelling that it does not look for, as `docs/claims.md` says.
    assert!(came.contains("spihc-dna-hsifdrows"), "{came}");
}

#[test]
fn project_file_can_use_a_secret_only_once_trusted() {
    let home = with_secret("run: program", &[call(&["printenv", "TOKEN"], Json::Null)]);
    home.write(
        "almoner.toml",
        "[workers.w]\nendow = { run = \"program:printenv?env.TOKEN=secret:github\" }\nallow = [\"run.run\"]\n",
    );
    let said = run(&home, &[]).expect(2);
    assert!(said.err.contains("is not trusted"), "{}", said.err);
    assert!(home.almoner(&["trust"]).expect(7).out.contains("TOKEN from the secret github"));
    let digest = home.almoner(&["trust", "--json"]).expect(0).json()["digest"].as_str().unwrap().to_owned();
    home.almoner(&["trust", "--yes", &digest]).expect(0);
    run(&home, &[]).expect(0);
    assert!(call_results(&home).concat().contains(STAND_IN));
}

#[test]
fn mcp_server_output_never_stores_its_secret_even_when_cut() {
    let hostile = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/hostile.mjs");
    for mode in ["tells", "refuses-telling", "tells-of-tools", "names-tools"] {
        let home = with_secret("far: mcp", &[json!({ "name": "far_echo", "arguments": { "word": "a" } })]);
        let add = ["mcp", "add", "s", "--env", "TOKEN=secret:github", "--", "node", hostile, mode];
        home.almoner(&add).expect(0);
        let looked = home.almoner(&["mcp", "tools", "s"]).expect(0);
        assert!(!looked.out.contains(VALUE) && !looked.err.contains(VALUE), "{mode}: {looked:?}");
        let said = run(&home, &["-e", "far=mcp:s[echo]"]);
        if mode.ends_with("tools") {
            assert!(looked.out.contains("has the value of a secret in it"), "{mode}: {looked:?}");
            assert!(
                said.code == 6 && said.err.contains("has the value of a secret in it"),
                "{mode}: {said:?}"
            );
            assert!(!said.err.contains(VALUE));
        } else {
            said.expect(7);
            home.almoner(&["approve", "1"]).expect(0);
            home.almoner(&["resume"]);
            let came = call_results(&home).concat();
            assert!(came.contains(if mode == "tells" { STAND_IN } else { "bytes more were cut" }), "{mode}");
        }
        home.almoner(&["stop"]).expect(0);
        // Not even where it begins.
        assert!(!holds(&home.root(), &VALUE[..6]), "{mode}");
    }
}

/// Checks that the user learns of a locked vault before the run begins. A model could only go on without the secret,
/// but a user can unlock it.
#[test]
fn run_needing_a_locked_vault_is_refused_at_start() {
    let hands_on = call(&["printenv", "T"], json!({ "T": "token" }));
    let home = home("token: secret, run: program", &[hands_on]);
    let words = "a horse that nobody rides";
    let type_in = |args: &[&str], lines: &[(&str, &str)]| {
        let mut terminal = Terminal::open(&home, args);
        for (asked, line) in lines {
            terminal.shows(asked, 1);
            terminal.press(&format!("{line}\n"));
        }
        let (code, screen) = terminal.end();
        assert_eq!(code, 0, "{screen}");
    };
    let made = [("new passphrase", words), ("once more", words), ("github (not shown)", VALUE)];
    type_in(&["secret", "set", "github", "--key", "passphrase"], &made);
    home.almoner(&["stop"]).expect(0);
    let handed = ["-e", "token=secret:github", "-e", "run=program:printenv"];
    for endow in
        [&handed[..], &["-e", "token=secret:other", "-e", "run=program:printenv?env.T=secret:github"]]
    {
        let said = run(&home, endow).expect(7);
        let what = "needs the secret `";
        assert!(said.err.contains(what) && said.err.contains("the vault is locked"), "{}", said.err);
        assert!(said.err.contains("`almoner unlock`, then the same command"), "{}", said.err);
    }
    assert!(home.almoner(&["runs", "--json"]).expect(0).json().as_array().unwrap().is_empty());
    type_in(&["unlock"], &[("passphrase of the vault", words)]);
    run(&home, &handed).expect(7);
    // A yes is not spent on a vault that was locked meanwhile.
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["approve", "1"]).expect(0);
    let stalled = home.almoner(&["resume", "r1"]);
    assert!(stalled.err.contains("`almoner unlock`, then `almoner resume`"), "{stalled:?}");
    type_in(&["unlock"], &[("passphrase of the vault", words)]);
    assert_eq!(home.almoner(&["resume", "r1"]).expect(0).out, "done\n");
    assert!(call_results(&home).concat().contains(STAND_IN));
}
