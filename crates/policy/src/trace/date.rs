//! Dates and times in their usual orders.

use super::text::{WordRanges, is_separator, is_word};

/// A date or a time in a text.
#[derive(Debug, PartialEq)]
pub(super) struct Moment {
    /// The first byte.
    pub(super) start: usize,
    /// The byte after the last.
    pub(super) end: usize,
    /// All dates and times that the spelling can mean: `2026-10-07`, `--10-07` without a year, `T14:30`.
    pub(super) values: Vec<String>,
}

impl Moment {
    /// Returns whether this is a date, not a time.
    pub(super) fn is_date(&self) -> bool {
        self.values.first().is_some_and(|value| !value.starts_with('T'))
    }
}

/// The names of months, and their beginnings that are used alone, in the languages of most documents.
const MONTHS: &[&[&str]] = &[
    &["january", "jan", "januar", "jänner", "janvier", "enero", "gennaio", "januari", "janeiro"],
    &["february", "feb", "februar", "février", "fevrier", "febrero", "febbraio", "februari", "fevereiro"],
    &["march", "mar", "märz", "maerz", "mars", "marzo", "maart", "março"],
    &["april", "apr", "avril", "abril", "aprile"],
    &["may", "mai", "mayo", "maggio", "mei", "maio"],
    &["june", "jun", "juni", "juin", "junio", "giugno", "junho"],
    &["july", "jul", "juli", "juillet", "julio", "luglio", "julho"],
    &["august", "aug", "août", "aout", "agosto", "augustus"],
    &["september", "sep", "sept", "septembre", "septiembre", "settembre", "setembro"],
    &["october", "oct", "oktober", "okt", "octobre", "octubre", "ottobre", "outubro"],
    &["november", "nov", "novembre", "noviembre", "novembro"],
    &["december", "dec", "dezember", "dez", "décembre", "decembre", "diciembre", "dicembre", "dezembro"],
];

/// The words that may stand between a day, a month and a year.
const JOINTS: &[&str] = &["of", "de", "del", "the"];

fn month(word: &str) -> Option<u32> {
    let at = MONTHS.iter().position(|names| names.contains(&word))?;
    u32::try_from(at + 1).ok()
}

/// A word or a number, and the text between it and the next one.
struct Token<'a> {
    start: usize,
    end: usize,
    word: &'a str,
    gap: &'a str,
}

/// Calls `take` with every date and time in a normalised text.
pub(super) fn scan(text: &str, mut take: impl FnMut(Moment)) {
    // Most texts have few digits, and every date and time has one.
    let mut at = 0;
    while let Some(digit) = text.as_bytes()[at..].iter().position(u8::is_ascii_digit) {
        let digit = at + digit;
        // A name of a month and a short word may stand before the first digit.
        let from = text.floor_char_boundary(digit.saturating_sub(16).max(at));
        let tokens = tokens(text, from, digit);
        let here = tokens.iter().position(|token| token.end > digit).unwrap_or(tokens.len());
        let before = here.saturating_sub(2);
        let found = (before..=here)
            .find_map(|i| tokens.get(i..).and_then(|rest| moment(rest).filter(|found| found.end > digit)));
        at = match found {
            Some(found) => {
                let end = found.end.max(digit + 1);
                take(found);
                end
            }
            None => tokens.get(here).map_or(digit + 1, |token| token.end.max(digit + 1)),
        };
    }
}

/// Returns the words around the digit at `digit`, from `from` on.
fn tokens(text: &str, from: usize, digit: usize) -> Vec<Token<'_>> {
    let window = &text[from..text.floor_char_boundary((digit + 48).min(text.len()))];
    let mut tokens: Vec<Token<'_>> = Vec::new();
    for range in WordRanges::of(window) {
        // Digits and letters are apart here: `7th`, `24t14`, `1pm`.
        let mut start = range.start;
        while start < range.end {
            let word = &window[start..range.end];
            let is_digits = word.starts_with(|c: char| c.is_ascii_digit());
            let len = word.find(|c: char| c.is_ascii_digit() != is_digits).unwrap_or(word.len());
            if let Some(last) = tokens.last_mut() {
                last.gap = &window[last.end - from..start];
            }
            tokens.push(Token { start: from + start, end: from + start + len, word: &word[..len], gap: "" });
            start += len;
        }
    }
    // A word that the window cuts at its beginning is no word.
    let is_glued = from > 0 && text[..from].chars().next_back().is_some_and(is_word);
    if is_glued && tokens.first().is_some_and(|first| first.start == from) {
        tokens.remove(0);
    }
    tokens
}

fn number(token: Option<&Token<'_>>, least: usize, most: usize) -> Option<u32> {
    let word = token?.word;
    let fits = (least..=most).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| word.parse().ok())?
}

/// Returns the date or time that begins with the first token.
fn moment(tokens: &[Token<'_>]) -> Option<Moment> {
    let first = tokens.first()?;
    let date =
        iso(tokens).or_else(|| numeric(tokens)).or_else(|| with_month(tokens)).or_else(|| clock(tokens));
    date.map(|(end, values)| Moment { start: first.start, end, values })
}

type DateParse = Option<(usize, Vec<String>)>;

fn day(year: u32, month: u32, day: u32) -> Option<String> {
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && (1000..=2999).contains(&year);
    fits.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

fn century(token: &Token<'_>, year: u32) -> u32 {
    if token.word.len() == 2 { 2000 + year } else { year }
}

/// 2026-10-07, 2026/10/7, 20261007 is none.
fn iso(tokens: &[Token<'_>]) -> DateParse {
    let (year, month) = (number(tokens.first(), 4, 4)?, number(tokens.get(1), 1, 2)?);
    let (sign, last) = (tokens[0].gap, tokens.get(2)?);
    let same = matches!(sign, "-" | "/" | ".") && tokens[1].gap == sign;
    let value = day(year, month, number(Some(last), 1, 2)?)?;
    same.then(|| (last.end, vec![value]))
}

/// 7.10.2026, 7/10/26, 10/7/2026: both orders, where both are dates.
fn numeric(tokens: &[Token<'_>]) -> DateParse {
    let (one, two) = (number(tokens.first(), 1, 2)?, number(tokens.get(1), 1, 2)?);
    let last = tokens.get(2)?;
    let year = number(Some(last), 2, 4).filter(|_| last.word.len() != 3)?;
    let sign = tokens[0].gap;
    let same = matches!(sign.trim_end(), "-" | "/" | ".") && tokens[1].gap == sign;
    let year = century(last, year);
    let values: Vec<String> = [day(year, two, one), day(year, one, two)].into_iter().flatten().collect();
    (same && !values.is_empty()).then_some((last.end, values))
}

/// Returns whether two tokens can be parts of one date.
fn is_near(gap: &str) -> bool {
    gap.len() <= 3 && gap.bytes().all(|byte| is_separator(byte) || matches!(byte, b'.' | b',' | b'-' | b'/'))
}

/// 7 October 2026, 7th of October, 7. Oktober 2026, October 7th, 2026, Oct 7.
fn with_month(tokens: &[Token<'_>]) -> DateParse {
    let mut at = 0;
    let mut end = tokens.first()?.end;
    let mut next = |skipped: &[&str]| -> Option<usize> {
        loop {
            let here = at;
            let token = tokens.get(here)?;
            if here > 0 && !is_near(tokens[here - 1].gap) {
                return None;
            }
            at += 1;
            if !skipped.contains(&token.word) {
                return Some(here);
            }
        }
    };
    let ordinals = ["st", "nd", "rd", "th", "er"];
    let skipped: Vec<&str> = ordinals.iter().chain(JOINTS).copied().collect();
    let (one, two) = (next(&[])?, next(&skipped)?);
    let (day_at, month_at) = if month(tokens[one].word).is_some() { (two, one) } else { (one, two) };
    let (days, months) = (number(tokens.get(day_at), 1, 2)?, month(tokens.get(month_at)?.word)?);
    if days == 0 || days > 31 {
        return None;
    }
    end = end.max(tokens[two].end);
    let year = next(&skipped).and_then(|at| {
        let year = number(tokens.get(at), 4, 4).filter(|year| (1000..=2999).contains(year))?;
        Some((year, tokens[at].end))
    });
    match year {
        Some((year, end)) => Some((end, vec![day(year, months, days)?])),
        None => Some((end, vec![format!("--{months:02}-{days:02}")])),
    }
}

/// 14:30, 14:30:00, 2:30 pm, 1 PM, 14h30, 9.30 Uhr.
fn clock(tokens: &[Token<'_>]) -> DateParse {
    let hour = number(tokens.first(), 1, 2).filter(|hour| *hour < 24)?;
    let first = &tokens[0];
    let half = |at: usize| -> Option<(bool, usize)> {
        let token = tokens.get(at)?;
        let gap = tokens.get(at.checked_sub(1)?)?.gap;
        let afternoon = match token.word {
            "am" => false,
            "pm" => true,
            _ => return None,
        };
        (gap.is_empty() || gap == " ").then_some((afternoon, token.end))
    };
    let of = |hour: u32, minute: u32, half: Option<bool>| {
        let hour = match half {
            Some(true) if hour < 12 => hour + 12,
            Some(false) if hour == 12 => 0,
            _ => hour,
        };
        vec![format!("T{hour:02}:{minute:02}")]
    };
    let two_digits = |at: usize| number(tokens.get(at), 2, 2).filter(|minute| *minute < 60);
    if first.gap == ":" {
        let minute = two_digits(1)?;
        let has_seconds = tokens[1].gap == ":" && two_digits(2).is_some();
        let last = if has_seconds { 2 } else { 1 };
        return match half(last + 1) {
            Some((afternoon, end)) => Some((end, of(hour, minute, Some(afternoon)))),
            None => Some((tokens[last].end, of(hour, minute, None))),
        };
    }
    if let Some((afternoon, end)) = half(1) {
        return (1..=12).contains(&hour).then(|| (end, of(hour, 0, Some(afternoon))));
    }
    let is_word = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.word == word);
    if first.gap.is_empty() && is_word(1, "h") {
        let minute = two_digits(2).filter(|_| tokens[1].gap.is_empty());
        let end = minute.map_or(tokens[1].end, |_| tokens[2].end);
        return Some((end, of(hour, minute.unwrap_or(0), None)));
    }
    if first.gap == "." && is_word(2, "uhr") {
        return Some((tokens[2].end, of(hour, two_digits(1)?, None)));
    }
    (first.gap == " " && is_word(1, "uhr")).then(|| (tokens[1].end, of(hour, 0, None)))
}

/// Returns the dates and times of a text that consists of nothing else, or nothing.
pub(super) fn only_moments(text: &str) -> Vec<Moment> {
    let mut found = Vec::new();
    scan(text, |moment| found.push(moment));
    let mut end = 0;
    for moment in &found {
        if !is_filler(&text[end..moment.start]) {
            return Vec::new();
        }
        end = moment.end;
    }
    if is_filler(&text[end..]) { found } else { Vec::new() }
}

/// Returns whether a text between a date and a time says nothing: blanks, the letters of ISO 8601, parts of a second.
fn is_filler(text: &str) -> bool {
    text.len() <= 8
        && WordRanges::of(text).all(|range| {
            let word = &text[range];
            matches!(word, "t" | "z" | "at" | "um")
                || word.trim_end_matches('z').bytes().all(|byte| byte == b'0')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        scan(&super::super::text::normalise(text), |moment| found.extend(moment.values));
        found
    }

    #[test]
    fn dates_are_read_in_every_usual_order() {
        for text in [
            "due 2026-10-07.",
            "2026/10/7",
            "7 October 2026",
            "the 7th of October, 2026",
            "October 7th, 2026",
            "Oct 7 2026",
            "7. Oktober 2026",
            "le 7 octobre 2026",
            "7 de octubre de 2026",
            "07/10/2026",
            "7.10.2026",
            "10/7/26",
            "7. 10. 2026",
        ] {
            assert!(all(text).contains(&"2026-10-07".to_owned()), "{text}: {:?}", all(text));
        }
        assert_eq!(all("on May 26th?"), ["--05-26"]);
        assert_eq!(all("June\n10th 2024 at 1 PM."), ["2024-06-10", "T13:00"]);
        assert_eq!(all("2024-05-24T14:00:00Z"), ["2024-05-24", "T14:00"]);
        assert_eq!(all("25.12.2026"), ["2026-12-25"]);
    }

    #[test]
    fn times_are_read_in_every_usual_form() {
        for text in ["14:30", "14:30:05", "2:30 pm", "2:30PM", "14h30", "14.30 Uhr"] {
            assert_eq!(all(text), ["T14:30"], "{text}");
        }
        assert_eq!(all("at 12 am, 12 pm and 9 Uhr"), ["T00:00", "T12:00", "T09:00"]);
    }

    #[test]
    fn other_numbers_are_no_dates() {
        for text in ["1.2.3", "version 2026", "99/99/2026", "mars 2026 rover 77", "10 apples", "0 may 12"] {
            assert!(!all(text).iter().any(|value| value.len() == 10), "{text}: {:?}", all(text));
        }
    }

    #[test]
    fn text_with_other_words_is_not_only_a_date() {
        for (text, count) in [
            ("2024-05-19 12:00", 2),
            ("2024-05-19t12:00:00.000z", 2),
            ("12:00", 1),
            ("on 2024-05-19", 0),
            ("x", 0),
        ] {
            assert_eq!(only_moments(text).len(), count, "{text}");
        }
    }
}
