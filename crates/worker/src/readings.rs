//! Everything from which the words of a run's calls can come: the user's own words, documents and results.

use std::collections::BTreeSet;
use std::sync::Arc;

use kernel::provenance::{Provenance, Source};
use kernel::run::{Attachment, Completion, Run, Trouble, WaitReason};
use kernel::{BlobHash, Value};
use policy::trace::{is_named, readable, readable_text};
use policy::{Reading, Sources, TextIndex, Traced};

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
    is_named: bool,
    /// Whether a call without arguments returned it, such as a list of channels.
    is_whole_list: bool,
}

impl NamedText {
    fn reading(&self) -> Reading<'_> {
        Reading { name: &self.name, call: self.call.as_deref(), index: &self.index, is_named: self.is_named }
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
        let words = user_words(world, run, fold, slots)?;
        let key = IndexKey { hash: BlobHash::of(words.as_bytes()), is_result: false };
        let given = world.memory().index(key, || Ok::<_, Trouble>(TextIndex::plain(&words)))?;
        let mut readings = Readings { given, all: Vec::new() };
        readings.add_documents(world, run)?;
        for call in fold.calls.values() {
            readings.add_result(world, call, slots)?;
        }
        Ok(readings)
    }

    /// Returns the traces and the givers of a call's arguments.
    pub(crate) fn trace<'a>(
        &self,
        args: impl IntoIterator<Item = (&'a str, &'a Value)>,
        model: &str,
        leaves: bool,
    ) -> Traced {
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
            let text = readable(&run.input.values);
            let name = format!("the call by {}", parent.run);
            self.add(name, None, Arc::new(TextIndex::new(&text)));
        }
        Ok(())
    }

    /// Adds a document. The user names it by the name of its file.
    fn add(&mut self, name: String, call: Option<String>, index: Arc<TextIndex>) {
        let is_named = is_named([&Value::from(name.as_str())], &self.given, &[]);
        self.all.push(NamedText { name, call, index, is_named, is_whole_list: false });
    }

    /// Adds the result of a call, if others than the user and the run itself chose its words.
    fn add_result(&mut self, world: &dyn DriverPort, call: &Call, slots: &Slots) -> Result<(), Trouble> {
        let Some(Completion::Done { value, provenance }) = &call.completion else { return Ok(()) };
        if is_answer_of_user(call, slots) {
            return Ok(());
        }
        let Some(name) = result_name(call, provenance) else { return Ok(()) };
        let list = self.all.iter().filter(|text| text.is_named || text.is_whole_list);
        let earlier: Vec<Reading<'_>> = list.map(NamedText::reading).collect();
        let is_named = call.child.is_none() && is_named(&call.proposal.args, &self.given, &earlier);
        let is_whole_list =
            call.proposal.args.iter().all(|arg| matches!(arg, Value::Undefined | Value::Null));
        let mut add = |name: String, call: Option<String>, index: Arc<TextIndex>| {
            self.all.push(NamedText { name, call, index, is_named, is_whole_list });
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
}

/// Returns the text of a document that the run was given.
pub(crate) fn document_text(world: &dyn DriverPort, document: &Attachment) -> Result<String, Trouble> {
    String::from_utf8(world.blob(&document.text)?).map_err(|_| internal("the text of a document is not text"))
}

/// Returns the user's own words: the worker file, the inputs, answers and messages. For a run that another run called,
/// these are the words for the first of them.
fn user_words(world: &dyn DriverPort, run: &Run, fold: &Fold, slots: &Slots) -> Result<String, Trouble> {
    let mut texts: Vec<String> = fold.said.iter().map(|said| said.text.clone()).collect();
    for call in fold.calls.values().filter(|call| is_answer_of_user(call, slots)) {
        if let Some(Completion::Done { value, .. }) = &call.completion {
            texts.push(readable(value));
        }
    }
    let mut root = run.clone();
    while let Some(parent) = root.parent {
        let above = world.run(parent.run)?;
        // A worker that a run has made is in the words of a model.
        if above.made.is_empty() {
            texts.extend(definition(world, &root)?);
        }
        root = above;
    }
    texts.extend(definition(world, &root)?);
    let from_files: BTreeSet<&BlobHash> = root
        .input
        .origins
        .iter()
        .filter_map(|origin| match origin {
            Source::Document { hash, .. } => Some(hash),
            _ => None,
        })
        .collect();
    for (_, value) in root.input.values.as_record().into_iter().flatten() {
        let is_from_file =
            value.as_str().is_some_and(|text| from_files.contains(&BlobHash::of(text.as_bytes())));
        if !is_from_file {
            texts.push(readable(value));
        }
    }
    Ok(texts.join("\n\n"))
}

/// Returns the worker file of a run and the files that it includes.
fn definition(world: &dyn DriverPort, run: &Run) -> Result<Vec<String>, Trouble> {
    let hashes = std::iter::once(&run.definition).chain(run.includes.values());
    hashes.map(|hash| Ok(String::from_utf8_lossy(&world.blob(hash)?).into_owned())).collect()
}

/// Returns whether the user gave the result of a call, as the answer to a question.
fn is_answer_of_user(call: &Call, slots: &Slots) -> bool {
    match slots.by_grant(&call.proposal.grant).map(|bound| &bound.reach) {
        Some(SlotTarget::Questions) => true,
        Some(SlotTarget::Mail) => call.proposal.method == "request",
        _ => false,
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
            let is_read = proposal.effect == kernel::proposal::Effect::Observe;
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
