//! The daemon's state, as it serves each host, and the side of it that drivers of runs see.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};

use kernel::begun::Begun;
use kernel::command::{Act, Advance, CancelledCode, Command, Fault, GrantAct, Move, Outcome, Said, TimerAct};
use kernel::env::Env;
use kernel::event::Event;
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::hub::View;
use kernel::run::{Run, Step, Trouble};
use kernel::txn::{ReadTxn, StoreFault, Txn};
use kernel::used::UsedCall;
use kernel::{BlobHash, FormulaId, HostRun, RunNumber, StepRef, query, table};
use model::{Cancel, ModelError, ModelRef, Opener, Price, Progress, Provider, Takes};
use passable::Untrusted;
use policy::Rules;
use resource::Resource;
use resource::secret::HandedSecret;
use store::{Kept, Store};
use worker::World;

use super::faults::{fault_failure, store_failure};
use super::forget::Errands;
use super::handed::{Orphans, Unwritten};
use super::keys::Keys;
use super::model_keys;
use super::news::News;
use super::notify::Notices;
use super::passes::Passes;
use super::policies::PolicyDesk;
use super::private;
use super::stream;
use super::timekeeper::Alarms;
use super::uses::Uses;
use super::vats::Office;
use super::vault::{Keeper, Withheld};
use config::clock;
use config::settings::{Followed, Models};
use control::exit::{Exit, Failure};

/// Everything that the daemon holds, for all hosts of its store. All of it but the store may be lost.
pub struct Shared {
    /// The one owner of the store.
    pub store: Store,
    /// How models are opened.
    pub opener: Opener,
    /// Keys that clients brought along.
    pub keys: Keys,
    /// What followers wait for.
    pub news: News,
    /// Clearing up that somebody waits for.
    pub errands: Errands,
    /// Tokens for clients of the gateway.
    pub passes: Passes,
    /// How the last notification went.
    pub notices: Notices,
    /// The agent of the person who owns the store.
    pub root: FormulaId,
    /// What happens when its time has come.
    pub alarms: Arc<Alarms>,
    /// Secrets by name.
    pub vault: Keeper,
    /// What proposals are judged by beside the gates' own code.
    rules: RwLock<Arc<Rules>>,
    /// The operator's policies.
    pub policies: PolicyDesk,
    /// Where the user's own prices are written.
    settings: OnceLock<Mutex<Followed>>,
    /// Where code goes, once there is anybody who takes it.
    vats: OnceLock<Arc<Office>>,
    /// Effects in agents' journals that nobody has in hand.
    pub orphans: Orphans,
    /// What drivers of runs leave for those that come after them.
    pub memory: worker::Memory,
    /// Outcomes of calls that only looked, until they are written down.
    pub unwritten: Unwritten,
    /// What grants are used for outside of runs, until it is written down.
    pub uses: Uses,
    /// Stops every model call when the daemon ends.
    pub cancel: Cancel,
    stopping: AtomicBool,
    /// Runs that could not even be stalled, because the store failed.
    stuck: Mutex<BTreeMap<HostRun, Trouble>>,
    /// Hangs up when everything above has been dropped, and the store so has been closed. The last field.
    _open: Sender<()>,
}

/// The daemon as it serves one host: runs, messages and events are that host's.
#[derive(Clone)]
pub struct Daemon {
    shared: Arc<Shared>,
    /// The agent for whom it acts.
    pub host: FormulaId,
}

impl std::ops::Deref for Daemon {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Shared {
    /// Reads one consistent state.
    pub fn read<T>(
        &self,
        query: impl FnOnce(&mut dyn ReadTxn) -> Result<T, StoreFault>,
    ) -> Result<T, Failure> {
        self.store.read(query).map_err(|e| store_failure(e.to_string()))
    }

    /// Asks the kernel about one consistent state; a fault is told as one.
    pub fn look<T>(&self, query: impl FnOnce(&mut dyn ReadTxn) -> Result<T, Fault>) -> Result<T, Failure> {
        self.store.read(query).map_err(|e| match e {
            store::ReadError::Refused(fault) => fault_failure(&fault),
            other => store_failure(other.to_string()),
        })
    }

    /// Applies one act of any agent; returns when it is durable.
    pub fn apply_as(&self, actor: FormulaId, said: Option<Said>, act: Act) -> Result<Outcome, Failure> {
        self.attempt(actor, said, act)?.map_err(|fault| fault_failure(&fault))
    }

    /// Notes a call that stands in no journal, if it goes through grants.
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
        let grants = self.read(|txn| kernel::used::grants(txn, id, through))?;
        self.note_uses(grants, by, method, refused);
        Ok(())
    }

    /// Notes a call that stands in no journal, through these grants.
    pub fn note_uses(&self, grants: BTreeSet<FormulaId>, by: FormulaId, method: &str, refused: bool) {
        if !grants.is_empty() {
            self.uses.add(grants, &UsedCall::new(clock::now_ms(), by, method, refused));
        }
    }

    /// The same, telling what the kernel refuses from what the store cannot do just now.
    ///
    /// # Errors
    /// The store's.
    pub fn attempt(
        &self,
        actor: FormulaId,
        said: Option<Said>,
        act: Act,
    ) -> Result<Result<Outcome, Fault>, Failure> {
        self.attempt_with(actor, said, act, vec![])
    }

    /// The same, keeping bytes that the act names.
    fn attempt_with(
        &self,
        actor: FormulaId,
        said: Option<Said>,
        act: Act,
        kept: Vec<Kept>,
    ) -> Result<Result<Outcome, Fault>, Failure> {
        let is_of_timers = matches!(
            act,
            Act::Timer(TimerAct::Subscribe { .. }) | Act::Cancel { .. } | Act::Grant(GrantAct::Revoke { .. })
        ) || waits(&act);
        let command = Command { actor, act, said };
        let env = environment()?;
        let write = move |txn: &mut dyn Txn| {
            kept.iter().try_for_each(|kept| kept.keep(txn))?;
            kernel::apply(txn, &env, command)
        };
        match self.store.write(write) {
            Ok(outcome) => {
                if is_of_timers {
                    self.alarms.stir();
                }
                self.news.wake();
                self.cancelled(&outcome.cancelled);
                Ok(Ok(outcome))
            }
            Err(store::WriteError::Refused(fault @ Fault::Store(_))) => Err(fault_failure(&fault)),
            Err(store::WriteError::Refused(fault)) => Ok(Err(fault)),
            Err(other) => Err(store_failure(other.to_string())),
        }
    }

    /// Lets the heaps of code go that was cancelled. It waits for nothing.
    pub fn cancelled(&self, code: &[CancelledCode]) {
        if let Some(office) = self.vats() {
            code.iter().for_each(|one| office.cancel(one));
        }
    }

    /// Says where code goes, once.
    pub fn open_vats(&self, office: Arc<Office>) {
        // Whoever came first stays.
        let _ = self.vats.set(office);
    }

    /// Where code goes, and messages to the objects that it has made.
    pub fn vats(&self) -> Option<&Office> {
        self.vats.get().map(|office| &**office)
    }

    /// What proposals are judged by beside the gates' own code, as it is now.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes what proposals are judged by. What is being judged just now is judged by what was there before.
    pub fn change_rules(&self, change: impl FnOnce(&mut Rules)) {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Rules::clone(&rules);
        change(&mut changed);
        *rules = Arc::new(changed);
    }

    /// Lets everything that is at work end at its next step.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.cancel.cancel();
        self.news.end();
        self.alarms.end();
    }

    /// Whether it is about to end.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn lock_stuck(&self) -> MutexGuard<'_, BTreeMap<HostRun, Trouble>> {
        self.stuck.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Daemon {
    /// A daemon over an open store that has been through genesis, as it serves the store's own host. `open` hangs up
    /// once the store is closed.
    pub fn new(
        store: Store,
        host: FormulaId,
        opener: Opener,
        vault: Keeper,
        policies: PolicyDesk,
        open: Sender<()>,
    ) -> Daemon {
        let shared = Shared {
            store,
            opener,
            keys: Keys::default(),
            news: News::default(),
            errands: Errands::default(),
            passes: Passes::default(),
            notices: Notices::default(),
            root: host,
            alarms: Arc::default(),
            vault,
            rules: RwLock::default(),
            policies,
            settings: OnceLock::new(),
            vats: OnceLock::new(),
            orphans: Orphans::default(),
            memory: worker::Memory::default(),
            unwritten: Unwritten::default(),
            uses: Uses::default(),
            cancel: Cancel::default(),
            stopping: AtomicBool::new(false),
            stuck: Mutex::default(),
            _open: open,
        };
        Daemon { shared: Arc::new(shared), host }
    }

    /// The same daemon as it serves another host.
    pub fn of(&self, host: FormulaId) -> Daemon {
        Daemon { shared: Arc::clone(&self.shared), host }
    }

    /// What it shares with those that serve other hosts, without keeping it.
    pub fn shared(&self) -> Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    /// One of the host's runs, among those of all hosts.
    fn mine(&self, run: RunNumber) -> HostRun {
        HostRun { host: self.host, run }
    }

    /// Applies one act of the host; returns when it is durable.
    pub fn apply(&self, act: Act) -> Result<Outcome, Failure> {
        self.apply_as(self.host, None, act)
    }

    /// Follows the prices that the user writes in a file of settings.
    pub fn follow_prices(&self, file: std::path::PathBuf) {
        let _ = self.shared.settings.set(Mutex::new(Followed::new(file)));
    }

    /// Which documents a model takes as they are; of several, what all of them take.
    pub fn takes_of(&self, model: &str) -> Takes {
        let own = self.models();
        let takes = |reference: &ModelRef| {
            let (name, usual) = (reference.plain().to_string(), Takes::of(reference));
            Takes {
                images: usual.images || own.images.contains(&name),
                pdfs: usual.pdfs || own.pdfs.contains(&name),
            }
        };
        let all = model::list(model).unwrap_or_default();
        all.iter().map(takes).reduce(Takes::and).unwrap_or_default()
    }

    /// What the user says of models.
    pub(super) fn models(&self) -> Models {
        let settings = self.shared.settings.get();
        let mut settings = settings.map(|followed| followed.lock().unwrap_or_else(PoisonError::into_inner));
        // What is wrong with the file is told by whoever else follows it.
        settings.as_mut().map(|followed| followed.look().0.models.clone()).unwrap_or_default()
    }

    /// What a model costs, by the user's own prices or the table; of several the dearest. `None` where that is not
    /// known.
    pub fn price_of(&self, model: &str) -> Option<Price> {
        let references = model::list(model).ok()?;
        let own = self.models();
        let price = |reference: &ModelRef| {
            own.prices.get(&reference.plain().to_string()).copied().or_else(|| Price::of(reference))
        };
        let first = price(references.first()?)?;
        references.iter().skip(1).try_fold(first, |sum, reference| Some(sum.or(price(reference)?)))
    }

    /// Events after `after`.
    pub fn events(&self, after: u64, limit: usize) -> Result<Vec<Event>, Failure> {
        self.read(|txn| query::events(txn, &self.host.number, after, limit))
    }

    /// The number of the last event; 0 if there is none.
    pub fn last_event(&self) -> Result<u64, Failure> {
        Ok(self.read(|txn| kernel::head::log_end(txn, &self.host.number))?.map_or(0, |end| end.seq))
    }

    /// How an agent sees names now.
    pub fn view(&self, agent: FormulaId) -> View {
        View { agent, now_ms: clock::now_ms() }
    }

    /// Remembers that a run cannot go on until somebody says `resume`.
    pub fn set_stuck(&self, run: RunNumber, trouble: Trouble) {
        let run = self.mine(run);
        let mut stuck = self.lock_stuck();
        stuck.insert(run, trouble.clone());
        self.news.tell_stuck(run, trouble);
    }

    /// Forgets that a run got stuck: it is being driven again.
    pub fn set_free(&self, run: RunNumber) {
        let run = self.mine(run);
        let mut stuck = self.lock_stuck();
        if stuck.remove(&run).is_some() {
            self.news.tell_free(run);
        }
    }

    /// Every run of the host that the store itself keeps from going on.
    pub fn all_stuck(&self) -> Vec<(RunNumber, Trouble)> {
        let stuck = self.lock_stuck();
        let mine = stuck.iter().filter(|(of, _)| of.host == self.host);
        mine.map(|(of, trouble)| (of.run, trouble.clone())).collect()
    }

    /// A directory of the daemon's own as a directory like any other.
    pub(super) fn scratch(&self, id: &FormulaId, read_only: bool) -> Formula {
        let path = super::mounts::scratch(self.state(), id);
        // One that cannot be made cannot be opened either, which is said where it is tried.
        let _ = config::place::private_dir(&path);
        Formula::Resource(Resource::Directory { path: path.to_string_lossy().into_owned(), read_only })
    }

    /// What calls of agents need of this daemon: bytes that are kept beside the store.
    pub fn kept_beside(&self) -> Arc<dyn caps::Outside> {
        Arc::new(Edge { shared: self.shared(), has_project: true, grants: BTreeMap::new() })
    }

    /// The directory of what belongs to this daemon.
    pub fn state(&self) -> &std::path::Path {
        self.store.dir().parent().unwrap_or(self.store.dir())
    }

    /// What keeps a run from going on, if the store itself does.
    pub fn stuck(&self, run: RunNumber) -> Option<Trouble> {
        self.lock_stuck().get(&self.mine(run)).cloned()
    }
}

/// One reading of the clock and one draw of entropy.
pub fn environment() -> Result<Env, Failure> {
    let mut entropy = [0; 32];
    random(&mut entropy)?;
    Ok(Env::new(clock::now_ms(), entropy))
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

/// Where a vendor's models are, unless a reference says otherwise.
fn own_address(reference: &ModelRef) -> &str {
    match reference {
        ModelRef::Vendor { vendor, .. } => vendor.url(),
        _ => "it",
    }
}

fn trouble(failure: Failure) -> Trouble {
    Trouble { code: "store/failed".to_owned(), message: failure.message, help: failure.help }
}

fn missing(what: impl std::fmt::Display) -> Trouble {
    Trouble {
        code: "store/missing".to_owned(),
        message: Untrusted::new(format!("{what} is not in the store")),
        help: "`almoner doctor` examines the store".to_owned(),
    }
}

impl World for Daemon {
    fn host(&self) -> FormulaId {
        self.host
    }

    fn now_ms(&self) -> i64 {
        clock::now_ms()
    }

    fn memory(&self) -> &worker::Memory {
        &self.memory
    }

    fn run(&self, run: RunNumber) -> Result<Run, Trouble> {
        self.read(|txn| table::run(txn, &self.host.number, run)).map_err(trouble)?.ok_or_else(|| missing(run))
    }

    fn journal(&self, run: RunNumber, from: u64) -> Result<Vec<Step>, Trouble> {
        self.read(|txn| query::journal(txn, &self.host.number, run, from)).map_err(trouble)
    }

    fn advance_with(
        &self,
        run: RunNumber,
        moves: Vec<Move>,
        bytes: Vec<Vec<u8>>,
    ) -> Result<Outcome, Trouble> {
        // What was shown while it was written is in the journal now.
        if moves.iter().any(|step| matches!(step, Move::Reply { .. })) {
            self.news.forget_text(&self.mine(run));
        }
        let ready = |bytes| self.store.blobs().ready(bytes);
        let kept: Result<Vec<Kept>, _> = bytes.into_iter().map(ready).collect();
        let kept = kept.map_err(|e| trouble(store_failure(e.to_string())))?;
        let applied = self.attempt_with(self.host, None, Act::Advance(Advance { run, moves }), kept);
        applied.and_then(|applied| applied.map_err(|fault| fault_failure(&fault))).map_err(trouble)
    }

    fn reopen(&self, step: StepRef) -> Result<Option<Begun>, Trouble> {
        self.store.read(|txn| kernel::reopen(txn, &self.host, step)).map_err(|e| match e {
            store::ReadError::Refused(fault) => trouble(fault_failure(&fault)),
            other => trouble(store_failure(other.to_string())),
        })
    }

    fn grant(&self, id: &FormulaId) -> Result<(Grant, Formula), Trouble> {
        let found = self
            .read(|txn| {
                let Some(reached) = table::reach(txn, id)? else { return Ok(None) };
                // To whoever uses it, a directory of the daemon's own is a directory like any other.
                let formula = match &reached.formula {
                    Formula::Scratch { read_only } => self.scratch(&reached.id, *read_only),
                    other => other.clone(),
                };
                Ok(reached.grant().map(|grant| (grant, formula)))
            })
            .map_err(trouble)?;
        found.ok_or_else(|| missing(id))
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobHash, Trouble> {
        self.store.blobs().put(bytes).map_err(|e| trouble(store_failure(e.to_string())))
    }

    fn blob(&self, hash: &BlobHash) -> Result<Vec<u8>, Trouble> {
        self.store.blobs().get(hash).map_err(|e| trouble(store_failure(e.to_string())))
    }

    fn provider(&self, run: &Run) -> Result<Arc<dyn Provider>, Trouble> {
        private::expect_may_read(self, run)?;
        let model = &run.model;
        let failed = |message: String, help: String| Trouble {
            code: "model/unavailable".to_owned(),
            message: Untrusted::new(message),
            help,
        };
        let references =
            model::list(model).map_err(|e| failed(e.to_string(), "see `almoner models list`".to_owned()))?;
        model_keys::expect(&self.vault, &references)?;
        let key = |reference: &ModelRef, name: &str| {
            self.keys.get(name, reference).or_else(|| self.vault.model_key(name, reference))
        };
        let [reference] = references.as_slice() else { return Ok(self.opener.open_all(&references, &key)) };
        self.opener.open_with(reference, &|name| key(reference, name)).map_err(|e| match e {
            ModelError::KeyMissing { variable } if self.keys.is_for_another(reference) => failed(
                format!(
                    "there is no key for {}: {variable} came with the address of another server",
                    own_address(reference)
                ),
                "the run keeps to the server that was chosen for it; start it anew to use the other one"
                    .to_owned(),
            ),
            e => failed(e.to_string(), format!("{}; then `almoner resume`", e.help())),
        })
    }

    fn looks_up(&self, run: &Run) -> bool {
        // Which of several answers depends on how the others are.
        model::list(&run.model).is_ok_and(|all| matches!(all.as_slice(), [one] if one.looks_up()))
    }

    fn kept_from_private(&self, model: &str) -> Option<String> {
        private::kept_out(self, model)
    }

    fn price(&self, model: &str) -> Option<Price> {
        self.price_of(model)
    }

    fn takes(&self, model: &str) -> Takes {
        self.takes_of(model)
    }

    fn rules(&self, run: &Run) -> Result<Arc<Rules>, Trouble> {
        let rules = self.shared.rules();
        Ok(match self.policies.of(run, &|hash| self.blob(hash))? {
            None => rules,
            Some(operator) => Arc::new(Rules::clone(&rules).with_operator(operator)),
        })
    }

    fn secrets(&self) -> Arc<policy::Secrets> {
        Arc::clone(&self.shared.rules().secrets)
    }

    fn outside(&self, run: &Run) -> Arc<dyn caps::Outside> {
        let has_project = run.includes.contains_key(config::policy_file::NAME);
        Arc::new(Edge { shared: self.shared(), has_project, grants: run.grants.clone() })
    }

    fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    fn progress(&self, run: RunNumber, prompted: u64, progress: Progress) {
        let run = self.mine(run);
        let line = match progress {
            Progress::Loading => "loading the local model".to_owned(),
            Progress::Prompt { done, total } => format!("reading {done} of {total} tokens"),
            Progress::Text(more) => {
                let secrets = self.secrets();
                return self
                    .news
                    .tell_text(run, prompted, &more, |text, from| stream::settled(&secrets, text, from));
            }
            Progress::Restarted => {
                self.news.forget_text(&run);
                "trying again".to_owned()
            }
        };
        self.news.tell_progress(run, line);
    }

    fn is_stopping(&self) -> bool {
        self.shared.is_stopping()
    }
}

/// Whether a run begins to wait for a time.
fn waits(act: &Act) -> bool {
    let Act::Advance(Advance { moves, .. }) = act else { return false };
    moves.iter().any(|step| matches!(step, Move::Wait { .. }))
}

fn given_out(value: Result<vault::Secret, Withheld>) -> Result<zeroize::Zeroizing<String>, caps::NoSecret> {
    match value {
        Ok(value) => Ok(zeroize::Zeroizing::new(value.reveal().to_owned())),
        Err(Withheld::Missing) => Err(caps::NoSecret::Missing),
        Err(Withheld::Locked) => Err(caps::NoSecret::Locked),
        Err(Withheld::Elsewhere) => Err(caps::NoSecret::Elsewhere),
    }
}

impl Daemon {
    /// What a server of tools needs of the machine when a person looks at it.
    pub fn edge(&self) -> Arc<dyn caps::Outside> {
        Arc::new(Edge { shared: self.shared(), has_project: true, grants: BTreeMap::new() })
    }
}

/// What a part of the web gets of this daemon. It holds nothing: the vault may be locked or changed at any time.
struct Edge {
    shared: Weak<Shared>,
    /// Whether the run is judged by a project's policies.
    has_project: bool,
    /// The run's grants by slot.
    grants: BTreeMap<String, FormulaId>,
}

impl caps::Outside for Edge {
    fn follows_redirects(&self) -> bool {
        !self.has_project && self.shared.upgrade().is_some_and(|shared| !shared.policies.has_any())
    }

    fn secret(
        &self,
        name: &str,
        origin: &resource::web::Origin,
    ) -> Result<zeroize::Zeroizing<String>, caps::NoSecret> {
        let shared = self.shared.upgrade().ok_or(caps::NoSecret::Locked)?;
        given_out(shared.vault.value_for(name, origin))
    }

    fn secret_for_program(&self, name: &str) -> Result<zeroize::Zeroizing<String>, caps::NoSecret> {
        let shared = self.shared.upgrade().ok_or(caps::NoSecret::Locked)?;
        given_out(shared.vault.value_for_program(name))
    }

    fn handed(&self) -> BTreeMap<String, HandedSecret> {
        let Some(shared) = self.shared.upgrade() else { return BTreeMap::new() };
        let now = clock::now_ms();
        let found = shared.read(|txn| {
            let mut handed = BTreeMap::new();
            for (slot, id) in &self.grants {
                let Some(reached) = table::reach(txn, id)?.filter(|reached| reached.ended(now).is_none())
                else {
                    continue;
                };
                if let Formula::Resource(Resource::Secret(secret)) = reached.formula {
                    handed.insert(slot.clone(), secret);
                }
            }
            Ok(handed)
        });
        // What cannot be read is handed to nobody.
        found.unwrap_or_default()
    }

    fn kept(&self, digest: &BlobHash) -> Option<Vec<u8>> {
        self.shared.upgrade()?.store.blobs().get(digest).ok()
    }
}
