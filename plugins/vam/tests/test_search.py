"""The search tool over a real memory: sources, thresholds, looks, passages, times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from edgemem_vam import summary_key
from edgemem_vam.actions import HybridSearch, WindowSummary
from edgemem_vam.search import QUERIES, HybridSearchTool
from edgemem_vam.wire import SubQuery

from edgemem.errors import EngineError
from edgemem.infer.roles import Space
from edgemem.records import US, Evidence, Matrix
from edgemem.remember.entries import NewDocument, NewMoment, NewPassage
from edgemem.remember.store import Store
from edgemem.remember.view import View


def q(text: str, **keys: Any) -> SubQuery:
    return SubQuery(q=text, **keys)


def ids(tool: HybridSearchTool, view: View, *queries: SubQuery, **keys: Any) -> list[str]:
    return [row.id for row in tool.run(HybridSearch(queries=queries, **keys), view).rows]


def test_pictures_and_documents_are_one_list_best_first_without_doubles(vam: SimpleNamespace, view: View) -> None:
    hits = vam.search_tool().run(HybridSearch(queries=(q("red coffee mug"), q("coffee mug"))), view)
    scores = [row.score for row in hits.rows]
    assert scores == sorted(scores, reverse=True)
    assert len({row.id for row in hits.rows}) == len(hits.rows)
    assert hits.rows[0].id == "m2"
    assert [evidence.id for evidence in hits.evidence] == [row.id for row in hits.rows]
    assert {row.source for row in hits.rows} == {"frame", "event"}


def test_each_source_is_searched_only_when_it_is_asked_for(vam: SimpleNamespace, view: View) -> None:
    tool = vam.search_tool()
    assert {name[0] for name in ids(tool, view, q("coffee mug"), sources=("frame",))} == {"m"}
    assert {name[0] for name in ids(tool, view, q("coffee mug"), sources=("event",))} == {"d"}
    assert ids(tool, view, q("coffee mug"), sources=("summary",)) == []


def test_what_is_far_below_the_threshold_is_left_out_unless_nothing_else_is_there(vam: SimpleNamespace, view: View) -> None:
    tool = vam.search_tool()
    strong = ids(tool, view, q("front door", threshold=0.65), sources=("frame",))
    assert strong == ["m5", "m8"]
    weak = ids(tool, view, q("front door", threshold=3.0), sources=("frame",))
    assert set(strong) <= set(weak)


def test_pictures_below_the_floor_are_no_hits(vam: SimpleNamespace, view: View) -> None:
    hits = vam.search_tool().run(HybridSearch(queries=(q("space rocket", threshold=0.0, top_k=50),), sources=("frame",)), view)
    assert all(row.score >= 0.05 for row in hits.rows)


def test_text_that_was_read_is_found_and_known_to_be_read(vam: SimpleNamespace, view: View) -> None:
    hits = vam.search_tool().run(HybridSearch(queries=(q("MARLOW BAKERY"),), sources=("frame",)), view)
    assert (hits.rows[0].id, hits.rows[0].by, hits.rows[0].origin) == ("m9", "reading", "ocr")


def test_nothing_outside_the_stretch_of_time_is_found(vam: SimpleNamespace, view: View) -> None:
    start, tool = vam.start_us, vam.search_tool()
    found = tool.run(HybridSearch(queries=(q("front door"),), from_us=start + 100 * US, to_us=start + 200 * US), view)
    assert [row.id for row in found.rows if row.source == "frame"] == ["m8"]
    assert all(evidence.t1_us >= start + 100 * US for evidence in found.evidence)


def test_the_best_of_each_query_are_marked_for_a_closer_look(vam: SimpleNamespace, view: View) -> None:
    action = HybridSearch(queries=(q("front door", inspect_k=1), q("space rocket", inspect_k=0)), sources=("frame",))
    rows = vam.search_tool().run(action, view).rows
    assert [row.id for row in rows if row.look_ahead] == ["m5"]


def test_more_queries_than_can_be_searched_are_said(vam: SimpleNamespace, view: View) -> None:
    hits = vam.search_tool().run(HybridSearch(queries=tuple(q(f"thing {n}") for n in range(QUERIES + 1))), view)
    assert any("queries" in note for note in hits.notes)


# A memory with vectors: real spaces of three dimensions, so that every cosine is known


class Axes:
    """A text embedder whose space has three axes: doors, mugs, rockets."""

    space = Space(name="axes", dim=3, calibration={"search_chance": 0.0, "search_sure": 1.0})

    def embed_text(self, texts: Sequence[str]) -> Matrix:
        return np.stack([axis(*(float(word in text) for word in ("door", "mug", "rocket"))) for text in texts])

    embed_query = embed_text


class Engines:
    """What the search tool needs of `infer.engines.Engines`."""

    def __init__(self, **roles: Any) -> None:
        self._roles = roles

    def has(self, role: str) -> bool:
        return role in self._roles

    def missing(self, role: str) -> str:
        return "" if role in self._roles else f"no engine plays {role}"

    def role(self, role: str) -> Any:
        return self._roles[role]

    def card(self, role: str) -> Any:
        return SimpleNamespace(space=self._roles[role].space)


def axis(*values: float) -> Matrix:
    vector = np.asarray(values, np.float32)
    return vector / max(float(np.linalg.norm(vector)), 1e-6)


@pytest.fixture
def axes(tmp_path: Path, vam: SimpleNamespace) -> Path:
    """Three pictures, each on an axis but the last between two; two documents and two summaries with passages."""
    joint, start = Space(name="looks", dim=3), vam.start_us
    with Store.open(tmp_path / "axes") as store:
        store.ensure_space(joint)
        store.ensure_space(Axes.space, holds="passage")
        store.ensure_stream("s", start)
        picture = {"stream": "s", "width_px": 8, "height_px": 8, "sharpness": 1.0}
        with store.transaction() as tx:
            for seq, vector in enumerate((axis(1, 0, 0), axis(0, 1, 0), axis(1, 0.3, 0))):
                at = {"seq": seq, "t_us": start + seq * 10 * US, "offset_us": seq * 10 * US}
                tx.add_moment(NewMoment(**picture, **at, jpeg=f"picture {seq}".encode(), vectors={"looks": vector}))
            embed = Axes().embed_text

            def passage(kind: Any, text: str) -> NewPassage:
                return NewPassage(kind=kind, text=text, vectors={"axes": embed([text])[0]})

            def write(kind: str, text: str, seconds: int, *passages: NewPassage, length_s: int = 9) -> None:
                t0 = start + seconds * US
                tx.add_document(
                    NewDocument(
                        kind=kind, text=text, stream="s", t0_us=t0, t1_us=t0 + length_s * US, offset_us=seconds * US, known_us=t0,
                        origin="caption", moment_id=1, passages=passages,
                    )
                )  # fmt: skip

            write("event", "a door, then a mug", 0, passage("document", "door mug"), passage("chunk", "mug"))
            write("event", "a rocket", 10, passage("document", "rocket"))
            for structure, granularity_s in (("minute", 60.0), ("hour", 3600.0)):
                key = summary_key.key_of(start, start + 9 * US, granularity_s, structure, "doors")
                write("summary", summary_key.head(key, 0) + "a rocket again", 0, passage("document", "rocket"))
    return tmp_path / "axes"


def joint(space: Space) -> Any:
    return SimpleNamespace(space=space, embed_text=lambda texts: np.stack([Axes().embed_text([text])[0] for text in texts]))


def test_a_document_is_found_by_its_best_passage_which_is_what_is_shown(axes: Path) -> None:
    tool = HybridSearchTool(engines=Engines(embed_text=Axes()))  # type: ignore[arg-type]
    with View.open(axes) as view:
        rows = tool.run(HybridSearch(queries=(q("mug"),), sources=("event",)), view).rows
    assert (rows[0].id, rows[0].passage, rows[0].by) == ("d1", "mug", "chunk")
    assert (rows[0].text, rows[0].query) == ("a door, then a mug", "mug"), "the planner reads the whole document"
    assert rows[0].score == pytest.approx(0.65, abs=0.01)


class Hosted(Axes):
    """Queries have vectors of their own; the server is away where `away` says so."""

    def __init__(self, away: str = "") -> None:
        self.away = away

    def embed_query(self, texts: Sequence[str]) -> Matrix:
        if self.away:
            raise EngineError(self.away)
        return self.embed_text(["mug"] * len(texts))


def test_a_search_sends_its_words_as_a_query_and_falls_back_to_words(axes: Path) -> None:
    def search(away: str) -> Any:
        tool = HybridSearchTool(engines=Engines(embed_text=Hosted(away)))  # type: ignore[arg-type]
        with View.open(axes) as view:
            return tool.run(HybridSearch(queries=(q("rocket"),), sources=("event",)), view)

    assert search("").rows[0].id == "d1", "the query's own vector decides"
    away = search("the server is away")
    assert (away.rows[0].id, away.rows[0].by) == ("d2", "words")
    assert "documents were found by their words alone: the server is away" in away.notes


def test_summaries_can_be_filtered_by_structure_and_granularity(axes: Path) -> None:
    tool = HybridSearchTool(engines=Engines(embed_text=Axes()))  # type: ignore[arg-type]
    with View.open(axes) as view:
        both = ids(tool, view, q("rocket"), sources=("summary",))
        assert len(both) == 2
        assert ids(tool, view, q("rocket"), sources=("summary",), structure="hour") == ids(
            tool, view, q("rocket"), sources=("summary",), granularity_s=3600.0
        )
        assert len(ids(tool, view, q("rocket"), sources=("summary",), structure="hour")) == 1
        assert ids(tool, view, q("rocket"), sources=("summary",), structure="day") == []


def test_a_search_by_looks_uses_the_stored_vector_and_finds_pictures_only(axes: Path) -> None:
    tool = HybridSearchTool(engines=Engines(embed_joint=joint(Space(name="looks", dim=3)), embed_text=Axes()))  # type: ignore[arg-type]
    with View.open(axes) as view:
        rows = tool.run(HybridSearch(queries=(q("anything"),), visual_id=1), view).rows
    assert [row.id for row in rows] == ["m3"]
    assert rows[0].score == pytest.approx(1 / np.hypot(1, 0.3), abs=1e-3)


def test_a_space_that_is_named_after_its_parts_is_searched_by_looks_too(axes: Path) -> None:
    """The packaged joint embedder is such a one: its card has another name than the vectors that it makes."""
    engines = Engines(embed_joint=joint(Space(name="looks", dim=3)))
    engines.card = lambda _role: SimpleNamespace(space=Space(name="looks-of-parts", dim=3))  # type: ignore[method-assign]
    with View.open(axes) as view:
        rows = HybridSearchTool(engines=engines).run(HybridSearch(queries=(q("anything"),), visual_id=1), view).rows  # type: ignore[arg-type]
    assert [row.id for row in rows] == ["m3"]


@pytest.mark.parametrize("roles", [{}, {"embed_joint": joint(Space(name="another", dim=3))}])
def test_a_picture_without_a_vector_is_said_not_to_be_searchable(axes: Path, roles: dict[str, Any]) -> None:
    with View.open(axes) as view:
        hits = HybridSearchTool(engines=Engines(**roles)).run(HybridSearch(queries=(q("x"),), visual_id=1), view)  # type: ignore[arg-type]
    assert hits.rows == ()
    assert "searched by" in hits.notes[0]


def test_raw_cosines_are_taken_where_the_space_is_one_that_vams_numbers_fit(axes: Path) -> None:
    engines = Engines(embed_joint=joint(Space(name="looks", dim=3)))
    from edgemem_vam.search import SearchSettings

    tool = HybridSearchTool(SearchSettings(raw_cosine=True), engines)  # type: ignore[arg-type]
    with View.open(axes) as view:
        rows = tool.run(HybridSearch(queries=(q("a door", threshold=0.65),), sources=("frame",)), view).rows
    assert [(row.id, round(row.score, 2)) for row in rows] == [("m1", 1.0), ("m3", 0.96)]


def test_summaries_of_this_session_are_found_before_anybody_stored_them(axes: Path) -> None:
    proof = Evidence(id="m2", channel="frame", stream="s", t0_us=0, t1_us=0, offset_us=0, score=0.5, text="")
    note = WindowSummary(
        t0_us=0, t1_us=9, granularity_s=60, structure="minute", focus="things", text="a mug on the table", moment_id=2, evidence=(proof,)
    )
    tool = HybridSearchTool(engines=Engines(embed_text=Axes()))  # type: ignore[arg-type]
    with View.open(axes) as view:
        found = tool.run(HybridSearch(queries=(q("mug"),), sources=("summary",), summaries=(note,)), view)
        assert found.rows[0].text == "a mug on the table"
        assert (found.evidence[0].id, found.evidence[0].t1_us) == ("m2", 9)
        elsewhere = HybridSearch(queries=(q("mug"),), sources=("summary",), summaries=(note,), from_us=100)
        assert "a mug on the table" not in [row.text for row in tool.run(elsewhere, view).rows]


def test_without_an_engine_words_are_compared_and_that_is_said(vam: SimpleNamespace, view: View) -> None:
    hits = vam.search_tool().run(HybridSearch(queries=(q("coffee mug"),), sources=("event",)), view)
    assert hits.rows[0].by == "words"
    assert any("words alone" in note for note in hits.notes)


def test_no_ids_bring_nothing(axes: Path) -> None:
    with View.open(axes) as view:
        assert view.observations([]) == {}
        assert view.vector_search("looks", axis(1, 0, 0), 5, among=[]) == []
        assert view.vectors("looks", []).shape[0] == 0


def test_actions_and_results_can_be_written_down(vam: SimpleNamespace, view: View) -> None:
    action = HybridSearch(queries=(q("coffee mug"),))
    assert msgspec.json.decode(msgspec.json.encode(action), type=HybridSearch) == action
    assert msgspec.json.encode(vam.search_tool().run(action, view))


def test_raw_cosines_of_a_server_that_is_away_are_said_to_be_missing(axes: Path) -> None:
    from edgemem_vam.search import SearchSettings

    def away(_texts: Sequence[str]) -> Matrix:
        raise EngineError("the server is away")

    engines = Engines(embed_joint=SimpleNamespace(space=Space(name="looks", dim=3), embed_text=away))
    tool = HybridSearchTool(SearchSettings(raw_cosine=True), engines)  # type: ignore[arg-type]
    with View.open(axes) as view:
        hits = tool.run(HybridSearch(queries=(q("a door"),), sources=("frame",)), view)
    assert hits.rows == ()
    assert hits.notes == ("pictures were not searched: the server is away",)
