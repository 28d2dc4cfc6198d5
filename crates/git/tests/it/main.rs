//! Repositories, as they are looked at and changed. They are made by git itself, which these tests need.
#![allow(clippy::disallowed_methods, reason = "these tests set up and look at files from outside")]

#[cfg(test)]
mod changes;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod looks;
mod test_repository;
