//! Tokens for the gateway. With a token, a user of this machine logs a client in once.
//!
//! Tokens are kept in memory alone and expire: a user whose token is too old asks for another.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use kernel::FormulaId;

/// The time until a token expires.
pub const TOKEN_TIMEOUT: Duration = Duration::from_secs(300);

/// The maximum number of unused tokens. Beyond this number, the oldest token is dropped.
const MAX_TOKENS: usize = 64;

/// The number of random bytes in a token.
const TOKEN_BYTES: usize = 32;

/// The unused tokens, and the address of the gateway.
#[derive(Default)]
pub struct GatewayTokens {
    /// The address on which the gateway listens, if there is a gateway.
    gateway: OnceLock<SocketAddr>,
    waiting: Mutex<Vec<GatewayToken>>,
}

/// A token that was issued. Only its hash is kept.
struct GatewayToken {
    hash: blake3::Hash,
    agent: FormulaId,
    until: Instant,
}

impl GatewayTokens {
    fn waiting(&self) -> MutexGuard<'_, Vec<GatewayToken>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the address on which the gateway listens. Only the first call counts.
    pub fn set_gateway(&self, gateway: SocketAddr) {
        let _ = self.gateway.set(gateway);
    }

    /// Returns the address on which the gateway listens, if there is a gateway.
    pub fn gateway(&self) -> Option<SocketAddr> {
        self.gateway.get().copied()
    }

    /// Issues a token for an agent. The token is the hexadecimal form of the random bytes.
    pub fn issue(&self, agent: FormulaId, random: [u8; TOKEN_BYTES], now: Instant) -> String {
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut waiting = self.waiting();
        waiting.retain(|pass| pass.until > now);
        if waiting.len() >= MAX_TOKENS {
            waiting.remove(0);
        }
        waiting.push(GatewayToken {
            hash: blake3::hash(token.as_bytes()),
            agent,
            until: now + TOKEN_TIMEOUT,
        });
        token
    }

    /// Redeems a token and returns its agent. The token cannot be used again.
    pub fn redeem(&self, token: &str, now: Instant) -> Option<FormulaId> {
        // Hashes are compared in constant time. The time of a comparison does not tell how much of a token was right.
        let hash = blake3::hash(token.as_bytes());
        let mut waiting = self.waiting();
        waiting.retain(|pass| pass.until > now);
        let at = waiting.iter().position(|pass| pass.hash == hash)?;
        Some(waiting.remove(at).agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(n: u8) -> FormulaId {
        FormulaId { number: [n; 32], node: [0; 32] }
    }

    #[test]
    fn token_is_redeemed_once_before_its_expiry() {
        let (passes, now) = (GatewayTokens::default(), Instant::now());
        let token = passes.issue(agent(1), [7; 32], now);
        assert_eq!(token.len(), 64);
        for wrong in ["", "07", &token[..63], &token.to_uppercase().replace('0', "1"), &format!("{token} ")] {
            assert_eq!(passes.redeem(wrong, now), None, "{wrong}");
        }
        assert_eq!(passes.redeem(&token, now), Some(agent(1)));
        assert_eq!(passes.redeem(&token, now), None);
        let late = passes.issue(agent(2), [8; 32], now);
        assert_eq!(passes.redeem(&late, now + TOKEN_TIMEOUT), None);
    }

    #[test]
    fn oldest_token_is_dropped_over_the_limit() {
        let (passes, now) = (GatewayTokens::default(), Instant::now());
        let tokens: Vec<String> =
            (0..=MAX_TOKENS).map(|n| passes.issue(agent(n as u8), [n as u8; 32], now)).collect();
        assert_eq!(passes.redeem(&tokens[0], now), None);
        assert_eq!(passes.redeem(&tokens[1], now), Some(agent(1)));
        assert_eq!(passes.redeem(&tokens[MAX_TOKENS], now), Some(agent(MAX_TOKENS as u8)));
    }
}
