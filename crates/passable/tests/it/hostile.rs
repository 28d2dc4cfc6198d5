//! Input that is deep, large, cut off or wrong: typed errors in bounded time, never a panic.

use std::time::{Duration, Instant};

use passable::{Bounds, CapData, MAX_DEPTH, NoRef, Pattern, Value, capdata, ordered, plist, smallcaps};

fn small(body: &str) -> Result<Value, String> {
    smallcaps::decode(&CapData { body: body.to_owned(), slots: vec![] }).map_err(|error| error.to_string())
}

#[test]
fn bad_bodies_have_typed_errors_with_paths() {
    for (body, expected) in [
        ("7", "expected `#` at byte 0"),
        ("#", "expected a JSON value at byte 0"),
        ("#[1,", "at [1]: expected a JSON value at byte 3"),
        ("#{\"a\":{\"a\":1,\"b\":2,\"a\":3}}", "at a: the name \"a\" occurs twice in one record"),
        ("#{\"x\":[0,\"#nope\"]}", "at x[1]: unknown constant \"#nope\""),
        ("#[\"+1x\"]", "at [0]: not a big integer in at most 20000 decimal digits: \"+1x\""),
        ("#\"$0\"", "no slot \"0\""),
        ("#\"(x\"", "strings that begin with '(' are reserved"),
        ("#\"%@@nope\"", "there is no well-known symbol \"@@nope\""),
        ("#{\"#tag\":\"x\"}", "malformed #tag object"),
        ("#{\"#tag\":\"x\",\"payload\":1,\"more\":2}", "malformed #tag object"),
        ("#{\"#what\":1}", "malformed object with a `#` name"),
        ("#\"*!!!!\"", "not base64"),
        ("#01", "expected the end at byte 1"),
        ("#\"\\ud83e\\u12\"", "expected four hexadecimal digits at byte 8"),
        ("#\"\u{1}\"", "expected the rest of a string at byte 1"),
        ("#nul", "expected a JSON value at byte 0"),
        ("#1e", "expected a digit at byte 2"),
    ] {
        assert_eq!(small(body).unwrap_err(), expected, "{body}");
    }
    assert_eq!(small("#{\"__proto__\":1}").unwrap().get("__proto__"), Some(&Value::Number(1.0)));
    assert_eq!(small("#-0").unwrap(), Value::Number(0.0));
    assert_eq!(small("#\"\\ud83e\"").unwrap().as_str(), None);
    assert_eq!(small("#1e999").unwrap(), Value::Number(f64::INFINITY));
}

#[test]
fn decoders_and_constructors_bound_depth() {
    let levels = MAX_DEPTH as usize;
    let nested = |depth: usize| format!("#{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(small(&nested(levels)).unwrap().depth(), MAX_DEPTH);
    assert!(small(&nested(levels + 1)).unwrap_err().ends_with("nested deeper than 256 levels"));
    assert!(small(&nested(1_000_000)).unwrap_err().ends_with("nested deeper than 256 levels"));
    // Constructors return the error value instead of a value that would be too deep.
    let deep = (0..1_000_000).fold(Value::<NoRef>::Null, |inner, _| Value::array([inner]));
    assert!(deep.depth() <= MAX_DEPTH);
    let deepest = small(&nested(levels)).unwrap();
    assert_eq!(smallcaps::decode(&smallcaps::encode(&deepest)).unwrap(), deepest);
    assert_eq!(Value::from_json(&deepest.to_json()).unwrap(), deepest);
    assert_eq!(capdata::decode(&capdata::encode(&deepest)).unwrap(), deepest);
    let compact = ordered::encode(&deepest, ordered::Format::Compact).unwrap();
    assert_eq!(ordered::decode::<NoRef>(&compact).unwrap(), deepest);
    // Each level of the legacy encoding doubles its separators.
    assert!(ordered::encode(&deepest, ordered::Format::Legacy).is_err());
    let pattern = (0..1000).fold(Pattern::<NoRef>::any(), |inner, _| Pattern::array_of(inner));
    let _ = (pattern.describe(), pattern.to_json_schema(), pattern.controls(), pattern.to_text());
    assert!(!pattern.matches(&Value::array([])));
    assert!(plist::read(&"(:a ".repeat(100_000)).is_err());
    assert!(plist::read(&"[".repeat(100_000)).is_err());
}

#[test]
fn decoders_bound_body_size_and_digits() {
    let bounds = Bounds { bytes: 100 };
    let body = format!("#\"{}\"", "x".repeat(200));
    let error = smallcaps::decode_within::<NoRef>(&body, &[], bounds).unwrap_err();
    assert_eq!(error.to_string(), "the body has 202 bytes, but 100 is the limit");
    let digits = format!("#\"+{}\"", "9".repeat(1_000_000));
    assert_eq!(small(&digits).unwrap_err(), "not a big integer in at most 20000 decimal digits: \"…\"");
}

/// Checks that time grows with size, not with its square. Generous, because machines are shared.
#[test]
fn time_grows_linearly_with_size() {
    let started = Instant::now();
    let large = format!("#\"{}\"", "ü".repeat(4_000_000));
    let value = small(&large).unwrap();
    assert_eq!(value.as_text().unwrap().utf16_len(), 4_000_000);
    assert!(Pattern::string().check(&value).is_err());
    let fields: Vec<String> = (0..50_000).map(|at| format!("\"k{at}\":{at}")).collect();
    let record = small(&format!("#{{{}}}", fields.join(","))).unwrap();
    assert_eq!(record.get("k49999"), Some(&Value::Number(49_999.0)));
    assert_eq!(record.get("k5"), Some(&Value::Number(5.0)));
    let twice = small(&format!("#{{{},\"k7\":1}}", fields.join(","))).unwrap_err();
    assert_eq!(twice, "the name \"k7\" occurs twice in one record");
    let slots: Vec<String> = (0..50_000).map(|at| format!("r{at}")).collect();
    let many = Value::array(slots.iter().chain(&slots).cloned().map(Value::remotable));
    assert_eq!(smallcaps::encode(&many).slots, slots);
    let set = Value::set(slots.iter().cloned().map(Value::remotable)).unwrap();
    assert!(passable::is_key(&set));
    assert_eq!(passable::compare_keys(&set, &set).unwrap(), Some(std::cmp::Ordering::Equal));
    let wide = format!("M.or({})", "M.string(),".repeat(50_000));
    assert!(Pattern::<NoRef>::parse(&wide).is_ok());
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

/// Checks that no operation takes time exponential in depth: each step doubles the work if a part is looked at twice.
#[test]
fn deep_patterns_take_no_exponential_time() {
    // Frames of an unoptimised build are several times those of a release.
    let thread = std::thread::Builder::new().stack_size(16 << 20);
    thread.spawn(deep_patterns).unwrap().join().unwrap();
}

fn deep_patterns() {
    let wraps: [fn(Pattern<NoRef>) -> Pattern<NoRef>; 12] = [
        |inner| Pattern::array_of(inner),
        |inner| Pattern::not(inner),
        |inner| Pattern::and([inner]),
        |inner| Pattern::and([Pattern::any(), inner]),
        |inner| Pattern::or([inner, Pattern::text("x")]),
        |inner| Pattern::opt(inner),
        |inner| Pattern::tagged(Pattern::string(), inner),
        |inner| Pattern::record([("a", inner)]).unwrap(),
        |inner| Pattern::split_record([("a", inner)], [] as [(&str, Pattern<NoRef>); 0], None),
        |inner| Pattern::split_array([], [inner], Some(Pattern::tuple([]))),
        |inner| Pattern::set_of(inner),
        |inner| Pattern::container_has(inner, 1),
    ];
    for (at, wrap) in wraps.into_iter().enumerate() {
        let started = Instant::now();
        let pattern = (0..80).fold(Pattern::string(), |inner, _| wrap(inner));
        let value = (0..80).fold(Value::Null, |inner, _| match at {
            6 => Value::tagged("t", inner),
            7 | 8 => Value::record([("a", inner)]).unwrap(),
            10 => Value::set([inner]).unwrap(),
            _ => Value::array([inner]),
        });
        let json = (0..80).fold(serde_json::Value::Null, |inner, _| match at {
            7 | 8 => serde_json::json!({ "a": inner }),
            _ => serde_json::json!([inner]),
        });
        let _ = (pattern.check(&value), pattern.read_json(&json), pattern.write_json(&value));
        let _ = (pattern.describe(), pattern.to_json_schema(), pattern.controls(), pattern.to_elicitation());
        let _ = Pattern::<NoRef>::from_json_schema(&pattern.to_json_schema());
        assert_eq!(Pattern::from_value(&pattern.to_value()).unwrap(), pattern);
        let _ = Pattern::<NoRef>::parse(&pattern.to_text());
        assert!(started.elapsed() < Duration::from_secs(20), "{at}: {:?}", started.elapsed());
    }
}
