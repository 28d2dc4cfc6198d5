//! The arguments of the commands that write and check worker files.

use clap::{Args, Subcommand};

/// `almoner check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The worker file
    #[arg(value_name = "FILE.worker")]
    pub worker: std::path::PathBuf,
    /// Print it with defaults, includes, patterns and tools filled in
    #[arg(long)]
    pub expand: bool,
}

/// `almoner new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// The name of the worker, whose file is NAME.worker
    pub name: String,
}

/// `almoner import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The file to take over
    pub file: std::path::PathBuf,
    /// Write to FILE, or `-` [default: NAME.worker here]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<std::path::PathBuf>,
}

/// `almoner schema`.
#[derive(Debug, Subcommand)]
pub enum SchemaArgs {
    /// Print the schema of the front matter of a worker file
    Worker,
}

/// `almoner pattern`.
#[derive(Debug, Args)]
pub struct PatternArgs {
    /// The verb.
    #[command(subcommand)]
    pub verb: PatternVerb,
}

/// The verbs for patterns.
#[derive(Debug, Subcommand)]
pub enum PatternVerb {
    /// Check whether a value matches a pattern
    Check {
        /// `M.splitRecord({a: M.string()})`, `1..5`, `pass|fail`, `[string]`, …
        #[arg(required_unless_present = "ndjson")]
        pattern: Option<String>,
        /// A value, written as in JavaScript: `{a: "x", n: 1n}`
        #[arg(required_unless_present = "ndjson", allow_hyphen_values = true)]
        value: Option<String>,
        /// Read lines `{"pattern": …, "specimen": …}` from standard input
        #[arg(long, conflicts_with_all = ["pattern", "value"])]
        ndjson: bool,
    },
}
