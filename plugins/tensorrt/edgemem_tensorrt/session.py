"""One plan on the GPU: its execution context and its buffers. Only the device's own thread may touch it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorrt as trt

from edgemem.extend import EngineError, Signature, SizeRange, TensorInfo
from edgemem_tensorrt.logger import Logger
from edgemem_tensorrt.memory import Buffer, DeviceMemory

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

_DTYPES = {
    "FLOAT": "float32", "HALF": "float16", "UINT8": "uint8", "INT8": "int8", "INT32": "int32", "INT64": "int64", "BOOL": "bool",
}  # fmt: skip
"""numpy's names of the members of `tensorrt.DataType` that a card can describe."""


@dataclass(frozen=True)
class Slot:
    """A tensor of the plan and its buffer, which has room for its largest shape."""

    dtype: np.dtype[Any]
    buffer: Buffer
    size_bytes: int

    def view(self, shape: tuple[int, ...]) -> Array:
        """The first bytes of the host memory as an array of this shape."""
        used = math.prod(shape) * self.dtype.itemsize
        if used > self.size_bytes:
            raise EngineError(f"its buffer has {self.size_bytes} bytes, the shape {list(shape)} needs {used}")
        view: Array = self.buffer.host[:used].view(self.dtype).reshape(shape)
        return view


class Session:
    """A deserialised plan, ready to run. TensorRT keeps the addresses of the buffers, so they are set once."""

    def __init__(self, plan: bytes, runtime: trt.Runtime, logger: Logger, memory: DeviceMemory, *, mapped: bool) -> None:
        """Raises EngineError if TensorRT does not accept the plan, or if the memory is not there."""
        self._logger, self._memory = logger, memory
        engine = runtime.deserialize_cuda_engine(plan)
        if engine is None:
            raise EngineError(f"TensorRT does not accept its plan: {logger.reason()}")
        context = engine.create_execution_context()
        if context is None:
            raise EngineError(f"TensorRT has no memory for its plan: {logger.reason()}")
        self._engine, self._context = engine, context
        names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
        self.inputs = [name for name in names if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT]
        self.outputs = [name for name in names if name not in self.inputs]
        self._slots: dict[str, Slot] = {}
        try:
            self._allocate(mapped)
        except EngineError:
            self.close()
            raise

    def signature(self, ranges: Mapping[str, SizeRange]) -> Signature:
        """The tensors of the plan; `ranges`: the sizes of the card for which it was built."""
        return Signature(self._tensors(self.inputs), self._tensors(self.outputs), ranges)

    def run(self, arrays: Mapping[str, Array], wanted: list[str]) -> dict[str, Array]:
        """Run once. The results are copies: the buffers belong to the next run."""
        for name, array in arrays.items():
            slot = self._slots[name]
            self._set_shape(name, array.shape)
            np.copyto(slot.view(array.shape), array)
            self._memory.to_device(slot.buffer, array.nbytes)
        if not self._context.execute_async_v3(self._memory.stream):
            self._memory.wait()
            raise EngineError(f"TensorRT failed: {self._logger.reason()}")
        views = {name: self._slots[name].view(self._shape(name)) for name in wanted}
        for name, view in views.items():
            self._memory.to_host(self._slots[name].buffer, view.nbytes)
        self._memory.wait()
        return {name: view.copy() for name, view in views.items()}

    def close(self) -> None:
        """Free the buffers, then the context, then the engine. Twice does nothing."""
        for name in list(self._slots):
            self._memory.free(self._slots.pop(name).buffer)
        self._context = self._engine = None  # type: ignore[assignment]

    def _allocate(self, mapped: bool) -> None:
        """Buffers for the largest shapes of the plan's only profile, at the addresses that the context gets."""
        for name in self.inputs:
            shape = _sizes(name, self._engine.get_tensor_shape(name))
            if -1 in shape:
                shape = _sizes(name, self._engine.get_tensor_profile_shape(name, 0)[2])
            self._set_shape(name, shape)
            self._add(name, shape, mapped)
        for name in self.outputs:
            self._add(name, self._shape(name), mapped)

    def _add(self, name: str, shape: tuple[int, ...], mapped: bool) -> None:
        if self._engine.get_tensor_location(name) != trt.TensorLocation.DEVICE:
            raise EngineError(f"{name} is read by the processor while the model runs, which is not supported")
        if any(size < 0 for size in shape):
            raise EngineError(f"the size of {name} depends on the values of the inputs, which is not supported")
        dtype = self._dtype(name)
        size_bytes = max(math.prod(shape) * dtype.itemsize, dtype.itemsize)
        buffer = self._memory.allocate(size_bytes, mapped=mapped)
        self._slots[name] = Slot(dtype, buffer, size_bytes)
        if not self._context.set_tensor_address(name, buffer.device):
            raise EngineError(f"TensorRT does not accept the memory of {name}: {self._logger.reason()}")

    def _set_shape(self, name: str, shape: tuple[int, ...]) -> None:
        if not self._context.set_input_shape(name, shape):
            raise EngineError(f"its plan does not take {name} with the shape {list(shape)}: {self._logger.reason()}")

    def _shape(self, name: str) -> tuple[int, ...]:
        return _sizes(name, self._context.get_tensor_shape(name))

    def _dtype(self, name: str) -> np.dtype[Any]:
        kind = self._engine.get_tensor_dtype(name).name
        if kind not in _DTYPES:
            raise EngineError(f"{name} has the type {kind}, which numpy does not have")
        return np.dtype(_DTYPES[kind])

    def _tensors(self, names: list[str]) -> dict[str, TensorInfo]:
        shapes = {name: _sizes(name, self._engine.get_tensor_shape(name)) for name in names}
        return {
            name: TensorInfo(self._slots[name].dtype.name, tuple(None if size < 0 else size for size in shape))
            for name, shape in shapes.items()
        }


def _sizes(name: str, dimensions: trt.Dims) -> tuple[int, ...]:
    """The sizes as a tuple, -1 for a free one. Raises EngineError where TensorRT does not know even their number."""
    try:
        return tuple(dimensions[index] for index in range(len(dimensions)))
    except ValueError:
        raise EngineError(f"the shape of {name} is not known before the model runs, which is not supported") from None
