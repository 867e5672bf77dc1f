"""The pages are correct: their links work, and every shell and Python block runs, or states why not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from edgemem.cli.film import SCENES, fetch_media, write_film
from edgemem.infer.engines import Engines

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "plugins" / "README.md"]
RUN_HERE = [page for page in PAGES if page.parent.name != "plugins"]  # the tutorial of the plugins has a test of its own
BLOCK = re.compile(r"^```(?P<language>\w*)(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
README_LINES = 150


def _id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _anchors(page: Path) -> set[str]:
    """The anchor of a heading, as on code hosting sites: lower case, no punctuation, dashes for spaces."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_every_link_leads_somewhere(page: Path) -> None:
    for found in LINK.finditer(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        file, _, anchor = found["target"].partition("#")
        if re.match(r"[a-z]+:", file):
            continue
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{found['target']}: no such file"
        assert not anchor or anchor in _anchors(target), f"{found['target']}: no such heading"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES


def test_every_block_has_a_language_and_what_does_not_run_says_why() -> None:
    for page in RUN_HERE:
        for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
            info = block["info"].strip()
            assert not info or re.fullmatch(r"not-run: \w.{8,}", info), f"{_id(page)}: {info}"


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory, weights_home: Path) -> Path:
    """A short film of a cup, a sign and a cat, called walk.mp4."""
    media, _ = fetch_media(weights_home)
    path = tmp_path_factory.mktemp("docs") / "walk.mp4"
    write_film(media, path, scenes=[scene for scene in SCENES[1:4] if scene.media in {"coffee", "brick", "chelsea"}])
    return path


def _blocks(page: Path, *languages: str) -> list[tuple[str, str]]:
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [(block["language"], block["text"]) for block in found if block["language"] in languages and not block["info"].strip()]


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in RUN_HERE if _blocks(page, "sh", "python")], ids=_id)
def test_every_block_runs(page: Path, walk: Path, engines: Engines, weights_home: Path, tmp_path: Path) -> None:
    """In the order of the page, in one directory. A command that abstains (exit code 3) is correct."""
    assert engines.has("embed_joint")
    (tmp_path / "walk.mp4").symlink_to(walk)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"EDGEMEM_HOME": str(weights_home), "PATH": path}
    for language, text in _blocks(page, "sh", "python"):
        lines = (
            [[sys.executable, "-c", text]] if language == "python" else [["sh", "-c", line] for line in text.splitlines() if line.strip()]
        )
        for command in lines:
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode in {0, 3}, f"{command[-1]}\n{done.stdout}{done.stderr}"
            assert "Traceback" not in done.stderr
