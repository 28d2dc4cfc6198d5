//! Everything from which the words of a run's calls can come: the user's own words, documents and results.

use std::collections::BTreeSet;
use std::sync::Arc;

use kernel::formula::Formula;
use kernel::proposal::Effect;
use kernel::provenance::{Provenance, Source};
use kernel::run::{Attachment, Completion, Run, Trouble, WaitReason};
use kernel::{BlobHash, Value};
use policy::trace::{Naming, naming_of, readable, readable_text};
use policy::{Attribution, Reading, Sources, TextIndex};

use crate::driver_port::DriverPort;
use crate::fold::{Call, Fold};
use crate::memory::IndexKey;
use crate::slot_binding::{SlotTarget, Slots};
use crate::trouble::internal;

/// The maximum number of characters of one argument in the name of a call.
const MAX_ARGUMENT_LEN: usize = 80;

/// The maximum number of arguments in the name of a call.
const MAX_ARGUMENTS: usize = 4;

/// The user's words, and everything that a run has read.
pub(crate) struct Readings {
    given: Arc<TextIndex>,
    all: Vec<NamedText>,
}

/// One document or result.
struct NamedText {
    name: String,
    call: Option<String>,
    index: Arc<TextIndex>,
    naming: Naming,
}

impl NamedText {
    fn reading(&self) -> Reading<'_> {
        Reading { name: &self.name, call: self.call.as_deref(), index: &self.index, naming: self.naming }
    }
}

impl Readings {
    /// Reads everything that a run has been shown until now.
    pub(crate) fn of(
        world: &dyn DriverPort,
        run: &Run,
        fold: &Fold,
        slots: &Slots,
    ) -> Result<Readings, Trouble> {
        let OwnWords { given, foreign } = own_words(world, run, fold, slots)?;
        let key = IndexKey { hash: BlobHash::of(given.as_bytes()), is_result: false };
        let given = world.memory().index(key, || Ok::<_, Trouble>(TextIndex::plain(&given)))?;
        let mut readings = Readings { given, all: Vec::new() };
        for (name, text) in foreign {
            readings.add_foreign(name, &text);
        }
        readings.add_documents(world, run)?;
        let mut changed = ChangedItems::default();
        for call in fold.calls.values() {
            readings.add_result(world, call, slots, &changed)?;
            changed.note(call);
        }
        Ok(readings)
    }

    /// Returns the traces and the givers of a call's arguments.
    pub(crate) fn trace<'a>(
        &self,
        args: impl IntoIterator<Item = (&'a str, &'a Value)>,
        model: &str,
        leaves: bool,
    ) -> Attribution {
        let readings: Vec<Reading<'_>> = self.all.iter().map(NamedText::reading).collect();
        policy::trace(args, &Sources { given: &self.given, readings: &readings, model, leaves })
    }

    fn add_documents(&mut self, world: &dyn DriverPort, run: &Run) -> Result<(), Trouble> {
        for document in run.input.attachments.iter().chain(&run.input.items) {
            let key = IndexKey { hash: document.text, is_result: false };
            let make = || document_text(world, document).map(|text| TextIndex::new(&text));
            let index = world.memory().index(key, make)?;
            self.add(document.name.clone(), None, index);
        }
        for origin in &run.input.origins {
            if let Source::Document { name, hash } = origin {
                let text = input_text(&run.input.values, hash);
                self.add(name.clone(), None, Arc::new(TextIndex::new(&text)));
            }
        }
        // The words of a call are those of the model that made it.
        if let Some(parent) = run.parent.filter(|parent| matches!(parent.place, WaitReason::Call { .. })) {
            self.add_foreign(format!("the call by {}", parent.run), &readable(&run.input.values));
        }
        Ok(())
    }

    /// Adds words that a model or another agent put where a user's words may stand. The user cannot name them.
    fn add_foreign(&mut self, name: String, text: &str) {
        let index = Arc::new(TextIndex::new(text));
        self.all.push(NamedText { name, call: None, index, naming: Naming::None });
    }

    /// Adds a document. The user names it by the name of its file.
    fn add(&mut self, name: String, call: Option<String>, index: Arc<TextIndex>) {
        let naming = naming_of("", [("", &Value::from(name.as_str()))], &self.given, &[]);
        self.all.push(NamedText { name, call, index, naming });
    }

    /// Adds the result of a call, if others than the user and the run itself chose its words.
    fn add_result(
        &mut self,
        world: &dyn DriverPort,
        call: &Call,
        slots: &Slots,
        changed: &ChangedItems,
    ) -> Result<(), Trouble> {
        let Some(Completion::Done { value, provenance }) = &call.completion else { return Ok(()) };
        if answer_kind(call, slots).is_some() && !provenance.is_untrusted() {
            return Ok(());
        }
        let Some(name) = result_name(call, provenance) else { return Ok(()) };
        let naming = self.naming(call, slots, changed);
        let mut add = |name: String, call: Option<String>, index: Arc<TextIndex>| {
            self.all.push(NamedText { name, call, index, naming });
        };
        // A search through files gives the lines of several files.
        let files = lines_by_file(value, provenance);
        if !files.is_empty() {
            for (file, lines) in files {
                add(file, None, Arc::new(TextIndex::new(&lines)));
            }
            return Ok(());
        }
        let index = match &call.whole {
            Some(whole) => {
                let key = IndexKey { hash: whole.hash, is_result: true };
                world.memory().index(key, || {
                    let text = String::from_utf8(world.blob(&whole.hash)?)
                        .map_err(|_| internal("a result is no text"))?;
                    Ok::<_, Trouble>(TextIndex::new(&readable_text(&text)))
                })?
            }
            None => {
                let text = readable(value);
                let key = IndexKey { hash: BlobHash::of(text.as_bytes()), is_result: false };
                world.memory().index(key, || Ok::<_, Trouble>(TextIndex::new(&text)))?
            }
        };
        let arguments = arguments_in_words(call, slots, &name);
        add(name, arguments, index);
        Ok(())
    }

    /// Returns the way in which the user's words name the item that a call has read. The results of workers, of tools
    /// that tell others what they are asked, and of calls that read back the run's own changes are no such items.
    fn naming(&self, call: &Call, slots: &Slots, changed: &ChangedItems) -> Naming {
        let proposal = &call.proposal;
        let Some(bound) = slots.by_grant(&proposal.grant) else { return Naming::None };
        let SlotTarget::Capability(capability) = &bound.reach else { return Naming::None };
        if capability.tells_others(&proposal.method) || changed.include(call) {
            return Naming::None;
        }
        let method = bound.interface.method(&proposal.method);
        let names = method.into_iter().flat_map(|method| &method.params).map(|param| param.name.as_str());
        let args = names.chain(std::iter::repeat("")).zip(&proposal.args);
        if proposal.effect == Effect::Modify {
            return Naming::Made;
        }
        let earlier: Vec<Reading<'_>> = self.all.iter().map(NamedText::reading).collect();
        naming_of(&proposal.method, args, &self.given, &earlier)
    }
}

/// The names of the items that a run has changed, each with the slot and the method of the change.
#[derive(Default)]
struct ChangedItems {
    names: BTreeSet<(String, String, String)>,
}

impl ChangedItems {
    /// Notes a call that has changed something, or may have.
    fn note(&mut self, call: &Call) {
        let proposal = &call.proposal;
        if proposal.effect == Effect::Observe {
            return;
        }
        for value in &proposal.args {
            for name in leaf_texts(value) {
                let name = last_part(&name).to_owned();
                self.names.insert((proposal.slot.clone(), proposal.method.clone(), name));
            }
        }
    }

    /// Returns whether a call names an item that another method has changed. Then its words may be the run's own.
    fn include(&self, call: &Call) -> bool {
        let proposal = &call.proposal;
        proposal.args.iter().flat_map(leaf_texts).any(|name| {
            let name = last_part(&name);
            self.names.iter().any(|(slot, method, changed)| {
                changed == name && (slot, method) != (&proposal.slot, &proposal.method)
            })
        })
    }
}

/// Returns the last part of a path. Other texts are one part.
fn last_part(text: &str) -> &str {
    text.trim().trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// Returns the text of a document that the run was given.
pub(crate) fn document_text(world: &dyn DriverPort, document: &Attachment) -> Result<String, Trouble> {
    String::from_utf8(world.blob(&document.text)?).map_err(|_| internal("the text of a document is not text"))
}

/// The words where a user's words may stand.
struct OwnWords {
    /// The user's own words.
    given: String,
    /// The words of models and other agents, each with the name of its source.
    foreign: Vec<(String, String)>,
}

/// Returns the words of worker files, inputs, answers and messages, by their authors. For a run that another run called,
/// inputs are the words for the first of them.
///
/// The file of a worker counts as the user's, unless a run has made a worker anywhere above it, or another agent has
/// proposed the first of the runs.
fn own_words(world: &dyn DriverPort, run: &Run, fold: &Fold, slots: &Slots) -> Result<OwnWords, Trouble> {
    let mut given: Vec<String> = fold.said.iter().map(|said| said.text.clone()).collect();
    let mut foreign = Vec::new();
    for call in fold.calls.values() {
        let (Some(kind), Some(Completion::Done { value, provenance })) =
            (answer_kind(call, slots), &call.completion)
        else {
            continue;
        };
        // The user may also have answered with the name of a value that somebody else made.
        if provenance.is_untrusted() {
            continue;
        }
        let words = answer_words(kind, call, value);
        given.extend(words.given);
        if !words.foreign.is_empty() {
            let name = format!("what `{}` offered you", call.proposal.method);
            foreign.push((name, words.foreign.join("\n\n")));
        }
    }
    let (mut files, mut made) = (Vec::new(), Vec::new());
    let mut root = run.clone();
    while let Some(parent) = root.parent {
        let above = world.run(parent.run)?;
        files.push((above.number, definition(world, &root)?));
        if has_made(world, &above, &root)? {
            made.append(&mut files);
        }
        root = above;
    }
    for (by, file) in made {
        foreign.push((format!("the worker that {by} made"), file.join("\n\n")));
    }
    given.extend(files.into_iter().flat_map(|(_, file)| file));
    let mut own = definition(world, &root)?;
    own.extend(typed_inputs(&root));
    match root.delivery {
        Some(delivery) => {
            let name = format!("the proposal of another agent in message {}", delivery.message);
            foreign.push((name, own.join("\n\n")));
        }
        None => given.extend(own),
    }
    Ok(OwnWords { given: given.join("\n\n"), foreign })
}

/// Returns whether a model has made the worker of `child`, a run that `above` has called, or may have.
fn has_made(world: &dyn DriverPort, above: &Run, child: &Run) -> Result<bool, Trouble> {
    if !above.made.is_empty() {
        return Ok(true);
    }
    for grant in above.grants.values() {
        if let Formula::Worker { definition, made_by: Some(_), .. } = world.grant(grant)?.1
            && definition == child.definition
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the inputs of a run, without those that were read from files.
fn typed_inputs(run: &Run) -> Vec<String> {
    let from_files: BTreeSet<&BlobHash> = run
        .input
        .origins
        .iter()
        .filter_map(|origin| match origin {
            Source::Document { hash, .. } => Some(hash),
            _ => None,
        })
        .collect();
    let values = run.input.values.as_record().into_iter().flatten().map(|(_, value)| value);
    let is_typed = |value: &&Value| {
        !value.as_str().is_some_and(|text| from_files.contains(&BlobHash::of(text.as_bytes())))
    };
    values.filter(is_typed).map(readable).collect()
}

/// Returns the worker file of a run and the files that it includes.
fn definition(world: &dyn DriverPort, run: &Run) -> Result<Vec<String>, Trouble> {
    let hashes = std::iter::once(&run.definition).chain(run.includes.values());
    hashes.map(|hash| Ok(String::from_utf8_lossy(&world.blob(hash)?).into_owned())).collect()
}

/// The kind of a question to the user.
#[derive(Clone, Copy, PartialEq)]
enum AnswerKind {
    /// A question or a form, whose answer is a record of fields.
    Fields,
    /// A request for a value or for a slot.
    Request,
}

/// Returns the kind of the question that a call asks the user. Returns `None` for other calls.
fn answer_kind(call: &Call, slots: &Slots) -> Option<AnswerKind> {
    match slots.by_grant(&call.proposal.grant).map(|bound| &bound.reach) {
        Some(SlotTarget::Questions) => Some(AnswerKind::Fields),
        Some(SlotTarget::Mail) if call.proposal.method == "request" => Some(AnswerKind::Request),
        _ => None,
    }
}

/// The words of an answer.
#[derive(Default)]
struct AnswerWords {
    /// The words that the user typed.
    given: Vec<String>,
    /// The words that the model offered, and that the user picked or left as they were.
    foreign: Vec<String>,
}

/// Returns the words of an answer by their authors. The names of fields and slots are the model's, and so is everything
/// that it offered: choices, patterns, defaults and examples.
fn answer_words(kind: AnswerKind, call: &Call, value: &Value) -> AnswerWords {
    let texts: Vec<String> = match kind {
        AnswerKind::Fields => leaf_texts(value),
        AnswerKind::Request => value.get("value").map(leaf_texts).unwrap_or_default(),
    };
    let offered: Vec<TextIndex> = match kind {
        AnswerKind::Fields => {
            call.proposal.args.iter().skip(1).map(readable).map(|text| TextIndex::new(&text)).collect()
        }
        AnswerKind::Request => Vec::new(),
    };
    let mut words = AnswerWords::default();
    for text in texts {
        let is_offered = offered.iter().any(|index| index.holds(&text));
        if is_offered { words.foreign.push(text) } else { words.given.push(text) }
    }
    words
}

/// Returns the texts and numbers in a value, without the names of fields.
fn leaf_texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(elements) => elements.iter().flat_map(leaf_texts).collect(),
        Value::Record(fields) => fields.iter().flat_map(|(_, field)| leaf_texts(field)).collect(),
        Value::String(_) | Value::Number(_) | Value::BigInt(_) | Value::Bytes(_) => {
            Some(readable(value)).filter(|text| !text.trim().is_empty()).into_iter().collect()
        }
        Value::Tagged(tagged) => leaf_texts(tagged.payload()),
        _ => Vec::new(),
    }
}

/// Returns the name of the source of a result: the document that the call read, the tool, or the worker. Returns `None`
/// if the result holds nobody's words, such as the size of a file that was written.
fn result_name(call: &Call, provenance: &Provenance) -> Option<String> {
    let proposal = &call.proposal;
    if call.child.is_some() {
        return Some(format!("what `{}` gave back", proposal.slot));
    }
    let names = |of: &Provenance| -> BTreeSet<(String, BlobHash)> {
        let documents = of.sources.iter().filter_map(|source| match source {
            Source::Document { name, hash } => Some((name.clone(), *hash)),
            _ => None,
        });
        documents.collect()
    };
    let (all, known) = (names(provenance), names(&proposal.provenance));
    // The provenance of a result may include that of the call. The rest is what the call itself has read.
    let own: BTreeSet<&str> = all.difference(&known).map(|(name, _)| name.as_str()).collect();
    let mut own = own.into_iter();
    match (own.next(), own.next()) {
        (Some(name), None) => Some(name.to_owned()),
        (Some(_), Some(_)) => Some(format!("{}/{}", proposal.slot, proposal.method)),
        // The same was read before, or only the user and the run chose these words.
        (None, _) if !provenance.is_untrusted() => None,
        (None, _) => {
            let is_read = proposal.effect == Effect::Observe;
            let only = all.iter().map(|(name, _)| name).collect::<BTreeSet<_>>();
            match only.first().filter(|_| only.len() == 1 && *provenance != proposal.provenance) {
                Some(name) => Some((*name).clone()),
                None => is_read.then(|| format!("{}/{}", proposal.slot, proposal.method)),
            }
        }
    }
}

/// Returns the lines that a search found, by the file that holds them. Returns nothing for other results.
fn lines_by_file(value: &Value, provenance: &Provenance) -> Vec<(String, String)> {
    let matches = value.get("matches").and_then(Value::as_array).unwrap_or_default();
    let mut files: Vec<(String, String)> = Vec::new();
    for found in matches {
        let field = |name| found.get(name).and_then(Value::as_str);
        let (Some(path), Some(text)) = (field("path"), field("text")) else { return Vec::new() };
        let is_source = |source: &&str| source.strip_suffix(path).is_some_and(|slot| slot.ends_with('/'));
        let name = provenance.sources.iter().find_map(|source| match source {
            Source::Document { name, .. } => Some(name.as_str()).filter(is_source),
            _ => None,
        });
        let Some(name) = name else { return Vec::new() };
        match files.iter_mut().find(|(known, _)| known == name) {
            Some((_, lines)) => {
                lines.push('\n');
                lines.push_str(text);
            }
            None => files.push((name.to_owned(), format!("{path}\n{text}"))),
        }
    }
    files
}

/// Returns the arguments of a call as a part of the name of its result, such as `query "rent"`. Arguments that the name
/// tells already are left out.
fn arguments_in_words(call: &Call, slots: &Slots, name: &str) -> Option<String> {
    let bound = slots.by_grant(&call.proposal.grant);
    let method = bound.and_then(|bound| bound.interface.method(&call.proposal.method));
    let mut words = Vec::new();
    for (at, value) in call.proposal.args.iter().enumerate() {
        let text = match value {
            Value::Undefined | Value::Null => continue,
            Value::String(_) => readable(value),
            _ => value.to_json().to_string(),
        };
        if text.trim().is_empty() || name.ends_with(text.as_str()) {
            continue;
        }
        let parameter =
            method.and_then(|method| method.params.get(at)).map_or("", |param| param.name.as_str());
        let mut shown: String = text.chars().take(MAX_ARGUMENT_LEN).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        let shown = if matches!(value, Value::String(_)) { format!("\"{shown}\"") } else { shown };
        words.push(format!("{parameter} {shown}").trim().to_owned());
    }
    words.truncate(MAX_ARGUMENTS);
    (!words.is_empty()).then(|| words.join(", "))
}

/// Returns the text of the input that was read from a file with this hash. Text that the person typed does not count.
fn input_text(values: &Value, hash: &BlobHash) -> String {
    let mut texts = values.as_record().into_iter().flatten().filter_map(|(_, value)| value.as_str());
    texts.find(|text| BlobHash::of(text.as_bytes()) == *hash).unwrap_or_default().to_owned()
}
