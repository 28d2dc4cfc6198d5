//! Forms: the answers of a user, as the decoded pairs of name and text that a form sends.
//!
//! The name of a text gives its place in the tree of [`Control`](super::Control)s:
//!
//! | name | text |
//! | --- | --- |
//! | `value` | the answer of the control at the root |
//! | `value/NAME`, `value/3` | the answer of a field, an element or a row |
//! | `value/3/key`, `value/3/value` | the answers of the two sides of a row of pairs |
//! | `value:kind` | the number of the chosen variant; its answer is at `value/NUMBER` |
//! | `value:rest` | further fields or elements of a group, in the form of the group's `rest` |
//! | `value:given` | `yes` or `no`: whether there is a value that would otherwise send nothing, such as an empty list |
//! | `value:json` | the value as plain JSON, for any control |
//!
//! Within a step, `~` is written `~0`, `/` is `~1` and `:` is `~2`. Rows are ordered by their numbers, which may have
//! gaps.
//!
//! | control | text |
//! | --- | --- |
//! | line | the text; line ends become `\n`, however they were sent |
//! | spin | a decimal number, `NaN`, `Infinity` or `-Infinity` |
//! | digits | an integer |
//! | toggle | `true` (or `on`) or `false`; of several, the last counts, so that a box can follow a hidden `false` |
//! | menu | the choice itself if all choices are text, else its number; of more than twenty choices, the text or label of the choice |
//! | checks | the same for each choice, at the control itself; or in rows, in any order and with repetitions |
//! | pick | a name that the caller resolves |
//! | file | base64, or hexadecimal digits after `hex:`; spaces and line ends are ignored; an empty text means no file |
//! | JSON | JSON of the shape of [`Pattern::to_json_schema`]; a capability is an escape of plain JSON, with a name for the caller in `ref` |
//! | pattern text | an `M.` expression |
//! | note | none |

mod element_count;
mod number;
mod problems;
mod read;
mod tree;
mod write;

pub use element_count::ElementCount;
pub use read::{form_bytes, form_of_bytes};

use super::{Mismatch, Pattern, Resolve};
use crate::value::{Reference, Value};
use tree::ROOT;

impl<C: Reference> Pattern<C> {
    /// Reads the body that a form of [`Pattern::controls`] sends, and checks it.
    ///
    /// A body is accepted exactly if its value matches. Names that the form does not have are refused, and so are
    /// fields that are filled in twice. Capabilities are refused; see [`Pattern::read_form_with`].
    ///
    /// ```
    /// use passable::{Pattern, Value};
    /// let pattern: Pattern = Pattern::parse("{ name: M.string(), tags: M.arrayOf(M.string()), age: M.opt(M.nat()) }")?;
    /// let pairs = [("value/name", "Ada"), ("value/tags/0", "x"), ("value/tags/7", "y"), ("value/age", "36")];
    /// let body: Vec<_> = pairs.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    /// let value = pattern.read_form(&body)?;
    /// assert_eq!(value, Value::parse(r#"{ name: "Ada", tags: ["x", "y"], age: 36n }"#)?);
    ///
    /// let refused = pattern.read_form(&body[1..]).unwrap_err();
    /// assert_eq!(refused.teach(), "`name`: expected text, found nothing");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_form(&self, pairs: &[(String, String)]) -> Result<Value<C>, Mismatch> {
        self.read_form_with(pairs, &mut |_, _| None)
    }

    /// Reads a form as [`Pattern::read_form`] does; the caller resolves the names of capabilities.
    pub fn read_form_with(
        &self,
        pairs: &[(String, String)],
        resolve: &mut Resolve<'_, C>,
    ) -> Result<Value<C>, Mismatch> {
        let root = tree::build_tree(pairs)?;
        let value = match read::read(self, &root, resolve)? {
            Some(value) => value,
            // A user who marks the value as given has not left it out.
            None if !root.is_given() && self.matches(&Value::Undefined) => Value::Undefined,
            None => return Err(read::missing(self)),
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Returns all problems of a form, in the order of its parts. The list is empty exactly if
    /// [`Pattern::read_form_with`] accepts the form.
    ///
    /// ```
    /// use passable::Pattern;
    /// let pattern: Pattern = Pattern::parse("M.arrayOf(M.number())")?;
    /// let body = [("value/0", "one"), ("value/1", "2"), ("value/2", "three")];
    /// let wrong = pattern.form_problems_with(&body.map(|(name, text)| (name.into(), text.into())), &mut |_, _| None);
    /// let told: Vec<String> = wrong.iter().map(passable::Mismatch::teach).collect();
    /// assert_eq!(told, ["`[0]`: expected a number, found the text \"one\"", "`[2]`: expected a number, found the text \"three\""]);
    /// # Ok::<(), passable::PatternError>(())
    /// ```
    pub fn form_problems_with(
        &self,
        pairs: &[(String, String)],
        resolve: &mut Resolve<'_, C>,
    ) -> Vec<Mismatch> {
        let Err(first) = self.read_form_with(pairs, resolve) else { return Vec::new() };
        let all =
            tree::build_tree(pairs).map_or_else(|_| Vec::new(), |root| problems::all(self, &root, resolve));
        if all.is_empty() { vec![first] } else { all }
    }

    /// Counts the matching elements of each collection whose pattern bounds their number, with the code that checks
    /// values.
    ///
    /// Each count comes with the name of its control. Elements that cannot be read yet do not match.
    ///
    /// ```
    /// use passable::Pattern;
    /// let pattern: Pattern = Pattern::parse("{ marks: M.and(M.arrayOf(M.number()), M.containerHas(M.gte(3), 2n)) }")?;
    /// let body = [("value/marks/0", "4"), ("value/marks/1", "1")].map(|(name, text)| (name.to_owned(), text.to_owned()));
    /// let counted = pattern.count_elements_with(&body, &mut |_, _| None);
    /// assert_eq!(counted[0].0, "value/marks");
    /// assert_eq!(counted[0].1.summary(), "1 of 2 needed rows are 3 or more");
    /// # Ok::<(), passable::PatternError>(())
    /// ```
    pub fn count_elements_with(
        &self,
        pairs: &[(String, String)],
        resolve: &mut Resolve<'_, C>,
    ) -> Vec<(String, ElementCount)> {
        let mut out = Vec::new();
        if let Ok(root) = tree::build_tree(pairs) {
            element_count::count_elements(self, ROOT, &root, resolve, &mut out);
        }
        out
    }

    /// Returns the pairs that a form sends after a user has filled in the value.
    ///
    /// [`Pattern::read_form`] reads the same value back, except that optional fields that are `undefined` are left
    /// out. Every value can be written: parts that a control cannot hold become JSON. References have no names here;
    /// see [`Pattern::write_form_with`].
    ///
    /// ```
    /// use passable::{Pattern, Value};
    /// let pattern: Pattern = Pattern::parse("M.or(M.string(), M.arrayOf(M.boolean()))")?;
    /// let pairs = pattern.write_form(&Value::parse("[true, false]")?);
    /// let shown: Vec<String> = pairs.iter().map(|(name, text)| format!("{name}={text}")).collect();
    /// assert_eq!(shown, ["value:kind=1", "value/1/0=true", "value/1/1=false"]);
    /// # Ok::<(), passable::PatternError>(())
    /// ```
    pub fn write_form(&self, value: &Value<C>) -> Vec<(String, String)> {
        self.write_form_with(value, &mut |_| String::new())
    }

    /// Writes a form as [`Pattern::write_form`] does; the caller names the references.
    pub fn write_form_with(
        &self,
        value: &Value<C>,
        refer: &mut dyn FnMut(&C) -> String,
    ) -> Vec<(String, String)> {
        write::write(self, value, refer)
    }
}
