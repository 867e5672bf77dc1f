#!/usr/bin/env python3
"""Write constraints.txt: one exact version of everything, for every Python we support.

Each interpreter resolves the whole project (`pip install --dry-run --report`); if the versions differ, the line has a marker.

    tools/lock.py [python3.10 python3.11 python3.12 python3.13]    the interpreters to support, found on PATH
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = "# Exact versions of everything edgemem installs, by Python version. Written by tools/lock.py; do not edit.\n"


def resolve(python: str) -> tuple[str, dict[str, str]]:
    """(minor version such as "3.10", {distribution: version}) that `python` would install today."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", "--upgrade", "pip"], check=True)
        report = Path(folder) / "report.json"
        projects = [
            argument
            for path in [ROOT, *sorted((ROOT / "plugins").glob("*/"))]
            if (path / "pyproject.toml").exists()
            for argument in ("-e", f"{path}[encrypted]" if path == ROOT else str(path))
        ]
        wanted = ["-r", str(ROOT / "tools/requirements-dev.txt"), *projects]
        subprocess.run([*pip, "install", "--quiet", "--dry-run", "--ignore-installed", "--report", str(report), *wanted], check=True)
        data = json.loads(report.read_text())
    found = {_name(item["metadata"]["name"]): item["metadata"]["version"] for item in data["install"]}
    minor = ".".join(data["environment"]["python_version"].split(".")[:2])
    return minor, {name: version for name, version in found.items() if not name.startswith("edgemem")}


def _name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def lines(resolved: dict[str, dict[str, str]]) -> list[str]:
    """One line per distribution, or one per Python version if they differ."""
    out = []
    for name in sorted(set().union(*resolved.values())):
        versions = {minor: found[name] for minor, found in resolved.items() if name in found}
        if len(set(versions.values())) == 1:
            out.append(f"{name}=={next(iter(versions.values()))}")
        else:
            out += [f'{name}=={version}; python_version == "{minor}"' for minor, version in versions.items()]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="*", default=["python3.10", "python3.11", "python3.12", "python3.13"])
    resolved = dict(resolve(python) for python in parser.parse_args().pythons)
    (ROOT / "constraints.txt").write_text(HEAD + "\n".join(lines(resolved)) + "\n")
    print(f"constraints.txt: {len(lines(resolved))} lines for {', '.join(resolved)}")


if __name__ == "__main__":
    main()
