//! Additions to a budget, as a person types them.

use control::exit::{Exit, Failure};
use kernel::budget::Raise;
use passable::visible_line;
use worker::definition::{parse_bytes, parse_count, parse_duration_ms};

/// Parses amounts, each given as an option of `almoner approve` and its text. Returns `None` if the list is empty.
///
/// # Errors
/// When an amount cannot be parsed, or an option does not exist.
pub fn parse<'a>(amounts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Option<Raise>, Failure> {
    let (mut raise, mut is_empty) = (Raise::default(), true);
    for (option, text) in amounts {
        is_empty = false;
        let text = text.trim();
        let bad = |help: String| {
            Failure::new(Exit::Usage, format!("cannot read --{option} {}", visible_line(text))).help(help)
        };
        let like = |example: &str| bad(format!("write it like `--{option} {example}`"));
        let count = || {
            let help = || bad(format!("write a whole number, like `--{option} 5`"));
            text.parse::<u32>().map(u64::from).map_err(|_| help())
        };
        match option {
            "turns" => raise.turns = count()?,
            "calls" => raise.calls = count()?,
            "depth" => raise.depth = count()?,
            "tokens" => raise.tokens = parse_count(text).ok_or_else(|| like("50k"))?,
            "usd" => raise.usd_micros = micros(text).ok_or_else(|| like("0.50"))?,
            "kept" => raise.kept = parse_bytes(text).ok_or_else(|| like("64MiB"))?,
            "wall" => raise.wall_ms = parse_duration_ms(text).ok_or_else(|| like("10m"))?,
            other => {
                let message = format!("there is no option `--{}` for more", visible_line(other));
                return Err(Failure::new(Exit::Usage, message));
            }
        }
    }
    Ok((!is_empty).then_some(raise))
}

fn micros(text: &str) -> Option<u64> {
    let dollars = text.parse::<f64>().ok().filter(|usd| usd.is_finite() && *usd >= 0.0 && *usd < 1e9)?;
    Some((dollars * 1e6).round() as u64)
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
            ("kept", "64 apples"),
            ("x", "1"),
        ] {
            assert!(parse([(option, text)]).is_err(), "{option} {text}");
        }
    }
}
