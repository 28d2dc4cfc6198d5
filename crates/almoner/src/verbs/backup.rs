//! `almoner backup`.

use crate::cli;
use crate::cli::life::BackupArgs;
use crate::client::Client;
use crate::ui::output;
use config::place::Place;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult};
use control::protocol::{Request, Response};

/// Runs `almoner backup`.
///
/// # Errors
/// When the target exists already, or the backup cannot be made. A failed backup leaves nothing behind.
pub fn backup(place: &Place, args: &BackupArgs) -> ExitResult {
    // The path is made absolute, because the daemon has another current directory than the user.
    let path = cli::absolute(&args.to)?;
    let request = Request::Backup { path: path.clone(), with_key: args.with_key };
    let asked = Client::connect(place)?.ask(request).map_err(|failure| match failure.exit {
        Exit::NoDaemon => failure.help("no backup was made; the same command begins again"),
        _ => failure,
    });
    let report = match asked? {
        Response::BackedUp(report) => report,
        other => return Err(unexpected(&other)),
    };
    if args.json.json {
        output::json(&report)?;
        return Ok(Exit::Ok);
    }
    let shown = passable::visible_line(&path);
    let files = if report.files == 1 { "1 file".to_owned() } else { format!("{} files", report.files) };
    output::note(&format!("{shown} holds the home as it is now: {files}, {}", size(report.bytes)));
    output::note("it leaves out");
    for line in &report.left_out {
        output::note(&format!("  {}", passable::visible_line(line)));
    }
    match (report.has_key, report.needs_passphrase) {
        (true, false) => output::note(
            "warning: it holds the key of the vault, so it opens all secrets; keep it as you keep a password",
        ),
        (true, true) => output::note("it holds the key of the vault, under its passphrase"),
        (false, _) if args.with_key => output::note("there is no vault, and so no key of one"),
        (false, _) => {}
    }
    output::note(&format!(
        "`ALMONER_HOME=DIR almoner restore {}` makes a home of it",
        passable::shell_word(&path)
    ));
    Ok(Exit::Ok)
}

/// Returns a size in the unit that people read.
fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
