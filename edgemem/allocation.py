"""How the C library hands out memory: a process that looks at pictures for days must not grow by what it has freed.

Measured on two minutes of film with speech and all engines, on two busy cores: 900 MB and growing as the C library does by itself. With few
arenas 807 MB, with blocks above 1 MiB given back as well 640 MB and half as much time again in the kernel; with that and one arena that all
models share (the runtime `onnx`) 684 MB and no growth, for 5 % more processor time than with few arenas alone. In turns on one minute of
that film, in MiB: 631 to 652; with a smaller dictionary, turns for large runs and fewer frames in the decoder 611; with models of any size
outside the arena too 592, for 37 to 38, 39 and 44 CPU-s.
"""

from __future__ import annotations

import ctypes
import sys
import time
from functools import lru_cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Parameters of `mallopt` (malloc.h of the GNU C library)."""
_BLOCK_BYTES = 256 << 10
"""Larger blocks, such as frames, go back to the system when they are freed. By itself the library raises this to 32 MiB. With 256 KiB a
minute of 1080p film with speech took 664 and 667 MiB at most, with 1 MiB 666 and 693 (two runs each, in turns), for 6 % more time."""
_TOP_BYTES = 64 << 20
"""Free memory at the top of the heap that stays until the next `give_back`: it would be given back and asked for all the time."""
_ARENAS = 2
"""Each thread that allocates gets an arena of its own otherwise, up to eight for each core, and each keeps the most that it ever held."""
_EVERY_S = 5.0
_given_back_s = [0.0]


def bound_heap() -> None:
    """Few arenas for this process, best before its first thread; nothing where the C library is another one."""
    library = _c_library()
    if library is not None:
        for name, value in ((_ARENA_MAX, _ARENAS), (_MMAP_THRESHOLD, _BLOCK_BYTES), (_TRIM_THRESHOLD, _TOP_BYTES)):
            library.mallopt(name, value)


def give_back() -> None:
    """Return to the system what was freed, every few seconds at most: it takes some milliseconds."""
    now_s = time.monotonic()
    library = _c_library()
    if library is None or now_s - _given_back_s[0] < _EVERY_S:
        return
    _given_back_s[0] = now_s
    library.malloc_trim(ctypes.c_size_t(0))


@lru_cache(maxsize=1)
def _c_library() -> ctypes.CDLL | None:
    """The GNU C library; None where there is another one."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    try:
        assert library.mallopt
        assert library.malloc_trim
    except AttributeError:
        return None
    return library
