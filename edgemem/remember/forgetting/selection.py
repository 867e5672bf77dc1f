"""Finds what belongs to a thing that is to be forgotten: every row that shows it, mentions it or quotes it. It only reads.

With a moment, everything that it proves is forgotten: all versions of its segment's documents, documents about an interval that contains
it, relations without other evidence, and entities without other mentions. The rest of a segment is kept and may be described again.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgemem.errors import UsageError, nearest
from edgemem.records import Record, Segment
from edgemem.remember.names import holds, plain_name, saying
from edgemem.remember.rows.sessions import strings

_VECTORS = (
    "SELECT sum(length(v.data)) FROM ({owner}) o JOIN vec v ON v.id BETWEEN o.id * 256 AND o.id * 256 + 255"
    " JOIN vec_space s ON s.id = v.id & 255 AND s.holds = '{holds}'"
)
_SAME = (
    "SELECT into_id FROM entity_merge WHERE until_us IS NULL AND from_id @e"
    " UNION SELECT from_id FROM entity_merge WHERE until_us IS NULL AND into_id @e"
)
_SESSION_TEXTS = (
    "SELECT id, question || char(10) || answer || char(10) || notes FROM session UNION ALL"
    " SELECT session_id, action || char(10) || result FROM step UNION ALL SELECT session_id, reply || char(10) || error FROM call"
)
_STREAMS = "SELECT substr(key, 5) AS name FROM state WHERE key LIKE 'see/%' UNION SELECT stream FROM job"
"""Streams with a saved state or postponed work."""
_AMONG = re.compile(r"@(\w)")
"""`id @m` means: the id is one of those bound to `m`."""


class Wanted(Record, frozen=True, kw_only=True):
    """What to forget, in exactly one way: an inclusive time range, an entity or a word by name, a stream, or ids of evidence."""

    from_us: int | None = None
    to_us: int | None = None
    entity: str = ""
    stream: str = ""
    evidence: tuple[str, ...] = ()
    """`m<moment>`, `d<document>`, `s<segment>`, `r<relation>`, `q<session>`."""

    @property
    def what(self) -> str:
        """The kind of request for the receipt, without any forgotten word."""
        return "time range" if self.from_us is not None else "entity" if self.entity else "stream" if self.stream else "evidence"


class Receipt(Record, frozen=True, kw_only=True):
    """What was forgotten, or would be; `id` is "" for a dry run. `bytes`: of pictures, vectors, observations and texts."""

    id: str
    moments: int
    documents: int
    relations: int
    bytes: int


@dataclass
class Selection:
    """Ids of everything to delete, and the segments of which a part is kept."""

    moments: set[int] = field(default_factory=set)
    documents: set[int] = field(default_factory=set)
    segments: set[int] = field(default_factory=set)
    relations: set[int] = field(default_factory=set)
    entities: set[int] = field(default_factory=set)
    sessions: set[int] = field(default_factory=set)
    """Answers that used some of it as evidence."""
    jobs: set[int] = field(default_factory=set)
    """Postponed work that may quote some of it. Nothing refers to a job, so there are no tombstones for jobs."""
    trimmed: list[Segment] = field(default_factory=list)
    """Segments that lose a part, as they will be afterwards."""
    streams: list[str] = field(default_factory=list)
    """Streams whose components may have a picture of it in their state."""
    gone_stream: str = ""
    bytes: int = 0
    """Size of pictures, vectors, observations and texts."""

    def ids(self) -> list[tuple[str, list[int]]]:
        """Ids by kind, in order, as for the tombstones."""
        kinds = ("document", "entity", "moment", "relation", "segment", "session")
        return [(kind, sorted(getattr(self, f"{'entitie' if kind == 'entity' else kind}s"))) for kind in kinds]


def select(connection: sqlite3.Connection, wanted: Wanted) -> Selection:
    """Everything that belongs to `wanted`. Raises UsageError for a name or an id that the memory does not have."""
    return _Selecting(connection).select(wanted)


class _Selecting:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._found = Selection()
        self._touched: set[int] = set()
        """Segments that lose a moment or a document."""
        self._unused: set[int] = set()
        """Entities that are forgotten if nothing refers to them: of what they were known from, all may have faded."""
        self._all_texts = False
        """Whether the documents about the whole time were found already."""

    def select(self, wanted: Wanted) -> Selection:
        if wanted.from_us is not None and wanted.to_us is not None:
            self._all_texts = True
            self._range(wanted.from_us, wanted.to_us)
        elif wanted.stream:
            self._all_texts = True
            self._stream(wanted.stream)
        elif wanted.entity:
            self._entity(wanted.entity)
        else:
            for evidence in wanted.evidence:
                self._evidence(evidence)
        self._cascade()
        self._trim()
        self._orphans()
        self._sessions()
        self._jobs()
        self._weigh()
        return self._found

    def _ids(self, sql: str, **values: Any) -> set[int]:
        return {row[0] for row in self._rows(sql, **values)}

    def _rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        bound = {name: json.dumps(sorted(value)) if isinstance(value, set) else value for name, value in values.items()}
        return self._connection.execute(_AMONG.sub(r"IN (SELECT value FROM json_each(:\1))", sql), bound).fetchall()

    # What is named

    def _range(self, from_us: int, to_us: int) -> None:
        found, span = self._found, {"t0": from_us, "t1": to_us}
        found.moments |= self._ids("SELECT id FROM moment WHERE t_us BETWEEN :t0 AND :t1", **span)
        for kind, ids in (("document", found.documents), ("segment", self._touched), ("relation", found.relations)):
            ids.update(self._ids(f"SELECT id FROM {kind} WHERE t0_us <= :t1 AND t1_us >= :t0", **span))  # noqa: S608
        asked = "SELECT id FROM session WHERE asked_us BETWEEN :t0 AND :t1 UNION SELECT session_id FROM session_evidence"
        found.sessions |= self._ids(f"{asked} WHERE t0_us <= :t1 AND t1_us >= :t0", **span)
        self._unused = self._ids("SELECT id FROM entity WHERE known_us BETWEEN :t0 AND :t1", **span)
        # A selector may hold a picture of that time from a stream that has no moment yet.
        found.streams = [row[0] for row in self._rows(f"SELECT name FROM ({_STREAMS}) ORDER BY name")]  # noqa: S608

    def _stream(self, name: str) -> None:
        names = {row[0] for row in self._rows(f"SELECT name FROM stream UNION {_STREAMS}")}  # noqa: S608
        if name not in names:
            raise UsageError(f'this memory has no stream "{name}"{nearest(name, names)}')
        self._found.gone_stream = name
        if names == {name}:
            self._unused = self._ids("SELECT id FROM entity")
        stream_id = next(iter(self._ids("SELECT id FROM stream WHERE name = :name", name=name)), 0)
        for kind, ids in (
            ("moment", self._found.moments),
            ("document", self._found.documents),
            ("segment", self._touched),
            ("relation", self._found.relations),
        ):
            ids.update(self._ids(f"SELECT id FROM {kind} WHERE stream_id = :stream", stream=stream_id))  # noqa: S608
        self._found.sessions |= self._ids("SELECT session_id FROM session_evidence WHERE stream_id = :stream", stream=stream_id)

    def _entity(self, name: str) -> None:
        """Entities with this name, by all their names: where they are mentioned, pictures in which they were seen or their name was read,
        documents that contain a name.
        """
        wanted = plain_name(name)
        if not wanted:
            raise UsageError("--entity: give a name that has a letter or a digit")
        found = self._found
        called = self._rows("SELECT id, name FROM entity UNION ALL SELECT entity_id, name FROM alias")
        found.entities |= {key for key, other in called if plain_name(other) == wanted}
        while more := self._ids(_SAME, e=found.entities) - found.entities:
            found.entities |= more
        names = {name} | {other for key, other in called if key in found.entities}
        plain = {plain_name(other) for other in names}
        labels = self._rows("SELECT id, name FROM term WHERE kind IN ('label', 'object')")
        labels = [(key, label) for key, label in labels if plain_name(label) in plain]
        names |= {label for _, label in labels}
        mentions = self._rows("SELECT document_id, moment_id FROM mention WHERE entity_id @e", e=found.entities)
        found.documents |= {row[0] for row in mentions if row[0] is not None}
        found.moments |= {row[1] for row in mentions if row[1] is not None}
        parts = self._rows("SELECT document_id, moment_id FROM part WHERE entity_id @e", e=found.entities)
        found.documents |= {row[0] for row in parts if row[0] is not None}
        found.moments |= {row[1] for row in parts if row[1] is not None}
        says = saying(names)
        found.documents |= {key for key, text in self._connection.execute("SELECT id, text FROM document") if says(text)}
        found.documents |= self._ids("SELECT document_id FROM utterance WHERE speaker_id @e", e=found.entities)
        terms = {key for key, text in self._connection.execute("SELECT id, name FROM term WHERE kind = 'text'") if says(text)}
        terms |= {key for key, _ in labels}
        found.moments |= self._ids("SELECT moment_id FROM posting WHERE term_id @t", t=terms)
        found.moments |= self._ids(
            "SELECT moment_id FROM document WHERE kind = 'text' AND moment_id IS NOT NULL AND id @d",
            d=found.documents,
        )
        found.relations |= self._ids("SELECT id FROM relation WHERE source_id @e OR target_id @e", e=found.entities)
        found.sessions |= {key for key, text in self._connection.execute(_SESSION_TEXTS) if says(text)}
        requests = self._connection.execute("SELECT session_id, request, logprobs FROM call")
        found.sessions |= {key for key, *asked in requests if any(says(text) for packed in asked for text in strings(packed))}
        put_off = self._connection.execute("SELECT id, payload, error FROM job")
        found.jobs |= {key for key, *texts in put_off if holds(texts, names)}
        if not (found.entities or found.documents or found.moments or found.sessions or found.jobs):
            known = {
                row[0] for row in self._rows("SELECT name FROM entity UNION SELECT name FROM term WHERE moments > 0 AND kind <> 'text'")
            }
            raise UsageError(f'this memory has nothing called "{name}"{nearest(name, known) if known else ""}')

    def _evidence(self, evidence: str) -> None:
        """An id and its evidence: the picture of a text, the moments of an event."""
        kind = {"m": "moment", "d": "document", "s": "segment", "r": "relation", "q": "session"}.get(evidence[:1])
        if kind is None or not evidence[1:].isdecimal():
            raise UsageError(f'"{evidence[:40]}" is not an evidence id; take one from ask or search, such as m12 or d3')
        key = int(evidence[1:][:18])
        if not self._ids(f"SELECT id FROM {kind} WHERE id = :id", id=key):  # noqa: S608
            raise UsageError(f"this memory has no {evidence}: it was never there, or it is forgotten already")
        found = self._found
        if kind == "moment":
            found.moments.add(key)
        elif kind == "document":
            found.documents.add(key)
            moment_id, segment_id = self._rows("SELECT moment_id, segment_id FROM document WHERE id = :id", id=key)[0]
            if segment_id is not None:
                self._whole_segment(segment_id)
            if moment_id is not None:
                found.moments.add(moment_id)
        elif kind == "segment":
            self._whole_segment(key)
        elif kind == "session":
            found.sessions.add(key)
        else:
            found.relations.add(key)
            sql = "SELECT document_id FROM relation_evidence WHERE relation_id = :id AND document_id IS NOT NULL"
            found.documents |= self._ids(sql, id=key)

    def _whole_segment(self, segment_id: int) -> None:
        self._touched.add(segment_id)
        self._found.moments |= self._ids("SELECT moment_id FROM segment_moment WHERE segment_id = :id", id=segment_id)

    # What belongs to it

    def _cascade(self) -> None:
        found = self._found
        self._touched |= self._ids("SELECT segment_id FROM segment_moment WHERE moment_id @m", m=found.moments)
        self._touched |= self._ids("SELECT segment_id FROM document WHERE segment_id IS NOT NULL AND id @d", d=found.documents)
        of_touched = "SELECT parent_id FROM segment WHERE parent_id IS NOT NULL AND id @s"
        while more := self._ids(of_touched, s=self._touched) - self._touched:  # the text about a scene describes its clips
            self._touched |= more
        found.documents |= self._ids("SELECT id FROM document WHERE moment_id @m", m=found.moments)
        found.documents |= self._ids("SELECT id FROM document WHERE segment_id @s", s=self._touched)
        if not self._all_texts:
            # Text read in another picture of the same instant is no summary of this one. The plus makes SQLite use the index on times.
            found.documents |= self._ids(
                "SELECT d.id FROM document d WHERE (d.moment_id IS NULL OR d.t1_us > d.t0_us) AND EXISTS (SELECT 1 FROM moment m"
                " WHERE m.stream_id = d.stream_id AND m.t_us BETWEEN d.t0_us AND d.t1_us AND +m.id @m)",
                m=found.moments,
            )
        found.relations |= self._ids(
            "SELECT v.relation_id FROM relation_evidence v WHERE (v.document_id @d OR v.moment_id @m)"
            " AND NOT EXISTS (SELECT 1 FROM relation_evidence o"
            " WHERE o.relation_id = v.relation_id AND (o.document_id NOT @d OR o.moment_id NOT @m))",
            m=found.moments,
            d=found.documents,
        )

    def _trim(self) -> None:
        """Delete segments of which nothing is left. The others end where the rest of them ends, unless they contain other segments."""
        found = self._found
        rows = self._rows(
            "SELECT g.id, s.name, g.segmenter, g.t0_us, g.t1_us, g.offset_us, g.representative_id, g.level, g.parent_id FROM segment g"
            " JOIN stream s ON s.id = g.stream_id WHERE g.id @s ORDER BY g.level, g.id",
            s=self._touched,
        )
        for row in rows:
            sql = "SELECT m.id, m.t_us FROM segment_moment g JOIN moment m ON m.id = g.moment_id WHERE g.segment_id = :id ORDER BY 2, 1"
            members = self._rows(sql, id=row[0])
            left = [member for member in members if member[0] not in found.moments]
            holds = bool(self._ids("SELECT id FROM segment WHERE parent_id = :id", id=row[0]) - found.segments)
            if left or holds:
                shrinks = len(left) < len(members) and not holds
                found.trimmed.append(self._trimmed(row, left, (left[0][1], left[-1][1]) if shrinks else (row[3], row[4])))
            else:
                found.segments.add(row[0])

    def _trimmed(self, row: tuple[Any, ...], left: Sequence[tuple[Any, ...]], span_us: tuple[int, int]) -> Segment:
        """A segment within a span; if its representative is deleted, the remaining moment nearest to its middle replaces it."""
        t0_us, t1_us, representative_id = max(row[3], span_us[0]), min(row[4], span_us[1]), row[6]
        if representative_id in self._found.moments:
            representative_id = min(left, key=lambda member: abs(2 * member[1] - t0_us - t1_us), default=(None,))[0]
        return Segment(
            id=row[0],
            stream=row[1],
            segmenter=row[2],
            t0_us=t0_us,
            t1_us=t1_us,
            offset_us=row[5] + t0_us - row[3],
            representative_id=representative_id,
            level=row[7],
            parent_id=row[8],
        )

    def _orphans(self) -> None:
        """Find entities that are known only from deleted data: their names are part of it. So is the name that a deleted voice had."""
        found = self._found
        gone = {"m": found.moments, "d": found.documents, "r": found.relations, "g": found.segments}
        candidates = self._unused | self._ids(
            "SELECT entity_id FROM mention WHERE document_id @d OR moment_id @m"
            " UNION SELECT source_id FROM relation WHERE id @r UNION SELECT target_id FROM relation WHERE id @r"
            " UNION SELECT id FROM entity WHERE segment_id @g"
            " UNION SELECT speaker_id FROM utterance WHERE document_id @d AND speaker_id IS NOT NULL"
            " UNION SELECT entity_id FROM part WHERE entity_id IS NOT NULL AND (document_id @d OR moment_id @m)",
            **gone,
        )
        while more := self._ids("SELECT into_id FROM entity_merge WHERE from_id @e", e=candidates | found.entities) - candidates:
            candidates |= more
        orphans = self._ids(
            "SELECT e.id FROM entity e WHERE e.id @e"
            " AND NOT EXISTS (SELECT 1 FROM relation r WHERE e.id IN (r.source_id, r.target_id)"
            " AND r.id NOT @r)"
            " AND NOT EXISTS (SELECT 1 FROM utterance u WHERE u.speaker_id = e.id AND u.document_id NOT @d)"
            " AND NOT EXISTS (SELECT 1 FROM part p WHERE p.entity_id = e.id"
            " AND ifnull(p.document_id, 0) NOT @d AND ifnull(p.moment_id, 0) NOT @m)"
            " AND NOT EXISTS (SELECT 1 FROM mention n WHERE n.entity_id = e.id"
            " AND ifnull(n.document_id, 0) NOT @d AND ifnull(n.moment_id, 0) NOT @m)",
            e=candidates,
            **gone,
        )
        # Somebody who is known by a voice or another name that stays is kept, also if that is known only of the past.
        known = "SELECT into_id FROM entity_merge WHERE into_id @o AND from_id NOT @e"
        while kept := self._ids(known, o=orphans, e=orphans | found.entities):
            orphans -= kept
        found.entities |= orphans
        if not found.streams and not found.gone_stream:
            found.streams = [
                row[0]
                for row in self._rows(
                    "SELECT s.name FROM stream s WHERE s.id IN (SELECT stream_id FROM moment WHERE id @m"
                    " UNION SELECT stream_id FROM document WHERE id @d) ORDER BY s.id",
                    **gone,
                )
            ]

    def _sessions(self) -> None:
        """Find answers: they may quote everything that was found for them."""
        found = self._found
        gone = {"m": found.moments, "d": found.documents, "r": found.relations, "s": self._touched | found.segments}
        for kind, ids in gone.items():
            found.sessions |= self._ids("SELECT session_id FROM session_evidence WHERE kind = :kind AND ref_id @i", kind=kind, i=ids)

    def _jobs(self) -> None:
        """Find jobs: only the writer knows what a payload quotes, so all jobs of streams that lose something are deleted."""
        streams = {*self._found.streams, self._found.gone_stream}
        self._found.jobs |= self._ids("SELECT id FROM job WHERE stream @s", s=streams)

    def _weigh(self) -> None:
        found = self._found
        parts = (
            # A picture that another moment also has is kept.
            (
                "SELECT sum(length(b.data)) FROM blob b JOIN (SELECT blob_id, count(*) AS users FROM moment WHERE id @m GROUP BY blob_id) u"
                " ON u.blob_id = b.id WHERE u.users = b.refs"
            ),
            "SELECT sum(length(data)) FROM observation WHERE moment_id @m",
            _VECTORS.format(holds="moment", owner="SELECT value AS id FROM json_each(:m)"),
            _VECTORS.format(holds="passage", owner="SELECT id FROM passage WHERE document_id @d"),
            _VECTORS.format(holds="part", owner="SELECT id FROM part WHERE moment_id @m OR document_id @d"),
            _VECTORS.format(holds="entity", owner="SELECT value AS id FROM json_each(:e)"),
            "SELECT sum(length(CAST(text AS BLOB))) FROM passage WHERE document_id @d",
            "SELECT sum(bytes) FROM session WHERE id @q",
            "SELECT sum(length(CAST(text AS BLOB)) + length(CAST(squeezed AS BLOB))) FROM document WHERE id @d",
        )
        found.bytes = sum(
            self._rows(sql, m=found.moments, d=found.documents, q=found.sessions, e=found.entities)[0][0] or 0 for sql in parts
        )


def runs(ids: Iterable[int]) -> list[tuple[int, int]]:
    """Sorted ids as ranges of consecutive ids: (first, last)."""
    found: list[tuple[int, int]] = []
    for key in ids:
        if found and found[-1][1] == key - 1:
            found[-1] = found[-1][0], key
        else:
            found.append((key, key))
    return found
