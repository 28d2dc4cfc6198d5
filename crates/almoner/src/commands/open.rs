//! `almoner open`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use kernel::{MessageNumber, RunNumber};
use passable::visible_line;

use super::output;
use crate::cli::surfaces::OpenArgs;
use crate::client::{Client, unexpected};
use crate::place::{self, Place};
use control::exit::{Ended, Exit, Failure};
use control::protocol::{Request, Response};

/// What opens an address, the first that is there.
const OPENERS: &[&str] = &["xdg-open", "open"];

/// `almoner open`: the web pages, in a browser that is let in by it.
///
/// # Errors
/// When the daemon cannot be reached, or there is nothing that opens a browser.
pub fn open(place: &Place, args: &OpenArgs) -> Ended {
    let to = path(args.what.as_deref().unwrap_or("/"))?;
    let url = match Client::connect(place)?.ask(Request::Web { to })? {
        Response::Web(url) => url,
        other => return Err(unexpected(&other)),
    };
    if args.print {
        output::result(&url)?;
        output::note("it lets one browser in, once, within a minute");
        return Ok(Exit::Ok);
    }
    // Other users of this machine read the arguments of programs: the code goes by a file that only this one reads.
    let file = place.runtime.join("open.html");
    page(&place.runtime, &file, &url).map_err(|error| {
        Failure::new(Exit::Failure, format!("{}: {error}", file.display())).help("`almoner open --print`")
    })?;
    let opened = OPENERS.iter().any(|opener| {
        let mut command = Command::new(opener);
        command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    });
    if !opened {
        return Err(Failure::new(Exit::Failure, "no browser could be opened")
            .help("`almoner open --print` prints the address"));
    }
    Ok(Exit::Ok)
}

/// The path of what a person names.
fn path(what: &str) -> Result<String, Failure> {
    if let Ok(number) = what.parse::<MessageNumber>() {
        return Ok(format!("/m/{number}"));
    }
    if let Ok(run) = what.parse::<RunNumber>() {
        return Ok(format!("/r/{run}"));
    }
    if what.starts_with('/') && what.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(what.to_owned());
    }
    Err(Failure::new(Exit::Usage, format!("`{}` is no message, run or path", visible_line(what)))
        .help("`almoner open 7`, `almoner open r3`, or `almoner open` for the inbox"))
}

/// A page for this user alone that goes on to the address. It has hexadecimal digits and the path that was checked.
fn page(runtime: &Path, file: &Path, url: &str) -> std::io::Result<()> {
    place::private_dir(runtime)
        .map_err(|failure| std::io::Error::other(failure.message.visible_line().into_owned()))?;
    let quoted = url.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
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
    fn what_a_person_names_has_a_path() {
        for (what, expected) in [
            ("7", Some("/m/7")),
            ("#7", Some("/m/7")),
            ("r3", Some("/r/r3")),
            ("/grants", Some("/grants")),
            ("x", None),
            ("/a b", None),
        ] {
            assert_eq!(super::path(what).ok().as_deref(), expected, "{what}");
        }
    }
}
