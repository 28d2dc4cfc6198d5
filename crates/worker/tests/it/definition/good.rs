use insta::assert_snapshot;
use worker::definition::{Definition, parse};

use super::bundle;

/// Returns a worker file that is right, as it was understood.
fn good(source: &str, files: &[(&str, &str)]) -> Definition {
    let bundle = bundle(source, files);
    let (definition, diagnostics) = parse(&bundle);
    assert_eq!(diagnostics, [], "{source}");
    definition.expect("nothing is wrong")
}

#[test]
fn minimal_files_get_the_defaults() {
    for source in [
        "Say hello.",
        "---\n---\nSay hello.",
        "---\ndescription: Greets.\n---\nSay hello.",
        "\u{FEFF}---\r\ndescription: Greets.\r\n---\r\nSay hello.\r\n",
        "---\n# only a comment\n---\nSay hello.",
        "---\nslots:\ntools:\nlimits:\n---\nSay hello.",
    ] {
        let definition = good(source, &[]);
        assert_eq!(definition.body.text.trim(), "Say hello.");
        assert!(definition.output.is_none() && definition.slots.is_empty() && definition.tools.is_none());
        assert_eq!((definition.attachments.max, definition.attachments.bytes), (4, 10 << 20));
    }
}

#[test]
fn everything() {
    let definition = good(
        "---
description: Sorts documents.
input: { rubric: string }
output: { class: string }
attachments: { max: 1, bytes: 2kB, suffixes: [.PDF, .tar.gz], types: [application/pdf, image/*] }
slots:
  extract: worker
  out: { is: dir  rw, label: Where records are written }
  docs: dir
  mail: outbox
approve: { out.write: ask }
limits: { turns: 3, calls: 40, depth: 1, tokens: 200k, usd: 0.50, wall: 10m }
creates: false
model: qwen
then:
  - facts: extract
    with: { class: '{{ output.class }}', n: 3, list: ['{{ input.rubric }}!', plain] }
    attach: true
  - more: extract
    with: { of: '{{ facts.class }}' }
write:
  - each: out
    path: '{{ item.stem }}.md'
    template: record.md.j2
  - once: out
    path: summary.md
    content: '{{ items|length }}'
---
{% include \"rules.md\" %} {{ input.rubric }}
",
        &[("record.md.j2", "{{ output.class }} {{ facts.x }} {{ more.y }}"), ("rules.md", "Be kind.")],
    );
    assert_snapshot!(format!(
        "{:?} {:?}\n{:?}\n{:?}\n{:?}\n{:?} {:?}",
        definition.description,
        definition.model,
        definition.attachments,
        definition.limits,
        definition.approve,
        definition.usd,
        definition.then[0].with
    ), @r#"
    Some("Sorts documents.") Some("qwen")
    Attachments { max: 1, bytes: 2000, suffixes: [".pdf", ".tar.gz"], types: ["application/pdf", "image/*"] }
    Limits { turns: 3, calls: 40, depth: 1, tokens: 200000, wall_ms: 600000, usd_micros: Some(500000), answer: None, kept: 67108864 }
    {("out", "write")}
    Some(0.5) [("class", Value { template: Template { text: "{{ output.class }}", place: WorkerFile(470..490) }, expression: "output.class" }), ("n", Data(Number(3))), ("list", List([Text(Template { text: "{{ input.rubric }}!", place: WorkerFile(505..526) }), Data(String("plain"))]))]
    "#);
    let slots: Vec<String> = definition
        .slots
        .iter()
        .map(|slot| format!("{}: {} {:?}", slot.name, slot.kind, slot.label))
        .collect();
    assert_snapshot!(slots.join("\n"), @r#"
    extract: worker None
    out: dir rw Some("Where records are written")
    docs: dir None
    mail: outbox None
    "#);
    assert!(definition.asks("out", "write") && !definition.asks("docs", "read"));
}

/// Checks that a slot that a step uses is not offered to the model, unless the file says so.
#[test]
fn offered_slots() {
    const SLOTS: &str = "slots: { sub: worker, out: dir rw, docs: dir, mail: outbox }\n\
                         then: [{ a: sub }]\nwrite: [{ once: out, path: x, content: x }]";
    for (tools, expected) in
        [("", vec!["docs", "mail"]), ("tools: []\n", vec![]), ("tools: [mail, out]\n", vec!["out", "mail"])]
    {
        let definition = good(&format!("---\n{tools}{SLOTS}\n---\nGo."), &[]);
        let offered: Vec<&str> =
            definition.offered_slots().into_iter().map(|slot| slot.name.as_str()).collect();
        assert_eq!(offered, expected, "{tools}");
    }
}

/// Checks that the digest depends on every byte of the definition and on nothing else.
#[test]
fn digest() {
    let base = bundle("Go. {% include 'a' %}", &[("a", "x"), ("b", "y")]);
    let mut renamed = base.clone();
    renamed.name = "other".to_owned();
    assert_eq!(base.digest(), renamed.digest());
    for other in [
        bundle("Go! {% include 'a' %}", &[("a", "x"), ("b", "y")]),
        bundle("Go. {% include 'a' %}", &[("a", "x")]),
        bundle("Go. {% include 'a' %}", &[("a", "x"), ("b", "z")]),
        bundle("Go. {% include 'a' %}", &[("a", "xb"), ("", "y")]),
        bundle("Go. {% include 'a' %}a", &[("", "x"), ("b", "y")]),
    ] {
        assert_ne!(base.digest(), other.digest());
    }
}
