//! The web capability: `get` and `send`, relative to the server that the user endowed.
//!
//! The target of a call is checked three times: when the call is judged, when it begins, and at each redirect. Each
//! time the name is resolved once, the addresses are checked, and the connection goes to exactly those addresses. So
//! a name that resolves to something else a moment later gains nothing.

pub(crate) mod edge;
mod headers;
mod host_services;
mod interface;
mod reply;
mod request;

use std::sync::Arc;

use kernel::Interface;
use kernel::grant::Grant;
use kernel::proposal::{Finding, Value};
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use passable::visible_line;
use policy::{CanonicalArgument, ChangeScope, Destination, Facts, WebGrant};
use resource::web::Web;

use crate::{Capability, OpenError, Probe, foreign};

pub(crate) use host_services::LOCKED;
pub use host_services::{HostServices, NoHostServices, NoSecret};
pub(crate) use interface::interface;
use request::Call;

/// The maximum size of a body, in both directions, if the grant names no limit: 1 MiB.
const MAX_BYTES: u64 = 1 << 20;

/// The maximum number of characters of an address that a card shows.
const MAX_SHOWN_CHARS: usize = 300;

/// The capability of the endowed part of the web.
pub(crate) struct HttpCapability {
    web: Web,
    grant: Grant,
    outside: Arc<dyn HostServices>,
}

impl HttpCapability {
    pub(crate) fn open(
        web: &Web,
        grant: &Grant,
        outside: Arc<dyn HostServices>,
    ) -> Result<HttpCapability, OpenError> {
        if web.places.is_empty() {
            return Err(OpenError::Kind("web without a place"));
        }
        Ok(HttpCapability { web: web.clone(), grant: grant.clone(), outside })
    }

    fn max_bytes(&self) -> u64 {
        self.grant.attenuation.max_bytes.unwrap_or(MAX_BYTES)
    }

    /// Returns the places that the endowment names, for the gate that checks destinations.
    fn allowed(&self) -> Vec<WebGrant> {
        self.web
            .places
            .iter()
            .enumerate()
            .map(|(at, place)| WebGrant {
                place: place.clone(),
                methods: self.web.methods.clone(),
                address: self.web.address.filter(|_| at == 0),
            })
            .collect()
    }

    fn facts_of(&self, call: &Call) -> Facts {
        let url: String = call.url().chars().take(MAX_SHOWN_CHARS).collect();
        let key = self.web.secret.as_ref().map(|used| format!(", with the secret {}", used.name));
        let body = call.body.as_ref().map(|body| format!(" ({} bytes)", body.bytes.len()));
        let mut facts = Facts {
            bytes: call.body.as_ref().map(|body| body.bytes.len() as u64),
            line: format!(
                "{} {}{}{}",
                if call.is_get { "reads".to_owned() } else { format!("sends {}", call.method) },
                visible_line(&url),
                body.unwrap_or_default(),
                key.unwrap_or_default()
            ),
            allowed: self.allowed(),
            ..Facts::default()
        };
        let addresses = match edge::addresses(&self.web, &call.origin, &*self.outside) {
            Ok(addresses) => addresses,
            Err(finding) => {
                facts.problems.push(finding);
                vec![]
            }
        };
        facts.destinations.push(Destination {
            argument: "path".to_owned(),
            scheme: call.origin.scheme.as_str().to_owned(),
            host: call.origin.host.to_string(),
            port: call.origin.port,
            method: call.method.clone(),
            path: call.path.clone(),
            addresses,
        });
        facts.canonical.extend(self.own_path(call));
        facts.problems.extend(self.secret_problem(call));
        facts
    }

    /// Returns the path of a call in the one spelling that policies may rely on: below the endowed place, and with a
    /// slash before it.
    fn own_path(&self, call: &Call) -> Option<CanonicalArgument> {
        let base = self.web.places.first().map_or("/", |place| place.path.as_str());
        let below = call.path.strip_prefix(base.trim_end_matches('/')).unwrap_or(&call.path);
        let text = if below.starts_with('/') { below.to_owned() } else { format!("/{below}") };
        Some(CanonicalArgument { argument: "path".to_owned(), text })
    }

    /// Returns the reason why the secret of a call is not given out, or `None` if it is.
    fn secret_problem(&self, call: &Call) -> Option<Finding> {
        let used = self.web.secret.as_ref()?;
        match self.outside.secret(&used.name, &call.origin) {
            Ok(_) => None,
            Err(why) => Some(why.finding(&used.name, &call.origin)),
        }
    }
}

impl Capability for HttpCapability {
    fn interface(&self) -> &Interface {
        interface()
    }

    fn tells_others(&self, _: &str) -> bool {
        true
    }

    fn facts(&self, method: &str, args: &[Value]) -> Facts {
        match Call::parse(&self.web, self.max_bytes(), method, args) {
            Ok(call) => self.facts_of(&call),
            Err(problem) => Facts {
                line: format!("{} in `{}`", visible_line(method), visible_line(&self.grant.slot)),
                problems: vec![*problem],
                allowed: self.allowed(),
                ..Facts::default()
            },
        }
    }

    fn change_scopes(&self, _: &str, _: &[Value]) -> Vec<ChangeScope> {
        vec![]
    }

    fn blocked_by(&self, method: &str, args: &[Value]) -> Option<Finding> {
        let call = Call::parse(&self.web, self.max_bytes(), method, args).ok()?;
        self.secret_problem(&call).filter(|problem| problem.rule == LOCKED)
    }

    fn perform(&self, begun: &StartedEffect) -> Completion {
        if let Some(finding) = foreign(begun, &self.grant) {
            return Completion::Refused(vec![finding]);
        }
        let proposal = begun.proposal();
        match Call::parse(&self.web, self.max_bytes(), &proposal.method, &proposal.args) {
            Err(problem) => Completion::Refused(vec![*problem]),
            Ok(call) => edge::exchange(&self.web, call, self.max_bytes(), begun, &*self.outside),
        }
    }

    fn can_be_looked_up(&self, method: &str) -> bool {
        method == "get" || self.web.idempotency.is_some()
    }

    fn probe(&self, begun: &StartedEffect) -> Probe {
        // A reading call may be repeated. A server that knows the call by its idempotency key makes it only once.
        match begun.proposal().method.as_str() {
            "get" => Probe::NotDone,
            _ if self.web.idempotency.is_some() => Probe::NotDone,
            _ => Probe::Unknown,
        }
    }
}
