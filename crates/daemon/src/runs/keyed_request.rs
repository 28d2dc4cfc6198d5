//! Requests for runs with a key. A repetition of such a request gets the run that exists, and a different request with
//! the same key is refused.

use kernel::BlobHash;
use kernel::run::Attachment;
use kernel::run_key::{KeyedRequest, RequestPart, RunKey};
use kernel::{RunNumber, Value, query, table};
use serde::Serialize;
use worker::definition::Bundle;

use super::documents::{DocumentImporter, DocumentSource};
use super::project_policy::project_policy;
use crate::state::daemon::HostDaemon;
use crate::state::worker_files;
use control::exit::{Exit, Failure};
use control::protocol::{Document, RunRequest, StartShape, StartSpec, WorkerSource};

/// Separates the digests of parts from all other hashes.
const CONTEXT: &str = "almoner run key v1";

/// Returns the run that an earlier request with the same key has started. A dry run uses no key.
///
/// Nothing is bound for that. So the run is found also when its directories have moved, or its model is gone.
///
/// # Errors
/// When the earlier request differs, or a document cannot be read.
pub fn find_run(daemon: &HostDaemon, request: &RunRequest) -> Result<Option<RunNumber>, Failure> {
    let Some(key) = request.key.as_ref().filter(|_| !request.spec.dry_run) else { return Ok(None) };
    let owner = daemon.host.number;
    // Documents are read for a key that exists, and otherwise only once, for the run.
    if daemon.read(|txn| table::keyed_run(txn, &owner, key))?.is_none() {
        return Ok(None);
    }
    let bundle = worker_files::bundle_of(&request.worker);
    let documents = source_digests(daemon, &bundle, &request.spec)?;
    let policy = project_policy(&request.worker)?;
    let parts = RequestParts { worker: &request.worker, policy: policy.as_deref(), spec: &request.spec };
    let request = parts.keyed(key.clone(), documents)?;
    daemon.query(|txn| query::keyed_run(txn, &owner, &request))
}

/// Returns the digests of the documents of a request, without storing or converting any.
fn source_digests(daemon: &HostDaemon, bundle: &Bundle, spec: &StartSpec) -> Result<Vec<String>, Failure> {
    let definition = worker_files::parse(bundle)?;
    // The kinds of documents that a model takes do not matter for bytes that no model is shown.
    let reader = DocumentImporter::new(daemon, &definition, "", true);
    let is_batch = matches!(spec.shape, StartShape::Each { .. });
    let digest_of = |source| match reader.source(source) {
        Err(failure) if !is_batch => Err(failure),
        read => Ok(source_digest(source, read.ok())),
    };
    spec.documents.iter().map(digest_of).collect()
}

/// Returns the digests of the documents of a request that were stored for a run.
pub fn stored_digests(
    reader: &DocumentImporter<'_>,
    sources: &[Document],
    stored: &[Attachment],
) -> Vec<String> {
    let digest_of = |(source, document): (&Document, &Attachment)| match &document.rejected {
        // The bytes of a document that cannot be converted are not stored.
        Some(rejected) if !rejected.is_read => source_digest(source, reader.source(source).ok()),
        _ => document_digest(&document.name, Some(document.hash)),
    };
    sources.iter().zip(stored).map(digest_of).collect()
}

fn source_digest(source: &Document, read: Option<DocumentSource>) -> String {
    document_digest(&DocumentImporter::name_of(source), read.map(|read| BlobHash::of(&read.bytes)))
}

/// Returns the digest of a document. `hash` is `None` for a file that cannot be read.
fn document_digest(name: &str, hash: Option<BlobHash>) -> String {
    digest(&(name, hash)).unwrap_or_default()
}

/// The parts of a request that decide about the result of its run.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'a> {
    /// The worker.
    pub worker: &'a WorkerSource,
    /// The policies beside the worker.
    pub policy: Option<&'a str>,
    /// The options. The model is the one that the client chose.
    pub spec: &'a StartSpec,
}

impl RequestParts<'_> {
    /// Returns the request with its key and the digests of its parts.
    ///
    /// The numbers of items at work and of items that wait are no parts, because they only decide about the order of
    /// the work.
    ///
    /// # Errors
    /// When a part cannot be written as JSON.
    pub fn keyed(&self, key: RunKey, documents: Vec<String>) -> Result<KeyedRequest, Failure> {
        let RequestParts { worker, policy, spec } = *self;
        let mut parts = Vec::new();
        let mut add = |name: String, digest: String| parts.push(RequestPart { name, digest });
        let WorkerSource { name, source, includes, beside, policy: earlier_policy } = worker;
        add("worker".to_owned(), digest(&(name, source, includes, beside))?);
        add("policy beside its worker".to_owned(), digest(&(policy, earlier_policy))?);
        for (name, value) in &spec.values {
            // The order of the fields of a record does not matter.
            let value = Value::from_json(value).map_err(|error| Failure::from_error(Exit::Invalid, error))?;
            add(format!("input `{name}`"), digest(&value.to_json())?);
        }
        // The documents of a retry are those of the earlier run.
        if spec.retry.is_none() {
            for (index, digest) in documents.into_iter().enumerate() {
                add(format!("document {}", index + 1), digest);
            }
        }
        for endowment in &spec.endow {
            add(format!("content of its slot `{}`", endowment.slot), digest(&endowment.fill)?);
        }
        let mut allow = spec.allow.clone();
        allow.sort();
        add("list of allowed methods".to_owned(), digest(&allow)?);
        let shape = match spec.shape {
            StartShape::Single => "single",
            StartShape::Chat => "chat",
            StartShape::Each { .. } => "each",
        };
        add("shape".to_owned(), digest(&shape)?);
        add("rule about private data".to_owned(), digest(&spec.private)?);
        add("set of limits".to_owned(), digest(&spec.limits)?);
        add("run to retry".to_owned(), digest(&spec.retry)?);
        add("model".to_owned(), digest(&spec.model)?);
        Ok(KeyedRequest { key, parts })
    }
}

/// Returns the digest of a part, over its JSON.
fn digest<T: Serialize>(part: &T) -> Result<String, Failure> {
    let json = serde_json::to_vec(part).map_err(|error| Failure::from_error(Exit::Invalid, error))?;
    Ok(BlobHash::of(&[CONTEXT.as_bytes(), &json].concat()).to_string())
}
