//! The versions of the protocol that the daemon serves, and all that differs between them.
//!
//! A daemon of version N serves clients of N and of N−1, each in the form of its own version. The schema of each version
//! lies in `docs/protocol`. A change of the protocol takes these steps:
//!
//! 1. If the present version was released, raise [`VERSION`], and begin [`SERVED`] with its row. The row of N−2 goes.
//! 2. Say in the row of N−1 how a response of N looks to a client of N−1, and which requests a daemon of N−1 does not
//!    understand. Requests of N−1 must stay requests of N.
//! 3. `cargo xtask schema` writes the schema of N, and the Python client.

use kernel::command::Reply;
use kernel::event::Change;
use vault::Protection;

use crate::exit::{Exit, Failure};
use crate::problem::Problem;
use crate::protocol::{Request, Response};

/// The present version of this protocol.
pub const VERSION: u32 = 17;

/// A version of the protocol that the daemon serves.
#[derive(Debug)]
pub struct ServedVersion {
    /// The number of the version.
    pub number: u32,
    /// Whether the daemon refuses a request with a field that it does not know. Before version 17, it ignored the field.
    pub refuses_unknown_fields: bool,
    /// Changes a response of the next version into one of this version.
    from_next: fn(&mut Response),
    /// Returns whether a follower of this version is sent an event of the next version.
    shows: fn(&Change) -> bool,
    /// Returns whether a daemon of this version understands all of a request.
    understands: fn(&Request) -> bool,
}

/// The versions that the daemon serves, newest first.
pub static SERVED: [ServedVersion; 2] = [
    ServedVersion {
        number: VERSION,
        refuses_unknown_fields: true,
        from_next: |_| {},
        shows: |_| true,
        understands: |_| true,
    },
    ServedVersion {
        number: 16,
        refuses_unknown_fields: false,
        from_next: to_16,
        shows: is_in_16,
        understands: understood_by_16,
    },
];

/// Changes a response into one of version 16. A failure names no problem and no quoted parts there, a check is either ok or
/// not, and a backup is done without a report. A key that is missing there is one in the keyring.
fn to_16(response: &mut Response) {
    match response {
        Response::Failed(failure) | Response::Warning(failure) => {
            (failure.problem, failure.quoted) = (None, None);
        }
        Response::BackedUp(_) => *response = Response::Reply(Reply::Done),
        Response::Examined(checks) => checks.iter_mut().for_each(|check| check.untried = false),
        Response::Secrets(view) if view.protection == Some(Protection::KeyMissing) => {
            view.protection = Some(Protection::Keyring);
        }
        Response::Bindings(bindings) => bindings.iter_mut().for_each(|binding| binding.kind = None),
        Response::Audited(report) => report.last.retain(|event| is_in_16(&event.change)),
        _ => {}
    }
}

/// Returns whether version 16 has the change. Its log does not say who records, nor that directories have moved.
fn is_in_16(change: &Change) -> bool {
    !matches!(change, Change::Opened { .. } | Change::Relocated { .. })
}

/// Returns whether a daemon of version 16 understands all of a request. It would start a second run despite a key.
fn understood_by_16(request: &Request) -> bool {
    match request {
        Request::Run(start) => start.key.is_none(),
        Request::Backup { with_key, .. } => !with_key,
        Request::Replace { .. } | Request::OpenCard { .. } => false,
        _ => true,
    }
}

impl ServedVersion {
    /// Returns the served version with this number.
    ///
    /// # Errors
    /// When the daemon does not serve the version. The failure names the versions that it serves.
    pub fn find(number: u64) -> Result<&'static ServedVersion, Failure> {
        if let Some(served) = SERVED.iter().find(|served| u64::from(served.number) == number) {
            return Ok(served);
        }
        let served: Vec<u32> = SERVED.iter().map(|served| served.number).collect();
        let names: Vec<String> = served.iter().map(u32::to_string).collect();
        let message = format!(
            "cannot serve a client of version {number}: this daemon serves versions {}",
            names.join(" and ")
        );
        Err(Failure::new(Exit::Conflict, message)
            .help("`almoner stop`, then try again")
            .problem(Problem::Version { version: number, served }))
    }

    /// Checks that a daemon of this version understands all of a request. It would ignore fields that it does not know.
    ///
    /// # Errors
    /// When the request is newer than the version.
    pub fn check_request(&self, request: &Request) -> Result<(), Failure> {
        if (self.understands)(request) {
            return Ok(());
        }
        let message = format!("cannot ask the daemon: it is older, and speaks version {}", self.number);
        Err(Failure::new(Exit::Conflict, message).help("`almoner stop`, then try again"))
    }

    /// Returns whether a follower of this version is sent a response. It is sent no event that its version lacks.
    pub fn shows(&self, response: &Response) -> bool {
        let Response::Event(event) = response else { return true };
        let newer = SERVED.iter().filter(|version| version.number >= self.number);
        newer.into_iter().all(|version| (version.shows)(&event.change))
    }

    /// Returns a response in the form of this version.
    #[must_use]
    pub fn adapt(&self, mut response: Response) -> Response {
        for version in &SERVED {
            (version.from_next)(&mut response);
            if version.number == self.number {
                break;
            }
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health_check::HealthCheck;
    use crate::secret::VaultView;

    #[test]
    fn versions_are_served_in_a_row() {
        assert_eq!(SERVED[0].number, VERSION);
        assert!(SERVED.windows(2).all(|pair| pair[0].number == pair[1].number + 1));
    }

    #[test]
    fn failure_names_its_problem_from_version_17_on() {
        let failure = Failure::new(Exit::Usage, "x").problem(Problem::TooDeep);
        let in_form_of = |version: u64| {
            let served = ServedVersion::find(version).unwrap();
            serde_json::to_value(served.adapt(Response::Failed(failure.clone()))).unwrap()
        };
        assert_eq!(in_form_of(17)["body"]["problem"]["problem"], "too_deep");
        assert_eq!(in_form_of(16)["body"].get("problem"), None);
    }

    #[test]
    fn untried_check_is_ok_in_no_version() {
        let untried = HealthCheck::untried("sandbox/debug", "it fails unconfined as well");
        for (number, is_told) in [(17, serde_json::json!(true)), (16, serde_json::Value::Null)] {
            let served = ServedVersion::find(number).unwrap();
            let response = served.adapt(Response::Examined(vec![untried.clone()]));
            let check = serde_json::to_value(response).unwrap()["body"][0].take();
            assert_eq!((&check["ok"], &check["untried"]), (&serde_json::json!(false), &is_told));
        }
    }

    #[test]
    fn missing_key_is_named_from_version_17_on() {
        let vault = VaultView {
            protection: Some(Protection::KeyMissing),
            locked: true,
            keyring: false,
            secrets: vec![],
        };
        for (version, protection) in [(17, "key_missing"), (16, "keyring")] {
            let response = ServedVersion::find(version).unwrap().adapt(Response::Secrets(vault.clone()));
            assert_eq!(serde_json::to_value(response).unwrap()["body"]["protection"], protection);
        }
    }

    #[test]
    fn version_16_gets_no_event_that_it_lacks() {
        let event = |change: serde_json::Value| {
            let hash = "00".repeat(32);
            let event =
                serde_json::json!({ "seq": 1, "at_ms": 0, "change": change, "prev": hash, "hash": hash });
            Response::Event(serde_json::from_value(event).unwrap())
        };
        let opened = event(serde_json::json!({ "change": "opened", "user": "ada", "host": "desk" }));
        let ended = event(serde_json::json!({ "change": "run_finished", "run": 1, "ok": true }));
        let [newest, older] = &SERVED;
        assert!(newest.shows(&opened) && !older.shows(&opened));
        assert!(newest.shows(&ended) && older.shows(&ended));
    }

    #[test]
    fn older_daemon_is_not_asked_for_an_idempotent_start() {
        let request = |key: Option<&str>| {
            let worker = serde_json::json!({ "name": "note", "source": "" });
            let mut request =
                serde_json::json!({ "request": "run", "text": "", "worker": worker, "spec": {} });
            if let Some(key) = key {
                request["key"] = key.into();
            }
            serde_json::from_value::<Request>(request).unwrap()
        };
        let [newest, older] = &SERVED;
        for (key, is_understood) in [(None, true), (Some("order-17"), false)] {
            assert_eq!(older.check_request(&request(key)).is_ok(), is_understood, "{key:?}");
            assert!(newest.check_request(&request(key)).is_ok(), "{key:?}");
        }
    }

    #[test]
    fn other_version_is_refused_with_those_served() {
        for number in [0, u64::from(VERSION) - 2, u64::from(VERSION) + 1, u64::MAX] {
            let failure = ServedVersion::find(number).unwrap_err();
            assert_eq!(failure.exit, Exit::Conflict);
            let expected = Problem::Version { version: number, served: vec![VERSION, VERSION - 1] };
            assert_eq!(failure.problem.as_deref(), Some(&expected));
        }
    }
}
