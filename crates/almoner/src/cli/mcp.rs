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
    /// Add a server to your list, without starting it
    Add(Box<AddArgs>),
    /// Change what a server gets, but not its program or address
    Change(Box<ChangeArgs>),
    /// Take servers over from the settings of other agents
    Import(ImportArgs),
    /// List the servers that are written down
    List(JsonArg),
    /// Start a server, and show what it says of its tools
    Tools {
        /// The server
        name: String,
        /// Give it TIME to start, like 5m [default: `mcp.start`, else 60s]
        #[arg(long, value_name = "TIME")]
        timeout: Option<String>,
        /// As JSON.
        #[command(flatten)]
        json: JsonArg,
    },
    /// Log in at a server that asks for it, in your browser
    Login(LoginArgs),
    /// Forget the login at a server
    Logout {
        /// The server, or its address
        #[arg(value_name = "NAME or URL")]
        server: String,
    },
    /// List the servers at which you are logged in
    Logins(JsonArg),
    /// Forget a server (what was handed over stays until it is revoked)
    Remove {
        /// The server
        name: String,
    },
}

/// `almoner mcp login`.
#[derive(Debug, Args)]
pub struct LoginArgs {
    /// The server, or its address
    #[arg(value_name = "NAME or URL")]
    pub server: String,
    /// Use a client that you have registered at its login server
    #[arg(long, value_name = "ID")]
    pub client: Option<String>,
    /// Use this secret of that client, in the vault
    #[arg(long, value_name = "SECRET", requires = "client")]
    pub client_secret: Option<String>,
    /// Ask for this scope, in place of those that the server names
    #[arg(long, value_name = "SCOPE")]
    pub scope: Vec<String>,
    /// Print the address, and open no browser
    #[arg(long)]
    pub print: bool,
    /// Read the address at which the browser ended from standard input
    #[arg(long)]
    pub paste: bool,
}

/// `almoner mcp import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The files [default: those that are usual here and in your home]
    #[arg(value_name = "FILE")]
    pub files: Vec<std::path::PathBuf>,
    /// Say what would be taken, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Give a `${NAME}` of the file a value
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Install the packages with a lock of this digest, as it was shown
    #[arg(long, value_name = "DIGEST")]
    pub yes: Vec<String>,
}

/// `almoner mcp add`.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// Your name for the server
    pub name: String,
    /// Its address, if it is no program of this machine
    #[arg(value_name = "URL", conflicts_with = "command")]
    pub url: Option<String>,
    /// The access that it gets.
    #[command(flatten)]
    pub access: AccessArgs,
    /// Install the package with a lock of this digest, as it was shown
    #[arg(long, value_name = "DIGEST")]
    pub yes: Vec<String>,
    /// The program and its arguments (`npx` and `uvx` install it once)
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// `almoner mcp change`.
#[derive(Debug, Args)]
pub struct ChangeArgs {
    /// The server
    pub name: String,
    /// The access that it gets from now on.
    #[command(flatten)]
    pub access: AccessArgs,
    /// Let it open no connections
    #[arg(long, conflicts_with = "net")]
    pub no_net: bool,
}

/// The access of a server.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// Set a variable of its environment, also `NAME=secret:SECRET`
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Let it read a file or a directory, such as its modules
    #[arg(long, value_name = "PATH")]
    pub reads: Vec<String>,
    /// Let it work on a directory
    #[arg(long, value_name = "PATH[:rw]")]
    pub dir: Vec<String>,
    /// Let it open connections over the network
    #[arg(long)]
    pub net: bool,
    /// Let it start other programs of this machine, such as git
    #[arg(long)]
    pub exec: bool,
    /// Let it use this much memory
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Send this secret with requests (`almoner secret set NAME --for URL`)
    #[arg(long, value_name = "SECRET")]
    pub key: Option<String>,
    /// Name the header of the key, or send a header with its value
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub header: Vec<String>,
    /// Require this address of its name, if it is not a public one
    #[arg(long, value_name = "IP")]
    pub address: Option<String>,
    /// Give it TIME to start, like 5m [default: `mcp.start`, else 60s]
    #[arg(long, value_name = "TIME")]
    pub start: Option<String>,
}
