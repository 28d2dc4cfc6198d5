//! The judgement of a call: facts are gathered, arguments are traced to their sources, and the gates decide.

use std::cell::OnceCell;

use kernel::command::Judgement;
use kernel::grant::{Attenuation, Grant};
use kernel::proposal::{Caller, Decision, Effect, Finding, Proposal};
use kernel::provenance::{Provenance, Source};
use kernel::run::{Attachment, CallSite, Completion, Run, Trouble};
use kernel::{BlobHash, Method, Value};
use passable::{Quoting, visible_line};
use policy::{Attribution, Context, Facts, RunBudget, WrittenFile};

use crate::alarm;
use crate::definition::Attachments;
use crate::driver_port::DriverPort;
use crate::fold::Fold;
use crate::mail;
use crate::question;
use crate::readings::{self, Readings};
use crate::slot_binding::{OpenSlot, SlotTarget, Slots};
use crate::workshop;

/// The data that the judgements of one step's calls share.
pub(crate) struct JudgingContext<'a> {
    pub(crate) world: &'a dyn DriverPort,
    pub(crate) run: &'a Run,
    pub(crate) fold: &'a Fold,
    slots: &'a Slots,
    readings: OnceCell<Readings>,
    written: Vec<WrittenFile>,
}

impl<'a> JudgingContext<'a> {
    pub(crate) fn new(
        world: &'a dyn DriverPort,
        run: &'a Run,
        fold: &'a Fold,
        slots: &'a Slots,
    ) -> Result<JudgingContext<'a>, Trouble> {
        Ok(JudgingContext {
            world,
            run,
            fold,
            slots,
            // Most calls only read, and are not traced.
            readings: OnceCell::new(),
            written: written(world, fold)?,
        })
    }

    /// Judges one call whose arguments fit the method's guard.
    pub(crate) fn judge(
        &self,
        site: CallSite,
        slot: &str,
        bound: &OpenSlot,
        method: &Method,
        args: Vec<Value>,
    ) -> Result<Judgement, Trouble> {
        let facts = match &bound.reach {
            SlotTarget::Capability(capability) => capability.facts(&method.name, &args),
            SlotTarget::Workshop => workshop::facts(self.slots, &args),
            SlotTarget::Questions => question::facts(&method.name, &args),
            SlotTarget::Alarm => alarm::facts(&args),
            SlotTarget::Mail => mail::facts(self.slots, &method.name, &args),
            SlotTarget::Worker(takes) => {
                let mut problems = self.attachment_findings(takes, slot, &bound.grant, args.get(1));
                problems.extend(self.privacy_finding(bound));
                let reader = bound.model.as_deref().filter(|model| leaves_machine(model));
                Facts {
                    line: format!("calls the worker `{slot}`"),
                    problems,
                    reader_documents: match reader {
                        Some(_) => self.attachment_texts(args.get(1))?,
                        None => vec![],
                    },
                    reader: reader.map(|model| format!("the model {}", visible_line(model))),
                    ..Facts::default()
                }
            }
        };
        // A call can have a stronger effect than its method declares, but never a weaker one.
        let effect = facts.raises.map_or(method.effect, |raised| raised.max(method.effect));
        let named = method.params.iter().map(|p| p.name.as_str()).zip(&args);
        // A call that only reads, and tells nobody, is not shown to a person. So it is not traced, which takes time.
        let leaves = effect == Effect::Commit || facts.tells();
        let Attribution { traces, givers } = match effect {
            Effect::Observe if !leaves => Attribution::default(),
            _ => self.readings()?.trace(named, &self.run.model, leaves),
        };
        let proposal = Proposal {
            principal: self.world.host(),
            run: self.run.number,
            grant: bound.grant.id,
            slot: slot.to_owned(),
            method: method.name.clone(),
            traces,
            givers,
            args,
            effect,
            // The arguments may contain a model's words, even if the worker file makes the call.
            caller: Caller::Model,
            pins: facts.pins.clone(),
            provenance: self.run.provenance.join(&Provenance::of(Source::Model(self.run.model.clone()))),
            place: None,
        };
        // A write needs no more tokens, because its result is already paid for.
        let used = match site {
            CallSite::Write { .. } => kernel::run::Usage::default(),
            _ => self.run.used,
        };
        let spent = RunBudget {
            limits: self.run.limits,
            used,
            ran_ms: self.fold.ran_ms,
            child_depth: matches!(bound.reach, SlotTarget::Worker(_)).then_some(self.run.depth + 1),
        };
        let rules = self.world.rules(self.run)?;
        let mut verdict = policy::judge(&Context {
            proposal: &proposal,
            grant: &bound.grant,
            interface: &bound.interface,
            subject: &bound.subject,
            worker: &self.run.name,
            facts: &facts,
            now_ms: self.world.now_ms(),
            written: &self.written,
            spent: &spent,
            rules: &rules,
        });
        // A person's refusal holds for the whole run, so that the person is not asked the same again. The worker's
        // own steps ask only once anyway.
        if let (CallSite::Turn { .. }, Some(denied)) = (&site, self.fold.denied(proposal.fingerprint())) {
            let at = if verdict.decision == Decision::Deny { verdict.findings.len() } else { 0 };
            verdict.decision = Decision::Deny;
            let message = Quoting::ours("a person has refused exactly this call in this run: ");
            verdict.findings.insert(at, denied.clone().saying(message.then(&denied.message_quoting())));
        }
        // A gate's findings may quote values, such as the target of a link or the address of a name.
        crate::redaction::findings(&self.world.secrets(), &mut verdict.findings);
        if let (SlotTarget::Capability(capability), Decision::Ask) = (&bound.reach, verdict.decision) {
            self.keep_operands(&**capability, &proposal)?;
        }
        Ok(Judgement { site, proposal, verdict })
    }

    /// Keeps the data on which the call depends, in the state that a person is about to see. If the data changes
    /// before the answer, the difference can be shown.
    pub(crate) fn keep_operands(
        &self,
        capability: &dyn caps::Capability,
        proposal: &Proposal,
    ) -> Result<(), Trouble> {
        for pin in &proposal.pins {
            let Some(digest) = pin.digest else { continue };
            // The data may have changed since its digest was taken, and then it is not kept.
            if let Some(bytes) = capability.operand(pin).filter(|bytes| BlobHash::of(bytes) == digest) {
                self.world.put_blob(&bytes)?;
            }
        }
        Ok(())
    }
}

/// Returns whether text for a model may leave this machine. An unknown model counts as one outside.
fn leaves_machine(model: &str) -> bool {
    model::parse_list(model).map_or(true, |all| !all.iter().all(model::ModelRef::is_self_contained))
}

impl JudgingContext<'_> {
    /// Returns everything that the run has read, and the user's words. They are read only if a call is traced.
    fn readings(&self) -> Result<&Readings, Trouble> {
        if let Some(readings) = self.readings.get() {
            return Ok(readings);
        }
        let readings = Readings::of(self.world, self.run, self.fold, self.slots)?;
        Ok(self.readings.get_or_init(|| readings))
    }

    /// Returns the texts of the documents that a call passes on.
    fn attachment_texts(&self, names: Option<&Value>) -> Result<Vec<(String, Value)>, Trouble> {
        let names: Vec<&str> =
            names.and_then(Value::as_array).unwrap_or_default().iter().filter_map(Value::as_str).collect();
        let handed = self.run.input.attachments.iter().filter(|a| names.contains(&a.name.as_str()));
        handed
            .map(|document| {
                let text = readings::document_text(self.world, document)?;
                Ok(("attachments".to_owned(), Value::from(text)))
            })
            .collect()
    }

    /// Returns a finding if the callee's model is not allowed to read the run's data.
    fn privacy_finding(&self, bound: &OpenSlot) -> Option<Finding> {
        let model = bound.model.as_deref().filter(|_| self.run.provenance.is_private())?;
        let kept = self.world.kept_from_private(model)?;
        let message = format!("you have been shown what is private, and {kept} may not read that");
        Some(Finding::new("model/private", message).at("input").allowed("an answer without this model"))
    }

    /// Returns findings about the attachments of a call: those that the callee does not accept, and those that the
    /// run may not pass on.
    fn attachment_findings(
        &self,
        takes: &Attachments,
        slot: &str,
        grant: &Grant,
        names: Option<&Value>,
    ) -> Vec<Finding> {
        let names: Vec<&str> =
            names.and_then(Value::as_array).unwrap_or_default().iter().filter_map(Value::as_str).collect();
        let mut findings = Vec::new();
        let mut finding = |message: String, allowed: String| {
            findings.push(Finding::new("call/attachments", message).at("attachments").allowed(allowed));
        };
        if names.len() > takes.max as usize {
            finding(format!("{} documents are too many", names.len()), format!("at most {}", takes.max));
        }
        let handed = || self.run.input.attachments.iter().filter(|a| names.contains(&a.name.as_str()));
        let bytes: u64 = handed().map(|a| a.bytes).sum();
        if bytes > takes.bytes {
            finding(format!("the documents have {bytes} bytes together"), format!("at most {}", takes.bytes));
        }
        // These are the limits that the caller's own worker file sets for the slot.
        if let Some(own) = self.slots.attachment_limits(slot) {
            if names.len() > own.max as usize {
                let message =
                    format!("this worker hands on at most {} documents here, not {}", own.max, names.len());
                finding(message, format!("at most {}", own.max));
            }
            if bytes > own.bytes {
                let message = format!("this worker hands on at most {} bytes here, not {bytes}", own.bytes);
                finding(message, format!("at most {} bytes together", own.bytes));
            }
            for name in names.iter().filter(|name| !own.takes(name)) {
                finding(format!("this worker does not hand on `{name}` here"), own.suffixes.join(", "));
            }
            for document in handed().filter(|document| !own.takes_type(&document.media_type)) {
                let what = format!(
                    "this worker does not hand on {} here: `{}`",
                    content_type(document),
                    document.name
                );
                finding(what, own.types.join(", "));
            }
        }
        // These are the limits that the user set when binding the worker to the slot.
        let Attenuation { suffixes, max_bytes, total_bytes, .. } = &grant.attenuation;
        if let Some(most) = total_bytes.filter(|most| bytes > *most) {
            let message =
                format!("the user lets documents of {most} bytes together be handed on here, not {bytes}");
            finding(message, format!("at most {most}"));
        }
        if let Some((large, most)) =
            max_bytes.and_then(|most| Some((handed().find(|a| a.bytes > most)?, most)))
        {
            let message = format!(
                "the user lets no document of {} bytes be handed on here: `{}`",
                large.bytes, large.name
            );
            finding(message, format!("at most {most} each"));
        }
        for name in &names {
            let lower = name.to_lowercase();
            if !suffixes.is_empty() && !suffixes.iter().any(|suffix| lower.ends_with(suffix.as_str())) {
                let allowed: Vec<&str> = suffixes.iter().map(String::as_str).collect();
                finding(format!("the user does not let `{name}` be handed on here"), allowed.join(", "));
            }
        }
        for name in names.iter().filter(|name| !takes.takes(name)) {
            finding(format!("`{name}` is not of a kind that it takes"), takes.suffixes.join(", "));
        }
        for document in handed().filter(|document| !takes.takes_type(&document.media_type)) {
            finding(
                format!("`{}` is {}, which it does not take", document.name, content_type(document)),
                takes.types.join(", "),
            );
        }
        findings
    }
}

/// Returns the type of a document's content, in words.
fn content_type(document: &Attachment) -> &str {
    Some(document.media_type.as_str()).filter(|told| !told.is_empty()).unwrap_or("of an unknown type")
}

/// Returns the files that the run itself has written.
fn written(world: &dyn DriverPort, fold: &Fold) -> Result<Vec<WrittenFile>, Trouble> {
    let mut written = Vec::new();
    // A call that only read a file has a path and a digest in its result too.
    let changes = fold.calls.values().filter(|call| call.proposal.effect != Effect::Observe);
    for call in changes {
        let Some(Completion::Done { value, .. }) = &call.completion else { continue };
        let field = |name| value.get(name).and_then(Value::as_str);
        let (Some(path), Some(digest)) = (field("path"), field("digest").and_then(|d| d.parse().ok())) else {
            continue;
        };
        let (grant, _) = world.grant(&call.proposal.grant)?;
        written.push(WrittenFile { target: grant.target, path: path.to_owned(), digest });
    }
    Ok(written)
}
