//! The following of a run: its events, the questions to the user at the terminal, and its outcome.

mod typed_answers;

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use kernel::event::{Change, Event};
use kernel::run::{Entry, Run, Shape, State, Trouble};
use kernel::{MessageNumber, RunNumber};
use passable::{Quoting, Untrusted};
use serde_json::json;

use super::ask_mode::AskMode;
use super::conversation::{Conversation, UserTurn};
use super::live_tree::LiveTree;
use super::pending::interrupted;
use super::question::Question;
use crate::client;
use crate::session::Session;
use crate::session::questions;
use crate::ui::interrupt::InterruptWatch;
use crate::ui::output;
use config::clock;
use control::ask::unexpected;
use control::exit::{Exit, Failure};
use control::protocol::{Request, Response};
use control::show::message_view;
use control::show::run_log::RunLog;

/// The maximum number of times in a row that the daemon may go down without an event in between.
const MAX_RESTARTS: usize = 5;

/// The maximum number of looks at a run until no event came meanwhile.
const MAX_LOOKS: usize = 50;

/// The output about events while a run is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOutput {
    /// Nothing.
    Quiet,
    /// A line on standard error for each event that has a description.
    Lines,
    /// The same, and every event as a line of JSON on standard output.
    Events,
}

/// The outcome of following a run.
#[derive(Debug)]
pub enum FollowOutcome {
    /// The run is over.
    Finished(Box<Run>),
    /// The run waits for a person: these messages need an answer.
    NeedsYou(Vec<MessageNumber>),
    /// The run is a chat, and the user has left for now, or no person here talks to it.
    Paused,
    /// The run is a chat, and the user has ended the conversation.
    Ended,
    /// The time is over, and the run goes on. These messages need an answer.
    TimedOut(Vec<MessageNumber>),
}

/// Follows a run to its end, or until it waits for a person who is not here. A run that was just started is followed
/// from the event `after`. With `None`, the run may be of any age, and is followed from its current state.
///
/// # Errors
/// When the run stalls, the user interrupts, or the daemon cannot be reached.
pub fn follow(
    acting: &Session<'_>,
    run: RunNumber,
    after: Option<u64>,
    asking: AskMode,
    telling: EventOutput,
) -> Result<FollowOutcome, Failure> {
    RunFollower::new(acting, run, asking, telling, None).begin(after)
}

/// Waits as [`follow`] does, from the run's current state, without any output, and not longer than to the deadline.
///
/// # Errors
/// As [`follow`].
pub fn wait(
    acting: &Session<'_>,
    run: RunNumber,
    deadline: Option<Instant>,
) -> Result<FollowOutcome, Failure> {
    let follower = RunFollower::new(acting, run, AskMode::LeaveWaiting, EventOutput::Quiet, None);
    RunFollower { deadline, ..follower }.begin(None)
}

/// Follows a chat run. Prints the run's answers, and sends the lines that the user types.
///
/// # Errors
/// As [`follow`].
pub fn converse(
    acting: &Session<'_>,
    run: RunNumber,
    after: Option<u64>,
    asking: AskMode,
    talk: Conversation,
) -> Result<FollowOutcome, Failure> {
    RunFollower::new(acting, run, asking, EventOutput::Lines, Some(talk)).begin(after)
}

enum FamilyState {
    /// The run is over.
    Finished(Box<Run>),
    /// The run is not over. The number is that of the last event that its state includes.
    Running(u64),
}

enum FollowerInput {
    /// A response of the daemon.
    Response(Box<Response>),
    /// The daemon has gone.
    Disconnected,
    /// A line that the person typed.
    Line(String),
    /// The person has closed the terminal's input.
    EndOfInput,
    /// The person has pressed Ctrl-C.
    Interrupted,
}

struct RunFollower<'a> {
    acting: &'a Session<'a>,
    root: RunNumber,
    asking: AskMode,
    output: EventOutput,
    /// Runs of the family that are neither waiting nor over.
    active: BTreeSet<RunNumber>,
    /// The run and its descendants.
    family: BTreeSet<RunNumber>,
    /// The messages that wait for an answer: approvals and questions.
    pending: BTreeSet<MessageNumber>,
    /// The message about which the user is being asked.
    asked: Option<MessageNumber>,
    /// The troubles of stalled runs of the family.
    trouble: BTreeMap<RunNumber, Trouble>,
    /// The conversation, if the user talks to the run here: the typed lines, and the answers that were printed.
    conversation: Option<Conversation>,
    /// The tree that is drawn instead of lines, if the terminal can draw one.
    live: Option<LiveTree>,
    /// The lines about the runs, if no tree is drawn.
    log: RunLog,
    /// The time at which following ends. `None` means that it has no such time.
    deadline: Option<Instant>,
    inbox: Receiver<FollowerInput>,
    send: Sender<FollowerInput>,
}

impl<'a> RunFollower<'a> {
    fn new(
        acting: &'a Session<'a>,
        run: RunNumber,
        asking: AskMode,
        output: EventOutput,
        conversation: Option<Conversation>,
    ) -> RunFollower<'a> {
        let (send, inbox) = channel();
        RunFollower {
            acting,
            root: run,
            asking,
            output,
            active: BTreeSet::from([run]),
            family: BTreeSet::from([run]),
            pending: BTreeSet::new(),
            asked: None,
            trouble: BTreeMap::new(),
            // The drawn tree would be in the way of typed lines and answers.
            live: (output == EventOutput::Lines && conversation.is_none()).then(LiveTree::begin).flatten(),
            conversation,
            log: RunLog::default(),
            deadline: None,
            inbox,
            send,
        }
    }

    /// Follows the run from an event on. With `None`, the run is followed from its current state.
    fn begin(mut self, after: Option<u64>) -> Result<FollowOutcome, Failure> {
        let after = match after {
            Some(after) => after,
            None => match self.catch_up()? {
                FamilyState::Finished(run) => return Ok(FollowOutcome::Finished(run)),
                // Nothing would ever end the wait.
                FamilyState::Running(_)
                    if client::is_store_damaged() && self.pending.is_empty() && self.trouble.is_empty() =>
                {
                    let message =
                        format!("cannot follow {}: the store is damaged, and no run goes on", self.root);
                    return Err(Failure::new(Exit::Failure, message));
                }
                FamilyState::Running(after) => after,
            },
        };
        self.follow(after)
    }

    /// Returns the next input, or `None` when the time is over.
    fn next_input(&self) -> Option<FollowerInput> {
        let Some(deadline) = self.deadline else {
            // The sender is ours too, so this never fails.
            return self.inbox.recv().ok();
        };
        self.inbox.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }
}

impl RunFollower<'_> {
    /// Loads the present state of the run and its descendants from the daemon.
    fn catch_up(&mut self) -> Result<FamilyState, Failure> {
        let mut after = self.acting.last_event()?;
        let mut looks = 0;
        let family = loop {
            let family = match self.acting.ask(Request::Family { run: self.root })? {
                Response::Family(family) => family,
                other => return Err(unexpected(&other)),
            };
            // An event from before this state would be taken for a new one, such as for the answer to a line that is
            // sent from now on.
            let newest = self.acting.last_event()?;
            looks += 1;
            if newest == after || looks == MAX_LOOKS {
                break family;
            }
            after = newest;
        };
        self.active.clear();
        if let Some(live) = &mut self.live {
            live.add_runs(&family.members);
        }
        for run in family.members {
            self.log.add_run(run.number, &run.name);
            if run.number == self.root && run.is_finished() {
                return Ok(FamilyState::Finished(Box::new(questions::run(self.acting, self.root)?)));
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
        Ok(FamilyState::Running(after))
    }

    fn follow(mut self, mut after: u64) -> Result<FollowOutcome, Failure> {
        self.listen(after)?;
        let send = self.send.clone();
        let _watch = InterruptWatch::begin(move || drop(send.send(FollowerInput::Interrupted)));
        if self.asking == AskMode::Prompt || self.conversation.is_some() {
            let send = self.send.clone();
            std::thread::spawn(move || {
                for line in std::io::stdin().lock().lines() {
                    let Ok(line) = line else { break };
                    if send.send(FollowerInput::Line(line)).is_err() {
                        return;
                    }
                }
                let _ = send.send(FollowerInput::EndOfInput);
            });
        }
        for number in self.pending.clone() {
            self.handle_message(number)?;
        }
        if let Some(ended) = self.idle()? {
            return Ok(ended);
        }
        let mut falls = 0;
        loop {
            let Some(heard) = self.next_input() else {
                return Ok(FollowOutcome::TimedOut(self.pending.into_iter().collect()));
            };
            match heard {
                FollowerInput::Response(response) => match *response {
                    Response::Event(event) => {
                        (after, falls) = (event.seq, 0);
                        if let Some(ended) = self.event(*event)? {
                            return Ok(ended);
                        }
                    }
                    Response::Progress { run, line }
                        if self.family.contains(&run) && self.output != EventOutput::Quiet =>
                    {
                        let line = line.visible_line();
                        match &mut self.live {
                            Some(live) => live.set_activity(run, line.into_owned()),
                            None => output::log_line(clock::now_ms(), &format!("{run} {line}")),
                        }
                        self.draw();
                    }
                    Response::Text { run, prompted, from, text } if run == self.root => {
                        if let Some(talk) = &mut self.conversation {
                            talk.show_stream(prompted, from, text.raw())?;
                        }
                    }
                    Response::Stuck { run, trouble } if self.family.contains(&run) => {
                        return Err(Failure::of_trouble(&trouble));
                    }
                    // The daemon ends on purpose, or cannot read its store. The follower does not start it again.
                    Response::Failed(failure) => return Err(failure),
                    _ => {}
                },
                FollowerInput::Disconnected => {
                    // The daemon was killed. The next one goes on where the journal ends.
                    falls += 1;
                    if falls > MAX_RESTARTS {
                        return Err(self.restart_failure());
                    }
                    std::thread::sleep(Duration::from_millis(20));
                    self.listen(after)?;
                }
                FollowerInput::Line(line) => {
                    if let Some(ended) = self.line(&line)? {
                        return Ok(ended);
                    }
                }
                FollowerInput::EndOfInput => {
                    // No person answers here any more. The run is followed as long as it needs no answer.
                    self.asking = AskMode::LeaveWaiting;
                    if let Some(talk) = &mut self.conversation {
                        talk.close();
                    }
                    if let Some(ended) = self.idle()? {
                        return Ok(ended);
                    }
                }
                FollowerInput::Interrupted => return Err(self.interrupt_failure()),
            }
        }
    }

    /// Follows the daemon's events from a thread of its own.
    fn listen(&self, after: u64) -> Result<(), Failure> {
        let mut client = self.acting.open_connection()?;
        client.send(Request::Follow {
            after,
            text: self.conversation.as_ref().is_some_and(Conversation::streams),
        })?;
        let send = self.send.clone();
        std::thread::spawn(move || {
            while let Some(response) = client.receive() {
                if send.send(FollowerInput::Response(Box::new(response))).is_err() {
                    return;
                }
            }
            let _ = send.send(FollowerInput::Disconnected);
        });
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<Option<FollowOutcome>, Failure> {
        if !self.concerns(&event.change) {
            return Ok(None);
        }
        if self.output == EventOutput::Events {
            output::json(&json!({
                "version": 1, "seq": event.seq, "at_ms": event.at_ms, "event": event.change,
            }))?;
        }
        let worth = self.output != EventOutput::Quiet
            && (self.conversation.is_none() || Conversation::is_shown(&event.change));
        if let Some(live) = &mut self.live {
            live.apply_change(self.acting, &event.change);
            self.draw();
        } else if let Some(line) = self.log_line(&event.change).filter(|_| worth) {
            output::log_line(event.at_ms, &line);
        }
        match event.change {
            Change::Step { run, entry, .. } => match entry.as_str() {
                "suspended" => {
                    self.active.remove(&run);
                    // The suspended run prints no more lines now, so the question can stand at the end of the screen.
                    if self.asking == AskMode::Prompt && self.asked.is_none() {
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
                // These steps record the acts of others. The run itself may still be waiting or stalled.
                "collected" | "answered" | "completed" => {}
                _ => {
                    self.active.insert(run);
                    self.trouble.remove(&run);
                }
            },
            Change::Message { number, needs_you: true, .. } => {
                self.pending.insert(number);
                self.handle_message(number)?;
            }
            // A package needs no answer. The follower shows it, and the user may read it now or later.
            Change::Message { number, needs_you: false, kind, .. }
                if kind == "package" && self.output == EventOutput::Lines =>
            {
                let view = self.acting.message(number)?;
                self.write_lines(&message_view::render(&view, output::columns()));
            }
            Change::Answered { number, needs_you: false, .. } => {
                self.pending.remove(&number);
                if self.asked == Some(number) {
                    self.asked = None;
                    self.write_lines(&format!("message {number} was answered"));
                    self.ask_next()?;
                }
            }
            Change::RunFinished { run, .. } if run == self.root => {
                return Ok(Some(FollowOutcome::Finished(Box::new(questions::run(self.acting, run)?))));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Returns the line about a change. It reads the step from the journal, because the event does not hold the call.
    fn log_line(&mut self, change: &Change) -> Option<String> {
        if self.output == EventOutput::Quiet {
            return None;
        }
        let acting = self.acting;
        let read = |(run, step)| {
            let found = questions::step(acting, run, step).ok().flatten();
            found.map(|found| found.entry)
        };
        let needed = self.log.needed_step(change);
        let entry = needed.and_then(read);
        if let (Some((run, _)), Some(entry)) = (needed, &entry)
            && let Some(proposed) = self.log.unknown_proposal(run, entry)
            && let Some(Entry::Proposed { proposal, .. }) = read((run, proposed))
        {
            self.log.add_proposal(run, proposed, &proposal);
        }
        self.log.line(change, entry.as_ref())
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
            | Change::Opened { .. }
            | Change::Revoked { .. }
            | Change::Named { .. }
            | Change::Unnamed { .. }
            | Change::Settled { .. }
            | Change::Dismissed { .. }
            | Change::Relocated { .. }
            | Change::CommandCompleted { .. }
            | Change::Cancelled { .. } => false,
        }
    }

    /// Returns the outcome if following ends because no run of the family is active, or `None` if it continues.
    /// Outside of a conversation, a stalled run is an error.
    fn idle(&mut self) -> Result<Option<FollowOutcome>, Failure> {
        if !self.active.is_empty() {
            return Ok(None);
        }
        // A run that waits for its model's server goes on by itself.
        if self.conversation.is_some() && questions::run(self.acting, self.root)?.is_paused() {
            return Ok(None);
        }
        if self.conversation.is_some() && self.pending.is_empty() {
            return self.handle_pause();
        }
        if let Some((run, trouble)) = self.trouble.iter().next() {
            let failure = Failure::of_trouble(trouble);
            let said = Quoting::ours(format!("{run} stalled: ")).then(&failure.message_quoting());
            return Err(failure.saying(said));
        }
        let is_resting_chat = |run: &Run| matches!(run.shape, Shape::Chat) && !run.is_paused();
        if self.pending.is_empty() && is_resting_chat(&questions::run(self.acting, self.root)?) {
            // No person here talks to the run, and nothing else moves it.
            return Ok(Some(FollowOutcome::Paused));
        }
        let left = !self.pending.is_empty() && self.asking == AskMode::LeaveWaiting;
        Ok(left.then(|| self.needs_you()))
    }

    /// Prints the answers of a chat run that waits for the user, and takes the user's next turn. Returns `None` if
    /// following continues.
    fn handle_pause(&mut self) -> Result<Option<FollowOutcome>, Failure> {
        let troubles = std::mem::take(&mut self.trouble);
        let Some(talk) = &mut self.conversation else { return Ok(None) };
        for trouble in troubles.values() {
            output::failure(&Failure::of_trouble(trouble));
        }
        talk.print_answers(self.acting, self.root)?;
        match talk.next() {
            UserTurn::Say(line) => {
                // The user's line wakes the run.
                self.active.insert(self.root);
                let text = Untrusted::new(format!("almoner chat --continue {}", self.root));
                let said = Untrusted::new(line);
                self.acting.ask(Request::say(text, self.root, said))?;
                Ok(None)
            }
            UserTurn::Listen => Ok(None),
            UserTurn::Leave => Ok(Some(FollowOutcome::Paused)),
            UserTurn::End => Ok(Some(FollowOutcome::Ended)),
        }
    }

    fn note_trouble(&mut self, run: RunNumber) -> Result<(), Failure> {
        if let State::Stalled { trouble } = questions::run(self.acting, run)?.state {
            self.trouble.insert(run, trouble);
        }
        Ok(())
    }

    /// Handles a message that needs an answer.
    fn handle_message(&mut self, number: MessageNumber) -> Result<(), Failure> {
        if let Some(question) = Question::load(self.acting, number)? {
            return self.handle_question(&question);
        }
        match self.asking {
            // A denial cannot answer whether something happened. The message waits for a person who can check.
            AskMode::Deny if questions::card(self.acting, number)?.in_doubt => {
                self.write_lines(&format!("message {number} asks whether something happened, and waits"));
                self.asking = AskMode::LeaveWaiting;
            }
            AskMode::Deny => {
                let reason = questions::card(self.acting, number)?.unattended_denial();
                let request = Request::Deny {
                    text: Untrusted::new("--on-ask deny"),
                    message: number,
                    entries: None,
                    reason: Untrusted::new(reason),
                };
                self.acting.ask(request)?;
                self.write_lines(&format!("message {number}: denied (--on-ask deny)"));
            }
            AskMode::Wait => {
                let card = questions::card(self.acting, number)?;
                let shown =
                    questions::shown_card(self.acting, &card, output::columns(), false, output::can_ask())?;
                self.write_lines(&shown);
                let command = |answer: &str| self.acting.command(answer);
                let answer = match card.in_doubt {
                    true => {
                        let answer = |word: &str| command(&format!("outcome {number} {word}"));
                        format!("{} or {}", answer("yes"), answer("no"))
                    }
                    false => command(&format!("approve {number}")),
                };
                self.write_lines(&format!("waiting for {answer} from elsewhere"));
            }
            // The follower asks at once if no run is active, and otherwise when a run is suspended.
            AskMode::Prompt if self.asked.is_none() && self.active.is_empty() => self.ask_next()?,
            AskMode::Prompt | AskMode::LeaveWaiting => {}
        }
        Ok(())
    }

    /// Handles a question that a run of the family asks by a form, a request or a definition.
    fn handle_question(&mut self, question: &Question) -> Result<(), Failure> {
        match self.asking {
            AskMode::Deny => question.decline(self.acting)?,
            AskMode::Wait => question.show_without_prompt(self.acting),
            AskMode::Prompt if self.asked.is_none() && self.active.is_empty() => self.ask_next()?,
            AskMode::Prompt | AskMode::LeaveWaiting => {}
        }
        Ok(())
    }

    /// Writes lines that stay on the screen when the tree is drawn again.
    fn write_lines(&mut self, text: &str) {
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

    /// Returns the failure for a daemon that goes down whenever it continues the run.
    fn restart_failure(&self) -> Failure {
        Failure::new(Exit::NoDaemon, format!("the daemon ends whenever it goes on with {}", self.root)).help(
            format!("{} says why; nothing that was recorded is lost", self.acting.place.log().display()),
        )
    }

    /// Returns the failure for a user who has stopped following. Nothing happens to the run.
    fn interrupt_failure(&self) -> Failure {
        if self.asked.is_some() {
            // The line may hold text that the user has typed so far.
            output::note("");
        }
        interrupted(self.acting, self.root, &self.pending)
    }

    /// Returns the outcome for a run that waits for answers, with the messages that need them.
    fn needs_you(&self) -> FollowOutcome {
        FollowOutcome::NeedsYou(self.pending.iter().copied().collect())
    }
}
