//! `almoner trace`.

use kernel::id::BadId;

use super::acting::Acting;
use super::{look, output};
use crate::cli::TraceArgs;
use crate::exit::{Ended, Exit, Failure};
use crate::show::journal;

/// `almoner trace`.
///
/// # Errors
/// When there is no such run.
pub fn trace(acting: &Acting<'_>, args: &TraceArgs) -> Ended {
    let run = match &args.run {
        Some(text) => text
            .parse()
            .map_err(|e: BadId| Failure::new(Exit::Usage, e.to_string()).help("see `almoner runs`"))?,
        None => look::latest(acting)?,
    };
    let found = look::run(acting, run)?;
    let steps = look::journal(acting, run)?;
    if args.json.json {
        output::json(&serde_json::json!({ "version": 1, "run": found, "steps": steps }))?;
    } else {
        output::listing(&journal::render(&found, &steps))?;
    }
    Ok(Exit::Ok)
}
