//! The messages for a person when the kernel or the store refuses.

use kernel::command::Fault;

use control::exit::{Exit, Failure};

/// Returns the failure of a store that cannot be read or written.
pub fn store_failure(what: String) -> Failure {
    Failure::new(Exit::Failure, what)
        .help("nothing that was acknowledged is lost; `almoner doctor` examines the store")
}

/// Returns the failure that a kernel's fault is.
pub fn fault_failure(fault: &Fault) -> Failure {
    match fault {
        Fault::Store(_) => store_failure(fault.to_string()),
        Fault::NoRun(_) => Failure::new(Exit::NotFound, fault.to_string()).help("see `almoner runs`"),
        Fault::NoMessage(_) | Fault::NotAnApproval(_) => {
            Failure::new(Exit::NotFound, fault.to_string()).help("see `almoner inbox`")
        }
        // People count entries from 1.
        Fault::NoEntry { message, entry, count } => Failure::new(
            Exit::NotFound,
            format!("message {message} has no entry {}; it has {count}", entry.saturating_add(1)),
        )
        .help(format!("`almoner inbox {message}` shows them")),
        Fault::OutOfOrder { .. } | Fault::Cancelled(_) | Fault::NoToken | Fault::Withdrawn(_) => {
            Failure::new(Exit::Conflict, fault.to_string())
        }
        Fault::UnknownName(_) | Fault::NotADirectory(_) => {
            Failure::new(Exit::NotFound, fault.to_string()).help("`almoner list` shows the names")
        }
        Fault::NoReference { number, .. } => Failure::new(Exit::NotFound, fault.to_string())
            .help(format!("`almoner inbox {number}` shows the message")),
        Fault::NoGrant(_) => Failure::new(Exit::NotFound, fault.to_string()).help("see `almoner grants`"),
        Fault::Name(_) => Failure::new(Exit::Usage, fault.to_string())
            .help("a name has no `/`, `@` or NUL; a path has `/` between names"),
        Fault::NotHeld(_) | Fault::NotAllowed(_) | Fault::Revoked(_) => {
            Failure::new(Exit::Denied, fault.to_string())
        }
        Fault::Misfit { .. } => Failure::new(Exit::Invalid, fault.to_string()),
        Fault::WrongKind { number, .. } => Failure::new(Exit::Conflict, fault.to_string())
            .help(format!("`almoner inbox {number}` shows the message")),
        Fault::Taken(_) => {
            Failure::new(Exit::Conflict, fault.to_string()).help("`almoner remove` takes a name away")
        }
        Fault::NotAsSeen { .. } => {
            Failure::new(Exit::Conflict, fault.to_string()).help("look again, and choose again")
        }
        Fault::DoneMeanwhile(_) => Failure::new(Exit::Conflict, fault.to_string())
            .help("look at what came of it; if it is to be done again, do it again"),
        // Its text says the way out.
        Fault::LooksLike { .. } => Failure::new(Exit::Conflict, fault.to_string()),
        Fault::Hides { .. } => Failure::new(Exit::Conflict, fault.to_string()).help("choose another name"),
        Fault::NotSupported(_) => Failure::new(Exit::Usage, fault.to_string()),
        Fault::Genesis(_) | Fault::Dangling(_) => {
            Failure::new(Exit::Failure, fault.to_string()).help("`almoner doctor` examines the store")
        }
    }
}
