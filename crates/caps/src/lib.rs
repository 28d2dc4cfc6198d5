//! Built-in capabilities: the resources of this machine that a grant can open.
//!
//! A capability is opened for one grant and confined to it. It has three tasks. It gives the facts of a call before
//! the call is made ([`Capability::facts`]). It makes the call ([`Capability::perform`], which takes nothing but a
//! [`StartedEffect`]). After a crash, it tells whether the call was made ([`Capability::probe`]). Facts can go stale.
//! So the capability enforces them again at the moment of effect, on open directories and not on paths.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "capabilities are where files are touched")]

mod atomic_write;
mod clock;
mod dir;
mod failure;
pub mod found_file;
mod git;
mod http;
pub mod login_client;
mod mcp;
pub mod mount;
mod mount_table;
mod outbox;
mod path;
mod placed_capability;
pub mod places;
mod program;
mod removal;
mod secret;
pub mod stage;
pub mod undo;
mod walk;

use std::borrow::Cow;
use std::sync::Arc;

use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::proposal::{Finding, Pin, Value};
use kernel::provenance::Provenance;
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use kernel::{Interface, Pattern};
use passable::{Limit, Limits, quoting};
use policy::{ChangeScope, Facts, Subject};
use resource::{Kind, Resource};

pub use atomic_write::set_write_step;
pub use http::{HostServices, NoHostServices, NoSecret};
pub use mcp::{
    FaultyTool, McpError, ToolListing, ask_tools, endow_server, login_address, named_files, tree_digest,
};
/// Removes a directory with all its contents, also where programs have worked in it.
///
/// # Errors
/// When the path is no directory, or the file system fails.
pub fn remove_tree(path: &std::path::Path) -> std::io::Result<()> {
    removal::remove(path)
}

pub use program::{ProgramError, endow_program, sweep as sweep_calls};

/// A resource that a grant opens.
pub trait Capability: Send + Sync {
    /// Returns the interface of the capability.
    fn interface(&self) -> &Interface;

    /// Returns the schema of a method's arguments as the server wrote it, if it tells a model more than the guard
    /// does. The daemon only checks the guard.
    fn schema(&self, method: &str) -> Option<serde_json::Value> {
        let _ = method;
        None
    }

    /// Returns the facts of a call before it is made, and changes nothing. If the arguments do not fit the method,
    /// the facts are few, and the shape gate refuses the call.
    fn facts(&self, method: &str, args: &[Value]) -> Facts;

    /// Returns the files of this machine that a call may change. A call that only reads changes none.
    fn change_scopes(&self, method: &str, args: &[Value]) -> Vec<ChangeScope>;

    /// Returns whether a method tells parties beyond its own service what it is asked. Its results may be the words of
    /// these parties.
    fn tells_others(&self, method: &str) -> bool {
        let _ = method;
        false
    }

    /// Returns the present bytes of something that a call depends on, if they are few enough to be shown to the user.
    fn operand(&self, pin: &Pin) -> Option<Vec<u8>> {
        let _ = pin;
        None
    }

    /// Returns the bytes that a call is about to change, if they match the pin. The daemon keeps them so that the
    /// user can restore them.
    fn before(&self, pin: &Pin) -> Option<Vec<u8>> {
        let _ = pin;
        None
    }

    /// Returns the finding that blocks a call now and that the user can resolve, such as a locked vault. The approval
    /// is kept until then. [`Capability::perform`] reports every other problem.
    fn blocked_by(&self, method: &str, args: &[Value]) -> Option<Finding> {
        let _ = (method, args);
        None
    }

    /// Makes a call whose beginning is recorded.
    fn perform(&self, begun: &StartedEffect) -> Completion;

    /// Returns whether calls may change staged copies, beside one that the grant itself leads to.
    fn works_in_stages(&self) -> bool {
        false
    }

    /// Returns whether [`Capability::probe`] can decide about every call of this method. It decides if it knows
    /// whether the call was made, or lets it be made again.
    fn can_be_looked_up(&self, method: &str) -> bool {
        let _ = method;
        true
    }

    /// Returns whether a call that an earlier process had begun was made.
    fn probe(&self, begun: &StartedEffect) -> Probe;
}

/// The state of an effect after a crash.
#[derive(Clone, Debug, PartialEq)]
pub enum Probe {
    /// The effect happened.
    Done {
        /// The value that the method would have returned.
        value: Value,
        /// The sources that the value depends on.
        provenance: Provenance,
    },
    /// The effect did not happen, or may be repeated without harm.
    NotDone,
    /// The state cannot be known, so a person has to say whether the effect happened.
    Unknown,
}

/// The state of an effect after [`settle`].
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// The effect is over.
    Completed(Completion),
    /// The state of the effect cannot be known, so the host is asked.
    Unknown,
}

/// Brings an effect to its end by making the call. If an earlier process may have made the call, the probe is asked
/// first.
pub fn settle(capability: &dyn Capability, begun: &StartedEffect) -> Settled {
    // A backup reads the rows and the staged copies as of one moment.
    let is_staged = begun.grant().attenuation.staged_from.is_some() || capability.works_in_stages();
    let _call = is_staged.then(stage::begin_call);
    if begun.reopened() {
        match capability.probe(begun) {
            Probe::Done { value, provenance } => {
                return Settled::Completed(Completion::Done { value, provenance });
            }
            Probe::Unknown => return Settled::Unknown,
            Probe::NotDone => {}
        }
    }
    Settled::Completed(capability.perform(begun))
}

/// The reason why a capability cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The formula is no capability of this machine.
    #[error("a {0} is not a capability that this program can open")]
    Kind(&'static str),
    /// The directory cannot be opened.
    #[error("the directory `{path}` cannot be opened: {source}")]
    Directory {
        /// The path of the directory, with control characters made visible.
        path: String,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// A link stands in the path of the directory. There was none when the directory was bound.
    #[error(
        "the directory `{path}` cannot be opened: a symbolic link stands in its path since it was endowed; put the \
         directory back, or endow it anew"
    )]
    Diverted {
        /// The path of the directory, with control characters made visible.
        path: String,
    },
}

impl OpenError {
    /// Returns the error as a finding, for the model whose call it stops.
    pub fn finding(&self) -> Finding {
        Finding::new("caps/open", self.to_string())
            .allowed("nothing through this grant, until the user mends it")
    }
}

/// Opens the target of a grant, confined to the grant's limits, on a machine without secrets.
///
/// # Errors
/// When the target cannot be opened.
pub fn open(target: &Formula, grant: &Grant) -> Result<Box<dyn Capability>, OpenError> {
    open_with(target, grant, &(Arc::new(NoHostServices) as Arc<dyn HostServices>))
}

/// Opens the target of a grant with the services of the host: name lookups and secrets.
///
/// # Errors
/// When the target cannot be opened.
pub fn open_with(
    target: &Formula,
    grant: &Grant,
    outside: &Arc<dyn HostServices>,
) -> Result<Box<dyn Capability>, OpenError> {
    let Formula::Resource(resource) = target else { return Err(OpenError::Kind(target.kind())) };
    let outside = || Arc::clone(outside);
    let inner: Box<dyn Capability> = match resource {
        Resource::Directory { path, read_only } => {
            Box::new(dir::DirCapability::open(path, *read_only, grant)?)
        }
        Resource::Outbox { path } => Box::new(outbox::Outbox::open(path, grant)?),
        Resource::Programs(programs) => {
            Box::new(program::ProgramCapability::open(programs, grant, outside()))
        }
        Resource::Web(web) => Box::new(http::HttpCapability::open(web, grant, outside())?),
        Resource::Repository(repository) => Box::new(git::GitCapability::open(repository, grant)),
        Resource::Clock => Box::new(clock::Clock::open(grant)),
        Resource::Secret(secret) => Box::new(secret::SecretCapability::open(secret, grant)),
        Resource::Mcp(server) => Box::new(mcp::McpCapability::open(server, grant, outside())),
        // The run and its user handle these resources through the kernel alone.
        Resource::Questions | Resource::Alarm | Resource::Mail => {
            return Err(OpenError::Kind(target.kind()));
        }
    };
    Ok(Box::new(placed_capability::PlacedCapability { inner, slot: grant.slot.clone(), outside: outside() }))
}

/// Returns the interface of the capabilities of a kind, if this program opens them.
pub fn interface_of(kind: Kind) -> Option<&'static Interface> {
    Some(match kind {
        Kind::Dir { .. } => dir::interface(),
        Kind::Outbox => outbox::interface(),
        Kind::Program => program::interface(),
        Kind::Http => http::interface(),
        Kind::Git { .. } => git::interface(),
        Kind::Clock => clock::interface(),
        Kind::Mcp => mcp::any(),
        Kind::Secret => secret::interface(),
        Kind::Worker | Kind::Ask | Kind::Timer | Kind::Mail | Kind::Model => return None,
    })
}

/// Returns the interfaces of all capabilities by the word that policies use for them.
pub fn interfaces() -> impl Iterator<Item = (&'static str, &'static Interface)> {
    let rows = resource::KINDS.into_iter().filter(|row| row.kind == row.kind.read_only());
    rows.filter_map(|row| Some((row.label, interface_of(row.kind)?)))
}

/// Returns the interface of programs. With `holds_secrets`, a call can pass secrets to a program.
pub fn programs(holds_secrets: bool) -> &'static Interface {
    if holds_secrets { program::interface() } else { program::without_secrets() }
}

/// Returns the effect of a method in words. For a program, only the call itself tells whether it sends. It may send
/// with the network, a shell or a script.
pub fn effect_words(interface: &Interface, method: &kernel::Method) -> &'static str {
    match interface.name == program::interface().name {
        true => "changes or sends",
        false => method.effect.as_words(),
    }
}

/// Returns the interface of the capability that a formula makes, or `None` if this machine has no such capability.
pub fn interface_for(target: &Formula) -> Option<Cow<'static, Interface>> {
    let Formula::Resource(resource) = target else { return None };
    match resource {
        Resource::Mcp(server) => Some(Cow::Owned(mcp::interface(server))),
        // Only a run holds secrets, and the run describes its own interface.
        Resource::Programs(_) => Some(Cow::Borrowed(program::without_secrets())),
        other => interface_of(other.kind()).map(Cow::Borrowed),
    }
}

/// Returns the party outside this machine that learns the arguments of a call, even if the call only reads. Returns `None`
/// if they stay on this machine.
pub fn listener(target: &Formula, method: &str) -> Option<String> {
    let Formula::Resource(resource) = target else { return None };
    match resource {
        Resource::Mcp(server) => mcp::listener(server, server.tool(method)?),
        Resource::Web(web) => {
            Some(passable::visible_line(&web.places.first()?.origin.host.to_string()).into_owned())
        }
        _ => None,
    }
}

/// Returns the word of policies for the capability that a formula makes, or `None` if this machine has no such
/// capability.
fn kind(target: &Formula) -> Option<&'static str> {
    let Formula::Resource(resource) = target else { return None };
    let kind = resource.kind().read_only();
    interface_of(kind).map(|_| kind.row().label)
}

/// Returns the target of a grant in the words of policies. A directory has two names: its path as given, and its path
/// with all links followed.
pub fn subject(target: &Formula, grant: &Grant) -> Subject {
    let kind = kind(target).unwrap_or(target.kind());
    let mut names = match target {
        Formula::Resource(Resource::Mcp(server)) => vec![server.name.clone()],
        Formula::Resource(Resource::Repository(repository)) => vec![repository.path.clone()],
        _ => vec![grant.words.clone()],
    };
    if let Formula::Resource(Resource::Directory { path, .. } | Resource::Outbox { path }) = target {
        // A change in a staged copy will be applied to the original directory, so its path counts.
        let path = grant.attenuation.staged_from.as_ref().unwrap_or(path);
        names = vec![path.clone()];
        if let Ok(real) = std::fs::canonicalize(path)
            && let Some(real) = real.to_str().filter(|real| *real != path)
        {
            names.push(real.to_owned());
        }
    }
    Subject { kind: kind.to_owned(), names }
}

/// Returns a pattern for text of at most `most` UTF-16 units. The capability enforces its own limit, in bytes.
fn text(most: u64) -> Pattern {
    Pattern::string_within(Limits::from_pairs([(Limit::StringLength, most as f64)]))
}

/// Opens the directory of a formula. A person chose its path, and its links were followed when it was bound. So no link
/// may stand in the path now.
fn open_directory(path: &str) -> Result<cap_std::fs::Dir, OpenError> {
    walk::open_resolved(std::path::Path::new(path))
        .map(|directory| cap_std::fs::Dir::from_std_file(directory.into()))
        .map_err(|source| not_opened(path, source))
}

/// Opens the directory of a formula like [`open_directory`]. Makes it and its parents if they are missing.
fn make_directory(path: &str) -> Result<cap_std::fs::Dir, OpenError> {
    walk::make_resolved(std::path::Path::new(path))
        .map(|directory| cap_std::fs::Dir::from_std_file(directory.into()))
        .map_err(|source| not_opened(path, source))
}

/// Opens a directory that the daemon made in its own state, to which links may lead.
fn open_own_directory(path: &str) -> Result<cap_std::fs::Dir, OpenError> {
    let real = std::fs::canonicalize(path).map_err(|source| not_opened(path, source))?;
    open_directory(real.to_str().unwrap_or(path))
}

fn not_opened(path: &str, source: std::io::Error) -> OpenError {
    let path = passable::visible_line(path).into_owned();
    match source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        true => OpenError::Diverted { path },
        false => OpenError::Directory { path, source },
    }
}

/// Returns the finding that a begun call does not belong to this capability, or `None` if it does. The kernel has
/// checked the same, but a capability does not rely on that.
fn foreign(begun: &StartedEffect, grant: &Grant) -> Option<Finding> {
    let proposal = begun.proposal();
    let is_ours = proposal.grant == grant.id && begun.grant().id == grant.id;
    if is_ours && grant.methods.contains(&proposal.method) {
        return None;
    }
    Some(
        Finding::new(
            "caps/grant",
            quoting!("`{}` was not granted `{}` here", proposal.slot, proposal.method),
        )
        .at("method")
        .counter_example(proposal.method.clone())
        .allowed(grant.methods.iter().cloned().collect::<Vec<_>>().join(", ")),
    )
}
