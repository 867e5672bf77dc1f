"""How long the daemon takes to start, to remember its first frame, to start again after kill -9, and to stop.

    .venv/bin/python tools/bench/daemon.py [--recipe default] [--rounds 5] [--seconds 5]

The camera is a network camera on this machine that sends ten pictures a second. Each round starts on a new memory, kills the daemon after
some seconds, starts it again and stops it. "first frame" is when its row can be read from the memory. Times are in seconds, with the CPU
time of the daemon until then; `import` is the time in which Python imports the daemon's modules, the limit below which no start can be.
"CPU per frame" is measured from the first frame to the kill, and "memory" is the peak of resident memory then, in MB.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from edgemem.extend.testing import SyntheticCamera
from edgemem.see.pixels import encode_jpeg
from edgemem.serve.client import call
from edgemem.serve.messages import AgentStatus, StatusRequest

_LIMIT_S = 120.0
PROGRAM = (sys.executable, "-m", "edgemem")


@contextlib.contextmanager
def camera() -> Iterator[str]:
    """URL of a motion-JPEG camera of ten pictures a second."""
    pictures = [encode_jpeg(frame.image, 90) for frame in SyntheticCamera(60.0, scene_s=2.0, side_px=640).frames()]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "multipart/x-mixed-replace;boundary=frame")
            self.end_headers()
            with contextlib.suppress(OSError):
                for number in range(10**6):
                    jpeg = pictures[number % len(pictures)]
                    self.wfile.write(b"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n" % (len(jpeg), jpeg))
                    time.sleep(0.1)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/cam"
    server.shutdown()


def moments(memory: Path) -> int:
    """Moments that can be read now."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(f"file:{memory}/memory.db?mode=ro", uri=True)) as database:
        return int(database.execute("SELECT count(*) FROM moment").fetchone()[0])
    return 0


def cpu_s(process: int) -> float:
    """CPU time of a process and its threads (proc(5), fields 14 and 15 of stat)."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Round:
    """Daemons on one memory, with their times by name."""

    def __init__(self, folder: Path, url: str, recipe: str) -> None:
        self.times: dict[str, float] = {}
        self._memory, self._notify = folder / "memory", folder / "notify"
        self._settings = folder / "edgemem.toml"
        self._settings.write_text(
            f'recipe = "{recipe}"\n[run]\nmemory = "{self._memory}"\n[[run.sources]]\nsource = "{url}"\nstream = "door"\n', encoding="utf-8"
        )
        self._manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._manager.bind(str(self._notify))
        self._manager.settimeout(_LIMIT_S)

    def start(self, name: str) -> subprocess.Popen[bytes]:
        """Start a daemon: until it is ready, and until it has remembered one more moment."""
        before, began = moments(self._memory), time.monotonic()
        process = subprocess.Popen(
            [*PROGRAM, "run", "--config", str(self._settings)], stderr=subprocess.DEVNULL,
            env={**os.environ, "NOTIFY_SOCKET": str(self._notify)},
        )  # fmt: skip
        while not self._manager.recv(4096).startswith(b"READY=1"):
            pass
        self.times[f"{name}: ready"] = time.monotonic() - began
        _until(lambda: moments(self._memory) > before)
        self.times[f"{name}: first frame"] = time.monotonic() - began
        self.times[f"{name}: CPU until then"] = cpu_s(process.pid)
        return process

    def _frames(self) -> int:
        """Frames that the running daemon has handled."""
        return sum(stream.frames for stream in call(self._memory, StatusRequest(), AgentStatus, 10.0).streams)

    def run(self, seconds: float) -> dict[str, float]:
        """One round."""
        process = self.start("start")
        frames, spent_s = self._frames(), cpu_s(process.pid)
        time.sleep(seconds)
        self.times["CPU per frame"] = (cpu_s(process.pid) - spent_s) / max(1, self._frames() - frames)
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        self.times["memory"] = int(status.partition("VmHWM:")[2].split()[0]) / 1000
        process.kill()
        process.wait()
        process = self.start("after kill -9")
        time.sleep(2.0)
        kept, began = moments(self._memory), time.monotonic()
        process.send_signal(signal.SIGTERM)
        if process.wait(_LIMIT_S) != 0 or moments(self._memory) < kept:
            raise SystemExit("it did not end cleanly")
        self.times["stop"] = time.monotonic() - began
        self._manager.close()
        return self.times


def _until(what: Callable[[], object]) -> None:
    limit = time.monotonic() + _LIMIT_S
    while not what():
        if time.monotonic() > limit:
            raise SystemExit("nothing was remembered")
        time.sleep(0.02)


def imports_s() -> float:
    """How long Python takes to import the daemon's modules."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import edgemem.cli.main, edgemem.device.agent"], check=True)
    return time.monotonic() - began


def main() -> None:
    """Measure and print a table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--recipe", default="default", help="recipe of the stream")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=5.0, help="how long it sees before it is killed")
    chosen, found = options.parse_args(), dict[str, list[float]]()
    with camera() as url:
        for _ in range(chosen.rounds):
            found.setdefault("import", []).append(imports_s())
            with tempfile.TemporaryDirectory() as folder:
                for name, seconds in Round(Path(folder), url, chosen.recipe).run(chosen.seconds).items():
                    found.setdefault(name, []).append(seconds)
    print(f"recipe {chosen.recipe}, {chosen.rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name, values in found.items():
        print(f"{name:28} median {statistics.median(values):6.2f}  least {min(values):6.2f}  most {max(values):6.2f}")


if __name__ == "__main__":
    main()
