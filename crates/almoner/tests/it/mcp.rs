//! Tests of tool servers (MCP), over the whole path: configured, endowed, asked about, and called in the sandbox.
//!
//! The hostile server is a program of this repository that behaves as its argument demands. The others are real
//! servers.

use kernel::txn::{NO_OWNER, Table, Txn};
use kernel::{FormulaId, table};
use resource::Resource;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};
use store::{Options, Store};

use crate::agents::newest;
use crate::endo::tools;
use crate::kill_sweep::{AFTER, Doomed};
use crate::test_home::{Said, TestHome};

const HOSTILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/hostile.mjs");
const WORKER: &str = "---\nslots: { far: mcp }\n---\nUse the tools.\n";

/// Returns a home with the hostile server, which works on `place`, and a worker that calls its tools.
pub(crate) fn home(mode: &str, calls: &[Json]) -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", WORKER);
    home.write("place/log-here", "");
    script(&home, calls);
    let place = home.path("place").display().to_string();
    add(&home, mode, &["--dir", &format!("{place}:rw")], &["node", HOSTILE, mode, &place]);
    home
}

pub(crate) fn script(home: &TestHome, calls: &[Json]) {
    let mut turns: Vec<Json> = calls.iter().map(|call| json!({ "calls": [call] })).collect();
    turns.push(json!({ "text": "done" }));
    home.write("script.json", json!([{ "turns": turns }]).to_string());
}

pub(crate) fn add(home: &TestHome, name: &str, options: &[&str], command: &[&str]) {
    let args = [&["mcp", "add", name][..], options, &["--"], command].concat();
    home.almoner(&args).expect(0);
}

pub(crate) fn echo(word: &str) -> Json {
    json!({ "name": "far_echo", "arguments": { "word": word } })
}

pub(crate) fn run(home: &TestHome, tools: &str, more: &[&str]) -> Said {
    let endow = format!("far=mcp:{tools}");
    home.almoner(&[&["run", "w.worker", "-m", "scripted:script.json", "-e", &endow][..], more].concat())
}

/// Returns the results of the first run's calls, as text.
pub(crate) fn call_results(home: &TestHome) -> String {
    call_results_of(home, "r1")
}

/// Returns the results of the calls of a run, as text.
fn call_results_of(home: &TestHome, run: &str) -> String {
    let trace = home.trace(run);
    let steps = trace["steps"].as_array().unwrap().iter().map(|step| &step["entry"]);
    steps
        .filter(|entry| entry["entry"] == "completed")
        .map(|entry| format!("{entry}\n").replace('\\', ""))
        .collect()
}

pub(crate) fn log(home: &TestHome) -> Vec<String> {
    let text = std::fs::read_to_string(home.path("place/log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn mcp_server_is_added_inspected_and_endowed_by_tool_names() {
    let home = home("plain", &[echo("hello")]);
    let listed = home.almoner(&["mcp", "list"]).expect(0).out;
    assert!(
        listed.contains("plain") && listed.contains("hostile.mjs") && listed.contains("no network"),
        "{listed}"
    );
    assert!(log(&home).is_empty(), "nothing was started");
    let shown = home.almoner(&["mcp", "tools", "plain"]).expect(0).out;
    assert!(shown.contains("echo(word: text)") && shown.contains("│ Says a word again."), "{shown}");
    for (tools, code, word) in [
        ("plain", 2, "mcp tools plain"),
        ("plain[]", 2, "names no tools"),
        ("plain[*]", 2, "one by one"),
        ("plain[nothing]", 2, "it has: echo, dotted.name/x, x"),
        ("plain[echo:tell]", 2, "follows one of `:reads`, `:tells`, `:changes`, `:sends`"),
        ("other[echo]", 4, "there are plain"),
    ] {
        let said = run(&home, tools, &[]).expect(code);
        assert!(said.err.contains(word), "{tools}: {}", said.err);
    }
    // The server claims that its tool only reads. The daemon does not rely on this claim and asks.
    let said = run(&home, "plain[echo]", &[]).expect(7);
    assert!(said.err.contains("approve"), "{}", said.err);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    assert!(card.contains("echo") && card.contains("hello") && card.contains("plain"), "{card}");
    assert!(log(&home).is_empty());
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert_eq!(log(&home), ["echo hello"]);
    assert!(call_results(&home).contains("you said hello"));
    let grants = home.almoner(&["grants"]).expect(0).out;
    assert!(grants.contains("tool echo (sends) of the server plain"), "{grants}");
    home.almoner(&["mcp", "remove", "plain"]).expect(0);
    home.almoner(&["mcp", "tools", "plain"]).expect(4);
    // The program goes away after the server was added.
    let program = home.path("place/server");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    add(&home, "gone", &[], &[program.to_str().unwrap()]);
    std::fs::remove_file(&program).unwrap();
    let said = home.almoner(&["mcp", "tools", "gone"]).expect(4);
    assert!(
        said.err.contains("`almoner mcp remove gone`, then `almoner mcp add gone -- COMMAND`"),
        "{}",
        said.err
    );
}

/// Returns the newest grant of the slot.
fn granted(home: &TestHome) -> Json {
    let grants = home.almoner(&["grants", "--json"]).expect(0).json();
    let of_slot = grants.as_array().unwrap().iter().filter(|grant| grant["slot"] == "far");
    of_slot.max_by_key(|grant| grant["number"].as_u64()).unwrap().clone()
}

/// Gives a name to the server to which the newest grant of the slot leads. Commands name directories alone, so it takes
/// the place of one in the store.
fn name_server(home: &TestHome, name: &str) {
    home.almoner(&["mount", "place", name]).expect(0);
    let rows = home.almoner(&["list", "-l", "--json"]).expect(0).json();
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    let id = |json: &Json| -> FormulaId { json.as_str().unwrap().parse().unwrap() };
    let (named, server) = (id(&row["id"]), id(&granted(home)["target"]));
    home.almoner(&["stop"]).expect(0);
    let begun = Instant::now();
    let store = loop {
        match Store::open(&home.root().join("state/store"), Options::default()) {
            Ok(store) => break store,
            // A process that another test is just starting has a copy of the lock until it has become itself.
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(20), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let take_its_place = move |txn: &mut dyn Txn| {
        let row = table::formula(txn, &server)?.expect("the run is still there");
        table::save(txn, Table::Formula, &NO_OWNER, &named.number, &row, Some(&row.provenance))
    };
    store.write(take_its_place).unwrap();
}

#[test]
fn named_mcp_server_is_limited_to_the_tools_of_its_grants() {
    let home = home("plain", &[echo("hello")]);
    run(&home, "plain[echo:reads,x]", &[]).expect(0);
    let typed = granted(&home);
    name_server(&home, "srv");
    home.almoner(&["narrow", "srv", "says", "--methods", "echo"]).expect(0);
    home.almoner(&["mkguest", "fae"]).expect(0);
    for (run, name, methods) in [("r2", "srv", typed["methods"].clone()), ("r3", "says", json!(["echo"]))] {
        home.almoner(&["--as", "fae", "define", "w.worker"]).expect(0);
        let number = newest(&home, None, "definition");
        let bound = format!("far={name}");
        let said = home.almoner(&["endow", &number, &bound, "-m", "scripted:script.json"]).expect(0);
        assert_eq!(said.out, "done\n", "{name}");
        let (grant, came) = (granted(&home), call_results_of(&home, run));
        assert_eq!((&grant["words"], &grant["methods"]), (&typed["words"], &methods), "{name}");
        assert!(came.contains("you said hello"), "{name}: {came}");
    }
    // A run that is at work gets it by its name as well.
    home.write("asks.worker", "---\nslots: { me: mail }\n---\nAsk.\n");
    let wish = json!({ "description": "A server of tools", "name": "far" });
    script(&home, &[json!({ "name": "me_request", "arguments": wish }), echo("again")]);
    home.almoner(&["run", "asks.worker", "-m", "scripted:script.json"]).expect(7);
    home.almoner(&["resolve", &newest(&home, None, "request"), "says"]).expect(0);
    assert_eq!(home.almoner(&["resume", "r4"]).expect(0).out, "done\n");
    let came = call_results_of(&home, "r4");
    assert!(came.contains("you said again"), "{came}");
    assert_eq!(granted(&home)["methods"], json!(["echo"]));
    assert_eq!(log(&home), ["echo hello", "echo hello", "echo hello", "echo again"]);
}

#[test]
fn only_the_users_word_relaxes_approval_of_a_tool() {
    let home = home("plain", &[echo("a")]);
    let said = run(&home, "plain[echo]", &["--allow", "far.echo"]).expect(2);
    assert!(said.err.contains("[echo:reads]"), "{}", said.err);
    run(&home, "plain[echo:reads]", &[]).expect(0);
    run(&home, "plain[echo:changes]", &[]).expect(7);
    run(&home, "plain[echo:changes]", &["--allow", "far.echo"]).expect(0);
    home.write("w.worker", "---\nslots: { far: mcp }\napprove: { far.echo: ask }\n---\nDo.\n");
    run(&home, "plain[echo:reads]", &[]).expect(7);
    assert_eq!(log(&home).len(), 2);
}

#[test]
fn invalid_arguments_never_reach_the_server() {
    let call = |arguments: Json| json!({ "name": "far_echo", "arguments": arguments });
    // Its schema names its fields, and allows no others by a word of its own.
    let wrong = [call(json!({})), call(json!({ "word": 7 })), call(json!({ "word": "a", "more": 1 }))];
    let home = home("plain", &wrong);
    run(&home, "plain[echo:reads]", &[]).expect(0);
    assert!(log(&home).is_empty());
    let rejected = home.trace("r1")["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|s| s["entry"]["entry"] == "rejected")
        .count();
    assert_eq!(rejected, 3);
}

#[test]
fn tool_with_a_changed_description_is_not_called() {
    for (mode, what) in [
        ("describes", "its description"),
        ("retypes", "the schema of its arguments"),
        ("forgets", "has no tool"),
        ("doubles", "two tools"),
    ] {
        let home = home(mode, &[echo("a"), echo("b")]);
        run(&home, &format!("{mode}[echo]"), &[]).expect(7);
        // While the person thinks.
        home.write("place/changed", "");
        home.almoner(&["approve", "1"]).expect(0);
        home.almoner(&["resume", "--on-ask", "deny"]).expect(0);
        let came = call_results(&home);
        assert!(came.contains("mcp/changed") && came.contains(what), "{mode}: {came}");
        assert!(log(&home).is_empty(), "{mode}");
        // The user who endows the tool again accepts its current description and schema.
        if ["describes", "retypes"].contains(&mode) {
            run(&home, &format!("{mode}[echo:reads]"), &[]).expect(0);
            assert_eq!(log(&home).len(), 2);
        }
    }
    // The same while it runs, without a word.
    let home = home("later", &[echo("a"), echo("b")]);
    run(&home, "later[echo:reads]", &[]).expect(0);
    assert_eq!(log(&home), ["echo a"], "{}", call_results(&home));
    assert!(call_results(&home).contains("mcp/changed"));
}

/// Returns a home whose run waits for a yes to a call of a server whose script lies in the home.
fn home_with_own_server() -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", WORKER);
    home.write("place/log-here", "");
    home.write("server.mjs", std::fs::read(HOSTILE).unwrap());
    script(&home, &[echo("a")]);
    let (server, place) = (home.path("server.mjs"), home.path("place"));
    let (server, place) = (server.display().to_string(), place.display().to_string());
    add(&home, "own", &["--dir", &format!("{place}:rw")], &["node", &server, "plain", &place]);
    run(&home, "own[echo]", &[]).expect(7);
    home
}

#[test]
fn changed_server_program_is_not_started() {
    let home = home_with_own_server();
    home.write("server.mjs", format!("{}\n", std::fs::read_to_string(HOSTILE).unwrap()));
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert!(call_results(&home).contains("mcp/program") && log(&home).is_empty(), "{}", call_results(&home));
}

/// Checks the moment between the yes and the start: the yes is recorded, the daemon is killed, and the script of the
/// server is replaced.
#[test]
fn server_script_replaced_after_the_yes_is_not_started() {
    let home = home_with_own_server();
    home.almoner(&["stop"]).expect(0);
    // The first commit is the answer.
    let mut doomed = Doomed::start(&home, AFTER, 1);
    home.almoner(&["approve", "1"]);
    assert!(doomed.dies_within(Duration::from_secs(20)));
    home.write("server.mjs", format!("{}\n", std::fs::read_to_string(HOSTILE).unwrap()));
    home.almoner(&["resume"]).expect(0);
    assert!(home.trace("r1").to_string().contains("\"answered\""), "{}", home.trace("r1"));
    assert!(call_results(&home).contains("mcp/program") && log(&home).is_empty(), "{}", call_results(&home));
}

#[test]
fn hidden_server_text_is_shown_and_cannot_approve() {
    let home = home("hides", &[echo("a")]);
    let shown = home.almoner(&["mcp", "tools", "hides"]).expect(0).out;
    assert!(shown.contains("Says\\u{1B}[8m a\\u{200B} word\\u{E0041}."), "{shown}");
    run(&home, "hides[echo:reads]", &[]).expect(0);
    let requests = home.trace("r1");
    assert!(!requests.to_string().contains('\u{200b}'));
    let hidden = self::home("hides-names", &[]);
    let said = run(&hidden, "hides-names[echo]", &[]).expect(2);
    assert!(said.err.contains("hidden"), "{}", said.err);
    // A result that claims an approval is no approval, and a card shows its text.
    let home = self::home("approves", &[echo("a"), echo("yes")]);
    run(&home, "approves[echo]", &[]).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    let said = home.almoner(&["resume"]).expect(7);
    assert!(!said.err.contains('\u{1b}') && !said.out.contains('\u{1b}'));
    assert_eq!(log(&home), ["echo a"]);
    let last = home.almoner(&["inbox"]).expect(0).out;
    assert!(!last.contains('\u{1b}'), "{last}");
}

#[test]
fn misbehaving_server_is_ended() {
    for (mode, rule) in [
        // The machine decides which limit is reached first: the limit of the output or the limit of time.
        ("floods", "mcp/"),
        ("pours", "mcp/"),
        ("hangs", "mcp/late"),
        ("breaks-off", "mcp/gone"),
        ("lies", "mcp/odd"),
        ("too-long", "mcp/odd"),
    ] {
        let home = home(mode, &[echo("a")]);
        run(&home, &format!("{mode}[echo:reads]?time=5s"), &[]).expect(0);
        let came = call_results(&home);
        assert!(came.contains(rule) && came.contains("may have been done"), "{mode}: {came}");
        assert!(came.contains(&format!("the server {mode}, tool `echo`: ")), "{mode}: {came}");
        if mode == "breaks-off" {
            // The server's other output has no source that the gates could know, so the model does not receive it.
            assert!(came.contains("it ended") && !came.contains("I am"), "{came}");
        }
        home.almoner(&["status"]).expect(0);
        assert!(!is_at_work(&home), "{mode}: it is still there");
    }
    let home = home("large", &[echo("a")]);
    run(&home, "large[echo:reads]?max=32KiB", &[]).expect(0);
    assert!(call_results(&home).contains("bytes more were cut"), "{}", call_results(&home).len());
}

/// Returns whether a process works on the place of this home.
pub(crate) fn is_at_work(home: &TestHome) -> bool {
    let place = home.path("place").display().to_string();
    let mut pids = std::fs::read_dir("/proc").unwrap().flatten();
    pids.any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("hostile.mjs") && line.contains(&place)
    })
}

#[test]
fn server_error_is_attributed_to_the_server() {
    for (mode, word) in [("fails", "no such word"), ("refuses", "evil.example")] {
        let home = home(mode, &[echo("a")]);
        home.write("out/x", "");
        home.write("w.worker", "---\nslots: { far: mcp, out: outbox }\n---\nDo.\n");
        let mail =
            json!({ "name": "out_send", "arguments": { "to": "a@b.example", "subject": "s", "body": "b" } });
        script(&home, &[echo("a"), mail]);
        let out = home.path("out").display().to_string();
        run(&home, &format!("{mode}[echo:reads]"), &["-e", &format!("out={out}")]).expect(7);
        let came = call_results(&home);
        assert!(came.contains(word) && came.contains("\"failed\":true"), "{came}");
        // The card of the later call shows that the call depends on the server's result.
        let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
        assert!(card.contains(&format!("mcp:{mode}/echo")), "{card}");
    }
}

#[test]
fn structured_results_stay_data_and_images_are_described() {
    let home = home("pictures", &[echo("a")]);
    run(&home, "pictures[echo:reads]", &[]).expect(0);
    let came = call_results(&home);
    assert!(came.contains("\"words\":[\"a\"]") && came.contains("an image of type image/png"), "{came}");
}

#[test]
fn server_requests_are_declined() {
    let home = home("asks", &[echo("a")]);
    run(&home, "asks[echo:reads]", &[]).expect(0);
    let came = call_results(&home);
    assert!(came.contains("decline") && came.contains("error -32601"), "{came}");
}

#[test]
fn server_is_confined_to_its_granted_access() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let home = home("looks", &[echo(&port)]);
    home.write("secret", "x");
    run(&home, "looks[echo:reads]", &[]).expect(0);
    let came = call_results(&home);
    for word in ["EACCES", "HOME LANG PATH TERM TMPDIR"] {
        assert!(came.contains(word), "{word}: {came}");
    }
    assert!(!came.contains("connected") && !home.path("made").exists(), "{came}");
}

#[test]
fn secret_reaches_only_its_named_program_and_no_model() {
    let home = home("plain", &[echo("1")]);
    let place = home.path("place").display().to_string();
    let said = home
        .almoner(&["mcp", "add", "x", "--env", "TOKEN=ghp_abcdefghijklmnop", "--", "node", HOSTILE])
        .expect(2);
    assert!(said.err.contains("secret:TOKEN"), "{}", said.err);
    let options = ["--env", "TOKEN=secret:TOKEN", "--dir", &format!("{place}:rw")];
    add(&home, "looks", &options, &["node", HOSTILE, "looks", &place]);
    let missing = home.almoner(&["mcp", "tools", "looks"]).expect(1);
    assert!(missing.err.contains("almoner secret set TOKEN"), "{}", missing.err);
    home.piped(
        &["secret", "set", "TOKEN", "--for", "https://a.example", "--key", "file"],
        b"hunter2-periwinkle",
    )
    .expect(0);
    let elsewhere = home.almoner(&["mcp", "tools", "looks"]).expect(1);
    assert!(elsewhere.err.contains("for servers of the web alone"), "{}", elsewhere.err);
    home.almoner(&["secret", "remove", "TOKEN"]).expect(0);
    home.piped(&["secret", "set", "TOKEN"], b"hunter2-periwinkle").expect(0);
    run(&home, "looks[echo:reads]", &[]).expect(0);
    let came = call_results(&home);
    // The server has the secret and returns it. The daemon takes it out of the result.
    assert!(came.contains("TOKEN") && !came.contains("periwinkle"), "{came}");
    assert!(home.almoner(&["secret", "list"]).expect(0).out.contains("far"));
}

#[test]
fn data_read_elsewhere_needs_approval_to_reach_a_server() {
    let home = home("plain", &[]);
    home.write("w.worker", "---\nslots: { far: mcp, mail: dir }\n---\nDo.\n");
    home.write("mail/a.txt", "periwinkle\n");
    let read = json!({ "name": "mail_read", "arguments": { "path": "a.txt" } });
    script(&home, &[read, echo("periwinkle")]);
    let place = home.path("place").display().to_string();
    add(&home, "net", &["--net", "--dir", &format!("{place}:rw")], &["node", HOSTILE, "plain", &place]);
    // A server without a network may receive the text.
    run(&home, "plain[echo:reads]", &["-e", "mail=mail"]).expect(0);
    run(&home, "net[echo:reads]", &["-e", "mail=mail"]).expect(7);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    assert!(card.contains("is told “periwinkle”"), "{card}");
    // The words of the mail ask also if the call is allowed beforehand. Words of the model alone do not.
    run(&home, "net[echo:reads]", &["-e", "mail=mail", "--allow", "far.echo"]).expect(7);
    let card = home.almoner(&["inbox", "2", "--full"]).expect(0).out.replace("\n      ┆ ", "");
    assert!(card.contains("reads, and tells the server net its arguments far.echo"), "{card}");
    assert!(card.contains("the server net is told “periwinkle”, which stands in “mail/a.txt”"), "{card}");
    let read = json!({ "name": "mail_read", "arguments": { "path": "a.txt" } });
    script(&home, &[read, echo("weather")]);
    run(&home, "net[echo:reads]", &["-e", "mail=mail", "--allow", "far.echo"]).expect(0);
}

/// Reported of other programs: aaronsb/obsidian-mcp-plugin#284 (a page is fetched with what was read in its address) and
/// modelcontextprotocol/servers#3643 (the tool that fetches pages did not say that it reaches others).
#[test]
fn reading_tool_that_tells_others_asks_unless_the_user_gave_its_words() {
    let home = home("plain", &[]);
    home.write("w.worker", "---\ninput: { word: string }\nslots: { far: mcp }\n---\nSay {{ input.word }}.\n");
    // Results of the server are foreign to the others that its tool reaches.
    script(&home, &[echo("periwinkle"), echo("you said periwinkle"), echo("hello")]);
    let allow = ["word=hello", "--allow", "far.echo"];
    run(&home, "plain[echo:reads]", &allow).expect(0);
    run(&home, "plain[echo:tells]", &allow).expect(7);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out.replace("\n      ┆ ", "");
    assert!(card.contains("reads, and tells somebody beyond the server plain its arguments"), "{card}");
    assert!(card.contains("is told “") && !card.contains("--allow"), "{card}");
    // A plain call, whose word the user gave, may be allowed beforehand.
    script(&home, &[echo("periwinkle"), echo("hello")]);
    run(&home, "plain[echo:tells]", &allow).expect(0);
    run(&home, "plain[echo:tells]", &["word=hello"]).expect(7);
    let card = home.almoner(&["inbox", "2", "--full"]).expect(0).out;
    assert!(card.contains("--allow far.echo"), "{card}");
}

#[test]
fn servers_with_equal_tool_names_fill_two_slots() {
    let home = home("plain", &[]);
    let place = home.path("place").display().to_string();
    add(&home, "approves", &["--dir", &format!("{place}:rw")], &["node", HOSTILE, "approves", &place]);
    home.write("w.worker", "---\nslots: { far: mcp, near: mcp }\n---\nDo.\n");
    script(&home, &[json!({ "name": "near_echo", "arguments": { "word": "n" } }), echo("f")]);
    run(&home, "plain[echo:reads]", &["-e", "near=mcp:approves[echo:reads]"]).expect(0);
    let came = call_results(&home);
    let (near, far) = (came.find("approved by the user").unwrap(), came.find("you said f").unwrap());
    assert!(near < far, "{came}");
    // The daemon refuses two tools that would have the same name for the model.
    home.write("w.worker", "---\nslots: { far: mcp, far_dotted_name: mcp }\n---\nDo.\n");
    let said = run(&home, "plain[dotted.name/x]", &["-e", "far_dotted_name=mcp:plain[x]"]).expect(2);
    assert!(said.err.contains("two tools `far_dotted_name_x`"), "{}", said.err);
}

#[test]
fn call_interrupted_by_a_crash_is_asked_about_not_repeated() {
    let home = home("waits", &[echo("a")]);
    run(&home, "waits[echo]?time=1h", &[]).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    let begun = Instant::now();
    while log(&home).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never began: {}", home.trace("r1"));
        std::thread::sleep(Duration::from_millis(10));
    }
    let daemon = home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    kill_process(Pid::from_raw(daemon.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    // The server does not outlive the daemon.
    while is_at_work(&home) {
        assert!(begun.elapsed() < Duration::from_secs(120), "it is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
    let said = home.almoner(&["resume"]).expect(7);
    assert!(said.err.contains("message 2"), "{said:?}");
    let card = home.almoner(&["inbox", "2", "--full"]).expect(0).out;
    assert!(card.contains("Did this happen?") && card.contains("echo"), "{card}");
    assert_eq!(log(&home).len(), 1);
    home.almoner(&["outcome", "2", "no"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert_eq!(log(&home).len(), 2, "once more, and no oftener");
}

#[test]
fn operator_policy_can_match_server_and_tool() {
    for (text, code) in [
        (
            "forbid(principal, action == Action::\"mcp.call\", resource) when { context.args.tool == \"echo\" };",
            0,
        ),
        (
            "forbid(principal, action == Action::\"mcp.call\", resource) when { resource.name == \"plain\" };",
            0,
        ),
        (
            "forbid(principal, action == Action::\"mcp.call\", resource) when { resource.name == \"other\" };",
            7,
        ),
        (
            "permit(principal, action == Action::\"mcp.call\", resource) when { context.args.tool == \"echo\" };",
            0,
        ),
    ] {
        let home = home("plain", &[echo("a")]);
        std::fs::write(home.root().join("config/policy.cedar"), format!("@id(\"own\") {text}")).unwrap();
        run(&home, "plain[echo]", &[]).expect(code);
        let forbidden = home.trace("r1").to_string().contains("operator/own");
        assert_eq!(forbidden, code == 0, "{text}: {}", home.trace("r1"));
        assert_eq!(log(&home).len(), usize::from(text.starts_with("permit")), "{text}");
    }
}

#[test]
fn server_cannot_be_given_files_of_the_daemon() {
    let home = home("plain", &[]);
    home.almoner(&["mcp", "tools", "plain"]).expect(0);
    let vault = home.root().join("state/kept");
    std::fs::write(&vault, "x").unwrap();
    let (state, file) = (home.root().display().to_string(), vault.display().to_string());
    for (name, options, words) in [
        ("a", vec!["--dir", &state], vec!["node", HOSTILE]),
        ("b", vec!["--reads", &state], vec!["node", HOSTILE]),
        ("c", vec![], vec!["node", HOSTILE, &file]),
    ] {
        add(&home, name, &options, &words);
        let said = home.almoner(&["mcp", "tools", name]);
        assert!(said.code != 0 && said.err.contains("daemon"), "{name}: {said:?}");
    }
}

#[test]
fn real_world_tool_descriptions_can_be_endowed() {
    let packages = tools().join("venv/lib");
    let found = std::fs::read_dir(&packages).into_iter().flatten().flatten();
    let mut folders = found.map(|python| {
        python.path().join("site-packages/mcp_defense_bench/_bench/testcases-benign/tool-definition")
    });
    let folder = folders.find(|folder| folder.is_dir());
    let folder = folder.expect("mcp-defense-bench is not there: `cargo xtask tools` installs it");
    let (mut seen, mut guarded) = (0, 0);
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let case: Json = serde_json::from_str(&text).unwrap();
        let tool = case.get("fixture").unwrap_or(&case)["tool"].clone();
        let told = resource::mcp::ToolDefinition {
            name: tool["name"].as_str().unwrap().to_owned(),
            title: None,
            description: tool["description"].as_str().map(str::to_owned),
            input: tool["inputSchema"].clone(),
            output: None,
            hints: None,
        };
        let named = [(told.name.clone(), resource::mcp::ToolClass::Sends)];
        let listing = caps::ToolListing { tools: vec![told.clone()], ..Default::default() };
        let tools = caps::endow_server(&listing, &named).unwrap_or_else(|e| panic!("{e:?}"));
        let web = resource::web::Web {
            places: vec![],
            methods: Default::default(),
            secret: None,
            idempotency: None,
            address: None,
        };
        let line = resource::mcp::ServerTransport::Web(Box::new(web));
        let server = resource::mcp::ToolServer {
            name: "s".into(),
            line,
            tools,
            call_ms: 1,
            start_ms: 1,
            headers: Default::default(),
            query: String::new(),
        };
        let interface =
            caps::interface_for(&kernel::formula::Formula::Resource(Resource::Mcp(Box::new(server))))
                .unwrap();
        let params: Vec<_> = interface.methods[0].params.iter().filter(|param| !param.rest).collect();
        let properties = tool["inputSchema"]["properties"].as_object().map_or(0, serde_json::Map::len);
        assert_eq!(params.len(), properties, "{}", told.name);
        guarded += params.iter().filter(|param| param.pattern != kernel::Pattern::any()).count();
        seen += params.len();
    }
    // Most of the unguarded parameters are texts with a `pattern` or a `format`.
    assert!(seen > 500 && guarded * 10 > seen * 9, "{guarded} of {seen} parameters are guarded");
}

/// Returns a program that comes with one of the real servers.
fn real(name: &str) -> PathBuf {
    let program = tools().join("node_modules/.bin").join(name);
    assert!(program.exists(), "{} is not there: `cargo xtask tools` installs it", program.display());
    program
}

fn real_home(name: &str) -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", WORKER);
    std::fs::create_dir_all(home.path("place")).unwrap();
    let place = home.path("place").display().to_string();
    let program = real(name).display().to_string();
    let memory = format!("MEMORY_FILE_PATH={place}/memory.jsonl");
    let (options, arguments): (Vec<&str>, Vec<&str>) = match name {
        "mcp-server-memory" => (vec!["--env", &memory], vec![]),
        "mcp-server-filesystem" => (vec![], vec![&place]),
        _ => (vec![], vec![]),
    };
    let place_rw = format!("{place}:rw");
    let options = [&["--dir", place_rw.as_str()][..], &options].concat();
    add(&home, "real", &options, &[&[program.as_str()][..], &arguments].concat());
    home
}

#[test]
fn real_servers_can_be_listed_and_called() {
    for (name, tool, arguments, found) in [
        ("mcp-server-everything", "echo", json!({ "message": "hello" }), "Echo: hello"),
        ("mcp-server-everything", "get-sum", json!({ "a": 2, "b": 40 }), "42"),
        (
            "mcp-server-memory",
            "create_entities",
            json!({ "entities": [{ "name": "Ada", "entityType": "person", "observations": ["counts"] }] }),
            "Ada",
        ),
        ("mcp-server-filesystem", "list_allowed_directories", json!({}), "place"),
    ] {
        let home = real_home(name);
        let call = json!({ "name": format!("far_{tool}"), "arguments": arguments });
        script(&home, &[call]);
        home.almoner(&["mcp", "tools", "real"]).expect(0);
        run(&home, &format!("real[{tool}]"), &[]).expect(7);
        home.almoner(&["approve", "1"]).expect(0);
        home.almoner(&["resume"]).expect(0);
        let came = call_results(&home);
        assert!(came.contains(found) && !came.contains("\"failed\":true"), "{name} {tool}: {came}");
    }
}
