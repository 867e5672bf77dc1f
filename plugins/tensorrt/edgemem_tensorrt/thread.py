"""The one thread that owns a GPU: CUDA contexts, TensorRT's execution contexts and buffers are touched by no other.

It lasts as long as the runtime, which lasts as long as the process; the driver frees the stream with the process.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from edgemem_tensorrt.memory import DeviceMemory

T = TypeVar("T")


class DeviceThread:
    """Runs calls one after the other in its own thread, with the GPU's context current."""

    def __init__(self, open_memory: Callable[[], DeviceMemory]) -> None:
        """Open the memory in the new thread. Raises what `open_memory` raises; then the thread has ended."""
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tensorrt")
        try:
            self.memory = self._pool.submit(open_memory).result()
        except BaseException:
            self._pool.shutdown()
            raise

    def call(self, function: Callable[[], T]) -> T:
        """The result of `function`, which runs in the thread. Raises what it raises."""
        return self._pool.submit(self._inside, function).result()

    def _inside(self, function: Callable[[], T]) -> T:
        with self.memory.active():
            return function()
