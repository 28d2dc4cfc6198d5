//! The parts of the site, in groups, as the navigation and the search list them.

/// A part of the site.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The path of its page.
    pub path: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Other words for it, for the search.
    pub words: &'static str,
}

/// A group of parts.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The name of the group.
    pub name: &'static str,
    /// The parts in the group.
    pub parts: &'static [Part],
}

const fn part(path: &'static str, name: &'static str, words: &'static str) -> Part {
    Part { path, name, words }
}

/// All parts of the site. The first group is always in sight.
pub const GROUPS: &[Group] = &[
    Group {
        name: "Work",
        parts: &[
            part("/", "Inbox", "messages mail approvals questions"),
            part("/runs", "Runs", "history journal tasks"),
            part("/chat", "Chat", "conversations talk ask"),
        ],
    },
    Group {
        name: "Authority",
        parts: &[
            part("/workers", "Workers", "agents"),
            part("/names", "Names", "objects graph directories"),
            part("/grants", "Grants", "permissions access revoke"),
            part("/why", "Why", "reasons causes origin"),
        ],
    },
    Group {
        name: "System",
        parts: &[
            part("/models", "Models", "cost tokens providers"),
            part("/policy", "Policy", "rules cedar"),
            part("/audit", "Audit", "events log"),
            part("/doctor", "Doctor", "health checks status"),
            part("/settings", "Settings", "default model configuration managed"),
            part("/sessions", "Sessions", "browsers logins notifications keys letters"),
        ],
    },
];

/// The things that a user can begin, each with its path and its name.
pub const NEW: &[(&str, &str)] = &[("/runs/new", "Run a worker"), ("/chat", "Chat with a model")];

/// Returns all parts, in order.
pub fn parts() -> impl Iterator<Item = &'static Part> {
    GROUPS.iter().flat_map(|group| group.parts)
}
