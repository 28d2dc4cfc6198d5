use insta::assert_snapshot;

use super::{bundle, problems};

/// Returns the problems of a worker file with this front matter and a body.
fn front(front: &str) -> String {
    problems(&bundle(&format!("---\n{front}\n---\nDo it.\n"), &[]))
}

/// Returns the problems of a worker file with this body.
fn body(body: &str) -> String {
    problems(&bundle(
        &format!("---\ninput: {{ rubric: string }}\noutput: {{ class: string }}\n---\n{body}"),
        &[],
    ))
}

#[test]
fn unknown_keys_and_wrong_types_are_reported() {
    assert_snapshot!(front("ouput: string\nfavourite_colour: blue"), @r#"
    2:1 "ouput" [worker/unknown-key] the front matter has no key `ouput`
      did you mean `output`?
    3:1 "favourite_colour" [worker/unknown-key] the front matter has no key `favourite_colour`
      the keys: `approve`, `attachments`, `creates`, `description`, `input`, `limits`, `model`, `output`, `slots`, `then`, `tools`, `write`
    "#);
    assert_snapshot!(front("description: [a, b]\nslots: out\ntools: out\nattachments: 4\nlimits: none\nmodel: 3"), @r#"
    2:14 "[a, b]" [worker/wrong-type] `description` must be text, not a list
      put it in quotes if it is meant as text
    3:8 "out" [worker/wrong-type] `slots` must be a map, not text
      write `name: dir` or `name: { is: dir rw, label: … }`; the kinds are `dir`, `dir rw`, `outbox`, `program`, `http`, `git`, `git rw`, `clock`, `mcp`, `worker`, `ask`, `timer`, `mail`, `model`, `secret`
    4:8 "out" [worker/wrong-type] `tools` must be a list, not text
      write it like `tools: [outbox]`, or `tools: []` for none
    5:14 "4" [worker/wrong-type] `attachments` must be a map, not a number
      its keys are `max`, `bytes`, `suffixes`, `types`
    6:9 "none" [worker/wrong-type] `limits` must be a map, not text
      its keys are `turns`, `calls`, `depth`, `tokens`, `usd`, `wall`, `answer`, `kept`
    7:8 "3" [worker/wrong-type] `model` must be text, not a number
      put it in quotes if it is meant as text
    "#);
    assert_snapshot!(front("- description"), @r#"
    2:1 "- description" [worker/wrong-type] the front matter must be a map, not a list
      its keys are `approve`, `attachments`, `creates`, `description`, `input`, `limits`, `model`, `output`, `slots`, `then`, `tools`, `write`
    "#);
    assert_snapshot!(front("description: \"two\\nlines\""), @r#"2:14 "\"two\\nlines\"" [worker/line] `description` must be one line of at most 300 characters"#);
    assert_snapshot!(front("creates: maybe"), @r#"2:10 "maybe" [worker/wrong-type] `creates` must be `true` or `false`, not text"#);
}

#[test]
fn all_problems_of_a_file_are_reported() {
    assert_snapshot!(
        problems(&bundle("---\nouput: x\nlimits: { turns: 0 }\nslots: { out: dirr }\napprove: { out.write: allow }\n---\n{{ nope }}", &[])),
        @r#"
        2:1 "ouput" [worker/unknown-key] the front matter has no key `ouput`
          did you mean `output`?
        3:18 "0" [worker/amount] `turns` must be at least 1
          write it like `20`
        4:15 "dirr" [worker/slot-kind] there is no slot of the kind `dirr`
          did you mean `dir`?
        5:23 "allow" [worker/approve] a worker file may only tighten what is asked, never loosen it: `ask` is the only setting
          write `ask`, or leave the line out
        7:4 "nope" [template/unknown-name] `nope` is not known here
          what is known here: `input`, `item`, `attachments`; braces that are text go between `{% raw %}` and `{% endraw %}`
        "#
    );
}

/// Digits that a comma sets apart are a key of their own within braces.
/// Reported of other programs: protegeproject/webprotege#264, salaros/config-parser#14.
#[test]
fn comma_in_amount_is_explained() {
    for (limits, number) in [
        ("limits: { tokens: 10,000 }", "`10_000` or `10000`"),
        ("limits:\n  tokens: 10,000", "`10_000` or `10000`"),
        ("limits:\n  tokens: 1,000,000", "`1_000_000` or `1000000`"),
        ("limits: { tokens: 1,000,000, turns: 3 }", "`1_000_000` or `1000000`"),
        ("limits: { usd: 1,50 }", "`1.50`"),
        ("attachments:\n  bytes: 10,000,000", "`10_000_000` or `10000000`"),
    ] {
        let said = front(limits);
        assert!(said.contains(number), "{limits}: {said}");
    }
    for limits in
        ["limits: { tokens: 10_000 }", "limits:\n  tokens: 10000", "attachments: { bytes: 1_000_000 }"]
    {
        assert_eq!(front(limits), "", "{limits}");
    }
}

/// Braces of other languages: Handlebars, Mustache, LaTeX, CSS and Jinja of other programs.
/// Reported of other programs: langchain-ai/langchainjs#4923, VictoriaMetrics/VictoriaMetrics#2592.
#[test]
fn template_error_names_raw_block() {
    for text in [
        "{{#if x}}y{{/if}}",
        "{{{x}}}",
        "{% 5 %}",
        "a {#fff}",
        "{% liquid %}",
        "{{> partial}}",
        "{{user}}",
        "{{ a | b: 1 }}",
    ] {
        let said = body(text);
        assert!(said.contains("{% raw %}"), "{text}: {said}");
        assert_eq!(body(&format!("{{% raw %}}{text}{{% endraw %}}")), "", "{text}");
    }
}

#[test]
fn amounts() {
    assert_snapshot!(front("limits: { turns: 0, depth: 99, tokens: 2K, usd: -1, wall: 10 }"), @r#"
    2:18 "0" [worker/amount] `turns` must be at least 1
      write it like `20`
    2:28 "99" [worker/amount] `depth` must be at most 32
      write it like `5`
    2:40 "2K" [worker/amount] `tokens` cannot be read as an amount
      write it like `200k`
    2:49 "-1" [worker/amount] `usd` must be between 0 and a million
      write it like `0.50`
    2:59 "10" [worker/amount] `wall` cannot be read as an amount
      write it like `10m`
    "#);
    assert_snapshot!(front("limits: { turns: many, tokens: 1.5, usd: $3, wall: 10 minutes, money: 3 }"), @r#"
    2:18 "many" [worker/amount] `turns` cannot be read as an amount
      write it like `20`
    2:32 "1.5" [worker/amount] `tokens` cannot be read as an amount
      write it like `200k`
    2:42 "$3" [worker/wrong-type] `usd` must be a number, not text
      write it like `0.50`
    2:52 "10 minutes" [worker/amount] `wall` cannot be read as an amount
      write it like `10m`
    2:64 "money" [worker/unknown-key] `limits` has no key `money`
      the keys: `turns`, `calls`, `depth`, `tokens`, `usd`, `wall`, `answer`, `kept`
    "#);
    assert_snapshot!(front("attachments: { max: -1, bytes: 10mb, suffixes: [pdf, ., .a/b, 3] }"), @r#"
    2:21 "-1" [worker/amount] `max` cannot be read as an amount
      write it like `4`
    2:32 "10mb" [worker/amount] `bytes` cannot be read as an amount
      write it like `10MiB`
    2:49 "pdf" [worker/suffix] `pdf` is not a suffix
      a suffix is a point and letters, like `.pdf`
    2:54 "." [worker/suffix] `.` is not a suffix
      a suffix is a point and letters, like `.pdf`
    2:57 ".a/b" [worker/suffix] `.a/b` is not a suffix
      a suffix is a point and letters, like `.pdf`
    2:63 "3" [worker/wrong-type] a suffix must be text, not a number
      put it in quotes if it is meant as text
    "#);
    assert_snapshot!(front("attachments: { types: [aplication/pdf, imag/*, 3], typs: [] }"), @r#"
    2:24 "aplication/pdf" [worker/type] `aplication/pdf` is no type that documents are found to be
      did you mean `application/pdf`?
    2:40 "imag/*" [worker/type] `imag/*` is no type that documents are found to be
      did you mean `image/*`?
    2:48 "3" [worker/wrong-type] a type must be text, not a number
      put it in quotes if it is meant as text
    2:52 "typs" [worker/unknown-key] `attachments` has no key `typs`
      did you mean `types`?
    "#);
}

#[test]
fn patterns() {
    assert_snapshot!(front("input: { a: strng, b: [], 'c': 'M.arrayOf(M.strng())' }"), @r#"
    2:13 "strng" [worker/pattern] there is no type `strng`
      did you mean string? For exactly this text write '"strng"'
    2:23 "[]" [worker/pattern] an empty list says nothing about its elements
      write [string], [any] or list
    2:45 "strng" [worker/pattern] there is no matcher M.strng
      did you mean M.string?
    "#);
    assert_snapshot!(front("input: string\noutput: { score: 5..1, verdict: pass||fail, kind: mail|file }"), @r#"
    2:8 "string" [worker/wrong-type] `input` must be a map of names and patterns, not text
      write it like `input: { rubric: string }`
    3:18 "5..1" [worker/pattern] this range is empty
      a range looks like 1..5, 0.. or ..9.5
    3:37 "||" [worker/pattern] an alternative is empty
      write what stands between two `|`, or leave one of them out
    3:51 "mail|file" [worker/pattern] `file` is the word for a capability; inputs and outputs are data
      for the text `file` write '"file"'; authority comes through `slots`
    "#);
    // The inputs and outputs of a worker are not sealed.
    for secret in ["input: { key: secret? }", "output: { keys: [secret] }"] {
        let said = front(secret);
        assert!(said.contains("[worker/secret] inputs and outputs are kept"), "{secret}: {said}");
    }
    assert_snapshot!(front("input: { a?: string, a: number }\noutput: { a: M.nat(, b: \"M.nat(\" }"), @r#"
    2:22 "a" [worker/pattern] this name occurs twice
      keep one of the two; `?` marks a field, it is no part of its name
    3:20 "" [worker/pattern] expected data or a pattern, but the text ends
      write it like `1..5`, `pass|fail`, `[string]` or `M.arrayOf(M.nat())`
    3:32 "" [worker/pattern] expected data or a pattern, but the text ends
      write it like `1..5`, `pass|fail`, `[string]` or `M.arrayOf(M.nat())`
    "#);
}

#[test]
fn pattern_errors_point_into_quoted_and_folded_text() {
    assert_snapshot!(front("input: { a: 'it''s|5..1', b: \"\\u00fc|M.any\\x28\\x29|7..2\" }"), @r#"
    2:20 "5..1" [worker/pattern] this range is empty
      a range looks like 1..5, 0.. or ..9.5
    2:52 "7..2" [worker/pattern] this range is empty
      a range looks like 1..5, 0.. or ..9.5
    "#);
    assert_snapshot!(front("output:\n  a: |\n    M.splitRecord(\n      { n: M.strng() },\n    )\n  b: M.or(1,\n    M.nope())"), @r#"
    5:14 "strng" [worker/pattern] there is no matcher M.strng
      did you mean M.string?
    8:7 "nope" [worker/pattern] there is no matcher M.nope
      did you mean M.not?
    "#);
}

#[test]
fn slots() {
    assert_snapshot!(front("slots: { 1st: dir, a-b: dir, x: dri, y: { label: Here }, z: { is: dir, lable: x }, w: [dir] }"), @r#"
    2:10 "1st" [worker/slot-name] `1st` cannot be the name of a slot
      a name is letters, digits and `_`, at most 32, and begins with a letter
    2:20 "a-b" [worker/slot-name] `a-b` cannot be the name of a slot
      a name is letters, digits and `_`, at most 32, and begins with a letter
    2:33 "dri" [worker/slot-kind] there is no slot of the kind `dri`
      did you mean `dir`?
    2:38 "y" [worker/slot-kind] the slot `y` is of no kind
      write `name: dir` or `name: { is: dir rw, label: … }`; the kinds are `dir`, `dir rw`, `outbox`, `program`, `http`, `git`, `git rw`, `clock`, `mcp`, `worker`, `ask`, `timer`, `mail`, `model`, `secret`
    2:72 "lable" [worker/unknown-key] the slot `z` has no key `lable`
      did you mean `label`?
    2:87 "[dir]" [worker/wrong-type] the kind of a slot must be text, not a list
      put it in quotes if it is meant as text
    "#);
    assert_snapshot!(front("slots: { d: { is: dir, attachments: { max: 1 } }, w: { is: worker, attachments: { max: x, size: 1 } } }"), @r#"
    2:37 "{ max: 1 }" [worker/attachments] `d` is no worker, and documents are handed on to workers only
      leave `attachments` out, or write `is: worker`
    2:88 "x" [worker/amount] `max` cannot be read as an amount
      write it like `4`
    2:91 "size" [worker/unknown-key] `attachments` has no key `size`
      the keys: `max`, `bytes`, `suffixes`, `types`
    "#);
    assert_snapshot!(front("slots: { out: dir rw, out_write: worker, send: worker }"), @r#"
    2:23 "out_write" [worker/slot-name] the slot `out_write` and the slot `out` would give the model two tools called `out_write`
      choose another name
    2:42 "send" [worker/slot-name] the slot `send` and the tool `send` would give the model two tools called `send`
      choose another name
    "#);
    assert_snapshot!(front("slots: { out: dir, mail: outbox, sub: worker }\napprove: { out.write: ask, ot.read: ask, mail: ask, sub.call: ask }"), @r#"
    3:12 "out.write" [worker/approve] the slot `out` (dir) has no method `write`
      its methods: `list`, `read`, `glob`, `grep`, `stat`
    3:28 "ot.read" [worker/unknown-slot] there is no slot `ot`
      did you mean `out`?
    3:42 "mail" [worker/approve] `mail` does not name a method of a slot
      write `slot.method`, like `reports.write`
    "#);
}

#[test]
fn approve_cannot_loosen_a_grant() {
    assert_snapshot!(front("slots: { out: dir rw }\napprove: { out.write: allow }"), @r#"
    3:23 "allow" [worker/approve] a worker file may only tighten what is asked, never loosen it: `ask` is the only setting
      write `ask`, or leave the line out
    "#);
    assert_snapshot!(front("slots: { out: dir rw }\napprove: { out.write: false }"), @r#"
    3:23 "false" [worker/approve] a worker file may only tighten what is asked, never loosen it: `ask` is the only setting
      write `ask`, or leave the line out
    "#);
}

#[test]
fn tools() {
    assert_snapshot!(front("slots: { out: dir rw }\ntools: [out, out, otu, 3]"), @r#"
    3:14 "out" [worker/duplicate] the slot `out` is named twice
      keep one of the two
    3:19 "otu" [worker/unknown-slot] there is no slot `otu`
      did you mean `out`?
    3:24 "3" [worker/wrong-type] a slot's name must be text, not a number
      put it in quotes if it is meant as text
    "#);
    assert_snapshot!(front("tools: [out]"), @r#"
    2:9 "out" [worker/unknown-slot] there is no slot `out`
      declare it under `slots`
    "#);
}

#[test]
fn steps() {
    assert_snapshot!(front("slots: { out: dir, sub: worker }\nthen:\n  - facts: out\n  - output: sub\n  - facts: sub\n  - facts: sub\n  - a: sub\n    b: sub\n  - with: {}\n  - sub"), @r#"
    4:12 "out" [worker/slot-use] a step of `then` needs a slot of the kind `worker`; `out` is `dir`
      declare it as `out: worker`
    5:5 "output" [worker/then] `output` is what templates call something else
      choose another name for the result
    6:5 "facts" [worker/then] an earlier step is called `facts` too
      choose another name for the result
    7:5 "facts" [worker/then] an earlier step is called `facts` too
      choose another name for the result
    8:5 "a: sub\n    b: sub" [worker/then] this step makes 2 calls; a step makes one
      write it like `- facts: extract`, with `with:` and `attach:` below it if it needs them
    10:5 "with: {}" [worker/then] this step calls nothing
      write it like `- facts: extract`, with `with:` and `attach:` below it if it needs them
    11:5 "sub" [worker/wrong-type] a step of `then` must be a map, not text
      write it like `- facts: extract`, with `with:` and `attach:` below it if it needs them
    "#);
    assert_snapshot!(front("slots: { sub: worker }\nthen:\n  - a: sub\n    with: { x: \"{{ b.y }}\" }\n    attach: perhaps\n  - b: sub\n    with: { x: \"{{ a.y }} {{ items }}\" }"), @r#"
    5:20 "b" [template/unknown-name] `b` is not known here
      what is known here: `input`, `item`, `attachments`, `output`; braces that are text go between `{% raw %}` and `{% endraw %}`
    6:13 "perhaps" [worker/wrong-type] `attach` must be `true` or `false`, not text
    8:30 "items" [template/unknown-name] `items` is not known here
      did you mean `item`?
    "#);
    assert_snapshot!(front("slots: { out: dir, sub: worker }\nwrite:\n  - each: out\n    path: x\n  - once: sub\n    path: \"{{ item.stem }}\"\n    content: x\n    template: y.j2\n  - path: x\n    content: x\n  - each: nowhere\n    content: \"{{ items }}\"\n  - each: out\n    once: out"), @r#"
    4:5 "each: out\n    path: x" [worker/write] a step has either `content` or `template`
      write it like `- each: out` (or `once: out`), with `path:` and `content:` or `template:`
    4:11 "out" [worker/slot-use] a step of `write` needs a slot of the kind `dir rw`; `out` is `dir`
      declare it as `out: dir rw`
    5:11 "x" [worker/write] every item would write the same file
      let the path depend on the item, like `"{{ item.stem }}.md"`
    6:5 "once: sub\n    path: \"{{ item.stem }}\"\n    content: x\n    tem" [worker/write] a step has either `content` or `template`
      write it like `- each: out` (or `once: out`), with `path:` and `content:` or `template:`
    6:11 "sub" [worker/slot-use] a step of `write` needs a slot of the kind `dir rw`; `sub` is `worker`
      declare it as `sub: dir rw`
    7:15 "item" [template/unknown-name] `item` is not known here
      did you mean `items`?
    10:5 "path: x\n    content: x" [worker/write] a step has either `each` or `once`
      write it like `- each: out` (or `once: out`), with `path:` and `content:` or `template:`
    12:5 "each: nowhere\n    content: \"{{ items }}\"" [worker/write] this step has no `path`
      write it like `- each: out` (or `once: out`), with `path:` and `content:` or `template:`
    12:11 "nowhere" [worker/unknown-slot] there is no slot `nowhere`
      the slots: `out`, `sub`
    13:18 "items" [template/unknown-name] `items` is not known here
      did you mean `item`?
    14:5 "each: out\n    once: out" [worker/write] a step has either `each` or `once`
      write it like `- each: out` (or `once: out`), with `path:` and `content:` or `template:`
    "#);
    assert_snapshot!(front("slots: { out: dir rw }\nwrite:\n  - each: out\n    path: \"{{ item.stm }}.md\"\n    template: missing.j2\n  - once: out\n    path: a.md\n    template: ../secret.j2"), @r#"
    5:15 "item.stm" [template/unknown-field] `item` has no field `stm`
      did you mean `stem`?
    6:15 "missing.j2" [template/missing-file] there is no file `missing.j2`
      it must lie beside the worker file
    9:15 "../secret.j2" [template/include] `../secret.j2` cannot be included: it must lie in the directory of the worker file, or below it
      name a file in the directory of the worker file, or below it
    "#);
}

#[test]
fn templates() {
    assert_snapshot!(body("{{ rubric }} {{ input.rubrik }} {{ output }}"), @r#"
    5:4 "rubric" [template/unknown-name] `rubric` is not known here
      what is known here: `input`, `item`, `attachments`; braces that are text go between `{% raw %}` and `{% endraw %}`
    5:17 "input.rubrik" [template/unknown-field] `input` has no field `rubrik`
      did you mean `rubric`?
    5:36 "output" [template/unknown-name] `output` is not known here
      what is known here: `input`, `item`, `attachments`; braces that are text go between `{% raw %}` and `{% endraw %}`
    "#);
    assert_snapshot!(body("one\n{% if input.rubric %}\ntwo"), @r#"
    6:22 "\ntwo" [template/syntax] this template cannot be read: `{% if … %}` is not closed
      close it with `{% endif %}`; braces that are text go between `{% raw %}` and `{% endraw %}`
    "#);
    assert_snapshot!(body("{{ input.rubric | uper }} {% if input is odd %}x{% endif %}"), @r#"
    5:19 "uper" [template/unknown-filter] there is no filter `uper`
      did you mean `upper`?
    5:42 "odd" [template/unknown-test] there is no test `odd`
      the tests: `boolean`, `containing`, `defined`, `mapping`, `none`, `number`, `sequence`, `string`, `undefined`
    "#);
    assert_snapshot!(body("{% set x = 1 %}{% macro f() %}{% endmacro %}"), @r#"
    5:19 "macro" [template/syntax] this template cannot be read: unknown statement macro
      braces that are text go between `{% raw %}` and `{% endraw %}`
    "#);
    assert_snapshot!(body("{% set x = 1 %}{% with %}{% endwith %}{% filter upper %}{% endfilter %}{% extends 'a' %}"), @r#"
    5:4 "set x = 1" [template/not-supported] `set` is not understood here
      templates have `{{ value }}`, `if`, `for` and `include`; braces that are text go between `{% raw %}` and `{% endraw %}`
    5:19 "with %}{% endwith" [template/not-supported] `with` is not understood here
      templates have `{{ value }}`, `if`, `for` and `include`; braces that are text go between `{% raw %}` and `{% endraw %}`
    5:42 "filter upper %}{% endfilter" [template/not-supported] `filter` is not understood here
      use `|` in `{{ … }}`
    5:75 "extends 'a'" [template/not-supported] `extends` is not understood here
      templates have `{{ value }}`, `if`, `for` and `include`; braces that are text go between `{% raw %}` and `{% endraw %}`
    "#);
    assert_snapshot!(body("{{ 'a' * 99999999 }} {{ input.rubric ~ input.rubric }} {{ range(9) }} {{ input.rubric[1:] }} {{ 9 ** 9 }}"), @r#"
    5:4 "'a' * 99999999" [template/not-supported] this arithmetic is not understood here
      templates add and subtract fixed numbers; texts are joined by writing them one after the other
    5:25 "input.rubric ~ input.rubric" [template/not-supported] this arithmetic is not understood here
      templates add and subtract fixed numbers; texts are joined by writing them one after the other
    5:59 "range(9)" [template/not-supported] a call is not understood here
      templates have filters (`value|upper`)
    5:79 ".rubric[1:]" [template/not-supported] a slice is not understood here
      use `|truncate(80)`, `|first` or `|last`
    5:97 "9 ** 9" [template/not-supported] this arithmetic is not understood here
      templates add and subtract fixed numbers; texts are joined by writing them one after the other
    "#);
    assert_snapshot!(body("{% if input.rubric == input %}{% endif %}{% if 'a' in input.rubric %}{% endif %}{% for x in [input] %}{% endfor %}"), @r#"
    5:4 "if input.rubric == input" [template/not-supported] comparing two values is not understood here
      compare with a number or a text in quotes; to look into text or a list, write `value is containing("x")`
    5:45 "if 'a' in input.rubric" [template/not-supported] `in` with a value is not understood here
      compare with a number or a text in quotes; to look into text or a list, write `value is containing("x")`
    5:93 "[input]" [template/not-supported] this `for` is not understood here
      let it run over a value, such as `output.parts`
    "#);
    assert_snapshot!(body("{% include input.rubric %}{% include '/etc/passwd' %}{% include '../x.md' %}{% include 'a//b' %}{% include 'gone.md' %}"), @r#"
    5:4 "include input.rubric" [template/not-supported] an `include` without a fixed file name is not understood here
      name one file in quotes
    5:38 "'/etc/passwd'" [template/include] `/etc/passwd` cannot be included: the name must be relative to the worker file
      name a file in the directory of the worker file, or below it
    5:65 "'../x.md'" [template/include] `../x.md` cannot be included: it must lie in the directory of the worker file, or below it
      name a file in the directory of the worker file, or below it
    5:88 "'a//b'" [template/include] `a//b` cannot be included: it must lie in the directory of the worker file, or below it
      name a file in the directory of the worker file, or below it
    5:108 "'gone.md'" [template/missing-file] there is no file `gone.md`
      it must lie beside the worker file
    "#);
    assert_snapshot!(problems(&bundle("{% include 'rubric.md' %}", &[("rubric.md", "fine\n{{ inptu }}"), ("other.md", "")])), @r#"
    rubric.md:2:4 "inptu" [template/unknown-name] `inptu` is not known here
      did you mean `input`?
    "#);
    assert_snapshot!(problems(&bundle("{% include 'a.md' %}", &[("a.md", "{% include 'b.md' %}"), ("b.md", "{% include 'a.md' %}")])), @r#"b.md:1:12 "'a.md'" [template/include] `a.md` includes itself"#);
}

/// Reported of other programs: shibing624/agentica#31, BaseIntelligence/bounty-challenge#17325.
#[test]
fn broken_front_matter_is_reported() {
    assert_snapshot!(problems(&bundle("---\ndescription: x\nDo it.", &[])), @r#"
    1:1 "---" [worker/front-matter-open] the front matter has no end
      put a line `---` between the front matter and the text for the model
    "#);
    assert_snapshot!(problems(&bundle("---\ndescription: x\n---\n \n", &[])), @r#"
    4:1 "" [worker/no-text] there is no text for the model
      write below the second `---` what the model is to do
    "#);
    assert_snapshot!(problems(&bundle("", &[])), @r#"
    1:1 "" [worker/no-text] the file is empty: there is no text for the model
      write what the model is to do; one plain sentence is enough
    "#);
    assert_snapshot!(front("slots:\n\tout: dir"), @r#"
    3:1 "\t" [yaml/tab] a tab cannot indent YAML
      indent with spaces
    "#);
    assert_snapshot!(front("description: x\nmodel: a\ndescription: y"), @r#"
    4:1 "description" [yaml/duplicate-key] `description` is given twice
      keep one of the two
    "#);
    assert_snapshot!(front("input: { a: string, a: number }"), @r#"
    2:21 "a" [yaml/duplicate-key] `a` is given twice
      keep one of the two
    "#);
    assert_snapshot!(front("description: {a"), @r#"
    3:1 "" [yaml/syntax] this is not YAML: while parsing a flow mapping, did not find expected ',' or '}'
      close every `{` and `[`, with a comma between what they hold
    "#);
    assert_snapshot!(front("a: b: c"), @r#"
    2:5 ":" [yaml/syntax] this is not YAML: mapping values are not allowed in this context
      put text that holds a colon in quotes
    "#);
    assert!(front(r#"description: "a\q""#).contains("single quotes"));
    assert!(front("description: 'a").contains("close the quotes"));
    assert!(front("description: @x").contains("each line is `key: value`"));
    assert_snapshot!(front("description: x\n...\nmodel: y"), @r#"
    4:1 "" [yaml/syntax] there is a second document here
      keep one; the text for the model comes after the second line `---`
    "#);
    assert_snapshot!(front("? [a]\n: b"), @r#"
    2:3 "[a]" [yaml/key] a key must be text
      write it like `name: value`
    "#);
    assert_snapshot!(front("description: !!python/object:os.system x"), @r#"
    2:14 "!!python/object:os.system x" [yaml/tag] tags are not understood here
      put text in quotes instead; other values need no tag
    "#);
    assert_snapshot!(front("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]"), @r#"
    2:1 "a" [worker/unknown-key] the front matter has no key `a`
      the keys: `approve`, `attachments`, `creates`, `description`, `input`, `limits`, `model`, `output`, `slots`, `then`, `tools`, `write`
    2:4 "&a [" [yaml/anchor] anchors and aliases are not understood here
      write the value out
    3:1 "b" [worker/unknown-key] the front matter has no key `b`
      the keys: `approve`, `attachments`, `creates`, `description`, `input`, `limits`, `model`, `output`, `slots`, `then`, `tools`, `write`
    3:4 "&b [" [yaml/anchor] anchors and aliases are not understood here
      write the value out
    3:8 "*a" [yaml/anchor] anchors and aliases are not understood here
      write the value out
    3:12 "*a" [yaml/anchor] anchors and aliases are not understood here
      write the value out
    4:1 "c" [worker/unknown-key] the front matter has no key `c`
      the keys: `approve`, `attachments`, `creates`, `description`, `input`, `limits`, `model`, `output`, `slots`, `then`, `tools`, `write`
    4:5 "*b" [yaml/anchor] anchors and aliases are not understood here
      write the value out
    4:9 "*b" [yaml/anchor] anchors and aliases are not understood here
      write the value out
    "#);
    assert_snapshot!(front(&format!("description: {}x{}", "[".repeat(60), "]".repeat(60))), @r#"
    2:46 "[" [yaml/too-large] there are more than 10000 values here, or more than 32 inside each other
      write it more plainly: no worker needs so many
    "#);
}

/// Spans stay right behind characters of several bytes, a byte order mark and carriage returns.
#[test]
fn places() {
    assert_snapshot!(problems(&bundle("\u{FEFF}---\r\ndescription: zażółć\r\nlimits: { turnz: 3 }\r\n---\r\n{{ nope }}\r\n", &[])), @r#"
    3:11 "turnz" [worker/unknown-key] `limits` has no key `turnz`
      did you mean `turns`?
    5:4 "nope" [template/unknown-name] `nope` is not known here
      what is known here: `input`, `item`, `attachments`; braces that are text go between `{% raw %}` and `{% endraw %}`
    "#);
    assert_snapshot!(front("slots: { out: dir rw }\nwrite:\n  - each: out\n    path: 'ż{{ itm }}'\n    content: |\n      ż\n      {{ otput }}"), @r#"
    5:16 "itm" [template/unknown-name] `itm` is not known here
      did you mean `item`?
    7:7 "ż\n      {{ otput }}" [template/unknown-name] `otput` is not known here
      did you mean `output`?
    "#);
    assert_snapshot!(front("slots: { out: dir rw }\nwrite:\n  - each: out\n    path: \"\\u017c{{ itm }}\"\n    content: x"), @r#"
    5:11 "\"\\u017c{{ itm }}\"" [template/unknown-name] `itm` is not known here
      did you mean `item`?
    "#);
}
