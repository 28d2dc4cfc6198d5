//! The grants that a user gives by endowing a program, as sentences. Foreign names are separate parts of a sentence,
//! so that a renderer can mark them.

use std::collections::BTreeMap;

use kernel::NamePath;
use kernel::proposal::Effect;
use kernel::run::ResultGoesTo;
use passable::{ExactJson, Untrusted, visible_line};
use resource::{Kind, Row};

use super::message_view::{more_bytes, short};
use crate::narrow::Method;
use crate::status::{Plan, PlannedMethod, PlannedSlot};
use crate::view::{AnalysisCoverage, NameRow, PickRow, ProgramProposal, ProposedSlot};

/// A part of a sentence, by its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text of this program.
    Ours(String),
    /// A name or a path that the user chose.
    User(String),
    /// A name or a text by somebody else.
    Theirs(Untrusted),
}

/// A sentence, as a list of its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence(pub Vec<Piece>);

impl Sentence {
    fn new(text: impl Into<String>) -> Sentence {
        Sentence(vec![Piece::Ours(text.into())])
    }

    fn ours(mut self, text: impl Into<String>) -> Sentence {
        self.0.push(Piece::Ours(text.into()));
        self
    }

    fn own(mut self, text: impl Into<String>) -> Sentence {
        self.0.push(Piece::User(text.into()));
        self
    }

    fn theirs(mut self, text: impl Into<String>) -> Sentence {
        self.0.push(Piece::Theirs(Untrusted::new(text.into())));
        self
    }

    /// Returns the sentence with the beginning of a possibly long text, and the number of further bytes.
    fn beginning(mut self, text: &Untrusted) -> Sentence {
        let (head, more) = short(text);
        self.0.push(Piece::Theirs(Untrusted::new(head)));
        self.ours(more_bytes(more))
    }

    /// Returns the sentence with several items added, separated by commas and an `and`.
    fn all<T>(mut self, all: &[T], each: impl Fn(Sentence, &T) -> Sentence) -> Sentence {
        for (at, one) in all.iter().enumerate() {
            self = match at {
                0 => self,
                _ if at + 1 == all.len() => self.ours(" and "),
                _ => self.ours(", "),
            };
            self = each(self, one);
        }
        self
    }

    /// Returns the sentence as one line of text that is safe to show.
    pub fn plain(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Ours(text) | Piece::User(text) => visible_line(text).into_owned(),
            Piece::Theirs(text) => text.visible_line().into_owned(),
        };
        self.0.iter().map(text).collect()
    }
}

/// The endowment of a program: the program, and the contents of its slots.
pub struct EndowmentSummary<'a> {
    /// The user's name for the agent that proposed the program, or `None` if the user proposed it.
    pub from: Option<&'a str>,
    /// The proposed program.
    pub proposed: &'a ProgramProposal,
    /// The user's named objects that fill slots, by slot.
    pub picked: &'a BTreeMap<String, &'a PickRow>,
    /// The plan of the run, if the program is a worker.
    pub plan: Option<&'a Plan>,
    /// The receivers of the result.
    pub goes_to: ResultGoesTo,
    /// The user's name for the result, and the object that has this name now.
    pub result: Option<(&'a NamePath, Option<&'a NameRow>)>,
}

impl EndowmentSummary<'_> {
    /// Returns the sentences for everything that would be granted.
    pub fn sentences(&self) -> Vec<Sentence> {
        let mut all = Vec::new();
        for slot in &self.proposed.slots {
            if let Some(row) = self.picked.get(&slot.name) {
                all.push(self.named(slot, row));
            }
        }
        if let Some(plan) = self.plan {
            all.extend(plan.grants.iter().filter(|planned| planned.named.is_none()).flat_map(filled));
            for planned in plan.grants.iter().filter(|planned| planned.named.is_some()) {
                all.extend(asked(planned));
            }
            if plan.grants.iter().any(|planned| !asked(planned).is_empty()) {
                all.push(Sentence::new("The gates may refuse any call, or ask you about it all the same."));
            }
            all.extend(input_sentences(plan));
        } else if self.picked.values().any(|row| !row.data) {
            all.push(Sentence::new(
                "What it is handed it uses without asking you again, as far as the gates let it.",
            ));
        }
        all.extend(self.combined_flow());
        all.push(self.result_destination());
        all.push(match self.result {
            None => Sentence::new("You give the result no name: it stands on this page."),
            Some((path, None)) => {
                Sentence::new("You keep the result under the name ").own(path.to_string()).ours(".")
            }
            Some((path, Some(row))) => Sentence::new("You keep the result under the name ")
                .own(path.to_string())
                .ours(", which stands for ")
                .theirs(row.words.raw())
                .ours(row.id.map_or_else(String::new, |id| format!(" ({})", id.short())))
                .ours(" now, and then no more."),
        });
        all
    }

    /// Returns the sentence for a slot that one of the user's names fills.
    fn named(&self, slot: &ProposedSlot, row: &PickRow) -> Sentence {
        let it = Sentence::new("As ").theirs(slot.name.as_str()).ours(" it gets ");
        if row.data {
            return it.ours("your ").own(row.path.as_str()).ours(": ").beginning(&row.words).ours(".");
        }
        let mut it = it.ours("your ").own(row.path.as_str()).ours(": ").theirs(row.words.raw());
        if let Some(name) = &row.interface {
            it = it.ours(", recorded as ").theirs(name.as_str());
        }
        it = it.ours(format!(" ({}, {}).", row.kind, row.id.short()));
        if row.pending {
            it = it.ours(" Nothing has come of it yet: whoever answers it decides what this becomes");
            return it.ours(match slot.pending {
                true => ".",
                false => ", and what does not fit the slot then is refused.",
            });
        }
        it = by_effect(it, &row.methods);
        it = match (row.methods.is_empty(), row.others) {
            (true, true) => it.ours(" Only its code knows its methods: all that you can call can be called."),
            (false, true) => it.ours(" Only its code knows its other methods: these can be called as well."),
            (true, false) if row.kind == "object" => it.ours(" It has no methods."),
            _ => it,
        };
        if self.plan.is_some() {
            return it;
        }
        let partly = matches!(slot.coverage, AnalysisCoverage::Partial | AnalysisCoverage::Unread);
        if !slot.uses.is_empty() {
            it = it.ours(" What is proposed calls ").theirs(slot.uses.join(", ")).ours(match partly {
                true => " of it, and may do more with it.",
                false => " of it.",
            });
        } else if partly {
            it = it.ours(" What is proposed may do any of that.");
        }
        if !slot.given.is_empty() {
            it = it.ours(" It gives it to ").theirs(slot.given.join(", ")).ours(".");
        }
        it
    }

    /// Returns the sentence for the receivers of the result.
    fn result_destination(&self) -> Sentence {
        let Some(from) = self.from else { return Sentence::new("Its result goes to you.") };
        match self.goes_to {
            ResultGoesTo::Host => Sentence::new("Its result goes to you alone."),
            ResultGoesTo::GuestData => Sentence::new("Its result goes to you and, if it is data, to ")
                .own(from)
                .ours("; you are asked before a capability in it does."),
            ResultGoesTo::GuestCapabilities => Sentence::new("Its result goes to you and to ")
                .own(from)
                .ours(", with capabilities in it as grants of yours."),
        }
    }

    /// Returns the sentence for the data flows that the contents of all slots open together. The absence of a
    /// sentence does not mean that no data can leave.
    fn combined_flow(&self) -> Option<Sentence> {
        let (mut through, mut out, mut unknown, mut workers) = (vec![], vec![], vec![], vec![]);
        for slot in &self.proposed.slots {
            let row = self.picked.get(&slot.name);
            let planned = self.plan.and_then(|plan| plan.grants.iter().find(|one| one.slot == slot.name));
            if row.is_none() && planned.is_none() {
                continue;
            }
            let own = slot.label.as_deref().into_iter();
            let kinds: Vec<&str> =
                own.chain(row.into_iter().flat_map(|row| row.labels.iter().map(String::as_str))).collect();
            let rows: Vec<&Row> = kinds.iter().filter_map(|kind| Row::of(kind)).collect();
            let name = slot.name.as_str();
            if rows.iter().any(|row| row.discloses) || row.is_some_and(|row| row.data) {
                through.push(name);
            }
            if rows.iter().any(|row| row.sends) {
                out.push(name);
            }
            if rows.iter().any(|row| row.kind == Kind::Worker) {
                workers.push(name);
            }
            if row.is_some_and(|row| !row.data && row.labels.is_empty()) {
                unknown.push(name);
            }
        }
        let has_documents = self.plan.is_some_and(|plan| !plan.reads.is_empty());
        let has_inputs = self.plan.is_some_and(has_inputs);
        if through.is_empty() && !has_documents && !has_inputs {
            return None;
        }
        let named = |it: Sentence, name: &&str| it.theirs(*name);
        let (mut from, mut to) = (Vec::new(), Vec::new());
        if !through.is_empty() {
            from.push(Sentence::new("through ").all(&through, named));
        }
        if has_documents {
            from.push(Sentence::new("in the documents"));
        }
        if has_inputs {
            from.push(Sentence::new("in its inputs"));
        }
        if !out.is_empty() {
            to.push(Sentence::new("can leave this machine through ").all(&out, named));
        }
        if self.plan.is_some_and(|plan| plan.tells) {
            to.push(Sentence::new("goes to whoever answers for its model"));
        }
        if !workers.is_empty() {
            let it = Sentence::new("can be told to ").all(&workers, named);
            to.push(it.ours(", which does what it can with it"));
        }
        if !unknown.is_empty() {
            let it = Sentence::new("can be handed to ").all(&unknown, named);
            to.push(it.ours(", which leads where nobody here knows"));
        }
        if let (Some(guest), true) = (self.from, self.goes_to != ResultGoesTo::Host) {
            to.push(Sentence::new("can come to ").own(guest).ours(" in the result"));
        }
        if to.is_empty() {
            return None;
        }
        let join = |mut it: Sentence, one: &Sentence| {
            it.0.extend(one.0.iter().cloned());
            it
        };
        let it = Sentence::new("Together: what it reads ").all(&from, join).ours(" ");
        Some(it.all(&to, join).ours("."))
    }
}

fn has_inputs(plan: &Plan) -> bool {
    plan.inputs.as_record().is_some_and(|all| all.iter().next().is_some())
}

/// Returns the sentence with an object's methods, grouped by their effect on the world.
fn by_effect(mut it: Sentence, methods: &[Method]) -> Sentence {
    for (effect, words) in [
        ("reads", " It reads: "),
        ("changes", " It changes: "),
        ("changes or sends", " It changes or sends: "),
        ("sends", " It sends: "),
        ("", " It can do: "),
    ] {
        let names: Vec<&str> =
            methods.iter().filter(|one| one.effect == effect).map(|one| one.name.as_str()).collect();
        if !names.is_empty() {
            it = it.ours(words).theirs(names.join(", ")).ours(".");
        }
    }
    it
}

/// Returns the sentences for a worker's slot that no name fills.
fn filled(planned: &PlannedSlot) -> Vec<Sentence> {
    let slot = || Sentence::new("As ").theirs(planned.slot.as_str());
    let row = Row::of(&planned.kind);
    let it = match planned.kind.as_str() {
        _ if row.is_some_and(|row| !row.is_typed()) => {
            slot().ours(format!(" it {}.", row.map_or("", |row| row.permission_phrase)))
        }
        "workshop" => return vec![],
        _ if row.is_some_and(|row| row.kind == Kind::Worker) => {
            slot().ours(" it may call ").theirs(planned.what.raw()).ours(".")
        }
        _ => {
            let it = slot().ours(" it gets ");
            let is_directory = row.is_some_and(|row| matches!(row.kind, Kind::Dir { .. }));
            let it = if is_directory { it.ours("the ") } else { it };
            let it = it.own(planned.what.raw());
            let it = if planned.is_new { it.ours(", which is not there yet and is made") } else { it };
            planned.limits.iter().fold(it, |it, limit| it.ours("; ").ours(limit.as_str())).ours(".")
        }
    };
    std::iter::once(it).chain(asked(planned)).collect()
}

/// Returns the sentences for the methods that a worker may call in a slot. They say which calls the user is asked
/// about.
fn asked(planned: &PlannedSlot) -> Vec<Sentence> {
    let is_asked_about = |row: &&Row| row.is_typed() && row.kind != Kind::Worker;
    let Some(row) = Row::of(&planned.kind).filter(is_asked_about) else { return vec![] };
    let named = |which: &dyn Fn(&PlannedMethod) -> bool| {
        let all = planned.methods.iter().filter(|one| which(one));
        all.map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut all = Vec::new();
    let mut say = |names: String, words: &str| {
        if !names.is_empty() {
            let it = Sentence::new("Of ").theirs(planned.slot.as_str()).ours(" it may call ");
            all.push(it.ours(names).ours(words));
        }
    };
    let is = |one: &PlannedMethod, effect| one.effect == Some(effect);
    let reads = |one: &PlannedMethod| is(one, Effect::Observe) && !one.asks();
    // An address can carry data out, so the user is asked once the run has read something else.
    let is_web = row.kind == Kind::Http;
    say(named(&|one| reads(one) && !is_web), ", which only reads: you are not asked.");
    say(
        named(&|one| reads(one) && is_web && !one.allowed),
        ", which only reads: you are asked once it has read something elsewhere.",
    );
    say(
        named(&|one| reads(one) && is_web && one.allowed),
        ", which only reads, without asking you: you have said so.",
    );
    say(named(&|one| one.effect.is_none() && !one.asks()), ": you are not asked.");
    // For a program, only the call itself shows whether it sends.
    let (freely, not_freely) = match row.kind {
        Kind::Program => (
            ", which changes something, without asking you: you have said so. Where it could send, you are asked all the same.",
            ", which changes or sends something: you are asked each time.",
        ),
        _ => (
            ", which changes something, without asking you: you have said so.",
            ", which changes something: you are asked each time.",
        ),
    };
    say(named(&|one| is(one, Effect::Modify) && !one.asks()), freely);
    say(named(&|one| is(one, Effect::Modify) && one.asks()), not_freely);
    say(named(&|one| is(one, Effect::Commit)), ", which sends: you are asked each time.");
    say(
        named(&|one| one.asked && one.effect.is_none_or(|effect| effect == Effect::Observe)),
        ": you are asked each time, because the file wants it.",
    );
    for one in planned.methods.iter().filter(|one| one.allowed && one.asks()) {
        let it = Sentence::new("You have said not to be asked about ").theirs(planned.slot.as_str());
        let it = it.ours(format!(".{}, and are asked all the same: ", one.name));
        all.push(it.ours(match one.asked {
            true => "the file wants it.",
            false => "it sends.",
        }));
    }
    all
}

/// Returns the sentences for a run's documents, inputs, model and limits.
fn input_sentences(plan: &Plan) -> Vec<Sentence> {
    let mut all = Vec::new();
    for one in &plan.reads {
        let it = Sentence::new("It reads the document ").own(one.path.raw());
        let size = if one.bytes == 1 { "1 byte".to_owned() } else { format!("{} bytes", one.bytes) };
        all.push(it.ours(format!(" ({size}, digest {}).", one.hash.short())));
    }
    if has_inputs(plan) {
        let values = ExactJson(&plan.inputs.to_json()).to_string();
        all.push(Sentence::new("Its inputs are ").own(values).ours("."));
    }
    let it = Sentence::new("Its model is ").own(plan.model.as_str());
    all.push(it.ours(match plan.tells {
        true => ": whoever answers for it is told all that the worker reads.",
        false => ", which this program runs itself.",
    }));
    for note in &plan.notes {
        let mut letters = note.chars();
        let first = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
        all.push(Sentence::new(format!("{first}{}.", letters.as_str())));
    }
    all
}

#[cfg(test)]
mod tests {
    use kernel::{BlobHash, FormulaId, Value};

    use super::*;
    use crate::status::PlannedDocument;

    fn slot(name: &str, label: Option<&str>) -> ProposedSlot {
        ProposedSlot {
            name: name.to_owned(),
            words: Untrusted::new(""),
            label: label.map(str::to_owned),
            data: label.is_none(),
            wants: Untrusted::new("anything"),
            pending: label.is_none(),
            fits: vec![],
            uses: vec![],
            given: vec![],
            coverage: AnalysisCoverage::Complete,
        }
    }

    fn row(path: &str, words: &str) -> PickRow {
        PickRow {
            path: path.to_owned(),
            id: FormulaId { number: [1; 32], node: [2; 32] },
            kind: "object".to_owned(),
            words: Untrusted::new(words),
            methods: vec![],
            others: false,
            pending: false,
            data: false,
            labels: vec![],
            interface: None,
        }
    }

    fn proposed(slots: Vec<ProposedSlot>) -> ProgramProposal {
        ProgramProposal {
            digest: String::new(),
            source: Untrusted::new(""),
            worker: None,
            includes: BTreeMap::new(),
            description: None,
            input: None,
            documents: 0,
            model: None,
            slots,
            free: vec![],
            absent: vec![],
            notes: vec![],
            syntax_error: None,
            difference: None,
        }
    }

    fn plan() -> Plan {
        Plan {
            worker: "w".to_owned(),
            digest: String::new(),
            model: "openai:x".to_owned(),
            slots: vec![],
            tools: vec![],
            documents: vec![],
            prompt: Untrusted::new(""),
            from: vec![],
            grants: vec![],
            reads: vec![],
            inputs: Value::record_from_map(Default::default()),
            tells: true,
            notes: vec!["it may ask its model 3 times".to_owned()],
            seal: BlobHash::of(b""),
        }
    }

    /// Returns all sentences for an endowment with these slots, one per line.
    fn said(slots: Vec<ProposedSlot>, picked: &[(&str, PickRow)], plan: Option<Plan>) -> String {
        let proposed = proposed(slots);
        let picked = picked.iter().map(|(slot, row)| ((*slot).to_owned(), row)).collect();
        let goes_to = ResultGoesTo::GuestData;
        let plan = plan.as_ref();
        let endowing = EndowmentSummary {
            from: Some("fae"),
            proposed: &proposed,
            picked: &picked,
            plan,
            goes_to,
            result: None,
        };
        endowing.sentences().iter().map(|one| one.plain() + "\n").collect()
    }

    #[track_caller]
    fn expect(text: &str, parts: &[&str], nowhere: &[&str]) {
        for part in parts {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
        for part in nowhere {
            assert!(!text.contains(part), "{part:?} is in {text}");
        }
    }

    #[test]
    fn endowed_code_lists_objects_with_all_methods() {
        let can = |name: &str, effect: &str| Method { name: name.to_owned(), effect: effect.to_owned() };
        let count = ProposedSlot { uses: vec!["incr".to_owned()], ..slot("c", Some("Counter")) };
        let narrow = PickRow { methods: vec![can("incr", "")], ..row("one", "made by your own code") };
        let dir = PickRow {
            methods: vec![can("list", "reads"), can("write", "changes")],
            ..row("papers", "directory /papers; only .md")
        };
        let five = PickRow { data: true, ..row("five", "the number 5") };
        let later = PickRow { pending: true, ..row("map", "pending") };
        let slots = || {
            vec![count.clone(), slot("d", Some("dir")), slot("n", None), slot("x", None), slot("o", Some(""))]
        };
        let picked = [
            ("c", narrow),
            ("d", dir),
            ("n", five),
            ("x", later.clone()),
            ("o", PickRow { others: true, ..row("any", "thing") }),
        ];
        let text = said(slots(), &picked, None);
        expect(
            &text,
            &[
                "As c it gets your one: made by your own code (object, 01010101). It can do: incr. What is proposed calls incr of it.",
                "directory /papers; only .md (object, 01010101). It reads: list. It changes: write.",
                "As n it gets your five: the number 5.",
                "As x it gets your map: pending (object, 01010101). Nothing has come of it yet: whoever answers it decides what this becomes.",
                "(object, 01010101). Only its code knows its methods: all that you can call can be called.",
                "without asking you again",
                "Its result goes to you and, if it is data, to fae; you are asked before",
                "You give the result no name",
            ],
            &[],
        );
        // The object's guard lists all methods, unless it also lets other methods through.
        for (methods, others, words) in [
            (vec![can("incr", ""), can("get", "")], false, ". It can do: incr, get.\n"),
            (
                vec![can("incr", "")],
                true,
                ". It can do: incr. Only its code knows its other methods: these can be called as well.\n",
            ),
            (vec![], false, "01010101). It has no methods.\n"),
        ] {
            let made = PickRow { methods, others, ..row("made", "made by code of fae") };
            expect(&said(vec![slot("c", Some("Counter"))], &[("c", made)], None), &[words], &[]);
        }
        let text = said(vec![slot("c", Some("Counter"))], &[("c", later)], None);
        expect(&text, &["what does not fit the slot then is refused"], &["Together"]);
    }

    #[test]
    fn endowed_worker_lists_slots_and_asking_methods() {
        let method = |name: &str, effect, allowed, asked| PlannedMethod {
            name: name.to_owned(),
            effect: Some(effect),
            allowed,
            asked,
        };
        let planned = |slot: &str, kind: &str, what: &str, methods| PlannedSlot {
            slot: slot.to_owned(),
            kind: kind.to_owned(),
            what: Untrusted::new(what),
            named: None,
            is_new: kind == "dir rw",
            methods,
            limits: vec![],
        };
        let out = vec![
            method("list", Effect::Observe, false, false),
            method("append", Effect::Modify, true, false),
            method("write", Effect::Modify, true, true),
            method("edit", Effect::Modify, false, false),
        ];
        let outbox = vec![method("send", Effect::Commit, true, false)];
        let document =
            PlannedDocument { path: Untrusted::new("/d.md"), bytes: 4, hash: BlobHash::of(b"four") };
        let plan = Plan {
            grants: vec![
                planned("out", "dir rw", "directory /real/out (rw)", out),
                planned("post", "outbox", "mail spool /post", outbox),
                planned("helper", "worker", "worker helper (abc)", vec![]),
                planned("q", "ask", "questions to you, in your inbox", vec![]),
                planned("prog", "program", "make", vec![method("run", Effect::Modify, false, false)]),
                planned("make", "program", "make", vec![method("run", Effect::Modify, true, false)]),
                planned(
                    "web",
                    "http",
                    "https://a.example/",
                    vec![method("get", Effect::Observe, false, false)],
                ),
            ],
            reads: vec![document],
            ..plan()
        };
        let slots = vec![
            slot("out", Some("dir rw")),
            slot("post", Some("outbox")),
            slot("helper", Some("worker")),
            slot("q", Some("ask")),
        ];
        let text = said(slots, &[], Some(plan));
        expect(
            &text,
            &[
                "As out it gets the directory /real/out (rw), which is not there yet and is made.",
                "Of out it may call list, which only reads: you are not asked.",
                "Of out it may call append, which changes something, without asking you: you have said so.",
                "Of out it may call write, edit, which changes something: you are asked each time.",
                "about out.write, and are asked all the same: the file wants it.",
                "about post.send, and are asked all the same: it sends.",
                "As helper it may call worker helper (abc).",
                "As q it may ask you questions, in your inbox.",
                "Of prog it may call run, which changes or sends something: you are asked each time.",
                "Of make it may call run, which changes something, without asking you: you have said so. Where it could \
                 send, you are asked all the same.",
                "Of web it may call get, which only reads: you are asked once it has read something elsewhere.",
                "The gates may refuse any call, or ask you about it all the same.",
                "It reads the document /d.md (4 bytes, digest ",
                "whoever answers for it is told all that the worker reads",
                "It may ask its model 3 times.",
                "Together: what it reads through out and in the documents can leave this machine through post, goes to whoever \
                 answers for its model, can be told to helper, which does what it can with it and can come to fae in the result.",
            ],
            &["Of q", "Of helper"],
        );
    }

    #[test]
    fn combined_flow_out_is_shown_only_if_data_can_leave() {
        let dir = || PickRow { labels: vec!["dir".to_owned()], ..row("src", "directory /src") };
        let read = || slot("src", Some("dir"));
        let net = || PickRow { labels: vec!["http".to_owned()], ..row("net", "the web") };
        let text = said(vec![slot("net", Some("http"))], &[("net", net())], None);
        expect(&text, &[], &["Together"]);
        let slots = || vec![read(), slot("net", Some("http")), slot("obj", Some("Counter"))];
        let text = said(slots(), &[("src", dir()), ("net", net())], None);
        expect(&text, &["what it reads through src can leave this machine through net"], &["handed to"]);
        let text = said(slots(), &[("src", dir()), ("obj", row("obj", "x"))], None);
        expect(
            &text,
            &["can be handed to obj, which leads where nobody here knows"],
            &["leave this machine"],
        );
        // Only flows to others are listed. A result for the user alone is no such flow.
        let proposed = proposed(vec![read()]);
        let (dir, result) = (dir(), None);
        let picked = [("src".to_owned(), &dir)].into();
        let mut endowing = EndowmentSummary {
            from: Some("fae"),
            proposed: &proposed,
            picked: &picked,
            plan: None,
            goes_to: ResultGoesTo::Host,
            result,
        };
        let said = |endowing: &EndowmentSummary<'_>| -> String {
            endowing.sentences().iter().map(Sentence::plain).collect()
        };
        expect(&said(&endowing), &["Its result goes to you alone."], &["Together"]);
        endowing.goes_to = ResultGoesTo::GuestData;
        expect(&said(&endowing), &["what it reads through src can come to fae in the result."], &[]);
        endowing.from = None;
        expect(&said(&endowing), &["Its result goes to you."], &["Together"]);
    }
}
