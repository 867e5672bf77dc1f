"""What the agent reaches the world through: its cameras and its disk. A simulation has its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from edgemem.device.shared_store import SharedStore
from edgemem.see.sources.base import Source


class Peripherals:
    """The real ones."""

    def camera(self, opened: Callable[[], Source], rate_fps: float) -> Source:
        """A source, opened. `rate_fps`: how many frames its recipe wants in a second. Raises SourceError."""
        del rate_fps
        return opened()

    def store(self, directory: Path, budget_bytes: int, durability: Literal["normal", "full"]) -> SharedStore:
        """The memory, open for writing. Raises MemoryDirError."""
        store = SharedStore.open(directory, budget_bytes=budget_bytes, durability=durability)
        assert isinstance(store, SharedStore)
        return store
