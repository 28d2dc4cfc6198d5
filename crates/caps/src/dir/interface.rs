//! The methods of a directory.

use std::sync::LazyLock;

use passable::{Effect, Interface, Method, Param, Pattern};

/// The interface of every directory; a grant says which methods may be called.
pub(crate) fn interface() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
        let path = |about: &str| Param::new("path", Pattern::string()).describe(about);
        Interface::new(
            "Dir",
            "a directory of files",
            vec![
                Method::new(
                    "list",
                    vec![
                        Param::optional("path", Pattern::string())
                            .describe("a subdirectory; left out: all of it"),
                    ],
                    Pattern::array_of(Pattern::string()),
                    Effect::Observe,
                    "The names in the directory, sorted; subdirectories end in /.",
                ),
                Method::new(
                    "read",
                    vec![path("the file, relative to the directory")],
                    Pattern::string(),
                    Effect::Observe,
                    "The text of a file.",
                ),
                Method::new(
                    "write",
                    vec![
                        path("the file, relative to the directory; directories on the way are made"),
                        Param::new("content", Pattern::string()).describe("the whole text of the file"),
                    ],
                    Pattern::any(),
                    Effect::Modify,
                    "Writes a file, whole; what was there is replaced.",
                ),
            ],
        )
    });
    &INTERFACE
}
