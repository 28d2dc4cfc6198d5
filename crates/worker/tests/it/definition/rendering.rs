use insta::assert_snapshot;
use serde_json::{Value, json};
use worker::definition::{Bundle, RenderError, parse, render_prompt, render_with, render_write};

use super::bundle;

/// Returns the source of a worker with these keys and this body. It has two slots of its own.
fn source(front: &str, body: &str) -> String {
    format!("---\nslots: {{ out: dir rw, sub: worker }}\n{front}\n---\n{body}")
}

fn ready(bundle: &Bundle) -> worker::definition::Definition {
    let (definition, diagnostics) = parse(bundle);
    definition.unwrap_or_else(|| panic!("{diagnostics:#?}"))
}

/// Returns the rendered text of a body, or the error.
fn prompt(body: &str, data: &Value) -> String {
    let bundle = bundle(&source("", body), &[("rules.md", "Be {{ input.how }}.\r\nAlways.\n")]);
    render_prompt(&ready(&bundle), &bundle, data).unwrap_or_else(|error| format!("ERROR {error}"))
}

fn data() -> Value {
    json!({
        "input": {
            "how": "kind", "n": 3, "half": 0.5, "yes": true, "none": null, "tags": ["a", "b|c"],
            "evil": "{{ input.how }}{% include 'rules.md' %}", "long": "one two three", "lines": "a\n\nb",
            "rows": [{"f": {"n": 1}, "g": "x"}, {"f": {"n": "a|b\nc"}}],
        },
        "item": { "name": "1.pdf", "stem": "1", "suffix": ".pdf", "index": 0 },
    })
}

#[test]
fn prompts_render_values_filters_and_includes() {
    let data = data();
    for (body, expected) in [
        ("  plain & <b> \n", "plain & <b>"),
        (
            "{{ input.how }} {{ input.n }} {{ input.half }} {{ input.yes }} [{{ input.none }}]",
            "kind 3 0.5 true []",
        ),
        ("{% include 'rules.md' %}!", "Be kind.\nAlways.\n!"),
        (
            "{% for t in input.tags %}{{ loop.index }}{{ t }}{% if not loop.last %},{% endif %}{% endfor %}",
            "1a,2b|c",
        ),
        ("{% if input.n > 2 and input.how in ['kind', 'firm'] %}y{% else %}n{% endif %}", "y"),
        ("{{ input.n + 1 }} {{ input.tags|length }} {{ input.tags|join(', ') }}", "4 2 a, b|c"),
        ("{{ input.gone|default('none') }}{{ input.none|default('-') }}", "none-"),
        ("{% if input.gone is defined %}y{% else %}n{% endif %}", "n"),
        ("{% if input.tags is containing('a') and input.how is containing('in') %}y{% endif %}", "y"),
        ("{{ input.long|upper|truncate(8) }}", "ONE TWO…"),
        ("{{ input.lines|indent(2) }}", "a\n\n  b"),
        (
            "{{ input.tags|tojson }}{{ input.rows[0]|tojson(2) }}",
            "[\"a\", \"b|c\"]{\n  \"f\": {\n    \"n\": 1\n  },\n  \"g\": \"x\"\n}",
        ),
        ("{{ input.rows|table('N: f.n', 'g') }}", "| N | g |\n| --- | --- |\n| 1 | x |\n| a\\|b c |  |"),
        ("{{ input.rows|table(['N: f.n']) }}", "| N |\n| --- |\n| 1 |\n| a\\|b c |"),
        ("{# note #}{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        // Values are data: a template in them is not read again.
        ("{{ input.evil }}", "{{ input.how }}{% include 'rules.md' %}"),
        ("{{ input.how if input.yes else 'x' }}", "kind"),
    ] {
        assert_eq!(prompt(body, &data), expected, "{body}");
    }
}

#[test]
fn render_errors_name_the_line() {
    let data = data();
    for body in [
        "one\ntwo {{ input.gone }}",
        "{{ item.name }}\n{% if input.gone %}{% endif %}",
        "{% for x in input.gone %}{% endfor %}",
        "{{ input.tags }}",
        "{{ input.how|join }}",
        "{{ input.how|indent(100) }}",
        "{{ input.how - 1 }}",
        "{{ attachments|length }}",
    ] {
        let rendered = prompt(body, &data);
        assert!(rendered.starts_with("ERROR"), "{body}: {rendered}");
    }
    let all = [
        "one\ntwo {{ input.gone }}",
        "{% include 'rules.md' %}{{ input.tags }}",
        "{{ input.how|join }}",
        "{{ attachments|length }}",
    ];
    let all: Vec<String> = all.iter().map(|body| prompt(body, &data)).collect();
    assert_snapshot!(all.join("\n"), @r#"
    ERROR test.worker, line 6: `input.gone` is missing
    ERROR test.worker, line 5: a list has no text of its own: take one of its fields, or use `|tojson`, `|join` or `|table`
    ERROR test.worker, line 5: this filter needs a list, not text
    ERROR test.worker, line 5: a value that is missing has no length
    "#);
    assert_snapshot!(prompt("{% include 'rules.md' %}", &json!({ "input": {} })), @r#"ERROR rules.md, line 1: `input.how` is missing"#);
}

#[test]
fn then_inputs_keep_the_types_of_values() {
    let bundle = bundle(
        &source(
            "then:\n  - facts: sub\n    with: { a: '{{ output.n }}', b: '{{ output.n }}!', c: [1, '{{ output.tags }}'], d: { e: x }, f: '{{- output.s|upper -}}', g: \"{{ output['s'] }}\" }",
            "Go.",
        ),
        &[],
    );
    let definition = ready(&bundle);
    let data = json!({ "output": { "n": 3, "tags": ["x", 0.5, null], "s": "{{ output.n }}" } });
    let inputs = render_with(&definition, &bundle, 0, &data).map(Value::Object);
    let expected = json!({
        "a": 3, "b": "3!", "c": [1, ["x", 0.5, null]], "d": { "e": "x" }, "f": "{{ OUTPUT.N }}", "g": "{{ output.n }}",
    });
    assert_eq!(inputs, Ok(expected));
    assert_eq!(render_with(&definition, &bundle, 1, &data), Err(RenderError::NoStep { index: 1 }));
    let missing =
        render_with(&definition, &bundle, 0, &json!({ "output": {} })).map_err(|error| error.to_string());
    assert_snapshot!(missing.unwrap_err(), @r#"test.worker, line 5: `output.n` is missing"#);
}

#[test]
fn writes() {
    let bundle = bundle(
        &source(
            "then: [{ facts: sub }]\nwrite:\n  - each: out\n    path: '{{ item.stem }}.md'\n    template: record.md.j2\n  - once: out\n    path: summary.md\n    content: |\n      {% for i in items %}\n      - {{ i.item.name }}{% if i.error %}: {{ i.error }}{% endif %}\n      {%- endfor %}",
            "Go.",
        ),
        &[("record.md.j2", "# {{ output.class }}\n\n{{ facts.from }}\n")],
    );
    let definition = ready(&bundle);
    let each = |stem: &str| {
        let data =
            json!({ "item": { "stem": stem }, "output": { "class": "x" }, "facts": { "from": "{{ y }}" } });
        render_write(&definition, &bundle, 0, &data)
    };
    let written = each("1-a").unwrap();
    assert_eq!((written.slot.as_str(), written.path.as_str()), ("out", "1-a.md"));
    assert_eq!(written.content, "# x\n\n{{ y }}\n");
    for stem in ["../up", "/abs", "a/../b", "a\nb", "a//b", "..\\b", &"x".repeat(300), "a\u{202E}\0b"] {
        assert!(matches!(each(stem), Err(RenderError::Path { .. })), "{stem:?}");
    }
    let items = json!({ "items": [
        { "item": { "name": "1.pdf" }, "error": null }, { "item": { "name": "2.txt" }, "error": "no text" },
    ] });
    assert_snapshot!(render_write(&definition, &bundle, 1, &items).unwrap().content, @r#"

    - 1.pdf
    - 2.txt: no text
    "#);
}
