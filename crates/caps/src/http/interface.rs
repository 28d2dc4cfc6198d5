//! The methods of the web capability.

use std::sync::LazyLock;

use kernel::{Interface, Method, Param, Pattern};
use passable::Effect;

use super::MAX_BYTES;
use crate::text;

/// The HTTP methods that send something.
pub(super) const SENDING: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];

/// Returns the interface of every web capability.
pub(crate) fn interface() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
        let fields = |most| Pattern::record_of(text(100), text(most));
        let path =
            || Param::required("path", text(2000), "relative to the server, like `/items/7`; no query");
        let answer = || {
            Pattern::record([
                ("status", Pattern::number()),
                ("headers", Pattern::any_record()),
                ("body", Pattern::string()),
            ])
            .unwrap_or_else(|_| Pattern::any())
        };
        let body = Pattern::or([text(MAX_BYTES * 64), Pattern::any_record(), Pattern::array()]);
        Interface::new("Web", "reads from a server, and sends to it")
            .with(
                Method::new("get", Effect::Observe, "Reads what is at a path of the server.")
                    .param(path())
                    .param(Param::optional("query", fields(4000), "what goes after `?`, by name"))
                    .param(Param::optional("headers", fields(1000), "headers, by name"))
                    .returns(answer())
                    .with_probe(),
            )
            .with(
                Method::new("send", Effect::Commit, "Sends something to the server, or deletes it there.")
                    .param(Param::required("method", Pattern::one_of(SENDING), "the method of HTTP"))
                    .param(path())
                    .param(Param::optional("body", body, "text, or data that goes as JSON"))
                    .param(Param::optional("headers", fields(1000), "headers, by name"))
                    .returns(answer())
                    .with_probe(),
            )
    });
    &INTERFACE
}
