//! Tests of narrowed objects: the user sees first which calls one would allow, and these are never more than before.

use crate::sends::{COUNTER, evaluated, refused};
use crate::test_home::TestHome;

fn home() -> TestHome {
    let home = TestHome::new();
    std::fs::create_dir(home.path("big")).unwrap();
    home.write("big/n.md", "a note");
    home.write("big/n.txt", "a text");
    let big = home.path("big").display().to_string();
    home.almoner(&["mount", &big, "big"]).expect(0);
    home.almoner(&["mount", "--read-only", &big, "books"]).expect(0);
    home.almoner(&["eval", COUNTER, "--name", "counter"]).expect(0);
    // Of one that says so little of itself, and of one that says nothing, other methods may be asked for.
    let open = "makeExo('Open', M.interface('Open', { incr: M.call().returns() }, { defaultGuards: 'passable' }), { incr() {} })";
    home.almoner(&["eval", open, "--name", "open"]).expect(0);
    home.almoner(&["eval", "Far('Bare', { any() {} })", "--name", "bare"]).expect(0);
    home.almoner(&["narrow", "bare", "one", "--methods", "any"]).expect(0);
    home.almoner(&["store", "data:=[1]"]).expect(0);
    home.almoner(&["narrow", "big", "notes", "--methods", "list,read", "--suffix", ".md", "--max", "1KiB"])
        .expect(0);
    home
}

#[test]
fn narrow_preview_never_exceeds_the_original() {
    let home = home();
    for (args, exit, says) in [
        ("big x -n --methods list,read,write --total 1GiB", 0, "list, read (reads); write (changes)"),
        ("big x -n --suffix .PDF --rate 10/min", 0, "; only .pdf; 10 calls in 1 min. Nothing else."),
        ("big x -n --private --lasts 1h30m", 0, "; private; for 90 m from when it is made. Nothing else."),
        // An option cannot widen an object that is narrow.
        ("notes x -n --max 1GiB", 0, "list, read (reads); only .md; at most 1024 bytes each. Nothing else."),
        ("notes x -n --suffix .txt", 0, "; only /;"),
        ("notes x --methods write", 6, "it has no method `write` that could be kept"),
        ("notes x --methods *", 6, "it has no method `*` that could be kept"),
        ("books x -n", 0, "list, read, glob, grep, stat (reads). Nothing else."),
        ("books x --methods write", 6, "it has no method `write`"),
        ("books x --total 1MiB", 6, "has no limit of size in all"),
        // The recorded guard of an object of code tells its methods.
        ("counter x -n --methods incr", 0, "recorded as Counter): incr. Nothing else."),
        ("counter x -n", 0, ": add, incr. Nothing else."),
        ("counter x --methods incr,reset", 6, "it has no method `reset` that could be kept"),
        ("open x -n", 0, ": incr; every other method that it has. Nothing else."),
        ("open x -n --methods incr,reset", 0, ": incr, reset. Nothing else."),
        ("bare x -n", 0, ": every method that it has. Nothing else."),
        ("bare x -n --methods any", 0, ": any. Nothing else."),
        ("one x -n", 0, ": any. Nothing else."),
        ("one x --methods other", 6, "it has no method `other` that could be kept"),
        ("counter x --rate 1/s", 6, "has no limit of calls"),
        ("data x", 6, "is a value"),
        ("big x --lasts soon", 6, "`soon` is not a time"),
        ("big x --max lots", 6, "`lots` is not a size"),
        ("big x --suffix md", 6, "`md` is not an ending of names"),
        ("big x --rate often", 6, "`often` is no rate"),
        ("nobody x", 4, "nobody"),
    ] {
        let words: Vec<&str> = std::iter::once("narrow").chain(args.split(' ')).collect();
        let ran = home.almoner(&words).expect(exit);
        assert!(ran.err.contains(says), "{args}: {}", ran.err);
    }
    // Nothing of it was made.
    home.almoner(&["show", "x"]).expect(4);
}

#[test]
fn narrowed_grant_is_narrow_for_every_holder() {
    let home = home();
    assert_eq!(evaluated(&home, &["E(d).readText('n.md')", "d=notes"]), "a note");
    refused(&home, &["E(d).readText('n.txt')", "d=notes"], "");
    refused(&home, &["E(d).writeText('n.md', 'x')", "d=notes"], "granted without this method");
    // Handed on, it is no wider.
    home.almoner(&["mkguest", "fae", "agent-fae", "--introduce", "notes=place"]).expect(0);
    let fae = |code: &str, exit| home.almoner(&["--as", "agent-fae", "eval", code, "place"]).expect(exit);
    assert!(fae("E(place).readText('n.md')", 0).out.contains("a note"));
    let no = fae("E(place).writeText('n.md', 'x')", 1);
    assert!(no.err.contains("granted without this method"), "{}", no.err);
    assert_eq!(std::fs::read_to_string(home.path("big/n.md")).unwrap(), "a note");
    // It ends by hand as any grant does.
    let grants = home.almoner(&["grants", "--json"]).expect(0).json();
    let own = grants.as_array().unwrap().iter().find(|one| one["slot"] == "notes").unwrap();
    let number = own["number"].as_u64().unwrap();
    home.almoner(&["revoke", &format!("g{number}")]).expect(0);
    for ran in
        [home.almoner(&["eval", "E(d).readText('n.md')", "d=notes"]), fae("E(place).readText('n.md')", 5)]
    {
        assert!(ran.expect(5).err.contains("revoked"));
    }
}
