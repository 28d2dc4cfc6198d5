//! Random patterns and values with the answers of the published Endo packages.
//!
//! `tests/vectors/random.json` was made by a script that drives those packages; set `PASSABLE_RANDOM_VECTORS` to
//! check another file of the same form.

use passable::{
    Bounds, CapData, Value, capdata, compare_keys, compare_rank, is_key, is_pattern, kind_of, ordered,
    pattern_check_line, smallcaps,
};
use serde_json::Value as Json;

fn vectors() -> Json {
    match std::env::var_os("PASSABLE_RANDOM_VECTORS") {
        Some(path) => serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap(),
        None => serde_json::from_str(include_str!("../vectors/random.json")).unwrap(),
    }
}

fn data(json: &Json) -> CapData<String> {
    serde_json::from_value(json.clone()).unwrap()
}

fn report(wrong: &[String]) {
    let shown = wrong.iter().take(12).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} wrong:\n{shown}", wrong.len());
}

#[test]
fn random_matches_have_upstream_verdicts_and_messages() {
    let mut wrong = Vec::new();
    for row in vectors()["match"].as_array().unwrap() {
        let answer: Json = serde_json::from_str(&pattern_check_line(&row.to_string())).unwrap();
        let verdict = row["matches"].as_bool().unwrap_or(false);
        if answer["matches"] != verdict || answer["message"] != row["message"] {
            let (pattern, specimen) = (&row["pattern"]["body"], &row["specimen"]["body"]);
            wrong.push(format!(
                "{pattern}\n  {specimen}\n  {} {}\n  {answer}",
                row["matches"], row["message"]
            ));
        }
    }
    report(&wrong);
}

#[test]
fn random_specimens_have_upstream_kinds_and_codecs() {
    let mut wrong = Vec::new();
    for row in vectors()["specimens"].as_array().unwrap() {
        let small = data(&row["smallcaps"]);
        let value = smallcaps::decode(&small).unwrap();
        let encoded = |format| {
            let refer = &mut |_: ordered::RefKind, slot: &String| Some(slot.clone());
            ordered::encode_with(&value, format, Bounds::default(), refer).ok()
        };
        let orders =
            [("legacyOrdered", ordered::Format::Legacy), ("compactOrdered", ordered::Format::Compact)];
        let mut same = smallcaps::encode(&value) == small
            && capdata::encode(&value) == data(&row["capdata"])
            && kind_of(&value) == row["kind"].as_str()
            && is_key(&value) == row["isKey"].as_bool().unwrap()
            && is_pattern(&value) == row["isPattern"].as_bool().unwrap()
            && Value::from_json(&value.to_json()).unwrap() == value;
        for (name, format) in orders {
            let text = encoded(format);
            // The script writes lone surrogates as U+FFFD, because JSON files are UTF-8.
            let found = text.as_ref().map(|text| text.to_str_lossy().into_owned());
            same &= found.as_deref() == row[name].as_str();
            let refer = &mut |_: ordered::RefKind, slot: &str| Some(slot.to_owned());
            let back = text.map(|text| ordered::decode_with(&text, Bounds::default(), refer).unwrap());
            same &= back.is_none_or(|back| back == value);
        }
        if !same {
            wrong.push(format!(
                "{row}\n {} {} {:?} {} {} {:?} {:?}",
                smallcaps::encode(&value).body,
                capdata::encode(&value).body,
                kind_of(&value),
                is_key(&value),
                is_pattern(&value),
                encoded(ordered::Format::Legacy),
                encoded(ordered::Format::Compact),
            ));
        }
    }
    report(&wrong);
}

#[test]
fn random_pairs_have_upstream_orders() {
    let mut wrong = Vec::new();
    for row in vectors()["orders"].as_array().unwrap() {
        let (left, right) =
            (smallcaps::decode(&data(&row["a"])).unwrap(), smallcaps::decode(&data(&row["b"])).unwrap());
        let key = match compare_keys(&left, &right) {
            Ok(Some(order)) => Json::from(order as i8),
            Ok(None) => Json::from("NaN"),
            Err(_) => Json::from("throws"),
        };
        let rank = Json::from(compare_rank(&left, &right) as i8);
        if key != row["key"] || rank != row["rank"] {
            wrong.push(format!("{row} but rank {rank} key {key}"));
        }
    }
    report(&wrong);
}
