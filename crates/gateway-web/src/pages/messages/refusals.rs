//! The errors of answers that were not sent or not carried out.

use control::exit::{Exit, Failure};
use maud::{Markup, html};
use passable::visible_line;

use crate::page::parts;

/// Returns the message that an action was refused, because it would differ from its preview.
pub fn stale() -> Markup {
    parts::not_done(&html! {
        p { "Nothing was done: this is not what you saw when you pressed the button. Read it again as it is now." }
    })
}

/// Returns the error for a chosen name that is gone or stands for another object.
pub fn gone() -> Failure {
    Failure::new(
        Exit::Conflict,
        "what was chosen has no name of yours any more, or stands for something else",
    )
    .help("choose again")
}

/// Returns an error of the daemon, which makes checks that the page cannot make.
pub fn refused(failure: &Failure) -> Markup {
    html! {
        section.failure #wrong role="alert" tabindex="-1" {
            h2 { "Nothing was sent" }
            p { (parts::line(&failure.message)) }
            @if !failure.help.is_empty() { p { (visible_line(&failure.help)) } }
        }
    }
}
