"""A session that was stored is asked again without its model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec

from edgemem.extend.scripted import ReplayChat
from edgemem.llm.calls import restored
from edgemem.remember.view import View
from edgemem.serve.trace import log_of

QUESTION = "Where did I leave the red mug?"
SCRIPT: dict[str, list[Any]] = {
    "router": [{"type": "tool", "name": "retrieve", "args": {"question": QUESTION}}],
    "inspector": ["A red mug stands on a desk.", "Nothing of the kind."],
    "planner": [
        {"action": "search", "queries": [{"q": "red coffee mug", "inspect_k": 2}]},
        {"action": "answer", "response": "It was on a desk.", "best_ref": {"turn_idx": 1, "result_idx": 0}},
    ],
}


def test_the_same_question_over_the_same_memory_with_recorded_calls_gives_the_same_answer(vam: SimpleNamespace, view: View) -> None:
    answer, session = vam.put(view, QUESTION, vam.kit(vam.Chat(SCRIPT)))
    kept = log_of(session, answer, "vam", "vam").calls
    assert [restored(call) for call in kept] == session.calls
    again, replayed = vam.put(view, QUESTION, vam.kit(ReplayChat(restored(call) for call in kept)))

    def plain(one: Any) -> Any:
        return msgspec.structs.replace(one, usage=msgspec.structs.replace(one.usage, ms=0.0))

    assert plain(again) == plain(answer)
    assert answer.answer == "It was on a desk."
    assert [call.request for call in replayed.calls] == [call.request for call in session.calls]
    looked = [call for call in session.calls if call.task == "inspector"]
    assert looked
    assert all(
        name.startswith("m") for call in looked for message in (call.request.messages if call.request else ()) for name in message.image_ids
    )
    assert sum(call.pictures for call in looked) > 0


def test_a_memory_that_changed_is_told_from_the_recorded_one(vam: SimpleNamespace, view: View) -> None:
    _, session = vam.put(view, QUESTION, vam.kit(vam.Chat(SCRIPT)))
    other, _ = vam.put(view, "Where is the cat?", vam.kit(ReplayChat(session.calls)))
    assert "no such call" in " ".join(other.notes)


def test_an_answer_without_pictures_says_so(vam: SimpleNamespace, view: View) -> None:
    blind, _ = vam.put(view, QUESTION, vam.kit(vam.Chat(SCRIPT, vision=False)))
    assert "no picture was shown to the inspector: its model does not see pictures" in blind.notes
    seeing, _ = vam.put(view, QUESTION, vam.kit(vam.Chat(SCRIPT)))
    assert "no picture" not in " ".join(seeing.notes)
