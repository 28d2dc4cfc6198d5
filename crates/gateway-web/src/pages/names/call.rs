//! A form that calls a method of a named object, with one control for each argument. The call runs like code typed
//! after `almoner eval`, so the same gates judge it and ask for approvals.

use std::collections::BTreeMap;

use control::call::{self, Call};
use control::exit::{Exit, Failure};
use control::inspect::FormulaView;
use control::protocol::{AgentAct, Look};
use control::view::{ObjectView, PickRow};
use kernel::command::{MailAct, Reply};
use kernel::facet::{Param, Presence};
use kernel::{FormulaId, NamePath, Pattern, Value};
use maud::{Markup, html};
use passable::{ArgGuard, Control, Matcher, MethodGuard, Secrecy, Untrusted, Widget, visible_line};

use super::methods::Methods;
use super::way;
use crate::answer::{Answer, Page};
use crate::field::check::{self, FieldError};
use crate::field::counters::{self, Counters};
use crate::field::draw::{FormRenderer, PlacedControl};
use crate::field::form_values::{FormValues, PIECE, ROW, has_file, has_pick};
use crate::field::summary::{self, SummaryPart};
use crate::field::{control_at, files, insert, live_check};
use crate::page::short_path::description;
use crate::page::{link, parts};
use crate::page_request::{PageRequest, take};
use crate::pages::messages::refusals::refused;
use crate::pages::messages::step_up;

/// The called object and its method, as the page shows them.
struct CallForm {
    path: NamePath,
    thing: ObjectView,
    methods: Methods,
    /// The method. The user types it if only the code that made the object knows its methods.
    method: String,
    fields: Vec<Argument>,
    picks: Vec<PickRow>,
}

/// A control for one argument, or for the list of all further arguments.
struct Argument {
    said: String,
    pattern: Pattern,
    control: Control,
    prefix: String,
    is_rest: bool,
}

impl Argument {
    /// Returns whether the argument, or a part of it, is a secret. Secrets are not accepted, because a call is
    /// recorded with its arguments.
    fn is_secret(&self) -> bool {
        self.pattern.secrecy() != Secrecy::None
    }

    fn draw(&self, drawn: &FormRenderer<'_>) -> Markup {
        drawn.draw(&PlacedControl {
            control: &self.control,
            place: &self.prefix,
            title: html! { (parts::word(&self.said)) },
            said: &visible_line(&self.said),
            help: None,
            preset: false,
        })
    }
}

fn argument(at: usize, said: &str, pattern: Pattern, presence: Presence) -> Argument {
    let pattern = if presence == Presence::Optional { Pattern::opt(pattern) } else { pattern };
    let (control, prefix) = (pattern.controls(), format!("a{at}"));
    Argument { said: said.to_owned(), pattern, control, prefix, is_rest: presence == Presence::Rest }
}

/// Returns a control for each argument of a method that has a guard.
fn guarded(method: &MethodGuard<FormulaId>) -> Vec<Argument> {
    let pattern = |guard: &ArgGuard<FormulaId>| match guard {
        ArgGuard::Pattern(pattern) => pattern.clone(),
        // An awaited argument may still be a promise.
        ArgGuard::Await(pattern) => Pattern::or([pattern.clone(), Pattern::promise("")]),
        ArgGuard::Raw => Pattern::any(),
    };
    let required = method.args.iter().map(|one| (pattern(one), Presence::Required));
    let optional = method.optional.iter().flatten().map(|one| (pattern(one), Presence::Optional));
    let rest = method.rest.iter().filter_map(further).map(|one| (one, Presence::Rest));
    let all = required.chain(optional).chain(rest).enumerate();
    all.map(|(at, (pattern, presence))| {
        let said = match presence {
            Presence::Rest => "Further arguments".to_owned(),
            _ => format!("Argument {}", at + 1),
        };
        argument(at, &said, pattern, presence)
    })
    .collect()
}

/// Returns the pattern of the list of all further arguments, or `None` if there may be none.
fn further(guard: &ArgGuard<FormulaId>) -> Option<Pattern> {
    match guard {
        ArgGuard::Raw => Some(Pattern::array()),
        ArgGuard::Pattern(own) | ArgGuard::Await(own) => match own.matcher() {
            Matcher::Any => Some(Pattern::array()),
            Matcher::Literal(all) if all.as_array().is_some_and(<[_]>::is_empty) => None,
            _ => Some(own.clone()),
        },
    }
}

impl CallForm {
    fn of(asked: &PageRequest, said: impl Fn(&str) -> Option<String>) -> Result<CallForm, Failure> {
        let text = said("path").unwrap_or_default();
        let path = NamePath::parse(&text).map_err(|error| {
            Failure::from_error(Exit::NotFound, error).help("choose something from the list of names")
        })?;
        let thing = *take!(asked.look(Look::Object { path: path.clone() })?, Object);
        let no_methods = || {
            let message = format!("`{}` is nothing that has methods", visible_line(&path.to_string()));
            Failure::new(Exit::Invalid, message).help("look at its page: what it says is there")
        };
        let id = thing.id.ok_or_else(no_methods)?;
        let view: FormulaView = *take!(asked.look(Look::Formula { id })?, Formula);
        let methods = Methods::of(asked, &view)?.ok_or_else(no_methods)?;
        let method = said("method").unwrap_or_default().trim().to_owned();
        let no_method = || {
            let message = format!("it has no method `{}`", visible_line(&method));
            Failure::new(Exit::NotFound, message).help("its page lists those that it has")
        };
        let fields = match &methods {
            Methods::Guarded(guard, can) => {
                let found = guard.methods.iter().find(|(name, _)| name.to_str_lossy() == method.as_str());
                let (_, found) = found.filter(|_| can.contains(&method)).ok_or_else(no_method)?;
                guarded(found)
            }
            Methods::OfCode(_) => vec![argument(0, "Arguments", Pattern::array(), Presence::Rest)],
            Methods::Known(facet, can) => {
                let known =
                    can.contains(&method.as_str()).then(|| facet.methods.get(method.as_str())).flatten();
                let known = known.ok_or_else(no_method)?;
                let one = |(at, param): (usize, &Param)| {
                    argument(at, param.name, param.shape.pattern(), param.presence)
                };
                known.params.iter().enumerate().map(one).collect()
            }
        };
        if fields.iter().any(Argument::is_secret) {
            let message = format!(
                "`{}` asks for a secret, and a call is kept with all that it says",
                visible_line(&method)
            );
            return Err(
                Failure::new(Exit::Invalid, message).help("call it by code that was endowed with the secret")
            );
        }
        let picks = take!(asked.look(Look::Picks)?, Picks);
        Ok(CallForm { path, thing, methods, method, fields, picks })
    }

    /// Returns the arguments, without omitted ones at the end. If some are invalid, returns the errors by place.
    fn read(&self, asked: &PageRequest) -> Result<Vec<Value>, BTreeMap<String, String>> {
        let (mut wrong, mut args) = (BTreeMap::new(), Vec::new());
        for field in &self.fields {
            match check::read(&field.pattern, &field.prefix, &asked.body, &self.picks) {
                Ok(value) if field.is_rest => match value.as_array() {
                    Some(further) => args.extend(further.iter().cloned()),
                    // The guard matches no list, so the method cannot be called.
                    None => {
                        let why = format!(
                            "further arguments are a list, and its guard asks for {}",
                            field.control.asks
                        );
                        wrong.insert(field.prefix.clone(), why);
                    }
                },
                Ok(value) => args.push(value),
                Err(all) => wrong.extend(all.into_iter().map(|FieldError { place, why }| (place, why))),
            }
        }
        while args.last() == Some(&Value::Undefined) {
            args.pop();
        }
        if wrong.is_empty() { Ok(args) } else { Err(wrong) }
    }

    fn tallies(&self, typed: &FormValues) -> Counters {
        let mut tallies = Counters::new();
        for one in &self.fields {
            counters::count(&one.pattern, &one.prefix, typed, &self.picks, &mut tallies);
        }
        tallies
    }

    /// Returns the markup of the argument that a button has changed.
    fn piece(&self, change: &str, typed: &FormValues, wrong: &BTreeMap<String, String>) -> Answer {
        let place = change.split_once(' ').map_or("", |(_, place)| place);
        let tallies = self.tallies(typed);
        let drawn = FormRenderer { typed, picks: &self.picks, wrong, tallies: &tallies, narrows: false };
        let own = self.fields.iter().filter(|one| live_check::is_below(place, &one.prefix));
        Answer::Piece(html! { @for one in own { (one.draw(&drawn)) } })
    }

    fn summary(&self, typed: &FormValues, wrong: &BTreeMap<String, String>) -> Markup {
        let all: Vec<SummaryPart<'_>> = self
            .fields
            .iter()
            .map(|one| SummaryPart {
                title: parts::word(&one.said),
                control: &one.control,
                prefix: &one.prefix,
            })
            .collect();
        summary::listed(&all, typed, wrong)
    }

    fn page(
        &self,
        asked: &PageRequest,
        typed: &FormValues,
        wrong: &BTreeMap<String, String>,
        said: Option<Markup>,
        status: u16,
    ) -> Answer {
        let path = self.path.to_string();
        // A user who reloads the page, or returns to it, finds the form at this address.
        let to = format!("/call?path={}&method={}", link::query(&path), link::query(&self.method));
        let tallies = self.tallies(typed);
        let drawn = FormRenderer { typed, picks: &self.picks, wrong, tallies: &tallies, narrows: false };
        let field = |name: &str| asked.field(name).unwrap_or("").to_owned();
        let main = html! {
            h1 { "Call a method of " (parts::word(&path)) }
            (way(self.path.names()))
            @if let Some(said) = said { (said) }
            p { (description(&self.thing.words)) ". It is called as by code of yours: what asks is asked, and what comes of it is a promise." }
            form #call.card method="post" action=(to) novalidate data-check="/call/check"
                data-picks[self.fields.iter().any(|one| has_pick(&one.control))]
                enctype=[self.fields.iter().any(|one| has_file(&one.control)).then_some("multipart/form-data")]
                data-draft={ "call " (path) " " (self.method) } {
                (parts::token(&asked.session))
                input type="hidden" name="path" value=(path);
                @if let Some(id) = self.thing.id { input type="hidden" name="_is" value=(id); }
                button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" formnovalidate { "Look again" }
                @match &self.methods {
                    Methods::Known(facet, _) => {
                        input type="hidden" name="method" value=(self.method);
                        h2 { code { (self.method) } }
                        @if let Some(method) = facet.methods.get(self.method.as_str()) {
                            p { (method.says) " (" (method.effect.as_words()) ")" }
                        }
                        @if self.fields.is_empty() { p.note { "It takes nothing." } }
                    }
                    Methods::Guarded(..) => {
                        input type="hidden" name="method" value=(self.method);
                        h2 { (parts::line(&Untrusted::new(self.method.as_str()))) }
                        @if self.fields.is_empty() { p.note { "It takes nothing." } }
                    }
                    Methods::OfCode(_) => {
                        label for="method" { "Method" }
                        p.note #method-wants { "Only the code that made it knows which there are." }
                        input #method name="method" value=(self.method) autocomplete="off" spellcheck="false"
                            aria-describedby="method-wants";
                    }
                }
                @for one in &self.fields { (one.draw(&drawn)) }
                label for="result" { "Your name for what comes of it, if you want one" }
                input #result name="result" value=(field("result")) autocomplete="off" spellcheck="false";
                @if self.fields.iter().any(|one| has_pick(&one.control)) {
                    (step_up::field(asked, "If it hands over a program, the network or a secret"))
                }
                div.buttons { button.yes name="do" value="call" { "Call it" } }
            }
        };
        Page::new("/names", format!("Call a method of {}", visible_line(&path)), main).status(status).into()
    }
}

/// Answers `GET /call?path=&method=`.
///
/// # Errors
/// When the name stands for no object with such a method.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let shown = CallForm::of(asked, |name| asked.query(name).map(str::to_owned))?;
    Ok(shown.page(asked, &FormValues::default(), &BTreeMap::new(), None, 200))
}

/// Answers `POST /call/check`: returns the errors of one argument in its present state, for the script.
///
/// # Errors
/// When the name stands for no object with such a method.
pub fn check(asked: &PageRequest) -> Result<Answer, Failure> {
    let shown = CallForm::of(asked, |name| asked.field(name).map(str::to_owned))?;
    let touched = asked.field("_field").unwrap_or_default();
    let Some(one) = shown.fields.iter().find(|one| live_check::is_below(touched, &one.prefix)) else {
        return Ok(Answer::Piece(html! {}));
    };
    let read = check::read(&one.pattern, &one.prefix, &asked.body, &shown.picks).map(drop);
    let mut tallies = Counters::new();
    counters::count(&one.pattern, &one.prefix, &FormValues::sent(&asked.body), &shown.picks, &mut tallies);
    Ok(live_check::render_check(asked, touched, (&one.control, &one.prefix), read, (&shown.picks, &tallies)))
}

/// Answers `POST /call`: changes rows, checks the arguments, or calls the method.
///
/// # Errors
/// When the name stands for no object with such a method.
pub fn send(asked: &PageRequest) -> Result<Answer, Failure> {
    let asked = &files::written(asked);
    let shown = CallForm::of(asked, |name| asked.field(name).map(str::to_owned))?;
    let mut typed = FormValues::sent(&asked.body);
    let none = BTreeMap::new();
    if let Some(change) = asked.field(ROW) {
        typed.change_rows(change);
        let pending = |place: &str| {
            let control = shown.fields.iter().find_map(|one| control_at(&one.control, &one.prefix, place));
            !matches!(control, Some(Control { widget: Widget::Json { pending: false }, .. }))
        };
        let pairs = typed.all();
        let read = |one: &Argument| check::read(&one.pattern, &one.prefix, &pairs, &shown.picks).err();
        let mut wrong = live_check::written_errors(&typed, shown.fields.iter().filter_map(read).flatten());
        wrong.extend(insert::insert(&mut typed, change, &shown.picks, pending).err());
        if asked.field(PIECE).is_some() {
            return Ok(shown.piece(change, &typed, &wrong));
        }
        return Ok(shown.page(asked, &typed, &wrong, None, 200));
    }
    let again = |wrong: &BTreeMap<String, String>, said: Option<Markup>, status| {
        Ok(shown.page(asked, &typed, wrong, said, status))
    };
    let args = match shown.read(asked) {
        Ok(args) => args,
        Err(wrong) => {
            let what = html! {
                section #wrong.failure role="alert" tabindex="-1" {
                    h2 { "Nothing was called" }
                    (shown.summary(&typed, &wrong))
                }
            };
            return again(&wrong, Some(what), 422);
        }
    };
    if asked.field("do") != Some("call") {
        return again(
            &none,
            Some(html! { p #looked.note role="status" { "Everything fits. Nothing was called yet." } }),
            200,
        );
    }
    match shown.call(asked, &args) {
        Ok(to) => Ok(Answer::Go(to)),
        Err(failure) => {
            again(&none, Some(refused(&failure)), if failure.exit == Exit::Conflict { 409 } else { 422 })
        }
    }
}

impl CallForm {
    /// Calls the method, and returns the address of the page that shows its result.
    fn call(&self, asked: &PageRequest, args: &[Value]) -> Result<String, Failure> {
        // The name may stand for another object now than when the page was shown.
        let is = self.thing.id.map(|id| id.to_string());
        if asked.field("_is") != is.as_deref() {
            let message = format!("`{}` stands for something else now", visible_line(&self.path.to_string()));
            return Err(Failure::new(Exit::Conflict, message)
                .help("this page shows it as it is now: look, and call it then"));
        }
        let ids: Vec<_> = args.iter().flat_map(Value::references).copied().collect();
        step_up::check(asked, step_up::holds(&ids, &self.picks))?;
        let Call { source, references } = call::program(&self.method, args)?;
        let (mut names, mut paths) = (vec![call::RECEIVER.to_owned()], vec![self.path.clone()]);
        for (name, id) in references {
            let row = self.picks.iter().find(|row| row.id == id);
            let path = row.and_then(|row| NamePath::parse(&row.path).ok()).ok_or_else(|| {
                Failure::new(Exit::Conflict, "something that was picked has no name any more")
                    .help("pick it again")
            })?;
            names.push(name);
            paths.push(path);
        }
        let result_name = match asked.filled("result") {
            None => None,
            Some(text) => Some(NamePath::parse(text).map_err(|error| {
                Failure::from_error(Exit::Invalid, error).help("write a name like `answer`, or none")
            })?),
        };
        let act = MailAct::Evaluate {
            vat: None,
            source: Untrusted::new(source.clone()),
            names,
            paths,
            result_name,
        };
        let text = format!("eval {source:?}");
        match asked.act("eval", text, AgentAct::Mail { act: Box::new(act) })? {
            Reply::CodeQueued { promise, .. } => Ok(link::formula(&promise)),
            _ => Ok(link::names(self.path.names())),
        }
    }
}

#[cfg(test)]
mod tests {
    use passable::CallKind;

    use super::*;

    #[test]
    fn each_guarded_argument_has_a_control() {
        let parsed = |text: &str| Pattern::parse(text).unwrap();
        for (args, optional, rest, expected) in [
            (&["M.string()"][..], &[][..], None, "Argument 1: text"),
            (
                &["M.string()"],
                &["M.number()"],
                None,
                "Argument 1: text|Argument 2: a number (may be left out)",
            ),
            // Further arguments form a list, even if the guard does not say so.
            (&[], &[], Some("M.any()"), "Further arguments: a list of anything (rest)"),
            (
                &[],
                &[],
                Some("M.arrayOf(M.nat())"),
                "Further arguments: a list of whole numbers, 0 or more (rest)",
            ),
            (&[], &[], Some("[]"), ""),
            (&[], &[], Some("M.eq([1])"), "Further arguments: [1] (rest)"),
            (&["M.refine('secret')"], &[], None, "Argument 1: a secret (secret)"),
            (
                &[],
                &["M.arrayOf(M.refine('secret'))"],
                None,
                "Argument 1: a list of secrets (may be left out) (secret)",
            ),
        ] {
            let guards =
                |texts: &[&str]| texts.iter().map(|text| ArgGuard::Pattern(parsed(text))).collect::<Vec<_>>();
            let method = MethodGuard {
                kind: CallKind::Async,
                args: guards(args),
                optional: Some(guards(optional)),
                rest: rest.map(|text| ArgGuard::Pattern(parsed(text))),
                returns: ArgGuard::Raw,
            };
            let said = |one: &Argument| {
                let rest = if one.is_rest { " (rest)" } else { "" };
                let secret = if one.is_secret() { " (secret)" } else { "" };
                format!("{}: {}{rest}{secret}", one.said, one.control.asks)
            };
            let all: Vec<String> = guarded(&method).iter().map(said).collect();
            assert_eq!(all.join("|"), expected, "{args:?} {optional:?} {rest:?}");
        }
        let raw = MethodGuard {
            kind: CallKind::Sync,
            args: vec![],
            optional: None,
            rest: Some(ArgGuard::Raw),
            returns: ArgGuard::Raw,
        };
        assert_eq!(guarded(&raw)[0].pattern, Pattern::array());
    }
}
