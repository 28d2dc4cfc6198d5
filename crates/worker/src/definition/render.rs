//! The rendering of a definition's templates with data.
//!
//! [`template`](super::template) checks the templates in advance. This module has the limits at run time. A rendering
//! reads only the definition, its bundle and the given data.

use std::io;
use std::ops::Range;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use passable::big_digits;
use serde_json::{Map, Value as Json, json};

use super::bundle::Bundle;
use super::filters::{self, Budget};
use super::template::{Place, Template};
use super::walk::Walk;
use super::{Definition, Piece, ThenStep, WriteStep};

/// The maximum number of template instructions in one rendering.
const MAX_FUEL: u64 = 500_000;
/// The maximum size of a rendered text, and of the data for it, in bytes.
const MAX_OUTPUT: usize = 4 << 20;
/// The maximum number of bytes that the filters of one rendering may read and make.
const MAX_FILTERED: u64 = 64 << 20;
/// The maximum nesting depth of includes, loops and conditions. An include counts as ten.
const MAX_NESTING: usize = 200;

/// The reason why a text could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The template uses a value that the data does not have.
    #[error("{place}, line {line}: {} is missing", name.as_deref().map_or("a value".to_owned(), |name| format!("`{name}`")))]
    Missing {
        /// The template: the worker file or an included one.
        place: String,
        /// The line of the template, from 1.
        line: usize,
        /// The name of the value in the template.
        name: Option<String>,
    },
    /// The template uses a value in an invalid way.
    #[error("{place}, line {line}: {message}")]
    Failed {
        /// The template: the worker file or an included one.
        place: String,
        /// The line of the template, from 1.
        line: usize,
        /// A description of the error.
        message: String,
    },
    /// The data is too large for a template.
    #[error("there are more than {} MiB of data for a template", MAX_OUTPUT >> 20)]
    TooMuchData,
    /// The text would become too long.
    #[error("{place}: the text would become longer than {} MiB", MAX_OUTPUT >> 20)]
    TooLong {
        /// The template: the worker file or an included one.
        place: String,
    },
    /// The template needs too many instructions.
    #[error("{place}: the template does not come to an end in reasonable time")]
    TooMuchWork {
        /// The template: the worker file or an included one.
        place: String,
    },
    /// The path of a write cannot name a file inside a directory.
    #[error("the path of a write came out as {path:?}: {why}")]
    Path {
        /// The rendered path. It may contain foreign text, and `Debug` makes it safe to show.
        path: String,
        /// The problem of the path.
        why: &'static str,
    },
    /// The definition has no step with this number.
    #[error("the worker has no step {index}")]
    NoStep {
        /// The number of the step, from 0.
        index: usize,
    },
}

/// The file that a write step writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedFile {
    /// The slot of the directory for the file.
    pub slot: String,
    /// The path of the file, relative to that directory, with `/`.
    pub path: String,
    /// The text of the file.
    pub content: String,
}

/// Renders the prompt for the model. The data is a record with `input` (the record of inputs). It may also have
/// `item` (`name`, `stem`, `suffix`, `index`) and `attachments` (a list of `name`, `bytes`).
pub fn render_prompt(definition: &Definition, bundle: &Bundle, data: &Json) -> Result<String, RenderError> {
    let renderer = Renderer::new(bundle, data)?;
    renderer.text(&definition.body).map(|text| text.trim().to_owned())
}

/// Renders the inputs of the call in step `index` of `then`. The data is that of [`render_prompt`] with `output` and
/// the results of the steps before, by name. A template that consists of one `{{ value }}` gives the value itself.
/// Any other gives text.
pub fn render_with(
    definition: &Definition,
    bundle: &Bundle,
    index: usize,
    data: &Json,
) -> Result<Map<String, Json>, RenderError> {
    let ThenStep { with, .. } = definition.then.get(index).ok_or(RenderError::NoStep { index })?;
    let renderer = Renderer::new(bundle, data)?;
    with.iter().map(|(name, piece)| Ok((name.clone(), renderer.piece(piece)?))).collect()
}

/// Renders the file of step `index` of `write`. For an `each` step, the data is that of [`render_with`] with the
/// results of all `then` steps. For a `once` step, the data is `input` and `items`. Each item is a record of `item`,
/// `output`, the `then` results by name, and `error` (text, or null if there was none).
pub fn render_write(
    definition: &Definition,
    bundle: &Bundle,
    index: usize,
    data: &Json,
) -> Result<RenderedFile, RenderError> {
    let WriteStep { slot, path, content, .. } =
        definition.write.get(index).ok_or(RenderError::NoStep { index })?;
    let renderer = Renderer::new(bundle, data)?;
    let path = checked_path(renderer.text(path)?)?;
    Ok(RenderedFile { slot: slot.clone(), path, content: renderer.text(content)? })
}

/// Renders the path of step `index` of `write` alone. The data must have the names that the path uses.
pub fn render_path(
    definition: &Definition,
    bundle: &Bundle,
    index: usize,
    data: &Json,
) -> Result<String, RenderError> {
    let WriteStep { path, .. } = definition.write.get(index).ok_or(RenderError::NoStep { index })?;
    checked_path(Renderer::new(bundle, data)?.text(path)?)
}

/// Returns whether the path of a write step uses no other names than these.
pub fn is_path_known_before(write: &WriteStep, bundle: &Bundle, names: &[&str]) -> bool {
    uses_only(&write.path, bundle, names)
}

/// Returns whether the path and the content of a write step use no other names than these.
pub fn is_write_known_before(write: &WriteStep, bundle: &Bundle, names: &[&str]) -> bool {
    uses_only(&write.path, bundle, names) && uses_only(&write.content, bundle, names)
}

/// Returns the line at which a template begins, counted from 1. An included file begins at line 1.
pub fn template_line(template: &Template, bundle: &Bundle) -> usize {
    match &template.place {
        Place::File(_) => 1,
        Place::WorkerFile(span) => {
            1 + bundle.source.get(..span.start).map_or(0, |before| before.matches('\n').count())
        }
    }
}

/// Returns whether the prompt is the same for each item of a batch.
pub fn is_prompt_same_for_all(definition: &Definition, bundle: &Bundle) -> bool {
    uses_only(&definition.body, bundle, &["input"])
}

fn uses_only(template: &Template, bundle: &Bundle, names: &[&str]) -> bool {
    let mut walk = Walk::new(&bundle.includes);
    match &template.place {
        Place::File(name) => walk.file(name, None, 0..0, names),
        Place::WorkerFile(span) => walk.own(&template.text, span.clone(), &bundle.source, names),
    }
    walk.problems.is_empty()
}

/// Returns the path, if it can name a file inside a directory. The directory capability checks paths too. This check
/// comes earlier, and explains a bad path that a template made from a name.
fn checked_path(path: String) -> Result<String, RenderError> {
    let why = if path.trim().is_empty() {
        "it is empty"
    } else if path.len() > 1024 || path.split('/').any(|part| part.len() > 255) {
        "it is too long"
    } else if path.contains(|c: char| c.is_control() || c == '\\') {
        "it has a line break, a backslash or a control character"
    } else if path.starts_with('/') {
        "it is not relative to the slot's directory"
    } else if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        "it has a part that is empty, `.` or `..`"
    } else {
        return Ok(path);
    };
    Err(RenderError::Path { path, why })
}

struct Renderer<'b> {
    bundle: &'b Bundle,
    environment: Environment<'b>,
    data: Value,
}

impl<'b> Renderer<'b> {
    fn new(bundle: &'b Bundle, data: &Json) -> Result<Renderer<'b>, RenderError> {
        if size(data, 0) > MAX_OUTPUT {
            return Err(RenderError::TooMuchData);
        }
        let mut environment = Environment::empty();
        // The line break at the end of a text is kept.
        if let Ok(syntax) = SyntaxConfig::builder().keep_trailing_newline(true).build() {
            environment.set_syntax(syntax);
        }
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_recursion_limit(MAX_NESTING);
        environment.set_fuel(Some(MAX_FUEL));
        // With this setting, errors have a place. The debug output itself is never shown.
        environment.set_debug(true);
        environment.set_formatter(|out, _, value| match value.as_str() {
            Some(text) => Ok(out.write_str(text)?),
            None => Ok(out.write_str(&filters::plain(value)?.unwrap_or_default())?),
        });
        filters::install(&mut environment, &Budget::new(MAX_FILTERED));
        for (name, text) in &bundle.includes {
            // A file that is no valid template was reported when the definition was parsed, and is missing here.
            let _ = environment.add_template_owned(name.clone(), lines(text));
        }
        Ok(Renderer { bundle, environment, data: to_value(data) })
    }

    fn text(&self, template: &Template) -> Result<String, RenderError> {
        let (name, text) = match &template.place {
            Place::File(name) => (name.as_str(), self.bundle.includes.get(name).map_or("", String::as_str)),
            Place::WorkerFile(_) => (self.bundle.file.as_str(), template.text.as_str()),
        };
        let text = lines(text);
        let mut out = LimitedWriter { bytes: Vec::new(), over: false };
        let rendered = self
            .environment
            .template_from_named_str(name, &text)
            .and_then(|ready| ready.render_captured_to(self.data.clone(), &mut out).map(drop));
        if out.over {
            return Err(RenderError::TooLong { place: name.to_owned() });
        }
        rendered.map_err(|error| self.error(error, template))?;
        // Only whole strings were written, so the bytes are valid UTF-8.
        Ok(String::from_utf8(out.bytes).unwrap_or_default())
    }

    fn piece(&self, piece: &Piece) -> Result<Json, RenderError> {
        match piece {
            Piece::Data(data) => Ok(data.clone()),
            Piece::Text(template) => Ok(Json::String(self.text(template)?)),
            Piece::Value { template, expression } => {
                let value = self
                    .environment
                    .compile_expression(expression)
                    .and_then(|ready| ready.eval(self.data.clone()))
                    .and_then(|value| match value.kind() {
                        ValueKind::Undefined => Err(ErrorKind::UndefinedError.into()),
                        _ => Ok(value),
                    })
                    .map_err(|error| match self.error(error, template) {
                        RenderError::Missing { place, line, .. } => {
                            RenderError::Missing { place, line, name: Some(expression.clone()) }
                        }
                        error => error,
                    })?;
                to_json(&value).ok_or_else(|| RenderError::Failed {
                    place: self.bundle.file.clone(),
                    line: template_line(template, self.bundle),
                    message: "this is not a value that can be handed on".to_owned(),
                })
            }
            Piece::List(items) => items.iter().map(|item| self.piece(item)).collect(),
            Piece::Record(fields) => {
                let fields = fields.iter().map(|(name, piece)| Ok((name.clone(), self.piece(piece)?)));
                fields.collect::<Result<Map<_, _>, RenderError>>().map(Json::Object)
            }
        }
    }

    fn error(&self, error: Error, template: &Template) -> RenderError {
        // If an included file has an error, it is the cause of the error of the `include`.
        let mut error = &error;
        while let Some(cause) =
            std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<Error>())
        {
            error = cause;
        }
        let included = error.name().filter(|name| self.bundle.includes.contains_key(*name));
        let place = included.unwrap_or(&self.bundle.file).to_owned();
        let line = match included {
            Some(_) => error.line().unwrap_or(1),
            None => template_line(template, self.bundle) + error.line().unwrap_or(1).saturating_sub(1),
        };
        match error.kind() {
            ErrorKind::OutOfFuel => RenderError::TooMuchWork { place },
            ErrorKind::UndefinedError => {
                let asked = error.range().zip(error.template_source());
                let name = asked.and_then(|(range, text)| whole_expression(text, range));
                RenderError::Missing { place, line, name: name.map(str::to_owned) }
            }
            kind => RenderError::Failed {
                place,
                line,
                message: error.detail().map_or_else(|| kind.to_string(), str::to_owned),
            },
        }
    }
}

/// Returns the text with line ends in the form that templates count.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Returns the approximate size of the data as text, in bytes. Data that nests too deep gives a size beyond the
/// limit.
fn size(data: &Json, depth: usize) -> usize {
    if depth > 64 {
        return MAX_OUTPUT + 1;
    }
    match data {
        Json::String(text) => text.len() + 2,
        Json::Array(items) => items.iter().fold(2, |sum, item| sum.saturating_add(size(item, depth + 1) + 1)),
        Json::Object(fields) => fields.iter().fold(2, |sum, (name, value)| {
            sum.saturating_add(name.len() + 4).saturating_add(size(value, depth + 1))
        }),
        _ => 8,
    }
}

/// Returns data in the form that templates use.
fn to_value(data: &Json) -> Value {
    match data {
        Json::Null => Value::from(()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::from(value),
            (None, Some(value)) => Value::from(value),
            (None, None) => Value::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(to_value).collect(),
        Json::Object(fields) => match big_digits(fields) {
            Some(digits) => big_number(digits),
            None => Value::from_pairs(fields.iter().map(|(name, value)| (name.as_str(), to_value(value)))),
        },
    }
}

/// Returns a big integer in the form that templates use. Templates compute with 128 bits. A longer number becomes the
/// text of its digits.
fn big_number(digits: &str) -> Value {
    match (digits.parse::<i128>(), digits.parse::<u128>()) {
        (Ok(signed), _) => Value::from(signed),
        (_, Ok(unsigned)) => Value::from(unsigned),
        _ => Value::from(digits),
    }
}

/// Returns a value of a template as data. The data for the template did not nest too deep, so the result does not
/// either.
fn to_json(value: &Value) -> Option<Json> {
    match value.kind() {
        ValueKind::None => Some(Json::Null),
        ValueKind::Bool => Some(Json::Bool(value.is_true())),
        ValueKind::Number => match (i64::try_from(value.clone()), u64::try_from(value.clone())) {
            (Ok(number), _) if value.is_integer() => Some(Json::from(number)),
            (_, Ok(number)) if value.is_integer() => Some(Json::from(number)),
            // A template writes a whole number of 128 bits with all its digits.
            _ if value.is_integer() => Some(json!({ "@qclass": "bigint", "digits": value.to_string() })),
            _ => f64::try_from(value.clone()).ok().and_then(serde_json::Number::from_f64).map(Json::Number),
        },
        ValueKind::String => value.as_str().map(Json::from),
        ValueKind::Seq => {
            value.try_iter().ok()?.map(|item| to_json(&item)).collect::<Option<Vec<_>>>().map(Json::Array)
        }
        ValueKind::Map => {
            let field = |key: Value| Some((key.as_str()?.to_owned(), to_json(&value.get_item(&key).ok()?)?));
            value.try_iter().ok()?.map(field).collect::<Option<Map<_, _>>>().map(Json::Object)
        }
        _ => None,
    }
}

/// A writer that keeps its bytes in memory, up to a limit.
struct LimitedWriter {
    bytes: Vec<u8>,
    over: bool,
}

impl io::Write for LimitedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len().saturating_add(bytes.len()) > MAX_OUTPUT {
            self.over = true;
            return Err(io::Error::other("too long"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the expression at a place of a template. The library's place of `input.a.b` begins at the last dot.
fn whole_expression(text: &str, range: Range<usize>) -> Option<&str> {
    let before = text.get(..range.start)?;
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let start = match text.get(range.clone())?.starts_with('.') {
        true => before.trim_end_matches(is_part).len(),
        false => range.start,
    };
    text.get(start..range.end).map(str::trim)
}
