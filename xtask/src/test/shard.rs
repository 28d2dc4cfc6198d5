//! Parts of the deep check, for several machines.

use std::fmt;
use std::str::FromStr;

/// Describes one part of a whole, `2/3` for the second of three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// The only part: everything.
    pub(crate) const WHOLE: Self = Self { number: 1, of: 1 };

    /// Returns whether the thing at this place in a list belongs to the part.
    pub(crate) fn takes(self, index: usize) -> bool {
        index % self.of == self.number - 1
    }

    /// Returns the argument of nextest with which the parts share out the tests; `None` for the whole.
    pub(crate) fn partition(self) -> Option<String> {
        (self != Self::WHOLE).then(|| format!("slice:{self}"))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("cannot read `{text}` as a shard: write N/M with N from 1 to M, `--shard 1/2`");
        let (number, of) = text.split_once('/').ok_or_else(wrong)?;
        let (number, of) = (number.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if number == 0 || number > of { Err(wrong()) } else { Ok(Self { number, of }) }
    }
}

#[cfg(test)]
mod tests {
    use super::Shard;

    #[test]
    fn shards_take_everything_exactly_once() {
        for of in 1..6_usize {
            let shards: Vec<Shard> =
                (1..=of).map(|number| format!("{number}/{of}").parse().unwrap()).collect();
            for index in 0..20 {
                let takers = shards.iter().filter(|shard| shard.takes(index)).count();
                assert_eq!(takers, 1, "{index} of {of}");
            }
        }
        assert_eq!(Shard::WHOLE.partition(), None);
        assert_eq!("2/3".parse::<Shard>().unwrap().partition().as_deref(), Some("slice:2/3"));
    }

    #[test]
    fn shard_out_of_range_is_refused() {
        for text in ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
