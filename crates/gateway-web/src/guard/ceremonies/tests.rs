use std::ops::Range;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::*;

const DOMAIN: &str = "almoner-0123456789ab.localhost";

const SESSION: u64 = 7;

/// The flags of an answer: the user was there, the user was verified, the answer holds a new passkey.
const PRESENT: u8 = 1;
const VERIFIED: u8 = 1 << 2;
const NEW: u8 = 1 << 6;

fn host() -> PasskeyHost {
    PasskeyHost { domain: DOMAIN.to_owned(), origin: format!("http://{DOMAIN}:7000") }
}

/// A device with one passkey, beside a browser that can lie.
struct Device {
    key: SigningKey,
    credential: Vec<u8>,
}

/// The parts of an answer. A test changes one of them.
#[derive(Clone)]
struct Answer {
    kind: &'static str,
    challenge: String,
    origin: String,
    crosses: bool,
    domain: String,
    flags: u8,
    count: u32,
    credential: Vec<u8>,
    user: String,
    /// The bytes of the signature, or of the object with the new key, that are damaged.
    damaged: Range<usize>,
}

/// A change to an answer that makes it wrong, and its name.
type Lie = (&'static str, fn(&mut Answer));

/// The lies that neither ceremony accepts.
const LIES: &[Lie] = &[
    ("another challenge", |it| it.challenge = BASE64.encode([7; 16])),
    ("a challenge of another length", |it| it.challenge = BASE64.encode([7; 32])),
    ("no challenge", |it| it.challenge = String::new()),
    ("another origin", |it| it.origin = "https://evil.example".to_owned()),
    ("another port", |it| it.origin = format!("http://{DOMAIN}:7001")),
    ("no port", |it| it.origin = format!("http://{DOMAIN}")),
    ("another scheme", |it| it.origin = format!("https://{DOMAIN}:7000")),
    ("an origin that only begins so", |it| it.origin.push_str(".evil.example")),
    ("an origin with a path", |it| it.origin.push('/')),
    ("a frame of another site", |it| it.crosses = true),
    ("another relying party", |it| it.domain = "localhost".to_owned()),
    ("a user who was not verified", |it| it.flags &= !VERIFIED),
    ("a user who was not there", |it| it.flags &= !PRESENT),
    ("bits that the standard leaves free", |it| it.flags |= 1 << 1),
    ("a backup of what has none", |it| it.flags |= 1 << 4),
    ("a short identifier", |it| it.credential.truncate(3)),
];

impl Device {
    fn new(seed: u8) -> Device {
        Device { key: SigningKey::from_slice(&[seed; 32]).unwrap(), credential: vec![seed; 32] }
    }

    fn answer(&self, demands: &str, kind: &'static str, user: &str) -> Answer {
        let demands: Json = serde_json::from_str(demands).unwrap();
        Answer {
            kind,
            challenge: demands["challenge"].as_str().unwrap().to_owned(),
            origin: host().origin,
            crosses: false,
            domain: DOMAIN.to_owned(),
            flags: PRESENT | VERIFIED,
            count: 0,
            credential: self.credential.clone(),
            user: user.to_owned(),
            damaged: 0..0,
        }
    }

    /// Makes a passkey, and returns the answer of the browser.
    fn make(&self, demands: &str, lie: fn(&mut Answer)) -> String {
        let mut answer = self.answer(demands, "webauthn.create", "");
        answer.flags |= NEW;
        lie(&mut answer);
        self.make_as(&answer)
    }

    fn make_as(&self, answer: &Answer) -> String {
        let point = self.key.verifying_key().to_encoded_point(false);
        let length = u16::try_from(answer.credential.len()).unwrap().to_be_bytes();
        let mut data = answer.head();
        data.extend([[0; 16].as_slice(), &length, &answer.credential].concat());
        // The key in COSE: a map of the kind, the algorithm, the curve and the coordinates.
        data.extend([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]);
        data.extend_from_slice(point.x().unwrap());
        data.extend([0x22, 0x58, 0x20]);
        data.extend_from_slice(point.y().unwrap());
        let size = u8::try_from(data.len()).unwrap();
        let head = [b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58".as_slice(), &[size]].concat();
        let mut object = [head, data].concat();
        answer.damage(&mut object);
        let response =
            json!({ "clientDataJSON": answer.client_data(), "attestationObject": BASE64.encode(object) });
        answer.whole(&response)
    }

    /// Proves the passkey, and returns the answer of the browser.
    fn prove(&self, demands: &str, user: &str, lie: fn(&mut Answer)) -> String {
        let mut answer = self.answer(demands, "webauthn.get", user);
        lie(&mut answer);
        self.prove_as(&answer)
    }

    fn prove_as(&self, answer: &Answer) -> String {
        let (data, client) = (answer.head(), answer.client_data());
        let hash = Sha256::digest(BASE64.decode(&client).unwrap());
        let signature: Signature = self.key.sign(&[data.as_slice(), hash.as_slice()].concat());
        let mut signature = signature.to_der().as_bytes().to_vec();
        answer.damage(&mut signature);
        let response = json!({
            "clientDataJSON": client, "authenticatorData": BASE64.encode(data), "signature": BASE64.encode(signature),
            "userHandle": answer.user,
        });
        answer.whole(&response)
    }
}

impl Answer {
    fn head(&self) -> Vec<u8> {
        [Sha256::digest(&self.domain).as_slice(), &[self.flags], &self.count.to_be_bytes()].concat()
    }

    fn client_data(&self) -> String {
        let data = json!({
            "type": self.kind, "challenge": self.challenge, "origin": self.origin, "crossOrigin": self.crosses,
        });
        BASE64.encode(data.to_string())
    }

    fn damage(&self, bytes: &mut [u8]) {
        for byte in bytes.iter_mut().skip(self.damaged.start).take(self.damaged.len()) {
            *byte ^= 1;
        }
    }

    fn whole(&self, response: &Json) -> String {
        let id = BASE64.encode(&self.credential);
        let whole = json!({
            "id": id, "rawId": id, "type": "public-key", "response": response, "clientExtensionResults": {},
        });
        whole.to_string()
    }
}

/// A daemon with the passkey of one device.
struct Daemon {
    ceremonies: Ceremonies,
    passkeys: Passkeys,
    device: Device,
    /// The identifier of the user, as the browser has learned it.
    user: String,
}

impl Daemon {
    fn new() -> Daemon {
        let mut daemon = Daemon {
            ceremonies: Ceremonies::default(),
            passkeys: Passkeys::default(),
            device: Device::new(1),
            user: String::new(),
        };
        let demands = daemon.demands();
        let told: Json = serde_json::from_str(&demands).unwrap();
        daemon.user = told["user"]["id"].as_str().unwrap().to_owned();
        let answer = daemon.device.make(&demands, |_| {});
        assert_eq!(daemon.add(SESSION, &answer, 0).unwrap(), 1);
        daemon
    }

    /// Returns the demands on a new passkey.
    fn demands(&mut self) -> String {
        self.ceremonies.begin_adding(&host(), SESSION, &self.passkeys, 0).unwrap()
    }

    fn add(&mut self, session: u64, answer: &str, now_ms: i64) -> Result<u64, PasskeyError> {
        self.ceremonies.finish_adding(&host(), session, &mut self.passkeys, ("laptop", answer), now_ms)
    }

    /// Returns the demands on a proof.
    fn challenge(&mut self) -> String {
        self.ceremonies.begin_login(&host(), &self.passkeys, 0).unwrap()
    }

    /// Returns a proof for a challenge of now.
    fn proof(&mut self) -> String {
        let demands = self.challenge();
        self.device.prove(&demands, &self.user, |_| {})
    }

    fn log_in(&mut self, answer: &str, now_ms: i64) -> Result<u64, PasskeyError> {
        self.ceremonies.finish_login(&host(), &mut self.passkeys, answer, now_ms)
    }

    /// Proves the passkey at once, with this count of signatures.
    fn log_in_with_count(&mut self, count: u32) -> Result<u64, PasskeyError> {
        let demands = self.challenge();
        let mut answer = self.device.answer(&demands, "webauthn.get", &self.user);
        answer.count = count;
        let answer = self.device.prove_as(&answer);
        self.log_in(&answer, 0)
    }
}

#[test]
fn passkey_logs_in_once_for_each_challenge() {
    let mut daemon = Daemon::new();
    let demands = daemon.challenge();
    let told: Json = serde_json::from_str(&demands).unwrap();
    assert_eq!((&told["rpId"], &told["userVerification"]), (&json!(DOMAIN), &json!("required")));
    let answer = daemon.device.prove(&demands, &daemon.user, |_| {});
    assert_eq!(daemon.log_in(&answer, 5).unwrap(), 1);
    assert_eq!(daemon.passkeys.all().next().unwrap().used_ms, Some(5));
    assert!(matches!(daemon.log_in(&answer, 6), Err(PasskeyError::NoChallenge)), "a replay");
    // The stored form is enough, and the stored passkey alone.
    let kept = serde_json::to_string(&daemon.passkeys).unwrap();
    daemon.passkeys = serde_json::from_str(&kept).unwrap();
    assert_eq!(daemon.log_in_with_count(0).unwrap(), 1);
    let answer = daemon.proof();
    assert!(daemon.passkeys.remove(1));
    assert!(matches!(daemon.log_in(&answer, 7), Err(PasskeyError::Unknown)), "a removed passkey");
    assert!(matches!(
        daemon.ceremonies.begin_login(&host(), &daemon.passkeys, 0),
        Err(PasskeyError::Unknown)
    ));
}

#[test]
fn lying_browser_adds_no_passkey() {
    let own: &[Lie] = &[
        ("the other ceremony", |it| it.kind = "webauthn.get"),
        ("no new key", |it| it.flags &= !NEW),
        ("damaged CBOR", |it| it.damaged = 0..1),
        ("a damaged format", |it| it.damaged = 6..7),
        ("a key that is no point of the curve", |it| it.damaged = 190..194),
    ];
    for (what, lie) in LIES.iter().chain(own) {
        let mut daemon = Daemon::new();
        let device = Device::new(2);
        let demands = daemon.demands();
        let answer = device.make(&demands, *lie);
        assert!(daemon.add(SESSION, &answer, 0).is_err(), "{what}");
        assert_eq!(daemon.passkeys.all().count(), 1, "{what}");
    }
}

#[test]
fn lying_browser_is_not_let_in() {
    let own: &[Lie] = &[
        ("the other ceremony", |it| it.kind = "webauthn.create"),
        ("another passkey", |it| it.credential = vec![9; 32]),
        ("another user", |it| it.user = BASE64.encode([9; 16])),
        ("no user", |it| it.user = String::new()),
        ("a damaged signature", |it| it.damaged = 8..9),
        ("a signature that is none", |it| it.damaged = 0..80),
    ];
    for (what, lie) in LIES.iter().chain(own) {
        let mut daemon = Daemon::new();
        let demands = daemon.challenge();
        let answer = daemon.device.prove(&demands, &daemon.user, *lie);
        assert!(daemon.log_in(&answer, 0).is_err(), "{what}");
        assert_eq!(daemon.passkeys.all().next().unwrap().used_ms, None, "{what}");
    }
    // A wrong answer uses its challenge up.
    let mut daemon = Daemon::new();
    let demands = daemon.challenge();
    let wrong = daemon.device.prove(&demands, &daemon.user, |it| it.origin.push('/'));
    assert!(matches!(daemon.log_in(&wrong, 0), Err(PasskeyError::Login(_))));
    let right = daemon.device.prove(&demands, &daemon.user, |_| {});
    assert!(matches!(daemon.log_in(&right, 0), Err(PasskeyError::NoChallenge)));
    let demands = daemon.challenge();
    let foreign = Device { credential: daemon.device.credential.clone(), ..Device::new(3) };
    let answer = foreign.prove(&demands, &daemon.user, |_| {});
    assert!(matches!(daemon.log_in(&answer, 0), Err(PasskeyError::Login(_))), "another key");
}

#[test]
fn challenge_is_for_its_session_host_and_time() {
    const LONG: i64 = CHALLENGE_TIMEOUT_MS as i64;
    let other = PasskeyHost { domain: "almoner.example".to_owned(), origin: host().origin };
    let device = Device::new(2);
    for (what, session, now, expected) in [
        ("in time", SESSION, LONG - 1, true),
        ("too late", SESSION, LONG, false),
        ("before its time", SESSION, -LONG, false),
        ("another session", SESSION + 1, 0, false),
    ] {
        let mut daemon = Daemon::new();
        let answer = device.make(&daemon.demands(), |_| {});
        assert_eq!(daemon.add(session, &answer, now).is_ok(), expected, "{what}");
        let answer = daemon.proof();
        if session == SESSION {
            assert_eq!(daemon.log_in(&answer, now).is_ok(), expected, "{what}");
        }
    }
    let mut daemon = Daemon::new();
    let answer = device.make(&daemon.demands(), |_| {});
    let named = ("laptop", answer.as_str());
    let added = daemon.ceremonies.finish_adding(&other, SESSION, &mut daemon.passkeys, named, 0);
    assert!(matches!(added, Err(PasskeyError::NoChallenge)), "another host");
    let answer = daemon.proof();
    assert!(
        daemon.ceremonies.finish_login(&other, &mut daemon.passkeys, &answer, 0).is_err(),
        "another host"
    );
    let answer = daemon.proof();
    daemon.ceremonies = Ceremonies::default();
    assert!(matches!(daemon.log_in(&answer, 0), Err(PasskeyError::NoChallenge)), "another daemon");
}

#[test]
fn passkey_whose_counter_does_not_grow_is_refused() {
    let mut daemon = Daemon::new();
    for (count, expected) in
        [(0, true), (0, true), (5, true), (5, false), (4, false), (0, false), (6, true), (u32::MAX, true)]
    {
        assert_eq!(daemon.log_in_with_count(count).is_ok(), expected, "{count}");
    }
}

#[test]
fn passkeys_challenges_and_wrong_tries_are_limited() {
    let mut daemon = Daemon::new();
    let demands = daemon.demands();
    let told: Json = serde_json::from_str(&demands).unwrap();
    assert_eq!(told["excludeCredentials"][0]["id"], json!(BASE64.encode(&daemon.device.credential)));
    assert_eq!(told["user"]["id"], json!(daemon.user));
    // A browser that must enforce this refuses a device that does not know it.
    assert!(told["extensions"]["enforceCredentialProtectionPolicy"].is_null(), "{told}");
    let again = daemon.device.make(&demands, |_| {});
    assert!(matches!(daemon.add(SESSION, &again, 0), Err(PasskeyError::Known)));
    for seed in 2..=u8::try_from(MAX_PASSKEYS).unwrap() {
        let answer = Device::new(seed).make(&daemon.demands(), |_| {});
        daemon.add(SESSION, &answer, 0).unwrap();
    }
    assert!(matches!(
        daemon.ceremonies.begin_adding(&host(), SESSION, &daemon.passkeys, 0),
        Err(PasskeyError::Full)
    ));
    let all: Vec<String> = (0..=MAX_CHALLENGES).map(|_| daemon.challenge()).collect();
    assert_eq!(daemon.ceremonies.logins.len(), MAX_CHALLENGES);
    let first = daemon.device.prove(&all[0], &daemon.user, |_| {});
    assert!(matches!(daemon.log_in(&first, 0), Err(PasskeyError::NoChallenge)), "the oldest made room");
    let last = daemon.device.prove(&all[MAX_CHALLENGES], &daemon.user, |_| {});
    for _ in 1..MAX_WRONG {
        assert!(matches!(daemon.log_in("{}", 0), Err(PasskeyError::Malformed(_))));
    }
    assert!(matches!(daemon.log_in(&last, 0), Err(PasskeyError::TooMany)));
    assert_eq!(daemon.log_in(&last, WRONG_TIMEOUT_MS).unwrap(), 1, "a refused try costs no challenge");
    // A session that begins again has one challenge.
    daemon.passkeys.clear();
    for session in [1, 1, 2] {
        daemon.ceremonies.begin_adding(&host(), session, &daemon.passkeys, 0).unwrap();
    }
    assert_eq!(daemon.ceremonies.adding.len(), 2);
}

/// Checks that no damage to any byte makes a panic, and none to a proof lets anybody in.
#[test]
fn damaged_answers_are_refused_without_a_panic() {
    let mut daemon = Daemon::new();
    let device = Device::new(2);
    for at in 0..250 {
        daemon.passkeys = Daemon::new().passkeys;
        let mut answer = device.answer(&daemon.demands(), "webauthn.create", "");
        (answer.flags, answer.damaged) = (PRESENT | VERIFIED | NEW, at..at + 1);
        let _ = daemon.add(SESSION, &device.make_as(&answer), 0);
    }
    let mut daemon = Daemon::new();
    for at in 0..64 {
        let demands = daemon.challenge();
        let mut answer = daemon.device.answer(&demands, "webauthn.get", &daemon.user);
        answer.damaged = at..at + 1;
        let whole = daemon.device.prove_as(&answer);
        daemon.ceremonies.wrong.clear();
        assert!(daemon.log_in(&whole, 0).is_err(), "{at}");
    }
    // An answer that ends too early is none.
    let (demands, proof) = (daemon.demands(), daemon.proof());
    let made = device.make(&demands, |_| {});
    for end in 0..proof.len().max(made.len()) {
        daemon.ceremonies.wrong.clear();
        let part = |text: &str| text.get(..end.min(text.len() - 1)).unwrap_or("").to_owned();
        assert!(daemon.add(SESSION, &part(&made), 0).is_err(), "{end}");
        assert!(daemon.log_in(&part(&proof), 0).is_err(), "{end}");
    }
}
