//! The headers that a model may choose, and the headers of an answer that are passed on.

use kernel::proposal::{Finding, Value};
use passable::visible_line;
use resource::web::Web;

/// The maximum number of headers.
const MAX_ITEMS: usize = 20;

/// The maximum length of a header's value.
const MAX_LEN: usize = 4096;

/// The headers that a caller may choose, which only describe the wanted answer and its form. Any other header may
/// tell some server who asks, from where, with which key, or which request is really meant. No list of such headers
/// is complete, so this list names the harmless ones. Names that end in [`ALLOWED_HEADER_SUFFIX`] are allowed too.
const ALLOWED_HEADERS: [&str; 18] = [
    "accept",
    "accept-charset",
    "accept-datetime",
    "accept-language",
    "cache-control",
    "content-disposition",
    "content-language",
    "content-type",
    "depth",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "pragma",
    "prefer",
    "range",
    "x-requested-with",
];

/// The end of a header name that selects a version of a server's interface: `x-github-api-version`.
const ALLOWED_HEADER_SUFFIX: &str = "-version";

/// The headers of an answer that are passed on.
pub(super) const RETURNED_HEADERS: [&str; 7] =
    ["content-type", "etag", "last-modified", "link", "location", "retry-after", "content-language"];

/// Parses the argument that contains headers.
pub(super) fn parse(web: &Web, value: Option<&Value>) -> Result<Vec<(String, String)>, Box<Finding>> {
    let fields = match value {
        None | Some(Value::Undefined) => return Ok(vec![]),
        Some(value) => value.as_record().map(|record| record.fields()).unwrap_or_default(),
    };
    let wrong = |what: String, shown: &str| {
        Box::new(
            Finding::new("http/header", what).at("headers").counter_example(visible_line(shown)).allowed(
                format!("{}, and what ends in `{ALLOWED_HEADER_SUFFIX}`", ALLOWED_HEADERS.join(", ")),
            ),
        )
    };
    if fields.len() > MAX_ITEMS {
        return Err(wrong(
            format!("{} headers are too many; the limit is {MAX_ITEMS}", fields.len()),
            "headers",
        ));
    }
    let mut headers = Vec::new();
    for (name, value) in fields {
        let (Some(name), Some(value)) = (name.as_str(), value.as_str()) else {
            return Err(wrong("a header is text".to_owned(), "headers"));
        };
        let lower = name.to_ascii_lowercase();
        let shown: String = name.chars().take(60).collect();
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if name.is_empty() || name.len() > 100 || !name.bytes().all(is_token) {
            return Err(wrong("this is no name of a header".to_owned(), &shown));
        }
        // Many servers treat `Some_Header` and `some-header` as the same header.
        let plain = lower.replace('_', "-");
        let own = [web.secret.as_ref().map(|used| used.header.as_str()), web.idempotency.as_deref()];
        let is_harmless = ALLOWED_HEADERS.contains(&lower.as_str())
            || (lower.ends_with(ALLOWED_HEADER_SUFFIX) && !lower.starts_with("sec-") && !lower.contains('_'));
        if !is_harmless || own.iter().flatten().any(|own| own.eq_ignore_ascii_case(&plain)) {
            return Err(wrong(
                format!("the header `{}` is not for the caller to set", visible_line(&shown)),
                &shown,
            ));
        }
        let is_plain =
            value.len() <= MAX_LEN && value.bytes().all(|b| (b' '..=b'~').contains(&b) || b == b'\t');
        if !is_plain {
            return Err(wrong(format!("the value of `{lower}` is not one line of plain characters"), &shown));
        }
        headers.push((lower, value.to_owned()));
    }
    Ok(headers)
}
