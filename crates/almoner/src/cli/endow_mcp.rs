//! `-e SLOT=mcp:NAME[TOOL,TOOL:reads][?max=1MiB&time=60s]`.

use passable::Effect;

use control::endowment::McpFill;
use control::exit::{Exit, Failure};

/// What stands before the name of a server.
pub(super) const PREFIX: &str = "mcp:";

/// Reads what follows `mcp:`.
///
/// # Errors
/// When it is not written as it should be, or names no tools.
pub(super) fn parse(text: &str) -> Result<McpFill, Failure> {
    let server = text.split(['[', '?']).next().unwrap_or_default();
    let wrong = |what: String| {
        let tools = match super::mcp::is_name(server) {
            true => format!("; `almoner mcp tools {server}` shows what there is"),
            false => String::new(),
        };
        Failure::new(Exit::Usage, format!("{PREFIX}{text}: {what}"))
            .help(format!("write SLOT=mcp:NAME[TOOL,TOOL:reads]?max=1MiB&time=60s{tools}"))
    };
    if !super::mcp::is_name(server) {
        return Err(wrong("there is no name of a server".to_owned()));
    }
    let rest = &text[server.len()..];
    let Some((tools, query)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return Err(wrong("it names no tools, and all of them are never handed over".to_owned()));
    };
    let mut fill =
        McpFill { server: server.to_owned(), tools: vec![], max_bytes: None, call_ms: None, rate: None };
    for tool in tools.split(',').map(str::trim).filter(|tool| !tool.is_empty()) {
        let (name, effect) = match tool.rsplit_once(':') {
            Some((name, "reads")) => (name, Effect::Observe),
            Some((name, "changes")) => (name, Effect::Modify),
            Some((name, "sends")) => (name, Effect::Commit),
            // Whatever a server says of it: what nobody has vouched for cannot be undone.
            _ => (tool, Effect::Commit),
        };
        if name.contains('*') {
            return Err(wrong("tools are named one by one".to_owned()));
        }
        if fill.tools.iter().any(|(other, _)| other == name) {
            return Err(wrong(format!("`{name}` stands there twice")));
        }
        fill.tools.push((name.to_owned(), effect));
    }
    if fill.tools.is_empty() {
        return Err(wrong("it names no tools, and all of them are never handed over".to_owned()));
    }
    let query = match (query, query.strip_prefix('?')) {
        ("", _) => "",
        (_, Some(query)) => query,
        _ => return Err(wrong("after `]` only `?` can follow".to_owned())),
    };
    for part in query.split('&').filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("max", size)) => {
                let bytes = worker::definition::parse_bytes(size).filter(|bytes| *bytes > 0);
                fill.max_bytes =
                    Some(bytes.ok_or_else(|| wrong("`max` is written like `10MiB`".to_owned()))?);
            }
            Some(("time", time)) => {
                let ms =
                    worker::definition::parse_duration_ms(time).filter(|ms| (1..=3_600_000).contains(ms));
                fill.call_ms = Some(
                    ms.ok_or_else(|| wrong("`time` is written like `90s`, at most an hour".to_owned()))?,
                );
            }
            Some(("rate", rate)) => fill.rate = Some(super::rate::parse(rate).map_err(wrong)?),
            _ => return Err(wrong("after `?` only `max=`, `time=` and `rate=` are known".to_owned())),
        }
    }
    Ok(fill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_named_and_sending_is_what_nobody_has_vouched_for() {
        let fill =
            parse("github[list_issues:reads, create_issue,label:changes,a:b]?max=2MiB&time=5s").unwrap();
        assert_eq!(fill.server, "github");
        let tools: Vec<_> = fill.tools.iter().map(|(name, effect)| (name.as_str(), *effect)).collect();
        assert_eq!(
            tools,
            [
                ("list_issues", Effect::Observe),
                ("create_issue", Effect::Commit),
                ("label", Effect::Modify),
                ("a:b", Effect::Commit)
            ]
        );
        assert_eq!((fill.max_bytes, fill.call_ms), (Some(2 << 20), Some(5000)));
    }

    #[test]
    fn nothing_is_handed_over_as_a_whole() {
        for bad in [
            "",
            "github",
            "github[]",
            "github[*]",
            "github[list_*]",
            "github[a,a]",
            "github[a",
            "[a]",
            "git hub[a]",
            "github[a]x",
            "github[a]?colour=red",
            "github[a]?max=lots",
            "github?max=1",
        ] {
            let failure = parse(bad).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{bad}");
            assert!(failure.help.contains("mcp:NAME[TOOL"), "{bad}");
        }
    }
}
