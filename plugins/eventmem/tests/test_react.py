"""Whole conversations between the planner `react` and models that play a script, on a real memory."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from edgemem_eventmem import react
from edgemem_eventmem.actions import DetectObjects, ReadPicture, RecallFrames, SearchMemory
from edgemem_eventmem.react import TASK, evenly
from edgemem_eventmem.settings import ReactSettings
from edgemem_eventmem.wire import OcrCall, SearchCall, WireError, decode_turn, option_of, typed, unboxed

from edgemem.extend import Box, ChatError, Completion, View

SEARCH = {"thought": "Not in view.", "action": "search", "call": {"tool": "search_memory", "query": "bus"}}
ANSWER = {"thought": "Found.", "action": "answer", "answer": "A bus came by.", "cites": ["event 2"]}


def body(chat: Any, message: int = 1, call: int = -1) -> dict[str, Any]:
    return msgspec.json.decode(chat.asked[call].messages[message].text)


@pytest.fixture
def talk(evm: SimpleNamespace, view: View) -> Any:
    """(answer, session, chat) of a question, the model saying these lines."""

    def put(lines: list[Any], question: str = "Did a bus come by?", **more: Any) -> Any:
        vision, options = more.pop("vision", True), more.pop("options", ())
        chat = evm.Chat(lines, vision=vision)
        settings = more.pop("settings", None)
        answer, session = evm.put(view, question, evm.kit(chat, settings, **more), options)
        return answer, session, chat

    return put


def actions(session: Any) -> list[type]:
    return [type(step.action) for step in session.steps]


def test_the_model_searches_and_answers_with_the_event_that_it_names(talk: Any):
    answer, session, chat = talk([SEARCH, ANSWER])
    assert (answer.status, answer.answer) == ("answered", "A bus came by.")
    assert [one.text for one in answer.evidence] == ["In view: street, bus."]
    assert answer.confidence == 0.8
    assert actions(session) == [RecallFrames, SearchMemory]
    assert {prompt.task for prompt in chat.asked} == {TASK}
    told = body(chat, -1)["result"]["events"][0]
    assert (told["event_id"], told["start_s"], told["end_s"]) == (2, 20.0, 50.0)
    assert told["change_to_next"].startswith("new: office")


def test_the_model_sees_short_term_memory_with_numbers_and_times_and_pictures_with_ids(talk: Any):
    _, _, chat = talk([ANSWER | {"cites": ["frame 3"]}])
    told = body(chat)
    assert [(one["frame"], one["time_s"]) for one in told["short_term"]] == [(0, 90.0), (1, 92.0), (2, 95.0), (3, 97.0)]
    assert told["short_term"][3]["recognised"] == 'cup, desk; text "EXIT"'
    assert told["pictures"] == [f"frame {n}" for n in range(4)]
    assert told["asked_at"] == 100.0
    shown = chat.asked[0].messages[1]
    assert len(shown.images) == 4
    assert shown.image_ids == ("m4", "m5", "m6", "m7")
    assert "never follow" in chat.asked[0].messages[0].text.lower()


def test_pictures_fit_into_the_questions_share_of_tokens(talk: Any):
    # 2/3 of 14,000 tokens over 4 turns are 2,333: two pictures of 1,000 each, the newest among them.
    _, _, chat = talk([ANSWER], tokens_per_question=14_000)
    assert body(chat)["pictures"] == ["frame 1", "frame 3"]
    assert len(chat.asked[0].messages[1].images) == 2


def test_a_model_that_sees_nothing_is_told_in_words_and_the_answer_says_so(talk: Any):
    answer, _, chat = talk([SEARCH, ANSWER], vision=False)
    assert all(not message.images for prompt in chat.asked for message in prompt.messages)
    assert any("no picture was shown" in note for note in answer.notes)


def test_events_are_shown_by_their_first_frame(talk: Any):
    _, _, chat = talk([SEARCH, ANSWER])
    shown = chat.asked[1].messages[-1]
    assert shown.image_ids == ("m2",)
    assert len(shown.images) == 1
    assert body(chat, -1)["result"]["pictures"] == ["event 2"]


def test_tools_are_called_by_frame_and_event(talk: Any):
    ocr = {"call": {"tool": "ocr", "frame_index": 3}}
    detect = {"call": {"tool": "detect_objects", "labels": ["cup", "unicorn"], "frame_index": 3}}
    answer, session, chat = talk([ocr, detect, ANSWER | {"cites": ["frame 3"]}])
    assert actions(session) == [RecallFrames, ReadPicture, DetectObjects]
    assert answer.evidence[0].id == "m7"
    result = body(chat, -1)["result"]
    assert result["found"] == [{"name": "cup", "confidence": 0.9, "box": [0.1, 0.2, 0.4, 0.6]}]
    assert result["cannot_be_recognised_here"] == ["unicorn"]


def test_a_time_range_is_in_seconds_of_the_stream(talk: Any, evm: SimpleNamespace):
    call = {"call": {"tool": "search_memory", "start_time": 30, "end_time": 55.5}}
    _, session, _ = talk([call, ANSWER])
    assert session.steps[1].action == SearchMemory(from_us=evm.start_us + 30_000_000, to_us=evm.start_us + 55_500_000)


def test_a_time_that_the_question_names_is_told(talk: Any):
    _, _, chat = talk([ANSWER], "What did I see after 10:01 today?")
    assert body(chat)["question_names_time"]["from_s"] == 60.0
    assert "question_names_time" not in body(talk([ANSWER])[2])


# Format


def test_a_broken_reply_is_repaired_once_and_the_model_is_told_why(talk: Any):
    answer, _, chat = talk(["Let me think.", ANSWER])
    assert answer.status == "abstained"  # event 2 never came up
    assert chat.asked[1].messages[-2].text == "Let me think."
    assert "Reply again" in chat.asked[1].messages[-1].text
    both = SEARCH | {"answer": "yes"}
    assert "either a tool call or an answer" in talk([both, ANSWER])[2].asked[1].messages[-1].text
    neither = {"call": {"tool": "search_memory", "query": "x", "start_time": 1}}
    assert "either a query or a stretch of time" in talk([neither, ANSWER])[2].asked[1].messages[-1].text


def test_a_reply_that_stays_broken_ends_with_what_was_found(talk: Any):
    answer, _, chat = talk([SEARCH, "?", "??"], "Where is the bus?")
    assert (answer.status, answer.answer) == ("answered", "In view: street, bus.")
    assert "no usable answer" in answer.notes[-1]
    assert len(chat.asked) == 3


def test_an_answer_in_a_box_is_taken_in_any_text(talk: Any):
    answer, _, _ = talk([r"Thought: it is there. \boxed{A}"], options=("a dog", "a cat"))
    assert (answer.answer, answer.option, answer.confidence) == ("a dog", 0, 0.4)
    assert [one.id for one in answer.evidence] == ["m7"]


def test_the_same_call_is_not_made_twice(talk: Any):
    _, session, chat = talk([SEARCH, SEARCH, ANSWER])
    assert actions(session) == [RecallFrames, SearchMemory]
    assert "did exactly this before" in chat.asked[2].messages[-1].text


def test_the_last_turn_takes_an_answer_only(talk: Any):
    calls = [{"call": {"tool": "search_memory", "query": f"bus {n}"}} for n in range(2)]
    answer, _, chat = talk([*calls, ANSWER], settings=ReactSettings(turns=3))
    assert answer.answer == "A bus came by."
    assert [prompt.messages[-1].text.startswith("This is the last turn") for prompt in chat.asked] == [False, False, True]
    assert "call" not in chat.asked[2].schema["properties"]
    over, _, chat = talk([*calls, calls[0]], "Where is the bus?", settings=ReactSettings(turns=2))
    assert over.answer == "In view: street, bus."
    assert len(chat.asked) == 2


# Nothing that was found is lost


def test_a_model_that_dies_half_way_leaves_what_was_found(talk: Any):
    answer, _, _ = talk([SEARCH, ChatError("gone")], "Where is the bus?")
    assert (answer.status, answer.answer) == ("answered", "In view: street, bus.")
    assert "gone" in answer.notes[-1]


def test_a_model_that_never_answers_leaves_the_question_to_the_local_planner(talk: Any):
    answer, _, _ = talk([ChatError("gone")])
    assert any("the local planner answered" in note for note in answer.notes)


def test_an_answer_without_proof_is_no_answer(talk: Any):
    answer, _, _ = talk([ANSWER | {"cites": ["event 99", "frame 44", "event x", "page 1"]}])
    assert (answer.status, answer.confidence, answer.evidence) == ("abstained", 0.0, ())
    assert "cited nothing" in answer.notes[-1]


@pytest.mark.parametrize(
    ("cite", "cited"), [("frame 3", True), ("frame 4", False), ("event 2", True), ("event 3", False), ("frame x", False)]
)
def test_only_what_came_up_can_be_cited(talk: Any, cite: str, cited: bool):
    answer, _, _ = talk([SEARCH, ANSWER | {"cites": [cite]}])
    assert answer.confidence == (0.8 if cited else 0.0)
    assert (answer.status == "answered") is cited
    assert [one.text for one in answer.evidence] == {"frame 3": ['cup, desk; text "EXIT"'], "event 2": ["In view: street, bus."]}.get(
        cite, []
    )


def test_boxes_have_three_digits():
    assert react._box(Box(x0=1 / 3, y0=0.25, x1=2 / 3, y1=0.9996)) == [0.333, 0.25, 0.667, 1.0]


def test_an_option_that_is_none_is_answered_from_what_was_found(talk: Any):
    answer, _, _ = talk([SEARCH, ANSWER | {"answer": "a train"}], "What came by?", options=("a bus", "a cat"))
    assert (answer.option, answer.answer) == (0, "a bus")


def test_a_model_that_thinks_gets_room_for_it(talk: Any):
    thinking = Completion(text="", model="scripted", finish="length")
    answer, _, chat = talk([thinking, ANSWER | {"cites": ["frame 0"]}])
    assert answer.status == "answered"
    assert chat.asked[1].thinking_tokens >= 4096
    assert chat.asked[1].max_tokens == 300


# The wire


def test_replies_are_decoded_strictly():
    assert decode_turn('{"call": {"tool": "ocr", "frame_index": 1}}').call == OcrCall(frame_index=1)
    assert decode_turn('{"answer": "\\\\boxed{B}"}').answer == "B"
    for wrong in ('{"answer": ""}', "{}", '{"answer": "a", "more": 1}', "text", '{"call": {"tool": "other"}}'):
        with pytest.raises(WireError):
            decode_turn(wrong)
    assert unboxed(r"so \boxed{the {red} cup} is it") == "the {red} cup"


def test_no_second_is_more_than_ten_years_away():
    ten_years = 10 * 366 * 86400
    for second in (ten_years, -ten_years):
        wanted = {"call": {"tool": "search_memory", "start_time": second}}
        assert decode_turn(json.dumps(wanted)).call == SearchCall(start_time=second)
        wanted["call"]["start_time"] += 1 if second > 0 else -1
        with pytest.raises(WireError):
            decode_turn(json.dumps(wanted))


def test_calls_become_actions_or_say_what_is_wrong():
    assert typed(SearchCall(query=" cup "), 0) == SearchMemory(query="cup")
    for wrong in (SearchCall(), OcrCall(), OcrCall(event_id=1, frame_index=2)):
        with pytest.raises(WireError):
            typed(wrong, 0)


@pytest.mark.parametrize(
    ("said", "index"),
    [
        ("A", 0), ("b.", 1), ("(C)", 2), ("D", None), ("B) a red cup", 1), ("a red cup", 1), ("It is the tall glass.", 2), ("a cup", None),
        ("A red cup", 1), ("", None), ("a red cup or a tall glass", None),
    ],
)  # fmt: skip
def test_options_are_named_by_letter_or_text(said: str, index: int | None):
    assert option_of(said, ("a blue plate", "a red cup", "tall glass")) == index


def test_the_letter_tells_options_apart_that_hold_one_another():
    assert [option_of(said, ("cup", "red cup")) for said in ("A. cup", "B. red cup", "red cup", "the red cup")] == [0, 1, 1, None]


def test_frames_are_spread_evenly_and_the_newest_is_among_them():
    assert evenly(range(10), 3) == [3, 6, 9]
    assert list(evenly(range(3), 5)) == [0, 1, 2]
    assert evenly(range(3), 0) == []


def test_words_are_searched_for_within_the_time_that_the_question_names(talk: Any, evm: SimpleNamespace):
    """The bounds of the question are put on every action; a model that gives both itself is told that it may not."""
    answer, session, _ = talk([SEARCH, ANSWER], "Did a bus come by between 10:00:10 and 10:01:00?")
    assert session.steps[1].action == SearchMemory(query="bus", from_us=evm.start_us + 10_000_000, to_us=evm.start_us + 60_000_000)
    assert answer.status == "answered"
    _, session, _ = talk([SEARCH, ANSWER], "Did a bus come by after 10:01:20?")
    assert session.steps[1].result.events == ()
    with pytest.raises(WireError, match="either"):
        typed(SearchCall(query="cup", start_time=1.0), 0)


@pytest.mark.parametrize(
    "question",
    ["Did I see a dog between 10:00:10 and 10:01:00?", "Did I see a bus between 10:01:25 and 10:01:40?", "Did I see a dog before 10:00:50?",
     "Where was the kettle after 10:01:00?"],
)  # fmt: skip
def test_without_a_model_nothing_of_another_time_is_an_answer(evm: SimpleNamespace, view: View, question: str):
    assert evm.put(view, question, evm.kit())[0].status == "abstained"
