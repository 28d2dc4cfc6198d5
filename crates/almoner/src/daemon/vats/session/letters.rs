//! Messages from others to objects that the code has made.

use kernel::code::{self, Bound, Entry};
use passable::Value;
use vat::{HostError, Order, Outcome, Slot, Verb};

use super::{Broken, Letter, Phase, RESULT, Session, Stand, Tools, convert, locked, read, restarted, write};

impl Session {
    /// Takes a message to one of the objects.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn take_letter(&mut self, tools: &mut Tools<'_>, letter: Letter) -> Result<Stand, Broken> {
        self.letters.push_back(letter);
        match self.phase {
            // Nobody is in its way: what it does now is recorded nowhere.
            Phase::Live => {
                while let Some(letter) = self.letters.pop_front() {
                    self.open_letter(tools, letter)?;
                }
                Ok(Stand::On)
            }
            // One after the other, and after what it was told before.
            Phase::Running => self.go_on(tools),
            Phase::Reviving | Phase::Ending => Ok(Stand::On),
        }
    }

    pub(super) fn open_letter(&mut self, tools: &mut Tools<'_>, letter: Letter) -> Result<(), Broken> {
        if letter.target.heap.is_some_and(|heap| heap != self.slots.heap) {
            letter.reply.answer(Err(restarted()));
            return Ok(());
        }
        let (mut args, mut bound) = (Vec::new(), Vec::<Bound>::new());
        for value in &letter.args {
            let live = convert::rebuild(value, &mut |remote: &passable::Remote<code::Reference>, _| {
                let reference = self.home.adopt(&mut locked(&self.board), &remote.reference)?;
                Ok::<_, switchboard::Full>(passable::Remote { reference, iface: remote.iface.clone() })
            });
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
        let (number, call) = (letter.target.number, (letter.verb, Value::array(args)));
        if self.phase == Phase::Running {
            self.note_call(answer, number, &call, bound)?;
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
                // Nothing of it has happened.
                letter.reply.answer(Err(restarted()));
                Err(error.into())
            }
        }
    }

    /// Records a call of one of the objects, as the heap is told of it.
    fn note_call(
        &mut self,
        answer: u32,
        target: u32,
        call: &(Verb, Value<Slot>),
        bound: Vec<Bound>,
    ) -> Result<(), Broken> {
        let call = write(call)?;
        self.hears(call.len())?;
        self.fresh.push(Entry::Called { answer, target, call, bound });
        Ok(())
    }

    /// Calls one of the objects as it was called before.
    pub(super) fn called_again(
        &mut self,
        tools: &mut Tools<'_>,
        answer: u32,
        number: u32,
        call: &str,
        bound: &[Bound],
    ) -> Result<(), Broken> {
        self.hears(call.len())?;
        let (verb, args): (Verb, Value<Slot>) = read(call)?;
        self.slots.bind(&mut self.home, &self.board, bound, &args).map_err(super::too_full)?;
        self.next_reply = self.next_reply.max(answer);
        let vat = self.vat;
        let target = Slot::Vat(number);
        self.order(tools, &Order::Deliver { vat, answer: Some(answer), target, verb, args })
    }

    pub(super) fn answer_letter(
        &mut self,
        tools: &mut Tools<'_>,
        answer: u32,
        outcome: &Outcome,
    ) -> Result<(), Broken> {
        let (Outcome::Ok(value) | Outcome::Err(value)) = outcome;
        if matches!(self.phase, Phase::Running | Phase::Reviving) {
            self.slots.note_lasting(value);
        }
        if let Some((reply, from)) = self.replies.remove(&answer) {
            if self.phase == Phase::Running {
                // Others will know of it: it follows from what the code was told.
                self.record(tools)?;
            }
            if self.phase != Phase::Ending {
                self.export(tools, value)?;
            }
            let mut convert = |value: &Value<Slot>| -> Result<Value<code::Reference>, String> {
                let live =
                    self.slots.outward(&mut self.home, &self.board, value).map_err(|stuck| stuck.words())?;
                self.home.references(&tools.server.desk.daemon, &live, from, "answer")
            };
            reply.answer(match outcome {
                Outcome::Ok(value) => convert(value).map_err(|what| Value::error("Error", what)),
                Outcome::Err(value) => Err(convert(value).unwrap_or_else(|what| Value::error("Error", what))),
            });
        }
        // The heap need not keep the answer for us.
        let vat = self.vat;
        self.order(tools, &Order::Drop { vat, exports: vec![], answers: vec![answer] })
    }
}
