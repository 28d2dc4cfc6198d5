//! Tests with `kill -9` in the middle of a mixed load, again and again. No acknowledged change is lost, and both ends
//! of a message agree on it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::test_home::TestHome;
use crate::wire;

/// How often the daemon is killed.
const KILLS: u64 = 50;

/// One connection to the daemon.
struct Client(UnixStream);

impl Client {
    fn connect(socket: &Path) -> io::Result<Client> {
        let mut client = Client(UnixStream::connect(socket)?);
        client.ask(&wire::hello())?;
        Ok(client)
    }

    /// Returns the answer, or an error once the daemon is gone. Panics if the daemon refuses the request, since this
    /// is a fault of the test.
    fn ask(&mut self, request: &Json) -> io::Result<Json> {
        let bytes = request.to_string().into_bytes();
        let length = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        self.0.write_all(&[&length[..], &bytes].concat())?;
        let mut length = [0; 4];
        self.0.read_exact(&mut length)?;
        let mut answer = vec![0; u32::from_le_bytes(length) as usize];
        self.0.read_exact(&mut answer)?;
        let answer: Json = serde_json::from_slice(&answer)?;
        assert_ne!(answer["response"], "failed", "{request}\n{answer}");
        Ok(answer)
    }

    fn act(&mut self, agent: Option<&str>, act: Json) -> io::Result<Json> {
        Ok(self.ask(&json!({ "request": "act", "agent": agent, "act": act }))?["body"].clone())
    }

    fn mail(&mut self, agent: Option<&str>, mail: Json) -> io::Result<Json> {
        self.act(agent, json!({ "do": "mail", "act": mail }))
    }

    fn look(&mut self, agent: Option<&str>, look: Json) -> Json {
        self.ask(&json!({ "request": "look", "agent": agent, "look": look })).unwrap()["body"].clone()
    }

    /// Returns every letter of an agent's, oldest first.
    fn letters(&mut self, agent: Option<&str>) -> Vec<Json> {
        let mut all: Vec<Json> = Vec::new();
        loop {
            let after = all.last().map(|letter| letter["number"].as_u64().unwrap());
            let request = json!({ "request": "messages", "agent": agent, "filter": { "list": "mailbox" },
                "page": { "after": after } });
            let page = self.ask(&request).unwrap()["body"].clone();
            match page.as_array() {
                Some(page) if !page.is_empty() => all.extend(page.iter().cloned()),
                _ => return all,
            }
        }
    }
}

/// The changes that the daemon has acknowledged.
#[derive(Default)]
struct Acknowledged {
    names: BTreeSet<String>,
    /// Numbers of messages in the mailboxes of their senders.
    sent: BTreeMap<&'static str, BTreeSet<u64>>,
    /// Promises that were resolved.
    kept: Vec<Json>,
    /// Names of promises that wait for somebody.
    pending: BTreeSet<String>,
}

impl Acknowledged {
    fn join(&mut self, other: Acknowledged) {
        self.names.extend(other.names);
        for (agent, numbers) in other.sent {
            self.sent.entry(agent).or_default().extend(numbers);
        }
        self.kept.extend(other.kept);
        self.pending.extend(other.pending);
    }

    fn len(&self) -> usize {
        let sent: usize = self.sent.values().map(BTreeSet::len).sum();
        self.names.len() + sent + self.kept.len() + self.pending.len()
    }
}

/// No two calls have the same number.
static NEXT: AtomicU64 = AtomicU64::new(0);

fn value(text: &str) -> Json {
    json!({ "body": format!("#\"{text}\""), "slots": [] })
}

fn letter(to: &str) -> Json {
    json!({ "mail": "send", "to": [to], "strings": ["a line"], "names": [], "paths": [], "reply_to": null })
}

/// Lets one client work until the daemon goes. Returns its acknowledged changes.
fn work(socket: &Path, kind: usize) -> Acknowledged {
    let mut done = Acknowledged::default();
    // The changes that were acknowledged before the end count, regardless of its cause.
    let _ = (|| -> io::Result<()> {
        let mut client = Client::connect(socket)?;
        loop {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            match kind {
                0 => {
                    let name = format!("value-{n}");
                    let act = json!({ "name": "store_value", "value": value(&name), "path": [name] });
                    client.act(None, json!({ "do": "name", "act": act }))?;
                    done.names.insert(name);
                }
                1 | 2 => {
                    let (agent, to) = [("agent-fae", "@host"), ("agent-bob", "fae")][kind - 1];
                    let body = client.mail(Some(agent), letter(to))?;
                    let number = body["number"].as_u64().unwrap();
                    assert!(done.sent.entry(agent).or_default().insert(number), "{agent} {number} twice");
                }
                3 => {
                    let ask = json!({ "mail": "request", "to": ["@self"], "description": "a value",
                        "result_name": null });
                    let body = client.mail(None, ask)?;
                    let answer = json!({ "mail": "resolve", "number": body["number"], "path": ["answer"] });
                    client.mail(None, answer)?;
                    done.kept.push(body["promise"].clone());
                }
                _ => {
                    let name = format!("promise-{n}");
                    let define = json!({ "do": "define", "to": ["@host"], "name": "code",
                        "source": format!("{n} + 1"), "includes": {}, "slots": {}, "result_name": [name],
                        "edit": null });
                    client.act(Some("agent-fae"), define)?;
                    done.pending.insert(name);
                }
            }
        }
    })();
    done
}

fn daemon(home: &TestHome) -> Child {
    let daemon = home.command(&["daemon"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while UnixStream::connect(home.root().join("run/control.sock")).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the daemon does not come up");
        thread::sleep(Duration::from_millis(2));
    }
    daemon
}

/// Checks that each acknowledged change is there, and that each message is in both mailboxes.
fn verify(socket: &Path, done: &Acknowledged) {
    let mut client = Client::connect(socket).unwrap();
    let names = |client: &mut Client, agent: Option<&str>| -> BTreeSet<String> {
        let rows = client.look(agent, json!({ "look": "names", "path": null }));
        rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    let of_host = names(&mut client, None);
    assert_eq!(done.names.difference(&of_host).next(), None, "a value is gone");
    let of_fae = names(&mut client, Some("agent-fae"));
    assert_eq!(done.pending.difference(&of_fae).next(), None, "a promise is gone");
    for promise in &done.kept {
        let state = client.look(None, json!({ "look": "promise", "promise": promise, "wait": false }));
        assert_eq!(state["promise"], "fulfilled", "{promise}");
    }
    let agents = [("agent-fae", Some("agent-fae")), ("agent-bob", Some("agent-bob")), ("host", None)];
    let mut mailboxes = BTreeMap::new();
    for (name, agent) in agents {
        let letters = client.letters(agent);
        for (i, letter) in letters.iter().enumerate() {
            assert_eq!(letter["number"].as_u64(), Some(i as u64), "{name}: numbers are dense");
        }
        let has = |number: &u64| usize::try_from(*number).is_ok_and(|number| number < letters.len());
        for number in done.sent.get(name).into_iter().flatten() {
            assert!(has(number), "{name}: message {number} is gone");
        }
        mailboxes.insert(name, letters);
    }
    let part = |letter: &Json, part: &str| letter["mail"]["envelope"][part].as_str().unwrap().to_owned();
    let handle = |client: &mut Client, agent: Option<&str>| -> String {
        let thing = client.look(agent, json!({ "look": "object", "path": ["@self"] }));
        thing["id"].as_str().unwrap().split(':').next().unwrap().to_owned()
    };
    let handles: Vec<(&str, String)> =
        agents.iter().map(|(name, agent)| (*name, handle(&mut client, *agent))).collect();
    for (sender, from) in &handles {
        for (recipient, to) in &handles {
            let between = |whose: &str| -> BTreeSet<String> {
                mailboxes[whose]
                    .iter()
                    .filter(|letter| part(letter, "from") == *from && part(letter, "to") == *to)
                    .map(|letter| part(letter, "id"))
                    .collect()
            };
            assert_eq!(
                between(sender),
                between(recipient),
                "{sender} to {recipient}: both copies or neither"
            );
        }
    }
}

#[test]
fn acknowledged_commands_survive_kills_under_mixed_load() {
    let home = TestHome::new();
    let socket = home.root().join("run/control.sock");
    let mut running = daemon(&home);
    let mut client = Client::connect(&socket).unwrap();
    for guest in ["fae", "bob"] {
        // Bob writes to fae under that name.
        let introduced = if guest == "bob" { json!([["fae", "fae"]]) } else { json!([]) };
        let act = json!({ "kind": "guest", "name": [guest], "agent_name": [format!("agent-{guest}")],
            "introduced": introduced });
        client.act(None, json!({ "do": "provide", "act": act })).unwrap();
    }
    let answer = json!({ "name": "store_value", "value": value("yes"), "path": ["answer"] });
    client.act(None, json!({ "do": "name", "act": answer })).unwrap();
    drop(client);
    let mut done = Acknowledged::default();
    for kill in 0..KILLS {
        let found: Vec<Acknowledged> = thread::scope(|scope| {
            let workers: Vec<_> = (0..5)
                .map(|kind| {
                    scope.spawn({
                        let socket = &socket;
                        move || work(socket, kind)
                    })
                })
                .collect();
            // In the middle of work, however slow the machine is, and not always at the same point of a group of
            // commits.
            let (begun, enough) = (Instant::now(), NEXT.load(Ordering::Relaxed) + 12 + kill * 7 % 40);
            while NEXT.load(Ordering::Relaxed) < enough {
                assert!(begun.elapsed() < Duration::from_secs(60), "the daemon does not answer");
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_micros(kill * 137 % 1000));
            running.kill().unwrap();
            running.wait().unwrap();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        found.into_iter().for_each(|one| done.join(one));
        running = daemon(&home);
        if kill % 10 == 9 {
            verify(&socket, &done);
        }
    }
    // A load that does nothing proves nothing.
    assert!(done.len() as u64 > KILLS * 5, "only {} acknowledged", done.len());
    let report = home.almoner(&["doctor", "daemon", "--json"]).json();
    for id in ["store", "audit chain"] {
        let row = report["checks"].as_array().unwrap().iter().find(|row| row["id"] == id);
        assert_eq!(row.map(|row| &row["ok"]), Some(&json!(true)), "{report}");
    }
    running.kill().unwrap();
    running.wait().unwrap();
}
