//! The prices and limits of models, from a dated table. A model that is not in the table has no price, not even a
//! guessed one.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::limits::ModelLimits;
use crate::reference::ModelRef;
use crate::reply::Usage;
use crate::vendor::Vendor;

/// A price, in millionths of a dollar for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price {
    /// The price of tokens read anew.
    pub input: u64,
    /// The price of tokens that the vendor had in a cache.
    pub cached: u64,
    /// The price of tokens that were written to a cache.
    pub cache_write: u64,
    /// The price of output tokens.
    pub output: u64,
    /// The prices of long requests, which hold for all tokens of such a request.
    pub long: Option<LongContextPrice>,
}

/// The prices of a long request, in the units of [`Price`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LongContextPrice {
    /// The maximum number of tokens of a request at the usual price.
    pub above: u64,
    /// The price of tokens read anew.
    pub input: u64,
    /// The price of tokens that the vendor had in a cache.
    pub cached: u64,
    /// The price of tokens that were written to a cache.
    pub cache_write: u64,
    /// The price of output tokens.
    pub output: u64,
}

/// The price table as it is stored in its file.
#[derive(Debug, Deserialize)]
struct Table {
    dated: String,
    prices: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    vendor: String,
    model: String,
    /// The maximum number of tokens of a request with its reply.
    context: Option<u64>,
    /// The maximum number of tokens of a reply.
    max_output: Option<u64>,
    #[serde(flatten)]
    price: Dollars,
    long: Option<LongContextDollars>,
}

#[derive(Debug, Deserialize)]
struct LongContextDollars {
    above: u64,
    #[serde(flatten)]
    price: Dollars,
}

/// Prices in dollars for a million tokens.
#[derive(Debug, Deserialize)]
struct Dollars {
    input: f64,
    cached: Option<f64>,
    cache_write: Option<f64>,
    output: f64,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        // An unreadable table would have no prices. A test makes sure that this one is readable.
        serde_json::from_str(include_str!("prices.json"))
            .unwrap_or(Table { dated: String::new(), prices: Vec::new() })
    })
}

/// Returns an amount in millionths of a dollar.
fn micros(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}

impl Price {
    /// Returns a price from amounts in dollars for a million tokens. Cached tokens without a price of their own cost
    /// as much as other input.
    #[must_use]
    pub fn from_dollars(input: f64, cached: Option<f64>, cache_write: Option<f64>, output: f64) -> Self {
        Self {
            input: micros(input),
            cached: micros(cached.unwrap_or(input)),
            cache_write: micros(cache_write.unwrap_or(input)),
            output: micros(output),
            long: None,
        }
    }

    /// Returns the price of a model from the table, or `None` if it is not known. A model on this machine or on an
    /// Ollama server costs nothing. A server in a vendor's place has prices of its own, which are not known.
    #[must_use]
    pub fn lookup(reference: &ModelRef) -> Option<Price> {
        match reference {
            ModelRef::Local { .. }
            | ModelRef::Ollama { .. }
            | ModelRef::Scripted { .. }
            | ModelRef::Replay { .. } => Some(Price::default()),
            ModelRef::Vendor { vendor, base_url: None, model, .. } => row(*vendor, model).map(Row::price),
            ModelRef::Vendor { .. } | ModelRef::Compat { .. } => None,
        }
    }

    /// Returns whether the model costs nothing.
    #[must_use]
    pub fn is_free(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the higher of two prices in every part. This limits the cost of a request that either model may
    /// answer.
    #[must_use]
    pub fn higher_of(self, other: Price) -> Price {
        let dear = |a: u64, b: u64| a.max(b);
        let long = match (self.long, other.long) {
            (Some(a), Some(b)) => Some(LongContextPrice {
                above: a.above.min(b.above),
                input: dear(a.input, b.input),
                cached: dear(a.cached, b.cached),
                cache_write: dear(a.cache_write, b.cache_write),
                output: dear(a.output, b.output),
            }),
            (a, b) => a.or(b),
        };
        Price {
            input: dear(self.input, other.input),
            cached: dear(self.cached, other.cached),
            cache_write: dear(self.cache_write, other.cache_write),
            output: dear(self.output, other.output),
            long,
        }
    }

    /// Returns the cost of a reply, in millionths of a dollar, rounded up.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> u64 {
        let own = LongContextPrice {
            above: 0,
            input: self.input,
            cached: self.cached,
            cache_write: self.cache_write,
            output: self.output,
        };
        let price = self.long.filter(|long| usage.input_tokens > long.above).unwrap_or(own);
        let known = usage.cached_tokens.saturating_add(usage.cache_write_tokens);
        let sum = [
            (usage.input_tokens.saturating_sub(known), price.input),
            (usage.cached_tokens, price.cached),
            (usage.cache_write_tokens, price.cache_write),
            (usage.output_tokens, price.output),
        ];
        let sum = sum.iter().fold(0u128, |sum, (tokens, price)| {
            sum.saturating_add(u128::from(*tokens).saturating_mul(u128::from(*price)))
        });
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// Returns the date of the table, such as `2026-11-22`.
    #[must_use]
    pub fn dated() -> &'static str {
        &table().dated
    }

    /// Returns every price of the table, with the reference of its model.
    pub fn all() -> impl Iterator<Item = (String, Price)> {
        table().prices.iter().map(|row| (format!("{}:{}", row.vendor, row.model), row.price()))
    }
}

impl Row {
    fn price(&self) -> Price {
        let of = |d: &Dollars| Price::from_dollars(d.input, d.cached, d.cache_write, d.output);
        let long = self.long.as_ref().map(|long| {
            let Price { input, cached, cache_write, output, .. } = of(&long.price);
            LongContextPrice { above: long.above, input, cached, cache_write, output }
        });
        Price { long, ..of(&self.price) }
    }
}

/// Returns the row of a vendor's model.
fn row(vendor: Vendor, model: &str) -> Option<&'static Row> {
    let vendor = if vendor == Vendor::OpenAiResponses { Vendor::OpenAi } else { vendor };
    let model = model.strip_prefix("models/").unwrap_or(model);
    let mut rows = table().prices.iter().filter(|row| row.vendor == vendor.kind());
    rows.find(|row| is_it(model, &row.model))
}

impl ModelLimits {
    /// Returns the limits that the vendors' documentation states. A server in a vendor's place is assumed to serve the
    /// same model under the same name.
    #[must_use]
    pub fn lookup(reference: &ModelRef) -> ModelLimits {
        match reference {
            ModelRef::Vendor { vendor, model, .. } => row(*vendor, model)
                .map(|row| ModelLimits { context: row.context, output: row.max_output })
                .unwrap_or_default(),
            ModelRef::Local { .. }
            | ModelRef::Ollama { .. }
            | ModelRef::Compat { .. }
            | ModelRef::Scripted { .. }
            | ModelRef::Replay { .. } => ModelLimits::default(),
        }
    }
}

/// Returns whether a name means the model of a row. The name is the same, or has the date of an edition behind it.
fn is_it(model: &str, row: &str) -> bool {
    let Some(rest) = model.strip_prefix(row) else { return false };
    let date: String = rest.chars().filter(|c| *c != '-').collect();
    rest.is_empty() || (rest.starts_with('-') && date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn price_table_is_dated_and_valid() {
        assert_eq!(Price::dated().len(), 10);
        let mut names = std::collections::BTreeSet::new();
        for (name, price) in Price::all() {
            let reference: ModelRef = name.parse().unwrap();
            assert_eq!(Price::lookup(&reference), Some(price), "{name}");
            assert!(price.cached <= price.input && price.input < price.output, "{name}");
            assert!(names.insert(name));
        }
        for vendor in Vendor::ALL {
            let usual = format!("{vendor}:{}", vendor.default_model()).parse().unwrap();
            assert!(Price::lookup(&usual).is_some_and(|price| !price.is_free()), "{vendor}");
        }
    }

    #[test]
    fn table_states_limits_of_vendor_models() {
        let known = |name: &str| {
            let limits = ModelLimits::lookup(&name.parse().unwrap());
            (limits.context, limits.output)
        };
        assert_eq!(known("openai:gpt-4.1-mini"), (Some(1_047_576), Some(32_768)));
        assert_eq!(known("openai-responses:gpt-4o-2024-08-06"), (Some(128_000), Some(16_384)));
        assert_eq!(known("anthropic:https://proxy#claude-haiku-4-5"), (Some(200_000), Some(64_000)));
        assert_eq!(known("gemini:models/gemini-2.5-flash"), (Some(1_048_576), Some(65_536)));
        for unknown in ["openai:gpt-unheard-of", "compat:http://h/v1#gpt-4o", "ollama:m", "local"] {
            assert_eq!(known(unknown), (None, None), "{unknown}");
        }
    }

    #[test]
    fn unknown_model_has_no_price() {
        let known = |name: &str| Price::lookup(&name.parse().unwrap());
        let mini = known("openai:gpt-4.1-mini");
        assert!(mini.is_some());
        for same in ["openai:gpt-4.1-mini-2025-04-14", "openai-responses:gpt-4.1-mini"] {
            assert_eq!(known(same), mini, "{same}");
        }
        assert_eq!(known("anthropic:claude-haiku-4-5-20251001"), known("anthropic:claude-haiku-4-5"));
        assert_ne!(known("anthropic:claude-opus-5-5"), known("anthropic:claude-opus-5"));
        for unknown in [
            "openai:gpt-4.1-mini-turbo",
            "openai:gpt",
            "openai:https://h/v1#gpt-4.1-mini",
            "compat:https://h/v1#gpt-4.1-mini",
            "gemini:gpt-4.1-mini",
        ] {
            assert_eq!(known(unknown), None, "{unknown}");
        }
        for free in ["local", "ollama:m", "scripted:/s", "replay:/r"] {
            assert!(known(free).unwrap().is_free());
        }
    }

    #[test]
    fn reply_cost_is_rounded_up() {
        let price = Price {
            long: Some(LongContextPrice {
                above: 1000,
                input: 4_000_000,
                output: 20_000_000,
                ..LongContextPrice::default()
            }),
            ..Price::from_dollars(2.0, Some(0.5), Some(2.5), 10.0)
        };
        let cost = |input_tokens, cached_tokens, cache_write_tokens, output_tokens| {
            price.cost(&Usage {
                input_tokens,
                cached_tokens,
                cache_write_tokens,
                output_tokens,
                seconds: 0.0,
            })
        };
        assert_eq!(cost(0, 0, 0, 0), 0);
        assert_eq!(cost(1000, 0, 0, 100), 3000);
        assert_eq!(cost(1000, 400, 200, 0), 400 * 2 + 200 + 500);
        assert_eq!(cost(1, 1, 0, 0), 1);
        assert_eq!(cost(1001, 0, 0, 0), 4004);
        // Made-up figures of a server break nothing.
        assert_eq!(cost(u64::MAX, u64::MAX, u64::MAX, u64::MAX), u64::MAX);
        assert!(cost(5, u64::MAX, 0, 0) > 0);
    }

    #[test]
    fn combined_price_takes_the_higher_parts() {
        let (a, b) =
            (Price::from_dollars(1.0, None, None, 9.0), Price::from_dollars(2.0, Some(0.1), None, 3.0));
        let both = a.higher_of(b);
        assert_eq!((both.input, both.cached, both.output), (2_000_000, 1_000_000, 9_000_000));
    }
}
