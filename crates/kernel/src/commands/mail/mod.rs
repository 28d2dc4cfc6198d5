//! Mail: the messages between agents, and their results.

mod call;
mod define;
mod edge_names;
mod evaluate;
mod field_check;
mod form;
mod request;
mod send;
mod share;
mod slot_check;
mod withdraw;

use crate::command::{Fault, MailAct, Reply};
use crate::id::FormulaId;
use crate::name::NamePath;
use crate::state::State;

pub(super) use evaluate::{evaluated, park_cancelled};
pub(super) use field_check::settle_fields;
pub(super) use request::asked_by;
pub(super) use share::{release, share};
pub(super) use slot_check::{check_slots, pattern};
pub(super) use withdraw::withdraw;

pub(super) fn mail(state: &mut State<'_>, act: MailAct) -> Result<Reply, Fault> {
    match act {
        MailAct::Send(act) => send::send(state, act),
        MailAct::Reply { number, strings, names, paths } => send::reply(state, number, strings, names, paths),
        MailAct::SendValue { number, path } => send::send_value(state, number, &path),
        MailAct::Adopt { number, edge, path } => send::adopt(state, number, &edge, &path),
        MailAct::Dismiss { number } => send::dismiss(state, number),
        MailAct::DismissAll => send::dismiss_all(state),
        MailAct::Request { to, description, result_name } => {
            request::request(state, &to, description, result_name.as_ref())
        }
        MailAct::Resolve { number, path } => request::resolve(state, number, &path),
        MailAct::ResolveWith { resolver, id } => request::resolve_with(state, &resolver, &id),
        MailAct::Give { number, handed } => request::give(state, number, handed),
        MailAct::Reject { number, reason } => request::reject(state, number, reason),
        MailAct::Define(act) => define::define(state, act),
        MailAct::Edit { number, program } => define::edit(state, number, program),
        MailAct::EndowCode { number, bindings, vat, goes_to, result_name } => {
            define::endow_code(state, number, bindings, vat.as_ref(), goes_to, result_name.as_ref())
        }
        MailAct::EndowWorker { number, start, goes_to, result_name } => {
            define::endow_worker(state, number, *start, goes_to, result_name.as_ref())
        }
        MailAct::IfUnchanged { seen, done, act } => {
            for (path, id) in &seen {
                expect_as_seen(state, path, id.as_ref())?;
            }
            let number = match &*act {
                MailAct::IfUnchanged { .. } => {
                    return Err(Fault::Misfit { what: "what was seen is said once".to_owned() });
                }
                MailAct::Edit { number, .. }
                | MailAct::EndowCode { number, .. }
                | MailAct::EndowWorker { number, .. } => Some(*number),
                _ => None,
            };
            match (number, done) {
                (Some(number), Some(done)) if state.letter(number)?.mail.done != done => {
                    Err(Fault::DoneMeanwhile(number))
                }
                _ => mail(state, *act),
            }
        }
        MailAct::Form(act) => form::form(state, act),
        MailAct::Submit { number, values } => form::submit(state, number, values),
        MailAct::RequestEvaluation { source, names, paths, result_name } => {
            evaluate::request_evaluation(state, source, names, paths, result_name.as_ref())
        }
        MailAct::Grant { number, goes_to } => evaluate::grant(state, number, goes_to),
        MailAct::Evaluate { vat, source, names, paths, result_name } => {
            evaluate::evaluate(state, vat.as_ref(), source, names, paths, result_name.as_ref())
        }
        MailAct::Make { vat, modules, powers, new_guest, result_name } => {
            evaluate::make(state, vat.as_ref(), modules, powers.as_ref(), new_guest, result_name.as_ref())
        }
    }
}

/// Refuses a name that no longer stands for the formula that was seen. A name that was free must still be free.
fn expect_as_seen(state: &mut State<'_>, path: &NamePath, seen: Option<&FormulaId>) -> Result<(), Fault> {
    let is_so = match seen {
        Some(id) => state.resolve(path)? == *id,
        None => matches!(state.view().identify(state.txn, path), Err(Fault::UnknownName(_))),
    };
    if is_so { Ok(()) } else { Err(Fault::NotAsSeen { path: path.to_string() }) }
}
