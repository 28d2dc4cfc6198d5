//! The web pages of this daemon: their port, which opens when somebody asks for them, and their sessions, which
//! outlive it.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use clap::ValueEnum as _;
use gateway_web::backend::Backend;
use gateway_web::guard::names::Names;
use gateway_web::guard::sessions::{Session, Sessions, Under};
use gateway_web::serve::{Site, serve};

use super::brought::BroughtFiles;
use super::desk::Desk;
use super::follow::{Follower, follow};
use super::world::random;
use super::{log, proposed, request};
use crate::cli::MoreArgs;
use crate::cli::surfaces::Part;
use crate::clock;
use crate::commands::acting::Acting;
use crate::commands::{doctor, models, save};
use crate::settings;
use crate::web_file::{self, WebFile};
use control::endowment::Endowment;
use control::examined::{Examined, Saving};
use control::exit::{Exit, Failure};
use control::protocol::{Brought, OnBehalf, Request, Response};
use control::sessions::{SessionAct, SessionRow};
use kernel::budget::Raise;
use kernel::{BlobHash, RunNumber};

/// The pages, open or not.
pub struct WebPages {
    path: PathBuf,
    open: Mutex<Option<Open>>,
    /// What browsers have brought.
    pub brought: BroughtFiles,
}

/// The pages, as they are served.
struct Open {
    site: Arc<Site>,
    thread: JoinHandle<()>,
    /// What the settings said when they were opened.
    settings: Option<settings::Web>,
}

impl Open {
    fn end(self) {
        self.site.end();
        // One that has panicked is as good.
        let _ = self.thread.join();
    }
}

impl WebPages {
    /// The pages of the daemon whose state lies here.
    pub fn new(state: &Path) -> WebPages {
        WebPages { path: web_file::path(state), open: Mutex::new(None), brought: BroughtFiles::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the pages if they are not, and lets one browser in: the address for it.
    ///
    /// # Errors
    /// When no port can be had, or what is kept cannot be read or written.
    pub fn open(&self, desk: &Desk, to: &str, under: Under) -> Result<String, Failure> {
        let mut open = self.lock();
        let settings = web_settings(desk)?;
        if open.as_ref().is_none_or(|open| open.thread.is_finished() || open.settings != settings) {
            // The port that is had now may be the one that is wanted.
            if let Some(before) = open.take() {
                before.end();
            }
            *open = Some(self.start(desk, settings)?);
        }
        match open.as_ref() {
            Some(open) => open.site.link(under, to),
            None => Err(Failure::new(Exit::Failure, "the pages are closed")),
        }
    }

    /// Opens them again if there are sessions: somebody may have a page before them.
    pub fn resume(&self, desk: &Desk) {
        let has_sessions = self.kept().is_ok_and(|kept| kept.sessions.open(clock::now_ms()).next().is_some());
        if has_sessions {
            match web_settings(desk).and_then(|settings| self.start(desk, settings)) {
                Ok(started) => *self.lock() = Some(started),
                Err(failure) => log::line(&format!("the web pages: {}", failure.message.visible_line())),
            }
        }
    }

    /// Looks at the sessions, or ends some; those that are left.
    ///
    /// # Errors
    /// When there is none of this number, or what is kept cannot be read or written.
    pub fn sessions(&self, act: SessionAct) -> Result<Vec<SessionRow>, Failure> {
        let end = |sessions: &mut Sessions| match act {
            SessionAct::List => Ok(()),
            SessionAct::Revoke { number } if sessions.revoke(number) => Ok(()),
            SessionAct::Revoke { number } => {
                Err(Failure::new(Exit::NotFound, format!("there is no session {number}"))
                    .help("`almoner sessions` lists them"))
            }
            SessionAct::RevokeAll => {
                sessions.revoke_all();
                Ok(())
            }
        };
        let open = self.lock();
        if let Some(open) = open.as_ref() {
            open.site.change(end)??;
            return Ok(rows(&open.site.sessions()));
        }
        let mut kept = self.kept()?;
        end(&mut kept.sessions)?;
        if act != SessionAct::List {
            web_file::write(&self.path, &kept)?;
        }
        Ok(rows(&kept.sessions))
    }

    /// Whether a browser has a page before it.
    pub fn is_looked_at(&self) -> bool {
        self.lock().as_ref().is_some_and(|open| open.site.is_looked_at())
    }

    /// Closes them.
    pub fn end(&self) {
        let open = self.lock().take();
        if let Some(open) = open {
            open.end();
        }
    }

    fn start(&self, desk: &Desk, settings: Option<settings::Web>) -> Result<Open, Failure> {
        let mut kept = self.kept()?;
        if kept.seed.is_empty() {
            let mut bytes = [0; 6];
            random(&mut bytes)?;
            kept.seed = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        }
        let listeners = listen(settings.as_ref(), kept.port)?;
        let Some(first) = listeners.first() else { return Err(no_port(&ErrorKind::AddrNotAvailable.into())) };
        let address = first.local_addr().map_err(|error| no_port(&error))?;
        let names = match settings.as_ref().map(|web| &web.hosts).filter(|hosts| !hosts.is_empty()) {
            Some(hosts) => Names::behind_tls(hosts.clone()),
            None => Names::private(&kept.seed, address),
        };
        kept.port = address.port();
        kept.version = web_file::VERSION;
        web_file::write(&self.path, &kept)?;
        let backend =
            Pages { desk: desk.clone(), path: self.path.clone(), seed: kept.seed.clone(), port: kept.port };
        let site = Arc::new(Site::new(Arc::new(backend), names, kept.sessions));
        let served = Arc::clone(&site);
        let thread = std::thread::Builder::new().name("web".to_owned()).spawn(move || {
            if let Err(error) = serve(&served, listeners) {
                log::line(&format!("the web pages have ended: {error}"));
            }
        });
        let thread = thread.map_err(|error| no_port(&error))?;
        Ok(Open { site, thread, settings })
    }

    fn kept(&self) -> Result<WebFile, Failure> {
        Ok(web_file::read(&self.path)?.unwrap_or_default())
    }
}

/// What the settings say of the pages now.
fn web_settings(desk: &Desk) -> Result<Option<settings::Web>, Failure> {
    Ok(settings::read(&desk.config.join(settings::FILE))?.web)
}

/// The sessions that have not ended, newest first.
fn rows(sessions: &Sessions) -> Vec<SessionRow> {
    let row = |one: &Session| SessionRow {
        number: one.number,
        browser: one.browser.clone(),
        begun_ms: one.begun_ms,
        ends_ms: one.ends_ms,
        by_address: one.under == Under::Address,
    };
    sessions.open(clock::now_ms()).map(row).collect()
}

/// The port of the settings; else the one that was had before; else any. Only this machine reaches it, unless a proxy
/// that ends TLS is said to stand before it.
fn listen(settings: Option<&settings::Web>, before: u16) -> Result<Vec<TcpListener>, Failure> {
    if let Some(address) = settings.and_then(|web| web.bind) {
        return Ok(vec![TcpListener::bind(address).map_err(|error| no_port(&error))?]);
    }
    let had = if before == 0 { None } else { local(before).ok() };
    let found = had.map_or_else(|| (0..PORTS).map(|_| local(0)).find_map(Result::ok).ok_or(()), Ok);
    found.or_else(|()| local(0)).map_err(|error| no_port(&error))
}

/// How many ports are tried of which one is wanted in both of this machine's addresses.
const PORTS: usize = 8;

/// A port of this machine, in both of its addresses: browsers try the newer one first, and nobody else may stand there.
fn local(port: u16) -> std::io::Result<Vec<TcpListener>> {
    let old = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    let port = old.local_addr()?.port();
    match TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, port))) {
        Ok(new) => Ok(vec![old, new]),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Err(error),
        // A machine without it.
        Err(_) => Ok(vec![old]),
    }
}

fn no_port(error: &std::io::Error) -> Failure {
    Failure::new(Exit::Failure, format!("the web pages have no port: {error}"))
        .help("another program may have it: see `[web]` in docs/settings.md")
}

/// The daemon, as its pages see it.
struct Pages {
    desk: Desk,
    path: PathBuf,
    seed: String,
    port: u16,
}

impl Backend for Pages {
    fn ask(&self, request: Request) -> Result<Response, Failure> {
        request::answer(&self.desk, &Brought::new(), OnBehalf { agent: None, request })
    }

    fn follow(&self, after: u64, tell: &mut dyn FnMut(Option<Response>) -> bool) {
        // A browser that goes away is no trouble of ours.
        let _ = follow(&self.desk.daemon, &mut Browser(tell), after, true);
    }

    fn keep(&self, sessions: &Sessions) -> Result<(), Failure> {
        let (seed, port) = (self.seed.clone(), self.port);
        let kept = WebFile { version: web_file::VERSION, seed, port, sessions: sessions.clone() };
        web_file::write(&self.path, &kept)
    }

    fn model(&self, named: Option<&str>) -> Result<String, Failure> {
        let named = match named {
            Some(named) => Some(named.to_owned()),
            None => settings::read(&self.desk.config.join(settings::FILE))?.models.default,
        };
        let Some(text) = named else {
            return Err(Failure::new(Exit::Usage, "no model is named, and the settings name none")
                .help("write one, like `ollama:qwen3` or `local`, or let `almoner setup` find one"));
        };
        models::named_on_a_page(&self.desk.place, &text)
    }

    fn bring(&self, bytes: &[u8]) -> Result<BlobHash, Failure> {
        self.desk.web.brought.bring(&self.desk, bytes)
    }

    fn endowment(&self, text: &str) -> Result<Endowment, Failure> {
        proposed::typed(text)
    }

    fn raise(&self, said: &[(&str, String)]) -> Result<Option<Raise>, Failure> {
        MoreArgs::of(said)?.raise()
    }

    fn examine(&self, part: &str) -> Result<Vec<Examined>, Failure> {
        let part = Part::from_str(part, false)
            .map_err(|_| Failure::new(Exit::NotFound, "`almoner doctor` examines no such part"))?;
        Ok(doctor::examine(part, &self.desk.place))
    }

    fn save(&self, run: RunNumber, name: &str, dir: &str, write: bool) -> Result<Saving, Failure> {
        let dir = Path::new(dir);
        if !dir.is_absolute() {
            return Err(crate::place::not_whole(&dir.to_string_lossy()));
        }
        self.desk.own.keeps_from(dir)?;
        let saved = save::Saved::of(&Acting::new(&self.desk.place, None), run, name, dir)?;
        if write {
            saved.write(&self.desk.place)?;
        } else {
            saved.expect_free()?;
        }
        Ok(saved.told())
    }

    fn random(&self) -> Result<[u8; 32], Failure> {
        let mut bytes = [0; 32];
        random(&mut bytes)?;
        Ok(bytes)
    }

    fn now_ms(&self) -> i64 {
        clock::now_ms()
    }
}

/// A browser that follows.
struct Browser<'a>(&'a mut dyn FnMut(Option<Response>) -> bool);

impl Follower for Browser<'_> {
    fn tell(&mut self, response: Response) -> std::io::Result<()> {
        if (self.0)(Some(response)) { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
    }

    fn has_gone(&mut self) -> bool {
        !(self.0)(None)
    }
}
