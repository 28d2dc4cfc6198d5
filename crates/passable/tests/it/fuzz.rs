//! Fuzzing of every decoder and parser with a fuzzer that runs on the stable toolchain.
//!
//! Each target runs for half a second here; `BOLERO_RANDOM_TEST_TIME_MS=20000` makes it 20 seconds. The fuzzer's
//! bytes edit one of the seeds, so that most inputs are nearly well formed. The corpus in `__fuzz__` is replayed
//! first; what once crashed belongs there.

use std::time::Duration;

use passable::{
    Bounds, CapData, InterfaceGuard, Node, Pattern, Text, Value, capdata, ordered, pattern_check_line, plist,
    smallcaps, visible, visible_line,
};

type V = Value<String>;

/// Edits a seed: the first byte chooses it, every three bytes after that make one edit.
fn mutate(seeds: &[&str], input: &[u8]) -> String {
    let Some((first, script)) = input.split_first() else { return String::new() };
    let mut bytes = seeds[usize::from(*first) % seeds.len()].as_bytes().to_vec();
    for edit in script.chunks_exact(3).take(40) {
        let at = usize::from(edit[0]) * (bytes.len() + 1) / 256;
        match edit[1] % 5 {
            0 => bytes.insert(at, edit[2]),
            1 if at < bytes.len() => bytes[at] = edit[2],
            2 if at < bytes.len() => {
                bytes.remove(at);
            }
            3 => bytes.truncate(at),
            _ => {
                let end = (at + usize::from(edit[2]) % 16).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

const BODIES: &[&str] = &[
    r##"{"a":1,"!#b":["#undefined","#NaN","+12","-3","%foo","%@@iterator","!x","$0.Alleged: A","$0","&1","*AQI="]}"##,
    r##"{"#tag":"copySet","payload":["c","b","a"]}"##,
    r##"{"#tag":"match:splitRecord","payload":[{"a":{"#tag":"match:string","payload":[]}},{},{"#tag":"match:any","payload":"#undefined"}]}"##,
    r##"{"#error":"bad","name":"TypeError","errorId":"e1"}"##,
    r##"{"@qclass":"hilbert","original":"x","rest":{"y":[{"@qclass":"bigint","digits":"-7"},{"@qclass":"slot","index":0}]}}"##,
    r##"["\ud83e\uddd9","\ud83e",1e21,-0.5,{"":null},[[[true]]]]"##,
    r##"{"#tag":"guard:methodGuard","payload":{"callKind":"sync","argGuards":[],"optionalArgGuards":"#undefined","restArgGuard":"#undefined","returnGuard":1}}"##,
];

#[test]
fn bodies() {
    bolero::check!().with_test_time(Duration::from_millis(500)).for_each(|input: &[u8]| {
        let body = mutate(BODIES, input);
        let slots = vec!["r0".to_owned(), "r1".to_owned()];
        if let Ok(value) = smallcaps::decode_within(&format!("#{body}"), &slots, Bounds::default()) {
            let data = smallcaps::encode(&value);
            assert_eq!(smallcaps::decode(&data).unwrap(), value);
            assert_eq!(smallcaps::encode(&smallcaps::decode(&data).unwrap()), data);
            assert_eq!(Value::from_json(&value.to_json()).unwrap(), value);
            exercise(&value);
        }
        if let Ok(value) = capdata::decode(&CapData { body, slots }) {
            assert_eq!(capdata::decode(&capdata::encode(&value)).unwrap(), value);
        }
    });
}

/// Everything that can be asked of a value.
fn exercise(value: &V) {
    let _ = (passable::kind_of(value), passable::is_key(value), passable::fingerprint(value));
    let _ = passable::compare_keys(value, value);
    if let Ok(pattern) = Pattern::from_value(value) {
        let _ =
            (pattern.check(value), pattern.to_json_schema(), pattern.controls(), pattern.to_elicitation());
        assert_eq!(visible_line(&pattern.describe()), pattern.describe());
        assert_eq!(&Pattern::from_value(&pattern.to_value()).unwrap(), &pattern);
    }
    if let Ok(guard) = InterfaceGuard::from_value(value) {
        let _ = guard.to_text();
    }
}

#[test]
fn pattern_text() {
    const SEEDS: &[&str] = &[
        "M.splitRecord({ a: M.string({ stringLengthLimit: 3 }) }, { 'b c': M.opt(M.nat()) }, {})",
        "M.or(1, -2n, \"x\\u{1F9D9}\\ud83e\", [null, undefined], makeCopySet([1, 2]), Symbol.iterator)",
        "M.interface(\"I\", { m: M.callWhen(M.await(M.any())).optional(M.raw()).rest(M.array()).returns() })",
        "M.and(M.gte(0.5), M.containerHas(M.key(), 2n), makeCopyMap([['a', M.remotable('x')]]), bytes('AQI='))",
    ];
    bolero::check!().with_test_time(Duration::from_millis(500)).for_each(|input: &[u8]| {
        let text = mutate(SEEDS, input);
        if let Ok(pattern) = Pattern::<String>::parse(&text) {
            let again = Pattern::<String>::parse(&pattern.to_text()).unwrap();
            assert_eq!(again.to_text(), Pattern::<String>::parse(&again.to_text()).unwrap().to_text());
            let _ = pattern.describe();
        }
        if let Err(error) = InterfaceGuard::<String>::parse(&text) {
            assert!(error.span.end <= text.len() && error.span.start <= error.span.end);
            assert!(text.is_char_boundary(error.span.start) && text.is_char_boundary(error.span.end));
        }
        let _ = Value::<String>::parse(&text);
    });
}

#[test]
fn shorthand() {
    const SEEDS: &[&str] =
        &["pass|maybe|'a|b'|\"c\"", "1..5", "-0.5..", "dir rw", "number?", "M.arrayOf(M.any())"];
    bolero::check!().with_test_time(Duration::from_millis(500)).for_each(|input: &[u8]| {
        let text = mutate(SEEDS, input);
        let node = Node::Text(text.clone(), 0..text.len());
        match Pattern::<String>::from_shorthand(&node) {
            Ok(pattern) => drop(pattern.to_text()),
            Err(error) => assert!(error.span.end <= text.len()),
        }
        let map = Node::Map(vec![(text.clone(), 0..1, node.clone()), ("b?".to_owned(), 0..1, node)], 0..1);
        let _ = Pattern::<String>::from_shorthand(&map);
    });
}

#[test]
fn ordered_text() {
    const SEEDS: &[&str] = &[
        "~^fbff0000000000000 sa!_b ^p2:12 n8:01  z ",
        "[fbff0000000000000\u{0}[sx\u{1}\u{0}\u{0}",
        "~(^^sb sa  ^v btrue  ",
        "([[sa\u{1}\u{0}\u{0}[z\u{1}\u{0}\u{0}",
        "~:^scopySet ^yfoo a3:010203  ",
    ];
    bolero::check!().with_test_time(Duration::from_millis(500)).for_each(|input: &[u8]| {
        let text = Text::from(mutate(SEEDS, input));
        if let Ok(value) = ordered::decode::<String>(&text) {
            let format = if text.as_bytes().starts_with(b"~") {
                ordered::Format::Compact
            } else {
                ordered::Format::Legacy
            };
            if let Ok(encoded) = ordered::encode(&value, format) {
                assert_eq!(ordered::decode::<String>(&encoded).unwrap(), value);
            }
        }
    });
}

#[test]
fn lisp_and_lines_and_schemas() {
    const SEEDS: &[&str] = &[
        "(:a\\ b [1 -2.5e3 t nil :null :false] :c \"x\\\"\\x1B\\ y\")",
        r##"{"pattern":{"body":"#{\"#tag\":\"match:string\",\"payload\":[]}","slots":[]},"specimen":{"body":"#7","slots":[1]},"label":null}"##,
        r##"{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"const":1}],"minItems":1},"b":{"anyOf":[{"type":"integer","minimum":0},{"enum":["x",null]}]}},"required":["a"],"additionalProperties":{"$ref":"#/properties/a"}}"##,
    ];
    bolero::check!().with_test_time(Duration::from_millis(500)).for_each(|input: &[u8]| {
        let text = mutate(SEEDS, input);
        if let Ok(json) = plist::read(&text) {
            assert_eq!(plist::read(&plist::write(&json)).unwrap(), json);
        }
        let answer: serde_json::Value = serde_json::from_str(&pattern_check_line(&text)).unwrap();
        assert!(answer["matches"].is_boolean());
        if let Ok(json) = serde_json::from_str(&text) {
            let _ = V::from_json(&json);
            if let Ok(pattern) = Pattern::<String>::from_json_schema(&json) {
                let _ = (pattern.to_json_schema(), pattern.describe(), pattern.read_json(&json));
            }
        }
        let once = visible(&text).into_owned();
        assert_eq!(visible(&once), once.as_str());
    });
}
