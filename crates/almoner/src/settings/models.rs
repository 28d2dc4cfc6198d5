//! What the user says of models: prices, and which documents they take.

use std::collections::{BTreeMap, BTreeSet};

use model::{ModelRef, Price};
use passable::visible_line;
use toml::Spanned;
use toml::de::DeValue;

use super::Models;
use super::read::{Text, Trouble, table};

pub(super) fn read(text: &Text<'_>, value: &Spanned<DeValue<'_>>) -> Result<Models, Trouble> {
    let mut models = Models::default();
    for (key, value) in table(text, value, "models")? {
        match key.get_ref().as_ref() {
            "prices" => {
                for (model, value) in table(text, value, "models.prices")? {
                    let (at, name) = (model.span().start, model.get_ref());
                    let reference = reference(text, at, name)?;
                    models.prices.insert(reference, price(text, at, value)?);
                }
            }
            "default" => models.default = Some(default(text, value)?),
            "images" => models.images = names(text, "images", value)?,
            "pdfs" => models.pdfs = names(text, "pdfs", value)?,
            "private" => models.private = names(text, "private", value)?,
            other => {
                return Err(text.unknown(
                    key.span().start,
                    "key",
                    other,
                    &["default", "prices", "images", "pdfs", "private"],
                ));
            }
        }
    }
    Ok(models)
}

/// A model, or several that are tried in turn, as after `-m`.
fn default(text: &Text<'_>, value: &Spanned<DeValue<'_>>) -> Result<String, Trouble> {
    let at = value.span().start;
    let help = "write the model as after `-m`, in quotes";
    let DeValue::String(name) = value.get_ref() else {
        return Err(text.trouble(at, "`default` is a text", help));
    };
    match model::list(name) {
        Ok(_) => Ok(name.to_string()),
        Err(error) => Err(text.trouble(at, visible_line(&error.to_string()), help)),
    }
}

/// A price in dollars for a million tokens.
fn price(text: &Text<'_>, at: usize, value: &Spanned<DeValue<'_>>) -> Result<Price, Trouble> {
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
    Ok(Price::of_dollars(*input, of("cached"), of("cache_write"), *output))
}

/// A model as runs store it.
fn reference(text: &Text<'_>, at: usize, name: &str) -> Result<String, Trouble> {
    let reference: Result<ModelRef, _> = name.parse();
    reference.map(|reference| reference.to_string()).map_err(|error| {
        let what = visible_line(&format!("{error}")).into_owned();
        text.trouble(at, what, "write the model as after `-m`, in quotes")
    })
}

/// A list of models.
fn names(text: &Text<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Result<BTreeSet<String>, Trouble> {
    let at = value.span().start;
    let wrong = || {
        let what = format!("`{key}` is a list of models");
        text.trouble(at, what, format!("write {key} = [\"ollama:llava\"]"))
    };
    let DeValue::Array(parts) = value.get_ref() else { return Err(wrong()) };
    let mut all = BTreeSet::new();
    for part in parts.iter() {
        let DeValue::String(name) = part.get_ref() else { return Err(wrong()) };
        all.insert(reference(text, part.span().start, name)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::read::parse;

    #[test]
    fn prices_and_what_models_take_are_read() {
        let text = "[models]\nimages = [\"ollama:llava\"]\n\
                    [models.prices]\n\"compat:https://h/v1/#m\" = { input = 1, output = 2.5, cached = 0.1 }\n";
        let models = parse(text).unwrap().models;
        let price = Price::of_dollars(1.0, Some(0.1), None, 2.5);
        assert_eq!(models.prices, BTreeMap::from([("compat:https://h/v1#m".to_owned(), price)]));
        assert_eq!(models.images, BTreeSet::from(["ollama:llava".to_owned()]));
        assert!(models.pdfs.is_empty());
    }
}
