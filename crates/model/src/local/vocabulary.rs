//! vocabulary
