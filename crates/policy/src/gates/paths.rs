//! The gate for paths. It denies a call for the problems that the capability itself found: paths that lead out,
//! suffixes, sizes, missing files. It asks about files whose names say that they hold keys, or that a program obeys
//! them, about files that workers include, and about reading text that holds keys.

use std::borrow::Cow;

use kernel::proposal::{Effect, Finding};
use passable::{quoting, visible_line};
use resource::Kind;

use super::{Gate, operator};
use crate::facts::{Context, KeySighting, PathFact};
use crate::protected::{ProtectionReason, protected, protected_directory};
use crate::ruling::{Lift, Ruling};

/// The rule of the question about text that holds keys.
const KEYS_INSIDE: &str = "paths/keys-inside";

/// The ending of files with keys or certificates.
const PEM: &str = ".pem";

/// The methods whose paths are those of directories.
const DIRECTORY_METHODS: [&str; 3] = ["list", "glob", "make_directory"];

pub(super) const GATE: Gate =
    Gate { name: "paths", version: 5, about: "what the call names lies within the capability", judge };

fn judge(context: &Context<'_>) -> Ruling {
    // A problem shows what is in the directory, which a policy may forbid to read.
    let is_silent = !context.facts.problems.is_empty() && operator::forbids(context);
    let problems = if is_silent { Vec::new() } else { context.facts.problems.clone() };
    let mut rulings = vec![Ruling::deny_any(problems)];
    rulings.extend(context.facts.paths.iter().filter_map(|fact| guarded(context, fact)));
    rulings.extend(context.facts.keys.iter().map(key_question));
    Ruling::strictest(rulings)
}

/// Returns the question about text that would be read, and that holds what looks like a key.
fn key_question(sighting: &KeySighting) -> Ruling {
    let shown = visible_line(&sighting.source);
    Ruling::ask(
        Lift::Permission,
        Finding::new(KEYS_INSIDE, quoting!("`{}` holds what looks like ", shown).and(sighting.kind))
            .at(sighting.argument.clone())
            .counter_example(shown)
            .allowed("a person's approval of exactly this call, or another file"),
    )
}

/// Returns the question about a file whose name, or whose target's name, is protected.
fn guarded(context: &Context<'_>, fact: &PathFact) -> Option<Ruling> {
    let reads = context.proposal.effect == Effect::Observe;
    let is_of_directories = DIRECTORY_METHODS.contains(&context.proposal.method.as_str());
    // Both count: the path as the call names it, and the path to which its links lead.
    let names = [Some(&fact.path), fact.leads_to.as_ref()];
    let is_certificate = reads && context.facts.certificates.contains(&fact.path);
    let included =
        || (!reads && is_included(context, fact)).then_some((&fact.path, ProtectionReason::Included));
    let named = names.into_iter().flatten().find_map(|path| {
        let judged = |path: &str| {
            let path = if is_certificate { named_as_certificate(path) } else { Cow::Borrowed(path) };
            let path = path.as_ref();
            let why = if is_of_directories { protected_directory(path) } else { protected(path) };
            why.filter(|why| !reads || *why == ProtectionReason::Keys)
        };
        let why = judged(path).or_else(|| places(context, path).find_map(|place| judged(&place)));
        why.map(|why| (path, why))
    });
    let (path, why) = named.or_else(included)?;
    let shown = visible_line(path);
    let (rule, does) = if reads { ("paths/keys", "read") } else { ("paths/protected", "written") };
    Some(Ruling::ask(
        Lift::Permission,
        Finding::new(rule, quoting!("`{}` would be ", shown).and(does).and(", and ").and(why.describe()))
            .at(fact.argument.clone())
            .counter_example(shown)
            .allowed("a person's approval of exactly this call, or another file"),
    ))
}

/// Returns a path with the ending of a certificate, if it has the one that keys and certificates share.
fn named_as_certificate(path: &str) -> Cow<'_, str> {
    let stem = path.len().checked_sub(PEM.len()).and_then(|at| path.split_at_checked(at));
    match stem.filter(|(_, end)| end.eq_ignore_ascii_case(PEM)) {
        Some((stem, _)) => Cow::Owned(format!("{stem}.crt")),
        None => Cow::Borrowed(path),
    }
}

/// Returns whether a worker of the store includes the present file. Its path tells it, or its content.
fn is_included(context: &Context<'_>, fact: &PathFact) -> bool {
    let included = &context.rules.included;
    let Some(bytes) = fact.bytes else { return false };
    let overwritten = context.facts.overwrites.iter().map(|overwritten| overwritten.digest);
    let pinned = context.facts.pins.iter().filter_map(|pin| pin.digest);
    let has_path = |path: &String| {
        included.has_path(path) || places(context, path).any(|place| included.has_path(&place))
    };
    std::iter::once(&fact.path).chain(&fact.leads_to).any(has_path)
        || overwritten.chain(pinned).any(|content| included.has_content(&content, bytes))
}

/// Returns the paths of a file from the root of the file system, one for each name of the endowed directory. `config`
/// in an endowed `.git` is `.git/config`. The endowed directory itself is not checked, because a person named it.
fn places<'a>(context: &'a Context<'_>, path: &'a str) -> impl Iterator<Item = String> + 'a {
    let is_within = context.subject.is(Kind::Dir { write: false }) && !path.is_empty();
    let roots = context.subject.names.iter().filter(move |_| is_within);
    roots.map(move |root| format!("{}/{path}", root.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use kernel::id::BlobHash;
    use kernel::proposal::Decision::{Allow, Ask, Deny};

    use super::*;
    use crate::fixture::{Call, FixedOperator, check};
    use crate::rules::Stance;

    #[test]
    fn capability_problems_deny() {
        let problem = |rule: &str| Finding::new(rule, "wrong").at("path").counter_example("x").allowed("y");
        check(&GATE, &Call::new("change"), (Allow, Allow), &[]);
        let call =
            Call::new("look").but(|c| c.facts.problems = vec![problem("path/parent"), problem("dir/suffix")]);
        check(&GATE, &call, (Deny, Deny), &["path/parent", "dir/suffix"]);
    }

    #[test]
    fn forbidden_call_hides_its_problems() {
        let problem =
            Finding::new("edit/not-found", "line 3 is `x`").at("old").counter_example("X").allowed("x");
        let call = Call::new("change").but(|c| c.facts.problems = vec![problem]);
        for (stance, decision, rules) in [
            (Stance::Forbids, Allow, &[][..]),
            (Stance::Silent, Deny, &["edit/not-found"]),
            (Stance::Permits, Deny, &["edit/not-found"]),
        ] {
            let call = call.clone().under(FixedOperator::new(stance, vec![]));
            check(&GATE, &call, (decision, decision), rules);
            assert_eq!(call.verdict().decision, Deny, "{stance:?}");
        }
    }

    #[test]
    fn directory_path_counts_for_protected_names() {
        let at = |method: &str, roots: &[&str], path: &str| {
            Call::new(method).but(|c| {
                c.subject.kind = "dir".into();
                c.subject.names = roots.iter().map(|root| (*root).to_owned()).collect();
                c.facts.paths.push(PathFact {
                    argument: "path".into(),
                    path: path.into(),
                    leads_to: None,
                    bytes: None,
                });
            })
        };
        let (keys, obeyed) = (&["paths/keys"][..], &["paths/protected"][..]);
        for (call, decisions, rules) in [
            (at("change", &["/home/me/.git"], "config"), (Ask, Ask), obeyed),
            (at("change", &["/home/me/.git/"], "hooks/x"), (Ask, Ask), obeyed),
            (at("change", &["/home/me/.config"], "almoner/config.toml"), (Ask, Ask), obeyed),
            (at("change", &["/home/me/.config"], "git/config"), (Ask, Ask), obeyed),
            (at("change", &["/home/me/.config/autostart"], "a.desktop"), (Ask, Ask), obeyed),
            (at("look", &["/home/me/.ssh"], "config"), (Ask, Ask), keys),
            (at("look", &["/home/me/.ssh"], ""), (Allow, Allow), &[]),
            // If a directory has two names, both count.
            (at("change", &["/mnt/g", "/home/me/p/.git"], "config"), (Ask, Ask), obeyed),
            (at("change", &["/home/me/git"], "config"), (Allow, Allow), &[]),
            (at("look", &["/home/me/.git"], "config"), (Allow, Allow), &[]),
        ] {
            check(&GATE, &call, decisions, rules);
        }
    }

    #[test]
    fn protected_files_ask_despite_the_endowment() {
        let at = |method: &str, path: &str, leads_to: Option<&str>| {
            Call::new(method).but(|c| {
                c.facts.paths.push(PathFact {
                    argument: "path".into(),
                    path: path.into(),
                    leads_to: leads_to.map(str::to_owned),
                    bytes: None,
                });
            })
        };
        for (call, decisions, rules) in [
            (at("look", "notes.md", None), (Allow, Allow), &[][..]),
            (at("change", "tokenizer.rs", None), (Allow, Allow), &[]),
            (at("look", ".env", None), (Ask, Ask), &["paths/keys"]),
            (at("look", "notes.md", Some("sub/.ENV")), (Ask, Ask), &["paths/keys"]),
            (at("change", "triage.worker", None), (Ask, Ask), &["paths/protected"]),
            (at("look", "triage.worker", None), (Allow, Allow), &[]),
            (at("change", "package.json", None), (Ask, Ask), &["paths/protected"]),
            (at("change", ".new", None), (Ask, Ask), &["paths/protected"]),
            (at("look", ".new", None), (Allow, Allow), &[]),
            (at("look", ".git/config", None), (Allow, Allow), &[]),
            (at("change", ".git/config", None), (Ask, Ask), &["paths/protected"]),
            (at("change", ".env", None), (Ask, Ask), &["paths/protected"]),
            (at("change", "notes.md", Some(".git/hooks/pre-commit")), (Ask, Ask), &["paths/protected"]),
        ] {
            check(&GATE, &call, decisions, rules);
        }
    }

    #[test]
    fn certificate_is_read_unasked_and_written_with_a_question() {
        let at = |method: &str, path: &str, leads_to: Option<&str>, is_certificate: bool| {
            Call::new(method).but(|c| {
                c.facts.certificates.extend(is_certificate.then(|| path.to_owned()));
                let leads_to = leads_to.map(str::to_owned);
                c.facts.paths.push(PathFact {
                    argument: "path".into(),
                    path: path.into(),
                    leads_to,
                    bytes: None,
                });
            })
        };
        for (call, decision) in [
            (at("look", "ca.pem", None, true), Allow),
            (at("look", "tls/CA.PEM", None, true), Allow),
            (at("look", "ca", Some("tls/ca.pem"), true), Allow),
            (at("look", "ca.pem", None, false), Ask),
            // Other words of the name, and its directory, still count.
            (at("look", "privkey.pem", None, true), Ask),
            (at("look", ".ssh/ca.pem", None, true), Ask),
            (at("look", "ca.key", None, true), Ask),
            (at("change", "ca.pem", None, true), Ask),
        ] {
            let rules = match decision {
                Allow => &[][..],
                _ if call.proposal.effect == Effect::Observe => &["paths/keys"],
                _ => &["paths/protected"],
            };
            check(&GATE, &call, (decision, decision), rules);
        }
    }

    #[test]
    fn reading_text_with_a_key_asks() {
        for method in ["look", "change"] {
            let call = Call::new(method).but(|c| {
                c.facts.keys.push(KeySighting {
                    argument: "path".into(),
                    source: "a.log".into(),
                    kind: "a key of AWS",
                });
            });
            check(&GATE, &call, (Ask, Ask), &["paths/keys-inside"]);
        }
    }

    #[test]
    fn file_that_a_worker_includes_asks_before_it_is_written() {
        use std::sync::Arc;

        use crate::facts::Overwrite;
        use crate::protected::IncludedFiles;
        use crate::rules::Rules;

        let (old, other) = (BlobHash::of(b"old"), BlobHash::of(b"other"));
        let writes = |method: &str, path: &str, bytes: Option<u64>, digest: BlobHash| {
            Call::new(method).but(|c| {
                let mut included = IncludedFiles::default();
                included.add("lib/style.md", old);
                c.rules = Arc::new(Rules { included: Arc::new(included), ..Rules::default() });
                let path = path.to_owned();
                c.facts.overwrites = bytes.map(|bytes| Overwrite { path: path.clone(), digest, bytes });
                c.facts.paths.push(PathFact { argument: "path".into(), path, leads_to: None, bytes });
            })
        };
        for (call, decision) in [
            (writes("change", "lib/style.md", Some(3), other), Ask),
            (writes("change", "LIB/style.md", Some(3), other), Ask),
            (writes("change", "copy.md", Some(300), old), Ask),
            (writes("change", "copy.md", Some(3), old), Allow),
            (writes("change", "other.md", Some(300), other), Allow),
            // A file that is not there is included by none.
            (writes("change", "b/lib/style.md", None, other), Allow),
            (writes("look", "lib/style.md", Some(300), old), Allow),
        ] {
            let rules = if decision == Ask { &["paths/protected"][..] } else { &[] };
            check(&GATE, &call, (decision, decision), rules);
        }
    }
}
