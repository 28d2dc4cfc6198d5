//! How a model is named: what a user writes after `-m` and what a run stores.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A model, by kind and name, without any secret. Parses from and prints as one string:
///
/// | written | meaning |
/// | --- | --- |
/// | `local`, `local:NAME` | embedded; `NAME` from [`crate::weights::KNOWN`], else the first there |
/// | `openai:MODEL` | OpenAI's own server, or the one in `OPENAI_BASE_URL`; key in `OPENAI_API_KEY` |
/// | `ollama:MODEL` | an Ollama server at `OLLAMA_HOST`, else on this machine |
/// | `compat:BASE_URL#MODEL` | any OpenAI-compatible server; key, if any, in `ALMONER_COMPAT_KEY` |
/// | `scripted:PATH` | answers from a script |
/// | `replay:PATH` | answers from a recording |
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ModelRef {
    /// The embedded model.
    Local {
        /// A name of [`crate::weights::KNOWN`]; `None` is the default one.
        name: Option<String>,
    },
    /// OpenAI or a server that stands in for it.
    OpenAi {
        /// The model's name there.
        model: String,
    },
    /// Ollama.
    Ollama {
        /// The model's name there, with its tag.
        model: String,
    },
    /// Any OpenAI-compatible server.
    Compat {
        /// Everything before `/chat/completions`, such as `http://127.0.0.1:8080/v1`.
        base_url: String,
        /// The model's name there.
        model: String,
    },
    /// A script of answers.
    Scripted {
        /// The JSON file.
        path: PathBuf,
    },
    /// A recording of answers.
    Replay {
        /// The NDJSON file.
        path: PathBuf,
    },
}

/// Why a text is no model reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The part before the colon is no known kind.
    #[error(
        "unknown kind of model in `{0}`: expected local, openai:MODEL, ollama:MODEL, compat:BASE_URL#MODEL, \
         scripted:PATH or replay:PATH"
    )]
    UnknownKind(String),
    /// The part after the colon is missing.
    #[error("`{0}` names no model after the colon")]
    Empty(String),
    /// A `compat` reference without `#MODEL`.
    #[error("`{0}` needs the form compat:BASE_URL#MODEL")]
    NoModel(String),
    /// A base URL that is not plain `http://` or `https://` with a host.
    #[error("`{0}` is not an http:// or https:// address")]
    BadUrl(String),
    /// A base URL with a user name or password in it: references are stored and shown.
    #[error("a model's address must hold no user name or password: keys go into ALMONER_COMPAT_KEY")]
    SecretInUrl,
}

impl FromStr for ModelRef {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let text = text.trim();
        let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        let named = || match rest {
            None | Some("") => Err(ReferenceError::Empty(text.to_owned())),
            Some(rest) => Ok(rest.to_owned()),
        };
        Ok(match kind {
            "local" => Self::Local { name: rest.map(|_| named()).transpose()? },
            "openai" => Self::OpenAi { model: named()? },
            "ollama" => Self::Ollama { model: named()? },
            "scripted" => Self::Scripted { path: named()?.into() },
            "replay" => Self::Replay { path: named()?.into() },
            "compat" => {
                let rest = named()?;
                let (base_url, model) = rest
                    .rsplit_once('#')
                    .filter(|(_, model)| !model.is_empty())
                    .ok_or_else(|| ReferenceError::NoModel(text.to_owned()))?;
                let base_url = checked_url(base_url)?;
                Self::Compat { base_url, model: model.to_owned() }
            }
            _ => return Err(ReferenceError::UnknownKind(text.to_owned())),
        })
    }
}

/// The URL without a trailing slash, if it is one that may be stored.
fn checked_url(url: &str) -> Result<String, ReferenceError> {
    let bad = || ReferenceError::BadUrl(url.to_owned());
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).ok_or_else(bad)?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(ReferenceError::SecretInUrl);
    }
    if authority.is_empty() || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(bad());
    }
    Ok(url.trim_end_matches('/').to_owned())
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local { name: None } => f.write_str("local"),
            Self::Local { name: Some(name) } => write!(f, "local:{name}"),
            Self::OpenAi { model } => write!(f, "openai:{model}"),
            Self::Ollama { model } => write!(f, "ollama:{model}"),
            Self::Compat { base_url, model } => write!(f, "compat:{base_url}#{model}"),
            Self::Scripted { path } => write!(f, "scripted:{}", path.display()),
            Self::Replay { path } => write!(f, "replay:{}", path.display()),
        }
    }
}

impl From<ModelRef> for String {
    fn from(reference: ModelRef) -> Self {
        reference.to_string()
    }
}

impl TryFrom<String> for ModelRef {
    type Error = ReferenceError;

    fn try_from(text: String) -> Result<Self, ReferenceError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_print_as_they_are_written() {
        for text in [
            "local",
            "local:qwen2.5-coder-1.5b",
            "openai:gpt-4.1-mini",
            "ollama:qwen3:4b",
            "compat:http://127.0.0.1:8080/v1#a/model#x",
            "scripted:/a b/c.json",
            "replay:run.ndjson",
        ] {
            assert_eq!(text.parse::<ModelRef>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn wrong_references_say_why() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let message = text.parse::<ModelRef>().unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
        check("gpt-4", "unknown kind");
        check("openai:", "no model after the colon");
        check("local:", "no model after the colon");
        check("compat:http://h/v1", "compat:BASE_URL#MODEL");
        check("compat:http://h/v1#", "compat:BASE_URL#MODEL");
        check("compat:ftp://h#m", "not an http");
        check("compat:http://#m", "not an http");
        check("compat:https://me:pw@h/v1#m", "no user name or password");
    }
}
