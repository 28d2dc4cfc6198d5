//! `almoner mcp login`, `logout` and `logins`.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use passable::visible_line;
use resource::web::Origin;
use vault::Secret;

use super::open;
use crate::cli::mcp::LoginArgs;
use crate::session::Session;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::login::{LoginAct, LoginAnswer, LoginRow};
use control::protocol::{Request, Response};
use passable::shell_word;

/// The time that a person has for the browser.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The time that a browser has to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of connections at the same time. The oldest one is closed for a newer one.
const MAX_CONNECTIONS: usize = 64;

/// The maximum length of a request's first line, in bytes.
const MAX_LINE_LEN: u64 = 16 << 10;

/// The path to which the browser is sent back.
const CALLBACK: &str = "/callback";

fn ask(acting: &Session<'_>, act: LoginAct) -> Result<LoginAnswer, Failure> {
    match acting.ask(Request::Login { act })? {
        Response::Login(answer) => Ok(answer),
        other => Err(unexpected(&other)),
    }
}

fn odd(answer: &LoginAnswer) -> Failure {
    unexpected(&Response::Login(answer.clone()))
}

/// The address to which the browser was sent back, from the browser itself or from the person.
struct Arrival {
    redirected: Secret,
    /// The connection of the browser, which waits for a page.
    browser: Option<TcpStream>,
}

/// Runs `almoner mcp login`.
///
/// # Errors
/// When the server wants no login, or the login is refused or not completed.
pub fn login(acting: &Session<'_>, args: &LoginArgs) -> ExitResult {
    let fail = |error: std::io::Error| {
        Failure::new(Exit::Failure, format!("cannot listen for the browser: {error}"))
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(fail)?;
    let own = format!("http://127.0.0.1:{}", listener.local_addr().map_err(fail)?.port());
    let begin = LoginAct::Begin {
        server: args.server.clone(),
        redirect: format!("{own}{CALLBACK}"),
        client: args.client.clone(),
        client_secret: args.client_secret.clone(),
        scopes: args.scope.clone(),
    };
    let (id, url, issuer) = match ask(acting, begin)? {
        LoginAnswer::Begun { id, url, issuer } => (id, url, issuer),
        other => return Err(odd(&other)),
    };
    let shown = visible_line(&issuer).into_owned();
    let place = |url: &str| Origin::split(url).map(|(origin, _)| origin).ok();
    let note = match (place(&url), place(&issuer)) {
        (Some(page), Some(issuer)) if page != issuer => {
            format!("log in at {shown}, in a browser of this machine; the page is at another server, {page}:")
        }
        _ => format!("log in at {shown}, in a browser of this machine:"),
    };
    output::note(&note);
    output::result(&visible_line(&url))?;
    if !args.print && !open::show_page(acting.place, "login.html", &url).unwrap_or(false) {
        output::note("no browser could be opened: open the address yourself");
    }
    let (send, arrivals) = channel();
    let from_browser = send.clone();
    let state = id.clone();
    std::thread::spawn(move || listen(&listener, &own, &state, &from_browser));
    if args.paste || output::can_ask() {
        output::note(
            "if the browser is elsewhere, it ends at an address that it cannot reach: paste that address here",
        );
        std::thread::spawn(move || read_pasted(&send));
    }
    // No arrival gives the login more time.
    let until = Instant::now() + LOGIN_TIMEOUT;
    loop {
        let mut arrival = match arrivals.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(arrival) => arrival,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(Failure::new(Exit::NeedsYou, "cannot log in: the time is over").help(format!(
                    "`almoner mcp login {}` begins it anew",
                    shell_word(&visible_line(&args.server))
                )));
            }
        };
        let finish = LoginAct::Finish { id: id.clone(), redirected: arrival.redirected.clone() };
        let is_browser = arrival.browser.is_some();
        let finished = ask(acting, finish);
        answer_browser(arrival.browser.take(), finished.is_ok());
        match finished {
            Ok(LoginAnswer::Done(row)) => {
                output::result(&format!("logged in at {}", visible_line(&row.server)))?;
                output::note(match row.lasts {
                    true => {
                        "the login is renewed by itself; `almoner resume` goes on with runs that waited for it"
                    }
                    false => {
                        "the server gives no lasting login; `almoner resume` goes on with runs that waited for it"
                    }
                });
                return Ok(Exit::Ok);
            }
            Ok(other) => return Err(odd(&other)),
            // An address that answers no login leaves the login waiting.
            Err(failure) if failure.exit == Exit::Invalid && (is_browser || output::can_ask()) => {
                output::failure(&failure);
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// Waits for the browser to come back. Other requests are answered and forgotten: for an icon, or without the `state`
/// that only the browser of this login knows. Each connection has a thread, so that a silent one delays no other.
fn listen(listener: &TcpListener, own: &str, state: &str, arrivals: &Sender<Arrival>) {
    let mut open: VecDeque<TcpStream> = VecDeque::new();
    for stream in listener.incoming().flatten() {
        if open.len() >= MAX_CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            // It may have ended long ago.
            let _ended = oldest.shutdown(Shutdown::Both);
        }
        open.extend(stream.try_clone());
        let (own, state, arrivals) = (own.to_owned(), state.to_owned(), arrivals.clone());
        std::thread::spawn(move || answer(stream, &own, &state, &arrivals));
    }
}

/// Answers one connection. Only the browser of this login is passed on.
fn answer(stream: TcpStream, own: &str, state: &str, arrivals: &Sender<Arrival>) {
    let Some(target) = target(&stream) else { return };
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    if path != CALLBACK {
        return respond(stream, "404 Not Found", "There is nothing here.");
    }
    if !query.split('&').any(|pair| pair.strip_prefix("state=") == Some(state)) {
        return respond(
            stream,
            "400 Bad Request",
            "This is not the answer of the login that waits here. The login still waits.",
        );
    }
    // A login that has ended needs no answer any more.
    let _ended =
        arrivals.send(Arrival { redirected: Secret::new(format!("{own}{target}")), browser: Some(stream) });
}

/// Returns the target of a request.
fn target(stream: &TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(REQUEST_TIMEOUT)).ok()?;
    let mut line = String::new();
    BufReader::new(stream.take(MAX_LINE_LEN)).read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let target = words.next().filter(|method| *method == "GET").and(words.next())?;
    (target.starts_with('/') && line.ends_with('\n')).then(|| target.to_owned())
}

fn respond(mut stream: TcpStream, status: &str, text: &str) {
    let page = format!("<!doctype html><title>Almoner</title><p>{text}</p>");
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         referrer-policy: no-referrer\r\nconnection: close\r\n\r\n",
        page.len()
    );
    // A browser that has gone away needs no page.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(page.as_bytes()));
    // The listener holds the connection too, so that dropping this end of it would not end the page.
    let _ = stream.shutdown(Shutdown::Write);
}

fn answer_browser(browser: Option<TcpStream>, is_ok: bool) {
    let Some(stream) = browser else { return };
    match is_ok {
        true => respond(stream, "200 OK", "You are logged in. You can close this page."),
        false => respond(stream, "400 Bad Request", "The login failed. The terminal says why."),
    }
}

fn read_pasted(arrivals: &Sender<Arrival>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let text = line.trim();
        if !text.is_empty()
            && arrivals.send(Arrival { redirected: Secret::new(text), browser: None }).is_err()
        {
            return;
        }
    }
}

/// Forgets the login at the address of a server that is removed, if there is one.
pub fn forget(acting: &Session<'_>, address: &str) {
    let server = address.split('?').next().unwrap_or(address).to_owned();
    match ask(acting, LoginAct::Remove { server: server.clone() }) {
        Ok(_) => output::note("the login there is forgotten too"),
        Err(failure) if failure.exit == Exit::NotFound => {}
        Err(_) => {
            let shown = shell_word(&visible_line(&server));
            output::note(&format!(
                "if you are logged in there: `almoner mcp logout {shown}` forgets the login"
            ));
        }
    }
}

/// Runs `almoner mcp logout`.
///
/// # Errors
/// When there is no login at the server.
pub fn logout(acting: &Session<'_>, server: &str) -> ExitResult {
    match ask(acting, LoginAct::Remove { server: server.to_owned() })? {
        LoginAnswer::Removed { server, is_revoked } => {
            output::result(&format!("logged out at {}", visible_line(&server)))?;
            output::note(match is_revoked {
                Some(true) => "the tokens are forgotten here, and the login server has taken them back",
                Some(false) => {
                    "the tokens are forgotten here, but the login server did not take them back; it may count them as valid \
                     until they end"
                }
                None => {
                    "the tokens are forgotten here; the login server takes none back, and may count them as valid until they end"
                }
            });
            Ok(Exit::Ok)
        }
        other => Err(odd(&other)),
    }
}

/// Runs `almoner mcp logins`.
///
/// # Errors
/// When the vault is locked.
pub fn logins(acting: &Session<'_>, json: bool) -> ExitResult {
    let rows = match ask(acting, LoginAct::List)? {
        LoginAnswer::All { rows } => rows,
        other => return Err(odd(&other)),
    };
    match json {
        true => output::json(&rows)?,
        false => output::listing(&rows.iter().map(line).collect::<String>())?,
    }
    Ok(Exit::Ok)
}

fn line(row: &LoginRow) -> String {
    let until = match (row.is_over, row.lasts, row.expires_ms) {
        (true, _, _) => format!("over: `almoner mcp login {}`", shell_word(&visible_line(&row.server))),
        (false, true, _) => "renewed by itself".to_owned(),
        (false, false, Some(at)) => format!("until {}", kernel::time::shown(at)),
        (false, false, None) => "until the server ends it".to_owned(),
    };
    let scope = row.scope.as_ref().map(|scope| format!(", scope {}", visible_line(scope)));
    let wider = row.wider_scope.as_ref().map(|scope| {
        let scopes: String = scope
            .split_whitespace()
            .map(|one| format!(" --scope {}", shell_word(&visible_line(one))))
            .collect();
        let server = shell_word(&visible_line(&row.server));
        format!("; a call needs more: `almoner mcp login {server}{scopes}`")
    });
    format!(
        "{}  at {} since {}, {until}{}\n",
        visible_line(&row.server),
        visible_line(&row.issuer),
        kernel::time::shown(row.since_ms),
        scope.unwrap_or_default() + &wider.unwrap_or_default()
    )
}
