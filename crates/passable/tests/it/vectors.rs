//! Conformance: every row of the vectors that were made with the published Endo packages.

use passable::{
    Bounds, CapData, Mismatch, Pattern, Value, capdata, compare_keys, compare_rank, is_key, is_pattern,
    kind_of, ordered, pattern_check_line, smallcaps,
};
use serde_json::{Value as Json, json};

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
fn specimens_have_upstream_kinds_and_codecs() {
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

/// Returns upstream's message with the label of the whole specimen, which upstream leaves out where it throws.
fn message(mismatch: &Mismatch) -> String {
    let label = if mismatch.thrown { "" } else { "L: " };
    format!("{label}{}", mismatch.raw_message())
}

#[test]
fn matches_have_upstream_verdicts_and_messages() {
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
        let part =
            |list: &str, at: usize| vectors[list][row[at].as_u64().unwrap() as usize]["smallcaps"].clone();
        let line = json!({ "pattern": part("patterns", 0), "specimen": part("specimens", 1) });
        let answer: Json = serde_json::from_str(&pattern_check_line(&line.to_string())).unwrap();
        assert_eq!(answer, json!({ "matches": outcome.is_ok(), "message": found }));
        // Where upstream throws, the row has no verdict.
        let verdict = row[2].as_bool().unwrap_or(false);
        if outcome.is_ok() != verdict || found.as_deref() != row[3].as_str() {
            wrong.push(format!("{row} but {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn comparisons_agree_with_upstream() {
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

#[test]
fn ordered_encodings_agree_with_upstream() {
    let vectors = vectors();
    let specimens = specimens(&vectors);
    let mut encoded = Vec::new();
    for (row, value) in vectors["specimens"].as_array().unwrap().iter().zip(&specimens) {
        let mut own = Vec::new();
        for (format, name) in
            [(ordered::Format::Legacy, "legacyOrdered"), (ordered::Format::Compact, "compactOrdered")]
        {
            let refer = &mut |_: ordered::RefKind, slot: &String| Some(slot.clone());
            let text = ordered::encode_with(value, format, Bounds::default(), refer).ok();
            let found = text.as_ref().map(|text| text.as_str().unwrap());
            assert_eq!(found, row[name].as_str(), "{row}");
            if let Some(text) = &text {
                let refer = &mut |_: ordered::RefKind, slot: &str| Some(slot.to_owned());
                assert_eq!(&ordered::decode_with(text, Bounds::default(), refer).unwrap(), value);
            }
            own.push(text);
        }
        encoded.push(own);
    }
    // The order of encodings is the order of ranks, remotables aside.
    for (left, one) in specimens.iter().zip(&encoded) {
        for (right, two) in specimens.iter().zip(&encoded) {
            for (one, two) in one.iter().zip(two) {
                if let (Some(one), Some(two), true) = (one, two, left.references().is_empty()) {
                    assert_eq!(one.cmp(two), compare_rank(left, right), "{left:?} {right:?}");
                }
            }
        }
    }
}
