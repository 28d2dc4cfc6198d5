//! The user's settings for models: names, prices, accepted documents, and permission to read private data.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use model::{ModelLimits, ModelRef, Price};
use passable::visible_line;
use toml::Spanned;
use toml::de::DeValue;
use worker::definition::{nearest, parse_count, parse_duration_ms};

use super::Models;
use super::read::{SettingsError, Text, table};

/// The keys of the section `models`.
const KEYS: [&str; 9] =
    ["default", "names", "prices", "limits", "images", "pdfs", "private", "silence", "pace"];

/// The minimum and the maximum of the time for which a server may send nothing, in milliseconds.
const SILENCE_MS: std::ops::RangeInclusive<u64> = 1000..=24 * 3_600_000;

/// The maximum pace that servers can be held to, in bytes in a minute.
const MAX_PACE_BYTES: u64 = 1 << 20;

/// The maximum length of a name for a model.
const MAX_NAME_LEN: usize = 40;

const NAME_EXAMPLE: &str = "write fast = \"openai:gpt-4.1-mini\", or fast = { model = \"openai:gpt-4.1-mini\", key = \"SECRET\", private = true }";

pub(super) fn read(text: &Text<'_>, value: &Spanned<DeValue<'_>>) -> Result<Models, SettingsError> {
    let mut models = Models::default();
    let mut chosen = None;
    for (key, value) in table(text, value, "models")? {
        match key.get_ref().as_ref() {
            "prices" => {
                for (model, value) in table(text, value, "models.prices")? {
                    let (at, name) = (model.span().start, model.get_ref());
                    let reference = reference(text, at, name)?;
                    // The price of a model does not depend on the key that a request carries.
                    insert_price(text, &mut models, at, &reference, price(text, at, value)?)?;
                }
            }
            "limits" => {
                for (model, value) in table(text, value, "models.limits")? {
                    let reference = reference(text, model.span().start, model.get_ref())?;
                    models.limits.insert(reference.plain().to_string(), limits(text, value)?);
                }
            }
            "default" => chosen = Some(value),
            "names" => named(text, value, &mut models)?,
            "images" => models.images.extend(names(text, "images", value)?),
            "pdfs" => models.pdfs.extend(names(text, "pdfs", value)?),
            "private" => {
                let all = names(text, "private", value)?;
                models.private.extend(all);
            }
            "silence" => models.pace.silence = silence(text, value)?,
            "pace" => models.pace.bytes = pace(text, value)?,
            other => return Err(text.unknown(key.span().start, "key", other, &KEYS)),
        }
    }
    models.default = chosen.map(|value| default(text, value, &models)).transpose()?;
    Ok(models)
}

/// Reads the names that the user chose for models.
fn named(text: &Text<'_>, value: &Spanned<DeValue<'_>>, models: &mut Models) -> Result<(), SettingsError> {
    for (key, value) in table(text, value, "models.names")? {
        let (at, name) = (key.span().start, key.get_ref().as_ref());
        let fits = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.len() <= MAX_NAME_LEN
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        if !fits || name == "local" {
            let what = format!("`{}` cannot be the name of a model", visible_line(name));
            let help = format!("letters, digits, `-` and `_`, at most {MAX_NAME_LEN}, and not `local`");
            return Err(text.trouble(at, what, help));
        }
        let reference = match value.get_ref() {
            DeValue::String(said) => reference(text, value.span().start, said)?,
            DeValue::Table(_) => model_entry(text, name, value, models)?,
            _ => {
                let what = format!("`{name}` is a model, or a section with one");
                return Err(text.trouble(value.span().start, what, NAME_EXAMPLE));
            }
        };
        models.names.insert(name.to_owned(), reference.to_string());
    }
    Ok(())
}

/// Returns the model of one entry, with the key for its requests. Stores the entry's other settings in `models`.
fn model_entry(
    text: &Text<'_>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
    models: &mut Models,
) -> Result<ModelRef, SettingsError> {
    let fields = table(text, value, &format!("models.names.{name}"))?;
    let said = |key: &str, field: &'_ Spanned<DeValue<'_>>| match field.get_ref() {
        DeValue::String(word) => Ok(word.to_string()),
        _ => Err(text.trouble(field.span().start, format!("`{key}` is a text"), NAME_EXAMPLE)),
    };
    let (mut model, mut key, mut is_private, mut cost) = (None, None, false, None);
    for (field, value) in fields {
        let at = value.span().start;
        match field.get_ref().as_ref() {
            "model" => model = Some(reference(text, at, &said("model", value)?)?),
            "key" => key = Some((at, said("key", value)?)),
            "price" => cost = Some((at, price(text, at, value)?)),
            "private" => match value.get_ref() {
                DeValue::Boolean(flag) => is_private = *flag,
                _ => return Err(text.trouble(at, "`private` is `true` or `false`", NAME_EXAMPLE)),
            },
            other => {
                let known = ["model", "key", "private", "price"];
                return Err(text.unknown(field.span().start, "key", other, &known));
            }
        }
    }
    let Some(mut model) = model else {
        let what = format!("`{name}` says not which model it is");
        return Err(text.trouble(value.span().start, what, NAME_EXAMPLE));
    };
    if let Some((at, key)) = key {
        model = model
            .with_key(&key)
            .map_err(|error| text.trouble(at, visible_line(&error.to_string()), NAME_EXAMPLE))?;
    }
    if is_private {
        models.private.insert(model.to_string());
    }
    if let Some((at, price)) = cost {
        insert_price(text, models, at, &model, price)?;
    }
    Ok(model)
}

/// Stores the price of a model.
///
/// # Errors
/// When the model already has another price.
fn insert_price(
    text: &Text<'_>,
    models: &mut Models,
    at: usize,
    reference: &ModelRef,
    price: Price,
) -> Result<(), SettingsError> {
    let plain = reference.plain().to_string();
    match models.prices.insert(plain.clone(), price) {
        Some(other) if other != price => {
            let what = format!("there are two prices for {}", visible_line(&plain));
            Err(text.trouble(at, what, "a model has one price, whatever it is called"))
        }
        _ => Ok(()),
    }
}

impl Models {
    /// Returns the models that a text names, in the syntax of `-m`. The names that the user chose are replaced by
    /// their references.
    ///
    /// # Errors
    /// When a word is similar to a name but is no name. The error holds the fault and the advice.
    pub fn resolve(&self, said: &str) -> Result<String, (String, String)> {
        let word = said.trim();
        let is_word = word != "local" && !word.contains([':', ',', '/']);
        if let (true, false, Some(near)) =
            (is_word, self.names.contains_key(word), nearest(word, self.names.keys().map(String::as_str)))
        {
            let what = format!("there is no model `{}`", visible_line(word));
            return Err((what, format!("did you mean `{near}`?")));
        }
        // A path can contain a comma, so only parts that are exactly a name are replaced.
        let parts = said.split(',').map(|part| self.names.get(part.trim()).map_or(part, String::as_str));
        Ok(parts.collect::<Vec<_>>().join(","))
    }
}

/// Returns the default model, or several that are tried in turn, in the syntax of `-m`.
fn default(text: &Text<'_>, value: &Spanned<DeValue<'_>>, models: &Models) -> Result<String, SettingsError> {
    let at = value.span().start;
    let help = "write the model as after `-m`, in quotes";
    let DeValue::String(name) = value.get_ref() else {
        return Err(text.trouble(at, "`default` is a text", help));
    };
    let resolved = models.resolve(name).map_err(|(what, help)| text.trouble(at, what, help))?;
    match model::parse_list(&resolved) {
        Ok(_) => Ok(resolved),
        Err(error) => Err(text.trouble(at, visible_line(&error.to_string()), help)),
    }
}

/// Returns a price, given in dollars for a million tokens.
fn price(text: &Text<'_>, at: usize, value: &Spanned<DeValue<'_>>) -> Result<Price, SettingsError> {
    const KEYS: [&str; 4] = ["input", "output", "cached", "cache_write"];
    let mut amounts = BTreeMap::new();
    for (key, value) in table(text, value, "a price")? {
        let Some(name) = KEYS.into_iter().find(|known| *known == key.get_ref().as_ref()) else {
            return Err(text.unknown(key.span().start, "key", key.get_ref(), &KEYS));
        };
        let amount = match value.get_ref() {
            DeValue::Integer(whole) if whole.radix() == 10 => whole.as_str().parse::<f64>().ok(),
            DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
            _ => None,
        };
        let amount = amount.filter(|amount| (0.0..=1e6).contains(amount)).ok_or_else(|| {
            let what = format!("`{name}` is an amount of dollars for a million tokens, up to a million");
            text.trouble(value.span().start, what, "write it like `0.40`")
        })?;
        amounts.insert(name, amount);
    }
    let (Some(input), Some(output)) = (amounts.get("input"), amounts.get("output")) else {
        return Err(text.trouble(
            at,
            "a price has at least `input` and `output`",
            "write `{ input = 0.40, output = 1.60 }`: dollars for a million tokens",
        ));
    };
    let of = |name: &str| amounts.get(name).copied();
    Ok(Price::from_dollars(*input, of("cached"), of("cache_write"), *output))
}

/// Returns the maximum time for which a server may send nothing of an answer.
fn silence(text: &Text<'_>, value: &Spanned<DeValue<'_>>) -> Result<Duration, SettingsError> {
    let ms = match value.get_ref() {
        DeValue::String(time) => parse_duration_ms(time),
        _ => None,
    };
    ms.filter(|ms| SILENCE_MS.contains(ms)).map(Duration::from_millis).ok_or_else(|| {
        let what = "`silence` is a time from a second to a day, as text";
        text.trouble(value.span().start, what, "silence = \"20m\"")
    })
}

/// Returns the number of bytes of an answer that must come in a minute.
fn pace(text: &Text<'_>, value: &Spanned<DeValue<'_>>) -> Result<u64, SettingsError> {
    let bytes = match value.get_ref() {
        DeValue::Integer(whole) if whole.radix() == 10 => whole.as_str().parse().ok(),
        _ => None,
    };
    bytes.filter(|bytes| *bytes <= MAX_PACE_BYTES).ok_or_else(|| {
        let what = "`pace` is a number of bytes in a minute, up to a mebibyte";
        text.trouble(value.span().start, what, "pace = 512; 0 means that any part of an answer is enough")
    })
}

/// Returns the limits of a model, in tokens.
fn limits(text: &Text<'_>, value: &Spanned<DeValue<'_>>) -> Result<ModelLimits, SettingsError> {
    const KEYS: [&str; 2] = ["context", "output"];
    let mut limits = ModelLimits::default();
    for (key, value) in table(text, value, "limits")? {
        let name = key.get_ref().as_ref();
        let words = match value.get_ref() {
            DeValue::Integer(whole) if whole.radix() == 10 => Some(whole.as_str().to_owned()),
            DeValue::String(word) => Some(word.to_string()),
            _ => None,
        };
        let count =
            words.as_deref().and_then(parse_count).filter(|count| (256..=1_000_000_000).contains(count));
        let place = match name {
            "context" => &mut limits.context,
            "output" => &mut limits.output,
            other => return Err(text.unknown(key.span().start, "key", other, &KEYS)),
        };
        *place = Some(count.ok_or_else(|| {
            let what = format!("`{name}` is a number of tokens, from 256 on");
            text.trouble(value.span().start, what, "write `{ context = 32768, output = 8192 }`")
        })?);
    }
    Ok(limits)
}

/// Returns a reference to a model in the form that runs store.
fn reference(text: &Text<'_>, at: usize, name: &str) -> Result<ModelRef, SettingsError> {
    name.parse().map_err(|error: model::ReferenceError| {
        let what = visible_line(&format!("{error}")).into_owned();
        text.trouble(at, what, "write the model as after `-m`, in quotes")
    })
}

/// Returns a list of models.
fn names(
    text: &Text<'_>,
    key: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<BTreeSet<String>, SettingsError> {
    let at = value.span().start;
    let wrong = || {
        let what = format!("`{key}` is a list of models");
        text.trouble(at, what, format!("write {key} = [\"ollama:llava\"]"))
    };
    let DeValue::Array(parts) = value.get_ref() else { return Err(wrong()) };
    let mut all = BTreeSet::new();
    for part in parts.iter() {
        let DeValue::String(name) = part.get_ref() else { return Err(wrong()) };
        all.insert(reference(text, part.span().start, name)?.to_string());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::read::parse;

    #[test]
    fn prices_and_document_types_of_models_are_read() {
        let text = "[models]\nimages = [\"ollama:llava\"]\n\
                    [models.prices]\n\"compat:https://h/v1/#m\" = { input = 1, output = 2.5, cached = 0.1 }\n";
        let models = parse(text).unwrap().models;
        let price = Price::from_dollars(1.0, Some(0.1), None, 2.5);
        assert_eq!(models.prices, BTreeMap::from([("compat:https://h/v1#m".to_owned(), price)]));
        assert_eq!(models.images, BTreeSet::from(["ollama:llava".to_owned()]));
        assert!(models.pdfs.is_empty());
    }

    #[test]
    fn limits_of_models_are_read() {
        let text = "[models.limits]\n\"compat:https://h/v1#m\" = { context = 32768, output = \"8k\" }\n\
                    \"ollama:m\" = { context = \"16k\" }\n";
        let limits = parse(text).unwrap().models.limits;
        assert_eq!(
            limits["compat:https://h/v1#m"],
            ModelLimits { context: Some(32_768), output: Some(8000) }
        );
        assert_eq!(limits["ollama:m"], ModelLimits { context: Some(16_000), output: None });
        for (entry, what) in [
            ("{ context = 10 }", "a number of tokens"),
            ("{ output = 1.5 }", "a number of tokens"),
            ("{ window = 4096 }", "unknown key `window`"),
        ] {
            let trouble = parse(&format!("[models.limits]\n\"ollama:m\" = {entry}\n")).unwrap_err();
            assert!(trouble.line == Some(2) && trouble.what.contains(what), "{entry}: {trouble:?}");
        }
    }

    #[test]
    fn pace_of_servers_is_read_and_bounded() {
        let pace = parse("[models]\nsilence = \"90s\"\npace = 0\n").unwrap().models.pace;
        assert_eq!((pace.silence, pace.bytes), (Duration::from_secs(90), 0));
        assert_eq!(parse("").unwrap().models.pace, model::served::MinimumPace::default());
        for (line, what) in [
            ("silence = 90", "`silence` is a time"),
            ("silence = \"10ms\"", "`silence` is a time"),
            ("silence = \"2d\"", "`silence` is a time"),
            ("pace = -1", "`pace` is a number"),
            ("pace = \"fast\"", "`pace` is a number"),
        ] {
            let trouble = parse(&format!("[models]\n{line}\n")).unwrap_err();
            assert!(trouble.line == Some(2) && trouble.what.contains(what), "{line}: {trouble:?}");
        }
    }

    const NAMED: &str = "[models]\ndefault = \"fast, judge\"\nprivate = [\"ollama:m\"]\n[models.names]\nfast = \"openai:gpt-x\"\n\
        judge = { model = \"compat:https://h/v1#m\", key = \"work\", private = true, price = { input = 1, output = 2 } }\n";

    #[test]
    fn user_names_resolve_to_models_with_their_keys() {
        let models = parse(NAMED).unwrap().models;
        let judge = "compat:https://h/v1#m?key=work";
        assert_eq!(models.default.as_deref(), Some(format!("openai:gpt-x,{judge}").as_str()));
        assert!(models.private.contains(judge) && !models.private.contains("compat:https://h/v1#m"));
        assert_eq!(models.prices.keys().collect::<Vec<_>>(), ["compat:https://h/v1#m"]);
        for (said, expected) in [
            ("fast", Ok("openai:gpt-x")),
            ("judge", Ok(judge)),
            ("local,fast", Ok("local,openai:gpt-x")),
            ("scripted:/a/fast,b.json", Ok("scripted:/a/fast,b.json")),
            ("openai:other", Ok("openai:other")),
            ("nonsense", Ok("nonsense")),
            ("fsat", Err("did you mean `fast`?")),
        ] {
            let got = models.resolve(said);
            assert_eq!(got.as_deref().map_err(|(_, help)| help.as_str()), expected, "{said}");
        }
    }

    #[test]
    fn invalid_model_name_is_reported_with_line_and_help() {
        for (line, what, help) in [
            ("local = \"openai:m\"", "cannot be the name", "not `local`"),
            ("\"a b\" = \"openai:m\"", "cannot be the name", "letters"),
            ("a = 1", "is a model, or a section", "write fast ="),
            ("a = \"gpt\"", "unknown kind of model", "as after `-m`"),
            ("a = { key = \"work\" }", "says not which model", "write fast ="),
            ("a = { model = \"openai:m\", kee = \"work\" }", "unknown key `kee`", "did you mean `key`?"),
            ("a = { model = \"ollama:m\", key = \"work\" }", "takes a key", "write fast ="),
            ("a = { model = \"openai:m\", key = \"a b\" }", "names a secret", "write fast ="),
            ("a = { model = \"openai:m\", private = 1 }", "`true` or `false`", "write fast ="),
            (
                "a = { model = \"openai:m\", price = { input = 1, output = 1 } }\n\
                 b = { model = \"openai:m?key=k\", price = { input = 2, output = 1 } }",
                "two prices",
                "one price",
            ),
        ] {
            let trouble = parse(&format!("[models.names]\n{line}\n")).unwrap_err();
            assert_eq!(trouble.line, Some(1 + line.lines().count()), "{line}: {trouble:?}");
            assert!(trouble.what.contains(what) && trouble.help.contains(help), "{line}: {trouble:?}");
        }
        let trouble = parse("[models]\ndefault = \"fsat\"\nnames.fast = \"local\"\n").unwrap_err();
        assert!(trouble.line == Some(2) && trouble.help.contains("`fast`"), "{trouble:?}");
    }
}
