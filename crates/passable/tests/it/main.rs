//! Integration tests, in one binary because linking is slow.

mod arbitrary;
mod differential;
mod hostile;
mod interface;
mod laws;
mod projections;
mod schema;
mod syntax;
mod vectors;
