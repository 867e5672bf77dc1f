"""Reads the tensors of a torch file in the old format (before 1.6), without torch and without executing anything in the file.

Such a file is five pickles (magic, protocol, system, object, keys of the storages) followed by the raw storages. A pickle is a program. It
is read with `pickletools`, which only parses, and only the instructions for dicts, tuples and tensors are known here. Classes are only read
as names: nothing is imported or called.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgemem.errors import EngineError

MAGIC = 0x1950A86A20F9469CFC6C
_DTYPES = {"torch FloatStorage": "<f4", "torch LongStorage": "<i8", "torch IntStorage": "<i4", "torch DoubleStorage": "<f8"}
_MARK = object()

Array = npt.NDArray[Any]


class _Name(NamedTuple):
    """A class or function that the file names."""

    text: str


class _Storage(NamedTuple):
    dtype: str
    key: str


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_tensors(path: Path) -> dict[str, Array]:
    """Every tensor in the file by its path of keys, such as `model_state/linear.weight`. Raises EngineError."""
    stream = io.BytesIO(path.read_bytes())
    try:
        if _unpickled(stream) != MAGIC:
            raise EngineError(f"{path.name}: not a torch file of the old format; fetch it again")
        _unpickled(stream), _unpickled(stream)
        found = _tensors(_unpickled(stream), "")
        keys = _unpickled(stream)
        dtypes = {tensor.storage.key: tensor.storage.dtype for tensor in found.values()}
        storages = {key: _storage(stream, dtypes.get(key, "<f4")) for key in keys}
        return {name: _array(tensor, storages) for name, tensor in found.items()}
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(
            f"{path.name}: damaged, or it contains more than tensors ({type(error).__name__}: {error}); fetch it again"
        ) from None


def _tensors(value: Any, path: str) -> dict[str, _Tensor]:
    if isinstance(value, _Tensor):
        return {path: value}
    items = value.items() if isinstance(value, dict) else enumerate(value) if type(value) in {list, tuple} else ()
    return {name: tensor for key, part in items for name, tensor in _tensors(part, f"{path}/{key}".lstrip("/")).items()}


def _storage(stream: io.BytesIO, dtype: str) -> Array:
    count = int.from_bytes(stream.read(8), "little")
    data = stream.read(count * np.dtype(dtype).itemsize)
    return np.frombuffer(data, dtype, count)


def _array(tensor: _Tensor, storages: dict[str, Array]) -> Array:
    storage = storages[tensor.storage.key]
    end = tensor.offset + 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides, strict=True))
    if 0 in tensor.shape or tensor.offset < 0 or min(tensor.strides, default=0) < 0 or end > len(storage):
        raise ValueError("a tensor is outside its storage")
    strides = tuple(stride * storage.itemsize for stride in tensor.strides)
    placed: Array = np.lib.stride_tricks.as_strided(storage[tensor.offset :], tensor.shape, strides)
    return np.array(placed)


def _unpickled(stream: io.BytesIO) -> Any:
    """The next pickle of the stream as plain data."""
    machine = _Machine()
    for opcode, argument, _ in pickletools.genops(stream):
        machine.step(opcode.name, argument)
    return machine.stack[-1]


class _Machine:
    """Stack and memo of the pickle format, with the instructions for plain data and tensors."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        """Carry out one instruction. Raises ValueError for one that plain data does not need."""
        if name in _VALUES:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in {"BINPUT", "LONG_BINPUT"}:
            self._memo[argument] = self.stack[-1]
        elif name in {"BINGET", "LONG_BINGET"}:
            self.stack.append(self._memo[argument])
        elif name == "GLOBAL":
            self.stack.append(_Name(argument))
        elif name in {"TUPLE1", "TUPLE2", "TUPLE3"}:
            count = int(name[-1])
            self.stack[-count:] = [tuple(self.stack[-count:])]
        elif name in _ACTIONS:
            _ACTIONS[name](self)
        elif name not in {"PROTO", "STOP"}:
            raise ValueError(f"instruction {name}")

    def marked(self) -> list[Any]:
        """Remove and return everything above the last mark."""
        at = len(self.stack) - 1 - self.stack[::-1].index(_MARK)
        values = self.stack[at + 1 :]
        del self.stack[at:]
        return values

    def tuple(self) -> None:
        self.stack.append(tuple(self.marked()))

    def set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-1][key] = value

    def set_items(self) -> None:
        values = self.marked()
        self.stack[-1].update(zip(values[::2], values[1::2], strict=True))

    def append(self) -> None:
        value = self.stack.pop()
        self.stack[-1].append(value)

    def appends(self) -> None:
        values = self.marked()
        self.stack[-1].extend(values)

    def build(self) -> None:
        """Attributes of an object: not needed here."""
        self.stack.pop()

    def persistent(self) -> None:
        """A storage: ("storage", class, key, device, length, view)."""
        _, kind, key, *_ = self.stack.pop()
        self.stack.append(_Storage(_DTYPES[kind.text], key))

    def reduce(self) -> None:
        """A call: only those for dicts and tensors are known, and none is executed."""
        arguments, function = self.stack.pop(), self.stack.pop()
        if function.text == "torch._utils _rebuild_tensor_v2":
            storage, offset, shape, strides, *_ = arguments
            self.stack.append(_Tensor(storage, offset, shape, strides))
        elif function.text == "collections OrderedDict":
            self.stack.append({})
        else:
            raise ValueError(f"a call of {function.text}")


_VALUES = frozenset({"BINUNICODE", "BININT", "BININT1", "BININT2", "BINFLOAT", "LONG1"})
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "MARK": lambda: _MARK,
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}
_ACTIONS: dict[str, Callable[[_Machine], None]] = {
    "TUPLE": _Machine.tuple,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
    "APPEND": _Machine.append,
    "APPENDS": _Machine.appends,
    "BUILD": _Machine.build,
    "BINPERSID": _Machine.persistent,
    "REDUCE": _Machine.reduce,
}
