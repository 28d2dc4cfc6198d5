//! The words with which a server says that something failed.

use serde_json::Value;

/// The maximum number of characters of a server's error message that are kept.
const MAX_MESSAGE_LEN: usize = 500;

/// The fields in which servers put their words.
const MESSAGE_FIELDS: [&str; 9] = [
    "message",
    "detail",
    "details",
    "msg",
    "error_msg",
    "errorMessage",
    "error_description",
    "title",
    "reason",
];

/// Returns the server's message from the usual forms of an error body, on one line.
pub(crate) fn complaint(body: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let words = match &parsed {
        Some(json) => of_value(json).unwrap_or_else(|| body.to_owned()),
        None => page_text(body).unwrap_or_else(|| body.to_owned()),
    };
    let line = one_line(&words, MAX_MESSAGE_LEN);
    if line.is_empty() { "no reason given".to_owned() } else { line }
}

/// Returns the message of an error as JSON, or `None` if it has none in any of the usual fields.
pub(crate) fn of_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.trim().is_empty()).then(|| text.clone()),
        Value::Array(items) => items.iter().find_map(of_value),
        Value::Object(_) => {
            let error = ["error", "errors", "base_resp"].iter().find_map(|name| value.get(name));
            if let Some(words) = error.and_then(of_value) {
                return Some(words);
            }
            let named = |name: &&str| value.get(*name).and_then(of_value);
            let message = MESSAGE_FIELDS.iter().find_map(named).or_else(|| named(&"status_msg"))?;
            // A gateway says in `metadata` or `innererror` what the server behind it said.
            let inner =
                value.get("metadata").and_then(|metadata| metadata.get("raw")).and_then(Value::as_str);
            let inner = inner.map(complaint_within).filter(|inner| !message.contains(inner.as_str()));
            let code = value.get("code").and_then(Value::as_str).filter(|code| !code.is_empty());
            let code = code.filter(|code| !message.contains(code));
            let mut words = message;
            for more in [code.map(str::to_owned), inner].into_iter().flatten() {
                words = format!("{words} ({more})");
            }
            Some(words)
        }
        _ => None,
    }
}

fn complaint_within(raw: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(raw).ok();
    one_line(&parsed.as_ref().and_then(of_value).unwrap_or_else(|| raw.to_owned()), MAX_MESSAGE_LEN / 2)
}

/// Returns the words of a page of HTML: its title, or else its text. Returns `None` for anything else.
pub(crate) fn page_text(body: &str) -> Option<String> {
    let body = body.trim_start();
    if !body.starts_with('<') {
        return None;
    }
    let lower = body.to_ascii_lowercase();
    let within = |open: &str, close: &str| {
        let begin = lower.find(open)?;
        let begin = begin + lower.get(begin..)?.find('>')? + 1;
        let end = begin + lower.get(begin..)?.find(close)?;
        let words = one_line(&without_tags(body.get(begin..end)?), MAX_MESSAGE_LEN);
        (!words.is_empty()).then_some(words)
    };
    within("<title", "</title").or_else(|| within("<body", "</body")).or_else(|| {
        let words = one_line(&without_tags(body), MAX_MESSAGE_LEN);
        (!words.is_empty()).then_some(words)
    })
}

fn without_tags(html: &str) -> String {
    let mut text = String::new();
    let mut is_tag = false;
    for c in html.chars() {
        match c {
            '<' => is_tag = true,
            '>' if is_tag => {
                is_tag = false;
                text.push(' ');
            }
            _ if is_tag => {}
            c => text.push(c),
        }
    }
    text
}

/// Returns a text on one line, without repeated blanks and control characters, and not too long.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.join(" ").chars().take(max_chars).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_found_in_each_form_of_an_error() {
        for (body, expected) in [
            (r#"{"error": {"message": "no", "code": "x"}}"#, "no (x)"),
            (r#"{"error": "no"}"#, "no"),
            (r#"{"error": {"message": "no", "code": null}}"#, "no"),
            (r#"{"detail": "no"}"#, "no"),
            (r#"{"detail": [{"loc": ["body"], "msg": "field required"}]}"#, "field required"),
            (r#"[{"error": {"code": 400, "message": "no", "status": "X"}}]"#, "no"),
            (r#"{"errors": [{"message": "no"}]}"#, "no"),
            (r#"{"object": "error", "message": "no", "code": 400}"#, "no"),
            (r#"{"base_resp": {"status_code": 1004, "status_msg": "no"}}"#, "no"),
            (
                r#"{"error": {"message": "Provider returned error", "metadata": {"raw": "{\"error\":\"busy\"}"}}}"#,
                "Provider returned error (busy)",
            ),
            (
                "<html><head><title>502 Bad\nGateway</title></head><body>nginx</body></html>",
                "502 Bad Gateway",
            ),
            ("<!DOCTYPE html><body><h1>Sorry</h1><p>down</p></body>", "Sorry down"),
            ("<b>oops", "oops"),
            ("upstream connect error", "upstream connect error"),
            ("", "no reason given"),
            ("{}", "{}"),
        ] {
            assert_eq!(complaint(body), expected, "{body}");
        }
    }
}
