//! The messages from others to objects that the code has made.

use kernel::code::{self, CodeEntry, HeapReference};
use passable::Value;
use vat::{HostError, Order, Outcome, Slot, Verb};

use super::answers::{DEPTH_MESSAGE, MAX_DEPTH};
use super::{
    ObjectMessage, Phase, RESULT_NUMBER, Session, SessionContext, SessionError, SessionStatus, convert,
    lock_board, read, restart_error, write,
};

/// The maximum number of bytes that others may send to code before it ends. All of them are kept in its journal.
const MAX_CALLED_BYTES: usize = 32 << 20;

impl Session {
    /// Takes a message to one of the code's objects.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn take_message(
        &mut self,
        tools: &mut SessionContext<'_>,
        letter: ObjectMessage,
    ) -> Result<SessionStatus, SessionError> {
        self.messages.push_back(letter);
        match self.phase {
            // All messages are delivered at once, because the messages to ended code are not recorded.
            Phase::Live => {
                while let Some(letter) = self.messages.pop_front() {
                    self.open_message(tools, letter)?;
                }
                Ok(SessionStatus::Running)
            }
            // Messages are delivered one after another, after everything that the heap was told before.
            Phase::Running => self.resume(tools),
            Phase::Reviving | Phase::Ending => Ok(SessionStatus::Running),
        }
    }

    pub(super) fn open_message(
        &mut self,
        tools: &mut SessionContext<'_>,
        letter: ObjectMessage,
    ) -> Result<(), SessionError> {
        if letter.target.heap.is_some_and(|heap| heap != self.references.heap) {
            letter.reply.answer(Err(restart_error()));
            return Ok(());
        }
        let (mut args, mut bound) = (Vec::new(), Vec::<HeapReference>::new());
        for value in &letter.args {
            let live = convert::rebuild(value, &mut |remote: &passable::Remote<code::Reference>, _| {
                let reference = self.table.adopt(&mut lock_board(&self.board), &remote.reference)?;
                Ok::<_, switchboard::LimitReached>(passable::Remote {
                    reference,
                    iface: remote.iface.clone(),
                })
            });
            let inward = live
                .and_then(|live| self.references.build_to_heap(&self.table, &self.board, &live, &mut bound));
            match inward {
                Ok(value) if value.depth() > MAX_DEPTH => {
                    letter.refuse(DEPTH_MESSAGE);
                    return Ok(());
                }
                Ok(value) => args.push(value),
                Err(full) => {
                    letter.refuse(&full.to_string());
                    return Ok(());
                }
            }
        }
        self.next_reply = self.next_reply.wrapping_add(1).max(RESULT_NUMBER + 1);
        let (vat, answer) = (self.vat, self.next_reply);
        let (number, call) = (letter.target.number, (letter.verb, Value::array(args)));
        if self.phase == Phase::Running {
            let told = write(&call)?;
            // The code is not to blame for too many messages from others, so it continues, and the message is
            // refused.
            self.called_bytes = self.called_bytes.saturating_add(told.len());
            if self.called_bytes > MAX_CALLED_BYTES {
                let what = format!(
                    "this code has been told more than {} MiB by others before its end: it takes no more",
                    MAX_CALLED_BYTES >> 20
                );
                letter.reply.answer(Err(Value::error("Error", what)));
                return Ok(());
            }
            self.unrecorded.push(CodeEntry::Called { answer, target: number, call: told, bound });
        }
        let (target, (verb, args)) = (Slot::Vat(number), call);
        let order = Order::Deliver { vat, answer: Some(answer), target, verb, args };
        match tools.host.order(&order) {
            Ok(()) => {
                self.orders += 1;
                self.replies.insert(answer, (letter.reply, letter.from));
                Ok(())
            }
            Err(HostError::Frame(e)) => {
                letter.reply.answer(Err(Value::error("Error", e.to_string())));
                Ok(())
            }
            Err(error) => {
                // The message had no effect.
                letter.reply.answer(Err(restart_error()));
                Err(error.into())
            }
        }
    }

    /// Repeats a recorded call of one of the code's objects.
    pub(super) fn replay_call(
        &mut self,
        tools: &mut SessionContext<'_>,
        answer: u32,
        number: u32,
        call: &str,
        bound: &[HeapReference],
    ) -> Result<(), SessionError> {
        self.called_bytes = self.called_bytes.saturating_add(call.len());
        let (verb, args): (Verb, Value<Slot>) = read(call)?;
        self.references.bind(&mut self.table, &self.board, bound, &args).map_err(super::full_error)?;
        self.next_reply = self.next_reply.max(answer);
        let vat = self.vat;
        let target = Slot::Vat(number);
        self.order(tools, &Order::Deliver { vat, answer: Some(answer), target, verb, args })
    }

    pub(super) fn answer_message(
        &mut self,
        tools: &mut SessionContext<'_>,
        answer: u32,
        outcome: &Outcome,
    ) -> Result<(), SessionError> {
        let (Outcome::Ok(value) | Outcome::Err(value)) = outcome;
        if matches!(self.phase, Phase::Running | Phase::Reviving) {
            self.references.note_lasting(value);
        }
        let reply = self.replies.remove(&answer);
        if reply.is_some() {
            // Others will know the answer, so the entries that led to it are recorded first.
            self.record(tools)?;
        }
        // Objects in answers to replayed messages are exported too, because others already hold them.
        match self.phase {
            Phase::Running | Phase::Live => self.identify_exports(tools, value)?,
            Phase::Reviving | Phase::Ending => {}
        }
        if let Some((reply, from)) = reply {
            let mut convert = |value: &Value<Slot>| -> Result<Value<code::Reference>, String> {
                let live = self
                    .references
                    .read_from_heap(&mut self.table, &self.board, value)
                    .map_err(|stuck| stuck.describe())?;
                self.table.references(tools.daemon, &live, from, "answer")
            };
            reply.answer(match outcome {
                Outcome::Ok(value) => convert(value).map_err(|what| Value::error("Error", what)),
                Outcome::Err(value) => Err(convert(value).unwrap_or_else(|what| Value::error("Error", what))),
            });
        }
        // The daemon no longer needs the answer, so the heap may drop it.
        let vat = self.vat;
        self.order(tools, &Order::Drop { vat, exports: vec![], answers: vec![answer] })
    }
}
