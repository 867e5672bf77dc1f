"""Runs models with onnxruntime; the only module that imports it for this."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state

from edgemem.errors import EngineError
from edgemem.infer.card import EngineCard, Model
from edgemem.infer.fetch import Progress
from edgemem.infer.roles import Engine
from edgemem.infer.runtime import CheckedEngine, Signature, TensorInfo

if TYPE_CHECKING:
    import numpy.typing as npt

    from edgemem.infer.roles import Arrays
    from edgemem_onnx import OnnxSettings


def _is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Exception)


PROVIDER = "CPUExecutionProvider"
LOG_ERRORS = 3
"""onnxruntime's severity 3: errors only; its warnings are only about graph optimisations."""

EXACT_INT8 = "session.x64quantprecision"
"""This option converts int8 weights to uint8, for x86-64 without VNNI. There the int8 kernel adds pairs of products in 16 bits, which
saturates (vpmaddubsw): it is a third faster, but the int8 classifier agrees with its original for 73 of 100 pictures instead of 99. With
VNNI (vpdpbusd) sums have 32 bits: the option changes no result, and makes the classifier 2.3 times slower."""
VNNI = frozenset({"avx512_vnni", "avx_vnni"})
"""Flags of processors whose int8 kernels add in 32 bits."""
PROCESSOR = Path("/proc/cpuinfo")


_DTYPES = {
    "tensor(float)": "float32", "tensor(float16)": "float16", "tensor(uint8)": "uint8", "tensor(int8)": "int8",
    "tensor(int32)": "int32", "tensor(int64)": "int64", "tensor(bool)": "bool",
}  # fmt: skip
"""numpy's names of the types that a card can describe; other types keep onnxruntime's name."""


_ERRORS = (RuntimeError, ValueError, *(kind for kind in vars(onnxruntime_pybind11_state).values() if _is_error(kind)))
"""The binding has an exception type for every status (`Fail`, `InvalidProtobuf` ...), without a common base class."""


class OnnxRuntime:
    """Loads each ONNX file into a separate session with its own threads."""

    formats = frozenset({"onnx"})

    def __init__(self, settings: OnnxSettings, threads: int) -> None:
        self.settings = settings
        self.threads = threads

    def build(self, card: EngineCard, model: str, path: Path, progress: Progress) -> None:
        """Nothing to build: ONNX files are loaded directly."""

    def load(self, card: EngineCard, model: str, path: Path) -> Engine:
        """Load one model. Raises EngineError if the file is damaged or does not have the tensors of the card."""
        name = f"{card.name}.{model}" if len(card.models) > 1 else card.name
        try:
            session = onnxruntime.InferenceSession(str(path), self._options(card.models[model]), providers=[PROVIDER])
        except _ERRORS as error:
            raise EngineError(f"{name}: {path} cannot be loaded ({_line(error)}); run: edgemem engines check {card.name}") from None
        if session.get_providers() != [PROVIDER]:
            raise EngineError(f"{name}: loaded on {', '.join(session.get_providers())} instead of {PROVIDER}")
        return OnnxEngine(name, card.models[model], session)

    def describe(self) -> str:
        """Library, hardware and threads in one line."""
        return f"ONNX Runtime {onnxruntime.__version__}, CPU, {self.threads} threads"

    def _shared(self, model: Model) -> bool:
        """Whether a model works in the arena that all share: one whose input has one size, beside that of the batch.

        The arena keeps the most that was ever needed, in parts that do not fit together: for a text detector that gets pictures of any
        size 189 MB, where 111 MB are in use at once. Such models get each block from the system and return it, for more processor time
        (4.4 s in place of 2.2 for a picture full of text).
        """
        return not any(isinstance(size, str) for tensor in model.inputs.values() for size in tensor.shape[1:])

    def _options(self, model: Model) -> onnxruntime.SessionOptions:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = LOG_ERRORS
        options.enable_cpu_mem_arena = self.settings.arena or self._shared(model)
        options.enable_mem_pattern = self.settings.arena
        if self._shared(model) and not self.settings.arena:
            _share_arena()
            options.add_session_config_entry("session.use_env_allocators", "1")
        options.add_session_config_entry(EXACT_INT8, "1" if int8_saturates() else "0")
        options.add_session_config_entry("session.intra_op.allow_spinning", "1" if self.settings.spinning else "0")
        return options


def int8_saturates(processor: Path = PROCESSOR) -> bool:
    """Whether sums of int8 products may be wrong on this processor. True if it is not known.

    `processor`: a file like /proc/cpuinfo. On Arm no kernel saturates, and ONNX Runtime ignores the option that depends on this.
    """
    try:
        flags = re.search(r"^flags\s*:(.*)$", processor.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return True
    return flags is None or VNNI.isdisjoint(flags[1].split())


@lru_cache(maxsize=1)
def _share_arena() -> None:
    """One arena for the models of this process that share it: they run in turn, and none asks for memory anew with each run."""
    memory = onnxruntime.OrtMemoryInfo("Cpu", onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, onnxruntime.OrtMemType.DEFAULT)
    onnxruntime.create_and_register_allocator(memory, None)


class OnnxEngine(CheckedEngine):
    """An engine with one session of onnxruntime."""

    def __init__(self, name: str, model: Model, session: onnxruntime.InferenceSession) -> None:
        super().__init__(name, model, Signature(_tensors(session.get_inputs()), _tensors(session.get_outputs())))
        self._session: onnxruntime.InferenceSession | None = session
        self._metadata = dict(session.get_modelmeta().custom_metadata_map)

    @property
    def metadata(self) -> Mapping[str, str]:
        return self._metadata

    def _run(self, arrays: Arrays) -> dict[str, npt.NDArray[np.generic]]:
        if self._session is None:
            raise EngineError(f"{self.name} was closed")
        wanted = list(self._model.outputs)
        try:
            values = self._session.run(wanted, {name: np.ascontiguousarray(array) for name, array in arrays.items()})
        except _ERRORS as error:
            raise EngineError(f"{self.name} failed: {_line(error)}") from None
        return dict(zip(wanted, values, strict=True))

    def close(self) -> None:
        """Free the session; twice does nothing."""
        self._session = None


def _tensors(values: Iterable[Any]) -> dict[str, TensorInfo]:
    """Tensors of a session; there a free dimension has a name or None."""
    return {value.name: TensorInfo(_DTYPES.get(value.type, value.type), _shape(value.shape)) for value in values}


def _shape(dimensions: Sequence[int | str | None]) -> tuple[int | None, ...]:
    return tuple(size if isinstance(size, int) else None for size in dimensions)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
