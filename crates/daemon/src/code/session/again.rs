//! Sends of an earlier heap whose outcome is not known.

use kernel::code::{self, Origin};
use passable::Value;
use switchboard::Ref;
use vat::Verb;

use super::{Broken, Courier, Outgoing, Session, Tools, locked, restarted};

/// A send to an answer that is not known yet. Whether it may go out is seen once it is.
pub(super) struct Held {
    send: u32,
    target: Ref,
    verb: Verb,
    args: Value<Ref>,
    /// The promise that the heap holds as the answer.
    answer: Ref,
    again: bool,
}

impl Session {
    /// Holds a send back until its target is known, if that is needed. Returns whether it did.
    pub(super) fn hold_back(
        &mut self,
        one: &Outgoing,
        target: Ref,
        args: &Value<Ref>,
    ) -> Result<bool, Broken> {
        let is_open = locked(&self.board).is_pending(target);
        // A later send does not overtake one that waits.
        let waits = self.held.iter().any(|held| held.target == target);
        if !(is_open && (one.again || waits)) {
            return Ok(false);
        }
        locked(&self.board).hold(self.side, target).map_err(super::too_full)?;
        for reference in args.references() {
            locked(&self.board).hold(self.side, *reference).map_err(super::too_full)?;
        }
        let answer = self.own_answer(one.send, one.question)?;
        let (verb, args, again) = (one.verb.clone(), args.clone(), one.again);
        self.held.push(Held { send: one.send, target, verb, args, answer, again });
        Ok(true)
    }

    /// Sends the held sends whose target is known now.
    pub(super) fn release_held(&mut self, tools: &mut Tools<'_>) -> Result<(), Broken> {
        let held = std::mem::take(&mut self.held);
        let (mut ready, mut sent) = (Vec::new(), false);
        for one in held {
            // A send to the answer of a held send waits for that answer in turn.
            match locked(&self.board).is_pending(one.target) {
                true => self.held.push(one),
                false => ready.push(one),
            }
        }
        for Held { send, target, verb, args, answer, again } in ready {
            sent = true;
            let outcome = match again && !self.may_go_again(tools, target, &verb, &args)? {
                true => Err(restarted()),
                false => {
                    let call = super::sends::call(verb, &args);
                    let gone = locked(&self.board).send(self.side, target, call);
                    gone.map_err(|full| Value::error("Error", full.to_string()))
                }
            };
            let outcome = outcome.map(|real| {
                self.home.sent(real, Origin { eval: self.parcel.eval, send });
                Value::promise(real)
            });
            let mut board = locked(&self.board);
            board.resolve(self.side, answer, outcome);
            board.release(self.side, target);
            for reference in args.references() {
                board.release(self.side, *reference);
            }
        }
        if sent {
            let courier = self.courier(tools);
            super::attend(&mut self.home, &self.board, tools.daemon, &courier, |_, _| {});
        }
        Ok(())
    }

    /// Answers a send that an earlier heap has sent, or sees that it may go; whether that is done.
    pub(super) fn send_again(
        &mut self,
        tools: &mut Tools<'_>,
        courier: &Courier,
        one: &Outgoing,
        target: Ref,
        args: &Value<Ref>,
    ) -> Result<bool, Broken> {
        let origin = Origin { eval: self.parcel.eval, send: one.send };
        if let Some(mark) = tools.daemon.read(|txn| code::mark(txn, &origin))? {
            self.answer_marked(tools, courier, &mark, one.send, one.question)?;
            return Ok(true);
        }
        if self.hold_back(one, target, args)? {
            return Ok(true);
        }
        if !self.may_go_again(tools, target, &one.verb, args)? {
            self.answer_at_once(one.send, one.question, Err(restarted()))?;
            return Ok(true);
        }
        Ok(false)
    }
}
