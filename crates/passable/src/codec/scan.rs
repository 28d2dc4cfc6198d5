//! A search for bytes, eight at a time, because most text contains nothing that a codec must look at.

/// Returns a word of eight times the same byte.
const fn eight(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Marks each ASCII byte below a limit by its highest bit.
///
/// The caller ignores the marks of bytes beyond ASCII. Marks above the first one can be wrong, because subtracting
/// borrows.
const fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(eight(limit))
}

/// Returns how many bytes stand before the first marked ASCII byte, or the number of all bytes if none is marked.
#[inline(always)]
fn before(bytes: &[u8], marks: impl Fn(u64) -> u64) -> usize {
    let marks = |word: u64| marks(word) & !word & eight(0x80);
    let (mut at, mut rest) = (0, bytes);
    while let Some((word, after)) = rest.split_first_chunk() {
        let marked = marks(u64::from_le_bytes(*word));
        if marked != 0 {
            return at + marked.trailing_zeros() as usize / 8;
        }
        (at, rest) = (at + 8, after);
    }
    // A single byte stands in the lowest place.
    let marked = |byte: &u8| marks(u64::from(*byte)) & 0x80 != 0;
    at + rest.iter().position(marked).unwrap_or(rest.len())
}

/// Returns how many bytes stand for themselves in a JSON string. The byte after them is ASCII, so this is a character
/// boundary.
#[inline]
pub(crate) fn before_escape(bytes: &[u8]) -> usize {
    before(bytes, |word| below(word, 0x20) | below(word ^ eight(b'"'), 1) | below(word ^ eight(b'\\'), 1))
}

/// Returns how many bytes stand before a separator or an escape of the `legacyOrdered` encoding: 0 and 1.
#[cfg(any(test, feature = "ordered"))]
#[inline]
pub(crate) fn before_separator(bytes: &[u8]) -> usize {
    before(bytes, |word| below(word, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_marked_byte_is_found_at_every_offset() {
        for length in 0..20 {
            for at in 0..=length {
                for byte in 0..=u8::MAX {
                    let mut bytes = vec![b'x'; length];
                    // Later occurrences must not hide the first one.
                    bytes.iter_mut().skip(at).step_by(2).for_each(|place| *place = byte);
                    let escape = byte < 0x20 || byte == b'"' || byte == b'\\';
                    assert_eq!(before_escape(&bytes), if escape { at } else { length }, "{bytes:?}");
                    assert_eq!(before_separator(&bytes), if byte < 2 { at } else { length }, "{bytes:?}");
                }
            }
        }
    }
}
