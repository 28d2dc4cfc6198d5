//! Ports for servers that other programs start.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns a port on which nothing listens. It lies below the ports that the system hands out, so that no test which asks
/// the system for a port gets it meanwhile.
pub(crate) fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(7).wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
    let ports = (0..10_000).map(|step| 20_000 + u16::try_from(first.wrapping_add(step) % 10_000).unwrap());
    ports.into_iter().find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}
