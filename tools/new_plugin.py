#!/usr/bin/env python3
"""Write a working plugin: `tools/new_plugin.py night` makes plugins/night with a gate, its recipe, and a test.

tools/new_plugin.py NAME [--into DIRECTORY]
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "edgemem-{name}"
version = "0.1.0"
description = "A plugin for edgemem."
requires-python = ">=3.10"
classifiers = ["Private :: Do Not Upload"]
dependencies = [
  "edgemem-agent",  # the core
  "msgspec>=0.19",  # settings of the components
]

[project.entry-points.edgemem]
{name} = "edgemem_{name}"

[tool.hatch.build.targets.wheel]
packages = ["edgemem_{name}"]
"""

MODULE = '''\
"""A plugin for edgemem: the gate `{name}`."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from edgemem.extend import Component, Look, Verdict, hookimpl


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings in a recipe: `use = "{name}"` and these keys."""

    min_brightness: float = 10.0
    """Frames with a lower mean grey value (0..255) are dropped."""


class Gate:
    """Drops frames that are too dark."""

    name = "{name}"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def judge(self, look: Look) -> Verdict:
        """Keep the frame, or drop it with a reason that the ingest report counts."""
        if float(look.gray.mean()) < self._settings.min_brightness:
            return Verdict(keep=False, reason="{name}")
        return Verdict(keep=True)

    def accepted(self, look: Look) -> None:
        """Called when the frame passed every gate. A gate that compares frames stores it here."""


@hookimpl
def register_gates() -> Iterable[Component]:
    """Called once, at the start."""
    yield Component("{name}", lambda settings, _context: Gate(settings), Settings, "drops frames that are too dark")


@hookimpl
def register_recipes() -> Iterable[str]:
    """The package with this plugin's recipes."""
    yield "edgemem_{name}.recipes"
'''

RECIPE = """\
summary = "One frame a second, dark ones dropped."
rate_fps = 1.0

[[gate]]
use = "{name}"
min_brightness = 10.0

[select]
use = "keep_all"

[[perceive]]
use = "joint"

[segment]
use = "fixed_window"

[[write]]
use = "event_document"
"""

TEST = '''\
"""The conformance checks of the contract, on everything that this plugin registers."""

import edgemem_{name}
from edgemem.extend.testing import check_plugin


def test_keeps_the_contract() -> None:
    check_plugin(edgemem_{name})
'''


def files(name: str) -> dict[str, str]:
    """Relative path -> text of a new plugin."""
    package = f"edgemem_{name}"
    return {
        "pyproject.toml": PYPROJECT.format(name=name),
        f"{package}/__init__.py": MODULE.format(name=name),
        f"{package}/recipes/__init__.py": '"""Recipes of this plugin, one TOML each."""\n',
        f"{package}/recipes/{name}.toml": RECIPE.format(name=name),
        f"tests/test_{name}.py": TEST.format(name=name),
    }


def main() -> int:
    """Write the files; refuse to overwrite anything."""
    parser = argparse.ArgumentParser(description="Write a working edgemem plugin.")
    parser.add_argument("name", help="lower-case letters, digits and underscores")
    parser.add_argument(
        "--into", type=Path, default=Path(__file__).resolve().parent.parent / "plugins", help="folder of plugins (default: plugins/)"
    )
    arguments = parser.parse_args()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", arguments.name):
        print(f'new_plugin: "{arguments.name}" is not a plugin name; use lower-case letters, digits and underscores', file=sys.stderr)
        return 2
    root = arguments.into / arguments.name
    if root.exists():
        print(f"new_plugin: {root} exists already; choose another name", file=sys.stderr)
        return 2
    for relative, text in files(arguments.name).items():
        path = root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"wrote {root}; install it with: pip install -e {root}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
