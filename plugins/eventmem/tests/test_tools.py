"""What is in the two memories, and the tools over them."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from edgemem_eventmem.actions import DetectObjects, Events, Frames, ReadPicture, RecallFrames, SearchMemory
from edgemem_eventmem.overlay import decode, event_label, frame_label, labelled
from edgemem_eventmem.recall import event, short_term
from edgemem_eventmem.tools import TOP_TIMED, DetectTool, OcrTool, RecallTool, SearchSettings, SearchTool, least_cosine, means
from PIL import Image, ImageFont

from edgemem.extend import US, EngineError, Observation, Space, View
from edgemem.remember.entries import NewMoment, NewSegment
from edgemem.remember.store import Store


def test_short_term_memory_is_the_events_of_which_more_than_the_first_frame_is_left(view: View, evm: SimpleNamespace):
    frames = short_term(view, 32)
    assert [(f.index, f.moment.offset_us // US) for f in frames] == [(0, 90), (1, 92), (2, 95), (3, 97)]
    assert frames[3].text == 'cup, desk; text "EXIT"'
    assert frames[1].evidence.id == "m5"
    result = RecallTool().run(RecallFrames(), view)
    assert result.frames == tuple(frames)
    assert result.stream_t0_us == evm.start_us
    assert [f.moment.offset_us // US for f in short_term(view, 2)] == [95, 97]


def test_in_a_view_of_an_earlier_time_it_is_what_is_left_of_then(view: View, evm: SimpleNamespace):
    with View.open(view.directory, as_of_us=evm.start_us + 60 * US) as earlier:
        assert [f.moment.offset_us // US for f in short_term(earlier, 32)] == [50]
        assert RecallTool().run(RecallFrames(), earlier).stream_t0_us == evm.start_us
    with View.open(view.directory, as_of_us=evm.start_us - 1) as before:
        assert short_term(before, 32) == []
        assert RecallTool().run(RecallFrames(), before) == Frames(frames=(), stream_t0_us=0)
        assert Frames().stream_t0_us == 0


def test_frames_that_another_recipe_kept_push_out_none_of_four_times_k(tmp_path: Path, evm: SimpleNamespace):
    def held(others: int) -> list[int]:
        with Store.open(tmp_path / f"memory{others}") as store:
            store.ensure_stream("walk", evm.start_us)
            with store.transaction() as tx:
                for number, kept_as in enumerate(["event 1, first", "event 1", *["kept"] * others]):
                    at = {"t_us": evm.start_us + number * US, "offset_us": number * US, "role": kept_as}
                    size = {"width_px": 160, "height_px": 120, "sharpness": 1.0}
                    tx.add_moment(NewMoment(stream="walk", seq=number, jpeg=evm.jpeg(9), vectors={}, observations=(), **at, **size))
            with store.view() as opened:
                return [frame.moment.offset_us // US for frame in short_term(opened, 2)]

    assert held(6) == [0, 1]
    assert held(7) == [1]


def test_the_first_frame_of_an_event_that_ended_is_among_them_while_others_of_it_are(tmp_path: Path, evm: SimpleNamespace):
    with Store.open(tmp_path / "memory") as store:
        store.ensure_stream("walk", evm.start_us)
        with store.transaction() as tx:
            size = {"width_px": 160, "height_px": 120, "sharpness": 1.0, "jpeg": evm.jpeg(9), "vectors": {}, "observations": ()}
            ids = []
            for number, kept_as in enumerate(("event 1, first", "event 2, first", "event 2", "kept", "event 3, first")):
                at = {"t_us": evm.start_us + number * US, "offset_us": number * US, "role": kept_as}
                ids.append(tx.add_moment(NewMoment(stream="walk", seq=number, **at, **size)))
            for first, last in ((0, 0), (1, 3)):
                span = {"t0_us": evm.start_us + first * US, "t1_us": evm.start_us + last * US, "offset_us": first * US}
                of = {"moment_ids": tuple(ids[first : last + 1]), "representative_id": ids[first]}
                tx.add_segment(NewSegment(stream="walk", segmenter="events", **span, **of))
        with store.view() as opened:
            assert [moment.role for moment in opened.moments()][:2] == ["representative"] * 2
            assert [frame.moment.offset_us // US for frame in short_term(opened, 9)] == [1, 2, 4]


def test_a_search_by_time_brings_the_tuples_that_overlap_it(view: View, evm: SimpleNamespace):
    found = SearchTool().run(SearchMemory(from_us=evm.start_us + 30 * US, to_us=evm.start_us + 55 * US), view)
    assert [one.caption for one in found.events] == ["In view: street, bus.", 'In view: office. Text: "ROOM 214".']
    street = found.events[0]
    assert street.change_from_previous == "new: street, bus; gone: kitchen, kettle."
    assert street.change_to_next == 'new: office; gone: street, bus; new text: "ROOM 214".'
    assert (street.t0_us, street.t1_us, street.first_frame) == (evm.start_us + 20 * US, evm.start_us + 50 * US - 1, 2)
    assert found.events[1].change_to_next == ""
    assert [one.score for one in found.events] == [0.0, 0.0]
    assert [view.document(int(one.id[1:])).text for one in found.evidence] == [one.caption for one in found.events]


def test_a_search_by_time_brings_so_many_events_and_says_that_there_are_more(tmp_path: Path, evm: SimpleNamespace):
    def found(events: int) -> Events:
        with Store.open(tmp_path / f"memory{events}") as store:
            store.ensure_stream("walk", evm.start_us)
            with store.transaction() as tx:
                for number in range(events):
                    t_us = evm.start_us + number * US
                    tx.add_segment(
                        NewSegment(stream="walk", t0_us=t_us, t1_us=t_us + US - 1, offset_us=number * US, segmenter="events", moment_ids=())
                    )
            with store.view() as view:
                return SearchTool().run(SearchMemory(from_us=evm.start_us), view)

    assert found(TOP_TIMED).notes == ()
    assert found(TOP_TIMED + 1).notes == (f"only the first {TOP_TIMED} events of that time",)


def test_a_search_takes_either_words_or_a_time():
    for wrong in ({}, {"query": " "}):
        with pytest.raises(ValueError, match="either"):
            SearchMemory(**wrong)
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({"action": "search_memory", **wrong}, SearchMemory)


class Embedder:
    """Vectors of two dimensions by hand: the cosine with "bus" is 0.6 for what speaks of a street, 0.2 for other captions."""

    space = Space(name="toy", dim=2, calibration={"search_chance": 0.25})

    def embed_text(self, texts):
        rows = [(1.0, 0.0) if text == "bus" else (0.6, 0.8) if "street" in text else (0.2, 0.9798) for text in texts]
        return np.array(rows, np.float32)

    embed_query = embed_text


class Engines:
    """Plays the roles it is given."""

    def __init__(self, **roles):
        self.roles, self.looked = roles, 0

    def has(self, role):
        return role in self.roles

    def role(self, role):
        return self.roles[role]


@pytest.fixture
def embedded(tmp_path, evm):
    """Three captions with vectors."""
    from edgemem.remember.entries import NewDocument, NewMoment, NewPassage, NewSegment
    from edgemem.remember.store import Store

    with Store.open(tmp_path / "memory") as store:
        store.ensure_stream("walk", evm.start_us)
        store.ensure_space(Embedder.space, holds="passage")
        for number, text in enumerate(("a street", "a street again", "a street once more", "another street", "a kitchen")):
            at = {"stream": "walk", "t0_us": evm.start_us + number * US, "t1_us": evm.start_us + number * US, "offset_us": number * US}
            vector = Embedder().embed_text([text])[0]
            with store.transaction() as tx:
                moment = {"seq": number, "t_us": at["t0_us"], "width_px": 160, "height_px": 120, "sharpness": 1.0}
                moment_id = tx.add_moment(
                    NewMoment(stream="walk", offset_us=at["offset_us"], jpeg=evm.jpeg(9), vectors={}, **moment)
                )  # fmt: skip
                segment_id = tx.add_segment(NewSegment(**at, segmenter="events", moment_ids=(moment_id,), representative_id=moment_id))
                passage = NewPassage(kind="document", text=text, vectors={"toy": vector})
                about = {"known_us": at["t1_us"], "origin": "caption", "segment_id": segment_id, "moment_id": moment_id}
                tx.add_document(NewDocument(**at, kind="tuple", text=text, passages=(passage,), **about))
        with store.view() as opened:
            yield opened


def test_a_search_by_words_brings_the_three_best_above_the_threshold_of_the_space(embedded: View):
    engines = Engines(embed_text=Embedder())
    found = SearchTool(None, engines).run(SearchMemory(query="bus"), embedded)
    assert len(found.events) == 3
    assert all("street" in one.caption for one in found.events)
    assert found.events[0].score == pytest.approx(0.6, abs=0.01)
    assert len(SearchTool(SearchSettings(top_k=9), engines).run(SearchMemory(query="bus"), embedded).events) == 4
    assert SearchTool(SearchSettings(min_cosine=0.7), engines).run(SearchMemory(query="bus"), embedded).events == ()
    assert len(SearchTool(SearchSettings(top_k=9, min_cosine=0.1), engines).run(SearchMemory(query="bus"), embedded).events) == 5


def test_the_threshold_of_the_paper_holds_where_a_space_states_none():
    assert (least_cosine({}), least_cosine({"search_chance": 0.25})) == (0.3, 0.25)


def test_without_an_embedder_words_are_searched_and_that_is_said(view: View):
    found = SearchTool().run(SearchMemory(query="bus"), view)
    assert [one.caption for one in found.events] == ["In view: street, bus."]
    assert "no text embedder" in found.notes[0]


class Hosted(Embedder):
    """Queries have vectors of their own; the server is away where `away` says so."""

    def __init__(self, away=""):
        self.away = away

    def embed_query(self, texts):
        if self.away:
            raise EngineError(self.away)
        return self.embed_text(["bus"] * len(texts))


def test_a_search_sends_its_words_as_a_query_and_falls_back_to_words(embedded: View):
    found = SearchTool(None, Engines(embed_text=Hosted())).run(SearchMemory(query="anything"), embedded)
    assert len(found.events) == 3
    found = SearchTool(None, Engines(embed_text=Hosted("the server is away"))).run(SearchMemory(query="kitchen"), embedded)
    assert [one.caption for one in found.events] == ["a kitchen"]
    assert found.notes == ("found by words: the server is away",)


def test_text_is_read_in_a_frame_or_in_the_first_frame_of_an_event(view: View):
    tool = OcrTool()
    assert [(one.name, one.confidence) for one in tool.run(ReadPicture(frame_index=3), view).found] == [("EXIT", 0.95)]
    read = tool.run(ReadPicture(event_id=3), view)
    assert [one.name for one in read.found] == ["ROOM 214"]
    assert read.evidence[0].id == "m3"
    assert read.found[0].box is not None
    assert tool.run(ReadPicture(frame_index=4), view).notes == ("there is no frame 4; short-term memory has 4",)
    assert tool.run(ReadPicture(event_id=77), view).notes == ("there is no event 77",)
    assert "no reader" in tool.run(ReadPicture(frame_index=0), view).notes[0]


def test_what_was_not_read_before_is_read_once(view: View):
    class Reader:
        calls = 0

        def read(self, image):
            Reader.calls += 1
            assert image.shape == (120, 160, 3)
            return [Observation(kind="text", name="late", score=0.5)]

    tool = OcrTool(Engines(read_text=Reader()))
    first = tool.run(ReadPicture(frame_index=0), view)
    assert [one.name for one in first.found] == ["late"]
    assert tool.run(ReadPicture(frame_index=0), view) == first
    assert Reader.calls == 1
    assert [one.name for one in tool.run(ReadPicture(frame_index=3), view).found] == ["EXIT"]  # that was read when it was kept
    assert Reader.calls == 1


def test_without_a_setting_short_term_memory_has_32_frames(tmp_path: Path, evm: SimpleNamespace):
    with Store.open(tmp_path / "memory") as store:
        store.ensure_stream("walk", evm.start_us)
        with store.transaction() as tx:
            for number in range(40):
                at = {"t_us": evm.start_us + number * US, "offset_us": number * US, "role": "event 1" + ", first" * (not number)}
                size = {"width_px": 160, "height_px": 120, "sharpness": 1.0}
                tx.add_moment(NewMoment(stream="walk", seq=number, jpeg=evm.jpeg(9), vectors={}, observations=(), **at, **size))
        with store.view() as opened:
            assert OcrTool().run(ReadPicture(frame_index=32), opened).notes == ("there is no frame 32; short-term memory has 32",)


def test_what_was_read_in_the_last_256_pictures_is_remembered(evm: SimpleNamespace):
    small = evm.jpeg(9)
    read: list[int] = []

    def look(image):
        read.append(len(image))
        return ()

    tool = OcrTool()
    pictures = SimpleNamespace(directory=Path("m"), picture=lambda _: small, observations=lambda _: {})
    for number in [*range(257), *range(1, 257)]:
        tool._seen(SimpleNamespace(id=number), pictures, ("text",), look)
    assert len(read) == 257
    tool._seen(SimpleNamespace(id=0), pictures, ("text",), look)
    assert len(read) == 257 + 1


def test_objects_are_found_with_boxes_and_what_nothing_here_knows_is_said(view: View):
    tool = DetectTool()
    found = tool.run(DetectObjects(labels=("dogs", "unicorn", "bus"), frame_index=1), view)
    assert [(one.asked, one.name, one.confidence) for one in found.found] == [("dogs", "dog", 0.8), ("dogs", "dog", 0.7)]
    assert found.found[1].box.x0 == pytest.approx(0.6)
    assert found.unknown == ("unicorn",)
    assert found.evidence[0].score == pytest.approx(0.8)
    assert [one.name for one in tool.run(DetectObjects(labels=("cup",)), view).found] == ["cup"]  # the last frame
    assert [one.name for one in tool.run(DetectObjects(labels=("bus",), event_id=2), view).found] == ["bus"]


def test_a_picture_is_named_by_one_of_two_ways():
    for wrong in ({}, {"event_id": 1, "frame_index": 1}):
        with pytest.raises(ValueError, match="either"):
            ReadPicture(**wrong)
    with pytest.raises(ValueError, match="either"):
        DetectObjects(labels=("cup",), event_id=1, frame_index=1)


@pytest.mark.parametrize(
    ("asked", "name", "same"),
    [
        ("mug", "coffee mug", True), ("coffee mug", "mug", True), ("mugs", "mug", True), ("glass", "glass", True),
        ("mug", "mug rack", False), ("red mug", "blue mug", False),
        ("bus", "buses", True), ("wine glasses", "glass", True), ("gas", "gases", True), ("", "mug", False),
        ("traffic light", "traffic-light", True),
        ("red cups", "cup", True), ("glass cup", "glass cups", True),
        ("gas", "ga", False), (" mugs ", "mug", True), ("cups red", "cup red", False),
    ],
)  # fmt: skip
def test_labels_and_names_mean_the_same_by_their_last_words(asked: str, name: str, same: bool):
    assert means(asked, name) is same


def test_an_event_is_found_by_its_number(view: View):
    found = event(view, 2)
    assert found is not None
    assert found.caption == "In view: street, bus."
    assert event(view, 99) is None


def test_the_frame_number_and_the_time_stand_at_the_top_left():
    grey = np.full((480, 640, 3), 128, np.uint8)
    import cv2

    plain = bytes(cv2.imencode(".jpg", grey)[1])
    shown = decode(labelled(plain, frame_label(3, 12.46)))
    assert shown.shape == (480, 640, 3)
    corner, rest = shown[:28, :120], shown[60:, 200:]
    assert corner.min() < 40
    assert corner.max() > 200
    assert 120 < rest.min() <= rest.max() < 136
    # Black all round the letters: two pixels above and below, at least three to the left and to the right.
    letters = shown[:40].min(axis=2) > 200
    rows, columns = letters.any(axis=1).nonzero()[0], letters.any(axis=0).nonzero()[0]
    text = ImageFont.load_default(size=480 // 20).getbbox("Frame 3 - 12.5s")
    black = (shown.max(axis=2) < 60)[text[1] + 2 - 1]  # a row of pixels above the letters
    assert int(black.sum()) == 4 + text[2] + 4 + 1
    label = shown[rows[0] - 1 : rows[-1] + 2, : columns[-1] + 4]
    assert label[[0, -1]].max() < 100
    assert label[:, [0, 1, 2, -3, -2, -1]].max() < 100
    assert decode(labelled(plain, "x", side_px=320)).shape == (240, 320, 3)
    assert frame_label(3, 12.46) == "Frame 3 - 12.5s"
    with Image.open(io.BytesIO(labelled(plain, "x"))) as got, io.BytesIO() as usual:
        Image.new("RGB", (8, 8)).save(usual, "JPEG", quality=80)
        assert got.quantization == Image.open(usual).quantization


def test_a_label_has_a_twentieth_of_the_height_but_at_least_10_pixels():
    import cv2

    def label_rows(height: int) -> int:
        shown = decode(labelled(bytes(cv2.imencode(".jpg", np.full((height, 400, 3), 128, np.uint8))[1]), "Frame 3"))
        return int((shown[:, 2, 0] < 60).sum())

    for height, size in ((100, 10), (200, 10), (400, 20)):
        bottom = ImageFont.load_default(size=size).getbbox("Frame 3")[3]
        assert label_rows(height) == bottom + 2 + 2 + 1
    assert event_label(7, 4.0, 31.04) == "Event 7 - 4.0s to 31.0s"
