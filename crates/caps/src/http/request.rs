//! The parsed calls of the web capability.

use kernel::proposal::{Finding, Value};
use passable::{ExactJson, Quoting, quoting, visible_line};
use resource::web::{Origin, PlainPath, Web};

use super::{headers, interface};

/// The maximum length of an address, in bytes.
const MAX_URL_LEN: usize = 8192;

/// A parsed call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) is_get: bool,
    /// The HTTP method.
    pub(super) method: String,
    pub(super) origin: Origin,
    /// The whole path on the server.
    pub(super) path: String,
    /// The part of the address after `?`, encoded.
    pub(super) query: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Body>,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: &'static str,
}

impl Call {
    pub(super) fn parse(web: &Web, most: u64, method: &str, args: &[Value]) -> Result<Call, Box<Finding>> {
        let text = |at: usize| args.get(at).and_then(Value::as_str);
        let (is_get, verb, path, query, body, given) = match (method, args.len()) {
            ("get", 1..=3) => (true, "GET", text(0), args.get(1), None, args.get(2)),
            ("send", 2..=4) => (false, text(0).unwrap_or_default(), text(1), None, args.get(2), args.get(3)),
            _ => return Err(mismatch(method)),
        };
        let path = path.ok_or_else(|| mismatch(method))?;
        if !is_get && !interface::SENDING.contains(&verb) {
            return Err(mismatch(method));
        }
        if !web.methods.contains(verb) {
            let methods: Vec<&str> = web.methods.iter().map(String::as_str).collect();
            return Err(Box::new(
                Finding::new("http/method", quoting!("{} was not granted here", verb))
                    .at("method")
                    .counter_example(verb)
                    .allowed(methods.join(", ")),
            ));
        }
        let Some(base) = web.places.first() else { return Err(mismatch(method)) };
        let path = joined(&base.path, path)?;
        let query = encoded(query)?;
        let headers = headers::parse(web, given)?;
        let body = match body {
            None | Some(Value::Undefined) => None,
            Some(value) => Some(match value.as_str() {
                Some(text) => Body { bytes: text.as_bytes().to_vec(), kind: "text/plain; charset=utf-8" },
                None => Body {
                    bytes: ExactJson(&value.to_json()).to_string().into_bytes(),
                    kind: "application/json",
                },
            }),
        };
        let call =
            Call { is_get, method: verb.to_owned(), origin: base.origin.clone(), path, query, headers, body };
        if call.url().len() > MAX_URL_LEN {
            return Err(Box::new(
                Finding::new(
                    "http/url",
                    Quoting::ours(format!("the address has {} bytes", call.url().len())),
                )
                .at("path")
                .counter_example(format!("{} bytes", call.url().len()))
                .allowed(format!("at most {MAX_URL_LEN} bytes")),
            ));
        }
        let bytes = call.body.as_ref().map_or(0, |body| body.bytes.len() as u64);
        if bytes > most {
            return Err(Box::new(
                Finding::new(
                    "http/size",
                    Quoting::ours(format!("the body has {bytes} bytes; the limit is {most}")),
                )
                .at("body")
                .counter_example(format!("{bytes} bytes"))
                .allowed(format!("at most {most} bytes")),
            ));
        }
        Ok(call)
    }

    /// Returns the full address of the call.
    pub(super) fn url(&self) -> String {
        let mark = if self.query.is_empty() { "" } else { "?" };
        format!("{}{}{mark}{}", self.origin, self.path, self.query)
    }
}

/// Returns a path below the endowed path.
fn joined(base: &str, path: &str) -> Result<String, Box<Finding>> {
    let own = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let plain = PlainPath::parse(&own).map_err(|error| {
        let shown: String = path.chars().take(100).collect();
        Box::new(
            Finding::new("http/path", Quoting::theirs(visible_line(&error.to_string())))
                .at("path")
                .counter_example(visible_line(&shown))
                .allowed("a plain path, like `/items/7`; what follows `?` goes into `query`"),
        )
    })?;
    // An escape means the same in both cases of its letters, and the upper one is canonical.
    let plain = canonical_escapes(plain.as_str());
    Ok(match (base, plain.as_str()) {
        ("/", path) => path.to_owned(),
        (base, "/") => base.to_owned(),
        (base, path) => format!("{base}{path}"),
    })
}

/// Returns a path with the letters of its escapes in upper case.
fn canonical_escapes(path: &str) -> String {
    let mut parts = path.split('%');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (escape, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        plain.push('%');
        plain.push_str(&escape.to_ascii_uppercase());
        plain.push_str(rest);
    }
    plain
}

/// Returns the encoded query. The encoding lets no value end the query early.
fn encoded(value: Option<&Value>) -> Result<String, Box<Finding>> {
    let fields = match value {
        None | Some(Value::Undefined) => return Ok(String::new()),
        Some(value) => value.as_record().map(|record| record.fields()).unwrap_or_default(),
    };
    let mut out = String::new();
    for (name, value) in fields {
        let (Some(name), Some(value)) = (name.as_str(), value.as_str()) else { return Err(mismatch("get")) };
        if !out.is_empty() {
            out.push('&');
        }
        percent(name, &mut out);
        out.push('=');
        percent(value, &mut out);
    }
    Ok(out)
}

fn percent(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte as char);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

fn mismatch(method: &str) -> Box<Finding> {
    Box::new(
        Finding::new("http/arguments", quoting!("these are not the arguments of `{}`", visible_line(method)))
            .at("method")
            .counter_example(visible_line(method))
            .allowed("get(path, query?, headers?), send(method, path, body?, headers?)"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_has_one_spelling() {
        for (base, path, expected) in [
            ("/", "items/7", "/items/7"),
            ("/", "/a/%c3%bc", "/a/%C3%BC"),
            ("/v1", "x%3b%3B", "/v1/x%3B%3B"),
            ("/v1", "/", "/v1"),
        ] {
            assert_eq!(joined(base, path).unwrap(), expected, "{path}");
        }
    }
}
