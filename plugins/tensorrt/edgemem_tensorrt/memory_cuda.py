"""Device memory by cuda-bindings (the CUDA runtime API, on the device's primary context)."""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from cuda.bindings import __version__ as bindings_version
from cuda.bindings import runtime as cudart

from edgemem.extend import EngineError, RuntimeUnavailable
from edgemem_tensorrt.memory import Buffer, Gpu, version_text


class CudaMemory:
    """See `memory.DeviceMemory`. Every call of cuda-bindings returns a tuple: the status, then the results."""

    def __init__(self, device: int) -> None:
        """Raises RuntimeUnavailable when there is no driver or no such GPU."""
        self.name = f"cuda-bindings {bindings_version}"
        try:
            count = _result("cudaGetDeviceCount", cudart.cudaGetDeviceCount())
            if device >= count:
                raise RuntimeUnavailable(f"there is no GPU {device}: CUDA sees {count}; correct engines.runtimes.tensorrt.device")
            _result("cudaSetDevice", cudart.cudaSetDevice(device))
            self.gpu = _describe(device)
            self.stream = int(_result("cudaStreamCreate", cudart.cudaStreamCreate()))
        except EngineError as error:
            raise RuntimeUnavailable(f"no GPU can be used: {error}; is this a board with NVIDIA's driver?") from None

    def active(self) -> AbstractContextManager[object]:
        """Nothing to do: the runtime API uses the primary context of the device that the thread has set."""
        return nullcontext()

    def allocate(self, size_bytes: int, *, mapped: bool) -> Buffer:
        """See `memory.DeviceMemory`."""
        host = int(_result("cudaHostAlloc", cudart.cudaHostAlloc(size_bytes, cudart.cudaHostAllocMapped)))
        try:
            if mapped:
                device = int(_result("cudaHostGetDevicePointer", cudart.cudaHostGetDevicePointer(host, 0)))
            else:
                device = int(_result("cudaMalloc", cudart.cudaMalloc(size_bytes)))
        except EngineError:
            cudart.cudaFreeHost(host)
            raise
        array = np.ctypeslib.as_array((ctypes.c_uint8 * size_bytes).from_address(host))
        return Buffer(array, device, mapped, (host,))

    def to_device(self, buffer: Buffer, size_bytes: int) -> None:
        """See `memory.DeviceMemory`."""
        if not buffer.mapped:
            kind = cudart.cudaMemcpyKind.cudaMemcpyHostToDevice
            _result("cudaMemcpyAsync", cudart.cudaMemcpyAsync(buffer.device, buffer.owners[0], size_bytes, kind, self.stream))

    def to_host(self, buffer: Buffer, size_bytes: int) -> None:
        """See `memory.DeviceMemory`."""
        if not buffer.mapped:
            kind = cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost
            _result("cudaMemcpyAsync", cudart.cudaMemcpyAsync(buffer.owners[0], buffer.device, size_bytes, kind, self.stream))

    def wait(self) -> None:
        """See `memory.DeviceMemory`."""
        _result("cudaStreamSynchronize", cudart.cudaStreamSynchronize(self.stream))

    def free(self, buffer: Buffer) -> None:
        """See `memory.DeviceMemory`."""
        if not buffer.mapped:
            _result("cudaFree", cudart.cudaFree(buffer.device))
        _result("cudaFreeHost", cudart.cudaFreeHost(buffer.owners[0]))


def _describe(device: int) -> Gpu:
    properties = _result("cudaGetDeviceProperties", cudart.cudaGetDeviceProperties(device))
    driver = _result("cudaDriverGetVersion", cudart.cudaDriverGetVersion())
    runtime = _result("cudaRuntimeGetVersion", cudart.cudaRuntimeGetVersion())
    return Gpu(
        name=properties.name.decode("utf-8", "replace").rstrip("\0"),
        capability=(properties.major, properties.minor),
        cuda_driver=version_text(driver),
        cuda_runtime=version_text(runtime),
        unified=bool(properties.integrated),
    )


def _result(call: str, returned: tuple[Any, ...]) -> Any:
    """The result of a call. Raises EngineError with CUDA's own text if its status is not success."""
    status, *results = returned
    if status != cudart.cudaError_t.cudaSuccess:
        text = cudart.cudaGetErrorString(status)[1]
        raise EngineError(f"{call}: {text.decode() if isinstance(text, bytes) else text} (CUDA error {int(status)})")
    return results[0] if results else None
