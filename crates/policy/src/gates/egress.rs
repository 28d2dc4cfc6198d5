//! The gate for the servers that a call would reach.

use kernel::proposal::{ArgumentGiver, Caller, Effect, Finding, Giver};
use kernel::provenance::Source;
use passable::{Quoting, quoting, visible_line};
use resource::web::Origin;

use super::Gate;
use crate::egress::{private, refused};
use crate::facts::{Context, Destination};
use crate::ruling::{Lift, Ruling};

pub(super) const GATE: Gate =
    Gate { name: "egress", version: 4, about: "only servers that the grant names are reached", judge };

fn judge(context: &Context<'_>) -> Ruling {
    let mut rulings: Vec<Ruling> =
        context.facts.destinations.iter().map(|destination| reach(context, destination)).collect();
    rulings.extend(carried_out(context));
    Ruling::strictest(rulings)
}

/// Returns the ruling on one destination. A destination that the grant does not name is denied.
fn reach(context: &Context<'_>, destination: &Destination) -> Ruling {
    let shown = format!("{} {}", destination.method, visible_line(&written(destination)));
    let allowed = &context.facts.allowed;
    let places: Vec<String> = allowed
        .iter()
        .map(|each| {
            let methods: Vec<&str> = each.methods.iter().map(String::as_str).collect();
            format!("{} under {}", methods.join(" or "), each.place)
        })
        .collect();
    let deny = |rule: &str, what: Quoting| {
        Ruling::deny(
            Finding::new(rule, what).at(destination.argument.clone()).counter_example(shown.clone()).allowed(
                match places.is_empty() {
                    true => Quoting::ours("nothing through this grant"),
                    false => Quoting::theirs(places.join("; ")),
                },
            ),
        )
    };
    let Some(origin) = origin(destination) else {
        return deny("egress/server", quoting!("{} names no server in a plain way", shown));
    };
    let named: Vec<_> = allowed.iter().filter(|each| each.place.holds(&origin, &destination.path)).collect();
    if named.is_empty() {
        return deny("egress/server", quoting!("{} is not what was granted", shown));
    }
    let Some(grant) = named.iter().find(|each| each.methods.contains(&destination.method)) else {
        return deny("egress/method", quoting!("{} was not granted there", destination.method));
    };
    for address in &destination.addresses {
        if let Some(reach) = refused(&origin.host, *address, grant.address) {
            return Ruling::deny(Finding {
                at: Some(destination.argument.clone()),
                ..private(&origin.to_string(), *address, reach)
            });
        }
    }
    Ruling::allow()
}

/// Returns the question about a call that could carry documents out, or `None` if the call cannot. Even a call that
/// only reads tells the server the text of its address. That text may hold words that the run has read elsewhere. The
/// same is true for every other way out of this machine, unless the call counts as sending.
///
/// An endowment lifts the question about a call whose arguments the user gave. It also lifts that about a call to the one
/// server which the user named, as long as no argument holds words of a document from elsewhere. Of any other call, only
/// a person or the operator's policy can know whether these words may go there.
fn carried_out(context: &Context<'_>) -> Option<Ruling> {
    let proposal = context.proposal;
    // Other gates ask about a call that sends. The user's own words may go where the user says.
    if proposal.effect == Effect::Commit || proposal.caller != Caller::Model {
        return None;
    }
    let (to, home, what, shown) = match (&context.facts.outlet, context.facts.destinations.first()) {
        (Some(outlet), _) => (outlet.to.clone(), outlet.home.clone(), "what this call says", None),
        (None, Some(first)) => {
            let home = origin(first).map(|origin| format!("{origin}/"));
            let shown = visible_line(&written(first)).into_owned();
            let to = visible_line(&first.host).into_owned();
            (to, home, "what stands in this address", Some((first.argument.clone(), shown)))
        }
        (None, None) => return None,
    };
    // This server already knows the documents that came from it.
    let is_foreign = |name: &str| home.as_ref().is_none_or(|home| !name.starts_with(home.as_str()));
    let is_elsewhere = |source: &&Source| match source {
        Source::Document { name, .. } => is_foreign(name),
        Source::Model(_) | Source::Host => false,
        Source::Run(_) | Source::Agent(_) => true,
    };
    let sources: Vec<Quoting> =
        proposal.provenance.untrusted().filter(is_elsewhere).take(3).map(named).collect();
    if sources.is_empty() {
        return None;
    }
    let (at, example) = shown.unwrap_or_else(|| ("method".to_owned(), proposal.method.clone()));
    // A value in an item that the user named is still the item's word.
    let is_users = |one: &ArgumentGiver| matches!(one.giver, Giver::User { named: None });
    let is_plain = !proposal.givers.is_empty() && proposal.givers.iter().all(is_users);
    let carried = proposal.traces.iter().find(|trace| is_foreign(&trace.document)).filter(|_| !is_plain);
    let ask_about = |said: Quoting, argument: &str, example: &str| {
        let finding = Finding::new("egress/carries-text", said).at(argument).counter_example(example);
        Some(Ruling::ask(Lift::Operator, finding.allowed(ONLY_A_PERSON)))
    };
    if let Some(trace) = carried {
        let said = quoting!("{} is told “{}”, which stands in ", to, trace.text)
            .then(&Quoting::name(&trace.source_name()));
        return ask_about(said, &trace.argument, &trace.text);
    }
    if let Some((argument, place)) = from_item(&proposal.givers, is_foreign) {
        let said = quoting!("{} is told the words of `{}`, which stand in ", to, argument)
            .then(&Quoting::name(place));
        return ask_about(said, argument, place);
    }
    let passes_on = context.facts.outlet.as_ref().is_some_and(|outlet| outlet.home.is_none());
    if passes_on && !is_plain {
        let said = quoting!("{} is told ", to).and(what).and(", and the run has read ");
        return Some(Ruling::ask(
            Lift::Operator,
            Finding::new("egress/tells", said.then(&Quoting::joined(sources, ", ")))
                .at(at)
                .counter_example(example)
                .allowed(ONLY_A_PERSON),
        ));
    }
    Some(Ruling::ask(
        Lift::Endowment,
        Finding::new(
            "egress/carries",
            quoting!("{} is told ", to)
                .and(what)
                .and(", and the run has read ")
                .then(&Quoting::joined(sources, ", ")),
        )
        .at(at)
        .counter_example(example)
        .allowed(quoting!(
            "a person's approval, or an endowment that allows it (`--allow {}.{}`)",
            proposal.slot,
            proposal.method
        )),
    ))
}

/// Returns an argument with words of a foreign item, and the item, whether or not the user has named that item.
fn from_item(givers: &[ArgumentGiver], is_foreign: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    givers.iter().find_map(|one| {
        let place = match &one.giver {
            Giver::User { named } => named.iter().find(|place| is_foreign(place)),
            Giver::Document { places, .. } => places.iter().find(|place| is_foreign(place)),
            Giver::Unknown => None,
        };
        Some((one.argument.as_str(), place?.as_str()))
    })
}

/// The way out for a call whose arguments the user did not give.
const ONLY_A_PERSON: &str = "a person's approval of exactly this call, or arguments that the user gave";

fn named(source: &Source) -> Quoting {
    match source {
        Source::Document { name, .. } => Quoting::name(&visible_line(name)),
        Source::Run(number) => Quoting::ours(format!("run {number}")),
        Source::Model(_) | Source::Host | Source::Agent(_) => Quoting::ours("another agent's words"),
    }
}

fn host(destination: &Destination) -> String {
    if destination.host.contains(':') { format!("[{}]", destination.host) } else { destination.host.clone() }
}

fn origin(destination: &Destination) -> Option<Origin> {
    format!("{}://{}:{}", destination.scheme, host(destination), destination.port).parse().ok()
}

fn written(destination: &Destination) -> String {
    format!("{}://{}:{}{}", destination.scheme, host(destination), destination.port, destination.path)
}

#[cfg(test)]
mod tests {
    use kernel::proposal::Decision::{Allow, Ask, Deny};
    use resource::web::Place;

    use super::*;
    use crate::egress::WebGrant;
    use crate::fixture::{Call, check};

    /// Returns a call that reaches a URL under a grant of `https://api.example.com/v1` for reading.
    fn reaching(method: &str, verb: &str, url: &str, address: &str) -> Call {
        let (scheme, rest) = url.split_once("://").unwrap();
        let (host, path) = rest.split_at(rest.find('/').unwrap());
        let (host, port) =
            host.split_once(':').unwrap_or((host, if scheme == "https" { "443" } else { "80" }));
        Call::new(method).but(|c| {
            c.facts.allowed.push(WebGrant {
                place: Place::parse("https://api.example.com/v1").unwrap(),
                methods: ["GET".to_owned()].into(),
                address: None,
            });
            c.facts.destinations.push(Destination {
                argument: "path".into(),
                scheme: scheme.into(),
                host: host.into(),
                port: port.parse().unwrap(),
                method: verb.into(),
                path: path.into(),
                addresses: vec![address.parse().unwrap()],
            });
        })
    }

    #[test]
    fn only_granted_servers_are_reached() {
        let public = "8.8.8.8";
        let server = &["egress/server"][..];
        for (verb, url, address, rules) in [
            ("GET", "https://api.example.com/v1/x", public, &[][..]),
            ("GET", "https://api.example.com/v1", public, &[]),
            ("GET", "https://api.example.com/v10", public, server),
            ("GET", "https://api.example.com/", public, server),
            ("GET", "http://api.example.com/v1", public, server),
            ("GET", "https://api.example.com:8443/v1", public, server),
            ("GET", "https://api.example.com.evil.net/v1", public, server),
            ("GET", "https://evil.net/v1", public, server),
            ("GET", "https://api.example.com./v1", public, server),
            ("GET", "https://user@api.example.com/v1", public, server),
            ("POST", "https://api.example.com/v1/x", public, &["egress/method"]),
            ("GET", "https://api.example.com/v1/x", "127.0.0.1", &["egress/address"]),
            ("GET", "https://api.example.com/v1/x", "169.254.169.254", &["egress/address"]),
            ("GET", "https://api.example.com/v1/x", "::ffff:10.0.0.1", &["egress/address"]),
        ] {
            let decision = if rules.is_empty() { Allow } else { Deny };
            check(&GATE, &reaching("look", verb, url, address), (decision, decision), rules);
        }
        let nothing =
            reaching("look", "GET", "https://api.example.com/v1", public).but(|c| c.facts.allowed.clear());
        check(&GATE, &nothing, (Deny, Deny), server);
    }

    #[test]
    fn web_read_asks_after_another_source_was_read() {
        let call = || reaching("look", "GET", "https://api.example.com/v1/x", "8.8.8.8").by_model();
        let rules = &["egress/carries"][..];
        check(&GATE, &call(), (Allow, Allow), &[]);
        check(&GATE, &call().having_read("mail/5.eml"), (Ask, Allow), rules);
        check(&GATE, &call().having_read("https://api.example.com/v1/y"), (Allow, Allow), &[]);
        check(&GATE, &call().having_read("https://api.example.com.evil.net/v1/y"), (Ask, Allow), rules);
        check(
            &GATE,
            &call().having_read("https://api.example.com/v1/y").having_read("in/a"),
            (Ask, Allow),
            rules,
        );
    }

    #[test]
    fn outlet_call_asks_after_another_source_was_read() {
        let call = |method: &str| {
            Call::new(method).by_model().but(|c| {
                let home = Some("mcp:gh/".into());
                c.facts.outlet = Some(crate::facts::Outlet { to: "the server gh".into(), home });
            })
        };
        let rules = &["egress/carries"][..];
        for (call, decisions, rules) in [
            (call("look"), (Allow, Allow), &[][..]),
            (call("look").having_read("mcp:gh/list"), (Allow, Allow), &[]),
            (call("look").having_read("mcp:other/list"), (Ask, Allow), rules),
            (call("look").having_read("in/a"), (Ask, Allow), rules),
            (call("change").having_read("in/a"), (Ask, Allow), rules),
            // Other gates ask about a call that sends.
            (call("send").having_read("in/a"), (Allow, Allow), &[]),
        ] {
            check(&GATE, &call, decisions, rules);
        }
    }

    /// Reported of other programs: aaronsb/obsidian-mcp-plugin#284 (a page is fetched with what was read in its address)
    /// and modelcontextprotocol/servers#3643.
    #[test]
    fn reading_tool_that_tells_others_asks_about_documents() {
        let outlet = |home: Option<&str>| {
            let home = home.map(str::to_owned);
            Some(crate::facts::Outlet { to: "the server gh".into(), home })
        };
        let giver = |giver: Giver| ArgumentGiver { argument: "url".into(), part: None, giver };
        let user = || giver(Giver::User { named: None });
        let named = |place: &str| giver(Giver::User { named: Some(place.to_owned()) });
        let from = |place: &str| giver(Giver::Document { places: vec![place.to_owned()], is_whole: false });
        let trace = |document: &str| kernel::proposal::Trace {
            argument: "url".into(),
            text: "secret words".into(),
            document: document.into(),
            call: None,
            how: "as written".into(),
        };
        let call = |home: Option<&str>, givers: Vec<ArgumentGiver>, traced: &[&str]| {
            Call::new("look").by_model().but(|c| {
                c.facts.outlet = outlet(home);
                c.proposal.givers = givers;
                c.proposal.traces = traced.iter().map(|document| trace(document)).collect();
            })
        };
        let (carries, text, tells) =
            (&["egress/carries"][..], &["egress/carries-text"][..], &["egress/tells"][..]);
        let (own, other) = ("mcp:gh/inbox", "in/a");
        for (call, decisions, rules) in [
            // Nothing was read yet.
            (call(None, vec![giver(Giver::Unknown)], &[]), (Allow, Allow), &[][..]),
            // The server's own documents are strange to others that its tool reaches.
            (call(None, vec![giver(Giver::Unknown)], &[]).having_read(own), (Ask, Ask), tells),
            (call(None, vec![from(own)], &[own]).having_read(own), (Ask, Ask), text),
            (call(None, vec![user(), from(own)], &[]).having_read(own), (Ask, Ask), text),
            (call(None, vec![], &[]).having_read(own), (Ask, Ask), tells),
            // The user gave every argument.
            (call(None, vec![user()], &[]).having_read(own), (Ask, Allow), carries),
            // The user only named the item that holds the words.
            (call(None, vec![named(own)], &[]).having_read(own), (Ask, Ask), text),
            (call(None, vec![user(), named(other)], &[]).having_read(own), (Ask, Ask), text),
            (call(Some("mcp:gh/"), vec![named(other)], &[]).having_read(other), (Ask, Ask), text),
            (call(Some("mcp:gh/"), vec![named(own)], &[]).having_read(other), (Ask, Allow), carries),
            // A part of the words stands in an item, and no trace warns of it.
            (call(Some("mcp:gh/"), vec![from(other)], &[]).having_read(other), (Ask, Ask), text),
            // A server that keeps to itself knows its own documents, but no others.
            (call(Some("mcp:gh/"), vec![from(own)], &[own]).having_read(own), (Allow, Allow), &[]),
            (call(Some("mcp:gh/"), vec![from(other)], &[other]).having_read(other), (Ask, Ask), text),
            (
                call(Some("mcp:gh/"), vec![giver(Giver::Unknown)], &[]).having_read(other),
                (Ask, Allow),
                carries,
            ),
            (call(Some("mcp:gh/"), vec![user()], &[]).having_read(other), (Ask, Allow), carries),
        ] {
            check(&GATE, &call, decisions, rules);
        }
    }
}
