//! The interface through which the pages use the daemon. Both run in the same process.

use control::exit::Failure;
use control::protocol::{Request, Response};
use control::talk::{ChatPartner, ChatSetup};
use kernel::BlobHash;
use kernel::budget::Raise;
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

    /// Returns the requirements of a worker for a conversation: its inputs and its slots.
    ///
    /// # Errors
    /// When there is no such worker, its file is invalid, or it cannot hold a conversation.
    fn wanted(&self, with: &ChatPartner) -> Result<ChatSetup, Failure>;

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
