//! The traffic between pieces of code while they run: callbacks, promises, and granted objects.

use std::time::{Duration, Instant};

use crate::sends::{COUNTER, TIMEOUT, evaluated, refused, unquoted, wait_for_mail};
use crate::test_home::TestHome;

/// Returns the grants of the host's with this slot, as `revoke` takes them.
fn grants(home: &TestHome, slot: &str) -> Vec<String> {
    let all = home.almoner(&["grants", "--json"]).expect(0).json();
    let all = all.as_array().unwrap().iter().filter(|grant| grant["slot"] == slot);
    all.map(|grant| format!("g{}", grant["number"])).collect()
}

/// Lets an agent, or the host, adopt the last thing that it was sent.
pub(crate) fn adopted(home: &TestHome, agent: &str, name: &str) {
    let adopt = format!(
        "(async () => {{ const [{{ number }}] = (await E(me).listMessages()).filter(m => m.type === 'package').slice(-1); \
         await E(me).adopt(number, '{name}', '{name}'); }})()"
    );
    let acting: &[&str] = if agent.is_empty() { &[] } else { &["--as", agent] };
    home.almoner(&[acting, &["eval", &adopt, "me=@agent"]].concat()).expect(0);
}

pub(crate) fn daemon_of(home: &TestHome) -> i32 {
    let pid = home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    i32::try_from(pid).unwrap()
}

#[test]
fn capability_passed_between_vats_becomes_a_grant() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["mkdir", "notes"]).expect(0);
    home.almoner(&["store", "notes/x:=1"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat());
    let taker = "E(me).storeValue(Far('T', { take: d => E(d).list().then(l => l.join()), echo: x => x, \
                 boom: d => { throw d; } }), 't')";
    fae(&["eval", taker, "me=@agent"]).expect(0);
    let with = |method: &str| {
        format!("(async () => {{ const t = await E(f).lookup('t'); return E(t).{method}; }})()")
    };
    let holds = ["f=agent-fae", "d=notes", "h=@agent"];
    assert!(grants(&home, "argument").is_empty());
    for method in ["take(d)", "take(await E(h).lookup('notes'))"] {
        assert_eq!(evaluated(&home, &[&[&*with(method)], &holds[..]].concat()), "x", "{method}");
    }
    assert!(!grants(&home, "argument").is_empty(), "the host sees what its code has handed over");
    // An object that code has made goes over, and comes back as itself.
    let own = "(async () => { const t = await E(f).lookup('t'); const c = Far('C', { hi: () => 'hi' }); \
               return await E(t).echo(c) === c; })()";
    assert_eq!(evaluated(&home, &[&[own], &holds[..]].concat()), "true");
    home.almoner(&["eval", COUNTER, "--name", "counter"]).expect(0);
    let same = "(async () => { const t = await E(f).lookup('t'); return E(await E(t).echo(c)).incr(); })()";
    assert_eq!(evaluated(&home, &[same, "f=agent-fae", "c=counter"]), "1");
    // An iterator has no grant.
    let iterator = with("echo(await E(h).followMessages())");
    refused(&home, &[&[&*iterator], &holds[..]].concat(), "does not go to other code");
    // A revoked grant stays revoked, however often the object is handed over again.
    home.almoner(&["eval", "Far('K', { keep: d => E(d).list().then(l => l.length) })", "--name", "keeper"])
        .expect(0);
    let giver = "Far('G', { go: () => E(k).keep(d), give: () => d, fail: () => { throw d; }, \
                 make: () => Far('M', { ping: () => 'pong' }) })";
    home.almoner(&["eval", giver, "d=notes", "k=keeper", "--name", "giver"]).expect(0);
    let before = grants(&home, "argument").len();
    for _ in 0..3 {
        assert_eq!(evaluated(&home, &["E(g).go()", "g=giver"]), "1");
    }
    let given = grants(&home, "argument");
    assert_eq!(given.len(), before + 1, "the same handed over again is the same grant");
    home.almoner(&["revoke", given.last().unwrap()]).expect(0);
    refused(&home, &["E(g).go()", "g=giver"], "revoked");
    // An object that comes back is a grant as well, and ends with the object through which it was found.
    assert_eq!(evaluated(&home, &["E(E(g).give()).list().then(l => l.join())", "g=giver"]), "x");
    let thrown = "E(g).fail().catch(d => E(d).list()).then(l => l.join())";
    assert_eq!(evaluated(&home, &[thrown, "g=giver"]), "x");
    home.almoner(&["send", "fae", "take @giver"]).expect(0);
    adopted(&home, "agent-fae", "giver");
    // The revocation also holds for other code of the agent that lost the grant.
    home.almoner(&["eval", giver, "d=notes", "k=keeper", "--name", "other"]).expect(0);
    home.almoner(&["send", "fae", "take @other"]).expect(0);
    adopted(&home, "agent-fae", "other");
    let gives = ["eval", "E(E(g).give()).list().then(l => l.length)", "g=other"];
    assert_eq!(unquoted(&fae(&gives).expect(0).out), "1");
    home.almoner(&["revoke", grants(&home, "answer").last().unwrap()]).expect(0);
    let said = fae(&gives);
    assert!(said.code == 1 && said.err.contains("revoked"), "{said:?}");
    let keeps = "(async () => { const m = await E(g).make(); const d = await E(g).give(); await E(m).ping(); \
                 await E(d).list(); await E(me).request('@host', 'revoke'); const said = []; \
                 for (const left of [E(m).ping(), E(d).list()]) said.push(await left.then(() => 'works', e => e.message)); \
                 return said.join(' & '); })()";
    fae(&["eval", keeps, "g=giver", "me=@agent", "--name", "kept", "--detach"]).expect(0);
    let number = wait_for_mail(&home, "request");
    for grant in grants(&home, "giver") {
        home.almoner(&["revoke", &grant]).expect(0);
    }
    home.almoner(&["resolve", &number.to_string(), "counter"]).expect(0);
    let ended = fae(&["show", "kept", "--wait"]);
    assert!(!ended.out.contains("works"), "{ended:?}");
    assert!(ended.out.contains("revoked") || ended.out.contains("restarted"), "{ended:?}");
}

#[test]
fn guest_code_cannot_pass_on_host_endowments() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["mkdir", "notes"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat());
    fae(&["eval", "Far('S', { take: d => E(d).list() })", "--name", "sink"]).expect(0);
    fae(&["send", "@host", "use @sink"]).expect(0);
    adopted(&home, "", "sink");
    home.write("code.js", "E(sink).take(c).then(() => 'given', e => e.message)");
    fae(&["define", "code.js", "--slot", "c:any", "--slot", "sink:any", "--result", "r"]).expect(0);
    let number = wait_for_mail(&home, "definition").to_string();
    home.almoner(&["endow", &number, "c=notes", "sink=sink"]).expect(0);
    let shown = fae(&["show", "r", "--wait"]).expect(0);
    assert!(shown.out.contains("hands nothing of that on"), "{shown:?}");
    // The code gives its objects to the host, and to the host's own code.
    home.almoner(&["eval", "Far('O', { take: d => E(d).list().then(l => l.length) })", "--name", "own"])
        .expect(0);
    home.almoner(&["endow", &number, "c=notes", "sink=own"]).expect(0);
}

#[test]
fn running_code_can_receive_calls() {
    let home = TestHome::new();
    let own = "(async () => { const x = Far('X', { hi: () => 'hi' }); await E(me).storeValue(x, 'x'); \
               return E(E(me).lookup('x')).hi(); })()";
    assert_eq!(evaluated(&home, &[own, "me=@agent"]), "hi");
    let caller = "Far('C', { async call(cb, n) { let last; for (let i = 0; i < n; i += 1) last = await E(cb).hi(i); return last; } })";
    home.almoner(&["eval", caller, "--name", "caller"]).expect(0);
    let back = "E(c).call(Far('cb', { hi: () => 'hi' }), 1)";
    assert_eq!(evaluated(&home, &[back, "c=caller"]), "hi");
    let many =
        "(async () => { let n = 0; await E(c).call(Far('cb', { hi: i => { n += i; } }), 100); return n; })()";
    assert_eq!(evaluated(&home, &[many, "c=caller"]), "4950");
    // The called object sends messages itself, and throws.
    let sends = "(async () => { const cb = Far('cb', { async hi(i) { await E(me).storeValue(i, `k${i}`); \
                 if (i === 2) throw Error('enough'); } }); return E(c).call(cb, 5).catch(e => e.message); })()";
    assert_eq!(evaluated(&home, &[sends, "c=caller", "me=@agent"]), "enough");
    let names = home.almoner(&["list"]).expect(0).out;
    assert!(names.contains("k2") && !names.contains("k3"), "{names}");
    // The heap goes while somebody waits.
    home.almoner(&["eval", "Far('S', { stuck() { for (;;); } })", "--name", "stuck"]).expect(0);
    let said = home.almoner(&["eval", "E(s).stuck()", "s=stuck"]);
    // On a busy machine its time is over before its steps are.
    let ended = said.err.contains("steps") || said.err.contains("longer than it may");
    assert!(said.code == 1 && ended, "{said:?}");
    assert_eq!(evaluated(&home, &["1 + 1"]), "2");
}

/// Waits for a name.
pub(crate) fn wait_for_name(home: &TestHome, name: &str) {
    let begun = Instant::now();
    while home.almoner(&["show", name]).code != 0 {
        assert!(begun.elapsed() < TIMEOUT, "no {name}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until so many pieces of code hold no memory.
pub(crate) fn wait_for_sleep(home: &TestHome, pieces: u64) {
    let begun = Instant::now();
    while home.almoner(&["status", "--json"]).expect(0).json()["code"]["asleep"] != pieces {
        assert!(begun.elapsed() < TIMEOUT, "it waits in memory");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn calls_to_running_code_are_replayed_after_a_crash() {
    let home = TestHome::new();
    // It waits for three calls of others, and each leaves something behind that must be there once.
    let waits = "(async () => { let n = 0; let go; const all = new Promise(r => { go = r; }); \
                 const door = Far('Door', { async knock(who) { n += 1; const k = n; await E(me).send('@self', [`${who} ${k}`], [], []); \
                 if (n === 3) go(); return n; } }); await E(me).storeValue(door, 'door'); await all; return n; })()";
    home.almoner(&["eval", waits, "me=@agent", "--name", "waits", "--detach"]).expect(0);
    wait_for_name(&home, "door");
    assert_eq!(evaluated(&home, &["E(d).knock('a')", "d=door"]), "1");
    crate::eval::kill(daemon_of(&home));
    assert_eq!(evaluated(&home, &["E(d).knock('b')", "d=door"]), "2");
    // It waits for nothing but calls, so it holds no memory.
    wait_for_sleep(&home, 1);
    assert_eq!(evaluated(&home, &["E(d).knock('c')", "d=door"]), "3");
    assert_eq!(home.almoner(&["show", "waits", "--wait"]).expect(0).out.trim(), "3");
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let mut texts: Vec<String> = all
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["message"]["body"]["type"] == "package")
        .map(|one| one["message"]["body"]["strings"][0].as_str().unwrap().to_owned())
        .collect();
    texts.sort();
    assert_eq!(texts, ["a 1", "b 2", "c 3"]);
}

#[test]
fn promises_are_stored_sent_and_settled_after_a_restart() {
    let home = TestHome::new();
    let kit = "(() => { let done, fail; const p = new Promise((a, b) => { done = a; fail = b; }); \
               return harden({ p, r: Far('R', { done: v => done(v), fail: e => fail(e) }) }); })()";
    let take = "(async () => { const { p } = await k; return p; })()";
    for (name, call, comes, is_restarted) in [
        ("one", "done('yes')", "yes", false),
        ("two", "done('yes')", "yes", true),
        ("three", "fail(Error('no way'))", "no way", true),
    ] {
        home.almoner(&["eval", kit, "--name", name]).expect(0);
        home.almoner(&["eval", take, &format!("k={name}"), "--name", &format!("{name}-came"), "--detach"])
            .expect(0);
        if is_restarted {
            crate::eval::kill(daemon_of(&home));
        }
        home.almoner(&["eval", &format!("(async () => E((await k).r).{call})()"), &format!("k={name}")])
            .expect(0);
        let shown = home.almoner(&["show", &format!("{name}-came"), "--wait"]);
        assert!(format!("{}{}", shown.out, shown.err).contains(comes), "{name}: {shown:?}");
        // A later caller gets the same outcome.
        let later = home.almoner(&["eval", take, &format!("k={name}")]);
        assert!(format!("{}{}", later.out, later.err).contains(comes), "{name}: {later:?}");
    }
    // A promise for an answer, and one of its own, under names of the store's.
    home.almoner(&["eval", COUNTER, "--name", "counter"]).expect(0);
    let stores = "(async () => { await E(me).storeValue(E(c).add(41n), 'sum'); \
                  await E(me).storeValue(new Promise(() => {}), 'never'); \
                  await E(me).storeValue(harden([Promise.resolve(Far('F', { hi: () => 'hi' }))]), 'list'); return 1; })()";
    assert_eq!(evaluated(&home, &[stores, "c=counter", "me=@agent"]), "1");
    assert_eq!(home.almoner(&["show", "sum", "--wait"]).expect(0).out.trim(), "41");
    assert_ne!(home.almoner(&["show", "never"]).code, 0);
    assert_eq!(evaluated(&home, &["E(l[0]).hi()", "l=list"]), "hi");
    // The promise goes to other code, which waits for it and gets its value when it settles.
    home.almoner(&["eval", "Far('W', { wait: async p => `came ${await p}` })", "--name", "waiter"]).expect(0);
    let sends = "(async () => { let go; const p = new Promise(r => { go = r; }); const told = E(w).wait(p); \
                 await E(c).incr(); go('late'); return told; })()";
    assert_eq!(evaluated(&home, &[sends, "w=waiter", "c=counter"]), "came late");
    assert_eq!(evaluated(&home, &["E(w).wait(E(c).add(0n))", "w=waiter", "c=counter"]), "came 42");
    // No code is left to settle the promise of code that has failed.
    let fails =
        "(async () => { await E(me).storeValue(new Promise(() => {}), 'lost'); throw Error('x'); })()";
    home.almoner(&["eval", fails, "me=@agent"]).expect(1);
    let lost = home.almoner(&["show", "lost", "--wait"]);
    assert!(lost.code != 0 && lost.err.contains("failed"), "{lost:?}");
}

#[test]
fn cancelled_code_is_notified() {
    let home = TestHome::new();
    // Running code: a caller that waits for its object gets the code's own answer, and nothing more is sent.
    let code = "(async () => { const gone = new Promise((_, no) => { $cancelled.catch(e => no(Error(`told: ${e.message}`))); }); \
                const d = Far('D', { async wait() { await E(me).storeValue(1, 'called'); return gone; } }); await E(me).storeValue(d, 'd'); \
                $cancelled.catch(() => E(me).storeValue(1, 'afterwards')); return gone; })()";
    home.almoner(&["eval", code, "me=@agent", "--name", "r", "--detach"]).expect(0);
    wait_for_name(&home, "d");
    home.almoner(&["eval", "E(d).wait().catch(e => e.message)", "d", "--name", "waited", "--detach"])
        .expect(0);
    wait_for_name(&home, "called");
    home.almoner(&["cancel", "r", "--reason", "enough"]).expect(0);
    let waited = home.almoner(&["show", "waited", "--wait"]).expect(0);
    assert!(unquoted(&waited.out).starts_with("told: ") && waited.out.contains("enough"), "{waited:?}");
    assert_ne!(home.almoner(&["show", "afterwards"]).code, 0);
    // Finished code: its heap goes, and its object is made anew for the next caller.
    home.almoner(&["eval", COUNTER, "--name", "counter"]).expect(0);
    assert_eq!(evaluated(&home, &["E(c).add(5n)", "c=counter"]), "5");
    home.almoner(&["cancel", "counter"]).expect(0);
    assert_eq!(evaluated(&home, &["E(c).incr()", "c=counter"]), "1");
    // Nor has it been sent since.
    assert_ne!(home.almoner(&["show", "afterwards"]).code, 0);
}

#[test]
fn send_to_a_pending_answer_is_sent_once_after_a_crash() {
    let home = TestHome::new();
    std::fs::create_dir(home.path("out")).unwrap();
    home.almoner(&["mount", "out", "out"]).expect(0);
    home.almoner(&["eval", COUNTER, "--name", "counter"]).expect(0);
    // The second send goes to the future result of the first, which a person gives after the crash.
    for (name, send) in [("out", "append('log', 'line\\n').then(() => 'sent')"), ("counter", "incr()")] {
        let code = format!(
            "(async () => {{ const c = E(me).request('@self', 'something'); return E(c).{send}; }})()"
        );
        home.almoner(&["eval", &code, "me=@agent", "--name", &format!("{name}-sent"), "--detach"]).expect(0);
        let number = wait_for_mail(&home, "request").to_string();
        crate::eval::kill(daemon_of(&home));
        home.almoner(&["resolve", &number, name]).expect(0);
        let shown = home.almoner(&["show", &format!("{name}-sent"), "--wait"]);
        if name == "out" {
            assert_eq!(unquoted(&shown.expect(0).out), "sent");
        } else {
            assert!(shown.code != 0 && shown.err.contains("outcome unknown"), "{shown:?}");
        }
    }
    assert_eq!(home.read("out/log"), "line\n");
    // The send to the object of code has not reached it, and does not later.
    assert_eq!(evaluated(&home, &["E(c).incr()", "c=counter"]), "1");
}

#[test]
fn code_awaiting_approval_is_unloaded_and_resumes_in_place() {
    let home = TestHome::new();
    std::fs::create_dir(home.path("out")).unwrap();
    home.almoner(&["mount", "out", "out"]).expect(0);
    for (name, is_killed, answer, comes) in
        [("one", false, "approve", "one"), ("two", true, "approve", "two"), ("three", false, "deny", "no")]
    {
        let code = format!(
            "(async () => {{ await E(me).storeValue(1, '{name}-begun'); \
             await E(d).writeText('.env', '{name}').catch(e => {{ throw Error(`no: ${{e.message}}`); }}); \
             await E(me).storeValue(1, '{name}-after'); return '{name}'; }})()"
        );
        home.almoner(&["eval", &code, "me=@agent", "d=out", "--name", name, "--detach"]).expect(0);
        let card = wait_for_mail(&home, "approval").to_string();
        wait_for_sleep(&home, 1);
        if is_killed {
            crate::eval::kill(daemon_of(&home));
        }
        home.almoner(&[answer, &card]).expect(0);
        let shown = home.almoner(&["show", name, "--wait"]);
        assert!(format!("{}{}", shown.out, shown.err).contains(comes), "{name}: {shown:?}");
        assert_eq!(home.almoner(&["show", &format!("{name}-after")]).code == 0, answer == "approve");
    }
    assert_eq!(home.read("out/.env"), "two");
}

#[test]
fn object_of_another_engine_is_remade_only_by_its_host() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["eval", COUNTER, "--name", "counter"]).expect(0);
    home.almoner(&["eval", "6 * 7", "--name", "data"]).expect(0);
    assert_eq!(evaluated(&home, &["E(c).add(5n)", "c=counter"]), "5");
    home.almoner(&["stop"]).expect(0);
    // As if the program had been replaced by a later one meanwhile.
    let begun = home.command(&["list"]).env("FAILPOINTS", "vat.other_engine=return").output().unwrap();
    assert!(begun.status.success(), "{begun:?}");
    assert_eq!(home.almoner(&["show", "data"]).expect(0).out.trim(), "42", "data stays what it was");
    refused(&home, &["E(c).incr()", "c=counter"], "almoner remake");
    let said = home.almoner(&["--as", "agent-fae", "remake", "counter"]);
    assert_eq!(said.code, 4, "{said:?}");
    home.almoner(&["remake", "counter"]).expect(0);
    assert_eq!(evaluated(&home, &["E(c).incr()", "c=counter"]), "1");
    home.almoner(&["remake", "fae"]).expect(6);
}
