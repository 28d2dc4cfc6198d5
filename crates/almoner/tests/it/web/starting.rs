//! Tests of the ways to begin on a page: the form of a run, the examples, the first visit, and the settings.

use serde_json::json;

use super::visitor::{Visitor, between};
use crate::sends::wait_for_mail;
use crate::test_home::TestHome;

const WORKER: &str =
    "---\ninput: { text: string }\nslots: { out: dir rw, in: dir }\nlimits: { turns: 5 }\n---\nWrite it.\n";

/// Returns a home with a worker that writes one file, the fields that name the worker and its model, and the real path
/// of its directory.
fn home() -> (TestHome, String, String) {
    let home = TestHome::new();
    home.write("note.worker", WORKER);
    let call = json!({ "name": "out_write", "arguments": { "path": "a.md", "content": "buy paint\n" } });
    home.write("s.json", json!([{ "turns": [{ "calls": [call] }, { "text": "It is there." }] }]).to_string());
    std::fs::create_dir_all(home.path("place/deep")).unwrap();
    std::fs::create_dir_all(home.path("place/in")).unwrap();
    let real = home.path("place").canonicalize().unwrap().display().to_string();
    let (worker, script) = (home.path("note.worker"), home.path("s.json"));
    let fields = format!("worker-path={}&model=scripted:{}&i/text=paint", worker.display(), script.display());
    (home, fields, real)
}

#[test]
fn run_starts_from_its_form_with_a_chosen_folder() {
    let (home, fields, place) = home();
    let visitor = Visitor::new(&home);
    let page = visitor.get(&format!("/runs/new?{fields}"), &[]).body;
    for part in [
        "id=\"slot-out\"",
        "id=\"access-out\"",
        "id=\"slot-in\"",
        "id=\"i-text\"",
        "id=\"limit-turns\"",
        "Run it",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("id=\"access-in\""), "{page}");
    // The chooser keeps all that is filled in, and starts nothing.
    let open = visitor.send("/runs/new", &format!("{fields}&slot-out={place}:rw&browse=slot-out"));
    assert_eq!(open.status, 200, "{}", open.body);
    for part in [&format!("value=\"{place}/deep\""), "Use this folder", "paint</textarea>"] {
        assert!(open.body.contains(part), "{part}: {}", open.body);
    }
    let chosen = visitor.send("/runs/new", &format!("{fields}&browsing=slot-out&use={place}/deep"));
    let slot = between(&chosen.body, "id=\"slot-out\"", ">");
    assert!(slot.contains(&format!("value=\"{place}/deep\"")), "{slot}");
    let found = visitor.send("/runs/new", "worker-path=&browse=worker-path&do=look");
    assert_eq!(found.status, 200, "{}", found.body);
    // Each error stands at its field.
    for (more, field) in [
        ("slot-in=/", "slot-out"),
        ("slot-out=place&slot-in=/", "slot-out"),
        ("slot-out=/x&slot-in=/&limit-turns=9", "limit-turns"),
        ("slot-out=/x&slot-in=/&limit-tokens=many", "limit-tokens"),
        ("slot-out=/x&slot-in=/&fills=nonsense", "fills"),
    ] {
        let page = visitor.send("/runs/new", &format!("{fields}&{more}"));
        assert_eq!(page.status, 422, "{more}: {}", page.body);
        let told = between(&page.body, "id=\"wrong\"", "<form");
        assert!(told.contains(&format!("href=\"#{field}\"")), "{more}: {told}");
    }
    assert_eq!(home.almoner(&["runs", "--json"]).expect(0).json(), json!([]));
    let body = format!("{fields}&slot-out={place}/deep&access-out=rw&slot-in={place}/in&limit-turns=4");
    let started = visitor.send("/runs/new", &body);
    assert_eq!((started.status, started.header("location")), (303, Some("/r/r1")), "{}", started.body);
    let card = wait_for_mail(&home, "approval");
    let run = home.almoner(&["runs", "--json"]).expect(0).json()[0].clone();
    assert_eq!((&run["limits"]["turns"], &run["name"]), (&json!(4), &json!("note")), "{run}");
    home.almoner(&["approve", &card.to_string()]).expect(0);
    home.almoner(&["wait", "r1"]).expect(0);
    assert_eq!(home.read("place/deep/a.md"), "buy paint\n");
    let told = home.almoner(&["inbox", "--all", "--json"]).expect(0).out;
    assert!(told.contains("run note text=paint -e out=") && told.contains(":rw"), "{told}");
    // The list tells the runs apart by their input, their result and their files.
    let list = visitor.get("/runs", &[]).body;
    let row = between(&list, "id=\"r-r1\"", "</li>");
    for part in ["text=&quot;paint&quot;", "It is there.", "1 file", "done"] {
        assert!(row.contains(part), "{part}: {row}");
    }
}

#[test]
fn staged_access_leaves_the_folder_unchanged() {
    let (home, fields, place) = home();
    let visitor = Visitor::new(&home);
    let body = format!("{fields}&slot-out={place}/deep&access-out=stage&slot-in={place}/in");
    assert_eq!(visitor.send("/runs/new", &body).status, 303);
    home.almoner(&["wait", "r1"]).expect(0);
    assert!(!home.path("place/deep/a.md").exists());
    let page = visitor.get("/r/r1/diff", &[]).body;
    assert!(page.contains("buy paint"), "{page}");
}

#[test]
fn forms_that_begin_or_change_need_the_session_token() {
    let (home, fields, place) = home();
    let visitor = Visitor::new(&home);
    let own = ("Host", visitor.door.host.as_str());
    let page = visitor.door.page("");
    for (path, body) in [
        ("/runs/new", format!("{fields}&slot-out={place}/deep&slot-in={place}/in")),
        ("/examples", "example=clerk".to_owned()),
        ("/settings", "model=local".to_owned()),
    ] {
        let signed = format!("_token={}&{body}", visitor.token);
        for (what, answer) in [
            ("no token", visitor.post(path, &[own, ("Origin", &page)], &body)),
            ("another origin", visitor.post(path, &[own, ("Origin", "http://evil.example")], &signed)),
            (
                "another site",
                visitor.post(path, &[own, ("Origin", &page), ("Sec-Fetch-Site", "cross-site")], &signed),
            ),
        ] {
            assert_eq!(answer.status, 403, "{path}, {what}: {}", answer.body);
        }
    }
    assert_eq!(home.almoner(&["runs", "--json"]).expect(0).json(), json!([]));
}

#[test]
fn first_visit_leads_to_an_answered_card() {
    let home = TestHome::new();
    let visitor = Visitor::new(&home);
    let page = visitor.get("/", &[]).body;
    assert!(page.contains("Nothing has happened here yet.") && page.contains("Watch it"), "{page}");
    // One press leads to the card, and the next answers it.
    let watched = visitor.send("/examples", "example=clerk");
    let card = watched.header("location").unwrap_or_default().to_owned();
    assert!(watched.status == 303 && card.starts_with("/m/"), "{card}: {}", watched.body);
    let page = visitor.get(&card, &[]).body;
    assert!(page.contains("archive@records-backup.example"), "{page}");
    home.almoner(&["deny", card.trim_start_matches("/m/"), "-r", "the mail asked for this"]).expect(0);
    home.almoner(&["wait", "r1"]).expect(0);
    let page = visitor.get("/", &[]).body;
    assert!(!page.contains("Nothing has happened here yet."), "{page}");
}

#[test]
fn example_opens_as_a_form_that_runs() {
    let home = TestHome::new();
    let visitor = Visitor::new(&home);
    for (at, name) in ["note", "organiser", "greeter"].into_iter().enumerate() {
        let opened = visitor.send("/examples", &format!("example={name}"));
        let form = opened.header("location").unwrap_or_default().to_owned();
        assert!(opened.status == 303 && form.starts_with("/runs/new?"), "{name}: {form} {}", opened.body);
        assert!(visitor.get(&form, &[]).body.contains("Run it"), "{name}");
        let script = between(&format!("{form}&"), "&script=", "&").to_owned();
        let body = format!("{}&model={script}", form.trim_start_matches("/runs/new?"));
        let started = visitor.send("/runs/new", &body);
        let run = format!("/r/r{}", at + 1);
        assert_eq!(
            (started.status, started.header("location")),
            (303, Some(run.as_str())),
            "{}",
            started.body
        );
    }
    // The greeter describes no inputs, and gets its name all the same.
    home.almoner(&["wait", "r3"]).expect(0);
    let told = home.almoner(&["inbox", "--all", "--json"]).expect(0).out;
    assert!(told.contains("run greeter name=Ada"), "{told}");
    assert_eq!(visitor.send("/examples", "example=none").status, 404);
}

#[test]
fn default_model_is_chosen_on_a_page() {
    let home = TestHome::new();
    home.write("s.json", "[]");
    let model = format!("scripted:{}", home.path("s.json").display());
    let visitor = Visitor::new(&home);
    for (body, status) in [("model=scripted:/nowhere.json".to_owned(), 422), ("model=".to_owned(), 422)] {
        let page = visitor.send("/settings", &body);
        assert_eq!(page.status, status, "{}", page.body);
        assert!(page.body.contains("href=\"#model\""), "{}", page.body);
    }
    let config = home.root().join("config/config.toml");
    assert!(!config.exists());
    let done = visitor.send("/settings", &format!("model={model}"));
    assert_eq!((done.status, done.header("location")), (303, Some("/settings")), "{}", done.body);
    assert!(std::fs::read_to_string(&config).unwrap().contains(&format!("default = \"{model}\"")));
    let page = visitor.get("/settings", &[]).body;
    assert!(page.contains("your settings file") && page.contains(&model), "{page}");
    assert!(visitor.get("/models", &[]).body.contains("for new runs"));
}
