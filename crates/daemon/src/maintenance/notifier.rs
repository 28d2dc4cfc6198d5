//! The notifier. It runs a command of the user's when a message waits for a person.
//!
//! The store lists all waiting messages. This module only remembers the position up to which it has read. So a new
//! daemon notifies once about all waiting messages, and misses none that arrived while no daemon was running.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Weak;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kernel::txn::{ReadTxn, StoreFault};
use kernel::{FormulaId, HostRun, MessageNumber, RunNumber, query, table};

use crate::queries::message_line;
use crate::state::daemon::{Daemon, HostDaemon};
use crate::state::log;
use config::place::Place;
use config::settings::{self, Notify, SettingsWatcher};
use control::exit::Failure;
use control::show::waiting::{MAX_ITEMS, waiting};

/// The time between two checks for new messages. Messages within this time share a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum time for which the command may run.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of bytes of the command's output that are kept.
const MAX_OUTPUT_BYTES: usize = 2 << 10;

/// The environment variables that the command gets from the daemon. They are enough to reach the user's screen.
const VARIABLES: [&str; 6] =
    ["HOME", "PATH", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"];

/// Returns the address of a page from its path. The address lets nobody in.
pub type PageAddress = Box<dyn Fn(&str) -> Result<String, Failure> + Send>;

/// The thread that sends notifications until the daemon ends.
#[must_use]
pub struct Notifier(Option<JoinHandle<()>>);

impl Notifier {
    /// Waits until the thread has ended. By then the daemon has been told to end, so a running command is ended at
    /// once.
    pub fn end(self) {
        if let Some(thread) = self.0 {
            // A panic of the thread has already been reported.
            let _ = thread.join();
        }
    }
}

/// Starts the notifier.
pub fn start(daemon: &HostDaemon, place: &Place, address: PageAddress) -> Notifier {
    let (shared, host) = (daemon.shared(), daemon.host);
    let settings = SettingsWatcher::new(settings::path(place));
    let watch = move || {
        let (first_unseen, seen_stalls) = (BTreeMap::new(), BTreeSet::new());
        NotifierLoop { shared, host, settings, address, first_unseen, seen_stalls, commits: None }.run_loop()
    };
    match std::thread::Builder::new().name("notify".to_owned()).spawn(watch) {
        Ok(thread) => Notifier(Some(thread)),
        Err(e) => {
            log::line(&format!("nobody will be notified: {e}"));
            Notifier(None)
        }
    }
}

/// The number of waiting messages, and the newest of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WaitingCounts {
    /// The number for the store's own host, at most [`MAX_ITEMS`].
    own: usize,
    /// The number for other hosts.
    others: usize,
    /// The newest message.
    newest: Option<MessageNumber>,
    /// The number of stalled runs of all hosts.
    stalled: usize,
    /// The only stalled run, if it is one of the store's own host.
    only_stalled: Option<RunNumber>,
    /// Whether any of the messages has arrived since the last check, or any of the runs has stalled since.
    new: bool,
}

struct NotifierLoop {
    shared: Weak<Daemon>,
    host: FormulaId,
    settings: SettingsWatcher,
    address: PageAddress,
    /// The first message of each host that no notification has covered.
    first_unseen: BTreeMap<FormulaId, MessageNumber>,
    /// The stalled runs that a notification has covered, each with the number of steps at that time.
    seen_stalls: BTreeSet<(HostRun, u64)>,
    /// The number of commits in the store at the last check.
    commits: Option<u64>,
}

impl NotifierLoop {
    fn run_loop(mut self) {
        // The thread holds no reference to the daemon while it waits, so that the daemon can end.
        while let Some(shared) = self.shared.upgrade().filter(|shared| !shared.is_stopping()) {
            let (settings, failure) = self.settings.reload();
            if let Some(failure) = failure {
                log::line(&format!(
                    "settings: {} (what was read last holds)",
                    failure.message.visible_line()
                ));
            }
            match settings.notify.clone() {
                None => {
                    self.first_unseen.clear();
                    self.seen_stalls.clear();
                    self.commits = None;
                    shared.notices.set(None);
                    shared.news.wait_for_end(POLL_INTERVAL);
                }
                Some(notify) => self.notify_if_new(shared, &notify),
            }
        }
    }

    /// Checks for new messages. If there are any, waits a moment for more, and then sends one notification for all.
    fn notify_if_new(&mut self, shared: std::sync::Arc<Daemon>, notify: &Notify) {
        let commits = shared.store.stats().commits;
        let known = self.commits.replace(commits) == Some(commits);
        if known || !self.waiting(&shared).is_some_and(|waiting| waiting.new) {
            return shared.news.wait_for_end(POLL_INTERVAL);
        }
        shared.news.wait_for_end(POLL_INTERVAL);
        // All messages may have been answered in the meantime.
        let Some(now) = self.waiting(&shared).filter(|now| now.own + now.others + now.stalled > 0) else {
            return;
        };
        let subject = self.subject(&shared, &now);
        drop(shared);
        let number = now.newest.map(|number| number.to_string()).unwrap_or_default();
        let count = now.own + now.others + now.stalled;
        let url = if notify.has_url() { self.page_url(&now) } else { String::new() };
        let words = notify.filled(&notice_text(&now, subject), &number, &count.to_string(), &url);
        let how = self.run(&words);
        if let Err(what) = &how {
            log::line(&format!("notify: {what}"));
        }
        if let Some(shared) = self.shared.upgrade() {
            shared.notices.set(Some(how));
        }
    }

    /// Returns the address of the page that the notification is about. It is empty if the pages cannot be served.
    fn page_url(&self, now: &WaitingCounts) -> String {
        (self.address)(&page_path(now)).unwrap_or_else(|failure| {
            log::line(&format!("notify: there is no address: {}", failure.message.visible_line()));
            String::new()
        })
    }

    fn waiting(&mut self, shared: &Daemon) -> Option<WaitingCounts> {
        let (host, seen, stalls) = (self.host, &mut self.first_unseen, &mut self.seen_stalls);
        // Errors are ignored here, because other parts of the daemon report a store that cannot be read.
        shared
            .read(|txn| {
                let mut found = count(txn, &host, seen)?;
                count_stalled(txn, &host, stalls, &mut found)?;
                Ok(found)
            })
            .ok()
    }

    /// Returns the sentence about the waiting message, if exactly one waits and the store's own host must answer it.
    fn subject(&self, shared: &std::sync::Arc<Daemon>, now: &WaitingCounts) -> Option<String> {
        let number = now.newest.filter(|_| now.own == 1 && now.others == 0)?;
        // Without the sentence, the notification counts the message.
        message_line::notice(&HostDaemon::serving(shared, self.host), number).ok().flatten()
    }

    /// Runs the command. The first part of its output is logged.
    fn run(&self, words: &[String]) -> Result<(), String> {
        let [program, arguments @ ..] = words else { return Err("there is no command".to_owned()) };
        let failed = |e: std::io::Error| format!("`{program}` cannot be run: {e}");
        let (mut said, end) = std::io::pipe().map_err(failed)?;
        rustix::io::ioctl_fionbio(&said, true).map_err(|e| failed(e.into()))?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().current_dir("/").stdin(Stdio::null());
        command.envs(VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.stdout(end.try_clone().map_err(failed)?).stderr(end);
        // The command gets a process group of its own, so that the processes that it starts can be ended with it.
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        // The command value holds the write end of the pipe, which must be closed here.
        drop(command);
        let begun = Instant::now();
        let (mut kept, mut buffer) = (Vec::new(), [0; 1024]);
        let ended = loop {
            // All output is read, even beyond the part that is kept, so that the command never blocks on a full pipe.
            while let Ok(n @ 1..) = said.read(&mut buffer) {
                kept.extend_from_slice(
                    buffer.get(..n.min(MAX_OUTPUT_BYTES.saturating_sub(kept.len()))).unwrap_or_default(),
                );
                if begun.elapsed() > COMMAND_TIMEOUT {
                    break;
                }
            }
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if begun.elapsed() > COMMAND_TIMEOUT => {
                    break Err(format!("took more than {} s and was ended", COMMAND_TIMEOUT.as_secs()));
                }
                Ok(None) if self.shared.upgrade().is_none_or(|shared| shared.is_stopping()) => {
                    break Err("was ended with the daemon".to_owned());
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                Err(e) => break Err(e.to_string()),
            }
        };
        if ended.is_err() {
            end_group(&mut child);
        }
        // The rest of the output is still in the pipe.
        while kept.len() < MAX_OUTPUT_BYTES {
            let Ok(n @ 1..) = said.read(&mut buffer) else { break };
            kept.extend_from_slice(buffer.get(..n.min(MAX_OUTPUT_BYTES - kept.len())).unwrap_or_default());
        }
        let said = String::from_utf8_lossy(&kept).trim().to_owned();
        let said = if said.is_empty() { said } else { format!(": {said}") };
        match ended {
            Ok(status) if status.success() => {
                if !said.is_empty() {
                    log::line(&format!("notify: `{program}` said{said}"));
                }
                Ok(())
            }
            Ok(status) => Err(format!("`{program}` failed ({status}){said}")),
            Err(what) => Err(format!("`{program}` {what}{said}")),
        }
    }
}

/// Kills a command and the processes that it has started.
fn end_group(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    // The killed child must be waited for, or it would stay as a zombie.
    let _ = child.wait();
}

/// Returns the numbers of waiting messages, and whether any is new. Marks all of them as seen.
fn count(
    txn: &mut dyn ReadTxn,
    own: &FormulaId,
    seen: &mut BTreeMap<FormulaId, MessageNumber>,
) -> Result<WaitingCounts, StoreFault> {
    let mut found = WaitingCounts::default();
    for host in table::hosts(txn)? {
        let from = seen.get(&host).copied().unwrap_or(MessageNumber(0));
        let new = !query::awaiting(txn, &host, from, 1)?.is_empty();
        let newest = query::awaiting_below(txn, &host, None, MAX_ITEMS)?;
        seen.insert(host, query::next_number(txn, &host)?);
        if host == *own {
            found.own = newest.len();
            found.newest = newest.first().copied().or(found.newest);
        } else {
            found.others += newest.len();
            found.newest = found.newest.or(newest.first().copied());
        }
        found.new |= new;
    }
    Ok(found)
}

/// Adds the stalled runs of all hosts, and whether any of them is new. Marks all of them as seen. A run that goes on
/// and stalls again is new.
fn count_stalled(
    txn: &mut dyn ReadTxn,
    own: &FormulaId,
    seen: &mut BTreeSet<(HostRun, u64)>,
    found: &mut WaitingCounts,
) -> Result<(), StoreFault> {
    let mut now = BTreeSet::new();
    for host in table::hosts(txn)? {
        for run in query::stalled(txn, &host.number, MAX_ITEMS)? {
            let Some(row) = table::run(txn, &host.number, run)? else { continue };
            now.insert((HostRun { host, run }, row.next_step));
        }
    }
    found.stalled = now.len();
    found.only_stalled = match now.first() {
        Some((at, _)) if now.len() == 1 && at.host == *own => Some(at.run),
        _ => None,
    };
    found.new |= !now.is_subset(seen);
    *seen = now;
    Ok(())
}

/// Returns the text of the notification. The text contains nothing that others wrote.
fn notice_text(now: &WaitingCounts, subject: Option<String>) -> String {
    let stalled = match (now.stalled, now.only_stalled) {
        (0, _) => None,
        (_, Some(run)) => Some(format!("{run} has stalled: almoner resume {run}")),
        (1, None) => Some("1 run has stalled: almoner status".to_owned()),
        (count, None) => Some(format!("{count} runs have stalled: almoner status")),
    };
    match (stalled, now.own + now.others) {
        (None, _) => waiting_text(now, subject),
        (Some(stalled), 0) => stalled,
        (Some(stalled), _) => format!("{}; {stalled}", waiting_text(now, subject)),
    }
}

/// Returns the path of the page that the notification is about: of the only thing that waits, or else the inbox.
fn page_path(now: &WaitingCounts) -> String {
    match (now.own, now.others, now.stalled, now.newest, now.only_stalled) {
        (1, 0, 0, Some(number), _) => format!("/m/{number}"),
        (0, 0, _, _, Some(run)) => format!("/r/{run}"),
        _ => "/".to_owned(),
    }
}

fn waiting_text(now: &WaitingCounts, subject: Option<String>) -> String {
    if let (Some(subject), Some(number)) = (subject, now.newest) {
        return format!("{subject}: almoner inbox {number}");
    }
    match (waiting(now.own, now.newest.filter(|_| now.own == 1)), now.others) {
        (Some(own), 0) => own,
        (Some(own), others) => format!("{own}; {others} more for other hosts of yours"),
        (None, 1) => "1 thing waits for another host of yours".to_owned(),
        (None, others) => format!("{others} things wait for other hosts of yours"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notification_counts_messages_and_names_the_command() {
        let check = |own, others, newest: u64, expected: &str| {
            let newest = Some(MessageNumber(newest));
            let now = WaitingCounts { own, others, newest, new: true, ..WaitingCounts::default() };
            assert_eq!(notice_text(&now, None), expected);
        };
        check(1, 0, 42, "1 thing waits for you: almoner inbox 42");
        check(3, 0, 42, "3 things wait for you: almoner inbox");
        check(2, 1, 42, "2 things wait for you: almoner inbox; 1 more for other hosts of yours");
        check(0, 1, 42, "1 thing waits for another host of yours");
        check(0, 2, 42, "2 things wait for other hosts of yours");
        check(MAX_ITEMS, 0, 42, "100 things or more wait for you: almoner inbox");
        let one = WaitingCounts { own: 1, newest: Some(MessageNumber(42)), ..WaitingCounts::default() };
        let subject = Some("A worker wants to send 1 mail".to_owned());
        assert_eq!(notice_text(&one, subject), "A worker wants to send 1 mail: almoner inbox 42");
    }

    #[test]
    fn address_leads_to_the_only_thing_that_waits() {
        let check = |own, others, stalled, only: Option<u64>, expected: &str| {
            let (newest, only_stalled) = (Some(MessageNumber(42)), only.map(RunNumber));
            let now = WaitingCounts { own, others, newest, stalled, only_stalled, new: true };
            assert_eq!(page_path(&now), expected);
        };
        check(1, 0, 0, None, "/m/42");
        check(2, 0, 0, None, "/");
        check(1, 1, 0, None, "/");
        // The newest message is one of another host, whose numbers are its own.
        check(0, 1, 0, None, "/");
        check(0, 0, 1, Some(5), "/r/r5");
        check(1, 0, 1, Some(5), "/");
        check(0, 0, 2, None, "/");
    }

    #[test]
    fn notification_names_stalled_runs() {
        let check = |own, stalled, only: Option<u64>, expected: &str| {
            let (newest, only_stalled) = (Some(MessageNumber(42)), only.map(RunNumber));
            let now = WaitingCounts { own, newest, stalled, only_stalled, new: true, others: 0 };
            assert_eq!(notice_text(&now, None), expected);
        };
        check(0, 1, Some(5), "r5 has stalled: almoner resume r5");
        check(0, 1, None, "1 run has stalled: almoner status");
        check(0, 3, None, "3 runs have stalled: almoner status");
        check(1, 1, Some(5), "1 thing waits for you: almoner inbox 42; r5 has stalled: almoner resume r5");
    }
}
