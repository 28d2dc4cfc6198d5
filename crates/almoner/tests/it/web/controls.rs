//! Each kind of control, with a value that fits and one that does not.

use serde_json::{Value, json};

use super::{Browser, let_in};
use crate::test_home::TestHome;

/// Performs a user's steps, separated by `; `: `write NAME=TEXT`, `look-for NAME=TEXT`, `choose NAME=OPTION`, `press
/// ROLE NAME`.
fn does(browser: &Browser, steps: &str) {
    for step in steps.split("; ").filter(|step| !step.is_empty()) {
        let (verb, rest) = step.split_once(' ').unwrap();
        match verb {
            "write" => {
                let (name, text) = rest.split_once('=').unwrap();
                browser.write("textbox", name, text);
            }
            "look-for" => {
                let (name, text) = rest.split_once('=').unwrap();
                browser.write("combobox", name, text);
            }
            "choose" => {
                let (name, option) = rest.split_once('=').unwrap();
                browser.choose(name, option);
            }
            _ => {
                let (role, name) = rest.split_once(' ').unwrap();
                browser.press(role, name);
            }
        }
    }
}

/// A form of one field.
struct FormCase {
    pattern: &'static str,
    /// The steps for an answer that does not fit, and the page's message. The page sends nothing then.
    wrong: (&'static str, &'static str),
    /// The steps for an answer that fits. The guest receives it as `value`.
    right: &'static str,
    value: Value,
}

fn asked(
    pattern: &'static str,
    wrong: &'static str,
    says: &'static str,
    right: &'static str,
    value: Value,
) -> FormCase {
    FormCase { pattern, wrong: (wrong, says), right, value }
}

fn undefined() -> Value {
    json!({ "@qclass": "undefined" })
}

/// Sends each form from a guest, fills it in wrongly, then rightly.
fn all_of(rows: &[FormCase]) {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    for (at, row) in rows.iter().enumerate() {
        let field = format!("it:{}=It", row.pattern);
        let result = format!("r{at}");
        home.almoner(&["--as", "agent-fae", "form", "@host", "Say", &field, "--result", &result]).expect(0);
    }
    let letters = home.almoner(&["inbox", "--json"]).expect(0).json();
    let mut numbers: Vec<u64> =
        letters.as_array().unwrap().iter().map(|one| one["number"].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers.len(), rows.len());
    let (browser, door) = let_in(&home, true, "/");
    for (at, (row, number)) in rows.iter().zip(&numbers).enumerate() {
        let page = door.page(&format!("/m/{number}"));
        if !row.wrong.1.is_empty() {
            browser.go(&page);
            does(&browser, row.wrong.0);
            browser.press("button", "Send the answer");
            browser.says("Nothing was sent: 1 of the fields does not fit");
            browser.says(row.wrong.1);
            let invalid = browser.run("return document.querySelectorAll('.error:not(:empty)').length");
            assert_eq!(invalid, json!(1), "{}: it is told at one place", row.pattern);
            // Each begins with an empty form.
            browser.run("sessionStorage.removeItem(document.querySelector('[data-draft]').dataset.draft.replace(/^/, 'draft ')); return true;");
        }
        browser.go(&page);
        does(&browser, row.right);
        browser.press("button", "Send the answer");
        browser.says("✓ answered");
        let got = home.almoner(&["--as", "agent-fae", "show", &format!("r{at}"), "--json"]).expect(0);
        assert_eq!(got.json()["promise"]["value"]["it"], row.value, "{}: {}", row.pattern, got.out);
    }
    browser.clean(&["422"]);
}

#[test]
fn each_scalar_pattern_has_its_own_control() {
    all_of(&[
        asked("email", "write It=nobody", "a mail address", "write It=a@b.example", json!("a@b.example")),
        asked("M.gt('m')", "write It=a", "sorts after \"m\"", "write It=z", json!("z")),
        asked("M.number()", "write It=x", "a number", "write It=-0.5", json!(-0.5)),
        asked("1..5", "write It=9", "from 1 to 5", "write It=4", json!(4)),
        asked(
            "M.nat()",
            "write It=-1",
            "0 or more",
            "write It=7",
            json!({"@qclass": "bigint", "digits": "7"}),
        ),
        asked("M.boolean()", "", "fill this in", "press radio no", json!(false)),
        asked("M.null()", "", "", "", json!(null)),
        asked("M.opt(M.string())", "", "", "", undefined()),
        asked("M.opt(M.string())", "", "", "press radio fill it in", json!("")),
        asked("a|b", "", "fill this in", "press radio \"b\"", json!("b")),
        asked("a|b|c|d|e|f", "", "fill this in", "choose It=\"f\"", json!("f")),
        asked(
            "a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|t|u|v",
            "look-for It=zz",
            "one of",
            "look-for It=v",
            json!("v"),
        ),
        asked(
            "M.symbol()",
            "look-for It=@@nope",
            "a symbol",
            "look-for It=@@iterator",
            json!({"@qclass": "symbol", "name": "@@iterator"}),
        ),
        asked(
            "M.byteArray()",
            "write It=***",
            "bytes",
            "write It=AQI=",
            json!({"@qclass": "bytes", "base64": "AQI="}),
        ),
    ]);
}

#[test]
fn union_pattern_offers_a_choice_of_kinds() {
    all_of(&[
        asked(
            "M.or(M.string(), M.number())",
            "press radio a number; write a number=x",
            "expected a number, found the text",
            "press radio a number; write a number=2",
            json!(2),
        ),
        asked(
            "M.any()",
            "",
            "choose one of these first",
            "press radio yes or no; press radio no",
            json!(false),
        ),
        asked(
            "M.scalar()",
            "press radio number; write number=x",
            "a number",
            "press radio text; write text=words",
            json!("words"),
        ),
        asked("M.key()", "write It={", "JSON", "write It=\"k\"", json!("k")),
        asked("M.not(M.string())", "write It=\"k\"", "anything but text", "write It=[1]", json!([1])),
    ]);
}

#[test]
fn compound_pattern_is_filled_part_by_part() {
    all_of(&[
        asked(
            "M.arrayOf(M.number())",
            "press button Add a row to It; write 1=x",
            "a number",
            "press button Add a row to It; write 1=3",
            json!([3]),
        ),
        asked(
            "M.setOf(M.string())",
            "press button Add a row to It; write 1=a; press button Add a row to It; write 2=a",
            "each element once",
            "",
            json!({"@qclass": "tagged", "tag": "copySet", "payload": []}),
        ),
        asked(
            "M.recordOf(M.string(), M.number())",
            "press button Add a row to It; write name=a; write value=x",
            "a number",
            "press button Add a row to It; write name=a; write value=1",
            json!({"a": 1}),
        ),
        asked(
            "M.mapOf(M.string(), M.string())",
            "press button Add a row to It; press button Add a row to It",
            "each key once",
            "press button Add a row to It; write key=k; write value=v",
            json!({"@qclass": "tagged", "tag": "copyMap", "payload": {"keys": ["k"], "values": ["v"]}}),
        ),
        asked(
            "{ a: M.string(), b: M.number() }",
            "write b=x",
            "a number",
            "write b=2",
            json!({"a": "", "b": 2}),
        ),
        asked("[M.string(), M.number()]", "write 1=x", "a number", "write 0=s; write 1=2", json!(["s", 2])),
        asked(
            "M.splitRecord({ a: M.string() }, { b: M.number() }, {})",
            "press radio fill it in; write b=x",
            "a number",
            "write a=s",
            json!({"a": "s"}),
        ),
        asked("M.arrayOf(M.or('x', 'y'))", "", "", "press checkbox \"y\"", json!(["y"])),
        // Boxes have one order, and each is ticked once. For another order, the user makes rows of them.
        asked(
            "M.arrayOf(M.or('a', 'b', 'c', 'd', 'e', 'f'))",
            "press button Choose order, or repeat: It",
            "fill this in",
            "press checkbox \"b\"; press button Choose order, or repeat: It; press button Add a row to It; \
             choose 2=\"a\"; press button Add a row to It; choose 3=\"b\"",
            json!(["b", "a", "b"]),
        ),
    ]);
}

/// Checks the messages of the page while the user types, since the answer does not show them.
#[test]
fn form_page_gives_live_feedback_on_input() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let fields = [
        "few:M.string({ stringLengthLimit: 10 })=Few words",
        "shape:M.pattern()=A shape",
        "bytes:M.byteArray()=Some bytes",
        "often:1..5=How often",
        "many:M.number()=How many",
        "key:secret=The key",
        "sign:M.symbol()=A sign",
    ];
    let form = [&["--as", "agent-fae", "form", "@host", "Say"][..], &fields, &["--result", "r"]].concat();
    home.almoner(&form).expect(0);
    let number = crate::sends::wait_for_mail(&home, "form");
    let (browser, door) = let_in(&home, true, &format!("/m/{number}"));
    browser.write("textbox", "Few words", "1234567");
    assert!(!browser.text().contains("7 of 10"));
    browser.write("textbox", "Few words", "89");
    browser.says("9 of 10");
    browser.write("textbox", "A shape", "M.or('red', 'blue')");
    browser.says("The form that it makes");
    browser.says("\"blue\"");
    browser.write("textbox", "Some bytes", "AQI=");
    browser.says("2 bytes, SHA-256 a12871fee210fb86");
    // The slider and its field are one value, whichever is used; it says so while it is none.
    let slider = browser.find("slider", "How often, as a slider");
    assert_eq!(browser.attribute(&slider, "aria-valuetext").as_deref(), Some("nothing yet"));
    browser.write("textbox", "How often", "4");
    assert!(browser.wait(|| (browser.value(&slider) == "4").then_some(())).is_some());
    assert_eq!(browser.attribute(&slider, "aria-valuetext"), None);
    browser.write("slider", "How often, as a slider", "\u{E012}");
    assert_eq!(browser.value(&browser.find("textbox", "How often")), "3");
    assert_eq!(browser.all("slider", "").len(), 1, "what has no bounds has no slider");
    // A secret is shown while one wants it, and kept nowhere.
    browser.write("textbox", "The key", "open sesame");
    let key = browser.find("textbox", "The key");
    let kind = || browser.attribute(&key, "type");
    assert_eq!(kind().as_deref(), Some("password"));
    browser.press("button", "Show The key");
    assert_eq!(kind().as_deref(), Some("text"));
    browser.write("textbox", "The key", "!");
    let kept = browser.run("return JSON.stringify(sessionStorage)");
    assert!(
        kept.as_str().unwrap().contains("1234567") && !kept.as_str().unwrap().contains("sesame"),
        "{kept}"
    );
    browser.press("button", "Show The key");
    assert_eq!(kind().as_deref(), Some("password"));
    // Enter looks at everything where one is, so that the secret stays; nothing is sent.
    browser.write("textbox", "How many", "x\u{E007}");
    browser.says("Nothing was sent: 2 of the fields do not fit");
    browser.says("A sign: fill this in: a symbol");
    assert!(!browser.text().contains("type it again"), "it is still there");
    assert_eq!(browser.value(&browser.find("textbox", "The key")), "open sesame!");
    // Several lines stay several lines, hidden or not.
    browser.run(
        "const key = document.querySelector('[data-secret]'), data = new DataTransfer();
         key.focus();
         key.select();
         data.setData('text/plain', 'BEGIN\\nAAA\\nEND');
         key.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));",
    );
    let key = browser.find("textbox", "The key");
    assert_eq!(browser.value(&key), "BEGIN\nAAA\nEND");
    let hidden =
        || browser.run("return getComputedStyle(document.querySelector('[data-secret]')).webkitTextSecurity");
    assert_eq!(hidden(), "disc");
    browser.press("button", "Show The key");
    assert_eq!(hidden(), "none");
    browser.press("button", "Show The key");
    let kept = browser.run("return JSON.stringify(sessionStorage)");
    assert!(!kept.as_str().unwrap().contains("AAA"), "{kept}");
    // A file that is too large is refused before it is read.
    browser.run(
        "const field = document.querySelector('[data-bytes-of]'), all = new DataTransfer();
         all.items.add(new File([new Uint8Array(100001)], 'large'));
         field.files = all.files;
         field.dispatchEvent(new Event('change', { bubbles: true }));",
    );
    browser.says("the file has 100001 bytes, and at most 100000 fit");
    // The page also tells of input that is too large to send or to keep. It keeps all other input.
    browser.run(
        "const field = document.querySelector('[data-bytes-of]');
         const place = document.getElementById(field.dataset.bytesOf);
         place.value = ('A'.repeat(75) + '\\n').repeat(70000);
         place.dispatchEvent(new Event('input', { bubbles: true }));",
    );
    browser.says("all that is filled in is more than can be sent: at most 4 MiB");
    browser.run("document.querySelector('[data-bytes-of]').nextElementSibling.value = ''");
    browser.write("textbox", "Some bytes", "AQI=");
    let gone = browser.wait(|| (!browser.text().contains("more than can be sent")).then_some(()));
    assert!(gone.is_some(), "{}", browser.text());
    let names =
        browser.run("return [...document.querySelectorAll('datalist option')].map(o => o.value).join(' ')");
    assert!(names.as_str().unwrap().contains("@@asyncIterator"), "{names}");
    super::pages::looked_at(&browser, "form-told");
    browser.go(&door.page(&format!("/m/{number}")));
    assert_eq!(browser.value(&browser.find("textbox", "The key")), "");
    assert_eq!(browser.value(&browser.find("textbox", "Few words")), "123456789");
    browser.clean(&["413"]);
}
