//! The types of the command line. The module `verbs` carries the commands out.

pub mod agents;
mod answers;
pub mod audit;
mod budget_args;
mod directory;
mod directory_documents;
mod exclusion;
mod field_args;
mod globs;
pub mod groups;
mod input;
pub mod life;
pub mod maintenance;
pub mod mcp;
mod message_text;
mod models;
pub mod modules;
pub mod narrow;
pub mod policy;
pub mod reference;
mod scope;
pub mod secret;
pub mod usage_error;
mod worker_files;

pub use answers::{ApproveArgs, DenyArgs, OutcomeArgs, YesOrNo};
pub use budget_args::BudgetArgs;
pub use config::machine::{absolute, program_path};
pub use directory_documents::{directory_documents, split_directories};
pub use field_args::parse_field_spec;
pub use input::{
    Inputs, MAX_INPUT_BYTES, NamedText, check_stdin, content_document, read_batch_inputs, read_inputs,
    read_json, read_text, split_named, stdin, with_contents,
};
pub use message_text::{MessageText, parse_message_text};
pub use models::{ModelsArgs, ModelsVerb, PullArgs};
pub use scope::Scope;
pub use worker_files::{CheckArgs, ImportArgs, NewArgs, PatternArgs, PatternVerb, SchemaArgs};

use clap::{Args, Parser, Subcommand, ValueEnum};
use kernel::run_key::RunKey;

use control::exit::Failure;
use daemon::processes::document_reader::ReaderLimits;
use resource::Endowment;

use config::machine::Machine;

/// Returns the help of an option that hands something to a slot: an example of each kind that is typed.
pub fn endow_help(slot: &str) -> String {
    let examples = resource::examples(slot).join(", ");
    format!("Hand a slot something: {examples}; limits follow `?`, like `?max=10MiB`")
}

/// Parses the text behind `-e`. A relative path starts from the current directory.
///
/// # Errors
/// When the text has the wrong form, or names a program that does not exist.
pub fn parse_endowment(text: &str) -> Result<Endowment, Failure> {
    Machine::At(std::path::Path::new("")).parse_endowment(text)
}

/// The version, the source and the target of this build, as `almoner --version` prints them.
const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("ALMONER_SOURCE"), ", ", env!("ALMONER_TARGET"), ")");

/// Run LLM workers with exactly the authority that you hand them.
#[derive(Debug, Parser)]
#[command(name = "almoner", version = VERSION, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// Act as this agent of yours, by its name
    // The argument has an id of its own. A global argument is added to every command, and an argument of the command
    // could have the same id.
    #[arg(id = "as", long = "as", global = true, value_name = "AGENT", hide = true)]
    pub agent: Option<String>,
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of the program.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a worker: its file, its inputs, and what you hand it
    Run(RunArgs),
    /// Ask a question once, of documents or of standard input
    Ask(AskArgs),
    /// Talk with a worker, and go on later with what was said
    Chat(ChatArgs),
    /// Make a worker file and a case of a run: `save last as NAME`
    #[command(hide = true)]
    Save(SaveArgs),
    /// Try the cases of workers again, with the replies of then
    #[command(hide = true)]
    Test(maintenance::TestArgs),
    /// Show the messages that wait for you, or one in full
    Inbox(InboxArgs),
    /// Let what a card shows be done, once
    Approve(ApproveArgs),
    /// Refuse what a card shows, with a reason for the model
    Deny(DenyArgs),
    /// Tell Almoner whether an interrupted action took effect
    Outcome(OutcomeArgs),
    /// List runs, newest first
    Runs(RunsArgs),
    /// Print the journal of a run (the latest, if none is named)
    Trace(TraceArgs),
    /// Show where a run, step, message, name, slot or file comes from
    Why(WhyArgs),
    /// Wait until a run ends, or only a person can move it on
    Wait(WaitArgs),
    /// Let a run that stopped go on, and follow it
    Resume(ResumeArgs),
    /// Show the changes in a staged copy (`-e SLOT=PATH:stage`) as one diff
    Diff(StagedArgs),
    /// Put in place what a run changed in a staged copy
    Apply(ApplyArgs),
    /// Throw away what a run changed in a staged copy
    Discard(DiscardArgs),
    /// Put back what a run changed in your directories
    Undo(UndoArgs),
    /// Show figures of your runs: calls, refusals, approvals, repairs
    Stats(StatsArgs),
    /// List models, or pull a local one
    Models(ModelsArgs),
    /// Check a worker file without running it
    Check(CheckArgs),
    /// Begin a worker file
    #[command(hide = true)]
    New(NewArgs),
    /// Make a worker file of one of llm-do's, or of an agent in Markdown
    #[command(hide = true)]
    Import(ImportArgs),
    /// Print the JSON Schema of a kind of file, for editors
    #[command(subcommand, hide = true)]
    Schema(SchemaArgs),
    /// Print what a shell needs to complete commands
    #[command(hide = true)]
    Completions(reference::CompletionsArgs),
    /// Show the help of a command, or list all commands (`--all`)
    #[command(hide = true)]
    Help(groups::HelpArgs),
    /// Print the manual page of the program or of a verb
    #[command(hide = true)]
    Man(reference::ManArgs),
    /// Write all that a run consists of, as one file of JSON lines
    #[command(hide = true)]
    Export(maintenance::ExportArgs),
    /// Let go of what a run worked on, for good, but for its journal
    #[command(hide = true)]
    Forget(maintenance::ForgetArgs),
    /// Free what nothing refers to any more
    #[command(hide = true)]
    Gc(JsonArg),
    /// Show the daemon's log
    #[command(hide = true)]
    Logs(maintenance::LogsArgs),
    /// Look for a model, and say what to type next
    #[command(hide = true)]
    Setup(maintenance::SetupArgs),
    /// Let an `almoner.toml` hand its workers what it says, as it is now
    #[command(hide = true)]
    Trust(maintenance::TrustArgs),
    /// Show your rules: what is never done, what need not be asked
    Policy(policy::PolicyArgs),
    /// Write down servers of tools (MCP), and see what they have
    #[command(hide = true)]
    Mcp(mcp::McpArgs),
    /// Ask whether a value matches a pattern, and why not
    Pattern(PatternArgs),
    /// See it work: a hijacked worker, then a live one
    Demo(DemoArgs),
    /// Examine this installation
    Doctor(maintenance::DoctorArgs),
    /// List the browsers that were let in to the web pages, or end some
    #[command(hide = true)]
    Sessions(maintenance::SessionsArgs),
    /// Open the web pages in your browser
    #[command(hide = true)]
    Open(maintenance::OpenArgs),
    /// Show the state of the daemon
    Status(JsonArg),
    /// Show the log of events, check it (`verify`), or send it on (`follow`)
    Audit(audit::AuditArgs),
    /// Copy the whole home to one file: store, settings, staged copies, vault
    Backup(life::BackupArgs),
    /// Make a home of a backup, and first show where each directory goes
    #[command(hide = true)]
    Restore(life::RestoreArgs),
    /// Have systemd start the daemon at each login
    #[command(subcommand, hide = true)]
    Service(life::ServiceVerb),
    /// Run the daemon here (commands start it by themselves)
    Daemon(DaemonArgs),
    /// Make a token that lets a program or a page in once (needs ENDO_ADDR)
    Gateway(JsonArg),
    /// End the daemon (runs go on when it starts again)
    Stop,
    /// Keep keys and passwords where no model sees them
    Secret(secret::SecretArgs),
    /// Open the vault with its passphrase
    Unlock,
    /// Agents, names and mail.
    #[command(flatten)]
    Agents(agents::AgentVerb),
    /// The process that confines a program, or tries what a confined one must not be able to do.
    #[command(hide = true)]
    Sandbox {
        /// Nothing, or `try NAME ARGUMENT…`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// The process in which guest code runs.
    #[command(hide = true)]
    VatHost,
    /// The process that reads proposed code.
    #[command(hide = true)]
    CodeReader,
    /// The process that reads one document.
    #[command(hide = true)]
    DocumentReader(ReaderArgs),
    /// The process that looks into one repository.
    #[command(hide = true)]
    GitHost,
    /// The process that holds a local model.
    #[command(hide = true)]
    ModelHost {
        /// The weights.
        weights: std::path::PathBuf,
    },
}

/// The arguments of the process that reads one document.
#[derive(Args, Clone, Copy, Debug)]
pub struct ReaderArgs {
    /// The maximum processor time, in seconds.
    cpu_s: u64,
    /// The maximum memory, in bytes.
    memory: u64,
}

impl ReaderArgs {
    /// Returns the limits of the process.
    pub fn limits(self) -> ReaderLimits {
        ReaderLimits { cpu_s: self.cpu_s, memory: self.memory, ..ReaderLimits::default() }
    }
}

/// The behaviour of a command when its run needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnAsk {
    /// Show the card and ask here, or exit with 7 without a terminal
    Prompt,
    /// Wait until somebody answers from elsewhere
    Wait,
    /// Say no
    Deny,
}

/// How a run is followed and told.
#[derive(Clone, Debug, Args)]
pub struct FollowArgs {
    /// Say how to act when a person is needed
    #[arg(long, value_enum, default_value_t = OnAsk::Prompt, value_name = "HOW")]
    pub on_ask: OnAsk,
    /// Print one JSON document: the result and how the run ended
    #[arg(long, conflicts_with = "events")]
    pub json: bool,
    /// Print every event as a line of JSON, then the result
    #[arg(long)]
    pub events: bool,
    /// Do not wait for the run, and print its number
    #[arg(long)]
    pub detach: bool,
    /// Write the result's exact bytes to FILE (`-`: to standard output)
    #[arg(short = 'o', long, value_name = "FILE", conflicts_with = "detach")]
    pub output: Option<std::path::PathBuf>,
}

/// `almoner run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The worker file
    #[arg(value_name = "FILE.worker")]
    pub worker: std::path::PathBuf,
    /// `k=v`, `k:=json`, `k=@file`, `-` for standard input, or a document
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<String>,
    /// Start one isolated run for each document
    #[arg(long)]
    pub each: bool,
    /// With --each: run N at a time (one with a local model, else four)
    #[arg(short = 'j', value_name = "N", requires = "each", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub jobs: Option<u32>,
    /// With --each: leave out files that match, like `*.tmp` or `drafts/**`
    #[arg(long, value_name = "GLOB", requires = "each", conflicts_with = "retry_failed")]
    pub exclude: Vec<String>,
    /// With --each: let at most N items wait for you at a time
    #[arg(long, value_name = "N", requires = "each", default_value_t = kernel::run::DEFAULT_WAITING, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub waiting: u32,
    /// With --each: do only what failed in the last such run, or in RUN
    #[arg(long, value_name = "RUN", requires = "each", num_args = 0..=1, require_equals = true)]
    pub retry_failed: Option<Option<kernel::RunNumber>>,
    /// Hand a slot something
    #[arg(short = 'e', long = "endow", value_name = "SLOT=PATH", help = endow_help("SLOT"))]
    pub endow: Vec<String>,
    /// Use this model: local, openai:NAME, ollama:NAME, compat:URL#NAME, …
    #[arg(short = 'm', long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Do not ask about this method, which must not be one that sends
    #[arg(long, value_name = "SLOT.METHOD")]
    pub allow: Vec<String>,
    /// Let only models of `models.private` read the documents and inputs
    #[arg(long)]
    pub private: bool,
    /// Start one run for KEY, however often the command is repeated
    #[arg(long, value_name = "KEY", conflicts_with = "dry_run")]
    pub key: Option<RunKey>,
    /// Say what would be done, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// How to follow the run.
    #[command(flatten)]
    pub follow: FollowArgs,
}

/// `almoner ask`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// The question
    pub question: String,
    /// Documents, and directories with all below them
    pub documents: Vec<String>,
    /// Take at most SIZE of documents together, like `20MiB` (10MiB)
    #[arg(long, value_name = "SIZE")]
    pub attachments: Option<String>,
    /// Hand it something
    #[arg(short = 'e', long = "endow", value_name = "NAME=PATH", help = endow_help("NAME"))]
    pub endow: Vec<String>,
    /// Use this model
    #[arg(short = 'm', long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Let only models of `models.private` read the documents and inputs
    #[arg(long)]
    pub private: bool,
    /// Ask once for KEY, however often the command is repeated
    #[arg(long, value_name = "KEY")]
    pub key: Option<RunKey>,
    /// How to follow the run.
    #[command(flatten)]
    pub follow: FollowArgs,
}

/// `almoner save`.
#[derive(Debug, Args)]
pub struct SaveArgs {
    /// The run, or `last`, and the worker's name: `last as NAME`
    #[arg(value_name = "RUN as NAME", required = true, num_args = 1..=3)]
    pub words: Vec<String>,
}

/// `almoner chat`.
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// The worker file [default: the model alone]
    #[arg(value_name = "FILE.worker")]
    pub worker: Option<std::path::PathBuf>,
    /// The worker's inputs: `k=v`, `k:=json`, `k=@file`, or a document
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<String>,
    /// Go on with a conversation: the latest that is open, or this one
    #[arg(short = 'c', long = "continue", value_name = "RUN", num_args = 0..=1, default_missing_value = "")]
    pub go_on: Option<String>,
    /// Hand a slot something, as with `almoner run`
    #[arg(short = 'e', long = "endow", value_name = "SLOT=PATH")]
    pub endow: Vec<String>,
    /// Use this model
    #[arg(short = 'm', long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Do not ask about this method
    #[arg(long, value_name = "SLOT.METHOD")]
    pub allow: Vec<String>,
    /// Let only models of `models.private` read the documents and inputs
    #[arg(long)]
    pub private: bool,
    /// Say how to act when a person is needed
    #[arg(long, value_enum, default_value_t = OnAsk::Prompt, value_name = "HOW")]
    pub on_ask: OnAsk,
}

impl ChatArgs {
    /// Returns the options for following the run of the conversation.
    pub fn follow(&self) -> FollowArgs {
        FollowArgs { on_ask: self.on_ask, json: false, events: false, detach: false, output: None }
    }
}

/// `almoner inbox`.
#[derive(Debug, Args)]
pub struct InboxArgs {
    /// Show this message, or the questions of a batch: `12-61`
    pub message: Option<String>,
    /// Show also answered messages and commands
    #[arg(long)]
    pub all: bool,
    /// Show all of one message: also sources, reasons and long texts
    #[arg(long, requires = "message")]
    pub full: bool,
    /// Go on, and show each message as it comes
    #[arg(long, conflicts_with = "message")]
    pub follow: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

impl InboxArgs {
    /// Returns whether one message is shown in full. Earlier releases took `--all` for it.
    pub fn is_whole(&self) -> bool {
        self.full || self.all
    }
}

/// `almoner runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// List at most N
    #[arg(short = 'n', default_value_t = 20)]
    pub limit: usize,
    /// List also runs that other runs started
    #[arg(long)]
    pub all: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner stats`.
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Count only runs that were started since then, like 30m, 12h, 7d, 2w
    #[arg(long, value_name = "AGO", value_parser = parse_age)]
    pub since: Option<std::time::Duration>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// Parses an age, like `7d`.
fn parse_age(text: &str) -> Result<std::time::Duration, String> {
    let wrong = || "write a number and m, h, d or w, like 7d".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(wrong()),
    };
    let count: u32 = text.trim_end_matches(unit).parse().map_err(|_| wrong())?;
    Ok(std::time::Duration::from_secs(u64::from(count) * seconds))
}

/// `almoner trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// The run, like r17, or `last`, or the name of what code came to
    pub run: Option<String>,
    /// Show also the runs that it started, each below its step
    #[arg(long, conflicts_with_all = ["timeline", "raw", "json"])]
    pub tree: bool,
    /// Show durations as bars: models, tools, waiting for you
    #[arg(long, conflicts_with_all = ["raw", "json"])]
    pub timeline: bool,
    /// Every step of it and of all that it started, as a line of JSON
    #[arg(long, conflicts_with = "json")]
    pub raw: bool,
    /// Show exactly what a model was sent: request N from 1, or `last`
    #[arg(long, value_name = "N", conflicts_with_all = ["tree", "timeline", "raw"])]
    pub request: Option<String>,
    /// With --request: write its exact bytes to FILE (`-`: standard output)
    #[arg(short = 'o', long, value_name = "FILE", requires = "request", conflicts_with = "json")]
    pub output: Option<std::path::PathBuf>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// A run, a step (r17#9), a message, a grant, a name, a slot, or a file
    pub thing: Option<String>,
    /// Show why a name or an identifier is kept: every way from the root
    #[arg(long)]
    pub kept: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner diff`, `almoner apply`.
#[derive(Debug, Args)]
pub struct StagedArgs {
    /// The run, which must be over (the newest, if none is named)
    pub run: Option<String>,
    /// Take only this path, as the run named it or absolute (repeatable)
    #[arg(long, value_name = "PATH")]
    pub only: Vec<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// The run, and which files.
    #[command(flatten)]
    pub staged: StagedArgs,
    /// Take only hunk N of the file of `--only`, from 1 (repeatable)
    #[arg(long, value_name = "N", requires = "only")]
    pub hunk: Vec<usize>,
}

/// `almoner discard`.
#[derive(Debug, Args)]
pub struct DiscardArgs {
    /// The run, which must be over (the newest, if none is named)
    pub run: Option<String>,
    /// Take only this path, as the run named it or absolute (repeatable)
    #[arg(long, value_name = "PATH")]
    pub only: Vec<String>,
    /// Take only hunk N of the file of `--only`, from 1 (repeatable)
    #[arg(long, value_name = "N", requires = "only")]
    pub hunk: Vec<usize>,
}

/// `almoner undo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The run, which must be over (the newest, if none is named)
    pub run: Option<String>,
    /// Take only this path, as the run named it or absolute (repeatable)
    #[arg(long, value_name = "PATH")]
    pub only: Vec<String>,
    /// Show what would be put back, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Put back also where the run's work is too large to be kept
    #[arg(long)]
    pub yes: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner wait`.
#[derive(Debug, Args)]
pub struct WaitArgs {
    /// The run, like r17, or `last`
    pub run: String,
    /// Stop waiting after so many seconds and exit with 9 (0: do not wait)
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// Write the result's exact bytes to FILE (`-`: to standard output)
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<std::path::PathBuf>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

impl WaitArgs {
    /// Returns the options for printing the state in which the run was left.
    pub fn follow(&self) -> FollowArgs {
        FollowArgs {
            on_ask: OnAsk::Prompt,
            json: self.json.json,
            events: false,
            detach: false,
            output: self.output.clone(),
        }
    }
}

/// `almoner resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The run [default: all that stopped, and the latest is followed]
    pub run: Option<String>,
    /// How to follow the run.
    #[command(flatten)]
    pub follow: FollowArgs,
}

/// `almoner demo`.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Show only the first part: a hijacked worker (no download, seconds)
    #[arg(long, conflicts_with = "live")]
    pub hijacked: bool,
    /// Show only the second part: a live model
    #[arg(long)]
    pub live: bool,
    /// Both parts with scripted models, in a store of their own: for tests
    #[arg(long, conflicts_with_all = ["live", "hijacked"])]
    pub scripted: bool,
    /// Use this model in the second part
    #[arg(short = 'm', long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Say yes to the download, and to the one card after showing it
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Use the documents of this folder
    #[arg(long, value_name = "DIR")]
    pub inbox: Option<std::path::PathBuf>,
}

/// `almoner daemon`.
#[derive(Clone, Debug, Args)]
pub struct DaemonArgs {
    /// Started by a client.
    #[arg(long, hide = true)]
    pub on_demand: bool,
    /// End after so many idle seconds (0 is never, a command says 600)
    #[arg(long, value_name = "SECONDS")]
    pub idle: Option<u64>,
}

/// `--json`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct JsonArg {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
