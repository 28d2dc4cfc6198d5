//! What a part of the web needs of the machine: addresses for names, and values of secrets.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use kernel::proposal::Finding;
use kernel::web::Origin;
use zeroize::Zeroizing;

/// Why a secret is not given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSecret {
    /// There is none of this name.
    Missing,
    /// The vault is locked.
    Locked,
    /// It is for other servers.
    Elsewhere,
}

impl NoSecret {
    /// The same as a finding.
    pub(super) fn finding(self, name: &str, origin: &Origin) -> Finding {
        let (rule, what, allowed) = match self {
            NoSecret::Missing => (
                "http/secret",
                format!("there is no secret `{name}`"),
                format!("the same call once the user has set it: `almoner secret set {name} --for {origin}`"),
            ),
            NoSecret::Locked => (
                "http/locked",
                "the vault is locked".to_owned(),
                "the same call once the user has unlocked it: `almoner unlock`".to_owned(),
            ),
            NoSecret::Elsewhere => (
                "http/secret",
                format!("the secret `{name}` is not for {origin}"),
                format!(
                    "the same call once the user has said so: `almoner secret set {name} --for {origin}`"
                ),
            ),
        };
        Finding::new(rule, what).at("path").counter_example(origin.to_string()).allowed(allowed)
    }
}

/// What a part of the web needs of the machine.
pub trait Outside: Send + Sync {
    /// The addresses of a host by its name.
    ///
    /// # Errors
    /// When it has none, or nobody says in time.
    fn resolve(&self, host: &str, patience: Duration) -> io::Result<Vec<IpAddr>> {
        resolve(host, patience)
    }

    /// The value of a secret for a server, if it is for that server.
    ///
    /// # Errors
    /// Why it is not given out.
    fn secret(&self, name: &str, origin: &Origin) -> Result<Zeroizing<String>, NoSecret>;
}

/// The machine without any secrets.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Outside for Nobody {
    fn secret(&self, _: &str, _: &Origin) -> Result<Zeroizing<String>, NoSecret> {
        Err(NoSecret::Missing)
    }
}

/// Asks the system. It has no time-out of its own, so somebody else waits for it.
fn resolve(host: &str, patience: Duration) -> io::Result<Vec<IpAddr>> {
    let (sender, answer) = channel();
    let name = host.to_owned();
    std::thread::Builder::new().name("resolve".to_owned()).spawn(move || {
        let found = (name.as_str(), 0).to_socket_addrs();
        // Whoever asked may have gone.
        let _ = sender.send(found.map(|all| all.map(|each| each.ip()).collect::<Vec<IpAddr>>()));
    })?;
    let mut found = match answer.recv_timeout(patience) {
        Ok(found) => found?,
        Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
        Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::NotFound.into()),
    };
    let mut seen = Vec::new();
    found.retain(|address| {
        let is_new = !seen.contains(address);
        seen.push(*address);
        is_new
    });
    if found.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(found) }
}
