//! `almoner completions`, `almoner man` and `almoner help`: the command line, described for shells and for people.

use clap_complete::Shell;
use passable::visible_line;

use crate::cli::groups;
use crate::cli::reference::{CompletionsArgs, ManArgs, documented_command};
use crate::ui::output;
use control::exit::{Exit, ExitResult, Failure};

/// Runs `almoner completions`.
///
/// # Errors
/// When the script cannot be printed.
pub fn completions(args: &CompletionsArgs) -> ExitResult {
    output::result(&script(args.shell))?;
    Ok(Exit::Ok)
}

/// Runs `almoner man`.
///
/// # Errors
/// When there is no such verb, or a page cannot be written.
pub fn man(args: &ManArgs) -> ExitResult {
    let Some(directory) = &args.directory else {
        output::result(&page(&args.verb)?)?;
        return Ok(Exit::Ok);
    };
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(documented_command(), directory));
    match written {
        Ok(()) => Ok(Exit::Ok),
        Err(error) => {
            let shown = output::path(directory);
            Err(Failure::new(Exit::Failure, format!("cannot write pages into {shown}: {error}")))
        }
    }
}

/// Runs `almoner help --all`. Other forms of `almoner help` end while the command line is read.
///
/// # Errors
/// When the list cannot be printed.
pub fn help() -> ExitResult {
    output::result(&groups::all_commands())?;
    Ok(Exit::Ok)
}

/// Returns the script with which a shell completes commands.
fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut documented_command(), "almoner", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Returns the manual page of the program, or of a verb of it.
fn page(verb: &[String]) -> Result<String, Failure> {
    let mut command = documented_command();
    // Gives each verb its whole name.
    command.build();
    let mut described = &command;
    for name in verb {
        described = described.find_subcommand(name).ok_or_else(|| {
            let typed = verb.join(" ");
            let reason = format!("cannot show the page of `{}`: there is no such verb", visible_line(&typed));
            Failure::new(Exit::Usage, reason).help("`almoner man` shows the page with all verbs")
        })?;
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(described.clone())
        .render(&mut text)
        .map_err(|error| Failure::from_error(Exit::Failure, error))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use clap::ValueEnum as _;
    use clap_complete::Shell;

    use super::{page, script};

    #[test]
    fn bash_completes_verbs_and_options() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("almoner.bash");
        std::fs::write(&file, script(Shell::Bash)).unwrap();
        let complete = |words: &str| {
            let program = format!(
                "source \"$1\" && COMP_WORDS=({words}) && COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)) && \
                 _almoner almoner \"${{COMP_WORDS[COMP_CWORD]}}\" && echo \"${{COMPREPLY[*]}}\""
            );
            let output = Command::new("bash").args(["-c", &program, "bash"]).arg(&file).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        assert_eq!(complete("almoner ru"), "run runs");
        assert_eq!(complete("almoner demo --hi"), "--hijacked");
        assert_eq!(complete("almoner vat-h"), "");
    }

    #[test]
    fn every_shell_gets_a_script() {
        for shell in Shell::value_variants() {
            assert!(script(*shell).contains("almoner"), "{shell}");
        }
    }

    #[test]
    fn page_describes_the_program_or_one_verb() {
        let whole = page(&[]).unwrap();
        assert!(whole.contains(".TH almoner 1"), "{whole}");
        assert!(whole.contains("almoner\\-open(1)") && !whole.contains("vat\\-host"), "{whole}");
        let verb = page(&["audit".to_owned(), "verify".to_owned()]).unwrap();
        assert!(verb.contains(".TH almoner-audit-verify 1") && verb.contains("\\-\\-contains"), "{verb}");
        let fault = page(&["no\u{1b}such".to_owned()]).unwrap_err().render(None);
        assert!(fault.contains("there is no such verb") && !fault.contains('\u{1b}'), "{fault}");
    }
}
