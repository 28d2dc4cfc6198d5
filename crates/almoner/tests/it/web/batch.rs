//! The page of a batch: one answer covers the items that ask for calls that look alike.

use super::visitor::{Visitor, between};
use crate::batch::{asking, notes};

/// Returns the values of the hidden fields of this name.
fn fields(page: &str, name: &str) -> Vec<String> {
    let start = format!("name=\"{name}\" value=\"");
    page.split(&start).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

fn form(messages: &[String], seen: &[String], rest: &str) -> String {
    let messages = messages.iter().map(|number| format!("message={number}&"));
    let seen = seen.iter().map(|digest| format!("_seen={}&", digest.replace(':', "%3A")));
    messages.chain(seen).chain([rest.to_owned()]).collect()
}

/// Reported of other programs: 0xku/kon#32 and microsoft/vscode#289019 (many alike calls, one question for each).
#[test]
fn page_of_a_batch_answers_the_marked_items_alone() {
    let home = asking(6);
    home.almoner(&notes(&["--waiting", "6"])).expect(7);
    let visitor = Visitor::new(&home);
    let inbox = visitor.get("/", &[]).body;
    assert!(inbox.contains("href=\"/batch/r1\""), "{inbox}");
    let page = visitor.get("/batch/r1", &[]).body;
    let (messages, seen) = (fields(&page, "message"), fields(&page, "_seen"));
    assert_eq!((messages.len(), seen.len()), (6, 6), "{page}");
    for at in 0..6 {
        assert!(page.contains(&format!("n{at:02}.md")) && page.contains(&format!("d{at:02}.txt")), "{page}");
    }
    // A card that was not shown, and an empty choice, answer nothing.
    assert_eq!(visitor.send("/batch/r1", &form(&messages, &seen[..5], "do=approve")).status, 409);
    assert_eq!(visitor.send("/batch/r1", &form(&[], &seen, "do=approve")).status, 422);
    assert_eq!(fields(&visitor.get("/batch/r1", &[]).body, "message").len(), 6);
    let answer = visitor.send("/batch/r1", &form(&messages[..4], &seen, "do=approve"));
    assert_eq!(answer.status, 303, "{}", answer.body);
    let left = fields(&visitor.get("/batch/r1", &[]).body, "message");
    assert_eq!(left, messages[4..]);
    // The same form cannot be sent again.
    assert_eq!(visitor.send("/batch/r1", &form(&messages[..4], &seen, "do=approve")).status, 409);
    let denial = form(&left, &seen, "reason=not+these&do=deny");
    assert_eq!(visitor.send("/batch/r1", &denial).status, 303);
    let page = visitor.get("/batch/r1", &[]).body;
    assert!(page.contains("No item of this batch asks now."), "{page}");
    let done = home.almoner(&["resume", "r1"]);
    assert!(done.err.contains("6 items: 6 done"), "{}", done.err);
    assert_eq!(std::fs::read_dir(home.path("out")).unwrap().count(), 4);
    let denied = home.almoner(&["inbox", &messages[5]]).expect(0).out;
    assert!(denied.contains("not these"), "{denied}");
    assert!(between(&page, "<h1>", "</h1>").contains("Batch"), "{page}");
}
