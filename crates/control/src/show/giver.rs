//! The giver of an argument, in words.

use kernel::proposal::{ArgumentGiver, Giver, NOT_READ, Trace};
use passable::Quoting;

/// The maximum number of places that are named.
const MAX_PLACES: usize = 3;

/// The number of givers from which on a call may have more than are listed.
const MAX_GIVERS: usize = 64;

/// The words for a value that neither the user nor anything that was read gave.
const MODEL: &str = "from the model alone";

/// The sentence about a call with several such values, and no others.
const ALL_OF_MODEL: &str =
    "All of it is from the model alone: it stands in nothing that you gave or that was read.";

/// Returns the giver of a value in words that follow the name of the argument, such as `from you`. A document may have
/// any name, such as `you`, so names stand in quotation marks after a word of Almoner's own.
pub fn quoting(giver: &Giver) -> Quoting {
    match giver {
        Giver::User { named: None } => "from you".into(),
        Giver::User { named: Some(place) } => {
            Quoting::ours("from a text that you named: ").then(&Quoting::name(place))
        }
        Giver::Document { places, is_whole } => {
            let from = if *is_whole { "from " } else { "partly from " };
            let kind = if places.len() == 1 { "the text " } else { "the texts " };
            let named = places.iter().take(MAX_PLACES).map(|place| Quoting::name(place));
            let listed = Quoting::ours([from, kind].concat()).then(&Quoting::joined(named, ", "));
            match places.len().saturating_sub(MAX_PLACES) {
                0 => listed,
                more => listed.and(format!(" and {more} more")),
            }
        }
        Giver::Unknown => MODEL.into(),
    }
}

/// Returns the traces that lead to something which was read. The others say that a value stands in nothing.
pub fn passages(traces: &[Trace]) -> impl Iterator<Item = &Trace> {
    traces.iter().filter(|trace| trace.how != NOT_READ)
}

/// Returns the place where the words of an argument were read, in words that follow `came from`.
pub fn source(trace: &Trace) -> Quoting {
    // The model's own name is no text that was read.
    match (trace.how == NOT_READ, trace.call.is_some()) {
        (true, _) => Quoting::theirs(&trace.document),
        (false, true) => Quoting::ours("the result of ").then(&Quoting::name(&trace.source_name())),
        (false, false) => Quoting::ours("the text ").then(&Quoting::name(&trace.source_name())),
    }
}

/// Returns the sentence about a call all of whose arguments the model made, if there is more than one.
pub fn of_all(givers: &[ArgumentGiver]) -> Option<&'static str> {
    let is_of_model = givers.iter().all(|one| one.giver == Giver::Unknown);
    ((2..MAX_GIVERS).contains(&givers.len()) && is_of_model).then_some(ALL_OF_MODEL)
}

/// Returns the giver of a whole argument, if all of its parts have the same.
pub fn of_argument<'a>(givers: &'a [ArgumentGiver], argument: &str) -> Option<&'a Giver> {
    if of_all(givers).is_some() {
        return None;
    }
    let mut own = givers.iter().filter(|one| one.argument == argument).map(|one| &one.giver);
    let first = own.next()?;
    own.all(|other| other == first).then_some(first)
}

/// Returns the parts of an argument with their givers, if they differ.
pub fn of_parts<'a>(givers: &'a [ArgumentGiver], argument: &str) -> Vec<(&'a str, &'a Giver)> {
    if of_argument(givers, argument).is_some() || of_all(givers).is_some() {
        return vec![];
    }
    let own = givers.iter().filter(|one| one.argument == argument);
    own.map(|one| (one.part.as_deref().unwrap_or("the rest"), &one.giver)).collect()
}

/// Returns a part of an argument, with its giver in words.
pub fn of_part(part: &str, giver: &Giver) -> Quoting {
    Quoting::name(part).and(" ").then(&quoting(giver))
}

/// Returns a word for the kind of a giver. Calls look alike only if it is the same.
pub(super) fn kind(giver: &Giver) -> &'static str {
    match giver {
        Giver::User { named: None } => "user",
        Giver::User { named: Some(_) } => "named",
        Giver::Document { is_whole: true, .. } => "document",
        Giver::Document { is_whole: false, .. } => "partly",
        Giver::Unknown => "nobody",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn giver_is_shown_in_words() {
        let places = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        for (giver, words) in [
            (Giver::User { named: None }, "from you"),
            (
                Giver::User { named: Some("docs/bill.txt".into()) },
                "from a text that you named: “docs/bill.txt”",
            ),
            (Giver::Document { places: places(&["a.txt"]), is_whole: true }, "from the text “a.txt”"),
            (
                Giver::Document { places: places(&["a", "b", "c", "d"]), is_whole: false },
                "partly from the texts “a”, “b”, “c” and 1 more",
            ),
            // These names read like words of Almoner.
            (Giver::Document { places: places(&["you"]), is_whole: true }, "from the text “you”"),
            (
                Giver::Document { places: places(&["a text that you named: x"]), is_whole: true },
                "from the text “a text that you named: x”",
            ),
            (
                Giver::Document { places: places(&["a”, from you"]), is_whole: true },
                r"from the text “a\u{201D}, from you”",
            ),
            (Giver::Unknown, "from the model alone"),
        ] {
            assert_eq!(quoting(&giver).text(), words);
        }
    }

    #[test]
    fn place_of_a_trace_is_quoted() {
        let trace = |document: &str, call: Option<&str>, how: &str| Trace {
            argument: "to".into(),
            text: "x".into(),
            document: document.into(),
            call: call.map(str::to_owned),
            how: how.into(),
        };
        for (trace, words) in [
            (trace("you", None, "as written"), "the text “you”"),
            (
                trace("mcp:m/find", Some("query \"rent\""), "base64"),
                "the result of “mcp:m/find (query \"rent\")”",
            ),
            (trace("the model m", None, "as written"), "the text “the model m”"),
            (trace("the model m", None, NOT_READ), "the model m"),
        ] {
            assert_eq!(source(&trace).text(), words);
        }
    }

    #[test]
    fn model_is_named_once_if_all_arguments_are_its_own() {
        let of =
            |argument: &str, giver: Giver| ArgumentGiver { argument: argument.into(), part: None, giver };
        let all = [of("to", Giver::Unknown), of("body", Giver::Unknown)];
        assert_eq!((of_all(&all), of_argument(&all, "to")), (Some(ALL_OF_MODEL), None));
        let some = [of("to", Giver::Unknown), of("body", Giver::User { named: None })];
        assert_eq!((of_all(&some), of_argument(&some, "to")), (None, Some(&Giver::Unknown)));
        assert_eq!(of_all(&all[..1]), None);
    }

    #[test]
    fn parts_are_shown_only_if_their_givers_differ() {
        let part = |part: &str, giver: Giver| ArgumentGiver {
            argument: "to".into(),
            part: Some(part.into()),
            giver,
        };
        let user = Giver::User { named: None };
        let same = [part("a", user.clone()), part("b", user.clone())];
        assert_eq!((of_argument(&same, "to"), of_parts(&same, "to")), (Some(&user), vec![]));
        let differ = [part("a", user.clone()), part("b", Giver::Unknown)];
        assert_eq!(of_argument(&differ, "to"), None);
        assert_eq!(of_parts(&differ, "to"), [("a", &user), ("b", &Giver::Unknown)]);
        assert_eq!((of_argument(&differ, "cc"), of_parts(&differ, "cc")), (None, vec![]));
    }
}
