//! Commands about names, agents, grants and kept values.

use serde::{Deserialize, Serialize};

use crate::formula::Tree;
use crate::grant::Attenuation;
use crate::id::{BlobHash, FormulaId, GrantNumber, Number};
use crate::name::NamePath;
use crate::proposal::Value;

/// An act on names. Every path begins in the actor's own directory, or in one that it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum NameAct {
    /// Keeps a value under a name.
    StoreValue {
        /// The value. References in it must be held by the actor.
        value: Value,
        /// The name.
        path: NamePath,
    },
    /// Keeps bytes, which lie beside the store already, under a name.
    StoreBlob {
        /// Their hash.
        hash: BlobHash,
        /// How many there are.
        bytes: u64,
        /// The name.
        path: NamePath,
    },
    /// Gives a name to a formula that the actor holds.
    StoreIdentifier {
        /// The formula.
        id: FormulaId,
        /// The name.
        path: NamePath,
    },
    /// Takes a name away. The formula behind it stays as long as something else refers to it.
    Remove {
        /// The name.
        path: NamePath,
    },
    /// Gives the formula behind one name another name, and takes the first name away.
    Move {
        /// The name that goes.
        from: NamePath,
        /// The name that comes.
        to: NamePath,
    },
    /// Gives the formula behind one name a second name.
    Copy {
        /// The name that stays.
        from: NamePath,
        /// The name that comes.
        to: NamePath,
    },
    /// Makes an empty directory.
    MakeDirectory {
        /// Its name.
        path: NamePath,
    },
    /// Finds the thing that was made under the name, or makes it.
    Provide {
        /// The thing to find or make.
        thing: ProvidedObject,
        /// The name.
        path: NamePath,
    },
    /// The same, if a name still stands for the formula that the actor has seen. Must be the outermost act.
    IfUnchanged {
        /// The name.
        path: NamePath,
        /// The formula that the name stood for.
        is: FormulaId,
        /// The act to perform.
        act: Box<NameAct>,
    },
    /// The same, even where a new name looks like another one in its directory. Outside of [`NameAct::Within`].
    Forced {
        /// The act to perform.
        act: Box<NameAct>,
    },
    /// The same, with every path beginning in a directory that the actor holds, under any name or none.
    Within {
        /// The directory.
        base: FormulaId,
        /// The act to perform there.
        act: Box<NameAct>,
    },
}

/// A thing that is found under a name, or made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "object", rename_all = "snake_case")]
pub enum ProvidedObject {
    /// A directory of this machine. Only a host makes one.
    Mount {
        /// Its absolute path.
        path: String,
        /// Whether nothing in it may be changed.
        read_only: bool,
    },
    /// A directory that the daemon keeps itself. Only a host makes one.
    Scratch {
        /// Whether nothing in it may be changed.
        read_only: bool,
    },
    /// Files and directories that never change; their bytes lie beside the store already.
    Tree(Tree),
    /// A place for code to run. Only a host makes one.
    Vat,
}

/// Makes an agent, or finds the one that was made under the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProvideAgent {
    /// Whether it may endow.
    pub kind: AgentKind,
    /// The name of its handle.
    pub name: Option<NamePath>,
    /// The name of the agent itself: an agent that reaches it has its powers.
    pub agent_name: Option<NamePath>,
    /// Names of the actor's and the names under which the new agent knows the same things, as grants.
    pub introduced: Vec<(String, String)>,
}

/// Which kind of agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// It acts for a person and may endow.
    Host,
    /// It holds only the things it was given.
    Guest,
}

/// An act on the right to use things.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "right", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a command is applied one by one, and never kept in memory")]
pub enum GrantAct {
    /// Makes a one-use token for something.
    Share {
        /// The name of the thing.
        path: NamePath,
        /// The BLAKE3 hash of the token, which the kernel never sees.
        token: Number,
        /// When it ends by itself, in milliseconds since 1970.
        expires_ms: i64,
    },
    /// Uses a token: the actor gets a grant, and the token is gone.
    Accept {
        /// The BLAKE3 hash of the token.
        token: Number,
        /// The name that the actor gives it.
        path: NamePath,
    },
    /// Ends a grant that the actor gave, and with it every grant that was made of it.
    Revoke {
        /// Which.
        grant: GrantNumber,
    },
    /// Gives a name to a narrower grant of something the actor holds.
    Attenuate {
        /// The name of the thing.
        path: NamePath,
        /// The formula that the name stood for when it was chosen. If it stands for another one by now, the command
        /// is refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is: Option<FormulaId>,
        /// The methods that stay.
        methods: Vec<String>,
        /// The other restrictions.
        attenuation: Attenuation,
        /// When it ends by itself, in milliseconds since 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_ms: Option<i64>,
        /// The new name.
        to: NamePath,
        /// Even if the name looks like another one in its directory.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
}
