//! The rendering of controls as HTML.
//!
//! No control has the browser's own `required` attribute, because the form also contains branches that were not
//! chosen. The code that reads the form reports missing values.

use std::collections::BTreeMap;

use control::view::PickRow;
use maud::{Markup, html};
use passable::{Choice, Control, NoRef, Symbol, Untrusted, Value, Variant, Widget, visible_line};

use super::counters::{self, Counters};
use super::files;
use super::form_values::{FormValues, step};
use super::pick::Picker;
use super::place::id;
use super::preview::input_preview;
use super::slider::slider;
use crate::page::parts;

/// The maximum number of choices for buttons. For more, a menu is drawn.
const MAX_BUTTONS: usize = 5;

/// The maximum number of choices for a menu. For more, the user types to search.
const MAX_MENU_CHOICES: usize = 20;

/// The maximum length of a text that is entered in a single-line field. A text that may be longer gets a text area,
/// which grows with its content. A single-line field would silently drop line ends.
const MAX_LINE_LEN: f64 = 200.0;

/// The data with which all fields of a form are drawn.
pub struct FormRenderer<'a> {
    /// The typed values.
    pub typed: &'a FormValues,
    /// The objects that can be picked.
    pub picks: &'a [PickRow],
    /// The errors, by place.
    pub wrong: &'a BTreeMap<String, String>,
    /// The counters, by place.
    pub tallies: &'a Counters,
    /// Whether the pickers offer to make a narrower capability.
    pub narrows: bool,
}

/// A control, its place and its descriptions.
pub struct PlacedControl<'a> {
    /// The control.
    pub control: &'a Control,
    /// The place of the control, which is the name of its field.
    pub place: &'a str,
    /// The label of the control.
    pub title: Markup,
    /// The label as plain text for assistive technology, which is safe to show.
    pub said: &'a str,
    /// A further description from the author of the form.
    pub help: Option<Markup>,
    /// Whether the field has a preset value that need not be changed.
    pub preset: bool,
}

/// The body of a control, with the style of the frame around its label and its error.
struct ControlFrame {
    /// Whether the control has several inputs, so that its label is a legend.
    several: bool,
    class: &'static str,
    body: Markup,
}

impl FormRenderer<'_> {
    /// Returns the markup of a control, with its label, description, error and counters.
    pub fn draw(&self, spot: &PlacedControl<'_>) -> Markup {
        let place = spot.place;
        let json = format!("{place}:json");
        if self.typed.text(&json).is_some() {
            let body = self.json(spot, &json, true);
            return self.frame(spot, &ControlFrame { several: false, class: "field", body });
        }
        let framed = match &spot.control.widget {
            Widget::Optional { inner } => return self.optional(spot, inner),
            Widget::Line { max_length, multiline, secret, format } => {
                let lines = if *multiline { Lines::Several } else { Lines::Any };
                let line = TextField { most: *max_length, lines, secret: *secret, format: *format };
                single(self.line(spot, &line))
            }
            Widget::Spin { min, max, whole } => single(html! {
                (self.number(place, *whole))
                (slider(spot, min.as_ref(), max.as_ref(), *whole, self.typed.text(place)))
            }),
            Widget::Digits { .. } => single(self.number(place, true)),
            Widget::Toggle => self.toggle(spot),
            Widget::Menu { options } => self.menu(place, options),
            Widget::Checks { options } => several("field", self.checks(spot, options)),
            Widget::Variants { variants } => several("field variants", self.variants(place, variants)),
            Widget::Pick { label, pending, settled } => {
                single(self.pick(spot, label.as_deref(), (*pending, *settled)))
            }
            Widget::Rows { .. } | Widget::Pairs { .. } | Widget::Group { .. } => {
                several("field", self.listed(spot))
            }
            Widget::File { max_bytes } => single(self.file(spot, *max_bytes)),
            Widget::Note { value } => several("field", html! { p { (parts::word(&fixed(value))) } }),
            Widget::Json { pending } => single(self.json(spot, place, *pending)),
            Widget::PatternText => {
                let text = self.typed.text(place).unwrap_or("");
                single(
                    html! { (self.area(place, place, text, None, false)) (input_preview(spot.control, place, text, &[])) },
                )
            }
        };
        self.frame(spot, &framed)
    }

    /// Returns a control that is one of several rows. A text here is a single line, because several lines become
    /// several rows.
    pub(super) fn row(&self, control: &Control, place: &str, title: Markup, said: &str) -> Markup {
        let spot = PlacedControl { control, place, title, said, help: None, preset: false };
        match &control.widget {
            Widget::Line { max_length, multiline: false, secret: false, format }
                if self.typed.text(&format!("{place}:json")).is_none() =>
            {
                let line = TextField { most: *max_length, lines: Lines::One, secret: false, format: *format };
                self.frame(&spot, &single(self.line(&spot, &line)))
            }
            _ => self.draw(&spot),
        }
    }

    /// Returns the element for the error at a place.
    pub fn error(&self, place: &str) -> Markup {
        let text = self.wrong.get(place).map_or("", String::as_str);
        html! {
            p.error id={ (id(place)) "-error" } data-error-of=(place) role="status" { (visible_line(text)) }
        }
    }

    fn frame(&self, spot: &PlacedControl<'_>, framed: &ControlFrame) -> Markup {
        let own = id(spot.place);
        let wants = html! {
            p.note id={ (own) "-wants" } {
                (wants(spot.control))
                @if let Some(help) = &spot.help { ". " (help) }
            }
        };
        let tally = html! {
            @if let Some(tallies) = self.tallies.get(spot.place) { (counters::render_counters(spot.place, tallies)) }
        };
        html! {
            @if framed.several {
                fieldset class=(framed.class) id=(own) tabindex="-1" aria-describedby={ (own) "-wants " (own) "-error" } {
                    legend { (spot.title) }
                    (wants) (self.error(spot.place)) (framed.body) (tally)
                }
            } @else {
                div class=(framed.class) {
                    label for=(own) { (spot.title) }
                    // A picker's list opens below its field. The error is above the field, where the list does not
                    // cover it.
                    @if matches!(spot.control.widget, Widget::Pick { .. }) {
                        (wants) (self.error(spot.place)) (framed.body)
                    } @else { (wants) (framed.body) (self.error(spot.place)) (tally) }
                }
            }
        }
    }

    /// Returns the value of the `aria-invalid` attribute, if the field has an error.
    fn is_wrong(&self, place: &str) -> Option<&'static str> {
        self.wrong.contains_key(place).then_some("true")
    }

    pub(super) fn area(&self, place: &str, name: &str, text: &str, most: Option<u64>, grows: bool) -> Markup {
        let own = id(place);
        html! {
            textarea.grows[grows] id=(own) name=(name) rows=(if grows { "1" } else { "4" }) data-limit=[most] spellcheck="false" aria-invalid=[self.is_wrong(place)]
                autofocus[self.typed.is_fresh(place)] data-caret=[self.typed.caret(place)]
                aria-describedby={ (own) "-wants " (own) "-error" } { "\n" (text) }
            @if most.is_some() { p.note data-counter-of=(own) role="status" {} }
        }
    }

    fn line(&self, spot: &PlacedControl<'_>, line: &TextField) -> Markup {
        let place = spot.place;
        let own = id(place);
        let text = self.typed.text(place).unwrap_or("");
        let limit = (line.most < 1e9).then_some(line.most as u64);
        let is_area = match line.lines {
            _ if line.secret => false,
            // A single-line field would drop the lines after the first.
            _ if text.contains(['\n', '\r']) => true,
            Lines::One => false,
            Lines::Any => line.format.is_none() && line.most > MAX_LINE_LEN,
            Lines::Several => true,
        };
        if is_area {
            return self.area(place, place, text, limit, line.lines != Lines::Several);
        }
        let kind = match (line.secret, line.format) {
            (true, _) => "password",
            (_, Some("date")) => "date",
            // Browsers alter the text in their own fields for addresses.
            _ => "text",
        };
        let mode = match line.format {
            Some("email") => Some("email"),
            Some("uri") => Some("url"),
            _ => None,
        };
        // The known names are suggestions. Any other name can be typed, too.
        let known: Vec<String> = match line.format {
            Some("symbol") => Symbol::WELL_KNOWN.iter().map(|name| format!("@@{name}")).collect(),
            Some("error") => ERRORS.iter().map(|name| (*name).to_owned()).collect(),
            _ => vec![],
        };
        let example = match line.format {
            Some("date-time") => Some("2026-01-31T09:30:00Z"),
            Some("symbol") => Some("@@iterator"),
            Some("error") => Some("TypeError"),
            _ => None,
        };
        // Browsers fill in known values in spite of `off`, but not in a field for a new password.
        let keep = if line.secret { "new-password" } else { "off" };
        html! {
            input id=(own) type=(kind) inputmode=[mode] name=(place) data-limit=[limit] autocomplete=(keep) spellcheck="false"
                placeholder=[example] value=[(!line.secret).then_some(text)] aria-invalid=[self.is_wrong(place)]
                list=[(!known.is_empty()).then(|| format!("{own}-list"))] data-secret[line.secret]
                aria-describedby={ (own) "-wants " (own) "-error" };
            @if line.secret {
                button.plain.by-script type="button" data-show=(own) aria-pressed="false" aria-label={ "Show " (spot.said) } {
                    "Show"
                }
                noscript { p.note {
                    "Without scripts a browser takes the ends of lines away: for a secret of several lines use "
                    code { "almoner submit" } " in a terminal."
                } }
            }
            @if !known.is_empty() {
                datalist id={ (own) "-list" } { @for name in &known { option value=(name) {} } }
            }
            @if !line.secret && limit.is_some_and(|limit| limit < 1000) { p.note data-counter-of=(own) role="status" {} }
        }
    }

    /// Returns the field for a number. To the browser, it is a text field: the browser's field for numbers has no
    /// infinity, and loses digits.
    fn number(&self, place: &str, whole: bool) -> Markup {
        let own = id(place);
        let mode = if whole { "numeric" } else { "decimal" };
        html! {
            input id=(own) type="text" inputmode=(mode) name=(place) autocomplete="off" spellcheck="false"
                value=(self.typed.text(place).unwrap_or("")) aria-invalid=[self.is_wrong(place)]
                aria-describedby={ (own) "-wants " (own) "-error" };
        }
    }

    /// Returns a checkbox if the field has a preset value. Otherwise it returns two unset radio buttons, so that the
    /// user has to say no explicitly.
    fn toggle(&self, spot: &PlacedControl<'_>) -> ControlFrame {
        let place = spot.place;
        let typed = self.typed.text(place);
        if spot.preset {
            let own = id(place);
            return single(html! {
                input type="hidden" name=(place) value="false";
                input id=(own) type="checkbox" name=(place) value="true" checked[matches!(typed, Some("true" | "on"))]
                    aria-describedby={ (own) "-wants " (own) "-error" };
            });
        }
        several(
            "field",
            html! {
                @for (text, shown) in [("true", "yes"), ("false", "no")] {
                    (button("radio", place, text, typed == Some(text), html! { (shown) }))
                }
            },
        )
    }

    fn menu(&self, place: &str, options: &[Choice]) -> ControlFrame {
        let typed = self.typed.text(place);
        let own = id(place);
        let described = format!("{own}-wants {own}-error");
        // The form must send the visible text of a choice, or its label.
        let plain = |one: &Choice| {
            let text = one.value.as_str().map(visible_line);
            (text.as_deref() == Some(&*one.sent) || one.label == one.sent)
                && visible_line(&one.sent) == one.sent
        };
        let is_text = options.iter().all(plain);
        match options.len() {
            0..=MAX_BUTTONS => several(
                "field",
                html! {
                    @for one in options {
                        (button("radio", place, &one.sent, typed == Some(&one.sent), parts::word(&one.label)))
                    }
                },
            ),
            // The form sends exactly the typed text.
            count if count > MAX_MENU_CHOICES && is_text => single(html! {
                input id=(own) type="text" name=(place) list={ (own) "-list" } autocomplete="off" spellcheck="false"
                    value=(typed.unwrap_or("")) aria-invalid=[self.is_wrong(place)] aria-describedby=(described);
                datalist id={ (own) "-list" } {
                    @for one in options { option value=(one.sent) {} }
                }
            }),
            _ => single(html! {
                select id=(own) name=(place) aria-invalid=[self.is_wrong(place)] aria-describedby=(described) {
                    option value="" disabled selected[typed.is_none()] { "choose one" }
                    @for one in options {
                        option value=(one.sent) selected[typed == Some(&one.sent)] { (visible_line(&one.label)) }
                    }
                }
            }),
        }
    }

    /// Returns all variants, each with the values that were typed into it. The style sheet shows only the chosen one.
    fn variants(&self, place: &str, variants: &[Variant]) -> Markup {
        let kind = format!("{place}:kind");
        let typed = self.typed.text(&kind);
        html! {
            @for (at, variant) in variants.iter().enumerate() {
                @let number = at.to_string();
                @let below = format!("{place}/{at}");
                div.variant {
                    (button("radio", &kind, &number, typed == Some(&number), parts::word(&variant.label)))
                    div.inner {
                        (self.draw(&PlacedControl {
                            control: &variant.control, place: &below, title: parts::word(&variant.label),
                            said: &variant.label, help: None, preset: false,
                        }))
                    }
                }
            }
        }
    }

    fn optional(&self, spot: &PlacedControl<'_>, inner: &Control) -> Markup {
        self.maybe(spot, |title| self.draw(&PlacedControl { control: inner, title, help: None, ..*spot }))
    }

    /// Returns an optional control. The user chooses to leave it out, because a missing value differs from an empty
    /// text.
    pub(super) fn maybe(&self, spot: &PlacedControl<'_>, inner: impl FnOnce(Markup) -> Markup) -> Markup {
        let given = format!("{}:given", spot.place);
        let is_given = match self.typed.text(&given) {
            Some(said) => said == "yes",
            None => self.typed.has(spot.place),
        };
        html! {
            fieldset.field.optional {
                legend { (spot.title) }
                @if let Some(help) = &spot.help { p.note { (help) } }
                div.given {
                    (button("radio", &given, "no", !is_given, html! { "leave it out" }))
                    (button("radio", &given, "yes", is_given, html! { "fill it in" }))
                }
                div.inner { (inner(html! { (spot.title) })) }
            }
        }
    }

    /// Returns a picker. `offered` tells whether pending answers are offered, and whether other capabilities are.
    fn pick(&self, spot: &PlacedControl<'_>, label: Option<&str>, offered: (bool, bool)) -> Markup {
        let place = spot.place;
        let (pending, settled) = offered;
        let waiting: Vec<PickRow> = match settled {
            true => vec![],
            false => self.picks.iter().filter(|row| row.pending).cloned().collect(),
        };
        let picker = Picker {
            place,
            called: spot.said,
            label,
            pending,
            data: false,
            picks: if settled { self.picks } else { &waiting },
            typed: self.typed.text(place),
            wrong: self.is_wrong(place).is_some(),
            fresh: self.typed.is_fresh(place),
            // An unresolved promise has no known methods, so it cannot be narrowed.
            narrows: (self.narrows && settled).then_some(spot.said),
        };
        picker.draw()
    }

    /// Returns the field for a file. A script writes the bytes of the file into the text. Without scripts, the
    /// browser sends the file.
    fn file(&self, spot: &PlacedControl<'_>, most: f64) -> Markup {
        let place = spot.place;
        let own = id(place);
        let text = self.typed.text(place).unwrap_or("");
        let most = (most < 1e15).then_some(most as u64);
        html! {
            input type="file" name=(files::field(place)) data-bytes-of=(own) data-most=[most]
                aria-label={ "Take the bytes of a file for " (spot.said) };
            textarea id=(own) name=(place) rows="2" spellcheck="false" placeholder="Base64, or hex:00ff"
                aria-invalid=[self.is_wrong(place)] aria-describedby={ (own) "-wants " (own) "-error" } { "\n" (text) }
            (input_preview(spot.control, place, text, &[]))
        }
    }

    /// Returns a control that is a part of another control.
    pub(super) fn part(&self, control: &Control, place: &str, title: Markup, said: &str) -> Markup {
        self.draw(&PlacedControl { control, place, title, said, help: None, preset: false })
    }

    /// Returns a control that is a part with a foreign name.
    pub(super) fn named(&self, name: &str, required: bool, control: &Control, place: &str) -> Markup {
        let below = format!("{place}/{}", step(name));
        let title = parts::line(&Untrusted::new(name));
        let said = visible_line(name);
        if required || matches!(control.widget, Widget::Optional { .. }) {
            return self.part(control, &below, title, &said);
        }
        let spot = PlacedControl { control, place: &below, title, said: &said, help: None, preset: false };
        self.maybe(&spot, |title| self.part(control, &below, title, &said))
    }
}

/// The names of JavaScript's own errors.
const ERRORS: [&str; 7] =
    ["Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "URIError", "EvalError"];

/// The number of lines that a text may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    One,
    Any,
    Several,
}

/// The properties of a text field.
struct TextField {
    most: f64,
    lines: Lines,
    secret: bool,
    format: Option<&'static str>,
}

fn single(body: Markup) -> ControlFrame {
    ControlFrame { several: false, class: "field", body }
}

fn several(class: &'static str, body: Markup) -> ControlFrame {
    ControlFrame { several: true, class, body }
}

/// Returns a radio button or a checkbox, with its label next to it.
pub(super) fn button(kind: &str, name: &str, text: &str, is_on: bool, label: Markup) -> Markup {
    html! { label.beside { input type=(kind) name=(name) value=(text) checked[is_on]; " " (label) } }
}

/// Returns the text for a fixed value.
fn fixed(value: &serde_json::Value) -> String {
    match Value::<NoRef>::from_json(value) {
        Ok(Value::Null) => "nothing (null)".to_owned(),
        Ok(Value::Undefined) => "nothing (undefined)".to_owned(),
        Ok(value) => value.in_line(),
        Err(_) => value.to_string(),
    }
}

/// Returns a description of the input that a control expects.
fn wants(control: &Control) -> Markup {
    html! {
        (visible_line(&control.asks))
        @for check in &control.checks { "; " (visible_line(check)) }
        @match &control.widget {
            Widget::Spin { whole: false, min: None, max: None } => " (NaN, Infinity and -Infinity are written as words)",
            Widget::Spin { whole: false, max: None, .. } => " (Infinity is written as a word)",
            Widget::Spin { whole: false, min: None, .. } => " (-Infinity is written as a word)",
            Widget::File { .. } => ": Base64, hexadecimal digits behind hex:, or a file",
            Widget::Json { .. } => ", as JSON",
            Widget::PatternText => ", as in `M.string()`",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the markup that is drawn for a pattern whose control contains this text.
    #[track_caller]
    fn check(pattern: &str, text: &str, has: &[&str], lacks: &[&str]) {
        let control = kernel::Pattern::parse(pattern).unwrap().controls();
        let typed = FormValues::sent(&vec![("f0".to_owned(), text.to_owned())]);
        let (wrong, tallies) = (BTreeMap::new(), Counters::new());
        let drawn =
            FormRenderer { typed: &typed, picks: &[], wrong: &wrong, tallies: &tallies, narrows: false };
        let said = drawn.part(&control, "f0", html! { "It" }, "It").into_string();
        has.iter().for_each(|part| assert!(said.contains(part), "{pattern}: {part:?} is not in {said}"));
        lacks.iter().for_each(|part| assert!(!said.contains(part), "{pattern}: {part:?} is in {said}"));
    }

    #[test]
    fn browser_fields_keep_the_typed_text() {
        check("M.refine('email')", "", &["type=\"text\" inputmode=\"email\""], &["type=\"email\""]);
        check("M.refine('uri')", "", &["type=\"text\" inputmode=\"url\""], &["type=\"url\""]);
        // A single-line field would drop the line ends.
        check("M.string()", "", &["<textarea class=\"grows\"", "rows=\"1\""], &["<input"]);
        check("M.string({ stringLengthLimit: 200 })", "", &["<input"], &["<textarea"]);
        check("M.string({ stringLengthLimit: 200 })", "a\nb", &["a\nb</textarea>"], &["<input"]);
        check(
            "M.refine('secret')",
            "hunter2",
            &["type=\"password\"", "<noscript>"],
            &["hunter2", "<textarea"],
        );
        check(
            "M.number()",
            "9007199254740993",
            &["type=\"text\" inputmode=\"decimal\""],
            &["type=\"number\""],
        );
        check("M.byteArray()", "", &["name=\"_file f0\"", "data-most=\"100000\""], &[]);
        check("M.byteArray({ byteLengthLimit: 5 })", "", &["data-most=\"5\""], &[]);
    }

    #[test]
    fn control_describes_its_expected_input() {
        let words = "(NaN, Infinity and -Infinity are written as words)";
        check("M.number()", "", &[words], &[]);
        check("M.and(M.number(), M.gte(1))", "", &["(Infinity is written as a word)"], &["NaN", "-Infinity"]);
        check("M.and(M.number(), M.lte(1))", "", &["(-Infinity is written as a word)"], &["NaN"]);
        check("M.and(M.number(), M.gte(1), M.lte(1000))", "", &["1000"], &["Infinity", "NaN", "slider"]);
        check("M.eq(3n)", "", &[">3<"], &["qclass"]);
        check("M.eq([1n, undefined])", "", &["[1, nothing]"], &["qclass"]);
        check("M.undefined()", "", &["nothing (undefined)"], &["qclass"]);
    }
}
