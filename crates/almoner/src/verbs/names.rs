//! `almoner list`, `show`, `cat`, `store`, `name`, `copy`, `move`, `remove`, `mkdir` and `mount`.

use kernel::command::{NameAct, ProvidedObject};
use kernel::id::BadId;
use kernel::{NamePath, Value};

use crate::cli;
use crate::cli::NamedText;
use crate::cli::agents::{
    CatArgs, FromToArgs, ListArgs, MountArgs, NameArgs, NamesArgs, ShowArgs, StoreArgs,
};
use crate::session;
use crate::session::{Session, print_reply};
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{AgentAct, Look, Response};
use control::show::object_view;
use control::view::PromiseState;

/// Runs `almoner list`.
///
/// # Errors
/// When the directory does not exist.
pub fn list(acting: &Session<'_>, args: &ListArgs) -> ExitResult {
    let path = session::parse_optional_path(args.path.as_deref())?;
    let rows = match acting.look_up(Look::Names { path })? {
        Response::Names(rows) => rows,
        other => return Err(unexpected(&other)),
    };
    if args.json.json {
        output::json(&rows)?;
    } else if rows.is_empty() {
        output::empty("no names");
    } else {
        output::result(&object_view::names(&rows, args.long, output::reader()))?;
    }
    Ok(Exit::Ok)
}

/// Runs `almoner show`.
///
/// # Errors
/// When the name does not exist, or stands for a promise that is open or broken.
pub fn show(acting: &Session<'_>, args: &ShowArgs) -> ExitResult {
    let mut thing = acting.object(session::parse_path(&args.name)?)?;
    if let (Some(PromiseState::Pending), Some(id), true) = (&thing.promise, thing.id, args.wait) {
        let state = acting.wait(id)?;
        thing.value = match &state {
            PromiseState::Fulfilled { value } => Some(value.clone()),
            _ => None,
        };
        thing.promise = Some(state);
    }
    if args.json.json {
        output::json(&object_view::json(&thing))?;
    }
    if let Some(state @ (PromiseState::Pending | PromiseState::Rejected { .. })) = &thing.promise {
        return match session::print_promise(state, false) {
            Err(failure) if failure.exit == Exit::NeedsYou => Err(Failure::new(
                Exit::NeedsYou,
                format!("`{}` is still open: nothing has come of it yet", args.name),
            )
            .help(failure.help)),
            other => other,
        };
    }
    if !args.json.json {
        output::result(&object_view::object(&thing, output::reader()))?;
    }
    Ok(Exit::Ok)
}

/// Runs `almoner cat`.
///
/// # Errors
/// When the name does not exist, or stands for something that is no text.
pub fn cat(acting: &Session<'_>, args: &CatArgs) -> ExitResult {
    let thing = acting.object(session::parse_path(&args.name)?)?;
    let text = match (&thing.text, thing.value.as_ref().and_then(Value::as_str)) {
        (Some(text), _) => text.raw(),
        (None, Some(text)) => text,
        _ => {
            let what = format!("`{}` is {}, not text", args.name, thing.words.visible_line());
            return Err(Failure::new(Exit::Invalid, what)
                .help(format!("{} shows it", acting.command(&format!("show {}", args.name)))));
        }
    };
    output::part(text)?;
    Ok(Exit::Ok)
}

/// Runs `almoner store`.
///
/// # Errors
/// When a value cannot be read or stored.
pub fn store(acting: &Session<'_>, args: &StoreArgs) -> ExitResult {
    let acts: Vec<AgentAct> = args.values.iter().map(|text| store_act(text)).collect::<Result<_, _>>()?;
    let mut last = None;
    for act in acts {
        let act = match act {
            AgentAct::Name { act } => AgentAct::Name { act: with_force(act, args.force) },
            AgentAct::StoreText { text, path, .. } => AgentAct::StoreText { text, path, force: args.force },
            other => other,
        };
        last = Some(acting.act("store", act).map_err(|failure| suggest_force(failure, true))?);
    }
    last.map_or(Ok(Exit::Ok), |response| print_reply(&response, args.json.json))
}

fn store_act(text: &str) -> Result<AgentAct, Failure> {
    let (name, given) = cli::split_named(text).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("`{text}` is not NAME=VALUE"))
            .help("write NAME=text, NAME:=json, NAME=@file, or NAME=- for standard input")
    })?;
    let path = session::parse_path(name)?;
    Ok(match given {
        NamedText::Json(json) => {
            let json = cli::read_json(name, json)?;
            let value = Value::from_json(&json)
                .map_err(|e| Failure::new(Exit::Invalid, format!("{name}: {e}")).help("write plain JSON"))?;
            AgentAct::Name { act: NameAct::StoreValue { value, path } }
        }
        NamedText::Text("-") => AgentAct::StoreText { text: cli::stdin()?, path, force: false },
        NamedText::Text(text) => match text.strip_prefix('@') {
            Some(file) => AgentAct::StoreText { text: cli::read_text(file)?, path, force: false },
            None => {
                AgentAct::Name { act: NameAct::StoreValue { value: Value::string(text.to_owned()), path } }
            }
        },
    })
}

/// Runs `almoner name`.
///
/// # Errors
/// When the agent does not hold the object that it names.
pub fn name(acting: &Session<'_>, args: &NameArgs) -> ExitResult {
    let id = args.id.parse().map_err(|e: BadId| {
        Failure::from_error(Exit::Usage, e).help(format!(
            "{} shows identifiers; {} gives a second name to what has one",
            acting.command("list -l --json"),
            acting.command("copy NAME NEW")
        ))
    })?;
    let path = session::parse_path(&args.name)?;
    apply_acts(
        acting,
        "name",
        [with_force(NameAct::StoreIdentifier { id, path }, args.force)],
        args.json.json,
    )
}

/// Runs `almoner copy`.
///
/// # Errors
/// When the name does not exist.
pub fn copy(acting: &Session<'_>, args: &FromToArgs) -> ExitResult {
    let (from, to) = (session::parse_path(&args.from)?, session::parse_path(&args.to)?);
    apply_acts(acting, "copy", [with_force(NameAct::Copy { from, to }, args.force)], args.json.json)
}

/// Runs `almoner move`.
///
/// # Errors
/// When the name does not exist.
pub fn mv(acting: &Session<'_>, args: &FromToArgs) -> ExitResult {
    let (from, to) = (session::parse_path(&args.from)?, session::parse_path(&args.to)?);
    apply_acts(acting, "move", [with_force(NameAct::Move { from, to }, args.force)], args.json.json)
}

/// Runs `almoner remove`.
///
/// # Errors
/// When a name does not exist.
pub fn remove(acting: &Session<'_>, args: &NamesArgs) -> ExitResult {
    let acts = paths(&args.names)?.into_iter().map(|path| NameAct::Remove { path });
    apply_acts(acting, "remove", acts, args.json.json)
}

/// Runs `almoner mkdir`.
///
/// # Errors
/// When the name is taken, or lies in something that is no directory.
pub fn mkdir(acting: &Session<'_>, args: &NamesArgs) -> ExitResult {
    let acts = paths(&args.names)?.into_iter().map(|path| NameAct::MakeDirectory { path });
    apply_acts(acting, "mkdir", acts, args.json.json)
}

/// Runs `almoner mount`.
///
/// # Errors
/// When the path is no directory, or the directory contains the daemon's own files.
pub fn mount(acting: &Session<'_>, args: &MountArgs) -> ExitResult {
    let path = cli::absolute(&args.directory)?;
    let thing = ProvidedObject::Mount { path, read_only: args.read_only };
    let act = NameAct::Provide { thing, path: session::parse_path(&args.name)? };
    apply_acts(acting, "mount", [act], args.json.json)
}

/// Returns the act. With `force`, it is an act that also succeeds if the name looks like another name.
fn with_force(act: NameAct, force: bool) -> NameAct {
    if force { NameAct::Forced { act: Box::new(act) } } else { act }
}

/// Adds the advice to use `--force` to a conflict, if the command has this option.
pub(super) fn suggest_force(failure: Failure, forcible: bool) -> Failure {
    match failure.exit {
        Exit::Conflict if forcible => failure.help("choose another name, or give it with `--force`"),
        _ => failure,
    }
}

fn paths(names: &[String]) -> Result<Vec<NamePath>, Failure> {
    names.iter().map(|name| session::parse_path(name)).collect()
}

fn apply_acts(
    acting: &Session<'_>,
    verb: &str,
    acts: impl IntoIterator<Item = NameAct>,
    json: bool,
) -> ExitResult {
    for act in acts {
        let forcible = !matches!(act, NameAct::MakeDirectory { .. } | NameAct::Provide { .. });
        let response =
            acting.act(verb, AgentAct::Name { act }).map_err(|failure| suggest_force(failure, forcible))?;
        if json {
            output::json(&response)?;
        }
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_values_use_the_syntax_of_inputs() {
        let check = |text: &str, expected: &str| match store_act(text) {
            Ok(AgentAct::Name { act: NameAct::StoreValue { value, path } }) => {
                assert_eq!(format!("{path} {}", value.to_json()), expected, "{text}");
            }
            other => panic!("{text}: {other:?}"),
        };
        check("a=3", r#"a "3""#);
        check("a:=3", "a 3");
        check("d/a:=[1,\"x=y\"]", r#"d/a [1,"x=y"]"#);
        check("a=b:=c", r#"a "b:=c""#);
        check("a=", r#"a """#);
    }

    #[test]
    fn invalid_stored_value_is_refused() {
        for (text, exit) in [
            ("a", Exit::Usage),
            ("=x", Exit::Usage),
            ("@self=x", Exit::Usage),
            ("a:=nonsense", Exit::Usage),
            ("a=@/no/such/file", Exit::NotFound),
        ] {
            // A special name is refused by the kernel, which knows why.
            if text == "@self=x" {
                assert!(store_act(text).is_ok());
            } else {
                assert_eq!(store_act(text).unwrap_err().exit, exit, "{text}");
            }
        }
    }
}
