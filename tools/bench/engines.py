"""Time of one call of every engine, and of the classifier in int8, in float and in its original form.

    .venv/bin/python tools/bench/engines.py [--rounds N] [--threads N]

On photographs resized to 1920x1080, the size of camera pictures. All calls are timed in turns, so that other load on the machine affects
all of them equally. It prints medians: processor time (of all threads) and wall time in milliseconds. The classifier runs on 1 and on 7
crops (those of a kept picture), per crop: the shipped int8 conversion, the same weights in float, and the original file in LiteRT
(ai-edge-litert).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import msgspec
import numpy as np
import numpy.typing as npt
from ai_edge_litert.interpreter import Interpreter

from edgemem.cli.app import CommandContext
from edgemem.cli.engines import fetch_all
from edgemem.infer.card import EngineCard, WeightSource
from edgemem.infer.decode_image import resize, tensor
from edgemem.infer.fetch import extract, fetch_archive, installed
from edgemem.infer.roles import Engine
from edgemem.records import Image, Matrix

PICTURES = WeightSource(
    kind="pypi",
    package="scikit-image",
    version="0.25.2",
    members={name: f"skimage/data/{name}.png" for name in ("astronaut", "chelsea", "coffee", "motorcycle_left")},
)
CLASSIFIER = "efficientnet-lite3"
CROPS = 7
ORIGINAL = "original, LiteRT"
SENTENCE = "where did I leave my coffee mug"
Calls = Mapping[str, Callable[[], Any]]
Times = dict[str, tuple[float, float]]


def pictures(home: Path) -> dict[str, Image]:
    """Photographs by name, BGR, 1920x1080."""
    with tempfile.TemporaryDirectory() as folder:
        files = extract(PICTURES, fetch_archive(PICTURES, home / "archives"), Path(folder))
        return {name: np.asarray(cv2.resize(cv2.imread(str(path)), (1920, 1080)), np.uint8) for name, path in files.items()}


def measure(calls: Calls, rounds: int) -> Times:
    """Median processor and wall time of each call in milliseconds, after one that does not count."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            wall, processor = time.perf_counter(), time.process_time()
            call()
            taken[name].append((time.process_time() - processor, time.perf_counter() - wall))
    return {
        name: (1e3 * statistics.median(p for p, _ in runs), 1e3 * statistics.median(w for _, w in runs)) for name, runs in taken.items()
    }


def role_calls(session: CommandContext, shown: Mapping[str, Image]) -> dict[str, Callable[[], Any]]:
    """One call per available role; sentences differ, because vectors of texts are cached."""
    role, photograph = session.engines.role, shown["astronaut"]
    sentences: Iterator[str] = (f"{SENTENCE} {number}" for number in range(10**9))
    calls: dict[str, Callable[[], Any]] = {
        "classify": lambda: role("classify").classify([photograph]),
        "detect": lambda: role("detect").detect(photograph),
        "detect_face": lambda: role("detect_face").detect_faces(photograph),
        "embed_face": lambda: role("embed_face").embed_face(photograph, face),
        "embed_text": lambda: role("embed_text").embed_text([next(sentences)]),
        "read_text": lambda: role("read_text").read(sign),
    }
    sign = cv2.rectangle(shown["coffee"].copy(), (600, 300), (1300, 500), (255, 255, 255), -1)
    cv2.putText(sign, "NOTICE 4711", (640, 430), cv2.FONT_HERSHEY_SIMPLEX, 3, (0, 0, 0), 6)
    if session.engines.has("detect_face"):
        face = role("detect_face").detect_faces(photograph)[0]
    return {name: call for name, call in calls.items() if session.engines.has(name)}


class Original:
    """The TensorFlow Lite file in LiteRT, one picture a run, as it was exported."""

    def __init__(self, path: Path, threads: int) -> None:
        self._interpreter: Any = Interpreter(str(path), num_threads=threads)
        self._interpreter.allocate_tensors()
        self._input = self._interpreter.get_input_details()[0]["index"]
        self._output = self._interpreter.get_output_details()[0]["index"]

    def classify(self, batch: Matrix) -> Matrix:
        """float32 [n, 1000] of pixels 0..255, float32 [n, 3, 280, 280]."""
        rows = []
        for pixels in batch.transpose(0, 2, 3, 1).astype(np.uint8):
            self._interpreter.set_tensor(self._input, np.ascontiguousarray(pixels[None]))
            self._interpreter.invoke()
            rows.append(self._interpreter.get_tensor(self._output)[0].astype(np.float32))
        return np.asarray(np.stack(rows) / 256, np.float32)


def loaded(session: CommandContext, card: EngineCard, path: Path) -> Engine:
    """A model file, loaded by the runtime in the settings."""
    return session.engines.runtimes.load(card, "model", path)


def classifiers(session: CommandContext, folder: Path) -> dict[str, Callable[[Matrix], npt.NDArray[np.generic]]]:
    """Three ways to run the classifier, by name."""
    card = session.cards[CLASSIFIER]
    assert card.convert is not None
    (source,) = card.source
    members = extract(source, fetch_archive(source, session.home / "archives"), folder)
    component = session.plugins.components("converters")[card.convert.name]
    settings = msgspec.convert({**card.convert.parameters, "quantised": False}, component.settings)
    component.factory(settings, None).convert(members, folder / "float.onnx")
    files = installed(card, session.home)
    assert files is not None
    whole, exact = loaded(session, card, files["model"]), loaded(session, card, folder / "float.onnx")
    return {
        "int8 ONNX (shipped)": lambda batch: whole.infer({"images": batch})["probabilities"],
        "float ONNX": lambda batch: exact.infer({"images": batch})["probabilities"],
        ORIGINAL: Original(members["model"], session.engines.threads).classify,
    }


def crops(shown: Mapping[str, Image]) -> Matrix:
    """The photographs and their quarters in the classifier's input format: float32 [n, 3, 280, 280]."""
    parts = [part for image in shown.values() for half in np.array_split(image, 2) for part in np.array_split(half, 2, axis=1)]
    return np.stack([tensor(resize(part, 280, 280), (0, 0, 0), (1, 1, 1), rgb=True) for part in (*shown.values(), *parts)])


def print_roles(session: CommandContext, shown: Mapping[str, Image], rounds: int) -> None:
    """One line per role."""
    calls = role_calls(session, shown)
    print(f"{'role':14}{'card':22}{'CPU ms':>8}{'wall ms':>9}{'card says':>11}")
    for name, (processor, wall) in measure(calls, rounds).items():
        card = session.engines.card(name)
        print(f"{name:14}{card.name:22}{processor:8.1f}{wall:9.1f}{card.cost.cpu_ms if card.cost else 0:11.0f}")
    steps = {
        "resize 1080p to 280": lambda: resize(shown["coffee"], 280, 280),
        "resize 1080p to 416": lambda: resize(shown["coffee"], 416, 416),
    }
    for name, (processor, wall) in measure(steps, rounds).items():
        print(f"{name:36}{processor:8.1f}{wall:9.1f}")


def print_classifiers(session: CommandContext, shown: Mapping[str, Image], rounds: int, folder: Path) -> None:
    """The three runs of the classifier, and how far they agree."""
    batch, ways = crops(shown), classifiers(session, folder)
    said = {name: np.asarray(run(batch), np.float32) for name, run in ways.items()}
    truth = said[ORIGINAL]
    columns = f"{'CPU / original':>16}{'same label':>12}{'cosine: least':>15}{'median':>9}"
    print(f"\n{'classifier, per crop':22}{'batch':>6}{'CPU ms':>8}{'wall ms':>9}{columns}")
    for size in (1, CROPS):
        times = measure({name: partial(run, batch[:size]) for name, run in ways.items()}, rounds)
        for name, (processor, wall) in times.items():
            same, cosine = agreement(said[name], truth)
            ratio = processor / times[ORIGINAL][0]
            least, middle = cosine.min(), np.median(cosine)
            print(f"{name:22}{size:6}{processor / size:8.1f}{wall / size:9.1f}{ratio:16.2f}{same:12.0%}{least:15.4f}{middle:9.4f}")


def agreement(said: Matrix, truth: Matrix) -> tuple[float, Matrix]:
    """Share of pictures with the same first label (ties count), and the cosine of each row of probabilities."""
    same = truth[np.arange(len(truth)), said.argmax(axis=1)] == truth.max(axis=1)
    lengths = np.linalg.norm(said, axis=1) * np.linalg.norm(truth, axis=1)
    return float(same.mean()), np.asarray((said * truth).sum(axis=1) / lengths, np.float32)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    session = CommandContext(None, (f"engines.threads={arguments.threads}",))
    fetch_all(session)
    shown = pictures(session.home)
    print_roles(session, shown, arguments.rounds)
    with tempfile.TemporaryDirectory() as folder:
        print_classifiers(session, shown, arguments.rounds, Path(folder))


if __name__ == "__main__":
    main()
