//! The search for the known name that is nearest to a misspelt one.

/// Returns the known name that is nearest to a misspelt one, or `None` if all are too different.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = 1 + name.chars().count() / 3;
    let measured = known.into_iter().map(|known| (distance(name, known), known));
    measured.filter(|(distance, _)| *distance <= limit).min().map(|(_, known)| known)
}

/// Returns the edit distance of two texts, ignoring case.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    // All known names are short, so only the start of a long text is compared.
    for (i, a) in left.to_lowercase().chars().take(64).enumerate() {
        let mut corner = i;
        let mut last = i + 1;
        let mut next = vec![last];
        for (b, above) in right.iter().zip(row.iter().skip(1)) {
            last = (corner + usize::from(a != *b)).min(last + 1).min(above + 1);
            corner = *above;
            next.push(last);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}
