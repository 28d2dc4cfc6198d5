//! `almoner endow`: a user binds their own things to the slots of a proposed program.

use std::collections::BTreeMap;

use kernel::NamePath;
use kernel::command::Reply;
use kernel::message::Body;
use passable::visible_line;
use worker::definition::{self, Bundle, Definition};

use super::models;
use crate::cli;
use crate::cli::NamedText;
use crate::cli::agents::EndowArgs;
use crate::follow::form_answers::{confirm, nothing_sent, print_missing_fields};
use crate::follow::run_outcome;
use crate::session;
use crate::session::command_line;
use crate::session::{Session, print_reply};
use crate::ui::output;
use crate::ui::prompt;
use crate::ui::prompt::PromptInput;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{AgentAct, ModelChoice, Response, StartSpec};
use control::show::message_view;
use control::view::{FieldSpec, MessageView};
use resource::{Endowment, Row, TextStart, describe_spec};

/// The bindings of slots, and the remaining arguments.
#[derive(Debug, Default, PartialEq)]
struct SlotBindings {
    /// The slots that are bound to names of the user's.
    names: BTreeMap<String, NamePath>,
    /// The slots that are bound to things of this machine, like paths.
    paths: Vec<Endowment>,
    /// The inputs and documents.
    rest: Vec<String>,
}

impl SlotBindings {
    fn has(&self, slot: &str) -> bool {
        self.names.contains_key(slot) || self.paths.iter().any(|path| path.slot == slot)
    }

    /// Returns each slot and its content, as the user reads it. The definition gives the kind of a slot.
    fn render(&self, definition: Option<&Definition>) -> String {
        let kind = |slot: &str| definition.and_then(|definition| definition.slot(slot)).map(|slot| slot.kind);
        let names = self.names.iter().map(|(slot, name)| (slot, format!("your `{name}`")));
        let paths = self.paths.iter().map(|path| (&path.slot, describe_spec(&path.fill, kind(&path.slot))));
        names
            .chain(paths)
            .map(|(slot, text)| format!("  {} ← {}\n", visible_line(slot), visible_line(&text)))
            .collect()
    }
}

/// Runs `almoner endow`.
///
/// # Errors
/// When a slot is open and no person is here to be asked, a binding does not fit, or the run fails.
pub fn endow(acting: &Session<'_>, args: &EndowArgs) -> ExitResult {
    run_outcome::result_file(&args.follow)?;
    let number = session::parse_message_number(&args.message)?;
    let view = acting.message(number)?;
    let Some(Body::Definition { .. }) = view.letter.body() else {
        return Err(message_view::wrong_kind_failure(&view, "a definition", acting.agent));
    };
    let mut bound = bind(&view.fields, &args.inputs)?;
    for text in &args.endow {
        bound.paths.push(cli::parse_endowment(text)?);
    }
    let open: Vec<&FieldSpec> = view.fields.iter().filter(|hole| !bound.has(&hole.name)).collect();
    if !open.is_empty() && !output::can_ask() {
        return Err(print_missing_fields(number, "endow", &open, args.follow.json)?);
    }
    let inputs = cli::read_inputs(&bound.rest)?;
    if output::can_ask() {
        output::note(&message_view::render(&view, output::columns()));
        let names = acting.names();
        for hole in open {
            ask(acting, hole, &names, &mut bound)?;
        }
    }
    let definition = definition(&view);
    let model = match view.is_worker {
        true => {
            let by_file = definition.as_ref().and_then(|definition| definition.model.as_deref());
            ModelChoice::Reference(models::choose(acting.place, args.model.as_deref(), by_file, false)?)
        }
        // For code, the daemon refuses a model, because code asks none.
        false => args.model.clone().map_or(ModelChoice::Usual, ModelChoice::Named),
    };
    if output::can_ask() {
        output::note(&format!("Endowing message {number} binds:\n{}", bound.render(definition.as_ref())));
        confirm(&format!("endow {number}"))?;
    }
    let text = transcript_line(args, &bound);
    let spec = StartSpec {
        values: inputs.values,
        read_from: inputs.read_from,
        documents: acting.readable_documents(inputs.documents)?,
        endow: bound.paths,
        allow: args.allow.clone(),
        model,
        ..StartSpec::default()
    };
    let act = AgentAct::Endow {
        number,
        names: bound.names,
        spec: Box::new(spec),
        goes_to: args.to.into(),
        result_name: session::parse_optional_path(args.result.as_deref())?,
        seen: None,
    };
    let after = acting.last_event()?;
    match acting.ask(acting.request("endow", text, act))? {
        Response::Reply(Reply::Started { run }) if args.follow.detach => {
            output::result(&run.to_string())?;
            Ok(Exit::Ok)
        }
        Response::Reply(Reply::Started { run }) => {
            run_outcome::follow(acting, run, Some(after), &args.follow)
        }
        other => print_reply(&other, args.follow.json),
    }
}

/// Separates `slot=NAME` from inputs. An argument under the name of a slot binds that slot.
fn bind(holes: &[FieldSpec], inputs: &[String]) -> Result<SlotBindings, Failure> {
    let mut bound = SlotBindings::default();
    for text in inputs {
        match cli::split_named(text) {
            Some((slot, NamedText::Text(name))) if holes.iter().any(|hole| hole.name == slot) => {
                if bound.names.insert(slot.to_owned(), session::parse_path(name)?).is_some() {
                    return Err(Failure::new(Exit::Usage, format!("the slot `{slot}` is bound twice"))
                        .help("bind it once"));
                }
            }
            _ => bound.rest.push(text.clone()),
        }
    }
    Ok(bound)
}

/// Asks the user to fill a slot: with a name, or with a text that may stand behind `-e SLOT=`.
fn ask(
    acting: &Session<'_>,
    hole: &FieldSpec,
    names: &[String],
    bound: &mut SlotBindings,
) -> Result<(), Failure> {
    output::note(&message_view::field_spec(hole, output::columns()));
    let name = visible_line(&hole.name).into_owned();
    loop {
        let text = match prompt::line(&format!("{name} (a name, or as behind -e; ? lists names): "), names)? {
            PromptInput::End => return Err(nothing_sent()),
            PromptInput::Line(text) => text,
        };
        if let Some(beginning) = text.strip_suffix('?') {
            output::note(&prompt::matching(names, beginning));
            continue;
        }
        // A text is a name if that name exists. Otherwise it is a name unless it has the form of an endowment.
        let begins = || text.starts_with(['.', '/']) || Row::for_text(&text).0.start != TextStart::Path;
        let done = if !names.contains(&text) && begins() {
            cli::parse_endowment(&format!("{}={text}", hole.name)).map(|path| bound.paths.push(path))
        } else {
            session::parse_path(&text).and_then(|path| {
                acting.object(path.clone())?;
                bound.names.insert(hole.name.clone(), path);
                Ok(())
            })
        };
        match done {
            Ok(()) => return Ok(()),
            Err(failure) => output::note(&format!("  {}", failure.message.visible_line())),
        }
    }
}

/// Returns the definition of a proposed worker. Returns `None` for code, or if the worker file does not parse.
fn definition(view: &MessageView) -> Option<Definition> {
    let source = view.source.as_ref().filter(|_| view.is_worker)?;
    let bundle = Bundle {
        name: "definition".to_owned(),
        file: "definition.worker".to_owned(),
        source: source.raw().to_owned(),
        includes: BTreeMap::new(),
    };
    definition::parse(&bundle).0
}

/// Returns the command with all bindings, for the transcript.
fn transcript_line(args: &EndowArgs, bound: &SlotBindings) -> String {
    let mut text = command_line::command_line();
    let said = |slot: &str| {
        let prefix = format!("{slot}=");
        args.inputs.iter().chain(&args.endow).any(|given| given.starts_with(&prefix))
    };
    // The bindings typed at the prompts are part of the command too.
    text += &render_bindings(bound, &said);
    text
}

/// Returns the bindings as the user would type them, without those of slots for which `said` is true.
fn render_bindings(bound: &SlotBindings, said: &dyn Fn(&str) -> bool) -> String {
    let mut text = String::new();
    for (slot, name) in bound.names.iter().filter(|(slot, _)| !said(slot)) {
        text += &format!(" {slot}={name}");
    }
    for path in bound.paths.iter().filter(|path| !said(&path.slot)) {
        text += &format!(" -e {}", command_line::transcript_word(&path.typed()));
    }
    text
}

#[cfg(test)]
mod tests {
    use passable::Untrusted;

    use super::*;

    #[test]
    fn input_named_like_a_slot_binds_the_slot() {
        let hole = FieldSpec {
            name: "out".to_owned(),
            label: Untrusted::new(""),
            wants: "a directory".to_owned(),
            capability: true,
            secret: false,
            default: None,
            choices: vec![],
        };
        let inputs = ["out=mine/reports", "k=v", "n:=1", "mail"].map(str::to_owned);
        let bound = bind(std::slice::from_ref(&hole), &inputs).unwrap();
        assert_eq!(bound.names["out"].to_string(), "mine/reports");
        assert_eq!(bound.rest, ["k=v", "n:=1", "mail"]);
        assert!(bound.has("out") && !bound.has("k"));
        for bad in [["out=a", "out=b"], ["out=", "x"]] {
            assert_eq!(
                bind(std::slice::from_ref(&hole), &bad.map(str::to_owned)).unwrap_err().exit,
                Exit::Usage
            );
        }
    }

    #[test]
    fn bindings_are_rendered_one_per_line() {
        let mut bound = SlotBindings::default();
        bound.names.insert("a".to_owned(), NamePath::parse("x").unwrap());
        bound.paths.push(cli::parse_endowment("out=/tmp/\u{1b}[2K:rw?max=1KiB").unwrap());
        assert_eq!(
            bound.render(None),
            "  a ← your `x`\n  out ← directory /tmp/\\u{1B}[2K (rw); at most 1024 bytes each\n"
        );
    }

    #[test]
    fn listed_endowment_shows_every_limit() {
        for (text, told) in [
            ("x=/d?rate=3/min", "directory /d; 3 calls in 1 min"),
            (
                "x=/d:rw?max=1KiB&total=2KiB",
                "directory /d (rw); at most 1024 bytes each; at most 2048 bytes in all",
            ),
            ("x=https://h?max=5&rate=1/s", "https://h (GET); at most 5 bytes each; 1 call in 1 s"),
            (
                "x=mcp:s[t]?max=1&rate=2/h",
                "tool t (sends) of the server s; at most 1 bytes each; 2 calls in 1 h",
            ),
            ("x=git:/r?private&methods=log", "repository /r; private; only the methods log"),
        ] {
            let paths = vec![cli::parse_endowment(text).unwrap()];
            let bound = SlotBindings { paths, ..SlotBindings::default() };
            assert_eq!(bound.render(None), format!("  x ← {told}\n"), "{text}");
        }
    }

    #[test]
    fn transcript_of_endowments_can_be_parsed_back() {
        for text in [
            "x=/d:stage?suffix=.md&max=1KiB&methods=list,read&rate=3/min&private",
            "x=https://h/p?methods=GET,POST&key=K&max=5&rate=1/s",
            "x=mcp:s[list,read:reads]?max=1&time=5s&rate=1/s",
            "x=model:ollama:m?tokens=5k&key=K",
            "x=secret:github?env=T&for=gh",
            "x=git:/r:rw?private",
            "x=clock",
            "x=self",
        ] {
            let given = cli::parse_endowment(text).unwrap();
            let bound = SlotBindings { paths: vec![given.clone()], ..SlotBindings::default() };
            let told = render_bindings(&bound, &|_| false);
            let typed = told.strip_prefix(" -e ").unwrap();
            assert_eq!(cli::parse_endowment(typed).unwrap(), given, "{typed}");
        }
    }
}
