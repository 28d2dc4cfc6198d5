//! The policies that are in force in the daemon: those of the machine's administrator, and the operator's.
//!
//! The administrator's files are looked at whenever a call is judged (`config::managed`). While they cannot be followed,
//! no call is judged.
//!
//! The daemon checks the policy file whenever it judges a call. If the file has become invalid, the earlier policies
//! stay in force, and every user is told. Without earlier policies, no call is judged, and runs wait.
//!
//! A file with policies that is deleted or emptied counts as invalid, too. A user who can only delete or empty the
//! file cannot lift its rules. A new daemon begins without earlier policies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kernel::BlobHash;
use kernel::run::{Run, Trouble};
use operator::{ActivePolicies, Policies, PolicyOwner, Problem};
use passable::Untrusted;
use policy::Operator;

use super::log;
use config::managed;
use config::policy_file::{self, NAME, Stamps, stamps};
use control::exit::Failure;
use control::protocol::{ManagedPolicies, PolicyFile, PolicyRow};

/// The time for which a changed file must stay unchanged before it is read, because its writer may not be done.
const SETTLE_INTERVAL: Duration = Duration::from_millis(100);

/// The maximum number of checks whether a file still changes. After these, the file is read as it is.
const MAX_LOOKS: usize = 20;

/// The maximum number of projects whose compiled policies are kept.
const MAX_PROJECTS: usize = 64;

/// The policies that are in force.
#[derive(Debug)]
pub struct PolicyStore {
    path: PathBuf,
    state: Mutex<PolicyState>,
    projects: Mutex<BTreeMap<BlobHash, Arc<Policies>>>,
}

#[derive(Debug, Default)]
struct PolicyState {
    /// The stamps of the file at the last check, or `None` before the first check.
    seen: Option<Stamps>,
    current: Option<Arc<Policies>>,
    /// The errors in the present file.
    problems: Vec<Problem>,
    /// Whether calls can be judged: the file is valid, was valid before, or does not exist.
    is_ready: bool,
}

impl PolicyState {
    /// Returns whether policies are in force.
    fn has_any(&self) -> bool {
        self.current.as_deref().is_some_and(has_any)
    }
}

fn has_any(policies: &Policies) -> bool {
    !policies.policies().is_empty()
}

/// Returns the problem with a file that had policies before and now has none.
fn missing_policies(path: &Path, is_there: bool) -> Problem {
    let message = if is_there { "has no policies any more" } else { "is gone" };
    Problem {
        file: passable::visible_line(&path.to_string_lossy()).into_owned(),
        line: None,
        message: message.to_owned(),
        help: Some(
            "to do without policies from now on: `almoner stop`; the next daemon begins without".to_owned(),
        ),
    }
}

impl PolicyStore {
    /// Returns the policies in a configuration directory.
    pub fn new(config: &Path) -> PolicyStore {
        PolicyStore { path: config.join(NAME), state: Mutex::default(), projects: Mutex::default() }
    }

    /// Loads the file if it has changed.
    fn refresh(&self) -> MutexGuard<'_, PolicyState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = stamps(&self.path);
        if state.seen == Some(now) {
            return state;
        }
        // Many programs save a file in two steps: they empty and fill it, or move it away and create it anew. Half of
        // a policy may be a valid policy.
        for _ in 0..MAX_LOOKS {
            std::thread::sleep(SETTLE_INTERVAL);
            let then = stamps(&self.path);
            if then == now {
                break;
            }
            now = then;
        }
        match policy_file::load(&self.path, PolicyOwner::Operator) {
            Ok(loaded) if state.has_any() && !loaded.as_ref().is_some_and(|(own, _)| has_any(own)) => {
                let problems = vec![missing_policies(&self.path, loaded.is_some())];
                log::failure(&policy_file::failure(&problems));
                state.problems = problems;
            }
            Ok(loaded) => {
                state.current = loaded.map(|(policies, _)| Arc::new(policies));
                state.problems.clear();
                state.is_ready = true;
            }
            Err(problems) => {
                log::failure(&policy_file::failure(&problems));
                state.problems = problems;
            }
        }
        state.seen = Some(now);
        state
    }

    /// Returns whether policies judge calls, or would if the file were valid.
    pub fn has_any(&self) -> bool {
        if managed::current().map_or(true, |rules| rules.policies().is_some()) {
            return true;
        }
        let state = self.refresh();
        !state.is_ready || !state.problems.is_empty() || state.has_any()
    }

    /// Checks that calls can be judged.
    ///
    /// # Errors
    /// When the file is invalid and no earlier policies are in force, or the rules of the machine's administrator cannot
    /// be followed.
    pub fn expect_ready(&self) -> Result<(), Failure> {
        managed::rules()?;
        let state = self.refresh();
        if state.is_ready { Ok(()) } else { Err(policy_file::failure(&state.problems)) }
    }

    /// Returns the policies that are in force for a run: the operator's, and those of the run's project.
    ///
    /// # Errors
    /// When no valid policies are in force, so that calls cannot be judged.
    pub fn for_run(
        &self,
        run: &Run,
        blob: &dyn Fn(&BlobHash) -> Result<Vec<u8>, Trouble>,
    ) -> Result<Option<Arc<dyn Operator>>, Trouble> {
        let project = match run.includes.get(NAME) {
            Some(hash) => Some(self.project(hash, blob)?),
            None => None,
        };
        self.with_project(project).map_err(|failure| stall_reason(&failure))
    }

    /// Returns the policies that are in force outside of runs: those of the machine's administrator and the operator's.
    ///
    /// # Errors
    /// When no valid policies are in force, so that calls cannot be judged.
    pub fn operator(&self) -> Result<Option<Arc<dyn Operator>>, Failure> {
        self.with_project(None)
    }

    fn with_project(&self, project: Option<Arc<Policies>>) -> Result<Option<Arc<dyn Operator>>, Failure> {
        let (own, stale) = {
            let state = self.refresh();
            if !state.is_ready {
                return Err(policy_file::failure(&state.problems));
            }
            (state.current.clone(), state.problems.first().cloned())
        };
        let machine = managed::rules()?.policies().cloned();
        let layers: Vec<_> = machine.into_iter().chain(own).chain(project).collect();
        if layers.is_empty() && stale.is_none() {
            return Ok(None);
        }
        Ok(Some(Arc::new(ActivePolicies::new(policy_file::vocabulary()?, layers, stale))))
    }

    fn project(
        &self,
        hash: &BlobHash,
        blob: &dyn Fn(&BlobHash) -> Result<Vec<u8>, Trouble>,
    ) -> Result<Arc<Policies>, Trouble> {
        let lock = || self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(hash) {
            return Ok(Arc::clone(known));
        }
        let text = String::from_utf8_lossy(&blob(hash)?).into_owned();
        // The policies were valid when the run began. An error means that a newer daemon has another vocabulary.
        let compiled = policy_file::compile(Path::new(NAME), PolicyOwner::Project, &text, None)
            .map_err(|problems| stall_reason(&policy_file::failure(&problems)))?;
        let compiled = Arc::new(compiled);
        let mut projects = lock();
        if projects.len() >= MAX_PROJECTS {
            projects.clear();
        }
        projects.insert(*hash, Arc::clone(&compiled));
        Ok(compiled)
    }

    /// Returns a report on the policies in force, for users.
    pub fn report(&self) -> PolicyFile {
        let state = self.refresh();
        let told = |problem: &Problem| Untrusted::new(problem.to_string());
        let current = state.current.as_deref();
        PolicyFile {
            path: self.path.to_string_lossy().into_owned(),
            digest: current.map(Policies::digest),
            policies: current
                .map(|policies| policies.policies().into_iter().map(row).collect())
                .unwrap_or_default(),
            examples: current.map_or(0, Policies::examples),
            warnings: current
                .map(|policies| policies.warnings().iter().map(told).collect())
                .unwrap_or_default(),
            problems: state.problems.iter().map(told).collect(),
            ready: state.is_ready,
            unbound: vec![],
            managed: managed_report(),
        }
    }
}

/// Returns the report on the policies of the machine's administrator. It is `None` if nothing is managed.
fn managed_report() -> Option<ManagedPolicies> {
    let path = managed::policy_path().to_string_lossy().into_owned();
    match managed::current() {
        Ok(rules) => rules.policies().map(|policies| ManagedPolicies {
            path,
            digest: Some(policies.digest()),
            policies: policies.policies().into_iter().map(row).collect(),
            examples: policies.examples(),
            problem: None,
        }),
        Err(fault) => Some(ManagedPolicies {
            path,
            digest: None,
            policies: vec![],
            examples: 0,
            problem: Some(Untrusted::new(fault.to_string())),
        }),
    }
}

/// Returns the listed form of a policy.
pub fn row(policy: &operator::Policy) -> PolicyRow {
    PolicyRow {
        name: policy.name.clone(),
        line: policy.line,
        forbids: policy.forbids,
        asks: policy.asks,
        invariant: policy.invariant,
        is_of_files: policy.is_of_files,
        reason: policy.reason.clone().map(Untrusted::new),
    }
}

fn stall_reason(failure: &Failure) -> Trouble {
    Trouble {
        code: "policy/invalid".to_owned(),
        message: failure.message.clone(),
        help: format!("{}; then `almoner resume`", failure.help),
    }
}
