//! The daemon's side of the interface that the driver of runs uses.

use std::sync::Arc;

use kernel::command::{Act, Advance, Move, Outcome};
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::run::{Run, Step, Trouble};
use kernel::started_effect::StartedEffect;
use kernel::{BlobHash, FormulaId, RunNumber, StepRef};
use model::{Cancel, MediaSupport, ModelError, ModelLimits, ModelRef, Price, Progress, Provider};
use passable::{Untrusted, visible_line};
use policy::Rules;
use store::InlineBlob;
use worker::{DriverPort, Waiting};

use super::engine::EngineLink;
use crate::state::daemon::HostDaemon;
use crate::state::errors::DaemonError;
use crate::state::stored_objects::trouble;
use crate::state::{model_keys, privacy, text_stream};
use config::managed;
use control::exit::Failure;

impl DriverPort for HostDaemon {
    fn host(&self) -> FormulaId {
        self.host
    }

    fn now_ms(&self) -> i64 {
        HostDaemon::now_ms(self)
    }

    fn memory(&self) -> &worker::Memory {
        &self.memory
    }

    fn run(&self, run: RunNumber) -> Result<Run, Trouble> {
        HostDaemon::run(self, run)
    }

    fn journal(&self, run: RunNumber, from: u64) -> Result<Vec<Step>, Trouble> {
        HostDaemon::journal(self, run, from)
    }

    fn advance_with(
        &self,
        run: RunNumber,
        moves: Vec<Move>,
        bytes: Vec<Vec<u8>>,
    ) -> Result<Outcome, Trouble> {
        // The text that was streamed to clients is in the journal now.
        if moves.iter().any(|step| matches!(step, Move::Reply { .. })) {
            self.news.forget_text(&self.host_run(run));
        }
        let ready = |bytes| self.store.blobs().ready(bytes);
        let kept: Result<Vec<InlineBlob>, _> = bytes.into_iter().map(ready).collect();
        let kept = kept.map_err(|e| trouble(DaemonError::from(e).into()))?;
        let applied = self.attempt_with(self.host, None, Act::Advance(Advance { run, moves }), kept);
        applied.and_then(|applied| Ok(applied.map_err(DaemonError::from)?)).map_err(trouble)
    }

    fn reopen(&self, step: StepRef) -> Result<Option<StartedEffect>, Trouble> {
        self.store
            .read(|txn| kernel::reopen(txn, &self.host, step))
            .map_err(|e| trouble(DaemonError::from(e).into()))
    }

    fn grant(&self, id: &FormulaId) -> Result<(Grant, Formula), Trouble> {
        HostDaemon::grant(self, id)
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobHash, Trouble> {
        HostDaemon::put_blob(self, bytes)
    }

    fn blob(&self, hash: &BlobHash) -> Result<Vec<u8>, Trouble> {
        HostDaemon::blob(self, hash)
    }

    fn provider(&self, run: &Run) -> Result<Arc<dyn Provider>, Trouble> {
        privacy::expect_may_read(self, run)?;
        let model = &run.model;
        let failed = |message: String, help: String| Trouble {
            code: "model/unavailable".to_owned(),
            message: Untrusted::new(message),
            help,
        };
        let references = model::parse_list(model)
            .map_err(|e| failed(e.to_string(), "see `almoner models list`".to_owned()))?;
        // The administrator may have changed the rules since the run began.
        let rules = managed::rules().map_err(managed_trouble)?;
        references.iter().try_for_each(|one| rules.expect_model(one)).map_err(managed_trouble)?;
        model_keys::expect_keys(&self.vault, &references)?;
        let key = |reference: &ModelRef, name: &str| {
            self.keys.get(name, reference).or_else(|| self.vault.model_key(name, reference))
        };
        let [reference] = references.as_slice() else { return Ok(self.opener.open_all(&references, &key)) };
        self.opener.open_with(reference, &|name| key(reference, name)).map_err(|e| match e {
            ModelError::KeyMissing { variable } if self.keys.is_for_another(reference) => failed(
                format!(
                    "there is no key for {}: {variable} came with the address of another server",
                    vendor_address(reference)
                ),
                "the run keeps to the server that was chosen for it; start it anew to use the other one"
                    .to_owned(),
            ),
            e => failed(e.to_string(), format!("{}; then `almoner resume`", e.help())),
        })
    }

    fn has_turn(&self, run: &Run) -> bool {
        let server = server_of(run);
        let has_turn = EngineLink::of(self).is_none_or(|it| it.has_turn(self.host_run(run.number), &server));
        if !has_turn {
            let line = format!("waiting for a turn: many runs wait for {}", visible_line(&server));
            self.news.publish_progress(self.host_run(run.number), line);
        }
        has_turn
    }

    fn wait_for_model(&self, run: &Run) -> Option<Waiting> {
        match EngineLink::of(self) {
            Some(engine) => engine.wait_for_server(self.host_run(run.number), &server_of(run)),
            None => Some(Waiting::without_slot()),
        }
    }

    fn wait_for_effect(&self, run: RunNumber, party: &str) -> Waiting {
        let engine = EngineLink::of(self);
        engine.map_or_else(Waiting::without_slot, |it| it.wait_for_party(self.host_run(run), party))
    }

    fn looks_up(&self, run: &Run) -> bool {
        // With several models, the answer also depends on which of them are available.
        model::parse_list(&run.model).is_ok_and(|all| matches!(all.as_slice(), [one] if one.is_lookup()))
    }

    fn kept_from_private(&self, model: &str) -> Option<String> {
        privacy::first_barred_model(self, model)
    }

    fn price(&self, model: &str) -> Option<Price> {
        self.price_of(model)
    }

    fn limits(&self, run: &Run, bytes: usize) -> ModelLimits {
        let key = |reference: &ModelRef, name: &str| {
            self.keys.get(name, reference).or_else(|| self.vault.model_key(name, reference))
        };
        let rules = managed::current();
        self.limits_of(&run.model, &|reference| {
            // Nothing is asked of a server that may not be reached.
            if !rules.as_ref().is_ok_and(|rules| rules.allows_model(reference)) {
                return ModelLimits::lookup(reference);
            }
            let opened = self.opener.open_with(reference, &|name| key(reference, name));
            opened.map_or_else(|_| ModelLimits::lookup(reference), |provider| provider.limits(bytes))
        })
    }

    fn takes(&self, model: &str) -> MediaSupport {
        self.accepted_documents(model)
    }

    fn rules(&self, run: &Run) -> Result<Arc<Rules>, Trouble> {
        let rules = self.as_daemon().rules();
        Ok(match self.policies.for_run(run, &|hash| self.blob(hash))? {
            None => rules,
            Some(operator) => Arc::new(Rules::clone(&rules).with_operator(operator)),
        })
    }

    fn has_machine_policies(&self) -> Result<bool, Trouble> {
        Ok(managed::rules().map_err(managed_trouble)?.policies().is_some())
    }

    fn secrets(&self) -> Arc<policy::Secrets> {
        HostDaemon::secrets(self)
    }

    fn outside(&self, run: &Run) -> Arc<dyn caps::HostServices> {
        self.services_of(run)
    }

    fn cancel(&self, run: RunNumber) -> Cancel {
        let engine = EngineLink::of(self);
        engine.map_or_else(|| self.cancel.clone(), |engine| engine.switch_of(self.host_run(run)))
    }

    fn progress(&self, run: RunNumber, prompted: u64, progress: Progress) {
        let run = self.host_run(run);
        let line = match progress {
            Progress::Loading => "loading the local model".to_owned(),
            Progress::Prompt { done, total } => format!("reading {done} of {total} tokens"),
            Progress::Waiting { server, wait } => {
                let seconds = wait.as_millis().div_ceil(1000);
                format!("waiting {seconds} s: {} asks to slow down", visible_line(&server))
            }
            Progress::Text(more) => {
                let secrets = self.secrets();
                return self.news.publish_text(run, prompted, &more, |text, from| {
                    text_stream::showable_part(&secrets, text, from)
                });
            }
            Progress::Restarted => {
                self.news.forget_text(&run);
                "trying again".to_owned()
            }
        };
        self.news.publish_progress(run, line);
    }

    fn is_stopping(&self) -> bool {
        // Nothing is begun in a damaged store.
        self.as_daemon().is_stopping() || self.store.damage().is_some()
    }
}

/// Returns the trouble of a run that the machine's administrator stops.
fn managed_trouble(failure: Failure) -> Trouble {
    let help = format!("{}; then `almoner resume`", failure.help);
    Trouble { code: "managed/refused".to_owned(), message: failure.message, help }
}

/// Returns the server that a run waits for. Of several models, the first one names it.
fn server_of(run: &Run) -> String {
    let first = model::parse_list(&run.model).ok().and_then(|all| all.into_iter().next());
    first.map_or_else(|| run.model.clone(), |reference| reference.server())
}

/// Returns the default address of a vendor's models.
fn vendor_address(reference: &ModelRef) -> &str {
    match reference {
        ModelRef::Vendor { vendor, .. } => vendor.url(),
        _ => "it",
    }
}
