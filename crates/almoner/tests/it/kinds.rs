//! Tests every kind of the table through every surface, against the words of the table.
//!
//! The tests loop over the table. They prepare a place that has everything the table's examples name. A new kind
//! needs no change here as long as its example names the same things.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use resource::{Endowment, KINDS, Kind, Row, SpecError, Surroundings, describe_spec};
use serde_json::{Value as Json, json};

use crate::agents::newest;
use crate::test_home::{Said, TestHome};
use crate::web::visitor::Visitor;

const HOSTILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/hostile.mjs");

/// The slot that is filled.
const SLOT: &str = "x";

/// Arguments of calls. A model tries them all, and those that fit no method are refused.
fn arguments() -> [Json; 8] {
    [
        json!({}),
        json!({ "word": "a" }),
        json!({ "path": "." }),
        json!({ "to": "a@example.org", "subject": "s", "body": "b" }),
        json!({ "argv": ["NAME", "-h"] }),
        json!({ "path": "/a" }),
        json!({ "input": { "prompt": "a" } }),
        json!({ "input": { "word": "a" } }),
    ]
}

/// A home that has everything the table's examples name.
struct Place {
    home: TestHome,
}

impl Place {
    fn new() -> Place {
        let home = TestHome::new();
        home.write("PATH/a.txt", "a\n");
        let made =
            std::process::Command::new("git").args(["init", "-qb", "main"]).arg(home.path("PATH")).status();
        assert!(made.unwrap().success());
        home.write("FILE.worker", "---\ninput: { word: string }\n---\nSay {{ input.word }}.\n");
        home.write("bin/NAME", "#!/bin/sh\necho called\n");
        std::fs::set_permissions(home.path("bin/NAME"), std::fs::Permissions::from_mode(0o755)).unwrap();
        home.write("other.json", json!([{ "turns": [{ "text": "the other model's words" }] }]).to_string());
        let other = format!("scripted:{}", home.path("other.json").display());
        home.write_config(&format!("[models.names]\nNAME = {}\n", json!(other)));
        home.piped(&["secret", "set", "NAME", "--key", "file"], b"hunter2-periwinkle").expect(0);
        home.write("server/log-here", "");
        let server = home.path("server").display().to_string();
        let dir = format!("{server}:rw");
        let add = ["mcp", "add", "SERVER", "--dir", &dir, "--", "node", HOSTILE, "examples", &server];
        home.almoner(&add).expect(0);
        Place { home }
    }

    /// Runs a command that finds programs where `NAME` lies as well.
    fn almoner(&self, args: &[&str]) -> Said {
        let mut paths = vec![self.home.path("bin")];
        paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
        let mut command = self.home.command(args);
        Said::of(command.env("PATH", std::env::join_paths(paths).unwrap()).output().unwrap())
    }

    /// Writes a worker with a slot of this kind. The worker's model calls the resource in the slot.
    fn worker(&self, row: &Row) {
        let method = method(row);
        let approve =
            if row.is_typed() { format!("approve: {{ {SLOT}.{method}: ask }}\n") } else { String::new() };
        self.home
            .write("w.worker", format!("---\nslots: {{ {SLOT}: {} }}\n{approve}---\nDo it.\n", row.label));
        // A worker and a model are called by the name of their slot.
        let names = [format!("{SLOT}_{method}"), SLOT.to_owned()];
        let calls: Vec<Json> = names
            .iter()
            .flat_map(|name| arguments().map(|arguments| json!({ "name": name, "arguments": arguments })))
            .collect();
        let calls = if row.is_typed() { calls } else { vec![] };
        let turns = json!([{ "turns": [{ "calls": calls }, { "text": "done" }] }]);
        self.home.write("script.json", turns.to_string());
    }
}

/// Returns a method of the kind; a server says itself which tools it has.
fn method(row: &Row) -> &'static str {
    row.methods.first().copied().unwrap_or("TOOL")
}

impl Surroundings for Place {
    fn exists(&self, path: &str) -> bool {
        self.home.path(path).exists()
    }

    fn absolute(&self, path: &str) -> Result<String, SpecError> {
        Ok(self.real().join(path).display().to_string())
    }

    fn program(&self, name: &str) -> Result<String, SpecError> {
        Ok(self.real().join("bin").join(name).display().to_string())
    }

    fn model(&self, reference: &str) -> Result<String, SpecError> {
        Ok(reference.to_owned())
    }

    fn looks_secret(&self, _: &str, _: &str) -> bool {
        false
    }
}

impl Place {
    fn real(&self) -> PathBuf {
        std::fs::canonicalize(self.home.work()).unwrap()
    }

    /// Returns the description of the slot's resolved resource, as far as the table gives it.
    fn description(&self, row: &Row, given: Option<&Endowment>) -> String {
        match (row.kind, given) {
            (_, None) => {
                let own =
                    [resource::Resource::Questions, resource::Resource::Alarm, resource::Resource::Mail];
                own.into_iter().find(|one| one.kind() == row.kind).unwrap().summary()
            }
            // The name that the user gave to a model stands for a reference, and a file for a worker with a digest.
            (Kind::Model, _) => format!("model scripted:{}", self.home.path("other.json").display()),
            (Kind::Worker, _) => "worker FILE (".to_owned(),
            (kind, Some(given)) => describe_spec(&given.fill, Some(kind)),
        }
    }
}

/// Returns the text of a page, without its marks.
fn text(page: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in page.chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text.replace("&amp;", "&").replace("&quot;", "\"").replace("&#39;", "'")
}

fn run(place: &Place, given: Option<&str>, more: &[&str]) -> Said {
    let endow = given.map(|given| format!("{SLOT}={given}"));
    let endow: Vec<&str> = endow.iter().flat_map(|endow| ["-e", endow]).collect();
    place.almoner(&[&["run", "w.worker", "-m", "scripted:script.json"][..], &endow, more].concat())
}

/// Returns the grant of the slot in the plan of a run.
fn planned(place: &Place, given: Option<&str>) -> Json {
    let plan = run(place, given, &["--dry-run", "--json"]).expect(0).json();
    let mut grants = plan["grants"].as_array().unwrap().iter();
    grants.find(|grant| grant["slot"] == SLOT).expect("the slot is told").clone()
}

/// Returns the grants of the slot, the oldest first.
fn granted(place: &Place) -> Vec<Json> {
    let grants = place.almoner(&["grants", "--json"]).expect(0).json();
    let of_slot = grants.as_array().unwrap().iter().filter(|grant| grant["slot"] == SLOT);
    let mut all: Vec<Json> = of_slot.cloned().collect();
    all.sort_by_key(|grant| grant["number"].as_u64());
    all
}

/// Binds a name to the slot of the worker, which a guest proposes, and returns the grant.
fn endowed(place: &Place, name: &str) -> Json {
    place.almoner(&["--as", "fae", "define", "w.worker"]).expect(0);
    let number = newest(&place.home, None, "definition");
    let bound = format!("{SLOT}={name}");
    place.almoner(&["endow", &number, &bound, "-m", "scripted:script.json", "--detach"]).expect(0);
    granted(place).pop().unwrap()
}

/// Checks that a directory granted by its name has the same description and methods as one granted by its path. A
/// narrowed directory keeps only its selected methods.
fn named_is_granted_as_typed(place: &Place, write: bool) {
    let typed = granted(place).swap_remove(0);
    let manner: &[&str] = if write { &[] } else { &["--read-only"] };
    place.almoner(&["mkguest", "fae"]).expect(0);
    place.almoner(&[&["mount"][..], manner, &["PATH", "thing"]].concat()).expect(0);
    let kept = if write { "list,write" } else { "list,read" };
    place.almoner(&["narrow", "thing", "less", "--methods", kept]).expect(0);
    let (named, narrowed) = (endowed(place, "thing"), endowed(place, "less"));
    assert_eq!((&named["words"], &named["methods"]), (&typed["words"], &typed["methods"]));
    let methods: Vec<&str> = kept.split(',').collect();
    assert_eq!((&narrowed["words"], &narrowed["methods"]), (&typed["words"], &json!(methods)));
}

#[test]
fn every_slot_kind_is_shown_on_every_surface() {
    for row in KINDS {
        let place = Place::new();
        let label = row.label;
        place.worker(row);
        // Parsed and typed.
        // A name that leads nowhere is refused before there is a card.
        let example = row.example.replace("HOST", "127.0.0.1:9");
        let example = row.is_typed().then_some(example.as_str());
        let given = example.map(|example| Endowment::parse(&format!("{SLOT}={example}"), &place).unwrap());
        if let Some(given) = &given {
            assert_eq!(Endowment::parse(&given.typed(), &place).as_ref(), Ok(given), "{label}");
        }
        let words = place.description(row, given.as_ref());
        let says = |surface: &str, told: &str, expected: &str| {
            assert!(told.contains(expected), "{label}, {surface}: no {expected:?} in\n{told}");
        };
        // An unfilled slot is told with the example of its kind.
        if row.is_typed() && row.kind != Kind::Worker {
            says("what is missing", &run(&place, None, &[]).expect(2).err, &row.example_option(SLOT));
        }
        // A refusal names the values that the kind takes. For a kind without typed values, it names the things a run
        // may do.
        let wrong = if label == "clock" { "https://host" } else { "clock" };
        let refused = run(&place, Some(wrong), &[]).expect(2).err;
        says("what does not fit", &refused, if row.is_typed() { row.example } else { row.permission_phrase });
        says("the plan", &run(&place, example, &["--dry-run"]).expect(0).out, &words);
        // The card of a call, on the command line and as a page.
        let code = if row.is_typed() { 7 } else { 0 };
        run(&place, example, &[]).expect(code);
        let visitor = Visitor::new(&place.home);
        let page = |path: &str| {
            let answer = visitor.get(path, &[]);
            assert_eq!(answer.status, 200, "{label}, {path}: {}", answer.body);
            text(&answer.body)
        };
        if row.is_typed() {
            // A long line goes on behind a mark.
            let card = place.almoner(&["inbox", "1", "--full"]).expect(0).out.replace("\n      ┆ ", "");
            says("the card", &card, &words);
            says("the page of the card", &page("/m/1"), &words);
            says("why of the card", &place.almoner(&["why", "1"]).expect(0).out, &words);
            place.almoner(&["deny", "1"]).expect(0);
            place.almoner(&["resume"]).expect(0);
        }
        // `grants`, `why` and the pages tell of the grant.
        says("grants", &place.almoner(&["grants"]).expect(0).out, &words);
        says("why of the grant", &place.almoner(&["why", "g1"]).expect(0).out, &words);
        // In a table, a long path is shortened, and its title has the whole.
        let table = visitor.get("/grants", &[]).body;
        says("the page of grants", &format!("{}{table}", text(&table)), &words);
        says("the page of a grant", &page("/grants/g1"), &words);
        says("why of the slot", &place.almoner(&["why", SLOT]).expect(0).out, &words);
        // `save` writes an `-e` with which the run has the same plan.
        place.almoner(&["save", "last", "as", "again"]).expect(0);
        let case: Json = serde_json::from_str(&place.home.read("again.case/case.json")).unwrap();
        let saved: Vec<&str> =
            case["command"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
        let saved = saved.iter().skip_while(|word| **word != "-e").nth(1).copied();
        assert_eq!(saved.is_some(), row.is_typed(), "{label}: {case}");
        if let Some(saved) = saved {
            let saved = saved.strip_prefix(&format!("{SLOT}=")).unwrap();
            let (mut before, mut after) = (planned(&place, example), planned(&place, Some(saved)));
            if row.kind == Kind::Worker {
                // The file is another one with the same text.
                assert!(saved.ends_with("/FILE.worker"), "{saved}");
                before["named"] = Json::Null;
                after["named"] = Json::Null;
            }
            assert_eq!(before, after, "{label}: {saved}");
        }
        // `trust` shows the grants that a project's file would make.
        if let Some(given) = &given {
            place
                .home
                .write("almoner.toml", format!("[workers.w]\nendow = {{ {SLOT} = {} }}\n", json!(example)));
            let told = place.almoner(&["trust"]).expect(7).out;
            says("trust", &told, &given.describe(Some(row.kind)));
        }
        // A name gives the same grant as a typed value. `mount` names directories, and no command names the other
        // kinds.
        if let Kind::Dir { write } = row.kind {
            named_is_granted_as_typed(&place, write);
        }
        // The help.
        let help = |command: &str| {
            let help = place.almoner(&[command, "--help"]).expect(0).out;
            help.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        says("help of resolve", &help("resolve"), &format!("`{label}`"));
        for command in ["run", "ask", "endow"] {
            says("help", &help(command), if row.is_typed() { row.example } else { "" });
        }
    }
}
