//! Files of other programs, taken over.

use worker::definition::{Bundle, Severity, import, parse};

/// Returns the file that is made, which must be one that can be run, and the notes.
fn taken(file: &str, source: &str) -> (String, String) {
    let imported = import(file, source).unwrap();
    let bundle = Bundle {
        name: imported.name.clone(),
        file: format!("{}.worker", imported.name),
        source: imported.source.clone(),
        includes: Default::default(),
    };
    let (definition, diagnostics) = parse(&bundle);
    let errors: Vec<_> = diagnostics.iter().filter(|one| one.severity == Severity::Error).collect();
    assert!(definition.is_some() && errors.is_empty(), "{errors:?} in\n{}", imported.source);
    (imported.source, imported.notes.join("\n"))
}

#[test]
fn llm_do_sandboxes_become_slots() {
    let source = "---\nname: pitch\ndescription: Scores decks\nmodel: anthropic:claude-haiku\nsandboxes:\n  in: { path: ./input, mode: ro, text_suffixes: [.md], max_bytes: 100 }\n  out: { path: ./out, mode: RW }\nattachment_policy: { max_attachments: 1, max_total_bytes: 1000, allowed_suffixes: [.PDF] }\nallow_workers: [evaluator]\ntool_rules: { sandbox.write: { approval_required: true }, worker.call: { approval_required: false } }\nlocked: true\n---\nScore {{ input.deck }}.\n";
    let (file, notes) = taken("workers/pitch.worker", source);
    assert_eq!(
        file,
        "---\ndescription: \"Scores decks\"\nmodel: \"anthropic:claude-haiku\"\nattachments: { max: 1, bytes: 1000, suffixes: [\".pdf\"] }\nslots:\n  evaluator: worker\n  in: dir\n  out: dir rw\napprove:\n  out.write: ask\n---\nScore {{ input.deck }}.\n"
    );
    for note in [
        "-e in=./input?suffix=.md&max=100",
        "-e out=./out:rw",
        "--allow",
        "`locked` was left out",
        "template",
    ] {
        assert!(notes.contains(note), "{note} in {notes}");
    }
}

#[test]
fn allow_all_workers_becomes_a_note_without_slots() {
    let (file, notes) = taken("a.yaml", "instructions: Do it.\nallow_workers: []\n");
    assert_eq!(file, "---\n---\nDo it.\n");
    assert!(notes.contains("allowed every worker there; here it allows none"), "{notes}");
    let (file, notes) = taken("a.yaml", "instructions: Do it.\nallow_workers: ['*']\n");
    assert!(!file.contains("slots") && notes.contains("name each worker"), "{notes}");
}

#[test]
fn plain_instructions_are_imported_as_raw_text() {
    let (file, _) = taken("a.yaml", "instructions: 'Say {{ secret }} and {% include \"x\" %}.'\n");
    assert_eq!(file, "---\n---\n{% raw %}Say {{ secret }} and {% include \"x\" %}.{% endraw %}\n");
    let (file, _) = taken("a.yaml", "instructions: 'Say {{ secret }}{% endraw %}{{ x }}.'\n");
    assert!(!file.contains("{{ secret }}") && !file.contains("{{ x }}"), "{file}");
}

#[test]
fn markdown_agent_tools_become_slots() {
    let source = "---\nname: code-reviewer\ndescription: Use this agent when: code was written.\\nExamples: <example>\ntools: Read, Grep, Edit, Bash(git diff:*), WebFetch, mcp__github__list, Task\nmodel: sonnet\ncolor: red\n---\n\nReview {braces} and {{ these }}.\n";
    let (file, notes) = taken("code-reviewer.md", source);
    assert!(file.contains("slots:\n  files: dir rw\n  shell: program\n  web: http\n"), "{file}");
    assert!(
        file.contains("description: \"Use this agent when: code was written. Examples: <example>\""),
        "{file}"
    );
    for note in ["there is no shell", "git diff:*", "mcp__github__list", "`Task`", "`model: sonnet`"] {
        assert!(notes.contains(note), "{note} in {notes}");
    }
    let (file, notes) = taken("x.md", "---\nname: x\ndescription: y\n---\nHelp.\n");
    assert!(!file.contains("slots") && notes.contains("every tool"), "{file} {notes}");
}

#[test]
fn agent_file_toolsets_of_code_get_a_note() {
    let source = "---\nname: main\ntools: [analyze]\ntoolsets: [filesystem_cwd_ro, shell_readonly, dynamic_agents, my.module.Tools, helper]\nserver_side_tools: [{ tool_type: web_search }]\ncompatible_models: ['openai:*']\n---\nGo.\n";
    let (file, notes) = taken("main.agent", source);
    assert!(
        file.contains(
            "creates: true\nslots:\n  analyze: worker\n  files: dir\n  helper: worker\n  shell: program\n"
        ),
        "{file}"
    );
    for note in ["my.module.Tools", "passes no gate", "compatible_models"] {
        assert!(notes.contains(note), "{note} in {notes}");
    }
}

#[test]
fn unreadable_file_is_refused_with_the_reason() {
    for (source, says) in [
        ("", "no text"),
        (" \n\n", "no text"),
        ("---\nname: x\n---\n\n", "no text"),
        ("name: x\n", "no text"),
        ("---\nname: x\nHelp.\n", "front matter has no end"),
    ] {
        let error = import("x.md", source).unwrap_err().to_string();
        assert!(error.contains(says), "{source:?}: {error}");
    }
    assert!(import("x.yaml", "just text").unwrap_err().to_string().contains("front matter"));
}

/// Prompts are mostly plain texts: `AGENTS.md`, `CLAUDE.md`, commands and rules.
/// Reported of other programs: MoonshotAI/kimi-code#657, getzola/zola#374, getzola/zola#1528.
#[test]
fn text_without_front_matter_is_imported_alone() {
    for (file, source) in [
        ("prompt.md", "Summarise the text.\n"),
        ("prompt.txt", "Note: answer in German.\n"),
        ("prompt.md", "# Title\n\n- a list\n- of points\n\n---\n\nafter a rule\n"),
        ("prompt.md", "a: &b 1\nc: *b\n"),
        ("prompt.md", "description: of the task\nDo it: now.\nthen: stop\n"),
        ("prompt.prompt", "one\r\ntwo\r\n"),
        ("prompt", "{\"role\": \"system\"}"),
    ] {
        let imported = import(file, source).unwrap();
        assert_eq!(imported.name, "prompt");
        let (made, notes) = taken(file, source);
        assert_eq!(made, format!("---\n---\n{}\n", source.trim_matches(['\n', '\r'])), "{source:?}");
        assert_eq!(notes, "it has no settings: its text alone was taken over");
    }
    let (made, _) = taken("prompt.md", "\u{FEFF}Write {{ name }} out.\n");
    assert_eq!(made, "---\n---\n{% raw %}Write {{ name }} out.{% endraw %}\n");
}

#[test]
fn random_files_are_imported_or_refused() {
    let words = [
        "---",
        "name: x",
        "tools: Read",
        "\"",
        "{{",
        "%}",
        "\u{202e}",
        "sandboxes: { a: { mode: rw } }",
        "- a",
        ": b",
        "#",
        "\0",
        "é",
        "allow_workers: [1, {}]",
        "tool_rules: []",
    ];
    let mut seed = 7_u64;
    for _ in 0..3_000 {
        let mut text = String::from("---\n");
        for _ in 0..6 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(words[(seed >> 33) as usize % words.len()]);
            text.push('\n');
        }
        text.push_str("---\nDo it.\n");
        if let Ok(imported) = import("x.md", &text) {
            let bundle = Bundle {
                name: imported.name.clone(),
                file: "x.worker".to_owned(),
                source: imported.source.clone(),
                includes: Default::default(),
            };
            let (definition, diagnostics) = parse(&bundle);
            assert!(definition.is_some(), "{text:?} became {:?}: {diagnostics:?}", imported.source);
        }
    }
}
