//! The giver of an argument, in words.

use kernel::proposal::{ArgumentGiver, Giver};
use passable::Quoting;

/// The maximum number of places that are named.
const MAX_PLACES: usize = 3;

/// Returns the giver of a value in words that follow the name of the argument, such as `from you`. Names of documents are
/// marked as quoted.
pub fn quoting(giver: &Giver) -> Quoting {
    match giver {
        Giver::User { named: None } => "from you".into(),
        Giver::User { named: Some(place) } => Quoting::ours("from what you named: ").quote(place),
        Giver::Document { places, is_whole } => {
            let from = if *is_whole { "from " } else { "partly from " };
            let named = places.iter().take(MAX_PLACES).map(Quoting::theirs);
            let listed = Quoting::ours(from).then(&Quoting::joined(named, ", "));
            match places.len().saturating_sub(MAX_PLACES) {
                0 => listed,
                more => listed.and(format!(" and {more} more")),
            }
        }
        Giver::Unknown => "from the model alone: neither you nor what it has read gave it".into(),
    }
}

/// Returns the giver of a whole argument, if all of its parts have the same.
pub fn of_argument<'a>(givers: &'a [ArgumentGiver], argument: &str) -> Option<&'a Giver> {
    let mut own = givers.iter().filter(|one| one.argument == argument).map(|one| &one.giver);
    let first = own.next()?;
    own.all(|other| other == first).then_some(first)
}

/// Returns the parts of an argument with their givers, if they differ.
pub fn of_parts<'a>(givers: &'a [ArgumentGiver], argument: &str) -> Vec<(&'a str, &'a Giver)> {
    if of_argument(givers, argument).is_some() {
        return vec![];
    }
    let own = givers.iter().filter(|one| one.argument == argument);
    own.map(|one| (one.part.as_deref().unwrap_or("the rest"), &one.giver)).collect()
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
            (Giver::User { named: Some("docs/bill.txt".into()) }, "from what you named: docs/bill.txt"),
            (Giver::Document { places: places(&["a.txt"]), is_whole: true }, "from a.txt"),
            (
                Giver::Document { places: places(&["a", "b", "c", "d"]), is_whole: false },
                "partly from a, b, c and 1 more",
            ),
            (Giver::Unknown, "from the model alone: neither you nor what it has read gave it"),
        ] {
            assert_eq!(quoting(&giver).text(), words);
        }
    }

    #[test]
    fn parts_are_shown_only_if_their_givers_differ() {
        let part = |part: &str, giver: Giver| ArgumentGiver {
            argument: "to".into(),
            part: Some(part.into()),
            giver,
        };
        let same = [part("a", Giver::Unknown), part("b", Giver::Unknown)];
        assert_eq!((of_argument(&same, "to"), of_parts(&same, "to")), (Some(&Giver::Unknown), vec![]));
        let user = Giver::User { named: None };
        let differ = [part("a", user.clone()), part("b", Giver::Unknown)];
        assert_eq!(of_argument(&differ, "to"), None);
        assert_eq!(of_parts(&differ, "to"), [("a", &user), ("b", &Giver::Unknown)]);
        assert_eq!((of_argument(&differ, "cc"), of_parts(&differ, "cc")), (None, vec![]));
    }
}
