-- The schema of a store: rows by owner and key, in the byte order of the keys. A change of it changes `schema::VERSION`.
-- Every table of `kernel::txn::Table` is here.
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
-- References backwards, what agents hold, sharing tokens, and how far collection has come.
CREATE TABLE edge (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE held (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE token (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE collector (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
-- Messages that wait for an answer, apart from all others.
CREATE TABLE awaiting (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
-- Small bytes by their hash, beside the files of large ones.
CREATE TABLE bytes (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
-- The runs whose effects named a file, by the last part of its path.
CREATE TABLE file_run (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
-- The moves of directories, each with the records that it changed. Since version 9.
CREATE TABLE relocation (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
