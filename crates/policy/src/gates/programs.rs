//! Which programs may be started, and with which arguments a person must have seen.

use kernel::proposal::Finding;
use passable::visible_line;

use super::Gate;
use crate::facts::{Context, ProgramFact};
use crate::launchers::launches;
use crate::ruling::{Lift, Ruling};

pub(super) const GATE: Gate = Gate {
    name: "programs",
    version: 1,
    about: "only endowed programs run, and none that starts others without being seen in full",
    judge,
};

/// The most findings about single arguments.
const MOST: usize = 8;

fn judge(context: &Context<'_>) -> Ruling {
    let Some(program) = &context.facts.program else { return Ruling::allow() };
    let argv = argv(program);
    match program.endowed {
        None => {
            return Ruling::deny(
                Finding::new(
                    "programs/not-endowed",
                    format!("{} is not a program that was endowed", called(program)),
                )
                .at("argv[0]")
                .counter_example(argv)
                .allowed(format!("one of these, by its name: {}", program.allowed.join(", "))),
            );
        }
        Some(endowed) if endowed != program.digest => {
            let message =
                format!("{} is not the program that was endowed: its file has changed", called(program));
            return Ruling::deny(
                Finding::new("programs/changed", message)
                    .at("argv[0]")
                    .counter_example(format!("{} {}", visible_line(&program.path), program.digest.short()))
                    .allowed(format!(
                        "{} {}; the user can endow it anew",
                        visible_line(&program.path),
                        endowed.short()
                    )),
            );
        }
        Some(_) => {}
    }
    let seen = "a person's approval of exactly this call; nothing else lifts this";
    let ask = |rule: &str, at: String, message: String| {
        Finding::new(rule, message).at(at).counter_example(argv.clone()).allowed(seen)
    };
    let mut findings = Vec::new();
    for launch in launches(&program.path, &program.argv).into_iter().take(MOST) {
        let rule = if launch.at == 0 { "programs/launcher" } else { "programs/names-program" };
        findings.push(ask(rule, format!("argv[{}]", launch.at), launch.what));
    }
    if program.starts_others && findings.is_empty() {
        let message = format!("{} was endowed to start any program of this machine", called(program));
        findings.push(ask("programs/starts-others", "argv[0]".to_owned(), message));
    }
    if program.network {
        let message = format!("{} can reach the network, and send what it reads anywhere", called(program));
        findings.push(ask("programs/network", "argv[0]".to_owned(), message));
    }
    let mut findings = findings.into_iter();
    match findings.next() {
        None => Ruling::allow(),
        Some(first) => findings.fold(Ruling::ask(Lift::Permission, first), Ruling::with),
    }
}

/// Whether a call of this program does more than change what it was given: then it counts as seen outside.
pub(crate) fn commits(program: &ProgramFact) -> bool {
    program.network || program.starts_others || !launches(&program.path, &program.argv).is_empty()
}

fn called(program: &ProgramFact) -> String {
    format!("`{}`", visible_line(program.argv.first().map_or("", String::as_str)))
}

/// The argument vector, so that where one argument ends and the next begins can be seen.
fn argv(program: &ProgramFact) -> String {
    let words = program.argv.iter().map(|word| format!("\"{}\"", visible_line(word).replace('"', "\\\"")));
    format!("[{}]", words.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use kernel::id::BlobHash;
    use kernel::proposal::Decision::{Allow, Ask, Deny};

    use super::*;
    use crate::fixture::{Call, check};

    fn program(line: &str) -> ProgramFact {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        ProgramFact {
            path: format!("/usr/bin/{}", argv[0]),
            argv,
            digest: BlobHash([1; 32]),
            endowed: Some(BlobHash([1; 32])),
            allowed: vec!["rg".into(), "git".into()],
            network: false,
            starts_others: false,
        }
    }

    fn call(program: ProgramFact) -> Call {
        Call::new("change").by_model().but(|call| call.facts.program = Some(program))
    }

    #[test]
    fn only_what_was_endowed_runs_and_launchers_are_seen_in_full() {
        for (program, decisions, rules) in [
            (program("rg foo"), (Allow, Allow), &[][..]),
            (ProgramFact { endowed: None, ..program("curl x") }, (Deny, Deny), &["programs/not-endowed"]),
            (
                ProgramFact { endowed: Some(BlobHash([2; 32])), ..program("rg foo") },
                (Deny, Deny),
                &["programs/changed"],
            ),
            (program("sh -c x"), (Ask, Ask), &["programs/launcher"]),
            (program("env rm x"), (Ask, Ask), &["programs/launcher", "programs/names-program"]),
            (program("git -c a=b status"), (Ask, Ask), &["programs/names-program"]),
            (ProgramFact { network: true, ..program("rg foo") }, (Ask, Ask), &["programs/network"]),
            (ProgramFact { starts_others: true, ..program("rg x") }, (Ask, Ask), &["programs/starts-others"]),
            (
                ProgramFact { starts_others: true, network: true, ..program("sh x") },
                (Ask, Ask),
                &["programs/launcher", "programs/network"],
            ),
        ] {
            let commits = commits(&program);
            check(&GATE, &call(program), decisions, rules);
            assert_eq!(commits, decisions.0 == Ask, "{rules:?}");
        }
        check(&GATE, &Call::new("change").by_model(), (Allow, Allow), &[]);
    }

    #[test]
    fn no_endowment_lifts_the_question() {
        let call = call(program("sh -c x")).allowed();
        assert_eq!(call.verdict().decision, Ask);
    }

    #[test]
    fn the_counter_example_is_the_whole_call() {
        let mut fact = program("sh -c");
        fact.argv.push("rm -rf ~; \"x\"\u{202e}".to_owned());
        let call = call(fact);
        let ruling = call.ruling(&GATE);
        let shown = ruling.findings()[0].counter_example.clone().unwrap();
        assert_eq!(shown, "[\"sh\", \"-c\", \"rm -rf ~; \\\"x\\\"\\u{202E}\"]");
    }
}
