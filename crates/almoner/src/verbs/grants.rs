//! `almoner grants` and `almoner revoke`.

use kernel::GrantNumber;

use crate::cli::JsonArg;
use crate::cli::agents::RevokeArgs;
use crate::session;
use crate::session::{Acting, done};
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Ended, Exit, Failure};
use control::protocol::{AgentAct, Look, Response};
use control::show::thing;
use control::view::GrantRow;

/// `almoner grants`.
///
/// # Errors
/// When the daemon cannot be reached.
pub fn grants(acting: &Acting<'_>, args: JsonArg) -> Ended {
    let grants = look(acting)?;
    if args.json {
        output::json(&grants)?;
    } else if grants.is_empty() {
        output::note("you have granted nothing");
    } else {
        output::result(&thing::grants(&grants))?;
    }
    Ok(Exit::Ok)
}

/// `almoner revoke`.
///
/// # Errors
/// When there is no such grant, or a name was granted more than once.
pub fn revoke(acting: &Acting<'_>, args: &RevokeArgs) -> Ended {
    let grant = match args.grant.parse() {
        Ok(grant) => grant,
        Err(_) => granted(acting, &args.grant)?,
    };
    let response = acting.act("revoke", AgentAct::Revoke { grant })?;
    if !args.json.json {
        output::note(&format!("{grant} is revoked, and every grant that was made of it"));
        return Ok(Exit::Ok);
    }
    done(&response, true)
}

fn look(acting: &Acting<'_>) -> Result<Vec<GrantRow>, Failure> {
    match acting.look(Look::Grants)? {
        Response::Grants(grants) => Ok(grants),
        other => Err(unexpected(&other)),
    }
}

/// Returns the only grant of the object under a name.
fn granted(acting: &Acting<'_>, name: &str) -> Result<GrantNumber, Failure> {
    let thing = acting.thing(session::path(name)?)?;
    let of_it = |row: &GrantRow| {
        let grant = &row.grant;
        grant.revoked_ms.is_none() && (thing.id == Some(grant.target) || thing.id == Some(grant.id))
    };
    let found: Vec<GrantNumber> =
        look(acting)?.iter().filter(|row| of_it(row)).map(|row| row.grant.number).collect();
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
