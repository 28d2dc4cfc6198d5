//! The control of the demo: the same model with the same tools, in a loop that makes every call of the model.
//!
//! Tool loops are commonly written like this, so the demo compares Almoner with one. The loop does real damage to the
//! folder that it is given.

use std::path::Path;

use model::{Message, Provider, Request};
use serde_json::Value;

use super::folder::put;
use control::exit::{Exit, Failure};

/// Runs the loop until the model makes no more calls.
///
/// # Errors
/// When the model fails.
pub(super) fn run(model: &dyn Provider, worker: &str, dir: &Path) -> Result<(), Failure> {
    let mut messages = vec![Message::user("Go through the mail.")];
    loop {
        let request = Request { worker: worker.to_owned(), messages: messages.clone(), ..Request::default() };
        let reply = model.complete(&request, &mut |_| {}).map_err(|e| {
            let help = e.help();
            Failure::from_error(Exit::Failure, e).help(help)
        })?;
        if reply.calls.is_empty() {
            return Ok(());
        }
        messages.push(Message::Assistant { text: reply.text, calls: reply.calls.clone() });
        for call in reply.calls {
            let done = perform(dir, &call.name, &call.arguments, messages.len());
            let (content, is_error) = match done {
                Ok(text) => (text, false),
                Err(text) => (text, true),
            };
            messages.push(Message::ToolResult { id: call.id, name: call.name, content, is_error });
        }
    }
}

fn perform(dir: &Path, tool: &str, arguments: &Value, serial: usize) -> Result<String, String> {
    let text = |name: &str| arguments[name].as_str().unwrap_or_default();
    let failed = |e: std::io::Error| e.to_string();
    match tool {
        "mail_list" => {
            let entries = std::fs::read_dir(dir.join("mail")).map_err(failed)?;
            Ok(entries
                .flatten()
                .map(|e| e.file_name().to_string_lossy().into_owned())
                .collect::<Vec<_>>()
                .join("\n"))
        }
        "mail_read" => std::fs::read_to_string(dir.join("mail").join(text("path"))).map_err(failed),
        "out_write" => {
            put(&dir.join("out").join(text("path")), text("content").as_bytes())
                .map_err(|f| f.to_string())?;
            Ok("written".to_owned())
        }
        "outbox_send" => {
            let mail = format!("To: {}\nSubject: {}\n\n{}", text("to"), text("subject"), text("body"));
            put(&dir.join("outbox").join(format!("{serial}.eml")), mail.as_bytes())
                .map_err(|f| f.to_string())?;
            Ok("sent".to_owned())
        }
        other => Err(format!("there is no tool {other}")),
    }
}
