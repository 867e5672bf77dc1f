"""Rules for the code: each heavy library in one place, fast help, no pickle, plain names."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*(ROOT / "edgemem").rglob("*.py"), *(ROOT / "plugins").glob("*/edgemem_*/**/*.py")])
HEAVY = {
    "cv2",
    "av",
    "onnxruntime",
    "openvino",
    "tensorrt",
    "cuda",
    "pycuda",
    "onnx",
    "tokenizers",
    "rapidocr",
    "simplejpeg",
    "PIL",
    "openai",
    "pydantic",
    "xllamacpp",
}


def imports(path: Path) -> list[tuple[str, bool]]:
    """(top-level module, imported at module level and at run time)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = {
        id(n)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for b in node.body
        for n in ast.walk(b)
    }
    lazy = {id(n) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for n in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        names = (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        found += [(name.split(".")[0], id(node) not in lazy) for name in names if id(node) not in guarded]
    return found


def test_starting_up_loads_no_heavy_library(tmp_path: Path) -> None:
    """Finding every plugin, component, recipe and card must be fast: models and codecs are loaded when they are used."""
    script = (
        "import sys\nfrom edgemem.cli.app import CommandContext\nsession = CommandContext(None, ())\nsession.plugins.check()\n"
        "[session.recipes.read(name) for name in session.recipes.names()]\nsession.cards\nsession.engines\nprint('LOADED', *sys.modules)"
    )
    assert not _loaded(script, tmp_path) & HEAVY


def _loaded(script: str, home: Path) -> set[str]:
    environment = os.environ | {"EDGEMEM_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


@pytest.mark.parametrize(
    ("library", "owners"),
    [
        ("onnxruntime", {"plugins/onnx", "plugins/convert"}),
        ("openvino", {"plugins/openvino"}),
        ("tensorrt", {"plugins/tensorrt"}),
        ("cuda", {"plugins/tensorrt"}),
        ("pycuda", {"plugins/tensorrt"}),
        ("onnx", {"plugins/convert"}),
        ("rapidocr", {"plugins/ocr"}),
        ("faster_whisper", {"plugins/hearing"}),
        ("openai", {"plugins/openai"}),
        ("xllamacpp", {"plugins/gguf"}),
        ("av", {"edgemem/see", "edgemem/cli"}),
    ],
)
def test_a_heavy_library_stays_in_its_room(library: str, owners: set[str]) -> None:
    users = {"/".join(path.relative_to(ROOT).parts[:2]) for path in SOURCES if library in {name for name, _ in imports(path)}}
    assert users <= owners


def test_nothing_uses_pickle_or_torch() -> None:
    used = defaultdict(set)
    for path in SOURCES:
        for name, _ in imports(path):
            used[name].add(path.name)
    assert not {"pickle", "torch", "marshal", "shelve"} & set(used)


def test_usearch_is_not_here() -> None:
    """Importing it before onnxruntime crashes the process."""
    assert all(name != "usearch" for path in SOURCES for name, _ in imports(path))


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    call = "from edgemem.cli.main import main\nsys.argv[1:] = ['--help']\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
    script = f"import sys\n{call}print('LOADED', *sys.modules)"
    loaded = _loaded(script, tmp_path)
    assert "numpy" not in loaded
    assert not loaded & HEAVY


FAULT_ISOLATION = {"edgemem/isolation.py", "edgemem/extend/guard.py"}


def broad_handlers(tree: ast.Module) -> list[ast.ExceptHandler]:
    """Handlers that catch every kind of exception and do not end by raising it on, as those that only clean up do."""
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    return [one for one in handlers if _catches_everything(one.type) and not _raises_on(one)]


def _catches_everything(caught: ast.expr | None) -> bool:
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in {"Exception", "BaseException"}) for kind in kinds)


def _raises_on(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


@pytest.mark.parametrize(
    ("handler", "broad"),
    [
        ("except Exception:\n    pass", True),
        ("except:\n    pass", True),
        ("except (ValueError, BaseException) as error:\n    print(error)", True),
        ("except Exception as error:\n    raise ValueError from error", True),
        ("except BaseException:\n    close()\n    raise", False),
        ("except ValueError:\n    pass", False),
    ],
)
def test_broad_handlers_are_recognised(handler: str, broad: bool) -> None:
    assert bool(broad_handlers(ast.parse(f"try:\n    work()\n{handler}\n"))) is broad


def test_every_kind_of_exception_is_caught_in_fault_isolation_alone() -> None:
    broad = {
        path.relative_to(ROOT).as_posix(): [handler.lineno for handler in handlers]
        for path in SOURCES
        if (handlers := broad_handlers(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert set(broad) == FAULT_ISOLATION, broad


def test_the_command_line_prints_in_one_place() -> None:
    """What others wrote is made harmless there; nothing else writes to the terminal."""
    calls = {"click.echo", "click.secho", "click.echo_via_pager", "print", "sys.stdout.write", "sys.stderr.write"}
    found = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in calls
    }
    assert found == {"edgemem/extend/output.py"}


IMAGES = frozenset(
    {
        "breath", "care", "clerk", "deed", "deeds", "desk", "ear", "ears", "eye", "eyes", "fader", "fares", "handover", "hands",
        "housekeeping", "keeping", "lent", "play", "played", "reception", "rung", "rungs", "shop", "sight", "telling", "tidy", "told",
        "upkeep", "workshop", "worth",
    }
)  # fmt: skip
"""Images that were once names here: they do not say what a thing is."""
STANDARD = {"register_ears"}
"""A public hook, whose name plugins use."""


def words_of(name: str) -> set[str]:
    """The words of an identifier: "readEar_told" has read, ear and told."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def named(path: Path) -> list[str]:
    """The file's own name, and those of its classes and functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [path.stem, *(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef))]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("check_ear", {"check", "ear"}),
        ("EyeOfTold", {"eye", "of", "told"}),
        ("OCRDesk2", {"ocr", "desk"}),
        ("search_year", {"search", "year"}),
    ],
)
def test_the_words_of_a_name(name: str, words: set[str]) -> None:
    assert words_of(name) == words


def test_no_file_class_or_function_is_named_by_an_image() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name}" for path in SOURCES for name in named(path) if name not in STANDARD and words_of(name) & IMAGES
    }
    folders = {part for path in SOURCES for part in path.relative_to(ROOT).parts[:-1] if words_of(part) & IMAGES}
    assert not found | folders


def test_files_name_no_registry_host_and_no_home_of_ours() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    hosts = re.compile(r"(files\.pythonhosted|pypi\.org/simple|registry\.npmjs|deb\.debian\.org|/root/|/home/)")
    for name in tracked:
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".txt", ".sh", ""} and path.is_file() and path != Path(__file__):
            assert not hosts.search(path.read_text(encoding="utf-8", errors="ignore")), name
