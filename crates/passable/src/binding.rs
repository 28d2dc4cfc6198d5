//! The names under which code can be given values.

/// The maximum number of bytes of such a name.
const MAX_LEN: usize = 128;

/// The words that cannot be names in code.
const RESERVED: &[&str] = &[
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "NaN",
    "Infinity",
    "globalThis",
];

/// Returns whether a value can have this name in code, as a constant in strict mode. Only plain ASCII characters are
/// allowed, so that no two names look alike.
pub fn is_binding(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
        && name.len() <= MAX_LEN
        && !RESERVED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binding_names_are_plain_and_not_reserved() {
        for (name, expected) in [
            ("counter", true),
            ("$x_1", true),
            ("E", true),
            ("eval", false),
            ("static", false),
            ("undefined", false),
            ("1a", false),
            ("", false),
            ("a b", false),
            ("наме", false),
        ] {
            assert_eq!(is_binding(name), expected, "{name:?}");
        }
        assert!(is_binding(&"a".repeat(MAX_LEN)) && !is_binding(&"a".repeat(MAX_LEN + 1)));
    }
}
