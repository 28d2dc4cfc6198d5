//! `almoner trace RUN --request N`: exactly what a model was sent.

use kernel::RunNumber;
use serde_json::Value;

use crate::cli::TraceArgs;
use crate::session::Session;
use crate::session::questions;
use crate::ui::output;
use crate::ui::result_file::ResultFile;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Request, Response};
use control::sent_request::SentRequest;
use control::show::json;
use control::show::object_view::Reader;
use passable::visible_line;

/// Prints a request of a run to a model. A terminal gets it indented, a pipe gets its own bytes.
///
/// # Errors
/// When the run has made no such request, or the file cannot be written.
pub fn sent_request(acting: &Session<'_>, run: RunNumber, which: &str, args: &TraceArgs) -> ExitResult {
    let file = args.output.as_deref().map(ResultFile::new).transpose()?;
    let number = match which {
        questions::LAST_RUN => None,
        text => Some(text.parse().map_err(|_| {
            Failure::new(Exit::Usage, format!("`{}` is no number of a request", visible_line(text)))
                .help(format!("`almoner trace {run} --request 1` shows the first, `--request last` the last"))
        })?),
    };
    let sent = match acting.ask(Request::SentRequest { run, number })? {
        Response::SentRequest(sent) => *sent,
        other => return Err(unexpected(&other)),
    };
    if args.json.json {
        output::json(&sent)?;
        return Ok(Exit::Ok);
    }
    output::report(&heading(&sent));
    let body = sent.body.raw();
    match (file, output::reader()) {
        (Some(file), _) => file.write(body)?,
        (None, Reader::Program) => output::text(&json::without_controls(body))?,
        (None, Reader::Person) => {
            let pretty =
                serde_json::from_str::<Value>(body).and_then(|value| serde_json::to_string_pretty(&value));
            output::text(&json::escaped(pretty.as_deref().unwrap_or(body)))?;
        }
    }
    Ok(Exit::Ok)
}

/// Returns the lines about a request, which stand before its body.
fn heading(sent: &SentRequest) -> String {
    let model = visible_line(&sent.model);
    let mut lines = format!("request {} of {}, {}, to {model}\n", sent.number, sent.count, sent.step);
    match &sent.url {
        Some(url) => lines.push_str(&format!("POST {}\n", visible_line(url))),
        None => lines.push_str("the model runs in this program: this is the request as it is recorded\n"),
    }
    for (name, value) in &sent.headers {
        lines.push_str(&format!("{}: {}\n", visible_line(name), visible_line(value)));
    }
    if sent.url.is_some() && !sent.is_answered {
        lines.push_str("it has no answer yet: this is the form in which it is sent first\n");
    }
    if sent.redacted {
        lines.push_str(
            "redacted: values that the vault holds now are left out here; the model was sent them\n",
        );
    }
    lines
}
