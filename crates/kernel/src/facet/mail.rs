//! Mail methods, except those about programs and forms.

use passable::Untrusted;

use super::args::{self, Args};
use super::follow::Follow;
use super::listing;
use super::plan::{Need, Plan, Then};
use super::refusal::Refusal;
use crate::command::{MailAct, Send};
use crate::id::FormulaId;
use crate::proposal::Value;
use crate::txn::ReadTxn;

/// The reason that is recorded when a message is rejected without one. Upstream uses the same text.
const DECLINED: &str = "Declined";

/// Returns the plan for a call of a mail method; `None` for any other method.
pub(super) fn plan(
    txn: &mut dyn ReadTxn,
    agent: FormulaId,
    method: &str,
    args: Args<'_>,
) -> Result<Option<Plan>, Refusal> {
    let mut then = Then::Nothing;
    let act = match method {
        "listMessages" => return Ok(Some(Plan::Live(listing::messages(txn, &agent)?))),
        "followMessages" => return Ok(Some(Plan::need(Need::Follow(Follow::Messages { agent })))),
        "resolve" => MailAct::Resolve { number: args.number(0)?, path: args.path(1)? },
        "reject" => MailAct::Reject {
            number: args.number(0)?,
            reason: match args.get(1) {
                Some(_) => args.untrusted(1)?,
                None => Untrusted::new(DECLINED),
            },
        },
        "adopt" => MailAct::Adopt { number: args.number(0)?, edge: edge(args)?, path: args.path(2)? },
        "dismiss" => MailAct::Dismiss { number: args.number(0)? },
        "dismissAll" => MailAct::DismissAll,
        "request" => {
            then = Then::Promise;
            MailAct::Request {
                to: args.path(0)?,
                description: args.untrusted(1)?,
                result_name: args.maybe_path(2)?,
            }
        }
        "send" => MailAct::Send(Send {
            to: args.path(0)?,
            strings: strings(args)?,
            names: args.texts(2)?,
            paths: args.paths(3)?,
            reply_to: args.get(4).map(|_| args.number(4)).transpose()?,
        }),
        "reply" => MailAct::Reply {
            number: args.number(0)?,
            strings: strings(args)?,
            names: args.texts(2)?,
            paths: args.paths(3)?,
        },
        "sendValue" => MailAct::SendValue { number: args.number(0)?, path: args.path(1)? },
        _ => return Ok(None),
    };
    Ok(Some(Plan::mail(agent, act, then)))
}

fn strings(args: Args<'_>) -> Result<Vec<Untrusted>, Refusal> {
    Ok(args.texts(1)?.into_iter().map(Untrusted::new).collect())
}

/// Returns the name of an edge. The argument is the name, or an array with the name.
fn edge(args: Args<'_>) -> Result<String, Refusal> {
    match args.get(1) {
        Some(Value::Array(names)) => match names.as_slice() {
            [name] => args::text(name),
            _ => Err(Refusal::Argument("a reference in a message has one name".to_owned())),
        },
        _ => args.text(1),
    }
}
