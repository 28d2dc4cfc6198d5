//! The one method of an outbox.

use std::sync::LazyLock;

use kernel::{Interface, Method, Param, Pattern};
use passable::{Effect, Limit, Limits};

use super::{MAX_ATTACHMENTS, MAX_BYTES, MAX_SUBJECT_LEN, address};
use crate::text;

/// Returns the interface of every outbox.
pub(crate) fn interface() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
        let texts = Pattern::array_of_within(
            text(MAX_BYTES),
            Limits::from_pairs([(Limit::ArrayLength, MAX_ATTACHMENTS as f64)]),
        );
        let sent = [("file", text(255)), ("bytes", Pattern::number())];
        Interface::new("Outbox", "sends mail").with(
            Method::new("send", Effect::Commit, "Sends a mail to one address.")
                .param(Param::required("to", text(address::MAX_LEN as u64), "one plain mail address"))
                .param(Param::required("subject", text(MAX_SUBJECT_LEN as u64), "one line"))
                .param(Param::required("body", text(MAX_BYTES), "the text of the mail"))
                .param(Param::optional("attach", texts, "texts to attach, each in full (not names of files)"))
                .returns(Pattern::record(sent).unwrap_or_else(|_| Pattern::any()))
                .with_probe(),
        )
    });
    &INTERFACE
}
