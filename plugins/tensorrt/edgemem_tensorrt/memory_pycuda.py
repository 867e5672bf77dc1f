"""Device memory by pycuda, on the device's primary context, which TensorRT uses too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pycuda
import pycuda.driver as cuda

from edgemem.extend import EngineError, RuntimeUnavailable
from edgemem_tensorrt.memory import Buffer, Gpu, version_text


class PycudaMemory:
    """See `memory.DeviceMemory`. pycuda ends the process when a thread ends while a context is pushed, so `active` pops it each time."""

    def __init__(self, device: int) -> None:
        """Raises RuntimeUnavailable when there is no driver or no such GPU."""
        self.name = f"pycuda {pycuda.VERSION_TEXT}"
        try:
            cuda.init()
            found = cuda.Device(device)
            self.gpu = _describe(found)
            self._context = found.retain_primary_context()
            with self.active():
                self._stream = cuda.Stream()
        except cuda.Error as error:
            raise RuntimeUnavailable(f"no GPU can be used: {error}; is this a board with NVIDIA's driver?") from None
        self.stream = int(self._stream.handle)

    @contextmanager
    def active(self) -> Iterator[None]:
        """See `memory.DeviceMemory`."""
        self._context.push()
        try:
            yield
        finally:
            self._context.pop()

    def allocate(self, size_bytes: int, *, mapped: bool) -> Buffer:
        """See `memory.DeviceMemory`."""
        try:
            host = cuda.pagelocked_empty(size_bytes, np.uint8, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
            if mapped:
                return Buffer(host, int(host.base.get_device_pointer()), mapped, ())
            device = cuda.mem_alloc(size_bytes)
        except cuda.Error as error:
            raise EngineError(f"pycuda: {error}") from None
        return Buffer(host, int(device), mapped, (device,))

    def to_device(self, buffer: Buffer, size_bytes: int) -> None:
        """See `memory.DeviceMemory`."""
        if not buffer.mapped:
            try:
                cuda.memcpy_htod_async(buffer.device, buffer.host[:size_bytes], self._stream)
            except cuda.Error as error:
                raise EngineError(f"pycuda: {error}") from None

    def to_host(self, buffer: Buffer, size_bytes: int) -> None:
        """See `memory.DeviceMemory`."""
        if not buffer.mapped:
            try:
                cuda.memcpy_dtoh_async(buffer.host[:size_bytes], buffer.device, self._stream)
            except cuda.Error as error:
                raise EngineError(f"pycuda: {error}") from None

    def wait(self) -> None:
        """See `memory.DeviceMemory`."""
        try:
            self._stream.synchronize()
        except cuda.Error as error:
            raise EngineError(f"pycuda: {error}") from None

    def free(self, buffer: Buffer) -> None:
        """See `memory.DeviceMemory`."""
        for owner in buffer.owners:
            owner.free()  # type: ignore[attr-defined]
        buffer.host.base.free()  # type: ignore[union-attr]


def _describe(device: cuda.Device) -> Gpu:
    return Gpu(
        name=device.name(),
        capability=tuple(device.compute_capability()),
        cuda_driver=version_text(cuda.get_driver_version()),
        cuda_runtime=".".join(str(part) for part in cuda.get_version()[:2]),
        unified=bool(device.get_attribute(cuda.device_attribute.INTEGRATED)),
    )
