//! Tests of logins at tool servers: a real authorization server, its tokens, their renewal and their end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::endo::tools;
use crate::network::{Program, holds};
use crate::test_home::{Said, TestHome};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oauth");

/// A home with a tool server that wants a login. Its tokens are valid for these seconds.
fn bench(seconds: u32) -> (TestHome, Program) {
    let server = Program::start("../oauth/server.mjs", &[Path::new(&seconds.to_string())]);
    let home = TestHome::new();
    home.write("w.worker", "---\nslots: { far: mcp }\n---\nUse the tools.\n");
    let call = json!({ "name": "far_echo", "arguments": {} });
    home.write("script.json", json!([{ "turns": [{ "calls": [call] }, { "text": "done" }] }]).to_string());
    home.almoner(&["mcp", "add", "guarded", &address(&server)]).expect(0);
    (home, server)
}

fn address(server: &Program) -> String {
    format!("http://127.0.0.1:{}/mcp", server.port)
}

/// A login that waits for the browser.
struct Login {
    child: Child,
    url: String,
}

impl Login {
    fn begin(home: &TestHome, more: &[&str]) -> Login {
        let arguments = [&["mcp", "login", "guarded", "--print"][..], more].concat();
        let mut child = home.command(&arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        if !url.starts_with("http") {
            panic!("no address: {:?}", Said::of(child.wait_with_output().unwrap()));
        }
        Login { child, url: url.trim().to_owned() }
    }

    fn end(self) -> Said {
        Said::of(self.child.wait_with_output().unwrap())
    }
}

/// Goes through a login as a browser does. `stop` begins the address at which the browser stops.
fn browse(url: &str, stop: &str) -> String {
    let node = tools().join("node_modules/.bin/node");
    let output =
        Command::new(node).arg(Path::new(FOLDER).join("browser.mjs")).args([url, stop]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn log_in(home: &TestHome) {
    let login = Login::begin(home, &[]);
    let page = browse(&login.url, "");
    assert!(page.contains("You are logged in"), "{page}");
    let said = login.end().expect(0);
    assert!(said.err.contains("renewed by itself"), "{said:?}");
}

fn run(home: &TestHome, tool: &str) -> Said {
    home.almoner(&[
        "run",
        "w.worker",
        "-e",
        &format!("far=mcp:guarded[{tool}]"),
        "-m",
        "scripted:script.json",
    ])
}

/// Returns the tokens that the tool server was sent and found valid.
fn tokens(server: &Program) -> Vec<String> {
    let mut all: Vec<String> =
        server.lines().iter().filter_map(|line| Some(line.strip_prefix("valid ")?.to_owned())).collect();
    all.dedup();
    all
}

/// Sends a request to a port of this machine, and returns the answer.
fn get(port: u16, method: &str, target: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!("{method} {target} HTTP/1.1\r\nhost: x\r\n{headers}connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Makes the authorization server forget all tokens.
fn revoke(server: &Program) {
    let answer = get(server.port, "GET", "/revoke", "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Clients of others fail at one of these steps (open-webui/open-webui#19795, PrimeIntellect-ai/prime-agent#1591,
/// backstage/backstage#35172).
#[test]
fn login_gives_runs_a_token_that_nothing_shows() {
    let (home, server) = bench(3600);
    for wanting in [home.almoner(&["mcp", "tools", "guarded"]), run(&home, "echo:reads")] {
        assert!(wanting.code != 0 && wanting.err.contains("almoner mcp login guarded"), "{wanting:?}");
    }
    log_in(&home);
    let logins = home.almoner(&["mcp", "logins"]).expect(0).out;
    assert!(logins.contains(&address(&server)) && logins.contains("renewed by itself"), "{logins}");
    run(&home, "echo:reads").expect(0);
    let [token] = tokens(&server).try_into().unwrap();
    // The tool repeats the token in its answer. Neither the journal nor any other file holds it.
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("echoed") && !trace.contains(&token), "{trace}");
    home.almoner(&["export", "r1", "-o", "copy"]).expect(0);
    home.almoner(&["stop"]).expect(0);
    assert!(!holds(&home.root(), &token) && !holds(&home.work(), &token));
    // After a restart the login is still there, until it is forgotten.
    home.almoner(&["mcp", "tools", "guarded"]).expect(0);
    // The authorization server takes the tokens back.
    let out = home.almoner(&["mcp", "logout", &address(&server)]).expect(0);
    assert!(out.err.contains("the login server has taken them back"), "{}", out.err);
    let old = get(server.port, "POST", "/mcp", &format!("authorization: Bearer {token}\r\n"));
    assert!(old.starts_with("HTTP/1.1 401"), "{old}");
    let said = home.almoner(&["mcp", "tools", "guarded"]);
    assert!(said.code != 0 && said.err.contains("almoner mcp login"), "{said:?}");
    home.almoner(&["mcp", "logout", "guarded"]).expect(4);
}

#[test]
fn tokens_are_renewed_and_a_lost_login_is_resumed() {
    // Tokens end so soon that each is renewed before it is used.
    let (home, server) = bench(30);
    log_in(&home);
    run(&home, "echo:reads").expect(0);
    run(&home, "echo:reads").expect(0);
    let used = tokens(&server);
    assert!(used.len() >= 3, "{used:?}");
    // The run waits for a yes; meanwhile the login is lost.
    run(&home, "echo").expect(7);
    revoke(&server);
    let waiting = home.almoner(&["inbox", "--json"]).expect(0).json();
    let number = waiting.as_array().unwrap().iter().filter_map(|one| one["number"].as_u64()).max().unwrap();
    home.almoner(&["approve", &number.to_string()]).expect(0);
    let said = home.almoner(&["resume", "r3"]).expect(1);
    let login = format!("almoner mcp login {}", address(&server));
    assert!(said.err.contains(&login), "{}", said.err);
    let logins = home.almoner(&["mcp", "logins"]).expect(0).out;
    assert!(logins.contains(&format!("over: `{login}`")), "{logins}");
    // The approved call did not happen, so nobody is asked about it again.
    log_in(&home);
    assert_eq!(home.almoner(&["resume", "r3"]).expect(0).out, "done\n");
    assert!(home.trace("r3").to_string().contains("echoed"));
}

#[test]
fn only_the_answer_of_the_login_itself_counts() {
    let (home, _server) = bench(3600);
    let stop = "http://127.0.0.1:";
    // The browser is on another machine, and the person pastes the address at which it ended.
    let paste = |change: &dyn Fn(&str) -> String| {
        let mut login = Login::begin(&home, &["--paste"]);
        let redirect = login.url.split("redirect_uri=").nth(1).unwrap().split('&').next().unwrap();
        let own = redirect.replace("%3A", ":").replace("%2F", "/");
        assert!(own.starts_with(stop) && own.ends_with("/callback"), "{own}");
        let ended = browse(&login.url, &own);
        login.child.stdin.take().unwrap().write_all(format!("{}\n", change(&ended)).as_bytes()).unwrap();
        login.end()
    };
    let wrong = paste(&|ended| ended.replace("state=", "state=x")).expect(6);
    assert!(wrong.err.contains("`state`"), "{}", wrong.err);
    // RFC 9207: the answer of another server is refused, with the names of both.
    let foreign = paste(&|ended| ended.replace("iss=http", "iss=https")).expect(1);
    let says = "the answer comes from another login server, https://127.0.0.1:";
    assert!(foreign.err.contains(says) && foreign.err.contains("; the login is refused"), "{}", foreign.err);
    let elsewhere = paste(&|ended| ended.replace("/callback", "/elsewhere")).expect(6);
    assert!(elsewhere.err.contains("another address"), "{}", elsewhere.err);
    paste(&|ended| ended.replace("code=", "code=x")).expect(1);
    assert_eq!(home.almoner(&["mcp", "logins"]).expect(0).out.trim(), "");
    paste(&|ended| ended.to_owned()).expect(0);
    home.almoner(&["mcp", "tools", "guarded"]).expect(0);
}

/// Returns the port to which the browser of a login is sent back.
fn callback_port(login: &Login) -> u16 {
    let redirect = login.url.split("redirect_uri=http%3A%2F%2F127.0.0.1%3A").nth(1).unwrap();
    redirect.split('%').next().unwrap().parse().unwrap()
}

/// Logins of other programs end at the first wrong request (can1357/oh-my-pi#4106, JetBrains/teamcity-cli#346).
#[test]
fn wrong_requests_leave_the_login_waiting() {
    let (home, _server) = bench(3600);
    let login = Login::begin(&home, &[]);
    let port = callback_port(&login);
    // Connections that say nothing delay no other one.
    let silent: Vec<TcpStream> = (0..70).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    let begun = std::time::Instant::now();
    for target in [
        "/callback",
        "/callback?code=x",
        "/callback?code=x&state=wrong",
        "/callback?error=access_denied&error_description=no",
        "/callback?state=&iss=http://evil.example",
    ] {
        let page = get(port, "GET", target, "");
        assert!(
            page.starts_with("HTTP/1.1 400") && page.contains("The login still waits"),
            "{target}: {page}"
        );
    }
    assert!(get(port, "GET", "/favicon.ico", "").starts_with("HTTP/1.1 404"));
    assert!(begun.elapsed() < std::time::Duration::from_secs(9), "{:?}", begun.elapsed());
    let page = browse(&login.url, "");
    assert!(page.contains("You are logged in"), "{page}");
    login.end().expect(0);
    drop(silent);
    // A removed server takes its login with it.
    let said = home.almoner(&["mcp", "remove", "guarded"]).expect(0);
    assert!(said.err.contains("the login there is forgotten too"), "{}", said.err);
    assert_eq!(home.almoner(&["mcp", "logins"]).expect(0).out.trim(), "");
}
