//! The command line of shell completions and man pages, and the command that both describe.

use clap::{Args, Command as CommandLine, CommandFactory as _};
use clap_complete::Shell;

use super::Cli;

/// `almoner completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `almoner man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The verb, like `run` or `audit verify` [default: the whole program]
    #[arg(value_name = "VERB")]
    pub verb: Vec<String>,
    /// Write the pages of all verbs into DIR instead of printing one
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    pub directory: Option<std::path::PathBuf>,
}

/// The verbs with which Almoner starts processes of its own. No person types them.
const PROCESS_VERBS: &[&str] =
    &["sandbox", "vat-host", "code-reader", "document-reader", "git-host", "model-host"];

/// Returns the command line as people use it.
///
/// It has all verbs in the groups of `almoner help --all`, and none that only the daemon uses. Its version is plain, so
/// that the pages of two builds of one version are the same.
pub fn documented_command() -> CommandLine {
    let whole = Cli::command();
    let verbs = whole.get_subcommands().filter(|verb| !PROCESS_VERBS.contains(&verb.get_name()));
    let mut command = CommandLine::new("almoner")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .args(whole.get_arguments().cloned())
        .subcommands(verbs.cloned().map(|verb| verb.hide(false)));
    if let Some(about) = whole.get_about() {
        command = command.about(about.clone());
    }
    command
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::{PROCESS_VERBS, documented_command};
    use crate::cli::{Cli, Scope};

    /// Checks the help of a verb and of the verbs below it.
    fn check_help(verb: &super::CommandLine) {
        // Words with which a description begins that tells the user nothing to do.
        const NO_VERBS: [&str; 12] =
            ["A", "All", "An", "Does", "How", "The", "There", "What", "Where", "Which", "Who", "Your"];
        let help = verb.get_about().map(ToString::to_string).unwrap_or_default();
        let first = help.split(' ').next().unwrap_or_default();
        let is_plural = first.ends_with('s') && !first.ends_with("ss");
        assert!(!help.is_empty() && !NO_VERBS.contains(&first) && !is_plural, "{help}");
        assert!(help.chars().count() <= 70 && !help.contains(';'), "{help}");
        verb.get_subcommands().for_each(check_help);
    }

    #[test]
    fn help_of_each_verb_is_short_and_imperative() {
        documented_command().get_subcommands().for_each(check_help);
    }

    #[test]
    fn documented_command_leaves_out_process_verbs_alone() {
        let documented = documented_command();
        let names: Vec<&str> = documented.get_subcommands().map(|verb| verb.get_name()).collect();
        for verb in Cli::command().get_subcommands() {
            let name = verb.get_name();
            assert_eq!(names.contains(&name), !PROCESS_VERBS.contains(&name), "{name}");
        }
        assert!(names.contains(&"run") && names.contains(&"open"), "{names:?}");
        assert!(documented.get_subcommands().all(|verb| !verb.is_hide_set()));
    }

    #[test]
    fn version_names_the_source_and_the_target() {
        let printed = Cli::try_parse_from(["almoner", "--version"]).unwrap_err().to_string();
        let inner = printed.strip_prefix(concat!("almoner ", env!("CARGO_PKG_VERSION"), " (")).unwrap();
        let (source, target) = inner.trim_end().strip_suffix(')').unwrap().rsplit_once(", ").unwrap();
        assert_eq!(source, "development build");
        assert!(target.starts_with(std::env::consts::ARCH) && target.contains('-'), "{target}");
    }

    #[test]
    fn process_verbs_are_those_of_the_daemon() {
        for name in PROCESS_VERBS {
            let arguments: &[&str] = match *name {
                "document-reader" => &["1", "1"],
                "model-host" => &["weights"],
                _ => &[],
            };
            let words = [&["almoner", *name], arguments].concat();
            assert_eq!(Cli::try_parse_from(words).unwrap().verb.scope(), Scope::Process, "{name}");
        }
        let daemons = Cli::command();
        let is_process = |verb: &&clap::Command| {
            verb.get_about().is_some_and(|about| about.to_string().starts_with("The process "))
        };
        for verb in daemons.get_subcommands().filter(is_process) {
            assert!(PROCESS_VERBS.contains(&verb.get_name()), "{}", verb.get_name());
        }
    }
}
