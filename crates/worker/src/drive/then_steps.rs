//! The steps that a worker file makes after the model's answer: its `then` calls and its `write` steps.

use kernel::Value;
use kernel::command::{Judgement, Move};
use kernel::proposal::Decision;
use kernel::run::{CallSite, Completion, RunOutcome, Shape, Trouble};
use serde_json::Value as Json;

use super::{Driver, Flow};
use crate::budget::{self, Shortage, StepKind};
use crate::judging::JudgingContext;
use crate::slot_binding::CALL;
use crate::steps::{self, Item};
use crate::trouble::{internal, trouble};

impl Driver<'_> {
    /// Makes the worker's `then` calls, one after the other, and then the steps after them.
    pub(super) fn then(&mut self, output: &Value) -> Result<Flow, Trouble> {
        let results = steps::results(&self.program, &self.fold, output);
        for index in 0..self.program.definition.then.len() {
            let site = CallSite::Then { index };
            match self.fold.made_by(&site).map(|call| call.completion.clone()) {
                Some(Some(Completion::Done { .. })) => {}
                Some(Some(Completion::Refused(findings))) => {
                    let message = findings.first().map_or_else(String::new, |f| f.message.clone());
                    return self.fail(trouble("denied/then", message, "see `almoner trace`"));
                }
                Some(Some(Completion::Failed(finding))) => {
                    let help = finding.allowed.clone().unwrap_or_else(|| "see `almoner trace`".to_owned());
                    return self.fail(trouble("then/failed", finding.message, help));
                }
                Some(None) => return Err(internal("a call has no outcome and does not wait")),
                None => return self.propose_then(index, site, &results),
            }
        }
        match self.run.shape {
            Shape::Item => {
                let value = read_back(&Json::Object(results))?;
                self.finish(RunOutcome::Done(value))
            }
            _ => {
                let items = [Item::only(&self.run, results)];
                self.write(&items)
            }
        }
    }

    fn propose_then(
        &mut self,
        index: usize,
        site: CallSite,
        results: &serde_json::Map<String, Json>,
    ) -> Result<Flow, Trouble> {
        if let Some(flow) = self.ask_for_more(StepKind::Call)? {
            return Ok(flow);
        }
        let then = &self.program.definition.then[index];
        let slot = then.slot.clone();
        let args = match steps::then_args(&self.program, &self.run, index, results) {
            Ok(args) => args,
            Err(trouble) => return self.fail(trouble),
        };
        let bench = JudgingContext::new(self.world, &self.run, &self.fold, &self.slots)?;
        let judged = self.judge_step(&bench, site, &slot, CALL, &args)?;
        match judged {
            Ok(judgement) => {
                if let Some(short) = self.depth_question(&judgement)? {
                    return self.handle_shortage(short);
                }
                let proposals = vec![judgement];
                if let Some(short) = self.card_question(&proposals)? {
                    return self.handle_shortage(short);
                }
                self.advance(vec![Move::Propose { proposals }])?;
                Ok(Flow::Continue)
            }
            Err(trouble) => self.fail(trouble),
        }
    }

    /// Returns the shortage for calls of the worker file that would ask the person although the run has asked too often.
    fn card_question(&self, judged: &[Judgement]) -> Result<Option<Shortage>, Trouble> {
        let asks = judged.iter().any(|one| one.verdict.decision == Decision::Ask);
        let is_over = asks && budget::cards_left(self.world, &self.run)? == 0;
        Ok(is_over.then(budget::card_shortage))
    }

    /// Judges a call that the worker file makes. The inner error ends the run.
    fn judge_step(
        &self,
        bench: &JudgingContext<'_>,
        site: CallSite,
        slot: &str,
        method: &str,
        args: &Json,
    ) -> Result<Result<Judgement, Trouble>, Trouble> {
        let Some(bound) = self.slots.get(slot) else {
            return Err(internal(format!("slot `{slot}` is not bound")));
        };
        let Some(method) = bound.interface.method(method) else {
            return Err(internal(format!("`{slot}` has no method `{method}`")));
        };
        let args = match method.arguments_from_json(args) {
            Ok(args) => args,
            Err(mismatch) => {
                let message = format!("`{slot}`: {}", mismatch.teach());
                return Ok(Err(trouble("input/step", message, "mend the worker file and run it again")));
            }
        };
        bench.judge(site, slot, bound, method, args).map(Ok)
    }

    /// Makes the worker's `write` steps. All of them are one step, and so one card. An item that cannot be written
    /// does not stop the others.
    pub(super) fn write(&mut self, items: &[Item]) -> Result<Flow, Trouble> {
        let (writes, mut files) = steps::writes(&self.program, &self.run, items);
        if self.fold.made_by(&CallSite::Write { index: 0 }).is_none() && !writes.is_empty() {
            if let Some(flow) = self.ask_for_more(StepKind::Write)? {
                return Ok(flow);
            }
            let bench = JudgingContext::new(self.world, &self.run, &self.fold, &self.slots)?;
            let mut proposals = Vec::new();
            for (index, planned) in writes.iter().enumerate() {
                let write = &planned.file;
                let args = serde_json::json!({ "path": write.path, "content": write.content });
                let site = CallSite::Write { index };
                match self.judge_step(&bench, site, &write.slot, "write", &args)? {
                    Ok(judgement) => proposals.push(judgement),
                    Err(trouble) => return self.fail(trouble),
                }
            }
            if let Some(short) = self.card_question(&proposals)? {
                return self.handle_shortage(short);
            }
            self.advance(vec![Move::Propose { proposals }])?;
            return Ok(Flow::Continue);
        }
        let written: Vec<_> =
            self.fold.calls.values().filter(|call| matches!(call.site, CallSite::Write { .. })).collect();
        let done = written.iter().any(|call| matches!(call.completion, Some(Completion::Done { .. })));
        // The failure of a write that was tried is reported before that of a write that was impossible.
        let code = written
            .iter()
            .find_map(|call| call.completion.as_ref())
            .map_or("output/write", write_failure_code);
        files.splice(..0, written.iter().map(|call| steps::write_outcome(call, &writes)));
        // If a person has denied some files of many documents, the result tells which of the others failed.
        let is_partly_denied = matches!(self.run.shape, Shape::Each { .. })
            && files.iter().any(|file| file["failed"] == true)
            && written.iter().any(|call| steps::is_denied(call));
        if !files.is_empty() && !done && !is_partly_denied {
            let why = files.first().and_then(|f| f["why"].as_str()).unwrap_or_default().to_owned();
            let help = format!("the answer is kept: `almoner export {}` has it", self.run.number);
            return self.fail(trouble(code, format!("nothing was written: {why}"), help));
        }
        let value = steps::value(&self.run, &self.program, items, files);
        self.finish(RunOutcome::Done(read_back(&value)?))
    }
}

/// Returns the error code of a run that has written no file, according to its first write. The code tells whether a
/// person refused the write, its file changed after it was shown, or the file system failed.
fn write_failure_code(completion: &Completion) -> &'static str {
    match completion {
        Completion::Refused(findings) if findings.iter().any(|f| CHANGE_RULES.contains(&f.rule.as_str())) => {
            "conflict/write"
        }
        Completion::Refused(_) => "denied/write",
        Completion::Done { .. } | Completion::Failed(_) => "write/failed",
    }
}

/// The rules of findings about data that changed after it was shown.
const CHANGE_RULES: [&str; 2] = ["dir/changed", "approval/stale"];

fn read_back(json: &Json) -> Result<Value, Trouble> {
    Value::from_json(json).map_err(|e| internal(format!("a result cannot be a value: {e}")))
}
