//! The policies of the project of a worker.

use std::path::Path;

use passable::visible_line;

use config::policy_file::{self, NAME};
use control::exit::{Exit, Failure};
use control::protocol::WorkerSource;

/// Returns the text of the policy file beside the worker file. The file may come from others, so its policies may
/// only forbid.
///
/// # Errors
/// When the worker includes the file, or the file has an error.
pub fn project_policy(worker: &WorkerSource) -> Result<Option<String>, Failure> {
    if worker.includes.contains_key(NAME) {
        return Err(Failure::new(
            Exit::Invalid,
            format!("`{}` includes `{NAME}`", visible_line(&worker.name)),
        )
        .help("what that file says is judged by, and no part of a prompt; call the text something else"));
    }
    if let Some(text) = &worker.policy {
        policy_file::compile(Path::new(NAME), operator::PolicyOwner::Project, text, None)
            .map_err(|problems| policy_file::failure(&problems))?;
        return Ok(Some(text.clone()));
    }
    let Some(beside) = &worker.beside else { return Ok(None) };
    let loaded = policy_file::load(&Path::new(beside).join(NAME), operator::PolicyOwner::Project);
    loaded.map(|loaded| loaded.map(|(_, text)| text)).map_err(|problems| policy_file::failure(&problems))
}
