//! The services of the host that a capability needs: addresses for names, and values of secrets.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kernel::id::BlobHash;
use kernel::proposal::Finding;
use network::Network;
use passable::visible_line;
use policy::Places;
use resource::mcp::ToolServer;
use resource::secret::SecretHandle;
use resource::web::Origin;
use zeroize::Zeroizing;

/// The rule of the finding that the vault is locked.
pub(crate) const LOCKED: &str = "http/locked";

/// The reason why a secret is not given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSecret {
    /// No secret has this name.
    Missing,
    /// The vault is locked.
    Locked,
    /// The secret is for other servers.
    Elsewhere,
}

impl NoSecret {
    /// Returns the reason as a finding.
    pub(crate) fn finding(self, name: &str, origin: &Origin) -> Finding {
        let (rule, what, allowed) = match self {
            NoSecret::Missing => (
                "http/secret",
                format!("there is no secret `{name}`"),
                format!("the same call once the user has set it: `almoner secret set {name} --for {origin}`"),
            ),
            NoSecret::Locked => (
                LOCKED,
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

    /// Returns the reason as a finding about the program that needs the secret.
    pub(crate) fn of_program(self, rule: &str, name: &str, program: &str) -> Finding {
        let (rule, what, allowed) = match self {
            NoSecret::Missing => (
                rule,
                format!("there is no secret `{name}`"),
                format!("the same call once the user has set it: `almoner secret set {name}`"),
            ),
            NoSecret::Locked => (
                LOCKED,
                "the vault is locked".to_owned(),
                "the same call once the user has unlocked it: `almoner unlock`".to_owned(),
            ),
            NoSecret::Elsewhere => (
                rule,
                format!(
                    "the secret `{name}` is for servers of the web alone, and {} is a program",
                    visible_line(program)
                ),
                "a secret of its own, set without `--for`".to_owned(),
            ),
        };
        Finding::new(rule, what).at("method").counter_example(name).allowed(allowed)
    }
}

/// The maximum number of name lookups at the same time. Each lookup is a thread that cannot be stopped.
const MAX_LOOKUPS: usize = 16;

/// The services of the host that a capability needs.
pub trait HostServices: Send + Sync {
    /// Returns the addresses of a host by its name.
    ///
    /// # Errors
    /// When the host has no address, or the lookup times out.
    fn resolve(&self, host: &str, patience: Duration) -> io::Result<Vec<IpAddr>> {
        resolve(host, patience)
    }

    /// Returns the way to other machines: proxies, and the certificate authorities that are trusted.
    fn network(&self) -> Arc<Network> {
        Arc::default()
    }

    /// Returns the reason why the machine's administrator does not let a server of tools be used, or `None` if it may be.
    fn refuses_server(&self, server: &ToolServer) -> Option<String> {
        let _ = server;
        None
    }

    /// Returns the reason why the machine's administrator does not let a program have the network, or `None` if it may.
    fn refuses_network(&self) -> Option<String> {
        None
    }

    /// Returns the reason why this machine cannot confine a program, or `None` if it can. No program runs unconfined.
    fn cannot_confine(&self) -> Option<String> {
        None
    }

    /// Returns whether a reading call may follow a redirect. If policies judge each call, it may not, because they
    /// would see only the first address.
    fn follows_redirects(&self) -> bool {
        true
    }

    /// Returns the value of a secret, if the secret is for the given server.
    ///
    /// # Errors
    /// The reason why the secret is not given out.
    fn secret(&self, name: &str, origin: &Origin) -> Result<Zeroizing<String>, NoSecret>;

    /// Returns the value of a secret for a program for which the user has named it. A secret that is for servers of
    /// the web is not given to programs.
    ///
    /// # Errors
    /// The reason why the secret is not given out.
    fn secret_for_program(&self, name: &str) -> Result<Zeroizing<String>, NoSecret> {
        let _ = name;
        Err(NoSecret::Missing)
    }

    /// Returns the token for requests to a tool server at which the user has logged in, if the user has. The token is
    /// renewed before it ends.
    ///
    /// # Errors
    /// When the vault is locked.
    fn access_token(&self, server: &str) -> Result<Option<Zeroizing<String>>, NoSecret> {
        let _ = server;
        Ok(None)
    }

    /// Returns another token in place of one that the server refused. `challenge` is the header with which the server
    /// refused it. Without another token, the server is known to want a login.
    fn renewed_token(
        &self,
        server: &str,
        refused: Option<&str>,
        challenge: Option<&str>,
    ) -> Option<Zeroizing<String>> {
        let _ = (server, refused, challenge);
        None
    }

    /// Notes that a tool server answered a request, so that it is not known to want a login any more.
    fn login_accepted(&self, server: &str) {
        let _ = server;
    }

    /// Notes that a tool server refused a call, because the user's login lacks a scope.
    fn login_lacks(&self, server: &str, scope: &str) {
        let _ = (server, scope);
    }

    /// Returns whether a tool server is known to want a login that is not there.
    fn wants_login(&self, server: &str) -> bool {
        let _ = server;
        false
    }

    /// Notes that a tool server refused a call for want of a login, or returns whether it did. Such a call did not
    /// happen.
    fn refused_call(&self, call: &str, is_refused: bool) -> bool {
        let _ = (call, is_refused);
        false
    }

    /// Returns the secrets that the user has bound to slots of the run and that may still be used, by slot.
    fn slot_secrets(&self) -> BTreeMap<String, SecretHandle> {
        BTreeMap::new()
    }

    /// Returns the table of the places in which a change means more than itself, or `None` if it cannot be found out
    /// now.
    fn places(&self) -> Option<Places> {
        Some(Places::default())
    }

    /// Returns the bytes that are kept beside the store under a digest, if they are there.
    fn stored_bytes(&self, digest: &BlobHash) -> Option<Vec<u8>> {
        let _ = digest;
        None
    }
}

/// The services of a host that has no secrets.
#[derive(Clone, Copy, Debug)]
pub struct NoHostServices;

impl HostServices for NoHostServices {
    fn secret(&self, _: &str, _: &Origin) -> Result<Zeroizing<String>, NoSecret> {
        Err(NoSecret::Missing)
    }
}

/// Resolves a name through the system. The system has no time-out, so a separate thread waits for it.
fn resolve(host: &str, patience: Duration) -> io::Result<Vec<IpAddr>> {
    static ROOM: LookupQuota = LookupQuota::of(MAX_LOOKUPS);
    resolve_in(&ROOM, host, patience, |name| {
        (name, 0).to_socket_addrs().map(|all| all.map(|each| each.ip()).collect())
    })
}

fn resolve_in(
    room: &'static LookupQuota,
    host: &str,
    patience: Duration,
    look_up: impl FnOnce(&str) -> io::Result<Vec<IpAddr>> + Send + 'static,
) -> io::Result<Vec<IpAddr>> {
    let ends = Instant::now() + patience;
    let place = room.enter(patience).ok_or(io::ErrorKind::TimedOut)?;
    let (sender, answer) = channel();
    let name = host.to_owned();
    std::thread::Builder::new().name("resolve".to_owned()).spawn(move || {
        // Held until the system answers, even if the caller no longer waits.
        let _place = place;
        // The caller may have stopped waiting.
        let _ = sender.send(look_up(&name));
    })?;
    let mut found = match answer.recv_timeout(ends.saturating_duration_since(Instant::now())) {
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

/// A limit on the number of lookups at the same time.
struct LookupQuota {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A place within the limit, which is released when it is dropped.
struct QuotaPermit(&'static LookupQuota);

impl LookupQuota {
    const fn of(places: usize) -> LookupQuota {
        LookupQuota { free: Mutex::new(places), freed: Condvar::new() }
    }

    /// Waits for a free place. Returns `None` if no place becomes free in time.
    fn enter(&'static self, patience: Duration) -> Option<QuotaPermit> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_timeout_while(free, patience, |free| *free == 0);
        let (mut free, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *free = free.checked_sub(1)?;
        Some(QuotaPermit(self))
    }
}

impl Drop for QuotaPermit {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_name_lookups_are_limited() {
        static ROOM: LookupQuota = LookupQuota::of(2);
        let here: IpAddr = "127.0.0.1".parse().unwrap();
        let (open, closed) = channel::<()>();
        let mut doors = vec![];
        let patience = Duration::from_millis(20);
        for _ in 0..2 {
            let (door, wait) = channel::<()>();
            doors.push(door);
            let open = open.clone();
            // The system never answers, and the caller gives up.
            let slow = move |_: &str| {
                let _ = wait.recv();
                drop(open);
                Ok(vec![])
            };
            assert_eq!(resolve_in(&ROOM, "a", patience, slow).unwrap_err().kind(), io::ErrorKind::TimedOut);
        }
        let third = resolve_in(&ROOM, "b", patience, |_| panic!("there was no room"));
        assert_eq!(third.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop((doors, open));
        assert!(closed.recv().is_err(), "both have ended");
        assert_eq!(resolve_in(&ROOM, "c", Duration::from_secs(5), move |_| Ok(vec![here])).unwrap(), [here]);
    }
}
