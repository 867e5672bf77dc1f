"""Runtimes execute models: their protocol, and the base class of engines, which checks every tensor against the card."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from edgemem.config import ModelSettings
from edgemem.errors import EngineError, nearest
from edgemem.infer.card import EngineCard, Model, SizeRange, Tensor
from edgemem.infer.fetch import Progress
from edgemem.infer.roles import Engine

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from edgemem.infer.roles import Arrays


class Runtime(Protocol):
    """Hook `register_runtimes`. Executes models. It never changes to slower hardware without a message."""

    formats: frozenset[str]
    """Formats of model files that it can load, as in the key `format` of cards."""

    def build(self, card: EngineCard, model: str, path: Path, progress: Progress) -> None:
        """Build what `load` needs in addition to the file, such as a plan for this device. A runtime that needs nothing returns at once.

        `path` is `Path()` for a model without a file. `progress` gets (what is built, steps done, all steps). Raises EngineError if it
        fails.
        """
        ...

    def load(self, card: EngineCard, model: str, path: Path) -> Engine:
        """Load one model of a card. `path` is `Path()` for a model without a file.

        Raises EngineError when it cannot, or when the model's tensors are not the card's.
        """
        ...

    def describe(self) -> str:
        """One line for `edgemem doctor`: library, version, hardware."""
        ...


class Factory(Protocol):
    """A registered runtime or decoder: the part of `extend.hookspecs.Component` that is used here."""

    @property
    def factory(self) -> Callable[..., Any]: ...
    @property
    def settings(self) -> type[msgspec.Struct]: ...


@dataclass(frozen=True)
class RuntimeContext:
    """Input of the factory of a runtime, together with its settings."""

    home: Path
    threads: int
    """Threads per model."""
    models: ModelSettings = field(default_factory=ModelSettings)
    """What may leave this device: a runtime that sends data keeps `redact` and `send_pictures`."""


@dataclass(frozen=True)
class TensorInfo:
    """What a runtime knows about an input or output of a loaded model."""

    dtype: str = ""
    """Name of the numpy type; empty = unknown."""
    shape: tuple[int | None, ...] | None = None
    """None for a free dimension, and for a shape that is unknown."""


@dataclass(frozen=True)
class Signature:
    """The inputs and outputs of a loaded model, by name."""

    inputs: Mapping[str, TensorInfo]
    outputs: Mapping[str, TensorInfo]
    ranges: Mapping[str, SizeRange] = field(default_factory=dict)
    """Free dimensions of the card of which the loaded model takes only these sizes; any size of the others."""


class CheckedEngine(ABC):
    """Base class of engines: it checks names, types and shapes of inputs and outputs against the card."""

    def __init__(self, name: str, model: Model, signature: Signature) -> None:
        """Raises EngineError, which names the tensor, if the loaded model differs from the card.

        Every input of the model must be in the card; outputs that are not in the card are not computed.
        """
        self.name = name
        self._model = model
        self._ranges = signature.ranges
        _compare(f"{name}: input", model.inputs, signature.inputs, fixed=False)
        _compare(f"{name}: output", model.outputs, signature.outputs, fixed=True)
        extra = sorted(set(signature.inputs) - set(model.inputs))
        if extra:
            raise EngineError(f"{name}: its card leaves out the input {', '.join(extra)}")

    @property
    def metadata(self) -> Mapping[str, str]:
        """Texts in the model file; none unless a runtime overrides this."""
        return {}

    def infer(self, arrays: Arrays) -> dict[str, npt.NDArray[np.generic]]:
        """Run once. Raises EngineError naming the tensor when a name, type or shape of an input or output does not fit the card, or naming
        the free dimension of which the loaded model does not take this size.
        """
        free: dict[str, int] = {}
        self._check("inputs", self._model.inputs, arrays, free)
        self._check_ranges(free)
        results = self._run(arrays)
        self._check("outputs", self._model.outputs, results, free)
        return results

    def _check(self, what: str, tensors: Mapping[str, Tensor], arrays: Arrays, free: dict[str, int]) -> None:
        """Check arrays against the card. `free` collects the size of every free dimension, which is the same in the whole call."""
        if set(arrays) != set(tensors):
            raise EngineError(f"{self.name}: {what} are {', '.join(tensors)}; got {', '.join(arrays) or 'none'}")
        for name, tensor in tensors.items():
            array = arrays[name]
            if array.dtype != tensor.dtype:
                raise EngineError(f"{self.name}: {name} must be {tensor.dtype}, got {array.dtype}")
            if not _fits(array.shape, tensor.shape, free):
                raise EngineError(f"{self.name}: {name} must have the shape {tensor.shape}, got {list(array.shape)}")

    def _check_ranges(self, free: Mapping[str, int]) -> None:
        for name, size in self._ranges.items():
            if name in free and not size.min <= free[name] <= size.max:
                raise EngineError(f"{self.name}: {name} must be {size.min} to {size.max}, got {free[name]}")

    @abstractmethod
    def _run(self, arrays: Arrays) -> dict[str, npt.NDArray[np.generic]]:
        """Run the checked inputs; return exactly the outputs of the card."""

    @abstractmethod
    def close(self) -> None:
        """Free the model."""


def _fits(shape: tuple[int, ...], wanted: list[int | str], free: dict[str, int]) -> bool:
    """Whether a shape is correct; a free dimension has one size in all inputs and outputs of a call."""
    if len(shape) != len(wanted):
        return False
    return all(size == (free.setdefault(want, size) if isinstance(want, str) else want) for size, want in zip(shape, wanted, strict=True))


def _compare(what: str, card: Mapping[str, Tensor], found: Mapping[str, TensorInfo], *, fixed: bool) -> None:
    """Raise EngineError if the tensors of a loaded model differ from the card. `fixed`: the model may have fixed sizes where the card has
    free ones.
    """
    for name, tensor in card.items():
        if name not in found:
            raise EngineError(f'{what}: the model has none called "{name}"{nearest(name, found)}')
        info = found[name]
        if info.dtype and info.dtype != tensor.dtype:
            raise EngineError(f"{what} {name}: the card says {tensor.dtype}, the model has {info.dtype}")
        if info.shape is not None and not _can_fit(info.shape, tensor.shape, fixed=fixed):
            sizes = ["free" if size is None else size for size in info.shape]
            raise EngineError(f"{what} {name}: the card says the shape {tensor.shape}, the model has {sizes}")


def _can_fit(found: tuple[int | None, ...], wanted: list[int | str], *, fixed: bool) -> bool:
    if len(found) != len(wanted):
        return False
    return all(size is None or size == want or (fixed and isinstance(want, str)) for size, want in zip(found, wanted, strict=True))
