//! A maximum rate of calls, such as `10/min`.

use serde::{Deserialize, Serialize};

/// A maximum number of calls in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// The number of calls, from 1 to [`Rate::MAX_ITEMS`].
    pub calls: u32,
    /// The length of the period in milliseconds. The limit holds for any period of this length.
    pub per_ms: u64,
}

impl Rate {
    /// The largest possible number of calls. It is limited because the time of each call is stored.
    pub const MAX_ITEMS: u32 = 1_000;

    /// Reads `CALLS/TIME`. The time is `s`, `min`, `h` or `day`, perhaps with a number before it, as in `5/10s`.
    ///
    /// # Errors
    /// When the text has another form, or the number of calls or the time is too large.
    pub fn parse(text: &str) -> Result<Rate, String> {
        let wrong = || {
            format!(
                "`{text}` is no rate: write it like `10/min`, `1/s`, `100/h` or `5/10s`, at most {} calls",
                Rate::MAX_ITEMS
            )
        };
        let (calls, time) = text.split_once('/').ok_or_else(wrong)?;
        let calls: u32 =
            calls.parse().ok().filter(|n| (1..=Rate::MAX_ITEMS).contains(n)).ok_or_else(wrong)?;
        let digits = time.bytes().take_while(u8::is_ascii_digit).count();
        let (times, unit) = time.split_at_checked(digits).ok_or_else(wrong)?;
        let times: u64 = if times.is_empty() { 1 } else { times.parse().map_err(|_| wrong())? };
        let unit: u64 = match unit {
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" | "day" => 86_400_000,
            _ => return Err(wrong()),
        };
        // The period is at most a year.
        let per_ms =
            times.checked_mul(unit).filter(|ms| (1..=366 * 86_400_000).contains(ms)).ok_or_else(wrong)?;
        Ok(Rate { calls, per_ms })
    }

    /// Returns the rate as [`Rate::parse`] reads it.
    pub fn typed(&self) -> String {
        let units = [("day", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)];
        let whole = units.iter().find(|(_, unit)| self.per_ms.is_multiple_of(*unit));
        let (unit, times) =
            whole.map_or(("s", self.per_ms.div_ceil(1_000)), |(name, ms)| (*name, self.per_ms / ms));
        match times {
            1 => format!("{}/{unit}", self.calls),
            times => format!("{}/{times}{unit}", self.calls),
        }
    }

    /// Returns the rate that allows fewer calls in the long run.
    pub(crate) fn least(self, other: Rate) -> Rate {
        let times = |a: Rate, b: Rate| u64::from(a.calls).saturating_mul(b.per_ms);
        if times(other, self) < times(self, other) { other } else { self }
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} in ", self.calls, if self.calls == 1 { "call" } else { "calls" })?;
        match self.per_ms {
            3_600_000 => write!(f, "1 h"),
            60_000 => write!(f, "1 min"),
            86_400_000 => write!(f, "1 day"),
            ms => write!(f, "{} s", ms.div_ceil(1_000)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_round_trip_and_bad_ones_are_refused() {
        for (text, calls, per_ms, said) in [
            ("10/min", 10, 60_000, "10 calls in 1 min"),
            ("1/s", 1, 1_000, "1 call in 1 s"),
            ("5/10s", 5, 10_000, "5 calls in 10 s"),
            ("1000/day", 1000, 86_400_000, "1000 calls in 1 day"),
        ] {
            let rate = Rate::parse(text).unwrap();
            assert_eq!(Rate::parse(&rate.typed()), Ok(rate));
            assert_eq!((rate.calls, rate.per_ms, rate.to_string().as_str()), (calls, per_ms, said), "{text}");
        }
        for wrong in [
            "",
            "10",
            "0/min",
            "1001/min",
            "-1/min",
            "10/",
            "10/week",
            "10/0s",
            "10/99999999999999999999d",
            "1/366000d",
            "é/s",
            "1/é",
        ] {
            assert!(Rate::parse(wrong).is_err(), "{wrong}");
        }
    }
}
