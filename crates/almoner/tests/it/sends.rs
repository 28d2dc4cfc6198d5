//! Tests of code that holds objects with effects. Its messages go out once, wherever a crash falls, and its own
//! objects are there for others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::kill_sweep::{self, AFTER, BEFORE, Doomed, at_each, commits};
use crate::test_home::TestHome;

/// How long something may take before a test gives up.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) const COUNTER: &str = "let n = 0;\nmakeExo('Counter', M.interface('Counter', {\n  incr: M.call().returns(M.number()),\n  \
                       add: M.call(M.nat()).returns(M.number()),\n}), { incr() { return ++n; }, add(m) { n += Number(m); return n; } })";

pub(crate) fn evaluated(home: &TestHome, args: &[&str]) -> String {
    unquoted(&home.almoner(&[&["eval"], args].concat()).expect(0).out)
}

/// Returns a result, without the quotes of text.
pub(crate) fn unquoted(out: &str) -> String {
    out.trim().trim_matches('"').to_owned()
}

pub(crate) fn refused(home: &TestHome, args: &[&str], says: &str) {
    let said = home.almoner(&[&["eval"], args].concat()).expect(1);
    assert!(said.err.contains(says), "{args:?} does not say {says:?}: {said:?}");
}

#[test]
fn objects_made_by_code_answer_their_holders() {
    let home = TestHome::new();
    home.almoner(&["eval", COUNTER, "--name", "counter"]).expect(0);
    assert_eq!(evaluated(&home, &["E(c).incr()", "c=counter"]), "1");
    assert_eq!(evaluated(&home, &["E(c).add(4n)", "c=counter"]), "5");
    // One after the other, and all at once.
    let loops = "(async () => { let last; for (let i = 0; i < 1000; i += 1) last = await E(c).incr(); return last; })()";
    assert_eq!(evaluated(&home, &[loops, "c=counter"]), "1005");
    let burst = "Promise.all(Array.from({ length: 900 }, () => E(c).incr())).then(all => all.at(-1))";
    assert_eq!(evaluated(&home, &[burst, "c=counter"]), "1905");
    // The object refuses an unknown method, and arguments that its guard does not allow, in its own words.
    refused(&home, &["E(c).nope()", "c=counter"], "no method \"nope\"");
    refused(&home, &["E(c).add('4')", "c=counter"], "Counter");
    refused(&home, &["E(c).add(-4n)", "c=counter"], "Counter");
    // Objects of objects, and objects as arguments, also of other code's.
    let maker = "Far('Maker', { make() { let k = 0; return Far('Own', { up() { k += 1; return k; }, via(o) { return \
                 E(o).incr(); } }); } })";
    home.almoner(&["eval", maker, "--name", "maker"]).expect(0);
    let both = "(async () => { const own = await E(m).make(); await E(own).up(); \
                return [await E(own).up(), await E(own).via(c)].join(); })()";
    assert_eq!(evaluated(&home, &[both, "m=maker", "c=counter"]), "2,1906");
    assert_eq!(evaluated(&home, &["E(E(m).make()).up()", "m=maker"]), "1");
    // An object that the code makes after its own end has no lasting identity.
    refused(&home, &["E(m).make()", "m=maker"], "ends with it");
    // Functions, symbols and properties.
    home.almoner(&["eval", "Far('twice', x => x * 2)", "--name", "twice"]).expect(0);
    assert_eq!(evaluated(&home, &["E(f)(21)", "f=twice"]), "42");
    // A heap is lost with the daemon; the object is made again.
    home.almoner(&["stop"]).expect(0);
    assert_eq!(evaluated(&home, &["E(c).incr()", "c=counter"]), "1");
}

#[test]
fn objects_and_state_of_code_survive_a_restart() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat());
    let store =
        "E(me).storeValue(harden({ a: Far('A', { a: () => 'a' }), b: Far('B', { b: () => 'b' }) }), 'both')";
    fae(&["eval", store, "me=@agent"]).expect(0);
    let ask = "(async () => { const { a, b } = await E(me).lookup('both'); return await E(a).a() + await E(b).b(); })()";
    assert_eq!(unquoted(&fae(&["eval", ask, "me=@agent"]).expect(0).out), "ab");
    home.almoner(&["stop"]).expect(0);
    assert_eq!(unquoted(&fae(&["eval", ask, "me=@agent"]).expect(0).out), "ab");
    // Data that outlives the heap, without being handed to anybody.
    let tally = "Far('Tally', { async up() { const n = (await E(state).get('n') ?? 0) + 1; await E(state).set('n', n); \
                 return n; } })";
    fae(&["eval", tally, "--name", "tally"]).expect(0);
    assert_eq!(fae(&["eval", "E(t).up().then(() => E(t).up())", "t=tally"]).expect(0).out.trim(), "2");
    home.almoner(&["stop"]).expect(0);
    assert_eq!(fae(&["eval", "E(t).up()", "t=tally"]).expect(0).out.trim(), "3");
    let others = "E(state).list().then(l => l.length)";
    assert_eq!(fae(&["eval", others]).expect(0).out.trim(), "0", "other code has a state of its own");
}

#[test]
fn code_reaches_only_its_endowments() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["mkdir", "notes"]).expect(0);
    home.almoner(&["store", "notes/x:=1", "secret:=2"]).expect(0);
    assert_eq!(evaluated(&home, &["E(d).list().then(l => l.join())", "d=notes"]), "x");
    assert_eq!(evaluated(&home, &["E(d).lookup('x')", "d=notes"]), "1");
    refused(&home, &["E(d).lookup('secret')", "d=notes"], "Unknown pet name");
    refused(&home, &["E(d).lookup(['..', 'secret'])", "d=notes"], "");
    refused(&home, &["E(d).evaluate(undefined, '1', [], [])", "d=notes"], "no method");
    // An identifier is no authority, regardless of its writer.
    let id = home.almoner(&["show", "secret", "--json"]).expect(0).json()["id"].as_str().unwrap().to_owned();
    refused(&home, &[&format!("E(d).storeIdentifier('stolen', '{id}')"), "d=notes"], "not held");
    // After a revocation the code can use neither the names nor the objects that came through them.
    let waits =
        "(async () => { const r = E(me).request('@host', 'go on'); await r; return await E(d).list(); })()";
    home.almoner(&["eval", waits, "me=agent-fae", "d=notes", "--name", "later", "--detach"]).expect(0);
    let number = wait_for_mail(&home, "request");
    let grants = home.almoner(&["grants", "--json"]).expect(0).json();
    for grant in grants.as_array().unwrap().iter().filter(|grant| grant["slot"] == "d") {
        let number = format!("g{}", grant["number"]);
        home.almoner(&["revoke", &number]).expect(0);
    }
    home.almoner(&["resolve", &number.to_string(), "secret"]).expect(0);
    let ended = home.almoner(&["show", "later", "--wait"]);
    assert!(ended.code != 0 && format!("{ended:?}").contains("revoked"), "{ended:?}");
}

/// Returns the number of the message of this kind that waits.
pub(crate) fn wait_for_mail(home: &TestHome, kind: &str) -> u64 {
    let begun = Instant::now();
    loop {
        let letters = home.almoner(&["inbox", "--json"]).expect(0).json();
        let found = letters.as_array().unwrap().iter().find(|one| one["message"]["body"]["type"] == kind);
        if let Some(number) = found.and_then(|one| one["number"].as_u64()) {
            return number;
        }
        let all = letters.as_array().unwrap().iter();
        let all: Vec<String> =
            all.map(|one| format!("{} {}", one["number"], one["message"]["body"]["type"])).collect();
        assert!(begun.elapsed() < TIMEOUT / 6, "no {kind}: {all:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn code_awaiting_an_answer_is_unloaded_and_resumes_once() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["store", "answer:=21"]).expect(0);
    let asks = "(async () => { const told = await E(me).request('@host', 'a number, please'); \
                await E(me).storeValue(told * 2, 'twice'); return told; })()";
    home.almoner(&["--as", "agent-fae", "eval", asks, "me=@agent", "--name", "asked", "--detach"]).expect(0);
    let number = wait_for_mail(&home, "request");
    home.almoner(&["stop"]).expect(0);
    home.almoner(&["resolve", &number.to_string(), "answer"]).expect(0);
    let told = home.almoner(&["--as", "agent-fae", "show", "asked", "--wait"]).expect(0);
    assert_eq!(told.out.trim(), "21");
    assert_eq!(home.almoner(&["--as", "agent-fae", "show", "twice"]).expect(0).out.trim(), "42");
    // It asked once.
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let asked =
        all.as_array().unwrap().iter().filter(|one| one["message"]["body"]["type"] == "request").count();
    assert_eq!(asked, 1, "{all}");
}

#[test]
fn result_with_capabilities_is_withheld_until_approved() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["mkdir", "notes"]).expect(0);
    // The value of the code, and the fate of the guest's result: the guest receives nothing with effects, however it
    // is wrapped.
    for (at, (source, comes)) in [
        ("c", "withheld"),
        ("({ c })", "withheld"),
        ("[[c]]", "withheld"),
        ("Promise.resolve(c)", "withheld"),
        ("Far('f', { get: () => c })", "withheld"),
        ("Far('f', () => c)", "withheld"),
        ("() => c", "failed"),
        ("({ get: () => c })", "failed"),
        ("throw c", "failed"),
        ("Promise.reject(c)", "failed"),
        ("E(c).list().then(l => l.length)", "given"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("r{at}");
        home.write("code.js", source);
        home.almoner(&["--as", "agent-fae", "define", "code.js", "--slot", "c:any", "--result", &name])
            .expect(0);
        let definitions = home.almoner(&["inbox", "--json"]).expect(0).json();
        let last = definitions
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["message"]["body"]["type"] == "definition");
        let number = last.filter_map(|one| one["number"].as_u64()).max().unwrap().to_string();
        home.almoner(&["endow", &number, "c=notes"]).expect(0);
        let state = || home.almoner(&["--as", "agent-fae", "show", &name]);
        match comes {
            "given" => {
                let shown = home.almoner(&["--as", "agent-fae", "show", &name, "--wait"]).expect(0);
                assert_eq!(shown.out.trim(), "0", "{source}");
            }
            "failed" => {
                let shown = format!("{:?}", home.almoner(&["--as", "agent-fae", "show", &name, "--wait"]));
                assert!(!shown.contains("remotable") && shown.contains("code: 1"), "{source}: {shown}");
            }
            _ => {
                let release = wait_for_mail(&home, "release");
                assert!(state().err.contains("still open"), "{source}: {:?}", state());
                home.almoner(&["deny", &release.to_string(), "--reason", "no"]).expect(0);
                assert_ne!(state().code, 0, "{source}");
            }
        }
    }
}

#[test]
fn promised_object_is_unusable_after_its_grant_is_revoked() {
    for is_revoked in [false, true] {
        let home = TestHome::new();
        home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
        home.almoner(&["mkdir", "notes"]).expect(0);
        home.almoner(&["eval", COUNTER, "--name", "counter"]).expect(0);
        // The directory contains a promise that is still pending.
        let later = "E(me).request('@self', 'the counter, please', ['notes', 'p']); 1";
        home.almoner(&["eval", later, "me=@agent", "--detach"]).expect(0);
        let asked = wait_for_mail(&home, "request").to_string();
        home.almoner(&["send", "fae", "take @notes"]).expect(0);
        let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat());
        let letters = fae(&["inbox", "--all", "--json"]).expect(0).json();
        fae(&["adopt", &letters[0]["number"].to_string(), "notes"]).expect(0);
        // The code holds the promise before the grant ends, and uses the promise's result afterwards.
        let uses = "(async () => { const p = E(d).lookup('p'); const used = E(p).incr(); used.catch(() => {}); \
                    await E(me).send('@host', ['I have it'], [], []); const c = await p; \
                    return [await E(c).incr(), await used].join(); })()";
        fae(&["eval", uses, "d=notes", "me=@agent", "--name", "kept", "--detach"]).expect(0);
        let begun = Instant::now();
        while !home.almoner(&["inbox", "--all"]).expect(0).out.contains("I have it") {
            assert!(begun.elapsed() < TIMEOUT, "{:?}", fae(&["trace", "kept"]));
            std::thread::sleep(Duration::from_millis(20));
        }
        if is_revoked {
            let grants = home.almoner(&["grants", "--json"]).expect(0).json();
            let of_notes = grants.as_array().unwrap().iter().filter(|grant| grant["slot"] == "notes");
            let numbers: Vec<String> = of_notes.map(|grant| format!("g{}", grant["number"])).collect();
            assert!(!numbers.is_empty(), "{grants}");
            numbers.iter().for_each(|number| drop(home.almoner(&["revoke", number]).expect(0)));
        }
        home.almoner(&["resolve", &asked, "counter"]).expect(0);
        let ended = fae(&["show", "kept", "--wait"]);
        let count = evaluated(&home, &["E(c).incr()", "c=counter"]);
        match is_revoked {
            false => assert_eq!((unquoted(&ended.out).as_str(), count.as_str()), ("2,1", "3"), "{ended:?}"),
            true => {
                assert!(ended.code != 0 && ended.err.contains("revoked"), "{ended:?}");
                assert_eq!(count, "1", "the counter was used after all: {ended:?}");
            }
        }
    }
}

#[test]
fn more_agents_than_threads_all_get_their_turn() {
    let home = TestHome::new();
    for at in 0..34 {
        let (name, agent) = (format!("g{at}"), format!("agent-{at}"));
        home.almoner(&["mkguest", &name, &agent]).expect(0);
        home.almoner(&["--as", &agent, "eval", "Far('a', { hi: () => 1 })", "--name", "x", "--detach"])
            .expect(0);
    }
    for at in (0..34).rev() {
        let agent = format!("agent-{at}");
        home.almoner(&["--as", &agent, "show", "x", "--wait"]).expect(0);
    }
    assert_eq!(home.almoner(&["--as", "agent-0", "eval", "E(x).hi()", "x"]).expect(0).out.trim(), "1");
}

#[test]
fn code_replays_recorded_results_after_a_restart() {
    let home = TestHome::new();
    std::fs::create_dir(home.path("out")).unwrap();
    home.write("out/a.txt", "hello");
    home.almoner(&["mount", "out", "dir"]).expect(0);
    home.almoner(&["store", "answer:=1"]).expect(0);
    // A file that was looked up, a directory that was made, and a promise that stays pending.
    let source = "(async () => { const f = await E(d).lookup('a.txt'); const n = await E(me).makeDirectory('n'); \
                  const told = E(me).request('@self', 'go on'); await told; await E(n).makeDirectory('z'); \
                  return `${await E(f).text()} ${await E(n).list()}`; })()";
    home.almoner(&["eval", source, "d=dir", "me=@agent", "--name", "r", "--detach"]).expect(0);
    let number = wait_for_mail(&home, "request");
    // It holds no memory meanwhile.
    let begun = Instant::now();
    let daemon = || {
        i32::try_from(home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap()).unwrap()
    };
    // One is in reserve.
    while crate::eval::vat_hosts_of(daemon()).len() > 1 {
        assert!(begun.elapsed() < TIMEOUT, "it waits in memory");
        std::thread::sleep(Duration::from_millis(200));
    }
    crate::eval::kill(daemon());
    home.almoner(&["resolve", &number.to_string(), "answer"]).expect(0);
    assert_eq!(unquoted(&home.almoner(&["show", "r", "--wait"]).expect(0).out), "hello z");
}

/// Code that sends messages: each is there once, or it was sent twice.
const SENDS: &str = "(async () => { for (let i = 0; i < 4; i += 1) { await E(me).send('@host', [`note ${i}`], [], []); \
                     await E(me).storeValue(i, `v${i}`); } return (await E(me).list()).filter(n => /^v/.test(n)).join(); })()";

fn notes(home: &TestHome) -> Vec<String> {
    let all: Json = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let packages = all.as_array().unwrap().iter().filter(|one| one["message"]["body"]["type"] == "package");
    let mut texts: Vec<String> = packages.map(|one| one["message"]["body"]["strings"].to_string()).collect();
    texts.sort();
    texts
}

fn begin(home: &TestHome) {
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
}

/// Runs the code with a daemon that dies at `point` for the `nth` time, and checks its effects. Returns whether the
/// daemon died.
fn disturbed(point: &str, nth: u64) -> bool {
    let home = TestHome::new();
    begin(&home);
    home.almoner(&["stop"]).expect(0);
    let daemon = Doomed::start(&home, point, nth);
    let begun = Instant::now();
    // A crash may cut off the first attempt. The name `done` shows whether the daemon received it.
    while home.almoner(&["--as", "agent-fae", "show", "done", "--wait"]).code != 0 {
        assert!(begun.elapsed() < TIMEOUT, "{:?}", home.almoner(&["--as", "agent-fae", "show", "done"]));
        let known = home.almoner(&["--as", "agent-fae", "list"]);
        if known.code == 0 && !known.out.contains("done") {
            home.almoner(&["--as", "agent-fae", "eval", SENDS, "me=@agent", "--name", "done", "--detach"]);
        }
    }
    let died = daemon.end();
    check(&home, &format!("killed at {point} {nth}"));
    died
}

fn check(home: &TestHome, when: &str) {
    let shown = home.almoner(&["--as", "agent-fae", "show", "done", "--wait"]).expect(0);
    assert_eq!(unquoted(&shown.out), "v0,v1,v2,v3", "{when}");
    let expected: Vec<String> = (0..4).map(|i| format!("[\"note {i}\"]")).collect();
    assert_eq!(notes(home), expected, "{when}");
}

fn kill_at_every(point: &'static str) {
    let home = TestHome::new();
    begin(&home);
    let before = commits(&home);
    home.almoner(&["--as", "agent-fae", "eval", SENDS, "me=@agent", "--name", "done"]).expect(0);
    let count = commits(&home) - before;
    check(&home, "undisturbed");
    drop(home);
    assert!(count >= 10, "only {count} commits");
    at_each(point, count, count - 2, |nth| disturbed(point, nth));
}

#[test]
fn sending_code_survives_a_kill_before_every_commit() {
    kill_at_every(BEFORE);
}

#[test]
fn sending_code_survives_a_kill_after_every_commit() {
    kill_at_every(AFTER);
}

/// How many programs append to one file, and how many where kills are only sampled.
const PROGRAMS: (usize, usize) = (100, 25);

fn programs() -> usize {
    if kill_sweep::is_full() { PROGRAMS.0 } else { PROGRAMS.1 }
}

/// How many lines each of them writes.
const LINES: usize = 3;

/// Returns the missing and the repeated lines of the file, or `None` if its lines are as expected.
fn misses(text: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..programs())
        .flat_map(|program| (0..LINES).map(move |line| format!("p{program} l{line}")))
        .collect();
    expected.sort_unstable();
    (lines != expected).then(|| {
        let missing: Vec<_> = expected.iter().filter(|line| !lines.contains(&line.as_str())).collect();
        let twice: Vec<_> = lines.windows(2).filter(|two| two[0] == two[1]).collect();
        format!("missing {missing:?}, twice {twice:?}, of {} lines", lines.len())
    })
}

/// Says that it is over when it goes.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn programs_append_each_line_once_despite_kills() {
    let home = TestHome::new();
    std::fs::create_dir(home.path("out")).unwrap();
    home.almoner(&["mount", "out", "dir"]).expect(0);
    let begun = Instant::now();
    let is_done = AtomicBool::new(false);
    let kills = std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            // Kills at fixed times would meet the same steps again and again.
            let (mut seed, mut kills) = (0x2545_f491_4f6c_dd1d_u64, 0);
            while !is_done.load(Ordering::SeqCst) {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                // On a machine that is very busy nothing would come to its end between two kills: they become rarer.
                let rarer = begun.elapsed() / 40;
                std::thread::sleep(Duration::from_millis(100 + seed % 900) + rarer);
                let status = home.almoner(&["status", "--json"]);
                let Some(daemon) =
                    serde_json::from_str::<Json>(&status.out).ok().and_then(|s| s["pid"].as_i64())
                else {
                    continue;
                };
                let daemon = i32::try_from(daemon).unwrap();
                let hosts = crate::eval::vat_hosts_of(daemon);
                match (seed % 3, hosts.first()) {
                    (0, _) | (_, None) => crate::eval::kill(daemon),
                    (_, Some(host)) => crate::eval::kill(*host),
                }
                kills += 1;
            }
            kills
        });
        // The kills end with this function, even if it panics.
        let end = End(&is_done);
        for program in 0..programs() {
            let name = format!("p{program}");
            let source = format!(
                "(async () => {{ for (let i = 0; i < {LINES}; i += 1) await E(d).append('log', `{name} l${{i}}\\n`); \
                 return 'done'; }})()"
            );
            // The daemon may have received a command that it did not acknowledge.
            while home.almoner(&["eval", &source, "d=dir", "--name", &name, "--detach"]).code != 0 {
                let known = home.almoner(&["list"]);
                if known.code == 0
                    && known.out.lines().any(|line| line.split_whitespace().next() == Some(&*name))
                {
                    break;
                }
                assert!(begun.elapsed() < TIMEOUT * 3, "{known:?}");
            }
        }
        for program in 0..programs() {
            loop {
                let said = home.almoner(&["show", &format!("p{program}")]);
                if said.code == 0 {
                    break;
                }
                assert!(!said.err.contains("refused"), "p{program}: {said:?}");
                assert!(begun.elapsed() < TIMEOUT * 3, "p{program}: {said:?}");
            }
        }
        drop(end);
        killer.join().unwrap()
    });
    assert_eq!(misses(&home.read("out/log")), None, "after {kills} kills");
    assert!(kills >= 5, "only {kills} kills");
}
