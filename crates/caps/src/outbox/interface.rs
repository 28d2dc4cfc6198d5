//! The one method of an outbox.

use std::sync::LazyLock;

use passable::{Effect, Interface, Method, Param, Pattern};

/// The interface of every outbox.
pub(crate) fn interface() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
        let text = |name: &str, about: &str| Param::new(name, Pattern::string()).describe(about);
        let attach = Param::optional("attach", Pattern::array_of(Pattern::string()))
            .describe("texts to attach, each in full (not the names of files)");
        Interface::new(
            "Outbox",
            "sends mail",
            vec![Method::new(
                "send",
                vec![
                    text("to", "one mail address"),
                    text("subject", "one line"),
                    text("body", "the text of the mail"),
                    attach,
                ],
                Pattern::any(),
                Effect::Commit,
                "Sends a mail to one address.",
            )],
        )
    });
    &INTERFACE
}
