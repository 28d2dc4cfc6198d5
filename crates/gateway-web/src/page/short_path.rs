//! Paths in narrow places: shortened from the left, with the home directory as `~`. The title has the whole text.

use maud::{Markup, html};
use passable::{Untrusted, visible_name};

use super::context;

/// The number of characters that a path may have before it is shortened.
const MAX_CHARS: usize = 34;

/// Returns words of ours that may end in a path, such as `directory /home/me/notes`, with the path shortened.
pub fn short_path(text: &str) -> Markup {
    let shown = shortened(text, context::home().as_deref());
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

/// Returns words of ours with the user's home directory written as `~`. Nothing else is left out.
pub fn from_home(text: &str) -> String {
    match context::home().filter(|home| home.len() > 1) {
        Some(home) => text.replace(&format!("{home}/"), "~/"),
        None => text.to_owned(),
    }
}

/// Returns the words before the path, and the path to the end of the text. A path begins at the start of a word.
fn split(text: &str) -> Option<(&str, &str)> {
    let starts = |at: usize| at == 0 || text[..at].ends_with([' ', '“', '"', '`', ':']);
    let at = text.match_indices('/').map(|(at, _)| at).find(|at| starts(*at))?;
    text.split_at_checked(at)
}

/// Returns the text with its path relative to the home directory, and with directories left out on the left.
pub fn shortened(text: &str, home: Option<&str>) -> String {
    let Some((before, path)) = split(text) else { return text.to_owned() };
    let below_home = home.filter(|home| home.len() > 1).and_then(|home| path.strip_prefix(home));
    let path = match below_home {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
        _ => path.to_owned(),
    };
    if path.chars().count() <= MAX_CHARS {
        return format!("{before}{path}");
    }
    // As many names as fit, and the last one in any case.
    let mut kept = String::new();
    for name in path.rsplit('/').filter(|name| !name.is_empty()) {
        let longer = if kept.is_empty() { name.to_owned() } else { format!("{name}/{kept}") };
        if !kept.is_empty() && longer.chars().count() + 2 > MAX_CHARS {
            return format!("{before}…/{kept}");
        }
        kept = longer;
    }
    format!("{before}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::context::{PageContext, within};

    #[test]
    fn long_paths_keep_their_last_names() {
        let home = Some("/home/me");
        for (text, expected) in [
            ("a clock", "a clock"),
            ("either/or", "either/or"),
            ("directory /home/me", "directory ~"),
            ("directory /home/me/notes", "directory ~/notes"),
            ("directory /home/meadow/notes", "directory /home/meadow/notes"),
            (
                "directory /srv/a very long name/of a directory/notes/2026",
                "directory …/of a directory/notes/2026",
            ),
            (
                "/srv/x/one-name-that-is-longer-than-all-that-fits-here.md",
                "…/one-name-that-is-longer-than-all-that-fits-here.md",
            ),
            (
                "mail spool /home/me/projects/examples/inbox/outbox-of-the-club",
                "mail spool …/inbox/outbox-of-the-club",
            ),
        ] {
            assert_eq!(shortened(text, home), expected, "{text}");
        }
        assert_eq!(shortened("directory /home/me/notes", None), "directory /home/me/notes");
    }

    #[test]
    fn whole_path_stands_in_the_title() {
        let context = PageContext { now_ms: None, home: Some("/home/me".to_owned()) };
        let drawn = within(context, || short_path("directory /home/me/<b>"));
        let expected = "<bdi dir=\"ltr\" title=\"directory /home/me/&lt;b&gt;\">directory ~/&lt;b&gt;</bdi>";
        assert_eq!(drawn.0, expected);
    }
}
