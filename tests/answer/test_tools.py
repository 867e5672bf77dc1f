"""The read-only tools and the search behind them: rows, limits, order, fusion and appearances, on memories larger than the limits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from edgemem.answer import tools_graph
from edgemem.answer.gather import Gather, GatherTool
from edgemem.answer.planner import AnswerKit
from edgemem.answer.retrieve import Episode, EventRetriever, Hits, Query, episodes, fuse, held, search
from edgemem.answer.tools import (
    Action,
    Count,
    CountTool,
    Inspect,
    InspectTool,
    Read,
    ReadTool,
    Reply,
    Search,
    SearchTool,
    decode_action,
    describe_moment,
    object_names,
)
from edgemem.answer.tools_graph import Hear, Relate, RelateTool
from edgemem.errors import UsageError
from edgemem.records import US, Box, Evidence, Observation
from edgemem.remember.entries import NewDocument, NewEntity, NewRelation
from edgemem.remember.store import Store
from edgemem.remember.view import View
from tests.answer.conftest import START_US, label, remember, text
from tests.answer.test_gather import Engines, Trigrams
from tests.answer.test_limits import Fixed


def evidence(
    name: str, at_s: float, until_s: float | None = None, *, stream: str = "walk", channel: Any = "frame", score: float = 1.0
) -> Evidence:
    t0, t1 = round(at_s * US), round((at_s if until_s is None else until_s) * US)
    return Evidence(id=name, channel=channel, stream=stream, t0_us=START_US + t0, t1_us=START_US + t1, offset_us=t0, score=score, text="")


def thing(name: str, score: float = 0.9, colour: str = "", x: float = 0.0) -> Observation:
    return Observation(kind="object", name=name, score=score, colour=colour, box=Box(x0=x, y0=0, x1=x + 0.1, y1=1))


def memory(path: Path, seen: dict[int, tuple[Observation, ...]]) -> Path:
    with Store.open(path) as store:
        store.ensure_stream("walk", START_US)
        remember(store, "walk", START_US, seen)
    return path


# ------------------------------------------------------------------------------------------------------------- search and fusion


@pytest.mark.parametrize(
    ("query", "t_us", "inside"),
    [
        (Query(text=""), 5, True),
        (Query(text="", from_us=5), 5, True),
        (Query(text="", from_us=6), 5, False),
        (Query(text="", to_us=5), 5, True),
        (Query(text="", to_us=4), 5, False),
        (Query(text="", from_us=1, to_us=4), 5, False),
        (Query(text="", from_us=6, to_us=9), 5, False),
    ],
)
def test_a_query_holds_what_lies_in_its_time(query: Query, t_us: int, inside: bool) -> None:
    assert query.holds(t_us) is inside


def test_lists_are_fused_by_reciprocal_rank() -> None:
    """1 / (60 + rank), summed: b is second and first, a first, c second; of two alike the earlier."""
    a, b, c, d = (evidence(name, at_s) for name, at_s in (("a", 9), ("b", 5), ("c", 7), ("d", 1)))
    again = evidence("b", 5, channel="text")
    assert [one.id for one in fuse([[a, b], [again, c]], 9)] == ["b", "a", "c"]
    assert fuse([[a, b], [again, c]], 9)[0].channel == "frame", "the first list names the channel"
    assert [one.id for one in fuse([[a, b], [d, again]], 3)] == ["b", "d", "a"], "of two alike the earlier"
    assert [one.id for one in fuse([[a, b, c, d]], 2)] == ["a", "b"]
    ten = [evidence(f"x{n}", n) for n in range(70)]
    late, both = evidence("late", 100), evidence("both", 101)
    assert fuse([[late, *ten], [*ten[::-1], both], [both]], 1)[0].id != "late", "many weak ranks beat one good one"
    first, other = evidence("first", 200), [evidence(f"y{n}", 300 + n) for n in range(99)]
    for rank, best in ((61, "twice"), (63, "first")):  # 2 / (60 + 61) > 1 / 61 > 2 / (60 + 63)
        twice, some = evidence("twice", 201), [evidence(f"z{n}", 500 + n) for n in range(rank - 2)]
        order = [one.id for one in fuse([[first, *other[: rank - 2], twice], [evidence("w", 900), *some, twice]], 300)]
        assert min(order.index("twice"), order.index("first")) == order.index(best)


def test_search_takes_at_most_top_k_and_at_least_one(view: View, kit: AnswerKit) -> None:
    assert len(search(view, Query(text="cat"), kit.retrievers, top_k=1)) == 1
    assert len(search(view, Query(text="cat"), kit.retrievers, "frame", top_k=2)) == 2
    assert search(view, Query(text=f"{'x ' * 400}cat"), kit.retrievers, "event")
    assert not search(view, Query(text=f"{'x ' * 600}cat"), kit.retrievers, "event"), (
        "of a long query the first thousand letters are searched"
    )
    with pytest.raises(UsageError, match="top-k"):
        search(view, Query(text="cat"), kit.retrievers, top_k=0)
    with pytest.raises(UsageError, match="no channel"):
        search(view, Query(text="cat"), kit.retrievers, "taste")
    with pytest.raises(UsageError, match="empty"):
        search(view, Query(text="?!"), kit.retrievers)


def test_a_search_says_why_a_channel_was_silent(view: View) -> None:
    for fields in ({"silent": "no engine"}, {"note": "the server is away"}):
        one = Fixed("frame", 0.0)
        one._hits = Hits(**fields)
        assert SearchTool((one, Fixed("event", 0.4))).run(Search(query="cat"), view).notes == tuple(fields.values())


def test_events_are_ranked_and_as_sure_as_their_share_of_the_words(view: View) -> None:
    hits = EventRetriever().retrieve(Query(text="cat sofa"), view, 5)
    assert [one.score for one in hits.evidence] == [1 / rank for rank in range(1, len(hits.evidence) + 1)]
    assert (hits.evidence[0].offset_us // US, hits.confidence) == (40, 1.0)
    assert EventRetriever().retrieve(Query(text="cat helmet"), view, 5).confidence == 0.5
    assert EventRetriever().retrieve(Query(text="helmet"), view, 5) == Hits()


@pytest.mark.parametrize(
    ("wanted", "words", "share"),
    [
        (["printers"], "the printer", 1.0), (["coming"], "he comes", 1.0), (["bus"], "the buses", 1.0), (["bus"], "business", 1.0),
        (["desk", "lamp"], "a desk", 0.5), ([], "a desk", 0.0), (["lamp"], "", 0.0), (["station"], "stations", 1.0),
        (["station"], "statue", 0.0), (["table"], "tabs", 0.0),
        (["cat"], "c", 0.0), (["table"], "the tablet", 1.0), (["tables"], "tab", 0.0),
    ],
)  # fmt: skip
def test_the_share_of_words_that_a_text_holds(wanted: list[str], words: str, share: float) -> None:
    assert held(wanted, words) == share


# ------------------------------------------------------------------------------------------------------------------- appearances


def spans(found: Sequence[Episode]) -> list[tuple[str, int, int]]:
    return [(one.stream, (one.t0_us - START_US) // US, (one.t1_us - START_US) // US) for one in found]


@pytest.fixture
def street(tmp_path: Path) -> Path:
    """Pictures at 0, 10, 20, 400 and 701 s."""
    return memory(tmp_path / "memory", {second: (label("street"),) for second in (0, 10, 20, 400, 701)})


def test_what_follows_without_a_picture_between_is_one_appearance(street: Path) -> None:
    with View.open(street) as view:
        assert spans(episodes(view, [evidence("m1", 0), evidence("m2", 10)])) == [("walk", 0, 10)]
        assert spans(episodes(view, [evidence("m1", 0), evidence("m3", 20)])) == [("walk", 0, 0), ("walk", 20, 20)]
        assert spans(episodes(view, [evidence("m3", 20), evidence("d9", 320)])) == [("walk", 20, 320)], "300 s at most"
        assert spans(episodes(view, [evidence("m3", 20), evidence("d9", 320.1)])) == [("walk", 20, 20), ("walk", 320, 320)]
        assert spans(episodes(view, [evidence("m1", 0), evidence("d9", 5, stream="hall")])) == [("walk", 0, 0), ("hall", 5, 5)]
        assert spans(episodes(view, [evidence("d1", 0, 15), evidence("d2", 12, 30)])) == [("walk", 0, 30)]
        assert spans(episodes(view, [evidence("d1", 12, 30), evidence("d2", 0, 12)])) == [("walk", 0, 30)]


def test_an_appearance_is_that_of_its_best_sighting(street: Path) -> None:
    with View.open(street) as view:
        one = episodes(view, [evidence("m1", 0, score=0.5), evidence("m2", 10, score=0.9)])[0]
    assert (one.evidence[0].id, one.score, one.offset_us, [e.id for e in one.evidence]) == ("m2", 0.9, 0, ["m2", "m1"])


# ------------------------------------------------------------------------------------------------------------ looking and counting


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """101 pictures, one a second."""
    seen = {second: (label("street", 0.5), text(f"NUMBER {second}")) for second in range(101)}
    return memory(tmp_path / "memory", seen)


def test_a_long_stretch_is_looked_at_in_even_steps(long: Path) -> None:
    with View.open(long) as view:
        for most, seconds in ((5, [0, 25, 50, 75, 100]), (2, [0, 100]), (1, [0]), (3, [0, 50, 100])):
            scene = InspectTool().run(Inspect(from_us=START_US, to_us=START_US + 100 * US, max_moments=most), view)
            assert [one.offset_us // US for one in scene.evidence] == seconds
        few = InspectTool().run(Inspect(from_us=START_US + 10 * US, to_us=START_US + 12 * US), view)
        assert [one.offset_us // US for one in few.evidence] == [10, 11, 12]
        assert few.evidence[0].text == 'street; text "NUMBER 10"'
        assert [one.text for one in few.readings] == ["NUMBER 10", "NUMBER 11", "NUMBER 12"]
        assert {one.score for one in few.evidence} == {1.0}


def test_a_long_stretch_is_told_by_appearances_and_a_glance_by_scores(tmp_path: Path) -> None:
    """The cat ends 16 s before the dog begins."""
    seen = {second: (label("cat", 0.9),) for second in range(5)} | {second: (label("dog", 0.8),) for second in range(20, 24)}
    seen |= {25: (label("fox", 0.7),), 26: (label("fox", 0.8),)}
    with View.open(memory(tmp_path / "memory", seen)) as view:

        def told(from_s: int, to_s: int) -> list[tuple[str, int, int]]:
            scene = InspectTool().run(Inspect(from_us=START_US + from_s * US, to_us=START_US + to_s * US), view)
            return [
                (one.name, one.t0_us and (one.t0_us - START_US) // US, one.t1_us and (one.t1_us - START_US) // US) for one in scene.sights
            ]

        assert told(2, 17) == [("cat", 0, 0)], "15 s are one look"
        assert told(2, 18) == [("cat", 0, 4)], "as long as it was there"
        assert told(0, 24) == [("cat", 0, 4), ("dog", 20, 23)]


def test_the_ends_of_a_very_long_stretch_are_its_ends(tmp_path: Path) -> None:
    path = memory(tmp_path / "memory", {second: (label("cat", 0.9),) for second in range(1500)})
    with Store.open(path) as store:
        store.ensure_stream("door", START_US)
        remember(store, "door", START_US, {7: (label("owl", 0.9),)})
    with View.open(path) as view:
        ends = InspectTool().run(Inspect(from_us=START_US + 15 * US, to_us=START_US + 1500 * US, max_moments=2), view).evidence
        assert [one.offset_us // US for one in ends] == [15, 1499], "neither is in a run that is taken"
        other = InspectTool().run(Inspect(from_us=START_US, to_us=START_US + 1500 * US, stream="door"), view)
        assert [(one.name, one.stream) for one in other.sights] == [("owl", "door")], "one of few among many"


def test_of_many_moments_runs_are_taken(tmp_path: Path) -> None:
    with View.open(memory(tmp_path / "memory", {second: (label("cat", 0.9),) for second in range(120)})) as view:
        assert len(view.moments(about=120)) == len(view.moments(about=90)) == 120
        few = [moment.id for moment in view.moments(about=40)]
        assert few == [*range(1, 12), *range(36, 48), *range(72, 84), *range(108, 120)]
        later = [moment.id for moment in view.moments(about=24, from_us=START_US + 60 * US)]
        assert later == [*range(72, 84), *range(96, 108), 120], "every second run of the 60 in the stretch"


def test_a_point_is_looked_at_in_the_nearest_picture_of_half_an_hour(long: Path) -> None:
    with View.open(long) as view:
        for second, seen in ((40, [40]), (1900, [100]), (1901, [])):
            t_us = START_US + second * US
            assert [one.offset_us // US for one in InspectTool().run(Inspect(from_us=t_us, to_us=t_us), view).evidence] == seen
        t_us = START_US + 40 * US
        assert InspectTool().run(Inspect(from_us=t_us, to_us=t_us, stream="hall"), view).evidence == ()


def test_reading_brings_all_text_of_a_stretch(long: Path) -> None:
    with View.open(long) as view:
        scene = ReadTool().run(Read(from_us=START_US + 98 * US), view)
    assert [one.text for one in scene.readings] == ["NUMBER 98", "NUMBER 99", "NUMBER 100"]
    assert [one.id for one in scene.evidence] == ["m99", "m100", "m101"]


def cars(count: int, score: float = 0.9) -> tuple[Observation, ...]:
    return tuple(thing("car", score - n / 1000, x=n / 10) for n in range(count))


def test_the_most_in_one_picture_is_counted_by_boxes_that_are_sure_enough(tmp_path: Path) -> None:
    seen = {n: cars(1) for n in range(12)} | {
        20: cars(3, 0.5),
        30: cars(3, 0.8),
        40: (*cars(2), thing("car", 0.39)),
        50: (thing("car", 0.4),),
    }
    with View.open(memory(tmp_path / "memory", seen)) as view:
        tally = CountTool().run(Count(name="cars"), view)
        assert (tally.count, tally.confidence) == (3, 0.8)
        assert [one.offset_us // US for one in tally.evidence] == [30, 20, 40, 0, 1, 2, 3, 4], "eight pictures, most and surest first"
        assert [(one.text, one.score) for one in tally.evidence[:3]] == [("3 cars", 0.8), ("3 cars", 0.5), ("2 cars", 0.9)]
        later = CountTool().run(Count(name="red car", from_us=START_US + 45 * US), view)
        assert (later.count, later.confidence) == (1, 0.4)
        none = CountTool().run(Count(name="giraffes"), view)
        assert (none.count, none.confidence) == (0, 0.0)
        assert CountTool().run(Count(name="cars", from_us=START_US + 60 * US), view).evidence == ()


def test_the_name_that_the_detector_has_for_a_thing(tmp_path: Path) -> None:
    names = ("wine glass", "person", "bus", "cell phone", "cat", "school bus")
    with View.open(memory(tmp_path / "memory", {1: tuple(thing(name) for name in names)})) as view:
        for phrase, name in (
            ("wine glasses", "wine glass"), ("people", "person"), ("buses", "bus"), ("phones", "cell phone"), ("black cats", "cat"),
            ("tall men", "person"), ("glasses", "wine glass"), ("red wine glasses", "wine glass"), ("cell phones", "cell phone"),
            ("school buses", "school bus"), ("tour buses", "bus"),
        ):  # fmt: skip
            assert object_names(phrase, view) == [name]
        assert object_names("giraffes", view) == object_names("", view) == []


def test_what_is_seen_in_more_pictures_is_told_before_what_scored_the_same_once(tmp_path: Path) -> None:
    """Score x (1 + share of the pictures): sofa .5 x 2, vase .55 x 2, lamp .6 x 1.5, cat .8 x 1.5."""
    seen = {
        1: (
            label("lamp", 0.6),
            label("sofa", 0.5),
            label("vase", 0.55),
            thing("chair", 0.9, "red"),
            thing("chair", 0.85, "blue"),
            thing("chair", 0.39),
        ),
        2: (label("cat", 0.8), label("sofa", 0.4), label("vase", 0.55), thing("chair", 0.5)),
    }
    with View.open(memory(tmp_path / "memory", seen)) as view:
        scene = InspectTool().run(Inspect(from_us=START_US, to_us=START_US + 9 * US), view)
    assert [(s.name, s.score, s.count, s.colour) for s in scene.sights] == [
        ("chair", 0.9, 2, "red"), ("cat", 0.8, 1, ""), ("vase", 0.55, 1, ""), ("sofa", 0.5, 1, ""), ("lamp", 0.6, 1, ""),
    ]  # fmt: skip


def test_a_picture_in_one_line() -> None:
    seen = [label(name, score) for name, score in (("a", 0.1), ("b", 0.6), ("c", 0.5), ("d", 0.4), ("e", 0.3), ("f", 0.2))]
    assert describe_moment([*seen, label("b", 0.1)]) == "b, c, d, e, f"
    assert describe_moment([*seen[:2], text("EXIT "), text(" "), text("NOW")]) == 'b, a; text "EXIT NOW"'
    assert describe_moment([text("x" * 300)]) == f'text "{"x" * 200}"'
    assert describe_moment([]) == ""


def test_documents_are_between_speakers_by_their_kind(tmp_path: Path) -> None:
    """Words that were said or read are no event."""
    with Store.open(tmp_path / "memory") as store:
        store.ensure_stream("walk", START_US)
        with store.transaction() as tx:
            for number, kind in enumerate(("utterance", "text", "fused", "event", "summary")):
                t_us = START_US + number * US
                tx.add_document(
                    NewDocument(kind=kind, text="a zebra", stream="walk", t0_us=t_us, t1_us=t_us, offset_us=0, known_us=t_us, origin="asr")
                )
    with View.open(tmp_path / "memory") as view:
        found = EventRetriever().retrieve(Query(text="zebra"), view, 9).evidence
        assert {(one.t0_us - START_US) // US for one in found} == {3, 4}


def test_each_appearance_grows_at_its_own_end(street: Path) -> None:
    with View.open(street) as view:
        found = episodes(view, [evidence("m1", 0), evidence("m3", 20), evidence("d9", 320), evidence("m5", 701)])
    assert spans(found) == [("walk", 0, 0), ("walk", 20, 320), ("walk", 701, 701)]


def test_what_a_model_leaves_out_of_an_action() -> None:
    assert decode_action('{"action": "search", "query": "mug"}') == Search(query="mug", channel="any", top_k=20)
    assert decode_action('{"action": "inspect", "from_us": 1, "to_us": 2}') == Inspect(from_us=1, to_us=2, stream="", max_moments=16)
    assert decode_action('{"action": "hear"}') == Hear(about="", speaker="", limit=50)
    assert decode_action('{"action": "answer", "text": "x"}') == Reply(text="x", status="answered", option=None, confidence=0.5)
    for key, most in (("question", 400), ("things", 400)):
        for extra, right in ((0, True), (1, False)):
            value = f'"{"x" * (most + extra)}"'
            data = f'{{"action": "gather", "{key}": {value if key == "question" else f"[{value}]"}}}'
            if right:
                decode_action(data)
            else:
                with pytest.raises(UsageError):
                    decode_action(data)
    decode_action(f'{{"action": "relate", "source": "{"x" * 100}"}}')
    with pytest.raises(UsageError):
        decode_action(f'{{"action": "relate", "source": "{"x" * 101}"}}')


class Counting(Trigrams):
    """Says how many texts it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_text(self, texts: Sequence[str]) -> Any:
        self.texts += texts
        return super().embed_text(texts)

    def embed_query(self, texts: Sequence[str]) -> Any:
        return Trigrams.embed_text(self, texts)


def test_forty_are_kept_of_sixty_that_are_compared(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory") as store, store.transaction() as tx:
        for number in range(70):
            t_us = START_US + number * US
            words = f"Number {number} is the key." if number < 5 else f"Sentence {number} says little."
            tx.add_document(
                NewDocument(kind="utterance", text=words, stream="s", t0_us=t_us, t1_us=t_us, offset_us=0, known_us=t_us, origin="asr")
            )
    counting = Counting()
    sought: list[int] = []

    class Looks(Fixed):
        def retrieve(self, query: Query, view: View, k: int) -> Hits:
            sought.append(k)
            return super().retrieve(query, view, k)

    with View.open(tmp_path / "memory") as view:
        tool = GatherTool((Looks("frame", 0.5),), Engines(embed_text=counting))
        pool = tool.run(Gather(question="where is the key", words=("key",), things=("key",)), view)
    assert (len(pool.candidates), len(counting.texts), sought) == (40, 60, [40])
    assert {one.text for one in pool.candidates[:5]} == {f"Number {n} is the key." for n in range(5)}


def test_of_many_relations_the_newest_five_hundred_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(tmp_path / "memory") as store, store.transaction() as tx:
        ben, ann, saw = (
            tx.add_entity(NewEntity(kind=kind, name=name, known_us=START_US))
            for kind, name in (("person", "Ben"), ("person", "Ann"), ("object", "axe"))
        )
        for number in range(515):
            who = ben if number < 510 else ann
            t_us = START_US + number * US
            tx.add_relation(
                NewRelation(
                    type="USES", source_id=who, target_id=saw, confidence=0.5, stream="s", t0_us=t_us, t1_us=t_us, known_us=t_us, quotes=()
                )
            )
    with View.open(tmp_path / "memory") as view:
        rows = RelateTool().run(Relate(source="ben"), view).rows
        monkeypatch.setattr(tools_graph, "_ROWS", 3)
        few = RelateTool().run(Relate(source="ben"), view).rows
    assert (len(rows), (rows[0].t0_us - START_US) // US, (rows[-1].t0_us - START_US) // US) == (500, 10, 509)
    assert [(row.t0_us - START_US) // US for row in few] == [507, 508, 509], "of one name the newest are read"


def test_the_recordings_that_a_long_stretch_meets_are_told(tmp_path: Path) -> None:
    path = memory(tmp_path / "memory", {0: (label("cat"),), 100: (label("cat"),)})
    with Store.open(path) as store:
        store.ensure_stream("door", START_US + 200 * US)
        remember(store, "door", START_US, {200: (label("owl"),), 300: (label("owl"),)})
    with View.open(path) as view:

        def recorded(from_s: int, to_s: int, stream: str = "") -> list[tuple[int, int]]:
            scene = InspectTool().run(Inspect(from_us=START_US + from_s * US, to_us=START_US + to_s * US, stream=stream), view)
            return sorted(((t0_us - START_US) // US, (t1_us - START_US) // US) for t0_us, t1_us in scene.recorded)

        walk, door = (0, 100), (200, 300)
        assert recorded(0, 300) == recorded(100, 200) == [walk, door]
        assert (recorded(99, 199), recorded(101, 250), recorded(101, 199)) == ([walk], [door], [])
        assert (recorded(0, 300, "door"), recorded(0, 199, "door")) == ([door], [])
        assert recorded(90, 105) == [], "fifteen seconds are one look"


def test_an_action_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Search(query="x").query = "y"  # type: ignore[misc]
    for kind in get_args(Action):
        assert kind.__struct_config__.frozen, kind
