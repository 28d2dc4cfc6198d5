//! A daemon in the process of a test, with a store in a directory of its own.
#![cfg(test)]

use std::collections::BTreeMap;
use std::path::Path;

use kernel::command::{Act, Command, Program, Start};
use kernel::run::{Attachment, Input, Limits, Shape};
use kernel::{BlobHash, FormulaId, Value};
use passable::Untrusted;
use resource::Resource;
use resource::mcp::{
    DEFAULT_CALL_TIMEOUT_MS, DEFAULT_START_TIMEOUT_MS, ServerTransport, ToolDefinition, ToolServer,
};
use resource::web::{Place as WebPlace, Web};
use store::{Options, Store};

use crate::state::daemon::{HostDaemon, environment};
use config::place::Place;

/// Returns a daemon whose host has already carried out these acts, in one transaction.
pub fn daemon(dir: &Path, acts: Vec<Act>) -> HostDaemon {
    let store = Store::open(&dir.join("store"), Options::default()).unwrap();
    let first = environment().unwrap();
    let host: FormulaId = store.write(move |txn| kernel::genesis(txn, &first)).unwrap();
    let envs: Vec<_> = acts.iter().map(|_| environment().unwrap()).collect();
    let all = move |txn: &mut dyn kernel::txn::Txn| {
        for (act, env) in acts.into_iter().zip(&envs) {
            kernel::apply(txn, env, Command { actor: host, act, said: None })?;
        }
        Ok::<_, kernel::command::Fault>(())
    };
    store.write(all).unwrap();
    let opener = model::Opener::new(|_| None, dir);
    let mut place = Place::under(dir);
    place.state = dir.to_owned();
    place.config = dir.to_owned();
    HostDaemon::new(store, host, opener, &place, "/nowhere".into(), std::sync::mpsc::channel().0)
}

/// Returns a daemon with an empty store. Its home is `home`, a directory that does not exist yet. It runs no program.
pub fn empty_daemon(home: &Path) -> HostDaemon {
    let place = Place::under(home);
    std::fs::create_dir_all(&place.state).unwrap();
    daemon(&place.state, vec![])
}

/// Returns the start of a batch of two documents. The number tells batches apart.
pub fn start_batch(number: u64) -> Act {
    let document = |name: &str| {
        let hash = BlobHash::of(name.as_bytes());
        Attachment {
            name: name.to_owned(),
            hash,
            text: hash,
            bytes: 1,
            media_type: String::new(),
            notes: vec![],
            rejected: None,
        }
    };
    Act::Start(Box::new(Start {
        text: Untrusted::new(format!("run {number}")),
        worker: Program {
            name: "w".to_owned(),
            definition: BlobHash::of(b"w"),
            includes: BTreeMap::new(),
            limits: Limits::default(),
        },
        shape: Shape::Each { jobs: 4, waiting: 100 },
        private: false,
        model: "local".to_owned(),
        input: Input {
            values: Value::record_from_map(BTreeMap::new()),
            attachments: vec![],
            items: vec![document("a"), document("b")],
            origins: vec![],
            earlier: None,
        },
        bindings: vec![],
        key: None,
    }))
}

/// Returns a web resource with one place and these methods.
pub fn web_resource(methods: &[&str]) -> Web {
    Web {
        places: vec![WebPlace::parse("https://h/p").unwrap()],
        methods: methods.iter().map(|method| (*method).to_owned()).collect(),
        secret: None,
        idempotency: None,
        address: None,
    }
}

/// Returns a tool server with the tools `list` and `delete`.
pub fn mcp_server() -> Resource {
    let tool = |name: &str| {
        let (name, input) = (name.to_owned(), serde_json::json!({ "type": "object" }));
        ToolDefinition { name, title: None, description: None, input, output: None, hints: None }
    };
    let tools = ["list", "delete"].map(|name| tool(name).pin(resource::mcp::ToolClass::Sends)).into();
    let line = ServerTransport::Web(Box::new(web_resource(&["POST"])));
    Resource::Mcp(Box::new(ToolServer {
        name: "srv".to_owned(),
        line,
        tools,
        call_ms: DEFAULT_CALL_TIMEOUT_MS,
        start_ms: DEFAULT_START_TIMEOUT_MS,
        headers: Default::default(),
        query: String::new(),
    }))
}
