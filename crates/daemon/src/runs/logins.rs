//! The user's logins at tool servers: begun here, completed in a browser, and kept in the vault.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::vault::{Login, Secret};
use caps::login_client::LoginClient;
use oauth::{
    Client, ClientAuthentication, HttpClient as _, HttpRequest, OauthError, PendingLogin, ServerUrl,
};
use passable::visible_line;
use resource::web::Origin;
use zeroize::Zeroizing;

use crate::state::daemon::{self, HostDaemon};
use crate::state::logins::{client_of, with_tokens};
use crate::state::{secret_access, vault};
use config::{clock, mcp_file};
use control::exit::{Exit, Failure};
use control::login::{LoginAct, LoginAnswer, LoginRow};
use resource::mcp::is_server_name;

/// The time that a person has for the browser.
const PENDING_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The maximum number of logins that wait for a person.
const MAX_PENDING: usize = 16;

/// The greeting with which a server is asked whether it wants a login.
const GREETING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"almoner","version":"0"}}}"#;

/// The logins that wait for a person, by their identifiers.
#[derive(Default)]
struct PendingLogins(Mutex<BTreeMap<String, (String, PendingLogin, Instant)>>);

/// Answers a client's act on logins.
///
/// # Errors
/// When there is no such server or login, a server refuses, or the vault is locked.
pub fn answer(daemon: &HostDaemon, act: LoginAct) -> Result<LoginAnswer, Failure> {
    match act {
        LoginAct::Begin { server, redirect, client, client_secret, scopes } => {
            begin(daemon, &server, redirect, client, client_secret.as_deref(), &scopes)
        }
        LoginAct::Finish { id, redirected } => finish(daemon, &id, &redirected),
        LoginAct::Remove { server } => {
            let (address, _) = address_of(daemon, &server)?;
            let login = daemon.vault.login(&address).map_err(|_| locked(daemon))?.ok_or_else(|| {
                let shown = visible_line(&address).into_owned();
                Failure::new(Exit::NotFound, format!("there is no login at {shown}"))
                    .help("`almoner mcp logins` lists them")
            })?;
            daemon.as_daemon().change_login(&address, None)?;
            Ok(LoginAnswer::Removed { is_revoked: revoke(daemon, &address, &login), server: address })
        }
        LoginAct::List => {
            let all = daemon.vault.logins().map_err(|_| locked(daemon))?;
            let rows = all.iter().map(|(server, login)| row(daemon, server, login)).collect();
            Ok(LoginAnswer::All { rows })
        }
    }
}

/// Asks the authorization server to take the tokens of a login back. Returns `None` if it does not offer that.
fn revoke(daemon: &HostDaemon, address: &str, login: &Login) -> Option<bool> {
    let endpoint = ServerUrl::parse(login.revocation_endpoint.as_ref()?).ok()?;
    let web = daemon.as_daemon().login_web(address).ok()?;
    let http = LoginClient::new(web, daemon.server_services());
    let client = client_of(login);
    // The token that gets others is the one that lasts, and the other one often ends with it.
    let tokens = login.refresh.iter().map(|token| (token, true)).chain([(&login.access, false)]);
    let revoked = tokens
        .map(|(token, is_refresh)| oauth::revoke(&endpoint, &client, token.reveal(), is_refresh, &http));
    Some(revoked.fold(true, |all, one| all & one.is_ok()))
}

fn locked(daemon: &HostDaemon) -> Failure {
    vault::failure(daemon.vault.reason_closed())
}

fn row(daemon: &HostDaemon, server: &str, login: &Login) -> LoginRow {
    LoginRow {
        server: server.to_owned(),
        issuer: login.issuer.clone(),
        scope: login.scope.clone(),
        since_ms: login.since_ms,
        expires_ms: login.expires_ms,
        lasts: login.refresh.is_some(),
        wider_scope: daemon.logins.wider_scope(server, login.scope.as_deref()),
        is_over: daemon.logins.wanted(server).is_some(),
    }
}

/// Returns the address of a tool server that the user names, and its name if it has one.
fn address_of(daemon: &HostDaemon, server: &str) -> Result<(String, Option<String>), Failure> {
    let (url, name) = match is_server_name(server) && !server.contains("://") {
        true => {
            let found = mcp_file::find(&daemon.place.config, server)?;
            let url = found.url.ok_or_else(|| {
                Failure::new(Exit::Usage, format!("the server {server} is a program of this machine"))
                    .help("a program gets a secret by `--env NAME=secret:SECRET`; only an address has logins")
            })?;
            (url, Some(server.to_owned()))
        }
        false => (server.to_owned(), None),
    };
    let url = url.split('?').next().unwrap_or(&url);
    let web = daemon.as_daemon().login_web(url)?;
    let place = web.places.first().map(caps::login_address).unwrap_or_default();
    Ok((place, name))
}

fn begin(
    daemon: &HostDaemon,
    server: &str,
    redirect: String,
    client: Option<String>,
    client_secret: Option<&str>,
    scopes: &[String],
) -> Result<LoginAnswer, Failure> {
    let (address, _) = address_of(daemon, server)?;
    // A login that could not be kept would be a login for nothing.
    daemon.vault.logins().map_err(|_| locked(daemon))?;
    let url = ServerUrl::parse(&address).map_err(|error| failure(&error))?;
    let http = LoginClient::new(daemon.as_daemon().login_web(&address)?, daemon.server_services());
    let greeting = HttpRequest {
        method: "POST",
        url: url.url().clone(),
        headers: vec![
            ("content-type", Zeroizing::new("application/json".to_owned())),
            ("accept", Zeroizing::new("application/json, text/event-stream".to_owned())),
        ],
        body: Zeroizing::new(GREETING.as_bytes().to_vec()),
    };
    let shown = visible_line(&address).into_owned();
    let greeted = http.send(greeting).map_err(|reason| {
        Failure::new(Exit::Failure, format!("{shown} cannot be reached: {}", visible_line(&reason)))
            .help("is the address right? `almoner mcp list` shows it")
    })?;
    let challenge = greeted.challenge.or_else(|| daemon.logins.wanted(&address).flatten());
    let discovery = oauth::discover(&url, challenge.as_deref(), &http).map_err(|error| match error {
        OauthError::NoMetadata { .. } if greeted.status != 401 => {
            Failure::new(Exit::Conflict, format!("{shown} asks for no login")).help(
                "`almoner mcp tools NAME` shows what it has; a key goes along by `almoner mcp change NAME --key SECRET`",
            )
        }
        other => failure(&other),
    })?;
    let scope = PendingLogin::scope_for(&discovery, scopes);
    let client = match client {
        Some(id) => {
            let secret = client_secret.map(|name| own_secret(daemon, name, &discovery.server.token_endpoint));
            Client::own(id, secret.transpose()?)
        }
        None => {
            oauth::register(&discovery.server, &redirect, scope.as_deref(), &http).map_err(|e| failure(&e))?
        }
    };
    let mut random = [0; 64];
    daemon::random(&mut random)?;
    let pending = PendingLogin::new(discovery, client, redirect, scope, &random);
    let answer = LoginAnswer::Begun {
        id: pending.state().to_owned(),
        url: pending.address().to_string(),
        issuer: pending.discovery.server.issuer.clone(),
    };
    let all = daemon.extensions.get(PendingLogins::default);
    let mut all = all.0.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|_, (_, _, since)| since.elapsed() < PENDING_TIMEOUT);
    if all.len() >= MAX_PENDING {
        return Err(Failure::new(Exit::Conflict, format!("{MAX_PENDING} logins wait already"))
            .help("complete one in the browser, or wait a quarter of an hour"));
    }
    all.insert(pending.state().to_owned(), (address, pending, Instant::now()));
    Ok(answer)
}

/// Returns the secret of the user's own client, which must be for the authorization server.
fn own_secret(daemon: &HostDaemon, name: &str, endpoint: &ServerUrl) -> Result<Zeroizing<String>, Failure> {
    let (origin, _) = Origin::split(endpoint.url().as_str())
        .map_err(|error| Failure::new(Exit::Failure, format!("{endpoint}: {error}")))?;
    secret_access::for_server(daemon, "the login", name, &origin)?;
    let value = daemon.vault.value_for(name, &origin).map_err(|_| locked(daemon))?;
    Ok(Zeroizing::new(value.reveal().to_owned()))
}

fn finish(daemon: &HostDaemon, id: &str, redirected: &Secret) -> Result<LoginAnswer, Failure> {
    let (address, pending, code) = take_answered(daemon, id, redirected)?;
    let http = LoginClient::new(daemon.as_daemon().login_web(&address)?, daemon.server_services());
    let tokens = oauth::exchange_code(&pending, &code, &http).map_err(|error| match error {
        // The server's own words may repeat the code.
        OauthError::Refused { host, code, .. } => {
            failure(&OauthError::Refused { host, code, description: None })
        }
        other => failure(&other),
    })?;
    let (server, client) = (&pending.discovery.server, &pending.client);
    let login = Login {
        issuer: server.issuer.clone(),
        resource: pending.discovery.resource.to_string(),
        token_endpoint: server.token_endpoint.url().to_string(),
        revocation_endpoint: server.revocation_endpoint.as_ref().map(|place| place.url().to_string()),
        client_id: client.id.clone(),
        client_secret: client.secret.as_ref().map(|secret| Secret::new(secret.as_str())),
        secret_in_form: client.authentication == ClientAuthentication::Form,
        access: Secret::new(""),
        refresh: None,
        expires_ms: None,
        scope: pending.scope.clone(),
        since_ms: clock::now_ms(),
    };
    let login = with_tokens(login, &tokens);
    daemon.as_daemon().change_login(&address, Some(login.clone()))?;
    Ok(LoginAnswer::Done(row(daemon, &address, &login)))
}

/// Returns the waiting login that an address answers, with the server and the code. The login does not wait any more
/// then.
///
/// An address that answers no login leaves the login waiting, without more time. A refusal ends it.
///
/// # Errors
/// When no such login waits, the address does not answer it, or the server refuses.
fn take_answered(
    daemon: &HostDaemon,
    id: &str,
    redirected: &Secret,
) -> Result<(String, PendingLogin, Zeroizing<String>), Failure> {
    let all = daemon.extensions.get(PendingLogins::default);
    let mut all = all.0.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|_, (_, _, since)| since.elapsed() < PENDING_TIMEOUT);
    let gone = || {
        Failure::new(Exit::NotFound, "this login is not waiting any more")
            .help("begin it anew: `almoner mcp login NAME`")
    };
    let answered = all.get(id).ok_or_else(gone)?.1.code(redirected.reveal());
    if let Err(error @ OauthError::ForeignAnswer(_)) = &answered {
        return Err(failure(error));
    }
    let (address, pending, _) = all.remove(id).ok_or_else(gone)?;
    Ok((address, pending, answered.map_err(|error| failure(&error))?))
}

/// Returns the failure for an error of a login. The exit code `Invalid` says that the login still waits.
fn failure(error: &OauthError) -> Failure {
    let help = match error {
        OauthError::Address { .. } => "the server names an address that is not safe; tell its operator",
        OauthError::Unreachable { .. } => "`almoner doctor network` shows how servers are reached",
        OauthError::NoMetadata { .. } => {
            "it may want a key instead: `almoner secret set KEY --for URL`, then `almoner mcp change NAME --key KEY`"
        }
        OauthError::Invalid { .. } => "this is the server's fault; tell its operator",
        OauthError::NoRegistration { .. } => {
            "register a program there yourself, with the redirect `http://127.0.0.1/callback`, and name it: `--client ID`"
        }
        OauthError::Refused { .. } => "try again, or ask who runs the server",
        OauthError::ForeignAnswer(_) => {
            "paste the whole address that the browser shows at the end of this login"
        }
        OauthError::OtherServer { .. } => {
            "no code was sent to either server; is the address of the tool server right? `almoner mcp list` shows it"
        }
        OauthError::LoginOver { .. } => "`almoner mcp login NAME` begins a new one",
    };
    let exit = match error {
        OauthError::ForeignAnswer(_) => Exit::Invalid,
        _ => Exit::Failure,
    };
    Failure::new(exit, visible_line(&error.to_string()).into_owned()).help(help)
}
