//! How much waits for a person, in one line.

use kernel::MessageNumber;

/// The maximum of the count: a user with that many messages looks at the messages, not at their number.
pub const MAX_ITEMS: usize = 100;

/// Returns the line, without its end; `None` if nothing waits. `only` is the message, if there is one.
pub fn waiting(count: usize, only: Option<MessageNumber>) -> Option<String> {
    Some(match (count, only) {
        (0, _) => return None,
        (1, Some(number)) => format!("1 thing waits for you: almoner inbox {number}"),
        (1, None) => "1 thing waits for you: almoner inbox".to_owned(),
        (MAX_ITEMS.., _) => format!("{MAX_ITEMS} things or more wait for you: almoner inbox"),
        (count, _) => format!("{count} things wait for you: almoner inbox"),
    })
}
