//! The redaction of the vault's values in requests to a model, in its replies, and in results. It happens once,
//! before they are stored.

use std::borrow::Cow;

use caps::Settled;
use kernel::proposal::Finding;
use kernel::provenance::{Provenance, Source};
use kernel::run::Completion;
use model::{Call, Message, Reply, Request};
use policy::Secrets;
use serde_json::Value as Json;

/// Redacts a request to a model.
pub(crate) fn request(secrets: &Secrets, request: &mut Request) {
    text(secrets, &mut request.system);
    for tool in &mut request.tools {
        // A tool server chooses the descriptions of its tools, and may have been started with a secret.
        text(secrets, &mut tool.description);
        json(secrets, &mut tool.parameters);
    }
    if let Some(schema) = &mut request.output {
        json(secrets, schema);
    }
    for message in &mut request.messages {
        match message {
            Message::User { text: own, media } => {
                text(secrets, own);
                media.iter_mut().for_each(|own| text(secrets, &mut own.name));
            }
            Message::Assistant { text: own, calls } => {
                text(secrets, own);
                calls.iter_mut().for_each(|own| call(secrets, own));
            }
            Message::ToolResult { id, name, content, .. } => {
                [id, name, content].into_iter().for_each(|own| text(secrets, own));
            }
        }
    }
}

/// Redacts a model's reply. If a call contains a stand-in for a secret, the gates refuse it, so that no call is made
/// with altered arguments.
pub(crate) fn reply(secrets: &Secrets, reply: &mut Reply) {
    text(secrets, &mut reply.text);
    reply.calls.iter_mut().for_each(|own| call(secrets, own));
    reply.malformed.iter_mut().for_each(|own| {
        [&mut own.id, &mut own.name, &mut own.arguments, &mut own.reason]
            .into_iter()
            .for_each(|own| text(secrets, own));
    });
}

/// Redacts a call. A model is free to choose its name and, with some providers, its id.
fn call(secrets: &Secrets, call: &mut Call) {
    text(secrets, &mut call.id);
    text(secrets, &mut call.name);
    json(secrets, &mut call.arguments);
    if let Some(own) = &mut call.signature {
        text(secrets, own);
    }
}

/// Returns the redacted outcome of an effect.
pub(crate) fn settled(secrets: &Secrets, settled: Settled) -> Settled {
    match settled {
        Settled::Completed(own) => Settled::Completed(completion(secrets, own)),
        Settled::Unknown => Settled::Unknown,
    }
}

/// Returns the outcome without keys that are recognised by their shape. No person has said yes to the call, so none
/// knows that its result holds a key.
pub(crate) fn without_keys(settled: Settled) -> Settled {
    match settled {
        Settled::Completed(Completion::Done { value, provenance }) => {
            let value = policy::secrets::withhold_value(&value);
            Settled::Completed(Completion::Done { value, provenance })
        }
        other => other,
    }
}

/// Returns the redacted result or error of a call. A server may repeat a value that it was sent, even in an address.
fn completion(secrets: &Secrets, completion: Completion) -> Completion {
    match completion {
        Completion::Done { value, provenance: own } => {
            Completion::Done { value: secrets.redact_value(&value), provenance: provenance(secrets, own) }
        }
        Completion::Refused(mut all) => {
            findings(secrets, &mut all);
            Completion::Refused(all)
        }
        Completion::Failed(mut own) => {
            finding(secrets, &mut own);
            Completion::Failed(own)
        }
    }
}

/// Redacts the findings of gates and capabilities.
pub(crate) fn findings(secrets: &Secrets, findings: &mut [Finding]) {
    findings.iter_mut().for_each(|own| finding(secrets, own));
}

fn finding(secrets: &Secrets, finding: &mut Finding) {
    finding.redact(&|own| text(secrets, own));
}

/// Returns a provenance with redacted document names, because these may be paths and addresses.
fn provenance(secrets: &Secrets, provenance: Provenance) -> Provenance {
    let sources = provenance
        .sources
        .into_iter()
        .map(|source| match source {
            Source::Document { mut name, hash } => {
                text(secrets, &mut name);
                Source::Document { name, hash }
            }
            other => other,
        })
        .collect();
    Provenance { sources, ..provenance }
}

fn text(secrets: &Secrets, text: &mut String) {
    if let Cow::Owned(redacted) = secrets.redact(text) {
        *text = redacted;
    }
}

fn json(secrets: &Secrets, value: &mut Json) {
    match value {
        Json::String(own) => text(secrets, own),
        Json::Array(items) => items.iter_mut().for_each(|item| json(secrets, item)),
        Json::Object(fields) => {
            let names: Vec<(String, String)> = fields
                .keys()
                .filter_map(|name| match secrets.redact(name) {
                    Cow::Owned(redacted) => Some((name.clone(), redacted)),
                    Cow::Borrowed(_) => None,
                })
                .collect();
            for (name, redacted) in names {
                if let Some(field) = fields.remove(&name) {
                    fields.insert(redacted, field);
                }
            }
            fields.values_mut().for_each(|field| json(secrets, field));
        }
        Json::Number(_) | Json::Bool(_) | Json::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use kernel::BlobHash;
    use model::MalformedCall;

    use super::*;

    const KEY: &str = "swordfish-42";

    fn secrets() -> Secrets {
        Secrets::new([("TOKEN", KEY)])
    }

    /// Checks that the secret value is gone, in any spelling, and that its stand-in is there.
    fn check(kept: &str) {
        let secrets = secrets();
        let is_stand_in =
            |hit: policy::secrets::Hit| matches!(hit.kind, policy::secrets::HitKind::StandIn(_));
        assert!(secrets.scan(kept).into_iter().all(is_stand_in), "{kept}");
        assert!(kept.contains("⟦secret TOKEN⟧"), "{kept}");
    }

    #[test]
    fn call_outcomes_are_redacted() {
        let finding = || {
            Finding::new("http/redirect", format!("sends on to /{KEY}"))
                .at(KEY)
                .counter_example("c3dvcmRmaXNoLTQy")
                .allowed(format!("/{KEY}"))
        };
        let name = format!("api/https://a.example/{KEY}");
        let read = Provenance::of(Source::Document { name, hash: BlobHash::of(b"x") });
        for completion in [
            Completion::Failed(finding()),
            Completion::Refused(vec![Finding::new("a/b", "x"), finding()]),
            Completion::Done { value: "x".into(), provenance: read },
        ] {
            let Settled::Completed(kept) = settled(&secrets(), Settled::Completed(completion)) else {
                panic!("it was completed");
            };
            check(&serde_json::to_string(&kept).unwrap());
        }
    }

    #[test]
    fn requests_and_replies_are_redacted() {
        let secrets = secrets();
        let arguments =
            serde_json::json!({"a": ["x swordfish-42"], "swordfish-42": 1, "n": {"b": "c3dvcmRmaXNoLTQy"}});
        let call = Call { signature: Some(KEY.into()), ..Call::new(KEY, KEY, arguments) };
        let malformed =
            MalformedCall { id: KEY.into(), name: KEY.into(), arguments: KEY.into(), reason: KEY.into() };
        let mut asked = Request {
            system: "swordfish-42".into(),
            messages: vec![
                Message::user("swordfish-42"),
                Message::Assistant { text: "swordfish-42".into(), calls: vec![call.clone()] },
                Message::ToolResult {
                    id: KEY.into(),
                    name: KEY.into(),
                    content: r#"{"k":"swordfish\u002d42"}"#.into(),
                    is_error: false,
                },
            ],
            ..Request::default()
        };
        request(&secrets, &mut asked);
        let mut said = Reply {
            text: "swordfish-42".into(),
            calls: vec![call],
            malformed: vec![malformed],
            ..Reply::default()
        };
        reply(&secrets, &mut said);
        check(&serde_json::to_string(&asked).unwrap());
        check(&serde_json::to_string(&said).unwrap());
    }
}
