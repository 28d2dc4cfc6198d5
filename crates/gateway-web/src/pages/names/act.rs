//! The forms that change names.

use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Look, Response};
use kernel::command::NameAct;
use kernel::name::is_pet_name;
use kernel::{FormulaId, NamePath, Value};
use maud::{Markup, html};
use passable::visible_line;

use crate::answer::Answer;
use crate::page::{link, parts};
use crate::page_request::{PageRequest, unexpected};
use crate::pages::messages::step_up;

/// Returns the forms of a directory. A rejected form is shown again with its values.
pub fn forms(asked: &PageRequest, path: Option<&NamePath>) -> Markup {
    let directory = path.map(ToString::to_string).unwrap_or_default();
    let field = |name: &str| asked.field(name).unwrap_or("").to_owned();
    let is = |what: &str| asked.field("do") == Some(what);
    html! {
        section aria-labelledby="new-title" {
            h2 #new-title { "Something new" }
            details open[is("store")] {
                summary { "Keep a value under a name" }
                form method="post" action="/names" data-draft={ "store " (directory) } {
                    (common(asked, "store", &directory))
                    label for="store-name" { "Name" }
                    input #store-name name="name" value=(field("name")) autocomplete="off" required;
                    label for="store-value" { "Value" }
                    textarea #store-value name="value" rows="3" { "\n" (field("value")) }
                    fieldset {
                        legend { "It is" }
                        label.beside { input type="radio" name="as" value="text" checked[field("as") != "json"]; "text" }
                        label.beside { input type="radio" name="as" value="json" checked[field("as") == "json"]; "JSON" }
                    }
                    (force_checkbox(asked, "store"))
                    div.buttons { button { "Keep it" } }
                }
            }
            details open[is("mkdir")] {
                summary { "Make a directory" }
                form method="post" action="/names" {
                    (common(asked, "mkdir", &directory))
                    label for="mkdir-name" { "Name" }
                    input #mkdir-name name="name" value=(field("name")) autocomplete="off" required;
                    (force_checkbox(asked, "mkdir"))
                    div.buttons { button { "Make it" } }
                }
            }
        }
    }
}

/// Returns the forms of one name. Each is bound to the object that the name stands for when the page is shown.
pub fn forms_of_name(asked: &PageRequest, path: &NamePath) -> Markup {
    let text = path.to_string();
    // Special names, which everyone has, and names in mail cannot be changed.
    let own = is_pet_name(path.split().1) && !path.names().iter().any(|name| name == "@mail");
    let to = asked.field("to").map_or_else(|| text.clone(), str::to_owned);
    let stands_for = html! {
        @if let Ok(Response::Identifier(Some(id))) = asked.look(Look::Identifier { path: path.clone() }) {
            input type="hidden" name="is" value=(id);
        }
    };
    html! {
        section aria-labelledby="name-title" {
            h2 #name-title { "The name" }
            @for (what, label, button) in WAYS.into_iter().filter(|(what, ..)| own || *what == "copy") {
                form method="post" action="/names" {
                    (common(asked, what, &text))
                    (stands_for)
                    label for={ (what) "-to" } { (label) }
                    input #{ (what) "-to" } name="to" value=(to) autocomplete="off" required;
                    (step_up::field_of(asked, &format!("{what}-"), "To put a program, the network or a secret where others have names"))
                    (force_checkbox(asked, what))
                    div.buttons { button { (button) } }
                }
            }
            @if own {
                form method="post" action="/names" {
                    (common(asked, "remove", &text))
                    (stands_for)
                    p.note { "What it stands for stays as long as something else leads to it." }
                    div.buttons { button.yes.away { "Take the name away" } }
                }
            }
        }
    }
}

/// The actions that give another name. Each has its word in the form, the label of its field, and the label of its
/// button.
const WAYS: [(&str, &str, &str); 2] =
    [("move", "Its new name", "Rename"), ("copy", "Another name for it", "Copy")];

fn common(asked: &PageRequest, what: &str, path: &str) -> Markup {
    html! {
        (parts::token(&asked.session))
        input type="hidden" name="do" value=(what);
        input type="hidden" name="path" value=(path);
    }
}

/// Returns a checkbox if the form was rejected. It allows a name that is in use or looks like another one.
fn force_checkbox(asked: &PageRequest, what: &str) -> Markup {
    html! {
        @if asked.field("do") == Some(what) {
            label.beside { input type="checkbox" name="force" value="yes"; "Even so: replace what has this name, or although it looks like another" }
        }
    }
}

/// Answers `POST /names`.
pub fn act(asked: &PageRequest) -> Result<Answer, Failure> {
    let path = asked.field("path").unwrap_or("");
    match perform(asked, path) {
        Ok(to) => Ok(Answer::Go(to)),
        Err(failure) => {
            let status = if failure.exit == Exit::Conflict { 409 } else { 422 };
            let wrong = parts::failure_at(&super::no_name(failure), field_of(asked).as_slice());
            super::page(asked, path, Some(wrong), status)
        }
    }
}

/// Returns the id and the label of the name field in the form that was sent.
fn field_of(asked: &PageRequest) -> Option<(&'static str, &'static str)> {
    Some(match asked.field("do")? {
        "store" => ("store-name", "Name"),
        "mkdir" => ("mkdir-name", "Name"),
        "move" => ("move-to", "Its new name"),
        "copy" => ("copy-to", "Another name for it"),
        _ => return None,
    })
}

fn bad_name(error: &kernel::name::NameError) -> Failure {
    Failure::from_error(Exit::Invalid, error.clone())
        .help("a name has 1 to 255 letters, without `/`, `@`, and is neither `.` nor `..`; `/` stands between names")
}

/// Returns whether a new name gives others access to a high-risk object. Others may hold the directory of the name,
/// and thereby everything that has a name in it.
fn weighs(asked: &PageRequest, from: &NamePath, to: &NamePath) -> Result<bool, Failure> {
    let (directory, _) = to.split();
    if directory.is_empty() || directory == from.split().0 {
        return Ok(false);
    }
    match asked.look(Look::Object { path: from.clone() }) {
        Ok(Response::Object(thing)) => step_up::leads_to(asked, &thing),
        // An object that has ended gives access to nothing. A missing object is reported later, when it should get
        // its name.
        Err(failure) if [Exit::Denied, Exit::NotFound].contains(&failure.exit) => Ok(false),
        Err(failure) => Err(failure),
        Ok(other) => Err(unexpected(&other)),
    }
}

/// Carries out the requested action, and returns the address of the page that shows the result.
fn perform(asked: &PageRequest, path: &str) -> Result<String, Failure> {
    // A typed name has no blanks at its ends, but an existing name may have some.
    let parse = |text: &str| NamePath::parse(text).map_err(|error| bad_name(&error));
    let new = || {
        let name = asked.filled("name").unwrap_or("");
        if path.is_empty() { parse(name) } else { parse(&format!("{path}/{name}")) }
    };
    let is: Option<FormulaId> = asked.field("is").and_then(|id| id.parse().ok());
    let as_seen = |path: NamePath, act: NameAct| match is {
        Some(is) => NameAct::IfUnchanged { path, is, act: Box::new(act) },
        None => act,
    };
    let force = asked.field("force") == Some("yes");
    // A name that is in use is not replaced silently.
    let expect_free = |path: &NamePath| match asked.look(Look::Object { path: path.clone() }) {
        Ok(Response::Object(thing)) if !force => {
            let words = thing.words.visible_line().into_owned();
            let message = format!("`{path}` is a name already, for {words} ({})", visible_line(&thing.kind));
            Err(Failure::new(Exit::Conflict, message)
                .help("choose another name, or say that it is to be replaced"))
        }
        // The name of an object that has ended is in use, too. With `force`, the name is not checked.
        Err(failure) if failure.exit != Exit::NotFound && !force => Err(failure),
        _ => Ok(()),
    };
    let forced = |act| if force { NameAct::Forced { act: Box::new(act) } } else { act };
    let name = |verb: &str, text: String, act: NameAct, to: &[String]| -> Result<String, Failure> {
        asked.act(verb, text, AgentAct::Name { act })?;
        Ok(link::names(to))
    };
    match asked.field("do") {
        Some("store") => {
            let path = new()?;
            let value = asked.field("value").unwrap_or("").to_owned();
            let (value, text) = match asked.field("as") {
                Some("json") => {
                    let json = serde_json::from_str(&value)
                        .map_err(|error| Failure::new(Exit::Invalid, format!("this is not JSON: {error}")))?;
                    let kept =
                        Value::from_json(&json).map_err(|error| Failure::from_error(Exit::Invalid, error))?;
                    (kept, format!("store {path}:={value}"))
                }
                _ => (Value::string(value.clone()), format!("store {path}={value}")),
            };
            expect_free(&path)?;
            let to = path.names().to_vec();
            name("store", text, forced(NameAct::StoreValue { value, path }), &to)
        }
        Some("mkdir") => {
            let path = new()?;
            expect_free(&path)?;
            let to = path.names().to_vec();
            name("mkdir", format!("mkdir {path}"), forced(NameAct::MakeDirectory { path }), &to)
        }
        Some(verb @ ("move" | "copy")) => {
            let (from, to) = (parse(path)?, parse(asked.filled("to").unwrap_or(""))?);
            step_up::check(asked, weighs(asked, &from, &to)?)?;
            expect_free(&to)?;
            let text = format!("{verb} {from} {to}");
            let place = to.names().to_vec();
            let seen = from.clone();
            let act = if verb == "move" { NameAct::Move { from, to } } else { NameAct::Copy { from, to } };
            name(verb, text, as_seen(seen, forced(act)), &place)
        }
        Some("remove") => {
            let path = parse(path)?;
            let to = path.split().0.to_vec();
            let text = format!("remove {path}");
            name("remove", text, as_seen(path.clone(), NameAct::Remove { path }), &to)
        }
        _ => Err(Failure::new(Exit::Usage, "there is nothing of that name to do")),
    }
}
