//! `almoner inbox`.

use std::fmt::Write as _;

use kernel::id::BadId;
use kernel::message::Body;
use kernel::query::Letter;

use super::{look, output};
use crate::cli::InboxArgs;
use crate::exit::{Ended, Exit, Failure};
use crate::place::Place;

/// `almoner inbox`.
///
/// # Errors
/// When there is no such message.
pub fn inbox(place: &Place, args: &InboxArgs) -> Ended {
    if let Some(text) = &args.message {
        let number = text
            .parse()
            .map_err(|e: BadId| Failure::new(Exit::Usage, e.to_string()).help("see `almoner inbox`"))?;
        let card = look::card(place, number)?;
        if args.json.json {
            output::json(&card)?;
        } else {
            output::result(&card.render(output::columns()))?;
            if card.is_open() {
                output::note(&format!("`almoner approve {number}` or `almoner deny {number} -r WHY`"));
            }
        }
        return Ok(Exit::Ok);
    }
    let letters = look::letters(place, !args.all)?;
    if args.json.json {
        output::json(&letters)?;
    } else if letters.is_empty() {
        output::note("nothing waits for you");
    } else {
        output::listing(&letters.iter().map(line).collect::<String>())?;
    }
    Ok(Exit::Ok)
}

fn line(letter: &Letter) -> String {
    let mut out = String::new();
    let mark = if letter.mail.needs_you { "●" } else { " " };
    let _ = write!(out, "{mark} {:>4}  {:<9} ", letter.number.0, letter.message.body.kind());
    match &letter.message.body {
        Body::Approval { run, entries } => {
            let open = entries.len().saturating_sub(letter.mail.answers.len());
            let _ = writeln!(out, "{run} asks about {} ({open} open)", entries.len());
        }
        Body::Command { text, .. } => {
            let _ = writeln!(out, "{}", text.visible_line());
        }
    }
    out
}
