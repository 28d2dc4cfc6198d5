//! Narrower versions of a person's capability: the possible restrictions, a sentence about the remaining powers, and
//! the command that makes one. The result never allows more than the original. It is a grant of the original, and
//! every use goes through both.

use std::collections::BTreeSet;

use kernel::command::GrantAct;
use kernel::formula::Formula;
use kernel::grant::{Attenuation, EVERY_METHOD};
use kernel::name_lookup::{self, View};
use kernel::table::{self, ResolvedReference};
use kernel::{FormulaId, NamePath};
use passable::{Untrusted, visible_line};
use resource::Rate;

use crate::queries::methods::Methods;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::narrow::{self, Limit, Method, Narrowable, Narrowing};

/// The maximum duration of a narrower capability, in milliseconds: ten years.
const MAX_DURATION_MS: i64 = 10 * 366 * 86_400_000;

/// Returns the restrictions that the target of a path can have. If `by` has restrictions, also returns a sentence
/// about the remaining powers.
///
/// # Errors
/// When the target cannot be narrowed, or the restrictions cannot be read or do not fit the target.
pub fn narrowable(
    daemon: &HostDaemon,
    view: &View,
    path: &NamePath,
    by: Option<&Narrowing>,
) -> Result<Narrowable, Failure> {
    let found = NarrowTarget::resolve(daemon, view, path)?;
    let left = by.map(|by| Ok::<_, Failure>(found.sentence(path, &found.reduction(by)?))).transpose()?;
    let Methods { known, has_others: others } = found.methods();
    Ok(Narrowable {
        id: found.named,
        words: Untrusted::new(found.describe()),
        methods: known,
        any_method: others,
        limits: found.limits(),
        left: left.map(Untrusted::new),
    })
}

/// Returns the act that makes the narrower capability.
///
/// # Errors
/// As [`narrowable`].
pub fn narrow_act(
    daemon: &HostDaemon,
    view: &View,
    path: NamePath,
    is: Option<FormulaId>,
    by: &Narrowing,
    to: NamePath,
    force: bool,
) -> Result<GrantAct, Failure> {
    let less = NarrowTarget::resolve(daemon, view, &path)?.reduction(by)?;
    let methods = less.methods.map_or(vec![EVERY_METHOD.to_owned()], |methods| methods.into_iter().collect());
    let expires_ms = less.lasts_ms.map(|lasts| view.now_ms.saturating_add(lasts));
    Ok(GrantAct::Attenuate { path, is, methods, attenuation: less.attenuation, expires_ms, to, force })
}

/// The target of a path.
struct NarrowTarget {
    /// The formula that the name stands for.
    named: FormulaId,
    /// The capability behind the name, with the grants on the way.
    reached: ResolvedReference,
}

/// The parsed restrictions.
struct Reduction {
    /// The remaining methods, or `None` for all.
    methods: Option<BTreeSet<String>>,
    attenuation: Attenuation,
    /// The duration of the capability, in milliseconds.
    lasts_ms: Option<i64>,
}

impl NarrowTarget {
    fn resolve(daemon: &HostDaemon, view: &View, path: &NamePath) -> Result<NarrowTarget, Failure> {
        let found = daemon.query(|txn| {
            let named = view.identify(txn, path)?;
            let came = name_lookup::settled_references(txn, &named)?.pop().unwrap_or(named);
            Ok((named, table::reach(txn, &came)?))
        })?;
        let shown = path.to_string();
        let nothing = |what: &str| {
            let message = format!("`{}` {what}", visible_line(&shown));
            Failure::new(Exit::Invalid, message).help("choose a capability that you have a name for")
        };
        let (named, Some(reached)) = found else { return Err(nothing("leads to something that is gone")) };
        if let Some(finding) = reached.ended(view.now_ms) {
            return Err(Failure::new(Exit::Denied, finding.message));
        }
        match &reached.formula {
            Formula::Promise { .. } => Err(nothing("is a promise: nothing has come of it yet")),
            Formula::Marshal { .. } => Err(nothing("is a value: there is nothing to take away from it")),
            data if data.is_data() => Err(nothing("is data: there is nothing to take away from it")),
            _ => Ok(NarrowTarget { named, reached }),
        }
    }

    /// Returns the description of the target.
    fn describe(&self) -> String {
        match &self.reached.formula {
            Formula::Export { interface, .. } => {
                let name = interface.strip_prefix("Alleged: ").unwrap_or(interface);
                format!("an object of code, recorded as {name}")
            }
            other => kernel::query::describe(other),
        }
    }

    /// Returns the present methods of the target, through all grants on the way.
    fn methods(&self) -> Methods {
        Methods::from_reference(&self.reached)
    }

    /// Returns the limits that the target's kind supports. Limits that no code enforces are not offered.
    fn limits(&self) -> Vec<Limit> {
        let formula = &self.reached.formula;
        let kind = formula.slot_kind().filter(|_| *formula != Formula::Myself);
        kind.map_or(vec![], |kind| kind.row().limits.to_vec())
    }

    /// Parses the restrictions.
    fn reduction(&self, by: &Narrowing) -> Result<Reduction, Failure> {
        let limits = self.limits();
        let takes = |limit: Limit, what: &str, said: &str| -> Result<bool, Failure> {
            let said = !said.trim().is_empty();
            if said && !limits.contains(&limit) {
                let message = format!("{} has no limit of {what}", visible_line(&self.describe()));
                return Err(Failure::new(Exit::Invalid, message).help("leave it empty"));
            }
            Ok(said)
        };
        let size = |limit: Limit, what: &str, text: &str| -> Result<Option<u64>, Failure> {
            if !takes(limit, what, text)? {
                return Ok(None);
            }
            let bytes = worker::definition::parse_bytes(text.trim());
            bytes.map(Some).ok_or_else(|| unreadable(text, "a size", "`10MiB`, `200kB` or `4096`"))
        };
        let mut attenuation = Attenuation {
            max_bytes: size(Limit::Max, "size", &by.max)?,
            total_bytes: size(Limit::Total, "size in all", &by.total)?,
            private: by.private && takes(Limit::Private, "privacy", "yes")?,
            ..Attenuation::default()
        };
        if takes(Limit::Suffixes, "names", &by.suffixes)? {
            for suffix in by.suffixes.split([' ', ',']).filter(|suffix| !suffix.is_empty()) {
                if !suffix.starts_with('.') || suffix.len() < 2 || suffix.contains('/') {
                    return Err(unreadable(suffix, "an ending of names", "`.pdf`"));
                }
                attenuation.suffixes.insert(suffix.to_lowercase());
            }
        }
        if takes(Limit::Rate, "calls", &by.rate)? {
            let rate = Rate::parse(by.rate.trim());
            attenuation.rate =
                Some(rate.map_err(|what| Failure::new(Exit::Invalid, what).help("leave it empty for none"))?);
        }
        let lasts_ms = match by.lasts.trim() {
            "" => None,
            text => {
                Some(parse_duration(text).ok_or_else(|| unreadable(text, "a time", "`30m`, `8h` or `7d`"))?)
            }
        };
        let methods = by.methods.as_ref().map(|methods| self.remaining_methods(methods)).transpose()?;
        Ok(Reduction { methods, attenuation, lasts_ms })
    }

    /// Returns the remaining methods, after a check that the target has them.
    fn remaining_methods(&self, methods: &BTreeSet<String>) -> Result<BTreeSet<String>, Failure> {
        let Methods { known, has_others: others } = self.methods();
        for method in methods {
            let is_name = !method.is_empty() && method.len() <= 255 && method != EVERY_METHOD;
            if !is_name || !(others || known.iter().any(|one| one.name == *method)) {
                let message = format!("it has no method `{}` that could be kept", visible_line(method));
                let all: Vec<_> = known.iter().map(|one| visible_line(&one.name)).collect();
                return Err(Failure::new(Exit::Invalid, message).help(format!("it has {}", all.join(", "))));
            }
        }
        if methods.is_empty() {
            return Err(Failure::new(Exit::Invalid, "cannot narrow: without any method nothing is left")
                .help("keep one method at least"));
        }
        Ok(methods.clone())
    }

    /// Returns a sentence about the powers that would be left.
    fn sentence(&self, path: &NamePath, less: &Reduction) -> String {
        let Methods { mut known, has_others: mut others } = self.methods();
        if let Some(kept) = &less.methods {
            known.retain(|method| kept.contains(&method.name));
            let is_known = |name: &&String| known.iter().any(|method| method.name == **name);
            let named: Vec<&String> = kept.iter().filter(|name| !is_known(name)).collect();
            known.extend(named.into_iter().map(|name| Method { name: name.clone(), effect: String::new() }));
            others = false;
        }
        let mut text = format!("Whoever holds it may use your `{path}` ({})", self.describe());
        text += &format!(": {}", narrow::in_words(&known, others));
        let before = self.reached.grant().map(|grant| grant.attenuation).unwrap_or_default();
        for limit in less.attenuation.join(&before).limit_phrases() {
            text += &format!("; {limit}");
        }
        let ends = self.reached.grants.iter().chain(&self.reached.through);
        if let Some(end) = ends.filter_map(|grant| grant.expires_ms).min() {
            text += &format!("; until {} at the latest", kernel::time::shown(end));
        }
        if let Some(lasts) = less.lasts_ms {
            text += &format!("; for {} from when it is made", describe_duration(lasts));
        }
        text + ". Nothing else."
    }
}

fn unreadable(text: &str, what: &str, like: &str) -> Failure {
    Failure::new(Exit::Invalid, format!("`{}` is not {what}", visible_line(text)))
        .help(format!("write it like {like}"))
}

/// Returns a description of a duration in its largest whole unit, such as `8 h`.
fn describe_duration(ms: i64) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    let whole = units.iter().find(|(_, unit)| ms % unit == 0);
    whole.map_or_else(|| format!("{ms} ms"), |(name, unit)| format!("{} {name}", ms / unit))
}

/// Parses the duration of a capability, and returns it in milliseconds.
fn parse_duration(text: &str) -> Option<i64> {
    let ms = i64::try_from(worker::definition::parse_duration_ms(text)?).ok()?;
    (1..=MAX_DURATION_MS).contains(&ms).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_and_displayed() {
        for (text, ms, said) in [
            ("7d", 604_800_000, "7 d"),
            ("8h", 28_800_000, "8 h"),
            ("1m30s", 90_000, "90 s"),
            ("120s", 120_000, "2 m"),
        ] {
            assert_eq!(parse_duration(text), Some(ms), "{text}");
            assert_eq!(describe_duration(ms), said);
        }
        for wrong in ["", "7", "0d", "-1d", "7w", "d", "9999999999999999999d", "4000000d"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }
}
