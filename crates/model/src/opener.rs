//! The opener, which turns a model reference into a provider.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use network::Network;

use crate::cascade::{Cascade, PenaltyBox};
use crate::detect::{DetectedModel, detect};
use crate::error::ModelError;
use crate::limits::LimitMemory;
use crate::local;
use crate::provider::Provider;
use crate::reference::ModelRef;
use crate::replay::Replay;
use crate::retry::Retry;
use crate::scripted::ScriptedModel;
use crate::secret::{Lookup, Secret};
use crate::served::{MinimumPace, RateLimits, ServedModel, ServerAccess};
use crate::weights;

/// A function that returns a key or a setting by the name of an environment variable.
type OwnedLookup = Box<dyn Fn(&str) -> Option<Secret> + Send + Sync>;

/// A function that returns the present way to other machines.
type NetworkSource = Box<dyn Fn() -> Arc<Network> + Send + Sync>;

/// A function that returns the pace that servers have to keep now.
type PaceSource = Box<dyn Fn() -> MinimumPace + Send + Sync>;

/// An opener of models. A daemon keeps one opener, so that all runs share one loaded local model.
pub struct Opener {
    lookup: OwnedLookup,
    weights_dir: PathBuf,
    launch: Option<local::Launch>,
    network: NetworkSource,
    pace: PaceSource,
    /// The rate limits of servers, which all runs share.
    rate_limits: Arc<RateLimits>,
    retry: Retry,
    /// The penalty box for the models of all cascades.
    boxed: Arc<PenaltyBox>,
    /// The limits that servers have stated.
    limits: Arc<LimitMemory>,
    /// The clients of local models, one per weights file. Each client has one child process.
    hosts: Mutex<BTreeMap<PathBuf, Arc<local::Client>>>,
    /// The script that was opened last, and its text. If the text has not changed, the script is not parsed again for
    /// each request.
    script: Mutex<Option<(String, Arc<ScriptedModel>)>>,
}

impl Opener {
    /// Returns an opener that gets keys and settings from `lookup` (by the name of an environment variable) and looks
    /// for weights in `weights_dir`.
    pub fn new(
        lookup: impl Fn(&str) -> Option<Secret> + Send + Sync + 'static,
        weights_dir: impl Into<PathBuf>,
    ) -> Self {
        Self {
            lookup: Box::new(lookup),
            weights_dir: weights_dir.into(),
            launch: None,
            network: Box::new(Arc::default),
            pace: Box::new(MinimumPace::default),
            rate_limits: Arc::default(),
            retry: Retry::default(),
            boxed: Arc::default(),
            limits: Arc::default(),
            hosts: Mutex::default(),
            script: Mutex::default(),
        }
    }

    /// Returns the opener with a function that starts the child process of the local model. Without the function, no
    /// local model is available. The function gets the weights file and returns a command whose `main` ends in
    /// [`local::serve`].
    #[must_use]
    pub fn with_launch(
        mut self,
        launch: impl Fn(&Path) -> std::process::Command + Send + Sync + 'static,
    ) -> Self {
        self.launch = Some(Arc::new(launch));
        self
    }

    /// Returns the opener with a function that returns the present way to other machines. Without the function, every
    /// server is reached directly.
    #[must_use]
    pub fn with_network(mut self, network: impl Fn() -> Arc<Network> + Send + Sync + 'static) -> Self {
        self.network = Box::new(network);
        self
    }

    /// Returns the opener with a function that returns the pace that servers have to keep now. Without the function,
    /// the default applies.
    #[must_use]
    pub fn with_pace(mut self, pace: impl Fn() -> MinimumPace + Send + Sync + 'static) -> Self {
        self.pace = Box::new(pace);
        self
    }

    /// Returns the present way to other machines.
    #[must_use]
    pub fn network(&self) -> Arc<Network> {
        (self.network)()
    }

    /// Forgets the limits of all servers, because the user wants to try at once.
    pub fn forget_limits(&self) {
        self.rate_limits.forget();
    }

    /// Returns the directory that is searched for weights.
    #[must_use]
    pub fn weights_dir(&self) -> &Path {
        &self.weights_dir
    }

    /// Returns the provider that a reference names. Reads a script or recording, but connects to no server and loads
    /// no model yet.
    ///
    /// # Errors
    ///
    /// When a key, the weights or the script are already known to be missing.
    pub fn open(&self, reference: &ModelRef) -> Result<Arc<dyn Provider>, ModelError> {
        self.open_with(reference, &*self.lookup)
    }

    /// Returns the provider that a reference names, with keys and settings from `lookup`. So a keeper of keys can
    /// give each server only its own.
    ///
    /// # Errors
    ///
    /// As for [`Opener::open`].
    pub fn open_with(
        &self,
        reference: &ModelRef,
        lookup: Lookup<'_>,
    ) -> Result<Arc<dyn Provider>, ModelError> {
        self.open_once(reference, lookup, self.retry.clone())
    }

    /// Returns several models as one, which are asked in this order until one answers. A model that failed is skipped
    /// for a time that grows. No model is asked twice in a row, because another one can be asked. `lookup` gives each
    /// model only its own keys.
    #[must_use]
    pub fn open_all(
        &self,
        references: &[ModelRef],
        lookup: &dyn Fn(&ModelRef, &str) -> Option<Secret>,
    ) -> Arc<dyn Provider> {
        let once = Retry { tries: 1, ..self.retry.clone() };
        let open = |reference: &ModelRef| {
            let opened = self.open_once(reference, &|name| lookup(reference, name), once.clone());
            (reference.to_string(), opened)
        };
        Arc::new(Cascade::new(references.iter().map(open).collect(), Arc::clone(&self.boxed)))
    }

    fn open_once(
        &self,
        reference: &ModelRef,
        lookup: Lookup<'_>,
        retry: Retry,
    ) -> Result<Arc<dyn Provider>, ModelError> {
        Ok(match reference {
            ModelRef::Scripted { path } => self.open_script(path)?,
            ModelRef::Replay { path } => Arc::new(Replay::open(path)?),
            ModelRef::Local { name } => self.open_local(reference, name.as_deref())?,
            ModelRef::Vendor { .. } | ModelRef::Ollama { .. } | ModelRef::Compat { .. } => {
                let limits = Arc::clone(&self.rate_limits);
                let access = ServerAccess { network: self.network(), limits, pace: (self.pace)() };
                let served = ServedModel::open(reference, lookup, retry, &access)?;
                Arc::new(served.with_memory(Arc::clone(&self.limits)))
            }
        })
    }

    /// Returns the best available model, as [`detect`] finds it.
    #[must_use]
    pub fn detect(&self) -> DetectedModel {
        detect(&*self.lookup, &self.weights_dir, &self.network())
    }

    fn open_script(&self, path: &Path) -> Result<Arc<ScriptedModel>, ModelError> {
        let text = ScriptedModel::text(path)?;
        let mut last = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, script)) = last.as_ref()
            && *known == text
            && script.path() == path
        {
            return Ok(Arc::clone(script));
        }
        let script = Arc::new(ScriptedModel::parse(path, &text)?);
        *last = Some((text, Arc::clone(&script)));
        Ok(script)
    }

    fn open_local(&self, reference: &ModelRef, name: Option<&str>) -> Result<Arc<dyn Provider>, ModelError> {
        let launch = self.launch.clone().ok_or(ModelError::NotBuilt)?;
        let weights = match name {
            None => weights::default(),
            Some(name) => weights::find(name).ok_or_else(|| ModelError::ModelNotFound {
                model: reference.to_string(),
                reason: format!("the local models are: {}", weights::names()),
            })?,
        };
        let path = weights.path(&self.weights_dir);
        let length =
            std::fs::metadata(&path).map_err(|_| ModelError::WeightsMissing { path: path.clone() })?.len();
        if length != weights.bytes {
            let reason = format!("it has {length} bytes, not {}", weights.bytes);
            return Err(ModelError::WeightsCorrupt { path, reason });
        }
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let client = hosts
            .entry(path.clone())
            .or_insert_with(|| Arc::new(local::Client::new(reference.to_string(), path, launch)));
        Ok(client.clone())
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").field("weights_dir", &self.weights_dir).finish_non_exhaustive()
    }
}
