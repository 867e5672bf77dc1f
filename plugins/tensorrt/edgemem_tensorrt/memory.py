"""Memory of the GPU: one protocol, and the choice between its two adapters, cuda-bindings and pycuda."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from edgemem.extend import RuntimeUnavailable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class Gpu:
    """A GPU as CUDA describes it."""

    name: str
    capability: tuple[int, int]
    """Compute capability, such as (8, 7) for Orin."""
    cuda_driver: str
    """Version of CUDA that the driver supports, such as "12.6"."""
    cuda_runtime: str
    """Version of the CUDA library in use."""
    unified: bool
    """It shares its DRAM with the processor, as on every Jetson."""


@dataclass(frozen=True)
class Buffer:
    """A piece of pinned host memory, and what the GPU uses for it."""

    host: npt.NDArray[np.uint8]
    """The host memory, one byte for each element."""
    device: int
    """Address for the GPU: of the same memory if `mapped`, else of memory of its own."""
    mapped: bool
    owners: tuple[object, ...]
    """What the adapter needs to copy and free it."""


class DeviceMemory(Protocol):
    """Memory and one stream of one GPU. Every method must be called in the thread that made the object.

    All methods raise EngineError when CUDA reports an error.
    """

    name: str
    """The library, with its version."""
    gpu: Gpu
    stream: int
    """Handle of the stream on which all copies and runs take place, in order."""

    def active(self) -> AbstractContextManager[object]:
        """Makes the GPU's context current in this thread; every other call must be inside it."""
        ...

    def allocate(self, size_bytes: int, *, mapped: bool) -> Buffer:
        """Pinned host memory, and device memory of the same size unless `mapped`."""
        ...

    def to_device(self, buffer: Buffer, size_bytes: int) -> None:
        """Queue a copy of the first bytes to the GPU; nothing for mapped memory."""
        ...

    def to_host(self, buffer: Buffer, size_bytes: int) -> None:
        """Queue a copy of the first bytes from the GPU; nothing for mapped memory."""
        ...

    def wait(self) -> None:
        """Wait until everything in the stream is done."""
        ...

    def free(self, buffer: Buffer) -> None:
        """Free a buffer. Its `host` array must not be used afterwards."""
        ...


def open_memory(library: str, device: int) -> DeviceMemory:
    """The adapter `cuda` or `pycuda`; `auto`: the first of them that can be imported.

    Raises RuntimeUnavailable, which says what is missing: a library, the driver, or the GPU.
    """
    names = ("cuda", "pycuda") if library == "auto" else (library,)
    missing = []
    for name in names:
        try:
            return _open(name, device)
        except ImportError as error:
            missing.append(f"{'cuda-bindings' if name == 'cuda' else name}: {' '.join(str(error).split())}")
    raise RuntimeUnavailable(
        f"no library for device memory can be imported ({'; '.join(missing)}); "
        "run: pip install 'edgemem-tensorrt[cuda12]' (JetPack 6) or 'edgemem-tensorrt[cuda13]' (JetPack 7)"
    )


def _open(name: str, device: int) -> DeviceMemory:
    if name == "cuda":
        from edgemem_tensorrt.memory_cuda import CudaMemory

        return CudaMemory(device)
    from edgemem_tensorrt.memory_pycuda import PycudaMemory

    return PycudaMemory(device)


def version_text(number: int) -> str:
    """CUDA's number of a version in words: 12060 -> "12.6"."""
    return f"{number // 1000}.{number % 1000 // 10}"
