//! The gate for the sources of a call. It asks before text leaves this machine if an untrusted source may have
//! influenced it.

use std::collections::BTreeMap;

use kernel::proposal::{Effect, Finding, Trace};
use kernel::provenance::Source;
use passable::{Quoting, quoting, visible_line};

use super::Gate;
use crate::facts::Context;
use crate::ruling::{Lift, Ruling};
use crate::trace::NOT_READ;

pub(super) const GATE: Gate = Gate {
    name: "provenance",
    version: 3,
    about: "nothing leaves on the word of a document or a model",
    judge,
};

/// The maximum number of sources that a finding names. The others are only counted.
const MAX_NAMED_SOURCES: usize = 3;

fn judge(context: &Context<'_>) -> Ruling {
    let proposal = context.proposal;
    if proposal.effect != Effect::Commit || !proposal.provenance.is_untrusted() {
        return Ruling::allow();
    }
    // A model that has seen only the user's own words speaks without foreign influence, so an operator can vouch for
    // it. If the words may come from a document, a run or another agent, only a person can.
    let is_model = |source: &Source| matches!(source, Source::Model(_));
    let (lift, lifted) = match proposal.provenance.untrusted().all(is_model) {
        true => (Lift::Operator, "a person's approval of exactly this call"),
        false => (Lift::Permission, "a person's approval of exactly this call; nothing else lifts this"),
    };
    let sources: Vec<Quoting> = proposal.provenance.untrusted().map(describe).collect();
    let main = Finding::new(
        "provenance/untrusted",
        quoting!(
            "`{}.{}` is seen outside or cannot be undone, and what it says may come from ",
            proposal.slot,
            proposal.method
        )
        .then(&enumerate(&sources)),
    )
    .at("method")
    .counter_example(Quoting::joined(sources, ", ").text())
    .allowed(lifted);
    traced(&proposal.traces).fold(Ruling::ask(lift, main), Ruling::with)
}

/// Returns one finding for each argument whose text occurs in a document.
fn traced(traces: &[Trace]) -> impl Iterator<Item = Finding> {
    let mut by_argument: BTreeMap<&str, Vec<&Trace>> = BTreeMap::new();
    for trace in traces {
        by_argument.entry(&trace.argument).or_default().push(trace);
    }
    by_argument.into_iter().map(|(argument, traces)| {
        let places: Vec<Quoting> = traces
            .iter()
            .filter(|trace| trace.how != NOT_READ)
            .map(|trace| {
                let name = Quoting::name(&visible_line(&trace.source_name()));
                name.and(format!(" ({})", visible_line(&trace.how)))
            })
            .fold(Vec::new(), |mut places, place| {
                if !places.contains(&place) {
                    places.push(place);
                }
                places
            });
        let text = traces.first().map(|trace| visible_line(&trace.text).to_string()).unwrap_or_default();
        let (rule, places) = match traces.iter().all(|trace| trace.how == NOT_READ) {
            true => ("provenance/from-nobody", "nothing that the user gave or that was read".into()),
            false => ("provenance/from-document", enumerate(&places)),
        };
        Finding::new(rule, quoting!("`{}` in `{}` stands in ", text, argument).then(&places))
            .at(argument)
            .counter_example(text)
            .allowed("what the user gave: an input of the run or a setting of the worker")
    })
}

/// Returns a source in words. A document may have any name, such as `the user`, so its name stands in quotation marks.
fn describe(source: &Source) -> Quoting {
    match source {
        Source::Host => Quoting::ours("the user"),
        Source::Model(name) => Quoting::ours("the model ").quote(visible_line(name)),
        Source::Document { name, .. } => Quoting::name(&visible_line(name)),
        Source::Run(number) => Quoting::ours(format!("run {number}")),
        Source::Agent(_) => Quoting::ours("another agent"),
    }
}

/// Returns the first few items by name, and the number of the others.
fn enumerate(items: &[Quoting]) -> Quoting {
    let named = &items[..items.len().min(MAX_NAMED_SOURCES)];
    let more = items.len() - named.len();
    let listed = |items: &[Quoting]| Quoting::joined(items.iter().cloned(), ", ");
    match named {
        _ if more > 0 => listed(named).and(format!(" and {more} more")),
        [all @ .., last] if !all.is_empty() => listed(all).and(" and ").then(last),
        _ => listed(named),
    }
}

#[cfg(test)]
mod tests {
    use kernel::proposal::Decision::{Allow, Ask};

    use super::*;
    use crate::fixture::{Call, check};

    use kernel::provenance::Provenance;

    #[test]
    fn untrusted_commit_asks() {
        let model = |c: &mut Call| c.proposal.provenance = Provenance::of(Source::Model("m".into()));
        for (call, decisions, rules) in [
            (Call::new("send"), (Allow, Allow), &[][..]),
            (Call::new("look").having_read("mail/5.eml"), (Allow, Allow), &[]),
            (Call::new("change").having_read("mail/5.eml"), (Allow, Allow), &[]),
            (Call::new("send").having_read("mail/5.eml"), (Ask, Ask), &["provenance/untrusted"]),
            (Call::new("send").but(model), (Ask, Ask), &["provenance/untrusted"]),
        ] {
            check(&GATE, &call, decisions, rules);
        }
    }

    #[test]
    fn finding_names_sources_and_places() {
        let trace = |argument: &str, text: &str, document: &str, how: &str| Trace {
            argument: argument.into(),
            text: text.into(),
            document: document.into(),
            call: None,
            how: how.into(),
        };
        let call = Call::new("send").having_read("mail/5\u{1b}[2K.eml").but(|c| {
            c.proposal.traces = vec![
                trace("to", "x@y.example", "mail/5.eml", "base64"),
                trace("to", "y.example", "mail/5.eml", "base64"),
                trace("to", "x@y.example", "mail/2.txt", "as written"),
            ];
        });
        check(&GATE, &call, (Ask, Ask), &["provenance/untrusted", "provenance/from-document"]);
        let ruling = call.ruling(&GATE);
        let messages: Vec<_> = ruling.findings().iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "`out.send` is seen outside or cannot be undone, and what it says may come from “mail/5\\u{1B}[2K.eml”",
                "`x@y.example` in `to` stands in “mail/5.eml” (base64) and “mail/2.txt” (as written)",
            ]
        );
    }

    #[test]
    fn finding_names_only_the_first_sources() {
        let document = |name: &str| Source::Document { name: name.into(), hash: kernel::BlobHash([7; 32]) };
        let model = || Source::Model("m\u{1b}[2K".into());
        let (run, agent) = (|| Source::Run(kernel::RunNumber(9)), || Source::Agent(kernel::Number([1; 32])));
        for (sources, said, all) in [
            (vec![run()], "run r9", "run r9"),
            // The name of a document reads like words of Almoner.
            (vec![document("the user”")], "“the user\\u{201D}”", "“the user\\u{201D}”"),
            (vec![agent(), Source::Host], "another agent", "another agent"),
            (
                vec![model(), document("a"), run()],
                "the model m\\u{1B}[2K, “a” and run r9",
                "the model m\\u{1B}[2K, “a”, run r9",
            ),
            (
                vec![document("a"), document("b"), document("c"), document("d")],
                "“a”, “b”, “c” and 1 more",
                "“a”, “b”, “c”, “d”",
            ),
            (
                vec![document("a"), document("b"), document("c"), run(), agent()],
                "“a”, “b”, “c” and 2 more",
                "“a”, “b”, “c”, run r9, another agent",
            ),
        ] {
            let call = Call::new("send").but(|c| c.proposal.provenance.sources.extend(sources));
            let ruling = call.ruling(&GATE);
            let [finding] = ruling.findings() else { panic!("{ruling:?}") };
            assert!(finding.message.ends_with(&format!("may come from {said}")), "{}", finding.message);
            assert_eq!(finding.counter_example.as_deref(), Some(all));
        }
    }
}
