//! The start of a session: the heap is made, and told the code and the values of its names.

use kernel::code::CodeEntry;
use passable::Value;
use vat::{Limits, Order, Slot, VatId};

use super::{
    RESULT_NUMBER, Session, SessionContext, SessionError, divergence, error_text, failed, full_error, read,
    with_table, write,
};
use crate::files::module_archives;
use crate::objects::convert;
use crate::objects::object::Object;

/// The name under which code finds its own state.
const STATE_NAME: &str = "state";

impl Session {
    /// Makes the heap, and begins to run the code in it.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn open(&mut self, tools: &mut SessionContext<'_>) -> Result<(), SessionError> {
        let vat = self.vat;
        self.order(tools, &Order::Open { vat, limits: Limits::default() })?;
        let (values, names) = match self.script.pop_front() {
            Some(CodeEntry::Began { values, bound, .. }) => {
                let told: Value<Slot> = read(&values)?;
                self.references.bind(&mut self.table, &self.board, &bound, &told).map_err(full_error)?;
                (told, self.names())
            }
            Some(_) => {
                return Err(SessionError::Code(divergence("its journal does not begin at the beginning")));
            }
            None => self.begin(tools)?,
        };
        let id = self.job.eval.to_string();
        let order = match &self.job.modules {
            None => {
                let source = self.job.source.clone();
                Order::Evaluate { vat, answer: RESULT_NUMBER, id, source, names, values }
            }
            Some(kept) => modules_order(tools, kept, vat, id, &values)?,
        };
        self.order(tools, &order)
    }

    fn names(&self) -> Vec<String> {
        let mut names = self.job.names.clone();
        if !names.iter().any(|name| name == STATE_NAME) {
            names.push(STATE_NAME.to_owned());
        }
        names
    }

    /// Returns the values and the names of the code as the heap is told them. They become the first entry of the
    /// journal.
    fn begin(&mut self, tools: &SessionContext<'_>) -> Result<(Value<Slot>, Vec<String>), SessionError> {
        let eval = self.job.eval;
        let reach = Object { id: eval, agent: eval, through: vec![] };
        let mut values = self.job.values.clone();
        let names = self.names();
        if names.len() > values.len() {
            values.push(Value::remotable_alleged(eval, "Alleged: State"));
        }
        let values = Value::array(values);
        let (courier, mut bound) = (self.answer_sender(tools), Vec::new());
        let mut told = Ok(Value::undefined());
        with_table(&mut self.table, &self.board, tools.daemon, &courier, |home, context| {
            told = match home.make_live(context, &convert::to_live(&values), &reach) {
                Ok(shown) => {
                    self.references.build_to_heap(home, &self.board, &shown, &mut bound).map_err(full_error)
                }
                Err(trouble) => {
                    let help = "give it something else";
                    Err(SessionError::Code(failed("vat/endowments", error_text(&trouble.to_value()), help)))
                }
            };
        });
        let told = told?;
        self.unrecorded.push(CodeEntry::Began {
            engine: crate::state::code_host::engine_version(),
            values: write(&told)?,
            bound,
        });
        Ok((told, names))
    }
}

/// Returns the order that starts a program of modules. The program gets its powers and its own object.
fn modules_order(
    tools: &SessionContext<'_>,
    kept: &kernel::modules::Modules,
    vat: VatId,
    id: String,
    values: &Value<Slot>,
) -> Result<Order, SessionError> {
    let blobs = tools.daemon.store.blobs();
    let modules = module_archives::load(blobs, kept).map_err(|what| {
        SessionError::Code(failed("vat/modules", what, "`almoner doctor` says what is damaged"))
    })?;
    let [powers, own] = values.as_array().unwrap_or_default() else {
        return Err(SessionError::Code(divergence("it was begun as something else")));
    };
    let (powers, own, env) = (powers.clone(), own.clone(), kept.env.clone());
    Ok(Order::Make { vat, answer: RESULT_NUMBER, id, modules, env, powers, own })
}
