//! The attributes of spans and records: their names, and their values.
//!
//! Names of others are those of OpenTelemetry's semantic conventions, in the version of [`SCHEMA_URL`]. Our own names
//! begin with `almoner.`.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};

/// The version of the semantic conventions. Its registry is the last one that holds the names of `gen_ai`.
pub(super) const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.1";

pub(super) const ERROR_TYPE: &str = "error.type";
pub(super) const AGENT_ID: &str = "gen_ai.agent.id";
pub(super) const AGENT_NAME: &str = "gen_ai.agent.name";
pub(super) const CONVERSATION_ID: &str = "gen_ai.conversation.id";
pub(super) const OPERATION_NAME: &str = "gen_ai.operation.name";
pub(super) const PROVIDER_NAME: &str = "gen_ai.provider.name";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const SERVER_ADDRESS: &str = "server.address";
pub(super) const SERVER_PORT: &str = "server.port";
pub(super) const SERVICE_INSTANCE: &str = "service.instance.id";
pub(super) const SERVICE_NAME: &str = "service.name";
pub(super) const SERVICE_VERSION: &str = "service.version";
pub(super) const HOST_NAME: &str = "host.name";
pub(super) const USER_NAME: &str = "user.name";

/// The number of the event. A receiver drops an event whose number it has seen.
pub(super) const EVENT_SEQ: &str = "almoner.event.seq";
/// The hash of the event.
pub(super) const EVENT_HASH: &str = "almoner.event.hash";
/// The run, such as `r17`.
pub(super) const RUN: &str = "almoner.run";
/// The run that waits for the run.
pub(super) const PARENT_RUN: &str = "almoner.run.parent";
/// The number of the step in the journal of the run.
pub(super) const STEP: &str = "almoner.step";
/// The name of the step's entry.
pub(super) const ENTRY: &str = "almoner.entry";
/// The class of a call: `observe`, `modify` or `commit`.
pub(super) const EFFECT: &str = "almoner.effect";
/// The answer of the gates: `allow`, `ask` or `deny`.
pub(super) const DECISION: &str = "almoner.decision";
/// The rules that led to a decision, a refusal or a failure.
pub(super) const RULES: &str = "almoner.rules";
/// The end of a call: `done`, `refused` or `failed`.
pub(super) const COMPLETION: &str = "almoner.completion";
/// The number of a message.
pub(super) const MESSAGE: &str = "almoner.message";
/// The kind of a message.
pub(super) const MESSAGE_KIND: &str = "almoner.message.kind";
/// Whether a message needs an answer of a person.
pub(super) const NEEDS_PERSON: &str = "almoner.message.needs_person";
/// The surface over which a person answered: `control` or `web`.
pub(super) const SURFACE: &str = "almoner.surface";
/// Whether a person approved a call.
pub(super) const APPROVED: &str = "almoner.approved";
/// The grant, such as `g4`.
pub(super) const GRANT: &str = "almoner.grant";
/// The slot that a grant fills.
pub(super) const SLOT: &str = "almoner.slot";
/// Whether a run or a promise has a result.
pub(super) const HAS_RESULT: &str = "almoner.has_result";

/// Returns an attribute with a text.
pub(super) fn text(key: &str, value: impl Into<String>) -> KeyValue {
    attribute(key, Value::StringValue(value.into()))
}

/// Returns an attribute with a number. A number that the protocol cannot hold becomes its largest one.
pub(super) fn number(key: &str, value: u64) -> KeyValue {
    attribute(key, Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)))
}

/// Returns an attribute with a truth value.
pub(super) fn flag(key: &str, value: bool) -> KeyValue {
    attribute(key, Value::BoolValue(value))
}

/// Returns an attribute with a list of texts.
pub(super) fn list(key: &str, values: impl IntoIterator<Item = String>) -> KeyValue {
    let values = values.into_iter().map(text_value).collect();
    attribute(key, Value::ArrayValue(ArrayValue { values }))
}

/// Returns a text as a value.
pub(super) fn text_value(text: impl Into<String>) -> AnyValue {
    AnyValue { value: Some(Value::StringValue(text.into())) }
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}
