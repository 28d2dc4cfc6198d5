//! The sends of a heap. Each is recorded before it goes out. When the heap is made again, each is compared with the
//! recorded one.

use kernel::BlobHash;
use kernel::code::{self, CodeEntry, Origin};
use kernel::command::{CodeAct, ExportedObject};
use kernel::facet::{self, Need, Plan};
use passable::{Untrusted, Value, visible_line};
use switchboard::{Call, Ref};
use vat::{Slot, Verb};

use super::{
    AnswerSender, MAX_LINE_LEN, Object, OutgoingSend, PendingAnswer, Phase, RemoteObject, Session,
    SessionContext, SessionError, act, convert, divergence, failed, full_error, lock_board, perform,
    with_table,
};
use crate::code::heap_references::PassError;

/// The maximum number of messages that code may send before it ends. Each has an entry in the journal.
const MAX_SENDS: u32 = 100_000;

/// The number of sends after which the heap is told the answers so far, so that it can continue while more sends go
/// out.
const MAX_SENDS_PER_TURN: usize = 8;

impl Session {
    /// Takes a send from the heap, and queues it if it must go out.
    pub(super) fn queue_send(
        &mut self,
        target: Slot,
        verb: Verb,
        args: Value<Slot>,
        question: Option<u32>,
    ) -> Result<(), SessionError> {
        if self.phase == Phase::Running && self.sent >= MAX_SENDS {
            let what = format!("it has sent {MAX_SENDS} messages, and may send no more");
            return Err(SessionError::Code(failed("vat/sends", what, "let it do less, or in parts")));
        }
        let send = self.sent;
        self.sent = self.sent.wrapping_add(1);
        let all = serde_json::to_vec(&(target, &verb, &args, question));
        let digest = BlobHash::of(&all.unwrap_or_default());
        if self.phase != Phase::Live {
            self.references.note_lasting(&args);
        }
        let before = self.recorded_sends.get(&send).copied();
        if before.is_some_and(|before| before != digest) {
            return Err(SessionError::Code(divergence(&format!(
                "it sends something else, `{}`",
                send_line(&verb, &args)
            ))));
        }
        if self.answered.contains(&send) {
            // The send has gone out before, so the objects in it have an identity already.
            let (unnamed, unpromised) =
                (self.references.objects_without_id(&args), self.promises_without_id(&args));
            if self.phase == Phase::Running {
                for (number, _) in unnamed {
                    self.references.assign_id(number);
                }
                unpromised.into_iter().for_each(|which| self.note_promise(which));
            }
            self.pending_answers.insert(send, PendingAnswer { question });
            return Ok(());
        }
        self.outgoing.push(OutgoingSend {
            send,
            target,
            verb,
            args,
            question,
            is_repeated: before.is_some(),
            digest,
        });
        Ok(())
    }

    /// Records and sends all queued sends of the heap.
    pub(super) fn send_all(&mut self, tools: &mut SessionContext<'_>) -> Result<(), SessionError> {
        let outgoing = std::mem::take(&mut self.outgoing);
        if self.phase == Phase::Running {
            for one in outgoing.iter().filter(|one| !one.is_repeated) {
                let line = Untrusted::new(send_line(&one.verb, &one.args));
                self.unrecorded.push(CodeEntry::Sent { send: one.send, digest: one.digest, line });
            }
            // A send may have an effect, so it is recorded before it goes out.
            self.record(tools)?;
        }
        let courier = self.answer_sender(tools);
        for (index, one) in outgoing.into_iter().enumerate() {
            if self.phase == Phase::Ending {
                break;
            }
            if index > 0 && index % MAX_SENDS_PER_TURN == 0 {
                with_table(&mut self.table, &self.board, tools.daemon, &courier, |_, _| {});
                self.deliver_settled(tools)?;
            }
            self.send_one(tools, &courier, one)?;
        }
        with_table(&mut self.table, &self.board, tools.daemon, &courier, |_, _| {});
        Ok(())
    }

    pub(super) fn send_one(
        &mut self,
        tools: &mut SessionContext<'_>,
        courier: &AnswerSender,
        one: OutgoingSend,
    ) -> Result<(), SessionError> {
        let (send, question) = (one.send, one.question);
        self.pending_answers.insert(send, PendingAnswer { question });
        self.identify_exports(tools, &one.args)?;
        let sent = (|| {
            let args = self.references.read_from_heap(&mut self.table, &self.board, &one.args)?;
            let target = self
                .references
                .target(one.target)
                .ok_or(PassError::NotPassable("what it is sent to is gone"))?;
            Ok::<_, PassError>((target, args))
        })();
        let (target, args) = match sent {
            Ok(sent) => sent,
            Err(stuck) => return self.answer_directly(send, question, Err(error(&stuck.describe()))),
        };
        let is_done = match one.is_repeated {
            true => self.resend(tools, courier, &one, target, &args)?,
            false => self.hold_back(&one, target, &args)?,
        };
        if is_done {
            return Ok(());
        }
        if self.phase == Phase::Live
            && let Some(reason) = self.self_cancel_reason(target, &one.verb, &args)
        {
            // The code has ended before. Its heap is closed, and is made again when a caller needs it.
            return self.cancel(tools, &reason);
        }
        let call = call(one.verb, &args);
        let sent = lock_board(&self.board).send(self.side, target, call);
        match sent {
            Ok(answer) => {
                if self.phase == Phase::Running {
                    self.table.record_origin(answer, Origin { eval: self.job.eval, send });
                }
                if let Some(question) = question {
                    self.references.ask(question, answer);
                }
                lock_board(&self.board).watch(self.side, answer, u64::from(send));
                Ok(())
            }
            Err(full) => self.answer_directly(send, question, Err(error(&full.to_string()))),
        }
    }

    /// Returns the reason for a cancellation if the send cancels the code itself.
    fn self_cancel_reason(&self, target: Ref, verb: &Verb, args: &Value<Ref>) -> Option<String> {
        let is_own = matches!(self.table.object(target), Some(RemoteObject::Object(object)) if object.id == self.job.eval);
        let is_cancel = matches!(verb, Verb::Call(vat::Name::Text(name)) if name == "cancel");
        let reason = args.as_array().and_then(<[_]>::first);
        (is_own && is_cancel).then(|| match reason {
            Some(Value::Error(error)) => error.message.to_str_lossy().into_owned(),
            Some(other) => other.as_str().unwrap_or("it cancelled itself").to_owned(),
            None => "it cancelled itself".to_owned(),
        })
    }

    /// Answers a send with a given outcome, without a call.
    pub(super) fn answer_directly(
        &mut self,
        send: u32,
        question: Option<u32>,
        outcome: switchboard::Outcome,
    ) -> Result<(), SessionError> {
        let answer = self.answer_promise(send, question)?;
        lock_board(&self.board).resolve(self.side, answer, outcome);
        Ok(())
    }

    /// Returns a new promise for the answer to a send, which the session settles itself.
    pub(super) fn answer_promise(&mut self, send: u32, question: Option<u32>) -> Result<Ref, SessionError> {
        let mut board = lock_board(&self.board);
        let answer = board.promise(self.side, None).map_err(full_error)?;
        board.hold(self.side, answer).map_err(full_error)?;
        board.watch(self.side, answer, u64::from(send));
        drop(board);
        if let Some(question) = question {
            self.references.ask(question, answer);
        }
        Ok(answer)
    }

    /// Answers a send with the recorded reply to the command that an earlier heap has sent.
    pub(super) fn answer_from_mark(
        &mut self,
        tools: &SessionContext<'_>,
        courier: &AnswerSender,
        mark: &code::Mark,
        send: u32,
        question: Option<u32>,
    ) -> Result<(), SessionError> {
        let value = convert::to_live(&facet::result(&mark.then, &mark.reply));
        let eval = self.job.eval;
        let reach = match &mark.reach {
            code::Reference::Object { id, agent, through } => {
                Object { id: *id, agent: *agent, through: through.clone() }
            }
            _ => Object { id: eval, agent: eval, through: vec![] },
        };
        let (answer, side) = (self.answer_promise(send, question)?, self.side);
        with_table(&mut self.table, &self.board, tools.daemon, courier, |home, context| {
            let outcome = home.make_live(context, &value, &reach).map_err(|trouble| trouble.to_value());
            context.board().resolve(side, answer, outcome);
        });
        Ok(())
    }

    /// Returns whether a send of an earlier heap may go out again, if the store has no mark of its effect.
    pub(super) fn can_resend(
        &mut self,
        tools: &SessionContext<'_>,
        target: Ref,
        verb: &Verb,
        args: &Value<Ref>,
    ) -> Result<bool, SessionError> {
        let Verb::Call(vat::Name::Text(method)) = verb else { return Ok(false) };
        // If the target is an answer, the value of that answer decides.
        let target = match lock_board(&self.board).outcome(target) {
            Some(Ok(value)) => value.as_reference().copied().unwrap_or(target),
            Some(Err(_)) => return Ok(true),
            None => target,
        };
        Ok(match self.table.object(target) {
            Some(RemoteObject::Object(object)) => {
                let daemon = &tools.daemon;
                let view = daemon.view(object.agent);
                let args = args.as_array().unwrap_or_default();
                let args: Vec<kernel::Value> =
                    args.iter().map(|value| self.table.to_stored_value(value)).collect();
                let (planned, _) = daemon.read(|txn| perform::plan(txn, &view, object, method, &args))?;
                // A call that is refused now would be refused again, so repeating it is harmless.
                planned.map_or(true, |plan| can_repeat(&plan))
            }
            Some(RemoteObject::Part(_)) => true,
            _ => false,
        })
    }

    /// Gives an identity to the objects and promises in a value that need one.
    pub(super) fn identify_exports(
        &mut self,
        tools: &SessionContext<'_>,
        value: &Value<Slot>,
    ) -> Result<(), SessionError> {
        self.identify_promises(tools, value)?;
        let unnamed = self.references.objects_without_id(value);
        if unnamed.is_empty() {
            return Ok(());
        }
        let numbers: Vec<u32> = unnamed.iter().map(|(number, _)| *number).collect();
        let exported =
            |(number, interface)| ExportedObject { number, interface, guard: self.references.guard(number) };
        let objects = unnamed.into_iter().map(exported).collect();
        act(tools, CodeAct::Export { eval: self.job.eval, objects })?;
        for number in numbers {
            self.references.assign_id(number);
        }
        Ok(())
    }
}

/// Returns whether a call may be made again if it is not known whether it was made before. That is so if the call
/// changes nothing. It is also so if the call leaves a mark in the store, because no mark was found.
fn can_repeat(plan: &Plan) -> bool {
    match plan {
        Plan::Value(_) | Plan::Through { .. } | Plan::Live(_) | Plan::Act(_) => true,
        Plan::Need(need) => !matches!(**need, Need::StartWorker(_) | Need::Terminate | Need::Deliver(_)),
    }
}

pub(super) fn call(verb: Verb, args: &Value<Ref>) -> Call<Ref> {
    let all = || args.as_array().unwrap_or_default().to_vec();
    match verb {
        Verb::Call(name) => Call::Method(name_of(name), all()),
        Verb::Apply => Call::Apply(all()),
        Verb::Get(name) => Call::Get(name_of(name)),
    }
}

fn name_of(name: vat::Name) -> switchboard::Name {
    match name {
        vat::Name::Text(text) => switchboard::Name::Text(text.into()),
        vat::Name::Symbol(symbol) => match passable::Symbol::from_passable_name(symbol.clone()) {
            Ok(symbol) => switchboard::Name::Symbol(symbol),
            Err(_) => switchboard::Name::Text(symbol.into()),
        },
    }
}

/// Returns one line that describes a send.
fn send_line(verb: &Verb, args: &Value<Slot>) -> String {
    let what = match verb {
        Verb::Call(vat::Name::Text(name)) | Verb::Get(vat::Name::Text(name)) => {
            visible_line(name).into_owned()
        }
        Verb::Call(vat::Name::Symbol(name)) | Verb::Get(vat::Name::Symbol(name)) => {
            format!("[{}]", visible_line(name))
        }
        Verb::Apply => "()".to_owned(),
    };
    let given = serde_json::to_string(args).unwrap_or_default();
    let all = format!("{what} {}", visible_line(&given));
    all.chars().take(MAX_LINE_LEN).collect()
}

fn error(what: &str) -> Value<Ref> {
    Value::error("Error", what)
}
