//! The names of models: the text that a user writes after `-m` and that a run stores.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::secret::Lookup;
use crate::served::address::{OLLAMA, OLLAMA_HOST, ollama_url, origin};
use crate::vendor::Vendor;

/// A model, by kind and name, without any secret. Parses from and prints as one string:
///
/// | written | meaning |
/// | --- | --- |
/// | `local`, `local:NAME` | embedded; `NAME` from [`crate::weights::KNOWN`], else the first there |
/// | `anthropic:MODEL` | Anthropic's own server, or the one in `ANTHROPIC_BASE_URL`; key in `ANTHROPIC_API_KEY` |
/// | `openai:MODEL` | OpenAI's own server, or the one in `OPENAI_BASE_URL`; key in `OPENAI_API_KEY` |
/// | `openai-responses:MODEL` | the same server and key, over the Responses protocol |
/// | `gemini:MODEL` | Google's, or the one in `GEMINI_BASE_URL`; key in `GEMINI_API_KEY` or `GOOGLE_API_KEY` |
/// | `VENDOR:BASE_URL#MODEL` | a server that speaks as one of these four; the variable does not count |
/// | `ollama:MODEL` | an Ollama server at `OLLAMA_HOST`, else on this machine |
/// | `ollama:URL#MODEL` | the same at this URL; the variable does not count |
/// | `compat:BASE_URL#MODEL` | any OpenAI-compatible server; key, if any, in `ALMONER_COMPAT_KEY` |
/// | `…?key=NAME` | one of these five with a key of the user's vault, by its name, and no other key |
/// | `scripted:PATH` | answers from a script |
/// | `replay:PATH` | answers from a recording |
///
/// A stored reference is [pinned](ModelRef::pinned), so that it means the same server for ever.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ModelRef {
    /// The embedded model.
    Local {
        /// A name from [`crate::weights::KNOWN`], or `None` for the default model.
        name: Option<String>,
    },
    /// A model of a vendor, or of a server that stands in for the vendor.
    Vendor {
        /// The vendor whose protocol the server speaks, and whose key it takes.
        vendor: Vendor,
        /// The address of another server in the vendor's place: everything before `/chat/completions` and the like.
        base_url: Option<String>,
        /// The name of the model at the server.
        model: String,
        /// The name of the secret with the model's key, if the user chose one.
        key: Option<String>,
    },
    /// A model of an Ollama server.
    Ollama {
        /// The address of a server other than the one on this machine, such as `http://box:11434`.
        url: Option<String>,
        /// The name of the model at the server, with its tag.
        model: String,
    },
    /// A model of any OpenAI-compatible server.
    Compat {
        /// The address before `/chat/completions`, such as `http://127.0.0.1:8080/v1`.
        base_url: String,
        /// The name of the model at the server.
        model: String,
        /// The name of the secret with the model's key, if the user chose one.
        key: Option<String>,
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

/// The reason why a text is no model reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The part before the colon is no known kind.
    #[error(
        "unknown kind of model in `{0}`: expected local, anthropic:MODEL, openai:MODEL, openai-responses:MODEL, \
         gemini:MODEL, ollama:MODEL, compat:BASE_URL#MODEL, scripted:PATH or replay:PATH"
    )]
    UnknownKind(String),
    /// The text names a key for a model that takes none, or the name of the key is invalid.
    #[error(
        "`{0}`: `?key=` stands behind a model of a server that takes a key, and names a secret of the vault"
    )]
    Key(String),
    /// The part after the colon is missing.
    #[error("`{0}` names no model after the colon")]
    Empty(String),
    /// A `compat` reference has no `#MODEL`.
    #[error("`{0}` needs the form compat:BASE_URL#MODEL")]
    NoModel(String),
    /// A base URL is not a plain `http://` or `https://` address with a host.
    #[error("`{0}` is not an http:// or https:// address")]
    BadUrl(String),
    /// The address in a variable cannot be used.
    #[error("{variable}: {error}")]
    Variable {
        /// The variable.
        variable: &'static str,
        /// The error of the variable's value.
        error: Box<ReferenceError>,
    },
    /// A base URL contains a user name or password. References are stored and shown, so they must contain no secret.
    #[error("a model's address must hold no user name or password: keys go into ALMONER_COMPAT_KEY")]
    SecretInUrl,
}

/// The text before the name of a key in a reference.
const KEY: &str = "?key=";

impl ModelRef {
    /// Returns whether the requests to this model stay on this machine, within this program. Even a server on this
    /// machine may pass them on, so it does not count.
    #[must_use]
    pub fn is_self_contained(&self) -> bool {
        matches!(self, Self::Local { .. } | Self::Scripted { .. } | Self::Replay { .. })
    }

    /// Returns whether the model only looks up its answers in a file: at once, for free, and unseen by others.
    #[must_use]
    pub fn is_lookup(&self) -> bool {
        matches!(self, Self::Scripted { .. } | Self::Replay { .. })
    }

    /// Returns the server that answers for the model, so that requests to one server can share what it has. It is an
    /// address without secrets, the word for the local model, or the file of answers.
    #[must_use]
    pub fn server(&self) -> String {
        match self {
            Self::Local { .. } => "local".to_owned(),
            Self::Vendor { vendor, base_url, .. } => origin(base_url.as_deref().unwrap_or(vendor.url())),
            Self::Ollama { url, .. } => origin(url.as_deref().unwrap_or(OLLAMA)),
            Self::Compat { base_url, .. } => origin(base_url),
            Self::Scripted { path } | Self::Replay { path } => path.display().to_string(),
        }
    }

    /// Returns the name of the secret with the model's key, if the user chose one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Vendor { key, .. } | Self::Compat { key, .. } => key.as_deref(),
            _ => None,
        }
    }

    /// Returns this reference with a key of the vault.
    ///
    /// # Errors
    ///
    /// When the model takes no key, or the reference has one already.
    pub fn with_key(&self, name: &str) -> Result<ModelRef, ReferenceError> {
        format!("{self}{KEY}{name}").parse()
    }

    /// Returns this reference without a key. The facts about a model do not depend on its payer.
    #[must_use]
    pub fn plain(&self) -> ModelRef {
        let mut plain = self.clone();
        if let Self::Vendor { key, .. } | Self::Compat { key, .. } = &mut plain {
            *key = None;
        }
        plain
    }

    /// Returns the address of the model's server without a slash at its end, if the server takes a key.
    #[must_use]
    pub fn keyed_server(&self) -> Option<&str> {
        match self {
            Self::Vendor { vendor, base_url, .. } => Some(base_url.as_deref().unwrap_or(vendor.url())),
            Self::Compat { base_url, .. } => Some(base_url),
            _ => None,
        }
    }

    /// Returns this reference with the address of its server, if a variable names one. A run must store this form.
    /// Its documents then go to one server, even if the variables have changed when the run goes on.
    ///
    /// # Errors
    ///
    /// When the variable's value is no address.
    pub fn pinned(self, lookup: Lookup<'_>) -> Result<ModelRef, ReferenceError> {
        let checked = |variable: &'static str, url: &str| {
            checked_url(url).map_err(|error| ReferenceError::Variable { variable, error: Box::new(error) })
        };
        Ok(match self {
            Self::Vendor { vendor, base_url: None, model, key } => {
                let variable = vendor.url_variable();
                let named = lookup(variable).map(|url| url.reveal().trim().to_owned());
                let base_url = named.filter(|url| !url.is_empty()).map(|url| checked(variable, &url));
                Self::Vendor { vendor, base_url: own_is_none(vendor, base_url.transpose()?), model, key }
            }
            Self::Ollama { url: None, model } => {
                let url = checked(OLLAMA_HOST, &ollama_url(lookup))?;
                Self::Ollama { url: Some(url).filter(|url| url != OLLAMA), model }
            }
            other => other,
        })
    }
}

/// Returns the URL, or `None` if it is the vendor's own address, which is left out.
fn own_is_none(vendor: Vendor, base_url: Option<String>) -> Option<String> {
    base_url.filter(|url| url != vendor.url())
}

/// Returns a model's name, with the server's address before it if there is one.
fn at_server(rest: String) -> Result<(Option<String>, String), ReferenceError> {
    if !rest.starts_with("http://") && !rest.starts_with("https://") {
        return Ok((None, rest));
    }
    match rest.split_once('#') {
        Some((url, model)) if !model.is_empty() => Ok((Some(checked_url(url)?), model.to_owned())),
        _ => Err(ReferenceError::Empty(rest)),
    }
}

impl FromStr for ModelRef {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let text = text.trim();
        let (whole, key) = match text.rsplit_once(KEY) {
            Some((whole, key)) => (whole, Some(key.to_owned())),
            None => (text, None),
        };
        let wrong_key = || ReferenceError::Key(whole.to_owned());
        if key.as_deref().is_some_and(|key| !is_secret_name(key)) || whole.contains(KEY) {
            return Err(wrong_key());
        }
        let (kind, rest) = whole.split_once(':').map_or((whole, None), |(kind, rest)| (kind, Some(rest)));
        if key.is_some() && kind != "compat" && Vendor::from_kind(kind).is_none() {
            return Err(wrong_key());
        }
        let named = || match rest {
            None | Some("") => Err(ReferenceError::Empty(text.to_owned())),
            Some(rest) => Ok(rest.to_owned()),
        };
        Ok(match kind {
            "local" => Self::Local { name: rest.map(|_| named()).transpose()? },
            "ollama" => {
                let (url, model) = at_server(named()?)?;
                Self::Ollama { url: url.filter(|url| url != OLLAMA), model }
            }
            "scripted" => Self::Scripted { path: named()?.into() },
            "replay" => Self::Replay { path: named()?.into() },
            "compat" => {
                let rest = named()?;
                let (base_url, model) = rest
                    .rsplit_once('#')
                    .filter(|(_, model)| !model.is_empty())
                    .ok_or_else(|| ReferenceError::NoModel(text.to_owned()))?;
                let base_url = checked_url(base_url)?;
                Self::Compat { base_url, model: model.to_owned(), key }
            }
            kind => {
                let unknown = || ReferenceError::UnknownKind(text.to_owned());
                let vendor = Vendor::from_kind(kind).ok_or_else(unknown)?;
                let (base_url, model) = at_server(named()?)?;
                Self::Vendor { vendor, base_url: own_is_none(vendor, base_url), model, key }
            }
        })
    }
}

/// Returns whether the vault can have a secret of this name.
fn is_secret_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}

/// Returns the URL without a trailing slash, if the URL may be stored.
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
            Self::Vendor { vendor, base_url: None, model, .. } => write!(f, "{vendor}:{model}"),
            Self::Vendor { vendor, base_url: Some(url), model, .. } => write!(f, "{vendor}:{url}#{model}"),
            Self::Ollama { url: None, model } => write!(f, "ollama:{model}"),
            Self::Ollama { url: Some(url), model } => write!(f, "ollama:{url}#{model}"),
            Self::Compat { base_url, model, .. } => write!(f, "compat:{base_url}#{model}"),
            Self::Scripted { path } => write!(f, "scripted:{}", path.display()),
            Self::Replay { path } => write!(f, "replay:{}", path.display()),
        }?;
        self.key().map_or(Ok(()), |key| write!(f, "{KEY}{key}"))
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
    fn references_print_in_their_input_form() {
        for text in [
            "local",
            "local:qwen2.5-coder-1.5b",
            "openai:gpt-4.1-mini",
            "openai-responses:gpt-5",
            "anthropic:claude-x",
            "anthropic:http://127.0.0.1:8080#m",
            "gemini:gemini-2.5-flash",
            "gemini:https://h/v1beta#m",
            "openai:https://h/v1#a/model#x",
            "ollama:qwen3:4b",
            "ollama:http://box:11434#qwen3:4b",
            "compat:http://127.0.0.1:8080/v1#a/model#x",
            "openai:gpt-4.1-mini?key=work",
            "gemini:https://h/v1beta#m?key=a.b-c_1",
            "compat:http://127.0.0.1:8080/v1#a/model#x?key=work",
            "scripted:/a b/c.json",
            "replay:run.ndjson",
        ] {
            assert_eq!(text.parse::<ModelRef>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_references_name_the_reason() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let message = text.parse::<ModelRef>().unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
        check("gpt-4", "unknown kind");
        check("openai:", "no model after the colon");
        check("openai:https://h/v1", "no model after the colon");
        check("openai:https://me:pw@h/v1#m", "no user name or password");
        check("anthropic:", "no model after the colon");
        check("gemini:https://me:pw@h#m", "no user name or password");
        check("ollama:http://#m", "not an http");
        check("local:", "no model after the colon");
        for wrong in
            ["ollama:m?key=k", "local?key=k", "openai:m?key=", "openai:m?key=a b", "openai:m?key=a?key=b"]
        {
            check(wrong, "names a secret of the vault");
        }
        check("openai:?key=k", "no model after the colon");
        check("compat:http://h/v1", "compat:BASE_URL#MODEL");
        check("compat:http://h/v1#", "compat:BASE_URL#MODEL");
        check("compat:ftp://h#m", "not an http");
        check("compat:http://#m", "not an http");
        check("compat:https://me:pw@h/v1#m", "no user name or password");
    }

    #[test]
    fn named_key_is_part_of_the_reference() {
        let model: ModelRef = "openai:m".parse().unwrap();
        let keyed = model.with_key("work").unwrap();
        assert_eq!((keyed.to_string().as_str(), keyed.key()), ("openai:m?key=work", Some("work")));
        assert_ne!(keyed, model);
        assert_eq!(keyed.plain(), model);
        assert_eq!(keyed.keyed_server(), Some("https://api.openai.com/v1"));
        assert!(keyed.with_key("other").is_err() && ModelRef::Local { name: None }.with_key("work").is_err());
        let pinned = keyed.pinned(&|_| Some(crate::Secret::new("https://h/v1"))).unwrap();
        assert_eq!(pinned.to_string(), "openai:https://h/v1#m?key=work");
    }

    #[test]
    fn pinned_reference_contains_its_server() {
        #[track_caller]
        fn check(text: &str, vars: &[(&str, &str)], expected: &str) {
            let lookup = |name: &str| {
                vars.iter().find(|(n, _)| *n == name).map(|(_, value)| crate::Secret::new(*value))
            };
            let pinned = text.parse::<ModelRef>().unwrap().pinned(&lookup);
            let got = pinned.map_or_else(|e| e.to_string(), |reference| reference.to_string());
            assert_eq!(got, expected);
        }
        let openai = |url| [("OPENAI_BASE_URL", url), ("OLLAMA_HOST", "box")];
        check("openai:m", &[], "openai:m");
        check("openai:m", &openai(" https://h/v1/ "), "openai:https://h/v1#m");
        check("openai:m", &openai("https://api.openai.com/v1"), "openai:m");
        check("openai:https://own/v1#m", &openai("https://h/v1"), "openai:https://own/v1#m");
        check("openai:https://api.openai.com/v1#m", &[], "openai:m");
        check("openai:m", &openai("h/v1"), "OPENAI_BASE_URL: `h/v1` is not an http:// or https:// address");
        check("openai-responses:m", &openai("https://h/v1"), "openai-responses:https://h/v1#m");
        check("anthropic:m", &openai("https://h/v1"), "anthropic:m");
        check("anthropic:m", &[("ANTHROPIC_BASE_URL", "https://h/")], "anthropic:https://h#m");
        check("anthropic:https://api.anthropic.com/#m", &[], "anthropic:m");
        check("gemini:m", &[("GEMINI_BASE_URL", "https://h")], "gemini:https://h#m");
        check("ollama:m", &[], "ollama:m");
        check("ollama:m", &openai(""), "ollama:http://box:11434#m");
        check("ollama:m", &[("OLLAMA_HOST", "0.0.0.0")], "ollama:m");
        check("compat:https://h/v1#m", &openai("https://x/v1"), "compat:https://h/v1#m");
        check("local", &openai("https://x/v1"), "local");
    }
}
