//! Tests that every page shows a refusal first, with a link to each field that it is about.

use super::visitor::{Visitor, between};
use crate::test_home::TestHome;

#[test]
fn errors_are_listed_first_with_links_to_their_fields() {
    let home = TestHome::new();
    home.almoner(&["store", "x=1"]).expect(0);
    home.almoner(&["mkguest", "fae", "agent-fae"]).expect(0);
    home.almoner(&["--as", "agent-fae", "store", "gift=1"]).expect(0);
    home.almoner(&["--as", "agent-fae", "send", "@host", "a word with @gift"]).expect(0);
    home.write("done.json", r#"[{"turns": [{"text": "done"}]}]"#);
    let worker = "---\nslots: { in: dir }\ninput: { who: string, times: \"1..3\" }\n---\nGreet.\n";
    home.write("greeter.worker", worker);
    home.write("bare.worker", "---\n---\nDo it.\n");
    home.almoner(&["run", "bare.worker", "-m", "scripted:done.json"]).expect(0);
    let all = home.almoner(&["inbox", "--all", "--json"]).expect(0).json();
    let is_sent = |one: &&serde_json::Value| one["message"]["body"]["type"] == "package";
    let letter = all.as_array().unwrap().iter().find(is_sent).unwrap()["number"].clone();
    let (letter, begin) = (format!("/m/{letter}"), home.path("greeter.worker").display().to_string());
    let visitor = Visitor::new(&home);
    for (path, body, status, fields) in [
        ("/names", "do=store&name=a//b&value=1".to_owned(), 422, &["store-name"][..]),
        ("/names", "do=store&name=x&value=1".to_owned(), 409, &["store-name"]),
        ("/names", "do=mkdir&name=..".to_owned(), 422, &["mkdir-name"]),
        ("/names", "do=move&path=x&to=.".to_owned(), 422, &["move-to"]),
        ("/names", "do=copy&path=x&to=x".to_owned(), 409, &["copy-to"]),
        ("/models", "model=compat:".to_owned(), 422, &["model"]),
        ("/r/r1/save", "do=show&name=&dir=".to_owned(), 422, &["name", "dir"]),
        ("/r/r1/undo", "do=undo&_seen=other".to_owned(), 409, &[]),
        ("/chat", "worker=r99&model=compat:&said=".to_owned(), 422, &["worker", "model", "said"]),
        (
            "/chat",
            format!("worker-path={begin}&model=scripted:/none&said=x&documents=here&fills=x&i/times=7"),
            422,
            &["slot-in", "fills", "file", "i-who", "i-times"],
        ),
        (letter.as_str(), "do=reply&text=+".to_owned(), 400, &["reply"]),
        (letter.as_str(), "do=adopt&edge=gift&at=0&path=@x".to_owned(), 400, &["adopt-0"]),
    ] {
        let page = visitor.send(path, &body);
        assert_eq!(page.status, status, "{path} {body}: {}", page.body);
        assert_eq!(page.body.matches("id=\"wrong\"").count(), 1, "{path} {body}: {}", page.body);
        let told = between(&page.body, "id=\"wrong\" role=\"alert\" tabindex=\"-1\"", "<form");
        for field in fields {
            assert!(told.contains(&format!("href=\"#{field}\"")), "{path} {body}, {field}: {told}");
            assert!(page.body.contains(&format!("id=\"{field}\"")), "{path} {body}, {field}: {}", page.body);
        }
    }
    // The page of a missing object says that it is missing, and not that an action was refused.
    for path in ["/nowhere", "/m/999", "/r/r99", "/grants/g99", "/doctor/nothing"] {
        let page = visitor.get(path, &[]);
        let told = between(&page.body, "id=\"wrong\" role=\"alert\" tabindex=\"-1\"", "</section>");
        assert!(page.status == 404 && told.contains("<h1>There is no such page</h1>"), "{path}: {told}");
    }
}
