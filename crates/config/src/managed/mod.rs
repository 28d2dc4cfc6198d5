//! The rules of the machine's administrator, in `/etc/almoner`. They bind every home of the machine.
//!
//! The path is fixed: no variable, no setting and no home changes it. The rules can only forbid or ask, and fix the
//! models, the servers of tools and the servers of the network that may be used. The files count only if nobody but
//! root can have written them. If they are there and do not count, or hold a fault, nothing is judged and no run
//! begins.

mod error;
mod files;
mod model_rules;
mod rules_file;
mod tool_servers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use control::exit::{Exit, Failure};
use model::ModelRef;
use network::Egress;
use operator::Policies;
use passable::visible_line;
use resource::mcp::{ServerTransport, ToolServer};

pub use error::ManagedError;
use files::Stamps;
pub use files::{POLICY_FILE, policy_path};
use model_rules::ModelRule;

use crate::mcp_file::Server;

/// The words for the owner of the rules, as findings and errors name them.
pub const ADMINISTRATOR: &str = "the machine's administrator";

/// The advice in every refusal that only the administrator can lift.
pub const HELP: &str = "`almoner doctor managed` shows what is allowed; only the administrator can change it";

/// The rules of the machine's administrator. A part that is `None` binds nothing.
#[derive(Clone, Debug, Default)]
pub struct Managed {
    /// The path of the file with the rules.
    path: String,
    /// Whether there is a file with rules.
    has_rules: bool,
    /// The only models that may be asked.
    models: Option<Vec<ModelRule>>,
    /// The only servers of tools that may be used, by their names.
    servers: Option<BTreeMap<String, Server>>,
    /// The only servers of the network that may be reached.
    egress: Option<Arc<Egress>>,
    /// Whether confined programs may be given the network, although the servers of the network are restricted.
    programs: bool,
    /// The policies, which forbid and ask.
    policies: Option<Arc<Policies>>,
}

/// The rules as they were read last, and the state of the files then.
struct KnownRules {
    stamps: Stamps,
    rules: Result<Arc<Managed>, Arc<ManagedError>>,
}

/// Returns the rules that bind this machine now. The files are read again when they have changed.
///
/// # Errors
/// When the files are there, but hold a fault or could have been written by somebody else than root.
pub fn current() -> Result<Arc<Managed>, Arc<ManagedError>> {
    static KNOWN: Mutex<Option<KnownRules>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Stamps::now();
    if let Some(known) = known.as_ref().filter(|known| known.stamps == now) {
        return known.rules.clone();
    }
    let stamps = Stamps::settled(now);
    let rules = rules_file::read().map(Arc::new).map_err(Arc::new);
    *known = Some(KnownRules { stamps, rules: rules.clone() });
    rules
}

/// Returns the rules that bind this machine now, with a fault of the files as the failure of a command.
///
/// # Errors
/// As for [`current`].
pub fn rules() -> Result<Arc<Managed>, Failure> {
    current().map_err(|error| failure(&error))
}

/// Returns the failure for a fault of the files.
pub fn failure(error: &Arc<ManagedError>) -> Failure {
    let help = error.help();
    Failure::from_error(Exit::Denied, Arc::clone(error)).help(help)
}

/// Returns the failure for something that the administrator does not allow.
fn refusal(what: String) -> Failure {
    Failure::new(Exit::Denied, what).help(HELP)
}

impl Managed {
    /// Returns whether anything is managed at all.
    pub fn is_managed(&self) -> bool {
        self.has_rules || self.policies.is_some()
    }

    /// Returns the administrator's policies, if there are any.
    pub fn policies(&self) -> Option<&Arc<Policies>> {
        self.policies.as_ref()
    }

    /// Returns the only servers of the network that may be reached, if they are restricted.
    pub fn egress(&self) -> Option<Arc<Egress>> {
        self.egress.clone()
    }

    /// Returns the reason why a program may not be given the network, or `None` if it may.
    ///
    /// A program that can open connections can open them to anywhere.
    pub fn refuses_network(&self) -> Option<String> {
        let egress = self.egress.as_ref().filter(|_| !self.programs)?;
        Some(format!(
            "{ADMINISTRATOR} allows only some servers ({}), and a program with the network reaches any",
            egress.place()
        ))
    }

    /// Checks that a tool of another registry, such as `pip`, may fetch something. It reaches the servers of its own
    /// choice.
    ///
    /// # Errors
    /// When the servers of the network are restricted.
    pub fn expect_registry_tool(&self, tool: &str) -> Result<(), Failure> {
        match self.refuses_network() {
            None => Ok(()),
            Some(reason) => Err(refusal(format!("cannot fetch with {tool}: {reason}"))),
        }
    }

    /// Returns whether the administrator lets a model be asked.
    pub fn allows_model(&self, model: &ModelRef) -> bool {
        self.models.as_ref().is_none_or(|rules| rules.iter().any(|rule| rule.allows(model)))
    }

    /// Checks that the administrator lets a model be asked.
    ///
    /// # Errors
    /// When the administrator does not.
    pub fn expect_model(&self, model: &ModelRef) -> Result<(), Failure> {
        match self.allows_model(model) {
            true => Ok(()),
            false => {
                let model = model.to_string();
                let (model, path) = (visible_line(&model), &self.path);
                Err(refusal(format!(
                    "cannot use the model {model}: {ADMINISTRATOR} does not allow it ({path})"
                )))
            }
        }
    }

    /// Checks that the administrator lets all models of a list be asked, in the form that a run stores.
    ///
    /// # Errors
    /// When the administrator does not allow one of them, or the text names no model.
    pub fn expect_models(&self, text: &str) -> Result<(), Failure> {
        let Some(_) = &self.models else { return Ok(()) };
        let all = model::parse_list(text).map_err(|error| Failure::from_error(Exit::Usage, error))?;
        all.iter().try_for_each(|model| self.expect_model(model))
    }

    /// Returns the only servers of tools that may be used, if the administrator has fixed them.
    pub fn servers(&self) -> Option<&BTreeMap<String, Server>> {
        self.servers.as_ref()
    }

    /// Checks that users may write servers of tools of their own into `mcp.json`.
    ///
    /// # Errors
    /// When the administrator has fixed the servers.
    pub fn expect_own_servers(&self) -> Result<(), Failure> {
        match &self.servers {
            None => Ok(()),
            Some(_) => Err(refusal(format!(
                "cannot change the servers of tools: {ADMINISTRATOR} has fixed them ({})",
                self.path
            ))),
        }
    }

    /// Checks that the administrator has fixed a server of tools of this name, or has fixed none.
    ///
    /// # Errors
    /// When the administrator has fixed others.
    pub fn expect_server(&self, name: &str) -> Result<(), Failure> {
        match &self.servers {
            Some(fixed) if !fixed.contains_key(name) => Err(self.foreign_server(name)),
            _ => Ok(()),
        }
    }

    /// Returns the refusal of a server of tools that the administrator has not fixed.
    pub fn foreign_server(&self, name: &str) -> Failure {
        let known: Vec<&str> = self.servers.iter().flatten().map(|(name, _)| name.as_str()).collect();
        let help = match known.is_empty() {
            true => format!("no server of tools is allowed here; {HELP}"),
            false => format!("there are {}; {HELP}", known.join(", ")),
        };
        let (name, path) = (visible_line(name), &self.path);
        refusal(format!("cannot use the server {name}: {ADMINISTRATOR} does not allow it ({path})"))
            .help(help)
    }

    /// Returns the reason why a server of tools that a run was given may not be used any more, or `None` if it may.
    pub fn refuses_server(&self, server: &ToolServer) -> Option<String> {
        let Some(fixed) = &self.servers else {
            // A fixed server has the network that the administrator gives it.
            let has_network = matches!(&server.line, ServerTransport::Program(program) if program.network);
            return self.refuses_network().filter(|_| has_network);
        };
        let (name, path) = (visible_line(&server.name), &self.path);
        match fixed.get(&server.name) {
            None => Some(format!("{ADMINISTRATOR} does not allow the server {name} ({path})")),
            Some(own) if !tool_servers::is_same(own, server) => {
                Some(format!("{ADMINISTRATOR} has fixed another server under the name {name} ({path})"))
            }
            Some(_) => None,
        }
    }

    fn models_list(&self) -> Option<String> {
        let all: Vec<String> = self.models.as_ref()?.iter().map(ToString::to_string).collect();
        Some(if all.is_empty() { "none".to_owned() } else { all.join(", ") })
    }

    /// Returns the line about the only models that may be asked, if they are restricted.
    pub fn models_line(&self) -> Option<String> {
        let models = self.models_list()?;
        Some(format!("{ADMINISTRATOR} allows only {models} ({})", self.path))
    }

    /// Returns the line about the only servers of the network that may be reached, if they are restricted.
    fn egress_list(&self) -> Option<String> {
        let servers = self.egress.as_ref()?.description();
        let programs =
            if self.programs { "programs may have the network" } else { "no program has the network" };
        Some(format!("{servers}; {programs}"))
    }

    /// Returns the policies' file and their number, if there are any.
    fn policies_line(&self) -> Option<String> {
        let policies = self.policies.as_ref()?;
        let count = crate::policy_file::counted(policies.policies().len(), policies.examples());
        Some(format!("{}: {count}", policies.file()))
    }

    /// Returns the notes for the preview of a run: the policies that judge its calls, and the servers that it reaches.
    pub fn run_notes(&self) -> Vec<String> {
        let policies =
            self.policies_line().map(|line| format!("policies of {ADMINISTRATOR} bind this run, in {line}"));
        let egress = self.egress_list().map(|servers| {
            format!("it reaches only servers that {ADMINISTRATOR} allows ({}): {servers}", self.path)
        });
        policies.into_iter().chain(egress).collect()
    }

    /// Returns what the rules bind, in one line for each part.
    pub fn description(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.has_rules {
            lines.push(format!("{} binds every home of this machine", self.path));
        }
        lines.extend(self.models_list().map(|models| format!("models: {models}")));
        if let Some(servers) = &self.servers {
            let all = servers.iter().map(|(name, server)| format!("{name} ({})", server.describe()));
            let all: Vec<String> = all.collect();
            lines.push(format!(
                "servers of tools: {}",
                if all.is_empty() { "none".to_owned() } else { all.join(", ") }
            ));
        }
        lines.extend(self.egress_list().map(|servers| format!("servers of the network: {servers}")));
        lines.extend(self.policies_line());
        lines
    }
}
