"""The plugin tutorial is correct: its files are written and its commands are run, in order."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from PIL import Image

from edgemem.extend.hookspecs import HookSpecs

README = Path(__file__).parent.parent / "plugins" / "README.md"
NEW_PLUGIN = README.parent.parent / "tools" / "new_plugin.py"
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
        done = subprocess.run(
            ["sh", "-e"], input=text, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        assert (done.returncode != 0) == bool(fails), f"{text}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        ran += 1
    assert ran == 8
    timeline = subprocess.run(
        ["edgemem", "timeline", "--memory", "memory", "--json"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert '"moments":2' in timeline.stdout


def test_a_plugin_imports_from_the_public_contract_alone() -> None:
    """Nothing else of edgemem; a test may use what is there for tests."""
    own = {
        node.module
        for language, title, _, text in BLOCK.findall(README.read_text(encoding="utf-8"))
        if language == "python" and "test_" not in title
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("edgemem")
    }
    assert own == {"edgemem.extend"}


def test_every_hook_is_in_the_table() -> None:
    rows = re.findall(r"^\| (`.*?) \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert {name for name in vars(HookSpecs) if not name.startswith("_")} <= named


def test_the_plugin_that_the_tool_writes_works(tmp_path: Path, home: Path) -> None:
    subprocess.run([sys.executable, str(NEW_PLUGIN), "dusk", "--into", str(tmp_path)], check=True, capture_output=True)
    root = tmp_path / "dusk"
    search = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"EDGEMEM_HOME": str(home), "PYTHONPATH": search}

    def run(*arguments: str) -> str:
        done = subprocess.run([sys.executable, *arguments], cwd=root, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    (tmp_path / "pictures").mkdir()
    for number, brightness in enumerate((200, 2, 120)):
        Image.new("RGB", (320, 240), (brightness,) * 3).save(tmp_path / f"pictures/{number}.png")
    source, memory = str(tmp_path / "pictures"), str(tmp_path / "memory")
    said = run("-m", "edgemem", "ingest", source, "--memory", memory, "--recipe", "dusk", "--plugins-dir", str(root), "--json")
    assert json.loads(said)["dropped"] == {"dusk": 1}
