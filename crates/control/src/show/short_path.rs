//! Paths in narrow places: shortened from the left, with the home directory as `~`.

/// Returns the words before the path, and the path to the end of the text. A path begins at the start of a word. An
/// address of a server has none: its host must stay.
fn split(text: &str) -> Option<(&str, &str)> {
    if text.contains("://") {
        return None;
    }
    let starts = |at: usize| at == 0 || text[..at].ends_with([' ', '“', '"', '`', ':']);
    let at = text.match_indices('/').map(|(at, _)| at).find(|at| starts(*at))?;
    text.split_at_checked(at)
}

/// Returns the text with its path relative to the home directory, and with directories left out on the left. The path has
/// at most `max_chars` characters, or one name.
pub fn shortened(text: &str, home: Option<&str>, max_chars: usize) -> String {
    let Some((before, path)) = split(text) else { return text.to_owned() };
    let below_home = home.filter(|home| home.len() > 1).and_then(|home| path.strip_prefix(home));
    let path = match below_home {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
        _ => path.to_owned(),
    };
    if path.chars().count() <= max_chars {
        return format!("{before}{path}");
    }
    // As many names as fit, and the last one in any case.
    let mut kept = String::new();
    for name in path.rsplit('/').filter(|name| !name.is_empty()) {
        let longer = if kept.is_empty() { name.to_owned() } else { format!("{name}/{kept}") };
        if !kept.is_empty() && longer.chars().count() + 2 > max_chars {
            return format!("{before}…/{kept}");
        }
        kept = longer;
    }
    format!("{before}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_keep_their_last_names() {
        let home = Some("/home/me");
        for (text, expected) in [
            ("a clock", "a clock"),
            ("either/or", "either/or"),
            (
                "requests to https://api.bank.example/transfers-and-payments/api/v1",
                "requests to https://api.bank.example/transfers-and-payments/api/v1",
            ),
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
            assert_eq!(shortened(text, home, 34), expected, "{text}");
        }
        assert_eq!(shortened("directory /home/me/notes", None, 34), "directory /home/me/notes");
    }
}
