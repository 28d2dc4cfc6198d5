//! The download of weights from the model's own hub. It goes on where an earlier pull stopped.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use super::Weights;
use super::pull::{PullError, file_error, pour, room};
use crate::request::Cancel;
use crate::served::address::origin;

/// Fetches the rest of the file into `partial`, after the bytes that are there already.
pub(super) fn fetch(
    weights: &Weights,
    base_url: Option<&str>,
    partial: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<(), PullError> {
    let base = base_url.unwrap_or(weights.hub.base_url).trim_end_matches('/');
    let url = format!("{base}{}", weights.hub.path);
    let server = origin(&url);
    let mut file =
        OpenOptions::new().create(true).append(true).open(partial).map_err(|e| file_error(partial, &e))?;
    let mut have = file.metadata().map_err(|e| file_error(partial, &e))?.len();
    if have > weights.bytes {
        file.set_len(0).map_err(|e| file_error(partial, &e))?;
        have = 0;
    }
    if have == weights.bytes {
        return Ok(());
    }
    room(partial, weights.bytes - have)?;
    progress(have);

    let unreachable =
        |e: &dyn std::fmt::Display| PullError::Unreachable { server: server.clone(), reason: e.to_string() };
    // Hubs redirect to a storage host, so redirects are followed; no key is ever sent.
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_resolve(Some(Duration::from_secs(10)))
        .timeout_connect(Some(Duration::from_secs(10)))
        .timeout_recv_response(Some(Duration::from_secs(60)))
        .timeout_per_read(Some(Duration::from_secs(60)))
        .user_agent(concat!("almoner/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent();
    let mut request = agent.get(&url).header("accept-encoding", "identity");
    if have > 0 {
        request = request.header("range", format!("bytes={have}-"));
    }
    let mut response = request.call().map_err(|e| unreachable(&e))?;
    match response.status().as_u16() {
        206 if have > 0 => {
            let starts = response
                .headers()
                .get("content-range")
                .and_then(|value| value.to_str().ok())
                .is_some_and(|value| value.starts_with(&format!("bytes {have}-")));
            if !starts {
                return Err(unreachable(&"it resumed at another place than asked"));
            }
        }
        200 => {
            // The server does not resume a download, so the download begins again.
            file.set_len(0).map_err(|e| file_error(partial, &e))?;
            have = 0;
        }
        status => return Err(PullError::Status { server, status }),
    }
    let mut reader = response.body_mut().with_config().limit(u64::MAX).reader();
    let done = pour(&mut reader, &mut file, partial, have, weights.bytes, cancel, progress);
    match done {
        Ok(done) if done == weights.bytes => Ok(()),
        Ok(done) => Err(unreachable(&format!("it stopped after {done} bytes"))),
        Err(PullError::Unreachable { reason, .. }) => Err(unreachable(&reason)),
        Err(PullError::WrongFile { path, reason }) => {
            std::fs::remove_file(partial).map_err(|e| file_error(partial, &e))?;
            Err(PullError::WrongFile { path, reason })
        }
        Err(error) => Err(error),
    }
}
