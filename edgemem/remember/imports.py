"""Imports what `export` wrote, into a new or an existing memory. Everything gets new ids."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from edgemem import files
from edgemem.errors import BudgetError, EngineError, UsageError
from edgemem.records import Vector
from edgemem.remember.budget.shrink import shrink
from edgemem.remember.disk import page_budget
from edgemem.remember.entries import NewEntity, NewMoment, NewSegment
from edgemem.remember.export import ADDED, TABLES
from edgemem.remember.import_checks import check_export, most_pages, renumbered_call
from edgemem.remember.import_files import MOST_ABOUT_BYTES, read_about, read_lines, read_picture, vector
from edgemem.remember.import_lines import (
    About,
    AliasLine,
    DocumentLine,
    EntityLine,
    MentionLine,
    MergeLine,
    MomentLine,
    ParentLine,
    PartLine,
    RelationLine,
    SegmentLine,
    SessionLine,
    StreamLine,
)
from edgemem.remember.names import number_of, renumbered_names
from edgemem.remember.numbers import last_number
from edgemem.remember.rows.sessions import renumbered
from edgemem.remember.store import Store, Transaction

_BATCH = 32
"""Rows in one transaction at most; large pictures fill one sooner. An import under a byte budget goes in like what is seen."""
_SMALLER_PX, _SMALLER_QUALITY = (1920, 1280, 960, 640), 90
"""Longest sides to which a picture is made smaller that is too large for the budget, as ingest
takes none above 1920 px (VAM: quality 90)."""
_MOST_SPACES = 255
_AS_IT_WAS = frozenset({"utterance", "text"})
"""Kinds of documents whose words were heard or read; others were written, and may name a voice by its number."""
_TAKEN_DOWN = frozenset({"asr", "ocr"})
"""The same of quotes, by their origin."""
_NUMBERS = "numbers"
"""In the saved state beside the names of the tables."""


def import_into(
    directory: Path,
    source: Path,
    *,
    budget_bytes: int | None = None,
    again: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Import the export at `source` into the memory at `directory`, which is created if it does not exist; returns the number of moments.

    All of it is read and checked before anything is written: what is refused leaves no trace. A picture that is too large for the budget
    goes in smaller. What was interrupted goes on where it stopped when the same export is taken in again; what is in the memory already
    goes in a second time only with `again`. Raises UsageError that names the file and the line, EngineError for a space of vectors that
    the memory has with another dimension, MemoryDirError.
    """
    about = read_about(source)
    tables = [table for table in TABLES if about.version >= ADDED.get(table, 1)]
    total = check_export(source, about, tables, budget_bytes)
    mark = _mark(source, tables)
    with Store.open(directory, budget_bytes=budget_bytes) as store:
        if store.state(mark) is not None and not again:
            raise UsageError(f"{source} was imported into {directory} before: with --again everything in it comes in a second time")
        _ensure_spaces(store, about)
        with store.transaction() as tx:  # so that one that comes in again and is interrupted goes on as well
            tx.connection.execute("DELETE FROM state WHERE key = ?", (mark,))
        importing = _Importing(source, store)
        written = importing.resume(mark)
        done = sum(written.values())
        for table in tables:
            rows = (row for _, row in islice(read_lines(source, table), written[table], None))
            while count := importing.write(table, rows, f"{mark}/{table}/{done:012}"):
                done += count
                if progress is not None:
                    progress(done, total)
        with store.transaction() as tx:
            tx.connection.execute("DELETE FROM state WHERE key GLOB ? || '/*'", (mark,))
            tx.set_state(mark, b"")
        if progress is not None:
            progress(done, total)
    return len(importing.moments)


def _ensure_spaces(store: Store, about: About) -> None:
    """Make the spaces of vectors that are new, once it is sure that all of them can be."""
    with store.transaction() as tx:
        known = {name: (dim, holds) for name, dim, holds in tx.connection.execute("SELECT name, dim, holds FROM vec_space")}
    for space in about.spaces:
        if known.get(space.name, (space.dim, space.holds)) != (space.dim, space.holds):
            raise EngineError(
                f'memory {store.directory} has vectors of "{space.name}" with another dimension or use: import into another memory'
            )
    if len({*known, *(space.name for space in about.spaces)}) > _MOST_SPACES:
        raise UsageError(f"memory {store.directory} would have more than {_MOST_SPACES} spaces of vectors: import into another memory")
    for space in about.spaces:
        store.ensure_space(space, space.holds)


def _mark(source: Path, tables: Sequence[str]) -> str:
    """Key of the saved state of this import. What stands below it is gone when it is finished; the key itself stays."""
    sizes = "".join(f" {(source / f'{table}.jsonl').stat().st_size}" for table in tables)
    return "import/" + hashlib.sha256(files.read_file(source / "memory.json", MOST_ABOUT_BYTES) + sizes.encode()).hexdigest()[:16]


class _Importing:
    """New ids by old ones. A reference to what is not in the export, or faded meanwhile under the budget, becomes none."""

    def __init__(self, source: Path, store: Store) -> None:
        self._source, self._store = source, store
        self._most_pages = most_pages(store.budget_bytes)
        self.moments: dict[int, int] = {}
        self._segments: dict[int, int] = {}
        self._documents: dict[int, int] = {}
        self._entities: dict[int, int] = {}
        self._relations: dict[int, int] = {}
        self._highest: dict[str, int] = {}
        """The highest number of "speaker", "face" ... that the memory had before this import."""
        self._given = {
            "moments": self.moments,
            "segments": self._segments,
            "documents": self._documents,
            "entities": self._entities,
            "relations": self._relations,
        }

    def resume(self, mark: str) -> Counter[str]:
        """Take up the ids that an interrupted import gave; how many rows of each table it wrote."""
        written = Counter[str]()
        with self._store.transaction() as tx:
            found = tx.connection.execute("SELECT key, value FROM state WHERE key GLOB ? || '/*'", (mark,)).fetchall()
        for key, value in found:
            table = key.split("/")[2]
            if table == _NUMBERS:
                self._highest = msgspec.msgpack.decode(value, type=dict[str, int])
                continue
            rows, given = msgspec.msgpack.decode(value, type=tuple[int, dict[int, int]])
            written[table] += rows
            self._given.get(table, {}).update(given)
        if not found:
            self._note_numbers(f"{mark}/{_NUMBERS}")
        return written

    def _note_numbers(self, key: str) -> None:
        """Note the highest numbers before anything is written: an import that is interrupted goes on with the same ones."""
        words = {numbered[0] for _, row in read_lines(self._source, "entities") if (numbered := number_of(row.name))}
        self._highest = {word: last_number(self._store, word) for word in sorted(words)}
        with self._store.transaction() as tx:
            tx.set_state(key, msgspec.msgpack.encode(self._highest))

    def _named(self, name: str) -> str:
        """The name here. "speaker 1" of one memory is somebody else than "speaker 1" of another: what comes in is numbered after those."""
        return renumbered_names(name, self._highest) if number_of(name) else name

    def write(self, table: str, rows: Iterator[Any], key: str) -> int:
        """The next rows of a table in one transaction, with the ids they got: what is interrupted is found again by these. 0 at the end."""
        add, given = getattr(self, f"add_{table}"), self._given.get(table, {})
        before, count = len(given), 0
        with self._store.transaction() as tx:
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
        given = {name: getattr(row, name) for name in ("stream", "seq", "t_us", "offset_us", "mono_us", "sharpness")}
        vectors = _vectors(row.vectors)
        beside = sum(2 * one.size for one in vectors.values()), page_budget.seen_pages(seen.name for seen in row.observations)
        jpeg, width_px, height_px = self._picture(row, *beside)
        moment_id = tx.add_moment(
            NewMoment(
                **given,
                boot_id=row.boot_id or "",
                width_px=width_px,
                height_px=height_px,
                jpeg=jpeg,
                vectors=vectors,
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
            with suppress(BudgetError):  # pinned pictures may take half of the budget, which may be a smaller one here
                tx.pin(moment_id)

    def add_segments(self, tx: Transaction, row: SegmentLine) -> None:
        given = {name: getattr(row, name) for name in ("stream", "segmenter", "t0_us", "t1_us", "offset_us")}
        ids = tx.remaining([self.moments[moment_id] for moment_id in row.moments if moment_id in self.moments])
        shown = self._there(tx, "moment", self.moments, row.representative_id)
        self._segments[row.id] = tx.add_segment(NewSegment(**given, moment_ids=ids, representative_id=shown, level=row.level))

    def add_parents(self, tx: Transaction, row: ParentLine) -> None:
        segment_id, parent_id = (self._there(tx, "segment", self._segments, key) for key in (row.segment_id, row.parent_id))
        if segment_id is not None and parent_id is not None:
            tx.set_parent([segment_id], parent_id)

    def add_entities(self, tx: Transaction, row: EntityLine) -> None:
        segment_id = self._there(tx, "segment", self._segments, row.segment_id)
        new = NewEntity(kind=row.kind, name=self._named(row.name), known_us=row.known_us, segment_id=segment_id)
        self._entities[row.id] = tx.add_entity(new)
        for space, found in _vectors(row.vectors).items():
            tx.set_entity_vector(self._entities[row.id], space, found)

    def add_documents(self, tx: Transaction, row: DocumentLine) -> None:
        written = row.kind not in _AS_IT_WAS
        new = replace(
            row,
            text=renumbered_names(row.text, self._highest) if written else row.text,
            segment_id=self._there(tx, "segment", self._segments, row.segment_id),
            moment_id=self._there(tx, "moment", self.moments, row.moment_id),
            speaker_id=self._there(tx, "entity", self._entities, row.speaker_id),
            passages=tuple(
                replace(
                    passage,
                    text=renumbered_names(passage.text, self._highest) if written else passage.text,
                    vectors=_vectors(passage.vectors),
                )
                for passage in row.passages
            ),
        )
        self._documents[row.id] = tx.add_document(new)
        if row.until_us is not None:
            tx.connection.execute("UPDATE document SET until_us = ? WHERE id = ?", (row.until_us, self._documents[row.id]))

    def add_parts(self, tx: Transaction, row: PartLine) -> None:
        owner = {
            "moment_id": self._there(tx, "moment", self.moments, row.moment_id),
            "document_id": self._there(tx, "document", self._documents, row.document_id),
        }
        if any(owner.values()):
            entity_id = self._there(tx, "entity", self._entities, row.entity_id)
            tx.add_part(replace(row, **owner, entity_id=entity_id, vectors=_vectors(row.vectors)))

    def add_aliases(self, tx: Transaction, row: AliasLine) -> None:
        entity_id = self._there(tx, "entity", self._entities, row.entity_id)
        if entity_id is not None:
            alias_id = tx.add_alias(entity_id, self._named(row.name), row.known_us)
            if row.until_us is not None:
                tx.retract_alias(alias_id, row.until_us)

    def add_merges(self, tx: Transaction, row: MergeLine) -> None:
        from_id, into_id = (self._there(tx, "entity", self._entities, key) for key in (row.from_id, row.into_id))
        if from_id is None or into_id is None or from_id == into_id:
            return
        if row.until_us is None:
            tx.merge_entity(from_id, into_id, row.known_us)
        else:
            sql = "INSERT INTO entity_merge (from_id, into_id, known_us, until_us) VALUES (?, ?, ?, ?)"
            tx.connection.execute(sql, (from_id, into_id, row.known_us, row.until_us))

    def add_mentions(self, tx: Transaction, row: MentionLine) -> None:
        entity_id = self._there(tx, "entity", self._entities, row.entity_id)
        document_id = self._there(tx, "document", self._documents, row.document_id)
        moment_id = self._there(tx, "moment", self.moments, row.moment_id)
        if entity_id is not None and (document_id is not None or moment_id is not None):
            tx.add_mention(replace(row, entity_id=entity_id, document_id=document_id, moment_id=moment_id))

    def add_relations(self, tx: Transaction, row: RelationLine) -> None:
        source_id, target_id = (self._there(tx, "entity", self._entities, key) for key in (row.source_id, row.target_id))
        if source_id is None or target_id is None:
            return
        quotes = tuple(
            replace(
                quote,
                text=quote.text if quote.origin in _TAKEN_DOWN else renumbered_names(quote.text, self._highest),
                document_id=self._there(tx, "document", self._documents, quote.document_id),
                moment_id=self._there(tx, "moment", self.moments, quote.moment_id),
            )
            for quote in row.quotes
        )
        self._relations[row.id] = tx.add_relation(replace(row, source_id=source_id, target_id=target_id, quotes=quotes))
        if row.until_us is not None:
            tx.end_relation(self._relations[row.id], row.until_us)

    def add_sessions(self, tx: Transaction, row: SessionLine) -> None:
        ids = {"m": self.moments, "d": self._documents, "u": self._documents, "s": self._segments, "r": self._relations}
        steps = tuple(
            replace(step, action_json=renumbered(step.action_json, ids), result_json=renumbered(step.result_json, ids))
            for step in row.steps
        )
        there = tuple(f"{seen.kind}{ids[seen.kind][seen.id]}" for seen in row.came_up if seen.id in ids[seen.kind])
        calls = tuple(renumbered_call(call, ids) for call in row.calls)
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

    def _there(self, tx: Transaction, table: str, ids: Mapping[int, int], old: int | None) -> int | None:
        """The new id of something, while it is there: under a budget it may have faded since it was taken in."""
        new = None if old is None else ids.get(old)
        if new is None or self._most_pages is None:
            return new
        return new if tx.connection.execute(f"SELECT 1 FROM {table} WHERE id = ?", (new,)).fetchone() else None  # noqa: S608 - our own names

    def _picture(self, row: MomentLine, vector_bytes: int, seen_pages: int) -> tuple[bytes, int, int]:
        """Its picture with width and height, made so small that the budget has room for it at once; b"" where there is none."""
        if row.picture is None:
            return b"", row.width_px, row.height_px
        jpeg, width_px, height_px = read_picture(self._source, row.picture), row.width_px, row.height_px
        for side_px in _SMALLER_PX:
            if self._most_pages is None or page_budget.moment_pages(len(jpeg), vector_bytes, seen_pages) <= self._most_pages:
                break
            smaller = shrink(jpeg, side_px, _SMALLER_QUALITY)
            if smaller is None:
                raise UsageError(
                    f"{self._source}: the picture {row.picture} cannot be decoded, and is too large as it is: raise budget.disk"
                )
            jpeg, width_px, height_px = smaller
        return jpeg, width_px, height_px


def _vectors(encoded: Mapping[str, Any]) -> dict[str, Vector]:
    return {space: vector(data) for space, data in encoded.items()}
