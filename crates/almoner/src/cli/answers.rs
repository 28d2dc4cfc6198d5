//! The arguments of the commands that answer a message: `approve`, `deny` and `outcome`.

use clap::Args;

use super::{BudgetArgs, JsonArg};

/// `almoner approve`.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The message's number, or several of a batch: `12-20,23`
    pub message: Option<String>,
    /// Entries (`1,3`, `1-3`), or a slot of a new worker (`place=notes`)
    #[arg(value_name = "ENTRIES or SLOT=NAME")]
    pub names: Vec<String>,
    /// Answer only these entries, from 1: `1,3` or `1-3`
    #[arg(long, value_name = "ENTRIES")]
    pub only: Vec<String>,
    /// Approve the same call again whenever this run proposes it
    #[arg(long)]
    pub run: bool,
    /// Fill a slot of a new worker, as with `almoner run`
    #[arg(short, long, value_name = "SLOT=WHAT")]
    pub endow: Vec<String>,
    /// Do not ask about this method of it
    #[arg(long, value_name = "SLOT.METHOD")]
    pub allow: Vec<String>,
    /// Make the worker from this changed file, in place of the shown text
    #[arg(long, value_name = "FILE")]
    pub edited: Option<std::path::PathBuf>,
    /// The additional budget for a run that has used up its own.
    #[command(flatten)]
    pub more: BudgetArgs,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner deny`.
#[derive(Debug, Args)]
pub struct DenyArgs {
    /// The message's number, or several of a batch: `12-20,23`
    pub message: Option<String>,
    /// Entries (`1,3`, `1-3`), or the reason
    #[arg(value_name = "ENTRIES or REASON")]
    pub words: Vec<String>,
    /// Tell the model this reason
    #[arg(short = 'r', long, default_value = "")]
    pub reason: String,
    /// Answer only these entries, from 1: `1,3` or `1-3`
    #[arg(long, value_name = "ENTRIES")]
    pub only: Vec<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner outcome`.
#[derive(Debug, Args)]
pub struct OutcomeArgs {
    /// The message's number
    pub message: String,
    /// Whether it happened (if it did not, Almoner does it now)
    pub happened: YesOrNo,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// One of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum YesOrNo {
    /// Yes.
    Yes,
    /// No.
    No,
}
