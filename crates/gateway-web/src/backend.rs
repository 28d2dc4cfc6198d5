//! What the pages need of the daemon in whose process they are.

use control::exit::Failure;
use control::protocol::{Request, Response};
use control::talk::{Wanted, With};
use kernel::BlobHash;
use kernel::budget::Raise;
use resource::Endowment;

use crate::guard::sessions::Sessions;

/// The daemon, as the pages see it. Every request is one of the store's own host.
pub trait Backend: Send + Sync + 'static {
    /// Answers a request.
    ///
    /// # Errors
    /// What the person is told when it is not done.
    fn ask(&self, request: Request) -> Result<Response, Failure>;

    /// Tells of every event after `after`, and then of each as it comes, until `tell` says that nobody listens any
    /// more or the daemon ends. `tell` also gets `None`, at least once a second, so that it can look who is there.
    fn follow(&self, after: u64, tell: &mut dyn FnMut(Option<Response>) -> bool);

    /// Keeps the sessions, so that they outlive the daemon.
    ///
    /// # Errors
    /// When they cannot be written.
    fn keep(&self, sessions: &Sessions) -> Result<(), Failure>;

    /// The model that a person names, or that the settings name for runs that name none, as a run stores it.
    ///
    /// # Errors
    /// When it is none, or none is named anywhere.
    fn model(&self, named: Option<&str>) -> Result<String, Failure>;

    /// What a worker wants of whoever would talk with it.
    ///
    /// # Errors
    /// When there is no such worker, something is wrong with its file, or one cannot talk with it.
    fn wanted(&self, with: &With) -> Result<Wanted, Failure>;

    /// Keeps a file that a browser has brought, for a day at least, under the hash that is answered. When this returns, it
    /// is on the disk.
    ///
    /// # Errors
    /// When the disk or the quota does not take it.
    fn bring(&self, bytes: &[u8]) -> Result<BlobHash, Failure>;

    /// What a person has typed of a slot, `SLOT=…`, as behind `-e`; every path begins at the root.
    ///
    /// # Errors
    /// When it is not written as it should be.
    fn endowment(&self, text: &str) -> Result<Endowment, Failure>;

    /// How much more a run may use, as a person has typed it: the option of `almoner approve`, and what stands behind it.
    /// `None` if nothing is said.
    ///
    /// # Errors
    /// When an amount is not written as it should be.
    fn raise(&self, said: &[(&str, String)]) -> Result<Option<Raise>, Failure>;

    /// Random bytes that nobody can guess.
    ///
    /// # Errors
    /// When the machine has none.
    fn random(&self) -> Result<[u8; 32], Failure>;

    /// The time, in milliseconds since 1970.
    fn now_ms(&self) -> i64;
}
