//! A session with one server. The protocol comes from the crate rmcp, in both of its forms (2026-07-28 and the ones
//! before it). The transport of bytes is our own.
//!
//! Nothing runs in the background: the session's tasks only run while a caller waits for an answer. A server that
//! writes at another time fills its pipe and waits.

use std::sync::Arc;
use std::time::Duration;

use kernel::proposal::Finding;
use passable::{quoting, visible_line};
use policy::Secrets;
use resource::mcp::{ServerTransport, ToolDefinition, ToolServer};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation,
    PaginatedRequestParams, ProtocolVersion, Tool,
};
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, RoleClient, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use serde_json::{Map, Value as Json};
use tokio::runtime::Runtime;

use super::transport::{NO_ANSWER_CODE, ServerHandle};
use super::{program, web};
use crate::http::HostServices;

/// The maximum time until a server is ready.
pub(super) const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// The time that a server has to list its tools.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of tools that are looked at. `MAX_PAGES` limits the pages of their list.
const MAX_TOOLS: usize = 2000;
const MAX_PAGES: usize = 20;
/// The maximum number of times that a server may answer a call with a question. Each question is declined.
const MAX_ROUNDS: usize = 3;

/// The reason why a server could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The server could not be started or reached.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// The server has ended, hung up, or sent an invalid message.
    #[error("it broke off{}", comma(.0))]
    Disconnected(String),
    /// The server took too long.
    #[error("it did not answer within {0} s")]
    TimedOut(u64),
    /// The server answered with a refusal, in its own words.
    #[error("it refused (code {code})")]
    Refused {
        /// The error code of JSON-RPC.
        code: i32,
        /// The message of the server.
        message: String,
    },
    /// The server answered with something that is no valid answer.
    #[error("it answered with something else than was asked for")]
    InvalidAnswer,
    /// The server is not the endowed one any more, or a secret is missing.
    #[error("{}", .0.message)]
    Blocked(Box<Finding>),
}

fn comma(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

impl McpError {
    /// Returns the error as a finding about the server of this name.
    pub(super) fn finding(&self, server: &str) -> Finding {
        if let McpError::Blocked(finding) = self {
            return (**finding).clone();
        }
        let rule = match self {
            McpError::Unreachable(_) => "mcp/unreachable",
            McpError::Disconnected(_) => "mcp/gone",
            McpError::TimedOut(_) => "mcp/late",
            McpError::Refused { .. } => "mcp/refused",
            McpError::InvalidAnswer => "mcp/odd",
            McpError::Blocked(_) => "mcp/kept",
        };
        // The output of a server is foreign text, and a finding has no source that would say so. Only the user who
        // tries the server sees the output.
        let said = match self {
            McpError::Disconnected(_) => "it ended".to_owned(),
            McpError::Unreachable(_) => "it could not be started or reached".to_owned(),
            other => other.to_string(),
        };
        Finding::new(rule, quoting!("the server {}: {}", visible_line(server), said))
            .at("method")
            .allowed("the same call, once the server works: `almoner mcp tools` tries it")
    }
}

/// An open session.
pub(super) struct Session {
    runtime: Runtime,
    service: Option<RunningService<RoleClient, ClientConfig>>,
    carrier: Option<ServerHandle>,
    patience: Duration,
    /// The secrets that the server was given.
    given: Secrets,
}

/// Returns the present values of the secrets that a server gets.
fn given(server: &ToolServer, outside: &dyn HostServices) -> Secrets {
    let value = |name: &str| match &server.line {
        ServerTransport::Program(_) => outside.secret_for_program(name).ok(),
        ServerTransport::Web(web) => outside.secret(name, &web.places.first()?.origin).ok(),
    };
    let names = server.secrets().into_iter();
    let values: Vec<_> = names.filter_map(|name| Some((name, value(name)?))).collect();
    Secrets::new(values.iter().map(|(name, value)| (*name, value.as_str())))
}

impl Session {
    /// Starts or reaches the server, and greets it. `ready` is the maximum time until the server has answered.
    pub(super) fn open(
        server: &ToolServer,
        outside: &Arc<dyn HostServices>,
        ready: Duration,
    ) -> Result<Session, McpError> {
        let given = given(server, &**outside);
        let (carrier, wire) = match &server.line {
            ServerTransport::Program(line) => program::open(&server.name, line, outside)?,
            ServerTransport::Web(line) => web::open(line, outside, Duration::from_millis(server.call_ms))?,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| McpError::Unreachable(error.to_string()))?;
        let info = ClientConfig::new(
            // The server may not use the model, list directories, or ask the user anything.
            ClientCapabilities::default(),
            Implementation::new("almoner", env!("CARGO_PKG_VERSION")),
        );
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::LATEST],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        };
        let greeted = runtime.block_on(async {
            let greeted = serve_client_with_lifecycle(info, wire, lifecycle);
            tokio::time::timeout(ready, greeted).await
        });
        let patience = Duration::from_millis(server.call_ms);
        let mut session = Session { runtime, service: None, carrier: Some(carrier), patience, given };
        match greeted {
            Ok(Ok(service)) => {
                session
                    .runtime
                    .block_on(service.peer().set_response_cache_config(ClientCacheConfig::disabled()));
                session.service = Some(service);
                Ok(session)
            }
            Ok(Err(error)) => Err(session.close_with_error(not_greeted(&error))),
            Err(_) => Err(session.close_with_error(McpError::TimedOut(ready.as_secs()))),
        }
    }

    /// Returns the secrets that the server was given. Its answers may repeat them.
    pub(super) fn given(&self) -> &Secrets {
        &self.given
    }

    /// Returns the server's present descriptions of its tools.
    pub(super) fn tools(&mut self) -> Result<Vec<ToolDefinition>, McpError> {
        let Some(service) = &self.service else { return Err(McpError::Disconnected(String::new())) };
        self.runtime.block_on(async {
            let all = async {
                let (mut tools, mut cursor) = (Vec::new(), None);
                for _ in 0..MAX_PAGES {
                    let params =
                        cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
                    let page =
                        service.peer().list_tools(params).await.map_err(|error| service_error(&error))?;
                    tools.extend(page.tools.into_iter().map(listed_tool));
                    cursor = page.next_cursor;
                    if cursor.is_none() {
                        return Ok(tools);
                    }
                    if tools.len() > MAX_TOOLS {
                        break;
                    }
                }
                Err(McpError::InvalidAnswer)
            };
            tokio::time::timeout(LIST_TIMEOUT, all)
                .await
                .unwrap_or(Err(McpError::TimedOut(LIST_TIMEOUT.as_secs())))
        })
    }

    /// Calls a tool. If the server asks the user a question, the question is declined.
    pub(super) fn call(
        &mut self,
        tool: &str,
        arguments: Map<String, Json>,
    ) -> Result<CallToolResult, McpError> {
        let Some(service) = &self.service else { return Err(McpError::Disconnected(String::new())) };
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let patience = self.patience;
        self.runtime.block_on(async {
            let call = service.call_tool_with_mrtr_max_rounds(params, MAX_ROUNDS);
            match tokio::time::timeout(patience, call).await {
                Ok(answer) => answer.map_err(|error| service_error(&error)),
                Err(_) => Err(McpError::TimedOut(patience.as_secs())),
            }
        })
    }

    /// Ends the session. Returns the error, with the reason for a disconnection if it is known.
    pub(super) fn close_with_error(mut self, error: McpError) -> McpError {
        let carrier = self.carrier.take();
        drop(self);
        let Some(why) = carrier.and_then(ServerHandle::end) else { return error };
        match error {
            McpError::Disconnected(_) => McpError::Disconnected(why),
            other => other,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The protocol must release the transport first. Then the transport sees that its client is gone.
        if let Some(service) = self.service.take() {
            service.cancellation_token().cancel();
            drop(service);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        if let Ok(nothing) = runtime {
            std::mem::replace(&mut self.runtime, nothing).shutdown_background();
        }
        drop(self.carrier.take());
    }
}

fn service_error(error: &ServiceError) -> McpError {
    match error {
        ServiceError::McpError(data) if data.code.0 == NO_ANSWER_CODE => {
            McpError::Disconnected(String::new())
        }
        ServiceError::McpError(data) => {
            McpError::Refused { code: data.code.0, message: data.message.to_string() }
        }
        ServiceError::TransportSend(_) | ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
            McpError::Disconnected(String::new())
        }
        _ => McpError::InvalidAnswer,
    }
}

/// Returns the reason why a server was not ready, without the server's own words.
fn not_greeted(error: &ClientInitializeError) -> McpError {
    use ClientInitializeError as E;
    match error {
        E::NoCompatibleProtocolVersion { .. } => {
            McpError::Unreachable("it speaks no version of the protocol that is spoken here".to_owned())
        }
        E::LegacyFallbackFailed { fallback, .. } => not_greeted(fallback),
        E::JsonRpcError(data) if data.code.0 != NO_ANSWER_CODE => McpError::InvalidAnswer,
        E::ExpectedInitResponse(Some(_)) | E::ExpectedInitResult(Some(_)) | E::ConflictInitResponseId(..) => {
            McpError::InvalidAnswer
        }
        _ => McpError::Disconnected(String::new()),
    }
}

fn listed_tool(tool: Tool) -> ToolDefinition {
    ToolDefinition {
        name: tool.name.into_owned(),
        title: tool.title,
        description: tool.description.map(|text| text.into_owned()),
        input: Json::Object((*tool.input_schema).clone()),
        output: tool.output_schema.map(|schema| Json::Object((*schema).clone())),
        hints: tool.annotations.and_then(|hints| serde_json::to_value(hints).ok()),
    }
}
