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
