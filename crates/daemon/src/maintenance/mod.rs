//! Work that no client waits for: garbage collection, timers and notifications.

pub mod blob_sweeper;
pub mod collector;
pub mod notifier;
pub mod timers;
