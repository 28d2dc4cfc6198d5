//! The search for a value whose pieces are in several texts, in any order.

/// The minimum length of a piece in bytes. With shorter pieces, almost any value could be put together.
const MIN_PIECE_LEN: usize = 3;

/// The minimum length of a value in bytes. Shorter values are not searched for in pieces.
const MIN_VALUE_LEN: usize = 8;

/// Returns the index of the text that has the first piece of `whole`, or `None` if the texts do not make it up. The
/// pieces are the end of one text, any number of whole texts, and the beginning of one text.
pub(super) fn find_split(whole: &[u8], texts: &[&[u8]]) -> Option<usize> {
    if whole.len() < MIN_VALUE_LEN {
        return None;
    }
    // For each length of `whole` that pieces can make up, this is the index of the text with the first piece.
    let mut reached: Vec<Option<usize>> = vec![None; whole.len()];
    let mut has_begun = false;
    for (at, text) in texts.iter().enumerate() {
        for length in MIN_PIECE_LEN..whole.len().min(text.len() + 1) {
            if text.ends_with(&whole[..length]) {
                reached[length].get_or_insert(at);
                has_begun = true;
            }
        }
    }
    if !has_begun {
        return None;
    }
    for place in MIN_PIECE_LEN..whole.len() {
        let Some(first) = reached[place] else { continue };
        let rest = &whole[place..];
        for text in texts {
            if rest.len() >= MIN_PIECE_LEN && text.starts_with(rest) {
                return Some(first);
            }
            if text.len() >= MIN_PIECE_LEN && text.len() < rest.len() && rest.starts_with(text) {
                reached[place + text.len()].get_or_insert(first);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_joined_in_any_order() {
        let check = |texts: &[&str], expected: Option<usize>| {
            let bytes: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
            assert_eq!(find_split(b"swordfish-42", &bytes), expected, "{texts:?}");
        };
        check(&["sword", "fish-42"], Some(0));
        check(&["fish-42", "sword"], Some(1));
        check(&["fish-", "my sword", "42!"], None);
        check(&["fish", "my sword", "-42!"], Some(1));
        check(&["a-42", "fish", "b sword", "-42 c"], Some(2));
        check(&["sword", "fish"], None);
        check(&["sw", "ordfish-42"], None);
        check(&["swordfish", "x-42"], None);
    }
}
