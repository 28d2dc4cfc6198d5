//! Conversations: one run each, which waits between the messages.

use serde_json::json;

use crate::terminal::{CTRL_D, Terminal};
use crate::test_home::TestHome;

/// Returns a home with a model that answers in its turn: which answer comes says how much of the conversation it was
/// shown.
fn home() -> TestHome {
    let home = TestHome::new();
    std::fs::create_dir(home.path("out")).unwrap();
    home.write("w.worker", "---\nslots: { out: dir rw }\n---\nTalk, and write what you are told to.\n");
    let write = json!({ "name": "out_write", "arguments": { "path": "a.txt", "content": "kept\n" } });
    let script = json!([
        { "worker": "w", "turns": [{ "text": "first" }, { "calls": [write] }, { "text": "written" }, { "text": "last" }] },
        { "contains": "blue", "turns": [{ "text": "it is noted" }, { "text": "blue, as you said" }, { "text": "again" }] },
    ]);
    home.write("script.json", script.to_string());
    home
}

const CHAT: [&str; 2] = ["chat", "-mscripted:script.json"];

#[test]
fn conversation_survives_a_daemon_restart() {
    let home = home();
    let said = home.piped(&CHAT, b"my favourite colour is blue\nwhat is it?\n").expect(0);
    assert_eq!(said.out, "it is noted\nblue, as you said\n");
    assert!(said.err.contains("almoner chat --continue r1"), "{}", said.err);
    assert!(home.almoner(&["runs"]).expect(0).out.contains("waits for you to say something"));
    assert!(home.almoner(&["inbox"]).expect(0).out.is_empty(), "nobody is asked");
    home.almoner(&["stop"]).expect(0);
    // The last answer is printed once more, because a returning user may not have seen it.
    let said = home.piped(&["chat", "--continue"], b"and once more?\n/end\n").expect(0);
    assert_eq!(said.out, "blue, as you said\nagain\n");
    assert!(home.almoner(&["runs"]).expect(0).out.contains("done"));
    home.piped(&["chat", "--continue", "r1"], b"x\n").expect(8);
    home.piped(&["chat", "--continue"], b"x\n").expect(4);
}

#[test]
fn chat_asks_before_writing() {
    let home = home();
    let args = ["chat", "w.worker", "-e", "out=out:rw", "-m", "scripted:script.json"];
    let said = home.piped(&args, b"hello\nwrite it\nand?\n").expect(7);
    assert_eq!(said.out, "first\n");
    // The line typed meanwhile was not sent.
    let card = home.almoner(&["inbox", "--json"]).expect(0).json()[0]["number"].to_string();
    home.almoner(&["approve", &card]).expect(0);
    assert_eq!(home.piped(&["chat", "-c"], b"and?\n").expect(0).out, "written\nlast\n");
    assert_eq!(home.read("out/a.txt"), "kept\n");
}

#[test]
fn non_conversation_cannot_be_continued() {
    let home = home();
    home.write("sorter.worker", "---\noutput: { class: string }\n---\nSort.\n");
    home.piped(&["chat", "sorter.worker", "-mscripted:script.json"], b"x\n").expect(6);
    home.almoner(&["ask", "blue?", "-m", "scripted:script.json"]).expect(0);
    home.piped(&["chat", "--continue", "r1"], b"x\n").expect(8);
    home.piped(&["chat", "--continue", "r7"], b"x\n").expect(4);
    home.piped(&["chat", "w.worker", "--continue"], b"x\n").expect(2);
}

#[test]
fn terminal_chat_shows_each_answer_before_the_next_prompt() {
    let home = home();
    let mut terminal = Terminal::open(&home, &CHAT);
    terminal.shows("> ", 1);
    terminal.press("my favourite colour is blue\n");
    terminal.shows("it is noted", 1);
    terminal.shows("> ", 2);
    terminal.press("what is it?\n");
    terminal.shows("blue, as you said", 1);
    terminal.shows("> ", 3);
    terminal.press(CTRL_D);
    terminal.shows("is left open", 1);
    // A streamed answer is not printed again.
    assert_eq!(terminal.screen().matches("it is noted").count(), 1, "{}", terminal.screen());
    terminal.end();
}
