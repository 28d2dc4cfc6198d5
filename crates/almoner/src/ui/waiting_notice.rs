//! The note about waiting messages, printed before the output of a command at a terminal.

use std::io::{BufReader, IsTerminal as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::output;
use crate::cli::Verb;
use config::place::{Place, SocketPath};
use control::frame;
use control::protocol::{ClientKeys, Hello, Response, VERSION};
use control::show::waiting::waiting;

/// The maximum time that the notice may delay a command.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(200);

/// Prints the number of waiting messages, if a person sees the output. Commands that show or answer messages print no
/// notice. No daemon is started for it.
pub fn print_notice(place: &Place, verb: &Verb) {
    if !is_at_terminal() || shows_waiting(verb) {
        return;
    }
    if let Some(line) = query_waiting(place).and_then(|count| waiting(count, None)) {
        output::report(&line);
    }
}

/// Returns whether a person reads the output: both streams are terminals, and `--json` is not given.
fn is_at_terminal() -> bool {
    std::io::stdout().is_terminal()
        && std::io::stderr().is_terminal()
        && !std::env::args_os().any(|argument| argument == "--json")
}

fn shows_waiting(verb: &Verb) -> bool {
    matches!(
        verb,
        Verb::Inbox(_)
            | Verb::Approve(_)
            | Verb::Deny(_)
            | Verb::Outcome(_)
            | Verb::Status(_)
            | Verb::Daemon(_)
            | Verb::Demo(_)
            | Verb::Stop
            | Verb::ModelHost { .. }
            | Verb::VatHost
    )
}

/// Returns a connection, or `None` if no daemon accepts it at once. A busy daemon is not waited for.
fn connect(place: &Place) -> Option<UnixStream> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    let path = SocketPath::new(&place.socket()).ok()?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path.as_path()).ok()?).ok()?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false).ok()?;
    Some(stream)
}

/// Returns the number of waiting messages from a daemon's greeting. Returns `None` if the daemon is stuck, old or
/// absent.
fn query_waiting(place: &Place) -> Option<usize> {
    let mut stream = connect(place)?;
    let listener = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    if listener.uid != rustix::process::getuid() {
        return None;
    }
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    let hello = Hello { version: VERSION, build: config::build::id(), keys: ClientKeys::new() };
    frame::write(&mut stream, &hello).ok()?;
    match frame::read(&mut BufReader::new(stream)).ok()? {
        Some(Response::Welcome { waiting, .. }) => Some(waiting),
        _ => None,
    }
}
