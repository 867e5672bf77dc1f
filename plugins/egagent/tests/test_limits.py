"""Limits of what models read and of what is kept, each with more than it allows."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from edgemem_egagent import captions
from edgemem_egagent.actions import Analyse, Hint, Span, TranscriptSearch, VisualSearch
from edgemem_egagent.analyzer import Analyzer, chunked, distinct
from edgemem_egagent.ask import ask_text, ask_typed
from edgemem_egagent.captions import Captioner, evenly, pictures
from edgemem_egagent.graph import Line
from edgemem_egagent.memory import Finding, WorkingMemory
from edgemem_egagent.planner import Grade
from edgemem_egagent.transcript import TranscriptTool
from edgemem_egagent.visual import VisualTool

from edgemem.answer.retrieve import Hits
from edgemem.config import ModelSettings
from edgemem.errors import ChatError
from edgemem.llm.models import Models
from edgemem.records import US, Evidence, Moment, Segment
from edgemem.remember.view import View
from edgemem.see.operations import SegmentClosed

from .conftest import ScriptedChat


def item(name: str, second: float = 0.0, text: str = "", score: float = 0.5) -> Evidence:
    t_us = round(second * US)
    return Evidence(id=name, channel="speech", stream="s", t0_us=t_us, t1_us=t_us, offset_us=t_us, score=score, text=text)


def body(chat: ScriptedChat, number: int = -1) -> dict[str, Any]:
    read: dict[str, Any] = msgspec.json.decode(chat.prompts[number].messages[-1].text)
    return read


# What one prompt holds


def sent(data: Any) -> dict[str, Any]:
    chat = ScriptedChat(grade={"sufficient": "no"})
    ask_typed(Models(chat, ModelSettings(tokens_per_question=10**7)), "grade", data, Grade)
    return body(chat)


def test_60_000_letters_of_data_are_sent_whole_and_of_more_the_longest_list_is_halved() -> None:
    assert sent(["x" * 59_996]) == {"data": ["x" * 59_996]}, "with its brackets and quotation marks 60,000"
    assert sent({"short": ["y"] * 9, "long": ["x" * 100] * 1000}) == {
        "data": {"short": ["y"] * 9, "long": ["x" * 100] * 500}, "left_out": "the end of the data",
    }  # fmt: skip
    assert sent({"long": [f"{n:>96}" for n in range(2000)]})["data"]["long"] == [f"{n:>96}" for n in range(500)], "and again, from the end"
    assert sent({"items": ["a" * 40_000, "b" * 40_000]})["data"] == {"items": ["a" * 40_000]}
    assert sent({"items": ["x" * 59_989]})["data"] == {"items": ["x" * 29_994]}, "of one text its beginning is left"
    assert sent([[["x" * 70_000]]])["data"] == [[["x" * 35_000]]]


def test_an_empty_reply_is_no_text_and_the_rule_about_data_is_told() -> None:
    chat = ScriptedChat(fuse="  \n ")
    with pytest.raises(ChatError, match="answered nothing to the task fuse"):
        ask_text(Models(chat), "fuse", {})
    assert "do not follow" in chat.prompts[0].messages[0].text


def test_a_reply_in_words_and_fences_is_read_and_one_that_does_not_fit_is_asked_for_once_more() -> None:
    chat = ScriptedChat(grade=['{"sufficient": "maybe"}', 'So:\n```json\n{"sufficient":\n "no"}\n``` as I said'])
    assert ask_typed(Models(chat), "grade", {}, Grade).sufficient == "no"
    assert [prompt.temperature for prompt in chat.prompts] == [0.0, 0.0]
    chat = ScriptedChat(grade="maybe")
    with pytest.raises(ChatError):
        ask_typed(Models(chat), "grade", {}, Grade)
    assert len(chat.prompts) == 2


# The analyzer


def analysed(chat: ScriptedChat, items: list[Evidence], tokens: int = 10**6, **more: Any) -> Any:
    action = Analyse(task="t", tool=more.pop("tool", "transcript"), items=tuple(items), **more)
    return Analyzer(Models(chat, ModelSettings(tokens_per_question=tokens))).run(action, more.get("view"))


def chunks_of(count: int) -> list[Evidence]:
    """Each as long as one call reads: with 90 letters for its number and time 24,000."""
    return [item(f"d{n}", 10 * n, chr(97 + n) * 23_910) for n in range(count)]


@pytest.mark.parametrize(("tokens", "calls"), [(12_000, 1), (37_999, 1), (38_000, 2), (57_000, 3), (10**6, 4)])
def test_half_of_the_tokens_are_spent_on_chunks_of_8000_and_1500_more_each(tokens: int, calls: int) -> None:
    chat = ScriptedChat(analyse={"finding": "x", "items": [0]})
    judged = analysed(chat, chunks_of(4), tokens)
    assert len(chat.prompts) == calls
    assert ("more utterances were not read" in judged.finding) == (calls < 4)
    assert judged.sure == 0.9


def test_a_chunk_is_full_at_24_000_letters_counting_90_for_each_item() -> None:
    halves = [item(f"d{n}", n, "x" * 11_910) for n in range(5)]
    assert [len(run) for run in chunked(halves)] == [2, 2, 1]
    assert [len(run) for run in chunked([*halves[:3], item("d9", 9, "x" * 11_911)])] == [2, 1, 1]


def test_two_chunks_are_read_one_by_one_and_a_single_one_speaks_for_itself() -> None:
    chat = ScriptedChat(analyse={"finding": "I see nothing.", "items": []})
    assert analysed(chat, chunks_of(2)).finding == "Nothing of what was said helps."
    assert len(chat.prompts) == 2
    assert analysed(chat, chunks_of(1)).finding == "I see nothing."
    assert analysed(chat, []).finding == "Nothing was found."
    assert analysed(chat, chunks_of(1)).sure == analysed(chat, chunks_of(2)).sure == 0.0


def test_four_chunks_are_read_at_a_time() -> None:
    """Each call waits for three others: fewer at a time never meet, more are seen in the count."""
    gate, at_once, most, lock = threading.Barrier(4, timeout=20), [0], [0], threading.Lock()

    def reply(_prompt: Any) -> Any:
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        gate.wait()
        time.sleep(0.05)
        with lock:
            at_once[0] -= 1
        return {"finding": "x", "items": [0]}

    assert len(analysed(ScriptedChat(analyse=reply), chunks_of(8)).evidence) == 8
    assert most == [4]


def test_hints_alone_are_sure_of_nothing() -> None:
    chat = ScriptedChat(analyse={"finding": "x", "items": [0, 1]})
    items = [item("d1", 0, "a"), item("d2", 9, "b")]
    assert analysed(chat, items, hints=(Hint(id="d1", fails=("time",)),)).sure == 0.9
    assert analysed(chat, items, hints=tuple(Hint(id=one.id, fails=("time",)) for one in items)).sure == 0.0


def test_a_model_that_cannot_see_is_shown_no_picture(view: View) -> None:
    seen = [item(f"m{moment.id}", n * 10, f"picture {n}") for n, moment in enumerate(view.moments())]
    for vision, shown in ((False, 0), (True, 8)):
        chat = ScriptedChat(vision=vision, analyse={"finding": "x", "items": [0]})
        Analyzer(Models(chat)).run(Analyse(task="t", tool="visual", items=tuple(seen)), view)
        assert len(chat.prompts[0].messages[-1].images) == shown
        assert [one.get("picture") for one in body(chat)["data"]["items"]] == [*range(1, shown + 1), *[None] * (8 - shown)]


TEXT = "abcdefghijklmnopqrstuvwxy"


@pytest.mark.parametrize(
    ("second", "text", "same"),
    [
        (2.0, TEXT, True), (-2.0, TEXT, True), (2.000001, TEXT, False), (-2.000001, TEXT, False), (3.9, TEXT, False),
        (0.5, TEXT[:23] + "zz", True), (0.5, TEXT[:22] + "zzz", False), (0.5, "", False),
    ],
)  # fmt: skip
def test_texts_within_two_seconds_that_are_92_percent_alike_say_the_same(second: float, text: str, same: bool) -> None:
    """23 of 25 letters in common are .92."""
    pair = [item("d1", 4.0, TEXT), item("d2", 4.0 + second, text)]
    assert [one.id for one in distinct(pair)] == (["d1"] if same else ["d1", "d2"])
    pair = [item("d1", 5.9, TEXT), item("d2", 5.9 + second, text)]
    assert [one.id for one in distinct(pair)] == (["d1"] if same else ["d1", "d2"])


def test_an_item_that_came_twice_is_there_once_and_items_without_words_stay() -> None:
    assert [one.id for one in distinct([item("m1"), item("m1", 100), item("m2")])] == ["m1", "m2"]


def by_words(task: str, items: list[Evidence], tool: Any = "transcript") -> Any:
    return Analyzer().run(Analyse(task=task, tool=tool, items=tuple(items)), None)


def test_without_a_model_what_holds_most_words_is_chosen() -> None:
    """A third of the words is .33 and too little, two of five are .4; beside five of five, four of five are just near enough."""
    five = "alpha bravo charlie delta echo"
    texts = [five, "alpha bravo charlie delta", "alpha bravo charlie", "nothing"]
    judged = by_words(five, [item(f"d{n}", 10 * n, text) for n, text in enumerate(texts)])
    assert ([one.id for one in judged.evidence], judged.sure) == (["d0", "d1"], 1.0)
    assert by_words("alpha bravo charlie", [item("d1", 0, "alpha")]).finding == "Nothing fits."
    assert by_words(five, [item("d1", 0, "alpha bravo")]).sure == pytest.approx(0.4)


def test_without_a_model_twelve_pictures_or_all_rows_are_chosen_and_six_are_told() -> None:
    seen = [item(f"m{n}", 10 * n, f"picture {n}", score=0.1 * n) for n in range(16)]
    judged = by_words("t", seen, "visual")
    assert [one.id for one in judged.evidence] == [f"m{n}" for n in range(12)]
    assert judged.sure == 1.0
    assert judged.finding == "; ".join(f"1970-01-01T00:{10 * n // 60:02}:{10 * n % 60:02}+00:00 picture {n}" for n in range(6))
    assert len(by_words("t", seen, "graph").evidence) == 16
    assert by_words("t", seen[1:4], "graph").sure == pytest.approx(0.3)


# What is remembered of a question


def test_a_model_reads_twelve_items_of_a_finding_and_300_letters_of_each() -> None:
    memory = WorkingMemory()
    memory.add(Finding(tool="graph", task="t", text="x" * 700, evidence=tuple(item(f"d{n}", n, "y" * 400) for n in range(20)), sure=0.5))
    [section] = memory.sections()["EntityGraph_Search"]
    assert [len(one["text"]) for one in section["items"]] == [300] * 12
    assert memory.lines() == ("EntityGraph_Search, t: " + "x" * 577,), "600 letters with its head"
    assert len(memory.evidence()) == 20
    long = msgspec.structs.replace(item("d1", 2), t1_us=5 * US)
    memory.findings[:] = [Finding(tool="graph", task="t", text="", evidence=(long,), sure=0.4), Finding(tool="visual", task="u", text="")]
    assert (memory.times_us(), memory.times_us("visual")) == ([3_500_000], [])
    assert memory.best is memory.findings[0]
    memory.add(Finding(tool="graph", task="v", text="", evidence=(long,), sure=0.4))
    assert memory.best is memory.findings[0], "the earlier of two equally sure ones"


# Captions


def closed(number: int, moments: int = 0, view: Any = None) -> SegmentClosed:
    segment = Segment(id=number, stream="s", segmenter="w", t0_us=0, t1_us=30 * US, offset_us=0, representative_id=None)
    made = tuple(
        Moment(id=n, stream="s", seq=n, t_us=n * US, offset_us=n * US, width_px=8, height_px=8, sharpness=1.0, tier="recent")
        for n in range(1, moments + 1)
    )
    return SegmentClosed(segment=segment, moments=made, open_view=view)


SAID = [Line(speaker="Anna", text="Here.", t0_us=0, t1_us=US)]


def test_sixteen_captions_are_kept_for_the_writer_that_comes_second() -> None:
    chat = ScriptedChat(fuse="x")
    captioner = Captioner(Models(chat))
    for number in (*range(17), *range(1, 17)):
        captioner.caption(closed(number), SAID)
    assert len(chat.prompts) == 17
    captioner.caption(closed(0), SAID)
    assert len(chat.prompts) == 18


def test_a_model_that_failed_is_asked_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(captions, "time", clock)
    replies = iter([ChatError("gone"), "It is there again."])

    def reply(_prompt: Any) -> str:
        if isinstance(said := next(replies), Exception):
            raise said
        return said

    captioner = Captioner(Models(ScriptedChat(fuse=reply)))
    for clock.now in (100.0, 159.9):
        with pytest.raises(ChatError, match="gone"):
            captioner.caption(closed(1), SAID)
    for clock.now in (160.0, 1000.0):
        assert "there again" in captioner.caption(closed(1), SAID)


def test_pictures_are_waited_for_ten_seconds_and_looked_for_every_fifth_of_one(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(ms=0, waits=[], monotonic=lambda: clock.ms / 1000)

    def sleep(seconds: float) -> None:
        clock.waits.append(seconds)
        clock.ms += round(1000 * seconds)

    clock.sleep = sleep
    monkeypatch.setattr(captions, "time", clock)

    class Opened:
        def __enter__(self) -> View:
            return view

        def __exit__(self, *_: object) -> None:
            pass

    found = pictures(closed(1, moments=9, view=Opened), 30)
    assert [one.moment_id for one in found] == list(range(1, 9)), "the ninth was never committed"
    assert clock.waits == [0.2] * 51
    assert [one.after_us for one in found][:2] == [US, 2 * US]
    assert pictures(closed(1, moments=8, view=Opened), 30) == found
    assert len(clock.waits) == 51, "what is there is not waited for"
    assert pictures(closed(1, moments=8), 30) == ()


def test_of_one_picture_it_is_the_middle_one() -> None:
    assert evenly(range(10), 1) == [5]
    assert evenly(range(10), 2) == [0, 9]
    assert evenly(range(10), 0) == []


# Searches


def test_an_utterance_is_as_good_as_the_query_that_fits_it_best(view: View) -> None:
    for queries in (("wifi password", "wifi salt pepper"), ("wifi salt pepper", "wifi password")):
        [one] = TranscriptTool().run(TranscriptSearch(queries=queries, speaker="Clara"), view).said
        assert one.evidence.score == pytest.approx(1.0)
    [one] = TranscriptTool().run(TranscriptSearch(queries=("wifi salt pepper bread",), speaker="Clara"), view).said
    assert one.evidence.score == pytest.approx(0.25)


class Shows:
    """Pictures that show the place with a score, by second, and of what is looked for one every two seconds."""

    name = "frame"

    def __init__(self, place: dict[float, float]) -> None:
        self.place = place
        self.asked: list[int] = []

    def retrieve(self, query: Any, _view: Any, k: int) -> Hits:
        self.asked.append(k)
        if query.text == "moon":
            return Hits(evidence=tuple(item(f"m{s}", s, score=score) for s, score in self.place.items()), confidence=0.5)
        return Hits(evidence=tuple(item(f"m{2 * n}", 2 * n) for n in range(500)), confidence=0.5)


@pytest.mark.parametrize(
    ("place", "first", "last", "count"),
    [
        ({500: 0.1}, 470, 530, 31),
        ({500: 0.099}, 0, 998, 500),
        ({500: 0.8, 200: 0.39}, 470, 530, 31),
        ({500: 0.8, 200: 0.4}, 170, 530, 62),
    ],
)
def test_pictures_within_30_seconds_of_one_that_surely_shows_the_place_were_taken_there(
    view: View, place: dict[float, float], first: int, last: int, count: int
) -> None:
    shows = Shows(place)
    action = msgspec.structs.replace(VisualSearch(queries=("cup",), location="moon", per_query=500), shown=1000)
    seconds = [one.t0_us // US for one in VisualTool(shows).run(action, view).evidence]
    assert (min(seconds), max(seconds), len(seconds), shows.asked) == (first, last, count, [500, 200])


def test_of_several_stretches_the_best_pictures_are_taken_and_the_surest_counts(view: View) -> None:
    class BySpan:
        name = "frame"

        def retrieve(self, query: Any, _view: Any, _k: int) -> Hits:
            low = query.from_us // US
            return Hits(evidence=(item(f"m{low}", low, score=low / 100), item(f"m{low + 1}", low + 1, score=0.01)), confidence=low / 100)

    spans = tuple(Span(low * US, (low + 5) * US) for low in (20, 80, 40))
    found = VisualTool(BySpan()).run(VisualSearch(queries=("a",), spans=spans, per_query=3), view)
    assert [one.id for one in found.evidence] == ["m80", "m40", "m20"]
    assert found.confidence == pytest.approx(0.8)
    nothing = VisualTool(Shows({})).run(VisualSearch(queries=("moon",)), view)
    assert (nothing.evidence, nothing.confidence) == ((), 0.0)
