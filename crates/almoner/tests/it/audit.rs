//! The audit: the recorded events are shown, and a change to them is detected.

use rusqlite::Connection;

use crate::test_home::{CLERK, TestHome};

/// Returns a home in which a person has approved a write.
fn lived_in() -> TestHome {
    let call = r#"{"name": "out_write", "arguments": {"path": "a.md", "content": "text\n"}}"#;
    let home = TestHome::with_clerk(&format!(r#"{{"calls": [{call}]}}"#));
    home.almoner(&CLERK).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    home
}

/// Returns the line that can be kept elsewhere.
fn end(home: &TestHome) -> String {
    let said = home.almoner(&["audit", "verify", "--json"]).expect(0).json();
    format!("{}:{}", said["end"]["seq"], said["end"]["hash"].as_str().unwrap())
}

/// Changes the store behind the daemon's back.
fn change(home: &TestHome, sql: &str) {
    home.almoner(&["stop"]).expect(0);
    let db = Connection::open(home.root().join("state/store/almoner.sqlite")).unwrap();
    assert!(db.execute(sql, []).unwrap() > 0, "{sql}");
}

#[test]
fn audit_log_is_ordered_and_verifiable() {
    let home = lived_in();
    let shown = home.almoner(&["audit", "-n", "100"]).expect(0).out;
    for (before, after) in
        [("began: `clerk`", "proposed out.write"), ("message 1 was answered", "effect_started")]
    {
        let (a, b) = (shown.find(before), shown.find(after));
        assert!(a.is_some() && a < b, "{before}, {after}: {shown}");
    }
    let said = home.almoner(&["audit", "verify"]).expect(0).out;
    assert!(said.contains("each follows the one before"), "{said}");
    // A line kept elsewhere proves that no event before it was changed, however many have come since.
    let kept = end(&home);
    home.almoner(&["mkdir", "notes"]).expect(0);
    assert_ne!(end(&home), kept);
    let said = home.almoner(&["audit", "verify", "--contains", &kept]).expect(0).out;
    assert!(said.contains("nothing before it was changed"), "{said}");
    let (seq, hash) = kept.split_once(':').unwrap();
    let other = if hash.starts_with('0') { "1" } else { "0" };
    for wrong in [format!("{seq}:{other}{}", &hash[1..]), format!("99999:{hash}")] {
        home.almoner(&["audit", "verify", "--contains", &wrong]).expect(1);
    }
    home.almoner(&["audit", "verify", "--contains", "lots"]).expect(2);
}

#[test]
fn events_name_user_machine_and_surface() {
    let home = lived_in();
    let said = |program: &str, argument: &str| {
        let output = std::process::Command::new(program).arg(argument).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let (user, host) = (said("id", "-un"), said("uname", "-n"));
    let shown = home.almoner(&["audit", "-n", "100"]).expect(0).out;
    let by = format!("  {user}@{host}  ");
    assert!(shown.lines().all(|line| line.contains(&by)), "{by}: {shown}");
    assert!(shown.contains("message 1 was answered at the control socket"), "{shown}");
    let found = home.almoner(&["audit", "-n", "100", "--json"]).expect(0).json();
    let events = found["last"].as_array().unwrap();
    for event in events {
        assert_eq!(event["by"], serde_json::json!({ "user": user, "host": host }), "{event}");
    }
    let opened = events.iter().filter(|event| event["change"]["change"] == "opened").count();
    assert_eq!(opened, 1, "{shown}");
}

#[test]
fn audit_verify_detects_tampering() {
    for (what, sql, says) in [
        (
            "a verdict",
            "UPDATE journal SET body = CAST(replace(CAST(body AS TEXT), '\"decision\":\"ask\"', '\"decision\":\"allow\"') AS BLOB)
             WHERE CAST(body AS TEXT) LIKE '%\"decision\":\"ask\"%'",
            "is not what was recorded",
        ),
        (
            "a step that is gone",
            "DELETE FROM journal WHERE CAST(body AS TEXT) LIKE '%\"answered\"%'",
            "is not what was recorded",
        ),
        (
            "what a grant allows",
            "UPDATE grants SET body = CAST(replace(CAST(body AS TEXT), '\"write\"', '\"erase\"') AS BLOB)
             WHERE CAST(body AS TEXT) LIKE '%\"write\"%'",
            "is not what was recorded",
        ),
        (
            "a message",
            "UPDATE formula SET body = CAST(replace(CAST(body AS TEXT), '\"sent_ms\":1', '\"sent_ms\":2') AS BLOB)
             WHERE CAST(body AS TEXT) LIKE '%\"sent_ms\":1%'",
            "is not what was recorded",
        ),
        (
            "an event",
            "UPDATE event SET body = CAST(replace(CAST(body AS TEXT), 'clerk', 'clark') AS BLOB)
             WHERE CAST(body AS TEXT) LIKE '%run_started%'",
            "does not follow the one before",
        ),
        (
            "an event that is gone",
            "DELETE FROM event WHERE CAST(body AS TEXT) LIKE '%\"entry\":\"answered\"%'",
            "does not follow the one before",
        ),
    ] {
        let home = lived_in();
        home.almoner(&["audit", "verify"]).expect(0);
        change(&home, sql);
        let said = home.almoner(&["audit", "verify"]).expect(1).err;
        assert!(said.contains(says), "{what}: {said}");
        let doctor = home.almoner(&["doctor", "daemon"]).out;
        assert!(doctor.contains("✗ audit chain"), "{what}: {doctor}");
    }
    // Grants and messages go in daily use, too: what is gone is counted.
    let home = lived_in();
    let gone = || {
        let said = home.almoner(&["audit", "verify"]).expect(0).out;
        let before = said.split_once(" of what was removed").map(|(before, _)| before.to_owned());
        before.map_or(0, |text| text.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
    };
    for table in ["grants", "message"] {
        let before = gone();
        change(&home, &format!("DELETE FROM {table}"));
        assert!(gone() > before, "{table}");
    }
}
