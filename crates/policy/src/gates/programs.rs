//! The gate for programs. It decides which programs may be started, and which arguments a person must have seen.

use kernel::proposal::Finding;
use passable::{Quoting, quoting, visible_line};
use resource::programs::Interpreter;

use super::Gate;
use crate::facts::{Context, ProgramFact, SecretFact};
use crate::launchers::{Launch, launches, obeys_repository};
use crate::ruling::{Lift, Ruling};

pub(super) const GATE: Gate = Gate {
    name: "programs",
    version: 3,
    about: "only endowed programs run, and none that starts others without being seen in full",
    judge,
};

/// The maximum number of findings of each kind about single arguments.
const MAX_ITEMS: usize = 8;

fn judge(context: &Context<'_>) -> Ruling {
    let Some(program) = &context.facts.program else { return Ruling::allow() };
    let argv = argv(program);
    match program.endowed {
        None => {
            return Ruling::deny(
                Finding::new(
                    "programs/not-endowed",
                    program_name(program).and(" is not a program that was endowed"),
                )
                .at("argv[0]")
                .counter_example(argv)
                .allowed(quoting!("one of these, by its name: {}", program.allowed.join(", "))),
            );
        }
        Some(endowed) if endowed != program.digest => {
            let message =
                program_name(program).and(" is not the program that was endowed: its file has changed");
            return Ruling::deny(
                Finding::new("programs/changed", message)
                    .at("argv[0]")
                    .counter_example(format!("{} {}", visible_line(&program.path), program.digest.short()))
                    .allowed(quoting!(
                        "{} {}; the user can endow it anew",
                        visible_line(&program.path),
                        endowed.short()
                    )),
            );
        }
        Some(_) if program.interpreters != program.endowed_interpreters => {
            let shown = |all: &[Interpreter]| {
                let each = all.iter().map(|it| format!("{} {}", visible_line(&it.path), it.digest.short()));
                let all = each.collect::<Vec<_>>().join(", ");
                if all.is_empty() { "nothing".to_owned() } else { all }
            };
            let message = program_name(program).and(" is a script, and what reads it is not what it was");
            return Ruling::deny(
                Finding::new("programs/changed", message)
                    .at("argv[0]")
                    .counter_example(shown(&program.interpreters))
                    .allowed(quoting!(
                        "{}; the user can endow it anew",
                        shown(&program.endowed_interpreters)
                    )),
            );
        }
        Some(_) => {}
    }
    let seen = "a person's approval of exactly this call; nothing else lifts this";
    let ask = |rule: &str, at: String, message: Quoting| {
        Finding::new(rule, message).at(at).counter_example(argv.clone()).allowed(seen)
    };
    let mut findings = Vec::new();
    for launch in launched(program).into_iter().take(MAX_ITEMS) {
        let rule = if launch.at == 0 { "programs/launcher" } else { "programs/names-program" };
        findings.push(ask(rule, format!("argv[{}]", launch.at), launch.description));
    }
    if program.starts_others && findings.is_empty() {
        let message = program_name(program).and(" was endowed to start any program of this machine");
        findings.push(ask("programs/starts-others", "argv[0]".to_owned(), message));
    }
    for named in program.names.protected.iter().take(MAX_ITEMS) {
        let message = quoting!("`{}` is named, and ", visible_line(&named.path)).and(named.why.describe());
        findings.push(ask("programs/protected", format!("argv[{}]", named.at), message));
    }
    if let Some(at) = program.names.beyond {
        let message = "there is more than can be searched for the names of protected files";
        findings.push(ask("programs/protected", format!("argv[{at}]"), message.into()));
    }
    if program.network {
        let message = program_name(program).and(" can reach the network, and send what it reads anywhere");
        findings.push(ask("programs/network", "argv[0]".to_owned(), message));
    }
    let mut rulings: Vec<Ruling> =
        findings.into_iter().map(|finding| Ruling::ask(Lift::Permission, finding)).collect();
    rulings.extend(program.secrets.iter().map(|secret| secret_question(context, program, secret)));
    Ruling::strictest(rulings)
}

/// Returns the question about a program that gets a secret, with which the program can do anything. A user who
/// endowed both together can allow this without a question. A call that itself chooses the secret always asks.
fn secret_question(context: &Context<'_>, program: &ProgramFact, given: &SecretFact) -> Ruling {
    let (name, variable) = (program_name(program), &given.variable);
    let (lift, what, allowed) = match &given.slot {
        None => (
            Lift::Endowment,
            name.then(&quoting!(" gets {} from the secret `{}`", variable, given.secret)),
            quoting!(
                "a person's approval, or an endowment that allows it (`--allow {}.{}`)",
                context.proposal.slot,
                context.proposal.method
            ),
        ),
        Some(slot) => (
            Lift::Permission,
            name.then(&quoting!(
                " gets {} from the secret `{}`, which the slot `{}` holds",
                variable,
                given.secret,
                slot
            )),
            "a person's approval of exactly this call; nothing else lifts this".into(),
        ),
    };
    Ruling::ask(
        lift,
        Finding::new("programs/secret", what).at("env").counter_example(variable.clone()).allowed(allowed),
    )
}

/// Returns whether a call of this program does more than change the directories that it was given. Such a call counts
/// as one whose effect is visible outside.
pub(crate) fn commits(program: &ProgramFact) -> bool {
    program.network || program.starts_others || !launched(program).is_empty()
}

/// Returns every part of a call that decides which other program runs.
fn launched(program: &ProgramFact) -> Vec<Launch> {
    let mut found = launches(&program.path, &program.argv);
    if let Some(reader) = program.interpreters.last() {
        let what = program_name(program)
            .then(&quoting!(" is a script, and `{}` does what it says", visible_line(&reader.path)));
        found.insert(0, Launch { at: 0, description: what });
    }
    if found.is_empty() && program.writes && obeys_repository(&program.path, &program.argv) {
        let what = program_name(program)
            .and(" does what the settings of a repository say, and those can be written");
        found.push(Launch { at: 0, description: what });
    }
    found
}

fn program_name(program: &ProgramFact) -> Quoting {
    quoting!("`{}`", visible_line(program.argv.first().map_or("", String::as_str)))
}

/// Returns the argument vector as text in which each argument is quoted, so that its beginning and end can be seen.
fn argv(program: &ProgramFact) -> String {
    let words = program.argv.iter().map(|word| format!("\"{}\"", visible_line(word).replace('"', "\\\"")));
    format!("[{}]", words.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use kernel::id::BlobHash;
    use kernel::proposal::Decision::{Allow, Ask, Deny};

    use super::*;
    use crate::arguments::{FileMentions, ProtectedMention};
    use crate::fixture::{Call, check};
    use crate::protected::ProtectionReason;

    fn program(line: &str) -> ProgramFact {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        ProgramFact {
            path: format!("/usr/bin/{}", argv[0]),
            argv,
            digest: BlobHash([1; 32]),
            endowed: Some(BlobHash([1; 32])),
            interpreters: vec![],
            endowed_interpreters: vec![],
            allowed: vec!["rg".into(), "git".into()],
            names: FileMentions::default(),
            writes: false,
            network: false,
            starts_others: false,
            secrets: vec![],
        }
    }

    fn call(program: ProgramFact) -> Call {
        Call::new("change").by_model().but(|call| call.facts.program = Some(program))
    }

    #[test]
    fn only_endowed_programs_run_and_launchers_ask() {
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
    fn script_asks_and_changed_interpreter_denies() {
        let reader =
            |digest| vec![Interpreter { path: "/usr/bin/dash".into(), digest: BlobHash([digest; 32]) }];
        for (now, endowed, decisions, rules) in [
            (vec![], vec![], (Allow, Allow), &[][..]),
            (reader(1), reader(1), (Ask, Ask), &["programs/launcher"]),
            (reader(2), reader(1), (Deny, Deny), &["programs/changed"]),
            (reader(1), vec![], (Deny, Deny), &["programs/changed"]),
            (vec![], reader(1), (Deny, Deny), &["programs/changed"]),
        ] {
            let program =
                ProgramFact { interpreters: now, endowed_interpreters: endowed, ..program("tool x") };
            let script = !program.interpreters.is_empty();
            assert_eq!(commits(&program), script);
            check(&GATE, &call(program), decisions, rules);
        }
    }

    #[test]
    fn named_protected_file_asks() {
        let named = ProtectedMention { at: 1, path: ".env".into(), why: ProtectionReason::Keys };
        let asks = &["programs/protected"][..];
        for (names, decisions, rules) in [
            (FileMentions { protected: vec![named.clone()], beyond: None }, (Ask, Ask), asks),
            (FileMentions { protected: vec![], beyond: Some(3) }, (Ask, Ask), asks),
            (FileMentions::default(), (Allow, Allow), &[]),
        ] {
            check(&GATE, &call(ProgramFact { names, ..program("cat .env") }), decisions, rules);
        }
        let fact = ProgramFact {
            names: FileMentions { protected: vec![named], beyond: None },
            ..program("cat .env")
        };
        assert_eq!(call(fact).allowed().verdict().decision, Ask, "no endowment lifts it");
    }

    #[test]
    fn git_asks_where_the_run_could_write_the_repository() {
        for (line, writes, decision, rules) in [
            ("git log", false, Allow, &[][..]),
            ("git log", true, Ask, &["programs/launcher"]),
            ("git -C sub diff", true, Ask, &["programs/launcher"]),
            ("git push", false, Ask, &["programs/names-program"]),
            ("rg x", true, Allow, &[]),
        ] {
            let program = ProgramFact { writes, ..program(line) };
            assert_eq!(commits(&program), decision == Ask, "{line}");
            check(&GATE, &call(program), (decision, decision), rules);
        }
    }

    #[test]
    fn secret_chosen_by_the_call_asks_despite_the_endowment() {
        let secret = |slot: Option<&str>| SecretFact {
            variable: "TOKEN".into(),
            secret: "github".into(),
            slot: slot.map(str::to_owned),
        };
        let (bound, chosen) = (secret(None), secret(Some("token")));
        for (secrets, decisions) in [
            (vec![], (Allow, Allow)),
            (vec![bound.clone()], (Ask, Allow)),
            (vec![chosen.clone()], (Ask, Ask)),
            (vec![bound, chosen], (Ask, Ask)),
        ] {
            let rules = vec!["programs/secret"; secrets.len()];
            check(&GATE, &call(ProgramFact { secrets, ..program("rg foo") }), decisions, &rules);
        }
    }

    #[test]
    fn endowment_does_not_lift_the_launcher_question() {
        let call = call(program("sh -c x")).allowed();
        assert_eq!(call.verdict().decision, Ask);
    }

    #[test]
    fn counter_example_shows_the_whole_call() {
        let mut fact = program("sh -c");
        fact.argv.push("rm -rf ~; \"x\"\u{202e}".to_owned());
        let call = call(fact);
        let ruling = call.ruling(&GATE);
        let shown = ruling.findings()[0].counter_example.clone().unwrap();
        assert_eq!(shown, "[\"sh\", \"-c\", \"rm -rf ~; \\\"x\\\"\\u{202E}\"]");
    }
}
