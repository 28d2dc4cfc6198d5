//! `-e SLOT=secret:NAME[?env=VARIABLE,…&for=PROGRAM,…]`.

use std::collections::BTreeSet;

use kernel::programs::{Setting, variable_problem};
use kernel::secret::HandedSecret;
use passable::visible_line;

use crate::mcp_file::SECRET;
use control::exit::{Exit, Failure};

/// What stands before the name of a secret.
pub(super) const PREFIX: &str = SECRET;

/// Reads what follows `secret:`.
///
/// # Errors
/// When it is not written as it should be.
pub(super) fn parse(text: &str) -> Result<HandedSecret, Failure> {
    let wrong = |what: String| {
        Failure::new(Exit::Usage, format!("{PREFIX}{}: {what}", visible_line(text)))
            .help("write SLOT=secret:NAME, or SLOT=secret:NAME?env=VARIABLE&for=PROGRAM, with a name of `almoner secret list`")
    };
    let (name, query) = text.split_once('?').unwrap_or((text, ""));
    vault::check_name(name).map_err(|error| wrong(error.to_string()))?;
    let mut secret = HandedSecret { name: name.to_owned(), ..HandedSecret::default() };
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').ok_or_else(|| wrong(format!("`{part}` has no `=`")))?;
        let names: BTreeSet<String> =
            value.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        if names.is_empty() {
            return Err(wrong(format!("`{key}=` names none")));
        }
        match key {
            "env" => {
                for name in names {
                    if let Some(what) = variable_problem(&name) {
                        return Err(wrong(format!("`{name}`: {what}")));
                    }
                    secret.variables.insert(name);
                }
            }
            "for" => secret.programs.extend(names),
            _ => return Err(wrong("after `?` only `env=` and `for=` are known".to_owned())),
        }
    }
    Ok(secret)
}

/// Reads what a variable of a program is set to: words, or `secret:NAME`.
///
/// # Errors
/// What is wrong with it, and what to do.
pub(super) fn setting(variable: &str, value: &str) -> Result<Setting, (String, String)> {
    let shown = visible_line(variable);
    if let Some(what) = variable_problem(variable) {
        return Err((format!("`env.{shown}`: {what}"), "name another variable".to_owned()));
    }
    let Some(name) = value.strip_prefix(SECRET) else {
        if crate::commands::mcp_import::is_secret(variable, value) {
            return Err((
                format!("`env.{shown}`: this looks like a secret"),
                format!(
                    "keep it in the vault, `almoner secret set {shown}`, and write `env.{shown}=secret:{shown}`"
                ),
            ));
        }
        return Ok(Setting::Text(value.to_owned()));
    };
    vault::check_name(name).map_err(|error| (format!("`env.{shown}`: {error}"), error.help().to_owned()))?;
    Ok(Setting::Secret(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_named_with_where_it_may_go() {
        assert_eq!(parse("github").unwrap().words(), "the secret github");
        let secret = parse("github?env=GITHUB_TOKEN,GH_TOKEN&for=gh").unwrap();
        assert_eq!(secret.words(), "the secret github, as GH_TOKEN or GITHUB_TOKEN, for gh");
        for bad in ["", "a b", "x?env=", "x?env=PATH", "x?env=A=B", "x?for=", "x?colour=red", "x?env"] {
            let failure = parse(bad).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{bad}");
            assert!(!failure.help.is_empty());
        }
    }

    #[test]
    fn no_secret_stands_on_a_command_line() {
        assert_eq!(setting("TOKEN", "secret:github").unwrap(), Setting::Secret("github".into()));
        assert_eq!(setting("REGION", "eu").unwrap(), Setting::Text("eu".into()));
        for (variable, value, said) in [
            ("TOKEN", "swordfish-42", "looks like a secret"),
            ("X", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "looks like a secret"),
            ("LD_PRELOAD", "secret:github", "confined"),
            ("TOKEN", "secret:", "name"),
        ] {
            let (what, help) = setting(variable, value).unwrap_err();
            assert!(what.contains(said) && !help.is_empty() && !help.contains(value), "{what}: {help}");
        }
    }
}
