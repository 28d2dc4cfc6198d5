//! The client side of the daemon's protocol, over a socket or within the daemon's process.

use kernel::run::{Run, Step};
use kernel::{BlobHash, RunNumber};
use passable::visible_line;

use crate::binding::SlotBinding;
use crate::exit::{Exit, Failure};
use crate::protocol::{Request, Response};

/// A way to ask the daemon on behalf of one agent.
pub trait Ask {
    /// Sends a request and returns the response.
    ///
    /// # Errors
    /// When the daemon refuses the request or cannot be reached.
    fn ask(&self, request: Request) -> Result<Response, Failure>;

    /// Returns a run.
    ///
    /// # Errors
    /// When no run has this number.
    fn run(&self, run: RunNumber) -> Result<Run, Failure> {
        match self.ask(Request::GetRun { run })? {
            Response::Run(run) => Ok(*run),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns all steps of a run.
    ///
    /// # Errors
    /// When no run has this number.
    fn journal(&self, run: RunNumber) -> Result<Vec<Step>, Failure> {
        let mut steps: Vec<Step> = Vec::new();
        loop {
            let from = steps.last().map_or(1, |step| step.number + 1);
            match self.ask(Request::Journal { run, from, limit: None })? {
                Response::Journal(page) if page.is_empty() => return Ok(steps),
                Response::Journal(page) => steps.extend(page),
                other => return Err(unexpected(&other)),
            }
        }
    }

    /// Returns the bindings of a run's slots.
    ///
    /// # Errors
    /// When no run has this number.
    fn bindings(&self, run: RunNumber) -> Result<Vec<SlotBinding>, Failure> {
        match self.ask(Request::Bindings { run })? {
            Response::Bindings(bindings) => Ok(bindings),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns stored bytes as text. `name` is the name of the bytes in an error message.
    ///
    /// # Errors
    /// When the bytes are not text or are not stored ([`Exit::Invalid`]).
    fn text(&self, hash: BlobHash, name: &str) -> Result<String, Failure> {
        match self.ask(Request::Blob { hash })? {
            Response::Blob(Some(text)) => Ok(text),
            Response::Blob(None) => {
                let message = format!("{} is no text and is not saved", visible_line(name));
                Err(Failure::new(Exit::Invalid, message).help("save a run over texts"))
            }
            other => Err(unexpected(&other)),
        }
    }
}

/// Returns the failure for a response that does not fit its request.
pub fn unexpected(response: &Response) -> Failure {
    let kind = serde_json::to_value(response)
        .ok()
        .and_then(|v| v.get("response").and_then(|r| r.as_str()).map(str::to_owned))
        .unwrap_or_default();
    Failure::new(Exit::NoDaemon, format!("the daemon answered `{kind}`, which makes no sense here"))
        .help("`almoner stop`, then try again")
}
