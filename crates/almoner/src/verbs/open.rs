//! `almoner open`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use kernel::{MessageNumber, RunNumber};
use passable::visible_line;

use crate::cli::maintenance::OpenArgs;
use crate::client::Client;
use crate::ui::output;
use config::place::{self, Place};
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Look, Request, Response};

/// The programs that open an address. The first one that succeeds is used.
const OPENERS: &[&str] = &["xdg-open", "open"];

/// Runs `almoner open`: opens the web pages in a browser, which is let in by the address.
///
/// # Errors
/// When the daemon cannot be reached, or no browser can be opened.
pub fn open(place: &Place, args: &OpenArgs) -> ExitResult {
    let what = OpenTarget::read(args.what.as_deref().unwrap_or("/"))?;
    let mut client = Client::connect(place)?;
    // A missing message or run is reported here, not by a browser.
    match &what {
        OpenTarget::Message(number) => {
            drop(client.ask(Request::Look { look: Look::Message { number: *number } })?)
        }
        OpenTarget::Run(run) => drop(client.ask(Request::GetRun { run: *run })?),
        OpenTarget::Path(_) => {}
    }
    let url = match client.ask(Request::Web { to: what.path(), by_address: args.loopback })? {
        Response::Web(url) => url,
        other => return Err(unexpected(&other)),
    };
    if args.loopback {
        output::note(
            "under the bare address, whatever listens on another port of this machine may be sent this browser's cookie, and \
             read these pages with it; `almoner sessions --revoke N` ends it",
        );
    }
    if args.print {
        output::result(&url)?;
        output::note("it lets one browser in, once, within a minute");
        return Ok(Exit::Ok);
    }
    let opened = show_page(place, "open.html", &url).map_err(|error| {
        let file = place.runtime.join("open.html");
        Failure::of_file("write", &file.to_string_lossy(), error)
            .help("`almoner open --print` prints the address")
    })?;
    if !opened {
        return Err(Failure::new(Exit::Failure, "cannot open a browser: no program here opens addresses")
            .help("`almoner open --print` prints the address"));
    }
    Ok(Exit::Ok)
}

/// Shows an address in a browser. Returns whether a browser could be opened.
///
/// Other users of this machine can read the arguments of programs. So the address is passed in a file that only this
/// user can read.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn show_page(place: &Place, name: &str, url: &str) -> std::io::Result<bool> {
    let file = place.runtime.join(name);
    write_redirect_page(&place.runtime, &file, url)?;
    Ok(OPENERS.iter().any(|opener| {
        let mut command = Command::new(opener);
        command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }))
}

/// The page that the user wants to see.
enum OpenTarget {
    Message(MessageNumber),
    Run(RunNumber),
    Path(String),
}

impl OpenTarget {
    fn read(what: &str) -> Result<OpenTarget, Failure> {
        if let Ok(number) = what.parse() {
            return Ok(OpenTarget::Message(number));
        }
        if let Ok(run) = what.parse() {
            return Ok(OpenTarget::Run(run));
        }
        // Two slashes begin an address of another host.
        if what.starts_with('/') && !what.starts_with("//") && !what.contains('\\') {
            // A name may contain characters that must be escaped in an address.
            let as_it_is = |byte: u8| byte.is_ascii_graphic();
            let written = what.bytes().map(|byte| match as_it_is(byte) {
                true => char::from(byte).to_string(),
                false => format!("%{byte:02X}"),
            });
            return Ok(OpenTarget::Path(written.collect()));
        }
        Err(Failure::new(
            Exit::Usage,
            format!("cannot open `{}`: it is no message, run or path", visible_line(what)),
        )
        .help("`almoner open 7`, `almoner open r3`, or `almoner open` for the inbox"))
    }

    /// Returns the path of the page in its address.
    fn path(&self) -> String {
        match self {
            OpenTarget::Message(number) => format!("/m/{number}"),
            OpenTarget::Run(run) => format!("/r/{run}"),
            OpenTarget::Path(path) => path.clone(),
        }
    }
}

/// Writes a page that redirects to the address, and that only this user can read.
fn write_redirect_page(runtime: &Path, file: &Path, url: &str) -> std::io::Result<()> {
    place::private_dir(runtime)
        .map_err(|failure| std::io::Error::other(failure.message.visible_line().into_owned()))?;
    let quoted = url.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('\'', "&#39;");
    let text = format!(
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={quoted}\"><title>Almoner</title>"
    );
    let mut kept = tempfile::NamedTempFile::new_in(runtime)?;
    kept.write_all(text.as_bytes())?;
    kept.persist(file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn open_target_is_resolved_to_a_path() {
        for (what, expected) in [
            ("7", Some("/m/7")),
            ("#7", Some("/m/7")),
            ("r3", Some("/r/r3")),
            ("/grants", Some("/grants")),
            ("x", None),
            ("/names/a b", Some("/names/a%20b")),
            ("/names/имя", Some("/names/%D0%B8%D0%BC%D1%8F")),
            ("/names/%D0%B8", Some("/names/%D0%B8")),
            ("//elsewhere.example/", None),
            ("/\\elsewhere.example/", None),
        ] {
            let path = super::OpenTarget::read(what).ok().map(|what| what.path());
            assert_eq!(path.as_deref(), expected, "{what}");
        }
    }
}
