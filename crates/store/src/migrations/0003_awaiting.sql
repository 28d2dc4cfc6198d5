-- Messages that wait for an answer, apart from all others.
CREATE TABLE awaiting (
    owner BLOB NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, provenance BLOB,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;
INSERT INTO awaiting (owner, key, body)
    SELECT owner, key, CAST('true' AS BLOB) FROM message
    WHERE CASE WHEN json_valid(CAST(body AS TEXT)) THEN json_extract(CAST(body AS TEXT), '$.needs_you') ELSE 0 END;
