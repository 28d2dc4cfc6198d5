//! The arguments of `almoner audit`.

use clap::{ArgGroup, Args, Subcommand};

use super::JsonArg;
use control::audit_report::Anchor;

/// The maximum length of a cursor's name.
pub const MAX_CURSOR_NAME_LEN: usize = 64;

/// `almoner audit`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AuditArgs {
    /// The verb. Without one, the command shows the last events.
    #[command(subcommand)]
    pub verb: Option<AuditVerb>,
    /// Show at most N events
    #[arg(short = 'n', default_value_t = 20)]
    pub n: usize,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// The verbs for the log of events.
#[derive(Debug, Subcommand)]
pub enum AuditVerb {
    /// Check that nothing of it, and nothing that it tells of, was changed
    Verify {
        /// Check against a line that an earlier check showed
        #[arg(long, value_name = "NUMBER:HASH")]
        contains: Option<Anchor>,
        /// As JSON.
        #[command(flatten)]
        json: JsonArg,
    },
    /// Send events to a receiver as they come, each at least once
    Follow(FollowEventsArgs),
}

/// `almoner audit follow`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("receiver").required(true).args(["jsonl", "otlp"])))]
pub struct FollowEventsArgs {
    /// Print each event as a line of JSON
    #[arg(long)]
    pub jsonl: bool,
    /// Send events to an OpenTelemetry collector, by OTLP over HTTP
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
    /// Send a header with each request (also: OTEL_EXPORTER_OTLP_HEADERS)
    #[arg(long, value_name = "NAME=VALUE", requires = "otlp", conflicts_with = "jsonl")]
    pub header: Vec<String>,
    /// Keep the place in the log under NAME (usual: a name of the receiver)
    #[arg(long, value_name = "NAME", value_parser = parse_cursor_name)]
    pub cursor: Option<String>,
    /// Begin with event N, at the `start`, or with what comes from `now` on
    #[arg(long, value_name = "N|now|start")]
    pub from: Option<FromEvent>,
    /// Stop at the last event that there is now
    #[arg(long)]
    pub once: bool,
}

/// The first event that a receiver gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromEvent {
    /// The first event of the log.
    Start,
    /// The next event that is recorded.
    Now,
    /// The event with this number.
    Number(u64),
}

impl std::str::FromStr for FromEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<FromEvent, String> {
        match text {
            "start" => Ok(FromEvent::Start),
            "now" => Ok(FromEvent::Now),
            text => match text.parse() {
                Ok(number) if number > 0 => Ok(FromEvent::Number(number)),
                _ => Err("write the number of an event from 1, `now` or `start`".to_owned()),
            },
        }
    }
}

/// Parses the name of a cursor.
///
/// # Errors
/// When the text is no name.
pub fn parse_cursor_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    match (1..=MAX_CURSOR_NAME_LEN).contains(&text.len())
        && text.chars().all(is_plain)
        && !text.starts_with('.')
    {
        true => Ok(text.to_owned()),
        false => Err(format!("a name has at most {MAX_CURSOR_NAME_LEN} letters, digits, `.`, `_` and `-`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_cursor_names_a_file_of_its_folder() {
        assert_eq!(parse_cursor_name("siem-1.a_B"), Ok("siem-1.a_B".to_owned()));
        let long = "a".repeat(MAX_CURSOR_NAME_LEN + 1);
        for text in ["", ".", "..", "a/b", "a b", "é", &long] {
            assert!(parse_cursor_name(text).is_err(), "{text:?}");
        }
    }
}
