//! Whether a secret of the vault may go to a program or a server.

use passable::visible_line;
use resource::web::Origin;

use super::daemon::HostDaemon;
use super::vault::SecretDenied;
use control::exit::{Exit, Failure};

/// Refuses a secret that no program would get. A locked vault is told to the person who can open it: a model that meets it
/// later can only go on without.
///
/// # Errors
/// When there is no such secret, it is for servers alone, or the vault is locked.
pub fn for_program(daemon: &HostDaemon, slot: &str, name: &str) -> Result<(), Failure> {
    let set = format!("`almoner secret set {name}`");
    match daemon.vault.value_for_program(name) {
        Ok(_) => Ok(()),
        Err(SecretDenied::Locked) => Err(locked(&format!("slot `{slot}`"), name)),
        Err(SecretDenied::Missing) => Err(missing(&format!("slot `{slot}`"), name, &set)),
        Err(SecretDenied::OtherServer) => Err(Failure::new(
            Exit::Denied,
            format!("slot `{slot}`: the secret `{}` is for servers of the web alone", visible_line(name)),
        )
        .help("a program gets a secret of its own, set without `--for`")),
    }
}

/// Refuses a secret that a server would not get.
///
/// # Errors
/// When there is no such secret, it is not for this server, or the vault is locked.
pub fn for_server(daemon: &HostDaemon, whose: &str, name: &str, origin: &Origin) -> Result<(), Failure> {
    let set = format!("`almoner secret set {name} --for {origin}`");
    match daemon.vault.value_for(name, origin) {
        Ok(_) => Ok(()),
        Err(SecretDenied::Locked) => Err(locked(whose, name)),
        Err(SecretDenied::Missing) => Err(missing(whose, name, &set)),
        Err(SecretDenied::OtherServer) => Err(Failure::new(
            Exit::Denied,
            format!("{whose}: the secret `{}` is not for {origin}", visible_line(name)),
        )
        .help(format!("say that it is: {set}"))),
    }
}

fn locked(whose: &str, name: &str) -> Failure {
    let what = format!("{whose} needs the secret `{}`, and the vault is locked", visible_line(name));
    Failure::new(Exit::NeedsYou, what).help("`almoner unlock`, then the same command")
}

fn missing(whose: &str, name: &str, set: &str) -> Failure {
    Failure::new(Exit::NotFound, format!("{whose}: there is no secret `{}`", visible_line(name)))
        .help(format!("{set} keeps one; `almoner secret list` shows which there are"))
}
