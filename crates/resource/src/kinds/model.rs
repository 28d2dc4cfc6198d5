//! The kind for other models, typed as `model:REFERENCE[?tokens=200k&usd=0.50&key=SECRET]`.

use serde::{Deserialize, Serialize};

use super::{Kind, ResourceSpec, Row, TextStart, secret};
use crate::{SpecError, Surroundings, quote, units};

const PREFIX: &str = "model:";

/// The row of `model` in the table.
pub(crate) static ROW: Row = Row {
    kind: Kind::Model,
    label: "model",
    noun: "a model",
    verb: "ask",
    type_name: "worker",
    start: TextStart::Prefix(PREFIX),
    example: "model:NAME?tokens=200k",
    grammar: "model:anthropic:NAME?tokens=200k&usd=0.50&key=SECRET, with a model as after `-m`",
    keys: &["tokens=", "usd=", "key="],
    limits: &[],
    methods: &["call"],
    discloses: false,
    sends: true,
    needs_confirmation: true,
    permission_phrase: "",
    by_name: true,
    parse,
};

/// A model, with limits on its use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelSpec {
    /// A model, several models that are tried in turn, or the user's own name for a model.
    pub model: String,
    /// The maximum number of tokens that all calls together may read and write.
    pub tokens: Option<u64>,
    /// The maximum cost of all calls together, in millionths of a dollar.
    pub usd_micros: Option<u64>,
    /// The name of the secret in the vault that is the model's key.
    #[serde(default)]
    pub key: Option<String>,
}

/// Describes a model, with the limits on all its calls together.
pub fn model_summary(model: &str, tokens: Option<u64>, usd_micros: Option<u64>) -> String {
    let mut words = format!("model {model}");
    if let Some(tokens) = tokens {
        words += &format!(", at most {tokens} tokens");
    }
    if let Some(micros) = usd_micros {
        words += &format!(", at most ${}", units::typed_dollars(micros));
    }
    words
}

impl ModelSpec {
    pub(super) fn summary(&self) -> String {
        let key = self.key.as_ref().map(|key| format!(", with the secret {key}"));
        model_summary(&format!("{}{}", self.model, key.unwrap_or_default()), self.tokens, self.usd_micros)
    }

    pub(super) fn typed(&self) -> String {
        let mut query: Vec<String> = Vec::new();
        query.extend(self.tokens.map(|tokens| format!("tokens={tokens}")));
        query.extend(self.usd_micros.map(|micros| format!("usd={}", units::typed_dollars(micros))));
        query.extend(self.key.as_ref().map(|key| format!("key={key}")));
        let model = quote::part(&self.model, &['?']);
        if query.is_empty() {
            format!("{PREFIX}{model}")
        } else {
            format!("{PREFIX}{model}?{}", query.join("&"))
        }
    }
}

fn parse(text: &str, around: &dyn Surroundings) -> Result<ResourceSpec, SpecError> {
    let wrong = |what: &str| ROW.syntax_error(what);
    let cut = match quote::leading(text) {
        Some(_) => quote::split_once(text, '?'),
        None => text.rsplit_once('?'),
    };
    let (name, query) = cut.unwrap_or((text, ""));
    let mut spec = ModelSpec { model: around.model(&quote::plain(name))?, ..ModelSpec::default() };
    for (key, value) in quote::query(query) {
        match (key, value) {
            ("tokens", Some(tokens)) => {
                let tokens = units::count(tokens).filter(|tokens| *tokens > 0);
                spec.tokens = Some(tokens.ok_or_else(|| wrong("`tokens` is written like `200k`"))?);
            }
            ("usd", Some(usd)) => {
                let usd = usd.parse::<f64>().ok().filter(|usd| (0.000_001..=1e6).contains(usd));
                let usd = usd.ok_or_else(|| wrong("`usd` is written like `0.50`"))?;
                spec.usd_micros = Some((usd * 1e6).round() as u64);
            }
            ("key", Some(key)) => {
                secret::check_name(key).map_err(|error| wrong(&error))?;
                spec.key = Some(key.to_owned());
            }
            _ => return Err(ROW.unknown_key()),
        }
    }
    Ok(ResourceSpec::Model(spec))
}
