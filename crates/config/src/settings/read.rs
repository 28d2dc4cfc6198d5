//! The parser of `config.toml`.

use passable::visible_line;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use worker::definition::nearest;

use super::{Mcp, Notify, Settings, models, network, web};

/// The maximum number of parts of a command.
const MAX_PARTS: usize = 64;

/// The placeholders that a command may contain, in braces.
pub(super) const PLACES: [&str; 4] = ["text", "number", "count", "url"];

/// An error in the text of a settings file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SettingsError {
    /// The line of the error, counted from 1.
    pub(super) line: Option<usize>,
    /// The error as text that is safe to show.
    pub(super) what: String,
    /// The advice to the user.
    pub(super) help: String,
}

/// The text of a settings file, from which the line of an error is found.
pub(super) struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a str) -> Text<'a> {
        Text(text)
    }

    /// Returns the top-level sections of the text.
    pub(super) fn sections(&self) -> Result<Spanned<DeTable<'a>>, SettingsError> {
        DeTable::parse(self.0).map_err(|error| {
            let what = format!("this is not TOML: {}", visible_line(error.message()));
            let help = "docs/settings.md has an example";
            match error.span() {
                Some(span) => self.trouble(span.start, what, help),
                None => SettingsError { line: None, what, help: help.to_owned() },
            }
        })
    }

    pub(super) fn trouble(
        &self,
        at: usize,
        what: impl Into<String>,
        help: impl Into<String>,
    ) -> SettingsError {
        let before = self.0.as_bytes().iter().take(at);
        let line = before.filter(|byte| **byte == b'\n').count() + 1;
        SettingsError { line: Some(line), what: what.into(), help: help.into() }
    }

    pub(super) fn unknown(&self, at: usize, kind: &str, word: &str, known: &[&str]) -> SettingsError {
        let all: Vec<String> = known.iter().map(|known| format!("`{known}`")).collect();
        let help = match nearest(word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there is {}", all.join(", ")),
        };
        self.trouble(at, format!("unknown {kind} `{}`", visible_line(word)), help)
    }
}

/// Parses the settings. Only the first fault is reported.
pub(super) fn parse(source: &str) -> Result<Settings, SettingsError> {
    let text = Text(source);
    let table = text.sections()?;
    let mut settings = Settings::default();
    for (key, value) in table.get_ref() {
        match key.get_ref().as_ref() {
            "notify" => settings.notify = notify(&text, value)?,
            "models" => settings.models = models::read(&text, value)?,
            "web" => settings.web = Some(web::read(&text, value)?),
            "network" => settings.network = network::read(&text, value)?,
            "mcp" => settings.mcp = mcp(&text, value)?,
            other => {
                let known = ["notify", "models", "web", "network", "mcp"];
                return Err(text.unknown(key.span().start, "section", other, &known));
            }
        }
    }
    Ok(settings)
}

fn notify(text: &Text<'_>, value: &Spanned<DeValue<'_>>) -> Result<Option<Notify>, SettingsError> {
    let mut notify = None;
    for (key, value) in table(text, value, "notify")? {
        match key.get_ref().as_ref() {
            "command" => notify = Some(Notify { command: command(text, value)? }),
            other => return Err(text.unknown(key.span().start, "key", other, &["command"])),
        }
    }
    Ok(notify)
}

/// Returns the settings for servers of tools.
fn mcp(text: &Text<'_>, value: &Spanned<DeValue<'_>>) -> Result<Mcp, SettingsError> {
    let mut mcp = Mcp::default();
    for (key, value) in table(text, value, "mcp")? {
        let here = value.span().start;
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("start", DeValue::String(time)) if resource::mcp::start_ms(time).is_some() => {
                mcp.start_ms = resource::mcp::start_ms(time);
            }
            ("start", _) => {
                let what = "`start` is a time of at most an hour, as text";
                return Err(text.trouble(here, what, "start = \"120s\""));
            }
            (other, _) => return Err(text.unknown(key.span().start, "key", other, &["start"])),
        }
    }
    Ok(mcp)
}

pub(super) fn table<'a, 'b>(
    text: &Text<'_>,
    value: &'a Spanned<DeValue<'b>>,
    name: &str,
) -> Result<&'a DeTable<'b>, SettingsError> {
    match value.get_ref() {
        DeValue::Table(table) => Ok(table),
        _ => Err(text.trouble(
            value.span().start,
            format!("`{name}` is a section"),
            format!("write `[{name}]` on a line of its own, and what belongs to it below"),
        )),
    }
}

/// Returns the program of a notification and its arguments.
fn command(text: &Text<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, SettingsError> {
    const SHAPE: &str = "write a list of texts: command = [\"notify-send\", \"Almoner\", \"{text}\"]";
    let at = value.span().start;
    let DeValue::Array(parts) = value.get_ref() else {
        return Err(text.trouble(at, "`command` is a list: it goes to no shell", SHAPE));
    };
    if parts.is_empty() || parts.len() > MAX_PARTS {
        let what = format!("a command has 1 to {MAX_PARTS} parts, not {}", parts.len());
        return Err(text.trouble(at, what, SHAPE));
    }
    let mut command = Vec::new();
    for part in parts.iter() {
        let at = part.span().start;
        let DeValue::String(word) = part.get_ref() else {
            return Err(text.trouble(at, "a part of a command is a text", SHAPE));
        };
        if word.contains('\0') {
            return Err(text.trouble(at, "a part of a command has no NUL", SHAPE));
        }
        if let Some(odd) = places(word).find(|place| !PLACES.contains(place)) {
            return Err(text.unknown(at, "place", odd, &PLACES));
        }
        if command.is_empty() && (word.is_empty() || places(word).next().is_some()) {
            return Err(text.trouble(at, "the first part is the program", SHAPE));
        }
        command.push(word.to_string());
    }
    Ok(command)
}

/// Returns the placeholders in a text: the lowercase words in braces.
fn places(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| {
        let (word, _) = rest.split_once('}')?;
        (!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase())).then_some(word)
    })
}

/// Returns one part of a command with the values of its placeholders.
pub(super) fn filled(part: &str, values: [&str; 4]) -> String {
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    // A placeholder within a value is not replaced.
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let place = after.split_once('}').and_then(|(word, behind)| {
            let at = PLACES.iter().position(|place| *place == word)?;
            Some((at, behind))
        });
        match place {
            Some((at, behind)) => {
                out.push_str(values[at]);
                rest = behind;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

impl Notify {
    /// Returns the command with the values of its placeholders.
    pub fn filled(&self, text: &str, number: &str, count: &str, url: &str) -> Vec<String> {
        self.command.iter().map(|part| filled(part, [text, number, count, url])).collect()
    }

    /// Returns whether the command needs the address of a page.
    pub fn has_url(&self) -> bool {
        self.command.iter().any(|part| places(part).any(|place| place == "url"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_notify_command_is_read() {
        for (text, expected) in [
            ("", None),
            ("# nothing\n", None),
            ("[notify]\n", None),
            ("[notify]\ncommand = [\"a\"]", Some("a")),
            ("notify.command = [\n 'a', # it\n '{text} {x', '{}', '{A}',\n]", Some("a|{text} {x|{}|{A}")),
        ] {
            let settings = parse(text).unwrap_or_else(|trouble| panic!("{text:?}: {trouble:?}"));
            let command = settings.notify.map(|notify| notify.command.join("|"));
            assert_eq!(command.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn time_for_the_start_of_servers_is_read() {
        for (text, ms) in
            [("[mcp]\n", None), ("mcp.start = '5m'", Some(300_000)), ("[mcp]\nstart = \"90s\"", Some(90_000))]
        {
            assert_eq!(parse(text).unwrap().mcp.start_ms, ms, "{text:?}");
        }
    }

    #[test]
    fn invalid_settings_are_reported_with_line_and_help() {
        for (text, line, what, help) in [
            ("[mcp]\nstart = 60", 2, "`start` is a time", "start = \"120s\""),
            ("[mcp]\nstart = '2h'", 2, "`start` is a time", "start = \"120s\""),
            ("[mcp]\nstrat = '1m'", 2, "unknown key `strat`", "did you mean `start`?"),
            ("\n[notfy]\n", 2, "unknown section `notfy`", "did you mean `notify`?"),
            ("[a\u{202E}]", 1, "this is not TOML", "docs/settings.md"),
            ("\"a\u{202E}\" = 1", 1, "unknown section `a\\u{202E}`", "there is `notify`, `models`"),
            ("[models]\nprice = 1", 2, "unknown key `price`", "did you mean `prices`?"),
            ("[models.prices]\n\"gpt\" = {}", 2, "unknown kind of model in `gpt`", "as after `-m`"),
            ("[models.prices.\"openai:m\"]\ninput = 1", 1, "at least `input` and `output`", "output = 1.60"),
            ("[models.prices]\n\"openai:m\" = {input = -1, output = 1}", 2, "up to a million", "0.40"),
            ("[models.prices]\n\"openai:m\" = {input = nan, output = 1}", 2, "up to a million", "0.40"),
            ("[models.prices]\n\"openai:m\" = {input = '1', output = 1}", 2, "up to a million", "0.40"),
            ("[models.prices]\n\"openai:m\" = {inputs = 1, output = 1}", 2, "unknown key", "`input`"),
            ("[models]\nimages = \"ollama:m\"", 2, "`images` is a list", "[\"ollama:llava\"]"),
            ("[models]\npdfs = [\"m\"]", 2, "unknown kind of model", "as after `-m`"),
            ("[notify]\n\ncomand = []", 3, "unknown key `comand`", "did you mean `command`?"),
            ("notify = 3", 1, "`notify` is a section", "write `[notify]`"),
            ("[notify]\ncommand = \"a b\"", 2, "it goes to no shell", "write a list"),
            ("[notify]\ncommand = []", 2, "1 to 64 parts, not 0", "write a list"),
            ("[notify]\ncommand = [\"a\",\n 3]", 3, "a part of a command is a text", "write a list"),
            ("[notify]\ncommand = [\"{text}\"]", 2, "the first part is the program", "write a list"),
            ("[notify]\ncommand = [\"a\", \"{txt}\"]", 2, "unknown place `txt`", "did you mean `text`?"),
            ("[notify]\ncommand = [\"a\", \"{secret}\"]", 2, "unknown place", "there is `text`, `number`"),
            ("[notify]\ncommand = [\"a\\u0000\"]", 2, "has no NUL", "write a list"),
            ("[notify]\ncommand = [\"a\"]\ncommand = [\"b\"]", 3, "this is not TOML", "docs/settings.md"),
        ] {
            let trouble = parse(text).unwrap_err();
            assert_eq!(trouble.line, Some(line), "{text:?}: {trouble:?}");
            assert!(trouble.what.contains(what), "{text:?}: {trouble:?}");
            assert!(trouble.help.contains(help), "{text:?}: {trouble:?}");
        }
        // Even deeply nested text is refused without a crash.
        assert!(parse(&format!("a = {}", "[".repeat(20_000))).is_err());
    }

    #[test]
    fn placeholder_in_a_value_is_not_replaced() {
        let values = ["{count}", "7", "3", "http://a.example/{number}"];
        for (part, expected) in [
            ("{text}", "{count}"),
            ("{number}/{count}", "7/3"),
            ("{ {text", "{ {text"),
            ("{{count}}", "{3}"),
            ("{other}", "{other}"),
            ("Click: {url}", "Click: http://a.example/{number}"),
        ] {
            assert_eq!(filled(part, values), expected, "{part}");
        }
    }
}
