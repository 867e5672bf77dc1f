"""The objects for scripts have exactly the documented keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from edgemem.extend.testing import T0_US
from edgemem.records import Answer, Evidence, Usage
from edgemem.serve.rendering import answer_json

EVIDENCE = {"id", "channel", "stream", "t0", "t1", "offset_s", "score", "text"}
STATS = {"disk_bytes", "budget_bytes", "moments", "tiers", "segments", "documents", "entities", "relations", "oldest", "newest",
         "foreign_files", "foreign_bytes", "encrypted", "paused"}  # fmt: skip
INGEST = {
    "stream", "frames_seen", "moments_kept", "segments", "documents", "seconds_of_video", "seconds_spent", "disk_bytes", "dropped",
    "interrupted",
}  # fmt: skip


def test_an_answer() -> None:
    evidence = Evidence(id="m1", channel="frame", stream="s", t0_us=T0_US, t1_us=T0_US, offset_us=1500000, score=0.5, text="cup")
    answer = Answer(
        question="where?",
        status="answered",
        answer="there",
        option=None,
        confidence=0.5,
        evidence=(evidence,),
        steps=2,
        usage=Usage(ms=1.0),
    )
    data = json.loads(json.dumps(answer_json(answer)))
    assert set(data) == {"question", "status", "answer", "option", "confidence", "evidence", "alternatives", "unverified", "steps", "usage"}
    assert set(data["usage"]) == {"tokens_in", "tokens_out", "ms"}
    assert data["evidence"] == [
        {
            "id": "m1", "channel": "frame", "stream": "s", "t0": "2026-05-04T08:00:00.000Z", "t1": "2026-05-04T08:00:00.000Z",
            "offset_s": 1.5, "score": 0.5, "text": "cup",
        }
    ]  # fmt: skip


Run = Callable[..., tuple[int, str, str]]


def test_ingest_search_and_stats(run: Run, pictures: Path, recipe: str, tmp_path: Path) -> None:
    memory = str(tmp_path / "m")
    code, out, _ = run("ingest", str(pictures), "--memory", memory, "--recipe", recipe, "--json")
    assert (code, set(json.loads(out))) == (0, INGEST)
    code, out, _ = run("memory", "stats", "--memory", memory, "--json")
    assert (code, set(json.loads(out))) == (0, STATS)
    code, out, _ = run("search", "anything", "--memory", memory, "--json")
    assert (code, set(json.loads(out))) == (0, {"query", "hits"})
    code, out, _ = run("ask", "where did I leave my keys?", "--memory", memory, "--json")
    assert (code, json.loads(out)["evidence"]) == (3, [])


@pytest.mark.parametrize("command", ["ask", "search", "show", "timeline", "ingest", "forget", "engines", "memory"])
def test_help_of_every_command_names_its_options(run: Run, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "Usage: edgemem " + command in out
