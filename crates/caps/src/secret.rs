//! The capability for a secret of the vault: its methods tell the permitted uses, but never the value.
//!
//! A run passes the secret on by the name of its slot, in calls that take such a name ([`crate::Outside::handed`]).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use kernel::grant::Grant;
use kernel::proposal::{Finding, Value};
use kernel::provenance::Provenance;
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use kernel::{Interface, Method, Pattern};
use passable::{Effect, visible_line};
use policy::{ChangeScope, Facts};
use resource::secret::SecretHandle;

use crate::{Capability, Probe, foreign};

/// Returns the interface of all secrets.
pub(crate) fn interface() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
        let names = || Pattern::array_of(Pattern::string());
        let told = [
            ("slot", Pattern::string()),
            ("use", Pattern::string()),
            ("variables", names()),
            ("programs", names()),
        ];
        let about = "Says how this secret is handed on to a program, and to which. What the secret says is told to nobody: \
                     you hand it on by the name of the slot.";
        let returns = Pattern::record(told).unwrap_or_else(|_| Pattern::any());
        Interface::new("Secret", "a secret that can be handed on unseen")
            .with(Method::new("describe", Effect::Observe, about).with_probe().returns(returns))
    });
    &INTERFACE
}

/// The capability for a secret in a slot.
pub(crate) struct SecretCapability {
    secret: SecretHandle,
    grant: Grant,
}

impl SecretCapability {
    pub(crate) fn open(secret: &SecretHandle, grant: &Grant) -> SecretCapability {
        SecretCapability { secret: secret.clone(), grant: grant.clone() }
    }

    fn description(&self) -> Value {
        let names = |all: &BTreeSet<String>| Value::array(all.iter().map(|name| Value::from(name.as_str())));
        let slot = &self.grant.slot;
        let variable = self.secret.variables.first().map_or("VARIABLE", String::as_str);
        let how =
            format!("as a variable of a program: `env: {{\"{variable}\": \"{slot}\"}}` when you run it");
        let fields = [
            ("slot", Value::from(slot.as_str())),
            ("use", Value::from(how)),
            ("variables", names(&self.secret.variables)),
            ("programs", names(&self.secret.programs)),
        ];
        Value::record_from_map(fields.map(|(name, value)| (name.to_owned(), value)).into())
    }

    fn problem(method: &str, args: &[Value]) -> Option<Finding> {
        if method == "describe" && args.iter().all(|arg| matches!(arg, Value::Undefined)) {
            return None;
        }
        let message = format!("a secret has no method `{}` with these arguments", visible_line(method));
        Some(Finding::new("secret/arguments", message).at("method").allowed("describe()"))
    }
}

impl Capability for SecretCapability {
    fn interface(&self) -> &Interface {
        interface()
    }

    fn facts(&self, method: &str, args: &[Value]) -> Facts {
        Facts {
            line: format!("asks what the secret in `{}` is for", visible_line(&self.grant.slot)),
            problems: Self::problem(method, args).into_iter().collect(),
            ..Facts::default()
        }
    }

    fn change_scopes(&self, _: &str, _: &[Value]) -> Vec<ChangeScope> {
        vec![]
    }

    fn perform(&self, begun: &StartedEffect) -> Completion {
        let proposal = begun.proposal();
        let problem = foreign(begun, &self.grant).or_else(|| Self::problem(&proposal.method, &proposal.args));
        match problem {
            Some(finding) => Completion::Refused(vec![finding]),
            None => Completion::Done { value: self.description(), provenance: Provenance::host() },
        }
    }

    fn probe(&self, _: &StartedEffect) -> Probe {
        Probe::NotDone
    }
}
