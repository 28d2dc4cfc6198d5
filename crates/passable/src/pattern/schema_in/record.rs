//! The schemas of objects.

use serde_json::{Map, Value as Json};

use super::{Outcome, Reader, instead_of, single_or_and};
use crate::pattern::{Limit, Pattern};
use crate::text::Text;
use crate::value::Reference;

pub(super) const KEYWORDS: [&str; 8] = [
    "properties",
    "required",
    "additionalProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
];

/// The keywords that check the same fields as `properties`.
const AGAIN: [&str; 1] = ["dependentSchemas"];

impl<'a> Reader<'a> {
    pub(super) fn record<C: Reference>(&mut self, object: &'a Map<String, Json>) -> Outcome<Pattern<C>> {
        let again = AGAIN.iter().any(|keyword| object.contains_key(*keyword));
        let fields = |reader: &mut Self| reader.fields(object);
        let mut parts = if again { self.literally(fields)? } else { fields(self)? };
        match self.count(object, "minProperties")? {
            None | Some(0) => {}
            Some(1) => parts.push(Pattern::not(Pattern::empty_record())),
            Some(_) => {
                let message = "there is no pattern for a `minProperties` above 1";
                return self.refuse(message, instead_of("minProperties"));
            }
        }
        self.dependent(object, &mut parts)?;
        Ok(single_or_and(parts))
    }

    fn names(&self, list: &'a Json, keyword: &str) -> Outcome<Vec<&'a str>> {
        let names: Option<Vec<&str>> =
            list.as_array().and_then(|names| names.iter().map(Json::as_str).collect());
        match names {
            Some(mut names) => {
                names.sort_unstable();
                names.dedup();
                Ok(names)
            }
            None => self.refuse(format!("`{keyword}` is a list of names"), "write it like `[\"a\", \"b\"]`"),
        }
    }

    fn fields<C: Reference>(&mut self, object: &'a Map<String, Json>) -> Outcome<Vec<Pattern<C>>> {
        let further: Option<Pattern<C>> = match object.get("additionalProperties") {
            None | Some(Json::Bool(true)) => None,
            Some(schema) => Some(self.within("additionalProperties", |reader| reader.schema(schema))?),
        };
        let closed = object.get("additionalProperties") == Some(&Json::Bool(false));
        let names = match object.get("required") {
            None => Vec::new(),
            Some(names) => self.names(names, "required")?,
        };
        let properties: Vec<(&'a String, &'a Json)> = match object.get("properties") {
            None => Vec::new(),
            Some(Json::Object(properties)) => properties.iter().collect(),
            Some(_) => {
                let help = "write it like `{ \"name\": { \"type\": \"string\" } }`";
                return self.refuse("`properties` is an object of schemas", help);
            }
        };
        let name = match object.get("propertyNames") {
            None => None,
            Some(schema) => Some(self.within("propertyNames", |reader| {
                reader.names = true;
                reader.literally(|reader| reader.schema(schema))
            })?),
        };
        let limits = self.limits(object, "maxProperties", Limit::NumProperties)?;
        let bounded = name.is_some() || object.contains_key("maxProperties");
        let any_name = || name.clone().unwrap_or_else(Pattern::any);
        if properties.is_empty() && names.is_empty() && !closed {
            let open = object.contains_key("properties") && !bounded && further.is_none();
            return Ok(vec![match open {
                true => Pattern::split_record::<Text, Text>([], [], None),
                false => Pattern::record_of_within(any_name(), further.unwrap_or_else(Pattern::any), limits),
            }]);
        }
        let (mut required, mut optional) = (Vec::new(), Vec::new());
        for (name, schema) in &properties {
            let pattern = self.within(format!("properties/{name}"), |reader| reader.schema(schema))?;
            let fields = if names.contains(&name.as_str()) { &mut required } else { &mut optional };
            fields.push((Text::from(name.as_str()), pattern));
        }
        let listed = |name: &&&str| properties.iter().any(|(own, _)| own == *name);
        let unlisted = names.iter().filter(|name| !listed(name));
        required
            .extend(unlisted.map(|name| (Text::from(*name), further.clone().unwrap_or_else(Pattern::any))));
        let mut parts = vec![match (closed, further) {
            (true, _) => Pattern::exact_record(required, optional),
            (false, None) => Pattern::split_record(required, optional, None),
            (false, Some(value)) => {
                Pattern::split_record(required, optional, Some(Pattern::record_of(Pattern::any(), value)))
            }
        }];
        if bounded {
            parts.push(Pattern::record_of_within(any_name(), Pattern::any(), limits));
        }
        Ok(parts)
    }

    /// Adds the patterns that a record must match if it has a certain field.
    fn dependent<C: Reference>(
        &mut self,
        object: &'a Map<String, Json>,
        parts: &mut Vec<Pattern<C>>,
    ) -> Outcome<()> {
        let with = |names: &[&str]| {
            let fields = names.iter().map(|name| (Text::from(*name), Pattern::<C>::any()));
            Pattern::split_record::<Text, Text>(fields.collect::<Vec<_>>(), [], None)
        };
        for keyword in ["dependentRequired", "dependentSchemas"] {
            let Some(cases) = object.get(keyword) else { continue };
            let Some(cases) = cases.as_object() else {
                let help = "write it like `{ \"name\": … }`";
                return self.refuse(format!("`{keyword}` is an object"), help);
            };
            for (name, then) in cases {
                let then = match keyword {
                    "dependentRequired" => with(&self.names(then, keyword)?),
                    _ => self.within(format!("{keyword}/{name}"), |reader| {
                        reader.literally(|reader| reader.schema(then))
                    })?,
                };
                parts.push(Pattern::or([Pattern::not(with(&[name.as_str()])), then]));
            }
        }
        Ok(())
    }
}
