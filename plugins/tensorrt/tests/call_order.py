"""A stand-in for the module `tensorrt` and for device memory that notes the order of calls. IT DOES NOT TEST INFERENCE.

It computes nothing: a run leaves the buffers as they are. It serves tests of what is called, in which order, with which settings, and of
what is freed. `test_bindings.py` holds every name here against the real bindings.
"""

from __future__ import annotations

import enum
import types
from contextlib import nullcontext

import numpy as np
from edgemem_tensorrt.memory import Buffer, Gpu

from edgemem.extend import EngineError

ORIN = Gpu(name="Orin", capability=(8, 7), cuda_driver="12.6", cuda_runtime="12.6", unified=True)


class Dims(list):
    """Sizes; free ones are -1."""


class TensorIOMode(enum.Enum):
    NONE = 0
    INPUT = 1
    OUTPUT = 2


class TensorLocation(enum.Enum):
    DEVICE = 0
    HOST = 1


DataType = enum.Enum("DataType", ["FLOAT", "HALF", "INT64", "INT8", "BF16"])
NetworkDefinitionCreationFlag = enum.IntEnum("NetworkDefinitionCreationFlag", {"EXPLICIT_BATCH": 0, "STRONGLY_TYPED": 1})
MemoryPoolType = enum.Enum("MemoryPoolType", ["WORKSPACE"])
BuilderFlag = enum.Enum("BuilderFlag", ["TF32"])


class ILogger:
    Severity = enum.Enum("Severity", ["INTERNAL_ERROR", "ERROR", "WARNING", "INFO", "VERBOSE"])


class IProgressMonitor:
    pass


class ITensor:
    def __init__(self, name, dtype=DataType.FLOAT, shape=(-1, 4), *, location=TensorLocation.DEVICE):
        self.name, self.dtype, self.shape, self.location = name, dtype, shape, location


class ICudaEngine:
    """A plan with one input of the shape [n, 4], n 1 to 8, and one output [n, 3]."""

    def __init__(self, notes, inputs=None, outputs=None):
        self.notes = notes
        self.inputs = inputs or [ITensor("x")]
        self.outputs = outputs or [ITensor("y", shape=(-1, 3))]
        self.context_fails = False

    @property
    def num_io_tensors(self):
        return len(self.inputs) + len(self.outputs)

    def get_tensor_name(self, index):
        return [*self.inputs, *self.outputs][index].name

    def _tensor(self, name):
        return next(one for one in (*self.inputs, *self.outputs) if one.name == name)

    def get_tensor_mode(self, name):
        return TensorIOMode.INPUT if name in {one.name for one in self.inputs} else TensorIOMode.OUTPUT

    def get_tensor_shape(self, name):
        return Dims(self._tensor(name).shape)

    def get_tensor_profile_shape(self, name, profile_index):
        assert profile_index == 0
        return [Dims([sizes if size < 0 else size for size in self._tensor(name).shape]) for sizes in (1, 2, 8)]

    def get_tensor_dtype(self, name):
        return self._tensor(name).dtype

    def get_tensor_location(self, name):
        return self._tensor(name).location

    def create_execution_context(self):
        return None if self.context_fails else IExecutionContext(self)


class IExecutionContext:
    def __init__(self, engine):
        self.engine, self.n, self.fails = engine, None, False
        engine.context = self

    def set_input_shape(self, name, shape):
        self.engine.notes.append(("shape", name, tuple(shape)))
        self.n = shape[0]
        return shape[0] <= 8

    def get_tensor_shape(self, name):
        shape = self.engine._tensor(name).shape
        return Dims([self.n if size == -1 else size for size in shape])

    def set_tensor_address(self, name, memory):
        self.engine.notes.append(("address", name, memory))
        return memory != 0

    def execute_async_v3(self, stream_handle):
        self.engine.notes.append(("execute", stream_handle))
        return not self.fails


class Runtime:
    engine = None

    def __init__(self, logger):
        self.logger = logger

    def deserialize_cuda_engine(self, serialized_engine):
        if serialized_engine == b"rejected":
            self.logger.log(ILogger.Severity.ERROR, "Version tag does not match")
            return None
        type(self).engine = ICudaEngine(CALLS)
        return self.engine


class ITimingCache:
    def __init__(self, data):
        self.data = data

    def serialize(self):
        return self.data + b"+"


class IBuilderConfig:
    def __init__(self):
        self.profiles, self.cache, self.flags, self.limits = [], None, {BuilderFlag.TF32}, {}

    def set_memory_pool_limit(self, pool, pool_size):
        self.limits[pool] = pool_size

    def clear_flag(self, flag):
        self.flags.discard(flag)

    def add_optimization_profile(self, profile):
        self.profiles.append(profile)

    def create_timing_cache(self, serialized_timing_cache):
        return ITimingCache(serialized_timing_cache)

    def set_timing_cache(self, cache, ignore_mismatch):
        assert ignore_mismatch is False
        if cache.data == b"of another device":
            return False
        self.cache = cache
        return True

    def get_timing_cache(self):
        return self.cache


class IOptimizationProfile:
    def __init__(self):
        self.shapes = {}

    def set_shape(self, input, min, opt, max):  # noqa: A002 - the names of the bindings
        self.shapes[input] = (tuple(min), tuple(opt), tuple(max))


class INetworkDefinition:
    def __init__(self, flags):
        self.flags = flags
        self.outputs = [ITensor("y"), ITensor("hidden"), ITensor("z")]

    @property
    def num_outputs(self):
        return len(self.outputs)

    def get_output(self, index):
        return self.outputs[index]

    def unmark_output(self, tensor):
        self.outputs.remove(tensor)


class ParserError:
    def __init__(self, text):
        self.text = text

    def desc(self):
        return self.text


class OnnxParser:
    def __init__(self, network, logger):
        self.network, self.logger, self.errors = network, logger, []

    def parse_from_file(self, model):
        if model.endswith("unknown.onnx"):
            self.errors = [ParserError("No importer registered for op: Einsum2"), ParserError("again")]
        return not self.errors

    @property
    def num_errors(self):
        return len(self.errors)

    def get_error(self, index):
        return self.errors[index]


class Builder:
    last = None

    def __init__(self, logger):
        if Builder.broken:
            raise TypeError("pybind11::init(): factory function returned nullptr")
        Builder.last = self
        self.logger = logger

    broken = fails = False

    def create_network(self, flags):
        self.network = INetworkDefinition(flags)
        return self.network

    def create_builder_config(self):
        self.config = IBuilderConfig()
        return self.config

    def create_optimization_profile(self):
        return IOptimizationProfile()

    def build_serialized_network(self, network, config):
        assert network is self.network
        monitor = config.progress_monitor
        monitor.phase_start("Building", None, 2)
        monitor.phase_start("Tactics", "Building", 9)
        monitor.step_complete("Tactics", 0)
        monitor.phase_finish("Tactics")
        assert monitor.step_complete("Building", 0) is True
        monitor.phase_finish("Building")
        if Builder.fails:
            self.logger.log(ILogger.Severity.ERROR, "Could not find any implementation for node Conv_0")
            return None
        return b"plan"


CALLS: list[tuple] = []
"""What was called, in order."""


def module():
    """The stand-in for the module, for `sys.modules`."""
    made = types.ModuleType("tensorrt")
    made.__version__ = "10.3.0"
    for name, value in globals().items():
        if isinstance(value, type) and value.__module__ == __name__:
            setattr(made, name, value)
    return made


class Memory:
    """Device memory that is host memory, with a note of each call. Allocation number `fails_at` fails."""

    name = "no memory"
    gpu = ORIN
    stream = 77

    def __init__(self, fails_at=99):
        self.fails_at, self.held, self.count = fails_at, {}, 0

    def active(self):
        return nullcontext()

    def allocate(self, size_bytes, *, mapped):
        self.count += 1
        if self.count == self.fails_at:
            raise EngineError("cudaHostAlloc: out of memory (CUDA error 2)")
        buffer = Buffer(np.zeros(size_bytes, np.uint8), 4096 * self.count, mapped, ())
        self.held[buffer.device] = size_bytes
        CALLS.append(("allocate", size_bytes, mapped))
        return buffer

    def to_device(self, buffer, size_bytes):
        CALLS.append(("to_device", buffer.device, size_bytes))

    def to_host(self, buffer, size_bytes):
        CALLS.append(("to_host", buffer.device, size_bytes))

    def wait(self):
        CALLS.append(("wait",))

    def free(self, buffer):
        del self.held[buffer.device]
        CALLS.append(("free", buffer.device))
