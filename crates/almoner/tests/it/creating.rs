//! Workers that make workers: the proposed worker is shown whole, and it holds no more than it was given.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::kill_sweep::{AFTER, BEFORE, Doomed, at_each, commits};
use crate::test_home::{Said, TestHome};

const BOSS: &str = "---\ncreates: true\nslots: { docs: dir, out: dir rw, ask: worker }\nattachments: { max: 2 }\n---\nUse what you need.\n";
const ASK: &str = "---\ndescription: Answers.\n---\nAnswer.\n";
const RUN: [&str; 8] =
    ["run", "boss.worker", "deck.txt", "-e", "docs=docs", "-e", "out=out:rw", "-mscripted:script.json"];

/// Returns a file with these slots.
fn file(slots: &str) -> String {
    format!(
        "---\ndescription: Judges one deck.\noutput: {{ verdict: pass|fail }}\nslots: {slots}\n---\nJudge it.\n"
    )
}

fn create(source: &str, slots: &Json) -> Json {
    let mut arguments = json!({ "name": "judge", "source": source });
    if !slots.is_null() {
        arguments["slots"] = slots.clone();
    }
    json!({ "name": "create_worker", "arguments": arguments })
}

/// Returns a home in which the boss makes these calls, one turn each, and the workers of these names theirs.
fn home(boss: &[Json], others: &[(&str, &[Json])]) -> TestHome {
    let home = TestHome::new();
    home.write("boss.worker", BOSS);
    home.write("ask.worker", ASK);
    home.write("deck.txt", "Acme makes rockets.\n");
    for dir in ["docs", "out"] {
        std::fs::create_dir(home.path(dir)).unwrap();
    }
    home.write("docs/rubric.md", "Rockets pass.\n");
    let turns = |calls: &[Json], last: Json| -> Json {
        let calls = calls.iter().map(|call| json!({ "calls": [call] }));
        calls.chain([last]).collect()
    };
    let mut script = vec![json!({ "worker": "boss", "turns": turns(boss, json!({ "text": "done" })) })];
    for (name, calls) in others {
        let last = json!({ "json": { "verdict": "pass" } });
        script.push(json!({ "worker": name, "turns": turns(calls, last) }));
    }
    home.write("script.json", Json::from(script).to_string());
    home
}

fn call() -> Json {
    json!({ "name": "judge", "arguments": { "attachments": ["deck.txt"] } })
}

fn append(slot: &str) -> Json {
    json!({ "name": format!("{slot}_append"), "arguments": { "path": "v.md", "content": "pass\n" } })
}

/// Returns a card as it is written, with long lines put together.
fn card(home: &TestHome, number: &str) -> String {
    home.almoner(&["inbox", number, "--full"]).expect(0).out.replace("\n      ┆ ", "")
}

#[test]
fn created_worker_is_shown_whole_and_uses_its_makers_slots() {
    let source = file("{ docs: dir, place: dir rw }");
    let read = json!({ "name": "docs_read", "arguments": { "path": "rubric.md" } });
    let home = home(
        &[create(&source, &json!({ "place": "out" })), call(), call()],
        &[("judge", &[read, append("place")])],
    );
    home.almoner(&RUN).expect(7);
    let shown = card(&home, "1");
    for line in source.lines() {
        assert!(shown.contains(&format!("│ {line}")), "{line} in {shown}");
    }
    // And how it differs from its maker's own file.
    assert!(shown.contains("how it differs from the file of the worker that makes it"), "{shown}");
    assert!(shown.contains("│ - creates: true") && shown.contains("│ + Judge it."), "{shown}");
    // The card also shows slots that the new worker would get without its maker naming them.
    assert!(shown.contains(r#""docs": "docs""#) && shown.contains(r#""place": "out""#), "{shown}");
    assert!(!home.almoner(&["grants"]).expect(0).out.contains("judge"));
    home.almoner(&["approve", "1"]).expect(0);
    // A call that changes files asks, no matter which worker made the caller.
    home.almoner(&["resume"]).expect(7);
    assert!(card(&home, "2").contains("changes place.append"), "{}", card(&home, "2"));
    // The worker exists now, and the user has not edited its text.
    let made = home.almoner(&["inbox", "1", "--json"]).expect(0).json();
    assert!(made.to_string().contains("\"making\":") && !made.to_string().contains("\"edited\":"), "{made}");
    home.almoner(&["approve", "2"]).expect(0);
    home.almoner(&["resume"]).expect(7);
    assert_eq!(home.read("out/v.md"), "pass\n");
    home.almoner(&["approve", "3"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert_eq!(home.read("out/v.md"), "pass\npass\n");
    let why = home.almoner(&["why", "out/v.md"]).expect(0).out;
    assert!(why.contains("started it, in `boss`"), "{why}");
}

#[test]
fn invalid_worker_creation_is_refused_with_the_reason() {
    #[track_caller]
    fn check(calls: &[Json], says: &str) {
        let home = home(calls, &[]);
        home.almoner(&RUN).expect(0);
        assert!(home.almoner(&["inbox"]).expect(0).out.is_empty(), "nobody is asked");
        let trace = home.trace("r1").to_string();
        assert!(trace.contains(says), "{says} in {trace}");
    }
    let one = |source: &str, slots: Json| create(source, &slots);
    check(
        &[one("---\napprove: { out.write: auto }\nslots: { out: dir rw }\n---\nx", Json::Null)],
        "never loosen it",
    );
    check(&[one(&file("{ x: dir }"), json!({ "x": "secrets" }))], "you hold no slot `secrets`");
    // A slot that only reads does not fill a slot that writes.
    check(&[one(&file("{ x: dir rw }"), json!({ "x": "docs" }))], "your slot `docs` is no `dir rw`");
    check(&[one(&file("{ x: outbox }"), json!({ "x": "out" }))], "your slot `out` is no `outbox`");
    check(&[one(&file("{ x: worker }"), json!({ "x": "judge" }))], "you hold no slot `judge`");
    check(&[one(&file("{ x: worker }"), json!({ "x": "docs" }))], "your slot `docs` is no `worker`");
    check(&[one(&file("{ x: dir }"), json!({ "x": "docs", "y": "out" }))], "the worker has no slot `y`");
    check(&[one("---\nslots: { x: root }\n---\nx", Json::Null)], "worker/");
    check(&[one(&file("{ create_worker: dir }"), json!({ "create_worker": "docs" }))], "the name of a tool");
    check(&[one("", Json::Null)], "worker/");
    check(&[one("---\nslots: {}\n---\n{% include \"../boss.worker\" %}", Json::Null)], "template/");
    for name in ["../judge", "docs", "ask", "create_worker", "send", "a b", "", "9"] {
        let mut call = one(&file("{}"), Json::Null);
        call["arguments"]["name"] = json!(name);
        check(&[call], "worker/name");
    }
}

/// Returns the journal of a run whose first call is this one. Checks that no person is asked, and that no file is
/// made.
fn refused(call: Json) -> String {
    let home = home(&[call], &[]);
    let before = home.read("ask.worker");
    home.almoner(&RUN).expect(0);
    assert!(home.almoner(&["inbox"]).expect(0).out.is_empty(), "nobody is asked");
    assert_eq!(home.read("ask.worker"), before);
    for file in ["judge.worker", "evil.worker", "../evil.worker"] {
        assert!(!home.path(file).exists(), "{file}");
    }
    home.trace("r1").to_string()
}

fn named(name: &str) -> Json {
    let mut call = create(&file("{}"), &Json::Null);
    call["arguments"]["name"] = json!(name);
    call
}

#[test]
fn llm_do_11_created_worker_cannot_replace_an_existing_tool() {
    assert!(refused(named("ask")).contains("there is a tool `ask` already"));
}

#[test]
fn llm_do_12_model_parameter_cannot_bypass_a_lock() {
    let mut call = named("ask");
    call["arguments"]["force"] = json!(true);
    assert!(refused(call).contains("tool/arguments"));
}

#[test]
fn llm_do_13_created_worker_cannot_be_overwritten() {
    let home = home(&[named("judge"), named("judge")], &[]);
    home.almoner(&RUN).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert!(home.trace("r1").to_string().contains("there is a tool `judge` already"));
    assert_eq!(home.almoner(&["grants"]).expect(0).out.matches("worker judge").count(), 1);
}

#[test]
fn llm_do_14_new_worker_name_cannot_be_a_path() {
    for name in ["../evil", "/etc/evil", "evil.worker", "..", "a/b"] {
        assert!(refused(named(name)).contains("worker/name"), "{name}");
    }
}

#[test]
fn llm_do_15_created_worker_gets_only_slots_of_its_maker() {
    for slots in ["{ out: dir rw, sh: program }", "{ net: http }"] {
        let slot = if slots.contains("sh") { "sh" } else { "net" };
        let call = create(&file(slots), &json!({ slot: slot }));
        assert!(refused(call).contains("you hold no slot"), "{slots}");
    }
}

#[test]
fn worker_without_creates_cannot_create_workers() {
    let home = home(&[create(&file("{}"), &Json::Null)], &[]);
    home.write("boss.worker", BOSS.replace("creates: true\n", ""));
    home.almoner(&RUN).expect(0);
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("tool/unknown"), "{trace}");
}

#[test]
fn denied_creation_reaches_the_model_with_its_reason() {
    let home = home(&[create(&file("{}"), &Json::Null), call()], &[]);
    home.almoner(&RUN).expect(7);
    home.almoner(&["deny", "1", "-r", "use `ask` instead"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("use `ask` instead") && trace.contains("tool/unknown"), "{trace}");
}

#[test]
fn one_answer_to_several_leaves_no_slot_open() {
    let home = home(&[create(&file("{ post: outbox }"), &Json::Null)], &[]);
    home.write("in/a.txt", "a");
    home.write("in/b.txt", "b");
    let args = ["-e", "docs=docs", "-e", "out=out:rw", "-mscripted:script.json"];
    home.almoner(&[&["run", "boss.worker", "in", "--each", "-j2"], &args[..]].concat()).expect(7);
    let inbox = home.almoner(&["inbox"]).expect(0).out;
    assert!(inbox.contains("2 items ask"), "{inbox}");
    let said = home.almoner(&["approve", "1-2"]).expect(2);
    assert!(said.err.contains("nothing fills the slot `post`"), "{said:?}");
    // Nothing was answered, so that both can still be denied.
    let denied = home.almoner(&["deny", "1-2", "-r", "no"]).expect(0);
    assert!(denied.out.contains("answered 2 messages"), "{denied:?}");
}

#[test]
fn user_fills_slots_missing_from_the_maker() {
    let send =
        json!({ "name": "post_send", "arguments": { "to": "a@own.example", "subject": "s", "body": "b" } });
    let home = home(&[create(&file("{ post: outbox }"), &Json::Null), call()], &[("judge", &[send])]);
    home.almoner(&RUN).expect(7);
    assert!(card(&home, "1").contains(r#""post": null"#));
    #[track_caller]
    fn refused(home: &TestHome, args: &[&str], code: i32, says: &str) {
        let said = home.almoner(&[&["approve", "1"][..], args].concat()).expect(code);
        assert!(said.err.contains(says), "{said:?}");
    }
    home.write("bad.worker", "---\nslots: { post: root }\n---\nx");
    refused(&home, &[], 2, "nothing fills the slot `post`");
    refused(&home, &["-e", "post=post", "-e", "more=docs"], 2, "has no slot `more`");
    refused(&home, &["-e", "post=https://own.example"], 2, "wants outbox");
    refused(&home, &["--edited", "nowhere.worker"], 4, "nowhere.worker");
    refused(&home, &["-e", "post=post", "--edited", "bad.worker"], 6, "root");
    home.almoner(&["approve", "1", "-e", "post=post"]).expect(0);
    // A second answer of any kind is told that it came too late.
    for late in [&["approve", "1"][..], &["approve", "1", "-e", "post=docs"]] {
        let said = home.almoner(late).expect(0).out;
        assert!(said.contains("was approved at ") && said.contains("nothing changed"), "{late:?}: {said}");
    }
    home.almoner(&["deny", "1"]).expect(8);
    home.almoner(&["resume"]).expect(7);
    home.almoner(&["approve", "2"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert_eq!(std::fs::read_dir(home.path("post")).unwrap().count(), 1);
    // Additions do not fit a card that makes no worker.
    let said = home.almoner(&["approve", "2", "-e", "post=post"]).expect(2);
    assert!(said.err.contains("makes no worker"), "{said:?}");
}

#[test]
fn user_fills_a_slot_of_a_new_worker_by_name() {
    let home = home(&[create(&file("{ zz: dir, out: dir rw }"), &Json::Null)], &[]);
    home.almoner(&["mount", home.path("docs").to_str().unwrap(), "papers"]).expect(0);
    home.almoner(&["store", "five:=5"]).expect(0);
    home.almoner(&RUN).expect(7);
    let number = crate::sends::wait_for_mail(&home, "approval").to_string();
    let shown = card(&home, &number);
    assert!(
        shown.contains("> its slot `out` gets its maker's `out`: ") && shown.contains("write"),
        "{shown}"
    );
    assert!(shown.contains("asked each time before write, append"), "{shown}");
    assert!(shown.contains("> its slot `zz` (dir) is yours to fill"), "{shown}");
    for (wrong, code, says) in [
        ("zz=nobody", 4, "nobody"),
        ("zz=five", 6, "slot `zz` wants dir, and `five` is"),
        ("more=papers", 2, "nothing fills the slot `zz`"),
        ("papers", 2, "`papers` binds no slot"),
    ] {
        let said = home.almoner(&["approve", &number, wrong]).expect(code);
        assert!(said.err.contains(says), "{wrong}: {said:?}");
    }
    home.almoner(&["approve", &number, "zz=papers"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    let shown = card(&home, &number);
    let place = home.path("docs").display().to_string();
    assert!(
        shown.contains(&format!(
            "> its slot `zz` gets what you chose: papers: directory {place}; it can do: list, read"
        )),
        "{shown}"
    );
    assert!(shown.contains("> its slot `out` gets its maker's `out`: "), "{shown}");
}

#[test]
fn maker_is_notified_of_a_worker_file_edited_by_the_user() {
    let home = home(&[create(&file("{ docs: dir }"), &Json::Null), call()], &[("judge", &[])]);
    home.almoner(&RUN).expect(7);
    let mine = file("{ docs: dir }").replace("pass|fail }", "pass|fail, why: string }");
    home.write("mine.worker", mine);
    home.almoner(&["approve", "1", "--edited", "mine.worker"]).expect(0);
    // The script has no second answer.
    home.almoner(&["resume"]).expect(1);
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("the user has changed its file"), "{trace}");
    // The reply of its model fits the original file, and not the changed one.
    let trace = home.trace("r2").to_string();
    assert!(trace.contains("output/pattern") && trace.contains("expected a record of"), "{trace}");
}

#[test]
fn edited_worker_file_gets_no_unshown_slot() {
    let home = home(&[create(&file("{ p: dir }"), &json!({ "p": "docs" }))], &[]);
    home.almoner(&RUN).expect(7);
    // The file asks for a slot of its maker that was not shown, or for one that its maker does not have.
    for (slots, slot) in [("{ p: dir, out: dir rw }", "out"), ("{ p: dir, zz: outbox }", "zz")] {
        home.write("more.worker", file(slots));
        let said = home.almoner(&["approve", "1", "--edited", "more.worker"]).expect(2);
        assert!(said.err.contains(&format!("nothing fills the slot `{slot}`")), "{said:?}");
    }
    home.write("less.worker", file("{}"));
    home.almoner(&["approve", "1", "--edited", "less.worker"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert!(!home.almoner(&["grants"]).expect(0).out.contains(" p "));
}

#[test]
fn revoking_the_makers_grant_revokes_derived_grants() {
    let home = home(
        &[create(&file("{ place: dir rw }"), &json!({ "place": "out" })), call()],
        &[("judge", &[append("place")])],
    );
    home.almoner(&RUN).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(7);
    let grants = home.almoner(&["grants"]).expect(0).out;
    let out = grants.lines().find(|line| line.contains(" out ")).unwrap();
    home.almoner(&["revoke", out.split_whitespace().next().unwrap()]).expect(0);
    // The card says that a yes comes to nothing, and afterwards that it did.
    let shown = card(&home, "2");
    assert!(shown.contains("! a yes would come to nothing: the grant of `out` was revoked"), "{shown}");
    home.almoner(&["approve", "2"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert!(!home.path("out/v.md").exists());
    assert!(home.trace("r2").to_string().contains("grant/revoked"));
    let shown = card(&home, "2");
    assert!(shown.contains("✓ approved") && shown.contains("! nothing was done: "), "{shown}");
    assert!(shown.contains("was revoked") && !shown.contains("a yes would"), "{shown}");
}

#[test]
fn staged_directory_stays_staged_in_a_created_worker() {
    let home = home(
        &[create(&file("{ place: dir rw }"), &json!({ "place": "out" })), call()],
        &[("judge", &[append("place")])],
    );
    let run = RUN.map(|word| if word == "out=out:rw" { "out=out:stage" } else { word });
    home.almoner(&run).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume", "r1"]).expect(0);
    assert!(!home.path("out/v.md").exists());
    assert!(home.almoner(&["diff", "r1"]).expect(0).out.contains("+pass"));
    home.almoner(&["apply", "r1"]).expect(0);
    assert_eq!(home.read("out/v.md"), "pass\n");
}

#[test]
fn created_worker_cannot_delegate_beyond_its_grants() {
    let inner = "---\nslots: { place: dir rw }\n---\nWrite.\n";
    let outer = "---\ncreates: true\noutput: { verdict: pass|fail }\nslots: { docs: dir }\n---\nMake one.\n";
    let make = |slots: Json| json!({ "name": "create_worker", "arguments": { "name": "inner", "source": inner, "slots": slots } });
    // Its maker may write, and it may not.
    let home = home(
        &[create(outer, &Json::Null), call()],
        &[("judge", &[make(json!({ "place": "out" })), make(json!({ "place": "docs" }))])],
    );
    home.almoner(&RUN).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    let trace = home.trace("r2").to_string();
    assert!(trace.contains("you hold no slot `out`") && trace.contains("is no `dir rw`"), "{trace}");
}

/// Starts a command that may fail, because the daemon may die under it.
fn quiet(home: &TestHome, args: &[&str]) -> Child {
    home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns everything is approved, until the run is over.
pub(crate) fn to_the_end(home: &TestHome) -> Said {
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < Duration::from_secs(120), "the run does not end");
        let said = home.almoner(&["resume", "r1"]);
        if said.code == 0 {
            return said;
        }
        let said = home.almoner(&["inbox", "--json"]);
        let letters: Json = serde_json::from_str(&said.out).unwrap_or_default();
        for letter in letters.as_array().into_iter().flatten() {
            let number = letter["number"].to_string();
            // It may have been answered before the daemon died.
            home.almoner(&["approve", &number]);
        }
    }
}

#[test]
fn worker_is_created_and_runs_once_despite_kills() {
    let begun = || {
        home(
            &[create(&file("{ place: dir rw }"), &json!({ "place": "out" })), call()],
            &[("judge", &[append("place")])],
        )
    };
    let undisturbed = begun();
    undisturbed.almoner(&RUN).expect(7);
    let last = to_the_end(&undisturbed);
    let all = commits(&undisturbed);
    let play = |point: &str, nth: u64| {
        let home = begun();
        let mut doomed = Doomed::start(&home, point, nth);
        quiet(&home, &RUN).wait().unwrap();
        let started = home.almoner(&["runs"]);
        if !started.out.contains("boss") {
            // The command itself was lost, and the user got no acknowledgement.
            home.almoner(&RUN);
        }
        let said = to_the_end(&home);
        assert_eq!(said.out, last.out, "{point} {nth}");
        assert_eq!(home.read("out/v.md"), "pass\n", "{point} {nth}");
        let grants = home.almoner(&["grants"]).expect(0).out;
        let made = grants.lines().filter(|line| line.contains("worker judge: ")).count();
        assert_eq!(made, 1, "{point} {nth}: {grants}");
        doomed.has_died()
    };
    for point in [BEFORE, AFTER] {
        at_each(point, all, all / 2 + 1, |nth| play(point, nth));
    }
}
