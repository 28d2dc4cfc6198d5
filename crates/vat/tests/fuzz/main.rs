//! Hostile bytes between a vat and its host, with a fuzzer that runs on the stable toolchain.
//!
//! A target runs for half a second in `cargo test`, for 20 seconds in `cargo xtask test`, and for as long as is asked
//! for in `cargo xtask fuzz SECONDS`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stands where a peer does, and says so by panicking when something is wrong"
)]

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::rc::Rc;
use std::time::Duration;

use vat::archive;
use vat::{
    Clock, FrameError, Language, Limits, Module, ModuleName, Modules, Order, Report, Vat, frame, serve,
};

/// Frames that a fuzzer begins with; `N` stands for small numbers that it chooses.
const ORDERS: &[&str] = &[
    r#"{"open":{"vat":N,"limits":{"memory":8000000,"stack":300000,"fuel":1000000,"wall_ms":1000,"sends":5,"message":5000,"console":500}}}"#,
    r##"{"evaluate":{"vat":1,"answer":N,"id":"x","source":"const f = Far('x', { m: v => v, p: () => new Promise(() => 0) }); E(a).m(f); [f, E(a).m()]","names":["a"],"values":{"body":"#[\"$0.Alleged: A\"]","slots":[{"h":N}]}}}"##,
    r##"{"evaluate":{"vat":1,"answer":N,"id":"x","source":"globalThis.x; E(E(a).m()).m(a)","names":["a"],"values":{"body":"#[\"$0\"]","slots":[{"v":N}]}}}"##,
    r##"{"make":{"vat":1,"answer":N,"id":"i","modules":{"entry":{"package":"a","module":"./a.js"},"packages":{"a":{"./a.js":{"source":{"language":"module","text":"import b from 'b'; export const make = p => [b, E(p).m()];"}},"b":{"link":{"package":"b","module":"./N"}}},"b":{"./1":{"source":{"language":"json","text":"[N]"}},"./2":{"source":{"language":"module","text":"import 'N'; export default Far('x', {});"}},"./3":{"missing":"gone"}}}},"env":{"A":"N"},"powers":{"body":"#\"$0\"","slots":[{"h":N}]},"own":{"body":"#null","slots":[]}}}"##,
    r##"{"deliver":{"vat":1,"answer":N,"target":{"v":N},"verb":{"call":{"text":"m"}},"args":{"body":"#[\"$0\",\"&1\",\"+5\",{\"#tag\":\"x\",\"payload\":1}]","slots":[{"h":N},{"q":N}]}}}"##,
    r##"{"deliver":{"vat":1,"answer":null,"target":{"a":N},"verb":{"call":{"symbol":"@@asyncIterator"}},"args":{"body":"#[]","slots":[]}}}"##,
    r##"{"deliver":{"vat":1,"answer":N,"target":{"a":N},"verb":"apply","args":{"body":"#[\"&0\"]","slots":[{"a":N}]}}}"##,
    r##"{"deliver":{"vat":1,"answer":N,"target":{"v":N},"verb":{"get":{"text":"m"}},"args":{"body":"#[]","slots":[]}}}"##,
    r##"{"settle":{"vat":1,"promise":{"q":N},"outcome":{"ok":{"body":"#\"$0\"","slots":[{"h":N}]}}}}"##,
    r##"{"settle":{"vat":1,"promise":{"q":N},"outcome":{"err":{"body":"#{\"#error\":\"m\",\"name\":\"E\"}","slots":[]}}}}"##,
    r##"{"settle":{"vat":1,"promise":{"h":N},"outcome":{"ok":{"body":"#\"&0\"","slots":[{"q":N}]}}}}"##,
    r##"{"settle":{"vat":1,"promise":{"v":N},"outcome":{"ok":{"body":"#null","slots":[]}}}}"##,
    r##"{"drop":{"vat":1,"exports":[[N,N],[N,1]],"answers":[N,N]}}"##,
    r##"{"cancel":{"vat":1,"reason":{"body":"#\"x\"","slots":[]}}}"##,
    r##"{"close":{"vat":N}}"##,
    r##"{"ping":{"number":N}}"##,
];

/// Returns a frame's body from a few bytes: which seed, its numbers, and edits if `edits` is set.
fn body(seeds: &[&str], script: &[u8], edits: bool) -> Vec<u8> {
    let [seed, numbers @ ..] = script else { return vec![] };
    let seed = seeds[usize::from(*seed) % seeds.len()];
    let mut numbers = numbers.iter().cycle();
    let mut text = String::new();
    for part in seed.split_inclusive('N') {
        let digit = numbers.next().copied().unwrap_or(1) % 5 + 1;
        match part.strip_suffix('N') {
            Some(before) => text.push_str(&format!("{before}{digit}")),
            None => text.push_str(part),
        }
    }
    let mut bytes = text.into_bytes();
    if edits {
        for edit in script.chunks_exact(3).take(4) {
            let at = usize::from(edit[0]) * bytes.len() / 256;
            match edit[1] % 3 {
                0 => bytes[at] = edit[2],
                1 => bytes.insert(at, edit[2]),
                _ => drop(bytes.remove(at)),
            }
        }
    }
    bytes
}

fn still() -> Clock {
    Rc::new(|| 0)
}

/// Orders that can be read, in any order and with any numbers: each is answered, and the vat says nothing that the host
/// could not read.
#[test]
fn random_orders_get_readable_reports() {
    bolero::check!().with_test_time(Duration::from_millis(500)).with_type::<Vec<Vec<u8>>>().for_each(
        |scripts| {
            let limits =
                Limits { memory: 8 << 20, fuel: 2_000_000, sends: 20, message: 20_000, ..Limits::default() };
            let mut vat = Vat::new(1, limits, still()).unwrap();
            for script in scripts.iter().take(12) {
                let Ok(order) = serde_json::from_slice::<Order>(&body(ORDERS, script, false)) else {
                    continue;
                };
                let reports = vat.carry_out(&order);
                let last = reports.last().expect("something is said of each order");
                assert!(
                    matches!(last, Report::Idle { .. } | Report::Refused { .. } | Report::Fault { .. }),
                    "{order:?}: {last:?}"
                );
                for report in &reports {
                    let bytes = frame::encode(report).unwrap();
                    let again: Report = frame::read(&mut bytes.as_slice()).unwrap().unwrap();
                    assert_eq!(&again, report);
                }
            }
        },
    );
}

/// Checks a stream with edits in it: the loop ends with an error or with the stream, and all of its output can be
/// read.
#[test]
fn edited_order_streams_never_break_the_loop() {
    bolero::check!().with_test_time(Duration::from_millis(500)).with_type::<Vec<Vec<u8>>>().for_each(
        |scripts| {
            let mut stream = Vec::new();
            let open = Order::Open {
                vat: 1,
                limits: Limits { memory: 8 << 20, fuel: 1_000_000, ..Limits::default() },
            };
            stream.extend(frame::encode(&open).unwrap());
            for (index, script) in scripts.iter().take(6).enumerate() {
                let body = body(ORDERS, script, index % 2 == 1);
                stream.extend((body.len() as u32).to_le_bytes());
                stream.extend(body);
            }
            let mut said = Vec::new();
            let ended = serve(&mut stream.as_slice(), &mut said, &still());
            assert!(
                matches!(ended, Ok(()) | Err(FrameError::Malformed(_) | FrameError::Stream(_))),
                "{ended:?}"
            );
            let mut said = said.as_slice();
            let first: Option<Report> = frame::read(&mut said).unwrap();
            assert_eq!(first, Some(Report::Ready { vat: 1 }));
            while frame::read::<Report>(&mut said).unwrap().is_some() {}
        },
    );
}

/// Reports that a fuzzer begins with.
const REPORTS: &[&str] = &[
    r##"{"ready":{"vat":N}}"##,
    r##"{"send":{"vat":N,"target":{"h":N},"verb":{"call":{"text":"m"}},"args":{"body":"#[\"$0.Alleged: A\",\"+5\"]","slots":[{"v":N}]},"question":N}}"##,
    r##"{"answer":{"vat":N,"answer":N,"outcome":{"err":{"body":"#{\"#error\":\"m\",\"name\":\"E\"}","slots":[]}},"place":{"line":N,"column":N,"excerpt":"x","module":"a.js"}}}"##,
    r##"{"resolve":{"vat":N,"promise":N,"outcome":{"ok":{"body":"#{\"#tag\":\"x\",\"payload\":[N,\"#NaN\",\"%x\",\"*AAAA\"]}","slots":[]}}}}"##,
    r##"{"dropped":{"vat":N,"imports":[[N,N]],"questions":[N]}}"##,
    r##"{"console":{"vat":N,"level":"log","text":"x"}}"##,
    r##"{"fault":{"vat":N,"kind":"memory","line":"x"}}"##,
    r##"{"idle":{"vat":N,"memory":N}}"##,
];

/// Checks reports with edits in them: a report that can be read is the same when it is written again.
#[test]
fn edited_reports_survive_a_round_trip() {
    bolero::check!().with_test_time(Duration::from_millis(500)).with_type::<Vec<Vec<u8>>>().for_each(
        |scripts| {
            let mut stream = Vec::new();
            for (index, script) in scripts.iter().take(6).enumerate() {
                let body = body(REPORTS, script, index % 3 != 0);
                stream.extend((body.len() as u32).to_le_bytes());
                stream.extend(body);
            }
            let mut stream = stream.as_slice();
            while let Ok(Some(report)) = frame::read::<Report>(&mut stream) {
                let bytes = frame::encode(&report).unwrap();
                let again: Report = frame::read(&mut bytes.as_slice()).unwrap().unwrap();
                assert_eq!(frame::encode(&again).unwrap(), bytes);
            }
        },
    );
}

/// Checks the bytes of a hostile host process: the daemon reads or refuses them, never more.
#[test]
fn random_bytes_are_read_or_refused_as_reports() {
    bolero::check!().with_test_time(Duration::from_millis(500)).with_type::<Vec<u8>>().for_each(|bytes| {
        let mut stream = bytes.as_slice();
        for _ in 0..100 {
            match frame::read::<Report>(&mut stream) {
                Ok(Some(report)) => drop(frame::encode(&report).unwrap()),
                Ok(None) | Err(_) => break,
            }
        }
        let mut framed = (bytes.len() as u32).to_le_bytes().to_vec();
        framed.extend(bytes);
        drop(frame::read::<Report>(&mut framed.as_slice()));
    });
}

/// Archives as upstream's own tool writes them, with edits in them, and maps with edits in them in a good archive: each is
/// a program within bounds, or refused with one line.
#[test]
fn archives() {
    const GOOD: &[u8] = include_bytes!("../archives/tally.zip");
    let files = {
        let mut zip = zip::ZipArchive::new(Cursor::new(GOOD)).unwrap();
        let read = |index| {
            let mut file = zip.by_index(index).unwrap();
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            (file.name().unwrap().into_owned(), bytes)
        };
        (0..9).map(read).collect::<BTreeMap<_, _>>()
    };
    bolero::check!()
        .with_test_time(Duration::from_millis(500))
        .with_type::<(bool, Vec<(u16, u8, u8)>)>()
        .for_each(|(in_map, edits)| {
            let edited = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                for (at, what, byte) in edits.iter().take(8) {
                    let at = usize::from(*at) % bytes.len().max(1);
                    match what % 4 {
                        0 => bytes.insert(at, *byte),
                        1 if bytes.len() > 1 => drop(bytes.remove(at)),
                        2 => bytes.truncate(bytes.len().max(2) - 1),
                        _ => bytes[at] = *byte,
                    }
                }
                bytes
            };
            let made = match in_map {
                true => {
                    let mut files = files.clone();
                    let map = edited(&files[archive::MAP]);
                    files.insert(archive::MAP.to_owned(), map);
                    archive::from_tree(&files)
                }
                false => archive::unpack(&edited(GOOD)),
            };
            match made {
                Ok(modules) => assert_eq!(modules.check(), Ok(())),
                Err(why) => assert!(!why.to_string().contains(char::is_control), "{why:?}"),
            }
        });
}

/// Returns a digit as source maps have them, with any byte instead of every eighth.
fn mapping(byte: u8) -> char {
    const DIGITS: &[u8] = b"AAACEDg;,;,0";
    match byte % 8 {
        7 => char::from(byte),
        _ => char::from(DIGITS[usize::from(byte / 8) % DIGITS.len()]),
    }
}

/// Checks source maps with any mappings and with edits in them: an error has a place all the same, and its text is
/// fit for a screen.
#[test]
fn source_maps() {
    const MAPS: &[&str] = &[
        r#"{"version":3,"sourceRoot":"../s","sources":["a.ts",null,"\u001b"],"sourcesContent":["x\ny","z"],"mappings":"N"}"#,
        r#"{"version":3,"sections":[{"offset":{"line":0,"column":0},"map":{"version":3,"sources":["a"],"mappings":"N"}},{"offset":{"line":1,"column":2},"map":{"version":3,"sources":["b"],"mappings":"AAAA;N"}}]}"#,
    ];
    let no_values = passable::Value::array([]);
    bolero::check!()
        .with_test_time(Duration::from_millis(500))
        .with_type::<Vec<(u8, Vec<u8>, bool)>>()
        .for_each(|scripts| {
            let mut vat = Vat::new(1, Limits { memory: 16 << 20, ..Limits::default() }, still()).unwrap();
            for (answer, (which, bytes, is_edited)) in scripts.iter().take(8).enumerate() {
                let mappings: String = bytes.iter().map(|byte| mapping(*byte)).collect();
                let map = MAPS[usize::from(*which) % MAPS.len()].replace('N', &mappings);
                let mut map = map.into_bytes();
                if *is_edited {
                    for edit in bytes.chunks_exact(2).take(4) {
                        let at = usize::from(edit[0]) * map.len() / 256;
                        map[at] = edit[1];
                    }
                }
                let text = "export const make = () => {\n  let é = 1; null.x;\n};\n//# sourceMappingURL=x"
                    .to_owned();
                let module = Module::Source { language: Language::Module, text };
                let name = "./dist/index.js".to_owned();
                let beside = String::from_utf8_lossy(&map).into_owned();
                let modules = Modules {
                    entry: ModuleName { package: String::new(), module: name.clone() },
                    packages: BTreeMap::from([(String::new(), BTreeMap::from([(name.clone(), module)]))]),
                    maps: BTreeMap::from([(String::new(), BTreeMap::from([(name, beside)]))]),
                };
                let reports = vat.carry_out(&Order::Make {
                    vat: 1,
                    answer: answer as u32,
                    id: "1".to_owned(),
                    modules,
                    env: BTreeMap::new(),
                    powers: no_values.clone(),
                    own: no_values.clone(),
                });
                let place = reports.iter().find_map(|report| match report {
                    Report::Answer { place, .. } => place.as_ref(),
                    _ => None,
                });
                let place = place.unwrap_or_else(|| panic!("{reports:?}"));
                assert!(place.line > 0 && place.column > 0, "{place:?}");
                let shown = format!("{}{}", place.label(), place.excerpt);
                assert!(shown.len() < 2_000 && !shown.contains(char::is_control), "{shown:?}");
            }
        });
}

/// Checks that any text is evaluated, and that the engine survives it.
#[test]
fn sources() {
    const PIECES: &[&str] = &[
        "eval",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "=>",
        "'",
        "`",
        "${",
        "/",
        "*",
        "<!--",
        "-->",
        "\n",
        "a",
        ".b",
        "E(x)",
        ";",
        "let ",
        "function ",
        "async ",
        "await ",
        "yield ",
        "class ",
        "=",
        "1n",
        "...",
        "?.",
        "\\u{61}",
        "\u{2028}",
        "new ",
        "import(",
        "#p",
        "for(;;)",
        "try{",
        "}catch{",
        "Far('x',{})",
        "harden(",
        "M.string()",
        "throw ",
        "return ",
    ];
    bolero::check!().with_test_time(Duration::from_millis(500)).with_type::<Vec<u8>>().for_each(|bytes| {
        let source: String =
            bytes.iter().take(60).map(|byte| PIECES[usize::from(*byte) % PIECES.len()]).collect();
        let limits = Limits { memory: 8 << 20, fuel: 500_000, ..Limits::default() };
        let mut vat = Vat::new(1, limits, still()).unwrap();
        let (id, names, values) = (String::new(), Vec::new(), passable::Value::array([]));
        let order = Order::Evaluate { vat: 1, answer: 1, id, source, names, values };
        let reports = vat.carry_out(&order);
        assert!(matches!(reports.last(), Some(Report::Idle { .. } | Report::Fault { .. })), "{reports:?}");
    });
}
