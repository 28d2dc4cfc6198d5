//! Tests that secrets are found in each spelling, and that other text passes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kernel::Value;
use policy::Secrets;
use policy::secrets::HitKind;
use serde_json::Value as Json;

const FOUND: &str = include_str!("../data/secrets/found.ndjson");
const BENIGN: &str = include_str!("../data/secrets/benign.txt");

/// Pseudo-random numbers: the same ones each time.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn string(&mut self, set: &str, count: usize) -> String {
        let set = set.as_bytes();
        (0..count).map(|_| set[(self.next() % set.len() as u64) as usize] as char).collect()
    }
}

const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";
const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Replaces the patterns in braces with random characters: no key that could be a real one lies in this repository.
fn drawn(text: &str, draw: &mut Draw) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let set = after.split_once('}').and_then(|(hole, rest)| {
            let (set, count) = hole.split_once(':')?;
            let set = match set {
                "alnum" => ALNUM.to_owned(),
                "word" => format!("{ALNUM}_-"),
                "hex" => HEX.to_owned(),
                "digit" => DIGITS.to_owned(),
                "upper" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".to_owned(),
                "bech" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
                _ => return None,
            };
            Some((set, count.parse().ok()?, rest))
        });
        out.push_str(before);
        match set {
            Some((set, count, left)) => {
                out.push_str(&draw.string(&set, count));
                rest = left;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out + rest
}

fn rows() -> (Vec<(String, String)>, Vec<Json>) {
    let lines = FOUND.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let (values, rows): (Vec<Json>, Vec<Json>) = lines.partition(|line| line["value"].is_string());
    let text = |json: &Json| json.as_str().unwrap().to_owned();
    (values.iter().map(|row| (text(&row["name"]), text(&row["value"]))).collect(), rows)
}

fn vault() -> Secrets {
    let (values, _) = rows();
    Secrets::new(values.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

#[test]
fn every_secret_of_the_corpus_is_found_in_each_spelling() {
    let (secrets, (_, rows)) = (vault(), rows());
    assert!(rows.len() >= 150, "{} rows", rows.len());
    let mut draw = Draw(1);
    let mut missed = Vec::new();
    for row in &rows {
        let how = row["how"].as_str().unwrap();
        let args: Vec<Value> = row["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|arg| {
                let text = arg.as_str().unwrap();
                Value::from(if how.starts_with("shape") { drawn(text, &mut draw) } else { text.to_owned() })
            })
            .collect();
        let what = row["what"].as_str().unwrap();
        let seen = secrets.inspect(args.iter().map(|value| ("x", value)));
        let is_it = |found: &HitKind| match found {
            HitKind::Value(name) => name == what,
            HitKind::Shape(name) => *name == what,
            HitKind::StandIn(_) | HitKind::Unsearched => false,
        };
        if !seen.iter().any(|sighting| is_it(&sighting.kind)) {
            missed.push(format!("{what}, {how}: {args:?}"));
        }
        // The control: without the vault, the values are words like others.
        if !how.starts_with("shape") {
            let without = Secrets::default().inspect(args.iter().map(|value| ("x", value)));
            assert_eq!(without, [], "{what}, {how}");
        }
    }
    assert!(missed.is_empty(), "{} of {} missed:\n{}", missed.len(), rows.len(), missed.join("\n"));
}

#[test]
fn public_text_is_not_reported_as_secret() {
    let secrets = vault();
    let mut draw = Draw(2);
    let mut texts: Vec<String> = BENIGN.lines().map(str::to_owned).collect();
    for _ in 0..2000 {
        texts.push(format!("GIT_SHA={}", draw.string(HEX, 40)));
        texts.push(format!("token={}", draw.string(HEX, 64)));
        let uuid = [8, 4, 4, 4, 12].map(|count| draw.string(HEX, count)).join("-");
        texts.push(format!("id: {uuid}"));
        texts.push(format!("id={}", draw.string(DIGITS, 18)));
        texts.push(format!("key_{}", draw.string(ALNUM, 24)));
    }
    for _ in 0..200 {
        let bytes = 4 * (50 + draw.next() as usize % 2000);
        texts.push(format!("data:image/png;base64,{}", draw.string(&format!("{ALNUM}+/"), bytes)));
        texts.push(format!("https://cdn.example/{}.js", draw.string(&format!("{ALNUM}_-"), bytes / 20)));
    }
    let found: Vec<String> = texts
        .iter()
        .flat_map(|text| secrets.scan(text).into_iter().map(move |hit| format!("{hit:?} in {text:.80}")))
        .collect();
    assert!(found.is_empty(), "{} of {} texts:\n{}", found.len(), texts.len(), found.join("\n"));
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&path, found),
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
}

/// The packages are those that the tests install anyway: JavaScript by many people, with everything that they put into
/// it.
#[test]
fn public_packages_yield_almost_no_false_positives() {
    let mut paths = Vec::new();
    files(&crate::tools().join("node_modules"), &mut paths);
    paths.sort();
    assert!(paths.len() > 100, "the npm packages are not installed: `cargo xtask tools` installs them");
    let secrets = vault();
    let mut hits: BTreeMap<String, usize> = BTreeMap::new();
    let (mut count, mut bytes) = (0, 0);
    for path in &paths {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        count += 1;
        bytes += text.len();
        for hit in secrets.scan(&text) {
            *hits.entry(format!("{:?} in {}", hit.kind, path.display())).or_default() += 1;
        }
    }
    println!("{count} files, {} KiB, {} taken for secrets", bytes >> 10, hits.len());
    // One in a thousand files may need a person's look.
    assert!(hits.len() <= count / 1000, "{hits:#?}");
}
