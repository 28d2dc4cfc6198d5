//! The gate for the interface. It denies a call with an unknown method, or with arguments that do not match.

use kernel::proposal::{Finding, Value};
use kernel::{Method, Param};
use passable::{Mismatch, quoting, visible_line};

use super::Gate;
use crate::facts::Context;
use crate::ruling::Ruling;

pub(super) const GATE: Gate =
    Gate { name: "shape", version: 1, about: "the method exists and its arguments fit its patterns", judge };

fn judge(context: &Context<'_>) -> Ruling {
    let proposal = context.proposal;
    let Some(method) = context.interface.method(&proposal.method) else {
        let known: Vec<&str> = context.interface.methods.iter().map(|method| method.name.as_str()).collect();
        let named = visible_line(&proposal.method);
        return Ruling::deny(
            Finding::new("shape/method", quoting!("`{}` has no method `{}`", proposal.slot, named))
                .at("method")
                .counter_example(named)
                .allowed(known.join(", ")),
        );
    };
    let mut findings = Vec::new();
    if proposal.effect < method.effect {
        findings.push(
            Finding::new(
                "shape/effect",
                "the call was proposed with a milder effect than its method declares",
            )
            .at("method")
            .counter_example(proposal.effect.as_words())
            .allowed(method.effect.as_words()),
        );
    }
    if proposal.args.len() > method.params.len() {
        findings.push(
            Finding::new("shape/count", quoting!("`{}` takes fewer arguments", method.name))
                .at("arguments")
                .counter_example(proposal.args.len().to_string())
                .allowed(method.signature()),
        );
    }
    findings.extend(method.params.iter().enumerate().filter_map(|(at, param)| {
        let argument = proposal.args.get(at).unwrap_or(&Value::Undefined);
        mismatch(param, argument).map(|mismatch| finding(method, param, &mismatch))
    }));
    Ruling::deny_any(findings)
}

/// Returns the mismatch of one argument, or `None` if the argument matches.
fn mismatch(param: &Param, argument: &Value) -> Option<Mismatch> {
    if param.is_optional() && matches!(argument, Value::Undefined) {
        return None;
    }
    param.pattern.check(argument).err()
}

fn finding(method: &Method, param: &Param, mismatch: &Mismatch) -> Finding {
    let path = mismatch.path_text();
    let at = match path.starts_with('[') || path.is_empty() {
        true => format!("{}{path}", param.name),
        false => format!("{}.{path}", param.name),
    };
    Finding::new("shape/argument", quoting!("`{}` of `{}`: {}", at, method.name, mismatch.teach()))
        .at(at)
        .counter_example(mismatch.found.clone())
        .allowed(mismatch.expected.clone())
}

#[cfg(test)]
mod tests {
    use kernel::proposal::Decision::{Allow, Deny};
    use kernel::proposal::Effect;

    use super::*;
    use crate::fixture::{Call, check};

    #[test]
    fn only_calls_of_the_interface_pass() {
        let args = |args: &[Value]| {
            let args = args.to_vec();
            Call::new("change").but(|call| call.proposal.args = args)
        };
        let text = || Value::from("x");
        check(&GATE, &Call::new("change"), (Allow, Allow), &[]);
        check(&GATE, &args(&[text(), text()]), (Allow, Allow), &[]);
        check(&GATE, &args(&[text(), Value::Undefined]), (Allow, Allow), &[]);
        for (call, rules) in [
            (args(&[]), &["shape/argument"][..]),
            (args(&[Value::Null, Value::Null]), &["shape/argument", "shape/argument"]),
            (args(&[text(), text(), text()]), &["shape/count"]),
            (Call::new("change").but(|c| c.proposal.method = "rm\u{1b}".into()), &["shape/method"]),
            // The proposer cannot declare a milder effect than the method has.
            (Call::new("send").but(|c| c.proposal.effect = Effect::Observe), &["shape/effect"]),
        ] {
            check(&GATE, &call, (Deny, Deny), rules);
        }
    }

    #[test]
    fn finding_names_argument_and_expected_type() {
        let call = Call::new("change").but(|c| c.proposal.args = vec![Value::from("x"), Value::Bool(true)]);
        let ruling = call.ruling(&GATE);
        let finding = &ruling.findings()[0];
        assert_eq!(finding.at.as_deref(), Some("note"));
        assert_eq!(finding.allowed.as_deref(), Some("text"));
    }
}
