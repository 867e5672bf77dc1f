"""The confidence with which an inspector ends, and what an inspection is worth."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from edgemem_vam.actions import Adjudicate, Target, VisualInspection
from edgemem_vam.context import inspected_results
from edgemem_vam.look import AdjudicateTool, InspectTool
from edgemem_vam.relevance import FOUND
from edgemem_vam.verdict import split_confidence, weight

from edgemem.config import ModelSettings
from edgemem.errors import ChatError
from edgemem.llm.models import Models
from edgemem.records import US
from edgemem.remember.view import View


@pytest.mark.parametrize(
    ("said", "text", "confidence"),
    [
        ("A red mug.\nConfidence: 0.85", "A red mug.", 0.85),
        ("A red mug.\n**Confidence:** 1.0", "A red mug.", 1.0),
        ("A red mug. confidence = 70%", "A red mug.", 0.7),
        ("No mug.\nConfidence: 0", "No mug.", 0.0),
        ("A mug.\nConfidence: .5.", "A mug.", 0.5),
        ("A red mug.", "A red mug.", None),
        ("Confidence: 7", "Confidence: 7", None),
        ("The sign says Confidence: 0.9 and more.", "The sign says Confidence: 0.9 and more.", None),
    ],
)
def test_the_last_line_may_state_a_confidence(said: str, text: str, confidence: float | None) -> None:
    assert split_confidence(said) == (text, confidence)


def test_a_look_is_worth_what_the_inspector_says() -> None:
    assert (weight(0.8, judged=True), weight(0.0, judged=True), weight(None, judged=True)) == (0.8, 0.0, 0.5)
    assert weight(0.8, judged=False) == FOUND == 0.12, "where no model looked it only counts as found"


def targets(vam: SimpleNamespace, *seconds: int) -> tuple[Target, ...]:
    """Pictures of the walk by their second."""
    numbers = {second: number for number, second in enumerate(sorted(vam.walk), 1)}
    made = []
    for second in seconds:
        t_us = vam.start_us + second * US
        made.append(Target(id=f"m{numbers[second]}", stream="walk", from_us=t_us, to_us=t_us, hint="a hint"))
    return tuple(made)


def test_pictures_carry_the_confidence_of_the_finding_that_saw_them(vam: SimpleNamespace, view: View) -> None:
    chat = vam.Chat([lambda p: "Yes.\nConfidence: 0.9" if p.messages[1].image_ids == ("m2",) else "No.\nConfidence: 0.1"])
    inspected = InspectTool(None, Models(chat)).run(VisualInspection(targets=targets(vam, 20, 40), prompt="a mug?"), view)
    assert {one.id: one.score for one in inspected.evidence} == {"m2": 0.9, "m3": 0.1}
    assert [(finding.text, finding.confidence, finding.prompt) for finding in inspected.findings] == [
        ("Yes.", 0.9, "a mug?"), ("No.", 0.1, "a mug?"),
    ]  # fmt: skip
    assert [one.row.score for one in inspected_results(inspected, "a mug?")] == [0.1, 0.9], "none of them .12"
    plain = InspectTool().run(VisualInspection(targets=targets(vam, 20), prompt="?"), view)
    assert [one.score for one in plain.evidence] == [FOUND]
    assert "red coffee mug" in plain.findings[0].text
    assert (plain.findings[0].shown, inspected.findings[0].shown) == (0, 1)


def verdict(match: bool, confidence: float) -> dict[str, Any]:
    return {"match": match, "confidence": confidence, "observed_event": "seen", "reason": "so"}


def test_verdicts_are_asked_for_together_and_one_that_fails_leaves_the_others(vam: SimpleNamespace, view: View) -> None:
    said = {("m2",): verdict(True, 0.7), ("m3",): ChatError("429"), ("m7",): verdict(False, 0.95)}
    chat = vam.Chat([lambda p: said[p.messages[1].image_ids]])
    judged = AdjudicateTool(None, Models(chat)).run(Adjudicate(targets=targets(vam, 20, 40, 120), event="a mug"), view)
    assert {one.target: (one.match, one.confidence) for one in judged.judgements} == {"m2": (True, 0.7), "m7": (False, 0.95)}
    assert judged.notes == ("1 of 3 candidates could not be judged",)
    assert {one.id: one.score for one in judged.evidence} == {"m2": 0.7, "m7": 0.0}, "sure that it is none proves nothing"


def test_when_every_verdict_fails_nobody_judged(vam: SimpleNamespace, view: View) -> None:
    with pytest.raises(ChatError, match="429"):
        AdjudicateTool(None, Models(vam.Chat([ChatError("429")]))).run(Adjudicate(targets=targets(vam, 20, 40), event="a mug"), view)
    without = AdjudicateTool().run(Adjudicate(targets=targets(vam, 20), event="a mug"), view)
    assert (without.judgements, without.notes) == ((), ("candidates were not judged: no language model is configured",))


def test_a_candidate_without_pictures_is_judged_to_be_none(vam: SimpleNamespace, view: View) -> None:
    empty = Target(id="t0", stream="walk", from_us=vam.start_us + 30 * US, to_us=vam.start_us + 31 * US)
    chat = vam.Chat([verdict(True, 1.0)])
    judged = AdjudicateTool(None, Models(chat)).run(Adjudicate(targets=(empty,), event="a mug"), view)
    assert [(one.match, one.reason) for one in judged.judgements] == [(False, "nothing was kept there")]
    assert chat.asked == []


def test_the_judge_sees_six_pictures_and_the_whole_document(vam: SimpleNamespace, view: View) -> None:
    whole = Target(id="d1", stream="walk", from_us=vam.start_us, to_us=vam.start_us + 300 * US, hint="h" * 2000)
    chat = vam.Chat(["no JSON", verdict(True, 1.0)])
    AdjudicateTool(None, Models(chat, ModelSettings(parallel=1))).run(Adjudicate(targets=(whole,), event="a mug"), view)
    assert len(chat.asked[0].messages[1].images) == 6
    assert "h" * 2000 in chat.asked[0].messages[1].text
    assert len(chat.asked) == 2, "a verdict that cannot be read is repaired like any reply"
