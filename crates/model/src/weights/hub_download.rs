//! The download of weights from the model's own hub. It goes on where an earlier pull stopped.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use network::{Network, failure_reason};
use ureq::http::Response;

use super::Weights;
use super::pull::{PullError, file_error, pour, room};
use crate::request::Cancel;
use crate::served::address::origin;
use crate::served::agent;

/// The timeout for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum time for which a server may send nothing.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum number of redirects. Hubs redirect to a storage host.
const MAX_REDIRECTS: usize = 5;

/// Asks for the rest of the file, and follows redirects. Each server may need another way, and no key is ever sent.
fn follow(network: &Network, url: &str, have: u64) -> Result<Response<ureq::Body>, String> {
    let mut url = url.to_owned();
    for _ in 0..=MAX_REDIRECTS {
        let agent = agent(network, &url, CONNECT_TIMEOUT, SILENCE_TIMEOUT).map_err(|e| e.to_string())?;
        let mut request = agent.get(&url).header("accept-encoding", "identity");
        if have > 0 {
            request = request.header("range", format!("bytes={have}-"));
        }
        let response = request.call().map_err(|e| failure_reason(&e))?;
        if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok(response);
        }
        let location = response.headers().get("location").and_then(|value| value.to_str().ok());
        let next = location.map(|location| redirected(&url, location));
        let next = next.ok_or("it redirects to nowhere")??;
        if url.starts_with("https://") && !next.starts_with("https://") {
            return Err("it redirects to an address without encryption".to_owned());
        }
        url = next;
    }
    Err(format!("it redirects more than {MAX_REDIRECTS} times"))
}

/// Returns the address to which a server redirects.
fn redirected(from: &str, location: &str) -> Result<String, String> {
    match location {
        _ if location.starts_with("//") => {
            Ok(format!("{}:{location}", from.split_once(':').map_or("https", |(scheme, _)| scheme)))
        }
        _ if location.starts_with('/') => Ok(format!("{}{location}", origin(from))),
        _ if location.starts_with("https://") || location.starts_with("http://") => Ok(location.to_owned()),
        _ => Err("it redirects to an address that cannot be read".to_owned()),
    }
}

/// Fetches the rest of the file into `partial`, after the bytes that are there already.
pub(super) fn fetch(
    weights: &Weights,
    base_url: Option<&str>,
    network: &Network,
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
    let mut response = follow(network, &url, have).map_err(|reason| unreachable(&reason))?;
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
