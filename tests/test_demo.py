"""The demo works: the film is remembered, the five questions get right answers, and each has its picture."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from edgemem.infer.engines import Engines


@pytest.mark.slow
def test_the_demo_answers_from_what_it_saw(engines: Engines, weights_home: Path, tmp_path: Path) -> None:
    assert engines.has("embed_joint")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"EDGEMEM_HOME": str(weights_home), "PATH": path}
    done = subprocess.run(
        ["edgemem", "demo", "--json", "--out", str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    coffee, sign, first, cats, elephant = result["answers"]
    scenes = "vtest" if "left out" not in done.stderr else "short"
    assert coffee["status"] == "answered"
    assert coffee["evidence"][0]["offset_s"] > (115 if scenes == "vtest" else 75)
    assert "214" in sign["answer"]
    assert (first["status"], first["option"]) == ("answered", 2)
    assert re.search(r"\b(2|two|twice)\b", cats["answer"], re.IGNORECASE)
    assert elephant["status"] == "abstained"
    for answer in (coffee, sign, first, cats):
        with Image.open(answer["picture"]) as picture:
            assert picture.size == (960, 540)
    with Image.open(result["sheet"]) as sheet:
        assert sheet.width == 1500
        assert len(sheet.convert("RGB").resize((64, 64)).getcolors(4096) or []) > 500
