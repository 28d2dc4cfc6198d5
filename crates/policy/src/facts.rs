//! The facts on which gates judge a proposal.

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
use crate::places::PlaceFact;
use crate::rules::Rules;

/// The facts that a capability finds out about a call before the call is made. Gathering them changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The state on which the call depends. It goes into the proposal, and is checked again at the moment of effect.
    pub pins: BTreeSet<Pin>,
    /// The paths that the arguments name.
    pub paths: Vec<PathFact>,
    /// The keys that stand in the text which the call would read.
    pub keys: Vec<KeySighting>,
    /// The paths, as in `paths`, of the files that hold certificates or public keys in PEM, and no private key. Their
    /// ending, which keys share, does not count.
    pub certificates: BTreeSet<String>,
    /// The number of bytes that the call would write or send.
    pub bytes: Option<u64>,
    /// The file that the call would replace with something else.
    pub overwrites: Option<Overwrite>,
    /// One plain line for the card, such as "writes report.md in `out` (812 bytes, new file)". Foreign text in the
    /// line is already made visible.
    pub line: String,
    /// The servers that the call would reach.
    pub destinations: Vec<Destination>,
    /// The parts of the web that the grant names. A call to any other destination is denied.
    pub allowed: Vec<WebGrant>,
    /// The receiver outside this machine that gets the text of the call, if no field above names it.
    pub outlet: Option<Outlet>,
    /// The reader outside this machine to which the user gave the right to get text: a model that runs on a server.
    /// It may read the documents that the run has read, but no secrets.
    pub reader: Option<String>,
    /// The texts of documents that the reader gets beside the arguments, each with the name of the parameter that
    /// names the documents.
    pub reader_documents: Vec<(String, Value)>,
    /// The program that the call would start.
    pub program: Option<ProgramFact>,
    /// The effect of this call, if it is stronger than the method declares: `git status` reads, and `git push` sends.
    /// A weaker effect is ignored.
    pub raises: Option<Effect>,
    /// The places that the call may change and in which a change means more than itself, such as a mail spool.
    pub places: Vec<PlaceFact>,
    /// The canonical spellings of arguments that name a destination. A policy that forbids one of them forbids the
    /// call.
    pub canonical: Vec<CanonicalArgument>,
    /// The problems that the capability itself found. Because of them, the call cannot succeed, or the grant forbids
    /// it.
    pub problems: Vec<Finding>,
}

impl Facts {
    /// Returns whether a party outside this machine learns the arguments of the call, even if the call only reads.
    pub fn tells(&self) -> bool {
        !self.destinations.is_empty() || self.outlet.is_some()
    }
}

/// A path that an argument names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFact {
    /// The name of the parameter.
    pub argument: String,
    /// The path in its plain form, relative to the capability's root.
    pub path: String,
    /// The path after symbolic links inside the capability are followed, if that is another path.
    pub leads_to: Option<String>,
    /// The size of the file at the path, or `None` if there is no file.
    pub bytes: Option<u64>,
}

/// A canonical spelling of an argument that names a destination: a path, a host or a mail address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanonicalArgument {
    /// The name of the parameter.
    pub argument: String,
    /// The canonical spelling.
    pub text: String,
}

/// A key in a text that a call would read. The key itself is not told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySighting {
    /// The name of the parameter that names the text.
    pub argument: String,
    /// The path of the file, or another name of the text.
    pub source: String,
    /// The kind of key, in words.
    pub kind: &'static str,
}

/// A server that a call would reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The name of the parameter that names the server.
    pub argument: String,
    /// The scheme: `http` or `https`.
    pub scheme: String,
    /// The host in its plain form: in lower case, and an IP address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The method of the request, in capitals.
    pub method: String,
    /// The normalised path, without the query.
    pub path: String,
    /// The addresses of the host when the facts were gathered. They are resolved and checked again at the moment of
    /// effect.
    pub addresses: Vec<IpAddr>,
}

/// A receiver outside this machine that gets the text of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlet {
    /// The receiver in words, such as `the server github`.
    pub to: String,
    /// The prefix of the names of documents that came from this receiver. The receiver already knows these documents.
    /// `None` if the receiver passes the text on to others, such as a page that it fetches.
    pub home: Option<String>,
}

/// A program that a call would start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFact {
    /// The whole argument vector, which begins with the program's name.
    pub argv: Vec<String>,
    /// The path of the program, with all links followed.
    pub path: String,
    /// The digest of the program's bytes now, or the digest of no bytes if there is no such file.
    pub digest: BlobHash,
    /// The digest of the program when it was endowed, or `None` if it is not an endowed program.
    pub endowed: Option<BlobHash>,
    /// The interpreters that read the program now, if it is a script.
    pub interpreters: Vec<Interpreter>,
    /// The interpreters that read the program at the time when it was endowed.
    pub endowed_interpreters: Vec<Interpreter>,
    /// The names of the endowed programs.
    pub allowed: Vec<String>,
    /// The protected files that the arguments name.
    pub names: FileMentions,
    /// Whether the program may change any directory that outlasts the call.
    pub writes: bool,
    /// Whether the program could reach the network.
    pub network: bool,
    /// Whether the program could start any program of this machine.
    pub starts_others: bool,
    /// The secrets that the program would get.
    pub secrets: Vec<SecretFact>,
}

/// A secret that a program would get in an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFact {
    /// The name of the environment variable.
    pub variable: String,
    /// The name of the secret in the vault.
    pub secret: String,
    /// The slot that the call names for the secret, or `None` if the user bound the secret to the program when
    /// endowing it.
    pub slot: Option<String>,
}

impl ProgramFact {
    /// Returns whether a call of this program does more than change the directories that it was given. Such a call
    /// counts as one whose effect is visible outside.
    pub fn commits(&self) -> bool {
        crate::gates::commits(self)
    }
}

/// The target of a grant, in the words that an operator's policies use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The kind of the target, by its name in worker files, such as `dir`, `outbox` or `worker`.
    pub kind: String,
    /// The names of the target. For a directory, they are its absolute path as given, and the path with all links
    /// followed. For a worker, it is the worker's name. A policy that forbids one name forbids the target; a permit
    /// must cover all names.
    pub names: Vec<String>,
}

impl Subject {
    /// Returns whether the target is of a kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind == kind.row().label
    }
}

/// A file whose content would be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overwrite {
    /// The path of the file, relative to the capability's root.
    pub path: String,
    /// The digest of the file's present content.
    pub digest: BlobHash,
    /// The size of the file's present content in bytes.
    pub bytes: u64,
}

/// A file that the judged run has written itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WrittenFile {
    /// The capability that contains the file.
    pub target: FormulaId,
    /// The path of the file, relative to the capability's root.
    pub path: String,
    /// The digest of the content that the run wrote.
    pub digest: BlobHash,
}

/// The limits of the run, and how much of them it has used.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunBudget {
    /// The limits.
    pub limits: Limits,
    /// The usage so far, including the run's children.
    pub used: Usage,
    /// The time for which the run has been active, without the time for which it was waiting, in milliseconds.
    pub ran_ms: u64,
    /// The number of runs above the run that this call would start, or `None` if the call starts no run.
    pub child_depth: Option<u32>,
}

/// The data on which gates judge.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The proposal to judge.
    pub proposal: &'a Proposal,
    /// The grant of the proposal, in its present state.
    pub grant: &'a Grant,
    /// The interface of the grant's target.
    pub interface: &'a Interface,
    /// The grant's target.
    pub subject: &'a Subject,
    /// The name of the worker whose run makes the proposal.
    pub worker: &'a str,
    /// The facts that the capability knows about the call.
    pub facts: &'a Facts,
    /// The present time, in milliseconds since 1970.
    pub now_ms: i64,
    /// The files that the run has written so far.
    pub written: &'a [WrittenFile],
    /// The limits of the run, and how much of them it has used.
    pub spent: &'a RunBudget,
    /// The rules that apply in addition to the gates' own code.
    pub rules: &'a Rules,
}
