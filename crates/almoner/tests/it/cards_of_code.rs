//! The cards of code that asks: which code it is, and why its calls were let through.

use crate::sends::wait_for_mail;
use crate::test_home::TestHome;

/// Returns a home with a directory `dir`.
fn with_dir() -> TestHome {
    let home = TestHome::new();
    std::fs::create_dir(home.path("out")).unwrap();
    home.almoner(&["mount", "out", "dir"]).expect(0);
    home
}

#[test]
fn card_and_why_name_code_by_its_result() {
    let home = with_dir();
    let write = "E(d).writeText('.env', 'mine')";
    home.almoner(&["eval", write, "d=dir", "--name", "settings", "--detach"]).expect(0);
    let number = wait_for_mail(&home, "approval").to_string();
    let said = |args: &[&str]| home.almoner(args).expect(0).out;
    for args in [&["inbox", &number, "--full"][..], &["runs"], &["why", &number]] {
        let told = said(args);
        assert!(told.contains("code of settings"), "{args:?}: {told}");
    }
    home.almoner(&["approve", &number]).expect(0);
    home.almoner(&["show", "settings", "--wait"]).expect(0);
    let why = said(&["why", &home.path("out/.env").display().to_string()]);
    assert!(why.contains("code of settings did it without a run"), "{why}");
    // A name can be any text, and the reader of the card has chosen it.
    home.almoner(&["move", "--force", "settings", "on \u{202e}it"]).expect(0);
    let told = said(&["inbox", &number, "--full"]);
    assert!(told.contains(r"code of on \u{202E}it") && !told.contains('\u{202e}'), "{told}");
}

#[test]
fn unnamed_code_is_shown_by_number_and_author() {
    let home = with_dir();
    let number_of_code = |told: &str, behind: &str| {
        let (_, rest) = told.split_once("“code ").unwrap_or_else(|| panic!("no code in {told}"));
        let (number, _) = rest.split_once(behind).unwrap_or_else(|| panic!("{behind} is not in {told}"));
        number.len() == 8 && number.chars().all(|char| char.is_ascii_hexdigit())
    };
    home.almoner(&["eval", "E(d).writeText('.env', 'a')", "d=dir", "--detach"]).expect(0);
    let number = wait_for_mail(&home, "approval").to_string();
    let card = home.almoner(&["inbox", &number, "--full"]).expect(0).out;
    assert!(number_of_code(&card, "” wants"), "{card}");
    home.almoner(&["deny", &number]).expect(0);
    // The same with code of another agent, whose own name for it no other agent may read.
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["send", "fae", "take @dir"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat()).expect(0);
    let inbox = fae(&["inbox", "--all", "--json"]).json();
    fae(&["adopt", &inbox[0]["number"].to_string(), "dir"]);
    fae(&["eval", "E(d).writeText('.env', 'b')", "d=dir", "--name", "hers", "--detach"]);
    let number = wait_for_mail(&home, "approval").to_string();
    let card = home.almoner(&["inbox", &number, "--full"]).expect(0).out;
    assert!(number_of_code(&card, " of @agent-fae” wants") && !card.contains("hers"), "{card}");
}

#[test]
fn why_shows_gate_verdicts_with_their_reasons() {
    let home = with_dir();
    home.almoner(&["eval", "E(d).writeText('a.md', 'a')", "d=dir"]).expect(0);
    home.almoner(&["eval", "E(d).writeText('.env', 'a')", "d=dir", "--detach"]).expect(0);
    let number = wait_for_mail(&home, "approval").to_string();
    let why = |thing: &str| home.almoner(&["why", thing]).expect(0).out;
    let allowed = why(&home.path("out/a.md").display().to_string());
    let line = allowed.lines().find(|line| line.contains("the gates said")).unwrap();
    assert!(line.ends_with("the gates said allow"), "{allowed}");
    let asked = why(&number);
    let (_, reason) = asked.split_once("the gates said ask: ").unwrap_or_else(|| panic!("{asked}"));
    assert!(reason.trim().len() > 10, "{asked}");
}

/// Checks that the effects of code, and their reasons, outlive the code. The code is collected once it has ended and
/// no agent holds its result.
#[test]
fn why_traces_a_file_to_its_cause_after_code_is_collected() {
    let home = with_dir();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let fae = |args: &[&str]| home.almoner(&[&["--as", "agent-fae"], args].concat()).expect(0);
    home.write("code.js", "E(d).writeText('by-host.md', 'x')");
    fae(&["define", "code.js", "--slot", "d:any"]);
    let number = wait_for_mail(&home, "definition").to_string();
    home.almoner(&["endow", &number, "d=dir"]).expect(0);
    // The same by a guest with the directory that it was given.
    home.almoner(&["send", "fae", "take @dir"]).expect(0);
    let inbox = fae(&["inbox", "--all", "--json"]).json();
    let sent = inbox.as_array().unwrap().iter().find(|one| one["mail"]["envelope"]["kind"] == "package");
    fae(&["adopt", &sent.unwrap()["number"].to_string(), "dir"]);
    fae(&["eval", "E(d).writeText('by-fae.md', 'x')", "d=dir"]);
    let said = |args: &[&str]| home.almoner(args).expect(0).out;
    let begun = std::time::Instant::now();
    while said(&["runs", "--all"]).matches("done").count() < 2 {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{}", said(&["runs", "--all"]));
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    home.almoner(&["gc"]).expect(0);
    home.almoner(&["stop"]).expect(0);
    for (file, says) in [
        (
            "by-host.md",
            &["you gave it to code ", "fae proposed what it was given to", "you said: almoner endow"][..],
        ),
        ("by-fae.md", &["it was given to ", "you gave it to fae", "you said: almoner send fae"]),
    ] {
        let why = said(&["why", "--json", &home.path("out").join(file).display().to_string()]);
        assert!(why.contains("was written by an effect") && !why.contains("is gone since"), "{why}");
        for says in says {
            assert!(why.contains(says), "{says} is not in {why}");
        }
    }
    let why = said(&["why", "--json", "r1"]);
    for says in ["did it without a run", "you gave it to code ", "you said: almoner endow"] {
        assert!(why.contains(says), "{says} is not in {why}");
    }
}
