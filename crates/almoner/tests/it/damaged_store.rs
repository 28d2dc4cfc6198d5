//! A store that was damaged on its disk: every command says so, nothing is begun, and what can be read is shown.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::kill_sweep::Sample;
use crate::test_home::{Said, TestHome};
use crate::web::visitor::Visitor;

const RUN: [&str; 4] = ["run", "hello.worker", "-m", "scripted:hello.json"];
const PAGE: usize = 4096;

fn db(home: &TestHome) -> PathBuf {
    home.root().join("state/store/almoner.sqlite")
}

/// Returns a home with seven runs, one of which waits for an answer, and with names and grants. Its daemon has ended.
fn home() -> TestHome {
    let home = TestHome::new();
    home.write("hello.worker", "Say hello.\n");
    home.write("hello.json", r#"[{"turns": [{"text": "hello"}]}]"#);
    home.write("write.worker", "---\nslots: { out: dir rw }\n---\nWrite.\n");
    let call = r#"{"calls": [{"name": "out_write", "arguments": {"path": "a.txt", "content": "a"}}]}"#;
    home.write("write.json", format!(r#"[{{"turns": [{call}, {{"text": "written"}}]}}]"#));
    std::fs::create_dir(home.path("out")).unwrap();
    for _ in 0..6 {
        home.almoner(&RUN).expect(0);
    }
    home.almoner(&["run", "write.worker", "-e", "out=out:rw", "-m", "scripted:write.json"]).expect(7);
    home.almoner(&["backup", "copy"]).expect(0);
    home.almoner(&["stop"]).expect(0);
    home
}

/// Writes something that is no JSON into rows of a table, and returns how many there were.
fn break_rows(home: &TestHome, table: &str, condition: &str, most: usize) -> usize {
    let conn = rusqlite::Connection::open(db(home)).unwrap();
    let sql = format!(
        "UPDATE {table} SET body = CAST('{{\"brok' || substr(CAST(body AS TEXT), 7) AS BLOB) WHERE (owner, key) IN \
         (SELECT owner, key FROM {table} WHERE {condition} LIMIT {most})"
    );
    let broken = conn.execute(&sql, []).unwrap();
    // The daemon closes its store without a log, and so does this.
    let _ = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    broken
}

fn overwrite(db: &Path, page: usize, bytes: &[u8]) {
    let file = std::fs::File::options().write(true).open(db).unwrap();
    file.write_all_at(bytes, (page * PAGE) as u64).unwrap();
}

/// Returns the first page of a table. The first page of the file is number 0.
fn root(db: &Path, table: &str) -> usize {
    let conn = rusqlite::Connection::open(db).unwrap();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    conn.query_row(sql, [table], |row| row.get::<_, u32>(0)).unwrap() as usize - 1
}

/// Returns the place in the file of the third run's row.
fn place_of_run(db: &Path) -> usize {
    let conn = rusqlite::Connection::open(db).unwrap();
    let row: Vec<u8> = conn.query_row("SELECT body FROM run LIMIT 1 OFFSET 2", [], |row| row.get(0)).unwrap();
    let bytes = std::fs::read(db).unwrap();
    let start = &row[..row.len().min(200)];
    bytes.windows(start.len()).position(|window| window == start).unwrap()
}

/// Checks that a command tells of the damage and of the newest backup.
#[track_caller]
fn tells(said: &Said, what: &str, home: &TestHome) {
    let Said { out, err, .. } = said;
    let all = format!("{out}{err}");
    assert!(all.contains("damaged"), "{what} says nothing of the damage:\n{all}");
    assert!(all.contains("the newest backup is of 20"), "{what} names no backup:\n{all}");
    assert!(all.contains(&home.path("copy").display().to_string()), "{what}: {all}");
    assert!(
        !all.contains("panicked") && !all.contains("nothing that was acknowledged is lost"),
        "{what}: {all}"
    );
    assert!(!all.contains("expected") && !all.contains("line 1 column"), "{what}: a parser's words: {all}");
}

/// Reported of other programs: pocketbase/pocketbase#7727 (writes go on against a malformed file),
/// VorlonCD/bi-aidetection#343 (the history goes on without a word), mattt/Madrid#4 (one bad page hides every message).
#[test]
fn every_command_tells_of_damage_and_nothing_is_begun() {
    type Damage = (&'static str, Box<dyn Fn(&Path)>);
    let home = home();
    let db = db(&home);
    let page = |table: &str, byte: u8| {
        let at = root(&db, table);
        Box::new(move |db: &Path| overwrite(db, at, &[byte; PAGE]))
    };
    let bits = place_of_run(&db);
    let cut = |part: fn(u64) -> u64| {
        Box::new(move |db: &Path| {
            let file = std::fs::File::options().write(true).open(db).unwrap();
            file.set_len(part(file.metadata().unwrap().len())).unwrap();
        })
    };
    let damages: [Damage; 8] = [
        ("a page of runs is zero", page("run", 0)),
        ("a page of runs is noise", page("run", 0x5a)),
        ("a page of events is zero", page("event", 0)),
        ("a page of the journal is noise", page("journal", 0xff)),
        ("a page of references is zero", page("edge", 0)),
        (
            "three bits of a run",
            Box::new(move |db| {
                let bytes = std::fs::read(db).unwrap();
                let file = std::fs::File::options().write(true).open(db).unwrap();
                for place in [bits, bits + 1, bits + 2] {
                    file.write_all_at(&[bytes[place] ^ 0x40], place as u64).unwrap();
                }
            }),
        ),
        ("cut short", cut(|len| len - PAGE as u64)),
        ("half", cut(|len| len / 2)),
    ];
    let whole = std::fs::read(&db).unwrap();
    for (name, damage) in damages {
        std::fs::write(&db, &whole).unwrap();
        damage(&db);
        let damaged = std::fs::read(&db).unwrap();
        let is_cut = damaged.len() < whole.len();
        // The first command starts the daemon, and tells of the damage already.
        for command in [
            &["status"][..],
            &["runs"],
            &["inbox"],
            &["grants"],
            &["list"],
            &["stats"],
            &["audit", "verify"],
            &["approve", "1"],
            &["resume"],
        ] {
            let said = home.almoner(command);
            let what = format!("{name}: {command:?}");
            tells(&said, &what, &home);
            let is_listing = ["status", "runs", "inbox", "grants", "list"].contains(&command[0]);
            if is_listing && !is_cut {
                assert_eq!(said.code, 0, "{what}: {}", said.err);
            }
        }
        let said = home.almoner(&RUN);
        assert!(said.code != 0 && said.out.is_empty(), "{name}: a run was begun: {said:?}");
        tells(&said, name, &home);
        home.almoner(&["stop"]);
        assert!(std::fs::read(&db).unwrap() == damaged, "{name}: something was written");
        assert!(!home.path("out/a.txt").exists(), "{name}: an approved call was made");
    }
}

/// Runs the line that the user is told to paste, with a shell.
#[track_caller]
fn paste(home: &TestHome, err: &str) {
    let (_, line) = err.rsplit_once("restore it with `").unwrap_or_else(|| panic!("no line: {err}"));
    let line = line.split('`').next().unwrap();
    let daemon = home.command(&[]);
    let bin = Path::new(env!("CARGO_BIN_EXE_almoner")).parent().unwrap().to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path))).unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line]).current_dir(home.work());
    shell.envs(daemon.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PATH", path);
    let said = shell.output().unwrap();
    assert!(said.status.success(), "{line}: {}", String::from_utf8_lossy(&said.stderr));
}

/// The daemon runs in the first two rounds. In the last one, the damage keeps it from starting.
#[test]
fn printed_restore_line_works_each_time() {
    let home = home();
    let db = db(&home);
    for round in 0..3 {
        match round {
            0 | 1 => overwrite(&db, root(&db, "run"), &[0; PAGE]),
            _ => std::fs::write(&db, "gone").unwrap(),
        }
        let said = home.almoner(&["runs"]).expect(if round < 2 { 0 } else { 1 });
        paste(&home, &said.err);
        let said = home.almoner(&["runs"]).expect(0);
        assert!(said.out.lines().count() >= 7 && said.err.is_empty(), "{round}: {said:?}");
        home.almoner(&["stop"]).expect(0);
    }
    assert_eq!(replaced_stores(&home), 3, "each damaged store is kept");
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert!(home.path("out/a.txt").exists());
}

/// Returns the number of stores that were moved aside. Each is whole.
fn replaced_stores(home: &TestHome) -> usize {
    let entries = std::fs::read_dir(home.root().join("state")).unwrap().map(Result::unwrap);
    let replaced =
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("store.replaced-20"));
    replaced.filter(|entry| entry.path().join("almoner.sqlite").exists()).count()
}

#[test]
fn killed_restore_of_the_store_loses_neither_store() {
    let home = home();
    for (point, replaced) in [("restore.unpacked", 0), ("restore.noted", 1), ("restore.moved_aside", 2)] {
        let args = ["restore", "copy", "--store", "--yes"];
        let killed = home.command(&args).env("FAILPOINTS", format!("{point}=return")).output().unwrap();
        assert_eq!(Said::of(killed).code, 128 + 9, "{point}");
        // The next command completes the restore, before it starts a daemon.
        let said = home.almoner(&["runs"]).expect(0);
        assert!(said.out.lines().count() >= 7 && said.err.is_empty(), "{point}: {said:?}");
        assert_eq!(replaced_stores(&home), replaced, "{point}");
        home.almoner(&["stop"]).expect(0);
    }
    home.almoner(&["restore", "copy", "--store", "--yes"]).expect(0);
    let left = std::fs::read_dir(home.root()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("restor")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Another user could have made the state directory, and a note in it.
#[test]
fn note_of_a_restore_with_other_paths_is_refused() {
    let home = TestHome::new();
    home.almoner(&["stop"]).expect(0);
    home.write("papers/kept.txt", "kept");
    home.write("note.json", "{}");
    let kept = home.path("papers/kept.txt");
    let (state, papers) = (home.root().join("state"), kept.parent().unwrap().to_owned());
    let note = |from: &Path, to: &Path, aside: Option<&Path>, staging: &Path| {
        serde_json::json!({ "from": from, "to": to, "aside": aside, "staging": staging }).to_string()
    };
    let staging = home.root().join("state.restoring");
    let staged = staging.join("state/store");
    std::fs::create_dir_all(&state).unwrap();
    for text in [
        note(&papers, &home.path("other"), None, &staging),
        note(&staged, &state.join("store"), None, &papers),
        note(&staged, &state.join("store"), Some(&home.path("aside")), &staging),
        note(&staged, &home.path("other"), None, &staging),
        "{".to_owned(),
    ] {
        std::fs::write(state.join("restore.json"), &text).unwrap();
        let said = home.almoner(&["runs"]).expect(5);
        assert!(said.err.contains("cannot complete the restore of "), "{text}: {said:?}");
        assert!(kept.exists() && !home.path("other").exists() && !home.path("aside").exists(), "{text}");
    }
    std::fs::remove_file(state.join("restore.json")).unwrap();
    std::os::unix::fs::symlink(home.path("note.json"), state.join("restore.json")).unwrap();
    assert_ne!(home.almoner(&["runs"]).code, 0);
}

/// The commands that list or look something up in the store.
const LISTINGS: &[&[&str]] = &[
    &["runs"],
    &["runs", "--all", "--json"],
    &["inbox"],
    &["inbox", "--all"],
    &["inbox", "1"],
    &["trace", "r1"],
    &["trace", "last"],
    &["why", "out/a.txt"],
    &["diff", "r7"],
    &["stats"],
    &["status"],
    &["audit", "verify"],
    &["export", "r1"],
    &["list"],
    &["show", "@self"],
    &["grants"],
    &["resume"],
    &["wait", "r1"],
];

/// The commands that change something, concern one run of a terminal, or read nothing of the store.
const OTHERS: &str = "run ask chat save test approve deny outcome apply discard undo models check new import schema \
    forget gc logs setup trust policy mcp pattern demo doctor sessions open backup daemon gateway stop secret unlock \
    cat store name copy move remove mkdir mount mkguest mkhost share accept narrow revoke cancel timer send reply adopt \
    dismiss request resolve reject form submit define edit endow request-evaluation eval make remake restore service help completions \
    man";

/// The pages that show rows of the store.
const PAGES: &[&str] =
    &["/", "/m/1", "/runs", "/r/r1", "/chat", "/grants", "/names", "/graph", "/workers", "/audit", "/why"];

/// The tables that every sample has: those that people see.
const SHOWN_TABLES: [&str; 3] = ["run", "message", "formula"];

#[test]
fn listings_of_a_damaged_table_never_deny_its_rows() {
    let home = home();
    let help = home.almoner(&["help", "--all"]).expect(0).out;
    let commands: Vec<&str> = help.lines().filter_map(command_of_help).collect();
    let is_known = |name: &&str| {
        OTHERS.split_whitespace().any(|other| other == *name)
            || LISTINGS.iter().any(|words| words[0] == *name)
    };
    let new: Vec<&&str> = commands.iter().filter(|name| !is_known(name)).collect();
    assert!(commands.len() > 30 && new.is_empty(), "add {new:?} to a list of this test: {commands:?}");
    // The session outlives the daemon, and a new daemon serves the pages at the same port.
    let visitor = Visitor::new(&home);
    home.almoner(&["stop"]).expect(0);
    let db = db(&home);
    let whole = std::fs::read(&db).unwrap();
    let sample = Sample::from_env();
    for (index, table) in tables(&db).iter().enumerate() {
        if !SHOWN_TABLES.contains(&table.as_str()) && !sample.tries(index as u64 % 8, 8) {
            continue;
        }
        std::fs::write(&db, &whole).unwrap();
        let page = root(&db, table);
        overwrite(&db, page, &[0; PAGE]);
        for command in LISTINGS {
            let said = home.almoner(command);
            let what = format!("{table}: {command:?}");
            tells(&said, &what, &home);
            // Without the row that names the host, the daemon does not start.
            let first = if table == "meta" { "error: the store is damaged" } else { "warning: " };
            assert!(said.err.starts_with(first), "{what}: the damage comes first: {}", said.err);
            let codes: &[i32] = if command[0] == "resume" { &[1, 7] } else { &[0, 1] };
            assert!(codes.contains(&said.code), "{what}: {} {}", said.code, said.err);
            if said.err.contains("there is no ") || said.err.contains("there are no ") {
                assert!(
                    said.err.contains("error: cannot find it: the store is damaged"),
                    "{what}: {}",
                    said.err
                );
            }
        }
        if table == "meta" {
            continue;
        }
        for path in PAGES {
            let page = visitor.get(path, &[]);
            let what = format!("{table}: {path}: {} {}", page.status, page.body);
            assert!(page.body.contains("the store is damaged"), "{what}");
            assert!(!page.body.contains("There is no such page") && page.status != 404, "{what}");
            // The inbox lists what can be read, also if the runs behind it are lost.
            if *path == "/" && table == "run" {
                assert!(page.status == 200 && page.body.contains("Needs you"), "{what}");
            }
        }
        home.almoner(&["stop"]).expect(0);
        let log = std::fs::read_to_string(home.root().join("state/daemon.log")).unwrap_or_default();
        assert!(!log.contains("panicked"), "{table}: {log}");
    }
}

/// Returns the command of a line of the help: two blanks, a name, and a description.
fn command_of_help(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("  ")?.split_once("  ")?;
    name.starts_with(|c: char| c.is_ascii_lowercase()).then_some(name)
}

/// Returns the names of the tables.
fn tables(db: &Path) -> Vec<String> {
    let conn = rusqlite::Connection::open(db).unwrap();
    let mut names =
        conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rootpage").unwrap();
    names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn inbox_is_listed_when_the_row_of_the_host_is_lost() {
    let home = home();
    let whole = std::fs::read(db(&home)).unwrap();
    let host = r#"instr(body, CAST('"type":"host"' AS BLOB)) > 0"#;
    for is_removed in [false, true] {
        std::fs::write(db(&home), &whole).unwrap();
        if is_removed {
            let conn = rusqlite::Connection::open(db(&home)).unwrap();
            assert!(conn.execute(&format!("DELETE FROM formula WHERE {host}"), []).unwrap() > 0);
            let _ = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        } else {
            assert!(break_rows(&home, "formula", host, 9) > 0);
        }
        for command in [&["inbox"][..], &["inbox", "1"]] {
            let said = home.almoner(command).expect(0);
            assert!(said.out.contains("approval") || said.out.contains("a.txt"), "{said:?}");
            tells(&said, "inbox", &home);
        }
        home.almoner(&["stop"]).expect(0);
    }
}

#[test]
fn listings_skip_and_count_rows_that_cannot_be_read() {
    let home = home();
    home.almoner(&["mkguest", "fae"]).expect(0);
    home.almoner(&["stop"]).expect(0);
    assert_eq!(break_rows(&home, "run", "instr(body, CAST('hello' AS BLOB)) > 0", 2), 2);
    let said = home.almoner(&["runs", "--json"]).expect(0);
    assert_eq!(said.json().as_array().unwrap().len(), 5, "{}", said.out);
    assert!(said.err.contains("warning: cannot read 2 runs: the store is damaged"), "{}", said.err);
    tells(&said, "runs", &home);
    // The table takes several answers, of which only some leave rows out.
    let table = home.almoner(&["runs"]).expect(0);
    assert!(table.err.contains("cannot read 2 runs: the store is damaged"), "{}", table.err);
    assert_eq!(table.err.matches("the store is damaged").count(), 1, "{}", table.err);
    // A page tells the same.
    let page = Visitor::new(&home).get("/runs", &[]);
    assert_eq!(page.status, 200, "{}", page.body);
    for words in ["cannot read 2 runs: the store is damaged", "the newest backup is of"] {
        assert!(page.body.contains(words), "no {words} in {}", page.body);
    }
    home.almoner(&["stop"]).expect(0);
    for (table, condition, command) in
        [("message", "1", "inbox"), ("pet_name", "1", "list"), ("grants", "length(key) = 32", "grants")]
    {
        assert!(break_rows(&home, table, condition, 1000) > 0, "{table} has no rows");
        let said = home.almoner(&[command]).expect(0);
        assert!(said.err.starts_with("warning: cannot read "), "{command:?}: {}", said.err);
        home.almoner(&["stop"]).expect(0);
    }
}
