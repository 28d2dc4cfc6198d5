//! The vault's values are taken out of whatever goes to a model, comes from one, or is read: once, before it is kept.

use std::borrow::Cow;

use kernel::run::Completion;
use model::{Message, Reply, Request};
use policy::Secrets;
use serde_json::Value as Json;

/// What a model is asked.
pub(crate) fn request(secrets: &Secrets, request: &mut Request) {
    text(secrets, &mut request.system);
    for message in &mut request.messages {
        match message {
            Message::User { text: own } => text(secrets, own),
            Message::Assistant { text: own, calls } => {
                text(secrets, own);
                calls.iter_mut().for_each(|call| json(secrets, &mut call.arguments));
            }
            Message::ToolResult { content, .. } => text(secrets, content),
        }
    }
}

/// What a model answers. A call with a stand-in in it is refused, so that nothing is done with less than was meant.
pub(crate) fn reply(secrets: &Secrets, reply: &mut Reply) {
    text(secrets, &mut reply.text);
    reply.calls.iter_mut().for_each(|call| json(secrets, &mut call.arguments));
    reply.malformed.iter_mut().for_each(|call| {
        text(secrets, &mut call.arguments);
        text(secrets, &mut call.reason);
    });
}

/// What a call returned.
pub(crate) fn completion(secrets: &Secrets, completion: Completion) -> Completion {
    match completion {
        Completion::Done { value, provenance } => {
            Completion::Done { value: secrets.redact_value(&value), provenance }
        }
        other => other,
    }
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
    use super::*;
    use model::Call;

    #[test]
    fn a_model_neither_reads_nor_repeats_a_value() {
        let secrets = Secrets::new([("TOKEN", "swordfish-42")]);
        let arguments =
            serde_json::json!({"a": ["x swordfish-42"], "swordfish-42": 1, "n": {"b": "c3dvcmRmaXNoLTQy"}});
        let call = Call { id: "1".into(), name: "t".into(), arguments };
        let mut asked = Request {
            system: "swordfish-42".into(),
            messages: vec![
                Message::user("swordfish-42"),
                Message::Assistant { text: "swordfish-42".into(), calls: vec![call.clone()] },
                Message::ToolResult {
                    id: "1".into(),
                    name: "t".into(),
                    content: r#"{"k":"swordfish\u002d42"}"#.into(),
                    is_error: false,
                },
            ],
            ..Request::default()
        };
        request(&secrets, &mut asked);
        let mut said = Reply { text: "swordfish-42".into(), calls: vec![call], ..Reply::default() };
        reply(&secrets, &mut said);
        for kept in [serde_json::to_string(&asked).unwrap(), serde_json::to_string(&said).unwrap()] {
            assert!(
                secrets.scan(&kept).iter().all(|hit| matches!(hit.what, policy::secrets::What::StandIn(_))),
                "{kept}"
            );
            assert!(kept.contains("⟦secret TOKEN⟧"), "{kept}");
        }
    }
}
