//! The model of a request, as attributes: its provider, its name and its server, without keys and paths.

use model::{ModelRef, Vendor};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use ureq::http::Uri;

use super::attributes::{self as attribute, number, text};

/// The model of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelName {
    /// The name of the provider.
    pub(super) provider: String,
    /// The name of the model at the provider.
    pub(super) name: String,
    /// The server and its port.
    pub(super) server: Option<(String, u16)>,
}

impl ModelName {
    /// Returns the first model of a reference. The text of a reference that cannot be read is not sent.
    pub(super) fn of(reference: &str) -> ModelName {
        let first = model::parse_list(reference).ok().and_then(|all| all.into_iter().next());
        let unknown =
            || ModelName { provider: "unknown".to_owned(), name: "unknown".to_owned(), server: None };
        first.map_or_else(unknown, |model| ModelName {
            provider: provider(&model).to_owned(),
            name: name(&model),
            server: server(&model),
        })
    }

    /// Returns the attributes of a request to the model.
    pub(super) fn attributes(&self) -> Vec<KeyValue> {
        let mut attributes =
            vec![text(attribute::PROVIDER_NAME, &self.provider), text(attribute::REQUEST_MODEL, &self.name)];
        if let Some((address, port)) = &self.server {
            attributes.push(text(attribute::SERVER_ADDRESS, address));
            attributes.push(number(attribute::SERVER_PORT, u64::from(*port)));
        }
        attributes
    }
}

/// Returns the name of a provider: the one of the conventions, or our own for a provider that they lack.
fn provider(model: &ModelRef) -> &'static str {
    match model {
        ModelRef::Vendor { vendor, .. } => match vendor {
            Vendor::OpenAi | Vendor::OpenAiResponses => "openai",
            Vendor::Anthropic => "anthropic",
            Vendor::Gemini => "gcp.gemini",
        },
        ModelRef::Ollama { .. } => "ollama",
        ModelRef::Compat { .. } => "compat",
        ModelRef::Local { .. } => "local",
        ModelRef::Scripted { .. } => "scripted",
        ModelRef::Replay { .. } => "replay",
    }
}

fn name(model: &ModelRef) -> String {
    match model {
        ModelRef::Vendor { model, .. } | ModelRef::Ollama { model, .. } | ModelRef::Compat { model, .. } => {
            model.clone()
        }
        ModelRef::Local { name } => name.clone().unwrap_or_else(|| "local".to_owned()),
        ModelRef::Scripted { .. } => "scripted".to_owned(),
        ModelRef::Replay { .. } => "replay".to_owned(),
    }
}

fn server(model: &ModelRef) -> Option<(String, u16)> {
    if model.is_self_contained() {
        return None;
    }
    let uri: Uri = model.server().parse().ok()?;
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    Some((uri.host()?.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_becomes_provider_name_and_server() {
        for (reference, provider, name, server) in [
            ("openai:gpt-x", "openai", "gpt-x", Some(("api.openai.com", 443))),
            ("gemini:flash", "gcp.gemini", "flash", Some(("generativelanguage.googleapis.com", 443))),
            ("compat:http://127.0.0.1:8080/v1#m?key=bills", "compat", "m", Some(("127.0.0.1", 8080))),
            ("ollama:llama3:8b", "ollama", "llama3:8b", Some(("127.0.0.1", 11434))),
            ("scripted:/home/me/script.json", "scripted", "scripted", None),
            ("what is this", "unknown", "unknown", None),
        ] {
            let found = ModelName::of(reference);
            assert_eq!((found.provider.as_str(), found.name.as_str()), (provider, name), "{reference}");
            let found = found.server.as_ref().map(|(address, port)| (address.as_str(), *port));
            assert_eq!(found, server, "{reference}");
        }
    }
}
