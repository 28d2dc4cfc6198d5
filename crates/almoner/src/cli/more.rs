//! How much more a run may use, as people type it.

use clap::Args;
use kernel::budget::Raise;
use passable::visible_line;
use worker::definition;

use control::exit::{Exit, Failure};

/// What is added for a run that has used up what it may.
#[derive(Debug, Default, Args)]
pub struct MoreArgs {
    /// A run that has used up what it may: how many more turns
    #[arg(long, value_name = "N")]
    pub turns: Option<u32>,
    /// How many more calls
    #[arg(long, value_name = "N")]
    pub calls: Option<u32>,
    /// How much deeper workers may call workers
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,
    /// How many more tokens, like `50k`
    #[arg(long, value_name = "N")]
    pub tokens: Option<String>,
    /// How many more dollars, like `0.50`
    #[arg(long, value_name = "DOLLARS")]
    pub usd: Option<String>,
    /// How much more time at work, like `10m`
    #[arg(long, value_name = "TIME")]
    pub wall: Option<String>,
}

impl MoreArgs {
    /// The same from what was written elsewhere: the flag, and what stands behind it.
    ///
    /// # Errors
    /// When a count is none, or there is no such flag.
    pub fn of(said: &[(&str, String)]) -> Result<MoreArgs, Failure> {
        let mut args = MoreArgs::default();
        for (flag, text) in said {
            let count = || {
                let bad = |_| {
                    Failure::new(Exit::Usage, format!("--{flag} {}", visible_line(text)))
                        .help(format!("write a whole number, like `--{flag} 5`"))
                };
                text.trim().parse::<u32>().map(Some).map_err(bad)
            };
            let text = || Some(text.trim().to_owned());
            match *flag {
                "turns" => args.turns = count()?,
                "calls" => args.calls = count()?,
                "depth" => args.depth = count()?,
                "tokens" => args.tokens = text(),
                "usd" => args.usd = text(),
                "wall" => args.wall = text(),
                other => {
                    let message = format!("there is no more of `{}` to be given", visible_line(other));
                    return Err(Failure::new(Exit::Usage, message));
                }
            }
        }
        Ok(args)
    }

    /// What was typed, flag by flag.
    pub fn said(&self) -> Vec<(&'static str, String)> {
        let count = |count: Option<u32>| count.map(|count| count.to_string());
        let (turns, calls, depth) = (count(self.turns), count(self.calls), count(self.depth));
        let all = [
            ("turns", turns.as_ref()),
            ("calls", calls.as_ref()),
            ("depth", depth.as_ref()),
            ("tokens", self.tokens.as_ref()),
            ("usd", self.usd.as_ref()),
            ("wall", self.wall.as_ref()),
        ];
        all.into_iter().filter_map(|(flag, said)| Some((flag, said?.clone()))).collect()
    }

    /// What is added; `None` if nothing is said of it.
    ///
    /// # Errors
    /// When an amount cannot be read.
    pub fn raise(&self) -> Result<Option<Raise>, Failure> {
        let bad = |flag: &str, text: &str, like: &str| {
            Failure::new(Exit::Usage, format!("--{flag} {}", visible_line(text)))
                .help(format!("write it like `--{flag} {like}`"))
        };
        let tokens = |text: &String| definition::parse_count(text).ok_or_else(|| bad("tokens", text, "50k"));
        let usd = |text: &String| {
            let dollars = text.parse::<f64>().ok().filter(|usd| usd.is_finite() && *usd >= 0.0 && *usd < 1e9);
            dollars.map(|usd| (usd * 1e6).round() as u64).ok_or_else(|| bad("usd", text, "0.50"))
        };
        let wall =
            |text: &String| definition::parse_duration_ms(text).ok_or_else(|| bad("wall", text, "10m"));
        let raise = Raise {
            turns: u64::from(self.turns.unwrap_or_default()),
            calls: u64::from(self.calls.unwrap_or_default()),
            depth: u64::from(self.depth.unwrap_or_default()),
            tokens: self.tokens.as_ref().map(tokens).transpose()?.unwrap_or_default(),
            usd_micros: self.usd.as_ref().map(usd).transpose()?.unwrap_or_default(),
            wall_ms: self.wall.as_ref().map(wall).transpose()?.unwrap_or_default(),
        };
        Ok((!self.said().is_empty()).then_some(raise))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_on_a_page_is_what_is_typed() {
        let of = |said: &[(&str, &str)]| {
            let said: Vec<(&str, String)> =
                said.iter().map(|(flag, text)| (*flag, (*text).to_owned())).collect();
            MoreArgs::of(&said).and_then(|args| args.raise())
        };
        assert_eq!(of(&[]).unwrap(), None);
        let expected = Raise { turns: 3, tokens: 50_000, ..Raise::default() };
        assert_eq!(of(&[("turns", " 3 "), ("tokens", "50k")]).unwrap(), Some(expected));
        // Every amount that pages offer can be read.
        for (flag, _, like) in control::show::more::AMOUNTS {
            assert!(of(&[(flag, like)]).unwrap().is_some(), "{flag} {like}");
        }
        for wrong in [
            ("turns", "-1"),
            ("turns", "many"),
            ("depth", "1.5"),
            ("tokens", "x"),
            ("wall", "soon"),
            ("x", "1"),
        ] {
            assert_eq!(of(&[wrong]).unwrap_err().exit, Exit::Usage, "{wrong:?}");
        }
    }

    #[test]
    fn amounts_are_read_as_in_worker_files() {
        let args = |turns, tokens: &str, usd: &str, wall: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let (tokens, usd, wall) = (some(tokens), some(usd), some(wall));
            MoreArgs { turns, calls: turns, depth: turns, tokens, usd, wall }.raise()
        };
        assert_eq!(args(None, "", "", "").unwrap(), None);
        let expected =
            Raise { turns: 2, calls: 2, depth: 2, tokens: 50_000, usd_micros: 500_000, wall_ms: 600_000 };
        assert_eq!(args(Some(2), "50k", "0.50", "10m").unwrap(), Some(expected));
        for (tokens, usd, wall) in [("many", "", ""), ("", "-1", ""), ("", "NaN", ""), ("", "", "soon")] {
            assert_eq!(args(None, tokens, usd, wall).unwrap_err().exit, Exit::Usage, "{tokens}{usd}{wall}");
        }
    }
}
