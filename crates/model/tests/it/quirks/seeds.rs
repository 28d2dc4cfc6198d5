//! The formats of servers, and the seeds that a test plays for each.

use std::time::{Duration, Instant, SystemTime};

/// The formats, with a reference to a server of each. `URL` stands for its address.
pub(crate) const FORMATS: [(&str, &str); 5] = [
    ("chat", "compat:URL/v1#m"),
    ("responses", "openai-responses:URL/v1#m"),
    ("anthropic", "anthropic:URL#m"),
    ("gemini", "gemini:URL#m"),
    ("ollama", "ollama:URL#m"),
];

/// The seeds that a test plays.
#[derive(Clone, Copy)]
pub(crate) struct Seeds {
    first: u64,
    count: u64,
    until: Instant,
}

impl Seeds {
    /// Returns `usual` seeds, unless the environment asks for others.
    ///
    /// `ALMONER_QUIRK_SEED` names the only one. With `ALMONER_QUIRK_SECONDS`, the test goes on for that long, from a
    /// seed that is new each time.
    pub(crate) fn from_env(usual: u64) -> Self {
        let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let (seconds, only) = (setting("ALMONER_QUIRK_SECONDS"), setting("ALMONER_QUIRK_SEED"));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
        let (first, count) = match (only, seconds) {
            (Some(seed), _) => (seed, 1),
            (None, Some(_)) => (now, u64::MAX),
            (None, None) => (0, usual),
        };
        Self { first, count, until: Instant::now() + Duration::from_secs(seconds.unwrap_or(3600)) }
    }

    /// Plays the seeds, one after the other, until the time is over.
    pub(crate) fn play(self, mut play: impl FnMut(u64)) {
        for number in 0..self.count {
            if Instant::now() > self.until {
                break;
            }
            play(self.first.wrapping_add(number));
        }
    }
}
