//! Slot names: the names of references in messages.

use std::fmt;
use std::str::FromStr;

/// The kind of a slot's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An object.
    Object,
    /// A promise.
    Promise,
    /// The answer to a question.
    Question,
    /// The target of a synchronous call. This crate does not support such calls.
    Trap,
}

impl Kind {
    fn letter(self) -> char {
        match self {
            Kind::Object => 'o',
            Kind::Promise => 'p',
            Kind::Question => 'q',
            Kind::Trap => 't',
        }
    }
}

/// A slot name such as `o+4`: the kind of the target, the side that chose the number, and the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The kind of target.
    pub kind: Kind,
    /// Whether the writer of the name chose the number (`+`). Otherwise the reader chose it (`-`).
    pub own: bool,
    /// The number. Names are counted from 1.
    pub number: u64,
}

/// A text that is no slot name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no slot")]
pub struct BadSlot(pub String);

/// The largest integer that a JavaScript number represents exactly.
const MAX_NUMBER: u64 = (1 << 53) - 1;

impl Slot {
    /// Returns a slot whose number was chosen by the writer.
    pub fn own(kind: Kind, number: u64) -> Slot {
        Slot { kind, own: true, number }
    }

    /// Returns a slot whose number was chosen by the reader.
    pub fn theirs(kind: Kind, number: u64) -> Slot {
        Slot { kind, own: false, number }
    }

    /// Returns the name of the same target in messages of the other end.
    pub fn flipped(self) -> Slot {
        Slot { own: !self.own, ..self }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.kind.letter(), if self.own { '+' } else { '-' }, self.number)
    }
}

impl FromStr for Slot {
    type Err = BadSlot;

    fn from_str(text: &str) -> Result<Slot, BadSlot> {
        read(text).ok_or_else(|| BadSlot(text.chars().take(40).collect()))
    }
}

fn read(text: &str) -> Option<Slot> {
    let (kind, own, digits) = match text.as_bytes() {
        [kind, sign, digits @ ..] => (*kind, *sign, digits),
        _ => return None,
    };
    let kind = match kind {
        b'o' => Kind::Object,
        b'p' => Kind::Promise,
        b'q' => Kind::Question,
        b't' => Kind::Trap,
        _ => return None,
    };
    let own = match own {
        b'+' => true,
        b'-' => false,
        _ => return None,
    };
    // Each slot has only one spelling, because the name is also used as a key.
    if digits.first() == Some(&b'0') && digits.len() > 1 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = std::str::from_utf8(digits).ok()?.parse().ok().filter(|number| *number <= MAX_NUMBER)?;
    Some(Slot { kind, own, number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_names_round_trip() {
        for text in ["o+1", "o-4", "p+20", "p-1", "q-7", "t+2", "o+0", "o+9007199254740991"] {
            assert_eq!(text.parse::<Slot>().unwrap().to_string(), text);
        }
        let bad =
            ["", "o", "o+", "o1", "x+1", "o*1", "o+01", "o+1 ", "o+-1", "o+9007199254740992", "ö+1", "o+١"];
        for text in bad {
            assert!(text.parse::<Slot>().is_err(), "{text}");
        }
    }
}
