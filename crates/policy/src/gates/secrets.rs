//! The gate for secrets. It searches the arguments of a call for the vault's values and for text that looks like a
//! key.

use std::collections::BTreeMap;

use kernel::proposal::{Effect, Finding};
use passable::quoting;

use super::Gate;
use crate::facts::Context;
use crate::ruling::{Lift, Ruling};
use crate::secrets::HitKind;

pub(super) const GATE: Gate =
    Gate { name: "secrets", version: 4, about: "no secret stands in the words of a call", judge };

fn judge(context: &Context<'_>) -> Ruling {
    let proposal = context.proposal;
    // A call that only reads, and only on this machine, tells nothing to anybody outside.
    let facts = context.facts;
    let tells = facts.tells() || facts.reader.is_some();
    if proposal.effect == Effect::Observe && !tells {
        return Ruling::allow();
    }
    let secrets = &context.rules.secrets;
    let method = context.interface.method(&proposal.method);
    let names = |at: usize| -> &str {
        method.and_then(|method| method.params.get(at)).map_or("arguments", |param| param.name.as_str())
    };
    let said = proposal.args.iter().enumerate().map(|(at, value)| (names(at), value));
    let handed = facts.reader_documents.iter().map(|(name, text)| (name.as_str(), text));
    let sightings = secrets.inspect(said.chain(handed));
    let mut rulings: Vec<Ruling> = Vec::new();
    // There is one finding for each kind of hit and argument, however often it occurs there.
    let mut told: BTreeMap<(String, &HitKind), ()> = BTreeMap::new();
    for sighting in &sightings {
        if told.insert((sighting.argument.clone(), &sighting.kind), ()).is_some() {
            continue;
        }
        let at = &sighting.argument;
        rulings.push(match &sighting.kind {
            HitKind::Value(name) => Ruling::deny(
                Finding::new(
                    "secrets/value",
                    quoting!("`{}` holds the value of the secret `{}` ({})", at, name, sighting.spelling),
                )
                .at(at)
                .counter_example(format!("the value of `{name}`"))
                .allowed(quoting!(
                    "the same without it. Where a server needs it, the user endows `…&key={}`, and it is put in when the request is sent",
                    name
                )),
            ),
            HitKind::StandIn(name) => Ruling::deny(
                Finding::new(
                    "secrets/stand-in",
                    quoting!(
                        "`{}` holds what was shown in the place of the secret `{}`; the value itself would be lost",
                        at,
                        name
                    ),
                )
                .at(at)
                .counter_example(crate::secrets::stand_in(name))
                .allowed("words that leave the secret out, or another file"),
            ),
            HitKind::Shape(kind) => Ruling::ask(
                Lift::Permission,
                Finding::new("secrets/shape", quoting!("`{}` holds what looks like ", at).and(kind))
                    .at(at)
                    .counter_example(*kind)
                    .allowed("a person's approval of exactly this call, or the same without it"),
            ),
            HitKind::Unsearched => Ruling::ask(
                Lift::Permission,
                Finding::new(
                    "secrets/unsearched",
                    "the call has so many texts that a secret in pieces of any order cannot be looked for in them",
                )
                .at(at)
                .counter_example("too many texts")
                .allowed("a person's approval of exactly this call, or the same in several calls"),
            ),
        });
    }
    if secrets.is_locked() {
        rulings.push(Ruling::ask(
            Lift::Permission,
            Finding::new("secrets/locked", "the vault is locked: whether the call holds one of its values cannot be seen")
                .at("arguments")
                .counter_example("the vault is locked")
                .allowed("the same call once the user has unlocked the vault (`almoner unlock`), or a person's approval"),
        ));
    }
    Ruling::strictest(rulings)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kernel::proposal::Decision::{Allow, Ask, Deny};
    use kernel::proposal::Value;

    use super::*;
    use crate::facts::Destination;
    use crate::fixture::{Call, check};
    use crate::rules::Rules;
    use crate::secrets::Secrets;

    const TOKEN: &str = "correct-horse-battery-staple";

    fn knowing(method: &str, secrets: Secrets, args: &[&str]) -> Call {
        Call::new(method).but(|c| {
            c.proposal.args = args.iter().map(|text| Value::from(*text)).collect();
            c.rules = Arc::new(Rules { secrets: Arc::new(secrets), ..Rules::default() });
        })
    }

    fn vault() -> Secrets {
        Secrets::new([("TOKEN", TOKEN)])
    }

    #[test]
    fn split_secret_among_many_texts_is_found_or_asks() {
        let among = |count: usize| {
            let mut texts = vec!["fill"; count];
            texts[0] = "battery-staple";
            texts[count - 1] = "correct-horse-";
            knowing("change", vault(), &texts)
        };
        check(&GATE, &among(65), (Deny, Deny), &["secrets/value"]);
        check(&GATE, &among(1000), (Deny, Deny), &["secrets/value"]);
        check(&GATE, &among(200_000), (Ask, Ask), &["secrets/unsearched"]);
        // Without values in the vault, there is nothing to search for.
        let none = knowing("change", Secrets::default(), &["fill"; 200_000]);
        check(&GATE, &none, (Allow, Allow), &[]);
    }

    #[test]
    fn secret_in_a_call_denies_or_asks() {
        let reaching = |c: &mut Call| {
            c.facts.destinations.push(Destination {
                argument: "path".into(),
                scheme: "https".into(),
                host: "a.example".into(),
                port: 443,
                method: "GET".into(),
                path: "/".into(),
                addresses: vec![],
            });
        };
        let told = |c: &mut Call| c.facts.reader = Some("the model m".into());
        let handed = |c: &mut Call| {
            c.facts.reader = Some("the model m".into());
            c.facts.reader_documents = vec![("attachments".into(), Value::from(format!("it is {TOKEN}")))];
        };
        let value = &["secrets/value"][..];
        let shape = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        for (call, decisions, rules) in [
            (knowing("change", vault(), &["a.md", "nothing"]), (Allow, Allow), &[][..]),
            (knowing("change", vault(), &["a.md", TOKEN]), (Deny, Deny), value),
            (
                knowing("send", vault(), &["a.md", "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5LXN0YXBsZQ=="]),
                (Deny, Deny),
                value,
            ),
            (knowing("change", vault(), &["correct-horse-", "battery-staple"]), (Deny, Deny), value),
            (knowing("change", vault(), &["battery-staple", "correct-horse-"]), (Deny, Deny), value),
            (knowing("look", vault(), &[TOKEN]), (Allow, Allow), &[]),
            (knowing("look", vault(), &[TOKEN]).but(reaching), (Deny, Deny), value),
            (knowing("look", vault(), &[TOKEN]).but(told), (Deny, Deny), value),
            (knowing("look", vault(), &["nothing"]).but(told), (Allow, Allow), &[]),
            (knowing("look", vault(), &["see there"]).but(handed), (Deny, Deny), value),
            (knowing("look", Secrets::default(), &[shape]).but(told), (Ask, Ask), &["secrets/shape"]),
            (knowing("look", Secrets::locked(), &["a.md"]).but(told), (Ask, Ask), &["secrets/locked"]),
            (
                knowing("change", vault(), &["a.md", "x ⟦secret TOKEN⟧ y"]),
                (Deny, Deny),
                &["secrets/stand-in"],
            ),
            (knowing("change", vault(), &["a.md", "x ⟦secret OTHER⟧ y"]), (Allow, Allow), &[]),
            (knowing("change", Secrets::default(), &["a.md", shape]), (Ask, Ask), &["secrets/shape"]),
            (knowing("change", Secrets::default(), &["a.md", TOKEN]), (Allow, Allow), &[]),
            (knowing("change", Secrets::locked(), &["a.md", TOKEN]), (Ask, Ask), &["secrets/locked"]),
            (knowing("look", Secrets::locked(), &["a.md"]), (Allow, Allow), &[]),
        ] {
            check(&GATE, &call, decisions, rules);
            for finding in call.ruling(&GATE).findings() {
                let told = format!("{finding:?}");
                assert!(!told.contains("battery") && !told.contains("16C7e42F"), "{told}");
            }
        }
    }
}
