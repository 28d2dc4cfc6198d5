//! Repositories that lead elsewhere, or would have something run.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use git::{Call, DiffSides};

use crate::test_repository::{TestRepository, add, branch, commit, switch};

/// Returns every call that looks.
fn looks() -> Vec<Call> {
    let (path, revision) = (|| "a.txt".to_owned(), || "HEAD".to_owned());
    vec![
        Call::Status,
        Call::Log { range: None, path: Some(path()), skip: 0, most: 5 },
        Call::Diff { between: DiffSides::Worktree, path: None, offset: 0 },
        Call::Diff { between: DiffSides::Staged, path: None, offset: 0 },
        Call::Diff { between: DiffSides::Revisions { from: revision(), to: None }, path: None, offset: 0 },
        Call::Show { revision: revision(), path: None, offset: 0 },
        Call::Show { revision: revision(), path: Some(path()), offset: 0 },
        Call::Blame { path: path(), from: 1, lines: 5 },
        Call::Branches,
    ]
}

#[test]
fn repository_with_parts_elsewhere_is_not_opened() {
    let check = |name: &str, spoil: &dyn Fn(&TestRepository), rule: &str| {
        let yard = TestRepository::new();
        spoil(&yard);
        for call in looks() {
            assert_eq!(yard.refused(call), rule, "{name}");
        }
        assert_eq!(yard.refused(add(&["."])(None)), rule, "{name}");
    };
    let git = |yard: &TestRepository, name: &str| yard.root().join(".git").join(name);
    let away = |yard: &TestRepository, name: &str| {
        let (here, there) = (yard.root().join(name), yard.path("there"));
        std::fs::rename(&here, &there).unwrap();
        symlink(there, here).unwrap();
    };
    check("no repository", &|yard| std::fs::remove_dir_all(git(yard, "")).unwrap(), "git/none");
    check("linked", &|yard| away(yard, ".git"), "git/elsewhere");
    for part in ["objects", "refs", "config", "HEAD", "index", "logs"] {
        check(part, &|yard| away(yard, &format!(".git/{part}")), "git/elsewhere");
    }
    let worktree = |yard: &TestRepository| {
        std::fs::rename(git(yard, ""), yard.path("there")).unwrap();
        std::fs::write(yard.root().join(".git"), format!("gitdir: {}\n", yard.path("there").display()))
            .unwrap();
    };
    check("a file that names another", &worktree, "git/elsewhere");
    check("commondir", &|yard| std::fs::write(git(yard, "commondir"), "/tmp\n").unwrap(), "git/elsewhere");
    let alternates =
        |yard: &TestRepository| std::fs::write(git(yard, "objects/info/alternates"), "/tmp\n").unwrap();
    check("alternates", &alternates, "git/elsewhere");
    let elsewhere = |yard: &TestRepository| {
        yard.git(&["config", "core.worktree", yard.path("home").to_str().unwrap()]);
    };
    check("core.worktree", &elsewhere, "git/elsewhere");
    let included = |yard: &TestRepository| {
        let home = yard.path("home");
        std::fs::write(yard.path("other"), format!("[core]\n\tworktree = {}\n", home.display())).unwrap();
        yard.git(&["config", "include.path", yard.path("other").to_str().unwrap()]);
    };
    check("core.worktree, included", &included, "git/elsewhere");
    let on_branch = |yard: &TestRepository| {
        let home = yard.path("home");
        std::fs::write(yard.path("other"), format!("[core]\n\tworktree = {}\n", home.display())).unwrap();
        yard.git(&["config", "includeIf.onbranch:main.path", yard.path("other").to_str().unwrap()]);
    };
    check("core.worktree, included for a branch", &on_branch, "git/elsewhere");
}

#[test]
fn repository_of_another_user_is_not_opened() {
    let yard = TestRepository::new();
    // Only root can give files away.
    if std::os::unix::fs::chown(yard.root().join(".git"), Some(1), Some(1)).is_err() {
        return;
    }
    std::os::unix::fs::chown(yard.root(), Some(1), Some(1)).unwrap();
    assert_eq!(yard.refused(Call::Status), "git/owner");
    yard.path("home");
    std::fs::write(yard.root().join(".git/config"), "[safe]\n\tdirectory = *\n").unwrap();
    assert_eq!(yard.refused(Call::Status), "git/owner");
}

#[test]
fn programs_named_by_a_repository_never_run() {
    let yard = TestRepository::new();
    let mark = yard.path("mark");
    let program = yard.path("program");
    std::fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", mark.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let named = program.to_str().unwrap();
    yard.write(".gitattributes", "*.txt diff=evil merge=evil\n*.bin filter=evil\n");
    yard.git(&["add", ".gitattributes"]);
    yard.git(&["commit", "-qm", "Attributes"]);
    for (key, value) in [
        ("diff.evil.textconv", named),
        ("diff.evil.command", named),
        ("diff.external", named),
        ("merge.evil.driver", named),
        ("filter.evil.clean", named),
        ("filter.evil.smudge", named),
        ("filter.evil.process", named),
        ("filter.evil.required", "true"),
        ("core.fsmonitor", named),
        ("core.hooksPath", yard.path("hooks").to_str().unwrap()),
        ("core.pager", named),
        ("core.editor", named),
        ("core.sshCommand", named),
        ("core.askPass", named),
        ("credential.helper", named),
        ("gpg.program", named),
        ("commit.gpgsign", "true"),
        ("core.alternateRefsCommand", named),
    ] {
        yard.git(&["config", key, value]);
    }
    std::fs::create_dir(yard.path("hooks")).unwrap();
    for hook in [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
        "pre-auto-gc",
        "post-rewrite",
    ] {
        for place in [yard.path("hooks"), yard.root().join(".git/hooks")] {
            std::fs::create_dir_all(&place).unwrap();
            std::fs::copy(&program, place.join(hook)).unwrap();
        }
    }
    // The control: git itself obeys the repository.
    yard.write("a.txt", "eins\n");
    yard.git(&["diff"]);
    assert!(std::fs::read_to_string(&mark).unwrap().contains("program"));
    std::fs::remove_file(&mark).unwrap();
    yard.git(&["branch", "topic", "HEAD~1"]);
    let _ = std::fs::remove_file(&mark);
    for call in looks() {
        yard.ask(call).unwrap();
    }
    yard.change(add(&["a.txt"]));
    yard.change(commit("Eins"));
    yard.change(branch("other"));
    yard.change(switch("topic"));
    assert!(!mark.exists(), "{}", std::fs::read_to_string(&mark).unwrap());
    // A file that git would commit in another form is not committed.
    yard.change(switch("other"));
    yard.write("x.bin", "raw\n");
    assert_eq!(yard.refused(add(&["x.bin"])(None)), "git/filter");
    yard.write("sub/.gitattributes", "*.dat filter=evil\n");
    yard.write("sub/x.dat", "raw\n");
    assert_eq!(yard.refused(add(&["sub"])(None)), "git/filter");
    assert!(!mark.exists());
}

#[test]
fn worktree_links_are_not_followed() {
    let yard = TestRepository::new();
    std::fs::write(yard.path("home/key"), "hunter2\n").unwrap();
    symlink(yard.path("home"), yard.root().join("out")).unwrap();
    symlink(yard.path("home/key"), yard.root().join("key")).unwrap();
    assert_eq!(yard.refused(add(&["out/key"])(None)), "git/unchanged");
    // A link is added as its own text, not as the file that it leads to.
    yard.change(add(&["key"]));
    let shown = yard.ask(commit("x")(None)).unwrap().shown.unwrap();
    assert!(!shown.contains("hunter2") && shown.contains("home/key"), "{shown}");
    // A directory that has become a link.
    std::fs::rename(yard.root().join("src"), yard.path("src")).unwrap();
    symlink(yard.path("src"), yard.root().join("src")).unwrap();
    std::fs::write(yard.path("src/b.rs"), "hunter2\n").unwrap();
    for call in looks() {
        let told = yard.ask(call).unwrap();
        assert!(!format!("{told:?}").contains("hunter2"));
    }
}

/// Makes a commit on the branch `evil` whose tree has one more entry, which git's own commands refuse to make.
fn plant(yard: &TestRepository, name: &[u8], is_deep: bool) {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let git = |words: &[&str], input: &[u8]| {
        let mut child = Command::new("git")
            .args(words)
            .current_dir(yard.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{words:?} {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let binary = |id: &str| -> Vec<u8> {
        (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()).collect()
    };
    let write =
        |entry: &[u8], mode: &str, id: &str| [mode.as_bytes(), b" ", entry, b"\0", &binary(id)].concat();
    let hash = |raw: &[u8]| git(&["hash-object", "-t", "tree", "-w", "--literally", "--stdin"], raw);
    let blob = git(&["hash-object", "-w", "--stdin"], b"evil\n");
    let mut bad = (name.to_vec(), write(name, "100644", &blob));
    if is_deep {
        bad = (b"zz".to_vec(), write(b"zz", "40000", &hash(&bad.1)));
    }
    let base = yard.git(&["rev-parse", "HEAD:a.txt"]);
    // A lookup needs the entries in their order.
    let mut entries = [(b"a.txt".to_vec(), write(b"a.txt", "100644", &base)), bad];
    entries.sort();
    let tree = hash(&entries.map(|(_, raw)| raw).concat());
    let head = yard.git(&["rev-parse", "HEAD"]);
    let commit = yard.git(&["commit-tree", &tree, "-p", &head, "-m", "evil"]);
    yard.git(&["update-ref", "refs/heads/evil", &commit]);
}

/// Reported of other programs: go-git/go-git#2339, gitbutlerapp/grit#860 (a tree with `.git/config` is checked out).
#[test]
fn tree_with_impossible_names_is_refused_by_name() {
    let names: [&[u8]; 12] = [
        b"../evil.txt",
        b"/etc/evil.txt",
        b"..",
        b".",
        b".git/config",
        b".git",
        b".GIT",
        b".git::$INDEX_ALLOCATION",
        b"git~1",
        b"a\\..\\evil.txt",
        b".g\xe2\x80\x8cit",
        b"a//b",
    ];
    for (name, is_deep) in names.iter().flat_map(|name| [(*name, false), (*name, true)]) {
        let yard = TestRepository::new();
        plant(&yard, name, is_deep);
        let shown = String::from_utf8_lossy(name).into_owned();
        let between = || DiffSides::Revisions { from: "main".to_owned(), to: Some("evil".to_owned()) };
        let calls = [
            switch("evil")(None),
            switch("evil")(Some(vec![])),
            Call::Show { revision: "evil".to_owned(), path: None, offset: 0 },
            Call::Diff { between: between(), path: None, offset: 0 },
        ];
        // libgit2 joins `zz` and `/etc/evil.txt` with one slash, so a difference shows a path below `zz`. It is not
        // checked out either.
        let refused_calls = if is_deep && name.starts_with(b"/") { 2 } else { calls.len() };
        for call in calls.into_iter().take(refused_calls) {
            let text = format!("{call:?}");
            let refused = yard.ask(call).unwrap_err();
            assert_eq!(refused.rule, "git/name", "{shown} {is_deep} {text} {refused:?}");
            let plain = shown.replace('\u{200c}', "");
            assert!(refused.message.contains(&shown) || refused.message.contains(&plain), "{refused:?}");
        }
        // The other files of the commit can still be looked at.
        let seen =
            yard.value(Call::Show { revision: "evil".to_owned(), path: Some("a.txt".to_owned()), offset: 0 });
        assert!(seen.to_string().contains("one"), "{seen}");
        yard.ask(Call::Log { range: Some("evil".to_owned()), path: None, skip: 0, most: 5 }).unwrap();
        assert_eq!(yard.git(&["branch", "--show-current"]), "main");
        assert!(!yard.path("evil.txt").exists() && !yard.root().join("evil.txt").exists());
        // A directory that holds such a name is not listed as if the name were another place.
        if is_deep {
            let listed =
                yard.ask(Call::Show { revision: "evil".to_owned(), path: Some("zz".to_owned()), offset: 0 });
            assert_eq!(listed.unwrap_err().rule, "git/name", "{shown}");
        }
    }
}

#[test]
fn tree_without_names_is_refused_without_a_panic() {
    let yard = TestRepository::new();
    plant(&yard, b"", false);
    for call in [switch("evil")(None), Call::Show { revision: "evil".to_owned(), path: None, offset: 0 }] {
        let refused = yard.ask(call).unwrap_err();
        assert!(refused.rule.starts_with("git/") && !refused.message.is_empty(), "{refused:?}");
    }
}

/// Reported of other programs: nolabs-ai/nono#932, PostHog/posthog#79300 (settings that include a file elsewhere cannot
/// be read in a sandbox).
#[test]
fn settings_that_include_other_files_are_used_or_named() {
    // Inside of the repository.
    let yard = TestRepository::new();
    yard.write(".gitconfig", "[user]\n\tname = Ada\n");
    yard.git(&["config", "include.path", "../.gitconfig"]);
    assert_eq!(yard.value(Call::Status)["branch"], "main");
    // The included file is missing, as on another machine. Git goes on, too.
    yard.git(&["config", "include.path", "/nowhere/at/all"]);
    assert_eq!(yard.value(Call::Status)["branch"], "main");
    // It may not be read, as in the confined process.
    let secret = yard.path("home/company-secret-name");
    std::fs::write(&secret, "[user]\n\tname = Ada\n").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o000)).unwrap();
    for key in ["include.path", "includeIf.onbranch:main.path"] {
        let yard = TestRepository::new();
        yard.git(&["config", key, secret.to_str().unwrap()]);
        for call in looks() {
            let refused = without_capabilities(|| yard.ask(call).unwrap_err());
            assert_eq!(refused.rule, "git/include", "{key} {refused:?}");
            let told = format!("{refused:?}");
            assert!(told.contains("include.path") && !told.contains("secret"), "{told}");
        }
    }
}

/// Does the work in a thread that permissions stop, also if the tests run as root.
fn without_capabilities<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let confined = || {
        let none = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
            .unwrap();
        work()
    };
    std::thread::scope(|scope| scope.spawn(confined).join().unwrap())
}
