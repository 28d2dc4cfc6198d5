//! Which model is there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::compat::{self, OPENAI_KEY};
use crate::reference::ModelRef;
use crate::secret::Lookup;
use crate::weights::{self, Weights};

/// The model used with an OpenAI key when nobody named one: small, cheap, with tools and schemas.
const OPENAI_DEFAULT: &str = "gpt-4.1-mini";
/// The variable that names another default.
const OPENAI_MODEL: &str = "OPENAI_MODEL";
/// How long to wait for an Ollama that is there: it answers at once.
const OLLAMA_WAIT: Duration = Duration::from_millis(800);

/// What [`detect`] found, best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A key is set.
    Key {
        /// The model to use with it.
        reference: ModelRef,
        /// The variable that holds the key.
        variable: &'static str,
    },
    /// An Ollama server answers and has a model.
    Ollama {
        /// Its first model that can chat.
        reference: ModelRef,
        /// The server's address.
        url: String,
    },
    /// The local model's weights are here.
    Local {
        /// `local`.
        reference: ModelRef,
        /// The file. Its hash was checked when it came; loading checks its form.
        path: PathBuf,
    },
    /// Nothing is here yet, but the local model can be pulled.
    Pull {
        /// `local`.
        reference: ModelRef,
        /// What would be pulled: size, licence, memory.
        weights: &'static Weights,
    },
}

impl Found {
    /// The model found.
    #[must_use]
    pub fn reference(&self) -> &ModelRef {
        match self {
            Self::Key { reference, .. }
            | Self::Ollama { reference, .. }
            | Self::Local { reference, .. }
            | Self::Pull { reference, .. } => reference,
        }
    }
}

/// Looks for a model: a key, a reachable Ollama, local weights, in this order; else says what can be pulled. Takes
/// under a second; sends no key anywhere.
#[must_use]
pub fn detect(lookup: Lookup<'_>, weights_dir: &Path) -> Found {
    if lookup(OPENAI_KEY).is_some_and(|key| !key.reveal().trim().is_empty()) {
        let model = lookup(OPENAI_MODEL).map(|model| model.reveal().trim().to_owned());
        let model = model.filter(|m| !m.is_empty()).unwrap_or_else(|| OPENAI_DEFAULT.to_owned());
        return Found::Key { reference: ModelRef::OpenAi { base_url: None, model }, variable: OPENAI_KEY };
    }
    let url = compat::ollama_url(lookup);
    if let Some(model) = ollama_model(&url) {
        return Found::Ollama { reference: ModelRef::Ollama { url: None, model }, url };
    }
    let weights = weights::default();
    let reference = ModelRef::Local { name: None };
    let path = weights.path(weights_dir);
    let whole = std::fs::metadata(&path).is_ok_and(|meta| meta.len() == weights.bytes);
    if whole { Found::Local { reference, path } } else { Found::Pull { reference, weights } }
}

/// The first model of an Ollama server that is not there for embeddings.
fn ollama_model(url: &str) -> Option<String> {
    let agent = compat::agent(OLLAMA_WAIT, OLLAMA_WAIT);
    let mut response = agent.get(format!("{url}/api/tags")).call().ok()?;
    if response.status().as_u16() != 200 {
        return None;
    }
    let text = response.body_mut().with_config().limit(1 << 20).read_to_string().ok()?;
    let list: Value = serde_json::from_str(&text).ok()?;
    let names = list.get("models")?.as_array()?.iter().filter_map(|model| model.get("name")?.as_str());
    names.filter(|name| !name.contains("embed")).map(str::to_owned).next()
}
