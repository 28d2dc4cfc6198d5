//! The start of a heap, with the code and the values of its names.

use kernel::code::Entry;
use passable::Value;
use vat::{Limits, Order, Slot, VatId};

use super::{Broken, RESULT, Session, Tools, attend, diverged, failed, read, said, too_full, write};
use crate::files::module_archives;
use crate::objects::convert;
use crate::objects::object::Object;

/// The name under which code finds its own state.
const STATE: &str = "state";

impl Session {
    /// Makes the heap and begins.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn open(&mut self, tools: &mut Tools<'_>) -> Result<(), Broken> {
        let vat = self.vat;
        self.order(tools, &Order::Open { vat, limits: Limits::default() })?;
        let (values, names) = match self.script.pop_front() {
            Some(Entry::Began { values, bound, .. }) => {
                let told: Value<Slot> = read(&values)?;
                self.slots.bind(&mut self.home, &self.board, &bound, &told).map_err(too_full)?;
                (told, self.names())
            }
            Some(_) => return Err(Broken::Code(diverged("its journal does not begin at the beginning"))),
            None => self.begin(tools)?,
        };
        let id = self.parcel.eval.to_string();
        let order = match &self.parcel.modules {
            None => {
                let source = self.parcel.source.clone();
                Order::Evaluate { vat, answer: RESULT, id, source, names, values }
            }
            Some(kept) => made(tools, kept, vat, id, &values)?,
        };
        self.order(tools, &order)
    }

    fn names(&self) -> Vec<String> {
        let mut names = self.parcel.names.clone();
        if !names.iter().any(|name| name == STATE) {
            names.push(STATE.to_owned());
        }
        names
    }

    /// Returns the values of the code's names, as the heap is told them. They are the journal's first entry.
    fn begin(&mut self, tools: &Tools<'_>) -> Result<(Value<Slot>, Vec<String>), Broken> {
        let eval = self.parcel.eval;
        let reach = Object { id: eval, agent: eval, through: vec![] };
        let mut values = self.parcel.values.clone();
        let names = self.names();
        if names.len() > values.len() {
            values.push(Value::remotable_alleged(eval, "Alleged: State"));
        }
        let values = Value::array(values);
        let (courier, mut bound) = (self.courier(tools), Vec::new());
        let mut told = Ok(Value::undefined());
        attend(&mut self.home, &self.board, tools.daemon, &courier, |home, context| {
            told = match home.hand_over(context, &convert::live(&values), &reach) {
                Ok(shown) => self.slots.inward(home, &self.board, &shown, &mut bound).map_err(too_full),
                Err(trouble) => {
                    let help = "give it something else";
                    Err(Broken::Code(failed("vat/endowments", said(&trouble.to_value()), help)))
                }
            };
        });
        let told = told?;
        self.fresh.push(Entry::Began {
            engine: crate::state::code_host::engine(),
            values: write(&told)?,
            bound,
        });
        Ok((told, names))
    }
}

/// Returns the order to make a program of modules. The program gets its powers and its own object.
fn made(
    tools: &Tools<'_>,
    kept: &kernel::modules::Modules,
    vat: VatId,
    id: String,
    values: &Value<Slot>,
) -> Result<Order, Broken> {
    let blobs = tools.daemon.store.blobs();
    let modules = module_archives::load(blobs, kept)
        .map_err(|what| Broken::Code(failed("vat/modules", what, "`almoner doctor` says what is damaged")))?;
    let [powers, own] = values.as_array().unwrap_or_default() else {
        return Err(Broken::Code(diverged("it was begun as something else")));
    };
    let (powers, own, env) = (powers.clone(), own.clone(), kept.env.clone());
    Ok(Order::Make { vat, answer: RESULT, id, modules, env, powers, own })
}
