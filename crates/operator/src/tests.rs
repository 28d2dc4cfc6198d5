//! Tests of policy files as a user would write them, on calls as they are judged.

use std::collections::BTreeSet;
use std::sync::Arc;

use kernel::grant::{Attenuation, Grant};
use kernel::id::{BlobHash, FormulaId, MessageNumber, RunNumber};
use kernel::proposal::{Caller, Effect, Proposal, Value};
use kernel::provenance::{Provenance, Source};
use kernel::{Interface, Method, Param, Pattern};
use policy::{
    Context, Destination, Facts, Operator as _, Opinion, PathFact, Rules, RunBudget, Stance, Subject,
};

use crate::{ActivePolicies, Call, Kind, Policies, PolicyOwner, Problem, Vocabulary};

fn interfaces() -> (Interface, Interface) {
    let dir = Interface::new("Dir", "a directory")
        .with(Method::new("read", Effect::Observe, "reads").param(Param::required(
            "path",
            Pattern::string(),
            "",
        )))
        .with(
            Method::new("write", Effect::Modify, "writes")
                .param(Param::required("path", Pattern::string(), ""))
                .param(Param::required("content", Pattern::string(), "")),
        );
    let outbox = Interface::new("Outbox", "mail").with(
        Method::new("send", Effect::Commit, "sends")
            .param(Param::required("to", Pattern::string(), ""))
            .param(Param::optional("copies", Pattern::number(), ""))
            .param(Param::optional("tags", Pattern::array_of(Pattern::string()), ""))
            .param(Param::optional("extra", Pattern::any(), "")),
    );
    (dir, outbox)
}

fn vocabulary() -> Arc<Vocabulary> {
    let (dir, outbox) = interfaces();
    let kind = |name, interface| Kind { name, interface, attribute: "path" };
    Arc::new(Vocabulary::of(&[kind("dir", &dir), kind("outbox", &outbox)]).unwrap())
}

fn compile(text: &str) -> Result<Policies, Vec<Problem>> {
    Policies::compile(&vocabulary(), PolicyOwner::Operator, "policy.cedar", text, None)
}

#[track_caller]
fn valid(text: &str) -> Policies {
    compile(text).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// A call to judge, which tests can change.
struct TestCall {
    kind: &'static str,
    names: Vec<String>,
    proposal: Proposal,
    facts: Facts,
}

fn id(byte: u8) -> FormulaId {
    FormulaId { number: [byte; 32], node: [0; 32] }
}

impl TestCall {
    fn new(method: &str, args: &[Value]) -> TestCall {
        let (kind, method) = method.split_once('.').unwrap();
        let effect = match method {
            "read" => Effect::Observe,
            "write" => Effect::Modify,
            _ => Effect::Commit,
        };
        TestCall {
            kind: if kind == "dir" { "dir" } else { "outbox" },
            names: vec!["/home/me/out".into()],
            proposal: Proposal {
                principal: id(1),
                run: RunNumber(1),
                grant: id(3),
                slot: "out".into(),
                method: method.into(),
                args: args.to_vec(),
                effect,
                caller: Caller::Model,
                pins: BTreeSet::new(),
                provenance: Provenance::host(),
                traces: vec![],
                givers: vec![],
                place: None,
            },
            facts: Facts::default(),
        }
    }

    fn at(mut self, path: &str, leads_to: Option<&str>) -> TestCall {
        self.facts.paths.push(PathFact {
            argument: "path".into(),
            path: path.into(),
            leads_to: leads_to.map(str::to_owned),
            bytes: None,
        });
        self
    }

    fn reaching(mut self, host: &str, port: u16) -> TestCall {
        self.facts.destinations.push(Destination {
            argument: "to".into(),
            scheme: "https".into(),
            host: host.into(),
            port,
            method: "GET".into(),
            path: "/".into(),
            addresses: vec![],
        });
        self
    }

    fn having_read(mut self, name: &str) -> TestCall {
        let source = Source::Document { name: name.into(), hash: BlobHash([7; 32]) };
        self.proposal.provenance = self.proposal.provenance.join(&Provenance::of(source));
        self
    }

    fn under(&self, layers: Vec<Policies>) -> Opinion {
        let layers = layers.into_iter().map(Arc::new).collect();
        self.under_all(&ActivePolicies::new(vocabulary(), layers, None))
    }

    fn under_all(&self, in_force: &ActivePolicies) -> Opinion {
        let (dir, outbox) = interfaces();
        let grant = Grant {
            id: id(3),
            number: kernel::GrantNumber(1),
            target: id(4),
            words: String::new(),
            holder: id(5),
            owner: kernel::Number([1; 32]),
            slot: "out".into(),
            methods: BTreeSet::new(),
            attenuation: Attenuation::default(),
            allow: BTreeSet::new(),
            ask: BTreeSet::new(),
            source: Some(MessageNumber(0)),
            given_ms: 0,
            expires_ms: None,
            revoked_ms: None,
            revoked_by: None,
        };
        in_force.opinion(&Context {
            proposal: &self.proposal,
            grant: &grant,
            interface: if self.kind == "dir" { &dir } else { &outbox },
            subject: &Subject { kind: self.kind.into(), names: self.names.clone() },
            worker: "note",
            facts: &self.facts,
            now_ms: 0,
            written: &[],
            spent: &RunBudget::default(),
            rules: &Rules::default(),
        })
    }
}

fn send(to: &str) -> TestCall {
    TestCall::new("outbox.send", &[Value::from(to)])
}

fn write(path: &str) -> TestCall {
    TestCall::new("dir.write", &[Value::from(path), Value::from("text")]).at(path, None)
}

#[track_caller]
fn check(policy: &str, call: &TestCall, stance: Stance, rules: &[&str]) {
    let opinion = call.under(vec![valid(policy)]);
    let got: Vec<&str> = opinion.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!((opinion.stance, got.as_slice()), (stance, rules), "{policy}\n{opinion:#?}");
    for finding in &opinion.findings {
        assert!(finding.at.is_some() && finding.counter_example.is_some() && finding.allowed.is_some());
    }
}

#[test]
fn policies_match_on_every_fact_of_a_call() {
    use Stance::{Forbids, Permits, Silent};
    let forbid = |when: &str| format!("@id(\"no\") forbid(principal, action, resource) when {{ {when} }};");
    for (when, call, stance) in [
        ("context.effect == \"sends\"", send("a"), Forbids),
        ("context.effect == \"sends\"", write("a"), Silent),
        ("context.caller == \"model\"", write("a"), Forbids),
        ("context.slot == \"out\"", write("a"), Forbids),
        ("context.untrusted", write("a"), Silent),
        ("context.untrusted", write("a").having_read("mail/5"), Forbids),
        ("context.sources.contains(\"document mail/5\")", write("a").having_read("mail/5"), Forbids),
        ("context.sources.contains(\"host\")", write("a"), Forbids),
        ("context has path && context.path like \"*.sh\"", write("x.sh"), Forbids),
        ("context has file && context.file like \"/home/me/out/.ssh/*\"", write(".ssh/id"), Forbids),
        ("context has bytes && context.bytes > 10", write("a"), Silent),
        ("context has host && context.host == \"x.example\"", send("a").reaching("x.example", 443), Forbids),
        ("context has port && context.port != 443", send("a").reaching("x.example", 443), Silent),
        ("principal == Worker::\"note\"", write("a"), Forbids),
        ("principal.name like \"no*\"", write("a"), Forbids),
    ] {
        let rules: &[&str] = if stance == Forbids { &["operator/no"] } else { &[] };
        check(&forbid(when), &call, stance, rules);
    }
    for (policy, call, stance) in [
        (
            "permit(principal, action == Action::\"outbox.send\", resource) when { context.args.to like \"*@me.example\" };",
            send("x@me.example"),
            Permits,
        ),
        (
            "permit(principal, action == Action::\"outbox.send\", resource) when { context.args.to like \"*@me.example\" };",
            send("x@evil.example"),
            Silent,
        ),
        ("permit(principal, action in Action::\"dir\", resource);", write("a"), Permits),
        ("permit(principal, action in Action::\"dir\", resource);", send("a"), Silent),
        (
            "permit(principal, action, resource is Dir) when { resource.path == \"/home/me/out\" };",
            write("a"),
            Permits,
        ),
        ("permit(principal, action, resource == Dir::\"/home/me/out\");", write("a"), Permits),
        ("permit(principal, action, resource == Dir::\"/home/me\");", write("a"), Silent),
    ] {
        let rules: &[&str] = if stance == Permits { &["operator/policy-1"] } else { &[] };
        check(policy, &call, stance, rules);
    }
}

#[test]
fn forbid_of_operator_or_project_wins_over_permit() {
    let permit = "permit(principal, action, resource);";
    let forbid = "@id(\"no-sh\") @reason(\"no scripts\") @instead(\"a text file\")\nforbid(principal, action, resource) when { context has path && context.path like \"*.sh\" };";
    check(&format!("{permit}{forbid}"), &write("x.sh"), Stance::Forbids, &["operator/no-sh"]);
    let project =
        || Policies::compile(&vocabulary(), PolicyOwner::Project, "p/policy.cedar", forbid, None).unwrap();
    let opinion = write("x.sh").under(vec![valid(permit), project()]);
    assert_eq!(opinion.stance, Stance::Forbids);
    let finding = opinion.findings.iter().find(|finding| finding.rule == "operator/no-sh").unwrap();
    assert_eq!(finding.message, "no scripts (`no-sh` in p/policy.cedar forbids it)");
    assert_eq!(finding.allowed.as_deref(), Some("a text file"));
    assert_eq!(write("x.md").under(vec![valid(permit), project()]).stance, Stance::Permits);
}

#[test]
fn ask_policy_wins_over_permits_and_yields_to_forbids() {
    let permit = "permit(principal, action, resource);";
    let ask = "@id(\"look\") @ask @reason(\"a person looks\")\nforbid(principal, action, resource) when { context has path && context.path like \"*.sh\" };";
    let forbid = "@id(\"no\") forbid(principal, action, resource) when { context has path && context.path == \"x.sh\" };";
    check(ask, &write("x.md"), Stance::Silent, &[]);
    check(ask, &write("x.sh"), Stance::Asks, &["operator/look"]);
    check(&format!("{permit}{ask}"), &write("x.sh"), Stance::Asks, &["operator/look"]);
    check(&format!("{permit}{ask}{forbid}"), &write("x.sh"), Stance::Forbids, &["operator/no"]);
    let machine =
        Policies::compile(&vocabulary(), PolicyOwner::Machine, "/etc/almoner/managed.cedar", ask, None);
    let opinion = write("x.sh").under(vec![machine.unwrap(), valid(permit)]);
    assert_eq!(opinion.stance, Stance::Asks);
    let finding = opinion.findings.iter().find(|finding| finding.rule == "operator/managed/look").unwrap();
    assert_eq!(
        finding.message,
        "a person looks (the machine's administrator: `look` in /etc/almoner/managed.cedar asks about it)"
    );
}

#[test]
fn unknown_action_suggests_the_nearest_one() {
    for (action, says) in [
        ("dir.wrte", "did you mean `Action::\"dir.write\"`?"),
        ("outbox.sent", "did you mean `Action::\"outbox.send\"`?"),
        ("dri", "did you mean `Action::\"dir\"`?"),
        ("zebra.eats", "`almoner policy show --schema` lists the actions"),
    ] {
        let text = format!("forbid(principal, action == Action::{action:?}, resource);");
        for owner in [PolicyOwner::Operator, PolicyOwner::Project, PolicyOwner::Machine] {
            let problems = Policies::compile(&vocabulary(), owner, "p.cedar", &text, None).unwrap_err();
            let help = problems.iter().find_map(|problem| problem.help.as_deref());
            assert_eq!(help, Some(says), "{action} {owner:?}: {problems:#?}");
        }
    }
}

#[test]
fn managed_policy_with_permit_is_refused() {
    let managed =
        |text: &str| Policies::compile(&vocabulary(), PolicyOwner::Machine, "managed.cedar", text, None);
    assert!(managed("@ask forbid(principal, action, resource);").is_ok());
    for text in ["", "// nothing"] {
        let problems = managed(text).unwrap_err();
        assert!(problems.iter().any(|problem| problem.message == "it holds no policy"), "{problems:#?}");
    }
    for (text, says) in [
        ("permit(principal, action, resource);", "a managed policy may only forbid or ask; this one permits"),
        (
            "@ask permit(principal, action, resource);",
            "a managed policy may only forbid or ask; this one permits",
        ),
        ("@ask @must_deny(\"dir.read\") forbid(principal, action, resource);", "asks about it"),
        ("@must_ask(\"dir.read\") forbid(principal, action, resource);", "it is forbidden by"),
    ] {
        let problems = managed(text).unwrap_err();
        assert!(problems.iter().any(|problem| problem.message.contains(says)), "{text}: {problems:#?}");
    }
}

#[test]
fn call_is_judged_by_every_name_path_and_server() {
    let forbid = "@id(\"no\") forbid(principal, action, resource) when { context has file && context.file like \"/secret/*\" };";
    let permit =
        "permit(principal, action, resource) when { context has file && context.file like \"/home/me/*\" };";
    let two = |names: [&str; 2]| {
        let mut call = write("a");
        call.names = names.map(str::to_owned).into();
        call
    };
    // A link to a directory gives the directory two names.
    check(forbid, &two(["/home/me/link", "/secret"]), Stance::Forbids, &["operator/no"]);
    check(permit, &two(["/home/me/link", "/secret"]), Stance::Silent, &[]);
    check(permit, &two(["/home/me/link", "/home/me/real"]), Stance::Permits, &["operator/policy-1"]);
    // A link inside of the directory gives a file two paths, and a call may name several paths.
    let below = "@id(\"no\") forbid(principal, action, resource) when { context has path && context.path like \"keys/*\" };";
    check(below, &write("note").at("x", Some("keys/id")), Stance::Forbids, &["operator/no"]);
    check(below, &write("note").at("keys/id", None), Stance::Forbids, &["operator/no"]);
    let hosts =
        "permit(principal, action, resource) when { context has host && context.host == \"a.example\" };";
    let call = send("x").reaching("a.example", 443);
    check(hosts, &call, Stance::Permits, &["operator/policy-1"]);
    check(hosts, &call.reaching("b.example", 443), Stance::Silent, &[]);
    let mut many = write("a");
    (0..70_000)
        .for_each(|n| many.facts.paths.push(PathFact { path: n.to_string(), ..many.facts.paths[0].clone() }));
    check("permit(principal, action, resource);", &many, Stance::Forbids, &["operator/failed"]);
}

#[test]
fn failing_policy_denies_and_is_named() {
    let text = "@id(\"sum\") permit(principal, action == Action::\"outbox.send\", resource) when { context.args has copies && context.args.copies + 9223372036854775807 > 0 };\npermit(principal, action, resource);";
    let call = |copies: f64| TestCall::new("outbox.send", &[Value::from("a"), Value::Number(copies)]);
    check(text, &call(0.0), Stance::Permits, &["operator/policy-2", "operator/sum"]);
    check(text, &call(1.0), Stance::Forbids, &["operator/failed"]);
    let opinion = call(1.0).under(vec![valid(text)]);
    assert!(opinion.findings[0].message.contains("`sum`"), "{opinion:?}");
}

#[test]
fn argument_unrepresentable_in_cedar_is_refused() {
    let text = "@id(\"few\") forbid(principal, action == Action::\"outbox.send\", resource) when { context.args has copies && context.args.copies > 3 };";
    let call = |args: &[Value]| TestCall::new("outbox.send", args);
    for (copies, stance, rule) in [
        (3.0, Stance::Silent, None),
        (4.0, Stance::Forbids, Some("operator/few")),
        (3.5, Stance::Forbids, Some("operator/unseen")),
        (1e300, Stance::Forbids, Some("operator/unseen")),
        (f64::NAN, Stance::Forbids, Some("operator/unseen")),
    ] {
        check(text, &call(&[Value::from("a"), Value::Number(copies)]), stance, rule.as_slice());
    }
    check(text, &call(&[Value::from("a"), Value::Undefined]), Stance::Silent, &[]);
    check(text, &call(&[Value::Null]), Stance::Forbids, &["operator/unseen"]);
    check(text, &TestCall::new("outbox.burn", &[]), Stance::Forbids, &["operator/unknown"]);
}

#[test]
fn mistakes_in_policy_files_are_reported_with_their_lines() {
    let any = "(principal, action, resource)";
    for (text, line, says) in [
        ("\nforbid(principal action);".to_owned(), Some(2), "unexpected token"),
        (
            format!("forbid{any};\n\npermit(principal, action == Action::\"dir.wrte\", resource);"),
            Some(3),
            "unrecognized action",
        ),
        (format!("forbid{any} when {{ context.pth == \"x\" }};"), Some(1), "pth"),
        // Without `has`, the attribute may be missing.
        (format!("forbid{any} when {{ context.path == \"x\" }};"), Some(1), "unable to guarantee safety"),
        (format!("forbid{any} when {{ context.effect == 3 }};"), Some(1), "types"),
        (format!("@id(\"a\") forbid{any};\n@id(\"a\") forbid{any};"), Some(2), "is taken"),
        (format!("@id(\"a b\") forbid{any};"), Some(1), "is no name"),
        (format!("@must_dney(\"dir.read\") forbid{any};"), Some(1), "unknown annotation `@must_dney`"),
        ("forbid(principal == ?principal, action, resource);".to_owned(), Some(1), "is a template"),
        (format!("@invariant permit{any};"), Some(1), "an `@invariant` forbids"),
        (format!("@invariant forbid{any};"), Some(1), "an `@invariant` forbids"),
        (format!("@must_deny(\"dir.burn\") forbid{any};"), Some(1), "there is no method `dir.burn`"),
        (format!("@must_deny(\"dir.read colour=red\") forbid{any};"), Some(1), "nothing that a call has"),
        (format!("@must_allow(\"dir.read\") forbid{any};"), Some(1), "it is forbidden by"),
        (format!("@must_deny(\"dir.read\") permit{any};"), Some(1), "it is permitted by"),
        (
            "\n@must_deny(\"dir.read\")\nforbid(principal, action == Action::\"dir.write\", resource);"
                .to_owned(),
            Some(2),
            "no policy speaks",
        ),
        // The call is forbidden, but not because of the policy at which the example stands.
        (
            format!(
                "@id(\"real\") forbid{any};\n@must_deny(\"dir.read\") @id(\"dead\") forbid(principal, action == Action::\"dir.write\", resource);"
            ),
            Some(2),
            "not because of `dead`",
        ),
        (
            format!(
                "@id(\"never\") @invariant @must_deny(\"dir.read\") forbid{any};\n@must_allow(\"dir.write\") permit{any};"
            ),
            Some(2),
            "contradicts the invariant `never`",
        ),
        (
            format!("forbid{any} when {{ {}true{} }};", "(".repeat(50), ")".repeat(50)),
            Some(1),
            "nest more than",
        ),
        (format!("\nforbid{any} when {{ {} true }};", "true && ".repeat(600)), Some(2), "longer than"),
        (" ".repeat(200 << 10), None, "larger than"),
    ] {
        let problems = compile(&text).unwrap_err();
        let found = problems.iter().find(|problem| problem.message.contains(says));
        let found = found.unwrap_or_else(|| panic!("{says}: {problems:#?}"));
        assert_eq!(found.line, line, "{found}");
    }
}

#[test]
fn project_policy_with_permit_is_refused() {
    let project =
        |text: &str| Policies::compile(&vocabulary(), PolicyOwner::Project, "p/policy.cedar", text, None);
    assert!(project("@must_deny(\"dir.read\") forbid(principal, action, resource);").is_ok());
    let problems =
        project("// ours\nforbid(principal, action, resource);\n\npermit(principal, action, resource);");
    let problems = problems.unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "p/policy.cedar:4: a project's policy may only forbid or ask; this one permits"
    );
}

#[test]
fn examples_beside_policy_file_are_checked() {
    let text = "@id(\"own\") permit(principal, action == Action::\"outbox.send\", resource) when { context.args.to like \"*@me.example\" };\n@id(\"strange\") forbid(principal, action, resource) when { context.untrusted };";
    let with = |examples: &str| {
        let beside = Some(("policy.examples", examples));
        Policies::compile(&vocabulary(), PolicyOwner::Operator, "policy.cedar", text, beside)
    };
    let good = "# mine\nmust_allow outbox.send to=x@me.example\n\nmust_ask outbox.send to=\"y z@other.example\"\n\
                must_deny outbox.send to=x@me.example source='document mail/5'\n\
                must_deny dir.read untrusted=true\nmust_ask outbox.send to=a tags=x tags=y copies=3\n";
    assert_eq!(with(good).unwrap().examples(), 5);
    for (examples, line, says) in [
        ("must_allow outbox.send to=y@other.example", 1, "no policy speaks of it"),
        ("\nmust_ask outbox.send to=x@me.example", 2, "permitted by `own`"),
        ("must_allow outbox.send to=x@me.example untrusted=true", 1, "forbidden by `strange`"),
        ("may_allow outbox.send", 1, "is not one of must_allow, must_ask, must_deny"),
        ("must_ask", 1, "an example begins with a method"),
        ("must_ask outbox.send to=\"x", 1, "the quote is not closed"),
        ("must_ask outbox.send to", 1, "has no `=`"),
        ("must_ask outbox.send copies=many", 1, "not a whole number"),
        ("must_ask outbox.send untrusted=maybe", 1, "not `true` or `false`"),
        ("must_ask outbox.send caller=person", 1, "not `model` or `code`"),
    ] {
        let problems = with(examples).unwrap_err();
        assert_eq!(
            (problems[0].file.as_str(), problems[0].line),
            ("policy.examples", Some(line)),
            "{problems:?}"
        );
        assert!(problems[0].message.contains(says), "{}", problems[0]);
    }
}

#[test]
fn deeply_nested_policy_does_not_overflow_the_stack() {
    let any = "(principal, action, resource)";
    // The stack is as large as that of a thread of the daemon, and the code is unoptimised.
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(move || {
        for (text, count) in [
            ("!", 4000),
            ("-", 4000),
            ("true && ", 450),
            ("true || ", 450),
            ("1 + ", 900),
            ("if true then ", 250),
            ("context.args.", 280),
            ("[", 4000),
            ("{a:", 1000),
            ("(", 4000),
            ("context has a && ", 200),
        ] {
            for end in ["true", "1 == 1", ""] {
                let text = format!("forbid{any} when {{ {}{end} }};", text.repeat(count));
                if let Ok(policies) = compile(&text) {
                    let call = Call::parse(&vocabulary(), "dir.read").unwrap();
                    let said = policies.try_out(&vocabulary(), &call);
                    assert!(said.failed.is_empty() || said.stance == Stance::Forbids, "{said:?}");
                }
            }
        }
        // Many small policies are accepted.
        let many = format!("forbid{any} when {{ context.untrusted }};").repeat(1_500);
        assert!(compile(&many).is_ok());
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn digest_covers_all_layers_in_order() {
    let digest = |texts: &[&str]| {
        let layers = texts.iter().map(|text| Arc::new(valid(text))).collect();
        ActivePolicies::new(vocabulary(), layers, None).digest()
    };
    let (a, b) = ("forbid(principal, action, resource);", "// x\nforbid(principal, action, resource);");
    assert_eq!(digest(&[a, b]), digest(&[a, b]));
    assert_ne!(digest(&[a]), digest(&[b]));
    assert_ne!(digest(&[a, b]), digest(&[b, a]));
    assert_ne!(digest(&[a]), digest(&[]));
}

#[test]
fn stale_policy_file_adds_finding_to_every_call() {
    let problem =
        Problem { file: "policy.cedar".into(), line: Some(3), message: "broken".into(), help: None };
    let old = Arc::new(valid("@id(\"own\") permit(principal, action, resource);"));
    let opinion = write("a").under_all(&ActivePolicies::new(vocabulary(), vec![old], Some(problem)));
    assert_eq!(opinion.stance, Stance::Permits);
    let told: Vec<&str> = opinion.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "the policy `own` in policy.cedar permits it",
            "policy.cedar:3: broken; the policies from before are in force",
        ]
    );
}

#[test]
fn judged_calls_fit_the_schema() {
    // The daemon does not check a judged call against the schema again, so the two must agree.
    for text in [
        "dir.read path=a bytes=3",
        "dir.write replaces=true",
        "outbox.send host=a port=1 verb=GET route=/ scheme=https argv=a argv=b program=/bin/a tags=x copies=-4",
    ] {
        let call = Call::parse(&vocabulary(), text).unwrap();
        let said = valid("permit(principal, action, resource);").try_out(&vocabulary(), &call);
        assert_eq!(said.stance, Stance::Permits, "{said:?}");
    }
}

#[test]
fn offered_permit_covers_one_worker_method_and_object() {
    use Stance::{Permits, Silent};
    let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (worker, names, method, called, on, stance) in [
        ("note", &["/home/me/out"][..], "write", write("a"), &["/home/me/out"][..], Permits),
        ("other", &["/home/me/out"], "write", write("a"), &["/home/me/out"], Silent),
        ("note", &["/home/me/out"], "read", write("a"), &["/home/me/out"], Silent),
        ("note", &["/home/me/out"], "write", write("a"), &["/home/me/else"], Silent),
        ("note", &["/home/me/out"], "write", send("a"), &["/home/me/out"], Silent),
        // The target of a link counts too.
        ("note", &["/home/me/out"], "write", write("a"), &["/home/me/out", "/real"], Silent),
        ("note", &["/home/me/out", "/real"], "write", write("a"), &["/home/me/out", "/real"], Permits),
        (
            "note",
            &["/a \"quoted\"\n\u{202e}place"],
            "write",
            write("a"),
            &["/a \"quoted\"\n\u{202e}place"],
            Permits,
        ),
    ] {
        let subject = Subject { kind: "dir".to_owned(), names: all(names) };
        let policy = vocabulary().permit(worker, &subject, method).unwrap();
        let call = TestCall { names: all(on), ..called };
        let opinion = call.under(vec![valid(&policy)]);
        assert_eq!(opinion.stance, stance, "{policy}");
    }
    let subject = Subject { kind: "nothing".to_owned(), names: all(&["x"]) };
    assert_eq!(vocabulary().permit("note", &subject, "write"), None);
}
