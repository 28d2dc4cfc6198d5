//! Archives and trees: those of upstream's own tool run, and hostile ones are refused.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use passable::Value;
use sha2::{Digest, Sha512};
use vat::archive::{self, ArchiveError, MAP, MAX_ARCHIVE_BYTES, MAX_ENTRIES};
use vat::{Limits, MAX_SOURCE_BYTES, Modules, Slot};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::modules::made;
use crate::test_host::TestHost;

/// Made of the sources in `tests/archives` by `@endo/compartment-mapper` 2.4.0: of sources, and compiled.
const TALLY: &[u8] = include_bytes!("../archives/tally.zip");
const PRECOMPILED: &[u8] = include_bytes!("../archives/precompiled.zip");

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
    format!(r#"{{"entry":{entry},"compartments":{{"app":{{"location":"app-v1","modules":{{{modules}}}}}}}}}"#)
}

fn index(location: &str) -> String {
    map(&format!(r#""./index.js":{{"location":"{location}","parser":"mjs"}}"#))
}

const MAKE: &[u8] = b"export const make = () => 'made';";

fn make_outcome(modules: Result<Modules, ArchiveError>) -> String {
    match modules {
        Ok(modules) => made(&mut TestHost::new(Limits::default()), 1, modules),
        Err(why) => why.to_string(),
    }
}

#[test]
fn archive_of_upstreams_tool_runs() {
    let mut world = TestHost::new(Limits::default());
    let modules = archive::unpack(TALLY).unwrap();
    assert_eq!(made(&mut world, 901, modules), "\"$0.Alleged: abc\" Vat(1)");
    for (method, args, expected) in [
        ("up", vec![], "42"),
        ("up", vec![], "43"),
        ("greet", vec![Value::string("king")], "\"GOOD DAY, THE KING!\""),
        ("inner", vec![], "\"!!\""),
        ("ask", vec![], "1"),
        ("id", vec![], "\"id-1\""),
    ] {
        let asked = world.deliver(Slot::Answer(901), method, args);
        assert_eq!(world.answer_line(asked), expected, "{method}");
    }
    let compiled = archive::unpack(PRECOMPILED).unwrap_err().to_string();
    assert!(compiled.contains("index.js` cannot be run (pre-mjs-json)"), "{compiled}");
}

#[test]
fn damaged_or_hostile_archive_is_refused_with_the_reason() {
    let digest =
        |bytes: &[u8]| Sha512::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let with_digest = |digest: &str| {
        map(&format!(r#""./index.js":{{"location":"index.js","parser":"mjs","sha512":"{digest}"}}"#))
    };
    let (good, other) = (with_digest(&digest(MAKE)), with_digest(&digest(b"other")));
    let parser =
        |parser: &str| map(&format!(r#""./index.js":{{"location":"index.js","parser":"{parser}"}}"#));
    let (cjs, wasm) = (parser("cjs"), parser("wasm"));
    let exit = map(r#""./index.js":{"location":"index.js","parser":"mjs"},"fs":{"exit":"fs"}"#);
    let lost =
        map(r#""./index.js":{"location":"index.js","parser":"mjs"},"x":{"deferredError":"no x\u001b here"}"#);
    let round =
        map(r#""./index.js":{"module":"./a.js"},"./a.js":{"compartment":"app","module":"./index.js"}"#);
    let unsaid = map(r#""./index.js":{}"#);
    let (plain, gone) = (index("index.js"), index("gone.js"));
    let (up, rooted, doubled) = (index("../other/index.js"), index("/etc/passwd"), index("a//index.js"));
    let nul = b"export const make = () => '\0';";
    let bom = [&b"\xEF\xBB\xBF"[..], MAKE].concat();
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let rows: &[(&str, &[u8], &str)] = &[
        (&plain, MAKE, "\"made\""),
        (&good, MAKE, "\"made\""),
        (&plain, &bom, "\"made\""),
        (
            &other,
            MAKE,
            "the file `app-v1/index.js` is not the one that the map speaks of: its digest is another",
        ),
        (&gone, MAKE, "the archive has no file `app-v1/gone.js`"),
        (&up, MAKE, "`app-v1/../other/index.js` is no path in an archive"),
        (&rooted, MAKE, "`app-v1//etc/passwd` is no path in an archive"),
        (&doubled, MAKE, "`app-v1/a//index.js` is no path in an archive"),
        (&plain, b"\xff", "the file `app-v1/index.js` is not UTF-8"),
        (&plain, nul, "the module app/index.js is no text: it holds a zero"),
        (
            &cjs,
            MAKE,
            "the module `./index.js` cannot be run (cjs): only ES modules can be run, and this one is CommonJS",
        ),
        (
            &wasm,
            MAKE,
            "the module `./index.js` cannot be run (wasm): only modules, JSON and text can be imported",
        ),
        (
            &exit,
            b"import 'fs'; export const make = 1;",
            "throws ReferenceError: app/index.js imports \"fs\": app/fs: it is built in elsewhere, and a vat has no built-in modules at app/index.js:1:8 `import 'fs'; export const make = 1;`",
        ),
        (&exit, MAKE, "\"made\""),
        (
            &lost,
            b"export const make = () => import('x').catch(e => e.message);",
            "\"app/index.js imports \\\"x\\\": app/x: no x\\\\u{1B} here\"",
        ),
        (&round, MAKE, "app/index.js leads nowhere but to other names"),
        (&unsaid, MAKE, "the compartment map does not say what `./index.js` leads to"),
        ("{}", MAKE, "the compartment map cannot be read: missing field `entry` at line 1 column 2"),
        ("[", MAKE, "the compartment map cannot be read: EOF while parsing a list at line 1 column 1"),
        (
            &deep,
            MAKE,
            "the compartment map cannot be read: invalid type: sequence, expected a string at line 1 column 2",
        ),
    ];
    let mut wrong = Vec::new();
    for (map, source, expected) in rows {
        let bytes = packed(&[(MAP, map.as_bytes()), ("app-v1/index.js", source), ("other/index.js", MAKE)]);
        let told = make_outcome(archive::unpack(&bytes));
        if told != *expected {
            wrong
                .push(format!("{}\n  came to  {told}\n  and not  {expected}", map.get(..300).unwrap_or(map)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        make_outcome(archive::unpack(&packed(&[("x", b"")]))),
        "the archive has no file `compartment-map.json`"
    );
    for bytes in [&b""[..], b"PK", b"PK\x05\x06", &TALLY[..TALLY.len() / 2], &TALLY[100..]] {
        let told = make_outcome(archive::unpack(bytes));
        assert!(told.starts_with("the archive cannot be read") || told.contains("no file"), "{told}");
    }
}

#[test]
fn archive_bomb_is_refused() {
    let zeroes = vec![b' '; MAX_SOURCE_BYTES + 1];
    let (plain, bomb) = (index("index.js"), "more bytes of sources, but 8388608 is the limit");
    let named = packed(&[(MAP, plain.as_bytes()), ("app-v1/index.js", &zeroes)]);
    assert!(named.len() < 100_000, "{}", named.len());
    assert!(make_outcome(archive::unpack(&named)).contains(bomb));
    // Files that the map does not name are not read.
    let unnamed = packed(&[(MAP, plain.as_bytes()), ("app-v1/index.js", MAKE), ("app-v1/huge", &zeroes)]);
    assert_eq!(make_outcome(archive::unpack(&unnamed)), "\"made\"");
    // Nor is the map itself believed.
    let huge = packed(&[(MAP, &zeroes)]);
    assert!(make_outcome(archive::unpack(&huge)).contains(bomb));
    // Many small ones.
    let half = vec![b' '; MAX_SOURCE_BYTES / 4];
    let many: Vec<String> =
        (0..5).map(|n| format!(r#""./{n}.js":{{"location":"{n}.js","parser":"mjs"}}"#)).collect();
    let map_of_many = map(&many.join(","));
    let paths: Vec<String> = (0..5).map(|n| format!("app-v1/{n}.js")).collect();
    let mut files = vec![(MAP, map_of_many.as_bytes())];
    files.extend(paths.iter().map(|path| (path.as_str(), half.as_slice())));
    assert!(make_outcome(archive::unpack(&packed(&files))).contains(bomb));
    // One file under many names costs as much as many files.
    let names: Vec<String> =
        (0..1_000).map(|n| format!(r#""./{n}.js":{{"location":"index.js","parser":"mjs"}}"#)).collect();
    let again = map(&names.join(","));
    let told_again =
        make_outcome(archive::unpack(&packed(&[(MAP, again.as_bytes()), ("app-v1/index.js", MAKE)])));
    assert!(told_again.contains("its files overlap"), "{told_again}");
    let names: Vec<String> = (0..3_000).map(|n| format!(r#""{n}":{{"exit":"x"}}"#)).collect();
    let exits = map(&names.join(","));
    assert!(
        make_outcome(archive::unpack(&packed(&[(MAP, exits.as_bytes())])))
            .contains("3000 modules, but 2000 is the limit")
    );
    let empty: Vec<String> = (0..=MAX_ENTRIES).map(|n| n.to_string()).collect();
    let empty: Vec<(&str, &[u8])> = empty.iter().map(|path| (path.as_str(), &b""[..])).collect();
    assert!(make_outcome(archive::unpack(&packed(&empty))).contains("4001 entries, but 4000 is the limit"));
    assert!(
        make_outcome(archive::unpack(&vec![0; MAX_ARCHIVE_BYTES + 1]))
            .contains("16777217 bytes, but 16777216 is the limit")
    );
}

#[test]
fn tree_is_one_package_or_an_unpacked_archive() {
    let tree = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        make_outcome(archive::from_tree(&files.collect::<BTreeMap<_, _>>()))
    };
    let make = "export const make = () => 'made';";
    for (files, expected) in [
        (&[("index.js", make)][..], "\"made\""),
        (&[("package.json", "{\"main\":\"./src/a.js\"}"), ("src/a.js", make)], "\"made\""),
        (&[("package.json", "{\"exports\":\"./a.mjs\"}"), ("a.mjs", make)], "\"made\""),
        (&[("package.json", "{\"exports\":{\".\":{\"import\":\"./a.js\"}}}"), ("a.js", make)], "\"made\""),
        (&[("package.json", "{}"), ("index.js", make)], "\"made\""),
        (
            &[
                ("index.js", "import w from './words.txt'; export const make = () => w;"),
                ("words.txt", "some"),
            ],
            "\"some\"",
        ),
        (&[("index.js", make), ("picture.png", "\0")], "\"made\""),
        (&[("a.js", make)], "the archive has no file `index.js`"),
        (
            &[("package.json", "{\"main\":\"../up.js\"}"), ("index.js", make)],
            "the archive has no file `../up.js`",
        ),
        (
            &[("package.json", "nothing"), ("index.js", make)],
            "`package.json` cannot be read: expected ident at line 1 column 2",
        ),
        (&[("index.js", make), ("../up.js", make)], "`../up.js` is no path in a tree"),
        (
            &[("index.js", "import 'dep'; export const make = 1;"), ("node_modules/dep/index.js", make)],
            "throws ReferenceError: index.js imports \"dep\", which is not among its modules at index.js:1:8 `import 'dep'; export const make = 1;`",
        ),
        (&[(MAP, &index("index.js")), ("app-v1/index.js", make), ("index.js", "1")], "\"made\""),
        (&[(MAP, &index("index.js")), ("index.js", make)], "the archive has no file `app-v1/index.js`"),
    ] {
        assert_eq!(tree(files), expected, "{files:?}");
    }
}
