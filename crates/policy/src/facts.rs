//! The facts that gates judge a proposal on.

use core::net::IpAddr;
use std::collections::BTreeSet;

use kernel::Interface;
use kernel::grant::Grant;
use kernel::id::{BlobHash, FormulaId};
use kernel::proposal::{Effect, Finding, Pin, Proposal, Value};
use kernel::run::{Limits, Usage};
use resource::Kind;
use resource::programs::Interpreter;

use crate::arguments::FileMentions;
use crate::egress::WebGrant;
use crate::rules::Rules;

/// The facts that a capability knows about a call before it is made. It looks them up and changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The state that the call depends on. It goes into the proposal and is checked again at the moment of effect.
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
    /// The parts of the web that the grant names. A destination outside of them is refused.
    pub allowed: Vec<WebGrant>,
    /// The receiver outside this machine that gets the words of the call, if no field above names it.
    pub outlet: Option<Outlet>,
    /// The reader outside this machine that the user endowed to get words: a model that a server answers for. It may
    /// read the documents that the run has read, and no secrets.
    pub reader: Option<String>,
    /// The texts of documents that the reader gets beside the arguments, by the parameter that names them.
    pub reader_documents: Vec<(String, Value)>,
    /// The program that the call would start.
    pub program: Option<ProgramFact>,
    /// The effect of this very call, where it is stronger than its method declares: `git status` reads and `git push`
    /// sends. It only ever raises the effect.
    pub raises: Option<Effect>,
    /// The problems that the capability itself found: the call cannot succeed, or its grant forbids it.
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
    /// The addresses of the host when the facts were gathered. They are resolved and checked again at the moment of
    /// effect.
    pub addresses: Vec<IpAddr>,
}

/// A receiver outside this machine that gets the words of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlet {
    /// Who, in words: `the server github`.
    pub to: String,
    /// The prefix of the names of documents that came from this receiver: they are no news there.
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
    /// The interpreters that read the program now, if it is a script.
    pub interpreters: Vec<Interpreter>,
    /// The interpreters that read the program when it was endowed.
    pub endowed_interpreters: Vec<Interpreter>,
    /// The names of the programs that were endowed.
    pub allowed: Vec<String>,
    /// The protected files that its words name.
    pub names: FileMentions,
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
    /// Returns whether a call of this program does more than change the directories that it was given. Such a call
    /// counts as seen outside.
    pub fn commits(&self) -> bool {
        crate::gates::commits(self)
    }
}

/// The target of a grant, in the words in which an operator speaks of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The kind of the target, by the name that worker files use for it: `dir`, `outbox`, `worker`.
    pub kind: String,
    /// The names of the target: a directory's absolute path, as given and with all links followed, or a worker's
    /// name. A policy that forbids one name forbids the target; a permit must cover all names.
    pub names: Vec<String>,
}

impl Subject {
    /// Returns whether it is of this kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind == kind.row().label
    }
}

/// A file whose content would be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overwrite {
    /// Its path, relative to the capability's root.
    pub path: String,
    /// The digest of its present content.
    pub digest: BlobHash,
    /// How many bytes that is.
    pub bytes: u64,
}

/// A file that the judged run itself has written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WrittenFile {
    /// The capability in which it lies.
    pub target: FormulaId,
    /// Its path, relative to the capability's root.
    pub path: String,
    /// The digest of the content that the run wrote.
    pub digest: BlobHash,
}

/// The limits of the run, and how much of them it has used.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunBudget {
    /// The limits.
    pub limits: Limits,
    /// The usage so far, children included.
    pub used: Usage,
    /// How long the run has been running while it was not waiting, in milliseconds.
    pub ran_ms: u64,
    /// If the call starts a run: how many runs would stand above that one.
    pub child_depth: Option<u32>,
}

/// Everything that gates may look at.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The proposal to judge.
    pub proposal: &'a Proposal,
    /// The grant through which it would be done, as it is now.
    pub grant: &'a Grant,
    /// The interface of the grant's target.
    pub interface: &'a Interface,
    /// The grant's target.
    pub subject: &'a Subject,
    /// The name of the worker whose run proposes.
    pub worker: &'a str,
    /// The facts that the capability knows about the call.
    pub facts: &'a Facts,
    /// The clock's reading, in milliseconds since 1970.
    pub now_ms: i64,
    /// The files that the run has written so far.
    pub written: &'a [WrittenFile],
    /// The limits of the run, and how much of them it has used.
    pub spent: &'a RunBudget,
    /// The rules that apply beside the gates' own code.
    pub rules: &'a Rules,
}
