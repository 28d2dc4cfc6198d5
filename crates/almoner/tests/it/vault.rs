//! Secrets, and the web with them, with the real binary.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::kill_sweep::Doomed;
use crate::test_home::TestHome;

const TOKEN: &str = "tok-9f3k-swordfish-and-chips";

/// Returns a worker with a directory and a part of the web, whose model makes these calls one turn after the other.
fn clerk(slots: &str, turns: &str) -> TestHome {
    let home = TestHome::new();
    home.write("w.worker", format!("---\ndescription: d\nslots:\n{slots}---\nDo it.\n"));
    home.write("script.json", format!(r#"[{{"turns": [{turns}, {{"text": "done"}}]}}]"#));
    home
}

fn call(name: &str, arguments: &str) -> String {
    format!(r#"{{"calls": [{{"name": "{name}", "arguments": {arguments}}}]}}"#)
}

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "w.worker", "-m", "scripted:script.json"], more].concat()
}

/// Returns every file under a directory that holds these bytes.
fn holding(dir: &Path, needle: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, needle));
        } else if std::fs::read(&path)
            .is_ok_and(|bytes| bytes.windows(needle.len()).any(|w| w == needle.as_bytes()))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn secret_is_stored_listed_rotated_removed_and_never_shown() {
    let home = TestHome::new();
    let set = home
        .piped(&["secret", "set", "TOKEN", "--for", "https://api.example.com"], TOKEN.as_bytes())
        .expect(0);
    assert!(set.err.contains("goes to https://api.example.com"), "{}", set.err);
    let list = home.almoner(&["secret", "list"]).expect(0).out;
    assert!(list.contains("TOKEN") && list.contains("used by nobody"), "{list}");
    let json = home.almoner(&["secret", "list", "--json"]).expect(0).out;
    assert!(!json.contains(TOKEN) && json.contains("https://api.example.com"), "{json}");
    // Neither the process that ends nor the file shows it, and the next daemon has it.
    home.almoner(&["stop"]).expect(0);
    assert_eq!(holding(&home.root(), TOKEN), Vec::<String>::new());
    let vault = home.root().join("state/vault.age");
    assert_eq!(std::fs::metadata(&vault).unwrap().permissions().mode() & 0o777, 0o600);
    let before = std::fs::read(&vault).unwrap();
    home.piped(&["secret", "rotate", "TOKEN"], b"another value\n").expect(0);
    assert_ne!(std::fs::read(&vault).unwrap(), before);
    let key = std::fs::read(home.root().join("state/vault.key")).unwrap();
    home.almoner(&["secret", "rotate", "--key"]).expect(0);
    assert_ne!(std::fs::read(home.root().join("state/vault.key")).unwrap(), key);
    home.almoner(&["secret", "remove", "TOKEN"]).expect(0);
    home.almoner(&["secret", "remove", "TOKEN"]).expect(4);
    home.piped(&["secret", "rotate", "TOKEN"], b"x").expect(4);
    home.piped(&["secret", "set", "a b"], b"x").expect(2);
    home.piped(&["secret", "set", "A", "--for", "https://me@a.example"], b"x").expect(2);
    home.piped(&["secret", "set", "A"], b"").expect(6);
    let checks = home.almoner(&["doctor", "daemon", "--json"]).json().to_string();
    assert!(checks.contains("key in a file beside the vault") && checks.contains("no core dump"), "{checks}");
}

#[test]
fn secrets_belong_to_the_store_host_only() {
    let home = TestHome::new();
    home.almoner(&["mkhost", "other"]).expect(0);
    home.almoner(&["--as", "other", "secret", "list"]).expect(2);
    home.almoner(&["--as", "other", "unlock"]).expect(2);
}

#[test]
fn secret_is_redacted_for_the_model_and_refused_in_writes() {
    let turns = [
        call("d_read", r#"{"path": "settings.txt"}"#),
        call("d_write", &format!(r#"{{"path": "copy.txt", "content": "token = {TOKEN}"}}"#)),
        call("d_write", r#"{"path": "copy.txt", "content": "token = ⟦secret TOKEN⟧"}"#),
        call("d_write", r#"{"path": "plain.txt", "content": "nothing"}"#),
    ];
    let home = clerk("  d: dir rw\n", &turns.join(","));
    home.write("dir/settings.txt", format!("host = a\ntoken = {TOKEN}\n"));
    home.piped(&["secret", "set", "TOKEN"], TOKEN.as_bytes()).expect(0);
    home.almoner(&run(&["-e", "d=dir:rw", "--allow", "d.write"])).expect(0);
    assert_eq!(home.read("dir/plain.txt"), "nothing");
    assert!(!home.path("dir/copy.txt").exists());
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("secrets/stand-in") && trace.contains("⟦secret TOKEN⟧"), "{trace}");
    home.almoner(&["stop"]).expect(0);
    // The script holds it, which is not the daemon's; nothing of the daemon's does.
    assert_eq!(holding(&home.root(), TOKEN), Vec::<String>::new());
    // The control: without the vault, the same run writes it.
    let other = clerk("  d: dir rw\n", &turns.join(","));
    other.write("dir/settings.txt", format!("host = a\ntoken = {TOKEN}\n"));
    other.almoner(&run(&["-e", "d=dir:rw", "--allow", "d.write"])).expect(0);
    assert!(other.read("dir/copy.txt").contains("⟦secret") && !holding(&other.root(), TOKEN).is_empty());
}

/// Starts a server that answers with the request itself. Returns its address and the requests so far.
fn server() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&told);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut buffer = vec![0; 1 << 16];
            let count = stream.read(&mut buffer).unwrap_or(0);
            let request = String::from_utf8_lossy(&buffer[..count]).into_owned();
            heard.lock().unwrap().push(request.clone());
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n",
                request.len()
            );
            let _ = stream.write_all((head + &request).as_bytes());
        }
    });
    (address, told)
}

/// A server that takes the first request and never answers it. It answers later ones.
fn server_silent_at_first() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&told);
    std::thread::spawn(move || {
        let mut silent = None;
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut buffer = vec![0; 1 << 16];
            let count = stream.read(&mut buffer).unwrap_or(0);
            heard.lock().unwrap().push(String::from_utf8_lossy(&buffer[..count]).into_owned());
            if silent.is_none() {
                silent = Some(stream);
            } else {
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok");
            }
        }
    });
    (address, told)
}

/// Checks the path of the daemon: it is killed while the server has the request and has not answered.
#[test]
fn http_send_cut_off_by_a_crash_is_asked_about_not_repeated() {
    let (address, told) = server_silent_at_first();
    let turns = [call("api_send", r#"{"method": "POST", "path": "/items", "body": "hello"}"#)];
    let home = clerk("  api: http\n", &turns.join(","));
    home.almoner(&run(&["-e", &format!("api={address}?methods=POST")])).expect(7);
    home.almoner(&["approve", "1"]).expect(0);
    let begun = std::time::Instant::now();
    let count = || told.lock().unwrap().len();
    while count() == 0 {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "it is not sent");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    crate::eval::kill(crate::between::daemon_of(&home));
    home.almoner(&["resume"]).expect(7);
    let card = home.almoner(&["inbox", "2", "--full"]).expect(0).out;
    assert!(card.contains("Did this happen?") && card.contains("POST"), "{card}");
    assert_eq!(count(), 1, "it is sent again by itself");
    home.almoner(&["outcome", "2", "no"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert_eq!(count(), 2, "once more on the word of the user, and no oftener");
}

#[test]
fn api_key_is_sent_only_to_its_server() {
    let (address, told) = server();
    let turns = [
        call("api_get", r#"{"path": "/items", "query": {"q": "x"}}"#),
        call("api_get", r#"{"path": "/../a"}"#),
    ];
    let home = clerk("  api: http\n", &turns.join(","));
    let endow = format!("api={address}/v1?key=TOKEN");
    // Without the secret the call is refused, and the reason names the missing secret.
    home.almoner(&run(&["-e", &endow])).expect(0);
    assert!(home.trace("r1").to_string().contains("there is no secret `TOKEN`"));
    assert_eq!(told.lock().unwrap().len(), 0);
    home.piped(&["secret", "set", "TOKEN", "--for", &address], TOKEN.as_bytes()).expect(0);
    home.almoner(&run(&["-e", &endow])).expect(0);
    let requests = told.lock().unwrap().clone();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].starts_with("GET /v1/items?q=x "), "{requests:?}");
    assert!(requests[0].contains(&format!("Bearer {TOKEN}")), "{requests:?}");
    // The server says it back; the model reads a stand-in.
    let trace = home.trace("r2").to_string();
    assert!(trace.contains("Bearer ⟦secret TOKEN⟧") && trace.contains("http/path"), "{trace}");
    let used = home.almoner(&["secret", "list"]).expect(0).out;
    assert!(used.contains("(api)"), "{used}");
    home.almoner(&["stop"]).expect(0);
    assert_eq!(holding(&home.root(), TOKEN), Vec::<String>::new());
}

#[test]
fn http_send_waits_for_approval_and_happens_once() {
    let (address, told) = server();
    let turns = [call("api_send", r#"{"method": "POST", "path": "/items", "body": "hello"}"#)];
    let home = clerk("  api: http\n", &turns.join(","));
    let endow = format!("api={address}?methods=GET,POST");
    home.almoner(&run(&["-e", &endow])).expect(7);
    assert_eq!(told.lock().unwrap().len(), 0);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    assert!(card.contains("POST") && card.contains("hello"), "{card}");
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    let requests = told.lock().unwrap().clone();
    assert!(requests.len() == 1 && requests[0].starts_with("POST /items "), "{requests:?}");
    // A run that was endowed with reading has no tool to send with.
    let reads = format!("api={address}");
    home.almoner(&run(&["-e", &reads])).expect(0);
    assert!(home.trace("r2").to_string().contains("tool/unknown"));
    assert_eq!(told.lock().unwrap().len(), 1);
}

#[test]
fn secret_files_are_asked_about_by_name() {
    let turns = [
        call("d_read", r#"{"path": ".ENV"}"#),
        call("d_write", r#"{"path": ".git/hooks/pre-commit", "content": "x"}"#),
    ];
    let home = clerk("  d: dir rw\n", &turns.join(","));
    home.write("dir/.ENV", "a=b");
    home.almoner(&run(&["-e", "d=dir:rw", "--allow", "d.write"])).expect(7);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    assert!(card.contains(".ENV") && card.contains("holds keys or passwords"), "{card}");
    home.almoner(&["deny", "1"]).expect(0);
    home.almoner(&["resume"]).expect(7);
    assert!(!home.path("dir/.git").exists());
}

/// Starts a server that redirects each request to an address with the key in it, until the key is requested. Returns
/// its address and the requested paths.
fn sending_on() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&told);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut buffer = vec![0; 1 << 16];
            let count = stream.read(&mut buffer).unwrap_or(0);
            let request = String::from_utf8_lossy(&buffer[..count]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            heard.lock().unwrap().push(path.clone());
            let location = match path.as_str() {
                "/v1/out" => format!("http://elsewhere.example/{TOKEN}?k={TOKEN}"),
                "/v1/up" => format!("/other/{TOKEN}"),
                "/v1/on" => format!("/v1/end/{TOKEN}"),
                _ => String::new(),
            };
            let head = match location.as_str() {
                "" => "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned(),
                to => format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"),
            };
            let _ = stream.write_all(head.as_bytes());
        }
    });
    (address, told)
}

#[test]
fn key_in_a_redirect_address_is_redacted() {
    let (address, told) = sending_on();
    let turns = ["/out", "/up", "/on"].map(|path| call("api_get", &format!(r#"{{"path": "{path}"}}"#)));
    let home = clerk("  api: http\n", &turns.join(","));
    let endow = format!("api={address}/v1?key=TOKEN");
    home.piped(&["secret", "set", "TOKEN", "--for", &address], TOKEN.as_bytes()).expect(0);
    home.almoner(&run(&["-e", &endow, "--allow", "api.get"])).expect(0);
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("http/redirect") && trace.contains("elsewhere.example"), "{trace}");
    // The last result is named by its address, with the stand-in for the key.
    assert!(trace.contains("/v1/end/⟦secret TOKEN⟧"), "{trace}");
    let end = format!("/v1/end/{TOKEN}");
    assert_eq!(*told.lock().unwrap(), ["/v1/out", "/v1/up", "/v1/on", &end]);
    // With policies in force each address is a call of its own, and is judged as one.
    let config = home.root().join("config");
    std::fs::create_dir_all(&config).unwrap();
    let policy = "forbid(principal, action == Action::\"http.get\", resource)\n\
                  when { context has route && context.route like \"/v1/end*\" };";
    std::fs::write(config.join("policy.cedar"), policy).unwrap();
    told.lock().unwrap().clear();
    home.almoner(&run(&["-e", &endow, "--allow", "api.get"])).expect(0);
    let trace = home.trace("r2").to_string();
    assert!(trace.contains("http/policy") && trace.contains("/v1/end/⟦secret TOKEN⟧"), "{trace}");
    assert_eq!(*told.lock().unwrap(), ["/v1/out", "/v1/up", "/v1/on"]);
    home.almoner(&["stop"]).expect(0);
    assert_eq!(holding(&home.root(), TOKEN), Vec::<String>::new());
}

/// Checks that the daemon's own process can be killed at every step of a change of the vault: what is left is the old
/// value or the new one, and the new one once it was acknowledged.
#[test]
fn kill_at_every_step_of_a_change_keeps_the_vault() {
    for change in [["secret", "rotate", "A"], ["secret", "set", "B"], ["secret", "rotate", "--key"]] {
        let mut killed = 0;
        for nth in 1.. {
            let home = TestHome::new();
            home.piped(&["secret", "set", "A"], b"old-value").expect(0);
            home.almoner(&["stop"]).expect(0);
            let doomed = Doomed::start(&home, "vault.step", nth);
            let said = home.piped(&change, b"new-value");
            let has_died = doomed.end();
            killed += u32::from(has_died);
            // The next daemon opens the vault, whatever the last one left.
            let list = home.almoner(&["secret", "list"]).expect(0).out;
            assert!(list.contains('A') && !list.contains("locked"), "{change:?}, step {nth}: {list}");
            home.almoner(&["stop"]).expect(0);
            let vault = vault::Site::new(&home.root().join("state"), None).open(None);
            let vault = vault.unwrap_or_else(|e| panic!("{change:?}, step {nth}: {e}")).expect("a vault");
            let value = |name: &str| vault.get(name).map(|entry| entry.value.reveal().to_owned());
            let (name, new) = match change[2] {
                "--key" => ("A", "old-value"),
                name => (name, "new-value"),
            };
            let found = value(name);
            let is_new = found.as_deref() == Some(new);
            let old = (name == "A").then_some("old-value");
            assert!(is_new || found.as_deref() == old, "{change:?}, step {nth}: {found:?}");
            assert!(value("A").is_some(), "{change:?}, step {nth}: the other secret is lost");
            assert!(is_new || said.code != 0, "{change:?}, step {nth}: an acknowledged value is lost");
            if !has_died {
                assert_eq!(said.code, 0, "{change:?}: {}", said.err);
                break;
            }
        }
        // Each step of the replacement of a file is a place to die.
        assert!(killed >= 6, "{change:?}: only {killed} steps");
    }
}
