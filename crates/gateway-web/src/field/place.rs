//! From where a value does not fit to the place of a form where that is said, and from places to identifiers.

use passable::{Control, Mismatch, Segment, Widget};

use super::typed::{Typed, step};

/// The place at which a mismatch is shown: the control for the part of the value that does not fit, as far as there
/// is one.
pub fn of(control: &Control, place: &str, typed: &Typed, mismatch: &Mismatch) -> String {
    let steps: Vec<&Segment> = mismatch.steps().collect();
    find(control, place, typed, &steps)
}

fn find(control: &Control, place: &str, typed: &Typed, steps: &[&Segment]) -> String {
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
        Widget::Rows { item, .. } => match steps.split_first() {
            Some((Segment::Index(at), rest)) => match typed.rows(place).into_iter().nth(*at) {
                Some(row) => find(item, &format!("{place}/{row}"), typed, rest),
                None => here(),
            },
            _ => here(),
        },
        // In rows, if there are any; boxes are told of together.
        Widget::Checks { .. } => match steps.first() {
            Some(Segment::Index(at)) => match typed.rows(place).into_iter().nth(*at) {
                Some(row) => format!("{place}/{row}"),
                None => here(),
            },
            _ => here(),
        },
        Widget::Pairs { key, value, .. } => pair(key, value, place, typed, steps),
        Widget::Group { fields, rest, of } => {
            let Some((first, further)) = steps.split_first() else { return here() };
            let field = match first {
                Segment::Index(at) => fields.get(*at),
                Segment::Name(name) => fields.iter().find(|field| name.as_str() == Some(&field.name)),
            };
            match (field, rest, first) {
                (Some(field), ..) => {
                    find(&field.control, &format!("{place}/{}", step(&field.name)), typed, further)
                }
                // What comes after the elements of a list counts on from them.
                (None, Some(rest), Segment::Index(at)) if *of == "list" => {
                    let at = Segment::Index(at.saturating_sub(fields.len()));
                    let steps: Vec<&Segment> = std::iter::once(&at).chain(further.iter().copied()).collect();
                    find(rest, &format!("{place}:rest"), typed, &steps)
                }
                (None, Some(rest), _) => find(rest, &format!("{place}:rest"), typed, steps),
                (None, None, _) => here(),
            }
        }
        _ => here(),
    }
}

fn pair(key: &Control, value: &Control, place: &str, typed: &Typed, steps: &[&Segment]) -> String {
    let Some((first, rest)) = steps.split_first() else { return place.to_owned() };
    match first {
        Segment::Index(at) => {
            let Some(row) = typed.rows(place).into_iter().nth(*at) else { return place.to_owned() };
            match rest.split_first() {
                Some((Segment::Name(side), rest)) if side.as_str() == Some("key") => {
                    find(key, &format!("{place}/{row}/key"), typed, rest)
                }
                Some((Segment::Name(side), rest)) if side.as_str() == Some("value") => {
                    find(value, &format!("{place}/{row}/value"), typed, rest)
                }
                _ => format!("{place}/{row}/key"),
            }
        }
        // In a record, what was checked is found under its name.
        Segment::Name(name) => {
            let is_it = |row: &u32| typed.text(&format!("{place}/{row}/key")) == name.as_str();
            match typed.rows(place).into_iter().find(is_it) {
                Some(row) => find(value, &format!("{place}/{row}/value"), typed, rest),
                None => place.to_owned(),
            }
        }
    }
}

/// The control at a place, if the form has one there.
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

/// A place as an identifier: letters, digits, `-` and `_`, and no two places alike.
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

    #[test]
    fn what_does_not_fit_is_said_where_it_was_typed() {
        for (pattern, pairs, expected) in [
            ("M.number()", vec![("value", "x")], "value"),
            ("{ a: { b: M.number() } }", vec![("value/a/b", "x")], "value/a/b"),
            ("{ a: M.number() }", vec![], "value/a"),
            ("{ 'x/y': M.number() }", vec![("value/x~1y", "?")], "value/x~1y"),
            ("M.arrayOf(M.number())", vec![("value/2", "1"), ("value/5", "x")], "value/5"),
            // Whoever has chosen a variant has said which of several patterns is meant.
            (
                "M.or(M.string(), M.arrayOf(M.number()))",
                vec![("value:kind", "1"), ("value/1/0", "1"), ("value/1/4", "x")],
                "value/1/4",
            ),
            ("M.or(M.string(), M.number())", vec![("value:kind", "1"), ("value/1", "x")], "value/1"),
            // What stands twice is wrong where it stands for the second time.
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
            // Nor does it know which side of a row of a map.
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
            let place = of(&pattern.controls(), "value", &Typed::sent(&pairs), &mismatch);
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
            (
                "M.splitRecord({}, {}, M.recordOf(M.string(), M.nat()))",
                "value:rest/0/value",
                Some("a big integer (not negative)"),
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
