//! `almoner grants` and `almoner revoke`.

use kernel::GrantNumber;

use crate::cli::JsonArg;
use crate::cli::agents::RevokeArgs;
use crate::session;
use crate::session::{Session, print_reply};
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{AgentAct, Look, Response};
use control::show::object_view;
use control::view::GrantRow;

/// Runs `almoner grants`.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn grants(acting: &Session<'_>, args: JsonArg) -> ExitResult {
    let grants = list_grants(acting)?;
    if args.json {
        output::json(&grants)?;
    } else if grants.is_empty() {
        output::empty("you have granted nothing");
    } else {
        output::result(&object_view::grants(&grants))?;
    }
    Ok(Exit::Ok)
}

/// Runs `almoner revoke`.
///
/// # Errors
/// When the grant does not exist, or the object of a name was granted more than once.
pub fn revoke(acting: &Session<'_>, args: &RevokeArgs) -> ExitResult {
    let grant = match args.grant.parse() {
        Ok(grant) => grant,
        Err(_) => grant_of_name(acting, &args.grant)?,
    };
    let response = acting.act("revoke", AgentAct::Revoke { grant })?;
    if !args.json.json {
        output::note(&format!("{grant} is revoked, and every grant that was made of it"));
        return Ok(Exit::Ok);
    }
    print_reply(&response, true)
}

fn list_grants(acting: &Session<'_>) -> Result<Vec<GrantRow>, Failure> {
    match acting.look_up(Look::Grants)? {
        Response::Grants(grants) => Ok(grants),
        other => Err(unexpected(&other)),
    }
}

/// Returns the only grant of the object under a name.
fn grant_of_name(acting: &Session<'_>, name: &str) -> Result<GrantNumber, Failure> {
    let thing = acting.object(session::parse_path(name)?)?;
    let of_it = |row: &GrantRow| {
        let grant = &row.grant;
        grant.revoked_ms.is_none() && (thing.id == Some(grant.target) || thing.id == Some(grant.id))
    };
    let found: Vec<GrantNumber> =
        list_grants(acting)?.iter().filter(|row| of_it(row)).map(|row| row.grant.number).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(Failure::new(Exit::NotFound, format!("`{name}` was granted to nobody"))
            .help(format!("{} lists what was granted", acting.command("grants")))),
        more => {
            let list: Vec<String> = more.iter().map(ToString::to_string).collect();
            Err(Failure::new(
                Exit::Usage,
                format!("`{name}` was granted {} times: {}", more.len(), list.join(", ")),
            )
            .help(format!("{} ends one", acting.command(&format!("revoke {}", more[0])))))
        }
    }
}
