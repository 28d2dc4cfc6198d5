//! The steps that a worker file makes without a model: `then` and `write`.

use kernel::Value;
use kernel::proposal::Finding;
use kernel::run::{Attachment, CallSite, Completion, Run, RunOutcome, Shape, Trouble};
use serde_json::{Map, Value as Json, json};

use crate::conversation::{attachment_list, item, prompt_data};
use crate::definition::{RenderedFile, WriteScope, render_with, render_write};
use crate::fold::{Call, Fold};
use crate::item_check::TakenFiles;
use crate::program::Program;
use crate::trouble::trouble;

/// Returns the results of one item's steps so far: `output`, then each `then` result by name.
pub(crate) fn results(program: &Program, fold: &Fold, output: &Value) -> Map<String, Json> {
    let mut results = Map::new();
    results.insert("output".to_owned(), output.to_json());
    for (index, then) in program.definition.then.iter().enumerate() {
        let call = fold.made_by(&CallSite::Then { index });
        if let Some(Completion::Done { value, .. }) = call.and_then(|c| c.completion.as_ref()) {
            results.insert(then.name.clone(), value.to_json());
        }
    }
    results
}

/// Returns the arguments of the call that a `then` step makes.
pub(crate) fn then_args(
    program: &Program,
    run: &Run,
    index: usize,
    results: &Map<String, Json>,
) -> Result<Json, Trouble> {
    let mut data = prompt_data(run);
    merge(&mut data, results);
    let input =
        render_with(&program.definition, &program.bundle, index, &data).map_err(|e| mend(&e.to_string()))?;
    let mut args = json!({ "input": input });
    if program.definition.then.get(index).is_some_and(|then| then.attach) {
        args["attachments"] = run.input.attachments.iter().map(|a| a.name.as_str()).collect();
    }
    Ok(args)
}

/// A file that a run writes.
pub(crate) struct PlannedFile {
    pub(crate) file: RenderedFile,
    /// The name and the index of the item. `None` for a file of the whole run.
    item: Option<(String, u64)>,
}

/// Returns the files that the run writes, in order, and the reasons for the files that it cannot write. The content of
/// a document can make an item's path invalid, or the same as another item's. The other files are written all the
/// same.
pub(crate) fn writes(program: &Program, run: &Run, items: &[Item]) -> (Vec<PlannedFile>, Vec<Json>) {
    let input = run.input.values.to_json();
    let (mut all, mut refused): (Vec<PlannedFile>, Vec<Json>) = (Vec::new(), Vec::new());
    let mut taken = TakenFiles::default();
    for (index, write) in program.definition.write.iter().enumerate() {
        let render = |data: &Json| render_write(&program.definition, &program.bundle, index, data);
        match write.scope {
            WriteScope::Each => {
                for one in items.iter().filter(|one| one.error.is_none() && !one.is_earlier) {
                    let mut data =
                        json!({ "input": input, "item": one.item, "attachments": one.attachments });
                    merge(&mut data, &one.results);
                    let name = one.item["name"].as_str().unwrap_or_default();
                    let item = Some((name.to_owned(), one.item["index"].as_u64().unwrap_or_default()));
                    match render(&data).map_err(|error| error.to_string()).and_then(|file| {
                        let is_free = taken.take(&file.slot, &file.path, name);
                        is_free
                            .map(|()| file.clone())
                            .map_err(|_| format!("another item writes {} too", file.path))
                    }) {
                        Ok(file) => all.push(PlannedFile { file, item }),
                        Err(why) => refused.push(unwritten(&write.slot, None, item.as_ref(), &why)),
                    }
                }
            }
            WriteScope::Once => {
                let rows: Vec<Json> = items.iter().map(Item::row).collect();
                let data = json!({ "input": input, "items": rows });
                match render(&data).map_err(|error| error.to_string()).and_then(|file| {
                    let is_free = taken.take(&file.slot, &file.path, "the file for all items");
                    is_free
                        .map(|()| file.clone())
                        .map_err(|other| format!("{other} writes {} too", file.path))
                }) {
                    Ok(file) => all.push(PlannedFile { file, item: None }),
                    Err(why) => refused.push(unwritten(&write.slot, None, None, &why)),
                }
            }
        }
    }
    (all, refused)
}

/// Returns the row for a file that was not written. An item with such a row has failed, and a retry writes the file.
fn unwritten(slot: &str, path: Option<&Json>, item: Option<&(String, u64)>, why: &str) -> Json {
    let mut row = json!({ "slot": slot, "path": path, "written": false, "why": why });
    if let Some((name, index)) = item {
        row["item"] = json!(name);
        row["index"] = json!(index);
    }
    row["failed"] = json!(true);
    row
}

/// One item of a run in the form that the `write` steps use.
pub(crate) struct Item {
    item: Json,
    attachments: Json,
    results: Map<String, Json>,
    error: Option<String>,
    /// Whether an earlier run has completed the item. That run has also written the item's files.
    is_earlier: bool,
}

impl Item {
    /// Returns the only item of a run that does not run each document separately.
    pub(crate) fn only(run: &Run, results: Map<String, Json>) -> Item {
        let name = run.input.attachments.first().map_or(run.name.as_str(), |a| a.name.as_str());
        let attachments = attachment_list(&run.input.attachments);
        Item { item: item(name, 0), attachments, results, error: None, is_earlier: false }
    }

    /// Returns an item that has ended, in this run or in an earlier one.
    pub(crate) fn collected(
        document: &Attachment,
        index: usize,
        outcome: &RunOutcome,
        is_earlier: bool,
    ) -> Item {
        let (item, attachments) =
            (item(&document.name, index), attachment_list(std::slice::from_ref(document)));
        match outcome {
            RunOutcome::Done(value) => {
                let results = match value.to_json() {
                    Json::Object(fields) => fields,
                    other => Map::from_iter([("output".to_owned(), other)]),
                };
                Item { item, attachments, results, error: None, is_earlier }
            }
            RunOutcome::Failed(trouble) => {
                let error = Some(trouble.message.raw().to_owned());
                Item { item, attachments, results: Map::new(), error, is_earlier }
            }
        }
    }

    pub(crate) fn is_earlier(&self) -> bool {
        self.is_earlier
    }

    pub(crate) fn failed(&self) -> bool {
        self.error.is_some()
    }

    fn row(&self) -> Json {
        let mut row = json!({ "item": self.item, "error": self.error });
        merge(&mut row, &self.results);
        row
    }
}

/// Returns the result of the whole run.
pub(crate) fn value(run: &Run, program: &Program, items: &[Item], files: Vec<Json>) -> Json {
    let steps = !program.definition.then.is_empty() || !program.definition.write.is_empty();
    match (run.shape, items) {
        (Shape::Each { .. }, _) => {
            json!({ "items": items.iter().map(Item::row).collect::<Vec<_>>(), "files": files })
        }
        (_, [one]) if steps => {
            let mut value = Json::Object(one.results.clone());
            if !program.definition.write.is_empty() {
                value["files"] = Json::Array(files);
            }
            value
        }
        (_, [one]) => one.results.get("output").cloned().unwrap_or(Json::Null),
        _ => Json::Null,
    }
}

/// Returns whether a person has denied a call.
pub(crate) fn is_denied(call: &Call) -> bool {
    let is_denial = |findings: &[Finding]| findings.iter().any(Finding::is_denial);
    matches!(&call.completion, Some(Completion::Refused(findings)) if is_denial(findings))
}

/// Returns the outcome of a write in the form for the run's result. A write that a person has denied is no failure.
pub(crate) fn write_outcome(call: &Call, planned: &[PlannedFile]) -> Json {
    let (slot, path) = (&call.proposal.slot, call.proposal.args.first().map(Value::to_json));
    let item = match call.site {
        CallSite::Write { index } => planned.get(index).and_then(|planned| planned.item.as_ref()),
        _ => None,
    };
    match &call.completion {
        Some(Completion::Done { .. }) => json!({ "slot": slot, "path": path, "written": true }),
        Some(Completion::Refused(findings)) if is_denied(call) => json!({
            "slot": slot, "path": path, "written": false, "why": findings.first().map(|f| f.message.clone()),
        }),
        Some(Completion::Refused(findings)) => {
            unwritten(slot, path.as_ref(), item, findings.first().map_or("", |f| f.message.as_str()))
        }
        Some(Completion::Failed(finding)) => unwritten(slot, path.as_ref(), item, &finding.message),
        None => Json::Null,
    }
}

fn merge(data: &mut Json, more: &Map<String, Json>) {
    if let Json::Object(fields) = data {
        fields.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
}

fn mend(message: &str) -> Trouble {
    trouble("definition/template", message, "mend the worker file and run it again")
}
