//! The sends of a heap: recorded before they go out, and compared when the heap is made again.

use kernel::BlobHash;
use kernel::code::{self, Entry, Origin};
use kernel::command::{CodeAct, Exported};
use kernel::facet::{self, Need, Plan};
use passable::{Untrusted, Value, visible_line};
use switchboard::{Call, Ref};
use vat::{Slot, Verb};

use super::{
    Asked, Broken, Courier, LINE, Object, Outgoing, Phase, Session, Thing, Tools, act, attend, convert,
    diverged, failed, locked, perform, too_full,
};
use crate::code::slots::Stuck;

/// How many messages code may send on the way to its end: each has its place in the journal.
const MOST_SENDS: u32 = 100_000;

/// The number of sends after which the heap is told their answers, so that it goes on while more go out.
const AT_ONCE: usize = 8;

impl Session {
    /// Takes a send that has left the heap.
    pub(super) fn leaves(
        &mut self,
        target: Slot,
        verb: Verb,
        args: Value<Slot>,
        question: Option<u32>,
    ) -> Result<(), Broken> {
        if self.phase == Phase::Running && self.sent >= MOST_SENDS {
            let what = format!("it has sent {MOST_SENDS} messages, and may send no more");
            return Err(Broken::Code(failed("vat/sends", what, "let it do less, or in parts")));
        }
        let send = self.sent;
        self.sent = self.sent.wrapping_add(1);
        let all = serde_json::to_vec(&(target, &verb, &args, question));
        let digest = BlobHash::of(&all.unwrap_or_default());
        if self.phase != Phase::Live {
            self.slots.note_lasting(&args);
        }
        let before = self.known.get(&send).copied();
        if before.is_some_and(|before| before != digest) {
            return Err(Broken::Code(diverged(&format!(
                "it sends something else, `{}`",
                line(&verb, &args)
            ))));
        }
        if self.answered.contains(&send) {
            // The send has gone out before, so its objects had been given an identity.
            let (unnamed, unpromised) = (self.slots.unnamed(&args), self.unpromised(&args));
            if self.phase == Phase::Running {
                for (number, _) in unnamed {
                    self.slots.named(number);
                }
                unpromised.into_iter().for_each(|which| self.promised(which));
            }
            self.asked.insert(send, Asked { question });
            return Ok(());
        }
        self.outgoing.push(Outgoing { send, target, verb, args, question, again: before.is_some(), digest });
        Ok(())
    }

    /// Lets all sends go out that have left the heap.
    pub(super) fn send_all(&mut self, tools: &mut Tools<'_>) -> Result<(), Broken> {
        let outgoing = std::mem::take(&mut self.outgoing);
        if self.phase == Phase::Running {
            for one in outgoing.iter().filter(|one| !one.again) {
                let line = Untrusted::new(line(&one.verb, &one.args));
                self.fresh.push(Entry::Sent { send: one.send, digest: one.digest, line });
            }
            // A send may have an effect, so it is recorded before it goes out.
            self.record(tools)?;
        }
        let courier = self.courier(tools);
        for (index, one) in outgoing.into_iter().enumerate() {
            if self.phase == Phase::Ending {
                break;
            }
            if index > 0 && index % AT_ONCE == 0 {
                attend(&mut self.home, &self.board, tools.daemon, &courier, |_, _| {});
                self.tell_all(tools)?;
            }
            self.send_one(tools, &courier, one)?;
        }
        attend(&mut self.home, &self.board, tools.daemon, &courier, |_, _| {});
        Ok(())
    }

    pub(super) fn send_one(
        &mut self,
        tools: &mut Tools<'_>,
        courier: &Courier,
        one: Outgoing,
    ) -> Result<(), Broken> {
        let (send, question) = (one.send, one.question);
        self.asked.insert(send, Asked { question });
        self.export(tools, &one.args)?;
        let sent = (|| {
            let args = self.slots.outward(&mut self.home, &self.board, &one.args)?;
            let target = self.slots.target(one.target).ok_or(Stuck::Cannot("what it is sent to is gone"))?;
            Ok::<_, Stuck>((target, args))
        })();
        let (target, args) = match sent {
            Ok(sent) => sent,
            Err(stuck) => return self.answer_at_once(send, question, Err(error(&stuck.words()))),
        };
        let is_done = match one.again {
            true => self.send_again(tools, courier, &one, target, &args)?,
            false => self.hold_back(&one, target, &args)?,
        };
        if is_done {
            return Ok(());
        }
        if self.phase == Phase::Live
            && let Some(reason) = self.ends_itself(target, &one.verb, &args)
        {
            // The code has come to its end before. The heap goes, and is made anew when a caller needs it.
            return self.cancel(tools, &reason);
        }
        let call = call(one.verb, &args);
        let sent = locked(&self.board).send(self.side, target, call);
        match sent {
            Ok(answer) => {
                if self.phase == Phase::Running {
                    self.home.sent(answer, Origin { eval: self.parcel.eval, send });
                }
                if let Some(question) = question {
                    self.slots.ask(question, answer);
                }
                locked(&self.board).watch(self.side, answer, u64::from(send));
                Ok(())
            }
            Err(full) => self.answer_at_once(send, question, Err(error(&full.to_string()))),
        }
    }

    /// Returns the reason if the send cancels the code itself.
    fn ends_itself(&self, target: Ref, verb: &Verb, args: &Value<Ref>) -> Option<String> {
        let is_own =
            matches!(self.home.thing(target), Some(Thing::Object(object)) if object.id == self.parcel.eval);
        let is_cancel = matches!(verb, Verb::Call(vat::Name::Text(name)) if name == "cancel");
        let reason = args.as_array().and_then(<[_]>::first);
        (is_own && is_cancel).then(|| match reason {
            Some(Value::Error(error)) => error.message.to_str_lossy().into_owned(),
            Some(other) => other.as_str().unwrap_or("it cancelled itself").to_owned(),
            None => "it cancelled itself".to_owned(),
        })
    }

    /// Answers a send without a call.
    pub(super) fn answer_at_once(
        &mut self,
        send: u32,
        question: Option<u32>,
        outcome: switchboard::Outcome,
    ) -> Result<(), Broken> {
        let answer = self.own_answer(send, question)?;
        locked(&self.board).resolve(self.side, answer, outcome);
        Ok(())
    }

    /// Returns a promise for an answer that we settle.
    pub(super) fn own_answer(&mut self, send: u32, question: Option<u32>) -> Result<Ref, Broken> {
        let mut board = locked(&self.board);
        let answer = board.promise(self.side, None).map_err(too_full)?;
        board.hold(self.side, answer).map_err(too_full)?;
        board.watch(self.side, answer, u64::from(send));
        drop(board);
        if let Some(question) = question {
            self.slots.ask(question, answer);
        }
        Ok(answer)
    }

    /// Answers a send with the reply to the command that an earlier heap has sent.
    pub(super) fn answer_marked(
        &mut self,
        tools: &Tools<'_>,
        courier: &Courier,
        mark: &code::Mark,
        send: u32,
        question: Option<u32>,
    ) -> Result<(), Broken> {
        let value = convert::live(&facet::result(&mark.then, &mark.reply));
        let eval = self.parcel.eval;
        let reach = match &mark.reach {
            code::Reference::Object { id, agent, through } => {
                Object { id: *id, agent: *agent, through: through.clone() }
            }
            _ => Object { id: eval, agent: eval, through: vec![] },
        };
        let (answer, side) = (self.own_answer(send, question)?, self.side);
        attend(&mut self.home, &self.board, tools.daemon, courier, |home, context| {
            let outcome = home.hand_over(context, &value, &reach).map_err(|trouble| trouble.to_value());
            context.board().resolve(side, answer, outcome);
        });
        Ok(())
    }

    /// Returns whether a send may go out that an earlier heap has sent, and that left no mark.
    pub(super) fn may_go_again(
        &mut self,
        tools: &Tools<'_>,
        target: Ref,
        verb: &Verb,
        args: &Value<Ref>,
    ) -> Result<bool, Broken> {
        let Verb::Call(vat::Name::Text(method)) = verb else { return Ok(false) };
        // A send to an answer goes to the value of that answer.
        let target = match locked(&self.board).outcome(target) {
            Some(Ok(value)) => value.as_reference().copied().unwrap_or(target),
            Some(Err(_)) => return Ok(true),
            None => target,
        };
        Ok(match self.home.thing(target) {
            Some(Thing::Object(object)) => {
                let daemon = &tools.daemon;
                let view = daemon.view(object.agent);
                let args = args.as_array().unwrap_or_default();
                let args: Vec<kernel::Value> = args.iter().map(|value| self.home.tell(value)).collect();
                let (planned, _) = daemon.read(|txn| perform::plan(txn, &view, object, method, &args))?;
                // A call that is refused now is refused again.
                planned.map_or(true, |plan| may_repeat(&plan))
            }
            Some(Thing::Part(_)) => true,
            _ => false,
        })
    }

    /// Gives an identity to the objects and promises in a value that need one.
    pub(super) fn export(&mut self, tools: &Tools<'_>, value: &Value<Slot>) -> Result<(), Broken> {
        self.promise(tools, value)?;
        let unnamed = self.slots.unnamed(value);
        if unnamed.is_empty() {
            return Ok(());
        }
        let numbers: Vec<u32> = unnamed.iter().map(|(number, _)| *number).collect();
        let exported = |(number, interface)| Exported { number, interface, guard: self.slots.guard(number) };
        let objects = unnamed.into_iter().map(exported).collect();
        act(tools, CodeAct::Export { eval: self.parcel.eval, objects })?;
        for number in numbers {
            self.slots.named(number);
        }
        Ok(())
    }
}

/// Returns whether a call may be made again if it is not known whether it was made. It changes nothing, or it leaves
/// a mark when it is made, and there is none.
fn may_repeat(plan: &Plan) -> bool {
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

/// Returns one line about a send.
fn line(verb: &Verb, args: &Value<Slot>) -> String {
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
    all.chars().take(LINE).collect()
}

fn error(what: &str) -> Value<Ref> {
    Value::error("Error", what)
}
