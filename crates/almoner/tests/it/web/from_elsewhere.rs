//! Tests of a foreign page in the same browser as a session: its attempts to frame our pages, read them, and send to
//! them.

use super::foreign_site::ForeignSite;
use super::{Door, let_in, writes};

/// Returns everything that a page can try by itself.
fn tries(door: &Door) -> String {
    let own = door.page("");
    format!(
        "<!doctype html><title>Elsewhere</title><h1>Elsewhere</h1>
         <iframe id=card src='{own}/m/1' width=900 height=900></iframe>
         <iframe src='{own}/'></iframe>
         <form id=yes method=post action='{own}/m/1/answer'><input name=do value=approve></form>
         <form id=out method=post action='{own}/logout' target=other></form><iframe name=other></iframe>
         <script>
           window.came = {{}};
           const came = (name, what) => {{ window.came[name] = what; }};
           const send = {{ method: 'POST', credentials: 'include', body: new URLSearchParams({{ do: 'approve' }}) }};
           const get = (name, url, how) => fetch(url, how).then(async answer => came(name, answer.type + ' ' + (await answer.text()).length), () => came(name, 'refused'));
           get('read', '{own}/m/1', {{ credentials: 'include' }});
           get('read blindly', '{own}/m/1', {{ credentials: 'include', mode: 'no-cors' }});
           get('send', '{own}/m/1/answer', send);
           get('send with our header', '{own}/m/1/answer', {{ ...send, headers: {{ 'x-almoner': '0' }} }});
           get('send blindly', '{own}/m/1/answer', {{ ...send, mode: 'no-cors' }});
           get('end a session', '{own}/sessions', {{ ...send, mode: 'no-cors', body: new URLSearchParams({{ session: '1' }}) }});
           const stream = new EventSource('{own}/events', {{ withCredentials: true }});
           stream.onopen = () => came('events', 'open');
           stream.onerror = () => {{ came('events', 'refused'); stream.close(); }};
           const load = (name, what, url) => {{
             const one = document.createElement(what);
             one.onload = () => came(name, 'loaded');
             one.onerror = () => came(name, 'refused');
             one[what === 'link' ? 'href' : 'src'] = url;
             if (what === 'link') one.rel = 'stylesheet';
             document.body.append(one);
           }};
           load('picture', 'img', '{own}/m/1');
           load('script', 'script', '{own}/m/1');
           load('style', 'link', '{own}/m/1');
           const opened = window.open('{own}/', 'another');
           setTimeout(() => {{
             let what = 'nothing';
             try {{ what = opened ? (opened.closed ? 'closed' : opened.document.title) : 'blocked'; }} catch (e) {{ what = e.name; }}
             came('window', what);
           }}, 1000);
           document.getElementById('out').submit();
         </script>"
    )
}

/// Checks a page at another port of our own name, to which the browser sends our cookies, and a page under another
/// name.
#[test]
fn foreign_page_cannot_frame_read_or_send() {
    let home = writes(&[("a@b.example", "one")]);
    let (browser, door) = let_in(&home, true, "/m/1");
    browser.says("wants to send a mail");
    let elsewhere = ForeignSite::shows(tries(&door));
    let name = door.host.split(':').next().unwrap();
    let sent = || std::fs::read_dir(home.path("outbox")).unwrap().count();
    let own = browser.tabs();
    for host in [name, "127.0.0.1"] {
        browser.go(&format!("http://{host}:{}/", elsewhere.port));
        browser.says("Elsewhere");
        let expected = [
            "read",
            "read blindly",
            "send",
            "send with our header",
            "send blindly",
            "end a session",
            "events",
            "picture",
            "script",
            "style",
            "window",
        ];
        let came = || browser.run("return window.came");
        let all = browser.wait(|| {
            let came = came();
            expected.iter().all(|what| came.get(what).is_some()).then_some(came)
        });
        let all = all.unwrap_or_else(|| panic!("{host}: {}", came()));
        for (what, came) in all.as_object().unwrap() {
            // A blind request is one whose answer its page cannot read.
            let is_blind = what.contains("blindly") || what == "end a session";
            let came = came.as_str().unwrap();
            match (is_blind, what.as_str()) {
                (true, _) => assert!(["opaque 0", "refused"].contains(&came), "{host}: {what}: {came}"),
                (_, "window") => {
                    assert!(["blocked", "closed", "SecurityError"].contains(&came), "{host}: {what}: {came}");
                }
                _ => assert_eq!(came, "refused", "{host}: {what}"),
            }
        }
        // Nothing of ours is in a frame of theirs, where something could lie over it.
        let framed = browser.framed();
        assert_eq!(framed.len(), 3, "{framed:?}");
        for words in framed {
            assert!(
                !["wants to send a mail", "Needs you", "sent by another page"]
                    .iter()
                    .any(|ours| words.contains(ours)),
                "{words}"
            );
        }
        // A form that leads to our page itself gets a page that says it was refused.
        browser.run("document.getElementById('yes').submit()");
        browser.says("This was sent by another page");
        let headings = "return [...document.querySelectorAll('h1')].map(one => one.textContent.trim())";
        assert_eq!(browser.run(headings), serde_json::json!(["That was not done"]));
        assert_eq!(sent(), 0);
        for other in browser.tabs().iter().filter(|tab| !own.contains(tab)) {
            browser.tab(other);
            browser.close_tab();
        }
        browser.tab(&own[0]);
    }
    // The session is there still, and so is the card.
    browser.go(&door.page("/m/1"));
    browser.says("wants to send a mail");
    let listed = home.almoner(&["sessions", "--json"]).expect(0).json();
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "{listed}");
    // To another name the browser has sent nothing of ours.
    let other: Vec<String> = elsewhere
        .heads()
        .split("GET ")
        .filter(|head| head.contains("127.0.0.1"))
        .map(str::to_owned)
        .collect();
    assert!(!other.is_empty() && other.iter().all(|head| !head.contains("__Host-almoner")), "{other:?}");
    browser.press("checkbox", "Send a mail");
    browser.press("button", "Approve");
    browser.says("✓ Approved");
}
