"""Runs in the finished container: remembers a short film of moving squares and finds what was said in it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import av
import numpy as np

RECIPE = 'summary = "No models."\nrate_fps = 2.0\n[segment]\nuse = "fixed_window"\n'
SAID = "1\n00:00:06,000 --> 00:00:09,000\nI left the keys on the shelf.\n"


def film(path: Path) -> None:
    """Ten seconds of a moving square."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("mpeg4", rate=5)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        for number in range(50):
            picture = np.full((240, 320, 3), 40 + 80 * (number // 20), np.uint8)
            picture[60:160, 4 * number : 4 * number + 60] = (200, 120, 40)
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                out.mux(packet)
        for packet in stream.encode():
            out.mux(packet)


def edgemem(*arguments: object) -> dict[str, object]:
    """The JSON object that a command prints."""
    command = [sys.executable, "-m", "edgemem", *map(str, arguments), "--json"]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def main() -> None:
    """Remember, search, and look at the machine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        film(folder / "walk.mp4")
        (folder / "walk.srt").write_text(SAID, encoding="utf-8")
        (folder / "plain.toml").write_text(RECIPE, encoding="utf-8")
        kept = edgemem("ingest", folder / "walk.mp4", "--memory", folder / "memory", "--recipe", folder / "plain.toml")
        found = edgemem("search", "keys shelf", "--memory", folder / "memory", "--channel", "speech")
        assert kept["moments_kept"], kept
        assert "keys on the shelf" in json.dumps(found), found
        print(json.dumps(edgemem("doctor"), indent=1))
    print("edgemem OK")


if __name__ == "__main__":
    main()
