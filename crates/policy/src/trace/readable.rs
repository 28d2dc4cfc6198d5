//! The text of a result, in the form that is searched: the texts in it without the escapes of JSON, a line for each
//! field.

use passable::Value;

use super::text::FIELD;

/// The maximum depth of JSON in texts of JSON.
const MAX_NESTED: usize = 3;

/// The maximum length of a text that stands on one line with the name of its field, in bytes.
const MAX_INLINE: usize = 120;

/// Returns the texts in a value, each as it was before it was put into the value. The name of a field stands before its
/// content, with [`FIELD`] between them.
pub fn readable<C>(value: &Value<C>) -> String {
    let mut out = String::new();
    write(value, MAX_NESTED, &mut out);
    out
}

/// Returns the texts in a result that is kept as text: as JSON, or as it is.
pub fn readable_text(text: &str) -> String {
    let mut out = String::new();
    write_text(text, MAX_NESTED, &mut out);
    out
}

fn write<C>(value: &Value<C>, nested: usize, out: &mut String) {
    match value {
        Value::String(text) => write_text(&text.to_str_lossy(), nested, out),
        Value::Bytes(bytes) => out.push_str(&String::from_utf8_lossy(bytes)),
        Value::Number(number) => out.push_str(&format!("{number}")),
        Value::BigInt(number) => out.push_str(&number.to_string()),
        Value::Array(elements) => elements.iter().for_each(|element| {
            let is_inner = matches!(element, Value::Array(_) | Value::Record(_));
            // Records follow each other as paragraphs, and other elements are the entries of a list.
            out.push_str(if is_inner { "\n" } else { "- " });
            write(element, nested, out);
            out.push('\n');
        }),
        Value::Record(fields) => {
            let is_single = fields.iter().count() == 1;
            fields.iter().for_each(|(name, field)| {
                let name = name.to_str_lossy();
                let start = out.len();
                write(field, nested, out);
                let is_inline = out.len() - start <= MAX_INLINE && !out[start..].contains('\n');
                // The text of an answer is no field, and a long text begins on its own line.
                match is_inline {
                    _ if is_single || name == "text" => {}
                    true => out.insert_str(start, &format!("{name}{FIELD}")),
                    false => out.insert_str(start, &format!("\n{name}{FIELD}\n")),
                }
                out.push('\n');
            });
        }
        Value::Tagged(tagged) => write(tagged.payload(), nested, out),
        _ => {}
    }
}

fn write_text(text: &str, nested: usize, out: &mut String) {
    let inner = Some(text.trim()).filter(|text| nested > 0 && text.starts_with(['{', '[']));
    match inner.and_then(|json| Value::from_json_text(json).ok()) {
        Some(value) => {
            write(&value, nested - 1, out);
            out.truncate(out.trim_end().len());
        }
        None => out.push_str(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_is_read_without_the_escapes_of_json() {
        for (text, expected) in [
            (r#"{"text":"- a\n- \"b\""}"#, "- a\n- \"b\""),
            (r#"{"id":5,"to":["x","y"]}"#, "id\u{1f}5\n\nto\u{1f}\n- x\n- y"),
            (r#"{"text":"{\"total\": 9052.4}"}"#, "9052.4"),
            (r#"["a","b"]"#, "- a\n- b"),
            ("{ no json", "{ no json"),
        ] {
            assert_eq!(readable_text(text), expected, "{text}");
        }
    }
}
