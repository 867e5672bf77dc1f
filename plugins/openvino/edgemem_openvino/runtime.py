"""Runs models with OpenVINO; the only module that imports it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import openvino

from edgemem.extend import CheckedEngine, Engine, EngineCard, EngineError, Model, Progress, Signature, TensorInfo, onnx_metadata
from edgemem_openvino import OpenVinoSettings

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[np.generic]]

DEVICE = "CPU"
_DTYPES = {
    "f32": "float32", "f16": "float16", "u8": "uint8", "i8": "int8", "i32": "int32", "i64": "int64", "boolean": "bool",
}  # fmt: skip
"""numpy's names of OpenVINO's types that a card can describe; other types keep OpenVINO's name."""


class OpenVinoRuntime:
    """Compiles each ONNX file for the processor when it is loaded."""

    formats = frozenset({"onnx"})

    def __init__(self, settings: OpenVinoSettings, threads: int) -> None:
        self.threads = threads
        self._core = openvino.Core()
        self._properties: dict[str, Any] = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
        # Else it keeps what it prepared for each size of a free dimension: 1.7 GB and rising after 500 pictures with text of any size.
        self._properties["CPU_RUNTIME_CACHE_CAPACITY"] = 0
        if settings.precision == "float32":
            self._properties["INFERENCE_PRECISION_HINT"] = "f32"

    def build(self, card: EngineCard, model: str, path: Path, progress: Progress) -> None:
        """Nothing to build: ONNX files are compiled when they are loaded."""

    def load(self, card: EngineCard, model: str, path: Path) -> Engine:
        """Load one model. Raises EngineError if the file is damaged or does not have the tensors of the card."""
        name = f"{card.name}.{model}" if len(card.models) > 1 else card.name
        texts = onnx_metadata(path)
        try:
            compiled = self._core.compile_model(self._core.read_model(path), DEVICE, self._properties)
        except RuntimeError as error:
            raise EngineError(f"{name}: {path} cannot be loaded ({_line(error)}); run: edgemem engines check {card.name}") from None
        return OpenVinoEngine(name, card.models[model], compiled, texts)

    def describe(self) -> str:
        """Library, hardware and threads in one line."""
        processor = self._core.get_property(DEVICE, "FULL_DEVICE_NAME")
        return f"OpenVINO {openvino.__version__.split('-')[0]}, {processor}, {self.threads} threads"


class OpenVinoEngine(CheckedEngine):
    """An engine with one request of OpenVINO, which runs one call at a time."""

    def __init__(self, name: str, model: Model, compiled: openvino.CompiledModel, texts: Mapping[str, str]) -> None:
        super().__init__(name, model, Signature(_tensors(compiled.inputs, model.inputs), _tensors(compiled.outputs, model.outputs)))
        self._request: openvino.InferRequest | None = compiled.create_infer_request()
        self._texts = texts
        self._lock = threading.Lock()

    @property
    def metadata(self) -> Mapping[str, str]:
        return self._texts

    def _run(self, arrays: Arrays) -> dict[str, npt.NDArray[np.generic]]:
        with self._lock:
            if self._request is None:
                raise EngineError(f"{self.name} was closed")
            try:
                self._request.infer({name: np.ascontiguousarray(array) for name, array in arrays.items()})
            except RuntimeError as error:
                raise EngineError(f"{self.name} failed: {_line(error)}") from None
            return {name: self._request.get_tensor(name).data.copy() for name in self._model.outputs}

    def close(self) -> None:
        """Free the model; twice does nothing."""
        with self._lock:
            self._request = None


def _tensors(ports: Iterable[Any], wanted: Iterable[str]) -> dict[str, TensorInfo]:
    """By name. A port may have several names: the card's is preferred."""
    known = set(wanted)
    return {next(iter(known & port.get_names()), port.get_any_name()): _info(port) for port in ports}


def _info(port: Any) -> TensorInfo:
    kind = port.get_element_type().get_type_name()
    shape = port.get_partial_shape()
    if shape.rank.is_dynamic:
        return TensorInfo(_DTYPES.get(kind, kind))
    return TensorInfo(_DTYPES.get(kind, kind), tuple(size.get_length() if size.is_static else None for size in shape))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
