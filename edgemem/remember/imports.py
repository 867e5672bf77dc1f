"""Imports what `export` wrote, into a new or an existing memory. Everything gets new ids."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from edgemem.errors import MemoryDirError, UsageError
from edgemem.records import Vector
from edgemem.remember.entries import NewCall, NewMention, NewMoment, NewSegment
from edgemem.remember.export import ADDED, FORMAT, FORMAT_VERSION, TABLES
from edgemem.remember.import_lines import (
    LINES,
    About,
    AliasLine,
    DocumentLine,
    EntityLine,
    MergeLine,
    MomentLine,
    ParentLine,
    PartLine,
    RelationLine,
    SegmentLine,
    SessionLine,
    StreamLine,
)
from edgemem.remember.rows.sessions import renumbered, renumbered_request
from edgemem.remember.store import Store, Transaction

_BATCH = 32
"""Most rows in one transaction; with large pictures there are fewer. Under a byte budget an import is written as new moments are."""


def import_into(
    directory: Path, source: Path, *, budget_bytes: int | None = None, progress: Callable[[int, int], None] | None = None
) -> int:
    """Import the export at `source` into the memory at `directory`, which is created if it does not exist; returns the number of moments.

    Every line is read and checked before the first is written. An interrupted import continues where it stopped when the same export is
    imported again. Raises UsageError, which names the file and the line, and MemoryDirError.
    """
    about = _about(source)
    tables = [table for table in TABLES if about.version >= ADDED.get(table, 1)]
    total = sum(1 for table in tables for _ in _lines(source, table))
    with Store.open(directory, budget_bytes=budget_bytes) as store:
        for space in about.spaces:
            store.ensure_space(space, space.holds)
        importing, mark = _Importing(source), _mark(source, tables)
        written = importing.resume(store, mark)
        done = sum(written.values())
        for table in tables:
            rows = islice(_lines(source, table), written[table], None)
            while count := importing.write(store, table, rows, f"{mark}/{table}/{done:012}"):
                done += count
                if progress is not None:
                    progress(done, total)
        with store.transaction() as tx:
            tx.connection.execute("DELETE FROM state WHERE key GLOB ? || '/*'", (mark,))
        if progress is not None:
            progress(done, total)
    return len(importing.moments)


def _mark(source: Path, tables: Sequence[str]) -> str:
    """Key of the saved state of this import, until it is finished."""
    sizes = "".join(f" {(source / f'{table}.jsonl').stat().st_size}" for table in tables)
    return "import/" + hashlib.sha256((source / "memory.json").read_bytes() + sizes.encode()).hexdigest()[:16]


def _about(source: Path) -> About:
    try:
        about = msgspec.json.decode((source / "memory.json").read_bytes(), type=About)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{source} is not an export: memory.json cannot be read ({error})") from None
    if about.format != FORMAT or about.version > FORMAT_VERSION:
        raise UsageError(f"{source} was exported by a newer edgemem or by another program: upgrade edgemem-agent")
    return about


def _lines(source: Path, table: str) -> Iterator[Any]:
    path, kind = source / f"{table}.jsonl", LINES[table]
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield msgspec.convert(json.loads(line), kind)
                except (ValueError, msgspec.ValidationError) as error:
                    raise UsageError(f"{path}, line {number}: {error}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


class _Importing:
    """Maps old ids to new ones. A reference to something that is not in the export becomes None."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self.moments: dict[int, int] = {}
        self._segments: dict[int, int] = {}
        self._documents: dict[int, int] = {}
        self._entities: dict[int, int] = {}
        self._relations: dict[int, int] = {}
        self._given = {
            "moments": self.moments,
            "segments": self._segments,
            "documents": self._documents,
            "entities": self._entities,
            "relations": self._relations,
        }

    def resume(self, store: Store, mark: str) -> Counter[str]:
        """Read the ids that an interrupted import gave; returns how many rows of each table it wrote."""
        written = Counter[str]()
        with store.transaction() as tx:
            found = tx.connection.execute("SELECT key, value FROM state WHERE key GLOB ? || '/*'", (mark,)).fetchall()
        for key, value in found:
            table = key.split("/")[2]
            rows, given = msgspec.msgpack.decode(value, type=tuple[int, dict[int, int]])
            written[table] += rows
            self._given.get(table, {}).update(given)
        return written

    def write(self, store: Store, table: str, rows: Iterator[Any], key: str) -> int:
        """Write the next rows of a table in one transaction, with their new ids, from which an interrupted import continues. 0 at the
        end.
        """
        add, given = getattr(self, f"add_{table}"), self._given.get(table, {})
        before, count = len(given), 0
        with store.transaction() as tx:
            for row in islice(rows, _BATCH):
                add(tx, row)
                count += 1
                if tx.full:
                    break
            if count:
                new = dict(islice(reversed(given.items()), len(given) - before))
                tx.set_state(key, msgspec.msgpack.encode((count, new)))
        return count

    def add_streams(self, tx: Transaction, row: StreamLine) -> None:
        tx.connection.execute("INSERT INTO stream (name, t0_us) VALUES (?, ?) ON CONFLICT DO NOTHING", (row.name, row.t0_us))

    def add_moments(self, tx: Transaction, row: MomentLine) -> None:
        given = {
            name: getattr(row, name) for name in ("stream", "seq", "t_us", "offset_us", "mono_us", "width_px", "height_px", "sharpness")
        }
        moment_id = tx.add_moment(
            NewMoment(
                **given,
                boot_id=row.boot_id or "",
                jpeg=self._picture(row.picture),
                vectors=_vectors(row.vectors),
                observations=row.observations,
                role=row.role,
            )
        )
        self.moments[row.id] = moment_id
        if row.tier != "recent":
            tx.set_tier(moment_id, row.tier)
        if row.picture is None:
            tx.connection.execute("UPDATE moment SET blob_id = NULL WHERE id = ?", (moment_id,))
        elif row.generation:
            sql = "UPDATE blob SET generation = ? WHERE id = (SELECT blob_id FROM moment WHERE id = ?)"
            tx.connection.execute(sql, (row.generation, moment_id))
        if row.protected:
            tx.protect(moment_id, row.role)
        if row.role_us is not None:
            tx.set_role(moment_id, row.role, row.role_us)
        if row.pinned:
            tx.pin(moment_id)

    def add_segments(self, tx: Transaction, row: SegmentLine) -> None:
        given = {name: getattr(row, name) for name in ("stream", "segmenter", "t0_us", "t1_us", "offset_us")}
        ids = tuple(self.moments[moment_id] for moment_id in row.moments if moment_id in self.moments)
        new = NewSegment(**given, moment_ids=ids, representative_id=_of(self.moments, row.representative_id), level=row.level)
        self._segments[row.id] = tx.add_segment(new)

    def add_parents(self, tx: Transaction, row: ParentLine) -> None:
        segment_id, parent_id = _of(self._segments, row.segment_id), _of(self._segments, row.parent_id)
        if segment_id is not None and parent_id is not None:
            tx.set_parent([segment_id], parent_id)

    def add_entities(self, tx: Transaction, row: EntityLine) -> None:
        self._entities[row.id] = tx.add_entity(replace(row, segment_id=_of(self._segments, row.segment_id)))
        for space, vector in _vectors(row.vectors).items():
            tx.set_entity_vector(self._entities[row.id], space, vector)

    def add_documents(self, tx: Transaction, row: DocumentLine) -> None:
        new = replace(
            row,
            segment_id=_of(self._segments, row.segment_id),
            moment_id=_of(self.moments, row.moment_id),
            speaker_id=None if row.speaker_id is None else self._entity(row.speaker_id),
            passages=tuple(replace(passage, vectors=_vectors(passage.vectors)) for passage in row.passages),
        )
        self._documents[row.id] = tx.add_document(new)
        if row.until_us is not None:
            tx.connection.execute("UPDATE document SET until_us = ? WHERE id = ?", (row.until_us, self._documents[row.id]))

    def add_parts(self, tx: Transaction, row: PartLine) -> None:
        owner = {"moment_id": _of(self.moments, row.moment_id), "document_id": _of(self._documents, row.document_id)}
        if any(owner.values()):
            tx.add_part(replace(row, **owner, entity_id=_of(self._entities, row.entity_id), vectors=_vectors(row.vectors)))

    def add_aliases(self, tx: Transaction, row: AliasLine) -> None:
        alias_id = tx.add_alias(self._entity(row.entity_id), row.name, row.known_us)
        if row.until_us is not None:
            tx.retract_alias(alias_id, row.until_us)

    def add_merges(self, tx: Transaction, row: MergeLine) -> None:
        from_id, into_id = self._entity(row.from_id), self._entity(row.into_id)
        if row.until_us is None:
            tx.merge_entity(from_id, into_id, row.known_us)
        elif from_id != into_id:
            sql = "INSERT INTO entity_merge (from_id, into_id, known_us, until_us) VALUES (?, ?, ?, ?)"
            tx.connection.execute(sql, (from_id, into_id, row.known_us, row.until_us))

    def add_mentions(self, tx: Transaction, row: NewMention) -> None:
        document_id, moment_id = _of(self._documents, row.document_id), _of(self.moments, row.moment_id)
        if document_id is not None or moment_id is not None:
            tx.add_mention(replace(row, entity_id=self._entity(row.entity_id), document_id=document_id, moment_id=moment_id))

    def add_relations(self, tx: Transaction, row: RelationLine) -> None:
        quotes = tuple(
            replace(quote, document_id=_of(self._documents, quote.document_id), moment_id=_of(self.moments, quote.moment_id))
            for quote in row.quotes
        )
        new = replace(row, source_id=self._entity(row.source_id), target_id=self._entity(row.target_id), quotes=quotes)
        self._relations[row.id] = tx.add_relation(new)
        if row.until_us is not None:
            tx.end_relation(self._relations[row.id], row.until_us)

    def add_sessions(self, tx: Transaction, row: SessionLine) -> None:
        ids = {"m": self.moments, "d": self._documents, "u": self._documents, "s": self._segments, "r": self._relations}
        steps = tuple(
            replace(step, action_json=renumbered(step.action_json, ids), result_json=renumbered(step.result_json, ids))
            for step in row.steps
        )
        there = tuple(f"{seen.kind}{ids[seen.kind][seen.id]}" for seen in row.came_up if seen.id in ids[seen.kind])
        calls = tuple(_call(call, ids) for call in row.calls)
        session_id = tx.add_session(replace(row, steps=steps, calls=calls, evidence=there))
        # Evidence that was evicted keeps its time, with an unused id: forgetting that time also deletes the answer.
        tx.connection.executemany(
            "INSERT INTO session_evidence VALUES (?, ?, ?, (SELECT id FROM stream WHERE name = ?), ?, ?)",
            [
                (session_id, seen.kind, -abs(seen.id), seen.stream, seen.t0_us, seen.t1_us)
                for seen in row.came_up
                if seen.id not in ids[seen.kind]
            ],
        )

    def _entity(self, old: int) -> int:
        if old not in self._entities:
            raise UsageError(f"{self._source}: entity {old} is referenced but is not in entities.jsonl; export again")
        return self._entities[old]

    def _picture(self, name: str | None) -> bytes:
        """The JPEG that a moment names; it must be inside the export."""
        if name is None:
            return b""
        path = (self._source / name).resolve()
        if not path.is_relative_to(self._source.resolve()):
            raise UsageError(f"{self._source}: the picture {name} is outside the export")
        try:
            return path.read_bytes()
        except OSError as error:
            raise MemoryDirError(f"{path} cannot be read: {error.strerror}") from None


def _vectors(encoded: Mapping[str, Any]) -> dict[str, Vector]:
    return {space: np.frombuffer(base64.b64decode(data), "<f2").astype(np.float32) for space, data in encoded.items()}


def _call(given: Any, ids: Mapping[str, Mapping[int, int]]) -> NewCall:
    """Raises UsageError for a call that is in no known version of the format."""
    try:
        if isinstance(given, str):
            old = msgspec.json.decode(given, type=dict[str, Any])
            request = msgspec.msgpack.encode({"prompt": old.get("prompt", "")})
            given = {"step": 0, "task": "", "model": "", "reply": "", **old, "request": request.hex()}
        given = {**given, **{name: bytes.fromhex(given.get(name, "")) for name in ("request", "logprobs")}}
        call = msgspec.convert({name: given[name] for name in NewCall.__struct_fields__ if name in given}, NewCall)
        return replace(call, request=renumbered_request(call.request, ids))
    except (ValueError, TypeError, msgspec.MsgspecError) as error:
        raise UsageError(f"sessions.jsonl: a call cannot be read: {error}") from None


def _of(ids: dict[int, int], old: int | None) -> int | None:
    return None if old is None else ids.get(old)
