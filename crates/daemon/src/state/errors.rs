//! The errors of the lower layers, and the failures that users see in their place.

use kernel::command::Fault;
use kernel::txn::StoreFault;
use store::{BackupError, BlobError, ReadError, WriteError};

use control::exit::{Exit, Failure};
use passable::Quoting;

/// An error of the kernel or the store. It becomes a [`Failure`] that keeps it as its source.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// A command or query that the kernel refused.
    #[error(transparent)]
    Kernel(#[from] Fault),
    /// A failure to read or write rows in the store.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// A panic in the closure of a write.
    #[error("a write panicked: {0}")]
    Panicked(String),
    /// A failure to read or keep bytes in the store.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// A failure to copy the store.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

impl<E: Into<DaemonError>> From<ReadError<E>> for DaemonError {
    fn from(error: ReadError<E>) -> DaemonError {
        match error {
            ReadError::Refused(refused) => refused.into(),
            ReadError::Store(fault) => fault.into(),
        }
    }
}

impl<E: Into<DaemonError>> From<WriteError<E>> for DaemonError {
    fn from(error: WriteError<E>) -> DaemonError {
        match error {
            WriteError::Refused(refused) => refused.into(),
            WriteError::Store(fault) => fault.into(),
            WriteError::Panicked(text) => DaemonError::Panicked(text),
        }
    }
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Failure {
        let (exit, help) = match &error {
            DaemonError::Kernel(fault) => advice(fault),
            DaemonError::Store(fault) => (Exit::Failure, store_help(fault).to_owned()),
            DaemonError::Panicked(_) => (Exit::Failure, EXAMINE_HELP.to_owned()),
            DaemonError::Blob(error) => {
                let help = match error {
                    BlobError::OverQuota { .. } => QUOTA_HELP,
                    BlobError::Full { .. } => KEPT_HELP,
                    BlobError::DamagedStore(fault) => store_help(fault),
                    _ => EXAMINE_HELP,
                };
                (Exit::Failure, help.to_owned())
            }
            DaemonError::Backup(error) => backup_advice(error),
        };
        let ours = match &error {
            // Users count entries from 1.
            DaemonError::Kernel(Fault::NoEntry { message, entry, count }) => {
                Some(format!("message {message} has no entry {}; it has {count}", entry.saturating_add(1)))
            }
            // These faults name numbers only.
            DaemonError::Kernel(
                fault @ (Fault::NoRun(_) | Fault::NoMessage(_) | Fault::NotAnApproval(_) | Fault::NoGrant(_)),
            ) => Some(fault.to_string()),
            _ => None,
        };
        let failure = Failure::from_error(exit, error).help(help);
        match ours {
            Some(ours) => failure.saying(Quoting::ours(ours)),
            None => failure,
        }
    }
}

const KEPT_HELP: &str = "nothing that was acknowledged is lost; `almoner doctor` examines the store";
const EXAMINE_HELP: &str = "`almoner doctor` examines the store";
const DAMAGED_HELP: &str =
    "restore a backup (`almoner backup` makes one); `almoner doctor` examines the store";

/// Returns the advice for a fault of the store. Only a disk that takes no more bytes leaves everything as it was.
fn store_help(fault: &StoreFault) -> &'static str {
    match fault {
        StoreFault::Full(_) | StoreFault::Io(_) | StoreFault::ReadOnly(_) => KEPT_HELP,
        StoreFault::Corrupt(_) => DAMAGED_HELP,
        StoreFault::Closed => EXAMINE_HELP,
    }
}

const QUOTA_HELP: &str =
    "remove what is not needed any more, or start the daemon with a larger ALMONER_BLOB_QUOTA";

/// Returns the exit code and the advice for a refusal of the kernel.
fn advice(fault: &Fault) -> (Exit, String) {
    let plain = |exit: Exit, help: &str| (exit, help.to_owned());
    match fault {
        Fault::Store(fault) => plain(Exit::Failure, store_help(fault)),
        Fault::NoRun(_) => plain(Exit::NotFound, "see `almoner runs`"),
        Fault::NoMessage(_) | Fault::NotAnApproval(_) => plain(Exit::NotFound, "see `almoner inbox`"),
        Fault::NoEntry { message, .. } => (Exit::NotFound, format!("`almoner inbox {message}` shows them")),
        Fault::OutOfOrder { .. } | Fault::Cancelled(_) | Fault::NoToken | Fault::Withdrawn(_) => {
            plain(Exit::Conflict, "")
        }
        Fault::UnknownName(_) | Fault::NotADirectory(_) => {
            plain(Exit::NotFound, "`almoner list` shows the names")
        }
        Fault::NoReference { number, .. } => {
            (Exit::NotFound, format!("`almoner inbox {number}` shows the message"))
        }
        Fault::NoGrant(_) => plain(Exit::NotFound, "see `almoner grants`"),
        Fault::Name(_) => plain(Exit::Usage, "a name has no `/`, `@` or NUL; a path has `/` between names"),
        Fault::NotHeld(_) | Fault::NotAllowed(_) | Fault::Revoked(_) => plain(Exit::Denied, ""),
        Fault::Misfit { .. } => plain(Exit::Invalid, ""),
        Fault::WrongKind { number, .. } => {
            (Exit::Conflict, format!("`almoner inbox {number}` shows the message"))
        }
        Fault::Taken(_) => plain(Exit::Conflict, "`almoner remove` takes a name away"),
        Fault::NotAsSeen { .. } => plain(Exit::Conflict, "look again, and choose again"),
        Fault::DoneMeanwhile(_) => {
            plain(Exit::Conflict, "look at what came of it; if it is to be done again, do it again")
        }
        Fault::KeyConflict { run, .. } => (
            Exit::Conflict,
            format!("`almoner why {run}` shows how that run was started; another run needs another key"),
        ),
        // The text of this fault already tells the user how to go on.
        Fault::LooksLike { .. } => plain(Exit::Conflict, ""),
        Fault::Hides { .. } => plain(Exit::Conflict, "choose another name"),
        Fault::NotSupported(_) => plain(Exit::Usage, ""),
        Fault::Genesis(_) | Fault::Dangling(_) => plain(Exit::Failure, "`almoner doctor` examines the store"),
    }
}

/// Returns the exit code and the advice for a failed copy of the store.
fn backup_advice(error: &BackupError) -> (Exit, String) {
    let exit = match error {
        BackupError::Exists { .. } => Exit::Conflict,
        BackupError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Exit::NotFound,
        _ => Exit::Failure,
    };
    let help = match error {
        BackupError::Exists { .. } => "choose a name at which there is nothing; no copy is ever replaced",
        BackupError::Blob(_) | BackupError::Rows(StoreFault::Corrupt(_)) => {
            "`almoner doctor` says what is damaged; nothing was copied"
        }
        BackupError::Rows(_) | BackupError::Io { .. } => {
            "the directory that it goes into must be there, writable, and have room"
        }
    };
    (exit, help.to_owned())
}
