//! The search in the mappings of a source map. They are read once, and only the best mapping so far is kept.

/// The maximum number of mappings that are read.
const MAX_MAPPINGS: usize = 1_000_000;
/// The number of value bits in a digit. The next bit, the continuation bit, says that more digits follow.
const DIGIT_BITS: u32 = 5;
const CONTINUATION_BIT: u8 = 1 << DIGIT_BITS;

/// A place in the original source. All numbers are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The index of the source in the map's list.
    pub(super) source: usize,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// Returns the origin of the last mapping at or before a position, which is counted from 0. Returns `None` if the
/// line has no such mapping, the mapping has no origin, or the mappings before are malformed.
pub(super) fn find(mappings: &str, line: u32, column: u32) -> Option<Origin> {
    let mut at = Fields::default();
    let mut left = MAX_MAPPINGS;
    let mut best: Option<(u32, Option<Origin>)> = None;
    for (index, of_line) in mappings.split(';').take((line as usize).saturating_add(1)).enumerate() {
        at.column = 0;
        for mapping in of_line.split(',').filter(|mapping| !mapping.is_empty()) {
            left = left.checked_sub(1)?;
            let origin = at.read(mapping)?;
            let here = u32::try_from(at.column).ok()?;
            // The mappings of a line need not be in order.
            let better = here <= column && best.is_none_or(|(known, _)| known < here);
            if index == line as usize && better {
                best = Some((here, origin));
            }
        }
    }
    best?.1
}

/// The fields of the current mapping. Each mapping only gives the differences to the one before.
#[derive(Default)]
struct Fields {
    column: i64,
    source: i64,
    original_line: i64,
    original_column: i64,
}

impl Fields {
    /// Reads one mapping and returns its origin. `Some(None)` is a mapping without an origin, `None` a malformed one.
    #[expect(clippy::option_option, reason = "a mapping may say that it leads nowhere")]
    fn read(&mut self, mapping: &str) -> Option<Option<Origin>> {
        let mut digits = mapping.bytes();
        self.column += number(&mut digits)??;
        let Some(source) = number(&mut digits)? else { return Some(None) };
        self.source += source;
        self.original_line += number(&mut digits)??;
        self.original_column += number(&mut digits)??;
        // A fifth number would be the index of a name. A sixth one is not allowed.
        if number(&mut digits)?.is_some() && number(&mut digits)?.is_some() {
            return None;
        }
        Some(Some(Origin {
            source: usize::try_from(self.source).ok()?,
            line: u32::try_from(self.original_line).ok()?,
            column: u32::try_from(self.original_column).ok()?,
        }))
    }
}

/// Returns the next number, whose lowest bit is the sign. `Some(None)` means that there are no more digits. `None`
/// means that the digits are not a number of 32 bits.
#[expect(clippy::option_option, reason = "there may be no more numbers, or what is there is none")]
fn number(digits: &mut std::str::Bytes<'_>) -> Option<Option<i64>> {
    let (mut sum, mut shift) = (0u64, 0u32);
    for char in digits.by_ref() {
        let digit = digit(char)?;
        if shift > 6 * DIGIT_BITS {
            return None;
        }
        sum |= u64::from(digit & (CONTINUATION_BIT - 1)) << shift;
        if digit & CONTINUATION_BIT == 0 {
            let size = i64::try_from(sum >> 1).ok().filter(|size| *size <= i64::from(i32::MAX))?;
            return Some(Some(if sum & 1 == 1 { -size } else { size }));
        }
        shift += DIGIT_BITS;
    }
    (shift == 0).then_some(None)
}

/// Returns the value of a base-64 character.
fn digit(char: u8) -> Option<u8> {
    match char {
        b'A'..=b'Z' => Some(char - b'A'),
        b'a'..=b'z' => Some(char - b'a' + 26),
        b'0'..=b'9' => Some(char - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(source: usize, line: u32, column: u32) -> Option<Origin> {
        Some(Origin { source, line, column })
    }

    #[test]
    fn find_returns_the_last_mapping_of_the_line() {
        // In line 0, column 2 is 0:0:4, column 6 has no origin, and column 8 is 1:3:3. Line 1 has no mappings. In
        // line 2, column 0 is 1:2:0.
        let mappings = "EAAI,I,ECGD;;AADH";
        for (line, column, expected) in [
            (0, 0, None),
            (0, 1, None),
            (0, 2, origin(0, 0, 4)),
            (0, 5, origin(0, 0, 4)),
            (0, 6, None),
            (0, 7, None),
            (0, 8, origin(1, 3, 3)),
            (0, u32::MAX, origin(1, 3, 3)),
            (1, 9, None),
            (2, 0, origin(1, 2, 0)),
            (3, 0, None),
            (u32::MAX, u32::MAX, None),
        ] {
            assert_eq!(find(mappings, line, column), expected, "{line}:{column}");
        }
        // The mappings of a line may be out of order: here 8 comes before 2. Of two mappings for the same column, the
        // first counts.
        assert_eq!(find("QAAA,NACA", 0, 5), origin(0, 1, 0));
        assert_eq!(find("AAAA,AACA", 0, 5), origin(0, 0, 0));
        assert_eq!(find("AAAAA", 0, 5), origin(0, 0, 0));
    }

    #[test]
    fn malformed_mappings_have_no_origin() {
        for (mappings, why) in [
            ("", "nothing"),
            (";;;", "no mappings"),
            ("D", "before the first column"),
            ("ADAA", "before the first source"),
            ("AADA", "before the first line"),
            ("AAAD", "before the first column of the original"),
            ("AA", "two fields"),
            ("AAA", "three fields"),
            ("AAAAAA", "six fields"),
            ("AAA!", "no digit"),
            ("AAAg", "a number without an end"),
            ("AAAgggggggggggggggB", "a number without bounds"),
            ("AAggggggE", "a number of more than 32 bits"),
            ("\u{0}", "no text"),
            ("é", "no digit"),
        ] {
            assert_eq!(find(mappings, 0, 0), None, "{why}");
        }
        // The sums of the differences are bounded too.
        let far = "AA+/////DA,".repeat(3);
        assert_eq!(find(&far, 0, 0), None);
        let many = "A,".repeat(MAX_MAPPINGS + 1);
        assert_eq!(find(&format!("AAAA,{many}"), 0, 0), None);
    }
}
