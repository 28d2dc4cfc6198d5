//! `almoner audit`.

use std::fmt::Write as _;

use kernel::event::Event;

use super::audit_follow;
use crate::cli::audit::{AuditArgs, AuditVerb};
use crate::session::Session;
use crate::ui::output;
use control::ask::unexpected;
use control::audit_report::{AuditFault, AuditReport};
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Request, Response};
use control::show::event;

/// Runs `almoner audit`: prints the last events, verifies the whole log, or sends events on.
///
/// # Errors
/// When an event, or something that an event describes, has been changed since it was recorded. When events cannot be
/// sent on.
pub fn audit(acting: &Session<'_>, args: &AuditArgs) -> ExitResult {
    let request = match &args.verb {
        Some(AuditVerb::Follow(args)) => return audit_follow::follow(acting, args),
        Some(AuditVerb::Verify { contains, .. }) => {
            Request::Audit { last: None, before: None, contains: *contains, unverified: false }
        }
        None => Request::Audit { last: Some(args.n), before: None, contains: None, unverified: false },
    };
    let found = match acting.ask(request)? {
        Response::Audited(found) => *found,
        other => return Err(unexpected(&other)),
    };
    let as_json = match &args.verb {
        Some(AuditVerb::Verify { json, .. }) => json.json,
        _ => args.json.json,
    };
    if as_json {
        output::json(&found)?;
    } else if args.verb.is_none() {
        let lines: String = found.last.iter().map(line).collect();
        output::listing(&lines)?;
    }
    if let Some(broken) = found.broken {
        let message = match broken {
            AuditFault::Chain { seq } => {
                format!("event {seq} does not follow the one before: the log was changed")
            }
            AuditFault::Record { seq } => format!("what event {seq} tells of is not what was recorded"),
        };
        return Err(Failure::new(Exit::Failure, message).help(
            "somebody or something has changed the store: keep a copy of it, and go back to a backup",
        ));
    }
    if found.contains == Some(false) {
        return Err(Failure::new(
            Exit::Failure,
            "cannot verify the log: it does not hold that event with that hash",
        )
        .help("it was changed since, or the line is from another host or store"));
    }
    if let (Some(AuditVerb::Verify { .. }), false) = (&args.verb, as_json) {
        output::result(&render_verification(&found))?;
    }
    Ok(Exit::Ok)
}

fn render_verification(found: &AuditReport) -> String {
    let mut text = format!("{} events, each follows the one before\n", found.events);
    let _ = write!(text, "{} of them tell of what is there as it was recorded", found.covered);
    if found.gone > 0 {
        let _ = write!(text, ", {} of what was removed since", found.gone);
    }
    if found.contains == Some(true) {
        text.push_str("\nthe event that you name is one of them, and so nothing before it was changed");
    }
    if let Some(end) = &found.end {
        let _ = write!(
            text,
            "\nthe end is {end}\nkept elsewhere, that line proves later that nothing before it was changed: \
             `almoner audit verify --contains …`"
        );
    }
    text
}

fn line(of: &Event) -> String {
    let by = of.by.as_ref().map(|by| format!("  {}", event::recorder(by))).unwrap_or_default();
    format!("{:>7}  {}{by}  {}\n", of.seq, kernel::time::iso(of.at_ms), event::describe(&of.change))
}
