//! `almoner backup`.

use crate::cli;
use crate::cli::BackupArgs;
use crate::client::Client;
use crate::ui::output;
use config::place::Place;
use control::exit::{Exit, ExitResult};
use control::protocol::Request;

/// Runs `almoner backup`.
///
/// # Errors
/// When the target exists already, or the copy cannot be made. A failed copy leaves nothing behind.
pub fn backup(place: &Place, args: &BackupArgs) -> ExitResult {
    // The path is made absolute, because the daemon has another current directory than the user.
    let path = cli::absolute(&args.to)?;
    Client::connect(place)?.ask(Request::Backup { path: path.clone() })?;
    output::note(&format!(
        "{} holds the store as it is now; to go back to it, `almoner stop`, move {} away, and put a copy there (`cp -a`)",
        passable::visible_line(&path),
        output::path(&place.store())
    ));
    Ok(Exit::Ok)
}
