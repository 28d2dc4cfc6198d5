//! The wait that a server asks for, in its headers or in the body of its refusal.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use ureq::http::HeaderMap;

/// Numbers above this are milliseconds since 1970.
const MIN_EPOCH_MS: f64 = 1e11;
/// Numbers above this are seconds since 1970.
const MIN_EPOCH_S: f64 = 1e9;

/// The words before the wait in the message of a refusal.
const WORDS: [&str; 5] = ["try again in ", "retry in ", "retry after ", "try again after ", "reset after "];

/// Returns the wait that a refusal asks for: in `Retry-After` or one of its kin, in the details of the body, in its
/// message, or else until the server has something left.
pub(super) fn asked_wait(headers: &HeaderMap, body: &str, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let in_ms = || {
        let ms = header("retry-after-ms")?.trim().parse::<f64>().ok()?;
        Duration::try_from_secs_f64(ms / 1000.0).ok()
    };
    in_ms()
        .or_else(|| moment(header("retry-after")?, now))
        .or_else(|| asked_in_body(body))
        .or_else(|| until_replenished(headers, now))
}

/// Returns the wait that the body of a refusal asks for, or an error in the middle of an answer.
pub(crate) fn asked_in_body(body: &str) -> Option<Duration> {
    in_details(body).or_else(|| in_words(body))
}

/// Returns the time until a server has something left, if its headers say that nothing is left.
///
/// Vendors name the headers differently, but in each pair `remaining` stands where `reset` stands in the other name.
pub(super) fn until_replenished(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let resets = headers.iter().filter_map(|(name, value)| {
        let name = name.as_str();
        if !name.contains("ratelimit") || !name.contains("remaining") {
            return None;
        }
        let left = value.to_str().ok()?.trim().parse::<f64>().ok()?;
        let reset = headers.get(name.replace("remaining", "reset"))?.to_str().ok()?;
        if left > 0.0 { None } else { moment(reset, now) }
    });
    resets.chain(in_draft(headers)).max()
}

/// Returns the time in the header of the draft of the IETF: `"default";r=0;t=30`.
fn in_draft(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get("ratelimit")?.to_str().ok()?;
    let field = |name: &str| {
        let found = value.split([';', ',']).find_map(|part| part.trim().strip_prefix(name));
        found?.trim().parse::<f64>().ok()
    };
    let (left, seconds) = (field("r=").or(field("remaining="))?, field("t=").or(field("reset="))?);
    if left > 0.0 { None } else { Duration::try_from_secs_f64(seconds).ok() }
}

/// Returns the time until a moment in any notation of a server: seconds, a moment since 1970, `1m30s`, a date of HTTP
/// or of RFC 3339. It is zero for a moment in the past.
fn moment(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let seconds = match number {
            n if n >= MIN_EPOCH_MS => (n / 1000.0 - since).max(0.0),
            n if n >= MIN_EPOCH_S => (n - since).max(0.0),
            n => n,
        };
        return Duration::try_from_secs_f64(seconds).ok();
    }
    if let Some(wait) = span(text) {
        return Some(wait);
    }
    let at = match text.parse::<jiff::Timestamp>() {
        Ok(at) => SystemTime::from(at),
        Err(_) => httpdate::parse_http_date(text).ok()?,
    };
    Some(at.duration_since(now).unwrap_or_default())
}

/// Returns the duration that a text like `1m30s`, `6h0m12.5s` or `120ms` says.
fn span(text: &str) -> Option<Duration> {
    let (mut rest, mut seconds) = (text, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let unit_end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        let factor = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * factor;
        rest = next;
    }
    if text.is_empty() { None } else { Duration::try_from_secs_f64(seconds).ok() }
}

/// Returns the wait in the details of a refusal of Gemini: `"retryDelay": "34s"`.
fn in_details(body: &str) -> Option<Duration> {
    let parsed: Value = serde_json::from_str(body).ok()?;
    // Some servers send the refusal in a list.
    let parsed = parsed.get(0).unwrap_or(&parsed);
    let details = parsed.get("error").unwrap_or(parsed).get("details")?.as_array()?;
    let own = |detail: &Value| span(detail.get("retryDelay")?.as_str()?);
    let of_quota = |detail: &Value| span(detail.get("metadata")?.get("quotaResetDelay")?.as_str()?);
    details.iter().find_map(own).or_else(|| details.iter().find_map(of_quota))
}

/// Returns the wait in the message of a refusal: `Please try again in 6m0s.`
fn in_words(body: &str) -> Option<Duration> {
    let lower = body.to_ascii_lowercase();
    let rest = WORDS.iter().find_map(|words| lower.split_once(words).map(|(_, rest)| rest))?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(rest.len());
    let (first, after) = rest.split_at(end);
    let first = first.trim_end_matches('.');
    let second = after.trim_start();
    match first.parse::<f64>() {
        Ok(number) if second.starts_with("second") || second.starts_with("sec") => {
            Duration::try_from_secs_f64(number).ok()
        }
        Ok(number) if second.starts_with("minute") => Duration::try_from_secs_f64(number * 60.0).ok(),
        Ok(number) if second.starts_with("ms") || second.starts_with("milli") => {
            Duration::try_from_secs_f64(number / 1000.0).ok()
        }
        Ok(_) => None,
        Err(_) => span(first),
    }
}

#[cfg(test)]
mod tests {
    use ureq::http::{HeaderName, HeaderValue};

    use super::*;

    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(784_111_777)
    }

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        lines.iter().map(pair).collect()
    }

    fn seconds(wait: Option<Duration>) -> Option<f64> {
        wait.map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn retry_after_is_read_in_every_notation() {
        for (value, expected) in [
            ("7", Some(7.0)),
            (" 0.5 ", Some(0.5)),
            ("1m30s", Some(90.0)),
            ("2h3m0.5s", Some(7380.5)),
            ("120ms", Some(0.12)),
            ("784111807", Some(784_111_807.0)),
            ("1784111777", Some(1_000_000_000.0)),
            ("784111807000", Some(30.0)),
            ("1994-11-06T08:50:07Z", Some(30.0)),
            ("-1", None),
            ("nan", None),
            ("1e300", None),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0.0)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30.0)),
            ("Tue, 08 Nov 1994 08:49:37 GMT", Some(172_800.0)),
            ("Sat, 06 Nov 1993 08:49:37 GMT", Some(0.0)),
            ("Sunday, 06-Nov-94 08:50:07 GMT", Some(30.0)),
            ("Sun, 06 Nov 1993 08:49:37 GMT", None),
            ("Thu, 29 Feb 1996 00:00:00 GMT", Some(41_440_223.0)),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 99999999999999999999 08:49:37 GMT", None),
            ("Sun, 06 Nov 18446744073709551615 08:49:37 GMT", None),
            ("Sun, 99 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("soon", None),
            ("1x", None),
            ("", None),
        ] {
            let found = asked_wait(&headers(&[("retry-after", value)]), "", now());
            assert_eq!(seconds(found), expected, "{value}");
        }
    }

    /// Servers ask in these places (dcdpr/jp#1061, router-for-me/CLIProxyAPI#449, AtomicBot-ai/atomic-agent#106,
    /// NikkeTryHard/zerogravity#19, builderz-labs/marketing-dashboard#11).
    #[test]
    fn waits_of_all_vendors_are_found() {
        for (lines, body, expected) in [
            (vec![("retry-after-ms", "1500"), ("retry-after", "9")], "", Some(1.5)),
            (vec![], r#"{"error":{"details":[{"@type":"x"},{"retryDelay":"34.5s"}]}}"#, Some(34.5)),
            (vec![], r#"[{"error":{"details":[{"retryDelay":"3s"}]}}]"#, Some(3.0)),
            (vec![], r#"{"error":{"details":[{"retryDelay":"soon"}]}}"#, None),
            (vec![], r#"{"error":{"details":[{"retryDelay":"-1s"}]}}"#, None),
            (vec![], r#"{"error":{"message":"Rate limit reached. Please try again in 6m0s."}}"#, Some(360.0)),
            (vec![], r#"{"error":{"message":"Please try again in 1.2s. Visit"}}"#, Some(1.2)),
            (vec![], r#"{"error":{"details":[{"retryDelay":"45.837906927s"}]}}"#, Some(45.837_906_927)),
            (
                vec![],
                r#"{"error":{"details":[{"@type":"ErrorInfo","metadata":{"quotaResetDelay":"373.5ms"}}]}}"#,
                Some(0.3735),
            ),
            (vec![], r#"{"error":{"message":"Your quota will reset after 2h7m23s."}}"#, Some(7643.0)),
            (vec![], r#"{"error":{"message":"rate limit exceeded — retry after 2s"}}"#, Some(2.0)),
            (vec![], "Please retry after 12 seconds.", Some(12.0)),
            (vec![], "please try again in 20ms", Some(0.02)),
            (vec![], "try again in a while", None),
            (
                vec![("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1m30s")],
                "",
                Some(90.0),
            ),
            (
                vec![
                    ("x-ratelimit-remaining-requests", "4"),
                    ("x-ratelimit-reset-requests", "1m30s"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "6s"),
                ],
                "",
                Some(6.0),
            ),
            (
                vec![
                    ("anthropic-ratelimit-input-tokens-remaining", "0"),
                    ("anthropic-ratelimit-input-tokens-reset", "1994-11-06T08:49:49Z"),
                ],
                "",
                Some(12.0),
            ),
            (vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "784111837000")], "", Some(60.0)),
            (vec![("ratelimit-remaining", "0"), ("ratelimit-reset", "30")], "", Some(30.0)),
            (vec![("ratelimit", "\"default\";r=0;t=30")], "", Some(30.0)),
            (vec![("ratelimit", "limit=10, remaining=0, reset=8")], "", Some(8.0)),
            (vec![("ratelimit", "\"default\";r=5;t=30")], "", None),
            (
                vec![("x-ratelimit-remaining-requests", "-1"), ("x-ratelimit-reset-requests", "2")],
                "",
                Some(2.0),
            ),
            (vec![("x-ratelimit-remaining-requests", "many")], "no", None),
        ] {
            assert_eq!(seconds(asked_wait(&headers(&lines), body, now())), expected, "{lines:?} {body}");
        }
    }
}
