"""Checks `plugins/tensorrt` against the real Python bindings of TensorRT, without a GPU and without TensorRT itself.

The bindings of several versions are fetched from PyPI. They need TensorRT's libraries, so small libraries are compiled that have the nine
functions which the bindings import, each of which returns a null pointer. With these the bindings can be imported: they state every name
and signature, from which pybind11-stubgen writes type stubs. mypy checks the plugin strictly against them, and must find every misuse in
`MISUSE`. Nothing is executed on a GPU and nothing is built: that a call exists says nothing of what it does.

    tools/tensorrt_types.py [--folder DIR]
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "plugins" / "tensorrt"
LIBRARIES = ("nvinfer", "nvonnxparser", "nvinfer_plugin")
NULL_LIBRARY = """
#define NOTHING(name) void *name(void) { return 0; }
NOTHING(createInferBuilder_INTERNAL) NOTHING(createInferRefitter_INTERNAL) NOTHING(createInferRuntime_INTERNAL)
NOTHING(createNvOnnxParser_INTERNAL) NOTHING(createNvOnnxParserRefitter_INTERNAL)
NOTHING(getBuilderPluginRegistry) NOTHING(getPluginRegistry)
int getNvOnnxParserVersion(void) { return 0; }
int initLibNvInferPlugins(void *logger, const char *space) { return 0; }
"""


class Bindings(NamedTuple):
    """Bindings of one version, as PyPI has them."""

    version: str
    package: str
    major: int


VERSIONS = (
    Bindings("10.3.0", "tensorrt-cu12-bindings", 10),  # JetPack 6.2
    Bindings("10.16.1.11", "tensorrt-cu12-bindings", 10),  # JetPack 7.2
    Bindings("11.4.0.106", "tensorrt-cu13-bindings", 11),  # JetPack 7.2.2, SBSA
)

MISUSE = '''"""Every line that ends with a version must be refused from that version on."""
import tensorrt as trt


def misuse(engine: trt.ICudaEngine, context: trt.IExecutionContext, builder: trt.Builder, config: trt.IBuilderConfig) -> None:
    context.execute_async_v2([], 0)  # 10
    context.set_tensor_address("x")  # 10
    engine.get_binding_name(0)  # 10
    builder.build_engine("network", config)  # 10
    config.set_memory_pool_limit(1, trt.MemoryPoolType.WORKSPACE)  # 10
    config.set_flag(trt.BuilderFlag.INT8)  # 11
    config.set_flag(trt.BuilderFlag.FP16)  # 11
    trt.IInt8EntropyCalibrator2()  # 11
    print(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)  # 11
'''


MYPY_SETTINGS = """
[mypy]
strict = true
python_version = 3.10
follow_imports = silent
namespace_packages = true
explicit_package_bases = true
[mypy-cuda.*,pycuda.*,numkong.*,cv2.*,av.*]
ignore_missing_imports = true
follow_imports = skip
"""


class UnavailableError(Exception):
    """The bindings, or what makes stubs of them, cannot be had here; the text says why."""


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One process at a time fetches and makes what is missing; the others then find it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def prepare(bindings: Bindings, folder: Path) -> Path:
    """The package `tensorrt` of one version as a folder for PYTHONPATH, fetched once. Raises UnavailableError."""
    packages = folder / bindings.version / "packages"
    with alone(folder):
        if not (packages / "tensorrt" / "__init__.py").is_file():
            wheel = _fetch(bindings, folder / bindings.version)
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder / bindings.version / "wheel")
            packages.mkdir(parents=True, exist_ok=True)
            (folder / bindings.version / "wheel" / "tensorrt_bindings").rename(packages / "tensorrt")
    return packages


def cuda_bindings(version: str, folder: Path) -> Path:
    """The library `cuda-bindings` of a version such as "12.9", as a folder for PYTHONPATH, fetched once. Raises UnavailableError."""
    packages = folder / f"cuda-{version}"
    with alone(folder):
        if not packages.is_dir():
            part = folder / f"cuda-{version}.part"
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(part)]
            _run([*command, f"cuda-bindings=={version}.*"], f"fetch cuda-bindings {version}")
            part.rename(packages)
    return packages


def null_libraries(major: int, folder: Path) -> Path:
    """A folder for LD_LIBRARY_PATH with libraries whose functions return null pointers. Raises UnavailableError without a C compiler."""
    libraries = folder / f"libraries-{major}"
    with alone(folder):
        if not (libraries / f"lib{LIBRARIES[-1]}.so.{major}").is_file():
            libraries.mkdir(parents=True, exist_ok=True)
            source = libraries / "null.c"
            source.write_text(NULL_LIBRARY)
            for name in LIBRARIES:
                file = f"lib{name}.so.{major}"
                _run(["cc", "-shared", "-fPIC", "-o", str(libraries / file), str(source), f"-Wl,-soname,{file}"], "compile a library")
    return libraries


def environment(bindings: Bindings, folder: Path) -> dict[str, str]:
    """Environment variables with which `import tensorrt` finds these bindings. Raises UnavailableError."""
    packages = prepare(bindings, folder)
    paths = [str(packages), str(PLUGIN), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "LD_LIBRARY_PATH": str(null_libraries(bindings.major, folder)), "PYTHONPATH": os.pathsep.join(paths)}


def stubs(bindings: Bindings, folder: Path) -> Path:
    """Type stubs of the bindings, made once. Raises UnavailableError."""
    out = folder / bindings.version / "stubs"
    where = environment(bindings, folder)
    with alone(folder):
        if not out.is_dir():
            made = out.with_name("stubs.part")
            command = [sys.executable, "-m", "pybind11_stubgen", "tensorrt", "-o", str(made), "--ignore-all-errors"]
            _run(command, "make stubs of the bindings", where)
            for path in made.rglob("*.pyi"):
                path.write_text(cleaned(path.read_text(encoding="utf-8")), encoding="utf-8")
            made.rename(out)
    return out


def cleaned(text: str) -> str:
    """Stubs that mypy can read: no parameter is called `in`, none without a default follows one that has it, a buffer is one."""
    text = re.sub(r"\bin: ", "in_: ", text)
    text = re.sub(
        r"^( *def \w+\()(.*)(\)(?: -> .*)?:)$", lambda found: found[1] + _with_defaults(found[2]) + found[3], text, flags=re.MULTILINE
    )
    text = text.replace("class IHostMemory:\n", "class IHostMemory:\n    def __buffer__(self, flags: int, /) -> memoryview: ...\n")
    return f"# mypy: ignore-errors\n{text}"


def _with_defaults(parameters: str) -> str:
    """A default for each parameter that follows one with a default."""
    parts = re.split(r", (?=[*\w]+(?::|=|,|$))", parameters)
    first = next((place for place, part in enumerate(parts) if " = " in part), len(parts))
    return ", ".join(part if place < first or " = " in part or "*" in part else f"{part} = ..." for place, part in enumerate(parts))


def check(bindings: Bindings, folder: Path) -> list[str]:
    """What mypy finds in the plugin, and which misuse it does not find. Raises UnavailableError."""
    types = stubs(bindings, folder)
    found = _mypy([str(path) for path in sorted((PLUGIN / "edgemem_tensorrt").glob("*.py"))], types, folder)
    problems = [line for line in found if line.startswith("plugins/tensorrt/") and ": error:" in line]
    misuse = folder / "misuse.py"
    with alone(folder):
        misuse.write_text(MISUSE)
    lines = {int(match[1]) for line in _mypy([str(misuse)], types, folder) if (match := re.search(r"misuse\.py:(\d+): error:", line))}
    for number, line in enumerate(MISUSE.splitlines(), 1):
        since = re.search(r"# (\d+)$", line)
        if since and int(since[1]) <= bindings.major and number not in lines:
            problems.append(f"not found by mypy with {bindings.version}: {line.strip()}")
    return problems


def _mypy(paths: list[str], types: Path, folder: Path) -> list[str]:
    settings = folder / "mypy.ini"
    where = {**os.environ, "MYPYPATH": os.pathsep.join((str(types), str(PLUGIN), str(ROOT)))}
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings), "--cache-dir", str(types.parent / "cache"), *paths]
    with alone(folder):
        settings.write_text(MYPY_SETTINGS)
        done = subprocess.run(command, env=where, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1}:
        raise RuntimeError(f"mypy cannot check: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout.splitlines()


def _fetch(bindings: Bindings, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest", str(folder)]
    _run([*command, f"{bindings.package}=={bindings.version}"], f"fetch {bindings.package} {bindings.version}")
    return next(folder.glob("*.whl"))


def _run(command: list[str], what: str, env: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"cannot {what}: {error}") from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise UnavailableError(f"cannot {what}: {lines[-1] if lines else f'exit code {done.returncode}'}")


def default_folder() -> Path:
    """Where bindings and stubs are kept: they are NVIDIA's and are never committed."""
    return ROOT / "build" / "tensorrt-types"


def main() -> int:
    """Print what was found for each version; exit code 1 if there is anything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=default_folder(), help="where bindings and stubs are kept")
    folder = parser.parse_args().folder
    failed = False
    for bindings in VERSIONS:
        try:
            problems = check(bindings, folder)
        except UnavailableError as reason:
            print(f"TensorRT {bindings.version}: not checked: {reason}")
            continue
        print(f"TensorRT {bindings.version}: {len(problems)} problems", *problems, sep="\n  ")
        failed = failed or bool(problems)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
