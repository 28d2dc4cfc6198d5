//! CapTP without a network: frames, sessions by the message, two sessions with each other, and hostile input.

mod frames;
mod fuzz;
mod pair;
mod talk;
