//! Paths in narrow places: shortened from the left, with the home directory as `~`. The title has the whole text.

use control::show::short_path::shortened;
use maud::{Markup, html};
use passable::{Untrusted, visible_name};

use super::context;

/// The number of characters that a path may have before it is shortened.
pub const MAX_CHARS: usize = 34;

/// Returns words of ours that may end in a path, such as `directory /home/me/notes`, with the path shortened.
pub fn short_path(text: &str) -> Markup {
    let shown = shortened(text, context::home().as_deref(), MAX_CHARS);
    html! {
        @if shown == text { bdi dir="ltr" { (visible_name(text)) } }
        @else { bdi dir="ltr" title=(visible_name(text)) { (visible_name(&shown)) } }
    }
}

/// Returns Almoner's description of an object, such as `directory /home/me/notes` or `worker clerk (2f699286)`. It
/// consists of our words, the user's places, and names.
pub fn description(words: &Untrusted) -> Markup {
    short_path(words.raw())
}

/// Returns whether [`description`] leaves out a part of these words.
pub fn is_shortened(words: &Untrusted) -> bool {
    shortened(words.raw(), context::home().as_deref(), MAX_CHARS) != words.raw()
}

/// Returns words of ours with the user's home directory written as `~`. Nothing else is left out.
pub fn from_home(text: &str) -> String {
    match context::home().filter(|home| home.len() > 1) {
        Some(home) => text.replace(&format!("{home}/"), "~/"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::context::{PageContext, within};

    #[test]
    fn whole_path_stands_in_the_title() {
        let context = PageContext { now_ms: None, home: Some("/home/me".to_owned()) };
        let drawn = within(context, || short_path("directory /home/me/<b>"));
        let expected = "<bdi dir=\"ltr\" title=\"directory /home/me/&lt;b&gt;\">directory ~/&lt;b&gt;</bdi>";
        assert_eq!(drawn.0, expected);
    }
}
