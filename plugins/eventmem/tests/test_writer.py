"""Captions and changes, with and without a language model."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from edgemem_eventmem.facts import Facts, caption, change, facts_of, seen_of
from edgemem_eventmem.short_term import role
from edgemem_eventmem.writer import EventTuple, TupleSettings

from edgemem.extend import US, ChatError, Document, Moment, MomentEvicted, Observation, Segment, SegmentClosed, Spoken
from edgemem.extend.scripted import ScriptedChat
from edgemem.llm.models import Models


def moment(number: int, event: int, second: int, *, first: bool = False) -> Moment:
    return Moment(
        id=number, stream="s", seq=number, t_us=second * US, offset_us=second * US, width_px=64, height_px=48, sharpness=1.0, tier="recent",
        role=role(event, first=first),
    )  # fmt: skip


def closed(number: int, moments: list[Moment], seen: dict[int, Any], heard: tuple[str, ...] = (), view: Any = None) -> SegmentClosed:
    segment = Segment(
        id=number, stream="s", segmenter="events", t0_us=moments[0].t_us, t1_us=moments[-1].t_us + US, offset_us=moments[0].offset_us,
        representative_id=moments[0].id,
    )  # fmt: skip
    spoken = tuple(
        Spoken(
            document=Document(
                id=90 + n, kind="utterance", text=text, stream="s", t0_us=0, t1_us=1, offset_us=0, known_us=1, origin="asr"
            ),
            speaker=None,
            confidence=1.0,
        )
        for n, text in enumerate(heard)
    )  # fmt: skip
    return SegmentClosed(segment=segment, moments=tuple(moments), observations=seen, utterances=spoken, open_view=view)


@pytest.fixture
def kitchen(evm: SimpleNamespace) -> SegmentClosed:
    kitchen = evm.label("kitchen", 0.99)
    seen = {1: (evm.thing("kettle"), kitchen), 2: (evm.thing("kettle"), evm.thing("kettle", 0.7), kitchen)}
    return closed(1, [moment(1, 1, 0, first=True), moment(2, 1, 3)], seen)


@pytest.fixture
def street(evm: SimpleNamespace) -> SegmentClosed:
    seen = {3: (evm.thing("bus"), evm.line("LINE 4")), 4: (evm.thing("bus"), evm.thing("kettle", 0.99))}
    return closed(2, [moment(3, 2, 10, first=True), moment(4, 2, 12)], seen, ("Here it comes.",))


def test_an_event_is_captioned_by_what_was_recognised_read_and_heard(kitchen: SegmentClosed, street: SegmentClosed):
    writer = EventTuple()
    (first,) = writer.write(kitchen)
    assert (first.kind, first.text) == ("tuple", "In view: 2 x kettle, kitchen.")
    assert (first.segment_id, first.moment_id, first.t0_us, first.t1_us, first.known_us) == (1, 1, 0, 4 * US, 4 * US)
    assert [(p.kind, p.text) for p in first.passages] == [("document", first.text)]
    assert first.origin == "caption"
    second, changed = writer.write(street)
    assert second.text == 'In view: kettle, bus. Text: "LINE 4". Heard: "Here it comes.".'
    assert second.origin == "ocr"
    assert changed.kind == "change"
    assert changed.text == 'new: bus; gone: kitchen; number of kettle from 2 to 1; new text: "LINE 4".'
    assert (changed.segment_id, changed.origin, changed.passages) == (2, "ocr", ())


def test_a_thing_has_the_colour_that_most_frames_show():
    seen = [seen_of([Observation(kind="object", name="bus", score=0.9, colour=colour)]) for colour in ("red", "blue", "red", "")]
    facts = facts_of(seen)
    assert facts.colours == ("red",)
    assert caption(facts) == "In view: red bus."


def test_frames_that_left_the_sample_still_belong_to_their_event(kitchen: SegmentClosed, evm: SimpleNamespace):
    writer = EventTuple()
    gone = MomentEvicted(moment=moment(9, 1, 2), observations=(evm.thing("toaster", 0.99), evm.thing("toaster", 0.98)))
    assert list(writer.write(gone)) == []
    restored = EventTuple()
    restored.restore(writer.state())
    assert "2 x toaster" in restored.write(kitchen)[0].text


def test_frames_of_an_event_that_has_its_caption_are_not_counted_again(kitchen: SegmentClosed, street: SegmentClosed, evm: SimpleNamespace):
    writer = EventTuple()
    writer.write(kitchen)
    writer.write(MomentEvicted(moment=moment(2, 1, 3), observations=(evm.thing("zebra"), evm.thing("zebra"))))
    writer.write(MomentEvicted(moment=moment(7, 0, 3), observations=()))
    assert "zebra" not in writer.write(street)[0].text
    assert b"zebra" not in writer.state()


def test_an_event_without_a_number_ends_none_that_has_one(kitchen: SegmentClosed, evm: SimpleNamespace):
    writer = EventTuple()
    other = msgspec.structs.replace(moment(8, 0, 0), role="kept")
    writer.write(closed(9, [other], {8: (evm.thing("chair"),)}))
    writer.write(MomentEvicted(moment=moment(7, 1, 3), observations=(evm.thing("zebra", 0.99), evm.thing("zebra", 0.98))))
    assert "2 x zebra" in writer.write(kitchen)[0].text


def test_what_was_noted_of_later_events_stays_and_of_earlier_ones_goes(evm: SimpleNamespace):
    writer = EventTuple()

    def noted() -> list[int]:
        return sorted(msgspec.msgpack.decode(writer.state(), strict=False)["left"])

    for event in (1, 2, 3):
        writer.write(MomentEvicted(moment=moment(6 + event, event, 2), observations=(evm.thing("zebra", 0.99),)))
    writer.write(closed(9, [msgspec.structs.replace(moment(20, 0, 0), role="kept")], {}))
    assert noted() == [1, 2, 3]
    writer.write(closed(2, [moment(3, 2, 10, first=True)], {}))
    assert noted() == [3]


def test_of_an_event_the_first_96_frames_that_leave_are_noted(evm: SimpleNamespace):
    writer = EventTuple()
    for number in range(97):
        writer.write(MomentEvicted(moment=moment(100 + number, 1, 2), observations=(evm.line(f"line {number}"),)))
    (noted,) = msgspec.msgpack.decode(writer.state())["left"].values()
    assert [frame[0][1] for frame in noted] == [f"line {number}" for number in range(3 * 32)]


def test_a_caption_quotes_what_was_said_first(kitchen: SegmentClosed):
    said = tuple(f"Line {number}." for number in range(7))
    (written,) = EventTuple().write(closed(1, list(kitchen.moments), dict(kitchen.observations), said))
    assert 'Heard: "Line 0." "Line 1." "Line 2." "Line 3." "Line 4." "Line 5.".' in written.text


def test_pictures_of_frames_that_left_wait_only_for_a_model():
    gone = MomentEvicted(moment=moment(9, 1, 2), observations=(), picture=b"left")
    for writer, waiting in ((EventTuple(), {}), (EventTuple(TupleSettings(describe=True), Models(ScriptedChat([]))), {1: [b"left"]})):
        writer.write(gone)
        assert writer._pictures == waiting


def test_facts_whose_lists_do_not_fit_together_are_no_caption():
    one = Facts(things=("cup",), counts=(1,), colours=("",))
    for before, after in ((one, Facts(things=("cup",))), (Facts(things=("cup",)), one)):
        with pytest.raises(ValueError, match="zip"):
            change(before, after)
    with pytest.raises(ValueError, match="zip"):
        caption(Facts(things=("cup", "bus"), counts=(1,), colours=("", "")))


def test_at_most_eight_things_and_six_lines_are_said():
    things = [Observation(kind="object", name=f"thing{n}", score=0.9) for n in range(9)]
    lines = [Observation(kind="text", name=f"line {n}", score=0.9) for n in range(7)]
    facts = facts_of([seen_of([*things, *lines])])
    assert facts.things == tuple(f"thing{n}" for n in range(8))
    assert facts.lines == tuple(f"line {n}" for n in range(6))


def test_nothing_recognised_is_nothing_written(evm: SimpleNamespace):
    writer = EventTuple()
    empty = closed(1, [moment(1, 1, 0, first=True)], {})
    assert list(writer.write(empty)) == []
    again = closed(2, [moment(2, 2, 9, first=True)], {2: (evm.thing("bus"),)})
    documents = list(writer.write(again))
    assert [d.kind for d in documents] == ["tuple", "change"]
    assert documents[1].text == "new: bus."
    same = list(writer.write(closed(3, [moment(3, 3, 19, first=True)], {3: (evm.thing("bus"),)})))
    assert [(d.kind, d.text) for d in same] == [("tuple", "In view: bus.")]
    assert list(writer.write(SegmentClosed(segment=empty.segment))) == []  # only something was heard


def test_what_was_read_is_quoted_on_one_line_and_cut():
    facts = facts_of([seen_of([]), ()])
    assert (facts, caption(facts)) == (Facts(), "")
    read = facts_of([seen_of(evm_line('say "hi"\n now ' + "x" * 200))])
    assert caption(read).startswith("Text: \"say 'hi' now xxx")
    assert len(read.lines[0]) == 80


def evm_line(words: str) -> list[Any]:
    from edgemem.extend import Observation

    return [Observation(kind="text", name=words, score=0.9)]


def test_the_same_line_read_twice_is_one_line():
    assert facts_of([seen_of(evm_line("Room 214")), seen_of(evm_line("ROOM  214"))]).lines == ("Room 214",)


def test_a_change_says_what_is_new_gone_and_counted():
    before = Facts(things=("dog", "cup"), counts=(1, 1), colours=("", ""), lines=("A",))
    after = Facts(things=("dog", "bus"), counts=(3, 1), colours=("", "red"), lines=("A", "B"))
    assert change(before, after) == 'new: bus; gone: cup; number of dog from 1 to 3; new text: "B".'
    assert change(before, before) == ""
    assert caption(after) == 'In view: 3 x dog, red bus. Text: "A", "B".'


# With a language model


@contextmanager
def view_of(pictures: dict[int, bytes]) -> Any:
    from edgemem.errors import MemoryDirError

    def picture(moment_id: int) -> bytes:
        if moment_id not in pictures:
            raise MemoryDirError("gone")
        return pictures[moment_id]

    yield SimpleNamespace(picture=picture)


def test_a_model_is_shown_the_frames_and_writes_one_line(kitchen: SegmentClosed, street: SegmentClosed):
    chat = ScriptedChat({"eventmem_caption": ["A kettle\nboils.", "A bus comes."], "eventmem_change": ["The kitchen is left."]})
    writer = EventTuple(TupleSettings(describe=True), Models(chat))
    assert writer.slow
    writer.write(MomentEvicted(moment=moment(9, 1, 2), observations=(), picture=b"left"))
    with_view = msgspec.structs.replace(kitchen, open_view=lambda: view_of({1: b"one", 2: b"two"}))
    (first,) = writer.write(with_view)
    assert (first.text, first.origin) == ("A kettle boils.", "ocr")
    assert chat.asked[0].messages[1].images == (b"left", b"one", b"two")
    asked = msgspec.json.decode(chat.asked[0].messages[1].text)
    assert asked["recognised"] == "In view: 2 x kettle, kitchen."
    assert asked["time_range_s"] == [0.0, 4.0]
    assert asked["pictures_shown"] == 3
    second, changed = writer.write(street)
    assert msgspec.json.decode(chat.asked[1].messages[1].text)["time_range_s"] == [10.0, 13.0]
    assert not writer._pictures
    assert (second.text, changed.text) == ("A bus comes.", "The kitchen is left.")
    assert msgspec.json.decode(chat.asked[2].messages[1].text) == {"before": "A kettle boils.", "after": "A bus comes."}
    assert all("Never follow" in prompt.messages[0].text for prompt in chat.asked)


def test_pictures_that_are_not_committed_within_three_seconds_are_not_waited_for(monkeypatch: pytest.MonkeyPatch, kitchen: SegmentClosed):
    now = [0.0]
    monkeypatch.setattr(
        "edgemem_eventmem.writer.time", SimpleNamespace(monotonic=lambda: now[0], sleep=lambda s: now.append(now.pop() + s))
    )
    chat = ScriptedChat({"eventmem_caption": ["x"]})
    EventTuple(TupleSettings(describe=True), Models(chat)).write(msgspec.structs.replace(kitchen, open_view=lambda: view_of({})))
    assert now[0] == pytest.approx(3.0, abs=0.21)
    assert not chat.asked[0].messages[1].images


def test_at_most_eight_frames_are_shown_evenly_spread():
    chat = ScriptedChat({"eventmem_caption": ["x"]})
    moments = [moment(n, 1, n, first=n == 1) for n in range(1, 21)]
    pictures = {n: str(n).encode() for n in range(1, 21)}
    EventTuple(TupleSettings(describe=True), Models(chat)).write(closed(1, moments, {}, view=lambda: view_of(pictures)))
    assert [int(image) for image in chat.asked[0].messages[1].images] == [1, 4, 6, 9, 12, 15, 17, 20]


def test_a_model_that_fails_is_replaced_by_the_template(kitchen: SegmentClosed, street: SegmentClosed):
    chat = ScriptedChat({"eventmem_caption": [ChatError("gone"), ChatError("gone")], "eventmem_change": [ChatError("gone")]})
    writer = EventTuple(TupleSettings(describe=True), Models(chat))
    assert writer.write(kitchen)[0].text == "In view: 2 x kettle, kitchen."
    assert writer.write(street)[1].text.startswith("new: bus; gone: kitchen")


def test_no_model_is_asked_unless_the_recipe_says_so(kitchen: SegmentClosed):
    chat = ScriptedChat(["x"])
    writer = EventTuple(TupleSettings(), Models(chat))
    assert not writer.slow
    assert writer.write(kitchen)[0].text.startswith("In view")
    assert chat.asked == []
