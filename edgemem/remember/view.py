"""The memory as it was known at one time: every read goes through a view with a cut-off.

Moments exist from `t_us`, segments from `t1_us` (a segment is not known before it closes), documents from `known_us` until
`until_us`. Time ranges are inclusive on both sides; segments and documents count when they overlap the range.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from edgemem.errors import MemoryDirError
from edgemem.records import Matrix, Moment, Observation, Segment, Vector
from edgemem.remember.disk import schema
from edgemem.remember.disk.contents import protect, survey
from edgemem.remember.disk.directory import is_paused
from edgemem.remember.disk.error_translation import translated_errors
from edgemem.remember.results import PassageHit, Posting, SessionHead, SessionLog, Spoken, Stats, Stream, TextHit
from edgemem.remember.rows import observations as packing
from edgemem.remember.rows.documents import DocumentReading
from edgemem.remember.rows.jobs import JobReading
from edgemem.remember.rows.reading import FOREVER_US, KNOWN, connect, ids_list, in_stream
from edgemem.remember.rows.sessions import SessionReading
from edgemem.remember.vectors.search import fetch

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["FOREVER_US", "PassageHit", "Posting", "SessionHead", "SessionLog", "Spoken", "Stats", "Stream", "TextHit", "View"]


class View(DocumentReading, SessionReading, JobReading):
    """A read-only connection and a cut-off. Make it with `View.open`; use it as a context manager."""

    @classmethod
    def open(cls, directory: Path, as_of_us: int | None = None, *, budget_bytes: int | None = None) -> View:
        """Open the memory at `directory` as it was known at `as_of_us` (default: everything), without changing it.

        Raises MemoryDirError if it is missing, no memory, too new, busy or unreadable.
        """
        with translated_errors(directory):
            if not (directory / schema.DATABASE).is_file():
                kind = "is not a memory" if directory.exists() else "does not exist"
                raise MemoryDirError(f"{directory} {kind}: make one with `edgemem ingest SOURCE --memory {directory}`")
            protect(directory)
            connection = connect(directory)
            try:
                schema.require_current(connection, directory)
                return cls(directory, connection, FOREVER_US if as_of_us is None else as_of_us, budget_bytes)
            except BaseException:
                connection.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. Calling it twice does nothing."""
        self._connection.close()

    # Streams and moments

    def streams(self) -> list[Stream]:
        """Streams with at least one moment, in the order of their first frame."""
        found = self._all(
            "SELECT s.name, s.t0_us, max(m.t_us), count(*) FROM moment m JOIN stream s ON s.id = m.stream_id"
            " WHERE m.t_us <= :as_of GROUP BY s.id ORDER BY s.t0_us, s.id",
        )
        return [Stream(name=name, t0_us=t0_us, t1_us=t1_us, moments=moments) for name, t0_us, t1_us, moments in found]

    def bounds(self) -> tuple[int, int] | None:
        """Times of the first and the last moment or utterance; None if there is none."""
        seen = self._all("SELECT (SELECT min(t_us) FROM moment), (SELECT max(t_us) FROM moment WHERE t_us <= :as_of)")[0]
        ends = [(t_us, t_us) for t_us in seen if seen[1] is not None and t_us is not None]
        if self._all("SELECT 1 FROM utterance LIMIT 1"):
            first_or_last = "SELECT t0_us, t1_us FROM document WHERE kind = 'utterance' AND known_us <= :as_of ORDER BY t0_us {} LIMIT 1"
            ends += [*self._all(first_or_last.format("ASC")), *self._all(first_or_last.format("DESC"))]  # by the index on time
        return (min(end[0] for end in ends), max(end[1] for end in ends)) if ends else None

    def moment(self, moment_id: int) -> Moment | None:
        """The moment with this id; None if it is unknown, forgotten or later than the cut-off."""
        found = self._moments("m.id = :id", id=moment_id)
        return found[0] if found else None

    def moments_of(self, ids: Iterable[int]) -> dict[int, Moment]:
        """These moments by id, without those that are unknown, forgotten or later than the cut-off."""
        return {moment.id: moment for moment in self._moments(f"m.id IN {ids_list(list(ids))}")}

    def moments(
        self,
        *,
        stream: str | None = None,
        from_us: int | None = None,
        to_us: int | None = None,
        limit: int | None = None,
        about: int | None = None,
        newest_first: bool = False,
    ) -> list[Moment]:
        """Moments in time order. Of many more than `about` half as many to so many are taken, in runs of 12 over the stretch of time."""
        way = "DESC" if newest_first else "ASC"
        every = 1 if about is None else max(1, round(self.moments_in(from_us, to_us, stream) / about))
        return self._moments(
            f"m.t_us BETWEEN :from_us AND :to_us {in_stream('m', stream)} AND (m.id / 12) % :every = 0",
            f"ORDER BY m.t_us {way}, m.id {way} LIMIT :limit",
            limit=-1 if limit is None else limit,
            every=every,
            **self._range(from_us, to_us, stream),
        )

    def moments_in(self, from_us: int | None, to_us: int | None, stream: str | None = None) -> int:
        """How many moments there are in a stretch of time."""
        number: int = self._all(
            f"SELECT count(*) FROM moment m WHERE m.t_us BETWEEN :from_us AND :to_us {in_stream('m', stream)}",  # noqa: S608
            **self._range(from_us, to_us, stream),
        )[0][0]
        return number

    def nearest(self, t_us: int, stream: str | None = None) -> Moment | None:
        """The moment closest in time to `t_us`; the earlier one of two equally close."""
        before = self.moments(stream=stream, to_us=t_us, limit=1, newest_first=True)
        after = self.moments(stream=stream, from_us=t_us, limit=1)
        return min(before + after, key=lambda moment: abs(moment.t_us - t_us), default=None)

    def picture(self, moment_id: int) -> bytes:
        """The JPEG of a moment. Raises MemoryDirError when it is unknown, forgotten or later than the cut-off."""
        found = self._all(
            "SELECT b.data FROM moment m JOIN blob b ON b.id = m.blob_id WHERE m.id = :id AND m.t_us <= :as_of",
            id=moment_id,
        )
        if not found:
            if self.moment(moment_id) is not None:
                raise MemoryDirError(f"memory {self.directory}: the picture of m{moment_id} has faded; what was seen in it is still known")
            raise MemoryDirError(f"memory {self.directory} has no picture m{moment_id}: it is unknown, forgotten or later than the cut-off")
        data: bytes = found[0][0]
        return data

    # Observations

    def observations(self, moment_ids: Iterable[int]) -> dict[int, tuple[Observation, ...]]:
        """The observations of these moments, without moments that are not visible."""
        seen: dict[int, tuple[Observation, ...]] = {}
        ids = list(moment_ids)
        found = self._all(
            "SELECT m.id, o.data FROM moment m LEFT JOIN observation o ON o.moment_id = m.id"  # noqa: S608
            f" WHERE m.t_us <= :as_of AND m.id IN {ids_list(ids)}",
        )
        for moment_id, data in found:
            with suppress(KeyError):  # it was deleted since the line above
                seen[moment_id] = packing.unpack(data, self._term) if data else ()
        return {moment_id: seen[moment_id] for moment_id in ids if moment_id in seen}

    def postings(
        self,
        names: Sequence[str],
        *,
        kinds: Sequence[str] | None = None,
        from_us: int | None = None,
        to_us: int | None = None,
        stream: str | None = None,
        limit_per_name: int = 2000,
    ) -> list[Posting]:
        """The moments in which each of these names was seen; per name (and kind) the best score first."""
        values = self._range(from_us, to_us, stream)
        terms = [
            (name, kind, term_id)
            for name in dict.fromkeys(names)
            for term_id, kind in self._all("SELECT id, kind FROM term WHERE name = :name ORDER BY id", name=name)
            if kind != packing.COLOUR_WORD and (kinds is None or kind in kinds)
        ]
        rows = self._postings_of_few(terms, in_stream("m", stream), values)
        postings = []
        for name, kind, term_id in terms:
            found = (
                self._all(
                    "SELECT moment_id, t_us, score_ppm, colour_id, area_ppm FROM posting p WHERE term_id = :term_id"  # noqa: S608
                    f" AND t_us BETWEEN :from_us AND :to_us {in_stream('p', stream)} ORDER BY score_ppm DESC LIMIT :limit",
                    term_id=term_id,
                    limit=limit_per_name,
                    **values,
                )
                if rows is None
                else rows[term_id][:limit_per_name]
            )
            postings += [
                Posting(
                    moment_id=moment_id,
                    t_us=t_us,
                    kind=kind,
                    name=name,
                    score=score_ppm / packing.PPM,
                    colour=self._term(colour_id)[1] if colour_id else "",
                    area=area_ppm / packing.PPM,
                )
                for moment_id, t_us, score_ppm, colour_id, area_ppm in found
            ]
        return postings

    def names(self, kind: str) -> dict[str, int]:
        """Every name of this kind of observation, with the number of moments that show it."""
        totals = self._all("SELECT id, name, moments FROM term WHERE kind = :kind AND moments > 0 ORDER BY id", kind=kind)
        hidden = self._hidden_counts()
        return {name: moments - hidden[term_id] for term_id, name, moments in totals if moments > hidden[term_id]}

    # Vectors

    def vector_search(
        self,
        space: str,
        query: Vector,
        k: int,
        *,
        from_us: int | None = None,
        to_us: int | None = None,
        stream: str | None = None,
        among: Sequence[int] | None = None,
    ) -> list[tuple[int, float]]:
        """Ids and exact cosines of the `k` nearest moments, best first; `query` is a unit vector of that space.

        Empty for a space that is unknown or holds no moments.
        """
        reader = self._space(space)
        if reader is None or reader.space.holds != "moment" or k <= 0:
            return []
        bounds = self._range(from_us, to_us, None)
        stream_id = None if stream is None else self._stream_id(stream)
        with translated_errors(self.directory):
            return reader.search(
                query,
                k,
                from_us=bounds["from_us"],
                to_us=bounds["to_us"],
                stream_id=stream_id,
                among=among,
            )

    def vectors(self, space: str, ids: Sequence[int]) -> Matrix:
        """The stored vectors of these moments, float32 [n, dim]. Raises MemoryDirError if one of them has none."""
        reader = self._space(space)
        visible = {row[0] for row in self._all(f"SELECT id FROM moment m WHERE m.t_us <= :as_of AND m.id IN {ids_list(ids)}")}  # noqa: S608
        missing = [moment_id for moment_id in ids if moment_id not in visible]
        if reader is None or reader.space.holds != "moment" or missing:
            raise MemoryDirError(f'memory {self.directory} has no vector of "{space}" for ' + ", ".join(f"m{i}" for i in missing or ids))
        with translated_errors(self.directory):
            present, matrix = fetch(self._connection, reader.space.id, reader.space.dim, ids)
        if len(present) != len(ids):
            raise MemoryDirError(f'memory {self.directory} has no vector of "{space}" for m{min(set(ids) - set(present))}')
        return matrix

    # Segments; documents.py reads documents

    def segments(
        self,
        *,
        segmenter: str | None = None,
        stream: str | None = None,
        level: int | None = None,
        parent_id: int | None = None,
        from_us: int | None = None,
        to_us: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Segment]:
        """Closed segments in the order of their beginning; `parent_id` finds the segments within this one, once it is closed too."""
        way = "DESC" if newest_first else "ASC"
        by = "AND g.segmenter = :segmenter" if segmenter is not None else ""
        by += " AND g.level = :level" if level is not None else ""
        by += " AND h.id = :parent_id" if parent_id is not None else ""
        return self._segments(
            f"g.t1_us >= :from_us AND g.t0_us <= :to_us {by} {in_stream('g', stream)} ORDER BY g.t0_us {way}, g.id {way} LIMIT :limit",
            segmenter=segmenter,
            level=level,
            parent_id=parent_id,
            limit=-1 if limit is None else limit,
            **self._range(from_us, to_us, stream),
        )

    def segment(self, segment_id: int) -> Segment | None:
        """The segment with this id; None if it is unknown, forgotten or not closed at the cut-off."""
        found = self._segments("g.id = :id", id=segment_id)
        return found[0] if found else None

    def segment_moments(self, segment_id: int) -> list[Moment]:
        """The moments of a closed segment that still exist, in time order."""
        if self.segment(segment_id) is None:
            return []
        return self._moments(
            "m.id IN (SELECT moment_id FROM segment_moment WHERE segment_id = :id)",
            "ORDER BY m.t_us, m.id",
            id=segment_id,
        )

    def stats(self) -> Stats:
        """Content and size of the memory."""
        tiers = dict.fromkeys(("recent", "mid", "long", "stub"), 0)
        tiers.update(self._all("SELECT tier, count(*) FROM moment WHERE t_us <= :as_of GROUP BY tier"))
        segments = self._all("SELECT count(*) FROM segment WHERE t1_us <= :as_of")[0][0]
        documents = self._all(f"SELECT count(*) FROM document d WHERE {KNOWN}")[0][0]  # noqa: S608
        bounds = self.bounds()
        with translated_errors(self.directory):
            contents = survey(self.directory)
        return Stats(
            disk_bytes=contents.own_bytes + contents.foreign_bytes,
            budget_bytes=self._budget_bytes or self._noted_budget(),
            moments=sum(tiers.values()),
            tiers=tiers,
            segments=segments,
            documents=documents,
            entities=self.count_entities(),
            relations=self.count_relations(),
            oldest_us=bounds[0] if bounds else None,
            newest_us=bounds[1] if bounds else None,
            foreign_files=len(contents.foreign),
            foreign_bytes=contents.foreign_bytes,
            encrypted=self.encrypted,
            paused=is_paused(self.directory),
        )

    def _noted_budget(self) -> int | None:
        """The cap of the last writer; None if it had none."""
        found = self._all("SELECT value FROM meta WHERE key = 'budget_bytes'")
        return int(found[0][0]) if found else None
