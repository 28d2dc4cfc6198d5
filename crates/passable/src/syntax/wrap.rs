//! Line breaks in long expressions.

/// Breaks an expression at its brackets and commas, so that lines stay within a width if possible.
///
/// The text must come from the printer, so that all brackets, commas and strings in it are well formed.
pub(super) fn wrap(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    piece(text, 0, 0, width, &mut out);
    out
}

/// Writes one piece unchanged if it fits. Otherwise each part of its outermost brackets gets its own line.
fn piece(text: &str, indent: usize, used: usize, width: usize, out: &mut String) {
    if used + text.chars().count() <= width {
        return out.push_str(text);
    }
    let mut rest = text;
    while let Some((head, inner, tail)) = outermost(rest) {
        out.push_str(head);
        let parts = split(inner);
        if parts.is_empty() {
            out.push_str(inner.trim());
        } else {
            for part in parts {
                line(indent + 1, out);
                let label = label_length(part);
                let (label, value) = part.split_at_checked(label).unwrap_or(("", part));
                out.push_str(label);
                piece(value, indent + 1, 2 * (indent + 1) + label.chars().count() + 1, width, out);
                out.push(',');
            }
            line(indent, out);
        }
        rest = tail;
    }
    out.push_str(rest);
}

fn line(indent: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", indent));
}

/// Returns the characters outside of strings, each with its position and the depth of brackets before it.
fn outside(text: &str) -> impl Iterator<Item = (usize, char, usize)> + '_ {
    let (mut quoted, mut escaped, mut depth) = (false, false, 0usize);
    text.char_indices().filter_map(move |(at, char)| {
        if quoted {
            (quoted, escaped) = (escaped || char != '"', !escaped && char == '\\');
            return None;
        }
        let before = depth;
        match char {
            '"' => quoted = true,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        Some((at, char, before))
    })
}

/// Splits a text at its first outermost brackets. Returns the text up to and including the opening bracket, the
/// inside, and the rest.
///
/// The rest begins with the closing bracket, and is not split further.
fn outermost(text: &str) -> Option<(&str, &str, &str)> {
    let open = outside(text).find(|(_, char, depth)| *depth == 0 && matches!(char, '(' | '[' | '{'))?.0;
    let close = outside(text)
        .find(|(at, char, depth)| *at > open && *depth == 1 && matches!(char, ')' | ']' | '}'))?
        .0;
    let (head, rest) = text.split_at_checked(open + 1)?;
    let (inner, tail) = rest.split_at_checked(close - open - 1)?;
    Some((head, inner, tail))
}

/// Returns the parts of a text between the commas that are outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, char, depth) in outside(text) {
        if char == ',' && depth == 0 {
            parts.extend(text.get(start..at));
            start = at + 1;
        }
    }
    parts.extend(text.get(start..));
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Returns the length of a label `name:` before a value, or 0 if there is no label.
fn label_length(text: &str) -> usize {
    let colon = outside(text).find(|(_, char, depth)| *depth == 0 && *char == ':');
    // `outside` skips strings, so a colon within a quoted name is not found.
    colon.map_or(0, |(at, _, _)| at + 1)
}
