//! The web pages of this daemon: their port, which is opened on request, and their sessions, which outlive the
//! daemon.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use gateway_web::backend::Backend;
use gateway_web::guard::names::Names;
use gateway_web::guard::sessions::{HostKind, Session, Sessions};
use gateway_web::serve::{Site, serve};

use super::dispatch;
use super::follow::{Follower, follow};
use super::services::Services;
use super::web_file;
use super::web_file::WebFile;
use crate::files::folder_list;
use crate::queries::{message_line, run_lines, runs};
use crate::runs::{chats, examples, proposal};
use crate::state::daemon::random;
use crate::state::damage;
use crate::state::log;
use crate::state::private_file;
use crate::state::surface;
use config::{clock, model_choice, place, raise, settings, vendor_keys};
use control::examples::{Example, ExampleFolder};
use control::exit::{Exit, Failure};
use control::folders::FolderList;
use control::protocol::{OnBehalf, Request, Response};
use control::run_line::{ChangedFile, RunLine};
use control::sessions::{SessionAct, SessionRow};
use control::settings_report::SettingsReport;
use control::talk::{ChatPartner, ChatSetup, Talker, WorkerUse};
use kernel::budget::Raise;
use kernel::event::Surface;
use kernel::{BlobHash, MessageNumber, RunNumber};
use resource::Endowment;

/// The web pages, whether or not they are open.
pub struct WebPages {
    path: PathBuf,
    open: Mutex<Option<OpenPages>>,
}

/// The web pages while they are served.
struct OpenPages {
    site: Arc<Site>,
    thread: JoinHandle<()>,
    /// The settings with which the pages were opened.
    settings: Option<settings::Web>,
}

impl OpenPages {
    fn end(self) {
        self.site.end();
        // A panic of the thread needs no handling here.
        let _ = self.thread.join();
    }
}

impl WebPages {
    /// Returns the pages for a daemon with this state directory. They are not open yet.
    pub fn new(state: &Path) -> WebPages {
        WebPages { path: web_file::path(state), open: Mutex::new(None) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<OpenPages>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the pages if they are not open, and returns an address that admits one browser.
    ///
    /// # Errors
    /// When no port is available, or the state file cannot be read or written.
    pub fn open(&self, services: &Services, to: &str, under: HostKind) -> Result<String, Failure> {
        self.open_site(services)?.link(under, to)
    }

    /// Opens the pages if they are not open, and returns the address of a page. It lets nobody in.
    ///
    /// # Errors
    /// When no port is available, or the state file cannot be read or written.
    pub fn address(&self, services: &Services, to: &str) -> Result<String, Failure> {
        self.open_site(services)?.address(HostKind::Name, to)
    }

    /// Opens the pages if they are not open, or if their settings have changed.
    fn open_site(&self, services: &Services) -> Result<Arc<Site>, Failure> {
        let mut open = self.lock();
        web_file::restrict_permissions(&self.path);
        let settings = web_settings(services)?;
        if open.as_ref().is_none_or(|open| open.thread.is_finished() || open.settings != settings) {
            // The new settings may name the present port, so it must be released first.
            if let Some(before) = open.take() {
                before.end();
            }
            *open = Some(self.start(services, settings)?);
        }
        match open.as_ref() {
            Some(open) => Ok(Arc::clone(&open.site)),
            None => Err(Failure::new(Exit::Failure, "the pages are closed")),
        }
    }

    /// Opens the pages again if there are sessions, because a browser may still show a page, or if there are passkeys,
    /// because a browser may log in with one.
    pub fn resume(&self, services: &Services) {
        let is_used = |sessions: &Sessions| {
            sessions.open(clock::now_ms()).next().is_some() || sessions.passkeys.all().next().is_some()
        };
        if self.read_file().is_ok_and(|kept| is_used(&kept.sessions)) {
            match web_settings(services).and_then(|settings| self.start(services, settings)) {
                Ok(started) => *self.lock() = Some(started),
                Err(failure) => log::line(&format!("the web pages: {}", failure.message.visible_line())),
            }
        }
    }

    /// Lists the sessions, or ends some. Returns the remaining sessions.
    ///
    /// # Errors
    /// When no session has the number, or the state file cannot be read or written.
    pub fn sessions(&self, act: SessionAct) -> Result<Vec<SessionRow>, Failure> {
        let end = |sessions: &mut Sessions| match act {
            SessionAct::List => Ok(()),
            SessionAct::Revoke { number } if sessions.revoke(number) => Ok(()),
            SessionAct::Revoke { number } => {
                Err(Failure::new(Exit::NotFound, format!("cannot end session {number}: it is not open"))
                    .help("`almoner sessions` lists them"))
            }
            SessionAct::RevokeAll => {
                sessions.revoke_all();
                sessions.remove_passkeys();
                Ok(())
            }
        };
        let open = self.lock();
        if let Some(open) = open.as_ref() {
            open.site.change(end)??;
            return Ok(session_rows(&open.site.sessions()));
        }
        let mut kept = self.read_file()?;
        end(&mut kept.sessions)?;
        if act != SessionAct::List {
            private_file::write(&self.path, &kept)?;
        }
        Ok(session_rows(&kept.sessions))
    }

    /// Returns whether a browser shows a page.
    pub fn has_viewer(&self) -> bool {
        self.lock().as_ref().is_some_and(|open| open.site.is_looked_at())
    }

    /// Closes the pages.
    pub fn end(&self) {
        let open = self.lock().take();
        if let Some(open) = open {
            open.end();
        }
    }

    fn start(&self, services: &Services, settings: Option<settings::Web>) -> Result<OpenPages, Failure> {
        let mut kept = self.read_file()?;
        let listened = listen(settings.as_ref(), kept.port);
        // A program that takes the old port of these pages could receive their secrets: the cookie of a browser, and
        // the key in its page.
        let is_lost = match &listened {
            Ok(place) => place.address.port() != kept.port,
            Err(no) => no.address.port() == kept.port,
        };
        if kept.seed.is_empty() || is_lost {
            // A passkey is of no use under another name.
            kept.sessions.passkeys.forget(&Names::private_domain(&kept.seed));
            let mut bytes = [0; 6];
            random(&mut bytes)?;
            kept.seed = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            if kept.sessions.open(clock::now_ms()).next().is_some() {
                log::line("the web pages have left their port: all sessions have ended");
            }
            kept.sessions.revoke_all();
            private_file::write(&self.path, &kept)?;
        }
        let Listeners { address, listeners } = listened?;
        let names = match settings.as_ref().map(|web| &web.hosts).filter(|hosts| !hosts.is_empty()) {
            Some(hosts) => Names::behind_tls(hosts.clone()),
            None => Names::private(&kept.seed, address),
        };
        kept.port = address.port();
        private_file::write(&self.path, &kept)?;
        let backend = PagesBackend {
            services: services.clone(),
            path: self.path.clone(),
            seed: kept.seed.clone(),
            port: kept.port,
        };
        let site = Arc::new(Site::new(Arc::new(backend), names, kept.sessions));
        let served = Arc::clone(&site);
        let thread = std::thread::Builder::new().name("web".to_owned()).spawn(move || {
            if let Err(error) = serve(&served, listeners) {
                log::line(&format!("the web pages have ended: {error}"));
            }
        });
        let thread = thread.map_err(|error| BindError { address, error })?;
        Ok(OpenPages { site, thread, settings })
    }

    fn read_file(&self) -> Result<WebFile, Failure> {
        Ok(web_file::read(&self.path)?.unwrap_or_default())
    }
}

/// Returns the present settings of the pages.
fn web_settings(services: &Services) -> Result<Option<settings::Web>, Failure> {
    Ok(settings::read(&services.daemon.place.config.join(settings::FILE))?.web)
}

/// Returns the sessions that have not ended, newest first.
fn session_rows(sessions: &Sessions) -> Vec<SessionRow> {
    let row = |one: &Session| SessionRow {
        number: one.number,
        browser: one.browser.clone(),
        begun_ms: one.begun_ms,
        ends_ms: one.ends_ms,
        by_address: one.under == HostKind::Address,
    };
    sessions.open(clock::now_ms()).map(row).collect()
}

/// The listeners of the web pages.
struct Listeners {
    /// The address of the first listener.
    address: SocketAddr,
    listeners: Vec<TcpListener>,
}

/// Opens the listeners of the pages. They use the port in the settings, or else the previous port, or else any free
/// port. Other machines reach them only if the settings say that a proxy provides TLS.
fn listen(settings: Option<&settings::Web>, before: u16) -> Result<Listeners, BindError> {
    match settings.and_then(|web| web.bind.map(|address| (address, &web.hosts))) {
        // Browsers use the pages' own host name, which stands for both loopback addresses.
        Some((address, hosts)) if address.ip().is_loopback() && hosts.is_empty() => {
            let found = bind_local_port(address.port())?;
            let is_it = |one: &TcpListener| one.local_addr().is_ok_and(|own| own == address);
            match found.listeners.iter().any(is_it) {
                true => Ok(found),
                false => Err(BindError { address, error: ErrorKind::AddrNotAvailable.into() }),
            }
        }
        Some((address, _)) => bind(address),
        None if before == 0 => bind_any_port(),
        None => bind_local_port(before).or_else(|_| bind_any_port()),
    }
}

/// The maximum number of attempts to find a port that is free at both loopback addresses.
const MAX_PORT_TRIES: usize = 8;

/// Listens on any free local port.
fn bind_any_port() -> Result<Listeners, BindError> {
    (1..MAX_PORT_TRIES).find_map(|_| bind_local_port(0).ok()).map_or_else(|| bind_local_port(0), Ok)
}

/// Listens on a local port, at both loopback addresses. Browsers try IPv6 first, so no other program may listen
/// there.
fn bind_local_port(port: u16) -> Result<Listeners, BindError> {
    let mut old = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    match bind(SocketAddr::from((Ipv6Addr::LOCALHOST, old.address.port()))) {
        Ok(new) => old.listeners.extend(new.listeners),
        Err(no) if no.error.kind() == ErrorKind::AddrInUse => return Err(no),
        // The machine has no IPv6.
        Err(_) => {}
    }
    Ok(old)
}

fn bind(address: SocketAddr) -> Result<Listeners, BindError> {
    let bound = TcpListener::bind(address).and_then(|one| Ok((one.local_addr()?, one)));
    let (address, listener) = bound.map_err(|error| BindError { address, error })?;
    Ok(Listeners { address, listeners: vec![listener] })
}

/// An address at which the pages cannot be served.
struct BindError {
    address: SocketAddr,
    error: std::io::Error,
}

impl From<BindError> for Failure {
    fn from(no: BindError) -> Failure {
        let message = format!("the web pages cannot be served at {}: {}", no.address, no.error);
        Failure::new(Exit::Failure, message)
            .help("another program may have it: see `[web]` in docs/settings.md")
    }
}

/// The backend of the web pages: the daemon, and the state file.
struct PagesBackend {
    services: Services,
    path: PathBuf,
    seed: String,
    port: u16,
}

impl Backend for PagesBackend {
    fn ask(&self, session: u64, request: Request) -> Result<Response, Failure> {
        let asked = OnBehalf { agent: None, request };
        surface::over(Surface::Web { session }, || {
            dispatch::answer(&self.services, &vendor_keys::from_env(), asked)
        })
    }

    fn warning(&self) -> Option<Failure> {
        damage::warning(&self.services.daemon, &store::take_left_out())
    }

    fn follow(&self, after: u64, tell: &mut dyn FnMut(Option<Response>) -> bool) {
        // An error means that the browser has gone, which needs no report.
        let _ = follow(&self.services.daemon, &mut BrowserFollower(tell), after, true);
    }

    fn keep(&self, sessions: &Sessions) -> Result<(), Failure> {
        let (seed, port) = (self.seed.clone(), self.port);
        let kept = WebFile { seed, port, sessions: sessions.clone(), ..WebFile::default() };
        private_file::write(&self.path, &kept)
    }

    fn model(&self, named: Option<&str>) -> Result<String, Failure> {
        let named = match named {
            Some(named) => Some(named.to_owned()),
            None => settings::read(&self.services.daemon.place.config.join(settings::FILE))?.models.default,
        };
        let Some(text) = named else {
            return Err(Failure::new(
                Exit::Usage,
                "cannot choose a model: none is named, and the settings name none",
            )
            .help("write one, like `ollama:qwen3` or `local`, or let `almoner setup` find one"));
        };
        model_choice::named_on_a_page(&self.services.daemon.place, &text)
    }

    fn wanted(&self, with: &ChatPartner, purpose: WorkerUse) -> Result<ChatSetup, Failure> {
        chats::worker_setup(&self.services.daemon, with, purpose)
    }

    fn known_workers(&self, purpose: WorkerUse) -> Result<Vec<Talker>, Failure> {
        chats::known_workers(&self.services.daemon, purpose)
    }

    fn jobs(&self, model: &str) -> u32 {
        model_choice::jobs(model)
    }

    fn folders(&self, at: Option<&str>, ending: Option<&str>) -> Result<FolderList, Failure> {
        folder_list::list(&self.services.daemon.protected_paths, at, ending)
    }

    fn examples(&self) -> Vec<Example> {
        examples::all()
    }

    fn lay_out_example(&self, name: &str) -> Result<ExampleFolder, Failure> {
        examples::lay_out(name)
    }

    fn run_lines(&self, runs: &[RunNumber]) -> Result<Vec<RunLine>, Failure> {
        run_lines::run_lines(&self.services.daemon, runs)
    }

    fn changed_files(&self, run: RunNumber) -> Result<Option<BTreeSet<ChangedFile>>, Failure> {
        run_lines::files_of(&self.services.daemon, run)
    }

    fn notice(&self, number: MessageNumber) -> Option<String> {
        message_line::notice(&self.services.daemon, number).ok().flatten()
    }

    fn settings(&self) -> SettingsReport {
        settings::report::report(&self.services.daemon.place)
    }

    fn set_default_model(&self, model: &str) -> Result<(), Failure> {
        settings::edit::set_default_model(&self.services.daemon.place, model)
    }

    fn bring(&self, bytes: &[u8]) -> Result<BlobHash, Failure> {
        self.services.daemon.uploads().add(&self.services.daemon, bytes)
    }

    fn endowment(&self, text: &str) -> Result<Endowment, Failure> {
        proposal::parse_endowment(text)
    }

    fn raise(&self, said: &[(&str, String)]) -> Result<Option<Raise>, Failure> {
        let amounts = said.iter().map(|(option, text)| (*option, text.as_str()));
        raise::parse(amounts)
    }

    fn random(&self) -> Result<[u8; 32], Failure> {
        let mut bytes = [0; 32];
        random(&mut bytes)?;
        Ok(bytes)
    }

    fn waiting(&self) -> Result<usize, Failure> {
        runs::answer_count(&self.services.daemon)
    }

    fn home(&self) -> Option<String> {
        place::user_home()?.into_os_string().into_string().ok()
    }

    fn now_ms(&self) -> i64 {
        clock::now_ms()
    }
}

/// A follower in a browser.
struct BrowserFollower<'a>(&'a mut dyn FnMut(Option<Response>) -> bool);

impl Follower for BrowserFollower<'_> {
    fn send(&mut self, response: Response) -> std::io::Result<()> {
        if (self.0)(Some(response)) { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
    }

    fn is_closed(&mut self) -> bool {
        !(self.0)(None)
    }
}
