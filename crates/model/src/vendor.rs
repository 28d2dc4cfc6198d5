//! The companies that serve models, with their addresses and the variables of their keys.

use std::fmt;

/// A company that serves models under a key, over one wire format. OpenAI has two formats, with the same address and
/// variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Vendor {
    /// Anthropic, over its Messages protocol.
    Anthropic,
    /// OpenAI, over chat completions.
    OpenAi,
    /// OpenAI, over the Responses protocol.
    OpenAiResponses,
    /// Google's Gemini.
    Gemini,
}

impl Vendor {
    /// All vendors, in the order in which keys in the environment are looked for.
    pub const ALL: [Vendor; 4] = [Vendor::OpenAi, Vendor::Anthropic, Vendor::Gemini, Vendor::OpenAiResponses];

    /// Returns the part of a reference before the colon.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the vendor of a reference's kind.
    #[must_use]
    pub fn from_kind(kind: &str) -> Option<Vendor> {
        Self::ALL.into_iter().find(|vendor| vendor.kind() == kind)
    }

    /// Returns the vendor whose key a variable holds.
    #[must_use]
    pub fn from_key(variable: &str) -> Option<Vendor> {
        Self::ALL.into_iter().find(|vendor| vendor.keys().contains(&variable))
    }

    /// Returns the variables that can hold the vendor's key. The first one that is set counts.
    #[must_use]
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::OpenAi | Self::OpenAiResponses => &["OPENAI_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        }
    }

    /// Returns the variable with the address of another server in the vendor's place.
    #[must_use]
    pub fn url_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::OpenAi | Self::OpenAiResponses => "OPENAI_BASE_URL",
            Self::Gemini => "GEMINI_BASE_URL",
        }
    }

    /// Returns the vendor's own address.
    #[must_use]
    pub fn url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi | Self::OpenAiResponses => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }

    /// Returns the variable that names the default model.
    #[must_use]
    pub fn model_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_MODEL",
            Self::OpenAi | Self::OpenAiResponses => "OPENAI_MODEL",
            Self::Gemini => "GEMINI_MODEL",
        }
    }

    /// Returns the model for a user who names none and sets no variable. The model is small and cheap, and supports
    /// tools and schemas.
    #[must_use]
    pub fn default_model(self) -> &'static str {
        match self {
            Self::Anthropic => "claude-haiku-4-5",
            Self::OpenAi | Self::OpenAiResponses => "gpt-4.1-mini",
            Self::Gemini => "gemini-2.5-flash",
        }
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}
