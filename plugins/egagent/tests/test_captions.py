"""Captions from pixels, the edges that are drawn from them, and summaries of captions."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from edgemem_egagent.captions import evenly
from edgemem_egagent.summaries import CaptionSummaries, SummarySettings
from edgemem_egagent.writers import FusedCaption, FusedCaptionSettings, Triples, TriplesSettings
from edgemem_openai.chat import OpenAIChat
from edgemem_openai.settings import OpenAISettings
from edgemem_openai.testing import ScriptedCall, ScriptedReply, ScriptedServer
from hypothesis import given
from hypothesis import strategies as st

from edgemem.clock import now_us
from edgemem.config import ModelSettings
from edgemem.errors import UsageError
from edgemem.llm.models import Models
from edgemem.records import US
from edgemem.remember.store import Store
from edgemem.see.carry_out import steps
from edgemem.see.idle import run_idle_job
from edgemem.see.operations import BoardIdle, Postpone, SegmentsClosed

from .conftest import SEEN, T0_US, ScriptedChat, label, remember, thing

FELT = "Anna sharpens a chisel on the whetstone in the workshop while me watches."
EDGE = {
    "source": {"kind": "person", "name": "Anna"}, "type": "USES", "target": {"kind": "object", "name": "whetstone"}, "confidence": 0.9,
    "lines": [], "explanation": "she sharpens a chisel on it",
}  # fmt: skip
MANY = {second / 2: (label("workshop"), thing("bottle", (0.3, 0.6, 0.6, 0.95))) for second in range(50)}


def sees(call: ScriptedCall) -> Any:
    """A model that sees: it writes the caption only of pictures, and draws only what stands in its own caption."""
    body = call.messages[-1][1]
    if "You write the record" in call.messages[0][1]:
        return FELT if call.images else "Nothing can be told without pictures."
    return {"edges": [EDGE] if "whetstone" in body else []}


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Windows written by a server that sees: the store's rows and what was asked."""

    def write(script: Any, seen: Any = None, said: Any = (), **settings: Any) -> tuple[set[tuple[str, str, str]], list[ScriptedCall], str]:
        with ScriptedServer(script, vision=True) as server, Store.open(tmp_path / "memory") as store:
            chat = OpenAIChat(OpenAISettings(base_url=server.base_url, model="scripted"), tmp_path, {})
            models = Models(chat, ModelSettings())
            writers = (FusedCaption(FusedCaptionSettings(**settings), models), Triples(TriplesSettings(**settings), models))
            remember(store, MANY if seen is None else seen, said, writers)
            chat.close()
            with store.view() as view:
                rows = {(r.source.name, r.type, r.target.name) for r in view.relations()}
                [caption] = view.documents(kinds=("fused",))
                return rows, list(server.asked), caption.text

    return write


def test_an_action_that_no_label_has_becomes_an_edge(written: Any) -> None:
    rows, asked, caption = written(sees, said=[(2, 3, "me", "Look at this.")])
    assert ("Anna", "USES", "whetstone") in rows
    assert FELT in caption
    assert ("me", "USES", "bottle") in rows, "what detectors saw is joined with it"
    assert [len(call.images) for call in asked] == [10, 0]
    assert FELT in asked[1].text, "edges are drawn from the caption that the model wrote"


@pytest.mark.parametrize("late", [True, False])
def test_a_window_that_the_model_could_not_describe_has_its_caption_and_edges_at_once_and_the_models_later(
    tmp_path: Path, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    down = not late

    def script(call: ScriptedCall) -> Any:
        return ScriptedReply.failing(503) if down else sees(call)

    with ScriptedServer(script, vision=True) as server, Store.open(tmp_path / "memory") as store:
        chat = OpenAIChat(OpenAISettings(base_url=server.base_url, model="scripted", retries=0, rest_s=0.0), tmp_path, {})
        writers = (FusedCaption(None, Models(chat)), Triples(None, Models(chat)))
        assert all(writer.triggers == {"segment_closed", "idle"} and writer.slow for writer in writers)
        said = [(2.0, 3.0, "me", "Anna uses the drill.")]
        remember(store, MANY, said, tuple(AtOnce(writer) for writer in writers) if late else writers)
        assert (server.asked == []) is late, "what is written at once waits for no model"

        def rows() -> set[tuple[str, str, str]]:
            with store.view() as view:
                return {(r.source.name, r.type, r.target.name) for r in view.relations()}

        def captions() -> list[str]:
            with store.view() as view:
                return [document.text for document in view.documents(kinds=("fused",))]

        by_rules = rows()
        assert {("me", "USES", "bottle"), ("Anna", "USES", "drill")} <= by_rules
        assert ("Anna", "USES", "whetstone") not in by_rules
        assert [FELT in text for text in captions()] == [False]
        with store.view() as view:
            assert len(view.jobs()) == 2
        assert run_idle_job(store, writers) is late, "a model that failed rests first"
        down = False
        monkeypatch.setattr("edgemem.see.idle.now_us", lambda: now_us() + 61 * US)
        monkeypatch.setattr("edgemem_egagent.captions.RETRY_S", 0.0)
        while run_idle_job(store, writers):
            pass
        assert [FELT in text for text in captions()] == [True]
        assert rows() == by_rules | {("Anna", "USES", "whetstone")}
        with store.view() as view:
            drawn = [(r.source.name, r.target.name) for r in view.relations()]
            assert drawn.count(("Anna", "drill")) == 1, "what rules drew is not drawn twice"
            assert view.jobs() == []
        chat.close()


class AtOnce:
    """A writer that is behind the stream."""

    def __init__(self, writer: Any) -> None:
        self.name, self._writer = writer.name, writer

    def write(self, occasion: Any) -> Any:
        return self._writer.write_at_once(occasion)


def test_ten_pictures_from_the_first_to_the_last_are_shown_in_order(written: Any) -> None:
    _, asked, _ = written(sees)
    told = msgspec.json.decode(asked[0].messages[-1][1])["data"]["pictures"]
    assert [one["picture"] for one in told] == list(range(1, 11))
    assert (told[0]["second"], told[-1]["second"]) == (0.0, 24.5)
    assert [one["second"] for one in told] == sorted(one["second"] for one in told)


def test_as_many_pictures_as_the_recipe_says(written: Any) -> None:
    assert [len(call.images) for call in written(sees, frames=3)[1]] == [3, 0]


def test_without_pictures_the_words_of_detectors_are_all_there_is(written: Any) -> None:
    rows, asked, caption = written(sees, frames=0)
    assert [len(call.images) for call in asked] == [0, 0]
    assert "without pictures" in caption
    assert ("Anna", "USES", "whetstone") not in rows


def test_a_window_in_which_nothing_was_detected_is_captioned_from_its_pictures(written: Any) -> None:
    rows, _, caption = written(sees, seen={1: (), 2: (), 3: ()})
    assert FELT in caption
    assert rows == {("Anna", "USES", "whetstone")}


def test_a_caption_that_fails_is_not_paid_for_twice_and_the_template_steps_in(written: Any) -> None:
    def broken(call: ScriptedCall) -> Any:
        return ScriptedReply.failing(400) if "You write the record" in call.messages[0][1] else {"edges": []}

    _, asked, caption = written(broken)
    assert sum("You write the record" in call.messages[0][1] for call in asked) == 1
    assert "The view shows a workshop" in caption


def test_one_caption_serves_both_writers(written: Any) -> None:
    _, asked, _ = written(sees)
    assert sum("You write the record" in call.messages[0][1] for call in asked) == 1


@given(st.integers(0, 40), st.integers(0, 12))
def test_frames_are_spread_evenly_over_the_window(count: int, most: int) -> None:
    chosen = evenly(range(count), most)  # type: ignore[arg-type, type-var]
    assert len(chosen) == min(count, most)
    assert sorted(set(chosen)) == list(chosen)
    if 2 <= most < count:
        gaps = {b - a for a, b in pairwise(chosen)}
        assert (chosen[0], chosen[-1]) == (0, count - 1)
        assert max(gaps) - min(gaps) <= 1


# Summaries


def test_captions_of_five_minutes_become_one_summary(tmp_path: Path) -> None:
    chat = ScriptedChat(summarise="They cook and then repair the bike.")
    writer = CaptionSummaries(models=Models(chat))
    assert (writer.every_n, set(writer.triggers)) == (10, {"every_n", "ended", "idle"})
    with Store.open(tmp_path / "memory") as store:
        remember(store, SEEN, [(2, 4, "me", "Anna, the salt?")])
        with store.view() as view:
            closed = SegmentsClosed(segments=tuple(view.segments()), open_view=store.view)
        [postponed] = list(writer.write(closed))
        assert isinstance(postponed, Postpone)
        idle = BoardIdle(payload=postponed.payload, stream="day", now_us=T0_US + 4000 * US, open_view=store.view)
        made = list(writer.write(idle))
        with store.transaction() as tx:
            for step in steps(writer.name, idle, made):
                step(tx)
        with store.view() as view:
            [summary] = view.documents(kinds=("caption_summary",))
    told = msgspec.json.decode(chat.asked("summarise")[0].messages[-1].text)["data"]["records"]
    assert len(told) == 4
    assert (summary.text, summary.t0_us, summary.t1_us) == ("They cook and then repair the bike.", T0_US + US, T0_US + 3704 * US)
    assert summary.origin == "ocr", "text that was read is in one of the captions"
    assert summary.known_us >= summary.t1_us


def test_without_captions_there_is_no_summary_and_without_a_model_no_writer(tmp_path: Path) -> None:
    chat = ScriptedChat(summarise="never asked")
    writer = CaptionSummaries(SummarySettings(windows=4), Models(chat))
    with Store.open(tmp_path / "memory") as store:
        store.ensure_stream("day", T0_US)
        payload = msgspec.msgpack.encode([T0_US, T0_US + US, 0])
        assert list(writer.write(BoardIdle(payload=payload, stream="day", now_us=T0_US + US, open_view=store.view))) == []
    assert not chat.prompts
    with pytest.raises(UsageError, match="needs a language model"):
        CaptionSummaries()
