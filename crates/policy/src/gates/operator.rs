//! The gate for the policies of this installation's operator, which forbid calls or permit them without a question.

use kernel::proposal::{Decision, Effect, Finding, Proposal, Value};
use resource::Kind;

use super::Gate;
use crate::facts::{Context, Facts, PathFact, Subject};
use crate::places::{PlaceFact, PlaceMeaning};
use crate::rules::Stance;
use crate::ruling::{ActiveLifts, Lift, Ruling};

pub(super) const GATE: Gate =
    Gate { name: "operator", version: 7, about: "the operator's own policies forbid or permit", judge };

fn judge(context: &Context<'_>) -> Ruling {
    let Some(operator) = &context.rules.operator else { return Ruling::allow() };
    let as_known = as_policy_call(context);
    let context = &Context { proposal: as_known.as_ref().unwrap_or(context.proposal), ..*context };
    let mut opinion = operator.opinion(context);
    // A policy that forbids reading or writing a file covers every way to do so, and every spelling.
    let others =
        as_plainer_calls(context).into_iter().chain(as_file_calls(context)).chain(respelled(context));
    for other in others.chain(as_declared(context)).chain(as_mails(context)) {
        if opinion.stance == Stance::Forbids {
            break;
        }
        let said = operator.opinion(&Context {
            proposal: &other.proposal,
            subject: other.subject.as_ref().unwrap_or(context.subject),
            facts: other.facts.as_ref().unwrap_or(context.facts),
            ..*context
        });
        if said.stance >= Stance::Asks && said.stance > opinion.stance {
            opinion = said;
        }
    }
    if opinion.stance == Stance::Forbids && opinion.findings.is_empty() {
        opinion.findings.push(
            Finding::new("operator/forbidden", "the operator's policies forbid it")
                .at("method")
                .counter_example(context.proposal.method.clone())
                .allowed("what no policy forbids: `almoner policy show` lists them"),
        );
    }
    match opinion.stance {
        Stance::Silent => Ruling::notes(opinion.findings),
        Stance::Permits => Ruling::permit(opinion.findings),
        Stance::Asks => Ruling::ask_all(Lift::Permission, opinion.findings),
        Stance::Forbids => Ruling::deny_all(opinion.findings),
    }
}

/// Returns whether the operator's policies forbid a call.
pub(super) fn forbids(context: &Context<'_>) -> bool {
    judge(context).decision(ActiveLifts::default()) == Decision::Deny
}

/// Returns a tool call in the form that policies know: a call of the method `call` with the tool's name and its
/// arguments. Policies cannot know the tools of every server. Returns `None` for any other call.
fn as_policy_call(context: &Context<'_>) -> Option<Proposal> {
    let proposal = context.proposal;
    if !context.subject.is(Kind::Mcp) {
        return None;
    }
    let told = Value::array(proposal.args.iter().cloned());
    let args = vec![Value::from(proposal.method.as_str()), told];
    Some(Proposal { method: "call".to_owned(), args, ..proposal.clone() })
}

/// Another form of a call. A policy that forbids it forbids the call as well.
struct OtherForm {
    proposal: Proposal,
    /// The target, if it is another one than that of the call.
    subject: Option<Subject>,
    /// The facts, if they are others than those of the call.
    facts: Option<Facts>,
}

impl From<Proposal> for OtherForm {
    fn from(proposal: Proposal) -> OtherForm {
        OtherForm { proposal, subject: None, facts: None }
    }
}

/// Returns a call of a method of directories, with the effect that such a call has.
fn file_call(proposal: &Proposal, method: &str, args: Vec<Value>) -> Proposal {
    let effect = if method == "write" { Effect::Modify } else { Effect::Observe };
    Proposal { method: method.to_owned(), args, effect, ..proposal.clone() }
}

/// Returns the simpler calls to which a call of a directory amounts. A policy that forbids such a `list`, `read` or
/// `write` forbids the call as well. The paths are those of the call itself.
fn as_plainer_calls(context: &Context<'_>) -> Vec<OtherForm> {
    let proposal = context.proposal;
    if !context.subject.is(Kind::Dir { write: false }) {
        return vec![];
    }
    let path = || proposal.args.first().cloned().unwrap_or(Value::Undefined);
    let call = |method: &str, args: Vec<Value>| file_call(proposal, method, args);
    let text = |at: usize| proposal.args.get(at).and_then(Value::as_str).unwrap_or_default();
    let calls = match proposal.method.as_str() {
        "append" => vec![call("write", proposal.args.clone())],
        // An edit reveals whether a text stands in a file.
        "edit" => vec![call("read", vec![path()]), call("write", vec![path(), Value::from(text(2))])],
        "remove" | "make_directory" => vec![call("write", vec![path(), Value::from("")])],
        "move" => {
            let write = |at: usize| call("write", vec![Value::from(text(at)), Value::from("")]);
            vec![call("read", vec![path()]), write(0), write(1)]
        }
        "grep" => {
            let place = proposal.args.get(1).filter(|place| place.as_str().is_some());
            let place = place.cloned().unwrap_or_else(|| Value::from("."));
            vec![call("read", vec![place.clone()]), call("list", vec![place])]
        }
        "glob" => vec![call("list", vec![])],
        // `stat` reveals the content of a file, if only as a digest.
        "stat" => vec![call("read", vec![path()])],
        _ => vec![],
    };
    calls.into_iter().map(OtherForm::from).collect()
}

/// The methods of a repository that change files, or the content of the next commit.
const GIT_WRITES: [&str; 4] = ["add", "unstage", "commit", "switch"];

/// The methods of a repository that show what files hold, each with the position of the argument that names a path.
const GIT_READS: [(&str, usize); 4] = [("show", 1), ("blame", 0), ("diff", 3), ("log", 1)];

/// Returns the calls of a directory to which a call of a repository amounts. The directory is the working tree, and
/// each path is judged by itself.
fn as_file_calls(context: &Context<'_>) -> Vec<OtherForm> {
    let proposal = context.proposal;
    if !context.subject.is(Kind::Git { write: false }) {
        return vec![];
    }
    let directory = Kind::Dir { write: false }.row().label;
    let tree = Subject { kind: directory.to_owned(), names: context.subject.names.clone() };
    let form = |method: &str, path: &str| {
        let content = (method == "write").then(|| Value::from(""));
        let fact =
            PathFact { argument: "path".to_owned(), path: path.to_owned(), leads_to: None, bytes: None };
        OtherForm {
            proposal: file_call(proposal, method, [Value::from(path)].into_iter().chain(content).collect()),
            subject: Some(tree.clone()),
            facts: Some(Facts { paths: vec![fact], ..Facts::default() }),
        }
    };
    let known = || context.facts.paths.iter().map(|fact| fact.path.as_str());
    let method = proposal.method.as_str();
    if method == "status" {
        return vec![form("list", "")];
    }
    if GIT_WRITES.contains(&method) {
        return known().map(|path| form("write", path)).collect();
    }
    let Some((_, at)) = GIT_READS.iter().find(|(name, _)| *name == method) else { return vec![] };
    // A path that leads to nothing is judged as well, because the answer tells whether there is a file.
    let named = proposal.args.get(*at).and_then(Value::as_str).filter(|path| !path.is_empty());
    let named = named.filter(|named| known().all(|path| path != *named));
    named.into_iter().chain(known()).map(|path| form("read", path)).collect()
}

/// Returns the call in each other spelling of a destination that its arguments name.
fn respelled(context: &Context<'_>) -> Vec<OtherForm> {
    let Some(method) = context.interface.method(&context.proposal.method) else { return vec![] };
    let mut forms = Vec::new();
    for other in &context.facts.canonical {
        let Some(at) = method.params.iter().position(|param| param.name == other.argument) else { continue };
        let mut proposal = context.proposal.clone();
        let other_text = |argument: &&mut Value| argument.as_str() != Some(&other.text);
        if let Some(argument) = proposal.args.get_mut(at).filter(other_text) {
            *argument = Value::from(other.text.as_str());
            forms.push(OtherForm::from(proposal));
        }
    }
    forms
}

/// Returns the mails that a change in a mail spool may amount to. Their addresses and words are unknown, so these are
/// empty, and a policy that lets mail go to some addresses alone forbids the change.
fn as_mails(context: &Context<'_>) -> Vec<OtherForm> {
    let spools = context.facts.places.iter().filter(|place| place.meaning == PlaceMeaning::Spool);
    let empty = || Value::from("");
    let mail = |place: &PlaceFact| OtherForm {
        proposal: Proposal {
            method: "send".to_owned(),
            args: vec![empty(), empty(), empty()],
            effect: Effect::Commit,
            ..context.proposal.clone()
        },
        subject: Some(Subject { kind: Kind::Outbox.row().label.to_owned(), names: vec![place.path.clone()] }),
        facts: Some(Facts::default()),
    };
    spools.map(mail).collect()
}

/// Returns the call with the effect that its method declares, if the place that it reaches gives it a stronger one. A
/// write that sends is still a write.
fn as_declared(context: &Context<'_>) -> Option<OtherForm> {
    let declared = context.interface.method(&context.proposal.method)?.effect;
    let is_raised = !context.facts.places.is_empty() && declared != context.proposal.effect;
    is_raised.then(|| Proposal { effect: declared, ..context.proposal.clone() }.into())
}

#[cfg(test)]
mod tests {
    use Decision::{Allow, Ask, Deny};

    use super::*;
    use crate::fixture::{Call, FixedOperator, check};

    fn finding() -> Finding {
        Finding::new("operator/no-evil", "not there").at("method").counter_example("x").allowed("y")
    }

    #[test]
    fn gate_follows_the_operator_policies() {
        check(&GATE, &Call::new("send"), (Allow, Allow), &[]);
        for (stance, decision) in
            [(Stance::Silent, Allow), (Stance::Permits, Allow), (Stance::Asks, Ask), (Stance::Forbids, Deny)]
        {
            let call = Call::new("send").under(FixedOperator::new(stance, vec![finding()]));
            check(&GATE, &call, (decision, decision), &["operator/no-evil"]);
        }
    }

    /// An operator that forbids one method and permits everything else.
    #[derive(Debug)]
    struct ForbidOneMethod(&'static str);

    impl crate::rules::Operator for ForbidOneMethod {
        fn opinion(&self, context: &Context<'_>) -> crate::rules::Opinion {
            let stance = if context.proposal.method == self.0 { Stance::Forbids } else { Stance::Permits };
            crate::rules::Opinion { stance, findings: vec![] }
        }

        fn digest(&self) -> kernel::BlobHash {
            kernel::BlobHash([1; 32])
        }
    }

    /// Returns the decision on a call under a policy that forbids one method.
    fn decision(forbidden: &'static str, kind: &str, method: &str) -> kernel::proposal::Decision {
        let mut call = Call::new("change").but(|c| {
            c.subject.kind = kind.to_owned();
            c.proposal.method = method.to_owned();
        });
        let rules =
            crate::rules::Rules::default().with_operator(std::sync::Arc::new(ForbidOneMethod(forbidden)));
        call.rules = std::sync::Arc::new(rules);
        crate::ruling::combine(vec![judge(&call.context())], crate::ruling::ActiveLifts::default()).decision
    }

    #[test]
    fn policy_against_read_or_list_denies_search() {
        for (forbidden, method, expected) in [
            ("read", "grep", Deny),
            ("read", "move", Deny),
            ("read", "stat", Deny),
            ("read", "edit", Deny),
            ("write", "edit", Deny),
            ("read", "glob", Allow),
            ("list", "grep", Deny),
            ("list", "glob", Deny),
            ("list", "read", Allow),
        ] {
            assert_eq!(decision(forbidden, "dir", method), expected, "{forbidden} {method}");
        }
    }

    #[test]
    fn policy_against_write_denies_every_file_change() {
        for (kind, method, decision) in [
            ("dir", "append", Deny),
            ("dir", "write", Deny),
            ("dir", "edit", Deny),
            ("dir", "move", Deny),
            ("dir", "remove", Deny),
            ("dir", "make_directory", Deny),
            ("dir", "read", Allow),
            ("dir", "grep", Allow),
            ("thing", "append", Allow),
        ] {
            assert_eq!(super::tests::decision("write", kind, method), decision, "{kind}.{method}");
        }
    }

    /// An operator that forbids calls with these words: the kind, the method, an argument and the effect.
    #[derive(Debug)]
    struct ForbidWords(&'static str);

    impl crate::rules::Operator for ForbidWords {
        fn opinion(&self, context: &Context<'_>) -> crate::rules::Opinion {
            let path = context.facts.paths.first().map_or("-", |fact| fact.path.as_str());
            let argument = context.proposal.args.first().and_then(Value::as_str).unwrap_or("-");
            let said = format!(
                "{}.{} {argument} {path} {}",
                context.subject.kind,
                context.proposal.method,
                context.proposal.effect.as_words()
            );
            let stance = if said == self.0 { Stance::Forbids } else { Stance::Permits };
            crate::rules::Opinion { stance, findings: vec![] }
        }

        fn digest(&self) -> kernel::BlobHash {
            kernel::BlobHash([2; 32])
        }
    }

    fn ruling_under(forbidden: &'static str, mut call: Call) -> Decision {
        let rules = crate::rules::Rules::default().with_operator(std::sync::Arc::new(ForbidWords(forbidden)));
        call.rules = std::sync::Arc::new(rules);
        crate::ruling::combine(vec![judge(&call.context())], ActiveLifts::default()).decision
    }

    #[test]
    fn file_policy_binds_the_working_tree_of_a_repository() {
        let git = |method: &str, args: &[&str], paths: &[&str]| {
            Call::new("change").but(|c| {
                c.subject.kind = "git".to_owned();
                c.proposal.method = method.to_owned();
                c.proposal.args = args.iter().map(|arg| Value::from(*arg)).collect();
                let fact = |path: &&str| PathFact {
                    argument: "path".into(),
                    path: (*path).to_owned(),
                    leads_to: None,
                    bytes: None,
                };
                c.facts.paths = paths.iter().map(fact).collect();
            })
        };
        let (sh, key) = ("dir.write x.sh x.sh changes", "dir.read a.key a.key reads");
        for (forbidden, call, expected) in [
            (sh, git("switch", &["master"], &["a.txt", "x.sh"]), Deny),
            (sh, git("add", &[], &["x.sh"]), Deny),
            (sh, git("unstage", &[], &["x.sh"]), Deny),
            (sh, git("commit", &["words"], &["x.sh"]), Deny),
            (sh, git("switch", &["master"], &["a.txt"]), Allow),
            (sh, git("show", &["HEAD", "x.sh"], &["x.sh"]), Allow),
            (sh, git("branch", &["x.sh"], &[]), Allow),
            // Reported of other programs: anthropics/claude-code#88857 (a rule on one spelling of a git command).
            (key, git("show", &["HEAD"], &["a.txt", "a.key"]), Deny),
            (key, git("show", &["HEAD", "a.key"], &[]), Deny),
            (key, git("blame", &["a.key"], &["a.key"]), Deny),
            (key, git("diff", &["HEAD~1", "HEAD"], &["a.key"]), Deny),
            (key, git("log", &["HEAD", "a.key"], &["a.key"]), Deny),
            (key, git("blame", &["a.txt"], &["a.txt"]), Allow),
            (key, git("switch", &["master"], &["a.key"]), Allow),
            ("dir.list   reads", git("status", &[], &[]), Deny),
            ("dir.list   reads", git("branches", &[], &[]), Allow),
        ] {
            assert_eq!(ruling_under(forbidden, call.clone()), expected, "{forbidden}: {:?}", call.proposal);
        }
    }

    #[test]
    fn policy_holds_for_every_spelling_of_a_destination() {
        let spelled = |argument: &str, canonical: &str| {
            Call::new("send").but(|c| {
                c.proposal.args = vec![Value::from(argument)];
                c.facts.canonical = vec![crate::facts::CanonicalArgument {
                    argument: "path".into(),
                    text: canonical.to_owned(),
                }];
            })
        };
        // Reported of other programs: craigmccaskill/posthorn#54 (the case of a mail domain), browser-use/browser-use#5739
        // (the case and the last dot of a host), thClaws/thClaws#204 (dots in a path).
        for (forbidden, call, expected) in [
            ("thing.send x@evil.example - sends", spelled("x@EVIL.example", "x@evil.example"), Deny),
            ("thing.send secret.txt - sends", spelled("./secret.txt", "secret.txt"), Deny),
            ("thing.send x@other.example - sends", spelled("x@EVIL.example", "x@evil.example"), Allow),
        ] {
            assert_eq!(ruling_under(forbidden, call), expected, "{forbidden}");
        }
    }

    #[test]
    fn write_that_sends_is_a_change_and_a_mail_to_policies() {
        let place = PlaceFact {
            argument: "path",
            path: "/w/outbox".into(),
            meaning: PlaceMeaning::Spool,
            is_certain: true,
        };
        let call = Call::new("change").but(|c| {
            c.proposal.effect = Effect::Commit;
            c.facts.places = vec![place];
        });
        for said in
            ["thing.change report.md - changes", "thing.change report.md - sends", "outbox.send  - sends"]
        {
            assert_eq!(ruling_under(said, call.clone()), Deny, "{said}");
        }
        let elsewhere = call.but(|c| c.facts.places.clear());
        assert_eq!(ruling_under("outbox.send  - sends", elsewhere), Allow);
    }

    #[test]
    fn refusal_without_findings_denies() {
        let call = Call::new("look").under(FixedOperator::new(Stance::Forbids, vec![]));
        check(&GATE, &call, (Deny, Deny), &["operator/forbidden"]);
    }

    #[test]
    fn permit_lifts_only_questions_an_operator_may_lift() {
        let permit = || FixedOperator::new(Stance::Permits, vec![finding()]);
        for (call, before, after) in [
            (Call::new("change").by_model(), Ask, Allow),
            (Call::new("change").by_model().overwriting(), Ask, Allow),
            (Call::new("send").by_model(), Ask, Allow),
            (Call::new("send").by_model().having_heard("m"), Ask, Allow),
            // Only a person can lift these questions: those of the worker file, and those about words that may come
            // from a stranger.
            (Call::new("change").by_model().asked_for(), Ask, Ask),
            (Call::new("send").having_read("mail/5"), Ask, Ask),
            (Call::new("send").by_model().having_read("mail/5"), Ask, Ask),
            (Call::new("send").by_model().having_heard("m").having_read("mail/5"), Ask, Ask),
            // A permit does not replace a grant.
            (Call::new("change").but(|c| c.grant.revoked_ms = Some(1)), Deny, Deny),
        ] {
            assert_eq!(call.verdict().decision, before, "{call:?}");
            assert_eq!(call.clone().under(permit()).verdict().decision, after, "{call:?}");
        }
    }

    #[test]
    fn failing_policies_deny() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let verdict = Call::new("look").under(FixedOperator::broken()).verdict();
        std::panic::set_hook(hook);
        assert_eq!(verdict.decision, Deny);
        assert_eq!(verdict.findings[0].rule, "operator/failed");
    }
}
