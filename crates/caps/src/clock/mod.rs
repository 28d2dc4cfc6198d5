//! The capability of a clock. A worker without a clock does not know the time.

use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use kernel::grant::Grant;
use kernel::proposal::{Finding, Value};
use kernel::provenance::Provenance;
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use kernel::{Interface, Method, Param, Pattern};
use passable::{Effect, quoting, visible_line};
use policy::{ChangeScope, Facts};

use crate::{Capability, Probe, foreign, text};

/// The maximum length of a time zone's name.
const MAX_LEN: u64 = 64;

/// Returns the interface of every clock.
pub(crate) fn interface() -> &'static Interface {
    static INTERFACE: LazyLock<Interface> = LazyLock::new(|| {
        let zone = || {
            let about = "such as `Europe/Berlin` or `UTC`; left out: that of this machine";
            Param::optional("zone", text(MAX_LEN), about)
        };
        let looks =
            |name: &str, about: &str| Method::new(name, Effect::Observe, about).param(zone()).with_probe();
        let string = Pattern::string;
        let now = [("time", string()), ("ms", Pattern::number()), ("weekday", string()), ("zone", string())];
        let today = [("date", string()), ("weekday", string()), ("week", string()), ("zone", string())];
        let record = |fields: [(&'static str, Pattern); 4]| {
            Pattern::record::<&str>(fields).unwrap_or_else(|_| Pattern::any())
        };
        Interface::new("Clock", "tells the time")
            .with(looks("now", "The time: as RFC 3339, and in milliseconds since 1970.").returns(record(now)))
            .with(looks("today", "The date, as YYYY-MM-DD, its weekday and its week.").returns(record(today)))
    });
    &INTERFACE
}

/// The clock of this machine.
pub(crate) struct Clock {
    grant: Grant,
}

impl Clock {
    pub(crate) fn open(grant: &Grant) -> Clock {
        Clock { grant: grant.clone() }
    }
}

/// Returns the time in the zone that the call asks for.
fn read_time(method: &str, args: &[Value], at: Timestamp) -> Result<Value, Finding> {
    let zone = match args.first() {
        None | Some(Value::Undefined) => TimeZone::try_system().unwrap_or(TimeZone::UTC),
        Some(value) => {
            let name = value.as_str().unwrap_or_default();
            TimeZone::get(name).map_err(|_| {
                Finding::new("clock/zone", quoting!("there is no time zone `{}`", visible_line(name)))
                    .at("zone")
                    .counter_example(visible_line(name))
                    .allowed("a name such as `Europe/Berlin` or `UTC`, or none")
            })?
        }
    };
    let there: Zoned = at.to_zoned(zone);
    let name = there.time_zone().iana_name().map_or_else(|| there.offset().to_string(), str::to_owned);
    let day = there.strftime("%A").to_string();
    let fields = match method {
        "now" => vec![
            ("time", Value::from(there.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string())),
            ("ms", Value::number(at.as_millisecond() as f64)),
            ("weekday", Value::from(day)),
            ("zone", Value::from(name)),
        ],
        "today" => vec![
            ("date", Value::from(there.strftime("%Y-%m-%d").to_string())),
            ("weekday", Value::from(day)),
            ("week", Value::from(there.strftime("%G-W%V").to_string())),
            ("zone", Value::from(name)),
        ],
        _ => {
            let message = format!("a clock has no method `{}`", visible_line(method));
            return Err(Finding::new("clock/arguments", message)
                .at("method")
                .allowed("now(zone?), today(zone?)"));
        }
    };
    Ok(Value::record_from_map(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
}

fn now() -> Timestamp {
    let ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Timestamp::from_millisecond(i64::try_from(ms).unwrap_or(0)).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl Capability for Clock {
    fn interface(&self) -> &'static Interface {
        interface()
    }

    fn facts(&self, method: &str, args: &[Value]) -> Facts {
        Facts {
            line: format!("asks `{}` for the time", visible_line(&self.grant.slot)),
            problems: read_time(method, args, Timestamp::UNIX_EPOCH).err().into_iter().collect(),
            ..Facts::default()
        }
    }

    fn change_scopes(&self, _: &str, _: &[Value]) -> Vec<ChangeScope> {
        vec![]
    }

    fn perform(&self, begun: &StartedEffect) -> Completion {
        if let Some(finding) = foreign(begun, &self.grant) {
            return Completion::Refused(vec![finding]);
        }
        match read_time(&begun.proposal().method, &begun.proposal().args, now()) {
            // The time holds no words of any other party.
            Ok(value) => Completion::Done { value, provenance: Provenance::host() },
            Err(finding) => Completion::Refused(vec![finding]),
        }
    }

    fn probe(&self, _: &StartedEffect) -> Probe {
        Probe::NotDone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_returns_the_time_in_the_requested_zone() {
        let at = Timestamp::from_millisecond(1_791_279_000_123).unwrap();
        for (method, zone, expected) in [
            (
                "now",
                "UTC",
                r#"{"ms":1791279000123,"time":"2026-10-06T09:30:00.123+00:00","weekday":"Tuesday","zone":"UTC"}"#,
            ),
            (
                "now",
                "Asia/Kathmandu",
                r#"{"ms":1791279000123,"time":"2026-10-06T15:15:00.123+05:45","weekday":"Tuesday","zone":"Asia/Kathmandu"}"#,
            ),
            (
                "today",
                "Pacific/Kiritimati",
                r#"{"date":"2026-10-06","week":"2026-W41","weekday":"Tuesday","zone":"Pacific/Kiritimati"}"#,
            ),
        ] {
            let told = read_time(method, &[Value::from(zone)], at).unwrap();
            assert_eq!(told.to_json().to_string(), expected, "{method} {zone}");
        }
        assert!(read_time("now", &[], at).is_ok() && read_time("today", &[Value::Undefined], at).is_ok());
        assert_eq!(read_time("now", &[Value::from("Mars/Olympus")], at).unwrap_err().rule, "clock/zone");
        assert_eq!(read_time("now", &[Value::from("../../etc/passwd")], at).unwrap_err().rule, "clock/zone");
        assert_eq!(read_time("set", &[], at).unwrap_err().rule, "clock/arguments");
    }
}
