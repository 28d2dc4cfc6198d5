//! `almoner submit`, and the prompts for values that a form or an endowment needs.

use std::collections::BTreeMap;

use kernel::message::{Body, Field};
use kernel::{MessageNumber, Pattern, Value};
use passable::{Mismatch, visible_line};

use crate::cli;
use crate::cli::NamedText;
use crate::cli::agents::SubmitArgs;
use crate::session;
use crate::session::{Session, print_reply};
use crate::ui::output;
use crate::ui::prompt;
use crate::ui::prompt::PromptInput;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{AgentAct, FieldInput};
use control::show::message_view;
use control::view::FieldSpec;

/// Runs `almoner submit`.
///
/// # Errors
/// When a value is missing and no person is here to be asked, or a value does not fit.
pub fn submit(acting: &Session<'_>, args: &SubmitArgs) -> ExitResult {
    let number = session::parse_message_number(&args.message)?;
    let view = acting.message(number)?;
    let Some(Body::Form { fields, .. }) = view.letter.body() else {
        return Err(message_view::wrong_kind_failure(&view, "a form", acting.agent));
    };
    let mut values = parse_values(&view.fields, fields, &args.values)?;
    let needed: Vec<&FieldSpec> = view
        .fields
        .iter()
        .filter(|hole| !values.contains_key(&hole.name) && is_needed(hole, fields))
        .collect();
    if !needed.is_empty() && !output::can_ask() {
        return Err(print_missing_fields(number, "submit", &needed, args.json.json)?);
    }
    if output::can_ask() && (!needed.is_empty() || args.values.is_empty()) {
        output::note(&message_view::render(&view, output::columns()));
        let names = acting.names();
        for hole in &view.fields {
            if values.contains_key(&hole.name) {
                continue;
            }
            let pattern = pattern_of(fields, &hole.name);
            if let Some(written) = ask(acting, hole, &names, pattern.as_ref(), is_needed(hole, fields))? {
                values.insert(hole.name.clone(), written);
            }
        }
        confirm(&format!("submit {number}"))?;
    }
    let text = transcript_line(acting, number, &view.fields, &values);
    print_reply(&acting.act_with_text("submit", text, AgentAct::Submit { number, values })?, args.json.json)
}

/// Reads the values of the command line. The value of a capability is always a name, even if it begins with `@`.
fn parse_values(
    holes: &[FieldSpec],
    fields: &[Field],
    texts: &[String],
) -> Result<BTreeMap<String, FieldInput>, Failure> {
    let mut values = BTreeMap::new();
    for text in texts {
        let (name, given) = cli::split_named(text).ok_or_else(|| {
            Failure::new(Exit::Usage, format!("`{text}` is not FIELD=VALUE"))
                .help("write `field=text`, `field:=json` or `field=@file`")
        })?;
        let hole = holes.iter().find(|hole| hole.name == name);
        let written = match given {
            NamedText::Json(json) => {
                let json = cli::read_json(name, json)?;
                read_json(hole, pattern_of(fields, name).as_ref(), name, json)?
            }
            NamedText::Text(text) => match text.strip_prefix('@') {
                Some(file) if hole.is_none_or(|hole| !hole.capability) => {
                    read_text(hole, pattern_of(fields, name).as_ref(), cli::read_text(file)?)
                }
                _ => read_text(hole, pattern_of(fields, name).as_ref(), text.to_owned()),
            }
            .map_err(|mismatch| mismatch_failure(name, &mismatch))?,
        };
        if values.insert(name.to_owned(), written).is_some() {
            return Err(
                Failure::new(Exit::Usage, format!("the field `{name}` is given twice")).help("give it once")
            );
        }
    }
    Ok(values)
}

/// Reads text as the pattern of its field says. The daemon reads secrets, pet names, and fields without a pattern.
fn read_text(
    hole: Option<&FieldSpec>,
    pattern: Option<&Pattern>,
    text: String,
) -> Result<FieldInput, Mismatch> {
    match (hole, pattern) {
        (Some(hole), Some(pattern)) if !hole.capability && !hole.secret => {
            pattern.read_text(&text).map(|value| FieldInput::Value { value })
        }
        _ => Ok(FieldInput::Text { text }),
    }
}

/// Reads JSON as a value that matches the pattern of its field. A string for a secret field stays text.
fn read_json(
    hole: Option<&FieldSpec>,
    pattern: Option<&Pattern>,
    name: &str,
    json: serde_json::Value,
) -> Result<FieldInput, Failure> {
    match json {
        serde_json::Value::String(text) if hole.is_some_and(|hole| hole.secret) => {
            Ok(FieldInput::Text { text })
        }
        json => {
            let value = Value::from_json(&json).map_err(|e| {
                Failure::new(Exit::Invalid, format!("field {name:?}: {e}")).help("nothing was sent")
            })?;
            if let Some(pattern) = pattern {
                pattern.check(&value).map_err(|mismatch| mismatch_failure(name, &mismatch))?;
            }
            Ok(FieldInput::Value { value })
        }
    }
}

fn mismatch_failure(name: &str, mismatch: &Mismatch) -> Failure {
    Failure::new(Exit::Invalid, format!("field {name:?}: {}", mismatch.teach())).help("nothing was sent")
}

fn pattern_of(fields: &[Field], name: &str) -> Option<Pattern> {
    let field = fields.iter().find(|field| field.name == name)?;
    Pattern::from_value(&field.pattern).ok()
}

fn is_needed(hole: &FieldSpec, fields: &[Field]) -> bool {
    let optional = pattern_of(fields, &hole.name).is_some_and(|pattern| pattern.matches(&Value::Undefined));
    hole.default.is_none() && !optional
}

/// Prints the fields that still need a value. Returns the failure with which the command ends.
pub fn print_missing_fields(
    number: MessageNumber,
    verb: &str,
    needed: &[&FieldSpec],
    json: bool,
) -> Result<Failure, Failure> {
    if json {
        output::json(&serde_json::json!({ "version": 1, "message": number, "needs": needed }))?;
    } else {
        output::result(
            &needed.iter().map(|hole| message_view::field_spec(hole, output::columns())).collect::<String>(),
        )?;
    }
    let names: Vec<_> = needed.iter().map(|hole| visible_line(&hole.name).into_owned()).collect();
    let first: Vec<_> = names.iter().map(|name| format!("{name}=…")).collect();
    Ok(Failure::new(Exit::NeedsYou, format!("message {number} still needs: {}", names.join(", ")))
        .help(format!("`almoner {verb} {number} {}`", first.join(" "))))
}

/// Asks for one field until the typed value fits. Returns `None` if the user leaves the field out.
fn ask(
    acting: &Session<'_>,
    hole: &FieldSpec,
    names: &[String],
    pattern: Option<&Pattern>,
    needed: bool,
) -> Result<Option<FieldInput>, Failure> {
    output::note(&message_view::field_spec(hole, output::columns()));
    let words = if hole.capability { names } else { &hole.choices };
    let name = visible_line(&hole.name).into_owned();
    loop {
        let typed = if hole.secret {
            prompt::secret(&format!("{name} (not shown): "))?
        } else {
            prompt::line(&format!("{name}: "), words)?
        };
        let text = match typed {
            PromptInput::End => return Err(nothing_sent()),
            PromptInput::Line(text) => text,
        };
        if text.is_empty() {
            if needed {
                output::note("  this one is needed; Ctrl-D gives up");
                continue;
            }
            return Ok(None);
        }
        if let (Some(beginning), false) = (text.strip_suffix('?'), words.is_empty()) {
            output::note(&prompt::matching(words, beginning));
            continue;
        }
        match read_field(acting, hole, pattern, text) {
            Ok(written) => return Ok(Some(written)),
            Err(why) => output::note(&format!("  {}", visible_line(&why))),
        }
    }
}

/// Reads the text of one field. If the text does not fit, the error is the reason.
fn read_field(
    acting: &Session<'_>,
    hole: &FieldSpec,
    pattern: Option<&Pattern>,
    text: String,
) -> Result<FieldInput, String> {
    if hole.capability {
        let path = session::parse_path(&text).map_err(|failure| failure.message.raw().to_owned())?;
        acting.object(path).map_err(|failure| failure.message.raw().to_owned())?;
    }
    if let Some(pattern) = pattern.filter(|_| hole.secret) {
        pattern.check(&Value::string(text.clone())).map_err(|mismatch| mismatch.teach())?;
    }
    read_text(Some(hole), pattern, text).map_err(|mismatch| mismatch.teach())
}

/// Asks the user to type a whole command, so that a single key press never sends anything.
///
/// # Errors
/// When the user types `later`, or ends the input.
pub fn confirm(command: &str) -> Result<(), Failure> {
    loop {
        match prompt::line(&format!("Type `{command}`, or `later`: "), &[])? {
            PromptInput::Line(line) if line == command => return Ok(()),
            PromptInput::Line(line) if line != "later" => {}
            _ => return Err(nothing_sent()),
        }
    }
}

/// Returns the failure for a user who gives no answer now.
pub fn nothing_sent() -> Failure {
    Failure::new(Exit::NeedsYou, "nothing was sent; the message waits as long as you like")
}

/// Returns the command for the transcript, with all values that were given in the end. Secrets are left out.
fn transcript_line(
    acting: &Session<'_>,
    number: MessageNumber,
    holes: &[FieldSpec],
    values: &BTreeMap<String, FieldInput>,
) -> String {
    let mut text = match acting.agent {
        Some(agent) => format!("almoner --as {agent} submit {number}"),
        None => format!("almoner submit {number}"),
    };
    for (name, written) in values {
        let open = holes.iter().any(|hole| hole.name == *name && !hole.secret);
        text += &match written {
            _ if !open => format!(" {name}=…"),
            FieldInput::Text { text } => format!(" {name}={}", quoted(text)),
            FieldInput::Value { value } => match value.as_str() {
                Some(text) => format!(" {name}={}", quoted(text)),
                None => format!(" {name}:={}", value.to_json()),
            },
        };
    }
    text
}

fn quoted(text: &str) -> String {
    if text.contains(char::is_whitespace) { format!("{text:?}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use passable::Untrusted;

    use super::*;

    fn hole(name: &str, capability: bool, secret: bool) -> FieldSpec {
        FieldSpec {
            name: name.to_owned(),
            label: Untrusted::new("L"),
            wants: "text".to_owned(),
            capability,
            secret,
            default: None,
            choices: vec![],
        }
    }

    #[test]
    fn form_fields_are_parsed_by_their_patterns() {
        let holes = [
            hole("a", false, false),
            hole("n", false, false),
            hole("c", true, false),
            hole("key", false, true),
        ];
        let field = |name: &str, pattern: &str| Field {
            name: name.to_owned(),
            label: Untrusted::new("L"),
            pattern: Pattern::parse(pattern).unwrap().to_value(),
            default: None,
            example: None,
            secret: name == "key",
        };
        let fields = [
            field("a", "M.string()"),
            field("n", "M.arrayOf(M.number())"),
            field("c", "M.remotable()"),
            field("key", "M.string()"),
        ];
        let check = |texts: &[&str], expected: Result<&str, Exit>| {
            let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
            let got = parse_values(&holes, &fields, &texts)
                .map(|v| serde_json::to_string(&v).unwrap())
                .map_err(|f| f.exit);
            assert_eq!(got, expected.map(str::to_owned), "{texts:?}");
        };
        check(&["a=x y"], Ok(r##"{"a":{"written":"value","value":{"body":"#\"x y\"","slots":[]}}}"##));
        check(&["a=5"], Ok(r##"{"a":{"written":"value","value":{"body":"#\"5\"","slots":[]}}}"##));
        check(&["a=!x"], Ok(r##"{"a":{"written":"value","value":{"body":"#\"!!x\"","slots":[]}}}"##));
        check(&["a:=5"], Err(Exit::Invalid));
        check(&["n:=[5]"], Ok(r##"{"n":{"written":"value","value":{"body":"#[5]","slots":[]}}}"##));
        check(&["n=[1, 2]"], Ok(r##"{"n":{"written":"value","value":{"body":"#[1,2]","slots":[]}}}"##));
        check(&["n=one"], Err(Exit::Invalid));
        check(&[r#"n:=["x"]"#], Err(Exit::Invalid));
        // A special name, not a file.
        check(&["c=@self"], Ok(r#"{"c":{"written":"text","text":"@self"}}"#));
        check(&["key=5"], Ok(r#"{"key":{"written":"text","text":"5"}}"#));
        check(&[r#"key:="5""#], Ok(r#"{"key":{"written":"text","text":"5"}}"#));
        // The daemon knows the names of the fields, so an unknown name passes here.
        check(&["nay=5"], Ok(r#"{"nay":{"written":"text","text":"5"}}"#));
        check(&["a=@/no/such/file"], Err(Exit::NotFound));
        check(&["a"], Err(Exit::Usage));
        check(&["a:=x"], Err(Exit::Usage));
        check(&["a=1", "a=2"], Err(Exit::Usage));
    }

    #[test]
    fn form_transcript_contains_no_secret() {
        let place = config::place::Place::under(std::path::Path::new("/nowhere"));
        let holes = [hole("a", false, false), hole("key", false, true)];
        let text = |t: &str| FieldInput::Text { text: t.to_owned() };
        // A name that no field has could be the mistyped name of a secret.
        let values = BTreeMap::from(
            [("a", "x y"), ("key", "hunter2"), ("kye", "hunter2")].map(|(k, v)| (k.to_owned(), text(v))),
        );
        let said = transcript_line(&Session::new(&place, Some("fae")), MessageNumber(3), &holes, &values);
        assert_eq!(said, r#"almoner --as fae submit 3 a="x y" key=… kye=…"#);
    }
}
