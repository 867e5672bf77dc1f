"""What an event document names, and what it leaves out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemem.records import Box, Moment, Observation, Segment
from edgemem.see.operations import SegmentClosed
from edgemem.see.write import LEAST_PROBABILITY, EventDocument, EventDocumentSettings, probably_right, sure_names

FULL = Box(0.0, 0.0, 1.0, 1.0)


def seen(name: str, score: float, kind: str = "label", colour: str = "") -> Observation:
    return Observation(kind=kind, name=name, score=score, box=FULL, colour=colour)


SURE = (seen("owl", 0.97),)


def moments(count: int) -> tuple[Moment, ...]:
    common = {"seq": 0, "width_px": 1, "height_px": 1, "sharpness": 1.0}
    return tuple(Moment(id=i, stream="s", t_us=i, offset_us=i, tier="recent", **common) for i in range(count))


def segment(offset_us: int = 0, t0_us: int = 0, t1_us: int = 9) -> Segment:
    return Segment(id=1, stream="s", segmenter="test", t0_us=t0_us, t1_us=t1_us, offset_us=offset_us, representative_id=0)


def described(*pictures: tuple[Observation, ...], **settings: float) -> str:
    """The text of the event document of a segment with these pictures, "" if there is none."""
    closed = SegmentClosed(segment=segment(), moments=moments(len(pictures)), observations=dict(enumerate(pictures)))
    documents = EventDocument(EventDocumentSettings(**settings)).write(closed)
    return documents[0].text.partition("] ")[2] if documents else ""


def test_what_was_seen_clearly_twice_is_named_and_one_accident_is_not():
    assert described((seen("pelican", 0.95),), (seen("pelican", 0.9), seen("abaya", 0.95))) == "Scene: pelican."
    assert described((seen("pelican", 0.6),), (seen("pelican", 0.5),)) == ""


def test_the_only_picture_of_a_segment_is_believed_when_it_is_clear():
    assert described((seen("pelican", 0.97),)) == "Scene: pelican."
    assert described((seen("pelican", 0.7),)) == ""
    assert described((seen("pelican", 0.97),), ()) == ""


def test_the_surest_name_comes_first_and_only_so_many():
    pictures = [(seen("owl", 0.9), seen("drum", 0.97), seen("mug", 0.93))] * 2
    assert described(*pictures) == "Scene: drum, mug, owl."
    assert described(*pictures, max_labels=2) == "Scene: drum, mug."


def test_six_names_at_most_are_told_of_a_segment():
    pictures = [tuple(seen(f"thing{i}", 0.97) for i in range(9))] * 2
    assert described(*pictures).count(",") == 5


def test_a_document_tells_the_time_in_the_recording_and_its_origin():
    nine_s = segment(offset_us=60_000_000, t0_us=2_000_000, t1_us=11_000_000)
    closed = SegmentClosed(segment=nine_s, moments=moments(2), observations={0: SURE, 1: SURE})
    (document,) = EventDocument().describe(closed)
    assert (document.text, document.origin) == ("[1:00 to 1:09] Scene: owl.", "caption")
    assert EventDocument().describe(SegmentClosed(segment=segment(), moments=moments(2))) == []


def test_objects_are_counted_and_coloured_once_their_name_is_sure():
    two = (seen("person", 0.9, "object", "red"), seen("person", 0.5, "object", "red"), seen("kite", 0.5, "object"))
    assert described(two, two) == "Objects: person (2 at once, red)."


@pytest.mark.parametrize("kind", ["label", "object"])
@given(scores=st.lists(st.floats(0, 1), min_size=2, max_size=5), more=st.floats(0, 0.5))
def test_a_higher_score_never_makes_a_name_less_likely(kind, scores, more):
    best = scores.index(max(scores))
    higher = [min(1.0, score + more) if i == best else score for i, score in enumerate(scores)]
    assert 0.0 <= probably_right(kind, scores) <= probably_right(kind, higher) <= 1.0


def test_names_are_told_by_kind():
    both = [(seen("orange", 0.97), seen("person", 0.97, "object"))] * 2
    assert (sure_names("label", both), sure_names("object", both)) == (["orange"], ["person"])
    assert sure_names("label", both, least=0.999) == []
    assert 0.5 < LEAST_PROBABILITY < 1
