//! The agent as whom a verb acts.

use super::Verb;

/// The agent as whom a verb acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Any agent that `--as` names.
    Agent,
    /// The user alone: the verb concerns this machine or the whole store.
    User,
    /// No agent: the daemon starts the verb as a confined process.
    Process,
}

impl Verb {
    /// Returns the scope of the verb.
    pub fn scope(&self) -> Scope {
        match self {
            Verb::Run(_)
            | Verb::Ask(_)
            | Verb::Chat(_)
            | Verb::Save(_)
            | Verb::Inbox(_)
            | Verb::Approve(_)
            | Verb::Deny(_)
            | Verb::Outcome(_)
            | Verb::Runs(_)
            | Verb::Trace(_)
            | Verb::Why(_)
            | Verb::Wait(_)
            | Verb::Resume(_)
            | Verb::Diff(_)
            | Verb::Apply(_)
            | Verb::Discard(_)
            | Verb::Undo(_)
            | Verb::Stats(_)
            | Verb::Export(_)
            | Verb::Forget(_)
            | Verb::Status(_)
            | Verb::Audit(_)
            | Verb::Gateway(_)
            | Verb::Agents(_) => Scope::Agent,
            Verb::Test(_)
            | Verb::Models(_)
            | Verb::Check(_)
            | Verb::New(_)
            | Verb::Import(_)
            | Verb::Schema(_)
            | Verb::Completions(_)
            | Verb::Man(_)
            | Verb::Help(_)
            | Verb::Gc(_)
            | Verb::Logs(_)
            | Verb::Setup(_)
            | Verb::Trust(_)
            | Verb::Policy(_)
            | Verb::Mcp(_)
            | Verb::Pattern(_)
            | Verb::Demo(_)
            | Verb::Doctor(_)
            | Verb::Sessions(_)
            | Verb::Open(_)
            | Verb::Backup(_)
            | Verb::Restore(_)
            | Verb::Service(_)
            | Verb::Daemon(_)
            | Verb::Stop
            | Verb::Secret(_)
            | Verb::Unlock => Scope::User,
            Verb::Sandbox { .. }
            | Verb::VatHost
            | Verb::CodeReader
            | Verb::DocumentReader(_)
            | Verb::GitHost
            | Verb::ModelHost { .. } => Scope::Process,
        }
    }
}
