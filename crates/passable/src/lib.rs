//! passable
