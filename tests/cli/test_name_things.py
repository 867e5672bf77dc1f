"""`edgemem name` for things, with the models that edgemem ships: from a picture in the memory or a file to an answer, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from edgemem.cli.main import main
from edgemem.infer.engines import Engines
from edgemem.records import US
from edgemem.remember.view import View
from edgemem.see.taught import LESSON

RECIPE = """
summary = "Pictures only, every one of them, one in two seconds."
rate_fps = 0.5
[[perceive]]
use = "joint"
crops = {crops}
[segment]
use = "fixed_window"
"""
START = "2026-05-04T08:00:00Z"
LESSON_S, MET_S = 8, 24
Run = Callable[..., tuple[int, str, str]]


def card(seed: int, side: int = 200) -> np.ndarray:
    rng = np.random.default_rng(seed)
    image = np.full((side, side, 3), rng.integers(60, 200, 3), np.uint8)
    for _ in range(60):
        x, y, size = (int(v) for v in (*rng.integers(0, side, 2), rng.integers(4, 26)))
        colour = tuple(int(v) for v in rng.integers(0, 256, 3))
        cv2.rectangle(image, (x, y), (x + size, y + size), colour, -1)
        cv2.circle(image, (x, y), size // 2, colour[::-1], -1)
    return image


def scene(place: int, second: int) -> np.ndarray:
    """A place, and in it the card at two times: large, then small and turned at another place."""
    image = cv2.resize(card(100 + place, 40), (640, 480), interpolation=cv2.INTER_CUBIC)
    if second in {LESSON_S, LESSON_S + 2}:
        image[120:380, 190:450] = cv2.resize(card(1), (260, 260))
    if second in {MET_S, MET_S + 2}:
        image[300:420, 40:160] = cv2.rotate(cv2.resize(card(1), (120, 120), interpolation=cv2.INTER_AREA), cv2.ROTATE_90_CLOCKWISE)
    return image


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("things") / "desk"
    path.mkdir()
    for number in range(15):
        second = 2 * number
        cv2.imwrite(str(path / f"{number}.jpg"), scene(1 if second <= 16 else 2, second), [cv2.IMWRITE_JPEG_QUALITY, 92])
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([*map(str, arguments), "--set", "engines.threads=2"])
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def ingest(run: Run, folder: Path, engines: Engines, tmp_path: Path) -> Callable[[bool], Path]:
    def call(crops: bool) -> Path:
        assert engines.has("embed_joint")
        recipe, memory = tmp_path / "pictures.toml", tmp_path / "memory"
        recipe.write_text(RECIPE.format(crops=str(crops).lower()))
        code, _, err = run("ingest", folder, "--memory", memory, "--recipe", recipe, "--start", START)
        assert code == 0, err
        return memory

    return call


def moment_at(memory: Path, second: int) -> str:
    with View.open(memory) as view:
        return next(f"m{moment.id}" for moment in view.moments() if moment.offset_us == second * US)


def cited(out: str) -> list[str]:
    told = json.loads(out)
    return [one["id"] for one in told.get("evidence") or told["hits"]]


def test_what_was_shown_once_is_found_again_until_it_is_taken_back(run: Run, ingest: Callable[[bool], Path], tmp_path: Path) -> None:
    memory = ingest(True)
    lesson, met = moment_at(memory, LESSON_S), {moment_at(memory, MET_S), moment_at(memory, MET_S + 2)}
    code, out, err = run("name", lesson, "my keys", "--memory", memory)
    assert code == 0, err
    assert out.startswith(f"{lesson} shows keys: seen again in ")
    assert "last at 08:00:2" in out
    code, out, _ = run("ask", "Where are my keys?", "--memory", memory, "--json")
    assert code == 0
    answer = json.loads(out)
    assert "what looks like the keys you showed me at 08:00:2" in answer["answer"]
    assert answer["evidence"][0]["id"] in met
    assert answer["confidence"] >= 0.5
    assert cited(run("search", "my keys", "--memory", memory, "--channel", "frame", "--json")[1])[0] in met
    code, out, _ = run("name", lesson, "--undo", "--memory", memory)
    assert (code, out) == (0, f"taken back: {lesson} is not keys\n")
    assert "you showed me" not in run("ask", "Where are my keys?", "--memory", memory)[1]

    picture = tmp_path / "card.png"
    cv2.imwrite(str(picture), cv2.resize(card(1), (400, 400)))
    code, out, _ = run("name", picture, "our Card", "--memory", memory, "--json", "--box", "20,20,380,380")
    told = json.loads(out)
    assert (told["thing"], told["unsearched"]) == ("Card", 0)
    assert cited(out)[0] in met
    with View.open(memory) as view:
        (shown,) = {part.moment_id for part in view.parts(kind=LESSON)}
        assert view.moment(shown).stream == "shown"
        assert min(part.box.x0 for part in view.parts(kind=LESSON)) == 0.0
        assert max(part.box.x0 for part in view.parts(kind=LESSON)) == pytest.approx(0.05, abs=1e-4)
    assert run("memory", "check", "--memory", memory)[0] == 0
    assert run("name", "card", "--undo", "--memory", memory)[0] == 0
    with View.open(memory) as view:
        assert [stream.name for stream in view.streams()] == ["desk"]


def test_a_memory_without_crops_is_looked_at_again(run: Run, ingest: Callable[[bool], Path]) -> None:
    memory = ingest(False)
    with View.open(memory) as view:
        assert not view.parts()
    code, out, err = run("name", moment_at(memory, LESSON_S), "my keys", "--memory", memory, "--json", "--box", "0.3,0.25,0.7,0.8")
    assert code == 0, err
    assert set(cited(out)) >= {moment_at(memory, MET_S)}
    with View.open(memory) as view:
        assert not view.moments_without("crop", 1)


def test_what_cannot_be_taught_is_refused_in_one_line_before_it_is_read(run: Run, ingest: Callable[[bool], Path], tmp_path: Path) -> None:
    memory = ingest(True)
    lesson = moment_at(memory, LESSON_S)
    text, large, damaged = tmp_path / "a.jpg", tmp_path / "b.png", tmp_path / "c.jpg"
    text.write_text("no picture")
    large.write_bytes(cv2.imencode(".png", np.zeros((8000, 8000), np.uint8))[1].tobytes())
    damaged.write_bytes(cv2.imencode(".jpg", card(1))[1].tobytes()[:60])
    before = [moment_at(memory, LESSON_S)]
    for arguments, says in (
        ((lesson,), "give either a name"),
        ((lesson, "my keys", "--undo"), "give either a name"),
        ((lesson, "--undo", "--box", "0,0,1,1"), "--box belongs to a name"),
        ((lesson, "--undo"), "was not taught"),
        (("m999", "my keys"), "has no m999"),
        ((lesson, "my "), "1 to 100 characters"),
        ((lesson, "my keys", "--box", "1,2,3"), "give left,top,right,bottom"),
        ((lesson, "my keys", "--box", "0,0,700,480"), "which is 640 x 480"),
        ((lesson, "my keys", "--box", "0.5,0.5,0.4,0.9"), "lies outside"),
        (("nowhere.jpg", "my keys"), "nothing that can be named"),
        ((text, "my keys"), "not a picture"),
        ((large, "my keys"), "at most 60 million"),
        ((damaged, "my keys"), "picture"),
        (("speaker:1", "Tomas", "--box", "0,0,1,1"), "--box is for things"),
    ):
        code, _, err = run("name", *arguments, "--memory", memory)
        assert code in {1, 2}, arguments
        assert says in err
        assert err.count("\n") == 1
    assert [moment_at(memory, LESSON_S)] == before
    with View.open(memory) as view:
        assert not view.parts(kind=LESSON)
        assert [stream.name for stream in view.streams()] == ["desk"], "a file that is refused leaves no picture behind"
