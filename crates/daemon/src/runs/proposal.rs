//! The definition that a message proposes, in the form in which a person studies it before endowing it: its text, and
//! its uses of its slots. The daemon reads the text without running any of it.

use std::collections::BTreeMap;

use analysis::{Trouble, Uses};
use kernel::formula::Formula;
use kernel::message::Body;
use kernel::run::Limits;
use kernel::slot::{Requirement, Slot};
use kernel::{BlobHash, FormulaId, MessageNumber, Pattern, RunNumber, Value, table};
use passable::{Matcher, Untrusted};
use worker::definition::{Bundle, Definition};

use crate::queries::mail;
use crate::queries::picks;
use crate::queries::picks::Pick;
use crate::state::daemon::HostDaemon;
use crate::state::worker_files;
use config::machine::Machine;
use config::model_choice::{self, KnownModels, Unattended};
use config::vendor_keys;
use control::exit::{Exit, Failure};
use control::show::difference;
use control::view::{AnalysisCoverage, Fit, ProgramProposal, ProposedSlot};
use resource::{Endowment, Kind, units};

/// Returns the definition that a message proposes.
///
/// # Errors
/// When there is no such message, or it proposes nothing.
pub fn load_proposal(
    daemon: &HostDaemon,
    agent: FormulaId,
    number: MessageNumber,
) -> Result<ProgramProposal, Failure> {
    let letter = mail::message(daemon, agent, number)?;
    let Some(Body::Definition { definition, by, .. }) = letter.body() else {
        return Err(Failure::new(Exit::Conflict, format!("message {number} proposes nothing")));
    };
    let row = daemon.read(|txn| table::formula(txn, definition))?;
    let Some(Formula::Definition { source, .. }) = row.map(|row| row.formula) else {
        return Err(Failure::new(Exit::Failure, "the definition is missing").help("`almoner doctor`"));
    };
    let (bundle, slots) = mail::proposed_program(daemon, agent, number)?;
    let digest = digest(&source, bundle.as_ref(), &slots)?;
    let picks = daemon.query(|txn| picks::with_values(txn, &daemon.view(agent)))?;
    let slots = sorted_slots(&slots).map(|(name, own)| slot(name, own, &picks)).collect();
    let mut shown = match &bundle {
        Some(bundle) => worker_proposal(bundle, slots),
        None => code_proposal(daemon, source.raw(), slots),
    };
    shown.digest = digest;
    if let (Some(draft), Some(bundle)) = (by, &bundle) {
        shown.difference = maker_diff(daemon, draft.run, bundle);
    }
    Ok(shown)
}

/// Returns the hash of everything that is shown and would run.
fn digest(
    source: &Untrusted,
    bundle: Option<&Bundle>,
    slots: &BTreeMap<String, Slot>,
) -> Result<String, Failure> {
    let includes = bundle.map(|bundle| &bundle.includes);
    let all = serde_json::to_vec(&(source.raw(), includes, slots))
        .map_err(|error| Failure::from_error(Exit::Failure, error))?;
    Ok(BlobHash::of(&all).to_string())
}

/// Returns the slots in the natural order of their names: `s2` before `s10`.
fn sorted_slots(slots: &BTreeMap<String, Slot>) -> impl Iterator<Item = (&String, &Slot)> {
    let mut all: Vec<(&String, &Slot)> = slots.iter().collect();
    all.sort_by_key(|(name, _)| natural_sort_key(name));
    all.into_iter()
}

/// Returns the sort key of a name for the natural order. Each part is a word, and the number that follows it, as its
/// count of digits and its digits.
fn natural_sort_key(name: &str) -> Vec<(String, usize, String)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(digits);
        let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let (number, behind) = behind.split_at(end);
        let number = number.trim_start_matches('0');
        parts.push((word.to_owned(), number.len(), number.to_owned()));
        rest = behind;
    }
    parts
}

/// Returns the view of a slot for a person who binds it: the requirement, and the person's objects that fit.
fn slot(name: &str, slot: &Slot, picks: &[Pick]) -> ProposedSlot {
    let pattern = Pattern::from_value(&slot.pattern).unwrap_or_else(|_| Pattern::any());
    let label = label(&pattern);
    let fits = picks.iter().map(|pick| (pick.row.id, fit(&pattern, label.as_deref(), pick)));
    ProposedSlot {
        name: name.to_owned(),
        words: slot.label.clone(),
        data: label.is_none(),
        wants: Untrusted::new(pattern.describe()),
        pending: pattern.matches(&Value::promise(ANY_REFERENCE)),
        fits: fits.filter(|(_, fit)| *fit != Fit::No).collect(),
        label,
        uses: vec![],
        given: vec![],
        coverage: AnalysisCoverage::Complete,
    }
}

/// A placeholder for any reference.
const ANY_REFERENCE: FormulaId = FormulaId { number: [0; 32], node: [0; 32] };

/// Returns the label of the capability that a pattern requires, or `None` if other values match as well.
fn label(pattern: &Pattern) -> Option<String> {
    match pattern.matcher() {
        Matcher::Remotable(label) => Some(label.to_str_lossy().into_owned()),
        _ if Requirement::from_pattern(pattern) == Requirement::Capability => Some(String::new()),
        // Further conditions on the capability do not change its label.
        Matcher::And(parts) => parts.iter().find_map(label),
        // Alternatives for a missing value or a promise do not change the label.
        Matcher::Or(parts) => {
            let mut labels = parts.iter().filter(|part| !is_optional_part(part)).map(label);
            let first = labels.next()??;
            labels.all(|other| other.as_ref() == Some(&first)).then_some(first)
        }
        _ => None,
    }
}

/// Returns whether a part of a pattern stands for a missing value or a promise.
fn is_optional_part(part: &Pattern) -> bool {
    match part.matcher() {
        Matcher::Promise(_) => true,
        Matcher::Kind(kind) => *kind == "promise" || *kind == "undefined",
        Matcher::Literal(value) => *value == Value::undefined(),
        _ => false,
    }
}

/// Returns how well an object fits a pattern.
fn fit(pattern: &Pattern, label: Option<&str>, pick: &Pick) -> Fit {
    // For the kinds of slots, the type of an object decides, and not its value.
    if label.and_then(Kind::of).is_some() && Requirement::from_pattern(pattern) != Requirement::Pattern {
        return pick.row.fit(label, false);
    }
    match &pick.value {
        Some(value) if pattern.matches(value) => {}
        _ => return Fit::No,
    }
    // Each alternative is matched by itself, because a capability that is an alternative to data still needs its
    // interface.
    if let (None, Matcher::Or(parts)) = (label, pattern.matcher()) {
        let fits = || parts.iter().map(|part| fit(part, self::label(part).as_deref(), pick));
        return match fits().any(|fit| fit == Fit::Recorded) {
            true => Fit::Recorded,
            false => fits().find(|fit| *fit != Fit::No).unwrap_or(Fit::No),
        };
    }
    match label {
        Some(_) if !pick.row.pending => pick.row.fit(label, false),
        _ => Fit::Recorded,
    }
}

/// Returns the view of a text that has not been analyzed.
fn unread_proposal(source: &str) -> ProgramProposal {
    ProgramProposal {
        digest: String::new(),
        source: Untrusted::new(source),
        worker: None,
        includes: BTreeMap::new(),
        description: None,
        input: None,
        documents: 0,
        model: None,
        slots: vec![],
        free: vec![],
        absent: vec![],
        notes: vec![],
        syntax_error: None,
        difference: None,
    }
}

fn code_proposal(daemon: &HostDaemon, source: &str, slots: Vec<ProposedSlot>) -> ProgramProposal {
    let mut names: Vec<&str> = slots.iter().map(|slot| slot.name.as_str()).collect();
    names.sort_unstable();
    let uses = daemon.reader.read(source, &names);
    let is_read = uses.as_ref().is_some_and(|uses| uses.trouble.is_none());
    let mut shown = unread_proposal(source);
    match &uses {
        None => {
            let line = "its text is more than can be looked through: nothing is known of what it does";
            shown.notes.push(Untrusted::new(line));
        }
        Some(Uses { trouble: Some(Trouble { line, column, message }), .. }) => {
            let place = format!("line {line}, column {column}: {message}");
            shown.syntax_error = Some(Untrusted::new(place));
        }
        Some(_) => {}
    }
    let uses = uses.unwrap_or_default();
    for mut one in slots {
        one.coverage = if is_read { AnalysisCoverage::Unused } else { AnalysisCoverage::Unread };
        if let Some(used) = uses.slots.get(one.name.as_str()) {
            one.uses = used.methods.iter().cloned().collect();
            one.given = used.given.iter().cloned().collect();
            // Data has no methods, so an unknown use of data is no risk.
            one.coverage = if used.elsewhere && !one.data {
                AnalysisCoverage::Partial
            } else {
                AnalysisCoverage::Complete
            };
        }
        shown.slots.push(one);
    }
    let is_there = |name: &String| vat::GLOBALS.contains(&name.as_str());
    (shown.free, shown.absent) = uses.free.into_iter().partition(is_there);
    shown
}

fn worker_proposal(bundle: &Bundle, slots: Vec<ProposedSlot>) -> ProgramProposal {
    let includes = bundle.includes.iter();
    let mut shown = ProgramProposal {
        source: Untrusted::new(bundle.source.as_str()),
        worker: Some(bundle.name.clone()),
        includes: includes.map(|(name, text)| (name.clone(), Untrusted::new(text.as_str()))).collect(),
        ..unread_proposal("")
    };
    let definition = match worker_files::parse(bundle) {
        Ok(definition) => definition,
        Err(failure) => {
            shown.slots = slots;
            shown.syntax_error = Some(failure.message);
            return shown;
        }
    };
    shown.description = definition.description.as_deref().map(Untrusted::new);
    shown.input = Some(definition.input.to_value());
    shown.documents = definition.attachments.max;
    shown.model = definition.model.as_deref().map(Untrusted::new);
    shown.slots = slots.into_iter().map(|slot| with_uses(slot, &definition)).collect();
    let notes = notes(&definition, definition.limits);
    shown.notes = notes.into_iter().map(Untrusted::new).collect();
    shown
}

/// Returns a slot of a worker with its uses. The uses are the methods that the model is offered or that the worker's
/// steps call. They also include the receivers to which the model can pass the slot.
fn with_uses(mut shown: ProposedSlot, definition: &Definition) -> ProposedSlot {
    let name = shown.name.clone();
    let name = name.as_str();
    let Some(kind) = definition.slot(name).map(|slot| slot.kind) else { return shown };
    let interface = caps::interface_of(kind);
    let words = |method: &str| {
        let effect = interface.and_then(|interface| {
            interface.method(method).map(|method| caps::effect_words(interface, method))
        });
        let effect = effect.map_or(String::new(), |effect| format!(" ({effect})"));
        let asks = if definition.asks(name, method) { ", the file wants you to be asked" } else { "" };
        format!("{method}{effect}{asks}")
    };
    let offered = definition.offered_slots();
    if offered.iter().any(|slot| slot.name == name) {
        shown.uses.extend(kind.methods().iter().map(|method| words(method)));
        // The tools of a server are known only when the server is bound.
        if kind == Kind::Mcp {
            shown.uses.push("the tools that you name (each sends, unless you say otherwise)".to_owned());
        }
    }
    let then = definition.then.iter().filter(|then| then.slot == name).count();
    let write = definition.write.iter().filter(|write| write.slot == name).count();
    if then > 0 {
        shown.uses.push(format!("called by {then} `then` step(s), without the model"));
    }
    if write > 0 {
        shown.uses.push(format!("{} by {write} `write` step(s), once the run is through", words("write")));
    }
    // The model can pass a secret by the name of the slot, so the slot need not be among the tools.
    if kind == Kind::Secret {
        let programs = offered.iter().filter(|slot| slot.kind == Kind::Program);
        shown.given.extend(programs.map(|slot| format!("the environment of `{}`", slot.name)));
        if offered.iter().any(|slot| slot.kind == Kind::Mail) {
            shown.given.push("the environment of a program that it asks you for".to_owned());
        }
    }
    if definition.creates {
        shown.given.push("workers that it makes".to_owned());
    }
    if shown.uses.is_empty() && shown.given.is_empty() {
        shown.coverage = AnalysisCoverage::Unused;
    }
    shown
}

/// Returns notes for a person about a worker file and a run with these limits.
pub(crate) fn notes(definition: &Definition, limits: Limits) -> Vec<String> {
    let mut notes = Vec::new();
    if definition.creates {
        notes.push("its model may make workers; each is shown to you first".to_owned());
    }
    notes.push(format!(
        "it may ask its model {} times, make {} calls and use {} tokens",
        limits.turns, limits.calls, limits.tokens
    ));
    if limits.kept != Limits::default().kept {
        notes.push(format!("the store keeps at most {} for it", units::rounded_bytes(limits.kept)));
    }
    if let Some(micros) = limits.usd_micros {
        notes.push(format!("it may spend ${:.2}", micros as f64 / 1e6));
    }
    if definition.output.is_some() {
        notes.push("its result is checked against a pattern that the file says".to_owned());
    }
    notes
}

/// Returns the difference between a run's own definition and the worker that the run proposes. Returns `None` if the
/// run has no worker file, or the file is gone.
fn maker_diff(daemon: &HostDaemon, run: RunNumber, bundle: &Bundle) -> Option<Untrusted> {
    let worker = daemon.read(|txn| {
        let Some(run) = table::run(txn, &daemon.host.number, run)? else { return Ok(None) };
        Ok(table::formula(txn, &run.worker)?.map(|row| row.formula))
    });
    let Some(Formula::Worker { definition, .. }) = worker.ok()? else { return None };
    let own = String::from_utf8(daemon.store.blobs().get(&definition).ok()?).ok()?;
    Some(Untrusted::new(difference::unified(
        &format!("{}.worker", bundle.name),
        (false, Some(own.as_bytes())),
        (false, Some(bundle.source.as_bytes())),
    )))
}

/// Parses the text for a slot in the form of an argument of `-e`. A page has no working directory, so paths begin at
/// the root.
///
/// # Errors
/// When the text has another form.
pub fn parse_endowment(text: &str) -> Result<Endowment, Failure> {
    Machine::FromRoot.parse_endowment(text)
}

/// Returns the model that a person names in the form of an argument of `-m`. For an empty text, returns the default
/// model.
///
/// # Errors
/// When the text names no model, or there is no default.
pub fn model(daemon: &HostDaemon, named: &str) -> Result<String, Failure> {
    let named = named.trim();
    let variables = vendor_keys::from_env();
    let known = KnownModels::new(&daemon.place, &variables);
    let named = match named.is_empty() {
        true => None,
        false => Some(model_choice::named_on_a_page(&daemon.place, named)?),
    };
    known.choose(named.as_deref(), None, true, &mut Unattended)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the analysis of a slot of a worker with this front matter: its uses, its receivers, and the coverage.
    fn slot_analysis(front: &str, slot: &str) -> (String, String, AnalysisCoverage) {
        let bundle = Bundle {
            name: "w".to_owned(),
            file: "w.worker".to_owned(),
            source: format!("---\n{front}\n---\nDo it.\n"),
            includes: BTreeMap::new(),
        };
        let definition = worker_files::parse(&bundle).unwrap_or_else(|failure| panic!("{failure:?}"));
        let kind = definition.slot(slot).unwrap().kind.to_string();
        let own = Slot { label: Untrusted::new(""), pattern: Pattern::remotable(kind).to_value() };
        let shown = with_uses(self::slot(slot, &own, &[]), &definition);
        (shown.uses.join("; "), shown.given.join("; "), shown.coverage)
    }

    #[test]
    fn slot_of_a_proposed_worker_lists_its_uses_without_a_tool() {
        let of_server = "the tools that you name (each sends, unless you say otherwise)";
        for (front, slot, uses, given) in [
            ("slots: { out: dir rw, mail: mail }\ntools: [mail]", "out", "", ""),
            (
                "slots: { out: dir rw, mail: mail }\ntools: [mail]\ncreates: true",
                "out",
                "",
                "workers that it makes",
            ),
            ("slots: { post: outbox }\ntools: []\ncreates: true", "post", "", "workers that it makes"),
            ("slots: { post: outbox }\ncreates: true", "post", "send (sends)", "workers that it makes"),
            ("slots: { prog: program }", "prog", "run (changes or sends)", ""),
            (
                "slots: { prog: program, token: secret }\ntools: [prog]",
                "token",
                "",
                "the environment of `prog`",
            ),
            ("slots: { prog: program, token: secret }\ntools: []", "token", "", ""),
            (
                "slots: { m: mail, token: secret }\ntools: [m]",
                "token",
                "",
                "the environment of a program that it asks you for",
            ),
            ("slots: { far: mcp }", "far", of_server, ""),
            ("slots: { far: mcp }\ntools: []", "far", "", ""),
        ] {
            let said = slot_analysis(front, slot);
            let is_unused = uses.is_empty() && given.is_empty();
            let told = if is_unused { AnalysisCoverage::Unused } else { AnalysisCoverage::Complete };
            assert_eq!(said, (uses.to_owned(), given.to_owned(), told), "{front}");
        }
    }
}
