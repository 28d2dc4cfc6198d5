//! The same programs in a vat and in a Compartment of the package `ses`, in the real Node: their results are the
//! same, or the row says why not.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use passable::{Value, smallcaps};
use vat::{Limits, Outcome, Slot};

use crate::test_host::TestHost;

/// Programs by concept.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The program, and its result in both.
    same: Vec<(String, String)>,
    /// The program, and the names of the errors in a vat and in a Compartment: the same error has different names.
    both_throw: Vec<(String, String, String)>,
    #[serde(default)]
    differs: Vec<Difference>,
}

/// A program that is meant to come to something else.
#[derive(Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    program: String,
    vat: String,
    ses: String,
    because: String,
}

const FILES: &[(&str, &str)] = &[
    ("capabilities", include_str!("../differential/capabilities.toml")),
    ("language", include_str!("../differential/language.toml")),
    ("library", include_str!("../differential/library.toml")),
    ("locked", include_str!("../differential/locked.toml")),
];

/// Returns all rows, those that are no difference with an empty reason.
fn rows() -> Vec<Difference> {
    let read = |(file, text): &(&str, &str)| {
        let File { same, both_throw, differs } = toml::from_str(text).expect(file);
        let because = String::new;
        let same = same.into_iter().map(|(program, told)| Difference {
            program,
            vat: told.clone(),
            ses: told,
            because: because(),
        });
        let both_throw = both_throw.into_iter().map(|(program, vat, ses)| Difference {
            program,
            vat: format!("throws {vat}"),
            ses: format!("throws {ses}"),
            because: because(),
        });
        same.chain(both_throw).chain(differs).collect::<Vec<_>>()
    };
    FILES.iter().flat_map(read).collect()
}

/// Returns a value's smallcaps and where its slots live, without the interfaces that objects allege: either the vat
/// or the side of the maker names those.
fn shown(value: &Value<Slot>) -> String {
    let data = smallcaps::encode(value);
    let mut own: Vec<u32> = Vec::new();
    let slots = data.slots.iter().map(|slot| match slot {
        // Numbers are a matter of order, here and there.
        Slot::Vat(number) => {
            let known = own.iter().position(|known| known == number);
            own.extend(known.is_none().then_some(*number));
            format!(" Vat({})", known.map_or(own.len(), |at| at + 1))
        }
        other => format!(" {other:?}"),
    });
    let slots: String = slots.collect();
    let mut body = String::new();
    let mut rest = data.body.trim_start_matches('#');
    // A text that begins so is a reference: a guest's own text is escaped.
    while let Some(at) = rest.find("\"$") {
        let (before, reference) = rest.split_at(at);
        let end = reference[1..].find('"').expect("a text ends") + 1;
        let digits = reference[..end].split('.').next().expect("the first part");
        body.push_str(&format!("{before}{digits}\""));
        rest = &reference[end + 1..];
    }
    format!("{body}{rest}{slots}")
}

/// Returns the result of a program in a vat, in one line.
fn in_a_vat(program: &str) -> String {
    let mut world = TestHost::new(Limits::default());
    let answer = world.evaluate(program);
    match (world.fault(), world.outcome(answer)) {
        (None, Some(Outcome::Ok(value))) => shown(value),
        (None, Some(Outcome::Err(Value::Error(error)))) => format!("throws {}", error.name.to_str_lossy()),
        (None, Some(Outcome::Err(value))) => format!("throws {}", shown(value)),
        _ => world.answer_line(answer),
    }
}

/// Returns the folder of tools that tests need: `test-tools` in the target directory, unless `ALMONER_TEST_TOOLS`
/// names another.
fn tools() -> PathBuf {
    let beside = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools");
    #[allow(clippy::disallowed_methods, reason = "a test stands outside")]
    std::env::var_os("ALMONER_TEST_TOOLS").map_or_else(beside, PathBuf::from)
}

/// Returns the results of the programs in Compartments, each in one line.
#[allow(clippy::disallowed_methods, reason = "a test stands outside")]
fn in_compartments(programs: &[&str]) -> Vec<String> {
    let tools = tools();
    let ses = tools.join("node_modules/ses");
    assert!(ses.is_dir(), "{} is missing: `cargo xtask tools` installs it", ses.display());
    // Node finds packages from where a program lies.
    let program = tools.join(format!("ses-{}.mjs", std::process::id()));
    std::fs::write(&program, include_str!("../differential/ses.mjs")).expect("the tools' folder");
    let mut node = Command::new(tools.join("node_modules/.bin/node"))
        .arg(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Node starts");
    let asked = serde_json::to_vec(programs).expect("JSON");
    node.stdin.take().expect("its input").write_all(&asked).expect("Node reads");
    let output = node.wait_with_output().expect("Node ends");
    let removed = std::fs::remove_file(&program);
    let said = String::from_utf8_lossy(&output.stdout);
    let told = serde_json::from_str(said.lines().last().unwrap_or_default());
    assert!(removed.is_ok());
    told.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn program_results_equal_ses_or_the_row_says_why() {
    let rows = rows();
    let programs: Vec<&str> = rows.iter().map(|row| row.program.as_str()).collect();
    let compartments = in_compartments(&programs);
    assert_eq!(compartments.len(), rows.len());
    let mut wrong = Vec::new();
    for (row, ses) in rows.iter().zip(&compartments) {
        let vat = in_a_vat(&row.program);
        if (&vat, ses) != (&row.vat, &row.ses) {
            wrong.push(format!(
                "{}\n  vat  {vat}\n  not  {}\n  ses  {ses}\n  not  {}",
                row.program, row.vat, row.ses
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn differences_are_few_and_have_a_reason() {
    let rows = rows();
    let both_throw = |row: &Difference| row.vat.starts_with("throws ") && row.ses.starts_with("throws ");
    let differences: Vec<_> = rows.iter().filter(|row| row.vat != row.ses && !both_throw(row)).collect();
    assert!(rows.len() - differences.len() >= 350, "{}", rows.len());
    for row in &rows {
        let differs = row.vat != row.ses && !both_throw(row);
        assert_eq!(differs, row.because.len() > 20, "{}", row.program);
    }
    let programs: std::collections::BTreeSet<_> = rows.iter().map(|row| &row.program).collect();
    assert_eq!(programs.len(), rows.len());
}
