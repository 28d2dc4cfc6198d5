//! The command line of what is looked at and looked after: types only.

use clap::Args;

use super::JsonArg;

/// `almoner trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// The file, or a directory in which it lies [default: the `almoner.toml` of the project you are in]
    #[arg(value_name = "FILE")]
    pub file: Option<std::path::PathBuf>,
    /// Do not ask, if the file has exactly this digest
    #[arg(long, value_name = "DIGEST", conflicts_with_all = ["list", "revoke"])]
    pub yes: Option<String>,
    /// Which files you trust
    #[arg(long, conflicts_with_all = ["file", "revoke"])]
    pub list: bool,
    /// Trust it no longer
    #[arg(long)]
    pub revoke: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}
