//! The comparison of a run's results with the expected facts, which were written down before any model saw the
//! documents.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The expected class and facts of each document.
#[derive(Debug, Deserialize)]
pub(super) struct Expected {
    compare: BTreeMap<String, String>,
    documents: BTreeMap<String, ExpectedDocument>,
}

#[derive(Debug, Deserialize)]
struct ExpectedDocument {
    class: String,
    facts: BTreeMap<String, String>,
}

/// One fact of one document: the expected text, the text that the run found, and whether that is right.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) document: String,
    pub(super) key: String,
    pub(super) expected: String,
    pub(super) got: String,
    pub(super) is_right: bool,
}

impl Expected {
    /// Reads `expected.json`.
    pub(super) fn parse(json: &[u8]) -> Result<Expected, serde_json::Error> {
        serde_json::from_slice(json)
    }

    /// Compares the results of a run with the expected facts. `found` has a record with `output.class` and `facts`
    /// for each document, by name. A missing fact is wrong.
    pub(super) fn compare(&self, found: &BTreeMap<String, Value>) -> Vec<Fact> {
        let mut facts = Vec::new();
        for (name, document) in &self.documents {
            let nothing = Value::Null;
            let result = found.get(name).unwrap_or(&nothing);
            let class = text(&result["output"]["class"]);
            facts.push(self.fact(name, "class", &document.class, class));
            for (key, expected) in &document.facts {
                let mut got = text(&result["facts"][key]);
                // The worker gives an amount and its currency in two fields, so that a pattern can check each. They
                // are joined here for the comparison.
                if let Some(currency) = result["facts"]["currency"].as_str().filter(|_| key == "amount") {
                    got = format!("{got} {currency}");
                }
                facts.push(self.fact(name, key, expected, got));
            }
        }
        facts
    }

    fn fact(&self, document: &str, key: &str, expected: &str, got: String) -> Fact {
        let rule = self.compare.get(key).map_or("exact", String::as_str);
        let right = matches(rule, expected, &got);
        Fact {
            document: document.to_owned(),
            key: key.to_owned(),
            expected: expected.to_owned(),
            got,
            is_right: right,
        }
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned)
}

/// Returns whether an answer is right by one of the rules that `expected.json` states.
fn matches(rule: &str, expected: &str, got: &str) -> bool {
    match rule {
        "text" => text_matches(&normalized_words(expected), &normalized_words(got)),
        "date" => got.trim() == expected.trim(),
        "amount" => amount(expected).is_some() && amount(expected) == amount(got),
        _ => expected == got,
    }
}

fn normalized_words(text: &str) -> Vec<String> {
    text.split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

fn text_matches(expected: &[String], got: &[String]) -> bool {
    let stands_in = |part: &[String], whole: &[String]| {
        !part.is_empty() && part.len() <= whole.len() && whole.windows(part.len()).any(|w| w == part)
    };
    (got.len() <= 12 && stands_in(expected, got))
        || (stands_in(got, expected) && got.len() * 2 >= expected.len())
}

/// Returns the number and the currency code in a text, or `None` if the text has another form. The number has no
/// needless zeros.
fn amount(text: &str) -> Option<(String, String)> {
    let text = text.trim();
    let is_code = |s: &str| s.len() == 3 && s.bytes().all(|b| b.is_ascii_uppercase());
    let (number, code) =
        match (text.get(..3), text.len().checked_sub(3).and_then(|at| text.split_at_checked(at))) {
            (Some(code), _) if is_code(code) => (&text[3..], code),
            (_, Some((number, code))) if is_code(code) => (number, code),
            _ => return None,
        };
    let digits: String = number.chars().filter(|c| *c != ',' && !c.is_whitespace()).collect();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    Some((format!("{}.{}", whole.trim_start_matches('0'), fraction.trim_end_matches('0')), code.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_compared_by_the_rules_of_expected_json() {
        let check = |rule: &str, expected: &str, got: &str, right: bool| {
            assert_eq!(matches(rule, expected, got), right, "{rule}: {expected} / {got}");
        };
        check("exact", "invoice", "invoice", true);
        check("exact", "invoice", "Invoice", false);
        check("text", "Harbour Print Ltd", "harbour print ltd.", true);
        check("text", "Harbour Print Ltd", "Harbour Print", true);
        check("text", "Harbour Print Ltd", "Print", false);
        check("text", "Ines Marlow", "Chair: Ines Marlow, notes", true);
        check("text", "Ines Marlow", "Ines and Marlow", false);
        check("text", "Ines Marlow", "", false);
        check("text", "A", "a b c d e f g h i j k l m", false);
        check("date", "2026-10-14", " 2026-10-14 ", true);
        check("date", "2026-10-14", "14 October 2026", false);
        check("amount", "1204.80 EUR", "EUR 1,204.8", true);
        check("amount", "1204.80 EUR", "1 204.80EUR", true);
        check("amount", "1204.80 EUR", "1204.80 USD", false);
        check("amount", "1204.80 EUR", "€1204.80", false);
        check("amount", "18500.00 EUR", "18500 EUR", true);
    }

    #[test]
    fn missing_facts_are_wrong() {
        let expected = Expected::parse(crate::verbs::demo::folder::file("expected.json")).unwrap();
        let facts = expected.compare(&BTreeMap::new());
        assert_eq!(facts.len(), 5 * 6);
        assert!(facts.iter().all(|fact| !fact.is_right));
    }
}
