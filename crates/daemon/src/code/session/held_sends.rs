//! The sends that wait until their target is known. Most are sends of an earlier heap whose outcome is not known.

use kernel::code::{self, Origin};
use passable::Value;
use switchboard::Ref;
use vat::Verb;

use super::{AnswerSender, OutgoingSend, Session, SessionContext, SessionError, lock_board, restart_error};

/// A send to an answer that is not known yet. Once the answer is known, the session decides whether the send may go
/// out.
pub(super) struct HeldSend {
    send: u32,
    target: Ref,
    verb: Verb,
    args: Value<Ref>,
    /// The promise that the heap holds as the answer.
    answer: Ref,
    is_repeated: bool,
}

impl Session {
    /// Holds a send back until its target is known, if needed. Returns whether the send is held.
    pub(super) fn hold_back(
        &mut self,
        one: &OutgoingSend,
        target: Ref,
        args: &Value<Ref>,
    ) -> Result<bool, SessionError> {
        let is_open = lock_board(&self.board).is_pending(target);
        // A later send must not overtake a held send to the same target.
        let waits = self.held.iter().any(|held| held.target == target);
        if !(is_open && (one.is_repeated || waits)) {
            return Ok(false);
        }
        lock_board(&self.board).hold(self.side, target).map_err(super::full_error)?;
        for reference in args.references() {
            lock_board(&self.board).hold(self.side, *reference).map_err(super::full_error)?;
        }
        let answer = self.answer_promise(one.send, one.question)?;
        let (verb, args, again) = (one.verb.clone(), args.clone(), one.is_repeated);
        self.held.push(HeldSend { send: one.send, target, verb, args, answer, is_repeated: again });
        Ok(true)
    }

    /// Sends the held sends whose target is known now. A repeated send that may not go out again is answered with an
    /// error.
    pub(super) fn release_held(&mut self, tools: &mut SessionContext<'_>) -> Result<(), SessionError> {
        let held = std::mem::take(&mut self.held);
        let (mut ready, mut sent) = (Vec::new(), false);
        for one in held {
            // A send to the answer of a held send waits for that answer in turn.
            match lock_board(&self.board).is_pending(one.target) {
                true => self.held.push(one),
                false => ready.push(one),
            }
        }
        for HeldSend { send, target, verb, args, answer, is_repeated: again } in ready {
            sent = true;
            let outcome = match again && !self.can_resend(tools, target, &verb, &args)? {
                true => Err(restart_error()),
                false => {
                    let call = super::sends::call(verb, &args);
                    let gone = lock_board(&self.board).send(self.side, target, call);
                    gone.map_err(|full| Value::error("Error", full.to_string()))
                }
            };
            let outcome = outcome.map(|real| {
                self.table.record_origin(real, Origin { eval: self.job.eval, send });
                Value::promise(real)
            });
            let mut board = lock_board(&self.board);
            board.resolve(self.side, answer, outcome);
            board.release(self.side, target);
            for reference in args.references() {
                board.release(self.side, *reference);
            }
        }
        if sent {
            let courier = self.answer_sender(tools);
            super::with_table(&mut self.table, &self.board, tools.daemon, &courier, |_, _| {});
        }
        Ok(())
    }

    /// Handles a send that an earlier heap has already sent. Returns `true` if the send was answered or held back, or
    /// `false` if it may go out again.
    pub(super) fn resend(
        &mut self,
        tools: &mut SessionContext<'_>,
        courier: &AnswerSender,
        one: &OutgoingSend,
        target: Ref,
        args: &Value<Ref>,
    ) -> Result<bool, SessionError> {
        let origin = Origin { eval: self.job.eval, send: one.send };
        if let Some(mark) = tools.daemon.read(|txn| code::mark(txn, &origin))? {
            self.answer_from_mark(tools, courier, &mark, one.send, one.question)?;
            return Ok(true);
        }
        if self.hold_back(one, target, args)? {
            return Ok(true);
        }
        if !self.can_resend(tools, target, &one.verb, args)? {
            self.answer_directly(one.send, one.question, Err(restart_error()))?;
            return Ok(true);
        }
        Ok(false)
    }
}
