//! The command line of inspection and maintenance: types only.

use clap::{Args, ValueEnum};

use super::JsonArg;

/// `almoner trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// The file, its directory, or a case [default: of this project]
    #[arg(value_name = "FILE")]
    pub file: Option<std::path::PathBuf>,
    /// Do not ask, if the file has exactly this digest
    #[arg(long, value_name = "DIGEST", conflicts_with_all = ["list", "revoke"])]
    pub yes: Option<String>,
    /// List the files that you trust
    #[arg(long, conflicts_with_all = ["file", "revoke"])]
    pub list: bool,
    /// Trust it no longer
    #[arg(long)]
    pub revoke: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner open`.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// The page to open: a message's number, a run (`r7`), or a path
    #[arg(value_name = "N|RUN|PATH")]
    pub what: Option<String>,
    /// Print the address, which lets one browser in within a minute
    #[arg(long)]
    pub print: bool,
    /// Use 127.0.0.1, which is less safe, for a browser like old Safari
    #[arg(long)]
    pub loopback: bool,
}

/// `almoner sessions`.
#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// End this one
    #[arg(long, value_name = "N")]
    pub revoke: Option<u64>,
    /// End all of them, and remove all passkeys
    #[arg(long, conflicts_with = "revoke")]
    pub all: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The parts to examine [default: all of them]
    #[arg(value_enum, value_name = "PART")]
    pub parts: Vec<InstallationPart>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// A part of the installation that can be examined by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InstallationPart {
    /// Where state and cache lie
    Place,
    /// `config.toml`
    Settings,
    /// The daemon, its store, its log of what has happened, its vault
    Daemon,
    /// Room for the store
    Disk,
    /// Which model is found
    Model,
    /// Proxies, and the certificate authorities that are trusted
    Network,
    /// The confinement of programs, guest code and the local model
    Sandbox,
    /// Your own rules
    Policy,
    /// The rules of the machine's administrator
    Managed,
    /// Where the web pages are served, and who was let in there
    Web,
}

impl InstallationPart {
    /// All parts of the installation, in the order of the report.
    pub const ALL: [InstallationPart; 10] = [
        InstallationPart::Place,
        InstallationPart::Settings,
        InstallationPart::Daemon,
        InstallationPart::Disk,
        InstallationPart::Model,
        InstallationPart::Network,
        InstallationPart::Sandbox,
        InstallationPart::Policy,
        InstallationPart::Managed,
        InstallationPart::Web,
    ];
}

/// `almoner test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Worker files, cases, or directories of cases [default: this directory]
    #[arg(value_name = "WORKER or DIR")]
    pub what: Vec<std::path::PathBuf>,
    /// Keep what differs as what is expected from now on
    #[arg(long)]
    pub accept: bool,
}

/// `almoner export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The run, like r17, or `last` (the newest, if none is named)
    pub run: Option<String>,
    /// Write to FILE, in place of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<std::path::PathBuf>,
    /// Leave out the documents, and the requests in which they stand
    #[arg(long)]
    pub no_documents: bool,
}

/// `almoner forget`.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// The run, which must be over
    pub run: String,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Show the last N lines
    #[arg(short = 'n', default_value_t = 50)]
    pub lines: usize,
    /// Go on, and show each line as it comes, whichever daemon writes it
    #[arg(short, long)]
    pub follow: bool,
}

/// `almoner setup`.
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// Write a `config.toml` without asking, if there is none
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// As JSON, and write nothing
    #[command(flatten)]
    pub json: JsonArg,
}
