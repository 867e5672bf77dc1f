"""The published packages work: each distribution is built, and its wheel is checked and installed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
THOR = ROOT / "tests" / "device" / "boards" / "jetson-thor"
"""Files of a board, which the installed package knows."""
PROJECTS = [ROOT, *sorted(path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml"))]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    out = tmp_path_factory.mktemp("wheels")
    for project in PROJECTS:
        build = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--disable-pip-version-check",
            "-w",
            str(out),
        ]
        subprocess.run([*build, str(project)], check=True)
    return sorted(out.glob("*.whl"))


def test_every_project_gives_one_wheel(wheels: list[Path]) -> None:
    assert len(wheels) == len(PROJECTS)


def test_wheels_put_nothing_else_into_site_packages(wheels: list[Path]) -> None:
    for wheel in wheels:
        tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
        assert all(top == "edgemem" or top.startswith("edgemem_") or top.endswith(".dist-info") for top in tops), tops


def test_the_data_rooms_are_inside_the_core_wheel(wheels: list[Path]) -> None:
    (core,) = [wheel for wheel in wheels if wheel.name.startswith("edgemem_agent-")]
    names = zipfile.ZipFile(core).namelist()
    for room in ("engines", "firmware_configs"):
        here = {path.relative_to(ROOT).as_posix() for path in (ROOT / room).rglob("*") if path.is_file()}
        assert any(name.endswith(".toml") for name in here)
        assert here == {name.removeprefix("edgemem/_data/") for name in names if name.startswith(f"edgemem/_data/{room}/")}
    assert "edgemem/recipes/default.toml" in names
    assert "edgemem/py.typed" in names


def test_plugins_depend_on_our_name_and_nothing_may_be_uploaded(wheels: list[Path]) -> None:
    for wheel in wheels:
        archive = zipfile.ZipFile(wheel)
        (metadata,) = [archive.read(name).decode() for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        assert "Classifier: Private :: Do Not Upload" in metadata
        requires = [line.split(":", 1)[1].split(";")[0].strip() for line in metadata.splitlines() if line.startswith("Requires-Dist")]
        names = {requirement.split("[")[0].split(">")[0].split("=")[0].strip() for requirement in requires}
        assert "edgemem" not in names
        assert "torch" not in names
        if not wheel.name.startswith("edgemem_agent-"):
            assert "edgemem-agent" in names


def test_an_installed_wheel_finds_its_cards_recipes_and_plugins(wheels: list[Path], tmp_path: Path) -> None:
    site = tmp_path / "site"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
        "--target",
        str(site),
    ]
    subprocess.run([*install, *map(str, wheels)], check=True)
    script = (
        "import sys\nfrom pathlib import Path\n"  # the checkout that the environment was made from must not stand in for the wheel
        "sys.path[:] = [p for p in sys.path if p == sys.argv[1] or not any(Path(p or '.').glob('edgemem*/__init__.py'))]\n"
        "import edgemem, edgemem.infer.card as card, edgemem_vam, edgemem_hearing, edgemem_openai, edgemem_gguf, edgemem_egagent\n"
        "from edgemem.cli.app import CommandContext\n"
        "session = CommandContext(None, ())\n"
        "assert edgemem.__file__.startswith(sys.argv[1]), edgemem.__file__\n"
        "assert str(card.cards_dir()).startswith(sys.argv[1])\n"
        "from edgemem.boards import board_files, find\n"
        "assert all(str(path).startswith(sys.argv[1]) for path in board_files().values())\n"
        "assert find('auto', Path(sys.argv[2])).name == 'jetson-thor'\n"
        "print(len(session.cards), len(board_files()), *session.recipes.names())\n"
    )
    environment = {"PYTHONPATH": str(site), "EDGEMEM_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", script, str(site), str(THOR)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    cards, boards, *recipes = done.stdout.split()
    assert int(boards) == 7
    assert int(cards) == len(list((ROOT / "engines").glob("*.toml")))
    assert {"default", "vam", "egagent"} <= set(recipes)
