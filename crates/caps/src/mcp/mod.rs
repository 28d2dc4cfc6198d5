//! The capability of a server's tools (MCP). Each method is a tool that the user named, as the server described it
//! then.
//!
//! The daemon asks a server nothing before a call of one of its tools begins. Then it starts or reaches the server,
//! and asks for the *present* descriptions of its tools. A tool whose description has changed since the user named it
//! is not called. The session lasts as long as the capability, which lasts as long as the run is at work.

mod answer;
mod argument_fields;
mod endow;
mod interface;
mod listing;
mod login;
mod mcp_error;
mod message;
mod program;
mod session;
mod transport;
mod web;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use kernel::grant::Grant;
use kernel::proposal::{Effect, Finding, Pin, Value};
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use kernel::{Interface, id::BlobHash};
use passable::{Quoting, quoting, visible_line};
use policy::{ChangeScope, Destination, Facts, Outlet, WebGrant};
use resource::mcp::{PinnedTool, ServerTransport, ToolServer};
use resource::web::Web;
use serde_json::{Map, Value as Json};

pub use endow::{ask_tools, endow_server, named_files, tree_digest};
pub(crate) use interface::{any, interface};
pub use listing::{FaultyTool, ToolListing};
pub use login::login_address;
pub use mcp_error::McpError;
use session::Session;

use crate::http::{self, HostServices};
use crate::{Capability, Probe, foreign, places};

/// The maximum size of the arguments and of a result if the grant names no limit: 1 MiB.
const MAX_BYTES: u64 = 1 << 20;

/// The maximum number of characters of the arguments in the line of a card. The card shows all of them below.
const MAX_SHOWN_CHARS: usize = 200;

/// The kind of the pins that identify a tool.
const TOOL: &str = "tool";

/// The rule of the finding that the machine's administrator does not let a server be used.
const MANAGED: &str = "mcp/managed";

/// The rule of the findings about the secret of a server.
const SECRET: &str = "mcp/secret";

/// The capability of the named tools of one server.
pub(crate) struct McpCapability {
    server: ToolServer,
    grant: Grant,
    interface: Interface,
    outside: Arc<dyn HostServices>,
    session: Mutex<Option<Session>>,
}

impl McpCapability {
    pub(crate) fn open(server: &ToolServer, grant: &Grant, outside: Arc<dyn HostServices>) -> McpCapability {
        McpCapability {
            server: server.clone(),
            grant: grant.clone(),
            interface: interface(server),
            outside,
            session: Mutex::new(None),
        }
    }

    fn max_bytes(&self) -> u64 {
        self.grant.attenuation.max_bytes.unwrap_or(MAX_BYTES)
    }

    /// Returns the arguments of a call as the object that is sent to the server.
    fn arguments(&self, tool: &PinnedTool, args: &[Value]) -> Result<Map<String, Json>, Box<Finding>> {
        let method = self.interface.method(&tool.method);
        let params = method.map(|method| method.params.iter());
        let mut arguments = Map::new();
        for (param, value) in params.into_iter().flatten().zip(args) {
            match (value, param.rest) {
                (Value::Undefined, _) => {}
                (value, false) => {
                    arguments.insert(param.name.clone(), value.to_json());
                }
                (value, true) => arguments.extend(value.to_json().as_object().cloned().unwrap_or_default()),
            }
        }
        let bytes = Json::from(arguments.clone()).to_string().len() as u64;
        if bytes > self.max_bytes() {
            return Err(Box::new(
                Finding::new("mcp/size", Quoting::ours(format!("the arguments have {bytes} bytes")))
                    .at("arguments")
                    .counter_example(format!("{bytes} bytes"))
                    .allowed(format!("at most {} bytes", self.max_bytes())),
            ));
        }
        Ok(arguments)
    }

    /// Returns the reason why a secret that the server needs is not given out, or `None` if there is no problem.
    fn secret_problem(&self) -> Option<Finding> {
        match &self.server.line {
            ServerTransport::Web(web) => {
                let origin = &web.places.first()?.origin;
                self.server.secrets().into_iter().find_map(|name| {
                    let why = self.outside.secret(name, origin).err()?;
                    Some(why.finding(name, origin))
                })
            }
            ServerTransport::Program(_) => self.server.secrets().into_iter().find_map(|name| {
                let why = self.outside.secret_for_program(name).err()?;
                Some(why.of_program(SECRET, name, &self.server.name))
            }),
        }
    }

    /// Returns the finding that this machine cannot confine the server's program, or `None` if it can.
    fn sandbox_problem(&self) -> Option<Finding> {
        if let ServerTransport::Web(_) = &self.server.line {
            return None;
        }
        let reason = self.outside.cannot_confine()?;
        let words = "this machine cannot confine programs, and starts no server without: ";
        let words = Quoting::ours(words).then(&Quoting::theirs(visible_line(&reason)));
        let finding = Finding::new("mcp/sandbox", words).at("method").counter_example("a confined program");
        Some(finding.allowed("the same call, once `almoner doctor sandbox` finds nothing missing"))
    }

    /// Returns the finding that the server wants a login, if it is known to.
    fn login_problem(&self) -> Option<Finding> {
        match &self.server.line {
            ServerTransport::Web(web) => login::missing(&self.server.name, web, &*self.outside),
            ServerTransport::Program(_) => None,
        }
    }

    /// Returns the completion of a call that failed. A call that the server refused for want of a login did not happen.
    /// Any other failure leaves it open, also if the server wants a login now: the call may have been done before.
    fn completion(&self, failure: &CallFailure, tool: &PinnedTool, begun: &StartedEffect) -> Completion {
        if let (Some(scope), ServerTransport::Web(web)) = (failure.error.lacking_scope(), &self.server.line)
            && let Some(place) = web.places.first()
        {
            self.outside.login_lacks(&login::login_address(place), &scope);
        }
        match self.login_problem().filter(|_| failure.is_without_effect()) {
            Some(finding) => {
                self.outside.refused_call(&login::call_name(begun), true);
                Completion::Failed(finding)
            }
            None => failure.completion(&self.server, tool),
        }
    }

    fn call(&self, begun: &StartedEffect, tool: &PinnedTool, arguments: Map<String, Json>) -> Completion {
        let refuse = |finding: Finding| Completion::Refused(vec![finding]);
        if let Some(finding) = managed_problem(&self.server, &*self.outside) {
            // A session that began before the administrator's change ends.
            self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
            return refuse(finding);
        }
        if let Some(problem) = self.secret_problem() {
            return match problem.rule == http::LOCKED {
                true => Completion::Failed(problem),
                false => refuse(problem),
            };
        }
        let mut held = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = held.is_some();
        match self.attempt(&mut held, begun, tool, arguments.clone()) {
            // A session that had ended before this call, or that the server does not know, leaves nothing done. A new
            // one begins.
            Err(CallFailure { error, was_sent }) if (is_old && !was_sent) || error.leaves_nothing_done() => {
                held.take();
                self.attempt(&mut held, begun, tool, arguments)
                    .unwrap_or_else(|failure| self.completion(&failure, tool, begun))
            }
            outcome => outcome.unwrap_or_else(|failure| self.completion(&failure, tool, begun)),
        }
    }

    /// Calls the tool in the present session, or in a new one if there is none.
    fn attempt(
        &self,
        held: &mut Option<Session>,
        begun: &StartedEffect,
        tool: &PinnedTool,
        arguments: Map<String, Json>,
    ) -> Result<Completion, CallFailure> {
        let unsent = |error| CallFailure { error, was_sent: false };
        let session = match held {
            Some(session) => session,
            None => held.insert(Session::open(&self.server, &self.outside).map_err(unsent)?),
        };
        let fail = |held: &mut Option<Session>, error: McpError, was_sent| {
            let error = held.take().map_or(error.clone(), |session| session.close_with_error(error));
            CallFailure { error, was_sent }
        };
        // The server's present descriptions of its tools, not earlier ones.
        let now = match session.tools() {
            Ok(now) => now,
            Err(error) => return Err(fail(held, error, false)),
        };
        if let Some(finding) = changed(&self.server, tool, &now) {
            return Ok(Completion::Refused(vec![finding]));
        }
        match session.call(&tool.name, arguments) {
            Ok(result) => {
                Ok(answer::completion(&result, &self.server, tool, self.max_bytes(), session.given(), begun))
            }
            // The server works, and has refused the call.
            Err(error @ McpError::Refused { .. }) => {
                Ok(answer::refusal(&error, &self.server, tool, session.given(), begun))
            }
            Err(error) => Err(fail(held, error, true)),
        }
    }
}

/// The failure of a call.
struct CallFailure {
    error: McpError,
    /// Whether the call itself was sent.
    was_sent: bool,
}

impl CallFailure {
    /// Returns whether the server cannot have carried the call out: it got no call, or refused this very request.
    fn is_without_effect(&self) -> bool {
        !self.was_sent || matches!(self.error, McpError::Denied { status: 401, .. })
    }

    fn completion(&self, server: &ToolServer, tool: &PinnedTool) -> Completion {
        let finding = self.error.finding(&format!("{}, tool `{}`", server.name, tool.name));
        // A server that lets nobody in has done nothing.
        if !self.was_sent || matches!(self.error, McpError::Denied { .. } | McpError::SessionExpired) {
            return Completion::Failed(finding);
        }
        let message = finding.message_quoting().and("; what was asked for may have been done");
        Completion::Failed(finding.saying(message))
    }
}

/// Returns the party that learns the arguments of a call of a tool, in words. Returns `None` if they stay on this machine.
pub(crate) fn listener(server: &ToolServer, tool: &PinnedTool) -> Option<String> {
    let name = visible_line(&server.name);
    match (tool.tells, server.reaches_out()) {
        (true, _) => Some(format!("somebody beyond the server {name}")),
        (false, true) => Some(format!("the server {name}")),
        (false, false) => None,
    }
}

/// Returns the finding that a tool has changed since the user named it, or `None` if it is unchanged.
fn changed(server: &ToolServer, tool: &PinnedTool, now: &ToolListing) -> Option<Finding> {
    let (name, shown) = (visible_line(&server.name), visible_line(&tool.name));
    // With two tools of one name, it is unknown which one a call would reach.
    let mut same = now.tools.iter().filter(|told| told.name == tool.name);
    let (message, what) = match (same.next(), same.next()) {
        (None, _) => {
            (format!("the server {name} has no tool `{shown}` any more: {}", now.absence(&tool.name)), None)
        }
        (Some(_), Some(_)) => (format!("the server {name} has two tools called `{shown}`"), None),
        (Some(told), None) => {
            let what = tool.change(told)?;
            (
                format!("the server {name} says something else of `{shown}` than when you endowed it"),
                Some(what),
            )
        }
    };
    let mut finding = Finding::new("mcp/changed", message)
        .at("method")
        .allowed("nothing, until the user has looked at it (`almoner mcp tools NAME`) and endows it anew");
    finding.counter_example = what.map(|what| format!("changed: {what}"));
    Some(finding)
}

/// Returns the finding that the machine's administrator does not let a server be used, or `None` if it may be.
fn managed_problem(server: &ToolServer, outside: &dyn HostServices) -> Option<Finding> {
    let reason = outside.refuses_server(server)?;
    let finding = Finding::new(MANAGED, Quoting::theirs(reason))
        .at("method")
        .counter_example(visible_line(&server.name))
        .allowed("a server that the administrator allows: `almoner doctor managed`");
    Some(finding)
}

/// Returns the destination of a server on the web, and the problem of its addresses if they have one.
fn destination(web: &Web, outside: &dyn HostServices) -> Option<(Destination, Option<Finding>)> {
    let place = web.places.first()?;
    let (addresses, problem) = match http::edge::addresses(web, &place.origin, outside) {
        Ok(addresses) => (addresses, None),
        Err(problem) => (vec![], Some(problem)),
    };
    let destination = Destination {
        argument: "server".to_owned(),
        scheme: place.origin.scheme.as_str().to_owned(),
        host: place.origin.host.to_string(),
        port: place.origin.port,
        method: "POST".to_owned(),
        path: place.path.clone(),
        addresses,
    };
    Some((destination, problem))
}

impl Capability for McpCapability {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn schema(&self, method: &str) -> Option<Json> {
        interface::shown_schema(self.server.tool(method)?)
    }

    fn tells_others(&self, method: &str) -> bool {
        self.server.tool(method).is_none_or(|tool| tool.tells)
    }

    fn facts(&self, method: &str, args: &[Value]) -> Facts {
        let name = visible_line(&self.server.name);
        let mut facts = Facts {
            line: format!("calls {} of the server {name}", visible_line(method)),
            ..Facts::default()
        };
        let Some(tool) = self.server.tool(method) else {
            facts.problems.push(
                Finding::new("mcp/tool", quoting!("{} is no tool that was named", visible_line(method)))
                    .at("method")
                    .counter_example(visible_line(method)),
            );
            return facts;
        };
        match self.arguments(tool, args) {
            Ok(arguments) => {
                let text = Json::from(arguments).to_string();
                facts.bytes = Some(text.len() as u64);
                let short: String = text.chars().take(MAX_SHOWN_CHARS).collect();
                facts.line += &format!(" with {}", visible_line(&short));
            }
            Err(problem) => facts.problems.push(*problem),
        }
        let pinned = format!("{}/{}", self.server.name, tool.name);
        facts.pins = BTreeSet::from([Pin { kind: TOOL.to_owned(), name: pinned, digest: Some(tool.digest) }]);
        if let Some(to) = listener(&self.server, tool) {
            // Others that the tool reaches do not know the documents of its server.
            let home = (!tool.tells).then(|| format!("mcp:{}/", self.server.name));
            facts.outlet = Some(Outlet { to, home });
        }
        if let ServerTransport::Web(web) = &self.server.line {
            let allowed = web.places.first().map(|place| WebGrant {
                place: place.clone(),
                methods: web.methods.clone(),
                address: web.address,
            });
            facts.allowed.extend(allowed);
            if let Some((mut destination, problem)) = destination(web, &*self.outside) {
                if !self.server.query.is_empty() {
                    destination.path += &format!("?{}", self.server.query);
                }
                facts.destinations.push(destination);
                facts.problems.extend(problem);
            }
        }
        facts.problems.extend(self.secret_problem());
        facts.problems.extend(managed_problem(&self.server, &*self.outside));
        facts.problems.extend(self.sandbox_problem());
        facts
    }

    /// Returns the directories of the server, because any of its tools may write there.
    fn change_scopes(&self, _: &str, _: &[Value]) -> Vec<ChangeScope> {
        match &self.server.line {
            ServerTransport::Program(program) => places::trees("method", &program.directories),
            ServerTransport::Web(_) => vec![],
        }
    }

    fn blocked_by(&self, _: &str, _: &[Value]) -> Option<Finding> {
        self.secret_problem().filter(|problem| problem.rule == http::LOCKED).or_else(|| self.login_problem())
    }

    fn perform(&self, begun: &StartedEffect) -> Completion {
        if let Some(finding) = foreign(begun, &self.grant) {
            return Completion::Refused(vec![finding]);
        }
        let proposal = begun.proposal();
        let Some(tool) = self.server.tool(&proposal.method) else {
            return Completion::Refused(vec![Finding::new("mcp/tool", "this is no tool that was named")]);
        };
        match self.arguments(tool, &proposal.args) {
            Ok(arguments) => self.call(begun, tool, arguments),
            Err(problem) => Completion::Refused(vec![*problem]),
        }
    }

    fn can_be_looked_up(&self, method: &str) -> bool {
        self.server.tool(method).is_some_and(|tool| tool.effect == Effect::Observe)
    }

    /// Returns that a tool may be called again, if the user has declared that it only reads, or the server refused the
    /// call for want of a login. For any other tool, only the user can tell.
    fn probe(&self, begun: &StartedEffect) -> Probe {
        let is_refused = self.outside.refused_call(&login::call_name(begun), false);
        match is_refused || self.can_be_looked_up(&begun.proposal().method) {
            true => Probe::NotDone,
            false => Probe::Unknown,
        }
    }
}

/// Returns the name of a tool as the source of its answers.
fn source_name(server: &ToolServer, tool: &PinnedTool) -> String {
    format!("mcp:{}/{}", server.name, tool.name)
}

/// Returns the digest of a text, for its source.
fn hash(text: &str) -> BlobHash {
    BlobHash::of(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refused_or_unsent_call_is_without_effect() {
        let denied = |status| McpError::Denied { status, words: String::new(), challenge: None };
        let broken = || McpError::invalid("tools/call", "its stream of events ended without the answer");
        for (error, was_sent, expected) in [
            (denied(401), true, true),
            (denied(403), true, false),
            (broken(), true, false),
            (broken(), false, true),
            (McpError::Disconnected(String::new()), true, false),
        ] {
            let failure = CallFailure { error, was_sent };
            assert_eq!(failure.is_without_effect(), expected, "{:?} {was_sent}", failure.error);
        }
    }
}
