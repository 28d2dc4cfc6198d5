//! The schemas of text and numbers.

use serde_json::{Map, Value as Json};

use super::{Outcome, Reader, instead_of, single_or_and};
use crate::pattern::{Comparison, Limit, Limits, Matcher, Pattern, Refinement};
use crate::value::{Reference, Value};

impl<'a> Reader<'a> {
    pub(super) fn string<C: Reference>(
        &self,
        object: &'a Map<String, Json>,
        used: &mut Vec<&'a str>,
    ) -> Outcome<Pattern<C>> {
        let least = self.count(object, "minLength")?.unwrap_or(0);
        if let Some(encoding) = object.get("contentEncoding") {
            if encoding != "base64" {
                return self.refuse("of `contentEncoding` only base64 has a pattern", "write `\"base64\"`");
            }
            self.may_take("contentEncoding", "bytes")?;
            self.nothing_else(object, &["maxLength", "minLength", "pattern"])?;
            return Ok(Pattern::bytes());
        }
        match object.get("pattern").and_then(Json::as_str) {
            Some("^-?[0-9]+$" | "^-?\\d+$") if least <= 1 => {
                self.may_take("pattern", "a big integer")?;
                used.push("pattern");
                let most = self.count(object, "maxLength")?.map(|most| most.saturating_sub(1) as f64);
                let limits = most.map(|most| Limits::from_pairs([(Limit::DecimalDigits, most)]));
                return Ok(Pattern::bigint_within(limits.unwrap_or_default()));
            }
            Some("^[0-9]+$" | "^\\d+$") if least <= 1 => {
                self.may_take("pattern", "a big integer")?;
                used.push("pattern");
                return Ok(Pattern::nat_within(self.limits(object, "maxLength", Limit::DecimalDigits)?));
            }
            Some(_) => return self.refuse("there is no pattern for `pattern`", instead_of("pattern")),
            None => {}
        }
        let mut parts =
            vec![Pattern::string_within(self.limits(object, "maxLength", Limit::StringLength)?)];
        match object.get("format").and_then(Json::as_str) {
            Some("almoner-petname") => {
                self.may_take("format", "a capability")?;
                self.nothing_else(object, &["maxLength", "minLength"])?;
                return Ok(Pattern::any_remotable());
            }
            Some(format @ ("date" | "date-time" | "email" | "uri")) => {
                parts.extend(Refinement::from_name(format).map(Pattern::refine));
            }
            _ => {}
        }
        if object.get("writeOnly") == Some(&Json::Bool(true)) {
            parts.push(Pattern::refine(Refinement::Secret));
        }
        match least {
            0 => {}
            1 => parts.push(Pattern::not(Pattern::text(""))),
            _ => {
                return self.refuse(
                    "there is no pattern for a `minLength` above 1",
                    "leave it out, or write `\"minLength\": 1` to refuse empty text",
                );
            }
        }
        Ok(single_or_and(parts))
    }

    /// Rejects keywords about the length of text, if the text encodes a value of another type.
    fn nothing_else(&self, object: &Map<String, Json>, keywords: &[&str]) -> Outcome<()> {
        match keywords.iter().find(|keyword| object.contains_key(**keyword)) {
            Some(keyword) => {
                let message = format!("`{keyword}` would count text that stands for something else");
                self.refuse(message, "leave it out")
            }
            None => Ok(()),
        }
    }

    pub(super) fn numeric<C: Reference>(
        &self,
        integer: bool,
        object: &Map<String, Json>,
    ) -> Outcome<Pattern<C>> {
        let multiple = self.number(object, "multipleOf")?;
        let is_whole = integer || multiple == Some(1.0);
        // Services declare long identifiers as `number` too.
        let refinement = if is_whole { Refinement::Integer } else { Refinement::Exact };
        let mut parts = vec![Pattern::number(), Pattern::refine(refinement)];
        if multiple.is_some_and(|multiple| multiple != 1.0) {
            return self.refuse(
                "there is no pattern for `multipleOf` but 1",
                "list the numbers with `enum`, or write `\"type\": \"integer\"` for whole ones",
            );
        }
        for (keyword, comparison) in [
            ("minimum", Comparison::Gte),
            ("exclusiveMinimum", Comparison::Gt),
            ("maximum", Comparison::Lte),
            ("exclusiveMaximum", Comparison::Lt),
        ] {
            if let Some(bound) = self.number(object, keyword)? {
                parts.push(Pattern::new(Matcher::Compare(comparison, Value::Number(bound))));
            }
        }
        Ok(single_or_and(parts))
    }
}
