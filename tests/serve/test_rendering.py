"""The JSON objects that scripts depend on: keys, rounding and limits."""

from __future__ import annotations

from edgemem.extend.testing import T0_US
from edgemem.records import US, Evidence, Moment, Observation
from edgemem.remember.forgetting.selection import Receipt
from edgemem.serve.rendering import evidence_json, ingests_json, named_json, receipt_json, shown_json
from edgemem.serve.results import Ingested, Shown

MOMENT = Moment(
    id=7, stream="door", seq=0, t_us=T0_US, offset_us=1_500_000, width_px=8, height_px=8, sharpness=1.0, tier="recent"
)  # fmt: skip


def test_evidence_is_rounded_to_what_it_is_worth() -> None:
    evidence = Evidence(id="m7", channel="frame", stream="door", t0_us=T0_US, t1_us=T0_US + US, offset_us=1_234_567, score=2 / 3, text="x")
    plain = evidence_json(evidence)
    assert (plain["score"], plain["offset_s"], plain["t1"]) == (0.6667, 1.235, "2026-05-04T08:00:01.000Z")


def test_of_a_moment_the_twelve_surest_things_are_listed_and_all_that_was_read() -> None:
    things = [
        Observation(kind="object", name=f"thing{number}", score=number / 100, colour="red" if number == 14 else "") for number in range(15)
    ]
    signs = [Observation(kind="text", name=name, score=0.1) for name in ("EXIT", "GATE 7")]
    plain = shown_json(Shown(id="m7", item=MOMENT, moment=MOMENT, observations=(*signs, *things)))
    assert list(plain) == ["id", "kind", "stream", "t0", "tier", "offset_s", "seen", "read"]
    assert plain["seen"][:2] == ["red thing14 0.14", "thing13 0.13"]
    assert (len(plain["seen"]), plain["seen"][-1]) == (12, "thing3 0.03")
    assert plain["read"] == ["EXIT", "GATE 7"]
    assert plain["offset_s"] == 1.5


def test_what_was_not_forgotten_has_no_receipt() -> None:
    receipt = Receipt(id="", moments=1, documents=2, relations=3, bytes=4)
    assert receipt_json(receipt, dry_run=True) == {
        "receipt": None, "moments": 1, "documents": 2, "relations": 3, "bytes": 4, "dry_run": True,
    }  # fmt: skip


def test_sources_that_failed_are_counted() -> None:
    assert ingests_json([Ingested(source="a", error="gone")]) == {"sources": [{"source": "a", "error": "gone"}], "failed": 1}


def test_a_voice_without_a_name_has_null() -> None:
    assert named_json(3, "", 9) == {"speaker": 3, "name": None, "utterances": 9}
