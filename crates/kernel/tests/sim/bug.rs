//! Bugs that are planted to see that the laws find them.

use kernel::env::Env;

#[cfg(feature = "planted")]
pub(crate) use kernel::planted::Bug;

/// The bug that is planted in the kernel, if one is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Planted {
    #[cfg(feature = "planted")]
    bug: Option<Bug>,
}

impl Planted {
    pub(crate) const NONE: Planted = Planted {
        #[cfg(feature = "planted")]
        bug: None,
    };

    #[cfg(feature = "planted")]
    pub(crate) fn bug(bug: Bug) -> Planted {
        Planted { bug: Some(bug) }
    }

    #[cfg(feature = "planted")]
    pub(crate) fn env(self, now_ms: i64, entropy: [u8; 32]) -> Env {
        let env = Env::new(now_ms, entropy);
        match self.bug {
            Some(bug) => env.with_planted(bug),
            None => env,
        }
    }

    #[cfg(not(feature = "planted"))]
    pub(crate) fn env(self, now_ms: i64, entropy: [u8; 32]) -> Env {
        Env::new(now_ms, entropy)
    }
}
