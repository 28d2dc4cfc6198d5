//! The capability of a git repository: reading, staging and committing. Push, fetch, hooks, settings and external
//! programs are not available.
//!
//! This process reads nothing of a repository. Each call is an order to a separate process ([`host`]). That process
//! is confined to the one directory, and can only read it unless the call makes a change. A change is previewed for
//! the card before it is judged, and checked again when it is made. If anything has changed in between, nothing is
//! done.

mod call;
mod host;
mod interface;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use ::git::{Answer, Author, Call, StatePin};
use kernel::grant::Grant;
use kernel::proposal::{Finding, Pin, Value};
use kernel::provenance::{Provenance, Source};
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use kernel::{BlobHash, Interface};
use passable::visible_line;
use policy::{ChangeScope, Facts, KeySighting, PathFact};
use resource::repository::Repository;

pub(crate) use interface::{CHANGING, interface};

use crate::{Capability, Probe, foreign, places};

/// The kind of the pin whose bytes are shown to the user.
const DIFF: &str = "diff";

/// The author's name and address in a commit if the endowment names none. The number of the run is added to the name.
const DEFAULT_AUTHOR: (&str, &str) = ("Almoner run", "almoner@localhost");

/// The capability of one granted repository.
pub(crate) struct GitCapability {
    repository: Repository,
    grant: Grant,
    /// The texts that were made to be shown to the user, by digest.
    shown: Mutex<BTreeMap<BlobHash, Vec<u8>>>,
}

impl GitCapability {
    pub(crate) fn open(repository: &Repository, grant: &Grant) -> GitCapability {
        GitCapability { repository: repository.clone(), grant: grant.clone(), shown: Mutex::default() }
    }

    fn author(&self, begun: Option<&StartedEffect>) -> Author {
        match (&self.repository.author, begun) {
            (Some(author), _) => Author { name: author.name.clone(), email: author.email.clone() },
            (None, begun) => {
                let run = begun.map(|begun| format!(" {}", begun.proposal().run)).unwrap_or_default();
                Author { name: format!("{}{run}", DEFAULT_AUTHOR.0), email: DEFAULT_AUTHOR.1.to_owned() }
            }
        }
    }

    fn check_writable(&self, method: &str) -> Result<(), Finding> {
        if self.repository.write || !CHANGING.contains(&method) {
            return Ok(());
        }
        Err(Finding::new("git/read-only", "the repository was handed out for reading only")
            .at("method")
            .counter_example(visible_line(method))
            .allowed("status, log, diff, show, blame, branches"))
    }

    /// Returns the preview of a call. The order makes no change.
    fn look(&self, method: &str, args: &[Value]) -> Result<Answer, Finding> {
        self.check_writable(method)?;
        let order = call::order(method, args, &self.author(None), "", None).map_err(|finding| *finding)?;
        host::ask(&self.repository.path, order)
    }

    fn make(&self, begun: &StartedEffect) -> Result<Answer, Finding> {
        let proposal = begun.proposal();
        self.check_writable(&proposal.method)?;
        let (author, trailer) = (self.author(Some(begun)), trailer(begun));
        let pinned = Some(pinned(begun));
        let order = call::order(&proposal.method, &proposal.args, &author, &trailer, pinned);
        host::ask(&self.repository.path, order.map_err(|finding| *finding)?)
    }

    fn done(&self, begun: &StartedEffect, answer: &Answer) -> Completion {
        let proposal = begun.proposal();
        let Ok(value) = Value::from_json(&answer.value) else {
            return Completion::Failed(
                Finding::new("git/host", "what was found cannot be a value").at("method"),
            );
        };
        let what = match answer.paths.as_slice() {
            [path] => format!("{}/{path}", self.grant.slot),
            _ => format!("{} ({})", self.grant.slot, proposal.method),
        };
        let hash = BlobHash::of(answer.value.to_string().as_bytes());
        let seen = Provenance::of(Source::Document { name: what, hash });
        let provenance = if self.grant.attenuation.private { seen.private() } else { seen };
        let provenance = match CHANGING.contains(&proposal.method.as_str()) {
            true => proposal.provenance.clone(),
            false => provenance,
        };
        Completion::Done { value, provenance }
    }
}

/// Returns the last line of a commit's message, by which a probe finds the commit again. A worker cannot guess this
/// line beforehand.
fn trailer(begun: &StartedEffect) -> String {
    format!("Almoner-Call: {} {}", begun.step(), begun.proposal().fingerprint())
}

fn pinned(begun: &StartedEffect) -> Vec<StatePin> {
    let pins = begun.proposal().pins.iter().filter_map(|pin| {
        let digest = pin.digest?.to_string();
        Some(StatePin { kind: pin.kind.clone(), name: pin.name.clone(), digest })
    });
    pins.collect()
}

fn pins(answer: &Answer) -> BTreeSet<Pin> {
    let pins = answer.pins.iter().filter_map(|pin| {
        let digest = pin.digest.parse().ok()?;
        Some(Pin { kind: pin.kind.clone(), name: pin.name.clone(), digest: Some(digest) })
    });
    pins.collect()
}

/// Returns the key that stands in what a call would tell, or in a text of which it would tell a part.
fn key_sighting(answer: &Answer) -> Option<KeySighting> {
    let kind = answer.key.as_deref().map(kind_of_key).or_else(|| key_in_texts(&answer.value))?;
    let source = match answer.paths.as_slice() {
        [path] => path.clone(),
        _ => answer.line.clone(),
    };
    Some(KeySighting { argument: "path".to_owned(), source, kind })
}

/// Returns the kind of key of a name. The name comes from the confined process.
fn kind_of_key(name: &str) -> &'static str {
    policy::secrets::SHAPES.iter().find(|shape| shape.name == name).map_or("a key", |shape| shape.name)
}

/// Returns the kind of the first key in the texts of a value.
fn key_in_texts(value: &serde_json::Value) -> Option<&'static str> {
    match value {
        serde_json::Value::String(text) => policy::secrets::key_in(text.as_bytes()),
        serde_json::Value::Array(items) => items.iter().find_map(key_in_texts),
        serde_json::Value::Object(fields) => fields.values().find_map(key_in_texts),
        _ => None,
    }
}

impl Capability for GitCapability {
    fn interface(&self) -> &'static Interface {
        interface()
    }

    fn facts(&self, method: &str, args: &[Value]) -> Facts {
        let (slot, does) = (visible_line(&self.grant.slot), method_phrase(method));
        let mut facts = Facts { line: format!("{does} `{slot}`"), ..Facts::default() };
        match self.look(method, args) {
            Err(finding) => facts.problems.push(finding),
            Ok(answer) => {
                facts.line = format!("{does} `{slot}` ({})", visible_line(&answer.line));
                facts.pins = pins(&answer);
                let named = answer.paths.iter().map(|path| PathFact {
                    argument: "path".to_owned(),
                    path: path.clone(),
                    leads_to: None,
                    bytes: None,
                });
                facts.paths = named.collect();
                facts.keys.extend(key_sighting(&answer));
                if let (Some(shown), Ok(mut kept)) = (answer.shown, self.shown.lock()) {
                    kept.insert(BlobHash::of(shown.as_bytes()), shown.into_bytes());
                }
            }
        }
        facts
    }

    /// Returns the entries that a branch would change in the working tree. An entry may be a directory now, and a link
    /// afterwards. The other methods change only what git keeps.
    fn change_scopes(&self, method: &str, args: &[Value]) -> Vec<ChangeScope> {
        let root = self.repository.path.trim_end_matches('/');
        let mut scopes = Vec::new();
        if self.repository.write && CHANGING.contains(&method) {
            scopes.push(places::tree("method", &format!("{root}/.git")));
        }
        if method == "switch"
            && let Ok(answer) = self.look(method, args)
        {
            scopes.extend(answer.paths.iter().map(|path| places::entry("name", &format!("{root}/{path}"))));
        }
        scopes
    }

    fn operand(&self, pin: &Pin) -> Option<Vec<u8>> {
        let digest = pin.digest.filter(|_| pin.kind == DIFF)?;
        self.shown.lock().ok()?.get(&digest).cloned()
    }

    fn perform(&self, begun: &StartedEffect) -> Completion {
        if let Some(finding) = foreign(begun, &self.grant) {
            return Completion::Refused(vec![finding]);
        }
        match self.make(begun) {
            Ok(answer) => self.done(begun, &answer),
            Err(finding) if finding.rule == "git/host" => Completion::Failed(finding),
            Err(finding) => Completion::Refused(vec![finding]),
        }
    }

    fn probe(&self, begun: &StartedEffect) -> Probe {
        let order = match begun.proposal().method.as_str() {
            "commit" => {
                let head = begun.proposal().pins.iter().find(|pin| pin.kind == "head");
                let Some(head) = head.and_then(|pin| pin.digest) else { return Probe::NotDone };
                Call::Find { trailer: trailer(begun), head: head.to_string() }
            }
            "add" | "unstage" => Call::Settled { pinned: pinned(begun) },
            // Calls that only look, and calls that have the same result when repeated.
            _ => return Probe::NotDone,
        };
        let Ok(answer) = host::ask(&self.repository.path, order) else { return Probe::Unknown };
        let found = answer.value.get("found").filter(|found| !found.is_null());
        match (found, answer.value.get("certain").and_then(|certain| certain.as_bool())) {
            (Some(found), _) => {
                let answer = Answer { value: found.clone(), ..Answer::default() };
                match self.done(begun, &answer) {
                    Completion::Done { value, provenance } => Probe::Done { value, provenance },
                    _ => Probe::Unknown,
                }
            }
            (None, Some(true)) => Probe::NotDone,
            (None, _) => Probe::Unknown,
        }
    }
}

/// Returns a phrase for a method, for the line of a card.
fn method_phrase(method: &str) -> &'static str {
    match method {
        "status" => "looks what has changed in",
        "log" => "reads the history of",
        "diff" => "compares files of",
        "show" => "reads what was committed in",
        "blame" => "reads who wrote lines in",
        "branches" => "lists the branches of",
        "add" => "stages files in",
        "unstage" => "takes files out of what is committed next in",
        "commit" => "commits what is staged in",
        "branch" => "makes a branch in",
        "switch" => "checks a branch out in",
        _ => "calls a method of",
    }
}
