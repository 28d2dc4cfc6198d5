//! The words about a command line that cannot be read.

use std::error::Error as _;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue};
use passable::visible_line;

/// Returns the words about a faulty command line. Words of the standard library about numbers are replaced.
#[must_use]
pub fn describe(error: &clap::Error) -> String {
    number_fault(error).unwrap_or_else(|| error.render().to_string())
}

/// Returns the words about a value that should be a number, or `None` for another error.
fn number_fault(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(visible_line(text).into_owned()),
        _ => None,
    };
    let source = error.source()?;
    let reason = match source.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
        Some(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => "the number is too large",
        Some(_) => "it is not a whole number from 0 on",
        None => source.downcast_ref::<ParseFloatError>().map(|_| "it is not a number")?,
    };
    let (value, option) = (text(ContextKind::InvalidValue)?, text(ContextKind::InvalidArg)?);
    // An option comes with the name of its value, as in `--timeout <SECONDS>`.
    let example = match option.split_once(' ') {
        Some((flag, _)) if flag.starts_with('-') => format!("{flag} 60"),
        _ => "60".to_owned(),
    };
    Some(format!(
        "error: cannot read `{value}` for `{option}`: {reason}\n help: write digits only, such as `{example}`"
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn option_with_a_wrong_number_gets_plain_words() {
        let said = |line: &str| {
            let words = ["almoner"].into_iter().chain(line.split_whitespace());
            describe(&Cli::try_parse_from(words).err().unwrap())
        };
        insta::assert_snapshot!(said("wait r1 --timeout abc"), @r"
        error: cannot read `abc` for `--timeout <SECONDS>`: it is not a whole number from 0 on
         help: write digits only, such as `--timeout 60`
        ");
        for (line, expected) in [
            ("run w a --each -j x", "cannot read `x` for `-j <N>`: it is not a whole number"),
            (
                "run w a --each --waiting 1.5",
                "cannot read `1.5` for `--waiting <N>`: it is not a whole number",
            ),
            ("logs -n 99999999999999999999999", "the number is too large"),
            ("apply last --only f --hunk a", "cannot read `a` for `--hunk <N>`: it is not a whole number"),
            ("logs -n many", "cannot read `many` for `-n"),
        ] {
            let said = said(line);
            assert!(said.contains(expected), "{line}: {said}");
            assert!(!said.contains("digit found"), "{line}: {said}");
        }
    }
}
