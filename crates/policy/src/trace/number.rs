//! The usual spellings of numbers: plain, with groups of digits, with a comma or a point, in a currency.

/// The maximum number of digits in a number. Longer runs are no amounts or accounts.
const MAX_DIGITS: usize = 40;

/// The minimum number of digits in a number whose groups are of any size, such as an account.
const MIN_GROUPED_DIGITS: usize = 6;

/// A number in a text.
#[derive(Debug, PartialEq)]
pub(super) struct Number {
    /// The first byte.
    pub(super) start: usize,
    /// The byte after the last.
    pub(super) end: usize,
    /// All values that the spelling can mean, in plain digits.
    pub(super) values: Vec<String>,
}

/// Calls `take` with every number in a text that the run has read, without signs. A spelling can mean several numbers.
pub(super) fn scan(text: &str, take: impl FnMut(Number)) {
    scan_as(text, Meaning::Any, take);
}

/// Calls `take` with every number in a normalised text that the user typed. Each spelling means one number, and a sign
/// belongs to the number.
pub(super) fn scan_typed(text: &str, mut take: impl FnMut(Number)) {
    scan_as(text, Meaning::Typed, |mut number| {
        let sign = sign_before(text, number.start);
        if sign.is_some_and(|sign| super::text::is_whole_token(text, sign, number.end)) {
            number.values.iter_mut().for_each(|value| value.insert(0, '-'));
        } else if !super::text::is_whole_token(text, number.start, number.end) {
            return;
        }
        take(number);
    });
}

/// Returns the place of the minus right before a number, or before its currency.
fn sign_before(text: &str, start: usize) -> Option<usize> {
    let before = text[..start].trim_end_matches(CURRENCIES);
    before.strip_suffix(MINUS).map(str::len)
}

/// The signs of currencies that stand before a number.
const CURRENCIES: &[char] = &['$', '€', '£', '¥'];

/// The signs of a negative number.
const MINUS: &[char] = &['-', '−'];

/// The meaning of a spelling that can be read in several ways.
#[derive(Clone, Copy, PartialEq)]
enum Meaning {
    /// Every number that the spelling can mean.
    Any,
    /// One number: a comma before three digits groups them, and a point begins a fraction. Blanks, points and dashes
    /// join digits only if there are several of them.
    Typed,
}

fn scan_as(text: &str, meaning: Meaning, mut take: impl FnMut(Number)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(start) = bytes.get(at..).and_then(|rest| rest.iter().position(u8::is_ascii_digit)) {
        let start = at + start;
        // Within a word, or after a point or comma of a longer number.
        let is_inside = text[..start].chars().next_back().is_some_and(super::text::is_word)
            || super::text::goes_on_from_digits(bytes, start);
        let groups = groups(bytes, start);
        // The next number begins after the first group, because a blank may also stand between two numbers.
        at = groups.first().map_or(start + 1, |group| group.end);
        if is_inside {
            continue;
        }
        spellings(text, &groups, meaning, &mut take);
    }
}

/// Returns the values that a whole text can mean as a number, with a sign or a currency around it. Returns nothing if
/// the text is no number.
pub(super) fn values(text: &str) -> Vec<String> {
    values_as(text, Meaning::Any)
}

/// Returns the one number that a whole text means, with its sign, as the user would type it.
pub(super) fn typed_value(text: &str) -> Option<String> {
    let value = values_as(text, Meaning::Typed).pop()?;
    let digits = text.find(|c: char| c.is_ascii_digit())?;
    Some(if sign_before(text, digits).is_some() { format!("-{value}") } else { value })
}

fn values_as(text: &str, meaning: Meaning) -> Vec<String> {
    let is_frame = |c: char| !c.is_ascii_digit();
    let inner = text.trim_matches(is_frame);
    let frame = text.len() - inner.len();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let has_words = text.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count() > 1;
    let after = text.trim_start_matches(is_frame).get(inner.len()..).unwrap_or_default();
    if inner.is_empty()
        || (after.starts_with('-') && after.len() > 1)
        || frame > 12
        || letters > 3
        || has_words
        || text.contains(['@', '#', '_'])
    {
        return Vec::new();
    }
    let mut found = Vec::new();
    scan_as(inner, meaning, |number| {
        if (number.start, number.end) == (0, inner.len()) {
            found.extend(number.values);
        }
    });
    found.sort();
    found.dedup();
    found
}

/// One group of digits, and the byte that stands before it.
#[derive(Clone, Copy)]
struct Group {
    before: u8,
    start: usize,
    end: usize,
}

impl Group {
    fn len(self) -> usize {
        self.end - self.start
    }
}

/// Returns the groups of digits from `start` on that single signs separate.
fn groups(bytes: &[u8], start: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut digits = 0;
    let (mut at, mut before) = (start, 0);
    loop {
        let len = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits += len;
        if len == 0 || digits > MAX_DIGITS {
            break;
        }
        groups.push(Group { before, start: at, end: at + len });
        match bytes.get(at + len) {
            Some(&sign) if b" .,'-/".contains(&sign) => (before, at) = (sign, at + len + 1),
            _ => break,
        }
    }
    groups
}

/// Calls `take` with the number that begins with the first of these groups, in each length that it can have.
fn spellings(text: &str, groups: &[Group], meaning: Meaning, take: &mut impl FnMut(Number)) {
    let Some(first) = groups.first() else { return };
    let is_typed = meaning == Meaning::Typed;
    let ends_word = |end: usize| !text[end..].chars().next().is_some_and(super::text::is_word);
    let mut found = |end: usize, values: Vec<String>| {
        if !values.is_empty() && ends_word(end) {
            take(Number { start: first.start, end, values });
        }
    };
    let digits = |groups: &[Group]| -> String { groups.iter().map(|g| &text[g.start..g.end]).collect() };
    let run = |signs: &[u8]| {
        let more = groups[1..].iter().take_while(|group| signs.contains(&group.before)).count();
        &groups[..=more]
    };
    let end = |groups: &[Group]| groups.last().map_or(first.end, |group| group.end);
    // Without blanks: 9,052.40 or 9.052,40 or 9'052.40 or 9052,4.
    let compact = run(b".,'");
    found(end(compact), amounts(text, compact, meaning));
    // With blanks between groups of three, and perhaps a fraction: 9 052,40.
    let spaced = run(b" ");
    let thousands = 1 + spaced[1..].iter().take_while(|group| group.len() == 3).count();
    // A typed `5 100` may be two numbers.
    let is_telling = !is_typed || thousands > 2 || groups.len() > thousands;
    if thousands > 1 && first.len() <= 3 && is_telling {
        let whole = digits(&groups[..thousands]);
        match groups.get(thousands).filter(|group| matches!(group.before, b'.' | b',')) {
            Some(fraction) => {
                let value = decimal(&whole, &text[fraction.start..fraction.end]);
                found(fraction.end, vec![value]);
            }
            None if is_typed && thousands < 3 => {}
            None => found(end(&groups[..thousands]), vec![plain(&whole)]),
        }
    }
    // Accounts and telephones: groups of two to four digits with one sign between all of them.
    for sign in [b" ", b"-", b".", b"/"] {
        let grouped = run(sign);
        let fits = grouped.iter().all(|group| (2..=4).contains(&group.len()));
        let all = digits(grouped);
        // A typed `2024-2025` or `10/20` is no account.
        let is_telling = !is_typed || (grouped.len() > 2 && all.len() > 8);
        if grouped.len() > 1 && fits && all.len() >= MIN_GROUPED_DIGITS && is_telling {
            found(end(grouped), vec![all]);
        }
    }
}

/// Returns the values of groups that points, commas and apostrophes separate.
fn amounts(text: &str, groups: &[Group], meaning: Meaning) -> Vec<String> {
    let part = |group: &Group| &text[group.start..group.end];
    let [first, rest @ ..] = groups else { return Vec::new() };
    let Some(last) = rest.last() else { return vec![plain(part(first))] };
    let is_thousands = |rest: &[Group], first: &Group| {
        let [middle @ .., last] = rest else { return false };
        first.len() <= 3 && last.len() == 3 && middle.iter().all(|group| matches!(group.len(), 2 | 3))
    };
    let joined = |groups: &[Group]| -> String { groups.iter().map(part).collect() };
    let mut values = Vec::new();
    let leading = &rest[..rest.len() - 1];
    let is_uniform = rest.iter().all(|group| group.before == last.before);
    // One group after a point or a comma can be thousands or a fraction.
    let is_grouped = match meaning {
        Meaning::Any => true,
        Meaning::Typed => !leading.is_empty() || (last.before != b'.' && !part(first).starts_with('0')),
    };
    if is_uniform && is_thousands(rest, first) && is_grouped {
        values.push(plain(&joined(groups)));
    }
    if leading.is_empty() && last.before != b'\'' && (meaning == Meaning::Any || values.is_empty()) {
        values.push(decimal(part(first), part(last)));
    }
    let is_mixed = leading.first().is_some_and(|sign| {
        sign.before != last.before && leading.iter().all(|group| group.before == sign.before)
    });
    if is_mixed && is_thousands(leading, first) && last.before != b'\'' {
        values.push(decimal(&joined(&groups[..groups.len() - 1]), part(last)));
    }
    values
}

/// Returns a whole number without zeros in front. A longer number keeps them, because it may be an account.
fn plain(digits: &str) -> String {
    if digits.len() > 4 && digits.starts_with('0') {
        return digits.to_owned();
    }
    let short = digits.trim_start_matches('0');
    if short.is_empty() { "0".to_owned() } else { short.to_owned() }
}

/// Returns a number with a fraction, without zeros at its end.
fn decimal(whole: &str, fraction: &str) -> String {
    match fraction.trim_end_matches('0') {
        "" => plain(whole),
        fraction => format!("{}.{fraction}", plain(whole)),
    }
}

/// Returns a double in plain digits, with its sign.
pub(super) fn of_double(number: f64) -> String {
    // The shortest text from which the same number is read. There is one zero.
    format!("{}", if number == 0.0 { 0.0 } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_spellings_have_one_value() {
        for text in
            ["9052.4", "9052.40", "9,052.40", "9.052,40", "9'052.40", "9 052,40", "€9,052.40", "9.052,4 EUR"]
        {
            assert!(values(text).contains(&"9052.4".to_owned()), "{text}: {:?}", values(text));
        }
        for text in ["1234567", "1,234,567", "1.234.567", "1 234 567", "12,34,567", "1'234'567"] {
            assert!(values(text).contains(&"1234567".to_owned()), "{text}: {:?}", values(text));
        }
        for text in ["30", "30.0", "30,00", "$30.00", "-30", "030"] {
            assert!(values(text).contains(&"30".to_owned()), "{text}: {:?}", values(text));
        }
        for text in ["66600000009123", "66 60 00 00 00 91 23", "6660-0000-0091-23", "666 000 000 091 23"] {
            assert!(values(text).contains(&"66600000009123".to_owned()), "{text}: {:?}", values(text));
        }
        // A point can group digits or begin a fraction.
        assert_eq!(values("1.234"), ["1.234", "1234"]);
    }

    #[test]
    fn typed_number_has_one_value_and_its_sign() {
        for (text, expected) in [
            ("1,234", Some("1234")),
            ("1.234", Some("1.234")),
            ("0,123", Some("0.123")),
            ("9,05", Some("9.05")),
            ("1.234,50", Some("1234.5")),
            ("1.234.567", Some("1234567")),
            ("9 052,40", Some("9052.4")),
            ("1 234 567", Some("1234567")),
            ("5 100", None),
            ("2024-2025", None),
            ("6660-0000-0091-23", Some("66600000009123")),
            ("-5", Some("-5")),
            ("-$5", Some("-5")),
            ("$-5.50", Some("-5.5")),
            ("5", Some("5")),
        ] {
            assert_eq!(typed_value(text).as_deref(), expected, "{text}");
            let mut found = Vec::new();
            let sentence = format!("pay {text} now");
            scan_typed(&sentence, |number| {
                if number.end == 4 + text.len() {
                    found.extend(number.values);
                }
            });
            assert!(
                expected.is_none_or(|expected| found.contains(&expected.to_owned())),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn other_texts_are_no_numbers() {
        for text in ["", "abc", "a1b2", "12 monkeys left", "1.2.3.4.5", "user@12", "2 3", "12-ab"] {
            assert_eq!(values(text), Vec::<String>::new(), "{text}");
        }
        for (number, text) in
            [(9052.4, "9052.4"), (30.0, "30"), (-0.5, "-0.5"), (-0.0, "0"), (1e15, "1000000000000000")]
        {
            assert_eq!(of_double(number), text);
        }
    }

    #[test]
    fn number_is_found_in_running_text() {
        let mut found = Vec::new();
        let text = "pay 9,052.40 eur to xx00 by 2026-10-07, or 5 100 units; v12";
        scan(text, |number| found.push((&text[number.start..number.end], number.values)));
        let has = |spelling: &str, value: &str| {
            found.iter().any(|(text, values)| *text == spelling && values.contains(&value.to_owned()))
        };
        assert!(has("9,052.40", "9052.4") && has("5 100", "5100") && has("5", "5"), "{found:?}");
        assert!(!found.iter().any(|(text, _)| *text == "12" || *text == "00"), "{found:?}");
    }
}
