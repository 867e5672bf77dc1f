"""Formulas against numbers worked out by hand or by an independent, slower computation; limits against inputs that are larger."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from edgemem_vam import wire
from edgemem_vam.actions import Exchange, HybridSearch, InspectionFinding, ResultRow, Target, VisualInspection
from edgemem_vam.context import RetrievalContext, TurnResult, target_of
from edgemem_vam.conversation import conversation, summarise
from edgemem_vam.dedup import AdaptiveDedup, DedupSettings
from edgemem_vam.events import EventSettings, OtsuEvents
from edgemem_vam.look import AdjudicateTool, InspectTool, evenly, moments_of, notes_of
from edgemem_vam.otsu import bimodal, otsu
from edgemem_vam.payload import PLAIN, passages
from edgemem_vam.relevance import kept, relevance
from edgemem_vam.reply import cited, confidence, from_hits, letters, pick_option
from edgemem_vam.search import best_passage
from edgemem_vam.summaries import SummaryTool
from edgemem_vam.summary_key import key_of, structure_of
from edgemem_vam.wire import Anchor
from edgemem_vam.writer import VamEvent, VamEventSettings

from edgemem.llm.models import Models
from edgemem.records import US, Document, Evidence, Frame, Moment, Observation, Segment
from edgemem.remember.entries import NewDocument, NewSession
from edgemem.remember.results import Spoken
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.operations import SegmentClosed
from edgemem.see.segment import Mark
from edgemem.see.select import Candidate

# Otsu and what is built on it


def slow_otsu(values: list[float]) -> tuple[float, float]:
    """By definition: the split of 64 bins with the largest variance between two classes of bin centres, the middle one of equals."""
    low, width = min(values), (max(values) - min(values)) / 64
    centres = [low + (n + 0.5) * width for n in range(64)]
    binned = [centres[min(63, int((value - low) / width))] for value in values]
    mean, n = sum(binned) / len(binned), len(binned)
    scores = []
    for centre in centres[:-1]:
        lower = [value for value in binned if value <= centre + width / 4]
        upper = [value for value in binned if value > centre + width / 4]
        if not lower or not upper:
            scores.append(-1.0)
            continue
        means = sum(lower) / len(lower), sum(upper) / len(upper)
        scores.append(len(lower) / n * (means[0] - mean) ** 2 + len(upper) / n * (means[1] - mean) ** 2)
    equal = [k for k, score in enumerate(scores) if score >= max(scores) * (1 - 1e-9)]
    best = equal[len(equal) // 2]
    return centres[best], scores[best] / (sum((value - mean) ** 2 for value in binned) / n)


@pytest.mark.parametrize("seed", range(12))
def test_otsu_is_what_the_definition_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = [*rng.normal(0.1, 0.03, 40 + seed), *rng.normal(0.2 + 0.05 * seed, 0.04, 9)]
    assert otsu(values) == pytest.approx(slow_otsu([float(value) for value in values]))


def test_two_values_are_split_in_the_middle_of_64_bins() -> None:
    split, separability = otsu([0.0, 0.0, 0.0, 0.0, 1.0])
    assert split == pytest.approx(31.5 / 64)
    assert separability == pytest.approx(1.0)
    assert otsu([1.0, 1.0 + 1e-13]) == (1.0 + 1e-13, 0.0), "a constant but for rounding"
    assert otsu([1.0, 1.0 + 1e-11])[1] > 0
    assert otsu([0.0, 1e-13]) == (1e-13, 0.0), "beside nothing as well"
    assert otsu([1e6, 1e6 + 1e-7]) == (1e6 + 1e-7, 0.0)


@pytest.mark.parametrize(("n", "least"), [(4, 1.075), (16, 0.9125), (100, 0.815), (256, 0.790625)])
def test_two_modes_need_more_separability_the_fewer_samples_there_are(n: int, least: float) -> None:
    assert least == pytest.approx(0.75 + 0.65 / math.sqrt(n))
    assert not bimodal(least, n)
    assert bimodal(least + 1e-6, n)


def learnt(history: list[float], **settings: Any) -> AdaptiveDedup:
    selector = AdaptiveDedup(DedupSettings(**settings))
    selector._history.extend(history)
    return selector


def test_the_gate_of_deduplication_is_otsus_from_eight_distances_on() -> None:
    seven, eight = [0.01] * 4 + [0.5] * 3, [0.01] * 4 + [0.5] * 4
    assert learnt(seven).threshold() == 0.12
    assert learnt(eight).threshold() == pytest.approx(slow_otsu(eight)[0])
    assert learnt(eight, floor=0.4).threshold() == 0.4
    assert learnt([0.1, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17]).threshold() == 0.12, "one mode teaches nothing"
    assert learnt([], fallback=9.0).threshold() == 2.0, "no distance is larger"
    assert learnt([], fallback=0.001).threshold() == 0.02


def test_only_the_last_256_distances_count() -> None:
    selector = learnt([0.9] * 300 + [0.01] * 256)
    assert selector.threshold() == 0.12
    assert len(msgspec.msgpack.decode(selector.state())["history"]) == 256


def unit(cosine: float) -> Any:
    return np.asarray([cosine, math.sqrt(1 - cosine * cosine)], np.float32)


def candidate(seq: int, cosine: float) -> Candidate:
    picture = np.zeros((36, 64, 3), np.uint8)
    frame = Frame(stream="s", seq=seq, t_us=seq * US, offset_us=seq * US, image=picture)
    return Candidate(frame=frame, vector=unit(cosine), sharpness=50.0, small=picture)


def test_a_frame_at_the_threshold_is_held_back_and_one_beyond_it_is_new() -> None:
    selector = AdaptiveDedup(DedupSettings(fallback=0.25))
    assert [k.candidate.frame.seq for k in selector.observe(candidate(0, 1.0))] == [0]
    assert selector.observe(candidate(1, 0.75)) == [], "1 - cos = 0.25 is not beyond 0.25"
    assert [k.candidate.frame.seq for k in selector.observe(candidate(2, 0.74))] == [1, 2], "the endpoint first, then what is new"
    assert selector.observe(candidate(3, 0.74)) == [], "which is the reference now"


def test_the_threshold_of_events_is_relaxed_from_otsus_towards_the_median() -> None:
    segmenter = OtsuEvents()
    segmenter._history.extend([0.0, 0.0, 0.0, 1.0])
    assert segmenter.threshold() == 0.20, "under five distances"
    segmenter._history.append(0.0)
    assert segmenter.threshold() == pytest.approx(0.6 * 31.5 / 64)
    segmenter._history.extend([0.3] * 6)
    history = [0.0, 0.0, 0.0, 1.0, 0.0] + [0.3] * 6
    split = slow_otsu(history)[0]
    assert segmenter.threshold() == pytest.approx(min(0.3 + 0.6 * (split - 0.3), split))
    low = OtsuEvents()
    low._history.extend([0.9] * 6 + [0.1])
    split = slow_otsu([0.9] * 6 + [0.1])[0]
    assert low.threshold() == pytest.approx(split), "never above Otsu's, though the median is"
    assert OtsuEvents(EventSettings(floor=0.5)).threshold() == 0.5


def marks(*angles_and_seconds: tuple[float, float]) -> list[Mark]:
    made = []
    for n, (angle, second) in enumerate(angles_and_seconds):
        vector = np.asarray([math.cos(angle), math.sin(angle)], np.float32)
        made.append(Mark(moment_id=n + 1, t_us=round(second * US), offset_us=round(second * US), vector=vector))
    return made


def cut_sizes(segmenter: OtsuEvents, stream: list[Mark]) -> list[int]:
    closed = [cut for mark in stream for cut in segmenter.observe(mark)] + segmenter.flush()
    return [len(cut.marks) for cut in closed]


def test_a_boundary_is_a_peak_that_reaches_the_threshold() -> None:
    gate = 0.2  # 1 - cos of 0.6435 rad
    angle = math.acos(1 - gate)
    assert cut_sizes(OtsuEvents(EventSettings(fallback=gate - 1e-6)), marks((0, 0), (angle, 1), (angle, 2))) == [1, 2]
    assert cut_sizes(OtsuEvents(EventSettings(fallback=gate + 1e-3)), marks((0, 0), (angle, 1), (angle, 2))) == [3]
    rising = marks((0, 0), (0.7, 1), (1.6, 2), (1.6, 3))  # distances .235, .378, 0: only the second is a peak
    assert cut_sizes(OtsuEvents(), rising) == [2, 2]
    alike = marks((0, 0), (math.pi / 2, 1), (0, 2), (0, 3))
    assert cut_sizes(OtsuEvents(), alike) == [1, 1, 2], "equal neighbours are both peaks"


def test_an_event_may_last_as_long_as_the_cap_and_no_longer() -> None:
    assert cut_sizes(OtsuEvents(), marks((0, 0), (0, 150), (0, 300))) == [3]
    assert cut_sizes(OtsuEvents(), marks((0, 0), (0, 150), (0, 300.000001))) == [2, 1]
    assert cut_sizes(OtsuEvents(), marks((0, 0), (0, 300))) == [2]
    assert cut_sizes(OtsuEvents(), marks((0, 0), (0, 300.000001))) == [1, 1], "a pause longer than the cap"
    assert cut_sizes(OtsuEvents(EventSettings(floor=0.0)), marks((0, 0), (0.3, 100), (0.3, 200), (0.3, 301))) == [1, 3], (
        "where it changed most"
    )


@pytest.mark.parametrize(
    ("distances", "cut"),
    [((0.4, 0.1, 0.5, 0.1), 2), ((0.4, 0.1, 0.5), 0), ((0.1, 0.2, 0.1, 0.1), 1), ((0.01, 0.02, 0.01, 0.01), 2)],
)
def test_a_long_event_is_cut_at_its_last_peak_whose_right_neighbour_is_known(distances: tuple[float, ...], cut: int) -> None:
    """Else where it changed most, else at the cap of 300 s, which the third mark is within."""
    segmenter = OtsuEvents(EventSettings(fallback=0.3, floor=0.05))
    segmenter._marks = marks((0, 0), (0, 100), (0, 200), (0, 301), (0, 302))[: len(distances) + 1]
    segmenter._distances = list(distances)
    assert segmenter._split() == cut


# Scores and payloads


def test_the_two_numbers_of_a_space_are_mapped_to_the_papers() -> None:
    own = {"search_chance": 0.1, "search_sure": 0.3}
    assert [relevance(cosine, own) for cosine in (0.1, 0.2, 0.3, 0.0)] == pytest.approx([0.05, 0.35, 0.65, 0.0])
    assert relevance(0.2, {"search_chance": 0.3, "search_sure": 0.3}) == 0.2, "a space that states nothing usable is taken as it is"
    assert relevance(1.4, {}) == 1.0


def test_a_search_returns_what_reaches_eight_tenths_of_the_threshold() -> None:
    assert kept([0.8, 0.52, 0.5199], 0.65, 9) == 2
    assert kept([0.5, 0.4], 0.65, 9) == 2, "where nothing does, everything"
    assert kept([0.8, 0.7, 0.6], 0.65, 2) == 2


def test_a_passage_must_beat_the_document_by_its_margin() -> None:
    assert best_passage([("document", "w", 0.5), ("chunk", "c", 0.51)])[2] == "document", "not by more than .01"
    assert best_passage([("document", "w", 0.5), ("chunk", "c", 0.5101)])[2] == "chunk"
    assert best_passage([("document", "w", 0.5), ("field", "f", 0.505)])[2] == "document"
    assert best_passage([("document", "w", 0.5), ("field", "f", 0.5051)])[2] == "field"
    assert best_passage([("document", "w", 0.5), ("chunk", "c", 0.52), ("field", "f", 0.525)])[1:] == ("c", "chunk")
    assert best_passage([("document", "w", 0.5), ("chunk", "c", 0.52), ("field", "f", 0.525)])[0] == 0.525
    assert best_passage([]) == (0.0, "", "document")


def pieces(text: str, kind: str, **fields: str) -> list[str]:
    return [passage.text for passage in passages(text, fields) if passage.kind == kind]


def test_a_payload_has_six_chunks_of_240_letters_and_six_fields() -> None:
    lines = [f"line {n} " + "x" * 300 for n in range(9)]
    chunks = pieces("\n".join(lines), "chunk")
    assert [len(chunk) for chunk in chunks] == [240] * 6
    many = pieces("x " * 200, "field", **{f"field{n}": "value" for n in range(9)})
    assert many == [f"field{n}: value" for n in range(6)]
    two = "A" * 150 + ". " + "B" * 100 + "."
    assert pieces(two, "chunk") == ["A" * 150 + ".", "B" * 100 + "."], "two sentences of more than 240 letters are not one chunk"
    fit = "A" * 120 + ". " + "B" * 117 + "."
    assert pieces(fit + " C.", "chunk") == [fit, "C."], "of 240 they are"
    assert pieces("One. Two. Three.", "chunk") == ["One. Two.", "Three."]
    assert pieces("One. Two.\n\n Three. Four. Five.", "chunk") == ["One. Two.", "Three. Four. Five."], "lines are not cut at sentences"


def test_a_long_document_has_its_lead_and_its_tail_as_fields() -> None:
    assert pieces("a" * 160, "field") == []
    assert pieces("b" + "a" * 159 + "c", "field") == ["lead: b" + "a" * 159, "tail: " + "a" * 159 + "c"]


# What is looked at


def test_a_selection_is_evenly_spread_with_both_ends() -> None:
    assert evenly(range(10), 4) == [0, 3, 6, 9]
    assert evenly(range(7), 3) == [0, 3, 6]
    assert evenly(range(10), 1) == [5]
    assert evenly(range(10), 2) == [0, 9]
    assert evenly(range(3), 3) == [0, 1, 2]


@pytest.fixture
def dense(tmp_path: Path, vam: SimpleNamespace) -> Any:
    """A picture a second for 40 s, each with more labels and lines of text than a note holds."""
    seen = [vam.label(f"thing {n}", 0.9 - n / 50) for n in range(12)] + [vam.text(f"line {n}") for n in range(15)]
    with Store.open(tmp_path / "dense") as store:
        vam.remember(store, {second: tuple(seen) for second in range(40)})
    with View.open(tmp_path / "dense") as view:
        yield view


def second(vam: SimpleNamespace, moment: Moment) -> float:
    return (moment.t_us - vam.start_us) / US


def looked(vam: SimpleNamespace, view: View, name: str, low: float, high: float, limit: int = 16, **bounds: int) -> list[float]:
    target = Target(id=name, stream="walk", from_us=vam.start_us + round(low * US), to_us=vam.start_us + round(high * US))
    action = VisualInspection(targets=(target,), prompt="?", **bounds)
    return [second(vam, moment) for moment in moments_of(view, target, limit, action)]


def test_two_seconds_around_a_picture_and_one_and_a_half_around_a_point_are_looked_at(vam: SimpleNamespace, dense: View) -> None:
    assert looked(vam, dense, "m11", 10, 10) == [8, 9, 10, 11, 12]
    assert looked(vam, dense, "t", 10.5, 10.5) == [9, 10, 11, 12]
    assert looked(vam, dense, "t", 10, 12) == [10, 11, 12], "a stretch with a length is not widened"
    assert looked(vam, dense, "m11", 10, 10, limit=3) == [8, 10, 12]
    assert looked(vam, dense, "m10", 9, 9, limit=2) == [7, 9], "the picture itself is always among them"
    assert looked(vam, dense, "m11", 10, 10, from_us=vam.start_us + 11 * US) == [11, 12], "but never outside the bounds of the action"
    assert looked(vam, dense, "m11", 10, 10, to_us=vam.start_us + 9 * US) == [8, 9]


def test_a_note_holds_the_eight_surest_names_and_twelve_lines(dense: View) -> None:
    [note] = notes_of(dense.moments(limit=1), dense)
    assert note["picture"] == 1
    assert note["seen"] == [f"thing {n}" for n in range(8)]
    assert note["read"] == [f"line {n}" for n in range(12)]


def test_an_inspection_shows_its_share_of_pictures(vam: SimpleNamespace, dense: View) -> None:
    def shown(joint: bool, count: int, max_frames: int) -> list[int]:
        chat = vam.Chat(["x"])
        spans = [(vam.start_us + 10 * n * US, vam.start_us + (10 * n + 9) * US) for n in range(count)]
        wanted = tuple(Target(id=f"d{n}", stream="walk", from_us=low, to_us=high) for n, (low, high) in enumerate(spans))
        InspectTool(None, Models(chat)).run(VisualInspection(targets=wanted, prompt="?", joint=joint, max_frames=max_frames), dense)
        return [len(prompt.messages[1].images) for prompt in chat.asked]

    assert shown(False, 2, 6) == [6, 6]
    assert shown(True, 2, 6) == [6], "three of each"
    assert shown(True, 4, 6) == [4], "one of each: a second would be more than six"
    assert shown(True, 3, 1) == [1]
    assert shown(False, 1, 16) == [10]


# Texts that are cut


def row(name: str, text: str, score: float = 0.5, **fields: Any) -> TurnResult:
    evidence = Evidence(id=name, channel="event", stream="walk", t0_us=0, t1_us=0, offset_us=0, score=score, text="")
    return TurnResult(
        row=ResultRow(id=name, source="event", score=score, text=text, by="words", origin="caption", **fields), evidence=evidence
    )


def test_the_judge_reads_2500_letters_of_a_document() -> None:
    assert len(target_of(row("d1", "x" * 2500)).hint) == 2500
    assert target_of(row("d1", "x" * 2501)).hint == "x" * 2500 + " … (1 characters more)"


def test_what_models_say_is_kept_to_a_length(vam: SimpleNamespace, dense: View) -> None:
    target = Target(id="t", stream="walk", from_us=vam.start_us, to_us=vam.start_us + US)
    found = InspectTool(None, Models(vam.Chat(["y" * 4001]))).run(VisualInspection(targets=(target,), prompt="?"), dense).findings[0]
    assert found.text == "y" * 4000 + " … (1 characters more)"
    verdict = {"match": True, "confidence": 1.0, "observed_event": "o" * 1001, "reason": "r" * 1000}
    from edgemem_vam.actions import Adjudicate

    judged = AdjudicateTool(None, Models(vam.Chat([verdict]))).run(Adjudicate(targets=(target,), event="e"), dense).judgements[0]
    assert (judged.observed_event, judged.reason) == ("o" * 1000 + " … (1 characters more)", "r" * 1000)


def test_documents_are_read_whole_by_the_planner_and_quoted_shortly_to_people(vam: SimpleNamespace, tmp_path: Path) -> None:
    long = "mug " + "word " * 2000
    with Store.open(tmp_path / "long") as store:
        vam.remember(store, {5: (vam.label("street"),)})
        with store.transaction() as tx:
            tx.add_document(
                NewDocument(
                    kind="event", text=long, stream="walk", t0_us=vam.start_us, t1_us=vam.start_us + US, offset_us=0, known_us=vam.start_us,
                    origin="caption",
                )
            )  # fmt: skip
        with store.view() as view:
            found = vam.search_tool().run(HybridSearch(queries=(wire.SubQuery(q="mug"),), sources=("event",)), view)
            best = next(one for one in found.rows if one.text.startswith("mug"))
            assert best.text.startswith(long[:7990])
            assert best.text.endswith(f"({len(long) - 8000} characters more)")
            quoted = next(one.text for one in found.evidence if one.id == best.id)
            assert len(quoted) < 700
            chat = vam.Chat(["A note."])
            from edgemem_vam.actions import WriteSummaries

            minute = WriteSummaries(from_us=vam.start_us, to_us=vam.start_us + 3 * US, granularity_s=60, prompt="p", structure="s")
            SummaryTool(None, Models(chat)).run(minute, view)
            documents = msgspec.json.decode(chat.asked[0].messages[1].text)["event_documents"]
            assert [len(one["document"]) for one in documents] == [2500 + len(" … (7504 characters more)")]
            plain = SummaryTool().run(minute, view).windows[0].text
            assert plain.splitlines()[0] == PLAIN
            assert len(plain.splitlines()[2]) == 400 + len(" … (9603 characters more)")


def test_of_a_conversation_four_exchanges_of_400_letters_are_read(vam: SimpleNamespace, tmp_path: Path) -> None:
    with Store.open(tmp_path / "talk") as store:
        for minute in range(6):
            at_us = vam.start_us + minute * 60 * US
            with store.transaction() as tx:
                tx.add_session(
                    NewSession(
                        question="q" * 500, recipe="vam", planner="vam", asked_us=at_us, as_of_us=at_us, status="answered",
                        answer="a" * 500, confidence=1.0,
                    )
                )  # fmt: skip
        with store.view() as view:
            found = conversation(view, vam.start_us + 301 * US)
    assert [(len(e.question), len(e.answer)) for e in found] == [(400, 400)] * 4
    chat = vam.Chat([{"event_document": "x", "habits": []}])
    summarise([Exchange(asked_us=n, question=f"q{n}", answer="") for n in range(60)], Models(chat))
    turns = msgspec.json.decode(chat.asked[0].messages[1].text)["turns"]
    assert [turn["user"] for turn in turns] == [f"q{n}" for n in range(20, 60)]


def test_a_tag_has_64_letters_and_a_focus_200() -> None:
    assert structure_of(" A|B " + "x" * 80) == "a/b " + "x" * 60
    assert len(key_of(0, 1, 60.00049, "s", "f" * 300).focus) == 200
    assert key_of(0, 1, 60.00049, "s", "f").granularity_s == 60.0


def test_an_event_document_names_eight_pictures_and_quotes_twelve_utterances(vam: SimpleNamespace) -> None:
    moments = tuple(
        Moment(id=n, stream="s", seq=n, t_us=n * US, offset_us=n * US, width_px=8, height_px=8, sharpness=1.0, tier="recent")
        for n in range(1, 21)
    )
    segment = Segment(id=7, stream="s", segmenter="otsu_events", t0_us=US, t1_us=20 * US, offset_us=US, representative_id=20)
    said = tuple(
        Spoken(
            document=Document(
                id=n, kind="utterance", text=f"said {n}", stream="s", t0_us=US, t1_us=US, offset_us=US, known_us=US, origin="asr"
            ),
            speaker=None, confidence=1.0,
        )
        for n in range(15)
    )  # fmt: skip
    seen = tuple(Observation(kind="label", name=f"thing {n}", score=0.9 - n / 100) for n in range(12))
    lines = tuple(Observation(kind="text", name=f"line {n}", score=0.9) for n in range(15))
    closed = SegmentClosed(segment=segment, moments=moments, observations={1: seen + lines}, utterances=said)
    [plain] = VamEvent().write(closed)
    assert plain.text.count("Heard:") == 12  # type: ignore[union-attr]
    chat = vam.Chat(["words"])
    VamEvent(VamEventSettings(describe=True), Models(chat)).write(closed)
    body = msgspec.json.decode(chat.asked[0].messages[1].text)
    assert [note["picture"] for note in body["pictures"]] == list(range(1, 9))
    assert body["pictures"][0]["seen"] == [f"thing {n}" for n in range(8)]
    assert body["pictures"][0]["read"] == [f"line {n}" for n in range(12)]
    assert body["heard"] == [f"said {n}" for n in range(12)]
    assert body["relative_time"] == {"from": "0:01", "seconds": 19.0}


# Answers


def context(*results: TurnResult) -> RetrievalContext:
    made = RetrievalContext(0, 600 * US)
    made.begin(wire.SearchAction(queries=[wire.SubQuery(q="x")])).results = list(results)
    return made


def test_the_confidence_of_an_answer_lies_between_one_and_nineteen_twentieths() -> None:
    assert [confidence(one, context(one)) for one in (row("m1", "", 0.0), row("m1", "", 0.5), row("m1", "", 1.0))] == [0.05, 0.5, 0.95]


def test_an_answer_cites_the_result_and_at_most_four_pictures_of_its_inspections() -> None:
    made = context(row("d1", "x"), row("d2", "x"))
    made.turns[0].findings = [InspectionFinding(targets=("d1",), text="x", moment_ids=tuple(range(1, 9)))]
    made.turns[0].findings.append(InspectionFinding(targets=("d2",), text="x", moment_ids=(30,)))
    assert cited(made.turns[0].results[0], made) == ("d1", "m1", "m2", "m3", "m4")


def test_an_answer_of_the_hits_tells_the_last_finding_and_half_the_confidence() -> None:
    made = context(row("m1", "a mug", 0.8))
    made.turns[0].findings = [InspectionFinding(targets=("m9",), text=text, moment_ids=()) for text in ("first", "z" * 400)]
    reply = from_hits(made, "because", ("a mug", "a cat"))
    assert "first" not in reply.text
    assert 290 < reply.text.count("z") <= 300
    assert (reply.confidence, reply.option) == (0.4, 0)
    assert from_hits(context(row("m1", "a mug", 0.4322)), "because").confidence == 0.2161
    assert from_hits(context(row("m1", "a mug and a cat", 0.8)), "because", ("a mug", "a cat")).option is None


def test_more_than_26_options_have_numbers() -> None:
    named = letters([f"o{n}" for n in range(28)])
    assert (named[0], named[25], named[26], named[27]) == ("A) o0", "Z) o25", "27) o26", "28) o27")
    assert pick_option("27", [f"o{n}" for n in range(28)]) == 26
    assert pick_option("28) o27", [f"o{n}" for n in range(28)]) == 27
    assert pick_option("29", [f"o{n}" for n in range(28)]) is None
    assert pick_option("0", ["x", "y"]) is None


# What a recipe may leave out


def test_defaults_are_the_papers_and_otherwise_those_that_the_pages_tell() -> None:
    from edgemem_vam.roles import PlannerSettings
    from edgemem_vam.search import SearchSettings
    from edgemem_vam.summaries import SummarySettings

    def plain(settings: Any) -> dict[str, Any]:
        return {key: value for key, value in msgspec.structs.asdict(settings).items() if not isinstance(value, msgspec.Struct)}

    assert plain(DedupSettings()) == {"fallback": None, "floor": None, "local_change": 0.0, "local_gap_s": 2.0, "keep_every_s": 0.0}
    assert plain(EventSettings()) == {"fallback": None, "floor": None, "relax": 0.6, "cap_s": 300.0}
    assert plain(SearchSettings()) == {"frame_floor": 0.05, "raw_cosine": False}
    assert plain(SummarySettings()) == {"max_windows": 48}
    assert plain(VamEventSettings()) == {"describe": False}
    assert plain(PlannerSettings()) == {
        "turns": 20, "few_turns": 2, "stagnation": 3, "inspections": 10, "text_tokens": 8000, "line_tokens": 3000, "spare": 0.15,
        "route": True,
    }  # fmt: skip
    query, anchor = wire.SubQuery(q="x"), wire.Anchor(query="x")
    assert (query.top_k, query.inspect_k, query.threshold) == (5, 5, 0.65)
    assert (anchor.top_k, anchor.inspect_k, anchor.threshold, anchor.before_seconds, anchor.after_seconds) == (5, 3, 0.0, 0.0, 0.0)
    assert wire.InspectAction(prompt="x", time_range=wire.TimeRange(min=0)).max_frames == 6


def test_every_record_is_frozen_and_what_people_and_models_write_knows_no_other_keys() -> None:
    import pkgutil
    from importlib import import_module

    import edgemem_vam

    from edgemem.records import Record

    kinds = set()
    for module in pkgutil.walk_packages(edgemem_vam.__path__, "edgemem_vam."):
        kinds |= {kind for kind in vars(import_module(module.name)).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)}
    own = {kind for kind in kinds if kind.__module__.startswith("edgemem_vam")}
    assert len(own) > 40
    loose = {kind.__name__ for kind in own if not kind.__struct_config__.frozen}
    assert loose == {"_State"}, "what survives a restart is filled in place"
    written = {kind for kind in own if not issubclass(kind, Record) and kind.__name__ not in {"_State", "_Rest"}}
    assert all(kind.__struct_config__.forbid_unknown_fields for kind in written), written


def test_eight_queries_are_searched_and_a_ninth_is_said_to_be_left_out(vam: SimpleNamespace, view: View) -> None:
    def notes(count: int) -> tuple[str, ...]:
        queries = tuple(wire.SubQuery(q=f"thing {n}") for n in range(count))
        found: tuple[str, ...] = vam.search_tool().run(HybridSearch(queries=queries, sources=("frame",)), view).notes
        return found

    assert not any("queries" in note for note in notes(8))
    assert "only the first 8 of 9 queries were searched" in notes(9)


def test_words_are_alike_in_their_first_five_letters() -> None:
    from edgemem_vam.search import word_share

    assert word_share("motorbikes", "motorways") == 1.0
    assert word_share("motorbikes", "motives") == 0.0
    assert word_share("red motorbikes helmet", "a red car") == pytest.approx(1 / 3)


def test_a_repeated_candidate_keeps_its_best_score_and_its_first_place() -> None:
    made = context(row("m1", "a", 0.4), row("m1", "b", 0.4), row("m2", "c", 0.9))
    assert [(one.row.id, one.row.text) for one in made.results()] == [("m2", "c"), ("m1", "a")]
    made.begin(wire.SearchAction(queries=[wire.SubQuery(q="x")])).results = [row("m1", "d", 0.5)]
    assert [one.row.text for one in made.results()] == ["c", "d"]
    assert made.found
    assert not context(row("m1", "a", 0.1199)).found


def test_times_of_14_digits_are_dates_and_nothing_is_beyond_what_can_be_compared() -> None:
    made = RetrievalContext(0, 1)
    assert made.to_us(9_999_999_999_999.0, "absolute") == round(1e12 * US), "13 digits are seconds"
    assert made.to_us(20_260_504_100_010.0, "absolute") == 1_777_888_810 * US
    assert made.to_us(-5e12, "absolute") == -round(1e12 * US)
    assert made.seconds(1_260_000) == 1.3
    assert made.seconds(-1_260_000) == -1.3


@pytest.mark.parametrize(
    ("said", "options", "index"),
    [
        ("3", ("2", "3", "4", "5"), 1), ("3:15 pm", ("3:15 pm", "4:00 pm", "5:00 pm"), 0), ("3", ("3", "2", "1"), 0),
        ("4 pm", ("3 pm", "4 pm"), 1), ("2", ("red", "blue"), 1), ("2.", ("red", "blue"), 1), ("(2)", ("red", "blue"), 1),
        ("2: blue", ("red", "blue"), 1), ("option 2", ("2 dogs", "3 dogs"), 1), ("2", ("2 dogs", "3 dogs"), None),
        ("2 dogs", ("3", "2 dogs"), 1),
        ("2 of them", ("red", "blue"), None),
    ],
)  # fmt: skip
def test_a_number_is_that_of_an_option_only_where_no_option_says_it(said: str, options: tuple[str, ...], index: int | None) -> None:
    assert pick_option(said, options) == index


def test_of_wordings_of_one_anchor_the_first_stays_where_it_is() -> None:
    assert Anchor(query="The Bus", query_variants=["a tram", "the bus", "A Tram"]).queries == ("The Bus", "a tram")
