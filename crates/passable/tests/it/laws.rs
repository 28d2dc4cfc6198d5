//! Laws that hold for every value and every pattern.

use std::cmp::Ordering;

use passable::{
    Bounds, Elicitation, Hash, InterfaceGuard, Pattern, Text, Value, capdata, compare_keys, compare_rank,
    fingerprint, is_elicitation_schema, is_key, ordered, pattern_check_line, plist, smallcaps, visible,
    visible_line,
};
use proptest::prelude::*;
use serde_json::Value as Json;

use crate::arbitrary::{V, beyond_json, cases, interface_guard, key, matching, pattern, text, value};

fn has_promise(value: &V) -> bool {
    value.references().iter().any(|reference| reference.starts_with('?'))
}

/// Returns the value with optional fields that are `undefined` left out, as JSON leaves them out.
pub(crate) fn settled(value: &V) -> V {
    match value {
        Value::Array(array) => Value::array(array.iter().map(settled)),
        Value::Record(record) => {
            let kept = record.iter().filter(|(_, value)| !matches!(value, Value::Undefined));
            Value::record(kept.map(|(name, value)| (name.clone(), settled(value)))).unwrap()
        }
        Value::Tagged(tagged) => Value::tagged(tagged.tag().clone(), settled(tagged.payload())),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn codecs_round_trip_every_value(value in value(true)) {
        prop_assert_eq!(&smallcaps::decode(&smallcaps::encode(&value)).unwrap(), &value);
        prop_assert_eq!(&Value::from_json(&value.to_json()).unwrap(), &value);
        let text = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(&serde_json::from_str::<V>(&text).unwrap(), &value);
        prop_assert_eq!(plist::read(&plist::write(&value.to_json())).unwrap(), value.to_json());
        if !has_promise(&value) {
            prop_assert_eq!(&capdata::decode(&capdata::encode(&value)).unwrap(), &value);
        }
    }

    #[test]
    fn plain_json_text_agrees_with_plain_json(value in value(false)) {
        let data = value.try_map_references(&mut |_| Err::<passable::NoRef, ()>(())).unwrap();
        let text = data.to_json_text();
        prop_assert_eq!(&Value::from_json_text(&text).unwrap(), &data);
        prop_assert_eq!(&Value::from_json_text(&data.to_json().to_string()).unwrap(), &data);
        prop_assert_eq!(&Value::from_json(&serde_json::from_str(&text).unwrap()).unwrap(), &data);
    }

    #[test]
    fn ordered_encodings_keep_rank_order(left in value(false), right in value(false)) {
        for format in [ordered::Format::Legacy, ordered::Format::Compact] {
            let encode = |value: &V| ordered::encode(value, format).ok();
            let (Some(one), Some(two)) = (encode(&left), encode(&right)) else { continue };
            prop_assert_eq!(&ordered::decode::<String>(&one).unwrap(), &left);
            // Legacy arrays end without a mark, so a longer tie can only be told by length; still in order.
            prop_assert_eq!(one.cmp(&two), compare_rank(&left, &right), "{:?}", format);
        }
    }

    #[test]
    fn rank_is_a_total_preorder(a in value(false), b in value(false), c in value(false)) {
        prop_assert_eq!(compare_rank(&a, &a), Ordering::Equal);
        prop_assert_eq!(compare_rank(&a, &b), compare_rank(&b, &a).reverse());
        if compare_rank(&a, &b).is_le() && compare_rank(&b, &c).is_le() {
            prop_assert!(compare_rank(&a, &c).is_le());
        }
    }

    #[test]
    fn key_order_is_partial_and_within_rank(a in key(true), b in key(true)) {
        prop_assert!(is_key(&a));
        if let (Ok(one), Ok(two)) = (compare_keys(&a, &b), compare_keys(&b, &a)) {
            prop_assert_eq!(one, two.map(Ordering::reverse));
            if one == Some(Ordering::Equal) {
                prop_assert_eq!(compare_rank(&a, &b), Ordering::Equal);
            }
        }
        // Upstream has not decided how maps compare.
        if let Ok(own) = compare_keys(&a, &a) {
            prop_assert_eq!(own, Some(Ordering::Equal));
        }
    }

    #[test]
    fn equal_values_have_equal_fingerprints(a in value(true), b in value(true)) {
        let copy = smallcaps::decode(&smallcaps::encode(&a)).unwrap();
        prop_assert_eq!(fingerprint(&a), fingerprint(&copy));
        prop_assert_eq!(fingerprint(&a) == fingerprint(&b), a == b);
        let shown = fingerprint(&a).to_string();
        prop_assert_eq!(Hash::from_hex(&shown), Some(fingerprint(&a)));
    }

    #[test]
    fn patterns_round_trip_through_text_and_value(pattern in pattern()) {
        prop_assert_eq!(&Pattern::from_value(&pattern.to_value()).unwrap(), &pattern);
        let text = pattern.to_text();
        let read = Pattern::parse(&text).unwrap();
        // The literal `undefined` is read back as `M.undefined()`.
        prop_assert!(read == pattern || text.contains("undefined"), "{}", text);
        prop_assert_eq!(&Pattern::parse(&read.to_text()).unwrap(), &read, "{}", text);
        prop_assert_eq!(visible_line(&text), text.as_str());
        for width in [0, 20, 60] {
            let wrapped = pattern.to_text_wrapped(width);
            prop_assert_eq!(&Pattern::parse(&wrapped).unwrap(), &read, "{}", wrapped);
        }
    }

    #[test]
    fn guards_round_trip_through_text_and_value(guard in interface_guard()) {
        prop_assert_eq!(&InterfaceGuard::from_value(&guard.to_value()).unwrap(), &guard);
        let text = guard.to_text();
        let read = InterfaceGuard::<String>::parse(&text);
        let read = read.map_err(|error| TestCaseError::fail(format!("{error} {:?}\n{text}", error.span)))?;
        prop_assert!(read == guard || text.contains("undefined"), "{}", text);
        prop_assert_eq!(&InterfaceGuard::parse(&read.to_text()).unwrap(), &read, "{}", text);
    }

    #[test]
    fn projections_are_total_and_safe_to_show(pattern in pattern(), value in value(false)) {
        let told = pattern.describe();
        prop_assert_eq!(visible_line(&told), told.as_str());
        prop_assert!(!told.is_empty() && !told.contains('\n'));
        let controls = serde_json::to_string(&pattern.controls()).unwrap();
        prop_assert!(controls.contains("\"widget\""));
        if let Elicitation::Form(schema) = pattern.to_elicitation() {
            prop_assert!(is_elicitation_schema(&schema), "{}", schema);
        }
        match pattern.check(&value) {
            Ok(()) => prop_assert!(pattern.matches(&value)),
            Err(mismatch) => {
                prop_assert!(!pattern.matches(&value));
                for text in [mismatch.teach(), mismatch.to_string()] {
                    prop_assert_eq!(visible_line(&text), text.as_str());
                    prop_assert!(!text.is_empty());
                }
            }
        }
    }

    #[test]
    fn pattern_json_round_trips((pattern, value) in matching()) {
        prop_assume!(!beyond_json(&value));
        let json = pattern.write_json(&value);
        let back = pattern.read_json(&json);
        let back = back.map_err(|mismatch| TestCaseError::fail(format!("{pattern:?} {json} {mismatch}")))?;
        prop_assert_eq!(settled(&back), settled(&value), "{:?} {}", pattern, json);
    }

    #[test]
    fn schemas_with_a_pattern_reach_a_fixed_point(pattern in pattern()) {
        let schema = pattern.to_json_schema();
        if let Ok(read) = Pattern::<String>::from_json_schema(&schema) {
            // Reading settles the few shapes that can be said in two ways.
            let rounds = std::iter::successors(Some(read.to_json_schema()), |schema| {
                Pattern::<String>::from_json_schema(schema).ok().map(|read| read.to_json_schema())
            });
            let rounds: Vec<Json> = rounds.take(5).collect();
            prop_assert!(rounds.len() < 5 || rounds[3] == rounds[4], "{:#?}", rounds);
        }
    }

    #[test]
    fn pattern_from_own_schema_reads_own_json((pattern, value) in matching()) {
        let schema = pattern.to_json_schema();
        let Ok(read) = Pattern::<String>::from_json_schema(&schema) else { return Ok(()) };
        prop_assume!(!beyond_json(&value));
        let json = pattern.write_json(&value);
        // Escapes carry values that a schema from elsewhere cannot know.
        if !json.to_string().contains("@qclass") && read.read_json(&json).is_err() {
            prop_assert!(false, "{:?}\n{}\n{:?}", pattern, schema, read);
        }
    }

    #[test]
    fn decoders_never_panic_on_any_text(text in any::<String>(), units in text()) {
        let _ = smallcaps::decode_within::<String>(&text, &[], Bounds::default());
        let _ = smallcaps::decode_within::<String>(&format!("#{text}"), &[], Bounds::default());
        let _ = Pattern::<String>::parse(&text);
        let _ = Value::<String>::parse(&text);
        let _ = plist::read(&text);
        let _ = pattern_check_line(&text);
        let _ = ordered::decode::<String>(&units);
        let _ = ordered::decode::<String>(&Text::from(format!("~{text}")));
        let once = visible(&text).into_owned();
        prop_assert_eq!(visible(&once), once.as_str());
    }

    #[test]
    fn lone_surrogates_round_trip_as_text(units in prop::collection::vec(0xD7F0..0xE010u16, 0..6)) {
        let text = Text::from_utf16(units.iter().copied());
        prop_assert_eq!(text.units().collect::<Vec<_>>(), units);
        let value: V = Value::String(text);
        prop_assert_eq!(&smallcaps::decode(&smallcaps::encode(&value)).unwrap(), &value);
        prop_assert_eq!(&Value::from_json(&value.to_json()).unwrap(), &value);
        let _: Json = value.to_json();
    }
}
