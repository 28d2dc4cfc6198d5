//! The preview of a run's start. It is shown to the person who decides about the run, and compared with the actual
//! start.

use kernel::command::{Binding, Target};
use kernel::proposal::Effect;
use kernel::run::{Attachment, Limits};
use kernel::{BlobHash, Value};
use passable::Untrusted;
use resource::{Kind, Resource};
use worker::definition::{Bundle, Definition};

use super::bind::{NewDirectories, methods};
use super::spool_warnings::SpoolWarnings;
use super::worker_slots;
use control::exit::{Exit, Failure};
use control::protocol::{Document, Plan, PlannedDocument, PlannedMethod, PlannedSlot, StartShape, StartSpec};

/// Everything that a run begins with.
pub struct StartPreview<'a> {
    /// The worker.
    pub definition: &'a Definition,
    /// The worker's file, and the files that it includes.
    pub bundle: &'a Bundle,
    /// The person's settings for the start.
    pub spec: &'a StartSpec,
    /// The named inputs: those of the settings, or those of the run that is retried.
    pub inputs: &'a serde_json::Map<String, serde_json::Value>,
    /// The reference of the model.
    pub model: &'a str,
    /// The contents of the worker's slots.
    pub bindings: &'a [Binding],
    /// The imported documents.
    pub documents: &'a [Attachment],
    /// The limits of the run.
    pub limits: Limits,
    /// The directories that are still to be made.
    pub directories: &'a NewDirectories,
    /// The mail spools that slots would reach.
    pub spools: &'a SpoolWarnings<'a>,
}

impl StartPreview<'_> {
    /// Returns the plan of the run for a person.
    ///
    /// # Errors
    /// When the prompt of the run cannot be made.
    pub fn plan(&self) -> Result<Plan, Failure> {
        let StartPreview { definition, bundle, spec, inputs, model, bindings, documents, .. } = *self;
        let shown = match (spec.shape, documents.iter().find(|document| document.rejected.is_none())) {
            (StartShape::Each { .. }, Some(first)) => std::slice::from_ref(first),
            (StartShape::Each { .. }, None) => {
                return Err(documents.iter().find_map(|document| document.rejected.as_ref()).map_or_else(
                    || Failure::new(Exit::Invalid, "no item can be worked on"),
                    |rejection| Failure::of_trouble(&rejection.trouble),
                ));
            }
            (StartShape::Single | StartShape::Chat, _) => documents,
        };
        let prompt =
            worker::first_prompt(definition, bundle, inputs, shown).map_err(|t| Failure::of_trouble(&t))?;
        Ok(Plan {
            worker: definition.name.clone(),
            digest: bundle.digest().to_string(),
            model: model.to_owned(),
            slots: worker_slots::fill_lines(bindings).into_iter().chain(self.spool_lines()).collect(),
            tools: self.tools(),
            documents: documents.iter().map(document_line).collect(),
            prompt: Untrusted::new(prompt),
            from: vec![],
            grants: self.grants(),
            reads: self.planned_documents(),
            inputs: self.inputs(),
            tells: !model::parse_list(model)
                .is_ok_and(|all| all.iter().all(model::ModelRef::is_self_contained)),
            notes: super::proposal::notes(definition, self.limits),
            seal: self.seal()?,
        })
    }

    /// Checks that the run would begin with exactly what was shown, by the fingerprint of the preview.
    ///
    /// # Errors
    /// When anything differs.
    pub fn expect_seal(&self, seen: BlobHash) -> Result<(), Failure> {
        if self.seal()? == seen {
            return Ok(());
        }
        let message = "something that it would be given is not what you have seen: nothing was done";
        Err(Failure::new(Exit::Conflict, message).help("look again at what it would be given"))
    }

    fn tools(&self) -> Vec<String> {
        let offered = self.definition.offered_slots();
        let of_slots = offered.iter().flat_map(|slot| match slot.kind {
            Kind::Worker | Kind::Model => vec![slot.name.clone()],
            kind => methods::tools(&slot.name, kind, self.bindings),
        });
        of_slots.chain(self.definition.creates.then(|| worker::WORKSHOP.to_owned())).collect()
    }

    fn inputs(&self) -> Value {
        Value::from_json(&serde_json::Value::Object(self.inputs.clone())).unwrap_or_else(|_| Value::null())
    }

    /// Returns a line for each mail spool that a slot would reach.
    fn spool_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.add_spool_lines(&mut lines, "", self.bindings);
        lines
    }

    fn add_spool_lines(&self, lines: &mut Vec<String>, under: &str, bindings: &[Binding]) {
        for binding in bindings {
            let slot = format!("{under}{}", binding.slot);
            let reached = self.spools.of(binding);
            lines.extend(reached.phrases.iter().map(|phrase| format!("{slot}: {phrase}")));
            if let Target::Endowed { bindings, .. } = &binding.target {
                self.add_spool_lines(lines, &format!("{slot}."), bindings);
            }
        }
    }

    fn planned_documents(&self) -> Vec<PlannedDocument> {
        let given = self.spec.documents.iter().map(Some).chain(std::iter::repeat(None));
        let path = |given: Option<&Document>, document: &Attachment| match given {
            Some(Document::File { path, .. }) => path.clone(),
            _ => document.name.clone(),
        };
        let all = self.documents.iter().zip(given);
        all.map(|(document, given)| PlannedDocument {
            path: Untrusted::new(path(given, document)),
            bytes: document.bytes,
            hash: document.hash,
        })
        .collect()
    }

    fn grants(&self) -> Vec<PlannedSlot> {
        let mut all = Vec::new();
        self.add_grants(&mut all, "", self.bindings);
        all
    }

    fn add_grants(&self, all: &mut Vec<PlannedSlot>, under: &str, bindings: &[Binding]) {
        for binding in bindings {
            let slot = format!("{under}{}", binding.slot);
            let own = self.definition.slot(&binding.slot).filter(|_| under.is_empty());
            let kind = own.map_or_else(|| kind(&binding.target).to_owned(), |slot| slot.kind.to_string());
            let reached = self.spools.of(binding);
            let sends = |effect: Effect| match reached.is_whole && effect != Effect::Observe {
                true => Effect::Commit,
                false => effect,
            };
            let method = |name: &String| PlannedMethod {
                name: name.clone(),
                effect: method_effect(&kind, &binding.target, name).map(sends),
                allowed: binding.allow.contains(name),
                asked: binding.ask.contains(name),
            };
            let named = match &binding.target {
                Target::Named { path } => Some(path.clone()),
                _ => None,
            };
            let place = match &binding.target {
                Target::Resource(Resource::Directory { path, .. } | Resource::Outbox { path }) => Some(path),
                _ => None,
            };
            all.push(PlannedSlot {
                what: Untrusted::new(worker_slots::describe_target(binding)),
                named,
                is_new: place.is_some_and(|path| self.directories.is_new(path)),
                methods: binding.methods.iter().map(method).collect(),
                limits: binding.attenuation.limit_phrases().into_iter().chain(reached.phrases).collect(),
                kind,
                slot: slot.clone(),
            });
            if let Target::Endowed { bindings, .. } = &binding.target {
                self.add_grants(all, &format!("{slot}."), bindings);
            }
        }
    }

    fn seal(&self) -> Result<BlobHash, Failure> {
        let StartPreview { bundle, spec, inputs, model, documents, limits, .. } = self;
        let bindings: Vec<Binding> = self.bindings.iter().map(without_made_parts).collect();
        let program = (&bundle.name, &bundle.source, &bundle.includes, limits);
        let rest = (inputs, model, spec.private, spec.shape);
        let all = serde_json::to_vec(&(
            program,
            &bindings,
            self.grants(),
            documents,
            self.planned_documents(),
            rest,
        ));
        let all = all.map_err(|error| Failure::from_error(Exit::Failure, error))?;
        Ok(BlobHash::of(&all))
    }
}

/// Returns a line about a document, or about the reason why no run will work on it.
fn document_line(document: &Attachment) -> String {
    match &document.rejected {
        None => format!("{} ({} bytes)", document.name, document.bytes),
        Some(rejection) => format!("{} FAILS: {}", document.name, rejection.trouble.message.visible_line()),
    }
}

/// Returns a binding without the parts that exist only after the start, such as the directory of a staged copy.
fn without_made_parts(binding: &Binding) -> Binding {
    let mut plain = binding.clone();
    if let Some(path) = &binding.attenuation.staged_from {
        plain.target = Target::Resource(Resource::directory(path.as_str()));
    }
    if let Target::Resource(Resource::Programs(programs)) = &mut plain.target {
        for directory in programs.directories.iter_mut().filter(|directory| directory.staged_slot.is_some()) {
            directory.path = directory.typed_path();
        }
    }
    if let Target::Endowed { bindings, .. } = &mut plain.target {
        *bindings = bindings.iter().map(self::without_made_parts).collect();
    }
    plain
}

/// Returns the kind of slot that a target fills, in the words of worker files.
pub(crate) fn kind(target: &Target) -> &'static str {
    match target {
        Target::Resource(resource) => resource.kind().read_only().row().label,
        Target::Model { .. } => Kind::Model.row().label,
        Target::Workshop => "workshop",
        Target::Worker(_) | Target::Endowed { .. } | Target::Myself => Kind::Worker.row().label,
        Target::Named { .. } => "",
    }
}

fn method_effect(kind: &str, target: &Target, method: &str) -> Option<Effect> {
    match target {
        Target::Resource(Resource::Mcp(server)) => server.tool(method).map(|tool| tool.effect),
        _ => caps::interface_of(Kind::of(kind)?)?.method(method).map(|method| method.effect),
    }
}
