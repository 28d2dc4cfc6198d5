//! The fingerprint is pinned: a golden file, and a change of any part changes it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use kernel::proposal::{Caller, Effect, Pin, Proposal};
use kernel::provenance::{Provenance, Source};
use kernel::{BlobHash, FormulaId, RunNumber, Value};

fn id(n: u8) -> FormulaId {
    FormulaId { number: [n; 32], node: [0xee; 32] }
}

fn base() -> Proposal {
    Proposal {
        principal: id(1),
        run: RunNumber(17),
        grant: id(2),
        slot: "out".to_owned(),
        method: "write".to_owned(),
        args: vec![Value::string("a.md"), Value::string("text")],
        effect: Effect::Modify,
        caller: Caller::Model,
        pins: BTreeSet::new(),
        provenance: Provenance::host(),
        traces: vec![],
        givers: vec![],
        place: None,
    }
}

/// Proposals that differ from the first in one part each.
fn variants() -> Vec<(&'static str, Proposal)> {
    let pin = |digest| Pin { kind: "file".to_owned(), name: "a.md".to_owned(), digest };
    let mut all = vec![("base", base())];
    let mut add = |name, change: &dyn Fn(&mut Proposal)| {
        let mut proposal = base();
        change(&mut proposal);
        all.push((name, proposal));
    };
    add("principal", &|p| p.principal = id(9));
    add("run", &|p| p.run = RunNumber(18));
    add("grant", &|p| p.grant = id(9));
    add("method", &|p| p.method = "append".to_owned());
    add("argument", &|p| p.args[1] = Value::string("text "));
    add("split otherwise", &|p| p.args = vec![Value::string("a.mdtext")]);
    add("no arguments", &|p| p.args = vec![]);
    add("a reference", &|p| p.args[1] = Value::remotable(id(3)));
    add("another reference", &|p| p.args[1] = Value::remotable(id(4)));
    add("pin of nothing", &|p| p.pins = BTreeSet::from([pin(None)]));
    add("pin of bytes", &|p| p.pins = BTreeSet::from([pin(Some(BlobHash::of(b"old")))]));
    all
}

#[test]
fn fingerprints_match_the_golden_file() {
    let mut text = String::new();
    for (name, proposal) in variants() {
        writeln!(text, "{} {name}", proposal.fingerprint()).unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/fingerprints.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        text, golden,
        "a changed fingerprint breaks every approval that waits: raise its version instead"
    );
}

#[test]
fn fingerprint_covers_exactly_its_parts() {
    let prints: BTreeSet<_> = variants().iter().map(|(_, p)| p.fingerprint()).collect();
    assert_eq!(prints.len(), variants().len());
    let mut same = base();
    same.provenance = Provenance::of(Source::Model("m".to_owned()));
    same.slot = "another name".to_owned();
    same.caller = Caller::Code;
    assert_eq!(same.fingerprint(), base().fingerprint());
}
