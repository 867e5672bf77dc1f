"""edgemem: an on-device visual memory that fades within a byte budget and answers with evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgemem.serve.memory import Memory

__all__ = ["Memory", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`Memory` is imported at its first use, so that `import edgemem` is fast."""
    if name == "Memory":
        from edgemem.serve.memory import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
