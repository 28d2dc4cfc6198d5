//! A part of a long text, with its position and the call that reads the next part.

use serde_json::{Value as Json, json};

use crate::refusal::Refusal;

/// The maximum number of bytes of text in one answer.
pub const MAX_PART_BYTES: usize = 64 << 10;

/// Returns the part of a text from the byte `offset` on, in whole lines if possible. `more` means that the source has
/// more text than `text` contains.
pub(crate) fn bytes(text: &str, offset: u64, more: bool) -> Result<Json, Refusal> {
    let total = text.len();
    let from = usize::try_from(offset).unwrap_or(usize::MAX);
    if from > total {
        let message = format!("the text has {total} bytes, and no byte {offset}");
        return Err(Refusal::new("range", "offset", message, format!("at most {total}")));
    }
    let from = (from..=total).find(|at| text.is_char_boundary(*at)).unwrap_or(total);
    let mut to = total.min(from.saturating_add(MAX_PART_BYTES));
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    if to < total {
        to = text[from..to].rfind('\n').map_or(to, |at| from + at + 1);
    }
    let truncated = to < total || more;
    let next = match (to < total, more) {
        (true, _) => json!(format!("to read on: the same call, offset: {to}")),
        (false, true) => json!("there is more than is ever shown at once: name a path"),
        (false, false) => Json::Null,
    };
    Ok(json!({
        "text": &text[from..to], "unit": "bytes", "from": from, "to": to, "total": total,
        "truncated": truncated, "next": next,
    }))
}

/// Returns at most `most` characters of a foreign text.
pub(crate) fn shorten(bytes: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}

/// Returns the time of a commit in the format of RFC 3339.
pub(crate) fn format_time(time: git2::Time) -> String {
    let written = || -> Option<String> {
        let offset = jiff::tz::Offset::from_seconds(time.offset_minutes().checked_mul(60)?).ok()?;
        let at = jiff::Timestamp::from_second(time.seconds()).ok()?;
        Some(at.to_zoned(jiff::tz::TimeZone::fixed(offset)).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    };
    written().unwrap_or_else(|| format!("{} s after 1970", time.seconds()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_reports_its_position_and_the_next_offset() {
        let text = "é\n".repeat(MAX_PART_BYTES / 2);
        let first = bytes(&text, 0, false).unwrap();
        let to = first["to"].as_u64().unwrap();
        assert!(
            first["truncated"] == true
                && to <= MAX_PART_BYTES as u64
                && first["text"].as_str().unwrap().ends_with('\n')
        );
        assert_eq!(first["next"], format!("to read on: the same call, offset: {to}"));
        let rest = bytes(&text, to, false).unwrap();
        assert!(rest["truncated"] == false && rest["next"].is_null() && rest["to"] == text.len());
        assert_eq!(bytes(&text, 1, false).unwrap()["from"], 2);
        assert_eq!(bytes("a", 2, false).unwrap_err().rule, "git/range");
        assert_eq!(bytes("a", 0, true).unwrap()["truncated"], true);
    }

    #[test]
    fn commit_times_keep_their_time_zone() {
        assert_eq!(format_time(git2::Time::new(1_791_279_000, 120)), "2026-10-06T11:30:00+02:00");
        assert_eq!(format_time(git2::Time::new(i64::MAX, 0)), format!("{} s after 1970", i64::MAX));
    }
}
