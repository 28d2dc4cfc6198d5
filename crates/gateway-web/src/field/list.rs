//! Controls with parts: rows, pairs and groups.
//!
//! The buttons that add, move or remove a row send the whole form, and get back the changed form. This works without
//! scripts, and the script uses the same requests.

use maud::{Markup, html};
use passable::{Choice, Control, Widget};

use super::draw::{FormRenderer, PlacedControl, button};
use super::form_values::ROW;
use super::place::{id, sides};
use crate::page::parts;

impl FormRenderer<'_> {
    /// Returns the parts of a control with rows, pairs or a group.
    pub(super) fn listed(&self, spot: &PlacedControl<'_>) -> Markup {
        let place = spot.place;
        match &spot.control.widget {
            Widget::Rows { item, max, distinct } => {
                let list = List {
                    max: *max,
                    // An optional item has its own field that says whether it exists.
                    marked: !matches!(item.widget, Widget::Optional { .. }),
                    ordered: !distinct,
                    splits: matches!(item.widget, Widget::Line { multiline: false, secret: false, .. }),
                    other: None,
                };
                self.rows(spot, &list, |place, number| {
                    let title = format!("{number} of {}", spot.said);
                    self.row(item, place, html! { (number) }, &title)
                })
            }
            Widget::Pairs { key, value, max, of } => {
                let (left, right) = sides(of);
                let list = List { max: *max, marked: true, ordered: false, splits: false, other: None };
                self.rows(spot, &list, |place, _| {
                    html! {
                        (self.part(key, &format!("{place}/key"), html! { (left) }, left))
                        (self.part(value, &format!("{place}/value"), html! { (right) }, right))
                    }
                })
            }
            Widget::Group { fields, rest, .. } => {
                let parts = html! {
                    @for field in fields { (self.named(&field.name, field.required, &field.control, place)) }
                    @if let Some(rest) = rest {
                        @let below = format!("{place}:rest");
                        details open[self.typed.has(&below)] {
                            summary { "Further ones" }
                            (self.part(rest, &below, html! { "Further ones" }, "Further ones"))
                        }
                    }
                };
                self.folded(place, "Its parts", parts)
            }
            _ => html! {},
        }
    }

    /// Returns a checkbox for each choice, or rows, if the user wants another order or repeats a choice.
    pub(super) fn checks(&self, spot: &PlacedControl<'_>, options: &[Choice]) -> Markup {
        let place = spot.place;
        let other = |what: &str, said: &str| {
            html! {
                button.plain name=(ROW) value={ (what) " " (place) } formnovalidate
                    aria-label={ (said) ": " (spot.said) } { (said) }
            }
        };
        if self.typed.rows(place).is_empty() {
            let typed = self.typed.texts(place);
            return html! {
                div.list id={ (id(place)) "-items" } data-place=(place) {
                    @for one in options {
                        (button("checkbox", place, &one.sent, typed.contains(&one.sent), parts::word(&one.label)))
                    }
                    (other("ordered", "Choose order, or repeat"))
                }
            };
        }
        let widget = Widget::Menu { options: options.to_vec() };
        let item = Control { asks: String::new(), checks: vec![], widget };
        let list = List {
            max: MAX_LEN,
            marked: true,
            ordered: true,
            splits: false,
            other: Some(other("boxes", "Each at most once")),
        };
        self.rows(spot, &list, |place, number| {
            let title = format!("{number} of {}", spot.said);
            self.part(&item, place, html! { (number) }, &title)
        })
    }

    fn rows(&self, spot: &PlacedControl<'_>, list: &List, row: impl Fn(&str, usize) -> Markup) -> Markup {
        let place = spot.place;
        let rows = self.typed.rows(place);
        let count = rows.len();
        let shown = html! {
            div.list id={ (id(place)) "-items" } data-place=(place) data-split[list.splits] data-ordered[list.ordered] {
                ol.items {
                    @for (at, number) in rows.into_iter().enumerate() {
                        @let below = format!("{place}/{number}");
                        @let fresh = self.typed.is_fresh(&below);
                        // The row that was just moved gets the focus, even without a script.
                        li.item id={ (id(&below)) "-item" } data-row=(below) tabindex="-1" autofocus[fresh] {
                            // The marker makes even an empty row a row.
                            @if list.marked { input type="hidden" name={ (below) ":given" } value="yes"; }
                            (row(&below, at + 1))
                            div.buttons { (handles(spot, list, &below, (at, count))) }
                        }
                    }
                }
                @if (count as f64) < list.max {
                    button.plain name=(ROW) value={ "more " (place) } formnovalidate
                        aria-label={ "Add a row to " (spot.said) } { "Add a row" }
                }
                @if let Some(other) = &list.other { " " (other) }
            }
        };
        self.folded(place, "Its rows", shown)
    }

    /// Returns a part of the form. A deeply nested part is folded, unless it has content or an error.
    fn folded(&self, place: &str, said: &str, body: Markup) -> Markup {
        let is_deep = place.matches('/').count() >= FOLD_DEPTH;
        let is_open = self.typed.has(place) || self.wrong.keys().any(|wrong| wrong.starts_with(place));
        html! {
            @if is_deep { details open[is_open] { summary { (said) } (body) } } @else { (body) }
        }
    }
}

/// The maximum length of a list in Endo.
const MAX_LEN: f64 = 10_000.0;

/// The depth from which groups are folded.
const FOLD_DEPTH: usize = 3;

/// The properties of a list of rows.
struct List {
    /// The maximum number of rows.
    max: f64,
    /// Whether each row has a hidden field that marks it as existing.
    marked: bool,
    /// Whether the order of the rows matters.
    ordered: bool,
    /// Whether the lines of a text can be split into rows.
    splits: bool,
    /// The button that switches to another form of input, if there is one.
    other: Option<Markup>,
}

/// Returns the buttons of a row.
fn handles(spot: &PlacedControl<'_>, list: &List, below: &str, (at, count): (usize, usize)) -> Markup {
    let number = at + 1;
    let handle = |what: &str, sign: &str, said: String, ends: bool| {
        html! {
            button.plain id={ (id(below)) "--" (what) } name=(ROW) value={ (what) " " (below) } formnovalidate
                aria-disabled=[ends.then_some("true")] aria-label=(said) { (sign) }
        }
    };
    html! {
        @if list.ordered && count > 1 {
            (handle("up", "↑", format!("Move row {number} of {} up", spot.said), at == 0))
            (handle("down", "↓", format!("Move row {number} of {} down", spot.said), number == count))
        }
        (handle("less", "Remove", format!("Remove row {number} of {}", spot.said), false))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kernel::{Pattern, Value};

    use super::super::counters::Counters;
    use super::super::form_values::FormValues;
    use super::*;

    /// Returns the pairs that a browser sends for untouched markup.
    fn sent(markup: &str) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        let attribute = |tag: &str, name: &str| {
            let from = tag.find(&format!(" {name}=\""))? + name.len() + 3;
            let text = &tag[from..];
            Some(unescape(&text[..text.find('"')?]))
        };
        let (mut rest, mut select): (&str, Option<String>) = (markup, None);
        let mut had = false;
        while let Some(at) = rest.find('<') {
            rest = &rest[at + 1..];
            let end = rest.find('>').unwrap();
            let tag = &rest[..end];
            let after = &rest[end + 1..];
            let has = |word: &str| tag.split_whitespace().any(|part| part == word);
            if tag.starts_with("input") {
                let kind = attribute(tag, "type").unwrap();
                let ticked = !matches!(kind.as_str(), "radio" | "checkbox") || has("checked");
                if let (Some(name), true) = (attribute(tag, "name"), ticked) {
                    pairs.push((name, attribute(tag, "value").unwrap_or_default()));
                }
            } else if tag.starts_with("textarea") {
                let text = unescape(&after[..after.find("</textarea").unwrap()]);
                let text = text.strip_prefix('\n').unwrap_or(&text).replace('\n', "\r\n");
                pairs.push((attribute(tag, "name").unwrap(), text));
            } else if tag.starts_with("select") {
                (select, had) = (attribute(tag, "name"), false);
            } else if let (true, Some(name)) = (tag.starts_with("option"), &select) {
                if has("selected") && !has("disabled") && !had {
                    had = true;
                    pairs.push((name.clone(), attribute(tag, "value").unwrap()));
                }
            } else if tag == "/select" {
                select = None;
            }
            rest = after;
        }
        pairs
    }

    fn unescape(text: &str) -> String {
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
    }

    fn drawn(pattern: &Pattern, value: &Value) -> String {
        let mut typed = FormValues::default();
        typed.fill("f0", pattern.write_form(value));
        let wrong = BTreeMap::new();
        let tallies = Counters::new();
        let form =
            FormRenderer { typed: &typed, picks: &[], wrong: &wrong, tallies: &tallies, narrows: true };
        let control = pattern.controls();
        let spot = PlacedControl {
            control: &control,
            place: "f0",
            title: html! { "x" },
            said: "x",
            help: None,
            preset: true,
        };
        form.draw(&spot).into_string()
    }

    #[test]
    fn drawn_form_sends_the_filled_value() {
        for (pattern, value) in [
            ("M.string()", r#""a \"b\" <c> & \n d""#),
            ("M.string({ stringLengthLimit: 10 })", r#""x""#),
            ("M.number()", "1.5"),
            ("M.number()", "NaN"),
            ("M.bigint()", "-12345678901234567890n"),
            ("M.boolean()", "true"),
            ("M.boolean()", "false"),
            ("M.null()", "null"),
            ("M.or('a', 'b')", r#""b""#),
            ("M.or(1, 'b', null)", "null"),
            ("M.or('a','b','c','d','e','f')", r#""f""#),
            ("M.arrayOf(M.or('a', 'b', 'c'))", r#"["a", "c"]"#),
            ("M.arrayOf(M.or('a', 'b', 'c'))", "[]"),
            ("M.arrayOf(M.or('a', 'b', 'c'))", r#"["c", "a", "c"]"#),
            ("M.arrayOf(M.or(1, 'b', 2, 3, 4, 5, 6))", r#"["b", 1]"#),
            ("M.opt(M.string())", "undefined"),
            ("M.opt(M.string())", r#""""#),
            ("M.or(M.number(), M.arrayOf(M.string()))", r#"["x", ""]"#),
            ("M.arrayOf(M.arrayOf(M.number()))", "[[], [1], [2, 3]]"),
            ("M.arrayOf(M.opt(M.string()))", r#"[undefined, "a"]"#),
            ("M.setOf(M.string())", "[]"),
            (
                "{ name: M.string(), 'a/b:~': M.opt(M.number()), c: M.boolean() }",
                r#"{ name: "n", "a/b:~": 4, c: true }"#,
            ),
            ("{ name: M.string(), 'a/b:~': M.opt(M.number()) }", r#"{ name: "n" }"#),
            ("[M.string(), M.nat()]", r#"["a", 3n]"#),
            ("M.splitRecord({ a: M.string() }, { b: M.number() })", r#"{ a: "1", b: 2, more: "x" }"#),
            ("M.splitRecord({ a: M.string() }, { b: M.number() })", r#"{ a: "1" }"#),
            ("M.recordOf(M.string(), M.number())", r#"{ x: 1, y: 2 }"#),
            ("M.any()", r#"{ a: [1, "x", null] }"#),
            ("M.any()", r#""text""#),
            ("M.scalar()", "true"),
            ("M.byteArray()", "undefined"),
        ] {
            let pattern = Pattern::parse(pattern).unwrap_or_else(|e| panic!("{pattern}: {e}"));
            let value = Value::parse(value).unwrap();
            if !pattern.matches(&value) {
                continue;
            }
            let markup = drawn(&pattern, &value);
            let pairs = super::super::form_values::of_field(&sent(&markup), "f0");
            let read = pattern.read_form(&pairs);
            let read = read
                .unwrap_or_else(|e| panic!("{}: {} of {pairs:?}\n{markup}", pattern.to_text(), e.teach()));
            // An omitted part stays omitted.
            assert_eq!(pattern.write_form(&read), pattern.write_form(&value), "{markup}");
        }
    }

    #[test]
    fn secrets_are_never_drawn() {
        let pattern = Pattern::parse("{ a: M.string() }").unwrap();
        let mut control = pattern.controls();
        let Widget::Group { fields, .. } = &mut control.widget else { panic!("a group") };
        let Widget::Line { secret, .. } = &mut fields[0].control.widget else { panic!("a line") };
        *secret = true;
        let mut typed = FormValues::sent(&vec![("f0/a".to_owned(), "hunter2".to_owned())]);
        let wrong = BTreeMap::new();
        let spot = |control| PlacedControl {
            control,
            place: "f0",
            title: html! {},
            said: "",
            help: None,
            preset: false,
        };
        let drawn = |typed: &FormValues| {
            FormRenderer { typed, picks: &[], wrong: &wrong, tallies: &Counters::new(), narrows: true }
                .draw(&spot(&control))
                .into_string()
        };
        assert!(!drawn(&typed).contains("hunter2"));
        typed.forget_secrets(&control, "f0");
        assert_eq!(typed, FormValues::default());
    }

    /// Checks that a secret is forgotten, but not the marker that the row or part exists.
    #[test]
    fn forgotten_secret_keeps_its_place() {
        for (pattern, sent, kept) in [
            ("M.opt(M.refine('secret'))", &["f0", "f0:given"][..], &["f0:given"][..]),
            (
                "M.arrayOf(M.refine('secret'))",
                &["f0/0", "f0/0:given", "f0/4:given"],
                &["f0/0:given", "f0/4:given"],
            ),
            (
                "{ a: M.opt(M.refine('secret')), b: M.string() }",
                &["f0/a", "f0/a:given", "f0/b"],
                &["f0/a:given", "f0/b"],
            ),
            ("M.or(M.number(), M.refine('secret'))", &["f0/1", "f0:kind"], &["f0:kind"]),
        ] {
            let typed = |names: &[&str]| {
                FormValues::sent(&names.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect())
            };
            let control = Pattern::parse(pattern).unwrap().controls();
            let mut sent = typed(sent);
            sent.forget_secrets(&control, "f0");
            assert_eq!(sent, typed(kept), "{pattern}");
        }
    }
}
