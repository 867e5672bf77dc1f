"""TensorRT itself: whether it can be imported here and can start, said in words that help."""

from __future__ import annotations

from types import ModuleType

from edgemem.extend import RuntimeUnavailable

_BINDINGS = "install its Python bindings (JetPack: apt install python3-libnvinfer, and a virtual environment with --system-site-packages)"
_LIBRARIES = "install TensorRT's libraries in the version of the bindings (JetPack: apt install tensorrt)"
_HINTS = (
    ("No module named 'tensorrt'", _BINDINGS),
    ("libnvdla_compiler", "install nvidia-l4t-dla-compiler, or run a container that fits the JetPack of the board"),
    ("cannot open shared object file", _LIBRARIES),
)
"""Part of the text of an ImportError -> what to do. The second: dusty-nv/jetson-containers#1218."""


def import_tensorrt() -> ModuleType:
    """The module `tensorrt`. Raises RuntimeUnavailable, which says what is missing and what to do."""
    try:
        import tensorrt
    except (ImportError, OSError) as error:
        text = " ".join(str(error).split())
        hint = next((hint for part, hint in _HINTS if part in text), "reinstall TensorRT")
        raise RuntimeUnavailable(f"TensorRT cannot be imported: {text}; {hint}") from None
    module: ModuleType = tensorrt
    return module


def cannot_start(what: str, version: str, error: TypeError) -> RuntimeUnavailable:
    """The error for TensorRT's "factory function returned nullptr": its libraries load, but CUDA does not work (NVIDIA/TensorRT#2913)."""
    return RuntimeUnavailable(
        f"TensorRT {version} cannot make a {what}: {error}; usually there is no working CUDA driver or GPU (run: nvidia-smi, on a Jetson: "
        "tegrastats), or its libraries are of another version than the bindings"
    )
