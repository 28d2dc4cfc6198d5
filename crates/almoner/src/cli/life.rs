//! The arguments of the verbs for the life of an installation: backup, restore and service.

use clap::{Args, Subcommand};

use super::JsonArg;
use control::exit::{Exit, Failure};
use kernel::relocation::DirectoryMove;

/// `almoner backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The file to make, which must not exist
    #[arg(value_name = "FILE")]
    pub to: String,
    /// Take along the key of the vault: with it, the file opens all secrets
    #[arg(long)]
    pub with_key: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The file that `almoner backup` has made
    #[arg(value_name = "FILE")]
    pub file: std::path::PathBuf,
    /// Say that a directory lies elsewhere now (again for more)
    #[arg(long, value_name = "OLD=NEW")]
    pub map: Vec<String>,
    /// Put back only the store, and keep the present one beside it
    #[arg(long, conflicts_with = "map")]
    pub store: bool,
    /// Do not ask after the card
    #[arg(long, short = 'y')]
    pub yes: bool,
}

/// `almoner service`.
#[derive(Debug, Subcommand)]
pub enum ServiceVerb {
    /// Have systemd start the daemon, now and at each login
    Install(ServiceInstallArgs),
    /// Show whether the service is installed and runs
    Status(JsonArg),
    /// End the service and remove its unit
    Remove(ServiceRemoveArgs),
}

/// `almoner service install`.
#[derive(Debug, Args)]
pub struct ServiceInstallArgs {
    /// Print the unit, and write nothing
    #[arg(long)]
    pub print: bool,
    /// Replace a unit that somebody has edited
    #[arg(long)]
    pub force: bool,
}

/// `almoner service remove`.
#[derive(Debug, Args)]
pub struct ServiceRemoveArgs {
    /// Remove a unit that somebody has edited
    #[arg(long)]
    pub force: bool,
}

/// Parses the text behind `--map`.
///
/// # Errors
/// When the text has no `=`, or the old path is not absolute.
pub fn parse_move(text: &str) -> Result<DirectoryMove, Failure> {
    let shown = passable::visible_line(text);
    let invalid = |why: &str| {
        Failure::new(Exit::Usage, format!("cannot read `--map {shown}`: {why}"))
            .help("write it as `--map /old/path=/new/path`")
    };
    let (from, to) = text.split_once('=').ok_or_else(|| invalid("it has no `=`"))?;
    if !from.starts_with('/') {
        return Err(invalid("the old path does not begin with `/`"));
    }
    if from.split('/').any(|name| name == "..") {
        return Err(invalid("the old path holds `..`"));
    }
    if to.is_empty() {
        return Err(invalid("the new path is missing"));
    }
    let to = super::absolute(to)?;
    // Rows name directories by paths without links.
    let to = std::fs::canonicalize(&to).ok().and_then(|to| to.to_str().map(str::to_owned)).unwrap_or(to);
    Ok(DirectoryMove { from: from.to_owned(), to })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_read_and_others_refused() {
        let one = parse_move("/old=/new/a=b").unwrap();
        assert_eq!((one.from.as_str(), one.to.as_str()), ("/old", "/new/a=b"));
        for text in ["/old", "old=/new", "/old=", "/a/../b=/c"] {
            let failure = parse_move(text).unwrap_err();
            assert!(failure.message.raw().starts_with("cannot read `--map "), "{text}");
        }
    }
}
