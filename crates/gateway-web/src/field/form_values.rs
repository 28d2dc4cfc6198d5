//! The values typed into a form: the form's pairs, by their places.

use std::collections::{BTreeMap, BTreeSet};

use passable::{Control, Widget};

use crate::page_request::Pairs;

/// The first step of every field name that [`passable::Pattern::read_form`] reads.
pub(super) const ROOT: &str = "value";

/// The name of the buttons that add, move or remove a row.
pub const ROW: &str = "_row";

/// The name of a field with which a script requests only the part of the page that it changes.
pub const PIECE: &str = "_piece";

/// The maximum number of lines that can be split into rows at once.
pub const MAX_LINES: usize = 1000;

/// Typed values, by field name. Each name begins with a prefix of this module and continues as in the pattern's form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormValues {
    all: BTreeMap<String, Vec<String>>,
    /// The place that the server has just changed for the user. The focus goes there.
    fresh: Option<String>,
    /// The position of the caret in the text at this place, in UTF-16 units.
    caret: Option<usize>,
}

/// The fields below a row: the rest of each name, with its texts.
type RowFields = Vec<(String, Vec<String>)>;

/// Returns the rest of a name after a prefix, or `None` if the prefix does not end at a step.
fn below<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    name.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with(['/', ':']))
}

/// Returns the pairs of one field, as its pattern reads them.
pub fn of_field(pairs: &Pairs, prefix: &str) -> Pairs {
    let own =
        |(name, text): &(String, String)| Some((format!("{ROOT}{}", below(name, prefix)?), text.clone()));
    pairs.iter().filter_map(own).collect()
}

/// Returns the number of a row, if a step is one.
fn number(step: &str) -> Option<u32> {
    let plain = step == "0" || !step.starts_with('0');
    plain.then(|| step.parse().ok()).flatten()
}

impl FormValues {
    /// Returns the values that a form has sent.
    pub fn sent(pairs: &Pairs) -> FormValues {
        let mut typed = FormValues::default();
        for (name, text) in pairs {
            typed.all.entry(name.clone()).or_default().push(text.clone());
        }
        typed
    }

    /// Returns the pairs of one field, as its pattern reads them.
    pub fn pairs(&self, prefix: &str) -> Pairs {
        let own = self.all.iter().filter_map(|(name, texts)| Some((below(name, prefix)?, texts)));
        own.flat_map(|(rest, texts)| texts.iter().map(move |text| (format!("{ROOT}{rest}"), text.clone())))
            .collect()
    }

    /// Returns all pairs, as a form would send them.
    pub fn all(&self) -> Pairs {
        let texts = |(name, texts): (&String, &Vec<String>)| {
            texts.iter().map(|text| (name.clone(), text.clone())).collect::<Vec<_>>()
        };
        self.all.iter().flat_map(texts).collect()
    }

    /// Replaces the texts of a name.
    pub fn set(&mut self, name: &str, text: String) {
        self.all.insert(name.to_owned(), vec![text]);
    }

    /// Fills an untouched field with a default, in the form of [`passable::Pattern::write_form`].
    pub fn fill(&mut self, prefix: &str, written: Pairs) {
        for (name, text) in written {
            if let Some(rest) = below(&name, ROOT) {
                self.all.entry(format!("{prefix}{rest}")).or_default().push(text);
            }
        }
    }

    /// Returns the last text of a name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts(name).last().map(String::as_str)
    }

    /// Returns all texts of a name.
    pub fn texts(&self, name: &str) -> &[String] {
        self.all.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns whether the form has values at a place or below it.
    pub fn has(&self, place: &str) -> bool {
        self.all
            .range(place.to_owned()..)
            .take_while(|(name, _)| name.starts_with(place))
            .any(|(name, _)| below(name, place).is_some())
    }

    /// Returns whether the user has filled in anything at a place or below it, or has added a row there.
    pub fn is_filled(&self, place: &str) -> bool {
        let written = |(name, texts): (&String, &Vec<String>)| {
            let rest = below(name, place);
            rest.is_some_and(|rest| !rest.ends_with(":given"))
                && texts.iter().any(|text| !text.trim().is_empty())
        };
        let all = self.all.range(place.to_owned()..).take_while(|(name, _)| name.starts_with(place));
        all.into_iter().any(written) || !self.rows(place).is_empty()
    }

    /// Returns the numbers of the rows at a place, in order.
    pub fn rows(&self, place: &str) -> BTreeSet<u32> {
        let prefix = format!("{place}/");
        let steps = self.all.range(prefix.clone()..).map_while(|(name, _)| name.strip_prefix(&prefix));
        steps.filter_map(|rest| number(rest.split(['/', ':']).next()?)).collect()
    }

    /// Removes the values at a place and below it.
    pub fn forget(&mut self, place: &str) {
        self.all.retain(|name, _| below(name, place).is_none());
    }

    /// Marks a place as just changed by the server.
    pub fn freshen(&mut self, place: &str) {
        self.fresh = Some(place.to_owned());
    }

    /// Marks a text as just changed by the server, and sets the position of its caret.
    pub fn freshen_at(&mut self, place: &str, caret: usize) {
        self.freshen(place);
        self.caret = Some(caret);
    }

    /// Returns the position of the caret in the text at a place, if the server has just changed this text.
    pub fn caret(&self, place: &str) -> Option<usize> {
        self.caret.filter(|_| self.is_fresh(place))
    }

    /// Returns whether the server has just changed exactly this place.
    pub fn is_fresh(&self, place: &str) -> bool {
        self.fresh.as_deref() == Some(place)
    }

    /// Handles a button of rows. The buttons `more`, `ordered` and `boxes` have the value `NAME PLACE`; the last two
    /// are for choices. The buttons `less`, `up`, `down` and `split` have the value `NAME PLACE/ROW`.
    pub fn change_rows(&mut self, said: &str) {
        let Some((what, place)) = said.split_once(' ') else { return };
        if what == "more" {
            let next = self.rows(place).last().map_or(0, |last| last.saturating_add(1));
            let row = format!("{place}/{next}");
            self.all.entry(format!("{row}:given")).or_default().push("yes".to_owned());
            return self.freshen(&row);
        }
        match what {
            "ordered" => return self.order(place),
            "boxes" => return self.unorder(place),
            _ => {}
        }
        let Some((list, row)) = place.rsplit_once('/').and_then(|(list, row)| Some((list, number(row)?)))
        else {
            return;
        };
        let rows: Vec<u32> = self.rows(list).into_iter().collect();
        let Some(at) = rows.iter().position(|one| *one == row) else { return };
        let before = at.checked_sub(1).and_then(|at| rows.get(at));
        let after = rows.get(at.saturating_add(1));
        match what {
            "less" => {
                self.forget(place);
                if let Some(near) = after.or(before) {
                    self.freshen(&format!("{list}/{near}"));
                }
            }
            "up" => self.swap(list, row, before),
            "down" => self.swap(list, row, after),
            "split" => self.split(list, row, &rows),
            _ => {}
        }
    }

    /// Turns each ticked choice into a row.
    fn order(&mut self, place: &str) {
        let mut texts = self.all.remove(place).unwrap_or_default().into_iter().map(Some).collect::<Vec<_>>();
        if texts.is_empty() {
            texts.push(None);
        }
        for (at, text) in texts.into_iter().enumerate() {
            let row = format!("{place}/{at}");
            self.set(&format!("{row}:given"), "yes".to_owned());
            if let Some(text) = text {
                self.set(&row, text);
            }
        }
        self.freshen(&format!("{place}/0"));
    }

    /// Turns each row into a ticked choice.
    fn unorder(&mut self, place: &str) {
        let mut texts = Vec::new();
        for row in self.rows(place) {
            let row = format!("{place}/{row}");
            texts.extend(self.text(&row).map(str::to_owned).filter(|text| !texts.contains(text)));
            self.forget(&row);
        }
        if !texts.is_empty() {
            self.all.insert(place.to_owned(), texts);
        }
    }

    /// Swaps two rows. The moved row keeps the focus.
    fn swap(&mut self, list: &str, row: u32, with: Option<&u32>) {
        let one = format!("{list}/{row}");
        let Some(with) = with else { return self.freshen(&one) };
        let other = format!("{list}/{with}");
        let (moved, passed) = (self.take(&one), self.take(&other));
        self.put(&other, moved);
        self.put(&one, passed);
        self.freshen(&other);
    }

    /// Turns each line of a row's text into a row. All rows get new numbers.
    fn split(&mut self, list: &str, row: u32, rows: &[u32]) {
        let own = format!("{list}/{row}");
        let text = self.text(&own).unwrap_or("").to_owned();
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        if lines.len() > MAX_LINES {
            return;
        }
        let mut all: Vec<RowFields> = Vec::new();
        for one in rows {
            let below = self.take(&format!("{list}/{one}"));
            if *one != row {
                all.push(below);
                continue;
            }
            let marks: RowFields = below.into_iter().filter(|(rest, _)| rest.starts_with(':')).collect();
            for line in &lines {
                let mut below = marks.clone();
                below.push((String::new(), vec![(*line).to_owned()]));
                all.push(below);
            }
            if let Some(last) = all.len().checked_sub(1) {
                self.freshen(&format!("{list}/{last}"));
            }
        }
        for (at, below) in all.into_iter().enumerate() {
            self.put(&format!("{list}/{at}"), below);
        }
    }

    fn take(&mut self, place: &str) -> RowFields {
        let own: Vec<String> = self.all.keys().filter(|name| below(name, place).is_some()).cloned().collect();
        let taken = own.into_iter().filter_map(|name| {
            let texts = self.all.remove(&name)?;
            Some((below(&name, place)?.to_owned(), texts))
        });
        taken.collect()
    }

    fn put(&mut self, place: &str, below: RowFields) {
        for (rest, texts) in below {
            self.all.insert(format!("{place}{rest}"), texts);
        }
    }

    /// Removes the values that must not be shown again.
    pub fn forget_secrets(&mut self, control: &Control, place: &str) {
        if !has_secret(control) {
            return;
        }
        match &control.widget {
            // The marker that a row or an optional part exists is kept.
            Widget::Line { .. } => {
                self.all.remove(place);
                self.all.remove(&format!("{place}:json"));
            }
            Widget::Optional { inner } => self.forget_secrets(inner, place),
            Widget::Variants { variants } => {
                for (at, variant) in variants.iter().enumerate() {
                    self.forget_secrets(&variant.control, &format!("{place}/{at}"));
                }
            }
            Widget::Rows { item, .. } => {
                for row in self.rows(place) {
                    self.forget_secrets(item, &format!("{place}/{row}"));
                }
            }
            Widget::Pairs { key, value, .. } => {
                for row in self.rows(place) {
                    self.forget_secrets(key, &format!("{place}/{row}/key"));
                    self.forget_secrets(value, &format!("{place}/{row}/value"));
                }
            }
            Widget::Group { fields, rest, .. } => {
                for field in fields {
                    self.forget_secrets(&field.control, &format!("{place}/{}", step(&field.name)));
                }
                if let Some(rest) = rest {
                    self.forget_secrets(rest, &format!("{place}:rest"));
                }
            }
            _ => {}
        }
    }
}

/// Returns the name of a record's field as a step of a place.
pub fn step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1").replace(':', "~2")
}

/// Returns whether a control, or a part of it, asks for a secret.
pub fn has_secret(control: &Control) -> bool {
    has(control, &|widget| matches!(widget, Widget::Line { secret: true, .. }))
}

/// Returns whether a control, or a part of it, accepts a capability for which the user has a name.
pub fn has_pick(control: &Control) -> bool {
    has(control, &|widget| matches!(widget, Widget::Pick { .. } | Widget::Json { .. }))
}

/// Returns whether a control, or a part of it, accepts a file.
pub fn has_file(control: &Control) -> bool {
    has(control, &|widget| matches!(widget, Widget::File { .. }))
}

/// Returns whether a control, or a part of it, has a matching widget.
fn has(control: &Control, is: &dyn Fn(&Widget) -> bool) -> bool {
    let has = |control: &Control| has(control, is);
    is(&control.widget)
        || match &control.widget {
            Widget::Optional { inner } => has(inner),
            Widget::Variants { variants } => variants.iter().any(|variant| has(&variant.control)),
            Widget::Rows { item, .. } => has(item),
            Widget::Pairs { key, value, .. } => has(key) || has(value),
            Widget::Group { fields, rest, .. } => {
                fields.iter().any(|field| has(&field.control)) || rest.as_deref().is_some_and(has)
            }
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pairs: &[(&str, &str)]) -> FormValues {
        FormValues::sent(&pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn buttons_add_and_remove_rows() {
        let mut form = typed(&[("f0/0", "a"), ("f0/3:given", "yes"), ("f01/9", "z"), ("f0/x", "no row")]);
        assert_eq!(form.rows("f0").into_iter().collect::<Vec<_>>(), [0, 3]);
        form.change_rows("more f0");
        assert_eq!(form.text("f0/4:given"), Some("yes"));
        form.change_rows("less f0/3");
        assert_eq!(form.rows("f0").into_iter().collect::<Vec<_>>(), [0, 4]);
        form.forget("f0");
        assert!(!form.has("f0") && form.has("f01"));
        for nonsense in ["nonsense", "", "up", "up f0", "down f0/9", "split /", "less f0/x", "up /1"] {
            let before = form.clone();
            form.change_rows(nonsense);
            assert_eq!(form, before, "{nonsense}");
        }
    }

    #[test]
    fn moved_rows_keep_their_content() {
        let pairs =
            [("f0/1", "a"), ("f0/1:given", "yes"), ("f0/4/x", "b"), ("f0/4/x/0", "c"), ("f0/12", "d")];
        for (said, expected, fresh) in [
            ("down f0/1", "f0/1/x=b f0/1/x/0=c f0/12=d f0/4=a f0/4:given=yes", "f0/4"),
            ("up f0/12", "f0/1=a f0/12/x=b f0/12/x/0=c f0/1:given=yes f0/4=d", "f0/4"),
            // The first row cannot move up, nor the last row down.
            ("up f0/1", "f0/1=a f0/12=d f0/1:given=yes f0/4/x=b f0/4/x/0=c", "f0/1"),
            ("down f0/12", "f0/1=a f0/12=d f0/1:given=yes f0/4/x=b f0/4/x/0=c", "f0/12"),
            ("less f0/4", "f0/1=a f0/12=d f0/1:given=yes", "f0/12"),
        ] {
            let mut form = typed(&pairs);
            form.change_rows(said);
            let shown = form.all.iter().map(|(name, texts)| format!("{name}={}", texts.join("|")));
            assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{said}");
            assert!(form.is_fresh(fresh), "{said}: {:?}", form.fresh);
        }
    }

    #[test]
    fn choices_convert_to_rows_and_back() {
        let shown = |form: &FormValues| {
            let all = form.all.iter().map(|(name, texts)| format!("{name}={}", texts.join("|")));
            all.collect::<Vec<_>>().join(" ")
        };
        let mut form = typed(&[("f0", "a"), ("f0", "c")]);
        form.change_rows("ordered f0");
        assert_eq!(shown(&form), "f0/0=a f0/0:given=yes f0/1=c f0/1:given=yes");
        form.change_rows("down f0/0");
        form.change_rows("more f0");
        form.set("f0/2", "c".to_owned());
        form.change_rows("boxes f0");
        assert_eq!(shown(&form), "f0=c|a");
        let mut form = typed(&[]);
        form.change_rows("ordered f0");
        assert_eq!(shown(&form), "f0/0:given=yes");
        form.change_rows("boxes f0");
        assert_eq!(shown(&form), "");
    }

    #[test]
    fn split_turns_lines_into_rows() {
        let mut form = typed(&[("f0/0", "a"), ("f0/2", "b\r\nc\n\nd"), ("f0/2:given", "yes"), ("f0/3", "e")]);
        form.change_rows("split f0/2");
        let texts: Vec<&str> = (0..5).map(|row| form.text(&format!("f0/{row}")).unwrap()).collect();
        assert_eq!(texts, ["a", "b", "c", "d", "e"]);
        assert_eq!(form.rows("f0").len(), 5);
        assert!(form.is_fresh("f0/3") && form.text("f0/2:given") == Some("yes"));
        let long = "x\n".repeat(MAX_LINES + 1);
        let mut form = typed(&[("f0/0", &long)]);
        form.change_rows("split f0/0");
        assert_eq!(form.rows("f0").len(), 1, "nothing of it is lost");
    }

    #[test]
    fn field_takes_its_own_pairs_only() {
        let pairs = [("f1", "a"), ("f1:kind", "0"), ("f1/0", "b"), ("f10", "c"), ("f", "d"), ("_token", "e")]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .to_vec();
        let names: Vec<String> = of_field(&pairs, "f1").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["value", "value:kind", "value/0"]);
    }
}
