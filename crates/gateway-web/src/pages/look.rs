//! The choice of the look, light or dark.

use control::exit::{Exit, Failure};
use passable::visible_line;

use super::login::local;
use crate::answer::Answer;
use crate::page::theme::Theme;
use crate::page_request::PageRequest;

/// Answers `POST /look`: has the browser keep the look, and returns to the page of the form.
pub fn choose(asked: &PageRequest) -> Result<Answer, Failure> {
    let name = asked.field("look").unwrap_or("");
    let theme = Theme::named(name).ok_or_else(|| {
        let message = format!("cannot choose the look `{}`: there is none of this name", visible_line(name));
        Failure::new(Exit::NotFound, message).help("choose `system`, `light` or `dark`")
    })?;
    let to = local(asked.field("to").unwrap_or("/")).to_owned();
    Ok(Answer::GoWithCookie { to, cookie: theme.cookie() })
}
