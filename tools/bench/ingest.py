"""Speed and memory of ingesting a 1080p file.

    .venv/bin/python tools/bench/ingest.py [CLIP...] [--seconds 300] [--recipes default,vam]

Builds a 1080p25 H.264 file (a key frame every 2 s) from the clips, each enlarged and shown for 12 s, every second time with a sign drawn
into it. It runs `edgemem ingest` on the file as a user would, and measures: speed relative to real time, processor time, memory during the
run, dropped frames. Each recipe runs three times in turn: as it is, with text searched at full scale at once (the peer), and without
reading text. "All cores" is the speed at which the same processor time would keep all cores busy to the end. The limit is decoding every
frame of the same file, and decoding key frames only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import av
import cv2
import numpy as np
from _clips import clips

from edgemem.extend.sources import open_source
from edgemem.infer.card import cards_dir
from edgemem.records import Image

WIDTH, HEIGHT, FPS, SHOT_S = 1920, 1080, 25, 12
PLACES = ("PLATFORM 7", "ROOM 214", "EXIT C", "GATE B12", "CAFE OPEN", "NO ENTRY")


def shots(clips: Sequence[str], seconds: int) -> Iterator[Image]:
    """`seconds` of pictures at 25 fps: the clips in turn, each from a later position every time; every second one has a sign."""
    loaded = [[frame.image for frame in itertools.islice(open_source(clip, rate_fps=FPS).frames(), 250)] for clip in clips]
    rng = np.random.default_rng(0)
    for shot in range(-(-seconds // SHOT_S)):
        pictures = loaded[shot % len(loaded)]
        for i in range(min(SHOT_S, seconds - shot * SHOT_S) * FPS):
            at = (shot * 37 + i) % (2 * len(pictures))  # forwards, then backwards
            picture = cv2.resize(pictures[min(at, 2 * len(pictures) - 1 - at)], (WIDTH, HEIGHT), interpolation=cv2.INTER_LINEAR)
            noise = rng.integers(-4, 5, (HEIGHT // 2, WIDTH // 2), np.int16)
            picture = np.clip(picture + np.repeat(np.repeat(noise, 2, 0), 2, 1)[..., None], 0, 255).astype(np.uint8)
            if shot % 2:
                cv2.putText(picture, PLACES[shot // 2 % len(PLACES)], (200, 300), cv2.FONT_HERSHEY_DUPLEX, 4, (255, 255, 255), 10)
            yield picture


def build(path: Path, clips: Sequence[str], seconds: int) -> None:
    """Encode the file; kept between runs."""
    if path.exists():
        return
    part = path.with_suffix(".part.mp4")
    with av.open(str(part), "w") as out:
        stream = out.add_stream("libx264", rate=FPS, options={"preset": "veryfast", "crf": "26"})
        stream.width, stream.height, stream.pix_fmt, stream.gop_size = WIDTH, HEIGHT, "yuv420p", 2 * FPS
        for picture in shots(clips, seconds):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        out.mux(stream.encode(None))
    part.rename(path)


def limits(path: Path, seconds: int) -> None:
    """Print the time of decoding alone."""
    for name, skip in (("decoding every frame", "DEFAULT"), ("decoding key frames only", "NONKEY")):
        started = time.perf_counter()
        with av.open(str(path)) as container:
            container.streams.video[0].codec_context.skip_frame = skip
            container.streams.video[0].thread_type = "AUTO"
            count = sum(1 for _ in container.decode(video=0))
        spent = time.perf_counter() - started
        print(f"  {name:34} {seconds / spent:7.1f} x real time  ({count} frames)")


def watch(command: list[str]) -> tuple[dict[str, object], float, list[float]]:
    """Run a command; (its JSON, seconds, MB of resident memory twice a second)."""
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, env={**os.environ, "OMP_NUM_THREADS": "2"})
        memory = []
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text()
            found = re.search(r"VmRSS:\s+(\d+)", status)
            memory += [int(found[1]) / 1024] if found else []
            time.sleep(0.5)
        spent = time.perf_counter() - started
        output.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        return json.load(output), spent, memory


WAYS = ("as it is", "text searched at full scale", "text not read")


def options_of(way: str, recipe: str, program: Path, folder: Path) -> list[str]:
    """The options of `edgemem ingest` for one way to run a recipe; what they name is written to `folder`."""
    if way == WAYS[1]:
        card = (cards_dir() / "ppocr-v6.toml").read_text()
        (folder / "ppocr-v6.toml").write_text(f"{card}\n[parameters]\nrough = 0.0\n")
        return ["--recipe", recipe, "--set", f'engines.cards=["{folder}"]']
    if way == WAYS[2]:
        text = subprocess.run([program, "recipes", recipe], check=True, capture_output=True, text=True).stdout
        (folder / "bench.toml").write_text(text.replace('[[perceive]]\nuse = "read_text"\n', ""))
        return ["--recipe", str(folder / "bench.toml")]
    return ["--recipe", recipe]


def run(path: Path, recipe: str, way: str) -> None:
    """Ingest once and print the figures."""
    program = Path(sys.executable).with_name("edgemem")
    with tempfile.TemporaryDirectory() as folder:
        options = options_of(way, recipe, program, Path(folder))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        report, whole_s, memory = watch([str(program), "ingest", str(path), "--memory", f"{folder}/memory", "--json", *options])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    video_s, seen_s = float(str(report["seconds_of_video"])), float(str(report["seconds_spent"]))
    quarter = max(1, len(memory) // 4)
    print(f"  {f'recipe {recipe}, {way}':46}{video_s / seen_s:6.1f} x real time  ({video_s / whole_s:.1f} x with loading the models)")
    print(f"    {cpu_s:.1f} CPU-s with loading: {(os.cpu_count() or 1) * video_s / cpu_s:.1f} x real time on all cores")
    print(
        f"    seen {report['frames_seen']}, kept {report['moments_kept']}, segments {report['segments']}, documents {report['documents']}"
    )
    print(f"    dropped {report['dropped']}, {report['disk_bytes']:,} bytes on disk")
    quarters = [max(memory[i * quarter : (i + 1) * quarter] or [0]) for i in range(4)]
    print(f"    resident memory: peak {max(memory):.0f} MB; peaks of the four quarters {' '.join(f'{q:.0f}' for q in quarters)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", nargs="*", help="default: the clips of the demo")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--recipes", default="default,vam")
    parser.add_argument("--file", type=Path, default=Path(tempfile.gettempdir()) / "edgemem-bench-1080p.mp4", help="where the file is kept")
    options = parser.parse_args()
    build(options.file, clips(options.clips), options.seconds)
    megabytes, load, cores = options.file.stat().st_size / 1e6, os.getloadavg()[0], os.cpu_count()
    print(f"{options.seconds} s of 1080p25 H.264, {megabytes:.0f} MB; load {load:.1f} on {cores} cores:")
    limits(options.file, options.seconds)
    for recipe in options.recipes.split(","):
        for way in WAYS:
            run(options.file, recipe, way)


if __name__ == "__main__":
    main()
