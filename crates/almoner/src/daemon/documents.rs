//! What a person hands to a run, checked against what its worker takes, before anything is recorded.

use std::collections::BTreeSet;

use kernel::run::Attachment;
use passable::visible_line;
use worker::definition::Definition;

use control::exit::{Exit, Failure};
use control::protocol::RunRequest;

/// Whether there are as many documents as the worker takes.
///
/// # Errors
/// When there are not.
pub fn check_count(definition: &Definition, request: &RunRequest) -> Result<(), Failure> {
    let (count, most) = (request.documents.len(), definition.attachments.max as usize);
    if request.each.is_some() {
        if count == 0 && request.retry.is_none() {
            return Err(Failure::new(Exit::Usage, "`--each` needs files to work on")
                .help("name a directory or files after the worker"));
        }
        return Ok(());
    }
    if count > most {
        return Err(Failure::new(
            Exit::Invalid,
            format!("`{}` takes at most {most} documents, not {count}", definition.name),
        )
        .help("`--each` gives every document a run of its own"));
    }
    Ok(())
}

/// Documents are known by their names from here on.
///
/// # Errors
/// When two have the same.
pub fn check_names(taken: &[Attachment]) -> Result<(), Failure> {
    let mut names = BTreeSet::new();
    match taken.iter().find(|document| !names.insert(&document.name)) {
        None => Ok(()),
        Some(twice) => Err(Failure::new(
            Exit::Invalid,
            format!("two documents are called {}", visible_line(&twice.name)),
        )
        .help("rename one of them, or give each a run of its own")),
    }
}

/// Whether the documents are as large together as the worker takes them.
///
/// # Errors
/// When they are larger.
pub fn check_total(
    definition: &Definition,
    request: &RunRequest,
    taken: &[Attachment],
) -> Result<(), Failure> {
    let total: u64 = taken.iter().map(|a| a.bytes).sum();
    if request.each.is_none() && total > definition.attachments.bytes {
        return Err(Failure::new(
            Exit::Invalid,
            format!(
                "the documents have {total} bytes together, and {} are allowed",
                definition.attachments.bytes
            ),
        )
        .help("raise `attachments: { bytes: … }` in the worker file, or hand over less"));
    }
    Ok(())
}

/// Whoever talks comes to no end after which something could be done.
///
/// # Errors
/// When the worker works towards a result.
pub fn check_chat(definition: &Definition, request: &RunRequest) -> Result<(), Failure> {
    if !request.chat
        || (definition.then.is_empty() && definition.write.is_empty() && definition.output.is_none())
    {
        return Ok(());
    }
    let message = format!("`{}` works towards a result: it has `output`, `then` or `write`", definition.name);
    Err(Failure::new(Exit::Invalid, message).help("`almoner run` it; a worker to talk with answers in text"))
}
