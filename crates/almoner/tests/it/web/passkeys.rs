//! Passkeys: those of a real browser, with a device that the browser imitates, and those of other programs.

use serde_json::{Value, json};

use super::http::ask;
use super::visitor::Visitor;
use super::{Browser, enter, let_in};
use crate::test_home::TestHome;

/// Puts a device beside the browser, whose user is always there and always verified.
fn plug_in(browser: &Browser) {
    browser.devtools("WebAuthn.enable", &json!({}));
    let device = json!({
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true,
        "isUserVerified": true, "automaticPresenceSimulation": true,
    });
    browser.devtools("WebAuthn.addVirtualAuthenticator", &json!({ "options": device }));
}

fn kept(home: &TestHome) -> Value {
    let file = std::fs::read(home.root().join("state/web.json")).unwrap();
    serde_json::from_slice::<Value>(&file).unwrap()["sessions"]["passkeys"]["kept"].clone()
}

#[test]
fn browser_logs_in_with_its_passkey_until_it_is_removed() {
    let home = TestHome::new();
    let (browser, door) = let_in(&home, true, "/sessions");
    plug_in(&browser);
    browser.write("textbox", "Name of a new passkey", " at the desk");
    browser.axe("the form for a passkey");
    browser.press("button", "Add a passkey");
    browser.says("not used yet");
    browser.says("Chrome on Linux at the desk");
    // The device keeps one for these pages.
    browser.press("button", "Add a passkey");
    browser.says("This device has a passkey for these pages.");
    browser.press("button", "End this session (this browser)");
    browser.says("Log in to Almoner");
    browser.axe("the login with a passkey");
    // The daemon may have ended meanwhile.
    home.almoner(&["stop"]).expect(0);
    assert!(home.almoner(&["doctor", "web"]).expect(0).out.contains("passkeys: 1"));
    home.almoner(&["status"]).expect(0);
    browser.press("button", "Log in with a passkey");
    browser.says(", with the passkey Chrome on Linux at the desk");
    assert_eq!(browser.at(), door.page("/sessions"));
    assert!(kept(&home)[0]["used_ms"].is_i64(), "{}", kept(&home));
    // The session has a key, so it changes things. It ends with its passkey.
    browser.press("button", "Remove passkey 1");
    browser.says("Log in to Almoner");
    assert!(browser.all("button", "Log in with a passkey").is_empty());
    assert_eq!(kept(&home), json!([]));
    // A passkey that is removed elsewhere lets nobody in.
    enter(&browser, &home, true, "/sessions");
    browser.press("button", "Add a passkey");
    browser.says("Remove passkey 2");
    browser.press("button", "End this session (this browser)");
    browser.says("Log in to Almoner");
    home.almoner(&["sessions", "--all"]).expect(0);
    assert_eq!(kept(&home), json!([]));
    browser.press("button", "Log in with a passkey");
    browser.says("This passkey lets nobody in.");
    browser.axe("a refused passkey");
    assert_eq!(home.almoner(&["sessions", "--json"]).expect(0).json()["sessions"], json!([]));
    browser.clean(&["401", "409"]);
}

#[test]
fn only_a_page_of_its_session_adds_a_passkey() {
    let home = TestHome::new();
    let visitor = Visitor::new(&home);
    let origin = visitor.door.page("");
    let own = [("Host", visitor.door.host.as_str()), ("Origin", origin.as_str())];
    let elsewhere = [own[0], ("Origin", "http://almoner-0123456789ab.localhost:1")];
    let token = format!("_token={}", visitor.token);
    for path in ["/sessions/passkeys/begin", "/sessions/passkeys", "/sessions/passkeys/remove"] {
        assert_eq!(visitor.post(path, &own, "passkey=all").status, 403, "{path} without a token");
        assert_eq!(visitor.post(path, &elsewhere, &token).status, 403, "{path} from elsewhere");
        assert_eq!(
            ask(visitor.door.port, "POST", path, &own, &token).status,
            401,
            "{path} without a session"
        );
        assert_eq!(visitor.get(path, &[]).status, 303, "{path} is no page");
    }
    let demands = visitor.send("/sessions/passkeys/begin", "");
    assert_eq!((demands.status, demands.header("content-type")), (200, Some("application/json")));
    let demands: Value = serde_json::from_str(&demands.body).unwrap();
    let name = visitor.door.host.split(':').next().unwrap();
    assert_eq!(demands["rp"]["id"], json!(name));
    assert_eq!(demands["authenticatorSelection"]["userVerification"], json!("required"));
    let refused = visitor.send("/sessions/passkeys", "name=x&credential=%7B%7D");
    assert!(refused.status == 422 && refused.body.contains("cannot be read"), "{refused:?}");
    assert_eq!(visitor.send("/sessions/passkeys", &format!("credential={}", "x".repeat(20_000))).status, 413);
    assert_eq!(visitor.send("/sessions/passkeys/remove", "passkey=1").status, 404);
    // Where there is no passkey, none lets a browser in, and the login says nothing of passkeys.
    let login = |path: &str| ask(visitor.door.port, "POST", path, &own, "credential=%7B%7D").status;
    assert_eq!([login("/login/passkey/begin"), login("/login/passkey")], [409, 401]);
    assert!(!ask(visitor.door.port, "GET", "/login", &own[..1], "").body.contains("passkey"));
    // Browsers keep no passkey for an address of numbers.
    let code = home.almoner(&["open", "/sessions", "--print", "--loopback"]).expect(0).out;
    let (there, code) = code.trim().split_once("/login#").unwrap();
    let host = [("Host", there.strip_prefix("http://").unwrap()), ("Origin", there)];
    let code = code.split('/').next().unwrap();
    let let_in = ask(visitor.door.port, "POST", "/login", &host, &format!("code={code}&_key=k"));
    let cookie = let_in.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let page = ask(visitor.door.port, "GET", "/sessions", &[host[0], ("Cookie", &cookie)], "").body;
    assert!(page.contains("no passkey for an address") && !page.contains("data-passkey"), "{page}");
    assert_eq!(ask(visitor.door.port, "POST", "/login/passkey/begin", &host, "").status, 409);
}
