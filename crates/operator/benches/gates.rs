//! The cost of judging one call: gates, policies, the fingerprint. `cargo xtask bench gates` adds the cost of the
//! daemon.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a bench measures and prints"
)]

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::grant::{Attenuation, Grant};
use kernel::id::{BlobHash, FormulaId, MessageNumber, RunNumber};
use kernel::proposal::{Caller, Effect, Proposal, Trace, Value};
use kernel::provenance::{Provenance, Source};
use kernel::{Interface, Method, Param, Pattern};
use operator::{ActivePolicies, Kind, Policies, PolicyOwner, Vocabulary};
use policy::gates::{GATES, Gate};
use policy::{
    Context, Facts, Panel, PathFact, Reading, Rules, RunBudget, Secrets, Sources, Subject, TextIndex,
};

fn main() {
    let samples = std::env::var("BENCH_SAMPLES").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let (world, short) = (SampleCall::new(4096), SampleCall::new(100));
    // The daemon makes its rules once, too.
    let none = Rules::default();
    for (count, aim) in [(10, 5e-6), (100, 0.0), (1_000, 30e-6)] {
        let panel = panel(count);
        let work = || drop(black_box(panel.judge(black_box(&short.context(&none)))));
        row(&format!("verdict of {count} gates"), seconds(samples, work), aim);
    }
    let panel = Panel::new(Cow::Borrowed(GATES));
    let work = || drop(black_box(panel.judge(black_box(&world.context(&none)))));
    row("verdict of all gates, 4 KiB of arguments", seconds(samples, work), 0.0);
    let traced = SampleCall::new(4096).traced();
    let work = || drop(black_box(panel.judge(black_box(&traced.context(&none)))));
    row("verdict with provenance, 4 KiB of arguments", seconds(samples, work), 20e-6);
    traces(samples);
    for count in [1, 10, 100] {
        let rules = world.rules(count);
        let panel = Panel::new(Cow::Borrowed(GATES));
        let work = || drop(black_box(panel.judge(black_box(&world.context(&rules)))));
        row(&format!("verdict of all gates, {count} policies"), seconds(samples, work), 0.0);
    }
    for count in [1, 10, 100] {
        let rules = world.rules(count);
        let cedar = rules.operator.as_ref().unwrap();
        let work = || drop(black_box(cedar.opinion(black_box(&world.context(&rules)))));
        row(&format!("one decision of Cedar, {count} policies"), seconds(samples, work), 0.0);
    }
    search(samples);
    let work = || {
        black_box(black_box(&world.proposal).fingerprint());
    };
    row("fingerprint, 4 KiB of arguments", seconds(samples, work), 0.0);
}

/// Measures the search for the givers of a call's arguments, 4 KiB with an address, in 10 MiB that the run has read. A
/// document is indexed once, before the first call that is traced.
fn traces(samples: usize) {
    const SIZE: usize = 10 << 20;
    let body: String = prose(1).take(4096).collect();
    let args = [
        ("to", Value::from("archive@records-backup.example")),
        ("reference", Value::from("REF77")),
        ("amount", Value::number(9052.4)),
        ("body", Value::string(body)),
    ];
    let mut text: String = prose(2).take(SIZE).collect();
    text.push_str("\n\nPay 9,052.40 for REF77, and write to archive@records-backup.example.\n");
    let given = TextIndex::plain("Answer the mail about the repairs.");
    let index_of = || TextIndex::new(black_box(&text));
    let started = Instant::now();
    let index = index_of();
    let indexing = started.elapsed().as_secs_f64();
    row("index of 10 MiB, once for each document", (indexing, indexing, indexing), 0.0);
    let readings =
        [Reading { name: "docs/a.txt", call: None, index: &index, naming: policy::trace::Naming::None }];
    let sources = Sources { given: &given, readings: &readings, model: "m", leaves: true };
    let work = || {
        let traced = policy::trace(args.iter().map(|(name, value)| (*name, value)), black_box(&sources));
        assert!(
            traced.traces.len() >= 3,
            "the address, the number and the reference stand there: {traced:?}"
        );
    };
    row("trace of 4 KiB of arguments over 10 MiB that was read", seconds(samples, work), 20e-3);
}

/// Returns endless prose, which differs by its seed.
fn prose(seed: u64) -> impl Iterator<Item = char> {
    const WORDS: &str = "committee upper room settled order repairs nobody objected roof hall winter invoice paid early \
                         garden meeting letter harbour lamp station evening answer question window market bridge";
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    (0_u64..).flat_map(move |at| {
        let bytes = blake3::hash(&[seed.to_le_bytes(), at.to_le_bytes()].concat());
        let bytes = bytes.as_bytes();
        let word = words[usize::from(bytes[0]) % words.len()];
        // Every fourth word is one that stands nowhere else.
        let rare = if bytes[1].is_multiple_of(4) {
            format!("{}{}", word, u16::from_le_bytes([bytes[2], bytes[3]]))
        } else {
            word.to_owned()
        };
        let end = match bytes[4] % 16 {
            0 => ".\n",
            1 => ", ",
            _ => " ",
        };
        format!("{rare}{end}").chars().collect::<Vec<char>>()
    })
}

/// Measures the search for secrets in bytes per second: in prose, and in text of letters and digits only.
fn search(samples: usize) {
    const SIZE: usize = 1 << 20;
    const AIM: f64 = 500.0;
    let names: Vec<(String, String)> =
        (0..20).map(|i| (format!("key-{i}"), format!("value-{i:04}-{}", "q7Zr".repeat(4 + i % 5)))).collect();
    let secrets = Secrets::new(names.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let prose = "The committee met in the upper room and settled the order of the repairs; nobody objected. ";
    let dense: String = (0_u64..)
        .flat_map(|i| blake3::hash(&i.to_le_bytes()).to_hex().to_string().into_bytes())
        .take(SIZE)
        .map(char::from)
        .collect();
    for (what, text) in [("prose", prose.repeat(SIZE / prose.len())), ("hex digits", dense)] {
        assert!(secrets.scan(&text).is_empty(), "there is nothing to find");
        let (least, median, most) = seconds(samples, || drop(black_box(secrets.scan(black_box(&text)))));
        let rate = |seconds: f64| text.len() as f64 / seconds / 1e6;
        let met = if rate(median) > AIM { "met" } else { "MISSED" };
        println!(
            "row\tsearch for secrets, {what}\t{:.0} MB/s\t{:.0}..{:.0}\t20 secrets; aim > {AIM:.0} MB/s: {met}",
            rate(median),
            rate(most),
            rate(least)
        );
    }
}

/// Returns so many gates: the built-in ones, and then more of those that search no text and have no finding on this
/// call.
fn panel(count: usize) -> Panel {
    let plain = GATES
        .iter()
        .filter(|gate| !matches!(gate.name, "secrets" | "paths" | "shape" | "egress" | "effects"));
    let gates: Vec<Gate> = GATES.iter().chain(plain.cycle()).take(count).cloned().collect();
    Panel::new(Cow::Owned(gates))
}

/// Prints a figure, and whether an aim in seconds is met, if there is one.
fn row(what: &str, (least, median, most): (f64, f64, f64), aim: f64) {
    let shown = |seconds: f64| format!("{:.2} µs", seconds * 1e6);
    let note = match aim {
        0.0 => String::new(),
        aim => format!("aim < {}: {}", shown(aim), if median < aim { "met" } else { "MISSED" }),
    };
    println!("row\t{what}\t{}\t{}..{}\t{note}", shown(median), shown(least), shown(most));
}

/// Seconds that one call takes: the least, the median and the greatest of several samples.
fn seconds(samples: usize, mut work: impl FnMut()) -> (f64, f64, f64) {
    let mut calls = 1_u32;
    loop {
        let started = Instant::now();
        (0..calls).for_each(|_| work());
        if started.elapsed() > Duration::from_millis(20) || calls > 1 << 24 {
            break;
        }
        calls *= 2;
    }
    let mut times: Vec<f64> = (0..samples.max(3))
        .map(|_| {
            let started = Instant::now();
            (0..calls).for_each(|_| work());
            started.elapsed().as_secs_f64() / f64::from(calls)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2], times[times.len() - 1])
}

/// One call that a model makes after it has read two mails, with all that it is judged on.
struct SampleCall {
    proposal: Proposal,
    grant: Grant,
    interface: Interface,
    subject: Subject,
    facts: Facts,
    spent: RunBudget,
}

impl SampleCall {
    fn new(bytes: usize) -> SampleCall {
        let id = |byte| FormulaId { number: [byte; 32], node: [0; 32] };
        let write = Method::new("write", Effect::Modify, "writes")
            .param(Param::required("path", Pattern::string(), ""))
            .param(Param::required("content", Pattern::string(), ""));
        let mut provenance = Provenance::host().join(&Provenance::of(Source::Model("scripted".into())));
        for name in ["mail/1.eml", "mail/2.eml"] {
            let source = Source::Document { name: name.into(), hash: BlobHash::of(name.as_bytes()) };
            provenance = provenance.join(&Provenance::of(source));
        }
        SampleCall {
            proposal: Proposal {
                principal: id(1),
                run: RunNumber(17),
                grant: id(3),
                slot: "out".into(),
                method: "write".into(),
                args: vec![Value::from("notes/report.md"), Value::string("x".repeat(bytes))],
                effect: Effect::Modify,
                caller: Caller::Model,
                pins: BTreeSet::new(),
                provenance,
                traces: vec![],
                givers: vec![],
                place: None,
            },
            grant: Grant {
                id: id(3),
                number: kernel::GrantNumber(1),
                target: id(4),
                words: String::new(),
                holder: id(5),
                owner: kernel::Number([1; 32]),
                slot: "out".into(),
                methods: BTreeSet::from(["write".into()]),
                attenuation: Attenuation::default(),
                allow: BTreeSet::from(["write".into()]),
                ask: BTreeSet::new(),
                source: Some(MessageNumber(0)),
                given_ms: 0,
                expires_ms: None,
                revoked_ms: None,
                revoked_by: None,
            },
            interface: Interface::new("Dir", "a directory").with(write),
            subject: Subject { kind: "dir".into(), names: vec!["/home/me/out".into()] },
            facts: Facts {
                paths: vec![PathFact {
                    argument: "path".into(),
                    path: "notes/report.md".into(),
                    leads_to: None,
                    bytes: None,
                }],
                bytes: Some(bytes as u64),
                ..Facts::default()
            },
            spent: RunBudget::default(),
        }
    }

    /// Returns the call as one that is seen outside, with the places that its words came from.
    fn traced(mut self) -> SampleCall {
        self.proposal.effect = Effect::Commit;
        self.proposal.traces = (0..8)
            .map(|at: usize| Trace {
                argument: if at.is_multiple_of(2) { "path" } else { "content" }.into(),
                text: format!("words that were read, number {at}"),
                document: format!("mail/{at}.eml"),
                call: Some("query \"rent\"".into()),
                how: "as written".into(),
            })
            .collect();
        self
    }

    fn context<'a>(&'a self, rules: &'a Rules) -> Context<'a> {
        Context {
            proposal: &self.proposal,
            grant: &self.grant,
            interface: &self.interface,
            subject: &self.subject,
            worker: "note",
            facts: &self.facts,
            now_ms: 1,
            written: &[],
            spent: &self.spent,
            rules,
        }
    }

    /// Returns so many policies; the last one applies to the call.
    fn rules(&self, count: usize) -> Rules {
        let kind = Kind { name: "dir", interface: &self.interface, attribute: "path" };
        let vocabulary = Arc::new(Vocabulary::of(&[kind]).unwrap());
        let mut text = String::new();
        for at in 1..count {
            let _ = writeln!(
                text,
                "forbid(principal, action, resource) when {{ context has path && context.path like \"*.{at}\" }};"
            );
        }
        text.push_str("permit(principal == Worker::\"note\", action in Action::\"dir\", resource);");
        let policies =
            Policies::compile(&vocabulary, PolicyOwner::Operator, "policy.cedar", &text, None).unwrap();
        let in_force = ActivePolicies::new(vocabulary, vec![Arc::new(policies)], None);
        Rules::default().with_operator(Arc::new(in_force))
    }
}
