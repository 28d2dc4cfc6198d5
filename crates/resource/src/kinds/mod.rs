//! The table of kinds: the resources that can fill a slot. Related kinds share a file. This file has the table and
//! three enums: kinds, typed resources and stored resources.

pub mod directory;
pub mod keyword_kinds;
pub mod mcp;
pub mod model;
mod paths;
pub mod programs;
pub mod repository;
pub mod secret;
mod web;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use directory::PathSpec;
pub use mcp::{McpSpec, ToolServer};
pub use model::ModelSpec;
pub use paths::PathUse;
pub use programs::{ProgramSpec, Programs};
pub use repository::{GitSpec, Repository};
pub use secret::SecretHandle;
pub use web::WebSpec;

use crate::web::Web;
use crate::{Attenuation, SpecError, Surroundings};

/// A kind of resource that can fill a slot, as worker files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Dir {
        /// Whether the directory may be written to.
        write: bool,
    },
    /// A spool from which messages are sent.
    Outbox,
    /// Programs of this machine.
    Program,
    /// A part of the web.
    Http,
    /// A git repository.
    Git {
        /// Whether the repository may be changed.
        write: bool,
    },
    /// The clock.
    Clock,
    /// Tools of a server.
    Mcp,
    /// Another worker.
    Worker,
    /// Questions to the user of the run.
    Ask,
    /// Waiting for a time.
    Timer,
    /// Mail to the user of the run.
    Mail,
    /// Another model.
    Model,
    /// A secret of the vault, which the worker can pass on but not see.
    Secret,
}

/// The rows of all kinds, in the order of listings.
pub static KINDS: [&Row; 15] = [
    &directory::DIR,
    &directory::DIR_RW,
    &directory::OUTBOX,
    &programs::ROW,
    &web::ROW,
    &repository::GIT,
    &repository::GIT_RW,
    &keyword_kinds::CLOCK,
    &mcp::ROW,
    &keyword_kinds::WORKER,
    &keyword_kinds::ASK,
    &keyword_kinds::TIMER,
    &keyword_kinds::MAIL,
    &model::ROW,
    &secret::ROW,
];

/// Returns the words of all kinds as in worker files, for an error or a help text.
pub fn labels() -> String {
    KINDS.map(|row| format!("`{}`", row.label)).join(", ")
}

/// Returns the examples of all kinds that can be typed, each once and with the slot before it, such as "SLOT=PATH".
pub fn examples(slot: &str) -> Vec<String> {
    let mut examples: Vec<String> = Vec::new();
    for row in KINDS.iter().filter(|row| row.is_typed()) {
        let example = format!("{slot}={}", row.example);
        if !examples.contains(&example) {
            examples.push(example);
        }
    }
    examples
}

impl Kind {
    /// Returns the kind's row of the table.
    pub fn row(self) -> &'static Row {
        match self {
            Kind::Dir { write: false } => &directory::DIR,
            Kind::Dir { write: true } => &directory::DIR_RW,
            Kind::Outbox => &directory::OUTBOX,
            Kind::Program => &programs::ROW,
            Kind::Http => &web::ROW,
            Kind::Git { write: false } => &repository::GIT,
            Kind::Git { write: true } => &repository::GIT_RW,
            Kind::Clock => &keyword_kinds::CLOCK,
            Kind::Mcp => &mcp::ROW,
            Kind::Worker => &keyword_kinds::WORKER,
            Kind::Ask => &keyword_kinds::ASK,
            Kind::Timer => &keyword_kinds::TIMER,
            Kind::Mail => &keyword_kinds::MAIL,
            Kind::Model => &model::ROW,
            Kind::Secret => &secret::ROW,
        }
    }
}

/// The resource that a person typed for a slot, before the daemon resolves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "fill", rename_all = "snake_case")]
pub enum ResourceSpec {
    /// A path: a directory, or the file of a worker.
    Path(PathSpec),
    /// Programs of this machine.
    Program(ProgramSpec),
    /// A part of the web.
    Web(WebSpec),
    /// A git repository.
    Git(GitSpec),
    /// Another model.
    Model(ModelSpec),
    /// A secret of the vault, which the worker can pass on but not see.
    Secret(SecretHandle),
    /// The clock of this machine.
    Clock,
    /// The same worker that has the slot, once more.
    Myself,
    /// Tools of a server that the user has configured.
    Mcp(McpSpec),
}

impl ResourceSpec {
    /// Returns the kind of slot that the resource fills by default. A path can fill other kinds as well.
    pub fn kind(&self) -> Kind {
        match self {
            ResourceSpec::Path(spec) => spec.kind(),
            ResourceSpec::Program(_) => Kind::Program,
            ResourceSpec::Web(_) => Kind::Http,
            ResourceSpec::Git(spec) => Kind::Git { write: spec.write },
            ResourceSpec::Model(_) => Kind::Model,
            ResourceSpec::Secret(_) => Kind::Secret,
            ResourceSpec::Clock => Kind::Clock,
            ResourceSpec::Myself => Kind::Worker,
            ResourceSpec::Mcp(_) => Kind::Mcp,
        }
    }

    /// Returns the text after `-e SLOT=`. [`ResourceSpec::parse`] reads it back as the same resource.
    pub fn typed(&self) -> String {
        match self {
            ResourceSpec::Path(spec) => spec.typed(),
            ResourceSpec::Program(spec) => spec.typed(),
            ResourceSpec::Web(spec) => spec.typed(),
            ResourceSpec::Git(spec) => spec.typed(),
            ResourceSpec::Model(spec) => spec.typed(),
            ResourceSpec::Secret(secret) => secret.typed(),
            ResourceSpec::Clock => keyword_kinds::CLOCK_WORD.to_owned(),
            ResourceSpec::Myself => keyword_kinds::SELF_WORD.to_owned(),
            ResourceSpec::Mcp(spec) => spec.typed(),
        }
    }

    /// Describes the resource in a few words for a slot of a kind, without its limits.
    pub(crate) fn summary(&self, kind: Kind) -> String {
        match self {
            ResourceSpec::Path(spec) => spec.summary(kind),
            ResourceSpec::Program(spec) => spec.summary(),
            ResourceSpec::Web(spec) => spec.web.summary(),
            ResourceSpec::Git(spec) => spec.summary(),
            ResourceSpec::Model(spec) => spec.summary(),
            ResourceSpec::Secret(secret) => secret.summary(),
            ResourceSpec::Clock => keyword_kinds::THE_CLOCK.to_owned(),
            ResourceSpec::Myself => keyword_kinds::MYSELF.to_owned(),
            ResourceSpec::Mcp(spec) => spec.summary(),
        }
    }

    /// Returns the limits of the resource. For a staged copy, `staged_from` is the path that was typed.
    pub fn attenuation(&self) -> Attenuation {
        match self {
            ResourceSpec::Path(spec) => spec.attenuation(),
            ResourceSpec::Program(spec) => Attenuation { max_bytes: spec.output, ..Attenuation::default() },
            ResourceSpec::Web(spec) => {
                Attenuation { max_bytes: spec.max_bytes, rate: spec.rate, ..Attenuation::default() }
            }
            ResourceSpec::Git(spec) => Attenuation { private: spec.private, ..Attenuation::default() },
            ResourceSpec::Mcp(spec) => {
                Attenuation { max_bytes: spec.max_bytes, rate: spec.rate, ..Attenuation::default() }
            }
            ResourceSpec::Model(_) | ResourceSpec::Secret(_) | ResourceSpec::Clock | ResourceSpec::Myself => {
                Attenuation::default()
            }
        }
    }

    /// Returns the slot methods that were typed. An empty list restricts nothing, but the resource itself may have
    /// fewer methods.
    pub fn methods(&self) -> &[String] {
        match self {
            ResourceSpec::Path(spec) => &spec.methods,
            ResourceSpec::Git(spec) => &spec.methods,
            _ => &[],
        }
    }

    /// Returns every path of this machine in the resource, so that the caller can change it.
    pub fn paths_mut(&mut self) -> Vec<&mut String> {
        match self {
            ResourceSpec::Path(spec) => vec![&mut spec.path],
            ResourceSpec::Program(spec) => {
                let programs = spec.programs.iter_mut().map(|(_, path)| path);
                let directories = spec.directories.iter_mut().map(|(path, _)| path);
                // A staged copy of another slot has no path yet.
                programs.chain(directories.filter(|path| programs::staged_slot(path).is_none())).collect()
            }
            ResourceSpec::Git(spec) => vec![&mut spec.path],
            ResourceSpec::Web(_)
            | ResourceSpec::Model(_)
            | ResourceSpec::Secret(_)
            | ResourceSpec::Clock
            | ResourceSpec::Myself
            | ResourceSpec::Mcp(_) => vec![],
        }
    }

    /// Checks that a slot of a kind can have the resource.
    ///
    /// # Errors
    /// When the resource has a limit that such a slot would not enforce.
    pub fn check(&self, kind: Kind) -> Result<(), SpecError> {
        // The parser of any other resource has already rejected limits that the resource cannot have.
        let ResourceSpec::Path(spec) = self else { return Ok(()) };
        match spec.unsupported_limit(kind) {
            Some(what) => Err(kind.row().syntax_error(what)),
            None => Ok(()),
        }
    }

    /// Returns the methods that a slot of a kind gets if this resource is typed for it.
    fn granted(&self, kind: Kind) -> BTreeSet<String> {
        match self {
            spec if !spec.methods().is_empty() => spec.methods().iter().cloned().collect(),
            ResourceSpec::Mcp(spec) => spec.tools.iter().map(|(tool, _)| mcp::method_name(tool)).collect(),
            ResourceSpec::Web(spec) => web::granted(&spec.web, kind),
            ResourceSpec::Path(_)
            | ResourceSpec::Program(_)
            | ResourceSpec::Git(_)
            | ResourceSpec::Model(_)
            | ResourceSpec::Secret(_)
            | ResourceSpec::Clock
            | ResourceSpec::Myself => kind.method_names(),
        }
    }

    /// Returns, in words, the limits of a grant that this resource leaves out. If there are any, a slot with this
    /// resource gets more than the grant allows. Invisible characters in the text are not escaped.
    pub fn missing_limits(&self, kind: Kind, taken: &Attenuation, methods: &BTreeSet<String>) -> Vec<String> {
        let has = |limit: Limit| kind.row().limits.contains(&limit);
        // A slot rejects limits that its kind does not have, so these do not count.
        let mut said = self.attenuation();
        said.suffixes.retain(|suffix| has(Limit::Suffixes) && directory::is_suffix(suffix));
        said.max_bytes = said.max_bytes.filter(|_| has(Limit::Max));
        said.total_bytes = said.total_bytes.filter(|_| has(Limit::Total));
        said.rate = said.rate.filter(|_| has(Limit::Rate));
        said.private &= has(Limit::Private);
        let mut taken = taken.clone();
        if kind == (Kind::Dir { write: false }) {
            // A directory that is only read does not grow.
            taken.total_bytes = None;
        }
        let mut unsaid = taken.missing_limits(&said);
        if methods.is_empty() {
            unsaid.push("no method".to_owned());
        } else if self.granted(kind) != *methods {
            let all: Vec<&str> = methods.iter().map(String::as_str).collect();
            unsaid.push(format!("only the methods {}", all.join(", ")));
        }
        unsaid
    }

    /// Returns the typed form of a resource in a slot of a kind, with the limits of a grant.
    ///
    /// The typed form may leave out some limits of the grant. Returns `None` for a resource that is never typed.
    pub fn from_grant(
        resource: &Resource,
        kind: Kind,
        taken: &Attenuation,
        methods: &BTreeSet<String>,
    ) -> Option<ResourceSpec> {
        Some(match resource {
            Resource::Directory { path, .. } | Resource::Outbox { path } => {
                ResourceSpec::Path(PathSpec::from_grant(path, kind, taken, methods))
            }
            Resource::Programs(programs) => ResourceSpec::Program(ProgramSpec::from_grant(programs, taken)),
            Resource::Web(web) => ResourceSpec::Web(WebSpec::from_grant(web, taken, methods)),
            Resource::Repository(repository) => {
                ResourceSpec::Git(GitSpec::from_grant(repository, kind, taken, methods))
            }
            Resource::Secret(secret) => ResourceSpec::Secret(secret.clone()),
            Resource::Clock => ResourceSpec::Clock,
            Resource::Mcp(server) => ResourceSpec::Mcp(McpSpec::from_grant(server, taken, methods)),
            Resource::Questions | Resource::Alarm | Resource::Mail => return None,
        })
    }
}

/// The resource that fills a slot, after the daemon has resolved it. The store keeps this form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Resource {
    /// A directory of this machine.
    Directory {
        /// The absolute path of the directory at the time of the endowment.
        path: String,
        /// Whether the content must not be changed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        read_only: bool,
    },
    /// A directory of this machine into which outgoing mail is spooled.
    Outbox {
        /// The absolute path of the directory at the time of the endowment.
        path: String,
    },
    /// Programs of this machine that may be run.
    Programs(Programs),
    /// A part of the web.
    Web(Web),
    /// A git repository.
    Repository(Repository),
    /// A secret of the vault, which the worker can pass on by the slot's name but not see.
    Secret(SecretHandle),
    /// The clock of this machine.
    Clock,
    /// Tools of a server.
    Mcp(Box<ToolServer>),
    /// Questions to the user of the run.
    Questions,
    /// Waiting for a time.
    Alarm,
    /// Mail to the user of the run.
    Mail,
}

impl Resource {
    /// Returns a directory that may be changed, if its grant allows that.
    pub fn directory(path: impl Into<String>) -> Resource {
        Resource::Directory { path: path.into(), read_only: false }
    }

    /// Returns the kind of slot that the resource fills.
    pub fn kind(&self) -> Kind {
        match self {
            Resource::Directory { read_only, .. } => Kind::Dir { write: !read_only },
            Resource::Outbox { .. } => Kind::Outbox,
            Resource::Programs(_) => Kind::Program,
            Resource::Web(_) => Kind::Http,
            Resource::Repository(repository) => Kind::Git { write: repository.write },
            Resource::Secret(_) => Kind::Secret,
            Resource::Clock => Kind::Clock,
            Resource::Mcp(_) => Kind::Mcp,
            Resource::Questions => Kind::Ask,
            Resource::Alarm => Kind::Timer,
            Resource::Mail => Kind::Mail,
        }
    }

    /// Returns the methods that the resource has in a slot of a kind.
    pub fn methods(&self, kind: Kind) -> BTreeSet<String> {
        match self {
            Resource::Mcp(server) => server.tools.iter().map(|tool| tool.method.clone()).collect(),
            Resource::Web(web) => web::granted(web, kind),
            Resource::Directory { .. }
            | Resource::Outbox { .. }
            | Resource::Programs(_)
            | Resource::Repository(_)
            | Resource::Secret(_)
            | Resource::Clock
            | Resource::Questions
            | Resource::Alarm
            | Resource::Mail => kind.method_names(),
        }
    }

    /// Returns the type of the resource, by the name that Endo's clients know.
    pub fn type_name(&self) -> &'static str {
        self.kind().row().type_name
    }

    /// Describes the resource in a few words, without the limits of a grant. Invisible characters in the text are not
    /// escaped.
    pub fn summary(&self) -> String {
        match self {
            Resource::Directory { path, .. } => directory::directory_summary(path, false),
            Resource::Outbox { path } => directory::spool_summary(path),
            Resource::Programs(programs) => programs.summary(),
            Resource::Web(web) => web.summary(),
            Resource::Repository(repository) => repository.summary(),
            Resource::Secret(secret) => secret.summary(),
            Resource::Clock => keyword_kinds::THE_CLOCK.to_owned(),
            Resource::Mcp(server) => server.summary(),
            Resource::Questions => keyword_kinds::QUESTIONS.to_owned(),
            Resource::Alarm => keyword_kinds::ALARM.to_owned(),
            Resource::Mail => keyword_kinds::INBOX.to_owned(),
        }
    }

    /// Describes the resource as [`Resource::summary`] does. For a directory, the text says whether the methods of a
    /// grant can change it.
    pub fn summary_with(&self, methods: &BTreeSet<String>) -> String {
        match self {
            Resource::Directory { path, read_only } => {
                directory::directory_summary(path, !read_only && directory::can_write(methods))
            }
            other => other.summary(),
        }
    }
}

/// The beginning of a typed resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStart {
    /// A path, without a prefix.
    Path,
    /// These letters, followed by more text.
    Prefix(&'static str),
    /// The scheme of a web address.
    Address,
    /// This word, which is the whole text.
    Word(&'static str),
    /// No text. The slot is bound automatically to the user who starts the run.
    Never,
}

/// A kind of limit that a grant of a resource can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The allowed endings of the names of files.
    Suffixes,
    /// The maximum size of a file, a message or an answer.
    Max,
    /// The maximum size of all files in a directory together.
    Total,
    /// The maximum rate of use.
    Rate,
    /// The privacy of everything that is read.
    Private,
}

/// The row of one kind in the table.
#[derive(Debug)]
pub struct Row {
    /// The kind.
    pub kind: Kind,
    /// The word for the kind in worker files.
    pub label: &'static str,
    /// The noun for the kind in errors, such as "a directory".
    pub noun: &'static str,
    /// The verb for the use of such a resource, such as "read" or "send through". The name of the slot follows it. For
    /// kinds that are never typed, the verb stands alone.
    pub verb: &'static str,
    /// The type of the stored resource, by the name that Endo's clients know.
    pub type_name: &'static str,
    /// The beginning of the typed text.
    pub start: TextStart,
    /// An example of the text after `-e SLOT=`. `PATH` and `FILE` stand for paths.
    pub example: &'static str,
    /// The syntax of the text after `-e SLOT=`.
    pub grammar: &'static str,
    /// The keys that can follow `?` and have an effect on such a slot. A key without `=` takes no value.
    pub keys: &'static [&'static str],
    /// The limits that such a resource can have: from a key in the typed text, or from a narrower grant.
    pub limits: &'static [Limit],
    /// The methods that a worker may call. The list is empty if they depend on the resource.
    pub methods: &'static [&'static str],
    /// Whether such a resource itself holds private data that a worker can read. Programs and servers do not count.
    pub discloses: bool,
    /// Whether data can leave this machine through such a resource.
    pub sends: bool,
    /// Whether a page asks for confirmation before such a resource is handed over, because it starts programs,
    /// reaches the network or carries a secret.
    pub needs_confirmation: bool,
    /// The phrase for what a run may do towards its user, such as "may wait for a time". It is empty for kinds that
    /// can be typed.
    pub permission_phrase: &'static str,
    /// Whether the user can pick one of their own names for this kind when a run requests a resource.
    pub by_name: bool,
    /// The function that reads the text. A prefix has been removed; an address or a word is complete.
    pub(crate) parse: fn(&str, &dyn Surroundings) -> Result<ResourceSpec, SpecError>,
}

impl Row {
    /// Returns the row for a word of worker files, or `None` if no kind has this word.
    pub fn of(label: &str) -> Option<&'static Row> {
        KINDS.iter().copied().find(|row| row.label == label)
    }

    /// Returns the row that reads a text after `-e SLOT=`, and the text without the row's prefix. A text with no
    /// known beginning is a path.
    pub fn for_text(text: &str) -> (&'static Row, &str) {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        let is_address = matches!(scheme.as_deref(), Some("http" | "https"));
        let rest = |row: &Row| match row.start {
            TextStart::Prefix(prefix) => text.strip_prefix(prefix),
            TextStart::Word(word) => Some(text).filter(|text| *text == word),
            TextStart::Address => Some(text).filter(|_| is_address),
            TextStart::Path | TextStart::Never => None,
        };
        let found = KINDS.iter().find_map(|row| Some((*row, rest(row)?)));
        found.unwrap_or((&directory::DIR, text))
    }

    /// Returns whether a user types the resource of such a slot.
    pub fn is_typed(&self) -> bool {
        self.start != TextStart::Never
    }

    /// Returns the example for a slot, as a command-line option.
    pub fn example_option(&self, slot: &str) -> String {
        format!("-e {slot}={}", self.example)
    }

    /// Returns the example with absolute paths, for surfaces that have no current directory.
    pub fn example_from_root(&self) -> String {
        self.example.replace("PATH", "/PATH").replace("FILE", "/PATH/FILE")
    }

    /// Returns the error for a text that does not have the kind's syntax.
    pub(crate) fn syntax_error(&self, message: impl Into<String>) -> SpecError {
        SpecError::new(message, format!("write SLOT={}", self.grammar))
    }

    /// Returns the error for a key that the kind does not have.
    pub(crate) fn unknown_key(&self) -> SpecError {
        let keys: Vec<String> = self.keys.iter().map(|key| format!("`{key}`")).collect();
        let listed = match keys.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => "nothing".to_owned(),
        };
        self.syntax_error(format!("after `?` only {listed} are known"))
    }
}

impl Kind {
    /// Returns the kind for a word of worker files, or `None` if no kind has this word.
    pub fn of(label: &str) -> Option<Kind> {
        Row::of(label).map(|row| row.kind)
    }

    /// Returns the methods that a worker may call on the slot. The list is empty if they depend on the resource.
    pub fn methods(self) -> &'static [&'static str] {
        self.row().methods
    }

    /// Returns the methods of [`Kind::methods`] as a set, for a grant.
    pub fn method_names(self) -> BTreeSet<String> {
        self.methods().iter().map(|method| (*method).to_owned()).collect()
    }

    /// Returns whether a resource of this kind may have a method. A server has its own tools, so any valid name is
    /// possible there.
    pub fn may_have(self, method: &str) -> bool {
        match self {
            Kind::Mcp => mcp::method_name(method) == method && !method.is_empty(),
            kind => kind.methods().contains(&method),
        }
    }

    /// Returns the kind for the same resource with only read access.
    pub fn read_only(self) -> Kind {
        match self {
            Kind::Dir { .. } => Kind::Dir { write: false },
            Kind::Git { .. } => Kind::Git { write: false },
            other => other,
        }
    }

    /// Returns whether a resource of the kind `own` can fill a slot of this kind.
    pub fn takes(self, own: Kind) -> bool {
        // A model is a worker that only forwards its input.
        own == self || own.read_only() == self || (self, own) == (Kind::Worker, Kind::Model)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().label)
    }
}

impl ResourceSpec {
    /// Reads the text after `-e SLOT=`.
    ///
    /// # Errors
    /// When the text does not have the syntax of any kind, or names a program that does not exist.
    pub fn parse(text: &str, around: &dyn Surroundings) -> Result<ResourceSpec, SpecError> {
        if text == keyword_kinds::SELF_WORD {
            return Ok(ResourceSpec::Myself);
        }
        let (row, rest) = Row::for_text(text);
        (row.parse)(rest, around)
    }
}

impl fmt::Display for ResourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed())
    }
}
