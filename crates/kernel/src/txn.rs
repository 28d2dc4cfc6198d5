//! The kernel's only view of a store: a transaction over a fixed list of tables.
//!
//! The caller passes a [`Txn`] to the kernel, which never opens, commits or rolls back one. The traits are small on
//! purpose: every implementation (SQLite, PostgreSQL, a map in a test) must pass one conformance suite.

use serde::{Serialize, de::DeserializeOwned};

/// Makes the tables from one list, so that none can be left out of [`Table::ALL`].
macro_rules! tables {
    ($($(#[doc = $says:literal])+ $table:ident = $name:literal,)+) => {
        /// A table of the store. Rows are keyed by an owner and a key whose byte order is the order of the table. The
        /// owner is an agent, 32 bytes; it is all zero for rows that belong to no agent.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Table {
            $($(#[doc = $says])+ $table,)+
        }

        impl Table {
            /// All tables, in the order in which a store creates them.
            pub const ALL: [Table; [$($name),+].len()] = [$(Table::$table),+];

            /// Returns the table's name in a store, lower case with underscores.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Table::$table => $name,)+
                }
            }
        }
    };
}

tables! {
    /// Facts about the store itself: the node's number, the host, counters.
    Meta = "meta",
    /// Formulas by number.
    Formula = "formula",
    /// Pet names: directory and name to formula.
    PetName = "pet_name",
    /// Mailboxes: the next message number.
    Mailbox = "mailbox",
    /// Messages by mailbox and number.
    Message = "message",
    /// Promises: pending, fulfilled or rejected.
    Promise = "promise",
    /// Runs by number.
    Run = "run",
    /// The journal: steps by run and number.
    Journal = "journal",
    /// Grants by number.
    Grant = "grants",
    /// Permissions that approvals made and no effect has consumed.
    Permission = "permission",
    /// Tasks that must still be done outside of the store.
    Outbox = "outbox",
    /// Every observable change, by sequence number, hash-chained.
    Event = "event",
    /// The size and the provenance of bytes addressed by content.
    Blob = "blob",
    /// The references to formulas, by the formula to which they lead.
    Edge = "edge",
    /// The formulas that an agent holds, each with the reason.
    Held = "held",
    /// Unused sharing tokens, by their hash.
    Token = "token",
    /// The work list and the progress of the collector.
    Collector = "collector",
    /// Messages that wait for an answer, by mailbox and number as the messages themselves. So a search for them does
    /// not read all mail.
    Awaiting = "awaiting",
    /// Small bytes that are addressed by their content. They are written in the transaction of the first row that
    /// names them.
    Bytes = "bytes",
    /// The runs whose effects named a file, by the last part of the file's path and by the run. `why FILE` reads them.
    FileRun = "file_run",
    /// The moves of directories, each with the records that it changed. The audit reads them.
    Relocation = "relocation",
}

/// The owner of a row: the number of an agent's formula.
pub type Owner = [u8; 32];

/// The owner of rows that belong to no agent.
pub const NO_OWNER: Owner = [0; 32];

/// A key and a row as a store holds them.
pub type RawRow = (Vec<u8>, Vec<u8>);

/// The reason why a store could not serve a transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFault {
    /// The disk or the quota is full; nothing of the transaction was kept.
    #[error("the disk is full: {0}")]
    Full(String),
    /// The store can be read but not written.
    #[error("the store is read-only: {0}")]
    ReadOnly(String),
    /// The data that was read differs from the data that was written.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// The store has shut down.
    #[error("the store is closed")]
    Closed,
    /// Any other failure of the medium.
    #[error("the store failed: {0}")]
    Io(String),
}

/// A read-only view of one consistent state of the store.
pub trait ReadTxn {
    /// Returns the row at `key`, if there is one.
    fn get(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFault>;

    /// Returns at most `limit` rows with `from <= key < to` in key order, or in falling key order if `reverse`. An
    /// empty `to` means "to the end of the owner's rows".
    fn range(
        &mut self,
        table: Table,
        owner: &Owner,
        from: &[u8],
        to: &[u8],
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<RawRow>, StoreFault>;

    /// Returns whether this view of a damaged store leaves out rows that cannot be given, and counts this one. `row`
    /// tells it from others of the table.
    fn leaves_out(&mut self, table: Table, row: &[u8]) -> bool {
        let _ = (table, row);
        false
    }

    /// Takes note of damage that showed when a row was decoded.
    fn note_damage(&mut self, fault: &StoreFault) {
        let _ = fault;
    }
}

/// A read-write transaction. It sees its own writes.
pub trait Txn: ReadTxn {
    /// Inserts or replaces a row. `provenance` goes to a column of its own beside the row, so that a query can read
    /// the sources of rows without decoding them.
    fn put(
        &mut self,
        table: Table,
        owner: &Owner,
        key: &[u8],
        row: &[u8],
        provenance: Option<&[u8]>,
    ) -> Result<(), StoreFault>;

    /// Removes a row. A missing row is no error.
    fn delete(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<(), StoreFault>;
}

/// Returns a row as JSON, the only format of rows, which newer versions can still read.
pub fn encode_row<T: Serialize>(row: &T) -> Result<Vec<u8>, StoreFault> {
    /// The initial capacity of the buffer. Most rows are shorter, so that the buffer does not have to grow.
    const ROOM: usize = 512;
    let mut bytes = Vec::with_capacity(ROOM);
    serde_json::to_writer(&mut bytes, row)
        .map_err(|e| StoreFault::Io(format!("a row could not be written: {e}")))?;
    Ok(bytes)
}

/// Reads a row that [`encode_row`] wrote.
pub fn decode_row<T: DeserializeOwned>(table: Table, bytes: &[u8]) -> Result<T, StoreFault> {
    serde_json::from_slice(bytes)
        .map_err(|_| StoreFault::Corrupt(format!("a row of `{}` cannot be read", table.name())))
}

/// Reads a row of a view, or returns `None` for a row that holds no readable data, if the view leaves such rows out.
///
/// # Errors
/// When the row cannot be read, and the view leaves nothing out.
pub fn read_row<T: DeserializeOwned>(
    txn: &mut dyn ReadTxn,
    table: Table,
    bytes: &[u8],
) -> Result<Option<T>, StoreFault> {
    match decode_row(table, bytes) {
        Ok(row) => Ok(Some(row)),
        Err(_) if txn.leaves_out(table, bytes) => Ok(None),
        Err(fault) => {
            txn.note_damage(&fault);
            Err(fault)
        }
    }
}
