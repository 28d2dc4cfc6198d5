//! The client of the confined process that reads repositories. One process is started for each order.

use std::path::{Path, PathBuf};

use ::git::{Answer, Call, MAX_REPLY, ORDERS, Order, REPLIES, Reply};
use kernel::proposal::Finding;
use passable::{Quoting, quoting, visible_line};
use sandbox::{Confinement, End, Helper, Limits, Spec};

/// The verb with which this program starts as that process.
const VERB: &str = "git-host";

/// The maximum time of one order, in milliseconds.
const WALL_MS: u64 = 60_000;
/// The maximum memory of the process, in bytes.
const MEMORY: u64 = 1 << 30;
/// The maximum number of bytes of output: a reply with its length before it.
const MAX_OUTPUT: u64 = MAX_REPLY as u64 + 4;

/// Asks a confined process to carry out an order. For an order that only reads, the process gets no write access.
pub(super) fn ask(root: &str, call: Call) -> Result<Answer, Finding> {
    let failed = |message: String| {
        Finding::new("git/host", quoting!("the repository was not looked into: {}", message))
            .at("method")
            .allowed("the same call, once the user has looked at `almoner doctor`")
    };
    let real = std::fs::canonicalize(root).map_err(|error| failed(error.to_string()))?;
    if real != Path::new(root) {
        let message = "the directory of the repository is another one than was endowed";
        return Err(Finding::new("git/moved", message)
            .at("method")
            .allowed("nothing, until the user endows it anew"));
    }
    let program = own().map_err(failed)?;
    let spec = spec(program, &real, call.changes());
    let order = encode(&Order { root: real, call }).map_err(failed)?;
    let report = sandbox::run(&Helper::own(), &spec, &order).map_err(|error| failed(error.to_string()))?;
    if report.end != (End::Exited { status: 0 }) {
        return Err(failed(format!("it {}", report.end.description())));
    }
    match decode(&report.stdout.bytes).map_err(failed)? {
        Reply::Done { answer } => Ok(answer),
        Reply::Refused { refusal } => {
            Err(Finding::new(refusal.rule, Quoting::theirs(visible_line(&refusal.message)))
                .at(refusal.at)
                .allowed(Quoting::theirs(visible_line(&refusal.allowed))))
        }
    }
}

/// Returns the path of this program, which is started again as the confined process.
fn own() -> Result<PathBuf, String> {
    let path = std::env::current_exe().and_then(std::fs::canonicalize);
    path.map_err(|_| "the program of this daemon has been replaced; `almoner stop`, and go on".to_owned())
}

fn spec(program: PathBuf, root: &Path, writes: bool) -> Spec {
    let mut readable = sandbox::places_of_the_system(false);
    readable.push(program.clone());
    let mut writable = Vec::new();
    if writes { &mut writable } else { &mut readable }.push(root.to_owned());
    let environment = ::git::ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Spec {
        program,
        digest: None,
        interpreters: Default::default(),
        argv: vec!["almoner".to_owned(), VERB.to_owned()],
        directory: root.to_owned(),
        environment: environment.into(),
        within: Confinement {
            readable,
            writable,
            executable: Vec::new(),
            network: false,
            // Refused calls must fail here: the library tells by the error whether the repository already has an
            // object.
            pretends: false,
            limits: Limits {
                wall_ms: WALL_MS,
                cpu_s: WALL_MS.div_ceil(1000),
                memory: MEMORY,
                output: MAX_OUTPUT,
                ..Limits::default()
            },
        },
    }
}

fn encode(order: &Order) -> Result<Vec<u8>, String> {
    ORDERS.encode(order).map_err(|error| error.to_string())
}

fn decode(mut bytes: &[u8]) -> Result<Reply, String> {
    let reply = REPLIES.read(&mut bytes).ok().flatten();
    reply.ok_or_else(|| "it said nothing that can be read".to_owned())
}
