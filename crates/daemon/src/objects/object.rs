//! The objects that a client can see.

use kernel::facet;
use kernel::formula::Tree;
use kernel::{BlobHash, FormulaId, MessageNumber};

/// One of the objects that a client can see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RemoteObject {
    /// A formula.
    Object(Object),
    /// A promise of the store's.
    Promise {
        /// The promise.
        id: FormulaId,
        /// The agent on whose behalf it is waited for.
        agent: FormulaId,
        /// The grants through which it was found. Its value is found through them as well.
        through: Vec<FormulaId>,
    },
    /// Whether a promise of the store's was kept, in a word, once it settles.
    Settled {
        /// The promise.
        id: FormulaId,
    },
    /// That a message was dismissed, once it is.
    Dismissed {
        /// In whose mailbox.
        agent: FormulaId,
        /// Its number there.
        number: MessageNumber,
    },
    /// An iterator.
    Iterator,
    /// The first object that a client of the gateway sees.
    GatewayLogin,
    /// Something that was looked up in a directory or a tree.
    Part(Box<Part>),
    /// An object of a heap that lasts as long as the heap.
    Live(LiveObject),
    /// Something that ended with a heap.
    Ended,
}

impl RemoteObject {
    /// Returns the cause that settles it, if it is a promise.
    pub(crate) fn cause(&self) -> Option<SettlementCause> {
        match self {
            RemoteObject::Promise { id, .. } | RemoteObject::Settled { id } => {
                Some(SettlementCause::Settled(*id))
            }
            RemoteObject::Dismissed { agent, number } => Some(SettlementCause::Dismissed(*agent, *number)),
            RemoteObject::Object(_)
            | RemoteObject::Iterator
            | RemoteObject::GatewayLogin
            | RemoteObject::Part(_)
            | RemoteObject::Live(_)
            | RemoteObject::Ended => None,
        }
    }
}

/// The cause that settles a promise here, as events tell it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SettlementCause {
    Settled(FormulaId),
    Dismissed(FormulaId, MessageNumber),
}

/// A formula as somebody reaches it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// The formula.
    pub id: FormulaId,
    /// The agent on whose behalf it is called.
    pub agent: FormulaId,
    /// The grants through which it was found: it can be used as long as they last.
    pub through: Vec<FormulaId>,
}

/// An object that code made after it had come to its end: it has no identity that lasts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LiveObject {
    /// The code.
    pub eval: FormulaId,
    /// The heap: another one, made after a restart, has other objects.
    pub heap: u64,
    /// The number by which the heap knows the object.
    pub number: u32,
    /// The grants through which it was found: it can be used as long as they last.
    pub through: Vec<FormulaId>,
}

/// A part of a directory or tree that was looked up. It is no formula: it can be used as long as the directory or
/// tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// The directory or tree, as it was reached.
    pub root: Object,
    /// A tree that is no formula: the content of the place when a caller asked for it.
    pub taken: Option<Tree>,
    /// The names that lead to it.
    pub place: Vec<String>,
    /// The kind of the part.
    pub kind: facet::Part,
    /// Whether nothing in it may be changed, even if its root may be.
    pub read_only: bool,
}

/// A part of a tree that was kept.
pub enum StoredPart {
    /// A file.
    File {
        /// Its hash.
        hash: BlobHash,
        /// How many bytes it has.
        bytes: u64,
        /// The hash by which Endo's clients know it.
        sha256: String,
    },
    /// A directory.
    Tree(Tree),
}
