//! The limits in a project's file, which may lower those of a worker file.

use kernel::run::Limits;
use passable::visible_line;
use toml::Spanned;
use toml::de::DeValue;
use worker::definition::{self, Definition};

use super::read::{SettingsError, Text, table};
use control::exit::{Exit, Failure};

/// The keys of the section `limits`.
const KEYS: [&str; 8] = ["turns", "calls", "depth", "tokens", "usd", "wall", "answer", "kept"];

/// The limits that a project's file sets. All other limits are those of the worker file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectLimits {
    /// Each limit: its key, its text, and its amount in the units of [`Limits`].
    said: Vec<(&'static str, String, u64)>,
}

impl ProjectLimits {
    /// Reads a section `limits`.
    pub(super) fn read(
        text: &Text<'_>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<ProjectLimits, SettingsError> {
        let mut tighter = ProjectLimits::default();
        for (key, value) in table(text, value, "limits")? {
            let name = key.get_ref().as_ref();
            let Some(known) = KEYS.iter().find(|known| **known == name) else {
                return Err(text.unknown(key.span().start, "limit", name, &KEYS));
            };
            let words = match value.get_ref() {
                DeValue::Integer(whole) if whole.radix() == 10 => Some(whole.as_str().to_owned()),
                DeValue::Float(float) => Some(float.as_str().to_owned()),
                DeValue::String(word) => Some(word.to_string()),
                _ => None,
            };
            let amount = words.as_deref().and_then(|words| amount(known, words));
            let (Some(words), Some(amount)) = (words, amount) else {
                let what = format!("`{name}` cannot be read as an amount");
                return Err(text.trouble(
                    value.span().start,
                    what,
                    "write it as in a worker file: `wall = \"10m\"`",
                ));
            };
            tighter.said.push((known, words, amount));
        }
        tighter.said.sort_by_key(|(name, ..)| KEYS.iter().position(|known| known == name));
        Ok(tighter)
    }

    /// Returns the limits of a worker with those of this file applied, or `None` if this file sets none. The
    /// project's file may not raise a limit.
    ///
    /// # Errors
    /// When a limit is higher than that of the worker file.
    pub fn within(&self, of: &Definition) -> Result<Option<Limits>, Failure> {
        let mut limits = of.limits;
        for (name, words, amount) in &self.said {
            let small = u32::try_from(*amount).unwrap_or(u32::MAX);
            let is_more = match *name {
                "turns" => std::mem::replace(&mut limits.turns, small) < small,
                "calls" => std::mem::replace(&mut limits.calls, small) < small,
                "depth" => std::mem::replace(&mut limits.depth, small) < small,
                "tokens" => std::mem::replace(&mut limits.tokens, *amount) < *amount,
                "answer" => limits.answer.replace(small).is_some_and(|most| most < small),
                "kept" => std::mem::replace(&mut limits.kept, *amount) < *amount,
                "wall" => std::mem::replace(&mut limits.wall_ms, *amount) < *amount,
                _ => limits.usd_micros.replace(*amount).is_some_and(|most| most < *amount),
            };
            if is_more {
                let message = format!(
                    "almoner.toml: `{name} = {}` is more than `{}` says in its own file",
                    visible_line(words),
                    visible_line(&of.name)
                );
                return Err(Failure::new(Exit::Invalid, message)
                    .help("a project's file may only tighten `limits`: lower it there, or raise it in the worker file"));
            }
        }
        Ok((!self.said.is_empty()).then_some(limits))
    }

    /// Returns the limits in one line, if the file sets any. The line is not escaped for a terminal.
    pub fn line(&self) -> Option<String> {
        let all: Vec<String> = self.said.iter().map(|(name, words, _)| format!("{name} {words}")).collect();
        (!all.is_empty()).then(|| format!("limits: {}", all.join(", ")))
    }
}

/// Returns an amount in the units of [`Limits`]. Zero is valid only for depth and money.
fn amount(name: &str, words: &str) -> Option<u64> {
    match name {
        "usd" => {
            let usd = words.parse::<f64>().ok().filter(|usd| (0.0..=1e6).contains(usd))?;
            Some((usd * 1e6).round() as u64)
        }
        "kept" => definition::parse_bytes(words).filter(|bytes| *bytes >= 1 << 20),
        "wall" => definition::parse_duration_ms(words).filter(|ms| *ms >= 1000),
        "depth" => definition::parse_count(words),
        _ => definition::parse_count(words).filter(|count| *count > 0),
    }
}
