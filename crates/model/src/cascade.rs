//! The cascade: several models that are asked in order, and the penalty box for those that have just failed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::ModelError;
use crate::limits::ModelLimits;
use crate::provider::{Progress, Provider};
use crate::reference::{ModelRef, ReferenceError};
use crate::reply::Reply;
use crate::request::Request;

/// The penalty after a first failure.
const FIRST_PENALTY: Duration = Duration::from_secs(5);
/// The maximum penalty.
const MAX_PENALTY: Duration = Duration::from_secs(3600);
/// The penalty after a first failure that waiting alone does not fix, such as a rejected key or an account without
/// money.
const FIRST_KEY_PENALTY: Duration = Duration::from_secs(300);

/// Returns the models that a text names: references with commas between them. A comma within a path or a name is part
/// of it, unless a reference follows the comma.
///
/// # Errors
///
/// When a part is no reference. The error is about the first such part.
pub fn parse_list(text: &str) -> Result<Vec<ModelRef>, ReferenceError> {
    let mut parts: Vec<String> = Vec::new();
    for piece in text.split(',') {
        match parts.last_mut() {
            Some(last) if piece.trim().parse::<ModelRef>().is_err() && last.parse::<ModelRef>().is_ok() => {
                last.push(',');
                last.push_str(piece);
            }
            _ => parts.push(piece.trim().to_owned()),
        }
    }
    parts.iter().map(|part| part.parse()).collect()
}

/// The models that have just failed, each with the time until which it is not asked. The box is lost when the process
/// ends.
#[derive(Debug, Default)]
pub struct PenaltyBox(Mutex<BTreeMap<String, Penalty>>);

#[derive(Debug, Clone, Copy)]
struct Penalty {
    until: Instant,
    /// The number of failures in a row.
    failures: u32,
}

impl PenaltyBox {
    /// Returns the remaining penalty of a model, if it has one.
    fn remaining_penalty(&self, model: &str, now: Instant) -> Option<Duration> {
        let boxed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        boxed
            .get(model)
            .map(|penalty| penalty.until.saturating_duration_since(now))
            .filter(|left| !left.is_zero())
    }

    /// Adds a penalty for a model. The penalty grows with each failure in a row, and is at least as long as the wait
    /// that the server asks for.
    fn put(&self, model: &str, error: &ModelError, now: Instant) {
        let mut boxed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = boxed.get(model).map_or(0, |penalty| penalty.failures);
        let first = if error.is_transient() { FIRST_PENALTY } else { FIRST_KEY_PENALTY };
        let grown = first.saturating_mul(4u32.saturating_pow(failures.min(8))).min(MAX_PENALTY);
        let asked = match error {
            ModelError::RateLimited { retry_after } => retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        // The wait that a server asks for is bounded too, so that no header shuts a model out forever.
        let wait = grown.max(asked.min(MAX_PENALTY * 24));
        let until = now.checked_add(wait).unwrap_or(now);
        boxed.insert(model.to_owned(), Penalty { until, failures: failures.saturating_add(1) });
    }

    /// Removes the penalty of a model that has answered.
    fn release(&self, model: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(model);
    }
}

/// A model with its name: the opened provider, or the error of opening it.
pub(crate) type Member = (String, Result<Arc<dyn Provider>, ModelError>);

/// Several models as one. The reply comes from the first model that can be asked and answers.
pub(crate) struct Cascade {
    members: Vec<Member>,
    boxed: Arc<PenaltyBox>,
}

impl Cascade {
    /// Returns a cascade of models, in the order in which they are asked.
    pub(crate) fn new(members: Vec<Member>, boxed: Arc<PenaltyBox>) -> Self {
        Self { members, boxed }
    }
}

/// Returns whether another model may succeed where this one failed, because the model could not be asked or gave no
/// answer. A request that a model refuses for its content goes to no other model.
fn can_try_next(error: &ModelError) -> bool {
    error.is_transient()
        || matches!(
            error,
            ModelError::Unauthorized { .. }
                | ModelError::KeyMissing { .. }
                | ModelError::KeyInTheClear { .. }
                | ModelError::QuotaExceeded { .. }
                | ModelError::ModelNotFound { .. }
                | ModelError::TooLittleMemory { .. }
                | ModelError::WeightsMissing { .. }
                | ModelError::WeightsCorrupt { .. }
                | ModelError::NotBuilt
                | ModelError::NoTools { .. }
        )
}

impl Provider for Cascade {
    fn name(&self) -> String {
        self.members.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(",")
    }

    fn limits(&self, bytes: usize) -> ModelLimits {
        let opened = self.members.iter().filter_map(|(_, opened)| opened.as_ref().ok());
        opened.map(|provider| provider.limits(bytes)).reduce(ModelLimits::smaller_of).unwrap_or_default()
    }

    fn complete(&self, request: &Request, progress: &mut dyn FnMut(Progress)) -> Result<Reply, ModelError> {
        let mut failed = None;
        let mut soonest: Option<Duration> = None;
        for (name, opened) in &self.members {
            if request.cancel.is_canceled() {
                return Err(ModelError::Canceled);
            }
            if let Some(left) = self.boxed.remaining_penalty(name, Instant::now()) {
                soonest = Some(soonest.map_or(left, |other| other.min(left)));
                continue;
            }
            if failed.is_some() {
                progress(Progress::Restarted);
            }
            let answered = match opened {
                Ok(provider) => provider.complete(request, progress),
                Err(error) => Err(error.clone()),
            };
            match answered {
                Ok(reply) => {
                    self.boxed.release(name);
                    return Ok(Reply { model: Some(name.clone()), ..reply });
                }
                Err(error) if can_try_next(&error) => {
                    self.boxed.put(name, &error, Instant::now());
                    failed = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        // The failure of this call is more useful than the remaining penalties of other models.
        Err(failed.unwrap_or(ModelError::RateLimited { retry_after: soonest }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::ScriptedModel;
    use std::path::Path;

    #[test]
    fn comma_separates_references_but_may_be_in_names() {
        for (text, expected) in [
            ("local", vec!["local"]),
            ("openai:a, anthropic:b,local", vec!["openai:a", "anthropic:b", "local"]),
            ("scripted:/a,b.json", vec!["scripted:/a,b.json"]),
            ("scripted:/a,b.json,local", vec!["scripted:/a,b.json", "local"]),
        ] {
            let found: Vec<_> = parse_list(text).unwrap().iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{text}");
        }
        for wrong in ["", ",", "gpt,local", "nonsense"] {
            assert!(parse_list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn penalty_grows_and_honours_the_server_wait() {
        let (boxed, now) = (PenaltyBox::default(), Instant::now());
        let cut = ModelError::CutOff { bytes: 0 };
        let left = |boxed: &PenaltyBox| boxed.remaining_penalty("m", now).map_or(0, |left| left.as_secs());
        assert_eq!(left(&boxed), 0);
        for expected in [5, 20, 80, 320, 1280, 3600, 3600] {
            boxed.put("m", &cut, now);
            assert_eq!(left(&boxed), expected);
        }
        assert_eq!(boxed.remaining_penalty("other", now), None);
        assert_eq!(boxed.remaining_penalty("m", now + MAX_PENALTY), None);
        boxed.release("m");
        boxed.put("m", &ModelError::RateLimited { retry_after: Some(Duration::from_secs(90)) }, now);
        assert_eq!(left(&boxed), 90);
        boxed.release("m");
        boxed.put("m", &ModelError::RateLimited { retry_after: Some(Duration::MAX) }, now);
        assert_eq!(left(&boxed), 24 * 3600);
        boxed.release("m");
        boxed.put("m", &ModelError::KeyMissing { variable: "K".into() }, now);
        assert_eq!(left(&boxed), 300);
    }

    fn cascade(turns: &[&str], boxed: &Arc<PenaltyBox>) -> Cascade {
        let member = |(at, turn): (usize, &&str)| {
            let script = format!("[{{\"turns\": [{turn}]}}]");
            let provider = ScriptedModel::parse(Path::new("s"), &script).unwrap();
            (format!("m{at}"), Ok(Arc::new(provider) as Arc<dyn Provider>))
        };
        Cascade::new(turns.iter().enumerate().map(member).collect(), Arc::clone(boxed))
    }

    #[test]
    fn first_available_model_answers_and_is_named() {
        let boxed = Arc::default();
        let models = cascade(
            &[r#"{"error": "rate_limited"}"#, r#"{"error": "unauthorized"}"#, r#"{"text": "third"}"#],
            &boxed,
        );
        let mut news = Vec::new();
        let reply = models.complete(&Request::default(), &mut |p| news.push(p)).unwrap();
        assert_eq!((reply.text.as_str(), reply.model.as_deref()), ("third", Some("m2")));
        assert_eq!(news.iter().filter(|p| **p == Progress::Restarted).count(), 2);
        // The models that failed are not asked again at once.
        news.clear();
        assert_eq!(models.complete(&Request::default(), &mut |p| news.push(p)).unwrap().text, "third");
        assert!(!news.contains(&Progress::Restarted));
        // Another cascade with the same box knows of the failures too. If all of its models have a penalty, the error
        // tells the shortest wait.
        let two = cascade(&[r#"{"text": "a"}"#, r#"{"text": "b"}"#], &boxed);
        let error = two.complete(&Request::default(), &mut |_| {}).unwrap_err();
        assert!(matches!(error, ModelError::RateLimited { retry_after: Some(_) }), "{error:?}");
    }

    #[test]
    fn refused_request_goes_to_no_other_model() {
        let boxed = Arc::default();
        let models = cascade(&[r#"{"error": "context_too_long"}"#, r#"{"text": "second"}"#], &boxed);
        let error = models.complete(&Request::default(), &mut |_| {}).unwrap_err();
        assert!(matches!(error, ModelError::ContextTooLong { .. }));
        let request = Request::default();
        request.cancel.cancel();
        assert_eq!(models.complete(&request, &mut |_| {}), Err(ModelError::Canceled));
    }
}
