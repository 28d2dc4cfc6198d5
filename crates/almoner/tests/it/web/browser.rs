//! A real Chromium, driven over WebDriver. It finds elements as people do: by their role and their name.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::http::ask;

/// How long something may take to appear. Only a test that fails ever waits so long.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Starts the driver of browsers. Returns `None` if it finds no port in time, as on a very busy machine.
fn driver() -> Option<(Child, u16)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("chromedriver: {error}; install it: {INSTALL}"));
    let said = driver.stdout.take().map(|said| BufReader::new(said).lines());
    let port = said.and_then(|mut lines| {
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        // The driver's later output must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        port
    });
    match port {
        Some(port) => Some((driver, port)),
        None => {
            let _ = driver.kill();
            let _ = driver.wait();
            None
        }
    }
}

/// Writes the program that starts a browser without windows. That browser opens no page of its own, and the driver waits
/// for one.
fn program(folder: &Path) -> PathBuf {
    let path = folder.join("browser");
    std::fs::write(&path, "#!/bin/sh\nexec chromium-headless-shell \"$@\" about:blank\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    path
}

/// The command that installs the browser.
const INSTALL: &str =
    "apt-get install -y chromium-headless-shell chromium-driver fonts-dejavu-core (or: cargo xtask tools)";

/// The key under which WebDriver names elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with a profile of its own.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// Whether pages run scripts.
    scripts: bool,
    _profile: TempDir,
}

/// A thing on a page.
#[derive(Clone, Debug)]
pub(crate) struct Element(String);

impl Browser {
    /// Starts a browser, with or without scripts.
    pub(crate) fn new(scripts: bool) -> Browser {
        let (driver, port) = (0..3)
            .find_map(|_| driver())
            .unwrap_or_else(|| panic!("chromedriver does not start; install it: {INSTALL}"));
        let profile = tempfile::tempdir().unwrap();
        let mut arguments = vec![
            "--no-sandbox".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-gpu".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--window-size=1200,900".to_owned(),
            format!("--user-data-dir={}", profile.path().join("profile").display()),
        ];
        if !scripts {
            arguments.push("--blink-settings=scriptEnabled=false".to_owned());
        }
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments, "binary": program(profile.path()) },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        let mut browser = Browser { driver, port, session: String::new(), scripts, _profile: profile };
        let made = browser
            .command("POST", "", &wanted)
            .unwrap_or_else(|wrong| panic!("{wrong}; install it: {INSTALL}"));
        browser.session = made["sessionId"].as_str().unwrap().to_owned();
        browser
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let path = if self.session.is_empty() {
            "/session".to_owned()
        } else {
            format!("/session/{}{path}", self.session)
        };
        // The driver takes no parameters when it ends a session, and does not end it if there are any.
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let host = format!("127.0.0.1:{}", self.port);
        let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
        let answer = ask(self.port, method, &path, &headers, &body);
        let json: Value =
            serde_json::from_str(&answer.body).map_err(|error| format!("{error}: {}", answer.body))?;
        if answer.status == 200 {
            Ok(json["value"].clone())
        } else {
            Err(json["value"]["message"].to_string())
        }
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.command("POST", path, body).unwrap_or_else(|wrong| panic!("{path}: {wrong}"))
    }

    fn get(&self, path: &str) -> Value {
        self.command("GET", path, &Value::Null).unwrap_or_else(|wrong| panic!("{path}: {wrong}"))
    }

    /// Goes to an address.
    pub(crate) fn go(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// Returns the address of the page.
    pub(crate) fn at(&self) -> String {
        self.get("/url").as_str().unwrap_or("").to_owned()
    }

    /// Loads the page again.
    pub(crate) fn reload(&self) {
        self.post("/refresh", &json!({}));
    }

    /// Opens another tab and goes there; the name of the one that was.
    pub(crate) fn new_tab(&self) -> String {
        let before = self.get("/window").as_str().unwrap().to_owned();
        let tab = self.post("/window/new", &json!({ "type": "tab" }));
        self.tab(tab["handle"].as_str().unwrap());
        before
    }

    /// Goes to another tab.
    pub(crate) fn tab(&self, handle: &str) {
        self.post("/window", &json!({ "handle": handle }));
    }

    /// Returns the text of each frame of the page.
    pub(crate) fn framed(&self) -> Vec<String> {
        let all = 0..self.elements("iframe").len();
        let text = |frame: usize| {
            self.post("/frame", &json!({ "id": frame }));
            let text = self.framed_text();
            self.post("/frame", &json!({ "id": null }));
            text
        };
        all.map(text).collect()
    }

    /// Closes the tab that is looked at.
    pub(crate) fn close_tab(&self) {
        self.command("DELETE", "/window", &Value::Null).unwrap();
    }

    /// Returns all tabs.
    pub(crate) fn tabs(&self) -> Vec<String> {
        let all = self.get("/window/handles");
        all.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
    }

    /// Runs a script of the test's, which sees the page as the page sees itself.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Runs a script that returns its result through a callback.
    pub(crate) fn run_async(&self, script: &str) -> Value {
        self.post("/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// Sends a command of the browser's own protocol, and returns its result.
    pub(crate) fn devtools(&self, command: &str, params: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": params }))
    }

    fn elements(&self, css: &str) -> Vec<String> {
        let found = self.post("/elements", &json!({ "using": "css selector", "value": css }));
        let all = found.as_array().cloned().unwrap_or_default();
        all.iter().filter_map(|one| one[ELEMENT].as_str().map(str::to_owned)).collect()
    }

    /// Returns the elements with this role whose accessible name begins so. Hidden elements do not count.
    ///
    /// WebDriver tells the role and the name of one element at a time, and computes the tree anew for each. The
    /// browser's own protocol answers for all of them at once.
    pub(crate) fn all(&self, role: &str, name: &str) -> Vec<Element> {
        let named = self.accessible(role, name);
        let found = self.elements(tags(role));
        found.into_iter().filter(|id| named.contains(&node(id))).map(Element).collect()
    }

    /// Returns the DOM nodes with this role whose accessible name begins so, by their numbers.
    fn accessible(&self, role: &str, name: &str) -> Vec<u64> {
        let ask = |command: &str, params: &Value| {
            let body = json!({ "cmd": command, "params": params });
            // A page that goes while one looks has no nodes.
            self.command("POST", "/goog/cdp/execute", &body).unwrap_or_default()
        };
        let page = ask("Runtime.evaluate", &json!({ "expression": "document" }))["result"]["objectId"].take();
        let mut numbers = Vec::new();
        for role in roles(role) {
            let found = ask("Accessibility.queryAXTree", &json!({ "objectId": page, "role": role }));
            let nodes = found["nodes"].as_array().into_iter().flatten();
            let begins = |node: &&Value| {
                let label = node["name"]["value"].as_str();
                node["ignored"] != true && label.is_some_and(|label| label.trim().starts_with(name))
            };
            numbers.extend(nodes.filter(begins).filter_map(|node| node["backendDOMNodeId"].as_u64()));
        }
        numbers
    }

    /// Returns the first of these, as soon as it is there.
    #[track_caller]
    pub(crate) fn find(&self, role: &str, name: &str) -> Element {
        let found = self.wait(|| self.all(role, name).into_iter().next());
        found.unwrap_or_else(|| panic!("no {role} `{name}` at {}:\n{}", self.at(), self.text()))
    }

    /// Waits until something is so.
    pub(crate) fn wait<T>(&self, look: impl Fn() -> Option<T>) -> Option<T> {
        let begun = Instant::now();
        // Each look keeps the browser busy, and the other tests wait for it.
        let mut pause = Duration::from_millis(25);
        loop {
            match look() {
                Some(found) => return Some(found),
                None if begun.elapsed() > TIMEOUT => return None,
                None => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    /// Waits until the page says this.
    #[track_caller]
    pub(crate) fn says(&self, words: &str) {
        let said = self.wait(|| self.text().contains(words).then_some(()));
        assert!(said.is_some(), "`{words}` is not said at {}:\n{}", self.at(), self.text());
    }

    /// Returns the text that a person sees on the page, with one space between the cells of a table.
    ///
    /// WebDriver gathers a text with a long script of its own, and the browser tells its text at once.
    pub(crate) fn text(&self) -> String {
        let body =
            json!({ "cmd": "Runtime.evaluate", "params": { "expression": "document.body.innerText" } });
        let text = self.command("POST", "/goog/cdp/execute", &body).unwrap_or_default();
        let text = text["result"]["value"].as_str().unwrap_or_default();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(|line| line.replace('\t', " ")).collect::<Vec<String>>().join("\n")
    }

    /// Returns the text of the frame that was gone to.
    fn framed_text(&self) -> String {
        let body = self.elements("body").into_iter().next();
        let text = body.and_then(|id| self.command("GET", &format!("/element/{id}/text"), &Value::Null).ok());
        text.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Presses something, once nothing keeps it from being pressed.
    #[track_caller]
    pub(crate) fn press(&self, role: &str, name: &str) {
        let pressed = self.wait(|| {
            let thing = self.all(role, name).into_iter().next()?;
            if !self.is_free(&thing) {
                if self.scripts {
                    // A card waits until its calls were in view, so a person scrolls through it.
                    self.run("const end = document.body.scrollHeight - innerHeight; scrollTo(0, scrollY + 1 < end ? scrollY + 200 : 0); return true");
                }
                return None;
            }
            let leaves = !self.scripts && self.elements("button").contains(&thing.0);
            let page = leaves.then(|| self.elements("body"));
            self.click(&thing)?;
            Some(page)
        });
        let Some(page) = pressed else {
            panic!("no {role} `{name}` can be pressed at {}:\n{}", self.at(), self.text());
        };
        // The driver can return before the browser has begun to send the form, and a reload would keep it from being sent.
        if let Some(page) = page {
            let left = self.wait(|| (self.elements("body") != page).then_some(()));
            assert!(left.is_some(), "{role} `{name}` leads nowhere at {}:\n{}", self.at(), self.text());
        }
    }

    /// Returns whether this element can be pressed: the style blocks a fresh one as well. A page with scripts then
    /// watches where the next press goes.
    fn is_free(&self, thing: &Element) -> bool {
        if !self.scripts {
            return self.attribute(thing, "aria-disabled").as_deref() != Some("true")
                && self.style(thing, "pointer-events") != "none";
        }
        let watch = "const [one] = arguments;
            if (one.ariaDisabled === 'true' || getComputedStyle(one).pointerEvents === 'none') return false;
            window.isHit = false;
            document.addEventListener('pointerdown', event => {
              window.isHit = event.composedPath().includes(one);
            }, { capture: true, once: true });
            return true;";
        let body = json!({ "script": watch, "args": [{ ELEMENT: thing.0 }] });
        self.command("POST", "/execute/sync", &body) == Ok(Value::Bool(true))
    }

    /// Clicks this, and returns whether it was hit. The driver looks where it lies and presses there afterwards; an error
    /// that a script shows above it in between moves it away.
    fn click(&self, thing: &Element) -> Option<()> {
        if let Err(wrong) = self.click_once(&thing.0) {
            if wrong.contains("click intercepted") {
                self.scroll_down();
            }
            return None;
        }
        // A page that came meanwhile knows nothing of it, and one that asks a question answers nothing.
        let ask = json!({ "script": "return window.isHit === false", "args": [] });
        let is_missed = self.scripts && self.command("POST", "/execute/sync", &ask) == Ok(Value::Bool(true));
        (!is_missed).then_some(())
    }

    fn click_once(&self, element: &str) -> Result<Value, String> {
        self.command("POST", &format!("/element/{element}/click"), &json!({}))
    }

    /// Clicks an element. The bar at the lower edge may cover it; a person then scrolls a little further.
    #[track_caller]
    fn click_in_view(&self, element: &str) {
        let clicked = self.wait(|| match self.click_once(element) {
            Err(wrong) if wrong.contains("click intercepted") => {
                self.scroll_down();
                None
            }
            clicked => Some(clicked),
        });
        clicked.expect("the element is covered").unwrap_or_else(|wrong| panic!("{wrong}"));
    }

    /// Turns the wheel a little. It works without scripts too.
    fn scroll_down(&self) {
        let turn = json!({ "type": "scroll", "x": 300, "y": 200, "deltaX": 0, "deltaY": 160, "duration": 0 });
        let wheel = json!({ "actions": [{ "type": "wheel", "id": "wheel", "actions": [turn] }] });
        // A page that is just left has nothing to scroll.
        let _ = self.command("POST", "/actions", &wheel);
    }

    /// Types into something. A field that the page replaces meanwhile is looked for again: nothing was typed into it.
    #[track_caller]
    pub(crate) fn write(&self, role: &str, name: &str, text: &str) {
        let typed = self.wait(|| {
            let path = format!("/element/{}/value", self.find(role, name).0);
            match self.command("POST", &path, &json!({ "text": text })) {
                Err(wrong) if wrong.contains("stale element") => None,
                typed => Some(typed),
            }
        });
        match typed {
            Some(Ok(_)) => {}
            Some(Err(wrong)) => panic!("nothing can be typed into the {role} `{name}`: {wrong}"),
            None => panic!("the {role} `{name}` is replaced again and again at {}", self.at()),
        }
    }

    /// Types into this.
    #[track_caller]
    pub(crate) fn write_into(&self, thing: &Element, text: &str) {
        self.post(&format!("/element/{}/value", thing.0), &json!({ "text": text }));
    }

    /// Chooses files of this machine, as a person does in the system's window.
    #[track_caller]
    pub(crate) fn hand_over(&self, field: &str, paths: &[PathBuf]) {
        let named = |one: &String| {
            let label = self.get(&format!("/element/{one}/computedlabel"));
            label.as_str().is_some_and(|label| label.trim().starts_with(field))
        };
        let found = self.elements("input[type=file]").into_iter().find(named);
        let field = Element(found.unwrap_or_else(|| panic!("no field for files `{field}`")));
        let all: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        self.write_into(&field, &all.join("\n"));
    }

    /// Chooses an option by the beginning of its text, in a menu or in a list with a text field.
    #[track_caller]
    pub(crate) fn choose(&self, list: &str, option: &str) {
        let list = self.find("combobox", list);
        if self.attribute(&list, "role").as_deref() == Some("combobox") {
            // A click shows all options again, also after an earlier choice.
            self.click_in_view(&list.0);
            return self.press("option", option);
        }
        let options = self.post(
            &format!("/element/{}/elements", list.0),
            &json!({ "using": "css selector", "value": "option" }),
        );
        let ids = options.as_array().cloned().unwrap_or_default();
        let ids: Vec<String> =
            ids.iter().filter_map(|one| one[ELEMENT].as_str().map(str::to_owned)).collect();
        let text = |id: &String| self.get(&format!("/element/{id}/text")).as_str().unwrap_or("").to_owned();
        let wanted = ids.iter().find(|id| text(id).trim().starts_with(option));
        let all: Vec<String> = ids.iter().map(text).collect();
        let wanted = wanted.unwrap_or_else(|| panic!("no option `{option}` among {all:?}"));
        self.click_in_view(wanted);
    }

    /// Returns the text in a field; an empty one if the page has just replaced the field.
    pub(crate) fn value(&self, thing: &Element) -> String {
        let value = self.command("GET", &format!("/element/{}/property/value", thing.0), &Value::Null);
        value.unwrap_or_default().as_str().unwrap_or("").to_owned()
    }

    /// Returns an attribute, if it is there.
    pub(crate) fn attribute(&self, thing: &Element, name: &str) -> Option<String> {
        let found =
            self.command("GET", &format!("/element/{}/attribute/{name}", thing.0), &Value::Null).ok()?;
        found.as_str().map(str::to_owned)
    }

    /// Returns the cookies, also those that no script sees.
    pub(crate) fn cookies(&self) -> Vec<(String, String)> {
        let all = self.get("/cookie");
        let text = |one: &Value, name: &str| one[name].as_str().unwrap_or("").to_owned();
        all.as_array().into_iter().flatten().map(|one| (text(one, "name"), text(one, "value"))).collect()
    }

    fn style(&self, thing: &Element, name: &str) -> String {
        let found = self.command("GET", &format!("/element/{}/css/{name}", thing.0), &Value::Null);
        found.ok().and_then(|found| found.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Presses keys, wherever the focus is.
    pub(crate) fn keys(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
            })
            .collect();
        self.post("/actions", &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }));
    }

    /// Presses a key while another one is held.
    pub(crate) fn chord(&self, held: char, key: char) {
        let act = |kind: &str, key: char| json!({ "type": kind, "value": key.to_string() });
        let actions = [act("keyDown", held), act("keyDown", key), act("keyUp", key), act("keyUp", held)];
        self.post("/actions", &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }));
    }

    /// Moves the focus with the Tab key to an element whose name begins so.
    #[track_caller]
    pub(crate) fn tab_to(&self, name: &str) {
        let mut passed = Vec::new();
        for _ in 0..120 {
            self.keys("\u{E004}");
            let focused = self.focused();
            if focused.starts_with(name) {
                return;
            }
            passed.push(focused);
        }
        panic!("the Tab key does not lead to `{name}`, but to {passed:?}");
    }

    /// Returns the name of the element that has the focus.
    pub(crate) fn focused(&self) -> String {
        let active = self.get("/element/active");
        let id = active[ELEMENT].as_str().unwrap_or("");
        // An element that the page replaces in this moment has no name.
        let label = self.command("GET", &format!("/element/{id}/computedlabel"), &Value::Null);
        label.ok().and_then(|label| label.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Makes the window so wide, and dark or light.
    pub(crate) fn look(&self, width: u32, dark: bool) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
        let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" } }] });
        self.devtools("Emulation.setEmulatedMedia", &scheme);
    }

    /// Keeps a picture of the whole page, for people to look at.
    pub(crate) fn picture(&self, name: &str) {
        let shot = self.devtools("Page.captureScreenshot", &json!({ "captureBeyondViewport": true }));
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("web");
        std::fs::create_dir_all(&folder).unwrap();
        let bytes = super::base64(shot["data"].as_str().unwrap_or(""));
        std::fs::write(folder.join(format!("{name}.png")), bytes).unwrap();
    }

    /// Checks with axe that the page is accessible.
    #[track_caller]
    pub(crate) fn axe(&self, place: &str) {
        let source = super::axe();
        // The page's own policy covers the page and not the driver's scripts. At the end of the page, the bar at the lower
        // edge covers nothing that could be pressed.
        self.run(&format!("{source}; window.axe = axe; window.scrollTo(0, 1e6); return true;"));
        let found = self.run_async(
            "const done = arguments[arguments.length - 1];
             axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
               .then(r => done(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html + ' ' + n.failureSummary).join(' | '))))
               .catch(e => done([String(e)]));",
        );
        assert_eq!(found, json!([]), "{place}");
    }

    /// Checks that the browser complained of nothing and sent requests to this machine only. `expected` are parts of
    /// complaints that belong to the test.
    #[track_caller]
    pub(crate) fn clean(&self, expected: &[&str]) {
        let entries = self.post("/se/log", &json!({ "type": "browser" }));
        for entry in entries.as_array().into_iter().flatten() {
            let message = entry["message"].as_str().unwrap_or("");
            let level = entry["level"].as_str().unwrap_or("");
            let known = expected.iter().any(|part| message.contains(part));
            assert!(known || !matches!(level, "SEVERE" | "WARNING"), "{level}: {message}");
        }
        let asked = self.post("/se/log", &json!({ "type": "performance" }));
        for entry in asked.as_array().into_iter().flatten() {
            let message: Value = serde_json::from_str(entry["message"].as_str().unwrap_or("null")).unwrap();
            let message = &message["message"];
            if message["method"] == "Network.requestWillBeSent" {
                let url = message["params"]["request"]["url"].as_str().unwrap_or("");
                let ours = ["http://almoner-", "data:", "about:", "chrome:", "chrome-"];
                assert!(ours.iter().any(|start| url.starts_with(start)), "{url} was asked for");
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.command("DELETE", "", &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Returns the browser's words for a role. An element that unfolds something is a button to everybody but this browser.
fn roles(role: &str) -> Vec<&str> {
    if role == "button" { vec!["button", "DisclosureTriangle"] } else { vec![role] }
}

/// Returns the number of the DOM node that an element of WebDriver stands for: the last part of its identifier.
fn node(id: &str) -> u64 {
    let number = id.rsplit_once(".e.").and_then(|(_, number)| number.parse().ok());
    number.unwrap_or_else(|| panic!("chromedriver names an element `{id}`, without the number of its node"))
}

/// Returns a CSS selector of the elements that can have a role.
fn tags(role: &str) -> &'static str {
    match role {
        "button" => "button, summary, [role=button]",
        "link" => "a[href]",
        "textbox" => "input, textarea",
        "combobox" => "select, input[list], [role=combobox]",
        "option" => "[role=option]",
        "checkbox" => "input[type=checkbox]",
        "radio" => "input[type=radio]",
        "spinbutton" => "input[type=number]",
        "heading" => "h1, h2, h3, h4",
        "listitem" => "li",
        "group" => "fieldset",
        _ => "*",
    }
}
