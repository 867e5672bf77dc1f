"""Write docs/benchmarks.md: run benchmark scripts and put the output of each into its section.

    python tools/bench_report.py [NAME...] [--out docs/benchmarks.md] [--eval DIR --work DIR]

NAME is a script of tools/bench without its ending; none = all of them. With `--eval` (a folder of streams and questions made elsewhere, see
`tools/eval/all.py`) the section `answers` is written instead: how well questions are answered. A section contains the purpose of the
script, the machine, the day, the command and its unchanged output. Sections of scripts that are not run now are kept.
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
    """The sections of a page, by name of the script."""
    return {found["name"]: found[0].rstrip() + "\n" for found in _SECTION.finditer(page)}


def machine() -> str:
    """Processor, cores, memory, system and Python in one line."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.+)", info.read_text()) if info.exists() else []
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    name = names[0] if names else platform.processor()
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{name}, {os.cpu_count()} cores, {pages / 2**30:.0f} GiB, {system}, load {os.getloadavg()[0]:.1f} at the start"


def section(script: Path, arguments: list[str], shown: str = "", name: str = "") -> str:
    """Run a script and describe it; `shown` is the command for the page. Raises SystemExit if it fails."""
    purpose = (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    where = machine()
    done = subprocess.run([sys.executable, str(script), *arguments], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{script.name} failed with exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    command = shown or " ".join(["python", str(script.relative_to(ROOT)), *arguments])
    day = dt.datetime.now(dt.timezone.utc).date().isoformat()
    return f"## {name or script.stem}\n\n{purpose}\n\n`{command}`, {day}: {where}\n\n```text\n{done.stdout.rstrip()}\n```\n"


def main() -> None:
    """Run the named scripts and write the page after each one, so that a later failure loses nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks.md")
    parser.add_argument("--eval", type=Path, help="folder with make_lifelog.py, natural-N.json, questions-to-parse.json, score.py")
    parser.add_argument("--work", type=Path, help="with --eval: where streams and memories are kept")
    options = parser.parse_args()
    if options.eval:
        if not options.work:
            parser.error("--eval needs --work")
        arguments = [
            "--lifelogs",
            str(options.eval.resolve()),
            "--work",
            str(options.work.resolve()),
            "--seeds",
            "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
            "--composed",
            "100,101",
        ]
        write(options.out, "answers", section(ROOT / "tools/eval/all.py", arguments, "make eval EVAL=DIR WORK=DIR", "answers"))
        return
    scripts = {path.stem: path for path in sorted((ROOT / "tools" / "bench").glob("[a-z]*.py"))}
    unknown = [name for name in options.names if name not in scripts]
    if unknown:
        parser.error(f"no script is called {unknown[0]}; there are: {', '.join(scripts)}")
    for name in options.names or scripts:
        print(f"== {name}", file=sys.stderr)
        write(options.out, name, section(scripts[name], []))


def write(page: Path, name: str, text: str) -> None:
    """Insert or replace a section of the page."""
    known = sections(page.read_text(encoding="utf-8")) if page.exists() else {}
    known[name] = text
    page.write_text("\n".join([HEAD, *(known[key] for key in sorted(known))]), encoding="utf-8")


if __name__ == "__main__":
    main()
