//! The mapping from mismatches of a value to places of a form, and from places to HTML identifiers.

use maud::{Markup, html};
use passable::{Control, Label, Mismatch, Segment, Untrusted, Widget};

use super::form_values::{FormValues, step};
use crate::page::parts;

/// Returns the place at which a mismatch is shown. It is the place of the innermost control that contains the
/// mismatched part.
pub fn mismatch_place(control: &Control, place: &str, typed: &FormValues, mismatch: &Mismatch) -> String {
    find(control, place, typed, &mismatch.path)
}

/// Returns the first segment among labels, and the labels after it.
fn next(labels: &[Label]) -> Option<(&Segment, &[Label])> {
    let at = labels.iter().position(|label| label.segment().is_some())?;
    Some((labels.get(at)?.segment()?, labels.get(at + 1..)?))
}

fn find(control: &Control, place: &str, typed: &FormValues, steps: &[Label]) -> String {
    let here = || place.to_owned();
    if typed.has(&format!("{place}:json")) {
        return here();
    }
    match &control.widget {
        Widget::Optional { inner } => find(inner, place, typed, steps),
        Widget::Variants { variants } => {
            let chosen = typed.text(&format!("{place}:kind")).and_then(|text| text.parse::<usize>().ok());
            match chosen.and_then(|at| Some((at, variants.get(at)?))) {
                Some((at, variant)) => find(&variant.control, &format!("{place}/{at}"), typed, steps),
                None => here(),
            }
        }
        Widget::Rows { item, .. } => match next(steps) {
            Some((Segment::Index(at), rest)) => match typed.rows(place).into_iter().nth(*at) {
                Some(row) => find(item, &format!("{place}/{row}"), typed, rest),
                None => here(),
            },
            _ => here(),
        },
        // A choice with rows reports the error at a row. Checkboxes share one error.
        Widget::Checks { .. } => match next(steps) {
            Some((Segment::Index(at), _)) => match typed.rows(place).into_iter().nth(*at) {
                Some(row) => format!("{place}/{row}"),
                None => here(),
            },
            _ => here(),
        },
        Widget::Pairs { key, value, .. } => pair(key, value, place, typed, steps),
        Widget::Group { fields, rest, of } => {
            // The labels of a tagged value's two parts are not steps into the value.
            let of_tagged = steps.first().filter(|label| *of == "tagged" && label.segment().is_none());
            if let Some(field) =
                of_tagged.and_then(|label| fields.iter().find(|one| one.name == label.text()))
            {
                let further = steps.get(1..).unwrap_or_default();
                return find(&field.control, &format!("{place}/{}", field.name), typed, further);
            }
            let Some((first, further)) = next(steps) else { return here() };
            // A record has no elements. An index, or a step marked as rest, refers to a row after the record's own
            // fields.
            let is_rest = steps.first().is_some_and(Label::is_rest);
            let field = match first {
                Segment::Index(at) if *of == "list" && !is_rest => fields.get(*at),
                Segment::Name(name) if !is_rest => {
                    fields.iter().find(|field| name.as_str() == Some(&field.name))
                }
                _ => None,
            };
            match (field, rest, first) {
                (Some(field), ..) => {
                    find(&field.control, &format!("{place}/{}", step(&field.name)), typed, further)
                }
                // Indices after the elements of a list continue their count, unless the step is marked as rest.
                (None, Some(rest), Segment::Index(at)) if *of == "list" && !is_rest => {
                    let at = Label::index(at.saturating_sub(fields.len()));
                    let steps: Vec<Label> = std::iter::once(at).chain(further.iter().cloned()).collect();
                    find(rest, &format!("{place}:rest"), typed, &steps)
                }
                (None, Some(rest), _) => {
                    let steps = if is_rest { steps.get(1..).unwrap_or_default() } else { steps };
                    find(rest, &format!("{place}:rest"), typed, steps)
                }
                (None, None, _) => here(),
            }
        }
        _ => here(),
    }
}

fn pair(key: &Control, value: &Control, place: &str, typed: &FormValues, steps: &[Label]) -> String {
    let Some((first, rest)) = next(steps) else { return place.to_owned() };
    match first {
        Segment::Index(at) => {
            let Some(row) = typed.rows(place).into_iter().nth(*at) else { return place.to_owned() };
            match next(rest) {
                Some((Segment::Name(side), rest)) if side.as_str() == Some("key") => {
                    find(key, &format!("{place}/{row}/key"), typed, rest)
                }
                Some((Segment::Name(side), rest)) if side.as_str() == Some("value") => {
                    find(value, &format!("{place}/{row}/value"), typed, rest)
                }
                _ => format!("{place}/{row}/key"),
            }
        }
        // In a record, a mismatch names the entry's key.
        Segment::Name(name) => {
            let is_it = |row: &u32| typed.text(&format!("{place}/{row}/key")) == name.as_str();
            match typed.rows(place).into_iter().find(is_it) {
                Some(row) if rest.first().is_some_and(Label::is_of_name) => format!("{place}/{row}/key"),
                Some(row) => find(value, &format!("{place}/{row}/value"), typed, rest),
                None => place.to_owned(),
            }
        }
    }
}

/// Returns the control at a place of the form, if there is one.
pub fn control_at<'a>(control: &'a Control, own: &str, place: &str) -> Option<&'a Control> {
    if let Widget::Optional { inner } = &control.widget {
        return control_at(inner, own, place);
    }
    if own == place {
        return Some(control);
    }
    let further = place.strip_prefix(own)?;
    if let Some(rest) = further.strip_prefix(":rest") {
        return match &control.widget {
            Widget::Group { rest: Some(control), .. } if rest.is_empty() || rest.starts_with('/') => {
                control_at(control, &format!("{own}:rest"), place)
            }
            _ => None,
        };
    }
    let next = further.strip_prefix('/')?.split(['/', ':']).next()?;
    let below = format!("{own}/{next}");
    match &control.widget {
        Widget::Rows { item, .. } => control_at(item, &below, place),
        Widget::Variants { variants } => {
            control_at(&variants.get(next.parse::<usize>().ok()?)?.control, &below, place)
        }
        Widget::Group { fields, .. } => {
            let field = fields.iter().find(|field| step(&field.name) == next)?;
            control_at(&field.control, &below, place)
        }
        Widget::Pairs { key, value, .. } => {
            let side = place.strip_prefix(&below)?.strip_prefix('/')?.split(['/', ':']).next()?;
            let control = if side == "key" { key } else { value };
            control_at(control, &format!("{below}/{side}"), place)
        }
        _ => None,
    }
}

/// One step to a part of a control: the position among its siblings, and its label.
pub(super) type PathStep = (usize, Option<Markup>);

/// Returns the steps from a control to a place in it, with the labels that the user sees.
pub(super) fn way(control: &Control, own: &str, place: &str, typed: &FormValues) -> Vec<PathStep> {
    if let Widget::Optional { inner } = &control.widget {
        return way(inner, own, place, typed);
    }
    let Some(further) = place.strip_prefix(own).filter(|further| !further.is_empty()) else { return vec![] };
    let goes_on = |stop: PathStep, control: &Control, below: &str| {
        let mut all = vec![stop];
        all.extend(way(control, below, place, typed));
        all
    };
    if let (Some(_), Widget::Group { rest: Some(rest), .. }) =
        (further.strip_prefix(":rest"), &control.widget)
    {
        return goes_on((usize::MAX, Some(html! { "further ones" })), rest, &format!("{own}:rest"));
    }
    let Some(next) = further.strip_prefix('/').and_then(|further| further.split(['/', ':']).next()) else {
        return vec![];
    };
    let below = format!("{own}/{next}");
    // A row is named by its number on the page.
    let row = || {
        let number = next.parse::<u32>().ok()?;
        let at = typed.rows(own).into_iter().position(|one| one == number)?;
        Some((at, Some(html! { "row " (at + 1) })))
    };
    match &control.widget {
        Widget::Rows { item, .. } => row().map_or_else(Vec::new, |stop| goes_on(stop, item, &below)),
        Widget::Checks { .. } => row().into_iter().collect(),
        Widget::Variants { variants } => {
            let at = next.parse::<usize>().unwrap_or_default();
            variants.get(at).map_or_else(Vec::new, |one| goes_on((at, None), &one.control, &below))
        }
        Widget::Group { fields, .. } => {
            let Some(at) = fields.iter().position(|field| step(&field.name) == next) else { return vec![] };
            let Some(field) = fields.get(at) else { return vec![] };
            let title = parts::line(&Untrusted::new(field.name.as_str()));
            goes_on((at, Some(title)), &field.control, &below)
        }
        Widget::Pairs { key, value, of, .. } => {
            let Some(stop) = row() else { return vec![] };
            let (left, right) = sides(of);
            let below_key = format!("{below}/key");
            let side = match place.starts_with(&below_key) {
                true => goes_on((0, Some(html! { (left) })), key, &below_key),
                false => goes_on((1, Some(html! { (right) })), value, &format!("{below}/value")),
            };
            std::iter::once(stop).chain(side).collect()
        }
        _ => vec![],
    }
}

/// Returns the labels of the two sides of a row.
pub(super) fn sides(of: &str) -> (&'static str, &'static str) {
    match of {
        "bag" => ("value", "how often"),
        "map" => ("key", "value"),
        _ => ("name", "value"),
    }
}

/// Returns the HTML identifier of a place. It consists of letters, digits, `-` and `_`. Different places have
/// different identifiers.
pub fn id(place: &str) -> String {
    let mut out = String::new();
    for letter in place.chars() {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' => out.push(letter),
            '/' => out.push('-'),
            ':' => out.push_str("--"),
            other => out.push_str(&format!("_{:x}_", u32::from(other))),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use kernel::Pattern;

    use super::*;

    const SPLIT: &str =
        "M.splitRecord({ a: M.string(), z: M.string() }, {}, M.recordOf(M.string(), M.number()))";

    #[test]
    fn mismatch_is_reported_where_the_value_was_typed() {
        for (pattern, pairs, expected) in [
            ("M.number()", vec![("value", "x")], "value"),
            ("{ a: { b: M.number() } }", vec![("value/a/b", "x")], "value/a/b"),
            ("{ a: M.number() }", vec![], "value/a"),
            ("{ 'x/y': M.number() }", vec![("value/x~1y", "?")], "value/x~1y"),
            ("M.arrayOf(M.number())", vec![("value/2", "1"), ("value/5", "x")], "value/5"),
            // The chosen variant decides between several patterns.
            (
                "M.or(M.string(), M.arrayOf(M.number()))",
                vec![("value:kind", "1"), ("value/1/0", "1"), ("value/1/4", "x")],
                "value/1/4",
            ),
            ("M.or(M.string(), M.number())", vec![("value:kind", "1"), ("value/1", "x")], "value/1"),
            // A duplicate is reported at its second occurrence.
            ("M.setOf(M.string())", vec![("value/0", "a"), ("value/3", "b"), ("value/7", "a")], "value/7"),
            (
                "M.mapOf(M.string(), M.string())",
                vec![
                    ("value/1/key", "k"),
                    ("value/1/value", "x"),
                    ("value/2/key", "k"),
                    ("value/2/value", "y"),
                ],
                "value/2/key",
            ),
            ("M.opt(M.number())", vec![("value:given", "yes"), ("value", "x")], "value"),
            (
                "M.recordOf(M.string(), M.number())",
                vec![("value/4/key", "k"), ("value/4/value", "x")],
                "value/4/value",
            ),
            // A mismatch of a name is reported at the name.
            (
                "M.recordOf(M.or('a', 'b'), M.number())",
                vec![("value/4/key", "k"), ("value/4/value", "1")],
                "value/4/key",
            ),
            (
                "M.and(M.recordOf(M.string(), M.number()), M.recordOf('a', M.any()))",
                vec![("value/4/key", "k"), ("value/4/value", "1")],
                "value/4/key",
            ),
            // Entries after the fields of a record have rows of their own, with any numbers.
            (
                SPLIT,
                vec![
                    ("value/a", "x"),
                    ("value/z", "y"),
                    ("value:rest/0/key", "k"),
                    ("value:rest/0/value", "zz"),
                ],
                "value:rest/0/value",
            ),
            (
                SPLIT,
                vec![
                    ("value/a", "x"),
                    ("value/z", "y"),
                    ("value:rest/0/key", "k"),
                    ("value:rest/0/value", "1"),
                    ("value:rest/5/key", "l"),
                ],
                "value:rest/5/value",
            ),
            (
                SPLIT,
                vec![
                    ("value/a", "x"),
                    ("value/z", "y"),
                    ("value:rest/3/key", "z"),
                    ("value:rest/3/value", "1"),
                ],
                "value:rest/3/key",
            ),
            (
                "M.splitRecord({ a: M.string() })",
                vec![("value/a", "x"), ("value:rest/2/key", "k"), ("value:rest/2/value:given", "yes")],
                "value:rest/2/value",
            ),
            (
                "M.splitArray([M.string()], [], M.arrayOf(M.number()))",
                vec![("value/0", "x"), ("value:rest/0", "1"), ("value:rest/4", "zz")],
                "value:rest/4",
            ),
            (
                "M.splitArray([M.string()], [], M.arrayOf(M.number()))",
                vec![("value/0", "x"), ("value:rest/3", "zz")],
                "value:rest/3",
            ),
            (
                "M.splitArray([M.string()], [], M.arrayOf([M.number()]))",
                vec![("value/0", "x"), ("value:rest/1/0", "1"), ("value:rest/3:given", "yes")],
                "value:rest/3/0",
            ),
            (
                "M.and(M.tagged('t', M.arrayOf(M.any())), M.tagged('t', M.arrayOf(M.number())))",
                vec![("value/payload/7:kind", "0"), ("value/payload/7/0", "x")],
                "value/payload/7/0",
            ),
            // If a mismatch names no side of a map's row, it is reported at the key.
            (
                "M.mapOf(M.string(), M.number())",
                vec![("value/4/key", "k"), ("value/4/key", "x")],
                "value/4/key",
            ),
            ("[M.number(), M.string()]", vec![("value/0", "1")], "value/1"),
        ] {
            let pattern = Pattern::parse(pattern).unwrap();
            let pairs: Vec<_> = pairs.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect();
            let mismatch = pattern.read_form(&pairs).unwrap_err();
            let place = mismatch_place(&pattern.controls(), "value", &FormValues::sent(&pairs), &mismatch);
            assert_eq!(place, expected, "{mismatch:?}");
        }
    }

    #[test]
    fn controls_are_found_by_their_places() {
        for (pattern, place, asks) in [
            ("M.number()", "value", Some("a number")),
            ("{ a: { 'b/c': M.number() } }", "value/a/b~1c", Some("a number")),
            ("{ a: M.opt(M.remotable('X')) }", "value/a", Some("a capability (X)")),
            ("M.arrayOf(M.remotable('X'))", "value/17", Some("a capability (X)")),
            ("M.or(M.string(), M.remotable('X'))", "value/1", Some("a capability (X)")),
            ("M.mapOf(M.string(), M.remotable('X'))", "value/3/value", Some("a capability (X)")),
            ("M.mapOf(M.string(), M.remotable('X'))", "value/3/key", Some("text")),
            ("M.recordOf(M.string(), M.nat())", "value/3/key", Some("text (at most 100 characters)")),
            ("M.recordOf(M.or('a', 'b'), M.nat())", "value/3/key", Some("one of \"a\" or \"b\"")),
            ("M.recordOf(M.refine('date'), M.nat())", "value/3/key", Some("a date (YYYY-MM-DD)")),
            (
                "M.splitRecord({}, {}, M.recordOf(M.string(), M.nat()))",
                "value:rest/0/value",
                Some("a whole number, 0 or more"),
            ),
            ("M.number()", "value/0", None),
            ("{ a: M.number() }", "value/b", None),
            ("M.or(M.string(), M.number())", "value/9", None),
            ("M.string()", "valued", None),
            ("M.string()", "", None),
        ] {
            let control = Pattern::parse(pattern).unwrap().controls();
            let found = control_at(&control, "value", place).map(|found| found.asks.as_str());
            assert_eq!(found, asks, "{pattern} {place}");
        }
    }

    #[test]
    fn identifiers_are_plain_and_differ() {
        let places = ["f0", "f0/a", "f0:a", "f0/a b", "f0/a_20_b", "f0/ä", "f0/\u{202E}"];
        let ids: std::collections::BTreeSet<String> = places.iter().map(|place| id(place)).collect();
        assert_eq!(ids.len(), places.len());
        assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))));
    }
}
