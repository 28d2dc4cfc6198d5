//! The check of paths that a caller gives, as text, before anything is looked up.
//!
//! A path that passes is a plain relative path. These checks do not confine the caller: a directory capability
//! resolves every path below its own open directory. The checks ensure that the path shown is the path used, and that
//! the caller learns at once about a mistake.

use kernel::proposal::Finding;
use kernel::started_effect::StartedEffect;
use passable::visible_line;

/// The maximum length of the name of a file or directory, in bytes. This is the limit of file systems.
const MAX_NAME_LEN: usize = 255;

/// The maximum length of a path, in bytes.
const MAX_PATH_LEN: usize = 1024;

/// The maximum number of names in a path.
const MAX_DEPTH: usize = 32;

/// The prefix and the suffix of the names of Almoner's temporary files.
const TEMPORARY: (&str, &str) = (".almoner-", ".tmp");

/// The purpose of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To look at something that exists.
    Look,
    /// To make something new. All characters of its name must be visible.
    Make,
}

/// A path in its plain form: one or more names joined by `/`, none of them `.` or `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    text: String,
}

impl Plain {
    /// Checks a path, and returns its plain form.
    pub(crate) fn check(path: &str, purpose: Purpose) -> Result<Plain, Finding> {
        refuse(path, purpose).map_or_else(|| Plain::reduce(path), Err)
    }

    /// Returns the path without its `.` and empty names.
    fn reduce(path: &str) -> Result<Plain, Finding> {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        match names.as_slice() {
            [] => Err(finding(
                "path/empty",
                "the path names nothing",
                path,
                "a file's name, such as `report.md`",
            )),
            _ => Ok(Plain { text: names.join("/") }),
        }
    }

    /// Returns the path.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the names of the directories above the last name, and the last name.
    pub(crate) fn split(&self) -> (impl Iterator<Item = &str> + Clone, &str) {
        let (parents, name) = self.text.rsplit_once('/').unwrap_or(("", &self.text));
        (parents.split('/').filter(|name| !name.is_empty()), name)
    }
}

/// Returns whether a name is the name of one of Almoner's temporary files.
pub(crate) fn is_temporary(name: &str) -> bool {
    // Some file systems ignore the case of letters.
    let name = name.to_ascii_lowercase();
    name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1)
}

/// Returns the name of the temporary file of an effect. Every try has the same name, so that a leftover is found
/// again. The name contains the host, because two hosts can have runs with the same number.
pub(crate) fn temporary(begun: &StartedEffect) -> String {
    let (step, host) = (begun.step(), begun.proposal().principal.short());
    format!("{}{}-{}-{host}{}", TEMPORARY.0, step.run, step.step, TEMPORARY.1)
}

/// Returns the first problem of a path, if it has one.
fn refuse(path: &str, purpose: Purpose) -> Option<Finding> {
    const RELATIVE: &str = "a path relative to the capability's own directory, such as `notes/report.md`";
    let wrong = |rule: &str, message: &'static str, allowed: &'static str| {
        Some(finding(rule, message, path, allowed))
    };
    if path.len() > MAX_PATH_LEN {
        return wrong("path/long", "the path is longer than 1024 bytes", "a shorter path");
    }
    if path.trim().is_empty() {
        return wrong("path/empty", "the path is empty", "a file's name, such as `report.md`");
    }
    if path.contains(char::is_control) {
        return wrong("path/control", "the path holds a control character", "plain characters only");
    }
    if path.starts_with('/') {
        return wrong(
            "path/absolute",
            "the path is absolute, and there is no way out of the directory",
            RELATIVE,
        );
    }
    if path.contains('\\') {
        return wrong("path/backslash", "the path holds a backslash", "names separated by `/`");
    }
    if path == "~" || path.starts_with("~/") {
        return wrong("path/home", "`~` is not expanded: there is no way to a home directory", RELATIVE);
    }
    if path.split('/').any(|name| name == "..") {
        return wrong(
            "path/parent",
            "the path holds `..`, and there is no way out of the directory",
            RELATIVE,
        );
    }
    if hides_traversal(path, purpose) {
        return wrong(
            "path/encoded",
            "the path hides `..`, `/`, a backslash or a control character behind an encoding that nobody undoes",
            RELATIVE,
        );
    }
    if path.split('/').any(is_temporary) {
        return wrong(
            "path/reserved",
            "names like `.almoner-….tmp` are kept for files being written",
            "another name",
        );
    }
    if path.split('/').any(|name| name.len() > MAX_NAME_LEN) || path.split('/').count() > MAX_DEPTH {
        return wrong(
            "path/long",
            "a name is longer than 255 bytes, or the path is too deep",
            "a shorter path",
        );
    }
    if purpose == Purpose::Make && visible_line(path) != path {
        return wrong(
            "path/invisible",
            "the name holds characters that nobody can see",
            "visible characters only",
        );
    }
    if purpose == Purpose::Make && path.ends_with('/') {
        return wrong(
            "path/directory",
            "the path ends in `/` and so names a directory",
            "the path of a file",
        );
    }
    None
}

/// Returns whether the path would mean something else to a reader that decodes percent-encoding or look-alike
/// characters. A name such as `100%.md` or `50%25.md` is taken literally. A look-alike of a slash may stand in the
/// name of an existing file, since people write such names. It may not stand in the name of a new file.
fn hides_traversal(path: &str, purpose: Purpose) -> bool {
    // These are overlong UTF-8 forms of `.`, `/` or `\`. The decoding below does not find them, because their bytes
    // are no text.
    let lower = path.to_ascii_lowercase();
    if ["%c0%ae", "%c0%af", "%c1%9c", "%c0%5c", "%u002e", "%u002f", "%u2215"]
        .iter()
        .any(|form| lower.contains(form))
    {
        return true;
    }
    let names_dots = |text: &str| {
        text.split('/').any(|name| name == ".." || (name == "." && !path.split('/').any(|name| name == ".")))
    };
    let separates = |text: &str| text.matches('/').count() > path.matches('/').count() || text.contains('\\');
    let mut reading = path.to_owned();
    for _ in 0..4 {
        if reading != path
            && (names_dots(&reading) || separates(&reading) || reading.contains(char::is_control))
        {
            return true;
        }
        if let Some(plain) = policy::trace::folded(&reading)
            && (names_dots(&plain) || (separates(&plain) && purpose == Purpose::Make))
        {
            return true;
        }
        match policy::trace::percent_decoded(&reading) {
            Some(decoded) => reading = decoded,
            None => return false,
        }
    }
    // No honest path is encoded so many times.
    true
}

/// Returns a finding about a path.
fn finding(rule: &str, message: &'static str, path: &str, allowed: &'static str) -> Finding {
    let shown: String = path.chars().take(200).collect();
    Finding::new(rule, message).at("path").counter_example(visible_line(&shown)).allowed(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Result<&str, &str>) {
        let plain = Plain::check(path, Purpose::Make);
        let got = plain.as_ref().map(Plain::as_str).map_err(|finding| finding.rule.as_str());
        assert_eq!(got, expected, "{path:?}");
    }

    #[test]
    fn plain_paths_pass() {
        for (path, plain) in [
            ("report.md", "report.md"),
            ("./a//b/./c.md", "a/b/c.md"),
            ("100%.md", "100%.md"),
            ("50%25 off.md", "50%25 off.md"),
            ("..a/b..", "..a/b.."),
            ("...", "..."),
            ("Ünïcode/北京.md", "Ünïcode/北京.md"),
            ("%41.md", "%41.md"),
            ("a~b/~x", "a~b/~x"),
            (".almoner.toml", ".almoner.toml"),
        ] {
            check(path, Ok(plain));
        }
    }

    #[test]
    fn look_accepts_unusual_names_of_existing_files() {
        for path in ["見積／請求.md", "a∕b", "a\u{200d}b", "報告。md"] {
            assert!(Plain::check(path, Purpose::Look).is_ok(), "{path}");
        }
        for path in ["．．", "．．/x", "．．／x", ".\u{200b}./x", "a%2fb"] {
            assert!(Plain::check(path, Purpose::Look).is_err(), "{path}");
        }
    }

    #[test]
    fn misleading_paths_are_refused() {
        for (path, rule) in [
            ("", "path/empty"),
            (" ", "path/empty"),
            (".", "path/empty"),
            ("./", "path/directory"),
            ("/etc/passwd", "path/absolute"),
            ("//x", "path/absolute"),
            ("..", "path/parent"),
            ("../x", "path/parent"),
            ("a/../b", "path/parent"),
            ("a/..", "path/parent"),
            ("a\\..\\b", "path/backslash"),
            ("a\0b", "path/control"),
            ("a\nb", "path/control"),
            ("a\u{1b}[2K", "path/control"),
            ("a\u{85}", "path/control"),
            ("~/x", "path/home"),
            ("%2e%2e%2fx", "path/encoded"),
            ("%2E%2E/x", "path/encoded"),
            ("a%2fb", "path/encoded"),
            ("a%5cb", "path/encoded"),
            ("%252e%252e%252fx", "path/encoded"),
            ("%25252525252e", "path/encoded"),
            ("%c0%ae%c0%ae/x", "path/encoded"),
            ("a%00.md", "path/encoded"),
            ("．．/x", "path/encoded"),
            ("a∕b", "path/encoded"),
            (".\u{200b}./x", "path/encoded"),
            (".almoner-r1-2.tmp", "path/reserved"),
            ("a/.ALMONER-x.tmp/b", "path/reserved"),
            ("a\u{202e}b.md", "path/invisible"),
            ("a/", "path/directory"),
        ] {
            check(path, Err(rule));
        }
        check(&"a".repeat(256), Err("path/long"));
        check(&"a/".repeat(40), Err("path/long"));
        check(&"a".repeat(2000), Err("path/long"));
    }
}
