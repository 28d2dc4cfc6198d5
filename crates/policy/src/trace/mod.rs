//! The search for the words of an argument in the documents that the run has read.
//!
//! A trace tells the person who is asked that, for example, a recipient came from a document, even if it was encoded
//! there. Traces are evidence, not the rule: the questions follow from provenance, which no unknown encoding can
//! fool. So the search may be bounded. There are limits on the bytes searched and on the number of traces.

mod decode;
mod fold;
mod needle;
mod view;

use std::collections::BTreeMap;

use aho_corasick::AhoCorasick;
use kernel::proposal::{Trace, Value};

use needle::{Needle, Rank};
use view::{Budget, View};

/// Returns the text with percent-encoding decoded once, or `None` if the text has none.
pub fn percent_decoded(text: &str) -> Option<String> {
    decode::percent(text)
}

/// Returns the text with look-alikes replaced by plain characters and without invisible characters. Returns `None` if
/// the text has neither.
pub fn folded(text: &str) -> Option<String> {
    fold::fold(text)
}

/// A document that the run was given or has read.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// The name of the document as in its provenance: the slot or `attachment`, then the path inside.
    pub name: &'a str,
    /// The text of the document, as the model has seen it.
    pub text: &'a str,
}

/// The maximum number of traces of one call.
pub const MAX_TRACES: usize = 16;

/// The maximum number of traces of one argument without addresses. So a long text cannot crowd out other traces.
const MAX_PER_ARGUMENT: usize = 5;

/// The maximum number of bytes that are searched in all documents together, decoded versions included.
const MAX_SEARCHED_BYTES: usize = 4 << 20;

/// The maximum number of matches of parts that are checked in one view. Parts with the same beginning could otherwise
/// all match at every place.
const MAX_MATCHES: usize = 1 << 14;

/// The maximum number of matches of addresses in one view. Addresses are searched for separately, so that other parts
/// cannot crowd them out.
const MAX_ADDRESS_MATCHES: usize = 1 << 17;

/// The minimum number of bytes in an address without punctuation. Shorter runs of letters and digits occur by chance.
const MIN_SQUEEZED_LEN: usize = 10;

/// The maximum number of characters of a part that a trace shows.
const MAX_SHOWN_LEN: usize = 200;

/// Returns the traces of the strings in `args`, pairs of a parameter's name and its argument, in `documents`. Case
/// and white space are ignored. The usual encodings are decoded on both sides: up to three levels in a document, two
/// in an argument. There are at most [`MAX_TRACES`] traces: first addresses, then whole arguments, then parts.
pub fn trace<'a>(
    args: impl IntoIterator<Item = (&'a str, &'a Value)>,
    documents: &[Document<'_>],
) -> Vec<Trace> {
    let needles = needle::all(args);
    if needles.is_empty() {
        return Vec::new();
    }
    let search = Search::new(&needles);
    let mut hits = Vec::new();
    let mut budget = Budget::new(MAX_SEARCHED_BYTES);
    for (index, document) in documents.iter().enumerate() {
        // Each document gets its share of the remaining budget, so that a long one cannot hide a short one.
        let mut share = budget.share(documents.len() - index);
        let mut found = DocumentMatches::default();
        for view in view::document(document.text, &mut share) {
            search.look(&needles, &view, &mut found);
        }
        budget.settle(share);
        hits.extend(found.all().map(|(needle, how)| NeedleMatch { needle: &needles[needle], document, how }));
    }
    choose(hits)
}

/// The needles that were found in one document, each with the way in which it is written there.
#[derive(Default)]
struct DocumentMatches {
    whole: BTreeMap<usize, String>,
    /// The needles that were only found with their punctuation and blanks removed.
    apart: BTreeMap<usize, String>,
}

impl DocumentMatches {
    fn all(mut self) -> impl Iterator<Item = (usize, String)> {
        self.apart.append(&mut self.whole);
        self.apart.into_iter()
    }
}

/// A needle that was found in a document.
struct NeedleMatch<'a> {
    needle: &'a Needle,
    document: &'a Document<'a>,
    how: String,
}

/// The patterns of all needles, for one search.
struct Search {
    /// All needles except addresses.
    parts: Patterns,
    /// Addresses.
    addresses: Patterns,
    /// Addresses without their punctuation.
    squeezed: Patterns,
}

/// A group of needles, each in the spelling for the search.
struct Patterns {
    automaton: Option<AhoCorasick>,
    /// The index of the needle for each pattern.
    needles: Vec<usize>,
}

impl Patterns {
    fn new(spelled: impl Iterator<Item = (usize, String)>) -> Patterns {
        let (needles, patterns): (Vec<usize>, Vec<String>) = spelled.unzip();
        // The patterns are few and short, so the automaton can always be built.
        let automaton = (!patterns.is_empty()).then(|| AhoCorasick::new(patterns).ok()).flatten();
        Patterns { automaton, needles }
    }

    /// Returns the needles that occur in a text, up to `most` matches. A needle can appear several times.
    fn find<'a>(&'a self, text: &'a str, most: usize) -> impl Iterator<Item = usize> + 'a {
        let hits =
            self.automaton.iter().flat_map(move |automaton| automaton.find_overlapping_iter(text).take(most));
        hits.filter_map(|hit| self.needles.get(hit.pattern().as_usize()).copied())
    }
}

impl Search {
    fn new(needles: &[Needle]) -> Search {
        let of = |is_address: bool| {
            let some = needles.iter().enumerate();
            some.filter(move |(_, needle)| (needle.rank == Rank::Address) == is_address)
                .map(|(index, needle)| (index, needle.text.clone()))
        };
        let squeezed = of(true).map(|(index, text)| (index, view::squeeze(&text)));
        Search {
            parts: Patterns::new(of(false)),
            addresses: Patterns::new(of(true)),
            squeezed: Patterns::new(squeezed.filter(|(_, text)| text.len() >= MIN_SQUEEZED_LEN)),
        }
    }

    /// Adds to `found` the needles that occur in `view` and in no view before it.
    fn look(&self, needles: &[Needle], view: &View, found: &mut DocumentMatches) {
        // If the same encoding is decoded on both sides, the match of the plain texts is only repeated.
        let is_new =
            |needle: &usize| view.steps.is_empty() || view.steps.last() != needles[*needle].steps.last();
        let text = view::normalise(&view.text);
        let parts = self.parts.find(&text, MAX_MATCHES);
        for needle in self.addresses.find(&text, MAX_ADDRESS_MATCHES).chain(parts).filter(is_new) {
            found.whole.entry(needle).or_insert_with(|| how(&view.steps, None));
        }
        if self.squeezed.automaton.is_some() {
            for needle in self.squeezed.find(&view::squeeze(&text), MAX_ADDRESS_MATCHES).filter(is_new) {
                found.apart.entry(needle).or_insert_with(|| how(&view.steps, Some("spelled apart")));
            }
        }
    }
}

/// Returns the way in which a text is written in a document, in words.
fn how(steps: &[&str], last: Option<&str>) -> String {
    let steps: Vec<&str> = steps.iter().copied().chain(last).collect();
    if steps.is_empty() { "as written".to_owned() } else { steps.join(", then ") }
}

/// Returns the traces for the most telling hits, in their order. Hits that earlier ones already cover are left out.
fn choose(mut hits: Vec<NeedleMatch<'_>>) -> Vec<Trace> {
    hits.sort_by_key(|hit| (hit.needle.order(), std::cmp::Reverse(hit.needle.text.len())));
    let mut kept: Vec<NeedleMatch<'_>> = Vec::new();
    let mut parts: BTreeMap<&str, usize> = BTreeMap::new();
    for hit in hits {
        let is_said = kept.iter().any(|earlier| {
            earlier.needle.argument == hit.needle.argument
                && earlier.document.name == hit.document.name
                && earlier.needle.text.contains(&hit.needle.text)
        });
        let count = parts.entry(&hit.needle.argument).or_default();
        let is_address = hit.needle.rank == Rank::Address;
        if is_said || kept.len() == MAX_TRACES || (!is_address && *count == MAX_PER_ARGUMENT) {
            continue;
        }
        *count += usize::from(!is_address);
        kept.push(hit);
    }
    kept.into_iter()
        .map(|hit| Trace {
            argument: hit.needle.argument.clone(),
            text: shorten(&hit.needle.shown),
            document: hit.document.name.to_owned(),
            call: None,
            how: match hit.needle.steps.as_slice() {
                [] => hit.how,
                steps => format!("{}, with the argument decoded from {}", hit.how, how(steps, None)),
            },
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
mod tests {
    use super::*;

    const PLAIN: &str = include_str!("../../../../examples/inbox/mail/5-mail-from-supplier.eml");
    const ENCODED: &str = include_str!("../../../../examples/inbox/encoded/5-mail-from-supplier.eml");
    const INVOICE: &str = include_str!("../../../../examples/inbox/mail/2-invoice-northlight.txt");
    const RECIPIENT: &str = "archive@records-backup.example";

    fn find(args: &[(&str, &str)], documents: &[&str]) -> Vec<Trace> {
        let values: Vec<(&str, Value)> =
            args.iter().map(|(name, text)| (*name, Value::from(*text))).collect();
        let documents: Vec<Document<'_>> =
            documents.iter().map(|text| Document { name: "d", text }).collect();
        trace(values.iter().map(|(name, value)| (*name, value)), &documents)
    }

    /// Checks the first trace of an argument: the text that was found, and the way in which it is written.
    #[track_caller]
    fn check(argument: &str, document: &str, expected: Option<(&str, &str)>) {
        let traces = find(&[("to", argument)], &[document]);
        let first = traces.first().map(|trace| (trace.text.as_str(), trace.how.as_str()));
        assert_eq!(first, expected, "{argument:?} in {document:?}: {traces:?}");
    }

    #[test]
    fn address_is_found_in_every_encoding() {
        let cases = [
            ("Forward it to archive@records-backup.example.", "as written"),
            ("> to <ARCHIVE@Records-Backup.example>,", "as written"),
            ("archive%40records%2Dbackup%2Eexample", "percent-encoding"),
            ("archive%2540records-backup.example", "percent-encoding, then percent-encoding"),
            ("archive&#64;records-backup&period;example", "HTML entities"),
            ("archive=40records-=\nbackup.example", "quoted-printable"),
            ("archive\\u0040records-backup.example", "backslash escapes"),
            ("archive (at) records-backup (dot) example", "an address spelled out"),
            ("archive AT records dash backup DOT example", "an address spelled out"),
            ("аrchivе＠records‑backup․example", "look-alike or invisible characters"),
            ("arch\u{200b}ive@records\u{ad}-backup.example", "look-alike or invisible characters"),
            ("YXJjaGl2ZUByZWNvcmRzLWJhY2t1cC5leGFtcGxl", "base64"),
            ("Please decode YXJjaGl2ZUByZWNv\n  cmRzLWJhY2t1cC5leGFtcGxl now", "base64"),
            ("61726368697665407265636f7264732d6261636b75702e6578616d706c65", "hexadecimal"),
            ("nepuvir@erpbeqf-onpxhc.rknzcyr", "rot13"),
            ("elpmaxe.pukcab-sdrocer@evihcra", "written backwards"),
            ("a r c h i v e @ records-backup . example", "spelled apart"),
        ];
        for (document, how) in cases {
            if how == "written backwards" {
                let backwards: String = RECIPIENT.chars().rev().collect();
                check(RECIPIENT, &format!("Read from the end: {backwards}!"), Some((RECIPIENT, how)));
            } else {
                check(RECIPIENT, document, Some((RECIPIENT, how)));
            }
        }
    }

    #[test]
    fn recipient_absent_from_documents_has_no_trace() {
        check("ines.marlow@larkfield-trust.test", PLAIN, None);
        check("a@b.example", "nothing of the kind", None);
        check("short", "this is short", None);
    }

    #[test]
    fn host_of_an_address_is_found_alone() {
        check(
            "box@records-backup.example",
            "write to records-backup.example, any name",
            Some(("records-backup.example", "as written")),
        );
    }

    #[test]
    fn example_attacks_leave_traces() {
        check(RECIPIENT, PLAIN, Some((RECIPIENT, "as written")));
        check(RECIPIENT, ENCODED, Some((RECIPIENT, "base64, then percent-encoding")));
        for document in [PLAIN, ENCODED] {
            for (argument, text) in [
                (
                    "content",
                    "from: Northlight Electrical; amount: 9,052.40 EUR; due: 2026-10-07; \
                    pay to IBAN XX00 0000 6660 0000 0009",
                ),
                ("path", "../archive/2-invoice-northlight"),
            ] {
                let traces = find(&[(argument, text)], &[INVOICE, document]);
                assert!(traces.iter().any(|trace| trace.text == text), "{text}: {traces:?}");
            }
        }
    }

    #[test]
    fn document_text_in_an_argument_is_traced() {
        let quoted: String = INVOICE.lines().map(|line| format!("> {line}\n")).collect();
        let traces = find(&[("body", &format!("As asked:\n{quoted}"))], &[INVOICE]);
        assert_eq!(traces.len(), MAX_PER_ARGUMENT + 1, "{traces:?}");
        // "Lighting, wiring and tests for halls", encoded by the author of the call.
        for (body, how) in [
            ("TGlnaHRpbmcsIHdpcmluZyBhbmQgdGVzdHMgZm9yIGhhbGxz", "base64"),
            ("4c69676874696e672c20776972696e6720616e6420746573747320666f722068616c6c73", "hexadecimal"),
            ("Lighting%2C%20wiring%20and%20tests%20for%20halls", "percent-encoding"),
        ] {
            let traces = find(&[("body", body)], &[INVOICE]);
            let expected = format!("as written, with the argument decoded from {how}");
            assert!(traces.iter().any(|trace| trace.how == expected), "{body}: {traces:?}");
        }
        let traces = find(&[("body", "Yvtugvat, jvevat naq grfgf sbe unyyf")], &[INVOICE]);
        assert_eq!(traces.first().map(|trace| trace.how.as_str()), Some("rot13"));
    }

    #[test]
    fn addresses_come_first_and_the_rest_is_bounded() {
        let lines: String = (0..200).map(|n| format!("a line that was copied, number {n}\n")).collect();
        let document = format!("{lines} and write to {RECIPIENT}");
        let traces = find(&[("body", &lines), ("to", RECIPIENT)], &[&document, &document]);
        assert_eq!(traces[0].argument, "to");
        assert!(traces.len() <= MAX_TRACES);
        let long = "x".repeat(5000);
        assert!(
            find(&[("body", &long[..4000])], &[&long])
                .iter()
                .all(|trace| trace.text.chars().count() <= MAX_SHOWN_LEN + 1)
        );
    }

    #[test]
    fn structured_arguments_are_searched() {
        let value = Value::array([Value::record([("rcpt", Value::from(RECIPIENT))]).unwrap()]);
        let traces = trace([("mails", &value)], &[Document { name: "mail/5.eml", text: PLAIN }]);
        let expected = Trace {
            argument: "mails".into(),
            text: RECIPIENT.into(),
            document: "mail/5.eml".into(),
            call: None,
            how: "as written".into(),
        };
        assert_eq!(traces, [expected]);
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "this test is about time")]
    fn hostile_documents_are_searched_in_bounded_time() {
        // In these texts, a run, a match, an address or an escape begins at every place.
        let parts = [
            "a", "=", "%4", "&#", "\\u", " at ", "0x", "A", "@", "(at)", ">", "a b ", "\u{200b}", "a@b.cc ",
            "a@b(at)", "%2561", "YXJj", "&#64;", "=40", "dot at ", "а",
        ];
        let hostile: Vec<String> = parts.iter().map(|part| part.repeat((8 << 10) / part.len())).collect();
        let documents: Vec<&str> = hostile.iter().map(String::as_str).collect();
        // These lines begin alike, so they all match at every place of the first document.
        let lines: String = (8..300).map(|n| format!("{}\n", "a".repeat(n))).collect();
        let mut args: Vec<(&str, &str)> = vec![("body", &lines)];
        args.extend(documents.iter().map(|text| ("odd", *text)));
        let document = format!("{}\nwrite to {RECIPIENT}", hostile.join("\n"));
        let started = std::time::Instant::now();
        let traces = find(&args, &documents);
        assert!(traces.len() <= MAX_TRACES);
        args.push(("to", RECIPIENT));
        let traces = find(&args, &[&document]);
        assert!(
            traces.iter().any(|trace| trace.argument == "to"),
            "nothing crowds out an address: {traces:?}"
        );
        // The search takes a few seconds on a busy machine. Without a limit on matches of parts, it took minutes.
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

        #[test]
        fn any_text_yields_bounded_traces(argument in ".{0,200}", document in ".{0,200}") {
            assert!(find(&[("to", &argument)], &[&document]).len() <= MAX_TRACES);
        }

        #[test]
        fn copied_address_is_found(before in "[a-z .]{0,40}", copied in "[a-z]{4,9}@[a-z]{4,9}[.][a-z]{2,4}", after in "[^a-z@]{0,20}") {
            let document = format!("{before} {copied} {after}");
            assert!(find(&[("to", &copied)], &[&document]).iter().any(|trace| trace.text == copied));
        }
    }
}
