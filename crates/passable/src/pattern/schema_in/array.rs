//! The schemas of lists, tuples and sets.

use serde_json::{Map, Value as Json};

use super::{Outcome, Reader, single_or_and};
use crate::pattern::{Limit, Limits, Pattern};
use crate::value::Reference;

pub(super) const KEYWORDS: [&str; 8] =
    ["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"];

fn at_most(most: Option<usize>) -> Limits {
    most.map_or_else(Limits::none, |most| Limits::from_pairs([(Limit::ArrayLength, most as f64)]))
}

impl<'a> Reader<'a> {
    pub(super) fn array<C: Reference>(&mut self, object: &'a Map<String, Json>) -> Outcome<Pattern<C>> {
        let distinct = match object.get("uniqueItems") {
            None | Some(Json::Bool(false)) => false,
            Some(Json::Bool(true)) => true,
            Some(_) => return self.refuse("`uniqueItems` is true or false", "write it without quotes"),
        };
        let (least, most) = (self.count(object, "minItems")?.unwrap_or(0), self.count(object, "maxItems")?);
        // If `contains` also checks the elements, they must be read as the JSON that they are.
        let items = |reader: &mut Self| match object.get("items") {
            None => Ok(None),
            Some(schema) => reader.within("items", |reader| reader.schema(schema)).map(Some),
        };
        let items = if object.contains_key("contains") { self.literally(items)? } else { items(self)? };
        let element = items.clone().unwrap_or_else(Pattern::any);
        let mut parts = Vec::new();
        match (object.get("prefixItems"), distinct) {
            (Some(_), true) => {
                return self.refuse(
                    "a set has a pattern only without `prefixItems`, because it has no order",
                    "leave `uniqueItems` or `prefixItems` out",
                );
            }
            (Some(prefix), false) => parts.push(self.tuple(prefix, object, items, least, most)?),
            (None, true) => {
                self.may_take("uniqueItems", "a set")?;
                // Endo's limit on sets is exclusive: a set must have fewer elements than the limit.
                let most = most.map(|most| Limits::from_pairs([(Limit::NumSetElements, most as f64 + 1.0)]));
                parts.push(Pattern::set_of_within(element, most.unwrap_or_default()));
            }
            (None, false) => parts.push(Pattern::array_of_within(element, at_most(most))),
        }
        if least > 0 && !object.contains_key("prefixItems") {
            parts.push(Pattern::container_has(Pattern::any(), least as u64));
        }
        self.contains(object, &mut parts)?;
        Ok(single_or_and(parts))
    }

    fn contains<C: Reference>(
        &mut self,
        object: &'a Map<String, Json>,
        parts: &mut Vec<Pattern<C>>,
    ) -> Outcome<()> {
        let Some(contains) = object.get("contains") else {
            return match ["minContains", "maxContains"].iter().find(|keyword| object.contains_key(**keyword))
            {
                Some(keyword) => {
                    self.refuse(format!("`{keyword}` needs `contains`"), super::instead_of(keyword))
                }
                None => Ok(()),
            };
        };
        let part: Pattern<C> =
            self.within("contains", |reader| reader.literally(|reader| reader.schema(contains)))?;
        let least = self.count(object, "minContains")?.unwrap_or(1);
        if least > 0 {
            parts.push(Pattern::container_has(part.clone(), least as u64));
        }
        if let Some(most) = self.count(object, "maxContains")? {
            parts.push(Pattern::not(Pattern::container_has(part, most as u64 + 1)));
        }
        Ok(())
    }

    fn tuple<C: Reference>(
        &mut self,
        prefix: &'a Json,
        object: &'a Map<String, Json>,
        items: Option<Pattern<C>>,
        least: usize,
        most: Option<usize>,
    ) -> Outcome<Pattern<C>> {
        let Some(prefix) = prefix.as_array() else {
            return self
                .refuse("`prefixItems` is a list of schemas", "write `items` for a list of any length");
        };
        let read = |reader: &mut Self| {
            let part =
                |(at, schema)| reader.within(format!("prefixItems/{at}"), |reader| reader.schema(schema));
            prefix.iter().enumerate().map(part).collect::<Outcome<Vec<Pattern<C>>>>()
        };
        let mut parts = if object.contains_key("contains") { self.literally(read)? } else { read(self)? };
        let closed = object.get("items") == Some(&Json::Bool(false));
        if most.is_some_and(|most| most < least) || (closed && least > parts.len()) {
            return Ok(Pattern::or([]));
        }
        let prefixed = parts.len();
        parts.truncate(most.unwrap_or(prefixed));
        let closed = closed || most.is_some_and(|most| most <= prefixed);
        if closed && least == parts.len() {
            return Ok(Pattern::tuple(parts));
        }
        let (required, optional) = parts.split_at_checked(least).unwrap_or((&parts, &[]));
        let optional = optional.iter().map(|part| part.as_optional().unwrap_or(part).clone());
        let limit = most.map(|most| most - parts.len().min(most));
        let rest = match (closed, items, limit) {
            (true, ..) => Some(Pattern::tuple([])),
            (false, None, None) => None,
            (false, items, limit) => {
                Some(Pattern::array_of_within(items.unwrap_or_else(Pattern::any), at_most(limit)))
            }
        };
        let split = Pattern::split_array(required.iter().cloned(), optional, rest);
        Ok(match least > parts.len() {
            true => Pattern::and([split, Pattern::container_has(Pattern::any(), least as u64)]),
            false => split,
        })
    }
}
