//! The web pages: in a real browser, with and without scripts, and as an attacker asks for them.

mod addresses;
mod attacks;
mod audit;
mod batch;
mod browser;
mod calling;
mod cards;
mod controls;
mod deceptions;
mod doctor;
mod files;
mod finding;
mod foreign_site;
mod forms;
mod from_elsewhere;
mod hostile;
mod http;
mod inbox;
mod insert;
mod journals;
mod led;
mod letting_in;
mod live;
mod losing;
mod many;
mod names;
mod narrower;
mod pages;
mod passkeys;
mod policy;
mod promised;
mod proposed;
mod rejected_forms;
mod rows;
mod saving;
mod senses;
mod sessions;
mod shell;
mod staged_changes;
mod starting;
mod story;
mod stream;
mod talking;
mod timeline;
pub(crate) mod visitor;
mod worker_preview;

use crate::test_home::TestHome;
use browser::Browser;

/// An address that lets a browser in, in its parts.
pub(crate) struct Door {
    /// The whole of it.
    pub(crate) url: String,
    /// `almoner-x.localhost:PORT`.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) code: String,
}

impl Door {
    /// Asks the daemon for one.
    #[track_caller]
    pub(crate) fn of(home: &TestHome, to: &str) -> Door {
        let url = home.almoner(&["open", to, "--print"]).expect(0).out.trim().to_owned();
        let (host, rest) =
            url.strip_prefix("http://").and_then(|rest| rest.split_once("/login#")).expect("an address");
        let port = host.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
        let code = rest.split('/').next().unwrap_or("").to_owned();
        Door { host: host.to_owned(), port, code, url: url.clone() }
    }

    /// Returns the address of a page.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("http://{}{path}", self.host)
    }
}

/// Returns a browser that was let in, at this page.
#[track_caller]
pub(crate) fn let_in(home: &TestHome, scripts: bool, to: &str) -> (Browser, Door) {
    let browser = Browser::new(scripts);
    let door = enter(&browser, home, scripts, to);
    (browser, door)
}

/// Lets this browser in, at this page.
#[track_caller]
pub(crate) fn enter(browser: &Browser, home: &TestHome, scripts: bool, to: &str) -> Door {
    let door = Door::of(home, to);
    browser.go(&door.url);
    if !scripts {
        browser.write("textbox", "Code", &format!("{}{to}", door.code));
        browser.press("button", "Log in");
    }
    let arrived = browser.wait(|| (browser.at() == door.page(to)).then_some(()));
    assert!(arrived.is_some(), "at {} instead of {to}: {}", browser.at(), browser.text());
    door
}

/// Returns a home in which a run wants to send these mails, one a turn, to whom with which words; the first waits for
/// an answer.
#[track_caller]
pub(crate) fn writes(mails: &[(&str, &str)]) -> TestHome {
    let home = TestHome::with_inbox();
    let call = |(to, body): &(&str, &str)| {
        let arguments = serde_json::json!({ "to": to, "subject": "s", "body": body });
        serde_json::json!({ "calls": [{ "name": "outbox_send", "arguments": arguments }] })
    };
    let mut turns: Vec<_> = mails.iter().map(call).collect();
    turns.push(serde_json::json!({ "text": "done" }));
    home.write("calls.json", serde_json::json!([{ "turns": turns }]).to_string());
    let run = ["run", "clerk.worker", "-e", "mail=mail", "-e", "out=out:rw", "-e", "outbox=outbox"];
    home.almoner(&[&run[..], &["-m", "scripted:calls.json"]].concat()).expect(7);
    home
}

/// Returns the text of axe-core, which `cargo xtask tools` installs.
pub(crate) fn axe() -> String {
    let path = crate::endo::tools().join("node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; install it: cargo xtask tools", path.display()))
}

/// Sends this many messages of a guest, over one connection.
#[track_caller]
pub(crate) fn fill(home: &TestHome, many: usize) {
    let mut client = crate::wire::Control::open(home);
    // A guest may send a thousand messages before its host is asked.
    const MAX_SENT: usize = 900;
    let mut agent = "agent-fae".to_owned();
    for number in 0..many {
        if number > 0 && number.is_multiple_of(MAX_SENT) {
            let name = format!("filler-{}", number / MAX_SENT);
            agent = format!("agent-{name}");
            home.almoner(&["mkguest", &name, &agent]).expect(0);
        }
        let send = serde_json::json!({ "request": "act", "agent": agent, "act": { "do": "mail", "act": {
            "mail": "send", "to": ["@host"], "strings": [format!("message {number}")], "names": [], "paths": [],
            "reply_to": null,
        } } });
        let said = client.ask(&send);
        assert_eq!(said["response"], "reply", "{said}");
    }
}

/// Decodes base64, as the pictures of a browser come in.
pub(crate) fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    digits
        .chunks(4)
        .flat_map(|four| {
            let bits =
                four.iter().fold(0_u32, |bits, one| bits << 6 | u32::from(*one)) << (6 * (4 - four.len()));
            bits.to_be_bytes()[1..four.len()].to_vec()
        })
        .collect()
}
