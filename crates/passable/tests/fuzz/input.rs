//! From the fuzzer's bytes to text that is nearly well formed.

/// Returns the input of a target: the bytes as text, or a seed with edits.
///
/// The first byte chooses. From 0xe0 on, the rest is the text itself, so that a fuzzer that follows coverage can
/// write any text. Otherwise every three bytes are one edit of a seed, so that blind chance stays close to
/// well-formed text.
pub(crate) fn text(seeds: &[&str], input: &[u8]) -> String {
    let Some((first, script)) = input.split_first() else { return String::new() };
    if *first >= 0xe0 {
        return String::from_utf8_lossy(script).into_owned();
    }
    let mut bytes = seeds[usize::from(*first) % seeds.len()].as_bytes().to_vec();
    for edit in script.chunks_exact(3).take(40) {
        let at = usize::from(edit[0]) * (bytes.len() + 1) / 256;
        match edit[1] % 7 {
            0 => bytes.insert(at, edit[2]),
            1 if at < bytes.len() => bytes[at] = edit[2],
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 if edit[2] % 4 == 0 => bytes.truncate(at),
            4 => {
                // A piece of another seed, which is legal elsewhere.
                let other = seeds[usize::from(edit[2]) % seeds.len()].as_bytes();
                let from = usize::from(edit[0]) % other.len();
                let piece = &other[from..(from + 12).min(other.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            // A run of one byte, such as a thousand opening brackets.
            5 if at < bytes.len() => {
                let run = vec![bytes[at]; usize::from(edit[2]) * 8];
                bytes.splice(at..at, run);
            }
            _ => {
                let end = (at + usize::from(edit[2]) % 16).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
