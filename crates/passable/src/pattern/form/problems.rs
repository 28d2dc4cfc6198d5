//! The list of all problems of a form. For a value with parts, these are the problems of each part.
//!
//! Only [`super::read`] decides the value of a form. This module reads the parts of a rejected form one by one, so
//! that the user sees all problems at once. Problems earlier in the form do not hide those of the part that the user
//! has just written.

use super::read::{may_be_left_out, read, required};
use super::tree::{EMPTY_PLACE, Place, number};
use crate::pattern::layout::{Absent, Layout, Part, layout};
use crate::pattern::{Label, Mismatch, Pattern, Resolve};
use crate::text::Text;
use crate::value::Reference;

/// Returns the problems at a place that must have a value. The list is empty if there are none.
pub(super) fn all<C: Reference>(
    pattern: &Pattern<C>,
    place: &Place<'_>,
    resolve: &mut Resolve<'_, C>,
) -> Vec<Mismatch> {
    let found = in_parts(pattern, place, resolve);
    match found.is_empty() {
        true => {
            let whole = required(pattern, place, resolve).and_then(|value| pattern.check(&value));
            whole.err().into_iter().collect()
        }
        false => found,
    }
}

fn in_parts<C: Reference>(
    pattern: &Pattern<C>,
    place: &Place<'_>,
    resolve: &mut Resolve<'_, C>,
) -> Vec<Mismatch> {
    if place.mark("json").is_some() || place.is_left_out().unwrap_or(true) {
        return Vec::new();
    }
    let rows = || place.rows().unwrap_or_default().into_iter().enumerate();
    let mut found = Vec::new();
    match layout(pattern) {
        Layout::Rows { item, .. } => {
            for (at, row) in rows() {
                found.extend(within(all(&item, row, resolve), Label::index(at)));
            }
        }
        Layout::Pairs { key, value, .. } => {
            for (at, row) in rows() {
                for (name, side) in [("key", &key), ("value", &value)] {
                    let own = row.parts.get(name).unwrap_or(&EMPTY_PLACE);
                    let wrong = within(all(side, own, resolve), Label::name(&Text::from(name)));
                    found.extend(within(wrong, Label::index(at)));
                }
            }
        }
        Layout::Group { parts, rest, of } => {
            for (at, part) in parts.iter().enumerate() {
                let label = if of == "list" { Label::index(at) } else { Label::name(&part.name) };
                found.extend(within(of_part(part, place, resolve), label));
            }
            if let (Some(rest), Some(further)) = (&rest, place.mark("rest")) {
                let before = (of == "list").then_some(parts.len());
                found.extend(all(rest, further, resolve).into_iter().map(|one| one.following(before)));
            }
        }
        Layout::Optional(inner) if !place.is_empty() => found = in_parts(&inner, place, resolve),
        Layout::Variants(variants) => {
            let kind = place.mark("kind").and_then(|kind| kind.texts.first());
            let chosen = kind.and_then(|kind| Some((kind, variants.get(number(kind)? as usize)?)));
            if let Some((kind, (_, Some(part)))) = chosen {
                found = all(part, place.parts.get(kind).unwrap_or(&EMPTY_PLACE), resolve);
            }
        }
        _ => {}
    }
    found
}

fn of_part<C: Reference>(part: &Part<C>, place: &Place<'_>, resolve: &mut Resolve<'_, C>) -> Vec<Mismatch> {
    let own = part.name.as_str().and_then(|name| place.parts.get(name));
    let may_lack = part.absent != Absent::Missing || may_be_left_out(&part.pattern);
    match own {
        None if may_lack => Vec::new(),
        Some(own) if may_lack && !own.is_given() && matches!(read(&part.pattern, own, resolve), Ok(None)) => {
            Vec::new()
        }
        own => all(&part.pattern, own.unwrap_or(&EMPTY_PLACE), resolve),
    }
}

fn within(found: impl IntoIterator<Item = Mismatch>, label: Label) -> impl Iterator<Item = Mismatch> {
    found.into_iter().map(move |one| one.within(label.clone()))
}
