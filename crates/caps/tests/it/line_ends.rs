//! Edits of files with CRLF, byte order marks and other characters that are easily overlooked.

use caps::Probe;

use crate::bench::{Bench, outcome, step, texts};

/// Reports of others: `anthropics/claude-code#28831`, `earendil-works/pi#355`, `QwenLM/qwen-code#2474`,
/// `devoxx/DevoxxGenieIDEAPlugin#1145`.
#[test]
fn changes_keep_the_line_ends_and_the_mark_of_a_file() {
    for (method, before, args, after) in [
        ("edit", "line1\r\nline2\r\n", &["line1\nline2\n", "a\nb\n"][..], "a\r\nb\r\n"),
        ("edit", "line1\r\nline2\r\nx\r\n", &["line2", "a\nb"], "line1\r\na\r\nb\r\nx\r\n"),
        ("edit", "a\r\nb\r\n", &["a\r\nb", "c\r\nd"], "c\r\nd\r\n"),
        ("edit", "a\nb\n", &["a\r\nb", "c\r\nd"], "c\nd\n"),
        ("edit", "a\r\nb\nc\r\n", &["a\nb", "x\ny"], "x\r\ny\nc\r\n"),
        ("edit", "a\r\nb\r\na\r\nb\r\n", &["a\nb\n", "c\n", "all"], "c\r\nc\r\n"),
        ("edit", "\u{feff}a\r\nb\r\n", &["a\nb", "c"], "\u{feff}c\r\n"),
        ("edit", "\u{feff}a\nb\n", &["\u{feff}a", "\u{feff}c"], "\u{feff}c\nb\n"),
        ("edit", "a\nb\n", &["\u{feff}a\n", "\u{feff}c\n"], "c\nb\n"),
        ("append", "a\r\n", &["b\nc\n"], "a\r\nb\r\nc\r\n"),
        ("append", "\u{feff}a\r\n", &["b\r\n"], "\u{feff}a\r\nb\r\n"),
        ("append", "a\nb\r\n", &["c\n"], "a\nb\r\nc\n"),
        ("append", "", &["a\r\n"], "a\r\n"),
    ] {
        let what = format!("{method} {before:?} {args:?}");
        let bench = Bench::dir().with(&[("f.txt", before)]);
        let mut given = texts(&["f.txt"]);
        given.extend(args.iter().map(|arg| match *arg {
            "all" => kernel::proposal::Value::Bool(true),
            arg => arg.into(),
        }));
        let facts = bench.open().facts(method, &given);
        let begun = |again| bench.begun(step(9), method, &given, facts.pins.clone(), again);
        assert_eq!(bench.open().probe(&begun(true)), Probe::NotDone, "{what}");
        outcome(&bench.open().perform(&begun(false))).unwrap_or_else(|rule| panic!("{what}: {rule}"));
        assert_eq!(bench.text("f.txt"), after, "{what}");
        assert!(matches!(bench.open().probe(&begun(true)), Probe::Done { .. }), "{what}");
        if method == "append" {
            assert_eq!(facts.bytes, Some((after.len() - before.len()) as u64), "{what}");
        }
    }
}

#[test]
fn edit_that_misses_by_a_blank_says_so() {
    for (before, old, words) in [
        ("a\n\tb\n", "a\n    b\n", "but for the kind or number of blanks"),
        ("a  \nb\n", "a\nb\n", "but for the blanks at the ends of lines: line 1 is \"a  \""),
        ("x\u{a0}y", "x y", r#"line 1 is "x\u00a0y""#),
        ("cafe\u{301}", "café", "but for the Unicode form"),
        ("say \u{201c}no\u{201d}", "say \"no\"", "dashes or quotation marks"),
    ] {
        let bench = Bench::dir().with(&[("f.txt", before)]);
        let problem = bench.open().facts("edit", &texts(&["f.txt", old, "new"])).problems.remove(0);
        assert_eq!(problem.rule, "edit/not-found", "{before:?}");
        assert!(problem.message.contains(words), "{before:?}: {}", problem.message);
    }
    // Twice with different line ends is still twice, and nothing to change is nothing to change.
    for (before, old, new, rule) in [
        ("a\nb\na\r\nb\n", "a\r\nb\r\n", "c", "edit/ambiguous"),
        ("a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n", "edit/same"),
    ] {
        let bench = Bench::dir().with(&[("f.txt", before)]);
        let found = bench.open().facts("edit", &texts(&["f.txt", old, new])).problems.remove(0);
        // The first text stands there twice if line ends do not count, and once if they do.
        assert_eq!(found.rule, rule, "{before:?}");
    }
}

#[test]
fn utf_16_file_takes_no_utf_8_text() {
    let bench = Bench::dir();
    let whole = b"\xff\xfea\0\r\0\n\0";
    std::fs::write(bench.root().join("f.txt"), whole).unwrap();
    assert_eq!(outcome(&bench.call("append", &["f.txt", "b"]).1), Err("dir/not-utf8".to_owned()));
    assert_eq!(std::fs::read(bench.root().join("f.txt")).unwrap(), whole);
}
