//! A kernel that cannot confine: `almoner doctor` names what is refused, nothing runs without a sandbox, and no text
//! claims one.
//!
//! The kernel's refusal is real: a filter of system calls makes it, in the thread that starts the processes.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use serde_json::{Value as Json, json};

use crate::mcp;
use crate::test_home::TestHome;

/// A system call that the kernel refuses, with an error.
struct Refusal {
    name: &'static str,
    calls: Vec<(i64, Vec<SeccompRule>)>,
    errno: i32,
}

fn refusals() -> [Refusal; 3] {
    let whole = |calls: &[i64]| calls.iter().map(|call| (*call, vec![])).collect();
    let sets_filter = SeccompRule::new(vec![
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::PR_SET_SECCOMP as u64)
            .unwrap(),
    ]);
    [
        // A kernel before 5.13, or one without Landlock.
        Refusal {
            name: "no landlock",
            calls: whole(&[libc::SYS_landlock_create_ruleset]),
            errno: libc::ENOSYS,
        },
        // Landlock that was not enabled when the machine started.
        Refusal {
            name: "landlock is off",
            calls: whole(&[libc::SYS_landlock_create_ruleset]),
            errno: libc::EOPNOTSUPP,
        },
        // A container that lets its programs set no filter of their own.
        Refusal {
            name: "no seccomp",
            calls: vec![(libc::SYS_seccomp, vec![]), (libc::SYS_prctl, vec![sets_filter.unwrap()])],
            errno: libc::EPERM,
        },
    ]
}

/// Runs `test` in a thread whose child processes get this refusal from the kernel.
fn under<T: Send>(refusal: &Refusal, test: impl FnOnce() -> T + Send) -> T {
    let rules: BTreeMap<_, _> = refusal.calls.iter().cloned().collect();
    let errno = SeccompAction::Errno(refusal.errno.try_into().unwrap());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, errno, arch).unwrap().try_into().unwrap();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            seccompiler::apply_filter(&filter).unwrap();
            test()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn script(home: &TestHome, worker: &str, call: &Json) {
    let turns = json!([{ "calls": [call] }, { "text": "done" }]);
    home.write(&format!("{worker}.json"), json!([{ "turns": turns }]).to_string());
}

/// Returns a home with a worker for each kind of slot that needs a confined process.
fn home() -> TestHome {
    let home = TestHome::new();
    home.write("p.worker", "---\nslots: { run: program }\n---\nRun it.\n");
    script(&home, "p", &json!({ "name": "run_run", "arguments": { "argv": ["touch", "ran"] } }));
    home.write("g.worker", "---\nslots: { repo: git }\n---\nRead it.\n");
    script(&home, "g", &json!({ "name": "repo_status", "arguments": {} }));
    home.write("d.worker", "---\ndescription: Reads.\n---\nRead it.\n");
    home.write("d.json", json!([{ "turns": [{ "text": "read" }] }]).to_string());
    home.write("mail.eml", "From: a@b.example\nSubject: good\n\nAll is well.\n");
    home.write("place/log-here", "");
    let git = std::process::Command::new("git").args(["init", "-q"]).arg(home.path("project")).status();
    assert!(git.expect("these tests need git: `apt-get install git`").success());
    home
}

#[test]
fn kernel_that_cannot_confine_refuses_each_kind_and_says_so() {
    for refusal in refusals() {
        let name = refusal.name;
        under(&refusal, || {
            let home = home();
            let report = home.almoner(&["doctor", "sandbox", "--json"]).expect(1).json();
            let checks = report["checks"].as_array().unwrap();
            assert_eq!(checks.len(), 3, "{name}: {report}");
            for (check, refused) in
                checks.iter().zip(["programs, tool servers", "the local model, guest code", "PDF and mail"])
            {
                assert_eq!(check["ok"], false, "{name}: {check}");
                let evidence = check["evidence"].as_str().unwrap();
                assert!(evidence.contains(&format!("refused here: {refused}")), "{name}: {evidence}");
                assert!(check["remedy"].as_str().unwrap().contains("Landlock"), "{name}: {check}");
            }
            let text = home.almoner(&["doctor", "sandbox"]).expect(1).out;
            assert!(text.contains("✗ sandbox") && !text.contains('✓'), "{name}: {text}");

            // A program: nobody is asked about a call that would be refused.
            let program = ["run", "p.worker", "-m", "scripted:p.json", "-e", "run=program:touch?dir=.:rw"];
            let plan = home.almoner(&[&program[..], &["--dry-run"]].concat()).expect(0);
            assert!(
                format!("{}{}", plan.out, plan.err).contains("cannot confine programs"),
                "{name}: {plan:?}"
            );
            home.almoner(&program).expect(0);
            let trace = home.trace("r1").to_string();
            assert!(trace.contains("program/sandbox") && trace.contains("doctor sandbox"), "{name}: {trace}");
            assert!(!home.path("ran").exists(), "{name}");

            // A repository.
            home.almoner(&["run", "g.worker", "-m", "scripted:g.json", "-e", "repo=git:project"]).expect(0);
            let trace = home.trace("r2").to_string();
            assert!(trace.contains("git/") && !trace.contains("clean"), "{name}: {trace}");

            // A tool server.
            let place = home.path("place").display().to_string();
            let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/hostile.mjs");
            let added =
                home.almoner(&["mcp", "add", "s", "--dir", &place, "--", "node", server, "plain", &place]);
            assert!(added.expect(0).err.contains("cannot confine programs"), "{name}");
            let said = home.almoner(&["mcp", "tools", "s"]);
            assert!(said.code != 0 && !said.err.is_empty(), "{name}: {said:?}");
            assert!(mcp::log(&home).is_empty(), "{name}");

            // Guest code, and a document.
            let said = home.almoner(&["eval", "1 + 1"]);
            assert!(said.code != 0 && !said.out.contains('2'), "{name}: {said:?}");
            assert!(said.err.contains("doctor"), "{name}: {said:?}");
            let said = home.almoner(&["run", "d.worker", "-m", "scripted:d.json", "mail.eml"]);
            assert!(said.code != 0, "{name}: {said:?}");
            assert!(said.err.contains("no reader can be confined on this machine"), "{name}: {said:?}");
            assert!(said.err.contains("doctor sandbox"), "{name}: {said:?}");
        });
    }
}

#[test]
fn missing_user_namespaces_loosen_nothing() {
    let refusal =
        Refusal { name: "no namespaces", calls: vec![(libc::SYS_unshare, vec![])], errno: libc::EPERM };
    under(&refusal, || {
        let home = home();
        let text = home.almoner(&["doctor", "sandbox"]).expect(0).out;
        assert!(text.contains("✓ sandbox/") && !text.contains('✗'), "{text}");
    });
}
