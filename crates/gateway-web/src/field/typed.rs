//! What was typed into a form: its pairs, by the place where each stands.

use std::collections::{BTreeMap, BTreeSet};

use passable::{Control, Widget};

use crate::asked::Pairs;

/// The step at which the names of every field begin that [`passable::Pattern::read_form`] reads.
const ROOT: &str = "value";

/// The name of the button that adds a row, or takes one away.
pub const ROW: &str = "_row";

/// What was typed, by name. Names of fields begin with a prefix of ours and go on as those of the pattern's form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed(BTreeMap<String, Vec<String>>);

/// What stands behind a prefix in a name, if it ends where a step does.
fn below<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    name.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with(['/', ':']))
}

/// The pairs of one field, as its pattern reads them.
pub fn of_field(pairs: &Pairs, prefix: &str) -> Pairs {
    let own =
        |(name, text): &(String, String)| Some((format!("{ROOT}{}", below(name, prefix)?), text.clone()));
    pairs.iter().filter_map(own).collect()
}

/// The number of a row, as a step is written.
fn number(step: &str) -> Option<u32> {
    let plain = step == "0" || !step.starts_with('0');
    plain.then(|| step.parse().ok()).flatten()
}

impl Typed {
    /// What a form has sent.
    pub fn sent(pairs: &Pairs) -> Typed {
        let mut typed = Typed::default();
        for (name, text) in pairs {
            typed.0.entry(name.clone()).or_default().push(text.clone());
        }
        typed
    }

    /// Fills a field in that nothing was typed into: with what [`passable::Pattern::write_form`] says of a default.
    pub fn fill(&mut self, prefix: &str, written: Pairs) {
        for (name, text) in written {
            if let Some(rest) = below(&name, ROOT) {
                self.0.entry(format!("{prefix}{rest}")).or_default().push(text);
            }
        }
    }

    /// The last text of this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts(name).last().map(String::as_str)
    }

    /// Every text of this name.
    pub fn texts(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether anything stands at a place or below it.
    pub fn has(&self, place: &str) -> bool {
        self.0
            .range(place.to_owned()..)
            .take_while(|(name, _)| name.starts_with(place))
            .any(|(name, _)| below(name, place).is_some())
    }

    /// The numbers of the rows at a place, in order.
    pub fn rows(&self, place: &str) -> BTreeSet<u32> {
        let prefix = format!("{place}/");
        let steps = self.0.range(prefix.clone()..).map_while(|(name, _)| name.strip_prefix(&prefix));
        steps.filter_map(|rest| number(rest.split(['/', ':']).next()?)).collect()
    }

    /// Takes what stands at a place, and all below it, away.
    pub fn forget(&mut self, place: &str) {
        self.0.retain(|name, _| below(name, place).is_none());
    }

    /// Does what a button of rows says: `more PLACE` or `less PLACE/ROW`.
    pub fn change_rows(&mut self, said: &str) {
        match said.split_once(' ') {
            Some(("more", place)) => {
                let next = self.rows(place).last().map_or(0, |last| last.saturating_add(1));
                self.0.entry(format!("{place}/{next}:given")).or_default().push("yes".to_owned());
            }
            Some(("less", place)) => self.forget(place),
            _ => {}
        }
    }

    /// Forgets what was typed where it must not be shown again.
    pub fn forget_secrets(&mut self, control: &Control, place: &str) {
        if !has_secret(control) {
            return;
        }
        match &control.widget {
            Widget::Line { .. } => self.forget(place),
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

/// A name of a record's field as a step of a place.
pub fn step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1").replace(':', "~2")
}

/// Whether a control asks for something that must not be shown, in itself or in a part.
pub fn has_secret(control: &Control) -> bool {
    match &control.widget {
        Widget::Line { secret, .. } => *secret,
        Widget::Optional { inner } => has_secret(inner),
        Widget::Variants { variants } => variants.iter().any(|variant| has_secret(&variant.control)),
        Widget::Rows { item, .. } => has_secret(item),
        Widget::Pairs { key, value, .. } => has_secret(key) || has_secret(value),
        Widget::Group { fields, rest, .. } => {
            fields.iter().any(|field| has_secret(&field.control)) || rest.as_deref().is_some_and(has_secret)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pairs: &[(&str, &str)]) -> Typed {
        Typed::sent(&pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn rows_come_and_go_by_buttons() {
        let mut form = typed(&[("f0/0", "a"), ("f0/3:given", "yes"), ("f01/9", "z"), ("f0/x", "no row")]);
        assert_eq!(form.rows("f0").into_iter().collect::<Vec<_>>(), [0, 3]);
        form.change_rows("more f0");
        assert_eq!(form.text("f0/4:given"), Some("yes"));
        form.change_rows("less f0/3");
        assert_eq!(form.rows("f0").into_iter().collect::<Vec<_>>(), [0, 4]);
        form.change_rows("less f0");
        assert!(!form.has("f0") && form.has("f01"));
        form.change_rows("nonsense");
        form.change_rows("");
    }

    #[test]
    fn a_field_takes_its_own_pairs_only() {
        let pairs = [("f1", "a"), ("f1:kind", "0"), ("f1/0", "b"), ("f10", "c"), ("f", "d"), ("_token", "e")]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .to_vec();
        let names: Vec<String> = of_field(&pairs, "f1").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["value", "value:kind", "value/0"]);
    }
}
