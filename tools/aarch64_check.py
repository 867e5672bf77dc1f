"""Checks that every dependency has an aarch64 wheel for the Pythons of the boards: cp310 (JetPack 6) and cp312 (JetPack 7).

    tools/aarch64_check.py [--python 3.10] [--all]

It takes the pins of constraints.txt for what the core and the plugins name as their dependencies (`--all`: every pin, also of tools), and
asks pip to find each as a wheel for that platform, without its dependencies and without downloading it. Exit code 1: one is missing.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
_PLATFORMS = {"3.10": 35, "3.11": 36, "3.12": 39}
"""Minor version of the C library by Python: Ubuntu 22.04 (JetPack 6), Debian 12, Ubuntu 24.04 (JetPack 7)."""
_OLDEST = 17
"""manylinux2014."""


class Pin(NamedTuple):
    """One line of constraints.txt that counts on a board."""

    name: str
    version: str


def environment(python: str) -> dict[str, str]:
    """The values of markers on a board (PEP 508)."""
    return {
        "python_version": python, "python_full_version": f"{python}.0", "platform_machine": "aarch64", "platform_system": "Linux",
        "sys_platform": "linux", "os_name": "posix", "implementation_name": "cpython", "platform_python_implementation": "CPython",
        "platform_release": "", "platform_version": "", "implementation_version": f"{python}.0", "extra": "",
    }  # fmt: skip


def pins(text: str, python: str) -> dict[str, Pin]:
    """The pins of constraints.txt for a Python, by name."""
    found: dict[str, Pin] = {}
    for line in text.splitlines():
        requirement, _, marker = line.partition(";")
        match = re.fullmatch(r"\s*([A-Za-z0-9._-]+)==(\S+)\s*", requirement)
        if match and (not marker.strip() or Marker(marker).evaluate(environment(python))):
            name = canonicalize_name(match[1])
            found[name] = Pin(name, match[2])
    return found


def direct(python: str) -> set[str]:
    """Names that the core and the plugins require when they run."""
    needed: set[str] = set()
    for file in [ROOT / "pyproject.toml", *sorted((ROOT / "plugins").glob("*/pyproject.toml"))]:
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        lines = [*project.get("dependencies", []), *project.get("optional-dependencies", {}).get("encrypted", [])]
        wanted = [Requirement(line) for line in lines]
        needed |= {canonicalize_name(one.name) for one in wanted if one.marker is None or one.marker.evaluate(environment(python))}
    return {name for name in needed if not name.startswith("edgemem")}


def tags(python: str) -> list[str]:
    """pip's options for the platform."""
    minors = range(_PLATFORMS[python], _OLDEST - 1, -1)
    platforms = [*(f"manylinux_2_{minor}_aarch64" for minor in minors), "manylinux2014_aarch64", "linux_aarch64"]
    return [option for platform in platforms for option in ("--platform", platform)]


def missing(pins: Sequence[Pin], python: str) -> str:
    """Why pip does not find a wheel of each, or ""."""
    command = [
        sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--disable-pip-version-check", "--ignore-installed", "--no-deps",
        "--only-binary=:all:", "--implementation", "cp", "--python-version", python, "--target", "unused", *tags(python),
        *(f"{pin.name}=={pin.version}" for pin in pins),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["pip failed"])[-1]


def check(python: str, *, every: bool) -> int:
    """Check one Python; the number of missing wheels."""
    known, lost = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"), python), 0
    wanted = direct(python)
    unpinned = sorted(wanted - set(known))
    chosen = sorted(known.values()) if every else [known[name] for name in sorted(wanted & set(known))]
    for name in unpinned:
        print(f"missing {name}: constraints.txt does not pin it for Python {python}")
    for pin in chosen if missing(chosen, python) else ():  # all at once is quick; only where that fails one after the other
        why = missing([pin], python)
        if why:
            lost += 1
            print(f"missing {pin.name} {pin.version}: {why}")
    print(f"Python {python} on aarch64: {len(chosen) - lost} of {len(chosen)} pins have a wheel")
    return lost + len(unpinned)


def main() -> None:
    """Run the check."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--python", choices=sorted(_PLATFORMS), action="append", help="3.10 and 3.12 if none is named")
    options.add_argument("--all", action="store_true", help="check every pin, also those of tools")
    chosen = options.parse_args()
    sys.exit(1 if sum(check(python, every=chosen.all) for python in chosen.python or ["3.10", "3.12"]) else 0)


if __name__ == "__main__":
    main()
