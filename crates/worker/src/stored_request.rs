//! Requests to a model, as the store keeps them: lists of messages, which are blobs of their own.
//!
//! Most requests of a run repeat the one before and add a few messages. So a list names the list before it, and only the
//! messages that follow. The store grows with the conversation, not with the sum of all requests.

use std::collections::HashSet;
use std::io;

use kernel::BlobHash;
use kernel::blob_list::REQUEST_LIST;
use kernel::run::Trouble;
use model::{Message, Request};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::driver_port::DriverPort;
use crate::trouble::internal;

/// The maximum number of lists that name each other. The next list names all its messages itself, so that a request is
/// read with few reads.
const MAX_CHAIN: u32 = 256;

/// A list as it is stored, after its first line.
#[derive(Serialize, Deserialize)]
struct RequestList {
    /// The request without its messages.
    head: BlobHash,
    /// The list of an earlier request, which begins with the same messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<BlobHash>,
    /// The number of messages that are those of the earlier request.
    #[serde(default)]
    shared: usize,
    /// The messages that follow.
    messages: Vec<BlobHash>,
    /// The number of bytes of the whole request.
    bytes: u64,
    /// The number of bytes that this request adds to the store.
    added: u64,
    /// The token limit of the reply. It changes with every request, so it is no part of the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    /// The number of lists before this one that are needed to read it.
    #[serde(default)]
    depth: u32,
}

/// The reason why a stored request cannot be read.
#[derive(Debug)]
pub enum StoredRequestError<E> {
    /// A part of it could not be fetched.
    Fetch(E),
    /// Its bytes are no request.
    Unreadable,
}

impl From<StoredRequestError<Trouble>> for Trouble {
    fn from(error: StoredRequestError<Trouble>) -> Trouble {
        match error {
            StoredRequestError::Fetch(trouble) => trouble,
            StoredRequestError::Unreadable => internal("a recorded request cannot be read"),
        }
    }
}

/// The messages of a stored request.
#[derive(Clone, Debug)]
pub(crate) struct RequestOutline {
    /// The hash of the list.
    pub(crate) list: BlobHash,
    head: BlobHash,
    messages: Vec<BlobHash>,
    depth: u32,
}

/// A request in the form in which it is stored.
pub(crate) struct StoredRequest {
    /// The outline, from which the next request is made.
    pub(crate) outline: RequestOutline,
    /// The blobs that are new, the list included.
    pub(crate) blobs: Vec<Vec<u8>>,
    /// The number of bytes in the new blobs.
    pub(crate) added: u64,
}

/// Counts bytes that are written.
#[derive(Default)]
struct ByteCounter(u64);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the number of bytes of a request as JSON.
pub(crate) fn size(request: &Request) -> Result<usize, Trouble> {
    let mut counter = ByteCounter::default();
    serde_json::to_writer(&mut counter, request).map_err(|e| internal(e.to_string()))?;
    Ok(usize::try_from(counter.0).unwrap_or(usize::MAX))
}

/// Returns a request in the form in which it is stored after the request `before`.
pub(crate) fn split(
    request: &Request,
    bytes: usize,
    before: Option<&RequestOutline>,
) -> Result<StoredRequest, Trouble> {
    let encode = |value: Result<Vec<u8>, serde_json::Error>| value.map_err(|e| internal(e.to_string()));
    let head_bytes = encode(serde_json::to_vec(&head_of(request)))?;
    let head = BlobHash::of(&head_bytes);
    let known: HashSet<&BlobHash> = before.iter().flat_map(|before| &before.messages).collect();
    let (mut blobs, mut messages) = (Vec::new(), Vec::new());
    let mut shared = 0;
    for (place, message) in request.messages.iter().enumerate() {
        let message_bytes = encode(serde_json::to_vec(message))?;
        let hash = BlobHash::of(&message_bytes);
        if shared == place && before.is_some_and(|before| before.messages.get(place) == Some(&hash)) {
            shared += 1;
        }
        if !known.contains(&hash) {
            blobs.push(message_bytes);
        }
        messages.push(hash);
    }
    if before.is_none_or(|before| before.head != head) {
        blobs.push(head_bytes);
    }
    let base = before.filter(|before| shared > 0 && before.depth < MAX_CHAIN);
    let depth = base.map_or(0, |base| base.depth + 1);
    let shared = if base.is_some() { shared } else { 0 };
    let mut list = RequestList {
        head,
        base: base.map(|base| base.list),
        shared,
        messages: messages.get(shared..).unwrap_or_default().to_vec(),
        bytes: bytes as u64,
        added: 0,
        max_tokens: request.max_tokens,
        depth,
    };
    list.added = blobs.iter().map(|blob| blob.len() as u64).sum();
    let list_bytes = [REQUEST_LIST, &encode(serde_json::to_vec(&list))?].concat();
    let added = list.added + list_bytes.len() as u64;
    let outline = RequestOutline { list: BlobHash::of(&list_bytes), head, messages, depth };
    blobs.push(list_bytes);
    Ok(StoredRequest { outline, blobs, added })
}

/// Returns a request without its messages and its token limit.
fn head_of(request: &Request) -> Request {
    Request {
        worker: request.worker.clone(),
        system: request.system.clone(),
        messages: vec![],
        tools: request.tools.clone(),
        output: request.output.clone(),
        max_tokens: None,
        max_bytes: None,
        temperature: request.temperature,
        cancel: request.cancel.clone(),
    }
}

/// Returns a stored request without the bytes of the documents that are sent as files.
///
/// # Errors
/// When a part cannot be fetched, or is no part of a request.
pub fn read_request<E>(
    fetch: &dyn Fn(&BlobHash) -> Result<Vec<u8>, E>,
    hash: &BlobHash,
) -> Result<Request, StoredRequestError<E>> {
    let (list, messages) = outline(fetch, hash)?;
    let get = |hash: &BlobHash| fetch(hash).map_err(StoredRequestError::Fetch);
    let mut request = parse::<Request, E>(&get(&list.head)?)?;
    request.max_tokens = list.max_tokens;
    for message in &messages {
        request.messages.push(parse::<Message, E>(&get(message)?)?);
    }
    Ok(request)
}

/// Returns a stored request as JSON, or `None` if the bytes are no list of a request.
///
/// # Errors
/// When a part cannot be fetched, or is no part of a request.
pub fn request_json<E>(
    fetch: &dyn Fn(&BlobHash) -> Result<Vec<u8>, E>,
    hash: &BlobHash,
    bytes: &[u8],
) -> Result<Option<Json>, StoredRequestError<E>> {
    if !bytes.starts_with(REQUEST_LIST) {
        return Ok(None);
    }
    let request = read_request(fetch, hash)?;
    serde_json::to_value(&request).map(Some).map_err(|_| StoredRequestError::Unreadable)
}

/// Returns the hashes of the blobs that a stored request names: its head, its messages, and the list before it. Returns an
/// empty list for other bytes.
pub fn request_parts(bytes: &[u8]) -> Vec<BlobHash> {
    let list = parse_list::<()>(bytes).ok();
    list.map_or_else(Vec::new, |list| [list.head].into_iter().chain(list.base).chain(list.messages).collect())
}

/// Returns the outline of a stored request.
pub(crate) fn read_outline(world: &dyn DriverPort, hash: &BlobHash) -> Result<RequestOutline, Trouble> {
    let (list, messages) = outline(&|hash| world.blob(hash), hash)?;
    Ok(RequestOutline { list: *hash, head: list.head, messages, depth: list.depth })
}

/// Returns the number of bytes of a stored request as JSON, and the number of bytes that it added to the store.
pub(crate) fn sizes(world: &dyn DriverPort, hash: &BlobHash) -> Result<(usize, u64), Trouble> {
    let bytes = world.blob(hash)?;
    let list = parse_list::<Trouble>(&bytes)?;
    Ok((usize::try_from(list.bytes).unwrap_or(usize::MAX), list.added + bytes.len() as u64))
}

/// Returns a list and the hashes of all messages of its request.
fn outline<E>(
    fetch: &dyn Fn(&BlobHash) -> Result<Vec<u8>, E>,
    hash: &BlobHash,
) -> Result<(RequestList, Vec<BlobHash>), StoredRequestError<E>> {
    let get = |hash: &BlobHash| fetch(hash).map_err(StoredRequestError::Fetch);
    let list = parse_list::<E>(&get(hash)?)?;
    let (mut base, mut parts) = (list.base, vec![(list.shared, list.messages.clone())]);
    while let Some(earlier) = base {
        let list = parse_list::<E>(&get(&earlier)?)?;
        base = list.base;
        parts.push((list.shared, list.messages));
    }
    let mut messages: Vec<BlobHash> = Vec::new();
    for (shared, more) in parts.into_iter().rev() {
        if shared > messages.len() {
            return Err(StoredRequestError::Unreadable);
        }
        messages.truncate(shared);
        messages.extend(more);
    }
    Ok((list, messages))
}

fn parse_list<E>(bytes: &[u8]) -> Result<RequestList, StoredRequestError<E>> {
    parse(bytes.strip_prefix(REQUEST_LIST).ok_or(StoredRequestError::Unreadable)?)
}

fn parse<T: serde::de::DeserializeOwned, E>(bytes: &[u8]) -> Result<T, StoredRequestError<E>> {
    serde_json::from_slice(bytes).map_err(|_| StoredRequestError::Unreadable)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// A store of blobs in memory.
    #[derive(Default)]
    struct Blobs(HashMap<BlobHash, Vec<u8>>);

    impl Blobs {
        /// Stores a request, and returns its outline and the number of bytes that it added.
        fn add(&mut self, request: &Request, before: Option<&RequestOutline>) -> (RequestOutline, u64) {
            let stored = split(request, size(request).unwrap(), before).unwrap();
            let before: usize = self.0.values().map(Vec::len).sum();
            self.0.extend(stored.blobs.into_iter().map(|blob| (BlobHash::of(&blob), blob)));
            let after: usize = self.0.values().map(Vec::len).sum();
            assert!((after - before) as u64 <= stored.added);
            (stored.outline, stored.added)
        }

        fn read(&self, hash: &BlobHash) -> Request {
            read_request(&|hash| self.0.get(hash).cloned().ok_or(*hash), hash).unwrap()
        }
    }

    fn request(messages: usize) -> Request {
        let message = |n: usize| match n % 2 {
            0 => Message::user(format!("question {n}")),
            _ => Message::Assistant { text: format!("answer {n}"), calls: vec![] },
        };
        Request {
            worker: "w".to_owned(),
            system: "Do it. é\u{2028}".to_owned(),
            messages: (0..messages).map(message).collect(),
            max_tokens: Some(100 + messages as u32),
            ..Request::default()
        }
    }

    /// Reported of other programs: langchain-ai/langgraph#7547 (each checkpoint keeps the whole conversation again),
    /// s2b-dev/smart-second-brain#431 (chat files grow quadratically).
    #[test]
    fn stored_requests_grow_linearly_and_read_back_exactly() {
        let (mut blobs, mut before, mut sums) = (Blobs::default(), None, vec![0]);
        let mut lists = Vec::new();
        for turn in 0..600 {
            let asked = request(2 * turn + 1);
            let (outline, added) = blobs.add(&asked, before.as_ref());
            lists.push((outline.list, asked));
            sums.push(sums.last().unwrap() + added);
            before = Some(outline);
        }
        for (list, asked) in &lists {
            let read = blobs.read(list);
            assert_eq!(serde_json::to_vec(&read).unwrap(), serde_json::to_vec(asked).unwrap());
        }
        let ratio = sums[200] as f64 / sums[100] as f64;
        assert!((1.9..2.1).contains(&ratio), "{ratio}: {} {}", sums[100], sums[200]);
        // Where a list names all its messages again, it is still small beside the requests between.
        let ratio = sums[600] as f64 / sums[300] as f64;
        assert!(ratio < 2.4, "{ratio}");
    }

    #[test]
    fn request_with_other_messages_shares_only_its_beginning() {
        let mut blobs = Blobs::default();
        let (first, _) = blobs.add(&request(9), None);
        // A shorter form of the conversation, another head, and a conversation without a common message.
        let mut shorter = request(9);
        shorter.messages[4] = Message::user("left out");
        let (second, _) = blobs.add(&shorter, Some(&first));
        let mut tools = request(9);
        tools.tools =
            vec![model::Tool { name: "t".to_owned(), description: String::new(), parameters: Json::Null }];
        let (third, _) = blobs.add(&tools, Some(&second));
        let other = Request { messages: vec![Message::user("x")], ..request(0) };
        let (fourth, _) = blobs.add(&other, Some(&third));
        let (fifth, _) = blobs.add(&request(0), Some(&fourth));
        for (outline, asked) in
            [(first, request(9)), (second, shorter), (third, tools), (fourth, other), (fifth, request(0))]
        {
            assert_eq!(blobs.read(&outline.list), asked);
            let parts = request_parts(&blobs.0[&outline.list]);
            assert!(parts.iter().all(|part| blobs.0.contains_key(part)), "every part is stored");
        }
    }

    #[test]
    fn list_that_is_damaged_or_incomplete_is_no_request() {
        let mut blobs = Blobs::default();
        let (first, _) = blobs.add(&request(3), None);
        let (second, _) = blobs.add(&request(5), Some(&first));
        let fetch = |blobs: &Blobs| {
            read_request(&|hash| blobs.0.get(hash).cloned().ok_or(()), &second.list).map(|_| ())
        };
        let base = blobs.0.remove(&first.list).unwrap();
        assert!(matches!(fetch(&blobs), Err(StoredRequestError::Fetch(()))));
        for broken in [b"".as_slice(), b"almoner request\n", b"almoner request\n{}", b"almoner tree 1\n"] {
            blobs.0.insert(first.list, broken.to_vec());
            assert!(matches!(fetch(&blobs), Err(StoredRequestError::Unreadable)), "{broken:?}");
            assert!(request_parts(broken).is_empty());
        }
        blobs.0.insert(first.list, base);
        assert!(fetch(&blobs).is_ok());
    }
}
