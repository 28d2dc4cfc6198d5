//! Checks whether a program or a server may get a secret of the vault.

use ::vault::VaultError;
use passable::visible_line;
use resource::web::Origin;

use super::daemon::HostDaemon;
use super::vault::{self, SecretDenied};
use control::exit::{Exit, Failure};

/// Rejects a secret that no program may get. A locked vault is an error here, because a user can still open it; a
/// model can only go on without the secret.
///
/// # Errors
/// When the secret does not exist or is for servers alone, or the vault is locked.
pub fn for_program(daemon: &HostDaemon, slot: &str, name: &str) -> Result<(), Failure> {
    let set = format!("`almoner secret set {name}`");
    match daemon.vault.value_for_program(name) {
        Ok(_) => Ok(()),
        Err(SecretDenied::Locked) => Err(locked(daemon, &format!("slot `{slot}`"), name)),
        Err(SecretDenied::Missing) => Err(missing(&format!("slot `{slot}`"), name, &set)),
        Err(SecretDenied::OtherServer) => Err(Failure::new(
            Exit::Denied,
            format!("slot `{slot}`: the secret `{}` is for servers of the web alone", visible_line(name)),
        )
        .help("a program gets a secret of its own, set without `--for`")),
    }
}

/// Rejects a secret that a server may not get.
///
/// # Errors
/// When the secret does not exist or is not for this server, or the vault is locked.
pub fn for_server(daemon: &HostDaemon, whose: &str, name: &str, origin: &Origin) -> Result<(), Failure> {
    let set = format!("`almoner secret set {name} --for {origin}`");
    match daemon.vault.value_for(name, origin) {
        Ok(_) => Ok(()),
        Err(SecretDenied::Locked) => Err(locked(daemon, whose, name)),
        Err(SecretDenied::Missing) => Err(missing(whose, name, &set)),
        Err(SecretDenied::OtherServer) => Err(Failure::new(
            Exit::Denied,
            format!("{whose}: the secret `{}` is not for {origin}", visible_line(name)),
        )
        .help(format!("say that it is: {set}"))),
    }
}

fn locked(daemon: &HostDaemon, whose: &str, name: &str) -> Failure {
    let closed = daemon.vault.reason_closed();
    let what = format!("{whose} needs the secret `{}`, and {closed}", visible_line(name));
    let help = match closed {
        VaultError::Locked => "`almoner unlock`, then the same command".to_owned(),
        _ => closed.help(),
    };
    Failure::new(vault::failure(closed).exit, what).help(help)
}

fn missing(whose: &str, name: &str, set: &str) -> Failure {
    Failure::new(Exit::NotFound, format!("{whose}: there is no secret `{}`", visible_line(name)))
        .help(format!("{set} keeps one; `almoner secret list` shows which there are"))
}
