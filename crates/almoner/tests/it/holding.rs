//! Tests of the holders of grants: their names in lists, access to bytes only by supplying them, and withdrawn
//! messages.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::test_home::{Said, TestHome};
use crate::wire;

fn with_fae() -> TestHome {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae"]).expect(0);
    home
}

fn fae(home: &TestHome, args: &[&str]) -> Said {
    home.almoner(&[&["--as", "fae"], args].concat())
}

/// Sends requests to the daemon as they are, and reads the answer to the last.
fn ask(home: &TestHome, request: &Value) -> Value {
    let mut stream = UnixStream::connect(home.root().join("run/control.sock")).unwrap();
    for value in [&wire::hello(), request] {
        let bytes = value.to_string().into_bytes();
        stream.write_all(&u32::try_from(bytes.len()).unwrap().to_le_bytes()).unwrap();
        stream.write_all(&bytes).unwrap();
    }
    let mut answer = Value::Null;
    for _ in 0..2 {
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        let mut frame = vec![0; u32::from_le_bytes(length) as usize];
        stream.read_exact(&mut frame).unwrap();
        answer = serde_json::from_slice(&frame).unwrap();
    }
    answer
}

#[test]
fn blob_hash_alone_grants_no_access() {
    let home = with_fae();
    let secret = "only the host has read this\n";
    home.write("letter.txt", secret);
    home.almoner(&["store", "letter=@letter.txt"]).expect(0);
    let hash = blake3::hash(secret.as_bytes()).to_hex().to_string();
    let rows = fae(&home, &["list", "-l", "--json"]).expect(0).json();
    let own = rows.as_array().unwrap().iter().find(|row| row["name"] == "@agent").unwrap()["id"].clone();
    let store_blob = json!({"name": "store_blob", "hash": hash, "bytes": secret.len(), "path": ["mine"]});
    let within = json!({"name": "within", "base": own, "act": store_blob});
    let twice = json!({"name": "within", "base": own, "act": within});
    let program = json!({"name": "w", "definition": hash, "includes": {"a": hash}, "limits": {"turns": 1, "depth": 1, "tokens": 1, "wall_ms": 1}});
    let text = json!({"source": "---\n---\nx", "worker": program, "slots": {}});
    let define = json!({"mail": "define", "to": ["@host"], "program": text, "result_name": null});
    let edit = json!({"mail": "edit", "number": 0, "program": text});
    let sealed = json!({"filled": "sealed", "sealed": {"method": "x", "nonce": hash, "bytes": hash}});
    let submit = json!({"mail": "submit", "number": 0, "values": {"key": sealed}});
    let modules = json!({"packed": "archive", "hash": hash, "bytes": secret.len(), "entry": "x"});
    let make = json!({"mail": "make", "modules": modules, "result_name": ["mine"]});
    let acts = [
        json!({"do": "mail", "act": make}),
        json!({"do": "name", "act": store_blob}),
        json!({"do": "name", "act": within}),
        json!({"do": "name", "act": twice}),
        json!({"do": "mail", "act": define}),
        json!({"do": "mail", "act": edit}),
        json!({"do": "mail", "act": submit}),
    ];
    for act in acts {
        for agent in [json!("profile-for-fae"), Value::Null] {
            let answer = ask(&home, &json!({"request": "act", "agent": agent, "said": null, "act": act}));
            assert_eq!(answer["body"]["exit"], "usage", "{act}: {answer}");
            let why = answer["body"]["message"].as_str().unwrap();
            assert!(
                why.contains("not by naming their hash") || why.contains("a request of its own"),
                "{act}: {why}"
            );
        }
    }
    fae(&home, &["cat", "mine"]).expect(4);
    // An agent that supplies the bytes may use them, even if another agent has stored the same bytes.
    let given = json!({"do": "store_text", "text": secret, "path": ["mine"]});
    let request = json!({"request": "act", "agent": "profile-for-fae", "said": null, "act": given});
    assert_eq!(ask(&home, &request)["response"], "reply");
    assert_eq!(fae(&home, &["cat", "mine"]).expect(0).out, secret);
}

#[test]
fn holders_are_shown_by_the_givers_names() {
    let home = with_fae();
    home.almoner(&["mkguest", "eve"]).expect(0);
    home.almoner(&["mkdir", "d"]).expect(0);
    for to in ["fae", "eve", "@self"] {
        home.almoner(&["send", to, "@d"]).expect(0);
    }
    home.write("note.worker", "---\nslots: { out: dir rw }\n---\nWrite.\n");
    home.write("script.json", r#"[{"turns": [{"text": "done"}]}]"#);
    home.almoner(&["run", "note.worker", "-e", "out=notes:rw", "-m", "scripted:script.json"]).expect(0);
    // A holder that has lost its name is shown by its kind and a part of its identifier.
    home.almoner(&["remove", "eve", "profile-for-eve"]).expect(0);
    let grants = home.almoner(&["grants"]).expect(0).out;
    let held_by: Vec<&str> = grants
        .lines()
        .map(|line| line.split_once("held by ").unwrap().1.split(';').next().unwrap())
        .collect();
    assert_eq!(held_by.len(), 4, "{grants}");
    // The store's own host is a host to itself.
    assert_eq!((held_by[0], held_by[2]), ("fae", "@host"), "{grants}");
    // A worker is also shown by the name of its file.
    for (at, before, behind) in [(1, "guest ", ""), (3, "worker note (", ")")] {
        let digits = held_by[at].strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
        let digits = digits.unwrap_or_else(|| panic!("{grants}"));
        assert!(digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_hexdigit()), "{grants}");
    }
    let rows = home.almoner(&["grants", "--json"]).expect(0).json();
    assert_eq!((&rows[0]["held_by"], &rows[0]["number"]), (&json!("fae"), &json!(1)));
}

#[test]
fn withdrawn_request_is_shown_and_its_answer_conflicts() {
    let home = with_fae();
    fae(&home, &["request", "@host", "a horse", "--result", "horse"]).expect(0);
    let open = home.almoner(&["inbox", "--json"]).expect(0).json();
    let number = open[0]["number"].to_string();
    fae(&home, &["cancel", "horse", "-r", "a bicycle will do"]).expect(0);
    assert_eq!(home.almoner(&["inbox", "--json"]).expect(0).json(), json!([]), "nothing waits");
    let letter = home.almoner(&["inbox", &number]).expect(0).out;
    assert!(letter.contains("✗ withdrawn by its sender: a bicycle will do"), "{letter}");
    home.almoner(&["store", "red=red"]).expect(0);
    for late in [&["resolve", &number, "red"][..], &["reject", &number]] {
        let said = home.almoner(late).expect(8);
        assert!(said.err.contains("was withdrawn by whoever sent it"), "{}", said.err);
    }
    fae(&home, &["show", "horse"]).expect(1);
    fae(&home, &["cancel", "horse"]).expect(8);
    home.almoner(&["request", "fae", "a map", "--result", "map"]).expect(0);
    fae(&home, &["cancel", "@host"]).expect(5);
    fae(&home, &["cancel", "r1"]).expect(5);
}

#[test]
fn form_fields_are_read_from_yaml_with_located_errors() {
    let home = with_fae();
    home.write("good.yaml", "# settings\nretries:\n  pattern: 1..5\n  label: How often?\n  default: 3\nmode: fast|slow\nkey: secret\n");
    home.write("good.json", r#"{"retries": {"pattern": "1..5", "label": "How often?", "default": 3}, "mode": "fast|slow", "key": "secret"}"#);
    let mut shown = vec![];
    for file in ["good.yaml", "good.json"] {
        fae(&home, &["form", "@host", "Settings", "--file", file]).expect(0);
        let forms = home.almoner(&["inbox", "--json"]).expect(0).json();
        let number =
            forms.as_array().unwrap().iter().map(|form| form["number"].as_u64().unwrap()).max().unwrap();
        let letter = home.almoner(&["inbox", &number.to_string()]).expect(0).out;
        shown.push(letter.lines().skip(1).collect::<Vec<_>>().join("\n"));
    }
    assert_eq!(shown[0], shown[1]);
    assert!(shown[0].contains("│ How often?") && shown[0].contains("it is sealed"), "{}", shown[0]);
    home.write("bad.yaml", "retries: M.nope()\nmode:\n  patern: fast|slow\n");
    let before = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let said = fae(&home, &["form", "@host", "Settings", "--file", "bad.yaml"]).expect(6);
    for part in ["bad.yaml:1:", "bad.yaml:3:3", "did you mean `pattern`?", "there are 2 errors"] {
        assert!(said.err.contains(part), "{part} in\n{}", said.err);
    }
    assert_eq!(home.almoner(&["inbox", "--all", "--json"]).expect(0).json(), before, "nothing was sent");
}
