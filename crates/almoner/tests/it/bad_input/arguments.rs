//! Slots, inputs and permissions that do not fit the worker.

use super::{RunFixture, check};

const POST: &str = "---\n\
    description: Answers mail.\n\
    input: { tone: kind|firm, most: number }\n\
    slots:\n  mail: dir\n  out: { is: dir rw, label: Where records go }\n  post: outbox\n\
    ---\nAnswer the mail.\n";

/// The endowments and inputs of a valid command. Each case leaves out or changes something.
const ALL: [&str; 8] = ["-e", "mail=mail", "-e", "out=out:rw", "-e", "post=post", "tone=kind", "most:=3"];

fn with<'a>(changed: &[(usize, &'a str)], added: &[&'a str]) -> Vec<&'a str> {
    let mut args = ["run", "post.worker", "-m", "scripted:hello.json", "--dry-run"].to_vec();
    let mut all = ALL.to_vec();
    for (at, text) in changed {
        all[*at] = text;
    }
    // An empty one is left out, with the `-e` before it.
    for (i, text) in all.iter().enumerate() {
        let left_out = text.is_empty() || (*text == "-e" && all[i + 1].is_empty());
        if !left_out {
            args.push(text);
        }
    }
    args.extend(added);
    args
}

#[test]
fn argument_not_fitting_the_worker_is_refused() {
    let desk = RunFixture::new();
    desk.home.write("post.worker", POST);
    desk.home.write("mail/1.txt", "hello");
    desk.home.almoner(&with(&[], &[])).expect(0);

    type Case<'a> = (Vec<&'a str>, i32, &'a [&'a str], &'a str);
    let cases: Vec<Case<'_>> = vec![
        // Slots: the rest is held by `almoner::start_run::binding_that_does_not_fit_its_slot_is_refused`, in process.
        (with(&[(1, "")], &[]), 2, &["slot `mail` is not bound"], "`-e mail=PATH`"),
        (with(&[(1, "mail")], &[]), 2, &["there is no `=`"], "SLOT=PATH"),
        (
            with(&[(1, "mail=mail?colour=red")], &[]),
            2,
            &["only `suffix=`, `max=`, `total=`, `methods=`, `rate=` and `private`"],
            "SLOT=PATH",
        ),
        // Inputs.
        (with(&[(6, "")], &[]), 6, &["the inputs do not fit", "tone"], "`post` takes"),
        (with(&[(6, "tone=loud")], &[]), 6, &["the inputs do not fit", "tone"], "`post` takes"),
        (with(&[(7, "most=3")], &[]), 6, &["most: ", "number"], "most: a number"),
        (with(&[], &["more=3"]), 6, &["also has", "more"], "`post` takes"),
        (
            with(&[(7, "most:=three")], &[]),
            2,
            &["cannot read `most`: it is not JSON"],
            "for plain text write `=`",
        ),
        (with(&[], &["tone=firm"]), 2, &["`tone` is given twice"], "once"),
        (with(&[(6, "tone=@none.txt")], &[]), 4, &["cannot read none.txt: No such file"], "check the path"),
        (with(&[(6, "tone=@mail")], &[]), 2, &["mail", "directory"], "check the path"),
        (with(&[], &["none.txt"]), 4, &["no file `none.txt`"], "`k=v`"),
        (with(&[], &["no/such=x"]), 4, &["neither a file nor a named input"], "`k=v`"),
    ];
    for (args, code, says, help) in cases {
        desk.refused(&args, code, says, help);
    }
    desk.nothing_happened();
}

#[test]
fn invalid_command_line_exits_with_2() {
    let desk = RunFixture::new();
    let cases: &[(&[&str], &str)] = &[
        (&["rnu"], "run"),
        (&["run"], "FILE.worker"),
        (&["run", "hello.worker", "--on-ask", "maybe"], "prompt, wait, deny"),
        (&["run", "hello.worker", "-j", "3"], "--each"),
        (&["run", "hello.worker", "--json", "--events"], "--events"),
        (&["run", "hello.worker", "--each", "-j", "0"], "1..=64"),
        (&["approve", "1", "--only", "x"], "like `1`, `1,3` or `1-3`"),
    ];
    for (args, says) in cases {
        let said = desk.home.almoner(args).expect(2);
        assert!(said.err.contains(says) && said.out.is_empty(), "{args:?}: {}", said.err);
    }
    for args in [["resume", "17"], ["resume", "first"]] {
        check(&desk.home.almoner(&args), &args, 2, &["is not a run like `r17`"], "almoner runs");
    }
    let said = desk.home.almoner(&["trace", "first"]).expect(4);
    assert!(said.err.contains("Unknown pet name"), "{said:?}");
    for (args, code) in [(["trace", "r99"], 4), (["resume", "r99"], 4)] {
        check(&desk.home.almoner(&args), &args, code, &["no run r99"], "almoner runs");
    }
    check(&desk.home.almoner(&["why", "nothing"]), &["why"], 4, &["nothing is known of `nothing`"], "r17#9");
    check(
        &desk.home.almoner(&["run", "hello.worker", "--each", "-m", "scripted:hello.json"]),
        &["--each"],
        2,
        &["`--each` needs documents"],
        "name a directory or files",
    );
    desk.nothing_happened();
}
