-- Every table of `kernel::txn::Table`: rows by owner and key, in the byte order of the keys.
CREATE TABLE meta (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE formula (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE pet_name (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE mailbox (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE message (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE promise (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE run (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE journal (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE grants (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE permission (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE outbox (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE event (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE blob (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
