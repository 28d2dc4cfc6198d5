//! Additions to a budget, as a person types them.

use std::ops::RangeInclusive;

use control::exit::{Exit, Failure};
use kernel::budget::Raise;
use passable::visible_line;
use worker::definition::{parse_bytes, parse_count, parse_duration_ms};

/// The tokens that can be added at once.
const TOKENS: RangeInclusive<u64> = 1..=1_000_000_000_000;

/// The bytes that can be added at once.
const KEPT: RangeInclusive<u64> = 1 << 20..=1 << 40;

/// The milliseconds that can be added at once.
const WALL_MS: RangeInclusive<u64> = 1_000..=365 * 86_400_000;

/// Parses amounts, each given as an option of `almoner approve` and its text. Returns `None` if the list is empty.
///
/// # Errors
/// When an amount cannot be parsed, or an option does not exist.
pub fn parse<'a>(amounts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Option<Raise>, Failure> {
    let (mut raise, mut is_empty) = (Raise::default(), true);
    for (option, text) in amounts {
        is_empty = false;
        let text = text.trim();
        let bad = |reason: &str, help: String| {
            let message = format!("cannot read --{option} {}{reason}", visible_line(text));
            Failure::new(Exit::Usage, message).help(help)
        };
        let like = |reason: &str, example: &str| bad(reason, format!("write it like `--{option} {example}`"));
        let count = || {
            let help = || bad("", format!("write a whole number, like `--{option} 5`"));
            text.parse::<u32>().map(u64::from).map_err(|_| help())
        };
        match option {
            "turns" => raise.turns = count()?,
            "calls" => raise.calls = count()?,
            "depth" => raise.depth = count()?,
            "tokens" => {
                let tokens = parse_count(text).filter(|tokens| TOKENS.contains(tokens));
                raise.tokens = tokens.ok_or_else(|| like(": it takes 1 to 1000000M", "50k"))?;
            }
            "usd" => {
                raise.usd_micros = micros(text)
                    .ok_or_else(|| like(": it takes dollars, from 0.000001 to 1000000", "0.50"))?;
            }
            "kept" => {
                // A bare number reads like one of the larger units, and means bytes.
                let bytes = parse_bytes(text).filter(|bytes| KEPT.contains(bytes) && has_unit(text));
                raise.kept = bytes
                    .ok_or_else(|| like(": it takes a size with its unit, from 1 MiB to 1 TiB", "64MiB"))?;
            }
            "wall" => {
                let wall = parse_duration_ms(text).filter(|ms| WALL_MS.contains(ms));
                raise.wall_ms =
                    wall.ok_or_else(|| like(": it takes a time with its unit, from 1 s to 365 d", "10m"))?;
            }
            other => {
                let message = format!("there is no option `--{}` for more", visible_line(other));
                return Err(Failure::new(Exit::Usage, message));
            }
        }
    }
    Ok((!is_empty).then_some(raise))
}

/// Returns whether an amount ends in a unit.
fn has_unit(text: &str) -> bool {
    text.ends_with(|last: char| last.is_ascii_alphabetic())
}

fn micros(text: &str) -> Option<u64> {
    let dollars = text.parse::<f64>().ok().filter(|usd| (0.0..=1e6).contains(usd))?;
    Some((dollars * 1e6).round() as u64).filter(|micros| *micros > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_amounts_use_the_syntax_of_worker_files() {
        assert_eq!(parse([]).unwrap(), None);
        let amounts = [
            ("turns", " 2 "),
            ("calls", "2"),
            ("depth", "2"),
            ("tokens", "50k"),
            ("usd", "0.50"),
            ("wall", "10m"),
            ("kept", "64MiB"),
        ];
        let expected = Raise {
            turns: 2,
            calls: 2,
            depth: 2,
            tokens: 50_000,
            usd_micros: 500_000,
            wall_ms: 600_000,
            kept: 64 << 20,
            ..Raise::default()
        };
        assert_eq!(parse(amounts).unwrap(), Some(expected));
    }

    #[test]
    fn text_without_an_amount_is_refused() {
        for (option, text) in [
            ("turns", "-1"),
            ("turns", "many"),
            ("depth", "1.5"),
            ("tokens", "x"),
            ("tokens", "many"),
            ("usd", "-1"),
            ("usd", "NaN"),
            ("wall", "soon"),
            ("usd", "0"),
            ("usd", "2000000"),
            ("wall", "10"),
            ("wall", "10ms"),
            ("wall", "400d"),
            ("tokens", "0"),
            ("kept", "64 apples"),
            ("kept", "64"),
            ("kept", "67108864"),
            ("kept", "64B"),
            ("kept", "1023KiB"),
            ("kept", "1025GiB"),
            ("x", "1"),
        ] {
            assert!(parse([(option, text)]).is_err(), "{option} {text}");
        }
        let refused = parse([("kept", "64")]).unwrap_err();
        assert_eq!(
            refused.message.raw(),
            "cannot read --kept 64: it takes a size with its unit, from 1 MiB to 1 TiB"
        );
        assert_eq!(refused.help, "write it like `--kept 64MiB`");
        for (text, bytes) in [("1MiB", 1 << 20), ("1TiB", 1u64 << 40)] {
            assert_eq!(parse([("kept", text)]).unwrap().map(|raise| raise.kept), Some(bytes));
        }
    }
}
