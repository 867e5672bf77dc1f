-- A space holds vectors of moments or of passages: both kinds of ids are keys of `vec`, and no space has both.
ALTER TABLE vec_space ADD COLUMN holds TEXT NOT NULL DEFAULT 'moment' CHECK (holds IN ('moment', 'passage'));
-- What of a document is compared with a question: a part of its text (`start`, `length` in characters) or words of its own.
CREATE TABLE passage (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document_id INTEGER NOT NULL REFERENCES document ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('document', 'chunk', 'field')), start INTEGER, length INTEGER, text TEXT,
    CHECK ((text IS NULL) = (start IS NOT NULL AND length IS NOT NULL))) STRICT;
CREATE INDEX passage_document ON passage (document_id);
DROP TRIGGER moment_vectors_delete;
CREATE TRIGGER moment_vectors_delete AFTER DELETE ON moment BEGIN
    DELETE FROM vec WHERE id BETWEEN old.id * 256 AND old.id * 256 + 255
        AND id & 255 IN (SELECT id FROM vec_space WHERE holds = 'moment');
END;
CREATE TRIGGER passage_vectors_delete AFTER DELETE ON passage BEGIN
    DELETE FROM vec WHERE id BETWEEN old.id * 256 AND old.id * 256 + 255
        AND id & 255 IN (SELECT id FROM vec_space WHERE holds = 'passage');
END;
-- What a document of kind "utterance" has beside its words.
CREATE TABLE utterance (
    document_id INTEGER PRIMARY KEY REFERENCES document ON DELETE CASCADE,
    speaker_id INTEGER REFERENCES entity ON DELETE SET NULL, confidence REAL NOT NULL) STRICT;
CREATE INDEX document_said ON document (t0_us) WHERE kind = 'utterance';
CREATE INDEX utterance_speaker ON utterance (speaker_id) WHERE speaker_id IS NOT NULL;
-- Names in lower case of any script, which SQLite's lower() does not know.
ALTER TABLE entity ADD COLUMN folded TEXT NOT NULL DEFAULT '';
ALTER TABLE alias ADD COLUMN folded TEXT NOT NULL DEFAULT '';
UPDATE entity SET folded = casefold(name);
UPDATE alias SET folded = casefold(name);
CREATE INDEX entity_folded ON entity (folded);
CREATE INDEX alias_folded ON alias (folded);
-- Two names turned out to be one. Taken back by `until_us`, like an alias.
CREATE TABLE entity_merge (
    id INTEGER PRIMARY KEY AUTOINCREMENT, from_id INTEGER NOT NULL REFERENCES entity ON DELETE CASCADE,
    into_id INTEGER NOT NULL REFERENCES entity ON DELETE CASCADE, known_us INTEGER NOT NULL, until_us INTEGER,
    CHECK (from_id <> into_id)) STRICT;
CREATE INDEX entity_merge_from ON entity_merge (from_id);
CREATE INDEX entity_merge_into ON entity_merge (into_id);
-- By either end or both, by type, newest first: each rung of the ladder walks one of these and stops at its limit.
DROP INDEX relation_source;
DROP INDEX relation_target;
CREATE INDEX relation_source ON relation (source_id, type, t0_us);
CREATE INDEX relation_target ON relation (target_id, type, t0_us);
CREATE INDEX relation_pair ON relation (source_id, target_id, t0_us);
CREATE INDEX relation_type ON relation (type, t0_us);
-- With the longest relation known, those that overlap a time begin within a range of the indexes.
CREATE TABLE longest (name TEXT PRIMARY KEY, dur_us INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO longest SELECT 'relation', ifnull(max(t1_us - t0_us), 0) FROM relation;
CREATE TRIGGER relation_longest AFTER INSERT ON relation
WHEN new.t1_us - new.t0_us > (SELECT dur_us FROM longest WHERE name = 'relation') BEGIN
    UPDATE longest SET dur_us = new.t1_us - new.t0_us WHERE name = 'relation';
END;
-- A question as it was answered. What came up is noted with its time, so that forgetting finds it after its picture has faded.
CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT, question TEXT NOT NULL, recipe TEXT NOT NULL, planner TEXT NOT NULL,
    asked_us INTEGER NOT NULL, as_of_us INTEGER NOT NULL, status TEXT NOT NULL, answer TEXT NOT NULL, option INTEGER,
    confidence REAL NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, usd REAL NOT NULL, ms REAL NOT NULL,
    notes TEXT NOT NULL, bytes INTEGER NOT NULL) STRICT;
CREATE TABLE step (
    id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, actor TEXT NOT NULL,
    action TEXT NOT NULL, result TEXT NOT NULL, ms REAL NOT NULL) STRICT;
CREATE INDEX step_session ON step (session_id);
CREATE TABLE call (
    id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, data TEXT NOT NULL) STRICT;
CREATE INDEX call_session ON call (session_id);
CREATE TABLE session_evidence (
    session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, kind TEXT NOT NULL, ref_id INTEGER NOT NULL,
    stream_id INTEGER, t0_us INTEGER, t1_us INTEGER, PRIMARY KEY (session_id, kind, ref_id)) STRICT, WITHOUT ROWID;
CREATE INDEX session_evidence_ref ON session_evidence (kind, ref_id);
ALTER TABLE tombstone RENAME TO tombstone_2;
CREATE TABLE tombstone (
    receipt_id TEXT NOT NULL REFERENCES receipt,
    kind TEXT NOT NULL CHECK (kind IN ('moment', 'document', 'segment', 'entity', 'relation', 'session')),
    first_id INTEGER NOT NULL, last_id INTEGER NOT NULL,
    PRIMARY KEY (receipt_id, kind, first_id)) STRICT, WITHOUT ROWID;
INSERT INTO tombstone SELECT * FROM tombstone_2;
DROP TABLE tombstone_2;
