//! Tests of runs with children that have stopped, wait for an answer, or have failed.

use serde_json::Value;

use super::RunFixture;
use super::server::{Answer, Server, calls, costs, says, status};
use crate::test_home::Said;

const RUN: [&str; 8] = ["run", "note.worker", "letters", "--each", "-j2", "-e", "out=notes:rw", "-m"];

/// Returns a desk with two letters. The child for letter B wants to write a note. `of_a` gives the server's answers
/// about letter A, by the number of requests about it.
fn family(mut of_a: impl FnMut(usize) -> Answer + Send + 'static) -> (RunFixture, Server) {
    let desk = RunFixture::new();
    desk.home.write("note.worker", "---\nslots: { out: dir rw }\n---\nTake a note.\n");
    desk.home.write("letters/a.txt", "This is letter A.\n");
    desk.home.write("letters/b.txt", "This is letter B.\n");
    let mut asked = 0;
    let server = Server::start(move |_, request| {
        if request.to_string().contains("letter A") {
            asked += 1;
            return of_a(asked);
        }
        match request["messages"].as_array().map_or(0, Vec::len) {
            0..=2 => calls("out_write", r#"{"path": "b.md", "content": "noted"}"#),
            _ => says("b is done"),
        }
    });
    (desk, server)
}

fn busy() -> Answer {
    status("500 Internal Server Error", "", "no")
}

fn start(desk: &RunFixture, server: &Server) -> Said {
    desk.home.almoner(&[&RUN[..], &[&server.model()]].concat())
}

/// Returns the run of the child for a letter, and where it stands.
#[track_caller]
fn child(desk: &RunFixture, letter: &str) -> (String, String) {
    let steps = desk.home.trace("r3");
    let item = |step: &Value| step["entry"]["index"] == if letter == "a" { 0 } else { 1 };
    let spawned =
        steps["steps"].as_array().unwrap().iter().find(|s| s["entry"]["entry"] == "spawned" && item(s));
    let number = format!("r{}", spawned.unwrap()["entry"]["child"]);
    let state = desk.home.trace(&number)["run"]["state"]["state"].as_str().unwrap().to_owned();
    (number, state)
}

/// Returns the number of the card of the child that asks.
#[track_caller]
fn card(said: &Said) -> String {
    said.err.split("`almoner approve ").nth(1).unwrap_or_else(|| panic!("{}", said.err))[..]
        .split('`')
        .next()
        .unwrap()
        .to_owned()
}

fn is(state: &str, (_, found): &(String, String)) -> bool {
    state == found
}

#[test]
fn batch_with_stalled_and_waiting_children_reports_both() {
    let (desk, server) = family(|asked| if asked <= 3 { busy() } else { says("a is done") });
    let said = start(&desk, &server).expect(1);
    let (a, b) = (child(&desk, "a"), child(&desk, "b"));
    assert!(is("stalled", &a) && is("waiting", &b), "{a:?} {b:?}");
    assert!(said.err.contains(&format!("{} stalled", a.0)), "{}", said.err);
    // The parent stands for all of them; saying it twice is as good as once.
    let said = desk.home.almoner(&["resume", "r3"]).expect(7);
    let number = card(&said);
    let before = (desk.home.trace("r3"), desk.home.trace(&a.0), server.requests().len());
    assert_eq!(card(&desk.home.almoner(&["resume", "r3"]).expect(7)), number);
    assert_eq!(card(&desk.home.almoner(&["resume"]).expect(7)), number);
    assert_eq!(before, (desk.home.trace("r3"), desk.home.trace(&a.0), server.requests().len()));
    // A child can be followed by its own number: one that is over, and one that waits.
    assert_eq!(desk.home.almoner(&["resume", &a.0]).expect(0).json()["output"], "a is done");
    assert_eq!(card(&desk.home.almoner(&["resume", &b.0]).expect(7)), number);
    // A no to the child's card lets it, and with it the parent, come to an end.
    desk.home.almoner(&["deny", &number, "-r", "no notes"]).expect(0);
    let value = desk.home.almoner(&["resume", "r3"]).expect(0).json();
    assert_eq!(value["items"][0]["output"], "a is done");
    assert_eq!(value["items"][1]["output"], "b is done");
    assert!(!desk.home.path("notes/b.md").exists());
    desk.nothing_lost();
}

#[test]
fn stalled_child_resumes_by_its_number_and_so_does_the_parent() {
    let (desk, server) = family(|asked| if asked <= 3 { busy() } else { says("a is done") });
    start(&desk, &server).expect(1);
    let (a, _) = child(&desk, "a");
    assert_eq!(desk.home.almoner(&["resume", &a]).expect(0).json()["output"], "a is done");
    let number = card(&desk.home.almoner(&["resume", "r3"]).expect(7));
    desk.home.almoner(&["approve", &number]).expect(0);
    let value = desk.home.almoner(&["resume", "r3"]).expect(0).json();
    assert_eq!(value["items"].as_array().unwrap().len(), 2);
    assert_eq!(desk.home.read("notes/b.md"), "noted");
    desk.nothing_lost();
}

#[test]
fn answer_to_one_child_leaves_the_other_stalled() {
    let (desk, server) = family(|asked| if asked <= 3 { busy() } else { says("a is done") });
    start(&desk, &server).expect(1);
    // The card comes before the resume: the order in which a person does things does not matter.
    let open = desk.home.almoner(&["inbox", "--json"]).expect(0).json();
    let number = open.as_array().unwrap().last().unwrap()["number"].to_string();
    desk.home.almoner(&["approve", &number]).expect(0);
    super::wait_until("b is over", || is("finished", &child(&desk, "b")));
    assert!(is("stalled", &child(&desk, "a")));
    assert!(is(
        "waiting",
        &("r3".to_owned(), desk.home.trace("r3")["run"]["state"]["state"].as_str().unwrap().to_owned())
    ));
    desk.home.almoner(&["resume", "r3"]).expect(0);
    desk.nothing_lost();
}

#[test]
fn failed_child_is_final_and_reported_beside_the_others() {
    let (desk, server) = family(|_| status("400 Bad Request", "", r#"{"error": "never"}"#));
    let number = card(&start(&desk, &server).expect(7));
    assert!(is("finished", &child(&desk, "a")));
    desk.home.almoner(&["approve", &number]).expect(0);
    let value = desk.home.almoner(&["resume", "r3"]).expect(1).json();
    assert!(value["items"][0]["error"].as_str().unwrap().contains("never"), "{value}");
    assert_eq!(value["items"][1]["output"], "b is done");
    let asked = server.requests().len();
    // It is over: saying `resume` changes nothing, and says again why.
    let (a, _) = child(&desk, "a");
    desk.home.almoner(&["resume", &a]).expect(1);
    assert_eq!(server.requests().len(), asked);
    desk.nothing_lost();
}

#[test]
fn resume_without_a_number_picks_the_stalled_run() {
    let (desk, server) = family(|asked| if asked <= 3 { busy() } else { says("a is done") });
    start(&desk, &server).expect(1);
    // Another run has come and gone since.
    desk.home.almoner(&super::RUN_HELLO).expect(0);
    let said = desk.home.almoner(&["resume"]).expect(7);
    assert!(said.err.contains("r3 waits for you"), "{}", said.err);
    desk.home.almoner(&["approve", &card(&said)]).expect(0);
    desk.home.almoner(&["resume", "r3"]).expect(0);
    // Nothing has stopped any more: it is the latest again.
    assert_eq!(desk.home.almoner(&["resume"]).expect(0).out, "hello\n");
    desk.nothing_lost();
}

#[test]
fn parallel_children_respect_the_limit_of_the_run() {
    const LIMIT: u64 = 1_200;
    let desk = RunFixture::new();
    let file = format!("---\nslots: {{ docs: dir }}\nlimits: {{ tokens: {LIMIT} }}\n---\nLook around.\n");
    desk.home.write("spender.worker", file);
    for letter in ["a", "b", "c", "d"] {
        desk.home.write(&format!("letters/{letter}.txt"), letter);
    }
    // It never ends by itself, and each answer costs 100 tokens.
    let server = Server::start(|_, _| costs("docs_list", "{}", 100));
    let model = server.model();
    let run = ["run", "spender.worker", "letters", "--each", "-j4", "-e", "docs=letters", "-m", &model];
    let run = [&run[..], &["--on-ask", "deny"]].concat();
    super::check(&desk.home.almoner(&run), &["run"], 5, &["tokens are used"], "limits:");
    assert_eq!(server.requests().len() as u64 * 100, LIMIT);
    let used = &desk.home.trace("r3")["run"]["used"];
    let tokens = used["input_tokens"].as_u64().unwrap() + used["output_tokens"].as_u64().unwrap();
    assert_eq!(tokens, LIMIT, "{used}");
    // The last reply could not be longer than the rest of the limit.
    assert!(server.requests().iter().all(|request| request["max_tokens"].as_u64().unwrap() <= LIMIT / 4));
    desk.nothing_lost();
}
