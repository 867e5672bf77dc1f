"""Opening evidence of every kind: utterances and relations are shown with the moment of that time."""

from __future__ import annotations

import json

import numpy as np
import pytest

from edgemem.records import US, Observation, Quote
from edgemem.remember.entries import NewDocument, NewEntity, NewMoment, NewRelation, NewSegment
from edgemem.remember.store import Store

T0_US = 1_777_881_600 * US


@pytest.fixture
def talk(tmp_path, home):
    """Ten pictures a second apart, something said in the fourth second, and something said ten minutes later."""
    directory = tmp_path / "talk"
    assert home.parent == tmp_path
    with Store.open(directory) as store, store.transaction() as tx:
        moments = [
            tx.add_moment(
                NewMoment(
                    stream="a", seq=i, t_us=T0_US + i * US, offset_us=i * US, width_px=8, height_px=8, sharpness=1.0,
                    jpeg=np.random.default_rng(i).bytes(500), vectors={}, observations=(Observation("label", f"thing {i}", 0.9),),
                )
            )
            for i in range(10)
        ]  # fmt: skip
        span = {"stream": "a", "t0_us": T0_US, "t1_us": T0_US + 9 * US, "offset_us": 0}
        window = tx.add_segment(NewSegment(segmenter="fixed_window", moment_ids=tuple(moments), representative_id=moments[5], **span))
        written = NewDocument(kind="fused", text="Anna talks of the key.", known_us=T0_US, origin="document", segment_id=window, **span)
        tx.add_document(written)
        anna, key = (
            tx.add_entity(NewEntity(kind=kind, name=name, known_us=T0_US)) for kind, name in (("person", "Anna"), ("object", "key"))
        )
        for second in (4, 600):
            t_us = T0_US + second * US
            span = {"stream": "a", "t0_us": t_us, "t1_us": t_us + US // 2, "known_us": t_us}
            text = f"the key is here at {second}"
            said = tx.add_document(NewDocument(kind="utterance", text=text, offset_us=second * US, origin="asr", speaker_id=anna, **span))
            quotes = (Quote(text=text, origin="asr", document_id=said),)
            tx.add_relation(NewRelation(type="MENTIONS", source_id=anna, target_id=key, quotes=quotes, **span))
    return directory


def test_an_utterance_is_shown_with_its_speaker_and_what_was_seen_meanwhile(run, talk, tmp_path):
    out = tmp_path / "said.jpg"
    code, told, err = run("show", "d2", "--memory", talk, "--json", "--out", out)
    assert code == 0, err
    facts = json.loads(told)
    assert (facts["kind"], facts["speaker"], facts["text"]) == ("utterance", "Anna", "the key is here at 4")
    assert facts["seen"] == ["thing 4 0.90"]
    assert out.read_bytes() == np.random.default_rng(4).bytes(500)


def test_a_relation_opens_with_its_quotes(run, talk, tmp_path):
    code, told, err = run("show", "r1", "--memory", talk, "--json", "--out", tmp_path / "r.jpg")
    assert code == 0, err
    facts = json.loads(told)
    assert (facts["source"], facts["type"], facts["target"]) == ("Anna", "MENTIONS", "key")
    assert facts["quotes"] == ['"the key is here at 4" (d2)']
    assert facts["seen"] == ["thing 4 0.90"]


def test_what_was_said_when_nothing_was_seen_has_no_picture(run, talk, tmp_path):
    for evidence in ("d3", "r2"):
        code, told, _ = run("show", evidence, "--memory", talk, "--out", tmp_path / "none.jpg")
        assert code == 0
        assert "there is no picture" in told
        assert "the key is here at 600" in told
    assert not (tmp_path / "none.jpg").exists()


def test_a_picture_that_has_faded_leaves_what_was_seen(run, talk, tmp_path):
    with Store.open(talk) as store, store.transaction() as tx:
        tx.stub_moment(5)
    code, told, err = run("show", "m5", "--memory", talk, "--out", tmp_path / "none.jpg")
    assert code == 0, err
    assert "thing 4 0.90" in told
    assert "faded" in told


def test_no_such_evidence_is_one_line(run, talk):
    for evidence, says in (("r99", "has no r99"), ("x1", "not an evidence id"), ("r", "not an evidence id")):
        code, _, err = run("show", evidence, "--memory", talk)
        assert (code, err.count("\n")) == (2, 1)
        assert says in err


def test_the_timeline_and_a_segment_tell_what_a_caption_says(run, talk, tmp_path):
    assert "Anna talks of the key." in run("timeline", "--memory", talk)[1]
    assert "Anna talks of the key." in run("show", "s1", "--memory", talk, "--out", tmp_path / "s.jpg")[1]
