//! The challenge of a server that wants a login: the header `WWW-Authenticate`.

/// The parameters of a challenge of the scheme `Bearer`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// The addresses of the document about the server's logins. There should be one at most.
    pub resource_metadata: Vec<String>,
    /// The scope that the request needs.
    pub scope: Option<String>,
    /// The code of the error, such as `invalid_token` or `insufficient_scope`.
    pub error: Option<String>,
}

impl Challenge {
    /// Reads the challenge of the scheme `Bearer` in a header, which may hold challenges of other schemes too.
    #[must_use]
    pub fn parse(header: &str) -> Option<Challenge> {
        let mut challenge = None;
        let mut rest = header;
        while let Some((word, after)) = next_word(rest) {
            rest = after;
            let Word::Parameter(name, value) = word else {
                let Word::Scheme(name) = word else { continue };
                // The parameters of another scheme follow, and are none of ours.
                match (name.eq_ignore_ascii_case("bearer"), &challenge) {
                    (true, None) => challenge = Some(Challenge::default()),
                    (_, Some(_)) => break,
                    (false, None) => {}
                }
                continue;
            };
            let Some(found) = &mut challenge else { continue };
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => found.resource_metadata.push(value),
                "scope" => found.scope = Some(value),
                "error" => found.error = Some(value),
                _ => {}
            }
        }
        challenge
    }
}

enum Word<'a> {
    Scheme(&'a str),
    Parameter(&'a str, String),
}

/// Returns the next scheme or parameter, and the text after it.
fn next_word(text: &str) -> Option<(Word<'_>, &str)> {
    let text = text.trim_start_matches([' ', '\t', ',']);
    let end = text.find([' ', '\t', ',', '=']).unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    if name.is_empty() {
        // A stray sign: the rest is read from behind it.
        let mut chars = text.chars();
        chars.next()?;
        return Some((Word::Scheme(""), chars.as_str()));
    }
    let Some(value) = after.trim_start().strip_prefix('=') else {
        return Some((Word::Scheme(name), after));
    };
    let value = value.trim_start();
    // Some servers take the other mark.
    let mark = value.chars().next().filter(|mark| ['"', '\''].contains(mark));
    let Some((mark, quoted)) = mark.and_then(|mark| Some((mark, value.strip_prefix(mark)?))) else {
        let end = value.find([',', ' ', '\t']).unwrap_or(value.len());
        let (value, after) = value.split_at(end);
        return Some((Word::Parameter(name, value.to_owned()), after));
    };
    let (mut out, mut chars) = (String::new(), quoted.chars());
    while let Some(c) = chars.next() {
        match c {
            c if c == mark => return Some((Word::Parameter(name, out), chars.as_str())),
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    Some((Word::Parameter(name, out), ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers write the header in these ways (QwenLM/qwen-code#5343, getsentry/sentry-mcp#939,
    /// modelcontextprotocol/python-sdk#1054).
    #[test]
    fn challenges_are_read_in_every_notation() {
        let metadata =
            |header: &str| Challenge::parse(header).map(|found| found.resource_metadata).unwrap_or_default();
        let expected = ["https://a.example/.well-known/x"];
        for header in [
            "Bearer resource_metadata=\"https://a.example/.well-known/x\"",
            "bearer error=\"invalid_token\", resource_metadata=\"https://a.example/.well-known/x\"",
            "Bearer realm=\"a, b=c\",resource_metadata=https://a.example/.well-known/x, scope=\"a b\"",
            "Basic realm=\"x\", Bearer resource_metadata = \"https://a.example/.well-known/x\"",
            "Bearer resource_metadata='https://a.example/.well-known/x', error=invalid_token",
            "Bearer error_description=\"say \\\"hi\\\"\", resource_metadata=\"https://a.example/.well-known/x\"",
        ] {
            assert_eq!(metadata(header), expected, "{header}");
        }
        for header in
            ["", "Basic resource_metadata=\"https://b.example\"", "=", "Bearer", "Bearer =,=\"", "\""]
        {
            assert!(metadata(header).is_empty(), "{header}");
        }
        let twice = metadata(
            "Bearer resource_metadata=\"https://a.example\", resource_metadata=\"https://b.example\"",
        );
        assert_eq!(twice, ["https://a.example", "https://b.example"]);
        let found = Challenge::parse("Bearer scope=\"files:read files:write\", error=\"insufficient_scope\"");
        assert_eq!(found.unwrap().scope.as_deref(), Some("files:read files:write"));
        // A parameter behind another scheme is that scheme's.
        assert!(metadata("Bearer scope=a, DPoP resource_metadata=\"https://b.example\"").is_empty());
    }
}
