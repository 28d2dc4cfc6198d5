//! Every matcher with all its projections side by side.

use passable::{Comparison, Elicitation, NoRef, Pattern, Refinement, Value};

fn rows() -> Vec<(&'static str, Pattern)> {
    let parse = |text: &str| Pattern::<NoRef>::parse(text).unwrap();
    let mut rows: Vec<(&'static str, Pattern)> = [
        "M.any()",
        "M.string()",
        "M.string({ stringLengthLimit: 200 })",
        "M.number()",
        "M.and(M.number(), M.gte(0), M.lt(10.5))",
        "M.and(M.number(), M.refine(\"integer\"), M.gte(1), M.lte(5))",
        "M.nat()",
        "M.bigint({ decimalDigitsLimit: 3 })",
        "M.boolean()",
        "M.null()",
        "null",
        "M.undefined()",
        "M.opt(M.string())",
        "M.or(\"pass\", \"maybe\", \"fail\")",
        "M.or(1, true, null)",
        "M.or(M.string(), M.number())",
        "M.or(M.string(), M.bigint())",
        "M.and(M.string(), M.not(\"\"))",
        "M.not(M.string())",
        "M.eq(\"exactly this\")",
        "M.eq(7)",
        "M.neq(7)",
        "M.lt(3)",
        "M.lte(\"m\")",
        "M.gte(5n)",
        "M.gt([1, 2])",
        "M.scalar()",
        "M.key()",
        "M.pattern()",
        "M.kind(\"copySet\")",
        "M.symbol()",
        "M.byteArray({ byteLengthLimit: 10 })",
        "M.error()",
        "M.remotable()",
        "M.remotable(\"dir rw\")",
        "M.promise()",
        "M.promise(\"an answer\")",
        "M.eref(M.string())",
        "M.array()",
        "M.arrayOf(M.string(), { arrayLengthLimit: 3 })",
        "M.arrayOf(M.or(\"red\", \"green\"))",
        "M.set()",
        "M.setOf(M.string())",
        "M.bag()",
        "M.bagOf(M.string(), M.lte(9n))",
        "M.record()",
        "M.recordOf(M.string({ stringLengthLimit: 3 }), M.number())",
        "M.map()",
        "M.mapOf(M.string(), M.remotable(\"file\"))",
        "{ a: M.string(), b: { c: M.number() } }",
        "{ a: 1 }",
        "[M.string(), M.number()]",
        "M.splitRecord({ name: M.string() }, { age: M.nat() })",
        "M.splitRecord({ name: M.string() }, { age: M.number() }, {})",
        "M.splitRecord({}, {}, M.recordOf(M.string(), M.number()))",
        "M.splitArray([M.string()], [M.number()], M.arrayOf(M.boolean()))",
        "M.split({ a: M.string() }, {})",
        "M.partial({ a: M.string() })",
        "M.containerHas(M.string(), 2n)",
        "M.tagged(\"color\", M.string())",
        "makeCopyMap([[\"k\", M.number()]])",
    ]
    .map(|text| (text, parse(text)))
    .to_vec();
    for refinement in [
        Refinement::Date,
        Refinement::DateTime,
        Refinement::Email,
        Refinement::Uri,
        Refinement::Secret,
        Refinement::Multiline,
    ] {
        rows.push((refinement.name(), Pattern::and([Pattern::string(), Pattern::refine(refinement)])));
    }
    rows
}

/// Returns JSON with its keys in order, whether or not another crate of the build makes objects keep theirs.
fn sorted(json: &serde_json::Value) -> serde_json::Value {
    match json {
        serde_json::Value::Object(fields) => {
            let mut names: Vec<_> = fields.keys().collect();
            names.sort();
            names.into_iter().map(|name| (name.clone(), sorted(&fields[name]))).collect()
        }
        serde_json::Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[test]
fn every_matcher_has_every_projection() {
    let mut shown = String::new();
    for (source, pattern) in rows() {
        let elicitation = match pattern.to_elicitation() {
            Elicitation::Form(schema) => format!("form {}", sorted(&schema)),
            Elicitation::Page(reason) => format!("page, because {reason}"),
        };
        let refusal = pattern.check(&Value::tagged("odd", Value::Null));
        let check = refusal.map_or_else(|mismatch| mismatch.to_string(), |()| "matches".to_owned());
        shown.push_str(&format!(
            "{source}\n  text:     {}\n  describe: {}\n  check:    {check}\n  schema:   {}\n  controls: {}\n  elicit:   {elicitation}\n\n",
            pattern.to_text(),
            pattern.describe(),
            sorted(&pattern.to_json_schema()),
            serde_json::to_string(&pattern.controls()).unwrap(),
        ));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn comparison_with_non_key_is_refused() {
    assert!(Pattern::<NoRef>::compare(Comparison::Lt, Value::error("Error", "x")).is_err());
}

#[test]
fn elicitation_answers_are_read_back() {
    let pattern = Pattern::<NoRef>::parse(
        "{ who: { name: M.string(), tags: M.arrayOf(M.string()) }, n: M.or(1, 2), any: M.opt(M.array()), k: 7 }",
    )
    .unwrap();
    let answer = serde_json::json!({ "who.name": "Ada", "who.tags": "a\nb", "n": "1", "any": "[1,null]" });
    let value = pattern.read_elicitation(&answer).unwrap();
    let expected = Value::parse(r#"{ who: { name: "Ada", tags: ["a", "b"] }, n: 2, any: [1, null], k: 7 }"#);
    assert_eq!(value, expected.unwrap());
    let wrong = pattern.read_elicitation(&serde_json::json!({ "who.name": "Ada", "who.tags": "", "n": "9" }));
    assert_eq!(wrong.unwrap_err().teach(), "`n`: expected one of 1 or 2, found the text \"9\"");
}
