//! The identifiers of formulas, bytes, runs, steps and messages.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use resource::hex::{Digits, from_hex, to_hex, write_hex};
use serde::{Deserialize, Serialize};

pub use resource::{BadId, BlobHash};

/// The identity of a formula: a number of 256 bits, and the node that made it. It is written `number:node` as in
/// Endo, with 64 lower-case hex digits each. The number begins with the time at which it was made, and is random
/// otherwise ([`Env::number`](crate::env::Env::number)). Knowing an identity is not authority.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FormulaId {
    /// The formula's own number.
    pub number: [u8; 32],
    /// The node on which the formula was made.
    pub node: [u8; 32],
}

impl FormulaId {
    /// Returns the 64 bytes under which stores and fingerprints know the formula: number, then node.
    pub fn to_bytes(self) -> [u8; 64] {
        let mut out = [0; 64];
        out[..32].copy_from_slice(&self.number);
        out[32..].copy_from_slice(&self.node);
        out
    }

    /// Reads an identifier that [`FormulaId::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Option<FormulaId> {
        let (number, node) = bytes.split_at_checked(32)?;
        Some(FormulaId { number: number.try_into().ok()?, node: node.try_into().ok()? })
    }

    /// Returns the last eight digits of the number. They are enough for a person to tell two formulas apart, and are
    /// never used to find one. The first digits are the time, which many formulas have in common.
    pub fn short(&self) -> String {
        to_hex(&self.number).as_str()[56..].to_owned()
    }
}

impl FormulaId {
    fn digits(&self) -> Digits<129> {
        let mut out = [b':'; 129];
        write_hex(&mut out[..64], &self.number);
        write_hex(&mut out[65..], &self.node);
        Digits(out)
    }
}

impl fmt::Display for FormulaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.digits().as_str())
    }
}

impl fmt::Debug for FormulaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FormulaId({})", self.short())
    }
}

impl FromStr for FormulaId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<FormulaId, BadId> {
        let read = || {
            let (number, rest) = text.as_bytes().split_at_checked(64)?;
            let node = rest.strip_prefix(b":")?;
            Some(FormulaId { number: from_hex(number)?, node: from_hex(node)? })
        };
        let wanted = "a formula identifier (64 hex digits, `:`, 64 more)";
        read().ok_or_else(|| BadId { text: text.to_owned(), wanted })
    }
}

/// The number of a run, written `r17`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RunNumber(pub u64);

impl fmt::Display for RunNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

impl FromStr for RunNumber {
    type Err = BadId;

    fn from_str(text: &str) -> Result<RunNumber, BadId> {
        text.strip_prefix('r')
            .filter(|digits| !digits.starts_with('+'))
            .and_then(|digits| digits.parse().ok())
            .map(RunNumber)
            .ok_or_else(|| BadId { text: text.to_owned(), wanted: "a run like `r17`" })
    }
}

/// One step of one run's journal, written `r17#9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepRef {
    /// The run.
    pub run: RunNumber,
    /// The step's number in the run's journal, from 1.
    pub step: u64,
}

impl fmt::Display for StepRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.run, self.step)
    }
}

impl FromStr for StepRef {
    type Err = BadId;

    fn from_str(text: &str) -> Result<StepRef, BadId> {
        let bad = || BadId { text: text.to_owned(), wanted: "a step like `r17#9`" };
        let (run, step) = text.split_once('#').ok_or_else(bad)?;
        if step.starts_with('+') {
            return Err(bad());
        }
        Ok(StepRef { run: run.parse().map_err(|_| bad())?, step: step.parse().map_err(|_| bad())? })
    }
}

/// The number of a message in one agent's mailbox.
///
/// Messages that others have sent are numbered `0`, `1`, `2` without gaps. A command of the agent's own takes no such
/// number: it follows the message that came last, and is written `7.1`. Only a command in an empty mailbox is message
/// `0`. The order of numbers is the order in which messages came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct MessageNumber(pub u64);

impl MessageNumber {
    /// The number of bits for the message. The bits above it count the commands that followed the message.
    const MESSAGE_BITS: u32 = 40;
    /// The number of bits for the command.
    const COMMAND_BITS: u32 = u64::BITS - Self::MESSAGE_BITS;
    /// The largest number of a message.
    const MAX_MESSAGE: u64 = (1 << Self::MESSAGE_BITS) - 1;
    /// The maximum number of commands that follow one message.
    pub const MAX_COMMANDS: u64 = (1 << Self::COMMAND_BITS) - 1;

    /// Returns the number of a command: the one with this index, from 1, after a message.
    pub const fn command(message: u64, index: u64) -> MessageNumber {
        MessageNumber((message & Self::MAX_MESSAGE) | index << Self::MESSAGE_BITS)
    }

    /// Returns the number of the message, or of the message that a command follows.
    pub const fn message(self) -> u64 {
        self.0 & Self::MAX_MESSAGE
    }

    /// Returns the index of a command after its message, from 1, or 0 if the number is that of a message.
    pub const fn command_index(self) -> u64 {
        self.0 >> Self::MESSAGE_BITS
    }

    /// Returns a number in the order in which messages came, for keys of the store.
    pub const fn order(self) -> u64 {
        self.message() << Self::COMMAND_BITS | self.command_index()
    }

    /// Returns the message number with this place in the order.
    pub const fn from_order(order: u64) -> MessageNumber {
        MessageNumber::command(order >> Self::COMMAND_BITS, order & Self::MAX_COMMANDS)
    }

    /// Returns the least number that could come after this one.
    #[must_use]
    pub const fn successor(self) -> MessageNumber {
        MessageNumber::from_order(self.order().saturating_add(1))
    }

    /// Returns whether a mailbox has no gap between the number before and this one. `None` is the beginning.
    pub fn follows(self, before: Option<MessageNumber>) -> bool {
        match before {
            None => self.0 == 0,
            Some(before) => {
                self == before.successor() || self == MessageNumber(before.message().saturating_add(1))
            }
        }
    }
}

impl PartialOrd for MessageNumber {
    fn partial_cmp(&self, other: &MessageNumber) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for MessageNumber {
    fn cmp(&self, other: &MessageNumber) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl fmt::Display for MessageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.command_index() {
            0 => self.message().fmt(f),
            // Padding applies to the whole number.
            index => f.pad(&format!("{}.{index}", self.message())),
        }
    }
}

impl FromStr for MessageNumber {
    type Err = BadId;

    fn from_str(text: &str) -> Result<MessageNumber, BadId> {
        let bad = || BadId { text: text.to_owned(), wanted: "a message number like `7`" };
        let number = |digits: &str| {
            let digits = Some(digits).filter(|digits| !digits.starts_with('+'));
            digits.and_then(|digits| digits.parse::<u64>().ok()).ok_or_else(bad)
        };
        let text = text.strip_prefix('#').unwrap_or(text);
        match text.split_once('.') {
            None => number(text).map(MessageNumber),
            Some((message, index)) => {
                let (message, index) = (number(message)?, number(index)?);
                let is_valid = message <= Self::MAX_MESSAGE && (1..=Self::MAX_COMMANDS).contains(&index);
                is_valid.then(|| MessageNumber::command(message, index)).ok_or_else(bad)
            }
        }
    }
}

/// The number of a formula without its node. It names an agent under which rows are stored, or a message with copies
/// in several mailboxes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Number(pub [u8; 32]);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(to_hex(&self.0).as_str())
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Number({})", &to_hex(&self.0).as_str()[56..])
    }
}

impl FromStr for Number {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Number, BadId> {
        from_hex(text.as_bytes())
            .map(Number)
            .ok_or_else(|| BadId { text: text.to_owned(), wanted: "64 hex digits" })
    }
}

impl Number {
    fn digits(&self) -> Digits<64> {
        to_hex(&self.0)
    }
}

/// The number of a grant among those that one agent gave, written `g4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct GrantNumber(pub u64);

impl fmt::Display for GrantNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "g{}", self.0)
    }
}

impl FromStr for GrantNumber {
    type Err = BadId;

    fn from_str(text: &str) -> Result<GrantNumber, BadId> {
        text.strip_prefix('g')
            .filter(|digits| !digits.starts_with('+'))
            .and_then(|digits| digits.parse().ok())
            .map(GrantNumber)
            .ok_or_else(|| BadId { text: text.to_owned(), wanted: "a grant like `g4`" })
    }
}

resource::serde_as_text!(FormulaId, Number);

/// A run among the runs of all hosts. Each host numbers its own runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostRun {
    /// The host that has the run.
    pub host: FormulaId,
    /// The number of the run at that host.
    pub run: RunNumber,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_parse_from_their_printed_form() {
        let id = FormulaId { number: [0xab; 32], node: [1; 32] };
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(FormulaId::from_bytes(&id.to_bytes()), Some(id));
        assert_eq!("r17".parse(), Ok(RunNumber(17)));
        assert_eq!("r17#9".parse(), Ok(StepRef { run: RunNumber(17), step: 9 }));
        assert_eq!("#7".parse(), Ok(MessageNumber(7)));
        assert_eq!("7.2".parse(), Ok(MessageNumber::command(7, 2)));
        assert_eq!(MessageNumber::command(7, 2).to_string(), "7.2");
        assert_eq!(format!("{:>5}|{:>5}", MessageNumber(7), MessageNumber::command(7, 2)), "    7|  7.2");
    }

    #[test]
    fn commands_stand_between_messages() {
        let command = MessageNumber::command;
        let sorted = [
            MessageNumber(0),
            MessageNumber(1),
            command(1, 1),
            command(1, 2),
            MessageNumber(2),
            command(2, MessageNumber::MAX_COMMANDS),
            MessageNumber(3),
            MessageNumber(u64::MAX),
        ];
        for (i, left) in sorted.iter().enumerate() {
            for (j, right) in sorted.iter().enumerate() {
                assert_eq!(left.cmp(right), i.cmp(&j), "{left} {right}");
            }
            assert_eq!(MessageNumber::from_order(left.order()), *left);
            assert_eq!(left.to_string().parse(), Ok(*left));
            // The number in JSON names the same message if a user types it.
            assert_eq!(left.0.to_string().parse(), Ok(*left));
        }
        assert_eq!(command(1, 1).successor(), command(1, 2));
        assert_eq!(command(2, MessageNumber::MAX_COMMANDS).successor(), MessageNumber(3));
        assert!(MessageNumber(0).follows(None) && !MessageNumber(1).follows(None));
        assert!(MessageNumber(2).follows(Some(command(1, 5))) && command(1, 6).follows(Some(command(1, 5))));
        assert!(
            !command(1, 5).follows(Some(command(1, 5))) && !MessageNumber(3).follows(Some(command(1, 5)))
        );
    }

    #[test]
    fn invalid_identifiers_are_refused() {
        for text in ["", "17", "r", "r-1", "r+1", "rr1", "r1#", "r99999999999999999999"] {
            assert!(text.parse::<RunNumber>().is_err(), "{text}");
        }
        for text in ["7.0", "7.", ".1", "7.+1", "7.1.1", "1099511627776.1", "7.16777216", "-1"] {
            assert!(text.parse::<MessageNumber>().is_err(), "{text}");
        }
        for text in ["r1", "#1", "r1#x", "1#1", "r1#+1"] {
            assert!(text.parse::<StepRef>().is_err(), "{text}");
        }
        assert!("ab:cd".parse::<FormulaId>().is_err());
        assert!("Ab".repeat(32).parse::<BlobHash>().is_err());
    }
}
