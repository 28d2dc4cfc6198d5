//! What a person has chosen for a program that was proposed.

use std::collections::BTreeMap;

use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Document, Request, Response, RunRequest};
use control::view::{PickRow, Proposed, ProposedSlot, SLOT_LABELS, Told};
use kernel::run::ResultGoesTo;
use kernel::{FormulaId, MessageNumber, NamePath, Pattern};
use maud::{Markup, html};
use passable::{Untrusted, Widget, visible_line};

use super::{Granted, gone, hashed};
use crate::asked::{Asked, Pairs, typed, unexpected};
use crate::field::check;
use crate::field::draw::{Drawn, Spot};
use crate::field::pick::Picker;
use crate::field::tally::{self, Tallies};
use crate::field::typed::{ROW, Typed};
use crate::page::parts;
use crate::pages::asks::confirm;
use crate::pages::asks::narrow::{self, Hole};

/// The prefix of the fields for a worker's inputs.
const INPUT: &str = "in";

/// Slots that are filled by whoever endows, without a choice.
const OWN: [(&str, &str); 3] = [
    ("ask", "It may ask you questions, in your inbox."),
    ("timer", "It may wait for a time."),
    ("mail", "It may write to you, in your inbox."),
];

/// Where a result can go.
const GOES_TO: [(&str, ResultGoesTo, &str); 3] = [
    (
        "guest-data",
        ResultGoesTo::GuestData,
        "Its result goes to you and to its sender, if it is data; you are asked before a capability in it does.",
    ),
    (
        "guest-capabilities",
        ResultGoesTo::GuestCapabilities,
        "Its result goes to you and to its sender, with capabilities in it as grants of yours.",
    ),
    ("host", ResultGoesTo::Host, "Its result goes to you alone."),
];

/// What was chosen and typed.
#[derive(Clone, Default)]
pub struct Chosen {
    pairs: Pairs,
    typed: Typed,
    /// Whether it is told at each field what is missing or does not fit.
    told: bool,
}

impl Chosen {
    /// What a form has sent.
    pub fn sent(shown: &Proposed, pairs: &Pairs) -> Chosen {
        let mut typed = Typed::sent(pairs);
        if let Some((_, button)) = pairs.iter().find(|(name, _)| name == ROW) {
            typed.change_rows(button);
        }
        if let Some(pattern) = input(shown) {
            typed.forget_secrets(&pattern.controls(), INPUT);
        }
        Chosen { pairs: pairs.clone(), typed, told: false }
    }

    /// The same, with something that was picked just now.
    #[must_use]
    pub fn fresh(mut self, place: &str) -> Chosen {
        self.typed.freshen(place);
        self
    }

    /// The same, with what is missing or does not fit told at each field.
    #[must_use]
    pub fn told(mut self) -> Chosen {
        self.told = true;
        self
    }

    /// Whether nothing was chosen or written for a slot.
    fn is_empty(&self, at: usize) -> bool {
        self.text(&format!("s{at}")).is_empty() && self.text(&format!("t{at}")).is_empty()
    }

    /// The picker at a place.
    pub fn hole(&self, shown: &Proposed, place: &str) -> Option<Hole> {
        let at = place.strip_prefix('s')?.parse::<usize>().ok()?;
        let slot = shown.slots.get(at).filter(|slot| own(shown.worker.is_some(), slot).is_none())?;
        Some(Hole {
            label: slot.label.clone(),
            data: slot.data,
            said: format!("slot {}", visible_line(&slot.name)),
            filled: narrow::carried(&self.pairs, |name| self.typed.text(name).is_some()),
        })
    }

    fn text(&self, name: &str) -> &str {
        self.typed.text(name).map_or("", str::trim)
    }

    /// The choices, as they are made.
    pub fn draw(&self, shown: &Proposed, picks: &[PickRow]) -> Markup {
        html! {
            @for (at, slot) in shown.slots.iter().enumerate() { (self.slot(at, slot, shown.worker.is_some(), picks)) }
            @if shown.worker.is_some() { (self.for_worker(shown)) }
            fieldset {
                legend { "Where its result goes" }
                @let chosen = GOES_TO.iter().position(|(word, ..)| *word == self.text("to")).unwrap_or(0);
                @for (at, (word, _, words)) in GOES_TO.iter().enumerate() {
                    label.beside { input type="radio" name="to" value=(word) checked[at == chosen]; " " (words) }
                }
                label for="result" { "Your name for it, if you want one" }
                input #result name="result" autocomplete="off" spellcheck="false" value=(self.text("result"));
            }
        }
    }

    fn slot(&self, at: usize, slot: &ProposedSlot, is_worker: bool, picks: &[PickRow]) -> Markup {
        let pick = format!("s{at}");
        let said = format!("slot {}", visible_line(&slot.name));
        let is_missing = self.told && own(is_worker, slot).is_none() && self.is_empty(at);
        let picker = Picker {
            place: &pick,
            called: "One of your names",
            label: slot.label.as_deref(),
            pending: true,
            data: slot.data,
            picks,
            typed: self.typed.text(&pick),
            wrong: is_missing,
            fresh: self.typed.is_fresh(&pick),
            narrows: Some(&said),
        };
        html! {
            fieldset.slot {
                legend { "Slot " (parts::line(&Untrusted::new(slot.name.as_str()))) }
                @if !slot.words.raw().is_empty() && slot.words.raw() != slot.name {
                    p { "Its proposer says: " (parts::line(&slot.words)) }
                }
                @if let Some(words) = own(is_worker, slot) { p { (words) } }
                @else {
                    label for=(pick) { "One of your names" }
                    p.note id={ (pick) "-wants" } { (wants(slot)) }
                    p.error id={ (pick) "-error" } role="status" {
                        @if is_missing { "nothing fills this slot: choose something, or send it back" }
                    }
                    (picker.draw())
                    @if is_worker {
                        @let fill = format!("t{at}");
                        label for=(fill) { "Or something of this machine, as behind " code { "-e" } }
                        input id=(fill) name=(fill) autocomplete="off" spellcheck="false" value=(self.text(&fill))
                            placeholder=(example(slot.label.as_deref()));
                    }
                }
            }
        }
    }

    /// What a worker works on, and with which model.
    fn for_worker(&self, shown: &Proposed) -> Markup {
        let mut tallies = Tallies::new();
        let pattern = input(shown);
        let wrong: BTreeMap<String, String> = match &pattern {
            Some(pattern) if self.told => check::read(pattern, INPUT, &self.pairs, &[])
                .err()
                .map(|all| all.into_iter().map(|one| (one.place, one.why)).collect())
                .unwrap_or_default(),
            _ => BTreeMap::new(),
        };
        if let Some(pattern) = &pattern {
            tally::count(pattern, INPUT, &self.typed, &[], &mut tallies);
        }
        // What a worker works on is data: nothing can be picked for it.
        let drawn = Drawn { typed: &self.typed, picks: &[], wrong: &wrong, tallies: &tallies, narrows: true };
        html! {
            @if let Some(pattern) = &pattern {
                @let control = pattern.controls();
                (drawn.draw(&Spot {
                    control: &control, place: INPUT, title: html! { "Its inputs" }, said: "its inputs", help: None,
                    preset: false,
                }))
            }
            @if shown.documents > 0 {
                label for="documents" { "Documents: a path from the root on each line, at most " (shown.documents) }
                textarea #documents name="documents" rows="2" spellcheck="false" { "\n" (self.text("documents")) }
            }
            label for="model" {
                "The model; yours, if nothing is written"
                @if let Some(model) = &shown.model { " (the file asks for " (parts::line(model)) ")" }
            }
            input #model name="model" autocomplete="off" spellcheck="false" value=(self.text("model"));
            label for="allow" { "Do not ask me about these methods, as " code { "slot.method" } ", one on each line" }
            textarea #allow name="allow" rows="2" spellcheck="false" { "\n" (self.text("allow")) }
        }
    }

    fn goes_to(&self) -> (ResultGoesTo, &'static str) {
        let said = self.text("to");
        let chosen = GOES_TO.iter().find(|(word, ..)| *word == said).unwrap_or(&GOES_TO[0]);
        (chosen.1, chosen.2)
    }

    /// Each slot that a name fills, with what that stands for.
    fn picked<'a>(
        &self,
        shown: &Proposed,
        picks: &'a [PickRow],
    ) -> Result<BTreeMap<String, &'a PickRow>, Failure> {
        let mut all = BTreeMap::new();
        for (at, slot) in shown.slots.iter().enumerate() {
            let said = self.text(&format!("s{at}"));
            if said.is_empty() {
                continue;
            }
            let id: Option<FormulaId> = said.parse().ok();
            // Only what was offered for this slot.
            let fits = |row: &&PickRow| slot.data || row.fits(slot.label.as_deref(), true);
            let row = picks.iter().find(|row| Some(row.id) == id).filter(fits).ok_or_else(gone)?;
            all.insert(slot.name.clone(), row);
        }
        Ok(all)
    }

    /// What was typed of slots, without their names.
    fn written<'a>(&'a self, shown: &'a Proposed) -> impl Iterator<Item = &'a str> {
        (0..shown.slots.len()).map(|at| self.text(&format!("t{at}")))
    }

    /// What was typed of slots, as behind `-e`.
    fn fills(&self, shown: &Proposed) -> Vec<String> {
        let typed = shown.slots.iter().enumerate().map(|(at, slot)| (slot, self.text(&format!("t{at}"))));
        typed
            .filter(|(_, text)| !text.is_empty())
            .map(|(slot, text)| format!("{}={text}", slot.name))
            .collect()
    }

    /// What all of it comes to, as the daemon says it without doing it.
    pub fn granted(
        &self,
        asked: &Asked,
        number: MessageNumber,
        shown: &Proposed,
        picks: &[PickRow],
    ) -> Result<Granted, Failure> {
        let picked = self.picked(shown, picks)?;
        if shown.worker.is_none() {
            let missing = shown.slots.iter().enumerate().filter(|(at, _)| self.is_empty(*at));
            let missing: Vec<String> =
                missing.map(|(_, slot)| format!("`{}`", visible_line(&slot.name))).collect();
            if !missing.is_empty() {
                let slots = if missing.len() == 1 { "slot" } else { "slots" };
                let what = format!("nothing fills the {slots} {}", missing.join(", "));
                return Err(Failure::new(Exit::Invalid, what).help("choose one of your names for each"));
            }
        }
        let mut lines: Vec<Markup> = Vec::new();
        for slot in &shown.slots {
            if let Some(row) = picked.get(&slot.name) {
                lines.push(sentence(slot, row));
            }
        }
        let (mut tools, mut worker) = (vec![], None);
        if shown.worker.is_some() {
            let act = self.act(number, shown, picks, true)?;
            match asked.ask(Request::Act { said: None, act: Box::new(act) })? {
                Response::Plan(plan) => {
                    let named =
                        |line: &&String| !picked.keys().any(|slot| line.starts_with(&format!("{slot} = ")));
                    lines.extend(plan.slots.iter().filter(named).map(|line| parts::word(line)));
                    lines.extend(plan.documents.iter().map(|one| parts::word(&format!("document {one}"))));
                    tools = plan.tools;
                    worker = Some((plan.model, plan.prompt));
                }
                other => return Err(unexpected(&other)),
            }
        }
        let filled = |(at, slot): (usize, &ProposedSlot)| {
            let row = picked.get(&slot.name).copied();
            let is_filled = row.is_some() || !self.text(&format!("t{at}")).is_empty();
            is_filled.then(|| (slot.name.clone(), flows(slot, row)))
        };
        let filled: Vec<(String, Flows)> = shown.slots.iter().enumerate().filter_map(filled).collect();
        lines.extend(leaves(&filled));
        let (_, result) = self.goes_to();
        let ids: Vec<_> = picked.iter().map(|(slot, row)| (slot, row.id)).collect();
        let more = (self.fills(shown), self.text("allow"), self.text("result"), result);
        let said: Vec<&str> = lines.iter().map(|line| line.0.as_str()).collect();
        let digest = hashed(&(number, &shown.digest, &ids, &said, &tools, &worker, more))?;
        let weighs = confirm::picks(asked, picks) || self.written(shown).any(confirm::written);
        Ok(Granted { lines, tools, worker, result, weighs, digest })
    }

    /// What is asked of the daemon.
    pub fn act(
        &self,
        number: MessageNumber,
        shown: &Proposed,
        picks: &[PickRow],
        dry_run: bool,
    ) -> Result<AgentAct, Failure> {
        let bad = |error: &dyn std::fmt::Display| Failure::new(Exit::Invalid, error.to_string());
        let picked = self.picked(shown, picks)?;
        let mut names = BTreeMap::new();
        for (slot, row) in &picked {
            names.insert(slot.clone(), NamePath::parse(&row.path).map_err(|error| bad(&error))?);
        }
        let values = match input(shown) {
            Some(pattern) => match check::read(&pattern, INPUT, &self.pairs, &[]) {
                Ok(value) => match value.to_json() {
                    serde_json::Value::Object(values) => values,
                    _ => serde_json::Map::new(),
                },
                Err(wrong) => {
                    let why: Vec<String> = wrong.into_iter().map(|one| one.why).collect();
                    return Err(bad(&format!("its inputs: {}", why.join("; "))));
                }
            },
            None => serde_json::Map::new(),
        };
        let lines = |name: &str| -> Vec<String> {
            let text = self.text(name).to_owned();
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
        };
        let documents = lines("documents");
        if let Some(relative) = documents.iter().find(|path| !path.starts_with('/')) {
            let what = format!("{relative}: the path does not begin at the root");
            return Err(Failure::new(Exit::Invalid, what).help("write it in full, beginning with `/`"));
        }
        let run = RunRequest {
            text: Untrusted::new(String::new()),
            name: String::new(),
            source: String::new(),
            includes: BTreeMap::new(),
            beside: None,
            values,
            read_from: vec![],
            documents: documents.into_iter().map(|path| Document::File { path }).collect(),
            chat: false,
            private: false,
            each: None,
            limits: None,
            endow: vec![],
            allow: lines("allow"),
            model: String::new(),
            dry_run,
            retry: None,
            policy: None,
        };
        let result = Some(self.text("result")).filter(|name| !name.is_empty());
        Ok(AgentAct::Endow {
            number,
            names,
            run: Box::new(run),
            goes_to: self.goes_to().0,
            result_name: result.map(NamePath::parse).transpose().map_err(|error| bad(&error))?,
            typed: self.fills(shown),
            seen: picked.iter().map(|(slot, row)| (slot.clone(), row.id)).collect(),
            model: Some(self.text("model").to_owned()),
        })
    }

    /// The same as a person would have typed it.
    pub fn in_words(&self, number: MessageNumber, shown: &Proposed, picks: &[PickRow]) -> String {
        let mut words = vec!["endow".to_owned(), number.to_string()];
        for (slot, row) in self.picked(shown, picks).unwrap_or_default() {
            words.push(format!("{slot}={}", row.path));
        }
        for fill in self.fills(shown) {
            words.extend(["-e".to_owned(), fill]);
        }
        if let Ok(AgentAct::Endow { run, goes_to, result_name, model, .. }) =
            self.act(number, shown, picks, false)
        {
            for (name, value) in &run.values {
                words.push(match value.as_str() {
                    Some(text) => format!("{name}={text}"),
                    None => format!("{name}:={value}"),
                });
            }
            words.extend(run.documents.iter().filter_map(|one| match one {
                Document::File { path } => Some(path.clone()),
                _ => None,
            }));
            let to = match goes_to {
                ResultGoesTo::GuestData => None,
                ResultGoesTo::GuestCapabilities => Some("guest-caps"),
                ResultGoesTo::Host => Some("me"),
            };
            let model = model.filter(|model| !model.is_empty());
            let options = [
                ("--to", to.map(str::to_owned)),
                ("--result", result_name.map(|name| name.to_string())),
                ("-m", model),
            ];
            let options = options.into_iter().filter_map(|(option, value)| Some((option, value?)));
            let allow = run.allow.iter().map(|method| ("--allow", method.clone()));
            words.extend(options.chain(allow).flat_map(|(option, value)| [option.to_owned(), value]));
        }
        let words: Vec<String> = words.iter().map(|word| typed(word)).collect();
        words.join(" ")
    }
}

/// The pattern of a worker's inputs, if it has any.
fn input(shown: &Proposed) -> Option<Pattern> {
    let pattern = Pattern::from_value(shown.input.as_ref()?).ok()?;
    match pattern.controls().widget {
        Widget::Group { fields, .. } if fields.is_empty() => None,
        Widget::Note { .. } => None,
        _ => Some(pattern),
    }
}

/// What is said of a slot that whoever endows fills without a choice.
fn own(is_worker: bool, slot: &ProposedSlot) -> Option<&'static str> {
    let own = OWN.iter().find(|(label, _)| is_worker && slot.label.as_deref() == Some(*label));
    own.map(|(_, words)| *words)
}

/// What a slot wants, in words.
fn wants(slot: &ProposedSlot) -> Markup {
    html! {
        @match slot.label.as_deref() {
            None => "anything that fits its pattern",
            Some("") => "any capability",
            Some(label) if !SLOT_LABELS.contains(&label) => {
                "a capability with the interface " (parts::line(&Untrusted::new(label)))
            }
            Some(label) => { "a capability of the kind " (parts::line(&Untrusted::new(label))) }
        }
    }
}

fn example(label: Option<&str>) -> &'static str {
    match label {
        Some("dir") => "/PATH",
        Some("dir rw") => "/PATH:rw",
        Some("outbox") => "/PATH",
        Some("program") => "program:/PATH?dir=/PATH",
        Some("http") => "https://HOST/PATH",
        Some("git") => "git:/PATH",
        Some("git rw") => "git:/PATH:rw",
        Some("clock") => "clock",
        Some("mcp") => "mcp:NAME[TOOL]",
        Some("model") => "model:REFERENCE?tokens=200k",
        Some("secret") => "secret:NAME",
        Some("worker") => "/PATH/NAME.worker",
        _ => "",
    }
}

/// Kinds of slots through which something is read that was not public.
const READ: [&str; 5] = ["dir", "dir rw", "git", "git rw", "secret"];

/// Kinds of slots through which something can leave this machine.
const SENT: [&str; 5] = ["outbox", "http", "mcp", "program", "model"];

/// What can pass through a slot.
#[derive(Clone, Copy)]
struct Flows {
    /// Something can be read through it.
    read: bool,
    /// Something can leave this machine through it.
    sent: bool,
    /// It leads to somebody's object, and nobody knows where that leads.
    unknown: bool,
}

fn flows(slot: &ProposedSlot, row: Option<&PickRow>) -> Flows {
    let label = slot.label.as_deref().unwrap_or_default();
    let kinds = |all: &[&str]| {
        all.contains(&label)
            || row.is_some_and(|row| row.labels.iter().any(|own| all.contains(&own.as_str())))
    };
    let unknown = row.is_some_and(|row| !row.data && row.labels.is_empty());
    Flows { read: kinds(&READ), sent: kinds(&SENT), unknown }
}

/// What all choices together open that none of them opens by itself. Nothing said is no promise that nothing can leave.
fn leaves(slots: &[(String, Flows)]) -> Option<Markup> {
    let named = |which: fn(&Flows) -> bool| {
        let names: Vec<&str> =
            slots.iter().filter(|(_, flows)| which(flows)).map(|(name, _)| name.as_str()).collect();
        (!names.is_empty()).then(|| parts::line(&Untrusted::new(names.join(", "))))
    };
    let (read, sent) = (named(|flows| flows.read)?, named(|flows| flows.sent));
    let unknown = named(|flows| flows.unknown);
    (sent.is_some() || unknown.is_some()).then(|| {
        html! {
            strong { "Together: " } "what it reads through " (read)
            @if let Some(sent) = &sent { " can leave this machine through " (sent) }
            @if let Some(unknown) = &unknown {
                @if sent.is_some() { ", and" } " can be handed to " (unknown) ", which leads where nobody here knows"
            }
            "."
        }
    })
}

/// What a choice grants, in a sentence: what others have named stands apart in it.
fn sentence(slot: &ProposedSlot, row: &PickRow) -> Markup {
    let foreign = |text: &str| parts::line(&Untrusted::new(text));
    html! {
        "It may use your " (parts::word(&row.path)) " as " (foreign(&slot.name)) ": " (parts::line(&row.words)) " ("
        @if let Some(name) = &row.interface { (foreign(name)) ", " }
        (row.kind) ", " (row.id.short()) ")."
        @if !row.methods.is_empty() { " It can do: " (parts::word(&row.methods.join(", "))) "." }
        @else if !row.data && !row.pending { " It can do all that it can do for you." }
        @let partly = matches!(slot.told, Told::Partly | Told::Unread);
        @if !slot.uses.is_empty() { " What is proposed calls " (foreign(&slot.uses.join(", "))) " of it" @if partly { ", and may do more with it" } "." }
        @else if partly && !row.data { " What is proposed may do anything of that." }
        @if !slot.given.is_empty() { " It gives it to " (foreign(&slot.given.join(", "))) "." }
        @if row.pending { " Nothing has come of it yet." }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_choices_open_together_is_said_and_nothing_is_promised() {
        let (none, read) = (Flows { read: false, sent: false, unknown: false }, "src");
        let told = |sent: bool, unknown: bool| {
            let slots = [
                (read.to_owned(), Flows { read: true, ..none }),
                ("net".to_owned(), Flows { sent, ..none }),
                ("obj".to_owned(), Flows { unknown, ..none }),
            ];
            leaves(&slots).map(Markup::into_string)
        };
        assert_eq!(told(false, false), None);
        let sent = told(true, false).unwrap();
        assert!(
            sent.contains("src") && sent.contains("can leave this machine through") && sent.contains("net")
        );
        let unknown = told(false, true).unwrap();
        assert!(unknown.contains("can be handed to") && unknown.contains("obj") && !unknown.contains("net"));
        assert!(leaves(&[("net".to_owned(), Flows { sent: true, ..none })]).is_none());
    }
}
