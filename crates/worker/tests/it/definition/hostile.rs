//! Files that were written to hang, to fill memory or to crash.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};
use worker::definition::{Bundle, RenderError, parse, render_prompt};

use super::{bundle, problems};

/// The time limit of one case. It is generous, since the tests share their machine; a hang would last for ever.
const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn hostile_templates_are_refused_or_bounded() {
    let data = json!({ "input": {
        "text": "x".repeat(1 << 20), "list": vec![0; 100_000], "rows": vec![json!({ "a": "y".repeat(1000) }); 1000],
    } });
    let nested = |open: &str, close: &str, n: usize| format!("{}{}", open.repeat(n), close.repeat(n));
    let many = |part: &str, n: usize| part.repeat(n);
    let bodies = [
        ("dots", format!("{{{{ input{} }}}}", many(".a", 200_000))),
        ("parentheses", format!("{{{{ {} }}}}", nested("(", ")", 100_000))),
        ("minus", format!("{{{{ {}1 }}}}", many("-", 100_000))),
        ("minus apart", format!("{{{{ {}1 }}}}", many("- ", 100_000))),
        ("not", format!("{{% if {}input %}}{{% endif %}}", many("not ", 100_000))),
        ("if in if", nested("{% if input %}", "{% endif %}", 20_000)),
        ("elif", format!("{{% if input %}}{}{{% endif %}}", many("{% elif input %}", 50_000))),
        ("filters", format!("{{{{ input.text{} }}}}", many("|upper", 100_000))),
        ("lists", format!("{{{{ {} }}}}", nested("[", "]", 100_000))),
        ("tags", many("{{ input.text }}", 60_000)),
        ("open", many("{{", 100_000)),
        ("loops", nested("{% for x in input.list %}", "{% endfor %}", 20)),
        ("loop in text", nested("{% for x in input.text %}", "{% endfor %}", 3)),
        ("output", "{% for x in input.list %}{{ input.text }}{% endfor %}".to_owned()),
        ("upper", "{% for x in input.list %}{% if input.text|upper == '' %}{% endif %}{% endfor %}".to_owned()),
        ("json", "{% for x in input.list %}{% if input|tojson == '' %}{% endif %}{% endfor %}".to_owned()),
        ("replace", "{{ input.text|replace('x', 'xxxxxxxxxxxxxxxx')|replace('x', 'xxxxxxxxxxxxxxxx')|replace('x', 'xxxxxxxxxxxxxxxx') }}".to_owned()),
        ("join", "{{ input.list|join('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')|replace('x', 'yyyyyyyyyyyyyy') }}".to_owned()),
        ("containing", "{% for x in input.list %}{% if input.text is containing('xy') %}{% endif %}{% endfor %}".to_owned()),
        ("list contains", "{% for x in input.list %}{% if input.list is containing(1) %}{% endif %}{% endfor %}".to_owned()),
        ("compare", "{% for x in input.list %}{% if input.rows == 'x' or input.text < 'xxxxxxxxxx' %}{% endif %}{% endfor %}".to_owned()),
        ("item", "{% for x in input.list %}{% if input.text[-1] == 'y' or input.list[99999] == 1 %}{% endif %}{% endfor %}".to_owned()),
        ("table", "{% for x in input.list %}{{ input.rows|table('a', 'a', 'a', 'a') }}{% endfor %}".to_owned()),
    ];
    for (name, body) in bodies {
        let start = Instant::now();
        let bundle = Bundle::of("test", body);
        let (definition, diagnostics) = parse(&bundle);
        let outcome = match &definition {
            None => diagnostics[0].code.to_owned(),
            Some(definition) => match render_prompt(definition, &bundle, &data) {
                Ok(text) => format!("{} bytes", text.len()),
                Err(error) => error.to_string(),
            },
        };
        let took = start.elapsed();
        println!("{name}: {outcome} in {took:?}");
        assert!(took < LIMIT, "{name} took {took:?}");
        assert!(!outcome.ends_with("bytes"), "{name}: {outcome}");
    }
    let bundle = Bundle::of("test", "Go.");
    let large = json!({ "input": "x".repeat(5 << 20) });
    let rendered = render_prompt(&parse(&bundle).0.unwrap(), &bundle, &large);
    assert_eq!(rendered, Err(RenderError::TooMuchData));
    let deep = (0..500).fold(Value::Null, |inner, _| json!([inner]));
    assert_eq!(render_prompt(&parse(&bundle).0.unwrap(), &bundle, &deep), Err(RenderError::TooMuchData));
}

#[test]
fn large_files_are_refused() {
    let start = Instant::now();
    let laughs: String = (1..40).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}]\n", n - 1)).collect();
    for (source, expected) in [
        ("x".repeat(10 << 20), "worker/too-large"),
        (format!("---\ndescription: {}\n---\nGo.", "x".repeat(100_000)), "worker/front-matter-long"),
        (format!("---\n{}\n---\nGo.", "- ".repeat(30_000)), "yaml/too-large"),
        (format!("---\n{}\n---\nGo.", "{a: ".repeat(10_000)), "yaml/syntax"),
        (format!("---\n{}\n---\nGo.", "[".repeat(60_000)), "yaml/syntax"),
        (format!("---\na: {}\n---\nGo.", "{[".repeat(120)), "yaml/too-large"),
        (format!("---\na: \"{}\n---\nGo.", "\\u0041 ".repeat(9_000)), "yaml/syntax"),
        (format!("---\n{}\n---\nGo.", "a: |\n".repeat(12_000)), "worker/more"),
        (format!("---\n{}\n---\nGo.", "? ".repeat(30_000)), "yaml/too-large"),
        (format!("---\na: [{}]\n---\nGo.", "x,".repeat(20_000)), "yaml/too-large"),
        (format!("---\na0: &a0 x\n{laughs}\n---\nGo."), "yaml/anchor"),
    ] {
        let (definition, diagnostics) = parse(&bundle(&source, &[]));
        assert!(definition.is_none());
        let codes: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
        assert!(codes.contains(&expected), "{expected}: {codes:?}");
        assert!(codes.len() <= 51);
    }
    // Each file includes the next twice: the 2^30 ways in are counted, not gone.
    let files: Vec<(String, String)> = (0..30)
        .map(|n| (format!("f{n}"), format!("{{% include 'f{0}' %}}{{% include 'f{0}' %}}", n + 1)))
        .chain([("f30".to_owned(), String::new())])
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let (definition, diagnostics) = parse(&bundle("{% include 'f0' %}", &files));
    assert!(definition.is_none() && diagnostics.len() < 10);
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
}

/// Pieces of worker files, so that chance makes things that are nearly right.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "---\n",
        "---\r\n",
        "description: ",
        "input: ",
        "output: ",
        "slots:\n  ",
        "out: dir rw\n",
        "sub: worker\n",
        "then:\n  - facts: sub\n    with: ",
        "write:\n  - each: out\n    path: ",
        "content: ",
        "template: ",
        "approve: ",
        "limits: { turns: 3 }\n",
        "tools: []\n",
        "{{ ",
        " }}",
        "{% if x %}",
        "{% endif %}",
        "{% for x in input %}",
        "{% endfor %}",
        "{% include 'a' %}",
        "input.a",
        "|upper",
        "{",
        "}",
        "[",
        "]",
        ": ",
        "- ",
        "\n",
        "\n  ",
        "'",
        "\"",
        "|\n",
        ">-\n",
        "&a ",
        "*a ",
        "!x ",
        "#",
        ",",
        "?",
        "\t",
        "\u{FEFF}",
        "ż",
        "\0",
        "\u{2028}",
        "%",
        "@",
        "`",
        "<<: ",
        "null",
        "~",
        "1.5e3",
        "\\",
        "\\u0041",
        "...\n",
        "%YAML 1.2\n",
        "{#",
        "#}",
        "{%- ",
        " -%}",
        "{% raw %}",
    ];
    prop_oneof![6 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Checks that no text makes the reader panic, and that every place that it names exists.
    #[test]
    fn parsing_random_text_never_panics(pieces in proptest::collection::vec(piece(), 0..40), front in any::<bool>()) {
        let text = pieces.concat();
        let source = if front { format!("---\n{text}\n---\nGo {{{{ input.a }}}}") } else { text.clone() };
        let bundle = bundle(&source, &[("a", text.as_str())]);
        problems(&bundle);
        if let Some(definition) = parse(&bundle).0 {
            let _ = render_prompt(&definition, &bundle, &json!({ "input": { "a": text } }));
        }
    }
}
