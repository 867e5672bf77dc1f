"""A service that uses only the public contract keeps a live timeline beside a real daemon."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import pytest

from edgemem.events import EntityNamed, SegmentStored, UtteranceHeard
from edgemem.extend.environment import Environment
from edgemem.extend.testing import SyntheticCamera, load_file
from edgemem.extend.testing.running import FakeAgent, check_service, example_events
from edgemem.isolation import run_thread
from edgemem.records import US, Entity, Segment, Utterance

PLUGIN = Path(__file__).parent / "live_timeline.py"
PROGRAM = (sys.executable, "-m", "edgemem")
PUBLIC = {"edgemem.extend"}
RECIPE = "rate_fps = 5.0\n[segment]\nuse = 'fixed_window'\nseconds = 2.0\n"


def wait_until(what: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def page(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text())  # type: ignore[no-any-return]


@pytest.fixture
def make(tmp_path: Path) -> Callable[[], Any]:
    module = load_file(PLUGIN)
    (component,) = module.register_services()
    return lambda: component.factory(module.TimelineSettings(file=str(tmp_path / "timeline.json")), None)


def test_it_imports_nothing_but_the_contract() -> None:
    tree = ast.parse(PLUGIN.read_text())
    used = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("edgemem")}
    assert used <= PUBLIC
    assert all(importlib.util.find_spec(name) for name in PUBLIC)


def test_it_keeps_the_protocol(make: Callable[[], Any]) -> None:
    check_service(make, "service live_timeline")


def test_it_orders_what_happened_and_gives_voices_their_names(make: Callable[[], Any], tmp_path: Path) -> None:
    agent, service, file = FakeAgent(), make(), tmp_path / "timeline.json"
    thread = run_thread("timeline", lambda: service.start(agent), lambda error: pytest.fail(str(error)))
    wait_until(lambda: agent.feed.subscribers)
    agent.feed.publish(
        UtteranceHeard(utterance=Utterance(stream="door", seq=0, t_us=9 * US, end_us=9 * US, text="hi", speaker="speaker 1"))
    )
    agent.feed.publish(SegmentStored(segment=Segment(id=1, stream="door", segmenter="x", t0_us=0, t1_us=8 * US, offset_us=0)))
    agent.feed.publish(EntityNamed(entity=Entity(id=1, kind="person", name="Tomas"), before="speaker 1", known_us=0))
    agent.feed.publish(example_events()[-1])
    agent.feed.close()
    service.stop()
    thread.join(10.0)
    assert [(entry["kind"], entry["text"], entry["speaker"]) for entry in page(file)["entries"]] == [
        ("segment", "8 s", ""),
        ("utterance", "hi", "Tomas"),
    ]
    assert page(file)["blind"] == {"door": "the camera is gone"}


@pytest.fixture
def daemon(tmp_path: Path, home: Path) -> Iterator[subprocess.Popen[str]]:
    assert home.parent == tmp_path
    folder, plugins = tmp_path / "walk", tmp_path / "plugins"
    folder.mkdir()
    plugins.mkdir()
    (plugins / "live_timeline.py").write_text(PLUGIN.read_text())
    for frame in SyntheticCamera(12.0, rate_fps=5.0).frames():
        cv2.imwrite(str(folder / f"{frame.seq:04}.jpg"), frame.image)
    (tmp_path / "plain.toml").write_text(RECIPE)
    (tmp_path / "edgemem.toml").write_text(
        f'recipe = "{tmp_path / "plain.toml"}"\nplugins_dirs = ["{plugins}"]\n'
        f'[run]\nmemory = "{tmp_path / "memory"}"\n'
        f'[[run.services]]\nuse = "live_timeline"\nfile = "{tmp_path / "timeline.json"}"\n'
        f'[[run.sources]]\nsource = "{folder}"\nstream = "walk"\n'
        f'[[run.sources]]\nsource = "{tmp_path / "later"}"\nstream = "later"\n'
    )
    with subprocess.Popen([*PROGRAM, "run", "--config", "edgemem.toml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_beside_a_daemon_it_has_every_segment_and_question_and_what_is_blind(daemon: subprocess.Popen[str], tmp_path: Path) -> None:
    file = tmp_path / "timeline.json"
    wait_until(lambda: file.exists() and page(file)["blind"])
    assert "no such file" in page(file)["blind"]["later"]
    asked = subprocess.run(
        [*PROGRAM, "ask", "Where is my cup?", "--memory", "memory", "--config", "edgemem.toml"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
    )
    assert asked.returncode == 3
    memory = Environment.load(tmp_path / "edgemem.toml")
    assert list(memory.services()) == ["live_timeline"]
    wait_until(lambda: sum(entry["kind"] == "segment" for entry in page(file)["entries"]) >= 5)
    daemon.terminate()
    assert daemon.wait(30.0) == 0
    listed = subprocess.run(
        [*PROGRAM, "timeline", "--memory", "memory", "--json"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    last = page(file)
    assert sum(entry["kind"] == "segment" for entry in last["entries"]) == len(json.loads(listed.stdout)["events"])
    assert [entry["text"].startswith("Where is my cup?") for entry in last["entries"] if entry["kind"] == "question"] == [True]
    assert last["lost"] == 0
