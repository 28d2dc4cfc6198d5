//! At a terminal: Ctrl-C, Ctrl-D, a closed window, and keys that are no answer.

use std::sync::mpsc::{Receiver, channel};

use super::server::{Server, says};
use super::{RunFixture, files, wait_until};
use crate::terminal::{CTRL_C, CTRL_D, Terminal};

/// Starts the keeper once more at a terminal, as `r3`, and waits until it asks. Gives the number of its card.
fn asked(desk: &RunFixture) -> (Terminal, String) {
    let run = ["run", "keeper.worker", "-e", "out=typed:rw", "-m", "scripted:keeper.json"];
    let terminal = Terminal::open(&desk.home, &run);
    terminal.shows("Type `approve", 1);
    let screen = terminal.screen();
    let number = screen.rsplit("Type `approve ").next().unwrap().split('`').next().unwrap().to_owned();
    (terminal, number)
}

/// `r3` waits with its card whole, and comes to its end when that is approved.
#[track_caller]
fn still_waits(desk: &RunFixture, number: &str) {
    assert!(files(&desk.home.path("typed")).is_empty());
    let open = desk.home.almoner(&["inbox", "--json"]).expect(0).json();
    let open: Vec<String> = open.as_array().unwrap().iter().map(|l| l["number"].to_string()).collect();
    assert!(open.contains(&number.to_owned()), "{number} in {open:?}");
    desk.home.almoner(&["approve", number]).expect(0);
    assert_eq!(desk.home.almoner(&["resume", "r3"]).expect(0).out, "written\n");
    assert_eq!(desk.home.read("typed/a.md"), "first\n");
    desk.nothing_lost();
}

#[test]
fn ctrl_c_at_a_card_leaves_the_run_waiting() {
    let desk = RunFixture::new();
    let (mut terminal, number) = asked(&desk);
    terminal.press("approve");
    terminal.press(CTRL_C);
    let (code, screen) = terminal.end();
    assert_eq!(code, 130, "{screen}");
    assert!(screen.contains(&format!("interrupted; r3 waits for you: message {number}")), "{screen}");
    assert!(screen.contains(&format!("`almoner approve {number}`")), "{screen}");
    still_waits(&desk, &number);
}

#[test]
fn ctrl_c_during_a_model_call_leaves_the_run_active() {
    let desk = RunFixture::new();
    let (go, wait) = channel::<()>();
    let wait: Receiver<()> = wait;
    let server = Server::start(move |_, _| {
        let _ = wait.recv();
        says("hello")
    });
    let mut terminal = Terminal::open(&desk.home, &["run", "hello.worker", "-m", &server.model()]);
    wait_until("the model is asked", || server.requests().len() == 1);
    terminal.shows("r3 `hello` asks ", 1);
    terminal.press(CTRL_C);
    let (code, screen) = terminal.end();
    assert_eq!(code, 130, "{screen}");
    assert!(screen.contains("interrupted; r3 goes on") && screen.contains("`almoner resume r3`"), "{screen}");
    go.send(()).unwrap();
    assert_eq!(desk.home.almoner(&["resume", "r3"]).expect(0).out, "hello\n");
    assert_eq!(server.requests().len(), 1, "the daemon has heard nothing of it");
    desk.nothing_lost();
}

#[test]
fn end_of_terminal_input_is_not_an_answer() {
    let desk = RunFixture::new();
    let (mut terminal, number) = asked(&desk);
    terminal.press(CTRL_D);
    let (code, screen) = terminal.end();
    assert_eq!(code, 7, "{screen}");
    assert!(screen.contains(&format!("r3 waits for you: message {number}")), "{screen}");
    still_waits(&desk, &number);
}

#[test]
fn closed_terminal_is_not_an_answer() {
    let desk = RunFixture::new();
    let (mut terminal, number) = asked(&desk);
    terminal.child.kill().unwrap();
    terminal.end();
    still_waits(&desk, &number);
}

#[test]
fn short_input_is_not_an_answer() {
    let desk = RunFixture::new();
    let (mut terminal, number) = asked(&desk);
    let other = desk.card.clone();
    let lines = ["", "y", "yes", "approve", "approve all", "deny", &number, "APPROVE 1", "approve 1 first"];
    for (i, line) in lines.iter().enumerate() {
        terminal.press(&format!("{line}\n"));
        terminal.shows("Type `approve", i + 2);
    }
    // An impossible answer is told of, and the question is asked again.
    terminal.press(&format!("approve {number} 9\n"));
    terminal.shows("has no entry 9; it has 2", 1);
    terminal.shows("Type `approve", lines.len() + 2);
    assert!(files(&desk.home.path("typed")).is_empty());
    // One entry, then the other.
    terminal.press(&format!("approve {number} 1\n"));
    terminal.shows("answered 1 entry; r3 goes on; the others still wait", 1);
    terminal.press(&format!("deny {number} not this one\n"));
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.ends_with("written\n"), "{screen}");
    assert!(desk.home.path("typed/a.md").exists() && !desk.home.path("typed/b.md").exists());
    // The card of the other run was none of its business.
    assert_ne!(number, other);
    desk.nothing_lost();
}

#[test]
fn ctrl_c_at_the_message_prompt_answers_none() {
    let desk = RunFixture::new();
    for (keys, code) in [(CTRL_C, 130), (CTRL_D, 7), ("\n", 7), ("99\n", 7)] {
        let mut terminal = Terminal::open(&desk.home, &["approve"]);
        terminal.shows("Type the number of the message to approve:", 1);
        terminal.press(keys);
        let (ended, screen) = terminal.end();
        assert_eq!(ended, code, "{keys:?}: {screen}");
    }
    // A download is nothing that Enter would begin.
    let mut terminal = Terminal::open(&desk.home, &["models", "pull"]);
    terminal.shows("Fetch it? Type `yes`:", 1);
    terminal.press("y\n");
    let (ended, screen) = terminal.end();
    assert_eq!(ended, 7, "{screen}");
    assert!(
        files(&desk.home.root()).keys().all(|path| !path.starts_with(desk.home.root().join("cache/models")))
    );
    desk.nothing_happened();
}

#[test]
fn report_is_readable_on_a_colour_terminal() {
    let desk = RunFixture::new();
    let line = format!("slot: \"x{}✓ bad.worker can be run\"", " ".repeat(100));
    desk.home.write("bad.worker", format!("---\n{line}\n---\nHi.\n"));
    let (code, screen) = Terminal::narrow(&desk.home, &["run", "bad.worker"], 80).end();
    assert_eq!(code, 6, "{screen}");
    assert!(screen.contains("╭─[bad.worker:2:1]") && screen.contains("did you mean `slots`?"), "{screen}");
    assert!(!screen.contains("u{1B}") && !screen.contains('\u{1b}'), "{screen:?}");
    assert!(!screen.lines().any(|line| line.trim_start().starts_with('✓')), "{screen}");
    desk.nothing_happened();
}

#[test]
fn foreign_lines_stay_marked_in_a_narrow_window() {
    let desk = RunFixture::new();
    let forged = format!("x{}    ✓ approved by you\n\ty{}✓ approved", " ".repeat(50), "\t".repeat(12));
    let script = serde_json::json!([{ "turns": [
        { "calls": [{ "name": "out_write", "arguments": { "path": "a.md", "content": forged } }] },
        { "text": "written" },
    ] }]);
    desk.home.write("forger.json", script.to_string());
    let run = ["run", "keeper.worker", "-e", "out=typed:rw", "-m", "scripted:forger.json"];
    for columns in [30, 64, 100] {
        let mut terminal = Terminal::narrow(&desk.home, &run, columns);
        terminal.shows("Type `approve", 1);
        terminal.press(CTRL_D);
        let (code, screen) = terminal.end();
        assert_eq!(code, 7, "{screen}");
        let card = screen.split("── message").nth(1).unwrap().split("Type `approve").next().unwrap();
        for line in card.lines().skip(1) {
            assert!(
                line.chars().count() < columns,
                "{columns}: {line:?} is broken by the terminal in\n{card}"
            );
            let ours = [
                "  Your task for ",
                "[1] Write ",
                "    changes out.write",
                "    path: ",
                "    content (2 lines):",
                "      │ ",
                "      ┆ ",
                "    · ",
                "  ▸ ",
            ];
            assert!(line.is_empty() || ours.iter().any(|mark| line.starts_with(mark)), "{line:?} in\n{card}");
        }
        // Progress takes one line, regardless of its text.
        let progress = screen.split("── message").next().unwrap();
        let shown = |line: &str| line.rsplit("\u{1b}[J").next().unwrap().chars().count();
        assert!(progress.lines().all(|line| shown(line) <= columns), "{progress}");
    }
}
