//! Conformance: every row of the vectors that were made with the published Endo packages.

use passable::{
    CapData, Mismatch, Pattern, Value, capdata, compare_keys, compare_rank, is_key, is_pattern, kind_of,
    smallcaps,
};
use serde_json::Value as Json;

fn vectors() -> Json {
    serde_json::from_str(include_str!("../vectors/passable.json")).unwrap()
}

fn data(json: &Json) -> CapData<String> {
    serde_json::from_value(json.clone()).unwrap()
}

fn specimens(vectors: &Json) -> Vec<Value<String>> {
    let rows = vectors["specimens"].as_array().unwrap().iter();
    rows.map(|row| smallcaps::decode(&data(&row["smallcaps"])).unwrap()).collect()
}

#[test]
fn specimens_have_their_kinds_and_codecs() {
    for row in vectors()["specimens"].as_array().unwrap() {
        let small = data(&row["smallcaps"]);
        let value = smallcaps::decode(&small).unwrap();
        assert_eq!(smallcaps::encode(&value), small, "{row}");
        let cap = data(&row["capdata"]);
        assert_eq!(capdata::encode(&value), cap, "{row}");
        assert_eq!(capdata::decode(&cap).unwrap(), value, "{row}");
        assert_eq!(Value::from_json(&value.to_json()).unwrap(), value, "{row}");
        assert_eq!(kind_of(&value), row["kind"].as_str(), "{row}");
        assert_eq!(is_key(&value), row["isKey"].as_bool().unwrap(), "{row}");
        assert_eq!(is_pattern(&value), row["isPattern"].as_bool().unwrap(), "{row}");
    }
}

/// Upstream's label of the whole specimen, which it leaves out where it throws.
fn message(mismatch: &Mismatch) -> String {
    let label = if mismatch.thrown { "" } else { "L: " };
    format!("{label}{}", mismatch.raw_message())
}

#[test]
fn matches_and_messages() {
    let vectors = vectors();
    let specimens = specimens(&vectors);
    let mut wrong = Vec::new();
    let patterns: Vec<(Value<String>, Pattern<String>)> = vectors["patterns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let value = smallcaps::decode(&data(&row["smallcaps"])).unwrap();
            let pattern = Pattern::from_value(&value).unwrap();
            (value, pattern)
        })
        .collect();
    for (value, pattern) in &patterns {
        assert_eq!(&pattern.to_value(), value);
    }
    for row in vectors["match"].as_array().unwrap() {
        let (_, pattern) = &patterns[row[0].as_u64().unwrap() as usize];
        let outcome = pattern.check(&specimens[row[1].as_u64().unwrap() as usize]);
        assert_eq!(outcome.is_ok(), pattern.matches(&specimens[row[1].as_u64().unwrap() as usize]));
        let found = outcome.as_ref().err().map(message);
        // Where upstream throws, the row has no verdict.
        let verdict = row[2].as_bool().unwrap_or(false);
        if outcome.is_ok() != verdict || found.as_deref() != row[3].as_str() {
            wrong.push(format!("{row} but {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn both_orders() {
    let vectors = vectors();
    let specimens = specimens(&vectors);
    for (i, left) in specimens.iter().enumerate() {
        for (j, right) in specimens.iter().enumerate() {
            let rank = compare_rank(left, right) as i8;
            assert_eq!(Some(rank.into()), vectors["compareRank"][i][j].as_i64(), "rank {i} {j}");
            match compare_keys(left, right) {
                Ok(Some(order)) => {
                    assert_eq!(
                        Some((order as i8).into()),
                        vectors["compareKeys"][i][j].as_i64(),
                        "key {i} {j}"
                    );
                }
                Ok(None) => assert_eq!(vectors["compareKeys"][i][j], "NaN", "key {i} {j}"),
                Err(_) => assert!(!vectors["compareKeys"][i][j].is_number(), "key {i} {j}"),
            }
        }
    }
}
