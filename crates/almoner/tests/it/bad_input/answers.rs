//! Answers that make no sense, come twice, or say no.

use serde_json::json;

use super::server::{Server, calls, says};
use super::{RunFixture, check, files};

#[test]
fn answer_to_a_message_that_asks_nothing_is_refused() {
    let desk = RunFixture::new();
    let card = desk.card.as_str();
    let cases: &[(&[&str], i32, &[&str], &str)] = &[
        (&["99"], 4, &["no message 99"], "waits for you: `almoner inbox "),
        (&["seven"], 2, &["`seven` is not a message number"], "`almoner inbox`"),
        (&["r2"], 2, &["`r2` is not a message number"], "`almoner inbox`"),
        (&["99999999999999999999999"], 2, &["is not a message number"], "`almoner inbox`"),
        (&["--", "-1"], 2, &["`-1` is not a message number"], "`almoner inbox`"),
        // The first commands of the desk. They take no number of a message.
        (
            &["0"],
            4,
            &["message 0 is not an approval: it is a command of yours"],
            "waits for you: `almoner inbox ",
        ),
        (&["0.1"], 4, &["message 0.1 is not an approval"], "waits for you: `almoner inbox "),
        (&["0.0"], 2, &["`0.0` is not a message number"], "`almoner inbox`"),
        (&[card, "--only", "3"], 4, &["has no entry 3; it has 2"], "shows them"),
        (&[card, "--only", "1,3"], 4, &["has no entry 3; it has 2"], "shows them"),
        (&[card, "--only", "1-3"], 4, &["has no entry 3; it has 2"], "shows them"),
        (&[card, "1-3"], 4, &["has no entry 3; it has 2"], "shows them"),
        (&[card, "--only", "2-1"], 2, &["from the lower number to the higher"], "shows them"),
        (&[card, "--only", "1-"], 2, &["not a number"], "`1-3`"),
        (&[card, "--only", "0"], 2, &["entries are counted from 1"], "shows them"),
        // Without a number and without a terminal, the command cannot tell which message is meant.
        (&[], 7, &["which message?", card], "answers it"),
    ];
    for (args, code, says, help) in cases {
        for verb in ["approve", "deny"] {
            desk.refused(&[&[verb], *args].concat(), *code, says, help);
        }
    }
    for (args, code) in [(["inbox", "99"], 4), (["inbox", "x"], 2)] {
        desk.refused(&args, code, &["message"], "`almoner inbox");
    }
    desk.nothing_happened();
}

/// Reported of other programs: openai/openai-agents-python#4429, synaptent/aragora#1995,
/// OpenRouterTeam/typescript-sdk#518 (a yes and a no to the same call), NCI-Agency/anet#259 (who said it, and when).
#[test]
fn second_answer_is_reported_and_changes_nothing() {
    let desk = RunFixture::new();
    let (home, card) = (&desk.home, desk.card.as_str());
    home.almoner(&["approve", card, "--only", "1"]).expect(0);
    let again = home.almoner(&["deny", card, "--only", "1", "-r", "no, do not"]).expect(8);
    assert!(again.err.contains("it was approved at"), "{}", again.err);
    home.almoner(&["approve", card]).expect(0);
    home.almoner(&["resume", "r2"]).expect(0);
    let (before, written) = (home.trace("r2"), files(&home.path("kept")));
    for args in [&["approve", card][..], &["approve", card, "--run"], &["approve", card, "--json"]] {
        let said = home.almoner(args).expect(0);
        let told = said.out.contains("nothing changed") || said.out.contains("already_answered");
        assert!(told && said.err.is_empty(), "{args:?}: {said:?}");
    }
    for args in [&["deny", card][..], &["deny", card, "--json"], &["deny", card, "2"]] {
        home.almoner(args).expect(8);
    }
    let said = home.almoner(&["resume", "r2"]).expect(0);
    assert_eq!((said.out.as_str(), home.trace("r2")), ("written\n", before));
    assert_eq!(files(&home.path("kept")), written);
    // Nothing waits any more.
    check(&home.almoner(&["approve"]), &["approve"], 4, &["nothing waits for you"], "almoner inbox --all");
}

#[test]
fn denial_reason_reaches_the_model() {
    let desk = RunFixture::new();
    let write = json!({"path": "a.md", "content": "first\n"}).to_string();
    let server = Server::saying(vec![calls("out_write", &write), says("as you like")]);
    let model = server.model();
    let run = ["run", "keeper.worker", "-e", "out=other:rw", "-m", &model, "--json"];
    let waiting = desk.home.almoner(&run).expect(7).json();
    let number = waiting["pending"][0].to_string();
    assert_eq!(server.requests().len(), 1, "nothing is asked of the model while the run waits");
    desk.home.almoner(&["deny", &number, "-r", "not there \u{1b}[2J, put it elsewhere"]).expect(0);
    assert_eq!(desk.home.almoner(&["resume", "r3"]).expect(0).out, "as you like\n");
    let told = server.requests()[1]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(told.contains("host/denied") && told.contains("put it elsewhere"), "{told}");
    assert!(!desk.home.path("other/a.md").exists());
    let card = desk.home.almoner(&["inbox", &number]).expect(0).out;
    assert!(card.contains("put it elsewhere") && !card.contains('\u{1b}'), "{card:?}");
    desk.nothing_lost();
}

#[test]
fn run_without_a_terminal_prints_the_message_number_and_waits() {
    let desk = RunFixture::new();
    let number = desk.card.parse::<u64>().unwrap();
    for extra in [&[][..], &["--json"], &["--events"]] {
        // A question that already waits is found again.
        let said = desk.home.almoner(&[&["resume", "r2"], extra].concat());
        let message = format!("r2 waits for you: message {number}");
        check(&said, extra, 7, &[&message], &format!("`almoner approve {number}`"));
        if !extra.is_empty() {
            let last: serde_json::Value = serde_json::from_str(said.out.lines().last().unwrap()).unwrap();
            assert_eq!((&last["state"], &last["pending"]), (&json!("waiting"), &json!([number])));
            assert_eq!(last["run"], "r2");
        } else {
            assert_eq!(said.out, "");
        }
    }
    desk.nothing_happened();
}
