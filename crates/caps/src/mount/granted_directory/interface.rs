//! The methods of a directory that an agent uses through a grant, without a run.

use std::sync::LazyLock;

use kernel::{Interface, Method, Param, Pattern};
use passable::Effect;

use crate::text;

/// The maximum length of a text argument, in UTF-16 units. Each directory also has limits of its own.
const MAX_LEN: u64 = 1 << 30;

/// Returns the methods of a directory that agents use without a run. Methods that only read go through
/// [`super::GrantedDirectory::readable_place`].
pub fn interface() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
        let path = |name: &str| Param::required(name, text(MAX_LEN), "from the root of the directory");
        let content = || Param::required("content", text(MAX_LEN), "the whole text");
        // The place that was looked up confines the call. All grants on the way to the place must still hold.
        let rest = |method: Method| {
            method.param(Param::optional("within", text(MAX_LEN), "the place that was looked up")).param(
                Param::optional("through", Pattern::any(), "the directory, and grants on the way to it"),
            )
        };
        let looks =
            |name: &str, about: &str| rest(Method::new(name, Effect::Observe, about).param(path("path")));
        let changes = |name: &str, about: &str| Method::new(name, Effect::Modify, about).with_probe();
        Interface::new("Mount", "a directory that was handed over")
            .with(looks("has", "Whether something is there."))
            .with(looks("list", "The names in a directory."))
            .with(looks("lookup", "A reference to a file or a directory."))
            .with(looks("read", "What a file holds."))
            .with(looks("snapshot", "All that is in a directory."))
            .with(rest(changes("write", "Writes a file, whole.").param(path("path")).param(content())))
            .with(rest(
                changes("put", "Writes a file, whole, with bytes that were kept beside the store.")
                    .param(path("path"))
                    .param(Param::required("digest", text(64), "of the bytes"))
                    .param(Param::required("bytes", Pattern::number(), "how many there are")),
            ))
            .with(rest(
                changes("append", "Writes a text behind what a file holds.")
                    .param(path("path"))
                    .param(content()),
            ))
            .with(rest(changes("remove", "Takes a file or an empty directory away.").param(path("path"))))
            .with(rest(changes("makeDirectory", "Makes a directory.").param(path("path"))))
            .with(rest(
                changes("move", "Gives a file another place; one that is there goes.")
                    .param(path("from"))
                    .param(path("to")),
            ))
    });
    &INTERFACE
}
