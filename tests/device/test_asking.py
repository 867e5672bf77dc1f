"""Asking an agent: exactly the same answer as without one, whatever happens to the agent, and while it sees."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from daemons import PROGRAM, SIGNS, Daemon, Start, remember_signs, wait_until

from edgemem.cli.main import main
from edgemem.clock import from_iso
from edgemem.config import home_dir, load
from edgemem.extend.environment import digest
from edgemem.remember.view import View
from edgemem.serve.client import call
from edgemem.serve.messages import SearchReply, SearchRequest

Pictures = Callable[..., Path]

SLOW_PLANNER = '''
"""A planner that takes its time: it thinks while a file is there."""
import os, time
from pathlib import Path
from edgemem.answer.local import LocalPlanner
from edgemem.extend.hookspecs import Component, hookimpl

HOLD = Path(os.environ["HOLD"])

class Slow(LocalPlanner):
    name = "slow"
    def next(self, session):
        HOLD.with_suffix(".asked").touch()
        while HOLD.exists():
            time.sleep(0.02)
        return super().next(session)

@hookimpl
def register_planners():
    return (Component("slow", lambda settings, context: Slow()),)
'''


def edgemem(daemon: Daemon, *arguments: str, **environment: str) -> tuple[int, str, str]:
    """Run a command with the daemon's settings: (exit code, stdout without the measured milliseconds, stderr)."""
    done = subprocess.run(
        [*PROGRAM, *arguments, "--memory", str(daemon.memory), "--config", str(daemon.settings)],
        capture_output=True, text=True, check=False, env={**os.environ, **environment}, timeout=60,
    )  # fmt: skip
    return done.returncode, _without_ms(done.stdout), done.stderr


def _without_ms(text: str) -> str:
    return re.sub(r'\d+ ms|"ms":[\d.]+', "MS", text)


@pytest.fixture
def daemon(start: Start, pictures: Pictures, tmp_path: Path) -> Iterator[Daemon]:
    remember_signs(tmp_path / "memory")
    return start({"door": pictures("a", 0.4)}).wait_ready().wait_seen()


def answered(daemon: Daemon) -> int:
    status = daemon.status
    assert status is not None
    return status.answered


COMMANDS = (
    ("ask", "What did the sign say?"),
    ("ask", "What did the sign say?", "--json"),
    ("ask", "Where did I see the bakery?", "--json", "--as-of", "2026-05-04T08:02:30Z"),
    ("ask", "Where did I see the bakery?", "--as-of", "2026-05-04T08:00:30Z"),
    ("ask", "Which room was it?", "--option", "ROOM 214", "--option", "ROOM 215", "--json"),
    ("ask", "x" * 5000),
    ("ask", "Did I ever see an \u2603 or a\nsecond line?", "--planner", "local"),
    ("search", "exit", "--json"),
    ("search", "platform"),
    ("search", "room", "--channel", "text", "--top-k", "1", "--from", "2026-05-04T08:00:00Z"),
    ("search", "nothing like it"),
    ("search", "exit", "--channel", "speech"),
    ("ask", "What did the sign say?", "--planner", "lokal"),
    ("ask", "What did the sign say?", "--recipe", "defalt"),
    ("ask", "What did the sign say?", "--recipe", "./plain.toml", "--set", "timezone=Asia/Tokyo"),
    ("search", "?!"),
)


def test_with_and_without_an_agent_every_command_prints_the_same_bytes(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(command: tuple[str, ...]) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([*command, "--memory", "memory", "--config", str(daemon.settings)])
        captured = capsys.readouterr()
        return ended.value.code, _without_ms(captured.out), captured.err

    with_agent = [run(command) for command in COMMANDS]
    assert answered(daemon) == len(COMMANDS), "the agent was not asked"
    daemon.stop()
    assert [run(command) for command in COMMANDS] == with_agent
    assert {code for code, _, _ in with_agent} == {0, 2, 3}


def test_an_agent_that_dies_in_the_middle_of_a_question_is_done_without_and_that_is_said(
    start: Start, pictures: Pictures, tmp_path: Path
) -> None:
    remember_signs(tmp_path / "memory")
    plugins, hold = tmp_path / "plugins", tmp_path / "hold"
    plugins.mkdir()
    (plugins / "slow.py").write_text(SLOW_PLANNER)
    daemon = start({"a": pictures("a", 0.4)}, more=f'plugins_dirs = ["{plugins}"]', HOLD=str(hold)).wait_ready()
    hold.touch()
    said: list[tuple[int, str, str]] = []
    ask = ("ask", "What did the sign say?", "--planner", "slow")
    asking = threading.Thread(target=lambda: said.append(edgemem(daemon, *ask, HOLD=str(tmp_path / "other"))))
    asking.start()
    wait_until(hold.with_suffix(".asked").exists)
    daemon.process.send_signal(signal.SIGKILL)
    asking.join()
    (code, out, err), (code_alone, out_alone, _) = said[0], edgemem(daemon, *ask, HOLD=str(tmp_path / "other"))
    assert (code, out) == (code_alone, out_alone)
    assert code == 0
    assert "ended in the middle of the question; the memory was read without it" in err


def test_an_agent_that_hangs_is_done_without(daemon: Daemon) -> None:
    daemon.process.send_signal(signal.SIGSTOP)
    code, out, err = edgemem(daemon, "search", "exit")
    daemon.process.send_signal(signal.SIGCONT)
    assert code == 0
    assert "EXIT C" in out
    assert "does not respond; the memory was read without it" in err


def test_who_asks_with_other_settings_answers_himself(daemon: Daemon) -> None:
    code, out, err = edgemem(daemon, "search", "exit", "--set", "models.chat=none")
    assert (code, err) == (0, "")
    assert "EXIT C" in out
    assert answered(daemon) == 0


def test_what_decides_an_answer_decides_the_digest(tmp_path: Path) -> None:
    plain = digest(load(None, ()), tmp_path, variables={})
    same = ("budget.disk=1GiB", "engines.threads=3", "recipe=vam", "timezone=Europe/Berlin", 'run.memory="m"', "retention=[{keep_days=3}]")
    assert digest(load(None, same), tmp_path, variables={"PATH": "x", "EDGEMEM_CONFIG": "c"}) == plain
    board = ("board=smart-glasses-companion", "budget.watts=3", "governor.check_s=1", "hardware.limit_c=50", "engines.runtime=['onnx']")
    assert digest(load(None, board), tmp_path, variables={"EDGEMEM__BUDGET__WATTS": "3"}) == plain
    assert digest(load(None, ()), tmp_path, variables={"EDGEMEM_KEY": "3"}) != plain
    for other in (
        "engines.roles={read_text='x'}",
        "models.chat=x",
        "recipes_dirs=['r']",
        "plugins_dirs=['p']",
        "openai.base_url='http://h'",
    ):
        assert digest(load(None, (other,)), tmp_path, variables={}) != plain
    assert digest(load(None, ()), tmp_path, variables={"OPENAI_API_KEY": "secret"}) != plain
    assert digest(load(None, ()), tmp_path / "other", variables={}) != plain


def test_while_it_sees_every_question_is_answered_and_the_past_stays_as_it_was(start: Start, pictures: Pictures, tmp_path: Path) -> None:
    """From threads and from other processes; no frame is lost, no answer about the past changes."""
    remember_signs(tmp_path / "memory")
    daemon = start({"door": pictures("a", 30.0), "yard": pictures("bb", 30.0)}).wait_ready()
    before = "2026-05-04T08:10:00Z"
    request = SearchRequest(
        query=SIGNS[0],
        to_us=from_iso(before, "UTC"),
        recipe=str(tmp_path / "plain.toml"),
        settings=digest(load(daemon.settings), home_dir(load(None))),
    )
    found: list[list[str]] = []
    counts: list[int] = []

    def seeing() -> bool:
        return any(one.state != "seen" for one in daemon.status.streams)

    def from_threads() -> None:
        while seeing():
            found.append([hit.text for hit in call(daemon.memory, request, SearchReply, 20.0).evidence])
            with View.open(daemon.memory) as view:
                counts.append(view.stats().moments)

    def from_processes() -> None:
        while seeing():
            code, out, err = edgemem(daemon, "search", SIGNS[0], "--json", "--to", before)
            found.append([hit["text"] for hit in json.loads(out)["hits"]] if code == 0 else [err])

    asking = [threading.Thread(target=way) for way in (from_threads, from_threads, from_processes)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert len(found) > 5
    assert all(texts == [SIGNS[0]] for texts in found)
    assert max(counts) > len(SIGNS), "nothing was seen while it was asked"
    assert daemon.stop() == 0
    with View.open(daemon.memory) as view:
        assert {stream.name: stream.moments for stream in view.streams()} == {"walk": len(SIGNS), "door": 150, "yard": 150}
    assert "dropped" not in daemon.said
