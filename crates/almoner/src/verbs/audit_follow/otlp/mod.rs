//! Events for a collector of OpenTelemetry, by OTLP over HTTP.
//!
//! Each event is one log record. The end of a run, of a call and of a request to a model is also a span, by the
//! semantic conventions for generative AI. Nothing that is sent quotes a prompt, a document, an argument or a result.

mod attributes;
mod identity;
mod journal;
mod model_name;
mod records;
mod spans;
mod transport;

use kernel::event::Event;
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use passable::visible_line;
use prost::Message as _;

use self::attributes::{SCHEMA_URL, text};
use self::journal::JournalReader;
use self::transport::{PostError, Transport};
use super::Receiver;
use crate::session::Session;
use crate::ui::output;
use control::exit::Failure;

/// The path of spans at a collector.
const TRACES: &str = "/v1/traces";

/// The path of log records at a collector.
const LOGS: &str = "/v1/logs";

/// A collector of OpenTelemetry.
pub(super) struct Exporter<'a> {
    journal: JournalReader<'a>,
    transport: Transport,
}

impl<'a> Exporter<'a> {
    /// Returns the exporter to the collector at an address.
    ///
    /// # Errors
    /// When the address or a header cannot be used.
    pub(super) fn new(acting: &Session<'a>, url: &str, headers: &[String]) -> Result<Exporter<'a>, Failure> {
        let transport = Transport::new(acting, url, headers)?;
        Ok(Exporter { journal: JournalReader::new(acting), transport })
    }

    fn send_spans(&mut self, spans: Vec<Span>) -> Result<(), PostError> {
        if spans.is_empty() {
            return Ok(());
        }
        let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans, schema_url: SCHEMA_URL.to_owned() }];
        let resource = Some(self.resource().map_err(PostError::Refused)?);
        let resource_spans = vec![ResourceSpans { resource, scope_spans, schema_url: SCHEMA_URL.to_owned() }];
        let request = ExportTraceServiceRequest { resource_spans };
        let answer = self.transport.post(TRACES, &request.encode_to_vec())?;
        let answer = ExportTraceServiceResponse::decode(answer.as_slice()).unwrap_or_default();
        if let Some(partial) = answer.partial_success {
            self.tell_rejected(partial.rejected_spans, "spans", &partial.error_message);
        }
        Ok(())
    }

    fn send_records(&mut self, log_records: Vec<LogRecord>) -> Result<(), PostError> {
        let scope_logs =
            vec![ScopeLogs { scope: Some(scope()), log_records, schema_url: SCHEMA_URL.to_owned() }];
        let resource = Some(self.resource().map_err(PostError::Refused)?);
        let resource_logs = vec![ResourceLogs { resource, scope_logs, schema_url: SCHEMA_URL.to_owned() }];
        let request = ExportLogsServiceRequest { resource_logs };
        let answer = self.transport.post(LOGS, &request.encode_to_vec())?;
        let answer = ExportLogsServiceResponse::decode(answer.as_slice()).unwrap_or_default();
        if let Some(partial) = answer.partial_success {
            self.tell_rejected(partial.rejected_log_records, "records", &partial.error_message);
        }
        Ok(())
    }

    /// Tells the user that the collector has taken a request in part. The protocol forbids to send the rest again.
    fn tell_rejected(&self, count: i64, what: &str, words: &str) {
        if count == 0 && words.is_empty() {
            return;
        }
        let base = visible_line(self.transport.base());
        output::note(&format!("{base} has rejected {count} {what}: {}", visible_line(words)));
    }

    fn send(&mut self, events: &[Event]) -> Result<(), PostError> {
        let (mut spans, mut records) = (Vec::new(), Vec::new());
        for event in events {
            spans.extend(spans::span_of(&mut self.journal, event).map_err(PostError::Refused)?);
            records.push(records::record_of(&mut self.journal, event).map_err(PostError::Refused)?);
        }
        self.send_spans(spans)?;
        self.send_records(records)
    }

    fn resource(&mut self) -> Result<Resource, Failure> {
        let attributes = vec![
            text(attributes::SERVICE_NAME, "almoner"),
            text(attributes::SERVICE_VERSION, env!("CARGO_PKG_VERSION")),
            text(attributes::SERVICE_INSTANCE, self.journal.log()?.0.to_string()),
        ];
        Ok(Resource { attributes, ..Resource::default() })
    }
}

impl Receiver for Exporter<'_> {
    fn target(&self) -> String {
        self.transport.base().to_owned()
    }

    fn deliver(&mut self, events: &[Event]) -> Result<(), Failure> {
        match self.send(events) {
            Ok(()) => Ok(()),
            Err(PostError::TooLarge(_)) if events.len() > 1 => {
                let (first, rest) = events.split_at(events.len() / 2);
                self.deliver(first)?;
                self.deliver(rest)
            }
            Err(PostError::TooLarge(failure) | PostError::Refused(failure)) => Err(failure),
        }
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "almoner.audit".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}

/// Returns a time in the unit of the protocol. A time before 1970 becomes 0.
fn nanoseconds(at_ms: i64) -> u64 {
    u64::try_from(at_ms).unwrap_or_default().saturating_mul(1_000_000)
}
