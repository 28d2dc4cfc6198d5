//! A request in the form in which it goes to a server, without a server and without a key.

use super::address;
use super::dialect::Dialect;
use crate::formats::Format;
use crate::reference::ModelRef;
use crate::request::Request;
use crate::vendor::Vendor;

/// A request as it goes to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireRequest {
    /// The address.
    pub url: String,
    /// The headers of the protocol. The value of the key is left out.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: String,
}

impl WireRequest {
    /// Returns the form of a request to a pinned reference, or `None` if its model is not behind a server. `dialect`
    /// is the one that the server has answered. Without it, the request has the form in which it is first sent.
    #[must_use]
    pub fn new(reference: &ModelRef, request: &Request, dialect: Option<Dialect>) -> Option<WireRequest> {
        let (format, base_url, model) = match reference {
            ModelRef::Vendor { vendor, base_url, model, .. } => (
                Format::for_vendor(*vendor),
                base_url.clone().unwrap_or_else(|| vendor.url().to_owned()),
                model,
            ),
            ModelRef::Ollama { url, model } => {
                (Format::Ollama, url.clone().unwrap_or_else(|| address::OLLAMA.to_owned()), model)
            }
            ModelRef::Compat { base_url, model, .. } => (Format::Chat, base_url.clone(), model),
            ModelRef::Local { .. } | ModelRef::Scripted { .. } | ModelRef::Replay { .. } => return None,
        };
        let is_openai = matches!(reference, ModelRef::Vendor { vendor: Vendor::OpenAi, .. });
        let dialect = dialect.unwrap_or_else(|| format.dialect(is_openai));
        let plain = [("content-type", "application/json")];
        let key = [(format.key_header(), "(the key, if there is one, is not shown)")];
        let headers = plain.iter().chain(format.headers()).chain(&key);
        Some(WireRequest {
            url: format.url(&base_url, model, dialect),
            headers: headers.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: format.body(request, model, dialect).to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Message;

    #[test]
    fn wire_request_has_the_form_of_its_server() {
        let request = Request { messages: vec![Message::user("hi")], ..Request::default() };
        for (reference, url, key) in [
            ("openai:m", "https://api.openai.com/v1/chat/completions", "authorization"),
            ("openai-responses:http://h/v1#m", "http://h/v1/responses", "authorization"),
            ("anthropic:http://h#m", "http://h/v1/messages", "x-api-key"),
            ("gemini:http://h#m", "http://h/v1beta/models/m:streamGenerateContent?alt=sse", "x-goog-api-key"),
            ("ollama:http://h#m", "http://h/api/chat", "authorization"),
            ("compat:http://h/v1#m", "http://h/v1/chat/completions", "authorization"),
        ] {
            let sent = WireRequest::new(&reference.parse().unwrap(), &request, None).unwrap();
            assert_eq!(sent.url, url);
            assert!(sent.body.contains("\"hi\""), "{}", sent.body);
            assert!(sent.headers.iter().any(|(name, _)| name == key), "{:?}", sent.headers);
        }
        // The dialect that a server has taught stays.
        let learnt = Dialect::default().after_refusal("unknown field stream_options").unwrap();
        let compat: ModelRef = "compat:http://h/v1#m".parse().unwrap();
        let [first, later] =
            [None, Some(learnt)].map(|dialect| WireRequest::new(&compat, &request, dialect).unwrap().body);
        assert!(first.contains("stream_options") && !later.contains("stream_options"), "{first} {later}");
        assert_eq!(WireRequest::new(&"scripted:/s.json".parse().unwrap(), &request, None), None);
    }
}
