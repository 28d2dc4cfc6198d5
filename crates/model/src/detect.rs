//! The detection of available models.

use std::path::{Path, PathBuf};
use std::time::Duration;

use network::Network;
use serde_json::Value;

use crate::reference::ModelRef;
use crate::secret::Lookup;
use crate::served::address::ollama_url;
use crate::served::agent;
use crate::vendor::Vendor;
use crate::weights::{self, Weights};

/// The timeout for an Ollama server. A running server answers at once.
const OLLAMA_TIMEOUT: Duration = Duration::from_millis(800);

/// A model that [`detect`] or [`survey`] found. The best variant comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetectedModel {
    /// A vendor's model, for which a key is set.
    Key {
        /// The model to use with the key.
        reference: ModelRef,
        /// The variable that holds the key.
        variable: &'static str,
    },
    /// A model of a running Ollama server. For [`survey`], also a model of a llama.cpp server.
    Ollama {
        /// The first model of the server that can chat.
        reference: ModelRef,
        /// The server's address.
        url: String,
    },
    /// The local model, whose weights are on this machine.
    Local {
        /// The reference `local`.
        reference: ModelRef,
        /// The weights file. Its hash was checked after the download, and loading checks the file again.
        path: PathBuf,
    },
    /// The local model, which is not on this machine yet but can be pulled.
    Pull {
        /// The reference `local`.
        reference: ModelRef,
        /// The model to pull, with its size, licence and memory.
        weights: &'static Weights,
    },
}

impl DetectedModel {
    /// Returns the reference of the model that was found.
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

/// Returns the best available model: one with a key (OpenAI's, Anthropic's, Gemini's), one of a reachable Ollama
/// server, or local weights, in this order. If none is found, returns the model that can be pulled. The search takes
/// less than a second and sends no key anywhere.
#[must_use]
pub fn detect(lookup: Lookup<'_>, weights_dir: &Path, network: &Network) -> DetectedModel {
    let set = |name: &str| {
        let value = lookup(name)?.reveal().trim().to_owned();
        (!value.is_empty()).then_some(value)
    };
    for vendor in Vendor::ALL {
        if let Some(variable) = vendor.keys().iter().copied().find(|name| set(name).is_some()) {
            let model = set(vendor.model_variable()).unwrap_or_else(|| vendor.default_model().to_owned());
            return DetectedModel::Key {
                reference: ModelRef::Vendor { vendor, base_url: None, model, key: None },
                variable,
            };
        }
    }
    let url = ollama_url(lookup);
    if let Some(model) = ollama_model(&url, network) {
        return DetectedModel::Ollama { reference: ModelRef::Ollama { url: None, model }, url };
    }
    let weights = weights::default();
    let reference = ModelRef::Local { name: None };
    let path = weights.path(weights_dir);
    let whole = std::fs::metadata(&path).is_ok_and(|meta| meta.len() == weights.bytes);
    if whole { DetectedModel::Local { reference, path } } else { DetectedModel::Pull { reference, weights } }
}

/// Returns all available models, best first: one for each vendor's key, those of an Ollama and a llama.cpp server on
/// this machine, and local weights. A model that could only be pulled is left out. The search sends no key anywhere.
#[must_use]
pub fn survey(lookup: Lookup<'_>, weights_dir: &Path, network: &Network) -> Vec<DetectedModel> {
    let set = |name: &str| {
        let value = lookup(name)?.reveal().trim().to_owned();
        (!value.is_empty()).then_some(value)
    };
    let mut all = Vec::new();
    // One key is valid for both of OpenAI's protocols.
    for vendor in Vendor::ALL.into_iter().filter(|vendor| *vendor != Vendor::OpenAiResponses) {
        if let Some(variable) = vendor.keys().iter().copied().find(|name| set(name).is_some()) {
            let model = set(vendor.model_variable()).unwrap_or_else(|| vendor.default_model().to_owned());
            all.push(DetectedModel::Key {
                reference: ModelRef::Vendor { vendor, base_url: None, model, key: None },
                variable,
            });
        }
    }
    let url = ollama_url(lookup);
    if let Some(model) = ollama_model(&url, network) {
        all.push(DetectedModel::Ollama { reference: ModelRef::Ollama { url: None, model }, url });
    }
    let port = set(PORT_VARIABLE).and_then(|port| port.parse::<u16>().ok()).unwrap_or(LLAMA_PORT);
    let url = format!("http://127.0.0.1:{port}/v1");
    if let Some(reference) = llama_model(&url, network) {
        all.push(DetectedModel::Ollama { reference, url });
    }
    let weights = weights::default();
    let path = weights.path(weights_dir);
    if std::fs::metadata(&path).is_ok_and(|meta| meta.len() == weights.bytes) {
        all.push(DetectedModel::Local { reference: ModelRef::Local { name: None }, path });
    }
    all
}

/// The variable that names the port of a llama.cpp server on this machine.
pub const PORT_VARIABLE: &str = "LLAMA_ARG_PORT";

/// The port of a llama.cpp server, if the variable is not set.
const LLAMA_PORT: u16 = 8080;

/// Returns the model of a llama.cpp server. Other programs listen on such ports too, so the server must say that it
/// is llama.cpp.
fn llama_model(url: &str, network: &Network) -> Option<ModelRef> {
    let agent = agent(network, url, OLLAMA_TIMEOUT, OLLAMA_TIMEOUT).ok()?;
    let mut response = agent.get(format!("{url}/models")).call().ok()?;
    if response.status().as_u16() != 200 {
        return None;
    }
    let text = response.body_mut().with_config().limit(1 << 20).read_to_string().ok()?;
    let list: Value = serde_json::from_str(&text).ok()?;
    let own = |model: &&Value| model.get("owned_by").and_then(Value::as_str) == Some("llamacpp");
    let name = list.get("data")?.as_array()?.iter().find(own)?.get("id")?.as_str()?;
    format!("compat:{url}#{name}").parse().ok()
}

/// Returns the first model of an Ollama server that is not made for embeddings.
fn ollama_model(url: &str, network: &Network) -> Option<String> {
    let agent = agent(network, url, OLLAMA_TIMEOUT, OLLAMA_TIMEOUT).ok()?;
    let mut response = agent.get(format!("{url}/api/tags")).call().ok()?;
    if response.status().as_u16() != 200 {
        return None;
    }
    let text = response.body_mut().with_config().limit(1 << 20).read_to_string().ok()?;
    let list: Value = serde_json::from_str(&text).ok()?;
    let names = list.get("models")?.as_array()?.iter().filter_map(|model| model.get("name")?.as_str());
    names.filter(|name| !name.contains("embed")).map(str::to_owned).next()
}
