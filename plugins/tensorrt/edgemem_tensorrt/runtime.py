"""The runtime: builds plans when asked, and loads those that fit this device, these versions and the card exactly."""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from edgemem.extend import Engine, EngineCard, EngineError, Model, Progress, SizeRange, make_directory, onnx_metadata, sha256_of
from edgemem_tensorrt import TensorRTSettings
from edgemem_tensorrt.board import l4t_release
from edgemem_tensorrt.builder import run_build
from edgemem_tensorrt.library import cannot_start, import_tensorrt
from edgemem_tensorrt.memory import Gpu, open_memory
from edgemem_tensorrt.plan import PlanKey, PlanStore, settings_text, shapes_text
from edgemem_tensorrt.request import BuildRequest
from edgemem_tensorrt.thread import DeviceThread

if TYPE_CHECKING:
    import tensorrt as trt

    from edgemem_tensorrt.logger import Logger

_log = logging.getLogger(__name__)
Build = Callable[[BuildRequest, str, Path, Progress, float], None]
"""What carries out a request: `builder.run_build`."""
_PICKS: tuple[Callable[[SizeRange], int], ...] = (lambda size: size.min, lambda size: size.usual, lambda size: size.max)
"""The three shapes of an optimisation profile."""


def make_runtime(settings: TensorRTSettings, home: Path) -> TensorRTRuntime:
    """The runtime on this device. Raises RuntimeUnavailable, which says what is missing: bindings, libraries, driver or GPU."""
    version: str = import_tensorrt().__version__
    thread = DeviceThread(partial(open_memory, settings.memory, settings.device))
    return TensorRTRuntime(settings, PlanStore(home / "plans"), version, thread, l4t_release())


class TensorRTRuntime:
    """Loads ONNX models by plans that were built on this device."""

    formats = frozenset({"onnx"})

    def __init__(
        self, settings: TensorRTSettings, store: PlanStore, version: str, thread: DeviceThread, l4t: str, build: Build = run_build
    ) -> None:
        self.settings = settings
        self._store, self._version, self._thread, self._l4t = store, version, thread, l4t
        self._run_build = build
        self._trt: tuple[trt.Runtime, Logger] | None = None
        self._building: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def describe(self) -> str:
        """Library, hardware and versions in one line."""
        gpu, memory = self._gpu, self._thread.memory
        dram = "unified memory" if gpu.unified else "memory of its own"
        l4t = f", L4T {self._l4t}" if self._l4t else ""
        return f"TensorRT {self._version}, CUDA {gpu.cuda_runtime} (driver {gpu.cuda_driver}), {_gpu_text(gpu)}, {dram}, {memory.name}{l4t}"

    def build(self, card: EngineCard, model: str, path: Path, progress: Progress) -> None:
        """Build the plan of a model, unless there is one that fits. Raises EngineError with the builder's reason."""
        key = self._key(card.models[model], path)
        if not self._store.problem(card.name, model, key):
            return
        make_directory(self._store.folder)
        with tempfile.TemporaryDirectory(prefix=".build.", dir=self._store.folder) as scratch:
            plan = Path(scratch) / "plan"
            began = time.monotonic()
            request = self._request(card.models[model], path, plan, key)
            self._run_build(request, _name(card, model), self._store.folder / "build.lock", progress, self.settings.build_timeout_s)
            self._store.write(card.name, model, key, plan.read_bytes(), time.monotonic() - began)

    def load(self, card: EngineCard, model: str, path: Path) -> Engine:
        """Load the plan of a model. Raises EngineError if this device has none that fits, and says whether one is being built."""
        from edgemem_tensorrt.engine import TensorRTEngine
        from edgemem_tensorrt.session import Session

        key = self._key(card.models[model], path)
        if problem := self._store.problem(card.name, model, key):
            self._start_building(card, model, path, problem)
        plan = self._store.read(card.name, model, key)

        def start() -> Session:
            runtime, logger = self._started()
            return Session(plan, runtime, logger, self._thread.memory, mapped=self._mapped)

        return TensorRTEngine(_name(card, model), card.models[model], self._thread.call(start), self._thread, onnx_metadata(path))

    @property
    def _gpu(self) -> Gpu:
        return self._thread.memory.gpu

    @property
    def _mapped(self) -> bool:
        return self._gpu.unified if self.settings.transfer == "auto" else self.settings.transfer == "mapped"

    def _started(self) -> tuple[trt.Runtime, Logger]:
        """TensorRT's own runtime, made once, in the device's thread. Raises RuntimeUnavailable if CUDA does not work."""
        if self._trt is None:
            import tensorrt as trt

            from edgemem_tensorrt.logger import Logger

            logger = Logger()
            try:
                self._trt = trt.Runtime(logger), logger
            except TypeError as error:
                raise cannot_start("Runtime", self._version, error) from None
        return self._trt

    def _start_building(self, card: EngineCard, model: str, path: Path, problem: str) -> None:
        """With `build = "in_background"`: build the plan in a thread, and raise the EngineError that says so."""
        if self.settings.build != "in_background":
            return
        with self._lock:
            if (card.name, model) not in self._building:
                self._building.add((card.name, model))
                threading.Thread(target=self._build_quietly, args=(card, model, path), daemon=True, name="tensorrt-build").start()
        raise EngineError(f"{problem}; it is being built, and used from the next start")

    def _build_quietly(self, card: EngineCard, model: str, path: Path) -> None:
        try:
            self.build(card, model, path, lambda _what, _done, _total: None)
        except (EngineError, OSError) as error:
            _log.warning("%s: its plan could not be built: %s", card.name, error)
        else:
            _log.info("%s: its plan is built and used from the next start", card.name)

    def _key(self, model: Model, path: Path) -> PlanKey:
        gpu = self._gpu
        return PlanKey(
            onnx_sha256=sha256_of(path),
            TensorRT=self._version,
            CUDA=f"{gpu.cuda_driver}/{gpu.cuda_runtime}",
            GPU=_gpu_text(gpu),
            L4T=self._l4t,
            settings=settings_text(self.settings),
            shapes=shapes_text(model),
        )

    def _request(self, model: Model, path: Path, plan: Path, key: PlanKey) -> BuildRequest:
        return BuildRequest(
            onnx=str(path),
            plan=str(plan),
            timing_cache=str(self._store.timing_cache(key)),
            device=self.settings.device,
            workspace_mib=self.settings.workspace_mib,
            optimisation_level=self.settings.optimisation_level,
            tf32=self.settings.tf32,
            outputs=tuple(model.outputs),
            profiles=profiles(model),
        )


def _name(card: EngineCard, model: str) -> str:
    """In messages: the model is named only where the card has several."""
    return f"{card.name}.{model}" if len(card.models) > 1 else card.name


def profiles(model: Model) -> dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Input with a free dimension -> its smallest, usual and largest shape, from the card.

    Raises EngineError if the card does not say the sizes of a free dimension.
    """
    found = {}
    for name, tensor in model.inputs.items():
        free = [size for size in tensor.shape if isinstance(size, str)]
        for size in free:
            if size not in model.ranges:
                raise EngineError(f'the card says no sizes for "{size}" of {name}: add ranges.{size} = {{ min = 1, usual = 1, max = ... }}')
        if free:
            least, usual, most = (_shape(tensor.shape, {one: pick(size) for one, size in model.ranges.items()}) for pick in _PICKS)
            found[name] = (least, usual, most)
    return found


def _shape(sizes: list[int | str], free: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(free[size] if isinstance(size, str) else size for size in sizes)


def _gpu_text(gpu: Gpu) -> str:
    return f"{gpu.name} {gpu.capability[0]}.{gpu.capability[1]}"
