//! The command line of agents, names and mail: types only.

use clap::{Args, Subcommand, ValueEnum};
use kernel::run::ResultGoesTo;

use super::{FollowArgs, JsonArg};

/// The verbs for agents, names and mail.
#[derive(Debug, Subcommand)]
pub enum AgentVerb {
    /// List the names in a directory, or your own
    #[command(hide = true)]
    List(ListArgs),
    /// Show the value of a name, or of a settled promise
    #[command(hide = true)]
    Show(ShowArgs),
    /// Print the bytes or the text that a name stands for
    #[command(hide = true)]
    Cat(CatArgs),
    /// Keep values under names
    #[command(hide = true)]
    Store(StoreArgs),
    /// Give a name to something that you hold, by its identifier
    #[command(hide = true)]
    Name(NameArgs),
    /// Give what one name stands for another name too
    #[command(hide = true)]
    Copy(FromToArgs),
    /// Give what one name stands for another name instead
    #[command(hide = true)]
    Move(FromToArgs),
    /// Take names away
    #[command(hide = true)]
    Remove(NamesArgs),
    /// Make directories of names
    #[command(hide = true)]
    Mkdir(NamesArgs),
    /// Name a directory of this machine, to hand it to code and agents
    #[command(hide = true)]
    Mount(MountArgs),
    /// Make a guest: an agent that holds only what it is given
    #[command(hide = true)]
    Mkguest(MakeArgs),
    /// Make a host: an agent that acts for a person and may endow
    #[command(hide = true)]
    Mkhost(MakeArgs),
    /// Make a token that hands on one thing, once
    #[command(hide = true)]
    Share(ShareArgs),
    /// Use a token: what it hands on gets a name of yours
    #[command(hide = true)]
    Accept(AcceptArgs),
    /// Make something that can do less than what you have, to hand it on
    #[command(hide = true)]
    Narrow(super::narrow::NarrowArgs),
    /// List the grants that you gave
    #[command(hide = true)]
    Grants(JsonArg),
    /// End a grant, and with it every grant that was made of it
    #[command(hide = true)]
    Revoke(RevokeArgs),
    /// End a run, or what a name stands for with all that depends on it
    #[command(hide = true)]
    Cancel(CancelArgs),
    /// Make again what code made, in the engine of this program
    #[command(hide = true)]
    Remake(RemakeArgs),
    /// Make a timer that sends messages, or begin or end to get them
    #[command(hide = true)]
    Timer(TimerArgs),
    /// Send text, with things of yours in it: `@name` or `@name:edge`
    #[command(hide = true)]
    Send(SendArgs),
    /// Answer a message with text
    #[command(hide = true)]
    Reply(ReplyArgs),
    /// Give a name to something that came with a message
    #[command(hide = true)]
    Adopt(AdoptArgs),
    /// Hide messages and drop what they refer to
    #[command(hide = true)]
    Dismiss(DismissArgs),
    /// Ask for something
    #[command(hide = true)]
    Request(RequestArgs),
    /// Answer a request with what a name stands for
    #[command(hide = true)]
    Resolve(ResolveArgs),
    /// Refuse what a message asks for
    #[command(hide = true)]
    Reject(RejectArgs),
    /// Ask for a record of values
    #[command(hide = true)]
    Form(FormArgs),
    /// Fill in a form
    #[command(hide = true)]
    Submit(SubmitArgs),
    /// Propose a worker file or code, which somebody else may endow
    #[command(hide = true)]
    Define(DefineArgs),
    /// Propose a changed copy of a program that was proposed to you
    #[command(hide = true)]
    Edit(EditArgs),
    /// Fill the slots of a proposed program with what is yours, and start it
    #[command(hide = true)]
    Endow(EndowArgs),
    /// Ask that code be run over things that you hold
    #[command(hide = true)]
    RequestEvaluation(RequestEvaluationArgs),
    /// Run code over what you name and nothing else, and print its result
    #[command(hide = true)]
    Eval(EvalArgs),
    /// Run a program of modules, confined, and print what its `make` makes
    #[command(hide = true)]
    Make(MakeModulesArgs),
}

/// `almoner list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// A directory, like `mine/reports`
    #[arg(value_name = "PATH")]
    pub path: Option<String>,
    /// Show what each name stands for, too
    #[arg(short = 'l', long)]
    pub long: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The name
    pub name: String,
    /// If it is a promise, wait until it has come to something
    #[arg(long)]
    pub wait: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner cat`.
#[derive(Debug, Args)]
pub struct CatArgs {
    /// The name
    pub name: String,
}

/// `almoner store`.
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// `NAME=text`, `NAME:=json`, `NAME=@file`, or `NAME=-` (standard input)
    #[arg(value_name = "NAME=VALUE", required = true)]
    pub values: Vec<String>,
    /// Take the name even if it looks like another one in its directory
    #[arg(long)]
    pub force: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner name`.
#[derive(Debug, Args)]
pub struct NameArgs {
    /// The identifier, as `list -l --json` shows it
    pub id: String,
    /// The name
    pub name: String,
    /// Take the name even if it looks like another one in its directory
    #[arg(long)]
    pub force: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner copy` and `almoner move`.
#[derive(Debug, Args)]
pub struct FromToArgs {
    /// The name that there is
    pub from: String,
    /// The new one
    pub to: String,
    /// Take the name even if it looks like another one in its directory
    #[arg(long)]
    pub force: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner remove` and `almoner mkdir`.
#[derive(Debug, Args)]
pub struct NamesArgs {
    /// The names
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner mount`.
#[derive(Debug, Args)]
pub struct MountArgs {
    /// The directory
    #[arg(value_name = "DIRECTORY")]
    pub directory: String,
    /// Its name
    pub name: String,
    /// Let it be read, and not written
    #[arg(long)]
    pub read_only: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner mkguest` and `almoner mkhost`.
#[derive(Debug, Args)]
pub struct MakeArgs {
    /// The name to which you send mail
    pub name: String,
    /// The name of the agent itself, for `--as` [default: profile-for-NAME]
    pub agent: Option<String>,
    /// Give it something of yours from the beginning, under a name there
    #[arg(long, value_name = "MINE[=THEIRS]")]
    pub introduce: Vec<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner share`.
#[derive(Debug, Args)]
pub struct ShareArgs {
    /// The name of the thing to share
    pub name: String,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner accept`.
#[derive(Debug, Args)]
pub struct AcceptArgs {
    /// The token, or `-` for standard input, which no list shows
    pub token: String,
    /// The name for what it hands on
    pub name: String,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner revoke`.
#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// `g4`, or the name of something that you granted once
    pub grant: String,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner cancel`.
#[derive(Debug, Args)]
pub struct CancelArgs {
    /// `r17`, `last` for the newest run, or a name, also of a promise
    pub thing: String,
    /// Show this reason to those who wait for it
    #[arg(short = 'r', long, default_value = "")]
    pub reason: String,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner remake`.
#[derive(Debug, Args)]
pub struct RemakeArgs {
    /// The name of what the code came to, or of an object that it has made
    pub name: String,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner timer`.
#[derive(Debug, Args)]
pub struct TimerArgs {
    /// The timer's name
    pub name: String,
    /// The time from tick to tick, like `10m` (without it: an old timer)
    #[arg(value_name = "EVERY", conflicts_with = "off")]
    pub every: Option<String>,
    /// Say its purpose, which each message repeats
    #[arg(short = 'l', long, requires = "every")]
    pub label: Option<String>,
    /// Get no more messages (`almoner cancel NAME` ends the timer for all)
    #[arg(long)]
    pub off: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner send`.
#[derive(Debug, Args)]
pub struct SendArgs {
    /// To whom
    pub to: String,
    /// The text. `@name` or `@name:edge` adds a thing of yours, `@@` is an @
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner reply`.
#[derive(Debug, Args)]
pub struct ReplyArgs {
    /// The message that is answered
    pub message: String,
    /// The text, in which `@name` adds something of yours
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner adopt`.
#[derive(Debug, Args)]
pub struct AdoptArgs {
    /// The message
    pub message: String,
    /// The name that the sender gave it
    pub edge: String,
    /// Your name for it [default: the same]
    pub name: Option<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner dismiss`.
#[derive(Debug, Args)]
pub struct DismissArgs {
    /// The messages
    #[arg(value_name = "MESSAGE", required_unless_present = "all")]
    pub messages: Vec<String>,
    /// Every message that needs no answer
    #[arg(long, conflicts_with = "messages")]
    pub all: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// The options for the promise that a question returns.
#[derive(Clone, Debug, Args)]
pub struct PromiseArgs {
    /// Keep the promise under NAME (the same command attaches to it again)
    #[arg(long, value_name = "NAME")]
    pub result: Option<String>,
    /// Wait for the answer, and print it
    #[arg(long)]
    pub wait: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner request`.
#[derive(Debug, Args)]
pub struct RequestArgs {
    /// Whom
    pub to: String,
    /// A description of the thing that you ask for
    pub description: String,
    /// Its promise.
    #[command(flatten)]
    pub ask: PromiseArgs,
}

/// `almoner resolve`.
#[derive(Debug, Args)]
pub struct ResolveArgs {
    /// The request
    pub message: String,
    /// The answer, by its name
    pub name: Option<String>,
    /// Answer a run with text
    #[arg(long, conflicts_with_all = ["name", "endow"])]
    pub text: Option<String>,
    /// Fill the slot that a run has named, as with `almoner run -e`
    #[arg(short = 'e', long = "endow", value_name = "SLOT=…", conflicts_with = "name")]
    pub endow: Option<String>,
    /// Say the kind of slot
    #[arg(long, value_name = "KIND", help = is_help())]
    pub is: Option<String>,
    /// Do not ask about this method
    #[arg(long, value_name = "SLOT.METHOD")]
    pub allow: Vec<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner reject`.
#[derive(Debug, Args)]
pub struct RejectArgs {
    /// The message
    pub message: String,
    /// Give the sender this reason
    #[arg(short = 'r', long, default_value = "")]
    pub reason: String,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner form`.
#[derive(Debug, Args)]
pub struct FormArgs {
    /// Whom
    pub to: String,
    /// A description of the thing that you ask for
    pub description: String,
    /// `name:pattern` or `name:pattern=label`, like `n:1..5='How many?'`
    #[arg(value_name = "FIELD", required_unless_present = "file")]
    pub fields: Vec<String>,
    /// Read the fields from a file in YAML or JSON, like `NAME: PATTERN`
    #[arg(long, value_name = "FILE")]
    pub file: Option<std::path::PathBuf>,
    /// Let it be filled in more than once
    #[arg(long)]
    pub repeatable: bool,
    /// Its promise.
    #[command(flatten)]
    pub ask: PromiseArgs,
}

/// `almoner submit`.
#[derive(Debug, Args)]
pub struct SubmitArgs {
    /// The form
    pub message: String,
    /// `field=text`, `field:=json`, `field=@file`, or `field=NAME` of yours
    #[arg(value_name = "FIELD=VALUE")]
    pub values: Vec<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner define`.
#[derive(Debug, Args)]
pub struct DefineArgs {
    /// A worker file, a file with JavaScript, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Send it to this agent
    #[arg(long, value_name = "NAME", default_value = "@host")]
    pub to: String,
    /// Give code a slot: `name:pattern` or `name:pattern=label`
    #[arg(long, value_name = "SLOT")]
    pub slot: Vec<String>,
    /// Its promise.
    #[command(flatten)]
    pub ask: PromiseArgs,
}

/// `almoner edit`.
#[derive(Debug, Args)]
pub struct EditArgs {
    /// The message with the program
    pub message: String,
    /// The changed program: a worker file, a file with JavaScript, or `-`
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Give code this slot (without any, the slots stay as they were)
    #[arg(long, value_name = "SLOT")]
    pub slot: Vec<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// The recipient of the result of an endowed program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GoesTo {
    /// The proposer, if it is data (asks before giving a capability)
    Guest,
    /// The proposer, including capabilities in it
    GuestCaps,
    /// Only you
    Me,
}

impl From<GoesTo> for ResultGoesTo {
    fn from(to: GoesTo) -> ResultGoesTo {
        match to {
            GoesTo::Guest => ResultGoesTo::GuestData,
            GoesTo::GuestCaps => ResultGoesTo::GuestCapabilities,
            GoesTo::Me => ResultGoesTo::Host,
        }
    }
}

/// Returns the help of the option that says the kind of a slot.
fn is_help() -> String {
    format!("The kind of slot, where the answer does not say, or less: {}", resource::labels())
}

/// `almoner endow`.
#[derive(Debug, Args)]
pub struct EndowArgs {
    /// The message with the program
    pub message: String,
    /// `slot=NAME` of yours, and inputs and documents of a worker
    #[arg(value_name = "SLOT=NAME|INPUT")]
    pub inputs: Vec<String>,
    /// Hand a slot something
    #[arg(short = 'e', long = "endow", value_name = "SLOT=PATH", help = super::endow_help("SLOT"))]
    pub endow: Vec<String>,
    /// Say who gets the result
    #[arg(long, value_enum, default_value_t = GoesTo::Guest, value_name = "WHOM")]
    pub to: GoesTo,
    /// Keep a promise for the result under this name of yours
    #[arg(long, value_name = "NAME")]
    pub result: Option<String>,
    /// Use this model for a worker
    #[arg(short = 'm', long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Do not ask about this method, which must not be one that sends
    #[arg(long, value_name = "SLOT.METHOD")]
    pub allow: Vec<String>,
    /// How to follow the run.
    #[command(flatten)]
    pub follow: FollowArgs,
}

/// `almoner eval`.
#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The code, `@FILE`, or `-` for standard input
    pub source: String,
    /// A name in the code and your name for it: NAME or IN-THE-CODE=NAME
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Keep the promise for the result under this name
    #[arg(long = "name", value_name = "NAME")]
    pub result: Option<String>,
    /// Do not wait for the result
    #[arg(long)]
    pub detach: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// `almoner make`.
#[derive(Debug, Args)]
#[command(after_help = MAKE_HELP)]
pub struct MakeModulesArgs {
    /// A directory, a ZIP file, or a name of an archive, a bundle or a tree
    #[arg(value_name = "PATH|NAME")]
    pub program: String,
    /// Hand `make` these powers, by a name of yours [default: none]
    #[arg(long, value_name = "NAME")]
    pub powers: Option<String>,
    /// Give `make` a variable, as `env.KEY`
    #[arg(long, value_name = "KEY=VALUE")]
    pub env: Vec<String>,
    /// Keep the promise for what it makes under this name
    #[arg(long = "name", value_name = "NAME")]
    pub result: Option<String>,
    /// Do not wait for it
    #[arg(long)]
    pub detach: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

/// The help text of `almoner make`: the form of a program of modules.
const MAKE_HELP: &str = "\
A directory is one package: its first module is what `exports` or `main` in package.json says, or index.js, and its
modules import each other by relative paths. Files that end in .js, .mjs, .json, .txt and .md are taken, but for those
with a dot before their names and those in node_modules. A ZIP file is an archive of sources with a
compartment-map.json, as Endo's tools write it. A path on the disk takes precedence over a name in the store.

The first module exports `make(powers, context, { env, state })`. It reaches its powers and nothing else: no files, no
network, no clock, no built-in modules.";

/// `almoner request-evaluation`.
#[derive(Debug, Args)]
pub struct RequestEvaluationArgs {
    /// The code, `@FILE`, or `-` for standard input
    pub source: String,
    /// A name in the code and your name for it: NAME or IN-THE-CODE=NAME
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Its promise.
    #[command(flatten)]
    pub ask: PromiseArgs,
}
