//! A store that was damaged on its disk: every command says so, nothing is begun, and what can be read is shown.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

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
    // The way back that is shown works.
    std::fs::write(&db, &whole).unwrap();
    overwrite(&db, root(&db, "run"), &[0; PAGE]);
    let err = home.almoner(&["runs"]).expect(0).err;
    let (_, command) = err.rsplit_once("restore it with `").unwrap();
    let command = command.split('`').next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let command = command.replace("│ ", "").replace("almoner stop;", "");
    home.almoner(&["stop"]).expect(0);
    let restored = std::process::Command::new("sh").args(["-c", &command]).status().unwrap();
    assert!(restored.success(), "{command}");
    let said = home.almoner(&["runs"]).expect(0);
    assert!(said.out.lines().count() >= 7 && said.err.is_empty(), "{said:?}");
    home.almoner(&["approve", "1"]).expect(0);
    home.almoner(&["resume"]).expect(0);
    assert!(home.path("out/a.txt").exists());
}

#[test]
fn listings_skip_and_count_rows_that_cannot_be_read() {
    let home = home();
    home.almoner(&["mkguest", "fae"]).expect(0);
    home.almoner(&["stop"]).expect(0);
    assert_eq!(break_rows(&home, "run", "instr(body, CAST('hello' AS BLOB)) > 0", 2), 2);
    let said = home.almoner(&["runs", "--json"]).expect(0);
    assert_eq!(said.json().as_array().unwrap().len(), 5, "{}", said.out);
    assert!(said.err.contains("Left out here: 2 rows cannot be read"), "{}", said.err);
    tells(&said, "runs", &home);
    // The table takes several answers, of which only some leave rows out.
    let table = home.almoner(&["runs"]).expect(0);
    assert!(table.err.contains("Left out here: 2 rows cannot be read"), "{}", table.err);
    assert_eq!(table.err.matches("the store is damaged").count(), 1, "{}", table.err);
    // A page tells the same.
    let page = Visitor::new(&home).get("/runs", &[]);
    assert_eq!(page.status, 200, "{}", page.body);
    for words in ["the store is damaged", "2 rows cannot be read", "the newest backup is of"] {
        assert!(page.body.contains(words), "no {words} in {}", page.body);
    }
    home.almoner(&["stop"]).expect(0);
    for (table, condition, command) in
        [("message", "1", "inbox"), ("pet_name", "1", "list"), ("grants", "length(key) = 32", "grants")]
    {
        assert!(break_rows(&home, table, condition, 1000) > 0, "{table} has no rows");
        let said = home.almoner(&[command]).expect(0);
        assert!(said.err.contains("cannot be read"), "{command:?}: {}", said.err);
        home.almoner(&["stop"]).expect(0);
    }
}
