"""Builds one plan, in a process of its own: `python -m edgemem_tensorrt.build`, a `BuildRequest` on standard input.

The network is strongly typed: the types in the ONNX file are those that run. So one path serves TensorRT 10.3 to 11.4, of which the
last no longer has flags for float16 and int8.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import SupportsInt

import msgspec
import tensorrt as trt

from edgemem.extend import EngineError, write_file
from edgemem_tensorrt.library import cannot_start
from edgemem_tensorrt.logger import Logger
from edgemem_tensorrt.request import BuildLine, BuildRequest

_log = logging.getLogger(__name__)
Tell = Callable[[BuildLine], None]


class _Monitor(trt.IProgressMonitor):
    """Tells the steps of the outermost phase; the phases inside it are many and short."""

    def __init__(self, tell: Tell) -> None:
        trt.IProgressMonitor.__init__(self)
        self._tell = tell
        self._totals: dict[str, int] = {}

    def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: SupportsInt) -> None:
        """Called by TensorRT. Only the outermost phase has no parent."""
        if not parent_phase:
            self._totals[phase_name] = int(num_steps)
            self._tell(BuildLine(phase=phase_name, total=int(num_steps)))

    def step_complete(self, phase_name: str, step: SupportsInt) -> bool:
        """Called by TensorRT; False would end the build."""
        if phase_name in self._totals:
            self._tell(BuildLine(phase=phase_name, done=int(step) + 1, total=self._totals[phase_name]))
        return True

    def phase_finish(self, phase_name: str) -> None:
        """Called by TensorRT."""
        self._totals.pop(phase_name, None)


def build(request: BuildRequest, tell: Tell) -> None:
    """Write the plan and the timing cache. Raises EngineError with TensorRT's own reason if the model cannot be built."""
    logger = Logger()
    try:
        builder = trt.Builder(logger)
    except TypeError as error:
        raise cannot_start("Builder", trt.__version__, error) from None
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    _parse(request, network, logger)
    _keep_outputs(network, request.outputs)
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, request.workspace_mib << 20)
    config.builder_optimization_level = request.optimisation_level
    if not request.tf32:
        config.clear_flag(trt.BuilderFlag.TF32)
    if request.profiles:
        config.add_optimization_profile(_profile(request, builder))
    cache = Path(request.timing_cache)
    _use_timings(config, cache)
    monitor = _Monitor(tell)
    config.progress_monitor = monitor
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise EngineError(f"TensorRT {trt.__version__} cannot build it: {logger.reason()}")
    write_file(Path(request.plan), memoryview(plan))
    write_file(cache, memoryview(config.get_timing_cache().serialize()))


def _parse(request: BuildRequest, network: trt.INetworkDefinition, logger: Logger) -> None:
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(request.onnx):
        problems = "; ".join(parser.get_error(index).desc() for index in range(parser.num_errors))
        raise EngineError(f"TensorRT {trt.__version__} cannot read it: {problems or logger.reason()}")


def _keep_outputs(network: trt.INetworkDefinition, wanted: tuple[str, ...]) -> None:
    for tensor in [network.get_output(index) for index in range(network.num_outputs)]:
        if tensor.name not in wanted:
            network.unmark_output(tensor)


def _profile(request: BuildRequest, builder: trt.Builder) -> trt.IOptimizationProfile:
    profile = builder.create_optimization_profile()
    for name, (least, usual, most) in request.profiles.items():
        profile.set_shape(name, trt.Dims(list(least)), trt.Dims(list(usual)), trt.Dims(list(most)))
    return profile


def _use_timings(config: trt.IBuilderConfig, path: Path) -> None:
    """Use the timings of earlier builds; those that do not fit this device or version are replaced by none."""
    try:
        known = path.read_bytes()
    except OSError:
        known = b""
    cache = config.create_timing_cache(known)
    if not config.set_timing_cache(cache, ignore_mismatch=False):
        _log.info("the timing cache %s does not fit this device; a new one is begun", path)
        config.set_timing_cache(config.create_timing_cache(b""), ignore_mismatch=False)


def main() -> int:
    """The process: lines of `BuildLine` on standard output; what libraries print goes to standard error."""
    lines = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(line: BuildLine) -> None:
        os.write(lines, msgspec.json.encode(line) + b"\n")

    request = msgspec.json.decode(sys.stdin.buffer.read(), type=BuildRequest)
    try:
        build(request, tell)
    except (EngineError, OSError) as error:
        tell(BuildLine(problem=str(error)))
        return 1
    tell(BuildLine())
    return 0


if __name__ == "__main__":
    sys.exit(main())
