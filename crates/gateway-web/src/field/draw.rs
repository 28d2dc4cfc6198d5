//! A control as HTML.
//!
//! No control is `required` in the browser's own sense: branches that were not chosen are part of the form, and what is
//! missing is said by the same code that reads what is sent.

use std::collections::BTreeMap;

use control::view::PickRow;
use maud::{Markup, html};
use passable::{Choice, Control, Untrusted, Variant, Widget, visible_line};

use super::place::id;
use super::typed::{Typed, step};
use crate::page::parts;

/// Up to so many choices are buttons; above, they are a menu.
const BUTTONS: usize = 5;

/// Up to so many choices are a menu; above, one types what one looks for.
const MENU: usize = 20;

/// Text of at most so many units is a line; with a larger limit of its own it is an area.
const LINE: f64 = 200.0;

/// How long text may be where nobody has said anything about it.
const UNLIMITED: f64 = 100_000.0;

/// What all fields of a form are drawn with.
pub struct Drawn<'a> {
    /// What was typed.
    pub typed: &'a Typed,
    /// What can be picked.
    pub picks: &'a [PickRow],
    /// What is wrong, by place.
    pub wrong: &'a BTreeMap<String, String>,
}

/// One control at its place.
pub struct Spot<'a> {
    /// The control.
    pub control: &'a Control,
    /// Its place, which is the name of its field.
    pub place: &'a str,
    /// What it is called.
    pub title: Markup,
    /// The same for those who do not see it; safe to show.
    pub said: &'a str,
    /// What else its author says of it.
    pub help: Option<Markup>,
    /// Whether something stands there that one need not touch.
    pub preset: bool,
}

/// How a part is set between what it is called and what is wrong with it.
struct Framed {
    /// Whether several things are filled in, under a legend.
    several: bool,
    class: &'static str,
    body: Markup,
}

impl Drawn<'_> {
    /// A control, with all that belongs to it.
    pub fn draw(&self, spot: &Spot<'_>) -> Markup {
        let place = spot.place;
        let json = format!("{place}:json");
        if let Some(text) = self.typed.text(&json) {
            let body = self.area(place, &json, text, None);
            return self.frame(spot, &Framed { several: false, class: "field", body });
        }
        let framed = match &spot.control.widget {
            Widget::Optional { inner } => return self.optional(spot, inner),
            Widget::Line { max_length, multiline, secret, format } => {
                single(self.line(place, *max_length, *multiline, *secret, *format))
            }
            Widget::Spin { whole, .. } => single(self.number(place, *whole)),
            Widget::Digits { .. } => single(self.number(place, true)),
            Widget::Toggle => self.toggle(spot),
            Widget::Menu { options } => self.menu(place, options),
            Widget::Checks { options } => several("field", self.checks(place, options)),
            Widget::Variants { variants } => several("field variants", self.variants(place, variants)),
            Widget::Pick { label, pending } => single(self.pick(place, label.as_deref(), *pending)),
            Widget::Rows { .. } | Widget::Pairs { .. } | Widget::Group { .. } => {
                several("field", self.listed(spot))
            }
            Widget::File { .. } => single(self.file(place)),
            Widget::Note { value } => several("field", html! { p { (parts::word(&value.to_string())) } }),
            Widget::Json | Widget::PatternText => {
                let text = self.typed.text(place).unwrap_or("");
                single(self.area(place, place, text, None))
            }
        };
        self.frame(spot, &framed)
    }

    /// The place where it is said what is wrong.
    pub fn error(&self, place: &str) -> Markup {
        let text = self.wrong.get(place).map_or("", String::as_str);
        html! {
            p.error id={ (id(place)) "-error" } data-error-of=(place) role="status" { (visible_line(text)) }
        }
    }

    fn frame(&self, spot: &Spot<'_>, framed: &Framed) -> Markup {
        let own = id(spot.place);
        let wants = html! {
            p.note id={ (own) "-wants" } {
                (wants(spot.control))
                @if let Some(help) = &spot.help { ". " (help) }
            }
        };
        html! {
            @if framed.several {
                fieldset class=(framed.class) id=(own) tabindex="-1" aria-describedby={ (own) "-wants " (own) "-error" } {
                    legend { (spot.title) }
                    (wants) (self.error(spot.place)) (framed.body)
                }
            } @else {
                div class=(framed.class) {
                    label for=(own) { (spot.title) }
                    (wants) (framed.body) (self.error(spot.place))
                }
            }
        }
    }

    /// What a single field has beside its name.
    fn is_wrong(&self, place: &str) -> Option<&'static str> {
        self.wrong.contains_key(place).then_some("true")
    }

    fn area(&self, place: &str, name: &str, text: &str, most: Option<u64>) -> Markup {
        let own = id(place);
        html! {
            textarea id=(own) name=(name) rows="4" maxlength=[most] spellcheck="false" aria-invalid=[self.is_wrong(place)]
                aria-describedby={ (own) "-wants " (own) "-error" } { "\n" (text) }
            @if most.is_some() { p.note data-counter-of=(own) role="status" {} }
        }
    }

    fn line(
        &self,
        place: &str,
        most: f64,
        multiline: bool,
        secret: bool,
        format: Option<&'static str>,
    ) -> Markup {
        let own = id(place);
        let text = self.typed.text(place).unwrap_or("");
        let limit = (most < 1e9).then_some(most as u64);
        // A line would lose what stands below the first.
        let is_area = multiline || (most > LINE && most != UNLIMITED) || text.contains(['\n', '\r']);
        if is_area && !secret {
            return self.area(place, place, text, limit);
        }
        let kind = match (secret, format) {
            (true, _) => "password",
            (_, Some("email")) => "email",
            (_, Some("uri")) => "url",
            (_, Some("date")) => "date",
            _ => "text",
        };
        let example = (format == Some("date-time")).then_some("2026-01-31T09:30:00Z");
        let keep = if secret { "new-password" } else { "off" };
        html! {
            input id=(own) type=(kind) name=(place) maxlength=[limit] autocomplete=(keep) spellcheck="false"
                placeholder=[example] value=[(!secret).then_some(text)] aria-invalid=[self.is_wrong(place)]
                aria-describedby={ (own) "-wants " (own) "-error" };
            @if !secret && limit.is_some_and(|limit| limit < 1000) { p.note data-counter-of=(own) role="status" {} }
        }
    }

    /// Numbers are text to the browser: its own field for them knows no infinity, and loses digits.
    fn number(&self, place: &str, whole: bool) -> Markup {
        let own = id(place);
        let mode = if whole { "numeric" } else { "decimal" };
        html! {
            input id=(own) type="text" inputmode=(mode) name=(place) autocomplete="off" spellcheck="false"
                value=(self.typed.text(place).unwrap_or("")) aria-invalid=[self.is_wrong(place)]
                aria-describedby={ (own) "-wants " (own) "-error" };
        }
    }

    /// A box if something stands there already; else two buttons of which none is pressed, so that a no is said.
    fn toggle(&self, spot: &Spot<'_>) -> Framed {
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

    fn menu(&self, place: &str, options: &[Choice]) -> Framed {
        let typed = self.typed.text(place);
        let own = id(place);
        let described = format!("{own}-wants {own}-error");
        let is_text = options.iter().all(|one| one.value.as_str() == Some(&one.sent));
        match options.len() {
            0..=BUTTONS => several(
                "field",
                html! {
                    @for one in options {
                        (button("radio", place, &one.sent, typed == Some(&one.sent), parts::word(&one.label)))
                    }
                },
            ),
            // What is typed is what is sent, so what can be looked for is text.
            count if count > MENU && is_text => single(html! {
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

    fn checks(&self, place: &str, options: &[Choice]) -> Markup {
        let typed = self.typed.texts(place);
        html! {
            @for one in options {
                (button("checkbox", place, &one.sent, typed.contains(&one.sent), parts::word(&one.label)))
            }
        }
    }

    /// Every variant stays in the form with what was typed into it; the style shows the one that is chosen.
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
                        (self.draw(&Spot {
                            control: &variant.control, place: &below, title: parts::word(&variant.label),
                            said: &variant.label, help: None, preset: false,
                        }))
                    }
                }
            }
        }
    }

    fn optional(&self, spot: &Spot<'_>, inner: &Control) -> Markup {
        self.maybe(spot, |title| self.draw(&Spot { control: inner, title, help: None, ..*spot }))
    }

    /// What may be left out. Nothing is not the same as empty text, so it is said.
    pub(super) fn maybe(&self, spot: &Spot<'_>, inner: impl FnOnce(Markup) -> Markup) -> Markup {
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

    fn pick(&self, place: &str, label: Option<&str>, pending: bool) -> Markup {
        let fitting: Vec<&PickRow> = self.picks.iter().filter(|row| row.fits(label, pending)).collect();
        pick(&fitting, place, self.typed.text(place), self.is_wrong(place))
    }

    fn file(&self, place: &str) -> Markup {
        let own = id(place);
        html! {
            input type="file" data-bytes-of=(own) aria-label="Take the bytes of a file" hidden;
            textarea id=(own) name=(place) rows="2" spellcheck="false" placeholder="Base64"
                aria-invalid=[self.is_wrong(place)] aria-describedby={ (own) "-wants " (own) "-error" } {
                "\n" (self.typed.text(place).unwrap_or(""))
            }
        }
    }

    /// A control that is a part of another one.
    pub(super) fn part(&self, control: &Control, place: &str, title: Markup, said: &str) -> Markup {
        self.draw(&Spot { control, place, title, said, help: None, preset: false })
    }

    /// A part that has a name of somebody else's.
    pub(super) fn named(&self, name: &str, required: bool, control: &Control, place: &str) -> Markup {
        let below = format!("{place}/{}", step(name));
        let title = parts::line(&Untrusted::new(name));
        let said = visible_line(name);
        if required || matches!(control.widget, Widget::Optional { .. }) {
            return self.part(control, &below, title, &said);
        }
        let spot = Spot { control, place: &below, title, said: &said, help: None, preset: false };
        self.maybe(&spot, |title| self.part(control, &below, title, &said))
    }
}

/// A menu of what can be picked, each by the person's own name and what else tells one from the other.
pub fn pick(fitting: &[&PickRow], place: &str, typed: Option<&str>, wrong: Option<&str>) -> Markup {
    let own = id(place);
    html! {
        @if fitting.is_empty() {
            p.warning { "Nothing that you have a name for fits here." }
        }
        select id=(own) name=(place) aria-invalid=[wrong] aria-describedby={ (own) "-wants " (own) "-error" } {
            option value="" { "choose one of your names" }
            @for row in fitting {
                @let id = row.id.to_string();
                option value=(id) selected[typed == Some(&id)] { (in_line(row)) }
            }
        }
    }
}

/// Something that can be picked, in a line.
pub fn in_line(row: &PickRow) -> String {
    let alike = if kernel::alike::mixes_scripts(&row.path) { " · look-alike letters" } else { "" };
    let (path, kind) = (visible_line(&row.path), visible_line(&row.kind));
    format!("{path} · {kind}: {} · {}{alike}", row.words.visible_line(), row.id.short())
}

fn single(body: Markup) -> Framed {
    Framed { several: false, class: "field", body }
}

fn several(class: &'static str, body: Markup) -> Framed {
    Framed { several: true, class, body }
}

/// A radio button or a box with its label beside it.
fn button(kind: &str, name: &str, text: &str, is_on: bool, label: Markup) -> Markup {
    html! { label.beside { input type=(kind) name=(name) value=(text) checked[is_on]; " " (label) } }
}

/// What a control asks for, in words.
fn wants(control: &Control) -> Markup {
    html! {
        (visible_line(&control.asks))
        @for check in &control.checks { "; " (visible_line(check)) }
        @match &control.widget {
            Widget::Spin { .. } => " (NaN, Infinity and -Infinity are written as words)",
            Widget::File { .. } => ": Base64, or a file",
            Widget::Json => ", as JSON",
            Widget::PatternText => ", as in `M.string()`",
            _ => "",
        }
    }
}
