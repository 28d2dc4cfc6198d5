//! The interface of programs, with its only method `run`.

use std::sync::LazyLock;

use kernel::{Interface, Method, Param, Pattern};
use passable::{Effect, Limit, Limits};

use super::call::{MAX_INPUT_BYTES, MAX_WORD_LEN, MAX_WORDS};
use crate::text;

/// Returns the interface of all programs, with every argument that a call can have.
pub(crate) fn interface() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| made(true));
    &INTERFACE
}

/// Returns the interface for a holder without secrets, who cannot set variables of the environment.
pub(crate) fn without_secrets() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| made(false));
    &INTERFACE
}

fn made(has_secrets: bool) -> Interface {
    let words = Pattern::array_of_within(
        text(MAX_WORD_LEN as u64),
        Limits::from_pairs([(Limit::ArrayLength, MAX_WORDS as f64)]),
    );
    let ended = [
        ("ended", Pattern::string()),
        ("status", Pattern::any()),
        ("stdout", Pattern::string()),
        ("stderr", Pattern::string()),
    ];
    let about = "Runs one of the programs, confined, and gives back what it printed. There is no shell: each argument \
                 is passed on as it is.";
    let mut run = Method::new("run", Effect::Modify, about)
        .param(Param::required("argv", words, "the program's name, then its arguments"))
        .param(Param::optional("stdin", text(MAX_INPUT_BYTES as u64), "what it reads from standard input"));
    if has_secrets {
        let about = "secrets that the program gets as variables: for each variable the name of one of your slots that \
                     holds a secret, as {\"GITHUB_TOKEN\": \"token\"}. You never see the value";
        run = run.param(Param::optional(
            "env",
            Pattern::record_of(Pattern::string(), Pattern::string()),
            about,
        ));
    }
    let run = run.returns(Pattern::record(ended).unwrap_or_else(|_| Pattern::any()));
    Interface::new("Programs", "runs programs").with(run)
}
