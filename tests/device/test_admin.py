"""Naming and forgetting while an agent holds the memory: the same as without one, and no frame is lost."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from daemons import PROGRAM, SIGNS, Daemon, Start, network_camera, remember_signs, wait_until

from edgemem.cli.main import main
from edgemem.extend.testing import T0_US
from edgemem.records import US
from edgemem.remember.disk.directory import WriterLock
from edgemem.remember.entries import NewDocument, NewEntity
from edgemem.remember.store import Store
from edgemem.remember.view import View

Pictures = Callable[..., Path]


def edgemem(daemon: Daemon, *arguments: str) -> tuple[int, str, str]:
    """With the daemon's settings: (exit code, stdout, stderr)."""
    done = subprocess.run(
        [*PROGRAM, *arguments, "--memory", str(daemon.memory), "--config", str(daemon.settings)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def _without_receipts(text: str) -> str:
    return re.sub(r"[0-9a-f]{12}", "RECEIPT", text)


def moments(memory: Path) -> dict[str, int]:
    with View.open(memory) as view:
        return {stream.name: stream.moments for stream in view.streams()}


def remember_voices(directory: Path) -> None:
    with Store.open(directory) as store, store.transaction() as tx:
        for number, speaker in enumerate(("speaker 1", "speaker 2", "speaker 1")):
            t_us = T0_US + number * US
            speaker_id = tx.add_entity(NewEntity(kind="voice", name=speaker, known_us=t_us))
            span = {"t0_us": t_us, "t1_us": t_us, "offset_us": number * US, "known_us": t_us}
            tx.add_document(
                NewDocument(kind="utterance", text=f"word {number}", stream="talk", origin="asr", speaker_id=speaker_id, **span)
            )


COMMANDS = (
    ("name", "speaker:1", "Tomas"),
    ("name", "speaker:2", "Anna Bell", "--json"),
    ("name", "speaker:2", "--undo"),
    ("name", "speaker:9", "Tomas"),
    ("forget", "--evidence", "m3", "--dry-run"),
    ("forget", "--evidence", "m3", "--json"),
    ("forget", "--entity", "Tomas"),
    ("forget", "--from", "2026-05-04T08:00:00Z", "--to", "2026-05-04T08:01:30Z"),
    ("forget", "--stream", "wlak"),
    ("forget", "--stream", "walk", "--recipe", "defalt"),
    ("forget", "--query", "PLATFORM", "--recipe", "plain.toml"),
    ("memory", "check"),
)


def test_with_and_without_an_agent_administration_does_and_says_the_same(
    start: Start, pictures: Pictures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(command: tuple[str, ...]) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([*command, "--memory", "memory", "--config", str(daemon.settings)])
        captured = capsys.readouterr()
        return ended.value.code, _without_receipts(captured.out), captured.err

    remember_signs(tmp_path / "memory")
    remember_voices(tmp_path / "memory")
    daemon = start({"door": pictures("a", 0.4)}).wait_ready().wait_seen()
    daemon.stop()
    (tmp_path / "memory").rename(tmp_path / "before")
    said = {}
    for by_agent in (True, False):
        subprocess.run(["cp", "-r", "before", "memory"], check=True)
        if by_agent:
            again = start({"door": tmp_path / "a"}).wait_ready().wait_seen()
        said[by_agent] = [run(command) for command in COMMANDS]
        if by_agent:
            assert again.stop() == 0
            (tmp_path / "memory").rename(tmp_path / "by_agent")
    assert said[True] == said[False]
    assert {code for code, _, _ in said[True]} == {0, 2}
    assert moments(tmp_path / "memory") == moments(tmp_path / "by_agent") == {"door": 2, "walk": 1}
    files = b"".join(path.read_bytes() for path in (tmp_path / "by_agent").rglob("*") if path.is_file())
    assert SIGNS[2].encode() not in files
    assert b"Tomas" not in files


def test_forgetting_while_it_sees_loses_no_frame(start: Start, pictures: Pictures, tmp_path: Path) -> None:
    remember_signs(tmp_path / "memory")
    daemon = start({"door": pictures("a", 80.0, times=4), "yard": pictures("bb", 80.0, times=4)}).wait_ready()
    wait_until(lambda: {"door", "yard"} <= moments(daemon.memory).keys())
    assert edgemem(daemon, "forget", "--entity", "nobody")[0] == 2
    assert "suspended until it is done" not in daemon.said, "a mistake is no reason to suspend"
    code, out, err = edgemem(daemon, "forget", "--evidence", "m2", "--json")
    assert code == 0, err
    assert json.loads(out)["moments"] == 1
    daemon.wait_seen()
    assert daemon.stop() == 0, daemon.said
    assert moments(daemon.memory) == {"walk": len(SIGNS) - 1, "door": 1600, "yard": 1600}
    assert daemon.said.count("frames seen") > 2, "it was not forgotten in the middle"
    assert "interrupted" not in daemon.said
    assert edgemem(daemon, "memory", "check")[0] == 0


def test_a_recording_that_is_forgotten_while_it_is_seen_is_not_seen_again(start: Start, pictures: Pictures) -> None:
    daemon = start({"door": pictures("a", 60.0, times=30), "yard": pictures("bb", 4.0)}).wait_ready()
    wait_until(lambda: {"door", "yard"} <= moments(daemon.memory).keys())
    assert edgemem(daemon, "forget", "--stream", "door")[0] == 0
    daemon.wait_seen()
    assert daemon.stop() == 0
    assert moments(daemon.memory) == {"yard": 20}
    assert "door: is forgotten; the rest of it is not seen" in daemon.said


def test_a_camera_goes_on_after_its_last_minutes_were_forgotten(start: Start) -> None:
    with network_camera() as (url, there):
        there.set()
        daemon = start({"yard": url}).wait_ready()
        wait_until(lambda: moments(daemon.memory).get("yard", 0) > 2)
        with View.open(daemon.memory) as view:
            known = {moment.id for moment in view.moments()}
        assert edgemem(daemon, "forget", "--from", "2020-01-01", "--to", "2100-01-01")[0] == 0
        wait_until(lambda: moments(daemon.memory).get("yard", 0) > 2)
        with View.open(daemon.memory) as view:
            assert not known & {moment.id for moment in view.moments()}
        assert daemon.stop() == 0, daemon.said


def test_what_fails_leaves_the_agent_seeing(start: Start, pictures: Pictures, tmp_path: Path) -> None:
    """A reader that holds old pages prevents the wipe: this is reported, and the wipe is done when the agent starts again."""
    remember_signs(tmp_path / "memory")
    daemon = start({"door": pictures("a", 40.0)}).wait_ready()
    wait_until(lambda: moments(daemon.memory).get("door"))
    with closing(sqlite3.connect(f"{(daemon.memory / 'memory.db').as_uri()}?mode=ro", uri=True)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM moment").fetchone()
        code, _, err = edgemem(daemon, "forget", "--evidence", "m2")
    assert code == 1
    assert "a reader still holds old pages" in err
    daemon.wait_seen()
    assert daemon.stop() == 0, daemon.said
    assert moments(daemon.memory) == {"walk": len(SIGNS) - 1, "door": 200}
    start({"door": tmp_path / "a"}).wait_ready().wait_seen().stop()
    assert SIGNS[1].encode() not in (daemon.memory / "memory.db").read_bytes()


def test_without_an_agent_a_memory_that_is_written_is_left_alone(start: Start, pictures: Pictures, tmp_path: Path) -> None:
    remember_signs(tmp_path / "memory")
    daemon = start({"door": pictures("a", 0.4)}).wait_ready().wait_seen()
    daemon.stop()
    lock = WriterLock(daemon.memory)
    code, _, err = edgemem(daemon, "forget", "--evidence", "m2")
    lock.close()
    assert code == 1
    assert "is being written by process" in err
    assert moments(daemon.memory)["walk"] == len(SIGNS)
