//! The methods of a directory.

use std::sync::LazyLock;

use kernel::{Interface, Method, Param, Pattern};
use passable::Effect;

use super::limits::MOST_BYTES;
use crate::text;

/// The interface of every directory; a grant says which methods may be called.
pub(crate) fn interface() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
        let path = |about: &str| Param::required("path", text(1024), about);
        let written = || {
            let fields = [("path", text(1024)), ("bytes", Pattern::number()), ("digest", text(64))];
            Pattern::record(fields).unwrap_or_else(|_| Pattern::any())
        };
        Interface::new("Dir", "a directory of files")
            .with(
                Method::new(
                    "list",
                    Effect::Observe,
                    "The names in the directory, sorted; subdirectories end in /.",
                )
                .param(Param::optional("path", text(1024), "a subdirectory; left out: the directory itself"))
                .returns(Pattern::array_of(text(255))),
            )
            .with(
                Method::new("read", Effect::Observe, "The text of a file.")
                    .param(path("the file, relative to the directory"))
                    .returns(text(MOST_BYTES)),
            )
            .with(
                Method::new("write", Effect::Modify, "Writes a file, whole; what was there is replaced.")
                    .param(path("the file, relative to the directory; directories on the way are made"))
                    .param(Param::required("content", text(MOST_BYTES), "the whole text of the file"))
                    .returns(written())
                    .with_probe(),
            )
            .with(
                Method::new(
                    "append",
                    Effect::Modify,
                    "Adds a text at the end of a file; makes it if it is not there.",
                )
                .param(path("the file, relative to the directory; directories on the way are made"))
                .param(Param::required("content", text(MOST_BYTES), "what is added, with its line breaks"))
                .returns(written())
                .with_probe(),
            )
    });
    &INTERFACE
}
