//! The one method of programs.

use std::sync::LazyLock;

use kernel::{Interface, Method, Param, Pattern};
use passable::{Effect, Limit, Limits};

use super::call::{LONGEST_WORD, MOST_INPUT, MOST_WORDS};
use crate::text;

/// The interface of all programs.
pub(crate) fn interface() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
        let words = Pattern::array_of_within(
            text(LONGEST_WORD as u64),
            Limits::of([(Limit::ArrayLength, MOST_WORDS as f64)]),
        );
        let ended = [
            ("ended", Pattern::string()),
            ("status", Pattern::any()),
            ("stdout", Pattern::string()),
            ("stderr", Pattern::string()),
        ];
        let about = "Runs one of the programs, confined, and gives back what it printed. There is no shell: each \
                     argument is passed on as it is.";
        Interface::new("Programs", "runs programs").with(
            Method::new("run", Effect::Modify, about)
                .param(Param::required("argv", words, "the program's name, then its arguments"))
                .param(Param::optional("stdin", text(MOST_INPUT as u64), "what it reads from standard input"))
                .returns(Pattern::record(ended).unwrap_or_else(|_| Pattern::any())),
        )
    });
    &INTERFACE
}
