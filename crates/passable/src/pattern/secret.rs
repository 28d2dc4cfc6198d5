//! Secrets: text that is never shown to the side that asks for it. It can be sealed as a whole, never as a part of
//! another value.

use super::{Matcher, Pattern, Refinement};
use crate::value::Reference;

/// Where a pattern asks for a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    /// Nowhere.
    None,
    /// The whole value is one, or is left out: it can be sealed.
    Whole,
    /// A part of the value is a secret, or only some of the matching values are. Such a value cannot be sealed, and
    /// would be shown.
    Part,
}

impl<C: Reference> Pattern<C> {
    /// Returns where the pattern asks for a secret.
    ///
    /// ```
    /// use passable::{Pattern, Secrecy};
    /// let of = |text: &str| Pattern::<passable::NoRef>::parse(text).map(|pattern| pattern.secrecy());
    /// assert_eq!(of("M.opt(M.and(M.string(), M.refine('secret')))")?, Secrecy::Whole);
    /// assert_eq!(of("M.arrayOf(M.refine('secret'))")?, Secrecy::Part);
    /// assert_eq!(of("M.arrayOf(M.string())")?, Secrecy::None);
    /// # Ok::<(), passable::PatternError>(())
    /// ```
    pub fn secrecy(&self) -> Secrecy {
        if is_secret(self) {
            Secrecy::Whole
        } else if asks(self) {
            Secrecy::Part
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
            ("M.refine('secret')", Secrecy::Whole),
            ("M.and(M.refine('date'), M.refine('secret'))", Secrecy::Whole),
            ("M.and(M.string(), M.and(M.string(), M.refine('secret')))", Secrecy::Whole),
            ("M.opt(M.opt(M.refine('secret')))", Secrecy::Whole),
            ("M.or(M.refine('secret'), M.number())", Secrecy::Part),
            ("M.or(M.refine('secret'), M.number(), M.undefined())", Secrecy::Part),
            ("M.not(M.refine('secret'))", Secrecy::Part),
            ("[M.string(), M.refine('secret')]", Secrecy::Part),
            ("{ user: M.string(), password: M.opt(M.refine('secret')) }", Secrecy::Part),
            ("makeCopyMap([['a', M.refine('secret')]])", Secrecy::Part),
            ("M.tagged('t', M.refine('secret'))", Secrecy::Part),
            ("M.tagged(M.refine('secret'), M.any())", Secrecy::Part),
            ("M.arrayOf(M.refine('secret'))", Secrecy::Part),
            ("M.setOf(M.refine('secret'))", Secrecy::Part),
            ("M.bagOf(M.refine('secret'), M.any())", Secrecy::Part),
            ("M.bagOf(M.any(), M.refine('secret'))", Secrecy::Part),
            ("M.mapOf(M.refine('secret'), M.any())", Secrecy::Part),
            ("M.mapOf(M.any(), M.refine('secret'))", Secrecy::Part),
            ("M.recordOf(M.refine('secret'), M.any())", Secrecy::Part),
            ("M.recordOf(M.any(), M.refine('secret'))", Secrecy::Part),
            ("M.containerHas(M.refine('secret'))", Secrecy::Part),
            ("M.splitArray([M.refine('secret')])", Secrecy::Part),
            ("M.splitArray([], [M.refine('secret')])", Secrecy::Part),
            ("M.splitArray([], [], M.arrayOf(M.refine('secret')))", Secrecy::Part),
            ("M.splitRecord({ a: M.refine('secret') })", Secrecy::Part),
            ("M.splitRecord({}, { a: M.refine('secret') })", Secrecy::Part),
            ("M.splitRecord({}, {}, M.recordOf(M.any(), M.refine('secret')))", Secrecy::Part),
            ("M.and(M.arrayOf(M.any()), M.not(M.arrayOf(M.refine('secret'))))", Secrecy::Part),
            ("M.any()", Secrecy::None),
            ("{ a: M.string(), b: M.refine('date') }", Secrecy::None),
            ("'secret'", Secrecy::None),
        ] {
            assert_eq!(Pattern::<crate::NoRef>::parse(pattern).unwrap().secrecy(), expected, "{pattern}");
        }
    }
}
