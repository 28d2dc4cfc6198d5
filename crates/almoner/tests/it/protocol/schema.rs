//! A published schema as a judge of frames.

use std::collections::BTreeMap;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value as Json, json};

/// The published schema of one version.
pub(super) struct Schema {
    pub(super) json: Json,
    validators: BTreeMap<&'static str, Validator>,
    responses: BTreeMap<String, Vec<String>>,
}

impl Schema {
    pub(super) fn read(version: u32) -> Schema {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol");
        let text = std::fs::read_to_string(docs.join(format!("{version}.schema.json"))).unwrap();
        let json: Json = serde_json::from_str(&text).unwrap();
        let validator = |frame: &'static str| {
            let part = json!({ "$ref": format!("#/$defs/{frame}"), "$defs": json["$defs"] });
            (frame, jsonschema::validator_for(&part).unwrap())
        };
        let validators = ["Hello", "Request", "Response"].map(validator).into();
        let mut responses = BTreeMap::new();
        for (definition, tag) in [("Request", "request"), ("Look", "look"), ("AgentAct", "do")] {
            for variant in json["$defs"][definition]["oneOf"].as_array().unwrap() {
                let name = variant["properties"][tag]["const"].as_str().unwrap();
                let tags = variant["x-responses"].as_array().unwrap();
                let tags = tags.iter().map(|tag| tag.as_str().unwrap().to_owned()).collect();
                responses.insert(format!("{tag} {name}"), tags);
            }
        }
        Schema { json, validators, responses }
    }

    /// Returns whether a frame is valid.
    pub(super) fn accepts(&self, definition: &str, frame: &Json) -> bool {
        self.validators[definition].is_valid(frame)
    }

    #[track_caller]
    fn check(&self, definition: &str, frame: &Json) {
        let errors: Vec<String> =
            self.validators[definition].iter_errors(frame).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{definition}: {errors:?} in {frame}");
    }

    /// Returns the tags of the responses that may answer a request.
    fn responses_to(&self, request: &Json) -> &[String] {
        let key = match request["request"].as_str().unwrap() {
            "look" => format!("look {}", request["look"]["look"].as_str().unwrap()),
            "act" => format!("do {}", request["act"]["do"].as_str().unwrap()),
            other => format!("request {other}"),
        };
        &self.responses[&key]
    }

    /// Checks one request and one response to it.
    #[track_caller]
    pub(super) fn check_exchange(&self, request: &Json, response: &Json) {
        self.check("Response", response);
        let tag = response["response"].as_str().unwrap();
        let expected = self.responses_to(request);
        let is_expected = expected.iter().any(|one| one == tag) || tag == "failed" || tag == "warning";
        assert!(is_expected, "{request} was answered with {tag}, and not with one of {expected:?}");
    }

    /// Checks all frames of one connection.
    #[track_caller]
    pub(super) fn check_conversation(&self, frames: &[Json]) {
        let mut asked: Option<&Json> = None;
        for frame in frames {
            match (frame.get("request").is_some(), frame.get("response").is_some()) {
                (true, _) => {
                    self.check("Request", frame);
                    asked = Some(frame);
                }
                (_, true) => match asked {
                    Some(request) => self.check_exchange(request, frame),
                    None => self.check("Response", frame),
                },
                _ => self.check("Hello", frame),
            }
        }
    }
}
