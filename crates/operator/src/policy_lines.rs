//! The line numbers of places in a policy file.

/// Returns the line of a byte offset, from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// Returns the lines on which the policies of a text begin, in their order. A policy ends with the only `;` that it
/// has outside of strings and comments.
pub(crate) fn starts(text: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    let (mut line, mut inside) = (1, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => line += 1,
            c if c.is_whitespace() => {}
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|c| *c != '\n').is_some() {},
            ';' => inside = false,
            c => {
                if !inside {
                    inside = true;
                    lines.push(line);
                }
                if c == '"' {
                    while let Some(c) = chars.next() {
                        match c {
                            '"' => break,
                            '\n' => line += 1,
                            '\\' => {
                                line += usize::from(chars.next() == Some('\n'));
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{line_of, starts};

    #[test]
    fn policy_lines_begin_at_first_token() {
        for (text, expected) in [
            ("", &[][..]),
            ("// nothing; here\n", &[]),
            ("permit(principal, action, resource);", &[1]),
            ("\n// why; \"\n@id(\"a;b\")\nforbid(\n) ; permit();\n\npermit() // \";\n;", &[3, 5, 7]),
            ("@reason(\"two\nlines \\\"; \\\n\")\nforbid();\nforbid();", &[1, 5]),
            ("@reason(\"never closed;\nforbid();", &[1]),
        ] {
            assert_eq!(starts(text), expected, "{text}");
        }
    }

    #[test]
    fn line_numbers_start_at_one() {
        assert_eq!([0, 1, 2, 99].map(|offset| line_of("a\nb\n", offset)), [1, 1, 2, 3]);
    }
}
