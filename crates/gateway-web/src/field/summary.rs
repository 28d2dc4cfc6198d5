//! The list of all errors in a form. It is shown above the form, and each error is a link to its place.

use std::collections::BTreeMap;

use maud::{Markup, html};
use passable::{Control, visible_line};

use super::form_values::FormValues;
use super::live_check::is_below;
use super::place::{id, way};

/// One field of the form.
pub struct SummaryPart<'a> {
    /// The label of the field.
    pub title: Markup,
    /// The control of the field.
    pub control: &'a Control,
    /// The place of the field.
    pub prefix: &'a str,
}

/// Returns the errors in the order of the page. Each names the path to its part.
pub fn listed(parts: &[SummaryPart<'_>], typed: &FormValues, wrong: &BTreeMap<String, String>) -> Markup {
    let mut all = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        for (place, why) in wrong.iter().filter(|(place, _)| is_below(place, part.prefix)) {
            let way = way(part.control, part.prefix, place, typed);
            let order: Vec<usize> = std::iter::once(at).chain(way.iter().map(|(at, _)| *at)).collect();
            let steps: Vec<Markup> = way.into_iter().filter_map(|(_, said)| said).collect();
            let line = html! {
                li {
                    a href={ "#" (id(place)) } {
                        (part.title) @for step in &steps { ", " (step) } ": " (visible_line(why))
                    }
                }
            };
            all.push((order, line));
        }
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    html! { ul { @for (_, line) in &all { (line) } } }
}

#[cfg(test)]
mod tests {
    use kernel::Pattern;

    use super::*;

    #[test]
    fn errors_are_listed_with_their_part_in_page_order() {
        let pattern = "{ where: { town: M.string(), zip: M.nat() }, marks: M.arrayOf(M.number()), \
                       weights: M.recordOf(M.string(), M.opt(M.nat())), either: M.or(M.string(), [M.nat()]), \
                       more: M.splitRecord({ a: M.nat() }, {}, M.recordOf(M.string(), M.nat())) }";
        let control = Pattern::parse(pattern).unwrap().controls();
        let other = Pattern::parse("M.number()").unwrap().controls();
        let sent = ["f0/marks/2", "f0/marks/9", "f0/marks/10", "f0/weights/4/key", "f0/more:rest/7/key"];
        let typed = FormValues::sent(&sent.iter().map(|name| ((*name).to_owned(), String::new())).collect());
        let places = [
            "f1",
            "f0/marks/10",
            "f0/marks/2",
            "f0/marks",
            "f0/weights/4/value",
            "f0/weights/4/key",
            "f0/where/zip",
            "f0/either/1/0",
            "f0/more:rest/7/value",
            "f0/more/a",
        ];
        let wrong = places.iter().map(|place| ((*place).to_owned(), "bad".to_owned())).collect();
        let parts = [
            SummaryPart { title: html! { "First" }, control: &control, prefix: "f0" },
            SummaryPart { title: html! { "Second" }, control: &other, prefix: "f1" },
        ];
        let drawn = listed(&parts, &typed, &wrong).into_string();
        let mut lines = Vec::new();
        for line in drawn.split("<li>").skip(1) {
            let mut text = String::new();
            let mut in_tag = false;
            for letter in line.chars() {
                match letter {
                    '<' => in_tag = true,
                    '>' => in_tag = false,
                    letter if !in_tag => text.push(letter),
                    _ => {}
                }
            }
            lines.push(text);
        }
        assert_eq!(
            lines,
            [
                "First, either, 0: bad",
                "First, marks: bad",
                "First, marks, row 1: bad",
                "First, marks, row 3: bad",
                "First, more, a: bad",
                "First, more, further ones, row 1, value: bad",
                "First, weights, row 1, name: bad",
                "First, weights, row 1, value: bad",
                "First, where, zip: bad",
                "Second: bad",
            ]
        );
        assert!(drawn.contains("href=\"#f0-where-zip\""), "{drawn}");
    }
}
