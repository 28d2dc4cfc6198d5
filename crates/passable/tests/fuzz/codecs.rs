//! The decoders: each value read must be written and read again as the same.

use passable::{
    Bounds, CapData, InterfaceGuard, NoRef, Pattern, Reference, Text, Value, capdata, ordered, plist,
    smallcaps, visible, visible_line,
};

type V = Value<String>;

fn slots() -> Vec<String> {
    vec!["r0".to_owned(), "r1".to_owned()]
}

const SMALLCAPS: &[&str] = &[
    r##"{"a":1,"!#b":["#undefined","#NaN","+12","-3","%foo","%@@iterator","!x","$0.Alleged: A","$0","&1","*AQI="]}"##,
    r##"{"#tag":"copySet","payload":["c","b","a"]}"##,
    r##"{"#tag":"match:splitRecord","payload":[{"a":{"#tag":"match:string","payload":[]}},{},{"#tag":"match:any","payload":"#undefined"}]}"##,
    r##"{"#error":"bad","name":"TypeError","errorId":"e1"}"##,
    r##"{"#tag":"guard:methodGuard","payload":{"callKind":"sync","argGuards":[],"optionalArgGuards":"#undefined","restArgGuard":"#undefined","returnGuard":1}}"##,
    r##"{"#tag":"copyMap","payload":{"keys":["b","a"],"values":[1,2]}}"##,
    r##"{"#tag":"copyBag","payload":[["b","+2"],["a","+1"]]}"##,
    r##"["\ud83e\uddd9","\ud83e",1e21,-0.5,{"":null},[[[true]]],"#Infinity","#-Infinity"]"##,
];

target!(smallcaps_bodies, SMALLCAPS, |text: &str| {
    if let Ok(value) = smallcaps::decode_within(&format!("#{text}"), &slots(), Bounds::default()) {
        let data = smallcaps::encode(&value);
        assert_eq!(smallcaps::decode(&data).unwrap(), value);
        assert_eq!(smallcaps::encode(&smallcaps::decode(&data).unwrap()), data);
        exercise(&value);
    }
});

const CAPDATA: &[&str] = &[
    r##"{"@qclass":"hilbert","original":"x","rest":{"y":[{"@qclass":"bigint","digits":"-7"},{"@qclass":"slot","index":0}]}}"##,
    r##"{"@qclass":"slot","iface":"Alleged: A","index":1}"##,
    r##"[{"@qclass":"undefined"},{"@qclass":"NaN"},{"@qclass":"Infinity"},{"@qclass":"@@asyncIterator"},{"@qclass":"symbol","name":"x"}]"##,
    r##"{"@qclass":"error","errorId":"error:1","message":"m","name":"TypeError"}"##,
    r##"{"@qclass":"tagged","tag":"match:or","payload":[{"@qclass":"tagged","tag":"match:nat","payload":[]},5]}"##,
    r##"{"@qclass":"byteArray","data":"AQI="}"##,
];

target!(capdata_bodies, CAPDATA, |text: &str| {
    let data = CapData { body: text.to_owned(), slots: slots() };
    if let Ok(value) = capdata::decode(&data) {
        let again = capdata::encode(&value);
        assert_eq!(capdata::decode(&again).unwrap(), value);
        assert_eq!(capdata::encode(&capdata::decode(&again).unwrap()), again);
        exercise(&value);
    }
});

const PLAIN: &[&str] = &[
    r##"["\ud83e\uddd9","\ud83e",1e21,-0.5,-0,{"":null},[[[true]]],0.1e-300,12345678901234567890]"##,
    r##"{"a":{"@qclass":"bigint","digits":"-7"},"b":[{"@qclass":"undefined"},{"@qclass":"NaN"}]}"##,
    r##"{"@qclass":"tagged","tag":"copySet","payload":["b","a"]}"##,
    r##"{"@qclass":"hilbert","original":"x","rest":{"y":{"@qclass":"utf16","units":"d83e"}}}"##,
    r##"{"__proto__":1,"then":{"toString":"\u0000\u001f\u2028"}}"##,
];

target!(plain_json, PLAIN, |text: &str| {
    if let Ok(value) = Value::<NoRef>::from_json_text(text) {
        let written = value.to_json_text();
        assert_eq!(Value::<NoRef>::from_json_text(&written).unwrap(), value);
        assert_eq!(Value::<NoRef>::from_json(&value.to_json()).unwrap(), value);
        exercise(&value);
    }
    if let Ok(json) = serde_json::from_str(text) {
        let _ = V::from_json(&json);
    }
});

const LEGACY: &[&str] = &[
    "[fbff0000000000000\u{0}[sx\u{1}\u{0}\u{0}",
    "([[sa\u{1}\u{0}\u{0}[z\u{1}\u{0}\u{0}",
    ":[scopySet\u{0}[sb\u{0}sa\u{0}\u{0}\u{0}",
    "[p2:12\u{0}n8:01\u{0}v\u{0}btrue\u{0}z\u{0}y@@iterator\u{0}a3:010203\u{0}\u{0}",
];
const COMPACT: &[&str] = &[
    "~^fbff0000000000000 sa!_b ^p2:12 n8:01  z ",
    "~(^^sb sa  ^v btrue  ",
    "~:^scopySet ^yfoo a3:010203  ",
    "~^^^^sa    n98:01 p~100:12 ",
];

fn ordered_text(text: &str, format: ordered::Format) {
    if let Ok(value) = ordered::decode::<String>(&Text::from(text.to_owned())) {
        let encoded = ordered::encode(&value, format).unwrap();
        assert_eq!(ordered::decode::<String>(&encoded).unwrap(), value);
        exercise(&value);
    }
}

target!(legacy_ordered, LEGACY, |text: &str| if !text.starts_with('~') {
    ordered_text(text, ordered::Format::Legacy);
});

target!(compact_ordered, COMPACT, |text: &str| {
    // Text without the `~` is of the other format.
    let text = if text.starts_with('~') { text.to_owned() } else { format!("~{text}") };
    ordered_text(&text, ordered::Format::Compact);
});

const LISP: &[&str] = &[
    "(:a\\ b [1 -2.5e3 t nil :null :false] :c \"x\\\"\\x1B\\ y\")",
    "(:k (:n ((1 . 2) ?a)) ; note\n :z #s(hash) :u \"\\u00e9\")",
    "[\"\\n\\t\" () [] (:x t) -0.0 1e400]",
];

target!(lisp_property_lists, LISP, |text: &str| if let Ok(json) = plist::read(text) {
    assert_eq!(plist::read(&plist::write(&json)).unwrap(), json);
    let _ = V::from_json(&json);
});

const FORMS: &[&str] = &[
    "value/name=Ada&value/tags/0=x&value/tags/7=y&value/age=36&value/vote=yes",
    "value/name:json=\"a\\r\\nb\"&value/tags:given=yes&value/age=0&value/vote=no",
    "value/name=&value/kv/0/key=a&value/kv/0/value=1&value/kv/1/key=b~1&value/any:kind=6&value/any/6=[1]",
    "value/name=x&value/set/0=b&value/set/1=a&value/blob=AQI=&value/sw=true&value/sw=false&value:rest={}",
    "value/name=y&value/who=bob&value/how=M.string()&value/any:kind=0&value/any/0=z",
];

fn form() -> Pattern<String> {
    let text = "M.splitRecord({ name: M.string() }, { tags: M.arrayOf(M.string()), age: M.nat(), \
                vote: M.or('yes', 'no'), kv: M.mapOf(M.string(), M.number()), any: M.any(), \
                set: M.setOf(M.string()), blob: M.byteArray(), sw: M.boolean(), who: M.remotable('who'), \
                how: M.pattern() }, M.record())";
    Pattern::parse(text).unwrap()
}

thread_local! {
    static FORM: Pattern<String> = form();
}

target!(form_bodies, FORMS, |text: &str| {
    let pairs: Vec<(String, String)> = text
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .collect();
    FORM.with(|pattern| {
        let mut resolve = |_: &Pattern<String>, name: &str| Some(Value::remotable(name.to_owned()));
        match pattern.read_form_with(&pairs, &mut resolve) {
            Ok(value) => {
                assert!(pattern.matches(&value));
                let again = pattern.write_form_with(&value, &mut Clone::clone);
                let read = pattern.read_form_with(&again, &mut resolve).unwrap();
                assert_eq!(pattern.write_form_with(&read, &mut Clone::clone), again);
            }
            Err(mismatch) => drop(mismatch.teach()),
        }
    });
});

const SHOWN: &[&str] =
    &["a\u{202e}b\u{200b}\u{7}c\r\nd", "\u{1b}[31mred\u{1b}]0;x\u{7}", "e\u{301}\u{fffe}\u{e0041}"];

target!(text_to_show, SHOWN, |text: &str| {
    let once = visible(text).into_owned();
    assert_eq!(visible(&once), once.as_str());
    assert!(!once.contains(['\u{1b}', '\u{202e}', '\u{7}', '\u{200b}']));
    assert!(!visible_line(text).contains(['\n', '\r']));
});

/// Calls every function of a value.
fn exercise<C: Reference + AsRef<[u8]> + std::fmt::Debug>(value: &Value<C>) {
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
