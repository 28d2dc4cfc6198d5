//! The examples that are part of the program. Each is laid out in a directory of its own, so that no file of the user is
//! touched.

use std::thread::sleep;
use std::time::Duration;

use control::examples::{Example, ExampleFolder};
use control::exit::Failure;
use control::protocol::{ModelChoice, Request, Response, RunRequest, StartSpec, WorkerSource};
use control::talk::{ChatPartner, WorkerUse};
use kernel::RunNumber;
use maud::{Markup, html};
use passable::Untrusted;

use super::form_errors::SLOT;
use super::new_run::started;
use crate::answer::Answer;
use crate::page::{link, parts};
use crate::page_request::{PageRequest, take};

/// The interval at which the run of the hijacked example is looked at, until its card is there.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The number of these looks. After them, the page of the run shows the rest.
const MAX_LOOKS: usize = 60;

/// Returns the examples other than the hijacked one, each with a button that opens its form.
pub(super) fn list(asked: &PageRequest) -> Markup {
    html! {
        ul.offers {
            @for one in asked.site.backend.examples().iter().skip(1) {
                li {
                    form.offer method="post" action="/examples" {
                        (parts::token(&asked.session))
                        input type="hidden" name="example" value=(one.name);
                        button { (one.name) }
                        p.note { (one.words) }
                    }
                }
            }
        }
    }
}

/// Answers `POST /examples`: lays out an example and opens its form. The hijacked example starts at once, because
/// everything in it is fixed.
pub fn open(asked: &PageRequest) -> Result<Answer, Failure> {
    let name = asked.field("example").unwrap_or_default();
    let folder = asked.site.backend.lay_out_example(name)?;
    let hijacked = asked.site.backend.examples().first().map(|first: &Example| first.name);
    if hijacked == Some(name) {
        return watch(asked, &folder);
    }
    let is_modelless = take!(asked.ask(Request::Models)?, Models).can_ask.is_empty();
    let mut to = format!("/runs/new?worker-path={}", link::query(&folder.worker));
    let mut add = |name: &str, text: &str| to += &format!("&{}={}", link::query(name), link::query(text));
    folder.slots.iter().for_each(|(slot, fill)| add(&format!("{SLOT}{slot}"), fill));
    folder.inputs.iter().for_each(|(input, text)| add(&format!("i/{input}"), text));
    // A worker that describes no inputs takes them as lines.
    let lines: Vec<String> = folder.inputs.iter().map(|(input, text)| format!("{input}={text}")).collect();
    add("inputs", &lines.join("\n"));
    add("script", &folder.script);
    if is_modelless {
        add("model", &folder.script);
    }
    Ok(Answer::Go(to))
}

/// Starts the hijacked example with its script, and leads to its card.
fn watch(asked: &PageRequest, folder: &ExampleFolder) -> Result<Answer, Failure> {
    let backend = &asked.site.backend;
    let worker = backend.wanted(&ChatPartner::File { path: folder.worker.clone() }, WorkerUse::Run)?;
    let endow = folder.slots.iter().map(|(slot, fill)| backend.endowment(&format!("{slot}={fill}")));
    let request = RunRequest {
        text: Untrusted::new("run the example with the hijacked mail, from the first page"),
        worker: WorkerSource {
            name: worker.name,
            source: worker.source,
            beside: worker.beside,
            ..WorkerSource::default()
        },
        spec: StartSpec {
            endow: endow.collect::<Result<_, Failure>>()?,
            model: ModelChoice::Reference(folder.script.clone()),
            ..StartSpec::default()
        },
        key: None,
    };
    let run = started(asked, request)?;
    Ok(Answer::Go(card_of(asked, run)?))
}

/// Returns the address of the card of a run as soon as the run asks, or else the address of the run.
fn card_of(asked: &PageRequest, run: RunNumber) -> Result<String, Failure> {
    for _ in 0..MAX_LOOKS {
        let family = match asked.ask(Request::Family { run })? {
            Response::Family(family) => family,
            _ => break,
        };
        if let Some(message) = family.asked.first() {
            return Ok(format!("/m/{message}"));
        }
        if family.members.first().is_some_and(kernel::run::Run::is_finished) {
            break;
        }
        sleep(LOOK_INTERVAL);
    }
    Ok(format!("/r/{run}"))
}
