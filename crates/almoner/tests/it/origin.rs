//! `almoner why NAME`: from a name back to the event, the message, the run and the command that it comes from.

use crate::test_home::TestHome;

const RESULT: &str = "---\ndescription: Answers.\n---\nSay ok.\n";
const SCRIPT: &str = r#"[{ "turns": [{ "text": "ok" }] }]"#;

fn fae(home: &TestHome, args: &[&str]) -> String {
    home.almoner(&[&["--as", "agent-fae"], args].concat()).expect(0).out
}

#[test]
fn why_traces_a_name_to_its_command_and_each_holder() {
    let home = TestHome::new();
    home.write("result.worker", RESULT);
    home.write("script.json", SCRIPT);
    let host = |args: &[&str]| home.almoner(args).expect(0).out;
    host(&["store", "answer=42"]);
    host(&["mkguest", "fae", "agent-fae"]);
    fae(&home, &["define", "result.worker", "--result", "g"]);
    host(&["endow", "1", "-m", "scripted:script.json"]);
    fae(&home, &["show", "g", "--wait"]);
    fae(&home, &["store", "note=hello"]);
    fae(&home, &["send", "@host", "see @note please"]);
    host(&["adopt", "2", "note", "mine"]);
    host(&["mkdir", "stuff"]);
    host(&["copy", "answer", "stuff/a"]);
    // The arguments of `why`, and texts that its lines contain in this order.
    let check = |args: &[&str], expected: &[&str]| {
        let said = host(&[&["why"], args].concat());
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines.len() <= 10 || args.contains(&"--kept"), "{said}");
        let mut rest = lines.iter();
        for wanted in expected {
            assert!(
                rest.any(|line| line.contains(wanted)),
                "{args:?}: no `{wanted}` in its place in\n{said}"
            );
        }
    };
    check(&["answer"], &["is a value (string)", "gave it the name", "you said: almoner store answer=42"]);
    check(&["fae"], &["is a mail address", "you said: almoner mkguest fae agent-fae"]);
    check(&["mine"], &["is a value", "fae sent it in a package", "you said: almoner adopt 2 note mine"]);
    check(&["stuff/a"], &["is a value", "you said: almoner copy answer stuff/a"]);
    let said = host(&["why", "@self"]);
    assert!(said.contains("is a mail address") && !said.contains("message"), "nothing brought it: {said}");
    check(&["answer", "--kept"], &["the root of this store", "name answer"]);
    let id = home.almoner(&["list", "-l", "--json"]).expect(0).json();
    let id = id.as_array().unwrap().iter().find(|row| row["name"] == "answer").unwrap()["id"].clone();
    check(&[id.as_str().unwrap()], &["is a value (string)"]);
}

#[test]
fn why_shows_a_guest_nothing_of_the_hosts_commands_and_runs() {
    let home = TestHome::new();
    home.write("result.worker", RESULT);
    home.write("script.json", SCRIPT);
    home.almoner(&["store", "private=words"]).expect(0);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    fae(&home, &["define", "result.worker", "--result", "g"]);
    home.almoner(&["endow", "1", "-m", "scripted:script.json"]).expect(0);
    fae(&home, &["show", "g", "--wait"]);
    let said = fae(&home, &["why", "g"]);
    assert!(said.contains("asked for it with a definition"), "{said}");
    for secret in ["almoner", "r1", "you said", "event"] {
        assert!(!said.contains(secret), "`{secret}` in\n{said}");
    }
    let of_others = home.almoner(&["--as", "agent-fae", "why", "private"]);
    assert!(of_others.code != 0 && !of_others.out.contains("private"), "{of_others:?}");
}
