//! The one list of the commands that people type, in the groups in which help shows them.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::{Args, Command as CommandLine, CommandFactory as _, FromArgMatches as _};

use super::{Cli, Verb};

/// `almoner help`.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// The command, like `run` or `audit verify` [default: the program]
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
    /// List all commands in groups
    #[arg(long, conflicts_with = "command")]
    pub all: bool,
}

/// A group of commands.
#[derive(Debug)]
pub struct CommandGroup {
    /// The heading of the group.
    pub title: &'static str,
    /// The names of its commands, in the order in which help lists them.
    pub commands: &'static [&'static str],
}

/// The commands of a first week. `almoner --help` shows these alone.
pub const FIRST_WEEK: CommandGroup = CommandGroup {
    title: "A first week",
    commands: &[
        "ask", "chat", "run", "new", "inbox", "approve", "deny", "diff", "apply", "undo", "why", "runs",
        "open", "setup", "doctor",
    ],
};

/// All other commands.
pub const OTHERS: [CommandGroup; 9] = [
    CommandGroup {
        title: "Runs",
        commands: &["trace", "wait", "resume", "cancel", "outcome", "discard", "stats", "export", "forget"],
    },
    CommandGroup {
        title: "Worker files",
        commands: &["check", "save", "test", "import", "schema", "pattern", "trust"],
    },
    CommandGroup { title: "Models, tools and secrets", commands: &["models", "mcp", "secret", "unlock"] },
    CommandGroup { title: "Rules and the log", commands: &["policy", "audit"] },
    CommandGroup {
        title: "Agents and grants",
        commands: &["mkguest", "mkhost", "share", "accept", "narrow", "grants", "revoke", "timer"],
    },
    CommandGroup {
        title: "Names",
        commands: &["list", "show", "cat", "store", "name", "copy", "move", "remove", "mkdir", "mount"],
    },
    CommandGroup {
        title: "Mail and questions",
        commands: &["send", "reply", "adopt", "dismiss", "request", "resolve", "reject", "form", "submit"],
    },
    CommandGroup {
        title: "Programs of agents",
        commands: &["define", "edit", "endow", "request-evaluation", "eval", "make", "remake"],
    },
    CommandGroup {
        title: "This installation",
        commands: &[
            "demo",
            "help",
            "status",
            "logs",
            "sessions",
            "gc",
            "backup",
            "restore",
            "service",
            "daemon",
            "gateway",
            "stop",
            "completions",
            "man",
        ],
    },
];

/// The end of `almoner --help`.
const SHORT_END: &str = "\
`almoner help --all` lists all commands. `almoner help COMMAND` shows the options of one.
A run that waits for you holds no memory and never times out: see `almoner inbox`, or `almoner open`.";

/// The end of `almoner help --all`.
const LONG_END: &str = "\
`almoner help COMMAND` shows the options of a command. `--as AGENT` makes a command act as another agent of yours.";

impl Cli {
    /// Reads a command line. `almoner help COMMAND` reads as `almoner COMMAND --help`.
    ///
    /// # Errors
    /// When the line has the wrong form, or asks for help or the version.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let mut command = command();
        let mut matches = command.try_get_matches_from_mut(words)?;
        let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))?;
        match &cli.verb {
            Verb::Help(args) if !args.all => {
                let words = ["almoner"].into_iter().chain(args.command.iter().map(String::as_str));
                self::command().try_get_matches_from(words.chain(["--help"]))?;
                Ok(cli)
            }
            _ => Ok(cli),
        }
    }
}

/// Returns the command line with the help of a first week.
pub fn command() -> CommandLine {
    let position = |name: &str| FIRST_WEEK.commands.iter().position(|command| *command == name);
    Cli::command().after_help(SHORT_END).mut_subcommands(|verb| {
        let position = position(verb.get_name());
        verb.hide(position.is_none()).display_order(position.unwrap_or(FIRST_WEEK.commands.len()))
    })
}

/// Returns the text of `almoner help --all`: every command with its line, in groups.
pub fn all_commands() -> String {
    let whole = Cli::command();
    let mut text = format!("Usage: {} <COMMAND>\n", whole.get_name());
    let groups = || std::iter::once(&FIRST_WEEK).chain(&OTHERS);
    let width = groups().flat_map(|group| group.commands).map(|name| name.len()).max().unwrap_or_default();
    for group in groups() {
        let _ = write!(text, "\n{}:\n", group.title);
        for name in group.commands {
            let about = whole.find_subcommand(name).and_then(CommandLine::get_about);
            let _ = writeln!(text, "  {name:width$}  {}", about.cloned().unwrap_or_default());
        }
    }
    format!("{text}\n{LONG_END}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::reference::documented_command;

    fn said(line: &str) -> String {
        let words = ["almoner"].into_iter().chain(line.split_whitespace());
        Cli::read(words.map(OsString::from)).err().unwrap().to_string()
    }

    #[test]
    fn each_documented_command_stands_in_one_group() {
        let mut listed: Vec<&str> =
            std::iter::once(&FIRST_WEEK).chain(&OTHERS).flat_map(|group| group.commands).copied().collect();
        listed.sort_unstable();
        let documented = documented_command();
        let mut names: Vec<&str> = documented.get_subcommands().map(CommandLine::get_name).collect();
        names.sort_unstable();
        assert_eq!(listed, names);
    }

    #[test]
    fn short_help_shows_the_commands_of_a_first_week() {
        let help = said("--help");
        let lines: Vec<&str> = help
            .lines()
            .skip_while(|line| *line != "Commands:")
            .skip(1)
            .take_while(|line| !line.is_empty())
            .collect();
        let names: Vec<&str> = lines.iter().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(names, FIRST_WEEK.commands, "{help}");
        assert!(help.contains("almoner help --all") && help.lines().count() <= 27, "{help}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{help}");
    }

    #[test]
    fn help_of_a_command_is_its_own_help() {
        assert_eq!(said("help"), said("--help"));
        for verb in ["run", "audit verify", "vat-host"] {
            assert_eq!(said(&format!("help {verb}")), said(&format!("{verb} --help")));
        }
        assert!(said("help no-such").contains("unrecognized subcommand 'no-such'"));
        assert!(said("help --all run").contains("cannot be used with"));
    }

    /// Checks the help of each argument of a command, and of the commands below it.
    fn check_arguments(command: &CommandLine) {
        // Words with which the help of an option begins that tells the user nothing to do.
        const NO_VERBS: [&str; 14] = [
            "A", "All", "Also", "An", "Even", "How", "It", "Its", "Only", "The", "What", "Where", "Which",
            "Why",
        ];
        // These list the kinds of slots.
        const COMPUTED: [&str; 2] = ["endow", "is"];
        for argument in command.get_arguments().filter(|one| !COMPUTED.contains(&one.get_id().as_str())) {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let place = format!("{} {}: {help}", command.get_name(), argument.get_id());
            assert!((1..=70).contains(&help.chars().count()) && !help.contains(';'), "{place}");
            let first = help.split(' ').next().unwrap_or_default();
            assert!(argument.is_positional() || !NO_VERBS.contains(&first), "{place}");
        }
        command.get_subcommands().for_each(check_arguments);
    }

    #[test]
    fn help_of_each_option_is_short_and_imperative() {
        check_arguments(&documented_command());
    }

    #[test]
    fn long_help_has_a_line_for_each_command() {
        let text = all_commands();
        for group in std::iter::once(&FIRST_WEEK).chain(&OTHERS) {
            assert!(text.contains(&format!("\n{}:\n", group.title)), "{text}");
            for name in group.commands {
                let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
                assert!(line.is_some_and(|line| line.len() > name.len() + 20), "{name} in\n{text}");
            }
        }
    }
}
