"""Postponed work is done when the board is idle: by the daemon, also after a kill, and at the end of a recording."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from daemons import PROGRAM, Daemon, wait_until

from edgemem.clock import now_us
from edgemem.extend.environment import Environment
from edgemem.remember.store import Store
from edgemem.remember.view import View
from edgemem.see.carry_out import Postponed
from edgemem.serve.postponed import PostponedWork

PLUGIN = """
import time
from pathlib import Path

from edgemem.extend import BaseWriter, BoardIdle, Component, NewDocument, Postpone, hookimpl

import msgspec


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    voice: str = "quietly"
    hangs: str = ""


class Later(BaseWriter):
    name = "later"
    triggers = frozenset({"segment_closed", "idle"})

    def __init__(self, settings):
        self._settings = settings

    def write(self, occasion):
        if not isinstance(occasion, BoardIdle):
            return [Postpone(payload=str(occasion.segment.t0_us).encode())]
        if self._settings.hangs:
            Path(self._settings.hangs).touch()
            time.sleep(600)
        t_us = int(occasion.payload)
        return [
            NewDocument(
                kind="note", text=f"{occasion.stream} {self._settings.voice}", stream=occasion.stream, t0_us=t_us, t1_us=t_us, offset_us=0,
                known_us=occasion.now_us, origin="system",
            )
        ]


@hookimpl
def register_writers():
    yield Component("later", lambda settings, context: Later(settings), Settings)
"""
RECIPE = """
summary = "No models."
rate_fps = 5.0
[segment]
use = "fixed_window"
[[write]]
use = "later"
"""


def plugins_dir(folder: Path) -> str:
    (folder / "mine").mkdir(exist_ok=True)
    (folder / "mine/later.py").write_text(PLUGIN)
    return str(folder / "mine")


def recipe(folder: Path, name: str, **settings: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(RECIPE + "".join(f'{key} = "{value}"\n' for key, value in settings.items()))
    return path


def notes(memory: Path) -> list[str]:
    with View.open(memory) as view:
        return sorted(document.text for document in view.documents(kinds=("note",)))


def jobs(memory: Path) -> int:
    with View.open(memory) as view:
        return len(view.jobs())


def daemon(folder: Path, sources: dict[str, tuple[Path, Path]]) -> Daemon:
    tables = "".join(f'[[run.sources]]\nsource = "{src}"\nstream = "{name}"\nrecipe = "{rec}"\n' for name, (src, rec) in sources.items())
    return Daemon(folder, f'plugins_dirs = ["{plugins_dir(folder)}"]\n[run]\nmemory = "{folder / "memory"}"\n{tables}')


Pictures = Callable[..., Path]


def test_the_daemon_asks_the_writer_of_the_streams_own_recipe(tmp_path: Path, home: Path, pictures: Pictures) -> None:
    assert home.parent == tmp_path
    loud, quiet = recipe(tmp_path, "loud", voice="loudly"), recipe(tmp_path, "quiet")
    running = daemon(tmp_path, {"a": (pictures("a"), quiet), "bb": (pictures("bb"), loud)})
    try:
        running.wait_ready().wait_seen()
        wait_until(lambda: notes(running.memory) == ["a quietly", "bb loudly"])
        assert jobs(running.memory) == 0
        assert running.stop() == 0
    finally:
        running.process.kill()
    assert "idle work" not in running.said


def test_what_was_postponed_is_done_after_a_kill_too(tmp_path: Path, home: Path, pictures: Pictures) -> None:
    """Also the job that was in progress when the process was killed: no other process can be doing it."""
    assert home.parent == tmp_path
    path, begun = recipe(tmp_path, "plain", hangs=str(tmp_path / "begun")), tmp_path / "begun"
    source = pictures("a")
    running = daemon(tmp_path, {"a": (source, path)}).wait_ready()
    wait_until(begun.exists)
    running.process.kill()
    running.process.wait()
    assert (jobs(running.memory), notes(running.memory)) == (1, [])
    recipe(tmp_path, "plain")
    again = daemon(tmp_path, {"a": (source, path)})
    try:
        again.wait_ready()
        wait_until(lambda: notes(again.memory) == ["a quietly"])
        assert jobs(again.memory) == 0
        assert again.stop() == 0
    finally:
        again.process.kill()


def test_ingest_does_what_is_quick_when_a_recording_ended(tmp_path: Path, home: Path, pictures: Pictures) -> None:
    assert home.parent == tmp_path
    call = [*PROGRAM, "ingest", str(pictures("a")), "--memory", str(tmp_path / "memory"), "--plugins-dir", plugins_dir(tmp_path)]
    subprocess.run([*call, "--recipe", str(recipe(tmp_path, "plain"))], check=True, capture_output=True)
    assert (notes(tmp_path / "memory"), jobs(tmp_path / "memory")) == (["a quietly"], 0)


def test_it_says_whether_there_may_be_more_and_takes_no_lease_twice(tmp_path: Path, home: Path) -> None:
    assert home.parent == tmp_path
    environment = Environment.load(None, [], [Path(plugins_dir(tmp_path))])
    plain = recipe(tmp_path, "plain")
    plain.write_text("embed_text = false\n" + plain.read_text())
    (tmp_path / "none.toml").write_text(RECIPE.replace("[[write]]", "").replace('use = "later"', ""))
    payload = msgspec.msgpack.encode(Postponed(payload=b"1", shown=()))
    with Store.open(tmp_path / "memory") as store:
        with store.transaction() as tx:
            tx.add_job("later", "a", payload, 0)
        assert store.lease_job(["later"], now_us(), 600.0) is not None  # by a process that was killed
        assert not PostponedWork(environment, store, lambda: {"a": str(tmp_path / "none.toml")})(time.monotonic() + 60)
        work = PostponedWork(environment, store, lambda: {"a": str(plain)})
        assert work(time.monotonic() - 1)
        assert notes(tmp_path / "memory") == []
        assert not work(time.monotonic() + 60)
        assert notes(tmp_path / "memory") == ["a quietly"]
        with store.transaction() as tx:
            tx.add_job("later", "a", payload, 0)
        assert store.lease_job(["later"], now_us(), 600.0) is not None
        assert not work(time.monotonic() + 60)
        assert jobs(tmp_path / "memory") == 1
