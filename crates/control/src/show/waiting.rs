//! The line about the messages that wait for the user.

use kernel::MessageNumber;

/// The maximum of the count. A user with so many messages looks at the messages and not at their number.
pub const MAX_ITEMS: usize = 100;

/// Returns the line without a line end, or `None` if no message waits. `only` is the message, if exactly one waits.
pub fn waiting(count: usize, only: Option<MessageNumber>) -> Option<String> {
    Some(match (count, only) {
        (0, _) => return None,
        (1, Some(number)) => format!("1 thing waits for you: almoner inbox {number}"),
        (1, None) => "1 thing waits for you: almoner inbox".to_owned(),
        (MAX_ITEMS.., _) => format!("{MAX_ITEMS} things or more wait for you: almoner inbox"),
        (count, _) => format!("{count} things wait for you: almoner inbox"),
    })
}
