"""The same installation works on the oldest and the newest Python: in a separate environment it ingests and answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from edgemem.cli.film import SCENES, fetch_media, write_film
from edgemem.infer.engines import Engines

ROOT = Path(__file__).parent.parent


def interpreter(minor: str) -> str | None:
    """A working `python3.x`: on PATH, or among the versions that pyenv keeps."""
    kept = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{minor}.*/bin/python{minor}"))
    for candidate in filter(None, [shutil.which(f"python{minor}"), *map(str, kept)]):
        if subprocess.run([candidate, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0:
            return candidate
    return None


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory, weights_home: Path) -> Path:
    media, _ = fetch_media(weights_home)
    path = tmp_path_factory.mktemp("film") / "short.mp4"
    write_film(media, path, scenes=[scene for scene in SCENES[1:4] if scene.media in {"coffee", "brick", "chelsea"}])
    return path


@pytest.mark.slow
@pytest.mark.parametrize("minor", ["3.10", "3.13"])
def test_the_core_of_the_demo_runs(minor: str, film: Path, engines: Engines, weights_home: Path, tmp_path: Path) -> None:
    assert engines.has("embed_joint")  # fetched before: this test is about the install
    python = interpreter(minor)
    if python is None:
        pytest.skip(f"no Python {minor} on this machine")
    subprocess.run([python, "-m", "venv", str(tmp_path / "venv")], check=True)
    binaries = tmp_path / "venv/bin"
    projects = [str(ROOT), *(str(path.parent) for path in sorted((ROOT / "plugins").glob("*/pyproject.toml")))]
    install = [
        str(binaries / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-c",
        str(ROOT / "constraints.txt"),
        *projects,
    ]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"EDGEMEM_HOME": str(weights_home)}

    def edgemem(*arguments: str) -> tuple[int, dict[str, object]]:
        run = subprocess.run(
            [str(binaries / "edgemem"), *arguments, "--json"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in run.stderr, run.stderr
        return run.returncode, json.loads(run.stdout or "{}")

    imports = "import edgemem_hearing, edgemem_openai, edgemem_gguf, edgemem_egagent, faster_whisper, openai, xllamacpp"
    done = subprocess.run([str(binaries / "python"), "-c", imports], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (tmp_path / "said.srt").write_text("1\n00:00:01,000 --> 00:00:03,000\nAnna: The key is under the mat.\n")
    code, report = edgemem("ingest", str(film), "--memory", "memory", "--start", "2026-05-04T08:00:00Z", "--subtitles", "said.srt")
    assert code == 0
    assert report["moments_kept"]
    code, answer = edgemem("ask", "when did I see a cat?", "--memory", "memory")
    assert (code, answer["status"]) == (0, "answered")
    code, answer = edgemem("ask", "what did the sign say?", "--memory", "memory")
    assert "214" in str(answer["answer"])
    code, answer = edgemem("ask", "what did Anna say about the key?", "--memory", "memory")
    assert "under the mat" in str(answer["answer"])
