-- One kind and name is one entity; an event is the entity that stands for a segment, so that edges have one kind of ends.
CREATE TABLE entity (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('person', 'object', 'location', 'face', 'voice', 'concept', 'event')),
    name TEXT NOT NULL, known_us INTEGER NOT NULL, segment_id INTEGER REFERENCES segment ON DELETE SET NULL,
    UNIQUE (kind, name)) STRICT;
CREATE INDEX entity_segment ON entity (segment_id) WHERE segment_id IS NOT NULL;
-- A wrong alias is taken back by `until_us`: what was answered with it stays explained.
CREATE TABLE alias (
    id INTEGER PRIMARY KEY, entity_id INTEGER NOT NULL REFERENCES entity ON DELETE CASCADE, name TEXT NOT NULL,
    known_us INTEGER NOT NULL, until_us INTEGER) STRICT;
CREATE INDEX alias_entity ON alias (entity_id);
CREATE TABLE mention (
    id INTEGER PRIMARY KEY, entity_id INTEGER NOT NULL REFERENCES entity ON DELETE CASCADE,
    document_id INTEGER REFERENCES document ON DELETE CASCADE, moment_id INTEGER REFERENCES moment ON DELETE CASCADE,
    score REAL NOT NULL, known_us INTEGER NOT NULL,
    CHECK (document_id IS NOT NULL OR moment_id IS NOT NULL)) STRICT;
CREATE INDEX mention_entity ON mention (entity_id);
CREATE INDEX mention_document ON mention (document_id) WHERE document_id IS NOT NULL;
CREATE INDEX mention_moment ON mention (moment_id) WHERE moment_id IS NOT NULL;
CREATE TABLE relation (
    id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL,
    source_id INTEGER NOT NULL REFERENCES entity ON DELETE CASCADE, target_id INTEGER NOT NULL REFERENCES entity ON DELETE CASCADE,
    stream_id INTEGER NOT NULL REFERENCES stream, t0_us INTEGER NOT NULL, t1_us INTEGER NOT NULL, confidence REAL NOT NULL,
    known_us INTEGER NOT NULL, until_us INTEGER) STRICT;
CREATE INDEX relation_source ON relation (source_id);
CREATE INDEX relation_target ON relation (target_id);
CREATE INDEX relation_time ON relation (t0_us);
-- A relation outlives the fading of its picture: only forgetting takes it along.
CREATE TABLE relation_evidence (
    id INTEGER PRIMARY KEY, relation_id INTEGER NOT NULL REFERENCES relation ON DELETE CASCADE,
    document_id INTEGER REFERENCES document ON DELETE SET NULL, moment_id INTEGER REFERENCES moment ON DELETE SET NULL,
    origin TEXT NOT NULL, quote TEXT NOT NULL) STRICT;
CREATE INDEX relation_evidence_relation ON relation_evidence (relation_id);
CREATE INDEX relation_evidence_document ON relation_evidence (document_id) WHERE document_id IS NOT NULL;
CREATE INDEX relation_evidence_moment ON relation_evidence (moment_id) WHERE moment_id IS NOT NULL;
-- What was forgotten on request, without a word of it; ids are never given twice, so runs of ids prove that nothing came back.
CREATE TABLE receipt (
    id TEXT PRIMARY KEY, made_us INTEGER NOT NULL, what TEXT NOT NULL, moments INTEGER NOT NULL, documents INTEGER NOT NULL,
    relations INTEGER NOT NULL, bytes INTEGER NOT NULL, sha256 BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE tombstone (
    receipt_id TEXT NOT NULL REFERENCES receipt,
    kind TEXT NOT NULL CHECK (kind IN ('moment', 'document', 'segment', 'entity', 'relation')),
    first_id INTEGER NOT NULL, last_id INTEGER NOT NULL,
    PRIMARY KEY (receipt_id, kind, first_id)) STRICT, WITHOUT ROWID;
