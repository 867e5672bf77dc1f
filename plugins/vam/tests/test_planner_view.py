"""What the planner reads: whole texts within a budget, one line for each of the others, verdicts and findings as data."""

from __future__ import annotations

from typing import Any

import pytest
from edgemem_vam import wire
from edgemem_vam.actions import InspectionFinding, ResultRow
from edgemem_vam.anchored import AnchorCandidate, AnchorOutcome, Occurrence, Span
from edgemem_vam.context import RetrievalContext, TurnResult
from edgemem_vam.planner_view import LINE_CHARS, render, tokens
from edgemem_vam.shorten import shortened

from edgemem.clock import from_iso
from edgemem.records import US, Evidence

START_US = from_iso("2026-05-04T10:00:00Z")


def result(name: str, second: float, text: str, score: float, **fields: Any) -> TurnResult:
    t_us = START_US + round(second * US)
    evidence = Evidence(id=name, channel="event", stream="walk", t0_us=t_us, t1_us=t_us + 4 * US, offset_us=0, score=score, text="")
    row = ResultRow(id=name, source="event", score=score, text=text, by="document", origin="caption", query="a query", **fields)
    return TurnResult(row=row, evidence=evidence)


def context(*turns: list[TurnResult]) -> RetrievalContext:
    made = RetrievalContext(START_US, START_US + 600 * US)
    for results in turns:
        made.begin(wire.SearchAction(queries=[wire.SubQuery(q="x")])).results = results
    return made


def test_a_text_is_as_many_tokens_as_a_third_of_its_letters_and_one() -> None:
    assert [tokens(text) for text in ("", "ab", "abc", "a" * 300)] == [1, 1, 2, 101]


def test_the_surest_texts_are_whole_as_far_as_the_budget_goes_and_the_others_are_lines() -> None:
    long = "word " * 60  # 300 letters: 101 tokens
    made = context([result("d1", 10, long, 0.3), result("d2", 20, long, 0.9), result("d3", 30, long, 0.6)])
    rows = {row["result_idx"]: row for row in render(made, 202, 700)[0]["results"]}
    assert [key for key in ("text", "line") if key in rows[0]] == ["line"]
    assert [rows[index]["text"] for index in (1, 2)] == [long, long], "0.9 and 0.6 fit exactly"
    assert rows[0]["line"].startswith("word word")
    assert len(rows[0]["line"]) < LINE_CHARS + 30
    assert "characters more" in rows[0]["line"], "what was cut is said"
    assert (rows[0]["start"], rows[0]["query"], rows[0]["clock"]) == (10.0, "a query", "2026-05-04 10:00:10+00:00")
    assert rows[1]["end"] == 24.0
    rows = {row["result_idx"]: row for row in render(made, 201, 700)[0]["results"]}
    assert [("text" in rows[index]) for index in (0, 1, 2)] == [False, True, False], "one token less"


def test_a_score_has_three_digits() -> None:
    assert render(context([result("d1", 10, "text", 0.12345)]), 100, 100)[0]["results"][0]["score"] == 0.123


def test_what_the_planner_did_is_told_without_what_it_thought() -> None:
    made = context()
    made.begin(wire.SearchAction(thought="a long thought", queries=[wire.SubQuery(q="x")])).results = []
    assert render(made, 100, 100)[0]["action"] == {"action": "search", "queries": [{"q": "x"}]}


def test_lines_have_a_budget_too_and_what_is_left_out_is_counted() -> None:
    made = context([result(f"d{n}", n, "x" * 900, n / 10) for n in range(9)])
    turn = render(made, 0, 210)[0]
    assert [row["result_idx"] for row in turn["results"]] == [6, 7, 8], "three lines of 70 tokens, for the surest"
    assert turn["more_results"] == 6
    assert "results" not in render(made, 0, 69)[0]


def test_a_text_that_came_up_again_is_whole_once_in_the_newest_turn() -> None:
    made = context([result("d1", 10, "a short text", 0.5)], [result("d1", 10, "a short text", 0.5)])
    first, second = render(made, 1000, 1000)
    assert second["results"][0]["text"] == "a short text"
    assert first["results"][0]["line"] == "a short text"


def test_the_passage_that_fitted_is_what_a_line_shows() -> None:
    made = context([result("d1", 10, "beginning " * 50, 0.5, passage="the red mug")])
    assert render(made, 0, 1000)[0]["results"][0]["line"] == "the red mug"


def test_findings_come_before_texts_the_newest_first() -> None:
    made = context([result("d1", 10, "y" * 300, 0.9)], [result("d2", 20, "y" * 300, 0.9)])
    for turn, letter in zip(made.turns, "ab", strict=True):
        turn.findings = [InspectionFinding(targets=(turn.results[0].row.id,), text=letter * 300, moment_ids=(1,), confidence=0.7)]
    first, second = render(made, 101, 1000)
    assert second["findings"] == [{"result_idx": [0], "finding": "b" * 300, "confidence": 0.7}]
    assert first["findings"][0]["finding"] == shortened("a" * 300, LINE_CHARS)
    assert "text" not in second["results"][0]


def test_what_the_inspector_said_of_a_result_goes_before_its_score() -> None:
    made = context([result("d1", 10, "one", 0.9), result("d2", 20, "two", 0.2)])
    made.turns[0].findings = [
        InspectionFinding(targets=("d1",), text="no", moment_ids=(1,), confidence=0.1),
        InspectionFinding(targets=("d2",), text="yes", moment_ids=(2,), confidence=0.8),
        InspectionFinding(targets=("d2",), text="said nothing of it", moment_ids=(2,)),
    ]
    assert [made.confidence(one) for one in made.turns[0].results] == [0.1, 0.8]
    findings = sum(tokens(finding.text) for finding in made.turns[0].findings)
    shown = render(made, findings + 2, 1000)[0]["results"]
    assert ["text" in row for row in shown] == [False, True]


def test_verdicts_and_the_resolved_stretch_are_data() -> None:
    made = context([])
    seen = {"t0_us": START_US + 80 * US, "t1_us": START_US + 82 * US}
    judged = AnchorCandidate(**seen, judged=True, match=True, confidence=0.8, observed_event="a door opens", reason="the handle moves")
    unjudged = AnchorCandidate(t0_us=START_US + 140 * US, t1_us=START_US + 140 * US, judged=False)
    at = Occurrence(**seen, score=0.5, confidence=0.8)
    made.turns[0].anchors = [AnchorOutcome(role="anchor", query="door", candidates=(judged, unjudged), at=at)]
    made.turns[0].resolved = Span(from_us=START_US + 50 * US, to_us=None)
    turn = render(made, 1000, 1000)[0]
    assert turn["resolved_time_range"] == {"min": 50.0}
    assert turn["anchors"] == [
        {
            "role": "anchor", "query": "door", "resolved": {"start": 80.0, "end": 82.0},
            "candidates": [
                {
                    "start": 80.0, "end": 82.0, "judged": True, "match": True, "confidence": 0.8, "observed_event": "a door opens",
                    "reason": "the handle moves",
                },
                {"start": 140.0, "end": 140.0, "judged": False},
            ],
        }
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "limit", "expected"), [("abc", 3, "abc"), ("abcd", 3, "abc … (1 characters more)"), ("", 0, "")])
def test_a_cut_is_said(text: str, limit: int, expected: str) -> None:
    assert shortened(text, limit) == expected
