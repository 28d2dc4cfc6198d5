//! The published schema of the control protocol: it follows from the types, and the published validator agrees with
//! serde about values of both.

use std::path::{Path, PathBuf};

use control::protocol::VERSION;
use control::schema::protocol_schema;
use kernel::{FormulaId, NamePath, Number, Value};
use passable::Untrusted;
use resource::BlobHash;
use resource::web::Origin;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use vault::Secret;

use crate::schemas::accepts;

/// Names the variable with which a test writes the file instead of comparing it. `cargo xtask schema` sets it.
const WRITE: &str = "ALMONER_WRITE_SCHEMA";

fn file_of(version: u32) -> PathBuf {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol");
    docs.join(format!("{version}.schema.json"))
}

fn published(version: u32) -> Json {
    let file = file_of(version);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn published_schema_equals_types() {
    let schema = protocol_schema(VERSION).unwrap();
    let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    let file = file_of(VERSION);
    if std::env::var_os(WRITE).is_some() {
        return std::fs::write(&file, text).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = text.lines().zip(found.lines()).position(|(ours, theirs)| ours != theirs);
    assert!(
        text == found,
        "{} differs from the types, first in line {}: `cargo xtask schema` writes it",
        file.display(),
        differs.map_or(text.lines().count().min(found.lines().count()), |line| line) + 1,
    );
}

/// The hash of the schema of each version that clients in use may speak. Such a schema does not change.
const FROZEN: [(u32, &str); 1] = [(16, "661e033bb404ade0575497cdba3ffe3d82aafda09933fcd5775b0553ba63bab3")];

#[test]
fn schema_of_version_in_use_never_changes() {
    for (version, hash) in FROZEN {
        let bytes = std::fs::read(file_of(version)).unwrap();
        assert_eq!(
            BlobHash::of(&bytes).to_string(),
            hash,
            "raise VERSION instead of changing version {version}"
        );
    }
}

#[test]
fn published_schemas_are_valid_against_the_metaschema() {
    for version in VERSION - 1..=VERSION {
        let schema = published(version);
        assert!(jsonschema::meta::is_valid(&schema), "{version}");
        assert_eq!(schema["x-protocol-version"], version);
        // Schemars counts types of the same name. Such a name says nothing.
        let names = schema["$defs"].as_object().unwrap().keys();
        let counted: Vec<&String> =
            names.filter(|name| name.ends_with(|c: char| c.is_ascii_digit())).collect();
        assert!(counted.is_empty(), "{version}: rename {counted:?} with `schemars(rename = …)`");
    }
}

/// Checks that schema and serde accept the same texts of a type, and that what serde writes is valid.
#[track_caller]
fn check<T: JsonSchema + Serialize + DeserializeOwned>(valid: &[Json], invalid: &[Json]) {
    let schema = schemars::schema_for!(T).to_value();
    for json in valid {
        let value: T = serde_json::from_value(json.clone()).unwrap_or_else(|e| panic!("{e}: {json}"));
        assert!(accepts(&schema, json), "{json}");
        assert!(accepts(&schema, &serde_json::to_value(&value).unwrap()), "{json}");
    }
    for json in invalid {
        assert!(serde_json::from_value::<T>(json.clone()).is_err(), "{json}");
        assert!(!accepts(&schema, json), "{json}");
    }
}

#[test]
fn written_schemas_agree_with_serde() {
    let hash = "0f".repeat(32);
    let upper = "0F".repeat(32);
    let short = "0f".repeat(31);
    check::<BlobHash>(
        &[json!(hash)],
        &[json!(upper), json!(short), json!(1), json!(null), json!(format!("{hash}0"))],
    );
    check::<Number>(&[json!(hash)], &[json!(upper), json!(short), json!([hash])]);
    let id = format!("{hash}:{hash}");
    check::<FormulaId>(
        &[json!(id)],
        &[json!(hash), json!(format!("{hash}:{upper}")), json!(format!(" {id}"))],
    );
    check::<NamePath>(
        &[json!(["a"]), json!(["bob", "@from", "ünï"]), json!(vec!["a"; 64])],
        &[
            json!([]),
            json!("a"),
            json!([""]),
            json!(["a/b"]),
            json!(["a\0"]),
            json!(vec!["a"; 65]),
            json!([1]),
        ],
    );
    check::<Origin>(
        &[json!("https://a.example"), json!("HTTP://A.example:80"), json!("http://[::1]:8080")],
        &[json!("ftp://a.example"), json!("a.example"), json!(1)],
    );
    check::<Untrusted>(&[json!(""), json!("\u{202e}x")], &[json!(1), json!(null)]);
    check::<Secret>(&[json!(""), json!("x")], &[json!(1), json!(null)]);
    check::<Value>(
        &[
            json!({ "body": "#{\"a\":[1,\"+5\"]}", "slots": [] }),
            json!({ "body": "#\"$0.Alleged: x\"", "slots": [id] }),
        ],
        &[
            json!({ "body": "1", "slots": [] }),
            json!({ "body": "#1" }),
            json!({ "body": "#1", "slots": ["x"] }),
            json!(1),
        ],
    );
    check::<passable::Value>(
        &[json!({ "body": "#1", "slots": [] })],
        &[json!({ "body": "#1", "slots": [id] })],
    );
    check::<passable::Pattern>(
        &[json!({ "body": "#{\"#tag\":\"match:any\",\"payload\":\"#undefined\"}", "slots": [] })],
        &[json!({ "body": "1", "slots": [] }), json!("M.any()")],
    );
}
