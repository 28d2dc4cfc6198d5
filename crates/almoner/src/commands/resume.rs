//! `almoner resume`.

use kernel::RunNumber;
use kernel::id::BadId;

use super::{attend, output, trace};
use crate::cli::ResumeArgs;
use crate::control::client::Client;
use crate::control::protocol::Request;
use crate::exit::{Ended, Exit, Failure};
use crate::place::Place;

/// `almoner resume`.
///
/// # Errors
/// When there is no such run, or what becomes of it.
pub fn resume(place: &Place, args: &ResumeArgs) -> Ended {
    let run: Option<RunNumber> = match &args.run {
        Some(text) => Some(
            text.parse()
                .map_err(|e: BadId| Failure::new(Exit::Usage, e.to_string()).help("see `almoner runs`"))?,
        ),
        None => None,
    };
    Client::connect(place)?.ask(&Request::Resume { run })?;
    let run = match run {
        Some(run) => run,
        None => trace::latest(place)?,
    };
    if args.follow.detach {
        output::result(&run.to_string())?;
        return Ok(Exit::Ok);
    }
    let found = attend::get_run(place, run)?;
    if found.is_finished() {
        output::note(&format!("{run} is over"));
        return attend::tell(&found, &args.follow);
    }
    attend::attend(place, run, None, &args.follow)
}
