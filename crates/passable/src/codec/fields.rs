//! The fields of one object while it is read.

use std::iter::Zip;
use std::vec::Drain;

use crate::codec::error::Problem;
use crate::text::Text;
use crate::value::{Value, ValueError, depth_above};

/// The fields of the innermost open object. They lie at the top of two stacks, above those of outer objects.
pub(crate) struct Fields<'a, C> {
    names: &'a mut Vec<Text>,
    values: &'a mut Vec<Value<C>>,
    first_name: usize,
    first_value: usize,
}

impl<'a, C> Fields<'a, C> {
    /// Returns the fields with the names from `first_name` on, and with as many values from the end of `values`.
    pub(crate) fn new(names: &'a mut Vec<Text>, values: &'a mut Vec<Value<C>>, first_name: usize) -> Self {
        let first_value = (values.len() + first_name).saturating_sub(names.len());
        Fields { names, values, first_name, first_value }
    }

    pub(crate) fn names(&self) -> &[Text] {
        self.names.get(self.first_name..).unwrap_or_default()
    }

    /// Removes all fields and returns them.
    pub(crate) fn drain(&mut self) -> Zip<Drain<'_, Text>, Drain<'_, Value<C>>> {
        self.names.drain(self.first_name..).zip(self.values.drain(self.first_value..))
    }

    /// Sorts the fields by their names. Refuses a name that occurs twice.
    pub(crate) fn sort(&mut self) -> Result<(), ValueError> {
        if self.names().is_sorted_by(|left, right| left < right) {
            return Ok(());
        }
        let mut fields: Vec<_> = self.drain().collect();
        fields.sort_by(|(left, _), (right, _)| left.cmp(right));
        if let Some([(name, _), _]) = fields.array_windows().find(|[(left, _), (right, _)]| left == right) {
            return Err(ValueError::DuplicateName(name.clone()));
        }
        let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
        self.names.extend(names);
        self.values.extend(values);
        Ok(())
    }

    /// Returns the record of the fields, which must be sorted.
    pub(crate) fn into_record(mut self) -> Result<Value<C>, ValueError> {
        let depth = depth_above(self.values.get(self.first_value..).unwrap_or_default())?;
        Ok(Value::sorted_record(depth, self.drain()))
    }

    /// Removes one field and returns its value, if the field exists.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value<C>> {
        let at = self.names().iter().position(|own| own == name)?;
        self.names.remove(self.first_name + at);
        Some(self.values.remove(self.first_value + at))
    }

    /// Removes a field, which must be text if it exists, and returns the text.
    pub(crate) fn take_text(&mut self, name: &'static str) -> Result<Option<Text>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Problem::Malformed(name)),
        }
    }

    /// Removes a field, which must exist and be text, and returns the text.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Text, Problem> {
        self.take_text(name)?.ok_or(Problem::Malformed(name))
    }
}
