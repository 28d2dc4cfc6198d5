//! The filters and tests that templates may use. This module has its own implementations, so that each filter counts
//! the bytes that it reads and makes. None depends on locale, clock or chance.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use minijinja::value::{Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Value};

/// The maximum width of indentation that `indent` makes.
const MAX_INDENT: usize = 64;

/// The number of bytes that the filters of one rendering may still read and make.
#[derive(Clone)]
pub(crate) struct Budget(Arc<AtomicU64>);

impl Budget {
    pub(crate) fn new(bytes: u64) -> Budget {
        Budget(Arc::new(AtomicU64::new(bytes)))
    }

    /// Takes bytes from the budget, before the work is done. Each call takes one byte more, so that empty work costs
    /// something too.
    fn take(&self, bytes: usize) -> Result<(), Error> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(1);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map(drop).map_err(|_| ErrorKind::OutOfFuel.into())
    }

    /// Returns the text of a simple value.
    fn text<'v>(&self, value: &'v Value) -> Result<std::borrow::Cow<'v, str>, Error> {
        if let Some(text) = value.as_str() {
            self.take(text.len())?;
            return Ok(text.into());
        }
        self.take(64)?;
        match plain(value)? {
            Some(text) => Ok(text.into()),
            None => Ok("".into()),
        }
    }

    /// Returns the items of a list. A value of another kind is an error.
    fn items(&self, value: &Value) -> Result<Vec<Value>, Error> {
        match value.kind() {
            ValueKind::Seq | ValueKind::Iterable => {
                self.take(value.len().unwrap_or(0).saturating_mul(size_of::<Value>()))?;
                Ok(value.try_iter()?.collect())
            }
            _ => Err(invalid(format!("this filter needs a list, not {}", name(value)))),
        }
    }
}

/// Returns the text of a simple value, such as a number, true or false. The null value gives `None`. A list or a
/// record has no text and is an error.
pub(crate) fn plain(value: &Value) -> Result<Option<String>, Error> {
    match value.kind() {
        ValueKind::None => Ok(None),
        ValueKind::Bool => Ok(Some(value.is_true().to_string())),
        ValueKind::Number | ValueKind::String => Ok(Some(value.to_string())),
        ValueKind::Undefined => Err(ErrorKind::UndefinedError.into()),
        _ => {
            let help = "take one of its fields, or use `|tojson`, `|join` or `|table`";
            Err(invalid(format!("{} has no text of its own: {help}", name(value))))
        }
    }
}

fn name(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::Undefined => "a value that is missing",
        ValueKind::None => "nothing",
        ValueKind::Bool => "true or false",
        ValueKind::Number => "a number",
        ValueKind::String => "text",
        ValueKind::Seq | ValueKind::Iterable => "a list",
        ValueKind::Map => "a record",
        _ => "this",
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Adds the filters and tests to a template environment.
pub(crate) fn install(environment: &mut Environment<'_>, budget: &Budget) {
    macro_rules! filter {
        ($name:literal, |$budget:ident, $($arg:ident: $type:ty),+| $body:expr) => {
            let own = budget.clone();
            environment.add_filter($name, move |$($arg: $type),+| -> Result<Value, Error> {
                let $budget = &own;
                $body
            });
        };
    }
    // Like Jinja's `default`, this filter does not replace empty text.
    filter!("default", |budget, value: Value, other: Option<Value>| {
        budget.take(0)?;
        Ok(if value.is_undefined() || value.is_none() { other.unwrap_or_else(|| "".into()) } else { value })
    });
    filter!("upper", |budget, value: Value| Ok(budget.text(&value)?.to_uppercase().into()));
    filter!("lower", |budget, value: Value| Ok(budget.text(&value)?.to_lowercase().into()));
    filter!("trim", |budget, value: Value| Ok(budget.text(&value)?.trim().into()));
    filter!("line", |budget, value: Value| {
        Ok(budget.text(&value)?.split_whitespace().collect::<Vec<_>>().join(" ").into())
    });
    filter!("first", |budget, value: Value| Ok(budget.items(&value)?.into_iter().next().unwrap_or_default()));
    filter!("last", |budget, value: Value| Ok(budget
        .items(&value)?
        .into_iter()
        .next_back()
        .unwrap_or_default()));
    filter!("length", |budget, value: Value| {
        let length = match value.as_str() {
            Some(text) => {
                budget.take(text.len())?;
                text.chars().count()
            }
            None => value.len().ok_or_else(|| invalid(format!("{} has no length", name(&value))))?,
        };
        Ok(length.into())
    });
    filter!("join", |budget, value: Value, between: Option<String>| {
        let (mut out, between) = (String::new(), between.unwrap_or_default());
        for (index, item) in budget.items(&value)?.iter().enumerate() {
            if index > 0 {
                budget.take(between.len())?;
                out.push_str(&between);
            }
            out.push_str(&budget.text(item)?);
        }
        Ok(out.into())
    });
    filter!("replace", |budget, value: Value, from: String, to: String| {
        let text = budget.text(&value)?;
        if from.is_empty() {
            return Err(invalid("there is nothing to replace in empty text".to_owned()));
        }
        // The search itself is linear. The budget pays for the text that is inserted.
        budget.take(text.matches(&from).count().saturating_mul(to.len()))?;
        Ok(text.replace(&from, &to).into())
    });
    filter!("truncate", |budget, value: Value, length: usize| {
        let text = budget.text(&value)?;
        Ok(match text.char_indices().nth(length) {
            None => text.as_ref().into(),
            Some(_) => {
                let kept: String = text.chars().take(length.saturating_sub(1)).collect();
                format!("{}…", kept.trim_end()).into()
            }
        })
    });
    filter!("indent", |budget, value: Value, width: usize, first: Option<bool>| {
        let text = budget.text(&value)?;
        if width > MAX_INDENT {
            return Err(invalid(format!("`indent` indents by at most {MAX_INDENT}")));
        }
        budget.take(text.matches('\n').count().saturating_mul(width))?;
        Ok(indent(&text, width, first.unwrap_or(false)).into())
    });
    filter!("tojson", |budget, value: Value, width: Option<usize>| {
        let mut out = BoundedText { text: String::new(), budget };
        let width = width.unwrap_or(0).min(MAX_INDENT);
        json(&mut out, &value, width, 0)?;
        Ok(out.text.into())
    });
    filter!("table", |budget, value: Value, columns: Rest<Value>| {
        let columns: Vec<Value> = columns.iter().cloned().collect();
        // Two forms are accepted: `table(["A: a", "B: b"])` and `table("A: a", "B: b")`.
        let columns = match columns.first().map(Value::kind) {
            Some(ValueKind::Seq) => budget.items(&columns[0])?,
            _ => columns,
        };
        table(budget, &budget.items(&value)?, &columns).map(Value::from)
    });

    environment.add_test("defined", |value: &Value| !value.is_undefined());
    environment.add_test("undefined", |value: &Value| value.is_undefined());
    environment.add_test("none", |value: &Value| value.is_none());
    environment.add_test("boolean", |value: &Value| value.kind() == ValueKind::Bool);
    environment.add_test("number", |value: &Value| value.kind() == ValueKind::Number);
    environment.add_test("string", |value: &Value| value.kind() == ValueKind::String);
    environment.add_test("sequence", |value: &Value| value.kind() == ValueKind::Seq);
    environment.add_test("mapping", |value: &Value| value.kind() == ValueKind::Map);
    let own = budget.clone();
    environment.add_test("containing", move |value: Value, part: Value| -> Result<bool, Error> {
        match (value.as_str(), part.as_str(), value.kind()) {
            (Some(text), Some(part), _) => {
                own.take(text.len().saturating_add(part.len()))?;
                Ok(text.contains(part))
            }
            (None, Some(key), ValueKind::Map) => {
                own.take(key.len())?;
                value.get_attr(key).map(|found| !found.is_undefined())
            }
            (None, _, ValueKind::Seq) if plain(&part).is_ok() => {
                own.take(part.as_str().map_or(0, str::len))?;
                Ok(own.items(&value)?.contains(&part))
            }
            _ => Err(invalid(format!("{} cannot contain {}", name(&value), name(&part)))),
        }
    });
}

fn indent(text: &str, width: usize, first: bool) -> String {
    let margin = " ".repeat(width);
    let mut out = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if (index > 0 || first) && !line.trim().is_empty() {
            out.push_str(&margin);
        }
        out.push_str(line);
    }
    out
}

/// A text whose bytes are taken from the budget before they are added.
struct BoundedText<'b> {
    text: String,
    budget: &'b Budget,
}

impl BoundedText<'_> {
    fn push(&mut self, text: &str) -> Result<(), Error> {
        self.budget.take(text.len())?;
        self.text.push_str(text);
        Ok(())
    }

    fn line(&mut self, width: usize, depth: usize) -> Result<(), Error> {
        if width == 0 {
            return Ok(());
        }
        self.push("\n")?;
        self.push(&" ".repeat(width.saturating_mul(depth)))
    }
}

/// Writes a value as JSON. If `width` is not 0, the JSON has several lines.
fn json(out: &mut BoundedText<'_>, value: &Value, width: usize, depth: usize) -> Result<(), Error> {
    if depth > 64 {
        return Err(invalid("this is nested too deep".to_owned()));
    }
    match value.kind() {
        ValueKind::None => out.push("null"),
        ValueKind::Bool => out.push(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => {
            let text = value.to_string();
            // Infinities and NaN have no JSON form, so they become null.
            out.push(if text.contains(|c: char| c.is_ascii_digit()) { &text } else { "null" })
        }
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            out.budget.take(text.len())?;
            out.push(&serde_json::Value::String(text.to_owned()).to_string())
        }
        ValueKind::Seq => {
            let items = out.budget.items(value)?;
            out.push("[")?;
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(if width == 0 { ", " } else { "," })?;
                }
                out.line(width, depth + 1)?;
                json(out, item, width, depth + 1)?;
            }
            if !items.is_empty() {
                out.line(width, depth)?;
            }
            out.push("]")
        }
        ValueKind::Map => {
            out.push("{")?;
            let mut empty = true;
            for key in value.try_iter()? {
                if !std::mem::take(&mut empty) {
                    out.push(if width == 0 { ", " } else { "," })?;
                }
                out.line(width, depth + 1)?;
                json(out, &key, width, depth + 1)?;
                out.push(": ")?;
                json(out, &value.get_item(&key)?, width, depth + 1)?;
            }
            if !empty {
                out.line(width, depth)?;
            }
            out.push("}")
        }
        ValueKind::Undefined => Err(ErrorKind::UndefinedError.into()),
        _ => Err(invalid(format!("{} cannot be written as JSON", name(value)))),
    }
}

/// Returns a Markdown table for a list of records. A column is given as `Title: path.to.field`. If a record lacks a
/// field, the cell is empty, because a list may contain failed items.
fn table(budget: &Budget, rows: &[Value], columns: &[Value]) -> Result<String, Error> {
    let columns: Vec<(&str, &str)> = columns
        .iter()
        .map(|column| {
            let text =
                column.as_str().ok_or_else(|| invalid("a column is text: `Title: field`".to_owned()))?;
            let (title, path) = text.rsplit_once(':').unwrap_or((text, text));
            Ok((title.trim(), path.trim()))
        })
        .collect::<Result<_, Error>>()?;
    if columns.is_empty() {
        return Err(invalid("a table needs columns: `items|table(\"File: item.name\")`".to_owned()));
    }
    let mut out = BoundedText { text: String::new(), budget };
    for (title, _) in &columns {
        out.push("| ")?;
        cell(&mut out, title)?;
        out.push(" ")?;
    }
    out.push("|\n")?;
    for _ in &columns {
        out.push("| --- ")?;
    }
    out.push("|")?;
    for row in rows {
        out.push("\n")?;
        for (_, path) in &columns {
            let mut value = row.clone();
            for key in path.split('.') {
                value = if value.is_undefined() { value } else { value.get_attr(key)? };
            }
            out.push("| ")?;
            if !value.is_undefined() {
                let text = budget.text(&value)?;
                cell(&mut out, &text)?;
            }
            out.push(" ")?;
        }
        out.push("|")?;
    }
    Ok(out.text)
}

/// Writes text that stays inside its table cell: on one line, with escaped bars.
fn cell(out: &mut BoundedText<'_>, text: &str) -> Result<(), Error> {
    let mut safe = String::new();
    for (index, word) in text.split(['\n', '\r']).filter(|line| !line.is_empty()).enumerate() {
        let _ = write!(
            safe,
            "{}{}",
            if index > 0 { " " } else { "" },
            word.replace('\\', "\\\\").replace('|', "\\|")
        );
    }
    out.push(&safe)
}
