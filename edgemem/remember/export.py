"""Exports a memory to plain files: JSON Lines and JPEG. Any tool can read them, and another memory can import them.

    memory.json       format, version, spaces of vectors
    streams.jsonl segments.jsonl parents.jsonl entities.jsonl aliases.jsonl merges.jsonl mentions.jsonl relations.jsonl
    parts.jsonl       parts of moments and documents, with their vectors
    documents.jsonl   with who said them, and their passages with vectors
    sessions.jsonl    questions with answers, steps and the evidence found
    moments.jsonl     with observations, the name of the picture, and vectors
    pictures/m1.jpg   one for each moment whose picture has not faded

Times are microseconds since 1970 UTC. Ids are those of this memory; every reference between files uses them. All versions of documents and
relations are included. Vectors are base64 of little-endian float16; requests and log-probabilities of calls of language models are
MessagePack in hexadecimal digits. Saved states, jobs and receipts are not included.
"""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from edgemem import files
from edgemem.errors import MemoryDirError, UsageError
from edgemem.remember.disk.directory import require_outside
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.rows import observations as packing
from edgemem.remember.rows.parts import unpacked
from edgemem.remember.rows.reading import connect
from edgemem.remember.vectors.search import Holds, vec_id
from edgemem.remember.view import View

FORMAT = "edgemem-export"
FORMAT_VERSION = 3
"""2 added passages, utterances, merges and sessions; 3 added levels of segments, parts, vectors of entities, and calls as separate
fields."""

TABLES = {
    "streams": "SELECT name, t0_us FROM stream ORDER BY id",
    "moments": (
        "SELECT m.id, s.name AS stream, m.seq, m.t_us, m.offset_us, m.mono_us, b.name AS boot_id, m.width_px, m.height_px, m.sharpness,"
        " m.tier, m.role, m.role_us, m.protected, m.pinned, m.blob_id, p.generation FROM moment m JOIN stream s ON s.id = m.stream_id"
        " LEFT JOIN boot b ON b.id = m.boot_id LEFT JOIN blob p ON p.id = m.blob_id ORDER BY m.id"
    ),
    "segments": (
        "SELECT g.id, s.name AS stream, g.segmenter, g.t0_us, g.t1_us, g.offset_us, g.representative_id,"
        " g.level, (SELECT json_group_array(moment_id) FROM segment_moment WHERE segment_id = g.id) AS moments"
        " FROM segment g JOIN stream s ON s.id = g.stream_id ORDER BY g.id"
    ),
    "parents": "SELECT id AS segment_id, parent_id FROM segment WHERE parent_id IS NOT NULL ORDER BY id",
    "entities": "SELECT id, kind, name, known_us, segment_id FROM entity ORDER BY id",
    "documents": (
        "SELECT d.id, d.kind, d.text, s.name AS stream, d.t0_us, d.t1_us, d.offset_us, d.known_us, d.until_us, d.origin, d.segment_id,"
        " d.moment_id, u.speaker_id, ifnull(u.confidence, 1.0) AS confidence FROM document d JOIN stream s ON s.id = d.stream_id"
        " LEFT JOIN utterance u ON u.document_id = d.id ORDER BY d.id"
    ),
    "aliases": "SELECT entity_id, name, known_us, until_us FROM alias ORDER BY id",
    "merges": "SELECT from_id, into_id, known_us, until_us FROM entity_merge ORDER BY id",
    "parts": (
        "SELECT p.id, p.moment_id, p.document_id, p.kind, p.box, ifnull(m.t_us, d.t0_us) + p.start_us AS t0_us,"
        " ifnull(m.t_us, d.t0_us) + p.start_us + p.dur_us AS t1_us, p.score, p.entity_id FROM part p"
        " LEFT JOIN moment m ON m.id = p.moment_id LEFT JOIN document d ON d.id = p.document_id ORDER BY p.id"
    ),
    "mentions": "SELECT entity_id, document_id, moment_id, score, known_us FROM mention ORDER BY id",
    "relations": (
        "SELECT r.id, r.type, r.source_id, r.target_id, s.name AS stream, r.t0_us, r.t1_us, r.confidence, r.known_us, r.until_us,"
        " (SELECT json_group_array(json_object('text', quote, 'origin', origin, 'document_id', document_id, 'moment_id', moment_id))"
        " FROM relation_evidence WHERE relation_id = r.id) AS quotes FROM relation r JOIN stream s ON s.id = r.stream_id ORDER BY r.id"
    ),
    "sessions": (
        "SELECT q.question, q.recipe, q.planner, q.asked_us, q.as_of_us, q.status, q.answer, q.option, q.confidence, q.tokens_in,"
        " q.tokens_out, q.usd, q.ms, q.notes,"
        " (SELECT json_group_array(json_object('actor', actor, 'action_json', action, 'result_json', result, 'ms', ms))"
        " FROM (SELECT * FROM step WHERE session_id = q.id ORDER BY id)) AS steps,"
        " (SELECT json_group_array(json_object('step', step, 'task', task, 'model', model, 'request', hex(request), 'reply', reply,"
        " 'finish', finish, 'tokens_in', tokens_in, 'tokens_out', tokens_out, 'ms', ms, 'usd', usd, 'error', error,"
        " 'logprobs', hex(logprobs))) FROM (SELECT * FROM call WHERE session_id = q.id ORDER BY id)) AS calls,"
        " (SELECT json_group_array(json_object('kind', e.kind, 'id', e.ref_id, 'stream', s.name, 't0_us', e.t0_us, 't1_us', e.t1_us))"
        " FROM session_evidence e LEFT JOIN stream s ON s.id = e.stream_id WHERE e.session_id = q.id) AS came_up"
        " FROM session q ORDER BY q.id"
    ),
}
ADDED = {"merges": 2, "sessions": 2, "parents": 3, "parts": 3}
"""The version of the format that added the file."""
_JSON = frozenset(
    {("segments", "moments"), ("relations", "quotes"), *(("sessions", name) for name in ("notes", "steps", "calls", "came_up"))}
)
"""Columns that SQLite returns as JSON."""


def export(directory: Path, target: Path, progress: Callable[[int, int], None] | None = None) -> int:
    """Write the memory at `directory`, as of one instant, into a new directory; returns the number of moments.

    Raises UsageError if `target` exists already or is inside the memory, MemoryDirError if the memory cannot be read or `target` cannot be
    written.
    """
    View.open(directory).close()  # raises a clear error if it cannot be opened
    require_outside(directory, target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is not empty: name a new directory to export to")
    part = target.with_name(f"{target.name}.part")
    try:
        _make(part)
        with translated_errors(directory), closing(connect(directory)) as connection:
            connection.execute("BEGIN")
            moments = _Exporting(connection, part, progress).run()
        if target.exists():
            target.rmdir()
        part.replace(target)
    except FileExistsError:
        raise UsageError(f"{part} is left from an export that was interrupted: delete it first") from None
    except OSError as error:
        raise MemoryDirError(f"{target} cannot be written: {error.strerror or error}") from None
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return moments


def _make(part: Path) -> None:
    """The directory that is written into, which nobody else has. Raises FileExistsError."""
    files.make_directory(part.parent)
    part.mkdir(files.DIRECTORY_MODE)
    files.make_directory(part / "pictures")


class _Exporting:
    def __init__(self, connection: sqlite3.Connection, target: Path, progress: Callable[[int, int], None] | None) -> None:
        self._connection = connection
        self._target = target
        self._progress = progress
        self._spaces: dict[int, tuple[str, Holds]] = {
            key: (name, holds) for key, name, holds in connection.execute("SELECT id, name, holds FROM vec_space")
        }
        self._terms: dict[int, tuple[str, str]] = {}

    def run(self) -> int:
        moments: int = self._connection.execute("SELECT count(*) FROM moment").fetchone()[0]
        for table, sql in TABLES.items():
            with files.create_text(self._target / f"{table}.jsonl") as file:
                for number, row in enumerate(self._rows(table, sql), 1):
                    if table == "documents":
                        self._add_passages(row)
                    if table == "entities":
                        row["vectors"] = self._vectors("entity", row["id"])
                    if table == "parts":
                        row["box"] = msgspec.to_builtins(unpacked(row["box"]))
                        row["vectors"] = self._vectors("part", row["id"])
                    if table == "moments":
                        self._add_seen(row)
                        if self._progress is not None:
                            self._progress(number, moments)
                    file.write(json.dumps(_plain(row), ensure_ascii=False) + "\n")
        spaces = [
            {"name": name, "dim": dim, "metric": metric, "calibration": json.loads(calibration), "holds": holds}
            for name, dim, metric, calibration, holds in self._connection.execute(
                "SELECT name, dim, metric, calibration, holds FROM vec_space ORDER BY id"
            )
        ]
        about = {"format": FORMAT, "version": FORMAT_VERSION, "spaces": spaces}
        with files.create_text(self._target / "memory.json") as file:
            file.write(json.dumps(about, indent=1))
        return moments

    def _rows(self, table: str, sql: str) -> Iterator[dict[str, Any]]:
        cursor = self._connection.execute(sql)
        names = [column[0] for column in cursor.description]
        for values in cursor:
            row = dict(zip(names, values, strict=True))
            yield {name: json.loads(value) if (table, name) in _JSON else value for name, value in row.items()}

    def _add_seen(self, row: dict[str, Any]) -> None:
        """Add the observations and vectors of a moment, and write its picture to a file."""
        blob_id, key = row.pop("blob_id"), row["id"]
        found = self._connection.execute("SELECT data FROM observation WHERE moment_id = ?", (key,)).fetchone()
        row["observations"] = [msgspec.to_builtins(seen) for seen in packing.unpack(found[0], self._term)] if found else []
        row["vectors"] = self._vectors("moment", key)
        row["picture"] = None
        if blob_id is not None:
            row["picture"] = f"pictures/m{key}.jpg"
            data = self._connection.execute("SELECT data FROM blob WHERE id = ?", (blob_id,)).fetchone()[0]
            with files.create(self._target / row["picture"]) as file:
                file.write(data)

    def _add_passages(self, row: dict[str, Any]) -> None:
        """Add passages with their vectors, each with its full text."""
        found = self._connection.execute(
            "SELECT id, kind, start, length, text FROM passage WHERE document_id = ? ORDER BY id", (row["id"],)
        )
        row["passages"] = [
            {
                "kind": kind,
                "text": row["text"][start : start + length] if text is None else text,
                "vectors": self._vectors("passage", key),
            }
            for key, kind, start, length, text in found.fetchall()
        ]

    def _vectors(self, holds: Holds, owner_id: int) -> dict[str, str]:
        span = (vec_id(owner_id, 0), vec_id(owner_id + 1, 0) - 1)
        found = self._connection.execute("SELECT id & 255, data FROM vec WHERE id BETWEEN ? AND ?", span)
        return {
            self._spaces[space_id][0]: base64.b64encode(data).decode() for space_id, data in found if self._spaces[space_id][1] == holds
        }

    def _term(self, term_id: int) -> tuple[str, str]:
        if term_id not in self._terms:
            self._terms[term_id] = self._connection.execute("SELECT kind, name FROM term WHERE id = ?", (term_id,)).fetchone()
        return self._terms[term_id]


def _plain(item: Any) -> Any:
    """The same without NUL, which a memory can hold and an import refuses."""
    if isinstance(item, dict):
        return {key: _plain(value) for key, value in item.items()}
    if isinstance(item, list):
        return [_plain(value) for value in item]
    return item.replace("\0", "\ufffd") if isinstance(item, str) else item
