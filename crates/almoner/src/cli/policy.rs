//! `almoner policy`.

use clap::{Args, Subcommand};

use super::JsonArg;

/// `almoner policy`.
#[derive(Debug, Args)]
pub struct PolicyArgs {
    /// The verb. Without one, the command shows the policies in force.
    #[command(subcommand)]
    pub verb: Option<PolicyVerb>,
}

/// The verbs for policies.
#[derive(Debug, Subcommand)]
pub enum PolicyVerb {
    /// Show the policies in force
    Show {
        /// Print the words that policies can use, as a schema of Cedar's
        #[arg(long)]
        schema: bool,
        /// As JSON.
        #[command(flatten)]
        json: JsonArg,
    },
    /// Check a policy file, and try its examples
    Check {
        /// Check this file instead of the one that is in force
        #[arg(value_name = "FILE")]
        file: Option<std::path::PathBuf>,
        /// Check it as the file of a project, which may only forbid and ask
        #[arg(long)]
        project: bool,
        /// Check it as the file of this machine's administrator
        #[arg(long, conflicts_with = "project")]
        managed: bool,
    },
    /// Test a policy file: `outbox.send to=x@y.example untrusted=true`
    Test {
        /// The method, and what is known of the call: KEY=VALUE
        #[arg(required = true, value_name = "CALL")]
        call: Vec<String>,
        /// Test this file [default: your own]
        #[arg(long, value_name = "FILE")]
        file: Option<std::path::PathBuf>,
    },
}
