//! Tests of the protocol with servers of tools (MCP) that are programs: every part that a server can get wrong.
//!
//! `crates/caps/src/mcp` has the tables of the parts themselves, and `mcp_web.rs` those of servers at an address.

use serde_json::json;

use crate::mcp::{add, call_results, echo, home, is_at_work, log, run};
use crate::test_home::TestHome;

#[test]
fn unresponsive_server_program_times_out_with_a_message() {
    let home = TestHome::new();
    add(&home, "still", &[], &["/bin/sleep", "100"]);
    for (options, time) in [(vec!["--timeout", "2s"], "2s"), (vec![], "3s")] {
        if time == "3s" {
            home.write_config("[mcp]\nstart = \"3s\"\n");
        }
        let said = home.almoner(&[&["mcp", "tools", "still"][..], &options].concat()).expect(1);
        let seconds = &time[..1];
        assert!(
            said.err.contains(&format!("asking still what it has, for at most {time}: /")),
            "{}",
            said.err
        );
        assert!(
            said.err.contains(&format!("did not answer `initialize` within {seconds} s")),
            "{}",
            said.err
        );
        assert!(said.err.contains("almoner mcp tools still --timeout 5m"), "{}", said.err);
    }
    let wrong = home.almoner(&["mcp", "tools", "still", "--timeout", "soon"]).expect(2);
    assert!(wrong.err.contains("like `120s`"), "{}", wrong.err);
}

/// Servers that compile or fetch first: kirodotdev/Kiro#2566, github/copilot-cli#4421.
#[test]
fn slow_server_is_used_within_its_time_to_start() {
    let home = home("slow", &[echo("hello")]);
    let said = run(&home, "slow[echo:reads]?start=1s", &[]).expect(1);
    assert!(said.err.contains("did not answer `initialize` within 1 s"), "{}", said.err);
    run(&home, "slow[echo:reads]?start=60s", &[]).expect(0);
    assert!(call_results(&home).contains("you said hello"), "{}", call_results(&home));
    home.almoner(&["mcp", "change", "slow", "--start", "1s"]).expect(0);
    run(&home, "slow[echo:reads]", &[]).expect(1);
}

/// mastra-ai/mastra#21859, ElliotPadfield/unpaywall-mcp#4: one bad part made the whole server useless.
#[test]
fn bad_tool_page_or_block_costs_only_itself() {
    let home = home("odd", &[echo("hello"), echo("again")]);
    let shown = home.almoner(&["mcp", "tools", "odd"]).expect(0).out;
    for part in [
        "echo(word: text)",
        "bare (",
        "cannot be handed over: it has no `inputSchema`",
        "cannot be handed over: its `inputSchema` is no object",
        "(tool 5)",
        "cannot be handed over: it has no `name`",
        "! page 2 of its tools cannot be read: the server refused it (code -32000)",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let said = run(&home, "odd[bare]", &[]).expect(2);
    assert!(said.err.contains("`bare` of the server odd: it has no `inputSchema`"), "{}", said.err);
    let said = run(&home, "odd[missing]", &[]).expect(2);
    assert!(said.err.contains("page 2 of its tools cannot be read"), "{}", said.err);
    run(&home, "odd[echo:reads]", &[]).expect(0);
    let came = call_results(&home);
    assert!(
        came.contains("you said hello") && came.contains("the unknown type `future` is left out"),
        "{came}"
    );
    assert!(!came.contains("failed"), "{came}");
}

/// elastic/kibana#287769: fields that only `additionalProperties` allows.
#[test]
fn free_fields_of_a_tool_reach_the_server() {
    let arguments = json!({ "word": "a", "colour": "red", "nested": { "n": [1, "x"] } });
    let home = home("free", &[json!({ "name": "far_echo", "arguments": arguments })]);
    let shown = home.almoner(&["mcp", "tools", "free"]).expect(0).out;
    assert!(shown.contains("echo(word: text, …)"), "{shown}");
    run(&home, "free[echo]", &[]).expect(7);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    assert!(card.contains("other arguments") && card.contains("colour") && card.contains("red"), "{card}");
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    let came = call_results(&home);
    assert!(came.contains(r#""colour":"red""#) && came.contains(r#""n":[1,"x"]"#), "{came}");
    assert!(!came.contains("other arguments"), "{came}");
}

/// The rows of the protocol that a program can get wrong: how it writes its messages.
#[test]
fn server_program_with_odd_habits_is_used() {
    for mode in [
        // Text of a log between the messages, a byte order mark, CRLF, batches, identifiers as text.
        "chats",
        // It ends when the first message is no `initialize` (0xMassi/webclaw#107).
        "strict",
        // It does not answer what it does not know.
        "mute",
        // It asks and tells between the question and the answer, in all ways.
        "interrupts",
        // It writes `NaN` and half a surrogate pair, as Python does.
        "python",
        // It names no version, no capabilities, and itself in no way.
        "terse",
    ] {
        let home = home(mode, &[echo("hello")]);
        run(&home, &format!("{mode}[echo:reads]?time=20s"), &[]).expect(0);
        let came = call_results(&home);
        assert!(came.contains("you said hello") && !came.contains("failed"), "{mode}: {came}");
    }
}

/// The rows of the protocol that a program can get wrong so that it cannot be used: each says what was wrong.
///
/// Other programs say `failed` or `Connection closed`: nicobailon/pi-mcp-adapter#196, can1357/oh-my-pi#11923,
/// isaacphi/mcp-gdrive#9 (a line on standard output), samanhappy/mcphub#1015.
#[test]
fn unusable_server_program_says_which_message_was_wrong() {
    for (mode, words) in [
        ("crashes", vec!["it broke off: it ended with status 1, saying: ", "Error: Cannot find module 'x'"]),
        (
            "future",
            vec![
                "it speaks the version 2099-01-01 of the protocol, and Almoner speaks 2026-07-28, 2025-11-25",
            ],
        ),
        (
            "dies-mute",
            vec!["it broke off: it ended with status 9, and wrote nothing to its standard error output"],
        ),
        ("refuses-greeting", vec!["it refused `initialize` (code -32001): Your session token has expired"]),
        ("no-list", vec!["its answer to `tools/list` cannot be used: it has no list `tools`"]),
        ("half", vec!["its answer to `tools/list` cannot be used: it is no JSON, or was cut"]),
        ("help", vec!["saying: usage: server [options]"]),
        (
            "prints",
            vec![
                "did not answer `initialize` within 6 s",
                "its standard output, which is for messages alone, has: Listening on port 3000",
            ],
        ),
    ] {
        let home = home(mode, &[]);
        let said = home.almoner(&["mcp", "tools", mode, "--timeout", "6s"]).expect(1);
        for word in words {
            assert!(said.err.contains(word), "{mode}: {word}: {}", said.err);
        }
        assert!(!is_at_work(&home), "{mode}: it is still there");
    }
}

/// A server that ended between two calls is started anew, since the second call was never sent.
#[test]
fn server_that_ends_between_calls_is_started_again() {
    let home = home("once", &[echo("a"), echo("b")]);
    run(&home, "once[echo:reads]", &[]).expect(0);
    let came = call_results(&home);
    assert!(came.contains("you said a") && came.contains("you said b"), "{came}");
    assert_eq!(log(&home), ["echo a", "echo b"]);
}
