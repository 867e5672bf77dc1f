"""Compares two runtimes, or two files of a model, on the same inputs: how close the outputs are, and how long each takes.

The fast one is trusted only as far as it agrees with the slow one, within the tolerance that the card states.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from edgemem.errors import EngineError
from edgemem.infer.card import Model, Tolerance
from edgemem.infer.roles import Engine
from edgemem.records import Record

if TYPE_CHECKING:
    import numpy.typing as npt

    from edgemem.infer.roles import Arrays

KEPT_INPUTS = 8
"""So many inputs of a model are kept, to time it on them again."""
_NOTHING = 1e-6
"""Vectors whose values are all smaller have no direction; two of them are equal."""


class OutputParity(Record, frozen=True):
    """How close one output of the tested model is to the reference's, over all runs."""

    output: str
    cosine: float
    """The least cosine of an item of a batch."""
    wanted_cosine: float
    largest_difference: float
    """Largest absolute difference of a value."""
    largest_value: float
    """Largest absolute value of the reference, to judge the difference by."""
    agreement: float | None
    """Share of items whose largest value is at the same place; None if the card does not ask."""
    wanted_agreement: float | None

    @property
    def problem(self) -> str:
        """What is too far; empty if nothing is."""
        if self.cosine < self.wanted_cosine:
            return f"{self.output}: cosine {self.cosine:.5f}, wanted {self.wanted_cosine}"
        if self.agreement is not None and self.wanted_agreement is not None and self.agreement < self.wanted_agreement:
            return f"{self.output}: agreement {self.agreement:.3f}, wanted {self.wanted_agreement}"
        return ""


class Latency(Record, frozen=True):
    """Times of the runs of one model, in milliseconds."""

    p50_ms: float
    p95_ms: float
    runs: int


class ModelParity(Record, frozen=True):
    """The comparison of one model."""

    model: str
    inputs: int
    """How many inputs were compared."""
    outputs: tuple[OutputParity, ...]
    reference: Latency | None
    tested: Latency | None
    problem: str
    """Why the tested model failed, or what is too far; empty if all is well."""


@dataclass
class _Seen:
    """What is known of one output so far."""

    cosine: float = 1.0
    difference: float = 0.0
    value: float = 0.0
    agreeing: int = 0
    items: int = 0


@dataclass
class Pair:
    """Two loaded models that get the same inputs. `engine` serves with the reference's outputs, so that what follows is the same."""

    name: str
    model: Model
    reference: Engine
    tested: Engine
    tolerance: Tolerance
    _inputs: list[Mapping[str, npt.NDArray[np.generic]]] = field(default_factory=list)
    _count: int = 0
    _seen: dict[str, _Seen] = field(default_factory=dict)
    _times: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    _failure: str = ""

    @property
    def metadata(self) -> Mapping[str, str]:
        return self.reference.metadata

    def infer(self, arrays: Arrays) -> dict[str, npt.NDArray[np.generic]]:
        """Run both and compare. Returns the reference's outputs; a failure of the tested model is noted, not raised."""
        wanted = _timed(self.reference, arrays, self._times[0])
        self._count += 1
        if len(self._inputs) < KEPT_INPUTS:
            self._inputs.append({name: array.copy() for name, array in arrays.items()})
        try:
            found = _timed(self.tested, arrays, self._times[1])
        except EngineError as error:
            self._failure = self._failure or str(error)
            return wanted
        for name in self.model.outputs:
            self._compare(name, wanted[name], found[name])
        return wanted

    def close(self) -> None:
        """Free both."""
        self.reference.close()
        self.tested.close()

    def repeat(self, runs: int) -> None:
        """Time both in turn on the kept inputs, `runs` times each. The first runs, which warm up, are no longer counted."""
        if self._failure or not self._inputs or not runs:
            return
        for times in self._times:
            times.clear()
        for number in range(runs):
            arrays = self._inputs[number % len(self._inputs)]
            _timed(self.reference, arrays, self._times[0])
            _timed(self.tested, arrays, self._times[1])

    def result(self) -> ModelParity:
        """What was found so far."""
        outputs = tuple(self._output(name) for name in self.model.outputs if name in self._seen)
        problem = self._failure or "; ".join(filter(None, (one.problem for one in outputs)))
        if not self._count:
            problem = "no input reached it"
        reference, tested = (_latency(times) for times in self._times)
        return ModelParity(model=self.name, inputs=self._count, outputs=outputs, reference=reference, tested=tested, problem=problem)

    def _output(self, name: str) -> OutputParity:
        seen, wanted = self._seen[name], self.tolerance.agreement.get(name)
        return OutputParity(
            output=name,
            cosine=seen.cosine,
            wanted_cosine=self.tolerance.outputs.get(name, self.tolerance.cosine),
            largest_difference=seen.difference,
            largest_value=seen.value,
            agreement=None if wanted is None else seen.agreeing / max(seen.items, 1),
            wanted_agreement=wanted,
        )

    def _compare(self, name: str, wanted: npt.NDArray[Any], found: npt.NDArray[Any]) -> None:
        seen = self._seen.setdefault(name, _Seen())
        one, other = wanted.astype(np.float64), found.astype(np.float64)
        if one.shape != other.shape:
            raise EngineError(f"{self.name}: {name} has the shape {list(other.shape)}, the reference's has {list(one.shape)}")
        seen.difference = max(seen.difference, float(np.abs(one - other).max(initial=0.0)))
        seen.value = max(seen.value, float(np.abs(one).max(initial=0.0)))
        apart = one.ndim > 1 and isinstance(self.model.outputs[name].shape[0], str)
        seen.cosine = (
            min((seen.cosine, *(cosine(a, b) for a, b in zip(one, other, strict=True)))) if apart else min(seen.cosine, cosine(one, other))
        )
        if name in self.tolerance.agreement:
            same = one.argmax(axis=-1) == other.argmax(axis=-1)
            seen.agreeing += int(np.sum(same))
            seen.items += int(np.size(same))


def cosine(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """Cosine of two arrays as vectors. Two vectors of nothing have 1, one of them and another 0; anything that is no number gives -1."""
    a, b = one.ravel().astype(np.float64), other.ravel().astype(np.float64)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return 1.0 if np.array_equal(a, b, equal_nan=True) else -1.0
    empty = [float(np.abs(vector).max(initial=0.0)) < _NOTHING for vector in (a, b)]
    if any(empty):
        return 1.0 if all(empty) else 0.0
    return float(np.clip(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), -1.0, 1.0))


def _timed(engine: Engine, arrays: Arrays, times: list[float]) -> dict[str, npt.NDArray[np.generic]]:
    began = time.perf_counter()
    result = engine.infer(arrays)
    times.append((time.perf_counter() - began) * 1000)
    return result


def _latency(times: Sequence[float]) -> Latency | None:
    if not times:
        return None
    p50, p95 = np.percentile(times, (50, 95))
    return Latency(p50_ms=round(float(p50), 3), p95_ms=round(float(p95), 3), runs=len(times))
