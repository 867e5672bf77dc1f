"""Searching the graph: by all conditions first, then by fewer (EGAgent, section 3.3 and appendix E).

What a relaxed query brings is a hint: every row is compared with all conditions of the search, and those that it fails are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from edgemem.answer.tool_base import BaseTool
from edgemem.answer.tools_graph import PEOPLE, Row, match_entities, row_of, row_text
from edgemem.answer.understand.words import words
from edgemem.errors import EdgememError
from edgemem.records import Evidence, Relation
from edgemem_egagent.actions import Condition, Edges, GraphSearch, Hint, Span
from edgemem_egagent.spans import day_of, day_span

if TYPE_CHECKING:
    from edgemem.remember.view import View

EDGES = 60
"""Rows of the graph that are given back; the newest count where there are more."""


class GraphTool(BaseTool):
    """Relations, from strict to relaxed."""

    name = "entity_graph_search"
    action = GraphSearch

    def run(self, action: GraphSearch, view: View) -> Edges:
        """What the model's own SELECT brings, if it wrote one that may run; else what the other arguments bring."""
        notes: tuple[str, ...] = ()
        if action.sql:
            try:
                relations = _selected(action, view)
            except EdgememError as error:
                relations, notes = [], (f"the query was not run: {error}",)
            named = action.source or action.target or action.type
            if len(relations) >= action.min_rows or not named:
                return _edges([(row_of(view, relation), ()) for relation in relations], "sql", notes)
        wanted = action if action.source or action.target or action.type else _named(action, view)
        if not (wanted.source or wanted.target or wanted.type):
            return Edges(notes=(*notes, "no person, object or place of the graph is named"))
        relations, step = _relaxed(wanted, view)
        conditions = _Conditions(wanted, view)
        return _edges([(row_of(view, relation), conditions.failed(relation)) for relation in relations], step, notes)


def _selected(action: GraphSearch, view: View) -> list[Relation]:
    """Relations of the model's query by their ids; a query without the column `id` brings nothing that could be cited."""
    selected = view.select(action.sql, tz=action.tz)
    ids = [row[selected.columns.index("id")] for row in selected.rows] if "id" in selected.columns else []
    relations = [relation for id_ in ids[:EDGES] if isinstance(id_, int) and (relation := view.relation(id_)) is not None]
    return [relation for relation in relations if _within(relation, action.spans)]


def _relaxed(wanted: GraphSearch, view: View) -> tuple[list[Relation], str]:
    """Relations in the stretches of time, else in the whole days that these touch on the asker's clock, else by `View.ladder`.

    The first of these with enough relations is taken; where none has enough, the one with most.
    """
    names = wanted.source or None, wanted.target or None, wanted.type or None
    strict = _in_spans(names, wanted.spans, view)
    if len(strict) >= wanted.min_rows:
        return strict, "a"
    same_day = _in_spans(names, [_whole_days(span, wanted.tz) for span in wanted.spans], view)
    if len(same_day) >= wanted.min_rows:
        return same_day, "b"
    relaxed = view.ladder(*names, min_rows=wanted.min_rows, limit=EDGES)
    found = max((strict, "a"), (same_day, "b"), (list(relaxed.relations), _STEPS.get(relaxed.step or "", relaxed.step or "")), key=_rows)
    return found if found[0] else ([], "")


_STEPS = {"a": "c", "b": "c"}
"""Without a stretch of time the first steps of `View.ladder` are its third: any day."""


def _rows(found: tuple[list[Relation], str]) -> int:
    return len(found[0])


def _in_spans(names: tuple[str | None, str | None, str | None], spans: Sequence[Span], view: View) -> list[Relation]:
    """Relations of exactly these names and type in the stretches of time, the newest where there are many."""
    found: dict[int, Relation] = {}
    for span in spans:
        some = view.ladder(*names, from_us=span.from_us, to_us=span.to_us, limit=EDGES)
        found.update((relation.id, relation) for relation in some.relations if some.step == "a")
    return sorted(found.values(), key=lambda relation: relation.t0_us)[-EDGES:]


def _whole_days(span: Span, tz: str) -> Span:
    low = None if span.from_us is None else day_span(day_of(span.from_us, tz), tz)[0]
    high = None if span.to_us is None else day_span(day_of(span.to_us, tz), tz)[1]
    return Span(from_us=low, to_us=high)


def _named(action: GraphSearch, view: View) -> GraphSearch:
    """The search for what the words of the sub-task name: the first person does something to or with what else is named."""
    said = words(action.about)
    people, others = list[str](), list[str]()
    for entity in view.entities():
        names = [name for name in (entity.name, *entity.aliases) if _says(said, words(name))]
        if names:
            (people if entity.kind in PEOPLE else others).append(max(names, key=len))
    people.sort(key=lambda name: said.index(words(name)[0]))
    others.sort(key=lambda name: -len(name))
    source = people[0] if people else ""
    target = others[0] if others else people[1] if len(people) > 1 else ""
    return msgspec.structs.replace(action, source=source, target=target)


def _says(said: Sequence[str], name: Sequence[str]) -> bool:
    """The words of a name stand in a text side by side."""
    return bool(name) and any(list(said[at : at + len(name)]) == list(name) for at in range(len(said) - len(name) + 1))


class _Conditions:
    """What a search asks of every relation."""

    def __init__(self, wanted: GraphSearch, view: View) -> None:
        self._wanted = wanted
        self._sources = {entity.id for entity in match_entities(view, wanted.source)}
        self._targets = {entity.id for entity in match_entities(view, wanted.target)}

    def failed(self, relation: Relation) -> tuple[Condition, ...]:
        """Those that it does not meet."""
        wanted = self._wanted
        met: tuple[tuple[Condition, bool], ...] = (
            ("time", _within(relation, wanted.spans)),
            ("source", not wanted.source or relation.source.id in self._sources),
            ("target", not wanted.target or relation.target.id in self._targets),
            ("type", not wanted.type or relation.type.casefold() == wanted.type.casefold()),
        )
        return tuple(name for name, holds in met if not holds)


def _within(relation: Relation, spans: Sequence[Span]) -> bool:
    return any(span.overlaps(relation.t0_us, relation.t1_us) for span in spans)


def _edges(rows: Sequence[tuple[Row, tuple[Condition, ...]]], step: str, notes: tuple[str, ...]) -> Edges:
    ordered = sorted(rows, key=lambda one: one[0].t0_us)
    by_proof: dict[str, list[tuple[Row, tuple[Condition, ...]]]] = {}
    for one in ordered:
        by_proof.setdefault(one[0].evidence.id, []).append(one)
    evidence, hints = [], []
    for id_, some in by_proof.items():
        fewest = min((fails for _, fails in some), key=len)
        hints += [Hint(id=id_, fails=fewest)] if fewest else []
        evidence.append(_proof([row for row, fails in some if fails == fewest]))
    told = tuple(row for row, _ in ordered)
    return Edges(rows=told, evidence=tuple(evidence), hints=tuple(hints), step=step if told else "", notes=notes)


def _proof(rows: Sequence[Row]) -> Evidence:
    """One piece of evidence for all rows that rest on the same utterance or picture: it tells every one of them."""
    if len(rows) == 1:
        return rows[0].evidence
    proofs = [row.evidence for row in rows]
    return msgspec.structs.replace(
        max(proofs, key=lambda proof: proof.score), text="; ".join(_texts(rows)), t0_us=min(e.t0_us for e in proofs),
        t1_us=max(e.t1_us for e in proofs),
    )  # fmt: skip


def _texts(rows: Sequence[Row]) -> Iterator[str]:
    by_quote: dict[str, list[str]] = {}
    for row in rows:
        told = by_quote.setdefault(row.quote, [])
        told += [words_] if (words_ := row_text(row)) not in told else []
    for said, edges in by_quote.items():
        yield ", ".join(edges) + (f': "{said}"' if said else "")
