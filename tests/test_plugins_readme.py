"""The plugin tutorial is true: its files are written and its commands are run, in order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "plugins" / "README.md"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?( fails)?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def test_every_block_of_the_tutorial_runs(tmp_path: Path, home: Path) -> None:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "EDGEMEM_HOME": str(home)}
    ran = 0
    for language, title, fails, text in BLOCK.findall(README.read_text(encoding="utf-8")):
        if title:
            (tmp_path / title).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / title).write_text(text)
            continue
        assert language == "sh"
        done = subprocess.run(["sh", "-e"], input=text, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == bool(fails), f"{text}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        ran += 1
    assert ran == 5
    timeline = subprocess.run(
        ["edgemem", "timeline", "--memory", "memory", "--json"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert '"moments":2' in timeline.stdout
