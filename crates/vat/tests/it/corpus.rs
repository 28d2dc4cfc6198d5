//! Attempts to get out, to reach the outside, or to break shared objects; drawn from published advisories.
//!
//! Each is a row in `tests/corpus`: the publisher of the idea, the code, and its result in a vat. A success says
//! `escaped`. Where the attempt allows it, there is a control: the same code succeeds in an unlocked realm of the
//! same engine.

use std::collections::BTreeSet;

use rquickjs::promise::MaybePromise;
use rquickjs::{CatchResultExt, Context, Runtime};
use vat::Limits;

use crate::test_host::{TestHost, real};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Attempt {
    name: String,
    from: String,
    code: String,
    expect: String,
    #[serde(default)]
    control: bool,
}

#[derive(serde::Deserialize)]
struct File {
    attempt: Vec<Attempt>,
}

const FILES: &[(&str, &str)] = &[
    ("border", include_str!("../corpus/border.toml")),
    ("dynamic_code", include_str!("../corpus/dynamic_code.toml")),
    ("engine", include_str!("../corpus/engine.toml")),
    ("outside", include_str!("../corpus/outside.toml")),
    ("prototypes", include_str!("../corpus/prototypes.toml")),
    ("stacks", include_str!("../corpus/stacks.toml")),
];

fn attempts() -> Vec<(String, Attempt)> {
    let read = |(file, text): &(&str, &str)| {
        let File { attempt } = toml::from_str(text).expect(file);
        attempt.into_iter().map(|each| (format!("{file}: {}", each.name), each)).collect::<Vec<_>>()
    };
    FILES.iter().flat_map(read).collect()
}

/// Returns the result of the code in a vat, in one line.
fn in_a_vat(code: &str) -> String {
    let limits = Limits { memory: 32 << 20, fuel: 50_000_000, wall_ms: 60_000, ..Limits::default() };
    let mut world = TestHost::with_clock(limits, real());
    let answer = world.evaluate(code);
    world.answer_line(answer)
}

/// Returns whether the code succeeds in an unlocked realm.
fn unlocked(code: &str) -> bool {
    let runtime = Runtime::new().unwrap();
    runtime.set_max_stack_size(512 << 10);
    let context = Context::full(&runtime).unwrap();
    context.with(|ctx| {
        let result = ctx.eval::<MaybePromise<'_>, _>(code).and_then(|promise| promise.finish::<String>());
        match result.catch(&ctx) {
            Ok(text) => text == "escaped" || text == "survived",
            Err(thrown) => thrown.to_string().contains("escaped"),
        }
    })
}

#[test]
fn escape_attempts_fail_with_the_expected_result() {
    let mut wrong = Vec::new();
    for (name, attempt) in attempts() {
        let told = in_a_vat(&attempt.code);
        if told.contains("escaped") && !attempt.expect.contains("escaped") || told != attempt.expect {
            wrong.push(format!("{name}\n  came to  {told}\n  and not  {}", attempt.expect));
        }
    }
    assert!(wrong.is_empty(), "{} of them\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_expected_result_is_an_escape() {
    for (name, attempt) in attempts() {
        assert_ne!(attempt.expect, "\"escaped\"", "{name}");
        assert!(!attempt.expect.is_empty(), "{name}");
    }
}

#[test]
fn controls_succeed_in_an_unlocked_realm() {
    let controls: Vec<_> = attempts().into_iter().filter(|(_, attempt)| attempt.control).collect();
    assert!(controls.len() >= 80, "{}", controls.len());
    let failed: Vec<_> =
        controls.iter().filter(|(_, each)| !unlocked(&each.code)).map(|(name, _)| name.as_str()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn corpus_is_large_and_cites_its_sources() {
    let all = attempts();
    assert!(all.len() >= 200, "{}", all.len());
    let names: BTreeSet<_> = all.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), all.len());
    let cited = all.iter().filter(|(_, each)| {
        ["CVE-", "GHSA-", "#", "SES", "realms-shim"].iter().any(|mark| each.from.contains(mark))
    });
    assert!(cited.count() >= 180);
    assert!(all.iter().all(|(_, each)| !each.from.is_empty()));
}
