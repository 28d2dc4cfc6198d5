//! `-e SLOT=model:REFERENCE[?tokens=200k&usd=0.50&key=SECRET]`.

use model::ModelRef;

use super::absolute;
use control::endowment::ModelFill;
use control::exit::{Exit, Failure};

/// What stands before the reference of a model.
pub(super) const PREFIX: &str = "model:";

/// Reads what follows `model:`.
///
/// # Errors
/// When it is not written as it should be.
pub(super) fn parse(text: &str) -> Result<ModelFill, Failure> {
    let wrong = |what: String| {
        Failure::new(Exit::Usage, format!("{PREFIX}{text}: {what}")).help(
            "write SLOT=model:anthropic:NAME?tokens=200k&usd=0.50&key=SECRET, with a model as after `-m`",
        )
    };
    let (name, query) = text.rsplit_once('?').unwrap_or((text, ""));
    // A word of the user's own is looked up by the daemon, which reads their settings.
    let is_word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    let references = match model::list(name) {
        Err(_) if is_word => None,
        listed => Some(listed.map_err(|error| wrong(error.to_string()))?),
    };
    let here = |reference: ModelRef| -> Result<String, Failure> {
        // A file is meant as it lies here, whatever the directory of the daemon.
        let lies = |path: std::path::PathBuf| absolute(&path.to_string_lossy()).map(std::path::PathBuf::from);
        Ok(match reference {
            ModelRef::Scripted { path } => ModelRef::Scripted { path: lies(path)? }.to_string(),
            ModelRef::Replay { path } => ModelRef::Replay { path: lies(path)? }.to_string(),
            other => other.to_string(),
        })
    };
    let model = match references {
        None => name.to_owned(),
        Some(all) => all.into_iter().map(here).collect::<Result<Vec<_>, _>>()?.join(","),
    };
    let mut fill = ModelFill { model, ..ModelFill::default() };
    for part in query.split('&').filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("tokens", tokens)) => {
                let tokens = worker::definition::parse_count(tokens).filter(|tokens| *tokens > 0);
                fill.tokens =
                    Some(tokens.ok_or_else(|| wrong("`tokens` is written like `200k`".to_owned()))?);
            }
            Some(("usd", usd)) => {
                let usd = usd.parse::<f64>().ok().filter(|usd| (0.000_001..=1e6).contains(usd));
                let usd = usd.ok_or_else(|| wrong("`usd` is written like `0.50`".to_owned()))?;
                fill.usd_micros = Some((usd * 1e6).round() as u64);
            }
            Some(("key", key)) => {
                vault::check_name(key).map_err(|error| wrong(error.to_string()))?;
                fill.key = Some(key.to_owned());
            }
            _ => return Err(wrong("after `?` only `tokens=`, `usd=` and `key=` are known".to_owned())),
        }
    }
    Ok(fill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_as_after_m_with_what_may_be_spent_on_it() {
        let fill = parse("openai:gpt-4.1?tokens=200k&usd=0.50").unwrap();
        assert_eq!(
            (fill.model.as_str(), fill.tokens, fill.usd_micros),
            ("openai:gpt-4.1", Some(200_000), Some(500_000))
        );
        assert_eq!(fill.words(), "model openai:gpt-4.1, at most 200000 tokens, at most $0.50");
        assert!(parse("scripted:s.json").unwrap().model.starts_with("scripted:/"));
        let fill = parse("fast?key=work&tokens=1k").unwrap();
        assert_eq!((fill.model.as_str(), fill.key.as_deref()), ("fast", Some("work")));
        assert_eq!(fill.words(), "model fast, with the secret work, at most 1000 tokens");
        for bad in ["", "nobody:x", "local?key=a b", "local?usd=lots", "local?tokens=0", "local?colour=red"] {
            assert_eq!(parse(bad).unwrap_err().exit, Exit::Usage, "{bad}");
        }
    }
}
