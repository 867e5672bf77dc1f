"""Mutual cost of asking and seeing: latency of `search` while a camera is seen and while idle, and missed frames.

    .venv/bin/python tools/bench/asking.py [--seconds 60] [--rows 10000] [--every 0.25]

A real `edgemem run` with the default recipe and all engines sees a network camera of this machine (clips of the demo, ten pictures per
second, 1280 px; it processes one per second) into a synthetic memory. Three runs of `--seconds`: questions while the camera is away (idle),
seeing without questions, questions while it sees. Questions go in turns through the agent's socket and, with its own models, from this
process to the files. Results: the ratio of the 95th percentiles (limit 2), and frames missed because the agent was busy (limit: not more
than without questions).
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from _clips import clips
from search import QUERIES, fill

from edgemem.answer.retrieve import Query, search
from edgemem.cli.app import CommandContext
from edgemem.extend.sources import open_source
from edgemem.remember.view import View
from edgemem.see.pixels import encode_jpeg, shrink
from edgemem.serve.client import AgentUnavailable, call
from edgemem.serve.messages import AgentStatus, SearchReply, SearchRequest, StatusRequest

LIMIT = 2.0


@contextmanager
def camera(pictures: list[bytes]) -> Iterator[tuple[str, threading.Event]]:
    """(URL, event) of a camera that sends ten pictures a second to each caller while the event is set."""
    there = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not there.is_set():
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "multipart/x-mixed-replace;boundary=frame")
            self.end_headers()
            try:
                for jpeg in itertools.takewhile(lambda _: there.is_set(), itertools.cycle(pictures)):
                    self.wfile.write(b"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n" % (len(jpeg), jpeg))
                    time.sleep(0.1)
            except OSError:
                return

        def log_message(self, *_: object) -> None:
            """Print no line for each caller."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/cam", there
    finally:
        there.clear()
        server.shutdown()


@contextmanager
def daemon(folder: Path, url: str, *, seeing: bool) -> Iterator[Path]:
    """A running agent that is ready; its output is in `said.txt`."""
    settings = folder / "edgemem.toml"
    settings.write_text(f'[run]\nmemory = "{folder / "memory"}"\n[[run.sources]]\nsource = "{url}"\nstream = "bench"\n')
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen([sys.executable, "-m", "edgemem", "run", "--config", str(settings)], stderr=said)
    try:
        while not status(folder / "memory", seeing=seeing):
            if process.poll() is not None:
                raise SystemExit((folder / "said.txt").read_text())
            time.sleep(0.2)
        yield folder / "memory"
    finally:
        process.terminate()
        process.wait()


def status(memory: Path, *, seeing: bool) -> bool:
    """Whether the agent runs and, if it should, has seen something."""
    try:
        found = call(memory, StatusRequest(), AgentStatus, 5.0)
    except AgentUnavailable:
        return False
    return not seeing or any(one.frames > 3 for one in found.streams)


def asked(seconds: float, every_s: float, ways: dict[str, Callable[[str], object]]) -> dict[str, list[float]]:
    """Milliseconds of each search, by way; the ways alternate."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():  # the first loads models
        way(QUERIES[0])
    end = time.monotonic() + seconds
    for query, name in zip(itertools.cycle(QUERIES), itertools.cycle(ways), strict=False):
        if time.monotonic() > end:
            return times
        start = time.perf_counter()
        ways[name](query)
        times[name].append(1000 * (time.perf_counter() - start))
        time.sleep(every_s)
    return times


def missed(folder: Path) -> tuple[int, int]:
    """(frames seen, frames that came while the agent was busy), from its last output."""
    said = (folder / "said.txt").read_text()
    seen, busy = re.search(r"(\d+) frames seen", said), re.search(r"busy (\d+)", said)
    return int(seen[1]) if seen else 0, int(busy[1]) if busy else 0


def percentiles(times: list[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--every", type=float, default=0.25, help="seconds between two questions")
    args = parser.parse_args()
    session = CommandContext(None, ())
    frames = itertools.chain.from_iterable(itertools.islice(open_source(clip, rate_fps=10).frames(), 100) for clip in clips([]))
    pictures = [encode_jpeg(shrink(frame.image, 1280, smooth=True), 85) for frame in frames]
    with tempfile.TemporaryDirectory() as scratch, camera(pictures) as (url, there):
        folder = Path(scratch)
        print(f"filled {args.rows} moments in {fill(folder / 'memory', args.rows, session):.0f} s; load {os.getloadavg()[0]:.1f}")

        def through_agent(query: str) -> object:
            return call(folder / "memory", SearchRequest(query=query, settings=session.digest), SearchReply, 60.0)

        def from_files(query: str) -> object:
            with View.open(folder / "memory") as view:
                return search(view, Query(text=query), session.kit().retrievers)

        ways: dict[str, Callable[[str], object]] = {"agent": through_agent, "files": from_files}
        with daemon(folder, url, seeing=False):
            idle = asked(args.seconds, args.every, ways)
        there.set()
        with daemon(folder, url, seeing=True):
            time.sleep(args.seconds)
        unasked = missed(folder)
        with daemon(folder, url, seeing=True):
            busy = asked(args.seconds, args.every, ways)
        while_asked = missed(folder)
    for name in ways:
        (idle_50, idle_95), (busy_50, busy_95) = percentiles(idle[name]), percentiles(busy[name])
        print(
            f"search, {name:6} idle p50 {idle_50:6.1f} p95 {idle_95:6.1f} ms   seeing p50 {busy_50:6.1f} p95 {busy_95:6.1f} ms"
            f"   p95 ratio {busy_95 / idle_95:4.2f} (limit {LIMIT:g}; {len(idle[name])} and {len(busy[name])} searches)"
        )
    told = [f"{busy_frames} of {seen + busy_frames}" for seen, busy_frames in (unasked, while_asked)]
    print(f"frames missed: {told[0]} unasked, {told[1]} asked; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
