//! Examples: calls written down, each with its expected decision.

use policy::Stance;

use crate::call::{Argument, Call, Server, effect_of};
use crate::vocabulary::{Type, Vocabulary};

/// The name of the file of examples that may lie beside a policy file.
pub const EXAMPLES: &str = "policy.examples";

/// The expected decision on an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The call is permitted.
    Allow,
    /// The call is forbidden.
    Deny,
    /// A policy asks about the call. Or no policy decides about it, so a person is asked wherever one would be without
    /// policies.
    Ask,
}

/// A call that is written down, with its expected decision.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    pub(crate) expected: Expected,
    pub(crate) text: String,
    pub(crate) call: Call,
}

impl Expected {
    /// All expected decisions.
    pub const ALL: [Expected; 3] = [Expected::Allow, Expected::Ask, Expected::Deny];

    /// Returns the word for the decision in an example: `must_allow`, `must_ask` or `must_deny`.
    pub fn word(self) -> &'static str {
        match self {
            Expected::Allow => "must_allow",
            Expected::Deny => "must_deny",
            Expected::Ask => "must_ask",
        }
    }

    /// Returns whether this is the decision of policies with that stance.
    pub fn is_met_by(self, stance: Stance) -> bool {
        match self {
            Expected::Allow => stance == Stance::Permits,
            Expected::Deny => stance == Stance::Forbids,
            Expected::Ask => matches!(stance, Stance::Silent | Stance::Asks),
        }
    }
}

impl Example {
    /// Returns the example in an annotation such as `@must_deny`.
    pub(crate) fn parse(vocabulary: &Vocabulary, expected: Expected, text: &str) -> Result<Example, String> {
        Ok(Example { expected, text: text.to_owned(), call: Call::parse(vocabulary, text)? })
    }

    /// Returns the example on a line of a file of examples, such as `must_deny outbox.send …`.
    pub(crate) fn parse_line(vocabulary: &Vocabulary, line: &str) -> Result<Example, String> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let expected =
            Expected::ALL.into_iter().find(|expected| expected.word() == word).ok_or_else(|| {
                format!("`{word}` is not one of {}", Expected::ALL.map(Expected::word).join(", "))
            })?;
        Example::parse(vocabulary, expected, rest.trim())
    }
}

/// Returns the lines of a file of examples, with their numbers. Blank lines and comments are left out.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the examples of one annotation, one for each line.
pub(crate) fn split(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

impl Call {
    /// Parses a call as a user writes it: the method, then its facts as `key=value`, each value bare or in quotes. A
    /// missing fact has its most harmless value: the caller is a model, and no source is untrusted.
    ///
    /// # Errors
    ///
    /// When the text has a fault. The error describes the fault for the author of the text.
    pub fn parse(vocabulary: &Vocabulary, text: &str) -> Result<Call, String> {
        let mut words = split_words(text)?.into_iter();
        let (None, Some(method)) = words.next().map_or((None, None), |(key, value)| (key, Some(value)))
        else {
            return Err("an example begins with a method: `outbox.send to=x@y.example`".to_owned());
        };
        let Some(action) = vocabulary.actions.get(&method) else {
            let known: Vec<&str> = vocabulary.methods().collect();
            return Err(format!("there is no method `{method}`; there are {}", known.join(", ")));
        };
        let kind = method.split('.').next().unwrap_or_default().to_owned();
        let mut call = Call {
            worker: "example".to_owned(),
            slot: kind,
            effect: action.effect.as_words().to_owned(),
            caller: "model".to_owned(),
            method,
            ..Call::default()
        };
        for (name, seen_as, optional) in &action.params {
            if let (Some(seen_as), false) = (seen_as, optional) {
                call.args.insert(name.clone(), seen_as.nothing());
            }
        }
        let mut trusted = None;
        for (key, value) in words {
            let Some(key) = key else {
                return Err(format!("`{value}` has no `=`: what is known of a call is `key=value`"));
            };
            let param = action.params.iter().find(|(name, seen_as, _)| *name == key && seen_as.is_some());
            if let Some((name, Some(seen_as), _)) = param {
                let argument = seen_as.read(&value, call.args.get(name));
                let argument =
                    argument.ok_or_else(|| format!("`{key}={value}`: not {}", seen_as.describe()))?;
                call.args.insert(name.clone(), argument);
            }
            if !call.learn(&key, &value, &mut trusted)? && param.is_none() {
                let args = action.params.iter().map(|(name, ..)| name.as_str());
                let known: Vec<&str> = args.chain(FACTS.iter().copied()).collect();
                return Err(format!("`{key}` is nothing that a call has; it has {}", known.join(", ")));
            }
        }
        if call.names.is_empty() {
            call.names.push(if action.attribute == "path" { "/example" } else { "example" }.to_owned());
        }
        let strange = call.sources.iter().any(|source| source != "host" && !source.starts_with("model "));
        call.untrusted = trusted.unwrap_or(strange);
        Ok(call)
    }

    /// Adds a fact to the call, and returns whether the key is that of a fact.
    fn learn(&mut self, key: &str, value: &str, untrusted: &mut Option<bool>) -> Result<bool, String> {
        let wrong = |what: &str| format!("`{key}={value}`: not {what}");
        let flag = || value.parse::<bool>().map_err(|_| wrong("`true` or `false`"));
        let text = || Some(value.to_owned());
        if self.servers.is_empty() && ["scheme", "host", "port", "verb", "route"].contains(&key) {
            self.servers.push(Server::default());
        }
        let mut no_server = Server::default();
        let server = self.servers.first_mut().unwrap_or(&mut no_server);
        match key {
            "worker" => self.worker = value.to_owned(),
            "on" => self.names.push(value.to_owned()),
            "slot" => self.slot = value.to_owned(),
            "effect" => {
                let effect = effect_of(value).ok_or_else(|| wrong("`reads`, `changes` or `sends`"))?;
                self.effect = effect.as_words().to_owned();
            }
            "caller" if ["model", "code"].contains(&value) => self.caller = value.to_owned(),
            "caller" => return Err(wrong("`model` or `code`")),
            "untrusted" => *untrusted = Some(flag()?),
            "source" => drop(self.sources.insert(value.to_owned())),
            "replaces" => self.replaces = flag()?,
            "tells" => self.tells = flag()?,
            "path" => self.paths.push(value.to_owned()),
            "bytes" => self.bytes = Some(value.parse().map_err(|_| wrong("a whole number"))?),
            "scheme" => server.scheme = text(),
            "host" => server.host = text(),
            "port" => server.port = Some(value.parse().map_err(|_| wrong("a whole number"))?),
            "verb" => server.verb = text(),
            "route" => server.route = text(),
            "program" => self.program = text(),
            "argv" => self.argv.get_or_insert_default().push(value.to_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The keys that [`Call::learn`] accepts.
const FACTS: &[&str] = &[
    "worker",
    "on",
    "slot",
    "effect",
    "caller",
    "untrusted",
    "source",
    "replaces",
    "tells",
    "path",
    "bytes",
    "scheme",
    "host",
    "port",
    "verb",
    "route",
    "program",
    "argv",
];

impl Type {
    fn nothing(self) -> Argument {
        match self {
            Type::Text => Argument::Text(String::new()),
            Type::Integer => Argument::Integer(0),
            Type::Bool => Argument::Bool(false),
            Type::Texts => Argument::Texts(Default::default()),
        }
    }

    /// Returns an argument from its written form. Several texts are written by giving the argument several times.
    fn read(self, value: &str, before: Option<&Argument>) -> Option<Argument> {
        Some(match self {
            Type::Text => Argument::Text(value.to_owned()),
            Type::Integer => Argument::Integer(value.parse().ok()?),
            Type::Bool => Argument::Bool(value.parse().ok()?),
            Type::Texts => {
                let mut all = match before {
                    Some(Argument::Texts(all)) => all.clone(),
                    _ => Default::default(),
                };
                all.insert(value.to_owned());
                Argument::Texts(all)
            }
        })
    }

    fn describe(self) -> &'static str {
        match self {
            Type::Text | Type::Texts => "text",
            Type::Integer => "a whole number",
            Type::Bool => "`true` or `false`",
        }
    }
}

/// Returns the words of a line. Each word may have a key, and its value may stand in quotes of either kind.
fn split_words(text: &str) -> Result<Vec<(Option<String>, String)>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let Some(value) = after.strip_prefix('=') else {
            words.push((None, key.to_owned()));
            rest = after.trim_start();
            continue;
        };
        let quote = value.chars().next().filter(|c| ['"', '\''].contains(c));
        let (value, after) = match quote {
            None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
            Some(quote) => {
                let open = value.get(1..).unwrap_or_default();
                open.split_once(quote).ok_or_else(|| format!("`{key}={value}`: the quote is not closed"))?
            }
        };
        words.push((Some(key.to_owned()), value.to_owned()));
        rest = after.trim_start();
    }
    Ok(words)
}
