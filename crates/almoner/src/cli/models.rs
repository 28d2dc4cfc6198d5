//! The arguments of `almoner models`.

use clap::{Args, Subcommand};

use super::JsonArg;

/// `almoner models`.
#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// The verb. Without one, the command lists the models.
    #[command(subcommand)]
    pub verb: Option<ModelsVerb>,
}

/// The verbs for models.
#[derive(Debug, Subcommand)]
pub enum ModelsVerb {
    /// List the models, and show which one would be used
    List(JsonArg),
    /// Fetch a local model's weights (it goes on where it stopped)
    Pull(PullArgs),
}

/// `almoner models pull`.
#[derive(Clone, Debug, Args)]
pub struct PullArgs {
    /// Which model
    pub name: Option<String>,
    /// Use a weights file that you have
    #[arg(long, value_name = "FILE", conflicts_with_all = ["hub", "mirror"])]
    pub from: Option<std::path::PathBuf>,
    /// Another address in the place of the model's own hub
    #[arg(long, value_name = "URL", conflicts_with = "mirror")]
    pub hub: Option<String>,
    /// Use the mirror made of Python packages
    #[arg(long)]
    pub mirror: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
}
