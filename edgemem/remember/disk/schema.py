"""The tables of memory.db, made by named migrations, and the pragmas that every connection sets alike.

The truth of a memory is this one SQLite file; everything else in the directory can be rebuilt from it. Scores are stored as
integer millionths and boxes as four 16-bit fractions: an observation then takes about 50 bytes instead of 76 with full reals
in a table of its own plus a covering index, and 25 of them come with every picture.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from edgemem.errors import MemoryDirError

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

DATABASE = "memory.db"
PART = f"{DATABASE}-part"
"""What becomes memory.db once it is complete."""
APPLICATION_ID = 0x45444D4D
"""ASCII "EDMM": how `file` and we tell a memory from any other SQLite database."""
VERSION = 3
"""Schema version = number of migrations; kept in `PRAGMA user_version`."""
PAGE_BYTES = 4096
SPACE_BITS = 8
"""Low bits of a vector's key that hold its space: at most 255 spaces a memory."""
JOURNAL_LIMIT_BYTES = 16 << 20
"""The WAL is cut back to this after a checkpoint. It counts in the byte budget."""

_PRAGMAS = (
    "PRAGMA busy_timeout=5000",
    "PRAGMA foreign_keys=ON",
    "PRAGMA mmap_size=0",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA synchronous=NORMAL",
    f"PRAGMA journal_size_limit={JOURNAL_LIMIT_BYTES}",
    # What is deleted is overwritten with zeros, whichever way this SQLite was built (Debian's does it anyhow).
    "PRAGMA secure_delete=ON",
)

_V1 = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE stream (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, t0_us INTEGER NOT NULL) STRICT",
    "CREATE TABLE boot (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT",
    # `data` stands last, so that reading the columns before it does not walk the picture's overflow pages.
    """CREATE TABLE blob (
        id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE, refs INTEGER NOT NULL CHECK (refs >= 0),
        generation INTEGER NOT NULL DEFAULT 0, data BLOB NOT NULL) STRICT""",
    """CREATE TABLE segment (
        id INTEGER PRIMARY KEY AUTOINCREMENT, stream_id INTEGER NOT NULL REFERENCES stream, segmenter TEXT NOT NULL,
        t0_us INTEGER NOT NULL, t1_us INTEGER NOT NULL, offset_us INTEGER NOT NULL,
        representative_id INTEGER REFERENCES moment ON DELETE SET NULL) STRICT""",
    "CREATE INDEX segment_time ON segment (t0_us)",
    "CREATE INDEX segment_representative ON segment (representative_id) WHERE representative_id IS NOT NULL",
    # AUTOINCREMENT: evidence is cited by id, so the id of a forgotten moment is never given again.
    """CREATE TABLE moment (
        id INTEGER PRIMARY KEY AUTOINCREMENT, stream_id INTEGER NOT NULL REFERENCES stream, seq INTEGER NOT NULL,
        t_us INTEGER NOT NULL, offset_us INTEGER NOT NULL, mono_us INTEGER NOT NULL, boot_id INTEGER REFERENCES boot,
        width_px INTEGER NOT NULL, height_px INTEGER NOT NULL, sharpness REAL NOT NULL,
        tier TEXT NOT NULL DEFAULT 'recent' CHECK (tier IN ('recent', 'mid', 'long', 'stub')),
        segment_id INTEGER REFERENCES segment ON DELETE SET NULL, role TEXT NOT NULL DEFAULT '',
        protected INTEGER NOT NULL DEFAULT 0, pinned INTEGER NOT NULL DEFAULT 0,
        blob_id INTEGER REFERENCES blob) STRICT""",
    "CREATE INDEX moment_time ON moment (t_us, stream_id)",
    "CREATE INDEX moment_stream_time ON moment (stream_id, t_us)",
    "CREATE INDEX moment_tier ON moment (tier, t_us)",
    "CREATE INDEX moment_segment ON moment (segment_id) WHERE segment_id IS NOT NULL",
    "CREATE INDEX moment_blob ON moment (blob_id)",
    """CREATE TABLE segment_moment (
        segment_id INTEGER NOT NULL REFERENCES segment ON DELETE CASCADE,
        moment_id INTEGER NOT NULL REFERENCES moment ON DELETE CASCADE, role TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (segment_id, moment_id)) STRICT, WITHOUT ROWID""",
    "CREATE INDEX segment_moment_moment ON segment_moment (moment_id)",
    # `moments` counts the moments that carry the term, so that priors need no scan of the postings.
    """CREATE TABLE term (
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, moments INTEGER NOT NULL DEFAULT 0,
        UNIQUE (kind, name)) STRICT""",
    # What was seen in one moment, as one packed row (observations.py) ...
    "CREATE TABLE observation (moment_id INTEGER PRIMARY KEY REFERENCES moment ON DELETE CASCADE, data BLOB NOT NULL) STRICT",
    # ... and by name, best score first. It holds all that a posting says: a query never touches another table.
    """CREATE TABLE posting (
        term_id INTEGER NOT NULL, score_ppm INTEGER NOT NULL, moment_id INTEGER NOT NULL, ordinal INTEGER NOT NULL,
        t_us INTEGER NOT NULL, stream_id INTEGER NOT NULL, colour_id INTEGER NOT NULL, area_ppm INTEGER NOT NULL,
        PRIMARY KEY (term_id, score_ppm DESC, moment_id, ordinal)) STRICT, WITHOUT ROWID""",
    # `rows` and `epoch` let a reader tell whether the sidecar it mapped is the one that belongs to its snapshot.
    """CREATE TABLE vec_space (
        id INTEGER PRIMARY KEY CHECK (id < 256), name TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL CHECK (dim > 0), metric TEXT NOT NULL,
        calibration TEXT NOT NULL, rows INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL DEFAULT 0) STRICT""",
    # id = id of what it belongs to * 256 + space id, data = float16 [dim]: rescoring 32 candidates costs 32 seeks, not 64 through an index.
    "CREATE TABLE vec (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT",
    """CREATE TRIGGER moment_vectors_delete AFTER DELETE ON moment BEGIN
        DELETE FROM vec WHERE id BETWEEN old.id * 256 AND old.id * 256 + 255;
    END""",
    """CREATE TABLE document (
        id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, text TEXT NOT NULL, squeezed TEXT NOT NULL DEFAULT '',
        stream_id INTEGER NOT NULL REFERENCES stream, t0_us INTEGER NOT NULL, t1_us INTEGER NOT NULL,
        offset_us INTEGER NOT NULL, known_us INTEGER NOT NULL, until_us INTEGER, origin TEXT NOT NULL,
        segment_id INTEGER REFERENCES segment ON DELETE SET NULL,
        moment_id INTEGER REFERENCES moment ON DELETE SET NULL) STRICT""",
    "CREATE INDEX document_time ON document (t0_us)",
    "CREATE INDEX document_segment ON document (segment_id) WHERE segment_id IS NOT NULL",
    "CREATE INDEX document_moment ON document (moment_id) WHERE moment_id IS NOT NULL",
    """CREATE VIRTUAL TABLE document_fts USING fts5(
        text, content='document', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2')""",
    # Text read from pictures often loses or gains spaces ("EXITC"): trigrams over the text without them find it either way.
    """CREATE VIRTUAL TABLE document_squeezed_fts USING fts5(
        squeezed, content='document', content_rowid='id', tokenize='trigram')""",
    """CREATE TRIGGER document_insert AFTER INSERT ON document BEGIN
        INSERT INTO document_fts (rowid, text) VALUES (new.id, new.text);
        INSERT INTO document_squeezed_fts (rowid, squeezed) SELECT new.id, new.squeezed WHERE new.squeezed <> '';
    END""",
    """CREATE TRIGGER document_delete AFTER DELETE ON document BEGIN
        INSERT INTO document_fts (document_fts, rowid, text) VALUES ('delete', old.id, old.text);
        INSERT INTO document_squeezed_fts (document_squeezed_fts, rowid, squeezed)
            SELECT 'delete', old.id, old.squeezed WHERE old.squeezed <> '';
    END""",
    """CREATE TRIGGER moment_delete AFTER DELETE ON moment WHEN old.blob_id IS NOT NULL BEGIN
        UPDATE blob SET refs = refs - 1 WHERE id = old.blob_id;
        DELETE FROM blob WHERE id = old.blob_id AND refs = 0;
    END""",
    """CREATE TRIGGER moment_recode AFTER UPDATE OF blob_id ON moment
    WHEN old.blob_id IS NOT NULL AND old.blob_id IS NOT new.blob_id BEGIN
        UPDATE blob SET refs = refs - 1 WHERE id = old.blob_id;
        DELETE FROM blob WHERE id = old.blob_id AND refs = 0;
    END""",
)

_V2 = (
    # One kind and name is one entity; an event is the entity that stands for a segment, so that edges have one kind of ends.
    """CREATE TABLE entity (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL CHECK (kind IN ('person', 'object', 'location', 'face', 'voice', 'concept', 'event')),
        name TEXT NOT NULL, known_us INTEGER NOT NULL, segment_id INTEGER REFERENCES segment ON DELETE SET NULL,
        UNIQUE (kind, name)) STRICT""",
    "CREATE INDEX entity_segment ON entity (segment_id) WHERE segment_id IS NOT NULL",
    # A wrong alias is taken back by `until_us`: what was answered with it stays explained.
    """CREATE TABLE alias (
        id INTEGER PRIMARY KEY, entity_id INTEGER NOT NULL REFERENCES entity ON DELETE CASCADE, name TEXT NOT NULL,
        known_us INTEGER NOT NULL, until_us INTEGER) STRICT""",
    "CREATE INDEX alias_entity ON alias (entity_id)",
    """CREATE TABLE mention (
        id INTEGER PRIMARY KEY, entity_id INTEGER NOT NULL REFERENCES entity ON DELETE CASCADE,
        document_id INTEGER REFERENCES document ON DELETE CASCADE, moment_id INTEGER REFERENCES moment ON DELETE CASCADE,
        score REAL NOT NULL, known_us INTEGER NOT NULL,
        CHECK (document_id IS NOT NULL OR moment_id IS NOT NULL)) STRICT""",
    "CREATE INDEX mention_entity ON mention (entity_id)",
    "CREATE INDEX mention_document ON mention (document_id) WHERE document_id IS NOT NULL",
    "CREATE INDEX mention_moment ON mention (moment_id) WHERE moment_id IS NOT NULL",
    """CREATE TABLE relation (
        id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL,
        source_id INTEGER NOT NULL REFERENCES entity ON DELETE CASCADE, target_id INTEGER NOT NULL REFERENCES entity ON DELETE CASCADE,
        stream_id INTEGER NOT NULL REFERENCES stream, t0_us INTEGER NOT NULL, t1_us INTEGER NOT NULL, confidence REAL NOT NULL,
        known_us INTEGER NOT NULL, until_us INTEGER) STRICT""",
    "CREATE INDEX relation_source ON relation (source_id)",
    "CREATE INDEX relation_target ON relation (target_id)",
    "CREATE INDEX relation_time ON relation (t0_us)",
    # A relation outlives the fading of its picture: only forgetting takes it along.
    """CREATE TABLE relation_evidence (
        id INTEGER PRIMARY KEY, relation_id INTEGER NOT NULL REFERENCES relation ON DELETE CASCADE,
        document_id INTEGER REFERENCES document ON DELETE SET NULL, moment_id INTEGER REFERENCES moment ON DELETE SET NULL,
        origin TEXT NOT NULL, quote TEXT NOT NULL) STRICT""",
    "CREATE INDEX relation_evidence_relation ON relation_evidence (relation_id)",
    "CREATE INDEX relation_evidence_document ON relation_evidence (document_id) WHERE document_id IS NOT NULL",
    "CREATE INDEX relation_evidence_moment ON relation_evidence (moment_id) WHERE moment_id IS NOT NULL",
    # What was forgotten on request, without a word of it; ids are never given twice, so runs of ids prove that nothing came back.
    """CREATE TABLE receipt (
        id TEXT PRIMARY KEY, made_us INTEGER NOT NULL, what TEXT NOT NULL, moments INTEGER NOT NULL, documents INTEGER NOT NULL,
        relations INTEGER NOT NULL, bytes INTEGER NOT NULL, sha256 BLOB NOT NULL) STRICT, WITHOUT ROWID""",
    """CREATE TABLE tombstone (
        receipt_id TEXT NOT NULL REFERENCES receipt,
        kind TEXT NOT NULL CHECK (kind IN ('moment', 'document', 'segment', 'entity', 'relation')),
        first_id INTEGER NOT NULL, last_id INTEGER NOT NULL,
        PRIMARY KEY (receipt_id, kind, first_id)) STRICT, WITHOUT ROWID""",
)

_V3 = (
    # A space holds vectors of moments or of passages: both kinds of ids are keys of `vec`, and no space has both.
    "ALTER TABLE vec_space ADD COLUMN holds TEXT NOT NULL DEFAULT 'moment' CHECK (holds IN ('moment', 'passage'))",
    # What of a document is compared with a question: a part of its text (`start`, `length` in characters) or words of its own.
    """CREATE TABLE passage (
        id INTEGER PRIMARY KEY AUTOINCREMENT, document_id INTEGER NOT NULL REFERENCES document ON DELETE CASCADE,
        kind TEXT NOT NULL CHECK (kind IN ('document', 'chunk', 'field')), start INTEGER, length INTEGER, text TEXT,
        CHECK ((text IS NULL) = (start IS NOT NULL AND length IS NOT NULL))) STRICT""",
    "CREATE INDEX passage_document ON passage (document_id)",
    "DROP TRIGGER moment_vectors_delete",
    """CREATE TRIGGER moment_vectors_delete AFTER DELETE ON moment BEGIN
        DELETE FROM vec WHERE id BETWEEN old.id * 256 AND old.id * 256 + 255
            AND id & 255 IN (SELECT id FROM vec_space WHERE holds = 'moment');
    END""",
    """CREATE TRIGGER passage_vectors_delete AFTER DELETE ON passage BEGIN
        DELETE FROM vec WHERE id BETWEEN old.id * 256 AND old.id * 256 + 255
            AND id & 255 IN (SELECT id FROM vec_space WHERE holds = 'passage');
    END""",
    # What a document of kind "utterance" has beside its words.
    """CREATE TABLE utterance (
        document_id INTEGER PRIMARY KEY REFERENCES document ON DELETE CASCADE,
        speaker_id INTEGER REFERENCES entity ON DELETE SET NULL, confidence REAL NOT NULL) STRICT""",
    "CREATE INDEX document_said ON document (t0_us) WHERE kind = 'utterance'",
    "CREATE INDEX utterance_speaker ON utterance (speaker_id) WHERE speaker_id IS NOT NULL",
    # Names in lower case of any script, which SQLite's lower() does not know.
    "ALTER TABLE entity ADD COLUMN folded TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE alias ADD COLUMN folded TEXT NOT NULL DEFAULT ''",
    "UPDATE entity SET folded = casefold(name)",
    "UPDATE alias SET folded = casefold(name)",
    "CREATE INDEX entity_folded ON entity (folded)",
    "CREATE INDEX alias_folded ON alias (folded)",
    # Two names turned out to be one. Taken back by `until_us`, like an alias.
    """CREATE TABLE entity_merge (
        id INTEGER PRIMARY KEY AUTOINCREMENT, from_id INTEGER NOT NULL REFERENCES entity ON DELETE CASCADE,
        into_id INTEGER NOT NULL REFERENCES entity ON DELETE CASCADE, known_us INTEGER NOT NULL, until_us INTEGER,
        CHECK (from_id <> into_id)) STRICT""",
    "CREATE INDEX entity_merge_from ON entity_merge (from_id)",
    "CREATE INDEX entity_merge_into ON entity_merge (into_id)",
    # By either end or both, by type, newest first: each rung of the ladder walks one of these and stops at its limit.
    "DROP INDEX relation_source",
    "DROP INDEX relation_target",
    "CREATE INDEX relation_source ON relation (source_id, type, t0_us)",
    "CREATE INDEX relation_target ON relation (target_id, type, t0_us)",
    "CREATE INDEX relation_pair ON relation (source_id, target_id, t0_us)",
    "CREATE INDEX relation_type ON relation (type, t0_us)",
    # With the longest relation known, those that overlap a time begin within a range of the indexes.
    "CREATE TABLE longest (name TEXT PRIMARY KEY, dur_us INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "INSERT INTO longest SELECT 'relation', ifnull(max(t1_us - t0_us), 0) FROM relation",
    """CREATE TRIGGER relation_longest AFTER INSERT ON relation
    WHEN new.t1_us - new.t0_us > (SELECT dur_us FROM longest WHERE name = 'relation') BEGIN
        UPDATE longest SET dur_us = new.t1_us - new.t0_us WHERE name = 'relation';
    END""",
    # A question as it was answered. What came up is noted with its time, so that forgetting finds it after its picture has faded.
    """CREATE TABLE session (
        id INTEGER PRIMARY KEY AUTOINCREMENT, question TEXT NOT NULL, recipe TEXT NOT NULL, planner TEXT NOT NULL,
        asked_us INTEGER NOT NULL, as_of_us INTEGER NOT NULL, status TEXT NOT NULL, answer TEXT NOT NULL, option INTEGER,
        confidence REAL NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, usd REAL NOT NULL, ms REAL NOT NULL,
        notes TEXT NOT NULL, bytes INTEGER NOT NULL) STRICT""",
    """CREATE TABLE step (
        id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, actor TEXT NOT NULL,
        action TEXT NOT NULL, result TEXT NOT NULL, ms REAL NOT NULL) STRICT""",
    "CREATE INDEX step_session ON step (session_id)",
    """CREATE TABLE call (
        id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, data TEXT NOT NULL) STRICT""",
    "CREATE INDEX call_session ON call (session_id)",
    """CREATE TABLE session_evidence (
        session_id INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, kind TEXT NOT NULL, ref_id INTEGER NOT NULL,
        stream_id INTEGER, t0_us INTEGER, t1_us INTEGER, PRIMARY KEY (session_id, kind, ref_id)) STRICT, WITHOUT ROWID""",
    "CREATE INDEX session_evidence_ref ON session_evidence (kind, ref_id)",
    "ALTER TABLE tombstone RENAME TO tombstone_2",
    """CREATE TABLE tombstone (
        receipt_id TEXT NOT NULL REFERENCES receipt,
        kind TEXT NOT NULL CHECK (kind IN ('moment', 'document', 'segment', 'entity', 'relation', 'session')),
        first_id INTEGER NOT NULL, last_id INTEGER NOT NULL,
        PRIMARY KEY (receipt_id, kind, first_id)) STRICT, WITHOUT ROWID""",
    "INSERT INTO tombstone SELECT * FROM tombstone_2",
    "DROP TABLE tombstone_2",
)


def configure(connection: sqlite3.Connection, *, cache_bytes: int = 8 << 20) -> None:
    """Set the same pragmas on every connection, whoever opens it."""
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    connection.execute(f"PRAGMA cache_size={-(cache_bytes >> 10)}")


def version_of(connection: sqlite3.Connection, directory: Path) -> int:
    """Schema version of an open memory.db; 0 = empty. Raises MemoryDirError if it is another program's or a newer one's."""
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    # The table that lists migrations comes before the first of them: where that failed, it stands alone.
    others = "SELECT count(*) FROM sqlite_schema WHERE tbl_name <> '_sqlite_migrations'"
    if application == 0 and version == 0 and connection.execute(others).fetchone()[0] == 0:
        return 0
    if application != APPLICATION_ID:
        raise MemoryDirError(f"{directory} is not a memory: {DATABASE} belongs to another program; name another directory")
    if version > VERSION:
        raise MemoryDirError(
            f"memory {directory} was written by a newer edgemem (schema {version}, this one knows {VERSION}): upgrade edgemem-agent",
        )
    return version


def require_current(connection: sqlite3.Connection, directory: Path) -> None:
    """Raise MemoryDirError unless the schema is the one that readers expect; only a writer may migrate."""
    if version_of(connection, directory) < VERSION:
        raise MemoryDirError(f"memory {directory} has an older schema: bring it up to date with `edgemem memory compact`")


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring an open, locked memory.db from `version` to `VERSION`. Each migration is one transaction."""
    if version == VERSION:
        return
    from sqlite_utils import Database  # only when there is something to migrate: a cold read must not pay for it

    if version == 0:
        connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")
    _migrations().apply(Database(connection))


def _migrations() -> Migrations:
    from sqlite_utils.migrations import Migrations

    migrations = Migrations("edgemem")

    @migrations(name="v1_moments_segments_documents")  # type: ignore[untyped-decorator]  # sqlite-utils is not followed by mypy
    def v1(db: Database) -> None:
        for statement in _V1:
            db.conn.execute(statement)
        db.conn.execute(f"PRAGMA application_id={APPLICATION_ID}")
        db.conn.execute("PRAGMA user_version=1")

    @migrations(name="v2_entities_relations_receipts")  # type: ignore[untyped-decorator]
    def v2(db: Database) -> None:
        for statement in _V2:
            db.conn.execute(statement)
        db.conn.execute("PRAGMA user_version=2")

    @migrations(name="v3_passages_utterances_sessions_merges")  # type: ignore[untyped-decorator]
    def v3(db: Database) -> None:
        db.conn.create_function("casefold", 1, str.casefold, deterministic=True)
        for statement in _V3:
            db.conn.execute(statement)
        db.conn.execute("PRAGMA user_version=3")

    return migrations
