//! Locators: Endo's form of formulas outside of the store, `endo://NODE/?id=NUMBER&type=TYPE`. A locator alone gives
//! no authority.

use std::fmt;
use std::str::FromStr;

use crate::command::Fault;
use crate::id::{FormulaId, Number};
use crate::table;
use crate::txn::ReadTxn;

/// The location of a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locator {
    /// The formula.
    pub id: FormulaId,
    /// The formula's type. For a grant, this is the type of the formula behind the grant.
    pub kind: String,
    /// A one-use token. An agent that gives the token gets a grant of the formula. Only Almoner has tokens in
    /// locators.
    pub token: Option<Number>,
    /// The addresses at which the formula's node can be reached, as they were written.
    pub at: Vec<String>,
}

/// A text that is no locator. The texts are Endo's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid locator {text:?}: Invalid {part}.")]
pub struct BadLocator {
    /// The text that was given.
    pub text: String,
    /// The part that is wrong.
    pub part: &'static str,
}

impl Locator {
    /// Returns the locator of a formula.
    ///
    /// # Errors
    /// [`Fault::Dangling`] if there is no such formula, or nothing behind it.
    pub fn from_formula(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Locator, Fault> {
        let reached = table::reach(txn, id)?.ok_or(Fault::Dangling(*id))?;
        Ok(Locator { id: *id, kind: reached.formula.kind().to_owned(), token: None, at: vec![] })
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "endo://{}/?id={}&type={}", Number(self.id.node), Number(self.id.number), self.kind)?;
        if let Some(token) = &self.token {
            write!(f, "&token={token}")?;
        }
        self.at.iter().try_for_each(|at| write!(f, "&at={at}"))
    }
}

impl FromStr for Locator {
    type Err = BadLocator;

    fn from_str(text: &str) -> Result<Locator, BadLocator> {
        let bad = |part| BadLocator { text: text.to_owned(), part };
        let rest = text.strip_prefix("endo://").ok_or_else(|| bad("protocol"))?;
        let (node, query) = rest.split_once("/?").ok_or_else(|| bad("URL"))?;
        let node: Number = node.parse().map_err(|_| bad("node identifier"))?;
        let (mut number, mut kind, mut token, mut at) = (None, None, None, vec![]);
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').ok_or_else(|| bad("search params"))?;
            let first = match name {
                "id" => number.replace(value.parse::<Number>().map_err(|_| bad("id"))?).is_none(),
                "type" if is_kind(value) => kind.replace(value.to_owned()).is_none(),
                "type" => return Err(bad("type")),
                "token" => token.replace(value.parse().map_err(|_| bad("token"))?).is_none(),
                "at" if is_address(value) => {
                    at.push(value.to_owned());
                    true
                }
                _ => false,
            };
            if !first {
                return Err(bad("search params"));
            }
        }
        let number = number.ok_or_else(|| bad("id"))?;
        let kind = kind.ok_or_else(|| bad("type"))?;
        Ok(Locator { id: FormulaId { number: number.0, node: node.0 }, kind, token, at })
    }
}

fn is_kind(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Returns whether a text can stand in a query without escapes.
fn is_address(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'&' | b'#' | b'"'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn locators() -> impl Strategy<Value = Locator> {
        let token = proptest::option::of(any::<[u8; 32]>());
        let at = proptest::collection::vec("[a-z0-9+:/.%=-]{1,20}", 0..3);
        (any::<[u8; 32]>(), any::<[u8; 32]>(), "[a-z][a-z0-9-]{0,12}", token, at).prop_map(
            |(number, node, kind, token, at)| Locator {
                id: FormulaId { number, node },
                kind,
                token: token.map(Number),
                at,
            },
        )
    }

    proptest! {
        #[test]
        fn locators_parse_from_their_printed_form(locator in locators()) {
            prop_assert_eq!(locator.to_string().parse(), Ok(locator));
        }

        #[test]
        fn changed_locator_is_refused_or_prints_the_same(locator in locators(), at in 0..200_usize, byte in 0..128_u8) {
            let mut text = locator.to_string().into_bytes();
            let at = at % text.len();
            text[at] = byte;
            let text = String::from_utf8(text).unwrap();
            if let Ok(read) = text.parse::<Locator>() {
                // Only the order of the parts may differ.
                let sorted = |text: &str| {
                    let mut parts: Vec<String> = text.split(['&', '?']).map(str::to_owned).collect();
                    parts.sort();
                    parts
                };
                prop_assert_eq!(sorted(&read.to_string()), sorted(&text));
            }
        }
    }

    #[test]
    fn invalid_locator_is_refused_with_its_wrong_part() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let check = |text: String, part: &str| {
            assert_eq!(text.parse::<Locator>().map_err(|bad| bad.part), Err(part), "{text}");
        };
        check(format!("http://{a}/?id={b}&type=host"), "protocol");
        check(format!("endo://{a}?id={b}&type=host"), "URL");
        check(format!("endo://abc/?id={b}&type=host"), "node identifier");
        check(format!("endo://{a}/?id=abc&type=host"), "id");
        check(format!("endo://{a}/?type=host"), "id");
        check(format!("endo://{a}/?id={b}"), "type");
        check(format!("endo://{a}/?id={b}&type=Host"), "type");
        check(format!("endo://{a}/?id={b}&id={b}&type=host"), "search params");
        check(format!("endo://{a}/?id={b}&type=host&x=1"), "search params");
        check(format!("endo://{a}/?id={b}&type=host&"), "search params");
        check(format!("endo://{a}/?id={b}&type=host&at=a b"), "search params");
    }
}
