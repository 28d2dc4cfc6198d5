//! The objects that a client can see.

use kernel::facet;
use kernel::formula::Tree;
use kernel::{BlobHash, FormulaId, MessageNumber};

/// One of the objects that a client can see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RemoteObject {
    /// A formula.
    Object(Object),
    /// A promise of the store.
    Promise {
        /// The promise.
        id: FormulaId,
        /// The agent on whose behalf the client waits for the promise.
        agent: FormulaId,
        /// The grants through which the promise was found. Its value is found through them as well.
        through: Vec<FormulaId>,
    },
    /// A promise for a word that tells whether a promise of the store was fulfilled or rejected.
    Settled {
        /// The promise.
        id: FormulaId,
    },
    /// A promise that settles when a message is dismissed.
    Dismissed {
        /// The agent whose mailbox has the message.
        agent: FormulaId,
        /// The number of the message in that mailbox.
        number: MessageNumber,
    },
    /// An iterator.
    Iterator,
    /// The first object that a client of the gateway sees.
    GatewayLogin,
    /// A part of a directory or a tree that a client has looked up.
    Part(Box<Part>),
    /// An object of a heap that lasts as long as the heap.
    Live(LiveObject),
    /// An object that ended together with its heap.
    Ended,
}

impl RemoteObject {
    /// Returns the cause that settles the object, if the object is a promise.
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

/// The cause that settles a promise here, in the form in which events report it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SettlementCause {
    Settled(FormulaId),
    Dismissed(FormulaId, MessageNumber),
}

/// A formula, with the agent and the grants through which a client reaches it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// The formula.
    pub id: FormulaId,
    /// The agent on whose behalf the formula is called.
    pub agent: FormulaId,
    /// The grants through which the formula was found. It can be used as long as they last.
    pub through: Vec<FormulaId>,
}

/// An object that code made after it had ended. It has no lasting identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LiveObject {
    /// The code that made the object.
    pub eval: FormulaId,
    /// The heap of the object. A heap that is made after a restart has other objects.
    pub heap: u64,
    /// The number by which the heap knows the object.
    pub number: u32,
    /// The grants through which the object was found. It can be used as long as they last.
    pub through: Vec<FormulaId>,
}

/// A part of a directory or tree that a client has looked up. It is not a formula, and can be used as long as the
/// directory or tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// The directory or tree, with the grants through which it was reached.
    pub root: Object,
    /// The tree of a snapshot, if the part is in one. Such a tree is not a formula.
    pub taken: Option<Tree>,
    /// The names that lead to the part.
    pub place: Vec<String>,
    /// The kind of the part.
    pub kind: facet::Part,
    /// Whether nothing in the part may be changed, even if its root allows changes.
    pub read_only: bool,
}

/// A part of a tree that was stored.
pub enum StoredPart {
    /// A file.
    File {
        /// The hash of the file's bytes.
        hash: BlobHash,
        /// The size of the file, in bytes.
        bytes: u64,
        /// The hash by which Endo's clients know the file.
        sha256: String,
    },
    /// A directory.
    Tree(Tree),
}
