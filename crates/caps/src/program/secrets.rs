//! The secrets that a program gets as environment variables, and the checks before it gets them. A value is read
//! right before the program starts. It is redacted from the program's output before the output leaves this crate.

use std::collections::{BTreeMap, BTreeSet};

use kernel::BlobHash;
use kernel::proposal::{Finding, Pin};
use passable::visible_line;
use policy::{SecretFact, Secrets};
use resource::programs::Setting;
use sandbox::Output;

use super::ProgramCapability;
use super::call::Call;

/// The kind of the pins that name a secret.
const PIN: &str = "secret";
/// The rule in the findings about secrets.
const RULE: &str = "program/secret";
/// The maximum number of bytes in the output for one byte of a value, in the spellings that redaction finds.
const MAX_EXPANSION: usize = 3;

/// The environment variables that a call adds to the usual ones.
pub(super) struct CallEnvironment {
    /// Each variable and its value.
    pub(super) variables: BTreeMap<String, String>,
    /// The values of the secrets among them, by the names of the secrets.
    values: BTreeMap<String, String>,
}

impl ProgramCapability {
    /// Returns the secrets that a call would get, and the problems with them.
    pub(super) fn secrets(&self, call: &Call) -> (Vec<SecretFact>, Vec<Finding>) {
        let (mut facts, mut problems) = (Vec::new(), Vec::new());
        for (variable, setting) in &self.programs.environment {
            if let Setting::Secret(secret) = setting {
                facts.push(SecretFact { variable: variable.clone(), secret: secret.clone(), slot: None });
            }
        }
        let handed = match call.environment.is_empty() {
            true => BTreeMap::new(),
            false => self.outside.slot_secrets(),
        };
        let called = call.argv.first().map_or("", String::as_str);
        // A call may name the program by its path; the rules apply to its name.
        let program = self.find(called).map_or(called, |program| program.name.as_str());
        for (variable, slot) in &call.environment {
            let shown = visible_line(slot);
            let wrong = |what: String, allowed: String| {
                Finding::new(RULE, what).at("env").counter_example(shown.clone()).allowed(allowed)
            };
            if self.programs.environment.contains_key(variable) {
                let what = format!("the user has said what {variable} is");
                problems.push(wrong(what, "the same call without it".to_owned()));
                continue;
            }
            let Some(secret) = handed.get(slot) else {
                let slots: Vec<String> = handed.keys().map(|slot| format!("`{slot}`")).collect();
                let allowed = match slots.is_empty() {
                    true => "a call without `env`: you hold no secrets".to_owned(),
                    false => format!("the name of a slot that holds a secret: {}", slots.join(", ")),
                };
                problems.push(wrong(format!("`{shown}` is no slot of yours that holds a secret"), allowed));
                continue;
            };
            if let Some(refusal) = secret.refusal(program, variable) {
                problems.push(wrong(format!("the secret in `{shown}` is {refusal}"), refusal));
                continue;
            }
            let (secret, slot) = (secret.name.clone(), Some(slot.clone()));
            facts.push(SecretFact { variable: variable.clone(), secret, slot });
        }
        let withheld = facts.iter().filter_map(|fact: &SecretFact| {
            let why = self.outside.secret_for_program(&fact.secret).err()?;
            Some(why.of_program(RULE, &fact.secret, called))
        });
        problems.extend(withheld);
        (facts, problems)
    }

    /// Returns the environment for a call that begins now.
    ///
    /// # Errors
    /// When a secret is withheld, or the secrets no longer match the pins of the judged call.
    pub(super) fn given(&self, call: &Call, judged: &BTreeSet<Pin>) -> Result<CallEnvironment, Vec<Finding>> {
        let (facts, problems) = self.secrets(call);
        if !problems.is_empty() {
            return Err(problems);
        }
        let meant = judged.iter().filter(|pin| pin.kind == PIN);
        if !pins(&facts).iter().eq(meant) {
            let what = "a secret that the program would get is not the one that was judged";
            return Err(vec![
                Finding::new(RULE, what).at("env").allowed("the same call, which is then judged anew"),
            ]);
        }
        let text = |(variable, setting): (&String, &Setting)| match setting {
            Setting::Text(text) => Some((variable.clone(), text.clone())),
            Setting::Secret(_) => None,
        };
        let mut given = CallEnvironment {
            variables: self.programs.environment.iter().filter_map(text).collect(),
            values: BTreeMap::new(),
        };
        for SecretFact { variable, secret, .. } in facts {
            let value = self
                .outside
                .secret_for_program(&secret)
                .map_err(|why| vec![why.of_program(RULE, &secret, "it")])?;
            given.variables.insert(variable, value.as_str().to_owned());
            given.values.insert(secret, value.as_str().to_owned());
        }
        Ok(given)
    }
}

impl Drop for CallEnvironment {
    fn drop(&mut self) {
        use zeroize::Zeroize as _;
        self.variables.values_mut().chain(self.values.values_mut()).for_each(|value| value.zeroize());
    }
}

impl CallEnvironment {
    /// Returns a stream as text without the values of secrets. If the stream was cut within a value, the part of the
    /// value is removed too.
    pub(super) fn redacted_text(&self, output: &Output) -> String {
        let text = String::from_utf8_lossy(&output.bytes);
        let Some(longest) = self.values.values().map(String::len).max() else { return text.into_owned() };
        let all = self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let mut text = Secrets::new(all).redact(&text).into_owned();
        if output.cut > 0 {
            // The cut text may end with the first part of a value, which redaction does not find.
            text.truncate(text.floor_char_boundary(text.len().saturating_sub(longest * MAX_EXPANSION)));
        }
        text
    }
}

/// Returns pins for the secrets that the program gets. A call with another secret is another proposal.
pub(super) fn pins(facts: &[SecretFact]) -> BTreeSet<Pin> {
    let pin = |fact: &SecretFact| Pin {
        kind: PIN.to_owned(),
        name: format!("{} from {}", fact.variable, fact.secret),
        digest: Some(BlobHash::of(fact.secret.as_bytes())),
    };
    facts.iter().map(pin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_stream_leaks_no_part_of_a_secret() {
        let value = "hunter2-periwinkle";
        let given = CallEnvironment {
            variables: BTreeMap::new(),
            values: BTreeMap::from([("T".to_owned(), value.to_owned())]),
        };
        let hex: String = value.bytes().map(|byte| format!("{byte:02x} ")).collect();
        let before = "before ".repeat(20);
        for spelled in [value, hex.trim_end()] {
            for kept in 1..=spelled.len() {
                let bytes = format!("{before}{}", &spelled[..kept]).into_bytes();
                let text = given.redacted_text(&Output { bytes, cut: 9 });
                assert!(text.starts_with("before before"), "{text}");
                assert!(!text.contains(&spelled[..2]), "{kept}: {text}");
            }
            let whole = Output { bytes: format!("{before}{spelled} after").into_bytes(), cut: 0 };
            assert_eq!(given.redacted_text(&whole), format!("{before}⟦secret T⟧ after"));
        }
    }
}
