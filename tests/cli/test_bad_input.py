"""For every wrong input there is one clear line with the right exit code, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import cv2
import numpy as np
import pytest

from edgemem.cli.main import main
from edgemem.extend.testing import SyntheticCamera

Run = Callable[..., tuple[int, str, str]]


def video(path: Path, frames: int = 40, fill: int | None = None) -> Path:
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"g": "10", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        for frame in SyntheticCamera(frames / 10, 10, scene_s=1.0, side_px=320).frames():
            image = frame.image if fill is None else np.full_like(frame.image, fill)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        container.mux(stream.encode(None))
    return path


def one_line(err: str) -> str:
    lines = [line for line in err.splitlines() if not line.startswith("note:")]
    assert len(lines) == 1, err
    assert lines[0].startswith("edgemem: ")
    return lines[0]


def test_what_is_no_video_is_refused_and_leaves_nothing(run: Run, recipe: str, tmp_path: Path) -> None:
    text, empty = tmp_path / "notes.mp4", tmp_path / "empty.mp4"
    text.write_text("not a film " * 500)
    empty.touch()
    for source in (text, empty, tmp_path / "absent.mp4"):
        code, _, err = run("ingest", str(source), "--memory", str(tmp_path / "m"), "--recipe", recipe)
        assert code == 1
        assert source.name in one_line(err)
    assert not (tmp_path / "m").exists()


def test_a_truncated_film_gives_what_it_has(run: Run, recipe: str, tmp_path: Path) -> None:
    whole = video(tmp_path / "whole.mkv", 60)
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    code, out, err = run("ingest", str(cut), "--memory", str(tmp_path / "m"), "--recipe", recipe, "--json")
    assert code == 0, err
    assert json.loads(out)["moments_kept"] > 0


def test_a_film_with_a_corrupt_middle_goes_on_after_it(run: Run, recipe: str, tmp_path: Path) -> None:
    whole = video(tmp_path / "whole.mkv", 60)
    data = bytearray(whole.read_bytes())
    middle = len(data) // 2
    data[middle : middle + len(data) // 8] = os.urandom(len(data) // 8)
    (tmp_path / "half.mkv").write_bytes(data)
    code, out, err = run("ingest", str(tmp_path / "half.mkv"), "--memory", str(tmp_path / "m"), "--recipe", recipe, "--json")
    assert code == 0, err
    assert json.loads(out)["moments_kept"] > 0


def test_broken_subtitles_beside_a_film_are_left_out_and_those_that_were_asked_for_refused(run: Run, recipe: str, tmp_path: Path) -> None:
    film, broken = video(tmp_path / "walk.mp4", 30), tmp_path / "walk.srt"
    broken.write_bytes(b"1\n00:00:0x --> zz\nhello\n\xff\xfe")
    given = ("ingest", str(film), "--memory", str(tmp_path / "m"), "--recipe", recipe)
    code, _, err = run(*given, "--subtitles", str(broken))
    assert (code, err.count("\n")) == (1, 1)
    assert "walk.srt: contains no subtitles" in err
    assert not (tmp_path / "m").exists()
    code, _, err = run(*given)
    assert code == 0, err
    assert "note: the subtitles beside the recording are not used" in err


def test_a_film_that_is_in_the_memory_already_is_not_taken_twice_unless_asked(run: Run, recipe: str, tmp_path: Path) -> None:
    film, memory = video(tmp_path / "walk.mp4", 30), tmp_path / "m"
    given = ("ingest", str(film), "--memory", str(memory), "--recipe", recipe, "--start", "2026-05-04T08:00:00Z", "--json")
    code, out, _ = run(*given)
    assert code == 0
    kept = json.loads(out)["moments_kept"]
    code, out, err = run(*given)
    assert (code, err.count("\n")) == (0, 1)
    assert f'already, as "walk": {kept} moments since 2026-05-04 08:00:00; to ingest it a second time, add --again' in err
    again = json.loads(out)
    assert (again["stream"], again["frames_seen"], again["moments_kept"]) == ("walk", 0, 0)
    code, out, err = run(*given, "--again")
    assert (code, "already" in err) == (0, False)
    assert (json.loads(out)["stream"], json.loads(out)["moments_kept"]) == ("walk-2", kept)
    assert json.loads(run(*given, "--stream", "other")[1])["moments_kept"] == kept
    assert run("forget", "--stream", "walk", "--memory", str(memory), "--recipe", recipe)[0] == 0
    assert run("forget", "--stream", "walk-2", "--memory", str(memory), "--recipe", recipe)[0] == 0
    assert json.loads(run(*given)[1])["moments_kept"] == kept, "what is forgotten may be taken again"


@pytest.mark.parametrize("brightness", [0, 128])
def test_a_black_or_grey_film_is_remembered_as_nothing_and_said(run: Run, recipe: str, tmp_path: Path, brightness: int) -> None:
    film = video(tmp_path / "dark.mp4", 30, brightness)
    code, out, err = run("ingest", str(film), "--memory", str(tmp_path / "m"), "--recipe", recipe, "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["moments_kept"] == 0
    assert sum(report["dropped"].values()) == report["frames_seen"] > 0
    code, out, _ = run("ask", "where did I leave my keys?", "--memory", str(tmp_path / "m"), "--json")
    assert code == 3
    assert json.loads(out)["status"] == "abstained"


def test_tiny_and_huge_pictures(run: Run, recipe: str, tmp_path: Path) -> None:
    folder = tmp_path / "sizes"
    folder.mkdir()
    cv2.imwrite(str(folder / "1.png"), np.full((1, 1, 3), 200, np.uint8))
    big = np.tile(np.random.default_rng(0).integers(0, 255, (50, 60, 3), np.uint8), (80, 150, 1))
    cv2.imwrite(str(folder / "2.png"), big, [cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_DEFAULT, cv2.IMWRITE_PNG_COMPRESSION, 3])
    assert big.shape[0] * big.shape[1] == 36_000_000  # more than 40 are refused
    (folder / "3.jpg").write_bytes(b"not a picture")
    code, out, err = run("ingest", str(folder), "--memory", str(tmp_path / "m"), "--recipe", recipe, "--json")
    assert code == 0, err
    assert json.loads(out)["moments_kept"] == 1


def test_an_empty_folder_and_a_camera_that_is_not_there(run: Run, recipe: str, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    for source in (str(tmp_path / "none"), "/dev/video97"):
        code, _, err = run("ingest", source, "--memory", str(tmp_path / "m"), "--recipe", recipe)
        assert code == 1
        one_line(err.splitlines()[-1])


@pytest.mark.parametrize("question", ["", "   ", "\n"])
def test_an_empty_question_is_wrong_usage(run: Run, memory: Path, question: str) -> None:
    for command in ("ask", "search"):
        code, _, err = run(command, question, "--memory", str(memory))
        assert code == 2
        assert "empty" in one_line(err)


def test_an_empty_path_does_not_mean_the_current_directory(
    run: Run, memory: Path, pictures: Path, recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pictures)
    for source in ("", " "):
        code, out, err = run("ingest", source, "--memory", str(tmp_path / "m"), "--recipe", recipe)
        assert (code, out, "the source is empty" in one_line(err)) == (2, "", True)
        assert not (tmp_path / "m").exists()
    monkeypatch.chdir(memory)
    for command in (("memory", "stats"), ("ask", "where?"), ("ingest", str(pictures))):
        code, out, err = run(*command, "--memory", "")
        assert (code, out, "the path is empty" in one_line(err)) == (2, "", True)
    for command in (("show", "m1", "--out", ""), ("memory", "backup", ""), ("memory", "import", "")):
        assert "the path is empty" in one_line(run(*command, "--memory", str(memory))[2])


def test_a_question_as_long_as_a_book_is_cut_and_said(run: Run, memory: Path) -> None:
    code, out, err = run("ask", "where is the red mug " * 500, "--memory", str(memory), "--json")
    assert code == 3
    assert json.loads(out)["status"] == "abstained"
    assert "4000 characters" in err


def test_wrong_arguments_name_the_argument(run: Run, memory: Path) -> None:
    cases = [
        (("aks", "x"), "ask"),
        (("ask", "x", "--memory", str(memory), "--as-of", "yesterday"), "2026-05-04T08:00:00Z"),
        (("ask", "x", "--memory", str(memory), "--recipe", "defualt"), "default"),
        (("ask", "x", "--memory", str(memory), "--planner", "lokal"), "local"),
        (("search", "x", "--memory", str(memory), "--channel", "frmae"), "frame"),
        (("search", "x", "--memory", str(memory), "--top-k", "0"), "top-k"),
        (("search", "x", "--memory", str(memory), "--from", "2026-01-02", "--to", "2026-01-01"), "swap"),
        (("ingest", "x.mp4", "--memory", str(memory), "--set", "budget.disk=lots"), "64MiB"),
        (("sim", "x.mp4", "--memory", str(memory), "--seconds", "nan"), "nan"),
        (("ask", "x"), "--memory"),
        (("show", "q7", "--memory", str(memory)), "m12"),
        (("show", "m999999", "--memory", str(memory)), "m999999"),
    ]
    for arguments, hint in cases:
        code, _, err = run(*arguments)
        assert code == 2, (arguments, err)
        assert hint in one_line(err)


def test_directories_that_are_no_memory(run: Run, recipe: str, pictures: Path, tmp_path: Path) -> None:
    other, file = tmp_path / "other", tmp_path / "file"
    other.mkdir()
    (other / "letter.txt").write_text("dear diary")
    file.write_text("x")
    for directory in (other, file, tmp_path / "absent"):
        code, _, err = run("ask", "where is it?", "--memory", str(directory))
        assert code == 1
        one_line(err)
    for directory in (other, file):
        code, _, err = run("ingest", str(pictures), "--memory", str(directory), "--recipe", recipe)
        assert code == 1
        one_line(err)
    assert [path.name for path in other.iterdir()] == ["letter.txt"]


def test_a_locked_memory_names_the_other_writer_but_can_be_asked(run: Run, recipe: str, pictures: Path, memory: Path) -> None:
    imports = "import sys, time\nfrom pathlib import Path\nfrom edgemem.remember.store import Store\n"
    hold = f"{imports}with Store.open(Path(sys.argv[1])):\n    print('open', flush=True)\n    time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", hold, str(memory)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        code, _, err = run("ingest", str(pictures), "--memory", str(memory), "--recipe", recipe, "--stream", "again")
        assert code == 1
        assert str(other.pid) in one_line(err)
        assert run("ask", "where did I leave my keys?", "--memory", str(memory))[0] == 3
        other.kill()
    assert run("ingest", str(pictures), "--memory", str(memory), "--recipe", recipe, "--stream", "again")[0] == 0


def test_a_memory_from_a_newer_version_is_left_alone(run: Run, recipe: str, pictures: Path, memory: Path) -> None:
    with sqlite3.connect(memory / "memory.db") as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = (memory / "memory.db").read_bytes()
    for arguments in (("ask", "where?"), ("ingest", str(pictures), "--recipe", recipe)):
        code, _, err = run(*arguments, "--memory", str(memory))
        assert code == 1
        assert "newer" in one_line(err)
    assert (memory / "memory.db").read_bytes() == before


def test_a_damaged_database_is_told(run: Run, memory: Path) -> None:
    path = memory / "memory.db"
    path.write_bytes(b"\x00" * 100 + path.read_bytes()[100:])
    code, _, err = run("ask", "where is it?", "--memory", str(memory))
    assert code == 1
    one_line(err)
    code, out, err = run("memory", "check", "--memory", str(memory), "--json")
    assert (code, err, json.loads(out)["ok"]) == (1, "", False)
    assert "is damaged" in json.loads(out)["problems"][0]


@pytest.mark.parametrize("size", [0, 4096])
def test_an_empty_database_is_told_everywhere_and_no_new_memory_is_made_of_it(
    run: Run, memory: Path, recipe: str, pictures: Path, size: int
) -> None:
    path = memory / "memory.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.write_bytes(b"")
    if size:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        assert path.stat().st_size == size
    before = path.read_bytes()
    for command in (
        ("ingest", str(pictures), "--recipe", recipe, "--again"), ("memory", "check"), ("memory", "compact"), ("memory", "stats"),
        ("ask", "where?"), ("forget", "--stream", "walk"),
    ):  # fmt: skip
        code, out, err = run(*command, "--memory", str(memory))
        assert (code, out) == (1, ""), command
        assert f"memory {memory} is damaged: memory.db is empty; restore a backup" in one_line(err)
    assert path.read_bytes() == before


def test_a_full_disk_ends_with_one_line_and_keeps_what_was_committed(run: Run, recipe: str, pictures: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small file system needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)], capture_output=True, check=False).returncode:
        pytest.skip("no small file system can be mounted here")
    try:
        code, _, err = run("ingest", str(pictures), "--memory", str(disk / "m"), "--recipe", recipe)
        assert code == 1
        assert "full" in one_line(err)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_interrupted_ingest_commits_and_goes_on_later(recipe: str, run: Run, tmp_path: Path) -> None:
    film, memory = video(tmp_path / "long.mp4", 1200), tmp_path / "m"
    command = [sys.executable, "-m", "edgemem", "ingest", str(film), "--memory", str(memory), "--recipe", recipe]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(600):
            if process.poll() is not None or (memory / "memory.db").exists():
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    code, _, err = run("ingest", str(film), "--memory", str(memory), "--recipe", recipe, "--json")
    assert code == 0, err
    whole = tmp_path / "whole"
    assert run("ingest", str(film), "--memory", str(whole), "--recipe", recipe)[0] == 0
    counts = [json.loads(run("memory", "stats", "--memory", str(directory), "--json")[1])["moments"] for directory in (memory, whole)]
    assert counts[0] == counts[1] > 0


def test_a_recording_with_a_date_in_the_future_makes_nothing_too_old(run: Run, recipe: str, tmp_path: Path) -> None:
    def kept() -> list[str]:
        return [one["stream"] for one in json.loads(run("timeline", "--memory", str(tmp_path / "m"), "--json")[1])["events"]]

    rule = ("--recipe", recipe, "--set", "retention=[{keep_days = 30}]", "--memory", str(tmp_path / "m"))
    film = str(video(tmp_path / "walk.mp4", 30))
    assert run("ingest", film, *rule)[0] == 0
    assert run("ingest", film, *rule, "--again", "--stream", "future", "--start", "2099-01-01")[0] == 0
    assert set(kept()) == {"walk", "future"}
    assert run("ingest", film, *rule, "--again", "--stream", "past", "--start", "2020-06-01")[0] == 0
    assert set(kept()) == {"walk", "future"}


STOPPED = """
import os, sys
from edgemem.cli.main import main
from edgemem.see import pipeline
see, pipeline.STOP_S = pipeline.Pipeline._see, 60.0
def stopped(self, frame):
    see(self, frame)
    if frame.seq == 10:
        os.kill(os.getpid(), int(sys.argv[1]))
pipeline.Pipeline._see = stopped
main(sys.argv[2:])
"""
"""The command line, which gets the signal at the eleventh frame."""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_ingest_does_not_pass_for_a_whole_one(recipe: str, run: Run, tmp_path: Path, number: int, code: int) -> None:
    film = video(tmp_path / "long.mp4", 100)
    given = ["ingest", str(film), "--memory", str(tmp_path / "m"), "--recipe", recipe]
    command = [sys.executable, "-c", STOPPED, str(int(number)), *given, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    report = json.loads(done.stdout)
    assert (done.returncode, report["interrupted"]) == (code, True), done.stderr
    assert report["frames_seen"] < 20
    assert "note: interrupted; run the same command again to go on" in done.stderr
    code, out, err = run(*given, "--json")
    assert (code, json.loads(out)["interrupted"]) == (0, False), err


def test_engines_whose_files_are_cut_short_or_missing_are_damaged(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Such a file makes its engine one that is not fetched; the check is of what was fetched all the same."""
    folder = home / "engines" / "efficientnet-lite3"
    folder.mkdir(parents=True)
    (folder / "efficientnet-lite3.onnx").write_bytes(b"x" * 100)
    with pytest.raises(SystemExit) as ended:
        main(["engines", "check", "--json"])
    checked = json.loads(capsys.readouterr().out)
    assert ended.value.code == 1
    assert checked["checked"] == ["efficientnet-lite3"]
    assert checked["problems"]
    shutil.rmtree(folder)
    with pytest.raises(SystemExit) as ended:
        main(["engines", "check"])
    assert ended.value.code == 0
