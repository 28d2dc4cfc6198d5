//! The two ceremonies of passkeys: a browser makes one, and logs in with one. The library `webauthn_rp` checks the
//! answers of browsers, as the standard for them asks (<https://www.w3.org/TR/webauthn-3/>).
//!
//! Each ceremony begins with a challenge: random bytes that an answer must have signed. Challenges are in memory only,
//! so no other daemon knows them. Each is used at most once, also by a wrong answer.

use std::borrow::Borrow;
use std::num::NonZeroU32;
use std::slice;

use webauthn_rp::bin::{Decode as _, Encode as _};
use webauthn_rp::request::auth::AuthenticationVerificationOptions;
use webauthn_rp::request::error::AsciiDomainErr;
use webauthn_rp::request::register::{
    CredProtect, PublicKeyCredentialUserEntity, RegistrationVerificationOptions, UserHandle, Username,
};
use webauthn_rp::request::{AsciiDomain, PublicKeyCredentialDescriptor, RpId};
use webauthn_rp::response::auth::error::AuthCeremonyErr;
use webauthn_rp::response::register::error::RegCeremonyErr;
use webauthn_rp::response::register::{CompressedPubKey, DynamicState, StaticState};
use webauthn_rp::response::{AuthTransports, CredentialId, SentChallenge};
use webauthn_rp::{
    AuthenticatedCredential, DiscoverableAuthentication, DiscoverableAuthenticationServerState,
    DiscoverableCredentialRequestOptions, PublicKeyCredentialCreationOptions, Registration,
    RegistrationServerState,
};

use super::names::PasskeyHost;
use super::passkeys::{MAX_PASSKEYS, Passkey, PasskeyKey, Passkeys};
use super::sessions::lasts;

/// The time until a challenge expires, in milliseconds. The user has to find the device and touch it.
const CHALLENGE_TIMEOUT_MS: u32 = 2 * 60 * 1000;

/// The maximum number of challenges of each kind. The oldest makes room for another.
const MAX_CHALLENGES: usize = 16;

/// The maximum number of refused logins within [`WRONG_TIMEOUT_MS`]. After that, all are refused until this time is over.
const MAX_WRONG: usize = 10;

/// The time for which a refused login counts, in milliseconds.
const WRONG_TIMEOUT_MS: i64 = 60 * 1000;

/// The number of bytes under which browsers keep the passkeys of these pages. The pages have one user.
const USER_LEN: usize = 16;

/// The name of the user, in the list of the browser.
const USER_NAME: &str = "almoner";

/// The stored form of a public key.
type PublicKey = CompressedPubKey<[u8; 32], [u8; 32], [u8; 48], Vec<u8>>;

/// The ceremonies that have begun and not ended.
#[derive(Debug, Default)]
pub struct Ceremonies {
    adding: Vec<Open<RegistrationServerState<USER_LEN>>>,
    logins: Vec<Open<DiscoverableAuthenticationServerState>>,
    /// The times of refused logins.
    wrong: Vec<i64>,
}

/// A ceremony that has begun.
#[derive(Debug)]
struct Open<T> {
    /// The challenge and the demands, as the library keeps them.
    state: T,
    /// The name of the pages under which it began.
    domain: String,
    /// The session that adds a passkey. `None` for a login.
    session: Option<u64>,
    /// The time at which it expires, in milliseconds since 1970.
    until_ms: i64,
}

/// The reason why a passkey was not added or not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyError {
    /// There are as many passkeys as there may be.
    #[error("there are {MAX_PASSKEYS} passkeys, and there may be no more")]
    Full,
    /// The passkey is known.
    #[error("this device has one for these pages")]
    Known,
    /// The answer to a challenge that was never given, has expired or was answered before.
    #[error("the page was open for too long, or its passkey was sent before")]
    NoChallenge,
    /// The passkey is not known, or was removed.
    #[error("this passkey is not known here, or was removed")]
    Unknown,
    /// Too many logins were refused in a short time.
    #[error("too many passkeys were refused within a minute")]
    TooMany,
    /// The browser's answer cannot be read.
    #[error("the browser's answer cannot be read")]
    Malformed(#[source] serde_json::Error),
    /// The browser's answer does not make a passkey.
    #[error("the browser's answer is not valid: {0}")]
    Registration(#[source] RegCeremonyErr),
    /// The browser's answer does not prove the passkey.
    #[error("the browser's answer is not valid: {0}")]
    Login(#[source] AuthCeremonyErr),
    /// The stored passkey cannot be read.
    #[error("its record cannot be read: {0}")]
    Record(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The name of the pages is no name for passkeys.
    #[error("browsers keep no passkey for the name of these pages")]
    Domain(#[source] AsciiDomainErr),
    /// A ceremony did not begin.
    #[error("the demands on a passkey cannot be written: {0}")]
    Begin(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<serde_json::Error> for PasskeyError {
    fn from(error: serde_json::Error) -> PasskeyError {
        PasskeyError::Malformed(error)
    }
}

impl Ceremonies {
    /// Begins to add a passkey to these, in this session. Returns the demands on it, as JSON for the browser.
    ///
    /// # Errors
    /// When there are too many passkeys, or the host is no name for passkeys.
    pub fn begin_adding(
        &mut self,
        host: &PasskeyHost,
        session: u64,
        passkeys: &Passkeys,
        now_ms: i64,
    ) -> Result<String, PasskeyError> {
        if passkeys.is_full() {
            return Err(PasskeyError::Full);
        }
        let id = rp_id(host)?;
        // A device keeps one passkey for each user of a name, so all passkeys of a name are of one user.
        let user = match passkeys.of(&host.domain).next() {
            Some(passkey) => user(passkey)?,
            None => UserHandle::new(),
        };
        let known = passkeys.of(&host.domain).map(descriptor).collect::<Result<Vec<_>, _>>()?;
        let entity = PublicKeyCredentialUserEntity {
            name: Username::try_from(USER_NAME).map_err(not_begun)?,
            id: &user,
            display_name: None,
        };
        let mut options = PublicKeyCredentialCreationOptions::passkey(&id, entity, known);
        options.timeout = NonZeroU32::new(CHALLENGE_TIMEOUT_MS).unwrap_or(options.timeout);
        // A demand for this makes browsers refuse devices that do not know it. Each login demands the user anyway.
        options.extensions.cred_protect = CredProtect::None;
        let (state, demands) = options.start_ceremony().map_err(not_begun)?;
        let json = serde_json::to_string(&demands).map_err(not_begun)?;
        self.adding.retain(|one| one.session != Some(session));
        keep(&mut self.adding, Open::new(state, host, Some(session), now_ms), now_ms);
        Ok(json)
    }

    /// Adds the passkey that a browser has made, under this name. Returns its number.
    ///
    /// # Errors
    /// When the answer does not fit an open challenge of this session, or the passkey is known.
    pub fn finish_adding(
        &mut self,
        host: &PasskeyHost,
        session: u64,
        passkeys: &mut Passkeys,
        named: (&str, &str),
        now_ms: i64,
    ) -> Result<u64, PasskeyError> {
        let (name, answer) = named;
        let answer = Registration::from_json_relaxed(answer.as_bytes())?;
        let open = take(&mut self.adding, answer.challenge_relaxed()?, now_ms)?;
        if open.session != Some(session) || open.domain != host.domain {
            return Err(PasskeyError::NoChallenge);
        }
        if passkeys.is_full() {
            return Err(PasskeyError::Full);
        }
        let options = RegistrationVerificationOptions::<'_, '_, String, String> {
            allowed_origins: slice::from_ref(&host.origin),
            // The standard leaves these to the server. They carry nothing that is used here.
            error_on_unsolicited_extensions: false,
            ..RegistrationVerificationOptions::default()
        };
        let made = open.state.verify(&rp_id(host)?, &answer, &options).map_err(PasskeyError::Registration)?;
        let credential: &[u8] = made.id().into_inner();
        if passkeys.by_credential(&host.domain, credential).is_some() {
            return Err(PasskeyError::Known);
        }
        let Ok(public) = made.static_state().encode();
        let Ok(state) = made.dynamic_state().encode();
        let key = PasskeyKey {
            credential: credential.to_vec(),
            user: made.user_id().as_ref().to_vec(),
            public,
            state: state.to_vec(),
        };
        Ok(passkeys.add(name, &host.domain, key, now_ms))
    }

    /// Begins a login with one of these passkeys. Returns the demands on the proof, as JSON for the browser.
    ///
    /// # Errors
    /// When there is no passkey for this host.
    pub fn begin_login(
        &mut self,
        host: &PasskeyHost,
        passkeys: &Passkeys,
        now_ms: i64,
    ) -> Result<String, PasskeyError> {
        if passkeys.of(&host.domain).next().is_none() {
            return Err(PasskeyError::Unknown);
        }
        let id = rp_id(host)?;
        let mut options = DiscoverableCredentialRequestOptions::passkey(&id);
        options.0.timeout = NonZeroU32::new(CHALLENGE_TIMEOUT_MS).unwrap_or(options.0.timeout);
        let (state, demands) = options.start_ceremony().map_err(not_begun)?;
        let json = serde_json::to_string(&demands).map_err(not_begun)?;
        keep(&mut self.logins, Open::new(state, host, None, now_ms), now_ms);
        Ok(json)
    }

    /// Checks a browser's proof of a passkey, and records its use. Returns the number of the passkey.
    ///
    /// # Errors
    /// When the proof does not fit an open challenge and a known passkey, or too many were refused.
    pub fn finish_login(
        &mut self,
        host: &PasskeyHost,
        passkeys: &mut Passkeys,
        answer: &str,
        now_ms: i64,
    ) -> Result<u64, PasskeyError> {
        self.wrong.retain(|at| now_ms.abs_diff(*at) < WRONG_TIMEOUT_MS.unsigned_abs());
        if self.wrong.len() >= MAX_WRONG {
            return Err(PasskeyError::TooMany);
        }
        let checked = self.check_login(host, passkeys, answer, now_ms);
        match &checked {
            Ok((number, state)) => passkeys.used(*number, state.clone(), now_ms),
            Err(_) => self.wrong.push(now_ms),
        }
        checked.map(|(number, _)| number)
    }

    fn check_login(
        &mut self,
        host: &PasskeyHost,
        passkeys: &Passkeys,
        answer: &str,
        now_ms: i64,
    ) -> Result<(u64, Vec<u8>), PasskeyError> {
        let answer = DiscoverableAuthentication::<USER_LEN>::from_json_relaxed(answer.as_bytes())?;
        let open = take(&mut self.logins, answer.challenge_relaxed()?, now_ms)?;
        if open.domain != host.domain {
            return Err(PasskeyError::NoChallenge);
        }
        let id = answer.raw_id();
        let kept = passkeys.by_credential(&host.domain, id.into_inner()).ok_or(PasskeyError::Unknown)?;
        let user = user(kept)?;
        let public: StaticState<PublicKey> =
            StaticState::decode(kept.key.public.as_slice()).map_err(record)?;
        let state: [u8; 7] = kept.key.state.as_slice().try_into().map_err(record)?;
        let state = DynamicState::decode(state).map_err(record)?;
        let mut passkey =
            AuthenticatedCredential::new(answer.raw_id(), &user, public, state).map_err(record)?;
        // By default, a counter that does not grow is refused, unless the device does not count.
        let options = AuthenticationVerificationOptions::<'_, '_, String, String> {
            allowed_origins: slice::from_ref(&host.origin),
            error_on_unsolicited_extensions: false,
            ..AuthenticationVerificationOptions::default()
        };
        open.state.verify(&rp_id(host)?, &answer, &mut passkey, &options).map_err(PasskeyError::Login)?;
        let Ok(state) = passkey.dynamic_state().encode();
        Ok((kept.number, state.to_vec()))
    }
}

impl<T> Open<T> {
    fn new(state: T, host: &PasskeyHost, session: Option<u64>, now_ms: i64) -> Open<T> {
        let until_ms = now_ms + i64::from(CHALLENGE_TIMEOUT_MS);
        Open { state, domain: host.domain.clone(), session, until_ms }
    }

    fn is_open(&self, now_ms: i64) -> bool {
        lasts(self.until_ms, CHALLENGE_TIMEOUT_MS.into(), now_ms)
    }
}

/// Keeps a ceremony until its end, and forgets those that have expired.
fn keep<T>(open: &mut Vec<Open<T>>, begun: Open<T>, now_ms: i64) {
    open.retain(|one| one.is_open(now_ms));
    if open.len() >= MAX_CHALLENGES {
        open.remove(0);
    }
    open.push(begun);
}

/// Takes the ceremony of a challenge, so that the challenge is used once.
fn take<T: Borrow<SentChallenge>>(
    open: &mut Vec<Open<T>>,
    challenge: SentChallenge,
    now_ms: i64,
) -> Result<Open<T>, PasskeyError> {
    let is_it = |one: &Open<T>| *Borrow::<SentChallenge>::borrow(&one.state) == challenge;
    let at = open.iter().position(is_it).ok_or(PasskeyError::NoChallenge)?;
    Some(open.remove(at)).filter(|one| one.is_open(now_ms)).ok_or(PasskeyError::NoChallenge)
}

fn rp_id(host: &PasskeyHost) -> Result<RpId, PasskeyError> {
    AsciiDomain::try_from(host.domain.clone()).map(RpId::Domain).map_err(PasskeyError::Domain)
}

fn user(passkey: &Passkey) -> Result<UserHandle<USER_LEN>, PasskeyError> {
    let bytes: [u8; USER_LEN] = passkey.key.user.as_slice().try_into().map_err(record)?;
    let Ok(user) = UserHandle::decode(bytes);
    Ok(user)
}

fn descriptor(passkey: &Passkey) -> Result<PublicKeyCredentialDescriptor<Vec<u8>>, PasskeyError> {
    let id = CredentialId::<Vec<u8>>::decode(passkey.key.credential.clone()).map_err(record)?;
    // The browser knows by itself where its passkeys are.
    let transports = AuthTransports::decode(0).map_err(record)?;
    Ok(PublicKeyCredentialDescriptor { id, transports })
}

fn record(error: impl std::error::Error + Send + Sync + 'static) -> PasskeyError {
    PasskeyError::Record(Box::new(error))
}

fn not_begun(error: impl std::error::Error + Send + Sync + 'static) -> PasskeyError {
    PasskeyError::Begin(Box::new(error))
}

#[cfg(test)]
mod tests;
