//! The search for texts that make up a value, in any order.

/// Pieces of fewer bytes are not tried: a few of them make up anything.
const MIN_PIECE_LEN: usize = 3;

/// Values of fewer bytes are not tried.
const MIN_VALUE_LEN: usize = 8;

/// Returns the index of the text whose end begins `whole`, if the texts make it up. They do so as the end of one
/// text, any number of whole texts, and the beginning of one.
pub(super) fn find_split(whole: &[u8], texts: &[&[u8]]) -> Option<usize> {
    if whole.len() < MIN_VALUE_LEN {
        return None;
    }
    // How far one can get: for each place, the text with which it began.
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
