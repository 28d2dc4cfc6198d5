//! No string that a caller can think of, and no link that somebody moves meanwhile, leads out.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use crate::bench::{Bench, CANARY, outcome, step, texts};

fn bench() -> Bench {
    Bench::dir().with(&[("a.md", "inside"), ("sub/b.md", "inside"), ("canary.md", "inside")]).linked(&[
        ("out", "../outside"),
        ("up", ".."),
        ("out.md", "../outside/canary.md"),
        ("abs", "/"),
        ("in", "sub"),
    ])
}

/// Makes paths from the pieces of escapes, and from arbitrary characters.
fn path() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "..", ".", "/", "//", "\\", "%2e", "%2f", "%5c", "%252e", "%c0%ae", "．", "∕", "\u{200b}", "\0", "~", " ",
            "out", "up", "abs", "in", "sub", "a.md", "out.md", "canary.md", "outside", "root", "tmp", "proc/self/root",
            "proc/self/cwd", ".almoner-r17-9.tmp", "C:", "file:", "\u{202e}",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[a-z]{1,3}",
    ];
    (prop::collection::vec(piece, 1..8), prop::sample::select(vec!["", "/"]))
        .prop_map(|(pieces, separator)| pieces.join(separator))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_paths_never_lead_out(path in path()) {
        let bench = bench();
        let before = bench.others();
        for (method, args) in [
            ("list", vec![&*path]),
            ("read", vec![&path]),
            ("stat", vec![&path]),
            ("glob", vec![&path]),
            ("grep", vec!["canary", &path]),
            ("grep", vec!["canary", ".", &path]),
            ("grep", vec![&path]),
            ("write", vec![&path, "overwritten"]),
            ("append", vec![&path, "appended"]),
            ("edit", vec![&path, "inside", "edited"]),
            ("make_directory", vec![&path]),
            ("move", vec!["sub/b.md", &path]),
            ("move", vec![&path, "moved.md"]),
            ("remove", vec![&path]),
        ] {
            let (facts, completion) = bench.call(method, &args);
            let outcome = outcome(&completion);
            // A problem before the call is also one at the call. The reverse holds unless the content is the problem.
            prop_assert!(facts.problems.is_empty() || outcome.is_err(), "{} {:?} {:?}", method, path, facts);
            if let Ok(text) = outcome {
                prop_assert!(!text.contains(CANARY), "{} {:?}", method, path);
                let shows_names = ["list", "read", "glob"].contains(&method);
                prop_assert!(!shows_names || !text.contains("outside"), "{} {:?} showed what lies outside", method, path);
            }
        }
        prop_assert_eq!(bench.others(), before, "{:?}", path);
    }
}

#[test]
fn swapped_directory_never_leads_out() {
    let bench = Bench::dir().with(&[("real/canary.md", "inside")]).linked(&[("link", "../outside")]);
    let before = bench.others();
    let is_over = AtomicBool::new(false);
    let mut outcomes = std::collections::BTreeSet::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let directory = fs::File::open(bench.root()).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(&directory, "real", &directory, "link", flags).unwrap();
            }
        });
        let capability = bench.open();
        for round in 0..20_000u32 {
            // Until both the directory and the link were met, and some more.
            if round > 500 && outcomes.len() > 1 {
                break;
            }
            let content = round.to_string();
            let args = texts(&["real/canary.md", &content]);
            let pins = capability.facts("write", &args).pins;
            let written = capability.perform(&bench.begun(step(9), "write", &args, pins, false));
            outcomes.insert(outcome(&written).map(drop));
            let read = bench.begun(step(9), "read", &texts(&["real/canary.md"]), Default::default(), false);
            if let Ok(text) = outcome(&capability.perform(&read)) {
                assert_ne!(text, CANARY);
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(bench.others(), before, "{outcomes:?}");
}
