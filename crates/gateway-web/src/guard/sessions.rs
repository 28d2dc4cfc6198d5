//! Sessions, and the codes that begin them. Each browser that has logged in has one session, which is listed and can
//! be revoked.
//!
//! Nothing that gives access is stored in plain text. The handle and the key of a session, and each code, are stored
//! as hashes.

use serde::{Deserialize, Serialize};

use super::passkeys::Passkeys;

/// The time until a session ends that is not used, in milliseconds.
pub const SESSION_TIMEOUT_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// The time after which a session in use gets a new handle and a new end, in milliseconds. A copied cookie is
/// of use for this time at most, before the copy ends the session.
const RENEWAL_INTERVAL_MS: i64 = 60 * 60 * 1000;

/// The time during which requests with the earlier handle may still be under way, in milliseconds.
const RENEWAL_GRACE_MS: i64 = 60 * 1000;

/// The time until a code expires, in milliseconds.
pub const CODE_TIMEOUT_MS: i64 = 60 * 1000;

/// The largest step back of the clock that counts as a correction, in milliseconds. Clocks are corrected by small
/// amounts all the time. If a session or code begins later than that, it is not valid yet.
const MAX_CLOCK_CORRECTION_MS: i64 = 60 * 1000;

/// The maximum number of unused codes. No user needs more.
const MAX_CODES: usize = 16;

/// The maximum number of wrong codes within [`CODE_TIMEOUT_MS`]. After that, all codes are rejected until this time
/// is over.
const MAX_WRONG_CODES: usize = 10;

/// The name of the cookie. The prefix `__Host-` binds the cookie to this host.
pub const COOKIE: &str = "__Host-almoner";

/// The kind of host under which a browser asks for the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostKind {
    /// A host name that belongs to this program alone.
    #[default]
    Name,
    /// The address `127.0.0.1`, for browsers that do not know names below `localhost`. Cookies ignore ports, so a
    /// program on another port of this address may receive this session's cookie.
    Address,
}

/// One browser that has logged in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The number that identifies the session.
    pub number: u64,
    /// The hash of the handle in the session's cookie.
    handle: String,
    /// The hash of the handle before it, which the browser keeps until an answer brings the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earlier: Option<String>,
    /// The time of the present handle, in milliseconds since 1970.
    #[serde(default)]
    renewed_ms: i64,
    /// Whether the browser has sent the present handle, and a moment has passed since it was given out.
    #[serde(default)]
    is_confirmed: bool,
    /// The token in the session's forms.
    pub token: String,
    /// The hash of the key that the session's script stores apart from the cookie. `None` if the browser logged in
    /// without a script.
    key: Option<String>,
    /// The kind of host under which the session began. It is valid under no other.
    #[serde(default)]
    pub under: HostKind,
    /// The browser's own description of itself, which is foreign text.
    pub browser: passable::Untrusted,
    /// The start of the session, in milliseconds since 1970.
    pub begun_ms: i64,
    /// The end of the session, in milliseconds since 1970.
    pub ends_ms: i64,
    /// The number of the passkey with which the session began. `None` if it began with a code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passkey: Option<u64>,
}

/// The state of all sessions, and of the passkeys that begin some of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sessions {
    /// The highest session number that was given.
    next: u64,
    /// The sessions that have not been revoked.
    open: Vec<Session>,
    /// The passkeys.
    #[serde(default, skip_serializing_if = "Passkeys::is_empty")]
    pub passkeys: Passkeys,
    /// The codes that were not used yet.
    #[serde(skip)]
    codes: Vec<Code>,
    /// The times of wrong codes.
    #[serde(skip)]
    wrong: Vec<i64>,
}

/// A code with which one browser can log in.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Code {
    /// The hash of the code.
    hash: String,
    /// The time at which the code expires, in milliseconds since 1970.
    until_ms: i64,
    /// The kind of host for which the code is valid.
    under: HostKind,
}

impl Code {
    fn is_open(&self, now_ms: i64) -> bool {
        lasts(self.until_ms, CODE_TIMEOUT_MS, now_ms)
    }
}

/// Returns whether a period of this length has begun and not ended.
pub(super) fn lasts(until_ms: i64, long_ms: i64, now_ms: i64) -> bool {
    until_ms > now_ms && until_ms - long_ms <= now_ms + MAX_CLOCK_CORRECTION_MS
}

/// The data that a browser presents to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginRequest<'a> {
    /// The code. Empty for a login with a passkey.
    pub code: &'a str,
    /// The key that the browser's script has generated. Empty without a script.
    pub key: &'a str,
    /// The kind of host that the browser asks.
    pub under: HostKind,
    /// The browser's cookies.
    pub cookies: &'a str,
    /// The browser's own description of itself.
    pub browser: &'a str,
}

/// The upkeep that a session needs when a browser shows its cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// None.
    None,
    /// The browser has the present handle, so the earlier one is no longer accepted.
    Confirm,
    /// The session gets a new handle and a new end.
    Renew,
    /// The earlier handle came although the browser has the present one. So two programs have the cookie, and the
    /// session ends.
    End,
}

/// The reason why a code was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginError {
    /// A code that was never issued, was used before, or has expired.
    Code,
    /// Too many wrong codes in a short time.
    TooMany,
    /// A login under the bare address without a key. The cookie alone would be enough to use such a session.
    NoKey,
}

impl Sessions {
    /// Issues a code with which one browser can log in under this kind of host. The code is made from these random
    /// bytes.
    pub fn code(&mut self, under: HostKind, random: [u8; 32], now_ms: i64) -> String {
        let code = hex(&random);
        self.codes.retain(|code| code.is_open(now_ms));
        if self.codes.len() >= MAX_CODES {
            self.codes.remove(0);
        }
        self.codes.push(Code { hash: hash(&code), until_ms: now_ms + CODE_TIMEOUT_MS, under });
        code
    }

    /// Returns whether the bare address may be used: a session or an unused code exists for it.
    pub fn are_under_an_address(&self, now_ms: i64) -> bool {
        self.codes.iter().any(|code| code.is_open(now_ms) && code.under == HostKind::Address)
            || self.open(now_ms).any(|session| session.under == HostKind::Address)
    }

    /// Logs a browser in and returns the handle for its cookie. Each code works once. The earlier session of this
    /// browser ends, so that a handle is used at most until the next login.
    ///
    /// # Errors
    /// When the code is invalid, too many codes were wrong, or the bare address is used without a key.
    pub fn let_in(
        &mut self,
        arrival: &LoginRequest<'_>,
        random: ([u8; 32], [u8; 32]),
        now_ms: i64,
    ) -> Result<String, LoginError> {
        self.wrong.retain(|at| now_ms.abs_diff(*at) < CODE_TIMEOUT_MS.unsigned_abs());
        if self.wrong.len() >= MAX_WRONG_CODES {
            return Err(LoginError::TooMany);
        }
        self.codes.retain(|code| code.is_open(now_ms));
        let wanted = hash(arrival.code.trim());
        let is_it = |code: &Code| code.under == arrival.under && same(&code.hash, &wanted);
        let Some(at) = self.codes.iter().position(is_it) else {
            self.wrong.push(now_ms);
            return Err(LoginError::Code);
        };
        let key = arrival.key.trim();
        if key.is_empty() && arrival.under == HostKind::Address {
            return Err(LoginError::NoKey);
        }
        self.codes.remove(at);
        Ok(self.begin(arrival, None, random, now_ms))
    }

    /// Logs a browser in that has shown this passkey, and returns the handle for its cookie. The caller has verified
    /// the passkey. The earlier session of this browser ends.
    pub fn let_in_by_passkey(
        &mut self,
        arrival: &LoginRequest<'_>,
        passkey: u64,
        random: ([u8; 32], [u8; 32]),
        now_ms: i64,
    ) -> String {
        self.begin(arrival, Some(passkey), random, now_ms)
    }

    fn begin(
        &mut self,
        arrival: &LoginRequest<'_>,
        passkey: Option<u64>,
        random: ([u8; 32], [u8; 32]),
        now_ms: i64,
    ) -> String {
        let key = arrival.key.trim();
        if let Some(before) =
            self.of_cookie(arrival.cookies, arrival.under, now_ms).map(|(one, _)| one.number)
        {
            self.revoke(before);
        }
        let handle = hex(&random.0);
        self.next += 1;
        self.open.retain(|session| session.is_open(now_ms));
        self.open.push(Session {
            number: self.next,
            handle: hash(&handle),
            earlier: None,
            renewed_ms: now_ms,
            is_confirmed: true,
            token: hex(&random.1),
            key: (!key.is_empty()).then(|| hash(key)),
            under: arrival.under,
            browser: passable::Untrusted::new(arrival.browser.chars().take(200).collect::<String>()),
            begun_ms: now_ms,
            ends_ms: now_ms + SESSION_TIMEOUT_MS,
            passkey,
        });
        handle
    }

    /// Returns the session of a cookie and its upkeep, if the session began under the same kind of host.
    pub fn of_cookie(&self, cookies: &str, under: HostKind, now_ms: i64) -> Option<(&Session, Upkeep)> {
        let handles = cookies.split(';').filter_map(|one| one.trim().strip_prefix(COOKIE)?.strip_prefix('='));
        handles.map(hash).find_map(|shown| {
            let mut open = self.open(now_ms).filter(|session| session.under == under);
            open.find_map(|session| Some((session, session.upkeep(&shown, now_ms)?)))
        })
    }

    /// Confirms the present handle of a session: the earlier one is no longer accepted.
    pub fn confirm(&mut self, number: u64) {
        if let Some(session) = self.open.iter_mut().find(|session| session.number == number) {
            session.is_confirmed = true;
        }
    }

    /// Gives a session a new handle, made from these random bytes, and a new end. Returns the handle, or `None` if the
    /// session does not exist or got one meanwhile.
    pub fn renew(&mut self, number: u64, random: [u8; 32], now_ms: i64) -> Option<String> {
        let is_due = |session: &&mut Session| session.number == number && session.is_due(now_ms);
        let session = self.open.iter_mut().find(is_due)?;
        let handle = hex(&random);
        let before = std::mem::replace(&mut session.handle, hash(&handle));
        // The browser has never had a handle that is not confirmed. It still has the one before it.
        if session.is_confirmed {
            session.earlier = Some(before);
        }
        (session.renewed_ms, session.is_confirmed) = (now_ms, false);
        session.ends_ms = now_ms + SESSION_TIMEOUT_MS;
        Some(handle)
    }

    /// Returns all sessions that have not ended, newest first.
    pub fn open(&self, now_ms: i64) -> impl Iterator<Item = &Session> {
        self.open.iter().rev().filter(move |session| session.is_open(now_ms))
    }

    /// Returns whether the session with this number has not ended.
    pub fn is_open(&self, number: u64, now_ms: i64) -> bool {
        self.open(now_ms).any(|session| session.number == number)
    }

    /// Ends the session with this number. Returns whether it existed.
    pub fn revoke(&mut self, number: u64) -> bool {
        let before = self.open.len();
        self.open.retain(|session| session.number != number);
        before != self.open.len()
    }

    /// Ends all sessions and removes all codes. The passkeys stay.
    pub fn revoke_all(&mut self) {
        self.open.clear();
        self.codes.clear();
    }

    /// Removes the passkey with this number, and ends the sessions that began with it. Returns whether it existed.
    pub fn remove_passkey(&mut self, number: u64) -> bool {
        self.open.retain(|session| session.passkey != Some(number));
        self.passkeys.remove(number)
    }

    /// Removes all passkeys, and ends the sessions that began with one.
    pub fn remove_passkeys(&mut self) {
        self.open.retain(|session| session.passkey.is_none());
        self.passkeys.clear();
    }
}

impl Session {
    fn is_open(&self, now_ms: i64) -> bool {
        lasts(self.ends_ms, SESSION_TIMEOUT_MS, now_ms)
    }

    /// Returns whether the session should get a new handle. The clock may have been set back.
    fn is_due(&self, now_ms: i64) -> bool {
        now_ms.abs_diff(self.renewed_ms) >= RENEWAL_INTERVAL_MS.unsigned_abs()
    }

    /// Returns the upkeep of the session for a handle with this hash, or `None` if it is no handle of the session.
    fn upkeep(&self, shown: &str, now_ms: i64) -> Option<Upkeep> {
        if same(&self.handle, shown) {
            return Some(match self.is_confirmed {
                true if self.is_due(now_ms) => Upkeep::Renew,
                // The browser has the handle, so nobody else may ask for another one with the earlier handle.
                false => Upkeep::Confirm,
                true => Upkeep::None,
            });
        }
        let is_settled = now_ms.abs_diff(self.renewed_ms) >= RENEWAL_GRACE_MS.unsigned_abs();
        let is_earlier = self.earlier.as_ref().is_some_and(|earlier| same(earlier, shown));
        is_earlier.then_some(match self.is_confirmed {
            true if is_settled => Upkeep::End,
            true => Upkeep::None,
            false if self.is_due(now_ms) => Upkeep::Renew,
            false => Upkeep::None,
        })
    }

    /// Returns whether the session's script has a key. Changes need this key then.
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Returns whether a form has the session's token, and also its key if the session has one.
    pub fn signed(&self, token: Option<&str>, key: Option<&str>) -> bool {
        let has_key = match &self.key {
            Some(kept) => key.is_some_and(|key| same(kept, &hash(key.trim()))),
            None => true,
        };
        has_key && token.is_some_and(|token| same(&hash(&self.token), &hash(token.trim())))
    }
}

/// Returns bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hash(text: &str) -> String {
    blake3::Hasher::new_derive_key("almoner web v1").update(text.as_bytes()).finalize().to_hex().to_string()
}

/// Returns whether two hashes are equal. The time of the comparison can reveal something about the hashes, but never
/// about the hashed text.
fn same(one: &str, other: &str) -> bool {
    one == other
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive<'a>(code: &'a str, key: &'a str) -> LoginRequest<'a> {
        LoginRequest { code, key, under: HostKind::Name, cookies: "", browser: "test" }
    }

    #[test]
    fn code_works_once_and_expires() {
        let mut sessions = Sessions::default();
        let code = sessions.code(HostKind::Name, [1; 32], 0);
        assert_eq!(sessions.let_in(&arrive("no", ""), ([2; 32], [3; 32]), 1), Err(LoginError::Code));
        let handle = sessions.let_in(&arrive(&code, "k"), ([2; 32], [3; 32]), 1).unwrap();
        assert_eq!(sessions.let_in(&arrive(&code, "k"), ([4; 32], [3; 32]), 2), Err(LoginError::Code));
        let old = sessions.code(HostKind::Name, [5; 32], 2);
        assert_eq!(
            sessions.let_in(&arrive(&old, ""), ([6; 32], [3; 32]), 2 + CODE_TIMEOUT_MS),
            Err(LoginError::Code)
        );
        let cookies = format!("a=b; {COOKIE}={handle}");
        let session = sessions.of_cookie(&cookies, HostKind::Name, 3).unwrap().0.clone();
        assert_eq!(session.number, 1);
        let kept = serde_json::to_string(&sessions).unwrap();
        assert!(!kept.contains(&handle) && !kept.contains(&code), "{kept}");
        assert!(session.signed(Some(&session.token), Some("k")));
        for (token, key) in [
            (None, Some("k")),
            (Some("x"), Some("k")),
            (Some(&*session.token), None),
            (Some(&*session.token), Some("x")),
        ] {
            assert!(!session.signed(token, key), "{token:?} {key:?}");
        }
        assert!(sessions.of_cookie(&cookies, HostKind::Name, 1 + SESSION_TIMEOUT_MS).is_none());
        assert!(sessions.of_cookie("__Host-almoner=", HostKind::Name, 3).is_none());
        assert!(sessions.revoke(1) && !sessions.revoke(1));
        assert!(sessions.of_cookie(&cookies, HostKind::Name, 3).is_none());
    }

    #[test]
    fn address_login_needs_a_key_and_is_valid_there_only() {
        let mut sessions = Sessions::default();
        assert!(!sessions.are_under_an_address(0));
        let code = sessions.code(HostKind::Address, [1; 32], 0);
        assert!(sessions.are_under_an_address(1) && !sessions.are_under_an_address(CODE_TIMEOUT_MS));
        let random = ([2; 32], [3; 32]);
        let there = |key| LoginRequest { under: HostKind::Address, ..arrive(&code, key) };
        assert_eq!(sessions.let_in(&arrive(&code, "k"), random, 1), Err(LoginError::Code));
        assert_eq!(sessions.let_in(&there(""), random, 1), Err(LoginError::NoKey));
        let handle = sessions.let_in(&there("k"), random, 1).unwrap();
        let cookies = format!("{COOKIE}={handle}");
        assert!(sessions.of_cookie(&cookies, HostKind::Address, 2).is_some());
        assert!(sessions.of_cookie(&cookies, HostKind::Name, 2).is_none());
        assert!(sessions.are_under_an_address(CODE_TIMEOUT_MS));
        sessions.revoke(1);
        assert!(!sessions.are_under_an_address(2));
    }

    #[test]
    fn second_login_replaces_the_session() {
        let mut sessions = Sessions::default();
        let first = sessions.code(HostKind::Name, [1; 32], 0);
        let handle = sessions.let_in(&arrive(&first, "k"), ([2; 32], [3; 32]), 1).unwrap();
        let cookies = format!("a=b; {COOKIE}={handle}");
        // A wrong code does not end the session.
        let wrong = LoginRequest { cookies: &cookies, ..arrive("no", "k") };
        assert_eq!(sessions.let_in(&wrong, ([4; 32], [5; 32]), 2), Err(LoginError::Code));
        assert!(sessions.of_cookie(&cookies, HostKind::Name, 2).is_some());
        let second = sessions.code(HostKind::Name, [6; 32], 2);
        let again = LoginRequest { cookies: &cookies, ..arrive(&second, "k") };
        sessions.let_in(&again, ([7; 32], [8; 32]), 3).unwrap();
        assert!(sessions.of_cookie(&cookies, HostKind::Name, 3).is_none());
        assert_eq!(sessions.open(3).map(|one| one.number).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn session_in_use_outlives_its_first_end() {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        let mut sessions = Sessions::default();
        let code = sessions.code(HostKind::Name, [1; 32], 0);
        let mut handle = sessions.let_in(&arrive(&code, "k"), ([2; 32], [3; 32]), 0).unwrap();
        let upkeep = |sessions: &Sessions, handle: &str, now| {
            sessions.of_cookie(&format!("{COOKIE}={handle}"), HostKind::Name, now).map(|(_, upkeep)| upkeep)
        };
        for day in 1..100 {
            let now = i64::from(day) * DAY_MS;
            assert_eq!(upkeep(&sessions, &handle, now), Some(Upkeep::Renew), "{day}");
            handle = sessions.renew(1, [u8::try_from(day).unwrap(); 32], now).unwrap();
            assert_eq!(sessions.renew(1, [0; 32], now), None, "two requests at once renew it once");
            assert_eq!(upkeep(&sessions, &handle, now + RENEWAL_GRACE_MS), Some(Upkeep::Confirm));
            sessions.confirm(1);
        }
        let last = 99 * DAY_MS;
        assert_eq!(upkeep(&sessions, &handle, last + SESSION_TIMEOUT_MS - 1), Some(Upkeep::Renew));
        assert_eq!(upkeep(&sessions, &handle, last + SESSION_TIMEOUT_MS), None);
    }

    #[test]
    fn replayed_earlier_handle_ends_the_session() {
        let mut sessions = Sessions::default();
        let code = sessions.code(HostKind::Name, [1; 32], 0);
        let earlier = sessions.let_in(&arrive(&code, "k"), ([2; 32], [3; 32]), 0).unwrap();
        let now = RENEWAL_INTERVAL_MS;
        let mut present = sessions.renew(1, [4; 32], now).unwrap();
        let upkeep = |sessions: &Sessions, handle: &str, now| {
            sessions.of_cookie(&format!("{COOKIE}={handle}"), HostKind::Name, now).map(|(_, upkeep)| upkeep)
        };
        // The answer with the new handle may be lost, so the earlier one counts until the new one has come.
        assert_eq!(upkeep(&sessions, &earlier, now + 20 * RENEWAL_GRACE_MS), Some(Upkeep::None));
        let now = now + RENEWAL_INTERVAL_MS;
        assert_eq!(upkeep(&sessions, &earlier, now), Some(Upkeep::Renew));
        let lost = std::mem::replace(&mut present, sessions.renew(1, [5; 32], now).unwrap());
        assert_eq!(upkeep(&sessions, &lost, now), None);
        assert_eq!(upkeep(&sessions, &earlier, now), Some(Upkeep::None));
        assert_eq!(upkeep(&sessions, &present, now + 1), Some(Upkeep::Confirm));
        sessions.confirm(1);
        // Requests that were sent together with the one that brought the new handle may still come.
        assert_eq!(upkeep(&sessions, &earlier, now + 1), Some(Upkeep::None));
        assert_eq!(upkeep(&sessions, &earlier, now + RENEWAL_GRACE_MS - 1), Some(Upkeep::None));
        assert_eq!(upkeep(&sessions, &earlier, now + RENEWAL_GRACE_MS), Some(Upkeep::End));
        assert_eq!(upkeep(&sessions, &present, now + RENEWAL_GRACE_MS), Some(Upkeep::None));
        let kept = serde_json::to_string(&sessions).unwrap();
        assert!(!kept.contains(&earlier) && !kept.contains(&present), "{kept}");
    }

    #[test]
    fn session_of_an_earlier_release_is_renewed_when_used() {
        let mut sessions = Sessions::default();
        let code = sessions.code(HostKind::Name, [1; 32], 0);
        let handle = sessions.let_in(&arrive(&code, "k"), ([2; 32], [3; 32]), 0).unwrap();
        let mut kept = serde_json::to_value(&sessions).unwrap();
        let session = kept["open"][0].as_object_mut().unwrap();
        for field in ["renewed_ms", "is_confirmed"] {
            session.remove(field).unwrap();
        }
        session["ends_ms"] = (12 * 60 * 60 * 1000).into();
        let sessions: Sessions = serde_json::from_value(kept).unwrap();
        let now = RENEWAL_INTERVAL_MS;
        let found = sessions.of_cookie(&format!("{COOKIE}={handle}"), HostKind::Name, now);
        assert_eq!(found.map(|(_, upkeep)| upkeep), Some(Upkeep::Confirm));
    }

    /// Checks that a clock that was ahead at login does not lengthen the session.
    #[test]
    fn wrong_clock_lengthens_no_session() {
        const AHEAD: i64 = 24 * 60 * 60 * 1000;
        let random = ([2; 32], [3; 32]);
        let mut sessions = Sessions::default();
        let code = sessions.code(HostKind::Name, [1; 32], AHEAD);
        assert_eq!(sessions.let_in(&arrive(&code, "k"), random, 0), Err(LoginError::Code));
        let code = sessions.code(HostKind::Name, [1; 32], AHEAD);
        sessions.let_in(&arrive(&code, "k"), random, AHEAD).unwrap();
        for (now, expected) in [
            (AHEAD, true),
            (AHEAD - MAX_CLOCK_CORRECTION_MS, true),
            (AHEAD - MAX_CLOCK_CORRECTION_MS - 1, false),
            (0, false),
        ] {
            assert_eq!(sessions.is_open(1, now), expected, "{now}");
        }
        // The lockout is not lengthened either.
        for _ in 0..MAX_WRONG_CODES {
            let _ = sessions.let_in(&arrive("no", ""), random, AHEAD);
        }
        let code = sessions.code(HostKind::Name, [1; 32], 0);
        assert!(sessions.let_in(&arrive(&code, "k"), random, 0).is_ok());
    }

    #[test]
    fn removed_passkey_takes_its_sessions_along() {
        let mut sessions = Sessions::default();
        let code = sessions.code(HostKind::Name, [1; 32], 0);
        sessions.let_in(&arrive(&code, "k"), ([2; 32], [3; 32]), 0).unwrap();
        for (passkey, byte) in [(1, 4), (2, 5), (1, 6)] {
            sessions.let_in_by_passkey(&arrive("", "k"), passkey, ([byte; 32], [byte; 32]), 0);
        }
        let open = |sessions: &Sessions| sessions.open(0).map(|one| one.number).collect::<Vec<_>>();
        assert_eq!(open(&sessions), [4, 3, 2, 1]);
        sessions.remove_passkey(1);
        assert_eq!(open(&sessions), [3, 1]);
        let kept: Sessions = serde_json::from_value(serde_json::to_value(&sessions).unwrap()).unwrap();
        assert_eq!(kept, sessions);
        sessions.remove_passkeys();
        assert_eq!(open(&sessions), [1]);
    }

    #[test]
    fn wrong_codes_block_logins_for_a_while() {
        let mut sessions = Sessions::default();
        for _ in 0..MAX_WRONG_CODES {
            assert_eq!(sessions.let_in(&arrive("no", ""), ([0; 32], [0; 32]), 0), Err(LoginError::Code));
        }
        let code = sessions.code(HostKind::Name, [1; 32], 1);
        assert_eq!(sessions.let_in(&arrive(&code, ""), ([0; 32], [0; 32]), 1), Err(LoginError::TooMany));
        assert!(sessions.let_in(&arrive(&code, ""), ([0; 32], [0; 32]), CODE_TIMEOUT_MS).is_ok());
    }
}
