//! The logins at tool servers: the tokens of requests, and their renewal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use caps::login_client::LoginClient;
use oauth::{Client, ClientAuthentication, OauthError, ServerUrl, Tokens};
use resource::web::{Place, Web};
use vault::{Login, Secret};
use zeroize::Zeroizing;

use super::daemon::Daemon;
use super::log;
use super::vault::SecretDenied;
use config::{clock, mcp_file};
use control::exit::{Exit, Failure};

/// The time before the end of a token at which it is renewed, in milliseconds.
const EARLY_MS: i64 = 60_000;

/// The maximum number of refused calls that are remembered.
const MAX_REFUSED: usize = 1000;

/// The state of logins that is lost with the process.
#[derive(Default)]
pub struct Logins {
    /// Held by the one request that renews a token: a token that renews others can be used once only.
    renewing: Mutex<()>,
    state: Mutex<LoginsState>,
}

#[derive(Default)]
struct LoginsState {
    /// The servers that want a login, with the header with which they said so.
    wanted: BTreeMap<String, Option<String>>,
    /// The scopes that logins lack, by the servers that said so.
    lacking: BTreeMap<String, String>,
    /// The calls that were refused for want of a login.
    refused: BTreeSet<String>,
}

/// The result of a renewal.
enum Renewal {
    /// A token that the server has not refused.
    Token(Secret),
    /// Only the user can get another token.
    LoginNeeded,
    /// The authorization server gives no answer now.
    Failed,
}

impl Logins {
    fn lock(&self) -> MutexGuard<'_, LoginsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a server wants a login.
    pub fn want(&self, server: &str, challenge: Option<&str>) {
        self.lock().wanted.insert(server.to_owned(), challenge.map(str::to_owned));
    }

    /// Returns whether a server wants a login, and the header with which it said so.
    pub fn wanted(&self, server: &str) -> Option<Option<String>> {
        self.lock().wanted.get(server).cloned()
    }

    /// Notes that the login at a server lacks a scope for a call.
    pub fn lack(&self, server: &str, scope: &str) {
        self.lock().lacking.insert(server.to_owned(), scope.to_owned());
    }

    /// Returns the scope of a login that has the present scope and the one that it lacks, if it lacks one.
    pub fn wider_scope(&self, server: &str, present: Option<&str>) -> Option<String> {
        let lacking = self.lock().lacking.get(server)?.clone();
        let mut all: Vec<&str> = present.unwrap_or_default().split_whitespace().collect();
        for scope in lacking.split_whitespace() {
            if !all.contains(&scope) {
                all.push(scope);
            }
        }
        Some(all.join(" "))
    }

    /// Notes that the user has logged in at a server, or that nothing is known about it any more.
    pub fn satisfy(&self, server: &str) {
        self.lock().wanted.remove(server);
    }

    /// Notes that a call was refused for want of a login, or returns whether it was. The note serves once: the next
    /// attempt may be carried out.
    pub fn refused_call(&self, call: &str, is_refused: bool) -> bool {
        let mut state = self.lock();
        if !is_refused {
            return state.refused.remove(call);
        }
        if state.refused.len() >= MAX_REFUSED {
            state.refused.clear();
        }
        state.refused.insert(call.to_owned());
        true
    }
}

/// Returns the login with the tokens that a server has just given out.
pub fn with_tokens(login: Login, tokens: &Tokens) -> Login {
    let secret = |token: &Zeroizing<String>| Secret::new(token.as_str());
    let lasts_ms = |seconds: u64| i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
    Login {
        access: secret(&tokens.access),
        // A server that gives no new one keeps the old one.
        refresh: tokens.refresh.as_ref().map(secret).or(login.refresh),
        expires_ms: tokens.seconds.map(|seconds| clock::now_ms().saturating_add(lasts_ms(seconds))),
        scope: tokens.scope.clone().or(login.scope),
        ..login
    }
}

impl Daemon {
    /// Stores a login, or removes it. Its values are redacted from then on.
    ///
    /// # Errors
    /// When the vault is locked or cannot be written.
    pub fn change_login(&self, server: &str, login: Option<Login>) -> Result<bool, Failure> {
        let before = self.vault.login(server).ok().flatten().map(|login| login.since_ms);
        // A renewed login has the scope that it had.
        let is_other_scope = login.as_ref().map(|login| login.since_ms) != before;
        let (secrets, had) = self.vault.change_login(server, login)?;
        self.change_rules(|rules| rules.secrets = Arc::new(secrets));
        self.logins.satisfy(server);
        if is_other_scope {
            self.logins.lock().lacking.remove(server);
        }
        Ok(had)
    }

    /// Returns the token for requests to a server, renewed if it is about to end.
    ///
    /// # Errors
    /// When the vault is locked.
    pub fn access_token(self: &Arc<Self>, server: &str) -> Result<Option<Zeroizing<String>>, SecretDenied> {
        let Some(login) = self.vault.login(server)? else { return Ok(None) };
        let ends = login.expires_ms.is_some_and(|at| at <= clock::now_ms().saturating_add(EARLY_MS));
        let token = match ends && login.refresh.is_some() && self.logins.wanted(server).is_none() {
            true => match self.renew(server, &login.access) {
                Renewal::Token(token) => token,
                // The server itself says whether the old token still counts.
                Renewal::LoginNeeded | Renewal::Failed => login.access,
            },
            false => login.access,
        };
        Ok(Some(Zeroizing::new(token.reveal().to_owned())))
    }

    /// Returns another token in place of one that the server refused. Without one, the server is noted to want a
    /// login.
    pub fn renewed_token(
        self: &Arc<Self>,
        server: &str,
        refused: Option<&str>,
        challenge: Option<&str>,
    ) -> Option<Zeroizing<String>> {
        let renewal = match refused {
            Some(refused) => self.renew(server, &Secret::new(refused)),
            None => Renewal::LoginNeeded,
        };
        match renewal {
            Renewal::Token(token) => Some(Zeroizing::new(token.reveal().to_owned())),
            Renewal::LoginNeeded => {
                self.logins.want(server, challenge);
                None
            }
            Renewal::Failed => None,
        }
    }

    fn renew(self: &Arc<Self>, server: &str, refused: &Secret) -> Renewal {
        let _one_at_a_time = self.logins.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(Some(login)) = self.vault.login(server) else { return Renewal::LoginNeeded };
        // Another request has renewed it meanwhile.
        if login.access != *refused {
            return Renewal::Token(login.access);
        }
        let Some(refresh) = login.refresh.clone() else { return Renewal::LoginNeeded };
        let (Ok(web), Ok(endpoint)) = (self.login_web(server), ServerUrl::parse(&login.token_endpoint))
        else {
            return Renewal::LoginNeeded;
        };
        let client = client_of(&login);
        let http = LoginClient::new(web, self.login_services());
        match oauth::refresh(&endpoint, &client, refresh.reveal(), &login.resource, &http) {
            Ok(tokens) => {
                let login = with_tokens(login, &tokens);
                let token = login.access.clone();
                if let Err(failure) = self.change_login(server, Some(login)) {
                    log::failure(&failure);
                    return Renewal::Failed;
                }
                Renewal::Token(token)
            }
            Err(OauthError::LoginOver { .. }) => {
                self.logins.want(server, None);
                Renewal::LoginNeeded
            }
            Err(error) => {
                // A server's own words may repeat a token.
                let reason = match &error {
                    OauthError::Refused { host, code, .. } => format!("{host} refused: {code}"),
                    other => other.to_string(),
                };
                let what = format!("cannot renew the login at {server}: {reason}");
                log::failure(&Failure::new(Exit::Failure, passable::visible_line(&what).into_owned()));
                Renewal::Failed
            }
        }
    }

    /// Returns a tool server as a part of the web, with the address that the user wrote for it.
    ///
    /// # Errors
    /// When the address cannot be read.
    pub fn login_web(&self, server: &str) -> Result<Web, Failure> {
        let place = Place::parse(server).map_err(|error| {
            let shown = passable::visible_line(server).into_owned();
            Failure::new(Exit::Usage, format!("{shown}: {error}")).help("write https://HOST[:PORT]/PATH")
        })?;
        let servers = mcp_file::usable(&self.place.config).unwrap_or_default().servers;
        let same =
            |url: &str| Place::parse(url.split('?').next().unwrap_or(url)).is_ok_and(|own| own == place);
        let own = servers.values().find(|own| own.url.as_deref().is_some_and(same));
        let address = own.and_then(|own| own.address.as_deref()?.parse().ok());
        Ok(Web {
            places: vec![place],
            methods: ["POST".to_owned()].into(),
            secret: None,
            idempotency: None,
            address,
        })
    }
}

/// Returns the client of a login.
pub fn client_of(login: &Login) -> Client {
    let authentication = match (&login.client_secret, login.secret_in_form) {
        (None, _) => ClientAuthentication::Public,
        (Some(_), true) => ClientAuthentication::Form,
        (Some(_), false) => ClientAuthentication::Header,
    };
    Client {
        id: login.client_id.clone(),
        secret: login.client_secret.as_ref().map(|secret| Zeroizing::new(secret.reveal().to_owned())),
        authentication,
    }
}
