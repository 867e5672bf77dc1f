#!/bin/sh
# Runs the core on aarch64 under emulation (qemu-user): its import, a small ingest, a search, and a check of the memory.
# Needs Debian or Ubuntu, root for apt-get install, and package sources. Nothing outside DIR is changed but for qemu-user-static.
#
#   tools/aarch64_run.sh DIR [PYTHON]      DIR: a folder of 1 GB that may be used again; PYTHON: one with pip (default: python3)
#
# The Python is Debian's own (3.11 on Debian 12), the libraries are the aarch64 wheels that constraints.txt pins for it. Times mean nothing.
set -eu
dir=$(mkdir -p "$1" && cd "$1" && pwd) python=${2:-python3}
here=$(cd "$(dirname "$0")/.." && pwd)
root="$dir/root" apt="$dir/apt" site="$dir/site"

command -v qemu-aarch64-static >/dev/null || apt-get install -y -qq qemu-user-static

if [ ! -x "$root/usr/bin/python3" ]; then
  echo "unpacks Debian's Python for arm64"
  mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$root"
  : >"$apt/status"
  # A private state: the packages of this machine are not touched.
  in_apt() {
    apt-get -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root -o APT::Install-Recommends=false \
      -o Dir::State="$apt/state" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" "$@"
  }
  in_apt update -qq
  in_apt install -y -qq --download-only python3 libstdc++6 libgomp1 ca-certificates
  for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
fi

emulated() {
  env -i PATH=/usr/bin:/bin HOME="$dir" EDGEMEM_HOME="$dir/home" PYTHONPATH="$site:$here" PYTHONDONTWRITEBYTECODE=1 \
    qemu-aarch64-static -L "$root" "$root/usr/bin/python3" "$@"
}
version=$(emulated -c 'import sys; print("%d.%d" % sys.version_info[:2])')
echo "Python $version on $(emulated -c 'import platform; print(platform.machine())')"

if [ ! -e "$site/.installed" ]; then
  echo "installs the aarch64 wheels of the core's dependencies"
  needed=$("$python" - "$here/pyproject.toml" <<'PY'
import sys

try:
    import tomllib
except ImportError:
    import tomli as tomllib
with open(sys.argv[1], "rb") as file:
    print("\n".join(tomllib.load(file)["project"]["dependencies"]))
PY
  )
  echo "$needed" >"$dir/needed.txt"
  # The C library of Debian 12 is 2.36; a wheel for an older one runs on it.
  platforms=''
  for minor in 36 35 34 31 28 27 26 24 17; do platforms="$platforms --platform manylinux_2_${minor}_aarch64"; done
  # shellcheck disable=SC2086 # a list of options
  "$python" -m pip install --quiet --disable-pip-version-check --target "$site" --upgrade --only-binary=:all: --implementation cp \
    --python-version "$version" $platforms --platform manylinux2014_aarch64 -c "$here/constraints.txt" -r "$dir/needed.txt"
  touch "$site/.installed"
fi

rm -rf "$dir/work"
mkdir "$dir/work"
cat >"$dir/work/plain.toml" <<'TOML'
summary = "No models."
rate_fps = 2.0
[segment]
use = "fixed_window"
TOML
cat >"$dir/work/walk.srt" <<'SRT'
1
00:00:01,000 --> 00:00:03,000
The bakery opens at seven.

2
00:00:06,000 --> 00:00:09,000
I left the keys on the shelf.
SRT
emulated - "$dir/work/walk.mp4" <<'PY'
"""Writes ten seconds of moving squares as a video; every frame goes through the aarch64 builds of NumPy and FFmpeg."""
import sys

import av
import numpy as np

with av.open(sys.argv[1], "w") as film:
    stream = film.add_stream("mpeg4", rate=5)
    stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
    for number in range(50):
        picture = np.full((240, 320, 3), 40 + 80 * (number // 20), np.uint8)
        picture[60:160, 4 * number : 4 * number + 60] = (200, 120, 40)
        for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
            film.mux(packet)
    for packet in stream.encode():
        film.mux(packet)
PY
edgemem() { emulated -m edgemem "$@"; }
edgemem --version
edgemem ingest "$dir/work/walk.mp4" --memory "$dir/work/memory" --recipe "$dir/work/plain.toml" --json | tee "$dir/work/ingest.json"
edgemem search "keys shelf" --memory "$dir/work/memory" --channel speech --json | tee "$dir/work/search.json"
edgemem memory check --memory "$dir/work/memory"
edgemem memory stats --memory "$dir/work/memory" --json >"$dir/work/stats.json"
# What was written there must be readable on this machine, too.
"$python" - "$dir/work" <<'PY'
import json, pathlib, sqlite3, sys

work = pathlib.Path(sys.argv[1])
ingest, search = (json.loads((work / f"{name}.json").read_text()) for name in ("ingest", "search"))
assert ingest["moments_kept"] > 0 and ingest["documents"] >= 2, ingest
assert "keys on the shelf" in search["hits"][0]["text"], search
rows = sqlite3.connect(f"file:{work}/memory/memory.db?mode=ro", uri=True).execute("SELECT count(*) FROM moment").fetchone()[0]
assert rows == ingest["moments_kept"], rows
print(f"aarch64: {ingest['moments_kept']} moments kept, the spoken sentence found, the memory read on both machines")
PY
