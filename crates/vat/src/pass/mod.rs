//! The conversion between the engine's values and passable values.

pub(crate) mod inward;
pub(crate) mod kit;
pub(crate) mod outward;
pub(crate) mod raw;
