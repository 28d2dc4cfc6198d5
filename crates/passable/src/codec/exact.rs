//! JSON of others, read and written without the loss of a digit.
//!
//! `serde_json` reads a whole number beyond 64 bits as a double, which changes its digits. Its own exact mode
//! (`arbitrary_precision`) breaks tagged and flattened types, so this module rewrites such numbers in the text, as
//! the escape of a big integer that [`Value::from_json`](crate::Value::from_json) reads.

use std::borrow::Cow;
use std::fmt;

use num_bigint::BigInt;
use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use super::plain::QCLASS;
use crate::pattern::number_text;
use crate::value::MAX_DEPTH;

/// The largest number up to which a double represents every whole number exactly.
pub(crate) const MAX_SAFE: i64 = (1 << 53) - 1;

/// The reason why JSON cannot be read exactly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExactJsonError {
    /// The text ends before the value does.
    #[error("the JSON ends before it is complete")]
    Incomplete,
    /// Something at this place, counted from 1, is not JSON.
    #[error("it is not JSON: see line {line}, column {column}")]
    Syntax {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// One object has two values under one name.
    #[error("the name {0:?} occurs twice in one object")]
    DuplicateName(String),
    /// A number has more digits than can be kept.
    #[error("the number {number} has more digits than can be kept; the nearest is {nearest}")]
    LostDigits {
        /// The number, as it is written.
        number: String,
        /// The number that a double would keep.
        nearest: String,
    },
    /// Arrays and objects nest too deep.
    #[error("the JSON nests too deep")]
    TooDeep,
}

/// Returns JSON text in which the escape of a big integer replaces each whole number beyond 64 bits.
///
/// All other text stays. Text that is not JSON stays useless, but is never refused here.
pub fn keep_integers(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for number in number_spans(text) {
        let digits = &text[number.clone()];
        if !is_whole(digits) || digits.parse::<i64>().is_ok() || digits.parse::<u64>().is_ok() {
            continue;
        }
        if digits.len() > super::MAX_DIGITS {
            continue;
        }
        out.push_str(&text[copied..number.start]);
        out.push_str(&format!(r#"{{"{QCLASS}":"bigint","digits":"{digits}"}}"#));
        copied = number.end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Returns JSON text as [`keep_integers`] does. In addition, each decimal number that would lose digits becomes a text
/// of its digits. So nobody needs to refuse an answer that cannot be asked for again.
pub fn keep_digits(text: &str) -> Cow<'_, str> {
    let exact = keep_integers(text);
    let mut out = String::new();
    let mut copied = 0;
    for number in number_spans(&exact) {
        if confirm_kept(&exact[number.clone()]).is_ok() {
            continue;
        }
        out.push_str(&exact[copied..number.start]);
        out.push_str(&format!("\"{}\"", &exact[number.clone()]));
        copied = number.end;
    }
    if copied == 0 {
        return exact;
    }
    out.push_str(&exact[copied..]);
    Cow::Owned(out)
}

/// Reads JSON that somebody wrote. Whole numbers of any size stay exact.
///
/// # Errors
/// If the text is not JSON, an object has one name twice, or a number would lose digits.
pub fn read_exact_json(text: &str) -> Result<Json, ExactJsonError> {
    for number in number_spans(text) {
        confirm_kept(&text[number])?;
    }
    let exact = keep_integers(text);
    let mut reader = serde_json::Deserializer::from_str(&exact);
    let mut problem = None;
    let read = UniqueNames { depth: 0, problem: &mut problem }.deserialize(&mut reader);
    let read = read.and_then(|json| reader.end().map(|()| json));
    read.map_err(|error| match problem {
        Some(problem) => problem,
        None if error.is_eof() => ExactJsonError::Incomplete,
        None => ExactJsonError::Syntax { line: error.line(), column: error.column() },
    })
}

/// Returns the JSON of a stranger, in which only the escapes of big integers are escapes.
///
/// Every other object with the field of an escape becomes a record with that field. So a model or a server makes no
/// special value.
pub fn without_escapes(json: &Json) -> Cow<'_, Json> {
    match json {
        Json::Array(elements) if has_escapes(json) => {
            Cow::Owned(elements.iter().map(|element| without_escapes(element).into_owned()).collect())
        }
        Json::Object(fields) if has_escapes(json) => {
            let part = |(name, value): (&String, &Json)| (name.clone(), without_escapes(value).into_owned());
            let mut fields: Map<String, Json> = fields.iter().map(part).collect();
            let Some(original) = fields.remove(QCLASS) else { return Cow::Owned(Json::Object(fields)) };
            let mut record = Map::new();
            record.insert(QCLASS.to_owned(), Json::from("hilbert"));
            record.insert("original".to_owned(), original);
            if !fields.is_empty() {
                record.insert("rest".to_owned(), Json::Object(fields));
            }
            Cow::Owned(Json::Object(record))
        }
        _ => Cow::Borrowed(json),
    }
}

/// Returns whether JSON has an escape that is not that of a big integer.
fn has_escapes(json: &Json) -> bool {
    match json {
        Json::Array(elements) => elements.iter().any(has_escapes),
        Json::Object(fields) if fields.contains_key(QCLASS) => {
            big_digits(fields).is_none() && !is_big(fields)
        }
        Json::Object(fields) => fields.values().any(has_escapes),
        _ => false,
    }
}

/// Returns whether an object is the escape of a big integer, also of a small one.
fn is_big(fields: &Map<String, Json>) -> bool {
    let is_digits = |digits: &str| {
        let digits = digits.strip_prefix('-').unwrap_or(digits);
        !digits.is_empty()
            && digits.len() <= super::MAX_DIGITS
            && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    fields.len() == 2
        && fields.get(QCLASS).and_then(Json::as_str) == Some("bigint")
        && fields.get("digits").and_then(Json::as_str).is_some_and(is_digits)
}

/// JSON that is written with the digits of its big integers in place of their escapes.
///
/// Small big integers keep their escape, so that a reader still tells them from numbers.
#[derive(Clone, Copy, Debug)]
pub struct ExactJson<'a>(pub &'a Json);

impl Serialize for ExactJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Json::Array(elements) => {
                let mut list = serializer.serialize_seq(Some(elements.len()))?;
                for element in elements {
                    list.serialize_element(&ExactJson(element))?;
                }
                list.end()
            }
            Json::Object(fields) => match big_digits(fields) {
                Some(digits) => {
                    let raw = RawValue::from_string(digits.to_owned()).map_err(serde::ser::Error::custom)?;
                    raw.serialize(serializer)
                }
                None => {
                    let mut object = serializer.serialize_map(Some(fields.len()))?;
                    for (name, value) in fields {
                        object.serialize_entry(name, &ExactJson(value))?;
                    }
                    object.end()
                }
            },
            other => other.serialize(serializer),
        }
    }
}

impl fmt::Display for ExactJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match f.alternate() {
            true => serde_json::to_string_pretty(self),
            false => serde_json::to_string(self),
        };
        f.write_str(&text.map_err(|_| fmt::Error)?)
    }
}

/// Returns the digits of an escape that stands for a big integer beyond the whole numbers of a double.
pub fn big_digits(fields: &Map<String, Json>) -> Option<&str> {
    if fields.len() != 2 || fields.get(QCLASS)?.as_str() != Some("bigint") {
        return None;
    }
    let digits = fields.get("digits")?.as_str()?;
    let is_canonical = is_whole(digits) && digits.len() <= super::MAX_DIGITS;
    let is_long = digits.len() > 18 || digits.parse::<i64>().is_ok_and(is_beyond_safe);
    (is_canonical && is_long).then_some(digits)
}

/// Returns whether a whole number is beyond those that a double represents exactly.
pub(crate) fn is_beyond_safe(number: i64) -> bool {
    !(-MAX_SAFE..=MAX_SAFE).contains(&number)
}

/// Returns whether a big integer is beyond the whole numbers that a double represents exactly.
pub(crate) fn is_big_beyond_safe(number: &BigInt) -> bool {
    i64::try_from(number).map_or(true, is_beyond_safe)
}

/// Returns whether a number is written as a JSON integer: digits without leading zeros, and perhaps a minus sign.
fn is_whole(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number).as_bytes();
    match digits {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Refuses a decimal number whose digits a double changes, and a whole number that is too long to be read.
fn confirm_kept(number: &str) -> Result<(), ExactJsonError> {
    if is_whole(number) && number.len() <= super::MAX_DIGITS {
        return Ok(());
    }
    // Text that is not a number is left to the parser.
    let Ok(nearest) = number.parse::<f64>() else { return Ok(()) };
    let nearest = number_text(nearest);
    if Decimal::of(number).is_some_and(|written| Decimal::of(&nearest) == Some(written)) {
        return Ok(());
    }
    let shown = number.chars().take(60).chain((number.len() > 60).then_some('…')).collect();
    Err(ExactJsonError::LostDigits { number: shown, nearest })
}

/// A decimal number in its shortest form: all digits between the first and the last that is not zero.
#[derive(PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    digits: Vec<u8>,
    /// The power of ten of the last digit.
    exponent: i64,
}

impl Decimal {
    fn of(number: &str) -> Option<Decimal> {
        let (is_negative, unsigned) = match number.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, number),
        };
        let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, power.strip_prefix('+').unwrap_or(power).parse().ok()?),
            None => (unsigned, 0_i64),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = whole.bytes().chain(fraction.bytes());
        let mut digits: Vec<u8> = all.skip_while(|digit| *digit == b'0').collect();
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let mut exponent = power.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        while digits.last() == Some(&b'0') {
            digits.pop();
            exponent = exponent.checked_add(1)?;
        }
        if digits.is_empty() {
            return Some(Decimal { is_negative: false, digits, exponent: 0 });
        }
        Some(Decimal { is_negative, digits, exponent })
    }
}

/// Returns where the numbers of a JSON text are, outside of its strings.
fn number_spans(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => at = end_of_string(bytes, at + 1),
                b'-' | b'0'..=b'9' => {
                    let is_part =
                        |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
                    let rest = bytes.get(at..).unwrap_or_default();
                    let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                    let span = at..at + length;
                    at += length;
                    return Some(span);
                }
                _ => at += 1,
            }
        }
        None
    })
}

/// Returns the place after the string that begins before a place.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A reader of JSON that refuses an object with one name twice.
struct UniqueNames<'p> {
    depth: u32,
    problem: &'p mut Option<ExactJsonError>,
}

impl<'de> DeserializeSeed<'de> for UniqueNames<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        if self.depth > 2 * MAX_DEPTH {
            *self.problem = Some(ExactJsonError::TooDeep);
            return Err(de::Error::custom("too deep"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueNames<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut elements = Vec::new();
        let depth = self.depth + 1;
        while let Some(element) =
            access.next_element_seed(UniqueNames { depth, problem: &mut *self.problem })?
        {
            elements.push(element);
        }
        Ok(Json::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut fields = Map::new();
        let depth = self.depth + 1;
        while let Some(name) = access.next_key::<String>()? {
            let value = access.next_value_seed(UniqueNames { depth, problem: &mut *self.problem })?;
            if fields.contains_key(&name) {
                *self.problem = Some(ExactJsonError::DuplicateName(name));
                return Err(de::Error::custom("a name occurs twice"));
            }
            fields.insert(name, value);
        }
        Ok(Json::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoRef, Value};

    /// Identifiers as chat services, block chains and databases use them.
    const IDENTIFIERS: [&str; 10] = [
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "-9007199254740993",
        // The identifier of NousResearch/hermes-agent#55314.
        "1234567890123456789",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        // The largest number of 256 bits.
        "115792089237316195423570985008687907853269984665640564039457584007913129639935",
        "0",
    ];

    #[test]
    fn whole_numbers_of_any_size_stay_exact() {
        for digits in IDENTIFIERS {
            for shape in
                [digits.to_owned(), format!("[1,{digits}]"), format!(r#"{{"id":{digits},"s":"\"{digits}"}}"#)]
            {
                let json = read_exact_json(&shape).unwrap();
                let value = Value::<NoRef>::from_json(&json).unwrap();
                assert_eq!(ExactJson(&json).to_string(), shape);
                assert_eq!(ExactJson(&value.to_json()).to_string(), shape);
            }
        }
    }

    #[test]
    fn changed_numbers_are_refused_with_the_nearest_one() {
        for (text, nearest) in [
            ("9007199254740993.0", "9007199254740992"),
            ("12345678901234567.89", "12345678901234568"),
            ("3.14159265358979323846", "3.141592653589793"),
            ("1e400", "Infinity"),
            ("1e-400", "0"),
        ] {
            let number = text.to_owned();
            let expected = ExactJsonError::LostDigits { number, nearest: nearest.to_owned() };
            assert_eq!(read_exact_json(&format!("[{text}]")), Err(expected), "{text}");
        }
        for text in [
            "0.1",
            "1.50",
            "1e3",
            "-0.0",
            "1E+2",
            "1e23",
            "5e-324",
            "100000000000000000000.0",
            "0.30000000000000004",
        ] {
            assert!(read_exact_json(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn bad_json_is_refused_in_plain_words() {
        for (text, error) in [
            (r#"{"a":1,"a":2}"#, ExactJsonError::DuplicateName("a".to_owned())),
            (r#"[{"a":{"b":1,"c":2,"b":1}}]"#, ExactJsonError::DuplicateName("b".to_owned())),
            (r#"{"a":"#, ExactJsonError::Incomplete),
            ("", ExactJsonError::Incomplete),
            (r#"{"a" 1}"#, ExactJsonError::Syntax { line: 1, column: 6 }),
            ("1 2", ExactJsonError::Syntax { line: 1, column: 3 }),
        ] {
            assert_eq!(read_exact_json(text), Err(error), "{text}");
        }
        let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
        assert!(read_exact_json(&deep).is_err());
    }

    #[test]
    fn text_without_long_numbers_stays_as_it_is() {
        for text in
            ["", "{", r#"{"a":"123456789012345678901234567890\""}"#, "[1.5, 12345678901234567890.5]", "\"é"]
        {
            assert!(matches!(keep_integers(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn decimals_of_answers_become_text_before_they_lose_digits() {
        for (text, kept) in [
            ("[0.1,12345678901234567.89]", r#"[0.1,"12345678901234567.89"]"#),
            (r#"{"a":"12345678901234567.89"}"#, r#"{"a":"12345678901234567.89"}"#),
            ("[1e400,-1.50]", r#"["1e400",-1.50]"#),
        ] {
            assert_eq!(keep_digits(text), kept);
        }
    }

    #[test]
    fn small_big_integers_keep_their_escape() {
        let five = serde_json::json!({ "@qclass": "bigint", "digits": "5" });
        assert_eq!(*without_escapes(&five), five);
        assert_eq!(ExactJson(&five).to_string(), r#"{"@qclass":"bigint","digits":"5"}"#);
        let odd = serde_json::json!({ "@qclass": "bigint", "digits": "12345678901234567890,1" });
        assert_eq!(ExactJson(&odd).to_string(), odd.to_string());
    }

    #[test]
    fn escapes_of_strangers_become_records() {
        use crate::value::{NoRef, Value};
        let read = |json: &Json| Value::<NoRef>::from_json(&without_escapes(json)).unwrap();
        for json in [
            serde_json::json!({ "@qclass": "undefined" }),
            serde_json::json!({ "@qclass": "error", "name": "Error", "message": "x" }),
            serde_json::json!({ "@qclass": "hilbert", "original": 1 }),
            serde_json::json!({ "@qclass": "bigint", "digits": "1x" }),
            serde_json::json!({ "@qclass": { "@qclass": "NaN" } }),
            serde_json::json!({ "@qclass": "unheard of" }),
        ] {
            for json in [json.clone(), serde_json::json!({ "a": [1, json] })] {
                let value = read(&json);
                let inner = value.get("a").and_then(|list| list.as_array()?.get(1).cloned()).unwrap_or(value);
                assert!(inner.get("@qclass").is_some(), "{json}: {inner:?}");
            }
        }
        let big = serde_json::json!({ "n": { "@qclass": "bigint", "digits": "-12345678901234567890123" } });
        assert!(matches!(without_escapes(&big), Cow::Borrowed(_)));
    }
}
