//! A client without a browser: it has a session, and can send requests that no browser would.

use super::Door;
use super::http::{Answer, ask};
use crate::test_home::TestHome;

/// A client that has a session and no browser.
pub(crate) struct Visitor {
    pub(crate) door: Door,
    pub(crate) cookie: String,
    /// The token in the forms of its pages.
    pub(crate) token: String,
}

impl Visitor {
    #[track_caller]
    pub(crate) fn new(home: &TestHome) -> Visitor {
        let door = Door::of(home, "/");
        let answer = log_in(&door, &door.code);
        assert_eq!(answer.status, 303, "{}", answer.body);
        let cookie = answer.header("set-cookie").expect("a cookie");
        for part in ["__Host-almoner=", "Secure", "HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let mut visitor = Visitor { door, cookie, token: String::new() };
        let page = visitor.get("/", &[]);
        assert_eq!(page.status, 200, "{}", page.body);
        visitor.token = between(&page.body, "name=\"_token\" value=\"", "\"").to_owned();
        visitor
    }

    pub(crate) fn get(&self, path: &str, more: &[(&str, &str)]) -> Answer {
        let host = [("Host", self.door.host.as_str()), ("Cookie", self.cookie.as_str())];
        ask(self.door.port, "GET", path, &[&host, more].concat(), "")
    }

    pub(crate) fn post(&self, path: &str, more: &[(&str, &str)], body: &str) -> Answer {
        let cookie =
            [("Cookie", self.cookie.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
        ask(self.door.port, "POST", path, &[&cookie, more].concat(), body)
    }

    /// Sends a form of one of its pages, and returns the answer.
    pub(crate) fn send(&self, path: &str, body: &str) -> Answer {
        let origin = self.door.page("");
        let own = [("Host", self.door.host.as_str()), ("Origin", origin.as_str())];
        self.post(path, &own, &format!("_token={}&{body}", self.token))
    }
}

/// Redeems a code.
pub(crate) fn log_in(door: &Door, code: &str) -> Answer {
    let origin = door.page("");
    let headers = [("Host", door.host.as_str()), ("Origin", origin.as_str())];
    ask(door.port, "POST", "/login", &headers, &format!("code={code}"))
}

/// Returns the text between two other texts.
#[track_caller]
pub(crate) fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}"));
    rest.split(after).next().unwrap()
}
