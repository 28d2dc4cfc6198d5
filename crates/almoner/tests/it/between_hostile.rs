//! Attacks by callers and callees while code runs. They try to use ended code, to end the code of others, and to get
//! objects that a host has withheld.

use crate::between::{adopted, daemon_of, wait_for_name, wait_for_sleep};
use crate::sends::{evaluated, refused, unquoted};
use crate::test_home::TestHome;

/// Starts code that goes on running, with an object that others can call. The guest `fae` gets the object as well.
fn with_door(home: &TestHome, source: &str) {
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["eval", source, "me=@agent", "--name", "w", "--detach"]).expect(0);
    wait_for_name(home, "d");
    home.almoner(&["send", "fae", "take @d"]).expect(0);
    adopted(home, "agent-fae", "d");
}

#[test]
fn cancelled_or_failed_code_never_resumes_on_a_call() {
    for ends in ["cancel", "fail"] {
        let home = TestHome::new();
        with_door(
            &home,
            "(async () => { let go; let no; const gate = new Promise((a, b) => { go = a; no = b; }); \
             const d = Far('D', { go: () => { go(); return 'went'; }, fail: () => no(Error('x')) }); \
             await E(me).storeValue(d, 'd'); \
             const rest = (async () => { await gate; await E(me).storeValue(1, 'effect'); })(); \
             await Promise.race([new Promise(() => {}), gate]); await rest; return 'end'; })()",
        );
        match ends {
            "cancel" => drop(home.almoner(&["cancel", "w"]).expect(0)),
            _ => drop(home.almoner(&["--as", "agent-fae", "eval", "E(d).fail()", "d"])),
        }
        let shown = home.almoner(&["show", "w", "--wait"]);
        assert_ne!(shown.code, 0, "{ends}: {shown:?}");
        for is_killed in [false, true, true] {
            if is_killed {
                crate::eval::kill(daemon_of(&home));
            }
            let said = home.almoner(&["--as", "agent-fae", "eval", "E(d).go()", "d"]);
            assert!(said.code == 1 && said.err.contains("cancelled"), "{ends}: {said:?}");
        }
        assert_ne!(home.almoner(&["show", "effect"]).code, 0, "{ends}");
    }
}

#[test]
fn hostile_value_does_not_end_the_code_of_others() {
    let home = TestHome::new();
    with_door(
        &home,
        "(async () => { const d = Far('D', { ping: () => 'pong', eat: x => x.length }); await E(me).storeValue(d, 'd'); \
         await new Promise(() => {}); })()",
    );
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat());
    for (wrap, depth) in [("[x]", 40), ("[x]", 100), ("[x]", 200), ("{ x }", 70), ("{ x }", 110)] {
        let deep = format!("(async () => {{ let x = 1; for (let i = 0; i < {depth}; i += 1) x = ({wrap});");
        // To code on its way, and from code at its end.
        fae(&["eval", &format!("{deep} return E(d).ping(harden(x)).catch(e => 1); }})()"), "d"]);
        let source = format!(
            "Far('S', {{ deep: () => {{ let x = 1; for (let i = 0; i < {depth}; i += 1) x = ({wrap}); return harden(x); }} }})"
        );
        fae(&["eval", &source, "--name", "s"]).expect(0);
        let asks = "(async () => { const s = await E(f).lookup('s'); return E(s).deep().then(() => 'ok', () => 'caught'); })()";
        let said = evaluated(&home, &[asks, "f=agent-fae"]);
        assert!(["ok", "caught"].contains(&&*said), "{wrap} {depth}: {said}");
        assert_eq!(unquoted(&fae(&["eval", "E(d).ping()", "d"]).expect(0).out), "pong", "{wrap} {depth}");
    }
    // A caller that sends the code too much is refused. The code goes on, and its owner is told of no failure.
    let floods = "(async () => { const s = 'A'.repeat(900000); for (let i = 0; i < 40; i += 1) await E(d).eat(s); })()";
    let said = fae(&["eval", floods, "d"]);
    assert!(said.code == 1 && said.err.contains("takes no more"), "{said:?}");
    assert!(home.almoner(&["show", "w"]).err.contains("still open"));
}

#[test]
fn host_endowment_cannot_leak_to_the_code_author() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["mkdir", "notes"]).expect(0);
    home.almoner(&["eval", "Far('K', { hi: () => 'hi' })", "--name", "counter"]).expect(0);
    home.almoner(&["eval", "E(me).copy(['counter'], ['notes', 'k'])", "me=@agent"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat());
    fae(&["eval", "Far('S', { take: d => 'took', hold: p => p.then(() => 'took') })", "--name", "sink"])
        .expect(0);
    fae(&["send", "@host", "use @sink"]).expect(0);
    adopted(&home, "", "sink");
    for (at, (endowed, gives)) in [
        ("counter", "E(sink).take(c)"),
        ("counter", "E(sink).take(harden({ a: [c] }))"),
        ("counter", "E(sink).take(Far('P', { hi: () => E(c).hi() }))"),
        ("counter", "E(sink).hold(Promise.resolve(c))"),
        ("counter", "E(sink).hold(E(c).hi())"),
        ("notes", "E(sink).take(c)"),
        ("notes", "E(c).lookup('k').then(k => E(sink).take(k))"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("r{at}");
        home.write("code.js", format!("({gives}).then(() => 'given', e => e.message)"));
        fae(&["define", "code.js", "--slot", "c:any", "--slot", "sink:any", "--result", &name]).expect(0);
        let letters = home.almoner(&["inbox", "--json"]).expect(0).json();
        let definitions =
            letters.as_array().unwrap().iter().filter(|one| one["message"]["body"]["type"] == "definition");
        let number = definitions.filter_map(|one| one["number"].as_u64()).max().unwrap().to_string();
        home.almoner(&["endow", &number, &format!("c={endowed}"), "sink=sink"]).expect(0);
        let shown = fae(&["show", &name, "--wait"]).expect(0);
        assert!(shown.out.contains("hands nothing of that on"), "{gives}: {shown:?}");
    }
}

#[test]
fn objects_returned_before_a_crash_still_work_after_it() {
    for is_killed in [false, true] {
        let home = TestHome::new();
        with_door(
            &home,
            "(async () => { let go; const p = new Promise(r => { go = r; }); \
             const d = Far('D', { get: () => harden({ p, o: Far('O', { hi: () => 'hi' }) }), go: v => go(v) }); \
             await E(me).storeValue(d, 'd'); await new Promise(() => {}); })()",
        );
        home.almoner(&["eval", "(async () => (await E(d).get()).p)()", "d", "--name", "came", "--detach"])
            .expect(0);
        let keeps = "(async () => E(me).storeValue((await E(d).get()).o, 'o'))()";
        home.almoner(&["eval", keeps, "d", "me=@agent"]).expect(0);
        match is_killed {
            true => crate::eval::kill(daemon_of(&home)),
            false => wait_for_sleep(&home, 2),
        }
        assert_eq!(evaluated(&home, &["E(o).hi()", "o"]), "hi");
        home.almoner(&["eval", "E(d).go('yes')", "d"]).expect(0);
        assert_eq!(unquoted(&home.almoner(&["show", "came", "--wait"]).expect(0).out), "yes");
    }
}

#[test]
fn returned_capability_is_the_original() {
    let home = TestHome::new();
    home.almoner(&["mkdir", "notes"]).expect(0);
    home.almoner(&["eval", "Far('T', { echo: x => x })", "--name", "t"]).expect(0);
    let echoes = "(async () => { let x = d; for (let i = 0; i < 100; i += 1) x = await E(t).echo(x); return (await E(x).list()).length; })()";
    assert_eq!(evaluated(&home, &[echoes, "t", "d=notes"]), "0");
    let given = home.almoner(&["grants", "--json"]).expect(0).json();
    let given = given.as_array().unwrap().iter().filter(|grant| grant["slot"] == "argument").count();
    assert!(given <= 2, "{given} grants for one thing");
    // More promises than others may wait for at a time end the code that makes them, and nothing else.
    let many = "(async () => { const l = []; for (let i = 0; i < 2000; i += 1) l.push(new Promise(() => {})); \
                return E(t).echo(harden(l)).then(x => x.length); })()";
    refused(&home, &[many, "t"], "1000 promises");
    let some = "(async () => { const l = []; for (let i = 0; i < 500; i += 1) l.push(Promise.resolve(i)); \
                const x = await E(t).echo(harden(l)); return (await Promise.all(x)).length; })()";
    assert_eq!(evaluated(&home, &[some, "t"]), "500");
}
