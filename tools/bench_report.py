"""Write docs/benchmarks.md: run benchmark scripts and put what each printed into its section.

    python tools/bench_report.py [NAME...] [--out docs/benchmarks.md]

NAME is a script of tools/bench without its ending; none = all of them. A section holds what the script is about, the machine, the day, the
command and its output, letter by letter. Sections of scripts that are not run now stay as they are.
"""

from __future__ import annotations

import argparse
import ast
import datetime as dt
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# Benchmarks

Each section is written by `make bench`: what a script in `tools/bench` printed on the named machine. A script measures its limit or its
peer in the same run, so ratios say more than times. Nothing here was measured on a Jetson, a GPU or an Arm board.
"""
_SECTION = re.compile(r"^## (?P<name>\S+)\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def sections(page: str) -> dict[str, str]:
    """The sections of a page, by script."""
    return {found["name"]: found[0].rstrip() + "\n" for found in _SECTION.finditer(page)}


def machine() -> str:
    """Processor, cores, memory, system and Python in one line."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.+)", info.read_text()) if info.exists() else []
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    name = names[0] if names else platform.processor()
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{name}, {os.cpu_count()} cores, {pages / 2**30:.0f} GiB, {system}, load {os.getloadavg()[0]:.1f} at the start"


def section(script: Path, arguments: list[str]) -> str:
    """Run a script and describe it. Raises SystemExit when it fails."""
    purpose = (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    where = machine()
    done = subprocess.run([sys.executable, str(script), *arguments], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{script.name} failed with exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    command = " ".join(["python", str(script.relative_to(ROOT)), *arguments])
    day = dt.datetime.now(dt.timezone.utc).date().isoformat()
    return f"## {script.stem}\n\n{purpose}\n\n`{command}`, {day}: {where}\n\n```text\n{done.stdout.rstrip()}\n```\n"


def main() -> None:
    """Run what is named and write the page after each script, so that a later failure loses nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks.md")
    options = parser.parse_args()
    scripts = {path.stem: path for path in sorted((ROOT / "tools" / "bench").glob("[a-z]*.py"))}
    unknown = [name for name in options.names if name not in scripts]
    if unknown:
        parser.error(f"no script is called {unknown[0]}; there are: {', '.join(scripts)}")
    for name in options.names or scripts:
        print(f"== {name}", file=sys.stderr)
        made = section(scripts[name], [])
        known = sections(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
        known[name] = made
        options.out.write_text("\n".join([HEAD, *(known[key] for key in sorted(known))]), encoding="utf-8")


if __name__ == "__main__":
    main()
