//! Tests of `almoner make`: programs of modules from directories, archives and names, and the limits of their reach.

use std::io::{Cursor, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use passable::to_base64;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::kill_sweep::{AFTER, BEFORE, Doomed, at_each, commits};
use crate::test_home::{Said, TestHome};

/// How long something may take before a test gives up.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Made of sources by `@endo/compartment-mapper` 2.4.0.
const TALLY: &[u8] = include_bytes!("../../../vat/tests/archives/tally.zip");

/// A program of three modules, which makes an object.
const COUNTER: &[(&str, &str)] = &[
    (
        "index.js",
        "import { double } from './lib/math.js';\nimport table from './table.json';\n\
         import words from './words.txt';\n\
         export const make = (powers, context, { env, state }) => {\n  let count = table.start;\n  \
         console.log('made', env.NAME);\n  return Far('Counter', {\n    \
         up: () => { count = double(count); return count; },\n    words: () => words.trim(),\n    \
         env: () => env,\n    id: () => context.id(),\n    \
         keep: async value => { await E(state).set('v', value); return E(state).get('v'); },\n    \
         kept: () => E(state).get('v'),\n    ask: () => E(powers).list(),\n    \
         end: why => context.cancel(Error(why)),\n    \
         wait: () => context.whenCancelled().catch(e => `told: ${e.message}`),\n    \
         last: () => new Promise(tell => context.addDisposalHook(() => tell('its hook ran'))),\n    \
         late: () => context.whenCancelled().catch(() => E(state).set('v', 'too late')),\n  });\n};\n",
    ),
    ("lib/math.js", "export const double = n => n * 2;\n"),
    ("table.json", "{ \"start\": 3 }\n"),
    ("words.txt", "of its own\n"),
];

fn write(home: &TestHome, folder: &str, files: &[(&str, &str)]) {
    for (name, text) in files {
        home.write(&format!("{folder}/{name}"), text);
    }
}

fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, bytes) in files {
        zip.start_file(*path, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Returns a map of one compartment `app`, whose modules are given as JSON.
fn map(modules: &str) -> String {
    let entry = r#"{"compartment":"app","module":"./index.js"}"#;
    format!(r#"{{"entry":{entry},"compartments":{{"app":{{"location":"app","modules":{{{modules}}}}}}}}}"#)
}

const INDEX: &str = r#""./index.js":{"location":"index.js","parser":"mjs"}"#;
const MADE: &[u8] = b"export const make = () => 'made';";

fn evaluated(home: &TestHome, args: &[&str]) -> String {
    home.almoner(&[&["eval"], args].concat()).expect(0).out.trim().trim_matches('"').to_owned()
}

fn pid(home: &TestHome) -> i64 {
    home.almoner(&["status", "--json"]).expect(0).json()["pid"].as_i64().unwrap()
}

#[track_caller]
fn refused(said: Said, code: i32, says: &str) {
    let said = said.expect(code);
    assert!(said.err.contains(says), "it does not say {says:?}: {said:?}");
}

#[test]
fn program_runs_from_a_directory_an_archive_or_a_name() {
    let home = TestHome::new();
    write(&home, "counter", COUNTER);
    // The directory may also contain files that cannot be modules, hidden files, and packages of others.
    home.write("counter/image.png", [0, 159, 146, 150]);
    home.write("counter/.git/config.json", "not JSON");
    home.write("counter/node_modules/other/index.js", "this is no code");
    home.write("tally.zip", TALLY);
    home.almoner(&["mkdir", "notes"]).expect(0);
    home.almoner(&["store", "notes/x:=1"]).expect(0);
    let made = home.almoner(&["make", "counter", "--env", "NAME=a=b", "--powers", "notes", "--name", "c"]);
    let made = made.expect(0);
    assert!(made.out.contains("Alleged: Counter") && made.err.contains("made a=b"), "{made:?}");
    for (code, expected) in [
        ("E(c).up()", "6"),
        ("E(c).up()", "12"),
        ("E(c).words()", "of its own"),
        ("E(c).env().then(e => JSON.stringify(e))", r#"{\"NAME\":\"a=b\"}"#),
        ("E(c).ask().then(l => l.join())", "x"),
        ("E(c).id().then(i => i.length)", "129"),
    ] {
        assert_eq!(evaluated(&home, &[code, "c"]), expected, "{code}");
    }
    // Without powers it has an object that does nothing.
    home.almoner(&["make", "./counter/", "--name", "none"]).expect(0);
    refused(home.almoner(&["eval", "E(c).ask()", "c=none"]), 1, "not allowed");
    home.almoner(&["make", "tally.zip", "--name", "t"]).expect(0);
    assert_eq!(evaluated(&home, &["E(t).greet('king')", "t"]), "GOOD DAY, THE KING!");
    // A bundle is a record with the same archive in it.
    let base64 = to_base64(TALLY);
    let bundle = format!(r#"bundle:={{"moduleFormat":"endoZipBase64","endoZipBase64":"{base64}"}}"#);
    home.write("bundle.json", bundle.strip_prefix("bundle:=").unwrap());
    home.almoner(&["store", "bundle=@bundle.json"]).expect(0);
    home.almoner(&["make", "bundle", "--name", "b", "--env", "NAME=Bundled"]).expect(0);
    assert_eq!(evaluated(&home, &["E(b).inner()", "b"]), "!");
    // A directory on the disk takes precedence over a name.
    write(&home, "bundle", &[("index.js", "export const make = () => 'of the disk';")]);
    assert_eq!(home.almoner(&["make", "bundle"]).expect(0).out.trim(), "\"of the disk\"");
    let detached = home.almoner(&["make", "bundle", "--detach", "--json"]).expect(0);
    assert!(detached.out.contains("promise"), "{detached:?}");
    // Which module is the first.
    for (files, expected) in [
        (
            &[("package.json", r#"{"main":"src/a.js"}"#), ("src/a.js", "export const make = () => 1;")][..],
            "1",
        ),
        (
            &[
                ("package.json", r#"{"exports":{".":{"import":"./b.mjs"}},"main":"no.js"}"#),
                ("b.mjs", "export const make = () => 2;"),
            ][..],
            "2",
        ),
    ] {
        let folder = format!("p{expected}");
        write(&home, &folder, files);
        assert_eq!(home.almoner(&["make", &folder]).expect(0).out.trim(), expected);
    }
}

/// Returns whether bytes with this hash lie in the folder.
fn holds(folder: &Path, hash: &str) -> bool {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.into_iter().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            holds(&path, hash)
        } else {
            path.to_string_lossy().replace('/', "").contains(hash)
        }
    })
}

#[test]
fn program_objects_are_remade_after_restart_without_files() {
    let home = TestHome::new();
    write(&home, "counter", COUNTER);
    home.almoner(&["make", "counter", "--name", "c"]).expect(0);
    let id = evaluated(&home, &["E(c).id()", "c"]);
    assert_eq!(evaluated(&home, &["E(c).up()", "c"]), "6");
    assert_eq!(evaluated(&home, &["E(c).keep('kept')", "c"]), "kept");
    std::fs::remove_dir_all(home.path("counter")).unwrap();
    home.write("garbage.txt", "nobody needs this");
    home.almoner(&["store", "garbage=@garbage.txt"]).expect(0);
    home.almoner(&["remove", "garbage"]).expect(0);
    home.almoner(&["stop"]).expect(0);
    // Its heap is new. Its identity and the values in its `state` are the same.
    assert_eq!(evaluated(&home, &["E(c).up()", "c"]), "6");
    assert_eq!(evaluated(&home, &["E(c).kept()", "c"]), "kept");
    assert_eq!(evaluated(&home, &["E(c).id()", "c"]), id);
    // Bytes that nothing refers to go, and its modules stay.
    let hash = blake3::hash(b"nobody needs this").to_hex().to_string();
    let begun = Instant::now();
    while holds(&home.root().join("state/store/blobs"), &hash) {
        assert!(begun.elapsed() < TIMEOUT, "nobody sweeps");
        std::thread::sleep(Duration::from_millis(100));
    }
    crate::eval::kill(i32::try_from(pid(&home)).unwrap());
    assert_eq!(evaluated(&home, &["E(c).up()", "c"]), "6");
    let page = home.almoner(&["trace", "c"]).expect(0);
    assert!(
        page.out.contains(", modules out of a tree of files (index.js): at its end")
            && page.out.contains("log made"),
        "{page:?}"
    );
    // A home of a backup has its modules as well.
    let (copy, other) = (home.path("copy"), TestHome::new());
    home.almoner(&["backup", copy.to_str().unwrap()]).expect(0);
    other.almoner(&["restore", copy.to_str().unwrap(), "--yes"]).expect(0);
    assert_eq!(evaluated(&other, &["E(c).up()", "c"]), "6");
}

#[test]
fn module_cannot_import_outside_its_program() {
    let home = TestHome::new();
    home.write("outside.js", "export const secret = 1;");
    home.write("pack/node_modules/dep/index.js", "export const secret = 1;");
    home.write("pack/.hidden.js", "export const secret = 1;");
    let before = home.almoner(&["status"]).code;
    for (specifier, says) in [
        ("fs", "index.js imports \"fs\", which is not among its modules (index.js:2:8: import 'fs';)"),
        ("node:fs", "index.js imports \"node:fs\", and a vat has no built-in modules (index.js:2:8"),
        ("file:///etc/passwd", "not among its modules"),
        ("https://example.org/x.js", "not among its modules"),
        ("data:text/javascript,export const a = 1", "not among its modules"),
        ("/etc/passwd", "not among its modules"),
        ("../outside.js", "leads out of its package"),
        ("./../outside.js", "leads out of its package"),
        ("dep", "not among its modules"),
        ("./node_modules/dep/index.js", "not among its modules"),
        ("./.hidden.js", "not among its modules"),
        ("", "not among its modules"),
    ] {
        home.write(
            "pack/index.js",
            format!("// first\nimport '{specifier}';\nexport const make = () => 1;\n"),
        );
        refused(home.almoner(&["make", "pack"]), 1, says);
        // Nor does it come by one while it runs.
        home.write("pack/index.js", format!("export const make = () => import('{specifier}');\n"));
        refused(home.almoner(&["make", "pack"]), 1, says.split(" (").next().unwrap());
    }
    let reaches = "export const make = () => [typeof process, typeof require, typeof fetch, typeof Date, \
                   typeof Math.random, typeof Deno].join();";
    home.write("pack/index.js", reaches);
    let told = home.almoner(&["make", "pack"]).expect(0);
    let none = ["undefined"; 4].join(",");
    assert!(told.out.contains(&none), "{told:?}");
    assert_eq!(before, 0);
    // Errors name the module, the line, and the text there.
    for (name, text, says) in [
        ("index.js", "export const make = () => {\n  null.x;\n};\n", "(index.js:2:3:   null.x;)"),
        ("index.js", "export const make = 1;", "the first module exports no function `make`"),
        ("index.js", "export const make = () => {", "SyntaxError"),
        ("index.js", "import { no } from './lib.js'; export const make = () => no;", "no"),
        ("lib.js", "throw Error('\\u001b[2J');", "\\u{1B}[2J"),
    ] {
        home.write("wrong/lib.js", "export const yes = 1;");
        home.write("wrong/index.js", "import './lib.js'; export const make = () => 1;");
        home.write(&format!("wrong/{name}"), text);
        refused(home.almoner(&["make", "wrong"]), 1, says);
    }
}

#[test]
fn hostile_archive_is_refused_and_the_daemon_survives() {
    let home = TestHome::new();
    let one =
        |index: &str, file: &str| packed(&[("compartment-map.json", map(index).as_bytes()), (file, MADE)]);
    let at = |location: &str| format!(r#""./index.js":{{"location":"{location}","parser":"mjs"}}"#);
    let linked = |to: &str| format!(r#""./index.js":{{"module":"{to}"}},"./a.js":{{"module":"./index.js"}}"#);
    let digest = r#""./index.js":{"location":"index.js","parser":"mjs","sha512":"00"}"#;
    let nul = b"export const make = () => '\0';";
    let mut many = INDEX.to_owned();
    for n in 0..10_000 {
        many.push_str(&format!(r#","./{n}.js":{{"module":"./index.js"}}"#));
    }
    let good = one(INDEX, "app/index.js");
    let cut = good[..good.len() / 2].to_vec();
    // Sixteen megabytes of nothing take some kilobytes.
    let bomb =
        packed(&[("compartment-map.json", map(INDEX).as_bytes()), ("app/index.js", &vec![b' '; 16 << 20])]);
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    home.write("first.zip", &good);
    assert_eq!(home.almoner(&["make", "first.zip"]).expect(0).out.trim(), "\"made\"");
    let daemon = pid(&home);
    for (what, bytes, says) in [
        ("nothing", vec![], "is no ZIP archive"),
        ("a text", b"export const make = () => 1;".to_vec(), "is no ZIP archive"),
        ("cut", cut, "the archive cannot be read"),
        ("bomb", bomb, "more bytes of sources"),
        ("no map", packed(&[("app/index.js", MADE)]), "no file `compartment-map.json`"),
        ("no entry", one(INDEX, "app/other.js"), "no file `app/index.js`"),
        ("up", one(&at("../../../etc/passwd"), "../etc/passwd"), "is no path in an archive"),
        ("absolute", one(&at("/etc/passwd"), "/etc/passwd"), "is no path in an archive"),
        ("digest", one(digest, "app/index.js"), "its digest is another"),
        ("round", one(&linked("./a.js"), "app/index.js"), "leads nowhere"),
        ("elsewhere", one(&linked("./gone.js"), "app/index.js"), "there is no module"),
        ("many", one(&many, "app/index.js"), "2000 is the limit"),
        (
            "zero",
            packed(&[("compartment-map.json", map(INDEX).as_bytes()), ("app/index.js", nul)]),
            "holds a zero",
        ),
        ("name", one(&INDEX.replace("./index.js", "./\\u001b[2J"), "app/index.js"), "cannot be the name"),
        ("large", vec![b'P'; (16 << 20) + 1], "16 MiB"),
    ] {
        home.write("hostile.zip", &bytes);
        let said = home.almoner(&["make", "hostile.zip"]).expect(6);
        assert!(said.err.contains(says), "{what}: {said:?}");
        assert!(!said.err.contains('\u{1b}'), "{what}: {said:?}");
    }
    // The same as bundles, which come as text.
    for (bundle, says) in [
        (r#"{"moduleFormat":"endoZipBase64","endoZipBase64":"UEsDBA=="}"#, "the archive cannot be read"),
        (r#"{"moduleFormat":"getExport","source":"x"}"#, "`getExport` cannot be run"),
        ("[1]", "does not say its `moduleFormat`"),
    ] {
        home.almoner(&["store", &format!("bundle:={bundle}")]).expect(0);
        refused(home.almoner(&["make", "bundle"]), 6, says);
    }
    assert_eq!(pid(&home), daemon, "it is the same daemon");
    assert_eq!(home.almoner(&["make", "first.zip"]).expect(0).out.trim(), "\"made\"");
}

#[test]
fn invalid_program_is_refused_before_upload() {
    let home = TestHome::new();
    home.write("prog/index.js", MADE);
    std::fs::write(home.path("secret.js"), "export const make = () => 'secret';").unwrap();
    let check = |args: &[&str], code: i32, says: &str| {
        refused(home.almoner(&[&["make"], args].concat()), code, says);
    };
    check(&["nowhere"], 4, "there is no file, directory or name `nowhere`");
    check(&["./no/where.zip"], 4, "there is no file, directory or name");
    check(&["prog", "--powers", "nobody"], 4, "Unknown pet name");
    check(&["prog", "--env", "x"], 2, "`x` is no variable");
    check(&["prog", "--env", "x=1", "--env", "x=2"], 2, "there twice");
    check(&["prog", "--env", &format!("x={}", "y".repeat(70_000))], 6, "bytes in `env`");
    check(&["prog", "--name", "@self"], 2, "@self");
    std::fs::create_dir(home.path("empty")).unwrap();
    check(&["empty"], 6, "no file `index.js`");
    home.write("lost/package.json", r#"{"main":"./gone.js"}"#);
    check(&["lost"], 6, "no file `gone.js`");
    home.write("text/index.js", [0xff, 0xfe]);
    check(&["text"], 6, "is not UTF-8");
    for (name, to) in [("prog/l.js", "../secret.js"), ("prog/dir", "../empty"), ("prog/round", ".")] {
        std::os::unix::fs::symlink(to, home.path(name)).unwrap();
        check(&["prog"], 6, "is a link");
        std::fs::remove_file(home.path(name)).unwrap();
    }
    let mut deep = home.path("deep");
    for _ in 0..40 {
        deep.push("d");
    }
    std::fs::create_dir_all(&deep).unwrap();
    check(&["deep"], 6, "lies too deep");
    home.write("large/index.js", MADE);
    home.write("large/a.txt", vec![b' '; 17 << 20]);
    check(&["large"], 6, "16 MiB");
    for n in 0..4_100 {
        home.write(&format!("many/{n}.js"), "");
    }
    check(&["many"], 6, "more than 4000 files");
    home.almoner(&["mount", "prog", "mounted"]).expect(0);
    check(&["mounted"], 2, "name the directory by its path");
    home.almoner(&["store", "seven:=7"]).expect(0);
    check(&["seven"], 6, "does not say its `moduleFormat`");
    home.almoner(&["mkdir", "names"]).expect(0);
    check(&["names"], 6, "no program of modules");
    // A guest can receive a program from a host, and cannot make one.
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    refused(
        home.almoner(&["--as", "agent-fae", "make", "prog"]),
        5,
        "only a host can make programs of modules",
    );
    assert_eq!(home.almoner(&["make", "prog"]).expect(0).out.trim(), "\"made\"");
}

#[test]
fn headings_example_does_as_its_page_says() {
    let home = TestHome::new();
    home.write("notes/plans.md", "# Plans\n\n## Monday\n\n### Morning\n");
    home.write("notes/bread.md", "# Bread\n");
    home.write("notes/other.txt", "# no note\n");
    home.almoner(&["mount", "notes", "notes"]).expect(0);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/headings");
    home.almoner(&["make", example, "--powers", "notes", "--name", "headings"]).expect(0);
    let list = || evaluated(&home, &["E(h).list()", "h=headings"]);
    assert_eq!(list(), r"bread.md: Bread\nplans.md: Plans\nplans.md: Monday");
    home.almoner(&["stop"]).expect(0);
    assert_eq!(evaluated(&home, &["E(h).asked()", "h=headings"]), "1");
    // It has the notes as long as they are granted.
    let grants = home.almoner(&["grants", "--json"]).expect(0).json();
    for grant in grants.as_array().unwrap().iter().filter(|grant| grant["slot"] == "powers") {
        home.almoner(&["revoke", &format!("g{}", grant["number"])]).expect(0);
    }
    refused(home.almoner(&["eval", "E(h).list()", "h=headings"]), 1, "revoked");
}

#[test]
fn program_can_end_itself_and_is_notified_of_cancellation() {
    let home = TestHome::new();
    write(&home, "counter", COUNTER);
    home.almoner(&["make", "counter", "--name", "c"]).expect(0);
    assert_eq!(evaluated(&home, &["E(c).up()", "c"]), "6");
    assert_eq!(evaluated(&home, &["E(c).up()", "c"]), "12");
    // The waiting caller learns the reason, and the next use makes the object anew.
    refused(home.almoner(&["eval", "E(c).end('enough')", "c"]), 1, "enough");
    assert_eq!(evaluated(&home, &["E(c).up()", "c"]), "6");
    // The user cancels the program: it is told, its hooks run, and the waiting callers receive its last answers.
    let asks = [("wait", "told: the host cancelled it"), ("last", "its hook ran")];
    for (method, _) in asks {
        home.almoner(&["eval", &format!("E(c).{method}()"), "c", "--name", method, "--detach"]).expect(0);
    }
    home.almoner(&["eval", "E(c).late()", "c", "--name", "late", "--detach"]).expect(0);
    // Those before it have arrived.
    assert_eq!(evaluated(&home, &["E(c).up()", "c"]), "12");
    home.almoner(&["cancel", "c"]).expect(0);
    for (method, says) in asks {
        let shown = home.almoner(&["show", method, "--wait"]).expect(0);
        assert_eq!(shown.out.trim().trim_matches('"'), says);
    }
    // Nothing that it sends goes out any more.
    refused(home.almoner(&["show", "late", "--wait"]), 1, "cancelled");
    assert_eq!(evaluated(&home, &["E(c).kept().then(v => v === undefined)", "c"]), "true");
    assert_eq!(evaluated(&home, &["E(c).up()", "c"]), "6");
    // On its way to its end, there is nothing that would be made anew.
    let ends = "export const make = async (powers, context) => { await context.cancel(Error('of its own')); \
                return 'not reached'; };";
    home.write("ends/index.js", ends);
    let said = home.almoner(&["make", "ends", "--name", "e"]);
    refused(said, 1, "of its own");
    home.almoner(&["stop"]).expect(0);
    refused(home.almoner(&["show", "e"]), 1, "of its own");
    // Somebody else ends it while it waits.
    let waits = "export const make = (powers, context) => E(powers).request('@self', 'a number');";
    home.write("waits/index.js", waits);
    home.almoner(&["make", "waits", "--powers", "@agent", "--name", "w", "--detach"]).expect(0);
    let begun = Instant::now();
    while !home.almoner(&["inbox"]).expect(0).out.contains("a number") {
        assert!(begun.elapsed() < TIMEOUT, "it does not ask");
    }
    home.almoner(&["cancel", "w"]).expect(0);
    refused(home.almoner(&["show", "w", "--wait"]), 1, "cancelled");
}

/// A program that sends four messages while it is made.
const SENDS: &str = "import { count } from './count.js';\nexport const make = async powers => {\n  \
                     for (let i = 0; i < count; i += 1) {\n    \
                     await E(powers).send('@self', [`note ${i}`], [], []);\n    \
                     await E(powers).storeValue(i, `v${i}`);\n  }\n  \
                     return (await E(powers).list()).filter(n => /^v/.test(n)).join();\n};\n";

fn sends(home: &TestHome) {
    write(home, "sends", &[("index.js", SENDS), ("count.js", "export const count = 4;\n")]);
}

fn check_sent(home: &TestHome, when: &str) {
    let shown = home.almoner(&["show", "done", "--wait"]).expect(0);
    assert_eq!(shown.out.trim(), "\"v0,v1,v2,v3\"", "{when}");
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let packages = all.as_array().unwrap().iter().filter(|one| one["message"]["body"]["type"] == "package");
    let mut texts: Vec<String> = packages.map(|one| one["message"]["body"]["strings"].to_string()).collect();
    texts.sort();
    let expected: Vec<String> = (0..4).map(|i| format!("[\"note {i}\"]")).collect();
    assert_eq!(texts, expected, "{when}");
}

#[test]
fn sends_of_make_happen_once_despite_kills() {
    let count = {
        let home = TestHome::new();
        sends(&home);
        let before = commits(&home);
        home.almoner(&["make", "sends", "--powers", "@agent", "--name", "done"]).expect(0);
        check_sent(&home, "undisturbed");
        commits(&home) - before
    };
    assert!(count >= 10, "only {count} commits");
    for point in [BEFORE, AFTER] {
        at_each(point, count, count - 2, |nth| {
            let home = TestHome::new();
            sends(&home);
            let daemon = Doomed::start(&home, point, nth);
            let begun = Instant::now();
            // A crash may cut off the first attempt. The name `done` shows whether the daemon received it.
            while home.almoner(&["show", "done", "--wait"]).code != 0 {
                assert!(begun.elapsed() < TIMEOUT, "{:?}", home.almoner(&["show", "done"]));
                let known = home.almoner(&["list"]);
                if known.code == 0 && !known.out.contains("done") {
                    home.almoner(&["make", "sends", "--powers", "@agent", "--name", "done", "--detach"]);
                }
            }
            let died = daemon.end();
            check_sent(&home, &format!("killed at {point} {nth}"));
            died
        });
    }
}
