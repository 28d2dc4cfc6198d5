//! The kernel's only view of a store: a transaction over a fixed list of tables.
//!
//! The kernel is handed a [`Txn`] and never opens, commits or rolls back one. The traits are small on
//! purpose: whatever implements them (SQLite, PostgreSQL, a map in a test) is held to one conformance suite.

use serde::{Serialize, de::DeserializeOwned};

/// Every table of the store. Rows of a table are keyed by an owner (an agent, 32 bytes; all zero for what
/// belongs to no agent) and a key whose byte order is the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// Facts about the store itself: the node's number, the host, counters.
    Meta,
    /// Formulas by number.
    Formula,
    /// Pet names: directory and name to formula.
    PetName,
    /// Mailboxes: the next message number.
    Mailbox,
    /// Messages by mailbox and number.
    Message,
    /// Promises: pending, fulfilled or rejected.
    Promise,
    /// Runs by number.
    Run,
    /// The journal: steps by run and number.
    Journal,
    /// Grants by number.
    Grant,
    /// Permissions that approvals made and no effect has consumed.
    Permission,
    /// What must still happen in the world.
    Outbox,
    /// Every observable change, by sequence number, hash-chained.
    Event,
    /// What is known of bytes addressed by content: size and provenance.
    Blob,
    /// Who refers to a formula, by the formula referred to.
    Edge,
    /// Which formulas an agent holds, and through what.
    Held,
    /// Sharing tokens that nobody has used, by their hash.
    Token,
    /// What the collector must look at, and how far it has come.
    Collector,
}

impl Table {
    /// All tables, in the order in which a store creates them.
    pub const ALL: [Table; 17] = [
        Table::Meta,
        Table::Formula,
        Table::PetName,
        Table::Mailbox,
        Table::Message,
        Table::Promise,
        Table::Run,
        Table::Journal,
        Table::Grant,
        Table::Permission,
        Table::Outbox,
        Table::Event,
        Table::Blob,
        Table::Edge,
        Table::Held,
        Table::Token,
        Table::Collector,
    ];

    /// The table's name in a store, lower case with underscores.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Meta => "meta",
            Table::Formula => "formula",
            Table::PetName => "pet_name",
            Table::Mailbox => "mailbox",
            Table::Message => "message",
            Table::Promise => "promise",
            Table::Run => "run",
            Table::Journal => "journal",
            Table::Grant => "grants",
            Table::Permission => "permission",
            Table::Outbox => "outbox",
            Table::Event => "event",
            Table::Blob => "blob",
            Table::Edge => "edge",
            Table::Held => "held",
            Table::Token => "token",
            Table::Collector => "collector",
        }
    }
}

/// The owner of a row: the number of an agent's formula.
pub type Owner = [u8; 32];

/// The owner of what belongs to no agent.
pub const NOBODY: Owner = [0; 32];

/// A key and a row as a store holds them.
pub type RawRow = (Vec<u8>, Vec<u8>);

/// Why a store could not do what a transaction asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFault {
    /// The disk or the quota is full; nothing of the transaction was kept.
    #[error("the disk is full: {0}")]
    Full(String),
    /// The store can be read but not written.
    #[error("the store is read-only: {0}")]
    ReadOnly(String),
    /// What was read is not what was written.
    #[error("the store is corrupt: {0}")]
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
    /// The row at `key`, if there is one.
    fn get(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<Option<Vec<u8>>, StoreFault>;

    /// At most `limit` rows with `from <= key < to` in key order, or in falling key order if `reverse`.
    /// An empty `to` means "to the end of the owner's rows".
    fn range(
        &mut self,
        table: Table,
        owner: &Owner,
        from: &[u8],
        to: &[u8],
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<RawRow>, StoreFault>;
}

/// A read-write transaction. It sees its own writes.
pub trait Txn: ReadTxn {
    /// Inserts or replaces a row. `provenance` goes to a column of its own beside the row, so that a query can
    /// ask where rows came from without decoding them.
    fn put(
        &mut self,
        table: Table,
        owner: &Owner,
        key: &[u8],
        row: &[u8],
        provenance: Option<&[u8]>,
    ) -> Result<(), StoreFault>;

    /// Removes a row; no error if there is none.
    fn delete(&mut self, table: Table, owner: &Owner, key: &[u8]) -> Result<(), StoreFault>;
}

/// Writes a row in the one format that rows have: JSON, so that a newer version can still read it.
pub fn encode_row<T: Serialize>(row: &T) -> Result<Vec<u8>, StoreFault> {
    serde_json::to_vec(row).map_err(|e| StoreFault::Io(format!("a row could not be written: {e}")))
}

/// Reads a row that [`encode_row`] wrote.
pub fn decode_row<T: DeserializeOwned>(table: Table, bytes: &[u8]) -> Result<T, StoreFault> {
    serde_json::from_slice(bytes)
        .map_err(|e| StoreFault::Corrupt(format!("a row of `{}` cannot be read: {e}", table.name())))
}
