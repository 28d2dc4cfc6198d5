//! Values of the engine as passable values, and back.

pub(crate) mod inward;
pub(crate) mod kit;
pub(crate) mod outward;
pub(crate) mod raw;
