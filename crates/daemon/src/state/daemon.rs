//! The state of the daemon, as it serves each host, and the methods that drivers of runs call.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};

use kernel::command::{
    Act, Advance, CancelledCode, Command, Fault, GrantAct, Move, Outcome, TimerAct, UserCommand,
};
use kernel::env::Env;
use kernel::event::Event;
use kernel::formula::Formula;
use kernel::grant_usage::GrantUse;
use kernel::name_lookup::View;
use kernel::run::Trouble;
use kernel::txn::{ReadTxn, StoreFault, Txn};
use kernel::{FormulaId, HostRun, RunNumber, query, table};
use model::{Cancel, MediaSupport, ModelLimits, ModelRef, Opener, Price};
use passable::visible_line;
use policy::Rules;
use resource::Resource;
use store::{InlineBlob, Store};

use super::alarms::Alarms;
use super::cleanup_requests::CleanupRequests;
use super::client_keys::KeyStore;
use super::code_host::CodeHost;
use super::effect_queues::{OrphanedEffects, PendingOutcomes};
use super::errors::DaemonError;
use super::extensions::Extensions;
use super::gateway_tokens::GatewayTokens;
use super::grant_usage::PendingUsage;
use super::log;
use super::logins::Logins;
use super::news::News;
use super::notices::Notices;
use super::policies::PolicyStore;
use super::protected_paths::ProtectedPaths;
use super::recorder;
use super::spools::Spools;
use super::surface;
use super::vault::DaemonVault;
use crate::processes::code_reader::Reader;
use crate::processes::document_reader::DocumentReader;
use config::clock;
use config::place::Place;
use config::settings::{Models, SettingsWatcher};
use control::exit::{Exit, Failure};

/// The state that the daemon holds for all hosts of its store. Everything but the store may be lost.
pub struct Daemon {
    /// The store, which is open in this daemon alone.
    pub store: Store,
    /// The directories and files of the daemon and its user.
    pub place: Place,
    /// The paths that no run is ever granted.
    pub protected_paths: ProtectedPaths,
    /// The mail spools that any run was given.
    pub spools: Spools,
    /// The reader of code that a run proposes.
    pub reader: Reader,
    /// The reader of the documents that a run is given.
    pub documents: DocumentReader,
    /// Values that modules above this one keep here.
    pub extensions: Extensions,
    /// The function that drives a run, once an engine has been set.
    engine: OnceLock<Box<dyn Fn(HostRun) + Send + Sync>>,
    /// The function that stops the model calls of cancelled runs, once an engine has been set.
    end_cancelled_calls: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// The function that opens models.
    pub opener: Opener,
    /// Keys that clients brought.
    pub keys: KeyStore,
    /// The hints that wake followers.
    pub news: News,
    /// Garbage collections that users wait for.
    pub cleanup_requests: CleanupRequests,
    /// Tokens for clients of the gateway.
    pub gateway_tokens: GatewayTokens,
    /// The result of the last notification.
    pub notices: Notices,
    /// The agent of the person who owns the store.
    pub root: FormulaId,
    /// The timers of calls that are due at set times.
    pub alarms: Arc<Alarms>,
    /// The secrets, by name.
    pub vault: DaemonVault,
    /// The logins at tool servers.
    pub logins: Logins,
    /// The rules by which proposals are judged, in addition to the gates' own code.
    rules: RwLock<Arc<Rules>>,
    /// Whether the rules have the files that workers of the store include.
    pub(super) included: OnceLock<()>,
    /// The operator's policies.
    pub policies: PolicyStore,
    /// The settings file with the user's own prices.
    settings: OnceLock<Mutex<SettingsWatcher>>,
    /// The host of guest code, once one has been set.
    code_host: OnceLock<Arc<dyn CodeHost>>,
    /// Effects in agents' journals that have begun, but that no thread carries out any more.
    pub orphaned_effects: OrphanedEffects,
    /// Cached state that drivers of runs leave for later drivers.
    pub memory: worker::Memory,
    /// Outcomes of read-only calls that have not been written yet.
    pub pending_outcomes: PendingOutcomes,
    /// Uses of grants outside of runs that have not been written yet.
    pub pending_usage: PendingUsage,
    /// The switch that stops every model call when the daemon ends.
    pub cancel: Cancel,
    stopping: AtomicBool,
    /// Whether a daemon of another build takes the place of this one.
    is_replaced: AtomicBool,
    /// Runs that could not even be marked as stalled, because the store failed.
    blocked: Mutex<BTreeMap<HostRun, Trouble>>,
    /// A sender that hangs up after all fields above have been dropped, and so after the store was closed. It must be
    /// the last field.
    _open: Sender<()>,
}

/// The daemon as it serves one host. Runs, messages and events are those of this host.
#[derive(Clone)]
pub struct HostDaemon {
    shared: Arc<Daemon>,
    /// The host, which is the agent that is served.
    pub host: FormulaId,
}

/// A weak reference to the daemon as it serves one host.
#[derive(Clone)]
pub struct WeakHostDaemon {
    shared: Weak<Daemon>,
    host: FormulaId,
}

impl WeakHostDaemon {
    /// Returns the daemon, or `None` if it has ended.
    pub fn upgrade(&self) -> Option<HostDaemon> {
        Some(HostDaemon { shared: self.shared.upgrade()?, host: self.host })
    }
}

impl std::ops::Deref for HostDaemon {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.shared
    }
}

impl Daemon {
    /// Runs a query on one consistent state of the store.
    pub fn read<T>(
        &self,
        query: impl FnOnce(&mut dyn ReadTxn) -> Result<T, StoreFault>,
    ) -> Result<T, Failure> {
        Ok(self.store.read(query).map_err(DaemonError::from)?)
    }

    /// Runs a query of the kernel on one consistent state of the store. A fault of the kernel becomes a failure.
    pub fn query<T>(&self, query: impl FnOnce(&mut dyn ReadTxn) -> Result<T, Fault>) -> Result<T, Failure> {
        Ok(self.store.read(query).map_err(DaemonError::from)?)
    }

    /// Applies one act of any agent, and returns when the act is durable.
    pub fn apply_as(
        &self,
        actor: FormulaId,
        said: Option<UserCommand>,
        act: Act,
    ) -> Result<Outcome, Failure> {
        let outcome = self.attempt(actor, said, act)?.map_err(DaemonError::from)?;
        outcome.ready.iter().for_each(|run| self.drive(*run));
        Ok(outcome)
    }

    /// Sets what drives each run that an act makes ready from now on, and what stops the model calls of cancelled runs.
    ///
    /// Only the first call counts.
    pub fn set_engine(
        &self,
        drive: impl Fn(HostRun) + Send + Sync + 'static,
        end_cancelled_calls: impl Fn() + Send + Sync + 'static,
    ) {
        let _ = self.engine.set(Box::new(drive));
        let _ = self.end_cancelled_calls.set(Box::new(end_cancelled_calls));
    }

    /// Continues a run, now or when a thread is free. Without an engine, nothing happens.
    pub fn drive(&self, run: HostRun) {
        if let Some(drive) = self.engine.get() {
            drive(run);
        }
    }

    /// Records a call that no journal has, if it goes through grants.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn note_use(
        &self,
        id: &FormulaId,
        through: &[FormulaId],
        by: FormulaId,
        method: &str,
        refused: bool,
    ) -> Result<(), Failure> {
        let grants = self.read(|txn| kernel::grant_usage::grants(txn, id, through))?;
        self.note_uses(grants, by, method, refused);
        Ok(())
    }

    /// Records a call that no journal has, through these grants.
    pub fn note_uses(&self, grants: BTreeSet<FormulaId>, by: FormulaId, method: &str, refused: bool) {
        if !grants.is_empty() {
            self.pending_usage.add(grants, &GrantUse::new(clock::now_ms(), by, method, refused));
        }
    }

    /// Applies one act of any agent. A refusal of the kernel is returned apart from a failure of the store.
    ///
    /// # Errors
    /// When the store fails.
    pub fn attempt(
        &self,
        actor: FormulaId,
        said: Option<UserCommand>,
        act: Act,
    ) -> Result<Result<Outcome, Fault>, Failure> {
        self.attempt_with(actor, said, act, vec![])
    }

    /// Applies one act like [`Daemon::attempt`], and keeps the bytes that the act names.
    pub fn attempt_with(
        &self,
        actor: FormulaId,
        said: Option<UserCommand>,
        act: Act,
        kept: Vec<InlineBlob>,
    ) -> Result<Result<Outcome, Fault>, Failure> {
        let is_of_timers = matches!(
            act,
            Act::Timer(TimerAct::Subscribe { .. }) | Act::Cancel { .. } | Act::Grant(GrantAct::Revoke { .. })
        ) || begins_wait(&act);
        let cancels = matches!(act, Act::Cancel { .. });
        let command = Command { actor, act, said };
        let env = environment()?;
        let write = move |txn: &mut dyn Txn| {
            kept.iter().try_for_each(|kept| kept.keep(txn))?;
            kernel::apply(txn, &env, command)
        };
        match self.store.write(write) {
            Ok(outcome) => {
                if is_of_timers {
                    self.alarms.reschedule();
                }
                self.news.wake();
                self.end_cancelled_code(&outcome.cancelled);
                if let Some(end) = self.end_cancelled_calls.get().filter(|_| cancels) {
                    end();
                }
                Ok(Ok(outcome))
            }
            Err(store::WriteError::Refused(fault @ Fault::Store(_))) => Err(DaemonError::from(fault).into()),
            Err(store::WriteError::Refused(fault)) => Ok(Err(fault)),
            Err(other) => Err(DaemonError::from(other).into()),
        }
    }

    /// Ends the heaps of cancelled code. The method does not wait for their end.
    pub fn end_cancelled_code(&self, code: &[CancelledCode]) {
        if let Some(office) = self.code_host() {
            code.iter().for_each(|one| office.cancel(one));
        }
    }

    /// Sets the host of guest code. Only the first call counts.
    pub fn set_code_host(&self, office: Arc<dyn CodeHost>) {
        // The first one that was set stays.
        let _ = self.code_host.set(office);
    }

    /// Returns the host of guest code, which also takes messages to objects of such code.
    pub fn code_host(&self) -> Option<&dyn CodeHost> {
        self.code_host.get().map(|office| &**office)
    }

    /// Returns the current rules by which proposals are judged, in addition to the gates' own code.
    pub fn rules(&self) -> Arc<Rules> {
        self.load_included_files();
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the rules for proposals. Judgements that are under way keep the old rules.
    pub fn change_rules(&self, change: impl FnOnce(&mut Rules)) {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Rules::clone(&rules);
        change(&mut changed);
        *rules = Arc::new(changed);
    }

    /// Begins to stop the daemon. All work ends at its next step.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.cancel.cancel();
        self.news.end();
        self.alarms.end();
    }

    /// Notes that a daemon of another build takes the place of this one once it has ended.
    pub fn hand_over(&self, to: &str) {
        log::line(&format!("build {} ends; build {} takes its place", config::build::id(), visible_line(to)));
        self.is_replaced.store(true, Ordering::SeqCst);
    }

    /// Returns whether a daemon of another build takes the place of this one.
    pub fn is_replaced(&self) -> bool {
        self.is_replaced.load(Ordering::SeqCst)
    }

    /// Returns whether the daemon is about to end.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn lock_blocked(&self) -> MutexGuard<'_, BTreeMap<HostRun, Trouble>> {
        self.blocked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostDaemon {
    /// Returns the daemon of an initialized, open store, as it serves the store's own host. `open` hangs up once the
    /// store is closed.
    pub fn new(
        store: Store,
        host: FormulaId,
        opener: Opener,
        place: &Place,
        program: PathBuf,
        open: Sender<()>,
    ) -> HostDaemon {
        let shared = Daemon {
            store,
            place: place.clone(),
            protected_paths: ProtectedPaths::new(place),
            spools: Spools::default(),
            documents: DocumentReader::new(program.clone()),
            reader: Reader::new(program),
            extensions: Extensions::default(),
            engine: OnceLock::new(),
            end_cancelled_calls: OnceLock::new(),
            opener,
            keys: KeyStore::default(),
            news: News::default(),
            cleanup_requests: CleanupRequests::default(),
            gateway_tokens: GatewayTokens::default(),
            notices: Notices::default(),
            root: host,
            alarms: Arc::default(),
            vault: DaemonVault::new(&place.state),
            logins: Logins::default(),
            rules: RwLock::default(),
            included: OnceLock::new(),
            policies: PolicyStore::new(&place.config),
            settings: OnceLock::new(),
            code_host: OnceLock::new(),
            orphaned_effects: OrphanedEffects::default(),
            memory: worker::Memory::default(),
            pending_outcomes: PendingOutcomes::default(),
            pending_usage: PendingUsage::default(),
            cancel: Cancel::default(),
            stopping: AtomicBool::new(false),
            is_replaced: AtomicBool::new(false),
            blocked: Mutex::default(),
            _open: open,
        };
        HostDaemon { shared: Arc::new(shared), host }
    }

    /// Returns the state that all hosts share.
    pub fn as_daemon(&self) -> &Daemon {
        &self.shared
    }

    /// Returns a reference that does not keep the daemon alive.
    pub fn downgrade(&self) -> WeakHostDaemon {
        WeakHostDaemon { shared: self.shared(), host: self.host }
    }

    /// Returns the daemon as it serves an agent, which must be a host: no other agent has runs. `name` is the
    /// person's name for the agent.
    ///
    /// # Errors
    /// When the agent is a guest.
    pub fn host_of(&self, agent: FormulaId, name: Option<&str>) -> Result<HostDaemon, Failure> {
        if agent == self.host {
            return Ok(self.clone());
        }
        let row = self.read(|txn| table::formula(txn, &agent))?;
        if let Some(Formula::Host { .. }) = row.map(|row| row.formula) {
            return Ok(self.for_host(agent));
        }
        let name = visible_line(name.unwrap_or("it"));
        let message = format!("`{name}` is a guest: only a host has runs, approvals and events");
        Err(Failure::new(Exit::Denied, message).help(format!(
            "say `--as` with a host's name, or nothing; a guest proposes a worker (`almoner --as {name} define FILE`), \
             and its host endows it"
        )))
    }

    /// Returns the same daemon as it serves another host.
    pub fn for_host(&self, host: FormulaId) -> HostDaemon {
        HostDaemon { shared: Arc::clone(&self.shared), host }
    }

    /// Returns the daemon as it serves a host, from the state that the daemons of all hosts share.
    pub fn serving(shared: &Arc<Daemon>, host: FormulaId) -> HostDaemon {
        HostDaemon { shared: Arc::clone(shared), host }
    }

    /// Returns a weak reference to the state that the daemons of all hosts share.
    pub fn shared(&self) -> Weak<Daemon> {
        Arc::downgrade(&self.shared)
    }

    /// Returns the identity of one of the host's runs among those of all hosts.
    pub fn host_run(&self, run: RunNumber) -> HostRun {
        HostRun { host: self.host, run }
    }

    /// Applies one act of the host, and returns when the act is durable.
    pub fn apply(&self, act: Act) -> Result<Outcome, Failure> {
        self.apply_as(self.host, None, act)
    }

    /// Uses the prices that the user writes in a settings file, and follows changes of the file.
    pub fn follow_prices(&self, file: std::path::PathBuf) {
        let _ = self.shared.settings.set(Mutex::new(SettingsWatcher::new(file)));
    }

    /// Returns the kinds of documents that a model takes unconverted. For several models, returns the kinds that all
    /// of them take.
    pub fn accepted_documents(&self, model: &str) -> MediaSupport {
        let own = self.models();
        let takes = |reference: &ModelRef| {
            let (name, usual) = (reference.plain().to_string(), MediaSupport::for_model(reference));
            MediaSupport {
                images: usual.images || own.images.contains(&name),
                pdfs: usual.pdfs || own.pdfs.contains(&name),
            }
        };
        let all = model::parse_list(model).unwrap_or_default();
        all.iter().map(takes).reduce(MediaSupport::and).unwrap_or_default()
    }

    /// Returns the user's settings for models.
    pub(crate) fn models(&self) -> Models {
        let settings = self.shared.settings.get();
        let mut settings = settings.map(|followed| followed.lock().unwrap_or_else(PoisonError::into_inner));
        // Another follower of the file reports errors in it.
        settings.as_mut().map(|followed| followed.reload().0.models.clone()).unwrap_or_default()
    }

    /// Returns the price of a model: the user's own, or that of the built-in table. For several models, returns the
    /// highest price. Returns `None` if a price is unknown.
    pub fn price_of(&self, model: &str) -> Option<Price> {
        let references = model::parse_list(model).ok()?;
        let own = self.models();
        let price = |reference: &ModelRef| {
            own.prices.get(&reference.plain().to_string()).copied().or_else(|| Price::lookup(reference))
        };
        let first = price(references.first()?)?;
        references.iter().skip(1).try_fold(first, |sum, reference| Some(sum.higher_of(price(reference)?)))
    }

    /// Returns the limits of a model, as far as they are known: the user's own, or else those that `opened` returns for
    /// it. For several models, returns the smaller of each.
    pub fn limits_of(&self, model: &str, opened: &dyn Fn(&ModelRef) -> ModelLimits) -> ModelLimits {
        let own = self.models().limits;
        let limits = |reference: &ModelRef| {
            let said = own.get(&reference.plain().to_string()).copied().unwrap_or_default();
            // A server need not be asked for anything that the user has said.
            if said.context.is_some() {
                said.or(ModelLimits::lookup(reference))
            } else {
                said.or(opened(reference))
            }
        };
        let references = model::parse_list(model).unwrap_or_default();
        references.iter().map(limits).reduce(ModelLimits::smaller_of).unwrap_or_default()
    }

    /// Returns at most `limit` events of the host, from the first one after `after`.
    pub fn events(&self, after: u64, limit: usize) -> Result<Vec<Event>, Failure> {
        self.read(|txn| query::events(txn, &self.host.number, after, limit))
    }

    /// Returns the number of the host's last event, or 0 if the host has no events.
    pub fn last_event(&self) -> Result<u64, Failure> {
        Ok(self.read(|txn| kernel::partial_rows::log_end(txn, &self.host.number))?.map_or(0, |end| end.seq))
    }

    /// Returns an agent's present view of its names.
    pub fn view(&self, agent: FormulaId) -> View {
        View { agent, now_ms: clock::now_ms() }
    }

    /// Records that a run is blocked until a user resumes it.
    pub fn set_blocked(&self, run: RunNumber, trouble: Trouble) {
        let run = self.host_run(run);
        let mut stuck = self.lock_blocked();
        stuck.insert(run, trouble.clone());
        self.news.publish_blocked(run, trouble);
    }

    /// Removes the record that a run is blocked: the run is being driven again.
    pub fn clear_blocked(&self, run: RunNumber) {
        let run = self.host_run(run);
        let mut stuck = self.lock_blocked();
        if stuck.remove(&run).is_some() {
            self.news.publish_unblocked(run);
        }
    }

    /// Returns all runs of the host that are blocked by failures of the store.
    pub fn all_blocked(&self) -> Vec<(RunNumber, Trouble)> {
        let stuck = self.lock_blocked();
        let mine = stuck.iter().filter(|(of, _)| of.host == self.host);
        mine.map(|(of, trouble)| (of.run, trouble.clone())).collect()
    }

    /// Returns a directory of the daemon as a resource like any other directory.
    pub(crate) fn scratch(&self, id: &FormulaId, read_only: bool) -> Formula {
        let path = crate::state::scratch_dirs::path(self.state(), id);
        // If the directory cannot be created, opening it fails later with an error.
        let _ = config::place::private_dir(&path);
        Formula::Resource(Resource::Directory { path: path.to_string_lossy().into_owned(), read_only })
    }

    /// Returns the directory of this daemon's files.
    pub fn state(&self) -> &std::path::Path {
        self.store.dir().parent().unwrap_or(self.store.dir())
    }

    /// Returns the trouble that blocks a run, if the store is the cause.
    pub fn blocked_by(&self, run: RunNumber) -> Option<Trouble> {
        self.lock_blocked().get(&self.host_run(run)).cloned()
    }
}

/// Returns an environment for the kernel: the present time and new entropy.
pub fn environment() -> Result<Env, Failure> {
    let mut entropy = [0; 32];
    random(&mut entropy)?;
    let env = Env::new(clock::now_ms(), entropy);
    Ok(env.recorded_by(recorder::own()).over(surface::current()))
}

/// Fills `bytes` with entropy.
pub fn random(bytes: &mut [u8]) -> Result<(), Failure> {
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(n) => filled += n,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(Failure::new(Exit::Failure, format!("no entropy: {e}"))),
        }
    }
    Ok(())
}

/// Returns whether an act lets a run begin to wait for a time.
fn begins_wait(act: &Act) -> bool {
    let Act::Advance(Advance { moves, .. }) = act else { return false };
    moves.iter().any(|step| matches!(step, Move::Wait { .. } | Move::Pause { .. }))
}
