//! `almoner why`.

use super::output;
use crate::cli::WhyArgs;
use crate::control::client::{Client, unexpected};
use crate::control::protocol::{Request, Response};
use crate::exit::{Ended, Exit};
use crate::place::Place;
use crate::show::reason;

/// `almoner why`.
///
/// # Errors
/// When nothing is known of the thing.
pub fn why(place: &Place, args: &WhyArgs) -> Ended {
    // A file is meant as it lies here, whatever the directory of the daemon.
    let thing = match std::fs::canonicalize(&args.thing) {
        Ok(path) => path.to_string_lossy().into_owned(),
        Err(_) => args.thing.clone(),
    };
    let reasons = match Client::connect(place)?.ask(&Request::Why { thing })? {
        Response::Why(reasons) => reasons,
        other => return Err(unexpected(&other)),
    };
    if args.json.json {
        output::json(&reasons)?;
    } else {
        output::listing(&reason::render(&reasons))?;
    }
    Ok(Exit::Ok)
}
