//! The names that the two ends of a session give to references.

use std::collections::{BTreeSet, HashMap};

use switchboard::Ref;

use crate::slot::{Kind, Slot};

/// The references of this end that the peer knows, by reference and by the name that this end chose.
#[derive(Default)]
pub(crate) struct Exports {
    names: HashMap<Ref, Export>,
    references: HashMap<(Kind, u64), Ref>,
    objects: u64,
    promises: u64,
}

pub(crate) struct Export {
    pub(crate) kind: Kind,
    pub(crate) number: u64,
    /// The number of messages that have mentioned the reference, less those that the peer has dropped.
    mentions: u64,
}

impl Exports {
    /// Returns the name of a reference, if it has one.
    pub(crate) fn name(&self, of: Ref) -> Option<Slot> {
        self.names.get(&of).map(|export| Slot::own(export.kind, export.number))
    }

    /// Gives a reference a new name, and returns the name.
    pub(crate) fn add(&mut self, reference: Ref, kind: Kind) -> Slot {
        let counter = if kind == Kind::Promise { &mut self.promises } else { &mut self.objects };
        *counter += 1;
        let number = *counter;
        self.names.insert(reference, Export { kind, number, mentions: 0 });
        self.references.insert((kind, number), reference);
        Slot::own(kind, number)
    }

    /// Returns the reference with a name.
    pub(crate) fn find(&self, kind: Kind, number: u64) -> Option<Ref> {
        self.references.get(&(kind, number)).copied()
    }

    /// Counts one more message that mentions the reference.
    pub(crate) fn mention(&mut self, reference: Ref) {
        if let Some(export) = self.names.get_mut(&reference) {
            export.mentions += 1;
        }
    }

    /// Subtracts mentions that the peer has dropped. Returns the reference as soon as no mention is left.
    pub(crate) fn drop(&mut self, kind: Kind, number: u64, mentions: u64) -> Option<Ref> {
        let reference = self.find(kind, number)?;
        let export = self.names.get_mut(&reference)?;
        if export.mentions > mentions {
            export.mentions -= mentions;
            return None;
        }
        self.names.remove(&reference);
        self.references.remove(&(kind, number))
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }
}

/// The peer's references that this end knows, by the name that the peer chose and by reference.
#[derive(Default)]
pub(crate) struct Imports {
    references: HashMap<(Kind, u64), Import>,
    names: HashMap<Ref, (Kind, u64)>,
}

#[derive(Clone, Copy)]
pub(crate) struct Import {
    pub(crate) reference: Ref,
    /// The number of messages that have mentioned the reference since it was last dropped.
    pub(crate) mentions: u64,
}

impl Imports {
    pub(crate) fn find(&self, kind: Kind, number: u64) -> Option<Import> {
        self.references.get(&(kind, number)).copied()
    }

    /// Returns the name that the peer chose for the reference.
    pub(crate) fn name(&self, of: Ref) -> Option<Slot> {
        self.names.get(&of).map(|(kind, number)| Slot::theirs(*kind, *number))
    }

    /// Binds a name to a reference. The mentions that the name has already are kept.
    pub(crate) fn put(&mut self, kind: Kind, number: u64, reference: Ref) {
        let mentions = match self.references.get(&(kind, number)) {
            Some(before) => {
                self.names.remove(&before.reference);
                before.mentions
            }
            None => 0,
        };
        self.references.insert((kind, number), Import { reference, mentions });
        self.names.insert(reference, (kind, number));
    }

    pub(crate) fn mention(&mut self, kind: Kind, number: u64) {
        if let Some(import) = self.references.get_mut(&(kind, number)) {
            import.mentions += 1;
        }
    }

    /// Forgets a name. Returns its entry.
    pub(crate) fn remove(&mut self, kind: Kind, number: u64) -> Option<Import> {
        let import = self.references.remove(&(kind, number))?;
        self.names.remove(&import.reference);
        Some(import)
    }

    pub(crate) fn len(&self) -> usize {
        self.references.len()
    }
}

/// The questions that the peer has asked this end.
#[derive(Default)]
pub(crate) struct Answers {
    promises: HashMap<u64, Answer>,
    /// The answered questions: the count of sent bytes from which the answer's age is measured, and the number of the
    /// question.
    returned: BTreeSet<(u64, u64)>,
    open: usize,
}

struct Answer {
    promise: Ref,
    is_open: bool,
    /// The count of sent bytes from which the answer's age is measured: its key in `returned`.
    at: u64,
    /// Whether the peer wants no answer any more.
    is_dropped: bool,
}

/// The result of closing a question.
pub(crate) enum CloseOutcome {
    /// The peer gets the answer, and may still name the question.
    Answered,
    /// The peer gets the answer, but has already dropped it. So the answer is not remembered.
    Dropped(Ref),
    /// The question was answered before, or never asked.
    Unknown,
}

impl Answers {
    pub(crate) fn find(&self, question: u64) -> Option<Ref> {
        self.promises.get(&question).map(|answer| answer.promise)
    }

    /// Returns the promise of a question for a call that names the question. The peer may name it again, so its age
    /// starts anew.
    pub(crate) fn use_at(&mut self, question: u64, at: u64) -> Option<Ref> {
        let answer = self.promises.get_mut(&question)?;
        if !answer.is_open && answer.at < at {
            self.returned.remove(&(answer.at, question));
            self.returned.insert((at, question));
            answer.at = at;
        }
        Some(answer.promise)
    }

    pub(crate) fn add(&mut self, question: u64, promise: Ref) {
        self.promises.insert(question, Answer { promise, is_open: true, at: 0, is_dropped: false });
        self.open += 1;
    }

    /// Returns the number of questions that are not answered yet.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// Marks a question as answered. `at` is the count of sent bytes from which the answer's age is measured.
    pub(crate) fn close(&mut self, question: u64, at: u64) -> CloseOutcome {
        let Some(answer) = self.promises.get_mut(&question).filter(|answer| answer.is_open) else {
            return CloseOutcome::Unknown;
        };
        answer.is_open = false;
        answer.at = at;
        self.open -= 1;
        if answer.is_dropped {
            let promise = answer.promise;
            self.promises.remove(&question);
            return CloseOutcome::Dropped(promise);
        }
        self.returned.insert((at, question));
        CloseOutcome::Answered
    }

    /// Drops an answer. If the question is already answered, the answer is forgotten and its promise is returned.
    pub(crate) fn drop(&mut self, question: u64) -> Option<Ref> {
        let answer = self.promises.get_mut(&question)?;
        if answer.is_open {
            answer.is_dropped = true;
            return None;
        }
        let answer = self.promises.remove(&question)?;
        self.returned.remove(&(answer.at, question));
        Some(answer.promise)
    }

    /// Forgets the oldest answer, if its age is measured from a count of sent bytes below `before`. Returns its
    /// promise.
    pub(crate) fn pop_before(&mut self, before: u64) -> Option<Ref> {
        let &(at, question) = self.returned.first()?;
        if at < before { self.drop(question) } else { None }
    }

    pub(crate) fn len(&self) -> usize {
        self.promises.len()
    }
}
