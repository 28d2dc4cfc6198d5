//! The additional budget of a run, as options on the command line.

use clap::Args;
use kernel::budget::Raise;

use config::raise;
use control::exit::Failure;

/// The additional budget for a run that has used up its own.
#[derive(Debug, Default, Args)]
pub struct BudgetArgs {
    /// Give a run that has used up its limits N more turns
    #[arg(long, value_name = "N")]
    pub turns: Option<u32>,
    /// Give it N more calls
    #[arg(long, value_name = "N")]
    pub calls: Option<u32>,
    /// Let its workers call workers N levels deeper
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,
    /// Give it N more tokens, like `50k`
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub tokens: Option<String>,
    /// Give it more dollars, like `0.50`
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true)]
    pub usd: Option<String>,
    /// Give it more time at work, like `10m`
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub wall: Option<String>,
    /// Keep more bytes for it, like `64MiB`
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true)]
    pub kept: Option<String>,
}

impl BudgetArgs {
    /// Returns the flags that were given, each with its value as it was typed.
    pub fn typed_amounts(&self) -> Vec<(&'static str, String)> {
        let count = |count: Option<u32>| count.map(|count| count.to_string());
        let (turns, calls, depth) = (count(self.turns), count(self.calls), count(self.depth));
        let all = [
            ("turns", turns.as_ref()),
            ("calls", calls.as_ref()),
            ("depth", depth.as_ref()),
            ("tokens", self.tokens.as_ref()),
            ("usd", self.usd.as_ref()),
            ("wall", self.wall.as_ref()),
            ("kept", self.kept.as_ref()),
        ];
        all.into_iter().filter_map(|(flag, said)| Some((flag, said?.clone()))).collect()
    }

    /// Returns the amounts to add, or `None` if no option was given.
    ///
    /// # Errors
    /// When an amount cannot be read.
    pub fn raise(&self) -> Result<Option<Raise>, Failure> {
        let said = self.typed_amounts();
        let amounts = said.iter().map(|(option, text)| (*option, text.as_str()));
        raise::parse(amounts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_amount_of_a_page_is_an_option() {
        for (option, _, example) in control::show::budget_request::AMOUNTS {
            assert!(raise::parse([(option, example)]).unwrap().is_some(), "{option} {example}");
        }
    }
}
