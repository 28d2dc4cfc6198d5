//! The picker: a menu of the user's names. Each name has a description from the daemon's own record of the object.
//! The form sends an identifier, never a name. The script turns the menu into a search field.

use std::collections::BTreeMap;

use control::view::{Fit, PickRow};
use maud::{Markup, html};
use passable::visible_line;
use resource::Kind;

use super::place::id;

/// The name of the button that starts the making of a narrower object for a picker. Its value is the picker's place.
pub const NARROW: &str = "_narrow";

/// The label of the link to the picked object's page, which has a table of its methods.
const DETAIL: &str = "What it is, and what it can be asked";

/// A picker.
pub struct Picker<'a> {
    /// The place of the picker, which is the name of its field.
    pub place: &'a str,
    /// The name of the picker, which equals its label on the page. It is safe to show.
    pub called: &'a str,
    /// The label that the picked object must have.
    pub label: Option<&'a str>,
    /// Whether unresolved promises are offered.
    pub pending: bool,
    /// Whether data is offered as well, and no label is required.
    pub data: bool,
    /// The objects that the user has names for.
    pub picks: &'a [PickRow],
    /// The identifier that was picked.
    pub typed: Option<&'a str>,
    /// Whether the picked identifier is invalid.
    pub wrong: bool,
    /// Whether the server has just picked the object. The choice that the browser remembers is older then.
    pub fresh: bool,
    /// The name of the field for which a narrower object can be made, which is safe to show. `None` if no narrower
    /// object can be made.
    pub narrows: Option<&'a str>,
}

impl Picker<'_> {
    /// Returns how an object fits the requirements of the picker.
    pub fn fit(&self, row: &PickRow) -> Fit {
        if self.data { Fit::Recorded } else { row.fit(self.label, self.pending) }
    }

    /// Returns the required label, if it is the plain name of an interface.
    fn interface(&self) -> Option<&str> {
        self.label.filter(|label| !self.data && !label.is_empty() && Kind::of(label).is_none())
    }

    fn of(&self, fit: Fit) -> Vec<&PickRow> {
        self.picks.iter().filter(|row| self.fit(row) == fit).collect()
    }

    /// Returns the menu, with its search field, its notes and its buttons.
    pub fn draw(&self) -> Markup {
        let own = id(self.place);
        let (recorded, unknown) = (self.of(Fit::Recorded), self.of(Fit::Unknown));
        let others = self.of(Fit::No).iter().filter(|row| !row.data && !row.pending).count();
        html! {
            @if recorded.is_empty() && unknown.is_empty() {
                p.warning { "Nothing that you have a name for fits here." }
            }
            div.pick { (self.finder(&own)) (self.menu(&own, &recorded, &unknown)) }
            @if self.interface().is_some() && others > 0 {
                p.note { "Not offered: " (others) " of your names, each recorded as something else." }
            }
            @if let Some(id) = self.typed.filter(|typed| self.picks.iter().any(|row| row.id.to_string() == **typed)) {
                noscript { p { a href={ "/thing?id=" (id) } { (DETAIL) } } }
            }
            @if let Some(said) = self.narrows {
                button.plain name=(NARROW) value=(self.place) formnovalidate
                    aria-label={ "Make a narrower one for " (said) } { "Make a narrower one…" }
            }
        }
    }

    /// Returns the search field that the script shows in place of the menu. Its content stays in the browser and is
    /// not sent.
    fn finder(&self, own: &str) -> Markup {
        html! {
            input id={ (own) "-find" } type="text" role="combobox" aria-label=(self.called) aria-autocomplete="list"
                aria-expanded="false" aria-controls={ (own) "-list" } aria-invalid=[self.wrong.then_some("true")]
                aria-describedby={ (own) "-wants " (own) "-error" } autocomplete="off" spellcheck="false"
                placeholder="type to find one of your names" data-same="find";
            div id={ (own) "-list" } role="listbox" aria-label={ "Your names for " (self.called) } data-same="list" hidden {}
            p.note role="status" data-same="fits" {}
            p.detail data-same="detail" hidden { a href="/thing" target="_blank" { (DETAIL) " (opens in a new tab)" } }
        }
    }

    fn menu(&self, own: &str, recorded: &[&PickRow], unknown: &[&PickRow]) -> Markup {
        html! {
            select id=(own) name=(self.place) aria-invalid=[self.wrong.then_some("true")] data-fresh[self.fresh]
                autofocus[self.fresh] aria-describedby={ (own) "-wants " (own) "-error" } {
                option value="" { "choose one of your names" }
                @match self.interface() {
                    None => (self.options(recorded)),
                    Some(label) => {
                        @if !recorded.is_empty() {
                            optgroup label={ "Recorded as " (visible_line(label)) } { (self.options(recorded)) }
                        }
                        @if !unknown.is_empty() {
                            optgroup label="Others, whose interface is not known" { (self.options(unknown)) }
                        }
                    }
                }
            }
        }
    }

    fn options(&self, rows: &[&PickRow]) -> Markup {
        let alike = LookAlikes::among(self.picks);
        // If the picked object has several names, only one is selected. A browser would show the last.
        let picked = rows.iter().position(|row| self.typed == Some(&row.id.to_string()));
        html! {
            @for (at, row) in rows.iter().enumerate() {
                option value=(row.id.to_string()) selected[picked == Some(at)] { (in_line(row, &alike)) }
            }
        }
    }
}

/// The number of names for each appearance. Names that look alike have the same appearance.
pub(super) struct LookAlikes(BTreeMap<String, usize>);

impl LookAlikes {
    /// Counts the names that look alike among those that can be picked. Surrounding spaces are ignored, because they
    /// are invisible.
    pub(super) fn among(picks: &[PickRow]) -> LookAlikes {
        let mut looks = BTreeMap::new();
        for row in picks {
            *looks.entry(LookAlikes::look(row)).or_default() += 1;
        }
        LookAlikes(looks)
    }

    fn look(row: &PickRow) -> String {
        kernel::confusables::skeleton(&row.path).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns a warning for a name that mixes scripts or looks like another name.
    pub(super) fn badge(&self, row: &PickRow) -> &'static str {
        match self.0.get(&LookAlikes::look(row)) {
            _ if kernel::confusables::has_mixed_scripts(&row.path) => " · look-alike letters",
            Some(2..) => " · looks like another of your names",
            _ => "",
        }
    }
}

/// Returns the line of the menu for an object.
fn in_line(row: &PickRow, alike: &LookAlikes) -> String {
    let alike = alike.badge(row);
    let pending = if row.pending { " · ⏳ nothing has come of it yet" } else { "" };
    let interface = row.interface.as_deref().map(|name| format!("{} · ", visible_line(name)));
    let (path, kind) = (visible_line(&row.path), visible_line(&row.kind));
    let interface = interface.unwrap_or_default();
    let words = row.words.visible_line();
    format!("{path} · {interface}{kind}: {words} · {}{alike}{pending}", row.id.short())
}

#[cfg(test)]
mod tests {
    use kernel::FormulaId;
    use passable::Untrusted;

    use super::*;

    fn row(at: u8, path: &str, interface: Option<&str>) -> PickRow {
        PickRow {
            path: path.to_owned(),
            id: FormulaId { number: [at; 32], node: [9; 32] },
            kind: "export".to_owned(),
            words: Untrusted::new("an object"),
            methods: vec![],
            others: false,
            pending: path == "promised",
            data: path == "data",
            labels: if path == "dir" { vec!["dir".to_owned()] } else { vec![] },
            interface: interface.map(str::to_owned),
        }
    }

    #[test]
    fn look_alike_names_get_a_badge() {
        let paths = ["paypal", "paypa1", "раураӏ", "sales", "sales ", "counter", "соunter", "reader"];
        let picks: Vec<PickRow> = (1..).zip(paths).map(|(at, path)| row(at, path, None)).collect();
        let alike = LookAlikes::among(&picks);
        let said: Vec<&str> = picks.iter().map(|row| alike.badge(row)).collect();
        let twin = " · looks like another of your names";
        let mixed = " · look-alike letters";
        assert_eq!(said, [twin, twin, twin, twin, twin, twin, mixed, ""]);
    }

    #[test]
    fn picker_offers_objects_by_recorded_interface() {
        let picks = [
            row(1, "counter", Some("Counter")),
            row(2, "ledger", Some("Ledger")),
            row(3, "whatever", None),
            row(4, "dir", Some("EndoMount")),
            row(5, "data", None),
            row(6, "promised", None),
            row(7, "соunter", Some("Counter")),
        ];
        for (label, pending, data, offered, said) in [
            (Some("Counter"), false, false, "counter соunter whatever", "Not offered: 2"),
            (Some("Ledger"), true, false, "ledger whatever promised", "Others, whose interface is not known"),
            (Some("Nothing"), false, false, "whatever", "Not offered: 4"),
            (Some("dir"), false, false, "dir", "EndoMount"),
            (Some("outbox"), false, false, "", "Nothing that you have a name for"),
            (Some(""), false, false, "counter ledger whatever dir соunter", "choose"),
            (None, false, false, "counter ledger whatever dir соunter", "look-alike letters"),
            (None, false, true, "counter ledger whatever dir data promised соunter", "⏳"),
            (Some("<b>\u{202E}"), false, false, "whatever", "choose"),
        ] {
            let picker = Picker {
                place: "f0",
                called: "what to count with",
                label,
                pending,
                data,
                picks: &picks,
                typed: None,
                wrong: false,
                fresh: false,
                narrows: None,
            };
            let drawn = picker.draw().into_string();
            let names: Vec<&str> = drawn
                .split("<option value=\"")
                .skip(2)
                .map(|one| one.split('>').nth(1).unwrap().split(" · ").next().unwrap())
                .collect();
            assert_eq!(names.join(" "), visible_line(offered), "{label:?} {pending} {data}");
            assert!(drawn.contains(said), "{drawn}");
            assert!(!drawn.contains("<b>") && !drawn.contains('\u{202E}'), "{drawn}");
        }
    }
}
