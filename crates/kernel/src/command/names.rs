//! Commands about names, agents, grants and kept values.

use serde::{Deserialize, Serialize};

use crate::formula::Tree;
use crate::grant::Attenuation;
use crate::id::{BlobHash, FormulaId, GrantNumber, Number};
use crate::name::NamePath;
use crate::proposal::Value;

/// An act on names. Every path begins in the actor's own directory, or in a directory that the actor holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum NameAct {
    /// Keeps a value under a name.
    StoreValue {
        /// The value. The actor must hold the references in it.
        value: Value,
        /// The name.
        path: NamePath,
    },
    /// Keeps bytes, which lie beside the store already, under a name.
    StoreBlob {
        /// The hash of the bytes.
        hash: BlobHash,
        /// The number of bytes.
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
    /// Moves the formula behind one name to another name.
    Move {
        /// The old name.
        from: NamePath,
        /// The new name.
        to: NamePath,
    },
    /// Gives the formula behind one name a second name.
    Copy {
        /// The name that stays.
        from: NamePath,
        /// The new name.
        to: NamePath,
    },
    /// Makes an empty directory.
    MakeDirectory {
        /// The name of the directory.
        path: NamePath,
    },
    /// Finds the object that was made under the name, or makes it.
    Provide {
        /// The object to find or make.
        thing: ProvidedObject,
        /// The name.
        path: NamePath,
    },
    /// Performs an act, if a name still stands for the formula that the actor has seen. This must be the outermost
    /// act.
    IfUnchanged {
        /// The name.
        path: NamePath,
        /// The formula that the name stood for.
        is: FormulaId,
        /// The act to perform.
        act: Box<NameAct>,
    },
    /// Performs an act, even if a new name looks like another one in its directory. This act must be outside of
    /// [`NameAct::Within`].
    Forced {
        /// The act to perform.
        act: Box<NameAct>,
    },
    /// Performs an act whose paths all begin in a directory that the actor holds. The directory may have any name, or
    /// none.
    Within {
        /// The directory.
        base: FormulaId,
        /// The act to perform in the directory.
        act: Box<NameAct>,
    },
}

/// An object that is found under a name, or made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "object", rename_all = "snake_case")]
pub enum ProvidedObject {
    /// A directory of this machine. Only a host makes one.
    Mount {
        /// The absolute path of the directory.
        path: String,
        /// Whether the directory is read-only.
        read_only: bool,
    },
    /// A directory that the daemon keeps itself. Only a host makes one.
    Scratch {
        /// Whether the directory is read-only.
        read_only: bool,
    },
    /// Files and directories that never change; their bytes lie beside the store already.
    Tree(Tree),
    /// A place for code to run. Only a host makes one.
    Vat,
}

/// The command that makes an agent, or finds the agent that was made under the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProvideAgent {
    /// The kind of the agent, which says whether the agent may endow.
    pub kind: AgentKind,
    /// The name for the handle of the agent.
    pub name: Option<NamePath>,
    /// The name for the agent itself. An agent that reaches this name has the powers of the new agent.
    pub agent_name: Option<NamePath>,
    /// Pairs of names: the actor's name for a thing, and the new agent's name for it. The new agent gets a grant of
    /// the thing.
    pub introduced: Vec<(String, String)>,
}

/// The kind of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// An agent that acts for a person and may endow.
    Host,
    /// An agent that holds only the things it was given.
    Guest,
}

/// An act on the right to use things.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "right", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a command is applied one by one, and never kept in memory")]
pub enum GrantAct {
    /// Makes a one-use token for something.
    Share {
        /// The name of the thing.
        path: NamePath,
        /// The BLAKE3 hash of the token, which the kernel never sees.
        token: Number,
        /// The time at which the token expires, in milliseconds since 1970.
        expires_ms: i64,
    },
    /// Uses a token: the actor gets a grant, and the token is gone.
    Accept {
        /// The BLAKE3 hash of the token.
        token: Number,
        /// The actor's name for the grant.
        path: NamePath,
    },
    /// Ends a grant that the actor gave, and every grant that was made of it.
    Revoke {
        /// The number of the grant.
        grant: GrantNumber,
    },
    /// Gives a name to a narrower grant of something the actor holds.
    Attenuate {
        /// The name of the thing.
        path: NamePath,
        /// The formula for which the name stood when the person chose it. If the name stands for another formula by
        /// now, the command is refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is: Option<FormulaId>,
        /// The methods that stay.
        methods: Vec<String>,
        /// The other restrictions.
        attenuation: Attenuation,
        /// The time at which the new grant expires, in milliseconds since 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_ms: Option<i64>,
        /// The new name.
        to: NamePath,
        /// Whether the new name is used even if it looks like another one in its directory.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
}
