//! Tests of answers that cross: a proposal is approved and denied at once, or cancelled while it is approved. Or a
//! file on its card changes in that instant. Each proposal has one outcome and at most one effect, and no file is
//! overwritten unseen.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;

use serde_json::{Value as Json, json};

use crate::kill_sweep::is_full;
use crate::test_home::TestHome;
use crate::wire::Control;

const WORKER: &str = "---\nslots: { out: dir rw, outbox: outbox }\n---\nDo it.\n";
const RUN: [&str; 8] =
    ["run", "clerk.worker", "-e", "out=out:rw", "-e", "outbox=outbox", "-m", "scripted:script.json"];

/// Returns a home whose model makes these calls in one turn and then ends.
fn home(calls: &[Json]) -> TestHome {
    let home = TestHome::new();
    home.write("clerk.worker", WORKER);
    home.write("script.json", json!([{ "turns": [{ "calls": calls }, { "text": "done" }] }]).to_string());
    for dir in ["out", "outbox"] {
        std::fs::create_dir(home.path(dir)).unwrap();
    }
    home
}

fn send(n: usize) -> Json {
    let arguments = json!({ "to": "office@own.example", "subject": format!("number {n}."), "body": "b" });
    json!({ "name": "outbox_send", "arguments": arguments })
}

/// Starts the run, which then waits: its number and that of its card.
fn asks(home: &TestHome) -> (u64, u64) {
    let waits = home.almoner(&[&RUN[..], &["--json"]].concat()).expect(7).json();
    let run = waits["run"].as_str().unwrap().trim_start_matches('r').parse().unwrap();
    (run, waits["pending"][0].as_u64().unwrap())
}

fn approve(message: u64, entry: usize) -> Json {
    json!({ "request": "approve", "text": "", "message": message, "entries": [entry], "for_run": false })
}

fn deny(message: u64, entry: usize) -> Json {
    json!({ "request": "deny", "text": "", "message": message, "entries": [entry], "reason": "not that" })
}

/// Returns whether an answer counted; `false` if another one was quicker. Panics if the daemon replied with anything
/// else.
#[track_caller]
fn counted(answer: &Json) -> bool {
    match answer["body"]["reply"].as_str() {
        Some("answered") => true,
        Some("already_answered") => false,
        _ => panic!("this is no polite answer: {answer}"),
    }
}

/// Returns how often each mail lies in the spool, by its number.
fn spooled(home: &TestHome) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::new();
    for mail in std::fs::read_dir(home.path("outbox")).unwrap().flatten() {
        let text = std::fs::read_to_string(mail.path()).unwrap();
        let number = text.split("number ").nth(1).unwrap().split('.').next().unwrap().parse().unwrap();
        *found.entry(number).or_default() += 1;
    }
    found
}

/// Returns how often a proposal has each kind of entry in a journal: by proposal, in the order of the calls.
fn outcomes(home: &TestHome, run: u64) -> Vec<BTreeMap<String, usize>> {
    let steps = home.trace(&format!("r{run}"))["steps"].take();
    let mut found: BTreeMap<u64, BTreeMap<String, usize>> = BTreeMap::new();
    for step in steps.as_array().unwrap() {
        let entry = &step["entry"];
        let kind = entry["entry"].as_str().unwrap();
        if kind == "proposed" {
            found.insert(step["number"].as_u64().unwrap(), BTreeMap::new());
        }
        if let Some(kinds) = entry["proposal"].as_u64().and_then(|proposal| found.get_mut(&proposal)) {
            let verdict =
                if kind == "answered" { format!("approved {}", entry["approved"]) } else { kind.to_owned() };
            *kinds.entry(verdict).or_default() += 1;
        }
    }
    found.into_values().collect()
}

#[test]
fn simultaneous_approve_and_deny_have_exactly_one_outcome() {
    let runs = if is_full() { 20 } else { 4 };
    // A run asks about at most so many calls.
    const EACH: usize = 50;
    let home = home(&(0..EACH).map(send).collect::<Vec<_>>());
    let mut won = [0_usize; 2];
    for _ in 0..runs {
        for mail in std::fs::read_dir(home.path("outbox")).unwrap().flatten() {
            std::fs::remove_file(mail.path()).unwrap();
        }
        let (run, message) = asks(&home);
        let together = Barrier::new(2);
        // The surfaces change answers with every entry, so that neither a surface nor an answer is always the first.
        let surface = |odd: usize| {
            let mut control = Control::open(&home);
            let mut yes_counted = Vec::new();
            for entry in 0..EACH {
                let yes = (entry + odd).is_multiple_of(2);
                let request = if yes { approve(message, entry) } else { deny(message, entry) };
                together.wait();
                let answer = control.ask(&request);
                yes_counted.push(counted(&answer).then_some(yes));
            }
            yes_counted
        };
        let (one, other) = thread::scope(|scope| {
            let other = scope.spawn(|| surface(1));
            (surface(0), other.join().unwrap())
        });
        home.almoner(&["resume", &format!("r{run}")]).expect(0);
        let (spooled, outcomes) = (spooled(&home), outcomes(&home, run));
        assert_eq!(outcomes.len(), EACH);
        for (entry, (one, other)) in one.iter().zip(&other).enumerate() {
            let yes = match (one, other) {
                (Some(yes), None) | (None, Some(yes)) => *yes,
                both => panic!("entry {entry} of r{run}: not exactly one answer counted: {both:?}"),
            };
            won[usize::from(yes)] += 1;
            assert_eq!(spooled.get(&entry), yes.then_some(&1), "entry {entry} of r{run}");
            let begun = if yes { vec![("effect_started", 1)] } else { vec![] };
            let answered = if yes { "approved true" } else { "approved false" };
            let expected: BTreeMap<String, usize> = [("judged", 1), (answered, 1), ("completed", 1)]
                .into_iter()
                .chain(begun)
                .map(|(kind, count)| (kind.to_owned(), count))
                .collect();
            assert_eq!(outcomes[entry], expected, "entry {entry} of r{run}");
        }
    }
    println!("of {} proposals {} were denied and {} approved", runs * EACH, won[0], won[1]);
    assert!(won.iter().all(|count| *count > 0), "the race is none: {won:?}");
}

#[test]
fn approval_racing_a_cancel_happens_at_most_once() {
    const TRIES: usize = 60;
    let home = home(&[send(0)]);
    let mut happened = [0_usize; 2];
    for n in 0..TRIES {
        let (run, message) = asks(&home);
        let together = Barrier::new(2);
        let cancel = json!({ "request": "act", "act": { "do": "cancel", "reason": "enough",
            "what": { "cancel": "run", "run": run } } });
        let say = |request: &Json, late: bool| {
            let mut control = Control::open(&home);
            together.wait();
            if late {
                thread::sleep(std::time::Duration::from_micros(n as u64 * 300));
            }
            control.ask(request)
        };
        let (approved, cancelled) = thread::scope(|scope| {
            let cancelled = scope.spawn(|| say(&cancel, true));
            (say(&approve(message, 0), false), cancelled.join().unwrap())
        });
        assert_eq!(cancelled["response"], "reply", "{cancelled}");
        // The end is reached without anybody; it may be an end by cancelling, or the run was over before.
        let _ = home.almoner(&["resume", &format!("r{run}")]);
        let mails: usize = spooled(&home).values().sum();
        let kinds = outcomes(&home, run).remove(0);
        let begun = kinds.get("effect_started").copied().unwrap_or(0);
        assert!(begun <= 1 && mails == begun, "{mails} mails, {kinds:?}");
        assert!(counted(&approved) || begun == 0, "{kinds:?}");
        let card = home.almoner(&["inbox", "--json"]).expect(0).out;
        assert_eq!(card.trim(), "[]", "a card is left open");
        happened[begun] += 1;
        for mail in std::fs::read_dir(home.path("outbox")).unwrap().flatten() {
            std::fs::remove_file(mail.path()).unwrap();
        }
    }
    println!("of {TRIES} approvals beside a cancelling {} came too late", happened[0]);
}

#[test]
fn file_modified_during_a_write_is_never_overwritten() {
    // A run asks about at most so many calls.
    const FILES: usize = 50;
    let write = |n: usize| {
        let arguments = json!({ "path": format!("{n}.md"), "content": "the run's\n" });
        json!({ "name": "out_write", "arguments": arguments })
    };
    let home = home(&(0..FILES).map(write).collect::<Vec<_>>());
    for n in 0..FILES {
        // A new file, and one that is there.
        if n % 2 == 0 {
            home.write(&format!("out/{n}.md"), "old\n");
        }
        home.write(&format!("{n}.new"), "somebody else's\n");
    }
    let (run, message) = asks(&home);
    let together = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..FILES {
                together.wait();
                // Sooner and later around the moment at which the effect happens.
                thread::sleep(std::time::Duration::from_micros(n as u64 * 201 % 10_000));
                std::fs::rename(home.path(&format!("{n}.new")), home.path(&format!("out/{n}.md"))).unwrap();
            }
        });
        let mut control = Control::open(&home);
        for n in 0..FILES {
            together.wait();
            assert!(counted(&control.ask(&approve(message, n))));
        }
    });
    // The daemon may ask anew about files that were not written. The test does not answer.
    let _ = home.almoner(&["resume", &format!("r{run}")]);
    let mut written = 0;
    for (n, kinds) in outcomes(&home, run).iter().take(FILES).enumerate() {
        assert!(kinds.get("effect_started").copied().unwrap_or(0) <= 1, "{n}: {kinds:?}");
        // Somebody else's words were there, or came last: in no order may they be gone.
        assert_eq!(home.read(&format!("out/{n}.md")), "somebody else's\n", "{n}: {kinds:?}");
    }
    for step in home.trace(&format!("r{run}"))["steps"].as_array().unwrap() {
        let completion = &step["entry"]["completion"];
        written += usize::from(completion.to_string().contains("digest"));
    }
    println!("of {FILES} files {written} were written before somebody else changed them");
    let leftovers = std::fs::read_dir(home.path("out")).unwrap().flatten();
    let leftovers: Vec<_> =
        leftovers.map(|f| f.file_name()).filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
}
