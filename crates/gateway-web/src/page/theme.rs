//! The look of the pages, light or dark, which each browser keeps in a cookie.

/// The name of the cookie. The prefix `__Host-` binds the cookie to this host.
const COOKIE: &str = "__Host-almoner-look";

/// The time for which a browser keeps the choice, in seconds.
const KEPT_SECONDS: u32 = 365 * 24 * 60 * 60;

/// The look of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// The look of the browser's system.
    #[default]
    System,
    /// Dark text on a light ground.
    Light,
    /// Light text on a dark ground.
    Dark,
}

impl Theme {
    /// All looks, each with its name in a form and its label.
    pub const ALL: [(Theme, &str, &str); 3] = [
        (Theme::System, "system", "System"),
        (Theme::Light, "light", "Light"),
        (Theme::Dark, "dark", "Dark"),
    ];

    /// Returns the look with this name in a form.
    pub fn named(name: &str) -> Option<Theme> {
        Theme::ALL.into_iter().find(|(_, each, _)| *each == name).map(|(theme, ..)| theme)
    }

    /// Returns the look that a browser has kept, given the cookie headers of its request. Any other cookie counts as
    /// none.
    pub fn of_cookies<'a>(headers: impl IntoIterator<Item = &'a str>) -> Theme {
        let pairs = headers.into_iter().flat_map(|all| all.split(';'));
        let mut kept = pairs.filter_map(|one| one.trim().strip_prefix(COOKIE)?.strip_prefix('='));
        kept.next().and_then(Theme::named).unwrap_or_default()
    }

    /// Returns the name of a chosen look, or `None` for the look of the system.
    pub fn chosen(self) -> Option<&'static str> {
        match self {
            Theme::System => None,
            Theme::Light => Some("light"),
            Theme::Dark => Some("dark"),
        }
    }

    /// Returns the cookie with which a browser keeps the look.
    pub fn cookie(self) -> String {
        let (name, age) = self.chosen().map_or(("", 0), |name| (name, KEPT_SECONDS));
        format!("{COOKIE}={name}; Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}")
    }
}

#[cfg(test)]
mod tests {
    use super::Theme;

    #[test]
    fn only_known_looks_are_taken_from_a_cookie() {
        for (cookies, expected) in [
            ("", Theme::System),
            ("__Host-almoner=1; __Host-almoner-look=dark", Theme::Dark),
            ("__Host-almoner-look=light", Theme::Light),
            ("__Host-almoner-look=<script>", Theme::System),
            ("__Host-almoner-look=", Theme::System),
            ("x__Host-almoner-look=dark", Theme::System),
        ] {
            assert_eq!(Theme::of_cookies([cookies]), expected, "{cookies}");
        }
        for (theme, name, _) in Theme::ALL {
            assert_eq!(Theme::named(name), Some(theme));
        }
    }
}
