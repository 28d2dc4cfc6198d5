//! The examination of an installation, part by part.

use std::os::unix::fs::PermissionsExt as _;

use gateway_web::guard::sessions::HostKind;
use network::Network;
use sandbox::ProofOutcome;

use super::services::Services;
use super::web_file;
use crate::queries::audit;
use crate::state::vault;
use config::model_choice::KnownModels;
use config::network_source::NetworkSource;
use config::place::{Claim, Place};
use config::settings::{self, NOTIFY};
use config::{clock, managed, policy_file, private_dir};
use control::exit::{Exit, Failure};
use control::health_check::HealthCheck as Check;
use control::protocol::{ClientKeys, PolicyFile};
use resource::units;

/// Examines one part. `variables` are the environment variables that the client has sent.
///
/// # Errors
/// When the part does not exist. A fault of the installation is a finding and no error.
pub fn examine(services: &Services, variables: &ClientKeys, part: &str) -> Result<Vec<Check>, Failure> {
    match part {
        "daemon" => {
            let evidence =
                format!("answers on {} ({})", services.daemon.place.socket().display(), config::build::id());
            let here = Check::new("daemon", true, evidence, "");
            let store = match store(services) {
                Ok(store) => store,
                Err(failure) => vec![failed_check("daemon", failure)],
            };
            Ok([vec![here], store].concat())
        }
        "policy" => Ok(vec![policy(&services.daemon.place, Some(&services.daemon.policies.report()))]),
        "network" => Ok(network_checks(&services.daemon.opener.network())),
        other => examine_without_daemon(&services.daemon.place, variables, other),
    }
}

/// Examines one part without a daemon.
///
/// # Errors
/// When the part does not exist, or only a daemon can examine it.
pub fn examine_without_daemon(
    place: &Place,
    variables: &ClientKeys,
    part: &str,
) -> Result<Vec<Check>, Failure> {
    Ok(match part {
        "place" => match place.inspect_store() {
            // If another build wrote the store, no directory is created beside it and no mode is changed.
            Err(failure) => vec![failed_check("state", failure)],
            Ok(()) => {
                let own = vec![directory("state", &place.state), directory("cache", &place.cache)];
                own.into_iter().chain(endo(place)).collect()
            }
        },
        "settings" => vec![settings(place)],
        "disk" => vec![space(place)],
        "model" => vec![model(place, variables)],
        "sandbox" => confinement(),
        "policy" => vec![policy(place, None)],
        "managed" => managed_checks(),
        "web" => vec![web(place)],
        "network" => network_checks(&NetworkSource::new(place).current()),
        _ => return Err(Failure::new(Exit::NotFound, "`almoner doctor` examines no such part")),
    })
}

/// Examines the store, the log, the vault and the notifier of a daemon.
fn store(services: &Services) -> Result<Vec<Check>, Failure> {
    let (daemon, place) = (&services.daemon, &services.daemon.place);
    let remedy = |id: &String| match id.as_str() {
        NOTIFY => format!(
            "try the command of {} by hand; {} has what it said",
            settings::path(place).display(),
            place.log().display()
        ),
        _ => "copy the state directory before anything else; then report this".to_owned(),
    };
    let health = daemon.store.check(true).map_err(|e| Failure::from_error(Exit::Failure, e))?;
    let faults: Vec<Check> = health
        .findings
        .iter()
        .map(|fault| {
            let evidence = format!("{}: {}", fault.path.display(), fault.problem);
            Check::new("store", false, evidence, fault.remedy.as_str())
        })
        .collect();
    let mut found = Vec::new();
    if faults.is_empty() {
        let blobs = health.blobs.unwrap_or(0);
        let said = format!(
            "{} and {blobs} blobs, all readable, nobody else can read them",
            units::rounded_bytes(health.database_bytes + health.log_bytes)
        );
        found.push(("store".to_owned(), true, said));
    }
    found.extend(daemon.notices.doctor_line());
    found.push(audit::doctor_line(daemon)?);
    found.push(vault::memory_doctor_line());
    let checks = found.into_iter().map(|(id, ok, evidence)| Check::new(&id, ok, evidence, remedy(&id)));
    let checks = faults.into_iter().chain(checks);
    Ok(checks.chain([vault::doctor_check(daemon)]).collect())
}

/// Returns the way to other machines: the proxies and the certificate authorities.
fn network_checks(network: &Network) -> Vec<Check> {
    let remedy =
        "correct the variable, or `[network]` in `config.toml` (docs/settings.md); then `almoner stop`";
    let check = |(ok, evidence): (bool, String)| Check::new("network", ok, evidence, remedy);
    network.description().into_iter().map(check).collect()
}

fn directory(id: &str, dir: &std::path::Path) -> Check {
    match config::place::private_dir(dir) {
        Ok(()) => Check::new(id, true, format!("{} is yours alone", dir.display()), ""),
        Err(failure) => failed_check(id, failure),
    }
}

/// Returns whether Endo's clients can find this daemon, if it lies at their default path.
fn endo(place: &Place) -> Option<Check> {
    if place.endo.claim != Claim::ClientDefault {
        return None;
    }
    let dir = place.endo.socket.parent()?;
    let found = match place.endo.own_directory() {
        Some(dir) => private_dir::inspect(dir),
        None => private_dir::check_shared(dir),
    };
    let is_ok = found.is_ok();
    let evidence = match found {
        Ok(()) => format!("Endo's clients look in {}, which nobody else can replace", dir.display()),
        Err(why) => format!("no listener for Endo's clients: {}: {why}", dir.display()),
    };
    let remedy = "have the directory removed, or set XDG_RUNTIME_DIR to a directory of yours; only Endo's clients need it";
    Some(Check::new("endo", is_ok, evidence, remedy))
}

fn failed_check(id: &str, failure: Failure) -> Check {
    Check::new(id, false, failure.message.visible_line(), failure.help)
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
    Check::new("settings", ok, evidence, remedy)
}

/// A function that tests a kind of confinement.
type ConfinementTest =
    fn(&sandbox::Helper, &std::path::Path) -> Result<Vec<sandbox::Proof>, sandbox::SandboxError>;

/// Returns the tests of confinement on this kernel, for programs, for the process of a local model and for that of a
/// document. Each forbidden action is tried both confined and unconfined.
fn confinement() -> Vec<Check> {
    let mut checks = Vec::new();
    for (kind, who, prove, refused, missing, remedy) in [
        (
            "sandbox",
            "program",
            sandbox::prove as ConfinementTest,
            "programs, tool servers that are programs, and repositories",
            "it takes Linux 6.2 or later with Landlock and seccomp, and no container that forbids them",
            "do not endow programs on this machine, and report this",
        ),
        (
            "model-host",
            "local model",
            sandbox::prove_host,
            "the local model, guest code, and code that a run proposes",
            "it takes Linux 5.13 or later with Landlock and seccomp, and no container that forbids them",
            "use a model on a server, and report this",
        ),
        (
            "document-reader",
            "reader of documents",
            sandbox::prove_reader,
            "PDF and mail",
            "it takes Linux 5.13 or later with Landlock and seccomp, and no container that forbids them",
            "read no PDF and no mail of a stranger on this machine, and report this",
        ),
    ] {
        let proofs = private_dir::temporary_dir("almoner-doctor-")
            .map_err(|e| sandbox::SandboxError::Warden(e.to_string()))
            .and_then(|place| prove(&sandbox::Helper::own(), place.path()));
        let proofs = match proofs {
            Ok(proofs) => proofs,
            Err(error) => {
                checks.push(Check::new(kind, false, format!("{error}; refused here: {refused}"), missing));
                continue;
            }
        };
        checks.extend(proofs.into_iter().map(|proof| {
            let id = format!("{kind}/{}", proof.name);
            match proof.outcome {
                ProofOutcome::Enforced(how) => {
                    Check::new(&id, true, format!("no {who} {}: {how}", proof.action), "")
                }
                ProofOutcome::Inconclusive(why) => {
                    let action = proof.action;
                    Check::untried(&id, format!("not tried, it fails unconfined as well: {action} ({why})"))
                }
                ProofOutcome::Violated(how) => {
                    Check::new(&id, false, format!("a confined {who} {}: {how}", proof.action), remedy)
                }
            }
        }));
    }
    checks
}

fn space(place: &Place) -> Check {
    const MIN_FREE_BYTES: u64 = 200 << 20;
    let free = rustix::fs::statvfs(&place.state).map(|s| s.f_bavail.saturating_mul(s.f_frsize));
    let is_enough = free.as_ref().is_ok_and(|free| *free >= MIN_FREE_BYTES);
    let evidence = match free {
        Ok(free) => format!("{} free for the store", units::rounded_bytes(free)),
        Err(e) => e.to_string(),
    };
    Check::new("disk", is_enough, evidence, "make room: a full disk stops every run (and loses none)")
}

fn policy(place: &Place, in_force: Option<&PolicyFile>) -> Check {
    let file = place.config.join(policy_file::NAME);
    let (ok, evidence) = match policy_file::load(&file, operator::PolicyOwner::Operator) {
        Ok(None) => (true, format!("no policy file; one would stand in {}", file.display())),
        Ok(Some((policies, _))) => (
            true,
            format!(
                "{}: {}",
                file.display(),
                policy_file::counted(policies.policies().len(), policies.examples())
            ),
        ),
        Err(problems) => (false, problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    };
    // The daemon may still use policies that are no longer in the file.
    let stale = in_force.and_then(|report| report.problems.first().map(|it| it.visible_line().into_owned()));
    let (ok, evidence) = match stale {
        Some(problem) if ok => (false, format!("{problem}; the policies from before are in force")),
        _ => (ok, evidence),
    };
    Check::new("policy", ok, evidence, "mend it; `almoner policy` says what is in force until then")
}

/// Returns what the machine's administrator has fixed, or the fault of the administrator's files.
fn managed_checks() -> Vec<Check> {
    let check = |ok: bool, evidence: String, remedy: String| Check::new("managed", ok, evidence, remedy);
    match managed::current() {
        Err(fault) => {
            let help = format!("{}; then `almoner resume`", fault.help());
            vec![check(false, format!("{fault}; nothing is judged, and no run begins"), help)]
        }
        Ok(rules) if !rules.is_managed() => {
            let nothing = "this machine is not managed: /etc/almoner has no rules";
            vec![check(true, nothing.to_owned(), String::new())]
        }
        Ok(rules) => rules.description().into_iter().map(|line| check(true, line, String::new())).collect(),
    }
}

fn model(place: &Place, variables: &ClientKeys) -> Check {
    let (ok, evidence, remedy) = KnownModels::new(place, variables).examine();
    Check::new("model", ok, evidence, remedy)
}

/// Returns the address of the web pages, and whether a session is less safe than it could be.
fn web(place: &Place) -> Check {
    let path = web_file::path(&place.state);
    let check = |ok: bool, evidence: String, remedy: &str| Check::new("web", ok, evidence, remedy);
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
        let remedy = format!("`chmod 600 {}`: the private name of the pages stands there", path.display());
        return check(false, evidence, &remedy);
    }
    let open: Vec<_> = kept.sessions.open(clock::now_ms()).collect();
    let bare: Vec<_> =
        open.iter().filter(|one| one.under == HostKind::Address).map(|one| one.number).collect();
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
    let evidence = format!(
        "port {}, under a name of their own; sessions: {}, passkeys: {}",
        kept.port,
        open.len(),
        kept.sessions.passkeys.all().count()
    );
    check(true, evidence, "")
}
