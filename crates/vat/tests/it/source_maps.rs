//! Errors of compiled code: they have their places in the original source, and a bad map changes nothing.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use vat::archive::{self, MAP};
use vat::{Limits, Modules, Place, Report};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::modules::{made, program};
use crate::test_host::TestHost;

/// Paths and texts.
type Files<'a> = &'a [(&'a str, &'a str)];

/// Compiled from the sources in `tests/maps/src`; its README says how.
const ONCE: &str = include_str!("../maps/once.js");
const ASTRAY: &str = include_str!("../maps/astray.js");
const BUNDLE: &str = include_str!("../maps/bundle.js");
const COMPILED: Files<'_> = &[
    ("compiled/index.js", include_str!("../maps/compiled/index.js")),
    ("compiled/index.js.map", include_str!("../maps/compiled/index.js.map")),
    ("compiled/purse.js", include_str!("../maps/compiled/purse.js")),
    ("compiled/purse.js.map", include_str!("../maps/compiled/purse.js.map")),
];

fn place(world: &TestHost) -> Option<Place> {
    world.reports.iter().find_map(|report| match report {
        Report::Answer { place, .. } => place.clone(),
        _ => None,
    })
}

/// Returns where an error is told to be, and the line that is shown.
fn shown(world: &TestHost) -> String {
    place(world).map_or("nowhere".to_owned(), |place| format!("{} `{}`", place.label(), place.excerpt))
}

fn evaluated(source: &str) -> String {
    let mut world = TestHost::new(Limits::default());
    world.evaluate(source);
    shown(&world)
}

/// Returns the outcome when a program is made, with nothing in its `env`.
fn make_outcome(modules: Modules) -> String {
    made(&mut TestHost::new(Limits::default()), 1, modules)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let at = |index: usize| three.get(index).map_or(0, |byte| u32::from(*byte));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let digit = |index: usize| match index <= three.len() {
            true => char::from(DIGITS[(bits >> (18 - 6 * index)) as usize & 63]),
            false => '=',
        };
        (0..4).map(digit).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

/// Returns code that throws at once, with a map in it.
fn with_map(map: &str) -> String {
    format!("null.x;\n//# sourceMappingURL=data:application/json;base64,{}", base64(map.as_bytes()))
}

#[test]
fn compiled_code_errors_point_to_the_original_source() {
    assert_eq!(evaluated(ONCE), "src/purse.ts:16:19 `        throw new RangeError('less than a coin');`");
    // The text before it on the line is longer in bytes than in the units in which maps count.
    assert_eq!(evaluated(ASTRAY), "src/astray.ts:5:1 `purses['mine'].put(1);`");
    // Without a map it is where the engine says.
    let bare = ASTRAY.split("//#").next().unwrap();
    assert!(evaluated(bare).starts_with("eval.js:1:"), "{}", evaluated(bare));
    // Of code that came beside other code it is not known which it was, nor which map counts.
    let mut world = TestHost::new(Limits::default());
    world.evaluate("1");
    world.evaluate(ASTRAY);
    assert!(shown(&world).starts_with("eval.js:1:"), "{}", shown(&world));
}

/// Returns the map of an archive with one package, whose modules are these files.
fn compartments(files: &[&str]) -> String {
    let module = |file: &&str| format!(r#""./{file}":{{"location":"{file}","parser":"mjs"}}"#);
    let modules = files.iter().map(module).collect::<Vec<_>>().join(",");
    let entry = r#"{"compartment":"app","module":"./compiled/index.js"}"#;
    format!(r#"{{"entry":{entry},"compartments":{{"app":{{"location":"app-v1","modules":{{{modules}}}}}}}}}"#)
}

fn packed(files: Files<'_>) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let map = compartments(&["compiled/index.js", "compiled/purse.js"]);
    zip.start_file(MAP, SimpleFileOptions::default()).unwrap();
    zip.write_all(map.as_bytes()).unwrap();
    for (path, text) in files {
        let path = path.strip_prefix('/').map_or_else(|| format!("app-v1/{path}"), str::to_owned);
        zip.start_file(path, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

const THROWN: &str = "throws RangeError: less than a coin";
const WRITTEN: &str = "src/purse.ts:16:19 `        throw new RangeError('less than a coin');`";

#[test]
fn map_is_found_in_the_module_or_beside_it() {
    // In the module, and without the text of the original.
    assert_eq!(make_outcome(program(&[("index.js", BUNDLE)])), format!("{THROWN} at src/purse.ts:16:19 ``"));
    let archive = archive::unpack(&packed(COMPILED)).unwrap();
    assert_eq!(archive.maps["app"].len(), 2);
    assert_eq!(make_outcome(archive), format!("{THROWN} at app/{WRITTEN}"));
    let mut tree: BTreeMap<String, Vec<u8>> =
        COMPILED.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
    tree.insert("package.json".to_owned(), br#"{"main":"compiled/index.js"}"#.to_vec());
    assert_eq!(make_outcome(archive::from_tree(&tree).unwrap()), format!("{THROWN} at {WRITTEN}"));
}

#[test]
fn unavailable_map_is_left_out_and_the_program_runs() {
    let named = |url: &str| COMPILED[2].1.replace("=purse.js.map", &format!("={url}"));
    let unmapped = format!(
        "{THROWN} at app/compiled/purse.js:7:27 `                throw new RangeError('less than a coin');`"
    );
    let huge = " ".repeat(3 << 20);
    let bytes_that_are_no_map = "\u{1}\"".repeat(1 << 20);
    let (index, map) = (COMPILED[0], COMPILED[3].1);
    let rows: [(&str, Files<'_>, bool); 12] = [
        ("purse.js.map", &[("compiled/purse.js.map", map)], true),
        ("../maps/purse.map", &[("maps/purse.map", map)], true),
        ("purse.js.map", &[], false),
        ("purse.js.map", &[("compiled/purse.js.map", "")], false),
        ("purse.js.map", &[("compiled/purse.js.map", &huge)], false),
        ("purse.js.map", &[("compiled/purse.js.map", &bytes_that_are_no_map)], false),
        // Out of the package, and out of the archive.
        ("../../other/purse.js.map", &[("/other/purse.js.map", map)], false),
        ("../../../purse.js.map", &[("/purse.js.map", map)], false),
        ("/other/purse.js.map", &[("/other/purse.js.map", map)], false),
        ("file:///etc/passwd", &[], false),
        ("https://example.com/purse.js.map", &[], false),
        ("", &[("compiled/purse.js.map", map)], false),
    ];
    for (url, maps, is_mapped) in rows {
        let purse = named(url);
        let files = [&[index, ("compiled/purse.js", purse.as_str())], maps].concat();
        let told = make_outcome(archive::unpack(&packed(&files)).unwrap());
        let expected = if is_mapped { format!("{THROWN} at app/{WRITTEN}") } else { unmapped.clone() };
        assert_eq!(told, expected, "{url}");
    }
    // A file that is no module can be imported by no name.
    let with_import = format!("import './purse.js.map';\n{}", COMPILED[0].1);
    let files = [&[("compiled/index.js", with_import.as_str())], &COMPILED[2..]].concat();
    let told = make_outcome(archive::unpack(&packed(&files)).unwrap());
    assert!(told.contains("imports \"./purse.js.map\", which is not among its modules"), "{told}");
}

#[test]
fn a_bad_map_changes_nothing() {
    let bare = "eval.js:1:1 `null.x;`";
    let good = r#"{"version":3,"sources":["a.ts"],"sourcesContent":["one\ntwo"],"mappings":"AACA"}"#;
    assert_eq!(evaluated(&with_map(good)), "a.ts:2:1 `two`");
    let map = |fields: &str| format!(r#"{{"version":3,{fields}}}"#);
    let deep = format!("{}{}", r#"{"x":"#.repeat(10_000), "}".repeat(10_000));
    let inner = good;
    let many = |what: &str, count: usize| vec![what; count].join(",");
    let section = format!(r#"{{"offset":{{"line":0,"column":0}},"map":{inner}}}"#);
    let rows: Vec<(String, &str)> = vec![
        (String::new(), bare),
        ("null".to_owned(), bare),
        ("[]".to_owned(), bare),
        ("{}".to_owned(), bare),
        ("{\"version\":3".to_owned(), bare),
        (good.replace(":3", ":4"), bare),
        (deep, bare),
        (map(r#""sources":["a.ts"],"mappings":"""#), bare),
        (map(r#""sources":["a.ts"],"mappings":"!!!!""#), bare),
        (map(r#""sources":["a.ts"],"mappings":"AADA""#), bare),
        (map(r#""sources":["a.ts"],"mappings":"A""#), bare),
        (map(r#""sources":[],"mappings":"AAAA""#), bare),
        (map(r#""sources":[null],"mappings":"AAAA""#), bare),
        (map(r#""sources":[""],"mappings":"AAAA""#), bare),
        (map(r#""sources":[5],"mappings":"AAAA""#), bare),
        (map(r#""sources":{"0":"a.ts"},"mappings":"AAAA""#), bare),
        (map(r#""sources":["a.ts"],"mappings":"AgggggggggE""#), bare),
        (map(&format!(r#""sources":["a.ts",{}],"mappings":"AAAA""#, many("\"\"", 10_000))), bare),
        (map(&format!(r#""sources":["a.ts"],"mappings":"AAAA,{}""#, "A,".repeat(1_000_000))), bare),
        // There is no such line, no such text.
        (map(r#""sources":["a.ts"],"sourcesContent":["one"],"mappings":"AA+/////D""#), bare),
        (map(r#""sources":["a.ts"],"sourcesContent":["one"],"mappings":"AA8//////BA""#), bare),
        (map(r#""sources":["a.ts"],"sourcesContent":["one"],"mappings":"AAogBA""#), "a.ts:517:1 ``"),
        (map(r#""sources":["a.ts"],"sourcesContent":[],"mappings":"AAAA""#), "a.ts:1:1 ``"),
        // Put together from others, and from itself, which is none.
        (map(&format!(r#""sections":[{section}]"#)), "a.ts:2:1 `two`"),
        (map(&format!(r#""sections":[{section}]"#)).replace("\"line\":0", "\"line\":1"), bare),
        (map(&format!(r#""sections":[{section}]"#)).replace("\"line\":0", "\"line\":-1"), bare),
        (map(r#""sections":[{"offset":{"line":0,"column":0},"url":"a.map"}]"#), bare),
        (map(r#""sections":[{}]"#), bare),
        (
            map(&format!(
                r#""sections":[{{"offset":{{"line":0,"column":0}},"map":{{"version":3,"sections":[{section}]}}}}]"#
            )),
            bare,
        ),
        (map(&format!(r#""sections":[{}]"#, many(&section, 1_001))), bare),
        // Nothing of it gets to a screen as it came.
        (
            map(
                r#""sources":["\u001b[2J\u0000\u202ea.ts"],"sourcesContent":["\u001b]0;x\u0007\u0000"],"mappings":"AAAA""#,
            ),
            r"\u{1B}[2J\u{0}\u{202E}a.ts:1:1 `\u{1B}]0;x\u{7}\u{0}`",
        ),
        (map(&format!(r#""sources":["{}"],"mappings":"AAAA""#, "a".repeat(100_000))), ""),
    ];
    for (map, expected) in rows {
        let told = evaluated(&with_map(&map));
        let shown = map.get(..map.len().min(300));
        match expected {
            "" => assert_eq!(told, format!("{}:1:1 ``", "a".repeat(200)), "{shown:?}"),
            expected => assert_eq!(told, expected, "{shown:?}"),
        }
    }
    let good = with_map(good);
    for source in [
        good.replace(";base64", ""),
        good.replace("application/json", "text/plain"),
        good.replace("base64,", "base64,%"),
        good.replace("base64,", "base64,A"),
        format!("{good}\n;1"),
        format!("null.x;\n//# sourceMappingURL=data:application/json;base64,{}", "A".repeat(4 << 20)),
    ] {
        assert_eq!(evaluated(&source), bare, "{:?}", source.get(..80));
    }
}
