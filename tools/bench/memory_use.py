"""How much memory `edgemem ingest` takes at most, with everything on and for files that are made to take more.

    .venv/bin/python tools/bench/memory_use.py [FILE...] [--seconds 120] [--limit-mb 700]

Runs the recipe `default` as a user would: on a 1080p film in which somebody speaks (espeak-ng), on pictures as large as are taken and one
that opens to more than fits, and on a film with a gap of 40 years; or on the files given. Prints the peak of resident memory beside the
limit. Exit code 1 where one is above it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from _clips import clips
from ingest import build

from edgemem.records import SOUND_RATE_HZ

SPOKEN = "I put the keys on the kitchen table. The plumber comes at half past three. Gate seven is on the left, behind the bakery. "
YEAR_MS = 31_557_600_000


def with_speech(film: Path, path: Path, seconds: int) -> Path:
    """The film with a voice that speaks all the time; as it is where espeak-ng is missing."""
    program = shutil.which("espeak-ng")
    if program is None:
        print("  espeak-ng is missing: the film has no sound")
        return film
    wave = subprocess.run([program, "--stdout", SPOKEN * (seconds // 9 + 1)], capture_output=True, check=True).stdout
    voice = path.with_suffix(".wav")
    voice.write_bytes(wave)
    with av.open(str(film)) as pictures, av.open(str(voice)) as speech, av.open(str(path), "w") as out:
        shown, heard = out.add_stream_from_template(pictures.streams.video[0]), out.add_stream("aac", rate=SOUND_RATE_HZ, layout="mono")
        for packet in pictures.demux(video=0):
            if packet.dts is not None:
                packet.stream = shown
                out.mux(packet)
        resampler = av.AudioResampler("fltp", "mono", SOUND_RATE_HZ)
        for frame in speech.decode(audio=0):
            for piece in resampler.resample(frame):
                if piece.pts is None or piece.pts < seconds * SOUND_RATE_HZ:
                    out.mux(heard.encode(piece))
        out.mux(heard.encode(None))
    return path


def with_gap(path: Path) -> Path:
    """Two minutes of small pictures with forty years between them."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        rng = np.random.default_rng(0)
        images = (cv2.resize(rng.integers(0, 256, (12, 16, 3), np.uint8), (320, 240)) for _ in range(600))
        frames: Iterator[av.VideoFrame | None] = (av.VideoFrame.from_ndarray(image, format="bgr24") for image in images)
        packets = [packet for frame in (*frames, None) for packet in stream.encode(frame)]
        for number, packet in enumerate(packets):
            packet.time_base = Fraction(1, 1000)
            packet.pts = packet.dts = number * 100 + (40 * YEAR_MS if number >= len(packets) // 2 else 0)
            out.mux(packet)
    return path


def large_pictures(folder: Path) -> Path:
    """PNG, WebP and JPEG (baseline and progressive) as large as they may be, and PNG beyond it."""
    folder.mkdir()
    rows = cv2.resize(np.random.default_rng(1).integers(0, 256, (50, 80, 3), np.uint8), (8000, 5000))
    cv2.imwrite(str(folder / "1.png"), rows)
    cv2.imwrite(str(folder / "2.webp"), rows[:, :], [cv2.IMWRITE_WEBP_QUALITY, 60])
    cv2.imwrite(str(folder / "3.jpg"), rows, [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])
    cv2.imwrite(str(folder / "4.jpg"), cv2.resize(rows, (16_000, 10_000)))
    cv2.imwrite(str(folder / "5.png"), np.zeros((30_000, 30_000), np.uint8), [cv2.IMWRITE_PNG_COMPRESSION, 9])
    return folder


PROGRAM = """
import atexit, resource
from pathlib import Path
def tell():
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0], used.ru_utime + used.ru_stime)
atexit.register(tell)
from edgemem.cli.main import main
main()
"""
"""The command line; at its end the most memory (KiB) and the processor time of the process. `wait4` counts what the parent held as well."""


def peak_mb(source: Path, folder: Path) -> tuple[float, float, float]:
    """(peak of resident memory in MB, seconds, CPU-seconds) of one ingest with the recipe `default`."""
    memory = folder / f"memory-of-{source.stem}"
    command = [sys.executable, "-c", PROGRAM, "ingest", str(source), "--memory", str(memory), "--recipe", "default"]
    started = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"ingest of {source} ended with {done.returncode}")
    peak_kib, cpu_s = done.stdout.split()[-2:]
    return int(peak_kib) * 1024 / 1e6, time.perf_counter() - started, float(cpu_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="default: films and pictures that are made for it")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--limit-mb", type=float, default=700.0)
    options = parser.parse_args()
    print(f"limit {options.limit_mb:.0f} MB; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores:")
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = options.files
        if not sources:
            build(folder / "street.mp4", clips(()), options.seconds)
            talk = with_speech(folder / "street.mp4", folder / "speech.mp4", options.seconds)
            sources = [talk, with_gap(folder / "gap.mkv"), large_pictures(folder / "large")]
        for source in sources:
            peak, seconds, cpu_s = peak_mb(source, folder)
            worst = max(worst, peak)
            print(
                f"  {source.name:16} peak {peak:5.0f} MB, {peak / options.limit_mb:4.0%} of the limit  ({seconds:.0f} s, {cpu_s:.0f} CPU-s)"
            )
    if worst > options.limit_mb:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
