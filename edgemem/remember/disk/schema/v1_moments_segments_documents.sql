CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE stream (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, t0_us INTEGER NOT NULL) STRICT;
CREATE TABLE boot (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
-- `data` stands last, so that reading the columns before it does not walk the picture's overflow pages.
CREATE TABLE blob (
    id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE, refs INTEGER NOT NULL CHECK (refs >= 0),
    generation INTEGER NOT NULL DEFAULT 0, data BLOB NOT NULL) STRICT;
CREATE TABLE segment (
    id INTEGER PRIMARY KEY AUTOINCREMENT, stream_id INTEGER NOT NULL REFERENCES stream, segmenter TEXT NOT NULL,
    t0_us INTEGER NOT NULL, t1_us INTEGER NOT NULL, offset_us INTEGER NOT NULL,
    representative_id INTEGER REFERENCES moment ON DELETE SET NULL) STRICT;
CREATE INDEX segment_time ON segment (t0_us);
CREATE INDEX segment_representative ON segment (representative_id) WHERE representative_id IS NOT NULL;
-- AUTOINCREMENT: evidence is cited by id, so the id of a forgotten moment is never given again.
CREATE TABLE moment (
    id INTEGER PRIMARY KEY AUTOINCREMENT, stream_id INTEGER NOT NULL REFERENCES stream, seq INTEGER NOT NULL,
    t_us INTEGER NOT NULL, offset_us INTEGER NOT NULL, mono_us INTEGER NOT NULL, boot_id INTEGER REFERENCES boot,
    width_px INTEGER NOT NULL, height_px INTEGER NOT NULL, sharpness REAL NOT NULL,
    tier TEXT NOT NULL DEFAULT 'recent' CHECK (tier IN ('recent', 'mid', 'long', 'stub')),
    segment_id INTEGER REFERENCES segment ON DELETE SET NULL, role TEXT NOT NULL DEFAULT '',
    protected INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0,
    blob_id INTEGER REFERENCES blob) STRICT;
CREATE INDEX moment_time ON moment (t_us, stream_id);
CREATE INDEX moment_stream_time ON moment (stream_id, t_us);
CREATE INDEX moment_tier ON moment (tier, t_us);
CREATE INDEX moment_segment ON moment (segment_id) WHERE segment_id IS NOT NULL;
CREATE INDEX moment_blob ON moment (blob_id);
CREATE TABLE segment_moment (
    segment_id INTEGER NOT NULL REFERENCES segment ON DELETE CASCADE,
    moment_id INTEGER NOT NULL REFERENCES moment ON DELETE CASCADE, role TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (segment_id, moment_id)) STRICT, WITHOUT ROWID;
CREATE INDEX segment_moment_moment ON segment_moment (moment_id);
-- `moments` counts the moments that carry the term, so that priors need no scan of the postings.
CREATE TABLE term (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, moments INTEGER NOT NULL DEFAULT 0,
    UNIQUE (kind, name)) STRICT;
-- What was seen in one moment, as one packed row (observations.py) ...
CREATE TABLE observation (moment_id INTEGER PRIMARY KEY REFERENCES moment ON DELETE CASCADE, data BLOB NOT NULL) STRICT;
-- ... and by name, best score first. It holds all that a posting says: a query never touches another table.
CREATE TABLE posting (
    term_id INTEGER NOT NULL, score_ppm INTEGER NOT NULL, moment_id INTEGER NOT NULL, ordinal INTEGER NOT NULL,
    t_us INTEGER NOT NULL, stream_id INTEGER NOT NULL, colour_id INTEGER NOT NULL, area_ppm INTEGER NOT NULL,
    PRIMARY KEY (term_id, score_ppm DESC, moment_id, ordinal)) STRICT, WITHOUT ROWID;
-- `rows` and `epoch` let a reader tell whether the sidecar it mapped is the one that belongs to its snapshot.
CREATE TABLE vec_space (
    id INTEGER PRIMARY KEY CHECK (id < 256), name TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL CHECK (dim > 0), metric TEXT NOT NULL,
    calibration TEXT NOT NULL, rows INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL DEFAULT 0) STRICT;
-- id = id of what it belongs to * 256 + space id, data = float16 [dim]: rescoring 32 candidates costs 32 seeks, not 64 through an index.
CREATE TABLE vec (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TRIGGER moment_vectors_delete AFTER DELETE ON moment BEGIN
    DELETE FROM vec WHERE id BETWEEN old.id * 256 AND old.id * 256 + 255;
END;
CREATE TABLE document (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, text TEXT NOT NULL, squeezed TEXT NOT NULL DEFAULT '',
    stream_id INTEGER NOT NULL REFERENCES stream, t0_us INTEGER NOT NULL, t1_us INTEGER NOT NULL,
    offset_us INTEGER NOT NULL, known_us INTEGER NOT NULL, until_us INTEGER, origin TEXT NOT NULL,
    segment_id INTEGER REFERENCES segment ON DELETE SET NULL,
    moment_id INTEGER REFERENCES moment ON DELETE SET NULL) STRICT;
CREATE INDEX document_time ON document (t0_us);
CREATE INDEX document_segment ON document (segment_id) WHERE segment_id IS NOT NULL;
CREATE INDEX document_moment ON document (moment_id) WHERE moment_id IS NOT NULL;
CREATE VIRTUAL TABLE document_fts USING fts5(
    text, content='document', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
-- Text read from pictures often loses or gains spaces ("EXITC"): trigrams over the text without them find it either way.
CREATE VIRTUAL TABLE document_squeezed_fts USING fts5(
    squeezed, content='document', content_rowid='id', tokenize='trigram');
CREATE TRIGGER document_insert AFTER INSERT ON document BEGIN
    INSERT INTO document_fts (rowid, text) VALUES (new.id, new.text);
    INSERT INTO document_squeezed_fts (rowid, squeezed) SELECT new.id, new.squeezed WHERE new.squeezed <> '';
END;
CREATE TRIGGER document_delete AFTER DELETE ON document BEGIN
    INSERT INTO document_fts (document_fts, rowid, text) VALUES ('delete', old.id, old.text);
    INSERT INTO document_squeezed_fts (document_squeezed_fts, rowid, squeezed)
        SELECT 'delete', old.id, old.squeezed WHERE old.squeezed <> '';
END;
CREATE TRIGGER moment_delete AFTER DELETE ON moment WHEN old.blob_id IS NOT NULL BEGIN
    UPDATE blob SET refs = refs - 1 WHERE id = old.blob_id;
    DELETE FROM blob WHERE id = old.blob_id AND refs = 0;
END;
CREATE TRIGGER moment_recode AFTER UPDATE OF blob_id ON moment
WHEN old.blob_id IS NOT NULL AND old.blob_id IS NOT new.blob_id BEGIN
    UPDATE blob SET refs = refs - 1 WHERE id = old.blob_id;
    DELETE FROM blob WHERE id = old.blob_id AND refs = 0;
END;
