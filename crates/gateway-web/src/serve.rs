//! The HTTP server. The guard checks every request, and then a page handles it. All responses have the same security
//! headers. Before that, the HTTP library rejects input that is not HTTP, or whose head does not end.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::{BytesRejection, RawPathParamsRejection};
use axum::extract::{DefaultBodyLimit, Extension, RawPathParams, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request as Http, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response as Answered};
use axum::routing::{MethodRouter, get, post};
use control::exit::{Exit, Failure};
use control::protocol::{Request, Response};
use maud::{Markup, html as markup};
use tokio::sync::Notify;

use crate::answer::{Answer, Page};
use crate::assets::Asset;
use crate::backend::Backend;
use crate::connections::{AuthFlag, Connections, LIMITS, TimedBody};
use crate::guard::ceremonies::Ceremonies;
use crate::guard::headers::{ALWAYS, ASSET, PAGE};
use crate::guard::names::{Names, PasskeyHost};
use crate::guard::request_guard::RequestHeaders;
use crate::guard::sessions::{COOKIE, HostKind, SESSION_TIMEOUT_MS, Session, Sessions, Upkeep};
use crate::page::context::{self, PageContext};
use crate::page::shell::ShellState;
use crate::page::theme::Theme;
use crate::page_request::{PageRequest, Pairs};
use crate::refusal::{self, refused};
use crate::{live, multipart, page, pages};

/// The maximum size of a form, in bytes. A file that fills in a field has at most 100,000 bytes.
const MAX_FORM_SIZE: usize = 4 << 20;

/// The size limit of a form from a browser without a session, and of a passkey, in bytes.
const MAX_LOGIN_FORM_SIZE: usize = 16 << 10;

/// The maximum size of the files in one message of a conversation, in bytes.
pub const MAX_UPLOAD_SIZE: usize = 64 << 20;

/// The stack size of every thread that reads foreign input, in bytes. Values and patterns may nest as deep as their
/// limits allow. The system only allocates the used part.
const STACK_SIZE: usize = 16 << 20;

/// The name of the form field with the session's token.
pub const TOKEN: &str = "_token";

/// The header in which a script repeats the token.
pub const TOKEN_HEADER: &str = "x-almoner";

/// The name of the form field with the script's key.
pub const KEY: &str = "_key";

/// The site: the state that all requests share.
pub struct Site {
    /// The daemon.
    pub backend: Arc<dyn Backend>,
    /// The host names under which the pages are served.
    pub names: Names,
    sessions: Mutex<Sessions>,
    ceremonies: Mutex<Ceremonies>,
    /// The number of open event streams.
    pub(crate) watchers: AtomicUsize,
    ended: Notify,
}

impl Site {
    /// Returns a site with the stored sessions.
    pub fn new(backend: Arc<dyn Backend>, names: Names, sessions: Sessions) -> Site {
        Site {
            backend,
            names,
            sessions: Mutex::new(sessions),
            ceremonies: Mutex::new(Ceremonies::default()),
            watchers: AtomicUsize::new(0),
            ended: Notify::new(),
        }
    }

    /// Returns whether any browser has a page open.
    pub fn is_looked_at(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    /// Makes [`serve`] return.
    pub fn end(&self) {
        self.ended.notify_one();
    }

    /// Returns the sessions.
    pub fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the open ceremonies of passkeys. A thread that also needs the sessions takes those first.
    pub fn ceremonies(&self) -> MutexGuard<'_, Ceremonies> {
        self.ceremonies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a browser that asks this host can log in with a passkey.
    pub fn has_passkeys(&self, host: Option<&PasskeyHost>) -> bool {
        host.is_some_and(|host| self.sessions().passkeys.of(&host.domain).next().is_some())
    }

    /// Returns an address with which one browser can log in once under this kind of host. The address then leads to
    /// the path `to`.
    ///
    /// # Errors
    /// When the pages are not served under this kind of host, or the machine has no random source.
    pub fn link(&self, under: HostKind, to: &str) -> Result<String, Failure> {
        let login = self.login_url(under)?;
        let random = self.backend.random()?;
        let code = self.sessions().code(under, random, self.backend.now_ms());
        // Browsers never send the part after the `#`. No log contains it, and no other page learns it.
        Ok(format!("{login}#{code}{to}"))
    }

    /// Returns an address that leads a browser with a session to the path `to`. It lets nobody in.
    ///
    /// It begins at the login page, like [`Site::link`]: a browser that follows a link of another program does not
    /// send the cookie, so the page must ask again.
    ///
    /// # Errors
    /// When the pages are not served under this kind of host.
    pub fn address(&self, under: HostKind, to: &str) -> Result<String, Failure> {
        Ok(format!("{}#{to}", self.login_url(under)?))
    }

    fn login_url(&self, under: HostKind) -> Result<String, Failure> {
        let url = self.names.url(under).ok_or_else(|| {
            Failure::new(Exit::Usage, "the pages are served under the names of the settings alone")
                .help("leave `--loopback` out, or take `hosts` out of `[web]` in the settings")
        })?;
        Ok(format!("{url}/login"))
    }

    /// Changes the sessions, and stores them before the result is returned. If this fails, the old sessions stay.
    ///
    /// # Errors
    /// When the sessions cannot be stored.
    pub fn change<T>(&self, change: impl FnOnce(&mut Sessions) -> T) -> Result<T, Failure> {
        let mut sessions = self.sessions();
        let before = sessions.clone();
        let changed = change(&mut sessions);
        if *sessions != before
            && let Err(failure) = self.backend.keep(&sessions)
        {
            *sessions = before;
            return Err(failure);
        }
        Ok(changed)
    }
}

/// A function that serves a page or handles its form.
pub type PageHandler = fn(&PageRequest) -> Result<Answer, Failure>;

/// Returns the router for all addresses.
pub fn router(site: Arc<Site>) -> Router {
    let mut router = Router::new().route("/events", get(live::events));
    for (path, read, send) in pages::ROUTES {
        let mut methods: MethodRouter<Arc<Site>> = MethodRouter::new();
        methods = match *read {
            Some(show) => methods.merge(shown(show)),
            None => methods.merge(get(redirect_to_parent)),
        };
        if let Some(done) = *send {
            methods = methods.merge(sent(done));
        }
        if pages::takes_files(path) {
            methods = methods.layer(DefaultBodyLimit::max(MAX_UPLOAD_SIZE + MAX_FORM_SIZE));
        } else if pages::is_small(path) {
            methods = methods.layer(DefaultBodyLimit::max(MAX_LOGIN_FORM_SIZE));
        }
        router = router.route(path, methods);
    }
    let login = get(pages::login::read).post(pages::login::send);
    let by_passkey = get(redirect_to_parent).post(pages::passkey_login::send);
    let challenge = get(redirect_to_parent).post(pages::passkey_login::begin);
    let inside = router.fallback(no_page).layer(from_fn_with_state(Arc::clone(&site), with_session));
    Router::new()
        .merge(inside)
        .route("/login", login.layer(DefaultBodyLimit::max(MAX_LOGIN_FORM_SIZE)))
        .route("/login/passkey", by_passkey.layer(DefaultBodyLimit::max(MAX_LOGIN_FORM_SIZE)))
        .route("/login/passkey/begin", challenge.layer(DefaultBodyLimit::max(MAX_LOGIN_FORM_SIZE)))
        .route("/assets/{name}", get(asset))
        .route("/favicon.ico", get(sign))
        .method_not_allowed_fallback(async || refused(StatusCode::METHOD_NOT_ALLOWED, NO_METHOD))
        .layer(DefaultBodyLimit::max(MAX_FORM_SIZE))
        .layer(from_fn_with_state(Arc::clone(&site), guarded))
        .with_state(site)
}

/// Serves the pages on all these listeners until [`Site::end`] is called.
///
/// # Errors
/// When the runtime cannot be created, or a listener fails.
pub fn serve(site: &Arc<Site>, listeners: Vec<std::net::TcpListener>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(STACK_SIZE)
        .enable_all()
        .thread_name("web")
        .build()?;
    let (all, pages) = (Connections::new(LIMITS), router(Arc::clone(site)));
    let served = runtime.block_on(async {
        let mut serving = tokio::task::JoinSet::new();
        for listener in listeners {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            serving.spawn(Arc::clone(&all).serve(listener, pages.clone()));
        }
        let served = tokio::select! {
            Some(ended) = serving.join_next() => ended.map_err(std::io::Error::from),
            () = site.ended.notified() => Ok(()),
        };
        // The connections are closed first, so that the next process can bind the port.
        serving.shutdown().await;
        served
    });
    runtime.shutdown_background();
    served
}

fn shown(show: PageHandler) -> MethodRouter<Arc<Site>> {
    get(
        async move |State(site): State<Arc<Site>>,
                    Extension(session): Extension<Session>,
                    Extension(theme): Extension<Theme>,
                    host: Extension<Option<PasskeyHost>>,
                    path: Result<RawPathParams, RawPathParamsRejection>,
                    uri: Uri| {
            let Ok(path) = path else {
                return no_page(State(site), Extension(session), Extension(theme), host, uri).await;
            };
            let asked = PageRequest {
                site,
                session,
                theme,
                passkey_host: host.0,
                address: address(&uri),
                path: parts(&path),
                query: pairs(uri.query()),
                body: vec![],
                files: vec![],
            };
            answered(asked, show, false).await
        },
    )
}

fn sent(done: PageHandler) -> MethodRouter<Arc<Site>> {
    post(
        async move |State(site): State<Arc<Site>>,
                    Extension(session): Extension<Session>,
                    Extension(theme): Extension<Theme>,
                    host: Extension<Option<PasskeyHost>>,
                    path: Result<RawPathParams, RawPathParamsRejection>,
                    uri: Uri,
                    headers: HeaderMap,
                    body: Result<Bytes, BytesRejection>| {
            let Ok(path) = path else {
                return no_page(State(site), Extension(session), Extension(theme), host, uri).await;
            };
            let body = match body {
                Ok(body) => body,
                Err(rejection) => return cut_off(&rejection),
            };
            let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
            let (body, files) = match kind.and_then(multipart::boundary) {
                Some(boundary) => multipart::read(body, &boundary).await,
                None => (form(&body), vec![]),
            };
            // Browsers send each line end as two characters.
            let body = body.into_iter().map(|(name, text)| (name, text.replace("\r\n", "\n"))).collect();
            let asked = PageRequest {
                site,
                session,
                theme,
                passkey_host: host.0,
                address: address(&uri),
                path: parts(&path),
                query: pairs(uri.query()),
                body,
                files,
            };
            // A script repeats the token in a header, which a form of a foreign page cannot set.
            let mode = headers.get("sec-fetch-mode").and_then(|mode| mode.to_str().ok());
            let by_script = mode.is_some_and(|mode| mode != "navigate");
            let signed = headers.get(TOKEN_HEADER).and_then(|token| token.to_str().ok());
            let marked = !by_script || (signed.is_some() && signed == asked.field(TOKEN));
            if !marked || !asked.session.signed(asked.field(TOKEN), asked.field(KEY)) {
                return refused(StatusCode::FORBIDDEN, UNSIGNED);
            }
            answered(asked, done, true).await
        },
    )
}

/// The refusal of a form that is too large.
const TOO_LARGE: &str = "a form has at most 4 MiB, and with files 64 MiB: go back, and send less at once";

/// The refusal of a form that ends too early, or arrives too slowly.
const NOT_WHOLE: &str = "this form did not come whole, and nothing was done: go back, and send it again";

/// The refusal of a form without the token and key of its session.
const UNSIGNED: &str = "this form belongs to another session, and nothing was done: load its page again, or open the \
                        pages with `almoner open`";

/// The refusal of a form at an address that can only be read.
const NO_METHOD: &str = "nothing is sent to this address: it can only be read";

/// Returns the refusal of a form whose body was not completely received.
pub fn cut_off(rejection: &BytesRejection) -> Answered {
    let status = rejection.status();
    refused(status, if status == StatusCode::PAYLOAD_TOO_LARGE { TOO_LARGE } else { NOT_WHOLE })
}

fn parts(path: &RawPathParams) -> Pairs {
    path.iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// Returns the path and the query of an address.
fn address(uri: &Uri) -> String {
    uri.path_and_query().map_or("/", |both| both.as_str()).to_owned()
}

fn pairs(query: Option<&str>) -> Pairs {
    form(query.unwrap_or("").as_bytes())
}

fn form(body: &[u8]) -> Pairs {
    url::form_urlencoded::parse(body).into_owned().collect()
}

/// Returns the response of a page. The page runs in a separate thread, because access to the store may take long.
async fn answered(asked: PageRequest, show: PageHandler, is_sent: bool) -> Answered {
    let of = asked.clone();
    let said = tokio::task::spawn_blocking(move || {
        let backend = &of.site.backend;
        // The rows that an earlier page of this thread left out do not count.
        let _ = backend.warning();
        // An event that happens while the page is rendered is sent a second time, which is harmless.
        let after = match of.ask(Request::LastEvent) {
            Ok(Response::LastEvent(after)) => after,
            _ => 0,
        };
        let context = PageContext { now_ms: Some(backend.now_ms()), home: backend.home() };
        let answer =
            context::within(context, || show(&of).unwrap_or_else(|failure| failed(&failure, is_sent)));
        // A page whose count cannot be read is better than no page.
        let waiting = if matches!(answer, Answer::Page(_)) { backend.waiting().unwrap_or(0) } else { 0 };
        (answer, ShellState { after, waiting, warning: backend.warning() })
    });
    match said.await {
        Ok((answer, state)) => finish(&asked, answer, &state),
        Err(_) => refused(StatusCode::INTERNAL_SERVER_ERROR, "the page failed; see `almoner logs`"),
    }
}

fn finish(asked: &PageRequest, answer: Answer, state: &ShellState) -> Answered {
    match answer {
        Answer::Page(page) => {
            let status = StatusCode::from_u16(page.status).unwrap_or(StatusCode::OK);
            html(status, page::shell::whole(asked, &page, state))
        }
        Answer::Piece(piece) => html(StatusCode::OK, piece),
        Answer::Json(text) => json(text),
        Answer::GoWithCookie { to, cookie } => {
            let mut answer = go(&to);
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                answer.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            answer
        }
        // The script keeps its draft until it sees that the form was accepted.
        Answer::Go(to) if asked.field(KEY).is_some() && !to.contains('#') => go(&format!("{to}#done")),
        Answer::Go(to) => go(&to),
    }
}

/// Returns a page with an error and its remedy. `is_sent` says whether the request was a form or a page load.
pub fn failed(failure: &Failure, is_sent: bool) -> Answer {
    let title = match (is_sent, failure.exit) {
        (true, _) => "That was not done",
        (false, Exit::NotFound) => "There is no such page",
        (false, _) => "This cannot be shown",
    };
    let main = match is_sent {
        true => markup! { h1 { (title) } (page::parts::failure_below(failure)) },
        false => page::parts::failure(title, failure),
    };
    Page::new("", title, main).status(status(failure)).into()
}

/// Returns the HTTP status of an error page.
pub fn status(failure: &Failure) -> u16 {
    match failure.exit {
        Exit::Usage => 400,
        Exit::NotFound => 404,
        Exit::Denied => 403,
        Exit::Invalid | Exit::NeedsYou => 422,
        Exit::Conflict => 409,
        Exit::NoDaemon => 503,
        _ => 500,
    }
}

/// Returns a redirect to another address.
pub fn go(to: &str) -> Answered {
    match HeaderValue::from_str(to) {
        Ok(to) => (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response(),
        Err(_) => refused(StatusCode::BAD_REQUEST, "there is no such page"),
    }
}

/// Returns markup as an HTTP response.
pub fn html(status: StatusCode, text: Markup) -> Answered {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], text.into_string()).into_response()
}

/// Returns JSON as an HTTP response.
pub fn json(text: String) -> Answered {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// Redirects from an address that only accepts a form to the page with the form, so that a reload does no harm.
async fn redirect_to_parent(uri: Uri) -> Answered {
    let parent = uri.path().rsplit_once('/').map_or("", |(parent, _)| parent);
    go(if parent.is_empty() { "/" } else { parent })
}

/// Returns the error for an unknown address.
fn unknown_address() -> Failure {
    Failure::new(Exit::NotFound, "cannot show this page: nothing is at its address")
        .help("choose a part of the site in the bar, or search")
}

async fn no_page(
    State(site): State<Arc<Site>>,
    Extension(session): Extension<Session>,
    Extension(theme): Extension<Theme>,
    Extension(passkey_host): Extension<Option<PasskeyHost>>,
    uri: Uri,
) -> Answered {
    let (address, path, query) = (address(&uri), vec![], vec![]);
    let (body, files) = (vec![], vec![]);
    let asked = PageRequest { site, session, theme, passkey_host, address, path, query, body, files };
    answered(asked, |_| Err(unknown_address()), false).await
}

async fn asset(uri: Uri, headers: HeaderMap) -> Answered {
    let Some(asset) = Asset::at(uri.path()) else {
        return refused(StatusCode::NOT_FOUND, "there is no such page");
    };
    let kind = (header::CONTENT_TYPE, asset.media);
    let kept = (header::CACHE_CONTROL, ASSET.1);
    let varies = (header::VARY, "accept-encoding");
    let takes = headers.get(header::ACCEPT_ENCODING).and_then(|takes| takes.to_str().ok()).unwrap_or("");
    // Only files that are the same for all users are compressed. The compressed size of a page could reveal its
    // content.
    match takes.split(',').any(|one| one.trim() == "gzip") {
        true => {
            let packed = (header::CONTENT_ENCODING, "gzip");
            ([kind, kept, varies, packed], asset.packed()).into_response()
        }
        false => ([kind, kept, varies], asset.text).into_response(),
    }
}

async fn sign() -> Answered {
    go(&crate::assets::SIGN.path())
}

/// Checks the host, the method and the origin of every request, and sets the headers of every response.
async fn guarded(State(site): State<Arc<Site>>, mut request: Http<Body>, next: Next) -> Answered {
    let (headers, uri) = (request.headers(), request.uri());
    let said = |name: &str| header_value(headers, name);
    // If the request line names another host than the `Host` header, the request counts as having no host.
    let names_other =
        |host: &str| uri.authority().is_some_and(|other| !other.as_str().eq_ignore_ascii_case(host));
    let knock = RequestHeaders {
        method: request.method().as_str(),
        path: uri.path(),
        host: said("host").filter(|host| !names_other(host)),
        origin: said("origin"),
        site: said("sec-fetch-site"),
        mode: said("sec-fetch-mode"),
        dest: said("sec-fetch-dest"),
    };
    let by_address = site.sessions().are_under_an_address(site.backend.now_ms());
    let judged = knock.check(&site.names, by_address);
    let (is_shown, from) = (refusal::is_shown(headers), uri.path().to_owned());
    let theme = Theme::of_cookies(cookies(headers));
    let passkey_host = knock.host.and_then(|host| site.names.passkey_host(host));
    let has_passkeys = site.has_passkeys(passkey_host.as_ref());
    request.extensions_mut().insert(theme);
    request.extensions_mut().insert(passkey_host);
    let mut answer = match judged {
        Ok(under) => {
            request.extensions_mut().insert(under);
            next.run(request.map(TimedBody::of)).await
        }
        Err(refusal) => {
            let (status, why) = refusal.response();
            refused(StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN), why)
        }
    };
    if is_shown {
        answer = refusal::as_page(answer, &from, theme, has_passkeys);
    }
    let (is_no_method, headers) = (answer.status() == StatusCode::METHOD_NOT_ALLOWED, answer.headers_mut());
    if is_no_method {
        headers.entry(header::ALLOW).or_insert(HeaderValue::from_static("GET, HEAD, POST"));
    }
    for (name, value) in ALWAYS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.entry(HeaderName::from_static(PAGE.0)).or_insert(HeaderValue::from_static(PAGE.1));
    answer
}

/// Returns the value of a request header. A header that is repeated, or is not text, counts as empty, because
/// browsers send no such header.
fn header_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => None,
        (Some(value), None) => Some(value.to_str().unwrap_or("")),
        _ => Some(""),
    }
}

/// Passes on only requests with a session. Without a session, a page load gets the login page, and any other request
/// is refused.
async fn with_session(State(site): State<Arc<Site>>, mut request: Http<Body>, next: Next) -> Answered {
    let under = request.extensions().get().copied().unwrap_or_default();
    match session(&site, request.headers(), under) {
        Some((session, handle)) => {
            if let Some(known) = request.extensions().get::<AuthFlag>() {
                known.note();
            }
            request.extensions_mut().insert(session);
            let mut answer = next.run(request).await;
            if let Some(cookie) = handle.and_then(|handle| HeaderValue::from_str(&cookie(&handle)).ok()) {
                answer.headers_mut().append(header::SET_COOKIE, cookie);
            }
            answer
        }
        None if request.method() == Method::GET && request.uri().path() != "/events" => {
            let theme = request.extensions().get().copied().unwrap_or_default();
            let host: Option<PasskeyHost> = request.extensions().get().cloned().flatten();
            let (failure, to) = (pages::login::LoginFailure::None, address(request.uri()));
            let page = pages::login::page(&failure, &to, theme, site.has_passkeys(host.as_ref()));
            html(StatusCode::UNAUTHORIZED, page)
        }
        None => refused(StatusCode::UNAUTHORIZED, refusal::SESSION_OVER),
    }
}

/// Returns the session whose cookie a request has, and a new handle for the cookie if the session was renewed.
fn session(site: &Site, headers: &HeaderMap, under: HostKind) -> Option<(Session, Option<String>)> {
    let now = site.backend.now_ms();
    let (session, upkeep) = {
        let sessions = site.sessions();
        let mut found = cookies(headers).filter_map(|one| sessions.of_cookie(one, under, now));
        found.next().map(|(session, upkeep)| (session.clone(), upkeep))?
    };
    let number = session.number;
    // If a renewal cannot be stored, the session goes on as it is. A session that must end ends in any case.
    match upkeep {
        Upkeep::None => Some((session, None)),
        Upkeep::Confirm => {
            let _ = site.change(|sessions| sessions.confirm(number));
            Some((session, None))
        }
        Upkeep::Renew => {
            let random = site.backend.random().ok();
            let renew = |random| site.change(|sessions| sessions.renew(number, random, now)).ok().flatten();
            Some((session, random.and_then(renew)))
        }
        Upkeep::End => {
            let _ = site.change(|sessions| sessions.revoke(number));
            None
        }
    }
}

/// Returns the cookie headers of a request, one by one.
pub fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok())
}

/// Returns the cookie for a session's handle.
pub fn cookie(handle: &str) -> String {
    format!(
        "{COOKIE}={handle}; Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age={}",
        SESSION_TIMEOUT_MS / 1000
    )
}

/// The error type of an event stream, which cannot fail.
pub type StreamError = Infallible;
