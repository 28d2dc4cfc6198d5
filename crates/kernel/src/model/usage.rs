//! The usage of a run: tokens, time, money and stored bytes.

use serde::{Deserialize, Serialize};

/// The usage of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// The number of tokens that models read.
    pub input_tokens: u64,
    /// The number of tokens that models wrote.
    pub output_tokens: u64,
    /// The time that models took, in milliseconds.
    pub model_ms: u64,
    /// The cost of models, in millionths of a dollar, by the prices that were known at each answer.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub usd_micros: u64,
    /// The number of these tokens that no server reported. They are estimated from the text.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub estimated_tokens: u64,
    /// The number of bytes that are kept: journal, requests, replies, and results beside the journal.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub kept_bytes: u64,
}

impl Usage {
    /// Returns all tokens, read and written.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds another usage to this one.
    pub fn add(&mut self, other: Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.model_ms = self.model_ms.saturating_add(other.model_ms);
        self.usd_micros = self.usd_micros.saturating_add(other.usd_micros);
        self.estimated_tokens = self.estimated_tokens.saturating_add(other.estimated_tokens);
        self.kept_bytes = self.kept_bytes.saturating_add(other.kept_bytes);
    }
}
