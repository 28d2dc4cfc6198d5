//! The guards of durable values: patterns of values, and interfaces whose methods take them.

use super::id::FormulaId;

/// A pattern of durable values.
pub type Pattern = passable::Pattern<FormulaId>;

/// An interface whose arguments are durable values.
pub type Interface = passable::Interface<FormulaId>;

/// A method whose arguments are durable values.
pub type Method = passable::Method<FormulaId>;

/// A parameter of a [`Method`].
pub type Param = passable::Param<FormulaId>;
