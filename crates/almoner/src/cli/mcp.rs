//! `almoner mcp`.

use clap::{Args, Subcommand};

use super::JsonArg;

/// `almoner mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// The verb.
    #[command(subcommand)]
    pub verb: McpVerb,
}

/// The verbs for servers of tools.
#[derive(Debug, Subcommand)]
pub enum McpVerb {
    /// Write down a server: starts nothing, hands nothing to anybody
    Add(Box<AddArgs>),
    /// Take servers over from the settings of other agents
    Import {
        /// The files; without any, those that are usual here and in your home
        #[arg(value_name = "FILE")]
        files: Vec<std::path::PathBuf>,
        /// Say what would be taken, and stop
        #[arg(long)]
        dry_run: bool,
    },
    /// The servers that are written down
    List(JsonArg),
    /// Start a server, and show what it says of its tools
    Tools {
        /// The server
        name: String,
        /// As JSON.
        #[command(flatten)]
        json: JsonArg,
    },
    /// Forget a server; what was handed over stays until it is revoked
    Remove {
        /// The server
        name: String,
    },
}

/// `almoner mcp add`.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// Your name for the server
    pub name: String,
    /// Its address, if it is no program of this machine
    #[arg(value_name = "URL", conflicts_with = "command")]
    pub url: Option<String>,
    /// A variable of its environment: NAME=VALUE, or NAME=secret:SECRET out of the vault
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub env: Vec<String>,
    /// A file or directory that it may read: its modules
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    pub reads: Vec<String>,
    /// A directory that it works on
    #[arg(long, value_name = "PATH[:rw]", conflicts_with = "url")]
    pub dir: Vec<String>,
    /// It may open connections over the network
    #[arg(long, conflicts_with = "url")]
    pub net: bool,
    /// How much memory it may use
    #[arg(long, value_name = "SIZE", conflicts_with = "url")]
    pub memory: Option<String>,
    /// The secret that goes along with requests; it must be for this server (`almoner secret set NAME --for URL`)
    #[arg(long, value_name = "SECRET", requires = "url")]
    pub key: Option<String>,
    /// The header in which it goes
    #[arg(long, value_name = "NAME", requires = "key")]
    pub header: Option<String>,
    /// The address that its name must have, if that is not a public one
    #[arg(long, value_name = "IP", requires = "url")]
    pub address: Option<String>,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
