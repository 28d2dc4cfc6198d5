//! `almoner doctor`.

use std::os::unix::fs::PermissionsExt as _;

use gateway_web::guard::sessions::Under;
use passable::visible_line;
use sandbox::Standing;
use serde_json::json;

use super::{models, output};
use crate::cli::surfaces::{DoctorArgs, Part};
use crate::client::{Client, unexpected};
use crate::web_file;
use config::clock;
use config::place::Place;
use config::policy_file;
use config::settings::{self, NOTIFY};
use control::examined::Examined as Check;
use control::exit::{Ended, Exit, Failure};
use control::protocol::{Request, Response};

/// `almoner doctor`: all of it, or the parts that were named.
///
/// # Errors
/// Only when the report cannot be printed: what is wrong is the report.
pub fn doctor(place: &Place, args: &DoctorArgs) -> Ended {
    let wanted: Vec<Part> =
        Part::ALL.into_iter().filter(|part| args.parts.is_empty() || args.parts.contains(part)).collect();
    let checks: Vec<Check> = wanted.into_iter().flat_map(|part| examine(part, place)).collect();
    let ok = checks.iter().all(|check| check.ok);
    if args.json.json {
        let list: Vec<_> = checks
            .iter()
            .map(|c| json!({ "id": c.id, "ok": c.ok, "evidence": c.evidence, "remedy": c.remedy }))
            .collect();
        output::json(&json!({ "version": 1, "ok": ok, "checks": list }))?;
    } else {
        let mut text = String::new();
        for check in &checks {
            let mark = if check.ok { "✓" } else { "✗" };
            text += &format!("{mark} {:<14} {}\n", check.id, visible_line(&check.evidence));
            if !check.ok && !check.remedy.is_empty() {
                text += &format!("    → {}\n", visible_line(&check.remedy));
            }
        }
        output::listing(&text)?;
    }
    Ok(if ok { Exit::Ok } else { Exit::Failure })
}

/// Examines one part.
pub fn examine(part: Part, place: &Place) -> Vec<Check> {
    match part {
        Part::Place => match place.inspect_store() {
            // Beside a store that another build wrote nothing is made and no mode is changed.
            Err(failure) => vec![failed("state", failure)],
            Ok(()) => vec![directory("state", &place.state), directory("cache", &place.cache)],
        },
        Part::Settings => vec![settings(place)],
        Part::Daemon => daemon(place),
        Part::Disk => vec![space(place)],
        Part::Model => vec![model(place)],
        Part::Sandbox => confinement(),
        Part::Policy => vec![policy(place)],
        Part::Web => vec![web(place)],
    }
}

fn directory(id: &str, dir: &std::path::Path) -> Check {
    let made = config::place::private_dir(dir);
    Check {
        id: id.to_owned(),
        ok: made.is_ok(),
        evidence: match &made {
            Ok(()) => format!("{} is yours alone", dir.display()),
            Err(failure) => failure.message.visible_line().into_owned(),
        },
        remedy: made.err().map(|f| f.help).unwrap_or_default(),
    }
}

fn failed(id: &str, failure: Failure) -> Check {
    Check {
        id: id.to_owned(),
        ok: false,
        evidence: failure.message.visible_line().into_owned(),
        remedy: failure.help,
    }
}

fn daemon(place: &Place) -> Vec<Check> {
    let failed = |failure: Failure| failed("daemon", failure);
    let mut client = match Client::connect(place) {
        Ok(client) => client,
        Err(failure) => return vec![failed(failure)],
    };
    let mut checks = vec![Check {
        id: "daemon".to_owned(),
        ok: client.build == crate::BUILD,
        evidence: format!("answers on {} ({})", place.socket().display(), client.build),
        remedy: "`almoner stop`: the next command starts the new one".to_owned(),
    }];
    match client.ask(Request::Check) {
        Ok(Response::Checked(found)) => checks.extend(found.into_iter().map(|(id, ok, evidence)| Check {
            remedy: match id.as_str() {
                NOTIFY => format!(
                    "try the command of {} by hand; {} has what it said",
                    settings::path(place).display(),
                    place.log().display()
                ),
                _ => "copy the state directory before anything else; then report this".to_owned(),
            },
            id,
            ok,
            evidence,
        })),
        Ok(other) => checks.push(failed(unexpected(&other))),
        Err(failure) => checks.push(failed(failure)),
    }
    checks
}

fn settings(place: &Place) -> Check {
    let path = settings::path(place);
    let (ok, evidence, remedy) = match settings::read(&path) {
        Ok(_) if !path.exists() => {
            (true, format!("{} is not there; nothing needs it", path.display()), String::new())
        }
        Ok(_) => (true, format!("{} is followed", path.display()), String::new()),
        Err(failure) => (false, failure.message.visible_line().into_owned(), failure.help),
    };
    Check { id: "settings".to_owned(), ok, evidence, remedy }
}

/// How a kind of restrictions is proved.
type Prove = fn(&sandbox::Helper, &std::path::Path) -> Result<Vec<sandbox::Proof>, sandbox::SandboxError>;

/// What programs, and the host of a local model, are held within on this kernel: each restriction is tried, confined and not.
fn confinement() -> Vec<Check> {
    let check = |id: &str, ok: bool, evidence: String, remedy: &str| Check {
        id: id.to_owned(),
        ok,
        evidence,
        remedy: remedy.to_owned(),
    };
    if !cfg!(target_os = "linux") {
        let evidence = "this system cannot confine programs: slots of the kind `program` refuse every call; the host \
                        of a local model is not confined";
        return vec![check("sandbox", true, evidence.to_owned(), "")];
    }
    let mut checks = Vec::new();
    for (kind, who, prove, missing, remedy) in [
        (
            "sandbox",
            "program",
            sandbox::prove as Prove,
            "programs are refused until this is mended; it takes Linux 6.2 or later with Landlock",
            "do not endow programs on this machine, and report this",
        ),
        (
            "model-host",
            "local model",
            sandbox::prove_host,
            "there is no local model, and no guest code runs, until this is mended; it takes Linux 5.13 or later with Landlock",
            "use a model on a server, and report this",
        ),
    ] {
        let proofs = tempfile::Builder::new()
            .prefix("almoner-doctor-")
            .tempdir()
            .map_err(|e| sandbox::SandboxError::Warden(e.to_string()))
            .and_then(|place| prove(&sandbox::Helper::own(), place.path()));
        let proofs = match proofs {
            Ok(proofs) => proofs,
            Err(error) => {
                checks.push(check(kind, false, error.to_string(), missing));
                continue;
            }
        };
        checks.extend(proofs.into_iter().map(|proof| {
            let id = format!("{kind}/{}", proof.name);
            match proof.standing {
                Standing::Held(how) => check(&id, true, format!("no {who} {}: {how}", proof.what), ""),
                Standing::Untried(why) => check(
                    &id,
                    true,
                    format!("not tried, it fails unconfined as well: {} ({why})", proof.what),
                    "",
                ),
                Standing::Open(how) => {
                    check(&id, false, format!("a confined {who} {}: {how}", proof.what), remedy)
                }
            }
        }));
    }
    checks
}

fn space(place: &Place) -> Check {
    const LEAST: u64 = 200 << 20;
    let free = rustix::fs::statvfs(&place.state).map(|s| s.f_bavail.saturating_mul(s.f_frsize));
    Check {
        id: "disk".to_owned(),
        ok: free.as_ref().is_ok_and(|free| *free >= LEAST),
        evidence: match free {
            Ok(free) => format!("{} MiB free for the store", free >> 20),
            Err(e) => e.to_string(),
        },
        remedy: "make room: a full disk stops every run (and loses none)".to_owned(),
    }
}

fn policy(place: &Place) -> Check {
    let file = place.config.join(policy_file::NAME);
    let (ok, evidence) = match policy_file::load(&file, operator::Whose::Operator) {
        Ok(None) => (true, format!("no policy file; one would stand in {}", file.display())),
        Ok(Some((policies, _))) => (
            true,
            format!(
                "{}: {}",
                file.display(),
                super::policy::counted(policies.policies().len(), policies.examples())
            ),
        ),
        Err(problems) => (false, problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    };
    // A daemon may go on with policies whose file is gone.
    let stale = match Client::connect(place).and_then(|mut client| client.ask(Request::Policy)) {
        Ok(Response::Policy(report)) => report.problems.first().map(|it| it.visible_line().into_owned()),
        _ => None,
    };
    let (ok, evidence) = match stale {
        Some(problem) if ok => (false, format!("{problem}; the policies from before are in force")),
        _ => (ok, evidence),
    };
    let remedy = "mend it; `almoner policy` says what is in force until then".to_owned();
    Check { id: "policy".to_owned(), ok, evidence, remedy }
}

fn model(place: &Place) -> Check {
    let (ok, evidence, remedy) = models::found_in_words(place);
    Check { id: "model".to_owned(), ok, evidence, remedy }
}

/// Where the pages are served, and whether anything there is less safe than it could be.
fn web(place: &Place) -> Check {
    let path = web_file::path(&place.state);
    let check = |ok: bool, evidence: String, remedy: &str| Check {
        id: "web".to_owned(),
        ok,
        evidence,
        remedy: remedy.to_owned(),
    };
    let kept = match web_file::read(&path) {
        Ok(Some(kept)) => kept,
        Ok(None) => return check(true, "the pages were never opened: no port is open".to_owned(), ""),
        Err(failure) => {
            return check(false, failure.message.visible_line().into_owned(), &failure.help);
        }
    };
    let mode = std::fs::metadata(&path).map(|meta| meta.permissions().mode() & 0o777);
    if mode.as_ref().is_ok_and(|mode| mode & 0o077 != 0) {
        let evidence = format!("{} can be read by others", path.display());
        return check(false, evidence, "chmod 600 it: the private name of the pages stands there");
    }
    let open: Vec<_> = kept.sessions.open(clock::now_ms()).collect();
    let bare: Vec<_> = open.iter().filter(|one| one.under == Under::Address).map(|one| one.number).collect();
    if let Some(first) = bare.first() {
        let evidence = format!(
            "{} of {} sessions came under the bare address: whatever listens on another port of this machine may be \
             sent their cookie, and read the pages with it",
            bare.len(),
            open.len()
        );
        let remedy = format!(
            "`almoner sessions --revoke {first}`, and `almoner open` with a browser that knows names below `localhost`"
        );
        return check(false, evidence, &remedy);
    }
    let evidence = format!("port {}, under a name of their own; sessions: {}", kept.port, open.len());
    check(true, evidence, "")
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn pages_know_the_parts_that_there_are() {
        let own: Vec<String> = Part::ALL
            .iter()
            .filter_map(|part| Some(part.to_possible_value()?.get_name().to_owned()))
            .collect();
        let theirs: Vec<&str> = control::examined::PARTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(own.len(), theirs.len());
        assert!(own.iter().all(|name| theirs.contains(&name.as_str())), "{own:?} {theirs:?}");
    }
}
