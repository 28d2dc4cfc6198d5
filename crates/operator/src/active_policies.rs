//! The policies that are in force for a run.

use std::sync::Arc;

use kernel::BlobHash;
use kernel::proposal::Finding;
use passable::{Quoting, quoting, visible_line};
use policy::{Context, MACHINE_RULES, Operator, Opinion, Stance};

use crate::call::Call;
use crate::policies::{Policies, PolicyOwner};
use crate::problem::Problem;
use crate::vocabulary::Vocabulary;

/// The policies that are in force for a run: the machine's, the operator's and the project's. A call that one of them
/// forbids is forbidden.
#[derive(Debug)]
pub struct ActivePolicies {
    vocabulary: Arc<Vocabulary>,
    layers: Vec<Arc<Policies>>,
    /// The reason why the present version of a file is not in force, but an earlier version is.
    stale: Option<Problem>,
    digest: BlobHash,
}

impl ActivePolicies {
    /// Returns the policies in force. `stale` is the reason why the present version of a file is not among them.
    pub fn new(
        vocabulary: Arc<Vocabulary>,
        layers: Vec<Arc<Policies>>,
        stale: Option<Problem>,
    ) -> ActivePolicies {
        let mut hasher = blake3::Hasher::new_derive_key("almoner policies in force v1");
        for layer in &layers {
            // The same text is another policy as the machine's.
            hasher.update(&[u8::from(layer.owner() == PolicyOwner::Machine)]);
            hasher.update(&layer.digest().0);
        }
        let digest = BlobHash(*hasher.finalize().as_bytes());
        ActivePolicies { vocabulary, layers, stale, digest }
    }

    fn finding(&self, layer: &Policies, name: &str, call: &Call, stance: Stance) -> Finding {
        let policy = layer.policy(name);
        let reason = policy.and_then(|policy| policy.reason.as_deref());
        let verb = match stance {
            Stance::Forbids => "forbids",
            Stance::Asks => "asks about",
            Stance::Permits | Stance::Silent => "permits",
        };
        let whose = match layer.owner() {
            PolicyOwner::Machine => "the machine's administrator: ",
            PolicyOwner::Operator | PolicyOwner::Project => "",
        };
        let place = quoting!("`{}` in {} ", name, layer.file());
        let message = match reason {
            Some(reason) => quoting!("{} (", visible_line(reason)).and(whose).then(&place),
            None => Quoting::ours(whose).and("the policy ").then(&place),
        };
        let message = message.and(verb).and(if reason.is_some() { " it)" } else { " it" });
        let instead = policy.and_then(|policy| policy.instead.as_deref());
        let rule = match layer.owner() {
            PolicyOwner::Machine => format!("{MACHINE_RULES}{name}"),
            PolicyOwner::Operator | PolicyOwner::Project => format!("operator/{name}"),
        };
        Finding::new(rule, message).at("method").counter_example(&call.method).allowed(
            match (instead, stance) {
                (Some(instead), _) => Quoting::theirs(visible_line(instead)),
                (None, Stance::Forbids) => "nothing that this policy covers".into(),
                (None, Stance::Asks) => "what a person agrees to".into(),
                (None, Stance::Permits | Stance::Silent) => "what it permits is not asked about".into(),
            },
        )
    }
}

impl Operator for ActivePolicies {
    fn opinion(&self, context: &Context<'_>) -> Opinion {
        let mut findings = Vec::new();
        let method = format!("{}.{}", context.subject.kind, context.proposal.method);
        let refuse = |rule: &str, message: Quoting, allowed: &'static str| {
            let finding = Finding::new(rule, message).at("method").counter_example(&method).allowed(allowed);
            Opinion { stance: Stance::Forbids, findings: vec![finding] }
        };
        let Some(action) = self.vocabulary.actions.get(&method) else {
            let message = quoting!("policies know no `{}`, so none can vouch for it", visible_line(&method));
            return refuse("operator/unknown", message, "a method that the thing has");
        };
        let call = Call::of(context, action);
        if !call.unseen.is_empty() {
            let message =
                quoting!("policies cannot see {} as it is, so none can vouch for it", call.unseen.join(", "));
            return refuse(
                "operator/unseen",
                message,
                "text without lone surrogates; whole numbers below 2^53",
            );
        }
        let mut strictest = Stance::Silent;
        for layer in &self.layers {
            let said = layer.decide(&self.vocabulary, &call, false);
            for (name, error) in &said.failed {
                let which = match name.is_empty() {
                    true => "the policies".into(),
                    false => quoting!("the policy `{}`", name),
                };
                let message = which.then(&quoting!(
                    " in {} failed, and may have forbidden it: {}",
                    layer.file(),
                    visible_line(error)
                ));
                findings.push(
                    Finding::new("operator/failed", message)
                        .at("method")
                        .counter_example(&method)
                        .allowed("nothing that this policy covers, until it is mended"),
                );
            }
            findings.extend(said.by.iter().map(|name| self.finding(layer, name, &call, said.stance)));
            strictest = strictest.max(said.stance);
        }
        if let Some(problem) = &self.stale {
            findings.push(
                Finding::new(
                    "operator/stale",
                    quoting!("{}; the policies from before are in force", problem),
                )
                .at("policy")
                .counter_example(&problem.file)
                .allowed("a file in which `almoner policy check` finds nothing wrong"),
            );
        }
        Opinion { stance: strictest, findings }
    }

    fn digest(&self) -> BlobHash {
        self.digest
    }
}
