//! Names by which code can be given something.

/// The most bytes of such a name.
const MAX_LEN: usize = 128;

/// Words that cannot name anything in code.
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

/// Returns whether something can have this name in code: a constant of strict code, in plain letters, so that no two
/// look alike.
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
