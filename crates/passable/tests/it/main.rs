//! Integration tests, in one binary because linking is slow.

mod differential;
mod vectors;
