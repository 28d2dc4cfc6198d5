//! A directory that was granted and is used without a run. Pinned states must still hold, and after a crash a probe
//! knows whether a change was made.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use caps::mount::GrantedDirectory;
use caps::{Capability, HostServices, NoSecret, Probe, Settled, settle};
use kernel::grant::{Attenuation, EVERY_METHOD, Grant};
use kernel::id::{BlobHash, FormulaId, GrantNumber, Number, RunNumber, StepRef};
use kernel::proposal::{Caller, Effect, Pin, Proposal, Value};
use kernel::provenance::Provenance;
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use resource::web::Origin;
use zeroize::Zeroizing;

const TEMPORARY: &str = ".almoner-r3-7-04040404.tmp";

/// Keeps the bytes "kept" beside the store.
struct BlobFixture;

impl HostServices for BlobFixture {
    fn secret(&self, _: &str, _: &Origin) -> Result<Zeroizing<String>, NoSecret> {
        Err(NoSecret::Missing)
    }

    fn stored_bytes(&self, digest: &BlobHash) -> Option<Vec<u8>> {
        (*digest == BlobHash::of(b"kept")).then(|| b"kept".to_vec())
    }
}

/// Knows one mail spool.
struct SpoolFixture(String);

impl HostServices for SpoolFixture {
    fn secret(&self, _: &str, _: &Origin) -> Result<Zeroizing<String>, NoSecret> {
        Err(NoSecret::Missing)
    }

    fn places(&self) -> Option<policy::Places> {
        Some(caps::places::spools([&self.0]).into_iter().collect())
    }
}

fn id(byte: u8) -> FormulaId {
    FormulaId { number: [byte; 32], node: [9; 32] }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("root/sub/deep")).unwrap();
    fs::create_dir_all(folder.path().join("root/empty")).unwrap();
    fs::create_dir_all(folder.path().join("outside")).unwrap();
    for (name, text) in
        [("root/a.md", "a"), ("root/b.md", "b"), ("root/sub/c.md", "c"), ("outside/x", "CANARY")]
    {
        fs::write(folder.path().join(name), text).unwrap();
    }
    symlink("a.md", folder.path().join("root/link")).unwrap();
    symlink("../outside", folder.path().join("root/out")).unwrap();
    folder
}

fn open_granted(folder: &Path, attenuation: &Attenuation) -> GrantedDirectory {
    GrantedDirectory::new(
        folder.join("root").to_str().unwrap(),
        false,
        attenuation,
        id(2),
        Arc::new(BlobFixture),
    )
}

fn args(method: &str, words: &[&str]) -> Vec<Value> {
    let mut args: Vec<Value> = words.iter().map(|word| Value::string(*word)).collect();
    if method == "put" {
        args.insert(2, Value::number(4.0));
    }
    args
}

fn begun_with(
    capability: &GrantedDirectory,
    method: &str,
    args: Vec<Value>,
    methods: &[&str],
    reopened: bool,
) -> StartedEffect {
    let pins = capability.facts(method, &args).pins;
    pinned(method, args, methods, reopened, pins)
}

fn pinned(
    method: &str,
    args: Vec<Value>,
    methods: &[&str],
    reopened: bool,
    pins: BTreeSet<Pin>,
) -> StartedEffect {
    let grant = Grant {
        id: id(2),
        number: GrantNumber(1),
        target: id(3),
        words: "a directory".to_owned(),
        holder: id(4),
        owner: Number([1; 32]),
        slot: "docs".to_owned(),
        methods: methods.iter().map(|method| (*method).to_owned()).collect(),
        attenuation: Attenuation::default(),
        allow: BTreeSet::new(),
        ask: BTreeSet::new(),
        source: None,
        given_ms: 0,
        expires_ms: None,
        revoked_ms: None,
        revoked_by: None,
    };
    let proposal = Proposal {
        principal: id(4),
        run: RunNumber(3),
        grant: id(2),
        slot: "docs".to_owned(),
        method: method.to_owned(),
        args,
        effect: Effect::Modify,
        caller: Caller::Code,
        pins,
        provenance: Provenance::host(),
        traces: vec![],
        givers: vec![],
        place: None,
    };
    StartedEffect::for_test(StepRef { run: RunNumber(3), step: 7 }, proposal, grant, reopened)
}

/// Returns all files with their contents, in order.
fn tree(folder: &Path) -> String {
    fn walk(root: &Path, at: &Path, out: &mut Vec<String>) {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if path.is_symlink() {
                out.push(format!("{name}@"));
            } else if path.is_dir() {
                out.push(format!("{name}/"));
                walk(root, &path, out);
            } else {
                out.push(format!("{name}={}", fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut all = vec![];
    walk(&folder.join("root"), &folder.join("root"), &mut all);
    all.sort();
    all.join(" ")
}

const BEFORE: &str = "a.md=a b.md=b empty/ link@ out@ sub/ sub/c.md=c sub/deep/";

fn rule(completion: &Completion) -> String {
    match completion {
        Completion::Done { .. } => "done".to_owned(),
        Completion::Refused(findings) => format!("refused {}", findings[0].rule),
        Completion::Failed(finding) => format!("failed {}", finding.rule),
    }
}

/// Every change: the method, its words, and the files afterwards.
const CHANGES: [(&str, &[&str], &str); 11] = [
    ("write", &["n.md", "new"], "a.md=a b.md=b empty/ link@ n.md=new out@ sub/ sub/c.md=c sub/deep/"),
    ("write", &["a.md", "new"], "a.md=new b.md=b empty/ link@ out@ sub/ sub/c.md=c sub/deep/"),
    ("put", &["sub/c.md", "DIGEST"], "a.md=a b.md=b empty/ link@ out@ sub/ sub/c.md=kept sub/deep/"),
    ("append", &["a.md", "bc"], "a.md=abc b.md=b empty/ link@ out@ sub/ sub/c.md=c sub/deep/"),
    ("append", &["n.md", "bc"], "a.md=a b.md=b empty/ link@ n.md=bc out@ sub/ sub/c.md=c sub/deep/"),
    ("remove", &["a.md"], "b.md=b empty/ link@ out@ sub/ sub/c.md=c sub/deep/"),
    ("remove", &["link"], "a.md=a b.md=b empty/ out@ sub/ sub/c.md=c sub/deep/"),
    ("remove", &["empty"], "a.md=a b.md=b link@ out@ sub/ sub/c.md=c sub/deep/"),
    ("move", &["a.md", "sub/m.md"], "b.md=b empty/ link@ out@ sub/ sub/c.md=c sub/deep/ sub/m.md=a"),
    ("move", &["a.md", "b.md"], "b.md=a empty/ link@ out@ sub/ sub/c.md=c sub/deep/"),
    (
        "makeDirectory",
        &["sub/x/y"],
        "a.md=a b.md=b empty/ link@ out@ sub/ sub/c.md=c sub/deep/ sub/x/ sub/x/y/",
    ),
];

fn expand_digest(words: &[&str]) -> Vec<String> {
    let digest = BlobHash::of(b"kept").to_string();
    words.iter().map(|word| if *word == "DIGEST" { digest.clone() } else { (*word).to_owned() }).collect()
}

fn call(method: &str, all: &[&str]) -> Vec<Value> {
    let all = expand_digest(all);
    args(method, &all.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn each_change_is_made_once_and_recognized_after_a_crash() {
    for (method, said, after) in CHANGES {
        let folder = folder();
        let capability = open_granted(folder.path(), &Attenuation::default());
        let before = capability.facts(method, &call(method, said)).pins;
        let begun = || pinned(method, call(method, said), &[EVERY_METHOD], false, before.clone());
        let again = || pinned(method, call(method, said), &[EVERY_METHOD], true, before.clone());
        let what = format!("{method} {said:?}");
        assert_eq!(capability.probe(&again()), Probe::NotDone, "{what}: before");
        assert_eq!(tree(folder.path()), BEFORE, "{what}: looking changes nothing");
        assert_eq!(rule(&capability.perform(&begun())), "done", "{what}");
        assert_eq!(tree(folder.path()), after, "{what}");
        // A crash before it was recorded: it is not made again.
        let Settled::Completed(settled) = settle(&capability, &again()) else { panic!("{what}: unknown") };
        assert_eq!(rule(&settled), "done", "{what}: after a crash");
        assert_eq!(tree(folder.path()), after, "{what}: after a crash");
    }
}

#[test]
fn change_is_refused_if_the_file_changed_since_judged() {
    for (method, said, _) in CHANGES {
        if method == "makeDirectory" {
            continue;
        }
        let folder = folder();
        let capability = open_granted(folder.path(), &Attenuation::default());
        let begun = begun_with(&capability, method, call(method, said), &[EVERY_METHOD], false);
        let last = said.iter().rev().find(|word| word.contains(['.', 'l', 'e']) && **word != "new").unwrap();
        let place = folder.path().join("root").join(if method == "write" { said[0] } else { last });
        let _ = fs::remove_file(&place);
        let _ = fs::remove_dir(&place);
        fs::write(&place, "somebody else's").unwrap();
        let before = tree(folder.path());
        assert_eq!(rule(&capability.perform(&begun)), "refused mount/changed", "{method} {said:?}");
        assert_eq!(tree(folder.path()), before, "{method} {said:?}");
        // It cannot be known whether the change was made before that.
        let again = pinned(method, call(method, said), &[EVERY_METHOD], true, begun.proposal().pins.clone());
        assert_eq!(capability.probe(&again), Probe::Unknown, "{method} {said:?}");
        assert_eq!(tree(folder.path()), before, "{method} {said:?}");
    }
}

#[test]
fn half_done_change_is_completed_after_a_crash() {
    // A file that was set aside to be removed.
    let folder = folder();
    let root = folder.path().join("root");
    let capability = open_granted(folder.path(), &Attenuation::default());
    let removes = || call("remove", &["a.md"]);
    let pins = capability.facts("remove", &removes()).pins;
    fs::rename(root.join("a.md"), root.join(TEMPORARY)).unwrap();
    let again = pinned("remove", removes(), &[EVERY_METHOD], true, pins.clone());
    assert!(matches!(capability.probe(&again), Probe::Done { .. }));
    assert!(!root.join(TEMPORARY).exists(), "what was set aside goes");
    // A file that somebody else put there stays.
    fs::write(root.join(TEMPORARY), "somebody else's").unwrap();
    assert!(matches!(capability.probe(&again), Probe::Done { .. }));
    assert_eq!(fs::read_to_string(root.join(TEMPORARY)).unwrap(), "somebody else's");
    // Two files that were exchanged, and the one that was replaced is still there.
    let folder = self::folder();
    let root = folder.path().join("root");
    let capability = open_granted(folder.path(), &Attenuation::default());
    let moves = || call("move", &["a.md", "b.md"]);
    let pins = capability.facts("move", &moves()).pins;
    fs::write(root.join("a.md"), "b").unwrap();
    fs::write(root.join("b.md"), "a").unwrap();
    let again = pinned("move", moves(), &[EVERY_METHOD], true, pins);
    assert!(matches!(capability.probe(&again), Probe::Done { .. }));
    assert_eq!(tree(folder.path()), "b.md=a empty/ link@ out@ sub/ sub/c.md=c sub/deep/");
    // A temporary file that was never put in its place.
    let folder = self::folder();
    let root = folder.path().join("root");
    let capability = open_granted(folder.path(), &Attenuation::default());
    for (method, text) in [("write", "aXX"), ("append", "XX")] {
        fs::write(root.join("a.md"), "a").unwrap();
        let args = || call(method, &["a.md", text]);
        let pins = capability.facts(method, &args()).pins;
        fs::write(root.join(TEMPORARY), "aX").unwrap();
        let again = pinned(method, args(), &[EVERY_METHOD], true, pins);
        assert_eq!(settle(&capability, &again), settle(&capability, &again), "{method}");
        assert_eq!(fs::read_to_string(root.join("a.md")).unwrap(), "aXX", "{method}");
        assert!(!root.join(TEMPORARY).exists(), "{method}");
    }
}

#[test]
fn calls_outside_grant_methods_or_place_are_refused() {
    let folder = folder();
    let capability = open_granted(folder.path(), &Attenuation::default());
    let perform = |method: &str, args: Vec<Value>, methods: &[&str]| {
        rule(&capability.perform(&begun_with(&capability, method, args, methods, false)))
    };
    assert_eq!(perform("remove", call("remove", &["a.md"]), &["write"]), "refused caps/grant");
    assert_eq!(perform("burn", call("burn", &["a.md"]), &[EVERY_METHOD]), "refused caps/grant");
    assert_eq!(perform("write", call("write", &["n.md"]), &["write"]), "refused mount/arguments");
    let elsewhere = GrantedDirectory::new("/", false, &Attenuation::default(), id(7), Arc::new(BlobFixture));
    let begun = begun_with(&capability, "remove", call("remove", &["a.md"]), &[EVERY_METHOD], false);
    assert_eq!(rule(&elsewhere.perform(&begun)), "refused caps/grant");
    for (words, says) in [
        (&["out/x", "mine"][..], "failed file/link"),
        (&["../outside/x", "mine"], "failed path/parent"),
        (&["link", "mine"], "failed file/link"),
        (&["sub", "mine"], "failed file/directory"),
        // A write within a place stays in it.
        (&["a.md", "mine", "sub"], "refused mount/arguments"),
        (&["sub/c.md", "mine", "sub"], "done"),
        (&["out/x", "mine", "out"], "failed file/link"),
    ] {
        assert_eq!(perform("write", call("write", words), &["write"]), says, "{words:?}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("outside/x")).unwrap(), "CANARY");
    let gone = args("put", &["n.md", &BlobHash::of(b"gone").to_string()]);
    assert_eq!(perform("put", gone, &["write"]), "failed mount/kept");
    // A call that looks sees only the place, and changes nothing there.
    let looks = |method: &str, words: &[&str], methods: &[&str]| {
        capability.readable_place(&begun_with(&capability, method, call(method, words), methods, false))
    };
    assert!(looks("remove", &["a.md"], &[EVERY_METHOD]).is_err());
    assert!(looks("read", &["a.md"], &["list"]).is_err());
    let place = looks("read", &["sub/c.md", "sub"], &["readText"]).unwrap();
    assert_eq!(place.read(&["c.md".to_owned()], 10).unwrap(), b"mine");
    assert!(place.write(&["n.md".to_owned()], b"x", 10).is_err());
}

#[test]
fn attenuation_limits_apply_to_every_change() {
    let folder = folder();
    let suffixes = BTreeSet::from([".md".to_owned()]);
    let capability =
        open_granted(folder.path(), &Attenuation { suffixes, max_bytes: Some(3), ..Attenuation::default() });
    for (method, words, says) in [
        ("write", &["n.txt", "x"][..], "failed dir/suffix"),
        ("write", &["n.md", "four"], "failed mount/size"),
        ("append", &["a.md", "xxx"], "failed mount/size"),
        ("append", &["a.md", "xx"], "done"),
        ("move", &["a.md", "a.txt"], "failed dir/suffix"),
        ("remove", &["link"], "failed dir/suffix"),
        ("put", &["n.md", "DIGEST"], "failed mount/size"),
    ] {
        let begun = begun_with(&capability, method, call(method, words), &[EVERY_METHOD], false);
        assert_eq!(rule(&capability.perform(&begun)), says, "{method} {words:?}");
    }
}

#[test]
fn directory_moved_above_a_spool_sends() {
    let folder = folder();
    let root = folder.path().canonicalize().unwrap().join("root");
    fs::create_dir_all(root.join("mail/outbox")).unwrap();
    let spool = root.join("mail/outbox").to_str().unwrap().to_owned();
    let granted = GrantedDirectory::new(
        root.to_str().unwrap(),
        false,
        &Attenuation::default(),
        id(2),
        Arc::new(SpoolFixture(spool)),
    );
    let raises = |from: &str, to: &str| {
        let facts = granted.facts("move", &args("move", &[from, to]));
        facts.raises
    };
    // The directory above the spool is taken away, and then another one takes its place.
    assert_eq!(raises("mail", "old"), Some(Effect::Commit));
    fs::rename(root.join("mail"), root.join("old")).unwrap();
    assert_eq!(raises("sub", "mail"), Some(Effect::Commit));
    assert_eq!(raises("sub", "other"), None);
}
