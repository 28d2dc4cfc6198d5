-- Small bytes by their hash, beside the files of large ones.
CREATE TABLE bytes (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
