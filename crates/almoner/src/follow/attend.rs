//! Attending a run: following its events, asking the person who is there, telling how it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use kernel::event::{Change, Event};
use kernel::run::{Run, RunOutcome, Shape, State, Trouble};
use kernel::{MessageNumber, RunNumber};
use passable::Untrusted;
use serde_json::json;

use super::answer_lines::{self, how_to_answer};
use super::live::Live;
use super::question::Question;
use super::talk::{Next, Talk};
use crate::cli::{FollowArgs, OnAsk};
use crate::session::Acting;
use crate::session::questions;
use crate::session::replies;
use crate::ui::interrupt::Watch;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Ended, Exit, Failure};
use control::protocol::{Request, Response};
use control::show::batch::Batch;
use control::show::{letter, progress, value};

/// How often in a row the daemon may go down under a follower before anything has happened.
const FALLS: usize = 5;

/// The behaviour of a follower when a run needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// The person at this terminal is asked.
    Here,
    /// Somebody answers from elsewhere.
    Elsewhere,
    /// The answer is no.
    No,
    /// No person is asked, and the run is left waiting.
    Leave,
}

impl From<OnAsk> for Asking {
    fn from(on_ask: OnAsk) -> Asking {
        match on_ask {
            OnAsk::Prompt if output::can_ask() => Asking::Here,
            OnAsk::Prompt => Asking::Leave,
            OnAsk::Wait => Asking::Elsewhere,
            OnAsk::Deny => Asking::No,
        }
    }
}

/// Follows a run to its end, or until only a person can move it, and prints the outcome.
///
/// # Errors
/// When the run fails, needs a person who is not here, or the daemon cannot be reached.
pub fn attend(acting: &Acting<'_>, run: RunNumber, after: Option<u64>, how: &FollowArgs) -> Ended {
    let telling = if how.events { Telling::Events } else { Telling::Lines };
    let followed = follow(acting, run, after, how.on_ask.into(), telling);
    if let (Err(failure), true) = (&followed, how.json || how.events) {
        tell_stalled(acting, run, failure)?;
    }
    match followed? {
        Followed::Over(run) => tell(acting, &run, how),
        Followed::NeedsYou(pending) => {
            let numbers: Vec<u64> = pending.iter().map(|n| n.0).collect();
            if how.json || how.events {
                output::json(&json!({
                    "version": 1, "run": run.to_string(), "state": "waiting", "pending": numbers,
                }))?;
            }
            Err(needs_you(acting, run, &pending))
        }
        Followed::Rests => {
            output::note(&format!("{run} waits for you to say something: `almoner chat --continue {run}`"));
            Ok(Exit::Ok)
        }
        Followed::Ends => Ok(Exit::Ok),
    }
}

/// Prints the JSON envelope of a run that cannot go on by itself.
fn tell_stalled(acting: &Acting<'_>, run: RunNumber, failure: &Failure) -> Result<(), Failure> {
    if matches!(failure.exit, Exit::NoDaemon | Exit::Interrupted) {
        return Ok(());
    }
    let code = match questions::run(acting, run)?.state {
        State::Stalled { trouble } => trouble.code,
        _ => "child/stalled".to_owned(),
    };
    output::json(&json!({
        "version": 1,
        "run": run.to_string(),
        "state": "stalled",
        "trouble": { "code": code, "message": failure.message.raw(), "help": failure.help },
    }))
}

/// Returns the failure of a run that waits for a person who is not here.
pub fn needs_you(acting: &Acting<'_>, run: RunNumber, pending: &[MessageNumber]) -> Failure {
    let list: Vec<String> = pending.iter().map(ToString::to_string).collect();
    let first = list.first().cloned().unwrap_or_default();
    Failure::new(Exit::NeedsYou, format!("{run} waits for you: message {}", list.join(", "))).help(format!(
        "{} shows it, {}; it waits as long as you like",
        acting.command(&format!("inbox {first}")),
        Question::how_to_answer(acting, pending.first().copied())
    ))
}

/// The output about events while a run is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// Nothing.
    Quiet,
    /// A line for each event worth one, on standard error.
    Lines,
    /// The same, and every event as a line of JSON on standard output.
    Events,
}

/// How following ended.
#[derive(Debug)]
pub enum Followed {
    /// The run is over.
    Over(Box<Run>),
    /// Only a person can move it: these messages wait.
    NeedsYou(Vec<MessageNumber>),
    /// The run is a chat, and the user has left for now, or no person here talks to it.
    Rests,
    /// It talks, and the person has no more to say.
    Ends,
}

/// Follows a run to its end, or until only a person can move it. A run that was just started is followed from the
/// event `after`; with `None` it may be of any age, and is followed from where it stands.
///
/// # Errors
/// When the run stalls, or the daemon cannot be reached.
pub fn follow(
    acting: &Acting<'_>,
    run: RunNumber,
    after: Option<u64>,
    asking: Asking,
    telling: Telling,
) -> Result<Followed, Failure> {
    attendance(acting, run, after, asking, telling, None)
}

/// Follows a chat run. Prints the run's answers, and sends the lines that the user types.
///
/// # Errors
/// As [`follow`].
pub fn converse(
    acting: &Acting<'_>,
    run: RunNumber,
    after: Option<u64>,
    asking: Asking,
    talk: Talk,
) -> Result<Followed, Failure> {
    attendance(acting, run, after, asking, Telling::Lines, Some(talk))
}

fn attendance(
    acting: &Acting<'_>,
    run: RunNumber,
    after: Option<u64>,
    asking: Asking,
    telling: Telling,
    talk: Option<Talk>,
) -> Result<Followed, Failure> {
    let (send, inbox) = channel();
    let mut attendance = Attendance {
        acting,
        root: run,
        asking,
        telling,
        active: BTreeSet::from([run]),
        family: BTreeSet::from([run]),
        pending: BTreeSet::new(),
        asked: None,
        trouble: BTreeMap::new(),
        // The drawn tree would be in the way of typed lines and answers.
        live: (telling == Telling::Lines && talk.is_none()).then(Live::begin).flatten(),
        talk,
        send,
    };
    let after = match after {
        Some(after) => after,
        None => match attendance.catch_up()? {
            Caught::Over(run) => return Ok(Followed::Over(run)),
            Caught::Running(after) => after,
        },
    };
    attendance.follow(after, &inbox)
}

enum Caught {
    /// The run is over.
    Over(Box<Run>),
    /// It is not; this is the last event that its state includes.
    Running(u64),
}

enum Heard {
    /// Something from the daemon.
    Said(Box<Response>),
    /// The daemon has gone.
    Gone,
    /// A line that the person typed.
    Line(String),
    /// The person has closed the terminal's input.
    NoMoreLines,
    /// The person has pressed Ctrl-C.
    Interrupted,
}

struct Attendance<'a> {
    acting: &'a Acting<'a>,
    root: RunNumber,
    asking: Asking,
    telling: Telling,
    /// Runs of the family that are neither waiting nor over.
    active: BTreeSet<RunNumber>,
    /// The run and all that it has started.
    family: BTreeSet<RunNumber>,
    /// Approvals that wait for an answer.
    pending: BTreeSet<MessageNumber>,
    /// The approval about which the person is being asked.
    asked: Option<MessageNumber>,
    /// The troubles of stalled runs of the family.
    trouble: BTreeMap<RunNumber, Trouble>,
    /// The conversation, if the run is a chat: the typed lines, and the answers that were printed.
    talk: Option<Talk>,
    /// The tree that is drawn instead of lines, if the terminal can draw one.
    live: Option<Live>,
    send: Sender<Heard>,
}

impl Attendance<'_> {
    /// Learns from the store where the family stands.
    fn catch_up(&mut self) -> Result<Caught, Failure> {
        let mut client = self.acting.connect()?;
        let after = client.last_event()?;
        let family = match client.ask(Request::Family { run: self.root })? {
            Response::Family(family) => family,
            other => return Err(unexpected(&other)),
        };
        self.active.clear();
        if let Some(live) = &mut self.live {
            live.know(&family.members);
        }
        for run in family.members {
            if run.number == self.root && run.is_finished() {
                return Ok(Caught::Over(Box::new(questions::run(self.acting, self.root)?)));
            }
            self.family.insert(run.number);
            match run.state {
                State::Ready => {
                    self.active.insert(run.number);
                }
                State::Stalled { trouble } => {
                    self.trouble.insert(run.number, trouble);
                }
                State::Waiting | State::Finished { .. } => {}
            }
        }
        self.pending.extend(family.asked);
        Ok(Caught::Running(after))
    }

    fn follow(mut self, mut after: u64, inbox: &Receiver<Heard>) -> Result<Followed, Failure> {
        self.listen(after)?;
        let send = self.send.clone();
        let _watch = Watch::begin(move || drop(send.send(Heard::Interrupted)));
        if self.asking == Asking::Here || self.talk.is_some() {
            let send = self.send.clone();
            std::thread::spawn(move || {
                for line in std::io::stdin().lock().lines() {
                    let Ok(line) = line else { break };
                    if send.send(Heard::Line(line)).is_err() {
                        return;
                    }
                }
                let _ = send.send(Heard::NoMoreLines);
            });
        }
        for number in self.pending.clone() {
            self.needed(number)?;
        }
        if let Some(ended) = self.idle()? {
            return Ok(ended);
        }
        let mut falls = 0;
        loop {
            // The sender is ours too, so this never fails.
            let Ok(heard) = inbox.recv() else { return Ok(self.needs_you()) };
            match heard {
                Heard::Said(response) => match *response {
                    Response::Event(event) => {
                        (after, falls) = (event.seq, 0);
                        if let Some(ended) = self.event(*event)? {
                            return Ok(ended);
                        }
                    }
                    Response::Progress { run, line }
                        if self.family.contains(&run) && self.telling != Telling::Quiet =>
                    {
                        let line = line.visible_line();
                        match &mut self.live {
                            Some(live) => live.does(run, line.into_owned()),
                            None => output::progress(&format!("  {run} {line}")),
                        }
                        self.draw();
                    }
                    Response::Text { run, prompted, from, text } if run == self.root => {
                        if let Some(talk) = &mut self.talk {
                            talk.streamed(prompted, from, text.raw())?;
                        }
                    }
                    Response::Stuck { run, trouble } if self.family.contains(&run) => {
                        return Err(Failure::of_trouble(&trouble));
                    }
                    // It ends on purpose, or cannot read its store: it is not started again for that.
                    Response::Failed(failure) => return Err(failure),
                    _ => {}
                },
                Heard::Gone => {
                    // Killed: the next one goes on where the journal ends.
                    falls += 1;
                    if falls > FALLS {
                        return Err(self.falls_again_and_again());
                    }
                    std::thread::sleep(Duration::from_millis(20));
                    self.listen(after)?;
                }
                Heard::Line(line) => {
                    if let Some(ended) = self.line(&line)? {
                        return Ok(ended);
                    }
                }
                Heard::NoMoreLines => {
                    // No person answers here any more. The run is followed as long as it needs no answer.
                    self.asking = Asking::Leave;
                    if let Some(talk) = &mut self.talk {
                        talk.close();
                    }
                    if let Some(ended) = self.idle()? {
                        return Ok(ended);
                    }
                }
                Heard::Interrupted => return Err(self.interrupted()),
            }
        }
    }

    /// Follows the daemon's events from a thread of its own.
    fn listen(&self, after: u64) -> Result<(), Failure> {
        let mut client = self.acting.connect()?;
        client.send(Request::Follow { after, text: self.talk.as_ref().is_some_and(Talk::streams) })?;
        let send = self.send.clone();
        std::thread::spawn(move || {
            while let Some(response) = client.hear() {
                if send.send(Heard::Said(Box::new(response))).is_err() {
                    return;
                }
            }
            let _ = send.send(Heard::Gone);
        });
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<Option<Followed>, Failure> {
        if !self.concerns(&event.change) {
            return Ok(None);
        }
        if self.telling == Telling::Events {
            output::json(&json!({
                "version": 1, "seq": event.seq, "at_ms": event.at_ms, "event": event.change,
            }))?;
        }
        let worth = self.telling != Telling::Quiet && (self.talk.is_none() || Talk::tells(&event.change));
        if let Some(live) = &mut self.live {
            live.hear(self.acting, &event.change);
            self.draw();
        } else if let Some(line) = progress::line(&event.change).filter(|_| worth) {
            output::progress(&line);
        }
        match event.change {
            Change::Step { run, entry, .. } => match entry.as_str() {
                "suspended" => {
                    self.active.remove(&run);
                    // The run has said all that it had to say: now the question can stand at the end of the screen.
                    if self.asking == Asking::Here && self.asked.is_none() {
                        self.ask_next()?;
                    }
                    return self.idle();
                }
                "stalled" => {
                    self.active.remove(&run);
                    self.note_trouble(run)?;
                    return self.idle();
                }
                "finished" => {
                    self.active.remove(&run);
                }
                // Somebody else's steps: the run itself may be waiting or stalled all the same.
                "collected" | "answered" | "completed" => {}
                _ => {
                    self.active.insert(run);
                    self.trouble.remove(&run);
                }
            },
            Change::Message { number, needs_you: true, .. } => {
                self.pending.insert(number);
                self.needed(number)?;
            }
            // A message of a run that needs no answer is shown to its follower, who may read it now or later.
            Change::Message { number, needs_you: false, kind, .. }
                if kind == "package" && self.telling == Telling::Lines =>
            {
                let view = self.acting.letter(number)?;
                self.say(&letter::render(&view, output::columns()));
            }
            Change::Answered { number, needs_you: false } => {
                self.pending.remove(&number);
                if self.asked == Some(number) {
                    self.asked = None;
                    self.say(&format!("message {number} was answered"));
                    self.ask_next()?;
                }
            }
            Change::RunFinished { run, .. } if run == self.root => {
                return Ok(Some(Followed::Over(Box::new(questions::run(self.acting, run)?))));
            }
            _ => {}
        }
        Ok(None)
    }

    fn concerns(&mut self, change: &Change) -> bool {
        match change {
            Change::RunStarted { run, parent, .. } => {
                if parent.is_some_and(|parent| self.family.contains(&parent)) {
                    self.family.insert(*run);
                    self.active.insert(*run);
                }
                self.family.contains(run)
            }
            Change::Step { run, .. } | Change::RunFinished { run, .. } => self.family.contains(run),
            Change::Granted { run, .. } | Change::Message { run, .. } => {
                run.is_some_and(|run| self.family.contains(&run))
            }
            Change::Answered { number, .. } => self.pending.contains(number),
            Change::Genesis { .. }
            | Change::Revoked { .. }
            | Change::Named { .. }
            | Change::Unnamed { .. }
            | Change::Settled { .. }
            | Change::Dismissed { .. }
            | Change::Came { .. }
            | Change::Cancelled { .. } => false,
        }
    }

    /// Checks whether the family has stopped. If no run moves, a person must answer, or a run has failed.
    fn idle(&mut self) -> Result<Option<Followed>, Failure> {
        if !self.active.is_empty() {
            return Ok(None);
        }
        if self.talk.is_some() && self.pending.is_empty() {
            return self.rest();
        }
        if let Some((run, trouble)) = self.trouble.iter().next() {
            let mut failure = Failure::of_trouble(trouble);
            failure.message = Untrusted::new(format!("{run} stalled: {}", failure.message.raw()));
            return Err(failure);
        }
        if self.pending.is_empty() && matches!(questions::run(self.acting, self.root)?.shape, Shape::Chat) {
            // No person here talks to the run, and nothing else moves it.
            return Ok(Some(Followed::Rests));
        }
        let left = !self.pending.is_empty() && self.asking == Asking::Leave;
        Ok(left.then(|| self.needs_you()))
    }

    /// Returns the run has answered, and waits for the person to say something.
    fn rest(&mut self) -> Result<Option<Followed>, Failure> {
        let troubles = std::mem::take(&mut self.trouble);
        let Some(talk) = &mut self.talk else { return Ok(None) };
        for trouble in troubles.values() {
            output::failure(&Failure::of_trouble(trouble));
        }
        talk.answers(self.acting, self.root)?;
        match talk.next() {
            Next::Say(line) => {
                // The user's line wakes the run.
                self.active.insert(self.root);
                let text = Untrusted::new(format!("almoner chat --continue {}", self.root));
                let said = Untrusted::new(line);
                self.acting.connect()?.ask(Request::say(text, self.root, said))?;
                Ok(None)
            }
            Next::Listen => Ok(None),
            Next::Leave => Ok(Some(Followed::Rests)),
            Next::End => Ok(Some(Followed::Ends)),
        }
    }

    fn note_trouble(&mut self, run: RunNumber) -> Result<(), Failure> {
        if let State::Stalled { trouble } = questions::run(self.acting, run)?.state {
            self.trouble.insert(run, trouble);
        }
        Ok(())
    }

    /// Handles a message that needs an answer.
    fn needed(&mut self, number: MessageNumber) -> Result<(), Failure> {
        if let Some(question) = Question::of(self.acting, number)? {
            return self.questioned(&question);
        }
        match self.asking {
            // A no is no answer to whether something happened: that waits for somebody who can look.
            Asking::No if questions::card(self.acting, number)?.in_doubt => {
                self.say(&format!("message {number} asks whether something happened, and waits"));
                self.asking = Asking::Leave;
            }
            Asking::No => {
                let request = Request::Deny {
                    text: Untrusted::new("--on-ask deny"),
                    message: number,
                    entries: None,
                    reason: Untrusted::new("nobody is there to be asked"),
                };
                self.acting.connect()?.ask(request)?;
                self.say(&format!("message {number}: denied (--on-ask deny)"));
            }
            Asking::Elsewhere => {
                let card = questions::card(self.acting, number)?;
                self.say(&card.render(output::columns()));
                let answer = if card.in_doubt {
                    format!("happened {number} yes|no")
                } else {
                    format!("approve {number}")
                };
                self.say(&format!("waiting for {} from elsewhere", self.acting.command(&answer)));
            }
            // When the run waits, or, if it does already, at once.
            Asking::Here if self.asked.is_none() && self.active.is_empty() => self.ask_next()?,
            Asking::Here | Asking::Leave => {}
        }
        Ok(())
    }

    /// Handles a question that a run of the family asks by a form, a request or a definition.
    fn questioned(&mut self, question: &Question) -> Result<(), Failure> {
        match self.asking {
            Asking::No => question.decline(self.acting)?,
            Asking::Elsewhere => question.tell(self.acting),
            Asking::Here if self.asked.is_none() && self.active.is_empty() => self.ask_next()?,
            Asking::Here | Asking::Leave => {}
        }
        Ok(())
    }

    /// Shows the next card and asks.
    fn ask_next(&mut self) -> Result<(), Failure> {
        self.asked = self.pending.first().copied();
        if let Some(number) = self.asked {
            if let Some(question) = Question::of(self.acting, number)? {
                if let Some(live) = &mut self.live {
                    live.erase();
                }
                question.ask();
                return Ok(());
            }
            let card = questions::card(self.acting, number)?;
            self.say(&card.render(output::columns()));
            how_to_answer(&card);
        }
        Ok(())
    }

    /// Writes lines that stay.
    fn say(&mut self, text: &str) {
        if let Some(live) = &mut self.live {
            live.erase();
        }
        output::note(text);
    }

    /// Draws the tree, unless the user is about to type.
    fn draw(&mut self) {
        if let (Some(live), None) = (&mut self.live, self.asked) {
            live.draw();
        }
    }

    fn line(&mut self, line: &str) -> Result<Option<Followed>, Failure> {
        let Some(number) = self.asked else {
            let Some(talk) = &mut self.talk else { return Ok(None) };
            talk.typed(line);
            return if self.pending.is_empty() { self.idle() } else { Ok(None) };
        };
        if let Some(question) = Question::of(self.acting, number)?.filter(|_| line.trim() != "later") {
            question.answer(self.acting, line);
            return Ok(None);
        }
        match answer_lines::parse_line(line) {
            Some(answer_lines::Line::Later) => return Ok(Some(self.needs_you())),
            Some(answer_lines::Line::Answer(request)) => {
                match self.acting.connect()?.ask(request) {
                    Ok(response) => output::note(&replies::describe(&response)),
                    Err(failure) => output::failure(&failure),
                }
                // If entries are still open, the same card is asked about again.
                let card = questions::card(self.acting, number)?;
                if self.pending.contains(&number) && card.is_open() {
                    how_to_answer(&card);
                }
            }
            None => how_to_answer(&questions::card(self.acting, number)?),
        }
        Ok(None)
    }

    /// Returns the daemon goes down whenever it takes the run up.
    fn falls_again_and_again(&self) -> Failure {
        Failure::new(Exit::NoDaemon, format!("the daemon ends whenever it goes on with {}", self.root)).help(
            format!("{} says why; nothing that was recorded is lost", self.acting.place.log().display()),
        )
    }

    /// Returns the person has had enough of following. Nothing happens to the run.
    fn interrupted(&self) -> Failure {
        if self.asked.is_some() {
            // The line may hold text that the user has typed so far.
            output::note("");
        }
        interrupted(self.acting, self.root, &self.pending)
    }

    /// Returns the end of following when the run waits, and no person here can answer.
    fn needs_you(&self) -> Followed {
        Followed::NeedsYou(self.pending.iter().copied().collect())
    }
}

/// Returns the results of a run over many documents, or `None` for any other run.
fn batch(acting: &Acting<'_>, run: &Run) -> Result<Option<Batch>, Failure> {
    match run.shape {
        Shape::Each { .. } => Ok(Batch::of(run, &questions::journal(acting, run.number)?)),
        _ => Ok(None),
    }
}

/// Prints the outcome of a finished run.
///
/// # Errors
/// When the run failed.
pub fn tell(acting: &Acting<'_>, run: &Run, how: &FollowArgs) -> Ended {
    let State::Finished { outcome } = &run.state else {
        return Err(Failure::new(Exit::Failure, format!("{} is not over", run.number)));
    };
    let batch = batch(acting, run)?;
    if let Some(batch) = &batch {
        output::report(&batch.render());
    }
    if how.json || how.events {
        let mut envelope = json!({
            "version": 1,
            "run": run.number.to_string(),
            "usage": {
                "input_tokens": run.used.input_tokens,
                "output_tokens": run.used.output_tokens,
                "model_ms": run.used.model_ms,
            },
        });
        if let Some(batch) = &batch {
            envelope["batch"] = json!(batch);
        }
        match outcome {
            RunOutcome::Done(value) => {
                envelope["state"] = json!("done");
                envelope["value"] = value.to_json();
            }
            RunOutcome::Failed(trouble) => {
                envelope["state"] = json!("failed");
                envelope["trouble"] =
                    json!({ "code": trouble.code, "message": trouble.message.raw(), "help": trouble.help });
            }
        }
        output::json(&envelope)?;
    }
    match outcome {
        RunOutcome::Done(result) => {
            if !how.json && !how.events {
                output::result(&value::result(result))?;
            }
            Ok(Exit::Ok)
        }
        RunOutcome::Failed(trouble) => Err(Failure::of_trouble(trouble)),
    }
}

/// Returns the failure for a user who has stopped following a run. It tells how the run goes on, and how to come
/// back.
fn interrupted(acting: &Acting<'_>, run: RunNumber, pending: &BTreeSet<MessageNumber>) -> Failure {
    let again = format!("{} follows it again", acting.command(&format!("resume {run}")));
    let Some(first) = pending.first() else {
        return Failure::new(Exit::Interrupted, format!("interrupted; {run} goes on")).help(again);
    };
    let list: Vec<String> = pending.iter().map(ToString::to_string).collect();
    let message = format!("interrupted; {run} waits for you: message {}", list.join(", "));
    Failure::new(Exit::Interrupted, message)
        .help(format!("{} lets it be done, {again}", acting.command(&format!("approve {first}"))))
}
