"""Forgetting and managing a memory from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from edgemem.cli.main import main
from edgemem.records import US, Observation
from edgemem.remember.disk.contents import survey
from edgemem.remember.store import NewDocument, NewMoment, Store
from edgemem.see.pixels import encode_jpeg

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], home: Path) -> Run:
    assert home

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    directory = tmp_path / "memory"
    with Store.open(directory) as store, store.transaction() as tx:
        for i, text in enumerate(("EXIT", "GATE 7", "SECRETWORD", "BAKERY")):
            moment = NewMoment(
                stream="cam", seq=i, t_us=i * US, offset_us=i * US, width_px=8, height_px=8, sharpness=1.0,
                jpeg=encode_jpeg(np.random.default_rng(i).integers(0, 256, (96, 96, 3), np.uint8), 90), vectors={},
                observations=(Observation("text", text, 0.9),),
            )  # fmt: skip
            document = NewDocument(
                kind="text", text=text, stream="cam", t0_us=i * US, t1_us=i * US, offset_us=i * US, known_us=i * US, origin="ocr",
                moment_id=tx.add_moment(moment),
            )  # fmt: skip
            tx.add_document(document)
    return directory


def test_forgetting_by_a_query_takes_what_the_preview_listed(memory: Path, run: Run) -> None:
    given = ("forget", "--memory", memory, "--query", "secretword")
    code, out, _ = run(*given, "--dry-run")
    assert code == 0
    assert "SECRETWORD" in out
    assert "EXIT" not in out
    would = json.loads(run(*given, "--dry-run", "--json")[1])
    assert would == {"receipt": None, "moments": 1, "documents": 1, "relations": 0, "bytes": would["bytes"], "dry_run": True}
    code, out, _ = run(*given, "--json")
    did = json.loads(out)
    assert (did["moments"], did["documents"], did["bytes"], did["dry_run"]) == (1, 1, would["bytes"], False)
    assert len(did["receipt"]) == 12
    assert all(b"secretword" not in path.read_bytes().lower() for path in memory.rglob("*") if path.is_file())
    assert run("memory", "check", "--memory", memory)[0] == 0
    assert json.loads(run(*given, "--json")[1])["moments"] == 0


def test_forgetting_by_time(memory: Path, run: Run) -> None:
    span = ("--from", "1970-01-01T00:00:01Z", "--to", "1970-01-01T00:00:02Z")
    assert "would forget 2 moments" in run("forget", "--memory", memory, *span, "--dry-run")[1]
    assert "forgot 2 moments" in run("forget", "--memory", memory, *span)[1]
    assert json.loads(run("memory", "stats", "--memory", memory, "--json")[1])["moments"] == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "in one way"),
        (("--stream", "cam", "--entity", "Anna"), "in one way"),
        (("--from", "1970-01-01"), "give both --from and --to"),
        (("--from", "1970-01-02", "--to", "1970-01-01"), "swap"),
        (("--stream", "camm"), 'did you mean "cam"'),
        (("--evidence", "m77"), "no m77"),
        (("--entity", "Nobody"), "nothing called"),
        (("--entity", ""), "empty"),
        (("--query", " "), "empty"),
    ],
)
def test_what_cannot_be_forgotten_is_said_in_one_line(memory: Path, run: Run, options: tuple[str, ...], says: str) -> None:
    code, out, err = run("forget", "--memory", memory, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_backup_export_import_and_compact(memory: Path, run: Run, tmp_path: Path) -> None:
    assert json.loads(run("memory", "backup", tmp_path / "copy.db", "--memory", memory, "--json")[1])["bytes"] > 30_000
    assert json.loads(run("memory", "export", tmp_path / "plain", "--memory", memory, "--json")[1])["moments"] == 4
    for source, target in (("copy.db", "second"), ("plain", "third")):
        code, out, err = run("memory", "import", tmp_path / source, "--memory", tmp_path / target)
        assert (code, err) == (0, "")
        assert "4 moments" in out
        assert "SECRETWORD" in run("search", "secretword", "--memory", tmp_path / target)[1]
    assert json.loads(run("memory", "compact", "--memory", memory, "--json")[1])["bytes_after"] > 0
    code, _, err = run("memory", "backup", tmp_path / "copy.db", "--memory", memory)
    assert (code, err.count("\n")) == (2, 1)


def test_a_paused_memory_is_asked_but_not_written(memory: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "walk").mkdir()
    cv2.imwrite(str(tmp_path / "walk" / "1.png"), np.full((32, 32, 3), 90, np.uint8))
    given = ("ingest", tmp_path / "walk", "--memory", memory)
    assert json.loads(run("memory", "pause", "--memory", memory, "--json")[1]) == {"paused": True}

    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in memory.rglob("*") if path.is_file()}

    before = files()
    code, _, err = run(*given)
    assert (code, files()) == (2, before)
    assert "memory resume" in err
    assert "GATE 7" in run("search", "gate", "--memory", memory)[1]
    assert "paused: yes" in run("memory", "stats", "--memory", memory)[1]
    assert json.loads(run("memory", "stats", "--memory", memory, "--json")[1])["paused"] is True
    assert run("memory", "resume", "--memory", memory)[0] == 0
    code, _, err = run(*given, "--set", 'privacy.streams=["door"]')
    assert code == 2
    assert "no consent" in err
    assert run(*given)[0] == 0


def test_no_output_is_written_into_the_memory(memory: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(memory)
    before = (memory / "memory.db").read_bytes()
    for command in (("show", "m1", "--out"), ("timeline", "--sheet"), ("memory", "backup"), ("memory", "export")):
        for target in (memory / "memory.db", tmp_path / "link" / "new", memory / "vectors" / ".." / "new"):
            code, out, err = run(*command, target, "--memory", memory)
            assert (code, out, err.count("\n"), "is inside the memory" in err) == (2, "", 1, True), (command, target, err)
    monkeypatch.chdir(memory)
    assert run("show", "m1", "--memory", memory)[0] == 2
    assert (memory / "memory.db").read_bytes() == before
    assert survey(memory).foreign == ()


def test_what_brings_new_memories_in_is_refused_while_paused_and_forgetting_works(memory: Path, run: Run, tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "keys.png"), np.full((32, 32, 3), 90, np.uint8))
    assert run("memory", "export", tmp_path / "plain", "--memory", memory)[0] == 0
    assert run("memory", "pause", "--memory", memory)[0] == 0
    for command in (("memory", "import", tmp_path / "plain"), ("name", tmp_path / "keys.png", "my keys")):
        code, out, err = run(*command, "--memory", memory)
        assert (code, out, err) == (2, "", f"edgemem: memory {memory} is paused: run `edgemem memory resume --memory {memory}`\n")
    assert json.loads(run("memory", "stats", "--memory", memory, "--json")[1])["moments"] == 4
    assert json.loads(run("forget", "--evidence", "m3", "--memory", memory, "--json")[1])["moments"] == 1
    assert run("memory", "resume", "--memory", memory)[0] == 0
    code, out, err = run("memory", "import", tmp_path / "plain", "--memory", memory)
    assert (code, "4 moments imported" in out) == (0, True), err
    assert "paused: no" in run("memory", "stats", "--memory", memory)[1]


def test_the_stats_of_an_empty_memory_have_no_times(run: Run, tmp_path: Path) -> None:
    Store.open(tmp_path / "empty").close()
    lines = run("memory", "stats", "--memory", tmp_path / "empty")[1].splitlines()
    assert {"oldest: none", "newest: none", "moments: 0", "encrypted: no"} <= set(lines)
    assert json.loads(run("memory", "stats", "--memory", tmp_path / "empty", "--json")[1])["oldest"] is None
