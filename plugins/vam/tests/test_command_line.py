"""`edgemem ask --recipe vam --planner vam` against a server over HTTP, with engines that really see and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from edgemem_openai.testing import ScriptedCall, ScriptedReply, ScriptedServer

from edgemem.cli.main import main
from edgemem.infer.engines import Engines

pytest.importorskip("edgemem_openai")


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    capsys.readouterr()
    code = 0
    try:
        main(list(args))
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else 1
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture(scope="module")
def memory(engines: Engines, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two signs, one after the other, seen through the recipe `vam`."""
    assert not engines.missing("read_text")
    folder = tmp_path_factory.mktemp("vam")
    pictures = folder / "pictures"
    pictures.mkdir()
    rng = np.random.default_rng(0)
    for number, (word, colour) in enumerate((("BAKERY", (20, 20, 60)), ("MARKET HALL", (250, 210, 170)))):
        for copy in range(2):
            picture = np.full((480, 640, 3), colour, np.uint8)
            cv2.rectangle(picture, (60, 140), (580, 330), (255, 255, 255), -1)
            cv2.putText(picture, word, (80, 260), cv2.FONT_HERSHEY_SIMPLEX, 2.2, (0, 0, 0), 8)
            noisy = np.clip(picture + rng.normal(0, 6, picture.shape), 0, 255).astype(np.uint8)
            cv2.imwrite(str(pictures / f"{number}{copy}.jpg"), noisy)
    with pytest.raises(SystemExit) as left:
        main(["ingest", str(pictures), "--memory", str(folder / "memory"), "--recipe", "vam", "--start", "2026-05-04T10:00:00Z", "--json"])
    assert left.value.code in (0, None)
    return folder / "memory"


def planner(asked: ScriptedCall) -> Any:
    """A model that searches for the sign, looks at the best hit and answers with what the inspector read."""
    task = asked.messages[0][1].splitlines()[0]
    if task == "# Router":
        return {"type": "tool", "name": "retrieve", "args": {"question": "sign of the market"}}
    if task == "# Inspector":
        return f"A white sign that reads MARKET HALL; I was shown {len(asked.images)} pictures."
    body = json.loads(asked.messages[1][1])
    if not body["context"]:
        return {"action": "search", "queries": [{"q": "MARKET HALL", "inspect_k": 1}]}
    return {
        "action": "answer",
        "response": f"MARKET HALL. {body['context'][0]['findings'][0]['finding']}",
        "best_ref": {"turn_idx": 1, "result_idx": 0},
    }


def test_a_question_is_answered_through_a_server_with_evidence_that_can_be_shown(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedServer(planner) as server:
        code, out, err = run(
            capsys, "ask", "when did I see the sign MARKET HALL?", "--memory", str(memory), "--recipe", "vam", "--planner", "vam", "--json",
            "--set", f"openai.base_url={server.base_url}", "--set", "openai.model=scripted", "--set", "openai.vision=true",
        )  # fmt: skip
    said = json.loads(out)
    assert code == 0, err
    assert said["status"] == "answered"
    assert said["answer"].startswith("MARKET HALL")
    assert said["usage"]["tokens_in"] > 0
    assert "MARKET HALL" in said["evidence"][0]["text"]
    assert said["answer"].endswith("pictures.")
    assert "shown 0" not in said["answer"]
    code, out, _ = run(capsys, "show", said["evidence"][0]["id"], "--memory", str(memory), "--out", str(tmp_path / "proof.jpg"))
    assert code == 0
    assert cv2.imread(str(tmp_path / "proof.jpg")) is not None


def test_steps_are_printed_as_they_happen(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedServer(planner) as server:
        code, out, err = run(
            capsys, "ask", "when did I see the sign MARKET HALL?", "--memory", str(memory), "--recipe", "vam", "--planner", "vam",
            "--steps", "--set", f"openai.base_url={server.base_url}", "--set", "openai.model=scripted",
        )  # fmt: skip
    assert code == 0, err
    steps = [line for line in err.splitlines() if line[:2] in {"1.", "2.", "3."}]
    assert [line.split()[1] for line in steps] == ["survey", "hybrid_search", "visual_inspection"]
    assert "MARKET HALL" in out


def test_pictures_are_found_by_the_looks_of_one_that_was_found(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def alike(asked: ScriptedCall) -> Any:
        if asked.messages[0][1].startswith("# Router"):
            return {"type": "tool", "name": "retrieve", "args": {"question": "sign"}}
        turns = json.loads(asked.messages[1][1])["context"]
        if len(turns) == 2:
            return {"action": "answer", "response": "Another one.", "best_ref": {"turn_idx": 2, "result_idx": 0}}
        search = {"action": "search", "queries": [{"q": "MARKET HALL", "inspect_k": 0}], "sources": ["frame"]}
        return {**search, "visual_ref": {"turn_idx": 1, "result_idx": 0}} if turns else search

    with ScriptedServer(alike) as server:
        code, out, err = run(
            capsys, "ask", "when did I see the sign?", "--memory", str(memory), "--recipe", "vam", "--planner", "vam", "--json",
            "--set", f"openai.base_url={server.base_url}",
        )  # fmt: skip
    assert code == 0, err
    turns = json.loads(server.asked[-1].messages[1][1])["context"]
    assert turns[1]["results"], turns[1]
    assert json.loads(out)["evidence"][0]["channel"] == "frame"


def test_with_the_server_gone_the_local_planner_answers_and_says_so(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedServer([ScriptedReply.failing(500)]) as server:
        gone = server.base_url
    code, out, err = run(
        capsys, "ask", "when did I see the sign MARKET HALL?", "--memory", str(memory), "--recipe", "vam", "--planner", "vam", "--json",
        "--set", f"openai.base_url={gone}", "--set", "openai.model=scripted", "--set", "openai.retries=0",
    )  # fmt: skip
    assert code == 0, err
    assert json.loads(out)["evidence"]
    assert "the local planner answered" in err


def test_the_recipe_stays_usable_without_any_model(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "ask", "when did I see the sign MARKET HALL?", "--memory", str(memory), "--recipe", "vam", "--json")
    assert code == 0
    assert json.loads(out)["evidence"]


def test_documents_of_the_recipe_are_found_by_meaning(memory: Path, engines: Engines) -> None:
    from edgemem_vam.actions import HybridSearch
    from edgemem_vam.search import HybridSearchTool
    from edgemem_vam.wire import SubQuery

    from edgemem.remember.view import View

    with View.open(memory) as view:
        hits = HybridSearchTool(None, engines).run(
            HybridSearch(queries=(SubQuery(q="a place that sells bread"),), sources=("event",)), view
        )
        assert hits.rows, "passages were embedded when the events were written"
        assert {row.by for row in hits.rows} & {"document", "chunk", "field"}
        assert not any("words alone" in note for note in hits.notes)
