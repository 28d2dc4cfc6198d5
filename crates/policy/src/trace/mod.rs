//! The search for the giver of each argument: the user, something that the run has read, or nobody.
//!
//! A trace tells the person who is asked that, for example, a recipient came from a document, even if it was encoded
//! there. Words that the user gave have no trace. Neither has a value in an item that the user named, unless it stands
//! there in an order ([`passage`]). Such an item gives a destination only in a field of its own, and only if the user
//! gives none. Traces are evidence, not the rule: the questions follow from provenance, which no
//! unknown encoding can fool. So the search may be bounded, and there are limits on the number of traces.

mod date;
mod decode;
mod fold;
mod index;
mod naming;
mod needle;
mod number;
mod passage;
mod readable;
mod text;
mod view;

use std::collections::BTreeMap;

use kernel::proposal::{ArgumentGiver, Giver, Trace, Value, source_name};

pub use index::TextIndex;
pub use naming::{Naming, naming_of};
pub use readable::{readable, readable_text};

use index::{Occurrence, Pattern};
use needle::{Leaf, Needle, Rank};
use passage::Role;

/// Returns the text with percent-encoding decoded once, or `None` if the text has none.
pub fn percent_decoded(text: &str) -> Option<String> {
    decode::percent(text)
}

/// Returns the text with look-alikes replaced by plain characters and without invisible characters. Returns `None` if
/// the text has neither.
pub fn folded(text: &str) -> Option<String> {
    fold::fold(text)
}

/// A document that the run was given, or a result that it has read.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The name of the document, or of the tool that returned the result.
    pub name: &'a str,
    /// The arguments of the call that returned the result.
    pub call: Option<&'a str>,
    /// The index of the text, as the model has seen it.
    pub index: &'a TextIndex,
    /// The way in which the user's words name this document or result.
    pub naming: Naming,
}

/// Everything from which the words of a call can come.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The index of the user's own words: the task, inputs, settings, answers and messages.
    pub given: &'a TextIndex,
    /// Everything that the run has read.
    pub readings: &'a [Reading<'a>],
    /// The name of the run's model.
    pub model: &'a str,
    /// Whether the call is seen outside or cannot be undone. Then a destination that nobody gave has a trace, too.
    pub leaves: bool,
}

/// The sources of a call's arguments: the result of a search.
#[derive(Debug, Default, PartialEq)]
pub struct Attribution {
    /// The places where the run has read words that the user did not give, the most telling first.
    pub traces: Vec<Trace>,
    /// The giver of each argument.
    pub givers: Vec<ArgumentGiver>,
}

/// The maximum number of traces of one call.
pub const MAX_TRACES: usize = 16;

/// The maximum number of traces of one argument without addresses. So a long text cannot crowd out other traces.
const MAX_PER_ARGUMENT: usize = 5;

/// The maximum number of places that traces name for the same words.
const MAX_PLACES: usize = 3;

/// The maximum number of givers of one call.
const MAX_GIVERS: usize = 64;

/// The maximum number of characters of a part that a trace shows.
const MAX_SHOWN_LEN: usize = 200;

pub use kernel::proposal::NOT_READ;

/// The words in names of parameters that take a destination.
const DESTINATIONS: &[&str] = &[
    "to",
    "cc",
    "bcc",
    "recipient",
    "recipients",
    "receiver",
    "user",
    "users",
    "username",
    "email",
    "emails",
    "mail",
    "address",
    "addresses",
    "account",
    "iban",
    "payee",
    "beneficiary",
    "channel",
    "channels",
    "group",
    "url",
    "link",
    "host",
    "domain",
    "webhook",
    "phone",
    "participant",
    "participants",
    "attendee",
    "attendees",
    "member",
    "members",
    "contact",
    "contacts",
    "destination",
    "target",
];

/// Returns the traces and the givers of `args`, pairs of a parameter's name and its argument. Case and white space are
/// ignored. Numbers and dates are found in their usual spellings. The usual encodings are decoded on both sides.
pub fn trace<'a>(args: impl IntoIterator<Item = (&'a str, &'a Value)>, sources: &Sources<'_>) -> Attribution {
    let leaves = needle::leaves(args);
    let needles = needle::all(&leaves);
    let is_given: Vec<bool> = leaves.iter().map(|leaf| is_given(&leaf.text, sources.given)).collect();
    let mut hits = Vec::new();
    let mut outcomes: Vec<LeafOutcome> = leaves.iter().map(|_| LeafOutcome::default()).collect();
    // Whole values come first, since their parts say nothing more if somebody vouches for the whole.
    let (wholes, parts): (Vec<&Needle>, Vec<&Needle>) = needles.iter().partition(|needle| needle.is_whole());
    for needle in wholes.into_iter().chain(parts) {
        let (Some(outcome), Some(false)) = (outcomes.get_mut(needle.leaf), is_given.get(needle.leaf)) else {
            continue;
        };
        let is_host_of_found = needle.rank == Rank::Host && outcome.has_address;
        if outcome.is_vouched || is_host_of_found {
            continue;
        }
        // The user's own words are not foreign, even as a part of something longer.
        if is_given_part(needle, sources.given) || is_given_value(needle, sources.given) {
            continue;
        }
        let is_destination = leaves.get(needle.leaf).is_some_and(|leaf| is_for_destination(leaf, needle));
        let matches = Matches::of(needle, sources, is_destination);
        outcome.add(needle, &matches);
        if matches.all.is_empty() && sources.leaves && needle.rank.is_address() && needle.steps.is_empty() {
            outcome.invented.push(needle.shown.clone());
        }
        hits.extend(matches.warned());
    }
    let mut traces = choose(hits, &leaves);
    for (leaf, (outcome, is_given)) in leaves.iter().zip(outcomes.iter().zip(&is_given)) {
        if !is_given {
            invented(leaf, outcome, sources, &mut traces);
        }
    }
    let givers = leaves
        .iter()
        .zip(outcomes.into_iter().zip(is_given))
        .filter(|(leaf, _)| !leaf.is_label)
        .take(MAX_GIVERS)
        .map(|(leaf, (outcome, is_given))| ArgumentGiver {
            argument: leaf.argument.clone(),
            part: leaf.is_element.then(|| shorten(&leaf.text)),
            giver: if is_given { Giver::User { named: None } } else { outcome.giver() },
        })
        .collect();
    Attribution { traces, givers }
}

/// Returns whether a whole value stands in the user's own words: its words, or the number or all dates and times that
/// it means.
fn is_given(value: &str, given: &TextIndex) -> bool {
    let value = value.trim();
    // A person writes an address without `https://`.
    let page = value.split_once("://").map(|(_, rest)| rest.trim_end_matches('/'));
    if given.holds(value) || page.is_some_and(|page| given.holds(page)) {
        return true;
    }
    let moments = date::only_moments(&text::normalise(value));
    !moments.is_empty() && moments.iter().all(|moment| holds_moment(moment, given))
}

fn holds_moment(moment: &date::Moment, given: &TextIndex) -> bool {
    let yearless = |value: &String| value.get(4..).map(|rest| format!("-{rest}"));
    let yearless = moment.values.iter().filter(|_| moment.is_date()).filter_map(yearless).collect::<Vec<_>>();
    given.find_value(moment.values.iter().chain(&yearless), "").is_some()
}

/// Returns whether the words of a part stand in the user's own words. A number has its sign there.
fn is_given_part(needle: &Needle, given: &TextIndex) -> bool {
    let is_negative = needle.typed_number.as_ref().is_some_and(|number| number.starts_with('-'));
    !is_negative && given.find(&needle.pattern).is_some()
}

/// Returns whether a part is a number or date that the user gave in another spelling.
fn is_given_value(needle: &Needle, given: &TextIndex) -> bool {
    given.holds_value(needle.typed_number.as_slice())
        || (!needle.moments.is_empty()
            && needle.moments.iter().all(|values| given.find_value(values, "").is_some()))
        // The time of a new appointment is often worked out, so its date decides.
        || needle.moments.first().is_some_and(|values| {
            values.first().is_some_and(|value| value.len() == 10) && given.find_value(values, "").is_some()
        })
}

/// A needle that was found in a reading.
struct NeedleMatch<'a> {
    needle: &'a Needle,
    reading: &'a Reading<'a>,
    how: String,
    /// Whether it stands in an order, or is hidden.
    is_ordered: bool,
    /// Whether the user vouches for it.
    is_vouched: bool,
}

/// All readings in which a needle was found.
struct Matches<'a> {
    all: Vec<NeedleMatch<'a>>,
}

impl<'a> Matches<'a> {
    fn of(needle: &'a Needle, sources: &Sources<'a>, is_destination: bool) -> Matches<'a> {
        let mirrored = needle.mirrored();
        let found = sources.readings.iter().filter_map(|reading| {
            let mut found = locate(needle, &mirrored, reading.index)?;
            if needle.is_common_number() {
                found.roles.retain(|role| *role != Role::Plain);
            }
            if found.roles.is_empty() {
                return None;
            }
            let is_ordered = found.roles.iter().any(|role| role.is_order());
            let vouches = |role: &Role| match role {
                Role::Spoken | Role::Ordered => false,
                Role::Entry => naming::vouches_for_entries(reading, sources.given),
                Role::Handle => {
                    naming::vouches_for_handles(reading, sources.given)
                        && form(&needle.pattern.text).is_none()
                }
                Role::Field => {
                    reading.naming.vouches_for_values()
                        && !(is_destination && gives_destination(sources.given, &needle.pattern.text))
                }
                Role::Line | Role::Plain => reading.naming.vouches_for_values() && !is_destination,
            };
            let is_vouched = !is_ordered && needle.steps.is_empty() && found.roles.iter().any(vouches);
            Some(NeedleMatch { how: how(needle, &found), needle, reading, is_ordered, is_vouched })
        });
        Matches { all: found.collect() }
    }

    /// Returns the matches of which the person is warned: those in orders, and those for which nobody vouches.
    fn warned(self) -> impl Iterator<Item = NeedleMatch<'a>> {
        let is_vouched = self.all.iter().any(|found| found.is_vouched);
        let has_order = self.all.iter().any(|found| found.is_ordered);
        self.all
            .into_iter()
            .filter(move |found| if has_order { found.is_ordered } else { !is_vouched })
            .take(MAX_PLACES)
    }
}

/// Returns the places of a needle in a text: as it is, as the same number or date in another spelling, with other
/// blanks and punctuation, or in a spelling that is its own inverse.
fn locate(
    needle: &Needle,
    mirrored: &[(Pattern, Vec<&'static str>)],
    index: &TextIndex,
) -> Option<Occurrence> {
    index
        .find(&needle.pattern)
        .or_else(|| index.find_value(&needle.numbers, "the number, spelled otherwise"))
        .or_else(|| {
            // All dates and times of a value must stand there, or at least its date.
            let mut moments = needle.moments.iter().filter(|values| !values[0].starts_with('T')).peekable();
            moments.peek()?;
            let found: Option<Vec<Occurrence>> =
                moments.map(|values| index.find_value(values, "the date, spelled otherwise")).collect();
            found?.into_iter().next()
        })
        .or_else(|| index.find_apart(needle.squeezed.as_deref()?))
        .or_else(|| {
            mirrored.iter().find_map(|(pattern, steps)| {
                let found = index.find(pattern)?;
                let steps = found.steps.iter().chain(steps).copied().collect();
                Some(Occurrence { steps, spelling: None, roles: vec![Role::Spoken] })
            })
        })
}

/// The results of the search for all parts of one value.
#[derive(Default)]
struct LeafOutcome {
    /// The places that hold a part, the best first, without repetition.
    places: Vec<String>,
    /// Whether a place holds the whole value.
    is_whole: bool,
    /// The item that the user named and that holds the whole value.
    named: Option<String>,
    /// Whether there is no warning of the whole value, because somebody vouches for it.
    is_vouched: bool,
    /// Whether an address in the value was found.
    has_address: bool,
    /// The addresses in the value that stand nowhere.
    invented: Vec<String>,
}

impl LeafOutcome {
    fn add(&mut self, needle: &Needle, matches: &Matches<'_>) {
        let is_ordered = matches.all.iter().any(|found| found.is_ordered);
        self.is_vouched |=
            needle.is_whole() && !is_ordered && matches.all.iter().any(|found| found.is_vouched);
        self.has_address |= needle.rank.is_address() && !matches.all.is_empty();
        for found in &matches.all {
            let place = source_name(found.reading.name, found.reading.call);
            if needle.is_whole() {
                self.is_whole = true;
                let is_named = !matches!(found.reading.naming, Naming::None | Naming::Made);
                if found.is_vouched && is_named && !is_ordered && self.named.is_none() {
                    self.named = Some(place.clone());
                }
            }
            if !self.places.contains(&place) && self.places.len() < MAX_PLACES {
                self.places.push(place);
            }
        }
    }

    fn giver(self) -> Giver {
        match self.named {
            Some(named) => Giver::User { named: Some(named) },
            None if !self.places.is_empty() => {
                Giver::Document { places: self.places, is_whole: self.is_whole }
            }
            None => Giver::Unknown,
        }
    }
}

/// Adds a trace to the model itself, if the call goes to a destination that the model made up.
fn invented(leaf: &Leaf, outcome: &LeafOutcome, sources: &Sources<'_>, traces: &mut Vec<Trace>) {
    if !sources.leaves || leaf.is_label {
        return;
    }
    let mut made_up = outcome.invented.clone();
    let text = leaf.text.trim();
    let is_digits = !leaf.is_number && text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = text.chars().count() <= 64 && text.split_whitespace().count() <= 3;
    let has_word = text.chars().filter(|c| c.is_alphanumeric()).nth(1).is_some();
    let is_destination =
        (is_destination(&leaf.argument) || is_destination(&leaf.key)) && is_short && has_word;
    if outcome.places.is_empty() && made_up.is_empty() && (is_digits || is_destination) {
        made_up.push(text.to_owned());
    }
    for text in made_up {
        if traces.len() < MAX_TRACES {
            traces.push(Trace {
                argument: leaf.argument.clone(),
                text: shorten(&text),
                document: format!("the model {}", sources.model),
                call: None,
                how: NOT_READ.to_owned(),
            });
        }
    }
}

/// Returns whether a parameter with this name takes a destination.
fn is_destination(name: &str) -> bool {
    words_of_name(name).iter().any(|word| DESTINATIONS.contains(&word.as_str()))
}

/// Returns the words in the name of a parameter or a method, in lower case.
fn words_of_name(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in name.split(|c: char| !c.is_alphanumeric()) {
        let mut word = String::new();
        for c in part.chars() {
            if c.is_uppercase() && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            word.extend(c.to_lowercase());
        }
        words.push(word);
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The minimum number of digits of an account or a telephone.
const MIN_ACCOUNT_DIGITS: usize = 8;

/// A kind of destination that can be told by its form.
#[derive(PartialEq)]
enum Form {
    /// The address of a mailbox.
    Mail,
    /// The address of a page or a host, or a path.
    Place,
    /// An account or a telephone.
    Account,
}

/// Returns the form of a text that is a destination by itself, whatever parameter takes it.
fn form(text: &str) -> Option<Form> {
    let text = text.trim();
    if needle::addresses(text).any(|found| found.len() == text.len()) {
        return Some(Form::Mail);
    }
    let is_alphabetic = |c: char| c.is_alphabetic();
    let is_one_word = !text.contains(char::is_whitespace);
    let has_point = text.trim_matches('.').contains('.') && text.contains(is_alphabetic);
    if is_one_word && (text.contains('/') || has_point) && date::only_moments(text).is_empty() {
        return Some(Form::Place);
    }
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_account = digits >= MIN_ACCOUNT_DIGITS
        && digits * 2 >= text.chars().filter(|c| c.is_alphanumeric()).count()
        && date::only_moments(text).is_empty();
    is_account.then_some(Form::Account)
}

/// Returns whether a part of an argument is a destination: by its parameter, or by its form.
fn is_for_destination(leaf: &Leaf, needle: &Needle) -> bool {
    let text = &needle.pattern.text;
    let is_whole = needle.rank.is_whole();
    needle.rank.is_address()
        || form(text).is_some()
        || (is_whole && (is_destination(&leaf.key) || is_destination(&leaf.argument)))
}

/// Returns whether the user's own words give a destination of the same form.
fn gives_destination(given: &TextIndex, text: &str) -> bool {
    let Some(wanted) = form(text) else { return false };
    let typed = given.typed();
    match wanted {
        Form::Mail => needle::addresses(typed).next().is_some(),
        // A path that the user names is the very item that is read.
        Form::Place => needle::pages(typed).next().is_some(),
        Form::Account => {
            let is_sign = |c: char| c.is_whitespace() || "<>()[]{}\"'`,;|".contains(c);
            let mut has_account = typed.split(is_sign).any(|word| form(word) == Some(Form::Account));
            number::scan(typed, |number| {
                let is_long = number.values.iter().any(|value| value.len() >= MIN_ACCOUNT_DIGITS);
                let spelled = typed.get(number.start..number.end).unwrap_or_default();
                has_account |= is_long && date::only_moments(spelled).is_empty();
            });
            has_account
        }
    }
}

/// Returns the way in which a needle is written in a document, in words.
fn how(needle: &Needle, found: &Occurrence) -> String {
    let steps: Vec<&str> = found.steps.iter().copied().chain(found.spelling).collect();
    let how = if steps.is_empty() { "as written".to_owned() } else { steps.join(", then ") };
    match needle.steps.as_slice() {
        [] => how,
        steps => format!("{how}, with the argument decoded from {}", steps.join(", then ")),
    }
}

/// Returns the traces for the most telling hits, in their order. Hits that earlier ones already cover are left out.
fn choose(mut hits: Vec<NeedleMatch<'_>>, leaves: &[Leaf]) -> Vec<Trace> {
    hits.sort_by_cached_key(|hit| (hit.needle.order(), !hit.is_ordered));
    let mut kept: Vec<NeedleMatch<'_>> = Vec::new();
    let mut parts: BTreeMap<&str, usize> = BTreeMap::new();
    let argument = |needle: &Needle| leaves.get(needle.leaf).map_or("", |leaf| leaf.argument.as_str());
    for hit in hits {
        let is_said = kept.iter().any(|earlier| {
            argument(earlier.needle) == argument(hit.needle)
                && (earlier.reading.name, earlier.reading.call) == (hit.reading.name, hit.reading.call)
                && earlier.needle.pattern.text.contains(&hit.needle.pattern.text)
        });
        let count = parts.entry(argument(hit.needle)).or_default();
        let is_address = hit.needle.rank.is_address();
        if is_said || kept.len() == MAX_TRACES || (!is_address && *count == MAX_PER_ARGUMENT) {
            continue;
        }
        *count += usize::from(!is_address);
        kept.push(hit);
    }
    kept.into_iter()
        .map(|hit| Trace {
            argument: argument(hit.needle).to_owned(),
            text: shorten(&hit.needle.shown),
            document: hit.reading.name.to_owned(),
            call: hit.reading.call.map(str::to_owned),
            how: hit.how,
        })
        .collect()
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_LEN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests;
