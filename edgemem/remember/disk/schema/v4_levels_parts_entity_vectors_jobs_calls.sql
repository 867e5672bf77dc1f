-- Segments of one segmenter lie in each other: clips in scenes, segments in clips. Level 0 is the lowest.
ALTER TABLE segment ADD COLUMN level INTEGER NOT NULL DEFAULT 0;
ALTER TABLE segment ADD COLUMN parent_id INTEGER REFERENCES segment ON DELETE SET NULL;
CREATE INDEX segment_parent ON segment (parent_id) WHERE parent_id IS NOT NULL;
-- Since when a moment has its role, where it got it later than it was seen.
ALTER TABLE moment ADD COLUMN role_us INTEGER;
CREATE INDEX moment_role ON moment (role_us) WHERE role_us IS NOT NULL;
-- A part of a moment (a box) or of a document (a stretch of sound). Its times count from the beginning of its owner, so they move with it.
-- `box` is four big-endian 16-bit fractions of the picture: x0, y0, x1, y1.
CREATE TABLE part (
    id INTEGER PRIMARY KEY AUTOINCREMENT, moment_id INTEGER REFERENCES moment ON DELETE CASCADE,
    document_id INTEGER REFERENCES document ON DELETE CASCADE, kind TEXT NOT NULL, box BLOB CHECK (length(box) = 8),
    start_us INTEGER NOT NULL DEFAULT 0, dur_us INTEGER CHECK (dur_us >= 0), score REAL NOT NULL,
    entity_id INTEGER REFERENCES entity ON DELETE SET NULL,
    CHECK ((moment_id IS NULL) <> (document_id IS NULL))) STRICT;
CREATE INDEX part_moment ON part (moment_id) WHERE moment_id IS NOT NULL;
CREATE INDEX part_document ON part (document_id) WHERE document_id IS NOT NULL;
CREATE INDEX part_entity ON part (entity_id) WHERE entity_id IS NOT NULL;
-- A space holds vectors of moments, passages, entities or parts. All their ids are keys of `vec`, and no space has two kinds.
DROP TRIGGER moment_vectors_delete;
DROP TRIGGER passage_vectors_delete;
ALTER TABLE vec_space RENAME TO vec_space_3;
CREATE TABLE vec_space (
    id INTEGER PRIMARY KEY CHECK (id < 256), name TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL CHECK (dim > 0), metric TEXT NOT NULL,
    calibration TEXT NOT NULL, rows INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL DEFAULT 0,
    holds TEXT NOT NULL DEFAULT 'moment' CHECK (holds IN ('moment', 'passage', 'entity', 'part'))) STRICT;
INSERT INTO vec_space SELECT id, name, dim, metric, calibration, rows, epoch, holds FROM vec_space_3;
DROP TABLE vec_space_3;
CREATE TRIGGER moment_vectors_delete AFTER DELETE ON moment BEGIN
    DELETE FROM vec WHERE id BETWEEN old.id * 256 AND old.id * 256 + 255
        AND id & 255 IN (SELECT id FROM vec_space WHERE holds = 'moment');
END;
CREATE TRIGGER passage_vectors_delete AFTER DELETE ON passage BEGIN
    DELETE FROM vec WHERE id BETWEEN old.id * 256 AND old.id * 256 + 255
        AND id & 255 IN (SELECT id FROM vec_space WHERE holds = 'passage');
END;
CREATE TRIGGER entity_vectors_delete AFTER DELETE ON entity BEGIN
    DELETE FROM vec WHERE id BETWEEN old.id * 256 AND old.id * 256 + 255
        AND id & 255 IN (SELECT id FROM vec_space WHERE holds = 'entity');
END;
CREATE TRIGGER part_vectors_delete AFTER DELETE ON part BEGIN
    DELETE FROM vec WHERE id BETWEEN old.id * 256 AND old.id * 256 + 255
        AND id & 255 IN (SELECT id FROM vec_space WHERE holds = 'part');
END;
-- Work that a writer put off. `attempts` counts the leases; a job is due again when its lease has run out.
CREATE TABLE job (
    id INTEGER PRIMARY KEY AUTOINCREMENT, writer TEXT NOT NULL, stream TEXT NOT NULL, payload BLOB NOT NULL, due_us INTEGER NOT NULL,
    leased_us INTEGER NOT NULL DEFAULT 0, until_us INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT '', given_up INTEGER NOT NULL DEFAULT 0 CHECK (given_up IN (0, 1))) STRICT;
CREATE INDEX job_due ON job (due_us) WHERE NOT given_up;
-- Questions to language models, with all that is needed to ask them again. `request` and `logprobs` are MessagePack.
ALTER TABLE call RENAME TO call_3;
DROP INDEX call_session;
CREATE TABLE call (
    id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, step INTEGER NOT NULL, task TEXT NOT NULL,
    model TEXT NOT NULL, request BLOB NOT NULL, reply TEXT NOT NULL, finish TEXT NOT NULL, tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL, ms REAL NOT NULL, usd REAL NOT NULL, error TEXT NOT NULL, logprobs BLOB NOT NULL) STRICT;
INSERT INTO call
    SELECT id, session_id, ifnull(json_extract(data, '$.step'), 0), ifnull(json_extract(data, '$.task'), ''),
        ifnull(json_extract(data, '$.model'), ''), msgpack_map('prompt', ifnull(json_extract(data, '$.prompt'), '')),
        ifnull(json_extract(data, '$.reply'), ''), '', ifnull(json_extract(data, '$.tokens_in'), 0),
        ifnull(json_extract(data, '$.tokens_out'), 0), ifnull(json_extract(data, '$.ms'), 0.0), ifnull(json_extract(data, '$.usd'), 0.0),
        ifnull(json_extract(data, '$.error'), ''), x''
    FROM call_3;
DROP TABLE call_3;
CREATE INDEX call_session ON call (session_id);
