//! Requests that a generator makes from the published schema.

use serde_json::{Map, Value as Json, json};

use super::schema::Schema;
use crate::test_home::TestHome;
use crate::wire::{self, Control};

/// Requests that end the daemon or the conversation, or that write to a path outside the store.
const LEFT_OUT: [&str; 5] = ["stop", "replace", "follow", "backup", "save"];

/// How deep objects and lists are nested, before the generator takes the smallest values.
const MAX_DEPTH: usize = 12;

/// Asks the daemon that many valid requests over one connection.
pub(super) fn ask_generated(home: &TestHome, seed: u64, rounds: usize) {
    let schema = Schema::read(wire::VERSION);
    let mut control = Control::open(home);
    let mut generator = Generator { schema: &schema.json, random: Random(seed) };
    let variants: Vec<Json> = schema.json["$defs"]["Request"]["oneOf"].as_array().unwrap().clone();
    let variants: Vec<Json> = variants
        .into_iter()
        .filter(|one| !LEFT_OUT.contains(&one["properties"]["request"]["const"].as_str().unwrap()))
        .collect();
    for round in 0..rounds {
        let request = generator.make(&variants[round % variants.len()], 0);
        assert!(schema.accepts("Request", &request), "the generator made {request}");
        let answer = control.ask(&request);
        assert_ne!(answer, json!(wire::CLOSED), "{request}");
        schema.check_exchange(&request, &answer);
        let problem = answer["body"]["problem"]["problem"].as_str();
        assert!(matches!(problem, None | Some("wrong_field")), "{request} was answered with {answer}");
        // The same with a field that nobody knows. An empty value is no excuse.
        if problem.is_none() {
            let mut broken = request.clone();
            let place = generator.object_in(&mut broken);
            let value = generator
                .random
                .pick(&[json!(null), json!(true), json!("x"), json!([]), json!({"a": 1})])
                .clone();
            place.insert("no_such_field".to_owned(), value);
            if !schema.accepts("Request", &broken) {
                let answer = control.ask(&broken);
                let problem = answer["body"]["problem"]["problem"].as_str();
                // In a map, the name is an entry of the user's, whose value is wrong or lacks a field.
                let is_refused = matches!(problem, Some("unknown_field" | "wrong_field" | "missing_field"));
                assert!(is_refused, "{broken} was answered with {answer}");
            }
        }
    }
}

struct Generator<'a> {
    schema: &'a Json,
    random: Random,
}

impl Generator<'_> {
    /// Returns a value that is valid by a schema.
    fn make(&mut self, schema: &Json, depth: usize) -> Json {
        let Some(fields) = schema.as_object() else { return self.any(depth) };
        if let Some(name) = fields.get("$ref").and_then(Json::as_str) {
            let name = name.strip_prefix("#/$defs/").unwrap();
            let target = self.schema["$defs"][name].clone();
            return self.make(&target, depth + 1);
        }
        if let Some(value) = fields.get("const") {
            return value.clone();
        }
        if let Some(values) = fields.get("enum").and_then(Json::as_array) {
            return self.random.pick(values).clone();
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(variants) = fields.get(key).and_then(Json::as_array) {
                let at =
                    if depth > MAX_DEPTH { flattest(variants) } else { self.random.below(variants.len()) };
                return self.make(&variants[at].clone(), depth + 1);
            }
        }
        let kind = match &schema["type"] {
            Json::Array(kinds) => self.random.pick(kinds).as_str().unwrap().to_owned(),
            Json::String(kind) => kind.clone(),
            _ => return self.any(depth),
        };
        match kind.as_str() {
            "null" => Json::Null,
            "boolean" => json!(self.random.below(2) == 0),
            "integer" => self.integer(schema),
            "number" => json!(self.random.pick(&[0.0, -1.5, 1e300])),
            "string" => json!(self.text(schema)),
            "array" => self.list(schema, depth),
            "object" => self.object(schema, depth),
            other => panic!("{other}"),
        }
    }

    fn any(&mut self, depth: usize) -> Json {
        match self.random.below(if depth > MAX_DEPTH { 3 } else { 5 }) {
            0 => Json::Null,
            1 => json!(self.random.below(9)),
            2 => json!("x"),
            3 => json!([self.any(depth + 1)]),
            _ => json!({ "a": self.any(depth + 1) }),
        }
    }

    fn integer(&mut self, schema: &Json) -> Json {
        let edges = [&schema["minimum"], &schema["maximum"]];
        match self.random.below(6) {
            0 if edges[0].is_number() => edges[0].clone(),
            1 if edges[1].is_number() => edges[1].clone(),
            _ => json!(self.random.below(4)),
        }
    }

    fn text(&mut self, schema: &Json) -> String {
        let digits = |random: &mut Random| (0..64).map(|_| random.pick(&['0', 'a', 'f'])).collect::<String>();
        match schema["pattern"].as_str() {
            None | Some("^[^/\\u0000]+$") => {
                let words = ["x", "r1", "7", "@self", "ünï", "\u{202e}\u{7}", "---\n---\nx", "a b"];
                (*self.random.pick(&words)).to_owned()
            }
            Some("^#") => {
                (*self.random.pick(&["#1", "#\"+5\"", "#[", "#{\"#tag\":\"match:any\",\"payload\":0}"]))
                    .to_owned()
            }
            Some("^[0-9a-f]{64}$") => digits(&mut self.random),
            Some("^[0-9a-f]{64}:[0-9a-f]{64}$") => {
                format!("{}:{}", digits(&mut self.random), digits(&mut self.random))
            }
            Some(pattern) if pattern.contains("://") => "https://127.0.0.1:9".to_owned(),
            Some(pattern) => panic!("say here how a text by {pattern} looks"),
        }
    }

    fn list(&mut self, schema: &Json, depth: usize) -> Json {
        if let Some(items) = schema["prefixItems"].as_array() {
            return items.clone().iter().map(|item| self.make(item, depth + 1)).collect();
        }
        let least = schema["minItems"].as_u64().map_or(0, |least| usize::try_from(least).unwrap());
        let more = if depth > MAX_DEPTH { 0 } else { self.random.below(3) };
        let mut items: Vec<Json> =
            (0..least + more).map(|_| self.make(&schema["items"].clone(), depth + 1)).collect();
        if schema["uniqueItems"] == true {
            items.dedup();
            items.truncate(1.max(least));
        }
        Json::Array(items)
    }

    fn object(&mut self, schema: &Json, depth: usize) -> Json {
        let mut object = Map::new();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = required.iter().any(|one| one == name);
            if is_required || depth <= MAX_DEPTH && self.random.below(2) == 0 {
                object.insert(name.clone(), self.make(field, depth + 1));
            }
        }
        if schema["additionalProperties"].is_object() && depth <= MAX_DEPTH && self.random.below(2) == 0 {
            object.insert("a".to_owned(), self.make(&schema["additionalProperties"].clone(), depth + 1));
        }
        if let Some(patterns) = schema["patternProperties"].as_object() {
            for field in patterns.values() {
                object.insert("1".to_owned(), self.make(field, depth + 1));
            }
        }
        Json::Object(object)
    }

    /// Returns an object in a request: the request itself, or one of the objects within it.
    fn object_in<'b>(&mut self, request: &'b mut Json) -> &'b mut Map<String, Json> {
        let mut place = request;
        loop {
            let inner: Vec<String> = place
                .as_object()
                .unwrap()
                .iter()
                .filter(|(_, value)| value.is_object())
                .map(|(name, _)| name.clone())
                .collect();
            if inner.is_empty() || self.random.below(2) == 0 {
                return place.as_object_mut().unwrap();
            }
            let name = self.random.pick(&inner).clone();
            place = place.get_mut(&name).unwrap();
        }
    }
}

/// Returns the index of the schema that refers to the fewest others, which ends the recursion.
fn flattest(schemas: &[Json]) -> usize {
    let size = |schema: &Json| {
        let text = schema.to_string();
        (text.matches("$ref").count(), text.len())
    };
    schemas.iter().enumerate().min_by_key(|(_, schema)| size(schema)).map_or(0, |(at, _)| at)
}

/// A generator of numbers that gives the same ones for the same seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    fn pick<'b, T>(&mut self, all: &'b [T]) -> &'b T {
        &all[self.below(all.len())]
    }
}
