//! The requests to models, as they were sent.

use kernel::run::{Entry, Run, Step};
use kernel::{BlobHash, RunNumber, StepRef};
use model::served::WireRequest;
use model::{Message, ModelRef, Reply, Request as ModelRequest};
use passable::{Untrusted, visible_line};
use serde::de::DeserializeOwned;
use worker::StoredRequestError;

use super::export;
use super::runs;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::sent_request::SentRequest;

/// Returns a request of a run to a model, by its number from 1. `None` means the last one.
///
/// # Errors
/// When the run has made no such request, or its bytes are gone. While the vault is locked.
pub fn sent_request(
    daemon: &HostDaemon,
    run: RunNumber,
    number: Option<u64>,
) -> Result<SentRequest, Failure> {
    let found = runs::load_run(daemon, run)?;
    let mut steps: Vec<Step> = Vec::new();
    runs::for_each_step(daemon, run, 1, |step| {
        if matches!(step.entry, Entry::Prompted { .. } | Entry::Replied { .. }) {
            steps.push(step);
        }
        true
    })?;
    let prompted: Vec<&Step> =
        steps.iter().filter(|step| matches!(step.entry, Entry::Prompted { .. })).collect();
    let count = prompted.len() as u64;
    let number = number.unwrap_or(count);
    let at = number.checked_sub(1).and_then(|at| usize::try_from(at).ok());
    let Some(step) = at.and_then(|at| prompted.get(at)) else {
        return Err(no_request(&found, number, count));
    };
    let Entry::Prompted { request, model } = &step.entry else {
        return Err(no_request(&found, number, count));
    };
    let fetch = |hash: &BlobHash| blob(daemon, hash);
    let mut asked: ModelRequest = worker::read_request(&fetch, request).map_err(unreadable)?;
    add_bytes(daemon, &mut asked)?;
    let reply = steps.iter().find_map(|other| match &other.entry {
        Entry::Replied { prompted, reply, model, .. } if *prompted == step.number => Some((reply, model)),
        _ => None,
    });
    let answer: Option<Reply> = reply.map(|(reply, _)| read(daemon, reply)).transpose()?;
    // One of several models answered. Without an answer, the first of them was asked first.
    let model = reply.and_then(|(_, by)| by.clone()).unwrap_or_else(|| model.clone());
    let reference = model::parse_list(&model).ok().and_then(|all| all.into_iter().next());
    let wire = reference.as_ref().and_then(|reference: &ModelRef| {
        WireRequest::new(reference, &asked, answer.as_ref().and_then(|answer| answer.dialect))
    });
    let (url, headers, body) = match wire {
        Some(wire) => (Some(wire.url), wire.headers, wire.body),
        None => {
            (None, vec![], serde_json::to_string(&asked).map_err(|e| Failure::from_error(Exit::Failure, e))?)
        }
    };
    let secrets = export::vault_values(daemon)?;
    let shown = secrets.redact(&body).into_owned();
    Ok(SentRequest {
        number,
        count,
        step: StepRef { run, step: step.number },
        model,
        url,
        headers,
        redacted: shown != body,
        body: Untrusted::new(shown),
        is_answered: answer.is_some(),
    })
}

/// Returns the text of stored bytes, or `None` if they are no text. A request to a model is put together from its
/// messages.
///
/// # Errors
/// When the bytes are gone or damaged.
pub fn stored_text(daemon: &HostDaemon, hash: &BlobHash) -> Result<Option<String>, Failure> {
    let not_found = |e: store::BlobError| Failure::from_error(Exit::NotFound, e);
    let fetch = |hash: &BlobHash| daemon.store.blobs().get(hash).map_err(not_found);
    let bytes = fetch(hash)?;
    match worker::request_json(&fetch, hash, &bytes).map_err(unreadable)? {
        Some(request) => Ok(Some(request.to_string())),
        None => Ok(String::from_utf8(bytes).ok()),
    }
}

fn unreadable(error: StoredRequestError<Failure>) -> Failure {
    match error {
        StoredRequestError::Fetch(failure) => failure,
        StoredRequestError::Unreadable => {
            Failure::new(Exit::Failure, "the stored request cannot be read").help("`almoner doctor`")
        }
    }
}

fn no_request(run: &Run, number: u64, count: u64) -> Failure {
    let name = run.number;
    let message = match count {
        0 => format!("{name} has sent no request to a model itself"),
        1 => format!("{name} has sent 1 request to a model, not {number}"),
        count => {
            format!("{name} has sent {count} requests to a model, numbered from 1: there is no {number}")
        }
    };
    let help = match count {
        0 => format!("`almoner trace {name} --tree` shows the runs that it started"),
        count => format!("`almoner trace {name} --request {count}` shows the last one"),
    };
    Failure::new(Exit::NotFound, message).help(help)
}

fn read<T: DeserializeOwned>(daemon: &HostDaemon, hash: &BlobHash) -> Result<T, Failure> {
    let bytes = blob(daemon, hash)?;
    serde_json::from_slice(&bytes).map_err(|e| Failure::from_error(Exit::Failure, e).help("`almoner doctor`"))
}

fn blob(daemon: &HostDaemon, hash: &BlobHash) -> Result<Vec<u8>, Failure> {
    daemon.store.blobs().get(hash).map_err(|e| match e {
        store::BlobError::NotFound { .. } => {
            Failure::new(Exit::NotFound, "the bytes of the request are gone: the run was forgotten")
                .help("`almoner runs` shows the other runs")
        }
        e => Failure::from_error(Exit::Failure, e).help("`almoner doctor`"),
    })
}

/// Adds the bytes of documents that are sent as files. Requests are stored without them.
fn add_bytes(daemon: &HostDaemon, request: &mut ModelRequest) -> Result<(), Failure> {
    for message in &mut request.messages {
        let Message::User { media, .. } = message else { continue };
        for document in media {
            let hash = document.blob.parse().map_err(|_| {
                let name = visible_line(&document.name);
                Failure::new(Exit::Failure, format!("the document {name} has no hash"))
                    .help("`almoner doctor`")
            })?;
            document.bytes = blob(daemon, &hash)?.into();
        }
    }
    Ok(())
}
