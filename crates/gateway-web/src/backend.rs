//! The interface through which the pages use the daemon. Both run in the same process.

use std::collections::BTreeSet;

use control::examples::{Example, ExampleFolder};
use control::exit::Failure;
use control::folders::FolderList;
use control::protocol::{Request, Response};
use control::run_line::{ChangedFile, RunLine};
use control::settings_report::SettingsReport;
use control::talk::{ChatPartner, ChatSetup, Talker, WorkerUse};
use kernel::budget::Raise;
use kernel::{BlobHash, MessageNumber, RunNumber};
use resource::Endowment;

use crate::guard::sessions::Sessions;

/// The daemon, as the pages use it. Every request is made for the store's own host.
pub trait Backend: Send + Sync + 'static {
    /// Carries out a request of a browser's session and returns the response.
    ///
    /// # Errors
    /// The reason why the request failed, for the user.
    fn ask(&self, session: u64, request: Request) -> Result<Response, Failure>;

    /// Calls `tell` with every event after `after`, and then with each new event. It stops when `tell` returns
    /// `false` or the daemon ends. `tell` also gets `None` at least once a second, so that it can check whether the
    /// browser is still connected.
    fn follow(&self, after: u64, tell: &mut dyn FnMut(Option<Response>) -> bool);

    /// Stores the sessions, so that they outlive the daemon.
    ///
    /// # Errors
    /// When the sessions cannot be written.
    fn keep(&self, sessions: &Sessions) -> Result<(), Failure>;

    /// Returns the model that a user names, in the form in which a run stores it. Without a name, returns the model
    /// of the settings.
    ///
    /// # Errors
    /// When the model is invalid, or neither the user nor the settings name one.
    fn model(&self, named: Option<&str>) -> Result<String, Failure>;

    /// Returns the requirements of a worker for a conversation or a run: its inputs and its slots.
    ///
    /// # Errors
    /// When there is no such worker, its file is invalid, or it cannot be used so.
    fn wanted(&self, with: &ChatPartner, purpose: WorkerUse) -> Result<ChatSetup, Failure>;

    /// Returns the workers that can be chosen for this use: those that have run, and those that have a name.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn known_workers(&self, purpose: WorkerUse) -> Result<Vec<Talker>, Failure>;

    /// Returns the number of documents of a batch on which a model works at the same time.
    fn jobs(&self, model: &str) -> u32;

    /// Lists the directories below a directory of this machine, and its files with this ending. The daemon reads them
    /// with the rights of its user. Without a path, the list is that of the user's home.
    ///
    /// # Errors
    /// When the path is relative, or the directory cannot be read.
    fn folders(&self, at: Option<&str>, ending: Option<&str>) -> Result<FolderList, Failure>;

    /// Returns the examples that are part of the program. The first is the one in which a mail takes over the model.
    fn examples(&self) -> Vec<Example>;

    /// Lays out the files of an example in a new directory.
    ///
    /// # Errors
    /// When there is no such example, or its files cannot be written.
    fn lay_out_example(&self, name: &str) -> Result<ExampleFolder, Failure>;

    /// Returns the input, the result and the changed files of runs, in short.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn run_lines(&self, runs: &[RunNumber]) -> Result<Vec<RunLine>, Failure>;

    /// Returns the files that a run and its descendants have changed, or `None` if there are too many steps to read.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn changed_files(&self, run: RunNumber) -> Result<Option<BTreeSet<ChangedFile>>, Failure>;

    /// Returns the sentence about a waiting message for a notification. It contains nothing that others wrote.
    fn notice(&self, number: MessageNumber) -> Option<String>;

    /// Returns the settings that are in force, without secrets.
    fn settings(&self) -> SettingsReport;

    /// Writes the model for runs that name none into the user's settings.
    ///
    /// # Errors
    /// When there is no such model here, the administrator does not allow it, or the file cannot be changed.
    fn set_default_model(&self, model: &str) -> Result<(), Failure>;

    /// Stores a file that a browser has sent, for at least a day, and returns its hash. When the method returns, the
    /// file is on the disk.
    ///
    /// # Errors
    /// When the disk is full or fails, or the quota is used up.
    fn bring(&self, bytes: &[u8]) -> Result<BlobHash, Failure>;

    /// Parses a slot binding that a user typed as `SLOT=…`, as for `-e`. Every path must begin at the root.
    ///
    /// # Errors
    /// When the text is not a valid binding.
    fn endowment(&self, text: &str) -> Result<Endowment, Failure>;

    /// Parses the amounts by which a run's limits are raised. Each pair is an option of `almoner approve` and the
    /// value that a user typed. Returns `None` if there are no amounts.
    ///
    /// # Errors
    /// When an amount is invalid.
    fn raise(&self, said: &[(&str, String)]) -> Result<Option<Raise>, Failure>;

    /// Returns the warning that the store is damaged, if it is. It counts the rows that requests of this thread have
    /// left out since the last call.
    fn warning(&self) -> Option<Failure>;

    /// Returns random bytes that cannot be guessed.
    ///
    /// # Errors
    /// When the machine has no random source.
    fn random(&self) -> Result<[u8; 32], Failure>;

    /// Returns the number of messages that need an answer.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn waiting(&self) -> Result<usize, Failure>;

    /// Returns the user's home directory, if the system knows it.
    fn home(&self) -> Option<String>;

    /// Returns the present time, in milliseconds since 1970.
    fn now_ms(&self) -> i64;
}
