//! Tests of the live events for browsers, and of their cost.

use super::let_in;
use crate::test_home::TestHome;

#[test]
fn tabs_of_a_browser_share_one_stream() {
    let home = TestHome::new();
    let (browser, door) = let_in(&home, true, "/");
    let up = |tab: &str| {
        browser
            .wait(|| (browser.run("return document.body.dataset.stream || ''") == "up").then_some(()))
            .is_some_and(|()| !tab.is_empty())
    };
    assert!(up("first"));
    let first = browser.new_tab();
    browser.go(&door.page("/"));
    browser.says("Nothing has happened here yet");
    // The second tab listens to the first, and shows the new message all the same.
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["--as", "agent-fae", "request", "@host", "something to eat"]);
    browser.says("something to eat");
    assert_eq!(browser.run("return document.body.dataset.stream || ''"), "");
    let second = browser.tabs().into_iter().find(|tab| *tab != first).unwrap();
    browser.tab(&first);
    browser.says("something to eat");
    // The tab with the stream closes. The other one opens the stream in its place, and misses none of the events
    // meanwhile.
    browser.close_tab();
    home.almoner(&["--as", "agent-fae", "request", "@host", "something to drink"]);
    browser.tab(&second);
    browser.says("something to drink");
    assert!(up("second"));
    home.almoner(&["--as", "agent-fae", "request", "@host", "somewhere to sleep"]);
    browser.says("somewhere to sleep");
    browser.clean(&[]);
}

/// Measures sizes and times: `cargo test -p almoner --test it web::live::figures -- --ignored --nocapture`.
#[test]
#[ignore = "measures; takes a minute"]
fn figures() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    let many = std::env::var("MESSAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000);
    super::fill(&home, many);
    let (browser, door) = let_in(&home, true, "/");
    browser.says("For information");
    browser.go(&door.page("/sessions"));
    browser.go(&door.page("/"));
    browser.says("For information");
    let paint = browser.run(
        "const paint = performance.getEntriesByName('first-contentful-paint')[0];
         const page = performance.getEntriesByType('navigation')[0];
         const rest = performance.getEntriesByType('resource').filter(one => !one.name.includes('/events'));
         return { paint: paint && paint.startTime, html: page.decodedBodySize,
                  all: page.decodedBodySize + rest.reduce((sum, one) => sum + one.decodedBodySize, 0),
                  answered: page.responseEnd - page.requestStart };",
    );
    println!("with {many} messages: {paint}");
    // From the moment at which something is asked for to the moment at which the page shows it.
    let update = browser.run_async(
        "const done = arguments[arguments.length - 1], begun = performance.now(), times = [];
         (async () => {
           for (let i = 0; i < 20; i++) {
             const from = performance.now();
             const answer = await fetch('/');
             await answer.text();
             times.push(performance.now() - from);
           }
           times.sort((a, b) => a - b);
           done({ median: times[10], worst: times[19] });
         })();",
    );
    println!("the inbox asked for again, in ms: {update}");
}
