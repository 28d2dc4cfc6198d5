//! What a client hands to the slots of a run.

use std::collections::BTreeMap;

use kernel::grant::Rate;
use kernel::programs::Setting;
use kernel::repository::Author;
use kernel::secret::HandedSecret;
use kernel::web::Web;
use passable::Effect;
use serde::{Deserialize, Serialize};

/// What a person binds to a slot: `-e SLOT=…`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endowment {
    /// The slot.
    pub slot: String,
    /// What fills it.
    pub fill: Fill,
}

/// What a person binds to a slot without having a name for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fill", rename_all = "snake_case")]
pub enum Fill {
    /// A directory, or, for a slot that wants a worker, a file: `PATH[:rw][?suffix=.pdf&max=10MiB&total=1GiB&methods=read&rate=10/min]`.
    Path(PathFill),
    /// Programs of this machine: `program:NAME,PATH[?dir=PATH[:rw]&net=yes&env.NAME=secret:SECRET&…]`.
    Program(ProgramFill),
    /// A part of the web: `https://HOST[:PORT][/PATH][?methods=GET,POST&key=SECRET&…]`.
    Web(WebFill),
    /// A repository: `git:PATH[:rw][?author=NAME <ADDRESS>&methods=…]`.
    Git(GitFill),
    /// Another model: `model:REFERENCE[?tokens=200k&usd=0.50&key=SECRET]`.
    Model(ModelFill),
    /// A secret of the vault, to be handed on unseen: `secret:NAME[?env=VARIABLE&for=PROGRAM]`.
    Secret(HandedSecret),
    /// The clock of this machine: `clock`.
    Clock,
    /// For a slot that wants a worker: the one that has the slot, once more: `self`.
    Myself,
    /// Tools of a server that the user has configured: `mcp:NAME[TOOL,TOOL:reads][?max=1MiB&time=60s]`.
    Mcp(McpFill),
}

/// What stands before the names of programs.
pub const PROGRAM: &str = "program:";

/// What stands before the name of a variable.
pub const VARIABLE: &str = "env.";

/// A model, and how much of it is handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFill {
    /// The model, or several that are asked in turn, or the user's own name for one.
    pub model: String,
    /// How many tokens all calls together may read and write.
    pub tokens: Option<u64>,
    /// What all calls together may cost, in millionths of a dollar.
    pub usd_micros: Option<u64>,
    /// The secret of the vault that is its key.
    #[serde(default)]
    pub key: Option<String>,
}

impl ModelFill {
    /// What is handed over, as the person reads it.
    pub fn words(&self) -> String {
        let mut words = format!("model {}", self.model);
        if let Some(key) = &self.key {
            words += &format!(", with the secret {key}");
        }
        if let Some(tokens) = self.tokens {
            words += &format!(", at most {tokens} tokens");
        }
        if let Some(micros) = self.usd_micros {
            words += &format!(", at most ${:.2}", micros as f64 / 1e6);
        }
        words
    }
}

/// A repository of this machine, and what of it is handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitFill {
    /// The absolute path of its working tree.
    pub path: String,
    /// Whether it may be changed.
    pub write: bool,
    /// In whose name is committed.
    pub author: Option<Author>,
    /// Only these of the methods that the slot has; empty means all.
    pub methods: Vec<String>,
    /// Whether what is read there may only be read by models that may read what is private.
    #[serde(default)]
    pub private: bool,
}

impl GitFill {
    /// What is handed over, as the person reads it.
    pub fn words(&self) -> String {
        let manner = if self.write { "may be read and committed to" } else { "may be read" };
        let mut words = format!("repository {} ({manner})", self.path);
        if let Some(author) = &self.author {
            words += &format!(", as {author}");
        }
        if !self.methods.is_empty() {
            words += &format!(", only {}", self.methods.join(", "));
        }
        if self.private {
            words += ", private";
        }
        words
    }
}

/// Programs of this machine, and what they reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFill {
    /// Each program's name, and where its file lies.
    pub programs: Vec<(String, String)>,
    /// Each directory by absolute path, and whether it may be written. The first is where they begin.
    pub directories: Vec<(String, bool)>,
    /// Whether they may open connections.
    pub network: bool,
    /// Whether each may start other programs.
    pub starts_others: bool,
    /// What they find in their environment beside the usual.
    #[serde(default)]
    pub environment: BTreeMap<String, Setting>,
    /// How long one call may take, in milliseconds.
    pub wall_ms: Option<u64>,
    /// How much memory a call may use, in bytes.
    pub memory: Option<u64>,
    /// How many bytes of output are handed back.
    pub output: Option<u64>,
}

impl ProgramFill {
    /// What is handed over, as the person reads it.
    pub fn words(&self) -> String {
        let names: Vec<&str> = self.programs.iter().map(|(_, path)| path.as_str()).collect();
        let mut text = format!("may run {}", names.join(", "));
        for (path, write) in &self.directories {
            text += &format!("; {path} ({})", if *write { "may be read and written" } else { "may be read" });
        }
        text += if self.network { "; with network" } else { "; no network" };
        if self.starts_others {
            text += "; may start others";
        }
        for (variable, setting) in &self.environment {
            text += &match setting {
                Setting::Text(value) => format!("; {variable}={value}"),
                Setting::Secret(name) => format!("; {variable} from the secret {name}"),
            };
        }
        text
    }

    /// The same as it is written on a command line.
    pub fn typed(&self) -> String {
        let names: Vec<&str> = self.programs.iter().map(|(_, path)| path.as_str()).collect();
        let mut parts: Vec<String> = Vec::new();
        for (path, write) in &self.directories {
            parts.push(format!("dir={path}{}", if *write { ":rw" } else { "" }));
        }
        for (key, on) in [("net", self.network), ("exec", self.starts_others)] {
            parts.extend(on.then(|| format!("{key}=yes")));
        }
        for (variable, setting) in &self.environment {
            parts.push(match setting {
                Setting::Text(value) => format!("{VARIABLE}{variable}={value}"),
                Setting::Secret(name) => format!("{VARIABLE}{variable}=secret:{name}"),
            });
        }
        let query = if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&")) };
        format!("{PROGRAM}{}{query}", names.join(","))
    }
}

/// A part of the web, and what of it is handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebFill {
    /// What is handed over.
    pub web: Web,
    /// No body larger than this many bytes, either way.
    pub max_bytes: Option<u64>,
    /// No more requests than these.
    #[serde(default)]
    pub rate: Option<Rate>,
}

/// Tools of a server that the user has configured, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpFill {
    /// The server.
    pub server: String,
    /// The tools, each with what the user says that it does.
    pub tools: Vec<(String, Effect)>,
    /// No arguments and no result larger than this many bytes.
    pub max_bytes: Option<u64>,
    /// How long one call may take, in milliseconds.
    pub call_ms: Option<u64>,
    /// No more calls than these.
    #[serde(default)]
    pub rate: Option<Rate>,
}

impl McpFill {
    /// What is handed over, as the person reads it.
    pub fn words(&self) -> String {
        let tools: Vec<&str> = self.tools.iter().map(|(tool, _)| tool.as_str()).collect();
        format!("{} of the server {}", tools.join(", "), self.server)
    }
}

/// A path of this machine, and what of it is handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathFill {
    /// The absolute path.
    pub path: String,
    /// Whether it may be written.
    pub write: bool,
    /// Whether changes go to a staged copy.
    #[serde(default)]
    pub stage: bool,
    /// Only names that end in one of these.
    pub suffixes: Vec<String>,
    /// No file larger than this many bytes.
    pub max_bytes: Option<u64>,
    /// No change after which everything in the directory has more than this many bytes.
    #[serde(default)]
    pub total_bytes: Option<u64>,
    /// Only these of the methods that the slot has; empty means all.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Whether what is read there may only be read by models that may read what is private.
    #[serde(default)]
    pub private: bool,
    /// No more calls than these.
    #[serde(default)]
    pub rate: Option<Rate>,
}
