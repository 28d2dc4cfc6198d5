//! The places of a run: directories in which a change means more than the change itself, such as a mail spool.
//!
//! A call is judged by the place that it reaches, whatever slot leads there. One table holds every such place
//! ([`Places`]). A capability says which places a call may change ([`ChangeScope`]), and [`Places::apply`] adds the meaning
//! to the facts of the call.

use kernel::proposal::{Effect, Finding};
use passable::{quoting, visible_line};

use crate::facts::Facts;

/// The identity of a directory: its file system, and its number there. All paths to a directory lead to one identity,
/// also over a bind mount or in a file system that ignores the case of letters.
pub type DirectoryId = (u64, u64);

/// A path on this machine, as it was when somebody looked.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The absolute path, with all links followed as far as it exists.
    pub path: String,
    /// The identity of the directory at the path, or `None` if there is no directory.
    pub id: Option<DirectoryId>,
    /// The identities of the directories above the path that exist, from the nearest to the root.
    pub above: Vec<DirectoryId>,
}

impl Location {
    /// Returns whether this path is the other one, or lies below it.
    fn is_within(&self, other: &Location) -> bool {
        let is_same = |id: DirectoryId| self.id == Some(id) || self.above.contains(&id);
        let below = self.path.strip_prefix(other.path.trim_end_matches('/'));
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) || other.id.is_some_and(is_same)
    }
}

/// The meaning of a change in a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceMeaning {
    /// The directory is a mail spool: a mailer sends what is written there.
    Spool,
    /// Services of this machine send, print or start what is written there.
    Queue,
    /// The tool server in a slot of the run works in the directory.
    Server {
        /// The slot.
        slot: String,
        /// The name of the server.
        server: String,
    },
    /// The directory is the working tree of the repository in a slot of the run.
    Repository {
        /// The slot.
        slot: String,
    },
}

impl PlaceMeaning {
    /// Returns whether a change in such a place sends something.
    pub fn sends(&self) -> bool {
        matches!(self, PlaceMeaning::Spool | PlaceMeaning::Queue)
    }

    /// Returns the slot of the run through which the place is known, if it is one.
    fn slot(&self) -> Option<&str> {
        match self {
            PlaceMeaning::Spool | PlaceMeaning::Queue => None,
            PlaceMeaning::Server { slot, .. } | PlaceMeaning::Repository { slot } => Some(slot),
        }
    }

    /// Returns a place of this meaning as a phrase.
    pub fn phrase(&self, path: &str) -> String {
        let path = visible_line(path);
        match self {
            PlaceMeaning::Spool => format!("the mail spool {path}"),
            PlaceMeaning::Queue => format!("the queue {path} of this machine's services"),
            PlaceMeaning::Server { slot, server } => {
                format!("{path}, where the server {} of `{}` works", visible_line(server), visible_line(slot))
            }
            PlaceMeaning::Repository { slot } => {
                format!("{path}, the working tree of `{}`", visible_line(slot))
            }
        }
    }
}

/// A directory in which a change means more than the change itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The directory.
    pub location: Location,
    /// The meaning of a change in the directory.
    pub meaning: PlaceMeaning,
}

/// The files that a call may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeScope {
    /// The path of the one entry, or of the directory.
    pub location: Location,
    /// Whether the call may change everything below the path. Otherwise it writes, removes or replaces the entry at the
    /// path. If the entry is a directory, its content goes with it.
    pub is_tree: bool,
    /// The name of the parameter that names the path.
    pub argument: &'static str,
}

impl ChangeScope {
    /// Returns whether all that the call may change lies in a place.
    pub fn lies_in(&self, place: &Location) -> bool {
        self.location.is_within(place)
    }

    /// Returns whether the call may change something in a place. A call that replaces a directory above a place, for
    /// instance by a link, decides what lies in the place.
    pub fn meets(&self, place: &Location) -> bool {
        self.lies_in(place) || place.is_within(&self.location)
    }

    /// Returns whether the call changes something in a place for certain.
    fn is_certain(&self, place: &Location) -> bool {
        !self.is_tree && self.lies_in(place)
    }
}

/// A place that a call reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceFact {
    /// The name of the parameter that names the path.
    pub argument: &'static str,
    /// The directory, by its path with all links followed.
    pub path: String,
    /// The meaning of a change there.
    pub meaning: PlaceMeaning,
    /// Whether the call changes something there for certain. Otherwise it only could.
    pub is_certain: bool,
}

impl PlaceFact {
    /// Returns the fact as a clause for the line of a card.
    pub fn clause(&self) -> String {
        let place = self.meaning.phrase(&self.path);
        match self.is_certain {
            true => format!("in {place}, which sends it"),
            false => format!("able to write in {place}, which sends it"),
        }
    }
}

/// The table of all places that have a meaning for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(Vec<Place>);

impl FromIterator<Place> for Places {
    fn from_iter<I: IntoIterator<Item = Place>>(places: I) -> Places {
        let mut all: Vec<Place> = places.into_iter().collect();
        all.sort();
        all.dedup();
        Places(all)
    }
}

impl Places {
    /// Returns the places that a call may change. `own_slot` is the slot through which the call is made, whose own
    /// places have no further meaning.
    pub fn met(&self, scopes: &[ChangeScope], own_slot: &str) -> Vec<PlaceFact> {
        let mut all: Vec<PlaceFact> = Vec::new();
        for place in &self.0 {
            let at = &place.location;
            let certain = scopes.iter().find(|scope| scope.is_certain(at));
            let Some(scope) = certain.or_else(|| scopes.iter().find(|scope| scope.meets(at))) else {
                continue;
            };
            if place.meaning.slot() == Some(own_slot) {
                continue;
            }
            all.push(PlaceFact {
                argument: scope.argument,
                path: at.path.clone(),
                meaning: place.meaning.clone(),
                is_certain: scope.is_certain(at),
            });
        }
        all
    }

    /// Returns the places that send and that these changes may reach.
    pub fn sending<'a>(
        &'a self,
        scopes: &'a [ChangeScope],
    ) -> impl Iterator<Item = (&'a Place, &'a ChangeScope)> {
        self.0
            .iter()
            .filter(|place| place.meaning.sends())
            .filter_map(|place| Some((place, scopes.iter().find(|scope| scope.meets(&place.location))?)))
    }

    /// Adds the places that a call may change to its facts. A call that may change a place that sends counts as one
    /// that sends.
    pub fn apply(&self, facts: &mut Facts, scopes: &[ChangeScope], own_slot: &str) {
        let met = self.met(scopes, own_slot);
        if let Some(sending) = met.iter().find(|place| place.meaning.sends()) {
            facts.raises = facts.raises.max(Some(Effect::Commit));
            facts.line.push_str(&format!(", {}", sending.clause()));
        }
        facts.places.extend(met);
    }
}

/// Returns the finding that the places of this machine cannot be found out now, so that no change can be judged.
pub fn unknown_places() -> Finding {
    Finding::new("places/unknown", "which directories send mail cannot be found out now")
        .at("method")
        .allowed("the same call, once the store can be read")
}

/// Returns the finding that a call was judged before a place on its way became one that sends.
pub fn became_sending(place: &PlaceFact) -> Finding {
    let (what, shown) = (place.meaning.phrase(&place.path), visible_line(&place.path).into_owned());
    Finding::new(
        "places/sends",
        quoting!("the call reaches {}, which was not known when the call was judged", what),
    )
    .at(place.argument)
    .counter_example(shown)
    .allowed("the same call once more: it is judged as one that sends")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a location whose directories have these numbers on one file system, from the path itself upwards. The
    /// number 0 stands for a path without a directory.
    fn at(path: &str, ids: &[u64]) -> Location {
        let id = |number: &u64| (1, *number);
        Location {
            path: path.to_owned(),
            id: ids.first().filter(|number| **number != 0).map(id),
            above: ids.iter().skip(1).map(id).collect(),
        }
    }

    fn spools(location: Location) -> Places {
        [Place { location, meaning: PlaceMeaning::Spool }].into_iter().collect()
    }

    #[test]
    fn change_that_reaches_a_spool_sends() {
        let spool = || at("/w/outbox", &[3, 2, 1]);
        for (reached, entry, tree) in [
            // Reported of other programs: anomalyco/opencode#43336 (a link in the workspace leads elsewhere),
            // cosmicstack-labs/mercury-agent#127 (a new file counts by its nearest directory),
            // kaitranntt/ccs#1629 (another case of letters leads to the same directory).
            (at("/w/outbox/r1.eml", &[0, 3, 2, 1]), true, true),
            (at("/w/outbox", &[3, 2, 1]), true, true),
            (at("/w/outbox/sub/r1.eml", &[0, 4, 3, 2, 1]), true, true),
            // A directory above the spool that is removed, or replaced by a link.
            (at("/w", &[2, 1]), true, true),
            (at("/", &[1]), true, true),
            (at("/w/out", &[5, 2, 1]), false, false),
            (at("/w/outbox2", &[6, 2, 1]), false, false),
            (at("/w/outbox.eml", &[0, 2, 1]), false, false),
            // A bind mount of the spool, of a directory in it and of the directory around it.
            (at("/mnt/r1.eml", &[0, 3, 1]), true, true),
            (at("/mnt/w/outbox/r1.eml", &[0, 3, 2, 1]), true, true),
            (at("/mnt", &[2, 1]), true, true),
            // A file system that ignores the case of letters.
            (at("/w/OUTBOX/r1.eml", &[0, 3, 2, 1]), true, true),
            // A directory on the way that does not exist yet.
            (at("/w/outbox/new/r1.eml", &[0, 3, 2, 1]), true, true),
        ] {
            for (is_tree, meets) in [(false, entry), (true, tree)] {
                let scope = ChangeScope { location: reached.clone(), is_tree, argument: "path" };
                let mut facts = Facts { line: "writes".to_owned(), ..Facts::default() };
                spools(spool()).apply(&mut facts, &[scope], "out");
                assert_eq!(facts.raises, meets.then_some(Effect::Commit), "{reached:?} {is_tree}");
                assert_eq!(facts.places.len(), usize::from(meets), "{reached:?} {is_tree}");
                assert_eq!(facts.line.contains("the mail spool /w/outbox"), meets, "{}", facts.line);
            }
        }
    }

    #[test]
    fn missing_spool_is_met_by_its_path() {
        // Somebody has removed the spool, and a call makes it anew.
        let spool = at("/w/outbox", &[0, 2, 1]);
        for (path, meets) in [
            ("/w/outbox/a.eml", true),
            ("/w/outbox", true),
            ("/w", true),
            ("/w/other", false),
            ("/wo", false),
        ] {
            let scope = ChangeScope { location: at(path, &[0, 2, 1]), is_tree: false, argument: "path" };
            assert_eq!(spools(spool.clone()).met(&[scope], "out").len(), usize::from(meets), "{path}");
        }
    }

    #[test]
    fn replaced_directory_above_a_spool_only_could_write_there() {
        let scope = |path: &str, ids: &[u64]| ChangeScope {
            location: at(path, ids),
            is_tree: false,
            argument: "name",
        };
        let met = |scopes: &[ChangeScope]| spools(at("/w/outbox", &[3, 2, 1])).met(scopes, "out");
        let above = scope("/w", &[2, 1]);
        let inside = scope("/w/outbox/a.eml", &[0, 3, 2, 1]);
        assert!(!met(std::slice::from_ref(&above))[0].is_certain);
        // The certain change is the one that is told.
        assert!(met(&[above, inside])[0].is_certain);
    }

    #[test]
    fn shared_directory_is_named_without_raising() {
        let meaning = PlaceMeaning::Server { slot: "fs".to_owned(), server: "files".to_owned() };
        let places: Places = [Place { location: at("/w", &[2, 1]), meaning }].into_iter().collect();
        let scope = ChangeScope { location: at("/w/a.txt", &[0, 2, 1]), is_tree: false, argument: "path" };
        let mut facts = Facts::default();
        places.apply(&mut facts, std::slice::from_ref(&scope), "out");
        assert_eq!((facts.raises, facts.places.len()), (None, 1));
        // The server's own calls have no second meaning there.
        assert!(places.met(&[scope], "fs").is_empty());
    }
}
