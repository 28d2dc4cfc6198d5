//! Runs against model servers that draw their quirks at random, over the whole path: command, daemon, run, server.
//!
//! A run ends well only if its server gave a whole answer. Otherwise it says why, and no half of an answer is printed.
//! `ALMONER_QUIRK_SECONDS` and `ALMONER_QUIRK_SEED` work as in the tests of `model`.

#[path = "../../../model/tests/it/quirks/chance.rs"]
mod chance;
#[path = "../../../model/tests/it/quirks/drawn_answer.rs"]
#[allow(dead_code, reason = "this server writes each answer at once")]
mod drawn_answer;
#[path = "../../../model/tests/it/quirks/intent.rs"]
#[allow(dead_code, reason = "the tests of `model` compare replies, and these compare runs")]
mod intent;
#[path = "../../../model/tests/it/quirks/render.rs"]
mod render;
#[path = "../../../model/tests/it/quirks/seeds.rs"]
mod seeds;
#[path = "../../../model/tests/it/quirks/wire.rs"]
mod wire;

use std::sync::{Arc, Mutex};

use drawn_answer::DrawnAnswer;
use intent::{End, Intent};
use seeds::{FORMATS, Seeds};

use crate::bad_input::server::Server;
use crate::test_home::{Said, TestHome};

/// The number of seeds that the short check plays for each format.
const SEEDS: u64 = 8;

/// The words of parsers, which no person should read.
const PARSER_WORDS: [&str; 5] =
    ["invalid type", "EOF while", "trailing char", "at line 1 column", "missing field"];

/// Returns the fault of a run's end, or `None` if the run did all that the answer asks for. The answer ended with the
/// word `ending`.
fn fault(intent: &Intent, ending: &str, said: &Said) -> Option<&'static str> {
    let is_whole = intent.end == End::Complete && intent.calls.is_empty();
    let Said { code, out, err } = said;
    if PARSER_WORDS.iter().any(|words| err.contains(words)) {
        return Some("a parser's words reached the person");
    }
    if is_whole {
        // Line ends stay, and controls are written out, so the words alone are compared.
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        return (*code != 0 || words(out) != words(&intent.text)).then_some("a whole answer was lost");
    }
    let reason = err.lines().find_map(|line| line.strip_prefix("error: "));
    let has_way_out = err.lines().any(|line| line.trim_start().starts_with("help: "));
    let quotes = |words: &str| err.contains(words);
    match &intent.end {
        _ if *code == 0 || !out.is_empty() => Some("an answer that is not whole was printed"),
        _ if reason.is_none_or(|reason| reason.len() < 20) || !has_way_out => {
            Some("the run does not say why")
        }
        End::Declined(words) | End::Reported(words) if !quotes(words) => {
            Some("the words of the model or the server are lost")
        }
        End::Broken if !quotes(ending) => Some("the reason of the server is lost"),
        _ => None,
    }
}

fn play(home: &TestHome, server: &(Server, Arc<Mutex<Vec<u8>>>), format: &str, reference: &str, seed: u64) {
    let DrawnAnswer { intent, reason, bytes, .. } = DrawnAnswer::draw(format, seed);
    let shown = String::from_utf8_lossy(&bytes).into_owned();
    *server.1.lock().unwrap() = bytes;
    let url = server.0.url().trim_end_matches("/v1").to_owned();
    let model = reference.replace("URL", &url);
    let keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"].map(|name| (name, "sk-test"));
    let said = Said::of(home.command(&["run", "w.worker", "-m", &model]).envs(keys).output().unwrap());
    if let Some(fault) = fault(&intent, &reason, &said) {
        panic!(
            "ALMONER_QUIRK_SEED={seed}, {format}: {fault}\nmeant: {intent:?}\n{shown}\n{}\n{}",
            said.out, said.err
        );
    }
}

#[test]
fn runs_with_odd_servers_end_well_or_say_why() {
    let home = TestHome::new();
    home.write("w.worker", "Answer.\n");
    let seeds = Seeds::from_env(SEEDS);
    std::thread::scope(|scope| {
        for (format, reference) in FORMATS {
            let home = &home;
            scope.spawn(move || {
                let next = Arc::new(Mutex::new(Vec::new()));
                let answers = Arc::clone(&next);
                let server = (Server::start(move |_, _| answers.lock().unwrap().clone()), next);
                seeds.play(|seed| play(home, &server, format, reference, seed));
            });
        }
    });
}
