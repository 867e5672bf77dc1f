"""Answers made from what was found, without a model's words: shares worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from edgemem_eventmem.actions import Events, Found, Frames, Looked
from edgemem_eventmem.compose import fits, reply_from, words_of
from edgemem_eventmem.recall import LongTermEvent, ShortTermFrame

from edgemem.answer.understand.timespan import TimeSpan
from edgemem.extend import Evidence, Moment


def frame(number: int, text: str) -> ShortTermFrame:
    moment = Moment(
        id=number, stream="s", seq=number, t_us=number, offset_us=number, width_px=4, height_px=4, sharpness=1.0, tier="recent", role=""
    )
    return ShortTermFrame(index=number, moment=moment, text=text)


def event(number: int, caption: str, changed: str = "") -> LongTermEvent:
    span = {"stream": "s", "t0_us": 0, "t1_us": 1, "offset_us": 0}
    return LongTermEvent(**span, id=number, caption=caption, first_frame=None, change_from_previous=changed, document_id=number)


def look(number: int, *found: Found) -> Looked:
    picture = Evidence(id=f"look{number}", channel="frame", stream="s", t0_us=0, t1_us=0, offset_us=0, score=1.0, text="")
    return Looked(found=found, evidence=(picture,))


def session(text: str, options: tuple[str, ...] = (), things: tuple[str, ...] = ()) -> Any:
    return SimpleNamespace(question=SimpleNamespace(text=text, options=options), parsed=SimpleNamespace(things=things), span=TimeSpan())


def reply(text: str, frames: tuple[str, ...] = (), results: tuple[Any, ...] = (), options: tuple[str, ...] = (), **more: Any) -> Any:
    shown = Frames(frames=tuple(frame(number, said) for number, said in enumerate(frames)))
    return reply_from(session(text, options), shown, results, **more)


def test_content_words_are_those_of_two_letters_that_say_something():
    assert words_of("Where did I see a Red mug, x or TV?") == ["red", "mug", "tv"]


@pytest.mark.parametrize(
    ("words", "share"),
    [("red mug blue", 2 / 3), ("mug", 1.0), ("plate", 0.0), ("red mugs", 1.0), ("reds mug", 0.5), ("mug desk cup lamp", 0.5)],
)
def test_the_share_is_that_of_the_words_that_are_held(words: str, share: float):
    shown = Frames(frames=(frame(0, "red mug, desk"),))
    (fit,) = fits(session(f"where is the {words}"), shown, [])
    assert fit.share == pytest.approx(share)


def test_a_thing_of_two_words_is_held_as_a_whole():
    shown = Frames(frames=(frame(0, "red mug, blue plate"),))
    assert [fits(session("", things=(thing,)), shown, [])[0].share for thing in ("red mug", "mug", "green mug")] == [1.0, 1.0, 0.0]


def test_of_equal_ones_a_look_comes_first_then_the_newest_frame_then_events():
    shown = Frames(frames=(frame(1, "mug"), frame(2, "mug")))
    found = [Events(events=(event(3, "mug"), event(4, "no", changed="new: mug."))), look(5, Found(name="cup", confidence=0.5, asked="mug"))]
    assert [fit.evidence.id for fit in fits(session("mug"), shown, found)] == [
        "look5",
        "m2",
        "m1",
        *(e.evidence.id for e in found[0].events),
    ]
    better = Frames(frames=(frame(1, "red mug"), frame(2, "mug")))
    assert [fit.evidence.id for fit in fits(session("red mug"), better, [])] == ["m1", "m2"]


def test_a_look_that_found_nothing_says_nothing():
    assert fits(session("mug"), Frames(), [look(1)]) == []


def test_what_was_read_is_quoted_and_what_was_asked_for_is_counted():
    said = look(
        1,
        Found(name="ROOM 214", confidence=1.0),
        Found(name="cup", confidence=0.6, asked="mug"),
        Found(name="cup", confidence=0.5, asked="mug"),
    )
    assert fits(session("mug"), Frames(), [said])[0].text == '"ROOM 214"; 2 x cup'


def test_half_of_the_words_are_enough_and_no_less():
    half = reply("red mug", ("mug, desk",))
    assert (half.status, half.text, half.confidence, half.evidence) == ("answered", "mug, desk", 0.3, ("m0",))
    whole = reply("red mug", ("red mug",))
    assert whole.confidence == 0.6
    third = reply("red mug handle", ("mug, desk",))
    assert (third.status, third.confidence, third.option) == ("abstained", 0.0, None)
    assert third.evidence == ("m0",)
    assert reply("mug").evidence == ()


def test_an_abstention_shows_the_five_best_and_an_answer_the_eight_best():
    assert reply("plate", tuple("abcdefg")).evidence == ("m6", "m5", "m4", "m3", "m2")
    assert reply("mug", ("mug",) * 10).evidence == tuple(f"m{n}" for n in range(9, 1, -1))
    assert reply("red mug", ("red mug", "mug", "desk")).evidence == ("m0", "m1")


def test_confidence_has_two_digits():
    assert reply("red mug handle", ("red mug",)).confidence == 0.4
    assert reply("red mug handle plate fork", ("red mug handle plate",)).confidence == 0.48
    assert reply("red mug handle plate fork knife lamp", ("red mug handle plate fork",)).confidence == 0.43  # .6 * 5 / 7


def test_an_answer_has_at_most_1000_characters():
    assert len(reply("mug", ("mug " * 1000,)).text) == 1000


def test_the_option_that_the_evidence_names_is_chosen():
    chosen = reply("what was it", ("a red mug on a desk",), options=("blue plate", "red mug"))
    assert (chosen.option, chosen.text, chosen.status) == (1, "red mug", "answered")
    half = reply("what was it", ("a red cup",), options=("blue plate", "red mug"))
    assert (half.option, half.status) == (1, "answered")
    assert reply("what was it", ("a red blue thing",), options=("blue plate", "red mug")).option is None
    assert reply("what was it", ("lamp",), options=("blue plate", "red mug")).option is None
    assert reply("what was it", ("a red mug", "a lamp"), options=("blue plate", "red mug")).option == 1
    short = reply("what was it", ("it, what",), options=("it", "of"))
    assert short.option == 0


def test_a_note_says_why():
    assert reply("mug", ("mug",), note="why").notes == ("why",)
    assert reply("mug", ("mug",)).notes == ()
    assert reply("mug", note="why").notes == ("why",)
