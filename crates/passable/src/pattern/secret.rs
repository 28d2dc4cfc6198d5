//! Secrets: text that is never shown to the side that asks for it. A secret can be sealed as a whole, but not as a
//! part of another value.

use super::{Matcher, Pattern, Refinement};
use crate::value::Reference;

/// The part of a pattern that asks for a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    /// No part.
    None,
    /// The whole pattern. The value is a secret that can be sealed, or is left out.
    Full,
    /// Only a part of the pattern. A part of the value is a secret, or only some of the matching values are secrets.
    /// Such a value cannot be sealed, and would be shown.
    Partial,
}

impl<C: Reference> Pattern<C> {
    /// Returns the part of the pattern that asks for a secret.
    ///
    /// ```
    /// use passable::{Pattern, Secrecy};
    /// let of = |text: &str| Pattern::<passable::NoRef>::parse(text).map(|pattern| pattern.secrecy());
    /// assert_eq!(of("M.opt(M.and(M.string(), M.refine('secret')))")?, Secrecy::Full);
    /// assert_eq!(of("M.arrayOf(M.refine('secret'))")?, Secrecy::Partial);
    /// assert_eq!(of("M.arrayOf(M.string())")?, Secrecy::None);
    /// # Ok::<(), passable::PatternError>(())
    /// ```
    pub fn secrecy(&self) -> Secrecy {
        if is_secret(self) {
            Secrecy::Full
        } else if asks(self) {
            Secrecy::Partial
        } else {
            Secrecy::None
        }
    }
}

/// Returns whether the whole value is a secret, unless it is left out.
pub(super) fn is_secret<C: Reference>(pattern: &Pattern<C>) -> bool {
    match pattern.matcher() {
        Matcher::Refine(refinement) => *refinement == Refinement::Secret,
        Matcher::And(parts) => parts.iter().any(is_secret),
        _ => pattern.as_optional().is_some_and(is_secret),
    }
}

fn asks<C: Reference>(pattern: &Pattern<C>) -> bool {
    is_secret(pattern) || pattern.parts().into_iter().any(asks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_found_in_every_part_of_a_pattern() {
        for (pattern, expected) in [
            ("M.refine('secret')", Secrecy::Full),
            ("M.and(M.refine('date'), M.refine('secret'))", Secrecy::Full),
            ("M.and(M.string(), M.and(M.string(), M.refine('secret')))", Secrecy::Full),
            ("M.opt(M.opt(M.refine('secret')))", Secrecy::Full),
            ("M.or(M.refine('secret'), M.number())", Secrecy::Partial),
            ("M.or(M.refine('secret'), M.number(), M.undefined())", Secrecy::Partial),
            ("M.not(M.refine('secret'))", Secrecy::Partial),
            ("[M.string(), M.refine('secret')]", Secrecy::Partial),
            ("{ user: M.string(), password: M.opt(M.refine('secret')) }", Secrecy::Partial),
            ("makeCopyMap([['a', M.refine('secret')]])", Secrecy::Partial),
            ("M.tagged('t', M.refine('secret'))", Secrecy::Partial),
            ("M.tagged(M.refine('secret'), M.any())", Secrecy::Partial),
            ("M.arrayOf(M.refine('secret'))", Secrecy::Partial),
            ("M.setOf(M.refine('secret'))", Secrecy::Partial),
            ("M.bagOf(M.refine('secret'), M.any())", Secrecy::Partial),
            ("M.bagOf(M.any(), M.refine('secret'))", Secrecy::Partial),
            ("M.mapOf(M.refine('secret'), M.any())", Secrecy::Partial),
            ("M.mapOf(M.any(), M.refine('secret'))", Secrecy::Partial),
            ("M.recordOf(M.refine('secret'), M.any())", Secrecy::Partial),
            ("M.recordOf(M.any(), M.refine('secret'))", Secrecy::Partial),
            ("M.containerHas(M.refine('secret'))", Secrecy::Partial),
            ("M.splitArray([M.refine('secret')])", Secrecy::Partial),
            ("M.splitArray([], [M.refine('secret')])", Secrecy::Partial),
            ("M.splitArray([], [], M.arrayOf(M.refine('secret')))", Secrecy::Partial),
            ("M.splitRecord({ a: M.refine('secret') })", Secrecy::Partial),
            ("M.splitRecord({}, { a: M.refine('secret') })", Secrecy::Partial),
            ("M.splitRecord({}, {}, M.recordOf(M.any(), M.refine('secret')))", Secrecy::Partial),
            ("M.and(M.arrayOf(M.any()), M.not(M.arrayOf(M.refine('secret'))))", Secrecy::Partial),
            ("M.any()", Secrecy::None),
            ("{ a: M.string(), b: M.refine('date') }", Secrecy::None),
            ("'secret'", Secrecy::None),
        ] {
            assert_eq!(Pattern::<crate::NoRef>::parse(pattern).unwrap().secrecy(), expected, "{pattern}");
        }
    }
}
