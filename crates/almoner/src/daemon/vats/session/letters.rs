//! Messages from others to objects that the code has made.

use kernel::code::{self, Bound};
use passable::Value;
use vat::{HostError, Order, Outcome, Slot};

use super::{Broken, Letter, Phase, RESULT, Session, Stand, Tools, convert, locked, restarted};

impl Session {
    /// Takes a message to one of the objects.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn take_letter(&mut self, tools: &mut Tools<'_>, letter: Letter) -> Result<Stand, Broken> {
        if self.phase == Phase::Running {
            // Until the code has come to its end, nobody else has a say in what it does.
            letter.refuse(
                "the code that makes this object has not come to its end: until then it takes no messages",
            );
            return Ok(Stand::On);
        }
        self.letters.push_back(letter);
        match self.phase {
            Phase::Live => self.deliver_all(tools).map(|()| Stand::On),
            Phase::Running | Phase::Reviving => Ok(Stand::On),
        }
    }

    pub(super) fn deliver_all(&mut self, tools: &mut Tools<'_>) -> Result<(), Broken> {
        while !self.is_ending()
            && let Some(letter) = self.letters.pop_front()
        {
            self.open_letter(tools, letter)?;
        }
        Ok(())
    }

    pub(super) fn open_letter(&mut self, tools: &mut Tools<'_>, letter: Letter) -> Result<(), Broken> {
        if letter.target.heap.is_some_and(|heap| heap != self.slots.heap) {
            letter.reply.answer(Err(restarted()));
            return Ok(());
        }
        let mut args = Vec::new();
        for value in &letter.args {
            let live = convert::rebuild(value, &mut |remote: &passable::Remote<code::Reference>, _| {
                let reference = self.home.adopt(&mut locked(&self.board), &remote.reference)?;
                Ok::<_, switchboard::Full>(passable::Remote { reference, iface: remote.iface.clone() })
            });
            let mut bound: Vec<Bound> = Vec::new();
            let inward = live.and_then(|live| self.slots.inward(&self.home, &self.board, &live, &mut bound));
            match inward {
                Ok(value) => args.push(value),
                Err(full) => {
                    letter.refuse(&full.to_string());
                    return Ok(());
                }
            }
        }
        self.next_reply = self.next_reply.wrapping_add(1).max(RESULT + 1);
        let (vat, answer) = (self.vat, self.next_reply);
        let target = Slot::Vat(letter.target.number);
        let order =
            Order::Deliver { vat, answer: Some(answer), target, verb: letter.verb, args: Value::array(args) };
        match tools.host.order(&order) {
            Ok(()) => {
                self.orders += 1;
                self.replies.insert(answer, letter.reply);
                Ok(())
            }
            Err(HostError::Frame(e)) => {
                letter.reply.answer(Err(Value::error("Error", e.to_string())));
                Ok(())
            }
            Err(error) => {
                // Nothing of it has happened.
                letter.reply.answer(Err(restarted()));
                Err(error.into())
            }
        }
    }

    pub(super) fn answer_letter(
        &mut self,
        tools: &mut Tools<'_>,
        answer: u32,
        outcome: &Outcome,
    ) -> Result<(), Broken> {
        let Some(reply) = self.replies.remove(&answer) else { return Ok(()) };
        let mut convert = |value: &Value<Slot>| -> Result<Value<code::Reference>, String> {
            let live =
                self.slots.outward(&mut self.home, &self.board, value).map_err(|stuck| stuck.words())?;
            self.home.references(&tools.server.desk.daemon, &live)
        };
        reply.answer(match outcome {
            Outcome::Ok(value) => convert(value).map_err(|what| Value::error("Error", what)),
            Outcome::Err(value) => Err(convert(value).unwrap_or_else(|what| Value::error("Error", what))),
        });
        // The heap need not keep the answer for us.
        let vat = self.vat;
        self.order(tools, &Order::Drop { vat, exports: vec![], answers: vec![answer] })
    }
}
