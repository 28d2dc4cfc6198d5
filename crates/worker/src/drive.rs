//! The driver, which takes a run from the end of its journal to the point where the run must wait.
//!
//! All state of the driver can be rebuilt from the journal, so after a crash the same steps follow.

mod call_order;
mod deferred;
mod depth_approval;
mod each;
mod effects;
mod fitting;
mod then_steps;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kernel::command::{Judgement, Move, Reply as CommandReply};
use kernel::proposal::{Decision, Finding, Proposal};
use kernel::run::{
    CallSite, Completion, ConversationView, Phase, Run, RunOutcome, Shape, State, Trouble, Usage,
};
use kernel::started_effect::StartedEffect;
use kernel::{BlobHash, HostRun, RunNumber};
use model::{MAX_ANSWER_BYTES, ModelError, Reply, Request};

use crate::answer;
use crate::budget::{self, Shortage, StepKind};
use crate::conversation;
use crate::cut;
use crate::driver_port::DriverPort;
use crate::fold::Fold;
use crate::judging::JudgingContext;
use crate::memory::CachedFold;
use crate::nesting_limit;
use crate::program::{self, Program};
use crate::redaction;
use crate::slot_binding::{SlotTarget, Slots};
use crate::spill;
use crate::stored_reply::read_reply;
use crate::stored_request::{self, RequestOutline, read_request};
use crate::token_count;
use crate::trouble::{gave_up, internal, is_final, of_model};
use crate::waiting::Waiting;
use crate::workshop;

use call_order::CallOrder;
use deferred::DeferredMoves;

/// The maximum number of times in a row that a model is told that its answer cannot be used.
const MAX_REPAIRS: usize = 3;

/// The pause of a run whose model's server asks to slow down and names no time.
const DEFAULT_PAUSE: Duration = Duration::from_secs(30);

/// The minimum pause.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// The maximum pause. A run whose server asks for more stalls.
const MAX_PAUSE: Duration = Duration::from_secs(24 * 3600);

/// The maximum number of pauses before one request. Then the run stalls.
const MAX_PAUSES: u32 = 200;

/// The text that a run gives as its reason to wait after it has called workers.
const WAIT_FOR_CHILDREN: &str = "for its children";

/// Drives a run until it waits, stalls, ends, or the daemon stops. `ready` is called with other runs that can
/// continue.
///
/// # Errors
/// When the store or the worker's definition fails. The journal then ends before the step that failed.
pub fn drive(world: &dyn DriverPort, run: RunNumber, ready: &dyn Fn(&[HostRun])) -> Result<(), Trouble> {
    let first = world.run(run)?;
    if first.state != State::Ready {
        return Ok(());
    }
    let program = program::load(world, &first.name, &first.definition, &first.includes)?;
    let slots = match Slots::open(world, &first, &program.definition) {
        // The target of a slot is gone. The run was cancelled, so it does not need the target any more.
        Err(trouble) if first.cancelled.is_some() => return give_up(world, &first, &trouble),
        opened => opened?,
    };
    let at = HostRun { host: world.host(), run };
    let fresh = || CachedFold { fold: Fold::of([]), recorded: 1, entries: vec![] };
    let CachedFold { fold, recorded, entries } = world.memory().take_fold(at).unwrap_or_else(fresh);
    let mut driver = Driver {
        world,
        run: first,
        program,
        slots,
        recorded,
        fold,
        begun: BTreeMap::new(),
        deferred: DeferredMoves { entries, ..DeferredMoves::default() },
        last_reply: None,
        last_request: None,
        open_request: None,
        is_overtaken: false,
        is_resting: false,
        ready,
    };
    let outcome = driver.go();
    if outcome.is_err() && driver.deferred.has_turn() {
        // The deferred turn must be in the journal before the reason for stopping. If recording it fails too, the
        // first error is returned.
        let _ = driver.advance(vec![]);
    }
    if outcome.is_ok() && driver.is_resting {
        let Driver { fold, recorded, deferred: later, .. } = driver;
        world.memory().keep_fold(at, CachedFold { fold, recorded, entries: later.entries });
    }
    outcome
}

/// Completes the calls that a cancelled run has begun and cannot finish, with an unknown outcome.
fn give_up(world: &dyn DriverPort, run: &Run, trouble: &Trouble) -> Result<(), Trouble> {
    let begun = run.open.iter().filter(|(_, phase)| matches!(phase, Phase::Executing { .. }));
    let moves = begun.map(|(step, _)| Move::Complete {
        proposal: *step,
        completion: Completion::Failed(unknown_outcome(trouble.message.raw())),
    });
    world.advance(run.number, moves.collect()).map(drop)
}

/// Returns the finding for a begun effect of a cancelled run whose outcome is unknown.
fn unknown_outcome(why: &str) -> Finding {
    let message = format!("it may or may not have happened, and the run was cancelled since: {why}");
    Finding::new("effect/unknown", message)
}

#[derive(PartialEq, Eq)]
enum Flow {
    Continue,
    Stop,
}

/// A request that the model is asked next.
struct OpenRequest {
    request: Request,
    /// The number of bytes that it added to the store.
    added: u64,
}

struct Driver<'w> {
    world: &'w dyn DriverPort,
    run: Run,
    program: Arc<Program>,
    slots: Slots,
    fold: Fold,
    /// The effects that began in this process and have not been performed.
    begun: BTreeMap<u64, StartedEffect>,
    /// The number of the first step that was not in the journal when it was last read.
    recorded: u64,
    /// The moves that are recorded with the next step. It is harmless to make them again.
    deferred: DeferredMoves,
    /// The model's last reply, so that it need not be read from the store.
    last_reply: Option<(BlobHash, Reply)>,
    /// The outline of the last request, so that it need not be read from the store.
    last_request: Option<RequestOutline>,
    /// A request that is in the journal and has no reply yet, so that it need not be read from the store.
    open_request: Option<(BlobHash, OpenRequest)>,
    /// Whether the last steps were refused because another writer came first.
    is_overtaken: bool,
    /// Whether the run waits for its children, which will wake it soon.
    is_resting: bool,
    ready: &'w dyn Fn(&[HostRun]),
}

impl Driver<'_> {
    fn go(&mut self) -> Result<(), Trouble> {
        self.catch_up()?;
        let mut is_known = true;
        while !self.world.is_stopping() {
            // A deferred turn is only checked for other writers when it is recorded.
            if !is_known && !self.deferred.has_turn() && !self.refresh()? {
                break;
            }
            is_known = false;
            let flow = self.step()?;
            // After a conflict with another writer, the loop goes on with the new state.
            if flow == Flow::Stop && !std::mem::take(&mut self.is_overtaken) {
                break;
            }
        }
        Ok(())
    }

    /// Reads the new steps of the journal. Returns `false` if the run is not ready any more.
    fn refresh(&mut self) -> Result<bool, Trouble> {
        let run = self.world.run(self.run.number)?;
        // The run has made a worker, or has got a slot that it requested.
        if run.grants != self.run.grants {
            self.slots = Slots::open(self.world, &run, &self.program.definition)?;
        }
        self.run = run;
        self.catch_up()?;
        Ok(self.run.state == State::Ready)
    }

    fn advance(&mut self, moves: Vec<Move>) -> Result<CommandReply, Trouble> {
        let waited = self.deferred.has_turn().then(|| self.deferred.moves.clone());
        let mut all = std::mem::take(&mut self.deferred.moves);
        all.extend(moves);
        let bytes = std::mem::take(&mut self.deferred.bytes);
        let outcome = match (self.world.advance_with(self.run.number, all, bytes), waited) {
            (Ok(outcome), _) => outcome,
            (Err(_), Some(waited)) if self.was_overtaken() => {
                self.deferred.moves = waited;
                self.refold()?;
                self.is_overtaken = true;
                return Ok(CommandReply::NotSuspended);
            }
            (Err(trouble), _) => return Err(trouble),
        };
        self.begun.extend(outcome.begun.into_iter().map(|begun| (begun.step().step, begun)));
        (self.ready)(&outcome.ready);
        Ok(outcome.reply)
    }

    fn step(&mut self) -> Result<Flow, Trouble> {
        if self.perform_effects()? {
            return Ok(Flow::Continue);
        }
        if self.run.cancelled.is_some() {
            // Begun calls are completed, and no new step follows. Children that are still completing their calls will
            // end the run.
            if self.deferred.moves.is_empty() {
                return Ok(Flow::Stop);
            }
            self.advance(vec![])?;
            return Ok(Flow::Continue);
        }
        let approved: Vec<u64> = self.fold.approved().collect();
        if let Some(trouble) = crate::preflight::blocked_by(&self.slots, &self.fold, &approved) {
            return self.stall(trouble);
        }
        if !approved.is_empty() {
            let moves = self.begin_or_restate(&approved)?;
            self.advance(moves)?;
            return Ok(Flow::Continue);
        }
        if self.fold.is_waiting() {
            return self.suspend();
        }
        match self.run.shape {
            Shape::Each { jobs, waiting } => self.each(jobs, waiting),
            Shape::Chat if self.fold.turns.is_empty() && !self.fold.has_news() => self.suspend(),
            Shape::Single | Shape::Item | Shape::Chat => self.one(),
            Shape::AgentJournal => Err(internal("the journal of an agent is nothing to drive")),
        }
    }

    fn suspend(&mut self) -> Result<Flow, Trouble> {
        let asked = self
            .run
            .open
            .values()
            .find_map(|phase| match phase {
                Phase::AwaitingApproval { message } | Phase::Questioned { message, .. } => {
                    Some(format!("for an answer to message {message}"))
                }
                Phase::Sleeping { until_ms } => Some(format!("until {}", kernel::time::shown(*until_ms))),
                _ => None,
            })
            .unwrap_or_else(|| match (self.run.shape, self.run.open.is_empty()) {
                (Shape::Chat, true) => "for you to say something".to_owned(),
                _ => WAIT_FOR_CHILDREN.to_owned(),
            });
        let rests = asked == WAIT_FOR_CHILDREN;
        self.suspend_with(vec![Move::Suspend { seen: self.recorded, why: asked }], rests)
    }

    /// Suspends the run, unless the journal has new entries.
    fn suspend_with(&mut self, moves: Vec<Move>, rests: bool) -> Result<Flow, Trouble> {
        Ok(match self.advance(moves)? {
            CommandReply::NotSuspended => Flow::Continue,
            _ => {
                self.is_resting = rests;
                Flow::Stop
            }
        })
    }

    fn finish(&mut self, outcome: RunOutcome) -> Result<Flow, Trouble> {
        self.advance(vec![Move::Finish { outcome }])?;
        Ok(Flow::Stop)
    }

    fn stall(&mut self, trouble: Trouble) -> Result<Flow, Trouble> {
        self.advance(vec![Move::Stall { trouble }])?;
        Ok(Flow::Stop)
    }

    /// Lets the run wait until its model's server takes requests again. The run holds no thread meanwhile, and the time
    /// does not count as work.
    fn pause(&mut self, prompted: u64, retry_after: Option<Duration>) -> Result<Flow, Trouble> {
        let wait = retry_after.unwrap_or(DEFAULT_PAUSE).max(MIN_PAUSE);
        if wait > MAX_PAUSE || self.fold.pauses >= MAX_PAUSES {
            return self.stall(of_model(&ModelError::RateLimited { retry_after: Some(wait) }));
        }
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        let until_ms = self.world.now_ms().saturating_add(wait_ms);
        let until = kernel::time::shown(until_ms);
        let why = format!("until {until}: the server of {} asks to slow down", self.run.model);
        self.advance(vec![Move::Pause { prompted, until_ms, why }])?;
        Ok(Flow::Stop)
    }

    fn fail(&mut self, trouble: Trouble) -> Result<Flow, Trouble> {
        self.finish(RunOutcome::Failed(trouble))
    }

    /// Takes the next step of a run that is not split: a turn of the model, or a step that the worker file makes.
    fn one(&mut self) -> Result<Flow, Trouble> {
        let Some(turn) = self.fold.turns.last().cloned() else { return self.prompt() };
        let Some((replied, hash)) = turn.replied else {
            let open = match self.open_request.take() {
                Some((hash, open)) if hash == turn.request => open,
                _ => self.stored_request(&turn.request)?,
            };
            return self.ask(turn.prompted, open);
        };
        let reply = match self.last_reply.take() {
            Some((fresh, reply)) if fresh == hash => reply,
            _ => read_reply(self.world, &hash)?,
        };
        let calls = reply.calls.len() + reply.malformed.len();
        if calls > turn.calls.len() {
            return self.propose_calls(replied, &reply, &turn);
        }
        if calls > 0 || turn.rejected.is_some() {
            // The run keeps its results, and the person says whether it goes on.
            if let Some(short) = budget::refusal_shortage(self.world, &self.run)? {
                return self.handle_shortage(short);
            }
            if self.fold.repairs() > MAX_REPAIRS {
                let last = self.fold.last_refusal();
                return self.fail(gave_up(last, self.run.limits, MAX_REPAIRS));
            }
            return self.prompt();
        }
        // A person can reply to a message even if the run is not a chat.
        if self.fold.has_news() {
            return self.prompt();
        }
        let tools = self.tool_names();
        match answer::check(&reply, self.program.definition.output.as_ref(), &tools) {
            // The journal has the answer, and the person's next message is awaited.
            Ok(_) if self.run.shape == Shape::Chat => self.suspend(),
            Ok(output) => self.then(&output),
            Err(findings) => {
                self.advance(vec![Move::Reject { site: None, findings }])?;
                Ok(Flow::Continue)
            }
        }
    }

    /// Makes the next request to the model.
    fn prompt(&mut self) -> Result<Flow, Trouble> {
        if let Some(flow) = self.ask_for_more(StepKind::Turn)? {
            return Ok(flow);
        }
        if !self.world.looks_up(&self.run) && !self.world.has_turn(&self.run) {
            // The run stands in its server's queue and gives up its thread, so the outcomes so far are recorded.
            if !self.deferred.moves.is_empty() {
                self.advance(vec![])?;
            }
            return Ok(Flow::Stop);
        }
        let request = self.request(self.fold.view);
        let mut request = match request {
            Ok(request) => request,
            // The definition is kept with the run, so nothing would change if the run went on later.
            Err(trouble) if trouble.code.starts_with("definition/") => return self.fail(trouble),
            Err(trouble) => return Err(trouble),
        };
        let looks_up = self.world.looks_up(&self.run);
        // A model that looks its answers up has no limits.
        if !looks_up && let Some(flow) = self.fit_to_window(&mut request)? {
            return Ok(flow);
        }
        let size = stored_request::size(&request)?;
        if let Some(trouble) = budget::too_large(self.world, &self.run, &self.program.bundle, size) {
            return self.fail(trouble);
        }
        let stored = stored_request::split(&request, size, self.outline_before()?.as_ref())?;
        let (hash, open) = (stored.outline.list, OpenRequest { request, added: stored.added });
        self.deferred.bytes.extend(stored.blobs);
        self.last_request = Some(stored.outline);
        let prompt = Move::Prompt { request: hash, model: self.run.model.clone() };
        if looks_up {
            let prompted = self.fold.next;
            self.defer(prompt);
            return self.ask(prompted, open);
        }
        self.open_request = Some((hash, open));
        self.advance(vec![prompt])?;
        Ok(Flow::Continue)
    }

    /// Returns the outline of the last request in the journal.
    fn outline_before(&mut self) -> Result<Option<RequestOutline>, Trouble> {
        let Some(turn) = self.fold.turns.last() else { return Ok(None) };
        match self.last_request.take().filter(|known| known.list == turn.request) {
            Some(known) => Ok(Some(known)),
            None => stored_request::read_outline(self.world, &turn.request).map(Some),
        }
    }

    /// Returns a request from the store.
    fn stored_request(&self, hash: &BlobHash) -> Result<OpenRequest, Trouble> {
        let request = read_request(&|hash| self.world.blob(hash), hash)?;
        let (_, added) = stored_request::sizes(self.world, hash)?;
        Ok(OpenRequest { request, added })
    }

    /// Returns the request for the next turn, with some parts of the conversation in the shorter form of `view`.
    fn request(&self, view: ConversationView) -> Result<Request, Trouble> {
        let mut tools = self.slots.tools();
        tools.extend(spill::tool(&self.fold));
        let mut request =
            conversation::request(self.world, &self.run, &self.program, &self.fold, view, tools)?;
        redaction::request(&self.world.secrets(), &mut request);
        Ok(request)
    }

    fn tool_names(&self) -> Vec<String> {
        self.slots.tools().into_iter().map(|tool| tool.name).collect()
    }

    /// Asks a person to raise a limit that the run has reached. The run keeps its results.
    fn ask_for_more(&mut self, next: StepKind) -> Result<Option<Flow>, Trouble> {
        match budget::find_shortage(self.world, &self.run, &self.fold, next) {
            None => Ok(None),
            Some(short) => self.handle_shortage(short).map(Some),
        }
    }

    fn handle_shortage(&mut self, short: Shortage) -> Result<Flow, Trouble> {
        match short {
            Shortage::LimitReached(limit, trouble) => {
                self.advance(vec![Move::Exhaust { limit, trouble }])?;
                Ok(Flow::Stop)
            }
            Shortage::PriceUnknown(trouble) => self.stall(trouble),
        }
    }

    /// Gets the model's reply to a request that is in the journal, or will be. After a crash, the request is the
    /// same.
    fn ask(&mut self, prompted: u64, open: OpenRequest) -> Result<Flow, Trouble> {
        let OpenRequest { mut request, added } = open;
        // A request has no more time than the run has left, even if its server would allow more.
        let left = self.run.limits.wall_ms.saturating_sub(self.fold.ran_ms);
        request.cancel = self.world.cancel(self.run.number).within(Duration::from_millis(left));
        request.max_bytes = Some(self.answer_bytes());
        conversation::put_in_bytes(self.world, &mut request)?;
        let number = self.run.number;
        // A run that waits for its model holds no slot of the engine.
        let waiting = match self.world.looks_up(&self.run) {
            true => Waiting::without_slot(),
            false => match self.world.wait_for_model(&self.run) {
                Some(waiting) => waiting,
                None => return Ok(Flow::Stop),
            },
        };
        let answered = self.world.provider(&self.run).map(|provider| {
            // Progress is not shown for a step that is not recorded yet. It will be recorded soon.
            let is_recorded = prompted < self.recorded;
            let mut shown = |progress| {
                if is_recorded {
                    self.world.progress(number, prompted, progress);
                }
            };
            provider.complete(&request, &mut shown)
        });
        drop(waiting);
        let most = request.answer_bytes();
        let mut reply = match answered {
            Ok(Ok(reply)) if reply.size() <= most => reply,
            // The rest of the limit would not hold the reply. A person may raise it, and the model is asked again.
            Ok(Ok(_) | Err(ModelError::TooLarge { .. })) if most < MAX_ANSWER_BYTES => {
                return self.handle_shortage(budget::kept_shortage(&self.run));
            }
            Ok(Ok(_)) => return self.end_with(&ModelError::TooLarge { limit: most }),
            _ if self.world.is_stopping() => return Ok(Flow::Stop),
            Ok(Err(ModelError::Canceled)) if request.cancel.is_late() => {
                return self.handle_shortage(budget::time_shortage(&self.run));
            }
            // The run was cancelled, which the next look at it shows.
            Ok(Err(ModelError::Canceled)) => return Ok(Flow::Continue),
            Ok(Err(ModelError::ContextTooLong { tokens, limit })) => {
                match self.shrink_after_overflow(&request, tokens, limit)? {
                    Some(flow) => return Ok(flow),
                    None => return self.end_with(&ModelError::ContextTooLong { tokens, limit }),
                }
            }
            Ok(Err(ModelError::RateLimited { retry_after })) => return self.pause(prompted, retry_after),
            Ok(Err(error)) => return self.end_with(&error),
            Err(trouble) => return self.stall(trouble),
        };
        nesting_limit::reject_deep_calls(&mut reply);
        redaction::reply(&self.world.secrets(), &mut reply);
        let by = reply.model.clone();
        let price = self.world.price(by.as_deref().unwrap_or(&self.run.model)).unwrap_or_default();
        let counted = token_count::count(&request, &reply);
        reply.usage = counted.usage;
        let bytes = serde_json::to_vec(&reply).map_err(|e| internal(e.to_string()))?;
        let usage = Usage {
            input_tokens: reply.usage.input_tokens,
            output_tokens: reply.usage.output_tokens,
            model_ms: (reply.usage.seconds.max(0.0) * 1000.0) as u64,
            usd_micros: price.cost(&reply.usage),
            estimated_tokens: counted.estimated,
            kept_bytes: added.saturating_add(bytes.len() as u64),
        };
        let hash = BlobHash::of(&bytes);
        self.deferred.bytes.push(bytes);
        self.last_reply = Some((hash, reply));
        let replied = Move::Reply { prompted, reply: hash, usage, model: by };
        // The reply to a deferred request is deferred too. Later steps refer to the request by its number, which is
        // certain only if both are recorded together. Any other reply is recorded at once, so that the model is not
        // asked again.
        match prompted >= self.recorded {
            true => self.defer(replied),
            false => drop(self.advance(vec![replied])?),
        }
        Ok(Flow::Continue)
    }

    /// Returns the maximum number of bytes of the next reply: as many as any reply may have, and at most the rest of the
    /// bytes that the store may keep for the run.
    fn answer_bytes(&self) -> u64 {
        let left = self.run.limits.kept.saturating_sub(self.run.used.kept_bytes);
        left.min(MAX_ANSWER_BYTES)
    }

    /// Stops the run after an error of its model.
    fn end_with(&mut self, error: &ModelError) -> Result<Flow, Trouble> {
        // If only another request could avoid this error, one item of many fails, so that the others go on.
        match is_final(error) && self.run.parent.is_some() {
            true => self.fail(of_model(error)),
            false => self.stall(of_model(error)),
        }
    }

    /// Turns the reply's calls into proposals, or tells the model why a call cannot be proposed.
    fn propose_calls(
        &mut self,
        replied: u64,
        reply: &Reply,
        turn: &crate::fold::Turn,
    ) -> Result<Flow, Trouble> {
        if let Some(flow) = self.ask_for_more(StepKind::Call)? {
            return Ok(flow);
        }
        let mut moves = Vec::new();
        let mut proposals = Vec::new();
        let bench = JudgingContext::new(self.world, &self.run, &self.fold, &self.slots)?;
        let offered = self.tool_names();
        let mut order = CallOrder::default();
        let (mut asking, mut cards) = (0, None);
        // Calls beyond the limit wait until a person has raised it.
        let room = (self.run.limits.calls as usize).saturating_sub(self.fold.calls_since_said());
        for (index, call) in reply.calls.iter().enumerate().filter(|(i, _)| !turn.calls.contains_key(i)) {
            if proposals.len() >= room {
                break;
            }
            let site = CallSite::Turn { replied, index, id: call.id.clone() };
            if cut::is_cut_call(reply, index) {
                let finding = cut::cut_finding(&call.name, 0, reply, &offered);
                moves.push(Move::Reject { site: Some(site), findings: vec![finding] });
                continue;
            }
            if call.name == spill::TOOL && spill::tool(&self.fold).is_some() {
                moves.push(spill::page_move(&self.fold, site, &call.arguments));
                continue;
            }
            let Some((slot, bound, method)) = self.slots.tool(&call.name) else {
                let finding = Finding::new("tool/unknown", "this worker was not given such a tool")
                    .at("name")
                    .counter_example(call.name.clone())
                    .allowed(offered.join(", "));
                moves.push(Move::Reject { site: Some(site), findings: vec![finding] });
                continue;
            };
            match method.arguments_from_json(&passable::without_escapes(&call.arguments)) {
                Ok(args) => {
                    let args = match bound.reach {
                        SlotTarget::Workshop => workshop::fill_defaults(&self.slots, args),
                        _ => args,
                    };
                    // The rest of the reply is proposed when the calls before it are over.
                    if order.must_wait(bound, method, &args) {
                        break;
                    }
                    let mut judgement = bench.judge(site, slot, bound, method, args)?;
                    if let Some(short) = self.depth_question(&judgement)? {
                        return self.handle_shortage(short);
                    }
                    let decision = judgement.verdict.decision;
                    // A call on files that an earlier call of the same card is to change is judged after the answer,
                    // unless it can stand on that card too.
                    if decision != Decision::Ask
                        && order.awaits_answer(bound, method, &judgement.proposal.args)
                    {
                        break;
                    }
                    let asks = decision == Decision::Ask || bound.asks_person(&judgement);
                    if asks && asking >= *cards.get_or_insert(budget::cards_left(self.world, &self.run)?) {
                        // Calls beyond the limit of the family wait until a person has raised it.
                        match proposals.is_empty() {
                            true => return self.handle_shortage(budget::card_shortage()),
                            false => break,
                        }
                    }
                    asking += usize::from(asks);
                    self.note_repetition(&mut judgement);
                    match decision {
                        Decision::Allow => order.note(bound, &judgement.proposal),
                        Decision::Ask => order.note_asked(bound, &judgement.proposal),
                        Decision::Deny => {}
                    }
                    proposals.push(judgement);
                }
                Err(mismatch) => {
                    let finding = Finding::new("tool/arguments", mismatch.teach())
                        .at(call.name.clone())
                        .allowed(method.signature());
                    moves.push(Move::Reject { site: Some(site), findings: vec![finding] });
                }
            }
        }
        for (i, call) in reply.malformed.iter().enumerate() {
            let index = reply.calls.len() + i;
            if turn.calls.contains_key(&index) {
                continue;
            }
            let site = CallSite::Turn { replied, index, id: call.id.clone() };
            let finding = cut::call_finding(call, reply, &offered);
            moves.push(Move::Reject { site: Some(site), findings: vec![finding] });
        }
        // If all calls go to workers, the run suspends in the same step, unless the kernel refuses one.
        let waits = self.run.shape != Shape::Chat
            && !proposals.is_empty()
            && proposals
                .iter()
                .all(|one| self.is_worker(&one.proposal) && one.verdict.decision == Decision::Allow);
        if !proposals.is_empty() {
            moves.push(Move::Propose { proposals });
        }
        if waits && moves.len() == 1 {
            moves.push(Move::Suspend { seen: self.recorded, why: WAIT_FOR_CHILDREN.to_owned() });
            return self.suspend_with(moves, true);
        }
        self.advance(moves)?;
        Ok(Flow::Continue)
    }

    /// Adds a finding to a refusal if the same call was refused before for the same reasons.
    fn note_repetition(&self, judgement: &mut Judgement) {
        let verdict = &mut judgement.verdict;
        if verdict.decision == Decision::Deny {
            let refused = Completion::Refused(verdict.findings.clone());
            let repeats = self.fold.repetition(judgement.proposal.fingerprint(), &refused);
            verdict.findings.extend(repeats.map(conversation::repetition_finding));
        }
    }

    fn is_worker(&self, proposal: &Proposal) -> bool {
        let bound = self.slots.by_grant(&proposal.grant);
        bound.is_some_and(|bound| matches!(bound.reach, SlotTarget::Worker(_)))
    }
}
