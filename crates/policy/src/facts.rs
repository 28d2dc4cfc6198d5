//! What a proposal is judged on.

use core::net::IpAddr;
use std::collections::BTreeSet;

use kernel::Interface;
use kernel::grant::Grant;
use kernel::id::{BlobHash, FormulaId};
use kernel::proposal::{Effect, Finding, Pin, Proposal, Value};
use kernel::run::{Limits, Usage};
use resource::Kind;
use resource::programs::Interpreter;

use crate::arguments::Names;
use crate::egress::Allowed;
use crate::rules::Rules;

/// What a capability knows of a call before it is made: looked up, never done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// What the call depends on; goes into the proposal and is checked again at the moment of effect.
    pub pins: BTreeSet<Pin>,
    /// The paths that the arguments name.
    pub paths: Vec<PathFact>,
    /// How many bytes the call would write or send.
    pub bytes: Option<u64>,
    /// The file that the call would replace with something else.
    pub overwrites: Option<Overwrite>,
    /// One plain line for the card: "writes report.md in `out` (812 bytes, new file)". Foreign text in it is already
    /// made visible.
    pub line: String,
    /// The servers that the call would reach.
    pub destinations: Vec<Destination>,
    /// What of the web the grant names. What is reached and not named here is refused.
    pub allowed: Vec<Allowed>,
    /// Where what the call says goes, if that is out of this machine and to nobody who is named above.
    pub outlet: Option<Outlet>,
    /// Who outside this machine reads what the call says, because the user handed him over to be told things: a model that
    /// a server answers for. He may read what the run has read, and no secrets.
    pub reader: Option<String>,
    /// What the reader is handed beside the arguments: the texts of documents, by the parameter that names them.
    pub handed: Vec<(String, Value)>,
    /// The program that the call would start.
    pub program: Option<ProgramFact>,
    /// What this very call does to the world, where that is more than its method declares: `git status` reads and
    /// `git push` sends. It only ever raises.
    pub raises: Option<Effect>,
    /// What the capability itself found wrong: the call cannot succeed, or its grant forbids it.
    pub problems: Vec<Finding>,
}

/// A path that an argument names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFact {
    /// The parameter's name.
    pub argument: String,
    /// The path in its plain form, relative to the capability's root.
    pub path: String,
    /// Where it leads if symbolic links inside the capability are followed, if that is somewhere else.
    pub leads_to: Option<String>,
    /// The size of the file there; `None` if there is none.
    pub bytes: Option<u64>,
}

/// A server that a call would reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The parameter that names it.
    pub argument: String,
    /// `http` or `https`.
    pub scheme: String,
    /// The host in its plain form: lower case, an IP address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The method of the request, in capitals.
    pub method: String,
    /// The path, normalised, without the query.
    pub path: String,
    /// What the name resolved to when the facts were gathered. It is resolved and checked again at the moment of effect.
    pub addresses: Vec<IpAddr>,
}

/// Somebody outside this machine who is told what a call says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlet {
    /// Who, in words: `the server github`.
    pub to: String,
    /// What the names of documents begin with that came from there: they are no news there.
    pub home: String,
}

/// A program that a call would start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFact {
    /// The whole argument vector, the program's name first.
    pub argv: Vec<String>,
    /// Where the program lies, all links followed.
    pub path: String,
    /// The digest of its bytes now; that of nothing if there is no such file.
    pub digest: BlobHash,
    /// The digest that it had when it was endowed; `None` if it is none of the endowed programs.
    pub endowed: Option<BlobHash>,
    /// If it is a script: what reads it now.
    pub interpreters: Vec<Interpreter>,
    /// What read it when it was endowed.
    pub endowed_interpreters: Vec<Interpreter>,
    /// The names of the programs that were endowed.
    pub allowed: Vec<String>,
    /// The protected files that its words name.
    pub names: Names,
    /// Whether it may change any directory that outlasts the call.
    pub writes: bool,
    /// Whether it could reach the network.
    pub network: bool,
    /// Whether it could start any program of this machine.
    pub starts_others: bool,
    /// The secrets that it would get.
    pub secrets: Vec<SecretFact>,
}

/// A secret that a program would get as a variable of its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFact {
    /// The variable.
    pub variable: String,
    /// The secret's name in the vault.
    pub secret: String,
    /// The slot that the call names for it; `None` if the user said so when the program was handed over.
    pub slot: Option<String>,
}

impl ProgramFact {
    /// Whether a call of this program does more than change what it was given: then it counts as seen outside.
    pub fn commits(&self) -> bool {
        crate::gates::commits(self)
    }
}

/// What a grant leads to, in the words in which an operator speaks of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// What kind of thing, by the name that worker files use for it: `dir`, `outbox`, `worker`.
    pub kind: String,
    /// Its names, each true of it: a directory's absolute path as it was given, and with all links followed; a
    /// worker's name. What is forbidden of one of them is forbidden, what is permitted must be permitted of all.
    pub names: Vec<String>,
}

impl Subject {
    /// Whether it is of this kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind == kind.row().label
    }
}

/// A file whose content would be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overwrite {
    /// Its path, relative to the capability's root.
    pub path: String,
    /// What it holds now.
    pub digest: BlobHash,
    /// How many bytes that is.
    pub bytes: u64,
}

/// A file that the judged run itself has written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Written {
    /// The capability in which it lies.
    pub target: FormulaId,
    /// Its path, relative to the capability's root.
    pub path: String,
    /// What the run wrote.
    pub digest: BlobHash,
}

/// What the run may use up and has used up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// The limits.
    pub limits: Limits,
    /// What was used so far, children included.
    pub used: Usage,
    /// How long the run has been running while it was not waiting, in milliseconds.
    pub ran_ms: u64,
    /// If the call starts a run: how many runs would stand above that one.
    pub child_depth: Option<u32>,
}

/// Everything that gates may look at.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// What is proposed.
    pub proposal: &'a Proposal,
    /// The grant through which it would be done, as it is now.
    pub grant: &'a Grant,
    /// The interface of what the grant leads to.
    pub interface: &'a Interface,
    /// What that is.
    pub subject: &'a Subject,
    /// The name of the worker whose run proposes.
    pub worker: &'a str,
    /// What the capability knows of the call.
    pub facts: &'a Facts,
    /// The clock's reading, in milliseconds since 1970.
    pub now_ms: i64,
    /// What the run has written so far.
    pub written: &'a [Written],
    /// What the run may use up and has used up.
    pub spent: &'a Spent,
    /// What is judged by beside the gates' own code.
    pub rules: &'a Rules,
}
