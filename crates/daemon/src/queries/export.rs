//! The export of rows and bytes from the store, without the values of the vault.

use std::sync::Arc;

use kernel::{BlobHash, RunNumber};
use passable::to_base64;
use policy::Secrets;
use serde_json::Value;

use super::runs;
use crate::state::daemon::HostDaemon;
use crate::state::vault;
use control::exit::{Exit, Failure};
use control::protocol::Copy;

/// Returns a page of a run as JSON. If `from` is 0, the page is the run itself. Otherwise it has the run's steps,
/// beginning with step `from`.
///
/// # Errors
/// When there is no such run, or the store fails.
pub fn rows(daemon: &HostDaemon, run: RunNumber, from: u64) -> Result<Vec<Value>, Failure> {
    let strange = |e: serde_json::Error| Failure::from_error(Exit::Failure, e).help("`almoner doctor`");
    let mut rows = match from {
        0 => vec![serde_json::to_value(runs::load_run(daemon, run)?).map_err(strange)?],
        _ => {
            let steps = runs::steps(daemon, run, from, None)?;
            steps.iter().map(serde_json::to_value).collect::<Result<_, _>>().map_err(strange)?
        }
    };
    let secrets = vault_values(daemon)?;
    rows.iter_mut().for_each(|row| redact(&secrets, row));
    Ok(rows)
}

/// Returns the values of the vault. While the vault is locked, they are unknown, so nothing can be exported.
pub(super) fn vault_values(daemon: &HostDaemon) -> Result<Arc<Secrets>, Failure> {
    daemon.vault.reopen().map_err(vault::failure)?;
    Ok(daemon.secrets())
}

fn redact(secrets: &Secrets, row: &mut Value) {
    match row {
        Value::String(text) => *text = secrets.redact(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| redact(secrets, item)),
        Value::Object(fields) => fields.values_mut().for_each(|field| redact(secrets, field)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns a copy of a blob, or `None` if it is missing. Bytes that are not text and contain a value of the vault are
/// left out.
///
/// # Errors
/// When the blob is damaged, or the vault is locked.
pub fn copy(daemon: &HostDaemon, hash: &BlobHash) -> Result<Option<Copy>, Failure> {
    let bytes = match daemon.store.blobs().get(hash) {
        Ok(bytes) => bytes,
        Err(store::BlobError::NotFound { .. }) => return Ok(None),
        Err(e) => return Err(Failure::from_error(Exit::Failure, e).help("`almoner doctor`")),
    };
    let secrets = vault_values(daemon)?;
    let whole = Copy { text: None, base64: None, redacted: false };
    Ok(Some(match String::from_utf8(bytes) {
        Ok(text) => {
            let shown = secrets.redact(&text).into_owned();
            Copy { redacted: shown != text, text: Some(shown), ..whole }
        }
        Err(e) => {
            let bytes = e.into_bytes();
            let lossy = String::from_utf8_lossy(&bytes);
            let redacted = secrets.redact(&lossy) != lossy;
            Copy { base64: (!redacted).then(|| to_base64(&bytes)), redacted, ..whole }
        }
    }))
}
